"""CUB beside the reductions: reduce_cub.cu, compiled where there is an nvcc."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import common
from common import Run

Array = Any  # CuPy's

C_TYPES = {"float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float"}
C_TYPES |= {"float64": "double"} | {f"int{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)}
TOTALS = [(dtype, dtype) for dtype in C_TYPES]  # elements and their sum
TOTALS += [("int8", "int64"), ("int16", "int64"), ("int32", "int64")]  # as NumPy's


class Cub:
    """reduce_cub.cu, compiled by nvcc for each type into a folder that goes with this object."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.libraries: dict[tuple[str, str], ctypes.CDLL] = {}
        self.version: str | None = None
        home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        nvcc = shutil.which("nvcc") or shutil.which(f"{home}/bin/nvcc")
        if nvcc is None:
            print("without CUB: no nvcc in PATH or CUDA_HOME", file=sys.stderr)
            return
        self.folder = tempfile.TemporaryDirectory()
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                loaded = list(pool.map(lambda types: self.compiled(nvcc, *types), TOTALS))
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or str(error)
            print(f"without CUB: {reason[:500]}", file=sys.stderr)
            return
        self.libraries = dict(zip(TOTALS, loaded, strict=True))
        number = loaded[0].cub_version()
        self.version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"

    def compiled(self, nvcc: str, dtype: str, total: str) -> ctypes.CDLL:
        path = Path(self.folder.name, f"{dtype}_{total}.so")
        arch = f"-arch=sm_{self.cupy.cuda.Device().compute_capability}"
        types = [f"-DTYPE={C_TYPES[dtype]}", f"-DTOTAL={C_TYPES[total]}"]
        options = ["-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC"]
        source = common.ROOT / "bench" / "reduce_cub.cu"
        command = [nvcc, *options, arch, *types, "-o", str(path), str(source)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(path))

    def runs(self, op: Any, a: Array, dtype: str, axis: Any) -> dict[str, Run]:
        """Those that do what op does to a CuPy array; integers are summed in two ways.

        a        its bfloat16 as uint16
        """
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


def checked(code: int) -> None:
    if code:
        raise RuntimeError(f"CUB: cudaError_t {code}")
