// streamed.cu -- calls whose input lies on the host: in one trip if it is small, else piece by
// piece over every GPU that takes part, else whole.
#include "runtime/driver.cuh"
#include "runtime/lane.cuh"

#include "plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sys/mman.h>

namespace wk
{

const wk_host *host;

namespace
{

constexpr int kMostGpus = 32;
constexpr int kMostThreads = 16;     // for a GPU
constexpr int64_t kPart = 512 << 10; // bytes that a thread copies at a time

// Bytes of a piece; WARPKIT_PIECE sets them, for tests.
int64_t
piece_size(int64_t bytes)
{
    const char *text = std::getenv("WARPKIT_PIECE");
    const int64_t given = text ? std::strtoll(text, nullptr, 10) : 0;
    if (given > 0) return std::max<int64_t>(given, 1024);
    return std::min(std::max(bytes / 16, kLeastPiece),
                    kPiece); // so that small calls overlap too
}

} // namespace

bool
is_pinned(const void *begin, int64_t bytes)
{
    for (const char *p :
         {(const char *)begin, (const char *)begin + std::max<int64_t>(bytes, 1) - 1}) {
        cudaPointerAttributes a = {};
        if (cudaPointerGetAttributes(&a, p) != cudaSuccess) {
            cudaGetLastError();
            return false;
        }
        if (a.type != cudaMemoryTypeHost) return false;
    }
    return true;
}

namespace
{

// Pages of 2 MiB are made forty times faster than 512 of 4 KiB.
void
advise_huge(const wk_array *out)
{
    const uintptr_t low = ((uintptr_t)out->host + kHugePage - 1) / kHugePage * kHugePage;
    const uintptr_t high =
        ((uintptr_t)out->host + (uintptr_t)out->bytes) / kHugePage * kHugePage;
    if (low < high) madvise((void *)low, high - low, MADV_HUGEPAGE); // advice: it may fail
}

int64_t
out_bytes(const wk_call *call)
{
    int64_t bytes = 0;
    for (int i = 0; i < call->outs; i++) bytes += call->out[i].bytes;
    return bytes;
}

// One GPU of the call, from the moment that its bus is ours.
struct station {
    gpu *g = nullptr;
    session s;
    wk_call call; // for launches outside of pieces; its session is s
    std::optional<lane> road;
    wk_array aux, result;
    std::unique_lock<std::mutex> bus;
    wk_error error;
    bool quiet = false; // the call knows that its work is done
};

wk_status
pass_on(wk_call *call, const wk_error *error)
{
    return wk_fail(&call->error, error->status, error->file, error->line, "%s", error->text);
}

wk_status
arrive(station *at, wk_call *call, int device)
{
    at->error.status = WK_OK;
    at->aux.host = nullptr;
    current_device current;
    if (current.set(device, &at->error) != WK_OK) return at->error.status;
    at->g = ready_gpu(device, &at->error);
    if (at->g == nullptr) return at->error.status;
    at->bus = std::unique_lock<std::mutex>(at->g->bus);
    staging *stage = ready_stage(at->g, 0, 0, &at->error);
    if (stage == nullptr) return at->error.status;
    at->s.device = device;
    at->s.stream = stage->work;
    wk_call_start(&at->call, call->op, call->outs);
    at->call.args = call->args;
    at->call.ordinal = device;
    at->call.session = &at->s;
    for (int i = 0; i < call->outs; i++) at->call.out[i] = call->out[i];
    at->call.in = call->in;
    at->aux = call->aux;
    if (call->aux.host == nullptr) return WK_OK;
    if (allocate(&at->call, call->aux.bytes, &at->aux.data) != WK_OK)
        return wk_fail(&at->error, at->call.error.status, at->call.error.file,
                       at->call.error.line, "%s", at->call.error.text);
    WK_TRY(&at->error, cudaMemcpyAsync(at->aux.data, at->aux.host, (size_t)at->aux.bytes,
                                       cudaMemcpyHostToDevice, stage->work));
    at->call.aux = at->aux;
    return WK_OK;
}

// Waits for all that was put on the GPU's streams, whatever became of the call.
wk_status
depart(station *at)
{
    if (!at->bus.owns_lock()) return WK_OK;
    wk_error error = {};
    current_device current;
    current.set(at->g->device, &error);
    staging *stage = at->g->stage.get();
    if (stage && !at->quiet) {
        for (cudaStream_t stream : {stage->inwards, stage->outwards, stage->work}) {
            const cudaError_t code = stream ? cudaStreamSynchronize(stream) : cudaSuccess;
            if (code != cudaSuccess)
                failed(&error, code, "cudaStreamSynchronize(stream)", __FILE__, __LINE__);
        }
    }
    give_blocks(&at->s, &error);
    at->bus.unlock();
    if (error.status != WK_OK && at->error.status == WK_OK) at->error = error;
    return error.status;
}

// ---- several threads, several lanes -----------------------------------------------------------

struct crew {
    station *stations;
    int count;
};

// A thread keeps to one lane while there is work in it, then helps the others.
void
work_along(void *arg, int64_t begin, int64_t end, int)
{
    const crew *c = static_cast<crew *>(arg);
    for (int64_t i = begin; i < end; i++) {
        for (int turn = 0; turn < c->count; turn++)
            c->stations[(i + turn) % c->count].road->work();
    }
}

void
drive(wk_call *call, station *stations, int count, int64_t parts)
{
    crew c = {stations, count};
    int64_t threads = std::min<int64_t>(host->threads(call->context), kMostThreads * count);
    threads = std::min(threads, std::max<int64_t>(parts, 1));
    host->parallel(call->context, threads, 1, work_along, &c);
}

int64_t
parts_of(int64_t unit)
{
    return std::max<int64_t>(1, std::min<int64_t>(unit / kPart, kMostThreads));
}

// ---- whole: for what cannot be cut finely enough ----------------------------------------------

// The units of one piece, in or out, by all threads.
wk_status
carry(station *at, wk_call *call, const wk_cut *cut, way how, void *block, int64_t bytes)
{
    trip t;
    t.call = call;
    t.cut = cut;
    t.how = how;
    t.unit = (piece_size(bytes) + 7) / 8 * 8;
    t.parts = parts_of(t.unit);
    t.pinned_in = how == way::in && call->in.host && is_pinned(call->in.host, call->in.bytes);
    t.pinned_out =
        how == way::out && call->outs == 1 && is_pinned(call->out[0].host, call->out[0].bytes);
    const int64_t units = (bytes + t.unit - 1) / t.unit;
    if (units == 0) return WK_OK;
    at->road.emplace();
    current_device current;
    if (current.set(at->g->device, &call->error) != WK_OK) return call->error.status;
    if (how == way::out) WK_TRY(&call->error, cudaStreamSynchronize(at->s.stream));
    if (at->road->open(&t, at->g, &at->s, 0, units, (char *)block) != WK_OK)
        return call->error.status;
    drive(call, at, 1, units * t.parts);
    if (t.failed) return call->error.status;
    staging *stage = at->g->stage.get();
    return follow(at->g, stage->work, how == way::in ? stage->inwards : stage->outwards,
                  &call->error);
}

wk_status
run_whole(wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    station at;
    wk_cut_call(call, INT64_MAX / 2, 0, &cut);
    wk_piece_of(call, &cut, 0, &all);
    wk_status status = arrive(&at, call, call->ordinal);
    void *in = nullptr, *out = nullptr;
    if (status) pass_on(call, &at.error);
    current_device current;
    if (!status) status = current.set(call->ordinal, &call->error);
    if (!status && (allocate(&at.call, all.in_bytes, &in) != WK_OK ||
                    allocate(&at.call, all.out_bytes, &out) != WK_OK))
        status = pass_on(call, &at.call.error);
    if (call->progress) call->progress[1] = 1;
    int64_t *progress = call->progress;
    call->progress = nullptr; // one piece: it is there, or it is not
    if (!status) status = carry(&at, call, &cut, way::in, in, all.in_bytes);
    if (!status) {
        wk_piece_call(call, &cut, &all, in, out, &at.call);
        at.call.part = {};
        void *counts = nullptr;
        if (all.outs == 0) { // a histogram: its counts are no part of a piece
            if (allocate(&at.call, call->out[0].bytes, &counts) == WK_OK)
                at.call.out[0].data = counts;
        }
        if (at.call.error.status || launch(&at.call)) status = pass_on(call, &at.call.error);
        if (!status && counts)
            status = cudaMemcpyAsync(call->out[0].host, counts, (size_t)call->out[0].bytes,
                                     cudaMemcpyDeviceToHost, at.s.stream) == cudaSuccess
                         ? WK_OK
                         : WK_FAIL(&call->error, WK_EDEVICE, "cannot copy the counts back");
    }
    if (!status && all.outs) status = carry(&at, call, &cut, way::out, out, all.out_bytes);
    if (progress) *progress = 1;
    call->progress = progress;
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    return status;
}

// ---- in pieces ----------------------------------------------------------------------------------

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
            return pass_on(t->call, &call->error);
        if (t->cut->folds) at->road->part.totals = *block;
    }
    if (call->op == WK_HISTOGRAM) {
        at->road->part.later = 1;
        at->result = t->call->out[0];
        at->result.data = *block;
        at->road->result = &at->result;
    }
    if (at->aux.host) at->road->aux = &at->aux;
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
            return pass_on(call, &home->call.error);
        WK_TRY(&call->error,
               cudaMemcpyPeerAsync(copy, home->g->device, states[i], stations[i].g->device,
                                   (size_t)bytes, home->s.stream));
        if (launch(&home->call, grid_for(&home->call, bytes / 8, 256), 256, 0, add_words,
                   (uint64_t *)states[0], (const uint64_t *)copy, bytes / 8) != WK_OK)
            return pass_on(call, &home->call.error);
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
            return pass_on(call, &home->call.error);
        home->call.part.totals = state;
        home->call.part.finish = 1;
        home->call.part.chunks = cut->chunks;
        if (launch(&home->call) != WK_OK) return pass_on(call, &home->call.error);
    }
    if (call->out[0].bytes < kSmallCall) {
        WK_TRY(&call->error,
               cudaMemcpyAsync(call->out[0].host, out->data, (size_t)call->out[0].bytes,
                               cudaMemcpyDeviceToHost, home->s.stream));
        return WK_OK;
    }
    wk_cut back;
    wk_cut_download(&call->out[0], INT64_MAX / 2, &back);
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
    for (int i = 0; i < count && !status; i++) { // in the order of the devices: no deadlock
        status = arrive(&stations[i], call, devices[i]);
        if (status) pass_on(call, &stations[i].error);
    }
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
    for (int i = 0; i < count; i++)
        if (depart(&stations[i]) != WK_OK && !status)
            status = pass_on(call, &stations[i].error);
    return status;
}

