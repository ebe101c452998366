// segment_reduce / teams -- what the folds of segments share: a look at the offsets, elements that lie at
// places of a list, and results that take integers; segments.cuh tells the story.
#include "reduce/production/segments.cuh"

#include "runtime/visit.cuh"

namespace wk
{

namespace
{

// status: the first offset that lies before the one before it, or beyond the elements; the first segment
// that is empty. UINT64_MAX, which is -1: there is none.
__global__ void
survey_offsets(const int64_t *offsets, int64_t outputs, int64_t n, unsigned long long *status)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    unsigned long long first[2] = {~0ull, ~0ull}; // of the thread's, which ascend
    for (int64_t o = (int64_t)blockIdx.x * kThreads + threadIdx.x; o <= outputs; o += step) {
        const int64_t here = offsets[o], before = o > 0 ? offsets[o - 1] : 0;
        if (first[0] == ~0ull && (here < before || here < 0 || here > n)) first[0] = o;
        if (first[1] == ~0ull && o > 0 && here == before) first[1] = o - 1;
    }
    for (int k = 0; k < 2; k++) {
        const unsigned some = __ballot_sync(kAllLanes, first[k] != ~0ull);
        const int lane = threadIdx.x % kWarp;
        if (some == 0) continue;
        unsigned long long least = first[k];
        for (int half = kWarp / 2; half > 0; half /= 2) {
            const unsigned long long other = __shfl_down_sync(kAllLanes, least, half);
            least = other < least ? other : least;
        }
        if (lane == 0) atomicMin(status + k, least);
    }
}

// Places beyond the elements, which another stream may have written, are another's.
template <typename U>
__global__ void
gather_elements(const U *in, const uint64_t *order, uint64_t mask, int64_t n, U *out)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
#pragma unroll 4
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < n; i += step) {
        const uint64_t at = order[i] & mask;
        out[i] = in[at < (uint64_t)n ? at : 0];
    }
}

// Indices of the list to those of the elements.
__global__ void
look_up(int64_t *index, int64_t outputs, const uint64_t *order, uint64_t mask)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t o = (int64_t)blockIdx.x * kThreads + threadIdx.x; o < outputs; o += step)
        if (index[o] >= 0) index[o] = (int64_t)(order[index[o]] & mask);
}

__global__ void
__launch_bounds__(kThreads) sum_again(const void *in, const reduce_task __grid_constant__ task,
                                      const segments __grid_constant__ s, table_shape shape)
{
    constexpr table_shape kMost = shape_of(true, 2, true, true, true);
    __shared__ unsigned long long word[kMost.words()];
    __shared__ int64_t work[kMost.work()];
    const unsigned all = *s.agains;
#pragma unroll 1
    for (unsigned k = blockIdx.x; k < all; k += gridDim.x) {
        const int64_t output = s.again[k];
        const stretch_of r(s, output);
#pragma unroll 1
        for (int w = threadIdx.x; w < shape.words(); w += kThreads) word[w] = 0;
        __syncthreads(); // all is zero before anything is added
        add_output_exactly(in, task, output, r.begin, r.end, shape, word);
        __syncthreads(); // the table is whole
        if (threadIdx.x < kWarp) finish_words(word, work, shape, task, output, true);
        __syncthreads(); // the table has been read before the next is written
    }
}

template <typename U>
wk_status
gather(wk_call *call, void **packed)
{
    const wk_array *in = &call->in, *order = &call->beside;
    const int64_t n = call->args.reduce.n;
    if (allocate(call, n * (int64_t)sizeof(U), packed) != WK_OK) return call->error.status;
    return launch(call, grid_for(call, n, kThreads), kThreads, 0, gather_elements<U>,
                  first_element<U>(in), first_element<uint64_t>(order),
                  call->args.reduce.order_mask, n, static_cast<U *>(*packed));
}

} // namespace

wk_status
finish_again(wk_call *call, const reduce_task &task, const segments &s, table_shape shape)
{
    return launch(call, (unsigned)processors(call), kThreads, 0, sum_again,
                  (const void *)((const char *)call->in.data + call->in.first), task, s, shape);
}

// Calls fold with the segments' elements side by side, and one output.
wk_status
with_segments(wk_call *call, wk_status (*fold)(wk_call *))
{
    const wk_array in = call->in, order = call->beside;
    const wk_reduce_args *r = &call->args.reduce;
    auto *status = static_cast<unsigned long long *>(call->out[1].data);
    if (aux_there(call) != WK_OK) return call->error.status;
    WK_TRY(&call->error,
           cudaMemsetAsync(status, 0xff, 2 * sizeof *status, session_of(call)->stream));
    if (launch(call, grid_for(call, r->outputs + 1, kThreads), kThreads, 0, survey_offsets,
               (const int64_t *)call->aux.data, r->outputs, r->n, status) != WK_OK ||
        begin_telling(call) != WK_OK)
        return call->error.status;
    if (r->outputs == 0) return WK_OK;
    wk_status done = WK_OK;
    if (order.ndim >= 0 && r->n > 0) {
        void *packed = nullptr;
        done = visit_size(in.dtype,
                          [&](auto zero) { return gather<decltype(zero)>(call, &packed); });
        call->in.data = packed;
        call->in.first = 0;
    }
    call->beside.ndim = -1;
    call->outs = 1;
    if (!done) done = fold(call);
    call->in = in;
    call->beside = order;
    call->outs = 2;
    const wk_fold f = r->fold[0];
    if (!done && order.ndim >= 0 && (f == WK_ARGMIN || f == WK_ARGMAX))
        done = launch(call, grid_for(call, r->outputs, kThreads), kThreads, 0, look_up,
                      static_cast<int64_t *>(call->out[0].data), r->outputs,
                      first_element<uint64_t>(&order), r->order_mask);
    return done ? done : tell(call, &call->out[1]);
}

} // namespace wk
