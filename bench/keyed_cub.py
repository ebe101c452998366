"""CUB beside scans, segments and groups: keyed_cub.cu, compiled where there is an nvcc."""

from __future__ import annotations

import ctypes
from typing import Any

from common import Run
from cub import checked, libraries

Array = Any  # CuPy's

C_TYPES = {"float32": "float", "float64": "double"}
MOST_SHARED = 96 << 10  # bytes of a block's sums, of which two fit


class Cub:
    """keyed_cub.cu, compiled by nvcc for each type."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        defines = {dtype: [f"-DTYPE={name}"] for dtype, name in C_TYPES.items()}
        self.libraries, self.version = libraries(cupy, "keyed_cub.cu", defines)

    def scan(self, a: Array) -> Run:
        out = self.cupy.empty_like(a)
        return self._call(a, out, "cub_scan", ctypes.c_int64(a.size))

    def segments(self, a: Array, offsets: Array) -> Run:
        out = self.cupy.empty(offsets.size - 1, a.dtype)
        more = (ctypes.c_int64(out.size), ctypes.c_void_p(offsets.data.ptr))
        return self._call(a, out, "cub_segments", *more, keep=offsets)

    def _call(self, a: Array, out: Array, name: str, *more: Any, keep: Any = None) -> Run:
        function = getattr(self.libraries[a.dtype.name], name)
        nbytes = ctypes.c_size_t()
        given: list[Any] = [
            ctypes.byref(nbytes),
            ctypes.c_void_p(a.data.ptr),
            ctypes.c_void_p(out.data.ptr),
        ]
        given += [*more, ctypes.c_void_p(0)]
        checked(function(ctypes.c_void_p(0), *given))
        temporary = self.cupy.empty(max(nbytes.value, 1), "uint8")
        address = ctypes.c_void_p(temporary.data.ptr)

        def run(kept: Any = (a, out, temporary, keep)) -> Array:
            checked(function(address, *given))
            return kept[1]

        return run

    def atomics(self, keys: Array, a: Array, groups: int) -> Run:
        if groups * a.itemsize > MOST_SHARED:
            raise ValueError(f"{groups} sums do not fit shared memory")
        function = self.libraries[a.dtype.name].shared_atomics
        out = self.cupy.empty(groups, a.dtype)
        given: list[Any] = [ctypes.c_void_p(x.data.ptr) for x in (keys, a, out)]
        given += [ctypes.c_int64(a.size), ctypes.c_int(groups), ctypes.c_void_p(0)]

        def run(kept: Any = (keys, a, out)) -> Array:
            checked(function(*given))
            return kept[2]

        return run
