// user_abi.h -- what the objects of users' own sources, the plug-ins that run them and
// python/warpkit/_kernels.py agree on.
#pragma once
#include "emu/user_facts.h"

#include <stdint.h>

namespace warpkit
{

struct kernel_entry {
    const kernel_entry *next;
    const char *name, *parameters;       // "ns::k", "x,n"
    const void *kernel;                  // of a GPU: a cudaKernel_t
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

struct user_argument { // of a GPU: a value
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
    uint64_t place;      // of the instruction that failed, in the kernel's file; 0: not known
    int32_t raced;       // it failed of a race
    int32_t cooperative; // its blocks run at the same time
    int32_t waits; // of a GPU: until the kernel has ended; the emulated device always does
};

// ---- of a GPU alone ---------------------------------------------------------------------------

struct user_library { // machine code to be loaded
    const void *image;
    const char *const *kernels, *const *variables; // symbols
    const void **handles;                          // of the kernels, when it is loaded
    void **places;                                 // of the variables
    int32_t kernel_count, variable_count, device;
    const char *error; // until this thread's next call
};

struct user_copy { // of a variable
    void *to;
    const void *from;
    int64_t bytes;
    int32_t device;
    const char *error;
};

} // namespace warpkit

namespace emu
{
using namespace warpkit;
}
