/* registry.c -- expands kernels.def, finds a row in it and runs it. */
#include "context.h"
#include "interrupt.h"
#include "meant.h"
#include "plan.h"
#include "settings.h"

#include <string.h>

#define ALL ((1u << WK_DTYPES) - 1)
#define REAL ((1u << WK_C64) - 1) /* all that has an order */
#define NUMBERS ((1u << WK_F16) - 1 + (1u << WK_F32) + (1u << WK_F64))
#define SUMS (1u << WK_I32 | 1u << WK_F32 | 1u << WK_F64) /* of the rungs that only sum */
#define INT32 (1u << WK_I32)
#define REALS (1u << WK_F32 | 1u << WK_F64) /* of the rungs that correlate */
#define INTEGERS ((1u << WK_F16) - 1)
#define NARROW (ALL & ~(1u << WK_C128)) /* of at most 8 bytes */
#define LANES (1u << WK_I32 | 1u << WK_U32 | 1u << WK_I64 | 1u << WK_U64 | REALS)
#define FOLDS (NARROW & ~(1u << WK_C64))                   /* in 4 or 8 bytes */
#define BITS32 ((1u << WK_I64) - 1)                        /* folds in 32 bits */
#define WORDS (1u << WK_I32 | 1u << WK_U32 | 1u << WK_F32) /* of the rungs that move 4 bytes */

#define OP_reduce WK_REDUCE
#define OP_transpose WK_TRANSPOSE
#define OP_stencil1d WK_STENCIL1D
#define OP_histogram WK_HISTOGRAM
#define OP_warp_histogram WK_WARP_HISTOGRAM
#define OP_run_length WK_RUN_LENGTH
#define OP_unique_counts WK_UNIQUE_COUNTS
#define OP_dot WK_DOT
#define OP_segment_reduce WK_SEGMENT_REDUCE
#define OP_group WK_GROUP
#define OP_cumsum WK_CUMSUM
#define OP_shfl WK_SHFL
#define OP_vote WK_VOTE
#define OP_match WK_MATCH
#define OP_warp_reduce WK_WARP_REDUCE
#define OP_warp_scan WK_WARP_SCAN
#define OP_lane_bits WK_LANE_BITS
#define OP_lane_arrays WK_LANE_ARRAYS
#define OP_smem_tile WK_SMEM_TILE
#define OP_lane_reads WK_LANE_READS
#define KIND_cpu WK_CPU
#define KIND_cuda WK_CUDA
#define LAUNCH_cpu(op, variant) wk_##op##_cpu_##variant
#define LAUNCH_cuda(op, variant) NULL

#define ROW(op, backend, variant, dtypes, production, teaches)                                 \
    WK_LAUNCHER(op, backend, variant);
#include "kernels.def"
#undef ROW

#define ROW(op, backend, variant, dtypes, production, teaches)                                 \
    {OP_##op, KIND_##backend, #variant, dtypes, production, LAUNCH_##backend(op, variant),     \
     teaches},
const wk_row wk_rows[] = {
#include "kernels.def"
};
#undef ROW

const int wk_row_count = (int)(sizeof wk_rows / sizeof wk_rows[0]);

int
wk_plugin_fits(const wk_plugin *plugin)
{
    if (memcmp(plugin->contract, WK_CONTRACT, sizeof WK_CONTRACT) != 0) return 0;
    int rows = 0;
    for (int i = 0; i < wk_row_count; i++) rows += wk_rows[i].backend == WK_CUDA;
    return plugin->rows == rows;
}

static wk_status
unknown_variant(wk_call *call, wk_kind backend, const char *variant)
{
    char known[300] = "", meant[WK_MEANT];
    const char *names[64];
    int count = 0;
    for (const wk_row *row = wk_rows; row < wk_rows + wk_row_count; row++) {
        if (row->op != call->op || row->backend != backend) continue;
        if (strlen(known) + strlen(row->variant) + 3 > sizeof known) break;
        if (known[0]) strcat(known, ", ");
        strcat(known, row->variant);
        if (count < 64) names[count++] = row->variant;
    }
    return WK_FAIL(&call->error, WK_EVALUE, "%s has no variant '%s' on '%s'%s; there are: %s",
                   wk_op_names[call->op], variant, wk_kind_names[backend],
                   wk_meant(meant, variant, names, count), known);
}

