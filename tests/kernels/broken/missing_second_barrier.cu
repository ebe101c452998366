// missing_second_barrier -- a block goes round a loop, and overwrites what others still read.
#include "program.cuh"

template <bool kMended>
__global__ void
turn_rows(const int *in, int *out)
{
    __shared__ int s[64];
    for (int row = 0; row < 4; row++) {
        s[threadIdx.x] = in[row * 64 + threadIdx.x];
        __syncthreads(); // the row is written before it is read
        out[row * 64 + threadIdx.x] = s[63 - threadIdx.x];
        if (kMended) __syncthreads(); // it is read before the next one overwrites it
    }
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(256);
    std::vector<int> want;
    for (int row = 0; row < 4; row++)
        for (int i = 63; i >= 0; i--) want.push_back(in[row * 64 + i]);
    int *out = p.room<int>(256);
    p.launch(argc > 1 ? turn_rows<true> : turn_rows<false>, 1, 64, 0, p.upload(in), out);
    return p.compare(out, want);
}
