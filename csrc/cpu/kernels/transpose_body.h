/* transpose_body.h -- one tile and one row of elements of type T. No include guard. */

/* Reads along p and writes along q, through a buffer: however far apart the rows lie, each line
 * of memory is touched once, so rows that share a cache set cannot evict each other. */
static void
TILE(tile)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const T *in = (const T *)from;
    T *out = (T *)to;
    T buffer[BUFFER_BYTES / sizeof(T)];
    const int64_t pitch = columns + PAD_BYTES / (int64_t)sizeof(T);
    for (int64_t c = 0; c < columns; c++) {
        const T *x = in + c * t->in_q;
        if (t->in_p == 1)
            for (int64_t r = 0; r < rows; r++) buffer[r * pitch + c] = x[r];
        else
            for (int64_t r = 0; r < rows; r++) buffer[r * pitch + c] = x[r * t->in_p];
    }
    for (int64_t r = 0; r < rows; r++)
        memcpy(out + r * t->out_p, buffer + r * pitch, (size_t)columns * sizeof(T));
}

static void
TILE(row)(const char *from, char *to, int64_t columns, const tiling *t)
{
    const T *in = (const T *)from;
    T *out = (T *)to;
    if (t->in_q == 1)
        memcpy(out, in, (size_t)columns * sizeof(T));
    else
        for (int64_t c = 0; c < columns; c++) out[c] = in[c * t->in_q];
}

#undef T
#undef TILE
