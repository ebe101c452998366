/* dlpack.h -- DLPack's structs, which arrays cross from one library to another in.
 *
 * Source    the layout that DLPack 1.3 specifies (github.com/dmlc/dlpack, include/dlpack/dlpack.h,
 *           Apache-2.0), written anew. Names are the specification's; the order and the sizes of
 *           the fields are an ABI. */
#ifndef WARPKIT_DLPACK_H
#define WARPKIT_DLPACK_H

#include "glue.h"

enum { DL_MAJOR = 1, DL_MINOR = 3 };

typedef struct DLPackVersion {
    uint32_t major; /* another one: another layout; only the deleter may be used */
    uint32_t minor; /* another one: more device types and dtypes */
} DLPackVersion;

typedef enum { /* those that warpkit takes; the others have names in dlpack.c */
               kDLCPU = 1,
               kDLCUDA = 2,
               kDLCUDAHost = 3,     /* pinned host memory */
               kDLCUDAManaged = 13, /* of the host and of all devices; its device_id is 0 */
} DLDeviceType;

typedef struct DLDevice {
    int32_t device_type; /* DLDeviceType */
    int32_t device_id;
} DLDevice;

typedef enum { /* those that warpkit takes */
               kDLInt = 0,
               kDLUInt = 1,
               kDLFloat = 2,
               kDLBfloat = 4,
               kDLComplex = 5,
               kDLBool = 6,
} DLDataTypeCode;

typedef struct DLDataType {
    uint8_t code; /* DLDataTypeCode */
    uint8_t bits;
    uint16_t lanes; /* of a vector type; otherwise 1 */
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides;     /* in elements; NULL before version 1.2: C-contiguous */
    uint64_t byte_offset; /* from data to element [0, ..., 0] */
} DLTensor;

typedef struct DLManagedTensor { /* in a capsule "dltensor" */
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
} DLManagedTensor;

enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2 };

typedef struct DLManagedTensorVersioned { /* in a capsule "dltensor_versioned" */
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* Version 1.3's table of C functions, in a capsule "dlpack_exchange_api" that is its type's
 * __dlpack_c_exchange_api__: no Python objects, and nothing waits for a stream. 0, or -1. */
typedef struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    struct DLPackExchangeAPIHeader *prev_api; /* of another major version, or NULL */
} DLPackExchangeAPIHeader;

typedef struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    int (*managed_tensor_allocator)(DLTensor *prototype, DLManagedTensorVersioned **out,
                                    void *error_ctx,
                                    void (*set_error)(void *error_ctx, const char *kind,
                                                      const char *message));
    int (*managed_tensor_from_py_object_no_sync)(void *object, DLManagedTensorVersioned **out);
    int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned *tensor, void **out);
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out); /* may be NULL */
    int (*current_work_stream)(DLDeviceType type, int32_t device, void **out);
} DLPackExchangeAPI;

_Static_assert(sizeof(DLTensor) == 24 + 3 * sizeof(void *) && sizeof(DLDataType) == 4,
               "DLPack's layout has no gaps where pointers have 8 bytes");

/* ---- dlpack.c ------------------------------------------------------------------------------ */

typedef struct wk_dl_view { /* a tensor that was checked */
    char *start;
    wk_dtype dtype;
    int ndim, empty, read_only;
    DLDevice device;
    npy_intp shape[WK_MAX_DIMS], strides[WK_MAX_DIMS]; /* in bytes */
} wk_dl_view;

/* Everything but where its memory lies; -1 with an exception set. */
int wk_dl_check(const DLTensor *t, wk_dl_view *v);

/* A NumPy array over memory of the host, whose base is owner (NULL: none). */
PyObject *wk_dl_over_host(const wk_dl_view *v, PyObject *owner);

DLDataType wk_dl_dtype(wk_dtype dtype);

/* The array as a tensor whose extents lie there. */
void wk_dl_describe(const wk_device_array *a, int64_t *shape, int64_t *strides, DLTensor *t);

/* A tensor over the array, which it holds; NULL with no exception set. */
DLManagedTensorVersioned *wk_dl_export(wk_device_array *a, int copied);

/* Its owner's deleter, which an exception may be on its way during. */
void wk_dl_delete(DLManagedTensorVersioned *managed);

/* As wk_py_from_dlpack, of what is in no capsule. NULL: it is still its owner's. */
PyObject *wk_dl_import(PyObject *module, DLManagedTensorVersioned *managed, PyObject *stream);

WK_ENTRY(wk_py_to_dlpack);   /* (array, versioned, copied) -> capsule */
WK_ENTRY(wk_py_from_dlpack); /* (capsule, stream or None) -> DeviceArray or ndarray */

#endif
