/* cumsum / cpu chunks -- sums along an axis of its first element, its first two, ...; each rounded once.
 *
 * In, out   x[lines][n][width] -> sums[lines][n][width] of floats or of integers; what lies side by
 *           side are series of their own: columns, both parts of complex numbers.
 * How       series are lanes of vectors: columns, neighbouring lines that are turned in cache, or stretches
 *           of one line, turned likewise, of which the sums are found first. What stands before an
 *           element is two doubles, to which each addition adds what it rounds off. Long lines are cut
 *           into chunks: their exact sums, what stands before each of them, then each by itself.
 * Rounding  while nothing is rounded off the second double, the prefix is the sum of both, which the chip
 *           rounds. Of less digits that sum is made odd towards what it lacks: rounded to odd with more
 *           than two digits to spare, and then to nearest, is rounded once.
 * Else      a third double takes the rest. h + t is then a prefix but for e, |t| at most half a unit
 *           of h. Of float64 h + (t - e) and h + (t + e) are the same double, or the block goes another
 *           way; rounding is monotonic, so that is what h + t + any of it is rounded to.
 * Wide      up to 48 doubles, each of what the one before rounds off: cumsum_lanes.h. A nanosecond an
 *           element and double.
 * Last      integers: limbs, of which each prefix is rounded. A tenth of a microsecond an element. */
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "cumsum_lanes.h"
#include "finish.h"
#include "stencil.h"
#include "store.h"

#include <stdlib.h>

enum {
    CHUNK = 1 << 15, /* elements: 10 to 30 us                                    */
    TASK = 1 << 17,  /* numbers: what waking another thread may cost             */
    BLOCK = 2048,    /* numbers that stay in L1, as they lie and turned          */
    WIDTH = 8,       /* series side by side that are lanes only when turned      */
    COLUMNS = 64,    /* columns a task                                           */
    SPACE = BLOCK + WK_VD * (WIDTH + WK_VD) /* a block, turned in whole vectors  */
};
_Static_assert(COLUMNS % WK_VD == 0, "columns are taken by vectors");

typedef struct before { /* a chunk's series: its sum, and then all that stands before it */
    wk_exact sum;
    int64_t limbs[WK_SUM_LIMBS];
    uint64_t bits; /* of integers */
} before;

typedef struct job {
    const wk_call *call;
    const char *in;
    char *out;
    wk_dtype dtype, to; /* of parts, where numbers are complex */
    int64_t lines, n, width;
    enum { BY_CHUNKS, BY_LINES, BY_COLUMNS } by;
    int64_t chunk, each; /* elements of a chunk; chunks, or groups of columns, of a line */
    kind kind;           /* of float prefixes */
    wk_stencil_load *load;
    wk_stencil_store *store;
    before *state; /* [lines][chunks][width] */
} job;

/* Series side by side: element i of them is `width` numbers, from at + i step on. */
typedef struct strip {
    int64_t at, step, width;
} strip;

static void
start(before *b)
{
    memset(&b->sum, 0, sizeof b->sum);
    b->sum.limbs = (wk_limbs){b->limbs, WK_SUM_LIMBS, WK_SUM_BASE};
    b->sum.words = 2;
    b->sum.part[0].f = -0.0;
    b->bits = 0;
}

static void
copy(before *to, const before *from)
{
    *to = *from;
    to->sum.limbs.limb = to->limbs;
}

/* ---- floats: elements and carries --------------------------------------------------------- */

/* n elements to rows of `pitch` doubles. */
static void
load(const job *j, strip s, int64_t first, int64_t n, int64_t pitch, double *x)
{
    const int64_t size = wk_itemsize[j->dtype];
    const char *from = j->in + (s.at + first * s.step) * size;
    if (pitch == s.width && (pitch == 1 || pitch == s.step))
        j->load(from, pitch == 1 ? s.step : 1, n * pitch, x);
    else
        for (int64_t i = 0; i < n; i++) {
            j->load(from + i * s.step * size, 1, s.width, x + i * pitch);
            for (int64_t k = s.width; k < pitch; k++) x[i * pitch + k] = 0;
        }
    for (int64_t i = 0; j->call->args.cumsum.skip_nan && i < n * pitch; i++)
        x[i] = x[i] == x[i] ? x[i] : 0;
}

