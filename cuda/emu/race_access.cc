// race_access.cc -- the accesses of watched code, as compilers announce them (-fsanitize=thread), and whether
// one races with who used the word last.
#include "emu/races.h"
#include "emu/turns.h"

#include <algorithm>

namespace emu
{

namespace
{

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

constexpr access kHeld = ~0ull; // in cell::write, while another thread of the system uses the cell

struct visit { // of a thread to memory
    watcher *w;
    thread *t;
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
    if (g->unwritten) return;
    race *r = race_at(v.w, fault::unwritten, v.address, v.size);
    r->now = {v.w->number, v.n, v.kind, place_of(site_of(v.own)), ""};
    race *none = nullptr;
    if (!g->unwritten.compare_exchange_strong(none, r)) delete r;
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
    const int warp = v.n / kWarpLanes;
    int at = -1, alike = 0, in_block = 0, oldest = 2;
    for (int i = 0; i < 3 && at < 0; i++) {
        const access o = c->other[i];
        const moment m = moment_of(o);
        if (o == 0 || m < past) {
            at = i;
            break;
        }
        if (!w->is_own(m)) continue;
        if (is_atomic(o) == atomic && (m < w->base || thread_of(o) == v.n)) at = i;
        in_block++;
        oldest = i;
        alike += thread_of(o) / kWarpLanes == warp && is_atomic(o) == atomic &&
                 m >= w->warp_base[warp] && m >= w->base;
    }
    if (at < 0) {
        if (alike >= 2) return; // of the same warp
        at = in_block >= 2 ? oldest : 2;
    }
    for (; at > 0; at--) c->other[at] = c->other[at - 1];
    __atomic_store_n(&c->other[0], v.own, __ATOMIC_RELAXED);
}

void
visit_cell(const visit &v, cell *c)
{
    const bool held = !v.shared() && !v.w->alone;
    access write = c->write;
    if (held)
        while ((write = __atomic_exchange_n(&c->write, kHeld, __ATOMIC_ACQUIRE)) == kHeld)
            continue;
    access_kind kind = access_kind::read;
    const access other = rival(v, *c, write, &kind);
    if (v.kind == access_kind::write && other == 0) {
        write = v.own;
        c->other[0] = c->other[1] = c->other[2] = 0;
    } else if (other == 0) {
        insert(v, c);
    }
    if (held || v.kind == access_kind::write)
        __atomic_store_n(&c->write, write, __ATOMIC_RELEASE);
    if (other) found(v, fault::unordered, other, kind);
}

// From now on the word's bytes have cells of their own.
void
split_word(const visit &v, shadow &m, size_t i)
{
    const bool held = !v.shared() && !v.w->alone;
    cell &c = m.words[i];
    access write = c.write;
    if (held)
        while ((write = __atomic_exchange_n(&c.write, kHeld, __ATOMIC_ACQUIRE)) == kHeld)
            continue;
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

__attribute__((noinline)) void
visit_all(visit v)
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

inline __attribute__((always_inline)) void
touch(uintptr_t address, size_t size, access_kind kind, uintptr_t pc)
{
    thread *t = thread_here();
    if (t == nullptr) return; // the host's
    watcher *w = t->in->watching;
    if (w == nullptr || size == 0) return;
    int s = 0;
    while (!w->space[s]->has(address))
        if (++s == watcher::spaces) return; // a stack, or the host's memory
    const int n = (int)(t - t->in->of_thread);
    const access own = access_of(w->now(n), kind == access_kind::atomic, n);
    const shadow &m = *w->space[s];
    const size_t at = address - m.begin;
    if (size == 4 && at % 4 == 0) {
        if (is_repeated(m.words[at / 4], own, kind)) return;
    } else if (size == 8 && at % 4 == 0) {
        if (is_repeated(m.words[at / 4], own, kind) &&
            is_repeated(m.words[at / 4 + 1], own, kind))
            return;
    } else if (size == 1) {
        if (is_repeated(m.bytes[at], own, kind)) return;
    }
    visit_all({w, t, n, own, kind, address, size, pc, s});
}

void
touch_range(uintptr_t address, size_t size, access_kind kind, uintptr_t pc)
{
    for (const uintptr_t end = address + size; address < end;) {
        const size_t part = address % 4 == 0 && end - address >= 4 ? 4 : 1;
        touch(address, part, kind, pc);
        address += part;
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

// What an atomic's thread has fenced is told at its address before the others can see the atomic.
void
tell(const void *p)
{
    if (thread *t = thread_here())
        if (watcher *w = t->in->watching)
            w->publish((int)(t - t->in->of_thread), (uintptr_t)p);
}

void
learn(const void *p)
{
    if (thread *t = thread_here())
        if (watcher *w = t->in->watching)
            w->acquire((int)(t - t->in->of_thread), (uintptr_t)p);
}

template <typename T>
T
load(const T *p, uintptr_t pc)
{
    touch((uintptr_t)p, sizeof *p, access_kind::atomic, pc);
    const T v = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    learn(p);
    return v;
}

template <typename T>
void
store(T *p, T v, uintptr_t pc)
{
    touch((uintptr_t)p, sizeof *p, access_kind::atomic, pc);
    tell(p);
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

// What leaves the value as it is tells nobody anything.
template <typename T>
bool
exchange(T *p, T *old, T v, uintptr_t pc)
{
    touch((uintptr_t)p, sizeof *p, access_kind::atomic, pc);
    if (v != *old && __atomic_load_n(p, __ATOMIC_RELAXED) == *old) tell(p);
    const bool done =
        __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    learn(p);
    return done;
}

template <typename T, typename F>
T
change(T *p, F f, uintptr_t pc)
{
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!exchange(p, &old, (T)f(old), pc)) continue;
    return old;
}

} // namespace

} // namespace emu

// ---- what compilers call --------------------------------------------------------------------------

#define PC ((uintptr_t)__builtin_return_address(0))

EMU_API_BEGIN
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}

#define PLAIN(n)                                                                               \
    void __tsan_read##n(void *p)                                                               \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::read, PC);                               \
    }                                                                                          \
    void __tsan_write##n(void *p)                                                              \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::write, PC);                              \
    }                                                                                          \
    void __tsan_read_write##n(void *p)                                                         \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::write, PC);                              \
    }                                                                                          \
    void __tsan_volatile_read##n(void *p) /* is as an atomic, and acquires after it */         \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::atomic, PC);                             \
        emu::learn(p);                                                                         \
    }                                                                                          \
    void __tsan_volatile_write##n(void *p)                                                     \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::atomic, PC);                             \
        emu::tell(p);                                                                          \
    }
