"""Faults for tools/mutate.py to plant in the exact sums, one at a time: each must fail a test.

Of the file's text the first is there once, and the second takes its place.
"""

EXACT = "csrc/exact.h"
BINS = "cuda/reduce/bins.cuh"
FINISH = "cuda/reduce/finish.cuh"
MOMENTS = "cuda/reduce/moments.cuh"
PLAIN = "cuda/reduce/plain.cuh"
SLOW = "cuda/reduce/slow.cuh"
SUMMARY = "cuda/reduce/summary.cuh"
JOIN = "cuda/reduce/join.cuh"

PLANTED = [
    # limbs: adding, carrying, the leading bits
    (EXACT, "a->limb[i + 2] += high;", "a->limb[i + 2] += shift ? high : 0;"),
    (EXACT, "carry = v >> 32;", "carry = v / ((int64_t)1 << 32);"),
    (EXACT, "a->limb[a->count - 1] += carry;", ";"),
    (EXACT, "if (a->limb[a->count - 1] >= 0) return 0;", "if (a->limb[0] >= 0) return 0;"),
    (EXACT, "v.w[0] |= ninth >> (32 - s);", ";"),
    (EXACT, "i >= 0 && !v.sticky; i--) v.sticky = a->limb[i] != 0;", "i >= 0 && 0; i--) ;"),
    # rounding
    (EXACT, "m += (v->w[3] & half) && (rest || (m & 1));", "m += (v->w[3] & half) != 0;"),
    (EXACT, "m += (v->w[3] & half) && (rest || (m & 1));", "m += (v->w[3] & half) && rest;"),
    (EXACT, "if (unit < f.least) unit = f.least;", ";"),
    (EXACT, "if (last > f.most) return", "if (last > 1023) return"),
    (EXACT, "v->sticky |= rest != 0;", ";"),
    (EXACT, "cut |= (unsigned __int128)root * root != x;", ";"),
    # what is made of them
    (
        EXACT,
        "if (divide) wk_divide(&v, (uint64_t)m->n);",
        "if (divide) wk_divide(&v, (uint64_t)m->n + 1);",
    ),
    (EXACT, "a->limb[i + j + 1] -= (int64_t)(p >> 32);", ";"),
    (EXACT, "infinite == (WK_HAS_INF | WK_HAS_MINUS_INF)) return wk_nan();", "0) return wk_nan();"),
    # bins: their grids, windows and rests
    (
        BINS,
        "x = x - q;\n            s[k] = t;",
        "x = x - q;\n            s[k] = s[k] + q;\n            x = 0;",
    ),
    (
        BINS,
        "static constexpr int kWidth = 51 - kBatches - kTerms;",
        "static constexpr int kWidth = 53;",
    ),
    (BINS, "top = (top > own ? top : own) + 1;", "top = top + 1;"),
    (BINS, "b.clear(top + 1 + 4 - 50);", "b.clear(top - 4 - 50);"),
    (BINS, "b.clear(top + 1 + 3 + 5 - 50);", "b.clear(top - 4 - 50);"),
    (BINS, "(unsigned)x & 0x3ffffffu", "(unsigned)x & 0x1ffffffu"),
    (BINS, "if (rest == 0 || (b & 1)) return x;\n    return wk", "return x;\n    return wk"),
    # moments: when a batch may be added in double, and when it must not
    (MOMENTS, "is_same_v<E, brain16> ? 43 : 27;", "is_same_v<E, brain16> ? 60 : 44;"),
    (MOMENTS, "is_same_v<E, brain16> ? 18 : 15;", "is_same_v<E, brain16> ? 30 : 24;"),
    (MOMENTS, "flags |= rest.any() ? kFailed : 0;", ";"),
    (MOMENTS, "if (wk_bits_f64(h) >> 32 == 0) rest.note(v);", ";"),
    (MOMENTS, "rest.note(squares.template put<1>(__fma_rn(v, v, -h)));", ";"),
    (
        MOMENTS,
        "flags |= wk_bits_f64(d) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO;",
        "flags |= WK_NOT_MINUS_ZERO;",
    ),
    (MOMENTS, "if (b >> 63) m = -m;", ";"),
    (MOMENTS, "add_piece(q, step, 2 * high * low, 2 * e + 27 - kSquareBase, false);", ";"),
    (PLAIN, "is_same_v<E, brain16> ? 44 : 28;", "is_same_v<E, brain16> ? 60 : 44;"),
    (PLAIN, "if (!(sum - sum == 0) || !(magnitude < INFINITY)) return true;", ";"),
    # results from two doubles, and when they do not settle them
    (FINISH, "fits = fits && more == 0;", ";"),
    (FINISH, "e = 2 * e + fabs(l) * 0x1p-50; // to spare: for what is rounded here", "e = 0;"),
    (FINISH, "*l = (rest + *l) / d;\n", "*l = rest / d;\n"),
    (FINISH, "if (!(error < h * 0x1p-30)) return false;", ";"),
    (FINISH, "if (rest == 0 || (b & 1) || !(fabsf(near) < INFINITY)) return near;", "return near;"),
    # what is folded again, and records
    (SLOW, "if (how == 1 && first && state) Acc::add_words_to(state, all);", ";"),
    (SLOW, "if (how == 2 && first) Acc::add_words_to(mine.words, all);", ";"),
    (SUMMARY, "if (kMany) words[1] |= kManyBins;", ";"),
    (JOIN, "quick = Acc::narrow(record, words) && quick;", "Acc::narrow(record, words);"),
]
