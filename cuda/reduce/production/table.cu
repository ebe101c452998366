// reduce / exact, tables: their results, and sums by integers (table.cuh).
#include "reduce/production/table.cuh"

namespace wk
{

// ---- results ----------------------------------------------------------------------------------

// Limbs of 24 bits as some of 32 bits.
static __device__ void
widen_limbs(const unsigned long long *limb, int count, int base, const wk_limbs &to, int all)
{
    int64_t carry = 0;
#pragma unroll 1
    for (int i = 0; i < all; i++) to.limb[i] = 0;
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        const int64_t v = (int64_t)limb[i] + carry;
        const int at = kDigit * i + base - to.base;
        carry = v >> kDigit;
        to.limb[at / 32] += (v & ((1 << kDigit) - 1)) << at % 32;
    }
    const int at = kDigit * count + base - to.base;
    to.limb[at / 32] += carry * ((int64_t)1 << at % 32);
}

static __device__ WK_NOINLINE double
exact_sum(const unsigned long long *word, int64_t *work, table_shape shape,
          const reduce_task &task, int64_t output, int part, bool mean, wk_format f)
{
    const wk_limbs sum = {work, WK_SUM_LIMBS, WK_SUM_BASE};
    const int flags = (int)word[kFlags];
    wk_moments m = {sum,
                    {},
                    part ? flags >> WK_PART_SHIFT : flags,
                    task.counts ? (int64_t)word[kCount] : task.n};
    widen_limbs(word + shape.sum_at(part), shape.sum_limbs, shape.sum_base, sum, WK_SUM_LIMBS);
    if (task.has_initial) {
        const double x = task.initial.f64[shape.pieces == 2 ? part : output % task.planes];
        m.n++;
        if (wk_bits_f64(x) != 1ull << 63) m.flags |= WK_NOT_MINUS_ZERO;
        if (x - x != 0)
            m.flags |= wk_odd_flag(x);
        else
            wk_limbs_add_f64(&m.sum, x);
    }
    return wk_finish_sum(&m, mean, f);
}

static __device__ WK_NOINLINE double
exact_squares(const unsigned long long *word, int64_t *work, table_shape shape,
              const reduce_task &task, int fold, wk_format f)
{
    const int flags = (int)word[kFlags] | (int)word[kFlags] >> WK_PART_SHIFT;
    const bool spread = is_spread(fold);
    const int64_t n = task.counts ? (int64_t)word[kCount] : task.n;
    if (spread && task.skip_nan && !((double)n - task.ddof > 0)) return wk_nan();
    wk_limbs sum[2];
#pragma unroll 1
    for (int p = 0; spread && p < shape.pieces; p++, work += WK_SUM_LIMBS) {
        sum[p] = {work, WK_SUM_LIMBS, WK_SUM_BASE};
        widen_limbs(word + shape.sum_at(p), shape.sum_limbs, shape.sum_base, sum[p],
                    WK_SUM_LIMBS);
    }
    wk_moments m = {{}, {work, WK_SQUARE_LIMBS, WK_SQUARE_BASE}, flags, n};
    widen_limbs(word + shape.square_at(), shape.square_limbs, shape.square_base(), m.squares,
                WK_VARIANCE_LIMBS);
    if (spread) return wk_finish_variance(&m, sum, shape.pieces, task.ddof, fold == WK_STD, f);
    return wk_finish_squares(&m, fold == WK_NORM, f);
}

// The sums of a table of which nothing was lost; of one thread.
static __device__ void
finish_sums(const unsigned long long *word, int64_t *work, table_shape shape,
            const reduce_task &task, int64_t output)
{
#pragma unroll 1
    for (int i = 0; i < task.folds; i++) {
        const int fold = task.fold[i], dtype = real_of(task.out_dtype[i]);
        const wk_format f = wk_format_of((wk_dtype)dtype);
        if (fold == WK_SUM || fold == WK_MEAN) {
#pragma unroll 1
            for (int p = 0; p < shape.pieces; p++)
                store(task.out[i], dtype, shape.pieces * output + p,
                      exact_sum(word, work, shape, task, output, p, fold == WK_MEAN, f));
        } else if (fold == WK_SUMSQ || fold == WK_NORM || fold == WK_VAR || fold == WK_STD) {
            store(task.out[i], dtype, output, exact_squares(word, work, shape, task, fold, f));
        }
    }
}

