// participant.cu -- see participant.cuh.
#include "pipeline/participant.cuh"

#include "settings.h"

#include <algorithm>
#include <sys/mman.h>

namespace wk
{

namespace
{

constexpr int kMostThreads = 16;     // for a GPU
constexpr int64_t kPart = 512 << 10; // bytes that a thread copies at a time

struct workers {
    participant *participants;
    int count;
};

// A thread keeps to one pipeline while there is work in it, then helps the others.
void
work_along(void *arg, int64_t begin, int64_t end, int)
{
    const workers *c = static_cast<workers *>(arg);
    for (int64_t i = begin; i < end; i++) {
        for (int turn = 0; turn < c->count; turn++)
            c->participants[(i + turn) % c->count].pipe->work();
    }
}

} // namespace

// Bytes of a piece; WARPKIT_PIECE sets them, for tests.
int64_t
piece_size(int64_t bytes)
{
    const int64_t usual = std::min(std::max(bytes / 16, kLeastPiece), kPiece);
    return wk_setting_value(WK_SET_PIECE, usual); // 16: small calls overlap too
}

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

wk_status
copy_in(void *to, const void *from, int64_t bytes, cudaStream_t stream, wk_error *error)
{
    WK_TRY(error, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, stream));
    if (is_pinned(from, bytes)) WK_TRY(error, cudaStreamSynchronize(stream));
    return WK_OK;
}

wk_status
aux_there(wk_call *call, void *place)
{
    wk_array *aux = &call->aux;
    if (aux->host == nullptr || aux->data) return WK_OK;
    if (place == nullptr && allocate(call, aux->bytes, &place) != WK_OK)
        return call->error.status;
    aux->data = place;
    return copy_in(place, aux->host, aux->bytes, session_of(call)->stream, &call->error);
}

// Pages of 2 MiB: new memory is there sooner than with pages of 4 KiB.
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

static wk_status
take_bus(participant *at, const wk_call *call, int device)
{
    wk_error *error = &at->call.error;
    current_device current;
    if (current.set(device, error) != WK_OK) return error->status;
    at->g = ready_gpu(device, error);
    if (at->g == nullptr) return error->status;
    at->bus = std::unique_lock<std::mutex>(at->g->bus);
    staging *stage = ready_stage(at->g, 0, 0, error);
    if (stage == nullptr) return error->status;
    at->s.device = device;
    at->s.stream = stage->work;
    if (call->aux.host == nullptr) return WK_OK;
    at->call.aux = call->aux;
    if (call->op == WK_STENCIL1D) return WK_OK; // its launchers take them from the host
    return aux_there(&at->call);
}

wk_status
enter_call(participant *at, wk_call *call, int device)
{
    wk_call_start(&at->call, call->op, call->outs);
    at->call.args = call->args;
    at->call.ordinal = device;
    at->call.session = &at->s;
    at->call.in = call->in;
    at->call.beside = call->beside;
    for (int i = 0; i < call->outs; i++) at->call.out[i] = call->out[i];
    const wk_status status = take_bus(at, call, device);
    return status ? wk_fail_as(&call->error, &at->call.error) : WK_OK;
}

wk_status
leave_call(participant *at, wk_call *call)
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
    give_blocks(&at->s, 0, &error);
    at->bus.unlock();
    return error.status ? wk_fail_as(&call->error, &error) : WK_OK;
}

void
drive(wk_call *call, participant *participants, int count, int64_t parts)
{
    workers c = {participants, count};
    int64_t threads = std::min<int64_t>(host->threads(call->context), kMostThreads * count);
    threads = std::min(threads, std::max<int64_t>(parts, 1));
    host->parallel(call->context, threads, 1, work_along, &c);
}

int64_t
parts_of(int64_t unit)
{
    return std::max<int64_t>(1, std::min<int64_t>(unit / kPart, kMostThreads));
}

wk_status
carry(participant *at, wk_call *call, const wk_cut *cut, direction how, void *block,
      int64_t bytes)
{
    transfer t;
    t.call = call;
    t.cut = cut;
    t.how = how;
    t.unit = (piece_size(bytes) + kElement - 1) / kElement * kElement;
    t.parts = parts_of(t.unit);
    t.pinned_in =
        how == direction::in && call->in.host && is_pinned(call->in.host, call->in.bytes);
    t.pinned_out = how == direction::out && call->outs == 1 &&
                   is_pinned(call->out[0].host, call->out[0].bytes);
    const int64_t units = (bytes + t.unit - 1) / t.unit;
    if (units == 0) return WK_OK;
    at->pipe.emplace();
    current_device current;
    if (current.set(at->g->device, &call->error) != WK_OK) return call->error.status;
    if (how == direction::out) WK_TRY(&call->error, cudaStreamSynchronize(at->s.stream));
    if (at->pipe->open(&t, at->g, &at->s, 0, units, (char *)block) != WK_OK)
        return call->error.status;
    drive(call, at, 1, units * t.parts);
    if (t.failed) return call->error.status;
    staging *stage = at->g->stage.get();
    return follow(at->g, stage->work, how == direction::in ? stage->inwards : stage->outwards,
                  &call->error);
}

} // namespace wk
