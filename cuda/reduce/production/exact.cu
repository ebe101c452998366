// reduce / exact -- picks the accumulator; lines.cuh tells the story.
#include "reduce/production/exact.cuh"

#include "plan.h"
#include "runtime/device.cuh"

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

// Do neighbouring outputs lie side by side, so that threads have columns?
bool
lie_side_by_side(const wk_call *call)
{
    const int kept = call->args.reduce.kept;
    return kept > 0 && call->in.strides[kept - 1] == 1;
}

// Up to how many elements of each output several results are computed one after the other, each by a way of its own
// that reads the elements as fast as it can: where these are few, as what ends an output takes longer than reading
// it does. H200, 64 MiB, the time of all together over that of one by one, of n elements along axis 0 (1):
//   (min, max)            int8 n = 6 3.6 (0.8), 12 2.0, 33 1.25, 64 0.6; int16 6 1.95 (0.8), 12 1.2, 16 0.8; int32 0.7
//   (min, max, mean, std) int8 6 2.2 (1.0), 24 1.1 (0.7); float16, bfloat16 6 1.6, 2.3 (0.6), 33 1.2 (0.8), 64 0.6;
//                         int16 6 1.35 (1.0), 12 1.1 (0.8); int32, float32 0.8; float64 8 0.9, 24 0.7
//   (sum, norm)           int8 6 8.9 (5.7), 33 3.8 (2.6), 100 1.5 (1.4), 300 1.1 (1.3); int16 6 4.9, 100 1.3; int32
//                         6 2.1, 33 1.4, 64 1.0 (1.2); int64 6 1.7, 33 1.0; floats 64 1.0, 100 0.9
//   (sum, mean)           int8 2 1.7 (0.9), 16 1.35 (0.8), 24 0.9; int64 6 2.8 (2.9), 33 1.2 (1.3), 64 0.9 (1.6);
//                         float16 24 2.3 (1.3), 33 2.3 (1.1), 64 0.8; float32 24 1.2, 33 1.1 (0.9); float64 24 0.8
//   (mean, std)           int8 6 1.7 (1.3), 24 1.2 (1.0); int16 16 1.1 (1.1), 24 0.9; int32 0.85; floats 64 1.0
//   (mean, var, std)      int8 6 1.3 (0.9), 16 1.1 (0.9); int16 6 0.9; (sum, sumsq) of int8 6 1.1 (0.8), 16 0.9
//   (any, all)            64 0.95, 100 0.6
int64_t
most_one_by_one(const wk_call *call)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_dtype dtype = call->in.dtype;
    const int item = wk_itemsize[dtype];
    const bool columns = lie_side_by_side(call), moments = wk_only_moments(r->fold, call->outs);
    bool norm = false, sums = true;
    for (int i = 0; i < call->outs; i++) {
        norm |= r->fold[i] == WK_NORM;
        sums &= r->fold[i] == WK_SUM || r->fold[i] == WK_MEAN;
    }
    switch (wk_family_of(r->fold, call->outs, dtype)) {
    case WK_FAMILY_COUNT: return 64;
    case WK_FAMILY_EXTREME:
        if (wk_is_complex(dtype)) return WK_FEW_ROWS;
        if (item > 2) return 0;
        return !columns ? WK_FEW_ROWS : item == 1 ? 33 : 12;
    case WK_FAMILY_SUM:
    case WK_FAMILY_SQUARES: return wk_is_complex(dtype) ? 0 : item == 8 ? 16 : 33;
    default: break;
    }
    if (wk_is_complex(dtype)) return 0;
    if (dtype >= WK_F16) return moments ? 64 : item == 8 ? 8 : item == 2 && columns ? 33 : 0;
    if (norm) return 256 / item;
    if (sums) return item == 8 ? 33 : item == 1 && columns ? 16 : 0;
    if (moments && floats_out(call) && item <= 2 && (call->outs == 2 || (columns && item == 1)))
        return 16;
    if (moments || !columns || item > 2) return WK_FEW_ROWS;
    return item == 1 ? 24 : 12;
}

