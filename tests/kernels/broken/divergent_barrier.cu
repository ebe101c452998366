// divergent_barrier -- some threads come to one barrier, and the others to another.
#include "program.cuh"

template <bool kMended>
__global__ void
swap_halves(const int *in, int *out)
{
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    if (kMended) {
        __syncthreads(); // all is written before it is read
        out[threadIdx.x] = s[threadIdx.x ^ 32];
    } else if (threadIdx.x < 32) {
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x + 32];
    } else {
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x - 32];
    }
}

int
main(int argc, char **)
{
    program p;
    std::vector<int> want = counting(32, 33), rest = counting(32);
    want.insert(want.end(), rest.begin(), rest.end());
    int *out = p.room<int>(64);
    p.launch(argc > 1 ? swap_halves<true> : swap_halves<false>, 1, 64, 0,
             p.upload(counting(64)), out);
    return p.compare(out, want);
}