// A stream's limbs as three doubles; false: integers tell.
template <int K>
static __device__ bool
three_of_stream(const unsigned long long *limb, int count, int base, double lost, few<3> *three)
{
    few<K> all;
    double y[2 * K]; // 144 or 192 bits
    const int top = top_limb(limb, count);
    all.clear();
    all.lost = lost;
    if (top >= 0) {
        if (!upper_limbs(limb, top, base, y, &all.lost)) return false;
#pragma unroll
        for (double x : y) all.put(x);
    }
    *three = three_of(all);
    return true;
}

// A stream's limbs as a pair that is to be taken times 2^shift, an even power.
static __device__ double_pair
pair_of_stream(const unsigned long long *word, int at, int count, int base, int lost, int parts,
               int *shift)
{
    const int top = top_limb(word + at, count), e = kDigit * top + base;
    *shift = top < 0 || (e > -300 && e < 600) ? 0
             : e > 2000                       ? 2000
             : e < -2000                      ? -2000
                                              : e & ~1;
    return pair_of_limbs(word + at, top + 1, base - *shift,
                         bound_of_word(word[lost], *shift) * (double)parts);
}

__device__ WK_NOINLINE bool
finish_words(unsigned long long *word, int64_t *work, table_shape shape,
             const reduce_task &task, int64_t output, bool again)
{
    const int lane = threadIdx.x % kWarp, flags = (int)word[kFlags], parts = (int)task.parts;
    bool known = false;
    if (!again) {
        float_outcome o;
#pragma unroll 1
        for (int p = 0; p < shape.pieces; p++)
            o.sum[p] = pair_of_stream(word, shape.sum_at(p), shape.sum_limbs, shape.sum_base,
                                      kLostSum, parts, &o.shift[p]);
        if (shape.square_limbs > 0)
            o.squares =
                pair_of_stream(word, shape.square_at(), shape.square_limbs, shape.square_base(),
                               kLostSquares, parts, &o.square_shift);
        o.n = task.counts ? (int64_t)word[kCount] : task.n;
        o.flags = flags;
        o.nonzeros = shape.all ? (int64_t)word[shape.all_at()] : 0;
        if (shape.ends) keys_of_rising(task.dtype, word + shape.ends_at(), o.ends);
#pragma unroll 1
        for (bool far = false;; far = true) {
            if (lane == 0) known = finish_floats(o, task, output);
            known = __shfl_sync(kAllLanes, (int)known, 0);
            if (known || far || o.is_shifted() || !shape.pieces || !shape.square_limbs) break;
            const auto bound = [&](int lost) {
                return bound_of_word(word[lost], 0) * (double)parts;
            };
            o.in_three =
                three_of_stream<4>(word + shape.square_at(), shape.square_limbs,
                                   shape.square_base(), bound(kLostSquares), &o.all_squares);
#pragma unroll 1
            for (int p = 0; p < shape.pieces; p++)
                o.in_three &= three_of_stream<3>(word + shape.sum_at(p), shape.sum_limbs,
                                                 shape.sum_base, bound(kLostSum), &o.sums[p]);
            if (!o.in_three) break;
        }
    }
    if (!known && word[kLostSum] == 0 && word[kLostSquares] == 0 && !(flags & WK_TOO_LARGE)) {
        if (lane == 0) finish_sums(word, work, shape, task, output);
        known = true;
    }
    if (known && lane == 0) send_result(task);
    return known;
}

// ---- elements to limbs ------------------------------------------------------------------------

__device__ double
part_of_element(const void *elements, int dtype, int64_t at, int part)
{
    return real_at(elements, real_of(dtype), dtype >= WK_C64 ? 2 * at + part : at);
}

__device__ WK_NOINLINE void
add_own_doubles(const double *x, int count, int base, unsigned long long *limb)
{
#pragma unroll 1
    for (int k = 0; k < count; k++) {
        const uint64_t b = wk_bits_f64(x[k]);
        const int field = (int)(b >> 52 & 2047);
        uint64_t m = (b & 0xfffffffffffffu) | (uint64_t)(field > 0) << 52;
        if (m == 0) continue;
        int at = (field > 0 ? field : 1) - 1075 - base;
        if (at < 0) { // below the least unit all bits are zero
            m >>= -at;
            at = 0;
        }
        unsigned long long *to = limb + at / kDigit;
        unsigned __int128 left = (unsigned __int128)m << at % kDigit;
#pragma unroll 1
        for (; left != 0; left >>= kDigit, to++) {
            const int64_t digit = (int64_t)left & ((1 << kDigit) - 1);
            if (digit) atomicAdd(to, (unsigned long long)(b >> 63 ? -digit : digit));
        }
    }
}

