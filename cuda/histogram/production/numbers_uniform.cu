// histogram / numbers_uniform -- see numbers.cuh.
#include "histogram/production/numbers.cuh"

namespace wk::histogram
{

wk_status
numbers_uniform(wk_call *call, int64_t first, int64_t n, uint32_t *numbers)
{
    return with_uniform(call, [&](const auto &policy) {
        return launch_numbers(call, policy, first, n, numbers);
    });
}

} // namespace wk::histogram
