/* weights_integers_body.h -- weights of type T as they are, or as halves. No include guard. */
#ifndef VALUE
#define VALUE(x) (x)
#endif

static void
INTEGERS(pieces)(const wk_pieces *p, const void *from, int64_t first, int64_t n,
                 int64_t (*piece)[WK_BIN_BLOCK])
{
    const T *w = (const T *)from + first;
    if (p->words == 1) {
        for (int64_t i = 0; i < n; i++) piece[0][i] = (int64_t)VALUE(w[i]);
        return;
    }
    const int step = p->step, last = p->words - 1;
    const uint64_t mask = ((uint64_t)1 << step) - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = (int64_t)VALUE(w[i]), high = v >> last * step;
        piece[0][i] = (int64_t)((uint64_t)v & mask);
        piece[1][i] = (int64_t)((uint64_t)v >> step & mask);
        const int64_t top = (int64_t)((uint64_t)v >> last * step);
        piece[last][i] = (T)-1 > (T)0 ? top : high;
    }
}

#undef T
#undef VALUE
#undef INTEGERS
