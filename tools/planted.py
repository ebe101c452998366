"""Faults for tools/mutate.py to plant in the exact sums, in the production transposes, in the
stencils, in the histograms and in the warp primitives, one at a time: each must fail a test.

Of the file's text the first is there once, and the second takes its place.
"""

EXACT = "csrc/num/exact.h"
DOUBLES = "cuda/reduce/production/doubles.cuh"
FLOATS = "cuda/reduce/production/floats.cuh"
RESULTS = "cuda/reduce/production/results.cuh"
MOMENTS = "cuda/reduce/production/results.cu"
TABLE = "cuda/reduce/production/table.cuh"
INTEGERS = "cuda/reduce/production/table.cu"
SCALED = "cuda/reduce/production/scaled.cu"
ARG = "cuda/reduce/production/arg.cuh"
EXTREME = "cuda/reduce/production/extreme.cuh"
FOLD_LINES = "cuda/reduce/production/lines.cuh"
PREFIXES = "cuda/reduce/production/prefixes.cu"
FOLD_EXACT = "cuda/reduce/production/exact.cu"
GATHER = "cuda/reduce/production/gather.cu"
FOLD_ROWS = "cuda/reduce/production/rows.cuh"
FOLD_COLUMNS = "cuda/reduce/production/columns.cuh"
FOLD_WHOLE = "cuda/reduce/production/whole.cuh"
QUICK = "cuda/reduce/production/quick.cuh"
QUICK_LANES = "cuda/reduce/production/quick_lanes.cuh"
OF_INTEGERS = "cuda/reduce/production/integers.cuh"
SUMMARY = "cuda/reduce/production/summary.cuh"
LAUNCH = "cuda/reduce/production/launch.cuh"
PRODUCTS = "cuda/reduce/production/tree.cuh"
SPREAD = "csrc/num/spread.h"

PLAN = "csrc/tiles.c"
TILES = "cuda/transpose/production/tiles.cu"
SHARED = "cuda/transpose/production/tiles.cuh"
ALIGNED = "cuda/transpose/production/tiles_aligned.cu"
BOXES = "cuda/transpose/production/tiles_boxes.cu"
ROWS = "cuda/transpose/production/tiles_rows.cu"
SHORT = "cuda/transpose/production/tiles_short.cu"
UNITS = "cuda/transpose/production/tiles_units.cu"
WORDS = "cuda/transpose/production/tiles_words.cu"
TURN = "cuda/prim/turn.cuh"

LADDER = "cuda/stencil/ladder/ladder.cuh"
GMEM = "cuda/stencil/ladder/01_gmem.cu"
READONLY = "cuda/stencil/ladder/02_readonly.cu"
CONSTANT = "cuda/stencil/ladder/03_constant.cu"
DIVERGENT = "cuda/stencil/ladder/04_constant_divergent.cu"
SMEM_READONLY = "cuda/stencil/ladder/05_smem_readonly.cu"
REGISTERS = "cuda/stencil/ladder/06_registers.cu"
LINES = "cuda/stencil/production/lines.cu"
LINES_SHARED = "cuda/stencil/production/lines.cuh"
STENCIL_ROWS = "cuda/stencil/production/rows.cuh"
STENCIL_PLANES = "cuda/stencil/production/planes.cuh"
STENCIL_COLUMNS = "cuda/stencil/production/columns.cuh"
STENCIL_SHORT = "cuda/stencil/production/short.cuh"
STENCIL_ELEMENTS = "cuda/stencil/production/elements.cuh"
STENCIL_CONVERT = "cuda/stencil/production/convert.cuh"
COMPLEX = "cuda/stencil/production/complex.cu"

COUNTERS = "cuda/histogram/ladder/ladder.cuh"
SMEM_ATOMIC = "cuda/histogram/ladder/02_smem_atomic.cu"
SMEM_PRIVATE = "cuda/histogram/ladder/03_smem_private.cu"
MATCH_ANY = "cuda/histogram/ladder/04_match_any.cu"
KEYS = "cuda/prim/keys.cuh"
GROUPS = "cuda/histogram/warp_groups.cuh"
SORTED_SMEM = "cuda/histogram/ladder/warp_sorted_smem.cu"
SORTED_LINEAR = "cuda/histogram/ladder/warp_sorted_linear.cu"
SORTED_SELECT = "cuda/histogram/ladder/warp_sorted_select.cu"
FNS = "cuda/histogram/ladder/warp_fns.cu"
WARP_MATCH_ANY = "cuda/histogram/ladder/warp_match_any.cu"
BITONIC = "cuda/histogram/production/warp_bitonic.cu"
STREAM = "cuda/histogram/production/stream.cuh"
EDGES = "csrc/num/edges.h"
BUCKETS = "cuda/histogram/production/buckets.cuh"
POLICIES = "cuda/histogram/production/policies.cuh"
BINS_OF = "cuda/histogram/bins.cuh"
SHARED_BINS = "cuda/histogram/production/shared.cuh"
BYTES = "cuda/histogram/production/bytes.cu"
SPLIT = "cuda/histogram/production/split.cu"
FIELDS = "cuda/histogram/production/fields.cuh"
PLANES = "cuda/histogram/production/planes.cu"
HOT = "cuda/histogram/production/hot.cuh"
SAMPLE = "cuda/histogram/production/hot.cu"
DIRECT = "cuda/histogram/production/direct.cu"
NEAR = "cuda/histogram/production/weights_near.cuh"
WEIGHTS = "cuda/histogram/production/weights_finish.cu"
EXTREMES = "cuda/histogram/production/weights_extremes.cu"
ORDERED = "csrc/num/ordered.h"
NETWORK = "cuda/prim/warp.cuh"
RUN_ROWS = "cuda/unique/rows.cuh"
RUNS = "cuda/unique/runs.cuh"
COUNTED = "cuda/unique/counted.cuh"
RADIX = "cuda/unique/radix.cuh"

