"""transpose and what is made of it: signatures and docstrings; the work is in _core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from warpkit import _core
from warpkit._ops import Device, Progress, with_options


def transpose(
    a: Any,
    /,
    axes: Sequence[int] | None = None,
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Permute the axes of ``a`` into a new C-contiguous array.

    Parameters
    ----------
    a : array_like
        Any shape and strides, host or device; on the host any dtype but object: elements of
        records, texts and dates are moved as they are, numbers in the machine's byte order.
    axes : sequence of int, optional
        One int per axis of a, each once; None reverses them.
    out : array, optional
        Array of the result's shape and dtype, host or device, any strides: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        ``r``, C-contiguous, with ``r.shape[i] == a.shape[axes[i]]``, a's dtype and bits.

    Raises
    ------
    AxisError, TypeError (dtype), ValueError (axes, variant), MemoryError, DeviceError

    See Also
    --------
    moveaxis, swapaxes, numpy.transpose

    Notes
    -----
    numpy.transpose returns a view; this is numpy.ascontiguousarray of it. The variant "copy" is no
    transpose: it leaves the elements in the order of a's memory. ``explain("transpose", a,
    axes=axes)`` tells how a GPU would do it.

    Examples
    --------
    >>> warpkit.transpose([[1, 2, 3], [4, 5, 6]])
    array([[1, 4],
           [2, 5],
           [3, 6]])
    >>> warpkit.transpose(np.zeros((2, 3, 4)), (1, 2, 0)).shape
    (3, 4, 2)
    """
    try:
        if stream is None and not progress:
            return _core.transpose(a, axes, out, device, None, variant, None)
        arguments = (a, axes)
        return with_options(_core.transpose, arguments, out, device, stream, variant, progress)
    except TypeError:
        records = _records(a)
        if records is None:
            raise
    return _transpose_units(records, axes, out, device, stream, variant, progress)


def moveaxis(
    a: Any,
    /,
    source: int | Sequence[int],
    destination: int | Sequence[int],
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
) -> Any:
    """Move axes of ``a`` to other places, the others keeping their order: a contiguous copy.

    Parameters
    ----------
    a : array_like
        As transpose takes it.
    source, destination : int or sequence of int
        An int, or as many ints each, each once.
    out, device, stream : optional
        As transpose's.

    Returns
    -------
    array of a's kind
        As transpose.

    Raises
    ------
    AxisError, ValueError (numbers that differ, or an axis twice), and as transpose

    See Also
    --------
    transpose, numpy.moveaxis

    Examples
    --------
    >>> warpkit.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    axes = moved_axes(_array(a)[0].ndim, source, destination)
    return transpose(a, axes, out=out, device=device, stream=stream)


def moved_axes(
    ndim: int, source: int | Sequence[int], destination: int | Sequence[int]
) -> list[int]:
    """The axes with which transpose does what moveaxis does."""
    moved = normalize_axis_tuple(source, ndim, "source")
    places = normalize_axis_tuple(destination, ndim, "destination")
    if len(moved) != len(places):
        raise ValueError(
            f"`source` and `destination` arguments must have the same number of elements, not "
            f"{len(moved)} and {len(places)}"
        )
    axes = [d for d in range(ndim) if d not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        axes.insert(place, axis)
    return axes


def swapaxes(
    a: Any,
    /,
    axis1: int,
    axis2: int,
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
) -> Any:
    """Exchange two axes of ``a``: a contiguous copy.

    Parameters
    ----------
    a : array_like
        As transpose takes it.
    axis1, axis2 : int
        Which two.
    out, device, stream : optional
        As transpose's.

    Returns
    -------
    array of a's kind
        As transpose.

    Raises
    ------
    AxisError, and as transpose

    See Also
    --------
    transpose, numpy.swapaxes

    Examples
    --------
    >>> warpkit.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    axes = swapped_axes(_array(a)[0].ndim, axis1, axis2)
    return transpose(a, axes, out=out, device=device, stream=stream)


def swapped_axes(ndim: int, axis1: int, axis2: int) -> list[int]:
    """Likewise, of swapaxes."""
    first, second = (normalize_axis_index(axis, ndim) for axis in (axis1, axis2))
    axes = list(range(ndim))
    axes[first], axes[second] = second, first
    return axes


