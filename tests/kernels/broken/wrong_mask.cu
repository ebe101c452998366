// wrong_mask -- half a warp shuffles, and its mask names lanes that do not take part.
#include "program.cuh"

template <bool kMended>
__global__ void
sum_of_half(const int *in, int *out)
{
    int v = in[threadIdx.x];
    if (threadIdx.x < 16) {
        const unsigned mask = kMended ? 0x0000ffffu : 0xffffffffu;
        for (int half = 8; half > 0; half /= 2) v += __shfl_down_sync(mask, v, half, 16);
        if (threadIdx.x == 0) *out = v;
    }
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(1);
    p.launch(argc > 1 ? sum_of_half<true> : sum_of_half<false>, 1, 32, 0,
             p.upload(counting(32)), out);
    return p.compare(out, {16 * 17 / 2});
}
