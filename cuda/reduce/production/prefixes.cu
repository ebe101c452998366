// cumsum / runs -- each line's sums of its first element, its first two, ...; each rounded once.
//
// In, out   x[lines][n] -> sums[lines][n], of floats, of parts of complex numbers, of integers.
// How       a line is cut into runs of tiles, as many as warps fill the device. A warp sums each run; what
//           stands before each is found by one block a line; then warps go through the tiles of each run
//           once more: lanes have a few neighbouring elements each, whose sums are scanned, and round
//           each prefix. Nobody waits for another: three launches, two reads and a write. A line that is
//           one warp's, of up to 4,096 elements, takes one launch and one read.
// Threads   of short lines, and of such as lie side by side, each thread has one, or a run of it, by the same steps: its
//           elements are not its neighbours', but of all lanes they are a few lines of memory. One launch, one read.
// Floats    a sum is a few doubles and a bound of what these have lost, as in all reductions
//           (doubles.cuh). A prefix that the bound leaves open marks its line, of which all prefixes
//           are then found by integers: limbs of each chunk, scanned limb by limb, then a thread a
//           chunk, which rounds from limbs (num/exact.h). Slow, and rare.
// Rounding  results.cuh: h + l is the prefix but for e; where all of that rounds alike it is right. Of
//           few digits h is nearly always enough: one double, from which the elements are not far.
// Source    D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016),
//           which saves a read, and waits.
#include "reduce/production/exact.cuh"

namespace wk
{

namespace
{

constexpr int kEach = 16; // elements of a lane in a tile: exact in two sums (doubles.cuh)
constexpr int kTileOf = kWarp * kEach;

struct prefix_task {
    const void *in;
    void *out;
    wk_dtype dtype, to;
    // Of series, of which `step` lie side by side: along any axis, and the parts of complex numbers.
    int64_t lines, n, step;
    int64_t runs, per; // of a line; tiles of a run, or a thread's elements
    bool sums;         // threads: each run is only summed, not scanned
    bool skip_nan, integers_only;
    uint64_t *states;      // [lines][runs][words]
    unsigned *open;        // [lines]: integers tell; null: at once, and here
    int64_t chunks, chunk; // of a line, by integers; elements of each
    int64_t *limbs;        // [lines][chunks][WK_SUM_LIMBS]
    unsigned *odd;         // [lines][chunks]: flags
};

// Where a line's elements begin.
__device__ __forceinline__ int64_t
line_at(const prefix_task &t, int64_t line)
{
    int64_t outer = line;
    const int64_t inner = split(&outer, t.step);
    return outer * t.n * t.step + inner;
}

// ---- what is scanned ----------------------------------------------------------------------------

// Rounds one prefix, of which the pair may lack `lost`; `some`: an element other than -0.0 is in it.
// False: integers tell.
__device__ __forceinline__ bool
round_prefix(const double_pair &p, bool some, int dtype, double *x)
{
    if (p.high == 0 && p.low == 0 && p.lost == 0) {
        *x = some ? 0.0 : -0.0;
        return true;
    }
    if (p.lost == 0) {
        *x = dtype == WK_F64 ? p.high : round_to(round_to_odd(p.high, p.low), dtype);
        return true;
    }
    const answer a = settled(p.high, p.low, p.lost, dtype);
    *x = a.value;
    return a.known;
}

__device__ __forceinline__ bool
is_minus_zero(double x)
{
    return wk_bits_f64(x) == 1ull << 63;
}

__device__ __forceinline__ bool
is_minus_zero(float x)
{
    return wk_bits_f32(x) == 1u << 31;
}

template <int K>
struct float_prefix {
    static constexpr int kWords = K + 2;
    static constexpr int kBlocks = K > 2 ? 2 : 3; // of a multiprocessor; a run for each warp
    static constexpr bool kAhead = K > 2;         // are elements read while others are scanned?
    few<K> sum;
    int flags;

    __device__ __forceinline__ void start()
    {
        sum.clear();
        flags = 0;
    }
    // One by one, whatever they are.
    __device__ __forceinline__ void add(double x)
    {
        flags |= is_minus_zero(x) ? 0 : WK_NOT_MINUS_ZERO;
        if (!(fabs(x) < 0x1p880)) {
            flags |= x - x != 0 ? wk_odd_flag(x) : (int)WK_TOO_LARGE;
            return;
        }
        sum.put(x);
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
        sum.save(words);
        words[K + 1] = (uint64_t)(uint32_t)flags;
    }
    __device__ __forceinline__ void load(const uint64_t *words)
    {
        sum.load(words);
        flags = (int)(uint32_t)words[K + 1];
    }
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        sum.merge(words);
        flags |= (int)(uint32_t)words[K + 1];
    }
    __device__ __forceinline__ bool round(int dtype, double *x) const
    {
        if (flags & (WK_IS_ODD | WK_TOO_LARGE)) {
            *x = wk_odd_sum(flags);
            return !(flags & WK_TOO_LARGE);
        }
        return round_prefix(pair_of(sum), flags & WK_NOT_MINUS_ZERO, dtype, x);
    }
};

// How a lane's elements are cut so that no sum of some of them is rounded; but where they are wide.
struct lane_cut {
    static constexpr int kMost = 880, kLeast = -800;
    int e; // they are below two to this, all together; beyond kMost: they are not to be cut
    bool zeros; // all of them are
    bool wide;  // their last bits may lie so far below that sums of them are rounded

