/* warpkit.h -- the contract between the Python glue, the CPU code and the CUDA code.
 *
 * It includes neither Python.h nor cuda_runtime.h: a type that needs either belongs on one
 * side of the fence, not here. Everything a kernel is told comes through a wk_call. */
#ifndef WARPKIT_H
#define WARPKIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WK_MAX_DIMS = 64, WK_MAX_OUTS = 12 }; /* 64 is NumPy's own limit */

/* ---- what there is ---------------------------------------------------------------------- */

typedef enum {
    WK_REDUCE,
    WK_TRANSPOSE,
    WK_STENCIL1D,
    WK_HISTOGRAM,
    WK_WARP_HISTOGRAM,
    WK_RUN_LENGTH,
    WK_UNIQUE_COUNTS,
    WK_DOT,
    WK_SEGMENT_REDUCE,
    WK_GROUP,
    WK_CUMSUM,
    WK_SHFL, /* the warp primitives: see wk_lanes_args */
    WK_VOTE,
    WK_MATCH,
    WK_WARP_REDUCE,
    WK_WARP_SCAN,
    WK_LANE_BITS,
    WK_LANE_ARRAYS,
    WK_SMEM_TILE, /* experiments with the chip's memories */
    WK_LANE_READS,
    WK_OPS
} wk_op;

/* Does a call take all of its input at once? Then none of it is cut to cross the bus in pieces. */
static inline int
wk_takes_all(wk_op op)
{
    return op >= WK_RUN_LENGTH;
}

typedef enum {
    WK_BOOL,
    WK_I8,
    WK_U8,
    WK_I16,
    WK_U16,
    WK_I32,
    WK_U32,
    WK_I64,
    WK_U64,
    WK_F16,
    WK_BF16, /* ml_dtypes.bfloat16 */
    WK_F32,
    WK_F64,
    WK_C64,
    WK_C128,
    WK_DTYPES
} wk_dtype;

typedef enum { WK_CPU, WK_CUDA, WK_EMU, WK_KINDS } wk_kind;

extern const char *const wk_op_names[WK_OPS];
extern const char *const wk_dtype_names[WK_DTYPES];
extern const char *const wk_kind_names[WK_KINDS];
extern const int wk_itemsize[WK_DTYPES];

/* The dtype of a complex one's parts; a real one as it is. */
static inline wk_dtype
wk_real_of(wk_dtype dtype)
{
    return dtype == WK_C64 ? WK_F32 : dtype == WK_C128 ? WK_F64 : dtype;
}

/* ---- errors: the first failure wins ----------------------------------------------------- */

typedef enum {
    WK_OK,
    WK_EVALUE,    /* ValueError  */
    WK_ETYPE,     /* TypeError   */
    WK_EMEMORY,   /* MemoryError */
    WK_EDEVICE,   /* warpkit.DeviceError */
    WK_EINTERRUPT /* the exception that a signal's handler has raised, as KeyboardInterrupt */
} wk_status;

typedef struct wk_error {
    wk_status status;
    const char *file;
    int line;
    char text[500];
} wk_error;

#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
wk_status
wk_fail(wk_error *error, wk_status status, const char *file, int line, const char *format, ...);

/* The failure of one thing as that of another, which it is a part of. */
wk_status wk_fail_as(wk_error *error, const wk_error *cause);

#define WK_FAIL(error, status, ...) wk_fail(error, status, __FILE__, __LINE__, __VA_ARGS__)

/* ---- arrays ----------------------------------------------------------------------------- */

typedef struct wk_array {
    void *host;    /* lowest byte of the block that holds the elements, on the host; NULL: they
                      lie on the device, at data                                          */
    void *data;    /* the same block where the kernel runs; NULL until it is there        */
    int64_t bytes; /* length of that block                                                */
    int64_t first; /* offset in bytes of element [0, ..., 0] in the block                 */
    wk_dtype dtype;
    int ndim;
    int64_t shape[WK_MAX_DIMS];
    int64_t strides[WK_MAX_DIMS]; /* in elements; may be zero or negative                 */
} wk_array;

typedef union wk_value { /* a scalar of any dtype */
    int64_t i;
    uint64_t u;
    float f32[2]; /* the second: an imaginary part */
    double f64[2];
    uint8_t bytes[16];
} wk_value;

/* ---- what each operation is told, beside its arrays ------------------------------------- */

