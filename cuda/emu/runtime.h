// runtime.h -- what the files of the emulator share: a block at work, its warps and lanes.
#pragma once
#include "emu/api.h"
#include "emu/fiber.h"
#include "emu/warp.h"
#include "settings.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <signal.h>
#include <stdarg.h>
#include <string>
#include <time.h>
#include <vector>

#pragma GCC visibility push(hidden)

namespace emu
{

constexpr int kWarpLanes = 32, kMostThreads = 1024, kMostWarps = kMostThreads / kWarpLanes;
constexpr int kProcessors = 4; // reported; so few, so that small grids go round their loops too
constexpr int kMostDevices = 32;
constexpr size_t kMostShared = 48 * 1024; // in bytes: what a GPU gives a block without asking
constexpr size_t kMostSharedOptin = 227 * 1024;              // and for cudaFuncSetAttribute
constexpr int kResidentThreads = 2048, kResidentBlocks = 32; // of a multiprocessor
constexpr size_t kResidentShared = 228 * 1024,
                 kReservedShared = 1024; // that, and of it a block's
constexpr size_t kSealShared = 4096;     // behind it
constexpr size_t kSignalStack = 64 * 1024;
constexpr size_t kReport = 4096; // characters of what went wrong, at most

// A variable that lasts as long as the process, whose threads may be at work when it ends. Made when
// this file is loaded, where nobody could catch an exception: T's constructor must take no memory.
template <typename T>
union lasting {
    T value;
    lasting() : value() {}
    ~lasting() {}
};

// What stands in memory that no kernel has written: as a float or a double it is NaN, as an
// integer neither zero nor small.
constexpr uint32_t kJunk = 0xfff5a5c3u;
void fill_with_junk(void *memory, size_t size);

// Behind what a kernel may write to: junk that must still be there afterwards. AddressSanitizer
// reports the access itself.
void seal(void *begin, size_t size);
void unseal(void *begin, size_t size);
size_t broken_bytes(const void *begin, size_t size);

// ---- driver.cc ----------------------------------------------------------------------------

bool asked_to_stop(); // the call whose launch this thread makes: Ctrl-C

// ---- settings.cc --------------------------------------------------------------------------

enum class schedule { linear, reverse, random, listed };

struct settings { // of a launch; ../../docs/emulator.md lists them
    schedule order;
    bool weak; // memory: what no fence follows, other blocks see when the kernel has ended
    uint64_t seed, steps;
    double seconds; // a thread may run without a step; 0: for ever
    int threads;    // of the operating system
};

// False with the reason in *why where a variable cannot be read.
bool settings_are_right(std::string *why);
bool read_settings(settings *s, std::string *why);

// ---- planned.cc ---------------------------------------------------------------------------

// First in each function of the API: the code if this very call is to fail (WARPKIT_EMU_FAIL).
// Notes the call where WARPKIT_EMU_CALLS asks for it.
cudaError_t planned_failure(cudaError_t code = cudaErrorUnknown,
                            const char *function = __builtin_FUNCTION(),
                            const void *caller = __builtin_return_address(0));

// Where a kernel calls what is the host's: waiting for the device, it would wait for itself.
void refuse_in_kernel(const char *what);

// ---- api.cc -------------------------------------------------------------------------------

int device_count(); // 0 where WARPKIT_EMU_DEVICES cannot be read
bool is_device(int device);
size_t memory_of(int device); // bytes
int current_device();         // of this thread of the operating system

// ---- handles.cc ---------------------------------------------------------------------------

int device_of(cudaStream_t stream); // -1: there is no such stream

// ---- memory.cc ----------------------------------------------------------------------------

// Held by each launch and copy: the device does one thing at a time, with all the processors that it
// may use. Memory is taken and given briefly, also while a launch asks whether it is to stop: for the
// answer it may wait for a thread that wants memory, or run a handler that gives some back.
class device_lock
{
  public:
    void lock();
    void unlock();
    std::unique_lock<std::mutex> briefly();
    void settle();              // nobody is at the memory of whoever holds the lock
    std::atomic<int> asking{0}; // threads of a launch

  private:
    std::mutex state;
    std::condition_variable free;
    bool held = false;
};
device_lock &device_in_use();

// The bytes that were written past the ends of a device's blocks of memory, 0 for none; *size is
// the first such block's.
size_t overrun(int device, size_t *size);

int owner_of(const void *p); // the device in whose memory it lies; -1: none

struct location { // of an address
    cudaMemoryType type;
    int device;
    size_t left; // bytes from there to the end of its block; 0: it lies in none
};
location locate(const void *p);
bool is_managed(const void *p);
bool find_pinned(const void *p, location *at); // pinned.cc

// While it lives, the memory of all other devices is a bad address.
class one_device
{
  public:
    explicit one_device(int device);
    ~one_device();
    one_device(const one_device &) = delete;

