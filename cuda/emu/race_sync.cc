// race_sync.cc -- what orders the accesses of a watched block: barriers, __syncwarp, and fences with
// atomics, by which threads of other blocks learn of them.
#include "emu/races.h"
#include "emu/turns.h"

#include <algorithm>
#include <list>
#include <new>
#include <unordered_set>

namespace emu
{

namespace
{

std::mutex lock; // of what follows, and of all that it points to
// By address, and of shared memory by the block too; until the launch ends.
lasting<std::map<std::pair<uintptr_t, uint64_t>, release_list>> all_lists;
lasting<std::list<knowledge>> all_known; // which takes no memory when the library is loaded
auto &lists = all_lists.value;
auto &known = all_known.value;
std::atomic<bool> published{false};

bool
covers(const fenced &f, int by, access a)
{
    const moment m = moment_of(a);
    const int t = thread_of(a);
    return m < f.base || (t == by && m < f.own) ||
           (t / kWarpLanes == by / kWarpLanes && m < f.lanes[t % kWarpLanes]);
}

// Has one of a block's first releases of a list told of this access?
bool
tells(const release_list &list, int count, uint32_t block, bool near, access a,
      uintptr_t address)
{
    const auto found = list.last.find(block);
    if (found == list.last.end()) return false;
    for (int i = found->second; i >= 0; i = list.of[(size_t)i].before) {
        const release &r = list.of[(size_t)i];
        if (i >= count) continue;
        if (covers(near ? r.near : r.all, r.thread, a)) return true;
        if (address == list.address && is_atomic(a) && thread_of(a) == r.thread &&
            moment_of(a) <= r.when) // the atomics of one address are in a row
            return true;
    }
    return false;
}

} // namespace

void
forget_releases()
{
    std::lock_guard hold(lock);
    lists.clear();
    known.clear();
    published = false;
}

moment
watcher::bump()
{
    constexpr moment kInChunk = (1 << kChunkBits) - 1;
    if ((last & kInChunk) != kInChunk) return ++last;
    try {
        return last = take_chunk(number);
    } catch (const std::bad_alloc &) {
        give_up(of);
    }
}

void
watcher::at_barrier()
{
    base = bump();
    if (fence_count > 0 && dirty_count == 0) clean = base;
    if (!knowing) return;
    const busy guard(this);
    std::lock_guard hold(lock);
    for (int t = 0; t < of->threads; t++) {
        if (knows[t]) common = both(common, knows[t]);
        knows[t] = nullptr;
    }
}

void
watcher::at_meeting(moment when)
{
    met = when;
    try {
        last = take_chunk(number); // those of the old one are before it
    } catch (const std::bad_alloc &) {
        give_up(of);
    }
}

void
watcher::at_syncwarp(int w, unsigned lanes)
{
    const moment m = bump();
    const int first_lane = w * kWarpLanes;
    for (unsigned set = lanes; set; set &= set - 1) since[first_lane + first_of(set)] = m;
    if (lanes == of->of_warp[w].present) {
        warp_base[w] = m;
    } else {
        if (parts[w] <= base) memset(seen[w], 0, sizeof seen[w]);
        parts[w] = m;
        moment all[kWarpLanes] = {};
        for (unsigned set = lanes; set; set &= set - 1)
            for (int k = 0; k < kWarpLanes; k++)
                all[k] = std::max(all[k], seen[w][first_of(set)][k]);
        for (unsigned set = lanes; set; set &= set - 1) all[first_of(set)] = m;
        for (unsigned set = lanes; set; set &= set - 1)
            memcpy(seen[w][first_of(set)], all, sizeof all);
    }
    if (!knowing) return;
    const busy guard(this);
    std::lock_guard hold(lock);
    const knowledge *all = nullptr;
    for (unsigned set = lanes; set; set &= set - 1) {
        const knowledge *one = knows[first_lane + first_of(set)];
        if (one && one != all) all = both(all, one);
    }
    for (unsigned set = lanes; set; set &= set - 1) knows[first_lane + first_of(set)] = all;
}

fenced
watcher::before_fence(int t, moment fence) const
{
    const int w = t / kWarpLanes;
    fenced f;
    f.own = fence;
    f.base = base;
    for (int i = 0; i < kWarpLanes; i++) {
        f.lanes[i] = warp_base[w];
        if (parts[w] > base) f.lanes[i] = std::max(f.lanes[i], seen[w][t % kWarpLanes][i]);
    }
    return f;
}

void
watcher::at_fence(int t, scope reach)
{
    since[t] = bump();
    fences &f = last_fence[t];
    f.near = before_fence(t, since[t]);
    if (reach == scope::block) return;
    f.all = f.near;
    fence_count++;
    if (dirty[t]) dirty_count--;
    dirty[t] = false;
}

// An atomic: what stands before its thread's last fence is told to all that come to this address
// later. Where all threads have fenced before a barrier, any of them may tell of it.
void
watcher::publish(int t, uintptr_t address)
{
    fences &f = last_fence[t];
    if (clean == base && clean > 0 && f.all.own < base) at_fence(t, scope::device);
    if (f.near.own <= first) return; // it has not fenced in this block
    const busy guard(this);
    std::lock_guard hold(lock);
    release_list &list = lists[{address, is_shared(address) ? number + 1ull : 0}];
    const auto last_one = list.last.find(number);
    const int before = last_one == list.last.end() ? -1 : last_one->second;
    const auto index = (int)list.of.size();
    list.address = address;
    release r = {number, t, now(t), {}, f.near, both(common, knows[t]), before};
    if (f.all.own > first) r.all = f.all;
    list.of.push_back(r);
    list.last[number] = index;
    if (r.knows) list.more.push_back(index);
    published = true;
}

// After an atomic: what was told at its address is ordered before what its thread does from now on.
void
watcher::acquire(int t, uintptr_t address)
{
    if (!published) return;
    const busy guard(this);
    std::lock_guard hold(lock);
    const auto found = lists.find({address, is_shared(address) ? number + 1ull : 0});
    if (found == lists.end()) return;
    const release_list *list = &found->second;
    const auto count = (int)list->of.size();
    const knowledge *old = knows[t];
    if (old && old->list == list) {
        if (old->count == count) return;
        known.push_back({list, count, old->next, old->other});
    } else {
        known.push_back({list, count, old, nullptr});
    }
    knows[t] = &known.back();
    knowing = true;
}

// With the lock held.
const knowledge *
watcher::both(const knowledge *a, const knowledge *b)
{
    if (a == nullptr || b == nullptr || a == b) return a ? a : b;
    known.push_back({nullptr, 0, a, b});
    return &known.back();
}

bool
watcher::knows_of(int t, access a, uintptr_t address) const
{
    std::lock_guard hold(lock);
    const uint32_t block = block_of(moment_of(a));
    std::unordered_map<const release_list *, int> read;
    std::unordered_set<const knowledge *> met;
    std::vector<const knowledge *> left = {common, knows[t]};
    while (!left.empty()) {
        const knowledge *k = left.back();
        left.pop_back();
        if (k == nullptr || !met.insert(k).second) continue;
        left.insert(left.end(), {k->next, k->other});
        if (k->list == nullptr || read[k->list] >= k->count) continue;
        read[k->list] = k->count;
        if (tells(*k->list, k->count, block, block == number, a, address)) return true;
        for (const int i : k->list->more)
            if (i < k->count) left.push_back(k->list->of[(size_t)i].knows);
    }
    return false;
}

bool
watcher::is_known(int t, access a, uintptr_t address) const
{
    const moment m = moment_of(a);
    if (is_own(m)) {
        const int by = thread_of(a), w = t / kWarpLanes;
        if (by == t || m < base) return true;
        if (by / kWarpLanes == w &&
            (m < warp_base[w] ||
             (parts[w] > base && m < seen[w][t % kWarpLanes][by % kWarpLanes])))
            return true;
    } else if (m < began) {
        return is_ordered_operation(m);
    } else if (m < met) {
        return true;
    }
    return knowing && knows_of(t, a, address);
}

} // namespace emu
