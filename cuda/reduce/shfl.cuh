// reduce / shfl -- 1024 elements are one warp's work; five shuffles fold its lanes.
//
// In, out   any strides: kept axes, then reduced ones (plan.h) -> one value per output.
// How       a warp takes one chunk of scalar.h's tree, lane l the elements l, l + 32, ...; the
//           chunks' totals are folded by the same kernel, until one is left. Neighbouring
//           columns are read side by side instead, one thread each, with 32 lanes in registers.
// Better    than a tree in shared memory: no barrier, and no thread drops out of the loop.
// Still bad one 4-byte load a lane; a chunk is little work for a warp that must start and end.
// Source    J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
#pragma once
#include "prim/letter.cuh"
#include "prim/warp.cuh"
#include "reduce/fold.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace wk
{

constexpr int kThreads = 256;   // 8 warps: enough for the scheduler, small enough for the tail
constexpr int kColumns = kWarp; // neighbouring columns of a block: one coalesced load a row
constexpr int kChunksOfBlock = 4; // rows of threads; 128 threads, as 32 lanes take registers

struct reduce_task {
    layout kept, folded;
    int64_t outputs, n, chunks; // of this level
    int64_t elements;           // folded into one output in all
    int64_t stride;             // between folded elements; 0: several axes, by offset_of
    layout places;              // where an output's totals stand, in outputs, from `output` on
    int64_t output, first, row; // the first chunk's number, of so many
    wk_letter letter;           // sent with the result if it has a slot
};

// A chunk's total, for the next level; or the result, where there is one chunk.
template <class F>
__device__ __forceinline__ void
put(const reduce_task &task, int64_t output, int64_t chunk, typename F::A total,
    typename F::A *totals, typename F::R *out)
{
    if (totals) {
        const int64_t at = task.output + offset_of(task.places, output);
        totals[at * task.row + task.first + chunk] = total;
        return;
    }
    const typename F::R result = F::finish(total, task.elements);
    out[output] = result;
    if (task.letter.slot) send(task.letter, result);
}

template <class F>
__global__ void
reduce_rows(const typename F::T *in, const reduce_task __grid_constant__ task,
            typename F::A *totals, typename F::R *out)
{
    const int lane = threadIdx.x % kWarp;
    const int64_t warps = (int64_t)gridDim.x * (kThreads / kWarp);
    int64_t work = (int64_t)blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp;
    for (; work < task.outputs * task.chunks; work += warps) { // the same trips for all lanes
        const int64_t output = work / task.chunks, chunk = work % task.chunks;
        const int64_t after = (chunk + 1) * WK_CHUNK, end = after < task.n ? after : task.n;
        const typename F::T *x = in + offset_of(task.kept, output);
        typename F::A total = F::identity();
        if (task.stride) {
            typename F::A read[WK_CHUNK / kWarp]; // on their way together
#pragma unroll
            for (int k = 0; k < WK_CHUNK / kWarp; k++) {
                const int64_t i = chunk * WK_CHUNK + lane + k * kWarp;
                read[k] = i < end ? F::load(x[i * task.stride]) : F::identity();
            }
#pragma unroll
            for (int k = 0; k < WK_CHUNK / kWarp; k++) total = F::op(total, read[k]);
        } else {
            for (int64_t i = chunk * WK_CHUNK + lane; i < end; i += kWarp)
                total = F::op(total, F::load(x[offset_of(task.folded, i)]));
        }
        total = fold_lanes<F>(total);
        if (lane == 0) put<F>(task, output, chunk, total, totals, out);
    }
}

// Thread x of a block has one column, thread y one chunk of it; no thread needs another.
template <class F>
__global__ void
reduce_columns(const typename F::T *in, const reduce_task __grid_constant__ task,
               typename F::A *totals, typename F::R *out)
{
    const int64_t columns = task.kept.shape[task.kept.ndim - 1];
    const int64_t blocks = (columns + kColumns - 1) / kColumns, outer = task.outputs / columns;
    int64_t work = (int64_t)blockIdx.x * kChunksOfBlock + threadIdx.y;
    for (; work < blocks * outer * task.chunks; work += (int64_t)gridDim.x * kChunksOfBlock) {
        const int64_t column = work % blocks * kColumns + threadIdx.x;
        const int64_t output = work / blocks % outer * columns + column;
        const int64_t chunk = work / blocks / outer, start = chunk * WK_CHUNK;
        const int64_t after = start + WK_CHUNK, end = after < task.n ? after : task.n;
        if (column >= columns) continue;
        const typename F::T *x = in + offset_of(task.kept, output);
        typename F::A lane[WK_LANES];
#pragma unroll
        for (int l = 0; l < WK_LANES; l++) lane[l] = F::identity();
        for (int64_t i = start; i < end; i += WK_LANES) {
#pragma unroll
            for (int l = 0; l < WK_LANES; l++)
                if (i + l < end) lane[l] = F::op(lane[l], F::load(x[(i + l) * task.stride]));
        }
#pragma unroll
        for (int half = WK_LANES / 2; half > 0; half /= 2) {
#pragma unroll
            for (int l = 0; l < WK_LANES / 2; l++)
                if (l < half) lane[l] = F::op(lane[l], lane[l + half]);
        }
        put<F>(task, output, chunk, lane[0], totals, out);
    }
}

inline void
flat_places(reduce_task *task)
{
    task->places.ndim = 1;
    task->places.shape[0] = task->outputs;
    task->places.strides[0] = 1;
    task->output = task->first = 0;
    task->row = task->chunks;
}

// A piece of a fold writes its totals among those of the whole.
inline void
part_places(const wk_call *call, reduce_task *task)
{
    task->places = task->kept;
    for (int d = 0; d < task->kept.ndim; d++) task->places.strides[d] = call->part.step[d];
    task->output = call->part.output;
    task->first = call->part.first;
    task->row = call->part.chunks;
}

// The levels above the first: totals of totals, contiguous for each output.
template <class F>
wk_status
fold_totals(wk_call *call, reduce_task task, typename F::A *totals, typename F::R *out)
{
    while (totals) {
        task.n = task.chunks;
        task.chunks = wk_chunks(task.n);
        task.stride = 1;
        task.kept.ndim = 1;
        task.kept.shape[0] = task.outputs;
        task.kept.strides[0] = task.n;
        flat_places(&task);
        void *next = nullptr;
        const int64_t bytes = task.outputs * task.chunks * (int64_t)sizeof(typename F::A);
        if (task.chunks > 1 && allocate(call, bytes, &next) != WK_OK) return call->error.status;
        const unsigned grid = grid_for(call, task.outputs * task.chunks, kThreads / kWarp);
        if (launch(call, grid, kThreads, 0, reduce_rows<again<F>>, totals, task,
                   (typename F::A *)next, out) != WK_OK)
            return call->error.status;
        totals = (typename F::A *)next;
    }
    return WK_OK;
}

template <class F>
wk_status
first_level(wk_call *call, const reduce_task &task, typename F::A *totals)
{
    const wk_array *a = &call->in;
    const auto in = first_element<typename F::T>(a);
    const auto out = (typename F::R *)call->out[0].data;
    const int last = task.kept.ndim - 1;
    const bool columns = last >= 0 && a->strides[last] == 1 && task.stride > 1;
    if (!columns)
        return launch(call, grid_for(call, task.outputs * task.chunks, kThreads / kWarp),
                      kThreads, 0, reduce_rows<F>, in, task, totals, out);
    const int64_t blocks = (a->shape[last] + kColumns - 1) / kColumns;
    const int64_t work = blocks * (task.outputs / a->shape[last]) * task.chunks;
    return launch(call, grid_for(call, work, kChunksOfBlock), dim3(kColumns, kChunksOfBlock), 0,
                  reduce_columns<F>, in, task, totals, out);
}

template <class F>
wk_status
reduce(wk_call *call)
{
    const wk_reduce_args *args = &call->args.reduce;
    const wk_array *a = &call->in;
    const auto out = (typename F::R *)call->out[0].data;
    reduce_task task = {};
    task.outputs = args->outputs;
    task.n = task.elements = args->n;
    if (call->part.finish) {
        task.chunks = call->part.chunks;
        return fold_totals<F>(call, task, (typename F::A *)call->part.totals, out);
    }
    if (args->n > 0) { // else no element is read, and the axes may be any number
        task.kept = axes_of(a, 0, args->kept);
        task.folded = axes_of(a, args->kept, a->ndim);
    }
    task.chunks = args->n > 0 ? wk_chunks(args->n) : 1;
    task.stride = task.folded.ndim == 0   ? 1
                  : task.folded.ndim == 1 ? task.folded.strides[0]
                                          : 0;
    if (call->part.totals) {
        part_places(call, &task);
        return first_level<F>(call, task, (typename F::A *)call->part.totals);
    }
    flat_places(&task);
    void *totals = nullptr;
    const int64_t bytes = task.outputs * task.chunks * (int64_t)sizeof(typename F::A);
    if (task.chunks > 1 && allocate(call, bytes, &totals) != WK_OK) return call->error.status;
    if (call->letter.slot && task.outputs == 1) {
        task.letter = call->letter;
        call->letter.sent = 1;
    }
    if (first_level<F>(call, task, (typename F::A *)totals) != WK_OK) return call->error.status;
    return fold_totals<F>(call, task, (typename F::A *)totals, out);
}

// For each fold, one file that instantiates it for all element types: they compile side by
// side.
wk_status reduce_sum(wk_call *call);
wk_status reduce_prod(wk_call *call);
wk_status reduce_min(wk_call *call);
wk_status reduce_max(wk_call *call);
wk_status reduce_mean(wk_call *call);

template <template <typename> class Fold>
wk_status
reduce_all_types(wk_call *call)
{
    return visit(call->in.dtype, [&](auto zero) { return reduce<Fold<decltype(zero)>>(call); });
}

} // namespace wk
