/* num/exact.h -- exact sums as integers, and what is rounded from them; on the CPU and in kernels.
 *
 * A sum is limbs: limb i, an int64, weighs 2^(32 i + base). A piece m 2^e touches three of them,
 * so limbs take 2^29 pieces before a carry is needed, and all that is done to them is integer
 * addition: any order, any number of threads and devices, the same bits. Squares have twice the
 * base, so that a variance is one integer, n Q - S^2, and every result is rounded once.
 *
 * Source  R. Neal, "Fast exact summation using small and large superaccumulators" (2015);
 *         Collange, Defour, Graillat, Iakymchuk (2015), hal-00949355. */
#ifndef WARPKIT_NUM_EXACT_H
#define WARPKIT_NUM_EXACT_H

#include "num/bits.h"

#include <math.h>

/* Called once a result: a kernel's code is not made longer by copies of it, nor of its loops. */
#ifdef __CUDACC__
#define WK_COLD static __host__ __device__ __attribute__((noinline))
#define WK_ROLLED _Pragma("unroll 1")
#else
#define WK_COLD static __attribute__((unused))
#define WK_ROLLED
#endif

/* How many limbs, and the exponent of the first: from the least subnormal (its square) up to 2^63
 * times the largest number. Small: float16, bfloat16 and float32, and all integers. */
enum {
    WK_SUM_BASE_SMALL = -160,
    WK_SUM_LIMBS_SMALL = 12,
    WK_SQUARE_BASE_SMALL = -320,
    WK_SQUARE_LIMBS_SMALL = 22,
    WK_SUM_BASE = -1088,
    WK_SUM_LIMBS = 72,
    WK_SQUARE_BASE = -2176,
    WK_SQUARE_LIMBS = 138
};

enum { /* what limbs do not hold */
       WK_HAS_NAN = 1,
       WK_HAS_INF = 2,
       WK_HAS_MINUS_INF = 4,
       WK_IS_ODD = WK_HAS_NAN | WK_HAS_INF | WK_HAS_MINUS_INF,
       WK_NOT_MINUS_ZERO = 8 /* some element is another number than -0.0 */
};

typedef struct wk_limbs {
    int64_t *limb;
    int count, base;
} wk_limbs;

/* ---- adding ------------------------------------------------------------------------------- */

WK_COLD void
wk_limbs_add(const wk_limbs *a, int64_t m, int e) /* m 2^e */
{
    const int at = e - a->base, i = at >> 5, shift = at & 31;
    const uint64_t low = (uint64_t)m << shift;
    const int64_t high = shift ? m >> (64 - shift) : m >> 63;
    a->limb[i] += (int64_t)(low & 0xffffffffu);
    a->limb[i + 1] += (int64_t)(low >> 32);
    a->limb[i + 2] += high;
}

/* A finite number. */
WK_COLD void
wk_limbs_add_f64(const wk_limbs *a, double x)
{
    const uint64_t b = wk_bits_f64(x);
    const int e = (int)(b >> 52 & 2047);
    const int64_t m = (int64_t)((b & 0xfffffffffffffu) | (uint64_t)(e > 0) << 52);
    if (m) wk_limbs_add(a, b >> 63 ? -m : m, (e > 0 ? e : 1) - 1075);
}

/* The square of m 2^e, m < 2^53. */
WK_COLD void
wk_limbs_add_square(const wk_limbs *a, uint64_t m, int e)
{
    const uint64_t high = m >> 27, low = m & 0x7ffffffu;
    if (m == 0) return;
    wk_limbs_add(a, (int64_t)(low * low), 2 * e);
    if (high == 0) return;
    wk_limbs_add(a, (int64_t)(2 * high * low), 2 * e + 27);
    wk_limbs_add(a, (int64_t)(high * high), 2 * e + 54);
}

/* The product of two finite numbers: the sum of four pieces times 2^e each. */
typedef struct wk_product {
    int64_t piece[4];
    int e[4];
} wk_product;

