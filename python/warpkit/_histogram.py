"""histogram, bincount and warp_histogram: edges as NumPy makes them, counting in _core."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

import numpy as np

from warpkit import _core, _interop
from warpkit._array import DeviceArray, asarray, on_host
from warpkit._bins import (
    TAKEN,
    bins_between,
    bins_of_ends,
    bins_of_range,
    comparable,
    given_edges,
    is_float,
    is_taken,
)
from warpkit._ops import NO_VALUE, Device, Progress, ResultT, with_options

MOST_INDEX = int(np.iinfo(np.intp).max)
ONE_TRIP = 1 << 20  # bytes: below, a trip costs less than what keeping the array there takes
UINT8 = np.dtype(np.uint8)
FLOAT64 = np.dtype(np.float64)


class Call(NamedTuple):
    """What is the same for each pass over the data, and whose arrays the results are."""

    device: Device
    stream: Any
    variant: str | None
    progress: Progress
    library: Any
    kernel: Any = _core.histogram  # or partial_weights: what is kept of the sums

    def fold(self, a: Any, *ops: str) -> Any:
        """Folds of all elements, as NumPy scalars; min and max of many share one pass."""
        if len(ops) > 1 and isinstance(a, DeviceArray) and a.nbytes < ONE_TRIP:
            # a kernel leaves one result where the host looks; of two each is fetched
            return [self.fold(a, op) for op in ops]
        arguments = (a, ops if len(ops) > 1 else ops[0], None, False, None, NO_VALUE, True, 0)
        result = with_options(_core.reduce, arguments, None, self.device, self.stream, None, False)
        if len(ops) > 1:
            return [on_host(one)[()] for one in result]
        return on_host(result)[()]

    def beside(self, a: Any, weights: Any) -> Any:
        """Weights as an array that _core takes along with a; host ones it moves to a's device."""
        weights, _ = _core.operand(weights)
        if isinstance(weights, DeviceArray) and not (
            isinstance(a, DeviceArray) and _interop.same_device(weights.device, a.device)
        ):
            return weights.numpy()
        return weights

    def cast(self, a: Any, dtype: np.dtype[Any]) -> Any:
        """a's elements in a type of floats, where a lies; on a device without waiting for it."""
        if not isinstance(a, DeviceArray):
            return a.astype(dtype)
        arguments = (a, [1.0], -1, "reflect", 0.0, 0, dtype, None)
        return with_options(_core.stencil1d, arguments, None, None, self.stream, None, False)

    def settle(self, a: Any, weights: Any, out: Any) -> tuple[Any, Any]:
        """A host array that is to be read several times, on the GPU if that has room for it and for
        its weights."""
        if isinstance(a, DeviceArray) or a.nbytes < ONE_TRIP:
            return a, weights
        device = _core.default_device() if self.device is None else self.device
        if isinstance(out, DeviceArray):
            device = out.device
        if not isinstance(device, str) or device[:3] in ("cpu", "aut") or device.endswith("all"):
            return a, weights
        try:
            there = asarray(a, device=device)
            return there, None if weights is None else asarray(weights, device=device)
        except MemoryError:
            return a, weights  # in pieces, once for each pass

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
        pair: bool = False,
        out: Any = None,
    ) -> Any:
        if weights is not None and sums is None:
            sums = weights.dtype
        arguments = (a, kind, bins, edges, uniform, weights, sums, outside, pair)
        return with_options(
            self.kernel, arguments, out, self.device, self.stream, self.variant, self.progress
        )

    def tally_between(
        self, a: Any, kind: str, edges: np.ndarray, keys: np.ndarray, pair: bool, **how: Any
    ) -> tuple[Any, Any]:
        """Counts and edges. pair: on a device those that were searched, if they are the same."""
        pair = pair and keys.dtype == edges.dtype
        found = self.tally(a, kind, len(edges) - 1, keys, pair=pair, **how)
        return found if isinstance(found, tuple) else (found, edges)

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


