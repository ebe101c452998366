// arg.cuh -- where the first of the least, or of the largest, is.
#pragma once
#include "reduce/production/extreme.cuh"

namespace wk
{

// The least by rank, then by index: by the key, for argmax that flipped. NaN comes first either way;
// -0.0 and 0.0 are equal, as in NumPy.
template <typename E>
struct arg : certain<arg<E>> {
    using T = E;
    static constexpr bool kPacked = sizeof(T) <= 2, kByIndex = true, kHalves = true,
                          kQuick = sizeof(T) == 1, kAtOnce = true, kPairsAtOnce = !kPacked;
    using R = typename std::conditional_t<is_complex<T>, T, complex<T>>; // for its parts' type
    using P = decltype(R{}.re);
    using K = key_t<P>;
    static constexpr int kParts = is_complex<T> ? 2 : 1;
    static constexpr int kWords = 2 + kParts, kVectors = 4, kTurn = sizeof(T) == 1 ? 2 : 4;
    static constexpr int kBatch = kTurn * 16 / (int)sizeof(T);
    static constexpr int kBlocks = 3, kRowBlocks = 3, kColumnBlocks = 2;
    static constexpr K kFirst = sizeof(T) == 2 ? INT16_MIN : std::numeric_limits<K>::min(),
                       kLast = std::numeric_limits<K>::max();
    using certain<arg>::count;
    int64_t index;
    K best[kParts];
    const T *batch; // in which `best` first was, if it is not known where; so many vectors
    int vectors;
    int64_t jump;