LANES = "csrc/num/lanes.h"
WARPS = "cuda/warp/lanes.cuh"
FOLD = "cuda/warp/fold.cuh"
SHFL = "cuda/warp/production/shfl.cu"
VOTE = "cuda/warp/production/vote.cu"
MATCH = "cuda/warp/production/match.cu"
MATCH_SHFL = "cuda/warp/ladder/match_shfl.cu"
SCAN = "cuda/warp/production/scan.cu"
DOWN = "cuda/warp/ladder/reduce_down.cu"
LANE_BITS = "cuda/warp/production/bits.cu"
LANE_ARRAYS = "cuda/warp/production/arrays.cu"
TILE = "cuda/smem/tile.cuh"
READS = "cuda/smem/reads_shared.cu"

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
    # few doubles: what additions leave, what is lost, and what is cut at a bias
    (DOUBLES, "*rest = (a - (sum - back)) + (b - back);", "*rest = b - back;"),
    (DOUBLES, "        lost += fabs(x);", "        ;"),
    (DOUBLES, "lower += x - (next - upper);", ";"),
    (DOUBLES, "lower += __fma_rn(x, x, upper - next);", ";"),
    (DOUBLES, "if (rest == 0 || (b & 1)) return x;\n    return wk", "return x;\n    return wk"),
    # batches: when they may be added in double or cut, and what is lost else
    (FLOATS, "return most < 0x7c000000 && low - low == 0;", "return low - low == 0;"),
    (FLOATS, "return most < (kFloat16 ? 0x7c00 : 0x7f80) &&", "return"),
    (FLOATS, "w < (N - M) / 2; w++", "w < M / 2; w++"),
    (FLOATS, "kPlain = kHalf ? 42 : 26,", "kPlain = kHalf ? 60 : 44,"),
    (FLOATS, "kPlainSquares = kFloat16 ? 15 : 18;", "kPlainSquares = kFloat16 ? 24 : 30;"),
    (FLOATS, "kCut = kHalf ? 90 : 75;", "kCut = kHalf ? 140 : 120;"),
    (
        FLOATS,
        "if (!range.within(kCut)) sum[part].lost += wk_power_of_two(e > -900 ? e - 90 : -990);",
        ";",
    ),
    (FLOATS, "+ ((uint32_t)b != 0) - 1u;", "- 1u;"),
    (FLOATS, "return high() <= (least >> 1) + (binades << kDigits) && finite();", "return true;"),
    # float64: what a bias that stays for many batches loses, and where it is widened
    (DOUBLES, "low.add(__fma_rn(x, x, -square));", ";"),
    (DOUBLES, "last() < top + 2 * room - 48", "last() < top + 2 * room - 120"),
    (DOUBLES, "last() < top + room - 24", "last() < top + room - 900"),
    (DOUBLES, "        lower += other.lower;", "        ;"),
    (DOUBLES, "} else if (e > top) {", "} else if (e > top + 60) {"),
    (DOUBLES, "least = key < least ? key : least;", "least = key;"),
    (FLOATS, "high = fabs(two_sum(", "high = (two_sum("),
    (FLOATS, "most <= least + (15 << 7)", "most <= least + (24 << 7)"),
    (FLOATS, "return most < 0x7f00 &&", "return most < 0x7f80 &&"),
    (RESULTS, "p.high = two_sum(p.high, p.low, &p.low);", ";"),
    # results from two doubles, and when they do not settle them
    (RESULTS, "lost += 2 * fabs(more);", ";"),
    (RESULTS, "e = 2 * e + fabs(l) * 0x1p-50; // to spare: for what is rounded here", "e = 0;"),
    (RESULTS, "if (e < fabs(h) * 0x1p-54) {", "if (true) {"),
    (RESULTS, "more = __fma_rn(__fma_rn(-more, d, left), inverse, more);", "more = 0;"),
    (RESULTS, "if (e != 0) e += size * 0x1p-50; // or it would vanish", ";"),
    (RESULTS, ": off((F)(N / 2 + 3) * kUnit)", ": off(0)"),
    (RESULTS, "e = n * squares * scale * (4 * off);", "e = y * off;"),
    # whole columns in plain doubles
    (QUICK, "spare = 53 - kDigits", "spare = 90 - kDigits"),
    (QUICK, "all != all || is_spread(fold)", "all != all"),
    (QUICK, "own.of[i] = 0x7e00;", ";"),
    (QUICK, "(of.number * kPieces + 3) * 0x1p-53", "0"),
    (QUICK, "v.over % 4 * 8)", "0)"),
    (QUICK, "if (rest != 0) x += rest * of.inverse;", "x += rest * of.inverse;"),
    (QUICK, "bits[c] |= b << 1;", ";"),
    (QUICK, "two_sum(sum[c].low, carry, &more)", "sum[c].low + carry"),
    (QUICK, "at += plane *", "at += 0 *"),
    (QUICK_LANES, "if constexpr (kIndex) index--;", ";"),
    (
        QUICK_LANES,
        "return kByte && whole && task.n <= 256;",
        "return kByte && whole && task.n <= 512;",
    ),
    (QUICK_LANES, "other > task.infinity ||", "false ||"),
    (QUICK_LANES, "lane - 128 * (int)task.n", "lane - 127 * (int)task.n"),
    (FOLD_ROWS, "b -= b >= vectors ? vectors : 0;", ";"),
    (RESULTS, "(wk_bits_f32(f) & kRest) != kRest / 2 + 1", "true"),
    (
        RESULTS,
        "if (rest == 0 || (b & 1) || !(fabsf(near) < INFINITY)) return near;",
        "return near;",
    ),
    (RESULTS, "return {low, low == (float)(x + e) &&", "return {low, true ||"),
    (MOMENTS, "x = square == x ? r", "x = true ? r"),
    (RESULTS, "return r.is_zero() || r.lost < r.high * 0x1p-30;", "return true;"),
    (RESULTS, "rest == 0 && rounded_off == 0 && p.lost == 0", "rest == 0 && rounded_off == 0"),
    (RESULTS, "r.lost = all.left || wide ? r.high * 0x1p-98 : 0;", "r.lost = 0;"),
    (MOMENTS, "if (negative) s = {-s.high, -s.low, s.lost};", ";"),
    # numbers far from zero; products of short rows
    (SPREAD, "wk_chain_add(c, fma(a, b, -p));", ";"),
    (PRODUCTS, "int half = threads / 2; half > 0", "int half = threads / 4; half > 0"),
    (PRODUCTS, "if (rest != 0 && !(b & 1)) b +=", "if (false) b +="),
    # tables: digits of doubles, words of parts, limbs
    (TABLE, "x[i] -= t - bias;", ";"),
    (TABLE, "        atomicOr(to + w, value);", "        atomicAdd(to + w, 0ull);"),
    (TABLE, "if (memory->some && shared) // digits below the others", "if (false)"),
    (TABLE, "left |= wk_bits_f64(x[i]);", "left = wk_bits_f64(x[i]);"),
    (
        TABLE,
        "if (lost_sum) leave(kLostSum, word_of_bound(lost_sum, shift + log2_of(kThreads)));",
        ";",
    ),
    (INTEGERS, "carry = v >> kDigit;", "carry = 0;"),
    # masks: bits by words and by bytes, of runs; the other parts of complex numbers
    (GATHER, "return w * 0x01020408 >> 24;", "return w * 0x01020408 >> 25;"),
    (GATHER, "!mask[e * step]", "!mask[e]"),
    (FOLD_LINES, "number *= task.run;", ";"),
    (FOLD_LINES, "(i + start < twice ? 0 : twice)", "0"),
    (FOLD_LINES, "taken = (int64_t)twice * kTilesAtOnce;", "taken = twice;"),
    (FOLD_LINES, "(Acc::kByIndex ? 0 : first)", "0"),
    (FOLD_LINES, "j / Acc::kVectors * apart) * kStep", "j / Acc::kVectors) * kStep"),
    (FOLD_LINES, "join_lanes(acc, lanes);", "join_lanes(acc, lanes / 2);"),
    (FLOATS, "task.fold[0] == WK_MEAN ? wk_nan() : 0.", "0."),
    (OF_INTEGERS, "x = all == (uint64_t)count;", "x = all == (uint64_t)task.n;"),
    (GATHER, "!(pairs && has_nan<kItem>(o[k]))", "true"),
    (GATHER, "at += turn;", ";"),
    (GATHER, "m += m_turn;", ";"),
    (GATHER, "leave_out_others<kItem>(x[k], bits[k], filler);", "x[k];"),
    (GATHER, "if (!counts[k]) e[k] = one_of<kItem>(filler);", ";"),
    (FOLD_EXACT, "in->first += first * in->strides[0] * item;", ";"),
    (FOLD_EXACT, "first * each * wk_itemsize[part.out[i].dtype]", "0"),
    ("csrc/reduce_grid.c", "outputs->strides[d] = all * step;", "outputs->strides[d] = all;"),
    ("csrc/reduce_grid.c", "if (turn->backwards) wk_flip(outputs, last, 0);", ";"),
    ("csrc/reduce_grid.c", "if (turn->backwards) wk_flip(a, last, 0);", ";"),
    (FOLD_WHOLE, "return plane * strides[0] + inner * strides[1];", "return inner * strides[1];"),
    (PREFIXES, "if (t.runs > 1) carry.load(t.states", "if (t.runs < 1) carry.load(t.states"),
    (PREFIXES, "&& lane == 0) round_chunk(t, run.line);", "&& lane == 0) ;"),
    (PREFIXES, "if (t.runs > 1 && !t.sums) sum.load(state);", ";"),
    (PREFIXES, "            round_chunk(t, line);", "            ;"),
    (PREFIXES, "        before->merge(words);", "        ;"),
    (FOLD_LINES, "word = (word & ~(kElement << shift)) |", "word ="),
    (FOLD_LINES, "turn > 1 || (turn == 1 && run.lead == 0)", "turn > 0"),
    (FOLD_LINES, "first + e - (kTurn - 1) * kPer", "first + e"),
    ("csrc/reduce_grid.c", "(g->run + per - 2) / per + 1,", "g->run / per,"),
    (FOLD_ROWS, "from[w + 1 < kWords || shift ? w + 1 : w]", "from[w]"),
    (FOLD_ROWS, "const int e = i < lead ? i : i + vectors * kPer;", "const int e = i;"),
    (TABLE, "*lost += wk_power_of_two(e - kDigit * N + 54);", ";"),
    (TABLE, "p.lost += 2 * fabs(more);", ";"),
    (TABLE, "below |= limb[i] != 0;", ";"),
    (FOLD_LINES, "from[t * kWarp + lane] = 0;", ";"),
    # elements by integers, and which of them
    (INTEGERS, "if (scaled(x, 0x1p900, INFINITY, -240, own)) add_digits", "if (false) add_digits"),
    (INTEGERS, "add_range(in, task, first, to, end, shape, word, sums, &all);", ";"),
    (FOLD_LINES, "uint32_t counts = works ? ok[i] : 0;", "uint32_t counts = ok[i];"),
    (FOLD_LINES, "    acc.clear_sums();", "    ;"),
    (FOLD_ROWS, "at.turned = n;", "at.turned = 0;"),
    (ARG, "(less || at < 0) && !is_nan(x[j], task)", "(less || at < 0)"),
    (ARG, "if (!less || j >= n) continue;", "if (!less) continue;"),
    (ARG, " && !is_nan(best[0]);", ";"),
    (EXTREME, "turns ? -y.im : y.im", "y.im"),
    (RESULTS, "+ p.low) * half,", ") * half,"),
    (RESULTS, "if (some) r.lost = INFINITY;", ";"),
    (FOLD_ROWS, "stage ^= 1;", ";"),
    (FOLD_ROWS, "__syncwarp(); // the rows have been read before", "//"),
    (FOLD_COLUMNS, "(narrow ? (own + c) / (int)task.outputs : 0);", "0;"),
    (FOLD_COLUMNS, "take_tail(in, task, tail, c, &memory);", ";"),
    (FOLD_COLUMNS, "ends        ? task.n", "false       ? task.n"),
    (FOLD_WHOLE, "first + other * (task.aligned ? C : 1);", "first + other;"),
    (
        FOLD_WHOLE,
        "acc[c].start(task);\n        stored |= ",
        "acc[c].start(task);\n        stored |= 0 & ",
    ),
    (FOLD_WHOLE, "if (counts) continue;", "continue;"),
    (FOLD_WHOLE, "return first + c * kWarp;", "return first + c;"),
    (FOLD_WHOLE, "if (!__any_sync(kAllLanes, unknown)) continue;", "continue;"),
    (FOLD_WHOLE, "counts = counts && !is_nan(in[task.other_part(in)]);", ";"),
    # over a power of two: what is lost, ties, and results below the normal numbers
    (SCALED, "                lost += 0x1p-900;", "                ;"),
    (SCALED, "p.low = round_to_odd(p.low, rest);", ";"),
    (SCALED, "o.square_shift = 2 * shift;", "o.square_shift = shift;"),
    (MOMENTS, "const int k = o.shift[p] - o.square_shift / 2;", "const int k = 0;"),
    (
        TABLE,
        "(unsigned long long)(shift + kLeastShift) << 20",
        "(unsigned long long)kLeastShift << 20",
    ),
    (FLOATS, "            scale();\n        }\n        count", "        }\n        count"),
    (FOLD_LINES, "            acc.scale();\n            return;", "            return;"),
    (INTEGERS, "tile += (to - from - 1) / (step * each) * step;", ";"),
    (SUMMARY, "squares + ((2 * sum + n) << bias)", "squares"),
    (SUMMARY, "squares += (uint64_t)(W)(v * v);", "squares += (uint64_t)v * v;"),
    (OF_INTEGERS, "x = total == (uint64_t)count;", "x = total != 0;"),
    (
        LAUNCH,
        "task->wraps = !r->has_initial && call->part.mode == WK_WHOLE;",
        "task->wraps = true;",
    ),
    # a few integers, in doubles
    (OF_INTEGERS, "fma(fma(-root, root, all), fma(half, rest, half), root)", "root"),
    (OF_INTEGERS, "all += 256 * __dp4a(four, 0x01010101, 0) + ((int)task.n << 14);", ";"),
    (
        OF_INTEGERS,
        "using type = word<uint64_t, kWhat>;",
        "using type = word<uint64_t, what::values>;",
    ),
    (OF_INTEGERS, "task.bias ? task.n << 31 : 0", "0"),
    (OF_INTEGERS, "task.bias ? (int32_t)task.n << (bits_of<T> - 1) : 0", "0"),
    (OF_INTEGERS, "x + bias_of<T>(task)", "x"),
    (OF_INTEGERS, "*rest = low - (sum - high);", "*rest = 0;"),
    (RESULTS, "if (j >= n) break;", ";"),
    (OF_INTEGERS, "{sum, low - (sum - high), 0}", "{sum, 0, 0}"),
    (OF_INTEGERS, "return j < n ? all : (U)0;", "return all;"),
    (OF_INTEGERS, "fold == WK_STD && n == 2 && task.spread == 4", "fold == WK_STD && n == 2"),
    (OF_INTEGERS, "(double)apart(0, N > 1) / 2;", "(double)(S)apart(0, N > 1) / 2;"),
    # transposes: the plan
    (
        PLAN,
        "const int64_t early = wk_most(plan->lead - 1, 0);\n    plan->tiles",
        "const int64_t early = 0;\n    plan->tiles",
    ),
    (PLAN, "a->in != plan->step * plan->columns ||", ""),
    (PLAN, "if (d < 0 || x->used[d] ||", "if (d < 0 ||"),
    (
        PLAN,
        "if (bits % ACCESS != 0) return 0;\n    plan->way = WK_TILES_SHORT;",
        "plan->way = WK_TILES_SHORT;",
    ),
    # places
    (SHARED, "at = (uint32_t)index - next * axes[i].extent.by;", ";"),
    (SHARED, "at.far += w.carry_far[1];", ";"),
    (SHARED, "at.near += w.carry_near[0];", ";"),
    (TILES, "const int64_t early = plan->lead ? plan->lead - 1 : 0;", "const int64_t early = 0;"),
    # rows that start inside a word, windows that start before the tile
    (WORDS, "x = __funnelshift_r(low, high, (uint32_t)row << 3); // mod 32", "x = low;"),
    (WORDS, "v = __funnelshift_r(v, x[i + 1], skipped << 3);", ";"),
    (WORDS, "if (row >= 0 && row + shape::kPer <= t.rows) {", "if (row + shape::kPer <= t.rows) {"),
    (
        WORDS,
        "if (at.row >= t.lead && at.row + t.tile_rows <= t.rows)",
        "if (at.row + t.tile_rows <= t.rows)",
    ),
    # registers
    (TURN, "w[1] = __byte_perm(ab, cd, 0x7632);", "w[1] = __byte_perm(ab, cd, 0x5410);"),
    (ALIGNED, "if (down * shape::kPer < rows && column < columns)", "if (column < columns)"),
    (ALIGNED, "part = part_at % kParts;", "part = 0;"),
    (ALIGNED, "down = run_at >> runs;", "down = run_at;"),
    (SHORT, "__syncwarp(); // the warp's pieces are there before its lanes read others'", ";"),
    (SHORT, "? to % kLong * kSide + to / kLong", "? to"),
    # tables
    (BOXES, "last ? t.axis[a].last_in : at * t.axis[a].in", "at * t.axis[a].in"),
    (BOXES, "sum.near += at / kPer * side.digit[i].skip;", "sum.near += at * side.digit[i].skip;"),
    (BOXES, "__funnelshift_r(low[b], high[b], shift[b])", "low[b]"),
    (BOXES, "if (!t.joined || !inside)", "if (!inside)"),
    (BOXES, "kPer + i % kPer - early;", "kPer + i % kPer;"),
    (BOXES, "if (first + i >= 0 && first + i < units)", "if (true)"),
    (BOXES, "__syncthreads(); // the tile is full, and all know where it is", ""),
    # the last piece of a run, a tile's runs
    (ROWS, "first -= t.excess;", "first -= 0;"),
    (ROWS, "tile.column + column);", "column);"),
    (UNITS, "if (kAll || at.element < rows)", "if (true)"),
    # the stencil's ladder: tiles, ends, turns
    (LADDER, "rows = at.high + (int)a.taps - 1;", "rows = at.high + (int)a.taps - 2;"),
    (LADDER, "at.first + at.high + a.taps - 1 <= a.n;", "at.first + at.high <= a.n;"),
    (LADDER, "at.first >= 0 &&", "at.first >= -1 &&"),
    (LADDER, "(at.column + x) & 1", "x & 1"),
    (LADDER, "std::lock_guard<std::mutex> hold(lock);", ";"),
    # its rungs
    (GMEM, "(A)window[t * task.step]", "(A)window[t * task.inner]"),
    (READONLY, "ladder::element<A>(task, at, y + t, x)", "ladder::element<A>(task, at, y, x)"),
    (CONSTANT, "symbol<A>[kBook + i]", "symbol<A>[kBook - i]"),
    (CONSTANT, "taps == 2 * kBook + 1 && c[kBook] == 0;", "taps == 2 * kBook + 1;"),
    (DIVERGENT, "bytes * wk::kWarp", "bytes"),
    (SMEM_READONLY, "t < count; t++)", "t < count - 1; t++)"),
    (REGISTERS, "window[(k + v) % kEach]", "window[v]"),
    (
        REGISTERS,
        "window[k] = mine[(t0 + k + kEach) * pitch];",
        "window[k] = mine[(t0 + k) * pitch];",
    ),
    # the production stencils
    (LINES, "j.before = a->before - t;", "j.before = a->before;"),
    (LINES, "j.sums = t > 0 ? sums : nullptr;", "j.sums = nullptr;"),
    (LINES, "j.types.out = type;", ";"),
    (LINES_SHARED, "sum[s][i] = from[s * apart];", "sum[s][i] = from[0];"),
    (LINES_SHARED, "return at >= 0 && at < n ? at : wk_extend(i, n, mode);", "return at;"),
    (STENCIL_ROWS, "p.works = p.which < j.strips && p.mine < j.team", "p.works = p.mine < j.team"),
    (STENCIL_ROWS, "if (k >= first && k < end)", "if (k > first && k < end)"),
    (STENCIL_ROWS, "e = i < low ? i : i - low + high;", "e = i < low ? i : i - low + high + 1;"),
    (STENCIL_ROWS, "sum_run<V>(own + j.skip / E * E,", "sum_run<V>(own,"),
    (STENCIL_PLANES, "if (own < 0 || own >= count) continue;", "if (own <= 0) continue;"),
    (STENCIL_PLANES, "(T)j.cval[column & 1]", "(T)j.cval[0]"),
    (STENCIL_PLANES, "= (int)((j.lead + to) & (E - 1));", "= lead;"),
    (STENCIL_COLUMNS, "if (lane + s * kWarp < wide && mine + i < left)", "if (mine + i < left)"),
    (STENCIL_COLUMNS, "j.cval[s & 1]", "j.cval[0]"),
    (STENCIL_COLUMNS, "r = i < low ? i : i - low + high;", "r = i;"),
    (STENCIL_SHORT, "plane + column] = (A)j.cval[column & 1]", "plane + column] = (A)j.cval[0]"),
    (STENCIL_SHORT, "j.team + lane] = (A)j.cval[column & 1]", "j.team + lane] = (A)j.cval[0]"),
    (STENCIL_SHORT, "if (j.mode == WK_CONSTANT)\n", "if (false)\n"),
    (
        STENCIL_SHORT,
        "min((int64_t)j.team, j.outer - outer)",
        "min((int64_t)j.team, j.outer - outer - 1)",
    ),
    (STENCIL_SHORT, "(uint32_t)i + 1, factor", "(uint32_t)i, factor"),
    (STENCIL_SHORT, "if (++rest == plane)", "if (++rest == plane + 1)"),
    (
        STENCIL_SHORT,
        "if (tid >= low - lead + end - high) return;",
        "if (tid >= low - lead) return;",
    ),
    (STENCIL_SHORT, "if (row + k * turn < n)", "if (row + k * turn < n - 1)"),
    (STENCIL_SHORT, "window < windows; window += turn", "window < windows - 1; window += turn"),
    (STENCIL_ELEMENTS, "e = max(low, 0); e < min(high, E);", "e = 0; e < min(high, E);"),
    (STENCIL_CONVERT, "return fabs(v) < A(0x1p31);", "return true;"),
    (STENCIL_CONVERT, "return !is_half<T> || v == v;", "return true;"),
    (STENCIL_CONVERT, "? 0x80808080u : 0x80008000u", "? 0x80808080u : 0x80808080u"),
    (STENCIL_CONVERT, "(0x1p52 + kLess)", "0x1p52"),
    (COMPLEX, "if (pairs) sum.re = fma_of(-w.im, x.im, sum.re);", ";"),
    # the histogram's ladder
    (COUNTERS, "bin >= 0 || !task.args.outside ? bin : task.args.bins;", "bin;"),
    (COUNTERS, "if (call->weights.ndim < 0) return WK_OK;", "return WK_OK;"),
    (COUNTERS, " || clear_counts(call) != WK_OK) return", ") return"),
    (COUNTERS, "clear_counts(call) != WK_OK", "clear(call, call->out[0].data, call->out[0].bytes)"),
    (SMEM_ATOMIC, "= (int)task.args.bins + (task.args.outside != 0);", "= (int)task.args.bins;"),
    (SMEM_PRIVATE, "sum += copies[w * counters + b];", "sum = copies[w * counters + b];"),
    (SMEM_PRIVATE, "b < kWarps * counters;", "b < counters;"),
    (MATCH_ANY, "(unsigned)__popc(alike)", "1u"),
    (MATCH_ANY, "counter_of(task, in[i]) : -1;", "counter_of(task, in[i]) : 0;"),
    # the histogram's production ways
    (STREAM, "lead < n ? lead : n", "lead"),
    (STREAM, "if (i < in.n - behind)", "if (i < in.n - behind - 1)"),
    (POLICIES, "number[i] = min(k - (v < e[k]) + (v >= e[k + 1]), bins);", "number[i] = k;"),
    (BINS_OF, "case WK_I16: return (int16_t)bits;", ""),
    (BINS_OF, "case WK_F64: return called_bin(b, wk_from_bits_f64(bits));", ""),
    (POLICIES, "(double)f < x ? nextafterf(f, INFINITY) : f;", "f;"),
    (POLICIES, "keys[i] >= first && keys[i] <= last ?", "keys[i] >= first ?"),
    (POLICIES, "last ? float_down(edge) : float_up(edge)", "float_up(edge)"),
    (POLICIES, "return all ? (E)INFINITY : (E)", "return (E)"),
    (POLICIES, "const T least = (T)wk_least_of(integers);", "const T least = 0;"),
    (EDGES, "return x + ((is_signed ? (double)(int64_t)x : (double)x) < edge);", "return x;"),
    (EDGES, "!up_to      ? edge", "1           ? edge"),
    (POLICIES, "fmaf(d, h.scale, h.bias)", "fmaf(d, h.scale, -0.5f)"),
    (BUCKETS, "wk_order_f32(x + 0.f, 0)", "wk_order_f32(x, 0)"),
    (BUCKETS, "edge - first <= (K)b << map.shift", "edge - first <= ((K)b << map.shift) + 1"),
    (SHARED_BINS, "number * kLanes + lane", "number * kLanes"),
    (BYTES, "add(w >> (24 - kShift));", "add(w >> (16 - kShift));"),
    (SPLIT, "row % kShare == part &&", "part == 0 &&"),
    (SPLIT, "kClamp ? min(x, bins) : x", "x"),
    (FIELDS, "return rows < 2 ? 2 : rows;", "return rows;"),
    (FIELDS, "to_counts(n, 1u << kBits);", "to_counts(n, 1u);"),
    (FIELDS, "if (m > kMost) to_counts(n, m & ~kMost);", ";"),
    (PLANES, "t.last ? 4 : 2", "t.last ? 2 : 2"),
    (PLANES, "m = (m & ~1u) + (carry ? weight : 0);", "m = m & ~1u;"),
    (PLANES, "add_bits<1>(sum,", "add_bits<0>(sum,"),
    (HOT, "if (c && v < kept)", "if (c && v < 0)"),
    (HOT, "length = kEach<T> *", "length = 3 *"),
    (DIRECT, "(unsigned long long)__popc(alike)", "1ull"),
    (NEAR, "high[j] += old[j] + low[j] < low[j];", ";"),
    (NEAR, "v.upper[j] ? 1 << near_form<numbers::narrow>::kStep : 1;", "1;"),
    (NEAR, "(unsigned)(carry * (v.value[j] >> 31 | 1))", "(unsigned)carry"),
    (NEAR, "high[j] > 0 ? 1u : ~0u", "1u"),
    (NEAR, "(row / 32 & ((1u << plan.shift) - 1)) == part)", "true)"),
    (NEAR, "row < (unsigned)t.rows &&", ""),
    (NEAR, "if (v.upper[j]) scaled *= kOne / (1ll << form::kStep);", ";"),
    (NEAR, "x * most * more;", "x * most;"),
    (NEAR, "fabs(scaled) < kEnd", "true"),
    (NEAR, "far |= !takes && !(x == 0);", ";"),
    (NEAR, "(all >> 32) * unit", "0"),
    (NEAR, "1ll << *plan.low % kBits;", "1;"),
    (WEIGHTS, "below = below || third;", ";"),
    (WEIGHTS, "if (digit != 0xffffffffu) negative = d;", "negative = d;"),
    (WEIGHTS, "if (digit != 0) positive = d;", "positive = d;"),
    (WEIGHTS, "d.third | (uint32_t)d.below", "d.third"),
    (WEIGHTS, "if (v[i]) limb[(k + i) * l.rows] = 0;", ";"),
    (WEIGHTS, "if (own) *flags = 0;", ";"),
    (WEIGHTS, "-(int64_t)(sum < 0);", "0;"),
    (WEIGHTS, "| WK_NOT_MINUS_ZERO,", ","),
    (ORDERED, "(b & ~top) > o->infinity ? ~(B)0 :", "0 ? ~(B)0 :"),
    (ORDERED, "b & top ? ~b : b | top", "b | top"),
    (ORDERED, "return b ^ o->zero ^ o->inverted;", "return b ^ o->inverted;"),
    (ORDERED, "(x & o->truth) != 0", "x != 0"),
    (ORDERED, "(o->truth ? (B)((x & o->truth) != 0) : x)", "x"),
    (ORDERED, "b == o->minus ? 0 : b", "b"),
    (ORDERED, "infinity ? bits - item + 1 : bits - item", "bits - item"),
    (EXTREMES, "key[j] != table[bin[j]]", "false"),
    (EXTREMES, "if (i < peek(to)) atomicMin(to, i);", "atomicMax(to, i);"),
    (EXTREMES, "at == __shfl_sync(kAllLanes, at, 0)", "true"),
    (EXTREMES, "most = largest_of_warp(most);", ";"),
    (EXTREMES, "strays |= stray;", ";"),
    (EXTREMES, "raise(table + i, own[i]);", "table[i] = own[i];"),
    # elements as keys, and those that stand for all that are equal
    (KEYS, "(W)nan : size ? x[j] : (W)0;", "(W)nan : x[j];"),
    (KEYS, "size > infinity ? (W)nan : size", "size"),
    (KEYS, "(infinity & (K)-infinity) >> 1", "(infinity & (K)-infinity)"),
    (KEYS, "x[j] ^= x[j] & kTop ? (W)kAll : (W)kTop;", "x[j] ^= (W)kTop;"),
    (KEYS, " x[j] ^= zero;", " ;"),
    (KEYS, "x[j] = x[j] != 0;", ";"),
    # where runs begin and end, and whose slots are whose
    (GROUPS, "lane < m.count && (lane == 0 ||", "(lane == 0 ||"),
    (GROUPS, "(lane == 0 || m.mine != left)", "m.mine != left"),
    (GROUPS, "slot + 1 < total ? next : m.count;", "slot + 1 < total ? next : kWarp;"),
    (GROUPS, "__popc(heads) + lane - rank;", "lane;"),
    (SORTED_SMEM, "length == d && lane + d", "lane + d"),
    (SORTED_SMEM, "lane + d < wk::kWarp && other", "other"),
    (SORTED_LINEAR, "met++ == rank", "++met == rank"),
    (SORTED_SELECT, "rank -= above ? below : 0;", ";"),
    (FNS, "lane + 1", "lane"),
    (WARP_MATCH_ANY, ", m.mine) & there;", ", m.mine);"),
    (BITONIC, "mine[k] = ~(groups::bits<K>)0;", "mine[k] = 0;"),
    (BITONIC, "min(next, counts[k])", "next"),
    (BITONIC, "0xfffffffeu << lane", "0xffffffffu << lane"),
    (BITONIC, "lane < counts[k] && (lane == 0 ||", "(lane == 0 ||"),
    (BITONIC, "lane < kEach && (kWhole || lane * wk::kWarp < left)", "lane < kEach"),
    (NETWORK, "max(key[k], other) : min(key[k], other)", "max(key[k], other) : key[k]"),
    (NETWORK, "== larger ? other : key[k];", "!= larger ? other : key[k];"),
    (RUN_ROWS, "lane ? left : *before", "lane ? left : keys[0]"),
    (RUN_ROWS, "(bits | 1u << -i) & ~0u << -i;", "bits | 1u << -i;"),
    (RUNS, "h = join(h, warps[blockIdx.x * kRunWarps + i]);", ";"),
    (RUNS, "if (left.count) counts[left.count - 1] = r.n - left.last;", ""),
    (COUNTED, "|| (was & 65535) + lanes < kHalf) return;", ") return;"),
    (COUNTED, "__syncthreads(); // counters are zero, or less than 2^15, before 2^15 adds", ""),
    (RADIX, "__syncwarp(); // all have read the count before one of them adds to it", ""),
    (RADIX, "? digit_of(keys[r], shift) : kDigits;", "? digit_of(keys[r], shift) : 0;"),
    # lanes: the rules of shuffles, lanes that are absent, floats' zeros
    (LANES, "if (kind == WK_LANES_UP && source < first) return lane;", ";"),
    (LANES, "return source > last || source >= there ?", "return source > last ?"),
    (LANES, "case WK_LANES_XOR: source = lane ^ (operand & 31); break;", ""),
    (LANES, "return a < b || (a == b && bits(a) >> sign) ? a : b;", "return a < b ? a : b;"),
    (LANES, "return a > b || (a == b && bits(b) >> sign) ? a : b;", "return a > b ? a : b;"),
    (WARPS, "f(w / t.per_line * t.args.n + at + lane, there, lane < there);", "f(w, there, 1);"),
    (WARPS, "w < all; w += step", "w < all && w < step; w += step"),
    (FOLD, "default: return kFloat<T> ? (T)-0.0 : (T)0;", "default: return (T)0;"),
    (FOLD, "return wk_one_nan_f32(element<float>(i));", "return element<float>(i);"),
    (FOLD, "return own ? in[i] : neutral<T>(kind);", "return in[i];"),
    (FOLD, "case WK_I16: return (T)element<int16_t>(i);", ""),
    (SHFL, "out[i] = (U)(source == lane ? x : got);", "out[i] = (U)got;"),
    (SHFL, "const int operand = t.sources && own ? t.sources[i]", "const int operand = 0 ? 0"),
    (VOTE, "holds || !own", "holds"),
    (VOTE, "case WK_C64: return (U)0x7fffffff7fffffffu;", ""),
    (MATCH, "if (!own) x = first;", ";"),
    (MATCH, "alike & lanes::present(there)", "alike"),
    (MATCH_SHFL, "alike &= here;", ";"),
    (SCAN, "kind == WK_LANES_SUM ? T{} : lanes::neutral<T>(kind)", "lanes::neutral<T>(kind)"),
    (SCAN, "if (place >= step) x", "if (place > step) x"),
    (DOWN, "step, t.args.width));", "step));"),
    (LANE_BITS, "__popcll(in[i])", "__popc((unsigned)in[i])"),
    (LANE_ARRAYS, "for (; w < all; w += step) {", "if (w < all) {"),
    (LANE_ARRAYS, "lane < source ? a.first : a.second", "a.first"),
    (LANE_ARRAYS, "paired && e == mine ? got", "e == mine ? got"),
    # tiles and tables in shared memory
    (TILE, "i % t.rows * t.pitch + i / t.rows", "i % t.cols * t.pitch + i / t.cols"),
    (READS, "table[i].word[w] = (uint32_t)i;", "table[i].word[w] = (uint32_t)i >> w;"),
]
