"""histogram, bincount and warp_histogram: edges as NumPy makes them, counting in _core."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from warpkit import _core


def histogram(
    a: ArrayLike,
    /,
    bins: int | Sequence[float] | np.ndarray | str = 10,
    range: tuple[float, float] | None = None,
    *,
    density: bool | None = None,
    nan: str = "raise",
    device: str | None = None,
    variant: str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Count the elements of ``a`` in bins.

    a        bool (as 0 and 1), integer, float32 or float64, any shape and strides, flattened
    bins     number of equal bins; or their edges, shape (n + 1,), increasing; or the name of one
             of NumPy's estimators ("auto", "fd", ...)
    range    (first, last) edge of equal bins; None: the smallest and largest element
    density  True: the counts divided by their sum and the bins' widths
    nan      where the range is taken from the data: "raise" on NaN, or "ignore" it. Elsewhere
             NaN lies in no bin, as in NumPy
    Returns  (counts, edges): int64 (float64 with density) of shape (n,), and shape (n + 1,)
    Raises   ValueError (bins not positive, not increasing or not 1-D; range reversed or not
             finite; NaN or infinity where the range is taken from the data; variant),
             TypeError (dtype, bins), MemoryError, DeviceError
    Notes    bins are half open, the last one closed; counts and edges are numpy.histogram's to
             the bit, values on the edges included
    Source   numpy.histogram
    """
    if nan not in ("raise", "ignore"):
        raise ValueError(f"nan must be 'raise' or 'ignore', not {nan!r}")
    a = _core.asarray(a)
    if isinstance(bins, str):
        bins = _estimated_bins(a, bins, range, nan)
    if np.ndim(bins) == 0:
        counts, edges = _equal_bins(a, bins, range, nan, device, variant)
    else:
        edges = _given_edges(bins)
        keys, bins = _comparable(a, edges), max(len(edges) - 1, 0)
        if bins == 0:
            return np.zeros(0, np.intp), edges
        counts = _core.histogram(a, "edges", bins, keys, NOTHING, (0, 0), device, variant)
    if density:
        return counts / np.diff(edges).astype(float) / counts.sum(), edges
    return counts, edges


def _equal_bins(
    a: np.ndarray,
    bins: Any,
    range: tuple[float, float] | None,
    nan: str,
    device: str | None,
    variant: str | None,
) -> tuple[np.ndarray, np.ndarray]:
    dtype = np.dtype(np.uint8) if a.dtype == bool else a.dtype
    first: Any
    last: Any
    if range is not None or a.size == 0:
        ends = np.empty(0, dtype)
        first, last = range if range is not None else (0, 1)
    else:
        first, last = _extent(a, nan, device)
        first, last = dtype.type(first), dtype.type(last)
        ends = np.array([first, last])
    # Given the range's two ends, NumPy itself chooses the edges, their dtype and the errors.
    edges = np.histogram_bin_edges(ends, bins, range)
    if first == last:
        first, last = first - 0.5, last + 0.5
    if dtype.kind in "iu" and edges.dtype == np.float32:
        dtype = edges.dtype  # float32 ends and a narrow integer: NumPy's common type
        a = a.astype(dtype)
    low, high = _integer_bounds(dtype, first, last) if dtype.kind in "iu" else (0, 0)
    if low > high:
        return np.zeros(len(edges) - 1, np.intp), edges
    interval = float(first), float(last), float(_difference(first, last))
    mask = 2**64 - 1
    limits = low & mask, high & mask
    counts = _core.histogram(a, "uniform", len(edges) - 1, edges, interval, limits, device, variant)
    return counts, edges


def _extent(a: np.ndarray, nan: str, device: str | None) -> tuple[Any, Any]:
    first = _core.reduce(a, "min", None, False, device, None)
    if np.isnan(first):
        if nan == "raise":
            raise ValueError(_nan_message(a))
        a = a[~np.isnan(a)]
        if a.size == 0:
            return a.dtype.type(0), a.dtype.type(1)
        first = _core.reduce(a, "min", None, False, device, None)
    return first, _core.reduce(a, "max", None, False, device, None)


def _nan_message(a: np.ndarray) -> str:
    where = np.isnan(a)
    first = np.unravel_index(int(np.argmax(where)), a.shape)
    at = int(first[0]) if a.ndim == 1 else tuple(map(int, first))
    return (
        f"autodetected range is not finite: {np.count_nonzero(where)} of {a.size} elements are "
        f"NaN, the first at index {at}; give a range or edges, or nan='ignore'"
    )


def _difference(first: Any, last: Any) -> Any:
    """last - first as numpy.histogram has it: exact for integers, else in the common type."""
    common = np.result_type(first, last)
    if common.kind in "iu":
        return int(last) - int(first)
    return np.subtract(last, first, dtype=common)


