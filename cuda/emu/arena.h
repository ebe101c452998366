// arena.h -- the memory of one device.
#pragma once
#include "emu/runtime.h"

#include <map>

#pragma GCC visibility push(hidden)

struct emu_pool {
    uint64_t keep = 0, limit = 0; // bytes
};

namespace emu
{

constexpr size_t kStep = 2u << 20; // bytes that an arena grows by

struct hole {
    size_t size, resident; // bytes; of those, as many as may hold real pages
    bool managed = false;  // a block
};

struct arena {
    char *base = nullptr;
    size_t size = 0, open = 0, top = 0; // reserved; readable; handed out at some time
    std::map<size_t, hole> holes;       // by offset
    std::map<size_t, hole> blocks;      // by offset: bytes asked for. One type, so that a block
                                        // becomes a hole without a request for memory
    size_t used = 0, cached = 0;        // bytes of blocks; resident in holes
    emu_pool pool;                      // a device has one

    bool grow(size_t end);
    void *take(size_t bytes);
    bool give(void *block);
    void trim();
    size_t left(const char *p, bool *managed = nullptr) const;
    size_t overrun(size_t *size);
    void protect(int how);
};

} // namespace emu

#pragma GCC visibility pop
