// symbols.cc -- the names of kernels and the places of static shared arrays, from the symbol
// table of the object file that a kernel is in: this library's, or a user's own. A stripped file has
// none: kernels then go by their address, and shared arrays are not refilled.
#include "emu/runtime.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <link.h>
#include <map>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>

#ifdef EMU_ASAN
constexpr int kArrayType = STT_OBJECT;
#else
constexpr int kArrayType = STT_TLS;
#endif

// The C library's: the address of a thread-local variable, whose memory it makes on first use.
struct tls_index {
    unsigned long module, offset;
};
extern "C" void *__tls_get_addr(tls_index *);

namespace emu
{

namespace
{

struct shared_array {
    array_range at;
    std::string name; // mangled: _ZZ <function> E <variable>
    const void
        *owner; // that function; null: it was inlined wherever it is called, or there is none
    bool of_kernel; // and not of a function that kernels may call
};

} // namespace

struct object_file {
    uintptr_t base = 0;
    size_t tls = 0; // its number among those that have thread-local variables
    uintptr_t code_begin = 0, code_end = 0, data_begin = 0, data_end = 0; // segments
    size_t tls_size = 0;
    bool program = false;
    std::map<const void *, std::string> functions; // mangled names
    std::vector<shared_array> arrays;
    std::vector<std::pair<uintptr_t, size_t>> constants; // of a traced file: begin, bytes
};

namespace
{

// __shared__ tags names.
bool
is_array(const Elf64_Sym &s, const Elf64_Shdr *sections, const char *name)
{
    return ELF64_ST_TYPE(s.st_info) == kArrayType && s.st_size > 0 && s.st_shndx != SHN_UNDEF &&
           s.st_shndx < SHN_LORESERVE && (sections[s.st_shndx].sh_flags & SHF_WRITE) &&
           strstr(name, "B6shared") != nullptr && strncmp(name, "_ZGV", 4) != 0;
}

// The bytes [at, at + size) of the file; null if it has no such.
const char *
part(const std::string &file, uint64_t at, uint64_t size)
{
    return at <= file.size() && size <= file.size() - at ? file.data() + at : nullptr;
}

void
read_symbols(const std::string &file, object_file *t)
{
    const auto header = reinterpret_cast<const Elf64_Ehdr *>(part(file, 0, sizeof(Elf64_Ehdr)));
    if (header == nullptr || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    if (header->e_type == ET_EXEC) t->base = 0; // its symbols have addresses, not offsets
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
        for (size_t k = 0; k < section.sh_size / sizeof *symbols; k++) {
            const Elf64_Sym &s = symbols[k];
            if (s.st_name >= strings.sh_size) return;
            const char *name = names + s.st_name;
            if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF)
                t->functions.emplace(reinterpret_cast<const void *>(t->base + s.st_value),
                                     name);
            else if (ELF64_ST_TYPE(s.st_info) == STT_OBJECT && strstr(name, "B8constant"))
                t->constants.push_back({t->base + s.st_value, s.st_size});
            else if (s.st_shndx < header->e_shnum && is_array(s, sections, name))
                t->arrays.push_back({{(ptrdiff_t)s.st_value, s.st_size}, name, nullptr, false});
        }
    }
}

// __global__ tags names; what is mangled _ZZ is a function within one, such as a lambda.
bool
is_kernel(const std::string &name)
{
    return name.find("B6kernel") != std::string::npos && name.compare(0, 3, "_ZZ") != 0;
}

void
find_owners(object_file *t)
{
    std::unordered_map<std::string, const void *> by_name; // as it stands within another
    for (const auto &f : t->functions)
        by_name.emplace(f.second.compare(0, 2, "_Z") == 0
                            ? f.second.substr(2)
                            : std::to_string(f.second.size()) + f.second, // extern "C"
                        f.first);
    for (shared_array &a : t->arrays)
        for (size_t end = a.name.size() - 1; end > 3 && a.owner == nullptr; end--) {
            if (a.name[end] != 'E') continue;
            const auto found = by_name.find(a.name.substr(3, end - 3));
            if (found == by_name.end()) continue;
            a.owner = found->second;
            a.of_kernel = is_kernel(t->functions[a.owner]);
        }
}

// The segments of the file that an address is in.
int
find_segments(dl_phdr_info *info, size_t, void *file)
{
    auto *f = static_cast<object_file *>(file);
    const auto begin = [&](int i) { return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr; };
    const auto end = [&](int i) { return begin(i) + info->dlpi_phdr[i].p_memsz; };
    int code = -1;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && f->code_begin >= begin(i) &&
            f->code_begin < end(i))
            code = i;
    if (code < 0) return 0;
    f->code_begin = begin(code);
    f->code_end = end(code);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto &segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_TLS) f->tls_size = segment.p_memsz;
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
        f->data_begin = begin(i) & ~(uintptr_t)3;
        f->data_end = end(i);
    }
    return 1;
}

