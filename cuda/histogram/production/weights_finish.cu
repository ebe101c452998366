// histogram / weights, before and after the sums: the places that weights have, carries between
// limbs, and results, each rounded once.
#include "histogram/production/weights_pieces.cuh"

namespace wk::weights
{

namespace
{

constexpr int kThreads = 256;

template <numbers kClass>
__global__ void
weights_places(const weights_task __grid_constant__ t, int64_t samples, span *places)
{
    using form = layout<kClass>;
    const int64_t n = t.end - t.begin, step = (int64_t)gridDim.x * kThreads;
    const int bytes = bytes_of(t.weights.dtype);
    int down = 0, up = 0;
    for (int64_t k = (int64_t)blockIdx.x * kThreads + threadIdx.x; k < samples; k += step) {
        const int64_t i = t.begin + (samples == n ? k : (int64_t)((double)n / samples * k));
        const pieces p = pieces_of<kClass>(t.weights.dtype,
                                           bits_at(t.weights.data, bytes, i * t.weights.step));
        if (p.low == 0 && p.high == 0) continue;
        down = max(down, form::kPlaces - p.place);
        up = max(up, p.place + 1);
    }
    for (int apart = kWarp / 2; apart > 0; apart /= 2) {
        down = max(down, __shfl_xor_sync(kAllLanes, down, apart));
        up = max(up, __shfl_xor_sync(kAllLanes, up, apart));
    }
    if (threadIdx.x % kWarp == 0 && up) {
        atomicMax(&places->down, down);
        atomicMax(&places->up, up);
    }
}

// Calls f(limbs of all, row of the pass, row of all) for each row of a pass.
template <numbers kClass, typename F>
__device__ __forceinline__ void
each_row(const weights_task &t, int64_t pass, F &&f)
{
    const limbs_now l = limbs_of<kClass>(t);
    const int64_t first = pass * l.rows, left = t.rows - first;
    const int64_t rows = left < l.rows ? left : l.rows, step = (int64_t)gridDim.x * kThreads;
    for (int64_t r = (int64_t)blockIdx.x * kThreads + threadIdx.x; r < rows; r += step)
        f(l, r, first + r);
}

template <numbers kClass>
__global__ void
weights_carry(const weights_task __grid_constant__ t, int64_t pass)
{
    constexpr int kBits = layout<kClass>::kLimbBits;
    each_row<kClass>(t, pass, [&](const limbs_now &l, int64_t r, int64_t) {
        auto *limb = reinterpret_cast<long long *>(t.limbs) + r;
        long long carry = 0;
        for (int k = 0; k < l.count; k++, limb += l.rows) {
            const long long v = *limb + carry;
            carry = v >> kBits;
            *limb = k < l.count - 1 ? v - carry * ((int64_t)1 << kBits) : v;
        }
    });
}

__device__ void
store(const sums &out, int64_t i, double x)
{
    i *= out.step;
    switch (out.dtype) {
    case WK_F16: static_cast<uint16_t *>(out.data)[i] = wk_f16_of_f64(x); break;
    case WK_BF16: static_cast<uint16_t *>(out.data)[i] = wk_bf16_of_f64(x); break;
    case WK_F32: static_cast<float *>(out.data)[i] = wk_one_nan_f32((float)x); break;
    default: static_cast<double *>(out.data)[i] = wk_one_nan_f64(x);
    }
}

// Modulo 2^64, then the result's type; true is any number but 0.
__device__ void
store_integer(const sums &out, int64_t i, uint64_t x, bool zero)
{
    i *= out.step;
    if (out.dtype == WK_BOOL) x = !zero;
    switch (bytes_of(out.dtype)) {
    case 1: static_cast<uint8_t *>(out.data)[i] = (uint8_t)x; break;
    case 2: static_cast<uint16_t *>(out.data)[i] = (uint16_t)x; break;
    case 4: static_cast<uint32_t *>(out.data)[i] = (uint32_t)x; break;
    default: static_cast<uint64_t *>(out.data)[i] = x;
    }
}

// Digits of 32 bits from the lowest up: the last three, and whether there was any other than zero
// below them. `at` is the number of the last.
struct digits {
    uint32_t last, second, third;
    int at;
    bool below;

