// reduce / exact, sums and products of integers modulo 2^64; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_wrap(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::values>>(call); });
}

wk_status
wk::reduce_product(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::products>>(call); });
}
