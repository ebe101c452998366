// Kernels of other people: of NVIDIA's cuda-samples, in samples/, with their licence. tools/ncu.py has a profiler count
// them on a GPU, tests/test_lab.py compares what the emulated device counts. Sizes are small, and such that no count
// depends on the order of blocks or warps.
#include <cuda_runtime.h>
#include <stdio.h>
#include <vector>
#include "samples/aggregated.cuh"
#include "samples/atomic_intrinsics.cuh"
#include "samples/black_scholes.cuh"
#include "samples/convolution.cuh"
#include "samples/dct.cuh"
#include "samples/haar.cuh"
#include "samples/histogram.cuh"
#include "samples/matrix_mul.cuh"
#include "samples/reduction.cuh"
#include "samples/scalar_prod.cuh"
#include "samples/scan.cuh"
#include "samples/shfl_scan.cuh"
#include "samples/single_pass.cuh"
#include "samples/sobol.cuh"
#include "samples/sorting.cuh"
#include "samples/transpose.cuh"
#include "samples/vector_add.cuh"
#include "samples/vote.cuh"
#include "samples/walsh.cuh"

static char *memory;
template <typename T>
static T *
take(int which)
{
    return reinterpret_cast<T *>(memory + ((size_t)which << 20));
}

static void
run_sums()
{
    float *const x = take<float>(0), *const y = take<float>(1), *const out = take<float>(4);
    const int n = 1000, b = 256, bytes = b * 4;
    vectorAdd<<<4, b>>>(x, y, out, n);
    scalarProdGPU<<<2, b>>>(out, x, y, 3, 2048);
    reduce0<float><<<4, b, bytes>>>(x, out, n);
    reduce1<float><<<4, b, bytes>>>(x, out, n);
    reduce2<float><<<4, b, bytes>>>(x, out, n);
    reduce3<float><<<2, b, bytes>>>(x, out, n);
    reduce4<float, b><<<2, b, bytes>>>(x, out, n);
    reduce5<float, b><<<2, b, bytes>>>(x, out, n);
    reduce6<float, b, true><<<2, b, bytes>>>(x, out, 4096);
    reduce6<float, b, false><<<2, b, bytes>>>(x, out, n);
    reduceMultiPass<128, true><<<4, 128, 512>>>(x, out, 2048);
    reduceSinglePass<128, false><<<6, 128, 512>>>(x, out, 2000);
}

static void
run_tiles()
{
    float *const x = take<float>(0), *const y = take<float>(1), *const out = take<float>(4);
    const int wide = 64, high = 96;
    const dim3 grid(wide / 32, high / 32), block(32, 16);
    for (void (*kernel)(float *, float *, int, int) :
         {copy, copySharedMem, transposeNaive, transposeCoalesced, transposeNoBankConflicts,
          transposeDiagonal, transposeFineGrained, transposeCoarseGrained})
        kernel<<<grid, block>>>(out, x, wide, high);
    MatrixMulCUDA<16><<<dim3(4, 4), dim3(16, 16)>>>(out, x, y, 64, 64);
    MatrixMulCUDA<32><<<dim3(2, 2), dim3(32, 32)>>>(out, x, y, 64, 64);
    convolutionRowsKernel<<<dim3(2, 16), dim3(16, 4)>>>(out, x, 256, 64, 256);
    convolutionColumnsKernel<<<dim3(16, 1), dim3(16, 8)>>>(out, x, 256, 64, 256);
    CUDAkernel2DCT<<<dim3(2, 2), dim3(8, 4, 2)>>>(out, x, 64);
    CUDAkernelQuantizationFloat<<<dim3(8, 4), dim3(8, 8)>>>(out, 64);
}

