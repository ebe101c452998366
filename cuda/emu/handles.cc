// handles.cc -- streams and events. All work is done when a call returns, so nothing waits here;
// what is checked is that a handle is one, and whose.
#include "emu/races.h"

#include <chrono>
#include <map>
#include <new>

namespace
{

using clock_type = std::chrono::steady_clock;

struct event {
    int device;
    bool timed;
    uint64_t record = 0;           // its number among all; 0: never
    cudaStream_t stream = nullptr; // that it was last recorded in
    clock_type::time_point when = {};
    int late = 0; // queries yet to be answered by cudaErrorNotReady
};

// A handle is a number and never given twice, so that one that was destroyed stays unknown. Not
// the lock of launches and copies: asking for an event must not wait for a kernel.
std::mutex lock;
uintptr_t last = 0x1000;
uint64_t records = 0;
emu::lasting<std::map<cudaStream_t, int>> all_streams;
emu::lasting<std::map<cudaEvent_t, event>> all_events;
auto &streams = all_streams.value; // the device of each
auto &events = all_events.value;

template <typename Handle, typename T>
cudaError_t
add(std::map<Handle, T> *all, const T &what, Handle *handle)
{
    std::lock_guard<std::mutex> hold(lock);
    try {
        const auto fresh = reinterpret_cast<Handle>(last + 0x10);
        all->emplace(fresh, what);
        *handle = fresh;
        last += 0x10;
        return cudaSuccess;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

// With the lock held.
int
device_of_stream(cudaStream_t stream)
{
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return emu::current_device();
    const auto found = streams.find(stream);
    return found == streams.end() ? -1 : found->second;
}

event *
find(cudaEvent_t handle)
{
    const auto found = events.find(handle);
    return found == events.end() ? nullptr : &found->second;
}

// What a program has waited for is not late any more: the records in a stream up to this one.
void
catch_up(int device, cudaStream_t stream, uint64_t record)
{
    for (auto &e : events)
        if (e.second.device == device && e.second.stream == stream && e.second.record <= record)
            e.second.late = 0;
}

cudaError_t
wait_for(cudaStream_t stream)
{
    std::lock_guard<std::mutex> hold(lock);
    const int device = device_of_stream(stream);
    if (device < 0) return cudaErrorInvalidResourceHandle;
    catch_up(device, stream, records);
    if (emu::races_watched) emu::order_host_after(stream);
    return cudaSuccess;
}

} // namespace

int
emu::device_of(cudaStream_t stream)
{
    std::lock_guard<std::mutex> hold(lock);
    return device_of_stream(stream);
}

cudaError_t
cudaDeviceSynchronize()
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (emu::races_watched) emu::order_host_after_device();
    std::lock_guard<std::mutex> hold(lock);
    for (auto &e : events)
        if (e.second.device == emu::current_device()) e.second.late = 0;
    return cudaSuccess;
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (flags & ~(unsigned)cudaStreamNonBlocking) return cudaErrorInvalidValue;
    const cudaError_t e = add(&streams, emu::current_device(), stream);
    if (e == cudaSuccess && emu::races_watched)
        emu::order_stream(*stream, emu::current_device(), flags != cudaStreamNonBlocking);
    return e;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    return streams.erase(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t
cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const int owner = emu::device_of(stream);
    if (owner < 0) return cudaErrorInvalidResourceHandle;
    *device = owner;
    return cudaSuccess;
}

cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    return wait_for(stream);
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    return wait_for(stream);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    if (flags > 1) return cudaErrorInvalidValue;
    if (device_of_stream(stream) < 0 || !find(handle)) return cudaErrorInvalidResourceHandle;
    if (emu::races_watched) emu::order_after_event(handle, stream);
    return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *handle, unsigned flags)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    if (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming))
        return cudaErrorInvalidValue;
    return add(&events, event{emu::current_device(), !(flags & cudaEventDisableTiming)},
               handle);
}

cudaError_t
cudaEventDestroy(cudaEvent_t handle)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    return events.erase(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t
cudaEventRecord(cudaEvent_t handle, cudaStream_t stream)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    const int late = (int)wk_setting_value(WK_SET_EMU_LATE, 0);
    std::lock_guard<std::mutex> hold(lock);
    event *own = find(handle);
    if (own == nullptr || own->device != device_of_stream(stream))
        return cudaErrorInvalidResourceHandle;
    own->record = ++records;
    own->stream = stream;
    own->when = clock_type::now();
    own->late = late;
    if (emu::races_watched) emu::order_event(handle, stream);
    return cudaSuccess;
}

cudaError_t
cudaEventQuery(cudaEvent_t handle)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    event *own = find(handle);
    if (own == nullptr) return cudaErrorInvalidResourceHandle;
    if (own->late > 0) {
        own->late--;
        return cudaErrorNotReady;
    }
    catch_up(own->device, own->stream, own->record);
    if (emu::races_watched) emu::order_host_after_event(handle);
    return cudaSuccess;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t handle)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    event *own = find(handle);
    if (own == nullptr) return cudaErrorInvalidResourceHandle;
    catch_up(own->device, own->stream, own->record);
    if (emu::races_watched) emu::order_host_after_event(handle);
    return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    if (const cudaError_t e = emu::planned_failure()) return e;
    std::lock_guard<std::mutex> hold(lock);
    const event *a = find(start), *b = find(end);
    if (!a || !b || a->record == 0 || b->record == 0 || !a->timed || !b->timed ||
        a->device != b->device)
        return cudaErrorInvalidResourceHandle;
    if (a->late > 0 || b->late > 0) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b->when - a->when).count();
    return cudaSuccess;
}
