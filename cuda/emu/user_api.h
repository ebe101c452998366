// user_api.h -- the part of CUDA that users' programs call and this project does not: calls that
// wait, and intrinsics.
#pragma once

#define EMU_CALL static inline cudaError_t

// ---- memory -----------------------------------------------------------------------------------

enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };

template <typename T>
EMU_CALL
cudaMalloc(T **block, size_t size)
{
    return cudaMalloc((void **)block, size);
}

template <typename T>
EMU_CALL
cudaMallocAsync(T **block, size_t size, cudaStream_t)
{
    return cudaMalloc((void **)block, size);
}

// The host reads and writes what it is on the device: both are here.
template <typename T>
EMU_CALL
cudaMallocManaged(T **block, size_t size, unsigned = cudaMemAttachGlobal)
{
    const cudaError_t e = cudaMalloc((void **)block, size);
    if (e == cudaSuccess) emu::note_managed(*block);
#ifdef EMU_RACES
    if (e == cudaSuccess) emu::written_by_host(*block, size);
#endif
    return e;
}

template <typename T>
EMU_CALL
cudaHostAlloc(T **block, size_t size, unsigned flags)
{
    return cudaHostAlloc((void **)block, size, flags);
}

template <typename T>
EMU_CALL
cudaMallocHost(T **block, size_t size, unsigned flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)block, size, flags);
}

template <typename T>
EMU_CALL
cudaHostGetDevicePointer(T **there, void *here, unsigned flags)
{
    return cudaHostGetDevicePointer(reinterpret_cast<void **>(there), here, flags);
}

template <typename T>
EMU_CALL
cudaMallocPitch(T **block, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc((void **)block, *pitch * height);
}

// These wait, as the detector of races is to know.
EMU_CALL
cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    const cudaError_t e = cudaMemcpyAsync(to, from, size, kind);
    return e ? e : cudaStreamSynchronize(nullptr);
}

EMU_CALL
cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
             size_t height, cudaMemcpyKind kind)
{
    const cudaError_t e =
        cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind);
    return e ? e : cudaStreamSynchronize(nullptr);
}

EMU_CALL
cudaMemset(void *block, int value, size_t size)
{
    return cudaMemsetAsync(block, value, size);
}

EMU_CALL
cudaMemset2D(void *block, size_t pitch, int value, size_t width, size_t height)
{
    for (size_t row = 0; row < height; row++)
        if (const cudaError_t e =
                cudaMemsetAsync(static_cast<char *>(block) + row * pitch, value, width))
            return e;
    return cudaSuccess;
}

template <typename T>
EMU_CALL
cudaMemcpyToSymbol(T &symbol, const void *from, size_t size, size_t offset = 0,
                   cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    const cudaError_t e = cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind);
    return e ? e : cudaStreamSynchronize(nullptr);
}

template <typename T>
EMU_CALL
cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
                     cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    if (offset > sizeof symbol || size > sizeof symbol - offset) return cudaErrorInvalidValue;
    memcpy(to, reinterpret_cast<const char *>(&symbol) + offset, size);
    return cudaStreamSynchronize(nullptr);
}

template <typename T>
EMU_CALL
cudaGetSymbolSize(size_t *size, const T &symbol)
{
    *size = sizeof symbol;
    return cudaSuccess;
}

template <typename T>
EMU_CALL
cudaGetSymbolAddress(void **place, const T &symbol)
{
    *place = const_cast<void *>(reinterpret_cast<const volatile void *>(&symbol));
    return cudaSuccess;
}

template <typename T>
EMU_CALL
cudaGetSymbolAddress(T **place, const T &symbol)
{
    *place = const_cast<T *>(&symbol);
    return cudaSuccess;
}

EMU_CALL
cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    static cudaMemPool_t own[32] = {};
    cudaMemPoolProps of = {};
    of.location.id = device;
    if (device < 0 || device >= 32) return cudaErrorInvalidDevice;
    *pool = own[device];
    if (*pool) return cudaSuccess;
    of.allocType = cudaMemAllocationTypePinned;
    of.location.type = cudaMemLocationTypeDevice;
    const cudaError_t e = cudaMemPoolCreate(pool, &of);
    own[device] = *pool;
    return e;
}

template <typename T>
EMU_CALL
cudaMallocFromPoolAsync(T **block, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync((void **)block, size, pool, stream);
}

EMU_CALL
cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    const cudaError_t e = cudaMemcpyPeerAsync(to, to_device, from, from_device, size);
    return e ? e : cudaStreamSynchronize(nullptr);
}

enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly = 2,
    cudaMemAdviseSetPreferredLocation = 3,
    cudaMemAdviseUnsetPreferredLocation = 4,
    cudaMemAdviseSetAccessedBy = 5,
    cudaMemAdviseUnsetAccessedBy = 6
};
template <typename Place> // a device, or a cudaMemLocation
EMU_CALL
cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, Place)
{
    return cudaSuccess;
}

EMU_CALL
cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr)
{
    return cudaSuccess;
}

// ---- devices ----------------------------------------------------------------------------------

enum {
    cudaDeviceScheduleAuto = 0,
    cudaDeviceScheduleSpin = 1,
    cudaDeviceScheduleYield = 2,
    cudaDeviceScheduleBlockingSync = 4,
    cudaDeviceBlockingSync = 4,
    cudaDeviceMapHost = 8
};
enum cudaComputeMode {
    cudaComputeModeDefault = 0,
    cudaComputeModeExclusive = 1,
    cudaComputeModeProhibited = 2,
    cudaComputeModeExclusiveProcess = 3
};
enum cudaFuncCache {
    cudaFuncCachePreferNone = 0,
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1 = 2,
    cudaFuncCachePreferEqual = 3
};

EMU_CALL
cudaDeviceReset()
{
    emu::forget_failure();
    return cudaSuccess;
}

EMU_CALL
cudaSetDeviceFlags(unsigned)
{
    return cudaSuccess;
}

EMU_CALL
cudaDeviceSetCacheConfig(cudaFuncCache)
{
    return cudaSuccess;
}

template <typename T>
EMU_CALL
cudaFuncSetCacheConfig(T *, cudaFuncCache)
{
    return cudaSuccess;
}

enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault = 0,
    cudaSharedMemBankSizeFourByte = 1,
    cudaSharedMemBankSizeEightByte = 2
};

EMU_CALL
cudaDeviceSetSharedMemConfig(cudaSharedMemConfig)
{
    return cudaSuccess;
}

template <typename T>
EMU_CALL
cudaFuncSetSharedMemConfig(T *, cudaSharedMemConfig)
{
    return cudaSuccess;
}

enum cudaLimit { // of which there is none, though they are kept
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
    cudaLimitDevRuntimeSyncDepth = 3,
    cudaLimitDevRuntimePendingLaunchCount = 4,
    cudaLimitMaxL2FetchGranularity = 5,
    cudaLimitPersistingL2CacheSize = 6
};

namespace emu
{
inline size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
}

EMU_CALL
cudaDeviceSetLimit(cudaLimit which, size_t value)
{
    if ((unsigned)which > cudaLimitPersistingL2CacheSize) return cudaErrorInvalidValue;
    emu::limits[which] = value;
    return cudaSuccess;
}

EMU_CALL
cudaDeviceGetLimit(size_t *value, cudaLimit which)
{
    if ((unsigned)which > cudaLimitPersistingL2CacheSize) return cudaErrorInvalidValue;
    *value = emu::limits[which];
    return cudaSuccess;
}

EMU_CALL
cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EMU_CALL
cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EMU_CALL
cudaProfilerStart()
{
    return cudaSuccess;
}

EMU_CALL
cudaProfilerStop()
{
    return cudaSuccess;
}

template <typename K>
EMU_CALL
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K kernel, int threads, size_t shared)
{
    return emu::blocks_at_once(reinterpret_cast<const void *>(kernel), threads, shared, blocks);
}

template <typename K>
EMU_CALL
cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, K kernel, size_t shared = 0,
                                   int limit = 0)
{
    int processors = 0, blocks = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    const cudaError_t e =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, *block, shared);
    *grid = blocks * processors;
    return e;
}

// By threads, how much shared memory a block takes: the largest block of those that fill most.
template <typename K, typename F>
EMU_CALL
cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, K kernel, F shared,
                                               int limit = 0)
{
    int processors = 0, most = 0;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    for (int n = limit > 0 && limit < 1024 ? limit : 1024; n > 0; n = (n - 1) / 32 * 32) {
        int blocks = 0;
        if (const cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                &blocks, kernel, n, (size_t)shared(n)))
            return e;
        if (blocks * n <= most) continue;
        most = blocks * n;
        *block = n;
        *grid = blocks * processors;
    }
    return cudaSuccess;
}

template <typename K>
EMU_CALL
cudaLaunchKernel(K kernel, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                 cudaStream_t stream = nullptr)
{
    return emu::launch_kernel(kernel, grid, block, arguments, shared, stream, false);
}

