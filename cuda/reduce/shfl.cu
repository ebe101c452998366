// reduce / shfl -- picks the fold; shfl.cuh tells the story.
#include "reduce/shfl.cuh"

extern "C" wk_status
wk_reduce_cuda_shfl(wk_call *call)
{
    switch (call->args.reduce.fold) {
    case WK_SUM: return wk::reduce_sum(call);
    case WK_PROD: return wk::reduce_prod(call);
    case WK_MIN: return wk::reduce_min(call);
    case WK_MAX: return wk::reduce_max(call);
    default: return wk::reduce_mean(call);
    }
}
