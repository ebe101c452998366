// reduce / exact, all results of floats in one pass; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_summary(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_summary<decltype(zero), true, true, true>>(call);
    });
}
