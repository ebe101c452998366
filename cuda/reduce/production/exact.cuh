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

template <typename F>
wk_status
with_floats(wk_call *call, F &&f)
{
    switch (call->in.dtype) {
    case WK_F16: return f(half16{});
    case WK_BF16: return f(brain16{});
    case WK_F32: return f(float{});
    default: return f(double{});
    }
}

// Halves are ordered as integers.
template <typename F>
wk_status
with_all(wk_call *call, F &&f)
{
    switch (call->in.dtype) {
    case WK_F32: return f(float{});
    case WK_F64: return f(double{});
    case WK_C64: return f(complex<float>{});
    case WK_C128: return f(complex<double>{});
    default: return visit_word(call->in.dtype, f);
    }
}

} // namespace wk
