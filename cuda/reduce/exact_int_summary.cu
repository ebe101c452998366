// reduce / exact, all results of integers in one pass; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_int_summary(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<int_summary<decltype(zero), true>>(call); });
}
