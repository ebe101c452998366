/* arg_body.h -- the first place of the least (or the most) of one dtype. No include guard.
 * Expects what best_body.h does, BETTER(a, b), and where U is defined VALUE(key): the element.
 * The key first, then the place where it is: both loops vectorise. */
#include "best_body.h"

/* Is it the one with this key? No NaN is in a run whose best is none. */
#ifdef U
#define IS(x, key) (((x) == VALUE(key)) | ((x) != (x)))
#define FOUND U
#else
#define IS(x, key) (FN(key_of)(x) == (key))
#define FOUND A
#endif

/* n or more: it is nowhere. */
static inline int64_t
FN(find)(const T *x, int64_t n, A key)
{
    enum { SOME = 64 };
    const int some = n < SOME ? (int)n : SOME;
    int64_t i = 0;
    for (; i + SOME < n; i += SOME) {
        FOUND found = 0;
        for (int k = 0; k < SOME; k++) found |= (FOUND)IS(x[i + k], key);
        if (found) break;
    }
    if (i > n - some) i = n - some;
    FOUND first = SOME;
    for (int k = 0; k < some; k++) {
        const FOUND here = IS(x[i + k], key) ? (FOUND)k : (FOUND)SOME;
        first = here < first ? here : first;
    }
    return i + (int64_t)first;
}

static inline int64_t
FN(place)(const T *x, int64_t n)
{
    enum { FEW = 8, MANY = 64 };
    A best = FN(key_of)(x[0]);
    int64_t place = 0;
    if (TWO_KEYS) { /* no more is looked at than tells it */
        if (n >= MANY)
            place = FN(find)(x, n, WINNER(A));
        else
            while (place < n && FN(key_of)(x[place]) != WINNER(A)) place++;
        return place < n ? place : 0;
    }
    if (n > FEW) return FN(find)(x, n, FN(best_of)(x, n));
    for (int64_t i = 1; i < n; i++) {
        const A key = FN(key_of)(x[i]);
        place = BETTER(key, best) ? i : place;
        best = OP(key, best);
    }
    return place;
}

static int
FN(rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    int64_t *lane = lanes;
    for (int64_t w = 0; w < width; w++) lane[w] = FN(place)((const T *)from + offsets[w], n);
    return 1;
}

/* Inlined, it would not vectorise. */
static __attribute__((noinline)) void
FN(look)(A *restrict best, FOUND *restrict place, const T *const *row, int64_t first,
         int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        A most = best[w];
        FOUND at = place[w];
#pragma GCC unroll 4
        for (int r = 0; r < LOOK; r++) {
            const A key = FN(key_of)(row[r][w]);
            at = BETTER(key, most) ? (FOUND)(first + r) : at;
            most = BETTER(key, most) ? key : most;
        }
        best[w] = most;
        place[w] = at;
    }
}

/* A tile's places are kept in what is as wide as its elements: its rows are 256 at most. */
static int
FN(columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    const int64_t stride = wk_stride(width);
    int64_t *place = lanes, *next = place + 2 * stride;
    A *keys = (A *)(place + stride);
    A best[FN(SIDE)];
    FOUND at[FN(SIDE)];
    for (int64_t begin = 0; begin < width; begin += FN(SIDE)) {
        const T *x = (const T *)from + begin;
        const int64_t some = width - begin < FN(SIDE) ? width - begin : FN(SIDE);
        for (int64_t w = 0; w < some; w++)
            best[w] = WORST; /* where all are, the first is best */
        memset(at, 0, (size_t)some * sizeof *at);
        for (int64_t i = 0; i < n; i += LOOK) {
            const T *row[LOOK];
            for (int r = 0; r < LOOK; r++) row[r] = x + offsets[i + r < n ? i + r : n - 1];
            FN(look)(best, at, row, i, some);
        }
        if (place[begin] < 0) {
            memcpy(keys + begin, best, (size_t)some * sizeof *best);
            places(place + begin, at, sizeof *at, *next, some);
            continue;
        }
        for (int64_t w = 0; w < some; w++) {
            if (!BETTER(best[w], keys[begin + w])) continue;
            keys[begin + w] = best[w];
            place[begin + w] = *next + (uint8_t)at[w];
        }
    }
    *next += n;
    return 1;
}

/* The best of elements that are later than all before. */
static void
FN(offer)(wk_acc *a, A key, int64_t index)
{
    A best;
    memcpy(&best, &a->least, sizeof best);
    if (a->index != -1 && !BETTER(key, best)) return;
    memcpy(&a->least, &key, sizeof key);
    a->index = index;
}

static void
FN(absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    const int64_t *place = lanes;
    FN(offer)(a, ((const A *)(place + stride))[w], place[w]);
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    A best;
    memcpy(&best, &a->least, sizeof best);
    if (a->index != -1 && best == WINNER(A)) return; /* nothing beats it: most bool end here */
    if (TWO_KEYS) {
        const int64_t place = FN(place)(x, n);
        FN(offer)(a, FN(key_of)(((const T *)x)[place]), index + place);
        return;
    }
    const A key = FN(best_of)(x, n);
    if (a->index == -1 || BETTER(key, best)) FN(offer)(a, key, index + FN(find)(x, n, key));
}

static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    A key;
    memcpy(&key, &b->least, sizeof key);
    if (b->index != -1) FN(offer)(a, key, b->index);
}

#undef IS
#undef FOUND