static void
store(const job *j, strip s, int64_t first, int64_t n, int64_t pitch, const double *x)
{
    const int64_t size = wk_itemsize[j->to];
    char *to = j->out + (s.at + first * s.step) * size;
    if (pitch == s.step)
        j->store(x, n * pitch, to);
    else
        for (int64_t i = 0; i < n; i++)
            j->store(x + i * pitch, s.width, to + i * s.step * size);
}

extern const wk_folding WK_ISA_NAME(wk_folding_sum_float)[WK_DTYPES];

/* To sums of lanes, of one double or two each; 0: they are more. */
static int
add_lanes(const job *j, strip s, int64_t first, int64_t end, int parts, before *b)
{
    const int64_t w = s.width, most = BLOCK / w / WK_VD * WK_VD;
    _Alignas(64) double x[SPACE];
    wk_vd sum[WIDTH][FEW];
    wk_vl open = {0};
    for (int64_t v = 0; v < w; v++) start_lanes(sum[v], FEW);
    for (int64_t i = first, n; i < end; i += n) {
        n = end - i < most ? end - i : most;
        const int64_t rows = (n + WK_VD - 1) / WK_VD;
        load(j, s, i, n, w, x);
        for (int64_t k = n * w; k < rows * WK_VD * w; k++) x[k] = -0.0;
        for (int64_t v = 0; v < w; v++)
            open |= scan_lanes(x + v * WK_VD, rows, w * WK_VD, sum[v], parts, SUMS);
        if (any(open)) return 0;
    }
    for (int64_t v = 0; v < w * WK_VD; v++)
        for (int k = 0; k < 2; k++) wk_exact_add(&b[v % w].sum, sum[v / WK_VD][k][v % WK_VD]);
    return 1;
}

/* The elements first .. end - 1 of each series, exactly. */
static void
add_range(const job *j, strip s, int64_t first, int64_t end, before *b)
{
    const wk_folding *f = &WK_ISA_NAME(wk_folding_sum_float)[WK_F64];
    _Alignas(64) double x[BLOCK];
    if (first == end) return;
    for (int parts = first_parts(j->kind); parts <= 2; parts++)
        if (add_lanes(j, s, first, end, parts, b)) return;
    for (int64_t i = first, n; i < end; i += n) {
        n = end - i < BLOCK ? end - i : BLOCK;
        for (int64_t p = 0; p < s.width; p++) {
            wk_acc acc = {.sum = {b[p].sum}};
            load(j, (strip){s.at + p, s.step, 1}, i, n, 1, x);
            f->run(&acc, x, n, i);
            b[p].sum = acc.sum[0];
        }
    }
}

/* ---- floats: a chunk ------------------------------------------------------------------------ */

/* Stores what it can; gives bits of the series that need limbs. */
static unsigned
scan_block(const job *j, strip s, int64_t first, int64_t n, carry *c, int *parts)
{
    const int64_t rows = (n + WK_VD - 1) / WK_VD, pitch = rows * s.width;
    _Alignas(64) double x[SPACE], t[SPACE];
    carry had[WIDTH];
    unsigned failed;
    int open = 0, hopeless = 0;
    load(j, s, first, n, s.width, x);
    for (int64_t i = n * s.width; i < WK_VD * (pitch + WK_VD); i++) x[i] = -0.0;
    if (*parts > FEW) *parts = fewer_parts(*parts, c, s.width);
    for (int p = 0; p < s.width; p++) copy_carry(&had[p], &c[p]);
    for (;; *parts = more_parts(*parts)) {
        turn(x, pitch, t);
        failed = 0;
        for (int p = 0; p < s.width; p++) {
            if (!c[p].known) continue;
            const outcome o =
                scan_stretches(t + p * WK_VD, rows, s.width * WK_VD, &c[p], *parts, j->kind);
            failed |= (unsigned)(o != DONE) << p;
            open += o == OPEN && *parts > FEW;
            hopeless |= o == NO_NUMBERS;
        }
        if (!failed || *parts == PARTS || open > 1 || hopeless) break;
        for (int p = 0; p < s.width; p++) copy_carry(&c[p], &had[p]);
    }
    turn_back(t, pitch, x);
    store(j, s, first, n, s.width, x);
    for (int p = 0; p < s.width; p++) failed |= (unsigned)!c[p].known << p;
    return failed;
}

