// trace_report.cc -- the counts of a launch as python/warpkit/lab reads them: a line of JSON, then the
// requests' records as they are.
#include "emu/races.h"
#include "emu/trace.h"

#include <dlfcn.h>
#include <stdio.h>

namespace emu
{

namespace
{

std::string
quoted(const std::string &text)
{
    std::string all = "\"";
    for (const char c : text) {
        char code[8];
        snprintf(code, sizeof code, "\\u%04x", (unsigned char)c);
        if (c == '"' || c == '\\' || (unsigned char)c < 32)
            all += code;
        else
            all += c;
    }
    return all + "\"";
}

void
add(std::string *text, std::initializer_list<uint64_t> numbers)
{
    *text += "[";
    for (const uint64_t n : numbers) *text += std::to_string(n) + ",";
    text->back() = ']';
}

// The kernel's nth pointer.
std::string
parameter(const kernel_entry *kernel, int pointer)
{
    std::string names = kernel ? kernel->parameters : "";
    for (int i = 0; kernel && i < kernel->count; i++) {
        const size_t comma = names.find(',');
        if (kernel->types[i].pointer && pointer-- == 0) return names.substr(0, comma);
        names.erase(0, comma == std::string::npos ? comma : comma + 1);
    }
    return "";
}

// Compilers keep whether they have made an array beside it.
bool
is_shared(const grid &g, uintptr_t address)
{
    const uintptr_t at = address - (uintptr_t)shared_arrays(g.in);
    if (at >= facts_of_file(g.in).tls_size) return true;
    for (const array_range &a : g.arrays)
        if (at - (uintptr_t)a.offset < a.size) return true;
    return false;
}

// The array that an address is in, as far as that is known.
std::string
array_at(const grid &g, const kernel_entry *kernel, trace_space space, uintptr_t address)
{
    if (space == trace_space::shared) {
        size_t start = 0;
        const size_t at = address - (uintptr_t)shared_arrays(g.in);
        return at < facts_of_file(g.in).tls_size ? array_name(g.in, at, &start) : "(dynamic)";
    }
    if (space != trace_space::global) return "";
    uintptr_t block = 0;
    for (const span &b : blocks_in_use(g.device))
        if ((uintptr_t)b.begin <= address) block = std::max(block, (uintptr_t)b.begin);
    int best = -1;
    for (int i = 0; i < g.work->pointer_count; i++) {
        const auto p = (uintptr_t)g.work->pointers[i];
        if (p < block || p > address) continue;
        if (best < 0 || p > (uintptr_t)g.work->pointers[best]) best = i;
    }
    return best < 0 ? "" : parameter(kernel, best);
}

std::string
file_name(const grid &g)
{
    const auto *code = reinterpret_cast<const void *>(g.traced->code);
    Dl_info own;
    if (facts_of_file(g.in).program || dladdr(code, &own) == 0) return "";
    return own.dli_fname;
}

} // namespace

std::string
collector::told(const grid &g)
{
    const trace_totals &t = totals;
    const kernel_entry *kernel = *g.traced->kernels;
    while (kernel && kernel->kernel != g.work->kernel) kernel = kernel->next;
    std::string text = "{\"kernel\":" + quoted(g.name) + ",\"file\":" + quoted(file_name(g));
    text += ",\"code\":" + std::to_string(place_in(g.in, g.traced->code));
    text += ",\"error\":" + quoted(g.failed ? g.report : "") + ",\"grid\":";
    add(&text, {g.blocks.x, g.blocks.y, g.blocks.z});
    text += ",\"block\":";
    add(&text, {g.threads.x, g.threads.y, g.threads.z});
    text += ",\"shared\":";
    add(&text, {g.fixed, g.shared});
    text += ",\"stride\":" + std::to_string(stride) + ",\"totals\":";
    add(&text, {t.events, t.blocks, t.warps, t.l1_sectors, t.l1_hits, t.l2_sectors, t.l2_hits,
                t.dram_read, l2.flush(), t.cut});
    text += ",\"rows\":[";
    bool first = true;
    for (size_t i = 0; i < rows.size(); i++) {
        const trace_row &r = rows[i];
        if (space_of_event(r.key) == trace_space::shared && !is_shared(g, firsts[i])) continue;
        text += first ? "[" : ",[";
        first = false;
        add(&text, {r.key, r.requests, r.lanes, r.bytes, r.distinct, r.sectors, r.ideal_sectors,
                    r.wavefronts, r.ideal_wavefronts, r.most, r.replays, r.divergent});
        text += "," + quoted(array_at(g, kernel, space_of_event(r.key), firsts[i])) + "]";
    }
    text += "],\"sites\":[";
    for (size_t i = 0; i < sites.size(); i++) {
        const trace_site &s = sites[i];
        text += i ? ",[" : "[";
        add(&text, {(uint64_t)s.line, (uint64_t)s.what, s.times, s.lanes});
        text += "," + quoted(s.file) + "]";
    }
    text += "],\"records\":" + std::to_string(records.size()) + "}\n";
    text.append(reinterpret_cast<const char *>(records.data()),
                records.size() * sizeof(trace_record));
    return text;
}

} // namespace emu
