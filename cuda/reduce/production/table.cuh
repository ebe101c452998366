// table.cuh -- what many threads have of an output of floats, in one table of words; and the exact way
// of what no doubles can tell.
//
// A block has the table in shared memory. What threads hold in doubles is cut into digits of 24 bits,
// added by the warp's integer adder, and then to the table's limbs: limb i, of 64 bits, weighs
// 2^(24 i + base). Tables of parts, pieces and GPUs are added word by word, in any order. Of limbs of
// which nothing was lost, integers give every result (num/exact.h); elements of any exponents come into
// limbs the same way, one by one.
//
// Source  R. Neal, "Fast exact summation using small and large superaccumulators" (2015), for limbs.
#pragma once
#include "reduce/production/floats.cuh"

namespace wk
{

constexpr int kDigit = 24;  // bits; 32 lanes' of them, from four doubles each, fit an int32
constexpr int kStreams = 3; // sums of real and of imaginary parts, and of squares

// How many digits hold what a warp has, but rarely.
template <int K>
constexpr int digits_for = K <= 2 ? 5 : 7;
constexpr int kMostDigits = 7;

// What a block's warps tell its first one of a stream: the upper halves of their largest doubles, and
// digits below the largest of all; and of the rest.
struct stream_record {
    uint32_t most[kWarps];
    int sum[kMostDigits + 1][kWarps];
};

struct rest_record {
    uint32_t lost[kStreams][kWarps]; // upper halves of bounds
    int flags[kWarps], count[kWarps];
    uint64_t least[kWarps], most[kWarps], nonzeros[kWarps];
};

template <class Acc>
struct table_memory {
    unsigned long long word[Acc::shape().words()];
    int some; // of its limbs are not zero
    union {
        struct {
            stream_record streams[kStreams];
            rest_record rest;
        };
        int64_t work[Acc::shape().work()]; // limbs of 32 bits: num/exact.h
    };
};

// A word of a table to the same of another, which others add to as well; kShared: the block's, in shared memory. Of the
// others nvcc is told that they are in global memory: else each atomic asks where it is, and has a loop for shared memory.
// H200, what a block adds to the words that parts share: 890 cycles, and so 750.
template <bool kShared = false>
__device__ __forceinline__ void
add_word(table_shape shape, unsigned long long *to, int w, unsigned long long value)
{
    if (value == 0) return;
    if (!kShared) __builtin_assume(__isGlobal(to));
    if (w == kFlags)
        atomicOr(to + w, value);
    else if (w == kLostSum || w == kLostSquares || (w >= shape.ends_at() && w < shape.all_at()))
        atomicMax(to + w, value);
    else
        atomicAdd(to + w, value);
}

// ---- doubles to digits ------------------------------------------------------------------------

// The upper half of the largest of a thread's doubles; by cancellation the first may be less than the
// others. Zero: there is nothing, or less than 2^-1042, which is as much as that where something is.
template <int K>
__device__ __forceinline__ uint32_t
largest_of(const double (&x)[K])
{
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < K; i++) {
        const uint64_t b = wk_bits_f64(x[i]);
        const uint32_t size = (uint32_t)(b >> 32) & 0x7fffffff;
        most = size > most ? size : most;
        most |= (uint32_t)b != 0;
    }
    return most;
}

// The limb of the first digit below numbers of which the largest has this upper half.
__device__ __forceinline__ int
top_of(uint32_t most, int base)
{
    const int e = (int)(most >> 20) - 1023;
    return ((e < -1022 ? -1022 : e) + 1 - base) / kDigit;
}

// Cuts up to L digits of all lanes' doubles from limb `top` down, while there are some; lane k gets the sum of the
// k-th. Is anything left? A loop: what runs once is fetched instruction by instruction.
template <int L, int K>
__device__ __forceinline__ bool
cut_digits(double (&x)[K], int top, int base, int *own)
{
    const int lane = threadIdx.x % kWarp;
    int unit = kDigit * top + base;
    bool some = true;
    *own = 0;
#pragma unroll 1
    for (int k = 0; k < L && some; k++, unit -= kDigit) {
        // 1.5 * 2^(unit + 52). Below the least limb there is nothing left; a bias there only must be a number.
        const int exponent = unit > -1074 ? unit + 52 + 1023 : 1;
        const double bias = wk_from_bits_f64(((uint64_t)exponent << 1 | 1) << 51);
        uint64_t left = 0;
        int digit = 0;
#pragma unroll
        for (int i = 0; i < K; i++) {
            const double t = x[i] + bias;
            digit += (int)(uint32_t)wk_bits_f64(t);
            x[i] -= t - bias;
            left |= wk_bits_f64(x[i]);
        }
        digit = __reduce_add_sync(kAllLanes, digit);
        some = __any_sync(kAllLanes, left != 0);
        *own = lane == k ? digit : *own;
    }
    return some;
}