// ---- small ----------------------------------------------------------------------------------------

// One slot in, one kernel, one slot back; a result of one element comes by letter.
wk_status
run_small(wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    station at;
    const bool empty = wk_size(&call->in) == 0;
    if (empty)
        all.outs = 0, all.in_bytes = all.out_bytes = 0;
    else {
        wk_cut_call(call, INT64_MAX / 2, 0, &cut);
        wk_piece_of(call, &cut, 0, &all);
    }
    if (arrive(&at, call, call->ordinal) != WK_OK) {
        pass_on(call, &at.error);
        depart(&at);
        return call->error.status;
    }
    auto body = [&]() -> wk_status {
        current_device current;
        wk_error *error = &call->error;
        if (current.set(call->ordinal, error) != WK_OK) return error->status;
        int64_t packed = all.out_bytes;
        if (all.outs == 0) packed = out_bytes(call);
        staging *stage = ready_stage(at.g, std::max(kSmallCall, all.in_bytes),
                                     std::max(kSmallCall, packed), error);
        if (stage == nullptr) return error->status;
        void *in = nullptr, *out = nullptr;
        if (allocate(&at.call, all.in_bytes, &in) != WK_OK ||
            allocate(&at.call, packed, &out) != WK_OK)
            return pass_on(call, &at.call.error);
        if (all.in_bytes > 0) {
            wk_piece_fill(call, &cut, &all, 0, all.in_bytes, stage->in);
            WK_TRY(error, cudaMemcpyAsync(in, stage->in, (size_t)all.in_bytes,
                                          cudaMemcpyHostToDevice, at.s.stream));
        }
        if (!empty)
            wk_piece_call(call, &cut, &all, in, out, &at.call);
        else
            at.call.in.data = in;
        at.call.part = {};
        if (all.outs == 0) at.call.out[0].data = out;
        const bool one = call->op == WK_REDUCE && call->args.reduce.outputs == 1;
        if (one) offer_letter(at.g, (int)packed, &at.call.letter);
        uint64_t bits = 0;
        wk_status status = launch(&at.call);
        if (status) {
            pass_on(call, &at.call.error);
            at.call.letter.sent = 0; // the kernel that sends it is the last
        }
        const wk_letter *letter = &at.call.letter;
        if (!status && letter->sent) {
            status = read_letter(at.s.stream, letter, &bits, error);
            if (!status) memcpy(call->out[0].host, &bits, (size_t)packed);
        }
        if (one) return_letter(at.g, letter);
        at.quiet = !status && letter->sent;
        if (status || letter->sent) return status;
        WK_TRY(error, cudaMemcpyAsync(stage->out, out, (size_t)packed, cudaMemcpyDeviceToHost,
                                      at.s.stream));
        WK_TRY(error, cudaStreamSynchronize(at.s.stream));
        at.quiet = true;
        if (all.outs)
            wk_piece_drain(&all, 0, packed, stage->out, 0);
        else
            memcpy(call->out[0].host, stage->out, (size_t)packed);
        return WK_OK;
    };
    wk_status status = body();
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    if (call->progress) call->progress[0] = call->progress[1] = 1;
    return status;
}

} // namespace

