/* transpose_squares_body.h -- squares of SIDE elements of SIZE bytes, in vectors of COUNT lanes. No
 * include guard. */
#define ACROSS (COUNT * SIDE) /* elements of a vector */

/* SIDE rows of ACROSS elements, from as many elements of ACROSS rows. All of them are loaded, but
 * only so many rows, and bytes of each, are stored. */
static inline void
KIND(turn)(const char *from, int64_t pitch, char *to, int64_t out_p, int64_t rows,
           int64_t bytes)
{
    VECTOR x[SIDE], y[SIDE];
    for (int i = 0; i < SIDE; i++) x[i] = LOAD(from + i * pitch, SIDE * pitch);
    for (int left = SIDE; left > 1; left /= 2) { /* a perfect shuffle, log2(SIDE) times */
        for (int i = 0; i < SIDE / 2; i++) {
            y[2 * i] = ZIP(lo, BITS, x[i], x[i + SIDE / 2]);
            y[2 * i + 1] = ZIP(hi, BITS, x[i], x[i + SIDE / 2]);
        }
        for (int i = 0; i < SIDE; i++) x[i] = y[i];
    }
    for (int i = 0; i < SIDE; i++) {
        if (i >= rows) continue;
        if (bytes == COUNT * LANE)
            memcpy(to + i * out_p, &x[i], COUNT * LANE);
        else
            copy_run((const char *)&x[i], to + i * out_p, bytes);
    }
}

static void
KIND(squares)(const char *from, int64_t pitch, char *to, int64_t out_p, int64_t rows,
              int64_t columns)
{
    const int whole = rows >= SIDE && columns >= ACROSS;
    for (int64_t r = 0; r < rows; r += SIDE) {
        /* the last ones are moved back: what two of them hold is written twice */
        const int64_t r0 = r + SIDE <= rows || rows < SIDE ? r : rows - SIDE;
        for (int64_t c = 0; c < columns; c += ACROSS) {
            const int64_t c0 = c + ACROSS <= columns || columns < ACROSS ? c : columns - ACROSS;
            const char *x = from + r0 * SIZE + c0 * pitch;
            char *y = to + r0 * out_p + c0 * SIZE;
            if (whole)
                KIND(turn)(x, pitch, y, out_p, SIDE, COUNT * LANE);
            else
                KIND(turn)(x, pitch, y, out_p, rows, smaller(columns, ACROSS) * SIZE);
        }
    }
}

#undef ACROSS
#undef KIND
#undef COUNT
#undef VECTOR
#undef LOAD
#undef ZIP
