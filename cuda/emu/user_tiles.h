// user_tiles.h -- tiles of 64 to 512 threads: several whole warps of a block, which meet in shared
// memory that the kernel gives (cooperative_groups.h).
#pragma once
#include "emu/atomics.h"

#include <assert.h>

namespace cooperative_groups
{

template <unsigned Threads = 1024> // at most, of the block
struct block_tile_memory {
    unsigned come[Threads / 64 + 1]; // by tile: warps, since the block began
    uint64_t value[Threads];
};

template <unsigned Threads>
thread_block
this_thread_block(block_tile_memory<Threads> &memory, emu::site at = emu::site::here())
{
    if (thread_block::thread_rank() == 0)
        for (unsigned &c : memory.come) c = 0;
    __syncthreads(at); // nobody counts before
    thread_block block;
    block.come = memory.come;
    block.value = memory.value;
    return block;
}

template <unsigned N>
class tile_of_warps
{
  public:
    static_assert(N == 64 || N == 128 || N == 256 || N == 512,
                  "a tile has a power of two threads");
    explicit tile_of_warps(const thread_block &block) : in(block)
    {
        assert(in.come && "a tile of more than 32 threads needs this_thread_block(memory)");
    }
    static unsigned thread_rank()
    {
        return thread_block::thread_rank() % N;
    }
    static constexpr unsigned num_threads()
    {
        return N;
    }
    static constexpr unsigned size()
    {
        return N;
    }
    static unsigned meta_group_rank()
    {
        return thread_block::thread_rank() / N;
    }
    static unsigned meta_group_size()
    {
        return (thread_block::num_threads() + N - 1) / N;
    }
    void sync(emu::site at = emu::site::here()) const
    {
        __syncwarp(0xffffffffu, at); // the warp is here
        if (emu::self()->lane == 0) {
            __threadfence_block();
            unsigned *const come = &in.come[meta_group_rank()];
            const unsigned goal = (atomicAdd(come, 1u) / (N / 32) + 1) * (N / 32);
            while (atomicAdd(come, 0u) < goal) emu::yield();
            __threadfence_block();
        }
        __syncwarp(0xffffffffu, at); // and the others are
    }
    template <typename T>
    T shfl(T v, unsigned rank, emu::site at = emu::site::here()) const
    {
        uint64_t *const first = in.value + meta_group_rank() * N;
        first[thread_rank()] = emu::to_word(v);
        sync(at);
        const T other = emu::from_word<T>(first[rank % N]);
        sync(at); // all have read before the next value
        return other;
    }
    template <typename T>
    T shfl_up(T v, unsigned delta, emu::site at = emu::site::here()) const
    {
        return shfl(v, thread_rank() >= delta ? thread_rank() - delta : thread_rank(), at);
    }
    template <typename T>
    T shfl_down(T v, unsigned delta, emu::site at = emu::site::here()) const
    {
        return shfl(v, thread_rank() + delta < N ? thread_rank() + delta : thread_rank(), at);
    }
    template <typename T>
    T shfl_xor(T v, unsigned bits, emu::site at = emu::site::here()) const
    {
        return shfl(v, thread_rank() ^ bits, at);
    }
    template <typename T, typename F>
    T fold(T v, F f, emu::site at) const // each warp by itself, then what the warps have
    {
        uint64_t *const first = in.value + meta_group_rank() * N;
        v = reduce(thread_block_tile<32>(), v, f, at);
        if (emu::self()->lane == 0) first[thread_rank() / 32] = emu::to_word(v);
        sync(at);
        v = emu::from_word<T>(first[0]);
        for (unsigned w = 1; w < N / 32; w++) v = f(v, emu::from_word<T>(first[w]));
        sync(at);
        return v;
    }
    int any(int predicate, emu::site at = emu::site::here()) const
    {
        return fold((int)(predicate != 0), bit_or<int>(), at);
    }
    int all(int predicate, emu::site at = emu::site::here()) const
    {
        return fold((int)(predicate != 0), bit_and<int>(), at);
    }

  private:
    const thread_block in;
};

template <unsigned N, typename T, typename F>
T
reduce(const tile_of_warps<N> &tile, T v, F f, emu::site at = emu::site::here())
{
    return tile.fold(v, f, at);
}

} // namespace cooperative_groups
