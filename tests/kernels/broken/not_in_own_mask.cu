// not_in_own_mask -- a lane votes, and its mask does not name it.
#include "program.cuh"

template <bool kMended>
__global__ void
vote(unsigned *out)
{
    const unsigned mask = kMended ? 0xffffffffu : 0xfffffffeu;
    out[threadIdx.x] = __ballot_sync(mask, threadIdx.x % 2);
}

int
main(int argc, char **)
{
    program p;
    unsigned *out = p.room<unsigned>(32);
    p.launch(argc > 1 ? vote<true> : vote<false>, 1, 32, 0, out);
    return p.compare(out, std::vector<unsigned>(32, 0xaaaaaaaau));
}
