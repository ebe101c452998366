// lines.cuh -- folds whose elements are brought by warps: long lines, or elements anywhere.
//
// In, out   any strides, any dtype, a mask or none -> the results of each output.
// How       an output has a team: a thread, a warp, a block, or several blocks, its parts. A fold is
//           cut into tiles, which a team's warps take by turns: of runs that lie side by side
//           eight vectors of 16 bytes a lane, with ragged ends; else single elements. What a
//           tile's warp cannot take it marks, and the block adds it by integers once all others
//           are done. Parts add their words to the output's by atomics, and the last one
//           finishes; one launch.
// Better    than one shape for all: nothing is rounded, so that any order gives the same bits, and
//           nothing but loads and a few additions an element stands before the memory.
#pragma once
#include "reduce/wide.cuh"

namespace wk
{

// A lane's part of a tile: batches of elements, in words, as bytes of their own would take a register
// each.
template <class Acc>
struct tile {
    using T = typename Acc::T;
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
        for (int t = 0; t < kTurns; t++) ok[t] = 0;
    }
    __device__ __forceinline__ void set_vector(int j, const vector16<uint32_t> &v)
    {
#pragma unroll
        for (int w = 0; w < 4; w++) words[4 * j + w] = v.x[w];
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
    // Where whole vectors lie.
    __device__ __forceinline__ void find(const run_of<T> &run, const reduce_task &task,
                                         int64_t t, int lane)
    {
        const auto v = reinterpret_cast<const vector16<uint32_t> *>(run.from + run.lead);
#pragma unroll
        for (int k = 0; k < kTurns; k++) {
            const int64_t from = t * kStep + lane + k * Acc::kTurn * kWarp;
            at[k] = {task.first + run.first + run.lead + from * kPer, kWarp * kPer, kPer,
                     v + from, Acc::kTurn};
        }
    }
    // All vectors, or those that there are, or a run's ends: up to 15 elements before and behind.
    __device__ __forceinline__ void load_vectors(const run_of<T> &run, const reduce_task &task,
                                                 int64_t t, int lane)
    {
        const auto v = reinterpret_cast<const vector16<uint32_t> *>(run.from + run.lead);
        const int64_t i = t * kStep + lane, left = run.vectors - i;
        find(run, task, t, lane);
        if ((t + 1) * kStep <= run.vectors) {
#pragma unroll
            for (int j = 0; j < Acc::kVectors; j++) set_vector(j, v[i + j * kWarp]);
#pragma unroll
            for (int k = 0; k < kTurns; k++) ok[k] = all_of<Acc::kBatch>;
            return;
        }
        fill(task);
        if (t * kStep >= run.vectors) {
            const int64_t n = task.run - run.vectors * kPer;
            const int64_t m = lane < run.lead ? lane : lane + run.vectors * kPer;
            if (t * kStep >= run.vectors + kStep || lane >= n) return;
            push(run.from[m]);
            ok[0] = 1u << (Acc::kBatch - 1);
            at[0] = {task.first + run.first + m - (Acc::kBatch - 1), 0, Acc::kBatch};
            return;
        }
#pragma unroll
        for (int j = 0; j < Acc::kVectors; j++) {
            if (j * kWarp >= left) continue;
            set_vector(j, v[i + j * kWarp]);
            ok[j / Acc::kTurn] |= all_of<kPer> << j % Acc::kTurn * kPer;
        }
#pragma unroll
        for (int k = 0; k < kTurns; k++) at[k].vectors = 0; // not all
    }
    // Several short runs, each by some of a lane's vectors.
    __device__ __forceinline__ void load_packed(const T *x, const reduce_task &task, int64_t u,
                                                int lane)
    {
        const int vectors = (int)(task.run / kPer);
        fill(task);
#pragma unroll
        for (int j = 0; j < Acc::kVectors; j++) {
            const int64_t run = u * task.pack + j / task.slots;
            const int i = j % task.slots * kWarp + lane;
            if (run >= task.runs || i >= vectors) continue;
            const spot at = spot_of(task.folded, task.where_folded, run * task.run);
            set_vector(j, reinterpret_cast<const vector16<uint32_t> *>(x + at.at)[i]);
            ok[j / Acc::kTurn] |= all_of<kPer> << j % Acc::kTurn * kPer;
        }
    }
    // One batch of elements that lie anywhere.
    __device__ __forceinline__ void load_elements(const T *from, const uint8_t *mask,
                                                  const reduce_task &task, int64_t t, int lane,
                                                  int lanes)
    {
        constexpr int kMore = Acc::kBatch < 4 ? Acc::kBatch : 4; // on their way together
        const int64_t first = t * Acc::kBatch * lanes + lane;
        fill(task);
        at[0] = {task.first + first, lanes, 1};
        if (task.folded.ndim <= 1 && mask == nullptr && !task.pairs()) {
            const T *x = from + first * task.stride;
            const int64_t pitch = lanes * task.stride;
            int left = 0;
            if (first < task.n) {
                const int64_t more = (task.n - first + lanes - 1) / lanes;
                left = more < Acc::kBatch ? (int)more : Acc::kBatch;
            }
            ok[0] = left < 32 ? (1u << left) - 1 : ~0u;
#pragma unroll 1
            for (int j = 0; j < Acc::kBatch; j += kMore, x += kMore * pitch) {
                T e[kMore];
#pragma unroll
                for (int k = 0; k < kMore; k++) {
                    e[k] = Acc::filler(task);
                    if (j + k < left) e[k] = x[k * pitch];
                }
#pragma unroll
                for (int k = 0; k < kMore; k++) push(e[k]);
            }
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

// The run of a tile, and its number there.
template <typename T>
__device__ __forceinline__ run_of<T>
run_of_tile(const T *x, const reduce_task &task, int64_t u, int64_t *t)
{
    int64_t run = 0;
    *t = u;
    if (task.runs > 1) {
        run = u;
        *t = split(&run, task.tiles);
    }
    return run_of<T>(x, task, run);
}

// The sums of a warp's lanes by digits, in all of them. False, for all: they lie too far apart.
template <int K>
__device__ __forceinline__ bool
pair_of_warp(few<K> x, int base, double_pair *p)
{
    constexpr int L = digits_for<K>;
    digits<L> d;
    double y[L];
    uint32_t left = 0;
    *p = {0, 0, 0};
    if (!cut_digits<L>(x, base, &d)) return true;
#pragma unroll
    for (int k = 0; k < L; k++) {
        const int unit = kDigit * (d.top - k) + base;
        y[k] = (double)d.sum[k] * power_of_two(unit > -1000 ? unit : -1000);
    }
    *p = pair_of(y);
#pragma unroll
    for (int i = 0; i < K; i++) left |= x.s[i] != 0;
    return !__any_sync(kAllLanes, left);
}

// What a warp's lanes have together, in its first; false, for all: it takes integers.
template <class Acc>
__device__ __forceinline__ bool
outcome_of_warp(Acc acc, const reduce_task &task, typename Acc::outcome *o)
{
    bool known = !__any_sync(kAllLanes, acc.failed());
    if constexpr (Acc::kHasSum)
#pragma unroll
        for (int p = 0; p < Acc::kPieces; p++)
            known &= pair_of_warp(acc.sum[p], Acc::kSumBase, &o->sums.sum[p]);
    if constexpr (Acc::kHasSquares)
        known &= pair_of_warp(acc.squares, Acc::kSquareBase, &o->sums.squares);
    o->flags = (int)__reduce_or_sync(kAllLanes, (unsigned)acc.flags);
    o->n = task.counts ? (int64_t)__reduce_add_sync(kAllLanes, acc.count) : task.n;
    join_rest(acc);
    o->ends = acc.ends;
    o->nonzeros = acc.nonzeros;
    return known;
}

template <class Acc, bool = Acc::kCertain>
struct line_memory {
    word_memory<Acc> words;
    uint32_t marks[1][1]; // none
};

template <class Acc>
struct line_memory<Acc, false> {
    table_memory<Acc> table;
    uint32_t marks[kWarps][kWarp]; // a bit a batch of a warp's, or an output of the block's
};

// Who votes in a line: a whole warp, where it marks what it cannot take.
struct voters {
    bool warp;
    __device__ __forceinline__ bool operator()(bool fits) const
    {
        return warp ? __all_sync(kAllLanes, fits) : fits;
    }
};

constexpr int kPatience = 8; // tiles that do not fit: those that follow are not tried

// A team's tiles of an output, into the accumulator. False: some did not fit, which are marked if that
// is asked for.
template <class Acc>
__device__ __forceinline__ bool
fold_tiles(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
           bool works, int64_t first, int64_t step, bool marking, uint32_t *marks)
{
    constexpr int kTurns = tile<Acc>::kTurns;
    const int lane = threadIdx.x % kWarp, lanes = task.team == 1 ? 1 : kWarp;
    const int64_t all = task.pack ? task.tiles : task.runs * task.tiles;
    int failures = task.integers_only ? kPatience : 0, mark = 0;
#pragma unroll 1
    for (int64_t u = first; u < all; u += step, mark += kTurns) {
        const bool tries = Acc::kCertain || failures < kPatience;
        tile<Acc> own;
        if (tries && task.pack) {
            own.load_packed(x, task, u, lane);
        } else if (tries && task.vector) {
            int64_t t;
            const auto run = run_of_tile(x, task, u, &t);
            own.load_vectors(run, task, t, lane);
        } else if (tries) {
            own.load_elements(x, mask, task, u, lanes == 1 ? 0 : lane, lanes);
        }
#pragma unroll
        for (int i = 0; i < kTurns; i++) {
            bool fits = tries;
            if (tries) {
                if (!works) own.ok[i] = 0;
                const bool some = Acc::kCertain
                                      ? own.ok[i] != 0
                                      : !marking || __any_sync(kAllLanes, own.ok[i] != 0);
                typename Acc::T e[Acc::kBatch];
                memcpy(e, own.words + i * tile<Acc>::kTurnWords, sizeof e);
                if (some) fits = offer(acc, e, own.ok[i], own.at[i], task, voters{marking});
            }
            if constexpr (!Acc::kCertain) {
                if (fits) continue;
                failures++;
                if (marking && lane == 0) marks[(mark + i) / kWarp] |= 1u << (mark + i) % kWarp;
            }
        }
    }
    acc.settle(task);
    return failures == 0;
}

// The records of an output's parts, by the block that ends last.
template <class Acc>
__device__ __forceinline__ void
finish_records(Acc &acc, const reduce_task &task, int64_t output, word_memory<Acc> *memory)
{
    uint64_t words[Acc::kWords];
    const uint64_t *records = task.records + output * task.parts * Acc::kWords;
    acc.start(task);
#pragma unroll 1
    for (int64_t p = threadIdx.x; p < task.parts; p += kThreads) {
        read_words(records + p * Acc::kWords, words);
        acc.merge(words);
    }
    join_block(acc, memory);
}

// What the threads of a block have of an output, or of its part.
template <class Acc>
__device__ __forceinline__ void
finish_block(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
             int64_t output, int64_t part, bool fits, line_memory<Acc> *memory)
{
    const int warp = threadIdx.x / kWarp;
    if constexpr (Acc::kCertain) {
        bool all = task.parts == 1;
        join_block(acc, &memory->words);
        if (!all) {
            uint64_t words[Acc::kWords];
            acc.save(words);
            uint64_t *to = task.records + (output * task.parts + part) * Acc::kWords;
            for (int w = 0; threadIdx.x == 0 && w < Acc::kWords; w++) to[w] = words[w];
            all = draws_last(task.tickets + output, (unsigned)task.parts);
            if (all) finish_records(acc, task, output, &memory->words);
        }
        if (all && threadIdx.x == 0) deliver(acc, task, output);
    } else {
        table_memory<Acc> *table = &memory->table;
        if (__syncthreads_or(!fits)) { // also: the table is clear, and all marks are set
            clear_table(table, true);
            __syncthreads(); // before anything is added
            add_elements<Acc>(x, mask, task, table,
                              stretches<Acc>{x, &task, memory->marks[warp],
                                             part * kWarps + warp, task.parts * kWarps});
        }
        add_to_table(acc, table);
        __syncthreads(); // the table is whole
        if (task.shared == nullptr) {
            finish_by_table(table, task, output);
        } else {
            share_table(table, task, output);
            if (task.tickets && draws_last(task.tickets + output, (unsigned)task.parts))
                finish_words(table, task, output,
                             (unsigned long long *)task.shared + output * Acc::kTable, true);
        }
    }
    __syncthreads(); // the next item writes the memory that this one has read
}

// An output of a warp or a thread. False, for all lanes: some must be folded by integers, which are
// marked.
template <class Acc>
__device__ __forceinline__ bool
finish_team(Acc &acc, const reduce_task &task, int64_t output, bool works, bool fits,
            uint32_t *marks)
{
    const bool first = task.team == 1 || threadIdx.x % kWarp == 0;
    if constexpr (Acc::kCertain) {
        if (task.team > 1) join_lanes(acc, kWarp);
        if (works && first) deliver(acc, task, output);
        return true;
    } else {
        typename Acc::outcome o;
        if (!fits) acc.flags |= Acc::kFailed;
        if (task.team > 1)
            fits = outcome_of_warp(acc, task, &o);
        else
            o = acc.result(task);
        if (works && first && fits) {
            fits = Acc::finish(o, task, output);
            if (fits) send_result(task);
        }
        const uint32_t left = __ballot_sync(kAllLanes, works && first && !fits);
        if (threadIdx.x % kWarp == 0) *marks = left;
        return left == 0;
    }
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    fold_lines(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    __shared__ line_memory<Acc> memory;
    const int tid = threadIdx.x, warp = tid / kWarp, lane = tid % kWarp;
    const bool block = task.team == kThreads;
    const int width = kThreads / task.team, own = task.team == 1 ? tid : block ? 0 : warp;
    const int64_t all = task.groups * task.parts;
    int items = 0;
    bool fine = true;
    for (int64_t item = blockIdx.x; item < all; item += gridDim.x, items++) {
        int64_t output = item;
        const int64_t part = task.parts > 1 ? split(&output, task.parts) : 0;
        output = output * width + own;
        const bool works = output < task.outputs;
        const spot first = works ? spot_of(task.kept, task.where_kept, output) : spot{0, 0};
        const typename Acc::T *x = in + first.at;
        const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
        uint32_t *marks = Acc::kCertain ? nullptr : memory.marks[Acc::kCertain ? 0 : warp];
        if constexpr (!Acc::kCertain) {
            if (block) {
                clear_table(&memory.table, false);
                marks[lane] = 0;
                __syncwarp(); // cleared before the first lane marks
            }
        }
        Acc acc;
        acc.start(task);
        const bool fits =
            fold_tiles(acc, x, mask, task, works, block ? part * kWarps + warp : 0,
                       block ? task.parts * kWarps : 1, block, marks);
        if (block)
            finish_block(acc, x, mask, task, output, part, fits, &memory);
        else
            fine &= finish_team(acc, task, output, works, fits,
                                Acc::kCertain ? nullptr : marks + items);
    }
    if constexpr (!Acc::kCertain) {
        if (block || !__syncthreads_or(!fine)) return; // also: all marks are set
        fold_marked<Acc>(in, task, memory.marks, items, task.team, &memory.table);
    }
}

// The states of all pieces, or of another GPU: added to this one's, or finished.
template <class Acc>
__global__ void
__launch_bounds__(kThreads) merge_states(const reduce_task __grid_constant__ task,
                                         uint64_t *state, const uint64_t *other)
{
    if constexpr (Acc::kCertain) {
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
                acc.save(words);
                for (int w = 0; w < Acc::kWords; w++) state[o * Acc::kWords + w] = words[w];
            } else {
                deliver(acc, task, o);
            }
        }
    } else {
        __shared__ table_memory<Acc> memory;
        for (int64_t o = blockIdx.x; o < task.outputs; o += gridDim.x) {
            const auto words = (unsigned long long *)state + o * Acc::kTable;
            if (other) {
#pragma unroll 1
                for (int w = threadIdx.x; w < Acc::kTable; w += kThreads)
                    add_word<Acc>(words, w, other[o * Acc::kTable + w]);
                continue;
            }
            finish_words(&memory, task, o, words, false);
            __syncthreads(); // the table has been read before the next is written
        }
    }
}

} // namespace wk
