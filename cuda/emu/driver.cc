// driver.cc -- what the emulated device says of itself; runtime/driver.cuh asks.
#include "emu/runtime.h"
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include <mutex>

const wk_kind wk::driver_kind = WK_EMU;

bool
emu::asked_to_stop()
{
    if (wk::host == nullptr) return false;
    device_in_use().asking++;
    const bool stop = wk::host->interrupted();
    device_in_use().asking--;
    return stop;
}

const char *
wk::driver_build()
{
#if defined(__clang__)
    return "CUDA kernels on the CPU, built with clang " __clang_version__;
#else
    return "CUDA kernels on the CPU, built with gcc " __VERSION__;
#endif
}

wk_status
wk::no_devices(wk_error *error, cudaError_t code)
{
    return WK_FAIL(error, WK_EDEVICE, "%s", cudaGetErrorString(code));
}

int64_t
wk::left_of_allocation(const void *address)
{
    const auto hold = emu::device_in_use().briefly();
    return (int64_t)emu::locate(address).left;
}
