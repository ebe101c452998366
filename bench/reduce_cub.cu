// CUB's reductions behind a C interface, for bench/reduce.py: the peer that is no Python package.
//
// Compiled once for each type: -DTYPE=float -DTOTAL=float, or -DTYPE=int -DTOTAL=int64_t for a sum
// of int as NumPy's. As CUB's own functions: with temporary = nullptr only *bytes is set.

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

struct RowStart {
    int64_t columns;

    __host__ __device__ int64_t operator()(int64_t row) const
    {
        return row * columns;
    }
};

} // namespace

extern "C" int
cub_sum(void *temporary, size_t *bytes, const TYPE *in, TOTAL *out, int64_t n,
        cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(temporary, *bytes, in, out, n, stream);
}

extern "C" int
cub_max(void *temporary, size_t *bytes, const TYPE *in, TYPE *out, int64_t n,
        cudaStream_t stream)
{
    return cub::DeviceReduce::Max(temporary, *bytes, in, out, n, stream);
}

// One total for each row of a matrix.

extern "C" int
cub_sum_rows(void *temporary, size_t *bytes, const TYPE *in, TOTAL *out, int64_t rows,
             int64_t columns, cudaStream_t stream)
{
    const auto starts = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                        RowStart{columns});
    return cub::DeviceSegmentedReduce::Sum(temporary, *bytes, in, out, rows, starts, starts + 1,
                                           stream);
}

extern "C" int
cub_max_rows(void *temporary, size_t *bytes, const TYPE *in, TYPE *out, int64_t rows,
             int64_t columns, cudaStream_t stream)
{
    const auto starts = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0),
                                                        RowStart{columns});
    return cub::DeviceSegmentedReduce::Max(temporary, *bytes, in, out, rows, starts, starts + 1,
                                           stream);
}

extern "C" int
cub_version()
{
    return CUB_VERSION;
}
