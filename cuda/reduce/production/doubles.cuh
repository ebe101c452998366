// doubles.cuh -- sums in a few doubles and a bound: what a thread keeps of the floats it has seen.
//
// A number is added to the first double, what that rounds off to the second, and so on (Knuth's
// two-sum); what is left behind the last is lost, and enlarges the bound. Where nothing was lost the sum
// is exact; else it is proved when a result is rounded that what was lost cannot have changed it
// (results.cuh).
//
// Sources   D. Knuth, TAOCP 2, 4.2.2; T. J. Dekker, "A floating-point technique for extending the
//           available precision" (1971); J. Demmel, H. D. Nguyen, "Parallel Reproducible Summation"
//           (2015) for the bias.
#pragma once
#include "num/exact.h"
#include "runtime/cuda.cuh"

namespace wk
{

// Over two to this no square of a float64 is too large.
constexpr int kLargeShift = 600;

// a + b = sum + rest, exactly. Source: D. Knuth.
__device__ __forceinline__ double
two_sum(double a, double b, double *rest)
{
    const double sum = a + b, back = sum - a;
    *rest = (a - (sum - back)) + (b - back);
    return sum;
}

__device__ __forceinline__ float
fma_rn(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

__device__ __forceinline__ double
fma_rn(double a, double b, double c)
{
    return __fma_rn(a, b, c);
}

// K doubles, each far below the one before it; what they are off, at most.
template <int K>
struct few {
    static constexpr int kWords = K + 1;
    double s[K], lost;

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = 0;
        lost = 0;
    }
    __device__ __forceinline__ bool has_some() const
    {
        uint64_t bits = 0;
#pragma unroll
        for (int k = 0; k < K; k++) bits |= wk_bits_f64(s[k]);
        return bits != 0;
    }
    // Adds x to the double with number `first`, and what is rounded off to those behind.
    template <int first = 0>
    __device__ __forceinline__ void put(double x)
    {
#pragma unroll
        for (int k = first; k < K; k++) s[k] = two_sum(s[k], x, &x);
        lost += fabs(x);
    }
    // Another's doubles to these, side by side, and what each rounds off to the next: K additions behind each other.
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        double x[K];
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = two_sum(s[k], wk_from_bits_f64(words[k]), &x[k]);
#pragma unroll
        for (int done = 1; done < K; done++) {
            lost += fabs(x[K - 1]);
#pragma unroll
            for (int k = K - 1; k >= done; k--) s[k] = two_sum(s[k], x[k - 1], &x[k]);
        }
        lost += fabs(x[K - 1]) + wk_from_bits_f64(words[K]);
    }
    // Over 2^kLargeShift; what is far below is lost.
    __device__ __forceinline__ void scale()
    {
        const double over = wk_power_of_two(-kLargeShift);
#pragma unroll
        for (int k = 0; k < K; k++) {
            s[k] *= over;
            if (fabs(s[k]) < 0x1p-900) s[k] = 0;
        }
        lost = lost * over + K * 0x1p-900;
    }
    __device__ __forceinline__ void load(const uint64_t *words)
    {
#pragma unroll
        for (int k = 0; k < K; k++) s[k] = wk_from_bits_f64(words[k]);
        lost = wk_from_bits_f64(words[K]);
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
#pragma unroll
        for (int k = 0; k < K; k++) words[k] = wk_bits_f64(s[k]);
        words[K] = wk_bits_f64(lost);
    }
};

// The sum of numbers that together are below 2^e, in two parts: multiples of a unit, of which none is
// rounded, and what lies below it: less than 2^(e - 50) of each number.
struct cut_sum {
    double upper = 0, lower = 0;

    cut_sum() = default;
    __device__ __forceinline__ explicit cut_sum(int e) : upper(bias(e)) {}
    static __device__ __forceinline__ double bias(int e)
    {
        return 1.5 * wk_power_of_two(e + 1);
    }
    __device__ __forceinline__ void add(double x)
    {
        const double next = upper + x;
        lower += x - (next - upper);
        upper = next;
    }
    __device__ __forceinline__ void add_square(double x)
    {
        const double next = __fma_rn(x, x, upper);
        lower += __fma_rn(x, x, upper - next);
        upper = next;
    }
    // What was cut at another bias.
    __device__ __forceinline__ void add_cut(const cut_sum &other, int e)
    {
        add(other.upper - bias(e));
        lower += other.lower;
    }
    // To the doubles from number `first` on.
    template <int first = 0, int K>
    __device__ __forceinline__ void put_to(few<K> *sum, int e) const
    {
        constexpr int kNext = first + 1 < K ? first + 1 : K - 1;
        sum->template put<first>(upper - bias(e));
        sum->template put<kNext>(lower);
    }
};

