/* boxes.c -- the plan of a transpose by boxes: the extents of a tile, its place in shared memory, and which
 * thread has which element of it, by a model of what they cost. */
#include "pieces.h"
#include "tiles.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD = 4,
    MOST = 47 << 10,     /* bytes of shared memory of a block, about what every GPU grants */
    ON_CHIP = 227 << 10, /* and of a multiprocessor */
    FLIGHT = 32 << 10,   /* bytes on their way that keep a multiprocessor busy, about */
    SHORT_ROW = 256,     /* bytes of a row of the output: fewer are few lines */
    LONG_TILE = 64,      /* extents from there on are multiples of half as much */
    FINISHED = 4,        /* candidates that are looked at in detail */
    NARROW = 8,          /* accesses: fewer threads a row are not looked at */
    SPLIT = 64,          /* parts of an axis of rows, at most */
    TABLE = 512,         /* rows of a side, about */
    LANES = 32,
    WARPS = 4,     /* whose accesses are looked at, of 2 * LANES threads each */
    REMEMBERED = 8 /* plans, of a thread */
};

typedef struct shape {
    int n, unit, per; /* axes; bytes of a unit; units of a word, or 1 */
    int64_t extent[WK_KERNEL_AXES], in[WK_KERNEL_AXES], out[WK_KERNEL_AXES];
    int inner[WK_KERNEL_AXES], outer[WK_KERNEL_AXES]; /* axes, the fastest first */
    uint64_t from, to;
    int processors;
} shape;

typedef struct candidate {
    int64_t tile[WK_KERNEL_AXES], volume, tiles;
    int64_t in_run, out_run; /* units side by side, in either array */
    int64_t shared;          /* bytes of shared memory, about */
    double cost;
} candidate;

/* What a transpose takes, in times of a copy. Chosen by search for the least loss against the best of 18
 * tiles, H100, 256 MiB, 73 permutations of 2 to 6 axes: by what this model puts first it is 2.3 % (4,
 * 8, 16 bytes) and 3.7 % (1, 2 bytes) in the mean; of others that it has not seen, 2.5 and 5.0 %. */
typedef struct weights {
    double grain;   /* sectors of the output that two rows share                          */
    double split;   /* lines of the output that two tiles write, where rows are short     */
    double in, out; /* sectors a row: what a row costs                                    */
    double small;   /* tiles: less on its way than the memory needs                       */
    double large;   /* and more than its caches keep                                      */
    double idle;    /* threads with nothing to do                                         */
    double turn;    /* more turns of the banks than one                                   */
    double uneven;  /* rows of the output that do not begin at the same byte of a word    */
    double shifted; /* rows of the input that begin inside a word                         */
    double ends;    /* words that hold an end of the output's rows                        */
} weights;

static const weights long_units = {8, 10, 1.25, 0.55, 0.38, 0.78, 0, 0.04, 0, 0, 0};
static const weights short_units = {6, 0, 0.55, 0, 0.53, 0.56, 0.4, 0.12, 10, 0.42, 0.77};

static const weights *
weights_for(const shape *s)
{
    return s->per > 1 ? &short_units : &long_units;
}

/* ---- extents -------------------------------------------------------------------------------- */

/* About so much of an axis: no more tiles than that makes, of extents that rows and sectors divide. */
static int64_t
part(int64_t extent, int64_t wanted, int64_t sector)
{
    if (wanted >= extent) return extent;
    int64_t t = wk_blocks(extent, wk_blocks(extent, wanted));
    if (t >= LONG_TILE)
        t = wk_blocks(t, LONG_TILE / 2) * (LONG_TILE / 2);
    else if (t > sector)
        t = wk_blocks(t, sector) * sector;
    return wk_least(t, extent);
}

/* How many runs of so many units are a multiple of a sector. */
static int64_t
runs_of_sector(const shape *s, int64_t run)
{
    int64_t runs = WK_SECTOR / s->unit;
    for (; runs > 1 && run % 2 == 0; run /= 2) runs /= 2;
    return runs;
}

/* Lengthens a tile to runs of about so many units, along the axes of one side: it ends with an axis rather
 * than with two places of the next. H200, 1 GiB, boxes of 8 and 16 bytes: 1.03 of the rate in the mean, .89
 * to 1.36; of fewer bytes 1.00, .94 to 1.04. */