    template <typename F, int N>
    __device__ __forceinline__ explicit lane_cut(const F (&x)[N])
    {
        batch_range<F> range;
        range.find(x);
        zeros = range.magnitude == 0;
        wide = !zeros && !range.within(40);
        e = range.exponent();
        e = !range.finite() || e > kMost ? kMost + 1 : e > kLeast ? e : kLeast;
    }
};

// Is one of them not -0.0?
template <typename F, int N>
__device__ __forceinline__ bool
some_other(const F (&x)[N], bool zeros)
{
    bool some = !zeros;
    if (zeros) {
#pragma unroll
        for (int j = 0; j < N; j++) some |= !is_minus_zero(x[j]);
    }
    return some;
}

struct word_prefix {
    static constexpr int kWords = 1, kBlocks = 3;
    static constexpr bool kAhead = true;
    uint64_t sum;

    __device__ __forceinline__ void start()
    {
        sum = 0;
    }
    __device__ __forceinline__ void save(uint64_t *words) const
    {
        words[0] = sum;
    }
    __device__ __forceinline__ void load(const uint64_t *words)
    {
        sum = words[0];
    }
    __device__ __forceinline__ void merge(const uint64_t *words)
    {
        sum += words[0];
    }
};

template <class P>
constexpr bool is_whole = std::is_same_v<P, word_prefix>;

// Elements as they are scanned.
template <typename T, class P>
using scanned = std::conditional_t<is_whole<P>, uint64_t, value_t<T>>;

// An element that is known by its size and dtype.
template <typename T, class P>
__device__ __forceinline__ scanned<T, P>
number_of(T x, const prefix_task &t)
{
    if constexpr (is_whole<P>) {
        const uint64_t bias = t.dtype == WK_I8    ? (uint64_t)1 << 7
                              : t.dtype == WK_I16 ? (uint64_t)1 << 15
                              : t.dtype == WK_I32 ? (uint64_t)1 << 31
                                                  : 0; // sign bits of smaller integers
        return t.dtype == WK_BOOL ? (uint64_t)(x != 0) : ((uint64_t)x ^ bias) - bias;
    } else {
        const value_t<T> v = value_of(x);
        return t.skip_nan && v != v ? 0 : v;
    }
}

// Elements that lie `hop` apart, one by one: of a lane that has large ones.
template <typename T, class P>
__device__ WK_NOINLINE P
with_each(P sum, const T *x, int64_t hop, int n, const prefix_task &t)
{
    for (int j = 0; j < n; j++) sum.add(number_of<T, P>(x[j * hop], t));
    return sum;
}

// Each lane's sum becomes that of all lanes up to it.
template <class P>
__device__ __forceinline__ void
scan_lanes(P *sum)
{
    const int lane = threadIdx.x % kWarp;
    uint64_t words[P::kWords];
#pragma unroll 1
    for (int hop = 1; hop < kWarp; hop *= 2) {
        sum->save(words);
#pragma unroll
        for (int w = 0; w < P::kWords; w++) words[w] = __shfl_up_sync(kAllLanes, words[w], hop);
        if (lane >= hop) sum->merge(words);
    }
}

// One lane's sum, or that of the lane before, of which the first lane has none.
template <class P>
__device__ __forceinline__ P
of_lane(const P &sum, int lane)
{
    uint64_t words[P::kWords];
    P other;
    sum.save(words);
#pragma unroll
    for (int w = 0; w < P::kWords; w++) words[w] = __shfl_sync(kAllLanes, words[w], lane);
    other.load(words);
    return other;
}

template <class P>
__device__ __forceinline__ P
of_lane_before(const P &sum)
{
    const int lane = threadIdx.x % kWarp;
    P other = of_lane(sum, (lane - 1) & (kWarp - 1));
    if (lane == 0) other.start();
    return other;
}

// ---- the sums of runs ---------------------------------------------------------------------------

// A lane's share of the tile that begins there; zeros from the end on.
template <typename T>
__device__ __forceinline__ void
read_tile(const T *x, int64_t first, int64_t end, int64_t step, T (&e)[kEach])
{
    const int lane = threadIdx.x % kWarp;
    const T *from = x + (first + lane) * step;
    const int64_t left = end - first;
    if (left >= kTileOf) { // without conditions they are read at once
#pragma unroll
        for (int j = 0; j < kEach; j++) e[j] = from[j * kWarp * step];
    } else {
#pragma unroll
        for (int j = 0; j < kEach; j++) {
            e[j] = T{};
            if (j * kWarp + lane < left) e[j] = from[j * kWarp * step];
        }
    }
}

struct run_of {
    int64_t line, begin, end, at; // at: where its line's elements begin

