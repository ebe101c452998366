// wrong_width -- a shuffle among 12 lanes: no power of two.
#include "program.cuh"

__global__ void
first_of_segment(const int *in, int *out, int width)
{
    out[threadIdx.x] = __shfl_sync(0xffffffffu, in[threadIdx.x], 0, width);
}

int
main(int argc, char **)
{
    program p;
    const int width = argc > 1 ? 8 : 12;
    std::vector<int> want;
    for (int i = 0; i < 32; i++) want.push_back(1 + i / width * width);
    int *out = p.room<int>(32);
    p.launch(first_of_segment, 1, 32, 0, p.upload(counting(32)), out, width);
    return p.compare(out, want);
}
