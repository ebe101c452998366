// reduce / shfl, fold "prod" for every element type; shfl.cuh has the kernels.
#include "reduce/shfl.cuh"

wk_status
wk::reduce_prod(wk_call *call)
{
    return reduce_all_types<prod>(call);
}
