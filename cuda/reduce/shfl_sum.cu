// reduce / shfl, fold "sum" for every element type; shfl.cuh has the kernels.
#include "reduce/shfl.cuh"

wk_status
wk::reduce_sum(wk_call *call)
{
    return reduce_all_types<sum>(call);
}