WK_COLD void
wk_product_of(double x, double y, wk_product *p)
{
    const uint64_t b = wk_bits_f64(x), c = wk_bits_f64(y);
    const int e = (int)(b >> 52 & 2047), f = (int)(c >> 52 & 2047);
    const uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(e > 0) << 52,
                   k = (c & 0xfffffffffffffu) | (uint64_t)(f > 0) << 52;
    const int64_t sign = (b ^ c) >> 63 ? -1 : 1;
    const uint64_t low = m & 0x7ffffffu, high = m >> 27, by = k & 0x7ffffffu, up = k >> 27;
    const int unit = (e > 0 ? e : 1) + (f > 0 ? f : 1) - 2 * 1075;
    p->piece[0] = sign * (int64_t)(low * by);
    p->piece[1] = sign * (int64_t)(low * up);
    p->piece[2] = sign * (int64_t)(high * by);
    p->piece[3] = sign * (int64_t)(high * up);
    p->e[0] = unit;
    p->e[1] = p->e[2] = unit + 27;
    p->e[3] = unit + 54;
}

/* Every limb but the last to 0 .. 2^32 - 1. */
WK_COLD void
wk_limbs_carry(const wk_limbs *a)
{
    int64_t carry = 0;
    WK_ROLLED
    for (int i = 0; i < a->count - 1; i++) {
        const int64_t v = a->limb[i] + carry;
        a->limb[i] = v & 0xffffffff;
        carry = v >> 32;
    }
    a->limb[a->count - 1] += carry;
}

/* Carries, and leaves the magnitude: 1 if the sum was negative. */
WK_COLD int
wk_limbs_magnitude(const wk_limbs *a)
{
    wk_limbs_carry(a);
    if (a->limb[a->count - 1] >= 0) return 0;
    WK_ROLLED
    for (int i = 0; i < a->count; i++) a->limb[i] = -a->limb[i];
    wk_limbs_carry(a);
    return 1;
}

/* ---- the leading bits --------------------------------------------------------------------- */

/* A magnitude cut to 256 bits: (w[3], ..., w[0]) 2^e, bit 255 set unless it is zero; what was cut
 * is only known to be zero or not. */
typedef struct wk_leading {
    uint64_t w[4];
    int e, sticky;
} wk_leading;

WK_FN int
wk_clz64(uint64_t x)
{
#if defined(__CUDA_ARCH__)
    return __clzll((long long)x);
#else
    return __builtin_clzll(x);
#endif
}

WK_FN int
wk_is_zero(const wk_leading *v)
{
    return v->w[3] == 0 && v->w[2] == 0 && v->w[1] == 0 && v->w[0] == 0;
}

/* Shifts the leading bit to the top. */
WK_COLD void
wk_normalise(wk_leading *v)
{
    if (wk_is_zero(v)) return;
    WK_ROLLED
    while (v->w[3] == 0) {
        v->w[3] = v->w[2];
        v->w[2] = v->w[1];
        v->w[1] = v->w[0];
        v->w[0] = 0;
        v->e -= 64;
    }
    const int s = wk_clz64(v->w[3]);
    if (s == 0) return;
    WK_ROLLED
    for (int i = 3; i > 0; i--) v->w[i] = v->w[i] << s | v->w[i - 1] >> (64 - s);
    v->w[0] <<= s;
    v->e -= s;
}

/* Of limbs that are a magnitude. */
WK_COLD wk_leading
wk_leading_of(const wk_limbs *a)
{
    wk_leading v = {{0, 0, 0, 0}, 0, 0};
    int top = a->count - 1;
    WK_ROLLED
    while (top >= 0 && a->limb[top] == 0) top--;
    if (top < 0) return v;
    /* nine limbs hold 256 bits whatever their first has; the last of them comes in by the shift */
    WK_ROLLED
    for (int k = 0; k < 8; k++) {
        const uint64_t limb = top - k >= 0 ? (uint64_t)a->limb[top - k] : 0;
        v.w[3 - k / 2] |= k % 2 ? limb : limb << 32;
    }
    v.e = 32 * (top - 7) + a->base;
    const int s = wk_clz64(v.w[3]);
    wk_normalise(&v);
    const uint32_t ninth = top >= 8 ? (uint32_t)a->limb[top - 8] : 0;
    if (s > 0 && s <= 32) {
        v.w[0] |= ninth >> (32 - s);
        v.sticky = (ninth & (((uint64_t)1 << (32 - s)) - 1)) != 0;
    } else {
        v.sticky = ninth != 0;
    }
    WK_ROLLED
    for (int i = top - 9; i >= 0 && !v.sticky; i--) v.sticky = a->limb[i] != 0;
    return v;
}

