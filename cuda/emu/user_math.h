// user_math.h -- intrinsics that users' kernels call and this project's do not: arithmetic and
// conversions in each direction of rounding, products of 24 and 64 bits, SIMD within a word.
#pragma once
#include "emu/math.h"

#include <fenv.h>
#include <limits>

namespace emu
{

// Of SSE's arithmetic alone, where there is any: fesetround takes twenty times as long.
#ifdef __SSE__
inline unsigned
set_direction(int direction)
{
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((before & ~0x6000u) | (unsigned)direction << 3);
    return before;
}

inline void
restore_direction(unsigned before)
{
    __builtin_ia32_ldmxcsr(before);
}
#else
inline int
set_direction(int direction)
{
    const int before = fegetround();
    fesetround(direction);
    return before;
}

inline void
restore_direction(int before)
{
    fesetround(before);
}
#endif

// Volatile values are computed where they stand: between the two changes of the direction.
template <typename T, typename F>
T
directed(int direction, F compute)
{
    const auto before = set_direction(direction);
    volatile T result = compute();
    restore_direction(before);
    return result;
}

// As a GPU converts: what does not fit is the nearest that does; of NaN it is 0, or, where one side has
// 64 bits, the highest bit alone.
template <typename To, typename From>
To
saturated(From whole)
{
    using limits = std::numeric_limits<To>;
    constexpr bool wide = sizeof(To) == 8 || sizeof(From) == 8;
    if (whole != whole) return wide ? (To)1 << (8 * sizeof(To) - 1) : 0;
    if (whole <= (From)limits::min()) return limits::min();
    return whole >= (From)limits::max() ? limits::max() : (To)whole;
}

// Abramowitz and Stegun 26.2.22, and three steps of Halley's.
inline double
inverse_erfc(double q)
{
    if (!(q > 0 && q < 2)) return q == 0 ? HUGE_VAL : q == 2 ? -HUGE_VAL : NAN;
    const double of = q < 1 ? q : 2 - q, t = sqrt(-2 * log(of / 2));
    double x = -M_SQRT1_2 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
    for (int i = 0; i < 3; i++) {
        const double off = erfc(x) - of;
        x += off / (M_2_SQRTPI * exp(-x * x) - x * off);
    }
    return q < 1 ? x : -x;
}

inline double
inverse_erf(double p)
{
    if (!(fabs(p) < 0.5)) return p < 0 ? -inverse_erfc(1 + p) : inverse_erfc(1 - p);
    double x = p / M_2_SQRTPI;
    for (int i = 0; i < 4; i++) {
        const double off = erf(x) - p;
        x -= off / (M_2_SQRTPI * exp(-x * x) + x * off);
    }
    return x;
}

inline double
scaled_erfc(double x) // exp(x * x) * erfc(x)
{
    const double square = x * x, rest = fma(x, x, -square);
    if (x < 25) return exp(square) * (1 + rest) * erfc(x);
    return M_2_SQRTPI / 2 / x * (1 - 1 / (2 * square) * (1 - 3 / (2 * square)));
}

} // namespace emu

#define EMU_INLINE static inline

