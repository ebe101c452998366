// slow.cuh -- what the doubles cannot hold: the part is folded again, by integers.
//
// Limbs in shared memory, several copies a block; lanes that share one take turns. Any exponents,
// infinities and NaN; no float arithmetic. It is also what GPUs with few float64 units use always.
#pragma once
#include "reduce/task.cuh"

namespace wk
{

constexpr int kWarps = kThreads / kWarp;

// Copies a warp: as many as lie in 12 KiB a block, so that occupancy stays.
constexpr int
copies_for(int limbs)
{
    int copies = kWarp;
    while (copies > 1 && kWarps * copies * limbs * 8 > 12 << 10) copies /= 2;
    return copies;
}

template <class Acc, bool = (Acc::kLimbs > 0)>
struct slow_memory {
};

template <class Acc>
struct slow_memory<Acc, true> {
    static constexpr int kCopies = copies_for(Acc::kLimbs);
    int64_t copy[Acc::kLimbs][kWarps * kCopies];
    int64_t limbs[Acc::kLimbs + 8], work[Acc::kLimbs + 8]; // room for a variance
    unsigned long long count;
    int flags, wanted[kThreads]; // 0: no; 1: has failed; 2: needs all limbs
};

// Adds the elements begin .. end - 1 of the output at x to the copies, by the whole block.
template <class Acc>
__device__ WK_NOINLINE void
add_slowly(slow_memory<Acc> *memory, const typename Acc::T *x, const uint8_t *mask,
           const reduce_task &task, int64_t begin, int64_t end)
{
    constexpr int kCopies = slow_memory<Acc>::kCopies, kStep = kWarps * kCopies, kMore = 4;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    int64_t *own = &memory->copy[0][warp * kCopies + lane % kCopies];
    int flags = 0;
    unsigned long long count = 0;
    const bool simple = task.folded.ndim <= 1;
    for (int64_t base = begin + warp * kWarp; base < end; base += kMore * kThreads) {
        typename Acc::T read[kMore];
#pragma unroll
        for (int j = 0; j < kMore; j++) { // on their way together
            const int64_t i = base + lane + j * kThreads;
            spot s = {i * task.stride, 0};
            read[j] = Acc::filler(task);
            if (i < end && (!simple || mask)) s = spot_of(task.folded, task.where_folded, i);
            if (i >= end || (mask && !mask[s.mask])) continue;
            if (task.planes == 2 && task.skip_nan && is_nan(x[s.at + task.other_part(x)]))
                continue;
            read[j] = x[s.at];
            if (task.skip_nan && is_nan(read[j]))
                read[j] = Acc::filler(task);
            else
                count++;
        }
        for (int turn = 0; turn < kWarp / kCopies; turn++) {
            if (lane / kCopies == turn)
                for (int j = 0; j < kMore; j++) flags |= Acc::add_slow(own, kStep, read[j]);
            __syncwarp(); // the next lane of this copy reads what this one wrote
        }
    }
    if (flags) atomicOr(&memory->flags, flags);
    if (count) atomicAdd(&memory->count, count);
}

// The copies' sums, carried.
template <class Acc>
__device__ WK_NOINLINE void
sum_copies(slow_memory<Acc> *memory)
{
    constexpr int kStep = kWarps * slow_memory<Acc>::kCopies;
    for (int b = threadIdx.x; b < Acc::kLimbs; b += kThreads) {
        int64_t sum = 0;
        for (int c = 0; c < kStep; c++) sum += memory->copy[b][c];
        memory->limbs[b] = sum;
    }
    __syncthreads(); // the limbs are there before one thread carries
    if (threadIdx.x == 0) Acc::carry(memory->limbs);
    __syncthreads(); // and carried before any thread uses them
}

template <class Acc>
__device__ WK_NOINLINE void
clear_slow(slow_memory<Acc> *memory)
{
    for (int i = threadIdx.x; i < Acc::kLimbs * kWarps * slow_memory<Acc>::kCopies;
         i += kThreads)
        (&memory->copy[0][0])[i] = 0;
    for (int b = threadIdx.x; b < Acc::kLimbs; b += kThreads) memory->limbs[b] = 0;
    if (threadIdx.x == 0) {
        memory->count = 0;
        memory->flags = 0;
    }
    __syncthreads(); // all is zero before anything is added
}

// The first thread of a team wants its output folded again: how, and the record it has.
template <class Acc>
struct wish {
    int how; // 0: nothing; 1: from the elements; 2: by all limbs
    uint64_t words[Acc::kWords];
};

// One output after the other, which are `apart` from each other: those that have failed from their
// elements, those that just need all limbs from what their first thread has.
template <class Acc>
__device__ WK_NOINLINE void
fold_again(const wish<Acc> mine, const share s, int apart, slow_memory<Acc> *memory,
           const typename Acc::T *in, const reduce_task &task)
{
    const int64_t scale = task.runs > 1 ? task.run : 1, part = s.part;
    const int own = s.own;
    for (int o = threadIdx.x; o < task.width; o += kThreads) memory->wanted[o] = 0;
    __syncthreads(); // cleared before the first threads of teams say what they want
    if (mine.how) memory->wanted[own] = mine.how;
    __syncthreads(); // said before all read it
    for (int o = 0; o < task.width; o++) {
        const int how = memory->wanted[o];
        if (how == 0) continue;
        const int64_t output = s.first_output + o * apart;
        clear_slow(memory);
        if (how == 1) {
            const spot first = spot_of(task.kept, task.where_kept, output);
            const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
            for (int k = 0; k < s.pieces; k++) {
                const units u = piece_of(task, in + first.at, s, k);
                add_slowly(memory, in + first.at, mask, task, u.begin * scale, u.end * scale);
            }
        }
        __syncthreads(); // all elements are in the copies
        sum_copies(memory);
        if (mine.how && own == o) {
            uint64_t words[Acc::kWords];
            for (int w = 0; w < Acc::kWords; w++) words[w] = mine.words[w];
            if (how == 1) {
                words[0] = memory->count;
                words[1] = (uint64_t)memory->flags;
            } else {
                Acc::add_words_to(words, (unsigned long long *)memory->limbs);
                Acc::carry(memory->limbs);
            }
            Acc::forget_doubles(words);
            if (task.records) {
                uint64_t *to = task.records + (output * task.parts + part) * Acc::kWords;
                for (int w = 0; w < Acc::kWords; w++) to[w] = words[w];
            } else {
                Acc::finish_limbs(task, output, words, memory->limbs, memory->work);
                if (task.letter.slot) send_bytes(task.letter, task.out[0]);
            }
        }
        __syncthreads(); // the limbs are carried
        for (int b = threadIdx.x; task.records && b < Acc::kLimbs; b += kThreads) {
            const auto limb = (unsigned long long)memory->limbs[b];
            if (task.own_limbs)
                task.limbs[(output * task.parts + part) * Acc::kLimbs + b] = limb;
            else if (limb)
                atomicAdd((unsigned long long *)task.limbs + output * Acc::kLimbs + b, limb);
        }
        __syncthreads(); // the limbs have been read before they are cleared for the next
    }
}

// Where the limbs of records are.
struct limbs_at {
    const uint64_t *limbs;
    int64_t step;
    bool own; // each record's, else each output's
};

// The sums of outputs' records by limbs, one after the other: of their doubles if these have failed
// to fit together, else of what the first thread has; of the parts' own limbs, and of the state's.
template <class Acc>
__device__ WK_NOINLINE void
fold_records(const wish<Acc> mine, int own, slow_memory<Acc> *memory, const reduce_task &task,
             int64_t first_output, int outputs, int64_t words_step, uint64_t *state,
             const limbs_at from)
{
    const auto all = reinterpret_cast<unsigned long long *>(memory->limbs);
    for (int o = threadIdx.x; o < outputs; o += kThreads) memory->wanted[o] = 0;
    __syncthreads(); // cleared before the first threads of teams say what they want
    if (mine.how) memory->wanted[own] = mine.how;
    __syncthreads(); // said before all read it
    for (int o = 0; o < outputs; o++) {
        const int how = memory->wanted[o];
        if (how == 0) continue;
        const int64_t output = first_output + o, records = output * task.parts;
        const bool first = mine.how && own == o;
        clear_slow(memory);
        for (int64_t p = threadIdx.x; how == 1 && p < task.parts; p += kThreads) {
            uint64_t words[Acc::kWords];
            read_record(task.records + (records + p) * words_step, words);
            Acc::add_words_to(words, all);
        }
        if (how == 1 && first && state) Acc::add_words_to(state, all);
        if (how == 2 && first) Acc::add_words_to(mine.words, all);
        __syncthreads(); // the doubles are in the limbs
        for (int b = threadIdx.x; b < Acc::kLimbs; b += kThreads) {
            for (int64_t p = 0; from.own && p < task.parts; p++) // there if the record says so
                if (__ldcg(task.records + (records + p) * words_step + 1) & kHasLimbs)
                    memory->limbs[b] +=
                        (int64_t)__ldcg(from.limbs + (records + p) * from.step + b);
            if (!from.own)
                memory->limbs[b] += (int64_t)__ldcg(from.limbs + output * from.step + b);
        }
        __syncthreads(); // and all other limbs beside them
        if (first) {
            uint64_t words[Acc::kWords];
            for (int w = 0; w < Acc::kWords; w++) words[w] = mine.words[w];
            for (int b = 0; state && b < Acc::kLimbs; b++)
                memory->limbs[b] += (int64_t)state[Acc::kWords + b];
            Acc::carry(memory->limbs);
            Acc::forget_doubles(words);
            if (state) {
                for (int w = 0; w < Acc::kWords; w++) state[w] = words[w];
                for (int b = 0; b < Acc::kLimbs; b++)
                    state[Acc::kWords + b] = (uint64_t)memory->limbs[b];
            } else {
                Acc::finish_limbs(task, output, words, memory->limbs, memory->work);
                if (task.letter.slot) send_bytes(task.letter, task.out[0]);
            }
        }
        __syncthreads(); // the limbs have been used before they are cleared for the next
    }
}

} // namespace wk
