// weights_shared.cuh -- sums of weights in shared memory, where a few words a bin fit.
//
// In, out   weights[n] -> limbs[limbs of a row][rows], one 64-bit add a limb, row and block.
// How       a bin has signed 32-bit words 4 bits apart, so that a piece of 28 bits is one add; the
//           old value that it returns shows an overflow, which moves 1 or -1 to the word 32 bits
//           up. Copies by lane thin out equal bins: equal addresses in a warp wait for each other.
//           Bins are an odd number of words apart, which spreads them over the banks. The next
//           loads are on their way while this tile is added: nothing else hides the adds' waiting.
// Window    where there is no room for the words of all exponents, a sample of the weights tells
//           which to keep. A piece outside of them goes to its limb at once: slow, and as exact.
// H100      float32 weights of all exponents, int32 bins, 256 of them: the study's kernel of this
//           form read 2.86 to 2.89 TB/s, 93 % of what reading alone does, on any bins.
#pragma once
#include "histogram/weights_pieces.cuh"

namespace wk::weights
{

constexpr int kBlock = 1024; // threads: one block a multiprocessor has all of its shared memory

struct window {
    int low, words;    // words that take pieces; kUp more take what these overflow by
    int pitch, copies; // words from row to row; of all rows
};

template <int kPieces>
struct short_pieces {
    int word[kPieces], value[kPieces];
    int flags;
};

// kPer: words a limb. kUp: words that are 32 bits. kFull: those that take pieces, of all places.
// kFew: a window of fewer would miss too much.
template <numbers kClass>
struct chip;

template <>
struct chip<numbers::narrow> {
    static constexpr int kPieces = 1, kPer = 2, kUp = 8, kFull = 64, kFew = 16, kReach = 0;

    static __device__ __forceinline__ short_pieces<1> cut(float x)
    {
        const uint32_t b = wk_bits_f32(x), e = b >> 23 & 255, field = b & 0x7fffffu;
        const bool odd = e == 255; // no branch: no lane waits for another
        const int at = (int)e - (e > 0);
        const int m = odd ? 0 : (int)((field | (e > 0 ? 0x800000u : 0u)) << (at & 3));
        return {{at >> 2}, {b >> 31 ? -m : m}, odd ? special_flag(b >> 31, field != 0) : 0};
    }

    static __device__ __forceinline__ short_pieces<1> cut(wk_dtype dtype, uint64_t bits)
    {
        return cut(narrow_of(dtype, bits));
    }
};

// Two pieces of 28 bits, 7 words apart.
template <>
struct chip<numbers::wide> {
    static constexpr int kPieces = 2, kPer = 2, kUp = 8, kFull = 520, kFew = 24, kReach = 8;

    static __device__ __forceinline__ short_pieces<2> cut(double x)
    {
        const uint64_t b = wk_bits_f64(x), field = b & 0xfffffffffffffu;
        const int e = (int)(b >> 52 & 2047), at = e - (e > 0), w = at >> 2;
        const bool odd = e == 2047;
        const uint64_t m = odd ? 0 : (field | (uint64_t)(e > 0) << 52) << (at & 3);
        const int low = (int)(m & 0xfffffffu), high = (int)(m >> 28), sign = b >> 63 ? -1 : 1;
        return {
            {w, w + 7}, {low * sign, high * sign}, odd ? special_flag(b >> 63, field != 0) : 0};
    }

    static __device__ __forceinline__ short_pieces<2> cut(wk_dtype, uint64_t bits)
    {
        return cut(wk_from_bits_f64(bits));
    }
};

// Words 32 bits apart: each half as a signed integer, and what is left of 2^64.
template <>
struct chip<numbers::whole> {
    static constexpr int kPieces = 3, kPer = 1, kUp = 1, kFull = 3, kFew = 3, kReach = 0;

