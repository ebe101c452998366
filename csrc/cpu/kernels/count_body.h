/* count_body.h -- zeros of one width. No include guard.
 *   U  unsigned, PER of them an element; BITS(x) is zero where x is
 * FN(name) gives the functions' names. */

#define NONZERO(i) (PER == 2 ? (BITS(x[2 * (i)]) | BITS(x[2 * (i) + 1])) : BITS(x[i]))

static int
FN(count_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    enum { SOME = 64, ROUNDS = 255 };
    for (int64_t w = 0; w < width; w++) {
        const U *x = (const U *)from + PER * offsets[w];
        int64_t count = 0, i = 0;
        if (sizeof(U) >
            1) { /* counters as wide as elements: a row is no longer than these hold */
            U all = 0;
            for (; i < n; i++) all += (U)(NONZERO(i) != 0);
            count = (int64_t)all;
        }
        while (i + SOME <= n) { /* until they could overflow */
            U lane[SOME] = {0};
            for (int r = 0; r < ROUNDS && i + SOME <= n; r++, i += SOME)
                for (int l = 0; l < SOME; l++) lane[l] += (U)(NONZERO(i + l) != 0);
            for (int l = 0; l < SOME; l++) count += (int64_t)lane[l];
        }
        for (; i < n; i++) count += NONZERO(i) != 0;
        ((int64_t *)lanes)[w] = count;
    }
    return 1;
}

static int
FN(count_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n,
                  int64_t width)
{
    int64_t *restrict to = lanes;
    for (int64_t i = 0; i < n; i++) {
        const U *restrict x = (const U *)from + PER * offsets[i];
        for (int64_t w = 0; w < width; w++) to[w] += NONZERO(w) != 0;
    }
    return 1;
}

static int
FN(any_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const U *x = (const U *)from + PER * offsets[w];
        U seen = 0;
        for (int64_t i = 0; i < n; i++) seen |= (U)NONZERO(i);
        ((uint8_t *)lanes)[w] = seen != 0;
    }
    return 1;
}

static int
FN(any_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    uint8_t *restrict to = lanes;
    for (int64_t i = 0; i < n; i++) {
        const U *restrict x = (const U *)from + PER * offsets[i];
        for (int64_t w = 0; w < width; w++) to[w] |= NONZERO(w) != 0;
    }
    return 1;
}

/* Lanes hold whether there is a zero. */
static int
FN(all_rows)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    for (int64_t w = 0; w < width; w++) {
        const U *x = (const U *)from + PER * offsets[w];
        U seen = 0;
        for (int64_t i = 0; i < n; i++) seen |= NONZERO(i) == 0;
        ((uint8_t *)lanes)[w] = seen != 0;
    }
    return 1;
}

static int
FN(all_columns)(void *lanes, const void *from, const int64_t *offsets, int64_t n, int64_t width)
{
    uint8_t *restrict to = lanes;
    for (int64_t i = 0; i < n; i++) {
        const U *restrict x = (const U *)from + PER * offsets[i];
        for (int64_t w = 0; w < width; w++) to[w] |= NONZERO(w) == 0;
    }
    return 1;
}

static void
FN(count_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    int64_t count;
    (void)index;
    FN(count_rows)(&count, x, &zero, n, 1);
    a->nonzero += count;
}

static void
FN(any_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    uint8_t seen;
    (void)index;
    FN(any_rows)(&seen, x, &zero, n, 1);
    a->some += seen;
}

static void
FN(all_run)(wk_acc *a, const void *x, int64_t n, int64_t index)
{
    const int64_t zero = 0;
    uint8_t seen;
    (void)index;
    FN(all_rows)(&seen, x, &zero, n, 1);
    a->zero += seen;
}

#undef U
#undef PER
#undef BITS
#undef FN
#undef NONZERO
