// races.h -- a detector of races: users' code that is compiled with calls before its accesses
// (hooks.cc) is followed here. Two accesses of a word race unless something orders them: one thread;
// a barrier, or __syncwarp, between them; a fence, then an atomic by the one, then an atomic there by
// the other; streams and events. That they ran one after another here orders nothing.
#pragma once
#include "emu/runtime.h"
#include "emu/user_abi.h"

#include <map>
#include <unordered_map>

#pragma GCC visibility push(hidden)

namespace emu
{

// A moment of a block: numbers that only grow. Blocks take them by the chunk, so that a moment tells
// whose it is. A thread's moment changes at what orders its accesses.
using moment = uint64_t;
constexpr int kChunkBits = 9, kMomentBits = 35;
constexpr uint64_t kMostChunks = 1u << (kMomentBits - kChunkBits);

// An access as the shadow keeps it: moment, atomic, thread of the block, site. 0: none.
using access = uint64_t;
constexpr int kSiteBits = 18, kThreadBits = 10;
constexpr uint32_t kMostSites = 1u << kSiteBits;

inline access
access_of(moment when, bool atomic, int thread)
{
    return ((when << 1 | atomic) << kThreadBits | (unsigned)thread) << kSiteBits;
}
inline moment
moment_of(access a)
{
    return a >> (kSiteBits + kThreadBits + 1);
}
inline bool
is_atomic(access a)
{
    return a >> (kSiteBits + kThreadBits) & 1;
}
inline int
thread_of(access a)
{
    return (int)(a >> kSiteBits & ((1 << kThreadBits) - 1));
}
inline uint32_t
site_of(access a)
{
    return a & (kMostSites - 1);
}

// What was last done with a word of four bytes, or with one byte: the last plain write, and since
// then up to three reads or atomics, of different threads.
struct alignas(32) cell {
    access write, other[3];
};

enum word_state : uint8_t { allocated = 1, written = 2, split = 4 }; // split: by bytes

// The cells of a piece of memory.
struct shadow {
    uintptr_t begin = 0;
    size_t size = 0, room = 0; // bytes watched, and for which there are cells
    cell *words = nullptr, *bytes = nullptr;
    uint8_t *states = nullptr; // of words

    void make(size_t most); // throws std::bad_alloc
    void set(size_t at, size_t count, uint8_t state);
    void forget(size_t at, size_t count); // who used it
    bool has(uintptr_t p) const
    {
        return p - begin < size;
    }
};

// What a fence stands behind: the accesses before these moments of the thread itself, of its block
// and of the lanes of its warp.
struct fenced {
    moment own = 0, base = 0, lanes[kWarpLanes] = {};
};

// What an atomic tells all that come to its address later: what its thread's last fences stand behind.
struct knowledge;
struct release {
    uint32_t block;
    int thread;
    moment when;      // the atomic's own
    fenced all, near; // for everybody; for its block
    const knowledge *knows;
    int before; // the block's previous one in this list; -1: none
};
struct release_list {
    uintptr_t address = 0;
    std::vector<release> of;
    std::unordered_map<uint32_t, int> last; // of each block
    std::vector<int> more;                  // those that know of others
};

// The first `count` releases of a list, and what two others know.
struct knowledge {
    const release_list *list;
    int count;
    const knowledge *next, *other;
};

struct fences {
    fenced all, near; // the last for the device, and the last of any kind
};

enum class access_kind { read, write, atomic };

struct step { // of the story
    access what;
    uintptr_t address;
    access_kind kind;
    uint8_t size;
};
constexpr int kSteps = 4096;

struct party { // one of the two accesses
    uint32_t block;
    int thread; // -1: a copy's
    access_kind kind;
    uintptr_t pc;          // the return address of its call; 0: not known
    std::string operation; // another one, of which it is; its stream
};

enum class fault { unordered, unwritten, outside, misaligned };

uint32_t block_of(moment m);

struct race { // found
    fault what;
    uintptr_t address = 0;
    int size = 0;
    party now, before;
    span spaces[4] = {}; // watcher::space
    moment base = 0;     // since which the two threads' steps are told
    std::string text;    // misaligned: where
    std::vector<step> steps;
};

// A block that is watched.
struct watcher {
    block *of = nullptr;
    uint32_t number = 0;           // the block's
    moment first = 0;              // of the block
    moment last = 0;               // given
    moment base = 0;               // since the last barrier
    moment began = 0;              // the launch
    moment settled = 0;            // before that all is ordered before this launch
    moment met = 0;                // before that what the launch did: grid.sync()
    moment clean = 0;              // the last barrier before which no write lacked its fence
    bool alone = true;             // there is one thread of the operating system
    bool knowing = false;          // some thread has acquired something
    volatile bool is_busy = false; // busy lives
    int dirty_count = 0, fence_count = 0;
    moment since[kMostThreads];   // a thread's last __syncwarp or fence
    moment warp_base[kMostWarps]; // likewise of all lanes together
    moment parts
        [kMostWarps]; // and of some of them: then `seen` tells up to when one knows of another
    moment seen[kMostWarps][kWarpLanes][kWarpLanes];
    fences last_fence[kMostThreads];
    bool dirty[kMostThreads]; // wrote to global memory since its last fence
    const knowledge *knows[kMostThreads], *common = nullptr; // one thread; all
    enum { global, fixed, dynamic, variables, spaces };
    shadow *space[spaces];
    shadow fixed_arrays, dynamic_array;
    step steps[kSteps];
    unsigned step_count = 0;

