// transpose / 01 copy -- no transpose: what moving the bytes costs, if they may stay in order.
//
// In, out   any strides -> as many words, in the order in which they lie in the input's memory.
//           The result has the transposed shape all the same: what NumPy gives by
//           a.ravel(order="K").reshape(shape). The plan has brought the axes into that order.
// How       neighbouring threads read neighbours and write neighbours: where a warp's 32 lanes access
//           words, these are four sectors of 32 bytes, all of them used. Where the memory is one run,
//           as most often, a lane takes 16 bytes at a time, and the last few words one by one.
// Bound     every byte of the input is read once and every byte of the output written once: no
//           transpose does with less. How near the rungs come to this one is their measure.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           copyRow; G. Ruetsch, P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009).
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace
{

constexpr int kThreads = 256; // any multiple of a warp does: no thread needs another
constexpr int kEach = 4; // accesses of a thread on their way: one is too little for the memory
constexpr int kBlock = kThreads * kEach;

__device__ void
copy_run(const uint4 *in, uint4 *out, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * kBlock;
    for (int64_t i0 = (int64_t)blockIdx.x * kBlock + threadIdx.x; i0 < n; i0 += step) {
        uint4 x[kEach];
#pragma unroll
        for (int k = 0; k < kEach; k++)
            if (i0 + k * kThreads < n) x[k] = in[i0 + k * kThreads];
#pragma unroll
        for (int k = 0; k < kEach; k++)
            if (i0 + k * kThreads < n) out[i0 + k * kThreads] = x[k];
    }
}

__global__ void
transpose_copy(const uint32_t *in, uint32_t *out, int64_t n,
               const wk::layout __grid_constant__ axes, bool one_run)
{
    int64_t done = 0;
    if (one_run) { // and both begin at a multiple of 16 bytes
        copy_run(reinterpret_cast<const uint4 *>(in), reinterpret_cast<uint4 *>(out), n / 4);
        done = n / 4 * 4;
    }
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = done + (int64_t)blockIdx.x * kThreads + threadIdx.x; i < n; i += step)
        out[i] = in[wk::offset_of(axes, i)];
}

} // namespace

WK_LAUNCHER(transpose, cuda, copy)
{
    const wk_array *a = &call->in;
    const int64_t n = call->out[0].bytes / (int64_t)sizeof(uint32_t);
    const uint32_t *in = wk::first_element<uint32_t>(a);
    auto *out = (uint32_t *)call->out[0].data;
    const bool one_run = a->ndim == 1 && a->strides[0] == 1 && (uintptr_t)in % 16 == 0 &&
                         (uintptr_t)out % 16 == 0;
    return wk::launch(call, wk::grid_for(call, n, kBlock), kThreads, 0, transpose_copy, in, out,
                      n, wk::axes_of(a, 0, a->ndim), one_run);
}
