// stencil1d / lines, complex coefficients -- one output a thread.
//
// In, out   [outer][n][inner], real or complex -> [outer][outputs][inner], complex.
// Order     of coefficient t: c.re x.re, then -c.im x.im are added to the real part; c.re x.im, then
//           c.im x.re to the imaginary one. What is missing in real elements is left out.
// Still bad neighbours read the same elements again, from L1; coefficients come from global memory.
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

namespace
{

constexpr int kThreads = 256; // any multiple of a warp does: no thread needs another

template <typename A>
struct parts {
    A re, im;
};

template <typename A>
__device__ __forceinline__ A
number(const void *in, int64_t i, int dtype)
{
    A x = 0;
    with_type(dtype,
              [&](auto zero) { x = loaded<A>(static_cast<const decltype(zero) *>(in)[i]); });
    return x;
}

template <typename A>
__device__ __forceinline__ parts<A>
element(const job &j, bool pairs, int64_t i)
{
    if (!pairs) return {number<A>(j.in, i, j.types.in), 0};
    const int part = j.types.in == WK_C64 ? WK_F32 : WK_F64;
    return {number<A>(j.in, 2 * i, part), number<A>(j.in, 2 * i + 1, part)};
}

template <typename A>
__global__ void
stencil_complex(const job __grid_constant__ j, const parts<A> *c, int64_t count)
{
    const int64_t total = j.outer * j.outputs * j.inner, step = (int64_t)gridDim.x * kThreads;
    const bool pairs = j.types.in == WK_C64 || j.types.in == WK_C128;
    for (int64_t at = (int64_t)blockIdx.x * kThreads + threadIdx.x; at < total; at += step) {
        const int64_t line = at / j.inner, outer = line / j.outputs;
        const int64_t i = line - outer * j.outputs - j.before;
        const int64_t start = outer * j.outer_step + (at - line * j.inner);
        parts<A> sum = {0, 0};
        for (int64_t t = 0; t < count; t++) {
            const bool inside = i + t >= 0 && i + t < j.n;
            const int64_t from = inside ? i + t : beyond(i + t, j.n, j.mode);
            const parts<A> x = from < 0 ? parts<A>{(A)j.cval[0], (A)j.cval[1]}
                                        : element<A>(j, pairs, start + from * j.step);
            const parts<A> w = c[t];
            sum.re = fma_of(w.re, x.re, sum.re);
            if (pairs) sum.re = fma_of(-w.im, x.im, sum.re);
            if (pairs) sum.im = fma_of(w.re, x.im, sum.im);
            sum.im = fma_of(w.im, x.re, sum.im);
        }
        with_type(j.types.out == WK_C64 ? WK_F32 : WK_F64, [&](auto zero) {
            using U = decltype(zero);
            U *to = static_cast<U *>(j.out) + 2 * at;
            to[0] = stored_as<U>(sum.re), to[1] = stored_as<U>(sum.im);
        });
    }
}

template <typename A>
wk_status
run(wk_call *call)
{
    const wk_stencil_args *a = &call->args.stencil;
    void *c = nullptr;
    if (allocate(call, call->aux.bytes, &c) != WK_OK ||
        copy_in(c, call->aux.host, call->aux.bytes, session_of(call)->stream, &call->error) !=
            WK_OK)
        return call->error.status;
    const int64_t total = a->outer * a->outputs * a->inner;
    return launch(call, grid_for(call, total, kThreads), kThreads, 0, stencil_complex<A>,
                  job_of(call, 1), static_cast<const parts<A> *>(c), a->taps);
}

} // namespace

wk_status
launch_complex(wk_call *call)
{
    return call->aux.dtype == WK_C64 ? run<float>(call) : run<double>(call);
}

} // namespace wk::stencil