    __device__ __forceinline__ run_of(const prefix_task &t, int64_t item)
    {
        line = item / t.runs;
        begin = item % t.runs * t.per * kTileOf;
        end = begin + t.per * kTileOf < t.n ? begin + t.per * kTileOf : t.n;
        at = line_at(t, line);
    }
};

// Of floats, n of which are there.
template <typename T, int K, int N>
__device__ __forceinline__ void
add_some(const value_t<T> (&x)[N], const T *there, int64_t hop, int n, const prefix_task &t,
         float_prefix<K> *to)
{
    const lane_cut cut(x);
    if (cut.e > lane_cut::kMost) {
        *to = with_each(*to, there, hop, n, t);
        return;
    }
    cut_sum all(cut.e + 1);
#pragma unroll
    for (int j = 0; j < N; j++) all.add((double)x[j]);
    all.put_to(&to->sum, cut.e + 1);
    if (cut.wide) to->sum.lost += wk_power_of_two(cut.e - 90);
    to->flags |= some_other(x, cut.zeros) ? WK_NOT_MINUS_ZERO : 0;
}

template <typename T, class P>
__global__ void
__launch_bounds__(kThreads, P::kBlocks) sum_runs(const prefix_task __grid_constant__ t)
{
    const int lane = threadIdx.x % kWarp;
    const int64_t hop = (int64_t)gridDim.x * kWarps;
    for (int64_t item = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
         item < t.lines * t.runs; item += hop) { // alike for a warp's lanes
        const run_of run(t, item);
        const T *x = static_cast<const T *>(t.in) + run.at;
        P own;
        own.start();
#pragma unroll 1
        for (int64_t first = run.begin; first < run.end; first += kTileOf) {
            scanned<T, P> some[kEach];
            T e[kEach];
            read_tile(x, first, run.end, t.step, e);
#pragma unroll
            for (int j = 0; j < kEach; j++) some[j] = number_of<T, P>(e[j], t);
            if constexpr (is_whole<P>) {
#pragma unroll
                for (int j = 0; j < kEach; j++) own.sum += some[j];
            } else {
                const int64_t left = run.end - first < kTileOf ? run.end - first : kTileOf;
                add_some(some, x + (first + lane) * t.step, kWarp * t.step,
                         (int)(left - lane + kWarp - 1) / kWarp, t, &own);
            }
        }
        __syncwarp(); // lanes that added one by one have waited
        scan_lanes(&own);
        uint64_t words[P::kWords];
        own.save(words);
#pragma unroll
        for (int w = 0; w < P::kWords; w++)
            if (lane == kWarp - 1) t.states[item * P::kWords + w] = words[w];
    }
}

constexpr int kMany = 1024;  // threads that scan the sums of a line's runs: three or four each
constexpr int kFewRuns = 64; // of a line that one thread scans

// Sums of the runs from `begin` on become what stands before each, and before the first `before`.
template <class P>
__device__ __forceinline__ void
set_before(P *before, uint64_t *states, int64_t begin, int64_t end)
{
    uint64_t words[P::kWords];
    for (int64_t r = begin; r < end; r++) {
        P own;
        own.load(states + r * P::kWords);
        before->save(states + r * P::kWords);
        own.save(words);
        before->merge(words);
    }
}

// Each run's sum becomes that of all before it in its line.
template <class P>
__global__ void
__launch_bounds__(kMany) scan_runs(const prefix_task __grid_constant__ t)
{
    __shared__ uint64_t word[kMany / kWarp][P::kWords]; // of warps
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t each = (t.runs + kMany - 1) / kMany;
    if (t.runs <= kFewRuns) { // a thread a line
        for (int64_t line = (int64_t)blockIdx.x * kMany + threadIdx.x; line < t.lines;
             line += (int64_t)gridDim.x * kMany) {
            P before;
            before.start();
            set_before(&before, t.states + line * t.runs * P::kWords, 0, t.runs);
        }
        return;
    }
    for (int64_t line = blockIdx.x; line < t.lines; line += gridDim.x) {
        uint64_t *states = t.states + line * t.runs * P::kWords, words[P::kWords];
        const int64_t begin = threadIdx.x * each;
        const int64_t end = begin + each < t.runs ? begin + each : t.runs;
        P sum, before;
        sum.start();
        for (int64_t r = begin; r < end; r++) sum.merge(states + r * P::kWords);
        __syncwarp(); // lanes that had fewer have waited
        scan_lanes(&sum);
        before = of_lane_before(sum);
        sum.save(words);
#pragma unroll
        for (int w = 0; w < P::kWords; w++)
            if (lane == kWarp - 1) word[warp][w] = words[w];
        __syncthreads(); // the warps' sums are there
        for (int k = 0; k < warp; k++) before.merge(word[k]);
        set_before(&before, states, begin, end);
        __syncthreads(); // they have been read
    }
}

// ---- prefixes -----------------------------------------------------------------------------------

// Of a tile, element m lies at m + m / kEach: neighbours of a lane in banks of their own.
__device__ __forceinline__ int
place_of(int m)
{
    return m + m / kEach;
}

template <typename T>
constexpr int digits_of = std::is_same_v<T, float> ? WK_F32
                          : is_half<T> ? (std::is_same_v<T, half16> ? WK_F16 : WK_BF16)
                                       : WK_F64;

// Sums of lanes as integers of 50 bits: multiples of two units, which no sum of 32 lanes rounds.
struct lane_words {
    double bias[2];
    int64_t word[2];
    bool left; // something is