__device__ WK_NOINLINE void
add_words(table_shape shape, unsigned long long *to, const unsigned long long *from, int begin,
          int end)
{
#pragma unroll 1
    for (int w = begin + (int)threadIdx.x % kWarp; w < end; w += kWarp)
        add_word(shape, to, w, from[w]);
}

// Numbers of magnitudes within `least` and `most` alone, times 2^shift.
template <int K>
static __device__ __forceinline__ bool
scaled(const double (&x)[K], double least, double most, int shift, double (&to)[K])
{
    bool some = false;
#pragma unroll
    for (int k = 0; k < K; k++) {
        const double size = fabs(x[k]);
        to[k] = size >= least && size < most ? x[k] * wk_power_of_two(shift) : 0;
        some |= to[k] != 0;
    }
    return __any_sync(kAllLanes, some);
}

static __device__ WK_NOINLINE void
add_values(const double (&x)[4], int base, unsigned long long *limb)
{
    double own[4];
    if (scaled(x, 0, 0x1p900, 0, own)) add_digits(own, base, limb);
    if (scaled(x, 0x1p900, INFINITY, -240, own)) add_digits(own, base - 240, limb);
}

// The shifts are multiples of 24 bits, of squares too, and no square loses a bit or overflows.
static __device__ WK_NOINLINE void
add_squares_of(double a, double b, int base, unsigned long long *limb)
{
    const double x[2] = {a, b};
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
        const int shift = turn == 0 ? 0 : turn == 1 ? 600 : -600;
        const double least = turn == 0 ? 0x1p-400 : turn == 1 ? 0 : 0x1p400;
        const double most = turn == 0 ? 0x1p400 : turn == 1 ? 0x1p-400 : INFINITY;
        double own[2], square[4];
        if (!scaled(x, least, most, shift, own)) continue;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            square[k] = own[k] * own[k];
            square[2 + k] = __fma_rn(own[k], own[k], -square[k]);
        }
        add_digits(square, base + 2 * shift, limb);
    }
}

// A batch of each lane's elements, of which bits say which count, to the table, by a warp; their flags.
static __device__ WK_NOINLINE int
add_batch(const void *elements, int count, uint32_t ok, int dtype, table_shape shape,
          unsigned long long *word)
{
    int flags = 0;
    const int parts = dtype >= WK_C64 ? 2 : 1;
#pragma unroll 1
    for (int p = 0; p < parts; p++) {
#pragma unroll 1
        for (int j = 0; j < count; j += 4) {
            double x[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                x[k] = 0;
                if (j + k >= count || !(ok >> (j + k) & 1)) continue;
                const double v = part_of_element(elements, dtype, j + k, p);
                if (v - v != 0)
                    flags |= note(p, wk_odd_flag(v));
                else
                    x[k] = v;
                if (wk_bits_f64(v) != 1ull << 63) flags |= note(p, WK_NOT_MINUS_ZERO);
            }
            if (shape.pieces) add_values(x, shape.sum_base, word + shape.sum_at(p));
            if (shape.square_limbs == 0) continue;
            add_squares_of(x[0], x[1], shape.square_base(), word + shape.square_at());
            add_squares_of(x[2], x[3], shape.square_base(), word + shape.square_at());
        }
    }
    return flags;
}

__device__ WK_NOINLINE bool
counts_there(const void *in, const reduce_task &task, const uint8_t *mask, const spot &s)
{
    if (mask && !mask[s.mask]) return false;
    if (!task.skip_nan) return true;
    double x = part_of_element(in, task.dtype, s.at, 0);
    if (task.dtype >= WK_C64 && x == x) x = part_of_element(in, task.dtype, s.at, 1);
    if (x == x && task.pairs()) // the other part of the same number
        x = part_of_element(in, task.dtype, s.at + (s.at & 1 ? -1 : 1), 0);
    return x == x;
}

static __device__ int
item_of(int dtype)
{
    return dtype == WK_C128                     ? 16
           : dtype == WK_C64 || dtype == WK_F64 ? 8
           : dtype == WK_F32                    ? 4
                                                : 2;
}

struct found {
    int flags, count;
};

