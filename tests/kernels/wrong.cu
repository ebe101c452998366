// wrong.cu -- users' kernels that go wrong.
#include <assert.h>
__global__ void
past(float *x)
{
    x[threadIdx.x] *= 2;
}
__global__ void
copied(const float *x, float *y)
{
    y[threadIdx.x] = x[threadIdx.x];
}
__global__ void
wild(float *x)
{
    if (threadIdx.x == 5) x[1ll << 50] = 1;
}
__global__ void
endless(int *x)
{
    for (;;) x[0]++;
}
__global__ void
lock(int *x)
{
    while (atomicCAS(x, 1, 2) != 1)
        ;
}
__global__ void
diverges()
{
    if (threadIdx.x < 7) __syncthreads();
}
__global__ void
asserts(int n)
{
    assert(threadIdx.x < n);
}
__global__ void
traps()
{
    if (threadIdx.x == 2) __trap();
}
__global__ void
chatters()
{
    for (;;) printf("%d\n", threadIdx.x);
}
__global__ void
nests()
{
    nests<<<1, 1>>>();
}
__global__ void
waits()
{

    cudaDeviceSynchronize();
}
__global__ void
divides(int *x)
{
    x[0] = 7 / x[1];
}
__global__ void
before(float *x, float *y)
{
    (y ? y : x)[-1] = 1;
}
__global__ void
throws(int *x)
{
    if (x == nullptr) throw 3;
}
__global__ void
ends()
{
    exit(3);
}
__global__ void
frees(int *x) // what the host has
{
    void *p = malloc(8);
    free(p);
    free(x ? x : p);
}
