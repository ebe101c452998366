// races.cc -- what the detector of races keeps: the shadow of memory, moments, places in the code,
// files.
#include "emu/races.h"
#include "emu/turns.h"

#include <new>
#include <sys/mman.h>

namespace emu
{

std::atomic<bool> races_watched{false};

// ---- shadows ----------------------------------------------------------------------------------

namespace
{

// Zeros, which take memory only where they are touched.
template <typename T>
T *
reserve(size_t count)
{
    void *p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T *>(p);
}

template <typename T>
void
empty(T *p, size_t count)
{
    const auto begin = ((uintptr_t)p + 4095) & ~(uintptr_t)4095;
    const auto end = (uintptr_t)(p + count) & ~(uintptr_t)4095;
    if (begin >= end) return (void)memset(static_cast<void *>(p), 0, count * sizeof(T));
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
    memset(static_cast<void *>(p), 0, begin - (uintptr_t)p);
    memset(reinterpret_cast<void *>(end), 0, (uintptr_t)(p + count) - end);
}

} // namespace

void
shadow::make(size_t most)
{
    if (most <= room) return;
    const size_t count = (most + 3) / 4;
    if (room > 0) {
        munmap(words, room / 4 * sizeof *words);
        munmap(bytes, room * sizeof *bytes);
        munmap(states, room / 4);
        room = 0;
    }
    words = reserve<cell>(count);
    bytes = reserve<cell>(count * 4);
    states = reserve<uint8_t>(count);
    room = count * 4;
}

void
shadow::set(size_t at, size_t count, uint8_t state)
{
    memset(states + at / 4, state, (at % 4 + count + 3) / 4);
}

void
shadow::forget(size_t at, size_t count)
{
    empty(words + at / 4, (count + 3) / 4);
    empty(bytes + at / 4 * 4, (count + 3) / 4 * 4);
}

// ---- moments ----------------------------------------------------------------------------------

namespace
{

std::atomic<uint64_t> next_chunk{1};
std::mutex lock; // of what follows
lasting<std::map<const object_file *, watched_file>> all_files;
auto &files = all_files.value;
lasting<std::vector<uintptr_t>> all_sites;
auto &sites = all_sites.value; // by number
lasting<std::vector<watcher *>> all_watchers;
auto &watchers = all_watchers.value;
bool whole_program = false;

uint32_t *
owners() // of chunks
{
    static uint32_t *const table = reserve<uint32_t>(kMostChunks);
    return table;
}

} // namespace

moment
take_chunk(uint32_t block)
{
    const uint64_t chunk = next_chunk.fetch_add(1);
    if (chunk >= kMostChunks) throw std::bad_alloc();
    owners()[chunk] = block;
    return chunk << kChunkBits | 1;
}

moment
next_moment()
{
    return next_chunk << kChunkBits;
}

uint32_t
block_of(moment m)
{
    return owners()[m >> kChunkBits];
}

void
number_anew()
{
    if (next_chunk < kMostChunks / 2) return;
    std::lock_guard hold(lock);
    next_chunk = 1;
    shadow &g = global_shadow();
    g.forget(0, g.size);
    for (auto &f : files) f.second.data.forget(0, f.second.data.size);
    for (watcher *w : watchers) {
        w->fixed_arrays.forget(0, w->fixed_arrays.room);
        w->dynamic_array.forget(0, w->dynamic_array.room);
        w->forget_moments();
    }
    forget_operations();
}

// ---- sites ------------------------------------------------------------------------------------

uint32_t
site_at(const watched_file &in, uintptr_t pc)
{
    const uintptr_t place = pc - in.code;
    if (place >= in.code_size) return 0;
    uint32_t &number = in.sites[place];
    const uint32_t known = __atomic_load_n(&number, __ATOMIC_RELAXED);
    if (known) return known;
    std::lock_guard hold(lock);
    if (sites.empty()) sites.push_back(0);
    if (sites.size() < kMostSites) {
        sites.push_back(pc);
        __atomic_store_n(&number, (uint32_t)sites.size() - 1, __ATOMIC_RELAXED);
    }
    return number;
}

uintptr_t
place_of(uint32_t site)
{
    std::lock_guard hold(lock);
    return site < sites.size() ? sites[site] : 0;
}

// ---- memory -------------------------------------------------------------------------------------

shadow &
global_shadow()
{
    static lasting<shadow> of;
    return of.value;
}

bool
program_is_watched()
{
    return whole_program;
}

void
memory_taken(const void *p, size_t size, bool is_written)
{
    shadow &g = global_shadow();
    const size_t at = (uintptr_t)p - g.begin;
    if (streams_are_many()) g.forget(at, size); // else all that was done there is over
    g.set(at, size, is_written ? allocated | written : allocated);
}

void
memory_given(const void *p, size_t size)
{
    global_shadow().set((uintptr_t)p - global_shadow().begin, size, 0);
}

void
memory_written(const void *p, size_t size)
{
    shadow &g = global_shadow();
    if (!g.has((uintptr_t)p)) return;
    const size_t at = (uintptr_t)p - g.begin;
    for (size_t i = at / 4; i < (at + size + 3) / 4; i++) g.states[i] |= written;
}

void
written_by_host(const void *p, size_t size)
{
    memory_written(p, size);
}

namespace
{

// With the device's lock held.
void
watch_file(const object_file *in, const kernel_entry *const *kernels,
           const variable_entry *const *variables, bool program)
{
    const span all = all_device_memory();
    std::lock_guard hold(lock);
    shadow &g = global_shadow();
    if (g.size == 0) {
        g.make(all.size);
        g.begin = (uintptr_t)all.begin;
        g.size = all.size;
        for (int d = 0; d < device_count(); d++)
            for (const span &b : blocks_in_use(d))
                g.set((uintptr_t)b.begin - g.begin, b.size, allocated | written);
    }
    watched_file &f = files[in];
    f.kernels = kernels;
    f.variables = variables;
    const file_facts facts = facts_of_file(in);
    f.data.make(facts.data_size);
    f.data.begin = facts.data_begin;
    f.data.size = facts.data_size;
    f.data.set(0, f.data.size, allocated | written);
    f.sites = reserve<uint32_t>(facts.code_size);
    f.code = facts.code_begin;
    f.code_size = facts.code_size;
    f.separate = in != this_library();
    f.program = program;
    whole_program = whole_program || program;
    races_watched = true;
}

#ifdef EMU_RACES_WITHIN
const kernel_entry *const no_kernels = nullptr;
const variable_entry *const no_variables = nullptr;
#endif

} // namespace

void
watch(const void *code, const kernel_entry *const *kernels,
      const variable_entry *const *variables, bool program)
{
    std::lock_guard alone(device_in_use());
    watch_file(file_of(code), kernels, variables, program);
}

watched_file *
watched(const object_file *in)
{
#ifdef EMU_RACES_WITHIN // this library's own kernels tell of their accesses
    static const bool once =
        (watch_file(this_library(), &no_kernels, &no_variables, false), true);
    (void)once;
#endif
    if (!races_watched) return nullptr;
    std::lock_guard hold(lock);
    const auto found = files.find(in);
    return found == files.end() ? nullptr : &found->second;
}

// ---- blocks ---------------------------------------------------------------------------------------

uintptr_t watched_stacks[kMostStacks];
std::atomic<int> stack_count{0};

watcher *
watcher_of(block *b)
{
    if (b->own_watcher) return b->own_watcher;
    auto *w = new watcher();
    w->of = b;
    w->dynamic_array.make(sizeof b->dynamic);
    w->dynamic_array.begin = (uintptr_t)&b->dynamic[0];
    w->dynamic_array.size = sizeof b->dynamic;
    follow_stacks(b);
    std::lock_guard hold(lock);
    watchers.push_back(w);
    return b->own_watcher = w;
}

void
follow_stacks(block *b)
{
    if (b->followed) return;
    std::lock_guard hold(lock);
    const int n = stack_count;
    if (n == kMostStacks) throw std::bad_alloc();
    watched_stacks[n] = (uintptr_t)b->stacks;
    stack_count = n + 1;
    b->followed = true;
}

void
watcher::begin(const grid &g)
{
    const dim3 n = g.blocks;
    number = of->index.x + n.x * (of->index.y + n.y * of->index.z);
    first = base = last = take_chunk(number);
    settled = g.settled;
    began = g.began;
    alone = g.alone;
    met = clean = 0;
    fence_count = 0;
    if (dirty_count > 0) memset(dirty, 0, sizeof dirty);
    dirty_count = 0;
    if (knowing) memset(knows, 0, sizeof knows);
    common = nullptr;
    knowing = false;
    step_count = 0;
    is_busy = false;
    file = g.watched;
    fixed_arrays.make(facts_of_file(g.in).tls_size);
    fixed_arrays.begin = (uintptr_t)shared_arrays(g.in);
    fixed_arrays.size = facts_of_file(g.in).tls_size;
    if (fixed_arrays.size) memset(fixed_arrays.states, 0, (fixed_arrays.size + 3) / 4);
    for (const array_range &a : g.arrays) fixed_arrays.set((size_t)a.offset, a.size, allocated);
    dynamic_array.set(0, dynamic_array.size, 0);
    dynamic_array.set(0, g.shared, allocated);
    space[global] = &global_shadow();
    space[fixed] = &fixed_arrays;
    space[dynamic] = &dynamic_array;
    space[variables] = &file->data;
}

void
give_up(block *b)
{
    b->of->starved = true;
    leave(b);
}

void
watcher::forget_moments()
{
    memset(since, 0, sizeof since);
    memset(warp_base, 0, sizeof warp_base);
    memset(parts, 0, sizeof parts);
    for (fences &f : last_fence) f = {};
}

} // namespace emu
