// plain.cuh -- sums of short rows of float16, bfloat16 and float32: one double, and whether it is
// exact.
//
// A sum in double is exact, in any order, while all partial sums are multiples of the least unit and
// below 2^53 of it. That is known at the end, from the sum of the magnitudes and the least of the
// elements. A row of a few thousand elements nearly always passes; one that does not is folded again
// with bins. Nothing is set up or moved, joining is adding, and few registers are taken: what
// counts where a row is read in less time than bins take to join.
#pragma once
#include "reduce/summary.cuh"

namespace wk
{

template <typename E>
struct plain_sum {
    using T = E;
    using Wide = float_summary<E, true, false, false, true>;
    static constexpr bool kPacked = false, kRepeats = false, kPads = false, kQuick = false,
                          kColumns = true;
    static constexpr bool kAlways = std::is_same_v<E, half16>; // up to kMost elements
    static constexpr int kBatch = 16, kWords = 3, kLimbs = Wide::kLimbs, kBlocks = 4;
    static constexpr int64_t kMost = is_half<E> ? 8192 : 4096;
    static constexpr uint32_t kSpan = std::is_same_v<E, brain16> ? 44 : 28; // 53 - digits - 1
    int64_t count;
    double sum;
    float magnitude;
    uint32_t least; // of the elements but zeros, twice their bits less one

    static __device__ T filler(const reduce_task &task)
    {
        return Wide::filler(task);
    }
    __device__ void start(const reduce_task &task)
    {
        count = 0;
        sum = -0.0;
        magnitude = task.integers_only ? INFINITY : 0;
        least = UINT32_MAX;
    }
    __device__ void hope()
    {
        magnitude = 0;
    }
    __device__ void tally(int elements)
    {
        count += elements;
    }
    __device__ bool failed() const
    {
        if (!(sum - sum == 0) || !(magnitude < INFINITY)) return true;
        return !kAlways && !(wk_bits_f32(magnitude) <= (least >> 1) + (kSpan << 23));
    }
    __device__ bool hopeless() const
    {
        return false;
    }
    __device__ bool needs_limbs() const
    {
        return false;
    }
    template <int N>
    __device__ void add(const T (&elements)[N], uint32_t, const place &, const reduce_task &)
    {
        double other = -0.0;
        float more = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            const float x = value_of(elements[j]);
            (j % 2 ? other : sum) += (double)x;
            if constexpr (!kAlways) {
                const uint32_t key = wk_bits_f32(x) * 2u - 1u; // zero: the largest
                (j % 2 ? more : magnitude) += size_of(x);
                least = key < least ? key : least;
            }
        }
        sum += other;
        magnitude += more;
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = wk_bits_f64(sum);
        words[2] = (uint64_t)least << 32 | wk_bits_f32(magnitude);
    }
    __device__ void merge(const uint64_t *words)
    {
        const uint32_t other = (uint32_t)(words[2] >> 32);
        count += (int64_t)words[0];
        sum += wk_from_bits_f64(words[1]);
        magnitude += wk_from_bits_f32((uint32_t)words[2]);
        least = other < least ? other : least;
    }
    __device__ void join_lanes(int lanes)
    {
        join_by_words(*this, lanes);
    }
    __device__ int flags() const // a sum is -0.0 only if all elements are
    {
        return (wk_bits_f64(sum) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO) |
               (failed() ? kFailed : 0);
    }
    // As a record of the many bins.
    __device__ void save_wide(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = (uint64_t)flags();
        words[2] = wk_bits_f64(sum);
        for (int w = 3; w < Wide::kWords; w++) words[w] = 0;
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        if (failed() || task.has_initial) return false;
        const sums_in_pairs pair = {sum, 0, 0, 0};
        for (int i = 0; i < task.folds; i++) {
            const int dtype = task.out_dtype[i];
            double x;
            if (!sum_or_mean(pair, flags(), task.fold[i], count, real_of(dtype), &x))
                return false;
            store(task.out[i], dtype, output, x);
        }
        return true;
    }
};

} // namespace wk
