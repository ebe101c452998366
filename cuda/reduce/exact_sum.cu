// reduce / exact, sums and means of floats; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_sum(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_summary<decltype(zero), true, false, false>>(call);
    });
}
