/* walk.c -- copies between strided host arrays and packed memory; in the core and in every
 * plug-in. */
#include "walk.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void
wk_walk_add(wk_walk *walk, int64_t extent, int64_t stride)
{
    const int last = walk->ndim - 1;
    if (extent == 1) return;
    if (last >= 0 && walk->strides[last] == extent * stride) {
        walk->shape[last] *= extent;
        walk->strides[last] = stride;
        return;
    }
    walk->shape[walk->ndim] = extent;
    walk->strides[walk->ndim] = stride;
    walk->ndim++;
}

void
wk_walk_c_order(const wk_array *a, wk_walk *walk)
{
    walk->item = wk_itemsize[a->dtype];
    walk->start = (char *)a->host + a->first;
    walk->ndim = 0;
    for (int d = 0; d < a->ndim; d++)
        wk_walk_add(walk, a->shape[d], a->strides[d] * walk->item);
}

/* memcpy; with stream past the caches, for memory that is written whole and not read soon. */
static void
copy_bytes(void *to, const void *from, size_t bytes, int stream)
{
#ifdef __SSE2__
    enum { WORTH_IT = 512 }; /* bytes: below, lines that are written in part cost more */
    char *t = (char *)to;
    const char *f = (const char *)from;
    if (stream && bytes >= WORTH_IT) {
        const size_t head = (size_t)(-(intptr_t)t & 63); /* whole lines are written at once */
        memcpy(t, f, head);
        t += head, f += head, bytes -= head;
        for (; bytes >= 64; t += 64, f += 64, bytes -= 64) {
            const __m128i a = _mm_loadu_si128((const __m128i *)f);
            const __m128i b = _mm_loadu_si128((const __m128i *)(f + 16));
            const __m128i c = _mm_loadu_si128((const __m128i *)(f + 32));
            const __m128i d = _mm_loadu_si128((const __m128i *)(f + 48));
            _mm_stream_si128((__m128i *)t, a);
            _mm_stream_si128((__m128i *)(t + 16), b);
            _mm_stream_si128((__m128i *)(t + 32), c);
            _mm_stream_si128((__m128i *)(t + 48), d);
        }
    }
    memcpy(t, f, bytes);
#else
    (void)stream;
    memcpy(to, from, bytes);
#endif
}

/* A stack of indices, and where they lead: what an odometer shows. */
typedef struct place {
    char *at;
    int64_t index[WK_MAX_DIMS];
} place;

static void
go_to(const wk_walk *w, int64_t element, place *p)
{
    p->at = w->start;
    for (int d = w->ndim - 1; d >= 0; d--) {
        p->index[d] = element % w->shape[d];
        element /= w->shape[d];
        p->at += p->index[d] * w->strides[d];
    }
}

/* From the end of a row, the innermost axis's, to the start of the next. */
static void
next_row(const wk_walk *w, place *p)
{
    int d = w->ndim - 1;
    p->at -= p->index[d] * w->strides[d];
    p->index[d] = 0;
    for (d--; d >= 0; d--) {
        p->at += w->strides[d];
        if (++p->index[d] < w->shape[d]) return;
        p->at -= p->index[d] * w->strides[d];
        p->index[d] = 0;
    }
}

typedef struct two_words { /* 16 bytes that may lie at any multiple of 8 */
    uint64_t low, high;
} two_words;

#define EACH(type)                                                                             \
    for (int64_t i = 0; i < n; i++) *(type *)(to + i * step) = *(const type *)(from + i * take)

/* n elements, step and take bytes apart. */
static void
copy_row(char *to, int64_t step, const char *from, int64_t take, int64_t n, int64_t item,
         int stream)
{
    if (step == item && take == item) {
        copy_bytes(to, from, (size_t)(n * item), stream);
        return;
    }
    switch (item) {
    case 1: EACH(uint8_t); break;
    case 2: EACH(uint16_t); break;
    case 4: EACH(uint32_t); break;
    case 8: EACH(uint64_t); break;
    default: EACH(two_words); break;
    }
}

/* Calls copy_row for each row, or part of one, of elements begin .. end - 1. */
static void
copy(const wk_walk *w, int64_t begin, int64_t end, char *packed, int into_packed, int stream)
{
    place p;
    if (begin >= end) return;
    if (w->ndim == 0) {
        copy_row(into_packed ? packed : w->start, w->item, into_packed ? w->start : packed,
                 w->item, 1, w->item, 0);
        return;
    }
    const int last = w->ndim - 1;
    const int64_t stride = w->strides[last];
    go_to(w, begin, &p);
    while (begin < end) {
        int64_t n = w->shape[last] - p.index[last];
        if (n > end - begin) n = end - begin;
        if (into_packed)
            copy_row(packed, w->item, p.at, stride, n, w->item, stream);
        else
            copy_row(p.at, stride, packed, w->item, n, w->item, stream);
        packed += n * w->item;
        begin += n;
        p.at += n * stride;
        p.index[last] += n;
        next_row(w, &p);
    }
}

void
wk_gather(const wk_walk *w, int64_t begin, int64_t end, void *packed)
{
    copy(w, begin, end, (char *)packed, 1, 0);
}

void
wk_scatter(const wk_walk *w, int64_t begin, int64_t end, const void *packed, int stream)
{
    copy(w, begin, end, (char *)packed, 0, stream);
#ifdef __SSE2__
    if (stream) _mm_sfence(); /* whoever is told that this is done may read it */
#endif
}

char *
wk_walk_run(const wk_walk *w, int64_t begin, int64_t end)
{
    if (w->ndim == 0) return w->start;
    const int last = w->ndim - 1;
    if (w->strides[last] != w->item) return NULL;
    if (begin / w->shape[last] != (end - 1) / w->shape[last]) return NULL;
    place p;
    go_to(w, begin, &p);
    return p.at;
}
