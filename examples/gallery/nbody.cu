// nbody.cu -- how n bodies attract each other: each block brings kBlock of them at a time, for all
// its threads.
//
// In, out   bodies[n] (x, y, z, mass) -> pull[n] (x, y, z, 0); blocks of kBlock threads.
// Softening r^2 + soft, so that a body's own term is 0 and not NaN.
// Source    L. Nyland, M. Harris, J. Prins, "Fast N-Body Simulation with CUDA", GPU Gems 3 (2007).

namespace gravity
{

constexpr int kBlock = 64;

__global__ void
attract(const float4 *bodies, float4 *pull, int n, float soft)
{
    __shared__ float4 tile[kBlock];
    const int t = threadIdx.x, i = blockIdx.x * kBlock + t;
    const float4 own = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float4 sum = make_float4(0, 0, 0, 0);
    for (int first = 0; first < n; first += kBlock) {
        tile[t] = first + t < n ? bodies[first + t] : make_float4(0, 0, 0, 0);
        __syncthreads(); // the tile is full
        for (int j = 0; j < kBlock; j++) {
            const float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
            const float r = rsqrtf(x * x + y * y + z * z + soft), f = tile[j].w * r * r * r;
            sum.x += x * f;
            sum.y += y * f;
            sum.z += z * f;
        }
        __syncthreads(); // and read, before the next one takes its place
    }
    if (i < n) pull[i] = sum;
}

} // namespace gravity
