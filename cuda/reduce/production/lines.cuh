// lines.cuh -- folds whose elements are brought by warps: long lines, or elements anywhere.
//
// In, out   any strides, any dtype, a mask or none -> the results of each output.
// How       an output has a team: a thread, a warp, a block, or several blocks, its parts. A fold is
//           cut into tiles, which a team's warps take by turns: of runs that lie side by side
//           four vectors of 16 bytes a lane, with ragged ends; else single elements, a batch at
//           a time. Of a batch the mask gives bits, by words where it has them. Parts add their
//           words to the output's by atomics, and the last one finishes; one launch.
// Better    than one shape for all: any order gives the same bits, and nothing but loads and a few
//           additions an element stands before the memory.
#pragma once
#include "reduce/production/table.cuh"

namespace wk
{

template <typename T>
struct alignas(16) vector16 {
    T x[16 / sizeof(T)];
};

// A vector that is read once. The L1 is small beside the memory where lines wait, and what is on its way lies there:
// what has come leaves it first. H100, share of a copy without that hint and with it: sums of 16,384 rows of float32
// .83 .92, float16 .78 .86, complex64 .81 .87, variances of float16 .63 .76; flat sums of float32 .93 .94. Not so
// extremes of int64 .97 .94, and variances of float64 .72 .70.
template <class Acc>
__device__ __forceinline__ vector16<uint32_t>
load_once(const vector16<uint32_t> *from)
{
    if constexpr (Acc::kCertain) {
        return *from;
    } else if constexpr (Acc::kWide && Acc::kHasSquares && !Acc::kEnds) {
        return *from;
    } else {
        const uint4 v = __ldcs(reinterpret_cast<const uint4 *>(from));
        return {{v.x, v.y, v.z, v.w}};
    }
}

// A run's vectors, and what lies before them.
template <typename T>
struct run_of {
    static constexpr int kPer = 16 / (int)sizeof(T);
    const T *from;
    int64_t first; // of its elements, in the fold
    int64_t vectors;
    int lead;

    __device__ __forceinline__ run_of(const T *x, const reduce_task &task, int64_t run)
        : from(x), first(run * task.run), lead(0)
    {
        if (!task.aligned) {
            lead = (int)(-reinterpret_cast<uintptr_t>(from) & 15) / (int)sizeof(T);
            lead = lead < task.run ? lead : (int)task.run;
        }
        vectors = (task.run - lead) / kPer;
    }
};

// The element of an output at x; false: it does not count, and is left as it was.
template <class Acc>
__device__ __forceinline__ bool
element_at(const typename Acc::T *x, const uint8_t *mask, const reduce_task &task, int64_t i,
           typename Acc::T *e)
{
    spot s = {i * task.stride, 0};
    if (task.folded.ndim > 1 || mask) s = spot_of(task.folded, task.where_folded, i);
    if (mask && !mask[s.mask]) return false;
    if (task.pairs() && is_nan(x[s.at + task.other_part(x)])) return false;
    if (task.skip_nan && is_nan(x[s.at])) return false;
    *e = x[s.at];
    return true;
}

// A lane's part of a tile: batches of elements, in words, as bytes of their own would take a register
// each.
template <class Acc>
struct tile {
    using T = typename Acc::T;
    using vector = vector16<uint32_t>;
    static constexpr int kPer = 16 / (int)sizeof(T), kTurns = Acc::kVectors / Acc::kTurn;
    static constexpr int kWords = Acc::kVectors * 4, kTurnWords = Acc::kTurn * 4;
    static constexpr int64_t kStep = (int64_t)Acc::kVectors * kWarp; // vectors of a warp's tile
    uint32_t words[kWords];
    uint32_t ok[kTurns];
    place at[kTurns];

