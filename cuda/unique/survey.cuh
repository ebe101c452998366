// survey.cuh -- one read of all elements, that says how their keys are best told apart: which bits differ,
// and how far the smallest and the largest are apart.
#pragma once
#include "runtime/launch.cuh"
#include "prim/keys.cuh"

namespace wk
{

constexpr int kSurveyThreads = 256;
constexpr int kSurveyBlocks = 8; // a multiprocessor: all its threads, few atomics at the end
constexpr int kSurveyed = 8;     // elements of a thread on their way

struct findings {                   // all zero at first, so that every one grows
    unsigned long long clear, set;  // bits that some key has clear, or set
    unsigned long long below, high; // the largest key's, and the smallest's, complemented
};

template <typename K>
struct extent {
    K clear, set, below, high;

    __device__ __forceinline__ void see(K key)
    {
        join({(K)~key, key, (K)~key, key});
    }
    __device__ __forceinline__ void join(const extent &o)
    {
        clear |= o.clear;
        set |= o.set;
        below = o.below > below ? o.below : below;
        high = o.high > high ? o.high : high;
    }
};

template <typename K>
__global__ void
__launch_bounds__(kSurveyThreads)
    survey(const source<K, false> __grid_constant__ from, int64_t n, findings *out)
{
    __shared__ extent<K> warps[kSurveyThreads / kWarp];
    extent<K> own = {};
    const int64_t step = (int64_t)gridDim.x * kSurveyThreads;
    int64_t i = (int64_t)blockIdx.x * kSurveyThreads + threadIdx.x;
    for (; i + (kSurveyed - 1) * step < n; i += kSurveyed * step) {
        K keys[kSurveyed];
#pragma unroll
        for (int j = 0; j < kSurveyed; j++) keys[j] = from.in[i + j * step];
        from.make_keys(keys);
#pragma unroll
        for (int j = 0; j < kSurveyed; j++) own.see(keys[j]);
    }
    for (; i < n; i += step) own.see(from.key_at(i));
#pragma unroll
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
        own.join({__shfl_xor_sync(kAllLanes, own.clear, lanes),
                  __shfl_xor_sync(kAllLanes, own.set, lanes),
                  __shfl_xor_sync(kAllLanes, own.below, lanes),
                  __shfl_xor_sync(kAllLanes, own.high, lanes)});
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = own;
    __syncthreads(); // every warp's share is there before it is joined
    if (threadIdx.x != 0) return;
    for (int w = 1; w < kSurveyThreads / kWarp; w++) own.join(warps[w]);
    atomicOr(&out->clear, (unsigned long long)own.clear);
    atomicOr(&out->set, (unsigned long long)own.set);
    atomicMax(&out->below, (unsigned long long)own.below);
    atomicMax(&out->high, (unsigned long long)own.high);
}

// Waits.
template <typename K>
wk_status
launch_survey(wk_call *call, const source<K, false> &from, int64_t n, findings *found)
{
    void *there = nullptr;
    const int64_t wanted = (n + kSurveyThreads - 1) / kSurveyThreads;
    const int64_t most = (int64_t)processors(call) * kSurveyBlocks;
    if (allocate(call, sizeof *found, &there) != WK_OK ||
        clear(call, there, sizeof *found) != WK_OK ||
        launch(call, (unsigned)(wanted < most ? wanted : most), kSurveyThreads, 0, survey<K>,
               from, n, (findings *)there) != WK_OK)
        return call->error.status;
    const cudaStream_t stream = session_of(call)->stream;
    WK_TRY(&call->error,
           cudaMemcpyAsync(found, there, sizeof *found, cudaMemcpyDeviceToHost, stream));
    WK_TRY(&call->error, cudaStreamSynchronize(stream));
    found->below = (K)~found->below; // the smallest key from here on
    return WK_OK;
}

} // namespace wk
