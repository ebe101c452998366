// reduce / exact: tiles of lines by functions (gather.cuh).
#include "reduce/production/gather.cuh"
#include "reduce/production/elements.cuh"

namespace wk
{

// By so many bytes: elements, and as many mask's as a vector has elements.
template <int kBytes>
using bytes_t = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t,
                       std::conditional_t<kBytes == 4, uint32_t,
                                          std::conditional_t<kBytes == 8, uint2, uint4>>>>;

template <int kItem>
constexpr int kMore = kItem <= 4 ? 8 : 4; // elements that are on their way together

template <int kItem>
static __device__ __forceinline__ bytes_t<kItem>
one_of(const uint4 &filler)
{
    bytes_t<kItem> e;
    memcpy(&e, &filler, sizeof e);
    return e;
}

// Elements g .. g + kMore - 1 of a batch of this lane, 8 bytes at least.
template <int kItem>
static __device__ __forceinline__ void
put_some(gathered *to, int g, const bytes_t<kItem> (&e)[kMore<kItem>])
{
    constexpr int kPer = 16 / kItem;
    uint4 *own = &to->vector[g / kPer][threadIdx.x % kWarp];
    if constexpr (sizeof e == 8) {
        uint2 half;
        memcpy(&half, e, sizeof e);
        reinterpret_cast<uint2 *>(own)[g % kPer != 0] = half;
    } else {
        uint4 v[sizeof e / 16];
        memcpy(v, e, sizeof e);
#pragma unroll
        for (int k = 0; k < (int)sizeof e / 16; k++) own[k * kWarp] = v[k];
    }
}

template <int kItem>
static __device__ __forceinline__ void
put_fillers(gathered *to, int g, const uint4 &filler)
{
    bytes_t<kItem> e[kMore<kItem>];
#pragma unroll
    for (int k = 0; k < kMore<kItem>; k++) e[k] = one_of<kItem>(filler);
    put_some<kItem>(to, g, e);
}

// Of four bytes those that are not zero, as one bit each.
static __device__ __forceinline__ uint32_t
bits_of_four(uint32_t w)
{
    w = (w | w >> 4) & 0x0f0f0f0f;
    w = (w | w >> 2) & 0x03030303;
    w = (w | w >> 1) & 0x01010101;
    return w * 0x01020408 >> 24;
}

// Fillers take the place of a vector's elements whose bits are not set.
template <int kItem>
static __device__ __forceinline__ uint4
leave_out_others(const uint4 &v, uint32_t bits, const uint4 &filler)
{
    const auto word = [&](uint32_t x, uint32_t other, int w) {
        uint32_t there;
        if constexpr (kItem == 1)
            there = ((bits >> 4 * w & 15) * 0x00204081 & 0x01010101) * 0xff;
        else if constexpr (kItem == 2)
            there = ((bits >> 2 * w & 1) | (bits >> 2 * w & 2) << 15) * 0xffff;
        else
            there = 0 - (bits >> 4 * w / kItem & 1);
        return (x & there) | (other & ~there);
    };
    return {word(v.x, filler.x, 0), word(v.y, filler.y, 1), word(v.z, filler.z, 2),
            word(v.w, filler.w, 3)};
}

// ---- vectors, and their mask beside them--------------------------------------------------------------

template <int kItem>
__device__ uint64_t
gather_vectors(const uint4 *v, int left, const uint8_t *mask, int64_t step, uint4 filler,
               gathered *to)
{
    constexpr int kPer = 16 / kItem, kSome = kItem >= 4 ? 4 : 2;
    const bool together = step == 1 && reinterpret_cast<uintptr_t>(mask) % kPer == 0;
    uint4 *own = &to->vector[0][threadIdx.x % kWarp];
    uint64_t counted = 0;
#pragma unroll 1
    for (int j = 0; j < kGatheredVectors; j += kSome, left -= kSome * kWarp) {
        uint4 x[kSome];
        uint32_t bits[kSome];
#pragma unroll
        for (int k = 0; k < kSome; k++, v += kWarp) {
            x[k] = filler;
            if (k * kWarp < left) x[k] = __ldcs(v);
            bits[k] = k * kWarp < left ? all_of<kPer> : 0;
        }
        if (together) {
            bytes_t<kPer> m[kSome] = {};
#pragma unroll
            for (int k = 0; k < kSome; k++, mask += kWarp * kPer)
                if (bits[k]) m[k] = *reinterpret_cast<const bytes_t<kPer> *>(mask);
#pragma unroll
            for (int k = 0; k < kSome; k++) {
                uint32_t four[(kPer + 3) / 4] = {};
                memcpy(four, &m[k], sizeof m[k]);
                bits[k] = 0;
#pragma unroll
                for (int w = 0; w < (kPer + 3) / 4; w++)
                    bits[k] |= bits_of_four(four[w]) << 4 * w;
            }
        } else {
#pragma unroll
            for (int k = 0; k < kSome; k++, mask += kWarp * kPer * step)
#pragma unroll 4
                for (int e = 0; e < kPer; e++)
                    if (bits[k] >> e & 1 && !mask[e * step]) bits[k] &= ~(1u << e);
        }
#pragma unroll
        for (int k = 0; k < kSome; k++, own += kWarp) {
            *own = leave_out_others<kItem>(x[k], bits[k], filler);
            counted |= (uint64_t)bits[k] << (j + k) * kPer;
        }
    }
    return counted;
}

// ---- elements along one axis -------------------------------------------------------------------------

template <int kItem>
__device__ uint32_t
gather_along(const void *elements, int64_t pitch, const uint8_t *mask, int64_t mask_pitch,
             int left, uint4 filler, gathered *to)
{
    constexpr int kBatch = gathered_batch<kItem>, kSome = kMore<kItem>;
    const auto *x = static_cast<const bytes_t<kItem> *>(elements);
    uint32_t counted = 0;
#pragma unroll 1
    for (int g = 0; g < kBatch; g += kSome) {
        bytes_t<kItem> e[kSome];
        uint8_t counts[kSome];
        if (g >= left) {
            put_fillers<kItem>(to, g, filler);
            continue;
        }
#pragma unroll
        for (int k = 0; k < kSome; k++, x += pitch) {
            e[k] = one_of<kItem>(filler);
            counts[k] = g + k < left;
            if (g + k < left) e[k] = *x;
        }
        uint32_t bits = 0;
        if (mask) {
#pragma unroll
            for (int k = 0; k < kSome; k++, mask += mask_pitch)
                if (g + k < left) counts[k] = *mask;
        }
#pragma unroll
        for (int k = 0; k < kSome; k++) {
            if (!counts[k]) e[k] = one_of<kItem>(filler);
            bits |= (uint32_t)(counts[k] != 0) << k;
        }
        counted |= bits << g;
        put_some<kItem>(to, g, e);
    }
    return counted;
}

// ---- elements anywhere -------------------------------------------------------------------------------

// Is a part of a complex number NaN?
template <int kItem>
static __device__ __forceinline__ bool
has_nan(const bytes_t<kItem> &e)
{
    if constexpr (kItem == 4)
        return is_nan(wk_from_bits_f32(e));
    else if constexpr (kItem == 8)
        return is_nan(wk_from_bits_f64((uint64_t)e.y << 32 | e.x));
    else
        return false;
}

template <int kItem>
__device__ uint32_t
gather_anywhere(const void *elements, const uint8_t *mask, const reduce_task &task, int64_t u,
                uint4 filler, gathered *to)
{
    using T = bytes_t<kItem>;
    constexpr int kBatch = gathered_batch<kItem>, kSome = kMore<kItem>;
    const T *x = static_cast<const T *>(elements);
    const int lanes = task.team == 1 ? 1 : kWarp;
    const int64_t first = u * kBatch * lanes + (lanes == 1 ? 0 : threadIdx.x % kWarp);
    const bool pairs = (kItem == 4 || kItem == 8) && task.pairs();
    const int other = pairs ? task.other_part(x) : 0, axes = task.folded.ndim;
    // Along two axes the next element lies `pitch` further on, and `turn` more where the inner one ends.
    const int64_t *where = task.where_folded, *strides = task.folded.strides;
    const int last = axes > 0 ? axes - 1 : 0;
    const int64_t inner = axes > 1 ? task.folded.shape[last] : task.n + kBatch * kWarp;
    int64_t outer = first, outer_step = lanes;
    int64_t i = split(&outer, inner), step = split(&outer_step, inner);
    int64_t at = i * strides[last] + outer * strides[0], m = i * where[last] + outer * where[0];
    const int64_t pitch = step * strides[last] + outer_step * strides[0],
                  turn = strides[0] - inner * strides[last],
                  m_pitch = step * where[last] + outer_step * where[0],
                  m_turn = where[0] - inner * where[last];
    uint32_t counted = 0;
#pragma unroll 1
    for (int g = 0; g < kBatch; g += kSome) {
        T e[kSome], o[kSome];
        uint8_t counts[kSome];
        spot places[kSome];
        if (first + (int64_t)g * lanes >= task.n) {
            put_fillers<kItem>(to, g, filler);
            continue;
        }
        if (axes <= 2) {
#pragma unroll
            for (int k = 0; k < kSome; k++, at += pitch, m += m_pitch, i += step) {
                if (i >= inner) {
                    i -= inner;
                    at += turn;
                    m += m_turn;
                }
                places[k] = {at, m};
            }
        } else {
            spot far[kSome];
#pragma unroll 1
            for (int k = 0; k < kSome; k++)
                far[k] = spot_of_many(task.folded, where, first + (int64_t)(g + k) * lanes);
#pragma unroll
            for (int k = 0; k < kSome; k++) places[k] = far[k];
        }
#pragma unroll
        for (int k = 0; k < kSome; k++) {
            e[k] = o[k] = one_of<kItem>(filler);
            counts[k] = 0;
            if (first + (int64_t)(g + k) * lanes >= task.n) continue;
            e[k] = x[places[k].at];
            counts[k] = 1;
            if (mask) counts[k] = mask[places[k].mask];
            if (pairs) o[k] = x[places[k].at + other];
        }
#pragma unroll
        for (int k = 0; k < kSome; k++) {
            const bool own = counts[k] && !(pairs && has_nan<kItem>(o[k]));
            if (!own) e[k] = one_of<kItem>(filler);
            counted |= (uint32_t)own << (g + k);
        }
        put_some<kItem>(to, g, e);
    }
    return counted;
}

#define INSTANTIATE(kItem)                                                                     \
    template __device__ uint64_t gather_vectors<kItem>(const uint4 *, int, const uint8_t *,    \
                                                       int64_t, uint4, gathered *);            \
    template __device__ uint32_t gather_along<kItem>(const void *, int64_t, const uint8_t *,   \
                                                     int64_t, int, uint4, gathered *);         \
    template __device__ uint32_t gather_anywhere<kItem>(                                       \
        const void *, const uint8_t *, const reduce_task &, int64_t, uint4, gathered *);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(4)
INSTANTIATE(8)
INSTANTIATE(16)

} // namespace wk
