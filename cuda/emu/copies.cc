// copies.cc -- copies and fills: both ends are checked against the blocks that they lie in.
#include "emu/races.h"

#include <algorithm>

namespace
{

constexpr size_t kMostPitch = 0x7fffffff; // bytes, as a GPU's

enum class side { host, device, any };

struct sides {
    side to, from;
};

bool
sides_of(cudaMemcpyKind kind, sides *s)
{
    switch (kind) {
    case cudaMemcpyHostToHost: *s = {side::host, side::host}; return true;
    case cudaMemcpyHostToDevice: *s = {side::device, side::host}; return true;
    case cudaMemcpyDeviceToHost: *s = {side::host, side::device}; return true;
    case cudaMemcpyDeviceToDevice: *s = {side::device, side::device}; return true;
    case cudaMemcpyDefault: *s = {side::any, side::any}; return true;
    }
    return false;
}

// Do these bytes lie on that side, and within one block if they begin in one?
bool
reachable(const void *p, size_t size, side where)
{
    const emu::location at = emu::locate(p);
    const bool on_device = at.type == cudaMemoryTypeDevice;
    if (where != side::any && on_device != (where == side::device)) return false;
    return at.type == cudaMemoryTypeUnregistered ? p != nullptr : size <= at.left;
}

bool
is_memory_of(int device, const void *p, size_t size)
{
    const emu::location at = emu::locate(p);
    return at.type == cudaMemoryTypeDevice && at.device == device && size <= at.left;
}

// From the first byte of the first row to the last of the last; 0 where that is too much to be.
size_t
extent(size_t pitch, size_t width, size_t height)
{
    size_t rows, all;
    const bool over = __builtin_mul_overflow(pitch, height - 1, &rows) ||
                      __builtin_add_overflow(rows, width, &all);
    return over ? 0 : all;
}

// With the device's lock held, before bytes are copied, or filled where there is no source: a failure if
// that races with a kernel.
cudaError_t
in_order(void *to, const void *from, size_t size, cudaStream_t stream,
         const char *what = __builtin_FUNCTION())
{
    if (!emu::races_watched) return cudaSuccess;
    try {
        const std::string race = emu::order_copy(to, from, size, what, stream);
        if (race.empty()) return cudaSuccess;
        emu::fail_with(race, true);
        emu::launched(cudaErrorLaunchFailure);
        return cudaErrorLaunchFailure;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

} // namespace

cudaError_t
cudaMemsetAsync(void *p, int value, size_t size, cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    if (size == 0) return cudaSuccess;
    std::lock_guard hold(emu::device_in_use());
    if (size > emu::locate(p).left) return cudaErrorInvalidValue;
    if (const cudaError_t e = in_order(p, nullptr, size, stream)) return e;
    constexpr size_t kSlice = 16 << 20; // whose pages take 10 ms to come
    // A call that stops has no result: what is left of it may stay as it is.
    for (size_t at = 0; at < size && !(at > 0 && emu::asked_to_stop()); at += kSlice)
        memset(static_cast<char *>(p) + at, value, std::min(kSlice, size - at));
    return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    sides s;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    if (!sides_of(kind, &s)) return cudaErrorInvalidMemcpyDirection;
    if (size == 0) return cudaSuccess;
    std::lock_guard hold(emu::device_in_use());
    if (!reachable(to, size, s.to) || !reachable(from, size, s.from))
        return cudaErrorInvalidValue;
    if (const cudaError_t e = in_order(to, from, size, stream)) return e;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t
cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                    cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    if (!emu::is_device(to_device) || !emu::is_device(from_device))
        return cudaErrorInvalidDevice;
    if (size == 0) return cudaSuccess;
    std::lock_guard hold(emu::device_in_use());
    if (!is_memory_of(to_device, to, size) || !is_memory_of(from_device, from, size))
        return cudaErrorInvalidValue;
    if (const cudaError_t e = in_order(to, from, size, stream)) return e;
    memcpy(to, from, size);
    return cudaSuccess;
}

cudaError_t
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                  size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    sides s;
    if (emu::device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    if (!sides_of(kind, &s)) return cudaErrorInvalidMemcpyDirection;
    if (width > to_pitch || width > from_pitch || to_pitch > kMostPitch ||
        from_pitch > kMostPitch)
        return cudaErrorInvalidPitchValue;
    if (width == 0 || height == 0) return cudaSuccess;
    const size_t to_size = extent(to_pitch, width, height);
    const size_t from_size = extent(from_pitch, width, height);
    std::lock_guard hold(emu::device_in_use());
    if (to_size == 0 || from_size == 0 || !reachable(to, to_size, s.to) ||
        !reachable(from, from_size, s.from))
        return cudaErrorInvalidValue;
    for (size_t row = 0; row < height; row++) {
        char *const there = static_cast<char *>(to) + row * to_pitch;
        const char *const here = static_cast<const char *>(from) + row * from_pitch;
        if (const cudaError_t e = in_order(there, here, width, stream)) return e;
        memcpy(there, here, width);
    }
    return cudaSuccess;
}

cudaError_t
emu::copy_to_symbol(char *to, size_t room, const void *from, size_t size, size_t offset,
                    cudaMemcpyKind kind, cudaStream_t stream)
{
    if (const cudaError_t e = planned_failure(cudaErrorUnknown, "cudaMemcpyToSymbolAsync"))
        return e;
    sides s;
    if (device_of(stream) < 0) return cudaErrorInvalidResourceHandle;
    if (!sides_of(kind, &s) || s.to == side::host) return cudaErrorInvalidMemcpyDirection;
    if (offset > room || size > room - offset) return cudaErrorInvalidValue;
    if (size == 0) return cudaSuccess;
    std::lock_guard hold(device_in_use());
    if (!reachable(from, size, s.from)) return cudaErrorInvalidValue;
    memcpy(to + offset, from, size);
    return cudaSuccess;
}
