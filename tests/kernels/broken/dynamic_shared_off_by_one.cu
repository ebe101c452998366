// dynamic_shared_off_by_one -- the host asks for one element less than the kernel writes.
#include "program.cuh"

__global__ void
shift(const int *in, int *out)
{
    WK_DYNAMIC_SHARED(int, s);
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
    p.launch(shift, 1, 64, (argc > 1 ? 65 : 64) * sizeof(int), p.upload(counting(64)), out);
    return p.compare(out, counting(64, 0));
}
