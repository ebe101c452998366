// reduce / exact, means and variances of integers, and all their results in one pass.
#include "reduce/production/exact.cuh"

// Their squares would take 192 bits.
static bool
only_sums(const wk_call *call)
{
    for (int i = 0; i < call->outs; i++)
        if (call->args.reduce.fold[i] != WK_MEAN && call->args.reduce.fold[i] != WK_SUM)
            return false;
    return true;
}

wk_status
wk::reduce_int_moments(wk_call *call)
{
    if (wk_itemsize[call->in.dtype] == 8 && only_sums(call))
        return reduce<int_summary<uint64_t, false, false>>(call);
    return visit_word(call->in.dtype, [&](auto zero) {
        return reduce<int_summary<decltype(zero), false>>(call);
    });
}

wk_status
wk::reduce_int_summary(wk_call *call)
{
    return visit_word(call->in.dtype, [&](auto zero) {
        return reduce<int_summary<decltype(zero), true>>(call);
    });
}
