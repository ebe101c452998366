/* num/ordered.h -- elements as unsigned integers, of which the largest is what is asked for: the least or the
 * largest element, or whether all or any are other than zero. NaN is above all, so that it stays; -0.0 is below
 * 0.0, but its equal where a place is asked for. Of floats none is 0. */
#ifndef WARPKIT_NUM_ORDERED_H
#define WARPKIT_NUM_ORDERED_H

#include "num/bits.h"

/* shift: of an element's bits to the top; truth: those that make it true, 0: it is not asked; minus: what counts
 * as 0; zero: an integer's, what is inverted in it; infinity: a float's, of integers 0; inverted: all bits, if the
 * least is asked for. */
#define WK_ORDERED(B, bits)                                                                    \
    typedef struct wk_order_##bits {                                                           \
        int shift;                                                                             \
        B truth, minus, zero, infinity, inverted;                                              \
    } wk_order_##bits;                                                                         \
                                                                                               \
    WK_FN B wk_order_key_##bits(const wk_order_##bits *o, B x)                                 \
    {                                                                                          \
        const B top = (B)1 << (bits - 1);                                                      \
        B b = (o->truth ? (B)((x & o->truth) != 0) : x) << o->shift;                           \
        if (o->infinity == 0) return b ^ o->zero ^ o->inverted;                                \
        b = b == o->minus ? 0 : b;                                                             \
        return (b & ~top) > o->infinity ? ~(B)0 : (b & top ? ~b : b | top) ^ o->inverted;      \
    }                                                                                          \
                                                                                               \
    /* The element's bits; of floats that there is none for, key 0, those of NaN. */           \
    WK_FN B wk_order_bits_##bits(const wk_order_##bits *o, B key)                              \
    {                                                                                          \
        const B top = (B)1 << (bits - 1), k = key ^ o->inverted;                               \
        if (o->truth) return k >> (bits - 1);                                                  \
        if (o->infinity == 0) return (k ^ o->zero) >> o->shift;                                \
        if (key == 0 || key == ~(B)0)                                                          \
            return (o->infinity | (o->infinity & (~o->infinity + 1)) >> 1) >> o->shift;        \
        return (k & top ? k ^ top : ~k) >> o->shift;                                           \
    }                                                                                          \
                                                                                               \
    /* fold: WK_MIN, WK_MAX, WK_ARGMIN, WK_ARGMAX, WK_ANY or WK_ALL. */                        \
    static inline wk_order_##bits wk_order_new_##bits(wk_dtype dtype, wk_fold fold)            \
    {                                                                                          \
        const B top = (B)1 << (bits - 1), infinity = (B)wk_infinity_bits(dtype);               \
        const int least = fold == WK_MIN || fold == WK_ARGMIN || fold == WK_ALL;               \
        const int item = 8 * wk_itemsize[dtype], is_place = wk_is_place(fold);                 \
        wk_order_##bits o = {bits - item, 0, 0, 0, 0, least ? ~(B)0 : 0};                      \
        if (fold == WK_ANY || fold == WK_ALL || dtype == WK_BOOL) {                            \
            o.truth = ~(B)0 >> (infinity ? bits - item + 1 : bits - item);                     \
            o.shift = bits - 1;                                                                \
            return o;                                                                          \
        }                                                                                      \
        const int is_signed =                                                                  \
            dtype == WK_I8 || dtype == WK_I16 || dtype == WK_I32 || dtype == WK_I64;           \
        o.zero = is_signed ? top : 0;                                                          \
        o.infinity = infinity << o.shift;                                                      \
        o.minus = is_place ? top : 0;                                                          \
        return o;                                                                              \
    }

static inline int
wk_is_place(wk_fold fold)
{
    return fold == WK_ARGMIN || fold == WK_ARGMAX;
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
