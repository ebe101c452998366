// launch.cuh -- the door to the device: launch, memory, the size of the machine.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// Makes a device the thread's current one, and on every way out what it was before, for the
// caller's sake.
class current_device
{
  public:
    current_device() = default;
    current_device(const current_device &) = delete;
    wk_status set(int device, wk_error *error);
    ~current_device()
    {
        if (previous >= 0) cudaSetDevice(previous);
    }

  private:
    int previous = -1; // the one to return to; -1: nothing was changed
};

// A launcher's stay on a device; wk_call::session points at it.
struct session {
    int device = 0;
    cudaStream_t stream = nullptr;
    struct {
        void *block;
        int64_t bytes;
    } blocks[24]; // of device memory, given back when the session ends
    int count = 0;
};

inline session *
session_of(wk_call *call)
{
    return static_cast<session *>(call->session);
}

// Device memory until the session ends. Zero bytes give a valid pointer too.
wk_status allocate(wk_call *call, int64_t bytes, void **block);

// Device memory that is zero, for kernels that leave it so: no launch is needed to clear it. The
// same for all of a stream's calls, since their kernels do not overlap.
wk_status zeros(wk_call *call, int64_t bytes, void **block);

// A little memory of the host to the device, in the stream's order. It has been read on return:
// the driver keeps pageable memory's bytes itself, and pinned memory is waited for.
wk_status copy_in(void *to, const void *from, int64_t bytes, cudaStream_t stream,
                  wk_error *error); // participant.cu

// What the call brings along besides its input (aux), in device memory, if it is not there yet: at
// `place`, or in a block of its own.
wk_status aux_there(wk_call *call, void *place = nullptr); // participant.cu

// Sets device memory to zero, in the stream's order.
wk_status clear(wk_call *call, void *block, int64_t bytes);

// What the stream has done up to here, the host may be told of, and waits for, while it goes on: a result
// that belongs there.
wk_status begin_telling(wk_call *call);
wk_status tell(wk_call *call, wk_array *out);

// Bytes of shared memory that a block may ask for.
int most_shared(const wk_call *call);

// Has the call's device a bulk copy engine (prim/async.cuh)?
bool bulk_copies(const wk_call *call);

// Multiprocessors of the call's device.
int processors(const wk_call *call);

// WARPKIT_SYNC=1: wait after every launch, so that an error names the kernel that made it.
bool sync_each_launch();

// WARPKIT_CARVEOUT=0 to 100: per cent of a multiprocessor's on-chip memory that kernels would have
// as shared memory rather than as L1, as far as it is enough for a block. Below 0: as the driver thinks best.
int carveout();

// Blocks for a grid-stride kernel: enough for the work, at most 16 a multiprocessor (2048
// threads fill one; twice that evens out the end).
inline unsigned
grid_for(const wk_call *call, int64_t items, int64_t per_block)
{
    const int64_t wanted = (items + per_block - 1) / per_block;
    const int64_t most = (int64_t)processors(call) * 16;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

// All devices from compute capability 8.0 on grant a block so much shared memory.
constexpr size_t kSharedOfBlock = 99 << 10;

// Lets a kernel have more dynamic shared memory than what every launch may ask for; `fixed` bytes it has besides.
template <typename... P>
wk_status
grant(wk_call *call, void (*kernel)(P...), size_t bytes, size_t fixed = 0)
{
    if (bytes + fixed > 48 * 1024)
        WK_TRY(&call->error,
               cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes));
    return WK_OK;
}

template <typename... P, typename... A>
wk_status
launch(wk_call *call, dim3 grid, dim3 block, size_t shared, void (*kernel)(P...), A... args)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = session_of(call)->stream;
    if (carveout() >= 0)
        WK_TRY(&call->error,
               cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    carveout()));
    WK_TRY(&call->error, cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...));
    if (sync_each_launch()) WK_TRY(&call->error, cudaStreamSynchronize(config.stream));
    return WK_OK;
}

} // namespace wk