def histogram(
    a: Any,
    /,
    bins: int | Sequence[float] | np.ndarray | str = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Any = None,
    *,
    nan: str = "raise",
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> tuple[Any, Any]:
    """Count the elements of ``a`` in bins, or add up their weights.

    Parameters
    ----------
    a : array_like
        Bool (as 0 and 1), integer, float16, bfloat16, float32 or float64, any shape and strides,
        flattened; host or device.
    bins : int, array_like or str
        Number of equal bins; or their edges, shape (n + 1,), increasing, on the host; or the name
        of one of NumPy's estimators ("auto", "fd", ...).
    range : (float, float), optional
        (first, last) edge of equal bins; None: the smallest and largest element.
    density : bool, optional
        True: the counts divided by their sum and the bins' widths.
    weights : array_like, optional
        Real or complex, of a's shape, on any device or the host: each element counts for as much as
        its weight; not with an estimator.
    nan : str
        Where the range is taken from the data: "raise" on NaN, or "ignore" it. Elsewhere NaN lies
        in no bin, as in NumPy.
    out : array, optional
        Array of shape (n,), int64 or of the weights' dtype, host or device: the counts are written
        there; not with density.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    counts, edges : arrays of a's kind
        Of shapes (n,) and (n + 1,); counts int64, with weights of their dtype (with density
        float64, or complex128).

    Raises
    ------
    ValueError
        bins not positive, not increasing or not 1-D; range reversed or not finite; NaN or infinity
        where the range is taken from the data; weights of another shape; variant.
    TypeError
        dtype, bins, weights with an estimator.
    MemoryError, DeviceError

    See Also
    --------
    bincount, numpy.histogram

    Notes
    -----
    Bins are half open, the last one closed; counts and edges are numpy.histogram's to the bit,
    values on the edges included. Weights of floats, and each part of complex ones, are added
    exactly and rounded once; integers wrap. With edges or a range, an array on a device is read
    once and not waited for; the estimators bring it to the host.

    Examples
    --------
    >>> counts, edges = warpkit.histogram([0.1, 0.4, 0.5, 1.0], bins=2, range=(0, 1))
    >>> counts, edges
    (array([2, 2]), array([0. , 0.5, 1. ]))
    """
    out = None if out is ... else out  # results are arrays
    if nan not in ("raise", "ignore"):
        raise ValueError(f"nan must be 'raise' or 'ignore', not {nan!r}")
    if density and out is not None:
        raise ValueError("out takes counts, and density gives none")
    a, call = _start(a, device, stream, variant, progress)
    weights = _check_elements(a, weights, call)
    if isinstance(bins, str):
        bins = _estimated_bins(on_host(a), bins, range, weights, nan)
    if isinstance(bins, int) or np.ndim(bins) == 0:
        counts, edges = _equal_bins(a, bins, range, weights, nan, out, call)
        if out is None and not isinstance(a, DeviceArray):
            counts = on_host(counts)  # they were counted where a was settled
    else:
        edges, own = given_edges(bins)
        counts, edges = _between_edges(a, edges, own, weights, out, call)
    if density:
        host = np.asarray(on_host(counts))
        widths = np.diff(np.asarray(on_host(edges))).astype(float)
        counts = call.give(host / widths / host.sum(), a)
    elif out is None:
        counts = call.give(counts, a)
    return counts, call.give(edges, a)


def weigh(
    a: Any, bins: Any, range: Any, weights: Any, device: Device, stream: Any
) -> tuple[np.ndarray, Any]:
    """histogram's sums of weights that are floats, as words that can be merged; and edges."""
    a, call = _start(a, device, stream, None, False)
    call = call._replace(kernel=_core.partial_weights)
    weights = _check_elements(a, weights, call)
    if isinstance(bins, int) or np.ndim(bins) == 0:
        return _equal_bins(a, bins, range, weights, "raise", None, call)
    return _between_edges(a, *given_edges(bins), weights, None, call)


def _check_elements(a: Any, weights: Any, call: Call) -> Any:
    """The weights, beside a."""
    if not is_taken(a.dtype):
        raise TypeError(f"histogram does not take dtype {a.dtype}; there are: {', '.join(TAKEN)}")
    if weights is not None:
        weights = call.beside(a, weights)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
    return weights


# ---- equal bins --------------------------------------------------------------------------------


def _equal_bins(
    a: Any, bins: Any, range: Any, weights: Any, nan: str, out: Any, call: Call
) -> tuple[Any, Any]:
    dtype = UINT8 if a.dtype == bool else a.dtype
    pair = isinstance(a, DeviceArray)
    if range is not None:
        first, last = range
        found = bins_of_range(dtype, bins, first, last)
    elif a.size == 0:
        found = bins_between(dtype, bins, 0, 1, np.empty(0, dtype))
    else:
        a, weights = call.settle(a, weights, out)
        first, last = map(dtype.type, _extent(a, nan, call))
        found = bins_of_ends(dtype, bins, first, last)
    if found.dtype != dtype:
        if a.ndim == 0:
            a, weights = a[None], None if weights is None else weights[None]
        a = call.cast(a, found.dtype)
    how = {"uniform": found.uniform, "weights": weights, "out": out}
    return call.tally_between(a, "uniform", found.edges, found.keys, pair, **how)


def _extent(a: Any, nan: str, call: Call) -> tuple[Any, Any]:
    first, last = call.fold(a, "min", "max")
    if first.dtype.kind in "biu" or not np.isnan(first):
        return first, last
    if nan == "raise":
        raise ValueError(_nan_message(on_host(a)))
    first, last = call.fold(a, "nanmin", "nanmax")
    return (first.dtype.type(0), first.dtype.type(1)) if np.isnan(first) else (first, last)


def _nan_message(a: np.ndarray) -> str:
    where = np.isnan(a)
    first = np.unravel_index(int(np.argmax(where)), a.shape)
    at = int(first[0]) if a.ndim == 1 else tuple(map(int, first))
    return (
        f"autodetected range is not finite: {np.count_nonzero(where)} of {a.size} elements are "
        f"NaN, the first at index {at}; give a range or edges, or nan='ignore'"
    )


def _estimated_bins(a: np.ndarray, name: str, range: Any, weights: Any, nan: str) -> int:
    a = a.astype(np.uint8) if a.dtype == bool else a  # a byte that is not 0 is 1
    if is_float(a.dtype) and range is None and np.isnan(a).any():
        if nan == "raise":
            raise ValueError(_nan_message(a))
        a = a[~np.isnan(a)]
    return len(np.histogram_bin_edges(a, name, range, weights)) - 1


# ---- bins between given edges ------------------------------------------------------------------


def _between_edges(
    a: Any, edges: np.ndarray, own: np.ndarray, weights: Any, out: Any, call: Call
) -> tuple[Any, Any]:
    if len(edges) > 1:
        keys = comparable(a.dtype, own)
        return call.tally_between(a, "edges", edges, keys, True, weights=weights, out=out)
    empty = np.zeros(0, np.int64 if weights is None else weights.dtype)
    if out is None:
        return empty, edges
    out[...] = empty  # which an array of another shape refuses
    return out, edges


# ---- bincount ----------------------------------------------------------------------------------

# The largest element is found by counting, in one reading of the array, rather than by a reading of
# its own, with a counter for every value of a byte, and of wider integers for twice as many as a
# sample has. CPU, int64, 2 threads: 1.4 to 1.5 times as fast.
ONE_READING = 1 << 16  # elements: below, the host looks for the largest first
FEW_OF = "?bBhHiIlq"  # types of whose elements each is an index
MOST_VALUES = {"bool": 2, "int8": 128, "uint8": 256, "int16": 1 << 15, "uint16": 1 << 16}
SAMPLE, SAMPLED = 512, 1 << 18  # elements of the sample, and of an array at least
MOST_GUESSED = 57_000  # values: the CPU's counters then stay in its cache
# On a device a larger sample takes no longer, but a trip; the array must take longer to read than
# that, and than looking through the counts. H100, 1 GiB of 256 to 65,536 values: 1.10 to 1.20 of
# the counting alone; other values of these were not tried.
SAMPLE_THERE, SHORT_READING, READ_A_COUNT = 1 << 14, 160 << 20, 3 << 10  # elements, bytes, bytes
MOST_GUESSED_THERE = 1 << 18  # beyond, counting is slower the more values there may be
TRUSTED = 64  # a minlength that large says how many values there are, and no sample is looked at


def bincount(
    a: Any,
    /,
    weights: Any = None,
    minlength: int = 0,
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Count how often each non-negative integer occurs, or add up its weights.

    Parameters
    ----------
    a : array_like
        Bool or integer, shape (n,), none negative; host or device.
    weights : array_like, optional
        Real, shape (n,), on any device or the host: each element counts for as much as its weight.
    minlength : int
        Least length of the result.
    out : array, optional
        Array of the result's shape and dtype, host or device: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Shape (max(max(a) + 1, minlength),): int64, with weights float64 (of no element int64, as in
        NumPy); element i counts a == i.

    Raises
    ------
    ValueError
        Negative elements, not 1-D, weights of another length, minlength, variant.
    TypeError
        dtype.
    MemoryError, DeviceError

    See Also
    --------
    histogram, numpy.bincount

    Notes
    -----
    Weights are rounded to float64, added exactly and rounded once. The length of the result is
    known when the largest element is: an array on a device is waited for.

    Examples
    --------
    >>> warpkit.bincount([0, 1, 1, 3])
    array([1, 2, 0, 1])
    >>> warpkit.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0])
    array([0.5, 3. ])
    """
    minlength = least_length(minlength)
    if type(a) is np.ndarray and out is None and stream is None and not progress:
        counts = _count_few(a, weights, minlength, device, variant)
        if counts is not NotImplemented:
            return counts
    out = None if out is ... else out  # the result is an array
    if isinstance(a, list | tuple):
        a = np.asarray(a)
        if a.size == 0:
            a = a.astype(np.intp)  # an empty list has no dtype of its own
    if isinstance(a, np.ndarray):
        _check_countable(a, np.intp)  # with NumPy's words, whatever the dtype
    a, call = _start(a, device, stream, variant, progress)
    _check_countable(a, np.intp)
    weights = _countable_weights(a, weights, call) if weights is not None and a.size else None
    given = a
    a, weights = call.settle(a, weights, out)
    counts = None
    known = minlength > 0 and isinstance(a, DeviceArray)
    if weights is None and out is None and (known or a.size >= ONE_READING):
        counts = _count_in_one_reading(a, minlength, call)
    if counts is None:
        bins = _length(a, minlength, call)
        sums = None if weights is None else np.float64
        counts = call.tally(a, "values", bins, None, None, weights, sums, out=out)
    if out is not None:
        return counts
    return call.give(counts if isinstance(given, DeviceArray) else on_host(counts), given)


def least_length(minlength: Any) -> int:
    """bincount's argument, checked."""
    if type(minlength) is int and minlength >= 0:
        return minlength
    if isinstance(minlength, bool):
        raise TypeError("an integer is required for minlength, not bool")
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError(f"'minlength' must not be negative, not {minlength}")
    return int(minlength)


