/* runs.h -- runs of equal neighbours, written one behind the other: run_length, and the end of
 * unique_counts. */
#ifndef WARPKIT_RUNS_H
#define WARPKIT_RUNS_H

#include "cpu/isa.h"
#include "cpu/threads.h"
#include "num/keys.h"

/* Runs of in[n] to values and counts; how many, or -1 without memory. Elements come as they are, or
 * as num/keys.h's ascending keys, then of 4 bytes where the dtype has fewer. */
int64_t WK_ISA_NAME(wk_write_runs)(wk_context *context, const void *in, int64_t n,
                                   wk_dtype dtype, int keys, void *values, int64_t *counts);

/* The same, in the caller's thread. */
int64_t WK_ISA_NAME(wk_write_runs_alone)(const void *in, int64_t n, wk_dtype dtype, int keys,
                                         void *values, int64_t *counts);

#endif
