/* plain_body.h -- rows and columns of exact_body.h by plain additions, proved by the flag. */

/* A row of n elements to lane[k * stride], k < WORDS; what alternates in it to as many lanes. */
static inline void
FN(row)(const T *x, int64_t n, double *lane, int64_t stride, int parts)
{
    enum { SETS = 8 / WORDS < 2 ? 2 : 8 / WORDS };
    wk_vd sum[SETS][WORDS];
    int64_t i = 0;
#pragma GCC unroll 8
    for (int s = 0; s < SETS; s++)
#pragma GCC unroll 8
        for (int k = 0; k < WORDS; k++) sum[s][k] = k ? (wk_vd){0} : wk_splat(-0.0);
    for (; i + SETS * WK_VD <= n; i += SETS * WK_VD)
#pragma GCC unroll 8
        for (int s = 0; s < SETS; s++) {
            const wk_vd v = LOAD(x + i + s * WK_VD);
            STEP(sum[s], v);
        }
    for (; i + WK_VD <= n; i += WK_VD) {
        const wk_vd v = LOAD(x + i);
        STEP(sum[0], v);
    }
    if (i < n) {
        const wk_vd v = FN(load_rest)(x, i, n);
        STEP(sum[1], v);
    }
#pragma GCC unroll 8
    for (int k = 0; k < WORDS; k++) {
#pragma GCC unroll 8
        for (int half = SETS / 2; half > 0; half /= 2)
#pragma GCC unroll 8
            for (int s = 0; s < half; s++) sum[s][k] += sum[s + half][k];
        const two_sums one = sums_by_parity(sum[0][k]);
        lane[k * stride] = parts == 1 ? one[0] + one[1] : one[0];
        if (parts > 1) lane[k * stride + 1] = one[1];
    }
}

/* Elements of `parts` numbers, each of which has its own lane. */
static int
FN(rows_of)(double *lane, const T *x, const int64_t *offsets, int64_t n, int64_t width,
            int parts)
{
    const int64_t stride = parts * wk_stride(width);
    wk_flag_clear(x, lane);
    for (int64_t w = 0; w < width; w++)
        FN(row)(x + parts * offsets[w], parts * n, lane + parts * w, stride, parts);
    return wk_flag_held(x, lane) && finite_lanes(lane, WORDS, stride, parts * width) &&
           wk_flag_works();
}

static inline __attribute__((always_inline)) void
FN(add_rows)(double *lane, int64_t stride, const T *const *row, int rows, int64_t width)
{
    for (int64_t w = 0; w < width; w += WK_VD) {
        wk_vd sum[WORDS];
        for (int k = 0; k < WORDS; k++) sum[k] = wk_load_f64(lane + k * stride + w);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const T *at = row[r] + w;
            const wk_vd v = w + WK_VD <= width ? LOAD(at) : FN(load_some)(at, width - w);
            STEP(sum, v);
        }
        for (int k = 0; k < WORDS; k++) memcpy(lane + k * stride + w, &sum[k], sizeof sum[k]);
    }
}

static int
FN(columns_of)(double *lane, const T *x, const int64_t *offsets, int64_t n, int64_t width,
               int parts)
{
    const T *row[WK_ROWS];
    const int64_t stride = parts * wk_stride(width);
    width *= parts;
    wk_flag_clear(x, lane);
    for (int64_t i = 0, rows; i < n; i += rows) {
        rows = n - i < WK_ROWS ? n - i : WK_ROWS;
        for (int r = 0; r < rows; r++) row[r] = x + parts * offsets[i + r];
        switch (rows) {
        case WK_ROWS: FN(add_rows)(lane, stride, row, WK_ROWS, width); break;
        case 2: FN(add_rows)(lane, stride, row, 2, width); break;
        case 3: FN(add_rows)(lane, stride, row, 3, width); break;
        case 4: FN(add_rows)(lane, stride, row, 4, width); break;
        default: FN(add_rows)(lane, stride, row, (int)rows, width); break;
        }
    }
    return wk_flag_held(x, lane) && finite_lanes(lane, WORDS, stride, width) && wk_flag_works();
}