/* From limbs, one by one: of a series whose elements from `taken` on b lacks. */
static void
scan_slowly(const job *j, strip s, int64_t taken, int64_t first, int64_t n, before *b)
{
    _Alignas(64) double x[BLOCK];
    add_range(j, s, taken, first, b);
    load(j, s, first, n, 1, x);
    for (int64_t i = 0; i < n; i++) {
        wk_exact_add(&b->sum, x[i]);
        x[i] = b->sum.flags & WK_IS_ODD
                   ? wk_odd_sum(b->sum.flags)
                   : WK_ISA_NAME(wk_finish_exact)(&b->sum, first + i + 1, 0, j->to);
    }
    store(j, s, first, n, 1, x);
}

/* given: what stands before each series; NULL: nothing. */
static void
scan_strip(const job *j, strip s, int64_t first, int64_t end, const before *given)
{
    const int64_t most = BLOCK / s.width;
    carry c[WIDTH];
    before b[WIDTH];
    int64_t taken[WIDTH]; /* what b has, up to here; -1: not yet anything */
    int parts = first_parts(j->kind);
    for (int p = 0; p < s.width; p++) {
        take_carry(&c[p], given ? &given[p].sum : NULL);
        taken[p] = -1;
    }
    for (int64_t i = first, n; i < end && !wk_interrupted(); i += n) {
        n = end - i < most ? end - i : most;
        const unsigned slow = scan_block(j, s, i, n, c, &parts);
        for (int p = 0; p < s.width; p++) {
            if (!(slow >> p & 1)) continue;
            if (taken[p] < 0) {
                if (given)
                    copy(&b[p], &given[p]);
                else
                    start(&b[p]);
                taken[p] = first;
            }
            scan_slowly(j, (strip){s.at + p, s.step, 1}, taken[p], i, n, &b[p]);
            taken[p] = i + n;
            take_carry(&c[p], &b[p].sum);
        }
    }
}

/* ---- floats: short lines, columns ------------------------------------------------------------ */

/* WK_VD lines, or the last ones. */
static void
scan_lines(const job *j, int64_t line)
{
    const int64_t w = j->width, each = j->n * w;
    const int64_t lines = j->lines - line < WK_VD ? j->lines - line : WK_VD;
    const strip all = {line * each, each, each};
    _Alignas(64) double x[SPACE], t[SPACE];
    int parts = first_parts(j->kind);
    wk_vl open, lost;
    load(j, all, 0, lines, each, x);
    for (int64_t i = lines * each; i < WK_VD * (each + WK_VD); i++) x[i] = 0;
    for (;; parts = more_at_once(parts)) {
        turn(x, each, t);
        open = lost = (wk_vl){0};
        for (int64_t p = 0; p < w; p++) {
            wk_vd sum[AT_ONCE];
            start_lanes(sum, parts);
            const wk_vl own = scan_lanes(t + p * WK_VD, j->n, w * WK_VD, sum, parts, j->kind);
            open |= own;
            lost |= own & (sum[0] - sum[0] == 0); /* there are numbers: more parts may do */
        }
        if (!any(lost) || parts == AT_ONCE) break;
    }
    turn_back(t, each, x);
    store(j, all, 0, lines, each, x);
    for (int64_t l = 0; l < lines; l++)
        if (open[l]) scan_strip(j, (strip){(line + l) * each, w, w}, 0, j->n, NULL);
}

