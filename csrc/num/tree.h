/* num/tree.h -- the tree of a fold whose steps round. */
#ifndef WARPKIT_NUM_TREE_H
#define WARPKIT_NUM_TREE_H

#include "num/bits.h"

/* x[0 .. n) is cut into chunks of 1024. In a chunk lane l folds x[l], x[l + 32], x[l + 64],
 * ... in that order; then lanes are folded pairwise, l with l + 16, 8, 4, 2, 1. The chunks'
 * totals are the next x, until one is left. 32 lanes are a warp, and 8 AVX2 registers of 4
 * doubles: enough to hide an addition's latency. The shape depends on n alone. */
enum { WK_LANES = 32, WK_CHUNK = 1024 };

WK_FN int64_t
wk_chunks(int64_t n)
{
    return (n + WK_CHUNK - 1) / WK_CHUNK;
}

#endif