/* Divides by d > 0. Not normalised after: the floor of a floor divided is the floor of both. */
WK_COLD void
wk_divide(wk_leading *v, uint64_t d)
{
    uint64_t rest = 0;
    if ((d & (d - 1)) == 0) { /* a power of two: the exponent alone */
        v->e -= 63 - wk_clz64(d);
        return;
    }
    WK_ROLLED
    for (int i = 7; i >= 0; i--) { /* 32 bits at a time, where the divisor has no more */
        const int shift = i % 2 * 32;
        const uint64_t digits = v->w[i / 2] >> shift & 0xffffffffu;
        uint64_t q = 0;
        if (d >> 32 == 0) {
            const uint64_t part = rest << 32 | digits;
            q = part / d;
            rest = part - q * d;
        } else {
            WK_ROLLED
            for (int b = 31; b >= 0; b--) { /* else bit by bit */
                const uint64_t carry = rest >> 63;
                rest = rest << 1 | (digits >> b & 1);
                q <<= 1;
                if (carry || rest >= d) {
                    rest -= d;
                    q |= 1;
                }
            }
        }
        v->w[i / 2] = (v->w[i / 2] & ~((uint64_t)0xffffffffu << shift)) | q << shift;
    }
    v->sticky |= rest != 0;
}

/* The square root, of the leading 128 bits, which is 64 bits of the root. */
WK_COLD void
wk_root(wk_leading *v)
{
    if (wk_is_zero(v)) return;
    unsigned __int128 x = (unsigned __int128)v->w[3] << 64 | v->w[2];
    int e = v->e + 128;
    int cut = v->sticky || v->w[1] || v->w[0];
    if (e & 1) { /* an even exponent */
        cut |= (int)(x & 1);
        x >>= 1;
        e++;
    }
    /* x is 2^126 at least: the double's root is right to 52 bits, one step of Newton to 64 */
    uint64_t root = 0;
    const double guess = sqrt((double)(uint64_t)(x >> 64)) * 4294967296.0;
    root = guess >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)guess;
    const unsigned __int128 square = (unsigned __int128)root * root;
    const unsigned __int128 off = square > x ? square - x : x - square;
    const double size =
        (double)(uint64_t)(off >> 64) * 18446744073709551616.0 + (double)(uint64_t)off;
    const uint64_t step = (uint64_t)(size / (double)root * 0.5); /* some thousands */
    if (square > x)
        root -= step + 1;
    else
        root = step > UINT64_MAX - root ? UINT64_MAX : root + step;
    WK_ROLLED
    while ((unsigned __int128)root * root > x) root--;
    WK_ROLLED
    while (root < UINT64_MAX && (unsigned __int128)(root + 1) * (root + 1) <= x) root++;
    cut |= (unsigned __int128)root * root != x;
    v->w[3] = root;
    v->w[2] = v->w[1] = v->w[0] = 0;
    v->e = e / 2 - 192;
    v->sticky = cut;
    wk_normalise(v);
}

/* ---- rounding, once ----------------------------------------------------------------------- */

typedef struct
    wk_format { /* of a binary float: digits, the exponents of 1 unit and of the top */
    int digits, least, most;
} wk_format;

WK_FN wk_format
wk_format_of(wk_dtype dtype)
{
    const wk_format f16 = {11, -24, 15}, bf16 = {8, -133, 127}, f32 = {24, -149, 127},
                    f64 = {53, -1074, 1023};
    return dtype == WK_F16 ? f16 : dtype == WK_BF16 ? bf16 : dtype == WK_F32 ? f32 : f64;
}

