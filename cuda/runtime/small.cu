// small.cu -- calls whose arrays fit one slot: one transfer in, the kernel, one back.
#include "runtime/station.cuh"

#include "plan.h"

#include <algorithm>
#include <cstring>

namespace wk
{

// One slot in, one kernel, one slot back; a result of one element comes by letter.
wk_status
run_small(wk_call *call, wk_launch *launch)
{
    wk_cut cut;
    wk_piece all;
    station at;
    const bool empty = wk_size(&call->in) == 0;
    if (empty)
        all.outs = 0, all.in_bytes = all.out_bytes = 0;
    else {
        wk_cut_call(call, INT64_MAX / 2, 0, &cut);
        wk_piece_of(call, &cut, 0, &all);
    }
    if (arrive(&at, call, call->ordinal) != WK_OK) {
        pass_on(call, &at.error);
        depart(&at);
        return call->error.status;
    }
    auto body = [&]() -> wk_status {
        current_device current;
        wk_error *error = &call->error;
        if (current.set(call->ordinal, error) != WK_OK) return error->status;
        int64_t packed = all.out_bytes;
        if (all.outs == 0) packed = out_bytes(call);
        staging *stage = ready_stage(at.g, std::max(kSmallCall, all.in_bytes),
                                     std::max(kSmallCall, packed), error);
        if (stage == nullptr) return error->status;
        void *in = nullptr, *out = nullptr;
        if (allocate(&at.call, all.in_bytes, &in) != WK_OK ||
            allocate(&at.call, packed, &out) != WK_OK)
            return pass_on(call, &at.call.error);
        if (all.in_bytes > 0) {
            wk_piece_fill(call, &cut, &all, 0, all.in_bytes, stage->in);
            WK_TRY(error, cudaMemcpyAsync(in, stage->in, (size_t)all.in_bytes,
                                          cudaMemcpyHostToDevice, at.s.stream));
        }
        if (!empty)
            wk_piece_call(call, &cut, &all, in, out, &at.call);
        else
            at.call.in.data = in;
        at.call.part = {};
        if (all.outs == 0) at.call.out[0].data = out;
        const bool one = call->op == WK_REDUCE && call->args.reduce.outputs == 1;
        if (one) offer_letter(at.g, (int)packed, &at.call.letter);
        uint64_t bits = 0;
        wk_status status = launch(&at.call);
        if (status) {
            pass_on(call, &at.call.error);
            at.call.letter.sent = 0; // the kernel that sends it is the last
        }
        const wk_letter *letter = &at.call.letter;
        if (!status && letter->sent) {
            status = read_letter(at.s.stream, letter, &bits, error);
            if (!status) memcpy(call->out[0].host, &bits, (size_t)packed);
        }
        if (one) return_letter(at.g, letter);
        at.quiet = !status && letter->sent;
        if (status || letter->sent) return status;
        WK_TRY(error, cudaMemcpyAsync(stage->out, out, (size_t)packed, cudaMemcpyDeviceToHost,
                                      at.s.stream));
        WK_TRY(error, cudaStreamSynchronize(at.s.stream));
        at.quiet = true;
        if (all.outs)
            wk_piece_drain(&all, 0, packed, stage->out, 0);
        else
            memcpy(call->out[0].host, stage->out, (size_t)packed);
        return WK_OK;
    };
    wk_status status = body();
    if (depart(&at) != WK_OK && !status) status = pass_on(call, &at.error);
    if (call->progress) call->progress[0] = call->progress[1] = 1;
    return status;
}

} // namespace wk
