/* transpose_body.h -- tiles of elements, or of groups of them, of SIZE bytes. No include guard.
 * Copies of a constant size are single moves, aligned or not. */
#ifdef BITS
#define SIDE (LANE / SIZE) /* of a square */
#else
#define SIDE 1 /* what needs no registers: whole elements are moved */
#define MOVE (SIZE % 3 ? SIZE : SIZE / 3 * 4)
#endif

/* n elements, stride bytes apart, to where they lie together. The strides that are usual are
 * constants, so that the compiler knows of vectors for them. */
static inline void
TILE(line)(const char *restrict from, char *restrict to, int64_t n, int64_t stride)
{
    if (stride == SIZE)
        copy_run(from, to, n * SIZE);
    else if (stride == -SIZE)
        for (int64_t i = 0; i < n; i++) memcpy(to + i * SIZE, from - i * SIZE, SIZE);
    else if (stride == 2 * SIZE)
        for (int64_t i = 0; i < n; i++) memcpy(to + i * SIZE, from + 2 * i * SIZE, SIZE);
    else
        for (int64_t i = 0; i < n; i++) memcpy(to + i * SIZE, from + i * stride, SIZE);
}

/* Where one axis is the fastest on both sides: rows of it, each copied straight. */
static void
TILE(rows)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t in_p = t->in_p, in_q = t->in_q, out_p = t->out_p; /* the stores are of char */
    for (int64_t r = 0; r < rows; r++)
        TILE(line)(from + r * in_p, to + r * out_p, columns, in_q);
}

#ifdef BITS
#define KIND(name) TILE(name##_wide)
#define COUNT LANES
#define VECTOR wk_lanes
#define LOAD load_lanes
#define ZIP ZIP_LANES
#include "transpose_squares_body.h"
#define KIND(name) TILE(name##_narrow)
#define COUNT 1
#define VECTOR wk_lane
#define LOAD(from, step) load_lane(from)
#define ZIP ZIP_LANE
#include "transpose_squares_body.h"

static void
TILE(squares)(const char *from, int64_t pitch, char *to, int64_t out_p, int64_t rows,
              int64_t columns)
{
    /* of wide elements, stores that cross lines undo what fewer loads and shuffles gain */
    if (columns >= LANES * SIDE && (SIZE < 8 || out_p % 64 == 0))
        TILE(squares_wide)(from, pitch, to, out_p, rows, columns);
    else
        TILE(squares_narrow)(from, pitch, to, out_p, rows, columns);
}
#else
/* Moves of MOVE bytes spill over into the next element, which follows; the last is its own size. */
static void
TILE(squares)(const char *from, int64_t pitch, char *to, int64_t out_p, int64_t rows,
              int64_t columns)
{
    const int64_t last = columns - 1;
    for (int64_t r = 0; r < rows; r += 4) { /* about a line of the input at a time */
        const int64_t end = r + 4 < rows ? r + 4 : rows;
        if (end - r == 4) {
            for (int64_t c = 0; c < last; c++)
                for (int64_t i = r; i < r + 4; i++)
                    memcpy(to + i * out_p + c * SIZE, from + c * pitch + i * SIZE, MOVE);
        } else {
            for (int64_t c = 0; c < last; c++)
                for (int64_t i = r; i < end; i++)
                    memcpy(to + i * out_p + c * SIZE, from + c * pitch + i * SIZE, MOVE);
        }
        for (int64_t i = r; i < end; i++)
            memcpy(to + i * out_p + last * SIZE, from + last * pitch + i * SIZE, SIZE);
    }
}
#endif

/* A tile's rows, each read at once; returns how many bytes apart they are then. */
static int64_t
TILE(fetch)(const char *from, char *buffer, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t in_p = t->in_p, in_q = t->in_q;
    const int64_t pitch = (rows * SIZE + LANE - 1) / LANE * LANE + PAD_BYTES;
    for (int64_t c = 0; c < columns; c++) {
        if (c + AHEAD < columns && in_p == SIZE) /* no hardware prefetcher follows such rows */
            for (int64_t at = 0; at < rows * SIZE; at += 64)
                __builtin_prefetch(from + (c + AHEAD) * in_q + at);
        TILE(line)(from + c * in_q, buffer + c * pitch, rows, in_p);
    }
    return pitch;
}

