// lines.cuh -- folds whose elements are brought by warps: long lines, or elements anywhere.
//
// In, out   any strides, any dtype, a mask or none -> the results of each output.
// How       an output has a team: a thread, a quarter of a warp, a warp, a block, or several blocks,
//           its parts. A fold is cut into tiles, which a team's warps take by turns: of a line whose
//           elements lie side by side four vectors of 16 bytes a lane, two tiles on their way at once,
//           with ragged ends; of others what gather.cuh brings.
//           Parts add their words to the output's by atomics, and the last one finishes; one launch.
// Better    than one shape for all: any order gives the same bits, and nothing but loads and a few
//           additions an element stands before the memory.
#pragma once
#include "reduce/production/gather.cuh"
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
    int64_t vectors;
    int lead;

    __device__ __forceinline__ run_of(const T *x, const reduce_task &task) : from(x), lead(0)
    {
        if (!task.aligned) {
            lead = (int)(-reinterpret_cast<uintptr_t>(from) & 15) / (int)sizeof(T);
            lead = lead < task.run ? lead : (int)task.run;
        }
        vectors = (task.run - lead) / kPer;
    }
};

// A lane's part of a tile, or of kTimes of a run: batches of elements, in words, as bytes of their own would take a
// register each. The bits of a batch are a word's.
template <class Acc, int kTimes = 1>
struct tile {
    using T = typename Acc::T;
    using vector = vector16<uint32_t>;
    static constexpr int kTogether = kTimes * Acc::kBatch <= 32 ? kTimes : 1; // of a batch
    static constexpr int kVectors = kTimes * Acc::kVectors, kTurn = kTogether * Acc::kTurn,
                         kBatch = kTogether * Acc::kBatch;
    static constexpr int kPer = 16 / (int)sizeof(T), kTurns = kVectors / kTurn;
    static constexpr int kWords = kVectors * 4, kTurnWords = kTurn * 4;
    // Words of an element, and elements of a word.
    static constexpr int kOfOne = sizeof(T) < 4 ? 1 : (int)sizeof(T) / 4,
                         kIn = sizeof(T) < 4 ? 4 / (int)sizeof(T) : 1;
    static constexpr int kStep = Acc::kVectors * kWarp; // vectors of a warp's tile
    uint32_t words[kWords];
    uint32_t ok[kTurns];
    place at[kTurns];

