// user_facts.h -- what Python is told of the types of users' kernels and variables. For host compilers,
// nvcc and NVRTC, which has no headers of C++.
#pragma once

// double4 and its like are deprecated since CUDA 13, and taken all the same.
#ifdef __CUDACC__
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444
#ifndef __CUDACC_RTC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
#endif

struct __half;
struct __nv_bfloat16;
#ifdef __CUDACC__
struct __half2;
struct __nv_bfloat162;
#else // half.h
struct __half2_vector;
struct __nv_bfloat162_vector;
typedef __half2_vector __half2;
typedef __nv_bfloat162_vector __nv_bfloat162;
#endif

namespace warpkit
{

// Names here are such that no -D of a user's is one.
struct type_facts {
    char
        code; // of the element: b(ool), c(har), i, u, f as NumPy has it; h: __half, y: __nv_bfloat16;
              // V: a struct; v: void
    signed char lanes; // 4 in float4
    bool pointer;      // to elements
    bool readonly;     // which are const
    long long size;    // of an element with all its lanes
};

template <typename T_>
struct kind_of {
    static constexpr char code = __is_enum(T_) ? 'i' : 'V';
    static constexpr signed char lanes = 1;
};
template <typename T_>
struct kind_of<T_ *> {
    static constexpr char code = 'u';
    static constexpr signed char lanes = 1;
};
#define WARPKIT_KIND(T, letter, count)                                                         \
    template <>                                                                                \
    struct kind_of<T> {                                                                        \
        static constexpr char code = letter;                                                   \
        static constexpr signed char lanes = count;                                            \
    };
#define WARPKIT_KINDS(T, name, letter)                                                         \
    WARPKIT_KIND(T, letter, 1)                                                                 \
    WARPKIT_KIND(name##1, letter, 1)                                                           \
    WARPKIT_KIND(name##2, letter, 2)                                                           \
    WARPKIT_KIND(name##3, letter, 3)                                                           \
    WARPKIT_KIND(name##4, letter, 4)
WARPKIT_KINDS(signed char, char, 'i')
WARPKIT_KINDS(unsigned char, uchar, 'u')
WARPKIT_KINDS(short, short, 'i')
WARPKIT_KINDS(unsigned short, ushort, 'u')
WARPKIT_KINDS(int, int, 'i')
WARPKIT_KINDS(unsigned, uint, 'u')
WARPKIT_KINDS(long, long, 'i')
WARPKIT_KINDS(unsigned long, ulong, 'u')
WARPKIT_KINDS(long long, longlong, 'i')
WARPKIT_KINDS(unsigned long long, ulonglong, 'u')
WARPKIT_KINDS(float, float, 'f')
WARPKIT_KINDS(double, double, 'f')
WARPKIT_KIND(dim3, 'u', 3)
WARPKIT_KIND(void, 'v', 1)
WARPKIT_KIND(bool, 'b', 1)
WARPKIT_KIND(char, 'c', 1)
WARPKIT_KIND(wchar_t, 'i', 1)
WARPKIT_KIND(char16_t, 'u', 1)
WARPKIT_KIND(char32_t, 'u', 1)
WARPKIT_KIND(__half, 'h', 1)
WARPKIT_KIND(__nv_bfloat16, 'y', 1)
WARPKIT_KIND(__half2, 'h', 2)
WARPKIT_KIND(__nv_bfloat162, 'y', 2)
#undef WARPKIT_KINDS
#undef WARPKIT_KIND

template <typename T_>
struct size_of {
    static constexpr long long value = sizeof(T_);
};
template <>
struct size_of<void> {
    static constexpr long long value = 0;
};

template <typename T_>
struct plain { // without const and volatile
    using type = T_;
    static constexpr bool readonly = false;
};
template <typename T_>
struct plain<const T_> {
    using type = typename plain<T_>::type;
    static constexpr bool readonly = true;
};
template <typename T_>
struct plain<volatile T_> : plain<T_> {
};
template <typename T_>
struct plain<const volatile T_> : plain<const T_> {
};

template <typename T_, bool pointer, bool readonly>
struct facts {
    using kind = kind_of<T_>;
    static constexpr type_facts value = {kind::code, kind::lanes, pointer, readonly,
                                         size_of<T_>::value};
};
template <typename P_>
struct facts_of : facts<typename plain<P_>::type, false, false> {
};
template <typename T_>
struct facts_of<T_ *> : facts<typename plain<T_>::type, true, plain<T_>::readonly> {
};
template <typename R_, typename... A_>
struct facts_of<R_ (*)(A_...)> : facts<R_ (*)(A_...), false, false> {
};
template <typename P_>
struct facts_of<P_ *const> : facts_of<P_ *> {
};

} // namespace warpkit

#ifdef __CUDACC__
#ifndef __CUDACC_RTC__
#pragma GCC diagnostic pop
#endif
#pragma nv_diagnostic pop
#endif
