/* weights.c -- sums of weights a bin, exact, rounded once: the same bits in any order.
 *
 * All weights are multiples of one power of two, the `least`, and below another. What lies between
 * is cut into words of `step` bits, few enough that n pieces cannot overflow an int64: a bin is
 * `words` integers, and a weight is added to each. Their sums are exact by construction, so every
 * thread has its own and they are added at last.
 *   integers          one word modulo 2^64; where the exact sum is asked for, halves. One word of one thread
 *                     is added up in the result, which has 8 bytes for each
 *   floats            one look at all weights for the exponents; up to 4 words are cut in vectors,
 *                     which is some 150 bits of exponents and digits for 16 million weights
 *   wider than that   up to 67 words: all exponents of float64, each weight added to the three words
 *                     or so that it meets
 *   few elements      only bins that are met have words
 * Memory    MOST_BYTES of words for all threads; bins that do not fit are done range by range, each
 *           reading the input again: a million bins of 67 words take three.
 * Source    R. Neal, "Fast exact summation using small and large superaccumulators" (2015). */
#include "weights.h"
#include "cpu/fp.h"
#include "cpu/threads.h"
#include "store.h"

#include <stdlib.h>

enum {
    GRAIN = 1 << 15,      /* elements handed out at once: 50 us or more               */
    TABLES = 8,           /* a thread's, by turns: equal neighbours need not wait        */
    NEAR_BYTES = 1 << 17, /* of them: well within a second-level cache                   */
    MOST_STEP = 51,       /* bits that adding 1.5 2^52 leaves                         */
    FINISH = 1 << 16,     /* words finished at once: 50 us or more                     */
    SPARSE = 4,           /* bins an element above which those without one are left out */
    MOST_BYTES = 256 << 20
};

typedef struct job {
    wk_binner binner;
    wk_pieces pieces;
    wk_spread *spreads; /* [threads]                                        */
    const char *in, *weights;
    const wk_array *out;
    int64_t *kept;         /* words of partial.h, or NULL                   */
    const int64_t *counts; /* of all slots, where means are asked for       */
    int64_t *own, *met;    /* few elements: each one's slot, and the bins of slots; or NULL */
    int64_t item, n;
    int64_t first, bins;    /* of this range: slots first .. first + bins - 1   */
    int whole;              /* that is all slots: bins need no offset           */
    int there;              /* sums are added up where the results will be      */
    int64_t tables, stride; /* of a thread; words of a table                    */
    wk_shares shares;
    int64_t *sums;  /* [threads][tables][stride]                        */
    uint8_t *flags; /* [bins + 1]: WK_HAS_...; NULL: all are finite     */
    char *used;     /* [threads]                                        */
} job;

/* ---- adding ------------------------------------------------------------------------------- */

typedef uint64_t pair __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) void
add_one(uint64_t *to, int64_t (*piece)[WK_BIN_BLOCK], int64_t i, int words)
{
    if (words == 2) { /* both at once */
        pair sum;
        memcpy(&sum, to, sizeof sum);
        sum += (pair){(uint64_t)piece[0][i], (uint64_t)piece[1][i]};
        memcpy(to, &sum, sizeof sum);
        return;
    }
#pragma GCC unroll 4
    for (int k = 0; k < words; k++) to[k] += (uint64_t)piece[k][i];
}

static inline __attribute__((always_inline)) void
add(const job *j, int64_t *sums, const int64_t *bin, int64_t (*piece)[WK_BIN_BLOCK], int64_t n,
    int words, int tables)
{
    uint64_t *to = (uint64_t *)sums;
    const int64_t stride = j->stride;
    int64_t i = 0;
    for (; i + tables <= n; i += tables)
#pragma GCC unroll 8
        for (int k = 0; k < tables; k++)
            add_one(to + k * stride + bin[i + k] * words, piece, i + k, words);
    for (; i < n; i++) add_one(to + bin[i] * words, piece, i, words);
}

