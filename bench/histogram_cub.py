"""CUB beside the histograms: histogram_cub.cu, compiled where there is an nvcc."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from common import Run
from cub import checked, libraries

Array = Any  # CuPy's

# elements, and what their bins' edges are given in: the difference of two must not overflow
C_TYPES = {
    "uint8": ("uint8_t", "int"),
    "uint16": ("uint16_t", "int"),
    "int32": ("int32_t", "int"),
    "int64": ("int64_t", "int64_t"),
    "float32": ("float", "float"),
    "float64": ("double", "double"),
}


class Cub:
    """histogram_cub.cu, compiled by nvcc for each type."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        defines = {
            dtype: [f"-DTYPE={element}", f"-DLEVEL={level}"]
            for dtype, (element, level) in C_TYPES.items()
        }
        self.libraries, self.version = libraries(cupy, "histogram_cub.cu", defines)

    def even(self, a: Array, bins: int, first: float, last: float) -> Run:
        """The counts of equal bins; KeyError where there is no CUB of a's dtype."""
        ends = ctypes.c_double(first), ctypes.c_double(last)
        return self.call(self.libraries[a.dtype.name].cub_even, a, bins, *ends)

    def between(self, a: Array, edges: np.ndarray) -> Run:
        """Those of the bins between edges."""
        there = self.cupy.asarray(edges.astype(a.dtype))
        function = self.libraries[a.dtype.name].cub_range
        return self.call(function, a, len(edges) - 1, ctypes.c_void_p(there.data.ptr), keep=there)

    def call(self, function: Any, a: Array, bins: int, *where: Any, keep: Any = None) -> Run:
        out = self.cupy.empty(bins, "uint32")
        nbytes = ctypes.c_size_t()
        given = [ctypes.byref(nbytes), ctypes.c_void_p(a.data.ptr), ctypes.c_void_p(out.data.ptr)]
        given += [ctypes.c_int(bins), *where, ctypes.c_int64(a.size), ctypes.c_void_p(0)]
        checked(function(ctypes.c_void_p(0), *given))
        temporary = self.cupy.empty(max(nbytes.value, 1), "uint8")
        address = ctypes.c_void_p(temporary.data.ptr)

        def run(keep: Any = (out, temporary, a, keep)) -> Array:
            checked(function(address, *given))
            return out

        return run
