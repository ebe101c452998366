// later.h -- what else users' objects call: launches in kernels, which wait until the grid has ended that
// asks for them; a kernel's shared memory; that a block is managed.
#pragma once
#include "emu/api.h"

#include <vector>

namespace emu
{

// In a kernel: to be done in its stream when its grid has ended; or, where that failed, only to be
// forgotten.
EMU_API_BEGIN
void later(cudaError_t (*work)(void *what, bool wanted, cudaStream_t stream), void *what);
cudaError_t static_shared(const void *kernel, size_t *bytes); // that it has
void note_managed(const void *block);
EMU_API_END

#pragma GCC visibility push(hidden)

struct waiting {
    cudaError_t (*work)(void *what, bool wanted, cudaStream_t stream);
    void *what;
};
std::vector<waiting> take_waiting();

#pragma GCC visibility pop

} // namespace emu
