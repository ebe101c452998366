"""What every operation means, in plain NumPy: the oracle of each, to the last bit.

Made to be read, and to judge the kernels by; ``warpkit.reduce`` and its sisters are for work.
Arguments are those of the operations, without device and variant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import ArrayLike

LANES, CHUNK = 32, 1024

_QUIET = np.errstate(all="ignore")  # infinity and NaN are answers here


@_QUIET
def tree(x: ArrayLike, op: str) -> np.ndarray:
    """Fold the last axis in float64, in the order that every kernel keeps.

    Chunks of 1024: lane l folds x[l], x[l + 32], ... in turn, then lanes fold pairwise, l with
    l + 16, 8, 4, 2, 1. The chunks' totals are the next x, until one is left.

    x        real, shape (..., n)
    op       "sum" or "prod"
    Returns  float64, shape (...); of nothing the identity, -0.0 or 1.0
    Raises   KeyError (op)
    Source   csrc/scalar.h, "the tree of a fold"
    """
    combine, identity = {"sum": (np.add, -0.0), "prod": (np.multiply, 1.0)}[op]
    x = np.asarray(x, np.float64)
    while True:
        n = x.shape[-1]
        chunks = max(1, -(-n // CHUNK))
        length = CHUNK if chunks > 1 else max(LANES, -(-n // LANES) * LANES)
        # What the identity pads changes no bit: x + -0.0 is x, also for x = -0.0.
        padded = np.full((*x.shape[:-1], chunks * length), identity)
        padded[..., :n] = x
        turns = padded.reshape(*x.shape[:-1], chunks, length // LANES, LANES)
        lanes = turns[..., 0, :]
        for turn in range(1, length // LANES):
            lanes = combine(lanes, turns[..., turn, :])
        for half in (16, 8, 4, 2, 1):
            lanes = combine(lanes[..., :half], lanes[..., half : 2 * half])
        x = lanes[..., 0]
        if chunks == 1:
            return x[..., 0]


@_QUIET
def fma(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> np.ndarray:
    """a * b + c, rounded once, as C's fma does it.

    a, b, c  float64, shapes that broadcast
    Returns  float64 of the common shape
    Source   S. Boldo, G. Melquiond (2008), "Emulation of FMA and correctly rounded sums",
             https://inria.hal.science/inria-00080427; fractions where its premises fail
    """
    a, b, c = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c)))
    product = a * b
    exact = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b)
    finite = np.isfinite(c)
    small = (np.abs(a) < 2.0**450) & (np.abs(b) < 2.0**450) & (np.abs(c) < 2.0**900)
    large = (np.abs(a) > 2.0**-450) & (np.abs(b) > 2.0**-450)
    rest = np.where(small & large, _rest_of_product(a, b, product), 0.0)
    result: np.ndarray = np.where(exact | finite, product + c, c)  # right where nothing was lost
    if rest.any():
        high, low = _two_sum(c, rest)
        top, below = _two_sum(product, high)
        result = np.where(rest != 0, top + _sum_to_odd(low, below), result)
    for i in map(tuple, np.argwhere(~exact & finite & ~(small & large))):
        result[i] = _fma_of_fractions(float(a[i]), float(b[i]), float(c[i]))
    return result


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b, and what the rounding lost (D. Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _rest_of_product(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """a * b - product, exactly (T. Dekker, G. Veltkamp)."""

    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = x * 134217729.0  # 2^27 + 1
        high = scaled - (scaled - x)
        return high, x - high

    (a1, a2), (b1, b2) = halves(a), halves(b)
    rest: np.ndarray = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return rest


def _sum_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b; if inexact, the neighbour with an odd last bit, so that it rounds right again."""
    total, lost = _two_sum(a, b)
    bits = total.view(np.int64)
    step = np.where((lost > 0) == (total > 0), 1, -1)
    odd: np.ndarray = np.where((lost != 0) & (bits % 2 == 0), bits + step, bits)
    return odd.view(np.float64)


