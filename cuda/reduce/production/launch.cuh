// launch.cuh -- a reduction's launch: its grid, and the memory that its parts share. One kernel does
// all, but for the states of pieces and GPUs.
#pragma once
#include "reduce/production/columns.cuh"
#include "reduce/production/rows.cuh"
#include "reduce/production/segments.cuh"

#include "settings.h"

#include <algorithm>
#include <cmath>

namespace wk
{

// Fills what tells the dtypes of one size apart.
inline void
describe_elements(wk_dtype dtype, reduce_task *task)
{
    const bool is_unsigned = wk_is_unsigned(dtype);
    uint64_t signs = 0; // bits of the elements, or parts, in 8 bytes
    switch (wk_itemsize[dtype] >> wk_is_complex(dtype)) {
    case 1: signs = 0x8080808080808080; break;
    case 2: signs = 0x8000800080008000; break;
    case 4: signs = 0x8000000080000000; break;
    default: signs = 0x8000000000000000; break;
    }
    task->dtype = (uint8_t)dtype;
    task->mask = dtype >= WK_F16 ? ~signs : UINT64_MAX;
    task->bias = is_unsigned ? signs : 0;
    task->bias_bits = is_unsigned ? 8 * wk_itemsize[dtype] - 1 : 0;
    task->infinity = dtype == WK_F16 ? 0x7c00 : dtype == WK_BF16 ? 0x7f80 : 0x7fff;
    task->truth = dtype == WK_BOOL;
    task->halves = dtype == WK_F16 || dtype == WK_BF16;
}

// Which elements there are, and which of them count.
inline void
describe_input(const wk_call *call, reduce_task *task)
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
    if (call->mask.ndim >= 0 && r->n > 0) {
        const wk_array *w = &call->mask;
        task->where = static_cast<const uint8_t *>(w->data) + w->first;
        for (int d = 0; d < r->kept; d++) task->where_kept[d] = w->strides[d];
        for (int d = r->kept; d < w->ndim; d++) task->where_folded[d - r->kept] = w->strides[d];
        if (w->ndim > r->kept) task->where_step = w->strides[w->ndim - 1];
    }
    task->skip_nan = r->skip_nan;
    task->counts = r->skip_nan || call->mask.ndim >= 0;
}

// What the kernels need to know of the call.
inline void
describe(const wk_call *call, reduce_task *task)
{
    const wk_reduce_args *r = &call->args.reduce;
    const wk_dtype in = call->in.dtype, out = call->out[0].dtype;
    describe_input(call, task);
    describe_elements(in, task);
    task->folds = call->outs;
    for (int i = 0; i < call->outs; i++) {
        task->out[i] = call->out[i].data;
        task->out_dtype[i] = (uint8_t)call->out[i].dtype;
        task->fold[i] = (uint8_t)r->fold[i];
    }
    task->wraps = !r->has_initial && call->part.mode == WK_WHOLE;
    for (int i = 0; i < call->outs; i++)
        task->wraps &=
            (r->fold[i] == WK_SUM || r->fold[i] == WK_SUMSQ) && call->out[i].dtype < WK_F16;
    task->planes = r->planes > 1 ? r->planes : 1;
    task->flip = r->fold[0] == WK_ARGMAX ? -1 : 0;
    task->has_initial = r->has_initial;
    const bool one = call->outs == 1 && !r->has_initial && r->n > 0 &&
                     call->part.mode == WK_WHOLE,
               just_sums = one && !task->counts;
    const wk_dtype part = wk_real_of(in);
    task->plain = just_sums && (out == in || out < WK_F16 || (in >= WK_C64 && out == part));
    task->some =
        one && task->counts && (out == in || out < WK_F16) && in < WK_C64 && task->planes == 1;
    task->in_double = just_sums && out == WK_F64;
    task->initial = r->initial;
    task->ddof = r->ddof;
    task->inverse = 1 / (double)r->n;
    task->number = (double)r->n;
    task->inverse_spread = 1 / ((double)r->n * ((double)r->n - r->ddof));
    task->near_number = (float)task->number;
    task->near_inverse_spread = (float)task->inverse_spread;
    const double spread = (double)r->n * ((double)r->n - r->ddof);
    if (r->ddof == std::rint(r->ddof) && spread > 0 && spread < 0x1p53) task->spread = spread;
}

// Words that an output's parts, pieces and GPUs share.
template <class Acc>
constexpr int
words_of()
{
    if constexpr (Acc::kCertain)
        return Acc::kWords;
    else
        return Acc::shape().words();
}

