/* error.c -- records a failure; linked into the core and into every plug-in. */
#include "warpkit.h"

#include <stdarg.h>
#include <stdio.h>

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
