// api.cc -- CUDA's runtime API over the emulated device: what is not memory and not a launch.
#include "emu/runtime.h"

#include <stdio.h>

const char *
cudaGetErrorString(cudaError_t code)
{
    switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorLaunchFailure: return emu::launch_report();
    default: return "unknown error";
    }
}

const char *
cudaGetErrorName(cudaError_t code)
{
    switch (code) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
    }
}

cudaError_t
cudaGetLastError()
{
    return cudaSuccess; // every call tells its own
}

cudaError_t
cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t
cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
cudaGetDeviceProperties(cudaDeviceProp *properties, int)
{
    snprintf(properties->name, sizeof properties->name, "emulated GPU of %d multiprocessors",
             emu::kProcessors);
    return cudaSuccess;
}

cudaError_t
cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int)
{
    switch (which) {
    case cudaDevAttrMultiProcessorCount: *value = emu::kProcessors; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = 8; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t
cudaDeviceSynchronize()
{
    return cudaSuccess;
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    static char all; // streams are one and the same
    *stream = reinterpret_cast<cudaStream_t>(&all);
    return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