/* In the result, which has no place for what is in no bin. */
static void
add_there(const job *j, uint64_t *sums, const int64_t *bin, const int64_t *piece, int64_t n)
{
    uint64_t none = 0;
    for (int64_t i = 0; i < n; i++)
        *(bin[i] < j->bins ? sums + bin[i] : &none) += (uint64_t)piece[i];
}

static void
add_pieces(const job *j, int64_t *sums, const int64_t *bin, int64_t (*piece)[WK_BIN_BLOCK],
           int64_t n)
{
    const int few = j->tables > 1;
    switch (j->pieces.words) {
    case 1:
        few ? add(j, sums, bin, piece, n, 1, TABLES) : add(j, sums, bin, piece, n, 1, 1);
        break;
    case 2:
        few ? add(j, sums, bin, piece, n, 2, TABLES) : add(j, sums, bin, piece, n, 2, 1);
        break;
    case 3:
        few ? add(j, sums, bin, piece, n, 3, TABLES) : add(j, sums, bin, piece, n, 3, 1);
        break;
    default:
        few ? add(j, sums, bin, piece, n, 4, TABLES) : add(j, sums, bin, piece, n, 4, 1);
        break;
    }
}

/* What is no number is noted and becomes zero. */
static void
take_special(const job *j, double *x, const int64_t *bin, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (x[i] - x[i] == 0) continue;
        __atomic_fetch_or(&j->flags[bin[i]], (uint8_t)wk_odd_flag(x[i]), __ATOMIC_RELAXED);
        x[i] = 0;
    }
}

static void
add_block(const job *j, int64_t begin, int64_t n, int64_t *sums)
{
    const wk_pieces *p = &j->pieces;
    int64_t bin[WK_BIN_BLOCK], piece[WK_PIECES][WK_BIN_BLOCK];
    double x[WK_BIN_BLOCK];
    if (j->own)
        memcpy(bin, j->own + begin, (size_t)n * sizeof *bin);
    else
        wk_bins_of(&j->binner, j->in + begin * j->item, n, bin);
    for (int64_t i = 0; !j->whole && i < n; i++) {
        const uint64_t at = (uint64_t)bin[i] - (uint64_t)j->first;
        bin[i] = (int64_t)(at < (uint64_t)j->bins ? at : (uint64_t)j->bins);
    }
    if (p->dtype < WK_F16) {
        WK_ISA_NAME(wk_weights_integers)(p, j->weights, begin, n, piece);
        if (j->there)
            add_there(j, (uint64_t *)sums, bin, piece[0], n);
        else
            add_pieces(j, sums, bin, piece, n);
        return;
    }
    WK_ISA_NAME(wk_weights_load)(p->dtype, p->part, j->weights, begin, n, x);
    for (int64_t i = n; i < WK_BIN_BLOCK && i < n + 8; i++) x[i] = 0; /* a vector's rest */
    if (j->flags) take_special(j, x, bin, n);
    if (p->split) {
        WK_ISA_NAME(wk_weights_split)(p, x, n, piece);
        add_pieces(j, sums, bin, piece, n);
    } else {
        WK_ISA_NAME(wk_weights_scatter)(p, x, bin, n, sums);
    }
}

static void
add_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    const int64_t own = wk_table_of(&j->shares, begin, thread);
    int64_t *sums = j->sums + own * j->tables * j->stride;
    j->used[own] = 1;
    for (int k = 1; begin < end && (k % 16 || !wk_interrupted()); begin += WK_BIN_BLOCK, k++)
        add_block(j, begin, end - begin < WK_BIN_BLOCK ? end - begin : WK_BIN_BLOCK, sums);
    wk_fp_end(state);
}

/* ---- results ------------------------------------------------------------------------------ */

static void
finish_one(const job *j, int64_t slot)
{
    const int64_t *word = j->sums + slot * j->pieces.words,
                  at = j->met ? j->met[slot] : j->first + slot;
    const int flags = j->flags ? j->flags[slot] : 0;
    const int64_t *count = j->counts ? j->counts + at : NULL;
    WK_ISA_NAME(wk_weights_store)(&j->pieces, word, flags, count, j->out, at);
    if (j->kept) WK_ISA_NAME(wk_weights_keep)(&j->pieces, word, flags, j->kept, at);
}

