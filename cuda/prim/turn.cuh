// turn.cuh -- small matrices in a thread's registers, turned there.
#pragma once
#include "runtime/cuda.cuh"

namespace wk
{

// N rows of 4 bytes, of N elements each, become N columns: 4 x 4 bytes, 2 x 2 halves.
template <int N>
__device__ __forceinline__ void
turn_words(uint32_t *w)
{
    static_assert(N == 1 || N == 2 || N == 4, "the elements of a word");
    if constexpr (N == 2) {
        const uint32_t a = w[0], b = w[1];
        w[0] = __byte_perm(a, b, 0x5410);
        w[1] = __byte_perm(a, b, 0x7632);
    }
    if constexpr (N == 4) {
        const uint32_t a = w[0], b = w[1], c = w[2], d = w[3];
        const uint32_t ab = __byte_perm(a, b, 0x5140), AB = __byte_perm(a, b, 0x7362);
        const uint32_t cd = __byte_perm(c, d, 0x5140), CD = __byte_perm(c, d, 0x7362);
        w[0] = __byte_perm(ab, cd, 0x5410);
        w[1] = __byte_perm(ab, cd, 0x7632);
        w[2] = __byte_perm(AB, CD, 0x5410);
        w[3] = __byte_perm(AB, CD, 0x7632);
    }
}

} // namespace wk