// All digits of a warp's doubles to limbs that others add to as well. False: there were none.
template <int K>
__device__ __forceinline__ bool
add_digits(double (&x)[K], int base, unsigned long long *limb)
{
    const int lane = threadIdx.x % kWarp;
    bool some = false;
#pragma unroll 1
    for (;; some = true) {
        const uint32_t most = __reduce_max_sync(kAllLanes, largest_of(x));
        if (most == 0) return some;
        const int top = top_of(most, base);
        int own;
        cut_digits<digits_for<K>>(x, top, base, &own);
        if (own != 0) atomicAdd(limb + top - lane, (unsigned long long)(int64_t)own);
    }
}

// Words begin .. end - 1 of a table to another that others add to as well, by a warp; table.cu.
__device__ void add_words(table_shape shape, unsigned long long *to,
                          const unsigned long long *from, int begin, int end);

// A bound, from the upper half of it, rounded up.
__device__ __forceinline__ uint32_t
upper_bound_of(double lost)
{
    return (uint32_t)(wk_bits_f64(lost) >> 32) + (lost != 0);
}

__device__ __forceinline__ double
bound_of(uint32_t upper)
{
    return wk_from_bits_f64((uint64_t)upper << 32);
}

// A word that tells a bound, of which the upper half times 2^shift is at least as much; doubles need not
// hold it. Of two words the larger one tells the larger bound.
constexpr int kLeastShift = 4096;

__device__ __forceinline__ unsigned long long
word_of_bound(uint32_t upper, int shift)
{
    return upper + ((unsigned long long)(shift + kLeastShift) << 20);
}

// It, over 2^shift.
__device__ __forceinline__ double
bound_of_word(unsigned long long word, int shift)
{
    if (word == 0) return 0;
    const int64_t upper = (int64_t)word - ((int64_t)(shift + kLeastShift) << 20);
    return upper < 1 << 20      ? 0x1p-1022
           : upper < 0x7ff00000 ? bound_of((uint32_t)upper)
                                : INFINITY;
}

// Counts and extremes of a warp's lanes, in its first.
template <class Acc>
__device__ __forceinline__ void
join_rest(Acc &acc)
{
    if constexpr (Acc::shape().all) {
#pragma unroll 1
        for (int half = kWarp / 2; half > 0; half /= 2) {
            acc.nonzeros += __shfl_down_sync(kAllLanes, acc.nonzeros, half);
            if constexpr (Acc::kEnds) {
                uint64_t words[2];
                acc.ends.save(words);
                for (int w = 0; w < 2; w++)
                    words[w] = __shfl_down_sync(kAllLanes, words[w], half);
                acc.ends.merge(words);
            }
        }
    }
}

// A warp's digits of stream s, below the largest of all its block's; what is left goes to the limbs. The first one's limb.
template <class Acc, int K>
__device__ __forceinline__ int
cut_stream(few<K> &all, int s, int base, unsigned long long *limb, table_memory<Acc> *memory)
{
    const int lane = threadIdx.x % kWarp;
    stream_record *record = &memory->streams[s];
    const int top = top_of(__reduce_max_sync(kAllLanes, record->most[lane % kWarps]), base);
    int own;
    const bool some = cut_digits<digits_for<K>>(all.s, top, base, &own);
    if (lane <= kMostDigits) record->sum[lane][threadIdx.x / kWarp] = own;
    if (some) { // rarely
        add_digits(all.s, base, limb);
        if (lane == 0) atomicOr(&memory->some, 1);
    }
    return top;
}

