/* transpose_simd.h -- squares of elements, transposed in registers.
 *
 * A register is LANES lanes of 16 bytes, and each lane transposes a square of its own: 16 x 16
 * bytes, 8 x 8 halves, 4 x 4 words, 2 x 2 doubles. The lanes' squares lie one below the other in the
 * input, so that a register holds neighbours in an output row, and a whole line of 64 bytes where
 * there are four lanes. One network serves all sizes and all instruction sets. */
#ifndef WARPKIT_TRANSPOSE_SIMD_H
#define WARPKIT_TRANSPOSE_SIMD_H

#include "cpu/isa.h"

#include <stdint.h>
#include <string.h>

enum { LANE = 16 }; /* bytes */

typedef uint8_t wk_lane __attribute__((vector_size(LANE)));

static inline wk_lane
load_lane(const char *from)
{
    wk_lane v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* What memcpy does, without a call: runs are short. */
static inline void
copy_run(const char *restrict from, char *restrict to, int64_t n)
{
    if (n >= 256) {
        memcpy(to, from, (size_t)n);
    } else if (n >= 64) {
        for (int64_t i = 0; i < n; i += 64) {
            const int64_t at = i + 64 <= n ? i : n - 64;
            memcpy(to + at, from + at, 64);
        }
    } else if (n >= 16) {
        for (int64_t i = 0; i < n; i += 16) {
            const int64_t at = i + 16 <= n ? i : n - 16;
            memcpy(to + at, from + at, 16);
        }
    } else if (n >= 8) {
        memcpy(to, from, 8), memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4), memcpy(to + n - 4, from + n - 4, 4);
    } else if (n >= 2) {
        memcpy(to, from, 2), memcpy(to + n - 2, from + n - 2, 2);
    } else if (n == 1) {
        *to = *from;
    }
}

#if defined(__AVX512BW__)
#include <immintrin.h>
enum { LANES = 4 };
typedef __m512i wk_lanes;
#define PASTE_LANES(half, bits, a, b) _mm512_unpack##half##_epi##bits(a, b)
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES = 2 };
typedef __m256i wk_lanes;
#define PASTE_LANES(half, bits, a, b) _mm256_unpack##half##_epi##bits(a, b)
#else
enum { LANES = 1 };
typedef wk_lane wk_lanes;
#define PASTE_LANES PASTE_LANE
#endif

#define PASTE_LANE(half, bits, a, b) zip_##half##_##bits(a, b)
#define ZIP_LANES(half, bits, a, b) PASTE_LANES(half, bits, a, b) /* bits may be a macro */
#define ZIP_LANE(half, bits, a, b) PASTE_LANE(half, bits, a, b)

/* Lane i from address from + i * step. */
static inline wk_lanes
load_lanes(const char *from, int64_t step)
{
#if defined(__AVX512BW__)
    __m512i v = _mm512_castsi128_si512((__m128i)load_lane(from));
    v = _mm512_inserti32x4(v, (__m128i)load_lane(from + step), 1);
    v = _mm512_inserti32x4(v, (__m128i)load_lane(from + 2 * step), 2);
    return _mm512_inserti32x4(v, (__m128i)load_lane(from + 3 * step), 3);
#elif defined(__AVX2__)
    const __m256i v = _mm256_castsi128_si256((__m128i)load_lane(from));
    return _mm256_inserti128_si256(v, (__m128i)load_lane(from + step), 1);
#else
    (void)step;
    return load_lane(from);
#endif
}

/* Elements of a and b by turns: those of their lower halves, or of their upper. */
typedef uint16_t wk_lane_16 __attribute__((vector_size(LANE)));
typedef uint32_t wk_lane_32 __attribute__((vector_size(LANE)));
typedef uint64_t wk_lane_64 __attribute__((vector_size(LANE)));

static inline wk_lane
zip_lo_8(wk_lane a, wk_lane b)
{
    return WK_PICK(a, b, wk_lane, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

static inline wk_lane
zip_hi_8(wk_lane a, wk_lane b)
{
    return WK_PICK(a, b, wk_lane, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

static inline wk_lane
zip_lo_16(wk_lane a, wk_lane b)
{
    const wk_lane_16 x = (wk_lane_16)a, y = (wk_lane_16)b;
    return (wk_lane)WK_PICK(x, y, wk_lane_16, 0, 8, 1, 9, 2, 10, 3, 11);
}

static inline wk_lane
zip_hi_16(wk_lane a, wk_lane b)
{
    const wk_lane_16 x = (wk_lane_16)a, y = (wk_lane_16)b;
    return (wk_lane)WK_PICK(x, y, wk_lane_16, 4, 12, 5, 13, 6, 14, 7, 15);
}

static inline wk_lane
zip_lo_32(wk_lane a, wk_lane b)
{
    return (wk_lane)WK_PICK((wk_lane_32)a, (wk_lane_32)b, wk_lane_32, 0, 4, 1, 5);
}

static inline wk_lane
zip_hi_32(wk_lane a, wk_lane b)
{
    return (wk_lane)WK_PICK((wk_lane_32)a, (wk_lane_32)b, wk_lane_32, 2, 6, 3, 7);
}

static inline wk_lane
zip_lo_64(wk_lane a, wk_lane b)
{
    return (wk_lane)WK_PICK((wk_lane_64)a, (wk_lane_64)b, wk_lane_64, 0, 2);
}

static inline wk_lane
zip_hi_64(wk_lane a, wk_lane b)
{
    return (wk_lane)WK_PICK((wk_lane_64)a, (wk_lane_64)b, wk_lane_64, 1, 3);
}

#endif
