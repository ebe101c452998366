// user_half.h -- functions of __half and __nv_bfloat16, one or two at a time, that users' kernels call.
#pragma once
#include "emu/atomics.h"
#include "emu/half.h"

#define EMU_INLINE static inline
#define EMU_ONE(T, name, ...)                                                                  \
    EMU_INLINE T name(T a)                                                                     \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }                                                                                          \
    EMU_INLINE T##2_vector name##2(T##2_vector a)                                              \
    {                                                                                          \
        return {name(a.x), name(a.y)};                                                         \
    }
#define EMU_TWO(T, name, name2, ...)                                                           \
    EMU_INLINE T name(T a, T b)                                                                \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }                                                                                          \
    EMU_INLINE T##2_vector name2(T##2_vector a, T##2_vector b)                                 \
    {                                                                                          \
        return {name(a.x, b.x), name(a.y, b.y)};                                               \
    }
#define EMU_OPERATOR(T, operation)                                                             \
    EMU_INLINE T &operator operation##=(T &a, T b)                                             \
    {                                                                                          \
        return a = a operation b;                                                              \
    }                                                                                          \
    EMU_INLINE T##2_vector operator operation(T##2_vector a, T##2_vector b)                    \
    {                                                                                          \
        return {a.x operation b.x, a.y operation b.y};                                         \
    }                                                                                          \
    EMU_INLINE T##2_vector &operator operation##=(T##2_vector & a, T##2_vector b)              \
    {                                                                                          \
        return a = a operation b;                                                              \
    }
