"""cuTENSOR's permutation, through ctypes: the library of the wheel cutensor-cu13, or where the
linker finds it."""

from __future__ import annotations

import ctypes
import math
import sys
from ctypes import byref, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from common import Run

LIBRARY = "libcutensor.so.2"
IDENTITY = 1  # cutensorOperator_t
# cutensorDataType_t, the type that it computes in, and that of alpha
TYPES: dict[str, tuple[int, str, type[np.generic]]] = {
    "float16": (2, "16F", np.float16),
    "float32": (0, "32F", np.float32),
    "float64": (1, "64F", np.float64),
    "complex128": (5, "64F", np.complex128),
}


def library() -> ctypes.CDLL:
    for place in sys.path:  # the wheel's package is called as this file is
        if (path := Path(place) / "cutensor" / "lib" / LIBRARY).exists():
            return ctypes.CDLL(str(path))
    return ctypes.CDLL(LIBRARY)


class CuTensor:
    """Its plan is made before the clock starts; it multiplies by alpha, which is 1."""

    def __init__(self, cupy: Any) -> None:
        self.cupy, self.library = cupy, library()
        self.library.cutensorGetErrorString.restype = ctypes.c_char_p
        self.library.cutensorGetVersion.restype = c_size_t
        self.handle = c_void_p()
        self.check(self.library.cutensorCreate(byref(self.handle)))

    def check(self, status: int) -> None:
        if status:
            raise RuntimeError(self.library.cutensorGetErrorString(status).decode())

    def version(self) -> str:
        number = self.library.cutensorGetVersion()
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def tensor(self, shape: list[int], code: int) -> c_void_p:
        """A description of a C-contiguous array."""
        made, n = c_void_p(), len(shape)
        strides = [math.prod(shape[d + 1 :]) for d in range(n)]
        extents = (c_int64 * n)(*shape), (c_int64 * n)(*strides)
        aligned = c_uint32(128)
        self.check(
            self.library.cutensorCreateTensorDescriptor(
                self.handle, byref(made), c_uint32(n), *extents, c_int(code), aligned
            )
        )
        return made

    def run(self, a: Any, axes: tuple[int, ...]) -> Run:
        """Of a C-contiguous array, into CuPy's memory."""
        code, computed, scalar = TYPES[a.dtype.name]
        shape = [a.shape[d] for d in axes]
        modes = (c_int32 * a.ndim)(*range(a.ndim)), (c_int32 * a.ndim)(*axes)
        both = self.tensor(list(a.shape), code), self.tensor(shape, code)
        computing = c_void_p.in_dll(self.library, f"CUTENSOR_COMPUTE_DESC_{computed}")
        operation, preference, plan = c_void_p(), c_void_p(), c_void_p()
        call, handle = self.library, self.handle
        self.check(
            call.cutensorCreatePermutation(
                handle, byref(operation), both[0], modes[0], IDENTITY, both[1], modes[1], computing
            )
        )
        self.check(call.cutensorCreatePlanPreference(handle, byref(preference), c_int(-1), 0))
        self.check(call.cutensorCreatePlan(handle, byref(plan), operation, preference, c_uint64(0)))
        alpha = np.ones(1, scalar)
        one = c_void_p(alpha.ctypes.data)

        def run(kept: Any = (alpha, both, operation, preference)) -> Any:
            out = self.cupy.empty(shape, a.dtype)
            source, target = c_void_p(a.data.ptr), c_void_p(out.data.ptr)
            stream = c_void_p(self.cupy.cuda.get_current_stream().ptr)
            self.check(call.cutensorPermute(handle, plan, one, source, target, stream))
            return out

        return run
