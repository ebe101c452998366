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
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
     "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
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
    const char *more = code == cudaErrorLaunchFailure ? emu::launch_report()
                       : code == cudaErrorNoDevice    ? this_machine().why.c_str()
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
cudaGetLastError()
{
    return cudaSuccess; // every call tells its own
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
    snprintf(properties->name, sizeof properties->name, "emulated GPU of %d multiprocessors",
             emu::kProcessors);
    properties->totalGlobalMem = emu::memory_of(device);
    return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(device)) return cudaErrorInvalidDevice;
    switch (which) {
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)emu::kMostShared; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = emu::kProcessors; return cudaSuccess;
    case cudaDevAttrL2CacheSize: *value = 4 << 20; return cudaSuccess;
    case cudaDevAttrUnifiedAddressing: *value = 1; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = (int)emu::kMostSharedOptin;
        return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; return cudaSuccess;
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
