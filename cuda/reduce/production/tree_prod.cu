// reduce / exact, products of floats and complex numbers; tree.cuh has the kernels.
#include "reduce/production/exact.cuh"
#include "reduce/production/tree.cuh"

wk_status
wk::reduce_prod(wk_call *call)
{
    if (call->in.dtype == WK_C64) return product<complex<float>>(call);
    if (call->in.dtype == WK_C128) return product<complex<double>>(call);
    return with_floats(call, [&](auto zero) { return product<decltype(zero)>(call); });
}