// The block's digits of a stream, by its first warp, to limbs: of the block's table, or of the words that parts share.
// No function for all kernels, nor pair_of_limbs: calls take .3 to .8 us of 5 to 14 (H200, sums and variances of 16 KiB
// to 8 MiB).
__device__ __forceinline__ void
leave_stream(const stream_record &record, int top, unsigned long long *limb, bool shared)
{
    const int lane = threadIdx.x % kWarp;
    int64_t own = 0;
    if (lane <= kMostDigits)
#pragma unroll
        for (int w = 0; w < kWarps; w++) own += record.sum[lane][w];
    if (own == 0) return;
    if (shared) {
        __builtin_assume(__isGlobal(limb));
        atomicAdd(limb + top - lane, (unsigned long long)own);
    } else {
        limb[top - lane] += (unsigned long long)own;
    }
}

// What the block's threads hold: what its warps tell each other before they cut digits. A barrier must follow.
template <class Acc>
__device__ __forceinline__ void
tell_table(Acc &acc, table_memory<Acc> *memory)
{
    const int warp = threadIdx.x / kWarp;
    uint32_t most[kStreams], lost[kStreams];
    const auto tell = [&](const auto &all, int s) {
        most[s] = __reduce_max_sync(kAllLanes, largest_of(all.s));
        lost[s] = __reduce_max_sync(kAllLanes, upper_bound_of(all.lost));
    };
    if constexpr (Acc::kHasSum)
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++) tell(acc.sum[p], p);
    if constexpr (Acc::kHasSquares) tell(acc.squares, 2);
    const unsigned flags = __reduce_or_sync(kAllLanes, (unsigned)acc.flags);
    const int count = __reduce_add_sync(kAllLanes, acc.count);
    if (threadIdx.x % kWarp > 0) return;
#pragma unroll
    for (int s = 0; s < kStreams; s++) {
        const bool has = s < 2 ? Acc::kHasSum && s < Acc::kPieces : Acc::kHasSquares;
        if (!has) continue;
        memory->streams[s].most[warp] = most[s];
        memory->rest.lost[s][warp] = lost[s];
    }
    memory->rest.flags[warp] = (int)flags & ~WK_SCALED;
    memory->rest.count[warp] = count;
}

// Then all of it, to the block's table, which was cleared, or to the words that parts share. The first warp has added
// it all then. All threads' sums are scaled, or none.
template <class Acc>
__device__ __forceinline__ void
add_to_table(Acc &acc, table_memory<Acc> *memory, unsigned long long *shared)
{
    constexpr table_shape kShape = Acc::shape();
    static_assert(kLargeShift % kDigit == 0, "a limb begins there");
    const int shift = acc.is_scaled() ? kLargeShift : 0;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    unsigned long long *word = memory->word, *to = shared ? shared : word;
    rest_record *rest = &memory->rest;
    int top[kStreams];
    join_rest(acc);
    if constexpr (kShape.all) {
        if (lane == 0) {
            rest->nonzeros[warp] = (uint64_t)acc.nonzeros;
            if constexpr (Acc::kEnds) {
                uint64_t words[2];
                acc.ends.save_rising(words);
                rest->least[warp] = words[0];
                rest->most[warp] = words[1];
            }
        }
    }
    if constexpr (Acc::kHasSum)
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            top[p] = cut_stream(acc.sum[p], p, kShape.sum_base - shift, word + kShape.sum_at(p),
                                memory);
    if constexpr (Acc::kHasSquares)
        top[2] = cut_stream(acc.squares, 2, kShape.square_base() - 2 * shift,
                            word + kShape.square_at(), memory);
    __syncthreads(); // all digits are there
    if (warp > 0) return;
    // Side by side, and before all else: each takes the warp's adder a while. Real and imaginary parts have one bound.
    const int whose = lane % kWarps; // records
    const unsigned flags = __reduce_or_sync(kAllLanes, (unsigned)rest->flags[whose]);
    const int count = __reduce_add_sync(kAllLanes, lane < kWarps ? rest->count[lane] : 0);
    uint32_t lost_sum = 0, lost_squares = 0;
    if constexpr (Acc::kHasSum) {
        lost_sum = rest->lost[0][whose];
        if (Acc::kPieces > 1 && rest->lost[1][whose] > lost_sum)
            lost_sum = rest->lost[1][whose];
        lost_sum = __reduce_max_sync(kAllLanes, lost_sum);
    }
    if constexpr (Acc::kHasSquares)
        lost_squares = __reduce_max_sync(kAllLanes, rest->lost[2][whose]);
    if constexpr (Acc::kHasSum)
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            leave_stream(memory->streams[p], top[p], to + kShape.sum_at(p), shared != nullptr);
    if constexpr (Acc::kHasSquares)
        leave_stream(memory->streams[2], top[2], to + kShape.square_at(), shared != nullptr);
    if (memory->some && shared) // digits below the others
        add_words(kShape, shared, word, kLimb, kShape.ends_at());
    if (lane == 0) {
        const auto leave = [&](int w, unsigned long long value) {
            if (shared)
                add_word(kShape, shared, w, value);
            else
                word[w] = value;
        };
        leave(kFlags, flags);
        leave(kCount, (unsigned)count);
        // Of all threads.
        if (lost_sum) leave(kLostSum, word_of_bound(lost_sum, shift + log2_of(kThreads)));
        if (lost_squares)
            leave(kLostSquares, word_of_bound(lost_squares, 2 * shift + log2_of(kThreads)));
    }
    if constexpr (kShape.all) {
        const auto add = [&](int w, unsigned long long value) {
            if (shared)
                add_word(kShape, shared, w, value);
            else
                add_word<true>(kShape, word, w, value);
        };
        if (lane < kWarps) {
            add(kShape.all_at(), rest->nonzeros[lane]);
            if constexpr (kShape.ends) {
                add(kShape.ends_at(), rest->least[lane]);
                add(kShape.ends_at() + 1, rest->most[lane]);
            }
        }
    }
    __syncwarp(); // the table is whole
}

