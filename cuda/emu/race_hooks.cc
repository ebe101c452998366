// race_hooks.cc -- what compilers call before each access of watched code: -fsanitize=thread, without
// its library, and -fsanitize=alignment.
#include "emu/race_touch.h"

#include <new>

namespace emu
{

namespace
{

template <access_kind kind>
void
touch_range(const void *p, size_t size, uintptr_t pc)
{
    uintptr_t address = (uintptr_t)p;
    for (const uintptr_t end = address + size; address < end;)
        if (address % 4 == 0 && end - address >= 4) {
            touch<kind, 4>(address, pc);
            address += 4;
        } else {
            touch<kind, 1>(address++, pc);
        }
}

// An atomic: what its thread has fenced is told at its address before the others can see the
// atomic; and it learns what was told there.
template <typename F>
void
at_atomic(F f)
{
    thread *t = thread_here();
    watcher *w = t ? t->in->watching : nullptr;
    if (w == nullptr) return;
    try {
        f(w, (int)(t - t->in->of_thread));
    } catch (const std::bad_alloc &) {
        give_up(t->in);
    }
}

void
tell(const void *p)
{
    at_atomic([p](watcher *w, int t) { w->publish(t, (uintptr_t)p); });
}

void
learn(const void *p)
{
    at_atomic([p](watcher *w, int t) { w->acquire(t, (uintptr_t)p); });
}

template <typename T>
T
load(const T *p, uintptr_t pc)
{
    touch<access_kind::atomic, sizeof *p>((uintptr_t)p, pc);
    const T v = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    learn(p);
    return v;
}

template <typename T>
void
store(T *p, T v, uintptr_t pc)
{
    touch<access_kind::atomic, sizeof *p>((uintptr_t)p, pc);
    tell(p);
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

// What leaves the value as it is tells nobody anything.
template <typename T>
bool
exchange(T *p, T *old, T v, uintptr_t pc)
{
    touch<access_kind::atomic, sizeof *p>((uintptr_t)p, pc);
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

// At the start of each basic block: -fsanitize-coverage=trace-pc.
void
__sanitizer_cov_trace_pc()
{
    emu::thread *t = emu::thread_here();
    if (t && t->log)
        emu::trace_event(t, emu::trace_kind::block, 0, 0, PC,
                         (uintptr_t)__builtin_frame_address(0));
}

void
__tsan_init()
{
}
void
__tsan_func_entry(void *)
{
}
void
__tsan_func_exit()
{
}
void
__tsan_vptr_read(void **)
{
}
void
__tsan_vptr_update(void **, void *)
{
}

#define HOOK(name, n, kind, more)                                                              \
    void __tsan_##name##n(void *p)                                                             \
    {                                                                                          \
        emu::touch<emu::access_kind::kind, n>((uintptr_t)p, PC);                               \
        more;                                                                                  \
    }
#define HOOKS(n)                                                                               \
    HOOK(read, n, read, )                                                                      \
    HOOK(write, n, write, )                                                                    \
    HOOK(read_write, n, write, )                                                               \
    HOOK(unaligned_read, n, read, )                                                            \
    HOOK(unaligned_write, n, write, )                                                          \
    HOOK(volatile_read, n, atomic, emu::learn(p)) /* is as an atomic */                        \
    HOOK(volatile_write, n, atomic, emu::tell(p))                                              \
    HOOK(unaligned_volatile_read, n, atomic, emu::learn(p))                                    \
    HOOK(unaligned_volatile_write, n, atomic, emu::tell(p))
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void
__tsan_read_range(void *p, size_t size)
{
    emu::touch_range<emu::access_kind::read>(p, size, PC);
}

void
__tsan_write_range(void *p, size_t size)
{
    emu::touch_range<emu::access_kind::write>(p, size, PC);
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

void
__tsan_atomic_signal_fence(int)
{
}
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
    emu::touch_range<emu::access_kind::read>(from, size, PC);
    emu::touch_range<emu::access_kind::write>(to, size, PC);
    return memcpy(to, from, size);
}

void *
__wrap_memmove(void *to, const void *from, size_t size)
{
    emu::touch_range<emu::access_kind::read>(from, size, PC);
    emu::touch_range<emu::access_kind::write>(to, size, PC);
    return memmove(to, from, size);
}

void *
__wrap_memset(void *to, int value, size_t size)
{
    emu::touch_range<emu::access_kind::write>(to, size, PC);
    return memset(to, value, size);
}

} // extern "C"
EMU_API_END
