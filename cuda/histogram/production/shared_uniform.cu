// histogram / shared_uniform -- counters in shared memory: equal bins, as numpy.histogram finds them.
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

wk_status
shared_uniform(wk_call *call)
{
    return with_uniform(call, [&](const auto &policy) {
        using P = std::decay_t<decltype(policy)>;
        constexpr int U = requires_edges<P> ? 4 : 1; // NumPy's own steps are long enough once
        return launch_shared<P, U, 1>(call, policy, all_of(call), call->part.mode != WK_PIECE);
    });
}

} // namespace wk::histogram
