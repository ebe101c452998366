// transpose / tiles: short -- a side of 2 to 8: pixels to channels and back, points to coordinates.
//
// How       A thread takes so many elements of the long side that each of its accesses is 16 bytes, and
//           permutes them in registers. What lies in one run on one side, all channels of
//           some pixels, goes through shared memory, so that there too a warp's lanes access
//           neighbouring 16 bytes.
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

constexpr int kThreads = 256;

// Where a warp's pieces of 16 bytes lie in shared memory: exchanged by XOR where a side of 2, 4, 8 would
// have lanes meet in one bank.
template <int kSide>
__device__ __forceinline__ int
place_in(int piece)
{
    return kSide % 2 ? piece : piece ^ (piece >> 3 & ((kSide & -kSide) - 1));
}

// Unit number `at` of x, in the lowest bits.
template <int kUnit>
__device__ __forceinline__ uint32_t
unit_of(const uint32_t *x, int at)
{
    return x[at * kUnit / 4] >> (at * kUnit % 4 * 8);
}

// y's units from x's: with kTall x has kSide units of each element of the long side, and y as many of these
// of each unit; else the other way round.
template <int kUnit, int kSide, bool kTall>
__device__ __forceinline__ void
permute(const uint32_t (&x)[4 * kSide], uint32_t (&y)[4 * kSide])
{
    constexpr int kLong = 16 / kUnit, kPer = 4 / kUnit;
#pragma unroll
    for (int w = 0; w < 4 * kSide; w++) {
        uint32_t unit[4];
#pragma unroll
        for (int i = 0; i < kPer; i++) {
            const int to = w * kPer + i;
            const int from =
                kTall ? to % kLong * kSide + to / kLong : to % kSide * kLong + to / kSide;
            unit[i] = unit_of<kUnit>(x, from);
        }
        if constexpr (kUnit == 4)
            y[w] = unit[0];
        else if constexpr (kUnit == 2)
            y[w] = __byte_perm(unit[0], unit[1], 0x5410);
        else
            y[w] = __byte_perm(__byte_perm(unit[0], unit[1], 0x0040),
                               __byte_perm(unit[2], unit[3], 0x0040), 0x5410);
    }
}

template <int kSide>
__device__ __forceinline__ void
unpack(const uint4 (&v)[kSide], uint32_t (&x)[4 * kSide])
{
#pragma unroll
    for (int k = 0; k < kSide; k++) {
        x[4 * k] = v[k].x;
        x[4 * k + 1] = v[k].y;
        x[4 * k + 2] = v[k].z;
        x[4 * k + 3] = v[k].w;
    }
}

template <int kUnit, int kSide, bool kTall>
__global__ void
__launch_bounds__(kThreads) transpose_short_side(const turn_task __grid_constant__ t)
{
    __shared__ uint4 stage[kThreads / kWarp][kWarp * kSide];
    constexpr int kLong = 16 / kUnit; // elements of a piece
    const turn_place at = place_of(t, blockIdx.x);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t first = (kTall ? at.row : at.column) / kLong + warp * kWarp;
    const int64_t left = (kTall ? t.rows : t.columns) / kLong - first;
    const int here = left < kWarp ? (int)left : kWarp; // pieces of the warp, none if below 1
    const char *in = t.in + at.others.in;
    char *out = t.out + at.others.out;

    uint4 v[kSide];
    uint32_t x[4 * kSide], y[4 * kSide];
#pragma unroll
    for (int k = 0; k < kSide; k++) {
        const int piece = kTall ? k * kWarp + lane : lane;
        const int64_t from =
            kTall ? (first * kSide + piece) * 16 : k * t.row[0].in + (first + piece) * 16;
        v[k] = piece < (kTall ? here * kSide : here)
                   ? *reinterpret_cast<const uint4 *>(in + from)
                   : uint4{};
    }
    if constexpr (kTall) {
#pragma unroll
        for (int k = 0; k < kSide; k++) stage[warp][place_in<kSide>(k * kWarp + lane)] = v[k];
        __syncwarp(); // the warp's pieces are there before its lanes read others'
#pragma unroll
        for (int k = 0; k < kSide; k++) v[k] = stage[warp][place_in<kSide>(lane * kSide + k)];
    }
    unpack<kSide>(v, x);
    permute<kUnit, kSide, kTall>(x, y);
#pragma unroll
    for (int k = 0; k < kSide; k++)
        v[k] = make_uint4(y[4 * k], y[4 * k + 1], y[4 * k + 2], y[4 * k + 3]);
    if constexpr (!kTall) {
#pragma unroll
        for (int k = 0; k < kSide; k++) stage[warp][place_in<kSide>(lane * kSide + k)] = v[k];
        __syncwarp(); // likewise
#pragma unroll
        for (int k = 0; k < kSide; k++) v[k] = stage[warp][place_in<kSide>(k * kWarp + lane)];
    }
#pragma unroll
    for (int k = 0; k < kSide; k++) {
        const int piece = kTall ? lane : k * kWarp + lane;
        const int64_t to =
            kTall ? k * t.column[0].out + (first + piece) * 16 : (first * kSide + piece) * 16;
        if (piece < (kTall ? here : here * kSide)) *reinterpret_cast<uint4 *>(out + to) = v[k];
    }
}

template <int kUnit, bool kTall>
wk_status
start(wk_call *call, const wk_tiles *plan)
{
    switch (kTall ? plan->columns : plan->rows) {
    case 2: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 2, kTall>);
    case 3: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 3, kTall>);
    case 4: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 4, kTall>);
    case 5: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 5, kTall>);
    case 6: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 6, kTall>);
    case 7: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 7, kTall>);
    default: return launch_turn(call, plan, kThreads, 0, transpose_short_side<kUnit, 8, kTall>);
    }
}

template <bool kTall>
wk_status
start(wk_call *call, const wk_tiles *plan)
{
    switch (plan->unit) {
    case 1: return start<1, kTall>(call, plan);
    case 2: return start<2, kTall>(call, plan);
    default: return start<4, kTall>(call, plan);
    }
}

} // namespace

wk_status
transpose_short(wk_call *call, const wk_tiles *plan)
{
    static_assert(kThreads == WK_SHORT_PIECES, "the plan's");
    return plan->columns <= WK_SHORT_SIDE ? start<true>(call, plan) : start<false>(call, plan);
}

} // namespace wk
