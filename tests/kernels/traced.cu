// Kernels whose counts are known: tools/ncu.py has a profiler count them on a GPU, tests/test_lab.py compares
// what the emulated device counts. One launch each, in main's order.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

// ---- global memory --------------------------------------------------------------------------------

template <typename T>
__global__ void
copied(const T *x, T *out)
{
    out[INDEX] = x[INDEX];
}

template <int STRIDE, int FIRST>
__global__ void
strided(const float *x, float *out)
{
    out[INDEX] = x[INDEX * STRIDE + FIRST];
}

__global__ void
scattered(const float *x, const int *to, float *out)
{
    out[to[INDEX]] = x[INDEX];
}

__global__ void
broadcast(const float *x, float *out)
{
    out[INDEX] = x[blockIdx.x];
}

__global__ void
reversed(const float *x, float *out, int n)
{
    out[INDEX] = x[n - 1 - INDEX];
}

struct particle {
    float x, y, z, mass, charge, spin;
};

__global__ void
of_structs(const particle *p, float *out)
{
    out[INDEX] = p[INDEX].mass;
}

__global__ void
whole_structs(const particle *p, float *out)
{
    const particle q = p[INDEX];
    out[INDEX] = q.x + q.y + q.z + q.mass + q.charge + q.spin;
}

__global__ void
of_arrays(const float *mass, const float *charge, float *out)
{
    out[INDEX] = mass[INDEX] * charge[INDEX];
}

__global__ void
float3s(const float3 *x, float *out)
{
    const float3 v = x[INDEX];
    out[INDEX] = v.x + v.y + v.z;
}

__global__ void
one_lane(const float *x, float *out)
{
    if (threadIdx.x % 32 == 5) out[INDEX] = x[INDEX];
}

__global__ void
guarded(const float *x, float *out, int n)
{
    if (INDEX >= n) return;
    out[INDEX] = x[INDEX];
}

__global__ void
grid_stride(float a, const float *x, float *y, int n)
{
    for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__global__ void
rows_by_thread(const float *x, float *out, int width)
{
    float sum = 0;
    for (int i = 0; i < width; i++) sum += x[INDEX * width + i];
    out[INDEX] = sum;
}

__global__ void
columns_by_thread(const float *x, float *out, int height)
{
    float sum = 0;
    for (int i = 0; i < height; i++) sum += x[i * gridDim.x * blockDim.x + INDEX];
    out[INDEX] = sum;
}

__global__ void
cube(const float *x, float *out)
{
    const int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int j = threadIdx.z + blockDim.z * (threadIdx.y + blockDim.y * threadIdx.x);
    out[j] = x[i];
}

// ---- divergence -----------------------------------------------------------------------------------

__global__ void
parted(const float *x, const float *y, float *out)
{
    float v;
    if (threadIdx.x & 1)
        v = x[INDEX] + 1;
    else
        v = y[INDEX] * 2;
    out[INDEX] = v;
}

__global__ void
nested_loops(const float *x, float *out, int outer)
{
    const int lane = threadIdx.x & 31;
    float sum = 0;
    for (int j = 0; j < outer; j++)
        for (int i = 0; i <= (lane & 1) * 2; i++) sum += x[(j * 4 + i) * 32 + lane];
    out[threadIdx.x] = sum;
}

__global__ void
sparse_rows(const int *begin, const int *column, const float *value, const float *x, float *out)
{
    float sum = 0;
    for (int i = begin[INDEX]; i < begin[INDEX + 1]; i++) sum += value[i] * x[column[i]];
    out[INDEX] = sum;
}

__global__ void
chosen(const int *which, const float *x, float *out)
{
    float v = 0;
    switch (which[INDEX] & 3) {
    case 0: v = x[INDEX]; break;
    case 1: v = sqrtf(x[INDEX + 1]); break;
    case 2: v = x[2 * INDEX] - 1; break;
    default: break;
    }
    out[INDEX] = v;
}

__device__ __noinline__ float
fetched(const float *x, int i)
{
    return x[i] * x[i + 32];
}

__global__ void
called(const float *x, float *out)
{
    float v = 1;
    if (threadIdx.x % 3 == 0)
        v = fetched(x, INDEX);
    else if (threadIdx.x % 3 == 1)
        v = fetched(x, 2 * INDEX) + 1;
    out[INDEX] = v;
}

__global__ void
collatz(const int *first, int *steps)
{
    int n = 0;
    for (unsigned v = first[INDEX]; v > 1; n++) v = v & 1 ? 3 * v + 1 : v / 2;
    steps[INDEX] = n;
}

// ---- shared memory --------------------------------------------------------------------------------

template <int PAD, bool COLUMN_IN, bool COLUMN_OUT>
__global__ void
tile(float *out)
{
    __shared__ float s[32][32 + PAD];
    const int x = threadIdx.x, y = threadIdx.y;
    s[COLUMN_IN ? x : y][COLUMN_IN ? y : x] = x * y;
    __syncthreads();
    out[y * 32 + x] = s[COLUMN_OUT ? x : y][COLUMN_OUT ? y : x];
}

template <typename T>
__global__ void
by_stride(T *out, int stride)
{
    __shared__ T s[1024 * 4 / sizeof(T) * 2];
    s[threadIdx.x * stride] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x * stride];
}

