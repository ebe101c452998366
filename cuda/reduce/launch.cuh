// launch.cuh -- a reduction's launch: its plan, and memory for records. One kernel does all, but for
// records that are added to those of other pieces or GPUs.
#pragma once
#include "reduce/columns.cuh"
#include "reduce/lines.cuh"
#include "reduce/teams.cuh"

#include "settings.h"

#include <algorithm>

namespace wk
{

// Blocks a multiprocessor, at most. Maxima of 2^22 x 64 float32: 2.34 TB/s by 32 of them, 2.56 by 128
// (H100).
constexpr int64_t kPartBlocks = 32, kLineBlocks = 128;
constexpr int64_t kOwnLimbs = 8192; // parts that have limbs of their own: none must be cleared

// As teams.c has it: how many columns a thread has of these accumulators.
template <class Acc, int kItem = (int)sizeof(typename Acc::T)>
constexpr int columns_of = kItem <= 2         ? 4 / kItem
                           : Acc::kTwoColumns ? 2
                                              : 1;

// What the kernels need to know of the call, but for where records go.
inline void
describe(const wk_call *call, reduce_task *task)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_array *a = &call->in;
    task->in = reinterpret_cast<uintptr_t>(a->data) + (uintptr_t)a->first;
    task->outputs = r->outputs;
    task->n = r->n;
    task->first = r->first;
    task->stride = 1;
    if (r->n > 0) { // else no element is read, and the axes may be any number
        task->kept = axes_of(a, 0, r->kept);
        task->folded = axes_of(a, r->kept, a->ndim);
        if (a->ndim > r->kept) task->stride = a->strides[a->ndim - 1];
    }
    if (call->where.ndim >= 0 && r->n > 0) {
        const wk_array *w = &call->where;
        task->where = static_cast<const uint8_t *>(w->data) + w->first;
        for (int d = 0; d < r->kept; d++) task->where_kept[d] = w->strides[d];
        for (int d = r->kept; d < w->ndim; d++) task->where_folded[d - r->kept] = w->strides[d];
    }
    task->folds = call->outs;
    for (int i = 0; i < call->outs; i++) {
        task->out[i] = call->out[i].data;
        task->out_dtype[i] = (uint8_t)call->out[i].dtype;
        task->fold[i] = (uint8_t)r->fold[i];
    }
    task->planes = r->planes > 1 ? r->planes : 1;
    task->flip = r->fold[0] == WK_ARGMAX ? -1 : 0;
    task->skip_nan = r->skip_nan;
    task->has_initial = r->has_initial;
    task->initial = r->initial;
    task->ddof = r->ddof;
}

// GPUs that do 32 float64 operations less than float32 ones sum by integers alone: those for
// desktops (8.6, 8.9, 12.x), and 10.3. WARPKIT_SUMS=integers asks for it.
inline bool
integers_only(const wk_call *call)
{
    return wk_setting_value(WK_SET_SUMS, weak_doubles(call));
}

// Folds records, of which each has `step` words, and limbs into the task's state or results.
template <class Acc>
wk_status
fold_records_of(wk_call *call, reduce_task task, int64_t step, const uint64_t *limbs,
                int64_t limbs_step, bool own_limbs)
{
    task.team = 1;
    while (task.team < kThreads && task.team < task.parts) task.team *= 2;
    task.width = kThreads / task.team;
    const unsigned grid = grid_for(call, task.outputs, task.width);
    return launch(call, grid, kThreads, 0, reduce_records<Acc>, task, step,
                  (int64_t)(Acc::kWords + Acc::kLimbs), limbs_at{limbs, limbs_step, own_limbs});
}

// The states of all pieces, or of another GPU, are in part.totals.
template <class Acc>
wk_status
finish_state(wk_call *call, reduce_task task)
{
    constexpr int64_t step = Acc::kWords + Acc::kLimbs;
    const auto from = (uint64_t *)(call->part.finish ? call->part.totals : call->part.other);
    task.records = from;
    task.parts = 1;
    if (!call->part.finish) task.state = (uint64_t *)call->part.totals;
    task.places = {};
    task.places.ndim = 1;
    task.places.shape[0] = task.outputs;
    task.places.strides[0] = 1;
    return fold_records_of<Acc>(call, task, step, Acc::kLimbs ? from + Acc::kWords : nullptr,
                                step, true);
}

