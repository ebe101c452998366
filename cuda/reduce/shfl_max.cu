// reduce / shfl, fold "max" for every element type; shfl.cuh has the kernels.
#include "reduce/shfl.cuh"

wk_status
wk::reduce_max(wk_call *call)
{
    return reduce_all_types<largest>(call);
}