// Batches of up to 16 float64, cut at a bias that stays for 7 of them: of each the magnitudes together are below 2^top.
// Then they go to a thread's doubles together. What is cut off is a multiple of the least element's last digit, and below
// 2^(top + room - 51). Of these there are less than N = 2^(room + 4): their sum is exact if N of them have 53 digits,
// else each addition rounds it, by 2^-53 of it. Squares likewise, of twice the binades; the rest of a square is below
// 2^-53 of it, and has a bias of its own. room is 3, or 0: each batch goes to the doubles, which then are exact more
// often. kMany: it may be 3.
template <bool kSum, bool kSquares, bool kMany>
struct batches {
    // Binades: above them squares overflow, below they lose bits.
    static constexpr int kMostSquare = 430;
    int top, left;
    uint32_t least; // the least element's key (floats.cuh)
    cut_sum all, high, low;

    // All squares together are below two to it.
    __device__ __forceinline__ int exponent_of_squares(int room) const
    {
        const int e = 2 * top + room;
        return e > -2 * kMostSquare ? e : -2 * kMostSquare;
    }
    __device__ __forceinline__ void open(int e, int room)
    {
        top = e;
        if constexpr (kSum) all = cut_sum(top + room + 1);
        if constexpr (kSquares) high = cut_sum(exponent_of_squares(room) + 1);
        if constexpr (kSquares) low = cut_sum(exponent_of_squares(room) - 52);
    }
    // What has been cut, at a larger bias.
    __device__ __forceinline__ void widen(int e, int room)
    {
        const batches old = *this;
        open(e, room);
        if constexpr (kSum) all.add_cut(old.all, old.top + room + 1);
        if constexpr (kSquares) high.add_cut(old.high, old.exponent_of_squares(room) + 1);
        if constexpr (kSquares) low.add_cut(old.low, old.exponent_of_squares(room) - 52);
    }
    // For one whose magnitudes together are below 2^e.
    __device__ __forceinline__ void prepare(int e, uint32_t key, int room)
    {
        if (!kMany || left == 0) {
            left = room ? 7 : 1;
            least = UINT32_MAX;
            open(room ? e + 1 : e, room);
        } else if (e > top) {
            widen(e + 1, room); // 7 times at most: 7 * (16 + 2) < N
        }
        least = key < least ? key : least;
        left--;
    }
    __device__ __forceinline__ bool full() const
    {
        return left == 0;
    }
    __device__ __forceinline__ void add_square(double x)
    {
        const double square = x * x;
        high.add(square);
        low.add(__fma_rn(x, x, -square));
    }
    // To the doubles; kFirst: these have nothing yet.
    template <bool kFirst, int K>
    __device__ __forceinline__ void put_sum(few<K> *sum, int room) const
    {
        const int e = top + room + 1, lost = top + 3 * room - 96;
        if constexpr (kFirst)
            sum->s[0] = two_sum(all.upper - all.bias(e), all.lower, &sum->s[1]);
        else
            all.put_to(sum, e);
        if (last() < top + 2 * room - 48)
            sum->lost += wk_power_of_two(lost > -990 ? lost : -990);
    }
    template <bool kFirst, int K>
    __device__ __forceinline__ void put_squares(few<K> *squares, int room) const
    {
        const int e = exponent_of_squares(room);
        if constexpr (kFirst) {
            double rest;
            squares->s[0] = two_sum(high.upper - high.bias(e + 1), high.lower, &rest);
            squares->s[1] = two_sum(low.upper - low.bias(e - 52), rest, &rest);
            squares->s[2] = two_sum(low.lower, rest, &squares->s[3]);
        } else {
            high.template put_to<0>(squares, e + 1);
            low.template put_to<1>(squares, e - 52);
        }
        if (last() < top + room - 24 || last() < -kMostSquare)
            squares->lost += wk_power_of_two(e + 2 * room - 95);
    }
    // The least element's exponent.
    __device__ __forceinline__ int last() const
    {
        return (int)(least >> 21) - 1023;
    }
    template <bool kFirst, int S, int Q>
    __device__ __forceinline__ void put(few<S> *sum, few<Q> *squares, int room) const
    {
        if constexpr (kSum) put_sum<kFirst>(sum, room);
        if constexpr (kSquares) put_squares<kFirst>(squares, room);
    }
    // What is left, to the doubles.
    template <int S, int Q>
    __device__ __forceinline__ void close(few<S> *sum, few<Q> *squares, int room)
    {
        if (left == 0) return;
        left = 0;
        if ((kSum && sum->has_some()) || (kSquares && squares->has_some()))
            put<false>(sum, squares, room);
        else
            put<true>(sum, squares, room);
    }
};

// The neighbour of x with an odd last bit on the side of rest, if that is not zero: what it is
// rounded to in fewer digits is what x + rest is rounded to.
__device__ __forceinline__ double
round_to_odd(double x, double rest)
{
    const uint64_t b = wk_bits_f64(x);
    if (rest == 0 || (b & 1)) return x;
    return wk_from_bits_f64((rest > 0) == (x > 0) ? b + 1 : b - 1);
}

} // namespace wk