    static __device__ __forceinline__ short_pieces<3> cut(wk_dtype dtype, uint64_t bits)
    {
        const int64_t x = integer_of(dtype, bits);
        const int low = (int)(uint32_t)x;
        const int64_t rest = (dtype == WK_U64 ? (int64_t)(bits >> 32) : x >> 32) + (low < 0);
        const int high = (int)(uint32_t)rest;
        return {{0, 1, 2}, {low, high, (int)((rest - high) >> 32)}, 0};
    }
};

// A piece to its limb, past shared memory.
template <numbers kClass>
__device__ WK_NOINLINE void
add_far(const weights_task &t, unsigned row, int word, int value)
{
    constexpr int kPer = chip<kClass>::kPer, kBits = layout<kClass>::kLimbBits / kPer;
    if (row >= t.rows || value == 0) return;
    atomicAdd(&t.limbs[word / kPer * t.rows + row],
              (unsigned long long)((long long)value << (word % kPer * kBits)));
}

// Is old + value, which is sum, beyond 32 bits? Then the sign bit is set.
__device__ __forceinline__ int
overflow(int old, int value, int sum)
{
    return (old ^ sum) & (value ^ sum);
}

__device__ __forceinline__ int
wrapped_sum(int a, int b)
{
    return (int)((unsigned)a + (unsigned)b);
}

// The word at `at`, itself one that takes carries, overflowed: a carry to the next, and on.
template <numbers kClass>
__device__ WK_NOINLINE void
carry_on(const weights_task &t, const window &w, int *words, int at, int carry)
{
    constexpr int kUp = chip<kClass>::kUp;
    const int row = at / w.pitch;
    for (int k = at % w.pitch; k < w.words; k += kUp) {
        at += kUp;
        const int old = atomicAdd(&words[at], carry), sum = wrapped_sum(old, carry);
        if (overflow(old, carry, sum) >= 0) return;
        carry = sum < 0 ? 1 : -1;
    }
    add_far<kClass>(t, (unsigned)row, w.low + at % w.pitch + kUp, carry);
}

// Adds a thread's elements: all adds first, so that they wait together, then what overflowed.
template <numbers kClass, int kEach>
__device__ __forceinline__ void
add_words(const weights_task &t, const window &w, int *words, const unsigned (&row)[kEach],
          const short_pieces<chip<kClass>::kPieces> (&p)[kEach])
{
    constexpr int kPieces = chip<kClass>::kPieces, kAll = kEach * kPieces;
    constexpr int kUp = chip<kClass>::kUp;
    int at[kAll], value[kAll], over[kAll], any = 0;
    bool far = false;
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        const int j = i / kPieces, k = p[j].word[i % kPieces] - w.low;
        value[i] = p[j].value[i % kPieces];
        at[i] = (int)row[j] * w.pitch + k;
        far |= (unsigned)k >= (unsigned)w.words;
    }
    if (far) { // one branch for all: few tiles come here
#pragma unroll
        for (int i = 0; i < kAll; i++) {
            const int j = i / kPieces, word = p[j].word[i % kPieces];
            if ((unsigned)(word - w.low) < (unsigned)w.words) continue;
            add_far<kClass>(t, row[j], word, value[i]);
            at[i] = (int)row[j] * w.pitch;
            value[i] = 0;
        }
    }
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        over[i] = 0;
        if (kClass == numbers::whole && value[i] == 0) continue; // most have nothing above
        over[i] = atomicAdd(&words[at[i]], value[i]);
    }
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        over[i] = overflow(over[i], value[i], wrapped_sum(over[i], value[i]));
        any |= over[i];
    }
    if (any >= 0) return;
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        if (over[i] >= 0) continue;
        const int carry = value[i] > 0 ? 1 : -1, old = atomicAdd(&words[at[i] + kUp], carry);
        const int sum = wrapped_sum(old, carry);
        if (overflow(old, carry, sum) < 0)
            carry_on<kClass>(t, w, words, at[i] + kUp, sum < 0 ? 1 : -1);
    }
}

// ---- where elements come from -------------------------------------------------------------------

// The bins of elements, `bins` for none; what is frequent without a call.
template <typename T, int N>
__device__ __forceinline__ void
rows_of(const bins_task &b, const T (&x)[N], unsigned (&row)[N])
{
    const wk_histogram_args &h = b.args;
    const auto bins = (unsigned)h.bins;
    bool found = false;
    if constexpr (std::is_integral_v<T>) {
        found = h.kind == WK_BINS_VALUES;
#pragma unroll
        for (int i = 0; i < N && found; i++)
            row[i] = (uint64_t)x[i] < bins ? (unsigned)x[i] : bins;
    } else if (h.kind == WK_BINS_UNIFORM) {  // the guess of bins.h
        constexpr float kRound = 12582912.f; // 1.5 * 2^23: added to a float, leaves its integer
        const bool wide = sizeof(T) == 8 || b.edges_dtype == WK_F64;
        const float top = (float)(h.bins - 1), guard = h.guard[wide];
        found = true;
#pragma unroll
        for (int i = 0; i < N; i++) {
            const float off =
                wide ? (float)((double)x[i] - h.first) : (float)x[i] - (float)h.first;
            const float guess = fminf(fmaf(off, h.scale, -0.5f), top), r = guess + kRound;
            const bool inside = in_range(h, x[i]);
            row[i] = inside ? (unsigned)__float_as_int(r) - 0x4b400000u : bins;
            found = found && (!inside || fabsf(guess - (r - kRound)) <= guard);
        }
    }
    if (found) return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int64_t bin = called_bin(b, x[i]);
        row[i] = bin < 0 ? bins : (unsigned)bin;
    }
}

