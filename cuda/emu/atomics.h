// atomics.h -- atomic operations on shared and global memory. They order nothing else, as in
// CUDA; each gives the old value.
#pragma once
#include "emu/simt.h"

// Where races are looked for, or accesses counted, an atomic is to be known by the line that calls it.
#if defined(EMU_RACES) || defined(EMU_TRACE)
#define EMU_OWN_LINE __attribute__((always_inline))
#else
#define EMU_OWN_LINE
#endif

namespace emu
{

// After every atomic: counts a step, may let another thread go first, and under weak memory lets
// all blocks see it at once.
EMU_API_BEGIN
void updated(void *address, size_t size);
uint64_t word_at(const void *p, size_t size); // of a traced atomic: nobody is told of it
void set_word(void *p, uint64_t word, size_t size);
EMU_API_END

// *p = f(*p) in one step. W is the unsigned word as large as T.
template <typename W, typename T, typename F>
EMU_OWN_LINE T
update(T *p, F f)
{
    static_assert(sizeof(W) == sizeof(T), "");
    T before, after;
    W next;
#ifdef EMU_TRACE // one access, which updated() tells of; meanwhile no other thread is at work
    const W old = (W)word_at(p, sizeof *p);
    __builtin_memcpy(&before, &old, sizeof before);
    after = f(before);
    __builtin_memcpy(&next, &after, sizeof next);
    set_word(p, next, sizeof *p);
#else
    W *const at = reinterpret_cast<W *>(p);
    W old = __atomic_load_n(at, __ATOMIC_RELAXED);
    do {
        __builtin_memcpy(&before, &old, sizeof before);
        after = f(before);
        __builtin_memcpy(&next, &after, sizeof next);
    } while (!__atomic_compare_exchange_n(at, &old, next, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
#endif
    updated(p, sizeof *p);
    return before;
}

} // namespace emu

#define EMU_ATOMIC(name, T, W, expression)                                                     \
    static inline EMU_OWN_LINE T name(T *p, T v)                                               \
    {                                                                                          \
        return emu::update<W>(p, [v](T old) -> T { return expression; });                      \
    }
#define EMU_ATOMICS(T, W)                                                                      \
    EMU_ATOMIC(atomicExch, T, W, ((void)old, v))                                               \
    EMU_ATOMIC(atomicMin, T, W, old < v ? old : v)                                             \
    EMU_ATOMIC(atomicMax, T, W, old > v ? old : v)                                             \
    EMU_ATOMIC(atomicAnd, T, W, old &v)                                                        \
    EMU_ATOMIC(atomicOr, T, W, old | v)                                                        \
    EMU_ATOMIC(atomicXor, T, W, old ^ v)                                                       \
    static inline EMU_OWN_LINE T atomicCAS(T *p, T compare, T v)                               \
    {                                                                                          \
        return emu::update<W>(p, [=](T old) -> T { return old == compare ? v : old; });        \
    }

EMU_ATOMICS(int, uint32_t)
EMU_ATOMICS(unsigned, uint32_t)
EMU_ATOMICS(unsigned long long, unsigned long long)
// Sums by the unsigned type: they wrap around.
EMU_ATOMIC(atomicAdd, int, uint32_t, (int)((unsigned)old + (unsigned)v))
EMU_ATOMIC(atomicAdd, unsigned, uint32_t, old + v)
EMU_ATOMIC(atomicAdd, unsigned long long, unsigned long long, old + v)
EMU_ATOMIC(atomicAdd, float, uint32_t, old + v)
EMU_ATOMIC(atomicAdd, double, uint64_t, old + v)
EMU_ATOMIC(atomicSub, int, uint32_t, (int)((unsigned)old - (unsigned)v))
EMU_ATOMIC(atomicSub, unsigned, uint32_t, old - v)
EMU_ATOMIC(atomicExch, float, uint32_t, ((void)old, v))
EMU_ATOMIC(atomicMin, long long, unsigned long long, old < v ? old : v)
EMU_ATOMIC(atomicMax, long long, unsigned long long, old > v ? old : v)
EMU_ATOMIC(atomicInc, unsigned, uint32_t, old >= v ? 0 : old + 1)
EMU_ATOMIC(atomicDec, unsigned, uint32_t, old == 0 || old > v ? v : old - 1)

#undef EMU_ATOMICS
#undef EMU_ATOMIC