    static __device__ T filler(const reduce_task &)
    {
        return T{};
    }
    __device__ void start(const reduce_task &)
    {
        count = 0;
        index = INT64_MAX;
        batch = nullptr;
        vectors = 0;
        jump = 0;
        for (int p = 0; p < kParts; p++) best[p] = kLast;
    }
    static __device__ K real_rank(P x, bool nan, const reduce_task &task)
    {
        return nan ? kFirst : key_of(x + P(0)) ^ (K)task.flip; // -0.0 to 0.0
    }
    // Turns elements of one or two bytes, several in a word, into ranks.
    template <int N>
    static __device__ void rank_words(uint32_t (&words)[N], const reduce_task &task)
    {
        const auto flip = (uint32_t)task.flip;
        if (sizeof(T) == 1 || !task.halves) {
            words_to_signed<T>(words, task);
#pragma unroll
            for (int w = 0; w < N; w++) words[w] ^= flip;
            return;
        }
        const uint32_t above = (0x7fff - (uint32_t)task.infinity) * 0x00010001;
#pragma unroll
        for (int w = 0; w < N; w++) {
            const uint32_t size = words[w] & 0x7fff7fff, nan = (size + above) & 0x80008000;
            const uint32_t x = words[w] & ((size + 0x7fff7fff) | 0x7fff7fff); // -0.0 to 0.0
            const uint32_t rank = half_keys(x) ^ flip;
            words[w] = (rank & ~((nan >> 15) * 0xffff)) | nan;
        }
    }
    template <int N>
    static __device__ void ranks_of(const T (&x)[N], const reduce_task &task, K (&ranks)[N])
    {
        if constexpr (is_real<T>) {
#pragma unroll
            for (int j = 0; j < N; j++) ranks[j] = real_rank(x[j], is_nan(x[j]), task);
        } else if constexpr (sizeof(T) <= 2) {
            uint32_t words[words_for<T, N>];
            pack(x, words);
            rank_words(words, task);
            unpack<T>(words, ranks);
        } else {
            to_signed(x, task, ranks);
#pragma unroll
            for (int j = 0; j < N; j++) ranks[j] ^= (K)task.flip;
        }
    }
    __device__ void improve(const K *key, int64_t at)
    {
        bool less = key[0] < best[0];
        bool equal = key[0] == best[0];
        if (kParts == 2) {
            less = less || (equal && key[kParts - 1] < best[kParts - 1]);
            equal = equal && key[kParts - 1] == best[kParts - 1];
        }
        if (!(less || (equal && at < index))) return;
        for (int p = 0; p < kParts; p++) best[p] = key[p];
        index = at;
    }
    __device__ bool may_win(K key, const place &at) const
    {
        return key < best[0] || (key == best[0] && at.least() < index);
    }
    // Whole batches of one or two bytes an element: which batch has the least key is all that is
    // kept, without a branch; settle() looks for the element.
    template <int N>
    __device__ void add_batch(uint32_t (&words)[N], const place &at, const reduce_task &task)
    {
        words_to_keys<T>(words, task);
        const key_range range = range_of<T>(words);
        const K flip = (K)task.flip;
        K least = flip ? ~range.most : range.least;
        if (sizeof(T) == 2 && task.halves) {
            if (least == ~flip) least = flip; // -0.0 is 0.0
            if (range.least < ~task.infinity || range.most > task.infinity) least = kFirst;
        }
        const bool win = may_win(least, at);
        best[0] = win ? least : best[0];
        index = win ? at.first : index; // at least
        batch = win ? static_cast<const T *>(at.from) : batch;
        vectors = win ? at.vectors : vectors;
        jump = at.jump;
    }
    // Which element of the batch it was.
    __device__ void settle(const reduce_task &task)
    {
        if constexpr (kPacked) {
            constexpr int kPer = 16 / (int)sizeof(T);
            if (batch == nullptr) return;
            const T *from = batch;
            const int64_t first = index;
            batch = nullptr;
            for (int j = 0; j < vectors * kPer; j++) {
                const int64_t at = j / kPer * jump + j % kPer;
                const T x[1] = {from[at]};
                K rank[1];
                ranks_of(x, task, rank);
                if (rank[0] != best[0]) continue;
                index = first + at;
                return;
            }
        }
    }
    template <int W>
    __device__ void add_packed(uint32_t (&words)[W], uint32_t ok, const place &at,
                               const reduce_task &task)
    {
        constexpr int N = W * 4 / (int)sizeof(T);
        if (ok == all_of<N> && at.vectors > 0) {
            add_batch(words, at, task);
            return;
        }
        rank_words(words, task);
        settle(task);
        if constexpr (sizeof(T) == 1 || W % 2 == 0)
            if (ok == all_of<N> && !may_win(range_of<T>(words).least, at)) return;
        K ranks[N];
        unpack<T>(words, ranks);
        add_ranks(ranks, ok, at);
    }
    // The index is only looked for where the rank may win.
    template <int N>
    __device__ void add_ranks(K (&ranks)[N], uint32_t ok, const place &at)
    {
        K least = kLast;
        if (ok != all_of<N>)
#pragma unroll
            for (int j = 0; j < N; j++)
                if (!(ok >> j & 1)) ranks[j] = kLast;
#pragma unroll
        for (int j = 0; j < N; j++) least = ranks[j] < least ? ranks[j] : least;
        if (!may_win(least, at)) return;
        uint32_t equal = 0;
#pragma unroll
        for (int j = 0; j < N; j++) equal |= (uint32_t)(ranks[j] == least) << j;
        equal &= ok;
        if (at.turn) { // those behind the turn come first
            const uint32_t turned = equal & at.behind();
            equal = turned ? turned : equal;
        }
        if (equal) improve(&least, at(__ffs((int)equal) - 1));
    }
    template <int N>
    __device__ void add(const T (&x)[N], uint32_t ok, const place &at, const reduce_task &task)
    {
        settle(task);
        if constexpr (kParts == 1) {
            K ranks[N];
            ranks_of(x, task, ranks);
            add_ranks(ranks, ok, at);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) {
                if (!(ok >> j & 1)) continue;
                const bool nan = is_nan(x[j]);
                const K k[2] = {real_rank(x[j].re, nan, task), real_rank(x[j].im, nan, task)};
                improve(k, at(j));
            }
        }
    }
    // Of the first n of a few, in the order in which these come: no index of 64 bits is compared, and floats need no
    // ranks. -1: there is none. H200, 128 MiB, share of a copy by a state and so, n x 2, n x 3: float32 .28 .40, .37
    // .42, int32 .33 .42, .44 .51, float64 .38 .54, .53 .58, complex64 .43 .52, .52 .58, nanargmax of float32 .25 .39,
    // .36 .42; n x 3, 256 MiB, us by ranks and without, float32 139 116.
    template <int N>
    static __device__ __forceinline__ int first_of(const T (&x)[N], int n,
                                                   const reduce_task &task)
    {
        constexpr bool kCompares = std::is_floating_point_v<T>;
        using V = typename std::conditional_t<kCompares, T, K>;
        V rank[kParts][N], best[kParts];
        int at = task.skip_nan ? -1 : 0;
        if constexpr (kCompares) {
#pragma unroll
            for (int j = 0; j < N; j++) rank[0][j] = task.flip ? -x[j] : x[j];
        } else if constexpr (kParts == 1) {
            ranks_of(x, task, rank[0]);
        } else {
#pragma unroll
            for (int j = 0; j < N; j++) {
                const bool nan = is_nan(x[j]);
                rank[0][j] = real_rank(x[j].re, nan, task);
                rank[kParts - 1][j] = real_rank(x[j].im, nan, task);
            }
        }
#pragma unroll
        for (int p = 0; p < kParts; p++) best[p] = rank[p][0];
#pragma unroll
        for (int j = 0; j < N; j++) {
            bool less = rank[0][j] < best[0];
            if constexpr (kCompares) // NaN comes first, but the first of them
                less = !(rank[0][j] >= best[0]) && !is_nan(best[0]);
            if constexpr (kParts == 2)
                less |= rank[0][j] == best[0] && rank[kParts - 1][j] < best[kParts - 1];
            if (task.skip_nan) less = (less || at < 0) && !is_nan(x[j], task);
            if (!less || j >= n) continue;
#pragma unroll
            for (int p = 0; p < kParts; p++) best[p] = rank[p][j];
            at = j;
        }
        return at;
    }
    template <int N>
    static __device__ __forceinline__ bool
    finish_at_once(const T (&x)[N], const reduce_task &task, int64_t output)
    {
        if constexpr (N <= WK_FEW_ROWS) {
            if (!task.is_own() || task.out_dtype[0] != WK_I64) return false;
            const int at = first_of(x, (int)task.n, task);
            if (at < 0) return false;
            static_cast<int64_t *>(task.out[0])[output] = task.first + at;
            return true;
        }
        return false;
    }
    __device__ void save(uint64_t *words) const
    {
        words[0] = (uint64_t)count;
        words[1] = (uint64_t)index;
        for (int p = 0; p < kParts; p++) words[2 + p] = (uint64_t)best[p];
    }
    __device__ void load(const uint64_t *words)
    {
        count = (int64_t)words[0];
        index = (int64_t)words[1];
        for (int p = 0; p < kParts; p++) best[p] = (K)words[2 + p];
    }
    __device__ void merge(const uint64_t *words)
    {
        if (words[0] == 0) return; // an empty state, all zeros
        count += (int64_t)words[0];
        K k[kParts];
        for (int p = 0; p < kParts; p++) k[p] = (K)words[2 + p];
        improve(k, (int64_t)words[1]);
    }
    __device__ bool finish(const reduce_task &task, int64_t output) const
    {
        store(task.out[0], task.out_dtype[0], output, (uint64_t)(count ? index : -1));
        return true;
    }
    __device__ void finish_by_call(const reduce_task &task, int64_t output) const
    {
        finish(task, output);
    }
};

template <typename E>
struct merged_by<arg<E>> {
    using type = arg<std::conditional_t<is_complex<E>, complex<double>, uint64_t>>;
};

} // namespace wk
