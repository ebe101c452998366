// schedule.cc -- where the order of threads and blocks departs from the linear one: noted while another
// order holds, and followed again from a list, all of it or a part.
//
// A switch is named by what one thread has done, so that it is the same one when others are left out:
// when thread T of a block comes to its P-th point, X goes on instead of whoever would; or where the
// block begins, and where its barriers open. A point is a barrier, a collective, an atomic, a fence, an
// end. Who would: after an atomic or a fence T itself, else the lowest thread that can run; after a
// switch to another warp, of that one as long as it can.
#include "emu/schedule.h"
#include "emu/races.h"
#include "emu/turns.h"

#include <map>
#include <new>
#include <stdio.h>
#include <tuple>

namespace emu
{

namespace
{

constexpr size_t kMostSwitches = 1 << 20;

enum class mode { off, record, replay };

struct where { // a thread stands
    const char *what = nullptr, *file = nullptr;
    int line = 0;
    uintptr_t pc = 0;
};

struct turn { // a switch that was made
    wk_switch of;
    std::string kernel;
    dim3 block;
    int warp = 0, lane = 0;
    uint3 thread{}, usual_thread{};
    where from, until, usual;
};

using key = std::tuple<int64_t, int64_t, int64_t, int64_t>; // launch, block, thread, point

std::mutex lock; // of all that follows
mode now = mode::off;
bool asked = false; // by warpkit_schedule, not the environment
lasting<std::map<key, int64_t>> all_wanted;
auto &wanted = all_wanted.value;
lasting<std::vector<turn>> all_made;
auto &made = all_made.value;
bool lost = false;    // for want of memory: some were made that are not there
int64_t launches = 0; // since the settings were read
unsigned reads = 0;
lasting<std::string> all_told;

key
key_of(const wk_switch &s)
{
    return {s.launch, s.block, s.thread, s.point};
}

bool
is_ready(const block *b, const thread *t)
{
    return b->of_warp[t->warp].ready >> t->lane & 1;
}

thread *
usual(block *b)
{
    if (b->favoured >= 0 && !(b->ready_warps >> b->favoured & 1)) b->favoured = -1;
    const int w = b->favoured >= 0 ? b->favoured : first_of(b->ready_warps);
    return &b->of_thread[w * kWarpLanes + first_of(b->of_warp[w].ready)];
}

where
where_is(const thread *t)
{
    if (t->now == state::fresh) return {"its start", nullptr, 0, 0};
    if (t->now == state::done) return {"its end", nullptr, 0, 0};
    const char *what = name_of(t->last);
    if (t->last == stop::atomic || t->last == stop::fence || t->last == stop::yield)
        return {what, nullptr, 0, t->pc};
    return {what, t->at.file, t->at.line, 0};
}

void
note(const turn &t)
{
    try {
        if (made.size() < kMostSwitches) return made.push_back(t);
    } catch (const std::bad_alloc &) { // on a kernel's stack
    }
    lost = true;
}

// A switch of threads. from: null at the block's start.
void
note_threads(block *b, const wk_switch &of, const thread *instead_of, const thread *to)
{
    turn t;
    t.of = of;
    if (now == mode::replay) {
        t.kernel = b->of->name;
        t.block = b->index;
        t.warp = to->warp;
        t.lane = to->lane;
        t.thread = to->index;
        t.from = where_is(to);
        t.usual_thread = instead_of->index;
        t.usual = where_is(instead_of);
        b->told = (int64_t)made.size();
        b->told_of = to;
    }
    note(t);
    b->favoured = to->warp;
}

// The thread whose turn a switch began has come to its next point.
void
end_turn(block *b, const thread *from)
{
    if (b->told < 0 || b->told_of != from) return;
    if ((size_t)b->told < made.size()) made[(size_t)b->told].until = where_is(from);
    b->told = -1;
}

wk_switch
at_point(block *b, thread *from)
{
    const dim3 i = b->index, n = b->of->blocks;
    const int64_t number = i.x + (int64_t)n.x * (i.y + (int64_t)n.y * i.z);
    if (from == nullptr || (from->last == stop::barrier && from->now == state::started))
        return {b->of->launch, number, -1, b->opened++, 0}; // whoever came last
    return {b->of->launch, number, from - b->of_thread, from->points++, 0};
}

// Whom the list wants here; null: it wants nobody who can run.
thread *
wanted_at(block *b, const wk_switch &here)
{
    const auto found = wanted.find(key_of(here));
    if (found == wanted.end() || found->second < 0 || found->second >= b->threads)
        return nullptr;
    thread *t = &b->of_thread[found->second];
    return is_ready(b, t) ? t : nullptr;
}

std::string
in_words(const where &w, const std::map<uintptr_t, std::string> &lines)
{
    std::string text = w.what ? w.what : "where it failed";
    if (w.file) return text + " " + w.file + ":" + std::to_string(w.line);
    const auto found = lines.find(w.pc);
    if (found != lines.end() && !found->second.empty()) text += " " + found->second;
    return text;
}

std::string
in_words(uint3 i)
{
    char text[64];
    snprintf(text, sizeof text, "(%u, %u, %u)", i.x, i.y, i.z);
    return text;
}

} // namespace

// ---- whose turn is next -------------------------------------------------------------------------

void
begin_script(grid *g)
{
    std::lock_guard hold(lock);
    const wk_settings *s = wk_settings_now();
    if (reads != s->reads) { // counted anew
        reads = s->reads;
        launches = 0;
        made.clear();
        if (!asked) wanted.clear();
        const wk_setting &given = s->of[WK_SET_EMU_SCHEDULE];
        if (!asked) now = given.given && given.value == 3 ? mode::replay : mode::off;
        const char *text = given.text;
        wk_switch one;
        while (!asked && now == mode::replay && wk_next_switch(&text, &one))
            wanted[{one.launch, one.block, one.thread, one.point}] = one.to;
    }
    g->launch = launches++;
    g->scripted = now != mode::off;
}

thread *
next_of_script(block *b, thread *from)
{
    std::lock_guard hold(lock);
    if (thread *t = b->forced) {
        b->forced = nullptr;
        return t;
    }
    const wk_switch here = at_point(b, from);
    if (from) end_turn(b, from);
    thread *const as_usual = usual(b);
    thread *to = now == mode::replay ? wanted_at(b, here) : choose_thread(b);
    if (to == nullptr || to == as_usual) return as_usual;
    wk_switch s = here;
    s.to = to - b->of_thread;
    note_threads(b, s, as_usual, to);
    return to;
}

bool
is_interrupted(block *b, thread *t, stop what, uintptr_t pc)
{
    std::lock_guard hold(lock);
    t->last = what;
    t->pc = pc;
    wk_switch here = at_point(b, t);
    end_turn(b, t);
    thread *to = nullptr;
    if (now == mode::replay)
        to = wanted_at(b, here);
    else if (b->order == schedule::random && draw(b) % 8 == 0)
        to = choose_thread(b);
    if (to == nullptr || to == t) return false;
    here.to = to - b->of_thread;
    note_threads(b, here, t, to);
    b->forced = to;
    return true;
}

uint64_t
block_script::next(const grid &g, uint64_t place, uint64_t chosen, uint64_t count)
{
    std::lock_guard hold(lock);
    while (early.erase(lowest)) lowest++;
    uint64_t to = chosen;
    const key here = {g.launch, -1, -1, (int64_t)place};
    if (now == mode::replay) {
        const auto found = wanted.find(here);
        to = found == wanted.end() ? lowest : (uint64_t)found->second;
        if (to >= count || to < lowest || early.count(to)) to = lowest;
    }
    if (to == lowest) return lowest++;
    turn t;
    t.of = {g.launch, -1, -1, (int64_t)place, (int64_t)to};
    t.kernel = g.name;
    t.block = dim3((unsigned)(to % g.blocks.x), (unsigned)(to / g.blocks.x % g.blocks.y),
                   (unsigned)(to / g.blocks.x / g.blocks.y));
    t.usual_thread = {(unsigned)(lowest % g.blocks.x),
                      (unsigned)(lowest / g.blocks.x % g.blocks.y),
                      (unsigned)(lowest / g.blocks.x / g.blocks.y)};
    note(t);
    early.insert(to);
    return to;
}

bool
order_is_kept()
{
    std::lock_guard hold(lock);
    return asked;
}

bool
order_is_given()
{
    std::lock_guard hold(lock);
    return asked && now == mode::replay;
}

} // namespace emu

