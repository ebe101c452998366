// histogram / fields -- how many bits a field has, by the number of bins.
#include "histogram/production/fields.cuh"

namespace wk::histogram
{

namespace
{

// H100, GB/s of uniform int32 and of the worst of seven distributions, 1 GiB: 2^17 bins 8 bits 2,632 and
// 2,454; 2^18 bins 6 bits 2,503 and 2,201; 2^19 bins 3 bits 2,182 and 1,408. Wider fields carry less often.
struct width {
    int bits, per_word;
};
constexpr width kWidths[] = {{8, 4}, {6, 5}, {4, 8}, {3, 10}};

} // namespace

bool
fits_fields(const wk_call *call, int64_t bins)
{
    return field_bytes(bins, 10) <= most_shared(call);
}

wk_status
fields(wk_call *call, const many_bins &m)
{
    int i = 0;
    while (i < 3 && field_bytes(m.bins, kWidths[i].per_word) > most_shared(call)) i++;
    switch (kWidths[i].bits) {
    case 8: return launch_fields<uint32_t, 8, 4>(call, m);
    case 6: return launch_fields<uint32_t, 6, 5>(call, m);
    case 4: return launch_fields<uint32_t, 4, 8>(call, m);
    default: return launch_fields<uint32_t, 3, 10>(call, m);
    }
}

// All values of two bytes, 16 bits each: 128 KiB. H100, 1 GiB: 2,617 GB/s of uniform ones, 1,650 at worst. Two
// multiprocessors that share whole words were slower: 1,280.
wk_status
fields16(wk_call *call, const many_bins &m)
{
    return launch_fields<uint16_t, 16, 2>(call, m);
}

} // namespace wk::histogram
