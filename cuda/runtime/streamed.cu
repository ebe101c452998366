// streamed.cu -- calls whose input lies on the host: in one trip if it is small, else piece by
// piece over every GPU that takes part, else whole.
#include "runtime/station.cuh"

#include "plan.h"

#include <algorithm>
#include <memory>

namespace wk
{

namespace
{

__global__ void
add_words(uint64_t *to, const uint64_t *from, int64_t n)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        to[i] += from[i];
}

// Totals, or counts: what every GPU has for itself until the end. Counts add; of totals each
// word is zero on all GPUs but one.
int64_t
state_bytes(const wk_call *call, const wk_cut *cut)
{
    if (cut->folds) return call->args.reduce.outputs * cut->chunks * 8;
    return call->op == WK_HISTOGRAM ? call->out[0].bytes : 0;
}

wk_status
open_lane(station *at, trip *t, int64_t first, int64_t count, int64_t state, void **block)
{
    wk_call *call = &at->call;
    current_device current;
    at->road.emplace();
    if (current.set(at->g->device, &t->call->error) != WK_OK) return t->call->error.status;
    if (state > 0) {
        if (allocate(call, state, block) != WK_OK || clear(call, *block, state) != WK_OK)
            return wk_fail_as(&t->call->error, &call->error);
        if (t->cut->folds) at->road->part.totals = *block;
    }
    if (call->op == WK_HISTOGRAM) {
        at->road->part.later = 1;
        call->out[0].data = *block;
        at->road->result = &call->out[0];
    }
    if (call->aux.host) at->road->aux = &call->aux;
    return at->road->open(t, at->g, &at->s, first, count, nullptr);
}

// Adds the states of all stations into the first one's.
wk_status
gather_states(wk_call *call, station *stations, int count, void **states, int64_t bytes)
{
    station *home = &stations[0];
    void *copy = nullptr;
    for (int i = 1; i < count; i++) {
        current_device current;
        if (current.set(stations[i].g->device, &call->error) != WK_OK)
            return call->error.status;
        WK_TRY(&call->error, cudaStreamSynchronize(stations[i].s.stream));
        current_device back;
        if (back.set(home->g->device, &call->error) != WK_OK) return call->error.status;
        if (i == 1 && allocate(&home->call, bytes, &copy) != WK_OK)
            return wk_fail_as(&call->error, &home->call.error);
        WK_TRY(&call->error,
               cudaMemcpyPeerAsync(copy, home->g->device, states[i], stations[i].g->device,
                                   (size_t)bytes, home->s.stream));
        if (launch(&home->call, grid_for(&home->call, bytes / 8, 256), 256, 0, add_words,
                   (uint64_t *)states[0], (const uint64_t *)copy, bytes / 8) != WK_OK)
            return wk_fail_as(&call->error, &home->call.error);
    }
    return WK_OK;
}

// The result of a call whose pieces have none of their own.
wk_status
finish(wk_call *call, const wk_cut *cut, wk_launch *launch, station *home, void *state)
{
    wk_array *out = &home->call.out[0];
    current_device current;
    if (current.set(home->g->device, &call->error) != WK_OK) return call->error.status;
    out->data = state;
    if (cut->folds) {
        if (allocate(&home->call, out->bytes, &out->data) != WK_OK)
            return wk_fail_as(&call->error, &home->call.error);
        home->call.part.totals = state;
        home->call.part.finish = 1;
        home->call.part.chunks = cut->chunks;
        if (launch(&home->call) != WK_OK) return wk_fail_as(&call->error, &home->call.error);
    }
    if (call->out[0].bytes < kSmallCall) {
        WK_TRY(&call->error,
               cudaMemcpyAsync(call->out[0].host, out->data, (size_t)call->out[0].bytes,
                               cudaMemcpyDeviceToHost, home->s.stream));
        return WK_OK;
    }
    wk_cut back;
    wk_cut_download(&call->out[0], &back);
    return carry(home, call, &back, way::out, out->data, call->out[0].bytes);
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
    std::unique_ptr<station[]> stations(new (std::nothrow) station[count]);
    if (!stations) return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %d lanes", count);
    void *states[kMostGpus] = {};
    const int64_t state = state_bytes(call, cut);
    trip t;
    t.call = call;
    t.cut = cut;
    t.launch = launch;
    t.parts = parts_of(std::max(cut->in_bytes, cut->out_bytes));
    t.pinned_in = is_pinned(call->in.host, call->in.bytes);
    t.pinned_out = call->outs == 1 && is_pinned(call->out[0].host, call->out[0].bytes);
    wk_status status = WK_OK;
    for (int i = 0; i < count && !status; i++) // in the order of the devices: no deadlock
        status = arrive(&stations[i], call, devices[i]);
    for (int i = 0; i < count && !status; i++) {
        const int64_t first = cut->pieces * i / count, after = cut->pieces * (i + 1) / count;
        status = open_lane(&stations[i], &t, first, after - first, state, &states[i]);
    }
    if (!status) {
        drive(call, stations.get(), count, cut->pieces * t.parts);
        if (t.failed) status = call->error.status;
    }
    if (!status && state > 0) {
        status = gather_states(call, stations.get(), count, states, state);
        if (!status) status = finish(call, cut, launch, &stations[0], states[0]);
    }
    for (int i = 0; i < count; i++) {
        const wk_status left = depart(&stations[i], call);
        if (!status) status = left;
    }
    return status;
}

} // namespace

wk_status
run_streamed(wk_call *call, wk_launch *launch, int takes_parts)
{
    const int64_t in = wk_size(&call->in) * wk_itemsize[call->in.dtype], out = out_bytes(call);
    const int64_t piece = piece_size(std::max(in, out));
    if (in == 0 || in + out <= std::min(kSmallCall, piece)) return run_small(call, launch);
    if (call->fresh)
        for (int i = 0; i < call->outs; i++) advise_huge(&call->out[i]);
    wk_cut cut;
    wk_cut_call(call, piece, takes_parts, &cut);
    if (std::max(cut.in_bytes, cut.out_bytes) > kMostPiece) return run_whole(call, launch);
    if (call->progress) call->progress[1] = cut.pieces;
    return run_pieces(call, &cut, launch);
}

} // namespace wk
