// race_access.cc -- an access of watched code: does it race with who used the word last? Then that ends
// the launch; else it is noted in the word's cell.
#include "emu/race_touch.h"

#include <algorithm>
#include <new>

namespace emu
{

namespace
{

constexpr access kHeld =
    ~0ull; // in cell::write, while another thread of the system uses the cell

// The launch's first fault is what it fails of; the thread stays where it is.
[[noreturn]] void
end_with(race *r, block *b)
{
    if (b->of->failed.exchange(true))
        delete r;
    else
        b->of->found = r;
    leave(b);
}

race *
race_at(watcher *w, fault what, uintptr_t address, size_t size)
{
    auto *r = new race;
    r->what = what;
    r->address = address;
    r->size = (int)size;
    for (int i = 0; i < watcher::spaces; i++)
        r->spaces[i] = {reinterpret_cast<char *>(w->space[i]->begin), w->space[i]->size};
    return r;
}

[[noreturn]] void
found(const visit &v, fault what, access before, access_kind kind)
{
    watcher *w = v.w;
    race *r = race_at(w, what, v.address, v.size);
    r->now = {w->number, v.n, v.kind, place_of(site_of(v.own)), ""};
    if (before) {
        const moment m = moment_of(before);
        r->before = {block_of(m), thread_of(before), kind, place_of(site_of(before)), ""};
        if (m < w->began) r->before.operation = operation_of(m);
    }
    r->base = w->base;
    const unsigned count = w->step_count < kSteps ? w->step_count : kSteps;
    for (unsigned i = w->step_count - count; i != w->step_count; i++)
        r->steps.push_back(w->steps[i % kSteps]);
    end_with(r, w->of);
}

// It may be a race with who writes there later, which tells more.
void
note_unwritten(const visit &v)
{
    grid *g = v.w->of->of;
    if (g->unwritten || !v.w->file->separate)
        return; // this library's kernels read what they drop
    race *r = race_at(v.w, fault::unwritten, v.address, v.size);
    r->now = {v.w->number, v.n, v.kind, place_of(site_of(v.own)), ""};
    race *none = nullptr;
    if (!g->unwritten.compare_exchange_strong(none, r)) delete r;
}

// The access that this one races with; 0: none.
access
rival(const visit &v, const cell &c, access write, access_kind *kind)
{
    const bool shared = v.shared();
    if (write && !v.w->is_ordered(v.n, write, v.address, shared)) {
        *kind = access_kind::write;
        return write;
    }
    for (const access o : c.other) {
        if (o == 0) break;
        const bool atomic = is_atomic(o);
        if (v.kind != access_kind::write && atomic == (v.kind == access_kind::atomic)) continue;
        if (v.w->is_ordered(v.n, o, v.address, shared)) continue;
        *kind = atomic ? access_kind::atomic : access_kind::read;
        return o;
    }
    return 0;
}

// Notes a read or an atomic in the place of what tells no more than it does; if all three tell more,
// in that of the oldest that another of the same block stands for.
void
insert(const visit &v, cell *c)
{
    const watcher *w = v.w;
    const moment past = v.shared() ? w->first : w->settled;
    const bool atomic = v.kind == access_kind::atomic;
    int at = -1, in_block = 0, oldest = 2;
    for (int i = 0; i < 3 && at < 0; i++) {
        const access o = c->other[i];
        const moment m = moment_of(o);
        if (o == 0 || m < past) {
            at = i;
        } else if (w->is_own(m)) {
            if (is_atomic(o) == atomic && (m < w->base || thread_of(o) == v.n)) at = i;
            in_block++;
            oldest = i;
        }
    }
    if (at < 0) {
        if (adds_nothing(*w, *c, v.n, v.kind, v.shared())) return;
        at = in_block >= 2 ? oldest : 2;
    }
    for (; at > 0; at--) c->other[at] = c->other[at - 1];
    __atomic_store_n(&c->other[0], v.own, __ATOMIC_RELAXED);
}

// Do other threads of the system use the same cells?
bool
is_contended(const visit &v)
{
    return !v.shared() && !v.w->alone;
}

// The cell's write; if others use it, they wait until there is another in its place.
access
take(const visit &v, cell *c)
{
    access write = c->write;
    if (is_contended(v))
        while ((write = __atomic_exchange_n(&c->write, kHeld, __ATOMIC_ACQUIRE)) == kHeld)
            continue;
    return write;
}

void
visit_cell(const visit &v, cell *c)
{
    access write = take(v, c);
    access_kind kind = access_kind::read;
    const access other = rival(v, *c, write, &kind);
    if (v.kind == access_kind::write && other == 0) {
        write = v.own;
        c->other[0] = c->other[1] = c->other[2] = 0;
    } else if (other == 0) {
        insert(v, c);
    }
    if (is_contended(v) || v.kind == access_kind::write)
        __atomic_store_n(&c->write, write, __ATOMIC_RELEASE);
    if (other) found(v, fault::unordered, other, kind);
}

// From now on the word's bytes have cells of their own.
void
split_word(const visit &v, shadow &m, size_t i)
{
    cell &c = m.words[i];
    const access write = take(v, &c);
    if (!(__atomic_load_n(&m.states[i], __ATOMIC_RELAXED) & split)) {
        for (size_t b = 4 * i; b < 4 * i + 4; b++)
            m.bytes[b] = {write, {c.other[0], c.other[1], c.other[2]}};
        c.other[0] = c.other[1] = c.other[2] = 0;
        __atomic_fetch_or(&m.states[i], split, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&c.write, 0, __ATOMIC_RELEASE);
}

void
visit_word(const visit &v, shadow &m, size_t begin, size_t end)
{
    const size_t i = begin / 4;
    if (end - begin < 4 && !(m.states[i] & split)) split_word(v, m, i);
    if (__atomic_load_n(&m.states[i], __ATOMIC_ACQUIRE) & split)
        for (size_t b = begin; b < end; b++) {
            if (!is_repeated(m.bytes[b], v.own, v.kind)) visit_cell(v, &m.bytes[b]);
        }
    else
        visit_cell(v, &m.words[i]);
}

void
visit_words(visit v)
{
    watcher *w = v.w;
    shadow &m = *w->space[v.space];
    const size_t begin = v.address - m.begin, end = begin + v.size;
    v.own |= site_at(*w->file, v.pc);
    w->steps[w->step_count++ % kSteps] = {v.own, v.address, v.kind, (uint8_t)v.size};
    uint8_t all = allocated, any = 0;
    for (size_t i = begin / 4; i < (end + 3) / 4; i++) {
        all &= m.states[i];
        any |= m.states[i];
    }
    if (end > m.size || !(all & allocated)) {
        if (v.space == watcher::fixed && !w->file->separate) return; // other variables
        found(v, fault::outside, 0, v.kind);
    }
    if (v.kind == access_kind::read) {
        if (!(any & written)) note_unwritten(v);
    } else {
        for (size_t i = begin / 4; i < (end + 3) / 4; i++)
            if (!(m.states[i] & written)) m.states[i] |= written;
        if (v.kind == access_kind::write && !v.shared() && !w->dirty[v.n]) {
            w->dirty[v.n] = true;
            w->dirty_count++;
        }
    }
    for (size_t at = begin; at < end;) {
        const size_t next = at / 4 * 4 + 4 < end ? at / 4 * 4 + 4 : end;
        visit_word(v, m, at, next);
        at = next;
    }
}

} // namespace

void
visit_all(const visit &v)
{
    const busy guard(v.w);
    try {
        visit_words(v);
    } catch (const std::bad_alloc &) {
        give_up(v.w->of);
    }
}

// Addresses of vectors are multiples of their sizes on a GPU; what the host may do is its own affair.
void
misaligned(const void *p, size_t alignment, const char *type, const char *file, unsigned line)
{
    thread *t = thread_here();
    if (t == nullptr || t->in->watching == nullptr) return;
    watcher *w = t->in->watching;
    int s = 0;
    while (!w->space[s]->has((uintptr_t)p))
        if (++s == watcher::spaces) return;
    race *r = race_at(w, fault::misaligned, (uintptr_t)p, alignment);
    r->now = {w->number, (int)(t - t->in->of_thread), access_kind::read, 0, ""};
    std::string name = type; // "'struct float4'"
    if (name.compare(0, 8, "'struct ") == 0) name.erase(1, 7);
    name.erase(std::remove(name.begin(), name.end(), '\''), name.end());
    r->text = name + " at " + file + ":" + std::to_string(line);
    end_with(r, t->in);
}

} // namespace emu
