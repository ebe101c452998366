// transpose / tiles: words -- tiles of any alignment and any axes, a word an access.
//
// How       A tile's rows are read along the input in aligned words, and shifted together where they
//           start inside one (bytes, halves). Bytes of four rows, halves of two, become words of the
//           output's columns in registers, so that shared memory holds words of the output, and
//           lanes read and write it without bank conflicts: its columns are an odd number of words.
//           Where a column starts inside a 32-byte sector its window starts at the sector, up to
//           `lead` rows early: no sector is written in two parts, which costs a quarter of the rate.
// Source    own measurements on an H100 (16383 x 16381 floats: 2077 GB/s without those windows, 2728
//           with them).
#include "prim/memory.cuh"
#include "prim/turn.cuh"
#include "transpose/production/tiles.cuh"

#include <type_traits>

namespace wk
{

namespace
{

constexpr int
rounded_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

// A tile of elements of kUnit bytes.
template <int kUnit>
struct words {
    using unit = std::conditional_t<kUnit == 1, uint8_t, uint16_t>; // where a word has several
    using word =
        std::conditional_t<kUnit <= 4, uint32_t, std::conditional_t<kUnit == 8, uint2, uint4>>;
    static constexpr int kRows = wk_tile_rows(WK_TILES_WORDS, kUnit);
    static constexpr int kColumns = wk_tile_columns(WK_TILES_WORDS, kUnit);
    static constexpr int kThreads = kUnit == 1 ? 512 : 256;
    static constexpr int kWarps = kThreads / kWarp;
    static constexpr int kLead = WK_SECTOR / kUnit;
    static constexpr int kPer = (int)sizeof(word) / kUnit; // elements of a word
    static constexpr int kGroups = (kRows + kLead) / kPer; // words of a column
    static constexpr int kSlots = kColumns / kPer;         // words of a row
    // Groups of rows that a thread has on their way: in whole tiles, in those without lead, in others.
    // H200, 16383 x 16381, share of a copy's rate: 1 byte 1 / 2 / 3 groups 75 / 72 / 70 %; 2 bytes 1 / 3
    // 75 / 78; 4 bytes 3 / 6 / 9 69 / 89 / 93; 8 bytes 3 / 6 93 / 92.
    static constexpr int kBatch = kUnit == 1 ? 1 : kUnit == 4 ? 9 : kUnit == 16 ? 5 : 3;
    static constexpr int kPlain = kUnit <= 2 ? 1 : kUnit == 16 ? 4 : 8;
    static constexpr int kFew = kUnit <= 2 ? 1 : kUnit == 4 ? 6 : kBatch;
    static constexpr int kDown = kWarps / (kSlots / kWarp); // warps with rows of their own
    // What whole batches have: rows, and words of a column.
    static constexpr int kWhole = rounded_up(rounded_up(kGroups, kDown *kBatch), kDown *kFew);
    static constexpr int kHeld = kWhole * kPer;
    static constexpr int kPitch = kWhole + 1 + kWhole % 2; // odd; `x[i + 1]` reads one more
    static constexpr int64_t kTile = ((int64_t)kColumns * kPitch * sizeof(word) + 7) / 8 * 8;
    static constexpr int64_t kShared = kTile + 8 * (kHeld + kColumns);
};

// Where a row begins in the input: of one that is not there, the nearest that is; what is read for it
// is not written.
__device__ __forceinline__ uint64_t
row_of(const turn_task &t, const turn_place &at, int64_t row)
{
    row = row < 0 ? 0 : row < t.rows ? row : t.rows - 1;
    return (uint64_t)(uintptr_t)(t.in + at.others.in + at.column * t.step) +
           along(t.row, t.row_axes, row).in;
}

// Must a tile with this row be read element by element? Where its elements are apart, or the aligned
// words with them reach beyond the array.
template <int kUnit>
__device__ __forceinline__ bool
apart(const turn_task &t, uint64_t row, int columns)
{
    if (kUnit >= 4) return false;
    const uint64_t first = row / 4 * 4, end = first + (columns * kUnit + 3) / 4 * 4 + 4;
    return t.step != kUnit || first < (uint64_t)(uintptr_t)t.low ||
           end > (uint64_t)(uintptr_t)t.high;
}

// The words of a row that a lane has, from this many bytes on.
template <int kUnit>
__device__ __forceinline__ typename words<kUnit>::word
read_row(uint64_t row, int64_t bytes)
{
    using word = typename words<kUnit>::word;
    if constexpr (kUnit >= 4) return read_ahead(reinterpret_cast<const word *>(row + bytes));
    const auto *from = reinterpret_cast<const uint32_t *>((row & ~(uint64_t)3) + bytes);
    const uint32_t low = read_ahead(from), high = read_ahead(from + 1);
    word x;
    memcpy(&x, &low, 4);
    if constexpr (kUnit < 4) x = __funnelshift_r(low, high, (uint32_t)row << 3); // mod 32
    return x;
}

// Likewise, element by element.
template <int kUnit>
__device__ __forceinline__ typename words<kUnit>::word
read_apart(uint64_t row, int64_t step, int column, int columns)
{
    using shape = words<kUnit>;
    typename shape::word x = {};
    if constexpr (shape::kPer > 1)
#pragma unroll 1
        for (int i = 0; i < shape::kPer && column + i < columns; i++) {
            const auto *p =
                reinterpret_cast<const typename shape::unit *>(row + (column + i) * step);
            x |= (typename shape::word) * p << (8 * kUnit * i);
        }
    return x;
}

// The tile into shared memory. A warp has 32 words of a row, of as many rows as a word of the output
// has elements, and kBatch of such groups on their way: of those beyond the last one, the last row again.
template <int kUnit, bool kApart, int kBatch>
__device__ __forceinline__ void
read_tile(const turn_task &t, const uint64_t *rows, int groups, int columns,
          typename words<kUnit>::word *tile)
{
    using shape = words<kUnit>;
    using word = typename shape::word;
    constexpr int kAcross = shape::kSlots / kWarp, kDown = shape::kDown;
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int slot = warp % kAcross * kWarp + lane, column = slot * shape::kPer;
    if (column >= columns) return;
    const int64_t bytes = column * (kUnit < 4 ? kUnit : t.step);
    tile += slot * shape::kPitch;
    for (int first = warp / kAcross; first < groups; first += kDown * kBatch) {
        word w[kBatch][shape::kPer];
#pragma unroll
        for (int b = 0; b < kBatch; b++)
#pragma unroll
            for (int i = 0; i < shape::kPer; i++) {
                const uint64_t row = rows[(first + b * kDown) * shape::kPer + i];
                if constexpr (kApart)
                    w[b][i] = read_apart<kUnit>(row, t.step, column, columns);
                else
                    w[b][i] = read_row<kUnit>(row, bytes);
            }
#pragma unroll
        for (int b = 0; b < kBatch; b++) {
            if constexpr (shape::kPer > 1) turn_words<shape::kPer>(w[b]);
#pragma unroll
            for (int i = 0; i < shape::kPer; i++)
                tile[i * shape::kSlots * shape::kPitch + first + b * kDown] = w[b][i];
        }
    }
}

// A word of a column, whose first element has this row; only what lies in the array is written.
template <int kUnit>
__device__ __forceinline__ void
write_word(const turn_task &t, char *to, int64_t row, typename words<kUnit>::word x)
{
    using shape = words<kUnit>;
    if (row >= 0 && row + shape::kPer <= t.rows) {
        *reinterpret_cast<typename shape::word *>(to) = x;
        return;
    }
    if constexpr (shape::kPer > 1)
#pragma unroll 1
        for (int i = 0; i < shape::kPer; i++)
            if (row + i >= 0 && row + i < t.rows)
                reinterpret_cast<typename shape::unit *>(to)[i] =
                    (typename shape::unit)(x >> (8 * kUnit * i));
}

// The tile to the output, a warp a column. Inside the array every word is written whole.
template <int kUnit, bool kInside>
__device__ __forceinline__ void
write_tile(const turn_task &t, int64_t row, const uint64_t *to, int columns,
           const typename words<kUnit>::word *tile)
{
    using shape = words<kUnit>;
    using word = typename shape::word;
    constexpr int kAcross = shape::kRows / shape::kPer / kWarp; // words of a lane
    const int lane = threadIdx.x % kWarp;
#pragma unroll 4
    for (int c = threadIdx.x / kWarp; c < columns; c += shape::kWarps) {
        const unsigned early = t.lead ? (unsigned)to[c] % WK_SECTOR : 0; // bytes
        const unsigned skipped = t.lead * kUnit - early;
        const word *x = tile + lane + skipped / sizeof(word) +
                        (c % shape::kPer * shape::kSlots + c / shape::kPer) * shape::kPitch;
        char *first = reinterpret_cast<char *>(to[c] - early + lane * sizeof(word));
#pragma unroll
        for (int m = 0; m < kAcross; m++) {
            const int i = m * kWarp;
            if ((i + lane) * shape::kPer >= t.tile_rows) break;
            word v = x[i];
            if constexpr (shape::kPer > 1) v = __funnelshift_r(v, x[i + 1], skipped << 3);
            if constexpr (kInside)
                *reinterpret_cast<word *>(first + i * sizeof(word)) = v;
            else
                write_word<kUnit>(t, first + i * sizeof(word),
                                  row - (int)early / kUnit + (i + lane) * shape::kPer, v);
        }
    }
}

template <int kUnit>
__global__ void
__launch_bounds__(words<kUnit>::kThreads) transpose_tile(const turn_task __grid_constant__ t)
{
    using shape = words<kUnit>;
    WK_DYNAMIC_SHARED(typename shape::word, tile);
    auto *rows = reinterpret_cast<uint64_t *>(reinterpret_cast<char *>(tile) + shape::kTile);
    uint64_t *to = rows + shape::kHeld;
    const turn_place at = place_of(t, blockIdx.x);
    const int64_t left = t.columns - at.column;
    const int columns = left < t.tile_columns ? (int)left : t.tile_columns;
    const int held = t.tile_rows + t.lead, groups = held / shape::kPer;
    bool slow = false;
    for (int i = threadIdx.x; i < shape::kHeld; i += shape::kThreads) {
        rows[i] = row_of(t, at, at.row - t.lead + (i < held ? i : held - 1));
        slow |= apart<kUnit>(t, rows[i], columns);
    }
    for (int c = threadIdx.x; c < columns; c += shape::kThreads)
        to[c] = (uint64_t)(uintptr_t)(t.out + at.others.out + at.row * kUnit) +
                along(t.column, t.column_axes, at.column + c).out;
    slow = __syncthreads_or(slow); // the tables are there before they are read
    if (slow)
        read_tile<kUnit, true, 1>(t, rows, groups, columns, tile);
    else if (groups == shape::kGroups)
        read_tile<kUnit, false, shape::kBatch>(t, rows, groups, columns, tile);
    else if (groups % (shape::kDown * shape::kPlain) == 0)
        read_tile<kUnit, false, shape::kPlain>(t, rows, groups, columns, tile);
    else
        read_tile<kUnit, false, shape::kFew>(t, rows, groups, columns, tile);
    __syncthreads(); // the tile is full before its columns are read
    if (at.row >= t.lead && at.row + t.tile_rows <= t.rows)
        write_tile<kUnit, true>(t, at.row, to, columns, tile);
    else
        write_tile<kUnit, false>(t, at.row, to, columns, tile);
}

template <int kUnit>
wk_status
start(wk_call *call, const wk_tiles *plan)
{
    return launch_turn(call, plan, words<kUnit>::kThreads, words<kUnit>::kShared,
                       transpose_tile<kUnit>);
}

} // namespace

wk_status
transpose_words(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit,
                      [&](auto zero) { return start<(int)sizeof(zero)>(call, plan); });
}

} // namespace wk
