/* plan.h -- canonical forms: what every kernel may assume about its input's axes. */
#ifndef WARPKIT_PLAN_H
#define WARPKIT_PLAN_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of elements. */
int64_t wk_size(const wk_array *a);

/* Sets host, first and bytes from the address of element [0, ..., 0] and the strides. */
void wk_set_block(wk_array *a, void *element0);

/* Reorders the axes into kept (in the output's order) and reduced, drops extents of 1, fuses
 * neighbours. The reduced ones come as they lie in memory, the fastest last and none backwards;
 * with logical set as they are, so that an element's place in the fold is its index. where, of a's
 * shape, is done likewise; NULL: there is none. */
void wk_plan_reduce(wk_array *a, wk_array *where, uint64_t axes, int logical,
                    wk_reduce_args *args);

/* A complex array that wk_plan_reduce made as a real one with one more axis, of the real and the
 * imaginary part: the last reduced one if fold is set, else the last kept one, two planes. */
void wk_plan_parts(wk_array *a, wk_array *where, int fold, wk_reduce_args *args);

/* A C-contiguous complex array likewise, the parts last. */
void wk_see_parts(wk_array *a);

/* Permutes the axes into the output's order (NULL: as they are), drops extents of 1, fuses
 * neighbours. */
void wk_plan_transpose(wk_array *a, const int *axes);

/* Permutes the axes into the order of the memory, the fastest last: numpy.ravel's order "K". Then as
 * wk_plan_transpose. */
void wk_plan_copy(wk_array *a);

/* Sets the lines of a stencil along an axis; complex elements as their parts, if asked. The array
 * becomes [outer][n][inner] where its strides allow that, else it keeps more axes. */
void wk_plan_lines(wk_array *a, int axis, int parts, wk_stencil_args *args);

/* Is it [outer][n][inner] of the call's extents, the inner ones side by side? */
int wk_are_lines(const wk_array *a, const wk_stencil_args *args);

/* And with gaps only between rows that are wide? */
int wk_in_lines(const wk_array *a, const wk_stencil_args *args);

/* A C-contiguous array as such lines. */
void wk_set_lines(wk_array *a, const wk_stencil_args *args);

/* Fills strides with those of a C-contiguous array of a's shape. */
void wk_set_contiguous(wk_array *a);

/* Drops extents of 1 in [from, ndim) and merges neighbours that are one run of memory. */
void wk_fuse(wk_array *a, int from);

/* Axis i becomes what axis order[i] was. */
void wk_permute(wk_array *a, const int *order);

/* The first `kept` axes from far to near in memory, then the others as they are; is that another order? */
int wk_order_kept(const wk_array *a, int kept, int *order);

/* Walks an axis the other way, from its other end; of an array without elements that is nowhere. */
void wk_flip(wk_array *a, int d, int empty);

/* wk_fuse, for arrays that wk_plan_reduce made and that have other strides since. */
void wk_fuse_reduced(wk_array *a, wk_array *where, wk_reduce_args *args);

/* Do the elements fill their block, each once, whatever the order of the axes? */
int wk_dense(const wk_array *a);

int wk_c_contiguous(const wk_array *a);

#ifdef __cplusplus
}
#endif

#endif