  private:
    int own;
};

struct span {
    char *begin;
    size_t size;
};
std::vector<span> blocks_in_use(int device);
span all_device_memory();

// ---- weak.cc ------------------------------------------------------------------------------

// What a block writes without a fence behind it, other blocks see only when the kernel has
// ended: as far as CUDA's memory model lets a GPU go.
class weak_memory
{
  public:
    explicit weak_memory(int device);
    void publish();                          // at a fence
    void update(void *address, size_t size); // after an atomic: all see it at once
    void end_block();
    void end_kernel();

  private:
    struct image { // of one block of device memory, as the other blocks of the grid see it
        span now;
        std::string seen;
    };
    struct write {
        char *at;
        std::string bytes;
    };
    std::vector<image> memory;
    std::vector<write> hidden;
};

// ---- block.cc -----------------------------------------------------------------------------

struct array_range { // one static shared array
    ptrdiff_t offset;
    size_t size;
};

struct object_file; // symbols.cc: the one that a kernel is in

struct kernel_facts {
    std::string name;                // "sum_smem<float>"
    std::vector<array_range> arrays; // static and shared, that its blocks may use: to refill
    size_t fixed = 0;                // bytes of those that are the kernel's own
    const object_file *in = nullptr;
};

// The blocks of a cooperative launch, each on a thread of the operating system: so many at work at a
// time, the others wait for them in grid.sync() or to begin.
class assembly
{
  public:
    assembly(uint64_t blocks, int at_once) : all(blocks), may_work(at_once) {}
    void begin();
    void end();
    // True: all have come. False: blocks that have ended never will, or the launch has failed.
    bool meet(const std::atomic<bool> &failed);
    uint64_t ended();    // how many
    uint64_t met() const // a watcher's moment: the last time
    {
        return when;
    }

  private:
    static constexpr std::chrono::milliseconds kLook{20};
    std::mutex lock; // of what follows
    std::condition_variable changed;
    uint64_t all, here = 0, gone = 0, meeting = 0, when = 0;
    int may_work;
};
struct watched_file; // races.h
struct race;
struct watcher;
struct traced_file; // trace.h
struct tracer;

struct grid : kernel_facts { // one launch
    const body *work;
    int device;
    settings set;
    dim3 blocks, threads;
    size_t shared;                                   // dynamic
    std::atomic<bool> failed{false}, starved{false}; // starved: of the host's memory
    bool asserted = false;                           // so it failed
    uintptr_t at = 0; // the instruction that failed, from the file's start; 0: not known
    std::unique_ptr<weak_memory> weak;      // null: strong
    std::unique_ptr<assembly> together;     // null: the launch is not cooperative
    char report[kReport] = "";              // of the first failure
    watched_file *watched = nullptr;        // null: nobody looks for races
    traced_file *traced = nullptr;          // null: nobody counts its accesses
    uint64_t began = 0, settled = 0;        // if so, watcher's
    bool alone = true;                      // likewise
    bool scripted = false;                  // its order is noted, or goes by a list
    int64_t launch = 0;                     // since the settings were read
    race *found = nullptr;                  // the first failure
    std::atomic<race *> unwritten{nullptr}; // a failure if there is no other
};

// Where a thread last came to a point at which another may go on.
enum class stop : uint8_t { barrier, atomic, fence, yield, collective }; // and which: added

// Of a thread.
enum class state : uint8_t { fresh, started, at_barrier, done };

struct block;
struct lane_log;

struct thread : place {
    uint3 index;
    block *in;
    fiber own;
    state now;
    bool counting;   // it waits in active_lanes
    unsigned active; // what that gives
    site at;         // the last barrier or collective it came to; file is null before the first
    stop last;       // where it was last, as far as a script asks (schedule.cc)
    uintptr_t pc;    // likewise: where an atomic, a fence, a yield was called
    int64_t points;  // likewise: it has come to
    lane_log *log;   // of what it does; null: nobody asks
};

struct gathering { // a collective that has begun: some of the lanes in its mask are there
    collective what;
    unsigned named, mask, arrived; // mask: those of the named that exist
};

struct warp {
    unsigned present, ready, later; // lanes: that exist; that may run; that yielded
    int gatherings;
    gathering begun[kWarpLanes];
    uint64_t value[kWarpLanes], result[kWarpLanes];
    int source[kWarpLanes];
};

struct barrier_state {
    int arrived = 0, yes = 0; // threads; votes
    thread *first = nullptr;
};

// One block at work on one thread of the operating system, and what the next block reuses.
struct block {
    grid *of = nullptr;
    dim3 index;
    int threads = 0, warps = 0, live = 0;
    unsigned ready_warps = 0, later_warps = 0;
    barrier_state barrier, outcome; // of now, and of the last that opened
    schedule order;
    uint64_t turns = 0, last_turn = 0; // taken, over all blocks; this block may take
    uint64_t random = 0;
    int in_a_row = 0;      // atomics and fences since the last switch
    bool scripted = false; // schedule.cc's, as what follows
    int favoured = -1;     // the warp that goes on as long as it can
    int64_t opened = 0;    // its beginning, and barriers that have opened
    int64_t told = -1;     // the switch whose turn has not ended, and whose turn that is
    const thread *told_of = nullptr;
    thread *forced = nullptr; // goes on next
    fiber home;               // runs the block, not a thread of it
    thread *now = nullptr;    // that runs; null while home does
    thread *asks = nullptr;   // to go on, when home has looked whether the launch is to stop
    uint3 *index_there = nullptr; // threadIdx of the operating system's thread
    std::vector<char *> idle;
    void *mapped = nullptr; // the stacks' memory, of which they are the aligned part
    char *stacks = nullptr;
    int guarded = 0; // of them
    size_t dynamic_size = 0;
    uint64_t watched = 0;                  // signals.cc: turns at the last tick
    double since = 0, tick = 0;            // seconds: when that was; from one tick to the next
    timer_t timer;                         // that ticks
    const sigset_t *interrupted = nullptr; // who asks, by a signal: what it had blocked
    volatile bool holds = false;           // a lock, so that no signal's handler leaves it
    block *next_spare = nullptr;           // launch.cc
    watcher *watching = nullptr, *own_watcher = nullptr; // this launch's; the block's
    tracer *tracing = nullptr, *own_tracer = nullptr;    // likewise
    bool followed = false;                               // its stacks are known
    alignas(16) char alternate[kSignalStack];            // the stack of signals
    alignas(128) unsigned char dynamic[kMostSharedOptin + kSealShared]; // shared memory
    warp of_warp[kMostWarps];
    thread of_thread[kMostThreads];

