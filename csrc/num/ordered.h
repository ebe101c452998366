/* num/ordered.h -- elements as unsigned integers, of which the largest is what is asked for: the least or
 * the largest element. NaN is above all, so that it stays; -0.0 is below 0.0. Of floats none is 0. */
#ifndef WARPKIT_NUM_ORDERED_H
#define WARPKIT_NUM_ORDERED_H

#include "num/bits.h"

/* shift: of an element's bits to the top; zero: an integer's, what is inverted in it; infinity: a float's,
 * of integers 0; inverted: all bits, if the least is asked for; truth: any byte but 0 is one. */
#define WK_ORDERED(B, bits)                                                                    \
    typedef struct wk_order_##bits {                                                           \
        int shift, truth;                                                                      \
        B zero, infinity, inverted;                                                            \
    } wk_order_##bits;                                                                         \
                                                                                               \
    WK_FN B wk_order_key_##bits(const wk_order_##bits *o, B x)                                 \
    {                                                                                          \
        const B top = (B)1 << (bits - 1), b = (o->truth ? (B)(x != 0) : x) << o->shift;        \
        if (o->infinity == 0) return b ^ o->zero ^ o->inverted;                                \
        return (b & ~top) > o->infinity ? ~(B)0 : (b & top ? ~b : b | top) ^ o->inverted;      \
    }                                                                                          \
                                                                                               \
    /* The element's bits; of floats that there is none for, key 0, those of NaN. */           \
    WK_FN B wk_order_bits_##bits(const wk_order_##bits *o, B key)                              \
    {                                                                                          \
        const B top = (B)1 << (bits - 1), k = key ^ o->inverted;                               \
        if (o->infinity == 0) return (k ^ o->zero) >> o->shift;                                \
        if (key == 0 || key == ~(B)0)                                                          \
            return (o->infinity | (o->infinity & (~o->infinity + 1)) >> 1) >> o->shift;        \
        return (k & top ? k ^ top : ~k) >> o->shift;                                           \
    }                                                                                          \
                                                                                               \
    static inline wk_order_##bits wk_order_new_##bits(wk_dtype dtype, int least)               \
    {                                                                                          \
        const int is_signed =                                                                  \
            dtype == WK_I8 || dtype == WK_I16 || dtype == WK_I32 || dtype == WK_I64;           \
        wk_order_##bits o;                                                                     \
        o.shift = bits - 8 * wk_itemsize[dtype];                                               \
        o.truth = dtype == WK_BOOL;                                                            \
        o.zero = is_signed ? (B)1 << (bits - 1) : 0;                                           \
        o.infinity = (B)wk_infinity_bits(dtype) << o.shift;                                    \
        o.inverted = least ? ~(B)0 : 0;                                                        \
        return o;                                                                              \
    }

/* Of a float; 0: it has none. */
static inline uint64_t
wk_infinity_bits(wk_dtype dtype)
{
    switch (dtype) {
    case WK_F16: return 0x7c00;
    case WK_BF16: return 0x7f80;
    case WK_F32: return 0x7f800000;
    case WK_F64: return 0x7ff0000000000000;
    default: return 0;
    }
}

WK_ORDERED(uint32_t, 32)
WK_ORDERED(uint64_t, 64)
#undef WK_ORDERED

#endif
