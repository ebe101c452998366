// race_order.cc -- the order of launches and copies in a watched program: by stream, by event, and by what
// the host has waited for.
#include "emu/races.h"

#include <algorithm>

namespace emu
{

namespace
{

using line = uintptr_t; // a stream, the default one of each device among them
using clock_of = std::map<line, uint64_t>; // how many operations of each are known to be done

struct operation { // a launch or a copy
    moment first;
    line in;
    uint64_t number; // in its stream
    std::string name;
    bool ordered; // before the one that runs
};

struct stream_state {
    int device = 0;
    bool waits = false; // for the default stream, and that for it
    uint64_t count = 0;
    clock_of known;
};

std::mutex lock; // of what follows
lasting<std::map<line, stream_state>> all_streams;
lasting<std::map<cudaEvent_t, clock_of>> all_events;
lasting<std::vector<operation>> all_operations;
lasting<clock_of> of_host;
auto &streams = all_streams.value;
auto &events = all_events.value;
auto &operations = all_operations.value; // by their first moments
auto &host = of_host.value;
std::atomic<bool> made{false}; // a stream beside the default ones
moment latest;                 // of the one that runs: its first

void
join(clock_of *to, const clock_of &from)
{
    for (const auto &[in, count] : from) (*to)[in] = std::max((*to)[in], count);
}

bool
knows(const clock_of &clock, const operation &o)
{
    const auto found = clock.find(o.in);
    return found != clock.end() && found->second >= o.number;
}

bool
is_default(cudaStream_t stream)
{
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

line
line_of(cudaStream_t stream)
{
    if (!is_default(stream)) return reinterpret_cast<line>(stream);
    const int device = current_device(); // a handle is no such number
    streams[(line)device].device = device;
    return (line)device;
}

// What is done when the next operation of a stream begins.
clock_of
known_in(line in)
{
    const stream_state &own = streams[in];
    clock_of known = own.known;
    join(&known, host);
    const bool is_first = in == (line)own.device;
    for (const auto &s : streams)
        if (s.second.device == own.device && (is_first ? s.second.waits : own.waits) &&
            (is_first || s.first == (line)own.device))
            join(&known, s.second.known);
    return known;
}

// With the lock held.
const operation *
find(moment m)
{
    const auto after =
        std::upper_bound(operations.begin(), operations.end(), m,
                         [](moment a, const operation &o) { return a < o.first; });
    return after == operations.begin() ? nullptr : &*std::prev(after);
}

} // namespace

void
begin_operation(cudaStream_t stream, const std::string &name, moment *settled, moment *began)
{
    *settled = *began = take_chunk(0);
    if (!program_is_watched()) return;
    std::lock_guard hold(lock);
    const line in = line_of(stream);
    clock_of known = known_in(in);
    operations.erase(operations.begin(),
                     std::find_if(operations.begin(), operations.end(),
                                  [](const operation &o) { return !knows(host, o); }));
    for (operation &o : operations) {
        o.ordered = knows(known, o);
        if (!o.ordered) *settled = std::min(*settled, o.first);
    }
    stream_state &own = streams[in];
    known[in] = ++own.count;
    own.known = std::move(known);
    operations.push_back({*began, in, own.count, name, false});
    latest = *began;
}

bool
is_ordered_operation(moment m)
{
    std::lock_guard hold(lock);
    const operation *o = find(m);
    return o == nullptr || o->ordered || o->first == latest;
}

std::string
operation_of(moment m)
{
    std::lock_guard hold(lock);
    const operation *o = find(m);
    if (o == nullptr) return "an earlier launch";
    char text[60];
    snprintf(text, sizeof text,
             o->in < kMostDevices ? " in the default stream" : " in stream %#zx",
             (size_t)o->in);
    return o->name + text;
}

void
forget_operations()
{
    std::lock_guard hold(lock);
    operations.clear();
}

bool
streams_are_many()
{
    return made;
}

void
order_stream(cudaStream_t stream, int device, bool waits)
{
    std::lock_guard hold(lock);
    streams[reinterpret_cast<line>(stream)] = {device, waits, 0, {}};
    made = true;
}

void
order_host_after(cudaStream_t stream)
{
    std::lock_guard hold(lock);
    join(&host, known_in(line_of(stream)));
}

void
order_host_after_device()
{
    std::lock_guard hold(lock);
    for (const auto &s : streams)
        if (s.second.device == current_device()) join(&host, s.second.known);
}

void
order_event(cudaEvent_t event, cudaStream_t stream)
{
    std::lock_guard hold(lock);
    events[event] = known_in(line_of(stream));
}

void
order_after_event(cudaEvent_t event, cudaStream_t stream)
{
    std::lock_guard hold(lock);
    join(&streams[line_of(stream)].known, events[event]);
}

void
order_host_after_event(cudaEvent_t event)
{
    std::lock_guard hold(lock);
    join(&host, events[event]);
}

// ---- copies ---------------------------------------------------------------------------------------

namespace
{

// The access of a cell that is not ordered before this copy; else its own is noted. 0: all are.
access
copied(cell *c, moment began, bool writes)
{
    const auto races = [&](access a) {
        return a != 0 && moment_of(a) < began && !is_ordered_operation(moment_of(a));
    };
    if (races(c->write)) return c->write;
    for (const access o : c->other)
        if ((writes || is_atomic(o)) && races(o)) return o;
    const access own = access_of(began, false, 0);
    if (writes)
        *c = {own, {}};
    else
        *c = {c->write, {own, c->other[0], c->other[1]}};
    return 0;
}

// Of memory that a copy reads or writes: whom it races with.
std::string
copy_range(const char *begin, size_t size, bool writes, const char *what, cudaStream_t stream,
           moment began)
{
    shadow &g = global_shadow();
    const size_t at = (uintptr_t)begin - g.begin;
    for (size_t b = at; b < at + size; b++) {
        const bool whole = !(g.states[b / 4] & split);
        const access other = copied(whole ? &g.words[b / 4] : &g.bytes[b], began, writes);
        if (other) return told_of_copy(what, stream, writes, begin + (b - at), other);
        if (whole) b = b / 4 * 4 + 3;
    }
    return "";
}

} // namespace

std::string
order_copy(void *to, const void *from, size_t size, const char *what, cudaStream_t stream)
{
    if (owner_of(to) >= 0) memory_written(to, size);
    if (!streams_are_many()) return ""; // all is in order
    moment settled, began;
    begin_operation(stream, what, &settled, &began);
    std::string text;
    if (from && owner_of(from) >= 0)
        text = copy_range(static_cast<const char *>(from), size, false, what, stream, began);
    if (text.empty() && owner_of(to) >= 0)
        text = copy_range(static_cast<char *>(to), size, true, what, stream, began);
    return text;
}

} // namespace emu
