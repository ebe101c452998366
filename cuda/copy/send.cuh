// send.cuh -- a little of the host's memory to the device, within a launch.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

constexpr int64_t kMostSent = 4064; // bytes: a kernel may have 4,096 of arguments

// 1 to kMostSent bytes, in the stream's order; they have been read on return.
wk_status send(void *to, const void *from, int64_t bytes, cudaStream_t stream, wk_error *error);

} // namespace wk
