// device.cuh -- what the runtime keeps per GPU, for the files of this folder.
#pragma once
#include "runtime/launch.cuh"

#include <mutex>
#include <vector>

namespace wk
{

struct gpu {
    std::mutex lock;
    bool ready = false;
    int processors = 0;
    cudaMemPool_t pool = nullptr;      // null: the device has none, plain cudaMalloc serves
    uint64_t keep = 0, limit = 0;      // bytes
    std::vector<cudaStream_t> streams; // idle ones
};

// The GPU's struct, set up on first use; null with error set. The device must be current.
gpu *ready_gpu(int device, wk_error *error);

// Only the process that counted the devices may use CUDA; a forked child may not.
wk_status check_process(wk_error *error);

extern const wk_backend backend;

// Slots of the backend.
int count_devices(wk_error *error);
wk_status device_info(int device, wk_device_info *info, wk_error *error);
wk_status trim_pool(int device, wk_error *error);

} // namespace wk
