// waits_for_a_later_block -- which need not run before this one ends.
#include "program.cuh"

template <bool kMended>
__global__ void
relay(int *flags, int *out)
{
    const int wanted = kMended ? (int)blockIdx.x - 1 : (int)blockIdx.x + 1;
    if (wanted >= 0 && wanted < (int)gridDim.x && !kMended)
        while (atomicAdd(&flags[wanted], 0) == 0) __nanosleep(20);
    atomicAdd(&flags[blockIdx.x], 1);
    out[blockIdx.x] = 1;
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(4);
    int *flags = p.upload(std::vector<int>(4));
    p.launch(argc > 1 ? relay<true> : relay<false>, 4, 1, 0, flags, out);
    return p.compare(out, std::vector<int>(4, 1));
}
