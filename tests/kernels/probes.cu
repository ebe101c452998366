// probes -- every intrinsic that a kernel may use, once, with all that it is given and gives
// written to a file; test_probes.py knows what must be there, on a GPU as on the emulated one.
#include "program.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

namespace
{

constexpr int kLanes = 64; // two warps

// ---- the file: name, count, words of 64 bits ----------------------------------------------

FILE *file;

template <typename T>
void
write(const char *name, const std::vector<T> &values)
{
    fprintf(file, "%s", name);
    for (const T &v : values) {
        uint64_t word = 0;
        memcpy(&word, &v, sizeof v);
        fprintf(file, " %llx", (unsigned long long)word);
    }
    fprintf(file, "\n");
}

// What each thread of two warps computes from its own number, `results` words each.
template <typename T>
void
probe(const char *name, void (*kernel)(T *), int results = 1)
{
    program p;
    T *out = p.upload(std::vector<T>((size_t)(kLanes * results)));
    p.launch(kernel, 1, kLanes, 0, out);
    write(name, p.download(out, (size_t)(kLanes * results)));
}

// ---- shuffles -----------------------------------------------------------------------------

constexpr int kShuffles = 6 * 8;

// Odd bits in the high half too, so that a shuffle of one word would show.
template <typename T>
__device__ T
own()
{
    return (T)(threadIdx.x * 0x100000001ull + 7);
}

template <typename T, int kKind>
__global__ void
shuffle(T *out)
{
    const int moves[] = {0, 1, 2, 5, 16, 31, 32, 33};
    int at = 0;
    for (int width = 1; width <= 32; width *= 2)
        for (const int move : moves) {
            const T v = own<T>();
            T got;
            if (kKind == 0)
                got = __shfl_sync(0xffffffffu, v, move, width);
            else if (kKind == 1)
                got = __shfl_up_sync(0xffffffffu, v, move, width);
            else if (kKind == 2)
                got = __shfl_down_sync(0xffffffffu, v, move, width);
            else
                got = __shfl_xor_sync(0xffffffffu, v, move, width);
            out[at++ * kLanes + threadIdx.x] = got;
        }
}

template <typename T>
void
shuffles(const char *type)
{
    probe((std::string("shfl ") + type).c_str(), shuffle<T, 0>, kShuffles);
    probe((std::string("shfl_up ") + type).c_str(), shuffle<T, 1>, kShuffles);
    probe((std::string("shfl_down ") + type).c_str(), shuffle<T, 2>, kShuffles);
    probe((std::string("shfl_xor ") + type).c_str(), shuffle<T, 3>, kShuffles);
}

__global__ void
shuffle_by_lane(int *out) // each lane its own source, and back
{
    const int lane = threadIdx.x % 32;
    out[threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, lane * 7 % 32);
    out[kLanes + threadIdx.x] = __shfl_sync(0xffffffffu, (int)threadIdx.x, -1 - lane);
}

// Three groups of lanes in branches of their own, each with its mask.
__global__ void
shuffle_in_groups(int *out)
{
    const int lane = threadIdx.x % 32;
    int v = (int)threadIdx.x;
    if (lane < 8)
        v = __shfl_xor_sync(0x000000ffu, v, 3);
    else if (lane % 2)
        v = __shfl_sync(0xaaaaaa00u, v, 9);
    else
        v = __shfl_sync(0x55555500u, v, 30);
    out[threadIdx.x] = v;
}

// ---- votes, matches, reductions -----------------------------------------------------------

__global__ void
votes(unsigned *out)
{
    const int lane = threadIdx.x % 32;
    unsigned *mine = out + threadIdx.x;
    mine[0 * kLanes] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    mine[1 * kLanes] = __any_sync(0xffffffffu, threadIdx.x == 40) != 0;
    mine[2 * kLanes] = __all_sync(0xffffffffu, threadIdx.x < 40) != 0;
    if (lane < 20) {
        mine[3 * kLanes] = __ballot_sync(0x000fffffu, lane % 2);
        mine[4 * kLanes] = __all_sync(0x000fffffu, lane < 20) != 0;
    }
}

__global__ void
matches(unsigned *out)
{
    const int lane = threadIdx.x % 32;
    unsigned *mine = out + threadIdx.x;
    int same = 0;
    mine[0 * kLanes] = __match_any_sync(0xffffffffu, lane % 5);
    mine[1 * kLanes] = __match_any_sync(0xffffffffu, (unsigned long long)(lane % 3) << 40);
    mine[2 * kLanes] = __match_any_sync(0xffffffffu, lane % 2 ? 0.0f : -0.0f); // by their bits
    mine[3 * kLanes] = __match_all_sync(0xffffffffu, (int)threadIdx.x / 32, &same);
    mine[4 * kLanes] = (unsigned)same;
    mine[5 * kLanes] = __match_all_sync(0xffffffffu, lane / 31, &same);
    mine[6 * kLanes] = (unsigned)same;
}

__global__ void
reductions(unsigned *out)
{
    const int lane = threadIdx.x % 32;
    const unsigned v = (unsigned)lane * 2654435761u;
    unsigned *mine = out + threadIdx.x;
    mine[0 * kLanes] = __reduce_add_sync(0xffffffffu, v);
    mine[1 * kLanes] = __reduce_min_sync(0xffffffffu, v + 1);
    mine[2 * kLanes] = __reduce_max_sync(0xffffffffu, v);
    mine[3 * kLanes] = (unsigned)__reduce_add_sync(0xffffffffu, (int)v);
    mine[4 * kLanes] = (unsigned)__reduce_min_sync(0xffffffffu, (int)v);
    mine[5 * kLanes] = (unsigned)__reduce_max_sync(0xffffffffu, (int)v);
    mine[6 * kLanes] = __reduce_and_sync(0xffffffffu, v | 0x10u);
    mine[7 * kLanes] = __reduce_or_sync(0xffffffffu, v & 0xff00ffu);
    mine[8 * kLanes] = __reduce_xor_sync(0xffffffffu, v);
    if (lane >= 4) mine[9 * kLanes] = __reduce_add_sync(0xfffffff0u, v);
}

// ---- barriers, fences, shared and constant memory -----------------------------------------

__global__ void
barriers(int *out)
{
    const int t = (int)threadIdx.x;
    out[0 * kLanes + t] = __syncthreads_count(t % 3 == 0);
    out[1 * kLanes + t] = __syncthreads_and(t < 64) != 0;
    out[2 * kLanes + t] = __syncthreads_and(t < 63) != 0;
    out[3 * kLanes + t] = __syncthreads_or(t == 63) != 0;
    out[4 * kLanes + t] = __syncthreads_or(t == 64) != 0;
}

__constant__ int coefficients[4];

__global__ void
memories(int *out)
{
    __shared__ int fixed[2][kLanes / 2];
    WK_DYNAMIC_SHARED(int, dynamic);
    const int t = (int)threadIdx.x;
    fixed[t % 2][t / 2] = t;
    dynamic[t] = 3 * t;
    __syncthreads(); // both are written before they are read
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    out[0 * kLanes + t] = fixed[(t + 1) % 2][t / 2];
    out[1 * kLanes + t] = dynamic[kLanes - 1 - t];
    out[2 * kLanes + t] = coefficients[t % 4];
    __syncwarp();
}

__global__ void
places(unsigned *out) // a grid and blocks of three dimensions
{
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned at = block * blockDim.x * blockDim.y * blockDim.z + thread;
    out[at] = at + 1000 * __popc(__ballot_sync(0xffffffffu, 1)) + (warpSize == 32 ? 0 : 1);
}

// ---- one lane's own -----------------------------------------------------------------------

__device__ unsigned
word(unsigned i) // zero, ones, and bits of all kinds
{
    return i == 0 ? 0 : i == 1 ? 0xffffffffu : i * 2654435761u >> i % 32;
}

__global__ void
bits(unsigned *out)
{
    const unsigned t = threadIdx.x, v = word(t), u = word(t + 64);
    const unsigned long long both = (unsigned long long)u << 32 | v;
    unsigned *mine = out + t;
    mine[0 * kLanes] = (unsigned)__popc(v);
    mine[1 * kLanes] = (unsigned)__popcll(both);
    mine[2 * kLanes] = (unsigned)__ffs((int)v);
    mine[3 * kLanes] = (unsigned)__ffsll((long long)both);
    mine[4 * kLanes] = (unsigned)__clz((int)v);
    mine[5 * kLanes] = (unsigned)__clzll((long long)both);
    mine[6 * kLanes] = __brev(v);
    mine[7 * kLanes] = (unsigned)(__brevll(both) >> 32);
    mine[8 * kLanes] = __byte_perm(v, u, t * 0x1357u & 0xffff);
    mine[9 * kLanes] = __funnelshift_l(v, u, t);
    mine[10 * kLanes] = __funnelshift_r(v, u, t);
    mine[11 * kLanes] = __fns(v, t % 32, 3);
    mine[12 * kLanes] = __fns(v, t % 32, -2);
    mine[13 * kLanes] = __fns(v, t % 32, 0);
    mine[14 * kLanes] = (unsigned)min((int)v, (int)u) ^ max(v, u);
    mine[15 * kLanes] = __float_as_uint(min(__uint_as_float(0x7fc00000u), (float)t));
    const float zero = t % 2 ? -0.0f : 0.0f, other = -zero;
    mine[16 * kLanes] = __float_as_uint(min(zero, other));
    mine[17 * kLanes] = __float_as_uint(max(zero, other));
    mine[18 * kLanes] = (unsigned)((unsigned long long)__double_as_longlong(
                                       min((double)zero, max((double)other, (double)NAN))) >>
                                   32);
}

__global__ void
arithmetic(double *out)
{
    const double t = threadIdx.x, x = 1 + t / 3, y = 1 - t / 3;
    double *mine = out + threadIdx.x;
    mine[0 * kLanes] = __fma_rn(x, y, -__dmul_rn(x, y)); // the product's rounding error
    mine[1 * kLanes] = __fmaf_rn((float)x, (float)y, -__fmul_rn((float)x, (float)y));
    mine[2 * kLanes] = __dsub_rn(__dadd_rn(x, 1e15), y);
    mine[3 * kLanes] = __fsub_rn(__fadd_rn((float)x, 1e7f), (float)y);
    mine[4 * kLanes] = __longlong_as_double(__double_as_longlong(x) + 1);
    mine[5 * kLanes] = __int_as_float(__float_as_int((float)x) + 1);
}

__global__ void
vectors(const float4 *in, float4 *out)
{
    const float4 v = in[threadIdx.x];
    const float *p = &in[threadIdx.x].x;
    float *q = &out[threadIdx.x].x;
    out[threadIdx.x] = make_float4(v.w, __ldg(p), __ldcg(p + 1), __ldca(p + 2));
    __nanosleep(20);
    __stcg(q, __ldcs(p + 3));
    __stcs(q + 2, __ldlu(p + 1));
    __stwb(q + 3, v.z);
    static_assert(sizeof(double4) == 32 && alignof(float4) == 16 && alignof(int2) == 8 &&
                      sizeof(uchar4) == 4 && sizeof(longlong2) == 16 && sizeof(ushort4) == 8 &&
                      sizeof(float3) == 12,
                  "CUDA's own");
}

// ---- atomics ------------------------------------------------------------------------------

__global__ void
atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    const int t = (int)threadIdx.x;
    atomicAdd(&i[0], t - 40);
    atomicSub(&i[1], t);
    atomicMin(&i[2], 10 - t);
    atomicMax(&i[3], t - 10);
    atomicAnd(&i[4], ~(1 << t % 7));
    atomicOr(&i[5], 1 << t % 9);
    atomicXor(&i[6], t * t);
    if (t == 5) i[7] = atomicExch(&i[8], 99);
    if (t == 6) i[9] = atomicCAS(&i[10], 0, 77);
    if (t == 7) i[11] = atomicCAS(&i[12], 1, 77);
    atomicAdd(&u[0], 0x80000001u);
    atomicInc(&u[1], 9u);
    atomicDec(&u[2], 9u);
    atomicMin(&u[3], 0u - (unsigned)t);
    atomicMax(&u[4], 0u - (unsigned)t);
    atomicAdd(&l[0], 1ull << 40);
    atomicMax(&l[1], (unsigned long long)t << 33);
    atomicAdd(f, (float)t); // exact: in any order the same
    atomicAdd(d, t / 4.0);
}