def _count_few(a: Any, weights: Any, minlength: int, device: Device, variant: str | None) -> Any:
    """The result of a small array on the host, by the shortest way: Python's takes the longest."""
    if a.ndim != 1 or a.size >= ONE_READING or a.dtype.char not in FEW_OF:
        return NotImplemented
    sums = None
    if weights is not None:
        if type(weights) is not np.ndarray or weights.shape != a.shape or not a.size:
            return NotImplemented
        if weights.dtype.char not in "fd":
            if weights.dtype.char not in FEW_OF:
                return NotImplemented
            if weights.dtype.itemsize == 8:  # as NumPy rounds each
                weights = weights.astype(FLOAT64)
        sums = FLOAT64
    # By position: a starred tuple would take longer than the short call's counting.
    return _core.histogram(
        a, "values", ~minlength, None, None, weights, sums, False, False,
        None, device, None, variant, None,
    )  # fmt: skip


def weigh_values(a: Any, weights: Any, minlength: int, device: Device, stream: Any) -> np.ndarray:
    """bincount's sums of weights, likewise."""
    a, call = _start(a, device, stream, None, False)
    call = call._replace(kernel=_core.partial_weights)
    _check_countable(a, np.intp)
    weights = _countable_weights(a, weights, call)
    bins = _length(a, minlength, call)
    words: np.ndarray = call.tally(a, "values", bins, None, None, weights, np.float64)
    return words


