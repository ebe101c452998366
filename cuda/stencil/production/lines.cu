// stencil1d / lines -- the production row: which kernel a call goes to, in how many launches.
//
// In, out   [outer][n][inner], any real dtypes -> [outer][outputs][inner]; complex numbers with real
//           coefficients as their parts; complex coefficients by complex.cu.
// How       coefficients are a __grid_constant__ parameter, which lies in constant memory: all
//           lanes want the same one at once, so one read serves the warp. Unlike a __constant__
//           symbol it belongs to the launch: two streams never mix theirs. Multiply-adds are fused
//           and in the order of the coefficients: the same bits as on the CPU.
// Source    P. Micikevicius, "3D Finite Difference Computation on GPUs using CUDA" (2009);
//           scipy.ndimage.correlate1d for the meaning.
#include "stencil/production/each.cuh"
#include "stencil/production/lines.cuh"

namespace wk::stencil
{

namespace
{

// Up to so many columns a plane is a run of memory with planes' scattered threads; wider ones fill
// columns' tiles of 64 well enough.
constexpr int64_t kNarrow = 64, kMostNarrow = 128;

way
way_of(const wk_call *call)
{
    const wk_stencil_args *a = &call->args.stencil;
    const bool gaps = a->n > 1 && call->in.strides[1] != a->inner;
    const int64_t tiles = (a->inner + 63) / 64 * 64;
    if (a->inner == 1 && !gaps) return way::rows;
    const bool narrow =
        a->inner < kNarrow || (a->inner <= kMostNarrow && 4 * tiles > 5 * a->inner);
    return narrow && !gaps ? way::planes : way::columns;
}

// Is a line or plane so short that each output is best made alone? H100, share of a copy's rate by a tile, and by
// each output, before that divided less; radius 1, 4, 16. Planes of 4 x 3 float32 .05 .04 .02, .52 .36 .15; of
// 16 x 3 .20 .17 .08, .52 .35 .15; of 50 x 3 .56 .47 .23, .51 .35 .15. Lines of 4 .32 .21 .04, .52 .36 .15; of 16
// .68 .60 .24, .52 .36 .15. Lines of 16 float64 .53 .54 .33, .89 .67 .28; of 50 .78 .79 .81, .88 .66 .27.
template <typename P>
bool
goes_by_each(const wk_stencil_args *a, way by)
{
    if (by == way::columns || !fits_each(a)) return false;
    if (by == way::planes) return a->outputs * a->inner <= 96;
    return a->outputs <= 8 || (std::is_same_v<P, raw<double>> && a->outputs * a->taps <= 150);
}

// Coefficients that one launch can take: more would leave a block too little shared memory.
int64_t
most_taps(const wk_call *call, way by, const job *j, int sum_bytes)
{
    const int64_t most = kTapBytes / sum_bytes - kSpare;
    if (by == way::rows) return most;
    const int64_t row = (by == way::planes ? j->inner : 64) * sum_bytes;
    const int64_t rows =
        by == way::planes ? 17 * std::max<int64_t>(1, 256 / j->inner) + 32 : 160;
    return std::max<int64_t>(1, std::min(most, (most_shared(call) - 1024) / row - rows));
}

// One launch where coefficients fit, else several: sums wait in memory, as the result itself where that
// has their type.
template <typename P>
wk_status
launch_passes(wk_call *call)
{
    using A = typename P::sum;
    const wk_stencil_args *a = &call->args.stencil;
    const auto c = static_cast<const A *>(call->aux.host);
    const way by = way_of(call);
    const job whole = job_of(call, P::E);
    if (goes_by_each<P>(a, by)) {
        job j = whole;
        j.count = (int)a->taps;
        return launch_each<A>(call, &j, c);
    }
    const int64_t most = most_taps(call, by, &whole, sizeof(A));
    if (a->taps <= most) {
        job j = whole;
        j.count = (int)a->taps;
        return launch_pass<P>(call, by, &j, c);
    }
    void *sums = call->out[0].data;
    const wk_dtype type = sizeof(A) == 4 ? WK_F32 : WK_F64;
    const bool apart = call->out[0].dtype != type;
    const int64_t bytes = a->outer * a->outputs * a->inner * (int64_t)sizeof(A);
    if (apart && allocate(call, bytes, &sums) != WK_OK) return call->error.status;
    for (int64_t t = 0; t < a->taps; t += most) {
        job j = whole;
        j.count = (int)std::min(most, a->taps - t);
        j.before = a->before - t;
        j.sums = t > 0 ? sums : nullptr;
        const bool last = t + most >= a->taps;
        if (apart && !last) {
            j.out = sums;
            j.types.out = type;
            j.lead = lead_of(sums, sizeof(A), P::E);
        }
        const wk_status status = apart ? launch_pass<mixed<A>>(call, by, &j, c + t)
                                       : launch_pass<P>(call, by, &j, c + t);
        if (status) return status;
    }
    return WK_OK;
}

} // namespace

} // namespace wk::stencil

WK_LAUNCHER(stencil1d, cuda, lines)
{
    using namespace wk::stencil;
    const wk_dtype in = call->in.dtype, out = call->out[0].dtype, sums = call->aux.dtype;
    if (sums == WK_C64 || sums == WK_C128) return launch_complex(call);
    const bool single_data = in == WK_F32 && out == WK_F32;
    if (sums == WK_F32)
        return single_data ? launch_passes<raw<float>>(call)
                           : launch_passes<mixed<float>>(call);
    return single_data                     ? launch_passes<single>(call)
           : in == WK_F64 && out == WK_F64 ? launch_passes<raw<double>>(call)
                                           : launch_passes<mixed<double>>(call);
}
