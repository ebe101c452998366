// resident.cu -- calls whose input lies on the device: launched in the order of their stream, and
// not waited for unless the result belongs on the host.
#include "copy/strided.cuh"
#include "runtime/device.cuh"
#include "runtime/layout.cuh"

#include "plan.h"

namespace wk
{

namespace
{

constexpr int64_t kLittle = 64 << 10; // bytes that the driver keeps itself until they are there

// As every kernel may have it: strides in place where the kernel reads them, else C order.
wk_status
suit(wk_call *call)
{
    wk_array *a = &call->in;
    const bool flat = call->op == WK_WARP_HISTOGRAM || wk_takes_all(call->op);
    const bool beside = call->beside.ndim < 0 || wk_c_contiguous(&call->beside);
    const bool fits = flat                       ? wk_c_contiguous(a) && beside
                      : call->op == WK_STENCIL1D ? wk_in_lines(a, &call->args.stencil)
                      : call->op == WK_HISTOGRAM
                          ? call->beside.ndim < 0 ? wk_dense(a) : wk_c_contiguous(a) && beside
                          : a->ndim <= kAxes;
    if (fits || wk_size(a) == 0) return WK_OK;
    void *packed = nullptr;
    const int64_t bytes = wk_size(a) * wk_itemsize[a->dtype];
    if (allocate(call, bytes, &packed) != WK_OK || pack(call, a, packed) != WK_OK)
        return call->error.status;
    wk_set_contiguous(a);
    a->data = packed;
    a->first = 0;
    a->bytes = bytes;
    if (call->beside.ndim >= 0) { // likewise, or its axes would not be a's
        wk_array *w = &call->beside;
        if (allocate(call, wk_size(w) * wk_itemsize[w->dtype], &packed) != WK_OK ||
            pack(call, w, packed) != WK_OK)
            return call->error.status;
        wk_set_contiguous(w);
        w->data = packed;
        w->first = 0;
    }
    if (call->op == WK_REDUCE)
        wk_fuse_reduced(a, call->beside.ndim < 0 ? nullptr : &call->beside, &call->args.reduce);
    if (call->op == WK_TRANSPOSE) wk_fuse(a, 0);
    if (call->op == WK_STENCIL1D) wk_set_lines(a, &call->args.stencil);
    return WK_OK;
}

wk_status
on_stream(wk_call *call, gpu *g, wk_launch *launch)
{
    wk_error *error = &call->error;
    const cudaStream_t stream = session_of(call)->stream;
    if (suit(call) != WK_OK) return error->status;
    for (int i = 0; i < call->outs; i++) {
        wk_array *out = &call->out[i];
        if (out->host == nullptr) continue; // it is on the device
        if (allocate(call, out->bytes, &out->data) != WK_OK) return error->status;
    }
    const wk_status status = launch_for_mailbox(call, g, call->mailbox.bytes, launch);
    if (status) return status;
    bool waits = false;
    for (int i = 0; i < call->outs; i++) {
        const wk_array *out = &call->out[i];
        if (out->host == nullptr) continue; // or it has been told
        WK_TRY(error, cudaMemcpyAsync(out->host, out->data, (size_t)out->bytes,
                                      cudaMemcpyDeviceToHost, stream));
        waits = true;
    }
    if (waits) WK_TRY(error, cudaStreamSynchronize(stream));
    return WK_OK;
}

} // namespace

wk_status
run_resident(wk_call *call, wk_launch *launch)
{
    session s;
    current_device current;
    if (current.set(call->ordinal, &call->error) != WK_OK) return call->error.status;
    gpu *g = ready_gpu(call->ordinal, &call->error);
    if (g == nullptr) return call->error.status;
    s.device = call->ordinal;
    s.stream = (cudaStream_t)call->stream;
    call->session = &s;
    const wk_status status = on_stream(call, g, launch);
    const wk_status given = give_blocks(&s, 0, &call->error);
    call->session = nullptr;
    return status ? status : given;
}

// Device to device on one GPU, any strides on both sides.
static wk_status
copy_on_device(wk_call *call)
{
    session s;
    current_device current;
    if (current.set(call->ordinal, &call->error) != WK_OK) return call->error.status;
    if (ready_gpu(call->ordinal, &call->error) == nullptr) return call->error.status;
    s.device = call->ordinal;
    s.stream = (cudaStream_t)call->stream;
    call->session = &s;
    wk_status status = WK_OK;
    const wk_array *in = &call->in, *out = &call->out[0];
    if (wk_c_contiguous(in) && wk_c_contiguous(out))
        WK_TRY(&call->error,
               cudaMemcpyAsync((char *)out->data + out->first,
                               (const char *)in->data + in->first, (size_t)out->bytes,
                               cudaMemcpyDeviceToDevice, s.stream));
    else
        status = copy_strided(call, in, out);
    call->session = nullptr;
    return status;
}

wk_status
copy_array(wk_call *call)
{
    if (check_process(&call->error) != WK_OK) return call->error.status;
    if (wk_size(&call->in) == 0) return WK_OK;
    if (call->in.host == nullptr && call->out[0].host == nullptr) return copy_on_device(call);
    const wk_array *out0 = &call->out[0];
    if (call->in.host && out0->bytes <= kLittle && wk_c_contiguous(&call->in)) {
        current_device here;
        if (here.set(call->ordinal, &call->error) != WK_OK) return call->error.status;
        return copy_in((char *)out0->data + out0->first, (char *)call->in.host + call->in.first,
                       out0->bytes, (cudaStream_t)call->stream, &call->error);
    }
    if (call->in.host || wk_c_contiguous(&call->in)) {
        wk_array *in = &call->in;
        if (in->host == nullptr) { // the packed piece starts with the first element
            in->data = (char *)in->data + in->first;
            in->first = 0;
        }
        return copy_over_bus(call);
    }
    // A view on the device, for the host: packed there first.
    current_device current;
    gpu *g = nullptr;
    const wk_array out = call->out[0];
    void *packed = nullptr;
    if (current.set(call->ordinal, &call->error) != WK_OK ||
        (g = ready_gpu(call->ordinal, &call->error)) == nullptr ||
        take_block(g, (cudaStream_t)call->stream, out.bytes, &packed, &call->error) != WK_OK)
        return call->error.status;
    call->out[0].host = nullptr;
    call->out[0].data = packed;
    call->out[0].first = 0;
    wk_status status = copy_on_device(call);
    call->in.data = packed;
    call->in.first = 0;
    call->out[0] = out;
    if (!status) status = copy_over_bus(call);
    const wk_status given =
        give_block(g, (cudaStream_t)call->stream, packed, out.bytes, &call->error);
    return status ? status : given;
}

} // namespace wk
