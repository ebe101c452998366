// cooperative_groups.h -- groups of threads: a grid, a block, tiles of a warp, the lanes that are there.
#pragma once
#include "emu/math.h"
#include "emu/simt.h"
#include "emu/warp.h"

namespace cooperative_groups
{

class thread_block
{
  public:
    static unsigned thread_rank()
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned num_threads()
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    static unsigned size()
    {
        return num_threads();
    }
    static dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static dim3 group_dim()
    {
        return blockDim;
    }
    static dim3 dim_threads()
    {
        return blockDim;
    }
    static void sync(emu::site at = emu::site::here())
    {
        __syncthreads(at);
    }
    unsigned *come = nullptr; // where tiles of several warps meet (user_tiles.h)
    uint64_t *value = nullptr;
};

inline thread_block
this_thread_block()
{
    return {};
}

class grid_group
{
  public:
    static unsigned long long num_threads()
    {
        return num_blocks() * thread_block::num_threads();
    }
    static unsigned long long size()
    {
        return num_threads();
    }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank()
    {
        return blockIdx.x + (unsigned long long)gridDim.x *
                                (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    static dim3 group_dim()
    {
        return gridDim;
    }
    static dim3 dim_blocks()
    {
        return gridDim;
    }
    static dim3 block_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static bool is_valid()
    {
        return emu::in_grid();
    }
    static void sync(emu::site at = emu::site::here())
    {
        emu::settle();
        emu::grid_barrier(at);
        emu::settle();
    }
};

inline grid_group
this_grid()
{
    return {};
}

// Some lanes of a warp, which know their places among them.
class lanes
{
  public:
    unsigned thread_rank() const
    {
        return (unsigned)__popc(mask & ((1u << emu::self()->lane) - 1));
    }
    unsigned num_threads() const
    {
        return (unsigned)__popc(mask);
    }
    unsigned size() const
    {
        return num_threads();
    }
    void sync(emu::site at = emu::site::here()) const
    {
        __syncwarp(mask, at);
    }
    int any(int predicate, emu::site at = emu::site::here()) const
    {
        return __any_sync(mask, predicate, at);
    }
    int all(int predicate, emu::site at = emu::site::here()) const
    {
        return __all_sync(mask, predicate, at);
    }
    unsigned ballot(int predicate, emu::site at = emu::site::here()) const
    {
        return packed(__ballot_sync(mask, predicate, at));
    }
    template <typename T>
    unsigned match_any(T v, emu::site at = emu::site::here()) const
    {
        return packed(__match_any_sync(mask, v, at));
    }
    template <typename T>
    T shfl(T v, unsigned rank, emu::site at = emu::site::here()) const
    {
        return read(v, rank % num_threads(), at);
    }
    template <typename T>
    T shfl_up(T v, unsigned delta, emu::site at = emu::site::here()) const
    {
        return read(v, thread_rank() >= delta ? thread_rank() - delta : thread_rank(), at);
    }
    template <typename T>
    T shfl_down(T v, unsigned delta, emu::site at = emu::site::here()) const
    {
        const unsigned from = thread_rank() + delta;
        return read(v, from < num_threads() ? from : thread_rank(), at);
    }
    template <typename T>
    T shfl_xor(T v, unsigned bits, emu::site at = emu::site::here()) const
    {
        const unsigned from = thread_rank() ^ bits;
        return read(v, from < num_threads() ? from : thread_rank(), at);
    }

    unsigned lanes_mask() const
    {
        return mask;
    }

  protected:
    explicit lanes(unsigned those) : mask(those) {}
    unsigned mask;

  private:
    // Of the lanes' bits those of this group, side by side.
    unsigned packed(unsigned bits) const
    {
        unsigned result = 0, rank = 0;
        for (unsigned set = mask; set; set &= set - 1, rank++)
            if (bits & set & -set) result |= 1u << rank;
        return result;
    }
    template <typename T>
    T read(T v, unsigned rank, emu::site at) const
    {
        const int lane = (int)__fns(mask, 0, (int)rank + 1);
        if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
            return __shfl_sync(mask, v, lane, 32, at);
        } else { // by words
            uint32_t words[(sizeof v + 3) / 4] = {};
            __builtin_memcpy(words, &v, sizeof v);
            for (uint32_t &word : words) word = __shfl_sync(mask, word, lane, 32, at);
            __builtin_memcpy(&v, words, sizeof v);
            return v;
        }
    }
};

inline unsigned
present_lanes() // a short warp has no others
{
    const unsigned left = thread_block::num_threads() - (unsigned)emu::self()->warp * 32;
    return left >= 32 ? 0xffffffffu : (1u << left) - 1;
}

template <unsigned N>
unsigned
mask_of_tile()
{
    static_assert(N && N <= 32 && (N & (N - 1)) == 0,
                  "a tile has 1, 2, 4, 8, 16 or 32 threads");
    return (N == 32 ? 0xffffffffu : ((1u << N % 32) - 1) << (emu::self()->lane & ~(N - 1))) &
           present_lanes();
}

template <unsigned N, typename Parent = thread_block>
class thread_block_tile : public lanes
{
  public:
    thread_block_tile() : lanes(mask_of_tile<N>()) {}
    template <typename Other>
    thread_block_tile(const thread_block_tile<N, Other> &) : thread_block_tile()
    {
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
};

class coalesced_group : public lanes
{
  public:
    explicit coalesced_group(unsigned those) : lanes(those) {}
    template <unsigned N, typename Parent>
    coalesced_group(const thread_block_tile<N, Parent> &tile) : lanes(tile)
    {
    }
};

// Any group whose kind only the run knows.
class thread_group
{
  public:
    thread_group(const thread_block &) : whole(true), part(0) {}
    thread_group(const coalesced_group &group) : whole(false), part(group) {}
    template <unsigned N, typename Parent>
    thread_group(const thread_block_tile<N, Parent> &tile) : whole(false), part(tile)
    {
    }
    unsigned thread_rank() const
    {
        return whole ? thread_block::thread_rank() : part.thread_rank();
    }
    unsigned num_threads() const
    {
        return whole ? thread_block::num_threads() : part.num_threads();
    }
    unsigned size() const
    {
        return num_threads();
    }
    void sync(emu::site at = emu::site::here()) const
    {
        if (whole)
            thread_block::sync(at);
        else
            part.sync(at);
    }

