// trace.h -- what a kernel's accesses cost a GPU: users' code that is compiled with calls before its
// accesses and at the start of its basic blocks tells of them (race_hooks.cc), lane by lane; here the
// lanes of a warp are brought together again, and their requests counted as a GPU's profiler does.
#pragma once
#include "emu/runtime.h"
#include "emu/trace_abi.h"
#include "emu/user_abi.h"

#include <unordered_map>

#pragma GCC visibility push(hidden)

namespace emu
{

struct tracer;

// What a lane did: 16 bits of depth in calls, the deepest lowest; 32 of place; kind, space, size.
using event = uint64_t;
constexpr int kPlaceShift = 16, kDepthShift = 48;
constexpr int kTraceBarrier = 100; // beside enum collective

inline trace_kind
kind_of_event(uint64_t key)
{
    return (trace_kind)(key >> 12 & 15);
}
inline trace_space
space_of_event(uint64_t key)
{
    return (trace_space)(key >> 8 & 15);
}
inline uint32_t
place_of_event(uint64_t key)
{
    return (uint32_t)(key >> kPlaceShift);
}
inline int
size_of_event(uint64_t key)
{
    return (int)(key & 255);
}

// Which places in the code have come after which, and an order of them all (trace_order.cc).
struct flow {
    std::vector<uint32_t> nodes;             // by place; 0: none
    std::vector<std::vector<uint32_t>> next; // of nodes
    std::vector<uint32_t> rank;
    bool is_ordered = true;
    struct {
        uint32_t from, to;
    } recent[1024] = {};

    static uint32_t slot(uint32_t from, uint32_t to)
    {
        return (from * 31 + to) % 1024;
    }
    uint32_t node_at(uint32_t place);
    static constexpr uint64_t kPart = 0x1fffff;
    uint64_t part(uint64_t key) const // of an order
    {
        return 2 * (uint64_t)rank[nodes[place_of_event(key)]] & kPart;
    }
    void add(uint32_t from, uint32_t to);
    void order();
};

// Where a lane is: in each function that is being called, the last node.
struct cursor {
    static constexpr int kLevels = 8;
    int level = -1;
    uint16_t depth[kLevels];
    uint32_t node[kLevels];

    void come(uint16_t to);
    void go(uint16_t to, uint32_t next)
    {
        if (level < 0 || depth[level] != to) come(to);
        node[level] = next;
    }
};

// Of a lane: the first `done` of its `count` events have been counted.
struct alignas(64) lane_log {
    tracer *to;
    event *events;
    uint64_t *addresses; // of those that have one
    uint32_t done, count, learnt;
    uintptr_t frame;    // of its first event
    cursor here, ahead; // of what is counted; of what is learnt
};

struct cache { // of sectors in lines of 128 bytes; least recently used lines go
    static constexpr int kMostWays = 16;
    struct alignas(64) set {
        uint64_t order;             // of ways, 4 bits each, the latest lowest
        uint32_t epoch;             // the cache's, or there is nothing in it
        uint8_t sectors[kMostWays]; // that are there; << 4: that are dirty. 0: no line
        uint32_t tag[kMostWays];    // of addresses 512 GiB apart it is the same
    };
    std::vector<set> sets;
    uint64_t written_back = 0; // sectors
    uint32_t epoch = 0;
    int ways = 0;

    void make(uint64_t bytes, int ways);
    void forget();
    bool touch(uint64_t sector, bool writes); // was it there?
    void prefetch(uint64_t sector);           // it will be touched soon
    uint64_t flush();                         // sectors that are written back
  private:
    set *set_of(uint64_t line)
    {
        return &sets[(line * 0x9e3779b97f4a7c15u >> 32) * sets.size() >> 32];
    }
};

struct traced_file {
    const kernel_entry *const *kernels;
    uintptr_t code;
    size_t code_size;
    uintptr_t data;
    size_t data_size;
    bool program;
    flow paths;
};

// The counts of one launch.
struct collector {
    trace_request asked = {};
    trace_totals totals = {};
    std::vector<trace_row> rows;
    std::vector<uintptr_t> firsts;           // of rows: an address that was accessed
    std::unordered_map<uint64_t, int> found; // rows by event::key without its depth
    struct {
        uint64_t key;
        int row;
    } recent[256] = {};
    std::vector<trace_site> sites;
    std::vector<trace_record> records;
    cache l1, l2;
    uint64_t stride = 1; // each so many-th block is traced

    int row_of(uint64_t key);
    uint32_t site_of(const char *file, int line, int what);
    void begin(const grid &g);
    void request(const struct tracer &t, int warp, uint64_t key, unsigned lanes,
                 const uint64_t *addresses);
    std::string told(const grid &g);

  private:
    void count_global(trace_row *r, trace_record *of, const uint64_t *sorted, int n,
                      const uint8_t *lanes, int size);
    void to_caches(trace_kind kind, const uint64_t *sectors, int n);
};

// Of a block.
struct tracer {
    static constexpr uint32_t kRoom = 1024; // events of a lane
    block *of = nullptr;
    collector *to = nullptr;
    traced_file *file = nullptr;
    uintptr_t code = 0; // the file's
    size_t code_size = 0;
    uint32_t number = 0; // the block's
    bool first = false;  // of its launch: its paths are learnt before they are counted
    uintptr_t fixed = 0, dynamic = 0;
    size_t fixed_size = 0, dynamic_size = 0;
    span global = {};
    lane_log lanes[kMostThreads] = {};
    struct {
        unsigned lanes; // that went on together last
        uint64_t key;
    } last[kMostWarps] = {};
    struct
    { // what was learnt last: it need not be learnt of a lane that did the same from there
        const event *events;
        uint32_t count;
        cursor before, after;
    } lesson = {};

