"""What bench/reduce.py works with: data on the GPU, its clock, and CUB.

CuPy, PyTorch and warpkit all go in the order of the default stream, and so do the events.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import common
from common import Run

Array = Any  # CuPy's or PyTorch's

WARM, TIMED = 3, 7  # runs
SLOW, SLOWER = 0.05, 0.4  # seconds a call: 3 timed runs are enough, or 1
SAMPLE = 1e-3  # seconds that one sample is to take: short calls are repeated
LOOPS = 20  # at most

SPIN = r"""
extern "C" __global__ void spin(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""


class Gpu:
    """One GPU, the peers that are installed, and how all of them are timed."""

    def __init__(self, nbytes: int) -> None:
        self.cupy = importlib.import_module("cupy")
        self.torch = torch_if_any()
        self.spin = self.cupy.RawKernel(SPIN, "spin")
        self.events = [self.cupy.cuda.Event() for _ in range(2)]
        self.wait: Run = self.cupy.cuda.runtime.deviceSynchronize
        self.cub = Cub(self.cupy)
        self.source = words(self.cupy, nbytes)
        self.target = self.cupy.empty_like(self.source)

    def copy(self) -> None:
        stream = self.cupy.cuda.get_current_stream()
        self.target.data.copy_from_device_async(self.source.data, self.source.nbytes, stream)

    def seconds(self, run: Run, loops: int, lead: float) -> float:
        """Device time of a call, by events.

        lead     seconds that the device first spins, so that the calls are issued when it comes to
                 them, and it does not wait for Python
        """
        start, stop = self.events
        self.spin((1,), (1,), (int(1e9 * lead),))
        start.record()
        for _ in range(loops):
            run()
        stop.record()
        stop.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, stop)) * 1e-3 / loops

    def plan(self, run: Run, loops: int | None) -> tuple[int, float, int]:
        """Of a call that has run before: calls in a sample, seconds to issue them, samples."""
        self.wait()
        began = time.perf_counter()
        run()
        issued = time.perf_counter() - began
        self.wait()
        took = time.perf_counter() - began
        loops = loops or max(1, min(LOOPS, int(SAMPLE / took)))
        lead = min(5e-3, 2e-5 + 2 * loops * issued)
        return loops, lead, TIMED if took < SLOW else 3 if took < SLOWER else 1

    def medians(self, runs: Sequence[Run], loops: int | None = None) -> list[float]:
        """Seconds of device time a call, taking turns; each has run once before."""
        plans = [self.plan(run, loops) for run in runs]
        samples: list[list[float]] = [[] for _ in runs]
        for done in range(WARM - 2 + TIMED):
            for run, (n, lead, rounds), record in zip(runs, plans, samples, strict=True):
                warming = done < WARM - 2 and rounds == TIMED
                if warming or WARM - 2 <= done < WARM - 2 + rounds:
                    record.append(self.seconds(run, n, lead))
        return [statistics.median(record[-TIMED:]) for record in samples]

    def measure(self, runs: dict[str, Run], loops: int | None = None) -> dict[str, float]:
        """Seconds of those that work; of the others a line says why not."""
        good = {name: run for name, run in runs.items() if works(name, run, self.wait)}
        return dict(zip(good, self.medians(list(good.values()), loops), strict=True))

    def free(self) -> None:
        """What the peers keep of memory, so that each leaves room for the other."""
        self.cupy.get_default_memory_pool().free_all_blocks()
        if self.torch:
            self.torch.cuda.empty_cache()

    def described(self) -> dict[str, Any]:
        peers = {"CuPy": self.cupy.__version__}
        if self.torch:
            peers["PyTorch"] = self.torch.__version__
        if self.cub.version:
            peers["CUB"] = self.cub.version
        return {"peers": peers}


def torch_if_any() -> Any:
    try:
        torch = importlib.import_module("torch")
        return torch if torch.cuda.is_available() else None
    except Exception as error:  # a peer that is broken is no reason to stop
        print(f"without PyTorch: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def works(name: str, run: Run, wait: Run) -> bool:
    try:
        run()
        wait()
    except Exception as error:  # one call that fails must not cost the others
        print(f"  {name}: {type(error).__name__}: {error}".split("\n")[0][:200], flush=True)
        return False
    return True


def wall(runs: Sequence[Run], loops: int, wait: Run) -> list[float]:
    """Seconds of Python's time a call, taking turns; the device is waited for between samples."""
    samples: list[list[float]] = [[] for _ in runs]
    for _ in range(WARM + TIMED):
        for run, record in zip(runs, samples, strict=True):
            wait()
            record.append(common.seconds(run, loops))
    wait()
    return [statistics.median(record[WARM:]) for record in samples]


# ---------------------------------------------------------------------------- data


def words(cupy: Any, nbytes: int) -> Array:
    return cupy.random.randint(0, 2**32, nbytes // 4, dtype="uint32")


def data(cupy: Any, dtype: str, nbytes: int) -> Array:
    """One-dimensional: floats and parts of complex numbers normal, integers of random bits.

    bfloat16 is given as uint16.
    """
    if dtype == "bool":
        bits = words(cupy, nbytes)
        bits &= 0x01010101
        return bits.view("bool")
    if "int" in dtype:
        return words(cupy, nbytes).view(dtype)
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        return data(cupy, part, nbytes).view(dtype)
    if dtype == "float16":
        return cupy.random.standard_normal(nbytes // 2, dtype="float32").astype(dtype)
    if dtype == "bfloat16":
        bits = cupy.random.standard_normal(nbytes // 2, dtype="float32").view("uint32")
        bits >>= 16
        return bits.astype("uint16")
    return cupy.random.standard_normal(nbytes // (4 if dtype == "float32" else 8), dtype=dtype)


def spread(cupy: Any, dtype: str, n: int, what: str | int) -> Array:
    """Floats of a distribution, or of either sign over so many binades, each as likely."""
    if what == "uniform":
        return cupy.random.random(n, dtype=dtype)
    normal = cupy.random.standard_normal(n, dtype=dtype)
    if what == "normal":
        return normal
    if what == "lognormal(3)":
        normal *= 3
        return cupy.exp(normal, out=normal)
    assert isinstance(what, int)
    exponent = cupy.floor((cupy.random.random(n, dtype=dtype) - 0.5) * what).astype("int32")
    mantissa = cupy.random.random(n, dtype=dtype)
    mantissa += 1
    return cupy.ldexp(cupy.copysign(mantissa, normal), exponent)


def as_cupy(base: Array, dtype: str) -> Array:
    """What data made; bfloat16 is CuPy's from version 14 on."""
    if dtype != "bfloat16":
        return base
    return base.view(importlib.import_module("ml_dtypes").bfloat16)


def as_torch(torch: Any, base: Array, dtype: str) -> Array:
    """The same memory as a tensor."""
    bits = {"bool": "uint8", "bfloat16": "int16"}.get(dtype)
    if bits is None:
        return torch.from_dlpack(base)
    return torch.from_dlpack(base.view(bits)).view(getattr(torch, dtype))


# ---------------------------------------------------------------------------- CUB


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
