// transpose / tiles: aligned -- where rows and columns are whole 16-byte pieces: 16 bytes an access on
// both sides.
//
// How       A thread reads 16 bytes of some rows and turns them in registers, so that what it writes
//           to shared memory are pieces of columns; the tile lies there as the output will. Pieces of
//           16 bytes are exchanged by XOR with the piece's number along the row: the 8 lanes that one
//           turn of the banks serves then meet all of them, in both directions, without padding.
// Shapes    A tile is as narrow or as low as a short side, and as much longer the other way.
#include "prim/turn.cuh"
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

constexpr int kPiece = 16, kTurn = 8; // bytes; pieces that the banks serve in one turn

// A tile of elements of kUnit bytes has so many pieces, and one side as the other allows; a thread reads
// kHigh rows of it at once. H100, 16384 x 16384: 97 % of a copy each; 2 bytes in tiles of 128 x 128 the same, 8
// bytes in 64 x 32 a little less, 1 byte with 16 rows a thread the same.
template <int kUnit>
struct aligned {
    static constexpr int kPer = kPiece / kUnit; // elements of a piece
    static constexpr int kPieces =
        wk_tile_rows(WK_TILES_ALIGNED, kUnit) * wk_tile_columns(WK_TILES_ALIGNED, kUnit) / kPer;
    static constexpr int kThreads = kUnit <= 2 ? 512 : kUnit == 8 ? 128 : 256;
    static constexpr int kHigh = kUnit == 1 ? 8 : kUnit <= 4 ? 4 : kPer;
    static constexpr int kPart = kHigh * kUnit;   // bytes of a column that a thread has
    static constexpr int kParts = kPiece / kPart; // threads that share a piece
    static constexpr int kReads = kPieces / kHigh / kThreads, kWrites = kPieces / kThreads;
    static_assert(kReads * kHigh * kThreads == kPieces, "no thread is left over");
};

// The sides of a tile, powers of two, as shifts: pieces of a row and of a column; pieces of a row that
// lanes have side by side.
struct sides {
    int across, down, run;
    template <int kUnit>
    static __device__ __forceinline__ sides of(const turn_task &t)
    {
        constexpr int kPer = aligned<kUnit>::kPer;
        const int across = 31 - __clz(t.tile_columns / kPer);
        return {across, 31 - __clz(t.tile_rows / kPer), across < 3 ? across : 3};
    }
};

// Where the read-th piece of a thread lies: its number along the row, the column's piece that it
// belongs to, and which part of that. Lanes have up to 8 pieces of a row, then the other parts.
template <int kUnit>
struct reading {
    int across, down, part;
    __device__ reading(const sides &s, int index)
    {
        constexpr int kParts = aligned<kUnit>::kParts;
        const int part_at = index >> s.run, run_at = part_at / kParts, runs = s.across - s.run;
        part = part_at % kParts;
        across = (run_at & ((1 << runs) - 1)) << s.run | (index & ((1 << s.run) - 1));
        down = run_at >> runs;
    }
};

template <int kUnit>
__device__ __forceinline__ int
piece_at(const sides &s, int column, int down)
{
    const int across = column / aligned<kUnit>::kPer;
    return ((column << s.down) + down) ^ (across << (3 - s.run)) % kTurn;
}

// Word m of a column's part, of the words of rows that turn_words has turned.
template <int kUnit, int kHigh>
__device__ __forceinline__ uint32_t
word_of(const uint32_t (&w)[kHigh][4], int column, int m)
{
    if constexpr (kUnit >= 4) {
        constexpr int kWords = kUnit / 4;
        return w[m / kWords][column * kWords + m % kWords];
    } else {
        constexpr int kPer = 4 / kUnit;
        return w[m * kPer + column % kPer][column / kPer];
    }
}