// ---- limbs to doubles -------------------------------------------------------------------------

// The uppermost of limbs that is not zero, by a warp; -1: there is none.
__device__ __forceinline__ int
top_limb(const unsigned long long *limb, int count)
{
    int first = (count - 1) / kWarp * kWarp;
#pragma unroll 1
    for (; first >= 0; first -= kWarp) {
        const int i = first + threadIdx.x % kWarp;
        const unsigned some = __ballot_sync(kAllLanes, i < count && limb[i] != 0);
        if (some != 0) return first + 31 - __clz((int)some);
    }
    return -1;
}

// The uppermost N limbs as doubles, by a warp; all lanes get them. False: integers tell. Below them a bound
// tells: *lost grows.
template <int N>
__device__ __forceinline__ bool
upper_limbs(const unsigned long long *limb, int top, int base, double (&y)[N], double *lost)
{
    const int lane = threadIdx.x % kWarp;
    const int own = top - lane, e = kDigit * top + base;
    const int64_t v = own >= 0 ? (int64_t)limb[own] : 0;
    bool below = lane >= N && v != 0;
#pragma unroll 1
    for (int i = own - kWarp; i >= 0; i -= kWarp) below |= limb[i] != 0;
    constexpr int64_t kMost = (int64_t)1 << 53;
    if (__any_sync(kAllLanes, v > kMost || v < -kMost) || e > 900 || e < -800) return false;
    const double x = lane < N ? (double)v * wk_power_of_two(e - kDigit * lane) : 0;
#pragma unroll
    for (int k = 0; k < N; k++) y[k] = __shfl_sync(kAllLanes, x, k);
    if (__any_sync(kAllLanes, below)) // less than 2^54 units of the first
        *lost += wk_power_of_two(e - kDigit * N + 54);
    return true;
}

// A sum in limbs as a pair, by a warp; all lanes get it. The uppermost limbs are added up as doubles: of six, of 144
// bits, or of four where few digits are asked for. The last warp of all runs this once, and waits for each instruction
// to be fetched: the fewer, the better.
template <int kUpper = 6>
__device__ __forceinline__ double_pair
pair_of_limbs(const unsigned long long *limb, int count, int base, double lost)
{
    const int top = top_limb(limb, count);
    double y[kUpper], left, more;
    if (top < 0) return {0, 0, lost};
    if (!upper_limbs(limb, top, base, y, &lost)) return {0, 0, INFINITY};
    double_pair p;
    p.high = two_sum(y[0], y[1], &p.low);
    p.low = two_sum(p.low, y[2], &left);
    p.lost = lost + 2 * fabs(left);
#pragma unroll
    for (int k = 3; k < kUpper; k++) {
        p.low = two_sum(p.low, y[k], &more);
        p.lost += 2 * fabs(more);
    }
    p.high = two_sum(p.high, p.low, &p.low);
    return p;
}

