// backend.cu -- stream, device memory and copies, behind the same slots as the CPU.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include <new>

namespace wk
{

wk_status
allocate(wk_call *call, int64_t bytes, void **block)
{
    session *s = session_of(call);
    gpu *g = ready_gpu(s->device, &call->error);
    if (g == nullptr) return call->error.status;
    constexpr int most = sizeof s->blocks / sizeof s->blocks[0];
    if (s->count == most)
        return WK_FAIL(&call->error, WK_EDEVICE, "a call holds at most %d blocks", most);

    const size_t size = bytes > 0 ? (size_t)bytes : 1;
    const cudaError_t code = g->pool ? cudaMallocFromPoolAsync(block, size, g->pool, s->stream)
                                     : cudaMalloc(block, size);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        size_t free = 0, total = 0;
        cudaMemGetInfo(&free, &total);
        return WK_FAIL(&call->error, WK_EMEMORY,
                       "cannot allocate %lld bytes on %s:%d: %zu of %zu are free%s",
                       (long long)bytes, wk_kind_names[driver_kind], s->device, free, total,
                       g->limit ? ", and WARPKIT_POOL_LIMIT is set" : "");
    }
    WK_TRY(&call->error, code);
    s->blocks[s->count++] = *block;
    return WK_OK;
}

wk_status
clear(wk_call *call, void *block, int64_t bytes)
{
    WK_TRY(&call->error, cudaMemsetAsync(block, 0, (size_t)bytes, session_of(call)->stream));
    return WK_OK;
}

} // namespace wk

namespace
{

wk_status
take_stream(wk::session *s, wk_error *error)
{
    wk::gpu *g = wk::ready_gpu(s->device, error);
    if (g == nullptr) return error->status;
    {
        std::lock_guard<std::mutex> hold(g->lock);
        if (!g->streams.empty()) {
            s->stream = g->streams.back();
            g->streams.pop_back();
            return WK_OK;
        }
    }
    WK_TRY(error, cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    return WK_OK;
}

wk_status
cuda_open(wk_call *call)
{
    if (wk::check_process(&call->error) != WK_OK) return call->error.status;
    auto *s = new (std::nothrow) wk::session;
    if (s == nullptr) return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate a session");
    s->device = call->ordinal;
    call->session = s;
    if (s->current.set(s->device, &call->error) != WK_OK) return call->error.status;
    return take_stream(s, &call->error);
}

wk_status
cuda_reserve(wk_call *call, wk_array *a)
{
    return wk::allocate(call, a->bytes, &a->data);
}

wk_status
cuda_upload(wk_call *call, wk_array *a)
{
    if (cuda_reserve(call, a) != WK_OK) return call->error.status;
    WK_TRY(&call->error, cudaMemcpyAsync(a->data, a->host, (size_t)a->bytes,
                                         cudaMemcpyHostToDevice, wk::session_of(call)->stream));
    return WK_OK;
}

wk_status
cuda_download(wk_call *call, wk_array *a)
{
    const cudaStream_t stream = wk::session_of(call)->stream;
    WK_TRY(&call->error,
           cudaMemcpyAsync(a->host, a->data, (size_t)a->bytes, cudaMemcpyDeviceToHost, stream));
    WK_TRY(&call->error, cudaStreamSynchronize(stream));
    return WK_OK;
}

wk_status
give_back(wk::session *s, wk_error *error)
{
    wk::gpu *g = s->stream ? wk::ready_gpu(s->device, error) : nullptr;
    if (g == nullptr) return error->status;
    for (int i = 0; i < s->count; i++)
        WK_TRY(error,
               g->pool ? cudaFreeAsync(s->blocks[i], s->stream) : cudaFree(s->blocks[i]));
    WK_TRY(error, cudaStreamSynchronize(s->stream)); // the host's buffers may go after this
    std::lock_guard<std::mutex> hold(g->lock);
    g->streams.push_back(s->stream);
    return WK_OK;
}

wk_status
cuda_close(wk_call *call)
{
    wk::session *s = wk::session_of(call);
    if (s == nullptr) return WK_OK;
    call->session = nullptr;
    wk_error closing = {};
    give_back(s, &closing);
    delete s;
    if (closing.status != WK_OK)
        wk_fail(&call->error, closing.status, closing.file, closing.line, "%s", closing.text);
    return closing.status;
}

} // namespace

const wk_backend wk::backend = {wk::driver_kind, 0,         wk::count_devices, wk::device_info,
                                wk::trim_pool,   cuda_open, cuda_upload,       cuda_reserve,
                                cuda_download,   cuda_close};
