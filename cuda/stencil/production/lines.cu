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
#include "stencil/production/short.cuh"
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

// Is a line so short that a block should have many? H100, share of a copy's rate by a tile of one, and so; radius 1,
// 4, 16. Lines of 4 float32 .32 .21 .04, .80 .74 .47; of 33 .58 .60 .33, .71 .64 .38; of 50 .56 .58 .43, .75 .65 .40;
// with float64 sums of 16 .79 .66 .28, .69 .58 .35. Lines of 33 float64 .64 .66 .52, .88 .75 .43. Planes of 4 x 3
// float32 .06 .05 .02, .97 .82 .50; of 50 x 3 .53 .48 .22, .76 .68 .41; of 16 x 16 .93 .54 .19, .82 .74 .48; of 16 x
// 100 .98 .63 .21, .70 .65 .44; of 200 x 3 .97 .87 .52, .69 .62 .39; float64 of 50 x 3 .95 .89 .49, .92 .84 .53. Columns
// of 4 float32 .14 .19 .04, .81 .72 .46; of 16 .49 .66 .20, .79 .71 .48; of 32 .85 .97 .41, .79 .71 .47; float64 of 32
// .93 .88 .58, .97 .96 .71; of 48 .99 .98 .79, .98 .96 .74.
template <typename P>
bool
goes_by_short(const wk_stencil_args *a, way by, const job *j)
{
    if (!fits_short<typename P::sum>(j, a->taps)) return false;
    constexpr bool kWide = std::is_same_v<P, raw<double>>;
    constexpr bool kPlain = std::is_same_v<P, raw<float>>;
    const int64_t outputs = a->outputs, plane = outputs * a->inner;
    if (by == way::rows && kWide)
        return outputs <= 16 || (outputs <= 64 && outputs * a->taps <= 300);
    if (by == way::rows)
        return outputs <= (std::is_same_v<P, single> ? 12 : 40) ||
               (kPlain && outputs <= 56 && a->taps <= 9);
    if (outputs <= 8 || (outputs <= 64 && outputs < a->taps)) return true;
    if (by == way::columns) return outputs <= (kWide ? 32 : 16);
    return plane <= (kWide ? 100 : 160) || (plane <= 512 && outputs < 2 * a->taps);
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
    if (goes_by_short<P>(a, by, &whole)) {
        job j = whole;
        j.count = (int)a->taps;
        return launch_short<A>(call, &j, c);
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