    // e is that of all lanes, each of whose sums is below 2^e.
    template <typename F>
    __device__ __forceinline__ lane_words(const F (&x)[kEach], int e)
    {
        cut_sum all(e + 6); // a unit of 2^(e - 45)
        bias[0] = cut_sum::bias(e + 6);
        bias[1] = 1.5 * wk_power_of_two(e - 35); // 2^(e - 87)
#pragma unroll
        for (int j = 0; j < kEach; j++) all.add((double)x[j]);
        const double lower = all.lower + bias[1];
        word[0] = (int64_t)(wk_bits_f64(all.upper) - wk_bits_f64(bias[0]));
        word[1] = (int64_t)(wk_bits_f64(lower) - wk_bits_f64(bias[1]));
        left = all.lower != lower - bias[1];
    }
    __device__ __forceinline__ void put_to(const int64_t (&of)[2], double *high,
                                           double *low) const
    {
        *high = wk_from_bits_f64(wk_bits_f64(bias[0]) + (uint64_t)of[0]) - bias[0];
        *low = wk_from_bits_f64(wk_bits_f64(bias[1]) + (uint64_t)of[1]) - bias[1];
    }
};

// What stands before a lane, of which `x` is what it has; the tile's sum is added to the carry. e: the
// sums of lanes are below two to it. False: some are no numbers, or too large.
template <int K, typename F>
__device__ __forceinline__ bool
scan_cut(const F (&x)[kEach], float_prefix<K> *carry, float_prefix<K> *before, int *e)
{
    const lane_cut cut(x);
    *e = __reduce_max_sync(kAllLanes, cut.e);
    if (*e > lane_cut::kMost || (carry->flags & (WK_IS_ODD | WK_TOO_LARGE))) return false;
    const lane_words own(x, *e);
    const int lane = threadIdx.x % kWarp;
    const bool lost = __any_sync(kAllLanes, own.left || cut.wide);
    const unsigned some = __ballot_sync(kAllLanes, some_other(x, cut.zeros));
    int64_t sum[2] = {own.word[0], own.word[1]};
#pragma unroll
    for (int hop = 1; hop < kWarp; hop *= 2)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const int64_t more = __shfl_up_sync(kAllLanes, sum[k], hop);
            sum[k] += lane >= hop ? more : 0;
        }
    const int64_t all[2] = {__shfl_sync(kAllLanes, sum[0], kWarp - 1),
                            __shfl_sync(kAllLanes, sum[1], kWarp - 1)};
#pragma unroll
    for (int k = 0; k < 2; k++) sum[k] -= own.word[k];
    if (lost) carry->sum.lost += wk_power_of_two(*e - 80);
    *before = *carry;
    double high, low;
    own.put_to(sum, &high, &low);
    before->sum.put(high);
    before->sum.template put<1>(low);
    before->flags |= some & ((1u << lane) - 1) ? WK_NOT_MINUS_ZERO : 0;
    own.put_to(all, &high, &low);
    carry->sum.put(high);
    carry->sum.template put<1>(low);
    carry->flags |= some ? WK_NOT_MINUS_ZERO : 0;
    return true;
}

template <class P>
struct scanned_tile {
    P before, carry;
};

// The same of what is large: n elements of a lane, which lie there.
template <typename T, class P>
__device__ WK_NOINLINE scanned_tile<P>
scan_large(P carry, const T *there, int64_t hop, int n, const prefix_task &t)
{
    const bool first = threadIdx.x % kWarp == 0;
    P own;
    own.start();
    own = with_each<T, P>(first ? carry : own, there, hop, n, t);
    __syncwarp(); // lanes that had less have waited
    scan_lanes(&own);
    const P before = of_lane_before(own);
    return {first ? carry : before, of_lane(own, kWarp - 1)};
}

// Prefixes of a lane, in doubles that are all off by less than some bound: does each round as what it
// stands for? Of float32 their ties are far from them, and they are large beside the bound. Halves:
// results.cuh.
template <typename T>
struct near_prefixes {
    static constexpr int kOff = -42; // binades of the bound below a number
    static constexpr uint32_t kNear = 1u << (52 + 1 + kOff); // of its last digits
    uint32_t least = UINT32_MAX;                             // upper half of the smallest
    uint32_t apart = UINT32_MAX;                             // from the ties
    bool known = true;

    // The prefix is high + low, but for `off`.
    __device__ __forceinline__ T round(double high, double low, double off)
    {
        T y;
        if constexpr (std::is_same_v<T, double>) {
            y = high + (low - off);
            known &= y == high + (low + off);
        } else if constexpr (is_half<T>) {
            const near_answer near = settled_near<digits_of<T>>(high, off);
            known &= near.known;
            store_float<digits_of<T>>(&y, 0, near.value);
        } else {
            constexpr uint32_t kTie = 1u << 28;
            const uint64_t b = wk_bits_f64(high);
            const uint32_t size = (uint32_t)(b >> 32) & 0x7fffffff,
                           tie = ((uint32_t)b & (2 * kTie - 1)) - (kTie - kNear);
            least = size < least ? size : least;
            apart = tie < apart ? tie : apart;
            y = (float)high;
        }
        return y;
    }
    // All are below 2^most.
    __device__ __forceinline__ bool told(double off, int most) const
    {
        if constexpr (!std::is_same_v<T, float>) return known;
        const double smallest = wk_from_bits_f64((uint64_t)least << 32);
        return off == 0 || (apart > 2 * kNear && smallest > 0x1p-120 && most < 120 &&
                            off < smallest * wk_power_of_two(kOff));
    }
};

