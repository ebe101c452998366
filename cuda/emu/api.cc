// api.cc -- CUDA's runtime API over the emulated devices: errors, and what a device says of itself.
#include "emu/runtime.h"

#include <new>
#include <stdio.h>

namespace
{

const struct {
    cudaError_t code;
    const char *name, *text;
} kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
     "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
     "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    // Of user_graph.h alone.
    {(cudaError_t)401, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {(cudaError_t)900, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {(cudaError_t)903, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {(cudaError_t)904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {(cudaError_t)910, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated "
     "constraints "
     "specific to instantiated graph update"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

constexpr int kClock = 1000000, kBus = 256; // kHz, bits: of nothing that there is

const struct {
    cudaDeviceAttr which;
    int value;
} kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, emu::kMostThreads},
    {cudaDevAttrMaxBlockDimX, emu::kMostThreads},
    {cudaDevAttrMaxBlockDimY, emu::kMostThreads},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 0x7fffffff},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, (int)emu::kMostShared},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, emu::kWarpLanes},
    {cudaDevAttrMaxPitch, 0x7fffffff},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrClockRate, kClock},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrMultiProcessorCount, emu::kProcessors},
    {cudaDevAttrKernelExecTimeout, 0},
    {cudaDevAttrIntegrated, 0},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrComputeMode, 0},
    {cudaDevAttrConcurrentKernels, 0},
    {cudaDevAttrEccEnabled, 0},
    {cudaDevAttrMemoryClockRate, kClock},
    {cudaDevAttrGlobalMemoryBusWidth, kBus},
    {cudaDevAttrL2CacheSize, 4 << 20},
    {cudaDevAttrMaxThreadsPerMultiProcessor, emu::kResidentThreads},
    {cudaDevAttrAsyncEngineCount, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrComputeCapabilityMajor, 8},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrStreamPrioritiesSupported, 0},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)emu::kResidentShared},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrPageableMemoryAccess, 0},
    {cudaDevAttrConcurrentManagedAccess, 0},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)emu::kMostSharedOptin},
    {cudaDevAttrMaxBlocksPerMultiprocessor, emu::kResidentBlocks},
    {cudaDevAttrReservedSharedMemoryPerBlock, (int)emu::kReservedShared},
    {cudaDevAttrMemoryPoolsSupported, 1},
};

struct machine {
    int devices = 0;
    std::string why; // there are none
};

const machine &
this_machine()
{
    static const machine once = [] {
        machine m;
        try {
            if (emu::settings_are_right(&m.why))
                m.devices = (int)wk_setting_value(WK_SET_EMU_DEVICES, 1);
        } catch (const std::bad_alloc &) { // then there are none, and no reason
        }
        return m;
    }();
    return once;
}

thread_local int current = 0;

} // namespace

int
emu::device_count()
{
    return this_machine().devices;
}

int
emu::current_device()
{
    return current;
}

bool
emu::is_device(int device)
{
    return device >= 0 && device < device_count();
}

const char *
cudaGetErrorString(cudaError_t code)
{
    const char *more = code == cudaErrorLaunchFailure || code == cudaErrorAssert
                           ? emu::launch_report()
                       : code == cudaErrorNoDevice ? this_machine().why.c_str()
                                                   : "";
    if (*more) return more;
    for (const auto &e : kErrors)
        if (e.code == code) return e.text;
    return "unrecognized error code";
}

const char *
cudaGetErrorName(cudaError_t code)
{
    for (const auto &e : kErrors)
        if (e.code == code) return e.name;
    return "unrecognized error code";
}

cudaError_t
cudaGetDeviceCount(int *count)
{
    *count = 0;
    if (const cudaError_t e = emu::planned_failure()) return e;
    *count = emu::device_count();
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t
cudaGetDevice(int *device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    *device = current;
    return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(device)) return cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(device)) return cudaErrorInvalidDevice;
    *properties = {};
    snprintf(properties->name, sizeof properties->name, "emulated GPU of %d multiprocessors",
             emu::kProcessors);
    cudaDeviceProp &p = *properties;
    p.totalGlobalMem = emu::memory_of(device);
    p.sharedMemPerBlock = emu::kMostShared;
    p.sharedMemPerBlockOptin = emu::kMostSharedOptin;
    p.sharedMemPerMultiprocessor = emu::kResidentShared;
    p.reservedSharedMemPerBlock = emu::kReservedShared;
    p.totalConstMem = p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.memPitch = 0x7fffffff;
    p.textureAlignment = 512;
    p.major = 8;
    p.multiProcessorCount = emu::kProcessors;
    p.warpSize = emu::kWarpLanes;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = emu::kMostThreads;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.maxThreadsPerMultiProcessor = emu::kResidentThreads;
    p.maxBlocksPerMultiProcessor = emu::kResidentBlocks;
    p.clockRate = p.memoryClockRate = kClock;
    p.memoryBusWidth = kBus;
    p.l2CacheSize = 4 << 20;
    p.asyncEngineCount = p.deviceOverlap = 1;
    p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = p.cooperativeLaunch = 1;
    return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(device)) return cudaErrorInvalidDevice;
    for (const auto &a : kAttributes) {
        if (a.which != which) continue;
        *value = a.value;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(device) || !emu::is_device(peer)) return cudaErrorInvalidDevice;
    *can = 0;
    return cudaSuccess;
}
