// reduce / exact, all results of floats in one pass, and variances of complex numbers.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_summary(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_sums<decltype(zero), 1, true, true, true>>(call);
    });
}

wk_status
wk::reduce_complex(wk_call *call)
{
    return with_complex(call, [&](auto part) {
        return reduce<float_sums<decltype(part), 2, true, true, true>>(call);
    });
}
