// histogram / shared_edges -- counters in shared memory: any edges.
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

wk_status
shared_edges(wk_call *call)
{
    return with_edges<true>(call, [&](const auto &policy) {
        using P = std::decay_t<decltype(policy)>;
        // two vectors at a time, not four: searching is what takes time, and its code is long
        return launch_shared<P, 2, 1>(call, policy, all_of(call), call->part.mode != WK_PIECE);
    });
}

} // namespace wk::histogram