    // 16 bytes of fillers. Not by bytes: where ways meet, all words would be taken apart to such.
    static __device__ __forceinline__ uint4 fillers(const reduce_task &task)
    {
        const T one = Acc::filler(task);
        uint32_t own[kOfOne] = {}, four[4];
        memcpy(own, &one, sizeof one);
#pragma unroll
        for (int w = 0; w < 4; w++)
            four[w] = own[w % kOfOne] * (kIn == 4 ? 0x01010101 : kIn == 2 ? 0x00010001 : 1);
        return {four[0], four[1], four[2], four[3]};
    }
    __device__ __forceinline__ void fill(const reduce_task &task)
    {
        const uint4 four = fillers(task);
#pragma unroll
        for (int j = 0; j < kVectors; j++) put(j, four.x, four.y, four.z, four.w);
#pragma unroll
        for (int t = 0; t < kTurns; t++) {
            ok[t] = 0;
            at[t] = {0, 0, 0};
        }
    }
    __device__ __forceinline__ void put(int j, uint32_t x, uint32_t y, uint32_t z, uint32_t w)
    {
        words[4 * j] = x;
        words[4 * j + 1] = y;
        words[4 * j + 2] = z;
        words[4 * j + 3] = w;
    }
    __device__ __forceinline__ void read(int j, const vector *from)
    {
        const vector v = load_once<Acc>(from);
        put(j, v.x[0], v.x[1], v.x[2], v.x[3]);
        ok[j / kTurn] |= all_of<kPer> << j % kTurn * kPer;
    }
    // Where vectors lie, of which the lane's first is v, and the others `lanes` apart; whole: there are all of the
    // tile's.
    __device__ __forceinline__ void lie(int64_t first, const vector *v, bool whole, int lanes)
    {
#pragma unroll
        for (int k = 0; k < kTurns; k++)
            at[k] = {first + (int64_t)k * kTurn * lanes * kPer, lanes * kPer, log2_of(kPer),
                     whole ? v + k * kTurn * lanes : nullptr, whole ? kTurn : 0};
    }
    // A tile of a run that there is all of, from the lane's first vector on; another begins `apart` vectors behind it.
    __device__ __forceinline__ void load_whole(const vector *v, int64_t first, int lanes,
                                               int64_t apart)
    {
        vector own[kVectors];
#pragma unroll
        for (int j = 0; j < kVectors; j++)
            own[j] = load_once<Acc>(v + j % Acc::kVectors * lanes + j / Acc::kVectors * apart);
#pragma unroll
        for (int j = 0; j < kVectors; j++)
            put(j, own[j].x[0], own[j].x[1], own[j].x[2], own[j].x[3]);
#pragma unroll
        for (int k = 0; k < kTurns; k++) ok[k] = all_of<kBatch>;
        lie(first, v, true, lanes);
    }
    // Vectors of the runs of two axes, which are whole ones: tile u of them, and the one that is `apart` behind it, of
    // which there is all.
    __device__ __forceinline__ void load_runs(const T *x, const reduce_task &task, int64_t u,
                                              int lane, int apart)
    {
        const int64_t left = task.n / kPer - u * kStep;
        const auto load = [&](int j) {
            const uint32_t m = (uint32_t)(u + j / Acc::kVectors * apart) * kStep +
                               j % Acc::kVectors * kWarp + lane,
                           number = task.inner.quotient(m), i = m - number * task.inner.divisor;
            read(j, reinterpret_cast<const vector *>(x + number * task.folded.strides[0]) + i);
        };
        if (kTimes > 1 ||
            left >= kStep) { // without conditions, as bytes' sums .95 of a copy, with them .70
#pragma unroll
            for (int k = 0; k < kTurns; k++) {
                ok[k] = 0;
                at[k] = {0, 0, 0};
            }
#pragma unroll
            for (int j = 0; j < kVectors; j++) load(j);
        } else {
            fill(task);
#pragma unroll
            for (int j = 0; j < kVectors; j++)
                if (j * kWarp + lane < left) load(j);
        }
    }
    // Where a batch of elements along one axis lies; the first of this lane's.
    __device__ __forceinline__ int64_t lie_along(const reduce_task &task, int64_t u, int lane,
                                                 int lanes)
    {
        const int64_t first = u * kBatch * lanes + (lanes == 1 ? 0 : lane);
        at[0] = {task.first + first, lanes, lanes == 1 ? log2_of(kBatch) : 0};
#pragma unroll
        for (int k = 1; k < kTurns; k++) at[k] = {0, 0, 0};
        return first;
    }
    // All of it, and all of it counts. H200, share of a copy, x[::3] of int8 by way of shared memory .60, so .89.
    __device__ __forceinline__ void load_apart(const T *x, const reduce_task &task, int64_t u,
                                               int lane, int lanes)
    {
        const int64_t pitch = lanes * task.stride;
        x += lie_along(task, u, lane, lanes) * task.stride;
#pragma unroll
        for (int w = 0; w < kTurnWords; w += kOfOne) {
            uint32_t own[kOfOne] = {};
#pragma unroll
            for (int k = 0; k < kIn; k++, x += pitch) {
                const T e = *x;
                uint32_t bits[kOfOne] = {};
                memcpy(bits, &e, sizeof e);
#pragma unroll
                for (int i = 0; i < kOfOne; i++) own[i] |= bits[i] << 32 / kIn * k % 32;
            }
#pragma unroll
            for (int i = 0; i < kOfOne; i++) words[w + i] = own[i];
        }
#pragma unroll
        for (int k = 0; k < kTurns; k++) ok[k] = k ? 0 : all_of<kBatch>;
    }
    // What lies in shared memory, and bits of what counts.
    __device__ __forceinline__ void load_gathered(const gathered *from, uint64_t bits, int lane)
    {
#pragma unroll
        for (int j = 0; j < kVectors; j++) {
            const uint4 v = from->vector[j][lane];
            put(j, v.x, v.y, v.z, v.w);
        }
#pragma unroll
        for (int k = 0; k < kTurns; k++) ok[k] = (uint32_t)(bits >> k * 32);
    }
    // Some elements of 16 bytes at x, as bits say, are the lane's last vector. One by one: others need not be there.
    __device__ __forceinline__ void put_end(const T *x, uint32_t bits)
    {
        constexpr uint32_t kElement = ~0u >> (32 - 32 / kIn); // as far as it is in a word
#pragma unroll
        for (int e = 0; e < kPer; e++) {
            if (!(bits >> e & 1)) continue;
            const T there = x[e];
            const int shift = e % kIn * (32 / kIn);
            uint32_t one[kOfOne] = {};
            memcpy(one, &there, sizeof there);
#pragma unroll
            for (int i = 0; i < kOfOne; i++) {
                uint32_t &word = words[kWords - 4 + e / kIn * kOfOne + i];
                word = (word & ~(kElement << shift)) | one[i] << shift;
            }
        }
        ok[kTurns - 1] |= bits << (kTurn - 1) * kPer;
    }
    // Tile t of a run: those vectors that there are, `lanes` apart, and with its last tile its ends, up to 15 elements
    // before and behind them; of a masked one by themselves, as what is called takes registers. first: of the run's
    // elements, in the fold. H200, 256 MiB, us with a tile of their own and a whole warp a line, and so: sums of 100,001
    // x 671 float32 205 90, 65,536 x 511 float64 129 87; variances of 100,001 x 335 complex64 554 225; maxima of 33,333 x
    // 4,026 float16 102 75, 100,001 x 2,684 uint8 262 111.
    __device__ __forceinline__ void load_run(const run_of<T> &run, const uint8_t *mask,
                                             const reduce_task &task, int64_t first, int64_t t,
                                             int lane, int lanes, gathered *memory)
    {
        const int64_t step = kVectors * lanes, own = run.lead + (t * step + lane) * kPer,
                      left = run.vectors - t * step;
        const auto v = reinterpret_cast<const vector *>(run.from + own);
        const int vectors = left < step ? (int)left - lane : (int)step;
        if (left > 0 && mask) {
            const uint64_t bits = gather_vectors<(int)sizeof(T)>(
                reinterpret_cast<const uint4 *>(v), vectors, mask + own * task.where_step,
                task.where_step, fillers(task), memory);
            load_gathered(memory, bits, lane);
            lie(first + own, v, left >= step, lanes);
            return;
        }
        fill(task);
#pragma unroll
        for (int j = 0; j < kVectors; j++)
            if (j * lanes < vectors) read(j, v + j * lanes);
        if (left > 0) lie(first + own, v, left >= step, lanes);
        if (task.aligned || t < task.tiles - 1) return;
        // The grid has left room: the last lane has what is behind, or else what is before, which another one has.
        const int64_t behind = run.lead + run.vectors * kPer;
        const int before = (int)(reinterpret_cast<uintptr_t>(run.from) & 15) / (int)sizeof(T),
                  some = (int)(task.run - behind), turn = lanes - 1 - lane + (some == 0);
        if (turn > 1 || (turn == 1 && run.lead == 0)) return;
        const int64_t e = turn ? -before : behind;
        uint32_t bits = turn ? (1u << (before + run.lead)) - (1u << before) : (1u << some) - 1;
        if (mask) {
#pragma unroll 4
            for (int k = 0; k < kPer; k++)
                if (bits >> k & 1 && !mask[(e + k) * task.where_step]) bits &= ~(1u << k);
        }
        put_end(run.from + e, bits);
        if (left <= 0) at[kTurns - 1] = {first + e - (kTurn - 1) * kPer, 0, log2_of(kBatch)};
    }
    // works: this thread has an output.
    __device__ __forceinline__ void take_into(Acc &acc, const reduce_task &task,
                                              bool works) const
    {
#pragma unroll
        for (int i = 0; i < kTurns; i++) {
            uint32_t counts = works ? ok[i] : 0;
            T e[kBatch];
            memcpy(e, words + i * kTurnWords, sizeof e);
            leave_out<Acc>(e, &counts, task);
            if (counts) acc.take(e, counts, at[i], task);
        }
    }
};