object_file
read_file_of(const void *code)
{
    object_file f;
    Dl_info own;
    link_map *loaded = nullptr;
    if (dladdr1(code, &own, reinterpret_cast<void **>(&loaded), RTLD_DL_LINKMAP) == 0) return f;
    dlinfo(loaded, RTLD_DI_TLS_MODID, &f.tls);
    f.base = (uintptr_t)own.dli_fbase;
    f.code_begin = (uintptr_t)code;
    dl_iterate_phdr(find_segments, &f);
    f.program = loaded->l_name[0] == 0; // its name is what it was called by
    std::ifstream stream(f.program ? "/proc/self/exe" : own.dli_fname, std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(stream), {}};
    read_symbols(file, &f);
    find_owners(&f);
    return f;
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

// By where they are loaded: none is unloaded. The device's lock guards it.
lasting<std::map<const void *, const object_file *>> all_known;
auto &known = all_known.value;

} // namespace

// What is not known now, for want of memory, is read when a kernel is launched.
const object_file *
file_of(const void *code)
{
    Dl_info own = {};
    dladdr(code, &own);
    const object_file *&f = known[own.dli_fbase];
    if (f == nullptr) f = new object_file(read_file_of(code));
    return f;
}

namespace
{

// While this file is being loaded: later another may lie in its place.
const bool tried = [] {
    try {
        file_of(reinterpret_cast<void *>(&describe_kernel));
    } catch (const std::bad_alloc &) {
        return false;
    }
    return true;
}();

} // namespace

char *
shared_arrays(const object_file *in)
{
#ifdef EMU_ASAN
    return reinterpret_cast<char *>(in->base);
#else
    tls_index start = {in->tls, 0};
    return in->tls ? static_cast<char *>(__tls_get_addr(&start)) : nullptr;
#endif
}

uintptr_t
place_in(const object_file *in, uintptr_t code)
{
    return code >= in->code_begin && code < in->code_end ? code - in->base : 0;
}

file_facts
facts_of_file(const object_file *in)
{
    return {in->tls_size,
            in->data_begin,
            in->code_begin,
            in->data_end - in->data_begin,
            in->code_end - in->code_begin,
            in->program};
}

bool
is_constant(const object_file *in, uintptr_t address)
{
    for (const auto &[begin, size] : in->constants)
        if (address - begin < size) return true;
    return false;
}

const object_file *
this_library()
{
    return file_of(reinterpret_cast<void *>(&describe_kernel));
}

std::string
array_name(const object_file *in, size_t offset, size_t *start)
{
    const shared_array *nearest = nullptr; // that begins there, or before
    for (const shared_array &a : in->arrays)
        if ((size_t)a.at.offset <= offset &&
            (nearest == nullptr || a.at.offset > nearest->at.offset))
            nearest = &a;
    if (nearest == nullptr) return "shared memory";
    *start = (size_t)nearest->at.offset;
    int status = 0;
    char *plain = abi::__cxa_demangle(nearest->name.c_str(), nullptr, nullptr, &status);
    std::string name = plain ? plain : nearest->name;
    free(plain);
    name = name.substr(0, name.rfind("[abi:"));
    const size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
}

void
describe_kernel(const void *kernel, const char *name, kernel_facts *facts)
{
    facts->in = file_of(kernel);
    const auto found = facts->in->functions.find(kernel);
    char address[40];
    snprintf(address, sizeof address, "at %p", kernel);
    facts->name = name                                  ? name
                  : found == facts->in->functions.end() ? address
                                                        : readable(found->second);
    for (const shared_array &a : facts->in->arrays) {
        if (a.owner == kernel)
            facts->fixed += a.at.size;
        else if (a.of_kernel && name == nullptr)
            continue; // another kernel's
        facts->arrays.push_back(a.at);
    }
}

} // namespace emu