// Another GPU's states are added, or those of all pieces finished.
template <class Acc>
wk_status
merge_parts(wk_call *call, const reduce_task &task)
{
    const wk_part &part = call->part;
    const auto state = (uint64_t *)part.state;
    const auto other = part.mode == WK_MERGE ? (const uint64_t *)part.other : nullptr;
    const unsigned grid = grid_for(call, task.outputs, Acc::kCertain ? kThreads : 1);
    if constexpr (Acc::kCertain) {
        using M = typename merged_by<Acc>::type;
        static_assert(M::kWords == Acc::kWords);
        return launch(call, grid, kThreads, 0, merge_states<M>, task, state, other);
    } else {
        return launch(call, grid, kThreads, 0, merge_tables, task, Acc::shape(), state, other);
    }
}

// The memory that parts share, and the counters that tell which ends last; zero, and left so.
template <class Acc>
wk_status
share_words(wk_call *call, reduce_task *task, bool columns)
{
    const bool parts = task->parts > 1;
    int64_t words = 0;
    void *block = nullptr;
    if (call->part.mode == WK_PIECE) {
        task->shared = (uint64_t *)call->part.state;
        task->keeps = true;
        task->places = task->kept;
        for (int d = 0; d < task->kept.ndim; d++) task->places.strides[d] = call->part.step[d];
        task->output = call->part.output;
    }
    if (!parts || (task->keeps && !Acc::kCertain)) return WK_OK;
    if (Acc::kCertain || columns) { // their records are joined
        void *records = nullptr;
        if (allocate(call, task->outputs * task->parts * Acc::kWords * 8, &records) != WK_OK)
            return call->error.status;
        task->records = (uint64_t *)records;
    } else {
        words = task->outputs * words_of<Acc>();
    }
    const int64_t tickets = task->groups * (task->join > 1 ? 1 + task->joins : 1);
    if (zeros(call, words * 8 + tickets * (int64_t)sizeof(unsigned), &block) != WK_OK)
        return call->error.status;
    if (words) task->shared = (uint64_t *)block;
    task->tickets = (unsigned *)((uint64_t *)block + words);
    return WK_OK;
}

// May whole columns be told the quick way first, by a device that holds so many threads of it? These lie side by side;
// those of two axes begin at 16 bytes.
template <class Acc>
bool
may_be_quick(const reduce_task &task, int64_t threads)
{
    using quick = quick_of<Acc>;
    const int last = task.kept.ndim - 1;
    if (task.where || task.pairs() || task.integers_only || last < 0 || last > 1 ||
        task.kept.strides[last] != 1 || task.folded.ndim > 1 || task.stride < 0 ||
        !quick::asked(task) ||
        task.outputs < (int64_t)(quick::least_waves(task) * quick::kColumns * (double)threads))
        return false;
    if (last == 0) return true;
    const auto aligned = [](int64_t elements) {
        return elements * (int64_t)sizeof(typename Acc::T) % 16 == 0;
    };
    return task.outputs <= INT32_MAX && task.in % 16 == 0 && aligned(task.kept.strides[0]) &&
           aligned(task.kept.shape[1]) && aligned(task.stride);
}

// They are, by the kernel of many rows, however few there are.
template <class Acc>
void
go_quickly(reduce_task *task, wk_grid *plan)
{
    constexpr int C = columns_of_thread<Acc>(false);
    task->together = quick_of<Acc>::kColumns / C;
    task->groups = plan->groups = (task->outputs - 1) / (kThreads * C) + 1;
    plan->blocks = std::max(plan->blocks, (plan->groups - 1) / WK_ITEMS + 1);
}