typedef enum {
    WK_SUM,
    WK_PROD,
    WK_MIN,
    WK_MAX,
    WK_MEAN,
    WK_VAR,
    WK_STD,
    WK_NORM,  /* the root of the sum of squared magnitudes */
    WK_SUMSQ, /* that sum */
    WK_ANY,
    WK_ALL,
    WK_COUNT_NONZERO,
    WK_ARGMIN,
    WK_ARGMAX,
    WK_PTP, /* max - min */
    WK_FOLDS
} wk_fold;
extern const char *const wk_fold_names[WK_FOLDS];

/* in.shape: kept axes, in the output's order, then reduced ones. out[i] is fold[i], of a dtype that
 * says how it is rounded. The folds of a call are of one family (reduce.h). */
typedef struct wk_reduce_args {
    wk_fold fold[WK_MAX_OUTS];
    int kept;
    int64_t outputs, n;  /* products of the kept and of the reduced extents               */
    int64_t first;       /* index of this piece's first element in the whole fold         */
    int planes;          /* 2: outputs are real and imaginary parts by turns, else 1      */
    int skip_nan;        /* as in nansum: NaN is no element                               */
    int has_initial;     /* initial is one more element of every output                   */
    wk_value initial;    /* as reduce.h says                                              */
    double ddof;         /* var, std divide by n - ddof                                   */
    uint64_t order_mask; /* segment_reduce: the bits of `beside` that are an index         */
} wk_reduce_args;

typedef enum {
    WK_NEAREST,
    WK_WRAP,
    WK_REFLECT,
    WK_MIRROR,
    WK_CONSTANT
} wk_mode; /* scipy.ndimage's names */

/* in: lines of n along the axis, [outer][n][inner] in any strides (wk_in_lines: as kernels take it);
 * out: [outer][outputs][inner]. aux holds the coefficients, of the dtype that sums have: float32,
 * float64, or complex128 where the coefficients are. Complex elements with real ones come as twice
 * as many real elements, their parts. */
typedef struct wk_stencil_args {
    int64_t outer, n, inner;
    int64_t outputs;      /* along the axis: n; fewer with no element beyond the ends, or in a
                             piece that brings its halo                                    */
    int64_t taps, before; /* out[i] = sum over t of c[t] in[i + t - before]                */
    wk_mode mode;
    double cval[2]; /* of elements of even and of odd inner index: of parts; of complex ones
                       with complex coefficients: their parts                              */
} wk_stencil_args;

typedef enum {
    WK_BINS_UNIFORM, /* numpy.histogram's arithmetic for `bins` equal bins                */
    WK_BINS_EDGES,   /* any increasing edges, by binary search                            */
    WK_BINS_VALUES   /* the value is the bin, as in numpy.bincount                        */
} wk_bins_kind;

/* in: n elements in any order; aux: bins + 1 edges, but for VALUES: float32 or float64 for UNIFORM
 * (float32 holds those of 16 bits), float64, int64 or uint64 for EDGES. Bins are half open, the last
 * one closed; NaN, and what lies outside, is in none.
 * Weights are of in's shape, both C-contiguous; without any out[0] is int64 counts. With weights it is
 * their sums a bin: floats exact, rounded once to out's dtype, integers modulo 2^64, then out's dtype.
 * Whatever -0.0 are added, no sum is -0.0.
 * VALUES of one element at least take other folds too. MEAN: aux holds the counts, int64 [bins], by which exact sums are divided
 * before they are rounded. MIN, MAX of real weights, of whose dtype out is: NaN where there are no floats,
 * of integers nothing that means anything. */
typedef struct wk_histogram_args {
    wk_bins_kind kind;
    wk_fold fold; /* of weights: SUM; of those of VALUES also MEAN, MIN, MAX */
    int64_t n, bins;
    int outside;        /* out[0] has one more element: of what is in no bin            */
    double first, last; /* UNIFORM: the range's ends, from which the edges were made    */
    double width;       /* their difference, as NumPy computes it                       */
    uint64_t low, high; /* UNIFORM, integer input: smallest and largest value counted   */
    wk_dtype element;   /* UNIFORM: the float type of the edges; x - first is rounded to it */
    wk_dtype quotient;  /* and the one in which that is divided by the width             */
    int by_edges;       /* UNIFORM: NumPy's bin is the one whose edges enclose x (bins.c) */
    double off;         /* and how far edges may be off their places, in bins          */
    float scale, guard[2]; /* UNIFORM: the quick guess (bins.h)                             */
    float bias;            /* and of integers                                                */
} wk_histogram_args;

typedef struct wk_warp_histogram_args { /* in: C-contiguous [n] */
    int64_t n;
    int sorted; /* each group of 32 is known to be ascending                              */
} wk_warp_histogram_args;

/* run_length and unique_counts. in: C-contiguous [n]; out: values [n], of in's dtype; counts [n] and
 * how many there are [1], int64. What lies behind those is not written. */
