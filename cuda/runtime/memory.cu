// memory.cu -- device memory in a stream's order, order between streams, and mailboxes: small
// results that the host reads without asking the driver.
#include "runtime/driver.cuh"
#include "runtime/staging.cuh"

#include <atomic>
#include <chrono>
#include <thread>

namespace wk
{

namespace
{

constexpr int64_t kZeros = 16 << 10; // bytes of zeros for a stream: tickets of 4096 outputs
constexpr int kSlotWords = 8;        // 64 bytes, a cache line, so that readers do not disturb

wk_status
no_room(gpu *g, int64_t bytes, wk_error *error)
{
    size_t free = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&free, &total);
    return WK_FAIL(error, WK_EMEMORY,
                   "cannot allocate %lld bytes on %s:%d: %zu of %zu are free%s",
                   (long long)bytes, wk_kind_names[driver_kind], g->device, free, total,
                   g->limit ? ", and WARPKIT_POOL_LIMIT is set" : "");
}

bool
take_idle(gpu *g, cudaStream_t stream, size_t size, void **block)
{
    std::lock_guard<std::mutex> hold(g->lock);
    for (auto i = g->idle.rbegin(); i != g->idle.rend(); ++i) {
        if (i->stream != stream || i->bytes != size) continue;
        *block = i->block;
        g->idle_bytes -= size;
        g->idle.erase(std::next(i).base());
        return true;
    }
    return false;
}

cudaError_t
free_block(const gpu *g, cudaStream_t stream, void *block)
{
    return g->pool ? cudaFreeAsync(block, stream) : cudaFree(block);
}

// False: there were none.
bool
drop_idle(gpu *g)
{
    const bool some = !g->idle.empty();
    for (const idle_block &b : g->idle) free_block(g, b.stream, b.block);
    g->idle.clear();
    g->idle_bytes = 0;
    return some;
}

cudaError_t
new_block(const gpu *g, cudaStream_t stream, size_t size, void **block)
{
    return g->pool ? cudaMallocFromPoolAsync(block, size, g->pool, stream)
                   : cudaMalloc(block, size);
}

} // namespace

wk_status
take_block(gpu *g, cudaStream_t stream, int64_t bytes, void **block, wk_error *error)
{
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    if (take_idle(g, stream, size, block)) return WK_OK;
    current_device current;
    if (current.set(g->device, error) != WK_OK) return error->status;
    cudaError_t code = new_block(g, stream, size, block);
    if (code == cudaErrorMemoryAllocation) { // as long as others wait in vain
        std::lock_guard<std::mutex> hold(g->lock);
        cudaGetLastError();
        if (drop_idle(g)) code = new_block(g, stream, size, block);
    }
    if (code == cudaErrorMemoryAllocation) return no_room(g, bytes, error);
    WK_TRY(error, code);
    return WK_OK;
}

// As long as the process: the default stream, and ours. For these blocks are kept.
static bool
lasts(const gpu *g, cudaStream_t stream)
{
    return stream == (cudaStream_t)WK_DEFAULT_STREAM || stream == g->work.load();
}

wk_status
give_block(gpu *g, cudaStream_t stream, void *block, int64_t bytes, wk_error *error)
{
    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    current_device current;
    if (size > g->idle_room / 4 || !lasts(g, stream)) {
        if (current.set(g->device, error) != WK_OK) return error->status;
        WK_TRY(error, free_block(g, stream, block));
        return WK_OK;
    }
    std::lock_guard<std::mutex> hold(g->lock);
    g->idle.push_back({stream, size, block});
    g->idle_bytes += size;
    while (g->idle.size() > kMostIdle || g->idle_bytes > g->idle_room) {
        if (current.set(g->device, error) != WK_OK) return error->status;
        const idle_block oldest = g->idle.front();
        free_block(g, oldest.stream, oldest.block);
        g->idle_bytes -= oldest.bytes;
        g->idle.erase(g->idle.begin());
    }
    return WK_OK;
}

wk_status
give_blocks(session *s, int left, wk_error *error)
{
    gpu *g = s->count > left ? ready_gpu(s->device, error) : nullptr;
    if (s->count > left && g == nullptr) return error->status;
    wk_error first = {};
    for (; s->count > left; s->count--) // all of them, whatever fails
        give_block(g, s->stream, s->blocks[s->count - 1].block, s->blocks[s->count - 1].bytes,
                   &first);
    return first.status ? wk_fail_as(error, &first) : WK_OK;
}

