// dot / products -- sums of products of two arrays, exact, and rounded once.
//
// In, out   x[outputs][n], y[outputs][n] -> a sum of products each.
// How       dots.cuh: products as one or two doubles, which the accumulators of sums take; segments.cuh
//           brings them. What those do not tell is added once more by integers, by a block: a product
//           is four pieces of at most 54 bits.
// Source    csrc/num/exact.h
#include "reduce/production/dots.cuh"
#include "reduce/production/exact.cuh"

namespace wk
{

namespace
{

constexpr int64_t kBetweenCarries = 1
                                    << 24; // elements: 8 products' pieces of a limb, each twice

// m 2^e to limbs that others add to as well.
__device__ WK_NOINLINE void
add_piece(int64_t *limb, int64_t m, int e)
{
    const int at = e - WK_SQUARE_BASE, i = at >> 5, shift = at & 31;
    const auto low = (uint64_t)m << shift;
    const int64_t high = shift ? m >> (64 - shift) : m >> 63;
    auto *to = reinterpret_cast<unsigned long long *>(limb) + i;
    atomicAdd(to, (unsigned long long)(low & 0xffffffffu));
    atomicAdd(to + 1, (unsigned long long)(low >> 32));
    if (high) atomicAdd(to + 2, (unsigned long long)high);
}

__device__ WK_NOINLINE void
add_product(shared_products *to, int part, double x, double y)
{
    if (x - x != 0 || y - y != 0) {
        atomicOr(&to->flags[part], wk_odd_flag(x * y));
        return;
    }
    wk_product p;
    wk_product_of(x, y, &p);
#pragma unroll 1
    for (int k = 0; k < 4; k++)
        if (p.piece[k]) add_piece(to->limb[part], p.piece[k], p.e[k]);
}

__global__ void
__launch_bounds__(kThreads)
    multiply_again(const void *x, const void *y, const reduce_task __grid_constant__ task,
                   const segments __grid_constant__ s)
{
    __shared__ shared_products own;
    const unsigned all = *s.agains;
    for (unsigned k = blockIdx.x; k < all; k += gridDim.x)
        multiply_exactly(&own, x, y, task, s.again[k]);
}

template <class Acc>
wk_status
dots(wk_call *call)
{
    using T = typename Acc::T;
    const wk_dot_args *d = &call->args.dot;
    const auto x = first_element<T>(&call->in), y = first_element<T>(&call->beside);
    reduce_task task = {};
    segments s = {};
    describe_elements(call->in.dtype, &task);
    task.integers_only = wk_setting_value(WK_SET_SUMS, 0);
    task.flip = d->conjugate;
    task.outputs = s.outputs = d->outputs;
    task.n = s.n = d->n;
    task.planes = task.folds = 1;
    task.fold[0] = WK_SUM;
    task.out[0] = call->out[0].data;
    task.out_dtype[0] = (uint8_t)call->out[0].dtype;
    if (plan_lines<Acc>(call, &task, s) != WK_OK) return call->error.status;
    if (task.parts > 0) return launch_lines<Acc>(call, x, y, task, s);
    if (plan_segments<Acc>(call, &s) != WK_OK ||
        launch_segments<Acc>(call, x, y, task, s) != WK_OK)
        return call->error.status;
    if constexpr (Acc::kCertain)
        return WK_OK;
    else
        return launch(call, (unsigned)processors(call), kThreads, 0, multiply_again,
                      (const void *)x, (const void *)y, task, s);
}

} // namespace

__device__ WK_NOINLINE void
multiply_exactly(shared_products *own, const void *x, const void *y, const reduce_task &task,
                 int64_t output)
{
    const int dtype = task.dtype, parts = dtype >= WK_C64 ? 2 : 1;
    const int64_t begin = output * task.n, end = begin + task.n;
    for (int i = threadIdx.x; i < 2 * WK_SQUARE_LIMBS; i += kThreads)
        own->limb[i / WK_SQUARE_LIMBS][i % WK_SQUARE_LIMBS] = 0;
    if (threadIdx.x < 2) own->flags[threadIdx.x] = WK_NOT_MINUS_ZERO;
    __syncthreads(); // all is zero before anything is added
    for (int64_t from = begin; from < end; from += kBetweenCarries) {
        const int64_t to = from + kBetweenCarries < end ? from + kBetweenCarries : end;
        for (int64_t i = from + threadIdx.x; i < to; i += kThreads) {
            const double a = part_of_element(x, dtype, i, 0),
                         b = part_of_element(y, dtype, i, 0);
            add_product(own, 0, a, b);
            if (parts == 1) continue;
            const double other = part_of_element(x, dtype, i, 1),
                         c = task.flip ? -other : other, d = part_of_element(y, dtype, i, 1);
            add_product(own, 0, -c, d);
            add_product(own, 1, a, d);
            add_product(own, 1, c, b);
        }
        __syncthreads(); // every product is there before limbs are carried
        if (threadIdx.x < 2) {
            const wk_limbs limbs = {own->limb[threadIdx.x], WK_SQUARE_LIMBS, WK_SQUARE_BASE};
            wk_limbs_carry(&limbs);
        }
        __syncthreads(); // and carried before more come
    }
    const int p = threadIdx.x, real = real_of(task.out_dtype[0]);
    if (p < parts) {
        wk_moments m = {{own->limb[p], WK_SQUARE_LIMBS, WK_SQUARE_BASE}, {}, own->flags[p], 1};
        store(task.out[0], real, parts * output + p,
              wk_finish_sum(&m, 0, wk_format_of((wk_dtype)real)));
    }
    __syncthreads(); // the limbs have been read before the next are written
}

} // namespace wk

WK_LAUNCHER(dot, cuda, products)
{
    using namespace wk;
    const wk_dtype dtype = call->in.dtype;
    if (find_kernels(call) != WK_OK) return call->error.status;
    if (wk_is_complex(dtype))
        return with_complex(
            call, [&](auto part) { return dots<float_dots<decltype(part), 2>>(call); });
    if (dtype >= WK_F16)
        return with_floats(
            call, [&](auto zero) { return dots<float_dots<decltype(zero), 1>>(call); });
    return with_words(call, [&](auto zero) { return dots<word_dots<decltype(zero)>>(call); });
}
