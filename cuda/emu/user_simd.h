// user_simd.h -- the two halves or four bytes of a word, each by itself: __vadd2, __vmaxu4 and so on.
#pragma once
#include <stdint.h>

namespace emu
{

constexpr int
held(int v, int least, int most)
{
    return v < least ? least : v > most ? most : v;
}

} // namespace emu

// a and b: the parts. A comparison gives ones in all bits, as a mask, or (__vset) one.
#define EMU_PARTS(name, T, ...)                                                                \
    static inline unsigned name(unsigned all_a, unsigned all_b = 0)                            \
    {                                                                                          \
        constexpr int size = 8 * (int)sizeof(T);                                               \
        unsigned all = 0;                                                                      \
        for (int at = 0; at < 32; at += size) {                                                \
            const int a = (T)(all_a >> at), b = (T)(all_b >> at);                              \
            const int part = __VA_ARGS__;                                                      \
            (void)b;                                                                           \
            all |= ((unsigned)part & (0xffffffffu >> (32 - size))) << at;                      \
        }                                                                                      \
        return all;                                                                            \
    }
#define EMU_SUM(name, T)                                                                       \
    static inline unsigned name(unsigned all_a, unsigned all_b)                                \
    {                                                                                          \
        unsigned sum = 0;                                                                      \
        for (int at = 0; at < 32; at += 8 * (int)sizeof(T)) {                                  \
            const int a = (T)(all_a >> at), b = (T)(all_b >> at);                              \
            sum += (unsigned)(a > b ? a - b : b - a);                                          \
        }                                                                                      \
        return sum;                                                                            \
    }
#define EMU_SIGNED(name, ...)                                                                  \
    EMU_PARTS(name##2, int16_t, __VA_ARGS__)                                                   \
    EMU_PARTS(name##4, int8_t, __VA_ARGS__)
#define EMU_UNSIGNED(name, ...)                                                                \
    EMU_PARTS(name##2, uint16_t, __VA_ARGS__)                                                  \
    EMU_PARTS(name##4, uint8_t, __VA_ARGS__)
#define EMU_HELD(name, ...)                                                                    \
    EMU_PARTS(name##2, int16_t, emu::held(__VA_ARGS__, -32768, 32767))                         \
    EMU_PARTS(name##4, int8_t, emu::held(__VA_ARGS__, -128, 127))
#define EMU_COMPARED(name, sign, operation)                                                    \
    EMU_##sign(__vcmp##name, a operation b ? -1 : 0) EMU_##sign(__vset##name, a operation b)

EMU_UNSIGNED(__vadd, a + b)
EMU_HELD(__vaddss, a + b)
EMU_PARTS(__vaddus2, uint16_t, emu::held(a + b, 0, 65535))
EMU_PARTS(__vaddus4, uint8_t, emu::held(a + b, 0, 255))
EMU_UNSIGNED(__vsub, a - b)
EMU_HELD(__vsubss, a - b)
EMU_UNSIGNED(__vsubus, a > b ? a - b : 0)
EMU_SIGNED(__vneg, -a)
EMU_HELD(__vnegss, -a)
EMU_SIGNED(__vabs, a < 0 ? -a : a)
EMU_HELD(__vabsss, (a < 0 ? -a : a))
EMU_SIGNED(__vabsdiffs, a > b ? a - b : b - a)
EMU_UNSIGNED(__vabsdiffu, a > b ? a - b : b - a)
EMU_SIGNED(__vavgs, (a + b + (a + b >= 0)) >> 1)
EMU_UNSIGNED(__vavgu, (a + b + 1) >> 1)
EMU_UNSIGNED(__vhaddu, (a + b) >> 1)
EMU_SIGNED(__vmaxs, a > b ? a : b)
EMU_PARTS(__vmaxu4, uint8_t, a > b ? a : b) // math.h has __vmaxu2
EMU_SIGNED(__vmins, a < b ? a : b)
EMU_UNSIGNED(__vminu, a < b ? a : b)
EMU_COMPARED(eq, UNSIGNED, ==)
EMU_COMPARED(ne, UNSIGNED, !=)
EMU_COMPARED(ges, SIGNED, >=)
EMU_COMPARED(geu, UNSIGNED, >=)
EMU_COMPARED(gts, SIGNED, >)
EMU_COMPARED(gtu, UNSIGNED, >)
EMU_COMPARED(les, SIGNED, <=)
EMU_COMPARED(leu, UNSIGNED, <=)
EMU_COMPARED(lts, SIGNED, <)
EMU_COMPARED(ltu, UNSIGNED, <)
EMU_SUM(__vsads2, int16_t)
EMU_SUM(__vsads4, int8_t)
EMU_SUM(__vsadu2, uint16_t)
EMU_SUM(__vsadu4, uint8_t)
#undef EMU_PARTS
#undef EMU_SUM
#undef EMU_SIGNED
#undef EMU_UNSIGNED
#undef EMU_HELD
#undef EMU_COMPARED