template <class Acc>
wk_status
reduce(wk_call *call)
{
    using T = typename Acc::T;
    wk_grid plan;
    reduce_task task = {};
    if (call->part.mode == WK_SIZE) {
        call->part.words = words_of<Acc>();
        return WK_OK;
    }
    describe(call, &task);
    task.integers_only = wk_setting_value(WK_SET_SUMS, 0); // WARPKIT_SUMS=integers asks for it
    if constexpr (folds_segments<Acc>)
        if (call->op == WK_SEGMENT_REDUCE) return reduce_segments<Acc>(call, &task);
    if (call->part.mode == WK_MERGE || call->part.mode == WK_FINISH)
        return merge_parts<Acc>(call, task);
    int quick = 0; // columns
    if constexpr (Acc::kQuick)
        if (may_be_quick<Acc>(task, (int64_t)processors(call) * 4 * kThreads))
            quick = quick_of<Acc>::kColumns;
    const wk_accumulator of = {Acc::kColumnBlocks,
                               shared_columns<Acc>(),
                               columns_of_thread<Acc>(false),
                               columns_of_few<Acc>(),
                               quick,
                               Acc::kCertain || quick ? 100 : 150,
                               Acc::kByIndex,
                               Acc::kStages,
                               Acc::kCertain ? 0 : most_waiting<Acc>};
    wk_plan_grid(call, processors(call), &of, &plan);
    task.team = plan.team;
    task.width = plan.width;
    task.height = plan.height;
    task.repeat = plan.repeat;
    task.groups = plan.groups;
    task.parts = plan.parts;
    task.join = (int)plan.join;
    task.joins = (int)((plan.parts - 1) / plan.join + 1);
    task.run = plan.run;
    task.runs = plan.runs;
    task.tiles = plan.tiles;
    task.reads = plan.reads;
    task.turns.set(kTilesAtOnce * (plan.team == kThreads ? (uint32_t)plan.parts * kWarps : 1));
    if (plan.reads == WK_READS_RUNS)
        task.inner.set((uint32_t)(plan.run * (int64_t)sizeof(T) / 16));
    task.aligned = plan.aligned;
    task.staged = plan.staged;
    task.masked = plan.masked;
    if (task.kept.ndim <= 1) task.across = plan.aligned ? 1 : kWarp * task.kept.strides[0];
    if ((plan.kind == WK_BY_COLUMNS || plan.kind == WK_BY_WHOLE_COLUMNS) &&
        task.kept.ndim == 2 && task.outputs <= INT32_MAX)
        task.inner.set((uint32_t)task.kept.shape[1]);
    task.waiting = plan.waiting;
    task.one_run = wk_reads_one_run(&plan);
    task.gathers = plan.masked || plan.reads == WK_READS_ELEMENTS;
    task.along = plan.reads == WK_READS_ELEMENTS && task.folded.ndim <= 1 && !task.pairs();
    task.together = 1;
    if constexpr (Acc::kQuick)
        if (quick && plan.kind == WK_BY_WHOLE_COLUMNS) go_quickly<Acc>(&task, &plan);
    if (share_words<Acc>(call, &task, plan.kind == WK_BY_COLUMNS) != WK_OK)
        return call->error.status;
    if (call->mailbox.slot && task.outputs == 1 && call->outs == 1) {
        task.mailbox = call->mailbox;
        task.sends = true;
        call->mailbox.sent = 1;
    }
    const auto in = first_element<T>(&call->in);
    const auto grid = (unsigned)std::min<int64_t>(plan.groups * plan.parts, plan.blocks);
    if (plan.kind == WK_BY_COLUMNS) {
        constexpr int C = shared_columns<Acc>();
        constexpr size_t kFixed = sizeof(column_memory<Acc, C>),
                         kStaged = Acc::kStages ? bytes_of_staged_rows<Acc, C>() : 0;
        static_assert(kFixed + kStaged <= kSharedOfBlock);
        const size_t staged = plan.staged ? kStaged : 0;
        if (grant(call, fold_columns<Acc>, staged, kFixed) != WK_OK) return call->error.status;
        return launch(call, grid, kThreads, staged, fold_columns<Acc>, in, task);
    }
    if (plan.kind == WK_BY_WHOLE_COLUMNS)
        return launch(call, grid, kThreads, 0,
                      task.n <= WK_FEW_ROWS && task.together == 1
                          ? fold_whole_columns<Acc, Acc::kFewRows>
                          : fold_whole_columns<Acc, false>,
                      in, task);
    if (plan.kind == WK_BY_LINES) {
        if (plan.team == kThreads && plan.parts == 1 &&
            (task.one_run || plan.reads == WK_READS_RUNS))
            task.ahead = WK_LINE_BLOCKS * processors(call);
        constexpr size_t kFixed = sizeof(line_memory<Acc>), kTiles = kWarps * sizeof(gathered),
                         kLine = Acc::kCertain ? 0 : kWarps * sizeof(waiting_line<Acc>);
        static_assert(kFixed + kTiles + kLine * most_waiting<Acc> <= kSharedOfBlock);
        const size_t slots = (task.gathers ? kTiles : 0) + kLine * plan.waiting;
        if (grant(call, fold_lines<Acc>, slots, kFixed) != WK_OK) return call->error.status;
        return launch(call, grid, kThreads, slots, fold_lines<Acc>, in, task);
    }
    const int rows =
        bytes_of_rows(task.n, sizeof(T), kWarp / task.width * task.height, task.aligned);
    size_t bytes = (size_t)(kWarps * stages_of_rows(rows) * rows);
    if constexpr (!Acc::kCertain) bytes = std::max(bytes, sizeof(table_memory<Acc>));
    const size_t marks = sizeof(uint32_t) * kWarps * kWarp;
    if (grant(call, fold_rows<Acc>, bytes, marks) != WK_OK) return call->error.status;
    return launch(call, grid, kThreads, bytes, fold_rows<Acc>, in, task);
}

} // namespace wk
