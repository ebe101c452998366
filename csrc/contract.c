/* contract.c -- the contract's names, sizes and errors; in the core and in every plug-in. */
#include "warpkit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const wk_op_names[WK_OPS] = {
    "reduce",     "transpose",     "stencil1d",   "histogram",      "warp_histogram",
    "run_length", "unique_counts", "dot",         "segment_reduce", "group",
    "cumsum",     "shfl",          "vote",        "match",          "warp_reduce",
    "warp_scan",  "lane_bits",     "lane_arrays", "smem_tile",      "lane_reads"};
const char *const wk_dtype_names[WK_DTYPES] = {
    "bool",   "int8",    "uint8",    "int16",   "uint16",  "int32",     "uint32",    "int64",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
const char *const wk_kind_names[WK_KINDS] = {"cpu", "cuda", "emu"};
const char *const wk_fold_names[WK_FOLDS] = {"sum", "prod",          "min",    "max",    "mean",
                                             "var", "std",           "norm",   "sumsq",  "any",
                                             "all", "count_nonzero", "argmin", "argmax", "ptp"};
const int wk_itemsize[WK_DTYPES] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};

wk_status
wk_fail(wk_error *error, wk_status status, const char *file, int line, const char *format, ...)
{
    if (error->status != WK_OK) return error->status; /* the first failure is the cause */

    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    error->status = status;
    error->file = file;
    error->line = line;
    return status;
}

wk_status
wk_fail_as(wk_error *error, const wk_error *cause)
{
    return wk_fail(error, cause->status, cause->file, cause->line, "%s", cause->text);
}

static void
start_array(wk_array *a)
{
    a->host = a->data = NULL;
    a->bytes = a->first = 0;
    a->dtype = WK_BOOL;
    a->ndim = 0;
}

void
wk_call_start(wk_call *call, wk_op op, int outs)
{
    call->op = op;
    call->context = NULL;
    call->ordinal = call->fresh = 0;
    call->devices = 0;
    call->stream = call->session = NULL;
    start_array(&call->in);
    start_array(&call->aux);
    start_array(&call->beside);
    call->beside.ndim = -1;
    for (int i = 0; i < outs; i++) start_array(&call->out[i]);
    call->outs = outs;
    memset(&call->args, 0, sizeof call->args);
    memset(&call->part, 0, offsetof(wk_part, step));
    memset(&call->mailbox, 0, sizeof call->mailbox);
    call->progress = NULL;
    call->error.status = WK_OK;
    call->error.text[0] = '\0';
}

void
wk_pause(void)
{
    for (int i = 0; i < 20; i++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}
