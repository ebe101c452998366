// everywhere.cu -- kernels that give the same bits on the emulated device and on a GPU;
// test_kernels_everywhere.py calls each.
#include <cuda_runtime.h>
#include <stdint.h>

// ---- memory --------------------------------------------------------------------------------------

struct body {
    float x, y;
    int mass;
};
__constant__ float taps[5];
__device__ unsigned long long calls;
__device__ int grid_of[2][3] = {{1, 2, 3}, {4, 5, 6}};
__managed__ int shared_by_both = 7;
static __device__ unsigned done;

__global__ void
scaled(const float *x, const float *y, float *out, int n, float a = 3)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaf(a, x[i], y[i]);
}
__global__ void
turned(int *x)
{
    __shared__ int s[256];
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    x[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void
turned_dynamic(double *x, int n)
{
    extern __shared__ double dynamic[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) dynamic[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = dynamic[n - 1 - i];
}
template <typename T, int kTile>
__global__ void
transposed(const T *in, T *out, int rows, int columns)
{
    __shared__ T tile[kTile][kTile + 1];
    int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
    if (row < rows && column < columns)
        tile[threadIdx.y][threadIdx.x] = in[row * columns + column];
    __syncthreads();
    row = blockIdx.x * kTile + threadIdx.y;
    column = blockIdx.y * kTile + threadIdx.x;
    if (row < columns && column < rows)
        out[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}
__global__ void
stencil(const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
#pragma unroll
    for (int t = 0; t < 5; t++) sum = fmaf(taps[t], x[min(max(i + t - 2, 0), n - 1)], sum);
    out[i] = sum;
}
__global__ void
multiplied(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[16][16], right[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void
moved(body *all, int n, body by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    all[i].x += by.x;
    all[i].y -= by.y;
    all[i].mass *= by.mass;
}
__global__ void
in_fours(const float4 *x, float4 *out, int n, float4 plus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    out[i] = make_float4(v.w + plus.x, v.z + plus.y, v.y + plus.z, v.x + plus.w);
}
__global__ void
product(const float2 *a, const float2 *b, float2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 x = a[i], y = b[i];
    out[i] = make_float2(fmaf(x.x, y.x, -(x.y * y.y)), fmaf(x.x, y.y, x.y * y.x));
}
__global__ void
places(int3 *x)
{
    const int at = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int inside = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    x[at * blockDim.x * blockDim.y * blockDim.z + inside] = make_int3(at, inside, warpSize);
}
__global__ void
life(const unsigned char *now, unsigned char *next, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x,
              y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    int around = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) around += now[(y + dy + n) % n * n + (x + dx + n) % n];
    next[y * n + x] = around == 3 || (around == 2 && now[y * n + x]);
}
__global__ void
reads(int *out)
{
    if (threadIdx.x < 6) out[threadIdx.x] = grid_of[threadIdx.x / 3][threadIdx.x % 3]++;
    if (threadIdx.x == 6) out[6] = shared_by_both++;
    atomicAdd(&calls, 1ull);
}

// ---- atomics, fences -------------------------------------------------------------------------------

__global__ void
histogram(const unsigned char *x, int n, int *bins)
{
    __shared__ int own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (own[i]) atomicAdd(&bins[i], own[i]);
}
__global__ void
atomics(const int *x, int n, int *out, unsigned *bits, double *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&out[0], x[i]);
    atomicSub(&out[1], x[i]);
    atomicMin(&out[2], x[i]);
    atomicMax(&out[3], x[i]);
    atomicExch(&out[4], 1);
    atomicCAS(&out[5], 0, 5);
    atomicOr(&bits[0], 1u << (i % 31));
    atomicAnd(&bits[1], ~(1u << (i % 7)));
    atomicXor(&bits[2], (unsigned)x[i]);
    atomicInc(&bits[3], 9);
    atomicAdd(sum, (double)x[i]);
    unsigned long long *word = (unsigned long long *)(sum + 1), before = *word, seen;
    do {
        seen = before;
        const double more = __longlong_as_double((long long)seen) + x[i];
        before = atomicCAS(word, seen, (unsigned long long)__double_as_longlong(more));
    } while (before != seen);
}
__global__ void
last_block(const int *x, int n, int *sums, int *total)
{
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (threadIdx.x == 0) {
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; b++) all += ((volatile int *)sums)[b];
        *total = all;
        done = 0;
    }
}
__global__ void
kept(const int *x, int n, int *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % 3 == 0) {
        const unsigned active = __activemask(), below = (1u << threadIdx.x % 32) - 1;
        const int leader = __ffs((int)active) - 1;
        int base = 0;
        if ((int)threadIdx.x % 32 == leader) base = atomicAdd(count, __popc(active));
        base = __shfl_sync(active, base, leader);
        out[base + __popc(active & below)] = x[i];
    }
}

// ---- warps ------------------------------------------------------------------------------------------

__global__ void
shuffled(const int *x, int *out)
{
    const int v = x[threadIdx.x], lane = threadIdx.x % 32;
    int *own = out + threadIdx.x * 8;
    own[0] = __shfl_sync(~0u, v, lane / 2);
    own[1] = __shfl_up_sync(~0u, v, 3);
    own[2] = __shfl_down_sync(~0u, v, 5);
    own[3] = __shfl_xor_sync(~0u, v, 21);
    own[4] = __shfl_sync(~0u, v, 2, 8);
    own[5] = __shfl_up_sync(~0u, v, 1, 4);
    own[6] = __shfl_down_sync(~0u, v, 2, 16);
    own[7] = __shfl_xor_sync(~0u, v, 1, 2);
}
__global__ void
voted(const int *x, unsigned *out)
{
    const int v = x[threadIdx.x];
    unsigned *own = out + threadIdx.x * 6;
    own[0] = __ballot_sync(~0u, v & 1);
    own[1] = __any_sync(~0u, v == 5);
    own[2] = __all_sync(~0u, v < 7);
    own[3] = __match_any_sync(~0u, v);
    own[4] = __syncthreads_count(v & 1);
    own[5] = __syncthreads_or(v == 6) + 2 * __syncthreads_and(v < 8);
}
__global__ void
folded(const int *x, int *out)
{
    int v = x[threadIdx.x], *own = out + threadIdx.x / 32 * 4;
    const int all[] = {__reduce_add_sync(~0u, v), __reduce_min_sync(~0u, v),
                       __reduce_max_sync(~0u, v)};
    for (int d = 16; d > 0; d /= 2) v ^= __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < 3; i++) own[i] = all[i];
        own[3] = v;
    }
}
__global__ void
scanned(const int *x, int *out)
{
    __shared__ int sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int v = x[threadIdx.x];
    for (int d = 1; d < 32; d *= 2) {
        const int up = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += up;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < (int)blockDim.x / 32; w++) sums[w] += sums[w - 1];
    __syncthreads();
    out[threadIdx.x] = v + (warp ? sums[warp - 1] : 0);
}
__global__ void
sorted(unsigned *x)
{
    __shared__ unsigned s[512];
    const unsigned i = threadIdx.x;
    s[i] = x[blockIdx.x * 512 + i];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const unsigned j = i ^ stride;
            if (j > i && (s[i] > s[j]) == ((i & size) == 0)) {
                const unsigned t = s[i];
                s[i] = s[j];
                s[j] = t;
            }
        }
    __syncthreads();
    x[blockIdx.x * 512 + i] = s[i];
}

