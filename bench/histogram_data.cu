// Data for bench/histogram.py, and the plain counts that its results are checked with; compiled by
// CuPy. Every element comes from a hash of its index, so that any launch gives the same ones.

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

enum { UNIFORM, EQUAL, SORTED, ZIPF, HALF, ALTERNATING, MULTIPLES }; // as histogram_cells.DATA

__device__ i64
first()
{
    return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ i64
step()
{
    return static_cast<i64>(gridDim.x) * blockDim.x;
}

__device__ u32
mix(u32 x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ u32
hash(i64 i, u32 seed)
{
    return mix(static_cast<u32>(i) * 2654435761u + static_cast<u32>(i >> 32) + seed);
}

__device__ u32
scaled(u32 h, u32 bins)
{
    return static_cast<u64>(h) * bins >> 32;
}

// P(rank k) ~ 1 / (k + 1). Frequent bins are scattered: an odd factor permutes 2^k bins; any other
// number of bins keeps the order of ranks.
__device__ u32
zipf(u32 h, u32 bins)
{
    const double rank = exp((h + 0.5) * 0x1p-32 * log(bins + 1.0)) - 1;
    const u32 k = rank < bins ? static_cast<u32>(rank) : bins - 1;
    return bins & (bins - 1) ? k : k * 0x9e3779b1u & (bins - 1);
}

__device__ u32
bin_of(int data, i64 i, i64 n, u32 bins)
{
    const u32 h = hash(i, 97);
    switch (data) {
    case EQUAL: return bins / 3;
    case SORTED: return static_cast<u32>(static_cast<double>(i) / n * bins);
    case ZIPF: return zipf(h, bins);
    case HALF: return h & 1 ? bins / 3 : scaled(mix(h), bins);
    case ALTERNATING: return i & 1 ? bins / 3 : bins / 5;
    case MULTIPLES: return scaled(h, bins) & ~31u;
    default: return scaled(h, bins);
    }
}

template <class T>
__global__ void
draw(T *out, i64 n, int data, u32 bins)
{
    for (i64 i = first(); i < n; i += step()) out[i] = static_cast<T>(bin_of(data, i, n, bins));
}

// Numbers within the bins of those widths; of equal elements, within the bin.
template <class T>
__global__ void
draw_between(T *out, i64 n, int data, u32 bins, const double *edges)
{
    for (i64 i = first(); i < n; i += step()) {
        const u32 bin = bin_of(data, i, n, bins);
        double part = ((static_cast<u64>(hash(i, 7)) << 21) + (hash(i, 77) >> 11)) * 0x1p-53;
        if (data == EQUAL) part = 0.25;
        if (data == SORTED) part = static_cast<double>(i) / n * bins - bin;
        out[i] = static_cast<T>(edges[bin] + part * (edges[bin + 1] - edges[bin]));
    }
}

// What lies in a table.
template <class T>
__global__ void
pick(T *out, i64 n, int data, u32 entries, const T *table)
{
    for (i64 i = first(); i < n; i += step()) out[i] = table[bin_of(data, i, n, entries)];
}

// Bits of floats: of random ones in [-1, 1), or of all exponents, infinity's and NaN's left out.
__global__ void
weights_of_4(float *out, i64 n, int wide)
{
    for (i64 i = first(); i < n; i += step()) {
        const u32 h = hash(i, 1234567);
        const u32 finite = (h >> 23 & 255) == 255 ? h ^ 1u << 23 : h;
        out[i] = wide ? __uint_as_float(finite) : static_cast<int>(h) * 0x1p-31f;
    }
}

__global__ void
weights_of_8(double *out, i64 n, int wide)
{
    for (i64 i = first(); i < n; i += step()) {
        const u64 h = static_cast<u64>(hash(i, 1234567)) << 32 | hash(i, 7654321);
        const u64 finite = (h >> 52 & 2047) == 2047 ? h ^ 1ull << 52 : h;
        out[i] = wide ? __longlong_as_double(static_cast<i64>(finite))
                      : static_cast<i64>(h) * 0x1p-63;
    }
}

// Groups of 32 with at most so many distinct values; or runs of one length.
template <class T>
__global__ void
draw_groups(T *out, i64 n, u32 distinct, int sorted)
{
    for (i64 i = first(); i < n; i += step()) {
        const u32 group = static_cast<u32>(i >> 5), lane = i & 31;
        const u32 which = sorted ? lane * distinct / 32 : scaled(hash(i, 97), distinct);
        out[i] = static_cast<T>(mix(group) % 1000003 + which);
    }
}

template <class T>
__global__ void
draw_runs(T *out, i64 n, u32 length)
{
    for (i64 i = first(); i < n; i += step())
        out[i] = static_cast<T>(hash(i / length, 97) & 0x7fffffff);
}

// ---- what is right

template <class T>
__global__ void
count(const T *in, i64 n, u32 *counts)
{
    for (i64 i = first(); i < n; i += step()) atomicAdd(counts + in[i], 1u);
}

// By numpy.histogram's meaning: bins are half open, the last one closed.
template <class T>
__global__ void
count_between(const T *in, i64 n, u32 bins, const double *edges, u32 *counts)
{
    for (i64 i = first(); i < n; i += step()) {
        const double x = static_cast<double>(in[i]);
        if (!(x >= edges[0] && x <= edges[bins])) continue;
        u32 low = 0, high = bins;
        while (high - low > 1) {
            const u32 middle = (low + high) / 2;
            if (x < edges[middle])
                high = middle;
            else
                low = middle;
        }
        atomicAdd(counts + low, 1u);
    }
}

// Exact sums: of each bin so many words, 32 bits apart, the lowest of 2^-1074; a word takes what
// 2^31 elements add to it.
template <class T>
__global__ void
add_exactly(const int *in, const T *weights, i64 n, int words, i64 *sums)
{
    for (i64 i = first(); i < n; i += step()) {
        const u64 bits = __double_as_longlong(static_cast<double>(weights[i]));
        const int exponent = bits >> 52 & 2047, place = exponent ? exponent - 1 : 0;
        const u64 fraction = (bits & ~(~0ull << 52)) | (exponent ? 1ull << 52 : 0);
        const int shift = place % 32;
        const u64 low = fraction << shift, high = shift ? fraction >> (64 - shift) : 0;
        const u64 parts[3] = {low & 0xffffffff, low >> 32, high};
        u64 *const at = reinterpret_cast<u64 *>(sums) + in[i] * static_cast<i64>(words);
        for (int part = 0; part < 3; part++)
            if (parts[part])
                atomicAdd(at + place / 32 + part, bits >> 63 ? 0 - parts[part] : parts[part]);
    }
}

// How many groups of 32 are not listed rightly: each value as often as it occurs, 32 elements in all,
// ascending if they are to be in order, zeros behind.
template <class T>
__global__ void
wrong_groups(const T *in, i64 groups, const T *values, const int *counts, const int *totals,
             int ordered, u32 *wrong)
{
    for (i64 group = first(); group < groups; group += step()) {
        const i64 at = group * 32;
        int listed = 0, right = 1;
        for (int k = 0; k < 32; k++) {
            int found = 0;
            if (k < totals[group]) {
                for (int i = 0; i < 32; i++) found += in[at + i] == values[at + k];
                right &= found > 0;
                right &= !ordered || k == 0 || values[at + k - 1] < values[at + k];
            } else {
                right &= values[at + k] == 0;
            }
            right &= counts[at + k] == found;
            listed += found;
        }
        if (!right || listed != 32) atomicAdd(wrong, 1u);
    }
}

// How many elements are not those of the run that begins at or before them: starts[runs].
template <class T>
__global__ void
wrong_runs(const T *in, i64 n, const T *values, const i64 *starts, i64 runs, u32 *wrong)
{
    for (i64 i = first(); i < n; i += step()) {
        i64 low = 0, high = runs;
        while (high - low > 1) {
            const i64 middle = (low + high) / 2;
            if (i < starts[middle])
                high = middle;
            else
                low = middle;
        }
        const int begins = i == 0 || in[i] != in[i - 1];
        if (!(in[i] == values[low]) || begins != (i == starts[low])) atomicAdd(wrong, 1u);
    }
}

// ---- what the memory gives

// Eight loads of 16 bytes on their way for each thread.
__global__ void
read_all(const uint4 *in, i64 vectors, u32 *never)
{
    u32 all = 0;
    const i64 stride = step();
    i64 i = first();
    for (; i + 7 * stride < vectors; i += 8 * stride) {
        uint4 v[8];
        for (int k = 0; k < 8; k++) v[k] = in[i + k * stride];
        for (int k = 0; k < 8; k++) all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    for (; i < vectors; i += stride) all ^= in[i].x ^ in[i].y ^ in[i].z ^ in[i].w;
    if (all == 0x9e3779b1u) *never = all; // else the loads would be left out
}
