// numbers.cuh -- the bins of elements, stored: for bins beyond a block's shared memory.
#pragma once
#include "histogram/production/policies.cuh"
#include "histogram/production/ways.cuh"

namespace wk::histogram
{

template <typename P>
__device__ __forceinline__ auto
far_edges(const P &policy)
{
    if constexpr (requires_edges<P>) {
        using E = typename P::edge;
        const auto *there = static_cast<const E *>(policy.task.edges);
        if constexpr (P::always_near)
            return edges_at<E, 1>{there, nullptr};
        else
            return edges_anywhere<E>{nullptr, there, false, (unsigned)policy.task.args.bins};
    } else {
        return no_edges{};
    }
}

template <typename P>
__global__ void
__launch_bounds__(kThreads, 1)
    histogram_numbers(const input<typename P::element> __grid_constant__ in,
                      const P __grid_constant__ policy, uint32_t *numbers)
{
    using T = typename P::element;
    constexpr int E = kEach<T>;
    const auto edges = far_edges(policy);
    const int64_t step = (int64_t)gridDim.x * kThreads;
    const auto *p = reinterpret_cast<const uint4 *>(in.in + in.lead);
    int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    for (; i < in.vectors; i += step) {
        const elements<T> e = unpacked<T>(read_once(p + i));
        unsigned number[E];
        policy.numbers(e.x, number, edges);
        for (int k = 0; k < E; k++) numbers[in.lead + i * E + k] = number[k];
    }
    each_of_ends(in, blockIdx.x, [&](const T &x) {
        const T one[1] = {x};
        unsigned number[1];
        policy.numbers(one, number, edges);
        numbers[&x - in.in] = number[0];
    });
}

template <typename P>
wk_status
launch_numbers(wk_call *call, const P &policy, int64_t first, int64_t n, uint32_t *numbers)
{
    using T = typename P::element;
    const auto *from = static_cast<const T *>(call->in.data) + first;
    return launch(call, blocks_for(n, processors(call) * 2), kThreads, 0, histogram_numbers<P>,
                  input_of<T>(from, n), policy, numbers);
}

} // namespace wk::histogram