// ---- half and bfloat16 --------------------------------------------------------------------

__global__ void
widen(float *half_out, float *bfloat_out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half_out[i] = __half2float(__ushort_as_half((unsigned short)i));
    bfloat_out[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
}

__global__ void
narrow(const float *in, unsigned short *half_out, unsigned short *bfloat_out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    half_out[i] = __half_as_ushort(__float2half_rn(in[i]));
    bfloat_out[i] = __bfloat16_as_ushort(__float2bfloat16_rn(in[i]));
}

template <typename H>
__device__ void
compute(H a, H b, float *out)
{
    out[0 * kLanes] = (float)(a + b);
    out[1 * kLanes] = (float)(a - b);
    out[2 * kLanes] = (float)(a * b);
    out[3 * kLanes] = (float)(a / b);
    out[4 * kLanes] = (float)-a;
    out[5 * kLanes] = (float)((a < b) + 2 * (a == b) + 4 * (a >= b));
}

__global__ void
half_arithmetic(float *out)
{
    const float a = 0.7f * (float)threadIdx.x - 9, b = 300.0f / (1 + (float)threadIdx.x);
    compute(__float2half(a), __float2half(b), out + threadIdx.x);
    compute(__float2bfloat16(a), __float2bfloat16(b), out + 6 * kLanes + threadIdx.x);
    const __half2 pair = __halves2half2(__float2half(a), __float2half(b));
    const __half2 other = __shfl_xor_sync(0xffffffffu, pair, 1);
    out[12 * kLanes + threadIdx.x] = __half2float(__high2half(other));
    out[13 * kLanes + threadIdx.x] =
        __half2float(__low2half(make_half2(__low2half(other), pair.y)));
}

void
memory_probes()
{
    program p;
    int *out = p.room<int>(3 * kLanes);
    const int c[] = {5, 6, 7, 8};
    if (cudaMemcpyToSymbolAsync(coefficients, c, sizeof c, 0, cudaMemcpyHostToDevice, 0) !=
            cudaSuccess ||
        cudaDeviceSynchronize() != cudaSuccess)
        exit(kError);
    p.launch(memories, 1, kLanes, kLanes * sizeof(int), out);
    write("memories", p.download(out, 3 * kLanes));

    unsigned *where = p.room<unsigned>(2 * 3 * 2 * 64);
    p.launch(places, dim3(2, 3, 2), dim3(8, 4, 2), 0, where);
    write("places", p.download(where, 2 * 3 * 2 * 64));

    std::vector<float4> quads(kLanes);
    for (int i = 0; i < kLanes; i++)
        quads[i] = make_float4(4.f * i, i + .25f, i + .5f, i + .75f);
    float4 *turned = p.room<float4>(kLanes);
    p.launch(vectors, 1, kLanes, 0, p.upload(quads), turned);
    const std::vector<float4> got = p.download(turned, kLanes);
    const float *flat = &got[0].x;
    write("vectors", std::vector<float>(flat, flat + 4 * kLanes));
}

void
atomic_probes()
{
    program p;
    int *i = p.upload(std::vector<int>{0, 0, 0, 0, -1, 0, 0, 0, 42, 0, 0, 0, 0});
    unsigned *u = p.upload(std::vector<unsigned>{0, 0, 0, ~0u, 0});
    unsigned long long *l = p.upload(std::vector<unsigned long long>(2));
    float *f = p.upload(std::vector<float>(1));
    double *d = p.upload(std::vector<double>(1));
    p.launch(atomics, 3, kLanes, 0, i, u, l, f, d); // three blocks: i[7] and so on see the rest
    write("atomics int", p.download(i, 7));
    write("atomics unsigned", p.download(u, 5));
    write("atomics long", p.download(l, 2));
    write("atomics float", p.download(f, 1));
    write("atomics double", p.download(d, 1));

    i = p.upload(std::vector<int>{0, 0, 0, 0, -1, 0, 0, 0, 42, 0, 0, 0, 0});
    p.launch(atomics, 1, kLanes, 0, i, u, l, f, d);
    write("atomics of one block", p.download(i, 13));
}

void
half_probes()
{
    program p;
    constexpr int all = 65536;
    float *h = p.room<float>(all), *b = p.room<float>(all);
    p.launch(widen, all / 256, 256, 0, h, b);
    write("widen half", p.download(h, all));
    write("widen bfloat16", p.download(b, all));

    // Every sign, exponent and end of a fraction of a float: ties and both their neighbours.
    std::vector<float> in;
    for (unsigned high = 0; high < 0x10000; high += 0x20)
        for (const unsigned low :
             {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0x10fffu, 0x11000u, 0x11001u}) {
            const unsigned bits = (high << 16) ^ low;
            float v;
            memcpy(&v, &bits, sizeof v);
            in.push_back(v);
        }
    unsigned short *nh = p.room<unsigned short>(in.size()),
                   *nb = p.room<unsigned short>(in.size());
    p.launch(narrow, (unsigned)in.size() / 256, 256, 0, p.upload(in), nh, nb);
    write("narrow in", in);
    write("narrow half", p.download(nh, in.size()));
    write("narrow bfloat16", p.download(nb, in.size()));
    probe("half arithmetic", half_arithmetic, 14);
}

} // namespace

int
main(int, char **arguments)
{
    file = fopen(arguments[1], "w");
    if (file == nullptr) return 1;
    shuffles<int>("int32");
    shuffles<unsigned long long>("uint64");
    shuffles<float>("float32");
    shuffles<double>("float64");
    probe("shuffle by lane", shuffle_by_lane, 2);
    probe("shuffle in groups", shuffle_in_groups);
    probe("votes", votes, 5);
    probe("matches", matches, 7);
    probe("reductions", reductions, 10);
    probe("barriers", barriers, 5);
    probe("bits", bits, 19);
    probe("arithmetic", arithmetic, 6);
    memory_probes();
    atomic_probes();
    half_probes();
    return fclose(file);
}