wk_status
allocate(wk_call *call, int64_t bytes, void **block)
{
    session *s = session_of(call);
    gpu *g = ready_gpu(s->device, &call->error);
    if (g == nullptr) return call->error.status;
    constexpr int most = sizeof s->blocks / sizeof s->blocks[0];
    if (s->count == most)
        return WK_FAIL(&call->error, WK_EDEVICE, "a call holds at most %d blocks", most);
    if (take_block(g, s->stream, bytes, block, &call->error) != WK_OK)
        return call->error.status;
    s->blocks[s->count++] = {*block, bytes};
    return WK_OK;
}

void
drop_kept_blocks(gpu *g)
{
    drop_idle(g);
    for (const zero_block &z : g->zeros) free_block(g, z.stream, z.block);
    g->zeros.clear();
}

int64_t
kept_bytes(const gpu *g)
{
    return (int64_t)g->zeros.size() * kZeros + (int64_t)g->idle_bytes;
}

// The stream's zeros, unless a kernel may have failed since.
static void *
kept_zeros(gpu *g, cudaStream_t stream)
{
    std::lock_guard<std::mutex> hold(g->lock);
    for (size_t i = 0; i < g->zeros.size(); i++) {
        const zero_block z = g->zeros[i];
        if (z.stream != stream) continue;
        if (z.failures == failures()) return z.block;
        free_block(g, z.stream, z.block);
        g->zeros.erase(g->zeros.begin() + (std::ptrdiff_t)i);
        return nullptr;
    }
    return nullptr;
}

wk_status
zeros(wk_call *call, int64_t bytes, void **block)
{
    session *s = session_of(call);
    gpu *g = ready_gpu(s->device, &call->error);
    if (g == nullptr) return call->error.status;
    if (bytes > kZeros || !lasts(g, s->stream)) {
        if (allocate(call, bytes, block) != WK_OK) return call->error.status;
        return clear(call, *block, bytes);
    }
    *block = kept_zeros(g, s->stream);
    if (*block) return WK_OK;
    const unsigned before = failures();
    if (allocate(call, kZeros, block) != WK_OK || clear(call, *block, kZeros) != WK_OK)
        return call->error.status;
    std::lock_guard<std::mutex> hold(g->lock);
    if (g->zeros.size() < kMostZeros) { // several threads may have made some for one stream
        g->zeros.push_back({s->stream, *block, before});
        s->count--; // it stays when the session ends
    }
    return WK_OK;
}

wk_status
clear(wk_call *call, void *block, int64_t bytes)
{
    WK_TRY(&call->error, cudaMemsetAsync(block, 0, (size_t)bytes, session_of(call)->stream));
    return WK_OK;
}

wk_status
follow(gpu *g, cudaStream_t later, cudaStream_t earlier, wk_error *error)
{
    if (later == earlier) return WK_OK;
    current_device current; // the default stream is that of the current device
    if (current.set(g->device, error) != WK_OK) return error->status;
    std::lock_guard<std::mutex> hold(
        g->lock); // the event is free again when the wait is queued
    if (g->order == nullptr)
        WK_TRY(error, cudaEventCreateWithFlags(&g->order, cudaEventDisableTiming));
    WK_TRY(error, cudaEventRecord(g->order, earlier));
    WK_TRY(error, cudaStreamWaitEvent(later, g->order, 0));
    return WK_OK;
}

// ---- what the host waits for, while the call's stream goes on ----------------------------------

wk_status
begin_telling(wk_call *call)
{
    const session *s = session_of(call);
    gpu *g = ready_gpu(s->device, &call->error);
    if (g == nullptr) return call->error.status;
    {
        std::lock_guard<std::mutex> hold(g->lock);
        if (g->telling == nullptr)
            WK_TRY(&call->error, cudaStreamCreateWithFlags(&g->telling, cudaStreamNonBlocking));
    }
    return follow(g, g->telling, s->stream, &call->error);
}

