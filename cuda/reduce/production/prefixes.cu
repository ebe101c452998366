// cumsum / runs -- each line's sums of its first element, its first two, ...; each rounded once.
//
// In, out   x[lines][n] -> sums[lines][n], of floats, of parts of complex numbers, of integers.
// How       a line is cut into runs of tiles, as many as blocks fill the device. Each run is summed; what
//           stands before each is found by one block a line; then each run goes through its tiles once
//           more: threads have a few neighbouring elements each, whose sums are scanned, and round each
//           prefix. No block waits for another: three launches, two reads and a write.
// Floats    a sum is a few doubles and a bound of what these have lost, as in all reductions
//           (doubles.cuh). A prefix that the bound leaves open marks its line, of which all prefixes
//           are then found by integers: limbs of each chunk, scanned limb by limb, then a thread a
//           chunk, which rounds from limbs (num/exact.h). Slow, and rare.
// Rounding  results.cuh: h + l is the prefix but for e; where all of that rounds alike it is right.
// Source    D. Merrill, M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016),
//           which saves a read, and waits.
#include "reduce/production/exact.cuh"

namespace wk
{

namespace
{

constexpr int kEach = 16; // elements of a thread in a tile: exact in two sums (doubles.cuh)
constexpr int kTileOf = kThreads * kEach;
constexpr int kRuns = 2; // blocks of a multiprocessor

struct prefix_task {
    const void *in;
    void *out;
    wk_dtype dtype, to;
    int64_t lines, n; // of series: parts of complex numbers are lines `step` apart
    int step;
    int64_t tiles, runs, per; // of a line; tiles of a run
    bool skip_nan, integers_only;
    uint64_t *states;      // [lines][runs][words]
    unsigned *open;        // [lines]: integers tell
    int64_t chunks, chunk; // of a line, by integers; elements of each
    int64_t *limbs;        // [lines][chunks][WK_SUM_LIMBS]
    unsigned *odd;         // [lines][chunks]: flags
};

// Where a line's elements begin.
__device__ __forceinline__ int64_t
line_at(const prefix_task &t, int64_t line)
{
    return line / t.step * t.n * t.step + line % t.step;
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

template <int K>
struct float_prefix {
    static constexpr int kWords = K + 2;
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
        flags |= wk_bits_f64(x) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO;
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

// How a thread's elements are cut so that no sum of some of them is rounded; but for `lost`.
struct thread_cut {
    int e;
    bool plain; // else they are added one by one
    double lost;

    __device__ __forceinline__ explicit thread_cut(const double (&x)[kEach])
    {
        constexpr int kMost = 880, kLeast = -800;
        batch_range<double> range;
        range.find(x);
        plain = range.finite() && range.exponent() <= kMost;
        e = range.exponent() > kLeast ? range.exponent() : kLeast;
        lost = range.within(46) || range.magnitude == 0 ? 0 : power_of_two(e - 90);
    }
    template <int K>
    __device__ __forceinline__ void sum(const double (&x)[kEach], int n,
                                        float_prefix<K> *to) const
    {
        if (!plain) {
#pragma unroll
            for (int j = 0; j < kEach; j++)
                if (j < n) to->add(x[j]);
            return;
        }
        cut_sum all(e + 1);
#pragma unroll
        for (int j = 0; j < kEach; j++) {
            all.add(x[j]);
            if (j < n && wk_bits_f64(x[j]) != 1ull << 63) to->flags |= WK_NOT_MINUS_ZERO;
        }
        all.put_to(&to->sum);
        to->sum.lost += lost;
    }
};

struct word_prefix {
    static constexpr int kWords = 1;
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

// A thread's elements, of which the first n are there, the others zero.
template <int K>
__device__ __forceinline__ void
add_some(const double (&x)[kEach], int n, float_prefix<K> *to)
{
    thread_cut(x).sum(x, n, to);
}

__device__ __forceinline__ void
add_some(const uint64_t (&x)[kEach], int, word_prefix *to)
{
#pragma unroll
    for (int j = 0; j < kEach; j++) to->sum += x[j];
}

// Elements as they are scanned.
template <class P>
using scanned = std::conditional_t<std::is_same_v<P, word_prefix>, uint64_t, double>;

// An element that is known by its size and dtype.
template <typename T, class P>
__device__ __forceinline__ scanned<P>
number_of(T x, const prefix_task &t)
{
    if constexpr (std::is_same_v<P, word_prefix>) {
        const uint64_t bias = t.dtype == WK_I8    ? (uint64_t)1 << 7
                              : t.dtype == WK_I16 ? (uint64_t)1 << 15
                              : t.dtype == WK_I32 ? (uint64_t)1 << 31
                                                  : 0; // sign bits of smaller integers
        return t.dtype == WK_BOOL ? (uint64_t)(x != 0) : ((uint64_t)x ^ bias) - bias;
    } else {
        const double v = (double)value_of(x);
        return t.skip_nan && v != v ? 0.0 : v;
    }
}

template <class P>
struct scan_memory {
    uint64_t word[kWarps][P::kWords]; // of warps, and then what stands before them
    uint64_t carry[P::kWords];        // what stands before the block
};

template <class P>
__device__ __forceinline__ void
scan_lanes(P *sum, int lane, int lanes)
{
    uint64_t words[P::kWords];
#pragma unroll 1
    for (int hop = 1; hop < lanes; hop *= 2) {
        sum->save(words);
#pragma unroll
        for (int w = 0; w < P::kWords; w++) words[w] = __shfl_up_sync(kAllLanes, words[w], hop);
        if (lane >= hop) sum->merge(words);
    }
}

// What stands before a thread, of which `own` is what it has; the block's sum is added to the carry. A
// barrier must follow before the memory is used again.
template <class P>
__device__ __forceinline__ P
before_in_block(const P &own, scan_memory<P> *memory)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    uint64_t words[P::kWords];
    P sum = own, before;
    scan_lanes(&sum, lane, kWarp);
    sum.save(words);
#pragma unroll
    for (int w = 0; w < P::kWords; w++) {
        if (lane == kWarp - 1) memory->word[warp][w] = words[w];
        words[w] = __shfl_up_sync(kAllLanes, words[w], 1);
    }
    before.start();
    if (lane > 0) before.load(words);
    __syncthreads(); // every warp's sum is there
    if (warp == 0) {
        P all;
        all.start();
        if (lane < kWarps) all.load(memory->word[lane]);
        if (lane == 0) all.merge(memory->carry);
        scan_lanes(&all, lane, kWarps);
        __syncwarp(); // all have read what is written now
        if (lane == 0) {
#pragma unroll
            for (int w = 0; w < P::kWords; w++) memory->word[0][w] = memory->carry[w];
        }
        __syncwarp(); // the carry has been read
        all.save(words);
#pragma unroll
        for (int w = 0; w < P::kWords; w++) {
            if (lane < kWarps - 1) memory->word[lane + 1][w] = words[w];
            if (lane == kWarps - 1) memory->carry[w] = words[w];
        }
    }
    __syncthreads(); // what stands before each warp is there
    before.merge(memory->word[warp]);
    return before;
}

template <class P>
__device__ __forceinline__ void
start_carry(scan_memory<P> *memory, const uint64_t *from)
{
    for (int w = threadIdx.x; w < P::kWords; w += kThreads)
        memory->carry[w] = from ? from[w] : 0;
    __syncthreads(); // the carry is there
}

// ---- the kernels --------------------------------------------------------------------------------

template <typename T, class P>
__global__ void
__launch_bounds__(kThreads, kRuns) sum_runs(const prefix_task __grid_constant__ t)
{
    __shared__ scan_memory<P> memory;
    for (int64_t item = blockIdx.x; item < t.lines * t.runs; item += gridDim.x) {
        const int64_t line = item / t.runs, begin = item % t.runs * t.per * kTileOf;
        const int64_t stop = begin + t.per * kTileOf, end = stop < t.n ? stop : t.n;
        const T *x = static_cast<const T *>(t.in) + line_at(t, line);
        P own;
        own.start();
        start_carry<P>(&memory, nullptr);
#pragma unroll 1
        for (int64_t i = begin + threadIdx.x; i < end; i += kTileOf) {
            const int64_t more = (end - i + kThreads - 1) / kThreads;
            const int n = more < kEach ? (int)more : kEach;
            scanned<P> some[kEach];
            T e[kEach];
#pragma unroll
            for (int j = 0; j < kEach; j++)
                if (j < n) e[j] = x[(i + j * kThreads) * t.step];
#pragma unroll
            for (int j = 0; j < kEach; j++) {
                some[j] = 0;
                if (j < n) some[j] = number_of<T, P>(e[j], t);
            }
            add_some(some, n, &own);
        }
        __syncwarp(); // lanes that had less have waited
        before_in_block(own, &memory);
        if (threadIdx.x < P::kWords)
            t.states[item * P::kWords + threadIdx.x] = memory.carry[threadIdx.x];
        __syncthreads(); // the memory has been read
    }
}

// Each run's sum becomes that of all before it in its line.
template <class P>
__global__ void
__launch_bounds__(kThreads) scan_runs(const prefix_task __grid_constant__ t)
{
    __shared__ scan_memory<P> memory;
    for (int64_t line = blockIdx.x; line < t.lines; line += gridDim.x) {
        uint64_t *states = t.states + line * t.runs * P::kWords;
        start_carry<P>(&memory, nullptr);
        for (int64_t first = 0; first < t.runs; first += kThreads) { // alike for all threads
            const int64_t r = first + threadIdx.x;
            P own;
            own.start();
            if (r < t.runs) own.load(states + r * P::kWords);
            const P before = before_in_block(own, &memory);
            if (r < t.runs) before.save(states + r * P::kWords);
            __syncthreads(); // the memory has been read
        }
    }
}

// Of a tile, element m lies at m + m / kEach: neighbours of a thread in banks of their own.
__device__ __forceinline__ int
place_of(int m)
{
    return m + m / kEach;
}

// A prefix in the place of its element.
template <typename E>
__device__ __forceinline__ void
set_prefix(E *to, double x, const prefix_task &t)
{
    if constexpr (std::is_same_v<E, double>)
        *to = wk_one_nan_f64(x);
    else if constexpr (std::is_same_v<E, float>)
        *to = wk_one_nan_f32((float)x);
    else
        store(to, real_of(t.to), 0, x);
}

// A thread's n elements of a tile become prefixes, of which `sum` stands before the first.
template <typename T, int K>
__device__ __forceinline__ bool
set_prefixes(T *own, int n, float_prefix<K> sum, const thread_cut &cut, const prefix_task &t)
{
    using P = float_prefix<K>;
    constexpr bool kWide = std::is_same_v<T, double>;
    const int dtype = kWide ? (int)WK_F64 : real_of(t.to);
    bool known = true;
    if (!cut.plain || (sum.flags & (WK_IS_ODD | WK_TOO_LARGE))) {
#pragma unroll 1
        for (int j = 0; j < n; j++) {
            double x;
            sum.add(number_of<T, P>(own[j], t));
            known &= sum.round(dtype, &x);
            set_prefix(own + j, x, t);
        }
        return known;
    }
    cut_sum all(cut.e + 1);
    const double lost = sum.sum.lost + cut.lost, third = K > 2 ? sum.sum.s[K - 1] : 0;
    bool some = sum.flags & WK_NOT_MINUS_ZERO;
#pragma unroll 4
    for (int j = 0; j < n; j++) {
        const double e = number_of<T, P>(own[j], t);
        double x, rest, more, last;
        double_pair p = {0, 0, lost};
        all.add(e);
        some |= wk_bits_f64(e) != 1ull << 63;
        p.high = two_sum(sum.sum.s[0], all.upper - all.bias, &p.low);
        const double second = two_sum(sum.sum.s[1], all.lower, &rest);
        p.low = two_sum(p.low, second, &more);
        p.high = two_sum(p.high, p.low, &p.low);
        last = third;
        if (rest != 0 || more != 0 || last != 0) {
            p.add(more);
            p.add(rest);
            p.add(last);
        }
        known &= round_prefix(p, some, dtype, &x);
        set_prefix(own + j, x, t);
    }
    return known;
}

template <typename T, class P>
__global__ void
__launch_bounds__(kThreads, kRuns) scan_tiles(const prefix_task __grid_constant__ t)
{
    constexpr bool kWhole = std::is_same_v<P, word_prefix>;
    using E = std::conditional_t<kWhole, uint64_t, T>;
    __shared__ scan_memory<P> memory;
    __shared__ E tile[kTileOf + kThreads];
    for (int64_t item = blockIdx.x; item < t.lines * t.runs; item += gridDim.x) {
        const int64_t line = item / t.runs, begin = item % t.runs * t.per * kTileOf;
        const int64_t stop = begin + t.per * kTileOf, end = stop < t.n ? stop : t.n;
        const int64_t from = line_at(t, line);
        const T *x = static_cast<const T *>(t.in) + from;
        bool known = !t.integers_only;
        start_carry<P>(&memory, t.states + item * P::kWords);
#pragma unroll 1
        for (int64_t first = begin; first < end; first += kTileOf) {
            const int left = (int)(end - first < kTileOf ? end - first : kTileOf);
            const int own_first = (int)threadIdx.x * kEach,
                      own_left = left - own_first < kEach ? left - own_first : kEach;
            E *mine = tile + place_of(own_first);
#pragma unroll
            for (int j = 0; j < kEach; j++) {
                const int m = j * kThreads + (int)threadIdx.x;
                if (m >= left) continue;
                if constexpr (kWhole)
                    tile[place_of(m)] = number_of<T, P>(x[first + m], t);
                else
                    tile[place_of(m)] = x[(first + m) * t.step];
            }
            __syncthreads(); // the tile is there
            scanned<P> some[kEach];
            P own;
            own.start();
#pragma unroll
            for (int j = 0; j < kEach; j++) {
                some[j] = 0;
                if (j >= own_left) continue;
                if constexpr (kWhole)
                    some[j] = mine[j];
                else
                    some[j] = number_of<T, P>(mine[j], t);
            }
            if constexpr (kWhole) {
                add_some(some, own_left, &own);
                uint64_t sum = before_in_block(own, &memory).sum;
#pragma unroll
                for (int j = 0; j < kEach; j++) {
                    sum += some[j];
                    if (j < own_left) mine[j] = sum;
                }
            } else {
                const thread_cut cut(some);
                cut.sum(some, own_left, &own);
                known &= set_prefixes(mine, own_left, before_in_block(own, &memory), cut, t);
            }
            __syncthreads(); // all prefixes are there, and the sums have been read
#pragma unroll
            for (int j = 0; j < kEach; j++) {
                const int m = j * kThreads + (int)threadIdx.x;
                if (m >= left) continue;
                if constexpr (kWhole)
                    store(t.out, t.to, from + first + m, tile[place_of(m)]);
                else
                    static_cast<T *>(t.out)[from + (first + m) * t.step] = tile[place_of(m)];
            }
            __syncthreads(); // the tile has been read before the next one comes
        }
        if (!known) atomicOr(&t.open[line], 1u);
    }
}

// ---- by integers: of lines that are marked ------------------------------------------------------

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
    return (wk_bits_f64(x) == 1ull << 63 ? 0 : WK_NOT_MINUS_ZERO) |
           (x - x != 0 ? wk_odd_flag(x) : 0);
}

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
    int64_t limb[WK_SUM_LIMBS], work[WK_SUM_LIMBS];
    const wk_limbs all = {limb, WK_SUM_LIMBS, WK_SUM_BASE};
    const int real = real_of(t.to);
    const wk_format f = wk_format_of((wk_dtype)real);
    const int64_t step = (int64_t)gridDim.x * kWarp;
    for (int64_t item = (int64_t)blockIdx.x * kWarp + threadIdx.x; item < t.lines * t.chunks;
         item += step) {
        const int64_t line = item / t.chunks, begin = item % t.chunks * t.chunk;
        const int64_t end = begin + t.chunk < t.n ? begin + t.chunk : t.n;
        if (t.open[line] == 0) continue;
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
    const int64_t blocks = (int64_t)processors(call) * kRuns;
    t->tiles = (t->n + kTileOf - 1) / kTileOf;
    const int64_t runs = std::clamp<int64_t>(blocks / t->lines, 1, t->tiles);
    t->per = (t->tiles + runs - 1) / runs;
    t->runs = (t->tiles + t->per - 1) / t->per;
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

template <typename T, class P>
wk_status
scan(wk_call *call, prefix_task t)
{
    if (plan_prefixes(call, P::kWords, &t) != WK_OK) return call->error.status;
    const int64_t items = t.lines * t.runs, most = (int64_t)processors(call) * kRuns;
    const auto grid = (unsigned)std::min(items, most);
    if (t.runs > 1 &&
        (launch(call, grid, kThreads, 0, sum_runs<T, P>, t) != WK_OK ||
         launch(call, grid_for(call, t.lines, 1), kThreads, 0, scan_runs<P>, t) != WK_OK))
        return call->error.status;
    if (launch(call, grid, kThreads, 0, scan_tiles<T, P>, t) != WK_OK)
        return call->error.status;
    return std::is_same_v<P, word_prefix> ? WK_OK : scan_exactly(call, t);
}

} // namespace
} // namespace wk

WK_LAUNCHER(cumsum, cuda, runs)
{
    using namespace wk;
    const wk_cumsum_args *a = &call->args.cumsum;
    const bool complex = wk_is_complex(call->in.dtype);
    prefix_task t = {};
    t.in = static_cast<const char *>(call->in.data) + call->in.first;
    t.out = call->out[0].data;
    t.dtype = call->in.dtype;
    t.to = call->out[0].dtype;
    t.step = complex ? 2 : 1;
    t.lines = a->lines * t.step;
    t.n = a->n;
    t.skip_nan = a->skip_nan;
    t.integers_only = wk_setting_value(WK_SET_SUMS, 0);
    switch (t.dtype) {
    case WK_F16: return scan<half16, float_prefix<2>>(call, t);
    case WK_BF16: return scan<brain16, float_prefix<2>>(call, t);
    case WK_F32:
    case WK_C64: return scan<float, float_prefix<2>>(call, t);
    case WK_F64:
    case WK_C128: return scan<double, float_prefix<3>>(call, t);
    default:
        return visit_word(
            t.dtype, [&](auto zero) { return scan<decltype(zero), word_prefix>(call, t); });
    }
}
