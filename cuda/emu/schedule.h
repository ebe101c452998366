// schedule.h -- the order of threads and blocks where it is noted, or goes by a list: schedule.cc.
#pragma once
#include "emu/turns.h"

#include <unordered_set>

#pragma GCC visibility push(hidden)

namespace emu
{

// At a launch: is its order noted, does it go by a list?
void begin_script(grid *g);

// After an atomic or a fence: does another thread go on now? Then pass() turns to that one.
bool is_interrupted(block *b, thread *t, stop what, uintptr_t pc);

// A grid's blocks.
class block_script
{
  public:
    // The one in the place-th place, where the order that holds has chosen this one.
    uint64_t next(const grid &g, uint64_t place, uint64_t chosen, uint64_t count);

  private:
    uint64_t lowest = 0;                // of those that have not run
    std::unordered_set<uint64_t> early; // above it, those that have
};

bool order_is_kept();  // by warpkit_schedule: noted, or
bool order_is_given(); // a list

} // namespace emu

#pragma GCC visibility pop
