// transpose / tiles: boxes -- a tile has an extent of each axis, so that several short axes make a side
// together, and one axis may lengthen the runs of both sides.
//
// How       A tile lies in shared memory in the input's order. An element's address is the sum of two
//           entries of tables, one of its row and one of its place in the row, on both sides: a thread
//           keeps a place and walks rows, some on their way at a time, and divides nothing. The tables
//           are made once a block, which has many tiles: all are alike, since the last one of an axis
//           ends where the axis does, and moves some elements again.
// Small     1 and 2 bytes: rows are read as words, shifted together where they begin inside one, and
//           words of the output are gathered from the tile by a table for each alignment.
#include "prim/async.cuh"
#include "prim/memory.cuh"
#include "transpose/production/tiles.cuh"

#include <algorithm>
#include <type_traits>

namespace wk
{

namespace
{

constexpr int kThreads = WK_BOX_THREADS, kBatch = WK_BOX_BATCH;

// Blocks of a multiprocessor, so that some read while others write: more of them where tiles are small. H200,
// 1 GiB, tiles of 6.4 to 10.1 KiB: 5 or 6 blocks 1.04 to 1.20 of the rate of 4, of 11 and more .89 to 1.03.
constexpr int kBlocks = WK_BOX_BLOCKS, kMostBlocks = 6,
              kEnough = 52 << 10; // bytes of their tiles

struct box_side {
    struct {
        divisor extent;
        int far, near, skip;
    } digit[WK_BOX_DIGITS];
    int digits, row_digits, units, rows, accesses;
    divisor threads; // of a row
    int groups;      // of threads with rows of their own
    int entries;     // of the rows' table: whole batches
};

struct box_task {
    char *in, *out;         // of the first element
    const char *low, *high; // the input's block
    struct {
        divisor tiles;
        int64_t in, out;           // steps of a tile, in units
        int64_t last_in, last_out; // where the last tile begins
    } axis[WK_KERNEL_AXES];
    int axes;
    uint32_t tiles;
    box_side read, write;
    int bytes; // of the tile
    bool joined, aligned, alike, whole;
    int64_t reach_low, reach_high; // units
};

// What an entry counts: units in the array, bytes in shared memory.
struct entry {
    int far, near;
};

template <int kPer>
__device__ __forceinline__ entry
entry_of(const box_side &side, int from, int to, uint32_t index)
{
    entry sum = {0, 0};
#pragma unroll 1
    for (int i = from; i < to; i++) {
        const uint32_t next = index / side.digit[i].extent;
        const int at = (int)(index - next * side.digit[i].extent.by);
        index = next;
        sum.far += at * side.digit[i].far;
        sum.near += at * side.digit[i].near;
        if constexpr (kPer > 1) sum.near += at / kPer * side.digit[i].skip;
    }
    return sum;
}

// Of the rows: those of a thread's batch side by side. Beyond the last one, that of the thread again.
template <int kPer>
__device__ __forceinline__ void
set_rows(const box_side &side, entry *table)
{
    for (int i = threadIdx.x; i < side.entries; i += kThreads) {
        const int group = i / kBatch % side.groups;
        int row = (i / kBatch / side.groups * kBatch + i % kBatch) * side.groups + group;
        if (row >= side.rows) row = (side.rows - 1 - group) / side.groups * side.groups + group;
        table[i] = entry_of<kPer>(side, side.row_digits, side.digits, row);
    }
}

// Where a tile begins in both arrays, in units.
struct box_place {
    int64_t in, out;
};

__device__ __forceinline__ box_place
place_of(const box_task &t, uint32_t tile)
{
    box_place p = {0, 0};
#pragma unroll 1
    for (int a = 0; a < t.axes; a++) {
        const uint32_t next = tile / t.axis[a].tiles, at = tile - next * t.axis[a].tiles.by;
        const bool last = at + 1 == t.axis[a].tiles.by;
        p.in += last ? t.axis[a].last_in : at * t.axis[a].in;
        p.out += last ? t.axis[a].last_out : at * t.axis[a].out;
        tile = next;
    }
    return p;
}

// A batch of entries: 32 bytes.
__device__ __forceinline__ void
get(const entry *table, entry (&e)[kBatch])
{
    static_assert(sizeof(e) == 2 * sizeof(int4), "two vectors");
    const int4 low = reinterpret_cast<const int4 *>(table)[0],
               high = reinterpret_cast<const int4 *>(table)[1];
    e[0] = {low.x, low.y};
    e[1] = {low.z, low.w};
    e[2] = {high.x, high.y};
    e[3] = {high.z, high.w};
}

// A thread's share of one side: f(access of a row, entries of rows).
template <typename F>
__device__ __forceinline__ void
for_each(const box_side &side, int accesses, const entry *rows, F &&f)
{
    const int group = (int)(threadIdx.x / side.threads);
    const int first = (int)(threadIdx.x - group * side.threads.by);
    if (group >= side.groups) return;
    for (int a = first; a < accesses; a += (int)side.threads.by) f(a, rows + group * kBatch);
}

template <int kUnit>
struct box_kind {
    using unit = std::conditional_t<
        kUnit == 1, uint8_t,
        std::conditional_t<kUnit == 2, uint16_t,
                           std::conditional_t<kUnit == 4, uint32_t,
                                              std::conditional_t<kUnit == 8, uint2, uint4>>>>;
    static constexpr int kPer = kUnit < 4 ? 4 / kUnit : 1; // units of a word
};

// ---- in ----------------------------------------------------------------------------------------

template <int kUnit>
__device__ __forceinline__ void
read_units(const box_task &t, char *in, const entry *rows, const entry *columns, char *tile)
{
    for_each(t.read, t.read.accesses, rows, [&](int a, const entry *row) {
        const entry column = columns[a];
        char *far = beyond<kUnit>(in, column.far);
        char *near = tile + column.near;
        for (int i = 0; i < t.read.entries; i += kBatch * t.read.groups) {
            entry e[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                copy_async<kUnit>(near + e[b].near, beyond<kUnit>(far, e[b].far));
        }
    });
}

// Rows that begin with words.
template <int kUnit>
__device__ __forceinline__ void
read_words(const box_task &t, char *in, const entry *rows, char *tile)
{
    for_each(t.read, t.read.accesses, rows, [&](int a, const entry *row) {
        for (int i = 0; i < t.read.entries; i += kBatch * t.read.groups) {
            entry e[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                copy_async<4>(tile + a * 4 + e[b].near, beyond<kUnit>(in + a * 4, e[b].far));
        }
    });
}

// Rows that begin anywhere: of two words each.
template <int kUnit>
__device__ __forceinline__ void
read_shifted(const box_task &t, char *in, const entry *rows, char *tile)
{
    for_each(t.read, t.read.accesses, rows, [&](int a, const entry *row) {
        for (int i = 0; i < t.read.entries; i += kBatch * t.read.groups) {
            entry e[kBatch];
            uint32_t low[kBatch], high[kBatch];
            unsigned shift[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++) {
                const auto at = (uint64_t)(uintptr_t)beyond<kUnit>(in + a * 4, e[b].far);
                const auto *word = reinterpret_cast<const uint32_t *>(at & ~(uint64_t)3);
                low[b] = read_ahead(word);
                high[b] = read_ahead(word + 1);
                shift[b] = (unsigned)at << 3; // mod 32
            }
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                *reinterpret_cast<uint32_t *>(tile + a * 4 + e[b].near) =
                    __funnelshift_r(low[b], high[b], shift[b]);
        }
    });
}

// Unit by unit: those that are apart, and rows whose words reach beyond the array.
template <int kUnit>
__device__ __forceinline__ void
read_apart(const box_task &t, char *in, const entry *rows, const entry *columns, char *tile)
{
    using unit = typename box_kind<kUnit>::unit;
    for_each(t.read, t.read.units, rows, [&](int a, const entry *row) {
        char *far = beyond<kUnit>(in, t.joined ? a : columns[a].far);
        for (int i = 0; i < t.read.entries; i += kBatch * t.read.groups) {
            entry e[kBatch];
            unit x[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                x[b] = *reinterpret_cast<const unit *>(beyond<kUnit>(far, e[b].far));
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                *reinterpret_cast<unit *>(tile + a * kUnit + e[b].near) = x[b];
        }
    });
}

template <int kUnit>
__device__ __forceinline__ void
read_box(const box_task &t, int64_t begin, const entry *rows, const entry *columns, char *tile)
{
    char *in = t.in + begin * kUnit;
    if constexpr (kUnit >= 4) {
        read_units<kUnit>(t, in, rows, columns, tile);
    } else {
        const bool inside = in + t.reach_low * kUnit - 3 >= t.low &&
                            in + t.reach_high * kUnit + kUnit + 7 <= t.high;
        if (!t.joined || !inside)
            read_apart<kUnit>(t, in, rows, columns, tile);
        else if (t.aligned)
            read_words<kUnit>(t, in, rows, tile);
        else
            read_shifted<kUnit>(t, in, rows, tile);
    }
    await_copies();
}

// ---- out ---------------------------------------------------------------------------------------

template <int kUnit>
__device__ __forceinline__ void
write_units(const box_task &t, char *out, const entry *rows, const entry *columns,
            const char *tile)
{
    using unit = typename box_kind<kUnit>::unit;
    for_each(t.write, t.write.accesses, rows, [&](int a, const entry *row) {
        const char *near = tile + columns[a].near;
        char *far = beyond<kUnit>(out, columns[a].far);
        for (int i = 0; i < t.write.entries; i += kBatch * t.write.groups) {
            entry e[kBatch];
            unit x[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++)
                x[b] = *reinterpret_cast<const unit *>(near + e[b].near);
#pragma unroll
            for (int b = 0; b < kBatch; b++) write_global(beyond<kUnit>(far, e[b].far), x[b]);
        }
    });
}

// Where in a row of the tile the units of a word of the output's row come from, for each number of
// units by which the row begins inside a word: [early][word][unit].
template <int kUnit>
__device__ __forceinline__ void
set_sources(const box_side &side, bool whole, uint16_t *table)
{
    constexpr int kPer = box_kind<kUnit>::kPer;
    const int entries = (whole ? 1 : kPer) * kPer * side.accesses;
    for (int i = threadIdx.x; i < entries; i += kThreads) {
        const int word = i / kPer, early = word / side.accesses;
        int unit = (word - early * side.accesses) * kPer + i % kPer - early;
        unit = unit < 0 ? 0 : unit < side.units ? unit : side.units - 1;
        table[i] = (uint16_t)entry_of<kPer>(side, 0, side.row_digits, unit).near;
    }
}

template <int kUnit>
__device__ __forceinline__ uint32_t
gather(const char *tile, const uint16_t *table, int word)
{
    constexpr int kPer = box_kind<kUnit>::kPer;
    const auto *in = reinterpret_cast<const uint8_t *>(tile);
    if constexpr (kPer == 4) {
        const uint2 at = reinterpret_cast<const uint2 *>(table)[word];
        const uint32_t a = in[at.x & 0xffff], b = in[at.x >> 16];
        const uint32_t c = in[at.y & 0xffff], d = in[at.y >> 16];
        return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
    } else {
        const uint32_t at = reinterpret_cast<const uint32_t *>(table)[word];
        const uint32_t a = *reinterpret_cast<const uint16_t *>(in + (at & 0xffff));
        const uint32_t b = *reinterpret_cast<const uint16_t *>(in + (at >> 16));
        return __byte_perm(a, b, 0x5410);
    }
}

// Of a word that holds an end of a row, what is in the row.
template <int kUnit>
__device__ __forceinline__ void
write_ends(char *to, uint32_t word, int first, int units)
{
    using unit = typename box_kind<kUnit>::unit;
#pragma unroll
    for (int i = 0; i < box_kind<kUnit>::kPer; i++)
        if (first + i >= 0 && first + i < units)
            write_global(to + i * kUnit, (unit)(word >> (8 * kUnit * i)));
}

// kAlike: all rows of the tile begin at the same byte of a word. kWhole: at its first, and end with one.
template <int kUnit, bool kAlike, bool kWhole>
__device__ __forceinline__ void
write_words(const box_task &t, char *out, const entry *rows, const uint16_t *table,
            const char *tile)
{
    constexpr int kPer = box_kind<kUnit>::kPer;
    const int begin = kWhole ? 0 : (int)((uint64_t)(uintptr_t)out / kUnit) & (kPer - 1);
    for_each(t.write, t.write.accesses, rows, [&](int a, const entry *row) {
        for (int i = 0; i < t.write.entries; i += kBatch * t.write.groups) {
            entry e[kBatch];
            uint32_t x[kBatch];
            get(row + i, e);
#pragma unroll
            for (int b = 0; b < kBatch; b++) {
                const int early = kAlike ? begin : (begin + e[b].far) & (kPer - 1);
                x[b] = gather<kUnit>(tile + e[b].near, table, early * t.write.accesses + a);
            }
#pragma unroll
            for (int b = 0; b < kBatch; b++) {
                const int early = kAlike ? begin : (begin + e[b].far) & (kPer - 1);
                const int first = a * kPer - early;
                char *to = beyond<kUnit>(out + first * kUnit, e[b].far);
                if (kWhole || (first >= 0 && first + kPer <= t.write.units))
                    write_global(to, x[b]);
                else
                    write_ends<kUnit>(to, x[b], first, t.write.units);
            }
        }
    });
}

template <int kUnit>
__device__ __forceinline__ void
write_box(const box_task &t, int64_t begin, const entry *rows, const void *columns,
          const char *tile)
{
    char *out = t.out + begin * kUnit;
    const auto *table = static_cast<const uint16_t *>(columns);
    if constexpr (kUnit >= 4)
        write_units<kUnit>(t, out, rows, static_cast<const entry *>(columns), tile);
    else if (t.whole)
        write_words<kUnit, true, true>(t, out, rows, table, tile);
    else if (t.alike)
        write_words<kUnit, true, false>(t, out, rows, table, tile);
    else
        write_words<kUnit, false, false>(t, out, rows, table, tile);
}

// ---- all of it ---------------------------------------------------------------------------------

template <int kUnit>
__global__ void
__launch_bounds__(kThreads, kMostBlocks) transpose_box(const box_task __grid_constant__ t)
{
    constexpr int kPer = box_kind<kUnit>::kPer;
    WK_DYNAMIC_SHARED(char, tile);
    __shared__ box_place next;
    auto *read_rows = reinterpret_cast<entry *>(tile + t.bytes);
    entry *write_rows = read_rows + t.read.entries;
    entry *read_columns = write_rows + t.write.entries;
    const int columns = kPer > 1 && t.joined ? 0 : t.read.units; // else they are side by side
    entry *write_columns = read_columns + columns;
    set_rows<kPer>(t.read, read_rows);
    set_rows<kPer>(t.write, write_rows);
    for (int i = threadIdx.x; i < columns; i += kThreads)
        read_columns[i] = entry_of<kPer>(t.read, 0, t.read.row_digits, i);
    if constexpr (kPer > 1)
        set_sources<kUnit>(t.write, t.whole, reinterpret_cast<uint16_t *>(write_columns));
    else
        for (int i = threadIdx.x; i < t.write.units; i += kThreads)
            write_columns[i] = entry_of<kPer>(t.write, 0, t.write.row_digits, i);
    if (threadIdx.x == 0) next = place_of(t, blockIdx.x);
    for (uint32_t work = blockIdx.x; work < t.tiles; work += gridDim.x) {
        __syncthreads(); // the tables and the place are there; the last tile has been read
        const box_place at = next;
        read_box<kUnit>(t, at.in, read_rows, read_columns, tile);
        __syncthreads(); // the tile is full, and all know where it is
        if (threadIdx.x == kThreads - 1 && work + gridDim.x < t.tiles)
            next = place_of(t, work + gridDim.x);
        write_box<kUnit>(t, at.out, write_rows, write_columns, tile);
    }
}

box_side
side_of(const wk_box_side *side)
{
    box_side s = {};
    s.digits = side->digits;
    s.row_digits = side->row_digits;
    s.units = side->units;
    s.rows = side->rows;
    s.accesses = side->accesses;
    s.threads = divisor_of(side->threads);
    s.groups = kThreads / side->threads < side->rows ? kThreads / side->threads : side->rows;
    const int batch = s.groups * kBatch;
    s.entries = (side->rows + batch - 1) / batch * batch;
    for (int i = 0; i < side->digits; i++) {
        s.digit[i].extent = divisor_of(side->digit[i].extent);
        s.digit[i].far = side->digit[i].far;
        s.digit[i].near = side->digit[i].near;
        s.digit[i].skip = side->digit[i].skip;
    }
    return s;
}

box_task
task_of(const wk_call *call, const wk_tiles *plan)
{
    const wk_box *box = &plan->box;
    box_task t = {};
    t.in = (char *)call->in.data + call->in.first;
    t.low = (const char *)call->in.data;
    t.high = t.low + call->in.bytes;
    t.out = (char *)call->out[0].data;
    t.axes = box->axes;
    t.tiles = (uint32_t)plan->tiles;
    for (int a = 0; a < box->axes; a++) {
        const auto &axis = box->axis[a];
        t.axis[a].tiles = divisor_of(axis.tiles);
        t.axis[a].in = axis.tile * axis.in;
        t.axis[a].out = axis.tile * axis.out;
        t.axis[a].last_in = (axis.extent - axis.tile) * axis.in;
        t.axis[a].last_out = (axis.extent - axis.tile) * axis.out;
    }
    t.read = side_of(&box->in);
    t.write = side_of(&box->out);
    t.bytes = box->bytes;
    t.joined = box->joined;
    t.aligned = box->in_aligned;
    t.alike = box->alike;
    t.whole = box->out_aligned;
    t.reach_low = box->low;
    t.reach_high = box->high;
    return t;
}

template <int kUnit>
wk_status
start(wk_call *call, const wk_tiles *plan)
{
    // As many as run at a time: each makes the tables once.
    const int64_t fit = (most_shared(call) + WK_BOX_KEPT) / (plan->box.shared + WK_BOX_KEPT);
    const int64_t wanted = std::clamp(kEnough / plan->box.bytes, kBlocks, kMostBlocks);
    const int64_t most = std::clamp(fit, (int64_t)1, wanted) * processors(call);
    const int64_t grid = plan->tiles < most ? plan->tiles : most;
    return launch(call, (unsigned)grid, kThreads, (size_t)plan->box.shared,
                  transpose_box<kUnit>, task_of(call, plan));
}

} // namespace

wk_status
transpose_boxes(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit,
                      [&](auto zero) { return start<(int)sizeof(zero)>(call, plan); });
}

} // namespace wk