    __device__ __forceinline__ void push(uint32_t digit)
    {
        below = below || third;
        third = second;
        second = last;
        last = digit;
        at++;
    }
};

// A row's sum: 65 bits that lead, or more, and the sign.
struct row_sum {
    digits leading;
    bool negative;
    uint64_t low; // the sum modulo 2^64
};

// Limbs that wait together, of so many at most.
template <numbers kClass, int kMost>
constexpr int kBatch = kMostLimbs<kClass> < kMost ? kMostLimbs<kClass> : kMost;

// From the lowest limb up, so that nothing need be kept of those that do not lead: of a positive sum
// the digits down from the last that is not 0, of a negative one from the last that is not all ones.
// What is read is left zero. every: all digits, and the sign behind them; or null.
template <numbers kClass, int kBatch>
__device__ __forceinline__ row_sum
take_row(unsigned long long *limb, const limbs_now &l, int64_t *every)
{
    constexpr int kEach = 32 / layout<kClass>::kLimbBits;
    static_assert(kBatch % kEach == 0);
    constexpr digits kNone = {0, 0, 0, -1, false};
    digits d = kNone, positive = kNone, negative = kNone;
    uint64_t low = 0;
    __int128 sum = 0; // of limbs below 2^63, 24 bits up at most, and what was carried
    const auto next = [&]() {
        const auto digit = (uint32_t)sum;
        sum >>= 32;
        d.push(digit);
        if (every) every[d.at] = digit;
        if (digit != 0) positive = d;
        if (digit != 0xffffffffu) negative = d;
        if (d.at < 2) low |= (uint64_t)digit << 32 * d.at;
    };
    for (int k = 0; k < l.count; k += kBatch) {
        long long v[kBatch];
#pragma unroll
        for (int i = 0; i < kBatch; i++)
            v[i] = k + i < l.count ? (long long)limb[(k + i) * l.rows] : 0;
#pragma unroll
        for (int i = 0; i < kBatch; i++) {
            if (v[i]) limb[(k + i) * l.rows] = 0;
            sum += v[i] * ((__int128)1 << layout<kClass>::kLimbBits * (i % kEach));
            if (i % kEach == kEach - 1) next();
        }
    }
    for (int i = 0; i < 3; i++) next(); // what was carried: no more than its sign is left
    if (every) every[d.at + 1] = -(int64_t)(sum < 0);
    return {sum < 0 ? negative : positive, sum < 0, low};
}

// Flags of a row, which are left zero.
__device__ __forceinline__ int
take_flags(unsigned *flags)
{
    const auto own = (int)*flags;
    if (own) *flags = 0;
    return own;
}

template <numbers kClass>
__global__ void
weights_finish(const weights_task __grid_constant__ t, const sums __grid_constant__ out,
               int64_t pass)
{
    using form = layout<kClass>;
    each_row<kClass>(t, pass, [&](const limbs_now &l, int64_t r, int64_t row) {
        const row_sum s = take_row<kClass, kBatch<kClass, 24>>(t.limbs + r, l, nullptr);
        const digits &d = s.leading;
        if (out.dtype < WK_F16) {
            store_integer(out, row, s.low, !s.negative && d.at < 0);
            return;
        }
        // what is below the third digit changes no rounding if that is odd
        int64_t limb[4] = {d.third | (uint32_t)d.below, d.second, d.last, -(int64_t)s.negative};
        const int base = form::kBase + form::kLimbBits * l.first + 32 * (d.at - 2);
        wk_moments m = {
            {limb, 4, base}, {}, take_flags(t.flags + r), 0}; // of no elements: 0 is never -0.0
        store(out, row, wk_finish_sum(&m, 0, wk_format_of(out.dtype)));
    });
}

// The sums divided by the elements' counts, rounded once: that takes all digits.
template <numbers kClass>
__global__ void
weights_mean(const weights_task __grid_constant__ t, const sums __grid_constant__ out,
             int64_t pass)
{
    using form = layout<kClass>;
    constexpr int kSome = kBatch<kClass, 8>; // small code: there are few rows
    constexpr int kDigits =
        (kMostLimbs<kClass> + kSome - 1) / kSome * kSome * form::kLimbBits / 32 + 3;
    each_row<kClass>(t, pass, [&](const limbs_now &l, int64_t r, int64_t row) {
        int64_t limb[kDigits + 1] = {};
        take_row<kClass, kSome>(t.limbs + r, l, limb);
        wk_moments m = {{limb, kDigits + 1, form::kBase + form::kLimbBits * l.first},
                        {},
                        take_flags(t.flags + r) | WK_NOT_MINUS_ZERO,
                        t.counts[row]};
        store(out, row, wk_finish_sum(&m, 1, wk_format_of(out.dtype)));
    });
}

__global__ void
weights_add(const weights_task __grid_constant__ t, const weights_task __grid_constant__ other)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    const int64_t first = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    for (int64_t i = first; i < t.room; i += step) t.limbs[i] += other.limbs[i];
    for (int64_t r = first; r < t.rows; r += step) t.flags[r] |= other.flags[r];
}

} // namespace

wk_status
add_totals(wk_call *call, const weights_task &t, const weights_task &other)
{
    return launch(call, grid_for(call, t.room, kThreads), kThreads, 0, weights_add, t, other);
}

wk_status
find_places(wk_call *call, numbers kind, const weights_task &t, int64_t samples, span *places)
{
    return with_class(kind, [&](auto c) {
        return launch(call, grid_for(call, samples, kThreads), kThreads, 0,
                      weights_places<decltype(c)::value>, t, samples, places);
    });
}

wk_status
carry_limbs(wk_call *call, numbers kind, const weights_task &t, int64_t pass)
{
    return with_class(kind, [&](auto c) {
        return launch(call, grid_for(call, t.rows, kThreads), kThreads, 0,
                      weights_carry<decltype(c)::value>, t, pass);
    });
}

wk_status
finish_rows(wk_call *call, numbers kind, const weights_task &t, const sums &out, int64_t pass)
{
    return with_class(kind, [&](auto c) {
        return launch(call, grid_for(call, t.rows, kThreads), kThreads, 0,
                      t.counts ? weights_mean<decltype(c)::value>
                               : weights_finish<decltype(c)::value>,
                      t, out, pass);
    });
}

} // namespace wk::weights