typedef struct wk_runs_args {
    int64_t n;
} wk_runs_args;

/* in, beside: C-contiguous [outputs][n], of one dtype. out[0]: the sum of their products for each
 * output, of that dtype: of floats exact and rounded once, of complex numbers each part by itself; an
 * exact zero is 0.0; of integers modulo 2^bits, of bool whether any is true. */
typedef struct wk_dot_args {
    int64_t outputs, n;
    int conjugate; /* complex: of in's conjugates */
} wk_dot_args;

/* segment_reduce has wk_reduce_args, of one fold: in: C-contiguous [n]; aux: offsets, int64 [outputs + 1].
 * Segment s is the elements number offsets[s] .. offsets[s + 1] - 1, or with `beside`, of int64 [n], those
 * at such places of it: element beside[i] & order_mask. out[0]: a result each; out[1], int64 [2]: the
 * first offset that lies before the one before it or beyond the elements, and the first segment that is
 * empty; -1: there is none. Indices are the array's. Of no element an extreme is NaN or 0, an index -1. */

/* in: C-contiguous integers [n]. out[0], int64 [n]: places in the order of their keys, equal ones in
 * their own, in the low bits `mask` has; out[1], int64 [groups + 1]: where each key's begin; out[2],
 * int64 [1]: the first place whose key is none of 0 .. groups - 1, which belongs nowhere then, or -1. */
typedef struct wk_group_args {
    int64_t n, groups;
    uint64_t mask;
} wk_group_args;

/* in: C-contiguous [lines][n][inner]; out[0] likewise, of the dtype of sums: each line's sums of its first
 * element, its first two, ...; of floats each exact, and rounded once. */
typedef struct wk_cumsum_args {
    int64_t lines, n;
    int64_t inner; /* elements side by side, each of a line of its own */
    int skip_nan;  /* NaN counts as 0                                  */
} wk_cumsum_args;

typedef enum {
    WK_LANES_IDX, /* shfl */
    WK_LANES_UP,
    WK_LANES_DOWN,
    WK_LANES_XOR,
    WK_LANES_ROTATE,
    WK_LANES_BALLOT, /* vote */
    WK_LANES_ANY,
    WK_LANES_ALL,
    WK_LANES_MATCH_ANY, /* match */
    WK_LANES_MATCH_ALL,
    WK_LANES_SUM, /* warp_reduce, warp_scan */
    WK_LANES_MIN,
    WK_LANES_MAX,
    WK_LANES_BIT_AND,
    WK_LANES_BIT_OR,
    WK_LANES_BIT_XOR,
    WK_LANES_POPC, /* lane_bits */
    WK_LANES_FNS,
    WK_LANES_XOR_ARRAY, /* lane_arrays */
    WK_LANES_SWAP
} wk_lanes_kind;

/* in: C-contiguous [outer][n]: each n are warps of 32 lanes, the last of as many as are left; of
 * lane_arrays 32 lanes of `each` elements. out[0] as in, of a dtype that says what a lane gets:
 * shfl and lane_arrays in's; warp_reduce and warp_scan too, but of 1 and 2 bytes int32, uint32 or
 * float32; BALLOT, MATCH_ANY, MATCH_ALL and FNS uint32, ANY and ALL bool, POPC int32. num/lanes.h has the
 * rules. */
typedef struct wk_lanes_args {
    wk_lanes_kind kind;
    int64_t outer, n;
    int width;     /* of a segment, 2 to 32, a power of two */
    int operand;   /* the source lane, delta or mask; FNS: base                            */
    int offset;    /* FNS                                                                  */
    int per_lane;  /* IDX: aux, int32 [outer][n], has each lane's source                   */
    int exclusive; /* warp_scan */
    int each, first, second; /* lane_arrays: elements a lane; SWAP: which of them          */
} wk_lanes_args;

/* in: [rows][cols], C-contiguous, of 4 or 8 bytes; at most WK_TILE of them. A block of as many threads
 * writes it to a tile in shared memory and reads it back, each by rows or by columns; a tile that is
 * written by rows has in's shape, else the transposed one. out[0] what thread after thread read; out[1],
 * int64 [2], clocks that `repeats` stores and as many loads of all took, 0 where there is no clock. */
enum { WK_TILE = 1024, WK_MOST_PAD = 2 };
typedef struct wk_smem_tile_args {
    int rows, cols;
    int turned; /* written one way and read the other, for rows whose names do not say it */
    int pad;    /* elements between rows of the tile, for rows that pad                   */
    int repeats;
} wk_smem_tile_args;

