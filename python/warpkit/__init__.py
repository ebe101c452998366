"""Reduction, transpose, 1D stencil and histogram at the memory's speed, on CPU and CUDA GPU.

Every operation takes an array-like with any strides, or an array of a device (DeviceArray, CuPy,
PyTorch, JAX, Numba: anything with __cuda_array_interface__ or __dlpack__) without a copy, and
returns arrays of the caller's kind. Results are the same bits on every device. All take:

device : str or sequence of str, optional
    Where to compute: "cpu", "cuda", "cuda:1"; "cuda:all" or a list of GPUs, over which a host array
    is split; "auto", whichever finishes first by a measured model; "emu", which runs the CUDA
    kernels on the CPU, for tests and for learning. None: the array's own device; for a host array
    that of ``with warpkit.device(...)``, else set_default_device's, else the environment's
    WARPKIT_DEVICE, else the first GPU, else the CPU. An array on a device is not moved: naming
    another is an error.
stream : object, optional
    For an array on a device: the CUDA stream in whose order the work goes, a handle or an object
    with __cuda_stream__ (CuPy's and PyTorch's streams too); None: the array's own. The call returns
    without waiting, unless out is on the host.
variant : str, optional
    One row of the kernel table (see variants); None: the production kernel.
progress : bool or callable
    True: show a bar (tqdm); or a function of (done, total), in pieces: those of a host array that
    cross to a GPU, else of the work, of which more may come up. Of an array on a GPU only the end
    is told.

.. PYTEST_DONT_REWRITE tells pytest, which has a plugin of this, that no assert here is a test's.
"""

import importlib
from typing import TYPE_CHECKING, Any

from warpkit import _core, _libraries, smem, warp
from warpkit._array import DeviceArray, asarray, empty, empty_like, from_dlpack, full, zeros
from warpkit._average import Weighted, average
from warpkit._core import DeviceError
from warpkit._devices import (
    Variant,
    device,
    devices,
    get_default_device,
    memory_info,
    release_memory,
    set_default_device,
    show_config,
    variants,
)
from warpkit._differences import finite_difference, gradient1d
from warpkit._explain import explain
from warpkit._histogram import WarpHistogram, bincount, histogram, warp_histogram
from warpkit._keyed import cumsum, dot, group_reduce, nancumsum, segment_reduce, vdot
from warpkit._ops import convolve1d, stencil1d
from warpkit._partial import Partial, merge, partial
from warpkit._reduce import Description, describe, reduce
from warpkit._runs import RunLength, UniqueCounts, run_length, unique_counts
from warpkit._transpose import ascontiguousarray, moveaxis, swapaxes, transpose

if TYPE_CHECKING:
    from warpkit import lab
    from warpkit._bench import Bench, Timing, bench
    from warpkit._compiler import CompileError
    from warpkit._kernels import Kernel, Module, RaceError, Variable, compile
    from warpkit._programs import run

# What is imported when it is asked for: compiling takes half as long to import as all the rest.
_LATER = {
    **dict.fromkeys(("Bench", "Timing", "bench"), "_bench"),
    **dict.fromkeys(("CompileError", "Kernel", "Module", "RaceError", "Variable"), "_kernels"),
    "compile": "_kernels",
    "run": "_programs",
}
_LATER_MODULES = ("lab",)


def _choose(op: str, in_bytes: int, out_bytes: int) -> str:
    from warpkit import _auto  # what "auto" needs takes longer to import than all the rest

    return _auto.choose(op, in_bytes, out_bytes)


def __getattr__(name: str) -> Any:
    if name in _LATER_MODULES:
        return importlib.import_module(f"warpkit.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'warpkit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"warpkit.{_LATER[name]}"), name)


def load_ipython_extension(shell: Any) -> None:
    """%load_ext warpkit: the cell magic %%cuda; see %%cuda?."""
    from warpkit import _magic

    _magic.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from warpkit import _magic

    _magic.unload(shell)


_core.register(DeviceArray, _libraries.adopt, _choose)

__version__ = "0.1.0"

__all__ = [
    "Bench",
    "CompileError",
    "Description",
    "DeviceArray",
    "DeviceError",
    "Kernel",
    "Module",
    "Partial",
    "RaceError",
    "RunLength",
    "Timing",
    "UniqueCounts",
    "Variable",
    "Variant",
    "WarpHistogram",
    "Weighted",
    "asarray",
    "ascontiguousarray",
    "average",
    "bench",
    "bincount",
    "compile",
    "convolve1d",
    "cumsum",
    "describe",
    "device",
    "devices",
    "dot",
    "empty",
    "empty_like",
    "explain",
    "finite_difference",
    "from_dlpack",
    "full",
    "get_default_device",
    "gradient1d",
    "group_reduce",
    "histogram",
    "lab",
    "memory_info",
    "merge",
    "moveaxis",
    "nancumsum",
    "partial",
    "reduce",
    "release_memory",
    "run",
    "run_length",
    "segment_reduce",
    "set_default_device",
    "show_config",
    "smem",
    "stencil1d",
    "swapaxes",
    "transpose",
    "unique_counts",
    "variants",
    "vdot",
    "warp",
    "warp_histogram",
    "zeros",
]