    block();
    ~block();
    void run(grid *g, dim3 index);
    void refill_dynamic(size_t size); // with junk, and a seal behind it
    size_t past_dynamic() const;      // bytes of the seal that were written to

  private:
    void line_up();
    void guard_stacks();
};

extern __thread block *running;

// Ends the launch with a report: kernel, block, then the text. Does not return: the threads of
// the block are left where they are, for good.
[[noreturn]] void fail(block *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The report alone, for what is found when no thread of the block runs.
void report(block *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- symbols.cc ---------------------------------------------------------------------------

// Of a kernel by its address; or by its name, and an address in the same file.
void describe_kernel(const void *kernel, const char *name, kernel_facts *facts);
char *shared_arrays(
    const object_file *in); // where this thread's begin: array_range counts from there
uintptr_t place_in(const object_file *in,
                   uintptr_t code); // from its start; 0: it is not in its code

const object_file *file_of(const void *code);
struct file_facts { // addresses and bytes
    size_t tls_size;
    uintptr_t data_begin, code_begin;
    size_t data_size, code_size;
    bool program; // not a library
};
file_facts facts_of_file(const object_file *in);
const object_file *this_library();
bool is_constant(const object_file *in, uintptr_t address); // of a traced file's variables
// The static shared array there, and where it begins.
std::string array_name(const object_file *in, size_t offset, size_t *start);

const char *launch_report();                         // launch.cc: of this thread's last failure
uintptr_t launch_place();                            // grid::at of it
bool launch_raced();                                 // was it a race?
void fail_with(const std::string &text, bool raced); // a copy

// ---- user.cc -----------------------------------------------------------------------------

// In a kernel: what printf does there. The launch delivers all of it when it ends.
void print(const char *format, va_list arguments);
void deliver_printed();

// ---- signals.cc ---------------------------------------------------------------------------

void take_signals(); // at each launch: others may have taken them since

// While home looks for an interrupted thread, whose handler stays on the block's stack of signals: they
// use home's. Then that one again, and they are blocked until the handler returns.
void signals_at_home(const sigset_t *mask);
void signals_apart(block *b);

// While it lives, an endless loop or a bad address in a kernel ends the launch of this thread
// instead of the process.
class guard
{
  public:
    guard(block *b, double seconds);
    ~guard();
    guard(const guard &) = delete;

  private:
    stack_t caller; // of whoever launches
    sigset_t mask;  // likewise
    timer_t timer;
    bool ticking = false;
};

} // namespace emu

#pragma GCC visibility pop
