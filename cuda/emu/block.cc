// block.cc -- one block: its threads, each on a stack of its own, take turns from start to end.
#include "emu/races.h"
#include "emu/trace.h"
#include "emu/turns.h"

#include <new>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

namespace emu
{

__thread block *running;

namespace
{

constexpr uint64_t kLook = 128; // turns, or threads of no turns: some microseconds and more

void
turn_to(block *b, thread *t)
{
    b->now = t;
    *b->index_there = t->index; // a thread-local variable, by its address
}

void
take_stack(thread *t, char *stack)
{
    t->own.stack = stack;
    t->own.size = kStack;
    *reinterpret_cast<const place **>(stack + kGuard) = t;
}

void thread_main();

// The thread's first turn.
void
begin(block *b, thread *t)
{
    take_stack(t, b->idle.back());
    b->idle.pop_back();
    // Tops that lie 64 KiB apart share a cache set; 64 bytes more for each spread them.
    prepare(t->own, thread_main, 64 * (size_t)(t - b->of_thread) % 4096);
    t->now = state::started;
}

[[noreturn]] void
stuck(block *b)
{
    report_deadlock(b);
    leave(b);
}

void
look(block *b, thread *t)
{
    if (b->turns % kLook == 0) ask_home(b, t);
}

// A fiber's whole life: one thread after another, for as long as the next is a fresh one.
void
thread_main()
{
    block *b = running;
    arrived(b->home);
    for (;;) {
        b->of->work->call(b->of->work->arguments);
        thread *t = b->now;
        look(b, t);
        t->now = state::done;
        b->live--;
        b->in_a_row = 0;
        b->turns++;
        not_ready(b, t);
        trace_wait(b, t);
        thread *to = next(b, t);
        if (to == nullptr && b->live > 0) stuck(b);
        if (to && to->now == state::fresh) {
            take_stack(to, t->own.stack);
            to->now = state::started;
            turn_to(b, to);
            continue;
        }
        b->idle.push_back(t->own.stack); // nobody takes it before the switch
        b->now = nullptr;
        if (to) turn_to(b, to);
        switch_fiber(t->own, to ? to->own : b->home, true);
    }
}

// Is the launch to stop?
bool
looks_home(block *b)
{
    const sigset_t *const mask = std::exchange(b->interrupted, nullptr);
    if (mask) signals_at_home(mask);
    if (asked_to_stop()) report(b, "stopped by a signal");
    const bool stops = b->of->failed; // here, or in another block
    if (mask && !stops) signals_apart(b);
    return stops;
}

} // namespace

void
ask_home(block *b, thread *t)
{
    b->asks = t;
    b->now = nullptr;
    switch_fiber(t->own, b->home, false);
    turn_to(b, t);
}

void
pass(thread *t)
{
    block *b = t->in;
    if (++b->turns > b->last_turn) out_of_steps(t);
    look(b, t);
    thread *to = next(b, t);
    if (to == nullptr) stuck(b);
    if (to == t) return;
    b->in_a_row = 0;
    if (to->now == state::fresh) begin(b, to);
    turn_to(b, to);
    switch_fiber(t->own, to->own, false);
}

void
leave(block *b)
{
    thread *t = b->now;
    b->now = nullptr;
    switch_fiber(t->own, b->home, true);
    abort(); // nobody comes back here
}

void *
dynamic_shared()
{
    return &running->dynamic[0];
}

block::block()
{
    mapped = mmap(nullptr, kStack * (kMostThreads + 1), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    const uintptr_t aligned = ((uintptr_t)mapped + kStack - 1) & ~(kStack - 1);
    stacks = reinterpret_cast<char *>(aligned);
    idle.reserve(kMostThreads);
    seal(&dynamic[0], kSealShared);
}

block::~block()
{
    munmap(mapped, kStack * (kMostThreads + 1));
    unseal(&dynamic[dynamic_size], kSealShared);
}

// Of as many stacks as there are threads: each guard is two mappings of the process's 65530.
void
block::guard_stacks()
{
    if (sysconf(_SC_PAGESIZE) > (long)kGuard) return; // such a page would be more than the end
    for (; guarded < threads; guarded++)
        if (mprotect(stacks + guarded * kStack, kGuard, PROT_NONE) != 0) throw std::bad_alloc();
}

void
block::refill_dynamic(size_t size)
{
    unseal(&dynamic[dynamic_size], kSealShared);
    fill_with_junk(&dynamic[0], size);
    seal(&dynamic[size], kSealShared);
    dynamic_size = size;
}

size_t
block::past_dynamic() const
{
    return broken_bytes(&dynamic[dynamic_size], kSealShared);
}

// All of a block's threads, before any has run.
void
block::line_up()
{
    const dim3 shape = of->threads;
    threads = live = (int)(shape.x * shape.y * shape.z);
    warps = (threads + kWarpLanes - 1) / kWarpLanes;
    ready_warps = later_warps = 0;
    int number = 0;
    for (unsigned z = 0; z < shape.z; z++)
        for (unsigned y = 0; y < shape.y; y++)
            for (unsigned x = 0; x < shape.x; x++, number++) {
                thread &t = of_thread[number];
                t.lane = number % kWarpLanes;
                t.warp = number / kWarpLanes;
                t.index = {x, y, z};
                t.in = this;
                t.now = state::fresh;
                t.at = {};
                t.counting = false;
                t.points = 0;
                t.log = nullptr;
            }
    for (int w = 0; w < warps; w++) {
        const int left = threads - w * kWarpLanes;
        of_warp[w].present = left >= kWarpLanes ? 0xffffffffu : (1u << left) - 1;
        of_warp[w].ready = of_warp[w].later = 0;
        of_warp[w].gatherings = 0;
        make_ready(this, w, of_warp[w].present);
    }
}

void
block::run(grid *g, dim3 at)
{
    of = g;
    index = at;
    order = g->set.order;
    last_turn = turns + g->set.steps;
    in_a_row = 0;
    scripted = g->scripted;
    favoured = -1;
    told = -1;
    opened = 0;
    forced = nullptr;
    barrier = {};
    line_up();
    guard_stacks();
    idle.clear();
    for (int i = threads - 1; i >= 0; i--) idle.push_back(stacks + i * kStack);

    watching = g->watched ? watcher_of(this) : nullptr;
    if (watching) watching->begin(*g);
    tracing = g->traced && !watching ? tracer_of(this) : nullptr;
    running = this;
    blockIdx = {at.x, at.y, at.z};
    blockDim = g->threads;
    gridDim = g->blocks;
    index_there = &threadIdx;
    home.stack = nullptr; // another thread of the operating system may have run the last block
    thread *first = next(this, nullptr);
    begin(this, first);
    turn_to(this, first);
    switch_fiber(home, first->own, false);
    while (thread *t = asks) {
        asks = nullptr;
        if (looks_home(this)) break;
        switch_fiber(home, t->own, false);
    }
    running = nullptr;
    now = nullptr;
    if (tracing) end_block(tracing);
    if (g->failed) // the frames of threads that were left where they are
        __asan_unpoison_memory_region(stacks, kStack * kMostThreads);
}

} // namespace emu
