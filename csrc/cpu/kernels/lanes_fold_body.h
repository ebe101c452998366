/* lanes_fold_body.h -- a warp's reduce and scan of type T, named by FOLD(name). No guard. */
static T
FOLD(combine)(wk_lanes_kind kind, T a, T b)
{
    switch (kind) {
    case WK_LANES_SUM: return SUM(a, b);
    case WK_LANES_MIN: return LESSER(a, b);
    case WK_LANES_MAX: return GREATER(a, b);
#ifdef WHOLE
    case WK_LANES_BIT_AND: return a & b;
    case WK_LANES_BIT_OR: return a | b;
    case WK_LANES_BIT_XOR: return a ^ b;
#endif
    default: return a;
    }
}

static T
FOLD(neutral)(wk_lanes_kind kind)
{
    switch (kind) {
    case WK_LANES_MIN: return MOST;
    case WK_LANES_MAX: return LEAST;
#ifdef WHOLE
    case WK_LANES_BIT_AND: return (T) ~(T)0;
    case WK_LANES_BIT_OR:
    case WK_LANES_BIT_XOR: return 0;
#endif
    default: return ABSENT;
    }
}

/* All lanes of a warp, absent ones neutral: a butterfly gives each segment's lanes one result. */
static void
FOLD(reduce)(const wk_lanes_args *a, const T *in, void *out, int there)
{
    T v[32], next[32];
    for (int i = 0; i < 32; i++) v[i] = i < there ? in[i] : FOLD(neutral)(a->kind);
    for (int step = a->width / 2; step > 0; step /= 2) {
        for (int i = 0; i < 32; i++) next[i] = FOLD(combine)(a->kind, v[i], v[i ^ step]);
        memcpy(v, next, sizeof v);
    }
    memcpy(out, v, (size_t)there * sizeof(T));
}

static void
FOLD(scan)(const wk_lanes_args *a, const T *in, void *out, int there)
{
    T v[32], next[32];
    for (int i = 0; i < 32; i++) v[i] = i < there ? in[i] : FOLD(neutral)(a->kind);
    for (int step = 1; step < a->width; step *= 2) {
        for (int i = 0; i < 32; i++)
            next[i] = i % a->width >= step ? FOLD(combine)(a->kind, v[i - step], v[i]) : v[i];
        memcpy(v, next, sizeof v);
    }
    if (a->exclusive)
        for (int i = 31; i >= 0; i--) {
            const T first = a->kind == WK_LANES_SUM ? (T)0 : FOLD(neutral)(a->kind);
            v[i] = i % a->width ? v[i - 1] : first;
        }
    memcpy(out, v, (size_t)there * sizeof(T));
}
#undef T
#undef SUM
#undef LESSER
#undef GREATER
#undef MOST
#undef LEAST
#undef ABSENT
#undef FOLD
#undef WHOLE
