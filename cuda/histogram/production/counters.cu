// histogram / counters -- the production row: where the counters are, by the number of bins.
//
// In, out   elements of any real type, any bins -> int64 counts; with weights, their sums.
// How       bytes           256 counters a bank, binned at the end             bytes.cu
//           few elements    L2, equal lanes at once                            direct.cu
//           57,000 bins     32-bit counters in shared memory                   shared_*.cu
//           113,000         the same, over two multiprocessors                 split.cu
//           570,000         fields of 8, 6, 4 or 3 bits, carries to L2         fields.cu
//           2 * 10^7        bit planes, carries to L2; a reading each 1,800,000    planes.cu
//           more            L2                                                 direct.cu
//           From 57,000 bins on those count uint32 numbers. Elements of four bytes whose value is
//           the bin are such already; two-byte ones are counted by their 65,536 patterns; of others the
//           bins' numbers are stored first, a piece of the input after the other.
// Why so    the bound is the memory's read rate while an element costs at most one add on the chip;
//           see each file for what an H100 says. Figures are for the 227 KiB it gives a block.
// Source    N. Sakharnykh, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell" (2015), for
//           the second of these.
#include "histogram/ladder/ladder.cuh"
#include "histogram/production/ways.cuh"
#include "prim/halves.cuh"

#include <algorithm>

namespace wk::histogram
{

namespace
{

// Elements a bin below which tables on the chip do not pay, once they are large, and elements at all:
// H100, uniform int32, L2 wins below 2^20 elements with 65,536 bins, 2^22 with 2^20.
constexpr int64_t kFew = 16, kSmallTable = 1 << 14, kMostFew = 1 << 22;

// Of the input whose bins' numbers are stored at once: tables are cleared and summed for each.
constexpr int64_t kPiece = 1 << 26;

constexpr int64_t kPatterns = 1 << 16;

way_of_many *
way_of(const wk_call *call, int64_t bins)
{
    return fits_shared(call)         ? shared_numbers
           : fits_split(call, bins)  ? split
           : fits_fields(call, bins) ? fields
           : fits_planes(call, bins) ? planes
                                     : runs;
}

wk_status
count_shared(wk_call *call)
{
    switch (call->args.histogram.kind) {
    case WK_BINS_VALUES: return shared_values(call);
    case WK_BINS_UNIFORM: return shared_uniform(call);
    default: return shared_edges(call);
    }
}

wk_status
store_numbers(wk_call *call, int64_t first, int64_t n, uint32_t *numbers, room *room)
{
    switch (call->args.histogram.kind) {
    case WK_BINS_VALUES: return numbers_values(call, first, n, numbers);
    case WK_BINS_UNIFORM: return numbers_uniform(call, first, n, numbers);
    default: return numbers_edges(call, first, n, numbers, room);
    }
}

wk_status
count_in_pieces(wk_call *call, way_of_many *way)
{
    room r = {};
    many_bins m = all_of(call, &r);
    const int64_t n = m.n, piece = std::min(n, kPiece);
    void *numbers = nullptr;
    if (allocate(call, piece * 4, &numbers) != WK_OK) return call->error.status;
    for (int64_t first = 0; first < n; first += piece) {
        m.in = numbers;
        m.n = std::min(piece, n - first);
        if (store_numbers(call, first, m.n, static_cast<uint32_t *>(numbers), &r) != WK_OK ||
            way(call, m) != WK_OK)
            return call->error.status;
    }
    return WK_OK;
}

// A pattern's count to its bin.
__global__ void
add_patterns(const unsigned long long *patterns, wk_dtype dtype,
             const bins_task __grid_constant__ task, unsigned kept, unsigned long long *counts)
{
    const unsigned p = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long c = patterns[p];
    const int64_t bin = bin_of_bits(task, dtype, p);
    const unsigned number = bin < 0 ? (unsigned)task.args.bins : (unsigned)bin;
    if (c && number < kept) atomicAdd(&counts[number], c);
}

wk_status
count_patterns(wk_call *call)
{
    void *block = nullptr;
    room r = {};
    many_bins m = all_of(call, &r);
    const unsigned kept = m.kept;
    if (allocate(call, kPatterns * 8, &block) != WK_OK ||
        clear(call, block, kPatterns * 8) != WK_OK)
        return call->error.status;
    const auto patterns = static_cast<unsigned long long *>(block);
    m.bins = m.kept = kPatterns;
    m.counts = patterns;
    if (fields16(call, m) != WK_OK) return call->error.status;
    return launch(call, kPatterns / 256, 256, 0, add_patterns, patterns, call->in.dtype,
                  bins_of(call), kept, static_cast<unsigned long long *>(call->out[0].data));
}

// By this way, whatever the elements.
wk_status
count_many(wk_call *call, way_of_many *way)
{
    const bool numbers = wk_itemsize[call->in.dtype] == 4 &&
                         call->args.histogram.kind == WK_BINS_VALUES; // a negative one is large
    if (clear_counts(call) != WK_OK) return call->error.status;
    room r = {};
    return numbers ? way(call, all_of(call, &r)) : count_in_pieces(call, way);
}

wk_status
count(wk_call *call)
{
    const wk_histogram_args *h = &call->args.histogram;
    const int item = wk_itemsize[call->in.dtype];
    const bool few = h->bins > kSmallTable && h->n < std::min(kFew * h->bins, kMostFew);
    if (h->n > 0 && item > 1 && !few && fits_shared(call) &&
        (h->kind != WK_BINS_EDGES || h->bins <= kMostNear))
        return count_shared(call); // which may send the edges along
    if (edges_there(call) != WK_OK) return call->error.status;
    if (h->n == 0) return clear_counts(call);
    if (item == 1) return count_bytes(call);
    if (few) return direct(call);
    if (item == 2) {
        if (clear_counts(call) != WK_OK) return call->error.status;
        return count_patterns(call);
    }
    return count_many(call, way_of(call, h->bins));
}

} // namespace

} // namespace wk::histogram

