/* gather.h -- reduced elements side by side, without those that do not count. */
#ifndef WARPKIT_GATHER_H
#define WARPKIT_GATHER_H

#include "warpkit.h"

/* The bits of a complex64, which is aligned as its parts are, and of 16 bytes. */
typedef uint64_t __attribute__((aligned(4))) wk_two_floats;
typedef struct wk_16 {
    uint64_t a, b;
} wk_16;

/* DO(T) of a type of so many bytes. */
#define WK_BY_SIZE(size, DO)                                                                   \
    switch (size) {                                                                            \
    case 1: DO(uint8_t); break;                                                                \
    case 2: DO(uint16_t); break;                                                               \
    case 4: DO(uint32_t); break;                                                               \
    case 8: DO(wk_two_floats); break;                                                          \
    default: DO(wk_16); break;                                                                 \
    }

/* Where element `index` of the axes [from, to) lies, counted in elements. */
int64_t wk_offset_of(const wk_array *a, int from, int to, int64_t index);

/* The reduced axes of an array as an odometer. */
typedef struct wk_odometer {
    const wk_array *a;
    int from;
    int64_t index[WK_MAX_DIMS], offset;
} wk_odometer;

void wk_odometer_at(wk_odometer *o, const wk_array *a, int from, int64_t start);

/* Elements that are left on the innermost axis. */
int64_t wk_odometer_left(const wk_odometer *o);

/* Moves on by `steps` along the last axis, which has at least that many left. */
void wk_odometer_move(wk_odometer *o, int64_t steps);

/* Offsets of the reduced elements start .. start + n - 1. */
void wk_list_offsets(const wk_array *a, int from, int64_t start, int64_t n, int64_t *offsets);

/* Where outputs first .. first + n - 1 begin. */
void wk_list_outputs(const wk_array *a, int kept, int64_t first, int64_t n, int64_t *offsets);

/* to[i * width + w] = x[offsets[i] + at[w]], of so many bytes each. */
void wk_pick(int64_t item, const void *x, const int64_t *offsets, int64_t n, const int64_t *at,
             int64_t width, void *to);

/* Copies the reduced elements start .. start + n - 1 of the output at x side by side. */
void wk_collect(const wk_array *a, int from, const char *x, int64_t start, int64_t n, void *to);

/* Elements in the order of their axes, side by side, by the blocked transpose: any array, to memory of its size. */
wk_status wk_copy_packed(wk_call *call, const wk_array *from, void *to);

/* Moves the elements that are kept together; index (where not NULL): which they were. */
int64_t wk_compact(int64_t item, void *x, int64_t n, const uint8_t *keep, int32_t *index);

#endif
