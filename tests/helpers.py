"""What the tests share: rows and devices to run over, data to feed them, and how to compare."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes as ml_dtypes  # so that NumPy knows bfloat16 by its name
import numpy as np
import pytest
import warpkit
from warpkit import reference
from warpkit.testing import assert_same_bits
from warpkit.testing import joined as joined  # as for the tests that import them from here
from warpkit.testing import raw_bits as raw_bits
from warpkit.testing import settings as settings
from warpkit.testing import special_floats as special_floats
from warpkit.testing import values as values

INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
DTYPES = (*INTEGERS, *FLOATS)
REALS = ("float16", "bfloat16", *FLOATS)
COMPLEX = ("complex64", "complex128")
ALL_DTYPES = (*INTEGERS, *REALS, *COMPLEX)
FOLDS = ("sum", "prod", "min", "max", "mean")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
# Coefficients that rungs of the stencil take; those that are not here take any number.
MOST_TAPS = {"constant": 1024, "constant_divergent": 128, "smem_readonly": 1024, "registers": 448}
# Rungs of warp_histogram that do not sort.
SORTED_ONLY = ("sorted_smem", "sorted_linear", "sorted_select", "fns")
# Around a warp, a block, a chunk of the fold tree; then many blocks, and not a multiple of one.
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 2**18 + 1)
LARGE = 5000  # elements; --small leaves out what takes more

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "tests" / "kernels"

devices: list[str] = []  # those under test; conftest.py fills it before any test is collected
# likewise; "attack": seconds that a search for inputs that break things may take, 0: a quick look
options: dict[str, Any] = {"small": False, "attack": 0.0}


class Row(NamedTuple):
    """One line of the kernel table on one device; called, it is the operation."""

    op: str
    name: str
    device: str
    production: bool
    dtypes: tuple[str, ...]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self.op, *args, **kwargs)

    def run(self, function: str, *args: Any, **kwargs: Any) -> Any:
        """A function that uses this row, such as bincount a histogram's."""
        call = getattr(warpkit, function)
        return call(*args, **kwargs, device=self.device, variant=self.name)

    def __str__(self) -> str:
        return f"{self.device}-{self.name}"


def rows(op: str) -> list[Row]:
    """Every row of an operation on every device under test; "emu" runs the CUDA rows."""
    backend = {"cpu": "cpu", "cuda": "cuda", "emu": "cuda"}
    return [
        Row(op, v.name, device, v.production, v.dtypes)
        for device in devices
        for v in warpkit.variants(op)
        if v.device == backend[device.split(":")[0]]
    ]


def rows_by_dtype(op: str, dtypes: tuple[str, ...] = DTYPES) -> list[Any]:
    """parametrize's values for "row, dtype"."""
    return [
        pytest.param(row, dtype, id=f"{row}-{dtype}")
        for row in rows(op)
        for dtype in dtypes
        if dtype in row.dtypes
    ]


def transposed(row: Row, a: Any, axes: Any = None) -> np.ndarray:
    """What a row of the transposes gives: one of them only copies."""
    return (reference.transposed_copy if row.name == "copy" else reference.transpose)(a, axes)


def in_sorted_warps(a: np.ndarray) -> np.ndarray:
    """Flat, each 32 elements in ascending order, NaN last."""
    a = a.reshape(-1)
    keys = a.astype(np.float32) if a.dtype.name == "bfloat16" else a  # NumPy sorts no NaN of it
    groups = range(0, a.size, 32)
    parts = [a[i : i + 32][np.argsort(keys[i : i + 32], kind="stable")] for i in groups]
    return np.concatenate([a[:0], *parts])


def check_warps(row: Row, a: Any, assume_sorted: bool = False) -> None:
    """A row's warp_histogram against its oracle."""
    order = "appearance" if row.name == "match_any" else "value"
    want = reference.warp_histogram(a, assume_sorted, order)
    poison(*want)
    got = row(a, assume_sorted=assume_sorted)
    for mine, theirs in zip(got, want, strict=True):
        assert_same(mine, theirs)
    assert got.counts.sum() == a.size


def allowed(shape: Any) -> bool:
    """Is an array of this shape, or of this many elements, within what --small allows?"""
    return not options["small"] or math.prod(np.atleast_1d(shape).tolist()) <= LARGE


def sizes(*shapes: Any) -> list[Any]:
    """parametrize's values for numbers of elements, or shapes, those too large left out."""
    return [shape for shape in shapes or SIZES if allowed(shape)]


