// memory.cc -- device memory: an arena for each device, so that an address tells whose it is.
#include "emu/arena.h"
#include "emu/later.h"
#include "emu/races.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace emu
{

device_lock &
device_in_use()
{
    static device_lock lock;
    return lock;
}

void
device_lock::lock()
{
    std::unique_lock hold(state);
    free.wait(hold, [this] { return !held; });
    held = true;
}

void
device_lock::unlock()
{
    {
        std::lock_guard hold(state);
        held = false;
    }
    free.notify_all();
}

// A launch asks so often and so shortly that it tells nobody.
std::unique_lock<std::mutex>
device_lock::briefly()
{
    constexpr std::chrono::milliseconds kAgain{1};
    std::unique_lock hold(state);
    while (!free.wait_for(hold, kAgain, [this] { return !held || asking > 0; })) continue;
    return hold;
}

void
device_lock::settle()
{
    std::lock_guard wait(state);
}

namespace
{

// Bytes before the first device's memory that nobody may touch: in front of its first block, where x[-1]
// is, the process may have memory of its own.
constexpr size_t kBefore = 32 * kStep;

// The memory of all devices: as much as the machine has, or as this process may map, in equal
// parts. Pages become real when touched.
struct memory {
    char *base = nullptr;
    size_t part = 0; // bytes of each device
    int devices = std::max(device_count(), 1);
    arena of[kMostDevices];

    memory()
    {
        size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        void *found = MAP_FAILED;
        for (; all > kStep * (size_t)devices && found == MAP_FAILED; all /= 2) {
            part = all / (size_t)devices / kStep * kStep;
            found = mmap(nullptr, kBefore + part * (size_t)devices, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        }
        if (found == MAP_FAILED)
            part = 0;
        else
            base = static_cast<char *>(found) + kBefore;
        for (int i = 0; i < devices; i++) {
            of[i].base = base + (size_t)i * part;
            of[i].size = part;
        }
    }
};

memory &
device_memory()
{
    static lasting<memory> all;
    return all.value;
}

arena &
current_memory()
{
    return device_memory().of[current_device()];
}

// Null: it is none.
arena *
arena_of(cudaMemPool_t pool)
{
    memory &m = device_memory();
    for (int i = 0; i < m.devices; i++)
        if (&m.of[i].pool == pool) return &m.of[i];
    return nullptr;
}

cudaError_t
allocate(arena *a, size_t size, void **block)
{
    const auto hold = device_in_use().briefly();
    try {
        *block = a->take(size);
        if (*block && races_watched) memory_taken(*block, size, !program_is_watched());
    } catch (const std::bad_alloc &) {
        *block = nullptr;
    }
    return *block ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
give_back(void *block)
{
    const auto hold = device_in_use().briefly();
    const int owner = owner_of(block);
    if (block == nullptr) return cudaSuccess;
    const size_t size = locate(block).left;
    if (owner < 0 || !device_memory().of[owner].give(block)) return cudaErrorInvalidValue;
    if (races_watched) memory_given(block, size);
    return cudaSuccess;
}

} // namespace

size_t
memory_of(int device)
{
    return device_memory().of[device].size;
}

size_t
overrun(int device, size_t *size)
{
    device_in_use().settle(); // a launch has it, and may have asked a moment ago
    return device_memory().of[device].overrun(size);
}

int
owner_of(const void *p)
{
    const memory &m = device_memory();
    const auto at = (size_t)(static_cast<const char *>(p) - m.base);
    return at < m.part * (size_t)m.devices ? (int)(at / m.part) : -1;
}

location
locate(const void *p)
{
    location at = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, 0};
    const int owner = owner_of(p);
    if (owner < 0)
        find_pinned(p, &at);
    else
        at = {cudaMemoryTypeDevice, owner,
              device_memory().of[owner].left(static_cast<const char *>(p))};
    return at;
}

void
note_managed(const void *block)
{
    const auto hold = device_in_use().briefly();
    if (const int owner = owner_of(block); owner >= 0) {
        arena &a = device_memory().of[owner];
        const auto found = a.blocks.find((size_t)(static_cast<const char *>(block) - a.base));
        if (found != a.blocks.end()) found->second.managed = true;
    }
}

bool
is_managed(const void *p)
{
    bool managed = false;
    if (const int owner = owner_of(p); owner >= 0)
        device_memory().of[owner].left(static_cast<const char *>(p), &managed);
    return managed;
}

one_device::one_device(int device) : own(device)
{
    memory &m = device_memory();
    for (int i = 0; i < m.devices; i++)
        if (i != own) m.of[i].protect(PROT_NONE);
}

one_device::~one_device()
{
    memory &m = device_memory();
    for (int i = 0; i < m.devices; i++)
        if (i != own) m.of[i].protect(PROT_READ | PROT_WRITE);
}

std::vector<span>
blocks_in_use(int device)
{
    const arena &a = device_memory().of[device];
    std::vector<span> all;
    for (const auto &b : a.blocks) all.push_back({a.base + b.first, b.second.size});
    return all;
}

span
all_device_memory()
{
    const memory &m = device_memory();
    return {m.base, m.part * (size_t)m.devices};
}

} // namespace emu

// ---- CUDA's names for it --------------------------------------------------------------------

cudaError_t
cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (!emu::is_device(properties->location.id)) return cudaErrorInvalidDevice;
    emu::arena &a = emu::device_memory().of[properties->location.id];
    const auto hold = emu::device_in_use().briefly();
    a.pool.limit = properties->maxSize;
    *pool = &a.pool;
    return cudaSuccess;
}

cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (which != cudaMemPoolAttrReleaseThreshold || !emu::arena_of(pool))
        return cudaErrorInvalidValue;
    const auto hold = emu::device_in_use().briefly();
    memcpy(&pool->keep, value, sizeof pool->keep);
    return cudaSuccess;
}

cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const emu::arena *a = emu::arena_of(pool);
    if (a == nullptr) return cudaErrorInvalidValue;
    const auto hold = emu::device_in_use().briefly();
    uint64_t bytes = 0;
    switch (which) {
    case cudaMemPoolAttrReleaseThreshold: bytes = a->pool.keep; break;
    case cudaMemPoolAttrReservedMemCurrent: bytes = a->used + a->cached; break;
    case cudaMemPoolAttrUsedMemCurrent: bytes = a->used; break;
    default: return cudaErrorInvalidValue;
    }
    memcpy(value, &bytes, sizeof bytes);
    return cudaSuccess;
}

cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    emu::arena *a = emu::arena_of(pool);
    if (a == nullptr) return cudaErrorInvalidValue;
    const auto hold = emu::device_in_use().briefly();
    if (a->cached > keep) a->trim();
    return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *free, size_t *total)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const emu::arena &a = emu::current_memory();
    const auto hold = emu::device_in_use().briefly();
    *total = a.size;
    *free = a.size - a.used;
    return cudaSuccess;
}

cudaError_t
cudaMalloc(void **block, size_t size)
{
    if (const cudaError_t e = emu::planned_failure(cudaErrorMemoryAllocation)) return e;
    return emu::allocate(&emu::current_memory(), size, block);
}

cudaError_t
cudaFree(void *block)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (emu::races_watched) emu::order_host_after_device();
    return emu::give_back(block);
}

cudaError_t
cudaMallocFromPoolAsync(void **block, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure(cudaErrorMemoryAllocation)) return e;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    emu::arena *a = emu::arena_of(pool);
    return a ? emu::allocate(a, size, block) : cudaErrorInvalidValue;
}

cudaError_t
cudaFreeAsync(void *block, cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    return emu::give_back(block);
}