// The turned words of a thread to shared memory, a part of a piece for each of its columns.
template <int kUnit>
__device__ __forceinline__ void
put(const uint32_t (&w)[aligned<kUnit>::kHigh][4], const sides &s, const reading<kUnit> &at,
    uint4 *tile)
{
    using shape = aligned<kUnit>;
#pragma unroll
    for (int k = 0; k < shape::kPer; k++) {
        uint32_t part[shape::kPart / 4];
#pragma unroll
        for (int m = 0; m < shape::kPart / 4; m++) part[m] = word_of<kUnit>(w, k, m);
        uint4 *piece = tile + piece_at<kUnit>(s, at.across * shape::kPer + k, at.down);
        if constexpr (shape::kParts == 1)
            *piece = make_uint4(part[0], part[1], part[2], part[3]);
        else
            reinterpret_cast<uint2 *>(piece)[at.part] = make_uint2(part[0], part[1]);
    }
}

template <int kUnit>
__global__ void
__launch_bounds__(aligned<kUnit>::kThreads)
    transpose_aligned_tile(const turn_task __grid_constant__ t)
{
    using shape = aligned<kUnit>;
    WK_DYNAMIC_SHARED(uint4, tile);
    const sides s = sides::of<kUnit>(t);
    const turn_place at = place_of(t, blockIdx.x);
    const int64_t rows = t.rows - at.row, columns = t.columns - at.column;
    const char *in = t.in + at.others.in + at.row * t.row[0].in + at.column * kUnit;
    char *out = t.out + at.others.out + at.column * t.column[0].out + at.row * kUnit;

    uint4 x[shape::kReads][shape::kHigh];
#pragma unroll
    for (int i = 0; i < shape::kReads; i++) {
        const reading<kUnit> r(s, threadIdx.x + i * shape::kThreads);
        const int row = (r.down * shape::kParts + r.part) * shape::kHigh;
        const char *p = in + row * t.row[0].in + r.across * kPiece;
        const bool there = row < rows && r.across * shape::kPer < columns;
#pragma unroll
        for (int h = 0; h < shape::kHigh; h++)
            x[i][h] = there ? *reinterpret_cast<const uint4 *>(p + h * t.row[0].in) : uint4{};
    }
#pragma unroll
    for (int i = 0; i < shape::kReads; i++) {
        uint32_t w[shape::kHigh][4];
#pragma unroll
        for (int h = 0; h < shape::kHigh; h++) {
            w[h][0] = x[i][h].x;
            w[h][1] = x[i][h].y;
            w[h][2] = x[i][h].z;
            w[h][3] = x[i][h].w;
        }
        if constexpr (kUnit < 4) {
            constexpr int kPer = 4 / kUnit;
#pragma unroll
            for (int h = 0; h < shape::kHigh; h += kPer)
#pragma unroll
                for (int q = 0; q < 4; q++) {
                    uint32_t block[kPer];
#pragma unroll
                    for (int n = 0; n < kPer; n++) block[n] = w[h + n][q];
                    turn_words<kPer>(block);
#pragma unroll
                    for (int n = 0; n < kPer; n++) w[h + n][q] = block[n];
                }
        }
        put<kUnit>(w, s, reading<kUnit>(s, threadIdx.x + i * shape::kThreads), tile);
    }
    __syncthreads(); // the tile is full before its columns are read
#pragma unroll
    for (int i = 0; i < shape::kWrites; i++) {
        const int index = threadIdx.x + i * shape::kThreads;
        const int down = index & ((1 << s.down) - 1), column = index >> s.down;
        const uint4 v = tile[piece_at<kUnit>(s, column, down)];
        if (down * shape::kPer < rows && column < columns)
            *reinterpret_cast<uint4 *>(out + column * t.column[0].out + down * kPiece) = v;
    }
}

template <int kUnit>
wk_status
start(wk_call *call, const wk_tiles *plan)
{
    return launch_turn(call, plan, aligned<kUnit>::kThreads, aligned<kUnit>::kPieces * kPiece,
                       transpose_aligned_tile<kUnit>);
}

} // namespace

wk_status
transpose_aligned(wk_call *call, const wk_tiles *plan)
{
    return visit_unit(plan->unit,
                      [&](auto zero) { return start<(int)sizeof(zero)>(call, plan); });
}

} // namespace wk
