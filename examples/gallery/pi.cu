// pi.cu -- pi by throwing darts: a random number is a function of the dart's number, so that no
// thread keeps a generator, and every launch throws the same darts.
//
// In, out   *hits += of `darts`, at most 2^31, in the unit square those within the quarter circle;
//           any grid, blocks of whole warps. A warp counts by a vote, and adds once.
// Source    J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011); the function is
//           M. Jarzynski, M. Olano, "Hash Functions for GPU Rendering" (2020), pcg.

namespace darts
{

__device__ unsigned
random_bits(unsigned number)
{
    const unsigned state = number * 747796405u + 2891336453u;
    const unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

__global__ void
throw_darts(unsigned *hits, unsigned darts)
{
    const unsigned first = blockIdx.x * blockDim.x, step = gridDim.x * blockDim.x;
    unsigned count = 0;
    for (unsigned at = first; at < darts; at += step) { // alike for all lanes of a warp
        const unsigned dart = at + threadIdx.x, bits = random_bits(dart);
        const unsigned x = bits & 0xffff, y = bits >> 16;
        const bool hit = (unsigned long long)x * x + (unsigned long long)y * y < 1ull << 32;
        count += __popc(__ballot_sync(~0u, dart < darts && hit));
    }
    if (threadIdx.x % 32 == 0) atomicAdd(hits, count);
}

} // namespace darts
