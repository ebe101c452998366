// races.cu -- kernels with a race, which `mended` mends; and what is wrong without being one.
#include <cooperative_groups.h>

__device__ int table[4][8];
__device__ unsigned tickets;

__global__ void
barrier(const float *x, float *out, int mended)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    if (mended) __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void
second_barrier(const float *x, float *out, int mended)
{
    extern __shared__ float d[];
    for (int round = 0; round < 2; round++) {
        d[threadIdx.x] = x[threadIdx.x] + round;
        __syncthreads();
        out[threadIdx.x] += d[63 - threadIdx.x];
        if (mended) __syncthreads();
    }
}

__global__ void
warp_sum(const float *x, float *out, int mended)
{
    __shared__ float s[64];
    const int t = threadIdx.x, lane = t % 32;
    s[t] = x[t];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (lane < d) s[t] += s[t + d];
        if (mended)
            __syncwarp();
        else
            __shfl_sync(0xffffffff, t, 0); // orders no memory
    }
    if (lane == 0) out[t / 32] = s[t];
}

__global__ void
tile(const float *x, float *out, int mended)
{
    namespace cg = cooperative_groups;
    __shared__ float s[64];
    const auto eight = cg::tiled_partition<8>(cg::this_thread_block());
    s[threadIdx.x] = x[threadIdx.x];
    if (mended)
        eight.sync();
    else
        eight.any(1);
    out[threadIdx.x] = s[threadIdx.x ^ 7];
}

__global__ void
two_blocks(int *out, int mended)
{
    if (threadIdx.x > 0) return;
    if (mended)
        atomicAdd(out, 1);
    else
        *out += 1;
}

__global__ void // rounds of blocks that read what the others wrote in the round before
meetings(int *x, int rounds, int mended)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        const int next = x[(r % 2) * n + (i + blockDim.x) % n];
        x[(r + 1) % 2 * n + i] = next + 1;
        if (mended || r + 2 < rounds) grid.sync();
    }
}

__global__ void // fence: 0: none; 1: each thread's own; 2: thread 0's; 3: before what it is to order
last_block(int *parts, int *out, int fence)
{
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (fence == 3) __threadfence();
    parts[i] = i;
    if (fence == 1) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (fence == 2) __threadfence();
        last = atomicAdd(&tickets, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    int sum = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x * blockDim.x; k += blockDim.x) sum += parts[k];
    atomicAdd(out, sum);
    if (threadIdx.x == 0) tickets = 0;
}

__global__ void
chain(int *flags, int *sums, int mended) // each block waits for the one before
{
    const int b = blockIdx.x;
    while (b > 0 && atomicAdd(&flags[b - 1], 0) == 0) continue;
    sums[b] = b > 0 ? sums[b - 1] + 1 : 1;
    if (mended) __threadfence();
    atomicExch(&flags[b], 1);
}

__global__ void
counts(const int *x, int *bins, int mended)
{
    if (mended)
        atomicAdd(&bins[x[threadIdx.x]], 1);
    else
        bins[x[threadIdx.x]]++;
}

__global__ void
zeroed(int *out, int mended)
{
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    if (mended) __syncthreads();
    atomicAdd(&n, 1);
    __syncthreads();
    if (threadIdx.x == 0) *out = n;
}

__global__ void
cleared(const float *x, float *out, int mended) // by functions whose size is known
{
    __shared__ float s[64];
    if (threadIdx.x == 0) memcpy(s, x, sizeof s);
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
    if (mended) __syncthreads();
    if (threadIdx.x == 1) memset(s, 0, sizeof s);
}

__device__ __noinline__ int
of_lane_0(int v)
{
    return __shfl_sync(0xffffffffu, v, 0);
}

__global__ void
one_for_all(int *count, int *out) // v has a value in one lane, and is passed by all
{
    int v;
    if (threadIdx.x % 32 == 0) v = atomicAdd(count, 1);
    out[threadIdx.x] = of_lane_0(v);
}

__global__ void
bytes(char *x, int mended)
{
    x[threadIdx.x / (mended ? 1 : 2)] = 1;
}

__global__ void
cell(int mended)
{
    table[threadIdx.x / 8][mended ? threadIdx.x % 8 : 5] = 1;
}

__global__ void
unwritten(float *out, int mended)
{
    __shared__ float s[2];
    if (mended) s[1] = 1;
    *out = s[1];
}

__global__ void
misaligned(float *x, int mended)
{
    *reinterpret_cast<float4 *>(x + (mended ? 4 : 1)) = make_float4(1, 2, 3, 4);
}

__global__ void
outside(const float *x, float *out, int n)
{
    out[threadIdx.x] = threadIdx.x + 1 < n ? x[threadIdx.x + 1] : x[threadIdx.x];
}

__global__ void
outside_shared(float *out)
{
    __shared__ float s[32];
    s[threadIdx.x + 1] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

__global__ void
everywhere(int *x) // each block uses words of its own, and counts in one of all
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++) {
        x[1 + i] += k;
        __syncthreads();
        atomicAdd(x, 1);
    }
}