// Elements and weights of types that the kernel knows, side by side.
template <typename T, typename W>
struct typed {
    static constexpr numbers kClass = sizeof(W) == 4 ? numbers::narrow : numbers::wide;
    static constexpr int kEach = 16 / (sizeof(T) < sizeof(W) ? sizeof(W) : sizeof(T));
    using in_type = T;
    using weight_type = W;

    template <typename E>
    struct alignas(sizeof(E) * kEach) vector {
        E x[kEach];
    };

    static __device__ __forceinline__ T in_at(const weights_task &t, int64_t i)
    {
        return static_cast<const T *>(t.in)[i];
    }

    static __device__ __forceinline__ W weight_at(const weights_task &t, int64_t i)
    {
        return static_cast<const W *>(t.weights.data)[i];
    }

    static __device__ __forceinline__ void vectors_at(const weights_task &t, int64_t i,
                                                      T (&x)[kEach], W (&w)[kEach])
    {
        const auto a = *reinterpret_cast<const vector<T> *>(static_cast<const T *>(t.in) + i);
        const auto b =
            *reinterpret_cast<const vector<W> *>(static_cast<const W *>(t.weights.data) + i);
#pragma unroll
        for (int j = 0; j < kEach; j++) {
            x[j] = a.x[j];
            w[j] = b.x[j];
        }
    }

    static __device__ __forceinline__ void rows(const weights_task &t, const T (&x)[kEach],
                                                unsigned (&row)[kEach])
    {
        rows_of(t.bins, x, row);
    }

    static __device__ __forceinline__ auto cut(const weights_task &, W w)
    {
        return chip<kClass>::cut(w);
    }

    // Elements before those that vectors can take; -1: they never line up.
    static int lead(const weights_task &t)
    {
        const auto in = reinterpret_cast<uintptr_t>(t.in) + t.begin * sizeof(T);
        const auto w = reinterpret_cast<uintptr_t>(t.weights.data) + t.begin * sizeof(W);
        for (int i = 0; i < kEach; i++)
            if ((in + i * sizeof(T)) % sizeof(vector<T>) == 0 &&
                (w + i * sizeof(W)) % sizeof(vector<W>) == 0)
                return i;
        return -1;
    }
};

// Any others, as bits.
template <numbers kClass_>
struct untyped {
    static constexpr numbers kClass = kClass_;
    static constexpr int kEach = 2;
    using in_type = uint64_t;
    using weight_type = uint64_t;

    static __device__ __forceinline__ uint64_t in_at(const weights_task &t, int64_t i)
    {
        return bits_at(t.in, bytes_of(t.in_dtype), i);
    }

    static __device__ __forceinline__ uint64_t weight_at(const weights_task &t, int64_t i)
    {
        return bits_at(t.weights.data, bytes_of(t.weights.dtype), i * t.weights.step);
    }

    static __device__ __forceinline__ void vectors_at(const weights_task &, int64_t,
                                                      uint64_t (&)[kEach], uint64_t (&)[kEach])
    {
    }

    static __device__ __forceinline__ void
    rows(const weights_task &t, const uint64_t (&x)[kEach], unsigned (&row)[kEach])
    {
        for (int j = 0; j < kEach; j++) {
            const int64_t bin = bin_of_bits(t.bins, t.in_dtype, x[j]);
            row[j] = (unsigned)(bin < 0 ? t.bins.args.bins : bin);
        }
    }

    static __device__ __forceinline__ auto cut(const weights_task &t, uint64_t w)
    {
        return chip<kClass>::cut(t.weights.dtype, w);
    }

    static int lead(const weights_task &)
    {
        return -1;
    }
};

// ---- the kernel ---------------------------------------------------------------------------------

struct tiles {                  // of kBlock * kEach elements
    int64_t lead, aligned, all; // the aligned ones come first; all others element by element
};

template <typename S>
struct elements {
    typename S::in_type x[S::kEach];
    typename S::weight_type w[S::kEach];
};

// Past the end: an element whose weight is zero, which changes no sum.
template <typename S>
__device__ __forceinline__ void
fetch(const weights_task &t, const tiles &s, int64_t tile, elements<S> *e)
{
    constexpr int kEach = S::kEach, kTile = kBlock * kEach;
    if (tile < s.aligned) {
        S::vectors_at(t, t.begin + s.lead + tile * kTile + (int)threadIdx.x * kEach, e->x,
                      e->w);
        return;
    }
#pragma unroll
    for (int j = 0; j < kEach; j++) {
        const int64_t other = (tile - s.aligned) * kTile + j * kBlock + threadIdx.x;
        const int64_t i = t.begin + other + (other < s.lead ? 0 : s.aligned * kTile);
        e->x[j] = i < t.end ? S::in_at(t, i) : typename S::in_type{};
        e->w[j] = i < t.end ? S::weight_at(t, i) : typename S::weight_type{};
    }
}

