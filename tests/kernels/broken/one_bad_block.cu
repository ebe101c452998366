// one_bad_block -- of a grid that several threads of the operating system share.
#include "program.cuh"

constexpr int kBlocks = 64, kThreads = 256, kBad = 37;

template <bool kMended>
__global__ void
turn_round(const int *in, int *out)
{
    __shared__ int s[kThreads];
    const int at = blockIdx.x * kThreads;
    s[threadIdx.x] = in[at + threadIdx.x];
    if (kMended || blockIdx.x != kBad || threadIdx.x != 200) __syncthreads(); // all is written
    out[at + threadIdx.x] = s[kThreads - 1 - threadIdx.x];
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(kBlocks * kThreads);
    std::vector<int> want;
    for (int b = 0; b < kBlocks; b++)
        for (int i = kThreads - 1; i >= 0; i--) want.push_back(in[b * kThreads + i]);
    int *out = p.room<int>(want.size());
    p.launch(argc > 1 ? turn_round<true> : turn_round<false>, kBlocks, kThreads, 0,
             p.upload(in), out);
    return p.compare(out, want);
}
