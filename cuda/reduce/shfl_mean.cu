// reduce / shfl, fold "mean" for every element type; shfl.cuh has the kernels.
#include "reduce/shfl.cuh"

wk_status
wk::reduce_mean(wk_call *call)
{
    return reduce_all_types<mean>(call);
}
