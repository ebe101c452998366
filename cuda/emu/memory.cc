// memory.cc -- device memory: an arena of its own, so that an address tells whose it is.
//
// Blocks start at multiples of 256, as CUDA's do, with a sealed gap of 128 bytes or more behind
// each. Beyond the 2 MiB in which the last one lies, nothing can be touched.
#include "emu/runtime.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

struct emu_pool {
    uint64_t keep = 0, limit = 0; // bytes
};

namespace emu
{

void
fill_with_junk(void *memory, size_t size)
{
    auto *p = static_cast<unsigned char *>(memory);
    size_t done = std::min(size, sizeof kJunk);
    memcpy(p, &kJunk, done);
    for (size_t more; done < size; done += more) { // what is there already, again
        more = std::min(std::min(done, size_t{4096}), size - done);
        memcpy(p + done, p, more);
    }
}

// Under AddressSanitizer a seal cannot be touched, and an attempt is its report.
void
seal(void *begin, size_t size)
{
    fill_with_junk(begin, size);
    __asan_poison_memory_region(begin, size);
}

void
unseal(void *begin, size_t size)
{
    __asan_unpoison_memory_region(begin, size);
}

size_t
broken_bytes(const void *begin, size_t size)
{
    size_t broken = 0;
#ifndef EMU_ASAN
    const auto *p = static_cast<const unsigned char *>(begin);
    constexpr size_t word = sizeof kJunk;
    if (memcmp(p, &kJunk, word) == 0 && memcmp(p + word, p, size - word) == 0) return 0;
    unsigned char intact[word];
    memcpy(intact, &kJunk, word);
    for (size_t i = 0; i < size; i++) broken += p[i] != intact[i % word];
#endif
    (void)begin;
    (void)size;
    return broken;
}

std::mutex &
device_in_use()
{
    static std::mutex lock;
    return lock;
}

namespace
{

constexpr size_t kAlign = 256;     // of blocks, as CUDA's
constexpr size_t kSeal = 128;      // bytes behind a block at least
constexpr size_t kStep = 2u << 20; // bytes that the arena grows by

struct hole {
    size_t size, resident; // bytes; of those, as many as may hold real pages
};

struct arena {
    char *base = nullptr;
    size_t size = 0, open = 0, top = 0; // reserved; readable; handed out at some time
    std::map<size_t, hole> holes;       // by offset
    std::map<size_t, size_t> blocks;    // by offset: bytes asked for
    size_t used = 0, cached = 0;        // bytes of blocks; resident in holes
    emu_pool pool;

    arena();
    bool grow(size_t end);
    void *take(size_t bytes);
    bool give(void *block);
    void trim();
    bool holds(const void *begin, size_t bytes) const;
};

arena &
device_memory()
{
    static arena a;
    return a;
}

// As much as the machine has, or as this process may map; pages become real when touched.
arena::arena()
{
    for (size = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE); size > kStep;
         size /= 2) {
        void *all =
            mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) continue;
        base = static_cast<char *>(all);
        return;
    }
    size = 0;
}

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

// What a block takes, its seal included.
size_t
room_for(size_t bytes)
{
    return (bytes + kSeal + kAlign - 1) / kAlign * kAlign;
}

