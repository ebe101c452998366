// wrapped.cc -- in the place of the C library's functions, by the linker's --wrap: what users' objects call
// of it, in kernels and on the host.
#include "emu/turns.h"

#include <assert.h>
#include <mutex>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unordered_set>

extern "C" EMU_EXPORTED int
__wrap_vprintf(const char *format, va_list arguments)
{
    if (!emu::in_kernel()) return vprintf(format, arguments);
    emu::print(format, arguments);
    return 0;
}

extern "C" EMU_EXPORTED int
__wrap_printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n = __wrap_vprintf(format, arguments);
    va_end(arguments);
    return n;
}

extern "C" EMU_EXPORTED int
__wrap_puts(const char *text)
{
    return __wrap_printf("%s\n", text);
}

extern "C" EMU_EXPORTED int
__wrap_putchar(int c)
{
    return __wrap_printf("%c", c);
}

extern "C" EMU_EXPORTED void
__wrap___assert_fail(const char *expression, const char *file, unsigned line,
                     const char *function)
{
    if (!emu::in_kernel()) __assert_fail(expression, file, line, function);
    const emu::thread *t = emu::me();
    t->in->of->asserted = true;
    emu::fail(t->in, "thread (%u, %u, %u): assertion `%s' failed at %s:%u", t->index.x,
              t->index.y, t->index.z, expression, file, line);
}

extern "C" EMU_EXPORTED clock_t
__wrap_clock()
{
    if (!emu::in_kernel()) return clock();
    emu::yield();
    return (clock_t)emu::nanoseconds();
}

extern "C" EMU_EXPORTED void
__wrap_abort()
{
    if (!emu::in_kernel()) abort();
    emu::called_from(emu::running, __builtin_return_address(0));
    emu::fail(emu::running, "it is aborted; %s", emu::last_seen(emu::me()).text);
}

extern "C" EMU_EXPORTED void
__wrap_exit(int status)
{
    if (!emu::in_kernel()) exit(status);
    emu::called_from(emu::running, __builtin_return_address(0));
    emu::fail(emu::running, "it calls exit(%d), which is the host's; %s", status,
              emu::last_seen(emu::me()).text);
}

// ---- the heap of kernels ------------------------------------------------------------------------

namespace emu
{

namespace
{

std::mutex heap_lock; // of what follows
lasting<std::unordered_set<void *>> all_heap;
auto &heap = all_heap.value; // what kernels have, of all launches

bool
note_heap(void *p)
{
    try {
        const kernel_lock hold(heap_lock);
        heap.insert(p);
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

bool
forget_heap(void *p)
{
    const kernel_lock hold(heap_lock);
    return heap.erase(p) > 0;
}

} // namespace

} // namespace emu

extern "C" EMU_EXPORTED void *
__wrap_malloc(size_t size)
{
    void *p = malloc(size);
    if (p == nullptr || !emu::in_kernel() || emu::note_heap(p)) return p;
    free(p);
    return nullptr;
}

// The C library would end the process.
extern "C" EMU_EXPORTED void
__wrap_free(void *p)
{
    if (p == nullptr || !emu::in_kernel() || emu::forget_heap(p)) return free(p);
    emu::called_from(emu::running, __builtin_return_address(0));
    emu::fail(emu::running,
              "it frees %p, which no kernel has from malloc, or which is free; %s", p,
              emu::last_seen(emu::me()).text);
}
