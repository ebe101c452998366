// everywhere_groups.cu -- likewise, with headers of CUDA's that take longer to compile.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
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

__global__ void
pairs(const __half2 *x, const __half2 *y, __half2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[3 * i] = __hfma2(x[i], y[i], __float2half2_rn(0.5f));
    out[3 * i + 1] = x[i] * y[i] - __lowhigh2highlow(x[i]);
    out[3 * i + 2] = __hmax2(x[i], __halves2half2(__low2half(y[i]), __high2half(y[i])));
}
__global__ void
directed(const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i], b = y[i];
    const float all[] = {__fadd_rd(a, b),          __fadd_ru(a, b),
                         __fadd_rz(a, b),          __fmul_rd(a, b),
                         __fmul_ru(a, b),          __fdiv_rd(a, b),
                         __fdiv_ru(a, b),          __fsqrt_ru(a * a),
                         __fmaf_rz(a, b, a),       (float)__float2int_ru(a),
                         (float)__float2int_rd(a), (float)__double2float_rd((double)a * b)};
    for (int k = 0; k < 12; k++) out[12 * i + k] = all[k];
}
__global__ void
parted(const int *x, int *out)
{
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int v = x[threadIdx.x];
    const auto alike = cg::labeled_partition(tile, v);
    const auto side = cg::binary_partition(tile, v > 2);
    out[3 * threadIdx.x] = (int)alike.size();
    out[3 * threadIdx.x + 1] = (int)side.thread_rank();
    out[3 * threadIdx.x + 2] = cg::reduce(side, v, cg::plus<int>());
}
__global__ void
counters(cuda::atomic<int, cuda::thread_scope_device> *count, int *most)
{
    const int before = count->fetch_add(2, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device>(*most).fetch_max(before);
}
// Each block adds up what its neighbours wrote the round before.
__global__ void
rounds(int *a, int *b, int times)
{
    const auto grid = cg::this_grid();
    const int n = (int)grid.size(), i = (int)grid.thread_rank();
    for (int t = 0; t < times; t++) {
        b[i] = a[(i + n - (int)blockDim.x) % n] + a[(i + (int)blockDim.x) % n];
        grid.sync();
        int *const other = a;
        a = b;
        b = other;
    }
}
