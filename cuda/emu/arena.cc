// arena.cc -- the memory of one device: blocks of it and the holes between them.
//
// Blocks start at multiples of 256, as CUDA's do, with a sealed gap of 128 bytes or more behind
// each. Beyond the 2 MiB in which the last one lies, nothing can be touched.
#include "emu/arena.h"

#include <algorithm>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

namespace emu
{

namespace
{

void
fill(void *memory, size_t size, uint32_t word)
{
    auto *p = static_cast<unsigned char *>(memory);
    size_t done = std::min(size, sizeof word);
    memcpy(p, &word, done);
    for (size_t more; done < size; done += more) { // what is there already, again
        more = std::min(std::min(done, size_t{4096}), size - done);
        memcpy(p + done, p, more);
    }
}

// Each seal has a word of its own, or a copy past the ends of two blocks would break none. As a float
// it is a signalling NaN, which arithmetic makes a quiet one.
uint32_t
word_of_seal(const void *begin)
{
    const auto place = (uint32_t)((uintptr_t)begin / sizeof(uint32_t));
    return 0xffa00001u | (place * 0x9e3779b9u >> 11);
}

} // namespace

// Of a large block both ends: pages come slowly, and nobody may ask for the rest.
void
fill_with_junk(void *memory, size_t size)
{
    constexpr size_t kEnd = 32 << 20;
    const size_t last = size > 2 * kEnd ? (size - kEnd) / sizeof kJunk * sizeof kJunk : 0;
    if (last > 0) fill(memory, kEnd, kJunk);
    fill(static_cast<char *>(memory) + last, size - last, kJunk);
}

// Under AddressSanitizer a seal cannot be touched, and an attempt is its report.
void
seal(void *begin, size_t size)
{
    fill(begin, size, word_of_seal(begin));
    __asan_poison_memory_region(begin, size);
}

void
unseal(void *begin, [[maybe_unused]] size_t size)
{
    __asan_unpoison_memory_region(begin, size);
}

size_t
broken_bytes(const void *begin, size_t size)
{
    size_t broken = 0;
#ifndef EMU_ASAN
    const auto *p = static_cast<const unsigned char *>(begin);
    const uint32_t own = word_of_seal(begin);
    constexpr size_t word = sizeof own;
    if (memcmp(p, &own, word) == 0 && memcmp(p + word, p, size - word) == 0) return 0;
    unsigned char intact[word];
    memcpy(intact, &own, word);
    for (size_t i = 0; i < size; i++) broken += p[i] != intact[i % word];
#endif
    (void)begin;
    (void)size;
    return broken;
}

namespace
{

constexpr size_t kAlign = 256; // of blocks, as CUDA's
constexpr size_t kSeal = 128;  // bytes behind a block at least

// What a block takes, its seal included.
size_t
room_for(size_t bytes)
{
    return (bytes + kSeal + kAlign - 1) / kAlign * kAlign;
}

} // namespace

bool
arena::grow(size_t end)
{
    if (end > size) return false;
    const size_t wanted = std::min((end + kStep - 1) / kStep * kStep, size);
    if (wanted <= open) return true;
    if (mprotect(base + open, wanted - open, PROT_READ | PROT_WRITE) != 0) return false;
    __asan_poison_memory_region(base + open, wanted - open);
    open = wanted;
    return true;
}

void *
arena::take(size_t bytes)
{
    if (bytes > size || (pool.limit && used + bytes > pool.limit)) return nullptr;
    const size_t room = room_for(bytes);
    const auto found = std::find_if(holes.begin(), holes.end(),
                                    [&](const auto &h) { return h.second.size >= room; });
    if (found == holes.end() && !grow(top + room)) return nullptr;
    const size_t at = found == holes.end() ? top : found->first;
    blocks[at] = {bytes, 0}; // may throw: nothing is changed yet
    if (found != holes.end()) {
        auto whole = holes.extract(found);
        const size_t taken = std::min(whole.mapped().resident, room);
        whole.key() = at + room;
        whole.mapped().size -= room;
        whole.mapped().resident -= taken;
        if (whole.mapped().size > 0) holes.insert(std::move(whole));
        cached -= taken;
    } else {
        top += room;
    }
    used += bytes;
    unseal(base + at, room);
    fill_with_junk(base + at, bytes);
    seal(base + at + bytes, room - bytes);
    return base + at;
}

bool
arena::give(void *block)
{
    const auto found = blocks.find((size_t)(static_cast<char *>(block) - base));
    if (found == blocks.end()) return false;
    auto own = blocks.extract(found);
    hole &h = own.mapped();
    used -= h.size;
    h.size = h.resident = room_for(h.size);
    cached += h.size;
    __asan_poison_memory_region(base + own.key(), h.size);
    const auto after = holes.find(own.key() + h.size);
    if (after != holes.end()) {
        h.size += after->second.size;
        h.resident += after->second.resident;
        holes.erase(after);
    }
    const auto next = holes.lower_bound(own.key());
    if (next != holes.begin() &&
        std::prev(next)->first + std::prev(next)->second.size == own.key()) {
        std::prev(next)->second.size += h.size;
        std::prev(next)->second.resident += h.resident;
    } else {
        holes.insert(std::move(own));
    }
    if (cached > pool.keep) trim();
    return true;
}

void
arena::trim()
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (auto &h : holes) {
        const size_t from = (h.first + page - 1) / page * page;
        const size_t to = (h.first + h.second.size) / page * page;
        if (from < to) madvise(base + from, to - from, MADV_DONTNEED);
        h.second.resident = 0;
    }
    cached = 0;
}

// Bytes from p to the end of its block; 0 where there is no block.
size_t
arena::left(const char *p, bool *managed) const
{
    const auto at = (size_t)(p - base);
    const auto next = blocks.upper_bound(at);
    if (at >= top || next == blocks.begin()) return 0;
    const size_t end = std::prev(next)->first + std::prev(next)->second.size;
    if (managed) *managed = at < end && std::prev(next)->second.managed;
    return at < end ? end - at : 0;
}

size_t
arena::overrun(size_t *bytes)
{
    size_t all = 0;
    for (const auto &b : blocks) {
        const size_t asked = b.second.size, behind = room_for(asked) - asked;
        char *const end = base + b.first + asked;
        const size_t broken = broken_bytes(end, behind);
        if (broken == 0) continue;
        if (all == 0) *bytes = asked;
        all += broken;
        seal(end, behind); // the next kernel is not to blame
    }
    return all;
}

void
arena::protect(int how)
{
    if (open > 0 && mprotect(base, open, how) != 0) abort(); // nothing could go on
}

} // namespace emu