wk_status
run_streamed(wk_call *call, wk_launch *launch, int takes_parts)
{
    const int64_t in = wk_size(&call->in) * wk_itemsize[call->in.dtype], out = out_bytes(call);
    const char *forced = std::getenv("WARPKIT_PIECE");
    if (in == 0 || (in + out <= kSmallCall && !forced)) return run_small(call, launch);
    if (call->fresh)
        for (int i = 0; i < call->outs; i++) advise_huge(&call->out[i]);
    wk_cut cut;
    wk_cut_call(call, piece_size(std::max(in, out)), takes_parts, &cut);
    if (std::max(cut.in_bytes, cut.out_bytes) > kMostPiece) return run_whole(call, launch);
    if (call->progress) call->progress[1] = cut.pieces;
    const wk_status status = run_pieces(call, &cut, launch);
    if (call->progress) call->progress[0] = call->progress[1];
    return status;
}

// ---- arrays from the host to the device and back ------------------------------------------------

// in on the host, out[0] on the device, or the other way round; both sides C-contiguous but for
// an input on the host. Waits.
wk_status
copy_over_bus(wk_call *call)
{
    station at;
    wk_cut cut;
    const bool up = call->in.host != nullptr;
    const int64_t bytes = call->out[0].bytes;
    if (up)
        wk_cut_upload(&call->in, INT64_MAX / 2, &cut);
    else
        wk_cut_download(&call->out[0], INT64_MAX / 2, &cut);
    if (call->fresh && !up) advise_huge(&call->out[0]);
    wk_status status = arrive(&at, call, call->ordinal);
    if (status) pass_on(call, &at.error);
    const cudaStream_t own = (cudaStream_t)call->stream;
    if (!status) status = follow(at.g, at.s.stream, own, &call->error);
    if (!status)
        status = carry(&at, call, &cut, up ? way::in : way::out,
                       up ? call->out[0].data : call->in.data, bytes);
    if (!status) status = follow(at.g, own, at.s.stream, &call->error);
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    return status;
}

} // namespace wk
