// pipeline.cu -- see pipeline.cuh.
#include "pipeline/pipeline.cuh"
#include "runtime/driver.cuh"

#include "plan.h"

#include <algorithm>

namespace wk
{

namespace
{

// A part's bytes start on a line of their own, so that no two threads write one.
constexpr int64_t kLine = 64;

int64_t
part_at(int64_t bytes, int64_t part, int64_t parts)
{
    const int64_t share = (bytes / parts + kLine) / kLine * kLine;
    return std::min(part * share, bytes);
}

} // namespace

void
transfer::fail(const wk_error *error)
{
    std::lock_guard<std::mutex> hold(lock);
    wk_fail_as(&call->error, error);
    failed.store(true);
}

void
transfer::stop()
{
    wk_error error = {};
    WK_FAIL(&error, WK_EINTERRUPT, "stopped by a signal");
    fail(&error);
}

wk_status
pipeline::open(transfer *transfer, gpu *gpu, session *s, int64_t from, int64_t units,
               char *lies)
{
    t = transfer;
    g = gpu;
    first = from;
    count = units;
    whole = lies;
    parts = out_parts = t->parts;
    wk_error *error = &t->call->error;
    plan_slots();
    stage = ready_stage(g, direct_in ? 0 : in_stride, direct_out ? 0 : out_stride, error);
    if (stage == nullptr) return error->status;
    for (int i = 0; i < kSlots; i++) {
        to_fill[i] = (int)parts;
        to_drain[i] = 0;
    }
    if (t->how != direction::both)
        return follow(g, t->how == direction::in ? stage->inwards : stage->outwards,
                      stage->work, error);
    wk_call rings;
    wk_call_start(&rings, t->call->op, 0);
    rings.session = s;
    void *in = nullptr, *out = nullptr;
    const int64_t slots = std::min<int64_t>(kSlots, count);
    if ((has_in && allocate(&rings, in_stride * slots, &in) != WK_OK) ||
        (has_out && allocate(&rings, out_stride * slots, &out) != WK_OK))
        return wk_fail_as(error, &rings.error);
    ring_in = static_cast<char *>(in);
    ring_out = static_cast<char *>(out);
    return follow(g, stage->inwards, stage->work, error); // the ring is there from now on
}

// How long slots are, and whether units need any.
void
pipeline::plan_slots()
{
    const wk_cut *cut = t->cut;
    has_in = t->how != direction::out && cut->in_bytes > 0;
    has_out = t->how != direction::in && cut->out_bytes > 0;
    const bool piecewise = t->how == direction::both;
    in_stride = !has_in ? 0 : piecewise ? cut->in_bytes : std::min(t->unit, cut->in_bytes);
    out_stride = !has_out ? 0 : piecewise ? cut->out_bytes : std::min(t->unit, cut->out_bytes);
    in_stride = (in_stride + 255) / 256 * 256; // CUDA's own alignment
    out_stride = (out_stride + 255) / 256 * 256;

    span one;
    find(0, &one);
    // Pieces of one walk may straddle rows, unless it has just one.
    const bool one_row = cut->kind == WK_CUT_BOX || cut->walk.ndim <= 1;
    direct_in = has_in && t->pinned_in && one_row &&
                wk_piece_in_place(t->call, cut, &one.piece) != nullptr;
    direct_out = has_out && t->pinned_out && one.piece.outs == 1 &&
                 wk_walk_run(&one.piece.out[0], one.piece.out_begin[0], one.piece.out_end[0]);
    if (t->call->fresh && has_in && has_out && !direct_out) count_pages();
    if (t->call->fresh && !has_in) out_parts = std::max(parts, out_stride / kHugePage + 2);
}

// This pipeline's share of the first result's pages: of others the results are as long as the pieces.
void
pipeline::count_pages()
{
    const wk_array *out = &t->call->out[0];
    const int64_t of = t->cut->pieces, all = out->bytes / kHugePage;
    if (all <= 1) return;
    first_page = (char *)(((uintptr_t)out->host + kHugePage - 1) / kHugePage * kHugePage);
    first_page += all * first / of * kHugePage;
    pages = all * (first + count) / of - all * first / of;
    if (first + count == of) pages--; // the last may reach beyond the end
}

void
pipeline::find(int64_t unit, span *s) const
{
    const bool piecewise = t->how == direction::both;
    const int64_t from = piecewise ? 0 : (first + unit) * t->unit;
    wk_piece_of(t->call, t->cut, piecewise ? first + unit : 0, &s->piece);
    s->in_from = from;
    s->in_to = piecewise ? s->piece.in_bytes : std::min(from + t->unit, s->piece.in_bytes);
    s->out_from = from;
    s->out_to = piecewise ? s->piece.out_bytes : std::min(from + t->unit, s->piece.out_bytes);
}

// ---- what any thread does -------------------------------------------------------------------

// The next of all the parts, if its unit's turn has come.
static int64_t
take(std::atomic<int64_t> *next, int64_t parts, int64_t units)
{
    int64_t p = next->load();
    while (p < units * parts)
        if (next->compare_exchange_weak(p, p + 1)) return p;
    return -1;
}

bool
pipeline::fill_one()
{
    if (!has_in || direct_in) return false;
    const int64_t p = take(&fill_next, parts, std::min(count, came + kSlots));
    if (p < 0) return false;
    span s;
    find(p / parts, &s);
    const int64_t bytes = s.in_to - s.in_from, at = slot(p / parts);
    const int64_t from = part_at(bytes, p % parts, parts);
    const int64_t to = part_at(bytes, p % parts + 1, parts);
    if (from < to)
        wk_piece_fill(t->call, t->cut, &s.piece, s.in_from + from, s.in_from + to,
                      stage->in + at * in_stride + from);
    to_fill[at].fetch_sub(1);
    return true;
}

// Where nothing comes in meanwhile, new memory gets its pages as it is written: a huge page is one
// thread's, and it is still in the cache when its thread fills it.
int64_t
pipeline::out_part_at(const span &s, int64_t part) const
{
    const int64_t bytes = s.out_to - s.out_from;
    const char *to = nullptr;
    if (t->call->fresh && !has_in && s.piece.outs == 1)
        to = wk_walk_run(&s.piece.out[0], s.piece.out_begin[0], s.piece.out_end[0]);
    if (to == nullptr || part == 0) return part_at(bytes, part, out_parts);
    const int64_t ahead = (int64_t)((uintptr_t)(to + s.out_from) % kHugePage);
    const int64_t end = (part * kHugePage - ahead) / kElement * kElement;
    return part == out_parts ? bytes : std::min(end, bytes);
}

bool
pipeline::drain_one()
{
    if (!has_out || direct_out) return false;
    const int64_t p = take(&drain_next, out_parts, went);
    if (p < 0) return false;
    span s;
    find(p / out_parts, &s);
    const int64_t at = slot(p / out_parts);
    const int64_t from = out_part_at(s, p % out_parts), to = out_part_at(s, p % out_parts + 1);
    if (from < to)
        wk_piece_drain(&s.piece, s.out_from + from, s.out_from + to,
                       stage->out + at * out_stride + from, has_in || !t->call->fresh);
    to_drain[at].fetch_sub(1);
    return true;
}

// New memory of the host gets its pages here while the input crosses, each of them by one thread: two
// that come to the same huge page both clear one. As far ahead as the input is (H100, a transpose of
// 1 GiB into new arrays, back to back: 46 to 50 ms; with no touching ahead 59).
bool
pipeline::touch_one(bool ahead)
{
    int64_t p = touch_next;
    if (pages == 0) return false;
    const int64_t wanted = ahead ? pages * std::min(count, sent + 2 * kSlots) / count : pages;
    if (p >= wanted || !touch_next.compare_exchange_strong(p, p + 1)) return false;
    __atomic_fetch_or(first_page + p * kHugePage, 0, __ATOMIC_RELAXED);
    return true;
}

bool
pipeline::finished() const
{
    if (t->failed) return true;
    if (sent < count) return false;
    return !has_out || (direct_out ? went == count : drain_next == count * out_parts);
}

bool
pipeline::help()
{
    if (drain_one() || touch_one(true) || fill_one() || touch_one(false)) return true;
    if (!gate.try_lock()) return false;
    step();
    gate.unlock();
    return false;
}

void
pipeline::work()
{
    while (!finished()) {
        if (host->interrupted()) t->stop();
        if (!help()) wk_pause();
    }
}

// ---- what one thread at a time does ---------------------------------------------------------

bool
pipeline::filled(int64_t unit) const
{
    if (unit >= came + kSlots) return false;
    return !has_in || direct_in || to_fill[slot(unit)] == 0;
}

// Is the unit's place on the device free? Asked here rather than by the streams, where a transfer
// would wait for an event on another stream each time.
bool
pipeline::vacant(int64_t unit) const
{
    return t->how != direction::both ||
           (unit < worked + kSlots && (!has_out || unit < went + kSlots));
}

bool
pipeline::drained(int64_t unit) const
{
    return unit < kSlots || (direct_out ? unit < went + kSlots : to_drain[slot(unit)] == 0);
}

// All that can be put on the streams, or noticed.
void
pipeline::step()
{
    wk_error error = {};
    if (t->failed) return;
    current_device current;
    wk_status status = current.set(g->device, &error);
    while (!status && sent < count && filled(sent) && vacant(sent)) {
        status = send(sent);
        if (!status) ++sent;
    }
    while (!status && has_out && leaving < sent && drained(leaving)) {
        status = leave(leaving);
        if (!status) ++leaving;
    }
    if (!status) status = look();
    if (!status) return;
    if (error.status == WK_OK) error = sub.error;
    t->fail(&error);
}

wk_status
pipeline::enter(int64_t unit, const span &s, char *to)
{
    const char *from = stage->in + slot(unit) * in_stride;
    if (direct_in) from = wk_piece_in_place(t->call, t->cut, &s.piece) + s.in_from;
    WK_TRY(&sub.error, cudaMemcpyAsync(to, from, (size_t)(s.in_to - s.in_from),
                                       cudaMemcpyHostToDevice, stage->inwards));
    WK_TRY(&sub.error, cudaEventRecord(stage->came[slot(unit)], stage->inwards));
    return WK_OK;
}

wk_status
pipeline::kernel(int64_t unit, const span &s)
{
    session piece_session;
    piece_session.device = g->device;
    piece_session.stream = stage->work;
    sub.session = &piece_session;
    sub.ordinal = g->device;
    sub.part = part;
    if (aux) sub.aux = *aux;
    wk_piece_call(t->call, t->cut, &s.piece, ring_in + slot(unit) * in_stride,
                  ring_out + slot(unit) * out_stride, &sub);
    if (result) sub.out[0] = *result;
    count_blocks(t->cut->pieces == 1 ? t->call->progress : nullptr); // else pieces are counted
    const wk_status status = t->launch(&sub);
    count_blocks(nullptr);
    const wk_status given = give_blocks(&piece_session, 0, &sub.error);
    sub.session = nullptr;
    return status ? status : given;
}

wk_status
pipeline::send(int64_t unit)
{
    span s;
    find(unit, &s);
    const int at = slot(unit);
    if (t->how == direction::out) return WK_OK;
    if (t->how == direction::in) return enter(unit, s, whole + s.in_from);
    if (enter(unit, s, ring_in + at * in_stride) != WK_OK) return sub.error.status;
    WK_TRY(&sub.error, cudaStreamWaitEvent(stage->work, stage->came[at], 0));
    if (kernel(unit, s) != WK_OK) return sub.error.status;
    WK_TRY(&sub.error, cudaEventRecord(stage->done[at], stage->work));
    return WK_OK;
}

wk_status
pipeline::leave(int64_t unit)
{
    span s;
    find(unit, &s);
    const int at = slot(unit);
    const char *from = whole ? whole + s.out_from : ring_out + at * out_stride;
    char *to = stage->out + at * out_stride;
    if (direct_out)
        to =
            wk_walk_run(&s.piece.out[0], s.piece.out_begin[0], s.piece.out_end[0]) + s.out_from;
    if (t->how == direction::both)
        WK_TRY(&sub.error, cudaStreamWaitEvent(stage->outwards, stage->done[at], 0));
    to_drain[at] = (int)out_parts;
    WK_TRY(&sub.error, cudaMemcpyAsync(to, from, (size_t)(s.out_to - s.out_from),
                                       cudaMemcpyDeviceToHost, stage->outwards));
    WK_TRY(&sub.error, cudaEventRecord(stage->left[at], stage->outwards));
    return WK_OK;
}

static wk_status
notice(cudaEvent_t event, bool *happened, wk_error *error)
{
    const cudaError_t code = cudaEventQuery(event);
    *happened = code == cudaSuccess;
    if (code == cudaErrorNotReady) {
        cudaGetLastError();
        return WK_OK;
    }
    WK_TRY(error, code);
    return WK_OK;
}

wk_status
pipeline::look()
{
    bool happened = true;
    while (came < sent) {
        if (has_in && notice(stage->came[slot(came)], &happened, &sub.error) != WK_OK)
            return sub.error.status;
        if (!happened) break;
        to_fill[slot(came)] = (int)parts;
        ++came;
    }
    happened = true;
    while (t->how == direction::both && worked < came) {
        if (notice(stage->done[slot(worked)], &happened, &sub.error) != WK_OK)
            return sub.error.status;
        if (!happened) break;
        ++worked;
        if (t->call->progress) __atomic_fetch_add(t->call->progress, 1, __ATOMIC_RELAXED);
    }
    happened = true;
    while (went < leaving) {
        if (notice(stage->left[slot(went)], &happened, &sub.error) != WK_OK)
            return sub.error.status;
        if (!happened) break;
        ++went;
    }
    return WK_OK;
}

} // namespace wk
