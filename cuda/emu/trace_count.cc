// trace_count.cc -- what a request costs: sectors of 32 bytes in global memory, passes over 32 banks of
// 4 bytes in shared memory, lanes that wait for each other at an atomic; and a model of the caches.
#include "emu/races.h"
#include "emu/trace.h"
#include "emu/turns.h"

#include <algorithm>

namespace emu
{

// ---- shared memory --------------------------------------------------------------------------------

namespace
{

constexpr int kBanks = 32, kBank = 4; // bytes

// Passes of these lanes: each gives a bank one word.
int
passes(const uint64_t *address, unsigned lanes, int size)
{
    uint32_t words[kBanks][kWarpLanes]; // their last bits: a kernel's stack is small
    uint8_t count[kBanks] = {};
    int most = lanes != 0;
    for (unsigned set = lanes; set; set &= set - 1) {
        const uint64_t a = address[first_of(set)];
        for (uint64_t word = a / kBank; word <= (a + (uint64_t)size - 1) / kBank; word++) {
            const int bank = (int)(word % kBanks);
            uint32_t *const here = words[bank];
            if (std::find(here, here + count[bank], (uint32_t)word) != here + count[bank])
                continue;
            here[count[bank]++] = (uint32_t)word;
            most = std::max(most, (int)count[bank]);
        }
    }
    return most;
}

// Do neighbours, or neighbours but one, all have the same address?
bool
in_pairs(const uint64_t *address, unsigned lanes, int apart)
{
    for (unsigned set = lanes; set; set &= set - 1) {
        const int i = first_of(set);
        if ((lanes >> (i ^ apart) & 1) && address[i] != address[i ^ apart]) return false;
    }
    return true;
}

// Accesses of 8 bytes go by half warps, of 16 by quarters, but for two such that are in pairs.
int
wavefronts(const uint64_t *address, unsigned lanes, int size)
{
    if (size <= kBank) return passes(address, lanes, size);
    const int part = size == 8 ? 16 : 8; // lanes
    int all = 0;
    for (int at = 0; at < kWarpLanes; at += 2 * part) {
        const unsigned low = ((1u << part) - 1) << at, high = low << part;
        const unsigned both = lanes & (low | high);
        if (in_pairs(address, both, 1) || in_pairs(address, both, 2))
            all += passes(address, both, size);
        else
            all += passes(address, lanes & low, size) + passes(address, lanes & high, size);
    }
    return all;
}

// Different addresses come first, in their order, with the lanes at each: how many there are, and the most
// lanes at one.
int
distinct(uint64_t *sorted, int n, uint8_t *lanes, int *most)
{
    bool rising = true;
    for (int i = 1; i < n; i++) rising &= sorted[i - 1] < sorted[i];
    *most = 1;
    memset(lanes, 1, (size_t)n);
    if (rising) return n;
    std::sort(sorted, sorted + n);
    int count = 0;
    for (int i = 0; i < n; i++) {
        const bool again = i > 0 && sorted[i] == sorted[count - 1];
        if (!again) {
            sorted[count] = sorted[i];
            lanes[count++] = 0;
        }
        *most = std::max(*most, (int)++lanes[count - 1]);
    }
    return count;
}

} // namespace

// ---- the caches' model --------------------------------------------------------------------------

constexpr uint64_t kSector = 32, kSectors = 4; // bytes; of a line

void
cache::make(uint64_t bytes, int in_a_set)
{
    ways = in_a_set;
    const auto n = std::max<uint64_t>(1, bytes / (kSector * kSectors) / (uint64_t)ways);
    if (sets.size() != n) sets.assign(n, {});
    forget();
}

void
cache::forget()
{
    epoch++;
    written_back = 0;
}

namespace
{

// The way that has the line, or -1.
int
way_of(const cache::set &s, uint32_t tag, int ways)
{
    for (unsigned first = 0; first < (unsigned)ways; first += 4) {
        unsigned found = 0;
        for (unsigned i = 0; i < 4; i++)
            found |= (unsigned)((s.tag[first + i] == tag) & (s.sectors[first + i] != 0)) << i;
        if (found) return (int)first + first_of(found);
    }
    return -1;
}

// The order in which this way is the latest.
uint64_t
latest(uint64_t order, int way)
{
    int at = 0;
    while ((int)(order >> at & 15) != way) at += 4;
    const uint64_t before = (1ull << at) - 1; // those that are behind it now
    return (order & ~(before << 4 | 15)) | (order & before) << 4 | (uint64_t)way;
}

} // namespace

bool
cache::touch(uint64_t sector, bool writes)
{
    const uint64_t line = sector / kSectors;
    const unsigned bit = 1u << sector % kSectors, new_bits = writes ? bit | bit << 4 : bit;
    set *const s = set_of(line);
    if (s->epoch != epoch) *s = {0xfedcba9876543210u, epoch, {}, {}};
    int way = (int)(s->order & 15);
    if (s->tag[way] != (uint32_t)line || s->sectors[way] == 0) {
        way = way_of(*s, (uint32_t)line, ways);
        if (way < 0) {
            way = (int)(s->order >> 4 * (ways - 1) & 15);
            written_back += (uint64_t)__builtin_popcount(s->sectors[way] >> 4);
            s->tag[way] = (uint32_t)line;
            s->sectors[way] = 0;
        }
        s->order = latest(s->order, way);
    }
    const bool was = s->sectors[way] & bit;
    s->sectors[way] |= (uint8_t)new_bits;
    return was;
}

void
cache::prefetch(uint64_t sector)
{
    const set *const s = set_of(sector / kSectors);
    __builtin_prefetch(s);
    __builtin_prefetch(&s->tag[kMostWays - 1]);
}

uint64_t
cache::flush()
{
    uint64_t all = written_back;
    for (const set &s : sets)
        for (int i = 0; i < ways && s.epoch == epoch; i++)
            all += (uint64_t)__builtin_popcount(s.sectors[i] >> 4);
    return all;
}

// Loads go through L1, which blocks do not share; all else goes to L2. What is written there is not
// fetched first.
void
collector::to_caches(trace_kind kind, const uint64_t *sectors, int n)
{
    uint64_t missed[2 * kWarpLanes];
    if (kind == trace_kind::load) {
        int misses = 0;
        for (int i = 0; i < n; i++)
            if (!l1.touch(sectors[i], false)) {
                missed[misses++] = sectors[i];
                l2.prefetch(sectors[i]);
            }
        totals.l1_sectors += (uint64_t)n;
        totals.l1_hits += (uint64_t)(n - misses);
        sectors = missed;
        n = misses;
    }
    int hits = 0;
    for (int i = 0; i < n; i++) hits += l2.touch(sectors[i], kind != trace_kind::load);
    totals.l2_sectors += (uint64_t)n;
    totals.l2_hits += (uint64_t)hits;
    if (kind != trace_kind::store) totals.dram_read += (uint64_t)(n - hits);
}

// ---- requests -------------------------------------------------------------------------------------

void
collector::begin(const grid &g)
{
    const uint64_t blocks = (uint64_t)g.blocks.x * g.blocks.y * g.blocks.z;
    const uint64_t threads = (uint64_t)g.threads.x * g.threads.y * g.threads.z;
    const uint64_t most = std::max<uint64_t>(1, asked.threads / threads);
    stride = (blocks + most - 1) / most;
    totals = {};
    rows.clear();
    firsts.clear();
    found.clear();
    sites.clear();
    records.clear();
    memset(recent, 0, sizeof recent);
    l1.make(asked.l1, 4);
    l2.make(asked.l2, 16);
}

int
collector::row_of(uint64_t key)
{
    key &= (1ull << kDepthShift) - 1;
    auto &near = recent[(key >> kPlaceShift ^ key >> 8) % 256];
    if (near.key == key && key != 0) return near.row;
    const auto [at, is_new] = found.try_emplace(key, (int)rows.size());
    if (is_new) {
        rows.push_back({});
        rows.back().key = key;
        firsts.push_back(0);
    }
    near = {key, at->second};
    return at->second;
}

uint32_t
collector::site_of(const char *file, int line, int what)
{
    for (size_t i = 0; i < sites.size(); i++)
        if (sites[i].line == line && sites[i].what == what && sites[i].file == file)
            return (uint32_t)i;
    sites.push_back({file, line, what, 0, 0});
    return (uint32_t)sites.size() - 1;
}

// An atomic comes to a sector as often as there are lanes at the sector's busiest address.
void
collector::count_global(trace_row *r, trace_record *of, const uint64_t *sorted, int n,
                        const uint8_t *lanes, int size)
{
    uint64_t sectors[2 * kWarpLanes];
    const bool atomic = kind_of_event(of->key) == trace_kind::atomic;
    int count = 0, replays = 0, here = 0;
    for (int i = 0; i < n; i++)
        for (uint64_t s = sorted[i] / kSector; s <= (sorted[i] + (uint64_t)size - 1) / kSector;
             s++) {
            if (count == 0 || s > sectors[count - 1]) {
                sectors[count++] = s;
                here = 1;
            }
            if (!atomic) continue;
            replays += std::max(lanes[i] - here, 0);
            here = std::max((int)lanes[i], here);
        }
    const int all = count + replays;
    r->sectors += (uint64_t)all;
    r->ideal_sectors += ((uint64_t)(n * size) + kSector - 1) / kSector;
    r->most = std::max(r->most, (uint64_t)all);
    of->sectors = (uint16_t)all;
    to_caches(kind_of_event(of->key), sectors, count);
}

void
collector::request(const tracer &t, int warp, uint64_t key, unsigned lanes,
                   const uint64_t *addresses)
{
    const int index = row_of(key);
    trace_row *const r = &rows[(size_t)index];
    const trace_space space = space_of_event(key);
    const int size = size_of_event(key), n = __builtin_popcount(lanes);
    totals.events += (uint64_t)n;
    r->requests++;
    r->lanes += (uint64_t)n;
    if (kind_of_event(key) == trace_kind::block) return;
    uint64_t sorted[kWarpLanes];
    uint8_t at_each[kWarpLanes];
    int count = 0, at_one = 0;
    for (unsigned set = lanes; set; set &= set - 1) sorted[count++] = addresses[first_of(set)];
    const int different = distinct(sorted, count, at_each, &at_one);
    if (firsts[(size_t)index] == 0) firsts[(size_t)index] = addresses[first_of(lanes)];
    r->bytes += (uint64_t)(n * size);
    r->distinct += (uint64_t)(different * size);
    trace_record record = {};
    record.key = key;
    if (kind_of_event(key) == trace_kind::atomic) r->replays += (uint64_t)at_one - 1;
    if (space == trace_space::global) {
        count_global(r, &record, sorted, different, at_each, size);
    } else if (space == trace_space::shared) {
        int w = wavefronts(addresses, lanes, size);
        if (kind_of_event(key) == trace_kind::atomic) w = std::max(w, at_one);
        r->wavefronts += (uint64_t)w;
        r->ideal_wavefronts +=
            (uint64_t)(std::max(different * size, 1) + kBanks * kBank - 1) / (kBanks * kBank);
        r->most = std::max(r->most, (uint64_t)w);
        record.wavefronts = (uint16_t)w;
    } else if (space == trace_space::constant) { // a word a pass
        r->wavefronts += (uint64_t)different;
        r->ideal_wavefronts++;
        r->most = std::max(r->most, (uint64_t)different);
        record.wavefronts = (uint16_t)different;
    }
    if (records.size() >= asked.records) return;
    for (unsigned set = lanes; set; set &= set - 1)
        record.address[first_of(set)] = addresses[first_of(set)];
    record.block = t.number;
    record.warp = (uint16_t)warp;
    record.lanes = lanes;
    records.push_back(record);
}

} // namespace emu