    __device__ __forceinline__ void fill(const reduce_task &task)
    {
        T some[kPer];
        uint32_t four[4];
#pragma unroll
        for (int e = 0; e < kPer; e++) some[e] = Acc::filler(task);
        memcpy(four, some, sizeof four);
#pragma unroll
        for (int w = 0; w < kWords; w++) words[w] = four[w % 4];
#pragma unroll
        for (int t = 0; t < kTurns; t++) {
            ok[t] = 0;
            at[t] = {0, 0, 0};
        }
    }
    __device__ __forceinline__ void read(int j, const vector *from)
    {
        const vector v = load_once<Acc>(from);
#pragma unroll
        for (int w = 0; w < 4; w++) words[4 * j + w] = v.x[w];
        ok[j / Acc::kTurn] |= all_of<kPer> << j % Acc::kTurn * kPer;
    }
    // The first batch's elements go down by one, and e comes last.
    __device__ __forceinline__ void push(T e)
    {
        constexpr int kOfOne = sizeof(T) < 4 ? 1 : (int)sizeof(T) / 4,
                      kBits = 8 * (sizeof(T) % 4);
        uint32_t own[kOfOne] = {};
        memcpy(own, &e, sizeof e);
#pragma unroll
        for (int w = 0; w + kOfOne < kTurnWords; w++)
            words[w] = kBits ? words[w] >> kBits | words[w + 1] << (32 - kBits) % 32
                             : words[w + kOfOne];
#pragma unroll
        for (int w = 0; w < kOfOne; w++) {
            uint32_t &last = words[kTurnWords - kOfOne + w];
            last = kBits ? last >> kBits | own[w] << (32 - kBits) % 32 : own[w];
        }
    }
    // A tile of a run that there is all of, from the lane's first vector on.
    __device__ __forceinline__ void load_whole(const vector *v, int64_t first)
    {
#pragma unroll
        for (int j = 0; j < Acc::kVectors; j++) {
            const vector read = load_once<Acc>(v + j * kWarp);
#pragma unroll
            for (int w = 0; w < 4; w++) words[4 * j + w] = read.x[w];
        }
#pragma unroll
        for (int k = 0; k < kTurns; k++) {
            ok[k] = all_of<Acc::kBatch>;
            at[k] = {first + (int64_t)k * Acc::kTurn * kWarp * kPer, kWarp * kPer,
                     log2_of(kPer), v + k * Acc::kTurn * kWarp, Acc::kTurn};
        }
    }
    // Of a run those vectors that there are, or its ends: up to 15 elements before and behind. kWhole: it may have
    // all of a tile's.
    template <bool kWhole>
    __device__ __forceinline__ void load_run(const run_of<T> &run, const reduce_task &task,
                                             int64_t t, int lane)
    {
        const auto v = reinterpret_cast<const vector *>(run.from + run.lead) + t * kStep + lane;
        const int64_t left = run.vectors - t * kStep - lane,
                      first = task.first + run.first + run.lead + (t * kStep + lane) * kPer;
        if (kWhole && (t + 1) * kStep <= run.vectors) {
            load_whole(v, first);
            return;
        }
        if (t * kStep >= run.vectors) {
            const int64_t n = task.run - run.vectors * kPer;
            const int64_t m = lane < run.lead ? lane : lane + run.vectors * kPer;
            if (t * kStep >= run.vectors + kStep || lane >= n) return;
            push(run.from[m]);
            ok[0] = 1u << (Acc::kBatch - 1);
            at[0] = {task.first + run.first + m - (Acc::kBatch - 1), 0, log2_of(Acc::kBatch)};
            return;
        }
#pragma unroll
        for (int k = 0; k < kTurns; k++)
            at[k] = {first + (int64_t)k * Acc::kTurn * kWarp * kPer, kWarp * kPer,
                     log2_of(kPer)};
#pragma unroll
        for (int j = 0; j < Acc::kVectors; j++)
            if (j * kWarp < left) read(j, v + j * kWarp);
    }
    // Vectors of the runs of two axes, which have whole ones.
    __device__ __forceinline__ void load_runs(const T *x, const reduce_task &task, int64_t u,
                                              int lane)
    {
        const int64_t left = task.n / kPer - u * kStep;
        const auto load = [&](int j) {
            const uint32_t m = (uint32_t)(u * kStep) + j * kWarp + lane,
                           number = task.inner.quotient(m), i = m - number * task.inner.divisor;
            read(j, reinterpret_cast<const vector *>(x + number * task.folded.strides[0]) + i);
        };
        if (left >= kStep) { // without conditions, as bytes' sums .95 of a copy, with them .70
#pragma unroll
            for (int k = 0; k < kTurns; k++) {
                ok[k] = 0;
                at[k] = {0, 0, 0};
            }
#pragma unroll
            for (int j = 0; j < Acc::kVectors; j++) load(j);
        } else {
            fill(task);
#pragma unroll
            for (int j = 0; j < Acc::kVectors; j++)
                if (j * kWarp + lane < left) load(j);
        }
    }
    // One batch of elements that lie anywhere.
    __device__ __forceinline__ void load_elements(const T *from, const uint8_t *mask,
                                                  const reduce_task &task, int64_t t, int lane,
                                                  int lanes)
    {
        const int64_t first = t * Acc::kBatch * lanes + lane;
        at[0] = {task.first + first, lanes, lanes == 1 ? log2_of(Acc::kBatch) : 0};
        if (task.folded.ndim <= 1) { // the mask is looked at later
            constexpr int kMore = Acc::kBatch < 4 ? Acc::kBatch : 4;
            const T *x = from + first * task.stride;
            const int64_t pitch = lanes * task.stride;
            T e[Acc::kBatch];
            int left = 0;
            if (first < task.n) {
                const int64_t more = (task.n - first + lanes - 1) / lanes;
                left = more < Acc::kBatch ? (int)more : Acc::kBatch;
            }
            ok[0] = left < 32 ? (1u << left) - 1 : ~0u;
            constexpr bool kMay =
                !Acc::kCertain && std::is_floating_point_v<T>; // halves have none
            const bool pairs = kMay && task.pairs();
            const int other = pairs ? task.other_part(x) : 0;
#pragma unroll
            for (int j = 0; j < Acc::kBatch; j++) e[j] = Acc::filler(task);
#pragma unroll
            for (int g = 0; g < Acc::kBatch; g += kMore) {
                if (g >= left) continue;
#pragma unroll
                for (int j = g; j < g + kMore; j++)
                    if (j < left) e[j] = x[j * pitch];
                if constexpr (kMay)
                    if (pairs) { // NaN in the other part makes this one NaN, which is skipped
                        T o[kMore];
#pragma unroll
                        for (int k = 0; k < kMore; k++) {
                            o[k] = 0;
                            if (g + k < left) o[k] = x[(g + k) * pitch + other];
                        }
#pragma unroll
                        for (int k = 0; k < kMore; k++)
                            if (is_nan(o[k])) e[g + k] = o[k];
                    }
            }
            memcpy(words, e, sizeof e);
            return;
        }
#pragma unroll 1
        for (int j = 0; j < Acc::kBatch; j++) {
            const int64_t i = first + j * lanes;
            T e = Acc::filler(task);
            const bool some = i < task.n && element_at<Acc>(from, mask, task, i, &e);
            push(e);
            ok[0] |= (uint32_t)some << j;
        }
    }
};

// A team's tiles of an output, into the accumulator. kOneRun: all its elements lie side by side.
template <class Acc, bool kOneRun>
__device__ __forceinline__ void
fold_tiles(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
           bool works, int64_t first, int64_t step)
{
    using T = typename Acc::T;
    const int lane = threadIdx.x % kWarp, lanes = task.team == 1 ? 1 : kWarp;
    using index = std::conditional_t<kOneRun, int, int64_t>; // less registers
    const index all = (index)(task.reads == WK_READS_RUN ? task.runs * task.tiles : task.tiles);
    const typename tile<Acc>::vector *v = nullptr;
    index whole = 0; // tiles of the one run
    if (kOneRun) {
        const run_of<T> run(x, task, 0);
        v = reinterpret_cast<decltype(v)>(run.from + run.lead) + lane;
        whole = (index)(run.vectors / tile<Acc>::kStep);
    }
#pragma unroll 1
    for (index u = (index)first; u < all; u += (index)step) {
        tile<Acc> own;
        const uint8_t *counting = nullptr; // the mask of the fold, or of its run,
        int64_t begin = task.first;        // from this element on
        if (u < whole) {
            const T *from = reinterpret_cast<const T *>(v + u * tile<Acc>::kStep);
            own.load_whole(v + u * tile<Acc>::kStep, task.first + (from - x));
        } else if (!kOneRun && task.reads == WK_READS_RUNS) {
            own.load_runs(x, task, u, lane);
        } else {
            own.fill(task);
            if (kOneRun) {
                own.template load_run<false>(run_of<T>(x, task, 0), task, u, lane);
            } else if (task.reads == WK_READS_ELEMENTS) {
                if (task.folded.ndim <= 1) counting = mask;
                own.load_elements(x, mask, task, u, lanes == 1 ? 0 : lane, lanes);
            } else {
                int64_t number = u;
                const int64_t t = split(&number, task.tiles);
                const spot at = spot_of(task.folded, task.where_folded, number * task.run);
                if (mask) counting = mask + at.mask;
                begin += number * task.run;
                own.template load_run<true>(run_of<T>(x + at.at, task, number), task, t, lane);
            }
        }
#pragma unroll
        for (int i = 0; i < tile<Acc>::kTurns; i++) {
            uint32_t ok = works ? own.ok[i] : 0;
            T e[Acc::kBatch];
            memcpy(e, own.words + i * tile<Acc>::kTurnWords, sizeof e);
            if constexpr (!kOneRun && !Acc::kByIndex) // which is given no mask
                if (counting)
                    leave_out_others<Acc>(
                        e, &ok, task,
                        those_that_count(counting, task, own.at[i].first - begin,
                                         own.at[i].jump, own.at[i].shift, ok));
            leave_out<Acc>(e, &ok, task);
            if (ok) acc.take(e, ok, own.at[i], task);
        }
    }
    acc.settle(task);
}

template <class Acc, bool = Acc::kCertain>
struct line_memory {
    word_memory<Acc> words;
};

template <class Acc>
struct line_memory<Acc, false> {
    table_memory<Acc> table;
    uint32_t marks[kWarps][kWarp]; // a bit an output of the block's that takes integers
};

// What a team's threads have of an output, or of its part: has this thread all of it now? The records of parts are
// joined by the block that ends last.
template <class Acc>
__device__ __forceinline__ bool
join_team(Acc &acc, int team, const reduce_task &task, int64_t output, int64_t part,
          word_memory<Acc> *memory)
{
    uint64_t words[Acc::kWords], *records = task.records + output * task.parts * Acc::kWords;
    if (team == 1) return true;
#pragma unroll 1
    for (bool joined = task.parts == 1;; joined = true) { // one place where states are joined
        join_lanes(acc, kWarp);
        if (team == kWarp) return threadIdx.x % kWarp == 0;
        join_warps(acc, memory);
        if (joined) return threadIdx.x == 0;
        bool last = false;
        if (threadIdx.x == 0) save_words(acc, records + part * Acc::kWords);
        if (threadIdx.x < kWarp)
            last = warp_draws_last(task.tickets + output, (unsigned)task.parts);
        if (!__syncthreads_or(last)) return false; // also: the block's words have been read
        acc.start(task);
#pragma unroll 1
        for (int64_t p = threadIdx.x; p < task.parts; p += kThreads) {
            read_words(records + p * Acc::kWords, words);
            acc.merge(words);
        }
        __syncwarp(); // else lanes that had fewer are waited for at each shuffle: 4 us
    }
}

// The words that parts share, which are zero then, by one warp: all on their way together.
template <int N>
__device__ __forceinline__ void
take_words(unsigned long long *word, unsigned long long *from)
{
    constexpr int kTurns = (N + kWarp - 1) / kWarp;
    const int lane = threadIdx.x % kWarp;
    unsigned long long own[kTurns];
#pragma unroll
    for (int t = 0; t < kTurns; t++)
        if (t * kWarp + lane < N) own[t] = __ldcg(from + t * kWarp + lane);
#pragma unroll
    for (int t = 0; t < kTurns; t++) {
        if (t * kWarp + lane >= N) continue;
        word[t * kWarp + lane] = own[t];
        from[t * kWarp + lane] = 0;
    }
}

// One result of the words of all parts, by one warp, as far as doubles tell it. finish_words tells all, but
// is a function for all kernels, which takes three times as long.
template <class Acc>
__device__ __forceinline__ bool
finish_limbs(const unsigned long long *word, const reduce_task &task, int64_t output)
{
    constexpr table_shape kShape = Acc::shape();
    if (!task.plain) return false;
    const auto pair = [&](int at, int count, int base, int lost) {
        return pair_of_limbs(word + at, count, base,
                             bound_of_word(word[lost], 0) * (double)task.parts);
    };
    double_pair sum[Acc::kPieces] = {}, squares = {0, 0, 0};
    if constexpr (Acc::kHasSum)
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            sum[p] = pair(kShape.sum_at(p), kShape.sum_limbs, kShape.sum_base, kLostSum);
    if constexpr (Acc::kHasSquares)
        squares =
            pair(kShape.square_at(), kShape.square_limbs, kShape.square_base(), kLostSquares);
    bool known = false;
    if (threadIdx.x == 0) {
        known =
            Acc::finish_own(sum, squares, (int)word[kFlags], task, population(task), output);
        if (known) send_result(task);
    }
    return __shfl_sync(kAllLanes, (int)known, 0);
}

// A block's output, or its part. The table has been cleared.
template <class Acc>
__device__ __forceinline__ void
finish_block(Acc &acc, const typename Acc::T *in, const reduce_task &task, int64_t output,
             line_memory<Acc, false> *memory)
{
    table_memory<Acc> *table = &memory->table;
    unsigned long long *word = table->word;
    bool known = true;
    unsigned long long *to = nullptr;
    if (task.shared)
        to = (unsigned long long *)shared_words(task, output, Acc::shape().words());
    add_to_table(acc, table, to);
    if (threadIdx.x < kWarp) {
        bool all = true;
        if (to) {
            all = task.tickets && warp_draws_last(task.tickets + output, (unsigned)task.parts);
            __syncwarp(); // what the first lane sees, all do: a shuffle orders no memory
            if (all) take_words<Acc::shape().words()>(word, to);
            __syncwarp(); // the table is whole
        }
        if (all)
            known = finish_limbs<Acc>(word, task, output) ||
                    finish_words(word, table->work, Acc::shape(), task, output, false);
    }
    if (__syncthreads_or(!known)) // also: the table has been read
        finish_exactly(in, task, output, Acc::shape(), word, table->work);
}

// The sum of a warp's doubles by digits, in its first lane.
template <int K>
__device__ __forceinline__ double_pair
pair_of_warp(few<K> &all, int base)
{
    constexpr int L = digits_for<K>;
    const int lane = threadIdx.x % kWarp;
    const uint32_t most = __reduce_max_sync(kAllLanes, largest_of(all.s));
    double_pair p = {0, 0,
                     kWarp * bound_of(__reduce_max_sync(kAllLanes, upper_bound_of(all.lost)))};
    if (most == 0) return p;
    const int top = top_of(most, base), own = cut_digits<L>(all.s, top, base);
    const int unit = kDigit * (top - lane) + base;
    double x = lane < L && unit >= -1000 ? (double)own * wk_power_of_two(unit) : 0;
    bool left = lane < L && unit < -1000 && own != 0;
    double y[L], more, rest;
#pragma unroll
    for (int k = 0; k < L; k++) y[k] = __shfl_sync(kAllLanes, x, k);
    p.high = two_sum(y[0], y[1], &p.low);
    p.low = two_sum(p.low, y[2], &more);
    p.low = two_sum(p.low, y[3], &rest);
    p.lost += 2 * (fabs(more) + fabs(rest));
#pragma unroll
    for (int k = 4; k < L; k++) p.lost += 2 * fabs(y[k]);
    p.high = two_sum(p.high, p.low, &p.low);
    const int last =
        kDigit * (top - L + 1) + base; // no more than half of its unit is left of each
#pragma unroll
    for (int i = 0; i < K; i++) left |= all.s[i] != 0;
    if (__any_sync(kAllLanes, left))
        p.lost += last > -900 ? kWarp * K * wk_power_of_two(last - 1) : 0x1p-890;
    return p;
}

// An output of a warp or a thread. False, for all lanes: some take integers, which are marked.
template <class Acc>
__device__ __forceinline__ bool
finish_team(Acc &acc, const reduce_task &task, int64_t output, bool works, uint32_t *marks)
{
    const bool tells = works && (task.team == 1 || threadIdx.x % kWarp == 0);
    double_pair sum[Acc::kPieces] = {}, squares = {0, 0, 0};
    int flags = acc.flags;
    if (task.team > 1) {
        flags = (int)__reduce_or_sync(kAllLanes, (unsigned)acc.flags);
        if constexpr (Acc::kHasSum)
#pragma unroll
            for (int p = 0; p < Acc::kPieces; p++)
                sum[p] = pair_of_warp(acc.sum[p], Acc::shape().sum_base);
        if constexpr (Acc::kHasSquares)
            squares = pair_of_warp(acc.squares, Acc::shape().square_base());
    } else {
        if constexpr (Acc::kHasSum)
#pragma unroll
            for (int p = 0; p < Acc::kPieces; p++) sum[p] = pair_of(acc.sum[p]);
        squares = pair_of(acc.squares);
    }
    bool known = !tells || (!task.less_nan && Acc::finish_own(sum, squares, flags, task,
                                                              population(task), output));
    if (!__all_sync(kAllLanes, known)) { // several results, or one that takes more
        float_outcome o;
        int count = acc.count;
        if (task.team > 1) {
            if (task.counts) count = __reduce_add_sync(kAllLanes, acc.count);
            join_rest(acc);
        }
        if constexpr (Acc::kEnds) acc.ends.save(o.ends);
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++) o.sum[p] = sum[p];
        o.squares = squares;
        o.nonzeros = acc.nonzeros;
        o.n = task.counts ? count : task.n;
        o.flags = flags;
        if (!known) known = finish_floats(o, task, output);
    }
    if (tells && known) send_result(task);
    const uint32_t left = __ballot_sync(kAllLanes, !known);
    if (threadIdx.x % kWarp == 0) *marks = left;
    return left == 0;
}