/* Reads along p and writes along q. Rows of the input that lie far apart go through a buffer:
 * each line of memory is touched once, so rows that share a cache set cannot evict each other. */
static void
TILE(tile)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t in_p = t->in_p, in_q = t->in_q, out_p = t->out_p;
    if (t->near && rows >= SIDE && columns >= SIDE) {
        TILE(squares)(from, in_q, to, out_p, rows, columns);
        return;
    }
#ifdef BITS
    /* A short row together with what follows it, as far as the array goes. */
    if (rows < SIDE && in_p == SIZE && in_q == rows * SIZE && t->end - from >= LANE) {
        int64_t whole = (t->end - from - LANE) / in_q + 1;
        whole = smaller(whole, columns) / SIDE * SIDE;
        TILE(squares)(from, in_q, to, out_p, rows, whole);
        from += whole * in_q;
        to += whole * SIZE;
        columns -= whole;
    }
#endif
    if (rows * columns <= 16) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < columns; c++)
                memcpy(to + r * out_p + c * SIZE, from + r * in_p + c * in_q, SIZE);
        return;
    }
    if (rows <= (in_p == SIZE ? LINES : 2 * LINES)) {
        for (int64_t r = 0; r < rows; r++)
            TILE(line)(from + r * in_p, to + r * out_p, columns, in_q);
        return;
    }
    char buffer[BUFFER_BYTES] __attribute__((aligned(64)));
    TILE(squares)
    (buffer, TILE(fetch)(from, buffer, rows, columns, t), to, out_p, rows, columns);
}

#ifdef BITS
/* Two, three or four rows or columns: elements that are woven together, or out of each other, by
 * what the compiler knows of vectors for a constant k. */
static inline void
TILE(part)(const char *restrict from, char *restrict to, int64_t out_p, int64_t n, int k)
{
    for (int64_t c = 0; c < n; c++)
        for (int r = 0; r < k; r++)
            memcpy(to + r * out_p + c * SIZE, from + (c * k + r) * SIZE, SIZE);
}

static inline void
TILE(weave)(const char *restrict from, int64_t in_q, char *restrict to, int64_t n, int k)
{
    for (int64_t r = 0; r < n; r++)
        for (int c = 0; c < k; c++)
            memcpy(to + (r * k + c) * SIZE, from + r * SIZE + c * in_q, SIZE);
}

static void
TILE(narrow)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t k = t->weave ? columns : rows, in_q = t->in_q, out_p = t->out_p;
    if (t->weave && k == 2)
        TILE(weave)(from, in_q, to, rows, 2);
    else if (t->weave && k == 3)
        TILE(weave)(from, in_q, to, rows, 3);
    else if (t->weave)
        TILE(weave)(from, in_q, to, rows, 4);
    else if (k == 2)
        TILE(part)(from, to, out_p, columns, 2);
    else if (k == 3)
        TILE(part)(from, to, out_p, columns, 3);
    else
        TILE(part)(from, to, out_p, columns, 4);
}
#endif

#ifdef BITS
/* The same, where p is two axes: rows of the output go to where those say. */
static void
TILE(folded)(const char *from, char *to, int64_t rows, int64_t columns, const tiling *t)
{
    const int64_t bytes = columns * SIZE, side = rows < SIDE ? rows : SIDE;
    const int64_t some = larger(side, FOLDED_BYTES / bytes / SIDE * SIDE);
    char buffer[BUFFER_BYTES] __attribute__((aligned(64)));
    char turned[BUFFER_BYTES / 2]
        __attribute__((aligned(64))); /* columns are BUFFER_BYTES / 32 at most */
    int64_t pitch = t->in_q;
    if (!t->near || rows < SIDE || columns < SIDE) {
        pitch = TILE(fetch)(from, buffer, rows, columns, t);
        from = buffer;
    }
    for (int64_t r = 0, n; r < rows; r += n) {
        n = smaller(some, rows - r);
        if (n < side) r = rows - (n = side); /* some of these are written twice */
        TILE(squares)(from + r * SIZE, pitch, turned, bytes, n, columns);
        for (int64_t i = r; i < r + n; i++)
            copy_run(turned + (i - r) * bytes,
                     to + i / t->inner * t->out_p + i % t->inner * t->out_inner, bytes);
    }
}
#endif

#undef SIZE
#undef BITS
#undef SIDE
#undef MOVE
#undef TILE
