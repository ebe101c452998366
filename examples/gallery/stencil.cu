// stencil.cu -- one step of heat along a rod: a block loads its elements, and a halo on each side.
//
// In, out   x[n] -> out[i] = x[i] + rate * (x[i - 1] - 2 x[i] + x[i + 1]), ends repeated; blocks of
//           kBlock threads, a grid of n / kBlock, rounded up.
// Source    M. Harris, "Finite Difference Methods in CUDA C/C++" (2013).

namespace stencils
{

constexpr int kBlock = 64;

__global__ void
heat(const float *x, float *out, int n, float rate)
{
    __shared__ float s[1 + kBlock + 1];
    const int t = threadIdx.x, first = blockIdx.x * kBlock;
    for (int at = t; at < kBlock + 2; at += kBlock) {
        const int i = first + at - 1;
        s[at] = x[i < 0 ? 0 : i < n ? i : n - 1];
    }
    __syncthreads(); // a neighbour has loaded the neighbour's element
    if (first + t < n) out[first + t] = s[t + 1] + rate * (s[t] - 2 * s[t + 1] + s[t + 2]);
}

} // namespace stencils
