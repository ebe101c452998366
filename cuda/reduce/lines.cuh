// lines.cuh -- many lines that each lie side by side, short enough for a part of a warp: nothing but
// loads, the accumulator and the result. Warps go on without waiting for each other; if any line of
// a block does not settle, the block folds all of its lines again, the general way.
#pragma once
#include "reduce/take.cuh"

namespace wk
{

// False: some line of this block must be folded again.
template <class Acc>
__device__ __forceinline__ bool
fold_lines(const typename Acc::T *in, const reduce_task &task)
{
    using T = typename Acc::T;
    constexpr int kPer = 16 / (int)sizeof(T);
    const int team = task.team, thread = (int)threadIdx.x & (team - 1);
    const int64_t n = task.n, stride = task.kept.ndim ? task.kept.strides[0] : 0;
    const int own = (int)threadIdx.x >> (__ffs(team) - 1);
    bool doubt = false;
    // a warp's lanes go round together: joining is the warp's
    const int64_t first = (int64_t)blockIdx.x * task.width,
                  step = (int64_t)gridDim.x * task.width;
    for (int64_t base = first; base < task.outputs; base += step) {
        const int64_t line = base + own;
        const bool works = line < task.outputs;
        Acc acc;
        acc.start(task);
        if (works) {
            const T *x = in + line * stride;
            const int ragged = (int)(-reinterpret_cast<uintptr_t>(x) & 15) / (int)sizeof(T);
            const int lead = ragged < n ? ragged : (int)n;
            const int64_t vectors = (n - lead) / kPer;
            take_vectors(acc, reinterpret_cast<const vector16<uint32_t> *>(x + lead), task,
                         task.first + lead, vectors, thread, team);
            take_ends(acc, x, task, thread, (int)(n - vectors * kPer), team, lead,
                      vectors * kPer);
        }
        if (team > 1) acc.join_lanes(team);
        if (works && thread == 0 && !acc.finish(task, line)) doubt = true;
    }
    if constexpr (Acc::kLimbs == 0)
        return true;
    else
        return !__syncthreads_or(doubt);
}

} // namespace wk