// ---- arithmetic -------------------------------------------------------------------------------------

__global__ void
bits(const unsigned *x, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned v = x[i], w = x[(i + 1) % n];
    unsigned *own = out + 12 * i;
    own[0] = __popc(v);
    own[1] = __clz((int)v);
    own[2] = __ffs((int)v);
    own[3] = __brev(v);
    own[4] = __byte_perm(v, w, 0x2541);
    own[5] = __funnelshift_l(v, w, 7);
    own[6] = __umulhi(v, w);
    own[7] = (unsigned)__mulhi((int)v, (int)w);
    own[8] = __umul24(v, w);
    own[9] = __usad(v, w, 3);
    own[10] = v ^ (v >> 1); // Gray's code
    own[11] = max(min(v, w), 77u);
}
__global__ void
long_bits(const unsigned long long *x, unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned long long v = x[i], w = x[(i + 1) % n];
    unsigned long long *own = out + 7 * i;
    own[0] = __popcll(v);
    own[1] = __clzll((long long)v);
    own[2] = __ffsll((long long)v);
    own[3] = __brevll(v);
    own[4] = __umul64hi(v, w);
    own[5] = (unsigned long long)__mul64hi((long long)v, (long long)w);
    own[6] = v * w + (v >> (w & 63));
}
__global__ void
divided(const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = a[i] / b[i];
    out[2 * i + 1] = a[i] % b[i];
}
__global__ void
rounded(const float *x, float *out, int *integers, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    out[4 * i] = 1.0f / v;
    out[4 * i + 1] = sqrtf(fabsf(v));
    out[4 * i + 2] = rintf(v) + floorf(v);
    out[4 * i + 3] = fminf(fmaxf(v, -2.0f), 3.0f);
    integers[3 * i] = __float2int_rn(v);
    integers[3 * i + 1] = __float_as_int(v);
    integers[3 * i + 2] = (int)v;
}
__global__ void
collatz(const unsigned *x, int *steps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = x[i];
    int count = 0;
    while (v > 1) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        count++;
    }
    steps[i] = count;
}
__global__ void
local_array(const int *x, int *out)
{
    int own[8];
    for (int i = 0; i < 8; i++) own[i] = x[threadIdx.x * 8 + i];
    for (int i = 1; i < 8; i++) { // insertion sort
        const int v = own[i];
        int j = i;
        for (; j > 0 && own[j - 1] > v; j--) own[j] = own[j - 1];
        own[j] = v;
    }
    for (int i = 0; i < 8; i++) out[threadIdx.x * 8 + i] = own[i];
}
template <typename F>
__device__ int
twice(F f, int x)
{
    return f(f(x));
}
template <typename T>
__device__ T
larger(T a, T b)
{
    return a < b ? b : a;
}
__global__ void
functions(const int *x, int *out, int plus)
{
    const int i = threadIdx.x;
    auto added = [=](int v) { return v * 3 + plus; };
    out[i] = larger(twice(added, x[i]), plus);
}
template <typename T>
__global__ void
generated(T *x, int n, T seed) // a linear congruence each
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T v = seed + (T)i;
    for (int k = 0; k < 10; k++) v = v * (T)1103515245u + (T)12345u;
    x[i] = v;
}
__global__ void
says(int n)
{
    if (threadIdx.x == 0)
        printf("block %d of %d: %s %.2f %llu\n", (int)blockIdx.x, n, "so", 1.5, 1ull << 40);
}
__global__ void
none(const int *null, int *out)
{
    *out = null == nullptr;
}
