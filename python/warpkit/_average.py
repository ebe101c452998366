"""average: the quotient of two exact sums, rounded once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from warpkit._array import DeviceArray, beside, empty, on_host
from warpkit._keyed import _array, _bring, _Place, dot
from warpkit._ops import Axis, Device, Progress, stencil1d
from warpkit._reduce import reduce

# Floats that a sum is told in. Few sums need more, which are added on the host.
TERMS = 8


class Weighted(NamedTuple):
    """Of average with returned=True."""

    average: Any
    sum_of_weights: Any


def average(
    a: Any,
    /,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """The weighted average of ``a`` along ``axis``: exact, and rounded once.

    Parameters
    ----------
    a : array_like
        bool, integer, float16, bfloat16, float32, float64, complex64 or complex128, of any shape
        and strides; host or device.
    axis : int or tuple of int, optional
        None: all of them.
    weights : array_like, optional
        Of a's shape, or of that of a's axes in axis, in their order; real or complex, host or
        device. None: all alike.
    returned : bool
        Give the sum of the weights too.
    keepdims : bool
        Leave the folded axes in the result with extent 1.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``; the variant is dot's.

    Returns
    -------
    array or scalar, or a named tuple (average, sum_of_weights) of two
        Of a's kind, of the shape of a without axis. The dtype is numpy.result_type(a, weights), of
        integers float64; with returned both have it.

    Raises
    ------
    ZeroDivisionError
        Weights that sum to zero.
    ValueError
        Weights of another shape, arrays on two devices, variant.
    TypeError
        A dtype.
    AxisError
        No such axis.
    MemoryError, DeviceError
        No memory, or no such device.

    Notes
    -----
    The exact sum of the exact products, over the exact sum of the weights, is rounded once, to
    nearest, ties to even: the same bits on every device. Elements and weights are converted to the
    result's dtype first. NaN propagates; an infinite element or weight gives what the quotient of
    the two sums gives. An array on a device is waited for. The sums are told by several calls of
    dot and of reduce, each of which gives what is left of the exact value: for float32 some three,
    for float64 some five.

    References
    ----------
    numpy.average

    Examples
    --------
    >>> import warpkit
    >>> float(warpkit.average([1.0, 2.0, 4.0], weights=[3, 1, 1]))
    1.8
    >>> float(warpkit.average([1e16, 1.0, -1e16], weights=[1.0, 1.0, 1.0]))
    0.3333333333333333
    """
    options = {"device": device, "stream": stream, "variant": variant}
    if weights is None:
        a = _array(a)
        options.update(variant=None)
        mean = reduce(a, "mean", axis, keepdims=keepdims, **options, progress=progress)
        if not returned:
            return mean
        count = np.size(a) if axis is None else np.prod(np.array(np.shape(a))[list(_axes(a, axis))])
        like = np.full(np.shape(mean), count, mean.dtype)
        return Weighted(mean, beside(like, mean) if isinstance(mean, DeviceArray) else like[()])
    (x, w), place = _bring("dot", (_array(a), _array(weights)), device, stream, variant, None)
    dtype = _dtype(x, w)
    axes = _axes(x, axis)
    kept = tuple(1 if d in axes else n for d, n in enumerate(x.shape))
    x, w = _lines(x, axes), _beside_lines(x, w, axes)
    wide = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    over = _sums(x, w, wide, place, progress)
    under = _sums(w, None, wide, place, False)
    shape = x.shape[:-1]
    quotients, totals = _quotients(over, under, shape, dtype)
    results = []
    for values in (quotients, totals):
        host = values.reshape(kept) if keepdims else values
        there = isinstance(x, DeviceArray) and not place.staged
        results.append(place.give(beside(host, x, stream)) if there else place.give(host))
    results = [r[()] if isinstance(r, np.ndarray) else r for r in results]
    return Weighted(*results) if returned else results[0]


# ---- arguments -----------------------------------------------------------------------------------


def _axes(a: Any, axis: Axis) -> tuple[int, ...]:
    ndim = len(np.shape(a)) if not hasattr(a, "ndim") else a.ndim
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim, "axis")


def _dtype(x: Any, w: Any) -> np.dtype[Any]:
    dtype = np.result_type(x.dtype, w.dtype)
    return np.result_type(dtype, np.float64) if x.dtype.kind in "biu" else dtype


def _lines(a: Any, axes: tuple[int, ...]) -> Any:
    """A view, or a copy, with these axes as the last one."""
    rest = [d for d in range(a.ndim) if d not in axes]
    moved = a.transpose(*rest, *axes) if a.ndim else a
    shape = tuple(a.shape[d] for d in rest)
    return moved.reshape(*shape, math.prod(a.shape[d] for d in axes))


def _beside_lines(x: Any, w: Any, axes: tuple[int, ...]) -> Any:
    if tuple(w.shape) == tuple(x.shape):
        return _lines(w, axes)
    if tuple(w.shape) != tuple(x.shape[d] for d in axes):
        raise ValueError(
            f"weights of shape {tuple(w.shape)} go neither with an array of {tuple(x.shape)} nor "
            f"with its axes {axes}"
        )
    return w.reshape(-1)


# ---- exact sums ----------------------------------------------------------------------------------


class Sums(NamedTuple):
    """Of each line: floats whose exact sum it is, or None, where they do not suffice."""

    terms: np.ndarray  # shape (TERMS, ...)
    lines: np.ndarray  # whether they suffice
    elements: tuple[Any, ...]  # of which they are sums of products


def _sums(x: Any, w: Any, dtype: np.dtype[Any], place: _Place, progress: Progress) -> Sums:
    """Of x * w along the last axis; w None: of x. Each term is the rounded sum of all there is,
    less the terms before it: until nothing is left."""
    n, shape = x.shape[-1], x.shape[:-1]
    space = _spaced(x, dtype)
    ones = None if w is None else _spaced(w, dtype, 1)
    terms = np.zeros((TERMS, *shape), dtype)
    options = {"device": None if isinstance(space, DeviceArray) else "cpu", "stream": place.stream}
    left = np.ones(shape, bool)
    for k in range(TERMS):
        if ones is None:
            found = reduce(space, "sum", -1, **options)
        else:
            shown = progress if k == 0 else False
            found = dot(space, ones, -1, **options, variant=place.variant, progress=shown)
        term = np.asarray(on_host(found))
        terms[k] = term
        left = (term != 0) & np.isfinite(term)
        if not left.any():
            break
        space[..., n + k] = -np.where(left, term, 0)
    wrong = left | ~np.isfinite(terms[0])
    if w is not None and _is_wide(x) and _is_wide(w):
        wrong |= _may_lack(x, terms[0])
    return Sums(terms, ~wrong, (x, w))


def _is_wide(x: Any) -> bool:
    return bool(x.dtype.name in ("float64", "complex128"))


def _may_lack(x: Any, sums: np.ndarray) -> np.ndarray:
    """Of which sums that is a good part which is less than a float: of products of doubles."""
    parts = np.abs(np.stack([sums.real, sums.imag]))
    lack = ((parts > 0) & (parts < 2.0**-900)).any(0)
    none = (parts == 0).all(0)
    if none.any():
        none &= np.asarray(on_host(reduce(x, "any", -1)))
    return np.asarray(lack | none)


def _spaced(x: Any, dtype: np.dtype[Any], fill: int = 0) -> Any:
    """A copy with room for terms behind each line."""
    n = x.shape[-1]
    shape = (*x.shape[:-1], n + TERMS)
    if not isinstance(x, DeviceArray):
        host = np.full(shape, fill, dtype)
        host[..., :n] = x
        return host
    there = empty(shape, dtype, device=x.device)
    there[...] = fill
    parts = dtype.kind == "c" and x.dtype.kind != "c"  # whose imaginary ones are there already
    place = there.view(np.float64)[..., : 2 * n : 2] if parts else there[..., :n]
    if place.size:
        stencil1d(x, [1.0], out=place)  # which converts
    return there


# ---- quotients -----------------------------------------------------------------------------------

Parts = tuple[Fraction, Fraction]  # real, imaginary


def _quotients(
    over: Sums, under: Sums, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Rounded quotients, and rounded sums of the weights."""
    quotients, totals = np.empty(shape, dtype), np.empty(shape, dtype)
    alone = under.terms.ndim == 1  # one sum of weights for all
    for at in np.ndindex(shape):
        b = _exact(under, () if alone else at)
        if b is not None and not any(b):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        a = _exact(over, at)
        if a is None or b is None:
            values = over.terms[(0, *at)], under.terms[0 if alone else (0, *at)]
            with np.errstate(all="ignore"):
                quotients[at], totals[at] = values[0] / values[1], values[1]
            continue
        quotients[at], totals[at] = _rounded(_divided(a, b), dtype), _rounded(b, dtype)
    return quotients, totals