// Elements begin .. end - 1 of the output at `first`, by a warp, to the table, or to each thread's sums.
static __device__ WK_NOINLINE void
add_range(const void *in, const reduce_task &task, const spot &first, int64_t begin,
          int64_t end, table_shape shape, unsigned long long *word, scaled_sums *sums,
          found *all)
{
    constexpr int kMore = 4;
    const uint8_t *mask = task.where ? task.where + first.mask : nullptr;
    const int lane = threadIdx.x % kWarp, item = item_of(task.dtype);
    if (sums) {
        add_scaled(in, task, first, {begin + lane, end, kWarp, kMore * kWarp, kMore}, shape,
                   sums);
        return;
    }
#pragma unroll 1
    for (int64_t i = begin; i < end; i += kWarp * kMore) {
        alignas(16) unsigned char own[16 * kMore];
        uint32_t ok = 0;
#pragma unroll 1
        for (int k = 0; k < kMore; k++) {
            const int64_t m = i + k * kWarp + lane;
            if (m >= end) continue;
            spot s = spot_of(task.folded, task.where_folded, m);
            s.at += first.at;
            if (!counts_there(in, task, mask, s)) continue;
            memcpy(own + k * item, static_cast<const unsigned char *>(in) + s.at * item,
                   (size_t)item);
            ok |= 1u << k;
        }
        all->flags |= add_batch(own, kMore, ok, task.dtype, shape, word);
        all->count += __popc(ok);
    }
}

__device__ WK_NOINLINE void
add_output_exactly(const void *in, const reduce_task &task, int64_t output, int64_t begin,
                   int64_t end, table_shape shape, unsigned long long *word)
{
    const spot first = spot_of(task.kept, task.where_kept, output);
    const int64_t each = (end - begin + kWarps - 1) / kWarps,
                  from = begin + threadIdx.x / kWarp * each,
                  to = from + each < end ? from + each : end;
    found all = {0, 0};
    add_range(in, task, first, from, to, shape, word, nullptr, &all);
    all.flags = (int)__reduce_or_sync(kAllLanes, (unsigned)all.flags);
    all.count = __reduce_add_sync(kAllLanes, all.count);
    if (threadIdx.x % kWarp > 0) return;
    add_word<true>(shape, word, kFlags, (unsigned)all.flags);
    if (task.counts) add_word<true>(shape, word, kCount, (unsigned)all.count);
}

__device__ WK_NOINLINE int
add_tiles_again(const void *in, const reduce_task &task, int64_t output, int64_t tile,
                int64_t step, table_shape shape, unsigned long long *word, scaled_sums *sums)
{
    const spot first = spot_of(task.kept, task.where_kept, output);
    const int item = item_of(task.dtype), per = 16 / item;
    const bool by_runs = task.reads == WK_READS_RUN, vectors = task.reads != WK_READS_ELEMENTS;
    const int64_t tiles = by_runs ? task.runs * task.tiles : task.tiles;
    const int64_t each = vectors ? WK_TILE_BYTES / item : (item <= 2 ? 32 : 64 / item) * kWarp;
    found all = {0, 0};
#pragma unroll 1
    for (; tile < tiles; tile += step) {
        int64_t run = 0, t = tile, begin = 0, end = task.n, lead = 0, whole = task.n;
        if (by_runs) {
            run = tile;
            t = split(&run, task.tiles);
            begin = run * task.run;
            end = begin + task.run;
            const int64_t at = first.at + spot_of(task.folded, task.where_folded, begin).at;
            const auto address = reinterpret_cast<uintptr_t>(in) + (uintptr_t)(at * item);
            lead = task.aligned ? 0 : (int64_t)(-address & 15) / item;
            lead = lead < task.run ? lead : task.run;
            whole = (task.run - lead) / per * per; // of whole vectors
        }
        const int64_t from = begin + lead + t * each, to = begin + lead + whole;
        if (sums && (!by_runs || task.runs == 1) && from < to) { // all of the warp's together
            const int lane = threadIdx.x % kWarp;
            add_scaled(in, task, first,
                       {from + lane, to, kWarp, step * each, (int)(each / kWarp)}, shape, sums);
            t = tile += (to - from - 1) / (step * each) * step;
        } else if (from < to) {
            add_range(in, task, first, from, from + each < to ? from + each : to, shape, word,
                      sums, &all);
        }
        if (by_runs && !task.aligned && t == task.tiles - 1) { // with the last tile its ends
            add_range(in, task, first, begin, begin + lead, shape, word, sums, &all);
            add_range(in, task, first, to, end, shape, word, sums, &all);
        }
    }
    return all.flags;
}