#define UNALIGNED(n)                                                                           \
    void __tsan_unaligned_read##n(void *p)                                                     \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::read, PC);                               \
    }                                                                                          \
    void __tsan_unaligned_write##n(void *p)                                                    \
    {                                                                                          \
        emu::touch((uintptr_t)p, n, emu::access_kind::write, PC);                              \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

void
__tsan_read_range(void *p, size_t size)
{
    emu::touch_range((uintptr_t)p, size, emu::access_kind::read, PC);
}

void
__tsan_write_range(void *p, size_t size)
{
    emu::touch_range((uintptr_t)p, size, emu::access_kind::write, PC);
}

#define ATOMIC(bits, T)                                                                        \
    T __tsan_atomic##bits##_load(const T *p, int)                                              \
    {                                                                                          \
        return emu::load(p, PC);                                                               \
    }                                                                                          \
    void __tsan_atomic##bits##_store(T *p, T v, int)                                           \
    {                                                                                          \
        emu::store(p, v, PC);                                                                  \
    }                                                                                          \
    bool __tsan_atomic##bits##_compare_exchange_strong(T *p, T *old, T v, int, int)            \
    {                                                                                          \
        return emu::exchange(p, old, v, PC);                                                   \
    }                                                                                          \
    bool __tsan_atomic##bits##_compare_exchange_weak(T *p, T *old, T v, int, int)              \
    {                                                                                          \
        return emu::exchange(p, old, v, PC);                                                   \
    }                                                                                          \
    T __tsan_atomic##bits##_compare_exchange_val(T *p, T old, T v, int, int)                   \
    {                                                                                          \
        emu::exchange(p, &old, v, PC);                                                         \
        return old;                                                                            \
    }
#define CHANGE(bits, T, name, expression)                                                      \
    T __tsan_atomic##bits##_##name(T *p, T v, int)                                             \
    {                                                                                          \
        return emu::change(                                                                    \
            p, [v]([[maybe_unused]] T old) { return (T)(expression); }, PC);                   \
    }
#define CHANGES(bits, T)                                                                       \
    ATOMIC(bits, T)                                                                            \
    CHANGE(bits, T, exchange, v)                                                               \
    CHANGE(bits, T, fetch_add, old + v)                                                        \
    CHANGE(bits, T, fetch_sub, old - v)                                                        \
    CHANGE(bits, T, fetch_and, old &v)                                                         \
    CHANGE(bits, T, fetch_or, old | v)                                                         \
    CHANGE(bits, T, fetch_xor, old ^ v)                                                        \
    CHANGE(bits, T, fetch_nand, ~(old & v))
CHANGES(8, uint8_t)
CHANGES(16, uint16_t)
CHANGES(32, uint32_t)
CHANGES(64, uint64_t)

void __tsan_atomic_signal_fence(int) {}
void
__tsan_atomic_thread_fence(int)
{
    if (emu::thread_here()) emu::fence(emu::scope::system);
}

// -fsanitize=alignment: what was accessed, and where that stands in the source.
struct emu_place {
    const char *file;
    unsigned line, column;
};
struct emu_type {
    uint16_t kind, info;
    char name[1];
};
struct emu_mismatch {
    emu_place at;
    const emu_type *type;
    unsigned char log_alignment, check;
};

void
__ubsan_handle_type_mismatch_v1(const emu_mismatch *m, const void *p)
{
    emu::misaligned(p, size_t(1) << m->log_alignment, m->type->name, m->at.file, m->at.line);
}

// In the place of the C library's, by the linker's --wrap.
void *
__wrap_memcpy(void *to, const void *from, size_t size)
{
    emu::touch_range((uintptr_t)from, size, emu::access_kind::read, PC);
    emu::touch_range((uintptr_t)to, size, emu::access_kind::write, PC);
    return memcpy(to, from, size);
}

void *
__wrap_memmove(void *to, const void *from, size_t size)
{
    emu::touch_range((uintptr_t)from, size, emu::access_kind::read, PC);
    emu::touch_range((uintptr_t)to, size, emu::access_kind::write, PC);
    return memmove(to, from, size);
}

void *
__wrap_memset(void *to, int value, size_t size)
{
    emu::touch_range((uintptr_t)to, size, emu::access_kind::write, PC);
    return memset(to, value, size);
}

} // extern "C"
EMU_API_END
