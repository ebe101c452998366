// reads.cuh -- 32 lanes read a table, each where it is told to: what shared and constant memory differ in.
#pragma once
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

namespace wk::smem
{

constexpr int kReaders = WK_READERS * kWarp; // threads: enough for the latency of one load

template <int kWords>
struct alignas(4 * kWords) element { // one instruction reads it
    uint32_t word[kWords];
};

// All warps of the block read alike. An element says where the next one is: at the same place, as the
// compiler cannot know, so it leaves no load out.
template <int kWords, typename F>
__device__ __forceinline__ void
read_table(const int *in, uint32_t *out, int repeats, long long *clocks, F &&table)
{
    uint32_t at = (uint32_t)in[threadIdx.x % kWarp];
    __syncthreads(); // the table is filled before it is read
    at = table(at)
             .word[0]; // once before the clock is read: all know where, constants are cached
    __syncthreads();
    const long long started = clock64();
#pragma unroll 8
    for (int k = 0; k < repeats; k++) {
        const element<kWords> found = table(at);
        at = found.word[0];
#pragma unroll
        for (int w = 1; w < kWords; w++) at &= found.word[w];
    }
    __syncthreads(); // all loads are on their way before the clock is read
    const long long ended = clock64();
    if (threadIdx.x < kWarp) out[threadIdx.x] = at;
    if (threadIdx.x == 0) clocks[0] = ended - started;
}

// Calls f(std::integral_constant<int, words of an element>{}).
template <typename F>
wk_status
visit_words(wk_call *call, F &&f)
{
    switch (call->args.reads.item) {
    case 4: return f(std::integral_constant<int, 1>{});
    case 8: return f(std::integral_constant<int, 2>{});
    default: return f(std::integral_constant<int, 4>{});
    }
}

template <typename... P, typename... A>
wk_status
launch_reads(wk_call *call, void (*kernel)(P...), A... args)
{
    return launch(call, 1, kReaders, 0, kernel, first_element<int>(&call->in),
                  static_cast<uint32_t *>(call->out[0].data), call->args.reads.repeats,
                  static_cast<long long *>(call->out[1].data), args...);
}

} // namespace wk::smem
