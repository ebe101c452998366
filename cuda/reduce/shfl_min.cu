// reduce / shfl, fold "min" for every element type; shfl.cuh has the kernels.
#include "reduce/shfl.cuh"

wk_status
wk::reduce_min(wk_call *call)
{
    return reduce_all_types<smallest>(call);
}
