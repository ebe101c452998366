/* stencil_body.h -- element type T: to double, and from double. No include guard. */

static void
LINE(load)(const char *from, int64_t n, double *line)
{
    const T *x = (const T *)from;
    for (int64_t i = 0; i < n; i++) line[i] = LOAD(x[i]);
}

static void
LINE(store)(const double *line, int64_t n, char *to)
{
    T *y = (T *)to;
    for (int64_t i = 0; i < n; i++) y[i] = STORE(line[i]);
}

#undef T
#undef LOAD
#undef STORE
#undef LINE
