"""The bins of numpy.histogram: which edges there are, in which types NumPy compares with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from warpkit import _core

TAKEN = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
NUMBERS = (int, float, np.number)
EXACT = 2**53  # integers below are floats
FEW_BINS = 4096  # whose edges are remembered, 4 MiB at most


class Bins(NamedTuple):
    """Equal bins: their edges, those that _core searches, and what it is told of them."""

    edges: np.ndarray
    keys: np.ndarray
    uniform: tuple[Any, ...]
    dtype: np.dtype[Any]  # in which elements are compared


# NumPy takes 2 us to say a dtype's name.
@functools.lru_cache(maxsize=64)
def is_taken(dtype: np.dtype[Any]) -> bool:
    return dtype.name in TAKEN


@functools.lru_cache(maxsize=64)
def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name == "bfloat16"


def bins_of_range(dtype: np.dtype[Any], bins: Any, first: Any, last: Any) -> Bins:
    """As a program often asks for the same, and NumPy takes 40 us to say it: remembered."""
    known = isinstance(first, NUMBERS) and isinstance(last, NUMBERS)
    if not known or type(bins) is not int or bins > FEW_BINS:
        return bins_between(dtype, bins, first, last, None)
    found = _remembered(dtype, bins, first, last, repr(first), repr(last))
    return found._replace(edges=found.edges.copy())


@functools.lru_cache(maxsize=64, typed=True)
def _remembered(dtype: np.dtype[Any], bins: int, first: Any, last: Any, *shown: str) -> Bins:
    """shown: what tells 0.0 and -0.0 apart."""
    return bins_between(dtype, bins, first, last, None)


def bins_of_ends(dtype: np.dtype[Any], bins: Any, first: Any, last: Any) -> Bins:
    """Between the smallest and the largest element: likewise, as integers often have the same."""
    ends = np.array([first, last])
    if type(bins) is not int or bins > FEW_BINS:
        return bins_between(dtype, bins, first, last, ends)
    found = _remembered_ends(dtype, bins, ends.tobytes())
    return Bins(found[0].copy(), *found[1:])


@functools.lru_cache(maxsize=64)
def _remembered_ends(dtype: np.dtype[Any], bins: int, ends: bytes) -> Bins:
    both = np.frombuffer(ends, dtype.type)
    return bins_between(dtype, bins, both[0], both[1], both)


def bins_between(
    dtype: np.dtype[Any], bins: Any, first: Any, last: Any, ends: np.ndarray | None
) -> Bins:
    """ends: the smallest and the largest element, or none; None: the range is given."""
    # Given the range's two ends, NumPy itself chooses the edges, their dtype and the errors.
    if ends is None:
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, (first, last))
    else:
        edges = np.histogram_bin_edges(ends, bins, None)
    if first == last:
        first, last = first - 0.5, last + 0.5
    if dtype.kind in "iu" and edges.dtype != np.float64:
        dtype = edges.dtype  # smaller floats as ends and a narrow integer: NumPy's common type
    keys = edges.astype(np.float32) if edges.dtype.itemsize == 2 else edges
    return Bins(edges, keys, _arithmetic(dtype, edges.dtype, first, last), dtype)


def _arithmetic(
    dtype: np.dtype[Any], element: np.dtype[Any], first: Any, last: Any
) -> tuple[Any, ...]:
    """What _core is told of equal bins: the ends, in the types in which numpy.histogram subtracts
    the first and compares with the last; their difference; which integers are counted; and the
    types in which NumPy subtracts, divides, and computed the edges."""
    common, computed = _common(first, last)
    if common.kind in "iu":
        width, kind = float(int(last) - int(first)), np.dtype(f"u{common.itemsize}")
    else:
        difference = np.subtract(last, first, dtype=common)
        width, kind = float(difference), difference.dtype
    quotient = _quotient(element, kind)
    low, high = _integer_bounds(dtype, first, last) if dtype.kind in "iu" else (0, 0)
    if low > high:  # nothing is counted
        return 0.0, 0.0, 1.0, 1, 0, element, quotient, element
    mask = 2**64 - 1
    if element == np.float64 and common.kind in "iu":
        first, last = float(int(first)), float(int(last))
    else:
        compared = element if dtype.kind in "iu" else _compared(dtype, last)
        with np.errstate(over="ignore"):
            first, last = float(np.array(first, element)), float(np.array(last, compared))
    computed = computed if computed.itemsize < element.itemsize else element
    return first, last, width, low & mask, high & mask, element, quotient, computed


def _common(first: Any, last: Any) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """The ends' type, and that which numpy.linspace rounds to, before it rounds to the edges'."""
    if isinstance(first, np.generic) and type(first) is type(last):
        return first.dtype, _with_float(first.dtype)
    return np.result_type(first, last), np.result_type(first, last, 1.0)


@functools.lru_cache(maxsize=64)
def _with_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype.type(0), 1.0)


@functools.lru_cache(maxsize=64)
def _quotient(element: np.dtype[Any], width: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which NumPy divides elements by a scalar."""
    return (np.ones(1, element) / np.ones((), width)[()]).dtype


