// unreached_barrier -- threads without an element leave before the barrier.
#include "program.cuh"

template <bool kMended>
__global__ void
turn_round(const int *in, int *out, int n)
{
    __shared__ int s[64];
    const int i = threadIdx.x;
    if (!kMended && i >= n) return;
    if (i < n) s[i] = in[i];
    __syncthreads(); // all is written before it is read
    if (i < n) out[i] = s[n - 1 - i];
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(33);
    int *out = p.room<int>(33);
    p.launch(argc > 1 ? turn_round<true> : turn_round<false>, 1, 64, 0, p.upload(in), out, 33);
    return p.compare(out, std::vector<int>(in.rbegin(), in.rend()));
}
