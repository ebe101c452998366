// reduce / exact, sums and products of integers modulo 2^64, and how many elements are not zero: an
// integer is zero whatever its sign, so there is one kernel for each size.
#include "reduce/exact.cuh"

wk_status
wk::reduce_wrap(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::values>>(call); });
}

wk_status
wk::reduce_product(wk_call *call)
{
    return with_integers(
        call, [&](auto zero) { return reduce<word<decltype(zero), what::products>>(call); });
}

namespace wk
{

template <typename T>
static wk_status
count(wk_call *call)
{
    return reduce<word<T, what::nonzeros>>(call);
}

wk_status
reduce_count(wk_call *call)
{
    switch (call->in.dtype) {
    case WK_F16:
    case WK_BF16: return count<half16>(call);
    case WK_F32: return count<float>(call);
    case WK_F64: return count<double>(call);
    case WK_C64: return count<complex<float>>(call);
    case WK_C128: return count<complex<double>>(call);
    default: break;
    }
    switch (wk_itemsize[call->in.dtype]) {
    case 1: return count<uint8_t>(call);
    case 2: return count<uint16_t>(call);
    case 4: return count<uint32_t>(call);
    default: return count<uint64_t>(call);
    }
}

} // namespace wk
