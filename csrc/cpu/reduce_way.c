/* reduce_way.c -- blocks of elements, gathered where they do not lie side by side. */
#include "cpu/reduce_way.h"
#include "cpu/gather.h"
#include "interrupt.h"

enum { EARLY = 64 }; /* elements that may tell all: these are gathered first */

/* n elements that all count. */
static void
run_components(const wk_reduction *r, wk_acc *a, const void *x, int64_t n, int64_t index)
{
    for (int c = 0; c < r->components; c++) r->folding[c]->run(a, x, n, index);
    a->n += n;
}

/* Of an argmin the components see places in the block, which are looked up after. */
void
wk_way_kept(const wk_reduction *r, wk_acc *a, void *x, uint8_t *keep, int64_t n, int64_t index)
{
    int32_t where[WK_GATHER];
    const int arg = wk_is_arg(r);
    const int64_t m = wk_compact(r->item, x, n, keep, arg ? where : NULL);
    const int64_t before = a->index;
    if (m == 0) return;
    if (arg) a->index = before < 0 ? -1 : -2; /* both are no place in the block */
    run_components(r, a, x, m, 0);
    if (arg) a->index = a->index < 0 ? before : index + where[a->index];
}

/* Both parts of a complex number count if neither is NaN: the other one lies beside. */
static void
drop_partner(const wk_reduction *r, const char *x, int64_t output, int64_t start, int64_t n,
             uint8_t *keep)
{
    char other[WK_GATHER * 8];
    const int64_t beside = output % 2 == 0 ? 1 : -1;
    wk_collect(r->in, r->args->kept, x + beside * r->item, start, n, other);
    r->foldings->drop_nan(r->in->dtype, other, n, keep);
}

/* Are NaN skipped, and zeros as good as nothing? */
static int
adds_without_nan(const wk_reduction *r)
{
    int adds = r->args->skip_nan && r->args->planes != 2 && !wk_is_complex(r->in->dtype);
    for (int c = 0; c < r->components; c++) adds &= r->component[c] <= WK_C_SQUARES;
    return adds;
}

static void
gathered_block(const wk_reduction *r, wk_acc *a, const char *x, int64_t output, int64_t start,
               int64_t n)
{
    _Alignas(64) char block[WK_GATHER * 16];
    uint8_t keep[WK_GATHER];
    wk_collect(r->in, r->args->kept, x, start, n, block);
    if (r->mask) {
        const int64_t at = wk_offset_of(r->where, 0, r->args->kept, output);
        wk_collect(r->where, r->args->kept, (const char *)r->mask + at, start, n, keep);
    } else if (adds_without_nan(r)) {
        const int64_t left = r->foldings->leave_nan(r->in->dtype, block, n);
        if (left == 0) return;
        run_components(r, a, block, n, start);
        a->n -= n - left;
        return;
    } else if (r->args->skip_nan &&
               (r->args->planes == 2 || r->foldings->any_nan(r->in->dtype, block, n))) {
        memset(keep, 1, (size_t)n);
    } else {
        run_components(r, a, block, n, start);
        return;
    }
    if (r->args->skip_nan) {
        r->foldings->drop_nan(r->in->dtype, block, n, keep);
        if (r->args->planes == 2) drop_partner(r, x, output, start, n, keep);
    }
    wk_way_kept(r, a, block, keep, n, start);
}

/* A run of elements that all count, or 0: some are NaN, and do not. */
static int
whole_block(const wk_reduction *r, wk_acc *a, const char *x, int64_t n, int64_t index)
{
    if (r->args->skip_nan && r->foldings->any_nan(r->in->dtype, x, n)) return 0;
    run_components(r, a, x, n, index);
    return 1;
}

int
wk_is_decided(const wk_reduction *r, const wk_acc *a)
{
    int known = r->ends_early;
    if (known && wk_is_arg(r)) { /* nothing comes before a key that is all zeros, or all ones */
        const int best = r->component[0] == WK_C_ARGMAX ? UINT8_MAX : 0;
        uint8_t key;
        memcpy(&key, &a->least, sizeof key);
        return a->index >= 0 && key == best;
    }
    for (int c = 0; c < r->components && known; c++)
        known = r->component[c] == WK_C_ANY ? a->some > 0 : a->zero > 0;
    return known;
}

