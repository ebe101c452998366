// deep_recursion -- a thread uses more stack than there is.
#include "program.cuh"

__device__ int
depth(int n, int limit)
{
    volatile char frame[256];
    frame[n % 256] = (char)n;
    return n == limit ? n : depth(n + 1, limit) + frame[n % 256] - frame[n % 256];
}

__global__ void
recurse(int limit, int *out)
{
    *out = depth(0, limit);
}

int
main(int argc, char **)
{
    program p;
    const int limit = argc > 1 ? 10 : 100000;
    int *out = p.room<int>(1);
    p.launch(recurse, 1, 1, 0, limit, out);
    return p.compare(out, {limit});
}
