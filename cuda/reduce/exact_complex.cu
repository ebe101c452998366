// reduce / exact, variances of complex numbers and what goes with them; teams.cuh has the kernels.
#include "reduce/exact.cuh"

wk_status
wk::reduce_complex(wk_call *call)
{
    return call->in.dtype == WK_C64 ? reduce<complex_summary<complex<float>>>(call)
                                    : reduce<complex_summary<complex<double>>>(call);
}
