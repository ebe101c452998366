// half.h -- __half and __nv_bfloat16: the bits of CUDA's, rounded to nearest, ties to even.
//
// Sums, differences, products and quotients are taken in float and rounded once more: float has
// more than twice their bits and two, so that the second rounding changes nothing (S. Figueroa,
// "When is double rounding innocuous?", 1995).
#pragma once
#include "emu/simt.h"

namespace emu
{

// A double in a sign, exponent_bits and fraction_bits, 16 in all. NaN is CUDA's: 0x7fff.
inline uint16_t
narrow(double v, int exponent_bits, int fraction_bits)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    const auto sign = (uint16_t)(bits >> 63 << 15);
    if (v != v) return 0x7fff;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent < -bias - fraction_bits) return sign; // below half of the smallest
    const uint64_t fraction = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    int drop = 52 - fraction_bits;                        // bits that do not fit
    if (exponent < 1 - bias) drop += 1 - bias - exponent; // subnormal
    const uint64_t kept = fraction >> drop, rest = fraction & ((1ull << drop) - 1);
    const uint64_t half = 1ull << (drop - 1);
    const uint64_t up = rest > half || (rest == half && (kept & 1)) ? 1 : 0;
    const int field = exponent < 1 - bias ? 0 : exponent + bias - 1; // kept has the leading one
    const uint64_t magnitude = ((uint64_t)field << fraction_bits) + kept + up;
    const uint64_t infinity = ((1ull << exponent_bits) - 1) << fraction_bits;
    return (uint16_t)(sign | (exponent > bias || magnitude > infinity ? infinity : magnitude));
}

// Exact: every value fits a float.
inline float
widen(uint16_t bits, int exponent_bits, int fraction_bits)
{
    const int most = (1 << exponent_bits) - 1, bias = most >> 1;
    const int field = bits >> fraction_bits & most,
              fraction = bits & ((1 << fraction_bits) - 1);
    float v;
    if (field == most)
        v = fraction ? NAN : INFINITY;
    else if (field == 0)
        v = ldexpf((float)fraction, 1 - bias - fraction_bits);
    else
        v = ldexpf((float)(fraction | 1 << fraction_bits), field - bias - fraction_bits);
    return bits >> 15 ? -v : v;
}

} // namespace emu

#define EMU_HALF(T, exponent_bits, fraction_bits)                                              \
    struct alignas(2) T {                                                                      \
        uint16_t bits;                                                                         \
        T() = default;                                                                         \
        T(double v) : bits(emu::narrow(v, exponent_bits, fraction_bits)) {}                    \
        T(float v) : T((double)v) {}                                                           \
        T(int v) : T((double)v) {}                                                             \
        operator float() const                                                                 \
        {                                                                                      \
            return emu::widen(bits, exponent_bits, fraction_bits);                             \
        }                                                                                      \
    };                                                                                         \
    struct alignas(4) T##2_vector                                                              \
    {                                                                                          \
        T x, y;                                                                                \
        EMU_AT_ONCE(T##2_vector) /* its copy, where accesses are counted */                    \
        T##2_vector(T first, T second) : x(first), y(second) {}                                \
    };                                                                                         \
    inline T operator+(T a, T b)                                                               \
    {                                                                                          \
        return T((float)a + (float)b);                                                         \
    }                                                                                          \
    inline T operator-(T a, T b)                                                               \
    {                                                                                          \
        return T((float)a - (float)b);                                                         \
    }                                                                                          \
    inline T operator*(T a, T b)                                                               \
    {                                                                                          \
        return T((float)a * (float)b);                                                         \
    }                                                                                          \
    inline T operator/(T a, T b)                                                               \
    {                                                                                          \
        return T((float)a / (float)b);                                                         \
    }                                                                                          \
    inline T operator-(T a)                                                                    \
    {                                                                                          \
        a.bits ^= 0x8000;                                                                      \
        return a;                                                                              \
    }                                                                                          \
    inline bool operator==(T a, T b)                                                           \
    {                                                                                          \
        return (float)a == (float)b;                                                           \
    }                                                                                          \
    inline bool operator!=(T a, T b)                                                           \
    {                                                                                          \
        return (float)a != (float)b;                                                           \
    }                                                                                          \
    inline bool operator<(T a, T b)                                                            \
    {                                                                                          \
        return (float)a < (float)b;                                                            \
    }                                                                                          \
    inline bool operator<=(T a, T b)                                                           \
    {                                                                                          \
        return (float)a <= (float)b;                                                           \
    }                                                                                          \
    inline bool operator>(T a, T b)                                                            \
    {                                                                                          \
        return (float)a > (float)b;                                                            \
    }                                                                                          \
    inline bool operator>=(T a, T b)                                                           \
    {                                                                                          \
        return (float)a >= (float)b;                                                           \
    }

EMU_HALF(__half, 5, 10)
EMU_HALF(__nv_bfloat16, 8, 7)
#undef EMU_HALF

typedef __half half;
typedef __half2_vector __half2;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162_vector __nv_bfloat162;
typedef __nv_bfloat162 nv_bfloat162;

#define EMU_CONVERT(name, To, From)                                                            \
    inline To name(From v)                                                                     \
    {                                                                                          \
        return (To)v;                                                                          \
    }
EMU_CONVERT(__float2half, __half, float)
EMU_CONVERT(__float2half_rn, __half, float)
EMU_CONVERT(__double2half, __half, double)
EMU_CONVERT(__half2float, float, __half)
EMU_CONVERT(__float2bfloat16, __nv_bfloat16, float)
EMU_CONVERT(__float2bfloat16_rn, __nv_bfloat16, float)
EMU_CONVERT(__double2bfloat16, __nv_bfloat16, double)
EMU_CONVERT(__bfloat162float, float, __nv_bfloat16)
#undef EMU_CONVERT

inline unsigned short
__half_as_ushort(__half v)
{
    return v.bits;
}

inline __half
__ushort_as_half(unsigned short bits)
{
    __half v;
    v.bits = bits;
    return v;
}

inline unsigned short
__bfloat16_as_ushort(__nv_bfloat16 v)
{
    return v.bits;
}

inline __nv_bfloat16
__ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 v;
    v.bits = bits;
    return v;
}

inline __half2
make_half2(__half x, __half y)
{
    return {x, y};
}

inline __half2
__halves2half2(__half x, __half y)
{
    return {x, y};
}

inline __half
__low2half(__half2 v)
{
    return v.x;
}

inline __half
__high2half(__half2 v)
{
    return v.y;
}
