// reduce / exact, sums of squares and their roots of floats, and of complex numbers whose parts lie
// beside no others'.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_squares(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_sums<decltype(zero), 1, false, true, false>>(call);
    });
}

wk_status
wk::reduce_complex_squares(wk_call *call)
{
    return with_complex(call, [&](auto part) {
        return reduce<float_sums<decltype(part), 2, false, true, false>>(call);
    });
}
