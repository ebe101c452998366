// whole.cu -- calls that cannot be cut finely enough, and arrays that cross without a kernel: all of
// the input goes in, by all threads, before anything comes out.
#include "pipeline/participant.cuh"

namespace wk
{

static wk_status
in_one_piece(participant *at, wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    void *in = nullptr, *out = nullptr;
    current_device current;
    wk_cut_call(call, WK_ONE_PIECE, 0, &cut);
    wk_piece_of(call, &cut, 0, &all);
    const bool apart = all.outs == 0; // a histogram's counts are no piece's
    if (apart) wk_piece_of_results(call, &all);
    if (current.set(at->g->device, &call->error) != WK_OK) return call->error.status;
    if (allocate(&at->call, all.in_bytes, &in) != WK_OK ||
        allocate(&at->call, all.out_bytes, &out) != WK_OK)
        return wk_fail_as(&call->error, &at->call.error);
    if (carry(at, call, &cut, direction::in, in, all.in_bytes) != WK_OK)
        return call->error.status;
    wk_piece_call(call, &cut, &all, in, out, &at->call);
    if (launch(&at->call) != WK_OK) return wk_fail_as(&call->error, &at->call.error);
    if (!apart) return carry(at, call, &cut, direction::out, out, all.out_bytes);
    wk_call one = *call;
    wk_cut_download(&call->out[0], &cut);
    const wk_status status = carry(at, &one, &cut, direction::out, out, all.out_bytes);
    return status ? wk_fail_as(&call->error, &one.error) : WK_OK;
}

// Runs: of what could be there, only what is there comes back.
static wk_status
bring_runs(participant *at, wk_call *call)
{
    int64_t found = 0;
    WK_TRY(&call->error, cudaMemcpyAsync(&found, at->call.out[2].data, sizeof found,
                                         cudaMemcpyDeviceToHost, at->s.stream));
    WK_TRY(&call->error, cudaStreamSynchronize(at->s.stream));
    *(int64_t *)call->out[2].host = found;
    for (int i = 0; i < 2 && found > 0; i++) {
        wk_cut cut;
        wk_call one = *call;
        one.outs = 1;
        one.out[0] = call->out[i];
        one.out[0].shape[0] = found;
        one.out[0].bytes = found * wk_itemsize[one.out[0].dtype];
        wk_cut_download(&one.out[0], &cut);
        if (carry(at, &one, &cut, direction::out, at->call.out[i].data, one.out[0].bytes) !=
            WK_OK)
            return wk_fail_as(&call->error, &one.error);
    }
    return WK_OK;
}

static wk_status
find_runs(participant *at, wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    void *in = nullptr;
    wk_call *there = &at->call;
    current_device current;
    wk_cut_call(call, WK_ONE_PIECE, 0, &cut);
    wk_piece_of(call, &cut, 0, &all);
    if (current.set(at->g->device, &call->error) != WK_OK) return call->error.status;
    wk_status status = allocate(there, all.in_bytes, &in);
    for (int i = 0; i < call->outs && !status; i++)
        status = allocate(there, call->out[i].bytes, &there->out[i].data);
    if (status) return wk_fail_as(&call->error, &there->error);
    if (carry(at, call, &cut, direction::in, in, all.in_bytes) != WK_OK)
        return call->error.status;
    wk_piece_call(call, &cut, &all, in, nullptr, there);
    if (launch(there) != WK_OK) return wk_fail_as(&call->error, &there->error);
    return bring_runs(at, call);
}

wk_status
run_whole(wk_call *call, wk_launch *launch)
{
    const bool runs = call->op == WK_RUN_LENGTH || call->op == WK_UNIQUE_COUNTS;
    participant at;
    wk_status status = enter_call(&at, call, call->ordinal);
    if (!status) status = runs ? find_runs(&at, call, launch) : in_one_piece(&at, call, launch);
    const wk_status left = leave_call(&at, call);
    return status ? status : left;
}

// In the order of the array's own stream.
static wk_status
cross(participant *at, wk_call *call)
{
    wk_cut cut;
    const bool up = call->in.host != nullptr;
    const auto own = (cudaStream_t)call->stream;
    if (up)
        wk_cut_upload(&call->in, &cut);
    else
        wk_cut_download(&call->out[0], &cut);
    if (call->fresh && !up) advise_huge(&call->out[0]);
    if (follow(at->g, at->s.stream, own, &call->error) != WK_OK ||
        carry(at, call, &cut, up ? direction::in : direction::out,
              up ? call->out[0].data : call->in.data, call->out[0].bytes) != WK_OK)
        return call->error.status;
    return follow(at->g, own, at->s.stream, &call->error);
}

// in on the host, out[0] on the device, or the other way round; both sides C-contiguous but for
// an input on the host. Waits.
wk_status
copy_over_bus(wk_call *call)
{
    participant at;
    wk_status status = enter_call(&at, call, call->ordinal);
    if (!status) status = cross(&at, call);
    const wk_status left = leave_call(&at, call);
    return status ? status : left;
}

} // namespace wk
