// host_pointer -- the kernel is given an address of the host's memory.
#include "program.cuh"

__global__ void
twice(const int *in, int *out)
{
    out[threadIdx.x] = 2 * in[threadIdx.x];
}

int
main(int argc, char **)
{
    program p;
    const std::vector<int> in = counting(32);
    std::vector<int> want;
    for (const int v : in) want.push_back(2 * v);
    int *out = p.room<int>(32);
    const int *given = argc > 1 ? p.upload(in) : in.data();
    p.launch(twice, 1, 32, 0, given, out);
    return p.compare(out, want);
}
