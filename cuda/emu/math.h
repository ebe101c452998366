// math.h -- CUDA's device functions on one lane: bits, caches, fused multiply-adds.
#pragma once
#include "emu/simt.h"

// ---- bits ---------------------------------------------------------------------------------

// Four products of bytes, added to c.
static inline int
__dp4a(int a, int b, int c)
{
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 32; i += 8)
        sum += (unsigned)((int)(int8_t)((unsigned)a >> i) * (int)(int8_t)((unsigned)b >> i));
    return (int)sum;
}

static inline unsigned
__dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
    return c;
}

// Two products of 16 bits of a with the lower bytes of b, added to c.
static inline int
__dp2a_lo(int a, int b, int c)
{
    unsigned sum = (unsigned)c;
    for (int i = 0; i < 2; i++)
        sum += (unsigned)((int)(int16_t)((unsigned)a >> 16 * i) *
                          (int)(int8_t)((unsigned)b >> 8 * i));
    return (int)sum;
}

static inline unsigned
__dp2a_lo(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 2; i++) c += (a >> 16 * i & 0xffff) * (b >> 8 * i & 0xff);
    return c;
}

// The least and the largest of three, in each half of a word.
#define EMU_THREE(name, T, op)                                                                 \
    static inline unsigned name(unsigned a, unsigned b, unsigned c)                            \
    {                                                                                          \
        unsigned result = 0;                                                                   \
        for (int i = 0; i < 32; i += 16) {                                                     \
            const T x = (T)(a >> i), y = (T)(b >> i), z = (T)(c >> i);                         \
            const T two = y op z ? y : z;                                                      \
            result |= (unsigned)(uint16_t)(x op two ? x : two) << i;                           \
        }                                                                                      \
        return result;                                                                         \
    }

EMU_THREE(__vimin3_s16x2, int16_t, <)
EMU_THREE(__vimin3_u16x2, uint16_t, <)
EMU_THREE(__vimax3_s16x2, int16_t, >)
EMU_THREE(__vimax3_u16x2, uint16_t, >)
#undef EMU_THREE

static inline unsigned
__vmaxu2(unsigned a, unsigned b)
{
    return __vimax3_u16x2(a, b, b);
}

// The least of a + b and c, in each half of a word.
static inline unsigned
__viaddmin_u16x2(unsigned a, unsigned b, unsigned c)
{
    unsigned result = 0;
    for (int i = 0; i < 32; i += 16) {
        const uint16_t x = (uint16_t)((a >> i) + (b >> i)), y = (uint16_t)(c >> i);
        result |= (unsigned)(x < y ? x : y) << i;
    }
    return result;
}

// The upper half of the product.
static inline unsigned
__umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

static inline int
__popc(unsigned v)
{
    return __builtin_popcount(v);
}

static inline int
__popcll(unsigned long long v)
{
    return __builtin_popcountll(v);
}

static inline int
__ffs(int v)
{
    return __builtin_ffs(v);
}

static inline int
__ffsll(long long v)
{
    return __builtin_ffsll(v);
}

static inline int
__clz(int v)
{
    return v ? __builtin_clz((unsigned)v) : 32;
}

static inline int
__clzll(long long v)
{
    return v ? __builtin_clzll((unsigned long long)v) : 64;
}

static inline unsigned
__brev(unsigned v)
{
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) reversed |= (v >> bit & 1u) << (31 - bit);
    return reversed;
}

static inline unsigned long long
__brevll(unsigned long long v)
{
    return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32));
}

// Four bytes picked from the eight of y:x, each by the low three bits of its selector.
static inline unsigned
__byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const uint64_t both = (uint64_t)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned pick = selector >> (4 * i) & 7;
        result |= (unsigned)(both >> (8 * pick) & 0xff) << (8 * i);
    }
    return result;
}

static inline unsigned
__funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    const uint64_t both = (uint64_t)high << 32 | low;
    return (unsigned)(both << (shift & 31) >> 32);
}

static inline unsigned
__funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    const uint64_t both = (uint64_t)high << 32 | low;
    return (unsigned)(both >> (shift & 31));
}

// No time passes on the emulated device, but for users' kernels, which may wait for it.
#ifndef EMU_USER
static inline long long
clock64()
{
    return 0;
}
#endif

// The nth set bit at or after base (offset > 0), or before it (offset < 0); all ones: none.
static inline unsigned
__fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : 0xffffffffu;
    const int step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int bit = (int)base; bit >= 0 && bit < 32; bit += step)
        if ((mask >> bit & 1) && --left == 0) return (unsigned)bit;
    return 0xffffffffu;
}

