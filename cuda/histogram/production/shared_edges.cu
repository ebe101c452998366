// histogram / shared_edges -- counters in shared memory: any edges.
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

wk_status
shared_edges(wk_call *call)
{
    return with_edges(call, [&](auto policy) {
        using P = decltype(policy);
        using E = typename P::edge;
        const wk_histogram_args &h = call->args.histogram;
        const auto edge = [&](int64_t i) {
            return policy.template edge_at<E>(call->aux.host, i);
        };
        if (P::kMaps && policy.reached && h.n >= kFewForBuckets)
            policy.map = map_of(call, edge(0), edge(h.bins));
        // two vectors at a time, not four: searching is what takes time, and its code is long
        return launch_shared<P, 2, 1>(call, policy, all_of(call), call->part.mode != WK_PIECE);
    });
}

} // namespace wk::histogram
