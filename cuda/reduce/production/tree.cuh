// tree.cuh -- products of floats: rounded at each step, so the order is fixed: num/tree.h's.
//
// In, out   any strides: kept axes, then reduced ones (plan.h) -> one value per output.
// How       a warp takes one chunk of the tree, lane l the elements l, l + 32, ...; the chunks'
//           totals are folded by the same kernel, until one is left. Of up to 16 elements it takes several
//           chunks, as lanes without elements change nothing. Neighbouring columns are read
//           side by side instead, one thread each, with 32 lanes in registers.
// Source    J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
#pragma once
#include "num/tree.h"
#include "reduce/production/task.cuh"

namespace wk
{

constexpr int kColumns = kWarp;   // neighbouring columns of a block: one coalesced load a row
constexpr int kChunksOfBlock = 4; // rows of threads; 128 threads, as 32 lanes take registers

struct tree_task {
    layout kept, folded;
    int64_t where_kept[kAxes], where_folded[kAxes];
    const uint8_t *where;
    int64_t outputs, n, chunks; // of this level
    int lanes;                  // of a chunk
    int64_t stride;             // between folded elements; 0: several axes, or a mask
    layout places;              // where an output's totals stand, in outputs, from `output` on
    int64_t output, first, row; // the first chunk's number, of so many
    void *out;
    uint8_t out_dtype;
    bool skip_nan, has_initial;
    wk_value initial;
    wk_mailbox mailbox; // sent with the result if it has a slot
};

// A factor in a lane: double, or complex double.
template <typename T>
using factor_t = std::conditional_t<is_complex<T>, complex<double>, double>;

__device__ __forceinline__ double
times(double a, double b)
{
    return a * b;
}

// One changes nothing, not even what is infinite or a zero's sign: lanes without elements hold it.
__device__ __forceinline__ bool
is_one(complex<double> x)
{
    return x.re == 1 && wk_bits_f64(x.im) == 0;
}

__device__ __forceinline__ complex<double>
times(complex<double> a, complex<double> b)
{
    if (is_one(a)) return b;
    if (is_one(b)) return a;
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __forceinline__ double
shuffled(double v, int half)
{
    return __shfl_down_sync(kAllLanes, v, half);
}

__device__ __forceinline__ complex<double>
shuffled(complex<double> v, int half)
{
    return {shuffled(v.re, half), shuffled(v.im, half)};
}

template <typename A>
__device__ __forceinline__ A
one()
{
    if constexpr (is_complex<A>)
        return A{1, 0};
    else
        return 1;
}

template <typename T>
__device__ __forceinline__ factor_t<T>
factor_of(T x, const tree_task &task)
{
    if (task.skip_nan && is_nan(x)) return one<factor_t<T>>();
    if constexpr (is_complex<T>)
        return {(double)x.re, (double)x.im};
    else
        return (double)value_of(x);
}

__device__ inline double
rounded(double x, int dtype)
{
    if (dtype == WK_F64 || dtype == WK_C128 || x == 0 || !(x - x == 0)) return x;
    if (dtype == WK_F32 || dtype == WK_C64) return (double)(float)x;
    const uint64_t b = wk_bits_f64(x);
    if ((b >> 52 & 2047) == 0) return x < 0 ? -0.0 : 0.0; // far below the least of 16 bits
    wk_leading v = {
        {0, 0, 0, b << 11 | (uint64_t)1 << 63}, (int)(b >> 52 & 2047) - 1023 - 255, 0};
    return wk_round_leading(&v, x < 0, wk_format_of((wk_dtype)dtype));
}

__device__ inline void
finish(const tree_task &task, int64_t output, double x)
{
    if (task.has_initial) x = times(x, task.initial.f64[0]);
    store(task.out, task.out_dtype, output, rounded(x, task.out_dtype));
}

__device__ inline void
finish(const tree_task &task, int64_t output, complex<double> x)
{
    if (task.has_initial) x = times(x, {task.initial.f64[0], task.initial.f64[1]});
    store(task.out, task.out_dtype, 2 * output, rounded(x.re, task.out_dtype));
    store(task.out, task.out_dtype, 2 * output + 1, rounded(x.im, task.out_dtype));
}

// A chunk's total, for the next level; or the result, where there is one chunk.
template <typename A>
__device__ __forceinline__ void
put(const tree_task &task, int64_t output, int64_t chunk, A total, A *totals)
{
    if (totals) {
        const int64_t at = task.output + spot_of(task.places, task.where_kept, output).at;
        totals[at * task.row + task.first + chunk] = total;
        return;
    }
    finish(task, output, total);
    send_bytes(task.mailbox, task.out);
}

// The element of a fold, or one where the mask leaves it out.
template <typename T>
__device__ __forceinline__ factor_t<T>
factor_at(const T *x, const uint8_t *mask, const tree_task &task, int64_t i)
{
    if (task.stride) return factor_of(x[i * task.stride], task);
    const spot s = spot_of(task.folded, task.where_folded, i);
    if (mask && !mask[s.mask]) return one<factor_t<T>>();
    return factor_of(x[s.at], task);
}

template <typename T>
__global__ void
product_of_rows(const T *in, const tree_task __grid_constant__ task, factor_t<T> *totals)
{
    const int lane = threadIdx.x % task.lanes, of_warp = kWarp / task.lanes;
    const int64_t all = task.outputs * task.chunks,
                  step = (int64_t)gridDim.x * (kThreads / task.lanes);
    int64_t first = ((int64_t)blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp) * of_warp;
    for (; first < all; first += step) { // the same trips for all lanes
        const int64_t own = first + threadIdx.x % kWarp / task.lanes;
        int64_t output = own < all ? own : first;
        const int64_t chunk = split(&output, task.chunks);
        const int64_t after = (chunk + 1) * WK_CHUNK, end = after < task.n ? after : task.n;
        const spot s = spot_of(task.kept, task.where_kept, output);
        const T *x = in + s.at;
        const uint8_t *mask = task.where ? task.where + s.mask : nullptr;
        factor_t<T> read[8], total = one<factor_t<T>>(); // 8 on their way together
        int64_t start = chunk * WK_CHUNK;
        if (task.stride == 1 && !task.skip_nan && end - start == WK_CHUNK) {
            T all[WK_CHUNK / kWarp]; // on their way together
#pragma unroll
            for (int k = 0; k < WK_CHUNK / kWarp; k++) all[k] = x[start + lane + k * kWarp];
#pragma unroll
            for (int k = 0; k < WK_CHUNK / kWarp; k++)
                total = times(total, factor_of(all[k], task));
            start = end;
        }
        if (task.lanes < kWarp) {
            if (start + lane < end) total = factor_at(x, mask, task, start + lane);
            start = end;
        }
        for (int64_t i = start + lane; i < end; i += 8 * kWarp) {
#pragma unroll
            for (int k = 0; k < 8; k++)
                read[k] = i + k * kWarp < end ? factor_at(x, mask, task, i + k * kWarp)
                                              : one<factor_t<T>>();
#pragma unroll
            for (int k = 0; k < 8; k++) total = times(total, read[k]);
        }
#pragma unroll
        for (int half = kWarp / 2; half > 0; half /= 2)
            if (half < task.lanes) total = times(total, shuffled(total, half));
        if (lane == 0 && own < all) put(task, output, chunk, total, totals);
    }
}

// Thread x of a block has one column, thread y one chunk of it; no thread needs another.
template <typename T>
__global__ void
product_of_columns(const T *in, const tree_task __grid_constant__ task, factor_t<T> *totals)
{
    using A = factor_t<T>;
    const int64_t columns = task.kept.shape[task.kept.ndim - 1];
    const int64_t blocks = (columns + kColumns - 1) / kColumns, outer = task.outputs / columns;
    int64_t work = (int64_t)blockIdx.x * kChunksOfBlock + threadIdx.y;
    for (; work < blocks * outer * task.chunks; work += (int64_t)gridDim.x * kChunksOfBlock) {
        const int64_t column = work % blocks * kColumns + threadIdx.x;
        const int64_t output = work / blocks % outer * columns + column;
        const int64_t chunk = work / blocks / outer, start = chunk * WK_CHUNK;
        const int64_t after = start + WK_CHUNK, end = after < task.n ? after : task.n;
        if (column >= columns) continue;
        const T *x = in + spot_of(task.kept, task.where_kept, output).at;
        A lane[WK_LANES];
#pragma unroll
        for (int l = 0; l < WK_LANES; l++) lane[l] = one<A>();
        for (int64_t i = start; i < end; i += WK_LANES) {
#pragma unroll
            for (int l = 0; l < WK_LANES; l++)
                if (i + l < end)
                    lane[l] = times(lane[l], factor_of(x[(i + l) * task.stride], task));
        }
#pragma unroll
        for (int half = WK_LANES / 2; half > 0; half /= 2) {
#pragma unroll
            for (int l = 0; l < WK_LANES / 2; l++)
                if (l < half) lane[l] = times(lane[l], lane[l + half]);
        }
        put(task, output, chunk, lane[0], totals);
    }
}

inline void
flat_places(tree_task *task)
{
    task->places = {};
    task->places.ndim = 1;
    task->places.shape[0] = task->outputs;
    task->places.strides[0] = 1;
    task->output = task->first = 0;
    task->row = task->chunks;
}

// A piece of a fold writes its totals among those of the whole.
inline void
part_places(const wk_call *call, tree_task *task)
{
    task->places = task->kept;
    for (int d = 0; d < task->kept.ndim; d++) task->places.strides[d] = call->part.step[d];
    task->output = call->part.output;
    task->first = call->part.first;
    task->row = call->part.chunks;
}

// The kernel of one level.
template <typename T>
wk_status
fold_level(wk_call *call, tree_task task, const T *in, factor_t<T> *totals)
{
    task.lanes = 1;
    while (task.lanes < kWarp && task.lanes < task.n) task.lanes *= 2;
    const unsigned grid =
        grid_for(call, task.outputs * task.chunks, kThreads / (unsigned)task.lanes);
    return launch(call, grid, kThreads, 0, product_of_rows<T>, in, task, totals);
}

// The levels above the first: totals of totals, contiguous for each output.
template <typename A>
wk_status
fold_totals(wk_call *call, tree_task task, A *totals)
{
    task.where = nullptr;
    task.skip_nan = false;
    while (totals) {
        task.n = task.chunks;
        task.chunks = wk_chunks(task.n);
        task.stride = 1;
        task.kept.ndim = 1;
        task.kept.shape[0] = task.outputs;
        task.kept.strides[0] = task.n;
        flat_places(&task);
        void *next = nullptr;
        const int64_t bytes = task.outputs * task.chunks * (int64_t)sizeof(A);
        if (task.chunks > 1 && allocate(call, bytes, &next) != WK_OK) return call->error.status;
        if (fold_level<A>(call, task, totals, (A *)next) != WK_OK) return call->error.status;
        totals = (A *)next;
    }
    return WK_OK;
}

template <typename T>
wk_status
first_level(wk_call *call, const tree_task &task, factor_t<T> *totals)
{
    const wk_array *a = &call->in;
    const auto in = first_element<T>(a);
    const int last = task.kept.ndim - 1;
    const bool columns = last >= 0 && a->strides[last] == 1 && task.stride > 1;
    if (!columns) return fold_level<T>(call, task, in, totals);
    const int64_t blocks = (a->shape[last] + kColumns - 1) / kColumns;
    const int64_t work = blocks * (task.outputs / a->shape[last]) * task.chunks;
    return launch(call, grid_for(call, work, kChunksOfBlock), dim3(kColumns, kChunksOfBlock), 0,
                  product_of_columns<T>, in, task, totals);
}

inline void
describe(const wk_call *call, tree_task *task)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in, *w = &call->mask;
    task->outputs = r->outputs;
    task->n = r->n;
    task->out = call->out[0].data;
    task->out_dtype = (uint8_t)call->out[0].dtype;
    task->skip_nan = r->skip_nan;
    task->has_initial = r->has_initial;
    task->initial = r->initial;
    if (r->n == 0) return; // no element is read, and the axes may be any number
    task->kept = axes_of(a, 0, r->kept);
    task->folded = axes_of(a, r->kept, a->ndim);
    task->stride = task->folded.ndim == 0   ? 1
                   : task->folded.ndim == 1 ? task->folded.strides[0]
                                            : 0;
    if (w->ndim < 0) return;
    task->stride = 0;
    task->where = static_cast<const uint8_t *>(w->data) + w->first;
    for (int d = 0; d < r->kept; d++) task->where_kept[d] = w->strides[d];
    for (int d = r->kept; d < w->ndim; d++) task->where_folded[d - r->kept] = w->strides[d];
}

template <typename T>
wk_status
product(wk_call *call)
{
    using A = factor_t<T>;
    const wk_reduce_args *args = &call->args.reduce;
    tree_task task = {};
    describe(call, &task);
    task.chunks = args->n > 0 ? wk_chunks(args->n) : 1;
    if (call->part.mode == WK_FINISH) {
        task.chunks = call->part.chunks;
        return fold_totals<A>(call, task, (A *)call->part.state);
    }
    if (call->part.mode == WK_PIECE) {
        part_places(call, &task);
        return first_level<T>(call, task, (A *)call->part.state);
    }
    flat_places(&task);
    void *totals = nullptr;
    const int64_t bytes = task.outputs * task.chunks * (int64_t)sizeof(A);
    if (task.chunks > 1 && allocate(call, bytes, &totals) != WK_OK) return call->error.status;
    if (call->mailbox.slot && task.outputs == 1) {
        task.mailbox = call->mailbox;
        call->mailbox.sent = 1;
    }
    if (first_level<T>(call, task, (A *)totals) != WK_OK) return call->error.status;
    return fold_totals<A>(call, task, (A *)totals);
}

} // namespace wk
