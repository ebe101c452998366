// gather.cuh -- tiles of lines that are not whole, whose elements lie apart, or do not all count (lines.cuh).
//
// In, out   elements or vectors of them, a mask or none -> a lane's part of a warp's tile in shared
//           memory, fillers where elements do not count, and a bit for each that does.
// How       functions for each size of elements, which all accumulators call before they take a tile.
//           Vectors are read two at a time, other elements four or eight, all on their way together; of
//           a mask as many bytes as a vector has elements, where these lie side by side.
// Better    than kernels of their own, which were a ninth of all machine code: elements pass through
//           shared memory once, beside which a call is short.
#pragma once
#include "reduce/production/task.cuh"

namespace wk
{

constexpr int kGatheredVectors = 4; // of a lane; keeps_contract

// A warp's tile.
struct gathered {
    uint4 vector[kGatheredVectors][kWarp];
};

// Elements that a lane takes at once, if they come one by one.
template <int kItem>
constexpr int gathered_batch = kItem <= 2 ? 32 : 64 / kItem;

// All that the first two need comes in registers, and they take few of them: a function saves most that it takes,
// and 50 of them, and back, take as long as a tile does.

// Vectors that lie kWarp apart, so many as begin before v + left; of their mask elements have a byte each, `step` apart.
template <int kItem>
__device__ WK_NOINLINE uint64_t gather_vectors(const uint4 *v, int left, const uint8_t *mask,
                                               int64_t step, uint4 filler, gathered *to);

// The first `left` elements of a batch, `pitch` apart, and their mask or null.
template <int kItem>
__device__ WK_NOINLINE uint32_t gather_along(const void *x, int64_t pitch, const uint8_t *mask,
                                             int64_t mask_pitch, int left, uint4 filler,
                                             gathered *to);

// Batch u of the output at x, whose mask begins at `mask`: elements along any axes, or parts of complex numbers.
template <int kItem>
__device__ WK_NOINLINE uint32_t gather_anywhere(const void *x, const uint8_t *mask,
                                                const reduce_task &task, int64_t u,
                                                uint4 filler, gathered *to);

} // namespace wk
