"""stencil1d, and the options that all operations take; the work is in _core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warpkit import _core, _interop

Device = str | Sequence[str] | None
Progress = bool | Callable[[int, int], object]

NO_VALUE: Any = np._NoValue  # of an argument that was not given


def with_options(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    out: Any,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> Any:
    """One of _core's operations, with a stream of any library and with progress."""
    pair = None if stream is None else _interop.stream_pair(stream)

    def run(counter: Any) -> Any:
        return function(*arguments, out, device, pair, variant, counter)

    if not progress:
        return run(None)
    from warpkit import _progress  # threads, which most calls do without

    return _progress.run(run, progress, function.__name__)


def stencil1d(
    a: Any,
    /,
    coefficients: ArrayLike,
    axis: int = -1,
    *,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Correlate ``a`` with ``coefficients`` along ``axis``.

    out[i] = sum over t of coefficients[t] * a[i + t - len(coefficients) // 2 - origin]

    a        bool, integer, float32 or float64, at least one axis, any strides; host or device
    coefficients  real, shape (k,), k >= 1, on the host; any k, also longer than the axis
    mode     what stands beyond the ends of abcd:
             "reflect" dcba|abcd|dcba, "constant" kkkk|abcd|kkkk with k = cval,
             "nearest" aaaa|abcd|dddd, "mirror" dcb|abcd|cba, "wrap" abcd|abcd|abcd
    origin   shifts the window, within -(k // 2) .. (k - 1) // 2; 0 is centred
    out      array of a's shape and dtype, host or device: written and returned
    Returns  array of a's kind, shape and dtype
    Raises   AxisError, TypeError (dtype), ValueError (origin, variant), RuntimeError as in
             SciPy (mode, coefficients empty or not 1-D), MemoryError, DeviceError
    Notes    accumulated in float64 by fused multiply-adds in the order of t, starting from 0,
             then converted: the same bits on every device. Integers are truncated towards zero
             and wrap as in C; bool is the truncated value != 0.
             device, stream, variant and progress are the module's (see help(warpkit))
    Source   scipy.ndimage.correlate1d
    """
    if stream is None and not progress:
        return _core.stencil1d(
            a, coefficients, axis, mode, cval, origin, out, device, None, variant, None
        )
    arguments = (a, coefficients, axis, mode, cval, origin)
    return with_options(_core.stencil1d, arguments, out, device, stream, variant, progress)
