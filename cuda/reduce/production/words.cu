// reduce / exact, sums and products of integers modulo 2^64, and how many elements are not zero: one
// kernel for each size.
#include "reduce/production/exact.cuh"

namespace wk
{

wk_status
reduce_count(wk_call *call)
{
    return visit_size(call->in.dtype, [&](auto zero) {
        return reduce<word<decltype(zero), what::nonzeros>>(call);
    });
}

wk_status
reduce_wrap(wk_call *call)
{
    if (call->in.dtype == WK_BOOL) return reduce_count(call);
    return with_words(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::values>>(call); });
}

wk_status
reduce_product(wk_call *call)
{
    if (call->in.dtype == WK_BOOL) return reduce_count(call);
    return with_words(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::products>>(call); });
}

} // namespace wk