/* To nearest, ties to even, in the format; every such number is a double. */
WK_COLD double
wk_round_leading(const wk_leading *v, int negative, wk_format f)
{
    const uint64_t sign = (uint64_t)negative << 63;
    if (wk_is_zero(v)) return wk_from_bits_f64(v->sticky ? sign : 0);
    const int top = v->e + 255; /* exponent of the leading bit */
    int unit = top - f.digits + 1;
    if (unit < f.least) unit = f.least;
    const int cut = unit - (top - 63); /* bits of w[3] below the unit */
    if (cut > 64) return wk_from_bits_f64(sign);
    uint64_t m = cut >= 64 ? 0 : v->w[3] >> cut;
    const uint64_t half = (uint64_t)1 << (cut - 1);
    const uint64_t below = v->w[3] & (half - 1);
    const int rest = below || v->w[2] || v->w[1] || v->w[0] || v->sticky;
    m += (v->w[3] & half) && (rest || (m & 1));
    if (m == 0) return wk_from_bits_f64(sign);
    const int width = 64 - wk_clz64(m), last = unit + width - 1;
    if (last > f.most) return wk_from_bits_f64(sign | (uint64_t)2047 << 52);
    if (last < -1022) return wk_from_bits_f64(sign | m);       /* unit is -1074: its own bits */
    m = width > 53 ? 0 : m << (53 - width) & 0xfffffffffffffu; /* 54: a power of two */
    return wk_from_bits_f64(sign | (uint64_t)(last + 1023) << 52 | m);
}

/* A number that is not negative. */
WK_COLD double
wk_round_f64(double x, wk_format f)
{
    const uint64_t b = wk_bits_f64(x);
    const int e = (int)(b >> 52 & 2047);
    if (e == 2047 || b == 0 || f.digits == 53) return x;
    wk_leading v = {
        {0, 0, 0, (b << 11) | (uint64_t)(e > 0) << 63}, (e > 0 ? e : 1) - 1023 - 255, 0};
    wk_normalise(&v);
    return wk_round_leading(&v, 0, f);
}

/* ---- results ------------------------------------------------------------------------------ */

typedef struct wk_moments { /* of one output; the limbs are used up */
    wk_limbs sum, squares;  /* count 0: not there */
    int flags;
    int64_t n;
} wk_moments;

WK_FN double
wk_nan(void)
{
    return wk_from_bits_f64(0x7ff8000000000000u);
}

WK_FN double
wk_infinity(int negative)
{
    return wk_from_bits_f64((uint64_t)negative << 63 | (uint64_t)2047 << 52);
}

/* The flag of what is no finite number. */
WK_FN int
wk_odd_flag(double x)
{
    return x != x ? WK_HAS_NAN : x > 0 ? WK_HAS_INF : WK_HAS_MINUS_INF;
}

/* A sum in which there are such: infinite, or no number. */
WK_FN double
wk_odd_sum(int flags)
{
    const int infinite = flags & (WK_HAS_INF | WK_HAS_MINUS_INF);
    if ((flags & WK_HAS_NAN) || infinite == (WK_HAS_INF | WK_HAS_MINUS_INF)) return wk_nan();
    return wk_infinity(infinite == WK_HAS_MINUS_INF);
}

/* The sum, divided by n if so. */
WK_COLD double
wk_finish_sum(wk_moments *m, int divide, wk_format f)
{
    if (divide && m->n == 0) return wk_nan();
    if (m->flags & WK_IS_ODD) return wk_odd_sum(m->flags);
    const int negative = wk_limbs_magnitude(&m->sum);
    wk_leading v = wk_leading_of(&m->sum);
    if (wk_is_zero(&v))
        return m->n > 0 && !(m->flags & WK_NOT_MINUS_ZERO) ? wk_from_bits_f64((uint64_t)1 << 63)
                                                           : 0.0;
    if (divide) wk_divide(&v, (uint64_t)m->n);
    wk_normalise(&v);
    return wk_round_leading(&v, negative, f);
}

