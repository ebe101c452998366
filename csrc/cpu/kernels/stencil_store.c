/* stencil_store.c -- sums of stencil1d as elements of any dtype: integers truncated, modulo their
 * range; floats rounded once. What the vectors do is what num/halves.h does for one. */
#include "num/bits.h"
#include "num/halves.h"
#include "stencil.h"
#include "stencil_simd.h"

/* ---- integers --------------------------------------------------------------------------- */

#if defined(__AVX512F__)
/* What is out of range becomes INT64_MIN: the chip has it as wk_to_i64. */
WK_INLINE __m512i
whole(wk_vd v)
{
    return _mm512_cvttpd_epi64((__m512d)v);
}

WK_INLINE int
put_bool(wk_vd v, uint8_t *y)
{
    const __m512i q = whole(v);
    _mm_storel_epi64((__m128i *)y, _mm_maskz_set1_epi8(_mm512_test_epi64_mask(q, q), 1));
    return 1;
}

WK_INLINE int
put_8(wk_vd v, void *y)
{
    _mm_storel_epi64(y, _mm512_cvtepi64_epi8(whole(v)));
    return 1;
}

WK_INLINE int
put_16(wk_vd v, void *y)
{
    _mm_storeu_si128(y, _mm512_cvtepi64_epi16(whole(v)));
    return 1;
}

WK_INLINE int
put_32(wk_vd v, void *y)
{
    _mm256_storeu_si256(y, _mm512_cvtepi64_epi32(whole(v)));
    return 1;
}

WK_INLINE int
put_64(wk_vd v, void *y)
{
    _mm512_storeu_si512(y, whole(v));
    return 1;
}

WK_INLINE int
put_u64(wk_vd v, void *y)
{
    const __m512d x = (__m512d)v;
    if (_mm512_cmp_pd_mask(x, _mm512_set1_pd(0x1p63), _CMP_GE_OQ)) return 0;
    return put_64(v, y);
}

#elif defined(__AVX2__)
/* The integers, if all are below 2^51: then they are the low bits of the number + 1.5 2^52. */
WK_INLINE int
whole(wk_vd v, wk_vl *q)
{
    const wk_vd magic = wk_splat(0x1.8p52);
    const wk_vd whole =
        (wk_vd)_mm256_round_pd((__m256d)v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const wk_vl small = (wk_vl)(whole > -0x1p51) & (wk_vl)(whole < 0x1p51);
    *q = (wk_vl)_mm256_sub_epi64((__m256i)(whole + magic), (__m256i)magic);
    return _mm256_movemask_pd((__m256d)small) == 15;
}

/* The low halves of four. */
WK_INLINE __m128i
low_halves(wk_vl q)
{
    const __m128i a = _mm256_castsi256_si128((__m256i)q),
                  b = _mm256_extracti128_si256((__m256i)q, 1);
    return _mm_castps_si128(
        _mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), _MM_SHUFFLE(2, 0, 2, 0)));
}

WK_INLINE int
put_8(wk_vd v, void *y)
{
    wk_vl q;
    if (!whole(v, &q)) return 0;
    const __m128i pick =
        _mm_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const int32_t bytes = _mm_cvtsi128_si32(_mm_shuffle_epi8(low_halves(q), pick));
    memcpy(y, &bytes, sizeof bytes);
    return 1;
}

WK_INLINE int
put_16(wk_vd v, void *y)
{
    wk_vl q;
    if (!whole(v, &q)) return 0;
    const __m128i pick =
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    _mm_storel_epi64(y, _mm_shuffle_epi8(low_halves(q), pick));
    return 1;
}

WK_INLINE int
put_32(wk_vd v, void *y)
{
    wk_vl q;
    if (!whole(v, &q)) return 0;
    _mm_storeu_si128(y, low_halves(q));
    return 1;
}

WK_INLINE int
put_64(wk_vd v, void *y)
{
    wk_vl q;
    if (!whole(v, &q)) return 0;
    memcpy(y, &q, sizeof q);
    return 1;
}

WK_INLINE int
put_bool(wk_vd v, uint8_t *y)
{
    wk_vl q;
    if (!whole(v, &q)) return 0;
    const int32_t zero = _mm256_movemask_pd((__m256d)(q == 0));
    for (int i = 0; i < WK_VD; i++) y[i] = !(zero >> i & 1);
    return 1;
}
#define put_u64 put_64

#else
/* One by one: there is an instruction for that. */
WK_INLINE int
put_none(wk_vd v, const void *y)
{
    (void)v, (void)y;
    return 0;
}
#define put_bool put_none
#define put_8 put_none
#define put_16 put_none
#define put_32 put_none
#define put_64 put_none
#define put_u64 put_none
#endif

#define T uint8_t
#define VECTOR put_bool
#define ONE(x) (wk_to_i64(x) != 0)
#define STORE(name) name##_bool
#include "stencil_store_body.h"
#define T uint8_t
#define VECTOR put_8
#define ONE wk_to_i64
#define STORE(name) name##_8
#include "stencil_store_body.h"
#define T uint16_t
#define VECTOR put_16
#define ONE wk_to_i64
#define STORE(name) name##_16
#include "stencil_store_body.h"
#define T uint32_t
#define VECTOR put_32
#define ONE wk_to_i64
#define STORE(name) name##_32
#include "stencil_store_body.h"
#define T int64_t
#define VECTOR put_64
#define ONE wk_to_i64
#define STORE(name) name##_64
#include "stencil_store_body.h"
#define T uint64_t
#define VECTOR put_u64
#define ONE wk_to_u64
#define STORE(name) name##_u64
#include "stencil_store_body.h"

/* ---- floats ----------------------------------------------------------------------------- */

