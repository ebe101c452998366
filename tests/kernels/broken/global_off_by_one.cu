// global_off_by_one -- the loop's end is one too far: an element is written past the last.
#include "program.cuh"

template <bool kMended>
__global__ void
increment(int *data, int n)
{
    for (int i = threadIdx.x; kMended ? i < n : i <= n; i += 32) data[i] += 1;
}

int
main(int argc, char **)
{
    program p;
    int *data = p.upload(counting(100));
    p.launch(argc > 1 ? increment<true> : increment<false>, 1, 32, 0, data, 100);
    return p.compare(data, counting(100, 2));
}
