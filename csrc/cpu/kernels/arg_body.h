/* arg_body.h -- the first place of the least (or the most) of one dtype. No include guard.
 *   T  in memory; A the key's type; KEY(x) the key; BETTER(a, b); WORST the key that loses to all
 * FN(name) gives the functions' names. The key first, then the place where it is: both loops
 * vectorise. */

static inline int64_t
FN(place)(const T *x, int64_t n, A *key)
{
    enum { SOME = 512 };
    A best = WORST;
    int64_t from = 0;
    for (int64_t i = 0; i < n; i += SOME) {
        const int64_t end = n - i < SOME ? n : i + SOME;
        A here = WORST;
        for (int64_t k = i; k < end; k++) {
            const A one = KEY(x[k]);
            here = BETTER(one, here) ? one : here;
        }
        if (i > 0 && !BETTER(here, best)) continue;
        best = here;
        from = i;
    }
    *key = best;
    while (from < n - 1 && KEY(x[from]) != best) from++;
    return from;
}

static int
FN(rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    int64_t *lane = lanes;
    A key;
    for (int64_t w = 0; w < width; w++)
        lane[w] = FN(place)((const T *)from + offsets[w], n, &key);
    return 1;
}

static void
FN(take)(wk_acc *a, A key, int64_t index)
{
    A best;
    memcpy(&best, &a->least, sizeof best);
    if (a->index != -1 && !BETTER(key, best)) return;
    memcpy(&a->least, &key, sizeof key);
    a->index = index;
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    A key;
    const int64_t place = FN(place)(x, n, &key);
    FN(take)(a, key, index + place);
}

/* b is of later elements. */
static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    A key;
    memcpy(&key, &b->least, sizeof key);
    if (b->index != -1) FN(take)(a, key, b->index);
}

#undef T
#undef A
#undef KEY
#undef WORST
#undef FN
