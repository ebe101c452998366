// reduce / exact, least, largest and their difference.
#include "reduce/production/exact.cuh"

wk_status
wk::reduce_extreme(wk_call *call)
{
    return with_all(call, [&](auto zero) { return reduce<extremes<decltype(zero)>>(call); });
}