static void
scan_columns(const job *j, int64_t line, int64_t first)
{
    const int64_t width = j->width - first < COLUMNS ? j->width - first : COLUMNS;
    const int64_t pitch = (width + WK_VD - 1) / WK_VD * WK_VD, most = BLOCK / pitch;
    const strip s = {line * j->n * j->width + first, j->width, width};
    _Alignas(64) double t[BLOCK];
    const int64_t vectors = pitch / WK_VD;
    wk_vd sum[COLUMNS / WK_VD][AT_ONCE], had[COLUMNS / WK_VD][AT_ONCE];
    wk_vl open[COLUMNS / WK_VD] = {{0}}, own[COLUMNS / WK_VD];
    int parts = first_parts(j->kind);
    for (int64_t v = 0; v < vectors; v++) start_lanes(sum[v], AT_ONCE);
    for (int64_t i = 0, n; i < j->n && !wk_interrupted(); i += n) {
        n = j->n - i < most ? j->n - i : most;
        for (int64_t v = 0; v < vectors; v++)
            memcpy(had[v], sum[v], (size_t)parts * sizeof **sum);
        for (;; parts = more_at_once(parts)) {
            wk_vl more = {0};
            int lost = 0;
            load(j, s, i, n, pitch, t);
            for (int64_t v = 0; v < vectors; v++) {
                own[v] = scan_lanes(t + v * WK_VD, n, pitch, sum[v], parts, j->kind);
                more |= own[v];
            }
            for (int64_t v = 0; v < vectors && any(more); v++)
                lost += lanes_of(own[v] & (sum[v][0] - sum[v][0] == 0) & ~open[v]);
            /* few columns, each by itself, take less than more parts of all */
            if (lost <= (parts > 1 ? width / 4 : 0) || parts == AT_ONCE) break;
            for (int64_t v = 0; v < vectors; v++) {
                memcpy(sum[v], had[v], (size_t)parts * sizeof **sum);
                memcpy(had[v] + parts, sum[v] + parts,
                       (AT_ONCE - (size_t)parts) * sizeof **sum);
            }
        }
        for (int64_t v = 0; v < vectors; v++) open[v] |= own[v];
        store(j, s, i, n, pitch, t);
    }
    for (int64_t k = 0; k < width; k++)
        if (open[k / WK_VD][k % WK_VD])
            scan_strip(j, (strip){s.at + k, s.step, 1}, 0, j->n, NULL);
}

/* ---- integers ------------------------------------------------------------------------------- */

#define EACH(E)                                                                                \
    for (int64_t i = 0; i < n; i++) x[i] = (uint64_t)((const E *)j->in)[at + i];               \
    break

static void
load_integers(const job *j, int64_t at, int64_t n, uint64_t *restrict x)
{
    switch (j->dtype) {
    case WK_BOOL:
        for (int64_t i = 0; i < n; i++) x[i] = ((const uint8_t *)j->in)[at + i] != 0;
        break;
    case WK_I8: EACH(int8_t);
    case WK_U8: EACH(uint8_t);
    case WK_I16: EACH(int16_t);
    case WK_U16: EACH(uint16_t);
    case WK_I32: EACH(int32_t);
    case WK_U32: EACH(uint32_t);
    default: EACH(uint64_t);
    }
}
#undef EACH

#define EACH(E)                                                                                \
    for (int64_t i = 0; i < n; i++) ((E *)j->out)[at + i] = (E)x[i];                           \
    break

static void
store_integers(const job *j, int64_t at, int64_t n, const uint64_t *restrict x)
{
    switch (wk_itemsize[j->to]) {
    case 1: EACH(uint8_t);
    case 2: EACH(uint16_t);
    case 4: EACH(uint32_t);
    default: EACH(uint64_t);
    }
}

#undef EACH

/* Prefixes of 8 bytes, four at a time: a sum waits for the one of four before. */
#define EACH(E, value)                                                                         \
    do {                                                                                       \
        const E *x = (const E *)j->in + at;                                                    \
        int64_t i = 0;                                                                         \
        for (; i + 4 <= n; i += 4) {                                                           \
            const uint64_t a = (uint64_t)value(x[i]), b = (uint64_t)value(x[i + 1]),           \
                           c = (uint64_t)value(x[i + 2]), d = (uint64_t)value(x[i + 3]);       \
            out[i] = sum + a;                                                                  \
            out[i + 1] = sum + (a + b);                                                        \
            out[i + 2] = sum + (a + b + c);                                                    \
            out[i + 3] = sum += a + b + (c + d);                                               \
        }                                                                                      \
        for (; i < n; i++) out[i] = sum += (uint64_t)value(x[i]);                              \
        return sum;                                                                            \
    } while (0)

