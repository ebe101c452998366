// transpose / 01 copy -- no transpose: what moving the bytes costs, if they may stay in order.
//
// In, out   any strides -> as many words, in the order in which they lie in the input's memory.
//           The result has the transposed shape all the same: what NumPy gives by
//           a.ravel(order="K").reshape(shape). The plan has brought the axes into that order.
// How       neighbouring threads read neighbours and write neighbours: a warp's 32 words are 128
//           bytes, four sectors of 32 bytes, all of which are used. A thread has eight words
//           on their way at once, since one a thread is too little to keep the memory busy.
// Bound     every byte of the input is read once and every byte of the output written once: no
//           transpose does with less. How near the rungs come to this one is their measure.
// Source    J. Cheng, M. Grossman, T. McKercher, "Professional CUDA C Programming" (2014),
//           copyRow; G. Ruetsch, P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009).
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace
{

constexpr int kThreads = 256; // any multiple of a warp does: no thread needs another
constexpr int kEach = 8;      // words of a thread on their way
constexpr int kBlock = kThreads * kEach;

__global__ void
transpose_copy(const uint32_t *in, uint32_t *out, int64_t n,
               const wk::layout __grid_constant__ axes)
{
    const int64_t step = (int64_t)gridDim.x * kBlock;
    for (int64_t i0 = (int64_t)blockIdx.x * kBlock + threadIdx.x; i0 < n; i0 += step) {
        uint32_t words[kEach];
#pragma unroll
        for (int k = 0; k < kEach; k++) {
            const int64_t i = i0 + k * kThreads;
            words[k] = i < n ? in[wk::offset_of(axes, i)] : 0;
        }
#pragma unroll
        for (int k = 0; k < kEach; k++)
            if (i0 + k * kThreads < n) out[i0 + k * kThreads] = words[k];
    }
}

} // namespace

extern "C" wk_status
wk_transpose_cuda_copy(wk_call *call)
{
    const wk_array *a = &call->in;
    const int64_t n = call->out[0].bytes / (int64_t)sizeof(uint32_t);
    return wk::launch(call, wk::grid_for(call, n, kBlock), kThreads, 0, transpose_copy,
                      wk::first_element<uint32_t>(a), (uint32_t *)call->out[0].data, n,
                      wk::axes_of(a, 0, a->ndim));
}
