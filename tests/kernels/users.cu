// users.cu -- kernels as users write them; test_kernels.py calls each from Python.
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cassert>
namespace cg = cooperative_groups;

struct pair {
    float x;
    int y;
};
__constant__ float scale[4];
__device__ int counter = 7, table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ float4 lanes[2];
__constant__ pair pairs[2];
namespace outer
{
namespace
{
__device__ int hidden;
__global__ void
inner(int *x)
{
    *x = 5;
}
} // namespace
} // namespace outer

__global__ void
scaled(const float *x, float *out, int n, float factor = 2.5f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor;
}
extern "C" __global__ void __launch_bounds__(512) turned(float *x)
{
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
template <typename T, int N>
__global__ void
filled(T *x, T plus)
{
    x[threadIdx.x] = N * scale[1] + plus;
    if (threadIdx.x == 0) counter++;
}
__global__ void
places(int *x)
{
    int at = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    at += blockDim.x * blockDim.y * blockDim.z *
          (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    x[at] = at;
}
__global__ void
leftovers(float *x)
{
    __shared__ float s[32];
    x[blockIdx.x] = s[threadIdx.x];
    s[threadIdx.x] = 1;
}
__global__ void
mixed(double *out, signed char a, unsigned char b, short c, unsigned d, long long e,
      unsigned long long f, bool g, float h, double i, float2 j, pair k, const void *any,
      const char *text, int *null)
{
    const double all[] = {(double)a,
                          (double)b,
                          (double)c,
                          (double)d,
                          (double)e,
                          (double)f,
                          (double)g,
                          h,
                          i,
                          j.x,
                          j.y,
                          k.x,
                          (double)k.y,
                          (double)(any != 0),
                          (double)text[1],
                          (double)(null == 0)};
    for (int n = 0; n < 16; n++) out[n] = all[n];
}
__global__ void
shaped(dim3 d, int *out)
{
    out[0] = d.x + 10 * d.y + 100 * d.z;
    out[1] = pairs[1].x + pairs[1].y;
}
__global__ void
summed(const int *x, int *out)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = cg::reduce(warp, x[threadIdx.x], cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(out, sum);
}
__global__ void
says(int n)
{
    if (threadIdx.x == 0) printf("n is %d%c\n", n, '!');
    if (threadIdx.x == 0) printf("done\n");
}
__global__ void
lonely(unsigned *x)
{
    if (threadIdx.x % 4 == 1) x[threadIdx.x] = __activemask();
}
