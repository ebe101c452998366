"""CUB beside the reductions: reduce_cub.cu, compiled where there is an nvcc."""

from __future__ import annotations

import ctypes
from typing import Any

from common import Run
from cub import checked, libraries

Array = Any  # CuPy's

C_TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float"}
C_TYPES |= {"float64": "double"} | {f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)}
TOTALS = [(dtype, dtype) for dtype in C_TYPES]  # elements and their sum
TOTALS += [("int8", "int64"), ("int16", "int64"), ("int32", "int64")]  # as NumPy's


class Cub:
    """reduce_cub.cu, compiled by nvcc for each type."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        defines = {
            (dtype, total): [f"-DTYPE={C_TYPES[dtype]}", f"-DTOTAL={C_TYPES[total]}"]
            for dtype, total in TOTALS
        }
        self.libraries, self.version = libraries(cupy, "reduce_cub.cu", defines)

    def runs(self, op: Any, a: Array, dtype: str, axis: Any) -> dict[str, Run]:
        """Those that do what op does to a CuPy array; integers are summed in two ways.

        a        its bfloat16 as uint16
        """
        if axis == 0 and a.ndim == 2 and a.flags.f_contiguous:
            a, axis = a.T, 1
        last = axis == a.ndim - 1 and a.ndim == 2
        if op not in ("sum", "max") or not a.flags.c_contiguous or not (axis is None or last):
            return {}
        runs: dict[str, Run] = {}
        for (from_, total), library in self.libraries.items():
            if from_ == dtype and (op == "sum" or total == dtype):
                name = "CUB" if total == dtype else f"CUB, {total}"
                runs[name] = self.call(library, op, a, total, a.shape if last else (a.size,))
        return runs

    def call(
        self, library: ctypes.CDLL, op: str, a: Array, total: str, shape: tuple[int, ...]
    ) -> Run:
        function = getattr(library, f"cub_{op}" + ("_rows" if len(shape) == 2 else ""))
        out_dtype = "uint16" if total == "bfloat16" else total
        out = self.cupy.empty(shape[0] if len(shape) == 2 else 1, out_dtype)
        nbytes = ctypes.c_size_t()
        given = [ctypes.byref(nbytes), ctypes.c_void_p(a.data.ptr), ctypes.c_void_p(out.data.ptr)]
        given += [*map(ctypes.c_int64, shape), ctypes.c_void_p(0)]
        checked(function(ctypes.c_void_p(0), *given))
        temporary = self.cupy.empty(max(nbytes.value, 1), "uint8")
        address = ctypes.c_void_p(temporary.data.ptr)

        def run(keep: Any = (out, temporary, a)) -> None:
            checked(function(address, *given))

        return run
