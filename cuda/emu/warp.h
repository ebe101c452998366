// warp.h -- what the lanes of a warp do together: shuffles, votes, matches, reductions.
//
// Each is a rendezvous: a lane waits until every lane named in the mask has come to the same
// operation with the same mask. No lane's memory is ordered by it but for __syncwarp.
#pragma once
#include "emu/simt.h"

#include <type_traits>

namespace emu
{

enum class collective {
    syncwarp,
    ballot,
    all,
    any,
    shfl,
    shfl_up,
    shfl_down,
    shfl_xor,
    match_any,
    match_all,
    reduce_add,
    reduce_min,
    reduce_max,
    reduce_min_signed,
    reduce_max_signed,
    reduce_and,
    reduce_or,
    reduce_xor
};

// value goes in; of a shuffle, source is the lane whose value comes out.
EMU_API_BEGIN
uint64_t gather(const place *who, collective what, unsigned mask, uint64_t value, int source,
                site at);

[[noreturn]] void wrong_width(collective what, int width, site at);

// The lanes that are there too when no other thread of the block can go on: as many as a GPU may find
// together.
unsigned active_lanes(site at);
EMU_API_END

template <typename T>
__forceinline__ uint64_t
to_word(T v)
{
#ifndef EMU_TRACE // which gives vectors a copy of their own
    static_assert(std::is_trivially_copyable<T>::value, "a lane gives bytes");
#endif
    static_assert(sizeof(T) <= 8, "a lane gives 4 or 8 bytes");
    uint64_t word = 0;
    __builtin_memcpy(&word, &v, sizeof v);
    return word;
}

template <typename T>
__forceinline__ T
from_word(uint64_t word)
{
    T v;
    __builtin_memcpy(static_cast<void *>(&v), &word, sizeof v);
    return v;
}

// The first and the last lane of this lane's segment.
struct segment {
    int first, last;
    __forceinline__ segment(const place *who, collective what, int width, site at)
    {
        if (width < 1 || width > warpSize || (width & (width - 1)) != 0)
            wrong_width(what, width, at);
        first = who->lane & ~(width - 1);
        last = who->lane | (width - 1);
    }
};

} // namespace emu

static inline void
__syncwarp(unsigned mask = 0xffffffffu, emu::site at = emu::site::here())
{
    emu::settle();
    emu::gather(emu::self(), emu::collective::syncwarp, mask, 0, 0, at);
    emu::settle();
}

static inline unsigned
__ballot_sync(unsigned mask, int predicate, emu::site at = emu::site::here())
{
    return (unsigned)emu::gather(emu::self(), emu::collective::ballot, mask, predicate != 0, 0,
                                 at);
}

static inline int
__all_sync(unsigned mask, int predicate, emu::site at = emu::site::here())
{
    return (int)emu::gather(emu::self(), emu::collective::all, mask, predicate != 0, 0, at);
}

static inline int
__any_sync(unsigned mask, int predicate, emu::site at = emu::site::here())
{
    return (int)emu::gather(emu::self(), emu::collective::any, mask, predicate != 0, 0, at);
}

template <typename T>
__forceinline__ T
__shfl_sync(unsigned mask, T v, int lane, int width = warpSize,
            emu::site at = emu::site::here())
{
    const emu::place *who = emu::self();
    const emu::segment s(who, emu::collective::shfl, width, at);
    const int source = s.first | (lane & (width - 1));
    return emu::from_word<T>(
        emu::gather(who, emu::collective::shfl, mask, emu::to_word(v), source, at));
}

// As the hardware does, only the low five bits of a distance count.
template <typename T>
__forceinline__ T
__shfl_up_sync(unsigned mask, T v, unsigned delta, int width = warpSize,
               emu::site at = emu::site::here())
{
    const emu::place *who = emu::self();
    const emu::segment s(who, emu::collective::shfl_up, width, at);
    const int source = who->lane - (int)(delta & 31);
    return emu::from_word<T>(emu::gather(who, emu::collective::shfl_up, mask, emu::to_word(v),
                                         source < s.first ? who->lane : source, at));
}

template <typename T>
__forceinline__ T
__shfl_down_sync(unsigned mask, T v, unsigned delta, int width = warpSize,
                 emu::site at = emu::site::here())
{
    const emu::place *who = emu::self();
    const emu::segment s(who, emu::collective::shfl_down, width, at);
    const int source = who->lane + (int)(delta & 31);
    return emu::from_word<T>(emu::gather(who, emu::collective::shfl_down, mask, emu::to_word(v),
                                         source > s.last ? who->lane : source, at));
}

template <typename T>
__forceinline__ T
__shfl_xor_sync(unsigned mask, T v, int lanes, int width = warpSize,
                emu::site at = emu::site::here())
{
    const emu::place *who = emu::self();
    const emu::segment s(who, emu::collective::shfl_xor, width, at);
    const int source = who->lane ^ (lanes & 31);
    return emu::from_word<T>(emu::gather(who, emu::collective::shfl_xor, mask, emu::to_word(v),
                                         source > s.last ? who->lane : source, at));
}

template <typename T>
__forceinline__ unsigned
__match_any_sync(unsigned mask, T v, emu::site at = emu::site::here())
{
    return (unsigned)emu::gather(emu::self(), emu::collective::match_any, mask, emu::to_word(v),
                                 0, at);
}

template <typename T>
__forceinline__ unsigned
__match_all_sync(unsigned mask, T v, int *all_equal, emu::site at = emu::site::here())
{
    const auto lanes = (unsigned)emu::gather(emu::self(), emu::collective::match_all, mask,
                                             emu::to_word(v), 0, at);
    *all_equal = lanes != 0;
    return lanes;
}

static inline unsigned
__activemask(emu::site at = emu::site::here())
{
    return emu::active_lanes(at);
}

#define EMU_REDUCE(name, T, what)                                                              \
    static inline T name(unsigned mask, T v, emu::site at = emu::site::here())                 \
    {                                                                                          \
        return (T)emu::gather(emu::self(), emu::collective::what, mask, (unsigned)v, 0, at);   \
    }
EMU_REDUCE(__reduce_add_sync, unsigned, reduce_add)
EMU_REDUCE(__reduce_add_sync, int, reduce_add)
EMU_REDUCE(__reduce_min_sync, unsigned, reduce_min)
EMU_REDUCE(__reduce_min_sync, int, reduce_min_signed)
EMU_REDUCE(__reduce_max_sync, unsigned, reduce_max)
EMU_REDUCE(__reduce_max_sync, int, reduce_max_signed)
EMU_REDUCE(__reduce_and_sync, unsigned, reduce_and)
EMU_REDUCE(__reduce_or_sync, unsigned, reduce_or)
EMU_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef EMU_REDUCE
