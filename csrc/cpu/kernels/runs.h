/* runs.h -- runs of equal neighbours, written one behind the other: run_length, and the end of
 * unique_counts. */
#ifndef WARPKIT_RUNS_H
#define WARPKIT_RUNS_H

#include "cpu/isa.h"
#include "cpu/threads.h"
#include "num/keys.h"

/* Runs of num/keys.h's ascending keys, of 4 bytes where the dtype has fewer, to values and counts; how
 * many. In the caller's thread. */
int64_t WK_ISA_NAME(wk_write_runs)(const void *keys, int64_t n, wk_dtype dtype, void *values,
                                   int64_t *counts);

#endif
