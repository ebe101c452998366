// tiles.cuh -- what the production transposes share: the plan as a kernel takes it, and where a tile
// lies.
#pragma once
#include "runtime/launch.cuh"
#include "runtime/layout.cuh"

#include "tiles.h"

namespace wk
{

// Division by a number that is known at the launch, of numbers below 2^31: a multiplication.
// Source: T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication" (1994).
struct divisor {
    uint32_t by, factor, shift; // factor 0: by is 1
};

inline divisor
divisor_of(int64_t n)
{
    divisor d = {(uint32_t)n, 0, 0};
    int bits = 0;
    while ((int64_t)1 << bits < n) bits++;
    if (n > 1) d.factor = (uint32_t)((((uint64_t)1 << (31 + bits)) + d.by - 1) / d.by);
    if (n > 1) d.shift = bits - 1;
    return d;
}

__device__ __forceinline__ uint32_t
operator/(uint32_t n, const divisor &d)
{
    return d.factor ? (uint32_t)((uint64_t)n * d.factor >> 32) >> d.shift : n;
}

struct turn_axis {
    divisor extent; // if it is below 2^31
    int64_t length;
    int64_t in, out; // strides, in bytes
};
static_assert(kAxes == WK_KERNEL_AXES, "as explain says");

// How a thread goes through the units of a tile, kUnitThreads at a time, without a division a unit: it
// counts in three digits, the unit in its group, the element in its line, and the line. Each digit is
// worth so many bytes in memory (far) and units in shared memory (near).
constexpr int kUnitThreads = 256;

struct walk {
    divisor group, line; // units of the one, elements of the other
    int64_t far[3];
    int near[3];
    uint32_t step[2]; // of the first two digits
    int64_t step_far, carry_far[2];
    int step_near, carry_near[2];
};

struct walker {
    uint32_t unit, element;
    int64_t far;
    int near;
};

template <bool kGroups>
__device__ __forceinline__ walker
walk_from(const walk &w, uint32_t index)
{
    const uint32_t element = kGroups ? index / w.group : index, line = element / w.line;
    walker at;
    at.unit = kGroups ? index - element * w.group.by : 0;
    at.element = element - line * w.line.by;
    at.far = at.unit * w.far[0] + at.element * w.far[1] + line * w.far[2];
    at.near = at.unit * w.near[0] + at.element * w.near[1] + line * w.near[2];
    return at;
}

template <bool kGroups>
__device__ __forceinline__ void
walk_on(const walk &w, walker &at)
{
    at.far += w.step_far;
    at.near += w.step_near;
    at.element += w.step[1];
    if constexpr (kGroups) {
        at.unit += w.step[0];
        if (at.unit >= w.group.by) {
            at.unit -= w.group.by;
            at.element++;
            at.far += w.carry_far[0];
            at.near += w.carry_near[0];
        }
    }
    if (at.element >= w.line.by) {
        at.element -= w.line.by;
        at.far += w.carry_far[1];
        at.near += w.carry_near[1];
    }
}

// wk_tiles for a kernel: tiles of rows by columns, numbered along the rows first, so that blocks that
// run together write what lies side by side (H100: 5 % where rows are misaligned, 1 % elsewhere).
struct turn_task {
    const char *in; // of the first element
    char *out;
    const char *low, *high; // the input's block
    int64_t rows, columns, step;
    int tile_rows, tile_columns, lead, group, pitch;
    int row_axes, column_axes, other_axes;
    divisor pieces, threads; // of a run; of a piece
    int groups, excess;      // of threads; units by which the pieces are more than a run
    bool strips_down;        // a strip of tiles follows the rows, or else the columns
    divisor strip, strips;   // tiles of a strip; strips
    walk read, write;
    turn_axis row[WK_TILE_AXES], column[WK_TILE_AXES], other[kAxes];
};

turn_task turn_task_of(const wk_call *call, const wk_tiles *plan);

// Units between the rows of a tile of UNITS in shared memory.
int pitch_of(const wk_tiles *plan);

// Calls f(U{}) with a type of this many bytes, which lies at a multiple of them.
template <typename F>
wk_status
visit_unit(int unit, F &&f)
{
    switch (unit) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint2{});
    default: return f(uint4{});
    }
}

struct offsets {
    int64_t in, out;
};

// Of the index-th place along the axes, the fastest first. What the last one is given is not divided:
// an axis that stands alone may be longer than 2^31.
__device__ __forceinline__ offsets
along(const turn_axis *axes, int count, int64_t index)
{
    offsets sum = {0, 0};
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        int64_t at = index;
        if (i + 1 < count) {
            const uint32_t next = (uint32_t)index / axes[i].extent;
            at = (uint32_t)index - next * axes[i].extent.by;
            index = next;
        }
        sum.in += at * axes[i].in;
        sum.out += at * axes[i].out;
    }
    return sum;
}

// Where a tile begins: the row and the column, and the bytes to the elements that the other axes add.
struct turn_place {
    int64_t row, column;
    offsets others;
};

__device__ __forceinline__ turn_place
place_of(const turn_task &t, uint32_t tile)
{
    const uint32_t strip = tile / t.strip, rest = strip / t.strips;
    const uint32_t along_strip = tile - strip * t.strip.by,
                   strip_at = strip - rest * t.strips.by;
    turn_place p;
    p.row = (int64_t)(t.strips_down ? along_strip : strip_at) * t.tile_rows;
    p.column = (int64_t)(t.strips_down ? strip_at : along_strip) * t.tile_columns;
    p.others = along(t.other, t.other_axes, rest);
    return p;
}

// A block for each of the plan's tiles.
template <typename... P>
wk_status
launch_turn(wk_call *call, const wk_tiles *plan, int threads, int64_t shared,
            void (*kernel)(P...))
{
    if (plan->tiles > INT32_MAX)
        return WK_FAIL(&call->error, WK_EMEMORY, "%lld tiles are more than a GPU can number",
                       (long long)plan->tiles);
    if (grant(call, kernel, (size_t)shared) != WK_OK) return call->error.status;
    return launch(call, (unsigned)plan->tiles, threads, (size_t)shared, kernel,
                  turn_task_of(call, plan));
}

wk_status transpose_short(wk_call *call, const wk_tiles *plan);
wk_status transpose_aligned(wk_call *call, const wk_tiles *plan);
wk_status transpose_words(wk_call *call, const wk_tiles *plan);
wk_status transpose_units(wk_call *call, const wk_tiles *plan);
wk_status transpose_few(wk_call *call, const wk_tiles *plan);
wk_status transpose_rows(wk_call *call, const wk_tiles *plan);
wk_status transpose_boxes(wk_call *call, const wk_tiles *plan);

} // namespace wk