// Are all elements of an output one number, and no sum of them asked for? Then that is their mean, and
// they have no variance. Of the whole block.
static __device__ bool
finish_equal(const void *in, const reduce_task &task, int64_t output)
{
    if (task.counts || task.dtype >= WK_C64 || task.n == 0) return false;
    if (!((double)task.n - task.ddof > 0)) return false; // ddof may be negative
#pragma unroll 1
    for (int i = 0; i < task.folds; i++)
        if (task.fold[i] == WK_SUM || task.fold[i] == WK_SUMSQ || task.fold[i] == WK_NORM)
            return false;
    const spot first = spot_of(task.kept, task.where_kept, output);
    const double x = part_of_element(in, task.dtype, first.at, 0);
    bool equal = x - x == 0 && x != 0; // zeros may have either sign
#pragma unroll 1
    for (int64_t m = threadIdx.x; m < task.n && equal; m += kThreads) {
        const spot s = spot_of(task.folded, task.where_folded, m);
        equal = part_of_element(in, task.dtype, first.at + s.at, 0) == x;
    }
    if (!__syncthreads_and(equal)) return false;
#pragma unroll 1
    for (int i = 0; i < task.folds && threadIdx.x == 0; i++) {
        const int fold = task.fold[i], dtype = real_of(task.out_dtype[i]);
        if (fold == WK_MEAN || fold == WK_VAR || fold == WK_STD)
            store(task.out[i], dtype, output, fold == WK_MEAN ? round_to(x, dtype) : 0.0);
    }
    if (threadIdx.x == 0) send_result(task);
    return true;
}

__device__ WK_NOINLINE void
finish_exactly(const void *in, const reduce_task &task, int64_t output, table_shape shape,
               unsigned long long *word, int64_t *work)
{
    if (finish_equal(in, task, output)) return;
#pragma unroll 1
    for (int w = threadIdx.x; w < shape.words(); w += kThreads) word[w] = 0;
    __syncthreads(); // all is zero before anything is added
    add_output_exactly(in, task, output, 0, task.n, shape, word);
    __syncthreads(); // the table is whole
    if (threadIdx.x < kWarp) finish_words(word, work, shape, task, output, true);
    __syncthreads(); // the table has been read
}

__device__ WK_NOINLINE void
column_exactly(const void *in, const reduce_task &task, int64_t output, int64_t begin,
               int64_t end, table_shape shape, unsigned long long *word, int64_t *work)
{
    if (!task.keeps) {
        finish_exactly(in, task, output, shape, word, work);
        return;
    }
    for (int w = threadIdx.x; w < shape.words(); w += kThreads) word[w] = 0;
    __syncthreads(); // all is zero before anything is added
    add_output_exactly(in, task, output, begin, end, shape, word);
    __syncthreads(); // the table is whole
    if (threadIdx.x < kWarp)
        add_words(shape, (unsigned long long *)shared_words(task, output, shape.words()), word,
                  0, shape.words());
    __syncthreads(); // the table has been read
}

__device__ WK_NOINLINE void
finish_marked(const void *in, const reduce_task &task, uint32_t (*marks)[kWarp], int words,
              int lanes, int height, table_shape shape, bool wide, unsigned long long *word,
              int64_t *work)
{
    const auto first_of = [&](int at, int warp) {
        const int64_t item = blockIdx.x + (int64_t)(at / height) * gridDim.x;
        return ((item * kWarps + warp) * height + at % height) * (kWarp / lanes);
    };
    const int own = threadIdx.x / kWarp;
#pragma unroll 1
    for (int at = 0; wide && at < words; at++)
        finish_mark(in, task, &marks[own][at], first_of(at, own), lanes, 1, shape);
    if (wide) __syncthreads(); // the marks that are left are set
#pragma unroll 1
    for (int k = 0; k < words * kWarps; k++) {
        const int at = k / kWarps, warp = k % kWarps;
        const int64_t first = first_of(at, warp);
        for (uint32_t left = marks[warp][at]; left; left &= left - 1)
            finish_exactly(in, task, first + (__ffs((int)left) - 1) / lanes, shape, word, work);
    }
}

__global__ void
__launch_bounds__(kThreads)
    merge_tables(const reduce_task __grid_constant__ task, table_shape shape, uint64_t *state,
                 const uint64_t *other)
{
    constexpr table_shape kMost = shape_of(true, 2, true, true, true);
    __shared__ unsigned long long word[kMost.words()];
    __shared__ int64_t work[kMost.work()];
    for (int64_t o = blockIdx.x; o < task.outputs; o += gridDim.x) {
        const auto own = (unsigned long long *)state + o * shape.words();
#pragma unroll 1
        for (int w = threadIdx.x; w < shape.words(); w += kThreads) {
            if (other)
                add_word(shape, own, w, other[o * shape.words() + w]);
            else
                word[w] = own[w];
        }
        __syncthreads(); // the table is whole
        if (!other && threadIdx.x < kWarp) finish_words(word, work, shape, task, o, false);
        __syncthreads(); // the table has been read before the next is written
    }
}

} // namespace wk
