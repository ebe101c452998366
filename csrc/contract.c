/* contract.c -- the contract's names, sizes and errors; in the core and in every plug-in. */
#include "warpkit.h"

#include <stdarg.h>
#include <stdio.h>

const char *const wk_op_names[WK_OPS] = {"reduce", "transpose", "stencil1d", "histogram",
                                         "warp_histogram"};
const char *const wk_dtype_names[WK_DTYPES] = {"bool",   "int8",    "uint8",  "int16",
                                               "uint16", "int32",   "uint32", "int64",
                                               "uint64", "float32", "float64"};
const char *const wk_kind_names[WK_KINDS] = {"cpu", "cuda", "emu"};
const char *const wk_fold_names[WK_FOLDS] = {"sum", "prod", "min", "max", "mean"};
const int wk_itemsize[WK_DTYPES] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

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
