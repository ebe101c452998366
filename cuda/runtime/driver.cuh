// driver.cuh -- what differs between CUDA's driver (driver.cu) and the emulated device's
// (emu/driver.cc); the rest of this folder serves both.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

extern const wk_kind driver_kind;

// One line on what this plug-in was built with, and for what. Lasts as long as the process.
const char *driver_build();

// Why there is no device, after cudaGetDeviceCount gave code.
wk_status no_devices(wk_error *error, cudaError_t code);

// Bytes from an address of a device's memory to the end of its allocation; 0: it does not say.
int64_t left_of_allocation(const void *address);

// From now on this thread's launches add to two numbers, the blocks that are done and all blocks;
// null: to none. No GPU tells.
void count_blocks(int64_t *progress);

} // namespace wk