def _integer_bounds(dtype: np.dtype, first: Any, last: Any) -> tuple[int, int]:
    """The smallest and the largest integer of dtype that NumPy finds within first and last."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if np.result_type(first).kind in "iu":
        low = max(low, int(first))
    else:
        low = _bisect(lambda x: float(x) >= float(first), low, high)
    if np.result_type(last).kind in "iu":
        high = min(high, int(last))
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


def _estimated_bins(a: np.ndarray, name: str, range: tuple[float, float] | None, nan: str) -> int:
    if a.dtype.kind == "f" and range is None and np.isnan(a).any():
        if nan == "raise":
            raise ValueError(_nan_message(a))
        a = a[~np.isnan(a)]
    return len(np.histogram_bin_edges(a, name, range)) - 1


def _given_edges(bins: Any) -> np.ndarray:
    edges = np.asarray(bins)
    if edges.ndim != 1:
        raise ValueError(f"`bins` must be 1d, when an array, not {edges.ndim}d")
    if edges.dtype.kind not in "biuf" or edges.dtype.itemsize > 8:
        raise TypeError(f"edges must be real numbers of at most 64 bits, not {edges.dtype}")
    falls = ~(edges[:-1] <= edges[1:])  # true for NaN too
    if falls.any():
        i = int(np.argmax(falls))
        raise ValueError(
            "`bins` must increase monotonically, when an array: "
            f"edge {i} is {edges[i]} and edge {i + 1} is {edges[i + 1]}"
        )
    return edges


def _comparable(a: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The edges in the type in which numpy.searchsorted would compare them with a, widened."""
    kind = np.result_type(np.uint8 if a.dtype == bool else a.dtype, edges.dtype).kind
    return edges.astype({"f": np.float64, "i": np.int64, "u": np.uint64}[kind])


def bincount(
    a: ArrayLike,
    /,
    *,
    minlength: int = 0,
    device: str | None = None,
    variant: str | None = None,
) -> np.ndarray:
    """Count how often each non-negative integer occurs.

    a        bool or integer that fits int64, shape (n,), none negative
    Returns  int64, shape (max(max(a) + 1, minlength),); element i counts a == i
    Raises   ValueError (negative elements, not 1-D, minlength, variant), TypeError (dtype),
             MemoryError, DeviceError
    Source   numpy.bincount
    """
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError(f"'minlength' must not be negative, not {minlength}")
    was_array = isinstance(a, np.ndarray)
    a = np.asarray(a)
    if a.ndim != 1:
        words = "of too small depth" if a.ndim == 0 else "too deep"
        raise ValueError(f"object {words} for desired array: bincount takes 1-D, not {a.ndim}-D")
    if a.size == 0 and not was_array:
        a = a.astype(np.intp)  # an empty list has no dtype of its own
    if not np.can_cast(a.dtype, np.intp, "safe"):
        raise TypeError(
            f"Cannot cast array data from {a.dtype!r} to {np.dtype(np.intp)!r} "
            "according to the rule 'safe'"
        )
    if a.size == 0:
        return np.zeros(minlength, np.intp)
    if a.dtype.kind == "i" and (low := int(_core.reduce(a, "min", None, False, device, None))) < 0:
        where = int(np.argmax(a < 0))
        raise ValueError(
            "'list' argument must have no negative elements; the smallest is "
            f"{low}, the first is {int(a[where])} at index {where}"
        )
    bins = max(int(_core.reduce(a, "max", None, False, device, None)) + 1, minlength)
    return _core.histogram(a, "values", bins, None, NOTHING, (0, 0), device, variant)


NOTHING = (0.0, 0.0, 0.0)  # for kinds of bins that have no interval


class WarpHistogram(NamedTuple):
    """What warp_histogram returns."""

    values: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


def warp_histogram(
    a: ArrayLike,
    /,
    *,
    assume_sorted: bool = False,
    device: str | None = None,
    variant: str | None = None,
) -> WarpHistogram:
    """Count the distinct values in each 32 consecutive elements.

    a        bool, integer, float32 or float64, any shape and strides, flattened; n elements make
             w = ceil(n / 32) warps, the last of which may be short
    assume_sorted  each warp's elements ascend already (NaN last); if they do not, equal values
             that are not neighbours are listed apart
    Returns  (values, counts, totals): values of a's dtype, shape (w, 32), the distinct ones in
             ascending order as numpy.unique; counts int32, shape (w, 32); totals int32, shape
             (w,), how many are distinct. Slots past the total are zero
    Raises   TypeError (dtype), ValueError (variant), MemoryError, DeviceError
    Notes    0.0 and -0.0 are one value, listed as 0.0; all NaN are one value, the last
    Source   numpy.unique(return_counts=True)
    """
    return WarpHistogram(*_core.warp_histogram(a, assume_sorted, device, variant))
