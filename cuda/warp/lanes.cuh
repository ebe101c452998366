// lanes.cuh -- warps of 32 elements each, for the warp primitives: one rung, one file beside it.
//
// Every thread of a warp takes part, also those that have no element: collectives name all lanes, so
// none may leave. What absent lanes give is chosen so that it changes nothing.
#pragma once
#include "num/lanes.h"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

#include <cmath>
#include <limits>

namespace wk::lanes
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

struct task {
    wk_lanes_args args;
    const int32_t *sources; // of each lane; null: args.operand
    int64_t per_line;       // warps
};

// What lanes exchange: 32 or 64 bits.
template <typename U>
using word = std::conditional_t<sizeof(U) == 8, unsigned long long, unsigned>;

// Calls f(first element's number, how many lanes are there, is this one of them) for each warp.
template <typename F>
__device__ __forceinline__ void
for_warps(const task &t, F &&f)
{
    const int64_t all = t.args.outer * t.per_line, step = (int64_t)gridDim.x * kWarps;
    const int lane = threadIdx.x % kWarp;
    int64_t w = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
    for (; w < all; w += step) {
        const int64_t at = w % t.per_line * kWarp, left = t.args.n - at;
        const int there = left < kWarp ? (int)left : kWarp;
        f(w / t.per_line * t.args.n + at + lane, there, lane < there);
    }
}

__device__ __forceinline__ unsigned
present(int there) // as a mask
{
    return there == kWarp ? kAllLanes : (1u << there) - 1;
}

template <typename... P, typename... A>
wk_status
launch_lanes(wk_call *call, void (*kernel)(P...), A... args)
{
    const wk_lanes_args &a = call->args.lanes;
    const int64_t wide = (int64_t)kWarp * (a.each > 0 ? a.each : 1);
    task t = {a, nullptr, (a.n + wide - 1) / wide};
    if (aux_there(call) != WK_OK) return call->error.status;
    if (a.per_lane)
        t.sources = reinterpret_cast<const int32_t *>(
            static_cast<const char *>(call->aux.data) + call->aux.first);
    const unsigned grid = grid_for(call, a.outer * t.per_line, kWarps);
    return launch(call, grid, kThreads, 0, kernel, t, args...);
}

} // namespace wk::lanes
