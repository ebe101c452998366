// table.cuh -- what many threads have of an output, in one table of words (floats.cuh).
//
// A block has the table in shared memory. What threads hold in doubles is cut into digits of 24 bits,
// added by the warp's integer adder, and then to the table's limbs; tables of parts, pieces and GPUs
// are added word by word. From limbs comes the result: by a pair of doubles where that tells how it is
// rounded (finish.cuh), else by integers (exact.h).
//
// Source  R. Neal, "Fast exact summation using small and large superaccumulators" (2015), for limbs.
#pragma once
#include "reduce/floats.cuh"

namespace wk
{

constexpr int kDigit = 24; // bits; 32 lanes' of them, from four doubles each, fit an int32

template <class Acc>
struct table_memory {
    static constexpr int kLanes = Acc::kLimbs > 200 ? kWarp / 2 : kWarp; // columns
    // Elements of a lane until columns are flushed: 128 digits of 24 bits fit a counter.
    static constexpr int kTurn =
        128 / kWarps * kLanes / kWarp / (Acc::kHasSquares ? Acc::kPieces : 1);
    static constexpr int kWork = (Acc::kHasSum ? Acc::kPieces * WK_SUM_LIMBS : 0) +
                                 (Acc::kHasSquares ? WK_VARIANCE_LIMBS : 0);
    unsigned long long word[Acc::kTable];
    union {
        int column[Acc::kLimbs][kLanes];
        int64_t work[kWork]; // limbs of 32 bits: exact.h
    };
};

// All words and columns zero; a barrier must follow.
template <class Acc>
__device__ __forceinline__ void
clear_table(table_memory<Acc> *memory, bool columns)
{
#pragma unroll 1
    for (int w = threadIdx.x; w < Acc::kTable; w += kThreads) memory->word[w] = 0;
#pragma unroll 1
    for (int c = threadIdx.x; columns && c < Acc::kLimbs * memory->kLanes; c += kThreads)
        (&memory->column[0][0])[c] = 0;
}

// ---- doubles to digits ------------------------------------------------------------------------

// Adds m 2^place of the least unit to digits that lie `step` apart, which others add to as well: a
// lane's column, or limbs.
template <int step, typename C, typename W>
__device__ __forceinline__ void
add_digits(C *to, W m, int place, bool negative)
{
    const int shift = place % kDigit;
    uint32_t digit = ((uint32_t)m << shift) & ((1u << kDigit) - 1);
    m >>= kDigit - shift;
    to += place / kDigit * step;
#pragma unroll 1
    for (;;) {
        if (digit) atomicAdd(to, (C)(negative ? -(int64_t)digit : (int64_t)digit));
        if (m == 0) return;
        digit = (uint32_t)m & ((1u << kDigit) - 1);
        m >>= kDigit;
        to += step;
    }
}

// Digits of a warp's doubles below the largest of them, and where the first is: of the limbs.
template <int L>
struct digits {
    int sum[L]; // of all lanes
    int top;
};

// Cuts off L digits of all lanes' doubles; what they do not reach stays. False: there is nothing.
template <int L, int K>
__device__ __forceinline__ bool
cut_digits(few<K> &x, int base, digits<L> *d)
{
    uint32_t most = 0, some = 0; // by cancellation the first may be less than the others
#pragma unroll
    for (int i = 0; i < K; i++) {
        const uint64_t b = wk_bits_f64(x.s[i]);
        const uint32_t size = (uint32_t)(b >> 32) & 0x7fffffff;
        most = size > most ? size : most;
        some |= size | (uint32_t)b;
    }
    if (!__any_sync(kAllLanes, some != 0)) return false;
    int e = (int)(__reduce_max_sync(kAllLanes, most) >> 20) - 1023;
    e = e < -1022 ? -1022 : e;
    d->top = (e + 1 - base) / kDigit;
#pragma unroll
    for (int k = 0; k < L; k++) {
        const int unit = kDigit * (d->top - k) + base;
        // Below the least limb there is nothing left; a bias there only must be a number.
        const double bias = 1.5 * power_of_two((unit > -1000 ? unit : -1000) + 52);
        int digit = 0;
#pragma unroll
        for (int i = 0; i < K; i++) {
            const double t = x.s[i] + bias;
            digit += d->top - k >= 0 ? (int)(uint32_t)wk_bits_f64(t) : 0;
            x.s[i] -= d->top - k >= 0 ? t - bias : 0;
        }
        d->sum[k] = __reduce_add_sync(kAllLanes, digit);
    }
    return true;
}

// How many digits hold what a warp has, but rarely.
template <int K>
constexpr int digits_for = K <= 2 ? 5 : 7;

// A warp's doubles to the limbs of its block.
template <int K>
__device__ __forceinline__ void
add_doubles(few<K> x, int base, unsigned long long *limb)
{
    constexpr int L = digits_for<K>;
    const int lane = threadIdx.x % kWarp;
    digits<L> d;
#pragma unroll 1
    while (cut_digits<L>(x, base, &d)) {
        int own = 0;
#pragma unroll
        for (int k = 0; k < L; k++) own = lane == k ? d.sum[k] : own;
        if (own != 0) atomicAdd(limb + d.top - lane, (unsigned long long)(int64_t)own);
    }
}

// A word of a table to the same of another, that others add to as well.
template <class Acc>
__device__ __forceinline__ void
add_word(unsigned long long *to, int w, unsigned long long value)
{
    if (value == 0) return;
    if (w == Acc::kFlags)
        atomicOr(to + w, value);
    else if (Acc::kEnds && w >= Acc::kRest && w < Acc::kNonzeros)
        atomicMax(to + w, value);
    else
        atomicAdd(to + w, value);
}

// Counts and extremes of a warp's lanes, in its first.
template <class Acc>
__device__ __forceinline__ void
join_rest(Acc &acc)
{
    if constexpr (Acc::kTable > Acc::kRest) {
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

// One accumulator's counts and extremes to a table.
template <class Acc>
__device__ __forceinline__ void
add_rest(const Acc &acc, unsigned long long *word)
{
    if constexpr (Acc::kEnds) {
        uint64_t words[2];
        acc.ends.save_rising(words);
        for (int w = 0; w < 2; w++) add_word<Acc>(word, Acc::kRest + w, words[w]);
    }
    if constexpr (Acc::kTable > Acc::kRest)
        add_word<Acc>(word, Acc::kNonzeros, (unsigned long long)acc.nonzeros);
}

// What all threads of the block hold, to its table. A barrier must follow.
template <class Acc>
__device__ __forceinline__ void
add_to_table(Acc acc, table_memory<Acc> *memory)
{
    unsigned long long *word = memory->word;
    if constexpr (Acc::kHasSum) {
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            add_doubles(acc.sum[p], Acc::kSumBase, word + Acc::kLimb + p * Acc::kSumLimbs);
    }
    if constexpr (Acc::kHasSquares)
        add_doubles(acc.squares, Acc::kSquareBase, word + Acc::kSquareLimb);
    const unsigned flags = __reduce_or_sync(kAllLanes, (unsigned)acc.flags);
    const int count = __reduce_add_sync(kAllLanes, acc.count);
    join_rest(acc);
    if (threadIdx.x % kWarp > 0) return;
    add_word<Acc>(word, Acc::kFlags, flags);
    add_word<Acc>(word, Acc::kCount, (unsigned)count);
    add_rest(acc, word);
}

// ---- results ------------------------------------------------------------------------------------

// A sum in limbs as a pair, from the uppermost that is not zero on; -1: all are.
__device__ __forceinline__ double_pair
pair_from(const unsigned long long *limb, int top, int base)
{
    constexpr int kReach = 8; // a pair holds five limbs, or six
    double_pair p = {0, 0, 0};
    const int last = top > kReach ? top - kReach : 0;
#pragma unroll 1
    for (int i = top; i >= last; i--) {
        const int e = kDigit * i + base;
        const auto v = (double)(int64_t)limb[i];
        if (v == 0) continue;
        if (!(fabs(v) < 0x1p53) || e > 900 || e < -1074) {
            p.lost = INFINITY; // integers tell
            return p;
        }
        p.add(v * power_of_two(e > -800 ? e : e + 200) * (e > -800 ? 1.0 : 0x1p-200));
    }
    if (last > 0) // all below are less than 2^54 units of the next
        p.lost += power_of_two(kDigit * last + base > -900 ? kDigit * last + base + 40 : -900);
    return p;
}

// The same by a warp; all lanes get it.
__device__ WK_NOINLINE inline double_pair
pair_of_limbs(const unsigned long long *limb, int count, int base)
{
    const int lane = threadIdx.x % kWarp;
#pragma unroll 1
    for (int first = (count - 1) / kWarp * kWarp; first >= 0; first -= kWarp) {
        const bool some = first + lane < count && limb[first + lane] != 0;
        const unsigned left = __ballot_sync(kAllLanes, some);
        if (left) return pair_from(limb, first + 31 - __clz((int)left), base);
    }
    return {0, 0, 0};
}

// What a table's words tell, but for sums.
template <class Acc>
__device__ __forceinline__ typename Acc::outcome
outcome_but_sums(const unsigned long long *word, const reduce_task &task)
{
    typename Acc::outcome o;
    o.n = task.counts ? (int64_t)word[Acc::kCount] : task.n;
    o.flags = (int)word[Acc::kFlags];
    if constexpr (Acc::kEnds) o.ends.load_rising(word + Acc::kRest);
    if constexpr (Acc::kTable > Acc::kRest) o.nonzeros = (int64_t)word[Acc::kNonzeros];
    return o;
}

// The output's result of a table, by the first warp; false: it takes integers.
template <class Acc>
__device__ __forceinline__ bool
finish_table(const table_memory<Acc> *memory, const reduce_task &task, int64_t output)
{
    const unsigned long long *word = memory->word;
    auto o = outcome_but_sums<Acc>(word, task);
    if constexpr (Acc::kHasSum) {
#pragma unroll 1
        for (int p = 0; p < Acc::kPieces; p++)
            o.sums.sum[p] = pair_of_limbs(word + Acc::kLimb + p * Acc::kSumLimbs,
                                          Acc::kSumLimbs, Acc::kSumBase);
    }
    if constexpr (Acc::kHasSquares)
        o.sums.squares =
            pair_of_limbs(word + Acc::kSquareLimb, Acc::kSquareLimbs, Acc::kSquareBase);
    bool known = true;
    if (threadIdx.x % kWarp == 0) known = Acc::finish(o, task, output);
    return __all_sync(kAllLanes, known);
}

// Limbs of 24 bits as some of 32 bits.
__device__ WK_NOINLINE inline void
widen_limbs(const unsigned long long *limb, int count, int base, int64_t *work, int wide,
            int wide_base)
{
    int64_t carry = 0;
#pragma unroll 1
    for (int i = 0; i < wide; i++) work[i] = 0;
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const int64_t v = (int64_t)limb[i] + carry;
        const int at = kDigit * i + base - wide_base;
        carry = v >> kDigit;
        work[at / 32] += (v & ((1 << kDigit) - 1)) << at % 32;
    }
    const int at = kDigit * count + base - wide_base;
    work[at / 32] += carry * ((int64_t)1 << at % 32);
}

// All results of a table's output, by exact integers; of one thread.
template <class Acc>
__device__ __forceinline__ void
finish_exactly(table_memory<Acc> *memory, const reduce_task &task, int64_t output)
{
    const unsigned long long *word = memory->word;
    int64_t *work = memory->work;
    const auto o = outcome_but_sums<Acc>(word, task);
    const int flags = o.flags;
#pragma unroll 1
    for (int i = 0; i < task.folds; i++) {
        const int fold = task.fold[i], dtype = real_of(task.out_dtype[i]);
        const wk_format f = wk_format_of((wk_dtype)dtype);
        wk_limbs sum[2] = {}, squares = {};
        if (Acc::kTable > Acc::kRest && Acc::other(o, task, i, output)) continue;
#pragma unroll 1
        for (int p = 0; Acc::kHasSum && p < Acc::kPieces; p++) {
            sum[p] = {work + p * WK_SUM_LIMBS, WK_SUM_LIMBS, WK_SUM_BASE};
            widen_limbs(word + Acc::kLimb + p * Acc::kSumLimbs, Acc::kSumLimbs, Acc::kSumBase,
                        sum[p].limb, WK_SUM_LIMBS, WK_SUM_BASE);
        }
        if (Acc::kHasSquares) {
            squares = {work + (Acc::kHasSum ? Acc::kPieces * WK_SUM_LIMBS : 0), WK_SQUARE_LIMBS,
                       WK_SQUARE_BASE};
            widen_limbs(word + Acc::kSquareLimb, Acc::kSquareLimbs, Acc::kSquareBase,
                        squares.limb, WK_VARIANCE_LIMBS, WK_SQUARE_BASE);
        }
        if (Acc::kHasSum && (fold == WK_SUM || fold == WK_MEAN)) {
#pragma unroll 1
            for (int p = 0; p < Acc::kPieces; p++) {
                wk_moments m = {sum[p], {}, p ? flags >> Acc::kPartShift : flags, o.n};
                if (task.has_initial) {
                    const double x = Acc::initial_of(task, p, output);
                    m.n++;
                    if (wk_bits_f64(x) != 1ull << 63) m.flags |= WK_NOT_MINUS_ZERO;
                    if (x != x)
                        m.flags |= WK_HAS_NAN;
                    else if (x - x != 0)
                        m.flags |= x < 0 ? WK_HAS_MINUS_INF : WK_HAS_INF;
                    else
                        wk_limbs_add_f64(&m.sum, x);
                }
                store(task.out[i], dtype, Acc::kPieces * output + p,
                      wk_finish_sum(&m, fold == WK_MEAN, f));
            }
            continue;
        }
        if constexpr (Acc::kHasSquares) {
            wk_moments m = {sum[0], squares, flags | flags >> Acc::kPartShift, o.n};
            double x = 0;
            if (fold == WK_SUMSQ || fold == WK_NORM)
                x = wk_finish_squares(&m, fold == WK_NORM, f);
            else if constexpr (Acc::kHasSum)
                x = wk_finish_variance(&m, sum, Acc::kPieces, task.ddof, fold == WK_STD, f);
            store(task.out[i], dtype, output, too_few(task, i, o.n) ? wk_nan() : x);
        }
    }
}

// The table's output, whose words are all there, by the whole block. A barrier must follow before the
// table is written.
template <class Acc>
__device__ WK_NOINLINE void
finish_by_table(table_memory<Acc> *memory, const reduce_task &task, int64_t output)
{
    if (threadIdx.x >= kWarp) return;
    const bool known = finish_table(memory, task, output);
    if (threadIdx.x > 0) return;
    if (!known) finish_exactly(memory, task, output);
    send_result(task);
}

// The same of words that lie elsewhere; with clear these are zero afterwards.
template <class Acc>
__device__ __forceinline__ void
finish_words(table_memory<Acc> *memory, const reduce_task &task, int64_t output,
             unsigned long long *from, bool clear)
{
#pragma unroll 1
    for (int w = threadIdx.x; w < Acc::kTable; w += kThreads) {
        memory->word[w] = __ldcg(from + w);
        if (clear) from[w] = 0;
    }
    __syncthreads(); // the table is whole before it is read
    finish_by_table(memory, task, output);
}

// Adds the block's table to the words that an output's parts share.
template <class Acc>
__device__ __forceinline__ void
share_table(const table_memory<Acc> *memory, const reduce_task &task, int64_t output)
{
    const auto to = (unsigned long long *)shared_words(task, output, Acc::kTable);
#pragma unroll 1
    for (int w = threadIdx.x; w < Acc::kTable; w += kThreads)
        add_word<Acc>(to, w, memory->word[w]);
}

} // namespace wk
