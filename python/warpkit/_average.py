"""average: the quotient of two exact sums, rounded once."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from warpkit import _core
from warpkit._array import DeviceArray, beside, empty, on_host
from warpkit._keyed import _array, _bring, _Place, dot
from warpkit._ops import Axis, Device, Progress, stencil1d
from warpkit._reduce import reduce

# Floats that a sum is told in. Few sums need more, which are added on the host.
TERMS = 8

# Elements of a host array that are converted at once and then stay in L2: of a whole copy the
# system hands out each page anew, which takes longer than the sums.
TILE = 1 << 15

# What is left of a sum of products, but for this part of it, is told by two doubles: faster by far
# than what is left of it, of which these do not know enough digits.
LEAN = 2.0**-17


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
    the two sums gives. An array on a device is waited for. The sums are told by calls of dot and of
    reduce, each of which gives what is left of the exact value: one of each for what is rounded to
    float32 or less, two for float64, of host arrays by tiles that take no memory; more, of a copy,
    where those do not tell how a quotient is rounded.

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
    over = _Sums(x, w, wide, place, progress)
    under = _Sums(w, None, wide, place, False)
    quotients, totals = _quotients(over, under, x.shape[:-1], dtype, returned)
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
    if a.ndim == 1 and axes:
        return a
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


class _Sums:
    """Of x * w along the last axis, w None: of x. Each term is the rounded sum of all there is,
    less the terms before it, until nothing is left: floats whose exact sum it is. They are told as
    far as they are asked for."""

    terms: np.ndarray  # shape (TERMS, ...), once they are asked for
    left: np.ndarray  # of which lines there are more

    def __init__(
        self, x: Any, w: Any, dtype: np.dtype[Any], place: _Place, progress: Progress
    ) -> None:
        self.elements = x, w
        self.space: tuple[Any, Any] | None = None  # them, with room for terms behind each line
        self.dtype, self.place, self.progress = dtype, place, progress
        self.told = 0

    def tell(self, many: int) -> np.ndarray:
        """The first of the terms."""
        if self.told == 0:
            shape = self.elements[0].shape[:-1]
            self.terms, self.left = np.zeros((TERMS, *shape), self.dtype), np.ones(shape, bool)
        while self.told < many and self.left.any():
            term = self.terms[self.told] = self._rest() + 0.0  # no zero is negative
            self.left = (term != 0) & np.isfinite(term)
            self.told += 1
        return self.terms[:many]

    def _rest(self) -> np.ndarray:
        """The sums, less the terms that are told."""
        x, w = self.elements
        k, n = self.told, x.shape[-1]
        there = isinstance(x, DeviceArray)
        if self.space is None:
            self.space = _spaced(x, self.dtype), None if w is None else _spaced(w, self.dtype, 1)
        x, w = self.space
        if k:  # those before it are there
            x[..., n + k - 1] = -np.where(self.left, self.terms[k - 1], 0)
        options = {"device": None if there else "cpu", "stream": self.place.stream}
        if w is None:
            return np.asarray(on_host(reduce(x, "sum", -1, **options)))
        options["variant"] = self.place.variant
        shown = self.progress if k == 0 else False
        return np.asarray(on_host(dot(x, w, -1, **options, progress=shown)))

    def suffice(self) -> np.ndarray:
        """Of which lines all terms together are the sum."""
        first = self.tell(TERMS)[0]
        return np.asarray(~self.left & np.isfinite(first) & self.whole)

    @functools.cached_property
    def whole(self) -> bool:
        """Are all a multiple of the least double? Else what is left may be less than any term."""
        x, w = self.elements
        if w is None or not {x.dtype.name, w.dtype.name} & {"float64", "complex128"}:
            return True
        return _least_exponent(x) + _least_exponent(w) - 2 * 52 >= -1074


def _least_exponent(x: Any) -> int:
    """Of all numbers but zeros, each of which is a multiple of 2 to it, less 52."""
    host = np.asarray(on_host(x))
    parts = np.stack([host.real, host.imag]) if host.dtype.kind == "c" else host
    sizes = np.abs(parts.astype(np.float64))
    return math.frexp(np.min(sizes, where=sizes > 0, initial=1.0))[1] - 1


def _spaced(x: Any, dtype: np.dtype[Any], fill: int = 0) -> Any:
    """A copy with room for terms behind each line."""
    n = x.shape[-1]
    shape = (*x.shape[:-1], n + TERMS)
    if not isinstance(x, DeviceArray):
        host = np.empty(shape, dtype)
        host[..., :n], host[..., n:] = x, fill
        return host
    there = empty(shape, dtype, device=x.device)
    there[...] = fill
    parts = dtype.kind == "c" and x.dtype.kind != "c"  # whose imaginary ones are there already
    place = there.view(np.float64)[..., : 2 * n : 2] if parts else there[..., :n]
    if place.size:
        stencil1d(x, [1.0], out=place)  # which converts
    return there


# ---- sums by tiles -------------------------------------------------------------------------------


class _Told(NamedTuple):
    """A sum each, by one term or two: it, rounded, and what that is off, rounded."""

    terms: np.ndarray  # shape (many, ...)
    off: Any  # by what part of it they are off besides, at most; of complex ones, each part


def _tell(over: _Sums, under: _Sums, many: int, lean: float) -> tuple[_Told, _Told]:
    (x, w), place = over.elements, over.place
    if isinstance(x, DeviceArray) or place.stream is not None or over.progress or not x.size:
        return _Told(over.tell(many), 0.0), _Told(under.tell(many), 0.0)
    products, sums = _of_tiles(x, w, over.dtype, many, place.variant, lean)
    return _joined(products, x.shape[:-1], lean), _joined(sums, w.shape[:-1], 0)


def _of_tiles(
    x: np.ndarray, w: np.ndarray, dtype: np.dtype[Any], many: int, variant: str | None, lean: float
) -> tuple[np.ndarray, np.ndarray]:
    """Of products and of weights the terms of each line's pieces: (many, lines, pieces)."""
    n, alone = x.shape[-1], w.ndim == 1
    x, w = x.reshape(-1, n), w.reshape(-1, n)
    across = min(n, TILE)
    down = min(len(x), TILE // across)  # one line, where there is more than one piece
    firsts = range(0, n, across)
    products = np.empty((many, len(x), len(firsts)), dtype)
    sums = np.empty((many, len(w), len(firsts)), dtype)
    rooms = [np.empty((down, across + many - 1), dtype) for _ in "xw"]  # the last: for a term
    for piece, first in enumerate(firsts):
        last = min(first + across, n)
        m = last - first
        for line in range(0, len(x), down):
            end = min(line + down, len(x))
            a, b = (room[: end - line, : m + many - 1] for room in rooms)
            a[:, :m] = x[line:end, first:last]
            if line == 0 or not alone:
                some = slice(1) if alone else slice(line, end)
                b[:, :m] = w[some, first:last]
                sums[:, some, piece] = _terms_of(b[:1] if alone else b, None, m, variant, 0)
            products[:, line:end, piece] = _terms_of(a, b, m, variant, lean)
    return products, sums


def _terms_of(
    a: np.ndarray, b: np.ndarray | None, m: int, variant: str | None, lean: float
) -> list[Any]:
    """Of the first m elements of each line, behind which there is room for the first term, or no
    second one is asked for. Not all of the first is subtracted: how much less is known exactly, and
    so is the second without it (P. H. Sterbenz)."""

    def left() -> Any:
        if b is None:
            return reduce(a, "sum", -1, device="cpu")
        return _core.dot(a, b, False, False, None, "cpu", None, variant, None)

    if a.shape[1] == m:
        return [left()]
    a[:, m] = 0
    if b is not None:
        b[:, m] = 1
    first = left()
    with np.errstate(invalid="ignore"):
        most = first * (1 - lean)
        a[:, m] = -most
        return [first, left() - (first - most)]


def _joined(parts: np.ndarray, shape: tuple[int, ...], lean: float) -> _Told:
    """Pieces' terms are added exactly, and told again. A piece is off by 2^-53 of its one term at
    most, or of its second, which is 2^-53 of the first at most, or as large as the lean part."""
    many, lines, pieces = parts.shape
    if pieces == 1 and not lean:
        return _Told(parts.reshape(many, *shape), 0.0)
    rest = parts.transpose(1, 0, 2).reshape(lines, -1)
    terms = [reduce(rest, "sum", -1, device="cpu")]
    if many > 1:
        rest = np.concatenate([rest, -terms[0][:, None]], 1)
        terms.append(reduce(rest, "sum", -1, device="cpu"))
    unit = 2.0**-52 * (1 if many == 1 else lean or 2.0**-53)  # of pieces: twice what they are off

    def part(of: np.ndarray, first: np.ndarray) -> np.ndarray:
        most = np.abs(of[0]).sum(-1) * unit
        exact = (of[-1] == 0).all(-1) & (lean == 0)
        return np.where(exact, 0.0, most / np.abs(first)).reshape(shape)

    with np.errstate(all="ignore"):
        off: Any = part(parts.real, terms[0].real)
        if parts.dtype.kind == "c":
            off = off + 1j * part(parts.imag, terms[0].imag)
    return _Told(np.stack(terms).reshape(many, *shape), off)


# ---- quotients -----------------------------------------------------------------------------------

Parts = tuple[Fraction, Fraction]  # real, imaginary


def _quotients(
    over: _Sums, under: _Sums, shape: tuple[int, ...], dtype: np.dtype[Any], returned: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rounded quotients, and, where they are returned, rounded sums of the weights."""
    small = dtype.itemsize <= (8 if dtype.kind == "c" else 4)
    long = over.elements[0].shape[-1] * 8 > TILE  # of which few are ties
    first = ((1, 0),) if small else ((2, LEAN),) if long else ()
    for many, lean in (*first, (2, 0)):
        told = _tell(over, under, many, lean)
        quotients, totals, known = _near(*told, shape, dtype, returned)
        if known.all():
            return quotients, totals
    fine = over.suffice(), under.suffice()
    alone = under.elements[0].ndim == 1  # one sum of weights for all
    for place in np.argwhere(~known):
        at = tuple(place)
        b = _exact(under, fine[1], () if alone else at)
        if b is not None and not any(b):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        a = _exact(over, fine[0], at)
        if a is None or b is None:
            values = over.terms[(0, *at)], under.terms[0 if alone else (0, *at)]
            with np.errstate(all="ignore"):
                quotients[at], totals[at] = values[0] / values[1], values[1]
            continue
        quotients[at], totals[at] = _rounded(_divided(a, b), dtype), _rounded(b, dtype)
    return quotients, totals


def _near(
    over: _Told,
    under: _Told,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    returned: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quotients, sums of the weights, and where the first term or two tell for certain what is
    asked for. Complex weights, zeros and what is very large or small are left to others."""
    quotients, totals = np.empty(shape, dtype), np.empty(shape, dtype)
    real = quotients.real.dtype
    b = [term if term.shape == shape else np.broadcast_to(term, shape) for term in under.terms.real]
    with np.errstate(all="ignore"):
        known = _moderate(b[0])
        if under.terms.dtype.kind == "c":
            known &= (under.terms.imag == 0).all(0)
        if returned:
            totals[...], certain = _rounded_sum(b, under.off.real, real)
            known &= certain
        for part in ("real", "imag") if dtype.kind == "c" else ("real",):
            a, off = list(getattr(over.terms, part)), getattr(over.off, part) + under.off.real
            found, certain = _rounded_quotient(a, b, off, real)
            getattr(quotients, part)[...] = found
            known &= certain
    return quotients, totals, known


def _moderate(x: np.ndarray) -> np.ndarray:
    """Nothing below overflows, or loses bits near zero."""
    return np.asarray((np.abs(x) > 2.0**-900) & (np.abs(x) < 2.0**900))


def _between(x: np.ndarray, error: Any, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Rounded to less than a double what lies within this part of x; where it is certain."""
    low, high = x * (1 - error), x * (1 + error)
    found = low.astype(dtype)
    certain = (found == high.astype(dtype)) & (error < 2.0**-40)
    if dtype.itemsize == 2 and dtype != np.float16:  # rounded twice: not beside the second's ties
        certain &= x.astype(np.float32).view(np.uint32) & 0xFFFF != 0x8000
    return found, certain


def _rounds_once(x: np.ndarray, dtype: np.dtype[Any]) -> Any:
    """To bfloat16 NumPy's conversion goes by float32."""
    return dtype.itemsize == 4 or dtype == np.float16 or x == x.astype(np.float32)


def _is_tie(x: np.ndarray, off: np.ndarray, error: Any) -> np.ndarray:
    """May what lies off x, but for this part of x, be rounded to another double than x?"""
    half, error = np.spacing(np.abs(x)) / 2, np.abs(x) * error
    off = np.abs(off)
    tie = (np.abs(off - half) <= error) | (np.abs(off - half / 2) <= error)
    return np.asarray(tie | ~(error < half / 4))


def _rounded_sum(
    b: list[np.ndarray], off: Any, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """off: by what part of it the terms are off besides."""
    if dtype.itemsize == 8:
        return b[0], np.isfinite(b[0]) & ((off == 0) | ~_is_tie(b[0], b[1], off + 2.0**-98))
    found, certain = _between(b[0], 2.0**-52 + 2 * off, dtype)
    if len(b) == 1:
        return found, certain
    exact = (b[1] == 0) & (off == 0) & _rounds_once(b[0], dtype)
    return np.where(exact, b[0].astype(dtype), found), certain | exact


def _rounded_quotient(
    a: list[np.ndarray], b: list[np.ndarray], off: Any, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Of a sum and another, each told by a rounded term, or also by what that is off, rounded; off:
    by what part both are off besides. With one term the quotient of both is off by three roundings;
    with two it is told by two floats, off by 2^-101 of it, and is exact where no term, and nothing
    of the division, is left: then what seems a tie of floats of less digits is one."""
    first = a[0] / b[0]
    fine = _moderate(a[0]) & _moderate(first)
    if len(a) == 1:
        found, certain = _between(first, 2.0**-50 + 2 * off, dtype)
        return found, np.asarray(certain & fine)
    product, low = _product(first, b[0])
    rest = (a[0] - product) - low  # exact: T. J. Dekker
    second = (rest + (a[1] - first * b[1])) / b[0]
    near = first + second
    if dtype.itemsize < 8:
        exact = (rest == 0) & (a[1] == 0) & (b[1] == 0) & (off == 0) & _rounds_once(first, dtype)
        found, certain = _between(near, 2.0**-51 + 2 * off, dtype)
        return np.where(exact, first.astype(dtype), found), (certain | exact) & fine
    tie = _is_tie(near, second - (near - first), 2.0**-98 + 2 * off)
    return near, ~tie & fine


def _product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x * y, rounded, and what that is off. Source: T. J. Dekker (1971)."""
    high, low = zip(*map(_split, (x, y)), strict=True)
    product = x * y
    off = ((high[0] * high[1] - product) + high[0] * low[1] + low[0] * high[1]) + low[0] * low[1]
    return product, off


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    large = x * (2.0**27 + 1)
    high = large - (large - x)
    return high, x - high


def _exact(sums: _Sums, suffice: np.ndarray, at: tuple[int, ...]) -> Parts | None:
    """None: there are NaN or infinities."""
    if suffice[at]:
        terms: Any = [term[at] for term in sums.terms]
    else:
        x, w = (on_host(e[at] if e is not None and e.ndim > 1 else e) for e in sums.elements)
        wide = sums.dtype
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
    """To a double, by Python's rule; to less, from a double, or for bfloat16 from a float32, which
    NumPy's conversion goes by, that is odd unless it is exact."""
    try:
        double = float(exact)
    except OverflowError:
        return dtype.type(math.inf if exact > 0 else -math.inf)
    if dtype.itemsize == 8:
        return double
    rest = exact - Fraction(double)
    if rest and np.float64(double).view(np.int64) % 2 == 0:
        double = math.nextafter(double, math.inf if rest > 0 else -math.inf)
    with np.errstate(all="ignore"):
        if dtype.itemsize == 4 or dtype == np.float16:
            return np.float64(double).astype(dtype)
        single = np.float32(double)
        off = double - float(single)
        if off and single.view(np.int32) % 2 == 0:
            single = np.nextafter(single, np.float32(math.inf if off > 0 else -math.inf))
        return single.astype(dtype)
