// symbols.cc -- the names of kernels and the places of static shared arrays, from the symbol
// table of the object file that this code is in. A stripped file has none: kernels then go by
// their address, and shared arrays are not refilled.
#include "emu/runtime.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>

#ifdef EMU_ASAN
static char emu_arrays_anchor;
constexpr int kArrayType = STT_OBJECT;
constexpr bool kHelpersToo = false; // their arrays look like the statics of any other function
#else
static thread_local char emu_arrays_anchor;
constexpr int kArrayType = STT_TLS;
constexpr bool kHelpersToo = true; // a kernel calls functions that have arrays of their own
#endif

namespace emu
{

namespace
{

struct shared_array {
    array_range at;
    std::string name;  // mangled: _ZZ <function> E <variable>
    const void *owner; // that function; null: it was inlined wherever it is called
    bool of_kernel;    // and not of a function that kernels may call
};

struct table {
    std::map<const void *, std::string> functions; // mangled names
    std::vector<shared_array> arrays;
};

// A variable of a function is mangled _ZZ <function> E <variable>; an array that the project's
// own runtime keeps is none of these, nor is a constant, which lies in memory not written to.
bool
is_array(const Elf64_Sym &s, const Elf64_Shdr *sections, const char *name)
{
    return ELF64_ST_TYPE(s.st_info) == kArrayType && s.st_size > 0 && s.st_shndx != SHN_UNDEF &&
           s.st_shndx < SHN_LORESERVE && (sections[s.st_shndx].sh_flags & SHF_WRITE) &&
           name[0] == '_' && name[1] == 'Z' && name[2] == 'Z' &&
           strncmp(name + 3, "N3emu", 5) != 0;
}

// The bytes [at, at + size) of the file; null if it has no such.
const char *
part(const std::string &file, uint64_t at, uint64_t size)
{
    return at <= file.size() && size <= file.size() - at ? file.data() + at : nullptr;
}

void
read_symbols(const std::string &file, uintptr_t base, table *t)
{
    const auto header = reinterpret_cast<const Elf64_Ehdr *>(part(file, 0, sizeof(Elf64_Ehdr)));
    if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header->e_type == ET_EXEC) base = 0; // its symbols have addresses, not offsets
    const auto sections = reinterpret_cast<const Elf64_Shdr *>(
        part(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)));
    for (int i = 0; sections && i < header->e_shnum; i++) {
        const Elf64_Shdr &section = sections[i];
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
        const Elf64_Shdr &strings = sections[section.sh_link];
        const auto symbols =
            reinterpret_cast<const Elf64_Sym *>(part(file, section.sh_offset, section.sh_size));
        const char *names = part(file, strings.sh_offset, strings.sh_size);
        if (symbols == nullptr || names == nullptr || strings.sh_size == 0 ||
            names[strings.sh_size - 1] != 0)
            return;
        ptrdiff_t anchor = 0;
        for (size_t k = 0; k < section.sh_size / sizeof *symbols; k++) {
            const Elf64_Sym &s = symbols[k];
            if (s.st_name >= strings.sh_size) return;
            const char *name = names + s.st_name;
            if (strstr(name, "emu_arrays_anchor")) anchor = (ptrdiff_t)s.st_value;
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF)
                t->functions.emplace(reinterpret_cast<const void *>(base + s.st_value), name);
            else if (s.st_shndx < header->e_shnum && is_array(s, sections, name))
                t->arrays.push_back({{(ptrdiff_t)s.st_value, s.st_size}, name, nullptr, false});
        }
        for (shared_array &a : t->arrays) a.at.offset -= anchor;
    }
}

// __global__ tags names; what is mangled _ZZ is a function within one, such as a lambda.
bool
is_kernel(const std::string &name)
{
    return name.find("B6kernel") != std::string::npos && name.compare(0, 3, "_ZZ") != 0;
}

void
find_owners(table *t)
{
    std::unordered_map<std::string, const void *> by_name; // without _Z
    for (const auto &f : t->functions)
        if (f.second.size() > 2) by_name.emplace(f.second.substr(2), f.first);
    for (shared_array &a : t->arrays)
        for (size_t end = a.name.size() - 1; end > 3 && a.owner == nullptr; end--) {
            if (a.name[end] != 'E') continue;
            const auto found = by_name.find(a.name.substr(3, end - 3));
            if (found == by_name.end()) continue;
            a.owner = found->second;
            a.of_kernel = is_kernel(t->functions[a.owner]);
        }
}

table
read_own_file()
{
    table t;
    Dl_info own;
    if (dladdr(reinterpret_cast<void *>(&describe_kernel), &own) == 0) return t;
    // A program's own name may be the one it was called by, without its folder.
    const bool program = strchr(own.dli_fname, '/') == nullptr;
    std::ifstream stream(program ? "/proc/self/exe" : own.dli_fname, std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(stream), {}};
    read_symbols(file, (uintptr_t)own.dli_fbase, &t);
    find_owners(&t);
    return t;
}

// "void (anonymous namespace)::k<float>(float const*, long)" as "k<float>".
std::string
readable(const std::string &mangled)
{
    int status = 0;
    char *plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    if (plain == nullptr) return mangled;
    std::string name = plain;
    free(plain);
    for (const std::string part : {"(anonymous namespace)::", "[abi:kernel]"})
        for (size_t at; (at = name.find(part)) != std::string::npos;)
            name.erase(at, part.size());
    size_t start = 0, end = name.size();
    int depth = 0;
    for (size_t i = 0; i < end; i++) {
        depth += (name[i] == '<') - (name[i] == '>');
        if (depth > 0) continue;
        if (name[i] == ' ') start = i + 1; // behind the return type
        if (name[i] == '(') end = i;
    }
    return name.substr(start, end - start);
}

const table *known = nullptr; // the device's lock guards it

// What is not known now, for want of memory, is read when a kernel is launched.
void
know_symbols()
{
    if (known == nullptr) known = new table(read_own_file());
}

// While this file is being loaded: later another may lie in its place.
const bool tried = [] {
    try {
        know_symbols();
    } catch (const std::bad_alloc &) {
        return false;
    }
    return true;
}();

} // namespace

char *
shared_arrays()
{
    return &emu_arrays_anchor;
}

size_t
describe_kernel(const void *kernel, std::string *name, std::vector<array_range> *arrays)
{
    know_symbols();
    const auto found = known->functions.find(kernel);
    char address[40];
    snprintf(address, sizeof address, "at %p", kernel);
    *name = found == known->functions.end() ? address : readable(found->second);

    size_t own = 0;
    for (const shared_array &a : known->arrays) {
        if (a.owner == kernel)
            own += a.at.size;
        else if (!kHelpersToo || a.of_kernel)
            continue; // another kernel's
        arrays->push_back(a.at);
    }
    return own;
}

} // namespace emu
