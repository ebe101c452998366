// missing_barrier -- a block turns its elements round in shared memory, and reads them before
// all are there.
#include "program.cuh"

template <bool kMended>
__global__ void
turn_round(const int *in, int *out)
{
    __shared__ int s[256];
    s[threadIdx.x] = in[threadIdx.x];
    if (kMended) __syncthreads(); // all is written before it is read
    out[threadIdx.x] = s[255 - threadIdx.x];
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(256);
    int *out = p.room<int>(256);
    p.launch(argc > 1 ? turn_round<true> : turn_round<false>, 1, 256, 0, p.upload(in), out);
    return p.compare(out, std::vector<int>(in.rbegin(), in.rend()));
}
