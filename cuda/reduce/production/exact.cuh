// exact.cuh -- the accumulators of all families, and who has which. One file instantiates each, so
// that they compile side by side.
#pragma once
#include "reduce/production/arg.cuh"
#include "reduce/production/launch.cuh"
#include "reduce/production/summary.cuh"

namespace wk
{

wk_status reduce_sum(wk_call *call);
wk_status reduce_squares(wk_call *call);
wk_status reduce_moments(wk_call *call);
wk_status reduce_summary(wk_call *call);
wk_status reduce_complex_sum(wk_call *call);
wk_status reduce_complex_squares(wk_call *call);
wk_status reduce_complex(wk_call *call);
wk_status reduce_int_moments(wk_call *call);
wk_status reduce_int_summary(wk_call *call);
wk_status reduce_wrap(wk_call *call);
wk_status reduce_product(wk_call *call);
wk_status reduce_count(wk_call *call);
wk_status reduce_extreme(wk_call *call);
wk_status reduce_arg(wk_call *call);
wk_status reduce_prod(wk_call *call); // of floats: tree.cuh

// Not all builds have all dtypes: WK_ONLY.
inline wk_status
find_kernels(wk_call *call)
{
    if (WK_ONLY >> call->in.dtype & 1) return WK_OK;
    return WK_FAIL(&call->error, WK_EDEVICE, "no kernels for dtype %d in this build",
                   (int)call->in.dtype);
}

template <wk_dtype dtype, typename T, typename F>
wk_status
only(F &&f)
{
    if constexpr (WK_ONLY >> dtype & 1)
        return f(T{});
    else
        return WK_EDEVICE;
}

template <typename F>
wk_status
with_floats(wk_call *call, F &&f)
{
    switch (call->in.dtype) {
    case WK_F16: return only<WK_F16, half16>(f);
    case WK_BF16: return only<WK_BF16, brain16>(f);
    case WK_F32: return only<WK_F32, float>(f);
    default: return only<WK_F64, double>(f);
    }
}

// With a complex number's part.
template <typename F>
wk_status
with_complex(wk_call *call, F &&f)
{
    return call->in.dtype == WK_C64 ? only<WK_C64, float>(f) : only<WK_C128, double>(f);
}

// Integers; and halves, where they are ordered as integers.
template <typename F>
wk_status
with_words(wk_call *call, F &&f)
{
    if constexpr (WK_ONLY & ((1u << WK_F32) - 1))
        return visit_word(call->in.dtype, f);
    else
        return WK_EDEVICE;
}

template <typename F>
wk_status
with_all(wk_call *call, F &&f)
{
    switch (call->in.dtype) {
    case WK_F32: return only<WK_F32, float>(f);
    case WK_F64: return only<WK_F64, double>(f);
    case WK_C64:
    case WK_C128:
        return with_complex(call, [&](auto part) { return f(complex<decltype(part)>{}); });
    default: return with_words(call, f);
    }
}

} // namespace wk
