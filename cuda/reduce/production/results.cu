// reduce / exact, results: what kernels call once an output (results.cuh, table.cuh).
#include "num/spread.h"
#include "prim/mailbox.cuh"
#include "reduce/production/extreme.cuh"
#include "reduce/production/integers.cuh"
#include "reduce/production/results.cuh"
#include "reduce/production/table.cuh"

namespace wk
{

// ---- places -----------------------------------------------------------------------------------

__device__ WK_NOINLINE division
divide_long(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return {q, a - q * b};
}

__device__ WK_NOINLINE spot
spot_of_many(const layout &l, const int64_t *where, int64_t index)
{
    spot s = {0, 0};
#pragma unroll 1
    for (int d = l.ndim - 1; d >= 0; d--) {
        const int64_t at = d > 0 ? split(&index, l.shape[d]) : index;
        s.at += at * l.strides[d];
        s.mask += at * where[d];
    }
    return s;
}

__device__ WK_NOINLINE uint64_t *
kept_words(const reduce_task &task, int64_t output, int words)
{
    output = task.output + spot_of(task.places, task.where_kept, output).at;
    return task.shared + output * words;
}

__device__ WK_NOINLINE void
send_bytes(const wk_mailbox &mailbox, const void *result)
{
    if (mailbox.bytes == 1) send(mailbox, *static_cast<const uint8_t *>(result));
    if (mailbox.bytes == 2) send(mailbox, *static_cast<const uint16_t *>(result));
    if (mailbox.bytes == 4) send(mailbox, *static_cast<const uint32_t *>(result));
    if (mailbox.bytes == 8) send(mailbox, *static_cast<const uint64_t *>(result));
}

// ---- moments ----------------------------------------------------------------------------------

// Of numbers of few digits whose sums are exact, where all that is made of them is: often a tie.
static __device__ WK_NOINLINE near_answer
exact_plain(double sum, double squares, const reduce_task &task, int fold, int dtype)
{
    double x = squares;
    bool exact = !is_spread(fold) || task.spread > 0;
    if (is_spread(fold)) {
        const double n = (double)task.n, q = n * squares, s = sum * sum, spread = q - s;
        x = spread * task.inverse_spread; // S^2 is no more than n Q
        exact &= __fma_rn(n, squares, -q) == 0 && __fma_rn(sum, sum, -s) == 0 &&
                 (q - spread) - s == 0 && __fma_rn(x, task.spread, -spread) == 0;
    }
    if (x != 0 && is_root(fold)) { // on its side of the float next to it
        const double r = (double)(float)(x * rsqrt(x)), square = r * r;
        exact &= x > 0x1p-200;
        x = square == x ? r : r * (square < x ? 1 + 0x1p-52 : 1 - 0x1p-52);
    }
    near_answer a = dtype == WK_F32   ? settled_near<WK_F32>(x, 0)
                    : dtype == WK_F16 ? settled_near<WK_F16>(x, 0)
                                      : settled_near<WK_BF16>(x, 0);
    a.known &= exact;
    return a;
}

// Calls take(x - pivot, x) for each of a column's elements, or, of 32 lanes, for each of this one's.
template <class F>
static __device__ __forceinline__ void
each_difference(const void *from, int64_t pitch, int dtype, int n, double pivot, int lanes,
                const F &take)
{
    constexpr int kMore = 4;
#pragma unroll 1
    for (int i = lanes > 1 ? (int)threadIdx.x % kWarp : 0; i < n; i += kMore * lanes) {
        double x[kMore];
#pragma unroll
        for (int k = 0; k < kMore; k++)
            x[k] = i + k * lanes < n ? real_at(from, dtype, (i + k * lanes) * pitch) : pivot;
#pragma unroll
        for (int k = 0; k < kMore; k++) take(x[k] - pivot, x[k]);
    }
}

// Calls join(d) for each step of a butterfly over the lanes, d lanes apart.
template <class F>
static __device__ __forceinline__ void
each_step(int lanes, const F &join)
{
#pragma unroll 1
    for (int d = lanes / 2; d; d /= 2) join(d);
}

// Are all differences doubles, multiples of a unit whose square is the 2^digits-th part of all squares, n times, or
// more?
static __device__ __forceinline__ bool
are_multiples(const void *from, int64_t pitch, int dtype, int n, double pivot, double squares,
              int digits, int lanes)
{
    const double all = (double)(n + 4) * squares;
    const int top = (int)(wk_bits_f64(all) >> 52) - 1022; // all is below 2^top
    const double bias = 1.5 * wk_power_of_two((top - digits + 1) / 2 + 52); // 2^52 units
    bool exact = squares > 0x1p-400 && squares < 0x1p800;
    each_difference(from, pitch, dtype, n, pivot, lanes, [&](double d, double x) {
        double rest;
        two_sum(x, -pivot, &rest);
        exact &= (d + bias) - bias == d && rest == 0;
    });
    return lanes > 1 ? __all_sync(kAllLanes, exact) : exact;
}

// The first element is taken off all for a variance: nothing is cancelled. What is rounded off a difference enlarges
// the bound of batch_sums by one unit. Where all is exact, which takes one more look, ties are told.
__device__ WK_NOINLINE near_answer
moment_of_column(const void *elements, int64_t pitch, int dtype, const reduce_task &task,
                 bool only_exact, int lanes)
{
    const int fold = task.fold[0], n = (int)task.n;
    const double pivot = is_spread(fold) ? real_at(elements, dtype, 0) : 0;
    double s = 0, q = 0;
    each_difference(elements, pitch, dtype, n, pivot, lanes, [&](double d, double) {
        s += d;
        q = __fma_rn(d, d, q);
    });
    each_step(lanes, [&](int d) {
        s += __shfl_xor_sync(kAllLanes, s, d);
        q += __shfl_xor_sync(kAllLanes, q, d);
    });
    near_answer a = {0, false};
    const population of(task);
    const double off =
        (double)(n + 4) * 0x1p-53; // a lane adds n / 32, and then there are five additions
    if (q == 0) return {0, !is_spread(fold) || of.spread > 0}; // no square is too small
    if (only_exact)
        ;
    else if (dtype == WK_F32)
        a = batch_sums<double, WK_F32>(s, q, off).moment(of, fold);
    else if (dtype == WK_F16)
        a = batch_sums<double, WK_F16>(s, q, off).moment(of, fold);
    else
        a = batch_sums<double, WK_BF16>(s, q, off).moment(of, fold);
    if (!a.known && are_multiples(elements, pitch, dtype, n, pivot, q, 52, lanes))
        a = exact_plain(s, q, task, fold, dtype);
    return a;
}

// The bounds of quick_pairs (quick.cuh), each difference being two doubles, of which the low one's square is left out:
// 2^-106 of the other's.
__device__ WK_NOINLINE answer
moment_of_wide_column(const double *elements, int64_t pitch, const reduce_task &task, int lanes)
{
    const int fold = task.fold[0], n = (int)task.n;
    const double pivot = is_spread(fold) ? elements[0] : 0;
    const population of(task);
    double_pair s = {0, 0, 0}, q = {0, 0, 0};
    bool some = false;
    each_difference(elements, pitch, WK_F64, n, pivot, lanes, [&](double, double x) {
        double carry, rest;
        const double d = two_sum(x, -pivot, &rest), square = d * d;
        some |= d != 0;
        s.high = two_sum(s.high, d, &carry);
        s.low += carry + rest;
        q.high = two_sum(q.high, square, &carry);
        q.low += __fma_rn(2 * d, rest, __fma_rn(d, d, -square) + carry);
    });
    each_step(lanes, [&](int d) { // s and q alike
        double carry;
        const auto join = [&](double_pair *all) {
            const double low = __shfl_xor_sync(kAllLanes, all->low, d);
            all->high = two_sum(all->high, __shfl_xor_sync(kAllLanes, all->high, d), &carry);
            all->low = (all->low + low) + carry;
        };
        join(&s);
        join(&q);
    });
    if (lanes > 1) some = __any_sync(kAllLanes, some);
    // Five joins round off as much as ten additions may.
    const double off = (of.number + 16) * (of.number + 16) * 0x1p-106;
    if (!some) return {0, !is_spread(fold) || of.spread > 0};
    if (!(q.high > 0x1p-400 && q.high < 0x1p800)) return {0, false};
    q.high = two_sum(q.high, q.low, &q.low);
    s.high = two_sum(s.high, s.low, &s.low);
    q.lost = q.high * off;
    s.lost = of.number * q.high; // which no sum's square exceeds
    s.lost *= rsqrt(s.lost) * off;
#pragma unroll 1
    for (bool exact = false;; exact = true) {
        const answer a = quick_wide<true>(s, q, of, fold);
        if (a.known || exact ||
            !are_multiples(elements, pitch, WK_F64, n, pivot, q.high, 104, lanes))
            return a;
        s.lost = q.lost = 0;
    }
}

// x times 2^k, of which both halves are normal numbers.
static __device__ double
times_power(double x, int k)
{
    return x * wk_power_of_two(k / 2) * wk_power_of_two(k - k / 2);
}

// A result that has been rounded, times a power of two. Below the normal numbers it is rounded once more:
// may it be a tie?
static __device__ answer
times_power(answer a, int k)
{
    if (k == 0 || !a.known || a.value == 0) return a;
    const double x = times_power(a.value, k);
    if (fabs(x) < 0x1p-1022)
        a.known =
            times_power(a.value * (1 - 0x1p-52), k) == times_power(a.value * (1 + 0x1p-52), k);
    return {x, a.known};
}

// n Q - S^2, over n (n - ddof), of which `inverse` is the inverse, rounded; its root if asked.
static __device__ answer
answer_of_spread(double_pair r, double n, double d, double inverse, bool root, int dtype)
{
    if (r.is_zero()) return {0, true};
    if (n * d < 0x1p53) {
        r = divided(r, n * d, inverse);
    } else {
        r = divided(r, n, 1 / n);
        r = divided(r, d, 1 / d);
    }
    if (root) r = root_of(r);
    return rounded(r, dtype);
}

// The root of s, which is exact, where that is a double, or one and half of its last digit: of the square of two
// numbers' distance, and a tie.
static __device__ bool
whole_root(const double (&s)[3], double_pair *root)
{
    const double_pair q = root_of({s[0], s[1], 0});
    constexpr uint64_t kUnit = (uint64_t)1 << 45; // of seven digits
    const double r = q.high,
                 l = wk_from_bits_f64((wk_bits_f64(q.low) + kUnit / 2) & ~(kUnit - 1));
    wk_chain left = {{s[0], s[1], s[2], 0, 0}, 0};
    wk_chain_add_product(&left, -r, r);
    wk_chain_add_product(&left, -2 * r, l);
    wk_chain_add_product(&left, -l, l);
    wk_chain_settle(&left);
    root->high = two_sum(r, l, &root->low);
    root->lost = 0;
    bool zero = left.lost == 0;
#pragma unroll
    for (double x : left.s) zero &= x == 0;
    return zero;
}

// The same by three doubles of each sum.
static __device__ WK_NOINLINE answer
far_spread(const float_outcome &o, int parts, bool root, double ddof, double inverse, int dtype)
{
    const few<3> &q = o.all_squares;
    const double n = (double)o.n;
    double sum[2][3], lost = n * q.lost;
    if (!(q.s[0] > 0x1p-400 && q.s[0] < 0x1p900)) return {0, false};
#pragma unroll 1
    for (int p = 0; p < parts; p++) {
        memcpy(sum[p], o.sums[p].s, sizeof sum[p]);
        lost += 2 * (fabs(sum[p][0]) + o.sums[p].lost) * o.sums[p].lost;
    }
    wk_spread_sum r = wk_spread(n, q.s, 3, sum[0], 3, parts);
    r.lost += 4 * lost;
    const double_pair spread = {r.s[0], r.s[1], r.lost + 2 * fabs(r.s[2])};
    double_pair distance;
    if (!spread.is_zero() && !(spread.lost < spread.high * 0x1p-30)) return {0, false};
    if (root && n == 2 && ddof == 0 && r.lost == 0 && whole_root(r.s, &distance))
        return rounded({distance.high / 2, distance.low / 2, 0}, dtype);
    return answer_of_spread(spread, n, n - ddof, inverse, root, dtype);
}

// A variance of all parts, or its root.
static __device__ answer
quick_spread(const float_outcome &o, int parts, bool root, double ddof, double inverse,
             int dtype)
{
    const double n = (double)o.n, d = n - ddof;
    double_pair r, scaled[2];
    const double_pair *sum = o.sum;
    if (o.is_shifted()) {
        sum = scaled;
#pragma unroll 1
        for (int p = 0; p < parts; p++) { // in the squares' unit
            const int k = o.shift[p] - o.square_shift / 2;
            scaled[p] = o.sum[p];
            if (k == 0) continue;
            if (k < -1000 || k > 1000) return {0, false};
            scaled[p] = {times_power(o.sum[p].high, k), times_power(o.sum[p].low, k),
                         times_power(o.sum[p].lost, k) + 0x1p-900}; // of what vanishes
        }
    }
    if (!(d > 0) || !(fabs(ddof) < 0x1p52 && ddof == rint(ddof))) return {0, false};
    answer a = {0, false};
    if (spread_of(sum, parts, o.squares, n, &r))
        a = answer_of_spread(r, n, d, inverse, root, dtype);
    if (a.known || !o.in_three || o.is_shifted()) return a;
    return far_spread(o, parts, root, ddof, inverse, dtype);
}

// A sum of squares, a norm, a variance or its root, over its power of two.
static __device__ answer
quick_squares(const float_outcome &o, const reduce_task &task, int i, int parts, int dtype)
{
    const int fold = task.fold[i];
    const double n = (double)o.n, squares = o.squares.high;
    if (fold == WK_SUMSQ) {
        if (o.squares.is_zero()) return {0, true};
        return rounded(o.squares, dtype);
    }
    if (o.n <= 0 || o.n > (int64_t)1 << 52) return {0, false};
    if (o.squares.is_zero() && (fold == WK_NORM || n - task.ddof > 0)) return {0, true};
    if (fold == WK_NORM) {
        if (!(squares > 0x1p-400 && squares < 0x1p900)) return {0, false};
        return rounded(root_of(o.squares), dtype);
    }
    return quick_spread(o, parts, fold == WK_STD, task.ddof,
                        task.counts ? 1 / (n * (n - task.ddof)) : task.inverse_spread, dtype);
}

static __device__ answer
near_squares(const float_outcome &o, int fold, const reduce_task &task, int dtype)
{
    near_answer a;
    const double_pair &s = o.sum[0], &q = o.squares;
    switch (dtype) {
    case WK_F16: a = quick_plain<WK_F16>(s, q, population(task), fold); break;
    case WK_BF16: a = quick_plain<WK_BF16>(s, q, population(task), fold); break;
    default: a = quick_plain<WK_F32>(s, q, population(task), fold); break;
    }
    if (!a.known && dtype != WK_F32 && s.low == 0 && s.lost == 0 && q.low == 0 && q.lost == 0)
        a = exact_plain(s.high, q.high, task, fold, dtype);
    return {(double)a.value, a.known};
}

// As numpy.nanvar has it: NaN, also where numpy.var is infinite.
static __device__ bool
too_few(const reduce_task &task, int fold, int64_t n)
{
    return is_spread(fold) && (task.skip_nan || n < 2) && !((double)n - task.ddof > 0);
}

__device__ WK_NOINLINE population
population_of(int64_t count, const reduce_task &task)
{
    population of(task);
    of.n = count;
    of.number = (double)count;
    of.inverse = 1 / of.number;
    of.near_number = (float)count;
    const double all = of.number * (of.number - task.ddof);
    of.inverse_spread = 1 / all;
    of.near_inverse_spread = (float)of.inverse_spread;
    of.spread = task.ddof == rint(task.ddof) && all > 0 && all < 0x1p53 ? all : 0;
    return of;
}

static __device__ double
initial_of(const reduce_task &task, int parts, int part, int64_t output)
{
    return task.initial.f64[parts == 2 ? part : output % task.planes];
}

static __device__ answer
sum_or_mean(const float_outcome &o, const reduce_task &task, int64_t output, int part,
            int parts, int fold, int dtype)
{
    double_pair s = o.sum[part];
    int flags = part ? o.flags >> WK_PART_SHIFT : o.flags;
    bool minus = o.n > 0 && !(flags & WK_NOT_MINUS_ZERO);
    if (task.has_initial) { // one element more
        const double first = initial_of(task, parts, part, output);
        minus = (minus || o.n == 0) && wk_bits_f64(first) == 1ull << 63;
        if (first - first != 0)
            flags |= wk_odd_flag(first);
        else if (fabs(first) > 0x1p900 || o.shift[part] != 0)
            return {0, false};
        else
            s.add(first);
    }
    if (flags & WK_IS_ODD) return {wk_odd_sum(flags), true};
    if (s.is_zero()) return {fold == WK_MEAN && o.n == 0 ? wk_nan() : minus ? -0.0 : 0.0, true};
    const answer a =
        fold == WK_SUM
            ? rounded(s, dtype)
            : quick_mean(s, o.n, task.counts ? 1 / (double)o.n : task.inverse, dtype);
    return times_power(a, o.shift[part]);
}

// Of a fold that is no sum; false: it is one.
static __device__ bool
finish_other(const float_outcome &o, const reduce_task &task, int i, int64_t output)
{
    const int fold = task.fold[i], dtype = task.out_dtype[i];
    const bool ends = fold == WK_MIN || fold == WK_MAX || fold == WK_PTP,
               counts = fold == WK_ANY || fold == WK_ALL || fold == WK_COUNT_NONZERO;
    if (o.sums_only || !(ends || counts)) return ends || counts;
    if (ends) {
        uint64_t least = o.ends[0], most = o.ends[1];
        if (is_float_dtype(task.dtype) && o.n == 0) // all were NaN, and left out
            least = most = task.dtype == WK_F64 ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX;
        finish_ends(fold, least, most, task.dtype, task, i, output);
        return true;
    }
    store(task.out[i], dtype, output,
          fold == WK_ANY   ? (uint64_t)(o.nonzeros > 0)
          : fold == WK_ALL ? (uint64_t)(o.nonzeros == o.n)
                           : (uint64_t)o.nonzeros);
    return true;
}

__device__ WK_NOINLINE bool
finish_floats(const float_outcome &o, const reduce_task &task, int64_t output)
{
    const int parts = task.dtype >= WK_C64 ? 2 : 1;
    const int odd = (o.flags | o.flags >> WK_PART_SHIFT) & WK_IS_ODD;
    bool all = true;
#pragma unroll 1
    for (int i = 0; i < task.folds; i++) {
        const int fold = task.fold[i], dtype = real_of(task.out_dtype[i]);
        if (finish_other(o, task, i, output)) continue;
        if ((o.flags & WK_TOO_LARGE) || (dtype != WK_F64 && o.is_shifted())) {
            all = false;
            continue;
        }
        if (fold == WK_SUM || fold == WK_MEAN) {
#pragma unroll 1
            for (int p = 0; p < parts; p++) {
                const answer a = sum_or_mean(o, task, output, p, parts, fold, dtype);
                all &= a.known;
                if (a.known) store(task.out[i], dtype, parts * output + p, a.value);
            }
            continue;
        }
        answer a = {0, true};
        if (odd)
            a.value = (odd & WK_HAS_NAN) || is_spread(fold) ? wk_nan() : wk_infinity(0);
        else if (parts == 2 || dtype == WK_F64 || task.counts || fold == WK_SUMSQ ||
                 !(a = near_squares(o, fold, task, dtype)).known)
            a = times_power(quick_squares(o, task, i, parts, dtype),
                            fold == WK_SUMSQ || fold == WK_VAR ? o.square_shift
                                                               : o.square_shift / 2);
        if (too_few(task, fold, o.n)) a = {wk_nan(), true};
        all &= a.known;
        if (a.known) store(task.out[i], dtype, output, a.value);
    }
    return all;
}

__device__ WK_NOINLINE bool
finish_few(double a, double b, double c, double d, const reduce_task &task, int64_t output)
{
    // Loads of the task that do not wait for each other.
    const int n = (int)task.n, dtype = task.dtype, folds = task.folds;
    const double ddof = task.ddof, of_mean = task.inverse, of_spread = task.inverse_spread;
    if (!(fabs(a) + fabs(b) + fabs(c) + fabs(d) < 0x1p900)) return false;
#pragma unroll 1
    for (int i = 0; i < folds; i++) {
        const int fold = task.fold[i];
        void *const out = task.out[i];
        const bool spread = is_spread(fold), mean = fold == WK_MEAN;
        bool divide = spread || mean, root = is_root(fold);
        double x[kFew] = {a, b, c, d}, by = n;
        double_pair r = {0, 0, 0};
        if (task.out_dtype[i] != dtype) return false;
        if (fold == WK_MIN || fold == WK_MAX) {
            int64_t key = key_of(a);
#pragma unroll
            for (int j = 1; j < kFew; j++) {
                const int64_t other = key_of(x[j]);
                if (j < n && (other < key) == (fold == WK_MIN)) key = other;
            }
            store(out, dtype, output, wk_unorder_f64(key));
            continue;
        }
        if (fold == WK_SUM || mean) {
            bool minus;
            r = sum_of(x, &minus);
            if (r.high == 0 && minus) r.high = -0.0; // normalising has made it +0.0
            if (mean && r.high != 0 && !(fabs(r.high) > 0x1p-900)) return false;
        } else if (spread || fold == WK_NORM || fold == WK_SUMSQ) {
            if (spread) by = n * (n - ddof);
            if (spread && !(by > 0 && by < 0x1p53 && ddof == rint(ddof))) return false;
            if (fold == WK_STD && n == 2 && by == 4) { // half the difference: often a tie
                r.high = two_sum(a, -b, &r.low) / 2;
                if (r.high != 0 && !(fabs(r.high) > 0x1p-900)) return false;
                r.low = r.high < 0 ? -r.low / 2 : r.low / 2;
                r.high = fabs(r.high);
                divide = root = false;
            } else {
                r = squares_of_few(x, n, spread, dtype == WK_F64);
            }
        } else {
            return false;
        }
        answer all = {r.high, true};
        if (!r.is_zero()) {
            if (divide) r = divided(r, by, spread ? of_spread : of_mean);
            if (root) r = root_of(r);
            all = rounded(r, dtype);
        }
        if (!all.known) return false;
        store(out, dtype, output, all.value);
    }
    return true;
}

// ---- extremes ---------------------------------------------------------------------------------

template <typename T>
static __device__ void
finish_ends_of(int fold, uint64_t least, uint64_t most, const reduce_task &task, int i,
               int64_t output)
{
    const auto low_key = (key_t<T>)least, high_key = (key_t<T>)most;
    auto low = number_of<T>(low_key), high = number_of<T>(high_key);
    if constexpr (is_real<T>)
        if (low_key < ~infinity_key<T> || high_key > infinity_key<T>) low = high = wk_nan();
    auto x = fold == WK_MIN ? low : fold == WK_MAX ? high : high - low;
    if constexpr (is_real<T>) x = x - x == 0 ? round_to(x, task.out_dtype[i]) : x;
    store(task.out[i], task.out_dtype[i], output, x);
}

__device__ WK_NOINLINE void
finish_ends(int fold, uint64_t least, uint64_t most, int dtype, const reduce_task &task, int i,
            int64_t output)
{
    switch (dtype) {
    case WK_F16: return finish_ends_of<half16>(fold, least, most, task, i, output);
    case WK_BF16: return finish_ends_of<brain16>(fold, least, most, task, i, output);
    case WK_F32: return finish_ends_of<float>(fold, least, most, task, i, output);
    case WK_F64: return finish_ends_of<double>(fold, least, most, task, i, output);
    default: return finish_ends_of<uint64_t>(fold, least, most, task, i, output);
    }
}

__device__ void
keys_of_rising(int dtype, const unsigned long long *words, uint64_t *keys)
{
    if (dtype == WK_F64) {
        keys[0] = (uint64_t)INT64_MAX - words[0];
        keys[1] = words[1] + (uint64_t)INT64_MIN;
    } else {
        keys[0] = (uint64_t)(int64_t)(int32_t)((uint64_t)INT32_MAX - words[0]);
        keys[1] = (uint64_t)(int64_t)(int32_t)(words[1] + (uint64_t)(int64_t)INT32_MIN);
    }
}

// ---- integers ---------------------------------------------------------------------------------

// An integer's words of 64 bits, as two doubles.
static __device__ double_pair
pair_of_words(const uint64_t *words, int count)
{
    double_pair p = {0, 0, 0};
#pragma unroll 1
    for (int i = 2 * count - 1; i >= 0; i--) {
        const auto word = (uint32_t)(words[i / 2] >> 32 * (i % 2));
        if (word != 0) p.add((double)word * wk_power_of_two(32 * i));
    }
    return p;
}

static __device__ double
slow_moment(const uint64_t (&words)[5], bool negative, int64_t n, int fold,
            const reduce_task &task, int dtype)
{
    int64_t s[6] = {}, q[14] = {};
    wk_moments all = {{s, 6, 0}, {q, 9, 0}, WK_NOT_MINUS_ZERO, n};
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        const int64_t limb = (int64_t)(words[i / 2] >> 32 * (i % 2) & 0xffffffffu);
        s[i] = negative ? -limb : limb;
    }
#pragma unroll 1
    for (int i = 0; i < 6; i++)
        q[i] = (int64_t)(words[2 + i / 2] >> 32 * (i % 2) & 0xffffffffu);
    const wk_format f = wk_format_of((wk_dtype)dtype);
    if (fold == WK_SUM || fold == WK_MEAN) return wk_finish_sum(&all, fold == WK_MEAN, f);
    if (fold == WK_SUMSQ || fold == WK_NORM) return wk_finish_squares(&all, fold == WK_NORM, f);
    return wk_finish_variance(&all, &all.sum, 1, task.ddof, fold == WK_STD, f);
}