// Of fewer outputs a launch more would take as long.
bool
one_by_one(const wk_call *call)
{
    const wk_reduce_args *r = &call->args.reduce;
    if (call->outs == 1 || r->has_initial || call->part.mode != WK_WHOLE ||
        (r->outputs < 1 << 18 && r->n * r->outputs < 1 << 22))
        return false;
    return r->n <= most_one_by_one(call);
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

static wk_status
as_it_lies(wk_call *call)
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

// ---- elements that lie anywhere: first they are copied to where those of an output lie side by side --------------

WK_LAUNCHER(transpose, cuda, tiles);

namespace
{

// Bytes of a multiprocessor that are packed at once, but an eighth of all at least, so that memory suffices; and at most.
constexpr int64_t kPacked = 2 << 20, kMostPacked = 8 << 20;

// Elements in the order of their axes, side by side.
wk_status
copy_to(wk_call *call, const wk_array &from, void *to)
{
    wk_call copy = *call;
    copy.op = WK_TRANSPOSE;
    copy.outs = 1;
    copy.in = from;
    copy.out[0].data = to;
    copy.out[0].dtype = from.dtype;
    copy.out[0].bytes = wk_size(&from) * wk_itemsize[from.dtype];
    wk_plan_transpose(&copy.in, nullptr);
    wk_transpose_cuda_tiles(&copy);
    call->error = copy.error;
    return call->error.status;
}

// The call, of `count` from number `first` on along the first axis, if that is kept.
wk_status
of_packed(wk_call *call, void *block, int64_t first, int64_t count)
{
    wk_call part = *call;
    wk_array *in = &part.in;
    wk_reduce_args *r = &part.args.reduce;
    const int64_t item = wk_itemsize[in->dtype];
    if (r->kept > 0) {
        const int64_t each = r->outputs / in->shape[0];
        in->first += first * in->strides[0] * item;
        in->shape[0] = count;
        r->outputs = count * each;
        for (int i = 0; i < part.outs; i++)
            part.out[i].data = static_cast<char *>(part.out[i].data) +
                               first * each * wk_itemsize[part.out[i].dtype];
    }
    if (copy_to(call, *in, block) != WK_OK) return call->error.status;
    wk_see_packed(&part, block);
    as_it_lies(&part);
    call->error = part.error;
    call->mailbox = part.mailbox;
    return call->error.status;
}

wk_status
packed_if_need_be(wk_call *call)
{
    const wk_array *in = &call->in;
    const wk_reduce_args *r = &call->args.reduce;
    const int here = wk::processors(call);
    if (!wk_packs_first(call, here)) return as_it_lies(call);
    const int64_t all = r->n * r->outputs * wk_itemsize[in->dtype],
                  slices = r->kept > 0 ? in->shape[0] : 1, each = all / slices,
                  some =
                      std::clamp<int64_t>(std::max(kPacked * here, all / 8) / each, 1, slices);
    void *block = nullptr;
    if (some * each > kMostPacked * here) return as_it_lies(call);
    if (wk::allocate(call, some * each, &block) != WK_OK) {
        call->error.status = WK_OK; // without that memory it takes longer
        return as_it_lies(call);
    }
    wk::session *s = wk::session_of(call);
    const int blocks = s->count;
    for (int64_t first = 0; first < slices && !call->error.status; first += some)
        if (of_packed(call, block, first, std::min(some, slices - first)) == WK_OK)
            wk::give_blocks(s, blocks, &call->error); // what this part took
    return call->error.status;
}

// Outputs in the order of their elements' memory, which are turned then.
wk_status
turned(wk_call *call, const wk_turn &turn)
{
    wk_call part = *call;
    wk_turn_outputs(&part, &turn);
    const int64_t most = part.args.reduce.outputs * 16 + 256; // bytes
    void *block = nullptr;
    if (wk::allocate(call, most * call->outs, &block) != WK_OK) {
        call->error.status = WK_OK;
        return packed_if_need_be(call);
    }
    for (int i = 0; i < call->outs; i++)
        part.out[i].data = static_cast<char *>(block) + i * (most / 256 * 256);
    packed_if_need_be(&part);
    call->error = part.error;
    for (int i = 0; i < call->outs && !call->error.status; i++) {
        wk_array from = part.out[i];
        from.dtype = call->out[i].dtype;
        wk_see_turned(call, &turn, &from);
        copy_to(call, from, call->out[i].data);
    }
    return call->error.status;
}

} // namespace

WK_LAUNCHER(reduce, cuda, exact)
{
    wk_turn turn;
    return wk_turns_outputs(call, wk::processors(call), &turn) ? turned(call, turn)
                                                               : packed_if_need_be(call);
}

WK_LAUNCHER(segment_reduce, cuda, teams)
{
    return wk::with_segments(call, by_family);
}