// The block's tiles of an output once more, where doubles did not take them, or not exactly, and that is
// asked for: those of a warp over a power of two, or all as integers, which are in the table then. A barrier
// for all: the table is clear.
template <class Acc>
__device__ __forceinline__ void
take_again(Acc &acc, const typename Acc::T *in, const reduce_task &task, int64_t output,
           int64_t first, int64_t step, table_memory<Acc> *table)
{
    bool again = task.keeps ? !acc.exact() : acc.failed();
    if constexpr (Acc::kWide) {
        if (Acc::may_scale(task)) {
            if (__any_sync(kAllLanes, again)) {
                scaled_sums sums;
                sums.clear();
                add_tiles_again(in, task, output, first, step, Acc::shape(), nullptr, &sums);
                acc.set(sums);
            }
            if (__syncthreads_or(acc.is_scaled())) acc.scale();
            return;
        }
    }
    if (!__syncthreads_or(again)) return;
    acc.clear_sums();
    acc.flags =
        add_tiles_again(in, task, output, first, step, Acc::shape(), table->word, nullptr);
    if (threadIdx.x == 0) table->some = 1;
}

// What a warp's lanes have of some outputs: joined and finished side by side, which for one alone takes longer
// than 4 KiB of elements do. H200, share of a copy, one by one and so: sums of 65,536 rows of float32 .71 .82,
// float64 .65 .77, complex64 .54 .70, float16 .65 .76; norms of 16,384 of float32 .83 .92.
template <class Acc>
struct waiting_line {
    // Lanes that read together do so in other banks, nearly all.
    uint64_t word[Acc::kWords][kWarp + 4];

