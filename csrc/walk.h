/* walk.h -- copies between strided host arrays and packed memory, any part of them by itself. */
#ifndef WARPKIT_WALK_H
#define WARPKIT_WALK_H

#include "warpkit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wk_walk { /* the elements of an array, in C order of these axes */
    char *start;         /* of element [0, ..., 0] */
    int64_t item;        /* bytes of an element: 1, 2, 4 or 8 */
    int ndim;
    int64_t shape[WK_MAX_DIMS];
    int64_t strides[WK_MAX_DIMS]; /* in bytes */
} wk_walk;

/* The array's elements in C order; neighbouring axes are fused where they can be. */
void wk_walk_c_order(const wk_array *a, wk_walk *walk);

/* Appends an axis inside the present ones, or lengthens the last. */
void wk_walk_add(wk_walk *walk, int64_t extent, int64_t stride_bytes);

/* Elements begin .. end - 1 of the walk to packed[0 ..], or back from there; with stream past the
 * caches, for memory that is written whole and not read soon. */
void wk_gather(const wk_walk *walk, int64_t begin, int64_t end, void *packed);
void wk_scatter(const wk_walk *walk, int64_t begin, int64_t end, const void *packed,
                int stream);

/* The lowest address and the bytes from there, if elements begin .. end - 1 are one run of memory
 * in their order; else NULL. */
char *wk_walk_run(const wk_walk *walk, int64_t begin, int64_t end);

#ifdef __cplusplus
}
#endif

#endif
