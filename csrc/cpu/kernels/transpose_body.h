/* transpose_body.h -- one tile of elements, or groups of them, of SIZE bytes. No include guard.
 * Copies of a constant size are single moves, aligned or not. */

/* Reads along p and writes along q, through a buffer: however far apart the rows lie, each line
 * of memory is touched once, so rows that share a cache set cannot evict each other. */
static void
TILE(tile)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    char buffer[BUFFER_BYTES];
    const int64_t pitch = columns * SIZE + PAD_BYTES;
    const int64_t in_p = t->in_p, in_q = t->in_q, out_p = t->out_p; /* the stores are of char */
    if (rows <
        8) { /* too few for a loop of their own: all of them are in the first-level cache */
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                memcpy(to + r * out_p + c * SIZE, from + r * in_p + c * in_q, SIZE);
        return;
    }
    for (int64_t c = 0; c < columns; c++) {
        const char *x = from + c * in_q;
        char *b = buffer + c * SIZE;
        if (c + AHEAD < columns) /* rows far apart: no hardware prefetcher follows */
            for (int64_t line = 0; line < rows * in_p; line += 64)
                __builtin_prefetch(x + AHEAD * in_q + line);
        for (int64_t r = 0; r < rows; r++, x += in_p, b += pitch) memcpy(b, x, SIZE);
    }
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + r * out_p, buffer + r * pitch, (size_t)(columns * SIZE));
}

/* Where one axis is the fastest on both sides: rows of it, each copied straight. */
static void
TILE(rows)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t in_p = t->in_p, in_q = t->in_q, out_p = t->out_p;
    for (int64_t r = 0; r < rows; r++, from += in_p, to += out_p) {
        if (in_q == SIZE)
            memcpy(to, from, (size_t)(columns * SIZE));
        else
            for (int64_t c = 0; c < columns; c++) memcpy(to + c * SIZE, from + c * in_q, SIZE);
    }
}

#undef SIZE
#undef TILE
