// histogram / numbers_edges -- see numbers.cuh.
#include "histogram/production/numbers.cuh"

namespace wk::histogram
{

namespace
{

template <typename E>
__global__ void
meet_edges(const met_edges __grid_constant__ met, E *to)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= met.task.args.bins) to[i] = met.edge_at<E>(met.task.edges, i);
}

} // namespace

wk_status
numbers_edges(wk_call *call, int64_t first, int64_t n, uint32_t *numbers, room *room)
{
    return with_edges(call, [&](auto policy) {
        using P = decltype(policy);
        using E = typename P::edge;
        const int64_t edges = call->args.histogram.bins + 1;
        if constexpr (owns_edges<P>) {
            if (keep(call, edges * (int64_t)sizeof(E), &room->edges) != WK_OK ||
                launch(call, (unsigned)((edges - 1) / 256 + 1), 256, 0, meet_edges<E>,
                       (const met_edges &)policy, static_cast<E *>(room->edges)) != WK_OK)
                return call->error.status;
            policy.task.edges = room->edges;
        }
        return launch_numbers(call, policy, first, n, numbers);
    });
}

} // namespace wk::histogram
