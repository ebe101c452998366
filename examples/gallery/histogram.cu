// histogram.cu -- counts of bytes: each block counts into shared memory, and adds up once.
//
// In, out   x[n] -> counts[kBins] += how many x are of each; any grid, any block.
// Source    V. Podlozhnyuk, "Histogram calculation in CUDA" (2007); N. Sakharnykh, "GPU Pro Tip:
//           Fast Histograms Using Shared Atomics on Maxwell" (2015).

namespace counting
{

constexpr int kBins = 256;

__global__ void
histogram(const unsigned char *x, unsigned *counts, int n)
{
    __shared__ unsigned own[kBins];
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) own[bin] = 0;
    __syncthreads(); // all bins are 0
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd(&own[x[i]], 1);
    __syncthreads(); // all is counted
    for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x)
        if (own[bin]) atomicAdd(&counts[bin], own[bin]);
}

} // namespace counting