#define EMU_DIRECTED(suffix, direction)                                                        \
    EMU_BINARY(float, __fadd_##suffix, +, direction)                                           \
    EMU_BINARY(float, __fsub_##suffix, -, direction)                                           \
    EMU_BINARY(float, __fmul_##suffix, *, direction)                                           \
    EMU_BINARY(double, __dadd_##suffix, +, direction)                                          \
    EMU_BINARY(double, __dsub_##suffix, -, direction)                                          \
    EMU_BINARY(double, __dmul_##suffix, *, direction)                                          \
    EMU_TERNARY(float, __fmaf_##suffix, fmaf, direction)                                       \
    EMU_TERNARY(double, __fma_##suffix, fma, direction)
#define EMU_ROUNDED(suffix, direction, whole)                                                  \
    EMU_BINARY(float, __fdiv_##suffix, /, direction)                                           \
    EMU_BINARY(double, __ddiv_##suffix, /, direction)                                          \
    EMU_UNARY(float, float, __frcp_##suffix, 1 / v, direction)                                 \
    EMU_UNARY(double, double, __drcp_##suffix, 1 / v, direction)                               \
    EMU_UNARY(float, float, __fsqrt_##suffix, sqrtf(v), direction)                             \
    EMU_UNARY(double, double, __dsqrt_##suffix, sqrt(v), direction)                            \
    EMU_UNARY(float, double, __double2float_##suffix, (float)v, direction)                     \
    EMU_UNARY(float, int, __int2float_##suffix, (float)v, direction)                           \
    EMU_UNARY(float, unsigned, __uint2float_##suffix, (float)v, direction)                     \
    EMU_UNARY(float, long long, __ll2float_##suffix, (float)v, direction)                      \
    EMU_UNARY(float, unsigned long long, __ull2float_##suffix, (float)v, direction)            \
    EMU_UNARY(double, long long, __ll2double_##suffix, (double)v, direction)                   \
    EMU_UNARY(double, unsigned long long, __ull2double_##suffix, (double)v, direction)         \
    EMU_WHOLE(float, whole##f, int, __float2int_##suffix)                                      \
    EMU_WHOLE(float, whole##f, unsigned, __float2uint_##suffix)                                \
    EMU_WHOLE(float, whole##f, long long, __float2ll_##suffix)                                 \
    EMU_WHOLE(float, whole##f, unsigned long long, __float2ull_##suffix)                       \
    EMU_WHOLE(double, whole, int, __double2int_##suffix)                                       \
    EMU_WHOLE(double, whole, unsigned, __double2uint_##suffix)                                 \
    EMU_WHOLE(double, whole, long long, __double2ll_##suffix)                                  \
    EMU_WHOLE(double, whole, unsigned long long, __double2ull_##suffix)
#define EMU_BINARY(T, name, operation, direction)                                              \
    EMU_INLINE T name(T a, T b)                                                                \
    {                                                                                          \
        volatile T x = a, y = b;                                                               \
        return emu::directed<T>(direction, [&] { return x operation y; });                     \
    }
#define EMU_TERNARY(T, name, function, direction)                                              \
    EMU_INLINE T name(T a, T b, T c)                                                           \
    {                                                                                          \
        volatile T x = a, y = b, z = c;                                                        \
        return emu::directed<T>(direction, [&] { return function(x, y, z); });                 \
    }
#define EMU_UNARY(T, From, name, expression, direction)                                        \
    EMU_INLINE T name(From a)                                                                  \
    {                                                                                          \
        volatile From v = a;                                                                   \
        return emu::directed<T>(direction, [&] { return (T)(expression); });                   \
    }
#define EMU_WHOLE(From, whole, To, name)                                                       \
    EMU_INLINE To name(From v)                                                                 \
    {                                                                                          \
        return emu::saturated<To>(whole(v));                                                   \
    }
EMU_DIRECTED(rz, FE_TOWARDZERO)
EMU_DIRECTED(rd, FE_DOWNWARD)
EMU_DIRECTED(ru, FE_UPWARD)
EMU_ROUNDED(rn, FE_TONEAREST, rint)
EMU_ROUNDED(rz, FE_TOWARDZERO, trunc)
EMU_ROUNDED(rd, FE_DOWNWARD, floor)
EMU_ROUNDED(ru, FE_UPWARD, ceil)
#undef EMU_DIRECTED
#undef EMU_ROUNDED
#undef EMU_BINARY
#undef EMU_TERNARY
#undef EMU_UNARY
#undef EMU_WHOLE

#define EMU_FUNCTION(T, name, arguments, ...)                                                  \
    EMU_INLINE T name arguments                                                                \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }
EMU_FUNCTION(double, __int2double_rn, (int v), v)
EMU_FUNCTION(double, __uint2double_rn, (unsigned v), v)
EMU_FUNCTION(float, __fdividef, (float a, float b), a / b)
EMU_FUNCTION(float, fdividef, (float a, float b), a / b)
EMU_FUNCTION(float, __frsqrt_rn, (float a), (float)(1 / sqrt((double)a)))
EMU_FUNCTION(float, __saturatef, (float x), x > 0 ? x < 1 ? x : 1 : 0) // of NaN 0
EMU_FUNCTION(float, norm3df, (float a, float b, float c), sqrtf(a *a + b * b + c * c))
EMU_FUNCTION(float, norm4df, (float a, float b, float c, float d),
             sqrtf(a *a + b * b + c * c + d * d))
EMU_FUNCTION(float, rhypotf, (float a, float b), 1 / hypotf(a, b))
EMU_FUNCTION(float, rcbrtf, (float a), 1 / cbrtf(a))
EMU_FUNCTION(float, normcdff, (float x), erfcf(-x *(float)M_SQRT1_2) / 2)
EMU_FUNCTION(double, normcdf, (double x), erfc(-x *M_SQRT1_2) / 2)
EMU_FUNCTION(int, __mul24, (int a, int b),
             (int)((unsigned)a << 8) / 256 * ((int)((unsigned)b << 8) / 256))
EMU_FUNCTION(unsigned, __umul24, (unsigned a, unsigned b), (a & 0xffffff) * (b & 0xffffff))
EMU_FUNCTION(int, __mulhi, (int a, int b), (int)((int64_t)a *b >> 32))
EMU_FUNCTION(long long, __mul64hi, (long long a, long long b),
             (long long)((__int128)a *b >> 64))
EMU_FUNCTION(unsigned long long, __umul64hi, (unsigned long long a, unsigned long long b),
             (unsigned long long)((unsigned __int128)a *b >> 64))
EMU_FUNCTION(unsigned, __sad, (int a, int b, unsigned c),
             (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c)
EMU_FUNCTION(unsigned, __usad, (unsigned a, unsigned b, unsigned c),
             (a > b ? a - b : b - a) + c)
EMU_FUNCTION(int, __hadd, (int a, int b), (int)(((int64_t)a + b) >> 1))
EMU_FUNCTION(int, __rhadd, (int a, int b), (int)(((int64_t)a + b + 1) >> 1))
EMU_FUNCTION(unsigned, __uhadd, (unsigned a, unsigned b), (unsigned)(((uint64_t)a + b) >> 1))
EMU_FUNCTION(unsigned, __urhadd, (unsigned a, unsigned b),
             (unsigned)(((uint64_t)a + b + 1) >> 1))
EMU_FUNCTION(unsigned, __funnelshift_lc, (unsigned low, unsigned high, unsigned by),
             (unsigned)(((uint64_t)high << 32 | low) << (by < 32 ? by : 32) >> 32))
EMU_FUNCTION(unsigned, __funnelshift_rc, (unsigned low, unsigned high, unsigned by),
             (unsigned)(((uint64_t)high << 32 | low) >> (by < 32 ? by : 32)))
EMU_FUNCTION(unsigned, umin, (unsigned a, unsigned b), a < b ? a : b)
EMU_FUNCTION(unsigned, umax, (unsigned a, unsigned b), a < b ? b : a)
EMU_FUNCTION(double, __hiloint2double, (int high, int low),
             __longlong_as_double((long long)high << 32 | (unsigned)low))
EMU_FUNCTION(int, __double2hiint, (double v), (int)(__double_as_longlong(v) >> 32))
EMU_FUNCTION(int, __double2loint, (double v), (int)__double_as_longlong(v))
EMU_FUNCTION(double, erfcinv, (double q), emu::inverse_erfc(q))
EMU_FUNCTION(float, erfcinvf, (float q), (float)emu::inverse_erfc(q))
EMU_FUNCTION(double, erfinv, (double p), emu::inverse_erf(p))
EMU_FUNCTION(float, erfinvf, (float p), (float)emu::inverse_erf(p))
EMU_FUNCTION(double, normcdfinv, (double p), -M_SQRT2 *emu::inverse_erfc(2 * p))
EMU_FUNCTION(float, normcdfinvf, (float p), (float)(-M_SQRT2 *emu::inverse_erfc(2.0 * p)))
EMU_FUNCTION(double, erfcx, (double x), emu::scaled_erfc(x))
EMU_FUNCTION(float, erfcxf, (float x), (float)emu::scaled_erfc(x))
#undef EMU_FUNCTION
#undef EMU_INLINE
