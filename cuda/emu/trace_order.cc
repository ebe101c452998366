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

void
tracer::learn(lane_log *l)
{
    flow &f = file->paths;
    for (; l->learnt < l->count; l->learnt++) {
        const uint64_t key = l->events[l->learnt].key;
        if (kind_of_event(key) == trace_kind::mark) continue;
        const uint32_t place = place_of_event(key), known = f.nodes[place];
        const uint32_t node = known ? known : f.node_at(place);
        cursor &c = l->ahead;
        const auto depth = (uint16_t)(key >> kDepthShift);
        if (c.level < 0 || c.depth[c.level] != depth) c.come(depth);
        const auto &last = f.recent[flow::slot(c.node[c.level], node)];
        if (last.from != c.node[c.level] || last.to != node) f.add(c.node[c.level], node);
        c.node[c.level] = node;
    }
}

// Where a lane stands before an event: in its kernel, and in the functions that are being called from there.
// Who has not come to a call is before those within.
uint64_t
tracer::order_of(const lane_log &l, uint64_t key) const
{
    if (kind_of_event(key) == trace_kind::mark) return 0;
    const flow &f = file->paths;
    const auto depth = (uint16_t)(key >> kDepthShift);
    const cursor &c = l.here;
    int level = c.level;
    while (level >= 0 && c.depth[level] < depth) level--;
    if (level < 0 || c.depth[level] != depth) level++;
    uint64_t order = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t at = 0;
        if (i < level && (i < 2 || level < cursor::kLevels))
            at = 2 * (uint64_t)f.rank[c.node[i]] + 1;
        if (i == std::min(level, 2)) at = 2 * (uint64_t)f.rank[f.nodes[place_of_event(key)]];
        order = order << 21 | (at & 0x1fffff);
    }
    return order;
}

namespace
{

// The lanes of the lowest order, and among these of the lowest key, which is `best`.
unsigned
earliest(const uint64_t *orders, const uint64_t *keys, unsigned able, uint64_t *best)
{
    uint64_t first = ~0ull;
    unsigned group = 0;
    for (; able; able &= able - 1) {
        const int i = first_of(able);
        if (orders[i] > first || (orders[i] == first && keys[i] > *best)) continue;
        if (orders[i] != first || keys[i] != *best) group = 0;
        first = orders[i];
        *best = keys[i];
        group |= 1u << i;
    }
    return group;
}

} // namespace

// Of the lanes that are able, those whose events come first go on: these.
unsigned
tracer::step(int w, heads *h, unsigned able, bool together)
{
    lane_log *const l = &lanes[w * kWarpLanes];
    const uint64_t *const keys = h->keys;
    uint64_t best = keys[first_of(able)];
    unsigned group = able;
    if (!together) {
        for (unsigned set = able & ~h->ordered; set; set &= set - 1)
            h->orders[first_of(set)] = order_of(l[first_of(set)], keys[first_of(set)]);
        h->ordered |= able;
        group = earliest(h->orders, keys, able, &best);
    }
    const trace_kind kind = kind_of_event(best);
    if (kind == trace_kind::mark) {
        const uint64_t what = l[first_of(group)].events[l[first_of(group)].done].address;
        for (unsigned set = able; set; set &= set - 1) { // at other lines perhaps
            const int i = first_of(set);
            if (kind_of_event(keys[i]) == kind && l[i].events[l[i].done].address == what)
                group |= 1u << i;
        }
        trace_site &s = to->sites[place_of_event(best)];
        s.times++;
        s.lanes += (uint64_t)__builtin_popcount(group);
    } else {
        uint64_t addresses[kWarpLanes];
        const unsigned accessing = kind == trace_kind::block ? 0 : group;
        for (unsigned set = accessing; set; set &= set - 1) {
            const lane_log &one = l[first_of(set)];
            addresses[first_of(set)] = one.events[one.done].address;
        }
        to->request(*this, w, best, group, addresses);
    }
    const uint32_t node =
        kind == trace_kind::mark ? 0 : file->paths.nodes[place_of_event(best)];
    for (unsigned set = group; set; set &= set - 1) {
        lane_log &one = l[first_of(set)];
        one.done++;
        if (node) one.here.go((uint16_t)(best >> kDepthShift), node);
    }
    last[w].lanes = group;
    last[w].key = best;
    return group;
}

} // namespace emu