static void
run_scans_and_transforms()
{
    float *const x = take<float>(0), *const y = take<float>(1), *const out = take<float>(4);
    uint *const keys = take<uint>(2), *const found = take<uint>(5), *const sum = take<uint>(6);
    scanExclusiveShared<<<4, 256>>>((uint4 *)found, (uint4 *)keys, 1024);
    scanExclusiveShared2<<<1, 256>>>(sum, found, keys, 4, 4);
    uniformUpdate<<<4, 256>>>((uint4 *)found, sum);
    shfl_scan_test<<<4, 256, 32>>>((int *)found, 32, (int *)sum);
    uniform_add<<<3, 256>>>((int *)found + 256, (int *)sum, 768);
    fwtBatch1Kernel<<<2, 256, 4096>>>(out, x, 10);
    fwtBatch1Kernel<<<1, 512, 8192>>>(out, x, 11);
    fwtBatch2Kernel<<<dim3(2, 2), 256>>>(out, x, 512);
    modulateKernel<<<2, 256>>>(out, x, 1000);
    dwtHaar1D<<<2, 256, (512 + 32) * 4>>>(x, out, y, 9, 512, 256);
}

static void
run_sorts_and_counts()
{
    uint *const keys = take<uint>(2), *const values = take<uint>(3);
    uint *const k = take<uint>(5), *const v = take<uint>(6), *const bins = take<uint>(7);
    bitonicSortShared<<<2, 512>>>(k, v, keys, values, 1024, 1);
    bitonicMergeGlobal<<<4, 512>>>(k, v, keys, values, 4096, 2048, 1024, 1);
    oddEvenMergeSortShared<<<2, 512>>>(k, v, keys, values, 1024, 1);
    oddEvenMergeGlobal<<<8, 256>>>(k, v, keys, values, 4096, 4096, 512, 1);
    histogram64Kernel<<<4, 64>>>(bins, (uint4 *)keys, 1000);
    histogram256Kernel<<<3, 192>>>(bins, keys, 4000);
    mergeHistogram256Kernel<<<16, 256>>>(v, bins, 3);
}

static void
run_lanes_and_numbers()
{
    float2 *const x = take<float2>(0), *const y = take<float2>(1), *const out = take<float2>(4);
    uint *const keys = take<uint>(2), *const found = take<uint>(5);
    int *const some = take<int>(8);
    VoteAnyKernel1<<<1, 128>>>(keys, found, 128);
    VoteAllKernel2<<<1, 128>>>(keys, found, 128);
    VoteAnyKernel3<<<1, 96>>>(take<bool>(5), 32);
    testKernel<<<2, 256>>>(take<int>(9));
    filter_arr<<<4, 512>>>((int *)found, take<int>(10), some, 2976);
    sobolGPU_kernel<<<dim3(4, 2), 64>>>(1000, 2, keys, take<float>(4));
    BlackScholesGPU<<<4, 128>>>(out, out + 1024, x, y, x + 1024, 0.02f, 0.3f, 1000);
}

int
main()
{
    const int n = 1 << 16;
    std::vector<float> numbers(n), taps(17, 0.25f);
    std::vector<uint> mixed(n), order(n);
    std::vector<int> half(n);
    for (int i = 0; i < n; i++) {
        numbers[i] = (float)(1 + i % 41);
        mixed[i] = (uint)i * 2654435761u;
        order[i] = (uint)i;
        half[i] =
            i * 5 % 32 < 16 ? i + 1 : -i; // 16 of each warp, so that their places are aligned
    }
    cudaMalloc(&memory, 12 << 20);
    cudaMemset(memory, 0, 12 << 20);
    cudaMemcpy(take<float>(0), numbers.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(take<float>(1), numbers.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(take<uint>(2), mixed.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(take<uint>(3), order.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(take<int>(8), half.data(), n * 4, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(c_Kernel, taps.data(), taps.size() * sizeof(float));
    run_sums();
    run_tiles();
    run_scans_and_transforms();
    run_sorts_and_counts();
    run_lanes_and_numbers();
    const cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e));
    return e != cudaSuccess;
}
