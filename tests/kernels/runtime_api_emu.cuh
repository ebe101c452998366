// runtime_api_emu.cuh -- of runtime_api.cu, what is asked of the emulated device alone: three
// devices, late events, planned failures.
#pragma once
#include "runtime_api.cuh"
#include "settings.h"

namespace
{

// ---- several devices ----------------------------------------------------------------------

void
devices_by_thread()
{
    OK(cudaSetDevice(1));
    std::thread([] {
        int device = -1;
        OK(cudaGetDevice(&device));
        HOLD(device == 0);
        OK(cudaSetDevice(2));
    }).join();
    int device = -1, can = -1;
    OK(cudaGetDevice(&device));
    HOLD(device == 1);
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    HOLD(can == 0);
    OK(cudaSetDevice(0));
}

void
memory_by_device()
{
    size_t free[3], total, now;
    void *block[3];
    cudaMemPool_t pool[3];
    for (int d = 0; d < 3; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMemGetInfo(&free[d], &total));
        cudaMemPoolProps properties = {};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = d;
        properties.maxSize = d == 1 ? 4000 : 0;
        OK(cudaMemPoolCreate(&pool[d], &properties));
    }
    for (int d = 0; d < 3; d++) // of its pool's device, not of the current one
        EXPECT(d == 1 ? cudaErrorMemoryAllocation : cudaSuccess,
               cudaMallocFromPoolAsync(&block[d], 5000, pool[d], 0));
    OK(cudaMallocFromPoolAsync(&block[1], 3000, pool[1], 0));
    for (int d = 0; d < 3; d++) {
        OK(cudaSetDevice(d));
        OK(cudaMemGetInfo(&now, &total));
        HOLD(free[d] - now == (d == 1 ? 3000 : 5000));
        attributes_are(block[d], cudaMemoryTypeDevice, d, true, false);
        attributes_are(block[(d + 1) % 3], cudaMemoryTypeDevice, (d + 1) % 3, false, false);
        uint64_t used = 0;
        OK(cudaMemPoolGetAttribute(pool[d], cudaMemPoolAttrUsedMemCurrent, &used));
        HOLD(used == (d == 1 ? 3000 : 5000));
    }
    for (void *b : block) OK(cudaFreeAsync(b, 0));
    OK(cudaSetDevice(0));
}

void
handles_by_device()
{
    cudaStream_t stream[2];
    cudaEvent_t event[2];
    int *data[2], host[kCount] = {};
    for (int d = 0; d < 2; d++) {
        OK(cudaSetDevice(d));
        stream[d] = new_stream();
        event[d] = new_event();
        data[d] = device_block();
        int owner = -1;
        OK(cudaStreamGetDevice(stream[d], &owner));
        HOLD(owner == d);
    } // device 1 is current
    EXPECT(kBadHandle, launch_add(stream[0], data[0]));
    OK(cudaMemsetAsync(data[1], 0, kBytes, stream[1]));
    OK(launch_add(stream[1], data[1]));
    OK(cudaMemcpyAsync(data[0], data[1], kBytes, cudaMemcpyDeviceToDevice, stream[0]));
    OK(cudaMemcpyAsync(host, data[0], kBytes, cudaMemcpyDefault, stream[0]));
    HOLD(host[0] == 1 && host[kCount - 1] == 1);
    OK(cudaMemcpyPeerAsync(data[1], 1, data[0], 0, kBytes, stream[1]));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyPeerAsync(data[1], 0, data[0], 1, 4, stream[1]));
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeerAsync(data[1], 1, data[0], 3, 4, 0));
    OK(cudaEventRecord(event[0], stream[0]));
    EXPECT(kBadHandle, cudaEventRecord(event[0], stream[1]));
    EXPECT(kBadHandle, cudaEventRecord(event[0], 0)); // the current device's
    OK(cudaEventRecord(event[1], cudaStreamPerThread));
    OK(cudaStreamWaitEvent(stream[1], event[0], 0));
    OK(cudaStreamWaitEvent(stream[0], event[1], 0));
    for (int d = 0; d < 2; d++) {
        OK(cudaStreamDestroy(stream[d]));
        OK(cudaEventDestroy(event[d]));
        OK(cudaFree(data[d]));
    }
    OK(cudaSetDevice(0));
}

void
kernels_stay_on_their_device()
{
    OK(cudaSetDevice(1));
    int *there = device_block(), *pinned = pinned_block(), got[2] = {};
    OK(cudaSetDevice(0));
    EXPECT(cudaErrorLaunchFailure, launch_add(0, there));
    HOLD(says("kernel add_one on device 0: its pointer number 1 is memory of device 1"));
    OK(launch_add(0, pinned));                        // pinned memory is everybody's
    if (getenv("RUNTIME_API_SANITIZED") == nullptr) { // which would end the program
        EXPECT(cudaErrorLaunchFailure, launch(0, 1, 1, 0, add_one_hidden, hidden{there}));
        HOLD(says("kernel add_one_hidden, block (0, 0, 0): bad address"));
        HOLD(says("in the memory of device 1"));
    }
    int *own = device_block();
    const int two[2] = {2, 2};
    OK(cudaMemcpyAsync(own, two, sizeof two, cudaMemcpyHostToDevice, 0));
    OK(cudaMemcpyAsync(there, two, sizeof two, cudaMemcpyHostToDevice, 0));
    OK(launch(0, 1, 1, 0, add_one_hidden, hidden{own}));
    OK(cudaMemcpyAsync(&got[0], own, sizeof *got, cudaMemcpyDefault, 0));
    OK(cudaMemcpyAsync(&got[1], there, sizeof *got, cudaMemcpyDefault, 0));
    HOLD(got[0] == 3 && got[1] == 2);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(there));
    OK(cudaFree(own));
}

