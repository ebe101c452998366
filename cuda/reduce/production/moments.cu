// reduce / exact, variances of floats and what goes with them.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_moments(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_sums<decltype(zero), 1, true, true, false>>(call);
    });
}