void
wk_way_run(const wk_way *way, wk_acc *a, int64_t output, int64_t start, int64_t n)
{
    const wk_reduction *r = way->r;
    const int kept = r->args->kept, axes = r->in->ndim - kept;
    const char *x = r->x + wk_offset_of(r->in, 0, kept, output) * r->item;
    const int run = r->mask == NULL &&
                    (axes == 0 || (axes == 1 && r->in->strides[kept] == 1)) &&
                    !(r->args->skip_nan && r->args->planes == 2);
    int blocks = 0;
    for (int64_t i = start, m; i < start + n; i += m) {
        m = start + n - i < WK_BLOCK ? start + n - i : WK_BLOCK;
        const char *block = x + i * r->item;
        if (!run || !whole_block(r, a, block, m, i)) {
            const int64_t most = r->ends_early && i == start ? EARLY : WK_GATHER;
            if (m > most) m = most;
            gathered_block(r, a, x, output, i, m);
        }
        if (r->ends_early && wk_is_decided(r, a)) return;
        if (++blocks % 16 == 0 && wk_interrupted()) return;
    }
}

void
wk_way_output(const wk_way *way, int64_t output)
{
    wk_acc_room room;
    wk_acc_start(way->r, &room.acc);
    wk_way_run(way, &room.acc, output, 0, way->r->args->n);
    way->r->foldings->finish(way->r, &room.acc, output);
}

/* ---- lanes -------------------------------------------------------------------------------- */

static int64_t
component_bytes(const wk_folding *f, int64_t width)
{
    return (f->words * wk_stride(width) * f->size + 63) & ~(int64_t)63;
}

int64_t
wk_lanes_bytes(const wk_reduction *r, int64_t width)
{
    int64_t bytes = 0;
    for (int c = 0; c < r->components; c++) bytes += component_bytes(r->folding[c], width);
    return bytes;
}

void
wk_lanes_place(const wk_reduction *r, wk_lanes *lanes, void *room, int64_t width)
{
    char *at = room;
    for (int c = 0; c < r->components; c++) {
        lanes->of[c] = at;
        at += component_bytes(r->folding[c], width);
    }
}

void
wk_lanes_start(const wk_reduction *r, wk_lanes *lanes, int64_t width, int64_t first)
{
    const int64_t stride = wk_stride(width);
    for (int c = 0; c < r->components; c++) r->folding[c]->start(lanes->of[c], stride);
    if (wk_is_arg(r)) ((int64_t *)lanes->of[0])[2 * stride] = first;
}

#define TURN_ROWS(T, width)                                                                    \
    for (int64_t i = 0; i < n; i++)                                                            \
        for (int64_t w = 0; w < (width); w++)                                                  \
    ((T *)to)[w * n + i] = ((const T *)x)[offsets[i] + w * stride]

/* The shorter loop is the outer one, but of so few columns that it is no loop. */
#define TURN(T)                                                                                \
    if (width == 2)                                                                            \
        TURN_ROWS(T, 2);                                                                       \
    else if (width == 3)                                                                       \
        TURN_ROWS(T, 3);                                                                       \
    else if (width == 4)                                                                       \
        TURN_ROWS(T, 4);                                                                       \
    else if (width < n)                                                                        \
        for (int64_t w = 0; w < width; w++)                                                    \
            for (int64_t i = 0; i < n; i++)                                                    \
                ((T *)to)[w * n + i] = ((const T *)x)[offsets[i] + w * stride];                \
    else                                                                                       \
        TURN_ROWS(T, width)

void
wk_turn(int64_t item, const void *x, int64_t stride, const int64_t *offsets, int64_t n,
        int64_t width, void *to)
{
    WK_BY_SIZE(item, TURN)
}
