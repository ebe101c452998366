// pinned.cc -- host memory that the devices may reach too: allocated here, or registered. The
// device's lock guards the list of it.
#include "emu/runtime.h"

#include <algorithm>
#include <map>
#include <new>
#include <stdlib.h>
#include <unistd.h>

namespace
{

constexpr size_t kPage = 4096; // blocks are aligned to it

struct pinned {
    size_t size;
    int device; // that was current when it was made
    bool own;   // by cudaHostAlloc
};

emu::lasting<std::map<char *, pinned>> all_blocks;
auto &blocks = all_blocks.value;
size_t allocated = 0; // bytes of own blocks

size_t
room_for(size_t size)
{
    return (size + kPage - 1) / kPage * kPage;
}

// The first block that ends behind p.
std::map<char *, pinned>::iterator
first_behind(char *p)
{
    auto next = blocks.upper_bound(p);
    if (next != blocks.begin() && p < std::prev(next)->first + std::prev(next)->second.size)
        --next;
    return next;
}

// As much as the machine has: the kernel would hand out more, and kill whoever fills it.
bool
affordable(size_t size)
{
    static const size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return size < all && allocated <= all - size;
}

} // namespace

bool
emu::find_pinned(const void *p, location *at)
{
    char *c = static_cast<char *>(const_cast<void *>(p));
    const auto found = first_behind(c);
    if (found == blocks.end() || found->first > c) return false;
    const pinned &b = found->second;
    *at = {cudaMemoryTypeHost, b.device, (size_t)(found->first + b.size - c)};
    return true;
}

cudaError_t
cudaHostAlloc(void **p, size_t size, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure(cudaErrorMemoryAllocation)) return e;
    *p = nullptr;
    if (flags & ~7u) return cudaErrorInvalidValue;
    if (size == 0) return cudaSuccess;
    const auto hold = emu::device_in_use().briefly();
    if (!affordable(size)) return cudaErrorMemoryAllocation;
    auto *begin = static_cast<char *>(aligned_alloc(kPage, room_for(size)));
    if (begin == nullptr) return cudaErrorMemoryAllocation;
    try {
        blocks[begin] = {size, emu::current_device(), true};
    } catch (const std::bad_alloc &) {
        free(begin);
        return cudaErrorMemoryAllocation;
    }
    allocated += size;
    emu::fill_with_junk(begin, size);
    emu::seal(begin + size, room_for(size) - size);
    *p = begin;
    return cudaSuccess;
}

cudaError_t
cudaFreeHost(void *p)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (p == nullptr) return cudaSuccess;
    const auto hold = emu::device_in_use().briefly();
    const auto found = blocks.find(static_cast<char *>(p));
    if (found == blocks.end() || !found->second.own) return cudaErrorInvalidValue;
    const size_t size = found->second.size;
    blocks.erase(found);
    allocated -= size;
    emu::unseal(static_cast<char *>(p) + size, room_for(size) - size);
    free(p);
    return cudaSuccess;
}

cudaError_t
cudaHostRegister(void *p, size_t size, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    char *const begin = static_cast<char *>(p);
    if (begin == nullptr || size == 0 || flags & ~15u || emu::owner_of(p) >= 0)
        return cudaErrorInvalidValue;
    const auto hold = emu::device_in_use().briefly();
    const auto next = first_behind(begin);
    if (next != blocks.end() && next->first < begin + size)
        return cudaErrorHostMemoryAlreadyRegistered;
    try {
        blocks[begin] = {size, emu::current_device(), false};
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

cudaError_t
cudaHostUnregister(void *p)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const auto hold = emu::device_in_use().briefly();
    const auto found = blocks.find(static_cast<char *>(p));
    if (found == blocks.end() || found->second.own) return cudaErrorHostMemoryNotRegistered;
    blocks.erase(found);
    return cudaSuccess;
}

cudaError_t
cudaHostGetDevicePointer(void **there, void *here, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const auto hold = emu::device_in_use().briefly();
    emu::location at;
    if (flags != 0 || !emu::find_pinned(here, &at)) return cudaErrorInvalidValue;
    *there = here;
    return cudaSuccess;
}

cudaError_t
cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const auto hold = emu::device_in_use().briefly();
    const emu::location at = emu::locate(p);
    void *const address = const_cast<void *>(p);
    if (at.left == 0 && wk_setting_value(WK_SET_EMU_PINNED, 0) && emu::owner_of(p) < 0)
        *attributes = {cudaMemoryTypeHost, emu::current_device(), address, address};
    else if (at.left == 0) // of no block, though it may be in a device's memory
        *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
    else if (at.type == cudaMemoryTypeHost)
        *attributes = {at.type, at.device, address, address};
    else if (emu::is_managed(p))
        *attributes = {cudaMemoryTypeManaged, at.device, address, address};
    else
        *attributes = {at.type, at.device,
                       at.device == emu::current_device() ? address : nullptr, nullptr};
    return cudaSuccess;
}
