/* smem / cpu -- what the experiments with the chip's memories give; a CPU has none of those to time. */
#include "warpkit.h"
#include "cpu/isa.h"

#include <string.h>

WK_CPU_LAUNCHER(smem_tile, tile)
{
    const wk_smem_tile_args *a = &call->args.tile;
    const size_t item = (size_t)wk_itemsize[call->in.dtype];
    const char *in = (const char *)call->in.data + call->in.first;
    char *out = call->out[0].data;
    for (int y = 0; y < a->rows; y++)
        for (int x = 0; x < a->cols; x++) {
            const int to = a->turned ? x * a->rows + y : y * a->cols + x;
            memcpy(out + (size_t)to * item, in + (size_t)(y * a->cols + x) * item, item);
        }
    memset(call->out[1].data, 0, 2 * sizeof(int64_t));
    return WK_OK;
}

WK_CPU_LAUNCHER(lane_reads, table)
{
    const char *in = (const char *)call->in.data + call->in.first;
    memcpy(call->out[0].data, in, 32 * sizeof(int32_t));
    memset(call->out[1].data, 0, sizeof(int64_t));
    return WK_OK;
}