// ---- once more: table.cu ------------------------------------------------------------------------

// The output's results of a table's words, by one warp; `again`: those that are no sums are stored.
// False, for all: too much was lost.
__device__ bool finish_words(unsigned long long *word, int64_t *work, table_shape shape,
                             const reduce_task &task, int64_t output, bool again);

// The tiles of an output that a warp of a line has, once more: to the table, or, of float64, to each
// thread's sums over 2^kLargeShift. Their flags (lines.cuh).
__device__ int add_tiles_again(const void *in, const reduce_task &task, int64_t output,
                               int64_t tile, int64_t step, table_shape shape,
                               unsigned long long *word, scaled_sums *sums);

// An element, or a part of a complex one.
__device__ double part_of_element(const void *elements, int dtype, int64_t at, int part);

// Does the element of an output count?
__device__ bool counts_there(const void *in, const reduce_task &task, const uint8_t *mask,
                             const spot &s);

// A thread's doubles to limbs that others add to as well.
__device__ void add_own_doubles(const double *x, int count, int base, unsigned long long *limb);

// The elements begin .. end - 1 of an output, to the table, by the whole block; barriers must have gone
// before, and must follow.
__device__ void add_output_exactly(const void *in, const reduce_task &task, int64_t output,
                                   int64_t begin, int64_t end, table_shape shape,
                                   unsigned long long *word);

// An output once more, by integers, by the whole block. A barrier must have gone before.
__device__ void finish_exactly(const void *in, const reduce_task &task, int64_t output,
                               table_shape shape, unsigned long long *word, int64_t *work);

// A column, or the block's part of it, by integers, by the whole block.
__device__ void column_exactly(const void *in, const reduce_task &task, int64_t output,
                               int64_t begin, int64_t end, table_shape shape,
                               unsigned long long *word, int64_t *work);

template <class Acc>
__device__ __forceinline__ void
clear_table(table_memory<Acc> *memory)
{
#pragma unroll 1
    for (int w = threadIdx.x; w < Acc::shape().words(); w += kThreads) memory->word[w] = 0;
    if (threadIdx.x == 0) memory->some = 0;
}

// ---- over a power of two: scaled.cu -----------------------------------------------------------------

// Elements of an output: batches of up to kScaledBatch, the first begin, begin + step .., the others `hop`
// further on each; all before end.
constexpr int kScaledBatch = 8;
struct series {
    int64_t begin, end, step, hop;
    int batch;
};

// Those of a float64 output, by a thread, over 2^kLargeShift, to its sums.
__device__ void add_scaled(const void *in, const reduce_task &task, const spot &first,
                           const series &own, table_shape shape, scaled_sums *sums);

// Those of outputs first, first + step .., `lanes` bits each, of which a warp has marked some, once more by
// this warp, each over the power of two that its largest element has. The marks of those that take integers.
__device__ uint32_t finish_scaled(const void *in, const reduce_task &task, uint32_t marks,
                                  int64_t first, int lanes, int step, table_shape shape);

// One of a warp's marks of its own, which all lanes read before the first one writes it again.
__device__ __forceinline__ void
finish_mark(const void *in, const reduce_task &task, uint32_t *mark, int64_t first, int lanes,
            int step, table_shape shape)
{
    const uint32_t marks = *mark;
    if (marks == 0) return;
    const uint32_t left = finish_scaled(in, task, marks, first, lanes, step, shape);
    __syncwarp(); // all have read it
    if (threadIdx.x % kWarp == 0) *mark = left;
}

// The outputs of a block's items that its warps have marked, by these warps where they are wide, and what these do
// not tell by the whole block: `height` words of each item, of an output for `lanes` bits.
__device__ void finish_marked(const void *in, const reduce_task &task, uint32_t (*marks)[kWarp],
                              int words, int lanes, int height, table_shape shape, bool wide,
                              unsigned long long *word, int64_t *work);

// The states of all pieces, or of another GPU: added to this one's, or finished.
__global__ void merge_tables(const reduce_task __grid_constant__ task, table_shape shape,
                             uint64_t *state, const uint64_t *other);

} // namespace wk
