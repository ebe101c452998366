// fiber.cc -- the switch itself, for x86-64 and aarch64.
//
// By hand, because ucontext asks the kernel for the signal mask at every switch (7 times slower in
// a prototype), and because the well-kept library for it, Boost.Context, would be a second thing to
// install for the sake of these thirty instructions. What a called function must preserve is saved
// on the stack that is left, and taken from the stack that is entered.
#include "emu/fiber.h"
#include "emu/asan.h"

extern "C" void emu_switch(void **save, void *load) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".text\n"
        ".hidden emu_switch\n"
        ".globl emu_switch\n"
        ".type emu_switch, @function\n"
        "emu_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emu_switch, . - emu_switch\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".hidden emu_switch\n"
        ".globl emu_switch\n"
        ".type emu_switch, %function\n"
        "emu_switch:\n"
        "    stp x29, x30, [sp, #-160]!\n"
        "    stp x19, x20, [sp, #16]\n"
        "    stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]\n"
        "    stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #16]\n"
        "    ldp x21, x22, [sp, #32]\n"
        "    ldp x23, x24, [sp, #48]\n"
        "    ldp x25, x26, [sp, #64]\n"
        "    ldp x27, x28, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x29, x30, [sp], #160\n"
        "    ret\n"
        ".size emu_switch, . - emu_switch\n");
#else
#error "the emulated device knows how to switch fibers on x86-64 and aarch64"
#endif

namespace emu
{

void
prepare(fiber &f, void (*entry)(), size_t stagger)
{
    char *const top = f.stack + f.size - stagger;
    __asan_unpoison_memory_region(f.stack + f.size - 8192, 8192); // a dead fiber's last frames
#if defined(__x86_64__)
    void **p = reinterpret_cast<void **>(top) - 8;
    for (int saved = 0; saved < 6; saved++) p[saved] = nullptr;
    p[6] = reinterpret_cast<void *>(entry);
    p[7] = nullptr; // entry's return address: a debugger stops there
#else
    void **p = reinterpret_cast<void **>(top) - 20;
    for (int saved = 0; saved < 20; saved++) p[saved] = nullptr;
    p[1] = reinterpret_cast<void *>(entry); // x30
#endif
    f.stack_pointer = p;
    f.shadow = nullptr;
}

void
switch_fiber(fiber &from, fiber &to, bool for_good)
{
#ifdef EMU_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &from.shadow, to.stack, to.size);
#endif
    emu_switch(&from.stack_pointer, to.stack_pointer);
#ifdef EMU_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(from.shadow, &bottom, &size);
#endif
    (void)for_good;
}

void
arrived(fiber &from_home)
{
#ifdef EMU_ASAN
    const void *bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (from_home.stack == nullptr) { // the first fiber that was entered came from there
        from_home.stack = static_cast<char *>(const_cast<void *>(bottom));
        from_home.size = size;
    }
#else
    (void)from_home;
#endif
}

} // namespace emu
