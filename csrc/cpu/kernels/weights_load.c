/* weights_load.c -- weights of every dtype as integers, or as doubles that are cut into integers.
 *
 * Word k takes the multiples of 2^(least + k step): adding 1.5 2^52 to x 2^-(least + k step) rounds
 * it to an integer, which stands in the low bits of the sum, and what is left of x is exact and
 * goes to the word below. The last is left with an integer, for 2^least divides every weight. */
#include "weights.h"
#include "exact_slow.h"
#include "vector.h"

/* ---- loads -------------------------------------------------------------------------------- */

#define T uint16_t
#define VALUE(x) wk_f32_of_f16(x)
#define LOAD(name) name##_f16
#include "weights_load_body.h"
#define T uint16_t
#define VALUE(x) wk_f32_of_bf16(x)
#define LOAD(name) name##_bf16
#include "weights_load_body.h"
#define T float
#define VALUE(x) (x)
#define LOAD(name) name##_f32
#include "weights_load_body.h"
#define T double
#define VALUE(x) (x)
#define LOAD(name) name##_f64
#include "weights_load_body.h"

void
WK_ISA_NAME(wk_weights_load)(wk_dtype dtype, int part, const void *w, int64_t first, int64_t n,
                             double *x)
{
    switch (dtype) {
    case WK_F16: load_f16(w, first, n, x); break;
    case WK_BF16: load_bf16(w, first, n, x); break;
    case WK_F32: load_f32(w, first, n, x); break;
    case WK_F64: load_f64(w, first, n, x); break;
    case WK_C64: part_f32(w, part, first, n, x); break;
    default: part_f64(w, part, first, n, x); break;
    }
}

/* Where there are special values, or none above the tiny. */
static void
spread_each(const double *x, int64_t n, wk_spread *spread)
{
    const uint64_t infinity = (uint64_t)2047 << 52;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t b = wk_bits_f64(x[i]) & INT64_MAX;
        if (b >= infinity) spread->special = 1;
        if (b >= infinity || b == 0) continue;
        if (b > spread->most) spread->most = b;
        if (b < spread->least) spread->least = b;
    }
}

void
WK_ISA_NAME(wk_weights_spread)(wk_dtype dtype, int part, const void *w, int64_t first,
                               int64_t n, wk_spread *spread)
{
    double x[WK_BIN_BLOCK];
    WK_ISA_NAME(wk_weights_load)(dtype, part, w, first, n, x);
    const wk_range range = WK_ISA_NAME(wk_range_of)(x, n);
    if (range.most == 0 || range.most >> 52 == 2047) {
        spread_each(x, n, spread);
        return;
    }
    if (range.most > spread->most) spread->most = range.most;
    if (range.least < spread->least) spread->least = range.least;
}

/* ---- integers ----------------------------------------------------------------------------- */

#define T uint8_t
#define VALUE(x) ((x) != 0)
#define INTEGERS(name) name##_bool
#include "weights_integers_body.h"
#define T int8_t
#define INTEGERS(name) name##_i8
#include "weights_integers_body.h"
#define T uint8_t
#define INTEGERS(name) name##_u8
#include "weights_integers_body.h"
#define T int16_t
#define INTEGERS(name) name##_i16
#include "weights_integers_body.h"
#define T uint16_t
#define INTEGERS(name) name##_u16
#include "weights_integers_body.h"
#define T int32_t
#define INTEGERS(name) name##_i32
#include "weights_integers_body.h"
#define T uint32_t
#define INTEGERS(name) name##_u32
#include "weights_integers_body.h"
#define T int64_t
#define INTEGERS(name) name##_i64
#include "weights_integers_body.h"
#define T uint64_t
#define INTEGERS(name) name##_u64
#include "weights_integers_body.h"

void
WK_ISA_NAME(wk_weights_integers)(const wk_pieces *p, const void *w, int64_t first, int64_t n,
                                 int64_t (*piece)[WK_BIN_BLOCK])
{
    switch (p->dtype) {
    case WK_BOOL: pieces_bool(p, w, first, n, piece); break;
    case WK_I8: pieces_i8(p, w, first, n, piece); break;
    case WK_U8: pieces_u8(p, w, first, n, piece); break;
    case WK_I16: pieces_i16(p, w, first, n, piece); break;
    case WK_U16: pieces_u16(p, w, first, n, piece); break;
    case WK_I32: pieces_i32(p, w, first, n, piece); break;
    case WK_U32: pieces_u32(p, w, first, n, piece); break;
    case WK_I64: pieces_i64(p, w, first, n, piece); break;
    default: pieces_u64(p, w, first, n, piece); break;
    }
}

/* ---- floats ------------------------------------------------------------------------------- */

typedef uint64_t wk_vu __attribute__((vector_size(WK_VECTOR)));

static inline __attribute__((always_inline)) void
split(const wk_pieces *p, const double *x, int64_t n, int64_t (*piece)[WK_BIN_BLOCK], int words)
{
    const wk_vd magic = wk_splat(0x1.8p52);
    wk_vd down[WK_PIECES], up[WK_PIECES];
    for (int k = 0; k < words; k++) {
        down[k] = wk_splat(wk_power_of_two(-(p->least + k * p->step)));
        up[k] = wk_splat(wk_power_of_two(p->least + k * p->step));
    }
    for (int64_t i = 0; i < n; i += WK_VD) {
        wk_vd rest = wk_load_f64(x + i);
#pragma GCC unroll 4
        for (int k = words - 1; k >= 0; k--) {
            const wk_vd s = rest * down[k] + magic;
            const wk_vu whole = (wk_vu)s - (wk_vu)magic;
            memcpy(&piece[k][i], &whole, sizeof whole);
            if (k > 0) rest -= (s - magic) * up[k];
        }
    }
}

void
WK_ISA_NAME(wk_weights_split)(const wk_pieces *p, const double *x, int64_t n,
                              int64_t (*piece)[WK_BIN_BLOCK])
{
    switch (p->words) {
    case 1: split(p, x, n, piece, 1); break;
    case 2: split(p, x, n, piece, 2); break;
    case 3: split(p, x, n, piece, 3); break;
    default: split(p, x, n, piece, 4); break;
    }
}

/* Weights are as they were when the words were planned, unless another thread writes to them: then
 * they may be of any size, and what no word is for is left out. */
void
WK_ISA_NAME(wk_weights_scatter)(const wk_pieces *p, const double *x, const int64_t *bin,
                                int64_t n, int64_t *sums)
{
    const uint64_t mask = ((uint64_t)1 << p->step) - 1;
    const int log = p->step == 32 ? 5 : 4; /* of the step */
    const int most = p->words * p->step - 53;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t b = wk_bits_f64(x[i]);
        const int raw = (int)(b >> 52 & 2047);
        const int64_t minus = (int64_t)b >> 63;
        uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(raw > 0) << 52;
        int at = (raw > 0 ? raw : 1) - 1075 - p->least;
        if (m == 0 || at > most) continue;
        if (at < 0) { /* the bits below are zero: no weight has any there */
            m >>= at > -63 ? -at : 63;
            at = 0;
        }
        int64_t *word = sums + bin[i] * p->words + (at >> log);
        for (unsigned __int128 v = (unsigned __int128)m << (at & (p->step - 1)); v;
             v >>= p->step)
            *word++ += (int64_t)((((uint64_t)v & mask) ^ (uint64_t)minus) - (uint64_t)minus);
    }
}
