"""What every operation means, in plain NumPy: the oracle of each, to the last bit.

Made to be read, and to judge kernels by, warpkit's and your own; ``warpkit.reduce`` and its sisters
are for work. Arguments are those of the operations, without device and variant. What has no
underscore before its name is public; docs/testing.md lists it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

LANES, CHUNK = 32, 1024

_QUIET = np.errstate(all="ignore")  # infinity and NaN are answers here


@_QUIET
def product(x: ArrayLike, counts: ArrayLike = True) -> np.ndarray:
    """Multiply the last axis in float64 or complex128, in the order that every kernel keeps.

    Chunks of 1024: lane l multiplies x[l], x[l + 32], ... in turn, then lanes pairwise, l with l +
    16, 8, 4, 2, 1. The chunks' products are the next x, until one is left. What does not count is 1
    in its place.

    Parameters
    ----------
    x : array_like
        Real or complex, shape (..., n).
    counts : array_like of bool
        Bool, of a shape that broadcasts to x's.

    Returns
    -------
    float64 or complex128
        Shape (...); of nothing 1.

    References
    ----------
    csrc/num/tree.h.

    Examples
    --------
    >>> from warpkit import reference
    >>> float(reference.product([2, 3, 4]))
    24.0
    """
    x = np.asarray(x)
    x = np.where(counts, x, np.ones((), x.dtype))
    x = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    while True:
        n = x.shape[-1]
        chunks = max(1, -(-n // CHUNK))
        length = CHUNK if chunks > 1 else max(LANES, -(-n // LANES) * LANES)
        padded = np.ones((*x.shape[:-1], chunks * length), x.dtype)
        padded[..., :n] = x
        turns = padded.reshape(*x.shape[:-1], chunks, length // LANES, LANES)
        lanes = turns[..., 0, :]
        for turn in range(1, length // LANES):
            lanes = _times(lanes, turns[..., turn, :])
        for half in (16, 8, 4, 2, 1):
            lanes = _times(lanes[..., :half], lanes[..., half : 2 * half])
        x = lanes[..., 0]
        if chunks == 1:
            total: np.ndarray = x[..., 0]
            return total


def _times(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x y; of complex numbers by plain products, and 1 changes nothing, not even what is infinite
    or a zero's sign."""
    both: np.ndarray = x * y
    if x.dtype.kind != "c":
        return both
    both = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    both.real = x.real * y.real - x.imag * y.imag
    both.imag = x.real * y.imag + x.imag * y.real
    return np.where(_is_one(x), y, np.where(_is_one(y), x, both))


def _is_one(x: np.ndarray) -> np.ndarray:
    one: np.ndarray = (x == 1) & ~np.signbit(x.imag)
    return one


