/* reduce / cpu exact -- every fold but a product of floats gives the same bits in any order.
 *
 * In, out   any strides: kept axes, then reduced ones (see plan.h) -> one value per output.
 * How       reduction.h: short rows and columns by lanes, all else by accumulators; exact.c says
 *           how a sum can be exact at the memory's speed. Products of floats: tree.c.
 * Source    NUMERICS.md */
#include "finish.h"
#include "tree.h"

#define FOLDING(name) WK_ISA_NAME(wk_folding_##name)
extern const wk_folding FOLDING(sum_float)[WK_DTYPES], FOLDING(squares_float)[WK_DTYPES],
    FOLDING(sum_int)[WK_DTYPES], FOLDING(squares_int)[WK_DTYPES], FOLDING(min)[WK_DTYPES],
    FOLDING(max)[WK_DTYPES], FOLDING(any)[WK_DTYPES], FOLDING(all)[WK_DTYPES],
    FOLDING(count)[WK_DTYPES], FOLDING(wrap)[WK_DTYPES], FOLDING(product)[WK_DTYPES],
    FOLDING(argmin)[WK_DTYPES], FOLDING(argmax)[WK_DTYPES];

static wk_foldings
foldings_of(const wk_call *call)
{
    const int integer = call->in.dtype < WK_F16;
    return (wk_foldings){
        .component =
            {
                [WK_C_SUM] = integer ? FOLDING(sum_int) : FOLDING(sum_float),
                [WK_C_SQUARES] = integer ? FOLDING(squares_int) : FOLDING(squares_float),
                [WK_C_MIN] = FOLDING(min),
                [WK_C_MAX] = FOLDING(max),
                [WK_C_ANY] = FOLDING(any),
                [WK_C_ALL] = FOLDING(all),
                [WK_C_COUNT] = FOLDING(count),
                [WK_C_WRAP] = FOLDING(wrap),
                [WK_C_PRODUCT] = FOLDING(product),
                [WK_C_ARGMIN] = FOLDING(argmin),
                [WK_C_ARGMAX] = FOLDING(argmax),
            },
        .finish = WK_ISA_NAME(wk_finish),
        .finish_lanes = WK_ISA_NAME(wk_finish_lanes),
    };
}

WK_CPU_LAUNCHER(reduce, exact)
{
    const wk_reduce_args *args = &call->args.reduce;
    const wk_foldings foldings = foldings_of(call);
    if (wk_family_of(args->fold, call->outs, call->in.dtype) == WK_FAMILY_TREE)
        return WK_ISA_NAME(wk_reduce_tree)(call);
    return wk_reduce_walk(call, &foldings);
}

WK_CPU_LAUNCHER(segment_reduce, runs)
{
    const wk_foldings foldings = foldings_of(call);
    return wk_reduce_segments(call, &foldings);
}
