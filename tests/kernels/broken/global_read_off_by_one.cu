// global_read_off_by_one -- the last thread reads a neighbour that is not there.
#include "program.cuh"

template <bool kMended>
__global__ void
differences(const int *in, int *out, int n)
{
    const int i = threadIdx.x;
    out[i] = kMended && i == n - 1 ? 1 : in[i + 1] - in[i];
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(64);
    p.launch(argc > 1 ? differences<true> : differences<false>, 1, 64, 0,
             p.upload(counting(64)), out, 64);
    return p.compare(out, std::vector<int>(64, 1));
}
