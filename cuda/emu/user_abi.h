// user_abi.h -- what the objects of users' own sources, the emulator and python/warpkit/_kernels.py
// agree on.
#pragma once
#include "emu/api.h"

namespace emu
{

EMU_API_BEGIN
cudaError_t
note(cudaError_t code); // what cudaGetLastError gives; and code, or an earlier kernel's
void launched(cudaError_t code); // tells stderr too
void forget_failure();           // of a kernel, which every call gives until then
struct kernel_entry;
struct variable_entry;

// The file that code is in is compiled with calls before its accesses: races are looked for in its
// kernels.
void watch(const void *code, const kernel_entry *const *kernels,
           const variable_entry *const *variables, bool program);
void written_by_host(const void *p, size_t size); // or may be: what stands there is known
unsigned long long nanoseconds();
EMU_API_END

struct type_facts {
    char
        code; // of the element: b(ool), c(har), i, u, f as NumPy has it; h: __half, y: __nv_bfloat16;
              // V: a struct; v: void
    int8_t lanes;  // 4 in float4
    bool pointer;  // to elements
    bool readonly; // which are const
    int64_t size;  // of an element with all its lanes
};

struct kernel_entry {
    const kernel_entry *next;
    const char *name, *parameters; // "ns::k", "x,n"
    const void *kernel;
    void (*call)(const void *arguments); // an array of pointers to them
    const type_facts *types;
    const void *const *defaults; // of the last parameters
    int count, default_count;
};

struct variable_entry {
    const variable_entry *next;
    const char *name;
    void *address;
    type_facts type; // of an element
    int ndim;
    int64_t shape[8];
};

struct file_entry {
    const kernel_entry *kernels;
    const variable_entry *variables;
};

struct user_argument {
    enum { value, copy_in, copy_both, same };
    void *data;    // the value's place, or the array on the host
    int64_t bytes; // of the array; same: which argument has it too
    int32_t kind;
};

struct user_call {
    const kernel_entry *kernel;
    uint32_t grid[3], block[3];
    int64_t shared;
    uint64_t stream;
    const user_argument *arguments;
    int32_t count, device;
    const char *error, *printed; // what comes back; until this thread's next call
    int64_t printed_size;
    uint64_t place; // of the instruction that failed, in the kernel's file; 0: not known
    int32_t raced;  // it failed of a race
};

} // namespace emu
