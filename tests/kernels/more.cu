// more.cu -- what programs use of CUDA now and then; test_kernels.py knows what is printed.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cstdio>
namespace cg = cooperative_groups;
#if !defined(__NVCC__) || __CUDACC_VER_MAJOR__ < 12
#error "it looks like no nvcc"
#endif

__global__ void
parts(unsigned *out)
{
    const unsigned all[] = {
        __vadd4(0x7f010203, 0x01010101),
        __vaddus4(0xff01fe03, 0x02010201),
        __vaddss4(0x7f0180ff, 0x0101ff01),
        __vabsdiffu4(0x01ff0005, 0x02010103),
        __vcmpgtu4(0x01ff0005, 0x02010103),
        __vsetgts2(0x0001ffff, 0),
        __vsadu4(0x01ff0005, 0x02010103),
        __vavgs2(0xfffe0001, 0xffff0002),
        __vneg4(0x01ff8000),
        __vsubss2(0x80007fff, 0x0001ffff),
    };
    for (int i = 0; i < 10; i++) out[i] = all[i];
}
__global__ void
functions(float *out)
{
    sincospif(0.25f, &out[0], &out[1]);
    out[2] = erfinvf(0.5f);
    out[3] = erfcinvf(1e-10f);
    out[4] = normcdfinvf(0.975f);
    out[5] = erfcxf(10);
    out[6] = __ldcv(out + 5);
    out[7] = erfinv(-1e-12) * 1e12;
}
__global__ void
staged(const float *in, float *out)
{
    __shared__ float s[8];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, s, in, sizeof s);
    cg::wait(block);
    out[threadIdx.x] = s[7 - threadIdx.x];
}

int
main()
{
    unsigned *u;
    float *f;
    cudaMallocManaged(&u, 64);
    cudaMallocManaged(&f, 64);
    parts<<<1, 1, 0, cudaStreamDefault>>>(u);
    functions<<<1, 1>>>(f);
    cudaDeviceSynchronize();
    for (int i = 0; i < 10; i++) printf("%s%08x", i ? " " : "", u[i]);
    printf("\n");
    for (int i = 0; i < 8; i++) printf("%.7g ", f[i]);
    staged<<<1, 8>>>(f, f + 8);
    cudaDeviceSynchronize();
    printf("%d\n", f[8] == f[7] && f[15] == f[0]);
    void *plain;
    cudaMalloc(&plain, 64);
    for (const void *p : {(void *)f, (void *)(f + 1), plain}) {
        cudaPointerAttributes of;
        cudaPointerGetAttributes(&of, p);
        printf("%d %d ", of.type, of.hostPointer == p);
    }
    size_t limit;
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 26);
    cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
    int grid, block;
    cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, staged,
                                                   [](int n) { return n * 100; });
    printf("%zu %d %d %d ", limit, cudaMemAdvise(f, 64, cudaMemAdviseSetReadMostly, 0), grid,
           block);
    printf("%d\n", cudaMemcpyPeer(plain, 0, f, 0, 64));
}
