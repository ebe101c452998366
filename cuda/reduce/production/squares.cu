// reduce / exact, sums of squares of floats and their roots.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_squares(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_sums<decltype(zero), 1, false, true, false>>(call);
    });
}