/* The row, and in *launch its launcher; the emulated device runs the CUDA rows. */
static const wk_row *
find(wk_call *call, wk_kind kind, const wk_slot *slot, const char *variant, wk_launch **launch)
{
    const wk_kind backend = kind == WK_CPU ? WK_CPU : WK_CUDA;
    int nth = 0; /* of the CUDA rows */
    for (const wk_row *row = wk_rows; row < wk_rows + wk_row_count; row++) {
        const int here = row->op == call->op && row->backend == backend;
        if (here && (variant ? strcmp(row->variant, variant) == 0 : row->production)) {
            *launch = row->launch ? row->launch : slot->plugin->launches[nth];
            return row;
        }
        nth += row->backend == WK_CUDA;
    }
    unknown_variant(call, backend, variant ? variant : "(production)");
    return NULL;
}

static wk_status
wrong_dtype(wk_call *call, const wk_row *row)
{
    char taken[200] = "";
    for (int d = 0; d < WK_DTYPES; d++) {
        if (!(row->dtypes >> d & 1)) continue;
        if (taken[0]) strcat(taken, ", ");
        strcat(taken, wk_dtype_names[d]);
    }
    return WK_FAIL(&call->error, WK_ETYPE,
                   "%s variant '%s' does not take dtype %s; there are: %s",
                   wk_op_names[call->op], row->variant, wk_dtype_names[call->in.dtype], taken);
}

static int
nothing_to_do(const wk_call *call)
{
    for (int i = 0; i < call->outs; i++)
        if (wk_size(&call->out[i]) > 0) return 0;
    return 1;
}

static wk_status
check_state(wk_call *call, wk_kind kind)
{
    const wk_settings *settings = wk_settings_now();
    if (settings->error.status) return wk_fail_as(&call->error, &settings->error);
    if (kind != WK_CPU && wk_within_handler())
        return WK_FAIL(&call->error, WK_EDEVICE,
                       "a signal's handler cannot use device '%s' within another call's wait",
                       wk_kind_names[kind]);
    return WK_OK;
}

/* Whatever else came of a call that was stopped. */
static wk_status
end_of(wk_call *call, wk_status status)
{
    if (!wk_was_interrupted()) return status;
    call->error.status = WK_OK;
    return WK_FAIL(&call->error, WK_EINTERRUPT, "stopped by a signal");
}

wk_status
wk_run_copy(wk_call *call, const wk_backend *backend)
{
    if (check_state(call, backend->kind) != WK_OK) return call->error.status;
    return end_of(call, backend->copy(call));
}

wk_status
wk_run(wk_call *call, wk_kind kind, const char *variant)
{
    if (check_state(call, kind) != WK_OK) return call->error.status;
    const wk_slot *slot = wk_find_device(call->context, kind, call->ordinal, &call->error);
    if (slot == NULL) return call->error.status;
    if (call->devices == UINT32_MAX) /* all that there are */
        call->devices = slot->count >= 32 ? UINT32_MAX : ((uint32_t)1 << slot->count) - 1;
    for (int i = 0; i < 32 && call->devices >> i; i++)
        if (call->devices >> i & 1 && !wk_find_device(call->context, kind, i, &call->error))
            return call->error.status;
    wk_launch *launch = NULL;
    const wk_row *row = find(call, kind, slot, variant, &launch);
    if (row == NULL) return call->error.status;
    if (!(row->dtypes >> call->in.dtype & 1)) return wrong_dtype(call, row);
    if (nothing_to_do(call)) return WK_OK;
    return end_of(call, slot->backend->run(call, launch, row->production));
}