  private:
    bool whole;
    coalesced_group part;
};

inline coalesced_group
coalesced_threads(emu::site at = emu::site::here())
{
    return coalesced_group(emu::active_lanes(at));
}

template <unsigned N>
class tile_of_warps;

template <unsigned N, typename Parent>
auto
tiled_partition(const Parent &parent)
{
    if constexpr (N > 32)
        return tile_of_warps<N>(parent);
    else
        return thread_block_tile<N, Parent>();
}

inline thread_group // of a size that the run knows
tiled_partition(const thread_group &, unsigned size)
{
    const unsigned first = (unsigned)emu::self()->lane & ~(size - 1);
    const unsigned mask = size >= 32 ? 0xffffffffu : ((1u << size) - 1) << first;
    return coalesced_group(mask & present_lanes());
}

// Those of a group that give the same label; or the same answer.
template <typename Group, typename Label>
coalesced_group
labeled_partition(const Group &group, Label label, emu::site at = emu::site::here())
{
    return coalesced_group(__match_any_sync(group.lanes_mask(), label, at));
}

template <typename Group>
coalesced_group
binary_partition(const Group &group, bool predicate, emu::site at = emu::site::here())
{
    const unsigned yes = __ballot_sync(group.lanes_mask(), predicate, at);
    return coalesced_group(predicate ? yes : group.lanes_mask() & ~yes);
}

// One thread of the group does it, and only that one.
template <typename Group, typename F>
void
invoke_one(const Group &group, F f)
{
    if (group.thread_rank() == 0) f();
}

template <typename Group>
void
sync(const Group &group, emu::site at = emu::site::here())
{
    group.sync(at);
}

// The first thread copies, and it is there at once; but only wait() lets the others use it.
template <typename Group, typename T, typename U>
void
memcpy_async(const Group &group, T *to, const U *from, size_t bytes)
{
    if (group.thread_rank() == 0) memcpy((void *)to, (const void *)from, bytes);
}

template <typename Group, typename T, typename U> // of so many elements: the fewer
void
memcpy_async(const Group &group, T *to, size_t room, const U *from, size_t count)
{
    memcpy_async(group, to, from, (count < room ? count : room) * sizeof(T));
}

template <typename Group>
void
wait(const Group &group, emu::site at = emu::site::here())
{
    group.sync(at);
}

template <unsigned stages, typename Group>
void
wait_prior(const Group &group, emu::site at = emu::site::here())
{
    group.sync(at);
}

template <typename T = void>
struct plus {
    T operator()(T a, T b) const
    {
        return a + b;
    }
};
template <typename T = void>
struct less { // the lesser of two, as CUDA names it
    T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
template <typename T = void>
struct greater {
    T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};
template <typename T = void>
struct bit_and {
    T operator()(T a, T b) const
    {
        return a & b;
    }
};
template <typename T = void>
struct bit_or {
    T operator()(T a, T b) const
    {
        return a | b;
    }
};
template <typename T = void>
struct bit_xor {
    T operator()(T a, T b) const
    {
        return a ^ b;
    }
};

// All lanes get it.
template <typename Group, typename T, typename F>
T
reduce(const Group &group, T v, F f, emu::site at = emu::site::here())
{
    const unsigned n = group.num_threads(), rank = group.thread_rank();
    for (unsigned d = 1; d < n; d *= 2) {
        const T other = group.shfl_down(v, d, at);
        if (rank + d < n) v = f(v, other);
    }
    return group.shfl(v, 0, at);
}

template <typename Group, typename T, typename F>
T
inclusive_scan(const Group &group, T v, F f, emu::site at = emu::site::here())
{
    for (unsigned d = 1; d < group.num_threads(); d *= 2) {
        const T other = group.shfl_up(v, d, at);
        if (group.thread_rank() >= d) v = f(other, v);
    }
    return v;
}

template <typename Group, typename T>
T
inclusive_scan(const Group &group, T v, emu::site at = emu::site::here())
{
    return inclusive_scan(group, v, plus<T>(), at);
}

template <typename Group, typename T>
T
exclusive_scan(const Group &group, T v, emu::site at = emu::site::here())
{
    const T before = group.shfl_up(inclusive_scan(group, v, plus<T>(), at), 1, at);
    return group.thread_rank() ? before : T();
}

} // namespace cooperative_groups

#include "emu/user_tiles.h"
