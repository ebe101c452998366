/* dlpack.h -- DLPack's structs, which arrays cross from one library to another in.
 *
 * Source    the layout that DLPack 1.1 specifies (github.com/dmlc/dlpack, include/dlpack/dlpack.h,
 *           Apache-2.0), written anew. Names are the specification's; the order and the sizes of
 *           the fields are an ABI. */
#ifndef WARPKIT_DLPACK_H
#define WARPKIT_DLPACK_H

#include "glue.h"

enum { DL_MAJOR = 1, DL_MINOR = 1 };

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

_Static_assert(sizeof(DLTensor) == 24 + 3 * sizeof(void *) && sizeof(DLDataType) == 4,
               "DLPack's layout has no gaps where pointers have 8 bytes");

WK_ENTRY(wk_py_to_dlpack);   /* (array, versioned, copied) -> capsule */
WK_ENTRY(wk_py_from_dlpack); /* (capsule, stream or None) -> DeviceArray or ndarray */

#endif
