// backend.cu -- the slots that the core calls, and which way a call goes.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include "plan.h"
#include "runtime/layout.cuh"
#include "walk.h"

#include <algorithm>
#include <cstdlib>

namespace
{

using wk::gpu;

struct host_block {
    void *memory = nullptr;
    ~host_block()
    {
        free(memory);
    }
};

// An array on the host, packed whole.
wk_status
gather(wk_call *call, wk_array *a, host_block *packed)
{
    constexpr int64_t kAtOnce = 1 << 20; // elements between two looks whether to stop
    wk_walk walk;
    const int64_t n = wk_size(a), bytes = n * wk_itemsize[a->dtype];
    packed->memory = malloc((size_t)bytes);
    if (packed->memory == nullptr)
        return WK_FAIL(&call->error, WK_EMEMORY,
                       "cannot allocate %lld bytes to gather an array of %d axes",
                       (long long)bytes, a->ndim);
    wk_walk_c_order(a, &walk);
    for (int64_t i = 0; i < n && !wk::host->interrupted(); i += kAtOnce)
        wk_gather(&walk, i, std::min(i + kAtOnce, n), (char *)packed->memory + i * walk.item);
    wk_set_contiguous(a);
    a->host = packed->memory;
    a->first = 0;
    a->bytes = bytes;
    return WK_OK;
}

// What has more axes than a kernel takes; a mask has its array's axes. They are rare.
wk_status
gather_axes(wk_call *call, host_block *in, host_block *where)
{
    const bool masked = call->beside.ndim >= 0;
    if (gather(call, &call->in, in) != WK_OK ||
        (masked && gather(call, &call->beside, where) != WK_OK))
        return call->error.status;
    if (call->op == WK_REDUCE)
        wk_fuse_reduced(&call->in, masked ? &call->beside : nullptr, &call->args.reduce);
    else
        wk_fuse(&call->in, 0);
    return WK_OK;
}

wk_status
slot_run(wk_call *call, wk_launch *launch, int takes_parts)
{
    if (wk::check_process(&call->error) != WK_OK) return call->error.status;
    wk::count_blocks(call->progress);
    if (call->in.host == nullptr) {
        const wk_status done = wk::run_resident(call, launch);
        wk::count_blocks(nullptr);
        return done;
    }
    host_block in, where;
    const bool many = call->in.ndim > wk::kAxes && wk_size(&call->in) > 0;
    wk_status status = many && (call->op == WK_REDUCE || call->op == WK_TRANSPOSE)
                           ? gather_axes(call, &in, &where)
                           : WK_OK;
    if (status == WK_OK) status = wk::run_streamed(call, launch, takes_parts);
    wk::count_blocks(nullptr);
    if (call->progress) call->progress[0] = call->progress[1];
    return status;
}

wk_status
slot_allocate(int device, void *stream, int64_t bytes, void **block, wk_error *error)
{
    gpu *g = wk::check_process(error) == WK_OK ? wk::ready_gpu(device, error) : nullptr;
    if (g == nullptr) return error->status;
    return wk::take_block(g, (cudaStream_t)stream, bytes, block, error);
}

// Of a forked child's arrays nothing is left to give back.
void
slot_release(int device, void *stream, void *block, int64_t bytes, const wk_mailbox *mailbox)
{
    wk_error error = {};
    gpu *g = wk::check_process(&error) == WK_OK ? wk::ready_gpu(device, &error) : nullptr;
    if (g == nullptr) return;
    if (mailbox && mailbox->slot) wk::return_mailbox(g, mailbox);
    if (block) wk::give_block(g, (cudaStream_t)stream, block, bytes, &error);
}

int
slot_locate(const void *address, int *device, int64_t *left)
{
    wk_error error = {};
    cudaPointerAttributes a = {};
    if (wk::check_process(&error) != WK_OK) return 0;
    if (cudaPointerGetAttributes(&a, address) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    if (a.type != cudaMemoryTypeDevice && a.type != cudaMemoryTypeManaged) return 0;
    *device = a.device;
    if (left) *left = wk::left_of_allocation(address);
    return 1;
}

wk_status
slot_follow(int device, void *later, void *earlier, wk_error *error)
{
    gpu *g = wk::check_process(error) == WK_OK ? wk::ready_gpu(device, error) : nullptr;
    if (g == nullptr) return error->status;
    return wk::follow(g, (cudaStream_t)later, (cudaStream_t)earlier, error);
}

wk_status
slot_wait(int device, void *stream, wk_error *error)
{
    wk::current_device current;
    if (wk::check_process(error) != WK_OK || current.set(device, error) != WK_OK)
        return error->status;
    WK_TRY(error, cudaStreamSynchronize((cudaStream_t)stream));
    return WK_OK;
}

wk_status
slot_read(int device, void *stream, const wk_mailbox *mailbox, uint64_t *bits, wk_error *error)
{
    wk::current_device current;
    if (wk::check_process(error) != WK_OK || current.set(device, error) != WK_OK)
        return error->status;
    return wk::read_mailbox((cudaStream_t)stream, mailbox, bits, error);
}

} // namespace

const wk_backend wk::backend = {wk::driver_kind, wk::count_devices, wk::device_info,
                                wk::trim_pool,   slot_run,          wk::copy_array,
                                slot_allocate,   slot_release,      slot_locate,
                                slot_follow,     slot_wait,         slot_read};
