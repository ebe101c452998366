"""Reduction, transpose, 1D stencil and histogram at the memory's speed, on CPU and CUDA GPU.

Every operation takes array-likes with any strides, computes on ``device`` and returns new NumPy
arrays. ``device`` is ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or ``"emu"``, which runs the CUDA kernels
on the CPU, for tests and for learning; None means ``set_default_device``'s, else the environment's
``WARPKIT_DEVICE``, else the first GPU, else the CPU. ``variant`` names one row of the kernel table
(see ``variants``); None means the production kernel. Results are the same bits on every device.
"""

from warpkit._core import DeviceError
from warpkit._devices import (
    Variant,
    devices,
    memory_info,
    release_memory,
    set_default_device,
    show_config,
    variants,
)
from warpkit._histogram import WarpHistogram, bincount, histogram, warp_histogram
from warpkit._ops import reduce, stencil1d, transpose

__version__ = "0.1.0"

__all__ = [
    "DeviceError",
    "Variant",
    "WarpHistogram",
    "bincount",
    "devices",
    "histogram",
    "memory_info",
    "reduce",
    "release_memory",
    "set_default_device",
    "show_config",
    "stencil1d",
    "transpose",
    "variants",
    "warp_histogram",
]