void *
arena::take(size_t bytes)
{
    if (bytes > size || (pool.limit && used + bytes > pool.limit)) return nullptr;
    const size_t room = room_for(bytes);
    size_t at = top;
    const auto found = std::find_if(holes.begin(), holes.end(),
                                    [&](const auto &h) { return h.second.size >= room; });
    if (found != holes.end()) {
        at = found->first;
        const hole whole = found->second;
        const size_t taken = std::min(whole.resident, room);
        holes.erase(found);
        if (whole.size > room) holes[at + room] = {whole.size - room, whole.resident - taken};
        cached -= taken;
    } else if (grow(top + room)) {
        top += room;
    } else {
        return nullptr;
    }
    blocks[at] = bytes;
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
    size_t at = found->first;
    hole h = {room_for(found->second), room_for(found->second)};
    used -= found->second;
    cached += h.size;
    blocks.erase(found);
    __asan_poison_memory_region(base + at, h.size);
    const auto after = holes.find(at + h.size);
    if (after != holes.end()) {
        h.size += after->second.size;
        h.resident += after->second.resident;
        holes.erase(after);
    }
    const auto next = holes.lower_bound(at);
    if (next != holes.begin() && std::prev(next)->first + std::prev(next)->second.size == at) {
        at = std::prev(next)->first;
        h.size += std::prev(next)->second.size;
        h.resident += std::prev(next)->second.resident;
    }
    holes[at] = h;
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

// All of it within one block?
bool
arena::holds(const void *begin, size_t bytes) const
{
    const auto at = (size_t)(static_cast<const char *>(begin) - base);
    const auto next = blocks.upper_bound(at);
    if (at >= top || next == blocks.begin()) return false;
    const auto &b = *std::prev(next);
    return at + bytes <= b.first + b.second;
}

} // namespace

size_t
overrun(size_t *size)
{
    arena &a = device_memory();
    size_t all = 0;
    for (const auto &b : a.blocks) {
        char *const end = a.base + b.first + b.second;
        const size_t behind = room_for(b.second) - b.second;
        const size_t broken = broken_bytes(end, behind);
        if (broken == 0) continue;
        if (all == 0) *size = b.second;
        all += broken;
        seal(end, behind); // the next kernel is not to blame
    }
    return all;
}

bool
is_device_memory(const void *p)
{
    const arena &a = device_memory();
    return p >= a.base && p < a.base + a.size;
}

std::vector<span>
blocks_in_use()
{
    const arena &a = device_memory();
    std::vector<span> all;
    for (const auto &b : a.blocks) all.push_back({a.base + b.first, b.second});
    return all;
}

} // namespace emu

// ---- CUDA's names for it --------------------------------------------------------------------

cudaError_t
cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    a.pool.limit = properties->maxSize;
    *pool = &a.pool;
    return cudaSuccess;
}

cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value)
{
    if (which != cudaMemPoolAttrReleaseThreshold) return cudaErrorInvalidValue;
    memcpy(&pool->keep, value, sizeof pool->keep);
    return cudaSuccess;
}

cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr which, void *value)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    uint64_t bytes = a.used;
    if (which == cudaMemPoolAttrReservedMemCurrent)
        bytes += a.cached;
    else if (which != cudaMemPoolAttrUsedMemCurrent)
        return cudaErrorInvalidValue;
    memcpy(value, &bytes, sizeof bytes);
    return cudaSuccess;
}

cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t, size_t keep)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    if (a.cached > keep) a.trim();
    return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *free, size_t *total)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    *total = a.size;
    *free = a.size - a.used;
    return cudaSuccess;
}

cudaError_t
cudaMalloc(void **block, size_t size)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    try {
        *block = a.take(size);
    } catch (const std::bad_alloc &) {
        *block = nullptr;
    }
    return *block ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
cudaFree(void *block)
{
    emu::arena &a = emu::device_memory();
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    return block == nullptr || a.give(block) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaMallocFromPoolAsync(void **block, size_t size, cudaMemPool_t, cudaStream_t)
{
    return cudaMalloc(block, size);
}

cudaError_t
cudaFreeAsync(void *block, cudaStream_t)
{
    return cudaFree(block);
}

cudaError_t
cudaMemsetAsync(void *block, int value, size_t size, cudaStream_t)
{
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    if (size > 0 && !emu::device_memory().holds(block, size)) return cudaErrorInvalidValue;
    memset(block, value, size);
    return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t)
{
    std::lock_guard<std::mutex> hold(emu::device_in_use());
    const emu::arena &a = emu::device_memory();
    const bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool out_of = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (size > 0 && ((into && !a.holds(to, size)) || (out_of && !a.holds(from, size))))
        return cudaErrorInvalidValue;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t
emu::copy_to_symbol(char *to, const void *from, size_t size)
{
    std::lock_guard<std::mutex> hold(device_in_use());
    memcpy(to, from, size);
    return cudaSuccess;
}
