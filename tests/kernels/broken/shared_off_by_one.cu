// shared_off_by_one -- a thread writes past the end of a static shared array.
#include "program.cuh"

template <bool kMended>
__global__ void
shift(const int *in, int *out)
{
    __shared__ int s[kMended ? 65 : 64];
    s[threadIdx.x + 1] = in[threadIdx.x];
    if (threadIdx.x == 0) s[0] = 0;
    __syncthreads(); // all is written before it is read
    out[threadIdx.x] = s[threadIdx.x];
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(64);
    p.launch(argc > 1 ? shift<true> : shift<false>, 1, 64, 0, p.upload(counting(64)), out);
    return p.compare(out, counting(64, 0));
}
