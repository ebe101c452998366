// segments.cuh -- folds of stretches of any lengths, and of products of two arrays' stretches.
//
// In, out   x[n], and y[n] where products are folded; where each output's elements begin -> its result.
// How       a thread or a warp has a short segment. A longer one is put on a list, and cut into parts of
//           one length, which blocks take by turns: its records are joined by the block that ends last.
//           Elements come as vectors of 16 bytes as far as they line up, else one by one.
// Exact     an output that doubles do not tell goes on a list too: segments.cu, dots.cu.
// Better    than a block for each segment: neither many short ones nor one long one leaves
//           multiprocessors idle.
#pragma once
#include "reduce/production/lines.cuh"

namespace wk
{

struct segments {
    const int64_t *offsets;           // null: outputs have n elements each, one after another
    const unsigned long long *status; // of offsets: not all ones where they are no good
    int64_t outputs, n;               // n: of each; with offsets of all
    int team;                         // threads that have a short one
    int64_t most;                     // elements that a team takes
    int64_t part;                     // elements of a part of a longer one, ...
    int64_t parts;                    // ... and how many parts each has, without offsets

    // Of the longer ones: which they are, and the first of their parts; how many they are, above the
    // number of parts. In the order of their parts.
    int64_t *which, *firsts;
    unsigned long long *listed;
    uint64_t *records; // of parts
    unsigned *tickets; // of the longer ones, zero

    int64_t *again; // outputs that integers tell
    unsigned *agains;
};

constexpr int kListedShift = 32;                            // of segments::listed: 2^32 parts
constexpr int64_t kMostOfWarp = 4096, kMostOfThread = 1024; // what lists are for beyond
// So many on average are a thread's, of many segments: warps would join lanes, and finish, for longer than
// they read. H200, 2^26 float32 in segments of 24, 100, 200: 450, 412 us, 665; by warps 4,808, 1,233, 711.
constexpr int64_t kAverage = 256;
constexpr int64_t kLeastPart = 16384; // of 256 threads: a few batches each
// Rounds of all blocks for one long segment. Lines are alike: one, as parts take time to be joined
// (H200, 2^27 float32 260 us, 267 by four).
constexpr int kRounds = 4;
// Lines of one length are a thread's each where they are short, and so many for each batch of one: warps
// would join lanes, and finish, for longer than they read. H200, float32: 2^22 x 32 485 us, 8,877 by
// warps; 2^19 x 256 480, 1,172; 20,000 x 32 11.5, 53.8; but float64 131,072 x 1,000 920, 816.
constexpr int64_t kMostOfRow = 4096, kRows = 512; // bytes

wk_status with_segments(wk_call *call, wk_status (*fold)(wk_call *)); // segments.cu

// Begins and ends within the elements, whatever the offsets are.
struct stretch_of {
    int64_t begin, end;

