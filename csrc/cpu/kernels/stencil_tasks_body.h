/* stencil_tasks_body.h -- what a thread does of a stencil: brings rows near, as the sums' type S,
 * and stores what SUMS(line) and SUMS(columns) make of them. No include guard. */

/* ---- rows ------------------------------------------------------------------------------- */

static void
SUMS(load_rows)(const wk_stencil *j, const char *from, int64_t rows, S *x)
{
    const int64_t each = j->inner / j->twice;
    if (j->in_n == each * j->in_item) {
        j->load(from, 1, rows * each, x);
    } else if (each == 1) {
        j->load(from, j->in_n / j->in_item, rows, x);
    } else {
        for (int64_t r = 0; r < rows; r++)
            j->load(from + r * j->in_n, 1, each, x + r * j->inner);
    }
}

/* cval as `n` parts, the first of even index. */
static void
SUMS(fill)(const wk_stencil *j, int64_t n, S *x)
{
    const S cval[2] = {(S)j->cval[0], (S)j->cval[1]};
    for (int64_t i = 0; i < n; i++) x[i] = cval[i & 1];
}

/* The row that stands at x[i], beyond an end of the line: x holds rows k ..., of which from .. to
 * are there. */
static void
SUMS(beyond)(const wk_stencil *j, const char *line, int64_t k, int64_t i, int64_t from,
             int64_t to, S *x)
{
    const int64_t inner = j->inner;
    const int64_t at = k + i < 0 ? j->left[k + i + j->args->before] : j->right[k + i - j->n];
    if (at < 0)
        SUMS(fill)(j, inner, x + i * inner);
    else if (at < k + from || at >= k + to)
        SUMS(load_rows)(j, line + at * j->in_n, 1, x + i * inner);
    else if (inner == 1)
        x[i] = x[at - k];
    else
        memcpy(x + i * inner, x + (at - k) * inner, (size_t)inner * sizeof *x);
}

/* Rows k .. k + count - 1 of a line, those beyond its ends by the mode. */
static void
SUMS(window)(const wk_stencil *j, const char *line, int64_t k, int64_t count, S *x)
{
    int64_t from = k < 0 ? -k : 0, to = k + count > j->n ? j->n - k : count;
    if (from > count) from = count;
    if (to < from) to = from;
    if (to > from)
        SUMS(load_rows)(j, line + (k + from) * j->in_n, to - from, x + from * j->inner);
    if (j->inner == 1 && to - from == j->n) { /* all that the ends repeat is in x */
        const int64_t *left = j->left + k + j->args->before, *right = j->right + k - j->n;
        const S cval = (S)j->cval[0];
        for (int64_t i = 0; i < from; i++) x[i] = left[i] < 0 ? cval : x[left[i] - k];
        for (int64_t i = to; i < count; i++) x[i] = right[i] < 0 ? cval : x[right[i] - k];
        return;
    }
    for (int64_t i = 0; i < from; i++) SUMS(beyond)(j, line, k, i, from, to, x);
    for (int64_t i = to; i < count; i++) SUMS(beyond)(j, line, k, i, from, to, x);
}

/* ---- lines ------------------------------------------------------------------------------ */

/* Outputs i .. i + m - 1 of a line, from a window of it. x and y are scratch. */
static void
SUMS(windowed)(const wk_stencil *j, const char *line, int64_t i, int64_t m, S *x, S *y,
               char *out)
{
    const int64_t n = m * j->inner;
    const int straight = j->as_summed && n >= VL; /* no vector reaches beyond it */
    SUMS(window)(j, line, i - j->args->before, m + j->halo, x);
    SUMS(line)(j, x, n, straight ? (S *)out : y);
    if (!straight) j->store(y, n, out);
}

/* Likewise; what needs none of the line's ends is read where it is. */
static void
SUMS(one_line)(const wk_stencil *j, const char *line, int64_t i, int64_t m, S *x, S *y,
               char *out)
{
    const int64_t inner = j->inner, item = j->out_item, vector = (VL + inner - 1) / inner;
    const int64_t k = i - j->args->before, beyond = k + m + j->halo - j->n;
    int64_t head = k < 0 ? -k : 0, tail = beyond > 0 ? beyond : 0;
    if (head > 0 && head < vector) head = vector;
    if (tail > 0 && tail < vector) tail = vector;
    if (!(j->as_in_place || j->fused) || head + tail + vector > m) {
        SUMS(windowed)(j, line, i, m, x, y, out);
        return;
    }
    const int64_t middle = m - head - tail, n = middle * inner;
    const char *from = line + (k + head) * j->in_n;
    char *to = out + head * inner * item;
    if (head > 0) SUMS(windowed)(j, line, i, head, x, y, out);
    if (j->fused) {
        j->fused(from, inner, j->taps, j->halo + 1, n, to);
    } else {
        SUMS(line)(j, (const S *)from, n, j->as_summed ? (S *)to : y);
        if (!j->as_summed) j->store(y, n, to);
    }
    if (tail > 0) SUMS(windowed)(j, line, i + m - tail, tail, x, y, to + n * item);
}

