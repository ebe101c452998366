// tree.cuh -- products of floats: rounded at each step, so the order is fixed: num/tree.h's.
//
// In, out   any strides: kept axes, then reduced ones (plan.h) -> one value per output.
// How       a block takes a tile: lanes of many chunks of the tree, each thread up to 8 of them, neighbours
//           what lies side by side, be these lanes or columns. The lanes' products go through shared
//           memory, where each thread folds 8 of one output. The chunks' totals are folded by the
//           same kernel, until one is left.
// Better    than a warp a chunk, which folds 16 elements no faster than 1,024: as many loads are on
//           their way, and as many threads have results to round, however short folds are.
// Source    J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
#pragma once
#include "num/tree.h"
#include "reduce/production/task.cuh"

namespace wk
{

constexpr int kMostLanes = 8; // of a thread

// What all threads read comes first: the constant memory's lines are misses, anew with each launch.
struct tree_task {
    int64_t outputs, n, chunks; // of this level
    int64_t stride;             // between folded elements; 0: several axes
    // A tile: 2^log_folds chunks of 2^log_lanes lanes, `each` of them a thread's.
    int log_folds, log_lanes, each;
    int fold_step, lane_step; // between the lanes' products
    bool across;              // neighbouring threads have neighbouring outputs, else lanes
    bool together;            // all of a thread's lanes: they are short, and evenly apart
    bool plain;               // results are of the elements' dtype, and that is all
    bool skip_nan, has_initial;
    uint8_t out_dtype;
    const uint8_t *where;
    void *out;
    // From a thread's first lane to its others: elements, products, chunks and lanes, very many to none.
    int64_t apart[kMostLanes];
    int entry[kMostLanes], folds[kMostLanes], lanes[kMostLanes];
    int64_t output, first,
        row; // totals: from `output` on, the first chunk's number, of so many
    layout kept, folded, places; // where an output's totals stand, in outputs
    int64_t where_kept[kAxes], where_folded[kAxes];
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

template <typename T>
__device__ __forceinline__ T
one()
{
    if constexpr (is_complex<T>)
        return T{1, 0};
    else if constexpr (is_half<T>)
        return T{std::is_same_v<T, half16> ? (uint16_t)0x3c00 : (uint16_t)0x3f80};
    else
        return 1;
}

template <typename T>
__device__ __forceinline__ factor_t<T>
factor_of(T x)
{
    if constexpr (is_complex<T>)
        return {(double)x.re, (double)x.im};
    else
        return (double)value_of(x);
}

// A result, rounded once: to float16 and bfloat16 by way of the neighbouring float with an odd last bit, if it is no
// float itself.
template <int kDtype>
__device__ __forceinline__ void
store_rounded(void *out, int64_t at, double x)
{
    constexpr bool kHalf = kDtype == WK_F16 || kDtype == WK_BF16;
    if (!kHalf || !(x - x == 0)) {
        store_as<kDtype>(out, at, x);
        return;
    }
    const float near = (float)x;
    const double rest = x - (double)near; // where that is infinite, infinite
    uint32_t b = wk_bits_f32(near);
    if (rest != 0 && !(b & 1)) b += (rest > 0) == (x > 0) ? 1 : -1;
    if (kDtype == WK_BF16) b += 0x7fff + (b >> 16 & 1);
    store_float<kDtype>(out, at, wk_from_bits_f32(b));
}

template <int kDtype>
__device__ __forceinline__ void
store_product(void *out, int64_t output, double x)
{
    store_rounded<kDtype>(out, output, x);
}

template <int kDtype>
__device__ __forceinline__ void
store_product(void *out, int64_t output, complex<double> x)
{
    constexpr int kPart = kDtype == WK_C64 ? WK_F32 : WK_F64;
    store_rounded<kPart>(out, 2 * output, x.re);
    store_rounded<kPart>(out, 2 * output + 1, x.im);
}

// A result that is not plain.
template <typename A>
__device__ WK_NOINLINE void
finish(const tree_task &task, int64_t output, A total)
{
    if (task.has_initial) {
        A first;
        memcpy(&first, task.initial.f64, sizeof first);
        total = times(total, first);
    }
    if constexpr (is_complex<A>) {
        if (task.out_dtype == WK_C64)
            store_product<WK_C64>(task.out, output, total);
        else
            store_product<WK_C128>(task.out, output, total);
    } else {
        switch (task.out_dtype) {
        case WK_F16: store_product<WK_F16>(task.out, output, total); break;
        case WK_BF16: store_product<WK_BF16>(task.out, output, total); break;
        case WK_F32: store_product<WK_F32>(task.out, output, total); break;
        default: store_product<WK_F64>(task.out, output, total); break;
        }
    }
    send_bytes(task.mailbox, task.out);
}

// The dtype whose elements are of type T.
template <typename T>
constexpr int dtype_of = std::is_same_v<T, half16>    ? (int)WK_F16
                         : std::is_same_v<T, brain16> ? (int)WK_BF16
                         : std::is_same_v<T, float>   ? (int)WK_F32
                         : std::is_same_v<T, double>  ? (int)WK_F64
                         : sizeof(T) == 8             ? (int)WK_C64
                                                      : (int)WK_C128;

// Lanes of a thread, and elements on their way together.
template <typename T>
constexpr int kLanesEach = is_complex<T> ? kMostLanes / 2 : kMostLanes;

// Blocks of a multiprocessor. H200, 64 MiB of 16 x n: float32 with 4 and 3 37 and 40 us, float64 36 and 26.
template <typename T>
constexpr int kTileBlocks = std::is_same_v<T, double> || sizeof(T) == 16 ? 3 : 4;

// One takes the place of each NaN, where these are left out.
template <typename T, int K>
__device__ __forceinline__ void
leave_out_nan(T (&x)[K], const tree_task &task)
{
    if (!task.skip_nan) return;
#pragma unroll
    for (int j = 0; j < K; j++)
        if (is_nan(x[j])) x[j] = one<T>();
}

// A lane of a chunk; `fold` counts chunks: those of neighbouring outputs follow each other.
template <typename T>
__device__ __forceinline__ factor_t<T>
product_of_lane(const T *in, const tree_task &task, int64_t fold, int lane)
{
    constexpr int K = sizeof(T) > 8 ? 8 : 16; // on their way together
    factor_t<T> product = one<factor_t<T>>();
    int64_t chunk = 0, output = fold;
    if (task.chunks > 1) {
        chunk = fold;
        output = split(&chunk, task.outputs);
    }
    const spot s = spot_of(task.kept, task.where_kept, output);
    const int64_t i = chunk * WK_CHUNK + lane, behind = task.n - chunk * WK_CHUNK;
    const int left = (behind < WK_CHUNK ? (int)behind : (int)WK_CHUNK) - lane;
    int k = 0;
    if (task.stride == 0) { // of several axes one by one
#pragma unroll 1
        for (; k < left; k += WK_LANES) {
            const spot e = spot_of(task.folded, task.where_folded, i + k);
            T read[1] = {one<T>()};
            if (!task.where || task.where[s.mask + e.mask]) read[0] = in[s.at + e.at];
            leave_out_nan(read, task);
            product = times(product, factor_of(read[0]));
        }
    }
    const int64_t step = WK_LANES * task.stride, mask_step = WK_LANES * task.where_folded[0];
    const T *x = in + s.at + i * task.stride;
    const uint8_t *mask = task.where ? task.where + s.mask + i * task.where_folded[0] : nullptr;
#pragma unroll 1
    for (; k < left; k += K * WK_LANES, x += K * step) {
        T read[K];
#pragma unroll
        for (int j = 0; j < K; j++) {
            read[j] = one<T>();
            if (k + j * WK_LANES < left) read[j] = x[j * step];
        }
        if (mask) {
#pragma unroll
            for (int j = 0; j < K; j++)
                if (k + j * WK_LANES < left && !mask[j * mask_step]) read[j] = one<T>();
            mask += K * mask_step;
        }
        leave_out_nan(read, task);
#pragma unroll
        for (int j = 0; j < K; j++) product = times(product, factor_of(read[j]));
    }
    return product;
}

template <typename T>
__global__ void
__launch_bounds__(kThreads, kTileBlocks<T>)
    product_of_tiles(const T *in, const tree_task __grid_constant__ task, factor_t<T> *totals)
{
    using A = factor_t<T>;
    constexpr int K = kLanesEach<T>;
    __shared__ A products[kThreads * K * 3 / 2];
    const int log_folds = task.log_folds, log_lanes = task.log_lanes, tid = threadIdx.x,
              fold = task.across ? tid & ((1 << log_folds) - 1) : tid >> log_lanes,
              lane = task.across ? tid >> log_folds : tid & ((1 << log_lanes) - 1);
    const int log_threads = log_lanes > log2_of(K) ? log_lanes - log2_of(K) : 0,
              threads = 1 << log_threads; // of an output
    A *own = products + fold * task.fold_step + lane * task.lane_step;
    int count[K];
#pragma unroll
    for (int j = 0; j < K; j++) count[j] = (int)task.n - lane - task.lanes[j];
    const int64_t all = task.outputs * task.chunks;
    for (int64_t tile = (int64_t)blockIdx.x << log_folds; tile < all;
         tile += (int64_t)gridDim.x << log_folds) {
        const int64_t left = all - tile - fold;
        if (task.together) { // all of a thread's lanes side by side
            const int64_t at =
                spot_of(task.kept, task.where_kept, left > 0 ? tile + fold : 0).at;
            const T *x = in + at + lane * task.stride;
            A product[K];
#pragma unroll
            for (int j = 0; j < K; j++) product[j] = one<A>();
            if (tile + (1 << log_folds) > all) { // the last
#pragma unroll
                for (int j = 0; j < K; j++)
                    if (task.folds[j] >= left) count[j] = 0;
            }
#pragma unroll 1
            for (int i = 0; i < task.n; i += WK_LANES, x += WK_LANES * task.stride) {
                T read[K];
#pragma unroll
                for (int j = 0; j < K; j++) {
                    read[j] = one<T>();
                    if (i < count[j]) read[j] = x[task.apart[j]];
                }
                leave_out_nan(read, task);
#pragma unroll
                for (int j = 0; j < K; j++) product[j] = times(product[j], factor_of(read[j]));
            }
#pragma unroll
            for (int j = 0; j < K; j++) own[task.entry[j]] = product[j];
        } else { // one after the other
#pragma unroll 1
            for (int j = 0; j < task.each; j++)
                own[task.entry[j]] =
                    task.folds[j] < left
                        ? product_of_lane(in, task, tile + fold + task.folds[j],
                                          lane + task.lanes[j])
                        : one<A>();
        }
        __syncthreads(); // all lanes are there
#pragma unroll 1
        for (int s = tid; s < threads << log_folds; s += kThreads) {
            const int of = s >> log_threads, first = s & (threads - 1),
                      step = task.lane_step << log_threads;
            const A *from = products + of * task.fold_step + first * task.lane_step;
            A x[K];
            x[0] = from[0];
#pragma unroll
            for (int half = 1; half < K; half *= 2) { // of lanes, as many as there are
                if (half >> log_lanes) continue;
#pragma unroll
                for (int j = half; j < 2 * half; j++) x[j] = from[j * step];
            }
#pragma unroll
            for (int half = K / 2; half > 0; half /= 2) {
                if (half >> log_lanes) continue;
#pragma unroll
                for (int j = 0; j < half; j++) x[j] = times(x[j], x[j + half]);
            }
            for (int half = threads / 2; half > 0; half /= 2)
                x[0] = times(x[0], shuffled(x[0], half));
            int64_t chunk = 0, output = tile + of;
            if (first > 0 || output >= all) continue;
            if (task.plain) {
                store_product<dtype_of<T>>(task.out, output, x[0]);
                continue;
            }
            if (task.chunks > 1) {
                chunk = output;
                output = split(&chunk, task.outputs);
            }
            if (totals) { // for the next level
                const int64_t to =
                    task.output + spot_of(task.places, task.where_kept, output).at;
                totals[to * task.row + task.first + chunk] = x[0];
            } else {
                finish(task, output, x[0]);
            }
        }
        __syncthreads(); // all lanes have been read
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

// Who takes which lanes of a level.
template <typename T>
void
plan_tiles(const wk_call *call, tree_task *task)
{
    constexpr int K = kLanesEach<T>, kPhase = 128 / (int)sizeof(factor_t<T>);
    const int last = task->kept.ndim - 1;
    const int64_t column = last < 0 ? 0 : task->kept.strides[last], row = task->stride,
                  all = task->outputs * task->chunks;
    // Fewer columns than fill a sector are read by lanes, each column's in turn, from the L1.
    task->across = last >= 0 && std::abs(column) < std::abs(row) &&
                   (last > 0 || task->kept.shape[last] >= 8);
    task->log_lanes = 1;
    while (1 << task->log_lanes < WK_LANES && 1 << task->log_lanes < task->n) task->log_lanes++;
    const int lanes = 1 << task->log_lanes, threads = lanes > K ? lanes / K : 1;
    task->each = last > 0 && lanes < K ? lanes : K; // less where processors would be idle
    while (task->each > 1 &&
           all * lanes < (int64_t)2 * processors(call) * task->each * kThreads)
        task->each /= 2;
    task->log_folds = log2_of(task->each * kThreads) - task->log_lanes;
    const int folds = 1 << task->log_folds;
    // One after the other each has all of its elements on their way: where threads are idle, or lanes long.
    task->together = row && !task->where && task->chunks == 1 &&
                     task->n <= (task->each < K ? 1 : K) * WK_LANES &&
                     (last <= 0 || (task->across && folds <= kThreads));
    // Threads that memory serves threads are of all banks, whether they write lanes or read them.
    task->fold_step = task->across ? 1 : lanes + threads;
    task->lane_step = task->across ? folds + kPhase / threads : 1;
    for (int j = 0; j < K; j++) {
        const int before = j * kThreads, fold = task->across ? before % folds : before / lanes,
                  lane = task->across ? before / folds : before % lanes;
        task->folds[j] = fold;
        task->lanes[j] = j < task->each ? lane : 1 << 30;
        task->entry[j] = fold * task->fold_step + lane * task->lane_step;
        task->apart[j] = fold * column + lane * row;
    }
}

// The kernel of one level.
template <typename T>
wk_status
fold_level(wk_call *call, tree_task task, const T *in, factor_t<T> *totals)
{
    plan_tiles<T>(call, &task);
    task.plain =
        !totals && !task.has_initial && !task.mailbox.slot && task.out_dtype == dtype_of<T>;
    const unsigned grid =
        grid_for(call, task.outputs * task.chunks, (int64_t)1 << task.log_folds);
    return launch(call, grid, kThreads, 0, product_of_tiles<T>, in, task, totals);
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
    const T *in = first_element<T>(&call->in);
    if (call->part.mode == WK_PIECE) {
        part_places(call, &task);
        return fold_level<T>(call, task, in, (A *)call->part.state);
    }
    flat_places(&task);
    void *totals = nullptr;
    const int64_t bytes = task.outputs * task.chunks * (int64_t)sizeof(A);
    if (task.chunks > 1 && allocate(call, bytes, &totals) != WK_OK) return call->error.status;
    if (call->mailbox.slot && task.outputs == 1) {
        task.mailbox = call->mailbox;
        call->mailbox.sent = 1;
    }
    if (fold_level<T>(call, task, in, (A *)totals) != WK_OK) return call->error.status;
    return fold_totals<A>(call, task, (A *)totals);
}

} // namespace wk
