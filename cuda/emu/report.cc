// report.cc -- what went wrong in a kernel, in words.
#include "emu/turns.h"

#include <stdarg.h>
#include <stdio.h>

namespace emu
{

namespace
{

const char *const kCollectives[] = {
    "__syncwarp",        "__ballot_sync",     "__all_sync",        "__any_sync",
    "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",  "__shfl_xor_sync",
    "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_min_sync",
    "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
    "__reduce_or_sync",  "__reduce_xor_sync"};

const gathering *
gathering_with(const warp &w, int lane)
{
    for (int i = 0; i < w.gatherings; i++)
        if (w.begun[i].arrived >> lane & 1) return &w.begun[i];
    return nullptr;
}

// "lanes 0xffff0000 never arrive: they have exited"
phrase
missing(block *b, int w, unsigned lanes)
{
    phrase p;
    unsigned gone = 0;
    const thread *waits = nullptr;
    for (unsigned set = lanes; set; set &= set - 1) {
        const thread *t = &b->of_thread[w * kWarpLanes + first_of(set)];
        if (t->now == state::done)
            gone |= 1u << t->lane;
        else if (waits == nullptr)
            waits = t;
    }
    p.add("lanes 0x%08x never arrive: ", lanes);
    if (gone == lanes) {
        p.add("they have exited");
        return p;
    }
    if (gone) p.add("0x%08x have exited, ", gone);
    p.add("lane %d waits in ", waits->lane);
    const gathering *g = gathering_with(b->of_warp[w], waits->lane);
    if (g)
        p.add("%s with mask 0x%08x", name_of(g->what), g->named);
    else
        p.add("__syncthreads");
    p.add(" at %s:%d", waits->at.file, waits->at.line);
    return p;
}

} // namespace

void
phrase::add(const char *format, ...)
{
    const size_t before = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + before, sizeof text - before, format, args);
    va_end(args);
}

const char *
name_of(collective what)
{
    return kCollectives[(int)what];
}

const char *
name_of(stop where)
{
    static const char *const others[] = {"__syncthreads", "an atomic", "a fence", "a yield"};
    if (where < stop::collective) return others[(int)where];
    return kCollectives[(int)where - (int)stop::collective];
}

void
report_deadlock(block *b)
{
    for (int w = 0; w < b->warps; w++) {
        const warp &in = b->of_warp[w];
        if (in.gatherings == 0) continue;
        const gathering &g = in.begun[0];
        const thread *t = &b->of_thread[w * kWarpLanes + first_of(g.arrived)];
        return report(
            b, "warp %d: deadlock: lanes 0x%08x wait in %s with mask 0x%08x at %s:%d; %s", w,
            g.arrived, name_of(g.what), g.named, t->at.file, t->at.line,
            missing(b, w, g.mask & ~g.arrived).text);
    }
    const thread *one = b->barrier.first; // no collective, and not all are done: they are there
    for (int w = 0;; w++) {
        unsigned absent = b->of_warp[w].present;
        for (unsigned set = absent; set; set &= set - 1) {
            const int i = first_of(set);
            if (b->of_thread[w * kWarpLanes + i].now == state::at_barrier) absent &= ~(1u << i);
        }
        if (absent)
            return report(
                b, "warp %d: deadlock: %d of %d threads wait in __syncthreads at %s:%d; %s", w,
                b->barrier.arrived, b->threads, one->at.file, one->at.line,
                missing(b, w, absent).text);
    }
}

phrase
last_seen(const thread *t)
{
    phrase p;
    p.add("thread (%u, %u, %u) was last at ", t->index.x, t->index.y, t->index.z);
    if (t->at.file)
        p.add("%s:%d", t->at.file, t->at.line);
    else
        p.add("its start");
    return p;
}

void
called_from(block *b, const void *pc)
{
    if (!b->of->failed) b->of->at = place_in(b->of->in, (uintptr_t)pc - 1);
}

void
out_of_steps(thread *t)
{
    report(t->in, "its threads took more than %llu steps (WARPKIT_EMU_STEPS); %s",
           (unsigned long long)t->in->of->set.steps, last_seen(t).text);
    leave(t->in);
}

void
report(block *b, const char *format, ...)
{
    if (b->of->failed.exchange(true)) return; // the first failure is the cause
    char text[460];
    va_list args;
    va_start(args, format);
    int n =
        snprintf(text, sizeof text, "kernel %.120s, block (%u, %u, %u): ", b->of->name.c_str(),
                 b->index.x, b->index.y, b->index.z);
    vsnprintf(text + n, sizeof text - n, format, args);
    va_end(args);
    memcpy(b->of->report, text, sizeof text);
}

void
fail(block *b, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(b, "%s", text);
    leave(b);
}

void
wrong_width(collective what, int width, site at)
{
    const thread *t = me();
    fail(t->in, "warp %d: %s with width %d at %s:%d; a width is 1, 2, 4, 8, 16 or 32", t->warp,
         name_of(what), width, at.file, at.line);
}

} // namespace emu
