// reduce / exact, products of floats and complex numbers; tree.cuh has the kernels.
#include "reduce/production/exact.cuh"
#include "reduce/production/tree.cuh"

wk_status
wk::reduce_prod(wk_call *call)
{
    if (wk_is_complex(call->in.dtype))
        return with_complex(call,
                            [&](auto part) { return product<complex<decltype(part)>>(call); });
    return with_floats(call, [&](auto zero) { return product<decltype(zero)>(call); });
}
