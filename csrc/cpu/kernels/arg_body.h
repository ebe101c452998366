/* arg_body.h -- the first place of the least (or the most) of one dtype. No include guard.
 * Expects what best_body.h does, BETTER(a, b), and where U is defined VALUE(key): the element.
 * The key first, then the place where it is: both loops vectorise. */
#include "best_body.h"

/* Is it the one with this key? No NaN is in a run whose best is none. */
#ifdef U
#define IS(x, key) (((x) == VALUE(key)) | ((x) != (x)))
#define FOUND U
#else
#define IS(x, key) (KEY(x) == (key))
#define FOUND A
#endif

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
    enum { FEW = 8 };
    A best = FN(key_of)(x[0]);
    int64_t place = 0;
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

static int
FN(beaten)(const wk_acc *a, A key)
{
    A best;
    memcpy(&best, &a->least, sizeof best);
    return a->index == -1 || BETTER(key, best);
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const A key = FN(best_of)(x, n);
    if (!FN(beaten)(a, key)) return;
    memcpy(&a->least, &key, sizeof key);
    a->index = index + FN(find)(x, n, key);
}

/* b is of later elements. */
static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    A key;
    memcpy(&key, &b->least, sizeof key);
    if (b->index == -1 || !FN(beaten)(a, key)) return;
    memcpy(&a->least, &key, sizeof key);
    a->index = b->index;
}

#undef T
#undef U
#undef A
#undef KEY
#undef VALUE
#undef WORST
#undef NAN_KEY
#undef FN
#undef IS
#undef FOUND
