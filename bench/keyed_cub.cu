// CUB's scan and segmented sum, and sums by key with atomics, behind a C interface, for bench/keyed.py:
// the peers that are no Python package. Compiled once for each type: -DTYPE=float. As CUB's own
// functions: with temporary = nullptr only *bytes is set.

#include <cstdint>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

namespace
{

// A table in shared memory for each block, in any order: what exact sums are measured against.
__global__ void
add_by_key(const int32_t *keys, const TYPE *in, TYPE *out, int64_t n, int groups)
{
    extern __shared__ char memory[];
    TYPE *sums = reinterpret_cast<TYPE *>(memory);
    for (int i = threadIdx.x; i < groups; i += blockDim.x) sums[i] = 0;
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
#pragma unroll 4
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&sums[keys[i]], in[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < groups; i += blockDim.x)
        if (sums[i] != 0) atomicAdd(&out[i], sums[i]);
}

} // namespace

extern "C" int
cub_scan(void *temporary, size_t *bytes, const TYPE *in, TYPE *out, int64_t n,
         cudaStream_t stream)
{
    return cub::DeviceScan::InclusiveSum(temporary, *bytes, in, out, n, stream);
}

extern "C" int
cub_segments(void *temporary, size_t *bytes, const TYPE *in, TYPE *out, int64_t segments,
             const int64_t *offsets, cudaStream_t stream)
{
    return cub::DeviceSegmentedReduce::Sum(temporary, *bytes, in, out, segments, offsets,
                                           offsets + 1, stream);
}

extern "C" int
shared_atomics(const int32_t *keys, const TYPE *in, TYPE *out, int64_t n, int groups,
               cudaStream_t stream)
{
    int processors = 0;
    const int bytes = groups * (int)sizeof(TYPE);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaFuncSetAttribute(add_by_key, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaMemsetAsync(out, 0, (size_t)bytes, stream);
    add_by_key<<<processors * 2, 1024, bytes, stream>>>(keys, in, out, n, groups);
    return cudaGetLastError();
}

extern "C" int
cub_version()
{
    return CUB_VERSION;
}
