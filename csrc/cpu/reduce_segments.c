/* reduce_segments.c -- folds of stretches of any lengths.
 *
 * An accumulator's beginning and end cost more than few elements do. So segments that lie near each
 * other are sorted by their lengths, and those of one length go by lanes, as rows do. Where lanes do
 * not hold, or a segment is too long for them, it has the accumulator of all reductions. */
#include "cpu/fp.h"
#include "cpu/reduce_way.h"
#include "cpu/threads.h"

#include <stdlib.h>

enum {
    TASK = 1 << 15, /* elements a task: 10 us of work                       */
    EACH = 16,      /* elements that a segment's beginning and end cost     */
    BATCH = 1024,   /* segments that are sorted by their lengths, ...       */
    NEAR = 1 << 20, /* ... and bytes of theirs: a second-level cache's      */
    LENGTHS = 255   /* that they are sorted by; longer ones are as they lie */
};

typedef struct segments {
    const wk_reduction *r;
    const int64_t *offsets;
    int64_t outputs, n;
    const char *from; /* gather: elements ... */
    const int64_t *order;
    char *to; /* ... and where they go, in their order */
} segments;

/* An offset that another thread may have changed since it was checked: it is read once. */
static int64_t
offset_of(const segments *s, int64_t i, int64_t least)
{
    const int64_t at = __atomic_load_n(&s->offsets[i], __ATOMIC_RELAXED);
    return at < least ? least : at > s->n ? s->n : at;
}

static void
fold_one(const segments *s, int64_t output, int64_t begin, int64_t n)
{
    const wk_reduction *r = s->r;
    const wk_way way = {.r = r};
    wk_acc_room room;
    wk_acc_start(r, &room.acc);
    if (n > 0) wk_way_run(&way, &room.acc, 0, begin, n);
    r->foldings->finish(r, &room.acc, output);
}

/* ---- short segments -------------------------------------------------------------------------- */

typedef struct batch { /* consecutive segments; a thread's */
    const segments *s;
    wk_call call;   /* the call, of rows of one length, ...            */
    wk_reduction r; /* ... and its results, before they are scattered  */
    int64_t first, count, at[BATCH + 1];
    uint16_t order[BATCH];       /* by length, then by place: from the first on */
    uint16_t start[LENGTHS + 2]; /* in the order, of each length                */
    int64_t offsets[WK_WIDTH];
    _Alignas(64) double room[WK_ROWS_ROOM];
    _Alignas(64) char results[16 * WK_WIDTH];
} batch;

static void
start_batches(batch *b, const segments *s)
{
    b->s = s;
    b->call = *s->r->call;
    b->r = *s->r;
    b->r.call = &b->call;
    b->r.args = &b->call.args.reduce;
    b->call.out[0].data = b->results;
}

static int64_t
length_of(const batch *b, int64_t i)
{
    const int64_t *at = b->at + b->order[i];
    return at[1] - at[0];
}

/* Segments from `first` on, as many as lie near each other: short ones by length, then others. */
static void
sort_batch(batch *b, int64_t first, int64_t end)
{
    uint8_t length[BATCH];
    const int64_t near = NEAR / b->s->r->item;
    int64_t *at = b->at, count = end - first < BATCH ? end - first : BATCH;
    at[0] = offset_of(b->s, first, 0);
    for (int64_t i = 0; i < count; i++) at[i + 1] = offset_of(b->s, first + i + 1, at[i]);
    if (at[count] - at[0] > near)
        for (count = 1; at[count] - at[0] < near;) count++;
    b->first = first;
    b->count = count;
    int differ = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = at[i + 1] - at[i];
        length[i] = (uint8_t)(n < LENGTHS ? n : LENGTHS);
        differ |= length[i] ^ length[0];
        b->order[i] = (uint16_t)i;
    }
    b->start[length[0] + 1] = (uint16_t)count;
    if (!differ) return; /* counters of equal neighbours would wait for each other */
    memset(b->start, 0, sizeof b->start);
    for (int64_t i = 0; i < count; i++) b->start[length[i]]++;
    for (int l = 1; l <= LENGTHS; l++) b->start[l] += b->start[l - 1];
    for (int64_t i = count - 1; i >= 0; i--) b->order[--b->start[length[i]]] = (uint16_t)i;
}

