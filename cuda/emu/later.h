// later.h -- launches in kernels, which wait until the grid has ended that asks for them.
#pragma once
#include "emu/api.h"

#include <vector>

namespace emu
{

// In a kernel: to be done in its stream when its grid has ended; or, where that failed, only to be
// forgotten.
EMU_API_BEGIN
void later(cudaError_t (*work)(void *what, bool wanted, cudaStream_t stream), void *what);
EMU_API_END

#pragma GCC visibility push(hidden)

struct waiting {
    cudaError_t (*work)(void *what, bool wanted, cudaStream_t stream);
    void *what;
};
std::vector<waiting> take_waiting();

#pragma GCC visibility pop

} // namespace emu
