// stencil1d / each -- lines so short that a tile of one leaves most threads idle: an output a thread, and
// three more 256 places on.
//
// In, out   [outer][n][inner] -> [outer][outputs][inner], any real dtypes.
// How       a block takes as many planes [n][inner] as it has room for. What stands at each place of a
//           line, beyond its ends too, is a table in shared memory, the same for all lines; elements come
//           from the L1 cache, which has what neighbours have read.
#pragma once
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

constexpr int kEach = 4, kEachThreads = 256, kEachTaps = 64;

// May a call go by it?
inline bool
fits_each(const wk_stencil_args *a)
{
    return a->taps <= kEachTaps && a->outputs * a->inner <= kEach * kEachThreads;
}

template <typename A>
__global__ void
__launch_bounds__(kEachThreads, 4)
    stencil_each(const job __grid_constant__ j, const taps<A> __grid_constant__ c)
{
    using P = mixed<A>;
    // In elements from a line's first one, -1 for cval.
    [[maybe_unused]] __shared__ int places[kEach * kEachThreads + kEachTaps];
    const int outputs = (int)j.outputs, inner = (int)j.inner, tid = (int)threadIdx.x;
    for (int i = tid; i < outputs + j.count - 1; i += kEachThreads) {
        const int64_t from = beyond(i - j.before, j.n, j.mode);
        places[i] = from < 0 ? -1 : (int)(from * j.step);
    }
    __syncthreads(); // the table is complete

    const int plane = outputs * inner, many = kEach * kEachThreads / plane; // planes of a block
    const int64_t outer = (int64_t)blockIdx.x * many, first = outer * plane;
    const int left = (int)min((int64_t)many, j.outer - outer) * plane - tid;
    const float by_plane = 1.f / (float)plane, by_inner = 1.f / (float)inner;
    int64_t line[kEach]; // of the output's column, from the block's first plane
    int row[kEach], odd = 0;
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int at = k * kEachThreads < left ? tid + k * kEachThreads : 0;
        // Exact: of numbers so small a half is far more than what is rounded off.
        const int over = (int)(((float)at + 0.5f) * by_plane), rest = at - over * plane;
        row[k] = (int)(((float)rest + 0.5f) * by_inner);
        const int column = rest - row[k] * inner;
        line[k] = over * j.outer_step + column;
        odd |= (column & 1) << k;
    }
    A sum[kEach];
#pragma unroll
    for (int k = 0; k < kEach; k++) sum[k] = 0;
    P::reading(j.types, [&](auto zero) {
        const auto in = static_cast<const decltype(zero) *>(j.in) + outer * j.outer_step;
#pragma unroll 1
        for (int t = 0; t < j.count; t++) {
            int place[kEach];
            A x[kEach];
#pragma unroll
            for (int k = 0; k < kEach; k++) place[k] = places[row[k] + t];
#pragma unroll
            for (int k = 0; k < kEach; k++) x[k] = loaded<A>(in[line[k] + max(place[k], 0)]);
#pragma unroll
            for (int k = 0; k < kEach; k++) {
                if (place[k] < 0) x[k] = (A)j.cval[odd >> k & 1];
                sum[k] = fma_of(c.c[t], x[k], sum[k]);
            }
        }
    });
    P::converting(j.types, [&](auto zero) {
        using U = decltype(zero);
        U *out = static_cast<U *>(j.out) + first + tid, x[kEach];
        P::convert(sum, x);
#pragma unroll
        for (int k = 0; k < kEach; k++)
            if (k * kEachThreads < left) out[k * kEachThreads] = x[k];
    });
}

template <typename A>
wk_status
launch_each(wk_call *call, job *j, const A *c)
{
    taps<A> few;
    memcpy(few.c, c, (size_t)j->count * sizeof(A));
    const int64_t many = kEach * kEachThreads / (j->outputs * j->inner);
    const int64_t blocks = (j->outer + many - 1) / many;
    return launch(call, (unsigned)blocks, kEachThreads, 0, stencil_each<A>, *j, few);
}

} // namespace wk::stencil