// ---- what Python calls --------------------------------------------------------------------------

// From the settings' next reading on: switches are noted (list is null), or these are made; count -1:
// neither.
extern "C" EMU_EXPORTED int
warpkit_schedule(const wk_switch *list, int64_t count)
{
    std::lock_guard hold(emu::lock);
    try {
        emu::wanted.clear();
        emu::made.clear();
        emu::lost = false;
        emu::reads = 0;
        emu::asked = count >= 0;
        emu::now = count < 0 ? emu::mode::off : list ? emu::mode::replay : emu::mode::record;
        for (int64_t i = 0; list && i < count; i++)
            emu::wanted[emu::key_of(list[i])] = list[i].to;
        return cudaSuccess;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

// Those that were made since: the first `room` of them; how many there are, or -1: too many.
extern "C" EMU_EXPORTED int64_t
warpkit_switches(wk_switch *list, int64_t room)
{
    std::lock_guard hold(emu::lock);
    const auto count = (int64_t)emu::made.size();
    if (emu::lost) return -1;
    for (int64_t i = 0; i < room && i < count; i++) list[i] = emu::made[(size_t)i].of;
    return count;
}

// The same in words, after a replay: a line for each, of cells between tabs. Until the next call.
extern "C" EMU_EXPORTED const char *
warpkit_switches_told()
{
    std::lock_guard hold(emu::lock);
    std::string &text = emu::all_told.value;
    text.clear();
    try {
        std::vector<uintptr_t> places;
        for (const emu::turn &t : emu::made)
            for (const emu::where &w : {t.from, t.until, t.usual})
                if (w.pc) places.push_back(w.pc);
        const auto lines = emu::lines_of(places);
        for (const emu::turn &t : emu::made) {
            text += t.kernel + "\t" + emu::in_words(uint3{t.block.x, t.block.y, t.block.z});
            if (t.of.block < 0) {
                text += "\t\t\t\tits start\t\tblock " + emu::in_words(t.usual_thread) + "\n";
                continue;
            }
            text += "\t" + std::to_string(t.warp) + "\t" + std::to_string(t.lane) + "\t";
            text += emu::in_words(t.thread) + "\t" + in_words(t.from, lines) + "\t";
            text += in_words(t.until, lines) + "\tthread " + emu::in_words(t.usual_thread);
            text += ", " + in_words(t.usual, lines) + "\n";
        }
    } catch (const std::bad_alloc &) {
        return "";
    }
    return text.c_str();
}
