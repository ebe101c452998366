/* stencil_load_body.h -- elements of type T, VALUE(x) being a number, to the sums' type S. No
 * include guard. */

static void
LOAD(load)(const void *from, int64_t step, int64_t n, void *to)
{
    const T *restrict x = from;
    S *restrict y = to;
    if (step == 1)
        for (int64_t i = 0; i < n; i++) y[i] = (S)VALUE(x[i]);
    else
        for (int64_t i = 0; i < n; i++) y[i] = (S)VALUE(x[i * step]);
}

static void
LOAD(twice)(const void *from, int64_t step, int64_t n, void *to)
{
    const T *restrict x = from;
    S *restrict y = to;
    for (int64_t i = 0; i < n; i++) y[2 * i] = y[2 * i + 1] = (S)VALUE(x[i * step]);
}