/* How many of n elements each come next. */
static int64_t
run_at(const batch *b, int64_t i, int64_t n)
{
    int64_t count = 1;
    if (n < LENGTHS) return b->start[n + 1] - i;
    while (i + count < b->count && length_of(b, i + count) == n) count++;
    return count;
}

#define SCATTER(U)                                                                             \
    for (int64_t w = 0; w < width; w++) ((U *)to)[order[w]] = ((const U *)b->results)[w]

/* Indices are places in their own segments until then. */
static void
scatter(batch *b, const uint16_t *order, int64_t width)
{
    const wk_array *out = &b->s->r->call->out[0];
    const int size = wk_itemsize[out->dtype];
    char *to = (char *)out->data + b->first * size;
    for (int64_t w = 0; wk_is_arg(&b->r) && w < width; w++)
        ((int64_t *)b->results)[w] += b->offsets[w];
    WK_BY_SIZE(size, SCATTER)
}

/* The first of `width` segments of n elements each, as rows; gives how many. */
static int64_t
fold_run(batch *b, const uint16_t *order, int64_t n, int64_t width)
{
    wk_reduce_args *args = &b->call.args.reduce;
    wk_lanes lanes;
    args->n = n;
    args->outputs = width;
    const int rows = wk_has_rows(&b->r);
    if (rows && width > wk_rows_most(&b->r)) width = wk_rows_most(&b->r);
    for (int64_t w = 0; w < width; w++) b->offsets[w] = b->at[order[w]];
    wk_lanes_place(&b->r, &lanes, b->room, width);
    if (rows && wk_rows_fold(&b->r, &lanes, b->r.x, b->offsets, width)) {
        b->r.foldings->finish_lanes(&b->r, lanes.of, width, 0, 1);
        scatter(b, order, width);
    } else {
        for (int64_t w = 0; w < width; w++)
            fold_one(b->s, b->first + order[w], b->offsets[w], n);
    }
    return width;
}

/* Items are elements and segments, each segment beside its first element: so tasks are alike. */
static int64_t
first_from(const segments *s, int64_t item)
{
    int64_t low = 0, high = s->outputs;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->offsets[middle] + EACH * middle < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void
fold_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const segments *s = arg;
    const wk_fp_state state = wk_fp_begin();
    const int64_t last = first_from(s, end);
    batch b;
    (void)thread;
    start_batches(&b, s);
    for (int64_t i = first_from(s, begin); i < last && !wk_interrupted(); i += b.count) {
        sort_batch(&b, i, last);
        for (int64_t k = 0, width; k < b.count; k += width) {
            const int64_t n = length_of(&b, k), most = run_at(&b, k, n);
            width = fold_run(&b, b.order + k, n, most < WK_WIDTH ? most : WK_WIDTH);
        }
    }
    wk_fp_end(state);
}

/* ---- long segments --------------------------------------------------------------------------- */

/* A segment of many elements, by all threads. */
typedef struct long_one {
    const segments *s;
    int64_t begin, end, part;
    char *accs;
} long_one;

static void
part_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const long_one *l = arg;
    const wk_reduction *r = l->s->r;
    const wk_way way = {.r = r};
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    for (int64_t p = begin; p < end; p++) {
        wk_acc *a = (wk_acc *)(l->accs + p * r->acc_bytes);
        const int64_t from = l->begin + p * l->part;
        const int64_t to = from + l->part < l->end ? from + l->part : l->end;
        wk_acc_start(r, a);
        wk_way_run(&way, a, 0, from, to - from);
    }
    wk_fp_end(state);
}

