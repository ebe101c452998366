// device.cu -- which GPUs there are, and what is kept for each.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"
#include "runtime/staging.cuh"

#include "settings.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

namespace
{

// Pooled memory between calls, little beside what other libraries keep: a sixteenth of the device's,
// 256 MiB at least. What is given back costs 0.4 us a MiB to get again: run_length of 256 MiB, whose
// room for results takes 768 MiB, 550 us a call, of which kernels took 195 (H100).
constexpr uint64_t kKeep = 256ull << 20, kKeepShare = 16;

// Written once, by the process's first count(); read-only after that, but for what each gpu's
// own lock guards. CUDA itself is state of the process, and so is this.
std::atomic<int> forks_before{-1}; // host->forks, when the devices were counted
std::atomic<unsigned> failed_calls{0};
int device_count = 0;
wk::gpu *gpus = nullptr; // for good: threads may be at work when the process ends

wk_status
set_up(wk::gpu &g, int device, wk_error *error)
{
    int pools = 0;
    cudaDeviceProp all;
    WK_TRY(error, cudaGetDeviceProperties(&all, device));
    WK_TRY(error,
           cudaDeviceGetAttribute(&g.processors, cudaDevAttrMultiProcessorCount, device));
    WK_TRY(error, cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device));
    int major = 0;
    WK_TRY(error, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    WK_TRY(error, cudaDeviceGetAttribute(&g.most_shared,
                                         cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    g.bulk_copies = major >= 9;
    const auto keep = std::max<uint64_t>(all.totalGlobalMem / kKeepShare, kKeep);
    g.keep = (uint64_t)wk_setting_value(WK_SET_POOL_KEEP, (int64_t)keep);
    g.limit = (uint64_t)wk_setting_value(WK_SET_POOL_LIMIT, 0);
    g.idle_room = std::min(wk::kIdleRoom, g.keep);
    try {
        g.idle.reserve(wk::kMostIdle + 1);
        g.zeros.reserve(wk::kMostZeros);
    } catch (const std::bad_alloc &) {
        return WK_FAIL(error, WK_EMEMORY, "cannot allocate the lists of a device's blocks");
    }
    if (pools) {
        cudaMemPoolProps properties = {};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = device;
        properties.maxSize = g.limit;
        WK_TRY(error, cudaMemPoolCreate(&g.pool, &properties));
        WK_TRY(error,
               cudaMemPoolSetAttribute(g.pool, cudaMemPoolAttrReleaseThreshold, &g.keep));
    }
    g.device = device;
    g.ready = true;
    return WK_OK;
}

} // namespace

namespace wk
{

const wk_host *host;

wk_status
failed(wk_error *error, cudaError_t code, const char *call, const char *file, int line)
{
    cudaGetLastError(); // clears it: the next call must not be blamed
    failed_calls++;
    return wk_fail(error, code == cudaErrorMemoryAllocation ? WK_EMEMORY : WK_EDEVICE, file,
                   line, "%s: %s (%s)", call, cudaGetErrorString(code), cudaGetErrorName(code));
}

unsigned
failures()
{
    return failed_calls.load();
}

bool
sync_each_launch()
{
    return wk_setting_value(WK_SET_SYNC, 0);
}

int
carveout()
{
    return (int)wk_setting_value(WK_SET_CARVEOUT, -1);
}

static int
forks()
{
    return host ? *host->forks : 0; // a program of its own has no core
}

wk_status
check_process(wk_error *error)
{
    if (forks_before.load(std::memory_order_relaxed) == forks()) return WK_OK;
    return WK_FAIL(error, WK_EDEVICE,
                   "this process was forked from one that uses device '%s', which no child can "
                   "go on using; "
                   "start it with multiprocessing's 'spawn' method, or use device='cpu'",
                   wk_kind_names[driver_kind]);
}

wk_status
current_device::set(int device, wk_error *error)
{
    int before = 0;
    WK_TRY(error, cudaGetDevice(&before));
    if (before == device) return WK_OK;
    WK_TRY(error, cudaSetDevice(device));
    previous = before;
    return WK_OK;
}

gpu *
ready_gpu(int device, wk_error *error)
{
    gpu &g = gpus[device];
    if (g.ready.load(std::memory_order_acquire)) return &g;
    std::lock_guard<std::mutex> hold(g.lock);
    if (!g.ready && set_up(g, device, error) != WK_OK) return nullptr;
    return &g;
}

int
most_shared(const wk_call *call)
{
    return gpus[call->ordinal].most_shared;
}

bool
bulk_copies(const wk_call *call)
{
    return gpus[call->ordinal].bulk_copies;
}

int
processors(const wk_call *call)
{
    return gpus[call->ordinal].processors;
}

// The core calls this under its lock, once for each interpreter.
int
count_devices(wk_error *error)
{
    int count = 0;
    if (gpus) return check_process(error) == WK_OK ? device_count : 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        cudaGetLastError();
        no_devices(error, code);
        return 0;
    }
    gpus = new (std::nothrow) gpu[count];
    if (gpus == nullptr) {
        WK_FAIL(error, WK_EMEMORY, "cannot allocate what is kept for %d devices", count);
        return 0;
    }
    forks_before.store(forks());
    device_count = count;
    return count;
}

wk_status
device_info(int device, wk_device_info *info, wk_error *error)
{
    *info = {};
    if (check_process(error) != WK_OK) return error->status;
    int major = 0, minor = 0;
    size_t free = 0, total = 0;
    uint64_t used = 0, reserved = 0;
    cudaDeviceProp properties;
    current_device current;
    if (current.set(device, error) != WK_OK) return error->status;
    WK_TRY(error, cudaGetDeviceProperties(&properties, device));
    WK_TRY(error, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    WK_TRY(error, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    gpu *g = ready_gpu(device, error);
    if (g == nullptr) return error->status;
    WK_TRY(error, cudaMemGetInfo(&free, &total));
    if (g->pool) {
        WK_TRY(error, cudaMemPoolGetAttribute(g->pool, cudaMemPoolAttrUsedMemCurrent, &used));
        WK_TRY(error,
               cudaMemPoolGetAttribute(g->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    }
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    info->compute_capability = major * 10 + minor;
    info->processors = g->processors;
    info->memory_total = (int64_t)total;
    info->memory_free = (int64_t)free;
    info->pool_used = (int64_t)used;
    info->pool_reserved = (int64_t)reserved;
    info->pool_keep = (int64_t)g->keep;
    info->pool_limit = (int64_t)g->limit;
    std::lock_guard<std::mutex> hold(g->lock);
    info->staging = g->staged;
    info->pool_used -= kept_bytes(g);
    return WK_OK;
}

wk_status
trim_pool(int device, wk_error *error)
{
    if (check_process(error) != WK_OK) return error->status;
    current_device current;
    if (current.set(device, error) != WK_OK) return error->status;
    gpu *g = ready_gpu(device, error);
    if (g == nullptr) return error->status;
    std::lock_guard<std::mutex> bus(g->bus); // nobody's copies are on their way
    release_stage(g);
    {
        std::lock_guard<std::mutex> hold(g->lock);
        drop_kept_blocks(g);
    }
    WK_TRY(error, cudaDeviceSynchronize()); // what was freed in a stream's order is free now
    if (g->pool) WK_TRY(error, cudaMemPoolTrimTo(g->pool, 0));
    return WK_OK;
}

} // namespace wk
