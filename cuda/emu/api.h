// api.h -- the part of CUDA's runtime API that the project calls, with CUDA's names, values and
// error codes. Every call has done its work when it returns.
#pragma once
#include "emu/simt.h"

#include <type_traits>

#define CUDART_VERSION 13000 // whose names these are

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorAssert = 710,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorLaunchFailure = 719,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxPitch = 11,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrTextureAlignment = 14,
    cudaDevAttrGpuOverlap = 15,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrKernelExecTimeout = 17,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrEccEnabled = 32,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrStreamPrioritiesSupported = 78,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111,
    cudaDevAttrMemoryPoolsSupported = 115
};

enum cudaMemPoolAttr {
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
    cudaMemPoolAttrUsedMemCurrent = 7
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};

enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum {
    cudaHostAllocDefault = 0,
    cudaHostAllocPortable = 1,
    cudaHostAllocMapped = 2,
    cudaHostAllocWriteCombined = 4
};
enum {
    cudaHostRegisterDefault = 0,
    cudaHostRegisterPortable = 1,
    cudaHostRegisterMapped = 2,
    cudaHostRegisterIoMemory = 4,
    cudaHostRegisterReadOnly = 8
};

typedef struct emu_stream *cudaStream_t;
typedef struct emu_event *cudaEvent_t;
typedef struct emu_pool *cudaMemPool_t;

#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin,
        sharedMemPerMultiprocessor;
    size_t reservedSharedMemPerBlock, totalConstMem, memPitch, textureAlignment;
    int major, minor, multiProcessorCount, warpSize;
    int maxThreadsPerBlock, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
    int maxThreadsDim[3], maxGridSize[3], regsPerBlock, regsPerMultiprocessor;
    int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize;
    int asyncEngineCount, deviceOverlap, concurrentKernels, computeMode, integrated, ECCEnabled;
    int canMapHostMemory, unifiedAddressing, managedMemory, concurrentManagedAccess;
    int pageableMemoryAccess, cooperativeLaunch, streamPrioritiesSupported;
    int kernelExecTimeoutEnabled, tccDriver, pciBusID, pciDeviceID, pciDomainID;
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

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative = 2 };
union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

EMU_API_BEGIN

// ---- errors, devices: api.cc ----------------------------------------------------------------

const char *cudaGetErrorString(cudaError_t code); // of a failed launch: what the kernel did
const char *cudaGetErrorName(cudaError_t code);
cudaError_t cudaGetLastError(); // and forgets it
cudaError_t cudaPeekAtLastError();

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);

// ---- streams, events: handles.cc ------------------------------------------------------------

cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

// ---- device memory: memory.cc ---------------------------------------------------------------

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

// ---- host memory: pinned.cc -----------------------------------------------------------------

cudaError_t cudaHostAlloc(void **block, size_t size, unsigned flags);
cudaError_t cudaFreeHost(void *block);
cudaError_t cudaHostRegister(void *begin, size_t size, unsigned flags);
cudaError_t cudaHostUnregister(void *begin);
cudaError_t cudaHostGetDevicePointer(void **there, void *here, unsigned flags);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p);

// ---- copies: copies.cc ----------------------------------------------------------------------

cudaError_t cudaMemsetAsync(void *block, int value, size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);

namespace emu
{
cudaError_t copy_to_symbol(char *to, size_t room, const void *from, size_t size, size_t offset,
                           cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t set_attribute(const void *kernel, cudaFuncAttribute which, int value);

// Blocks of so many threads, with so many bytes of dynamic shared memory, that a multiprocessor has at
// once, as far as threads and shared memory limit them; 0 where a block is too large.
cudaError_t blocks_at_once(const void *kernel, int threads, size_t shared, int *blocks);
} // namespace emu

EMU_API_END

template <typename T> // __constant__ or __device__: one variable, which all devices share
cudaError_t
cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t size, size_t offset,
                        cudaMemcpyKind kind, cudaStream_t stream = nullptr)
{
    return emu::copy_to_symbol(reinterpret_cast<char *>(&symbol), sizeof symbol, from, size,
                               offset, kind, stream);
}

// ---- launches: launch.cc --------------------------------------------------------------------

template <typename T>
cudaError_t
cudaFuncSetAttribute(T *kernel, cudaFuncAttribute which, int value)
{
    return emu::set_attribute(reinterpret_cast<const void *>(kernel), which, value);
}

namespace warpkit
{
struct kernel_entry;
struct variable_entry;
} // namespace warpkit

namespace emu
{

// A kernel with its arguments, as the runtime calls it once for every thread.
struct body {
    const void *kernel; // the function's address, from which its name is found
    void (*call)(const void *arguments);
    const void *arguments;
    const void *const *pointers; // those among the arguments, in their order
    int pointer_count;
    const char
        *name; // of a kernel that has no address of its own: another of its file stands there
};

template <typename P>
inline void
note_pointer(const void **list, int *count, const P &argument)
{
    if constexpr (std::is_pointer<P>::value &&
                  !std::is_function<std::remove_pointer_t<P>>::value)
        list[(*count)++] =
            const_cast<const void *>(static_cast<const volatile void *>(argument));
}

EMU_API_BEGIN
cudaError_t launch(const cudaLaunchConfig_t &config, const body &work);

// For users' own sources: user.cc.
cudaError_t
note(cudaError_t code); // what cudaGetLastError gives; and code, or an earlier kernel's
void launched(cudaError_t code); // tells stderr too
void forget_failure();           // of a kernel, which every call gives until then
// The file that code is in is compiled with calls before its accesses: races are looked for in its
// kernels.
void watch(const void *code, const warpkit::kernel_entry *const *kernels,
           const warpkit::variable_entry *const *variables, bool program);
// Likewise, and the accesses are counted when somebody asks for it.
void trace(const void *code, const warpkit::kernel_entry *const *kernels, bool program);
void written_by_host(const void *p, size_t size); // or may be: what stands there is known
unsigned long long nanoseconds();
bool in_kernel(); // or does the host call?
EMU_API_END

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
                                 &thread, pointers, count, nullptr});
}