def _compared(dtype: np.dtype[Any], end: Any) -> np.dtype[Any]:
    """The type in which NumPy compares elements with an end of the range."""
    weak = isinstance(end, int | float) and not isinstance(end, bool | np.generic)
    kind: Any = (int if isinstance(end, int) else float) if weak else np.asarray(end).dtype
    compared: np.dtype[Any] = np.less_equal.resolve_dtypes((dtype, kind, None))[1]
    return compared


def _integer_bounds(dtype: np.dtype, first: Any, last: Any) -> tuple[int, int]:
    """The smallest and the largest integer of dtype that NumPy finds within first and last."""
    if type(first) is type(last) is dtype.type:
        return int(first), int(last)
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if np.result_type(first).kind in "iu":
        low = max(low, int(first))
    elif abs(first) < EXACT:
        low = max(low, math.ceil(first))
    else:
        low = _bisect(lambda x: float(x) >= float(first), low, high)
    if np.result_type(last).kind in "iu":
        high = min(high, int(last))
    elif abs(last) < EXACT:
        high = min(high, math.floor(last))
    else:
        high = _bisect(lambda x: float(x) > float(last), int(info.min), high) - 1
    return low, high


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest integer in low .. high for which holds(x), which is monotone; else high + 1."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def given_edges(bins: Any) -> tuple[np.ndarray, np.ndarray]:
    """The edges, and a copy: what is checked is searched, if another thread writes to them."""
    edges = np.asarray(_core.unmasked(bins))
    if edges.ndim != 1:
        raise ValueError(f"`bins` must be 1d, when an array, not {edges.ndim}d")
    if not is_taken(edges.dtype):
        raise TypeError(f"edges must be real numbers of at most 64 bits, not {edges.dtype}")
    own = edges.copy()
    falls = ~(own[:-1] <= own[1:])  # true for NaN too
    if falls.any():
        i = int(np.argmax(falls))
        raise ValueError(
            "`bins` must increase monotonically, when an array: "
            f"edge {i} is {own[i]} and edge {i + 1} is {own[i + 1]}"
        )
    return edges, own


def comparable(dtype: np.dtype, edges: np.ndarray) -> np.ndarray:
    """The edges in the type in which numpy.searchsorted would compare them, widened."""
    return edges.astype(_searched(dtype, edges.dtype), copy=False)


@functools.lru_cache(maxsize=64)
def _searched(dtype: np.dtype, edges: np.dtype) -> type[np.generic]:
    if is_float(dtype) or is_float(edges):
        return np.float64
    kind = np.result_type(np.uint8 if dtype.kind == "b" else dtype, edges).kind
    return {"f": np.float64, "i": np.int64, "u": np.uint64}[kind]
