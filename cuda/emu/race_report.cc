// race_report.cc -- a race in words: who did what, where, to which array, and what would order it.
#include "emu/races.h"

#include <algorithm>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

namespace emu
{

namespace
{

// ---- lines of the source ------------------------------------------------------------------------

std::string
quoted(const std::string &text)
{
    std::string all = "'";
    for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

} // namespace

std::string
own_line(const std::vector<std::string> &frames)
{
    std::string line;
    for (const std::string &f : frames) {
        line = f.substr(0, f.find(" (discriminator"));
        while (line.compare(0, 2, "./") == 0) line.erase(0, 2);
        if (line.find("/emu/") == std::string::npos && line.compare(0, 5, "/usr/") != 0) break;
    }
    return line.find('?') == std::string::npos ? line : "";
}

std::map<uintptr_t, std::string>
lines_of(const std::vector<uintptr_t> &calls)
{
    std::map<uintptr_t, std::string> lines;
    std::map<std::string, std::vector<std::pair<uintptr_t, uintptr_t>>> by_file;
    for (const uintptr_t pc : calls) {
        Dl_info own;
        const auto *code = reinterpret_cast<const void *>(pc);
        if (pc == 0 || dladdr(code, &own) == 0) continue;
        const uintptr_t place = place_in(file_of(code), pc - 1);
        const bool program = facts_of_file(file_of(code)).program;
        by_file[program ? "/proc/" + std::to_string(getpid()) + "/exe" : own.dli_fname]
            .push_back({place, pc});
    }
    for (const auto &[file, places] : by_file) {
        std::string command = "addr2line -a -i -e " + quoted(file);
        char text[2000];
        for (const auto &p : places) {
            snprintf(text, sizeof text, " %#zx", (size_t)p.first);
            command += text;
        }
        FILE *told = popen((command + " 2>/dev/null").c_str(), "r");
        if (told == nullptr) continue;
        std::vector<std::vector<std::string>> frames;
        while (fgets(text, sizeof text, told)) {
            text[strcspn(text, "\n")] = 0;
            if (strncmp(text, "0x", 2) == 0)
                frames.emplace_back();
            else if (!frames.empty())
                frames.back().push_back(text);
        }
        pclose(told);
        for (size_t i = 0; i < frames.size() && i < places.size(); i++)
            lines[places[i].second] = own_line(frames[i]);
    }
    return lines;
}

namespace
{

std::string
at_line(const std::map<uintptr_t, std::string> &lines, uintptr_t pc)
{
    const auto found = lines.find(pc);
    return found == lines.end() || found->second.empty() ? " at a line that is not known"
                                                         : " at " + found->second;
}

// ---- arrays -------------------------------------------------------------------------------------

std::string
element(const std::string &name, size_t offset, size_t size)
{
    if (size > 0 && offset % size == 0) return name + "[" + std::to_string(offset / size) + "]";
    return name + " at its byte " + std::to_string(offset);
}

// "matrix[1][2]"
std::string
element(const variable_entry &v, size_t offset)
{
    std::string text = v.name;
    const auto size = (size_t)v.type.size;
    size_t of_all = size;
    for (int i = 0; i < v.ndim; i++) of_all *= (size_t)v.shape[i];
    for (int i = 0; i < v.ndim; i++) {
        of_all /= (size_t)v.shape[i];
        text += "[" + std::to_string(offset / of_all) + "]";
        offset %= of_all;
    }
    return text;
}

std::string
parameter(const kernel_entry *kernel, int pointer, size_t *size)
{
    if (kernel == nullptr) return "";
    std::string names = kernel->parameters;
    for (int i = 0; i < kernel->count; i++) {
        const size_t comma = names.find(',');
        if (kernel->types[i].pointer && pointer-- == 0) {
            if (kernel->types[i].size > 0) *size = (size_t)kernel->types[i].size;
            return names.substr(0, comma);
        }
        names.erase(0, comma == std::string::npos ? comma : comma + 1);
    }
    return "";
}

// What lies at an address of device memory, or ends last before it.
std::string
global_name(const grid &g, uintptr_t address, size_t size)
{
    const kernel_entry *kernel = nullptr;
    if (g.watched)
        for (kernel = *g.watched->kernels; kernel && kernel->kernel != g.work->kernel;)
            kernel = kernel->next;
    uintptr_t block = 0;
    for (const span &b : blocks_in_use(g.device))
        if ((uintptr_t)b.begin <= address) block = std::max(block, (uintptr_t)b.begin);
    int best = -1;
    for (int i = 0; i < g.work->pointer_count; i++) {
        const auto p = (uintptr_t)g.work->pointers[i];
        if (p < block || p > address) continue;
        if (best < 0 || p > (uintptr_t)g.work->pointers[best]) best = i;
    }
    if (best < 0) return element("device memory", address - block, 0);
    std::string name = parameter(kernel, best, &size);
    if (name.empty()) name = "its pointer number " + std::to_string(best + 1) + ", ";
    return element(name, address - (uintptr_t)g.work->pointers[best], size);
}

// A static shared array of the kernel there, or that ends before: another kernel's may lie behind it.
std::string
shared_name(const grid &g, size_t at, size_t size)
{
    const array_range *last = nullptr;
    for (const array_range &a : g.arrays)
        if ((size_t)a.offset <= at && (last == nullptr || a.offset > last->offset)) last = &a;
    size_t start = 0;
    const std::string name = array_name(g.in, last ? (size_t)last->offset : at, &start);
    return element(name, at - start, size) + " (shared)";
}

std::string
name_of(const grid &g, const race &r, uintptr_t address, size_t size)
{
    const auto in = [&](int i) { return address - (uintptr_t)r.spaces[i].begin; };
    const auto has = [&](int i) { return in(i) < r.spaces[i].size; };
    if (has(watcher::fixed)) return shared_name(g, in(watcher::fixed), size);
    if (has(watcher::dynamic)) return element("dynamic shared memory", in(watcher::dynamic), 0);
    if (has(watcher::variables))
        for (const variable_entry *v = *g.watched->variables; v; v = v->next) {
            size_t bytes = v->type.pointer ? 8 : (size_t)v->type.size;
            for (int i = 0; i < v->ndim; i++) bytes *= (size_t)v->shape[i];
            const size_t offset = address - (uintptr_t)v->address;
            if (offset < bytes) return element(*v, offset) + " (a variable)";
        }
    if (!has(watcher::global)) return "a variable";
    return global_name(g, address, size);
}

// ---- who ----------------------------------------------------------------------------------------

std::string
triple(dim3 shape, unsigned long long n)
{
    char text[60];
    snprintf(text, sizeof text, "(%llu, %llu, %llu)", n % shape.x, n / shape.x % shape.y,
             n / shape.x / shape.y);
    return text;
}

std::string
who(const grid &g, const party &s)
{
    if (!s.operation.empty()) return s.operation;
    return "block " + triple(g.blocks, s.block) + ", thread " +
           triple(g.threads, (unsigned)s.thread) + ", lane " + std::to_string(s.thread % 32) +
           " of warp " + std::to_string(s.thread / 32);
}

const char *
verb(access_kind kind, bool past)
{
    switch (kind) {
    case access_kind::read: return past ? "read it" : "reads it";
    case access_kind::write: return past ? "wrote it" : "writes it";
    default: return past ? "changed it atomically" : "changes it atomically";
    }
}

const char *
remedy(const race &r, bool same_line)
{
    const party &a = r.now, &b = r.before;
    if (!b.operation.empty())
        return "an event that the one stream records and the other waits for, or a wait of the "
               "host between them, would";
    const bool one_is_atomic = a.kind == access_kind::atomic || b.kind == access_kind::atomic;
    if (a.block != b.block)
        return one_is_atomic ? "the other access has to be atomic too, or wait for a flag: "
                               "__threadfence() and an atomic on both sides"
                             : "blocks have no barrier: an atomic would, or another launch, or "
                               "__threadfence() before an atomic flag that the other waits for";
    if (one_is_atomic)
        return "__syncthreads() between them would, or an atomic in the other's place";
    const bool one_warp = a.thread / kWarpLanes == b.thread / kWarpLanes;
    if (same_line)
        return one_warp ? "an atomic would, or, from turn to turn, __syncwarp()"
                        : "an atomic would, or, from turn to turn, __syncthreads()";
    return one_warp ? "__syncwarp() or __syncthreads() between them would"
                    : "__syncthreads() between them would";
}

// What the two did since something last ordered them.
std::string
story(const grid &g, const race &r, const std::map<uintptr_t, std::string> &lines,
      const std::vector<const step *> &steps)
{
    if (steps.size() < 3) return "";
    std::string text = "\nWhat the two did since the last barrier, or the start:";
    for (const step *s : steps) {
        const char *what = s->kind == access_kind::read    ? " reads "
                           : s->kind == access_kind::write ? " writes "
                                                           : " changes ";
        text += "\n  thread " + triple(g.threads, (unsigned)thread_of(s->what)) + what +
                name_of(g, r, s->address, s->size) + at_line(lines, place_of(site_of(s->what)));
    }
    return text;
}

std::vector<const step *>
steps_of_both(const race &r)
{
    constexpr size_t kMost = 10;
    std::vector<const step *> all;
    if (r.what != fault::unordered || r.now.block != r.before.block ||
        !r.before.operation.empty())
        return all;
    for (const step &s : r.steps) {
        const int t = thread_of(s.what);
        if (moment_of(s.what) >= r.base && (t == r.now.thread || t == r.before.thread))
            all.push_back(&s);
    }
    if (all.size() > kMost) all.erase(all.begin(), all.end() - kMost);
    return all;
}

} // namespace

std::string
told(const grid &g, const race &r)
{
    const std::vector<const step *> steps = steps_of_both(r);
    std::vector<uintptr_t> calls = {r.now.pc, r.before.pc};
    for (const step *s : steps) calls.push_back(place_of(site_of(s->what)));
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    const auto lines = lines_of(calls);
    const std::string name = name_of(g, r, r.address, (size_t)r.size);
    const std::string kernel = "kernel " + g.name;
    const std::string here = at_line(lines, r.now.pc);
    const std::string bytes = std::to_string(r.size) + " bytes";
    switch (r.what) {
    case fault::unordered:
        return kernel + ": race on " + name + "\n  " + who(g, r.now) + " " +
               verb(r.now.kind, false) + here + "\n  " + who(g, r.before) + " " +
               verb(r.before.kind, true) + at_line(lines, r.before.pc) +
               "\nNothing orders the two; " + remedy(r, here == at_line(lines, r.before.pc)) +
               "." + story(g, r, lines, steps);
    case fault::unwritten:
        return kernel + ": " + who(g, r.now) + " reads " + name + here +
               ", which nobody has written";
    case fault::outside:
        return kernel + ": " + who(g, r.now) +
               (r.now.kind == access_kind::read ? " reads " : " writes ") + bytes + here +
               " outside of every array, at " + name;
    default:
        return kernel + ": " + who(g, r.now) + " uses " + name + " as " + r.text +
               ", whose address is no multiple of " + bytes;
    }
}

std::string
told_of_copy(const char *what, cudaStream_t stream, bool writes, const void *at, access other)
{
    const moment m = moment_of(other);
    const uintptr_t pc = place_of(site_of(other));
    char text[60];
    snprintf(text, sizeof text, stream ? " in stream %p" : " in the default stream",
             static_cast<void *>(stream));
    const location in = locate(at);
    return std::string(what) + text + ": race on device memory, " + std::to_string(in.left) +
           " bytes before its block's end\n  it " + (writes ? "writes" : "reads") + " what " +
           operation_of(m) + " used" + (pc ? at_line(lines_of({pc}), pc) : "") +
           "\nNothing orders the two; an event that the one stream records and the other waits "
           "for, or a wait of the host between them, would.";
}

} // namespace emu
