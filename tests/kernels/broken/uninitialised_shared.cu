// uninitialised_shared -- counters in shared memory that nobody has set to zero.
#include "program.cuh"

template <bool kMended>
__global__ void
count(const int *in, int *out)
{
    __shared__ int counts[4];
    if (kMended && threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads(); // the counters are zero before the first add
    atomicAdd(&counts[in[threadIdx.x] % 4], 1);
    __syncthreads(); // every add is done before they are read
    if (threadIdx.x < 4) out[threadIdx.x] = counts[threadIdx.x];
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(4);
    p.launch(argc > 1 ? count<true> : count<false>, 1, 64, 0, p.upload(counting(64)), out);
    return p.compare(out, std::vector<int>(4, 16));
}
