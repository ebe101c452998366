// trace.cc -- the events of a block's lanes, and when they are brought together: a warp's when none of
// its lanes can go on, or a lane's log is full.
#include "emu/races.h"
#include "emu/trace.h"
#include "emu/turns.h"

#include <algorithm>
#include <new>
#include <stdlib.h>
#include <sys/mman.h>

namespace emu
{

namespace
{

std::mutex lock; // of what follows
lasting<std::map<const object_file *, traced_file>> all_files;
auto &files = all_files.value;
std::atomic<bool> any_traced{false}, active{false};
trace_request request;
lasting<std::string> all_texts;
auto &texts = all_texts.value; // of all launches since begin
lasting<collector> the_collector;
auto &counts = the_collector.value; // of the launch: one at a time

constexpr trace_request kOfPrograms = {300000000, 1 << 20, 1 << 14, 128 << 10, 50 << 20};

// A program's traces go to this file, launch by launch.
const char *
program_file()
{
    static const char *const name = getenv("WARPKIT_EMU_TRACE");
    return name && *name ? name : nullptr;
}

} // namespace

// ---- launches -----------------------------------------------------------------------------------

void
trace(const void *code, const kernel_entry *const *kernels, bool program)
{
    std::lock_guard alone(device_in_use());
    const object_file *in = file_of(code);
    const file_facts facts = facts_of_file(in);
    std::lock_guard hold(lock);
    files[in] = {
        kernels, facts.code_begin, facts.code_size, facts.data_begin, facts.data_size, program,
        {}};
    files[in].paths.nodes.resize(facts.code_size);
    any_traced = true;
    if (!program || program_file() == nullptr) return;
    request = kOfPrograms;
    active = true;
}

void
trace_launch(grid *g)
{
    if (!any_traced || !active) return;
    std::lock_guard hold(lock);
    const auto found = files.find(g->in);
    if (found == files.end()) return;
    g->traced = &found->second;
    g->set.threads = 1; // blocks one after another: the caches' model needs an order
    counts.asked = request;
    counts.begin(*g);
}

void
end_trace(grid *g)
{
    if (g->traced == nullptr) return;
    std::string text = counts.told(*g);
    std::lock_guard hold(lock);
    const char *const name = g->traced->program ? program_file() : nullptr;
    if (name) {
        if (FILE *f = fopen(name, "ab")) {
            fwrite(text.data(), 1, text.size(), f);
            fclose(f);
        }
    } else {
        texts += text;
    }
}

// ---- blocks -------------------------------------------------------------------------------------

// Logs begin at different places of a cache's sets.
tracer::tracer()
{
    constexpr size_t each = 2 * kRoom + 8;
    void *p = mmap(nullptr, each * kMostThreads * sizeof(event), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    for (int i = 0; i < kMostThreads; i++) {
        lanes[i].events = static_cast<event *>(p) + each * (size_t)i;
        lanes[i].addresses = lanes[i].events + kRoom;
    }
}

tracer *
tracer_of(block *b)
{
    grid *g = b->of;
    const dim3 n = g->blocks, at = b->index;
    const uint64_t number = at.x + (uint64_t)n.x * (at.y + (uint64_t)n.y * at.z);
    if (number % counts.stride || counts.totals.cut) return nullptr;
    if (b->own_tracer == nullptr) {
        b->own_tracer = new tracer();
        follow_stacks(b);
    }
    tracer *t = b->own_tracer;
    t->of = b;
    t->to = &counts;
    t->number = (uint32_t)number;
    t->begin(*g);
    return t;
}

void
tracer::begin(const grid &g)
{
    file = g.traced;
    code = file->code;
    code_size = file->code_size;
    lesson.count = 0;
    fixed = (uintptr_t)shared_arrays(g.in);
    fixed_size = facts_of_file(g.in).tls_size;
    dynamic = (uintptr_t)&of->dynamic[0];
    dynamic_size = sizeof of->dynamic;
    global = all_device_memory();
    for (int i = 0; i < of->threads; i++) {
        event *const events = lanes[i].events;
        lanes[i] = {};
        lanes[i].to = this;
        lanes[i].events = events;
        lanes[i].addresses = events + kRoom;
        of->of_thread[i].log = &lanes[i];
    }
    for (auto &l : last) l = {};
    to->l1.forget();
    first = to->totals.blocks++ == 0;
    to->totals.warps += (uint64_t)of->warps;
}

void
end_block(tracer *t)
{
    for (int w = 0; w < t->of->warps; w++) t->catch_up(w, true);
}

// ---- lanes --------------------------------------------------------------------------------------

// What follows goes untraced.
void
tracer::stop()
{
    of->tracing = nullptr;
    for (int i = 0; i < of->threads; i++) of->of_thread[i].log = nullptr;
}

// An access to a lane's stack, or to a variable of the file.
__attribute__((noinline)) void
tracer::note_elsewhere(thread *t, trace_kind kind, uintptr_t a, size_t size, uint64_t place,
                       uintptr_t frame)
{
    trace_space s = trace_space::local;
    const uintptr_t in_stack = a - (uintptr_t)t->own.stack;
    if (in_stack < kStack) {
        if (in_stack < 2 * kGuard) return; // next to the guard stands whose stack it is
    } else if (a - file->data < file->data_size) {
        s = is_constant(of->of->in, a) ? trace_space::constant : trace_space::global;
    } else {
        return; // the host's, or the emulator's
    }
    note(t, key_of(t->log, kind, s, size, place, frame), a);
}

// The last lane of a warp to have no room counts what all did. Nothing is noted when tracing has ended.
__attribute__((noinline, cold)) void
tracer::note_in_new_room(thread *t, uint64_t key, uint64_t address)
{
    const lane_log &l = *t->log;
    while (l.count == kRoom && t->log) {
        if ((of->of_warp[t->warp].ready & ~(1u << t->lane)) == 0) catch_up(t->warp, false);
        if (l.count == kRoom && t->log) yield(); // others of the warp have to come first
    }
    if (t->log) note(t, key, address);
}

// A lane comes to a collective: it goes on with the others in its mask.
void
tracer::mark(thread *t, int what, unsigned named, site at)
{
    uint32_t site = 0;
    try {
        site = to->site_of(at.file, at.line, what);
    } catch (const std::bad_alloc &) {
        stop();
        return;
    }
    const uint64_t key = (uint64_t)site << kPlaceShift | (uint64_t)trace_kind::mark << 12;
    note(t, key, (uint64_t)what << 32 | named);
}

namespace
{

// Of the lanes that stand at a collective: those for which all others have come.
unsigned
complete_marks(const lane_log *l, unsigned marks)
{
    unsigned all = 0;
    while (marks) {
        const lane_log &first = l[first_of(marks)];
        const uint64_t what = first.addresses[first.done];
        unsigned same = 0;
        for (unsigned set = marks; set; set &= set - 1) {
            const lane_log &o = l[first_of(set)];
            if (o.addresses[o.done] == what) same |= 1u << first_of(set);
        }
        marks &= ~same;
        if ((same & (unsigned)what) == (unsigned)what) all |= same;
    }
    return all;
}

void
compact(lane_log *l)
{
    const uint32_t left = l->count - l->done;
    if (left && l->done < tracer::kRoom / 2) return; // moved later, more of them at once
    if (left) {
        memmove(l->events, l->events + l->done, left * sizeof(event));
        memmove(l->addresses, l->addresses + l->done, left * sizeof(uint64_t));
    }
    l->learnt -= l->done;
    l->done = 0;
    l->count = left;
}

} // namespace

void
tracer::catch_up(int w, bool to_end)
{
    try {
        replay(w, to_end);
    } catch (const std::bad_alloc &) {
        of->of->starved = of->of->failed = true;
        stop();
    }
}

// A lane's next event: with those that stand at the same.
void
tracer::join(const lane_log &l, unsigned lane, uint64_t key, heads *h) const
{
    int shift, i = 0;
    const uint64_t calls = calls_of(l, key, &shift);
    while (i < h->count && (h->groups[i].key != key || h->groups[i].calls != calls ||
                            h->groups[i].shift != shift))
        i++;
    if (i == h->count)
        h->groups[h->count++] = {key, calls | file->paths.part(key) << shift, calls, 0, shift};
    h->groups[i].lanes |= lane;
}

// What these lanes do next, who have gone on.
void
tracer::look_ahead(int w, unsigned which, bool to_end, heads *h) const
{
    const lane_log *const l = &lanes[w * kWarpLanes];
    const thread *const threads = &of->of_thread[w * kWarpLanes];
    h->have &= ~which;
    h->marks &= ~which;
    for (unsigned set = which; set; set &= set - 1) {
        const int i = first_of(set);
        const unsigned lane = 1u << i;
        h->keys[i] = ~0ull;
        if (l[i].done < l[i].count) {
            const uint64_t key = h->keys[i] = l[i].events[l[i].done];
            h->have |= lane;
            if (kind_of_event(key) == trace_kind::mark)
                h->marks |= lane;
            else
                join(l[i], lane, key, h);
        } else if (!to_end && threads[i].now != state::done &&
                   threads[i].now != state::at_barrier) {
            h->late |= lane;
        }
    }
}

// Do those that went on together last do so again?
void
tracer::note_parting(int w, const heads &h)
{
    const unsigned lanes_then = last[w].lanes;
    last[w].lanes = 0;
    if (lanes_then == 0 || kind_of_event(last[w].key) == trace_kind::mark) return;
    for (int i = 0; i < h.count; i++)
        if ((lanes_then & ~h.groups[i].lanes) == 0) return;
    const uint64_t one = h.keys[first_of(lanes_then)] >> kPlaceShift;
    for (unsigned set = lanes_then; set; set &= set - 1)
        if (h.keys[first_of(set)] >> kPlaceShift != one) {
            to->rows[(size_t)to->row_of(last[w].key)].divergent++;
            return;
        }
}

void
tracer::replay(int w, bool to_end)
{
    lane_log *const l = &lanes[w * kWarpLanes];
    const unsigned present = of->of_warp[w].present;
    for (unsigned set = present; set; set &= set - 1) learn(&l[first_of(set)]);
    if (!file->paths.is_ordered) file->paths.order();
    heads h;
    h.have = h.marks = h.late = 0;
    h.count = 0;
    unsigned gone = present;
    while (of->tracing) {
        look_ahead(w, gone, to_end, &h);
        if (h.late || h.have == 0) break;
        note_parting(w, h);
        unsigned complete = h.marks ? complete_marks(l, h.marks) : 0;
        if (complete == 0 && h.count == 0) {
            if (!to_end) break;
            complete = h.marks; // the others never came
        }
        gone = step(w, &h, complete);
        if (to->totals.events > to->asked.events) { // the rest goes untraced
            to->totals.cut = 1;
            stop();
        }
    }
    for (unsigned set = present; set; set &= set - 1) compact(&l[first_of(set)]);
    lesson.count = 0; // its events may have been moved
}

} // namespace emu

// ---- for Python -----------------------------------------------------------------------------------

#ifdef EMU_ASAN
#define EXPORTED
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

// From now on launches of traced code are counted.
extern "C" EXPORTED void
warpkit_trace_begin(const emu::trace_request *asked)
{
    std::lock_guard alone(emu::device_in_use());
    std::lock_guard hold(emu::lock);
    emu::request = *asked;
    emu::texts.clear();
    emu::active = true;
}

// No longer; gives what was told of them, until the next begin.
extern "C" EXPORTED const char *
warpkit_trace_end(uint64_t *size)
{
    std::lock_guard alone(emu::device_in_use());
    std::lock_guard hold(emu::lock);
    emu::active = false;
    *size = emu::texts.size();
    return emu::texts.data();
}