/* The sum of squares, its root if so. */
WK_COLD double
wk_finish_squares(wk_moments *m, int root, wk_format f)
{
    if (m->flags & WK_HAS_NAN) return wk_nan();
    if (m->flags & (WK_HAS_INF | WK_HAS_MINUS_INF)) return wk_infinity(0);
    wk_limbs_carry(&m->squares);
    wk_leading v = wk_leading_of(&m->squares);
    if (root) wk_root(&v);
    return wk_round_leading(&v, 0, f);
}

enum { WK_VARIANCE_LIMBS = WK_SQUARE_LIMBS + 8 };

/* n Q - S^2 in place of Q, which must have room for WK_VARIANCE_LIMBS above its count; several sums
 * (of real and imaginary parts) may be taken off. */
WK_COLD void
wk_times(const wk_limbs *a, uint64_t n)
{
    wk_limbs_carry(a);
    const uint64_t low = n & 0xffffffffu, high = n >> 32;
    uint64_t carry = 0, before = 0; /* before: the limb below, as it was */
    WK_ROLLED
    for (int i = 0; i < a->count; i++) {
        const uint64_t limb = (uint64_t)a->limb[i];
        const uint64_t p = limb * low, q = before * high;
        const uint64_t sum = (p & 0xffffffffu) + (q & 0xffffffffu) + (carry & 0xffffffffu);
        carry = (carry >> 32) + (p >> 32) + (q >> 32) + (sum >> 32);
        a->limb[i] = (int64_t)(sum & 0xffffffffu);
        before = limb;
    }
}

WK_COLD void
wk_take_square(const wk_limbs *a, const wk_limbs *sum)
{
    int low = 0, high = sum->count;
    wk_limbs_magnitude(sum);
    WK_ROLLED
    while (low < high && sum->limb[low] == 0) low++;
    WK_ROLLED
    while (high > low && sum->limb[high - 1] == 0) high--;
    WK_ROLLED
    for (int i = low; i < high; i++) {
        WK_ROLLED
        for (int j = low; j < high;
             j++) { /* a limb takes 2^30 such halves before it overflows */
            const uint64_t p = (uint64_t)sum->limb[i] * (uint64_t)sum->limb[j];
            a->limb[i + j] -= (int64_t)(p & 0xffffffffu);
            a->limb[i + j + 1] -= (int64_t)(p >> 32);
        }
    }
}

/* The variance, its root if so, of `sums` sums beside one sum of squares. m->squares.limb has room
 * for four more limbs than its count, all zero. As NumPy divides by n - ddof, or 0 where that is less:
 * of no more elements than ddof takes away NaN if there is no spread, else infinity. */
WK_COLD double
wk_finish_variance(wk_moments *m, const wk_limbs *sums, int count, double ddof, int root,
                   wk_format f)
{
    const double d = (double)m->n - ddof;
    if (m->flags & WK_IS_ODD || d != d) return wk_nan();
    wk_limbs all = m->squares;
    all.count += 4;
    wk_times(&all, (uint64_t)m->n);
    WK_ROLLED
    for (int i = 0; i < count; i++) wk_take_square(&all, &sums[i]);
    wk_limbs_carry(&all);
    wk_leading v = wk_leading_of(&all);
    if (wk_is_zero(&v)) return d > 0 ? 0.0 : wk_nan(); /* of no element too */
    if (!(d > 0)) return wk_infinity(0);
    wk_divide(&v, (uint64_t)m->n);
    const int whole = fabs(ddof) < 4611686018427387904.0 && ddof == (double)(int64_t)ddof;
    if (whole) {
        wk_divide(&v, (uint64_t)(m->n - (int64_t)ddof));
        wk_normalise(&v);
        if (root) wk_root(&v);
        return wk_round_leading(&v, 0, f);
    }
    wk_normalise(&v);
    const wk_format f64 = {53, -1074, 1023}; /* a part of one: two roundings more */
    const double x = wk_round_leading(&v, 0, f64) / d;
    return wk_round_f64(root ? sqrt(x) : x, f);
}

#endif