wk_status
tell(wk_call *call, wk_array *out)
{
    const gpu *g = ready_gpu(session_of(call)->device, &call->error);
    if (g == nullptr) return call->error.status;
    WK_TRY(&call->error, cudaMemcpyAsync(out->host, out->data, (size_t)out->bytes,
                                         cudaMemcpyDeviceToHost, g->telling));
    WK_TRY(&call->error, cudaStreamSynchronize(g->telling));
    out->host = nullptr;
    return WK_OK;
}

// ---- mailboxes --------------------------------------------------------------------------------

static bool
arrived(const wk_mailbox *mailbox)
{
    const uint64_t word = mailbox->slot[1];
    std::atomic_thread_fence(std::memory_order_acquire); // the value is read after its ticket
    return (uint32_t)(word >> 32) == mailbox->ticket;
}

// A mailbox for a result of so many bytes; without a slot if none is to be had.
static void
offer_mailbox(gpu *g, int bytes, wk_mailbox *mailbox)
{
    std::lock_guard<std::mutex> hold(g->lock);
    if (g->mailboxes.count == 0 && g->ticket == 0) { // the first: a page of slots
        void *page = nullptr;
        const size_t size = (size_t)kMailboxes * kSlotWords * sizeof(uint64_t);
        g->ticket = 1;
        if (cudaHostAlloc(&page, size, cudaHostAllocPortable | cudaHostAllocMapped) !=
            cudaSuccess) {
            cudaGetLastError(); // then there are no mailboxes: results are copied
            return;
        }
        auto *words = static_cast<uint64_t *>(page);
        for (int i = 0; i < kMailboxes; i++) {
            words[i * kSlotWords + 1] = 0;
            g->mailboxes.push({words + i * kSlotWords, 0, 0, 0});
        }
    }
    // The oldest first: a result dropped unread may still be on its way, and needs its slot.
    for (int tries = 0; tries < 4 && g->mailboxes.count > 0; tries++) {
        *mailbox = g->mailboxes.pop();
        if (arrived(mailbox)) break;
        g->mailboxes.push(*mailbox);
        *mailbox = {};
    }
    if (mailbox->slot == nullptr) return;
    if (++g->ticket == 0) g->ticket = 1;
    mailbox->ticket = g->ticket;
    mailbox->bytes = bytes;
    mailbox->sent = 0;
}

// One that no kernel wrote to gives its slot back as it found it.
void
return_mailbox(gpu *g, const wk_mailbox *mailbox)
{
    if (mailbox->slot == nullptr) return;
    std::lock_guard<std::mutex> hold(g->lock);
    wk_mailbox idle = *mailbox;
    if (!idle.sent) idle.ticket = (uint32_t)(idle.slot[1] >> 32);
    g->mailboxes.push(idle);
}

wk_status
launch_for_mailbox(wk_call *call, gpu *g, int bytes, wk_launch *launch)
{
    wk_mailbox *mailbox = &call->mailbox;
    *mailbox = {};
    if (bytes > 0) offer_mailbox(g, bytes, mailbox);
    const wk_status status = launch(call);
    if (status) mailbox->sent = 0; // the kernel that sends it is the last, and was not launched
    if (mailbox->slot && !mailbox->sent) {
        return_mailbox(g, mailbox);
        mailbox->slot = nullptr;
    }
    return status;
}

wk_status
read_mailbox(cudaStream_t stream, const wk_mailbox *mailbox, uint64_t *bits, wk_error *error)
{
    using clock = std::chrono::steady_clock;
    constexpr auto look = std::chrono::microseconds(100); // at the stream: has it failed?
    auto next = clock::now() + look;
    for (int spins = 1; !arrived(mailbox); spins++) {
        if (spins % 64 != 0 || clock::now() < next) continue;
        const cudaError_t code = cudaStreamQuery(stream);
        if (code != cudaErrorNotReady) {
            WK_TRY(error, code);
            if (arrived(mailbox)) break;
            return WK_FAIL(error, WK_EDEVICE, "the stream is done, and no result came");
        }
        next = clock::now() + look;
        std::this_thread::yield();
    }
    *bits = mailbox->bytes <= 4 ? mailbox->slot[1] & 0xffffffffu : mailbox->slot[0];
    return WK_OK;
}

} // namespace wk
