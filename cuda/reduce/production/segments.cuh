// segments.cuh -- folds of stretches of any lengths, and of products of two arrays' stretches.
//
// In, out   x[n], and y[n] where products are folded; where each output's elements begin -> its result.
// How       each warp has as many elements as any other, in which segments begin, go on and end. A team of 1
//           to 32 of its threads has a segment, and the next one when it is done with that; what is too long
//           for a team waits for the whole warp. What threads have of a segment goes to a queue, of which
//           each lane joins and finishes one when it is full. What a warp has of a segment that began before
//           its share, or goes on behind it, is a record: a second launch joins these.
//           A few lines of products, if they are long or all is little, have blocks of their own, of which
//           the last to end joins what all have.
// Exact     an output that doubles do not tell goes on a list: segments.cu, dots.cu.
// Better    than a thread, a warp or a block for each segment: nobody waits for a longer one beside it, nor
//           for a lane that finishes.
#pragma once
#include "reduce/production/shares.cuh"
#include "reduce/production/stretches.cuh"

namespace wk
{

// Of a multiprocessor: 3 would have to spill.
constexpr int kSegmentBlocks = 2;
constexpr int kMostBatches = 32; // of a team's thread
// Bytes of a team's thread, on average and at most, and of one that is alone. H200, dots of 2^27 float32 in
// lines of 256 by 1, 2, 4, 8, 16, 32 threads: 268, 218, 159, 151, 180, 369 us; of float16 in lines of 1,000:
// 133, 134, 104, 112, 121, 145.
constexpr int kBytesOfThread = 256, kBytesOfAlone = 96;
// Elements of a line that has blocks of its own, if there are few, or of all lines together: their tiles take
// turns, so that all read side by side. H200, a dot of 2^27 float32: 252 us, by shares 298.
constexpr int64_t kLongLine = 1 << 16, kFewElements = 1 << 20;

__device__ __forceinline__ void
finish_later(const segments &s, int64_t output)
{
    s.again[atomicAdd(s.agains, 1u)] = output;
}

struct shared_products {
    int64_t limb[2][WK_SQUARE_LIMBS];
    int flags[2];
};

// A line's products once more, by integers, by the whole block: dots.cu.
__device__ void multiply_exactly(shared_products *own, const void *x, const void *y,
                                 const reduce_task &task, int64_t output);

// ---- what a warp's teams have of segments that are done ------------------------------------

constexpr int kStatesOfSegment = 8; // at most; of larger teams lanes are joined before

__device__ __forceinline__ int
states_of(int team)
{
    return team < kStatesOfSegment ? team : kStatesOfSegment;
}

template <class Acc>
struct segment_queue {
    static constexpr int kStates = 64;
    int where[kWarp];
    uint64_t word[Acc::kWords][kStates];

    // Segments of teams of so many threads; a lane finishes no more than one.
    static __device__ __forceinline__ int room(int team)
    {
        const int all = kStates / states_of(team);
        return all < kWarp ? all : kWarp;
    }
};

template <class Acc>
struct segment_memory {
    union {
        segment_queue<Acc> queue[kWarps];
        word_memory<Acc> words;
        shared_products products;
    };
    vector16<uint32_t> staged[2 * stretch_reader<Acc>::kBytes / 16 * kThreads];
};

// A lane for each of `count` segments.
template <class Acc>
__device__ __forceinline__ void
finish_queue(const segment_queue<Acc> &q, const reduce_task &task, const segments &s, int count,
             int team, int64_t warp, int64_t first)
{
    const int lane = threadIdx.x % kWarp, states = states_of(team);
    __syncwarp(); // the states are there
    if (lane < count) {
        uint64_t words[Acc::kWords];
        Acc acc;
        acc.start(task);
#pragma unroll 1
        for (int p = 0; p < states; p++) {
#pragma unroll
            for (int w = 0; w < Acc::kWords; w++) words[w] = q.word[w][lane * states + p];
            acc.merge(words);
        }
        const int where = q.where[lane];
        if (where >= kFirst) {
            const int64_t output = first + where - kFirst;
            if (!acc.finish(task, output)) finish_later(s, output);
        } else {
            save_words(acc, s.records + (2 * warp + where) * Acc::kWords);
        }
    }
    __syncwarp(); // they have been read before others are written
}

// The states of those teams that are done, to the queue, which has `count`.
template <class Acc>
__device__ __forceinline__ void
queue_segments(Acc &acc, bool done, int where, uint32_t leaders, const reduce_task &task,
               int team, segment_queue<Acc> *q, int count)
{
    const int lane = threadIdx.x % kWarp, own = lane & (team - 1), states = states_of(team);
    uint64_t words[Acc::kWords];
    if (done) acc.settle(task);
    join_lanes(acc, team, kStatesOfSegment, done);
    if (!done) return;
    const int slot = count + __popc(leaders & ((1u << (lane - own)) - 1));
    if (own == 0) q->where[slot] = where;
    acc.save(words);
    if (own < states)
#pragma unroll
        for (int w = 0; w < Acc::kWords; w++) q->word[w][slot * states + own] = words[w];
    acc.start(task);
}

// ---- a warp's share ------------------------------------------------------------------------

// What a thread knows of its warp's share: the segments of teams, and then, if some are too long for these,
// those of all lanes.
template <class Acc>
struct share_walk {
    using T = typename Acc::T;
    using tile = stretch_tile<T>;
    const reduce_task &task;
    const segments &s;
    segment_queue<Acc> *queue;
    const T *from; // where the share begins
    int64_t warp;
    segment_source source;
    stretch_reader<Acc> reader;
    tile now = {nullptr, kNowhere, 0, 0, false},
         then = now;            // what is taken, and what is on its way
    int ahead = -1, queued = 0; // the team's segment after this one; how many wait in the queue
    stretch_of r;               // that one's, as it is told
    bool done = false, skipped = false, longs = false;

