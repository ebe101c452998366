// bitonic.cu -- a sorting network: what is compared depends on positions, never on values.
//
// In, out   x[n] in place; n a power of two, at least kItems. sort_blocks: each kItems of them, up
//           and down in turn. merge: the step `stride` of the merge of runs of `size`, n / 2 threads.
// Source    K. Batcher, "Sorting Networks and Their Applications" (1968).

namespace sorting
{

constexpr int kItems = 256;

__device__ void
order(int *low, int *high, bool up)
{
    const int a = *low, b = *high;
    if ((a > b) == up) {
        *low = b;
        *high = a;
    }
}

__global__ void
sort_blocks(int *x)
{
    __shared__ int s[kItems];
    const int t = threadIdx.x, first = blockIdx.x * kItems;
    for (int i = t; i < kItems; i += kItems / 2) s[i] = x[first + i];
    for (int size = 2; size <= kItems; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            __syncthreads(); // the step before is done
            const int i = 2 * t - (t & (stride - 1));
            order(&s[i], &s[i + stride], ((first + i) & size) == 0);
        }
    __syncthreads(); // the last step is done
    for (int i = t; i < kItems; i += kItems / 2) x[first + i] = s[i];
}

__global__ void
merge(int *x, int size, int stride)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = 2 * t - (t & (stride - 1));
    order(&x[i], &x[i + stride], (i & size) == 0);
}

} // namespace sorting
