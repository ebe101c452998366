// keys.cuh -- elements as unsigned keys of their size, in the order of numpy.unique: NaN are one key, the
// last, and -0.0 and 0.0 are one.
//
// A kernel knows how long elements are, and is told their order: one for all dtypes of a size.
#pragma once
#include "runtime/visit.cuh"

namespace wk
{

// What a kernel knows of the dtypes that it has.
enum class kinds { any, integers, floats };

template <typename K>
struct key_order {
    static constexpr K kTop = (K)((K)1 << (8 * sizeof(K) - 1)), kAll = (K) ~(K)0;
    K zero;     // an integer's 0: what is inverted in it
    K infinity; // a float's; of integers 0
    bool truth; // bool: any byte but 0

    explicit key_order(wk_dtype dtype) : zero(0), infinity(0), truth(dtype == WK_BOOL)
    {
        switch (dtype) {
        case WK_I8:
        case WK_I16:
        case WK_I32:
        case WK_I64: zero = kTop; break;
        case WK_F16: infinity = (K)0x7c00; break;
        case WK_BF16: infinity = (K)0x7f80; break;
        case WK_F32: infinity = (K)0x7f800000; break;
        case WK_F64: infinity = (K)0x7ff0000000000000; break;
        default: break;
        }
    }
    template <kinds kKinds>
    __host__ __device__ __forceinline__ bool floats() const
    {
        if (sizeof(K) == 1 || kKinds == kinds::integers) return false;
        return kKinds == kinds::floats || infinity != 0;
    }
    bool integers() const
    {
        return infinity == 0 && !truth;
    }
    // Elements lie in words W of their size, or in longer ones whose upper bits are zero. What is the
    // same for all N is asked once.

    // Those that stand for all that are equal to them: one NaN, 0.0 for -0.0 too.
    template <kinds kKinds = kinds::any, typename W, int N>
    __device__ __forceinline__ void unify(W (&x)[N]) const
    {
        if (floats<kKinds>()) {
            const K nan = (K)(infinity | (infinity & (K)-infinity) >> 1);
#pragma unroll
            for (int j = 0; j < N; j++) {
                const W size = x[j] & (W)(kAll ^ kTop);
                x[j] = size > infinity ? (W)nan : size ? x[j] : (W)0;
            }
        } else if (sizeof(K) == 1 && truth) {
#pragma unroll
            for (int j = 0; j < N; j++) x[j] = x[j] != 0;
        }
    }
    // Unsigned, ascending with the elements; NaN is the last, and not all ones.
    template <kinds kKinds = kinds::any, typename W, int N>
    __device__ __forceinline__ void keys_of(W (&x)[N]) const
    {
        unify<kKinds>(x);
        if (floats<kKinds>()) {
#pragma unroll
            for (int j = 0; j < N; j++) x[j] ^= x[j] & kTop ? (W)kAll : (W)kTop;
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) x[j] ^= zero;
        }
    }
    template <kinds kKinds = kinds::any, typename W, int N>
    __device__ __forceinline__ void elements_of(W (&keys)[N]) const
    {
        if (floats<kKinds>()) {
#pragma unroll
            for (int j = 0; j < N; j++) keys[j] ^= keys[j] & kTop ? (W)kTop : (W)kAll;
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) keys[j] ^= zero;
        }
    }
    __device__ __forceinline__ K one_of(K x) const
    {
        K one[1] = {x};
        unify(one);
        return one[0];
    }
    __device__ __forceinline__ K key_of(K x) const
    {
        K one[1] = {x};
        keys_of(one);
        return one[0];
    }
    __device__ __forceinline__ K element_of(K key) const
    {
        K one[1] = {key};
        elements_of(one);
        return one[0];
    }
};

// What kernels read: elements, or keys that were made of them.
template <typename K, bool kMade>
struct source {
    const K *in;
    key_order<K> order;

    __device__ __forceinline__ K key_at(int64_t i) const
    {
        return kMade ? in[i] : order.key_of(in[i]);
    }
    template <int N>
    __device__ __forceinline__ void make_keys(K (&x)[N]) const
    {
        if constexpr (!kMade) order.keys_of(x);
    }
    // Where only equality matters elements need not become keys.
    __device__ __forceinline__ K one_at(int64_t i) const
    {
        return kMade ? in[i] : order.one_of(in[i]);
    }
    template <int N>
    __device__ __forceinline__ void unify(K (&x)[N]) const
    {
        if constexpr (!kMade) order.unify(x);
    }
    __device__ __forceinline__ K element_of_one(K x) const
    {
        return kMade ? order.element_of(x) : x;
    }
};

} // namespace wk