static uint64_t
scan_wide(const job *j, int64_t at, int64_t n, uint64_t sum)
{
    uint64_t *out = (uint64_t *)j->out + at;
    switch (j->dtype) {
    case WK_BOOL: EACH(uint8_t, 0 !=);
    case WK_I8: EACH(int8_t, );
    case WK_U8: EACH(uint8_t, );
    case WK_I16: EACH(int16_t, );
    case WK_U16: EACH(uint16_t, );
    case WK_I32: EACH(int32_t, );
    case WK_U32: EACH(uint32_t, );
    default: EACH(uint64_t, );
    }
}
#undef EACH

/* The sum of a line's elements and of what stands before; write: of the first, the first two, ... */
static uint64_t
scan_integers(const job *j, int64_t at, int64_t n, uint64_t sum, int write)
{
    const int wide = write && wk_itemsize[j->to] == 8;
    uint64_t x[BLOCK];
    for (int64_t i = 0, some; i < n && !wk_interrupted(); i += some) {
        some = n - i < BLOCK ? n - i : BLOCK;
        if (wide) {
            sum = scan_wide(j, at + i, some, sum);
            continue;
        }
        load_integers(j, at + i, some, x);
        if (write) {
            for (int64_t k = 0; k < some; k++) x[k] = sum += x[k];
            store_integers(j, at + i, some, x);
        } else {
            for (int64_t k = 0; k < some; k++) sum += x[k];
        }
    }
    return sum;
}

#define SCAN(columns)                                                                          \
    for (int64_t i = 0; i < rows; i++)                                                         \
        for (int64_t k = 0; k < (columns); k++)                                                \
    x[i * (columns) + k] = sum[k] += x[i * (columns) + k]

/* Rows side by side; the few columns that are usual are constants, so that their sums stay in registers. */
static void
scan_integer_rows(uint64_t *restrict x, int64_t rows, int64_t width, uint64_t *restrict sum)
{
    switch (width) {
    case 2: SCAN(2); break;
    case 3: SCAN(3); break;
    case 4: SCAN(4); break;
    default: SCAN(width); break;
    }
}
#undef SCAN

/* Columns that are all there are come many rows at a time. 107,031 x 2 uint8: 836 us row by row, 83 so. */
static void
scan_integer_columns(const job *j, int64_t line, int64_t first)
{
    const int64_t width = j->width - first < COLUMNS ? j->width - first : COLUMNS;
    const int64_t most = width == j->width ? BLOCK / width : 1;
    uint64_t sum[COLUMNS] = {0}, x[BLOCK];
    for (int64_t i = 0, rows; i < j->n; i += rows) {
        rows = j->n - i < most ? j->n - i : most;
        if (i % BLOCK < rows && wk_interrupted()) return;
        const int64_t at = (line * j->n + i) * j->width + first;
        load_integers(j, at, rows * width, x);
        scan_integer_rows(x, rows, width, sum);
        store_integers(j, at, rows * width, x);
    }
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Of a chunk: its series' sums, or with what stands before them, b, its prefixes. */
static void
do_chunk(const job *j, int64_t item, int write, before *b)
{
    const int64_t line = item / j->each, first = item % j->each * j->chunk;
    const int64_t end = first + j->chunk < j->n ? first + j->chunk : j->n;
    const strip s = {line * j->n * j->width, j->width, j->width};
    if (j->dtype < WK_F16) {
        const uint64_t sum =
            scan_integers(j, s.at + first, end - first, b ? b->bits : 0, write);
        if (b) b->bits = sum;
    } else if (write) {
        scan_strip(j, s, first, end, b);
    } else {
        add_range(j, s, first, end, b);
    }
}

static void
sum_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    for (int64_t item = begin; item < end && !wk_interrupted(); item++) {
        before *b = &j->state[item * j->width];
        for (int64_t p = 0; p < j->width; p++) start(&b[p]);
        do_chunk(j, item, 0, b);
    }
    wk_fp_end(state);
}