#define EMU_TEST(T, name, operation)                                                           \
    EMU_INLINE bool __h##name(T a, T b)                                                        \
    {                                                                                          \
        return a operation b;                                                                  \
    }                                                                                          \
    EMU_INLINE T##2_vector __h##name##2(T##2_vector a, T##2_vector b) /* of 1 and 0 */         \
    {                                                                                          \
        return {T(a.x operation b.x), T(a.y operation b.y)};                                   \
    }                                                                                          \
    EMU_INLINE bool __hb##name##2(T##2_vector a, T##2_vector b) /* both? */                    \
    {                                                                                          \
        return a.x operation b.x && a.y operation b.y;                                         \
    }                                                                                          \
    EMU_INLINE bool operator operation(T##2_vector a, T##2_vector b)                           \
    {                                                                                          \
        return __hb##name##2(a, b);                                                            \
    }
#define EMU_HALVES(T)                                                                          \
    EMU_OPERATOR(T, +)                                                                         \
    EMU_OPERATOR(T, -)                                                                         \
    EMU_OPERATOR(T, *)                                                                         \
    EMU_OPERATOR(T, /)                                                                         \
    EMU_INLINE T##2_vector operator-(T##2_vector a)                                            \
    {                                                                                          \
        return {-a.x, -a.y};                                                                   \
    }                                                                                          \
    EMU_TWO(T, __hadd, __hadd2, a + b)                                                         \
    EMU_TWO(T, __hsub, __hsub2, a - b)                                                         \
    EMU_TWO(T, __hmul, __hmul2, a *b)                                                          \
    EMU_TWO(T, __hdiv, __h2div, a / b)                                                         \
    EMU_TWO(T, __hadd_rn, __hadd2_rn, a + b)                                                   \
    EMU_TWO(T, __hsub_rn, __hsub2_rn, a - b)                                                   \
    EMU_TWO(T, __hmul_rn, __hmul2_rn, a *b)                                                    \
    EMU_TWO(T, __hmax, __hmax2, T(max((float)a, (float)b)))                                    \
    EMU_TWO(T, __hmin, __hmin2, T(min((float)a, (float)b)))                                    \
    EMU_ONE(T, __hneg, -a)                                                                     \
    EMU_ONE(T, __habs, T(fabsf((float)a)))                                                     \
    EMU_TEST(T, eq, ==)                                                                        \
    EMU_TEST(T, ne, !=)                                                                        \
    EMU_TEST(T, lt, <)                                                                         \
    EMU_TEST(T, le, <=)                                                                        \
    EMU_TEST(T, gt, >)                                                                         \
    EMU_TEST(T, ge, >=)                                                                        \
    EMU_INLINE bool __hisnan(T a)                                                              \
    {                                                                                          \
        return a != a;                                                                         \
    }                                                                                          \
    EMU_INLINE T __hfma(T a, T b, T c) /* exact in double, then rounded once */                \
    {                                                                                          \
        return T(fma((double)(float)a, (double)(float)b, (double)(float)c));                   \
    }                                                                                          \
    EMU_INLINE T##2_vector __hfma2(T##2_vector a, T##2_vector b, T##2_vector c)                \
    {                                                                                          \
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                 \
    }                                                                                          \
    EMU_FUNCTION(T, sqrt, sqrtf(v))                                                            \
    EMU_FUNCTION(T, rsqrt, (float)(1 / sqrt((double)v)))                                       \
    EMU_FUNCTION(T, rcp, 1 / v)                                                                \
    EMU_FUNCTION(T, exp, expf(v))                                                              \
    EMU_FUNCTION(T, exp2, exp2f(v))                                                            \
    EMU_FUNCTION(T, log, logf(v))                                                              \
    EMU_FUNCTION(T, log2, log2f(v))                                                            \
    EMU_FUNCTION(T, sin, sinf(v))                                                              \
    EMU_FUNCTION(T, cos, cosf(v))                                                              \
    EMU_FUNCTION(T, floor, floorf(v))                                                          \
    EMU_FUNCTION(T, ceil, ceilf(v))                                                            \
    EMU_FUNCTION(T, rint, rintf(v))                                                            \
    EMU_FUNCTION(T, trunc, truncf(v))                                                          \
    EMU_INLINE T atomicAdd(T *p, T v)                                                          \
    {                                                                                          \
        return emu::update<uint16_t>(p, [v](T old) { return old + v; });                       \
    }                                                                                          \
    EMU_INLINE T##2_vector atomicAdd(T##2_vector * p, T##2_vector v)                           \
    {                                                                                          \
        return emu::update<uint32_t>(p, [v](T##2_vector old) { return old + v; });             \
    }
#define EMU_FUNCTION(T, name, ...)                                                             \
    EMU_INLINE T h##name(T a)                                                                  \
    {                                                                                          \
        const float v = a;                                                                     \
        return T(__VA_ARGS__);                                                                 \
    }                                                                                          \
    EMU_INLINE T##2_vector h2##name(T##2_vector a)                                             \
    {                                                                                          \
        return {h##name(a.x), h##name(a.y)};                                                   \
    }
EMU_HALVES(__half)
EMU_HALVES(__nv_bfloat16)
#undef EMU_HALVES
#undef EMU_FUNCTION
#undef EMU_TEST
#undef EMU_OPERATOR
#undef EMU_TWO
#undef EMU_ONE

#define EMU_PLAIN(T, name, arguments, ...)                                                     \
    EMU_INLINE T name arguments                                                                \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }
EMU_PLAIN(__half2, __float2half2_rn, (float v), {__half(v), __half(v)})
EMU_PLAIN(__half2, __floats2half2_rn, (float a, float b), {__half(a), __half(b)})
EMU_PLAIN(__half2, __float22half2_rn, (float2 v), {__half(v.x), __half(v.y)})
EMU_PLAIN(float2, __half22float2, (__half2 v), {(float)v.x, (float)v.y})
EMU_PLAIN(__half2, __half2half2, (__half v), {v, v})
EMU_PLAIN(float, __low2float, (__half2 v), v.x)
EMU_PLAIN(float, __high2float, (__half2 v), v.y)
EMU_PLAIN(__half2, __low2half2, (__half2 v), {v.x, v.x})
EMU_PLAIN(__half2, __high2half2, (__half2 v), {v.y, v.y})
EMU_PLAIN(__half2, __lows2half2, (__half2 a, __half2 b), {a.x, b.x})
EMU_PLAIN(__half2, __highs2half2, (__half2 a, __half2 b), {a.y, b.y})
EMU_PLAIN(__half2, __lowhigh2highlow, (__half2 v), {v.y, v.x})
EMU_PLAIN(__half, __int2half_rn, (int v), __half((double)v))
EMU_PLAIN(__half, __uint2half_rn, (unsigned v), __half((double)v))
EMU_PLAIN(int, __half2int_rn, (__half v), (int)rintf(v))
EMU_PLAIN(int, __half2int_rz, (__half v), (int)(float)v)
EMU_PLAIN(unsigned, __half2uint_rz, (__half v), (unsigned)(float)v)
EMU_PLAIN(short, __half_as_short, (__half v), (short)v.bits)
EMU_PLAIN(__half, __short_as_half, (short v), __ushort_as_half((unsigned short)v))
EMU_PLAIN(__nv_bfloat162, __float2bfloat162_rn, (float v), {__nv_bfloat16(v), __nv_bfloat16(v)})
EMU_PLAIN(__nv_bfloat162, __floats2bfloat162_rn, (float a, float b),
          {__nv_bfloat16(a), __nv_bfloat16(b)})
EMU_PLAIN(__nv_bfloat162, __float22bfloat162_rn, (float2 v),
          {__nv_bfloat16(v.x), __nv_bfloat16(v.y)})
EMU_PLAIN(float2, __bfloat1622float2, (__nv_bfloat162 v), {(float)v.x, (float)v.y})
EMU_PLAIN(__nv_bfloat162, __bfloat162bfloat162, (__nv_bfloat16 v), {v, v})
EMU_PLAIN(__nv_bfloat162, __halves2bfloat162, (__nv_bfloat16 a, __nv_bfloat16 b), {a, b})
EMU_PLAIN(__nv_bfloat162, make_bfloat162, (__nv_bfloat16 a, __nv_bfloat16 b), {a, b})
EMU_PLAIN(float, __low2float, (__nv_bfloat162 v), v.x)
EMU_PLAIN(float, __high2float, (__nv_bfloat162 v), v.y)
EMU_PLAIN(__nv_bfloat16, __low2bfloat16, (__nv_bfloat162 v), v.x)
EMU_PLAIN(__nv_bfloat16, __high2bfloat16, (__nv_bfloat162 v), v.y)
#undef EMU_PLAIN
#undef EMU_INLINE
