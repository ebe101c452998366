// weights_words.cuh -- signed 32-bit words in shared memory that take pieces of numbers, and what
// they overflow by; weights_shared.cuh has the story.
#pragma once
#include "histogram/production/weights_pieces.cuh"

namespace wk::weights
{

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
        const auto s = size_of(x);
        const int m = (int)(s.size << (s.at & 3));
        return {{s.at >> 2}, {s.negative ? -m : m}, s.flags};
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
        const auto s = size_of(x);
        const uint64_t m = s.size << (s.at & 3);
        const int low = (int)(m & 0xfffffffu), high = (int)(m >> 28), w = s.at >> 2;
        return {{w, w + 7}, {s.negative ? -low : low, s.negative ? -high : high}, s.flags};
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
              (unsigned long long)(value * (1ll << word % kPer * kBits)));
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

// Of several adds, by the old values that they found: over[i] is negative where the i-th went beyond,
// the result where any did.
template <int N>
__device__ __forceinline__ int
overflows(const int (&old)[N], const int (&value)[N], int (&over)[N])
{
    int any = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        over[i] = overflow(old[i], value[i], wrapped_sum(old[i], value[i]));
        any |= over[i];
    }
    return any;
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
    int at[kAll], value[kAll], old[kAll], over[kAll];
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
        old[i] = 0;
        if (kClass == numbers::whole && value[i] == 0) continue; // most have nothing above
        old[i] = atomicAdd(&words[at[i]], value[i]);
    }
    if (overflows(old, value, over) >= 0) return;
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        if (over[i] >= 0) continue;
        const int carry = value[i] > 0 ? 1 : -1, had = atomicAdd(&words[at[i] + kUp], carry);
        const int sum = wrapped_sum(had, carry);
        if (overflow(had, carry, sum) < 0)
            carry_on<kClass>(t, w, words, at[i] + kUp, sum < 0 ? 1 : -1);
    }
}

} // namespace wk::weights