template <typename K>
EMU_CALL
cudaLaunchCooperativeKernel(K kernel, dim3 grid, dim3 block, void **arguments,
                            size_t shared = 0, cudaStream_t stream = nullptr)
{
    return emu::launch_kernel(kernel, grid, block, arguments, shared, stream, true);
}

// No device reaches another's memory: cudaDeviceCanAccessPeer says so.
EMU_CALL
cudaDeviceEnablePeerAccess(int, unsigned)
{
    return cudaErrorNotSupported;
}

EMU_CALL
cudaDeviceDisablePeerAccess(int)
{
    return cudaErrorNotSupported;
}

// ---- streams, events --------------------------------------------------------------------------

EMU_CALL
cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

EMU_CALL
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

EMU_CALL
cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

EMU_CALL
cudaStreamAttachMemAsync(cudaStream_t, void *, size_t = 0, unsigned = cudaMemAttachSingle)
{
    return cudaSuccess;
}

// All that was asked for before is done.
#define CUDART_CB
typedef void (*cudaHostFn_t)(void *);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);

EMU_CALL
cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void *data)
{
    function(data);
    return cudaSuccess;
}

EMU_CALL
cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned)
{
    function(stream, emu::note(cudaSuccess), data);
    return cudaSuccess;
}

EMU_CALL
cudaEventCreate(cudaEvent_t *event, unsigned flags = cudaEventDefault)
{
    return cudaEventCreateWithFlags(event, flags);
}

// ---- what programs ask ----------------------------------------------------------------------

struct
    cudaFuncAttributes { // of a kernel; registers are those that a GPU's compiler is apt to take
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

template <typename K>
EMU_CALL
cudaFuncGetAttributes(cudaFuncAttributes *of, K kernel)
{
    size_t fixed = 0;
    const cudaError_t e = emu::static_shared(reinterpret_cast<const void *>(kernel), &fixed);
    *of = {fixed, 0, 0, 1024, 32, 80, 80, 0, (int)(48 * 1024 - fixed), -1};
    return emu::note(e);
}

constexpr auto cudaDevAttrHostNativeAtomicSupported = (cudaDeviceAttr)86;
enum cudaDeviceP2PAttr {
    cudaDevP2PAttrPerformanceRank = 1,
    cudaDevP2PAttrAccessSupported = 2,
    cudaDevP2PAttrNativeAtomicSupported = 3,
    cudaDevP2PAttrCudaArrayAccessSupported = 4
};

EMU_CALL
cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int from, int to)
{
    int count = 0;
    cudaGetDeviceCount(&count);
    if (from < 0 || to < 0 || from >= count || to >= count || from == to)
        return emu::note(cudaErrorInvalidDevice);
    *value = 0; // none reaches another's memory
    return emu::note(cudaSuccess);
}

namespace emu
{

inline cudaError_t
device_attribute(int *value, cudaDeviceAttr which, int device)
{
    if (which != cudaDevAttrHostNativeAtomicSupported)
        return cudaDeviceGetAttribute(value, which, device);
    const cudaError_t e = cudaDeviceGetAttribute(value, cudaDevAttrWarpSize, device);
    *value = 1; // the host and the device are one
    return e;
}

} // namespace emu

// ---- in kernels -------------------------------------------------------------------------------

// There streams are all one, and memory is the host's, as malloc's is.
namespace emu
{

inline cudaError_t
create_stream(cudaStream_t *stream, unsigned flags)
{
    if (!in_kernel()) return cudaStreamCreateWithFlags(stream, flags);
    *stream = nullptr;
    return cudaSuccess;
}

inline cudaError_t
destroy_stream(cudaStream_t stream)
{
    return in_kernel() ? cudaSuccess : cudaStreamDestroy(stream);
}

template <typename T>
cudaError_t
allocate(T **block, size_t size)
{
    if (!in_kernel()) return cudaMalloc(block, size);
    *block = static_cast<T *>(malloc(size));
    return *block ? cudaSuccess : cudaErrorMemoryAllocation;
}

inline cudaError_t
release(void *block)
{
    if (!in_kernel()) return cudaFree(block);
    free(block);
    return cudaSuccess;
}

} // namespace emu

#undef EMU_CALL

