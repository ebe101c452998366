// order -- prints the number that each thread drew, block by block: the schedule, made visible.
#include "program.cuh"

__global__ void
draw(unsigned *next, unsigned *drawn)
{
    drawn[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1u);
}

int
main()
{
    program p;
    constexpr unsigned blocks = 6, threads = 96;
    unsigned *drawn = p.room<unsigned>(blocks * threads);
    p.launch(draw, blocks, threads, 0, p.upload(std::vector<unsigned>(1)), drawn);
    for (const unsigned n : p.download(drawn, blocks * threads)) printf("%u ", n);
    return kRight;
}