// So many tiles of a run are on their way at once: with the registers that this takes two blocks of a multiprocessor
// find room. H200, 256 MiB, share of a copy with one tile and three blocks, and so, of 1, 500, 4,096, 16,384, 65,536 rows:
// sums of float32 .91 .90, .72 .88, .82 .91, .79 .88, .79 .87; variances .75 .77, .61 .79, .68 .84, .68 .74, .69 .72; norms
// of float64 .69 .83, .65 .80, .68 .83, .63 .76, .57 .69; sums of complex128 .79 .84, .61 .82, .69 .87, .69 .76, .69 .74,
// float16 .86 .89, .68 .83, .74 .90, .77 .84, .77 .82; argmax of float32 .82 .88, .70 .87, .75 .91, .75 .82, .76 .82;
// with one tile and four blocks: sums of uint8 .91 .95, .93 .96, .93 .99, .89 .92, .92 .92; maxima of int16 .93 .95, .96
// .95, .96 .97, .96 .91, .94 .91, complex64 .83 .88, .88 .88, .84 .88, .83 .79, .68 .81.
constexpr int kTilesAtOnce = 2;

// A team's tiles of an output, into the accumulator. Of one run a team of its own begins at one that `turn` chooses.
template <class Acc>
__device__ __forceinline__ void
fold_tiles(Acc &acc, const typename Acc::T *x, const uint8_t *mask, const reduce_task &task,
           bool works, int first, int step, uint32_t turn, gathered *memory)
{
    using T = typename Acc::T;
    constexpr int kItem = (int)sizeof(T);
    static_assert(Acc::kVectors == kGatheredVectors && Acc::kBatch == gathered_batch<kItem>);
    const int lane = threadIdx.x % kWarp;
    const bool runs = task.reads == WK_READS_RUNS;
    const int lanes = task.team < kWarp ? task.team : kWarp, own_lane = lane & (lanes - 1),
              shift = task.team == 1 ? 0 : log2_of(kWarp);
    int64_t taken = 0;
    // By itself: what is called below takes registers.
    if ((task.one_run || runs) && task.tiles >= task.turns.divisor) {
        // Of vectors so many as there are wherever a run begins: lanes that have others go on together.
        const run_of<T> run(x, task);
        const int64_t vectors =
            ((runs ? task.n : task.run) - (task.aligned ? 0 : run.kPer - 1)) / run.kPer;
        // As many for each warp, which has the tiles that it would have one by one (take_again); an index takes
        // neighbours for one.
        const int size = Acc::kVectors * lanes, apart = Acc::kByIndex ? 1 : step,
                  of_size = log2_of(Acc::kVectors) + __ffs(lanes) - 1,
                  twice = (int)task.turns.quotient((uint32_t)(vectors >> of_size)) * step,
                  start = (int)__umulhi(turn, (uint32_t)twice);
        const auto v =
            reinterpret_cast<const typename tile<Acc>::vector *>(run.from + run.lead) +
            own_lane;
#pragma unroll 1
        for (int i = first; i < twice; i += step) {
            const int64_t t =
                (int64_t)(i + start - (i + start < twice ? 0 : twice)) * kTilesAtOnce -
                (Acc::kByIndex ? 0 : first);
            const auto from = v + t * size;
            tile<Acc, kTilesAtOnce> own;
            if (runs)
                own.load_runs(x, task, t, lane, apart);
            else
                own.load_whole(from, task.first + (reinterpret_cast<const T *>(from) - x),
                               lanes, (int64_t)apart * size);
            own.take_into(acc, task, works);
        }
        taken = (int64_t)twice * kTilesAtOnce;
    }
    const int64_t all = task.reads == WK_READS_RUN ? task.runs * task.tiles : task.tiles;
    const int64_t apart = task.along && !mask ? task.n / Acc::kBatch >> shift : 0;
#pragma unroll 1
    for (int64_t u = taken + first; u < all; u += step) {
        tile<Acc> own;
        if (u < apart) {
            own.load_apart(x, task, u, lane, lanes);
        } else if (runs) {
            own.load_runs(x, task, u, lane, 0);
        } else if (task.reads == WK_READS_RUN) {
            int64_t number = 0, t = u;
            spot at = {0, 0};
            if (task.runs > 1) {
                number = u;
                t = split(&number, task.tiles);
                number *= task.run;
                at = spot_of(task.folded, task.where_folded, number);
            }
            own.load_run(run_of<T>(x + at.at, task), mask ? mask + at.mask : nullptr, task,
                         task.first + number, t, own_lane, lanes, memory);
        } else {
            const int64_t i = own.lie_along(task, u, lane, lanes),
                          left = (task.n - i + lanes - 1) >> shift;
            const uint4 filler = own.fillers(task);
            uint32_t bits;
            if (task.along)
                bits = gather_along<kItem>(x + i * task.stride, lanes * task.stride,
                                           mask ? mask + i * task.where_step : nullptr,
                                           lanes * task.where_step,
                                           left < 0             ? 0
                                           : left < Acc::kBatch ? (int)left
                                                                : Acc::kBatch,
                                           filler, memory);
            else
                bits = gather_anywhere<kItem>(x, mask, task, u, filler, memory);
            own.load_gathered(memory, bits, lane);
        }
        own.take_into(acc, task, works);
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
#pragma unroll 1 // one place where states are joined
    for (bool joined = task.parts == 1, again = false;; joined = again = true) {
        join_lanes(acc, team < kWarp ? team : kWarp);
        if (team <= kWarp) return (threadIdx.x & (team - 1)) == 0;
        if (again && task.parts <= kWarp)
            return threadIdx.x == 0; // its warp has read all records
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
    constexpr int kUpper = Acc::kWide || Acc::kHasSquares ? 6 : 4;
    const auto pair = [&](int at, int count, int base, int lost) {
        return pair_of_limbs<kUpper>(word + at, count, base,
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

// The block's tiles of an output once more, where doubles of some thread did not take them, or not exactly, and that is
// asked for: those of such a warp over a power of two, or all as integers, which are in the table then.
template <class Acc>
__device__ __forceinline__ void
take_again(Acc &acc, const typename Acc::T *in, const reduce_task &task, int64_t output,
           int64_t first, int64_t step, bool failed, table_memory<Acc> *table)
{
    if constexpr (Acc::kWide) {
        if (Acc::may_scale(task)) {
            if (__any_sync(kAllLanes, failed)) {
                scaled_sums sums;
                sums.clear();
                add_tiles_again(in, task, output, first, step, Acc::shape(), nullptr, &sums);
                acc.set(sums);
            }
            acc.scale();
            return;
        }
    }
    acc.clear_sums();
    acc.flags =
        add_tiles_again(in, task, output, first, step, Acc::shape(), table->word, nullptr);
    if (threadIdx.x == 0) table->some = 1;
}

// A block's output, or its part. The table has been cleared.
template <class Acc>
__device__ __forceinline__ void
finish_block(Acc &acc, const typename Acc::T *in, const reduce_task &task, int64_t output,
             int64_t first, int64_t step, line_memory<Acc, false> *memory)
{
    table_memory<Acc> *table = &memory->table;
    unsigned long long *word = table->word;
    bool known = true;
    unsigned long long *to = nullptr;
    if (task.shared)
        to = (unsigned long long *)shared_words(task, output, Acc::shape().words());
#pragma unroll 1 // rarely twice
    for (bool again = task.keeps ? !acc.exact() : acc.failed();; again = false) {
        tell_table(acc, table);
        if (!__syncthreads_or(again)) break; // also: the largest of all warps is there
        take_again(acc, in, task, output, first, step, again, table);
    }
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
// it has no such memory: variances of 4,096 rows of float16 .49, with memory for four .44.
template <class Acc>
constexpr int most_waiting = Acc::kWords <= 7 ? 4 : 2;

// The first `count` of `lines`, of the outputs from `first` on, `step` apart: number k's state comes to the 32 / lines
// lanes from k * 32 / lines on, and its output. Has this lane one?
template <class Acc>
__device__ __forceinline__ bool
collect_waiting(Acc &acc, const waiting_line<Acc> *of, const reduce_task &task, int lines,
                int count, int64_t first, int64_t step, int64_t *output)
{
    const int lanes = kWarp / lines, lane = threadIdx.x % kWarp, line = lane / lanes,
              part = lane % lanes;
    *output = first + line * step;
    const bool works = line < count && *output < task.outputs;
    uint64_t words[Acc::kWords];
    acc.start(task);
    __syncwarp(); // all lanes' words are there
#pragma unroll 1
    for (int i = part; i < kWarp; i += lanes) {
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) words[w] = of[line].word[w][i];
        if (works) acc.merge(words);
    }
    __syncwarp(); // they have been read
    return works;
}

// Are a line's first elements brought to the L2 while the block before it ends? Blocks that begin together end together,
// and nothing is read meanwhile. H200, 256 MiB, us without and with it: sums of 800, 1,024, 1,300 lines of float32 86.5
// 79.2, 78.5 69.9, 84.2 75.8, complex64 95.2 85.2, 85.9 76.2, 92.6 84.4, float64 85.1 80.1, 75.7 71.2, 81.5 77.8, float16
// 88.4 85.3, 77.5 75.5, 83.3 83.3, along axes 0 and 2 of 512 x 1024 x n float32 81.0 74.0, complex64 88.1 80.2; variances
// of float32 99.3 94.3, 89.0 83.2, 97.9 92.0. What more is done with than that waits for itself: norms of float64 94.6
// 92.6, 84.4 84.9, 90.3 91.5, of float16 108 110, 96.2 95.2, 113 116; maxima of int32 76.3 74.3, 69.5 69.6, 73.2 72.7.
template <class Acc, bool = Acc::kCertain>
constexpr bool brings_ahead = false;
template <class Acc>
constexpr bool brings_ahead<Acc, false> =
    !(Acc::kHasSquares && (Acc::kWide || sizeof(typename Acc::T) < 4));
constexpr int kAhead = 64 << 10; // bytes

// Of the run or the runs of an output, by its block.
template <typename T>
__device__ __forceinline__ void
bring_ahead(const T *x, const reduce_task &task)
{
    constexpr int kLine = 128;
    const int64_t bytes = task.n * (int64_t)sizeof(T);
    const int most = bytes < kAhead ? (int)bytes : kAhead;
#pragma unroll 1
    for (int at = (int)threadIdx.x * kLine; at < most; at += kThreads * kLine) {
        int64_t from = at;
        if (task.reads == WK_READS_RUNS) {
            const uint32_t m = (uint32_t)at / 16, number = task.inner.quotient(m);
            from = number * task.folded.strides[0] * (int64_t)sizeof(T) +
                   (m - number * task.inner.divisor) * 16;
        }
        bring_to_l2(reinterpret_cast<const unsigned char *>(x) + from);
    }
}

template <class Acc>
__global__ void
__launch_bounds__(kThreads, WK_LINE_BLOCKS)
    fold_lines(const typename Acc::T *in, const reduce_task __grid_constant__ task)
{
    static_assert(keeps_contract<Acc>, "accumulator.cuh");
    __shared__ line_memory<Acc> memory;
    WK_DYNAMIC_SHARED(unsigned char, shared);
    // Little is kept from item to item: what a called function does not leave alone waits in memory, from where it
    // comes late, as the L1 is full of elements.
    const int tid = threadIdx.x, warp = tid / kWarp;
    const bool block = task.team == kThreads;
    const int shift = __ffs(task.team) - 1;
    int items = 0;
    for (;; items++) {
        const int64_t item = blockIdx.x + (int64_t)items * gridDim.x;
        if (item >= task.groups * task.parts) break;
        int64_t output = item;
        int part = 0;
        if (task.groups == 1)
            part = (int)item, output = 0;
        else if (task.parts > 1)
            part = (int)split(&output, task.parts);
        const int first = block ? part * kWarps + warp : 0,
                  step = block ? (int)task.parts * kWarps : 1;
        if (!block) output = output * (kThreads >> shift) + (tid >> shift);
        bool works = output < task.outputs;
        const spot at =
            works && output > 0 ? spot_of(task.kept, task.where_kept, output) : spot{0, 0};
        const typename Acc::T *x = in + at.at;
        const uint8_t *mask = task.where ? task.where + at.mask : nullptr;
        if constexpr (!Acc::kCertain)
            if (block) clear_table(&memory.table);
        Acc acc;
        acc.start(task);
        // Warps begin at other tiles, else few channels of the memory read lines that are a power of two apart. H200,
        // 2,048 rows of 128 KiB, share of a copy: sums of float32 .77 .84, complex64 .77 .82, maxima of int32 .83 .92.
        const uint32_t turn = block ? 0 : (uint32_t)(item * kWarps + warp) * 0x9e3779b9;
        fold_tiles<Acc>(acc, x, mask, task, works, first, step, turn,
                        reinterpret_cast<gathered *>(shared) + warp);
        if constexpr (brings_ahead<Acc>)
            if (task.ahead && output + task.ahead < task.outputs)
                bring_ahead(in + spot_of(task.kept, task.where_kept, output + task.ahead).at,
                            task);
        if constexpr (Acc::kCertain) {
            if (join_team(acc, task.team, task, output, part, &memory.words) && works)
                deliver(acc, task, output);
            if (block)
                __syncthreads(); // the next item writes the memory that this one has read
        } else if (block) {
            finish_block(acc, in, task, output, first, step, &memory);
        } else {
            const int lines = task.waiting ? task.waiting : 1, lane = tid % kWarp,
                      waiting = items & (lines - 1);
            int lanes = task.team;
            if (task.waiting) {
                auto of = reinterpret_cast<waiting_line<Acc> *>(
                              shared + (task.gathers ? kWarps * sizeof(gathered) : 0)) +
                          warp * lines;
                of[waiting].put(acc);
                if (waiting + 1 < lines && item + gridDim.x < task.groups) continue;
                const int64_t apart = (int64_t)gridDim.x * kWarps;
                works = collect_waiting(acc, of, task, lines, waiting + 1,
                                        output - waiting * apart, apart, &output);
                lanes = kWarp / lines;
            }
            join_lanes(acc, lanes);
            works = works && (lane & (lanes - 1)) == 0;
            const uint32_t bits =
                __ballot_sync(kAllLanes, works && !deliver(acc, task, output));
            if (lane <= waiting)
                memory.marks[warp][items - waiting + lane] =
                    lines == 1 ? bits : bits >> lane * (kWarp / lines) & 1;
        }
    }
    if constexpr (!Acc::kCertain) {
        if (block) return;
        __syncwarp(); // the warp's marks are there
        const bool some = tid % kWarp < items && memory.marks[warp][tid % kWarp];
        if (!__syncthreads_or(some)) return; // also: all marks are
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
