// dots.cuh -- sums of products of floats, and of complex numbers: the accumulators of sums, fed by
// products.
//
// A product of two float32 or halves is a double; of two float64 it is two doubles, the second what the
// first has rounded off. Those of a batch are cut at a bias (doubles.cuh), as squares are, and added to
// a few doubles with a bound of what these have lost. A complex product is two of each part.
#pragma once
#include "reduce/production/segments.cuh"

namespace wk
{

template <typename E, int kParts>
struct float_dots {
    using T = std::conditional_t<kParts == 2, complex<E>, E>;
    using F = value_t<E>;
    static constexpr bool kPairs = true, kCertain = false;
    static constexpr bool kWide = std::is_same_v<F, double>;
    // Vectors of each array at once: no more than 8 products of each part, in registers.
    static constexpr int kTurn = sizeof(T) == 2 || sizeof(T) == 16 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kS = kWide ? 4 : 3, kWords = 1 + kParts * (kS + 1);
    static constexpr int kMost = 900, kLeast = -860; // binades of a batch's sum
    static constexpr int kDtype = float_sums<E, 1, true, false, false>::kDtype;

    int flags;
    few<kS> sum[kParts];

    static __device__ T filler(const reduce_task &)
    {
        return T{};
    }
    __device__ __forceinline__ void start(const reduce_task &task)
    {
        flags = task.integers_only ? WK_TOO_LARGE : 0;
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].clear();
    }
    __device__ __forceinline__ void settle(const reduce_task &) {}

    // 8 products at once.
    template <int N>
    __device__ __forceinline__ void take(const T (&x)[N], const T (&y)[N],
                                         const reduce_task &task)
    {
        if constexpr (kParts == 2) {
            constexpr int M = N < 4 ? N : 4;
#pragma unroll
            for (int i = 0; i < N; i += M) {
                add<2 * M>(0, [&](int j, double *a, double *b) {
                    const complex<E> &u = x[i + j / 2], &v = y[i + j / 2];
                    *a = j % 2 ? (double)(task.flip ? u.im : -u.im) : (double)u.re;
                    *b = (double)(j % 2 ? v.im : v.re);
                });
                add<2 * M>(1, [&](int j, double *a, double *b) {
                    const complex<E> &u = x[i + j / 2], &v = y[i + j / 2];
                    *a = j % 2 ? (double)(task.flip ? -u.im : u.im) : (double)u.re;
                    *b = (double)(j % 2 ? v.re : v.im);
                });
            }
        } else {
            constexpr int M = kWide ? 8 : 16; // in two sums (doubles.cuh)
            static_assert(N % M == 0 || N < M);
#pragma unroll
            for (int i = 0; i < N; i += M)
                add<(N < M ? N : M)>(0, [&](int j, double *a, double *b) {
                    *a = (double)value_of(x[i + j]);
                    *b = (double)value_of(y[i + j]);
                });
        }
    }
    // `read` tells the factors, which need no registers meanwhile: of few digits the products are exact.
    template <int N, class Read>
    __device__ __forceinline__ void add(int part, const Read &read)
    {
        batch_range<double> range;
        double p[N], rest[kWide ? N : 1], a, b;
#pragma unroll
        for (int j = 0; j < N; j++) {
            read(j, &a, &b);
            p[j] = a * b;
        }
        range.template find<!kWide>(p);
        const bool large = !range.finite() || range.exponent() > kMost;
        if (large) { // rarely
            set_apart<N>(part, read, p);
            range.template find<!kWide>(p);
        }
        bool tiny = false; // no product, but less than what keeps its rest
        if constexpr (kWide) {
            tiny = range.least < (uint32_t)(1023 - kMost) << 21;
#pragma unroll
            for (int j = 0; j < N; j++) {
                read(j, &a, &b);
                rest[j] = large && p[j] == 0 ? 0 : __fma_rn(a, b, -p[j]);
                tiny |= p[j] == 0 && a != 0 && b != 0;
            }
        }
        if (range.magnitude == 0 && !tiny) return;
        const int e = range.exponent() > kLeast ? range.exponent() : kLeast;
        cut_sum high(e + 1);
#pragma unroll
        for (int j = 0; j < N; j++) high.add(p[j]);
        high.template put_to<0>(&sum[part], e + 1);
        if constexpr (kWide) {
            cut_sum low(e - 52);
#pragma unroll
            for (int j = 0; j < N; j++) low.add(rest[j]);
            low.template put_to<1>(&sum[part], e - 52);
        }
        if (!range.within(46) || tiny) sum[part].lost += wk_power_of_two(e - 88);
    }
    // Infinities, NaN, and what is too large; no product of two numbers of few digits is.
    template <int N, class Read>
    __device__ __forceinline__ void set_apart(int part, const Read &read, double (&p)[N])
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (fabs(p[j]) < wk_power_of_two(kMost - 5)) continue;
            double a, b;
            read(j, &a, &b);
            const bool numbers = kWide && a - a == 0 && b - b == 0;
            flags |= numbers ? (int)WK_TOO_LARGE : note(part, wk_odd_flag(p[j]));
            p[j] = 0;
        }
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)(uint32_t)flags;
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].save(words + 1 + p * (kS + 1));
    }
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        flags |= (int)(uint32_t)words[0];
#pragma unroll
        for (int p = 0; p < kParts; p++) sum[p].merge(words + 1 + p * (kS + 1));
    }
    __device__ __forceinline__ bool finish(const reduce_task &task, int64_t output) const
    {
        bool known = true;
#pragma unroll
        for (int p = 0; p < kParts; p++) {
            const int own = (p ? flags >> WK_PART_SHIFT : flags) | (flags & WK_TOO_LARGE);
            known &= finish_plain<kDtype>(pair_of(sum[p]), own | WK_NOT_MINUS_ZERO, task,
                                          population(task), kParts * output + p);
        }
        if (known) return true;
        float_outcome o;
#pragma unroll
        for (int p = 0; p < kParts; p++) o.sum[p] = pair_of(sum[p]);
        o.n = task.n;
        o.nonzeros = 0;
        o.flags = flags | WK_NOT_MINUS_ZERO | WK_NOT_MINUS_ZERO << WK_PART_SHIFT;
        return finish_floats(o, task, output);
    }
};

// Of integers modulo 2^64, of bool how many products are true.
template <typename E>
struct word_dots {
    using T = E;
    static constexpr bool kPairs = true, kCertain = true;
    static constexpr int kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kWords = 1;
    uint64_t total;

    static __device__ T filler(const reduce_task &)
    {
        return 0;
    }
    __device__ void start(const reduce_task &)
    {
        total = 0;
    }
    __device__ void settle(const reduce_task &) {}
    template <int N>
    __device__ __forceinline__ void take(const T (&x)[N], const T (&y)[N],
                                         const reduce_task &task)
    {
        using W = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>; // modulo its size
#pragma unroll
        for (int j = 0; j < N; j++)
            total += task.truth ? (uint64_t)(x[j] && y[j]) : (uint64_t)((W)x[j] * (W)y[j]);
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = total;
    }
    __device__ void merge(const uint64_t *words)
    {
        total += words[0];
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        store(task.out[0], task.out_dtype[0], output, total);
        return true;
    }
};

} // namespace wk
