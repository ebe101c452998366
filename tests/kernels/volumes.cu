// volumes.cu -- textures and surfaces of volumes, layers and cubes; barriers, pipelines and copies of cuda::;
// Thrust; special registers. Prints what test_kernels.py knows.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

namespace cg = cooperative_groups;

__global__ void
sample(cudaTextureObject_t volume, cudaTextureObject_t layers, cudaTextureObject_t cube,
       float *out)
{
    out[0] = tex3D<float>(volume, 1.5f, 1.5f, 1.5f);  // element (1, 1, 1)
    out[1] = tex3D<float>(volume, 1.5f, 1.5f, 1.75f); // a quarter of the way to (1, 1, 2)
    out[2] = tex3D<float>(volume, 2.0f, 1.5f, 9.0f);  // clamped, between two
    out[3] = tex2DLayered<float>(layers, 0.5f, 1.5f, 2);
    out[4] = tex2DLayered<float>(layers, 3.5f, 0.5f, 9);
    const float d[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    for (int i = 0; i < 6; i++) out[5 + i] = texCubemap<float>(cube, d[i][0], d[i][1], d[i][2]);
    out[11] = texCubemap<float>(cube, 1, -0.6f, 0.6f); // face 0: left, below
}
__global__ void
turned(cudaSurfaceObject_t s)
{
    const float v = surf3Dread<float>(s, 4, 1, 2);
    surf3Dwrite(v + 0.5f, s, 0, 0, 0);
    surf3Dwrite(1.0f, s, 0, 0, 99, cudaBoundaryModeZero);
}
__global__ void
in_turn(int *out) // each round every thread reads its neighbour's
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[2][64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int v = threadIdx.x;
    for (int round = 0; round < 5; round++) {
        s[round % 2][threadIdx.x] = v;
        auto token = bar.arrive();
        bar.wait(std::move(token));
        v = s[round % 2][(threadIdx.x + 1) % 64];
    }
    out[threadIdx.x] = v;
}
__global__ void
piped(const int *in, int *out, int n) // warp 0 brings what warp 1 adds up
{
    constexpr int stages = 2;
    __shared__ alignas(16) int s[stages][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    const bool brings = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state,
                                    brings ? cuda::pipeline_role::producer
                                           : cuda::pipeline_role::consumer);
    int sum = 0;
    for (int i = 0; i < n; i++) {
        const int lane = threadIdx.x % 32;
        if (brings) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[i % stages][lane], &in[32 * i + lane],
                               cuda::aligned_size_t<4>(sizeof(int)), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += s[i % stages][31 - lane];
            pipe.consumer_release();
        }
    }
    if (!brings) out[threadIdx.x - 32] = sum;
}
__global__ void
lanes(unsigned *out)
{
    unsigned lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    out[threadIdx.x] = lane * 1000 + __popc(below);
}

static cudaTextureObject_t
texture(cudaArray_t array, cudaTextureFilterMode filter)
{
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = filter;
    for (auto &mode : how.addressMode) mode = cudaAddressModeClamp;
    cudaTextureObject_t t = 0;
    cudaCreateTextureObject(&t, &r, &how, nullptr);
    return t;
}

static cudaArray_t
filled(cudaExtent size, unsigned flags) // with 100 z + 10 y + x
{
    float values[1000];
    size_t n = 0;
    for (size_t z = 0; z < size.depth; z++)
        for (size_t y = 0; y < size.height; y++)
            for (size_t x = 0; x < size.width; x++) values[n++] = 100.0f * z + 10.0f * y + x;
    const cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    cudaMalloc3DArray(&array, &of, size, flags);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(values, size.width * 4, size.width, size.height);
    p.dstArray = array;
    p.extent = size;
    p.kind = cudaMemcpyHostToDevice;
    printf("%s ", cudaGetErrorName(cudaMemcpy3D(&p)));
    return array;
}

int
main()
{
    const cudaArray_t volume = filled(make_cudaExtent(4, 3, 5), cudaArraySurfaceLoadStore);
    const cudaArray_t layers = filled(make_cudaExtent(4, 3, 3), cudaArrayLayered);
    const cudaArray_t cube = filled(make_cudaExtent(2, 2, 6), cudaArrayCubemap);
    cudaArray_t none;
    const cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
    printf("%s\n", cudaGetErrorName(cudaMalloc3DArray(&none, &of, make_cudaExtent(2, 3, 6),
                                                      cudaArrayCubemap)));
    float *out;
    cudaMallocManaged(&out, 64 * sizeof(float));
    sample<<<1, 1>>>(texture(volume, cudaFilterModeLinear),
                     texture(layers, cudaFilterModePoint), texture(cube, cudaFilterModePoint),
                     out);
    for (int i = 0; i < 12; i++) printf("%g ", out[i]);
    cudaResourceDesc r = {};
    r.res.array.array = volume;
    cudaSurfaceObject_t s;
    cudaCreateSurfaceObject(&s, &r);
    turned<<<1, 1>>>(s);
    cudaMemcpy3DParms p = {};
    p.srcArray = volume;
    p.dstPtr = make_cudaPitchedPtr(out, 16, 4, 3);
    p.extent = make_cudaExtent(2, 2, 1);
    p.kind = cudaMemcpyDefault;
    cudaMemcpy3D(&p);
    printf("| %g %g %g | ", out[0], out[1], out[5]);
    p.extent.depth = 6;
    printf("%s\n", cudaGetErrorName(cudaMemcpy3D(&p)));

    int *v = (int *)out;
    in_turn<<<1, 64>>>(v);
    printf("%d %d ", v[0], v[63]);
    thrust::device_vector<int> in(32 * 9);
    thrust::sequence(in.begin(), in.end());
    piped<<<1, 64>>>(thrust::raw_pointer_cast(&in[0]), v, 9);
    printf("%d %d ", v[0], v[31]);
    lanes<<<1, 64>>>((unsigned *)v);
    printf("%d\n", v[45]);

    thrust::host_vector<int> h(in);
    thrust::sort(thrust::device, in.begin(), in.end(), thrust::greater<int>());
    thrust::inclusive_scan(h.begin(), h.end(), h.begin());
    printf("%d %d %d\n", in[0], h[10], thrust::reduce(in.begin(), in.end()));
    return 0;
}
