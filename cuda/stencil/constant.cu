// stencil1d / constant -- coefficients in constant memory, one output a thread.
//
// In, out   C-contiguous [outer][n][inner] -> [outer][outputs][inner], the same dtype.
// How       coefficients are a __grid_constant__ parameter, which lies in constant memory: all
//           lanes want the same one at once, so one read serves the warp. Unlike a __constant__
//           symbol it belongs to the launch: two streams never mix theirs. More than kTaps of
//           them come from global memory. Multiply-adds are fused and in the order of the taps:
//           the CPU does the same.
// Still bad neighbours read the same elements again, from L1; registers and a tile mend that.
// Source    P. Micikevicius, "3D Finite Difference Computation on GPUs using CUDA" (2009);
//           scipy.ndimage.correlate1d for the meaning.
#include "prim/warp.cuh"
#include "runtime/launch.cuh"
#include "runtime/visit.cuh"

#include <type_traits>

#include <cstring>

namespace
{

constexpr int kThreads = 256;
constexpr int kTaps = 480; // doubles: with the rest below the 4 KiB that every GPU takes

struct taps {
    double c[kTaps];
};

template <typename T>
__device__ __forceinline__ T
from_double(double v)
{
    if constexpr (std::is_same_v<T, float>)
        return wk_one_nan_f32((float)v);
    else if constexpr (std::is_same_v<T, double>)
        return wk_one_nan_f64(v);
    else if constexpr (std::is_same_v<T, wk::truth>)
        return T{wk_to_i64(v) != 0};
    else if constexpr (std::is_same_v<T, uint64_t>)
        return wk_to_u64(v);
    else
        return (T)wk_to_i64(v);
}

template <typename T>
__device__ __forceinline__ double
element(const T *line, int64_t i, const wk_stencil_args &a)
{
    const int64_t at = wk_extend(i, a.n, a.mode);
    return at < 0 ? a.cval : (double)line[at * a.inner];
}

// many: the coefficients in global memory, or null when they fit the parameter.
template <typename T>
__global__ void
stencil_constant(const T *in, T *out, const wk_stencil_args __grid_constant__ a,
                 const taps __grid_constant__ few, const double *many)
{
    const int64_t total = a.outer * a.outputs * a.inner, step = (int64_t)gridDim.x * kThreads;
    int64_t at = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    for (; at < total; at += step) {
        const int64_t i = at / a.inner % a.outputs, outer = at / a.inner / a.outputs;
        const T *line = in + outer * a.n * a.inner + at % a.inner;
        double sum = 0;
        if (many)
            for (int64_t t = 0; t < a.taps; t++)
                sum = __fma_rn(many[t], element(line, i + t - a.before, a), sum);
        else
            for (int t = 0; t < (int)a.taps; t++)
                sum = __fma_rn(few.c[t], element(line, i + t - a.before, a), sum);
        out[at] = from_double<T>(sum);
    }
}

} // namespace

extern "C" wk_status
wk_stencil1d_cuda_constant(wk_call *call)
{
    const wk_stencil_args *a = &call->args.stencil;
    taps few = {};
    const bool fits = a->taps <= kTaps;
    if (fits) memcpy(few.c, call->aux.host, (size_t)a->taps * sizeof(double));
    const auto many = fits ? nullptr : (const double *)call->aux.data;
    return wk::visit(call->in.dtype, [&](auto zero) {
        using T = decltype(zero);
        const int64_t total = a->outer * a->outputs * a->inner;
        return wk::launch(call, wk::grid_for(call, total, kThreads), kThreads, 0,
                          stencil_constant<T>, (const T *)call->in.data, (T *)call->out[0].data,
                          *a, few, many);
    });
}
