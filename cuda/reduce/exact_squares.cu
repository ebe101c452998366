// reduce / exact, sums of squares of floats; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_squares(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_summary<decltype(zero), false, true, false>>(call);
    });
}