    __device__ __forceinline__ void put(const Acc &acc)
    {
        uint64_t words[Acc::kWords];
        acc.save(words);
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) word[w][threadIdx.x % kWarp] = words[w];
    }
};

// So many at most: they take shared memory that the L1 lacks, by which all elements come. H200, share of a copy
// with four and two: sums of 65,536 rows of complex64 .70 .64, norms of float64 .55 .46. Where a warp has one line
// it has memory for one: variances of 4,096 rows of float16 .49, with memory for four .44.
template <class Acc>
constexpr int most_waiting = Acc::kWords <= 7 ? 4 : 2;

// The first `count` of `lines` become results, of the outputs from `first` on, `step` apart. Bit k * 32 / lines:
// k takes integers.
template <class Acc>
__device__ __forceinline__ uint32_t
finish_waiting(const waiting_line<Acc> *of, const reduce_task &task, int lines, int count,
               int64_t first, int64_t step)
{
    const int lanes = kWarp / lines, lane = threadIdx.x % kWarp, line = lane / lanes,
              part = lane % lanes;
    const int64_t output = first + line * step;
    const bool works = line < count && output < task.outputs;
    uint64_t words[Acc::kWords];
    Acc acc;
    acc.start(task);
    __syncwarp(); // all lanes' words are there
#pragma unroll 1
    for (int i = part; i < kWarp; i += lanes) {
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) words[w] = of[line].word[w][i];
        if (works) acc.merge(words);
    }
    __syncwarp(); // they have been read
    join_lanes(acc, lanes);
    return __ballot_sync(kAllLanes, works && part == 0 && !deliver(acc, task, output));
}

