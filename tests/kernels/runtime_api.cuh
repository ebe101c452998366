// runtime_api.cuh -- what runtime_api.cu asks with: checks of codes and conditions, three kernels.
#pragma once
#include "runtime/cuda.cuh"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace
{

std::atomic<int> wrong{0};
bool emulated = false;

void
expect(cudaError_t want, cudaError_t got, const char *call, int line)
{
    if (got == want) return;
    fprintf(stderr, "line %d: %s gives %d (%s), not %d\n", line, call, (int)got,
            cudaGetErrorString(got), (int)want);
    cudaGetLastError();
    wrong++;
}

void
hold(bool right, const char *what, int line)
{
    if (right) return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    wrong++;
}

#define EXPECT(want, call) expect(want, call, #call, __LINE__)
#define OK(call) expect(cudaSuccess, call, #call, __LINE__)
#define HOLD(condition) hold(condition, #condition, __LINE__)

constexpr auto kBadHandle = cudaErrorInvalidResourceHandle;
constexpr int kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void
add_one(int *data, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) data[i] += 1;
}

struct hidden {
    int *data;
};

__global__ void
add_one_hidden(hidden h)
{
    h.data[0] += 1;
}

__global__ void
through_shared(int *data, int n)
{
    WK_DYNAMIC_SHARED(int, all);
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) all[n - 1 - i] = i;
    __syncthreads(); // another thread wrote the element that the first one reads
    if (threadIdx.x == 0) data[0] = all[0];
}

template <typename... P, typename... A>
cudaError_t
launch(cudaStream_t stream, dim3 grid, dim3 threads, size_t shared, void (*kernel)(P...),
       A... a)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, static_cast<P>(a)...);
}

cudaError_t
launch_add(cudaStream_t stream, int *data, int n = kCount)
{
    return launch(stream, (unsigned)(n + 255) / 256, 256, 0, add_one, data, n);
}

template <typename T = int>
T *
device_block(size_t bytes = kBytes)
{
    void *p = nullptr;
    OK(cudaMalloc(&p, bytes));
    return static_cast<T *>(p);
}

template <typename T = int>
T *
pinned_block(size_t bytes = kBytes, unsigned flags = cudaHostAllocPortable)
{
    void *p = nullptr;
    OK(cudaHostAlloc(&p, bytes, flags));
    return static_cast<T *>(p);
}

cudaStream_t
new_stream()
{
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

cudaEvent_t
new_event(unsigned flags = cudaEventDisableTiming)
{
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, flags));
    return event;
}

bool
says(const char *text)
{
    const bool found = strstr(cudaGetErrorString(cudaErrorLaunchFailure), text) != nullptr;
    if (!found) fprintf(stderr, "it says: %s\n", cudaGetErrorString(cudaErrorLaunchFailure));
    return found;
}

void
attributes_are(const void *p, cudaMemoryType type, int device, bool on_device, bool on_host)
{
    cudaPointerAttributes a = {};
    OK(cudaPointerGetAttributes(&a, p));
    HOLD(a.type == type && a.device == device);
    HOLD(a.devicePointer == (on_device ? p : nullptr));
    HOLD(a.hostPointer == (on_host ? p : nullptr));
}

} // namespace