static void
reach(const shape *s, const int *order, int64_t wanted, int64_t *tile)
{
    int64_t run = 1;
    for (int i = 0; i < s->n && run < wanted; i++) {
        const int a = order[i];
        if (i > 0 && 2 * wanted < 3 * run) return;
        const int64_t t = part(s->extent[a], wk_blocks(wanted, run), runs_of_sector(s, run));
        tile[a] = wk_most(tile[a], t);
        run *= t;
        if (t < s->extent[a]) return;
    }
}

/* Units of a tile that lie side by side. */
static int64_t
run_of(const shape *s, const int *order, const int64_t *step, const int64_t *tile)
{
    int64_t run = 1;
    for (int i = 0; i < s->n; i++) {
        const int a = order[i];
        if (step[a] != run) break;
        run *= tile[a];
        if (tile[a] < s->extent[a]) break;
    }
    return run;
}

/* What the steps between rows of so many units are multiples of, as bits of bytes. */
static uint64_t
row_bits(const shape *s, const int *order, const int64_t *step, const int64_t *tile,
         int64_t run)
{
    uint64_t bits = 0;
    int64_t done = 1;
    for (int i = 0; i < s->n; i++) {
        const int a = order[i];
        if (done >= run && tile[a] > 1) bits |= (uint64_t)(step[a] * s->unit);
        done *= tile[a];
    }
    return bits;
}

/* And those between tiles. */
static uint64_t
tile_bits(const shape *s, const int64_t *step, const int64_t *tile)
{
    uint64_t bits = 0;
    for (int a = 0; a < s->n; a++)
        if (tile[a] < s->extent[a])
            bits |= (uint64_t)(step[a] * tile[a] * s->unit) |
                    (uint64_t)(step[a] * (s->extent[a] - tile[a]) * s->unit);
    return bits;
}

/* Bytes by which rows begin after a sector, at most. */
static double
cut_of(uint64_t bits)
{
    bits |= WK_SECTOR;
    return (double)(WK_SECTOR - (bits & (~bits + 1)));
}

/* The cost as far as it is known without the rows and threads. */
static void
rate(const shape *s, candidate *c)
{
    const weights *w = weights_for(s);
    double waste = 1, cost = 1;
    c->tiles = 1;
    for (int a = 0; a < s->n; a++) {
        const int64_t tiles = wk_blocks(s->extent[a], c->tile[a]);
        c->tiles *= tiles;
        waste *= (double)(tiles * c->tile[a]) / (double)s->extent[a];
    }
    c->in_run = run_of(s, s->inner, s->in, c->tile);
    c->out_run = run_of(s, s->outer, s->out, c->tile);
    const int64_t rows = c->volume / c->in_run + c->volume / c->out_run;
    c->shared = c->volume * s->unit * 27 / 25 + 9 * rows +
                8 * (wk_least(c->in_run, TABLE) + wk_least(c->out_run, TABLE));
    const uint64_t out_rows = row_bits(s, s->outer, s->out, c->tile, c->out_run);
    const uint64_t out_bits = s->to | tile_bits(s, s->out, c->tile) | out_rows;
    const double in = (double)(c->in_run * s->unit), out = (double)(c->out_run * s->unit);
    const double cut = cut_of(out_bits);
    cost += w->grain * cut / out + w->in * WK_SECTOR / in + w->out * WK_SECTOR / out;
    if (out < SHORT_ROW) cost += w->split * (1 - out / SHORT_ROW) * cut / WK_SECTOR;
    if (out_rows % WORD != 0) cost += w->uneven;
    if (out_bits % WORD != 0 || c->out_run % s->per != 0) cost += w->ends * WK_LINE / out;
    const double bytes = (double)(c->volume * s->unit), all = bytes * (double)c->tiles;
    const double blocks = (double)wk_least(ON_CHIP / (c->shared + WK_BOX_KEPT), WK_BOX_BLOCKS);
    double flight = blocks * bytes; /* of a multiprocessor */
    if (flight > all / s->processors) flight = all / s->processors;
    if (flight < 2 * FLIGHT) cost += w->small * (FLIGHT / flight - 0.5);
    cost += w->large * bytes / FLIGHT;
    const int64_t each = wk_blocks(c->tiles, s->processors);
    c->cost = cost * waste * (double)(each * s->processors) / (double)c->tiles;
}

/* ---- rows and threads ------------------------------------------------------------------------ */

