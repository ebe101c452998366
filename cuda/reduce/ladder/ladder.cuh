// ladder.cuh -- what stands around the kernel of every rung of the sum: rows, slices, passes.
//
// A rung's kernel sums rows that lie side by side, in[rows][n] -> out[rows][blocks], and
// blockIdx.y says which row. An input with other strides is packed into such rows first
// (copy/strided), which costs as much as the sum: the production kernel takes strides as they
// are. Where a row has several blocks, the same kernel adds up their totals in a next pass.
#pragma once
#include "copy/strided.cuh"
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"
#include "runtime/visit.cuh"

#include "plan.h"
#include "reduce.h"

#include <algorithm>
#include <type_traits>

namespace wk
{

constexpr int64_t kMostRows = 65535; // of one launch: that is how far blockIdx.y counts

// What sums are kept in, and NumPy's result. Integers wrap around, so they are unsigned here.
template <typename T>
using total_of = std::conditional_t<std::is_integral_v<T>, unsigned long long, T>;

template <typename T>
constexpr bool has_rungs =
    std::is_same_v<T, int32_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

// A total as it is written: which NaN a chip makes is its own affair, so there is one only.
template <typename A>
__device__ __forceinline__ A
written(A total)
{
    if constexpr (std::is_same_v<A, float>)
        return wk_one_nan_f32(total);
    else if constexpr (std::is_same_v<A, double>)
        return wk_one_nan_f64(total);
    else
        return total;
}

// One launch: grid.x blocks for each of grid.y rows.
template <typename T>
struct sum_pass {
    using element = T;
    const T *in;
    int64_t n;
    total_of<T> *out;
    dim3 grid;
};

// How the blocks of a row share it.
enum class share {
    once,  // as many blocks as a row needs: each takes per_block elements and ends
    stride // as many as fill the device: each goes on in strides of the grid
};

// The rungs do one thing; whatever else reduce can be asked for is the production kernel's.
inline wk_status
check_plain_sum(wk_call *call, const char *variant)
{
    const wk_reduce_args *r = &call->args.reduce;
    if (call->outs == 1 && r->fold[0] == WK_SUM && call->mask.ndim < 0 && !r->skip_nan &&
        !r->has_initial && call->out[0].dtype == wk_fold_dtype(WK_SUM, call->in.dtype))
        return WK_OK;
    return WK_FAIL(
        &call->error, WK_EVALUE,
        "variant '%s' of reduce only sums, and every element, into NumPy's dtype: it "
        "takes no other op, no where, initial or dtype, and skips no NaN",
        variant);
}

// Makes a launch of each slice of rows that a grid can count.
template <typename T, typename F>
wk_status
sum_slices(const sum_pass<T> &all, int64_t rows, int64_t totals_of_row, F &launch_pass)
{
    for (int64_t first = 0; first < rows; first += kMostRows) {
        sum_pass<T> slice = all;
        slice.in += first * all.n;
        slice.out += first * totals_of_row;
        slice.grid.y = (unsigned)std::min(rows - first, kMostRows);
        const wk_status status = launch_pass(slice);
        if (status) return status;
    }
    return WK_OK;
}

inline unsigned
blocks_of_row(const wk_call *call, share how, int64_t n, int64_t per_block)
{
    if (how == share::stride) return grid_for(call, n, per_block);
    return (unsigned)std::max<int64_t>((n + per_block - 1) / per_block, 1); // 1: 0 is a sum too
}

template <typename T, typename F>
wk_status
sum_passes(wk_call *call, share how, int64_t per_block, const T *in, int64_t n,
           total_of<T> *out, F &launch_pass)
{
    const int64_t rows = call->args.reduce.outputs;
    const unsigned count = blocks_of_row(call, how, n, per_block);
    void *totals = out;
    if (count > 1 && allocate(call, rows * count * (int64_t)sizeof *out, &totals) != WK_OK)
        return call->error.status;
    const sum_pass<T> all = {in, n, (total_of<T> *)totals, dim3(count)};
    const wk_status status = sum_slices(all, rows, count, launch_pass);
    if (status || count == 1) return status;
    return sum_passes(call, how, per_block, all.out, count, out, launch_pass);
}

// Calls use(in, out) with the rows of a call and their results, typed.
template <typename F>
wk_status
with_rows(wk_call *call, const char *variant, F &&use)
{
    wk_array *a = &call->in;
    if (check_plain_sum(call, variant) != WK_OK) return call->error.status;
    return visit(a->dtype, [&](auto zero) -> wk_status {
        using T = decltype(zero);
        if constexpr (has_rungs<T>) {
            auto in = first_element<T>(a);
            if (!wk_c_contiguous(a)) {
                void *packed = nullptr;
                if (allocate(call, wk_size(a) * (int64_t)sizeof(T), &packed) != WK_OK ||
                    pack(call, a, packed) != WK_OK)
                    return call->error.status;
                in = (const T *)packed;
            }
            return use(in, (total_of<T> *)call->out[0].data);
        } else { // the table does not let it come here
            return WK_FAIL(&call->error, WK_ETYPE, "variant '%s' does not take this dtype",
                           variant);
        }
    });
}

// For kernels that leave a total per block: launch_pass(sum_pass), until each row has one.
template <typename F>
wk_status
sum_in_passes(wk_call *call, const char *variant, share how, int64_t per_block, F &&launch_pass)
{
    return with_rows(call, variant, [&](auto in, auto out) {
        return sum_passes(call, how, per_block, in, call->args.reduce.n, out, launch_pass);
    });
}

// For kernels that leave one total per row, however many blocks it has.
template <typename F>
wk_status
sum_at_once(wk_call *call, const char *variant, int64_t per_block, F &&launch_pass)
{
    return with_rows(call, variant, [&](auto in, auto out) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(in)>>;
        const int64_t n = call->args.reduce.n;
        const unsigned count = blocks_of_row(call, share::stride, n, per_block);
        const sum_pass<T> all = {in, n, out, dim3(count)};
        return sum_slices(all, call->args.reduce.outputs, 1, launch_pass);
    });
}

} // namespace wk
