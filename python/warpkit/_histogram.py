"""histogram, bincount and warp_histogram: edges as NumPy makes them, counting in _core."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from warpkit import _core
from warpkit._array import DeviceArray, asarray
from warpkit._ops import NO_VALUE, Device, Progress, with_options

ONE_TRIP = 1 << 20  # bytes: below, a trip costs less than what keeping the array there takes


class Call(NamedTuple):
    """What is the same for each pass over the data, and whose arrays the results are."""

    device: Device
    stream: Any
    variant: str | None
    progress: Progress
    library: Any

    def fold(self, a: Any, *ops: str) -> Any:
        """Folds of all elements, as NumPy scalars; min and max share one pass."""
        arguments = (a, ops if len(ops) > 1 else ops[0], None, False, None, NO_VALUE, True, 0)
        result = with_options(_core.reduce, arguments, None, self.device, self.stream, None, False)
        if len(ops) > 1:
            return [_host(one)[()] for one in result]
        return _host(result)[()]

    def settle(self, a: Any, out: Any) -> Any:
        """A host array that is to be read several times, on the GPU if that has room for it."""
        if isinstance(a, DeviceArray) or a.nbytes < ONE_TRIP:
            return a
        device = _core.default_device() if self.device is None else self.device
        if isinstance(out, DeviceArray):
            device = out.device
        if not isinstance(device, str) or device[:3] in ("cpu", "aut") or device.endswith("all"):
            return a
        try:
            return asarray(a, device=device)
        except MemoryError:
            return a  # in pieces, once for each pass

    def tally(
        self,
        a: Any,
        kind: str,
        bins: int,
        edges: np.ndarray | None,
        uniform: tuple[Any, ...] | None = None,
        weights: Any = None,
        sums: Any = None,
        outside: bool = False,
        out: Any = None,
    ) -> Any:
        arguments = (a, kind, bins, edges, uniform, weights, sums, outside)
        return with_options(
            _core.histogram, arguments, out, self.device, self.stream, self.variant, self.progress
        )

    def give(self, result: Any, like: Any) -> Any:
        """A result in the caller's kind of array; a host array goes to where ``like`` lies."""
        if isinstance(like, DeviceArray) and isinstance(result, np.ndarray):
            result = asarray(result, device=like.device, stream=self.stream)
        return result if self.library is None else self.library.finish(result)


def _start(
    a: Any, device: Device, stream: Any, variant: str | None, progress: Progress
) -> tuple[Any, Call]:
    a, library = _core.operand(a)
    return a, Call(device, stream, variant, progress, library)


def _host(a: Any) -> np.ndarray:
    return a.numpy() if isinstance(a, DeviceArray) else a


