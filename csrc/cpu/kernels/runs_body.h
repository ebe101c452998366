/* runs_body.h -- runs of elements of type U, which are bits or keys. No include guard.
 *   DIFFER(a, b)  are neighbours of two runs?     VALUE(a)  bits of the result, of type V */

/* Flags of elements at .. at + 63, the lowest bit the first's; at > 0, and beyond end none. */
static uint64_t
RUNS(heads)(const void *in, int64_t at, int64_t end)
{
    const U *x = (const U *)in + at;
    uint8_t flags[64];
    uint64_t word = 0, eight;
    if (end - at < 64) {
        for (int i = 0; i < end - at; i++) word |= (uint64_t)(DIFFER(x[i], x[i - 1])) << i;
        return word;
    }
    for (int i = 0; i < 64; i++) flags[i] = (uint8_t)(DIFFER(x[i], x[i - 1]));
    for (int i = 0; i < 64; i += 8) { /* bit 0 of each of 8 bytes to the top byte */
        memcpy(&eight, flags + i, 8);
        word |= (eight * 0x0102040810204080u >> 56) << i;
    }
    return word;
}

static int64_t
RUNS(count)(const void *in, int64_t begin, int64_t end, int64_t *last)
{
    int64_t count = begin == 0;
    *last = begin == 0 ? 0 : -1;
    for (int64_t at = begin + (begin == 0); at < end; at += 64) {
        const uint64_t word = RUNS(heads)(in, at, end);
        count += __builtin_popcountll(word);
        if (word) *last = at + 63 - __builtin_clzll(word);
    }
    return count;
}

/* Heads of begin .. end - 1, the first of which is number r; the head before it is at prev. A count
 * is written by whoever meets the next head. */
static int64_t
RUNS(write)(const job *j, int64_t begin, int64_t end, int64_t r, int64_t *prev)
{
    const U *x = j->in;
    V *values = j->values;
    int64_t *counts = j->counts, before = *prev;
    if (begin == 0) {
        values[r++] = VALUE(x[0]);
        before = 0;
    }
    for (int64_t at = begin + (begin == 0); at < end; at += 64) {
        uint64_t word = RUNS(heads)(x, at, end);
        if (word == UINT64_MAX) { /* all of them: no bit is looked for */
            for (int i = 0; i < 64; i++) values[r + i] = VALUE(x[at + i]);
            counts[r - 1] = at - before;
            for (int i = 0; i < 63; i++) counts[r + i] = 1;
            before = at + 63;
            r += 64;
            continue;
        }
        for (; word; word &= word - 1) {
            const int64_t p = at + __builtin_ctzll(word);
            values[r] = VALUE(x[p]);
            counts[r - 1] = p - before;
            before = p;
            r++;
        }
    }
    *prev = before;
    return r;
}

#undef U
#undef V
#undef DIFFER
#undef VALUE
#undef RUNS