template <typename T>
__global__ void
by_table(const int *table, const T *x, T *out)
{
    __shared__ T s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[table[threadIdx.x]];
}

__global__ void
swizzled(const float *x, float *out)
{
    __shared__ float s[32][32];
    s[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y ^ threadIdx.x];
}

__global__ void
dynamic(const float *x, float *out, int pad)
{
    extern __shared__ float tile_of_any_size[];
    const int wide = blockDim.x + pad;
    tile_of_any_size[threadIdx.y * wide + threadIdx.x] =
        x[threadIdx.y * blockDim.x + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * blockDim.x + threadIdx.x] =
        tile_of_any_size[threadIdx.x * wide + threadIdx.y];
}

__global__ void
tree(const float *x, float *out)
{
    __shared__ float s[256];
    const int t = threadIdx.x;
    s[t] = x[INDEX];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void
neighbours(const float *x, float *out)
{
    __shared__ float s[256];
    const int t = threadIdx.x;
    s[t] = x[INDEX];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        const int i = 2 * step * t;
        if (i < blockDim.x) s[i] += s[i + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void
scanned(const float *x, float *out)
{
    __shared__ float s[2][256];
    const int t = threadIdx.x;
    int in = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {
        float v = s[in][t];
        if (t >= step) v += s[in][t - step];
        s[1 - in][t] = v;
        in = 1 - in;
        __syncthreads();
    }
    out[t] = s[in][t];
}

__global__ void
bitonic(int *keys)
{
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[t] = keys[t];
    __syncthreads();
    for (int k = 2; k <= 256; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            const int other = t ^ j;
            if (other > t) {
                const int a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    keys[t] = s[t];
}

__global__ void
multiplied(const float *a, const float *b, float *out, int n)
{
    __shared__ float s[16][16], t[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += s[y][i] * t[i][x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}

__global__ void
multiplied_plainly(const float *a, const float *b, float *out, int n)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
}

__global__ void
five_points(const float *x, float *out, int n)
{
    const int i = INDEX + 1, j = blockIdx.y + 1;
    if (i >= n - 1) return;
    const float *p = x + j * n + i;
    out[j * n + i] = p[-1] + p[1] + p[-n] + p[n] - 4 * p[0];
}

// ---- constant memory, atomics, lanes ----------------------------------------------------------------

__constant__ float weights[64];

__global__ void
weighted(const float *x, float *out, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) sum += weights[i] * x[INDEX + i];
    out[INDEX] = sum;
}

__global__ void
weighted_by_lane(const float *x, float *out)
{
    out[INDEX] = weights[threadIdx.x & 31] * x[INDEX];
}

template <typename T>
__global__ void
counted(const int *bin, T *bins, T *before)
{
    before[INDEX] = atomicAdd(&bins[bin[INDEX]], (T)1);
}

__global__ void
counted_unseen(const int *bin, unsigned *bins)
{
    atomicAdd(&bins[bin[INDEX]], 1u);
}

__global__ void
greatest(const int *x, int *most)
{
    atomicMax(&most[threadIdx.x & 7], x[INDEX]);
}

__global__ void
claimed(int *owner, int *out)
{
    out[INDEX] = atomicCAS(&owner[INDEX / 2], 0, (int)INDEX + 1) == 0;
}

__global__ void
counted_in_shared(const int *bin, unsigned *bins, unsigned *before)
{
    __shared__ unsigned s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = 0;
    __syncthreads();
    before[INDEX] = atomicAdd(&s[bin[INDEX]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) bins[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

__global__ void
summed(const float *x, float *out)
{
    float v = x[INDEX];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) out[INDEX / 32] = v;
}

__global__ void
voted(const float *x, unsigned *out)
{
    const unsigned yes = __ballot_sync(0xffffffffu, x[INDEX] > 20);
    if ((threadIdx.x & 31) == 0) out[INDEX / 32] = yes;
}

__global__ void
kept(const float *x, const int *at, float *out)
{
    float own[16];
    for (int i = 0; i < 16; i++) own[i] = x[INDEX + 32 * i];
    out[INDEX] = own[at[INDEX] & 15];
}

// ---- all of them --------------------------------------------------------------------------------------

static char *memory;
template <typename T>
static T *
take(int which)
{
    return reinterpret_cast<T *>(memory + ((size_t)which << 20));
}

int
main()
{
    const int n = 1024;
    cudaMalloc(&memory, 16 << 20);
    std::vector<int> mixed(1 << 18), few(1 << 18), begin(n + 1), same(1 << 18, 3), pairs(256),
        tails(256);
    std::vector<float> numbers(1 << 18);
    for (int i = 0; i < 1 << 18; i++) {
        mixed[i] = (int)((unsigned)i * 2654435761u >> 7) & (n - 1);
        few[i] = (int)((unsigned)i * 2246822519u >> 9) & 63;
        numbers[i] = (float)(i % 41);
    }
    for (int i = 0; i < n; i++) begin[i + 1] = begin[i] + few[i] % 13;
    for (int i = 0; i < 256; i++) pairs[i] = i / 2, tails[i] = i / 4 * 4 + 3 - i % 4;
    float *const x = take<float>(0), *const out = take<float>(2);
    float *const y = take<float>(4);
    int *const order = take<int>(6), *const bin = take<int>(8), *const rows = take<int>(10);
    int *const one = take<int>(12), *const two = take<int>(14), *const four = two + 1024;
    cudaMemset(memory, 0, 16 << 20);
    cudaMemcpy(x, numbers.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(y, numbers.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(order, mixed.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(bin, few.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(rows, begin.data(), 4 * (n + 1), cudaMemcpyHostToDevice);
    cudaMemcpy(one, same.data(), 1 << 20, cudaMemcpyHostToDevice);
    cudaMemcpy(two, pairs.data(), 1024, cudaMemcpyHostToDevice);
    cudaMemcpy(four, tails.data(), 1024, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, numbers.data(), sizeof weights);
    const int b = 256, g = n / b;
    const dim3 square(32, 32), small(16, 16);

    copied<<<g, b>>>(x, out);
    copied<<<g, b>>>(take<char>(0), take<char>(2));
    copied<<<g, b>>>(take<short>(0), take<short>(2));
    copied<<<g, b>>>(take<double>(0), take<double>(2));
    copied<<<g, b>>>(take<char4>(0), take<char4>(2));
    copied<<<g, b>>>(take<float2>(0), take<float2>(2));
    copied<<<g, b>>>(take<float4>(0), take<float4>(2));
    copied<<<g, b>>>(take<double2>(0), take<double2>(2));
    copied<<<g, b>>>(take<__half>(0), take<__half>(2));
    copied<<<g, b>>>(take<__half2>(0), take<__half2>(2));
    strided<1, 1><<<g, b>>>(x, out);
    strided<1, 8><<<g, b>>>(x, out);
    strided<2, 0><<<g, b>>>(x, out);
    strided<3, 0><<<g, b>>>(x, out);
    strided<8, 0><<<g, b>>>(x, out);
    strided<8, 5><<<g, b>>>(x, out);
    strided<32, 0><<<g, b>>>(x, out);
    scattered<<<g, b>>>(x, order, out);
    broadcast<<<g, b>>>(x, out);
    reversed<<<g, b>>>(x, out, n);
    of_structs<<<g, b>>>(take<particle>(0), out);
    whole_structs<<<g, b>>>(take<particle>(0), out);
    of_arrays<<<g, b>>>(x, y, out);
    float3s<<<g, b>>>(take<float3>(0), out);
    one_lane<<<g, b>>>(x, out);
    guarded<<<g, b>>>(x, out, n - 77);
    guarded<<<20, 48>>>(x, out, 900);
    grid_stride<<<2, b>>>(2, x, out, n + 5);
    rows_by_thread<<<2, 64>>>(x, out, 24);
    columns_by_thread<<<2, 64>>>(x, out, 24);
    cube<<<1, dim3(4, 8, 16)>>>(x, out);

    parted<<<g, b>>>(x, y, out);
    nested_loops<<<1, 32>>>(x, out, 8);
    sparse_rows<<<g, b>>>(rows, order, x, y, out);
    chosen<<<g, b>>>(order, x, out);
    called<<<g, b>>>(x, out);
    collatz<<<1, 64>>>(order, take<int>(2));

    tile<0, false, false><<<1, square>>>(out);
    tile<0, true, true><<<1, square>>>(out);
    tile<0, false, true><<<1, square>>>(out);
    tile<1, false, true><<<1, square>>>(out);
    for (const int stride : {1, 2, 3, 4, 8, 32}) by_stride<<<1, 32>>>(out, stride);
    for (const int stride : {1, 2, 3}) by_stride<<<1, 32>>>(take<double>(2), stride);
    for (const int stride : {1, 2}) by_stride<<<1, 32>>>(take<float4>(2), stride);
    for (const int stride : {1, 4, 5}) by_stride<<<1, 32>>>(take<char>(2), stride);
    by_stride<<<1, 32>>>(take<short>(2), 1);
    for (const int *table : {one, two, four, bin}) {
        by_table<<<1, b>>>(table, x, out);
        by_table<<<1, b>>>(table, take<double>(0), take<double>(2));
        by_table<<<1, b>>>(table, take<float4>(0), take<float4>(2));
    }
    swizzled<<<1, square>>>(x, out);
    dynamic<<<1, square, 32 * 33 * 4>>>(x, out, 0);
    dynamic<<<1, square, 32 * 33 * 4>>>(x, out, 1);
    dynamic<<<1, small, 16 * 17 * 4>>>(x, out, 0);
    tree<<<g, b>>>(x, out);
    neighbours<<<g, b>>>(x, out);
    scanned<<<1, b>>>(x, out);
    bitonic<<<1, b>>>(order);
    multiplied<<<dim3(4, 4), small>>>(x, y, out, 64);
    multiplied_plainly<<<dim3(4, 4), small>>>(x, y, out, 64);
    multiplied_plainly<<<dim3(2, 8), dim3(32, 8)>>>(x, y, out, 64);
    five_points<<<dim3(2, 100), 128>>>(x, out, 200);

    weighted<<<g, b>>>(x, out, 9);
    weighted_by_lane<<<g, b>>>(x, out);
    counted<<<g, b>>>(bin, take<unsigned>(11), take<unsigned>(2));
    counted<<<g, b>>>(bin, take<unsigned long long>(11), take<unsigned long long>(2));
    counted<<<g, b>>>(bin, take<float>(11), out);
    counted<<<g, b>>>(one, take<float>(11), out);
    counted_unseen<<<g, b>>>(bin, take<unsigned>(11));
    greatest<<<g, b>>>(order, take<int>(11));
    claimed<<<g, b>>>(take<int>(11) + 4096, take<int>(2));
    counted_in_shared<<<g, b>>>(bin, take<unsigned>(11), take<unsigned>(2));
    counted_in_shared<<<g, b>>>(one, take<unsigned>(11), take<unsigned>(2));
    summed<<<g, b>>>(x, out);
    voted<<<g, b>>>(x, take<unsigned>(2));
    kept<<<g, b>>>(x, order, out);
    const cudaError_t e = cudaDeviceSynchronize();
    if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e));
    return e != cudaSuccess;
}
