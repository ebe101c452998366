// vectors.h -- dim3 and CUDA's vector types: the same names, sizes and alignments.
#pragma once

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// All vector types are made here, so that a build that counts accesses can give them a copy
// that it sees as one access: compilers split a copied struct into its members.
#ifdef EMU_TRACE
namespace emu
{

template <unsigned long size>
struct whole; // bytes that are copied at once
#define EMU_WHOLE_OF(n)                                                                        \
    template <>                                                                                \
    struct whole<n> {                                                                          \
        typedef unsigned char type __attribute__((vector_size(n), may_alias));                 \
    };
EMU_WHOLE_OF(2)
EMU_WHOLE_OF(4)
EMU_WHOLE_OF(8)
EMU_WHOLE_OF(16)
#undef EMU_WHOLE_OF

template <typename T>
inline __attribute__((always_inline)) void
copy_whole(T *to, const T *from)
{
    constexpr unsigned long part = sizeof(T) > 16 ? 16 : sizeof(T);
    typedef typename whole<part>::type word;
    for (unsigned long i = 0; i < sizeof(T) / part; i++)
        reinterpret_cast<word *>(to)[i] = reinterpret_cast<const word *>(from)[i];
}

} // namespace emu

#define EMU_AT_ONCE(name)                                                                      \
    name() = default;                                                                          \
    name(const name &o)                                                                        \
    {                                                                                          \
        emu::copy_whole(this, &o);                                                             \
    }                                                                                          \
    name &operator=(const name &o)                                                             \
    {                                                                                          \
        emu::copy_whole(this, &o);                                                             \
        return *this;                                                                          \
    }
#define EMU_AT_ONCE2(name, T)                                                                  \
    EMU_AT_ONCE(name)                                                                          \
    constexpr name(T x_, T y_ = {}) : x(x_), y(y_) {}
#define EMU_AT_ONCE4(name, T)                                                                  \
    EMU_AT_ONCE(name)                                                                          \
    constexpr name(T x_, T y_ = {}, T z_ = {}, T w_ = {}) : x(x_), y(y_), z(z_), w(w_) {}
#else
#define EMU_AT_ONCE(name) name() = default;
#define EMU_AT_ONCE2(name, T)
#define EMU_AT_ONCE4(name, T)
#endif

#define EMU_VECTORS(T, name, align2, align4)                                                   \
    struct name##1                                                                             \
    {                                                                                          \
        T x;                                                                                   \
    };                                                                                         \
    struct alignas(align2) name##2                                                             \
    {                                                                                          \
        T x, y;                                                                                \
        EMU_AT_ONCE2(name##2, T)                                                               \
    };                                                                                         \
    struct name##3                                                                             \
    {                                                                                          \
        T x, y, z;                                                                             \
    };                                                                                         \
    struct alignas(align4) name##4                                                             \
    {                                                                                          \
        T x, y, z, w;                                                                          \
        EMU_AT_ONCE4(name##4, T)                                                               \
    };                                                                                         \
    static inline name##1 make_##name##1(T x)                                                  \
    {                                                                                          \
        return {x};                                                                            \
    }                                                                                          \
    static inline name##2 make_##name##2(T x, T y)                                             \
    {                                                                                          \
        return {x, y};                                                                         \
    }                                                                                          \
    static inline name##3 make_##name##3(T x, T y, T z)                                        \
    {                                                                                          \
        return {x, y, z};                                                                      \
    }                                                                                          \
    static inline name##4 make_##name##4(T x, T y, T z, T w)                                   \
    {                                                                                          \
        return {x, y, z, w};                                                                   \
    }

EMU_VECTORS(signed char, char, 2, 4)
EMU_VECTORS(unsigned char, uchar, 2, 4)
EMU_VECTORS(short, short, 4, 8)
EMU_VECTORS(unsigned short, ushort, 4, 8)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(unsigned, uint, 8, 16)
EMU_VECTORS(long, long, 16, 16)
EMU_VECTORS(unsigned long, ulong, 16, 16)
EMU_VECTORS(long long, longlong, 16, 16)
EMU_VECTORS(unsigned long long, ulonglong, 16, 16)
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(double, double, 16, 16)

#undef EMU_VECTORS
#undef EMU_AT_ONCE2
#undef EMU_AT_ONCE4
