// turns.h -- which thread of a block has its turn. Inline: a collective is two hundred
// instructions in all.
#pragma once
#include "emu/runtime.h"

#include <mutex>

// Of a function that Python or users' objects find by its name.
#ifdef EMU_ASAN
#define EMU_EXPORTED
#else
#define EMU_EXPORTED __attribute__((visibility("default")))
#endif

#pragma GCC visibility push(hidden)

namespace emu
{

inline thread *
me()
{
    return static_cast<thread *>(const_cast<place *>(self()));
}

inline int
first_of(unsigned lanes)
{
    return __builtin_ctz(lanes);
}

inline uint64_t
draw(block *b)
{ // splitmix64 (S. Vigna, public domain)
    uint64_t z = b->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

inline int
choose_at_random(block *b, unsigned set)
{
    for (int skip = (int)(draw(b) % (unsigned)__builtin_popcount(set)); skip > 0; skip--)
        set &= set - 1;
    return first_of(set);
}

inline int
choose(block *b, unsigned set)
{
    if (b->order == schedule::random) return choose_at_random(b, set);
    if (b->order == schedule::reverse) return 31 - __builtin_clz(set);
    return first_of(set);
}

inline void
make_ready(block *b, int w, unsigned lanes)
{
    b->of_warp[w].ready |= lanes;
    if (b->of_warp[w].ready) b->ready_warps |= 1u << w;
}

inline void
not_ready(block *b, thread *t)
{
    warp &w = b->of_warp[t->warp];
    w.ready &= ~(1u << t->lane);
    if (w.ready == 0) b->ready_warps &= ~(1u << t->warp);
}

// Those that yielded have let everybody else go first.
inline void
after_yields(block *b)
{
    for (unsigned set = b->later_warps; set; set &= set - 1) {
        const int w = first_of(set);
        make_ready(b, w, b->of_warp[w].later);
        b->of_warp[w].later = 0;
    }
    b->later_warps = 0;
}

inline thread *
choose_thread(block *b)
{
    const int w = choose(b, b->ready_warps);
    return &b->of_thread[w * kWarpLanes + choose(b, b->of_warp[w].ready)];
}

thread *next_of_script(block *b, thread *from); // schedule.cc

// from: whose turn ends; null: the block begins.
inline thread *
next(block *b, thread *from)
{
    if (b->ready_warps == 0) after_yields(b);
    if (b->ready_warps == 0) return nullptr;
    return b->scripted ? next_of_script(b, from) : choose_thread(b);
}

// Lets the next thread run; returns when it is this one's turn again.
void pass(thread *t);

// Home looks whether the launch is to stop: signals' handlers need its stack. If not, it returns.
void ask_home(block *b, thread *t);

// Back to where the block was started; the threads stay where they are, for good.
[[noreturn]] void leave(block *b);

void called_from(block *b, const void *pc); // where it is that a report is about to be of
[[noreturn]] void out_of_steps(thread *t);
void report_deadlock(block *b);

// Of a kernel's thread, which no signal's handler leaves while it has the lock.
class kernel_lock
{
  public:
    explicit kernel_lock(std::mutex &m) : own((running->holds = true, m)) {}
    ~kernel_lock()
    {
        own.unlock();
        running->holds = false;
    }
    kernel_lock(const kernel_lock &) = delete;

  private:
    std::unique_lock<std::mutex> own;
};

// A part of a report, made where no exception may be thrown: on a kernel's stack, or in the handler
// of a signal.
struct phrase {
    char text[280] = "";
    void add(const char *format, ...) __attribute__((format(printf, 2, 3)));
};
phrase last_seen(const thread *t); // "thread (3, 0, 0) was last at x.cu:12"
const char *name_of(collective what);
const char *name_of(stop where);

} // namespace emu

#pragma GCC visibility pop
