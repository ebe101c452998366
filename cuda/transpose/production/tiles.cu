// transpose / tiles -- the production transpose: a plan by shape (tiles.h), and a kernel for each way.
//
// In, out   any strides, axes in the output's order (plan.h) -> C-contiguous.
// Ways      copy     one run of memory on both sides
//           few      too few elements for tiles: a thread an element
//           rows     one axis is the fastest on both sides: its runs are moved
//           boxes    tiles of all axes, where several short ones make a side together
//           short    2 to 8 rows or columns, 16 bytes an access on both sides
//           aligned  tiles, 16 bytes an access on both sides
//           words    tiles of any alignment and any axes
//           units    tiles with a short side, or of elements of 3, 6, 12 ... bytes
#include "transpose/production/tiles.cuh"

namespace wk
{

namespace
{

// Bytes of a strip of tiles that follows the rows, at most: what two tiles share at their sides must
// still be in the L2 cache when the second one is read. H200, (511, 513, 509) floats to (2, 1, 0), 64
// MiB a strip: 68 % of a copy's rate.
constexpr int64_t kStrip = 16 << 20;

turn_axis
axis_of(const wk_tiles_axis &a)
{
    return {divisor_of(a.extent < INT32_MAX ? a.extent : 1), a.extent, a.in, a.out};
}

// By digits: a group of units, a line of elements.
walk
walk_of(int64_t group, int64_t line, const int64_t (&far)[3], const int64_t (&near)[3])
{
    walk w = {divisor_of(group), divisor_of(line)};
    const int64_t elements = kUnitThreads / group, lines = elements / line;
    const int64_t step[3] = {kUnitThreads % group, elements % line, lines};
    for (int i = 0; i < 3; i++) {
        w.far[i] = far[i];
        w.near[i] = (int)near[i];
        w.step_far += step[i] * far[i];
        w.step_near += (int)(step[i] * near[i]);
    }
    const int64_t size[2] = {group, line};
    for (int i = 0; i < 2; i++) {
        w.step[i] = (uint32_t)step[i];
        w.carry_far[i] = far[i + 1] - size[i] * far[i];
        w.carry_near[i] = (int)(near[i + 1] - size[i] * near[i]);
    }
    return w;
}

// The ways through a tile of units: in along its rows, out along its columns.
void
set_walks(const wk_tiles *plan, turn_task *t)
{
    const int64_t unit = plan->unit, group = plan->group, rows = plan->tile_rows;
    t->read = walk_of(group, plan->tile_columns, {unit, plan->step, plan->row[0].in},
                      {1, group, t->pitch});
    t->write =
        walk_of(group, rows, {unit, group * unit, plan->column[0].out}, {1, t->pitch, group});
}

} // namespace

// The banks of shared memory serve 128 bytes in a turn. A column's neighbours are a pitch apart: with few
// rows they leave room between them for as many columns as the turn has; with many they lie in
// different banks if the pitch is odd.
int
pitch_of(const wk_tiles *plan)
{
    const int banks = 128 / plan->unit, units = (int)plan->tile_columns * plan->group;
    if (plan->tile_rows >= banks) return units | 1;
    const int wanted = (int)((banks + plan->tile_rows - 1) / plan->tile_rows);
    return units + (banks + wanted - units % banks) % banks;
}

turn_task
turn_task_of(const wk_call *call, const wk_tiles *plan)
{
    turn_task t = {};
    t.low = (const char *)call->in.data;
    t.high = t.low + call->in.bytes;
    t.in = t.low + call->in.first;
    t.out = (char *)call->out[0].data;
    t.rows = plan->rows;
    t.columns = plan->columns;
    t.step = plan->step;
    t.tile_rows = (int)plan->tile_rows;
    t.tile_columns = (int)plan->tile_columns;
    t.lead = plan->lead;
    t.group = plan->group;
    t.pitch = pitch_of(plan);
    t.row_axes = plan->row_axes;
    t.column_axes = plan->column_axes;
    t.other_axes = plan->other_axes;
    const int64_t early = plan->lead ? plan->lead - 1 : 0;
    const int64_t down = (plan->rows + early + plan->tile_rows - 1) / plan->tile_rows;
    const int64_t across = (plan->columns + plan->tile_columns - 1) / plan->tile_columns;
    const int64_t element = plan->way == WK_TILES_ROWS ? plan->unit * plan->group : plan->unit;
    const int64_t strip = down * plan->tile_rows * plan->tile_columns * element;
    t.strips_down = strip < kStrip || down <= across;
    t.strip = divisor_of(t.strips_down ? down : across);
    t.strips = divisor_of(t.strips_down ? across : down);
    if (plan->way == WK_TILES_UNITS) set_walks(plan, &t);
    if (plan->way == WK_TILES_ROWS) {
        const int64_t pieces = (plan->run + plan->group - 1) / plan->group;
        t.pieces = divisor_of(pieces);
        t.threads = divisor_of(plan->group);
        t.groups = kUnitThreads / plan->group;
        t.excess = (int)(pieces * plan->group - plan->run);
    }
    for (int i = 0; i < plan->row_axes; i++) t.row[i] = axis_of(plan->row[i]);
    for (int i = 0; i < plan->column_axes; i++) t.column[i] = axis_of(plan->column[i]);
    for (int i = 0; i < plan->other_axes; i++) t.other[i] = axis_of(plan->other[i]);
    return t;
}

} // namespace wk

WK_LAUNCHER(transpose, cuda, tiles)
{
    const wk_array *in = &call->in;
    const auto from = (const char *)in->data + in->first;
    void *to = call->out[0].data;
    wk_tiles plan;
    if (call->out[0].bytes == 0) return WK_OK;
    wk_plan_tiles(in, (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, wk::processors(call),
                  &plan);
    switch (plan.way) {
    case WK_TILES_COPY:
        WK_TRY(&call->error,
               cudaMemcpyAsync(to, from, (size_t)call->out[0].bytes, cudaMemcpyDeviceToDevice,
                               wk::session_of(call)->stream));
        return WK_OK;
    case WK_TILES_FEW: return wk::transpose_few(call, &plan);
    case WK_TILES_ROWS: return wk::transpose_rows(call, &plan);
    case WK_TILES_BOXES: return wk::transpose_boxes(call, &plan);
    case WK_TILES_SHORT: return wk::transpose_short(call, &plan);
    case WK_TILES_ALIGNED: return wk::transpose_aligned(call, &plan);
    case WK_TILES_WORDS: return wk::transpose_words(call, &plan);
    default: return wk::transpose_units(call, &plan);
    }
}