// What fails is what cudaGetLastError gives, and a kernel's failure is every later call's.
#define cudaMalloc(...) emu::note(emu::allocate(__VA_ARGS__))
#define cudaMallocAsync(...) emu::note(cudaMallocAsync(__VA_ARGS__))
#define cudaMallocManaged(...) emu::note(cudaMallocManaged(__VA_ARGS__))
#define cudaHostAlloc(...) emu::note(cudaHostAlloc(__VA_ARGS__))
#define cudaMallocHost(...) emu::note(cudaMallocHost(__VA_ARGS__))
#define cudaMallocPitch(...) emu::note(cudaMallocPitch(__VA_ARGS__))
#define cudaFree(...) emu::note(emu::release(__VA_ARGS__))
#define cudaFreeAsync(...) emu::note(cudaFreeAsync(__VA_ARGS__))
#define cudaFreeHost(...) emu::note(cudaFreeHost(__VA_ARGS__))
#define cudaMemcpy(...) emu::note(cudaMemcpy(__VA_ARGS__))
#define cudaMemcpyPeer(...) emu::note(cudaMemcpyPeer(__VA_ARGS__))
#define cudaMemcpyAsync(...) emu::note(cudaMemcpyAsync(__VA_ARGS__))
#define cudaMemcpy2D(...) emu::note(cudaMemcpy2D(__VA_ARGS__))
#define cudaMemcpy2DAsync(...) emu::note(cudaMemcpy2DAsync(__VA_ARGS__))
#define cudaMemcpyToSymbol(...) emu::note(cudaMemcpyToSymbol(__VA_ARGS__))
#define cudaMemcpyFromSymbol(...) emu::note(cudaMemcpyFromSymbol(__VA_ARGS__))
#define cudaMemset(...) emu::note(cudaMemset(__VA_ARGS__))
#define cudaMemset2D(...) emu::note(cudaMemset2D(__VA_ARGS__))
#define cudaMemsetAsync(...) emu::note(cudaMemsetAsync(__VA_ARGS__))
#define cudaMemGetInfo(...) emu::note(cudaMemGetInfo(__VA_ARGS__))
#define cudaSetDevice(...) emu::note(cudaSetDevice(__VA_ARGS__))
#define cudaGetDeviceProperties(...) emu::note(cudaGetDeviceProperties(__VA_ARGS__))
#define cudaDeviceGetAttribute(...) emu::note(emu::device_attribute(__VA_ARGS__))
#define cudaFuncSetAttribute(...) emu::note(cudaFuncSetAttribute(__VA_ARGS__))
#define cudaDeviceSynchronize() emu::note(cudaDeviceSynchronize())
#define cudaThreadSynchronize() cudaDeviceSynchronize()
#define cudaStreamCreate(...) emu::note(cudaStreamCreate(__VA_ARGS__))
#define cudaStreamCreateWithFlags(...) emu::note(emu::create_stream(__VA_ARGS__))
#define cudaStreamDestroy(...) emu::note(emu::destroy_stream(__VA_ARGS__))
#define cudaStreamQuery(...) emu::note(cudaStreamQuery(__VA_ARGS__))
#define cudaStreamSynchronize(...) emu::note(cudaStreamSynchronize(__VA_ARGS__))
#define cudaStreamWaitEvent(...) emu::note(cudaStreamWaitEvent(__VA_ARGS__))
#define cudaEventCreate(...) emu::note(cudaEventCreate(__VA_ARGS__))
#define cudaEventDestroy(...) emu::note(cudaEventDestroy(__VA_ARGS__))
#define cudaEventRecord(...) emu::note(cudaEventRecord(__VA_ARGS__))
#define cudaEventQuery(...) emu::note(cudaEventQuery(__VA_ARGS__))
#define cudaEventSynchronize(...) emu::note(cudaEventSynchronize(__VA_ARGS__))
#define cudaEventElapsedTime(...) emu::note(cudaEventElapsedTime(__VA_ARGS__))

#include "emu/user_simd.h"
#include "emu/user_volume.h"
#ifdef EMU_GRAPHS
#include "emu/user_graph_api.h"
#endif

// ---- intrinsics -------------------------------------------------------------------------------

// Some of these names are glibc's too, or those of a newer one. The approximate ones are as exact as the host's are.
#define EMU_FAST(name, ...)                                                                    \
    static inline float emu_fast_##name(float x)                                               \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }
