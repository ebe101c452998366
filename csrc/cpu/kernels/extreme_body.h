/* extreme_body.h -- the least (or the most) of one dtype, by keys. No include guard.
 *   T        in memory; A the key's type; KEY(x) the key; OP(a, b) the winner
 *   WORST    a key that every other wins against; NAN_KEY  that of NaN (WORST: there is none)
 *   PLACE(a) where an accumulator keeps it
 * FN(name) gives the functions' names. */

/* 1, or 2 where there is a NaN. */
static int
FN(seen)(const A *lane, int64_t width)
{
    int nan = 0;
    for (int64_t w = 0; w < width; w++) nan |= lane[w] == (A)(NAN_KEY);
    return (A)(NAN_KEY) != (A)(WORST) && nan ? 2 : 1;
}

static int
FN(rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    A *lane = lanes;
    for (int64_t w = 0; w < width; w++) {
        const T *x = (const T *)from + offsets[w];
        A best = WORST;
        for (int64_t i = 0; i < n; i++) {
            const A key = KEY(x[i]);
            best = OP(key, best);
        }
        lane[w] = best;
    }
    return FN(seen)(lane, width);
}

/* Rows lie far apart, where no hardware prefetcher follows, so each asks for one to come. */
static int
FN(columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    A *restrict to = lanes;
    for (int64_t i = 0; i < n; i++) {
        const T *restrict x = (const T *)from + offsets[i];
        if (i + WK_AHEAD < n)
            for (int64_t w = 0; w < width; w += 64 / (int64_t)sizeof(T))
                __builtin_prefetch((const T *)from + offsets[i + WK_AHEAD] + w);
        for (int64_t w = 0; w < width; w++) {
            const A key = KEY(x[w]);
            to[w] = OP(key, to[w]);
        }
    }
    return FN(seen)(to, width);
}

static void
FN(start)(void *lanes, int64_t stride)
{
    A *lane = lanes;
    for (int64_t w = 0; w < stride; w++) lane[w] = WORST;
}

static void
FN(absorb)(wk_acc *a, const void *lanes, int64_t stride, int64_t w)
{
    const A key = ((const A *)lanes)[w];
    A best;
    (void)stride;
    memcpy(&best, &PLACE(a), sizeof best);
    best = OP(key, best);
    memcpy(&PLACE(a), &best, sizeof best);
}

static void
FN(run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    A best;
    (void)index;
    FN(rows)(&best, x, &zero, n, 1);
    FN(absorb)(a, &best, 1, 0);
}

static void
FN(merge)(wk_acc *a, const wk_acc *b)
{
    FN(absorb)(a, &PLACE(b), 1, 0);
}

#undef T
#undef A
#undef KEY
#undef WORST
#undef NAN_KEY
#undef FN