// A lane's elements of a tile become prefixes, of which `sum` stands before the first; the elements are
// below 2^e, all together. False: not all are told. The double that they are added to is biased, so that
// what it rounds off is known: of float64 it is the prefix's second double, else it is a bound.
template <typename T, int K, int N>
__device__ __forceinline__ bool
set_near_prefixes(T *own, const value_t<T> (&x)[N], const float_prefix<K> &sum, int e)
{
    constexpr bool kWide = std::is_same_v<T, double>;
    const double *s = sum.sum.s;
    const int before = (int)((uint32_t)(wk_bits_f64(s[0]) >> 32) >> 20 & 0x7ff) - 1022;
    e = before > e ? before : e;
    if (e > lane_cut::kMost ||
        (!kWide && !(sum.flags & WK_NOT_MINUS_ZERO) && is_minus_zero(x[0])))
        return false;
    const double bias = 1.5 * wk_power_of_two(e + 2); // over the sum of both
    double all = bias + s[0], low = s[0] - (all - bias), off = sum.sum.lost;
    if constexpr (kWide) {
        low += s[1];
        off += fabs(s[2]) + wk_power_of_two(e - 94); // and 17 sums below 2^(e - 46) are rounded
    } else {
        off += fabs(low) + fabs(s[1]);
    }
    near_prefixes<T> near;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const double next = all + (double)x[j], rest = (double)x[j] - (next - all);
        if constexpr (kWide)
            low += rest;
        else
            off += fabs(rest);
        all = next;
        own[j] = near.round(all - bias, low, off);
    }
    return near.told(off, e + 1);
}

// The same of n elements that lie there, one by one: seldom. False: integers tell.
template <typename T, int K>
__device__ WK_NOINLINE bool
set_prefixes(T *own, const T *there, int n, float_prefix<K> sum, const prefix_task &t)
{
    bool known = true;
    for (int j = 0; j < n; j++) {
        double x;
        sum.add(number_of<T, float_prefix<K>>(there[j * t.step], t));
        known &= sum.round(digits_of<T>, &x);
        store_as<digits_of<T>>(own, j, x);
    }
    return known;
}

// The element of a line, of a real dtype.
__device__ __forceinline__ double
element_of(const prefix_task &t, int64_t line, int64_t i)
{
    const double x = part_of_element(t.in, real_of(t.dtype), line_at(t, line) + i * t.step, 0);
    return t.skip_nan && x != x ? 0.0 : x;
}

__device__ __forceinline__ int
flags_of(double x)
{
    return (is_minus_zero(x) ? 0 : WK_NOT_MINUS_ZERO) | (x - x != 0 ? wk_odd_flag(x) : 0);
}

// All prefixes of a chunk of a line, by integers.
__device__ WK_NOINLINE void
round_chunk(const prefix_task &t, int64_t item)
{
    int64_t limb[WK_SUM_LIMBS], work[WK_SUM_LIMBS];
    const wk_limbs all = {limb, WK_SUM_LIMBS, WK_SUM_BASE};
    const int real = real_of(t.to);
    const wk_format f = wk_format_of((wk_dtype)real);
    const int64_t line = item / t.chunks, begin = item % t.chunks * t.chunk;
    const int64_t end = begin + t.chunk < t.n ? begin + t.chunk : t.n;
    int flags = t.chunks > 1 ? (int)t.odd[item] : 0;
    for (int k = 0; k < WK_SUM_LIMBS; k++)
        limb[k] = t.chunks > 1 ? t.limbs[item * WK_SUM_LIMBS + k] : 0;
    wk_limbs_carry(&all);
    for (int64_t i = begin; i < end; i++) {
        const double x = element_of(t, line, i);
        flags |= flags_of(x);
        if (x - x == 0) wk_limbs_add_f64(&all, x);
        if ((i - begin) % 1024 == 0) wk_limbs_carry(&all); // sums stay far from 2^63
        for (int k = 0; k < WK_SUM_LIMBS; k++) work[k] = limb[k];
        wk_moments m = {{work, WK_SUM_LIMBS, WK_SUM_BASE}, {}, flags, i + 1};
        store(t.out, real, line_at(t, line) + i * t.step, wk_finish_sum(&m, 0, f));
    }
}

