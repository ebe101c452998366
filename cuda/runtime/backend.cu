// backend.cu -- the slots that the core calls, and which way a call goes.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include "plan.h"
#include "runtime/layout.cuh"
#include "walk.h"

#include <cstdlib>

namespace
{

using wk::gpu;

// An input on the host with more axes than a kernel takes, gathered whole; they are rare.
wk_status
gather_axes(wk_call *call, void **packed)
{
    wk_array *a = &call->in;
    wk_walk walk;
    const int64_t n = wk_size(a), bytes = n * wk_itemsize[a->dtype];
    *packed = malloc(bytes > 0 ? (size_t)bytes : 1);
    if (*packed == nullptr)
        return WK_FAIL(&call->error, WK_EMEMORY,
                       "cannot allocate %lld bytes to gather an array of %d axes",
                       (long long)bytes, a->ndim);
    wk_walk_c_order(a, &walk);
    wk_gather(&walk, 0, n, *packed);
    wk_set_contiguous(a);
    a->host = *packed;
    a->first = 0;
    a->bytes = bytes;
    if (call->op == WK_REDUCE)
        wk_fuse_reduced(a, &call->args.reduce);
    else
        wk_fuse(a, 0);
    return WK_OK;
}

wk_status
slot_run(wk_call *call, wk_launch *launch, int takes_parts)
{
    if (wk::check_process(&call->error) != WK_OK) return call->error.status;
    if (call->in.host == nullptr) return wk::run_resident(call, launch);
    void *packed = nullptr;
    const bool many = call->in.ndim > wk::kAxes && wk_size(&call->in) > 0;
    wk_status status = many && (call->op == WK_REDUCE || call->op == WK_TRANSPOSE)
                           ? gather_axes(call, &packed)
                           : WK_OK;
    if (status == WK_OK) status = wk::run_streamed(call, launch, takes_parts);
    if (call->progress) call->progress[0] = call->progress[1];
    free(packed);
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
slot_release(int device, void *stream, void *block, int64_t bytes, const wk_letter *letter)
{
    wk_error error = {};
    gpu *g = wk::check_process(&error) == WK_OK ? wk::ready_gpu(device, &error) : nullptr;
    if (g == nullptr) return;
    if (letter && letter->slot) wk::return_letter(g, letter);
    if (block) wk::give_block(g, (cudaStream_t)stream, block, bytes, &error);
}

int
slot_locate(const void *address, int *device)
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
slot_read(int device, void *stream, const wk_letter *letter, uint64_t *bits, wk_error *error)
{
    wk::current_device current;
    if (wk::check_process(error) != WK_OK || current.set(device, error) != WK_OK)
        return error->status;
    return wk::read_letter((cudaStream_t)stream, letter, bits, error);
}

} // namespace

const wk_backend wk::backend = {wk::driver_kind, wk::count_devices, wk::device_info,
                                wk::trim_pool,   slot_run,          wk::copy_array,
                                slot_allocate,   slot_release,      slot_locate,
                                slot_follow,     slot_wait,         slot_read};