/* Sums in `x`, which may be the result, to their places. */
static void
store_block(const job *j, int64_t first, int64_t n, const double *x)
{
    const int parts = j->pieces.parts, part = j->pieces.part;
    const int64_t at = (j->first + first) * parts + part;
    double *f64 = j->out->data;
    float *f32 = j->out->data;
    if (j->met)
        for (int64_t i = 0; i < n; i++) f64[j->met[first + i]] = x[i];
    else if (wk_real_of(j->out->dtype) == WK_F32)
        for (int64_t i = 0; i < n; i++) f32[at + i * parts] = (float)x[i] + 0.0f; /* not -0.0 */
    else if (x != f64 + at)
        for (int64_t i = 0; i < n; i++) f64[at + i * parts] = x[i];
}

static void
finish_block(const job *j, int64_t first, int64_t n, const int64_t *word)
{
    const wk_pieces *p = &j->pieces;
    const wk_dtype out = j->out->dtype;
    const int in_place = out == WK_F64 && !j->met;
    double room[WK_BIN_BLOCK];
    double *x = in_place ? (double *)j->out->data + j->first + first : room;
    uint64_t any = j->counts || j->kept || j->met;
    for (int64_t i = 0; i < n * p->words; i++) any |= (uint64_t)word[i];
    for (int64_t i = 0; j->flags && i < n; i++) any |= j->flags[first + i];
    if (!any) return; /* zeros, as the result is */
    int known = 0;
    if (!j->counts && !j->kept && p->parts == 1 + wk_is_complex(out))
        known = WK_ISA_NAME(wk_weights_round)(p, word, n, wk_real_of(out), x);
    if (known) store_block(j, first, n, x);
    if (known == 1 && !j->flags) return;
    for (int64_t i = 0; i < n; i++)
        if (!known || x[i] != x[i] || (j->flags && j->flags[first + i]))
            finish_one(j, first + i);
}

/* All tables into the first, and its sums into the result. */
static void
finish_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const job *j = arg;
    const int64_t words = j->pieces.words;
    const wk_fp_state state = wk_fp_begin();
    uint64_t *sums = (uint64_t *)j->sums;
    for (int64_t t = 1; t < j->shares.threads * j->tables; t++) {
        if (!j->used[t / j->tables]) continue;
        const uint64_t *more = sums + t * j->stride;
        for (int64_t i = begin * words; i < end * words; i++) sums[i] += more[i];
    }
    for (int64_t n; begin < end; begin += n) {
        const int64_t *word = j->sums + begin * words;
        int64_t own[WK_BIN_BLOCK];
        n = end - begin < WK_BIN_BLOCK ? end - begin : WK_BIN_BLOCK;
        if (j->there) word = memcpy(own, word, (size_t)n * sizeof *own);
        finish_block(j, begin, n, word);
    }
    wk_fp_end(state);
}

/* ---- the plan ----------------------------------------------------------------------------- */

static void
spread_task(void *arg, int64_t begin, int64_t end, int thread)
{
    const job *j = arg;
    const wk_fp_state state = wk_fp_begin();
    for (; begin < end; begin += WK_BIN_BLOCK) WK_ISA_NAME(wk_weights_spread)
    (j->pieces.dtype, j->pieces.part, j->weights, begin,
     end - begin < WK_BIN_BLOCK ? end - begin : WK_BIN_BLOCK, &j->spreads[thread]);
    wk_fp_end(state);
}

static int
log2_above(int64_t n)
{
    int bits = 1;
    while (n >> bits) bits++;
    return bits;
}

/* The halves, or thirds, of integers. 2^30 halves of 32 bits, and more thirds than there can be,
 * stay below 2^63. */
