// race_touch.h -- the quick part of an access: whose it is, to which memory, and whether its thread
// has just done the same.
#pragma once
#include "emu/races.h"
#include "emu/trace.h"
#include "emu/turns.h"

#pragma GCC visibility push(hidden)

namespace emu
{

struct visit { // of a thread to memory
    watcher *w;
    int n; // its number in the block
    access own;
    access_kind kind;
    uintptr_t address;
    size_t size;
    uintptr_t pc;
    int space;
    bool shared() const
    {
        return space == watcher::fixed || space == watcher::dynamic;
    }
};

// The rest: what it races with ends the launch; else it is noted.
void visit_all(const visit &v);

// An address that is no multiple of what its type needs ends the launch too.
void misaligned(const void *p, size_t alignment, const char *type, const char *file,
                unsigned line);

// Code knows that it is a kernel's by its stack: that takes no thread-local variable.
inline thread *
thread_here()
{
    const auto here = (uintptr_t)__builtin_frame_address(0);
    const int n = stack_count.load(std::memory_order_relaxed);
    for (int i = 0; i < n; i++)
        if (here - watched_stacks[i] < kStack * kMostThreads) return me();
    return nullptr;
}

// Was just that done before, at this moment?
inline bool
is_repeated(const cell &c, access own, access_kind kind)
{
    const access k = own >> kSiteBits;
    const access w = __atomic_load_n(&c.write, __ATOMIC_RELAXED);
    const access o = __atomic_load_n(&c.other[0], __ATOMIC_RELAXED);
    switch (kind) {
    case access_kind::read: return o >> kSiteBits == k || w >> kSiteBits == k;
    case access_kind::write: return w >> kSiteBits == k && o == 0;
    default: return o >> kSiteBits == k;
    }
}

// Do the last two that did the same with a word stand for this thread too? So they do if they are of
// this block and nothing has ordered them since: whoever comes is ordered after both only by what
// orders it after all, if they are of two warps; or of the thread's own.
inline bool
adds_nothing(const watcher &w, const cell &c, int n, access_kind kind, bool shared)
{
    if (kind == access_kind::write) return false;
    const bool atomic = kind == access_kind::atomic;
    const access a = c.other[0], b = c.other[1], third = c.other[2];
    const moment of_a = moment_of(a), of_b = moment_of(b), of_write = moment_of(c.write);
    if (of_a < w.base || of_b < w.base || is_atomic(a) != atomic || is_atomic(b) != atomic ||
        (third != 0 && is_atomic(third) != atomic))
        return false;
    const moment chunk = w.last >> kChunkBits;
    if (!shared && !w.alone && (of_a >> kChunkBits != chunk || of_b >> kChunkBits != chunk))
        return false;
    const int warp = n / kWarpLanes, one = thread_of(a) / kWarpLanes;
    if (one == thread_of(b) / kWarpLanes &&
        (one != warp || of_a < w.warp_base[warp] || of_b < w.warp_base[warp]))
        return false;
    return of_write < (shared ? w.base : w.settled) ||
           (of_write < w.base && w.is_own(of_write));
}

// In a block that is watched for races. Not inlined, as what counts accesses would have to keep registers
// for it.
template <access_kind kind, size_t size>
__attribute__((noinline)) void
watch(thread *t, uintptr_t address, uintptr_t pc)
{
    watcher *w = t->in->watching;
    int s = 0;
    while (!w->space[s]->has(address))
        if (++s == watcher::spaces) return; // a stack, or the host's memory
    const int n = (int)(t - t->in->of_thread);
    const access own = access_of(w->now(n), kind == access_kind::atomic, n);
    const shadow &m = *w->space[s];
    const size_t at = address - m.begin;
    if (size == 4 && at % 4 == 0) {
        const cell &c = m.words[at / 4];
        if (is_repeated(c, own, kind) ||
            adds_nothing(*w, c, n, kind, s == watcher::fixed || s == watcher::dynamic))
            return;
    } else if (size == 8 && at % 4 == 0) {
        if (is_repeated(m.words[at / 4], own, kind) &&
            is_repeated(m.words[at / 4 + 1], own, kind))
            return;
    } else if (size == 1) {
        if (is_repeated(m.bytes[at], own, kind)) return;
    }
    visit_all({w, n, own, kind, address, size, pc, s});
}

template <access_kind kind, size_t size>
inline __attribute__((always_inline)) void
touch(uintptr_t address, uintptr_t pc)
{
    thread *t = thread_here();
    if (t == nullptr) return; // the host's
    if (t->log)
        trace_event(t, (trace_kind)kind, address, size, pc,
                    (uintptr_t)__builtin_frame_address(0));
    else if (t->in->watching)
        watch<kind, size>(t, address, pc);
}

} // namespace emu

#pragma GCC visibility pop
