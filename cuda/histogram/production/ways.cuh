// ways.cuh -- the ways of counting, one file each; counters.cu chooses.
#pragma once
#include "histogram/bins.cuh"
#include "histogram/production/weights.cuh"

namespace wk::histogram
{

// Up to so many bins edges lie in shared memory beside the counters.
constexpr int64_t kMostNear = 8192;

constexpr int64_t kMostOfBlock = int64_t{1} << 31; // elements: a block's counter has 32 bits

// The call's counts of elements of a byte, whatever the bins.
wk_status count_bytes(wk_call *call);

// The call's counts, of bins whose counters fit a block.
bool fits_shared(const wk_call *call);
wk_status shared_values(wk_call *call);
wk_status shared_uniform(wk_call *call);
wk_status shared_edges(wk_call *call); // at most kMostNear bins

// The call's counts, an add in L2 an element.
wk_status direct(wk_call *call);

// Device memory that a way needs, kept for its next pass over the input, or piece of it; none of those
// is larger than the first.
struct room {
    void *list, *tables, *edges;
};

inline wk_status
keep(wk_call *call, int64_t bytes, void **block)
{
    return *block ? WK_OK : allocate(call, bytes, block);
}

// Numbers to be counted as they are: those of `bins` and more are the bin `bins`, which is dropped
// where kept == bins. counts go on.
struct many_bins {
    const void *in;
    int64_t n;
    unsigned bins, kept;
    unsigned long long *counts;
    room *kept_room;
};

// All of the call's input.
inline many_bins
all_of(const wk_call *call, room *kept_room = nullptr)
{
    const wk_histogram_args *h = &call->args.histogram;
    return {call->in.data,
            h->n,
            (unsigned)h->bins,
            (unsigned)(h->bins + h->outside),
            static_cast<unsigned long long *>(call->out[0].data),
            kept_room};
}

wk_status shared_numbers(wk_call *call, const many_bins &m); // uint32, if they fit
wk_status split(wk_call *call, const many_bins &m);          // uint32
wk_status fields(wk_call *call, const many_bins &m);         // uint32
wk_status fields16(wk_call *call, const many_bins &m);       // uint16, all values bins
wk_status planes(wk_call *call, const many_bins &m);         // uint32
wk_status runs(wk_call *call, const many_bins &m);           // uint32, any bins
using way_of_many = wk_status(wk_call *, const many_bins &);

// Can they?
bool fits_split(const wk_call *call, int64_t bins);
bool fits_fields(const wk_call *call, int64_t bins);
bool fits_planes(const wk_call *call, int64_t bins);

// The bins' numbers of elements first ... first + n of the call's input, of each kind of bins.
wk_status numbers_values(wk_call *call, int64_t first, int64_t n, uint32_t *numbers);
wk_status numbers_uniform(wk_call *call, int64_t first, int64_t n, uint32_t *numbers);
wk_status numbers_edges(wk_call *call, int64_t first, int64_t n, uint32_t *numbers, room *room);

} // namespace wk::histogram