template <class Narrow>
wk_status
reduce(wk_call *call)
{
    using Acc = typename Narrow::Wide; // whose records they are
    wk_teams plan;
    reduce_task task = {};
    if (call->part.words) {
        *call->part.words = Acc::kWords + Acc::kLimbs;
        return WK_OK;
    }
    describe(call, &task);
    task.integers_only = integers_only(call);
    if (call->part.finish || call->part.other) return finish_state<Acc>(call, task);
    wk_plan_teams(call, processors(call), &plan);
    task.team = plan.team;
    task.width = plan.width;
    task.columns = plan.columns;
    task.parts = plan.parts;
    task.part = plan.part;
    task.run = plan.run;
    task.runs = plan.runs;
    task.vector = plan.vector;
    const bool records = plan.parts > 1 || call->part.totals,
               letter = call->letter.slot && task.outputs == 1 && call->outs == 1;
    const bool own = task.outputs * plan.parts <= kOwnLimbs;
    if (records) {
        const int64_t teams = task.outputs * plan.parts;
        const int64_t limbs = (own ? teams : task.outputs) * Acc::kLimbs * 8;
        void *words = nullptr, *wide = nullptr;
        if (allocate(call, teams * Acc::kWords * 8, &words) != WK_OK) return call->error.status;
        if (limbs > 0 && allocate(call, limbs, &wide) != WK_OK) return call->error.status;
        if (limbs > 0 && !own && clear(call, wide, limbs) != WK_OK) return call->error.status;
        task.records = (uint64_t *)words;
        task.limbs = (uint64_t *)wide;
        task.own_limbs = own;
    }
    if (letter) {
        task.letter = call->letter;
        call->letter.sent = 1;
    }
    const bool columns = Acc::kColumns && task.columns && task.where == nullptr &&
                         task.folded.ndim <= 1 && task.n < (int64_t)1 << 31 &&
                         !(task.planes == 2 && task.skip_nan);
    const int64_t width = (int64_t)task.width * (task.columns > 1 ? task.columns : 1);
    const int64_t groups = task.groups = (task.outputs + width - 1) / width;
    const bool lines = !records && !task.columns && task.vector && task.runs == 1 &&
                       task.team <= kWarp && task.kept.ndim <= 1 && task.n < 1 << 30 &&
                       !(task.planes == 2 && task.skip_nan);
    if (records && !call->part.totals) {
        void *tickets = nullptr;
        if (zeros(call, 2 * groups * (int64_t)sizeof(unsigned), &tickets) != WK_OK)
            return call->error.status;
        task.tickets = (unsigned *)tickets;
        if (plan.chunk && (columns || !task.columns)) {
            task.draws = task.tickets + groups;
            task.part = plan.chunk;
        }
    }
    const int64_t most = (int64_t)processors(call) * (lines ? kLineBlocks : kPartBlocks);
    const unsigned grid = (unsigned)std::min<int64_t>(groups * task.parts, most);
    const auto in = first_element<typename Acc::T>(&call->in);
    constexpr int64_t item = sizeof(typename Acc::T);
    task.aligned = lines && task.in % 16 == 0 && task.n * item % 16 == 0 &&
                   (task.kept.ndim == 0 || task.kept.strides[0] * item % 16 == 0);
    wk_status status = WK_OK;
    constexpr int kColumns = columns_of<Narrow>;
    if (lines) {
        status = launch(call, grid, kThreads, 0, reduce_lines<Narrow>, in, task);
    } else if (columns) {
        if constexpr (Acc::kColumns) {
            const auto kernel = task.columns == 1 ? reduce_columns<Narrow, 1>
                                                  : reduce_columns<Narrow, kColumns>;
            status = launch(call, grid, kThreads, 0, kernel, in, task);
        }
    } else {
        status = launch(call, grid, kThreads, 0, reduce_teams<Narrow>, in, task);
    }
    if (status != WK_OK || !call->part.totals) return call->error.status;
    task.state = (uint64_t *)call->part.totals;
    task.places = task.kept;
    for (int d = 0; d < task.kept.ndim; d++) task.places.strides[d] = call->part.step[d];
    task.output = call->part.output;
    return fold_records_of<Acc>(call, task, Acc::kWords, task.limbs, Acc::kLimbs, own);
}

} // namespace wk
