// small.cu -- calls whose arrays fit one slot: one transfer in, the kernel, one back. A result of one
// element comes through a mailbox.
#include "pipeline/participant.cuh"

#include "plan.h"

#include <algorithm>
#include <cstring>

namespace wk
{

// The input to the device, packed, and the call there as the launcher sees it. Of an empty input
// nothing is cut: the kernel reads none of it.
static wk_status
prepare(participant *at, wk_call *call, staging *stage, wk_cut *cut, wk_piece *all,
        int64_t packed)
{
    wk_call *there = &at->call;
    void *in = nullptr, *out = nullptr;
    if (allocate(there, all->in_bytes, &in) != WK_OK || allocate(there, packed, &out) != WK_OK)
        return there->error.status;
    there->in.data = in;
    for (int i = 0; i < call->outs; i++) there->out[i].data = (char *)out + all->out_at[i];
    if (all->in_bytes == 0) return WK_OK;
    wk_piece_fill(call, cut, all, 0, all->in_bytes, stage->in);
    WK_TRY(&there->error, cudaMemcpyAsync(in, stage->in, (size_t)all->in_bytes,
                                          cudaMemcpyHostToDevice, at->s.stream));
    wk_piece_call(call, cut, all, in, out, there);
    return WK_OK;
}

static wk_status
read_result(participant *at, wk_call *call, int64_t packed)
{
    uint64_t bits = 0;
    const wk_mailbox *mailbox = &at->call.mailbox;
    const wk_status status = read_mailbox(at->s.stream, mailbox, &bits, &at->call.error);
    return_mailbox(at->g, mailbox);
    if (status == WK_OK) memcpy(call->out[0].host, &bits, (size_t)packed);
    return status;
}

static wk_status
in_one_slot(participant *at, wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    current_device current;
    wk_error *error = &at->call.error;
    all.outs = 0;
    all.in_bytes = 0;
    if (wk_size(&call->in) > 0) {
        wk_cut_call(call, WK_ONE_PIECE, 0, &cut);
        wk_piece_of(call, &cut, 0, &all);
    }
    if (all.outs == 0) wk_piece_of_results(call, &all);
    const int64_t packed = all.out_bytes;
    if (current.set(at->g->device, error) != WK_OK) return error->status;
    staging *stage = ready_stage(at->g, std::max(kSmallCall, all.in_bytes),
                                 std::max(kSmallCall, packed), error);
    if (stage == nullptr) return error->status;
    if (prepare(at, call, stage, &cut, &all, packed) != WK_OK) return error->status;
    const bool one = call->op == WK_REDUCE && call->args.reduce.outputs == 1 &&
                     call->outs == 1 && packed <= 8;
    if (launch_for_mailbox(&at->call, at->g, one ? (int)packed : 0, launch) != WK_OK)
        return error->status;
    if (at->call.mailbox.slot) {
        const wk_status status = read_result(at, call, packed);
        at->quiet = status == WK_OK;
        return status;
    }
    WK_TRY(error, cudaMemcpyAsync(stage->out, at->call.out[0].data, (size_t)packed,
                                  cudaMemcpyDeviceToHost, at->s.stream));
    WK_TRY(error, cudaStreamSynchronize(at->s.stream));
    at->quiet = true;
    wk_piece_drain(&all, 0, packed, stage->out, 0);
    return WK_OK;
}

wk_status
run_small(wk_call *call, wk_launch *launch)
{
    participant at;
    wk_status status = enter_call(&at, call, call->ordinal);
    if (!status && in_one_slot(&at, call, launch) != WK_OK)
        status = wk_fail_as(&call->error, &at.call.error);
    const wk_status left = leave_call(&at, call);
    return status ? status : left;
}

} // namespace wk
