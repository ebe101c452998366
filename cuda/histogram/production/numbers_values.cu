// histogram / numbers_values -- see numbers.cuh.
#include "histogram/production/numbers.cuh"

namespace wk::histogram
{

wk_status
numbers_values(wk_call *call, int64_t first, int64_t n, uint32_t *numbers)
{
    return with_values(call, [&](const auto &policy) {
        return launch_numbers(call, policy, first, n, numbers);
    });
}

} // namespace wk::histogram