// ---- aids of the emulated device ----------------------------------------------------------

// WARPKIT_EMU_LATE=2
void
late_events()
{
    const cudaStream_t stream = new_stream(), other = new_stream();
    const cudaEvent_t event = new_event(cudaEventDefault);
    float ms = 0;
    OK(cudaEventQuery(event));
    for (int turn = 0; turn < 2; turn++) {
        OK(cudaEventRecord(event, stream));
        EXPECT(cudaErrorNotReady, cudaEventQuery(event));
        EXPECT(cudaErrorNotReady, cudaEventElapsedTime(&ms, event, event));
        EXPECT(cudaErrorNotReady, cudaEventQuery(event));
        OK(cudaEventQuery(event));
    }
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamSynchronize(other));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    OK(cudaStreamSynchronize(stream)); // what was waited for is there
    OK(cudaEventQuery(event));
    OK(cudaEventRecord(event, stream));
    OK(cudaEventSynchronize(event));
    OK(cudaEventQuery(event));
    OK(cudaEventRecord(event, stream));
    OK(cudaDeviceSynchronize());
    OK(cudaEventQuery(event));

    const cudaEvent_t second = new_event(), third = new_event();
    OK(cudaEventRecord(event, stream));
    OK(cudaEventRecord(second, stream));
    OK(cudaEventRecord(third, stream));
    OK(cudaEventSynchronize(second)); // and so all that was before it in its stream
    OK(cudaEventQuery(event));
    EXPECT(cudaErrorNotReady, cudaEventQuery(third));
}

void
plan(const char *failure)
{
    setenv("WARPKIT_EMU_FAIL", failure, 1);
    wk_settings_read();
}

// The second call fails, once, and the count begins anew with another value.
template <typename F>
void
fails_once(const char *function, cudaError_t code, F call)
{
    plan((std::string(function) + ":2").c_str());
    const cudaError_t want[] = {cudaSuccess, code, cudaSuccess, cudaSuccess};
    for (const cudaError_t w : want) expect(w, call(), function, __LINE__);
}

void
planned_failures()
{
    const auto full = cudaErrorMemoryAllocation, odd = cudaErrorUnknown;
    cudaMemPoolProps properties = {};
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    OK(cudaMemPoolCreate(&pool, &properties));
    int *data = device_block(), host[2] = {};
    cudaStream_t s;
    cudaEvent_t e;
    void *p;
    cudaPointerAttributes a;
    fails_once("cudaMalloc", full, [&] { return cudaMalloc(&p, 8); });
    fails_once("cudaMallocFromPoolAsync", full,
               [&] { return cudaMallocFromPoolAsync(&p, 8, pool, 0); });
    fails_once("cudaHostAlloc", full, [&] { return cudaHostAlloc(&p, 8, 0); });
    fails_once("cudaMemcpyAsync", odd,
               [&] { return cudaMemcpyAsync(host, data, 8, cudaMemcpyDeviceToHost, 0); });
    fails_once("cudaMemcpy2DAsync", odd,
               [&] { return cudaMemcpy2DAsync(host, 4, data, 4, 4, 2, cudaMemcpyDefault, 0); });
    fails_once("cudaMemsetAsync", odd, [&] { return cudaMemsetAsync(data, 0, 8, 0); });
    fails_once("cudaStreamCreateWithFlags", odd,
               [&] { return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); });
    fails_once("cudaStreamSynchronize", odd, [&] { return cudaStreamSynchronize(s); });
    fails_once("cudaEventCreateWithFlags", odd,
               [&] { return cudaEventCreateWithFlags(&e, cudaEventDisableTiming); });
    fails_once("cudaEventRecord", odd, [&] { return cudaEventRecord(e, s); });
    fails_once("cudaEventQuery", odd, [&] { return cudaEventQuery(e); });
    fails_once("cudaPointerGetAttributes", odd,
               [&] { return cudaPointerGetAttributes(&a, p); });
    fails_once("cudaSetDevice", odd, [&] { return cudaSetDevice(0); });
    fails_once("cudaFuncSetAttribute", odd, [&] {
        return cudaFuncSetAttribute(add_one, cudaFuncAttributeMaxDynamicSharedMemorySize, 8);
    });
    fails_once("cudaLaunchKernelEx", cudaErrorLaunchFailure,
               [&] { return launch_add(0, data); });
    HOLD(says("kernel add_one: fails, as WARPKIT_EMU_FAIL asks"));

    plan("");
    OK(launch_add(0, data)); // forgets the plan
    fails_once("cudaLaunchKernelEx", cudaErrorLaunchFailure,
               [&] { return launch_add(0, data); });
    plan("cudaMalloc");
    EXPECT(cudaErrorLaunchFailure, launch_add(0, data));
    HOLD(says("WARPKIT_EMU_FAIL is 'cudaMalloc', and must be a function and a number"));
}

} // namespace