template <typename T, class P>
__global__ void
__launch_bounds__(kThreads, P::kBlocks) scan_tiles(const prefix_task __grid_constant__ t)
{
    constexpr int kHop = kWarp + kWarp / kEach; // between a lane's elements that it reads
    using E = std::conditional_t<is_whole<P>, uint64_t, T>;
    __shared__ E tiles[kWarps][kTileOf + kWarp];
    const int lane = threadIdx.x % kWarp;
    E *tile = tiles[threadIdx.x / kWarp], *mine = tile + place_of(lane * kEach),
      *at = tile + place_of(lane);
    const int64_t hop = (int64_t)gridDim.x * kWarps;
    for (int64_t item = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
         item < t.lines * t.runs; item += hop) { // alike for a warp's lanes
        const run_of run(t, item);
        const T *x = static_cast<const T *>(t.in) + run.at;
        bool known = !t.integers_only;
        P carry;
        carry.start();
        if (t.runs > 1) carry.load(t.states + item * P::kWords);
        T next[kEach];
        if (P::kAhead) read_tile(x, run.begin, run.end, t.step, next);
#pragma unroll 1
        for (int64_t first = run.begin; first < run.end; first += kTileOf) {
            const int left = (int)(run.end - first < kTileOf ? run.end - first : kTileOf);
            const int own_left = left - lane * kEach < kEach ? left - lane * kEach : kEach;
            if (!P::kAhead) read_tile(x, first, run.end, t.step, next);
#pragma unroll
            for (int j = 0; j < kEach; j++) {
                if constexpr (is_whole<P>)
                    at[j * kHop] = number_of<T, P>(next[j], t);
                else
                    at[j * kHop] = next[j];
            }
            if (P::kAhead) read_tile(x, first + kTileOf, run.end, t.step, next);
            __syncwarp(); // the tile is there
            if constexpr (is_whole<P>) {
                P own;
                own.start();
#pragma unroll
                for (int j = 0; j < kEach; j++) own.sum += mine[j];
                scan_lanes(&own);
                uint64_t sum = of_lane_before(own).sum + carry.sum;
                carry.sum += of_lane(own, kWarp - 1).sum;
#pragma unroll
                for (int j = 0; j < kEach; j++) mine[j] = sum += mine[j];
            } else {
                const T *there = x + (first + lane * kEach) * t.step;
                value_t<T> some[kEach];
#pragma unroll
                for (int j = 0; j < kEach; j++) some[j] = number_of<T, P>(mine[j], t);
                P before;
                int e;
                bool set = scan_cut(some, &carry, &before, &e); // alike for all lanes
                if (set) {
                    set = set_near_prefixes(mine, some, before, e);
                } else {
                    const auto large = scan_large(carry, there, t.step, own_left, t);
                    before = large.before;
                    carry = large.carry;
                }
                if (!set) known &= set_prefixes(mine, there, own_left, before, t);
            }
            __syncwarp(); // all prefixes are there
            const auto put = [&](int j) {
                const int64_t to = run.at + (first + lane + j * kWarp) * t.step;
                if constexpr (is_whole<P>)
                    store(t.out, t.to, to, at[j * kHop]);
                else
                    static_cast<T *>(t.out)[to] = at[j * kHop];
            };
            if (left == kTileOf) {
#pragma unroll
                for (int j = 0; j < kEach; j++) put(j);
            } else {
                for (int j = 0; j * kWarp + lane < left; j++) put(j);
            }
            __syncwarp(); // the tile has been read before the next one comes
        }
        if constexpr (!is_whole<P>) {
            if (!known && t.open) atomicOr(&t.open[run.line], 1u);
            if (!t.open && __any_sync(kAllLanes, !known) && lane == 0) round_chunk(t, run.line);
        }
    }
}

// ---- a thread a line, or a run of it -------------------------------------------------------------

// N elements at most of a thread's run, of which `sum` stands before the first and then behind the last: their prefixes,
// unless they are only summed. False: integers tell.
template <int N, typename T, class P>
__device__ __forceinline__ bool
scan_some(const T *x, int64_t to, int left, P *sum, const prefix_task &t)
{
    T read[N];
    scanned<T, P> some[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
        read[j] = T{};
        if (j < left) read[j] = x[j * t.step];
    }
#pragma unroll
    for (int j = 0; j < N; j++) some[j] = number_of<T, P>(read[j], t);
    if constexpr (is_whole<P>) {
#pragma unroll
        for (int j = 0; j < N; j++) {
            sum->sum += some[j];
            if (j < left && !t.sums) store(t.out, t.to, to + j * t.step, sum->sum);
        }
        return true;
    } else {
        bool known = true;
        if (!t.sums) {
            const lane_cut cut(some);
            if ((sum->flags & (WK_IS_ODD | WK_TOO_LARGE)) || cut.e > lane_cut::kMost ||
                !set_near_prefixes(read, some, *sum, cut.e)) {
                T own[N];
                known = set_prefixes(own, x, left < N ? left : N, *sum, t);
#pragma unroll
                for (int j = 0; j < N; j++) read[j] = own[j];
            }
            T *out = static_cast<T *>(t.out) + to;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (j < left) out[j * t.step] = read[j];
        }
        add_some(some, x, t.step, left < N ? left : N, t, sum);
        return known;
    }
}

constexpr int kLineBlocks = 2; // of a multiprocessor

