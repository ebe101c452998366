// histogram / weights -- the least or the largest weight of each bin, where elements are numbers of bins; the
// place of the first of these; or whether any or all are other than zero.
//
// In, out   in[n], weights[n] -> one of these a bin; where there is none NaN of floats, -1 of places.
// How       a weight is an unsigned integer, ordered as is asked for (num/ordered.h), of which the largest
//           stays: in a table of the block's own where bins fit on chip, else in one in the L2. What is
//           there is read first: soon few weights are above it, and those alone take an atomic. A warp
//           whose elements are all of one bin asks once. For places all is read again: where a weight is
//           its bin's, its place is compared with what the L2 has.
// Floor     one read of both; two for places.
#include "num/ordered.h"
#include "histogram/production/weights_pieces.cuh"
#include "prim/memory.cuh"

#include <algorithm>

namespace wk::weights
{

namespace
{

constexpr int kThreads = 512, kTurn = 4; // elements of a thread that wait together
constexpr int kMostBlocks = 4;           // of a multiprocessor

template <typename B>
struct weight_order;

template <>
struct weight_order<unsigned> : wk_order_32 {
    weight_order(wk_dtype dtype, wk_fold fold) : wk_order_32(wk_order_new_32(dtype, fold)) {}
    __device__ __forceinline__ unsigned key(unsigned bits) const
    {
        return wk_order_key_32(this, bits);
    }
    __device__ __forceinline__ unsigned bits(unsigned key) const
    {
        return wk_order_bits_32(this, key);
    }
};

template <>
struct weight_order<unsigned long long> : wk_order_64 {
    weight_order(wk_dtype dtype, wk_fold fold) : wk_order_64(wk_order_new_64(dtype, fold)) {}
    __device__ __forceinline__ unsigned long long key(uint64_t bits) const
    {
        return wk_order_key_64(this, bits);
    }
    __device__ __forceinline__ uint64_t bits(unsigned long long key) const
    {
        return wk_order_bits_64(this, key);
    }
};

__device__ __forceinline__ unsigned
largest_of_warp(unsigned x)
{
    return __reduce_max_sync(kAllLanes, x);
}

__device__ __forceinline__ unsigned long long
largest_of_warp(unsigned long long x)
{
#pragma unroll
    for (int half = kWarp / 2; half > 0; half /= 2)
        x = max(x, __shfl_xor_sync(kAllLanes, x, half));
    return x;
}

template <typename B>
__device__ __forceinline__ void
raise(B *to, B key)
{
    if (key > peek(to)) atomicMax(to, key);
}

struct extremes_task {
    const void *in, *weights;
    wk_dtype in_dtype;
    int weight; // bytes of one
    int64_t n, bins;
    bool on_chip;    // blocks have tables of their own
    unsigned *stray; // set where an element is no bin's; null: nobody asks
};

// Elements of types that the kernel knows, unsigned: what is negative lies beyond all bins.
template <typename K, typename W>
struct known {
    using B = std::conditional_t<sizeof(W) == 8, unsigned long long, unsigned>;

    static __device__ __forceinline__ uint64_t bin(const extremes_task &t, int64_t i)
    {
        return static_cast<const K *>(t.in)[i];
    }
    static __device__ __forceinline__ B weight(const extremes_task &t, int64_t i)
    {
        return static_cast<const W *>(t.weights)[i];
    }
};

// Any others.
template <typename B_>
struct unknown {
    using B = B_;

