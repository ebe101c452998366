// reduce / exact -- picks the accumulator; lines.cuh tells the story.
#include "reduce/production/exact.cuh"

namespace
{

// Do 64 bits hold the sum of all, and is no more asked for?
bool
word_holds_mean(const wk_call *call)
{
    for (int i = 0; i < call->outs; i++)
        if (call->args.reduce.fold[i] != WK_MEAN && call->args.reduce.fold[i] != WK_SUM)
            return false;
    return wk_itemsize[call->in.dtype] <= 4 && call->args.reduce.n < (int64_t)1 << 31;
}

// The norm of bool: the root of how many are not zero.
bool
count_holds_norm(const wk_call *call)
{
    return call->in.dtype == WK_BOOL && call->outs == 1 && call->out[0].dtype == WK_F64 &&
           call->op == WK_REDUCE && call->part.mode == WK_WHOLE &&
           call->args.reduce.fold[0] == WK_NORM;
}

bool
floats_out(const wk_call *call)
{
    for (int i = 0; i < call->outs; i++)
        if (call->out[i].dtype >= WK_F16) return true;
    return false;
}

// Real and imaginary parts that lie beside no others' are complex numbers again: those of a sum, which
// are outputs, and those of squares. Not where states are kept from call to call: all pieces' must be
// alike.
wk_status
with_parts(wk_call *call, int (*pair)(wk_call *), wk_status (*parts)(wk_call *),
           wk_status (*numbers)(wk_call *))
{
    if (call->op == WK_SEGMENT_REDUCE)
        return wk_is_complex(call->in.dtype) ? numbers(call) : parts(call);
    if (call->part.mode != WK_WHOLE) return parts(call);
    const wk_array in = call->in, where = call->mask;
    const wk_reduce_args args = call->args.reduce;
    const wk_status status = pair(call) ? numbers(call) : parts(call);
    call->in = in;
    call->mask = where;
    call->args.reduce = args;
    return status;
}

} // namespace

static wk_status
by_family(wk_call *call)
{
    const bool integers = call->in.dtype < WK_F16;
    if (wk::find_kernels(call) != WK_OK) return call->error.status;
    switch (wk_family_of(call->args.reduce.fold, call->outs, call->in.dtype)) {
    case WK_FAMILY_COUNT: return wk::reduce_count(call);
    case WK_FAMILY_WRAP:
        if (!floats_out(call) || word_holds_mean(call)) return wk::reduce_wrap(call);
        break;
    case WK_FAMILY_PRODUCT: return wk::reduce_product(call);
    case WK_FAMILY_TREE: return wk::reduce_prod(call);
    case WK_FAMILY_EXTREME: return wk::reduce_extreme(call);
    case WK_FAMILY_ARG: return wk::reduce_arg(call);
    case WK_FAMILY_SUM:
        return with_parts(call, wk_pair_parts, wk::reduce_sum, wk::reduce_complex_sum);
    case WK_FAMILY_SQUARES:
        return with_parts(call, wk_pair_squares, wk::reduce_squares,
                          wk::reduce_complex_squares);
    default: break;
    }
    const bool moments = wk_only_moments(call->args.reduce.fold, call->outs);
    if (wk_is_complex(call->in.dtype)) return wk::reduce_complex(call);
    if (!integers) return moments ? wk::reduce_moments(call) : wk::reduce_summary(call);
    if (word_holds_mean(call)) return wk::reduce_wrap(call);
    if (count_holds_norm(call)) return wk::reduce_count(call);
    return moments ? wk::reduce_int_moments(call) : wk::reduce_int_summary(call);
}

// Are several results computed one after the other, each by a way of its own that reads the elements as fast as it
// can? Of few elements, as what ends an output takes longer than reading it does. Extremes of more than two bytes,
// and a sum of integers and its mean, are told together; of fewer outputs a launch more would take as long. H100,
// 256 MiB of n x 2 along axis 1, together and so: (min, max, mean, std) of int8 6,196 us, 2,648, int32 1,647, 721.
// H200, 128 MiB: (mean, std) of 3, 16 and 33 x n float32 415 us 85, 108 42, 71 40, float64 212 71, 104 48, 73 44, of
// n x 33 float64 63 72, of 100 x n float32 68 75; (min, max, mean, std) of 3 and 16 x n float64 231 123, 89 85;
// (min, max) of 3 and 16 x n float16 169 68, 40 40.
static bool
one_by_one(const wk_call *call)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_dtype dtype = call->in.dtype;
    const int64_t n = r->n;
    if (call->outs == 1 || r->has_initial || call->part.mode != WK_WHOLE ||
        (r->outputs < 1 << 18 && n * r->outputs < 1 << 22))
        return false;
    switch (wk_family_of(r->fold, call->outs, dtype)) {
    case WK_FAMILY_COUNT: return n <= 64;
    case WK_FAMILY_EXTREME: return n <= WK_FEW_ROWS && wk_itemsize[dtype] <= 2;
    case WK_FAMILY_SUM:
    case WK_FAMILY_SQUARES: return n <= 16 && !wk_is_complex(dtype);
    default: break;
    }
    if (wk_is_complex(dtype)) return false;
    if (dtype < WK_F16) return n <= WK_FEW_ROWS && !word_holds_mean(call);
    return wk_only_moments(r->fold, call->outs) ? n <= 64 : dtype == WK_F64 && n <= 8;
}

WK_LAUNCHER(reduce, cuda, exact)
{
    const wk_call all = *call;
    if (!one_by_one(call)) return by_family(call);
    call->outs = 1;
    for (int i = 0; i < all.outs && !call->error.status; i++) {
        call->out[0] = all.out[i];
        call->args.reduce.fold[0] = all.args.reduce.fold[i];
        by_family(call);
    }
    call->outs = all.outs;
    call->out[0] = all.out[0];
    call->args.reduce.fold[0] = all.args.reduce.fold[0];
    return call->error.status;
}

WK_LAUNCHER(segment_reduce, cuda, teams)
{
    return wk::with_segments(call, by_family);
}
