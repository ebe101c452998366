// trace_order.cc -- in which order the lanes of a warp go on when they have parted: first those that stand
// before the others, so that they meet again where a GPU's do. What comes before what is learnt from the
// paths that lanes have taken: a loop comes before what follows it, a branch before where its sides
// join, wherever a compiler has put them.
#include "emu/trace.h"
#include "emu/turns.h"

#include <algorithm>

namespace emu
{

// ---- the graph ------------------------------------------------------------------------------------

uint32_t
flow::node_at(uint32_t place)
{
    if (nodes[place] == 0) {
        if (next.empty()) next.emplace_back(); // whence all begin
        nodes[place] = (uint32_t)next.size();
        next.emplace_back();
        rank.resize(next.size());
    }
    return nodes[place];
}

void
flow::add(uint32_t from, uint32_t to)
{
    recent[slot(from, to)] = {from, to};
    std::vector<uint32_t> &all = next[from];
    if (std::find(all.begin(), all.end(), to) != all.end()) return;
    all.push_back(to);
    is_ordered = false;
}

namespace
{

// Strongly connected components of a part of the graph, the last first; each begins with the node that is
// come to first. R. Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion:
// a kernel's stack is small.
class components
{
  public:
    components(const std::vector<std::vector<uint32_t>> &graph, std::vector<uint32_t> *parts)
        : next(graph), part(*parts), index(graph.size()), low(graph.size())
    {
    }

    std::vector<std::vector<uint32_t>> of(const std::vector<uint32_t> &nodes, uint32_t number)
    {
        found.clear();
        for (const uint32_t n : nodes) index[n] = 0;
        for (const uint32_t n : nodes)
            if (index[n] == 0) search(n, number);
        return std::move(found);
    }

  private:
    struct visit {
        uint32_t node;
        size_t edge;
    };

    void open(uint32_t node)
    {
        index[node] = low[node] = ++count;
        open_nodes.push_back(node);
        path.push_back({node, 0});
    }

    void search(uint32_t from, uint32_t number)
    {
        open(from);
        while (!path.empty()) {
            visit &v = path.back();
            const uint32_t n = v.node;
            if (v.edge < next[n].size()) {
                const uint32_t to = next[n][v.edge++];
                if (part[to] != number) continue; // of another part, or in its place already
                if (index[to] == 0)
                    open(to);
                else
                    low[n] = std::min(low[n], index[to]);
                continue;
            }
            path.pop_back();
            if (!path.empty()) low[path.back().node] = std::min(low[path.back().node], low[n]);
            if (low[n] == index[n]) close(n);
        }
    }

    void close(uint32_t first)
    {
        const auto begin = std::find(open_nodes.rbegin(), open_nodes.rend(), first).base() - 1;
        found.emplace_back(begin, open_nodes.end());
        for (auto n = begin; n != open_nodes.end(); ++n) part[*n] = ~0u;
        open_nodes.erase(begin, open_nodes.end());
    }

