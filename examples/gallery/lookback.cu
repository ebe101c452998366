// lookback.cu -- prefix sums in one pass: a block looks back at those before it until one knows all.
//
// In, out   x[n] -> out[n], inclusive; blocks of kBlock threads, n / kBlock of them, rounded up.
//           ticket[1], state, sums, prefixes [blocks]: zero before the launch.
// Progress  a block's number is the order in which it begins, so it waits only for blocks that run.
// Source    D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back"
//           (2016).

namespace one_pass
{

constexpr int kBlock = 64;
constexpr int kSum = 1, kPrefix = 2; // states: the block's own sum is known; that of all up to it

__device__ int
sum_before(int block, int *state, volatile int *sums, volatile int *prefixes)
{
    int sum = 0;
    for (int b = block - 1; b >= 0;) {
        const int known = atomicAdd(&state[b], 0);
        if (known == 0) continue; // it will be
        __threadfence();          // what it wrote before is read after
        if (known == kPrefix) return sum + prefixes[b];
        sum += sums[b--];
    }
    return sum;
}

__global__ void
scan(const int *x, int *out, int n, int *ticket, int *state, int *sums, int *prefixes)
{
    __shared__ int s[kBlock], block, before;
    const int t = threadIdx.x;
    if (t == 0) block = atomicAdd(ticket, 1);
    __syncthreads(); // all know which block they are
    const int i = block * kBlock + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads(); // all have loaded
    for (int step = 1; step < kBlock; step *= 2) {
        const int left = t >= step ? s[t - step] : 0;
        __syncthreads(); // all have read
        s[t] += left;
        __syncthreads(); // all have added
    }
    if (t == kBlock - 1) {
        sums[block] = s[t];
        __threadfence(); // the sum is there before its flag
        atomicExch(&state[block], kSum);
        before = sum_before(block, state, sums, prefixes);
        prefixes[block] = before + s[t];
        __threadfence(); // and so the prefix
        atomicExch(&state[block], kPrefix);
    }
    __syncthreads(); // all know what comes before
    if (i < n) out[i] = before + s[t];
}

} // namespace one_pass
