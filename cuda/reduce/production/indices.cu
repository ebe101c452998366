// reduce / exact, where the least or the largest is.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_arg(wk_call *call)
{
    return with_all(call, [&](auto zero) { return reduce<arg<decltype(zero)>>(call); });
}
