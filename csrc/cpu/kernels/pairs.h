/* pairs.h -- vectors of complex numbers, whose parts lie side by side. */
#ifndef WARPKIT_PAIRS_H
#define WARPKIT_PAIRS_H

#include "vector.h"

#define SHUFFLE(v, ...) WK_PICK(v, v, wk_vl, __VA_ARGS__)
#if defined(__AVX512F__)
#define EVEN(v) SHUFFLE(v, 0, 0, 2, 2, 4, 4, 6, 6)
#define ODD(v) SHUFFLE(v, 1, 1, 3, 3, 5, 5, 7, 7)
#define SWAPPED(v) SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6)
#define PATTERN(even, odd)                                                                     \
    {                                                                                          \
        even, odd, even, odd, even, odd, even, odd                                             \
    }
#elif defined(__AVX__)
#define EVEN(v) SHUFFLE(v, 0, 0, 2, 2)
#define ODD(v) SHUFFLE(v, 1, 1, 3, 3)
#define SWAPPED(v) SHUFFLE(v, 1, 0, 3, 2)
#define PATTERN(even, odd)                                                                     \
    {                                                                                          \
        even, odd, even, odd                                                                   \
    }
#else
#define EVEN(v) SHUFFLE(v, 0, 0)
#define ODD(v) SHUFFLE(v, 1, 1)
#define SWAPPED(v) SHUFFLE(v, 1, 0)
#define PATTERN(even, odd)                                                                     \
    {                                                                                          \
        even, odd                                                                              \
    }
#endif

#endif