__device__ WK_NOINLINE void
finish_integers(const integer_outcome &of, const reduce_task &task, int64_t output)
{
    integer_outcome o = of;
    if (o.bias) {
        const unsigned __int128 sum = sum_with_bias(o.sum[0], o.sum[1], o.n, o.bias);
        add_bias_to_squares(o.squares, o.sum[0], o.sum[1], o.n, o.bias);
        o.sum[0] = (uint64_t)sum;
        o.sum[1] = (uint64_t)(sum >> 64);
    }
    const bool negative = (int64_t)o.sum[1] < 0;
    const uint64_t low = negative ? ~o.sum[0] + 1 : o.sum[0],
                   high = negative ? ~o.sum[1] + (low == 0) : o.sum[1];
    const uint64_t words[5] = {low, high, o.squares[0], o.squares[1], o.squares[2]};
    float_outcome pairs;
    pairs.n = o.n;
    pairs.nonzeros = o.nonzeros;
    double_pair &s = pairs.sum[0];
    bool prepared = false;
    const auto prepare_pairs = [&] {
        if (prepared) return;
        prepared = true;
        s = pair_of_words(words, 2);
        pairs.squares = pair_of_words(words + 2, 3);
        if (negative) s = {-s.high, -s.low, s.lost};
    };
#pragma unroll 1
    for (int i = 0; i < task.folds; i++) {
        const int fold = task.fold[i], dtype = task.out_dtype[i];
        pairs.ends[0] = o.ends[0];
        pairs.ends[1] = o.ends[1];
        if (finish_other(pairs, task, i, output)) continue;
        if (!is_float_dtype(dtype)) {
            uint64_t x = fold == WK_SUMSQ ? o.squares[0] : o.sum[0];
            if (task.has_initial && fold == WK_SUM) x += task.initial.u;
            store(task.out[i], dtype, output, x);
            continue;
        }
        answer a;
        prepare_pairs();
        if (fold == WK_SUM)
            a = rounded(s, dtype);
        else if (fold == WK_MEAN)
            a = quick_mean(s, o.n, task.counts ? 1 / (double)o.n : task.inverse, dtype);
        else
            a = quick_squares(pairs, task, i, 1, dtype);
        store(task.out[i], dtype, output,
              a.known ? a.value : slow_moment(words, negative, o.n, fold, task, dtype));
    }
}

// Of two exact numbers, rounded once.
__device__ WK_NOINLINE bool
finish_mean_of_some(int64_t sum, int64_t count, const reduce_task &task, int64_t output)
{
    if (task.out_dtype[0] != WK_F64 || (uint64_t)sum + ((uint64_t)1 << 53) >= (uint64_t)1 << 54)
        return false;
    static_cast<double *>(task.out[0])[output] = count ? (double)sum / (double)count : wk_nan();
    return true;
}

__device__ WK_NOINLINE bool
finish_sum_and_mean(uint64_t sum, double mean, const reduce_task &task, int64_t output)
{
    const int i = task.fold[0] == WK_SUM ? 0 : 1;
    if (task.fold[i] != WK_SUM || is_float_dtype(task.out_dtype[i]) || task.has_initial ||
        task.fold[1 - i] != WK_MEAN || task.out_dtype[1 - i] != WK_F64)
        return false;
    store(task.out[i], task.out_dtype[i], output, sum);
    static_cast<double *>(task.out[1 - i])[output] = task.n > 0 ? mean : wk_nan();
    return true;
}

} // namespace wk