    __device__ __forceinline__ stretch_of(const segments &s, int64_t output)
        : begin(output * s.n), end(begin + s.n)
    {
        if (s.offsets == nullptr) return;
        begin = s.offsets[output];
        end = s.offsets[output + 1];
        begin = begin < 0 ? 0 : begin < s.n ? begin : s.n;
        end = end < begin ? begin : end < s.n ? end : s.n;
    }
};

// Does the accumulator take products? Then it has take(x, y, task).
template <class Acc, class = void>
constexpr bool takes_pairs = false;
template <class Acc>
constexpr bool takes_pairs<Acc, std::void_t<decltype(Acc::kPairs)>> = true;

// A thread's elements of a stretch, of which `lanes` threads have one: single ones before the vectors of
// 16 bytes, and behind. One place where they are taken, whose code is long.
template <class Acc>
__device__ __forceinline__ void
fold_stretch(Acc &acc, const typename Acc::T *x, const typename Acc::T *y,
             const reduce_task &task, int64_t begin, int64_t end, int lane, int lanes)
{
    using T = typename Acc::T;
    using vector = vector16<uint32_t>;
    constexpr int N = Acc::kBatch, kPer = 16 / (int)sizeof(T), kVectors = N / kPer;
    constexpr bool kPairs = takes_pairs<Acc>;
    const int64_t tile = (int64_t)N * lanes;
    int64_t lead = (int64_t)(-reinterpret_cast<uintptr_t>(x + begin) & 15) / (int)sizeof(T);
    lead = lead < end - begin ? lead : end - begin;
    bool lines_up = lanes > 1;
    if constexpr (kPairs)
        lines_up =
            ((reinterpret_cast<uintptr_t>(x + begin) ^ reinterpret_cast<uintptr_t>(y + begin)) &
             15) == 0;
    const int64_t whole = lines_up ? (end - begin - lead) / tile * tile : 0;
    if (whole == 0) lead = end - begin;
    const int64_t from = begin + lead, to = from + whole;
#pragma unroll 1
    for (int phase = 0; phase < 3; phase++) {
        const bool vectors = phase == 1;
        const int64_t stop = phase == 0 ? from : vectors ? to : end;
        int64_t i = phase == 0 ? begin + lane : vectors ? from + lane * kPer : to + lane;
#pragma unroll 1
        for (; i < stop; i += tile) {
            T a[N], b[kPairs ? N : 1];
            uint32_t ok = all_of<N>;
            place at = {i, lanes * kPer, log2_of(kPer)};
            if (vectors) {
                vector read[kVectors], other[kPairs ? kVectors : 1];
                const auto v = reinterpret_cast<const vector *>(x + i);
#pragma unroll
                for (int k = 0; k < kVectors; k++) read[k] = v[k * lanes];
                memcpy(a, read, sizeof a);
                if constexpr (kPairs) {
                    const auto w = reinterpret_cast<const vector *>(y + i);
#pragma unroll
                    for (int k = 0; k < kVectors; k++) other[k] = w[k * lanes];
                    memcpy(b, other, sizeof b);
                }
            } else {
                ok = 0;
                at = {i, lanes, 0};
#pragma unroll
                for (int j = 0; j < N; j++) {
                    const int64_t m = i + (int64_t)j * lanes;
                    a[j] = Acc::filler(task);
                    if constexpr (kPairs) b[j] = a[j];
                    if (m >= stop) continue;
                    a[j] = x[m];
                    if constexpr (kPairs) b[j] = y[m];
                    ok |= 1u << j;
                }
            }
            if constexpr (kPairs) {
                acc.take(a, b, task);
            } else {
                leave_out<Acc>(a, &ok, task);
                if (ok) acc.take(a, ok, at, task);
            }
        }
    }
    acc.settle(task);
}

template <class Acc>
__device__ __forceinline__ void
finish_segment(Acc &acc, const reduce_task &task, const segments &s, int64_t output)
{
    if (!acc.finish(task, output)) s.again[atomicAdd(s.agains, 1u)] = output;
}

// A part, or a segment of a team.
struct segment_item {
    int64_t output, begin, end;
    int64_t first, parts; // of the output's records, and how many it has
    int64_t number;       // of a longer one, on the list
};

// Part `item` of all the longer segments' ones.
__device__ __forceinline__ segment_item
part_of_list(const segments &s, int64_t item)
{
    segment_item w;
    if (s.offsets == nullptr) {
        w.number = w.output = item;
        const int64_t part = s.parts > 1 ? split(&w.output, s.parts) : 0;
        w.number = w.output;
        w.first = item - part;
        w.parts = s.parts;
    } else {
        int64_t low = 0, left = (int64_t)(*s.listed >> kListedShift);
        while (left > 1) { // the last whose first part is no later
            const int64_t half = left / 2;
            if (s.firsts[low + half] <= item) low += half;
            left -= half;
        }
        w.number = low;
        w.output = s.which[low];
        w.first = s.firsts[low];
    }
    const stretch_of all(s, w.output);
    if (s.offsets) w.parts = (all.end - all.begin + s.part - 1) / s.part;
    w.begin = all.begin + (item - w.first) * s.part;
    w.end = w.begin + s.part < all.end ? w.begin + s.part : all.end;
    return w;
}

// What the block has of a part; the last one of an output finishes it.
template <class Acc>
__device__ __forceinline__ void
finish_part(Acc &acc, const reduce_task &task, const segments &s, const segment_item &w,
            int64_t item, word_memory<Acc> *memory)
{
    bool all = w.parts == 1;
    join_block(acc, memory);
    if (!all) {
        uint64_t words[Acc::kWords], *to = s.records + item * Acc::kWords;
        acc.save(words);
        for (int k = 0; threadIdx.x == 0 && k < Acc::kWords; k++) to[k] = words[k];
        if (threadIdx.x < kWarp) all = warp_draws_last(s.tickets + w.number, (unsigned)w.parts);
        all = __syncthreads_or(all); // also: the words of the block have been read
        if (all) {
            acc.start(task);
#pragma unroll 1
            for (int64_t p = threadIdx.x; p < w.parts; p += kThreads) {
                read_words(s.records + (w.first + p) * Acc::kWords, words);
                acc.merge(words);
            }
            __syncwarp(); // lanes that had fewer records have waited
            join_block(acc, memory);
        }
    }
    if (all && threadIdx.x == 0) finish_segment(acc, task, s, w.output);
    __syncthreads(); // the next item writes the memory that this one has read
}

// A segment that is too long for a team, to the list.
__device__ __forceinline__ void
list_segment(const segments &s, int64_t output, int64_t elements)
{
    const auto parts = (unsigned long long)((elements + s.part - 1) / s.part);
    const unsigned long long had = atomicAdd(s.listed, parts + (1ull << kListedShift));
    const auto number = (int64_t)(had >> kListedShift);
    s.which[number] = output;
    s.firsts[number] = (int64_t)(had & ((1ull << kListedShift) - 1));
}

// longs: parts of the longer ones, by blocks; else segments of teams. One kernel, since what folds is the
// same code.
template <class Acc>
__global__ void
__launch_bounds__(kThreads, Acc::kBlocks)
    fold_segments(const typename Acc::T *x, const typename Acc::T *y,
                  const reduce_task __grid_constant__ task, const segments __grid_constant__ s,
                  bool longs)
{
    __shared__ word_memory<Acc> memory;
    if (s.status && *s.status != ~0ull) return; // lists have room for what ascends
    const int team = longs ? kThreads : s.team, tid = (int)threadIdx.x;
    const int lane = tid & (team - 1), apart = team == 1 ? tid % kWarp : 0;
    const int64_t own = (int64_t)blockIdx.x * kThreads + tid;
    const int64_t hop = (int64_t)gridDim.x * kThreads / team;
    int64_t all = s.outputs;
    if (longs)
        all = s.offsets ? (int64_t)(*s.listed & ((1ull << kListedShift) - 1))
                        : s.outputs * s.parts;
#pragma unroll 1
    for (int64_t item = own / team; item - apart < all;
         item += hop) { // alike for a warp's lanes
        segment_item w = {item, 0, 0, 0, 1, 0};
        bool takes = item < all;
        if (longs) {
            w = part_of_list(s, item);
        } else if (takes) {
            const stretch_of r(s, item);
            w.begin = r.begin;
            w.end = r.end;
            if (r.end - r.begin > s.most) {
                if (lane == 0) list_segment(s, item, r.end - r.begin);
                w.end = w.begin;
                takes = false;
            }
        }
        Acc acc;
        acc.start(task);
        fold_stretch(acc, x, y, task, w.begin, w.end, lane, team);
        __syncwarp(); // lanes that had less have waited
        if (longs) {
            finish_part(acc, task, s, w, item, &memory);
            continue;
        }
        if (team > 1) join_lanes(acc, kWarp);
        if (takes && lane == 0) finish_segment(acc, task, s, item);
    }
}

// How outputs are shared out, and memory for what goes between blocks.
template <class Acc>
wk_status
plan_segments(wk_call *call, segments *s)
{
    const int64_t blocks = (int64_t)processors(call) * Acc::kBlocks,
                  all = s->offsets ? s->n : s->outputs * s->n;
    const int64_t tile = (int64_t)Acc::kBatch * kThreads;
    const int64_t bytes = s->n * (int64_t)sizeof(typename Acc::T); // of a line
    const bool many = s->offsets ? s->outputs >= blocks * kThreads / 2
                                 : s->outputs >= kRows * (s->n / Acc::kBatch + 2);
    const bool few = s->offsets ? s->outputs * kAverage > all : bytes <= kMostOfRow;
    s->team = many && few ? 1 : kWarp;
    const int64_t share =
        all / (blocks * kWarps * kRounds); // no warp has more than that, of many
    s->most = share > kMostOfWarp ? share : kMostOfWarp;
    if (s->team == 1) s->most = s->offsets ? kMostOfThread : s->n;
    const int64_t shares = blocks * (s->offsets ? kRounds : 1);
    int64_t part = (all + shares - 1) / shares;
    if (!s->offsets && s->n < part) part = s->n;
    s->part = ((part > kLeastPart ? part : kLeastPart) + tile - 1) / tile * tile;
    s->parts = s->offsets ? 0 : (s->n + s->part - 1) / s->part;
    const bool longs = s->offsets ? true : s->n > s->most;
    const int64_t listed = !longs ? 0 : s->offsets ? all / s->most + 1 : s->outputs;
    const int64_t records = !longs       ? 0
                            : s->offsets ? all / s->part + listed
                                         : s->outputs * s->parts;
    void *block = nullptr;
    const int64_t again = Acc::kCertain ? 0 : s->outputs;
    const int64_t longwords = 2 * (s->offsets ? listed : 0) + records * Acc::kWords + again;
    const int64_t zero = 16 + listed * (int64_t)sizeof(unsigned); // bytes
    if (allocate(call, longwords * 8 + zero, &block) != WK_OK) return call->error.status;
    auto *at = static_cast<int64_t *>(block);
    s->which = at;
    s->firsts = s->which + (s->offsets ? listed : 0);
    s->records = reinterpret_cast<uint64_t *>(s->firsts + (s->offsets ? listed : 0));
    s->again = reinterpret_cast<int64_t *>(s->records + records * Acc::kWords);
    s->listed = reinterpret_cast<unsigned long long *>(s->again + again);
    s->agains = reinterpret_cast<unsigned *>(s->listed + 1);
    s->tickets = s->agains + 2;
    return clear(call, s->listed, zero);
}

template <class Acc>
wk_status
launch_segments(wk_call *call, const typename Acc::T *x, const typename Acc::T *y,
                const reduce_task &task, const segments &s)
{
    const unsigned blocks = (unsigned)processors(call) * Acc::kBlocks;
    const int64_t threads = s.outputs * s.team;
    if (s.offsets || s.n <= s.most)
        if (launch(call, grid_for(call, threads, kThreads), kThreads, 0, fold_segments<Acc>, x,
                   y, task, s, false) != WK_OK)
            return call->error.status;
    if (s.offsets || s.n > s.most)
        return launch(call, blocks, kThreads, 0, fold_segments<Acc>, x, y, task, s, true);
    return WK_OK;
}

// What integers tell, of the outputs that are on the list: segments.cu.
wk_status finish_again(wk_call *call, const reduce_task &task, const segments &s,
                       table_shape shape);

// segment_reduce; the task is the reduction's of one line.
template <class Acc>
wk_status
reduce_segments(wk_call *call, reduce_task *task)
{
    segments s = {};
    s.offsets = static_cast<const int64_t *>(call->aux.data);
    s.outputs = call->args.reduce.outputs;
    s.n = call->args.reduce.n;
    s.status = static_cast<const unsigned long long *>(call->out[1].data);
    task->counts = true;
    task->plain = task->in_double = false;
    if (plan_segments<Acc>(call, &s) != WK_OK) return call->error.status;
    if (launch_segments<Acc>(call, first_element<typename Acc::T>(&call->in), nullptr, *task,
                             s) != WK_OK)
        return call->error.status;
    if constexpr (Acc::kCertain)
        return WK_OK;
    else
        return finish_again(call, *task, s, Acc::shape());
}

} // namespace wk
