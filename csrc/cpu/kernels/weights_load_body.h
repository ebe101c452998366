/* weights_load_body.h -- weights of type T as doubles. No include guard. */

static void
LOAD(load)(const void *from, int64_t first, int64_t n, double *x)
{
    const T *w = (const T *)from + first;
    for (int64_t i = 0; i < n; i++) x[i] = (double)VALUE(w[i]);
}

/* The real parts or the imaginary ones. */
static inline void
LOAD(part)(const void *from, int part, int64_t first, int64_t n, double *x)
{
    const T *w = (const T *)from + 2 * first + part;
    for (int64_t i = 0; i < n; i++) x[i] = (double)VALUE(w[2 * i]);
}

#undef T
#undef VALUE
#undef LOAD