// ---- the same bits as another type --------------------------------------------------------

#define EMU_CAST(name, To, From)                                                               \
    static inline To name(From v)                                                              \
    {                                                                                          \
        To to;                                                                                 \
        __builtin_memcpy(&to, &v, sizeof to);                                                  \
        return to;                                                                             \
    }
EMU_CAST(__float_as_int, int, float)
EMU_CAST(__float_as_uint, unsigned, float)
EMU_CAST(__int_as_float, float, int)
EMU_CAST(__uint_as_float, float, unsigned)
EMU_CAST(__double_as_longlong, long long, double)
EMU_CAST(__longlong_as_double, double, long long)
#undef EMU_CAST

// ---- arithmetic that no compiler may contract or split ------------------------------------

static inline float
__fmaf_rn(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

static inline double
__fma_rn(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

static inline double
rsqrt(double x)
{
    return 1 / __builtin_sqrt(x);
}

static inline float
rsqrtf(float x)
{
    return (float)(1 / __builtin_sqrt((double)x));
}

static inline float
__fadd_rn(float a, float b)
{
    return a + b;
}

static inline float
__fsub_rn(float a, float b)
{
    return a - b;
}

static inline float
__fmul_rn(float a, float b)
{
    return a * b;
}

static inline double
__dadd_rn(double a, double b)
{
    return a + b;
}

static inline double
__dsub_rn(double a, double b)
{
    return a - b;
}

static inline double
__dmul_rn(double a, double b)
{
    return a * b;
}

// Functions and no templates, which would be ambiguous beside std's.
#define EMU_INTEGERS(R, A, B)                                                                  \
    static inline R min(A a, B b)                                                              \
    {                                                                                          \
        return (R)b < (R)a ? (R)b : (R)a;                                                      \
    }                                                                                          \
    static inline R max(A a, B b)                                                              \
    {                                                                                          \
        return (R)a < (R)b ? (R)b : (R)a;                                                      \
    }
#define EMU_SIGNS(T)                                                                           \
    EMU_INTEGERS(T, T, T)                                                                      \
    EMU_INTEGERS(unsigned T, unsigned T, unsigned T)                                           \
    EMU_INTEGERS(unsigned T, T, unsigned T)                                                    \
    EMU_INTEGERS(unsigned T, unsigned T, T)
EMU_SIGNS(int)
EMU_SIGNS(long)
EMU_SIGNS(long long)
#undef EMU_SIGNS
#undef EMU_INTEGERS

// Of floats the one that is not NaN; -0 is below +0, as the hardware has it.
#define EMU_EXTREME(T)                                                                         \
    static inline T min(T a, T b)                                                              \
    {                                                                                          \
        if (a == b) return __builtin_signbit(a) ? a : b;                                       \
        return a < b || b != b ? a : b;                                                        \
    }                                                                                          \
    static inline T max(T a, T b)                                                              \
    {                                                                                          \
        if (a == b) return __builtin_signbit(a) ? b : a;                                       \
        return a > b || b != b ? a : b;                                                        \
    }
EMU_EXTREME(float)
EMU_EXTREME(double)
#define EMU_MIXED(A, B)                                                                        \
    static inline double min(A a, B b)                                                         \
    {                                                                                          \
        return min((double)a, (double)b);                                                      \
    }                                                                                          \
    static inline double max(A a, B b)                                                         \
    {                                                                                          \
        return max((double)a, (double)b);                                                      \
    }
EMU_MIXED(float, double)
EMU_MIXED(double, float)
#undef EMU_MIXED
#undef EMU_EXTREME

// ---- loads and stores that say how to cache -----------------------------------------------

#define EMU_LOAD(name)                                                                         \
    template <typename T>                                                                      \
    T name(const T *p)                                                                         \
    {                                                                                          \
        return *p;                                                                             \
    }
#define EMU_STORE(name)                                                                        \
    template <typename T>                                                                      \
    void name(T *p, T v)                                                                       \
    {                                                                                          \
        *p = v;                                                                                \
    }
EMU_LOAD(__ldg)
EMU_LOAD(__ldcg)
EMU_LOAD(__ldca)
EMU_LOAD(__ldcs)
EMU_LOAD(__ldlu)
EMU_STORE(__stcg)
EMU_STORE(__stcs)
EMU_STORE(__stwb)
#undef EMU_LOAD
#undef EMU_STORE
