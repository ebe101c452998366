// histogram / shared_values -- counters in shared memory: the value is the bin, as in numpy.bincount.
#include "histogram/production/shared.cuh"

namespace wk::histogram
{

bool
fits_shared(const wk_call *call)
{
    return words_of(call->args.histogram.bins + 1) * 4 <= most_shared(call);
}

namespace
{

// With many bins one block has all of the shared memory, and twice the loads on their way.
template <typename T>
wk_status
launch_values(wk_call *call, const by_value<T> &policy, const many_bins &m, bool fresh)
{
    const int64_t bytes = words_of((int64_t)m.bins + 1) * 4;
    if (bytes <= most_shared(call) / 2 - 1024)
        return launch_shared<by_value<T>, 2, 2>(call, policy, m, fresh);
    return launch_shared<by_value<T>, 4, 1>(call, policy, m, fresh);
}

} // namespace

wk_status
shared_values(wk_call *call)
{
    return with_values(call, [&](const auto &policy) {
        return launch_values(call, policy, all_of(call), call->part.mode != WK_PIECE);
    });
}

wk_status
shared_numbers(wk_call *call, const many_bins &m)
{
    bins_task task = {};
    task.args.bins = m.bins;
    return launch_values(call, by_value<uint32_t>{task}, m, false);
}

} // namespace wk::histogram
