// missing_syncwarp -- a warp adds up in shared memory as if its lanes went in step.
#include "program.cuh"

template <bool kMended>
__global__ void
sum_of_warp(const int *in, int *out)
{
    __shared__ int s[32];
    s[threadIdx.x] = in[threadIdx.x];
    if (kMended) __syncwarp(); // written before it is read
    for (int half = 16; half > 0; half /= 2) {
        const int other = threadIdx.x < half ? s[threadIdx.x + half] : 0;
        if (kMended) __syncwarp(); // read before it is overwritten
        if (threadIdx.x < half) s[threadIdx.x] += other;
        if (kMended) __syncwarp();
    }
    if (threadIdx.x == 0) *out = s[0];
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(1);
    p.launch(argc > 1 ? sum_of_warp<true> : sum_of_warp<false>, 1, 32, 0,
             p.upload(counting(32)), out);
    return p.compare(out, {32 * 33 / 2});
}
