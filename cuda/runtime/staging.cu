// stage.cu -- makes and keeps the pinned rings of a GPU.
#include "runtime/staging.cuh"

#include <new>

namespace wk
{

gpu::gpu() = default;
gpu::~gpu() = default;

static wk_status
ready_ring(char **ring, int64_t *has, int64_t size, wk_error *error)
{
    if (size <= *has) return WK_OK;
    if (*ring) cudaFreeHost(*ring);
    *ring = nullptr;
    *has = 0;
    void *memory = nullptr;
    WK_TRY(error, cudaHostAlloc(&memory, (size_t)(size * kSlots), cudaHostAllocPortable));
    *ring = static_cast<char *>(memory);
    *has = size;
    return WK_OK;
}

static wk_status
ready_streams(staging *s, wk_error *error)
{
    if (s->left[kSlots - 1]) return WK_OK;
    for (cudaStream_t *stream : {&s->inwards, &s->work, &s->outwards})
        if (*stream == nullptr)
            WK_TRY(error, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (int i = 0; i < kSlots; i++)
        for (cudaEvent_t *event : {&s->came[i], &s->done[i], &s->left[i]})
            if (*event == nullptr)
                WK_TRY(error, cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    return WK_OK;
}

staging *
ready_stage(gpu *g, int64_t in_size, int64_t out_size, wk_error *error)
{
    if (!g->stage) g->stage.reset(new (std::nothrow) staging);
    staging *s = g->stage.get();
    if (s == nullptr) {
        WK_FAIL(error, WK_EMEMORY, "cannot allocate the staging area");
        return nullptr;
    }
    if (ready_streams(s, error) != WK_OK || ready_ring(&s->in, &s->in_size, in_size, error) ||
        ready_ring(&s->out, &s->out_size, out_size, error))
        return nullptr;
    g->work = s->work;
    g->staged = s->bytes();
    return s;
}

void
release_stage(gpu *g)
{
    if (!g->stage) return;
    cudaFreeHost(g->stage->in);
    cudaFreeHost(g->stage->out);
    g->stage->in = g->stage->out = nullptr;
    g->stage->in_size = g->stage->out_size = 0;
    g->staged = 0;
}

} // namespace wk
