// whole.cu -- a program as users write them; test_kernels.py runs it.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                            \
    do {                                                                                       \
        const cudaError_t e_ = (call);                                                         \
        if (e_ != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorName(e_));                                   \
            exit(2);                                                                           \
        }                                                                                      \
    } while (0)
#define RUN(name, ...) name<<<dim3(n / 32), 32>>>(__VA_ARGS__)

__constant__ float scale;
__device__ int launches;
__managed__ int together = 1;

struct times {
    float by;
    __host__ __device__ float operator()(float v) const
    {
        return by * v;
    }
};
template <class F>
__global__ void
apply(F f, float *x, int n = 64)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float s[32];
    s[threadIdx.x] = f(x[i]);
    __syncthreads();
    if (i < n) x[i] = s[threadIdx.x];
}
__global__ void
plus(float *x, float add = 2.f)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] += add * scale;
    if (blockIdx.x == 0 && threadIdx.x == 0) launches++;
}
__global__ void
past(float *x)
{
    x[1 << 20] = 1;
}
typedef void (*kernel)(float *, float);
typedef float (*function)(float);
__device__ float
same(float v)
{
    return v;
}
__device__ function same_there = same;
__global__ void
called(function f, float *x)
{
    x[threadIdx.x] = f(x[threadIdx.x]);
}

int
main(int count, char **arguments)
{
    const int n = 64;
    const float two = 2;
    std::vector<float> h(n);
    float *x, *pinned, ms = -1;
    for (int i = 0; i < n; i++) h[i] = i;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMallocHost(&pinned, n * sizeof(float)));
    CHECK(cudaMemcpyToSymbol(scale, &two, sizeof two));
    cudaEvent_t start, stop;
    cudaStream_t stream;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyAsync(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(start, stream));
    apply<<<2, 32, 0, stream>>>(times{3}, x);
    apply<<<2, 32>>>([=] __device__(float v) { return v + n; }, x, n);
    RUN(plus, x, 2.f);
    kernel table[] = {plus};
    table[0]<<<n / 32, 32>>>(x, 0.5f);
    plus<<<1, 1>>>(x);
    function f;
    CHECK(cudaMemcpyFromSymbol(&f, same_there, sizeof f));
    called<<<1, 32>>>(f, x);
    CHECK(cudaEventRecord(stop, stream));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaMemcpy(pinned, x, n * sizeof(float), cudaMemcpyDeviceToHost));
    int counted, blocks;
    CHECK(cudaMemcpyFromSymbol(&counted, launches, sizeof counted));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plus, 1024, 100000));
    printf("%g %g %d %d %d %d %d\n", pinned[0], pinned[63], counted, properties.warpSize,
           blocks, ms >= 0, together);
    printf("%s\n", cudaGetErrorName(cudaMemcpy(x, pinned, 1 << 20, cudaMemcpyHostToDevice)));
    printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s k<<<1, 2>>>(x)\n", cudaGetErrorName(cudaGetLastError()));
    plus<<<1, 2000>>>(x);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    if (count > 1 && strcmp(arguments[1], "past") == 0) past<<<1, 1>>>(x);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    return 3;
}