    __device__ __forceinline__ share_walk(segment_memory<Acc> *memory, const T *x, const T *y,
                                          const reduce_task &t, const segments &all,
                                          int64_t number)
        : task(t), s(all), queue(&memory->queue[threadIdx.x / kWarp]), warp(number),
          source(all, number),
          reader(x, y, all.elements(), memory->staged + threadIdx.x, all.team)
    {
        from = x + source.origin;
    }
    // The team's next tile, of this segment or of that ahead.
    __device__ __forceinline__ void go_on(bool works, bool last)
    {
        then.where = kNowhere;
        if (works && !last) {
            then = reader.next(now);
        } else if (ahead >= 0) {
            int begin, end, where;
            if (!source.has(ahead, r, &begin, &end, &where))
                done = true;
            else if (where != kNowhere)
                start(begin, end, where);
            ahead = -1;
        }
    }
    __device__ __forceinline__ void start(int begin, int end, int where)
    {
        if ((end - begin > s.most) != longs) {
            skipped = true;
            return;
        }
        then = reader.first(from + begin, end - begin, where);
        if (where != kBehind || reader.lane > 0) return;
        const int64_t shares = source.shares_of(ahead), most = s.warps - warp;
        s.chains[warp] = {source.first + ahead, shares < most ? shares : most};
    }
    // Which segment comes after that.
    __device__ __forceinline__ void look_ahead()
    {
        const bool wants = ahead < 0 && !done;
        if (longs) {
            if (wants) done = !source.ask_long(&ahead, &r);
            return;
        }
        const uint32_t asking = __ballot_sync(kAllLanes, wants && reader.lane == 0);
        if (wants) {
            const int leader = (int)threadIdx.x % kWarp - reader.lane;
            ahead = source.next + __popc(asking & ((1u << leader) - 1));
            source.ask(ahead, &r);
        }
        source.next += __popc(asking);
    }
    // Teams have nothing more: is there something for all lanes?
    __device__ __forceinline__ bool goes_on_with_longs()
    {
        if (longs || !__any_sync(kAllLanes, skipped)) return false;
        longs = true;
        done = false;
        source.next = 0;
        reader.set_team(kWarp);
        return true;
    }
    __device__ __forceinline__ bool has_room(uint32_t leaders) const
    {
        return queued + __popc(leaders) <= segment_queue<Acc>::room(reader.lanes);
    }
    // One place where segments are finished, whose code is long.
    __device__ __forceinline__ void fold()
    {
        Acc acc;
        acc.start(task);
#pragma unroll 1
        for (int stage = 0;; stage ^= 1) {
            const bool works = now.where != kNowhere, last = works && reader.is_last(now);
            // Within segments, where none is looked for, there is no more to do than this.
            const bool turns = __any_sync(kAllLanes, !works || last || (ahead < 0 && !done));
            bool ends = false;
            uint32_t leaders = 0; // of teams whose segments are done
            if (!turns) {
                then = reader.next(now);
            } else {
                go_on(works, last);
                look_ahead();
                ends = !__any_sync(kAllLanes, works || then.where != kNowhere || !done);
            }
            if (!ends) {
                reader.ask(then, stage ^ 1);
                await_groups_but<1>();
                if (works) reader.take(acc, now, stage, task);
                if (turns) leaders = __ballot_sync(kAllLanes, last && reader.lane == 0);
            }
            if (ends || !has_room(leaders)) {
                finish_queue(*queue, task, s, queued, reader.lanes, warp, source.first);
                queued = 0;
            }
            if (ends && !goes_on_with_longs()) return;
            if (leaders)
                queue_segments(acc, last, now.where, leaders, task, reader.lanes, queue,
                               queued);
            queued += __popc(leaders);
            now = then;
        }
    }
};

template <class Acc>
__device__ __forceinline__ void
fold_share(segment_memory<Acc> *memory, const typename Acc::T *x, const typename Acc::T *y,
           const reduce_task &task, const segments &s)
{
    const int64_t warp = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
    if (warp >= s.warps) return;
    if (threadIdx.x % kWarp == 0) s.chains[warp].output = -1;
    __syncwarp(); // that is there before another lane writes what it is
    share_walk<Acc> walk(memory, x, y, task, s, warp);
    walk.fold();
}

// A line, or as many of its tiles as of any other block of it, of which the last to end has all of it.
template <class Acc>
__device__ __forceinline__ bool
fold_line(Acc &acc, segment_memory<Acc> *memory, const typename Acc::T *x,
          const typename Acc::T *y, const reduce_task &task, const segments &s, int64_t line)
{
    constexpr int kTile = Acc::kBatch * kThreads;
    const int part = (int)(blockIdx.x - line * task.parts);
    const int64_t hop = (int64_t)kTile * task.parts;
    const stretch_reader<Acc> reader(x, y, s.elements(), memory->staged + threadIdx.x,
                                     kThreads);
    using tile = stretch_tile<typename Acc::T>;
    const tile all = reader.first(x + line * s.n, s.n, kFirst);
    const int64_t elements = s.n + reader.lead_of(all, x + line * s.n);
    const auto from = [&](int64_t at) -> tile {
        const int64_t left = elements - at;
        return {all.at + at, left > 0 ? kFirst : kNowhere,
                (int)(left < INT32_MAX ? left : INT32_MAX), at > 0 ? (short)0 : all.before,
                all.vectors};
    };
    int64_t at = (int64_t)part * kTile;
    reader.ask(from(at), 0);
#pragma unroll 1
    for (int stage = 0; at < elements; stage ^= 1, at += hop) {
        reader.ask(from(at + hop), stage ^ 1);
        await_groups_but<1>();
        reader.take(acc, from(at), stage, task);
    }
    acc.settle(task);
    return join_team(acc, kThreads, task, line, part, &memory->words);
}

// ---- what lies in several shares -----------------------------------------------------------

// A warp for each of them; false: there is none. The first lane has it.
template <class Acc>
__device__ __forceinline__ bool
join_shares(Acc &acc, const segments &s, int64_t *output)
{
    const int lane = threadIdx.x % kWarp;
    const int64_t w = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
    if (w >= s.warps) return false;
    const segment_chain c = s.chains[w];
    if (c.output < 0) return false;
    *output = c.output;
    uint64_t words[Acc::kWords];
#pragma unroll 1
    for (int64_t k = lane; k < c.records; k += kWarp) {
        const int64_t at = k == 0 ? 2 * w + kBehind : 2 * (w + k) + kBefore;
        read_words(s.records + at * Acc::kWords, words);
        acc.merge(words);
    }
    __syncwarp(); // lanes that had fewer have waited
    join_lanes(acc, c.records <= 2 ? 2 : kWarp);
    return lane == 0;
}

// What a launch folds: warps' shares, what lies in several of these, or lines.
enum segment_work { WK_SHARES, WK_CHAINS, WK_LINES };

// One kernel, as what finishes is the same code.
template <class Acc>
__global__ void
__launch_bounds__(kThreads, kSegmentBlocks)
    fold_segments(const typename Acc::T *x, const typename Acc::T *y,
                  const reduce_task __grid_constant__ task, const segments __grid_constant__ s,
                  segment_work work)
{
    WK_DYNAMIC_SHARED(unsigned char, shared);
    if (s.status && *s.status != ~0ull) return; // offsets are searched as what ascends
    auto *memory = reinterpret_cast<segment_memory<Acc> *>(shared);
    if (work == WK_SHARES) {
        fold_share(memory, x, y, task, s);
        return;
    }
    Acc acc;
    acc.start(task);
    int64_t output = 0;
    bool has = false, known = true;
    if (work == WK_CHAINS) {
        has = join_shares(acc, s, &output);
    } else if constexpr (takes_pairs<Acc>) {
        output = blockIdx.x / task.parts;
        has = fold_line(acc, memory, x, y, task, s, output);
    }
    if (has) known = acc.finish(task, output);
    if (work == WK_CHAINS) {
        if (!known) finish_later(s, output);
    } else if constexpr (takes_pairs<Acc> && !Acc::kCertain) {
        if (__syncthreads_or(!known)) // also: what the block has joined has been read
            multiply_exactly(&memory->products, x, y, task, output);
    }
}

// ---- launches ------------------------------------------------------------------------------

// How outputs are shared out, and memory for what goes between warps.
template <class Acc>
wk_status
plan_segments(wk_call *call, segments *s)
{
    const int64_t threads = (int64_t)processors(call) * kSegmentBlocks * kThreads,
                  all = s->elements();
    const auto exceeds = [&](int64_t bytes) { // a thread's share of a segment, on average
        return s->outputs * s->team * bytes < all * (int64_t)sizeof(typename Acc::T);
    };
    s->team = 1;
    while (s->team < kWarp && (exceeds(s->team == 1 ? kBytesOfAlone : kBytesOfThread) ||
                               s->outputs * s->team < threads / 2))
        s->team *= 2;
    s->weight = s->team * Acc::kBatch / 2 + 8;
    s->most = s->team < kWarp ? s->team * Acc::kBatch * kMostBatches : INT32_MAX;
    const int64_t total = all + s->outputs * s->weight,
                  wanted = total / (kWarp * Acc::kBatch) + 1, // a batch each
        least = total / ((int64_t)1 << 29) + 1;               // numbers of 32 bits in a share
    s->warps = std::max(std::min(threads / kWarp, wanted), least);
    const int64_t again = Acc::kCertain ? 0 : s->outputs, chain = sizeof(segment_chain) / 8;
    const int64_t words = s->warps * (2 * Acc::kWords + chain) + again + 1;
    void *block = nullptr;
    if (allocate(call, words * 8, &block) != WK_OK) return call->error.status;
    s->records = static_cast<uint64_t *>(block);
    s->chains = reinterpret_cast<segment_chain *>(s->records + s->warps * 2 * Acc::kWords);
    s->again = reinterpret_cast<int64_t *>(s->chains + s->warps);
    s->agains = reinterpret_cast<unsigned *>(s->again + again);
    return Acc::kCertain ? WK_OK : clear(call, s->agains, sizeof *s->agains);
}

template <class Acc>
wk_status
launch_segments(wk_call *call, const typename Acc::T *x, const typename Acc::T *y,
                const reduce_task &task, const segments &s)
{
    const auto blocks = (unsigned)((s.warps + kWarps - 1) / kWarps);
    const size_t bytes = sizeof(segment_memory<Acc>);
    if (grant(call, fold_segments<Acc>, bytes) != WK_OK ||
        launch(call, blocks, kThreads, bytes, fold_segments<Acc>, x, y, task, s, WK_SHARES) !=
            WK_OK)
        return call->error.status;
    return launch(call, blocks, kThreads, bytes, fold_segments<Acc>, x, y, task, s, WK_CHAINS);
}

// Have lines blocks of their own? Then how many, and memory for what these share.
template <class Acc>
wk_status
plan_lines(wk_call *call, reduce_task *task, const segments &s)
{
    const int64_t blocks = (int64_t)processors(call) * kSegmentBlocks;
    task->parts = 0;
    if (s.outputs > blocks / 2 || (s.n < kLongLine && s.elements() > kFewElements))
        return WK_OK;
    const int64_t tiles = s.n / (Acc::kBatch * kThreads) + 1;
    task->parts = std::min(blocks / s.outputs, tiles);
    void *records = nullptr, *tickets = nullptr;
    if (task->parts > 1 &&
        (allocate(call, s.outputs * task->parts * Acc::kWords * 8, &records) != WK_OK ||
         zeros(call, s.outputs * (int64_t)sizeof(unsigned), &tickets) != WK_OK))
        return call->error.status;
    task->records = static_cast<uint64_t *>(records);
    task->tickets = static_cast<unsigned *>(tickets);
    return WK_OK;
}

template <class Acc>
wk_status
launch_lines(wk_call *call, const typename Acc::T *x, const typename Acc::T *y,
             const reduce_task &task, const segments &s)
{
    const size_t bytes = sizeof(segment_memory<Acc>);
    if (grant(call, fold_segments<Acc>, bytes) != WK_OK) return call->error.status;
    return launch(call, (unsigned)(s.outputs * task.parts), kThreads, bytes, fold_segments<Acc>,
                  x, y, task, s, WK_LINES);
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
    task->in_double = false;
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
