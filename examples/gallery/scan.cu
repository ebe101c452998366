// scan.cu -- exclusive prefix sums with no more additions than a loop takes: up a tree, and down.
//
// In, out   scan_blocks: x[n] -> out[n], each kItems of them by themselves, and their totals in
//           sums[blocks] (null: not wanted). add_sums: out[i] += sums[i / kItems]. Blocks of
//           kItems / 2 threads.
// Source    G. Blelloch, "Prefix Sums and Their Applications" (1990).

namespace scanning
{

constexpr int kItems = 128;

__global__ void
scan_blocks(const int *x, int *out, int *sums, int n)
{
    __shared__ int s[kItems];
    const int t = threadIdx.x, first = blockIdx.x * kItems;
    for (int i = t; i < kItems; i += kItems / 2) s[i] = first + i < n ? x[first + i] : 0;
    for (int step = 1; step < kItems; step *= 2) {
        __syncthreads(); // the level below is done
        const int i = (t + 1) * 2 * step - 1;
        if (i < kItems) s[i] += s[i - step];
    }
    if (t == 0) { // which made the root itself
        if (sums) sums[blockIdx.x] = s[kItems - 1];
        s[kItems - 1] = 0;
    }
    for (int step = kItems / 2; step; step /= 2) {
        __syncthreads(); // the level above is done
        const int i = (t + 1) * 2 * step - 1;
        if (i < kItems) {
            const int left = s[i - step];
            s[i - step] = s[i];
            s[i] += left;
        }
    }
    __syncthreads(); // the leaves are done
    for (int i = t; i < kItems && first + i < n; i += kItems / 2) out[first + i] = s[i];
}

__global__ void
add_sums(int *out, const int *sums, int n)
{
    const int i = blockIdx.x * kItems + threadIdx.x;
    for (int at = i; at < i + kItems && at < n; at += kItems / 2) out[at] += sums[blockIdx.x];
}

} // namespace scanning