// The block's words to the limbs: bins side by side, as the limbs lie.
template <numbers kClass>
__device__ __forceinline__ void
flush(const weights_task &t, const window &w, const int *words)
{
    constexpr int kPer = chip<kClass>::kPer, kBits = layout<kClass>::kLimbBits / kPer;
    const int rows = (int)t.rows, places = (w.words + chip<kClass>::kUp) / kPer;
    const int copy = ((int)t.bins.args.bins + 1) * w.pitch;
    for (int i = threadIdx.x; i < rows * places; i += kBlock) {
        const int *own = words + i % rows * w.pitch + i / rows * kPer;
        long long sum = 0;
        for (int c = 0; c < w.copies; c++, own += copy)
            for (int j = 0; j < kPer; j++) sum += (long long)own[j] << (kBits * j);
        if (sum) atomicAdd(&t.limbs[w.low / kPer * t.rows + i], (unsigned long long)sum);
    }
}

template <typename S>
__global__ void
__launch_bounds__(kBlock)
    weights_shared(const weights_task __grid_constant__ t, const tiles __grid_constant__ s,
                   const window __grid_constant__ given, const window *planned)
{
    WK_DYNAMIC_SHARED(int, words);
    const window w = planned ? *planned : given;
    const int copy = ((int)t.bins.args.bins + 1) * w.pitch; // and a row of what is in no bin
    for (int i = threadIdx.x; i < copy * w.copies; i += kBlock) words[i] = 0;
    __syncthreads(); // every word is zero before the first add

    int *own = words + (int)threadIdx.x % kWarp % w.copies * copy;
    elements<S> next;
    if (blockIdx.x < s.all) fetch<S>(t, s, blockIdx.x, &next);
    for (int64_t tile = blockIdx.x; tile < s.all; tile += gridDim.x) {
        const elements<S> e = next;
        if (tile + gridDim.x < s.all) fetch<S>(t, s, tile + gridDim.x, &next);
        unsigned row[S::kEach];
        short_pieces<chip<S::kClass>::kPieces> p[S::kEach];
        int flags = 0;
        S::rows(t, e.x, row);
#pragma unroll
        for (int j = 0; j < S::kEach; j++) {
            p[j] = S::cut(t, e.w[j]);
            flags |= p[j].flags;
        }
        if (flags) {
#pragma unroll
            for (int j = 0; j < S::kEach; j++)
                if (p[j].flags && row[j] < t.rows)
                    atomicOr(&t.flags[row[j]], (unsigned)p[j].flags);
        }
        add_words<S::kClass>(t, w, own, row, p);
    }
    __syncthreads(); // every add is done before the words are read
    flush<S::kClass>(t, w, words);
}

// ---- the launch -----------------------------------------------------------------------------------

struct shared_plan {
    window given;          // without a sample
    const window *planned; // or null
};

template <typename S>
wk_status
launch_shared(wk_call *call, const weights_task &t, const shared_plan &plan)
{
    constexpr int kTile = kBlock * S::kEach;
    const auto kernel = weights_shared<S>;
    const int64_t n = t.end - t.begin;
    const int lead = S::lead(t);
    tiles s = {};
    if (lead >= 0 && n > lead) {
        s.lead = lead;
        s.aligned = (n - lead) / kTile;
    }
    s.all = s.aligned + (n - s.aligned * kTile + kTile - 1) / kTile;
    const window &g = plan.given;
    const int bytes = plan.planned ? most_shared(call)
                                   : (int)(call->args.histogram.bins + 1) * g.pitch * g.copies *
                                         (int)sizeof(int);
    WK_TRY(&call->error,
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    const int64_t most = processors(call);
    return launch(call, (unsigned)(s.all < most ? s.all : most), kBlock, (size_t)bytes, kernel,
                  t, s, plan.given, plan.planned);
}

// Elements of a type that has kernels of its own, with weights of float32 or float64.
template <typename T>
wk_status
launch_typed(wk_call *call, const weights_task &t, const shared_plan &plan)
{
    return t.weights.dtype == WK_F32 ? launch_shared<typed<T, float>>(call, t, plan)
                                     : launch_shared<typed<T, double>>(call, t, plan);
}

// Are there words enough for so many bins?
bool fits_shared(const wk_call *call, numbers kind);

// Of a column: which words blocks keep, and how many copies; the sample and the window are the
// device's.
wk_status plan_shared(wk_call *call, numbers kind, const weights_task &t, span *sample,
                      window *planned, shared_plan *plan);
wk_status add_shared(wk_call *call, numbers kind, const weights_task &t,
                     const shared_plan &plan);

// weights_shared_values.cu, of int32 and int64; weights_shared_floats.cu, of float32 and float64.
wk_status launch_values(wk_call *call, const weights_task &t, const shared_plan &plan);
wk_status launch_floats(wk_call *call, const weights_task &t, const shared_plan &plan);

} // namespace wk::weights
