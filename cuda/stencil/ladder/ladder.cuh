// ladder.cuh -- what the rungs share: which calls they take, and the output as tiles.
//
// A tile is a part of the output as high as a block of threads along the axis, y, and as wide across
// the inner elements, x; where there is one inner element, a tile is a part of a line. Tiles that
// follow each other along the axis are a strip. The grid goes along strips in x, over strips in y,
// and a block goes on in strides of the grid. out[i] = sum over t of c[t] in[i + t - before]: the
// elements from i - before on are the window of i. Where tiles have windows beyond the ends, each
// element asks wk_extend what stands there.
#pragma once
#include "num/line.h"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

namespace wk::ladder
{

constexpr int kThreads = 256; // of a block at most: 8 warps hide latency
constexpr int kColumns = 32;  // of a tile at most: what a warp reads is one run of memory

struct task {
    int64_t n, inner, outputs, taps, before;
    int64_t line, step; // from line to line of the input, and along the axis, in elements
    wk_mode mode;
    double cval[2]; // for even and for odd columns
    int64_t across; // strips side by side, over the inner elements
    int64_t strips; // in all
    int wide, high; // of a tile
};

template <typename T>
struct tile {
    const T *in;    // place 0 of its first column
    T *out;         // its first output
    int64_t first;  // the place where that one's window begins
    int64_t column; // its first
    int wide, high; // less than a whole tile at the ends
    bool inside;    // does no window reach beyond the ends?
};

template <typename T>
__device__ __forceinline__ tile<T>
tile_at(const task &a, int64_t strip, int64_t row, const T *in, T *out)
{
    int64_t line = strip, j = 0;
    if (a.across > 1) { // else there is nothing to divide
        line = strip / a.across;
        j = strip % a.across * a.wide;
    }
    const int64_t i = row * a.high, wide = a.inner - j, high = a.outputs - i;
    tile<T> at;
    at.in = in + line * a.line + j;
    at.out = out + (line * a.outputs + i) * a.inner + j;
    at.first = i - a.before;
    at.column = j;
    at.wide = (int)(wide < a.wide ? wide : a.wide);
    at.high = (int)(high < a.high ? high : a.high);
    at.inside = at.first >= 0 && at.first + at.high + a.taps - 1 <= a.n;
    return at;
}

// One rounding.
__device__ __forceinline__ float
fused(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

__device__ __forceinline__ double
fused(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}

// A result carries one NaN only: which one a chip makes is its own affair.
template <typename T, typename A>
__device__ __forceinline__ T
stored(A sum)
{
    if constexpr (sizeof(T) == sizeof(float))
        return wk_one_nan_f32((float)sum);
    else
        return wk_one_nan_f64(sum);
}

// The element of a tile's windows at this row and column, also beyond the ends.
template <typename A, typename T>
__device__ __forceinline__ A
element(const task &a, const tile<T> &at, int64_t row, int x)
{
    const int64_t i = wk_extend(at.first + row, a.n, a.mode);
    return i < 0 ? (A)a.cval[(at.column + x) & 1] : (A)at.in[i * a.step + x];
}

// Brings all elements of a tile's windows to shared memory, in what they are added in: its rows and
// the halo, which is taps - 1 more.
template <typename A, typename T>
__device__ __forceinline__ void
fill(const task &a, const tile<T> &at, A *shared)
{
    const int x = threadIdx.x, rows = at.high + (int)a.taps - 1;
    const T *from = at.in + at.first * a.step + x;
    for (int row = threadIdx.y; row < rows && x < at.wide; row += blockDim.y)
        shared[row * blockDim.x + x] =
            at.inside ? (A)from[row * a.step] : element<A>(a, at, row, x);
}

// ---- on the host --------------------------------------------------------------------------

// A block for every tile, at most as many as grid_for gives. `each`: rows of a tile for a row of
// threads. `room`: elements of a tile with its halo, and one row to spare; 0: it has no such limit.
template <typename T, typename... P, typename... X>
wk_status
launch_tiles(wk_call *call, int each, int64_t room,
             void (*kernel)(const T *, T *, const task __grid_constant__, P...), X... more)
{
    constexpr int64_t most_high = 65535; // CUDA's limit of gridDim.y
    const wk_stencil_args *s = &call->args.stencil;
    const int64_t *strides = call->in.strides;
    task a = {s->n,       s->inner,  s->outputs,
              s->taps,    s->before, strides[0],
              strides[1], s->mode,   {s->cval[0], s->cval[1]}};
    const int64_t strips = (s->inner + kColumns - 1) / kColumns;
    int64_t wide = (s->inner + strips - 1) / strips; // strips of one width, if they can be
    if (room) wide = std::max<int64_t>(1, std::min(wide, (room - each * kThreads) / s->taps));
    const int64_t rows = std::min(kThreads / wide, (s->outputs + each - 1) / each);
    a.wide = (int)wide;
    a.high = (int)(rows * each);
    a.across = (s->inner + wide - 1) / wide;
    a.strips = s->outer * a.across;
    const int64_t tiles = (s->outputs + a.high - 1) / a.high;
    const int64_t most = grid_for(call, a.strips * tiles, 1);
    const int64_t y = std::min({a.strips, most, most_high});
    const dim3 grid((unsigned)std::min(tiles, (most + y - 1) / y), (unsigned)y);
    return launch(call, grid, dim3((unsigned)wide, (unsigned)rows), 0, kernel,
                  first_element<T>(&call->in), (T *)call->out[0].data, a, more...);
}

// Calls use(T{}, A{}) with the type of elements and that of coefficients and sums.
template <typename F>
wk_status
with_types(wk_call *call, const char *variant, int64_t most_taps, F &&use)
{
    const wk_dtype in = call->in.dtype, sums = call->aux.dtype;
    const long long taps = (long long)call->args.stencil.taps;
    if (taps > most_taps)
        return WK_FAIL(
            &call->error, WK_EVALUE,
            "variant '%s' of stencil1d takes up to %lld coefficients, not %lld; without "
            "variant the production kernel runs, which takes any number",
            variant, (long long)most_taps, taps);
    if (sums != WK_F32 && sums != WK_F64)
        return WK_FAIL(&call->error, WK_ETYPE,
                       "variant '%s' of stencil1d takes real coefficients, not complex ones",
                       variant);
    if (call->out[0].dtype != in)
        return WK_FAIL(
            &call->error, WK_ETYPE,
            "variant '%s' of stencil1d gives the dtype of its input, here %s, not %s", variant,
            wk_dtype_names[in], wk_dtype_names[call->out[0].dtype]);
    if (in == WK_F32 && sums == WK_F32) return use(float{}, float{});
    if (in == WK_F32) return use(float{}, double{});
    if (sums == WK_F64) return use(double{}, double{});
    return WK_FAIL(&call->error, WK_ETYPE,
                   "variant '%s' of stencil1d adds float64 in float64 only, not in float32",
                   variant);
}

// The coefficients in global memory, until the session ends; null with error set.
template <typename A>
const A *
taps_on_device(wk_call *call)
{
    void *block = nullptr;
    const int64_t bytes = call->args.stencil.taps * (int64_t)sizeof(A);
    if (allocate(call, bytes, &block) != WK_OK ||
        copy_in(block, call->aux.host, bytes, session_of(call)->stream, &call->error) != WK_OK)
        return nullptr;
    return static_cast<const A *>(block);
}

// A __constant__ symbol is there once, for all streams of a device. What a call copies into it must
// stay until its kernel has read it, so calls take turns: a stream waits for the last kernel that
// read the symbol, whichever stream that is on, and no thread comes in between. The host waits for
// nothing but the other threads.
class turns
{
  public:
    template <typename F>
    wk_status take(wk_call *call, F &&copy_and_launch)
    {
        std::lock_guard<std::mutex> hold(lock);
        const session *s = session_of(call);
        cudaEvent_t made = nullptr;
        if (last.find(s->device) == last.end()) {
            WK_TRY(&call->error, cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
            try {
                last[s->device] = made;
            } catch (const std::bad_alloc &) {
                cudaEventDestroy(made);
                return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate room for an event");
            }
        }
        const cudaEvent_t mine = last.find(s->device)->second;
        WK_TRY(&call->error, cudaStreamWaitEvent(s->stream, mine, 0));
        const wk_status status = copy_and_launch();
        // Also where the launch has failed: its copy may still be on the way.
        WK_TRY(&call->error, cudaEventRecord(mine, s->stream));
        return status;
    }

  private:
    std::mutex lock;
    std::map<int, cudaEvent_t> last; // by device
};

} // namespace wk::ladder
