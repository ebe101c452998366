// CUB's histograms behind a C interface, for bench/histogram.py: the peer that is no Python
// package.
//
// Compiled once for each type: -DTYPE=float -DLEVEL=float, or -DTYPE=uint8_t -DLEVEL=int. As CUB's
// own functions: with temporary = nullptr only *bytes is set. Counters have 32 bits, which is what
// CUB is fastest with; warpkit's counts have 64.

#include <cstdint>

#include <cub/device/device_histogram.cuh>

// Equal bins from first up to last.
extern "C" int
cub_even(void *temporary, size_t *bytes, const TYPE *in, unsigned *counts, int bins,
         double first, double last, int64_t n, cudaStream_t stream)
{
    return cub::DeviceHistogram::HistogramEven(temporary, *bytes, in, counts, bins + 1,
                                               static_cast<LEVEL>(first),
                                               static_cast<LEVEL>(last), n, stream);
}

// Bins between edges, which lie on the device.
extern "C" int
cub_range(void *temporary, size_t *bytes, const TYPE *in, unsigned *counts, int bins,
          const LEVEL *edges, int64_t n, cudaStream_t stream)
{
    return cub::DeviceHistogram::HistogramRange(temporary, *bytes, in, counts, bins + 1, edges,
                                                n, stream);
}

extern "C" int
cub_version()
{
    return CUB_VERSION;
}
