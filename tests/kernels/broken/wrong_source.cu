// wrong_source -- a lane reads from one that is not in the mask: what it gets is undefined.
#include "program.cuh"

template <bool kMended>
__global__ void
neighbour(const int *in, int *out)
{
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) v = __shfl_down_sync(0x0000ffffu, v, 1, kMended ? 16 : 32);
    out[threadIdx.x] = v;
}

int
main(int argc, char **)
{
    program p;
    std::vector<int> want = counting(32);
    for (int i = 0; i < 15; i++) want[i]++;
    int *out = p.room<int>(32);
    p.launch(argc > 1 ? neighbour<true> : neighbour<false>, 1, 32, 0, p.upload(counting(32)),
             out);
    return p.compare(out, want);
}