def _check_countable(a: Any, to: type) -> None:
    if a.ndim == 1 and a.dtype.kind in "bui":
        return
    if a.ndim != 1:
        words = "of too small depth" if a.ndim == 0 else "too deep"
        raise ValueError(f"object {words} for desired array: bincount takes 1-D, not {a.ndim}-D")
    if not np.can_cast(a.dtype, to, "safe"):
        raise TypeError(
            f"Cannot cast array data from {a.dtype!r} to {np.dtype(to)!r} "
            "according to the rule 'safe'"
        )


def _countable_weights(a: Any, weights: Any, call: Call) -> Any:
    if isinstance(weights, list | tuple):
        weights = np.asarray(weights)
    if isinstance(weights, np.ndarray):
        _check_countable(weights, np.float64)
    weights = call.beside(a, weights)
    _check_countable(weights, np.float64)
    if weights.shape != a.shape:
        raise ValueError("The weights and list don't have the same length.")
    return weights if is_float(weights.dtype) else call.cast(weights, np.dtype(np.float64))


def _count_in_one_reading(a: Any, minlength: int, call: Call) -> Any:
    """The counts, unless the guess at the largest element fails, or makes no sense."""
    if minlength >= TRUSTED and isinstance(a, DeviceArray):
        return _count_given(a, minlength, call)
    guess = _guess(a, minlength, call)
    if guess == 0:
        return None
    counts = call.tally(a, "values", guess, None, outside=True)
    if isinstance(counts, DeviceArray):  # a trip for one number
        bytes_above = int(call.fold(counts.view(bool)[::-1], "argmax"))
        last = guess - bytes_above // counts.itemsize
    else:  # 57,000: 27 us, flatnonzero 158
        last = guess - int(np.argmax(counts[::-1] != 0))
    if last == guess:  # there are larger elements, or negative ones
        return None
    length = max(last + 1, minlength)
    found = counts[:length]
    return found if isinstance(found, DeviceArray) and 2 * length >= guess else found.copy()


