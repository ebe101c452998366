// reduce.cu -- a sum of integers: each thread adds its share, a tree in shared memory adds threads,
// shuffles add the last warp.
//
// In, out   x[n] -> *out += their sum; blocks of kBlock threads, any grid.
// Source    M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), kernel 7; its last warp went
//           by volatile memory, which no GPU since 2017 allows: shuffles took its place.

namespace reduction
{

constexpr int kBlock = 128;

__global__ void
reduce(const int *x, int *out, int n)
{
    __shared__ int s[kBlock];
    const int t = threadIdx.x;
    int sum = 0;
    for (long long i = blockIdx.x * kBlock + t; i < n; i += (long long)gridDim.x * kBlock)
        sum += x[i];
    s[t] = sum;
    __syncthreads(); // all shares are there
    for (int half = kBlock / 2; half >= 32; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads(); // this step's sums are there before the next one reads them
    }
    if (t < 32) {
        sum = s[t];
        for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
        if (t == 0) atomicAdd(out, sum);
    }
}

} // namespace reduction
