// reduce / exact, sums and means of floats, and of complex numbers whose parts lie beside no others'.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_sum(wk_call *call)
{
    return with_floats(call, [&](auto zero) {
        return reduce<float_sums<decltype(zero), 1, true, false, false>>(call);
    });
}

wk_status
wk::reduce_complex_sum(wk_call *call)
{
    return with_complex(call, [&](auto part) {
        return reduce<float_sums<decltype(part), 2, true, false, false>>(call);
    });
}