/* One side of a box while it is planned: a place is a number of digits, each a part of an axis that
 * counts in steps of `first`. */
typedef struct side {
    const int64_t *step;
    uint64_t begin; /* of the array */
    uint64_t tiles; /* what the steps between tiles are multiples of, as bits */
    int64_t run;
    int out; /* is it the output's? */
    int n, row, extent[WK_BOX_DIGITS], axis[WK_BOX_DIGITS], first[WK_BOX_DIGITS];
    int units, rows, accesses, threads;
    int alike, aligned;
    double share; /* of a block's threads and turns that move something */
} side;

/* That share, and with how many threads a row it is the most. */
static double
best_threads(int accesses, int rows, int *threads)
{
    double best = 0;
    for (int turns = 1;; turns++) {
        const int x = (accesses + turns - 1) / turns;
        if (x > WK_BOX_THREADS) continue;
        const int y = (int)wk_least(WK_BOX_THREADS / x, rows), batch = y * WK_BOX_BATCH;
        const int down = (rows + batch - 1) / batch * WK_BOX_BATCH;
        const double share = (double)accesses * rows / ((double)turns * WK_BOX_THREADS * down);
        if (share > best * 1.03) {
            best = share;
            *threads = x;
        }
        if (x <= NARROW) return best;
    }
}

/* Keeps what `row` digits make a row, the last of them in `upper` parts, if it is the best so far. */
static void
try_rows(const shape *s, const candidate *c, const side *all, int row, int upper, side *best)
{
    side own = *all;
    own.row = row;
    if (upper > 1) {
        for (int i = own.n++; i > row; i--) {
            own.extent[i] = own.extent[i - 1];
            own.axis[i] = own.axis[i - 1];
            own.first[i] = own.first[i - 1];
        }
        own.axis[row] = own.axis[row - 1];
        own.extent[row] = upper;
        own.first[row] = own.extent[row - 1] /= upper;
    }
    own.units = 1;
    for (int i = 0; i < row; i++) own.units *= own.extent[i];
    own.rows = (int)(c->volume / own.units);
    uint64_t bits = 0;
    for (int i = row; i < own.n; i++)
        bits |= (uint64_t)(own.step[own.axis[i]] * own.first[i] * s->unit);
    own.alike = bits % WORD == 0;
    bits |= own.begin | own.tiles;
    own.aligned = bits % WORD == 0;
    if (own.out && own.units % s->per != 0) own.aligned = 0;
    own.accesses = own.out && !own.aligned ? (own.units + 2 * s->per - 2) / s->per
                   : own.units <= own.run  ? (own.units + s->per - 1) / s->per
                                           : own.units;
    own.share = best_threads(own.accesses, own.rows, &own.threads);
    /* The ends of rows are whole accesses; warps read the entries of several short ones. */
    own.share *= (double)own.units / own.accesses / s->per;
    own.share *= (double)own.threads / (own.threads + 4);
    if (own.rows > TABLE) own.share *= (double)TABLE / own.rows;
    if (own.share > best->share * 1.02) *best = own;
}

/* Which digits make a row: those side by side, at most so many, or fewer if that keeps more threads
 * busy. */
static side
side_of(const shape *s, const candidate *c, int out, int most)
{
    const int *order = out ? s->outer : s->inner;
    side all = {.step = out ? s->out : s->in, .begin = out ? s->to : s->from, .out = out};
    side best = {.share = 0};
    all.tiles = tile_bits(s, all.step, c->tile);
    all.run = out ? c->out_run : c->in_run;
    for (int i = 0; i < s->n; i++) {
        if (c->tile[order[i]] == 1 && !(i == s->n - 1 && all.n == 0)) continue;
        all.axis[all.n] = order[i];
        all.first[all.n] = 1;
        all.extent[all.n++] = (int)c->tile[order[i]];
    }
    int64_t units = 1;
    for (int row = 1; row <= all.n && row <= most; row++) {
        const int t = all.extent[row - 1];
        units *= t;
        if (row > 1 && units > all.run && (out || s->per > 1 || units / t >= LANES)) break;
        try_rows(s, c, &all, row, 1, &best);
        for (int upper = 2; upper <= SPLIT && upper <= t / 2; upper++)
            if (t % upper == 0 && t / upper % s->per == 0)
                try_rows(s, c, &all, row, upper, &best);
    }
    return best;
}

