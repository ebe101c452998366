// missing_fence -- the last block adds the other blocks' sums, which it may not see yet.
#include "program.cuh"

constexpr int kBlocks = 8;

template <bool kMended>
__global__ void
sum_by_last_block(const int *in, int *sums, unsigned *done, int *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 32; i++) sum += in[blockIdx.x * 32 + i];
        sums[blockIdx.x] = sum;
        if (kMended) __threadfence(); // all see the sum before they see the block counted
        last = atomicAdd(done, 1u) == gridDim.x - 1;
        if (kMended) __threadfence(); // and what is read below is not older than the count
    }
    __syncthreads(); // all know whether this block is the last
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (int b = 0; b < kBlocks; b++) total += sums[b];
        *out = total;
    }
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(kBlocks * 32);
    int *sums = p.upload(std::vector<int>(kBlocks)), *out = p.room<int>(1);
    unsigned *done = p.upload(std::vector<unsigned>(1));
    p.launch(argc > 1 ? sum_by_last_block<true> : sum_by_last_block<false>, kBlocks, 32, 0,
             p.upload(in), sums, done, out);
    return p.compare(out, {kBlocks * 32 * (kBlocks * 32 + 1) / 2});
}