@_QUIET
def fma(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> np.ndarray:
    """a * b + c, rounded once, as C's fma does it.

    Parameters
    ----------
    a, b, c : array_like
        float64, shapes that broadcast.

    Returns
    -------
    ndarray of float64
        Of the common shape.

    Notes
    -----
    As in [1]_; by fractions where its premises fail.

    References
    ----------
    .. [1] S. Boldo, G. Melquiond (2008), "Emulation of FMA and correctly rounded sums",
       https://inria.hal.science/inria-00080427

    Examples
    --------
    >>> float(warpkit.reference.fma(0.1, 10.0, -1.0))
    5.551115123125783e-17
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


# ---- exact arithmetic --------------------------------------------------------------------------

# Of a binary float: its digits, the exponent of the last unit there is, that of the largest number.
FORMATS = {
    "float16": (11, -24, 15),
    "bfloat16": (8, -133, 127),
    "float32": (24, -149, 127),
    "float64": (53, -1074, 1023),
}


def nearest(numerator: int, denominator: int, exponent: int, dtype: str) -> float:
    """numerator / denominator * 2^exponent, rounded once to a float type: to nearest, ties to even.

    Parameters
    ----------
    numerator, denominator, exponent : int
        Of the exact value.
    dtype : str
        A key of FORMATS.

    Returns
    -------
    float
        A number of that type, as a float; infinity beyond its range.

    References
    ----------
    IEEE 754, 4.3.1.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.nearest(1, 3, 0, "float16")
    0.333251953125
    """
    digits, least, most = FORMATS[dtype]
    sign, n = (-1.0 if numerator < 0 else 1.0), abs(numerator)
    if n == 0:
        return 0.0
    unit = max(n.bit_length() - denominator.bit_length() + exponent - digits, least)
    while True:
        shift = exponent - unit
        q, rest = divmod(n << max(shift, 0), bottom := denominator << max(-shift, 0))
        if q.bit_length() <= digits:
            break
        unit += 1
    q += 2 * rest > bottom or (2 * rest == bottom and q % 2 == 1)
    if q.bit_length() + unit - 1 > most:
        return sign * math.inf
    return sign * math.ldexp(q, unit)


def nearest_root(numerator: int, denominator: int, exponent: int, dtype: str) -> float:
    """The square root of numerator / denominator * 2^exponent, rounded as nearest does it.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.nearest_root(2, 1, 0, "float32")
    1.4142135381698608
    """
    if exponent % 2:
        numerator, exponent = 2 * numerator, exponent - 1
    more = 2 * (FORMATS[dtype][0] + 4) - numerator.bit_length() + denominator.bit_length()
    more = max(more, 0) // 2 * 2 + 2
    square, rest = divmod(numerator << more, denominator)
    root = math.isqrt(square)
    inexact = rest > 0 or root * root != square
    return nearest(2 * root + inexact, 1, (exponent - more) // 2 - 1, dtype)


class _Exact:
    """Sums over the rows of a real matrix: whole numbers sums[i] 2^base, squares[i] 2^(2 base)."""

    def __init__(self, x: np.ndarray, counts: np.ndarray) -> None:
        self.rows = len(x)
        self.nan = (np.isnan(x) & counts).any(-1)
        self.above = ((x == np.inf) & counts).any(-1)
        self.below = ((x == -np.inf) & counts).any(-1)
        self.minus_zero = (~counts | ((x == 0) & np.signbit(x))).all(-1) & counts.any(-1)
        counts = counts & np.isfinite(x) & (x != 0)
        self.row = np.nonzero(counts)[0]
        x = x[counts]
        self.negative = x < 0
        if x.dtype.kind == "f":
            m, e = np.frexp(np.abs(x))
            self.m, self.e = (m * 2.0**53).astype(np.uint64), e.astype(np.int64) - 53
        else:
            m = x.astype(np.uint64)
            self.m, self.e = np.where(self.negative, -m, m), np.zeros(len(m), np.int64)
        self.base = int(self.e.min(initial=0))
        self.sums = self._total([(0, self.m)], 1, self.negative)

    def squares(self) -> list[int]:
        high, low = self.m >> np.uint64(32), self.m & np.uint64(2**32 - 1)
        parts = [(0, low * low), (33, low * high), (64, high * high)]
        return self._total(parts, 2, np.zeros(len(self.m), bool))

    def _total(
        self, parts: list[tuple[int, np.ndarray]], power: int, negative: np.ndarray
    ) -> list[int]:
        """The rows' sums of parts, part * 2^(shift + power * e), by whole numbers of equal e."""
        totals = [0] * self.rows
        if len(self.m) == 0:
            return totals
        order = np.lexsort((self.e, self.row))
        row, e = self.row[order], self.e[order] - self.base
        new = np.r_[True, (np.diff(row) != 0) | (np.diff(e) != 0)]
        first = np.flatnonzero(new)
        sign = np.where(negative, -1, 1)
        for shift, part in parts:
            for half, more in ((part & np.uint64(2**32 - 1), 0), (part >> np.uint64(32), 32)):
                sums = np.add.reduceat((half.astype(np.int64) * sign)[order], first)
                for r, d, total in zip(
                    row[first].tolist(), e[first].tolist(), sums.tolist(), strict=True
                ):
                    totals[r] += total << (shift + more + power * d)
        return totals


def _sums(e: _Exact, dtype: str, divisors: Sequence[int] | None) -> list[float]:
    """The sums, or the means of so many elements each."""
    found = []
    for i, total in enumerate(e.sums):
        if e.nan[i] or (e.above[i] and e.below[i]) or (divisors is not None and not divisors[i]):
            found.append(math.nan)
        elif e.above[i] or e.below[i]:
            found.append(math.inf if e.above[i] else -math.inf)
        elif total == 0:
            found.append(-0.0 if e.minus_zero[i] else 0.0)
        else:
            found.append(nearest(total, 1 if divisors is None else divisors[i], e.base, dtype))
    return found


def _sums_of_squares(parts: list[_Exact], dtype: str, root: bool) -> list[float]:
    found = []
    base = min(e.base for e in parts)
    squares = [e.squares() for e in parts]
    for i in range(parts[0].rows):
        total = sum(s[i] << 2 * (e.base - base) for e, s in zip(parts, squares, strict=True))
        if any(e.nan[i] for e in parts):
            found.append(math.nan)
        elif any(e.above[i] or e.below[i] for e in parts):
            found.append(math.inf)
        else:
            found.append((nearest_root if root else nearest)(total, 1, 2 * base, dtype))
    return found


def _variances(
    parts: list[_Exact], dtype: str, n: Sequence[int], ddof: float, root: bool, strict: bool
) -> list[float]:
    found = []
    base = min(e.base for e in parts)
    squares = [e.squares() for e in parts]
    for i, count in enumerate(n):
        odd = any(e.nan[i] or e.above[i] or e.below[i] for e in parts)
        top = 0  # n sum of squares - square of sum
        for e, s in zip(parts, squares, strict=True):
            top += (count * s[i] - e.sums[i] ** 2) << 2 * (e.base - base)
        divisor = float(count) - ddof
        if odd or math.isnan(divisor) or (not divisor > 0 and (top == 0 or strict)):
            found.append(math.nan)
        elif not divisor > 0:
            found.append(math.inf)
        elif top == 0:  # of no element too
            found.append(0.0)
        elif abs(ddof) < 2**62 and ddof == int(ddof):
            bottom = count * (count - int(ddof))
            found.append((nearest_root if root else nearest)(top, bottom, 2 * base, dtype))
        else:
            value = np.float64(nearest(top, count, 2 * base, "float64")) / np.float64(divisor)
            found.append(float(np.sqrt(value) if root else value))
    return found


# ---- reduce ------------------------------------------------------------------------------------

_NO_VALUE: Any = np._NoValue


@_QUIET
def reduce(
    a: ArrayLike,
    op: str = "sum",
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    initial: Any = _NO_VALUE,
    where: ArrayLike = True,
    ddof: float = 0,
) -> Any:
    """The oracle of warpkit.reduce.

    Parameters
    ----------
    a : array_like
        Bool, integer, float or complex, any shape and strides.
    op, axis, keepdims, dtype, initial, where, ddof : optional
        As the operation's.

    Returns
    -------
    ndarray or scalar
        As warpkit.reduce: NumPy's answer; sums of floats exact and rounded once, prod by
        ``product``; of no element that counts argmin and argmax -1.

    Raises
    ------
    AxisError, ValueError (axis twice; min, max, argmin, argmax of nothing)

    See Also
    --------
    warpkit.reduce, numpy.sum

    Examples
    --------
    >>> float(warpkit.reference.reduce([1e16, 1.0, -1e16]))
    1.0
    """
    a = _as_taken(a)
    fold = op.removeprefix("nan")
    if dtype is not None and np.dtype(dtype) != a.dtype:
        a = _cast_in_place(a, np.dtype(dtype))
    result = _result_dtype(fold, a.dtype, dtype)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        axes = tuple(range(a.ndim))
    else:
        axes = normalize_axis_tuple(axis, a.ndim)
    order = _in_c_order if fold in ("argmin", "argmax") else _in_memory_order
    lines, counts = order(a, np.broadcast_to(np.asarray(where, bool), a.shape), axes)
    if fold != op and a.dtype.kind not in "biu":
        counts = counts & ~np.isnan(lines)
    first = None if initial is _NO_VALUE else np.array(initial).astype(result)
    found = np.asarray(_fold(fold, lines, counts, result, first, ddof, fold != op))
    keepdims = keepdims and a.ndim > 0
    extents = [1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes]
    return found.astype(result).reshape(extents)[()]


def _result_dtype(fold: str, dtype: np.dtype[Any], given: Any) -> np.dtype[Any]:
    """NumPy's, where it has the fold."""
    real = np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype
    if fold in ("any", "all"):
        return np.dtype(bool)
    if fold in ("count_nonzero", "argmin", "argmax"):
        return np.dtype(np.int64)
    if fold in ("mean", "var", "std", "norm") and dtype.kind in "biu":
        return np.dtype(np.float64)
    if fold in ("sum", "prod", "sumsq") and dtype.kind in "biu" and given is None:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return real if fold in ("var", "std", "norm", "sumsq") else dtype


def _cast_in_place(a: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The elements cast, in the order in memory in which they were."""
    backwards = tuple(slice(None, None, -1 if s < 0 else 1) for s in a.strides)
    cast: np.ndarray = a[backwards].astype(dtype)[backwards]
    return cast


def _fold(
    fold: str,
    x: np.ndarray,
    counts: np.ndarray,
    result: np.dtype[Any],
    initial: np.ndarray | None,
    ddof: float,
    skip_nan: bool,
) -> Any:
    """The rows of x, of which those elements count."""
    if fold in ("any", "all", "count_nonzero"):
        some = x != 0
        if fold == "all":
            return (some | ~counts).all(-1)
        return (some & counts).any(-1) if fold == "any" else (some & counts).sum(-1)
    if fold in ("argmin", "argmax"):
        return _arg(x, counts, fold)
    if fold in ("min", "max"):
        if skip_nan and initial is not None and x.dtype.kind not in "biu" and np.isnan(initial):
            initial = None if counts.shape[-1] else initial
        return _extreme(x, counts, fold, initial)
    if fold == "ptp":
        low, high = (_extreme(x, counts, op, None) for op in ("min", "max"))
        return _one_nan((high - low).astype(x.dtype))
    if fold == "prod":
        return _product(x, counts, result, initial)
    if fold in ("sum", "sumsq") and result.kind in "biu":
        return _modulo(x, counts, result, initial, fold)
    return _exact_fold(fold, x, counts, result, initial, ddof, skip_nan)


def _with_initial(
    x: np.ndarray, counts: np.ndarray, initial: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    if initial is None:
        return x, counts
    one = np.full((len(x), 1), initial)
    return np.concatenate([x, one], -1, dtype=np.result_type(x, one)), np.c_[
        counts, np.ones(len(x), bool)
    ]


def _modulo(
    x: np.ndarray, counts: np.ndarray, result: np.dtype[Any], initial: Any, fold: str
) -> np.ndarray:
    x = np.where(counts, x, 0).astype(np.int64 if x.dtype.kind != "u" else np.uint64)
    total: np.ndarray = (x * x if fold == "sumsq" else x).sum(-1).astype(result)
    return total if initial is None else total + initial


def _product(x: np.ndarray, counts: np.ndarray, result: np.dtype[Any], initial: Any) -> np.ndarray:
    if result.kind in "biu":
        kind = np.uint64 if x.dtype.kind == "u" else np.int64
        total: np.ndarray = np.where(counts, x, 1).astype(kind).prod(-1).astype(result)
        return total if initial is None else total * initial
    total = np.asarray(product(x, counts))
    if initial is not None:
        total = np.asarray(_times(total, initial.astype(total.dtype)))
    return _one_nan(_narrowed(total, result))


def _narrowed(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """float64 or complex128 rounded to a smaller type; NumPy's bfloat16 would round twice."""
    if dtype.name != "bfloat16":
        return x.astype(dtype)
    flat = [_narrow(v, dtype.name) for v in x.reshape(-1).tolist()]
    return np.array(flat, np.float64).reshape(x.shape).astype(dtype)


def _narrow(v: float, dtype: str) -> float:
    if v == 0 or not math.isfinite(v):
        return v
    n, d = v.as_integer_ratio()
    return math.copysign(nearest(n, d, 0, dtype), v)


def _exact_fold(
    fold: str,
    x: np.ndarray,
    counts: np.ndarray,
    result: np.dtype[Any],
    initial: Any,
    ddof: float,
    skip_nan: bool,
) -> np.ndarray:
    n = counts.sum(-1).tolist()
    if x.dtype.kind == "c" or result.kind == "c":
        planes = [
            (part(x), None if initial is None else part(initial)) for part in (np.real, np.imag)
        ]
    else:
        planes = [(x, initial)]
    parts = []
    for plane, first in planes:
        wide = plane if plane.dtype.kind in "biu" else plane.astype(np.float64)
        if first is not None:
            wide = wide.astype(np.float64)
            first = np.asarray(first, np.float64)
        parts.append(_Exact(*_with_initial(wide, counts, first)))
    name = np.zeros(0, result).real.dtype.name if result.kind == "c" else result.name
    if fold in ("sum", "mean"):
        found = [np.array(_sums(e, name, n if fold == "mean" else None)) for e in parts]
        if len(found) == 1:
            return found[0].astype(result)
        pair = np.empty(len(x), np.complex128)
        pair.real, pair.imag = found
        return pair.astype(result)
    if fold in ("sumsq", "norm"):
        values = _sums_of_squares(parts, name, fold == "norm")
    else:
        values = _variances(
            parts, name, n, ddof, fold == "std", skip_nan and x.dtype.kind not in "biu"
        )
    return _narrowed(np.array(values), result)


def _arg(x: np.ndarray, counts: np.ndarray, fold: str) -> np.ndarray:
    if x.shape[-1] == 0:
        raise ValueError(f"attempt to get {fold} of an empty sequence")
    x = x.astype(np.float64) if x.dtype.kind == "V" else x
    if counts.all():
        found: np.ndarray = getattr(np, fold)(x, axis=-1)
        return found
    places = [np.flatnonzero(row) for row in counts]
    return np.array(
        [p[getattr(np, fold)(row[p])] if len(p) else -1 for row, p in zip(x, places, strict=True)],
        np.int64,
    )


def _extreme(x: np.ndarray, counts: np.ndarray, op: str, initial: Any) -> np.ndarray:
    """min or max: NaN wins; complex numbers by their real parts first; among equals -0.0 is least,
    of complex numbers in the real part first."""
    x, counts = _with_initial(x, counts, initial)
    if x.shape[-1] == 0 and len(x):
        raise ValueError(f"zero-size array to reduction operation {op}imum which has no identity")
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    keys = [_key(part) for part in parts]
    if len(parts) == 2:  # a zero's sign comes after both values
        keys = [_key(np.where(part == 0, 0.0, part)) for part in parts] + keys
    worst = np.iinfo(keys[0].dtype).max if op == "min" else np.iinfo(keys[0].dtype).min
    left = counts
    for key in keys:
        best = getattr(np, op)(np.where(left, key, worst), axis=-1)
        left = left & (key == best[:, np.newaxis])
    at = left.argmax(-1)
    found: np.ndarray = x[np.arange(len(x)), at]
    if x.dtype.kind in "biu":
        return found
    nan = (np.isnan(x) & counts).any(-1) | ~counts.any(-1)
    nothing = np.array(complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan)
    return np.where(nan, nothing.astype(x.dtype), found)


def _key(x: np.ndarray) -> np.ndarray:
    """Integers in the order of x."""
    if x.dtype.kind == "u":
        return x
    if x.dtype.kind in "bi":
        return x.astype(np.int64)
    bits = x.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def _as_taken(a: ArrayLike) -> np.ndarray:
    """Native, aligned, with strides in whole elements: what is not is copied as NumPy copies."""
    a = np.asarray(a)
    whole = all(s % a.itemsize == 0 for s, n in zip(a.strides, a.shape, strict=True) if n > 1)
    if a.flags.aligned and a.dtype.isnative and whole:
        return a
    return np.array(a, a.dtype.newbyteorder("="), order="K", copy=True)


def _in_memory_order(
    a: np.ndarray, counts: np.ndarray, axes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Shape (outputs, n): the elements of ``axes`` in the order in which they lie in memory,
    upwards, the axis with the smallest stride fastest."""
    backwards = tuple(
        slice(None, None, -1 if d in axes and s < 0 else 1) for d, s in enumerate(a.strides)
    )
    strides = a.strides
    inner = sorted(axes, key=lambda d: -abs(strides[d]) if a.shape[d] > 1 else 0)
    return _as_lines(a[backwards], inner), _as_lines(counts[backwards], inner)


def _in_c_order(
    a: np.ndarray, counts: np.ndarray, axes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    return _as_lines(a, sorted(axes)), _as_lines(counts, sorted(axes))


def _as_lines(a: np.ndarray, inner: list[int]) -> np.ndarray:
    kept = [d for d in range(a.ndim) if d not in inner]
    outputs, n = (math.prod(a.shape[d] for d in part) for part in (kept, inner))
    return a.transpose(kept + inner).reshape(outputs, n)


def _one_nan(a: np.ndarray) -> np.ndarray:
    """a with every NaN the quiet positive one without payload, in each part by itself."""
    if a.dtype.kind == "c":
        pair = np.empty(a.shape, a.dtype)
        pair.real, pair.imag = _one_nan(a.real), _one_nan(a.imag)
        return pair
    if a.dtype.kind in "biu":
        return a
    return np.where(np.isnan(a), np.array(np.nan).astype(a.dtype), a)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> np.ndarray:
    """The oracle of warpkit.transpose.

    Parameters
    ----------
    a : array_like
        Bool, integer, float32 or float64, any shape and strides.
    axes : sequence of int, optional
        As the operation's.

    Returns
    -------
    ndarray
        C-contiguous, in native byte order, the bits of a's elements.

    Raises
    ------
    AxisError, ValueError (axes)

    See Also
    --------
    warpkit.transpose, numpy.transpose

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    a = np.asarray(a)
    return np.array(np.transpose(a, axes), a.dtype.newbyteorder("="), order="C", copy=True)


def transposed_copy(a: ArrayLike, axes: Sequence[int] | None = None) -> np.ndarray:
    """The oracle of the transpose variant "copy", which moves the bytes and turns nothing.

    Parameters
    ----------
    a : array_like
        4-byte integer or float32, any shape and strides.
    axes : sequence of int, optional
        As the operation's.

    Returns
    -------
    ndarray
        C-contiguous, of the transposed shape, with a's elements in the order of a's memory.

    Raises
    ------
    AxisError, ValueError (axes)

    See Also
    --------
    numpy.ravel

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.transposed_copy(np.int32([[1, 2, 3], [4, 5, 6]]))
    array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int32)
    """
    a = np.asarray(a)
    flat = np.array(a.ravel(order="K"), a.dtype.newbyteorder("="), copy=True)
    return flat.reshape(np.transpose(a, axes).shape)


@_QUIET
def stencil1d(
    a: ArrayLike,
    coefficients: ArrayLike,
    axis: int = -1,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    output: DTypeLike | None = None,
    accumulate: DTypeLike | None = None,
) -> np.ndarray:
    """The oracle of warpkit.stencil1d.

    Parameters
    ----------
    a : array_like
        Any dtype, at least one axis.
    coefficients : array_like
        Real or complex, shape (k,), k >= 1.
    axis, mode, cval, origin : optional
        As the operation's.
    output : dtype, optional
        dtype of the result, complex where a or the coefficients are; None: as SciPy's.
    accumulate : dtype
        float64 or float32, of coefficients, products and sums.

    Returns
    -------
    ndarray
        C-contiguous, of a's shape; mode "valid": axis n - k + 1.

    Raises
    ------
    AxisError, KeyError (mode)

    See Also
    --------
    warpkit.stencil1d, scipy.ndimage.correlate1d

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.stencil1d([0.0, 0.0, 1.0, 0.0], [1, 2, 3])
    array([0., 3., 2., 1.])
    """
    a, taps = np.asarray(a), np.conj(np.asarray(coefficients))
    axis = normalize_axis_index(axis, a.ndim)
    complex_result = a.dtype.kind == "c" or taps.dtype.kind == "c"
    dtype = np.dtype(output) if output is not None else a.dtype.newbyteorder("=")
    if complex_result and dtype.kind != "c":
        wide = dtype.kind in "iuf" and dtype.itemsize >= (8 if dtype.kind == "f" else 4)
        dtype = np.dtype(np.complex128 if wide else np.complex64)
    lines = np.moveaxis(a, axis, -1)
    n, k = lines.shape[-1], len(taps)
    before, outputs = (0, n - k + 1) if mode == "valid" else (k // 2 + origin, n)
    out = np.empty((*a.shape[:axis], outputs, *a.shape[axis + 1 :]), dtype)
    if out.size == 0:
        return out
    at = np.arange(-before, outputs + k - 1 - before)
    at = at if mode == "valid" else extend(at, n, mode)
    x = lines.reshape(-1, n)[:, at]
    single = accumulate is not None and np.dtype(accumulate) == np.float32
    (re, im), (wr, wi) = _parts(x, single), _parts(taps, single)
    (edge_re,), (edge_im,) = _parts(np.array([cval], np.complex128), single)
    re, im = np.where(at >= 0, re, edge_re), np.where(at >= 0, im, edge_im)
    total = np.zeros((2, *re.shape[:-1], outputs))
    add = fma32 if single else fma
    for t in range(k):
        r, i = re[:, t : t + outputs], im[:, t : t + outputs]
        total[0] = add(wr[t], r, total[0])
        if taps.dtype.kind == "c" and a.dtype.kind == "c":
            total[0] = add(-wi[t], i, total[0])
        if a.dtype.kind == "c":
            total[1] = add(wr[t], i, total[1])
        if taps.dtype.kind == "c":
            total[1] = add(wi[t], r, total[1])
    shape = (*lines.shape[:-1], outputs)
    if not complex_result:
        out[...] = np.moveaxis(cast(total[0], dtype).reshape(shape), -1, axis)
        return out
    part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    out.real, out.imag = (np.moveaxis(cast(x, part).reshape(shape), -1, axis) for x in total)
    return out


def _parts(x: np.ndarray, single: bool) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary parts, rounded once to what is added in."""
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x, np.zeros(x.shape))
    re, im = (part.astype(np.float32 if single else np.float64) for part in parts)
    return re.astype(np.float64), im.astype(np.float64)


@_QUIET
def fma32(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> np.ndarray:
    """a * b + c, rounded once to float32, as C's fmaf does it.

    Parameters
    ----------
    a, b, c : array_like
        float64 that float32 has, shapes that broadcast.

    Returns
    -------
    ndarray of float64
        Of the common shape, which float32 has.

    Notes
    -----
    The product is exact in float64; the sum is rounded to odd there, then to float32 [1]_.

    References
    ----------
    .. [1] S. Boldo, G. Melquiond (2008), "Emulation of FMA and correctly rounded sums"

    Examples
    --------
    >>> from warpkit import reference
    >>> float(reference.fma32(2.0, 3.0, 1.0))
    7.0
    """
    product, c = np.broadcast_arrays(np.asarray(a) * np.asarray(b), np.asarray(c, np.float64))
    total = product + c
    odd = np.where(np.isfinite(total), _sum_to_odd(product, c), total)
    return odd.astype(np.float32).astype(np.float64)


def extend(index: np.ndarray, n: int, mode: str) -> np.ndarray:
    """Which element of a line of n stands at ``index``, also beyond its ends; -1 for cval.

    Parameters
    ----------
    index : array_like of int
        Integers, any shape.
    n : int
        At least 1.
    mode : str
        "reflect", "constant", "nearest", "mirror" or "wrap".

    Returns
    -------
    ndarray of int
        Of index's shape, in -1 .. n - 1.

    Raises
    ------
    KeyError (mode)

    References
    ----------
    scipy.ndimage's boundary modes.

    Examples
    --------
    >>> warpkit.reference.extend(np.array([-1, 4]), 4, "reflect")
    array([0, 3])
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

    Integers are truncated towards zero, then taken modulo the type's range; NaN, and what no 64-bit
    integer holds, become the smallest int64 first. bool is the truncated value != 0.

    Parameters
    ----------
    x : array_like
        float64.
    dtype : str
        Bool, integer, float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray
        Of x's shape.

    References
    ----------
    csrc/num/bits.h, "double to integer".

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.cast([-1.5, 300.0], "uint8")
    array([255,  44], dtype=uint8)
    """
    x, dtype = np.asarray(x, np.float64), np.dtype(dtype)
    if dtype.kind == "f" or dtype.name == "bfloat16":
        return _one_nan(_narrowed(x, dtype))
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
    weights: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The oracle of warpkit.histogram: numpy.histogram, bool as 0 and 1; weights added exactly.

    Parameters
    ----------
    a, bins, range, weights : optional
        As the operation's.

    Returns
    -------
    counts, edges : ndarray
        int64 or of the weights' dtype, of shape (n,), and shape (n + 1,).

    Raises
    ------
    ValueError, TypeError as numpy.histogram

    See Also
    --------
    warpkit.histogram, numpy.histogram

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.histogram([1, 2, 2, 9], [0, 2, 4, 10])[0]
    array([1, 2, 1])
    """
    a = np.asarray(a)
    a = a.astype(np.uint8) if a.dtype == bool else a
    counts, edges = np.histogram(a, bins, range)
    if weights is None:
        return counts, edges
    weights = np.asarray(weights)
    if weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    x = a.ravel()
    at = _between(x, edges) if np.ndim(bins) else _in_equal_bins(x, edges, range)
    if not np.array_equal(np.bincount(at + 1, minlength=len(edges))[1:], counts):
        raise AssertionError("the oracle's bins are not NumPy's")
    return _bin_sums(at, len(counts), weights.ravel()), edges


def _between(a: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each element; -1 for none."""
    wide = "bfloat16" in (a.dtype.name, edges.dtype.name)
    common = np.dtype(np.float64) if wide else np.result_type(a, edges)
    x, e = a.astype(common), edges.astype(common)
    at = np.minimum(np.searchsorted(e, x, "right") - 1, len(e) - 2)
    return np.where((x >= e[0]) & (x <= e[-1]), at, -1)


@_QUIET
def _in_equal_bins(a: np.ndarray, edges: np.ndarray, range: Any) -> np.ndarray:
    """Likewise, by numpy.histogram's own steps."""
    n = len(edges) - 1
    if range is not None:
        first, last = range
    else:
        first, last = (a.min(), a.max()) if a.size else (0, 1)
    if first == last:
        first, last = first - 0.5, last + 0.5
    keep = (a >= first) & (a <= last)
    x = a[keep].astype(edges.dtype)
    common = np.result_type(first, last)
    ends = np.asarray(first, common), np.asarray(last, common)
    width = np.subtract(ends[1], ends[0])[()]
    if common.kind == "i":
        width = width.astype(f"u{common.itemsize}")  # the difference modulo its range
    at = (np.subtract(x, first, dtype=x.dtype) / width * n).astype(np.intp)
    at[at == n] -= 1
    at -= x < edges[at]
    at += (x >= edges[at + 1]) & (at != n - 1)
    found = np.full(a.shape, -1)
    found[keep] = at
    return found


@_QUIET
def _bin_sums(at: np.ndarray, bins: int, weights: np.ndarray) -> np.ndarray:
    """The exact sum of each bin's weights, rounded once; at -1 they are in none."""
    dtype = weights.dtype.newbyteorder("=")
    if dtype.kind == "c":
        sums = np.zeros(bins, dtype)
        sums.real = _bin_sums(at, bins, weights.real)
        sums.imag = _bin_sums(at, bins, weights.imag)
        return sums
    at, weights = at[at >= 0], weights[at >= 0]
    totals = [0] * bins
    if dtype.kind in "biu":
        for bin, w in zip(at.tolist(), weights.tolist(), strict=True):
            totals[bin] += w
        if dtype.kind == "b":
            return np.array(totals, bool)
        return np.array([t % 2**64 for t in totals], np.uint64).astype(dtype)
    w = weights.astype(np.float64)
    finite = np.isfinite(w)
    digits, exponents = np.frexp(w[finite])
    base = int(exponents.min(initial=0))
    whole = (digits * 2.0**53).astype(np.int64)
    for bin, m, e in zip(at[finite].tolist(), whole.tolist(), exponents.tolist(), strict=True):
        totals[bin] += m << (e - base)
    rounded = [nearest(t, 1, base - 53, dtype.name) if t else 0.0 for t in totals]
    found = np.array(rounded, np.float64)
    found[at[~finite]] = 0.0  # whatever is finite there
    np.add.at(found, at[~finite], w[~finite])  # inf - inf is NaN
    return _one_nan(found.astype(dtype))


def bincount(a: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0) -> np.ndarray:
    """The oracle of warpkit.bincount, one addition per element; weights added exactly.

    Parameters
    ----------
    a : array_like
        Bool or integer, shape (n,), none negative.
    weights : array_like
        Real, shape (n,).
    minlength : int
        As the operation's.

    Returns
    -------
    ndarray
        int64, with weights float64, shape (max(max(a) + 1, minlength),).

    Raises
    ------
    IndexError (a negative element)

    See Also
    --------
    warpkit.bincount, numpy.bincount

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.bincount([1, 3, 3])
    array([0, 1, 0, 2])
    """
    a = np.asarray(a).astype(np.int64)
    counts = np.zeros(max(int(a.max()) + 1 if a.size else 0, minlength), np.int64)
    if weights is not None and a.size:
        return _bin_sums(a, len(counts), np.asarray(weights).astype(np.float64))
    np.add.at(counts, a, 1)
    return counts


@_QUIET
def warp_histogram(
    a: ArrayLike, assume_sorted: bool = False, order: str = "value"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The oracle of warpkit.warp_histogram: runs of equal elements, after sorting.

    Parameters
    ----------
    a : array_like
        Bool, integer or float, n elements of any shape.
    assume_sorted : bool
        As the operation's.
    order : str
        "value"; or "appearance": by the first element of each, whatever assume_sorted says.

    Returns
    -------
    values, counts, totals : ndarray
        For w = ceil(n / 32) warps: a's dtype and int32, shape (w, 32), zeros behind the last
        distinct value; int32, shape (w,).

    See Also
    --------
    warpkit.warp_histogram, numpy.unique

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.warp_histogram(np.int8([5, 3, 5]))[2]
    array([2], dtype=int32)
    """
    a = np.asarray(a)
    x = np.ascontiguousarray(a, a.dtype.newbyteorder("=")).reshape(-1)
    whole = x.size // LANES * LANES
    warps = [x[:whole].reshape(-1, LANES)]
    if whole < x.size:
        warps.append(x[np.newaxis, whole:])
    if order == "appearance":
        found = [_runs_by_appearance(w) for w in warps]
    else:
        if not assume_sorted:
            warps = [np.sort(_sortable(w), axis=1).astype(w.dtype, copy=False) for w in warps]
        found = [_runs(w) for w in warps]
    if len(found) == 1:
        return found[0]
    values, counts, totals = (np.concatenate(part) for part in zip(*found, strict=True))
    return values, counts, totals


def _begins_run(warps: np.ndarray) -> np.ndarray:
    new = np.ones(warps.shape, bool)  # the first of its run of equal values
    left, right = warps[:, :-1], warps[:, 1:]
    np.not_equal(right, left, out=new[:, 1:])
    if warps.dtype.kind not in "biu":
        new[:, 1:] &= (right == right) | (left == left)  # NaN beside NaN is no new value
    return new


def _runs(warps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    new = _begins_run(warps)
    totals = new.sum(axis=1, dtype=np.int32)
    slots = np.arange(LANES) < totals[:, np.newaxis]
    first = warps[new]
    if first.dtype.kind not in "biu":
        first = _one_nan(first + first.dtype.type(0))  # -0.0 + 0.0 is 0.0
    values = np.zeros(slots.shape, warps.dtype)
    counts = np.zeros(slots.shape, np.int32)
    values[slots] = first
    counts[slots] = np.diff(np.flatnonzero(new), append=new.size)
    return values, counts, totals


def _sortable(warps: np.ndarray) -> np.ndarray:
    return warps.astype(np.float32) if warps.dtype.name == "bfloat16" else warps  # it sorts no NaN


def _runs_by_appearance(warps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    origin = np.argsort(_sortable(warps), axis=1, kind="stable")  # of equals the first comes first
    ascending = np.take_along_axis(warps, origin, 1)
    values, counts, totals = _runs(ascending)
    where = np.full(values.shape, LANES)  # each slot's first element; empty slots stay behind
    where[counts > 0] = origin[_begins_run(ascending)]
    order = np.argsort(where, axis=1, kind="stable")
    return np.take_along_axis(values, order, 1), np.take_along_axis(counts, order, 1), totals


@_QUIET
def run_length(a: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The oracle of warpkit.run_length: elements that differ from the one before them.

    Parameters
    ----------
    a : array_like
        Bool, integer or float, n elements of any shape.

    Returns
    -------
    values, counts : ndarray
        Of r runs: a's dtype, and int64, shape (r,).

    Raises
    ------
    TypeError (complex)

    See Also
    --------
    warpkit.run_length, numpy.diff

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.run_length([7, 7, 1])
    (array([7, 1]), array([2, 1]))
    """
    given = np.asarray(a)
    if given.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    x = np.ascontiguousarray(given, given.dtype.newbyteorder("=")).reshape(-1)
    if x.dtype == bool:
        x = x.view(np.uint8) != 0
    new = np.ones(x.size, bool)  # the first of its run
    new[1:] = (x[1:] != x[:-1]) & ((x[1:] == x[1:]) | (x[:-1] == x[:-1]))
    heads = np.flatnonzero(new)
    values = x[heads]
    if values.dtype.kind not in "biu":
        values = _one_nan(values + values.dtype.type(0))  # -0.0 + 0.0 is 0.0
    return values, np.diff(heads, append=x.size).astype(np.int64)


@_QUIET
def unique_counts(a: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The oracle of warpkit.unique_counts: runs of equal elements, after sorting.

    Parameters
    ----------
    a : array_like
        Bool, integer or float, n elements of any shape.

    Returns
    -------
    values, counts : ndarray
        Of d distinct elements: a's dtype, ascending, NaN last; and int64, shape (d,).

    Raises
    ------
    TypeError (complex)

    See Also
    --------
    warpkit.unique_counts, numpy.unique

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.unique_counts([7, 1, 7])
    (array([1, 7]), array([1, 2]))
    """
    x = np.asarray(a)
    if x.dtype == bool:
        x = np.ascontiguousarray(x).view(np.uint8) != 0
    if x.dtype.kind in "biufc":
        # NumPy 2.4's default sort leaves large float16 arrays unsorted on some processors
        return run_length(np.sort(x, axis=None, kind="stable"))
    order = np.argsort(x.astype(np.float32), axis=None)  # bfloat16: NumPy sorts no NaN of it last
    return run_length(x.reshape(-1)[order])


# ---- products, segments, groups, prefixes -------------------------------------------------------


def _as_integers(x: np.ndarray) -> tuple[list[int], int]:
    """Finite numbers as integers times 2^exponent, one exponent for all."""
    m, e = np.frexp(x.astype(np.float64))
    e = np.where(m == 0, e.max(initial=0, where=m != 0), e)
    base = int(e.min(initial=0)) - 53
    digits = (m * 2.0**53).astype(np.int64)
    return [d << s for d, s in zip(digits.tolist(), (e - 53 - base).tolist(), strict=True)], base


def _dot_of_reals(pairs: list[tuple[np.ndarray, np.ndarray]], dtype: str) -> float:
    odd, total, base = 0.0, 0, 0
    for x, y in pairs:
        finite = np.isfinite(x) & np.isfinite(y)
        odd += float((x[~finite].astype(np.float64) * y[~finite].astype(np.float64)).sum())
        (m, d), (k, e) = _as_integers(x[finite]), _as_integers(y[finite])
        more = sum(a * b for a, b in zip(m, k, strict=True))
        low = min(base, d + e)
        total = (total << (base - low)) + (more << (d + e - low))
        base = low
    return nearest(total, 1, base, dtype) if odd == 0 else math.copysign(odd, odd)


@_QUIET
def dot(a: ArrayLike, b: ArrayLike, axis: int | None = None, conjugate: bool = False) -> Any:
    """The oracle of warpkit.dot, and of warpkit.vdot with conjugate.

    Parameters
    ----------
    a, b : array_like
        Bool, integer, float or complex; axis None: of one axis.
    axis : int, optional
        As the operation's.
    conjugate : bool
        As vdot.

    Returns
    -------
    ndarray or scalar
        Exact sums of exact products along axis, rounded once.

    Raises
    ------
    ValueError (shapes)

    See Also
    --------
    warpkit.dot, numpy.dot, numpy.vecdot

    Examples
    --------
    >>> from warpkit import reference
    >>> float(reference.dot([1e16, 1.0], [1.0, 3.0]))
    1.0000000000000004e+16
    """
    x, y = np.asarray(a), np.asarray(b)
    dtype = np.result_type(x.dtype, y.dtype)
    axis = -1 if axis is None else axis
    x, y = (np.moveaxis(z.astype(dtype), axis, -1) for z in (x, y))
    x, y = np.broadcast_arrays(x, y)
    shape, n = x.shape[:-1], x.shape[-1]
    found = np.zeros(math.prod(shape), dtype)
    rows = zip(x.reshape(-1, n), y.reshape(-1, n), strict=True) if n else ()
    for i, (u, v) in enumerate(rows):
        if dtype.kind in "biu":
            found[i] = (u & v).any() if dtype.kind == "b" else (u * v).sum(dtype=dtype)
        elif dtype.kind == "c":
            u = u.conj() if conjugate else u
            real = found.real.dtype.name
            found[i] = complex(
                _dot_of_reals([(u.real, v.real), (-u.imag, v.imag)], real),
                _dot_of_reals([(u.real, v.imag), (u.imag, v.real)], real),
            )
        else:
            found[i] = _dot_of_reals([(u, v)], dtype.name)
    return (_one_nan(found) if dtype.kind not in "biuc" else found).reshape(shape)[()]


def average(a: ArrayLike, axis: int | None = None, weights: ArrayLike = ()) -> Any:
    """The oracle of warpkit.average with real weights.

    Parameters
    ----------
    a : array_like
        Finite: integer, float or complex.
    axis : int, optional
        None: all.
    weights : array_like
        Real, finite, of a's shape.

    Returns
    -------
    scalar or ndarray
        The quotient of the exact sums, rounded once.

    References
    ----------
    numpy.average

    Examples
    --------
    >>> from warpkit import reference
    >>> float(reference.average([1.0, 4.0], weights=[2.0, 1.0]))
    2.0
    """
    x, w = np.asarray(a), np.asarray(weights)
    dtype = np.result_type(x.dtype, w.dtype, *([np.float64] if x.dtype.kind in "biu" else []))
    lines = [z.reshape(-1) if axis is None else np.moveaxis(z, axis, -1) for z in (x, w)]
    found = np.empty(lines[0].shape[:-1], dtype)
    for at in np.ndindex(found.shape):
        u, v = (line[at].astype(dtype) for line in lines)
        parts = [
            _average_of_reals(part, v.real, found.real.dtype.name) for part in (u.real, u.imag)
        ]
        found[at] = complex(*parts) if dtype.kind == "c" else parts[0]
    return found[()]


def _average_of_reals(x: np.ndarray, w: np.ndarray, dtype: str) -> float:
    (m, exponent), (k, _) = _as_integers(x), _as_integers(w)
    total = sum(k)
    sign = -1 if total < 0 else 1
    return nearest(
        sign * sum(a * b for a, b in zip(m, k, strict=True)), abs(total), exponent, dtype
    )


def _of_part(a: np.ndarray, places: np.ndarray, op: str, ddof: float) -> Any:
    """The fold of some elements; of none what an empty segment has."""
    if op == "count":
        return len(places)
    if len(places) == 0 and op in ("min", "max", "ptp"):
        return complex(math.nan, math.nan) if a.dtype.kind == "c" else math.nan
    found = reduce(a[places], op, ddof=ddof)
    return places[found] if op in ("argmin", "argmax") else found


def _of_parts(a: np.ndarray, parts: list[np.ndarray], op: str, ddof: float) -> np.ndarray:
    dtype = np.dtype(np.int64) if op == "count" else _result_dtype(op, a.dtype, None)
    return np.array([_of_part(a, places, op, ddof) for places in parts], dtype)


def segment_reduce(
    a: ArrayLike, offsets: ArrayLike, op: str = "sum", *, ddof: float = 0
) -> np.ndarray:
    """The oracle of warpkit.segment_reduce: reduce of each segment.

    Parameters
    ----------
    a : array_like
        Shape (n,).
    offsets : array_like of int
        Shape (s + 1,), ascending from 0 to n.

    Returns
    -------
    ndarray
        Shape (s,).

    See Also
    --------
    warpkit.segment_reduce, numpy.ufunc.reduceat

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.segment_reduce([1.0, 2.0, 4.0], [0, 2, 3])
    array([3., 4.])
    """
    cuts = np.asarray(offsets, np.int64).tolist()
    parts = [np.arange(first, end) for first, end in itertools.pairwise(cuts)]
    return _of_parts(_as_taken(a), parts, op, ddof)


def group_reduce(
    keys: ArrayLike, a: ArrayLike, op: str = "sum", groups: int | None = None, *, ddof: float = 0
) -> np.ndarray:
    """The oracle of warpkit.group_reduce: reduce of the elements of each key.

    Parameters
    ----------
    keys : array_like of int
        Integers from 0 to groups - 1, of a's shape.
    a, op, groups, ddof : optional
        As the operation's.

    Returns
    -------
    ndarray
        Shape (groups,).

    See Also
    --------
    warpkit.group_reduce, numpy.ufunc.at

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.group_reduce([2, 0, 2], [1.0, 5.0, 3.0])
    array([5., 0., 4.])
    """
    of, x = np.asarray(keys).reshape(-1), _as_taken(a).reshape(-1)
    if groups is None:
        groups = int(of.max()) + 1 if of.size else 0
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(groups + 1))
    parts = [order[begin:end] for begin, end in itertools.pairwise(ends)]
    found = _of_parts(x, parts, op, ddof)
    return found + 0 if op == "sum" and x.dtype.kind not in "biu" else found  # no sum is -0.0


@_QUIET
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: Any = None, *, skip_nan: bool = False
) -> np.ndarray:
    """The oracle of warpkit.cumsum, and of warpkit.nancumsum with skip_nan.

    Parameters
    ----------
    a : array_like
        Bool, integer, float or complex, any shape.
    axis, dtype : optional
        As the operation's.
    skip_nan : bool
        As nancumsum.

    Returns
    -------
    ndarray
        Each prefix exact and rounded once.

    See Also
    --------
    warpkit.cumsum, numpy.cumsum

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.cumsum([1e16, 1.0, -1e16])
    array([1.e+16, 1.e+16, 1.e+00])
    """
    x = np.asarray(a)
    if dtype is not None and x.dtype.kind not in "biu":
        x = x.astype(dtype)
    if x.dtype.kind in "biu":
        return np.cumsum(x, axis, dtype)
    x = np.moveaxis(x.reshape(-1) if axis is None else x, -1 if axis is None else axis, -1)
    found = np.empty(x.shape, x.dtype)
    pairs = [(x.real, found.real), (x.imag, found.imag)] if x.dtype.kind == "c" else [(x, found)]
    for part, to in pairs:
        for line in np.ndindex(x.shape[:-1]):
            to[line] = _prefixes(part[line], skip_nan)
    return np.moveaxis(found, -1, -1 if axis is None else axis)


def _prefixes(x: np.ndarray, skip_nan: bool) -> np.ndarray:
    if skip_nan:
        x = np.where(np.isnan(x), x.dtype.type(0), x)
    finite = np.isfinite(x)
    digits, base = _as_integers(np.where(finite, x, x.dtype.type(0)))
    total, odd, minus, found = 0, 0.0, True, []
    for d, v, there in zip(digits, x.tolist(), finite.tolist(), strict=True):
        total += d
        odd += 0.0 if there else float(v)
        minus = minus and v == 0 and math.copysign(1, v) < 0
        exact = nearest(total, 1, base, x.dtype.name)
        found.append(odd if odd != 0 else -0.0 if minus else exact)
    return _one_nan(np.array(found).astype(x.dtype))


# ---- the warp primitives -------------------------------------------------------------------------


def _warps(a: np.ndarray, of: Callable[[list[Any]], list[Any]], dtype: DTypeLike) -> np.ndarray:
    """of(the values of a warp's lanes) of each 32 elements of the last axis."""
    lines = a.reshape(-1, a.shape[-1]) if a.size else a.reshape(0, 1)
    out = np.empty(lines.shape, dtype)
    for line, to in zip(lines, out, strict=True):
        for at in range(0, len(line), 32):
            to[at : at + 32] = of(list(line[at : at + 32]))
    return out.reshape(a.shape)


def shuffle(a: ArrayLike, kind: str, operand: Any, width: int = 32) -> np.ndarray:
    """The oracle of warpkit.warp's shuffles, by CUDA's rules for one lane.

    Parameters
    ----------
    kind : str
        "idx", "up", "down", "xor", "rotate".
    operand : int or array_like of int
        Of "idx" one for each element.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.shuffle(np.arange(32), "xor", 1)[:4]
    array([1, 0, 3, 2])
    """
    a = np.asarray(a)
    sources = iter(np.broadcast_to(operand, a.shape).reshape(-1).tolist())

    def source(lane: int, there: int) -> int:
        first, own = lane // width * width, next(sources)
        if kind == "idx":
            found = first + own % width
        elif kind == "rotate":
            found = first + (lane - first + own) % width
        elif kind == "up":
            found = lane - own % 32
            found = lane if found < first else found
        else:
            found = lane + own % 32 if kind == "down" else lane ^ own
        return found if found < min(first + width, there) else lane

    def of(warp: list[Any]) -> list[Any]:
        return [warp[source(lane, len(warp))] for lane in range(len(warp))]

    return _warps(a, of, a.dtype)


def vote(a: ArrayLike, kind: str) -> np.ndarray:
    """The oracle of warpkit.warp's ballot, any and all.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.vote(np.arange(32) < 3, "ballot")[:2]
    array([7, 7], dtype=uint32)
    """

    def of(warp: list[Any]) -> list[Any]:
        held = [bool(x != 0) for x in warp]
        found = {
            "ballot": sum(1 << lane for lane, x in enumerate(held) if x),
            "any": True in held,
            "all": False not in held,
        }
        return [found[kind]] * len(warp)

    return _warps(np.asarray(a), of, np.uint32 if kind == "ballot" else np.bool_)


def match(a: ArrayLike, kind: str) -> np.ndarray:
    """The oracle of warpkit.warp's match_any and match_all, which compare bits.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.match(np.arange(32) % 16, "match_any")[:2]
    array([ 65537, 131074], dtype=uint32)
    """
    a = np.ascontiguousarray(a)

    def of(warp: list[Any]) -> list[Any]:
        bits = [x.tobytes() for x in warp]
        masks = [sum(1 << k for k, other in enumerate(bits) if other == x) for x in bits]
        full = (1 << len(warp)) - 1
        if kind == "match_any":
            return masks
        return [full if masks[0] == full else 0] * len(warp)

    return _warps(a, of, np.uint32)


def _combined(op: str, a: Any, b: Any) -> Any:
    """Of two lanes' numbers: integers wrap, NaN wins, -0.0 is less than 0.0."""
    with np.errstate(all="ignore"):
        if op == "sum":
            return a + b if a + b == a + b else type(a)(np.nan)
        if op in ("min", "max"):
            if a != a or b != b:
                return type(a)(np.nan)
            lesser = a < b or (a == b and bool(np.signbit(a)))
            return a if lesser == (op == "min") else b
    return {"and": a & b, "or": a | b, "xor": a ^ b}[op]


def _neutral(op: str, dtype: np.dtype[Any]) -> Any:
    if op in ("min", "max"):
        floats = dtype.kind == "f"
        ends = (-np.inf, np.inf) if floats else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return dtype.type(ends[op == "min"])
    if op == "and":
        return ~dtype.type(0)
    return dtype.type(-0.0 if op == "sum" and dtype.kind == "f" else 0)


def _widened(a: ArrayLike) -> np.ndarray:
    """Of at least 4 bytes, with one NaN only."""
    a = np.asarray(a)
    wide = {"b": np.int32, "i": np.int32, "u": np.uint32}.get(a.dtype.kind, np.float32)
    with np.errstate(invalid="ignore"):  # of NaN that signals
        a = a.astype(wide) if a.itemsize < 4 else a
        return np.where(a == a, a, a.dtype.type(np.nan)) if a.dtype.kind == "f" else a


def warp_reduce(a: ArrayLike, op: str = "sum", width: int = 32, down: bool = False) -> np.ndarray:
    """The oracle of warpkit.warp.reduce; down: of its variant that shifts.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.warp_reduce(np.arange(32), "max")[:2]
    array([31, 31])
    """
    a = _widened(a)

    def of(warp: list[Any]) -> list[Any]:
        x = warp + [_neutral(op, a.dtype)] * (32 - len(warp))
        step = width // 2
        while step:
            near = [k + step if k % width + step < width else k for k in range(32)]
            others = near if down else [k ^ step for k in range(32)]
            x = [_combined(op, x[k], x[other]) for k, other in enumerate(others)]
            step //= 2
        return x[: len(warp)]

    return _warps(a, of, a.dtype)


def warp_scan(
    a: ArrayLike, op: str = "sum", exclusive: bool = False, width: int = 32
) -> np.ndarray:
    """The oracle of warpkit.warp.scan.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.warp_scan(np.ones(32, np.int32))[:4]
    array([1, 2, 3, 4], dtype=int32)
    """
    a = _widened(a)
    first = a.dtype.type(0) if op == "sum" else _neutral(op, a.dtype)

    def of(warp: list[Any]) -> list[Any]:
        x, step = warp, 1
        while step < width:
            x = [
                _combined(op, x[k - step], x[k]) if k % width >= step else x[k]
                for k in range(len(x))
            ]
            step *= 2
        if exclusive:
            x = [x[k - 1] if k % width else first for k in range(len(x))]
        return x

    return _warps(a, of, a.dtype)


def popc(a: ArrayLike) -> np.ndarray:
    """The oracle of warpkit.warp.popc.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.popc(np.uint32([7, 0]))
    array([3, 0], dtype=int32)
    """
    a = np.asarray(a)
    return _warps(a, lambda warp: [int(x.tobytes().hex(), 16).bit_count() for x in warp], np.int32)


def fns(mask: ArrayLike, base: int = 0, offset: int = 1) -> np.ndarray:
    """The oracle of warpkit.warp.fns.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.fns(np.uint32([12]))
    array([2], dtype=uint32)
    """

    def place(word: int) -> int:
        if offset == 0:
            return base if word >> base & 1 else 2**32 - 1
        bits = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [bit for bit in bits if word >> bit & 1]
        return found[abs(offset) - 1] if abs(offset) <= len(found) else 2**32 - 1

    a = np.asarray(mask)
    return _warps(a, lambda warp: [place(int(x) % 2**32) for x in warp], np.uint32)


def exchange_arrays(
    a: ArrayLike, mask: int, elements: int, pair: tuple[int, int] | None = None, width: int = 32
) -> np.ndarray:
    """The oracle of warpkit.warp's shfl_xor_array, and (with a pair) of swap.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.exchange_arrays(np.arange(64), 1, 2)[:4]
    array([2, 3, 0, 1])
    """
    a = np.asarray(a)
    out = a.copy()
    lines = a.reshape(-1, a.shape[-1] // elements, elements) if a.size else a.reshape(0, 0, 1)
    results = out.reshape(lines.shape)
    for line, to in zip(lines, results, strict=True):
        numbers = np.arange(len(line))
        others = shuffle(numbers, "xor", mask, width)
        for lane, other in enumerate(others):
            if pair is None:
                to[lane] = line[other]
            elif other != lane:
                mine, theirs = pair if lane < other else pair[::-1]
                to[lane, mine] = line[other, theirs]
    return out


def tile(a: ArrayLike, layout: str) -> np.ndarray:
    """The oracle of warpkit.smem.tile's values.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.tile(np.arange(4).reshape(2, 2), "row_col")
    array([[0, 2],
           [1, 3]])
    """
    a = np.asarray(a)
    write, read = layout.split("_")[:2]
    return (a if write == read else a.T).copy()


def wavefronts(words: ArrayLike, itemsize: int = 4) -> int:
    """The oracle of warpkit.smem.wavefronts for up to 4 bytes: each bank's different words.

    Examples
    --------
    >>> from warpkit import reference
    >>> reference.wavefronts(np.arange(32) * 2)
    2
    """
    wanted = np.unique(np.asarray(words) * itemsize // 4)
    return int(np.bincount(wanted[wanted >= 0] % 32, minlength=32).max())
