// whole.cu -- calls that cannot be cut finely enough, and arrays that cross without a kernel: all of
// the input goes in, by all threads, before anything comes out.
#include "runtime/station.cuh"

namespace wk
{

wk_status
run_whole(wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    station at;
    wk_cut_call(call, INT64_MAX / 2, 0, &cut);
    wk_piece_of(call, &cut, 0, &all);
    wk_status status = arrive(&at, call, call->ordinal);
    void *in = nullptr, *out = nullptr;
    if (status) pass_on(call, &at.error);
    current_device current;
    if (!status) status = current.set(call->ordinal, &call->error);
    if (!status && (allocate(&at.call, all.in_bytes, &in) != WK_OK ||
                    allocate(&at.call, all.out_bytes, &out) != WK_OK))
        status = pass_on(call, &at.call.error);
    if (call->progress) call->progress[1] = 1;
    int64_t *progress = call->progress;
    call->progress = nullptr; // one piece: it is there, or it is not
    if (!status) status = carry(&at, call, &cut, way::in, in, all.in_bytes);
    if (!status) {
        wk_piece_call(call, &cut, &all, in, out, &at.call);
        at.call.part = {};
        void *counts = nullptr;
        if (all.outs == 0) { // a histogram: its counts are no part of a piece
            if (allocate(&at.call, call->out[0].bytes, &counts) == WK_OK)
                at.call.out[0].data = counts;
        }
        if (at.call.error.status || launch(&at.call)) status = pass_on(call, &at.call.error);
        if (!status && counts)
            status = cudaMemcpyAsync(call->out[0].host, counts, (size_t)call->out[0].bytes,
                                     cudaMemcpyDeviceToHost, at.s.stream) == cudaSuccess
                         ? WK_OK
                         : WK_FAIL(&call->error, WK_EDEVICE, "cannot copy the counts back");
    }
    if (!status && all.outs) status = carry(&at, call, &cut, way::out, out, all.out_bytes);
    if (progress) *progress = 1;
    call->progress = progress;
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    return status;
}

// in on the host, out[0] on the device, or the other way round; both sides C-contiguous but for
// an input on the host. Waits.
wk_status
copy_over_bus(wk_call *call)
{
    station at;
    wk_cut cut;
    const bool up = call->in.host != nullptr;
    const int64_t bytes = call->out[0].bytes;
    if (up)
        wk_cut_upload(&call->in, INT64_MAX / 2, &cut);
    else
        wk_cut_download(&call->out[0], INT64_MAX / 2, &cut);
    if (call->fresh && !up) advise_huge(&call->out[0]);
    wk_status status = arrive(&at, call, call->ordinal);
    if (status) pass_on(call, &at.error);
    const cudaStream_t own = (cudaStream_t)call->stream;
    if (!status) status = follow(at.g, at.s.stream, own, &call->error);
    if (!status)
        status = carry(&at, call, &cut, up ? way::in : way::out,
                       up ? call->out[0].data : call->in.data, bytes);
    if (!status) status = follow(at.g, own, at.s.stream, &call->error);
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    return status;
}

} // namespace wk