def _exact(sums: Sums, at: tuple[int, ...]) -> Parts | None:
    """None: there are NaN or infinities."""
    if sums.lines[at]:
        terms: Any = [term[at] for term in sums.terms]
    else:
        x, w = (on_host(e[at] if e is not None and e.ndim > 1 else e) for e in sums.elements)
        wide = sums.terms.dtype
        x, w = np.asarray(x, wide), np.ones(1, wide) if w is None else np.asarray(w, wide)
        if not (np.isfinite(x).all() and np.isfinite(w).all()):
            return None
        terms = _products(*np.broadcast_arrays(x, w))
    real, imag = Fraction(0), Fraction(0)
    for re, im in _fractions(terms):
        real, imag = real + re, imag + im
    return real, imag


def _fractions(terms: Any) -> Iterator[Parts]:
    for term in terms:
        if isinstance(term, tuple):
            yield term
        elif term != 0:
            yield Fraction(float(term.real)), Fraction(float(term.imag))


def _products(x: np.ndarray, w: np.ndarray) -> Iterator[Parts]:
    for (a, b), (c, d) in zip(_fractions_of(x), _fractions_of(w), strict=True):
        yield a * c - b * d, a * d + b * c


def _fractions_of(x: np.ndarray) -> Iterator[Parts]:
    for value in x.ravel():
        yield Fraction(float(value.real)), Fraction(float(value.imag))


def _divided(a: Parts, b: Parts) -> Parts:
    if b[1] == 0:
        return a[0] / b[0], a[1] / b[0]
    norm = b[0] * b[0] + b[1] * b[1]
    return (a[0] * b[0] + a[1] * b[1]) / norm, (a[1] * b[0] - a[0] * b[1]) / norm


def _rounded(exact: Parts, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        real = np.empty(0, dtype).real.dtype
        return complex(float(_nearest(exact[0], real)), float(_nearest(exact[1], real)))
    return _nearest(exact[0], dtype)


def _nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """To a double, by Python's rule; to less, from a double that is odd unless it is exact."""
    try:
        double = float(exact)
    except OverflowError:
        return dtype.type(math.inf if exact > 0 else -math.inf)
    if dtype.itemsize == 8:
        return double
    off = exact - Fraction(double)
    if off and np.float64(double).view(np.int64) % 2 == 0:
        double = math.nextafter(double, math.inf if off > 0 else -math.inf)
    with np.errstate(all="ignore"):
        return np.float64(double).astype(dtype)