def _fma_of_fractions(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


@_QUIET
def reduce(
    a: ArrayLike,
    op: str = "sum",
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Any:
    """The oracle of warpkit.reduce.

    a        bool, integer, float32 or float64, any shape and strides
    Returns  as warpkit.reduce: NumPy's answer; sum, prod and mean of floats by ``tree``
    Raises   AxisError, ValueError (axis twice, min or max of nothing)
    Source   numpy.sum, numpy.prod, numpy.min, numpy.max, numpy.mean
    """
    a = _as_taken(a)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        axes = tuple(range(a.ndim))
    else:
        axes = normalize_axis_tuple(axis, a.ndim)
    lines = _in_memory_order(a, axes)
    floating = a.dtype.kind == "f"
    if op in ("min", "max"):
        result = _extreme(lines, op) if floating else getattr(np, op)(lines, axis=-1)
    elif op == "mean" or floating:
        result = _float_fold(lines, op)
    else:
        result = getattr(np, op)(lines, axis=-1)
    keepdims = keepdims and a.ndim > 0
    extents = [1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes]
    return result.reshape(extents)[()]


def _as_taken(a: ArrayLike) -> np.ndarray:
    """Native, aligned, with strides in whole elements: what is not is copied as NumPy copies."""
    a = np.asarray(a)
    whole = all(s % a.itemsize == 0 for s, n in zip(a.strides, a.shape, strict=True) if n > 1)
    if a.flags.aligned and a.dtype.isnative and whole:
        return a
    return np.array(a, a.dtype.newbyteorder("="), order="K", copy=True)


def _in_memory_order(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Shape (outputs, n): the elements of ``axes`` in the order in which they lie in memory,
    upwards, the axis with the smallest stride fastest."""
    for axis in axes:
        if a.strides[axis] < 0:
            a = np.flip(a, axis)
    kept = [d for d in range(a.ndim) if d not in axes]
    inner = sorted(axes, key=lambda d: -a.strides[d] if a.shape[d] > 1 else 0)
    outputs, n = (math.prod(a.shape[d] for d in part) for part in (kept, inner))
    return a.transpose(kept + inner).reshape(outputs, n)


def _extreme(lines: np.ndarray, op: str) -> np.ndarray:
    """min or max of floats: NaN wins; -0.0 lies below 0.0."""
    result = np.asarray(getattr(np, op)(lines, axis=-1))
    zero = lines == 0
    negative = zero & np.signbit(lines)
    sign = negative.any(-1) if op == "min" else ~(zero & ~negative).any(-1)
    result = np.where(result == 0, np.where(sign, -0.0, 0.0), result).astype(lines.dtype)
    return _one_nan(result)


def _float_fold(lines: np.ndarray, op: str) -> np.ndarray:
    n = lines.shape[-1]
    total = np.asarray(tree(lines, "prod" if op == "prod" else "sum"))
    if op == "mean":
        total = total / np.float64(n)
    elif n == 0:
        total = np.full(total.shape, 1.0 if op == "prod" else 0.0)
    return _one_nan(total.astype(lines.dtype if lines.dtype.kind == "f" else np.float64))


def _one_nan(a: np.ndarray) -> np.ndarray:
    """a with every NaN the quiet positive one without payload."""
    return np.where(np.isnan(a), a.dtype.type(np.nan), a)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> np.ndarray:
    """The oracle of warpkit.transpose.

    a        bool, integer, float32 or float64, any shape and strides
    Returns  C-contiguous array in native byte order, the bits of a's elements
    Raises   AxisError, ValueError (axes)
    Source   numpy.transpose
    """
    a = np.asarray(a)
    return np.array(np.transpose(a, axes), a.dtype.newbyteorder("="), order="C", copy=True)


@_QUIET
def stencil1d(
    a: ArrayLike,
    coefficients: ArrayLike,
    axis: int = -1,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> np.ndarray:
    """The oracle of warpkit.stencil1d.

    a        bool, integer, float32 or float64, at least one axis
    coefficients  real, shape (k,), k >= 1
    Returns  C-contiguous array of a's shape and dtype
    Raises   AxisError, KeyError (mode)
    Source   scipy.ndimage.correlate1d
    """
    a, taps = np.asarray(a), np.asarray(coefficients, np.float64)
    axis = normalize_axis_index(axis, a.ndim)
    out = np.empty(a.shape, a.dtype.newbyteorder("="))
    if a.size == 0:
        return out
    lines = np.moveaxis(a, axis, -1)
    n, before = lines.shape[-1], len(taps) // 2 + origin
    x = lines.reshape(-1, n).astype(np.float64)
    at = extend(np.arange(-before, n + len(taps) - 1 - before), n, mode)
    extended = np.where(at >= 0, x[:, at], cval)
    total = np.zeros(x.shape)
    for t, tap in enumerate(taps):
        total = fma(tap, extended[:, t : t + n], total)
    out[...] = np.moveaxis(cast(total, out.dtype).reshape(lines.shape), -1, axis)
    return out


def extend(index: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Which element of a line of n stands at ``index``, also beyond its ends; -1 for cval.

    index    integers, any shape
    n        at least 1
    mode     "reflect", "constant", "nearest", "mirror" or "wrap"
    Returns  integers of index's shape, in -1 .. n - 1
    Raises   KeyError (mode)
    Source   scipy.ndimage's boundary modes
    """
    two, less = index % (2 * n), index % max(2 * n - 2, 1)
    modes: dict[str, np.ndarray] = {
        "constant": np.where((index >= 0) & (index < n), index, -1),
        "nearest": np.clip(index, 0, n - 1),
        "wrap": index % n,
        "reflect": np.minimum(two, 2 * n - 1 - two),
        "mirror": np.minimum(less, max(2 * n - 2, 0) - less) if n > 1 else np.zeros_like(index),
    }
    return modes[mode]


@_QUIET
def cast(x: ArrayLike, dtype: Any) -> np.ndarray:
    """float64 to an element type, as stencil1d stores its results.

    Integers are truncated towards zero, then taken modulo the type's range; NaN, and what no
    64-bit integer holds, become the smallest int64 first. bool is the truncated value != 0.

    x        float64
    dtype    bool, integer, float32 or float64
    Returns  array of x's shape
    Source   csrc/scalar.h, "double to integer"
    """
    x, dtype = np.asarray(x, np.float64), np.dtype(dtype)
    if dtype.kind == "f":
        return _one_nan(x.astype(dtype))
    fits = (x >= -(2.0**63)) & (x < 2.0**63)
    whole = np.where(fits, x, -(2.0**63)).astype(np.int64)
    if dtype == np.uint64:
        upper = (x >= 2.0**63) & (x < 2.0**64)
        return np.where(upper, np.where(upper, x, 0).astype(np.uint64), whole.astype(np.uint64))
    return whole.astype(dtype)


def histogram(
    a: ArrayLike,
    bins: int | Sequence[float] | np.ndarray | str = 10,
    range: tuple[float, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The oracle of warpkit.histogram: numpy.histogram, bool as 0 and 1.

    Returns  (counts, edges): int64 of shape (n,), and shape (n + 1,)
    Raises   ValueError, TypeError as numpy.histogram
    Source   numpy.histogram
    """
    a = np.asarray(a)
    return np.histogram(a.astype(np.uint8) if a.dtype == bool else a, bins, range)


def bincount(a: ArrayLike, minlength: int = 0) -> np.ndarray:
    """The oracle of warpkit.bincount, one addition per element.

    a        bool or integer, shape (n,), none negative
    Returns  int64, shape (max(max(a) + 1, minlength),)
    Raises   IndexError (a negative element)
    Source   numpy.bincount
    """
    a = np.asarray(a).astype(np.int64)
    counts = np.zeros(max(int(a.max()) + 1 if a.size else 0, minlength), np.int64)
    np.add.at(counts, a, 1)
    return counts


def warp_histogram(
    a: ArrayLike, assume_sorted: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The oracle of warpkit.warp_histogram: runs of equal elements, after sorting.

    a        bool, integer, float32 or float64, n elements of any shape
    Returns  (values, counts, totals) for w = ceil(n / 32) warps: a's dtype and int32, shape
             (w, 32), zeros behind the last distinct value; int32, shape (w,)
    Source   numpy.unique(return_counts=True)
    """
    a = np.asarray(a)
    x = np.ascontiguousarray(a, a.dtype.newbyteorder("=")).reshape(-1)
    whole = x.size // LANES * LANES
    warps = [x[:whole].reshape(-1, LANES)]
    if whole < x.size:
        warps.append(x[np.newaxis, whole:])
    found = [_runs(w if assume_sorted else np.sort(w, axis=1)) for w in warps]
    if len(found) == 1:
        return found[0]
    values, counts, totals = (np.concatenate(part) for part in zip(*found, strict=True))
    return values, counts, totals


def _runs(warps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    new = np.ones(warps.shape, bool)  # the first of its run of equal values
    left, right = warps[:, :-1], warps[:, 1:]
    np.not_equal(right, left, out=new[:, 1:])
    if warps.dtype.kind == "f":
        new[:, 1:] &= (right == right) | (left == left)  # NaN beside NaN is no new value
    totals = new.sum(axis=1, dtype=np.int32)
    slots = np.arange(LANES) < totals[:, np.newaxis]
    first = warps[new]
    if first.dtype.kind == "f":
        first = _one_nan(first + first.dtype.type(0))  # -0.0 + 0.0 is 0.0
    values = np.zeros(slots.shape, warps.dtype)
    counts = np.zeros(slots.shape, np.int32)
    values[slots] = first
    counts[slots] = np.diff(np.flatnonzero(new), append=new.size)
    return values, counts, totals