static void
SUMS(some_lines)(const wk_stencil *j, int64_t first, int64_t lines, int64_t i, int64_t m, S *x)
{
    const int64_t n = m * j->inner, pitch = (m + j->halo) * j->inner;
    const int straight = j->as_summed && n >= VL;
    const char *line = j->in + first * j->in_outer;
    char *out = j->out + (first * j->outputs + i) * j->inner * j->out_item;
    S *y = x + j->group * (j->rows + j->halo) * j->inner + WK_STENCIL_PAD / sizeof *x;
    if (lines == 1) {
        SUMS(one_line)(j, line, i, m, x, y, out);
        return;
    }
    for (int64_t l = 0; l < lines; l++)
        SUMS(window)(j, line + l * j->in_outer, -j->args->before, m + j->halo, x + l * pitch);
    SUMS(short_lines)(j, x, pitch, lines, n, straight ? (S *)out : y);
    if (!straight) j->store(y, lines * n, out);
}

void
WK_ISA_NAME(SUMS(wk_stencil_lines))(void *arg, int64_t begin, int64_t end, int thread)
{
    const wk_stencil *j = arg;
    const wk_fp_state state = wk_fp_begin();
    for (int64_t task = begin; task < end && !wk_interrupted(); task++) {
        const int64_t first = task / j->row_blocks * j->group;
        const int64_t i = task % j->row_blocks * j->rows;
        const int64_t lines = j->outer - first < j->group ? j->outer - first : j->group;
        const int64_t m = j->outputs - i < j->rows ? j->outputs - i : j->rows;
        SUMS(some_lines)(j, first, lines, i, m, (S *)(j->scratch + thread * j->scratch_each));
    }
    wk_fp_end(state);
}

/* ---- columns ---------------------------------------------------------------------------- */

typedef struct SUMS(block) { /* outputs i .. i + m - 1 of columns c .. c + w - 1 */
    int64_t outer, i, m, c, w;
    const S **rows;       /* those that the outputs need, and WK_STENCIL_ROWS - 1 more */
    int64_t ready, count; /* how many of them are there, and how many there are        */
    S *ring, *cval, *y;
    int64_t pitch; /* of the ring */
} SUMS(block);

/* Where row r of the block lies, or NULL. */
static const char *
SUMS(row_address)(const wk_stencil *j, const SUMS(block) * b, int64_t r)
{
    if (r >= b->count) return NULL;
    const int64_t at = wk_extend(b->i + r - j->args->before, j->n, j->args->mode);
    return at < 0
               ? NULL
               : j->in + b->outer * j->in_outer + at * j->in_n + b->c / j->twice * j->in_item;
}

static void
SUMS(next_row)(const wk_stencil *j, SUMS(block) * b)
{
    const int64_t r = b->ready++;
    const char *from = SUMS(row_address)(j, b, r);
    S *slot = b->ring + r % j->ring * b->pitch;
    if (from == NULL) {
        b->rows[r] = b->cval;
    } else if (j->as_in_place && b->w >= VL) {
        b->rows[r] = (const S *)from;
    } else {
        j->load(from, 1, b->w / j->twice, slot);
        b->rows[r] = slot;
    }
}

/* Outputs i ... of the block, up to WK_STENCIL_ROWS of them, as rows of results. While they are
 * summed, the rows that the next ones add are on their way. */
static void
SUMS(store_rows)(const wk_stencil *j, SUMS(block) * b, int64_t i)
{
    const int64_t rows = b->m - i < WK_STENCIL_ROWS ? b->m - i : WK_STENCIL_ROWS;
    const int straight = j->as_summed && rows == WK_STENCIL_ROWS && b->w >= VL;
    char *out = j->out + ((b->outer * j->outputs + b->i + i) * j->width + b->c) * j->out_item;
    if (straight && j->as_in_place) {
        SUMS(columns)(j, b->rows + i, 0, b->w, (S *)out, j->width);
        return;
    }
    const char *next[WK_STENCIL_ROWS];
    for (int q = 0; q < WK_STENCIL_ROWS; q++)
        next[q] = SUMS(row_address)(j, b, i + j->halo + WK_STENCIL_ROWS + q);
    for (int64_t c = 0; c < b->w;) {
        const int64_t left = b->w - c, w = left < 2 * WK_STENCIL_PART ? left : WK_STENCIL_PART;
        for (int q = 0; q < WK_STENCIL_ROWS && next[q]; q++)
            for (int64_t at = 0; at < w / j->twice * j->in_item; at += 64)
                __builtin_prefetch(next[q] + c / j->twice * j->in_item + at, 0, 2);
        if (straight) {
            SUMS(columns)(j, b->rows + i, c, w, (S *)out + c, j->width);
        } else {
            SUMS(columns)(j, b->rows + i, c, w, b->y, 2 * WK_STENCIL_PART + VL);
            for (int64_t q = 0; q < rows; q++)
                j->store(b->y + q * (2 * WK_STENCIL_PART + VL), w,
                         out + (q * j->width + c) * j->out_item);
        }
        c += w;
    }
}