EMU_FAST(expf, expf(x))
EMU_FAST(exp10f, powf(10, x))
EMU_FAST(logf, logf(x))
EMU_FAST(log2f, log2f(x))
EMU_FAST(log10f, log10f(x))
EMU_FAST(sinf, sinf(x))
EMU_FAST(cosf, cosf(x))
EMU_FAST(tanf, tanf(x))
EMU_FAST(rsqrtf, (float)(1 / sqrt((double)x)))
EMU_FAST(sinpif, (float)sin(M_PI *(double)x))
EMU_FAST(cospif, (float)cos(M_PI *(double)x))
#undef EMU_FAST
#define __expf emu_fast_expf
#define __exp10f emu_fast_exp10f
#define __logf emu_fast_logf
#define __log2f emu_fast_log2f
#define __log10f emu_fast_log10f
#define __sinf emu_fast_sinf
#define __cosf emu_fast_cosf
#define __tanf emu_fast_tanf
#define rsqrtf emu_fast_rsqrtf
#define sinpif emu_fast_sinpif
#define cospif emu_fast_cospif
#define __powf powf

static inline void
sincospif(float x, float *s, float *c)
{
    *s = sinpif(x);
    *c = cospif(x);
}

template <typename T>
T
__ldcv(const T *p) // anew from memory
{
    return *const_cast<const volatile T *>(p);
}
#define __sincosf(x, s, c) (*(s) = sinf(x), *(c) = cosf(x), (void)0)

static inline long long
clock64()
{
    emu::yield();
    return (long long)emu::nanoseconds();
}

// What PTX reads by these names (python/warpkit/_syntax.py).
namespace emu
{
namespace ptx
{

inline unsigned
laneid()
{
    return (unsigned)self()->lane;
}
inline unsigned
warpid()
{
    return (unsigned)self()->warp;
}
inline unsigned
smid() // as if a multiprocessor took every fourth block
{
    return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % 4;
}
inline unsigned
nsmid()
{
    return 4;
}
inline unsigned long long
clock64()
{
    return (unsigned long long)::clock64();
}
inline unsigned
clock()
{
    return (unsigned)::clock64();
}
inline unsigned long long
globaltimer()
{
    return clock64();
}
inline unsigned
lanemask_eq()
{
    return 1u << laneid();
}
inline unsigned
lanemask_lt()
{
    return lanemask_eq() - 1;
}
inline unsigned
lanemask_le()
{
    return lanemask_lt() | lanemask_eq();
}
inline unsigned
lanemask_gt()
{
    return ~lanemask_le();
}
inline unsigned
lanemask_ge()
{
    return ~lanemask_lt();
}

} // namespace ptx
} // namespace emu

#define CUDART_INF_F __builtin_inff() // of math_constants.h
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0

#define __trap() abort()

// As the compiler converts a number beside a pointer.
#define EMU_CONVERTED(name, T, V)                                                              \
    static inline EMU_OWN_LINE T name(T *p, V v)                                               \
    {                                                                                          \
        return name(p, (T)v);                                                                  \
    }
EMU_CONVERTED(atomicAdd, int, unsigned)
EMU_CONVERTED(atomicAdd, unsigned, int)
EMU_CONVERTED(atomicAdd, float, int)
EMU_CONVERTED(atomicAdd, float, double)
EMU_CONVERTED(atomicAdd, unsigned long long, int)
EMU_CONVERTED(atomicInc, unsigned, int)
#undef EMU_CONVERTED

#define EMU_SCOPES(name)                                                                       \
    template <typename T, typename V>                                                          \
    static inline EMU_OWN_LINE T name##_block(T *p, V v)                                       \
    {                                                                                          \
        return name(p, (T)v);                                                                  \
    }                                                                                          \
    template <typename T, typename V>                                                          \
    static inline EMU_OWN_LINE T name##_system(T *p, V v)                                      \
    {                                                                                          \
        return name(p, (T)v);                                                                  \
    }
EMU_SCOPES(atomicAdd)
EMU_SCOPES(atomicSub)
EMU_SCOPES(atomicExch)
EMU_SCOPES(atomicMin)
EMU_SCOPES(atomicMax)
EMU_SCOPES(atomicAnd)
EMU_SCOPES(atomicOr)
EMU_SCOPES(atomicXor)
EMU_SCOPES(atomicInc)
EMU_SCOPES(atomicDec)
#undef EMU_SCOPES
#define EMU_SCOPE(name)                                                                        \
    template <typename T, typename V>                                                          \
    static inline T name(T *p, V expected, V desired)                                          \
    {                                                                                          \
        return atomicCAS(p, (T)expected, (T)desired);                                          \
    }
EMU_SCOPE(atomicCAS_block)
EMU_SCOPE(atomicCAS_system)
#undef EMU_SCOPE
