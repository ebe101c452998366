// smem / constant -- lanes read constant memory: the same word, or each another.
//
// In, out   32 indices -> the words there; clocks.
// How       its cache gives a warp one word in a turn. What all lanes ask for is there at once, as if it
//           stood in the instruction; 32 different words take 32 turns.
// Source    NVIDIA, "CUDA C++ Programming Guide", constant memory.
#include "smem/reads.cuh"

namespace
{

namespace smem = wk::smem;

// Every call fills it alike, so calls of several streams need not take turns.
__constant__ smem::element<4> table[WK_READABLE];

template <int kWords>
__global__ void
__launch_bounds__(smem::kReaders)
    reads_constant(const int *in, uint32_t *out, int repeats, long long *clocks)
{
    smem::read_table<kWords>(in, out, repeats, clocks, [&](uint32_t at) {
        return reinterpret_cast<const smem::element<kWords> *>(table)[at * (4 / kWords)];
    });
}

} // namespace

WK_LAUNCHER(lane_reads, cuda, constant)
{
    smem::element<4> filled[WK_READABLE]; // pageable: it has been read when the copy returns
    for (uint32_t i = 0; i < WK_READABLE; i++) filled[i] = {{i, i, i, i}};
    WK_TRY(&call->error,
           cudaMemcpyToSymbolAsync(table, filled, sizeof filled, 0, cudaMemcpyHostToDevice,
                                   wk::session_of(call)->stream));
    return smem::visit_words(call, [&](auto words) {
        return smem::launch_reads(call, reads_constant<decltype(words)::value>);
    });
}