/* ---- shared memory --------------------------------------------------------------------------- */

typedef struct place {
    int near[WK_KERNEL_AXES]; /* bytes of an axis's step */
    int skip[WK_KERNEL_AXES]; /* and more after a word of them */
    int bytes;
} place;

/* The tile in the input's order, with a unit more after some axes; units of 1 and 2 bytes: with so many
 * words more after a row of the input, and one after each word of the output's fastest axis. */
static place
place_of(const shape *s, const candidate *c, const side *in, int pad)
{
    place p = {.bytes = 0};
    int bytes = s->unit;
    const int last = in->axis[in->row - 1], fastest = s->outer[0];
    int inside = 1; /* is the axis in a row? */
    for (int i = 0; i < s->n; i++) {
        const int a = s->inner[i];
        p.near[a] = bytes;
        bytes *= (int)c->tile[a];
        if (s->per == 1) {
            bytes += i + 1 < s->n && pad >> i & 1 ? s->unit : 0;
        } else {
            if (!inside && a == fastest && pad & 1) {
                p.skip[a] = WORD;
                bytes += (int)wk_blocks(c->tile[a], s->per) * WORD;
            }
            if (a == last) {
                bytes = (bytes + WORD - 1) / WORD * WORD + (pad >> 1) * WORD;
                inside = 0;
            }
        }
    }
    p.bytes = (bytes + 2 * WORD + 15) / 16 * 16;
    return p;
}

/* Where some accesses of some warps' lanes are in the tile: a coordinate for each axis. */
typedef struct accesses {
    int lanes, banks, warps, unit;
    int at[WARPS * WORD][LANES][WK_KERNEL_AXES];
} accesses;

static void
look(const shape *s, const side *side, accesses *x)
{
    const int per = side->out ? s->per : 1;
    x->unit = (int)wk_most(s->unit, WORD);
    x->lanes = x->banks = LANES * WORD / x->unit;
    x->warps = 0;
    memset(x->at, 0, sizeof x->at);
    for (int warp = 0; warp < WARPS; warp++)
        for (int e = 0; e < per; e++, x->warps++)
            for (int l = 0; l < x->lanes; l++) {
                const int thread = warp * 2 * LANES + l;
                int column = thread % side->threads, row = thread / side->threads % side->rows;
                column = (int)wk_least(column * s->per + e, side->units - 1);
                int *at = x->at[x->warps][l];
                for (int i = 0; i < side->n; i++) {
                    int *rest = i < side->row ? &column : &row;
                    at[side->axis[i]] += *rest % side->extent[i] * side->first[i];
                    *rest /= side->extent[i];
                }
            }
}

/* Turns that the banks take for such an access, 1 if there are no conflicts. */
static double
turns_of(const shape *s, const place *p, const accesses *x)
{
    int turns = 0;
    for (int w = 0; w < x->warps; w++) {
        int word[LANES], next[LANES], last[LANES], count[LANES] = {0}, most = 0;
        memset(last, -1, sizeof last);
        for (int l = 0; l < x->lanes; l++) {
            word[l] = 0;
            for (int a = 0; a < s->n; a++)
                word[l] += x->at[w][l][a] * p->near[a] + x->at[w][l][a] / s->per * p->skip[a];
            word[l] /= x->unit;
            const int bank = word[l] % x->banks;
            int k = last[bank];
            while (k >= 0 && word[k] != word[l]) k = next[k];
            if (k >= 0) continue;
            next[l] = last[bank];
            last[bank] = l;
            most = (int)wk_most(most, ++count[bank]);
        }
        turns += most;
    }
    return (double)turns / x->warps;
}

/* Does it pad after an axis of which a tile has one place? */
static int
pads_nothing(const shape *s, const candidate *c, int pad)
{
    for (int i = 0; i < s->n; i++)
        if (pad >> i & 1 && c->tile[s->inner[i]] == 1) return 1;
    return 0;
}