static void
scan_item(const job *j, int64_t item)
{
    const int64_t line = item / j->each, column = item % j->each * COLUMNS;
    if (j->by == BY_LINES) {
        scan_lines(j, item * WK_VD);
    } else if (j->by == BY_COLUMNS && j->dtype < WK_F16) {
        scan_integer_columns(j, line, column);
    } else if (j->by == BY_COLUMNS) {
        scan_columns(j, line, column);
    } else {
        do_chunk(j, item, 1, j->state ? &j->state[item * j->width] : NULL);
    }
}

static void
scan_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const wk_fp_state state = wk_fp_begin();
    (void)thread;
    for (int64_t item = begin; item < end && !wk_interrupted(); item++) scan_item(arg, item);
    wk_fp_end(state);
}

/* Each chunk's sum becomes that of all before it. */
static void
join(const job *j)
{
    const wk_fp_state state = wk_fp_begin();
    before all, own;
    for (int64_t s = 0; s < j->lines * j->width; s++) {
        start(&all);
        for (int64_t k = 0; k < j->each; k++) {
            before *b = &j->state[(s / j->width * j->each + k) * j->width + s % j->width];
            copy(&own, b);
            copy(b, &all);
            wk_exact_merge(&all.sum, &own.sum);
            all.bits += own.bits;
        }
    }
    wk_fp_end(state);
}

/* Numbers that an item has; of how many items, the job is told. */
static int64_t
plan(job *j, int threads)
{
    const int integers = j->dtype < WK_F16;
    j->each = 1;
    if (j->width > (integers ? 1 : WIDTH)) {
        j->by = BY_COLUMNS;
        j->each = (j->width + COLUMNS - 1) / COLUMNS;
        return j->n * (j->width < COLUMNS ? j->width : COLUMNS);
    }
    if (!integers && j->lines >= WK_VD / 2 && j->n * j->width <= BLOCK / WK_VD) {
        j->by = BY_LINES;
        return j->n * j->width * WK_VD;
    }
    j->chunk = j->n; /* so that nothing is read twice, where that keeps the threads busy */
    if (j->n > 3 * CHUNK && threads > 1 && j->lines < 4 * threads) {
        j->chunk = CHUNK;
        j->each = (j->n + CHUNK - 1) / CHUNK;
    }
    return j->chunk * j->width;
}

WK_CPU_LAUNCHER(cumsum, chunks)
{
    const wk_cumsum_args *a = &call->args.cumsum;
    const int parts = wk_is_complex(call->in.dtype) ? 2 : 1;
    job j = {.call = call, .lines = a->lines, .n = a->n, .width = a->inner * parts};
    j.in = (const char *)call->in.data + call->in.first;
    j.out = call->out[0].data;
    j.dtype = wk_real_of(call->in.dtype);
    j.to = wk_real_of(call->out[0].dtype);
    j.kind = j.to == WK_F64 ? WIDE : NARROW;
    j.load = WK_ISA_NAME(wk_stencil_loader)(j.dtype, 1, 0);
    j.store = WK_ISA_NAME(wk_stencil_storer)(1, j.to);
    const int64_t numbers = plan(&j, j.n > CHUNK ? wk_thread_count(call->context) : 1);
    const int64_t items = j.by == BY_LINES ? (j.lines + WK_VD - 1) / WK_VD : j.lines * j.each;
    if (j.by == BY_CHUNKS && j.each > 1) {
        j.state = malloc((size_t)(items * j.width) * sizeof *j.state);
        if (j.state == NULL)
            return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate sums of chunks");
        wk_parallel(call->context, items, 1, sum_task, &j);
        if (!wk_interrupted()) join(&j);
    }
    if (!wk_interrupted())
        wk_parallel(call->context, items, 1 + TASK / (numbers + 64), scan_task, &j);
    free(j.state);
    return WK_OK;
}