    watched_file *file = nullptr;

    void begin(const grid &g);
    void forget_moments();
    void at_barrier();
    void at_meeting(moment when); // of all blocks; its own barrier follows
    void at_syncwarp(int warp, unsigned lanes);
    void at_fence(int t, scope reach);
    void acquire(int t, uintptr_t address);
    void publish(int t, uintptr_t address);
    bool is_own(moment m) const
    {
        return m >> kChunkBits == last >> kChunkBits ||
               (m >= first && (alone || block_of(m) == number));
    }
    // Before what thread t does now?
    bool is_ordered(int t, access a, uintptr_t address, bool shared) const
    {
        const moment m = moment_of(a);
        return m < (shared ? first : settled) || (m < base && is_own(m)) ||
               is_known(t, a, address);
    }
    moment now(int t) const
    {
        return since[t] > base ? since[t] : base;
    }
    bool is_shared(uintptr_t p) const
    {
        return space[fixed]->has(p) || space[dynamic]->has(p);
    }

  private:
    bool is_known(int t, access a, uintptr_t address) const;
    moment bump(); // the next moment
    fenced before_fence(int t, moment fence) const;
    bool knows_of(int t, access a, uintptr_t address) const;
    const knowledge *both(const knowledge *a, const knowledge *b);
};

// While it lives, no signal's handler leaves the thread where it is: that may hold a lock.
class busy
{
  public:
    explicit busy(watcher *of) : w(of)
    {
        w->is_busy = true;
    }
    ~busy()
    {
        w->is_busy = false;
    }
    busy(const busy &) = delete;

  private:
    watcher *w;
};
[[noreturn]] void give_up(block *b); // for want of memory

// ---- race_order.cc ------------------------------------------------------------------------------

// Before a launch or a copy begins, as which all is noted from then on: g.settled and g.began.
void begin_operation(cudaStream_t stream, const std::string &name, moment *settled,
                     moment *began);
bool is_ordered_operation(moment m); // before the one that runs
std::string operation_of(moment m);  // "kernel k in stream 0x1010"
void forget_operations();
bool streams_are_many();
void order_stream(cudaStream_t stream, int device, bool waits); // a new one
void order_host_after(cudaStream_t stream);
void order_host_after_device();
void order_event(cudaEvent_t event, cudaStream_t stream);
void order_after_event(cudaEvent_t event, cudaStream_t stream);
void order_host_after_event(cudaEvent_t event);

// A copy, or a fill if from is null: what it races with, or nothing.
std::string order_copy(void *to, const void *from, size_t size, const char *what,
                       cudaStream_t stream);

// ---- races.cc -----------------------------------------------------------------------------------

extern std::atomic<bool> races_watched; // some file is
moment take_chunk(uint32_t block);      // a first moment; throws std::bad_alloc
moment next_moment();                   // later than all that were taken
uint32_t site_at(const struct watched_file &in, uintptr_t pc); // its number; 0: none is left
uintptr_t place_of(uint32_t site);                             // pc; 0: not known
shadow &global_shadow();
void number_anew(); // before a launch: lest the numbers run out

// A file whose code is watched, as it has told.
struct watched_file {
    const kernel_entry *const *kernels;
    const variable_entry *const *variables;
    bool program; // all is, then, that touches a device's memory
    shadow data;  // its variables
    uintptr_t code;
    size_t code_size;
    uint32_t *sites; // by place in the code: their numbers
    bool separate;   // all else that it has for each thread is shared arrays
};
watched_file *watched(const object_file *in); // null: it is not
bool program_is_watched();
watcher *watcher_of(block *b); // throws std::bad_alloc
void follow_stacks(block *b);  // likewise: calls from there are its threads'
constexpr int kMostStacks = 256;
extern uintptr_t watched_stacks[kMostStacks];
extern std::atomic<int> stack_count;
void memory_taken(const void *p, size_t size, bool is_written);
void memory_given(const void *p, size_t size);
void memory_written(const void *p, size_t size); // by a copy

// ---- race_sync.cc -------------------------------------------------------------------------------

void forget_releases(); // after a launch

// ---- race_report.cc -----------------------------------------------------------------------------

// Of what addr2line gives for one place, inlined calls first: the user's own line, or "".
std::string own_line(const std::vector<std::string> &frames);
// The source lines of calls, by the addresses where they return to.
std::map<uintptr_t, std::string> lines_of(const std::vector<uintptr_t> &calls);
std::string told(const grid &g, const race &r);
std::string told_of_copy(const char *what, cudaStream_t stream, bool writes, const void *at,
                         access other);

} // namespace emu

#pragma GCC visibility pop