def ascontiguousarray(a: Any, /, *, device: Device = None, stream: Any = None) -> Any:
    """``a`` in C order: itself, if it is that already, else a copy.

    Parameters
    ----------
    a : array_like
        As transpose takes it.
    device, stream : optional
        As transpose's.

    Returns
    -------
    array of a's kind
        Of a's shape and dtype, of at least one axis.

    Raises
    ------
    As transpose

    See Also
    --------
    numpy.ascontiguousarray

    Notes
    -----
    A host array is returned as it is whatever the device; views are copied by it.

    Examples
    --------
    >>> warpkit.ascontiguousarray(np.eye(3)[::2]).flags.c_contiguous
    True
    """
    array, own = _array(a)
    if array.ndim == 0:
        return array.reshape(1) if own else a.reshape(1)
    if is_contiguous(array):
        return array if own else a
    return transpose(a, range(array.ndim), device=device, stream=stream)


def _array(a: Any) -> tuple[Any, bool]:
    """``a`` as an array, and is that another object, which NumPy made of what is no array?"""
    if isinstance(_core.unmasked(a), np.ndarray):
        return a, False
    try:
        array, library = _core.operand(a)
    except TypeError:  # of a dtype that is moved by units
        array, library = np.asarray(a), None
    return array, array is not a and library is None


def is_contiguous(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return bool(array.flags.c_contiguous)
    step = array.itemsize
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent != 1 and stride != step:
            return bool(array.size == 0)
        step *= extent
    return True


# ---- elements that are no numbers: records, texts, dates -----------------------------------------


def _records(a: Any) -> np.ndarray | None:
    """``a``, if it is its dtype that is refused, and its elements can be moved all the same."""
    if isinstance(a, list | tuple):
        a = np.asarray(a)
    _core.unmasked(a)
    if not isinstance(a, np.ndarray) or a.dtype.hasobject or a.dtype.itemsize == 0:
        return None
    try:
        _core.transpose(np.empty(0, a.dtype), None, None, "cpu", None, None, None)
    except TypeError:
        return a
    return None


class _Memory:
    """An array's memory, seen otherwise."""

    def __init__(self, a: np.ndarray, typestr: str, extents: int, readonly: bool) -> None:
        step = a.dtype.itemsize // extents
        self.array = a  # must not die
        self.__array_interface__ = {
            "version": 3,
            "data": (a.__array_interface__["data"][0], readonly),
            "typestr": typestr,
            "shape": (*a.shape, extents),
            "strides": (*a.strides, step),
        }


def _units(a: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with one more axis, of the widest unsigned integers that their elements consist of."""
    inner = tuple(0 if extent == 1 else slice(None) for extent in a.shape)
    a, out = a[(*inner, ...)], out[(*inner, ...)]  # or there may be no room for it
    places = (a.dtype.itemsize, *a.strides, *out.strides, a.ctypes.data, out.ctypes.data)
    unit = next(n for n in (8, 4, 2, 1) if all(place % n == 0 for place in places))
    extents, typestr = a.dtype.itemsize // unit, f"|u{unit}" if unit == 1 else f"=u{unit}"
    return (
        np.asarray(_Memory(a, typestr, extents, True)),
        np.asarray(_Memory(out, typestr, extents, False)),
    )


def explain_transpose(a: Any, axes: Sequence[int] | None, device: Device) -> str:
    """For warpkit.explain."""
    options = (None, device, None, None, None)
    try:
        return _core.explain_transpose(a, axes, *options)
    except TypeError:
        records = _records(a)
        if records is None:
            raise
    view = np.transpose(records, axes)
    units, _ = _units(view, np.empty(view.shape, view.dtype))
    return _core.explain_transpose(units, range(units.ndim), *options)


def _transpose_units(
    a: np.ndarray,
    axes: Sequence[int] | None,
    out: Any,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> Any:
    view = np.transpose(a, axes)  # NumPy's errors
    if out is None or out is ...:
        out = np.empty(view.shape, a.dtype)
    if not isinstance(_core.unmasked(out), np.ndarray) or out.dtype != a.dtype:
        given = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"out must be a NumPy array of {a.dtype}, not {given}")
    if out.shape != view.shape:
        raise ValueError(f"out must have shape {view.shape}, not {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    units, target = _units(view, out)
    transpose(
        units,
        range(units.ndim),
        out=target,
        device=device,
        stream=stream,
        variant=variant,
        progress=progress,
    )
    return out
