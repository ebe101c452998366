// sync.cc -- where threads wait for each other: barriers, the warp's collectives; and where they
// may have to let others go first: fences, atomics.
#include "emu/atomics.h"
#include "emu/races.h"
#include "emu/schedule.h"
#include "emu/trace.h"
#include "emu/turns.h"

namespace emu
{

namespace
{

constexpr int kInARow =
    256; // atomics and fences: then another thread has a turn, which may hold
         // the lock that they wait for

} // namespace

// ---- barriers -----------------------------------------------------------------------------

namespace
{

void
open_barrier(block *b)
{
    if (b->watching) b->watching->at_barrier();
    b->outcome = b->barrier;
    b->barrier = {};
    for (int t = 0; t < b->threads; t++) b->of_thread[t].now = state::started;
    for (int w = 0; w < b->warps; w++) make_ready(b, w, b->of_warp[w].present);
}

// The votes of a barrier, of all its threads.
const barrier_state &
wait_at_barrier(int predicate, site at)
{
    thread *t = me();
    block *b = t->in;
    barrier_state &here = b->barrier;
    if (here.arrived == 0) {
        here.first = t;
    } else if (const thread *o = here.first;
               o->at.line != at.line ||
               (o->at.file != at.file && strcmp(o->at.file, at.file) != 0)) {
        fail(b,
             "warp %d, lane %d: divergent barrier: it comes to __syncthreads at %s:%d while "
             "warp %d, lane %d waits in the one at %s:%d",
             t->warp, t->lane, at.file, at.line, o->warp, o->lane, o->at.file, o->at.line);
    }
    t->at = at;
    if (b->tracing) b->tracing->mark(t, kTraceBarrier, b->of_warp[t->warp].present, at);
    t->now = state::at_barrier;
    t->last = stop::barrier;
    here.yes += predicate != 0;
    not_ready(b, t);
    trace_wait(b, t);
    if (++here.arrived == b->threads) open_barrier(b);
    pass(t);
    return b->outcome; // until all have come to the next
}

} // namespace

void
barrier(site at)
{
    wait_at_barrier(0, at);
}

int
barrier(vote how, int predicate, site at)
{
    const barrier_state &of_all = wait_at_barrier(predicate, at);
    switch (how) {
    case vote::count: return of_all.yes;
    case vote::all: return of_all.yes == of_all.arrived;
    default: return of_all.yes > 0;
    }
}

// ---- a grid's barrier ---------------------------------------------------------------------

void
assembly::begin()
{
    std::unique_lock hold(lock);
    changed.wait(hold, [this] { return may_work > 0; });
    may_work--;
}

void
assembly::end()
{
    std::lock_guard hold(lock);
    gone++;
    may_work++;
    changed.notify_all();
}

uint64_t
assembly::ended()
{
    std::lock_guard hold(lock);
    return gone;
}

bool
assembly::meet(const std::atomic<bool> &failed)
{
    std::unique_lock hold(lock);
    const uint64_t own = meeting;
    if (++here == all) {
        here = 0;
        meeting++;
        when = next_moment();
        changed.notify_all();
        return true;
    }
    may_work++;
    changed.notify_all();
    bool stuck = false;
    const auto done = [&] {
        stuck = meeting == own && (failed || here + gone == all);
        return stuck || (meeting != own && may_work > 0);
    };
    while (!changed.wait_for(hold, kLook, done)) continue;
    may_work--; // more than may, when stuck: for as long as it takes to tell
    return !stuck;
}

bool
in_grid()
{
    return me()->in->of->together != nullptr;
}

// All of a block wait while one of them waits for the other blocks.
void
grid_barrier(site at)
{
    thread *t = me();
    block *b = t->in;
    grid *g = b->of;
    if (g->together == nullptr)
        fail(b, "warp %d, lane %d: grid.sync() at %s:%d, and the launch is not cooperative",
             t->warp, t->lane, at.file, at.line);
    wait_at_barrier(0, at);
    if (t == b->of_thread) {
        if (g->weak) g->weak->publish();
        if (!g->together->meet(g->failed)) {
            if (g->failed) leave(b);
            fail(b,
                 "deadlock: it waits in grid.sync() at %s:%d for %llu blocks that have ended",
                 at.file, at.line, (unsigned long long)g->together->ended());
        }
        if (b->watching) b->watching->at_meeting(g->together->met());
    }
    wait_at_barrier(0, at);
}

// ---- collectives --------------------------------------------------------------------------

namespace
{

// Every lane reads the value of its source, which must take part.
void
exchange(block *b, warp &w, const gathering &g)
{
    if (g.mask == 0xffffffffu) { // the common case: every source takes part
        for (int i = 0; i < kWarpLanes; i++) w.result[i] = w.value[w.source[i]];
        return;
    }
    for (unsigned set = g.mask; set; set &= set - 1) {
        const int i = first_of(set), from = w.source[i];
        if (!(g.mask >> from & 1)) {
            const thread *t = &b->of_thread[me()->warp * kWarpLanes + i];
            fail(b,
                 "warp %d: lane %d reads lane %d, which takes no part in its %s with mask "
                 "0x%08x at %s:%d",
                 t->warp, i, from, name_of(g.what), g.named, t->at.file, t->at.line);
        }
        w.result[i] = w.value[from];
    }
}

void
match_each(warp &w, unsigned mask)
{
    for (unsigned set = mask; set; set &= set - 1) {
        const int i = first_of(set);
        unsigned equal = 0;
        for (unsigned rest = mask; rest; rest &= rest - 1)
            if (w.value[first_of(rest)] == w.value[i]) equal |= rest & -rest;
        w.result[i] = equal;
    }
}

// One result for all.
uint64_t
fold(const warp &w, const gathering &g)
{
    const uint64_t first = w.value[first_of(g.mask)];
    uint32_t r = g.what == collective::ballot ? 0 : (uint32_t)first;
    bool equal = true;
    for (unsigned set = g.mask; set; set &= set - 1) {
        const int i = first_of(set);
        const auto v = (uint32_t)w.value[i];
        equal = equal && w.value[i] == first;
        if (g.what == collective::ballot) r |= v << i;
        if (set == g.mask) continue; // r holds it already
        switch (g.what) {
        case collective::all:
        case collective::reduce_and: r &= v; break;
        case collective::any:
        case collective::reduce_or: r |= v; break;
        case collective::reduce_xor: r ^= v; break;
        case collective::reduce_add: r += v; break;
        case collective::reduce_min: r = v < r ? v : r; break;
        case collective::reduce_max: r = v > r ? v : r; break;
        case collective::reduce_min_signed: r = (int32_t)v < (int32_t)r ? v : r; break;
        case collective::reduce_max_signed: r = (int32_t)v > (int32_t)r ? v : r; break;
        default: break;
        }
    }
    if (g.what == collective::match_all) return equal ? g.mask : 0;
    return r;
}

void
complete(block *b, warp &w, const gathering &g)
{
    switch (g.what) {
    case collective::syncwarp: return;
    case collective::shfl:
    case collective::shfl_up:
    case collective::shfl_down:
    case collective::shfl_xor: exchange(b, w, g); return;
    case collective::match_any: match_each(w, g.mask); return;
    default: break;
    }
    const uint64_t result = fold(w, g);
    for (unsigned set = g.mask; set; set &= set - 1) w.result[first_of(set)] = result;
}

// A short warp's other lanes are not waited for.
gathering &
gathering_of(warp &w, collective what, unsigned named)
{
    const unsigned mask = named & w.present;
    for (int i = 0; i < w.gatherings; i++)
        if (w.begun[i].mask == mask && w.begun[i].what == what) return w.begun[i];
    w.begun[w.gatherings] = {what, named, mask, 0};
    return w.begun[w.gatherings++];
}

} // namespace

uint64_t
gather(const place *who, collective what, unsigned mask, uint64_t value, int source, site at)
{
    auto *t = static_cast<thread *>(const_cast<place *>(who));
    block *b = t->in;
    warp &w = b->of_warp[t->warp];
    const unsigned bit = 1u << t->lane;
    t->at = at;
    t->last = (stop)((int)stop::collective + (int)what);
    if (!(mask & bit))
        fail(b, "warp %d: lane %d is not in the mask 0x%08x of its own %s at %s:%d", t->warp,
             t->lane, mask, name_of(what), at.file, at.line);
    if (b->tracing) b->tracing->mark(t, (int)what, mask & w.present, at);
    w.value[t->lane] = value;
    w.source[t->lane] = source;
    gathering &g = gathering_of(w, what, mask);
    g.arrived |= bit;
    not_ready(b, t);
    if (g.arrived == g.mask) {
        if (b->watching && what == collective::syncwarp)
            b->watching->at_syncwarp(t->warp, g.mask);
        complete(b, w, g);
        make_ready(b, t->warp, g.mask);
        g = w.begun[--w.gatherings];
    }
    pass(t);
    return w.result[t->lane];
}

// ---- fences, yields, atomics --------------------------------------------------------------

void
yield()
{
    thread *t = me();
    block *b = t->in;
    b->in_a_row = 0;
    t->last = stop::yield;
    t->pc = (uintptr_t)__builtin_return_address(0);
    not_ready(b, t);
    b->of_warp[t->warp].later |= 1u << t->lane;
    b->later_warps |= 1u << t->warp;
    pass(t);
}

unsigned
active_lanes(site at)
{
    thread *t = me();
    block *b = t->in;
    t->at = at;
    t->counting = true;
    yield();
    if (!t->counting) return t->active; // another lane has counted
    unsigned active = 0;
    thread *const first = &b->of_thread[t->warp * kWarpLanes];
    const auto is_here = [&](const thread &o) {
        return o.counting && o.at.line == at.line && strcmp(o.at.file, at.file) == 0;
    };
    for (int i = 0; i < kWarpLanes; i++)
        if ((b->of_warp[t->warp].present >> i & 1) && is_here(first[i])) active |= 1u << i;
    for (unsigned set = active; set; set &= set - 1) {
        first[first_of(set)].counting = false;
        first[first_of(set)].active = active;
    }
    return active;
}

namespace
{

// After an atomic or a fence: a loop of them may wait for another thread.
void
let_others(thread *t, stop what, const void *pc)
{
    block *b = t->in;
    if (++b->turns >= b->last_turn) { // not in pass(), which has no pc
        called_from(b, pc);
        out_of_steps(t);
    }
    if (b->scripted ? is_interrupted(b, t, what, (uintptr_t)pc)
                    : b->order == schedule::random && draw(b) % 8 == 0)
        pass(t);
    else if (++b->in_a_row >= kInARow)
        yield();
}

} // namespace

void
fence(scope reach)
{
    thread *t = me();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    block *b = t->in;
    if (b->of->weak && reach != scope::block) b->of->weak->publish();
    if (b->watching) b->watching->at_fence((int)(t - b->of_thread), reach);
    let_others(t, stop::fence, __builtin_return_address(0));
}

uint64_t
word_at(const void *p, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, p, size);
    return word;
}

void
set_word(void *p, uint64_t word, size_t size)
{
    memcpy(p, &word, size);
}

void
updated(void *address, size_t size)
{
    thread *t = me();
    if (t->in->of->weak) t->in->of->weak->update(address, size);
    if (t->log)
        trace_event(t, trace_kind::atomic, (uintptr_t)address, size,
                    (uintptr_t)__builtin_return_address(0),
                    (uintptr_t)__builtin_frame_address(0));
    let_others(t, stop::atomic, __builtin_return_address(0));
}

} // namespace emu