/* Outputs i .. i + rows - 1, whose sums are in b->y, as runs of lines. */
static void
SUMS(turn)(const wk_stencil *j, SUMS(block) * b, int64_t i, int64_t rows)
{
    const int64_t inner = j->inner;
    S *run = b->y + WK_STENCIL_TURNED * b->pitch;
    for (int64_t c = 0; c < b->w; c += inner) {
        const int64_t line = (b->c + c) / inner;
        const S *from = b->y + c;
        if (inner == 1)
            for (int64_t r = 0; r < rows; r++) run[r] = from[r * b->pitch];
        else
            for (int64_t r = 0; r < rows; r++)
                for (int64_t p = 0; p < inner; p++) run[r * inner + p] = from[r * b->pitch + p];
        j->store(run, rows * inner,
                 j->out + (line * j->outputs + b->i + i) * inner * j->out_item);
    }
}

static void
SUMS(one_block)(const wk_stencil *j, SUMS(block) * b, int turned)
{
    for (int64_t i = 0; i < b->m; i += WK_STENCIL_ROWS) {
        if ((takes_long(j) || i % 64 == 0) && wk_interrupted()) return;
        const int64_t until = i + WK_STENCIL_ROWS + j->halo;
        while (b->ready < b->count && b->ready < until) SUMS(next_row)(j, b);
        if (b->ready == b->count) /* outputs beyond the last, which nobody stores */
            for (int64_t r = b->count; r < until; r++) b->rows[r] = b->rows[b->count - 1];
        if (!turned) {
            SUMS(store_rows)(j, b, i);
            continue;
        }
        const int64_t at = i % WK_STENCIL_TURNED, done = at + WK_STENCIL_ROWS;
        SUMS(columns)(j, b->rows + i, 0, b->w, b->y + at * b->pitch, b->pitch);
        if (done == WK_STENCIL_TURNED || i + WK_STENCIL_ROWS >= b->m)
            SUMS(turn)(j, b, i - at, b->m - (i - at) < done ? b->m - (i - at) : done);
    }
}

static void
SUMS(blocks)(const wk_stencil *j, int64_t begin, int64_t end, char *scratch, int turned)
{
    const wk_fp_state state = wk_fp_begin();
    const int64_t pitch = j->columns + WK_STENCIL_PAD / (int64_t)sizeof(S);
    const int64_t pointers = j->rows + j->halo + WK_STENCIL_ROWS;
    SUMS(block) b = {.rows = (const S **)scratch, .pitch = pitch};
    b.cval = (S *)(scratch + pointers * (int64_t)sizeof *b.rows);
    b.ring = b.cval + pitch;
    b.y = b.ring + j->ring * pitch;
    SUMS(fill)(j, j->columns, b.cval);
    for (int64_t task = begin; task < end && !wk_interrupted(); task++) {
        const int64_t rest = task / j->column_blocks;
        b.c = task % j->column_blocks * j->columns;
        b.i = rest % j->row_blocks * j->rows;
        b.outer = rest / j->row_blocks;
        b.w = j->width - b.c < j->columns ? j->width - b.c : j->columns;
        b.m = j->outputs - b.i < j->rows ? j->outputs - b.i : j->rows;
        b.ready = 0;
        b.count = b.m + j->halo;
        SUMS(one_block)(j, &b, turned);
    }
    wk_fp_end(state);
}

void
WK_ISA_NAME(SUMS(wk_stencil_columns))(void *arg, int64_t begin, int64_t end, int thread)
{
    const wk_stencil *j = arg;
    SUMS(blocks)(j, begin, end, j->scratch + thread * j->scratch_each, 0);
}

void
WK_ISA_NAME(SUMS(wk_stencil_turned))(void *arg, int64_t begin, int64_t end, int thread)
{
    const wk_stencil *j = arg;
    SUMS(blocks)(j, begin, end, j->scratch + thread * j->scratch_each, 1);
}
