"""run_length and unique_counts: _core finds the runs, here their arrays get the right length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple

import numpy as np

from warpkit import _core
from warpkit._array import on_host
from warpkit._ops import Device, Progress, ResultT, with_options

FEW_BYTES = 8 << 10  # a view of so few keeps them all: a copy takes longer than the memory is worth


class RunLength(NamedTuple, Generic[ResultT]):
    """What run_length returns.

    Attributes
    ----------
    values : array
        Shape (r,), of the elements' dtype.
    counts : array of int64
        Shape (r,), how long each run is.
    """

    values: ResultT
    counts: ResultT


class UniqueCounts(NamedTuple, Generic[ResultT]):
    """What unique_counts returns.

    Attributes
    ----------
    values : array
        Shape (d,), of the elements' dtype, ascending.
    counts : array of int64
        Shape (d,), how often each occurs.
    """

    values: ResultT
    counts: ResultT


def _found(
    function: Callable[..., Any],
    a: Any,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> tuple[Any, Any]:
    a, library = _core.operand(a)
    values, counts, total = with_options(function, (a,), None, device, stream, variant, progress)
    runs = int(on_host(total)[0])  # of an array on a device: waits
    values, counts = _first(values, runs), _first(counts, runs)
    if library is None:
        return values, counts
    return library.finish(values), library.finish(counts)


def _first(a: Any, n: int) -> Any:
    """The first n elements, without the memory of the others where those are many."""
    if isinstance(a, np.ndarray):
        a.resize(n, refcheck=False)  # nobody else has seen it; realloc copies nothing
        return a
    some = a[:n] if n < a.size else a
    return some.copy() if a.nbytes > max(FEW_BYTES, 2 * some.nbytes) else some


def run_length(
    a: Any,
    /,
    *,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> RunLength[Any]:
    """Find the runs of equal neighbours in ``a``: its run-length encoding.

    Parameters
    ----------
    a : array_like
        Bool, integer, float16, bfloat16, float32 or float64, any shape and strides, flattened; host
        or device.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    RunLength
        (values, counts) of a's kind, shape (r,) for r runs, in a's order: values of a's dtype, and
        int64, how long each run is; ``numpy.repeat(values, counts)`` gives ``a`` back.

    Raises
    ------
    TypeError (dtype), ValueError (variant), MemoryError, DeviceError

    See Also
    --------
    unique_counts, numpy.diff

    Notes
    -----
    NaN equals NaN, -0.0 equals 0.0; a run of either is listed as the one NaN, as 0.0. How many runs
    there are is known when they are found: an array on a device is waited for, and needs room for
    results as long as it is.

    Examples
    --------
    >>> warpkit.run_length([5, 5, 2, 5])
    RunLength(values=array([5, 2, 5]), counts=array([2, 1, 1]))
    """
    return RunLength(*_found(_core.run_length, a, device, stream, variant, progress))


def unique_counts(
    a: Any,
    /,
    *,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> UniqueCounts[Any]:
    """Find the distinct elements of ``a``, and how often each occurs.

    Parameters
    ----------
    a : array_like
        Bool, integer, float16, bfloat16, float32 or float64, any shape and strides, flattened; host
        or device.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    UniqueCounts
        (values, counts) of a's kind, shape (d,) for d distinct elements: values of a's dtype,
        ascending; int64, how often each occurs.

    Raises
    ------
    TypeError (dtype), ValueError (variant), MemoryError, DeviceError

    See Also
    --------
    run_length, numpy.unique

    Notes
    -----
    0.0 and -0.0 are one value, listed as 0.0; all NaN are one value, the last. How many values
    there are is known when they are found: an array on a device is waited for. While it is sorted
    there, it takes 3 times its memory and 8 bytes an element.

    Examples
    --------
    >>> warpkit.unique_counts([5, 5, 2, 5])
    UniqueCounts(values=array([2, 5]), counts=array([1, 3]))
    """
    return UniqueCounts(*_found(_core.unique_counts, a, device, stream, variant, progress))