template <typename T, class P>
__global__ void
__launch_bounds__(kThreads, kLineBlocks) scan_lines(const prefix_task __grid_constant__ t)
{
    constexpr int kFewOf = 4;
    const int64_t hop = (int64_t)gridDim.x * kThreads;
    for (int64_t item = (int64_t)blockIdx.x * kThreads + threadIdx.x; item < t.lines * t.runs;
         item += hop) {
        int64_t run = item;
        const int64_t line = split(&run, t.lines), at = line_at(t, line), first = run * t.per,
                      end = first + t.per < t.n ? first + t.per : t.n;
        const T *x = static_cast<const T *>(t.in) + at;
        uint64_t *state = t.states + (line * t.runs + run) * P::kWords;
        bool known = !t.integers_only || is_whole<P>;
        P sum;
        sum.start();
        if (t.runs > 1 && !t.sums) sum.load(state);
        if (t.n <= kFewOf) {
            known &= scan_some<kFewOf>(x, at, (int)t.n, &sum, t);
        } else {
#pragma unroll 1
            for (int64_t i = first; i < end; i += kEach)
                known &= scan_some<kEach>(x + i * t.step, at + i * t.step,
                                          end - i < kEach ? (int)(end - i) : kEach, &sum, t);
        }
        if (t.sums)
            sum.save(state);
        else if (!known && !t.open)
            round_chunk(t, line);
        else if (!known)
            atomicOr(&t.open[line], 1u);
    }
}

// ---- by integers: of lines that are marked ------------------------------------------------------

// Each chunk's limbs.
__global__ void
__launch_bounds__(kThreads) sum_chunks(const prefix_task __grid_constant__ t)
{
    __shared__ int64_t limb[WK_SUM_LIMBS];
    __shared__ int flags;
    for (int64_t item = blockIdx.x; item < t.lines * t.chunks; item += gridDim.x) {
        const int64_t line = item / t.chunks, begin = item % t.chunks * t.chunk;
        const int64_t end = begin + t.chunk < t.n ? begin + t.chunk : t.n;
        if (t.open[line] == 0) continue; // alike for all threads
        if (threadIdx.x < WK_SUM_LIMBS) limb[threadIdx.x] = 0;
        if (threadIdx.x == 0) flags = 0;
        __syncthreads(); // all is zero before anything is added
        int own = 0;
        for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
            const double x = element_of(t, line, i);
            const uint64_t b = wk_bits_f64(x);
            const int e = (int)(b >> 52 & 2047), at = (e > 0 ? e : 1) - 1075 - WK_SUM_BASE;
            const auto m = (int64_t)((b & 0xfffffffffffffu) | (uint64_t)(e > 0) << 52);
            own |= flags_of(x);
            if (m == 0 || x - x != 0) continue;
            const int64_t y = b >> 63 ? -m : m;
            const uint64_t low = (uint64_t)y << at % 32;
            const int64_t high = at % 32 ? y >> (64 - at % 32) : y >> 63;
            auto *to = reinterpret_cast<unsigned long long *>(limb) + at / 32;
            atomicAdd(to, (unsigned long long)(low & 0xffffffffu));
            atomicAdd(to + 1, (unsigned long long)(low >> 32));
            if (high) atomicAdd(to + 2, (unsigned long long)high);
        }
        if (own) atomicOr(&flags, own);
        __syncthreads(); // the sum is whole
        if (threadIdx.x == 0) {
            const wk_limbs all = {limb, WK_SUM_LIMBS, WK_SUM_BASE};
            wk_limbs_carry(&all);
            t.odd[item] = (unsigned)flags;
        }
        __syncthreads(); // and carried
        if (threadIdx.x < WK_SUM_LIMBS)
            t.limbs[item * WK_SUM_LIMBS + threadIdx.x] = limb[threadIdx.x];
        __syncthreads(); // the limbs have been read
    }
}

// Limb by limb, a thread each: what stands before a chunk.
__global__ void
__launch_bounds__(kThreads) scan_chunks(const prefix_task __grid_constant__ t)
{
    for (int64_t line = blockIdx.x; line < t.lines; line += gridDim.x) {
        if (t.open[line] == 0 || threadIdx.x > WK_SUM_LIMBS) continue;
        int64_t sum = 0;
        unsigned flags = 0;
        for (int64_t k = line * t.chunks; k < (line + 1) * t.chunks; k++) {
            if (threadIdx.x == WK_SUM_LIMBS) {
                const unsigned own = t.odd[k];
                t.odd[k] = flags;
                flags |= own;
            } else {
                int64_t *limb = t.limbs + k * WK_SUM_LIMBS + threadIdx.x;
                const int64_t own = *limb;
                *limb = sum;
                sum += own;
            }
        }
    }
}

__global__ void
__launch_bounds__(kWarp) round_chunks(const prefix_task __grid_constant__ t)
{
    const int64_t step = (int64_t)gridDim.x * kWarp;
    for (int64_t item = (int64_t)blockIdx.x * kWarp + threadIdx.x; item < t.lines * t.chunks;
         item += step)
        if (t.open[item / t.chunks]) round_chunk(t, item);
}

// ---- the launch ---------------------------------------------------------------------------------

constexpr int64_t kMostChunks = 16384; // of all lines; 9 MiB of limbs
constexpr int64_t kLeastChunk = 4096;

wk_status
scan_exactly(wk_call *call, const prefix_task &t)
{
    const int64_t items = t.lines * t.chunks;
    if (t.chunks > 1 &&
        (launch(call, grid_for(call, items, 1), kThreads, 0, sum_chunks, t) != WK_OK ||
         launch(call, grid_for(call, t.lines, 1), kThreads, 0, scan_chunks, t) != WK_OK))
        return call->error.status;
    return launch(call, grid_for(call, items, kWarp), kWarp, 0, round_chunks, t);
}

