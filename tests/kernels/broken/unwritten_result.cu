// unwritten_result -- nobody writes the last element.
#include "program.cuh"

template <bool kMended>
__global__ void
copy(const int *in, int *out, int n)
{
    const int i = threadIdx.x;
    if (kMended ? i < n : i < n - 1) out[i] = in[i];
}

int
main(int argc, char **)
{
    program p;
    int *out = p.room<int>(64);
    p.launch(argc > 1 ? copy<true> : copy<false>, 1, 64, 0, p.upload(counting(64)), out, 64);
    return p.compare(out, counting(64));
}
