// streamed.cu -- calls whose input lies on the host: in one transfer if it is small, else piece by
// piece over every GPU that takes part, else whole.
#include "pipeline/participant.cuh"
#include "runtime/driver.cuh"

#include "plan.h"
#include "reduce.h"

#include <algorithm>
#include <memory>

namespace wk
{

namespace
{

// Of the sums of weights, bytes: 10^6 bins of float64 take 0.7 GB. Beyond, as many bins as 64 MiB hold
// at a time, for which all weights must be there.
constexpr int64_t kMostState = int64_t{1} << 30;

__global__ void
add_words(uint64_t *to, const uint64_t *from, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] += from[i];
}

// Is the fold's order fixed? Then it keeps a total per chunk, and each word is zero on all GPUs but
// one.
bool
is_tree(const wk_call *call)
{
    return call->op == WK_REDUCE &&
           wk_family_of(call->args.reduce.fold, call->outs, call->in.dtype) == WK_FAMILY_TREE;
}

bool
sums_weights(const wk_call *call)
{
    return call->op == WK_HISTOGRAM && call->beside.ndim >= 0;
}

// Do pieces keep a state, which a last launch finishes?
bool
keeps_state(const wk_call *call, const wk_cut *cut)
{
    return cut->folds || sums_weights(call);
}

// The state, or counts: what every GPU has for itself until the end.
wk_status
state_bytes(wk_call *call, const wk_cut *cut, wk_launch *launch, int64_t *bytes)
{
    *bytes = call->op == WK_HISTOGRAM ? call->out[0].bytes : 0;
    if (!keeps_state(call, cut)) return WK_OK;
    int64_t words = cut->chunks * (wk_is_complex(call->in.dtype) ? 2 : 1);
    if (!is_tree(call)) {
        call->part.mode = WK_SIZE;
        const wk_status status = launch(call);
        call->part.mode = WK_WHOLE;
        if (status) return status;
        words = call->part.words;
    }
    const int64_t states =
        sums_weights(call) ? wk_size(&call->out[0]) : call->args.reduce.outputs;
    *bytes = states * words * 8;
    return WK_OK;
}

wk_status
open_pipeline(participant *at, transfer *t, int64_t first, int64_t count, int64_t state,
              void **block)
{
    wk_call *call = &at->call;
    current_device current;
    at->pipe.emplace();
    if (current.set(at->g->device, &t->call->error) != WK_OK) return t->call->error.status;
    if (state > 0) {
        if (allocate(call, state, block) != WK_OK || clear(call, *block, state) != WK_OK)
            return wk_fail_as(&t->call->error, &call->error);
        at->pipe->part.mode = WK_PIECE;
        if (keeps_state(call, t->cut)) at->pipe->part.state = *block;
    }
    if (call->op == WK_HISTOGRAM && !sums_weights(call)) {
        call->out[0].data = *block;
        at->pipe->result = &call->out[0];
    }
    if (call->aux.host) at->pipe->aux = &call->aux;
    return at->pipe->open(t, at->g, &at->s, first, count, nullptr);
}

// Adds the states of all participants into the first one's.
wk_status
gather_states(wk_call *call, wk_launch *add, participant *participants, int count,
              void **states, int64_t bytes)
{
    participant *home = &participants[0];
    void *copy = nullptr;
    for (int i = 1; i < count; i++) {
        current_device current;
        if (current.set(participants[i].g->device, &call->error) != WK_OK)
            return call->error.status;
        WK_TRY(&call->error, cudaStreamSynchronize(participants[i].s.stream));
        current_device back;
        if (back.set(home->g->device, &call->error) != WK_OK) return call->error.status;
        if (i == 1 && allocate(&home->call, bytes, &copy) != WK_OK)
            return wk_fail_as(&call->error, &home->call.error);
        WK_TRY(&call->error,
               cudaMemcpyPeerAsync(copy, home->g->device, states[i], participants[i].g->device,
                                   (size_t)bytes, home->s.stream));
        if (add) {
            home->call.part.mode = WK_MERGE;
            home->call.part.state = states[0];
            home->call.part.other = copy;
            const wk_status status = add(&home->call);
            if (status) return wk_fail_as(&call->error, &home->call.error);
        } else if (launch(&home->call, grid_for(&home->call, bytes / 8, 256), 256, 0, add_words,
                          (uint64_t *)states[0], (const uint64_t *)copy, bytes / 8) != WK_OK) {
            return wk_fail_as(&call->error, &home->call.error);
        }
    }
    return WK_OK;
}

// Results that lie packed on the device, to where they belong.
wk_status
fetch(wk_call *call, participant *home, int which, void *from)
{
    const wk_array *out = &call->out[which];
    if (out->bytes < kSmallCall) {
        WK_TRY(&call->error, cudaMemcpyAsync(out->host, from, (size_t)out->bytes,
                                             cudaMemcpyDeviceToHost, home->s.stream));
        return WK_OK;
    }
    wk_cut back;
    wk_call one = *call;
    one.out[0] = *out;
    wk_cut_download(out, &back);
    const wk_status status = carry(home, &one, &back, direction::out, from, out->bytes);
    return status ? wk_fail_as(&call->error, &one.error) : WK_OK;
}

// The results of a call whose pieces have none of their own.
wk_status
finish(wk_call *call, const wk_cut *cut, wk_launch *launch, participant *home, void *state)
{
    wk_call *there = &home->call;
    current_device current;
    if (current.set(home->g->device, &call->error) != WK_OK) return call->error.status;
    there->out[0].data = state;
    if (keeps_state(call, cut)) {
        for (int i = 0; i < call->outs; i++)
            if (allocate(there, call->out[i].bytes, &there->out[i].data) != WK_OK)
                return wk_fail_as(&call->error, &there->error);
        there->part.mode = WK_FINISH;
        there->part.state = state;
        there->part.chunks = cut->chunks;
        if (launch(there) != WK_OK) return wk_fail_as(&call->error, &there->error);
    }
    for (int i = 0; i < call->outs; i++)
        if (fetch(call, home, i, there->out[i].data) != WK_OK) return call->error.status;
    return WK_OK;
}

int
devices_of(const wk_call *call, int *devices)
{
    int count = 0;
    for (int i = 0; i < kMostGpus; i++)
        if (call->devices >> i & 1) devices[count++] = i;
    if (count == 0) devices[count++] = call->ordinal;
    return count;
}

wk_status
run_pieces(wk_call *call, const wk_cut *cut, wk_launch *launch)
{
    int devices[kMostGpus];
    const int count = (int)std::min<int64_t>(devices_of(call, devices), cut->pieces);
    std::unique_ptr<participant[]> participants(new (std::nothrow) participant[count]);
    if (!participants)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %d pipelines", count);
    void *states[kMostGpus] = {};
    int64_t state = 0;
    if (state_bytes(call, cut, launch, &state) != WK_OK) return call->error.status;
    if (sums_weights(call) && state > kMostState) {
        if (count == 1) return run_whole(call, launch);
        return WK_FAIL(
            &call->error, WK_EVALUE,
            "sums of weights in %lld bins take %lld bytes on each device, which only "
            "one device does without: name one",
            (long long)wk_size(&call->out[0]), (long long)state);
    }
    transfer t;
    t.call = call;
    t.cut = cut;
    t.launch = launch;
    t.parts = parts_of(std::max(cut->in_bytes, cut->out_bytes));
    t.pinned_in = is_pinned(call->in.host, call->in.bytes);
    t.pinned_out = call->outs == 1 && is_pinned(call->out[0].host, call->out[0].bytes);
    wk_status status = WK_OK;
    for (int i = 0; i < count && !status; i++) // in the order of the devices: no deadlock
        status = enter_call(&participants[i], call, devices[i]);
    for (int i = 0; i < count && !status; i++) {
        const int64_t first = cut->pieces * i / count, after = cut->pieces * (i + 1) / count;
        status = open_pipeline(&participants[i], &t, first, after - first, state, &states[i]);
    }
    if (!status) {
        drive(call, participants.get(), count, cut->pieces * t.parts);
        if (t.failed) status = call->error.status;
    }
    if (!status && state > 0) {
        wk_launch *add = keeps_state(call, cut) && !is_tree(call) ? launch : nullptr;
        status = gather_states(call, add, participants.get(), count, states, state);
        if (!status) status = finish(call, cut, launch, &participants[0], states[0]);
    }
    for (int i = 0; i < count; i++) {
        const wk_status left = leave_call(&participants[i], call);
        if (!status) status = left;
    }
    return status;
}

} // namespace

wk_status
run_streamed(wk_call *call, wk_launch *launch, int takes_parts)
{
    const int beside = call->beside.ndim >= 0 ? wk_itemsize[call->beside.dtype] : 0;
    const int64_t in = wk_size(&call->in) * (wk_itemsize[call->in.dtype] + beside);
    const int64_t out = out_bytes(call), piece = piece_size(std::max(in, out));
    const bool block =
        call->op >= WK_SMEM_TILE; // what one block takes: never more than a little
    if (in == 0 || block || in + out <= std::min(kSmallCall, piece))
        return run_small(call, launch);
    if (call->fresh)
        for (int i = 0; i < call->outs; i++) advise_huge(&call->out[i]);
    if (wk_takes_all(call->op)) return run_whole(call, launch);
    wk_cut cut;
    wk_cut_call(call, piece, takes_parts, &cut);
    if (std::max(cut.in_bytes, cut.out_bytes) > kMostPiece) return run_whole(call, launch);
    count_blocks(nullptr); // pieces are, or those of the one piece
    if (call->progress) call->progress[1] = cut.pieces;
    return run_pieces(call, &cut, launch);
}

} // namespace wk