def _count_given(a: DeviceArray, minlength: int, call: Call) -> Any:
    """The counts of so many values, if there are no others: one trip, or none."""
    if a.dtype.kind in "bu" and minlength >= 1 << 8 * a.itemsize:
        return call.tally(a, "values", minlength, None)
    counts = call.tally(a, "values", minlength, None, outside=True)
    # By a fold: a kernel leaves its result where the host looks. A copy takes longer: H100, 1 GiB
    # of int64 in 256 bins so 501 us in all, with this fold 393.
    return None if call.fold(counts[minlength:], "any") else counts[:minlength]


def _guess(a: Any, minlength: int, call: Call) -> int:
    """How many values there may be, minlength if no more; 0: two readings are better."""
    there = isinstance(a, DeviceArray)
    if a.itemsize == 1:
        return max(MOST_VALUES[a.dtype.name], minlength)
    if there and a.nbytes < SHORT_READING:
        return minlength
    if there:
        bits = a.view(f"u{a.itemsize}")  # a negative element is a large one
        top, most = int(call.fold(bits[:: a.size // SAMPLE_THERE], "max")), MOST_GUESSED_THERE
        most = min(most, (a.nbytes - SHORT_READING) // READ_A_COUNT)
    else:
        device = _core.default_device() if call.device is None else call.device
        if a.size < SAMPLED or device not in ("cpu", "cpu:0"):
            return 0
        top, most = max(int(a[:: a.size // SAMPLE].max()), int(a[-1])), MOST_GUESSED
    if 0 <= top < minlength:
        return minlength
    guess = min(2 * top + 1, MOST_VALUES.get(a.dtype.name, MOST_INDEX))
    return guess if 0 < guess <= most else 0


def _length(a: Any, minlength: int, call: Call) -> int:
    # As an unsigned number a negative element is the largest: one fold tells all.
    bits = a.view(f"u{a.itemsize}") if a.dtype.kind == "i" else a
    high = int(call.fold(bits, "max")) if a.size else -1
    if a.dtype.kind == "i" and high >= 1 << 8 * a.itemsize - 1:
        low = int(call.fold(a, "min"))
        a = on_host(a)
        where = int(np.argmax(a < 0))
        raise ValueError(
            "'list' argument must have no negative elements; the smallest is "
            f"{low}, the first is {int(a[where])} at index {where}"
        )
    if high > MOST_INDEX - 1:
        raise ValueError(f"array is too big: the largest element is {high}")
    return max(high + 1, minlength)


# ---- warp_histogram ----------------------------------------------------------------------------


class WarpHistogram(NamedTuple, Generic[ResultT]):
    """What warp_histogram returns.

    Attributes
    ----------
    values : array
        Shape (w, 32), of the elements' dtype.
    counts : array of int32
        Shape (w, 32).
    totals : array of int32
        Shape (w,), how many values are distinct.
    """

    values: ResultT
    counts: ResultT
    totals: ResultT


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
) -> WarpHistogram[Any]:
    """Count the distinct values in each 32 consecutive elements.

    Parameters
    ----------
    a : array_like
        Bool, integer or real float of 16 to 64 bits, any shape and strides, flattened; host or
        device; n elements make w = ceil(n / 32) warps, the last of which may be short.
    assume_sorted : bool
        Each warp's elements ascend already (NaN last); if they do not, equal values that are not
        neighbours are listed apart.
    out : tuple of arrays, optional
        Three arrays of the results' shapes and dtypes: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    WarpHistogram
        (values, counts, totals) of a's kind: values of a's dtype, shape (w, 32), the distinct ones
        in ascending order as numpy.unique; counts int32, shape (w, 32); totals int32, shape (w,),
        how many are distinct. Slots past the total are zero.

    Raises
    ------
    TypeError (dtype), ValueError (variant), MemoryError, DeviceError

    See Also
    --------
    unique_counts, numpy.unique

    Notes
    -----
    0.0 and -0.0 are one value, listed as 0.0; all NaN are one value, the last. The variant
    "match_any" lists values in the order in which they first appear.

    Examples
    --------
    >>> values, counts, totals = warpkit.warp_histogram([7, 3, 7, 7])
    >>> values[0, :2], counts[0, :2], totals
    (array([3, 7]), array([1, 3], dtype=int32), array([2], dtype=int32))
    """
    arguments = (a, assume_sorted)
    return WarpHistogram(
        *with_options(_core.warp_histogram, arguments, out, device, stream, variant, progress)
    )