static void
plan_integers(job *j)
{
    wk_pieces *p = &j->pieces;
    const int large = j->n > 1 << 30, small = wk_itemsize[p->dtype] < 8;
    const int modulo = j->out->dtype != WK_BOOL && j->out->dtype < WK_F16;
    p->words = modulo || (small && !large) ? 1 : large ? 3 : 2;
    p->step = large ? 22 : 32;
}

static void
plan_floats(job *j, const wk_spread *s)
{
    wk_pieces *p = &j->pieces;
    const wk_format f = wk_format_of(wk_real_of(p->dtype));
    const int bits = log2_above(j->n);
    p->special = s->special;
    int top = (int)(s->most >> 52) - 1022, low = (int)(s->least >> 52) - 1022 - f.digits;
    if (s->most == 0) top = low = 0;
    if (low < f.least) low = f.least;
    p->least = low;
    p->step = bits < 63 - MOST_STEP ? MOST_STEP : 63 - bits;
    p->words = (top - low + 1) / p->step + 1;
    p->split = p->words <= WK_PIECES && low > -WK_MODERATE && top < WK_MODERATE;
    if (p->split) return;
    p->step = bits <= 30 ? 32 : 16;
    p->words = (top - low) / p->step + 1;
}

static wk_status
plan_pieces(job *j, wk_call *call)
{
    const int64_t threads = wk_thread_count(call->context);
    wk_spread all = {0, (uint64_t)INT64_MAX, 0};
    if (j->pieces.dtype < WK_F16) {
        plan_integers(j);
        return WK_OK;
    }
    j->spreads = malloc((size_t)threads * sizeof *j->spreads);
    if (j->spreads == NULL)
        return WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate for %lld threads",
                       (long long)threads);
    for (int64_t t = 0; t < threads; t++) j->spreads[t] = all;
    wk_parallel(call->context, j->n, GRAIN, spread_task, j);
    for (int64_t t = 0; t < threads; t++) {
        const wk_spread *s = &j->spreads[t];
        if (s->most > all.most) all.most = s->most;
        if (s->least < all.least) all.least = s->least;
        all.special |= s->special;
    }
    free(j->spreads);
    plan_floats(j, &all);
    return WK_OK;
}

static void
choose_tables(job *j, wk_context *context, int64_t slots)
{
    const wk_pieces *p = &j->pieces;
    const int64_t size = p->words * (int64_t)sizeof *j->sums, most = MOST_BYTES / size - 2;
    j->bins = slots < most ? slots : most;
    j->stride = (j->bins + 1) * p->words;
    const int64_t bytes = j->stride * (int64_t)sizeof *j->sums;
    const int in_turn = p->dtype < WK_F16 || p->split;
    j->tables =
        in_turn && TABLES * bytes <= NEAR_BYTES && 4 * TABLES * j->bins <= j->n ? TABLES : 1;
    j->shares = wk_share_out(wk_thread_count(context), j->n, GRAIN, j->bins, j->tables * bytes,
                             MOST_BYTES);
}

static wk_status
sum_range(job *j, wk_call *call)
{
    wk_status status = WK_OK;
    const int64_t all = j->shares.threads * j->tables * j->stride;
    j->sums = j->there ? j->out->data : calloc((size_t)all, sizeof *j->sums);
    j->used = calloc((size_t)j->shares.threads, 1);
    j->flags = j->pieces.special ? calloc((size_t)j->bins + 1, 1) : NULL;
    if (j->sums == NULL || j->used == NULL || (j->pieces.special && j->flags == NULL)) {
        status = WK_FAIL(&call->error, WK_EMEMORY, "cannot allocate %lld bytes for sums",
                         (long long)(all * (int64_t)sizeof *j->sums));
    } else {
        wk_parallel(call->context, j->n, j->shares.grain, add_task, j);
        if (!j->there || j->out->dtype == WK_F64)
            wk_parallel(call->context, j->bins, FINISH / j->pieces.words, finish_task, j);
    }
    if (!j->there) free(j->sums);
    free(j->used);
    free(j->flags);
    return status;
}

