// fiber.h -- threads of a block, switched by hand: each runs until it waits.
#pragma once
#include <stddef.h>

namespace emu
{

struct fiber {
    void *stack_pointer = nullptr; // while it does not run
    char *stack = nullptr; // lowest byte; the first fiber's is known to AddressSanitizer
    size_t size = 0;
    void *shadow = nullptr; // AddressSanitizer's own
};

// Makes f start at entry, at the top of its stack less `stagger` bytes, once it is switched to.
void prepare(fiber &f, void (*entry)(), size_t stagger);

// Stops `from` and continues `to`; returns when somebody switches back. With `for_good` nobody
// will, and the stack may be used again.
void switch_fiber(fiber &from, fiber &to, bool for_good);

// The first thing that a fiber's entry calls.
void arrived(fiber &from_home);

} // namespace emu
