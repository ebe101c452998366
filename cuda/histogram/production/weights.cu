// histogram / weights -- sums of weights a bin, by additions of integers alone.
//
// In, out   in[n], weights[n] -> one sum a bin, rounded once; any number of bins.
// How       a number is cut into pieces, integers of few bits at a place of a long fixed-point
//           number, of which each bin has one: its limbs, 64-bit integers a few bits apart, so that
//           2^30 pieces fit before a carry. Integers may be added in any order, on chip or in the
//           L2, and give the same bits.
// Few bins  weights_shared.cu: short limbs on chip, which move to the long ones as they overflow.
// More      weights_near.cu: one short number a bin on chip, for the weights of about one size.
// Many      weights_global.cu: only the places that weights have get limbs, and as many rows as a
//           named room takes are summed in a pass.
// Source    csrc/num/exact.h
#include "num/tree.h"
#include "histogram/production/weights.cuh"
#include "histogram/production/weights_shared.cuh"

#include <algorithm>

namespace wk::weights
{

namespace
{

// Limbs that a pass may have: 64 MiB. About what an L2 holds; one pass more reads at the memory's
// speed, where the adds take a fifth of that.
constexpr int64_t kRoom = int64_t{8} << 20;

// With short numbers on chip few adds go to limbs, so these may lie in memory: 128 MiB.
constexpr int64_t kNearRoom = int64_t{16} << 20;

numbers
class_of(wk_dtype dtype)
{
    const bool wide = dtype == WK_F64 || dtype == WK_C128;
    return dtype < WK_F16 ? numbers::whole : wide ? numbers::wide : numbers::narrow;
}

// The sums of a pass's rows: `most` elements at a time are added, by add(task).
template <typename F>
wk_status
sum_rows(wk_call *call, numbers kind, weights_task t, const sums &out, int64_t pass,
         int64_t most, F &&add)
{
    const int64_t end = t.end;
    for (int64_t at = t.begin; at < end; at += most) {
        if (at > 0 && carry_limbs(call, kind, t, pass) != WK_OK) return call->error.status;
        t.begin = at;
        t.end = std::min(end, at + most);
        if (add(t) != WK_OK) return call->error.status;
    }
    if (t.stray && begin_telling(call) != WK_OK) return call->error.status;
    return t.kept ? WK_OK : finish_rows(call, kind, t, out, pass);
}

// What a column of weights is found to have; zero before.
struct found {
    span places;
    window planned;
    int low;
};

wk_status
sum_in_shared(wk_call *call, numbers kind, const weights_task &t, const sums &out, found *f)
{
    shared_plan plan;
    if (plan_shared(call, kind, t, &f->places, &f->planned, &plan) != WK_OK)
        return call->error.status;
    return sum_rows(call, kind, t, out, 0, kBetweenCarries, [&](const weights_task &some) {
        return add_shared(call, kind, some, plan);
    });
}

wk_status
sum_near(wk_call *call, numbers kind, const weights_task &t, const sums &out, found *f)
{
    const int64_t most = std::min(kBetweenCarries, most_near(call, t.rows));
    return sum_rows(call, kind, t, out, 0, most, [&](const weights_task &some) {
        return add_near(call, kind, some, &f->low);
    });
}

wk_status
sum_in_global(wk_call *call, numbers kind, const weights_task &given, const sums &out, found *f)
{
    weights_task t = given;
    if (kind != numbers::whole && !t.kept) { // limbs that are kept are of all places
        if (find_places(call, kind, t, t.end, &f->places) != WK_OK) return call->error.status;
        t.places = &f->places;
    }
    const int64_t rows = std::min(t.rows, t.room / most_limbs(kind)); // of a pass at least
    for (int64_t pass = 0; pass * rows < t.rows; pass++) {
        const wk_status status =
            sum_rows(call, kind, t, out, pass, kBetweenCarries, [&](const weights_task &some) {
                return add_global(call, kind, some, pass);
            });
        if (status) return status;
    }
    return WK_OK;
}

// Limbs, flags of `rows`, what two columns are found to have: one block, cleared at once.
wk_status
allocate_zero(wk_call *call, int64_t rows, weights_task *t, found **columns)
{
    const int64_t limbs = t->room * (int64_t)sizeof *t->limbs,
                  found_at = limbs + (rows + 1) / 2 * 8;
    const int64_t bytes = found_at + 2 * (int64_t)sizeof(found);
    void *block = nullptr;
    if (allocate(call, bytes, &block) != WK_OK) return call->error.status;
    t->limbs = static_cast<unsigned long long *>(block);
    t->flags = reinterpret_cast<unsigned *>(static_cast<char *>(block) + limbs);
    *columns = reinterpret_cast<found *>(static_cast<char *>(block) + found_at);
    return clear(call, block, bytes);
}

// Of a call that comes in pieces: a column's limbs and flags of all rows, 8 bytes a row for these.
int64_t
state_words(numbers kind)
{
    return most_limbs(kind) + 1;
}

// The task over a column of a state.
weights_task
with_state(weights_task t, numbers kind, void *state, int column)
{
    t.room = t.rows * most_limbs(kind);
    t.limbs = static_cast<unsigned long long *>(state) + column * t.rows * state_words(kind);
    t.flags = reinterpret_cast<unsigned *>(t.limbs + t.room);
    t.kept = true;
    return t;
}

// Elements after which limbs are carried, in chunks: 2^30 fit into one, and the states of 32 GPUs are
// added.
constexpr int64_t kCarryChunks = (int64_t{1} << 24) / WK_CHUNK;

bool
carries_after(const wk_call *call)
{
    const int64_t first = call->part.first, n = call->args.histogram.n;
    return first / kCarryChunks != (first + n / WK_CHUNK + 1) / kCarryChunks; // or twice
}

// How a call sums: which numbers, of how many columns, by which kernels.
struct plan {
    numbers kind;
    int columns; // 2: the parts of complex weights, apart
    wk_dtype part, sum;
    bool shared, near;
};

plan
plan_of(const wk_call *call)
{
    const wk_array *w = &call->weights, *to = &call->out[0];
    const wk_histogram_args *h = &call->args.histogram;
    const int64_t rows = h->bins + h->outside;
    const bool complex = w->dtype >= WK_C64;
    plan p;
    p.kind = class_of(w->dtype);
    p.columns = complex ? 2 : 1;
    p.part = wk_real_of(w->dtype);
    p.sum = wk_real_of(to->dtype);
    p.shared = fits_shared(call, p.kind);
    p.near = !p.shared && rows * most_limbs(p.kind) <= kNearRoom &&
             fits_near(call, p.kind, rows, h->n);
    return p;
}

sums
column_of(const wk_call *call, const plan &p, int i)
{
    char *to = static_cast<char *>(call->out[0].data);
    return {to + i * wk_itemsize[p.sum], p.sum, p.columns};
}

// What is to be done with a state besides adding a piece: its size, another one's sum, results.
wk_status
use_state(wk_call *call, const plan &p, const weights_task &t)
{
    wk_part *part = &call->part;
    if (part->mode == WK_SIZE) {
        part->words = p.columns * state_words(p.kind);
        return WK_OK;
    }
    for (int i = 0; i < p.columns; i++) {
        const weights_task own = with_state(t, p.kind, part->state, i);
        const wk_status status =
            part->mode == WK_MERGE
                ? add_totals(call, own, with_state(t, p.kind, part->other, i))
                : finish_rows(call, p.kind, own, column_of(call, p, i), 0);
        if (status) return status;
    }
    return WK_OK;
}

} // namespace
} // namespace wk::weights