static wk_status
fold_long(wk_call *call, const segments *s, int64_t output, int64_t begin, int64_t end)
{
    const wk_reduction *r = s->r;
    long_one l = {.s = s, .begin = begin, .end = end};
    l.part = ((l.end - l.begin + 63) / 64 + WK_BLOCK - 1) / WK_BLOCK * WK_BLOCK;
    const int64_t parts = (l.end - l.begin + l.part - 1) / l.part;
    l.accs = malloc((size_t)(parts * r->acc_bytes));
    if (l.accs == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate partial results");
    wk_parallel(call->context, parts, 1, part_task, &l);
    if (!wk_interrupted()) {
        const wk_fp_state state = wk_fp_begin();
        for (int64_t p = 1; p < parts; p++)
            wk_acc_merge(r, (wk_acc *)l.accs, (wk_acc *)(l.accs + p * r->acc_bytes));
        r->foldings->finish(r, (wk_acc *)l.accs, output);
        wk_fp_end(state);
    }
    free(l.accs);
    return WK_OK;
}

/* Few segments, of which the longest is a good part of all: one after another, each by all threads. */
static int
is_long(const segments *s)
{
    int64_t most = 0;
    if (s->n <= 16 * TASK) return 0;
    for (int64_t o = 0; o < s->outputs; o++)
        if (s->offsets[o + 1] - s->offsets[o] > most) most = s->offsets[o + 1] - s->offsets[o];
    return most > 16 * TASK && most > s->n / 16;
}

static wk_status
fold_all(wk_call *call, segments *s)
{
    const int64_t items = s->n + EACH * (s->outputs + 1);
    if (!is_long(s)) {
        wk_parallel_short(call->context, items, wk_grain_of(items, 1, TASK), items / TASK,
                          fold_task, s);
        return WK_OK;
    }
    for (int64_t o = 0; o < s->outputs && !wk_interrupted(); o++) {
        const int64_t begin = offset_of(s, o, 0), end = offset_of(s, o + 1, begin);
        if (end - begin > 4 * TASK) {
            if (fold_long(call, s, o, begin, end) != WK_OK) return call->error.status;
            continue;
        }
        const wk_fp_state state = wk_fp_begin();
        fold_one(s, o, begin, end - begin);
        wk_fp_end(state);
    }
    return WK_OK;
}

#define GATHER(U)                                                                              \
    for (int64_t i = begin; i < end; i++) ((U *)s->to)[i] = ((const U *)s->from)[s->order[i]]

static void
gather_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const segments *s = arg;
    (void)thread;
    WK_BY_SIZE(s->r->item, GATHER)
}

/* What survey_offsets gives on a GPU. */
static int
survey(const segments *s, int64_t *status)
{
    int odd = s->offsets[0] < 0 || s->offsets[s->outputs] > s->n;
    status[0] = status[1] = -1;
    for (int64_t o = 0; o < s->outputs; o++) odd |= s->offsets[o] >= s->offsets[o + 1];
    if (!odd) return 1;
    for (int64_t o = 0; o <= s->outputs && status[0] < 0; o++) {
        const int64_t here = s->offsets[o], before = o > 0 ? s->offsets[o - 1] : 0;
        if (here < before || here > s->n) status[0] = o;
        if (o > 0 && here == before && status[1] < 0) status[1] = o - 1;
    }
    return status[0] < 0;
}

wk_status
wk_reduce_segments(wk_call *call, const wk_foldings *foldings)
{
    wk_reduction r;
    const wk_array *order = &call->beside, given = *order;
    segments s = {.r = &r, .outputs = call->args.reduce.outputs, .n = call->args.reduce.n};
    s.offsets = call->aux.data;
    if (!survey(&s, call->out[1].data)) return WK_OK;
    call->beside.ndim = -1;
    call->outs = 1;
    wk_reduce_look(&r, call, foldings);
    if (given.ndim >= 0 && s.n > 0) {
        s.from = r.x;
        s.order = (const int64_t *)((const char *)(given.data ? given.data : given.host) +
                                    given.first);
        s.to = malloc((size_t)(s.n * r.item));
        if (s.to == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for groups",
                           (long long)(s.n * r.item));
        wk_parallel_short(call->context, s.n, TASK, s.n / TASK, gather_task, &s);
        r.x = s.to;
    }
    const wk_status status = wk_interrupted() ? WK_OK : fold_all(call, &s);
    free(s.to);
    int64_t *index = call->out[0].data;
    const int fold = call->args.reduce.fold[0];
    if (s.to && (fold == WK_ARGMIN || fold == WK_ARGMAX))
        for (int64_t o = 0; o < s.outputs; o++)
            if (index[o] >= 0) index[o] = s.order[index[o]];
    call->outs = 2;
    return status;
}
