// weak.cc -- weak memory, for finding a missing __threadfence without instrumenting a store:
// one block after another works on device memory itself, and what it wrote is taken back when it
// ends, unless a fence came after. Costs a copy of all device memory at each block and fence.
#include "emu/runtime.h"

namespace emu
{

weak_memory::weak_memory(int device)
{
    for (const span &s : blocks_in_use(device))
        memory.push_back({s, std::string(s.begin, s.size)});
}

// A fence is one thread's, and orders what that thread has seen; what the other threads of its
// block have written is published with it, though no barrier may stand between.
void
weak_memory::publish()
{
    for (image &i : memory) memcpy(&i.seen[0], i.now.begin, i.now.size);
}

void
weak_memory::update(void *address, size_t size)
{
    for (image &i : memory) {
        const auto at = (size_t)(static_cast<char *>(address) - i.now.begin);
        if (at < i.now.size) memcpy(&i.seen[at], address, size);
    } // else it lies in shared memory
}

void
weak_memory::end_block()
{
    for (image &i : memory) {
        if (memcmp(&i.seen[0], i.now.begin, i.now.size) == 0) continue;
        for (size_t at = 0; at < i.now.size; at++) {
            size_t past = at;
            while (past < i.now.size && i.seen[past] != i.now.begin[past]) past++;
            if (past == at) continue;
            hidden.push_back({i.now.begin + at, std::string(i.now.begin + at, past - at)});
            memcpy(i.now.begin + at, &i.seen[at], past - at);
            at = past;
        }
    }
}

void
weak_memory::end_kernel()
{
    for (const write &w : hidden) memcpy(w.at, w.bytes.data(), w.bytes.size());
}

} // namespace emu
