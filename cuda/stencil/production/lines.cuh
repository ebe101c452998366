// lines.cuh -- what the production stencils share: the job, coefficients as a kernel parameter, the
// window of registers, and what stands beyond a line's ends.
#pragma once
#include "num/line.h"
#include "prim/async.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "stencil/production/elements.cuh"

#include <algorithm>
#include <cstring>

namespace wk::stencil
{

// Coefficients of one launch. With the rest below the 4 KiB of parameters that every GPU takes; a
// launch costs 2.5 to 2.7 us with up to 2 KiB of them, 3.9 with 16 KiB. More coefficients go in
// several launches, the sums waiting in memory between them: the order stays, and so do the bits.
constexpr int kTapBytes = 3840;
constexpr int kSpare =
    4; // coefficients may start some places later, where windows start aligned

template <typename A>
constexpr int kTaps = kTapBytes / (int)sizeof(A) - kSpare;

template <typename A>
struct taps {
    A c[kTaps<A> + kSpare];
};

// One launch: some of the coefficients over all outputs. Places count along the axis.
struct job {
    const void *in;
    void *out;
    const void *sums; // what earlier coefficients gave, [outer][outputs][inner]; or null
    dtypes types;
    wk_mode mode;
    int bulk;  // may the bulk copy engine be used?
    int count; // coefficients of this launch
    int64_t outer, n, outputs, inner;
    int64_t outer_step, step; // of in, in elements
    int64_t before;           // out[i] = sum over t < count of c[t] in[i + t - before]
    double cval[2];
    // the launch's cut
    int64_t tiles;     // along the axis
    int strips;        // columns: tiles side by side; rows: segments a block
    int team;          // rows: threads a segment; planes: places a block
    int pitch;         // rows: elements from one segment's tile to the next's
    int skip;          // rows: elements of the tile before the first window
    int aligned;       // groups of elements lie alike in memory and in the tile
    int in_lead, lead; // of in's first element, out's: places since a group's boundary
};

// The place that stands at i, or -1 for cval; near the ends without a division.
static __device__ WK_NOINLINE int64_t
beyond(int64_t i, int64_t n, wk_mode mode)
{
    if (i >= 0 && i < n) return i;
    if (mode == WK_CONSTANT) return -1;
    if (mode == WK_NEAREST) return i < 0 ? 0 : n - 1;
    const bool below = i < 0;
    const int64_t at = mode == WK_WRAP      ? (below ? i + n : i - n)
                       : mode == WK_REFLECT ? (below ? -1 - i : 2 * n - 1 - i)
                                            : (below ? -i : 2 * n - 2 - i);
    return at >= 0 && at < n ? at : wk_extend(i, n, mode);
}

// One coefficient's share of V outputs whose window starts in slot q of W registers.
template <typename A, int V, int W>
__device__ __forceinline__ void
one_tap(A (&sum)[V], const A (&window)[W], int q, A c)
{
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = fma_of(c, window[(q + i) % W], sum[i]);
}

// C columns of shared memory, `apart` from each other: V outputs of each from its element 0 on, which
// lie `pitch` apart. The window is one array of W = V + X registers used in place: tap t reads slots
// (t + i) % W, and a slot is filled again as soon as its last tap is done, X taps before it is
// wanted. No coefficient is padded with zero (0 x inf is NaN): the last turn stops at the last one.
template <int V, int X, int C, typename T, typename A>
__device__ __forceinline__ void
sum_columns(T column, int pitch, int apart, int count, const A *c, A (&sum)[C][V])
{
    constexpr int W = V + X;
    A window[C][W];
    T next = column + W * pitch;
#pragma unroll
    for (int q = 0; q < W; q++)
#pragma unroll
        for (int s = 0; s < C; s++) window[s][q] = column[q * pitch + s * apart];
    int t = 0;
    for (; t + W <= count; t += W) {
#pragma unroll
        for (int q = 0; q < W; q++) {
#pragma unroll
            for (int s = 0; s < C; s++) {
                one_tap<A, V, W>(sum[s], window[s], q, c[t + q]);
                window[s][q] = next[s * apart];
            }
            next += pitch;
        }
    }
#pragma unroll
    for (int q = 0; q < W; q++) {
        if (t + q >= count) break;
#pragma unroll
        for (int s = 0; s < C; s++) {
            one_tap<A, V, W>(sum[s], window[s], q, c[t + q]);
            window[s][q] = next[s * apart]; // past the end: within the tile, and not used
        }
        next += pitch;
    }
}

// What sum_columns starts from: zeros, or what earlier coefficients gave for the outputs from `at` on,
// of which `rows` are there. What is no output gets another's.
template <int V, int C, typename A>
__device__ __forceinline__ void
sums_so_far(const job &j, int64_t at, int apart, int rows, A (&sum)[C][V])
{
#pragma unroll
    for (int s = 0; s < C; s++)
#pragma unroll
        for (int i = 0; i < V; i++) sum[s][i] = 0;
    if (j.sums == nullptr || rows <= 0) return;
    const A *from = static_cast<const A *>(j.sums) + at;
#pragma unroll
    for (int i = 0; i < V; i++) {
#pragma unroll
        for (int s = 0; s < C; s++) sum[s][i] = from[s * apart];
        if (i + 1 < rows) from += j.inner;
    }
}

// Places of an element since a group's boundary.
inline int
lead_of(const void *p, int item, int group)
{
    return (int)(reinterpret_cast<uintptr_t>(p) / (unsigned)item % (unsigned)group);
}

// All of the call, but for its coefficients and its cut.
inline job
job_of(const wk_call *call, int group)
{
    const wk_stencil_args *a = &call->args.stencil;
    const wk_array *in = &call->in, *out = &call->out[0];
    job j = {};
    j.in = static_cast<const char *>(in->data) + in->first;
    j.out = out->data;
    j.types = {in->dtype, out->dtype};
    j.mode = a->mode;
    j.outer = a->outer, j.n = a->n, j.outputs = a->outputs, j.inner = a->inner;
    j.outer_step = in->strides[0], j.step = in->strides[1], j.before = a->before;
    j.cval[0] = a->cval[0], j.cval[1] = a->cval[1];
    j.bulk = bulk_copies(call);
    j.in_lead = lead_of(j.in, wk_itemsize[in->dtype], group);
    j.lead = lead_of(j.out, wk_itemsize[out->dtype], group);
    return j;
}

// Which kernel a call goes to. A window's elements are neighbours, or `inner` apart in a run of memory,
// or in columns of a wide tile.
enum class way { rows, planes, columns };

// Launches one pass, by way of which kernel; each policy is instantiated in a file of its own.
template <typename P>
wk_status launch_pass(wk_call *call, way by, job *j, const typename P::sum *c);

wk_status launch_complex(wk_call *call); // complex.cu

extern template wk_status launch_pass<raw<float>>(wk_call *, way, job *, const float *);
extern template wk_status launch_pass<raw<double>>(wk_call *, way, job *, const double *);
extern template wk_status launch_pass<single>(wk_call *, way, job *, const double *);
extern template wk_status launch_pass<mixed<float>>(wk_call *, way, job *, const float *);
extern template wk_status launch_pass<mixed<double>>(wk_call *, way, job *, const double *);

} // namespace wk::stencil
