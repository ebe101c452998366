/* unique_simd.h -- what sorting takes of registers: the smaller and the larger keys of two, lanes
 * exchanged, two registers zipped, and a register's keys below a pivot packed before the others.
 * Lanes are of 32 bits, and a key of 64 is two of them. */
#ifndef WARPKIT_UNIQUE_SIMD_H
#define WARPKIT_UNIQUE_SIMD_H

#include <stdint.h>

#if defined(__AVX512BW__)
#include <immintrin.h>
#define WK_SORTS_IN_VECTORS
enum { ROW_BYTES = 64 };
typedef __m512i wk_keys;
typedef __m512i wk_pack_32, wk_pack_64;

#define LOWER_32 _mm512_min_epu32
#define UPPER_32 _mm512_max_epu32
#define LOWER_64 _mm512_min_epu64
#define UPPER_64 _mm512_max_epu64

/* Lane i gets lane i ^ by. */
static inline wk_keys
exchange(wk_keys x, int by)
{
    const wk_keys i = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(_mm512_xor_si512(i, _mm512_set1_epi32(by)), x);
}

/* Of b the lanes whose number has the bit, a power of two, of a the others. */
static inline wk_keys
choose(wk_keys a, wk_keys b, int bit)
{
    const int mask = bit == 1 ? 0xaaaa : bit == 2 ? 0xcccc : bit == 4 ? 0xf0f0 : 0xff00;
    return _mm512_mask_blend_epi32((__mmask16)mask, a, b);
}

/* Keys of a and b by turns. */
static inline void
zip_32(wk_keys a, wk_keys b, wk_keys *first, wk_keys *last)
{
    const wk_keys i = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    *first = _mm512_permutex2var_epi32(a, i, b);
    *last = _mm512_permutex2var_epi32(a, _mm512_add_epi32(i, _mm512_set1_epi32(8)), b);
}

static inline void
zip_64(wk_keys a, wk_keys b, wk_keys *first, wk_keys *last)
{
    const wk_keys i = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    *first = _mm512_permutex2var_epi64(a, i, b);
    *last = _mm512_permutex2var_epi64(a, _mm512_add_epi64(i, _mm512_set1_epi64(4)), b);
}

#define ALL_32(key) _mm512_set1_epi32((int)(key))
#define ALL_64(key) _mm512_set1_epi64((int64_t)(key))

/* Keys below the pivot to a, the others to b, where they may be followed by anything; how many. */
static inline int
split_32(wk_pack_32 x, wk_pack_32 pivot, void *a, void *b)
{
    const __mmask16 less = _mm512_cmplt_epu32_mask(x, pivot);
    _mm512_storeu_si512(a, _mm512_maskz_compress_epi32(less, x));
    _mm512_storeu_si512(b, _mm512_maskz_compress_epi32((__mmask16)~less, x));
    return __builtin_popcount(less);
}

static inline int
split_64(wk_pack_64 x, wk_pack_64 pivot, void *a, void *b)
{
    const __mmask8 less = _mm512_cmplt_epu64_mask(x, pivot);
    _mm512_storeu_si512(a, _mm512_maskz_compress_epi64(less, x));
    _mm512_storeu_si512(b, _mm512_maskz_compress_epi64((__mmask8)~less, x));
    return __builtin_popcount(less);
}

#elif defined(__AVX2__)
#include <immintrin.h>
#define WK_SORTS_IN_VECTORS
enum { ROW_BYTES = 32 };
typedef __m256i wk_keys;
typedef __m128i wk_pack_32;
typedef __m256i wk_pack_64;

#define LOWER_32 _mm256_min_epu32
#define UPPER_32 _mm256_max_epu32

typedef uint32_t wk_words __attribute__((vector_size(16)));
typedef uint64_t wk_doubles __attribute__((vector_size(32)));

static inline wk_keys
LOWER_64(wk_keys a, wk_keys b)
{
    return _mm256_blendv_epi8(b, a, (wk_keys)((wk_doubles)a < (wk_doubles)b));
}

static inline wk_keys
UPPER_64(wk_keys a, wk_keys b)
{
    return _mm256_blendv_epi8(a, b, (wk_keys)((wk_doubles)a < (wk_doubles)b));
}

static inline wk_keys
exchange(wk_keys x, int by)
{
    const wk_keys i = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_permutevar8x32_epi32(x, _mm256_xor_si256(i, _mm256_set1_epi32(by)));
}

static inline wk_keys
choose(wk_keys a, wk_keys b, int bit)
{
    return bit == 1   ? _mm256_blend_epi32(a, b, 0xaa)
           : bit == 2 ? _mm256_blend_epi32(a, b, 0xcc)
                      : _mm256_blend_epi32(a, b, 0xf0);
}

static inline void
zip_32(wk_keys a, wk_keys b, wk_keys *first, wk_keys *last)
{
    const wk_keys low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
    *first = _mm256_permute2x128_si256(low, high, 0x20);
    *last = _mm256_permute2x128_si256(low, high, 0x31);
}

static inline void
zip_64(wk_keys a, wk_keys b, wk_keys *first, wk_keys *last)
{
    const wk_keys low = _mm256_unpacklo_epi64(a, b), high = _mm256_unpackhi_epi64(a, b);
    *first = _mm256_permute2x128_si256(low, high, 0x20);
    *last = _mm256_permute2x128_si256(low, high, 0x31);
}

#define ALL_32(key) _mm_set1_epi32((int)(key))
#define ALL_64(key) _mm256_set1_epi64x((int64_t)(key))

/* Four lanes: those whose bits are set, then the others, a byte each. */
static const uint32_t set_first[16] = {
    0x03020100, 0x03020100, 0x03020001, 0x03020100, 0x03010002, 0x03010200,
    0x03000201, 0x03020100, 0x02010003, 0x02010300, 0x02000301, 0x02030100,
    0x01000302, 0x01030200, 0x00030201, 0x03020100,
};

static inline __m128i
packed_32(__m128i x, int mask)
{
    const __m128i i = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)set_first[mask]));
    return (__m128i)_mm_permutevar_ps((__m128)x, i);
}

static inline __m256i
packed_64(__m256i x, int mask)
{
    const __m256i i = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)set_first[mask]));
    const __m256i low = _mm256_slli_epi64(i, 1), high = _mm256_slli_epi64(i, 33);
    const __m256i one = _mm256_set1_epi64x((int64_t)1 << 32);
    return _mm256_permutevar8x32_epi32(x, _mm256_or_si256(_mm256_or_si256(low, high), one));
}

static inline int
split_32(wk_pack_32 x, wk_pack_32 pivot, void *a, void *b)
{
    const int less = _mm_movemask_ps((__m128)((wk_words)x < (wk_words)pivot));
    _mm_storeu_si128(a, packed_32(x, less));
    _mm_storeu_si128(b, packed_32(x, less ^ 15));
    return __builtin_popcount((unsigned)less);
}

static inline int
split_64(wk_pack_64 x, wk_pack_64 pivot, void *a, void *b)
{
    const int less = _mm256_movemask_pd((__m256d)((wk_doubles)x < (wk_doubles)pivot));
    _mm256_storeu_si256(a, packed_64(x, less));
    _mm256_storeu_si256(b, packed_64(x, less ^ 15));
    return __builtin_popcount((unsigned)less);
}
#endif

#endif
