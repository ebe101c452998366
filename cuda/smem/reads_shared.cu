// smem / shared -- lanes read shared memory at any indices: banks, and who must wait for whom.
//
// In, out   32 indices -> the words there; clocks.
// How       memory has 32 banks of 4 bytes. In one turn each gives one word, to all lanes that ask for it;
//           lanes that want different words of a bank take turns. Elements of 8 bytes are read by half a
//           warp at a time, of 16 by a quarter.
// Source    NVIDIA, "CUDA C++ Programming Guide", shared memory; studied on an H100 for wide elements.
#include "smem/reads.cuh"

namespace
{

namespace smem = wk::smem;

template <int kWords>
__global__ void
__launch_bounds__(smem::kReaders)
    reads_shared(const int *in, uint32_t *out, int repeats, long long *clocks)
{
    __shared__ smem::element<kWords> table[WK_READABLE];
    for (int i = threadIdx.x; i < WK_READABLE; i += smem::kReaders)
        for (int w = 0; w < kWords; w++) table[i].word[w] = (uint32_t)i;
    smem::read_table<kWords>(in, out, repeats, clocks, [&](uint32_t at) { return table[at]; });
}

} // namespace

WK_LAUNCHER(lane_reads, cuda, shared)
{
    return smem::visit_words(call, [&](auto words) {
        return smem::launch_reads(call, reads_shared<decltype(words)::value>);
    });
}
