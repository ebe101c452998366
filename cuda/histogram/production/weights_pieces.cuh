// weights_pieces.cuh -- weights as integers, and where they are added; weights.cu has the story.
#pragma once
#include "num/exact.h"
#include "histogram/bins.cuh"

namespace wk::weights
{

// ---- numbers ----------------------------------------------------------------------------------

enum class numbers { narrow, wide, whole }; // what float32 holds exactly; float64; integers

// place: of the first limb a number touches. low and high: its parts there and kApart limbs on.
struct pieces {
    int place;
    long long low, high;
    int flags; // WK_HAS_..., of what no limb holds; then the rest is zero
};

template <numbers kClass>
struct layout;

// 24 bits at any multiple of 2^-149: a piece has up to 31 bits, so a limb takes 2^32 of them.
template <>
struct layout<numbers::narrow> {
    static constexpr int kLimbBits = 8, kBase = -149, kApart = 0;
    static constexpr int kPlaces = 32;
    static constexpr int kAbove = 4; // limbs above the last place: 2^63 elements' sum
};

// 53 bits at any multiple of 2^-1074: parts of 32 and 28 bits, 4 limbs apart.
template <>
struct layout<numbers::wide> {
    static constexpr int kLimbBits = 8, kBase = -1074, kApart = 4;
    static constexpr int kPlaces = 256;
    static constexpr int kAbove = 8;
};

// One place; 64 bits as two halves, one limb apart.
template <>
struct layout<numbers::whole> {
    static constexpr int kLimbBits = 32, kBase = 0, kApart = 1;
    static constexpr int kPlaces = 1;
    static constexpr int kAbove = 3;
};

template <numbers kClass>
constexpr int kMostLimbs = layout<kClass>::kPlaces + layout<kClass>::kAbove;

constexpr int kLeastLimbs = 1 + layout<numbers::whole>::kAbove; // of a row

// Elements between two carries: a limb is short of 2^63 by then, with all that blocks add.
constexpr int64_t kBetweenCarries = int64_t{1} << 30;

__device__ __forceinline__ int
special_flag(bool negative, bool nan)
{
    return nan ? WK_HAS_NAN : negative ? WK_HAS_MINUS_INF : WK_HAS_INF;
}

// A number: size times 2^at of the least subnormal; with flags it is none.
template <typename U>
struct sized {
    U size; // below 2^24 or 2^53; 0 with flags
    int at, flags;
    bool negative;
};

__device__ __forceinline__ sized<uint32_t>
size_of(float x)
{
    const uint32_t b = wk_bits_f32(x), e = b >> 23 & 255, field = b & 0x7fffffu;
    const bool odd = e == 255; // no branch: no lane waits for another
    return {odd ? 0 : field | (e > 0 ? 0x800000u : 0u), (int)e - (e > 0),
            odd ? special_flag(b >> 31, field != 0) : 0, b >> 31 != 0};
}

__device__ __forceinline__ sized<uint64_t>
size_of(double x)
{
    const uint64_t b = wk_bits_f64(x), field = b & 0xfffffffffffffu;
    const int e = (int)(b >> 52 & 2047);
    const bool odd = e == 2047;
    return {odd ? 0 : field | (uint64_t)(e > 0) << 52, e - (e > 0),
            odd ? special_flag(b >> 63, field != 0) : 0, b >> 63 != 0};
}

__device__ __forceinline__ pieces
pieces_of(float x)
{
    const auto s = size_of(x);
    const int m = (int)(s.size << (s.at & 7));
    return {s.at >> 3, s.negative ? -m : m, 0, s.flags};
}

__device__ __forceinline__ pieces
pieces_of(double x)
{
    const auto s = size_of(x);
    const uint64_t m = s.size << (s.at & 7);
    const long long low = (long long)(m & 0xffffffffu), high = (long long)(m >> 32);
    return {s.at >> 3, s.negative ? -low : low, s.negative ? -high : high, s.flags};
}

// ---- what the kernels are told ----------------------------------------------------------------

// Real numbers in memory, step apart: the parts of complex ones are two such columns.
struct column {
    const void *data;
    wk_dtype dtype;
    int step;
};

// The places that weights have: kPlaces less the least, and one more than the largest; zeros: there
// are none. So both are found by atomicMax from zero.
struct span {
    int down, up;
};

struct weights_task {
    bins_task bins;
    const void *in;
    wk_dtype in_dtype;
    column weights;
    int64_t begin, end;        // elements
    int64_t rows;              // bins, and one more if what is in none is wanted
    int64_t room;              // limbs at `limbs`
    unsigned long long *limbs; // [limbs of a row][rows of a pass], zero between passes
    unsigned *flags;           // [rows of a pass], of WK_HAS_..., likewise
    const span *places;        // null: all
    long long *tables;         // of weights_near.cu
    bool kept;                 // limbs and flags go on from call to call: nothing is finished
    unsigned *stray;           // set where an element is no bin's; null: nobody asks
    const int64_t *counts;     // elements of each row, where means are asked for; null: sums
};

// The limbs of a pass over some rows: from which place on, and how many a row.
struct limbs_now {
    int first, count;
    int64_t rows; // of each pass; the last may have fewer
};

template <numbers kClass>
__device__ __forceinline__ limbs_now
limbs_of(const weights_task &t)
{
    using form = layout<kClass>;
    const span s = t.places ? *t.places : span{form::kPlaces, form::kPlaces};
    const int first = s.up ? form::kPlaces - s.down : 0;
    const int count = (s.up ? s.up - first : 1) + form::kAbove;
    const int64_t rows = t.room / count;
    return {first, count, rows < t.rows ? rows : t.rows};
}

// ---- elements of a dtype that is known when the kernel runs ------------------------------------

__device__ __forceinline__ uint64_t
bits_at(const void *data, int bytes, int64_t i)
{
    switch (bytes) {
    case 1: return static_cast<const uint8_t *>(data)[i];
    case 2: return static_cast<const uint16_t *>(data)[i];
    case 4: return static_cast<const uint32_t *>(data)[i];
    default: return static_cast<const uint64_t *>(data)[i];
    }
}

__device__ __forceinline__ int
bytes_of(wk_dtype dtype) // of a real one
{
    return dtype <= WK_U8                                           ? 1
           : dtype <= WK_U16 || dtype == WK_F16 || dtype == WK_BF16 ? 2
           : dtype == WK_I32 || dtype == WK_U32 || dtype == WK_F32  ? 4
                                                                    : 8;
}

template <numbers kClass>
__device__ __forceinline__ pieces
pieces_of(wk_dtype dtype, uint64_t bits)
{
    if constexpr (kClass == numbers::narrow) return pieces_of(narrow_of(dtype, bits));
    if constexpr (kClass == numbers::wide) return pieces_of(wk_from_bits_f64(bits));
    if (dtype != WK_I64 && dtype != WK_U64)
        return {0, (long long)integer_of(dtype, bits), 0, 0};
    const auto low = (long long)(bits & 0xffffffffu);
    return {0, low, dtype == WK_I64 ? (long long)bits >> 32 : (long long)(bits >> 32), 0};
}

// ---- the steps, of one column of weights --------------------------------------------------------

struct sums { // where results go: step apart
    void *data;
    wk_dtype dtype;
    int step;
};

template <typename F>
auto
with_class(numbers kind, F &&f)
{
    switch (kind) {
    case numbers::narrow: return f(std::integral_constant<numbers, numbers::narrow>{});
    case numbers::wide: return f(std::integral_constant<numbers, numbers::wide>{});
    default: return f(std::integral_constant<numbers, numbers::whole>{});
    }
}

inline int
most_limbs(numbers kind)
{
    return kind == numbers::narrow ? kMostLimbs<numbers::narrow>
           : kind == numbers::wide ? kMostLimbs<numbers::wide>
                                   : kMostLimbs<numbers::whole>;
}

// The places of `samples` weights, evenly apart, or of all: to *places, which is zero; weights_finish.cu.
wk_status find_places(wk_call *call, numbers kind, const weights_task &t, int64_t samples,
                      span *places);

// Between the launches that add, and after the last; weights_finish.cu.
wk_status carry_limbs(wk_call *call, numbers kind, const weights_task &t, int64_t pass);
wk_status finish_rows(wk_call *call, numbers kind, const weights_task &t, const sums &out,
                      int64_t pass);

// The limbs and flags of another GPU are added to the task's; weights_finish.cu.
wk_status add_totals(wk_call *call, const weights_task &t, const weights_task &other);

// The least or the largest weights; weights_extremes.cu.
wk_status extremes(wk_call *call, unsigned *stray);

wk_status add_global(wk_call *call, numbers kind, const weights_task &t, int64_t pass);

// weights_near.cu. Are there words enough for so many rows, and elements that pay for them?
bool fits_near(const wk_call *call, numbers kind, int64_t rows, int64_t n);
int64_t most_near(const wk_call *call, int64_t rows); // elements between two carries
wk_status allocate_tables(wk_call *call, weights_task *t);
wk_status add_near(wk_call *call, numbers kind, const weights_task &t, int *low);

} // namespace wk::weights