wk_status
wk::histogram::weighted(wk_call *call)
{
    using namespace wk::weights;
    const wk_histogram_args *h = &call->args.histogram;
    const wk_part *part = &call->part;
    const plan p = plan_of(call);
    weights_task t = {};
    found *columns = nullptr;
    t.rows = h->bins + h->outside;
    const bool keeps = part->mode == WK_PIECE;
    if (part->mode != WK_WHOLE && !keeps) return use_state(call, p, t);
    if (edges_there(call) != WK_OK) return call->error.status;
    if (call->outs == 2 && h->kind == WK_BINS_VALUES) {
        t.stray = static_cast<unsigned *>(call->out[1].data);
        if (clear(call, t.stray, call->out[1].bytes) != WK_OK) return call->error.status;
    }
    if (h->n == 0) return clear(call, call->out[0].data, call->out[0].bytes);
    if (h->fold != WK_SUM && h->fold != WK_MEAN) return extremes(call, t.stray);
    if (h->fold == WK_MEAN) t.counts = static_cast<const int64_t *>(call->aux.data);
    t.bins = bins_of(call);
    t.in = call->in.data;
    t.in_dtype = call->in.dtype;
    t.end = h->n;
    const int64_t all = t.rows * most_limbs(p.kind);
    t.room = keeps ? 0 : p.shared || p.near ? all : std::min(all, kRoom);
    const int64_t rows = std::min(t.rows, t.room / kLeastLimbs); // of a pass at most
    if (allocate_zero(call, rows, &t, &columns) != WK_OK ||
        (p.near && allocate_tables(call, &t) != WK_OK))
        return call->error.status;
    const auto way = p.shared ? sum_in_shared : p.near ? sum_near : sum_in_global;
    for (int i = 0; i < p.columns; i++) {
        if (keeps) t = with_state(t, p.kind, part->state, i);
        t.weights = {(const char *)call->weights.data + i * wk_itemsize[p.part], p.part,
                     p.columns};
        const sums out = column_of(call, p, i);
        if (way(call, p.kind, t, out, &columns[i]) != WK_OK ||
            (keeps && carries_after(call) && carry_limbs(call, p.kind, t, 0) != WK_OK))
            return call->error.status;
    }
    return t.stray ? tell(call, &call->out[1]) : WK_OK; // while results are on their way
}
