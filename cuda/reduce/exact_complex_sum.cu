// reduce / exact, sums and means of complex numbers whose parts lie beside no other's; teams.cuh has
// the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_complex_sum(wk_call *call)
{
    return call->in.dtype == WK_C64 ? reduce<complex_sum<complex<float>>>(call)
                                    : reduce<complex_sum<complex<double>>>(call);
}
