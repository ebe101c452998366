// user.cu -- users' own kernels on a GPU: loads their machine code, launches, and copies variables.
// emu/user.cc is the emulated device's.
#include "runtime/device.cuh"
#include "runtime/driver.cuh"

#include "emu/user_abi.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace
{

using warpkit::user_call;
using warpkit::user_copy;
using warpkit::user_library;

thread_local std::string told, printed; // until this thread's next call

// After these CUDA refuses whatever this process asks of it.
bool
is_final(cudaError_t code)
{
    static constexpr cudaError_t all[] = {
        cudaErrorIllegalAddress,     cudaErrorLaunchTimeout, cudaErrorAssert,
        cudaErrorHardwareStackError, cudaErrorLaunchFailure, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress,  cudaErrorInvalidPc,     cudaErrorInvalidAddressSpace,
        cudaErrorECCUncorrectable};
    return std::find(std::begin(all), std::end(all), code) != std::end(all);
}

cudaError_t
tell(cudaError_t code, const std::string &what)
{
    cudaGetLastError(); // clears it: the next call must not be blamed
    told = what + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
    if (is_final(code)) told += "; no GPU works in this process any more: start another one";
    return code;
}

cudaError_t
use(int device, wk::current_device *current)
{
    wk_error error = {};
    told.clear();
    if (wk::check_process(&error) == WK_OK && current->set(device, &error) == WK_OK)
        return cudaSuccess;
    told = error.text;
    return cudaErrorUnknown;
}

// ---- loading ------------------------------------------------------------------------------------

// Every kernel may have all the shared memory that a block can: to ask for it at a launch, in place of
// another thread's, would come between the two.
cudaError_t
grant_all(const void *kernel, int device)
{
    int most = 0;
    cudaFuncAttributes has;
    cudaError_t e =
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (e == cudaSuccess) e = cudaFuncGetAttributes(&has, kernel);
    return e ? e
             : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    std::max(0, most - (int)has.sharedSizeBytes));
}

cudaError_t
find_all(const user_library &l, cudaLibrary_t library)
{
    for (int i = 0; i < l.kernel_count; i++) {
        cudaKernel_t kernel = nullptr;
        cudaError_t e = cudaLibraryGetKernel(&kernel, library, l.kernels[i]);
        if (e == cudaSuccess) e = grant_all((const void *)kernel, l.device);
        if (e) return tell(e, std::string("kernel ") + l.kernels[i] + ": ");
        l.handles[i] = (const void *)kernel;
    }
    for (int i = 0; i < l.variable_count; i++) {
        size_t bytes = 0;
        cudaError_t e = cudaLibraryGetManaged(&l.places[i], &bytes, library, l.variables[i]);
        if (e) {
            cudaGetLastError(); // it is no managed one
            e = cudaLibraryGetGlobal(&l.places[i], &bytes, library, l.variables[i]);
        }
        if (e) return tell(e, std::string("variable ") + l.variables[i] + ": ");
    }
    return cudaSuccess;
}

// ---- what kernels print ---------------------------------------------------------------------------

// The driver writes it to the process's stdout when a stream is waited for: into a file, meanwhile.
class capture
{
  public:
    capture() : hold(only)
    {
        fflush(stdout);
        file = memfd_create("printed", MFD_CLOEXEC);
        kept = file < 0 ? -1 : dup(STDOUT_FILENO);
        if (kept >= 0) dup2(file, STDOUT_FILENO);
    }
    capture(const capture &) = delete;
    ~capture()
    {
        fflush(stdout);
        if (kept >= 0) dup2(kept, STDOUT_FILENO);
        char some[4096];
        ssize_t n = 0;
        for (off_t at = 0; kept >= 0 && (n = pread(file, some, sizeof some, at)) > 0; at += n)
            printed.append(some, (size_t)n);
        if (kept >= 0) close(kept);
        if (file >= 0) close(file);
    }

  private:
    static std::mutex only; // there is one stdout
    std::lock_guard<std::mutex> hold;
    int file = -1, kept = -1;
};
std::mutex capture::only;

// ---- launching ------------------------------------------------------------------------------------

// cudaErrorNotReady: the call is to stop, and the kernel goes on.
cudaError_t
wait_for(cudaStream_t stream)
{
    using clock = std::chrono::steady_clock;
    using std::chrono::microseconds;
    constexpr auto brief = microseconds(200), most = microseconds(1000);
    const capture all_printed;
    const auto begin = clock::now();
    cudaError_t code;
    while ((code = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        if (wk::host->interrupted()) return code;
        const auto so_far = std::chrono::duration_cast<microseconds>(clock::now() - begin);
        if (so_far > brief) std::this_thread::sleep_for(std::min(so_far / 16, most));
    }
    return code ? code : cudaStreamSynchronize(stream); // which prints
}

cudaError_t
launch(const user_call &c)
{
    const std::string named = std::string("kernel ") + c.kernel->name;
    void *values[256];
    for (int i = 0; i < c.count; i++) values[i] = c.arguments[i].data;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(c.grid[0], c.grid[1], c.grid[2]);
    config.blockDim = dim3(c.block[0], c.block[1], c.block[2]);
    config.dynamicSmemBytes = (size_t)c.shared;
    config.stream = (cudaStream_t)c.stream;
    cudaLaunchAttribute cooperative = {};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    config.attrs = &cooperative;
    config.numAttrs = c.cooperative ? 1 : 0;
    cudaError_t e = cudaLaunchKernelExC(&config, c.kernel->kernel, values);
    if (e)
        return tell(
            e, named + (is_final(e) ? " was not launched, as an earlier one failed: " : ": "));
    if (!c.waits && !wk::sync_each_launch()) return cudaSuccess;
    e = wait_for(config.stream);
    return e ? tell(e, named + ": ") : cudaSuccess;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

// These give the code of the error, and what is to be said of it.

EXPORTED int
warpkit_load(user_library *l)
{
    wk::current_device current;
    cudaLibrary_t library = nullptr;
    cudaError_t e = use(l->device, &current);
    if (e == cudaSuccess) {
        e = cudaLibraryLoadData(&library, l->image, nullptr, nullptr, 0, nullptr, nullptr, 0);
        e = e ? tell(e, "the machine code: ") : find_all(*l, library);
        if (e && library) cudaLibraryUnload(library);
    }
    l->error = told.c_str();
    return e;
}

EXPORTED int
warpkit_call(user_call *c)
{
    wk::current_device current;
    printed.clear();
    cudaError_t e = use(c->device, &current);
    if (e == cudaSuccess) e = launch(*c);
    c->error = told.c_str();
    c->printed = printed.data();
    c->printed_size = (int64_t)printed.size();
    return e;
}

// After all work on the device: variables are read and set in no stream's order.
EXPORTED int
warpkit_copy(user_copy *c)
{
    wk::current_device current;
    cudaError_t e = use(c->device, &current);
    if (e == cudaSuccess) {
        e = cudaDeviceSynchronize();
        if (e == cudaSuccess)
            e = cudaMemcpy(c->to, c->from, (size_t)c->bytes, cudaMemcpyDefault);
        if (e) tell(e, "a variable: ");
    }
    c->error = told.c_str();
    return e;
}
