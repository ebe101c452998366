/* plan.h -- canonical forms: what every kernel may assume about its input's axes. */
#ifndef WARPKIT_PLAN_H
#define WARPKIT_PLAN_H

#include "warpkit.h"

/* Number of elements. */
int64_t wk_size(const wk_array *a);

/* Sets host, first and bytes from the address of element [0, ..., 0] and the strides. */
void wk_set_block(wk_array *a, void *element0);

/* Reorders the axes into kept (in the output's order) and reduced (as they lie in memory, the
 * fastest last), drops extents of 1, fuses neighbours. A float sum's order is the memory's. */
void wk_plan_reduce(wk_array *a, uint64_t axes, wk_reduce_args *args);

/* Permutes the axes into the output's order (NULL: as they are), drops extents of 1, fuses
 * neighbours. */
void wk_plan_transpose(wk_array *a, const int *axes);

/* Fills strides with those of a C-contiguous array of a's shape. */
void wk_set_contiguous(wk_array *a);

/* If the elements do not fill one block without gaps, gathers them (on the CPU, by the blocked
 * transpose) into a new C-contiguous one; the caller frees *packed. */
wk_status wk_pack(wk_call *call, wk_array *a, void **packed);

#endif
