// stage.cuh -- pinned host memory that copies go through, and the streams they go on.
//
// A copy of pageable memory by the driver runs at a fifth of the bus, since one thread moves it
// through the driver's own pinned memory. Here several threads fill a ring of slots, each slot
// is one transfer, and transfers in, kernels and transfers out have a stream each.
#pragma once
#include "runtime/device.cuh"

namespace wk
{

constexpr int64_t kElement = 16;       // bytes of the longest: none is cut in two
constexpr int64_t kHugePage = 2 << 20; // bytes, of the host's memory

// What was measured (H100, PCIe 5 x16, 16 cores, 1 GiB; the pinned transfer takes 19.5 ms, both ways
// 22 to 24): with 8 MiB a slot, six slots, 16 threads and parts of 512 KiB a sum takes 21.1 ms and a
// transpose into touched pages 26.6. Pieces of 2 / 4 / 16 MiB: 38 / 24 / 22.6 ms, four / eight slots
// 21.7 / 23.6, 8 / 12 threads 20.9 / 21.4 (the transpose 36 / 32), parts of 256 KiB / 2 MiB 24 / 25.
// A transfer costs 2.7 us beside its bytes: 1 MiB runs at 48.6 of 55 GB/s, 256 KiB at 36.
constexpr int64_t kPiece = 8 << 20, kLeastPiece = 1 << 20;
constexpr int kSlots = 6;
constexpr int64_t kMostPiece =
    32 << 20; // of a call that cannot be cut finer; else it crosses whole
constexpr int64_t kSmallCall = 1 << 20; // below, one slot and one thread are as fast

struct staging {
    int64_t in_size = 0, out_size = 0;  // bytes of a slot
    char *in = nullptr, *out = nullptr; // pinned, kSlots slots each
    cudaStream_t inwards = nullptr, work = nullptr, outwards = nullptr;
    cudaEvent_t came[kSlots] = {}, done[kSlots] = {}, left[kSlots] = {};

    int64_t bytes() const
    {
        return (in ? in_size * kSlots : 0) + (out ? out_size * kSlots : 0);
    }
};

// The GPU's, with slots of at least these sizes; its bus must be held, and it must be current.
staging *ready_stage(gpu *g, int64_t in_size, int64_t out_size, wk_error *error);
void release_stage(gpu *g); // the pinned memory alone

} // namespace wk