/* Few elements in many bins, of which most have none: slots are of those that are met. They are
 * numbered in the result, which is zero until then. */
static int64_t
number_bins(job *j, int64_t slots)
{
    const int can = j->n <= GRAIN && j->n < slots / SPARSE && j->out->dtype == WK_F64 &&
                    j->pieces.dtype >= WK_F16;
    if (!can || j->pieces.parts > 1 || j->counts || j->kept) return slots;
    j->own = malloc((size_t)(2 * j->n + 1) * sizeof *j->own);
    if (j->own == NULL) return slots; /* all of them, then */
    j->met = j->own + j->n;
    int64_t *number = j->out->data, count = 0;
    for (int64_t begin = 0; begin < j->n; begin += WK_BIN_BLOCK) {
        const int64_t n = j->n - begin < WK_BIN_BLOCK ? j->n - begin : WK_BIN_BLOCK;
        int64_t *own = j->own + begin;
        wk_bins_of(&j->binner, j->in + begin * j->item, n, own);
        for (int64_t i = 0; i < n; i++) {
            int64_t *at = number + own[i];
            if (own[i] < slots && *at == 0) {
                j->met[count] = own[i];
                *at = ++count;
            }
            own[i] = own[i] < slots ? *at - 1 : -1;
        }
    }
    return count;
}

static wk_status
sum_part(job *j, wk_call *call, int64_t slots)
{
    wk_status status = plan_pieces(j, call);
    if (status == WK_OK) choose_tables(j, call->context, slots);
    const int64_t range = j->bins;
    const wk_dtype out = j->out->dtype;
    j->there = j->pieces.dtype < WK_F16 && j->pieces.words == 1 && j->shares.threads == 1 &&
               j->tables == 1 && range == slots && !j->counts && !j->kept &&
               (out == WK_F64 || out == WK_I64 || out == WK_U64);
    for (int64_t first = 0; first < slots && status == WK_OK; first += range) {
        j->first = first;
        j->bins = slots - first < range ? slots - first : range;
        j->whole = j->bins == slots && j->own == NULL;
        status = sum_range(j, call);
    }
    return status;
}

static int
is_complex(wk_dtype dtype)
{
    return dtype == WK_C64 || dtype == WK_C128;
}

wk_status
WK_ISA_NAME(wk_histogram_weighted)(wk_call *call)
{
    const wk_dtype in = call->weights.dtype, out = call->out[0].dtype;
    job j = {.n = call->args.histogram.n, .out = &call->out[0]};
    if (call->args.histogram.fold != WK_SUM && call->args.histogram.fold != WK_MEAN)
        return WK_ISA_NAME(wk_histogram_extremes)(call);
    if ((in >= WK_F16 && out < WK_F16) || (is_complex(in) && !is_complex(out)))
        return WK_FAIL(&call->error, WK_ETYPE, "sums of %s weights cannot be %s",
                       wk_dtype_names[in], wk_dtype_names[out]);
    if (call->args.histogram.fold == WK_MEAN) j.counts = call->aux.host;
    const int64_t slots = call->args.histogram.bins + (call->args.histogram.outside != 0);
    memset(call->out[0].data, 0, (size_t)(slots * wk_itemsize[out]));
    wk_status status = WK_ISA_NAME(wk_binner_start)(&j.binner, call, j.n);
    j.item = wk_itemsize[call->in.dtype];
    j.kept = call->part.mode == WK_PIECE ? call->part.state : NULL;
    j.in = (const char *)call->in.data + call->in.first;
    j.weights = call->weights.data ? call->weights.data : call->weights.host; /* C-contiguous */
    j.pieces.dtype = in;
    j.pieces.parts = is_complex(in) ? 2 : 1;
    const int64_t used = status == WK_OK ? number_bins(&j, slots) : 0;
    for (int part = 0; part < j.pieces.parts && status == WK_OK; part++) {
        j.pieces.part = part;
        status = sum_part(&j, call, used);
    }
    free(j.own);
    WK_ISA_NAME(wk_binner_end)(&j.binner);
    return status;
}