    const std::vector<std::vector<uint32_t>> &next;
    std::vector<uint32_t> &part;
    std::vector<uint32_t> index, low, open_nodes;
    std::vector<visit> path;
    std::vector<std::vector<uint32_t>> found;
    uint32_t count = 0;
};

} // namespace

// Components in their order, and each loop's nodes likewise without its first. F. Bourdoncle, "Efficient
// chaotic iteration strategies with widenings" (1993).
void
flow::order()
{
    std::vector<uint32_t> part(next.size(), ~0u), all(next.size());
    for (size_t i = 0; i < all.size(); i++) all[i] = (uint32_t)i;
    components find(next, &part);
    std::vector<std::vector<uint32_t>> tasks = {all}; // the next one last
    uint32_t ranks = 0, number = 0;
    while (!tasks.empty()) {
        const std::vector<uint32_t> nodes = std::move(tasks.back());
        tasks.pop_back();
        if (nodes.size() == 1) {
            rank[nodes[0]] = ranks++;
            continue;
        }
        for (const uint32_t n : nodes) part[n] = number;
        for (std::vector<uint32_t> &c : find.of(nodes, number)) {
            const uint32_t first = c[0];
            if (c.size() > 1) tasks.emplace_back(c.begin() + 1, c.end());
            tasks.push_back({first});
        }
        number++;
    }
    is_ordered = true;
}

// ---- lanes ----------------------------------------------------------------------------------------

// To an event at this depth of calls: those that have returned are left.
void
cursor::come(uint16_t to)
{
    while (level >= 0 && depth[level] < to) level--;
    if (level >= 0 && depth[level] == to) return;
    if (level < kLevels - 1) level++;
    depth[level] = to;
    node[level] = 0;
}

namespace
{

bool
same_place(const cursor &a, const cursor &b)
{
    if (a.level != b.level) return false;
    for (int i = 0; i <= a.level; i++)
        if (a.depth[i] != b.depth[i] || a.node[i] != b.node[i]) return false;
    return true;
}

// As many events as two lanes have in common.
uint32_t
in_common(const event *a, const event *b, uint32_t most)
{
    if (memcmp(a, b, most * sizeof(event)) == 0) return most;
    uint32_t n = 0;
    while (a[n] == b[n]) n++;
    return n;
}

} // namespace

void
tracer::learn(lane_log *l)
{
    const uint32_t count = l->count - l->learnt;
    if (count == 0) return;
    const event *const events = l->events + l->learnt;
    l->learnt = l->count;
    if (lesson.count == count && same_place(lesson.before, l->ahead) &&
        in_common(lesson.events, events, count) == count) {
        l->ahead = lesson.after;
        return;
    }
    lesson.before = l->ahead;
    flow &f = file->paths;
    const uint32_t *const nodes = f.nodes.data();
    cursor &c = l->ahead;
    for (const event *e = events; e < events + count; e++) {
        const uint64_t key = *e;
        if (kind_of_event(key) == trace_kind::mark) continue;
        const uint32_t place = place_of_event(key), known = nodes[place];
        const uint32_t node = known ? known : f.node_at(place);
        const auto depth = (uint16_t)(key >> kDepthShift);
        if (c.level < 0 || c.depth[c.level] != depth) c.come(depth);
        const uint32_t from = c.node[c.level];
        const auto &last = f.recent[flow::slot(from, node)];
        if (last.from != from || last.to != node) f.add(from, node);
        c.node[c.level] = node;
    }
    lesson.events = events;
    lesson.count = count;
    lesson.after = c;
}

// For how many steps a group's lanes do the same, before any other group: at least one.
uint32_t
tracer::run_of(const lane_log *l, const heads &h, int first) const
{
    const auto &group = h.groups[first];
    uint64_t others = ~0ull;
    for (int i = 0; i < h.count; i++)
        if (i != first && h.groups[i].order < others) others = h.groups[i].order;
    const lane_log &one = l[first_of(group.lanes)];
    const event *const events = one.events + one.done;
    const uint32_t all = one.count - one.done;
    uint32_t n = 1;
    for (uint32_t most = std::min(4u, all);;
         most = std::min(4 * most, all)) { // lanes part soon
        for (; n < most; n++) {
            const uint64_t key = events[n];
            if ((key ^ group.key) >> kDepthShift || kind_of_event(key) == trace_kind::mark)
                break;
            if ((group.calls | file->paths.part(key) << group.shift) >= others) break;
        }
        for (unsigned set = group.lanes & (group.lanes - 1); set && n > 1; set &= set - 1) {
            const lane_log &o = l[first_of(set)];
            n = in_common(events, o.events + o.done, std::min(n, o.count - o.done));
        }
        if (n < most || most == all) return n;
    }
}

// These lanes do so many of the same events.
void
tracer::go_on(int w, unsigned group, uint32_t steps)
{
    lane_log *const l = &lanes[w * kWarpLanes];
    const event *const events = l[first_of(group)].events + l[first_of(group)].done;
    const uint64_t *all_addresses[kWarpLanes];
    for (unsigned set = group; set; set &= set - 1) {
        const lane_log &one = l[first_of(set)];
        all_addresses[first_of(set)] = one.addresses + one.done;
    }
    uint32_t n = 0;
    uint64_t key = 0;
    while (n < steps &&
           to->totals.events <= to->asked.events) { // of more the rest goes untraced
        key = events[n];
        uint64_t addresses[kWarpLanes];
        if (kind_of_event(key) != trace_kind::block)
            for (unsigned set = group; set; set &= set - 1)
                addresses[first_of(set)] = all_addresses[first_of(set)][n];
        to->request(*this, w, key, group, addresses);
        n++;
    }
    const uint32_t node = file->paths.nodes[place_of_event(key)];
    for (unsigned set = group; set; set &= set - 1) {
        lane_log &one = l[first_of(set)];
        one.done += n;
        one.here.go((uint16_t)(key >> kDepthShift), node);
    }
    last[w].key = key;
}

// Of these lanes some meet at a collective: at other lines perhaps.
unsigned
tracer::meet(int w, const heads &h, unsigned able)
{
    lane_log *const l = &lanes[w * kWarpLanes];
    int first = first_of(able);
    for (unsigned set = able; set; set &= set - 1)
        if (h.keys[first_of(set)] < h.keys[first]) first = first_of(set);
    const uint64_t what = l[first].addresses[l[first].done];
    unsigned group = 0;
    for (unsigned set = able; set; set &= set - 1) {
        lane_log &one = l[first_of(set)];
        if (one.addresses[one.done] != what) continue;
        group |= 1u << first_of(set);
        one.done++;
    }
    trace_site &s = to->sites[place_of_event(h.keys[first])];
    s.times++;
    s.lanes += (uint64_t)__builtin_popcount(group);
    last[w].key = h.keys[first];
    return group;
}

// Lanes whose collective is complete go on, or else those whose events come first: these.
unsigned
tracer::step(int w, heads *h, unsigned complete)
{
    unsigned group = 0;
    if (complete) {
        group = meet(w, *h, complete);
    } else {
        int first = 0;
        for (int i = 1; i < h->count; i++) {
            const auto &a = h->groups[i], &b = h->groups[first];
            if (a.order < b.order || (a.order == b.order && a.key < b.key)) first = i;
        }
        group = h->groups[first].lanes;
        go_on(w, group, run_of(&lanes[w * kWarpLanes], *h, first));
        h->groups[first] = h->groups[--h->count];
    }
    last[w].lanes = group;
    return group;
}

} // namespace emu
