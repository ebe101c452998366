// textures.cu -- what textures and surfaces give at places that test_kernels_everywhere.py knows.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

constexpr int kWidth = 8, kHeight = 4, kPlaces = 24;

__device__ float
place(int i) // in eighths, some of them outside
{
    return (float)i * 0.625f - 2.5f;
}
__global__ void
sample(cudaTextureObject_t plane, cudaTextureObject_t line, bool normalized, float *out)
{
    const int i = threadIdx.x;
    const float x = place(i), y = place(kPlaces - 1 - i) / 2;
    out[2 * i] = tex2D<float>(plane, normalized ? x / kWidth : x, normalized ? y / kHeight : y);
    out[2 * i + 1] = tex1D<float>(line, normalized ? x / kWidth : x);
}
__global__ void
fetched(cudaTextureObject_t four, uchar4 *out)
{
    out[threadIdx.x] = tex1Dfetch<uchar4>(four, (int)threadIdx.x - 2);
}
__global__ void
turned(cudaSurfaceObject_t surface)
{
    const int x = threadIdx.x, y = threadIdx.y;
    float v;
    surf2Dread(&v, surface, x * 4, y);
    __syncthreads();
    surf2Dwrite(v + 1, surface, (x + 1) * 4, y, cudaBoundaryModeZero);
}

static cudaTextureObject_t
texture_of(const cudaResourceDesc &resource, int axes, cudaTextureFilterMode filter,
           cudaTextureAddressMode mode, bool normalized)
{
    cudaTextureDesc how = {};
    for (int i = 0; i < axes; i++) how.addressMode[i] = mode;
    how.filterMode = filter;
    how.readMode = cudaReadModeElementType;
    how.normalizedCoords = normalized;
    cudaTextureObject_t object = 0;
    if (cudaCreateTextureObject(&object, &resource, &how, nullptr)) printf("no texture\n");
    return object;
}

int
main()
{
    std::vector<float> h(kWidth * kHeight);
    for (int i = 0; i < kWidth * kHeight; i++) h[i] = (float)(i * i % 37);
    cudaArray_t plane, line;
    const cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
    cudaMallocArray(&plane, &of, kWidth, kHeight, cudaArraySurfaceLoadStore);
    cudaMallocArray(&line, &of, kWidth);
    cudaMemcpy2DToArray(plane, 0, 0, h.data(), kWidth * 4, kWidth * 4, kHeight,
                        cudaMemcpyHostToDevice);
    cudaMemcpy2DToArray(line, 0, 0, h.data(), kWidth * 4, kWidth * 4, 1,
                        cudaMemcpyHostToDevice);
    cudaResourceDesc of_plane = {}, of_line = {};
    of_plane.resType = of_line.resType = cudaResourceTypeArray;
    of_plane.res.array.array = plane;
    of_line.res.array.array = line;
    float *out, results[2 * kPlaces];
    cudaMalloc(&out, sizeof results);
    for (auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
        for (auto mode : {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap,
                          cudaAddressModeMirror})
            for (bool normalized : {false, true}) {
                if (!normalized &&
                    (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))
                    continue; // which need them
                const auto a = texture_of(of_plane, 2, filter, mode, normalized),
                           b = texture_of(of_line, 1, filter, mode, normalized);
                sample<<<1, kPlaces>>>(a, b, normalized, out);
                cudaMemcpy(results, out, sizeof results, cudaMemcpyDeviceToHost);
                printf("%d %d %d", filter, mode, normalized);
                for (float v : results) printf(" %.9g", v);
                printf("\n");
                cudaDestroyTextureObject(a);
                cudaDestroyTextureObject(b);
            }
    uchar4 *bytes, some[8];
    for (int i = 0; i < 8; i++) some[i] = make_uchar4(i, 2 * i, 3 * i, 4 * i);
    cudaMalloc(&bytes, sizeof some * 2);
    cudaMemcpy(bytes, some, sizeof some, cudaMemcpyHostToDevice);
    cudaResourceDesc linear = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = bytes;
    linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    linear.res.linear.sizeInBytes = sizeof some;
    fetched<<<1, 8>>>(texture_of(linear, 1, cudaFilterModePoint, cudaAddressModeClamp, false),
                      bytes + 8);
    cudaMemcpy(some, bytes + 8, sizeof some, cudaMemcpyDeviceToHost);
    for (const uchar4 &v : some) printf("%d,%d ", v.x, v.w);
    cudaSurfaceObject_t surface = 0;
    cudaCreateSurfaceObject(&surface, &of_plane);
    turned<<<1, dim3(kWidth, kHeight)>>>(surface);
    cudaMemcpy2DFromArray(h.data(), kWidth * 4, plane, 0, 0, kWidth * 4, kHeight,
                          cudaMemcpyDeviceToHost);
    for (float v : h) printf("%g ", v);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