    tracer();
    void begin(const grid &g);
    void note(thread *t, uint64_t key, uint64_t address);
    void stop();
    void mark(thread *t, int what, unsigned lanes, site at);
    void catch_up(int warp, bool to_end); // to_end: no lane does more
    void note_elsewhere(thread *t, trace_kind kind, uintptr_t address, size_t size,
                        uint64_t place, uintptr_t frame);
    static uint64_t key_of(lane_log *l, trace_kind kind, trace_space space, size_t size,
                           uint64_t place, uintptr_t frame);

  private:
    struct heads { // what lanes do next
        uint64_t keys[kWarpLanes];
        struct {
            uint64_t key, order;
            uint64_t calls; // the order without the key's own part
            unsigned lanes;
            int shift;        // where that is
        } groups[kWarpLanes]; // of those that are at no collective
        int count;
        unsigned have, marks; // lanes that have an event; a collective
        unsigned late;        // that have yet to do it, and that may come first
    };
    void look_ahead(int warp, unsigned lanes, bool to_end, heads *h) const;
    void join(const lane_log &l, unsigned lane, uint64_t key, heads *h) const;
    void note_parting(int warp, const heads &h);
    void replay(int warp, bool to_end);
    void learn(lane_log *l);
    uint64_t calls_of(const lane_log &l, uint64_t key, int *shift) const;
    unsigned step(int warp, heads *h, unsigned complete);
    uint32_t run_of(const lane_log *l, const heads &h, int first) const;
    void go_on(int warp, unsigned group, uint32_t steps);
    unsigned meet(int warp, const heads &h, unsigned able);
    void note_in_new_room(thread *t, uint64_t key, uint64_t address);
};

// Where a lane stands before an event: in its kernel, and in the functions that are being called from there.
// Who has not come to a call is before those within. Three parts of 21 bits: of two calls, if there are,
// which are told here, and of the event's own place.
inline uint64_t
tracer::calls_of(const lane_log &l, uint64_t key, int *shift) const
{
    const auto depth = (uint16_t)(key >> kDepthShift);
    const cursor &c = l.here;
    int level = c.level;
    *shift = 42;
    if (level <= 0 && (level < 0 || c.depth[0] <= depth)) return 0;
    while (level >= 0 && c.depth[level] < depth) level--;
    if (level < 0 || c.depth[level] != depth) level++;
    const flow &f = file->paths;
    uint64_t calls = 0;
    for (int i = 0; i < (level < 2 ? level : 2); i++, *shift -= 21)
        calls |= ((2 * (uint64_t)f.rank[c.node[i]] + 1) & flow::kPart) << *shift;
    return calls;
}

inline __attribute__((always_inline)) void
tracer::note(thread *t, uint64_t key, uint64_t address)
{
    lane_log &l = *t->log;
    if (__builtin_expect(l.count == kRoom, 0)) return note_in_new_room(t, key, address);
    l.events[l.count] = key;
    if (kind_of_event(key) != trace_kind::block) l.addresses[l.count] = address;
    l.count++;
}

inline uint64_t
tracer::key_of(lane_log *l, trace_kind kind, trace_space space, size_t size, uint64_t place,
               uintptr_t frame)
{
    if (l->frame == 0) l->frame = frame;
    const uint64_t depth = (0xc000 - (l->frame - frame) / 16) & 0xffff;
    return depth << kDepthShift | place << kPlaceShift | (uint64_t)kind << 12 |
           (uint64_t)space << 8 | size;
}

// From a call in a kernel: `frame` is the callee's. Calls nothing that it would come back from.
inline __attribute__((always_inline)) void
trace_event(thread *t, trace_kind kind, uintptr_t address, size_t size, uintptr_t pc,
            uintptr_t frame)
{
    tracer *const to = t->log->to;
    const uint64_t place = pc - to->code;
    if (place >= to->code_size) return; // another file's
    trace_space s = trace_space::none;
    if (kind != trace_kind::block) {
        if (address - (uintptr_t)to->global.begin < to->global.size)
            s = trace_space::global;
        else if (address - to->fixed < to->fixed_size ||
                 address - to->dynamic < to->dynamic_size)
            s = trace_space::shared;
        else
            return to->note_elsewhere(t, kind, address, size, place, frame);
    }
    to->note(t, tracer::key_of(t->log, kind, s, size, place, frame), address);
}

// When a lane waits, or is done: if none of its warp can go on, what they did is counted. Of a launch's
// first block as late as there is room: lanes that meet inside a branch have not been round its loop yet,
// and nobody could know that the loop comes back.
inline void
trace_wait(const block *b, const thread *t)
{
    if (b->tracing && !b->tracing->first && b->of_warp[t->warp].ready == 0)
        b->tracing->catch_up(t->warp, false);
}

// ---- trace.cc -----------------------------------------------------------------------------------

void trace_launch(grid *g);  // before it; throws std::bad_alloc
void end_trace(grid *g);     // after it
tracer *tracer_of(block *b); // null: not this block
void end_block(tracer *t);

} // namespace emu

#pragma GCC visibility pop