def histogram(
    a: Any,
    /,
    bins: int | Sequence[float] | np.ndarray | str = 10,
    range: tuple[float, float] | None = None,
    *,
    density: bool | None = None,
    nan: str = "raise",
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> tuple[Any, Any]:
    """Count the elements of ``a`` in bins.

    a        bool (as 0 and 1), integer, float32 or float64, any shape and strides, flattened; host
             or device
    bins     number of equal bins; or their edges, shape (n + 1,), increasing, on the host; or the
             name of one of NumPy's estimators ("auto", "fd", ...)
    range    (first, last) edge of equal bins; None: the smallest and largest element
    density  True: the counts divided by their sum and the bins' widths
    nan      where the range is taken from the data: "raise" on NaN, or "ignore" it. Elsewhere
             NaN lies in no bin, as in NumPy
    out      int64 array of shape (n,), host or device: the counts are written there; not with
             density
    Returns  (counts, edges) of a's kind: int64 (float64 with density) of shape (n,), and shape
             (n + 1,)
    Raises   ValueError (bins not positive, not increasing or not 1-D; range reversed or not
             finite; NaN or infinity where the range is taken from the data; variant),
             TypeError (dtype, bins), MemoryError, DeviceError
    Notes    bins are half open, the last one closed; counts and edges are numpy.histogram's to
             the bit, values on the edges included. With edges or a range, an array on a device is
             read once and not waited for; NaN to be ignored, and the estimators, bring it to the
             host. device, stream, variant and progress are the module's (see help(warpkit))
    Source   numpy.histogram
    """
    if nan not in ("raise", "ignore"):
        raise ValueError(f"nan must be 'raise' or 'ignore', not {nan!r}")
    if density and out is not None:
        raise ValueError("out takes counts, and density gives none")
    a, call = _start(a, device, stream, variant, progress)
    _check_real(a.dtype)
    if isinstance(bins, str):
        bins = _estimated_bins(_host(a), bins, range, nan)
    if np.ndim(bins) == 0:
        counts, edges = _equal_bins(a, bins, range, nan, out, call)
        if out is None and not isinstance(a, DeviceArray):
            counts = _host(counts)  # they were counted where a was settled
    else:
        edges = _given_edges(bins)
        keys, bins = _comparable(a.dtype, edges), max(len(edges) - 1, 0)
        if bins == 0:
            return call.give(np.zeros(0, np.intp), a), call.give(edges, a)
        counts = call.tally(a, "edges", bins, keys, out=out)
    if density:
        host = np.asarray(_host(counts))
        counts = call.give(host / np.diff(edges).astype(float) / host.sum(), a)
    elif out is None:
        counts = call.give(counts, a)
    return counts, call.give(edges, a)


def _check_real(dtype: np.dtype) -> None:
    if dtype.kind not in "biuf" or dtype == np.float16:
        raise TypeError(
            f"histogram does not take dtype {dtype}; there are: bool, int8, int16, int32, int64, "
            "uint8, uint16, uint32, uint64, float32, float64"
        )


def _equal_bins(
    a: Any, bins: Any, range: tuple[float, float] | None, nan: str, out: Any, call: Call
) -> tuple[Any, np.ndarray]:
    dtype = np.dtype(np.uint8) if a.dtype == bool else a.dtype
    first: Any
    last: Any
    if range is not None or a.size == 0:
        ends = np.empty(0, dtype)
        first, last = range if range is not None else (0, 1)
    else:
        a = call.settle(a, out)
        first, last = _extent(a, nan, call)
        first, last = dtype.type(first), dtype.type(last)
        ends = np.array([first, last])
    # Given the range's two ends, NumPy itself chooses the edges, their dtype and the errors.
    edges = np.histogram_bin_edges(ends, bins, range)
    if first == last:
        first, last = first - 0.5, last + 0.5
    if dtype.kind in "iu" and edges.dtype == np.float32:
        dtype = edges.dtype  # float32 ends and a narrow integer: NumPy's common type
        a = asarray(a, dtype) if isinstance(a, DeviceArray) else a.astype(dtype)
    low, high = _integer_bounds(dtype, first, last) if dtype.kind in "iu" else (0, 0)
    if low > high:  # nothing is counted
        interval, limits = (0.0, 0.0, 1.0), (1, 0)
    else:
        interval = float(first), float(last), float(_difference(first, last))
        mask = 2**64 - 1
        limits = low & mask, high & mask
    quotient = np.result_type(edges.dtype, np.asarray(_difference(first, last)).dtype)
    keys = edges.astype(np.float32) if edges.dtype.itemsize == 2 else edges
    uniform = (*interval, *limits, edges.dtype, quotient)
    return call.tally(a, "uniform", len(edges) - 1, keys, uniform, out=out), edges


def _extent(a: Any, nan: str, call: Call) -> tuple[Any, Any]:
    first, last = call.fold(a, "min", "max")
    if not np.isnan(first):
        return first, last
    a = _host(a)
    if nan == "raise":
        raise ValueError(_nan_message(a))
    a = a[~np.isnan(a)]
    if a.size == 0:
        return a.dtype.type(0), a.dtype.type(1)
    return a.min(), a.max()


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


def _comparable(dtype: np.dtype, edges: np.ndarray) -> np.ndarray:
    """The edges in the type in which numpy.searchsorted would compare them, widened."""
    kind = np.result_type(np.uint8 if dtype.kind == "b" else dtype, edges.dtype).kind
    return edges.astype({"f": np.float64, "i": np.int64, "u": np.uint64}[kind])


def bincount(
    a: Any,
    /,
    *,
    minlength: int = 0,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Count how often each non-negative integer occurs.

    a        bool or integer that fits int64, shape (n,), none negative; host or device
    out      int64 array of the result's shape, host or device: written and returned
    Returns  int64 array of a's kind, shape (max(max(a) + 1, minlength),); element i counts a == i
    Raises   ValueError (negative elements, not 1-D, minlength, variant), TypeError (dtype),
             MemoryError, DeviceError
    Notes    the length of the result is known when the largest element is: an array on a device is
             waited for. device, stream, variant and progress are the module's (see help(warpkit))
    Source   numpy.bincount
    """
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError(f"'minlength' must not be negative, not {minlength}")
    if isinstance(a, list | tuple):
        a = np.asarray(a)
        if a.size == 0:
            a = a.astype(np.intp)  # an empty list has no dtype of its own
    if isinstance(a, np.ndarray):
        _check_countable(a)  # with NumPy's words, whatever the dtype
    a, call = _start(a, device, stream, variant, progress)
    _check_countable(a)
    given, a = a, call.settle(a, out)
    low, high = map(int, call.fold(a, "min", "max")) if a.size else (0, -1)
    if low < 0:
        a = _host(a)
        where = int(np.argmax(a < 0))
        raise ValueError(
            "'list' argument must have no negative elements; the smallest is "
            f"{low}, the first is {int(a[where])} at index {where}"
        )
    bins = max(high + 1, minlength)
    counts = call.tally(a, "values", bins, None, out=out)
    if out is not None:
        return counts
    return call.give(counts if isinstance(given, DeviceArray) else _host(counts), given)


def _check_countable(a: Any) -> None:
    if a.ndim != 1:
        words = "of too small depth" if a.ndim == 0 else "too deep"
        raise ValueError(f"object {words} for desired array: bincount takes 1-D, not {a.ndim}-D")
    if not np.can_cast(a.dtype, np.intp, "safe"):
        raise TypeError(
            f"Cannot cast array data from {a.dtype!r} to {np.dtype(np.intp)!r} "
            "according to the rule 'safe'"
        )


class WarpHistogram(NamedTuple):
    """What warp_histogram returns."""

    values: Any
    counts: Any
    totals: Any


def warp_histogram(
    a: Any,
    /,
    *,
    assume_sorted: bool = False,
    out: tuple[Any, Any, Any] | None = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> WarpHistogram:
    """Count the distinct values in each 32 consecutive elements.

    a        bool, integer, float32 or float64, any shape and strides, flattened; host or device; n
             elements make w = ceil(n / 32) warps, the last of which may be short
    assume_sorted  each warp's elements ascend already (NaN last); if they do not, equal values
             that are not neighbours are listed apart
    out      three arrays of the results' shapes and dtypes: written and returned
    Returns  (values, counts, totals) of a's kind: values of a's dtype, shape (w, 32), the distinct
             ones in ascending order as numpy.unique; counts int32, shape (w, 32); totals int32,
             shape (w,), how many are distinct. Slots past the total are zero
    Raises   TypeError (dtype), ValueError (variant), MemoryError, DeviceError
    Notes    0.0 and -0.0 are one value, listed as 0.0; all NaN are one value, the last.
             variant "match_any" lists values in the order in which they first appear.
             device, stream, variant and progress are the module's (see help(warpkit))
    Source   numpy.unique(return_counts=True)
    """
    arguments = (a, assume_sorted)
    return WarpHistogram(
        *with_options(_core.warp_histogram, arguments, out, device, stream, variant, progress)
    )