// Do an accumulator's lines wait for each other?
template <class Acc, bool kOneRun>
constexpr bool lines_wait = kOneRun && !Acc::kCertain;

// kOneRun: an output's elements lie side by side, as they mostly do; else anywhere.
template <class Acc, bool kOneRun>
__global__ void
__launch_bounds__(kThreads, kOneRun ? Acc::kBlocks : WK_ANYWHERE)
    fold_lines(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    __shared__ line_memory<Acc> memory;
    WK_DYNAMIC_SHARED(unsigned char, shared);
    const int tid = threadIdx.x, warp = tid / kWarp;
    const bool block = task.team == kThreads;
    const int width = kThreads / task.team, own = task.team == 1 ? tid : block ? 0 : warp;
    const int64_t all = task.groups * task.parts, step = block ? task.parts * kWarps : 1;
    int items = 0, waiting = 0;
    bool fine = true;
    for (int64_t item = blockIdx.x; item < all; item += gridDim.x, items++) {
        int64_t output = item;
        const int64_t part = task.parts > 1 ? split(&output, task.parts) : 0;
        const int64_t first = block ? part * kWarps + warp : 0;
        output = output * width + own;
        const bool works = output < task.outputs;
        const spot at = works ? spot_of(task.kept, task.where_kept, output) : spot{0, 0};
        const typename Acc::T *x = in + at.at;
        const uint8_t *mask = task.where ? task.where + at.mask : nullptr;
        uint32_t *marks = nullptr;
        if constexpr (!Acc::kCertain) {
            marks = &memory.marks[warp][items % kWarp];
            if (block) clear_table(&memory.table);
        }
        Acc acc;
        acc.start(task);
        fold_tiles<Acc, kOneRun>(acc, x, mask, task, works, first, step);
        if constexpr (!Acc::kCertain)
            if (block) take_again(acc, in, task, output, first, step, &memory.table);
        if constexpr (Acc::kCertain) {
            if (join_team(acc, task.team, task, output, part, &memory.words) && works)
                deliver(acc, task, output);
            if (block)
                __syncthreads(); // the next item writes the memory that this one has read
            continue;
        } else if (block) {
            finish_block(acc, in, task, output, &memory);
            continue;
        }
        if constexpr (lines_wait<Acc, kOneRun>) {
            const int lines = task.waiting;
            auto own = reinterpret_cast<waiting_line<Acc> *>(shared) + warp * lines;
            own[waiting++].put(acc);
            if (waiting < lines && item + gridDim.x < all) continue;
            const int64_t apart = (int64_t)gridDim.x * kWarps;
            const uint32_t bits = finish_waiting(own, task, lines, waiting,
                                                 output - (waiting - 1) * apart, apart);
            if (tid % kWarp < waiting)
                memory.marks[warp][items - waiting + 1 + tid % kWarp] =
                    bits >> tid % kWarp * (kWarp / lines) & 1;
            fine &= bits == 0;
            waiting = 0;
        } else if constexpr (!Acc::kCertain) {
            fine &= finish_team(acc, task, output, works, marks);
        }
    }
    if constexpr (!Acc::kCertain) {
        if (block || !__syncthreads_or(!fine)) return; // also: all marks are set
        finish_marked(in, task, memory.marks, items, task.team, 1, Acc::shape(), Acc::kWide,
                      memory.table.word, memory.table.work);
    }
}

// The states of all pieces, or of another GPU: added to this one's, or finished. Of tables: merge_tables.
template <class Acc>
__global__ void
__launch_bounds__(kThreads) merge_states(const reduce_task __grid_constant__ task,
                                         uint64_t *state, const uint64_t *other)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t o = (int64_t)blockIdx.x * kThreads + threadIdx.x; o < task.outputs;
         o += step) {
        uint64_t words[Acc::kWords];
        Acc acc;
        acc.start(task);
        for (int w = 0; w < Acc::kWords; w++) words[w] = state[o * Acc::kWords + w];
        acc.merge(words);
        if (other) {
            for (int w = 0; w < Acc::kWords; w++) words[w] = other[o * Acc::kWords + w];
            acc.merge(words);
            save_words(acc, state + o * Acc::kWords);
        } else {
            deliver(acc, task, o);
        }
    }
}

} // namespace wk
