// bad_address -- a null pointer where the result belongs.
#include "program.cuh"

__global__ void
set(int *out)
{
    out[threadIdx.x] = 7;
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(32);
    p.launch(set, 1, 32, 0, argc > 1 ? out : nullptr);
    return p.compare(out, std::vector<int>(32, 7));
}
