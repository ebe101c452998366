/* fold.h -- the inner loops of a reduction, per fold and element type. */
#ifndef WARPKIT_FOLD_H
#define WARPKIT_FOLD_H

#include "scalar.h"
#include "cpu/isa.h"

enum {
    WK_LANE_BYTES = 1 << 15, /* lanes times columns: half a first-level cache */
    WK_AHEAD = 8             /* rows asked for ahead; see bench/cpu.py, axis 0 */
};

typedef struct wk_folds {
    int64_t total_size;                                   /* of a total, at most 8 bytes */
    void (*chunk)(const void *x, int64_t n, void *total); /* a run of elements */
    void (*columns)(const void *x, const int64_t *offsets, int64_t n, int64_t width,
                    void *totals);
    void (*again)(const void *totals, int64_t n, void *total); /* a run of totals */
    void (*finish)(const void *totals, int64_t count, int64_t n, void *out);
} wk_folds;

/* One table per fold, indexed by the input's dtype. */
extern const wk_folds WK_ISA_NAME(wk_folds_sum)[WK_DTYPES],
    WK_ISA_NAME(wk_folds_prod)[WK_DTYPES], WK_ISA_NAME(wk_folds_min)[WK_DTYPES],
    WK_ISA_NAME(wk_folds_max)[WK_DTYPES], WK_ISA_NAME(wk_folds_mean)[WK_DTYPES];

/* An entry of such a table: the functions that reduce_body.h made for `type`, and for the
 * lanes' type `lane`. */
#define FOLDS(type, lane, finish)                                                              \
    {                                                                                          \
        sizeof_##lane, chunk_##type, columns_##type, chunk_##lane, finish                      \
    }

enum {
    sizeof_bool = 1,
    sizeof_i8 = 1,
    sizeof_u8 = 1,
    sizeof_i16 = 2,
    sizeof_u16 = 2,
    sizeof_i32 = 4,
    sizeof_u32 = 4,
    sizeof_i64 = 8,
    sizeof_u64 = 8,
    sizeof_f64 = 8
};

#endif
