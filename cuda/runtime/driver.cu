// driver.cu -- CUDA's driver: its versions, and why it is not there.
#include "runtime/driver.cuh"

#include <cstdio>
#include <dlfcn.h>

const wk_kind wk::driver_kind = WK_CUDA;

void
wk::count_blocks(int64_t *)
{
}

const char *
wk::driver_build()
{
    static char text[200];
    int driver = 0;
    cudaDriverGetVersion(&driver);
    snprintf(text, sizeof text, "built with CUDA %d.%d for %s; the driver supports CUDA %d.%d",
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, WK_CUDA_ARCHS, driver / 1000,
             driver % 1000 / 10);
    return text;
}

wk_status
wk::no_devices(wk_error *error, cudaError_t code)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr)
        return WK_FAIL(error, WK_EDEVICE, "no NVIDIA driver (libcuda.so.1 was not found)");
    dlclose(driver);
    int has = 0;
    cudaDriverGetVersion(&has);
    if (code == cudaErrorInsufficientDriver)
        return WK_FAIL(
            error, WK_EDEVICE,
            "the driver is too old: it supports CUDA %d.%d, and this build needs %d.%d",
            has / 1000, has % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return WK_FAIL(error, WK_EDEVICE, "cudaGetDeviceCount: %s",
                   code == cudaSuccess ? "no device" : cudaGetErrorString(code));
}

// The runtime does not tell. What is mapped in pieces counts as reserved: as a whole, mapped or not.
int64_t
wk::left_of_allocation(const void *address)
{
    using ask = int(void *value, int attribute, unsigned long long address);
    constexpr int kStart = 11, kSize = 12; // CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, _SIZE
    static ask *const attribute = [] {
        void *const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
        return driver ? (ask *)dlsym(driver, "cuPointerGetAttribute") : nullptr;
    }();
    unsigned long long start = 0, at = (unsigned long long)(uintptr_t)address;
    size_t size = 0;
    if (!attribute || attribute(&start, kStart, at) || attribute(&size, kSize, at)) return 0;
    return at >= start && at - start < size ? (int64_t)(start + size - at) : 0;
}