def factors(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Floats whose products stay within range; for other types values()."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return values(dtype, shape, seed)
    rng = np.random.default_rng(seed)
    sizes = rng.choice([-1, 1], shape) * 2.0 ** rng.uniform(-0.01, 0.01, shape)
    if dtype.kind == "c":
        return (sizes * np.exp(1j * rng.uniform(0, 6, shape))).astype(dtype)
    return sizes.astype(dtype)


def few_values(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Small whole numbers, so that many are equal."""
    low = 0 if np.dtype(dtype).kind in "bu" else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(dtype)


def poison(*expected: Any) -> None:
    """Free blocks full of 0xA5 of the sizes that results of these shapes will ask for.

    NumPy keeps small blocks for reuse, the newest first; for large ones conftest.py has malloc
    fill what it hands out. So a kernel that leaves an element unwritten cannot pass by luck.
    """
    blocks = [np.full(np.asarray(e).nbytes, 0xA5, np.uint8) for e in expected]
    del blocks


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result, or the error; NumPy's warnings about rounding edges aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return call(*args, **kwargs)
        except (ValueError, TypeError, ArithmeticError, IndexError) as error:
            return error


def assert_same(got: Any, want: Any) -> None:
    """The same kind of object, dtype, shape and bits."""
    assert type(got) is type(want), f"{type(got)} instead of {type(want)}"
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype.isnative
    assert got.flags.c_contiguous
    assert_same_bits(got, want)


def assert_near(got: Any, want: Any, tolerance: Any) -> None:
    """Not further apart than tolerance; what is not finite must be the same."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    got, want = got[finite].astype(np.float64), want[finite].astype(np.float64)
    tolerance = np.broadcast_to(np.asarray(tolerance), finite.shape)[finite]
    far = ~(np.abs(got - want) <= tolerance)  # so that NaN is far
    assert not far.any(), f"{got[far][:3]} instead of {want[far][:3]}, {tolerance[far][:3]} allowed"


def script(path: Path) -> Any:
    """A Python file that is in no package, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def setup_script() -> Any:
    return script(ROOT / "setup.py")


def gpu_record() -> Any:
    return script(ROOT / "tools" / "gpu_record.py")


def runtime_sources(device: str) -> list[Path]:
    """What a program of its own is linked with, to launch kernels on "cuda" or "emu"."""
    names = ["device.cu", "memory.cu", "staging.cu"]
    names += ["driver.cu"] if device == "cuda" else []
    runtime = [ROOT / "cuda" / "runtime" / name for name in names]
    if device == "emu":
        runtime += (ROOT / "cuda" / "emu").glob("*.cc")
    return [*runtime, ROOT / "csrc" / "contract.c", ROOT / "csrc" / "settings.c"]


def same_program(a: str, b: str) -> bool:
    paths = [shutil.which(name) for name in (a, b)]
    return None not in paths and os.path.realpath(str(paths[0])) == os.path.realpath(str(paths[1]))


def emulate(
    source: Path, target: Path, cxx: str | None = None, sanitize: str = "0", debug: bool = False
) -> None:
    """Build one .cu file with a main function for the emulated device, as setup.py builds _emu.

    sanitize  WARPKIT_SANITIZE's value
    debug     the file is built for a debugger; the device itself is the package's own objects
    """
    setup = setup_script()
    own = [source, *([ROOT / "cuda" / "emu" / "races.cc"] if sanitize == "races" else [])]
    with pytest.MonkeyPatch.context() as patch:
        if cxx and not same_program(cxx, "c++"):  # whose objects are there already
            patch.setenv("CXX", cxx)
        patch.setenv("WARPKIT_SANITIZE", "0" if sanitize == "races" else sanitize)
        jobs = setup.emu_jobs([s for s in runtime_sources("emu") if s not in own])
        patch.setenv("WARPKIT_SANITIZE", sanitize)
        if debug:
            patch.setenv("WARPKIT_EMU", "debug")
        setup.emu_link([*jobs, *setup.emu_jobs(own, KERNELS)], target)


def compile_cuda(source: Path, target: Path) -> bool:
    """Build one .cu file with a main function for the GPU that is here; False without nvcc."""
    nvcc = setup_script().find_nvcc()
    if nvcc is None:
        return False
    command = [nvcc, "-std=c++17", "-O2", "-arch=native", "-fmad=false", "-x", "cu"]
    command += ['-DWK_CUDA_ARCHS="native"', "-o", target, source]
    for folder in (ROOT / "csrc", ROOT / "cuda", KERNELS):
        command += ["-I", folder]
    subprocess.run([*command, *runtime_sources("cuda")], check=True, timeout=600)
    return True


def python(script: str, *args: str, env: dict[str, str] | None = None) -> str:
    """What a script prints in a fresh interpreter, warnings being errors."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *args],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stderr}"
    return result.stdout