// Memory for states, for marks, and for limbs where these are more than one chunk's.
wk_status
plan_prefixes(wk_call *call, int words, prefix_task *t)
{
    const int64_t most = (t->n + kLeastChunk - 1) / kLeastChunk;
    const int64_t chunks = std::clamp<int64_t>(kMostChunks / t->lines, 1, most);
    t->chunk = (t->n + chunks - 1) / chunks;
    t->chunks = (t->n + t->chunk - 1) / t->chunk;
    const int64_t items = words > 1 && t->chunks > 1 ? t->lines * t->chunks : 0;
    const int64_t states = t->lines * t->runs * words, marks = (t->lines + 1) / 2;
    void *block = nullptr;
    if (allocate(call, 8 * (states + marks + items * (WK_SUM_LIMBS + 1)), &block) != WK_OK)
        return call->error.status;
    t->states = static_cast<uint64_t *>(block);
    t->open = reinterpret_cast<unsigned *>(t->states + states);
    t->limbs = reinterpret_cast<int64_t *>(t->states + states + marks);
    t->odd = reinterpret_cast<unsigned *>(t->limbs + items * WK_SUM_LIMBS);
    return clear(call, block, 8 * (states + marks));
}

// Cuts lines into runs of so many elements at least, if that makes work for more of those that there are.
void
cut_lines(int64_t workers, int64_t least, prefix_task *t)
{
    const int64_t pieces = (t->n + least - 1) / least,
                  runs = std::clamp<int64_t>(workers / t->lines, 1, pieces);
    t->per = (pieces + runs - 1) / runs;
    t->runs = (pieces + t->per - 1) / t->per;
}

// A thread each where lines lie side by side, else where they are short and fill the device. H200, 128 MiB, us by threads,
// n x 64, n x 128, n x 256: float32 642, 603, 638; float64 376, 400, 400; uint8 2,633, 2,747, 2,777. By warps n x 1000 takes
// 134, 95, 385, and a warp takes as long for a line of 64 as of 512. 182 MB of float32 along axis 0 of 2 x n by warps, of
// lines that had been turned: 32,549; 128 MiB so 376.
template <typename T, class P>
wk_status
scan(wk_call *call, prefix_task t, bool last)
{
    constexpr int64_t kLeastRun = 64, kShortLine = 100;
    const int64_t warps = (int64_t)processors(call) * P::kBlocks * kWarps;
    const bool threads = !last || (t.n <= kShortLine && t.n * warps <= kWarp * t.lines);
    const int64_t most = processors(call) * (threads ? kLineBlocks : P::kBlocks);
    // A line that a warp has alone takes one launch: nobody is waited for.
    const bool alone = !threads && t.n <= kLeastChunk;
    cut_lines(threads ? most * kThreads : alone ? 1 : warps, threads ? kLeastRun : kTileOf, &t);
    const int64_t each = threads ? kThreads : kWarps,
                  grid = std::min((t.lines * t.runs + each - 1) / each, most);
    const auto go = [&](auto kernel) {
        return launch(call, (unsigned)grid, kThreads, 0, kernel, t);
    };
    if (threads) t.per *= kLeastRun;
    if (t.runs == 1 && (threads || alone)) {
        t.chunks = 1;
        t.chunk = t.n;
        return go(threads ? scan_lines<T, P> : scan_tiles<T, P>);
    }
    if (plan_prefixes(call, P::kWords, &t) != WK_OK) return call->error.status;
    if (t.runs > 1) {
        const int64_t lines = t.runs <= kFewRuns ? (t.lines + kMany - 1) / kMany : t.lines;
        t.sums = true;
        if (go(threads ? scan_lines<T, P> : sum_runs<T, P>) != WK_OK ||
            launch(call, grid_for(call, lines, 1), kMany, 0, scan_runs<P>, t) != WK_OK)
            return call->error.status;
        t.sums = false;
    }
    if (go(threads ? scan_lines<T, P> : scan_tiles<T, P>) != WK_OK) return call->error.status;
    return std::is_same_v<P, word_prefix> ? WK_OK : scan_exactly(call, t);
}

} // namespace
} // namespace wk

WK_LAUNCHER(cumsum, cuda, runs)
{
    using namespace wk;
    const wk_cumsum_args *a = &call->args.cumsum;
    const bool complex = wk_is_complex(call->in.dtype);
    if (find_kernels(call) != WK_OK) return call->error.status;
    prefix_task t = {};
    t.in = static_cast<const char *>(call->in.data) + call->in.first;
    t.out = call->out[0].data;
    t.dtype = call->in.dtype;
    t.to = call->out[0].dtype;
    t.step = a->inner * (complex ? 2 : 1);
    t.lines = a->lines * t.step;
    t.n = a->n;
    t.skip_nan = a->skip_nan;
    t.integers_only = wk_setting_value(WK_SET_SUMS, 0);
    const auto floats = [&](auto zero) {
        using T = decltype(zero);
        return scan<T, float_prefix<sizeof(T) == 8 ? 3 : 2>>(call, t, a->inner == 1);
    };
    if (complex) return with_complex(call, floats);
    if (t.dtype >= WK_F16) return with_floats(call, floats);
    return with_words(call, [&](auto zero) {
        return scan<decltype(zero), word_prefix>(call, t, a->inner == 1);
    });
}
