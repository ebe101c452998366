// api.h -- the part of CUDA's runtime API that the project calls. One device, one stream's
// order: every call has done its work when it returns.
#pragma once
#include "emu/simt.h"

#include <type_traits>

#define CUDART_VERSION 13000 // whose names these are

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101,
    cudaErrorLaunchFailure = 719
};

enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMemoryPoolsSupported = 115
};

enum cudaMemPoolAttr {
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
    cudaMemPoolAttrUsedMemCurrent = 7
};

enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum { cudaStreamNonBlocking = 1 };

typedef struct emu_stream *cudaStream_t;
typedef struct emu_pool *cudaMemPool_t;

struct cudaDeviceProp {
    char name[256];
};

struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};

struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemLocation location;
    size_t maxSize;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
};

const char *cudaGetErrorString(cudaError_t code); // of a failed launch: what the kernel did
const char *cudaGetErrorName(cudaError_t code);
cudaError_t cudaGetLastError();

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMallocFromPoolAsync(void **block, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream);
cudaError_t cudaFreeAsync(void *block, cudaStream_t stream);
cudaError_t cudaMalloc(void **block, size_t size);
cudaError_t cudaFree(void *block);
cudaError_t cudaMemsetAsync(void *block, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);

namespace emu
{
cudaError_t copy_to_symbol(char *to, const void *from, size_t size); // __constant__, __device__
}

template <typename T>
cudaError_t
cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t size, size_t offset, cudaMemcpyKind,
                        cudaStream_t)
{
    if (offset > sizeof symbol || size > sizeof symbol - offset) return cudaErrorInvalidValue;
    return emu::copy_to_symbol(reinterpret_cast<char *>(&symbol) + offset, from, size);
}

namespace emu
{

// A kernel with its arguments, as the runtime calls it once for every thread.
struct body {
    const void *kernel; // the function's address, from which its name is found
    void (*call)(const void *arguments);
    const void *arguments;
    const void *const *pointers; // those among the arguments, in their order
    int pointer_count;
};

template <typename P>
inline void
note_pointer(const void **list, int *count, const P &argument)
{
    if constexpr (std::is_pointer<P>::value)
        list[(*count)++] =
            const_cast<const void *>(static_cast<const volatile void *>(argument));
}

cudaError_t launch(const cudaLaunchConfig_t &config, const body &work);

} // namespace emu

template <typename... P, typename... A>
cudaError_t
cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... arguments)
{
    const auto thread = [=] { kernel(static_cast<P>(arguments)...); };
    using thread_type = decltype(thread);
    const void *pointers[sizeof...(A) + 1];
    int count = 0;
    (emu::note_pointer<std::decay_t<P>>(pointers, &count, arguments), ...);
    return emu::launch(*config, {reinterpret_cast<const void *>(kernel),
                                 [](const void *t) { (*static_cast<thread_type *>(t))(); },
                                 &thread, pointers, count});
}