static place
best_place(const shape *s, const candidate *c, const side *in, const side *out, double *turns)
{
    place best = {.bytes = 0};
    double least = 1e9;
    const int pads = s->per > 1 ? 16 : 1 << (s->n - 1);
    accesses read, written;
    look(s, in, &read);
    look(s, out, &written);
    for (int pad = 0; pad < pads; pad++) {
        if (s->per == 1 && pads_nothing(s, c, pad)) continue;
        const place p = place_of(s, c, in, pad);
        const double t = (turns_of(s, &p, &read) + turns_of(s, &p, &written)) / 2;
        const double cost = t + 2.0 * p.bytes / (double)(c->volume * s->unit);
        if (cost >= least) continue;
        least = cost;
        best = p;
        *turns = t;
    }
    return best;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void
set_side(const shape *s, const place *p, const side *from, wk_box_side *to)
{
    *to = (wk_box_side){.digits = from->n, .row_digits = from->row};
    for (int i = 0; i < from->n; i++) {
        const int a = from->axis[i], first = from->first[i];
        to->digit[i].extent = from->extent[i];
        to->digit[i].far = (int)(from->step[a] * first);
        to->digit[i].near = first * p->near[a] + first / s->per * p->skip[a];
        to->digit[i].skip = first == 1 ? p->skip[a] : 0;
    }
    to->units = from->units;
    to->rows = from->rows;
    to->accesses = from->accesses;
    to->threads = from->threads;
}

/* Bytes of the kernel's tables: what each digit's places count. */
static int64_t
tables_of(const shape *s, const side *in, const side *out)
{
    int64_t entries = 0;
    const side *both[2] = {in, out};
    for (int i = 0; i < 2; i++) {
        const int batch = WK_BOX_THREADS / both[i]->threads * WK_BOX_BATCH;
        entries += wk_blocks(both[i]->rows, batch) * batch;
    }
    if (s->per == 1) return 8 * (entries + in->units + out->units);
    if (in->units > in->run) entries += in->units;
    return 8 * entries + 2 * s->per * (out->aligned ? 1 : s->per) * (int64_t)out->accesses;
}

/* The axes in the order in which tiles are numbered: those that cut a row of the output, and then of
 * the input, first, so that tiles that share sectors follow each other. */
static void
set_axes(const shape *s, const candidate *c, wk_box *box)
{
    int used[WK_KERNEL_AXES] = {0}, order[2 * WK_KERNEL_AXES + 2], count = 0;
    const int *both[2] = {s->outer, s->inner};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < s->n; i++) {
            const int a = both[k][i];
            if (c->tile[a] == s->extent[a]) continue;
            order[count++] = a;
            break;
        }
    for (int i = 0; i < s->n; i++) order[count++] = s->outer[i];
    for (int i = 0; i < count; i++) {
        const int a = order[i];
        if (used[a]) continue;
        used[a] = 1;
        box->axis[box->axes].extent = s->extent[a];
        box->axis[box->axes].in = s->in[a];
        box->axis[box->axes].out = s->out[a];
        box->axis[box->axes].tile = c->tile[a];
        box->axis[box->axes++].tiles = wk_blocks(s->extent[a], c->tile[a]);
        const int64_t last = s->in[a] * (c->tile[a] - 1);
        *(last < 0 ? &box->low : &box->high) += last;
    }
}

/* Sets the box of a candidate whose input rows have so many digits at most, and adds to its cost. */
static void
finish(const shape *s, const candidate *c, int most, wk_box *box)
{
    const weights *w = weights_for(s);
    const side in = side_of(s, c, 0, most), out = side_of(s, c, 1, WK_BOX_DIGITS);
    double turns = 1;
    const place p = best_place(s, c, &in, &out, &turns);
    *box = (wk_box){.bytes = p.bytes, .joined = in.units <= in.run};
    box->in_aligned = in.aligned && box->joined;
    box->alike = out.alike;
    box->out_aligned = out.aligned;
    set_axes(s, c, box);
    set_side(s, &p, &in, &box->in);
    set_side(s, &p, &out, &box->out);
    box->shared = p.bytes + (int)tables_of(s, &in, &out);
    box->cost = c->cost + w->turn * 2 * (turns - 1);
    box->cost += w->idle * (1 / in.share + 1 / out.share - 2) + (in.aligned ? 0 : w->shifted);
}

/* The digits of the input before the output's fastest axis. */
static int
digits_before(const shape *s, const candidate *c)
{
    int digits = 0;
    for (int i = 0; i < s->n && s->inner[i] != s->outer[0]; i++)
        digits += c->tile[s->inner[i]] > 1;
    return digits;
}

/* Sets the best box of a candidate. Rows of words have no gaps: those that end before the output's fastest
 * axis let its neighbours lie in different banks. */
