// launch.cc -- a grid: its blocks in the schedule's order, shared by threads of the operating
// system, each of which runs one block at a time.
#include "emu/later.h"
#include "emu/races.h"
#include "emu/schedule.h"
#include "emu/trace.h"
#include "runtime/driver.cuh"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdio.h>
#include <thread>

namespace emu
{

namespace
{

constexpr int kMostNested = 24;         // launches in kernels, as GPUs had it
constexpr int64_t kWorthAThread = 4096; // CUDA threads: what runs while another one starts

// Blocks that idle between launches: their stacks and pages are expensive to make. No more than
// there were workers at some time; they last as long as the process. A list through the blocks, so
// that giving one back takes no memory.
std::mutex spare_lock;
block *spare = nullptr;

class borrowed_block
{
  public:
    borrowed_block()
    {
        std::lock_guard<std::mutex> hold(spare_lock);
        if (spare == nullptr) spare = new block;
        own = spare;
        spare = own->next_spare;
    }
    ~borrowed_block()
    {
        std::lock_guard<std::mutex> hold(spare_lock);
        own->next_spare = spare;
        spare = own;
    }
    borrowed_block(const borrowed_block &) = delete;
    block *own;
};

uint64_t
mix(uint64_t z)
{
    z = (z ^ z >> 33) * 0xff51afd7ed558ccdu; // Murmur's finaliser (A. Appleby, public domain)
    z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53u;
    return z ^ z >> 33;
}

uint64_t
common_divisor(uint64_t a, uint64_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

// The order of the blocks: i -> (i * step + first) modulo count.
struct block_order {
    uint64_t count, first = 0, step = 1;

    block_order(const settings &s, uint64_t n) : count(n)
    {
        if (s.order == schedule::reverse) {
            first = n - 1;
            step = n - 1;
        } else if (s.order == schedule::random) {
            first = mix(s.seed + 1) % n;
            step = mix(s.seed + 2) % n;
            while (common_divisor(step, n) != 1) step = (step + 1) % n;
        }
    }
    uint64_t operator()(uint64_t i) const
    {
        return (uint64_t)(((unsigned __int128)i * step + first) % count);
    }
};

// A block finds junk in its shared memory, not what the last one left there.
void
refill(block *b, const grid &g)
{
    char *const arrays = shared_arrays(g.in);
    for (const array_range &a : g.arrays) fill_with_junk(arrays + a.offset, a.size);
    b->refill_dynamic(g.shared);
}

// Of who wrote past an end, which is found when all is over.
const char *
how_to_learn(const grid &g)
{
    return g.watched || g.in == this_library()
               ? ""
               : "; WARPKIT_EMU_RACES=1 tells which thread does, and the line";
}

void
run_one(grid *g, block *b, uint64_t n)
{
    const uint64_t x = g->blocks.x, y = g->blocks.y;
    b->random = mix(g->set.seed * 0x9e3779b97f4a7c15u + n + 1);
    refill(b, *g);
    b->run(g, dim3((unsigned)(n % x), (unsigned)(n / x % y), (unsigned)(n / x / y)));
    if (const size_t past = b->past_dynamic())
        report(b,
               "writes past the end of its %zu bytes of dynamic shared memory (%zu changed)%s",
               g->shared, past, how_to_learn(*g));
    if (g->weak) g->weak->end_block();
}

thread_local int64_t *counted; // blocks that are done, and all; null: nobody looks

void
count(int64_t *which, int64_t more)
{
    if (which) __atomic_fetch_add(which, more, __ATOMIC_RELAXED);
}

void
run_share(grid *g, std::atomic<uint64_t> *taken, const block_order &order, int64_t *done)
{
    block_script script; // if the grid has one, this thread is alone
    std::unique_ptr<borrowed_block> b;
    try {
        b = std::make_unique<borrowed_block>();
    } catch (const std::bad_alloc &) {
        return; // the others do its share
    }
    try {
        const guard against(b->own, g->set.seconds);
        for (uint64_t i; !g->failed && (i = taken->fetch_add(1)) < order.count; count(done, 1))
            run_one(g, b->own,
                    g->scripted ? script.next(*g, i, order(i), order.count) : order(i));
    } catch (const std::bad_alloc &) {
        g->starved = true;
    }
}

// A block of a cooperative launch, which begins when fewer than the settings' threads are at work.
void
run_beside(grid *g, uint64_t n)
{
    g->together->begin();
    try {
        borrowed_block b;
        const guard against(b.own, g->set.seconds);
        if (!g->failed) run_one(g, b.own, n);
    } catch (const std::bad_alloc &) {
        g->starved = g->failed = true;
    }
    g->together->end();
}

// The threads that share a grid with the one that launches it.
class helpers
{
  public:
    template <typename F>
    void start(uint64_t count, F work)
    {
        try {
            all.reserve(count);
            while (all.size() < count) {
                std::lock_guard hold(lock);
                all.emplace_back([this, work] {
                    work();
                    std::lock_guard hold(lock);
                    if (--at_work == 0) done.notify_one();
                });
                at_work++;
            }
        } catch (const std::exception &) { // no more threads are to be had: those there do
        }
    }
    void wait_for(grid *g)
    {
        std::unique_lock hold(lock);
        while (!done.wait_for(hold, kPoll, [this] { return at_work == 0; })) {
            hold.unlock();
            if (asked_to_stop()) g->failed = true;
            hold.lock();
        }
        hold.unlock();
        for (auto &t : all) t.join();
    }
    uint64_t count() const
    {
        return all.size();
    }

  private:
    static constexpr std::chrono::milliseconds kPoll{50};
    std::vector<std::thread> all;
    std::mutex lock; // of what follows
    std::condition_variable done;
    uint64_t at_work = 0;
};

void
run_grid(grid *g)
{
    const uint64_t blocks = (uint64_t)g->blocks.x * g->blocks.y * g->blocks.z;
    const uint64_t threads = g->threads.x * g->threads.y * g->threads.z;
    const block_order order(g->set, blocks);
    std::atomic<uint64_t> taken{0};
    uint64_t workers = blocks * threads / kWorthAThread + 1;
    if (workers > blocks) workers = blocks;
    if (workers > (uint64_t)g->set.threads) workers = (uint64_t)g->set.threads;
    g->alone = workers == 1;

    helpers others;
    int64_t *const done = counted;
    count(done ? done + 1 : done, (int64_t)blocks);
    others.start(workers - 1, [&] { run_share(g, &taken, order, done); });
    run_share(g, &taken, order, done);
    others.wait_for(g);
    if (g->starved || (!g->failed && taken < blocks)) throw std::bad_alloc();
}

void
run_together(grid *g)
{
    const uint64_t blocks = (uint64_t)g->blocks.x * g->blocks.y * g->blocks.z;
    const block_order order(g->set, blocks);
    std::atomic<uint64_t> taken{0};
    g->together = std::make_unique<assembly>(blocks, g->set.threads);
    g->alone = false;
    helpers all;
    all.start(blocks, [&] { run_beside(g, order(taken++)); });
    if (all.count() < blocks) g->starved = g->failed = true;
    all.wait_for(g);
    if (g->starved) throw std::bad_alloc();
}

bool
possible(const cudaLaunchConfig_t &c)
{
    const dim3 g = c.gridDim, b = c.blockDim;
    const uint64_t threads = (uint64_t)b.x * b.y * b.z;
    return threads > 0 && threads <= kMostThreads && b.x <= 1024 && b.y <= 1024 && b.z <= 64 &&
           g.x > 0 && g.x <= 0x7fffffff && g.y > 0 && g.y <= 65535 && g.z > 0 && g.z <= 65535;
}

// By kernel and device: the dynamic shared memory that cudaFuncSetAttribute granted. The device's
// lock guards it.
lasting<std::map<std::pair<const void *, int>, size_t>> all_granted;
auto &granted = all_granted.value;

bool
enough_shared(const grid &g)
{
    const auto found = granted.find({g.work->kernel, g.device});
    return g.fixed + g.shared <= kMostShared ||
           (found != granted.end() && g.shared <= found->second);
}

// How many blocks a multiprocessor holds at a time.
int
resident_blocks(const kernel_facts &facts, int threads, size_t shared)
{
    const size_t bytes = facts.fixed + shared + kReservedShared;
    const int whole = (threads + kWarpLanes - 1) / kWarpLanes * kWarpLanes; // warps
    if (threads > kMostThreads || bytes > kMostSharedOptin + kReservedShared) return 0;
    return std::min(
        {kResidentThreads / whole, kResidentBlocks, (int)(kResidentShared / bytes)});
}

bool
is_cooperative(const cudaLaunchConfig_t &c)
{
    for (unsigned i = 0; i < c.numAttrs; i++)
        if (c.attrs[i].id == cudaLaunchAttributeCooperative && c.attrs[i].val.cooperative)
            return true;
    return false;
}

bool
all_resident(const grid &g)
{
    const int threads = (int)(g.threads.x * g.threads.y * g.threads.z);
    return (uint64_t)g.blocks.x * g.blocks.y * g.blocks.z <=
           (uint64_t)(resident_blocks(g, threads, g.shared) * kProcessors);
}

// What is wrong with the arguments, or nothing. One past the end of a block is right.
std::string
wrong_pointer(const grid &g)
{
    const body &work = *g.work;
    for (int i = 0; i < work.pointer_count; i++) {
        const auto *p = static_cast<const char *>(work.pointers[i]);
        const int owner = owner_of(p);
        if (p == nullptr || owner == g.device) continue;
        const std::string which = ": its pointer number " + std::to_string(i + 1);
        if (owner >= 0)
            return "kernel " + g.name + " on device " + std::to_string(g.device) + which +
                   " is memory of device " + std::to_string(owner);
        if (locate(p).type != cudaMemoryTypeHost && locate(p - 1).type != cudaMemoryTypeHost)
            return "kernel " + g.name + which + " is a host address";
    }
    return "";
}

thread_local char last_report[kReport]; // no string: a thread that ends would have to free it
thread_local uintptr_t last_place;
thread_local bool last_raced;

cudaError_t
failed(const char *text, uintptr_t place = 0)
{
    snprintf(last_report, sizeof last_report, "%s", text);
    last_place = place;
    last_raced = false;
    return cudaErrorLaunchFailure;
}

// What the detector of races needs before a launch, and what it found.
void
watch_launch(grid *g, cudaStream_t stream)
{
    g->watched = watched(g->in);
    if (g->watched == nullptr) return;
    number_anew();
    begin_operation(stream, "kernel " + g->name, &g->settled, &g->began);
}

bool // was it a race?
tell_of_races(grid *g)
{
    if (g->watched == nullptr) return false;
    forget_releases();
    const std::unique_ptr<race> found(g->found), unwritten(g->unwritten);
    const race *first = found.get();
    if (unwritten && !g->failed.exchange(true)) first = unwritten.get();
    if (first == nullptr) return false;
    snprintf(g->report, kReport, "%s", told(*g, *first).c_str());
    return first->what == fault::unordered;
}

void
blame(grid *g, size_t size, size_t past)
{
    const size_t before = strlen(g->report);
    snprintf(g->report + before, kReport - before,
             "%s%.200s writes past the end of a block of %zu bytes of device memory (%zu bytes "
             "changed)%s",
             before ? "; it also" : "kernel ", before ? "" : g->name.c_str(), size, past,
             facts_of_file(g->in).program ? how_to_learn(*g) : "");
    g->failed = true;
}

} // namespace

const char *
launch_report()
{
    return last_report;
}

uintptr_t
launch_place()
{
    return last_place;
}

bool
launch_raced()
{
    return last_raced;
}

void
fail_with(const std::string &text, bool raced)
{
    failed(text.c_str());
    last_raced = raced;
}

cudaError_t
set_attribute(const void *kernel, cudaFuncAttribute which, int value)
{
    if (const cudaError_t e = planned_failure(cudaErrorUnknown, "cudaFuncSetAttribute"))
        return e;
    if (which == cudaFuncAttributePreferredSharedMemoryCarveout) // there is no L1 to share with
        return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
    std::lock_guard hold(device_in_use());
    try {
        kernel_facts facts;
        describe_kernel(kernel, nullptr, &facts);
        if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            facts.fixed + (size_t)value > kMostSharedOptin)
            return cudaErrorInvalidValue;
        granted[{kernel, current_device()}] = (size_t)value;
        return cudaSuccess;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

cudaError_t
blocks_at_once(const void *kernel, int threads, size_t shared, int *blocks)
{
    if (const cudaError_t e = planned_failure()) return e;
    if (threads <= 0) return cudaErrorInvalidValue;
    std::lock_guard hold(device_in_use());
    try {
        kernel_facts facts;
        describe_kernel(kernel, nullptr, &facts);
        *blocks = resident_blocks(facts, threads, shared);
        return cudaSuccess;
    } catch (const std::bad_alloc &) {
        return cudaErrorMemoryAllocation;
    }
}

namespace
{

// children: what its threads have launched.
cudaError_t
launch_one(const cudaLaunchConfig_t &config, const body &work, std::vector<waiting> *children)
{
    refuse_in_kernel("a kernel launch");
    const int device = current_device();
    if (!possible(config)) return cudaErrorInvalidConfiguration;
    if (device_of(config.stream) != device) return cudaErrorInvalidResourceHandle;
    std::lock_guard alone(device_in_use());
    try {
        grid g;
        std::string why;
        if (!read_settings(&g.set, &why)) return failed(why.c_str());
        g.work = &work;
        g.device = device;
        g.blocks = config.gridDim;
        g.threads = config.blockDim;
        g.shared = config.dynamicSmemBytes;
        describe_kernel(work.kernel, work.name, &g);
        if (planned_failure(cudaErrorLaunchFailure, "cudaLaunchKernelEx"))
            return failed(("kernel " + g.name + ": fails, as WARPKIT_EMU_FAIL asks").c_str());
        if (!enough_shared(g)) return cudaErrorInvalidValue;
        const bool together = is_cooperative(config);
        if (together && !all_resident(g)) return cudaErrorCooperativeLaunchTooLarge;
        why = wrong_pointer(g);
        if (!why.empty()) return failed(why.c_str());

        take_signals();
        const one_device only(device);
        if (g.set.weak) g.weak = std::make_unique<weak_memory>(device);
        watch_launch(&g, config.stream);
        trace_launch(&g);
        begin_script(&g);
        together ? run_together(&g) : run_grid(&g);
        *children = take_waiting();
        deliver_printed();
        const bool raced = tell_of_races(&g);
        if (g.weak) g.weak->end_kernel();
        size_t size = 0;
        if (const size_t past = overrun(device, &size)) blame(&g, size, past);
        end_trace(&g);
        if (!g.failed) return cudaSuccess;
        failed(g.report, g.at);
        last_raced = raced;
        return g.asserted ? cudaErrorAssert : cudaErrorLaunchFailure;
    } catch (const std::bad_alloc &) {
        size_t size;
        overrun(device, &size); // is nobody's fault then
        *children = take_waiting();
        return cudaErrorMemoryAllocation;
    }
}

} // namespace

cudaError_t
launch(const cudaLaunchConfig_t &config, const body &work)
{
    static thread_local int depth = 0;
    std::vector<waiting> children;
    cudaError_t e = launch_one(config, work, &children);
    if (e == cudaSuccess && !children.empty() && depth == kMostNested)
        e = failed("a kernel launches another, and that yet another, more than 24 deep");
    depth++;
    for (const waiting &child : children) {
        const cudaError_t its = child.work(child.what, e == cudaSuccess, config.stream);
        if (e == cudaSuccess) e = its;
    }
    depth--;
    return e;
}

} // namespace emu

void
wk::count_blocks(int64_t *progress)
{
    emu::counted = progress;
}
