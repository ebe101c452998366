// reduce / exact, over a power of two: sums of float64 whose elements, or their squares, are too large for
// doubles, or too small (table.cuh). What is far below the largest is lost, with a bound.
#include "reduce/production/table.cuh"

namespace wk
{

// The elements of an output.
struct scattered {
    const void *in;
    const reduce_task &task;
    const spot &first;
    int parts;
    bool plain; // they lie evenly, and all count

    __device__ scattered(const void *x, const reduce_task &t, const spot &s)
        : in(x), task(t), first(s), parts(t.dtype == WK_C128 ? 2 : 1),
          plain(t.folded.ndim <= 1 && !t.counts)
    {
    }
    // Where the m-th lies; false: it does not count.
    __device__ WK_NOINLINE bool find(int64_t m, int64_t *at) const
    {
        spot s = spot_of(task.folded, task.where_folded, m);
        s.at += first.at;
        *at = s.at * parts;
        return counts_there(in, task, task.where ? task.where + first.mask : nullptr, s);
    }
    // A part of the batch at i: a bit for each that counts, else -0.0.
    __device__ __forceinline__ uint32_t read(int part, int64_t i, const series &own,
                                             double (&x)[kScaledBatch]) const
    {
        const double *from = static_cast<const double *>(in) + part;
        uint32_t ok = 0;
        if (plain) {
            const int64_t pitch = own.step * task.stride * parts;
            from += (first.at + i * task.stride) * parts;
#pragma unroll
            for (int k = 0; k < kScaledBatch; k++, i += own.step, from += pitch) {
                const bool some = k < own.batch && i < own.end;
                x[k] = some ? *from : -0.0;
                ok |= (uint32_t)some << k;
            }
        } else {
            double one[kScaledBatch];
#pragma unroll 1
            for (int k = 0; k < kScaledBatch; k++, i += own.step) {
                int64_t at;
                one[k] = -0.0;
                if (k >= own.batch || i >= own.end || !find(i, &at)) continue;
                one[k] = from[at];
                ok |= 1u << k;
            }
            memcpy(x, one, sizeof one);
        }
        return ok;
    }
};

// Each to the sum by itself: ties are often told by what is far below.
static __device__ __forceinline__ void
add_each(const double (&x)[kScaledBatch], few<3> *sum, int *flags)
{
#pragma unroll
    for (int k = 0; k < kScaledBatch; k++) {
        const bool odd = x[k] - x[k] != 0;
        if (wk_bits_f64(x[k]) != 1ull << 63) *flags |= WK_NOT_MINUS_ZERO;
        if (odd) *flags |= wk_odd_flag(x[k]);
        sum->put(odd ? 0 : x[k]);
    }
}

template <bool kSquares>
static __device__ __forceinline__ void
take_scaled(const scattered &all, const series &own, int shift, scaled_sums *sums)
{
    const double scale = wk_power_of_two(-shift);
#pragma unroll 1
    for (int p = 0; p < all.parts; p++) {
        float_sums<double, 1, false, true, false> acc;
        few<3> sum = sums->sum[p];
        double lost = 0;
        acc.start(all.task);
        acc.room = 0; // as little as can be is lost
        acc.squares = sums->squares;
#pragma unroll 1
        for (int64_t i = own.begin; i < own.end; i += own.hop) {
            double x[kScaledBatch];
            const uint32_t ok = all.read(p, i, own, x);
#pragma unroll
            for (int k = 0; k < kScaledBatch; k++) {
                const bool some = x[k] != 0;
                x[k] *= scale;
                if (!some || !(fabs(x[k]) < 0x1p-900)) continue;
                lost += 0x1p-900;
                x[k] = 0;
            }
            add_each(x, &sum, &acc.flags);
            if constexpr (kSquares) acc.take(x, 0, {0, 0, 0}, all.task);
            sums->count += p == 0 ? __popc(ok) : 0;
        }
        acc.settle(all.task);
        sum.lost += lost;
        acc.squares.lost += lost;
        sums->sum[p] = sum;
        sums->squares = acc.squares;
        sums->flags |= note(p, acc.flags);
    }
}

static __device__ __forceinline__ void
take_series(const scattered &all, const series &own, int shift, table_shape shape,
            scaled_sums *sums)
{
    if (shape.square_limbs > 0)
        take_scaled<true>(all, own, shift, sums);
    else
        take_scaled<false>(all, own, shift, sums);
}

__device__ WK_NOINLINE void
add_scaled(const void *in, const reduce_task &task, const spot &first, const series &own,
           table_shape shape, scaled_sums *sums)
{
    take_series({in, task, first}, own, kLargeShift, shape, sums);
}

// As a pair; a sum's tie is told by a third double that what was lost does not reach.
static __device__ __forceinline__ double_pair
pair_of_scaled(const few<3> &y)
{
    double_pair p;
    double rest;
    p.high = two_sum(y.s[0], y.s[1], &p.low);
    p.low = two_sum(p.low, y.s[2], &rest);
    p.high = two_sum(p.high, p.low, &p.low);
    p.low = two_sum(p.low, rest, &rest);
    p.lost = y.lost + fabs(rest);
    if (!(y.lost < fabs(rest))) return p;
    p.low = round_to_odd(p.low, rest); // as good as exact, where it is rounded next, or divided
    p.lost = 0;
    p.high = two_sum(p.high, p.low, &p.low);
    return p;
}

// The exponent of the largest, infinities and NaN aside.
static __device__ int
largest_exponent(const scattered &all, const series &own)
{
    uint32_t most = 0;
#pragma unroll 1
    for (int p = 0; p < all.parts; p++) {
#pragma unroll 1
        for (int64_t i = own.begin; i < own.end; i += own.hop) {
            double x[kScaledBatch];
            all.read(p, i, own, x);
#pragma unroll
            for (int k = 0; k < kScaledBatch; k++) {
                const uint32_t e = (uint32_t)(wk_bits_f64(x[k]) >> 52) & 0x7ff;
                most = e > most && e < 0x7ff ? e : most;
            }
        }
    }
    return (int)most - 1023;
}

__device__ WK_NOINLINE uint32_t
finish_scaled(const void *in, const reduce_task &task, uint32_t marks, int64_t first, int lanes,
              int step, table_shape shape)
{
    constexpr int kMost = 960; // 2^960 and its inverse are normal numbers
    if (task.integers_only) return marks;
    const int lane = threadIdx.x % kWarp;
    // A thread an output, or the warp one after the other: what takes less time.
    const bool alone = __popc(marks) * ((task.n + kWarp - 1) / kWarp) >= task.n;
    const int64_t each = alone ? 1 : kWarp;
    const series own = {alone ? 0 : lane, task.n, each, kScaledBatch * each, kScaledBatch};
    uint32_t unknown = marks;
#pragma unroll 1
    for (uint32_t left = marks; left; left = alone ? 0 : left & (left - 1)) {
        const int bit = alone ? lane : __ffs((int)left) - 1;
        const int64_t output = first + (int64_t)(bit / lanes) * step;
        const bool works = marks >> bit & 1;
        const spot at = works ? spot_of(task.kept, task.where_kept, output) : spot{0, 0};
        scaled_sums sums;
        float_outcome o;
        int shift = works ? largest_exponent({in, task, at}, own) : 0;
        sums.clear();
        if (!alone) shift = __reduce_max_sync(kAllLanes, shift);
        shift = shift < -kMost ? -kMost : shift > kMost ? kMost : shift;
        if (works) take_series({in, task, at}, own, shift, shape, &sums);
        if (!alone) {
            join_lanes(sums.sum[0], kWarp);
            join_lanes(sums.sum[1], kWarp);
            join_lanes(sums.squares, kWarp);
            sums.flags = (int)__reduce_or_sync(kAllLanes, (unsigned)sums.flags);
            sums.count = __reduce_add_sync(kAllLanes, sums.count);
        }
#pragma unroll 1
        for (int p = 0; p < 2; p++) {
            o.sum[p] = pair_of_scaled(sums.sum[p]);
            o.shift[p] = shift;
        }
        o.squares = pair_of(sums.squares);
        o.square_shift = 2 * shift;
        o.n = task.counts ? sums.count : task.n;
        o.flags = sums.flags;
        o.sums_only = true;
        const bool known = works && (alone || lane == 0) && finish_floats(o, task, output);
        if (known) send_result(task);
        const uint32_t told = __ballot_sync(kAllLanes, known);
        unknown &= alone ? ~told : ~(told << bit);
    }
    return unknown;
}

} // namespace wk
