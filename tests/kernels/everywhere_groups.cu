// everywhere_groups.cu -- likewise, with headers of CUDA's that take longer to compile.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

__global__ void
halves(const __half *x, const __half *y, __half *out, int n, __half plus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = __hadd(x[i], y[i]) + plus;
    out[2 * i + 1] = __float2half(__half2float(x[i]) * 2) - y[i];
}
__global__ void
brains(const __nv_bfloat16 *x, __nv_bfloat16 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(__bfloat162float(x[i]) * 3);
}
__global__ void
tiles(const int *x, int *out)
{
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    const int v = x[block.thread_rank()];
    int *own = out + 5 * block.thread_rank();
    own[0] = cg::reduce(tile, v, cg::plus<int>());
    own[1] = cg::reduce(tile, v, cg::greater<int>());
    own[2] = tile.shfl_down(v, 1);
    own[3] = cg::inclusive_scan(tile, v);
    own[4] = (int)tile.ballot(v > 0);
    block.sync();
}
__global__ void
counted(const int *x, int *count)
{
    if (x[threadIdx.x] % 5 == 0) {
        const auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, (int)active.size());
    }
}