namespace
{

wk_status
check_bins(wk_call *call)
{
    constexpr int64_t kMostBins = int64_t{1} << 31; // numbers have 32 bits
    const int64_t bins = call->args.histogram.bins;
    if (bins < kMostBins) return WK_OK;
    return WK_FAIL(&call->error, WK_EMEMORY, "%lld bins; there are kernels for %lld",
                   (long long)bins, (long long)kMostBins - 1);
}

// A way by its own name; if it does not hold so many bins, the next. Bytes have theirs.
wk_status
count_by(wk_call *call, const char *variant, wk::histogram::way_of_many *way, bool fits)
{
    namespace h = wk::histogram;
    if (check_bins(call) != WK_OK || wk::ladder::check_counts(call, variant) != WK_OK)
        return call->error.status;
    if (wk::edges_there(call) != WK_OK) return call->error.status;
    if (wk_itemsize[call->in.dtype] == 1) return h::count_bytes(call);
    return h::count_many(call, fits ? way : h::way_of(call, call->args.histogram.bins));
}

} // namespace

WK_LAUNCHER(histogram, cuda, counters)
{
    if (check_bins(call) != WK_OK) return call->error.status;
    if (call->weights.ndim < 0) return wk::histogram::count(call);
    return wk::histogram::weighted(call);
}

WK_LAUNCHER(histogram, cuda, split)
{
    const bool fits = wk::histogram::fits_split(call, call->args.histogram.bins);
    return count_by(call, "split", wk::histogram::split, fits);
}

WK_LAUNCHER(histogram, cuda, fields)
{
    const bool fits = wk::histogram::fits_fields(call, call->args.histogram.bins);
    return count_by(call, "fields", wk::histogram::fields, fits);
}

WK_LAUNCHER(histogram, cuda, planes)
{
    const bool fits = wk::histogram::fits_planes(call, call->args.histogram.bins);
    return count_by(call, "planes", wk::histogram::planes, fits);
}

WK_LAUNCHER(histogram, cuda, runs)
{
    return count_by(call, "runs", wk::histogram::runs, true);
}