/* in: int32 [32], each lane's index below WK_READABLE into a table of elements of `item` bytes whose words
 * all hold their element's index. out[0], uint32 [32], the first word that each lane read; out[1],
 * int64 [1], clocks of `repeats` loads by each of WK_READERS warps, 0 where there is no clock. */
enum { WK_READABLE = 1024, WK_READERS = 32 };
typedef struct wk_lane_reads_args {
    int item; /* 4, 8 or 16      */
    int repeats;
} wk_lane_reads_args;

/* ---- a call: one operation on one device, or on several ----------------------------------- */

struct wk_context; /* threads and loaded plug-ins; the core's own */

/* An input too large for one trip, or on its way while the kernel works, comes in pieces (see
 * pieces.h), and a launcher is called for each. What a piece's results are not enough for keeps a state
 * of each output, zero at first, until all pieces are there: of a reduction cut along its fold what
 * its accumulator holds (reduce.h), the TREE's one total a chunk; of a histogram the sums of weights.
 * Its counts are their own state: out, with those of earlier pieces. */
typedef enum {
    WK_WHOLE,  /* in to out: all of a call, or a piece that has results of its own         */
    WK_PIECE,  /* in to state, or of counts to out                                         */
    WK_MERGE,  /* other to state; in is left alone, as it is from here on                  */
    WK_FINISH, /* state to out                                                             */
    WK_SIZE    /* just says what words is                                                  */
} wk_part_mode;

typedef struct wk_part {
    wk_part_mode mode;
    void *state;    /* device memory, [outputs]                                         */
    void *other;    /* MERGE: likewise, of another GPU                                  */
    int64_t words;  /* SIZE: 8-byte words of an output's state                          */
    int64_t chunks; /* TREE: of the whole fold                                          */
    int64_t first;  /* TREE: chunk of this piece's first element                        */
    int64_t output; /* of the whole, to which this piece's first belongs                */
    int64_t step[WK_MAX_DIMS]; /* outputs between neighbours along each kept axis          */
} wk_part;

/* A result of at most 8 bytes that the kernel writes to the host as well as to the device, so
 * that it can be awaited without a call of the driver. The value is there when slot[1] is the
 * ticket; for up to 4 bytes both are in slot[1], the ticket above. */
typedef struct wk_mailbox {
    volatile uint64_t *slot; /* NULL: there is none */
    uint32_t ticket;
    int bytes; /* of the value; a call that wants no mailbox leaves 0 here */
    int sent;  /* a launcher passed it on to its kernel */
} wk_mailbox;

typedef struct wk_call {
    wk_op op;
    struct wk_context *context;
    int ordinal;          /* which device of its kind                                */
    uint32_t devices;     /* bit i: device i takes part too, with an input on the host */
    void *stream;         /* a cudaStream_t                                           */
    void *session;        /* the backend's own: stream, allocations                  */
    wk_array in, aux;     /* aux.host NULL: there is none; a stencil's stays on the host */
    union {               /* of in's shape; ndim -1: none                             */
        wk_array beside;  /* whatever it is, for those that bring it along with in    */
        wk_array mask;    /* reduce: bool, which elements count                       */
        wk_array weights; /* histogram                                                */
    };                    /* dot: the other operand; segment_reduce: places               */
    wk_array out[WK_MAX_OUTS]; /* C-contiguous; written whole by the kernel               */
    int outs;
    int fresh; /* out is new host memory, its pages not there yet                          */
    union {
        wk_reduce_args reduce;
        wk_stencil_args stencil;
        wk_histogram_args histogram;
        wk_warp_histogram_args warp_histogram;
        wk_runs_args runs;
        wk_dot_args dot;
        wk_group_args group;
        wk_cumsum_args cumsum;
        wk_lanes_args lanes;
        wk_smem_tile_args tile;
        wk_lane_reads_args reads;
    } args;
    wk_part part;
    wk_mailbox mailbox; /* slot is set by the backend, and after the call where it was sent   */
    int64_t *progress; /* NULL or two: pieces of the work that are done, and of all           */
    wk_error error;
} wk_call;

typedef wk_status wk_launch(wk_call *call);

/* An empty call; what has a length of its own (shapes, texts) is left as it is: 7 KiB would take
 * longer to clear than a small call takes. */
void wk_call_start(wk_call *call, wk_op op, int outs);

/* ---- backends --------------------------------------------------------------------------- */