/* wk_round_bits of each, which is no NaN. */
WK_INLINE wk_vd
round_bits(wk_vd x, int bits, int least)
{
    const wk_vl e = ((wk_vl)x >> 52 & 2047) - 1023;
    const wk_vl above = (wk_vl)(e > least);
    const wk_vl chosen = (e & above) | (least & ~above);
    const wk_vd magic = (wk_vd)((chosen + (52 - bits + 1023)) << 52) * 1.5;
    return (x + magic) - magic;
}

/* wk_bf16_of_f64 of each. */
WK_INLINE int
put_bf16(wk_vd v, uint16_t *y)
{
    const wk_vl sign = (wk_vl)v & INT64_MIN, size = (wk_vl)v & INT64_MAX;
    const wk_vl large = (wk_vl)((wk_vd)size >= 0x1p128), nan = (wk_vl)(v != v);
    const wk_vd within = (wk_vd)((size & ~large) | ((wk_vl)wk_splat(0x1p128) & large));
    const wk_vd rounded = (wk_vd)((wk_vl)round_bits((wk_vd)(wk_vl)within, 7, -126) | sign);
    const wk_vd one = (wk_vd)(((wk_vl)rounded & ~nan) | (0x7ff8000000000000 & nan));
    const wk_vi bits = (wk_vi) __builtin_convertvector(one, wk_vf) >> 16;
    const wk_vh half = __builtin_convertvector(bits, wk_vh);
    memcpy(y, &half, sizeof half);
    return 1;
}

#if defined(__F16C__)
/* Rounded to odd first, to as many bits as a float32 has: then the second rounding errs in nothing. */
WK_INLINE int
put_f16(wk_vd v, uint16_t *y)
{
    const int64_t lost = (INT64_C(1) << 29) - 1; /* bits that float32 has not */
    const wk_vd odd = (wk_vd)(((wk_vl)v | (((wk_vl)v & lost) + lost)) & ~lost);
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)y, _mm256_cvtps_ph(_mm512_cvtpd_ps((__m512d)odd), 0));
#else
    _mm_storel_epi64((__m128i *)y, _mm_cvtps_ph(_mm256_cvtpd_ps((__m256d)odd), 0));
#endif
    return 1;
}
#else
/* wk_f16_of_f64 of each. */
WK_INLINE int
put_f16(wk_vd v, uint16_t *y)
{
    for (int i = 0; i < WK_VD; i++) y[i] = wk_f16_of_f64(v[i]);
    return 1;
}
#endif

#define T uint16_t
#define VECTOR put_f16
#define ONE wk_f16_of_f64
#define STORE(name) name##_f16
#include "stencil_store_body.h"
#define T uint16_t
#define VECTOR put_bf16
#define ONE wk_bf16_of_f64
#define STORE(name) name##_bf16
#include "stencil_store_body.h"

static void
store_f32(const void *from, int64_t n, void *to)
{
    const double *restrict x = from;
    float *restrict y = to;
    for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static void
store_f64(const void *from, int64_t n, void *to)
{
    memcpy(to, from, (size_t)n * sizeof(double));
}

static wk_stencil_store *const stores[WK_DTYPES] = {
    [WK_BOOL] = store_bool, [WK_I8] = store_8,    [WK_U8] = store_8,      [WK_I16] = store_16,
    [WK_U16] = store_16,    [WK_I32] = store_32,  [WK_U32] = store_32,    [WK_I64] = store_64,
    [WK_U64] = store_u64,   [WK_F16] = store_f16, [WK_BF16] = store_bf16, [WK_F32] = store_f32,
    [WK_F64] = store_f64,
};

/* ---- of sums in float32: by way of float64, which has them all ------------------------------- */

enum { WIDENED = 256 }; /* at once */

static void
widen(const float *restrict x, int64_t n, double *restrict y)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

/* An element takes item bytes. */
WK_INLINE void
store_widened(const float *x, int64_t n, char *y, int64_t item, wk_stencil_store *store)
{
    double wide[WIDENED];
    for (int64_t i = 0; i < n; i += WIDENED) {
        const int64_t some = n - i < WIDENED ? n - i : WIDENED;
        widen(x + i, some, wide);
        store(wide, some, y + i * item);
    }
}

static void
widened_bool(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 1, store_bool);
}

static void
widened_8(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 1, store_8);
}

static void
widened_16(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 2, store_16);
}

static void
widened_32(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 4, store_32);
}

static void
widened_64(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 8, store_64);
}

static void
widened_u64(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 8, store_u64);
}

static void
widened_f16(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 2, store_f16);
}

static void
widened_bf16(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 2, store_bf16);
}

static void
widened_f64(const void *from, int64_t n, void *to)
{
    store_widened(from, n, to, 8, store_f64);
}

static void
copy_f32(const void *from, int64_t n, void *to)
{
    memcpy(to, from, (size_t)n * sizeof(float));
}

static wk_stencil_store *const widened[WK_DTYPES] = {
    [WK_BOOL] = widened_bool, [WK_I8] = widened_8,      [WK_U8] = widened_8,
    [WK_I16] = widened_16,    [WK_U16] = widened_16,    [WK_I32] = widened_32,
    [WK_U32] = widened_32,    [WK_I64] = widened_64,    [WK_U64] = widened_u64,
    [WK_F16] = widened_f16,   [WK_BF16] = widened_bf16, [WK_F64] = widened_f64,
    [WK_F32] = copy_f32,
};

wk_stencil_store *
WK_ISA_NAME(wk_stencil_storer)(int of_double, wk_dtype out)
{
    if (out == WK_C64) out = WK_F32; /* their parts */
    if (out == WK_C128) out = WK_F64;
    return of_double ? stores[out] : widened[out];
}