    static __device__ __forceinline__ uint64_t bin(const extremes_task &t, int64_t i)
    {
        return (uint64_t)integer_of(t.in_dtype, bits_at(t.in, bytes_of(t.in_dtype), i));
    }
    static __device__ __forceinline__ B weight(const extremes_task &t, int64_t i)
    {
        return (B)bits_at(t.weights, t.weight, i);
    }
};

template <typename S>
__global__ void
__launch_bounds__(kThreads)
    weights_extremes(const extremes_task __grid_constant__ t,
                     const weight_order<typename S::B> __grid_constant__ order,
                     typename S::B *table)
{
    using B = typename S::B;
    WK_DYNAMIC_SHARED(B, own);
    B *to = t.on_chip ? own : table;
#pragma unroll 1
    for (int64_t i = threadIdx.x; t.on_chip && i < t.bins; i += kThreads) own[i] = 0;
    __syncthreads(); // all is zero before anything is raised
    constexpr int64_t kTile = kThreads * kTurn;
    bool strays = false;
    for (int64_t from = blockIdx.x * kTile; from < t.n; from += gridDim.x * kTile) {
        uint64_t bin[kTurn];
        B key[kTurn];
        __syncwarp(); // lanes that raised something are waited for, else each part loads alone
#pragma unroll
        for (int j = 0; j < kTurn; j++) {
            const int64_t i = from + j * kThreads + threadIdx.x;
            bin[j] = 0;
            key[j] = 0;
            if (i >= t.n) continue;
            bin[j] = S::bin(t, i);
            key[j] = order.key(S::weight(t, i));
        }
#pragma unroll
        for (int j = 0; j < kTurn; j++) {
            const bool stray = bin[j] >= (uint64_t)t.bins;
            strays |= stray;
            const unsigned at = stray ? 0 : (unsigned)bin[j];
            B most = stray ? 0 : key[j];
            if (__all_sync(kAllLanes, at == __shfl_sync(kAllLanes, at, 0))) {
                most = largest_of_warp(most);
                if (threadIdx.x % kWarp > 0) most = 0;
            }
            raise(to + at, most);
        }
    }
    if (strays && t.stray) atomicOr(t.stray, 1u);
    if (!t.on_chip) return;
    __syncthreads(); // all is raised
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < t.bins; i += kThreads) raise(table + i, own[i]);
}

// The place of the first of each bin's extremes, all ones before.
template <typename S>
__global__ void
__launch_bounds__(kThreads)
    weights_places(const extremes_task __grid_constant__ t,
                   const weight_order<typename S::B> __grid_constant__ order,
                   const typename S::B *table, unsigned long long *places)
{
    using B = typename S::B;
    constexpr int64_t kTile = kThreads * kTurn;
    for (int64_t from = blockIdx.x * kTile; from < t.n; from += gridDim.x * kTile) {
        uint64_t bin[kTurn];
        B key[kTurn];
        __syncwarp(); // as above
#pragma unroll
        for (int j = 0; j < kTurn; j++) {
            const int64_t i = from + j * kThreads + threadIdx.x;
            bin[j] = t.bins;
            if (i >= t.n) continue;
            bin[j] = S::bin(t, i);
            key[j] = order.key(S::weight(t, i));
        }
#pragma unroll
        for (int j = 0; j < kTurn; j++) {
            if (bin[j] >= (uint64_t)t.bins || key[j] != table[bin[j]]) continue;
            const auto i = (unsigned long long)(from + j * kThreads + threadIdx.x);
            unsigned long long *to = places + bin[j];
            if (i < peek(to)) atomicMin(to, i);
        }
    }
}

template <typename B>
__global__ void
extremes_finish(const B *table, int64_t bins, const weight_order<B> __grid_constant__ order,
                void *out, int bytes)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
#pragma unroll 1
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < bins; i += step) {
        const B bits = order.bits(table[i]);
        switch (bytes) {
        case 1: static_cast<uint8_t *>(out)[i] = (uint8_t)bits; break;
        case 2: static_cast<uint16_t *>(out)[i] = (uint16_t)bits; break;
        default: static_cast<B *>(out)[i] = bits;
        }
    }
}

template <typename S>
wk_status
extremes_of(wk_call *call, extremes_task t)
{
    using B = typename S::B;
    const wk_fold fold = call->args.histogram.fold;
    const weight_order<B> order(call->weights.dtype, fold);
    const int64_t bytes = t.bins * (int64_t)sizeof(B);
    void *table = nullptr;
    if (allocate(call, bytes, &table) != WK_OK || clear(call, table, bytes) != WK_OK)
        return call->error.status;
    // Tables are cleared and gone through: of few elements in many bins that is most of the work.
    t.on_chip = bytes <= most_shared(call) && t.n >= t.bins * processors(call) / 2;
    const int64_t fit = t.on_chip ? most_shared(call) / (bytes + 1024) : kMostBlocks;
    const int64_t blocks = std::clamp<int64_t>(fit, 1, kMostBlocks) * processors(call),
                  tiles = (t.n + kThreads * kTurn - 1) / (kThreads * kTurn);
    const size_t shared = t.on_chip ? (size_t)bytes : 0;
    const auto grid = (unsigned)std::min(blocks, tiles);
    wk_array *out = &call->out[0];
    if (grant(call, weights_extremes<S>, shared) != WK_OK ||
        launch(call, grid, kThreads, shared, weights_extremes<S>, t, order,
               static_cast<B *>(table)) != WK_OK ||
        (t.stray && begin_telling(call) != WK_OK))
        return call->error.status;
    if (wk_is_place(fold)) {
        WK_TRY(&call->error,
               cudaMemsetAsync(out->data, 0xff, out->bytes, session_of(call)->stream));
        if (launch(call, (unsigned)std::min<int64_t>(kMostBlocks * processors(call), tiles),
                   kThreads, 0, weights_places<S>, t, order, static_cast<const B *>(table),
                   static_cast<unsigned long long *>(out->data)) != WK_OK)
            return call->error.status;
    } else if (launch(call, grid_for(call, t.bins, kThreads), kThreads, 0, extremes_finish<B>,
                      static_cast<const B *>(table), t.bins, order, out->data,
                      wk_itemsize[out->dtype]) != WK_OK) {
        return call->error.status;
    }
    return t.stray ? tell(call, &call->out[1]) : WK_OK; // while results are on their way
}

} // namespace

// Of call->args.histogram.fold.
wk_status
extremes(wk_call *call, unsigned *stray)
{
    extremes_task t = {};
    t.in = call->in.data;
    t.in_dtype = call->in.dtype;
    t.weights = call->weights.data;
    t.weight = wk_itemsize[call->weights.dtype];
    t.n = call->args.histogram.n;
    t.bins = call->args.histogram.bins;
    t.stray = stray;
    const int key = wk_itemsize[t.in_dtype];
    if (t.weight == 8)
        return key == 4   ? extremes_of<known<uint32_t, uint64_t>>(call, t)
               : key == 8 ? extremes_of<known<uint64_t, uint64_t>>(call, t)
                          : extremes_of<unknown<unsigned long long>>(call, t);
    if (t.weight == 4 && key >= 4)
        return key == 4 ? extremes_of<known<uint32_t, uint32_t>>(call, t)
                        : extremes_of<known<uint64_t, uint32_t>>(call, t);
    return extremes_of<unknown<unsigned>>(call, t);
}

} // namespace wk::weights
