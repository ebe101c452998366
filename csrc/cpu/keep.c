/* keep.c -- accumulators to words that are merged elsewhere, and back (partial.h). */
#include "cpu/fp.h"
#include "cpu/reduce_way.h"
#include "cpu/threads.h"

enum { FINISH = 64 }; /* outputs finished at once: 50 us or more */

static int64_t *
words_of(const wk_reduction *r, int64_t output)
{
    return (int64_t *)r->call->part.state + output * r->form.words;
}

/* All of it in limbs. */
static void
put(wk_exact *e, const wk_form *form, wk_exact_sums *s, int number)
{
    const wk_limbs to = wk_exact_sums_limbs(form, s, number);
    wk_exact_flush(e);
    const int skip = e->limbs.count - (to.count - 4);
    memcpy(to.limb, e->limbs.limb + skip, (size_t)(to.count - 4) * sizeof *to.limb);
    s->flags |= e->flags;
}

static void
save(const wk_reduction *r, wk_acc *a, int64_t output)
{
    wk_exact_sums s;
    wk_exact_sums_start(&r->form, &s);
    s.n = a->n;
    for (int i = 0; i < r->form.sums; i++) put(&a->sum[i], &r->form, &s, i);
    const int flags = s.flags;
    if (r->form.square_limbs) put(&a->squares, &r->form, &s, 2);
    if (r->form.sums) s.flags = flags; /* of squares infinity is positive */
    wk_form_save(&r->form, &s, words_of(r, output));
}

static void
keep(const wk_reduction *r, wk_acc *a, int64_t output)
{
    r->results->finish(r, a, output);
    save(r, a, output);
}

static void
keep_lanes(const wk_reduction *r, void *const *lanes, int64_t width, int64_t first,
           int64_t step)
{
    wk_acc_room room;
    r->results->finish_lanes(r, lanes, width, first, step);
    for (int64_t w = 0; w < width; w++) {
        wk_acc_start(r, &room.acc);
        room.acc.n = r->args->n;
        for (int c = 0; c < r->components; c++)
            if (r->component[c] == WK_C_SUM || r->component[c] == WK_C_SQUARES)
                r->folding[c]->absorb(&room.acc, lanes[c], wk_stride(width), w);
        save(r, &room.acc, first + w * step);
    }
}

void
wk_keep_words(wk_reduction *r, wk_foldings *keeping)
{
    r->form = wk_form_of(r->args->fold, r->call->outs, r->in->dtype);
    r->results = r->foldings;
    *keeping = *r->foldings;
    keeping->finish = keep;
    keeping->finish_lanes = keep_lanes;
    r->foldings = keeping;
}

/* ---- back ------------------------------------------------------------------------------------- */

static void
take(wk_exact *e, const wk_form *form, wk_exact_sums *s, int number)
{
    const wk_limbs from = wk_exact_sums_limbs(form, s, number);
    const int skip = e->limbs.count - (from.count - 4);
    memset(e->limbs.limb, 0, (size_t)skip * sizeof *from.limb);
    memcpy(e->limbs.limb + skip, from.limb, (size_t)(from.count - 4) * sizeof *from.limb);
    e->used = 1;
    e->flags = s->flags;
}

static void
finish_task(void *arg, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const wk_reduction *r = arg;
    const wk_fp_state state = wk_fp_begin();
    wk_acc_room room;
    wk_exact_sums s;
    for (int64_t output = begin; output < end; output++) {
        wk_acc_start(r, &room.acc);
        wk_form_load(&r->form, words_of(r, output), &s);
        room.acc.n = s.n;
        for (int i = 0; i < r->form.sums; i++) take(&room.acc.sum[i], &r->form, &s, i);
        if (r->form.square_limbs) take(&room.acc.squares, &r->form, &s, 2);
        r->foldings->finish(r, &room.acc, output);
    }
    wk_fp_end(state);
}

void
wk_finish_words(wk_reduction *r)
{
    r->form = wk_form_of(r->args->fold, r->call->outs, r->in->dtype);
    wk_parallel(r->call->context, r->args->outputs, FINISH, finish_task, r);
}
