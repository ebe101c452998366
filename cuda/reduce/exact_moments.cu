// reduce / exact, variances and other results of both sums; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_moments(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_summary<decltype(zero), true, true, false>>(call);
    });
}
