"""transpose and what is made of it: signatures and docstrings; the work is in _core."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

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

    a        any shape and strides, host or device; on the host any dtype but object: elements of
             records, texts and dates are moved as they are
    axes     one int per axis of a, each once; None reverses them
    out      array of the result's shape and dtype, host or device, any strides: written and
             returned
    Returns  C-contiguous array r of a's kind with r.shape[i] == a.shape[axes[i]], a's dtype and
             bits
    Raises   AxisError, TypeError (dtype), ValueError (axes, variant), MemoryError, DeviceError
    Notes    numpy.transpose returns a view; this is numpy.ascontiguousarray of it. The variant
             "copy" is no transpose: it leaves the elements in the order of a's memory.
             device, stream, variant and progress are the module's (see help(warpkit));
             explain("transpose", a, axes=axes) tells how a GPU would do it
    Source   numpy.transpose
    """
    try:
        if stream is None and not progress:
            return _core.transpose(a, axes, out, device, None, variant, None)
        arguments = (a, axes)
        return with_options(_core.transpose, arguments, out, device, stream, variant, progress)
    except TypeError:
        if not _has_units(a):
            raise
    return _transpose_units(a, axes, out, device, stream, variant, progress)


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

    a        as transpose takes it
    source, destination  an int, or as many ints each, each once
    Returns  as transpose
    Raises   AxisError, ValueError (numbers that differ, or an axis twice), and as transpose
    Source   numpy.moveaxis
    """
    ndim = _ndim(a)
    axes = np.moveaxis(_axes_of(ndim), _ints(source), _ints(destination)).shape
    return transpose(a, axes, out=out, device=device, stream=stream)


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

    a        as transpose takes it
    Returns  as transpose
    Raises   AxisError, and as transpose
    Source   numpy.swapaxes
    """
    axes = np.swapaxes(_axes_of(_ndim(a)), axis1, axis2).shape
    return transpose(a, axes, out=out, device=device, stream=stream)


def ascontiguousarray(a: Any, /, *, device: Device = None, stream: Any = None) -> Any:
    """``a`` in C order: itself, if it is that already, else a copy.

    a        as transpose takes it
    Returns  array of a's kind, shape and dtype, of at least one axis
    Raises   as transpose
    Notes    a host array is returned as it is whatever the device; views are copied by it
    Source   numpy.ascontiguousarray
    """
    if not hasattr(a, "ndim"):
        return np.ascontiguousarray(a)
    if a.ndim == 0:
        return a.reshape(1)
    if _is_contiguous(a):
        return a
    return transpose(a, range(a.ndim), device=device, stream=stream)


def _ndim(a: Any) -> int:
    ndim = getattr(a, "ndim", None)
    return np.ndim(a) if ndim is None else operator.index(ndim)


def _axes_of(ndim: int) -> np.ndarray:
    """No elements, and each axis as long as its number: NumPy's views of it permute numbers."""
    return np.lib.stride_tricks.as_strided(np.empty(1), tuple(range(ndim)), (0,) * ndim)


def _ints(axes: int | Sequence[int]) -> Any:
    return axes if isinstance(axes, int) else tuple(axes)


def _is_contiguous(a: Any) -> bool:
    if isinstance(a, np.ndarray):
        return bool(a.flags.c_contiguous)
    array, _ = _core.operand(a)
    step = array.itemsize
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent != 1 and stride != step:
            return bool(array.size == 0)
        step *= extent
    return True


# ---- elements that are no numbers: records, texts, dates -----------------------------------------


def _has_units(a: Any) -> bool:
    if not isinstance(a, np.ndarray):
        return False
    try:
        _core.transpose(np.empty(0, a.dtype), None, None, "cpu", None, None, None)
    except TypeError:
        return not a.dtype.hasobject and a.dtype.itemsize > 0
    return False  # it is not the dtype that was refused


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
    places = (a.dtype.itemsize, *a.strides, *out.strides, a.ctypes.data, out.ctypes.data)
    unit = next(n for n in (8, 4, 2, 1) if all(place % n == 0 for place in places))
    extents = a.dtype.itemsize // unit
    return (
        np.asarray(_Memory(a, f"|u{unit}" if unit == 1 else f"=u{unit}", extents, True)),
        np.asarray(_Memory(out, f"|u{unit}" if unit == 1 else f"=u{unit}", extents, False)),
    )


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
    if out is None:
        out = np.empty(view.shape, a.dtype)
    if not isinstance(out, np.ndarray) or out.dtype != a.dtype:
        given = out.dtype if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(f"out must be a NumPy array of {a.dtype}, not {given}")
    if out.shape != view.shape or not out.flags.writeable:
        raise ValueError(f"out must be writeable and have shape {view.shape}, not {out.shape}")
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