typedef struct wk_device_info {
    char name[128];
    int compute_capability; /* 90 for 9.0; 0 for a CPU                                    */
    int processors;         /* multiprocessors; 0 for a CPU                               */
    int64_t memory_total, memory_free;
    int64_t pool_used, pool_reserved; /* handed out now; held from the device              */
    int64_t pool_keep, pool_limit;    /* held between calls at most; handed out at most    */
    int64_t staging; /* pinned host memory that copies go through, held between calls      */
} wk_device_info;

typedef struct wk_backend {
    wk_kind kind;
    int (*count)(wk_error *error); /* how many devices; 0 with the reason in error         */
    wk_status (*info)(int ordinal, wk_device_info *info, wk_error *error);
    wk_status (*trim)(int ordinal, wk_error *error); /* give cached memory back             */

    /* in to out by launch. With in on the device it may return before the work is done, unless
     * out is on the host. A row that takes parts can be given a reduction cut along its fold. */
    wk_status (*run)(wk_call *call, wk_launch *launch, int takes_parts);

    /* What follows is NULL for the CPU. Streams are cudaStream_t; order is a stream's order. */
    wk_status (*copy)(wk_call *call); /* in to out[0], of one shape; in of any strides      */
    wk_status (*allocate)(int ordinal, void *stream, int64_t bytes, void **block,
                          wk_error *error);
    void (*release)(int ordinal, void *stream, void *block, int64_t bytes,
                    const wk_mailbox *mailbox);
    /* Is it device memory, whose, and, unless left is NULL, how many bytes from there on are of its
     * allocation? Those are 0 where the driver does not say. */
    int (*locate)(const void *address, int *ordinal, int64_t *left);
    wk_status (*follow)(int ordinal, void *later, void *earlier, wk_error *error);
    wk_status (*wait)(int ordinal, void *stream, wk_error *error);
    /* Waits for a mailbox; the value's bits, lowest byte first. */
    wk_status (*read)(int ordinal, void *stream, const wk_mailbox *mailbox, uint64_t *bits,
                      wk_error *error);
} wk_backend;

#define WK_THREAD_STREAM ((void *)2) /* cudaStreamPerThread */
#define WK_DEFAULT_STREAM                                                                      \
    ((void *)1) /* cudaStreamLegacy: CuPy's, PyTorch's and Numba's default */

/* What the core does for a plug-in. */
typedef struct wk_host {
    int (*threads)(struct wk_context *context);
    void (*parallel)(struct wk_context *context, int64_t items, int64_t grain,
                     void (*task)(void *arg, int64_t begin, int64_t end, int thread),
                     void *arg);
    int (*interrupted)(void);           /* the thread's call is to stop: see interrupt.h */
    const struct wk_settings *settings; /* settings.h */
    const volatile int *forks;          /* how many forks made this process, of those since the
                                         * first context */
} wk_host;

/* About a microsecond, for a thread that looks again and again at what others do. */
void wk_pause(void);

/* What a plug-in (_cuda, _emu) exports as wk_plugin_open. Its contract is the hash of this file and
 * of the names in kernels.def that the build gives (WK_CONTRACT), so that a stale plug-in is refused
 * instead of misread. */
typedef struct wk_plugin {
    char contract[40]; /* first, and in place: of any plug-in these bytes may be read       */
    const wk_backend *backend;
    wk_launch *const *launches; /* one per cuda row of kernels.def, in its order           */
    int rows;                   /* and how many these are                                  */
    const char *build;          /* "CUDA 13.0, sm_80 sm_90"                               */
} wk_plugin;

typedef const wk_plugin *wk_plugin_open_fn(const wk_host *host);

/* ---- the table of kernels --------------------------------------------------------------- */

typedef struct wk_row { /* one line of kernels.def */
    wk_op op;
    wk_kind backend; /* WK_CPU or WK_CUDA; the emulated device runs the CUDA rows          */
    const char *variant;
    uint32_t dtypes; /* bit d: takes wk_dtype d                                            */
    int production;
    wk_launch *launch; /* NULL for a CUDA row: its plug-in has it                          */
    const char *teaches;
} wk_row;

extern const wk_row wk_rows[];
extern const int wk_row_count;

/* Is it a plug-in of this build? */
int wk_plugin_fits(const wk_plugin *plugin);

#ifdef __cplusplus
}
#endif

/* The launcher of a row of kernels.def, defined by a body and declared by a semicolon; the call is
 * named `call`. Few files read the table itself, so that a new row compiles few files. */
#ifdef __cplusplus
#define WK_LAUNCHER(op, backend, variant)                                                      \
    extern "C" wk_status wk_##op##_##backend##_##variant(wk_call *call)
#else
#define WK_LAUNCHER(op, backend, variant)                                                      \
    wk_status wk_##op##_##backend##_##variant(wk_call *call)
#endif
#endif