static void
finish_best(const shape *s, const candidate *c, wk_box *box)
{
    finish(s, c, WK_BOX_DIGITS, box);
    const int before = digits_before(s, c);
    if (s->per == 1 || before == 0 || before >= box->in.row_digits) return;
    wk_box other;
    finish(s, c, before, &other);
    if (other.cost < box->cost) *box = other;
}

static int
fits(const shape *s, const candidate *c)
{
    int64_t reach = 0, written = 0;
    for (int a = 0; a < s->n; a++) {
        reach += llabs(s->in[a]) * (c->tile[a] - 1);
        written += s->out[a] * (c->tile[a] - 1);
    }
    return c->volume * s->unit <= MOST && wk_most(reach, written) <= INT32_MAX;
}

static void
sort_axes(shape *s)
{
    for (int i = 0; i < s->n; i++) {
        s->outer[i] = s->n - 1 - i;
        int at = i;
        const int64_t step = llabs(s->in[s->n - 1 - i]);
        for (; at > 0; at--) { /* broadcast axes last */
            const int64_t other = llabs(s->in[s->inner[at - 1]]);
            if (other != 0 && (step == 0 || other <= step)) break;
            s->inner[at] = s->inner[at - 1];
        }
        s->inner[at] = s->n - 1 - i;
    }
}

/* The best candidates by their runs, the best first; how many. */
static int
candidates(const shape *s, candidate *best)
{
    int found = 0;
    for (int64_t in = 64; in <= MOST; in += in / 2)
        for (int64_t out = 64; out <= MOST; out += out / 2) {
            candidate c = {.volume = 1};
            for (int a = 0; a < s->n; a++) c.tile[a] = 1;
            reach(s, s->inner, wk_blocks(in, s->unit), c.tile);
            reach(s, s->outer, wk_blocks(out, s->unit), c.tile);
            for (int a = 0; a < s->n; a++) c.volume *= c.tile[a];
            if (!fits(s, &c)) break;
            rate(s, &c);
            if (c.shared > MOST) continue;
            int at = found, known = 0;
            for (int i = 0; i < found; i++)
                known |= memcmp(best[i].tile, c.tile, sizeof c.tile[0] * (size_t)s->n) == 0;
            if (known) continue;
            if (found == FINISHED && best[found - 1].cost <= c.cost) continue;
            if (found < FINISHED)
                found++;
            else
                at--;
            for (; at > 0 && best[at - 1].cost > c.cost; at--) best[at] = best[at - 1];
            best[at] = c;
        }
    return found;
}

/* The best of some candidates. 0: none fits. */
static int
choose(const shape *s, wk_box *box)
{
    candidate best[FINISHED];
    const int found = candidates(s, best);
    int chosen = 0;
    for (int i = 0; i < found; i++) {
        wk_box trial;
        finish_best(s, &best[i], &trial);
        if (trial.shared > MOST || (chosen && trial.cost >= box->cost)) continue;
        *box = trial;
        chosen = 1;
    }
    return chosen;
}

/* A plan takes as long as a small transpose, and programs permute the same shapes again and again: each
 * thread remembers its last ones. */
static __thread struct {
    struct {
        shape of;
        wk_box box;
        int found;
    } plan[REMEMBERED];
    int next;
} memory;

int
wk_plan_box(const wk_tiles_axis *axis, int n, int unit, uint64_t from, uint64_t to,
            int processors, wk_box *box)
{
    shape s;
    if (n > WK_KERNEL_AXES) return 0;
    memset(&s, 0, sizeof s); /* compared as bytes */
    s.n = n;
    s.unit = unit;
    s.per = unit < WORD ? WORD / unit : 1;
    s.from = from % WK_SECTOR;
    s.to = to % WK_SECTOR;
    s.processors = processors;
    for (int a = 0; a < n; a++) {
        s.extent[a] = axis[a].extent;
        s.in[a] = axis[a].in / unit;
        s.out[a] = axis[a].out / unit;
    }
    sort_axes(&s);
    for (int i = 0; i < REMEMBERED; i++)
        if (memcmp(&memory.plan[i].of, &s, sizeof s) == 0) {
            *box = memory.plan[i].box;
            return memory.plan[i].found;
        }
    const int at = memory.next++ % REMEMBERED;
    memory.plan[at].of = s;
    memory.plan[at].found = choose(&s, &memory.plan[at].box);
    *box = memory.plan[at].box;
    return memory.plan[at].found;
}
