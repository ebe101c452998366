// reduce / exact, means and variances of integers; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_int_moments(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<int_summary<decltype(zero), false>>(call); });
}
