"""dot and its sisters, and folds of segments and of groups: arguments, dtypes, errors."""

from __future__ import annotations

import operator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from warpkit import _core
from warpkit._array import DeviceArray, asarray, beside, on_host
from warpkit._ops import NO_VALUE, Device, Progress, named, unknown, with_options
from warpkit._reduce import _cast
from warpkit._transpose import transpose


class _Place(NamedTuple):
    """Where a call works, and whose arrays its results are."""

    device: Device
    stream: Any
    variant: str | None
    library: Any
    staged: bool  # host arrays were brought to a GPU

    def call(
        self, function: Any, *arguments: Any, out: Any = None, progress: Progress = False
    ) -> Any:
        given = tuple([_dense(x) if isinstance(x, np.ndarray) else x for x in arguments])
        return with_options(function, given, out, self.device, self.stream, self.variant, progress)

    def aside(self, function: Any, *arguments: Any, progress: Progress = False) -> Any:
        """Another operation's, which has variants of its own."""
        return self._replace(variant=None).call(function, *arguments, progress=progress)

    def give(self, result: Any) -> Any:
        """A result in the caller's kind of array; NumPy's scalar where none of its axes is left."""
        if self.staged and isinstance(result, DeviceArray):
            return result.numpy() if result.ndim else result.numpy()[()]
        return result if self.library is None else self.library.finish(result)


def _dense(a: np.ndarray) -> np.ndarray:
    """C-contiguous, as kernels of the CPU want it; NumPy's copy cannot be interrupted."""
    return a if a.flags.c_contiguous else transpose(a, range(a.ndim), device="cpu")


def _bring(
    op: str, arrays: tuple[Any, ...], device: Device, stream: Any, variant: str | None, out: Any
) -> tuple[list[Any], _Place]:
    """All arrays where the call works: host arrays go to the device of another one, or of the
    call."""
    taken, library, there = [], None, None
    for a in arrays:
        array, own = _core.operand(a)
        taken.append(array)
        library = library or own
        if there is None and isinstance(array, DeviceArray):
            there = array
    if there is None and isinstance(out, DeviceArray):
        there = out
    if there is not None:
        moved = [a if isinstance(a, DeviceArray) else beside(a, there, stream) for a in taken]
        return moved, _Place(device, stream, variant, library, False)
    name = _device_of(op, device, sum(a.nbytes for a in taken))
    if name.startswith("cpu"):
        return taken, _Place(name, stream, variant, library, False)
    moved = [asarray(a, device=name, stream=stream) for a in taken]
    return moved, _Place(None, stream, variant, library, True)


def _device_of(op: str, device: Device, nbytes: int) -> str:
    """The one device that host arrays go to; of several the first."""
    name = named(op, device, nbytes)
    return (name if isinstance(name, str) else next(iter(name), "cpu")).removesuffix(":all")


def _array(a: Any) -> Any:
    """Lists and scalars as NumPy has them; what has no numbers is refused as it was given."""
    return a if hasattr(a, "dtype") else _core.operand(a)[0]


def _integers(a: Any) -> Any:
    """Likewise; an empty list has no dtype of its own."""
    if isinstance(a, list | tuple) and not a:
        return np.zeros(0, np.int64)
    return _array(a)


def _as_dtype(a: Any, dtype: np.dtype[Any]) -> Any:
    return a if a.dtype == dtype else _cast(a, dtype, ("sum",))


# ---- sums of products --------------------------------------------------------------------------


def _spread(a: Any, shape: tuple[int, ...]) -> Any:
    """A view of that shape, as numpy.broadcast_to gives it."""
    if a.shape == shape:
        return a
    if not isinstance(a, DeviceArray):
        return np.broadcast_to(a, shape)
    more = len(shape) - a.ndim
    strides = [0] * more
    strides += [0 if n == 1 else s for n, s in zip(a.shape, a.strides, strict=True)]
    return a._view(a._pointer, shape, tuple(strides), a.dtype)


def _last(a: Any, axis: int) -> Any:
    """A view with the axis as the last one."""
    return np.moveaxis(a, normalize_axis_index(axis, a.ndim), -1)


def _dot(
    name: str,
    a: Any,
    b: Any,
    axis: int | None,
    conjugate: bool,
    out: Any,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> Any:
    if axis is None and out is None and stream is None and not progress:  # as most short calls are
        found = _core.dot(a, b, conjugate, True, None, device, None, variant, None)
        if found is not NotImplemented:
            return found
    (x, y), place = _bring("dot", (_array(a), _array(b)), device, stream, variant, out)
    if x.dtype != y.dtype:
        dtype = np.result_type(x.dtype, y.dtype)
        x, y = (_core.operand(_as_dtype(z, dtype))[0] for z in (x, y))
    if axis is None and conjugate:
        x, y = x.reshape(-1), y.reshape(-1)
    if axis is None:
        for one in (x, y):
            if one.ndim != 1:
                other = "multiply" if one.ndim == 0 else "matmul"
                raise ValueError(
                    f"{name} takes arrays of one axis, not of {one.ndim}; with axis= of more; "
                    f"see numpy.{other}"
                )
    else:
        x, y = _last(x, axis), _last(y, axis)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} != {y.shape[-1]}"
        )
    if x.shape != y.shape:
        shape = np.broadcast_shapes(x.shape, y.shape)
        x, y = _spread(x, shape), _spread(y, shape)
    result = place.call(_core.dot, x, y, conjugate, False, out=out, progress=progress)
    return place.give(result) if place.staged or place.library is not None else result


def dot(
    a: Any,
    b: Any,
    /,
    axis: int | None = None,
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """The sum of the products of ``a`` and ``b``, exact and rounded once.

    Parameters
    ----------
    a, b : array_like
        Bool, integer, float16, bfloat16, float32, float64, complex64 or complex128, any strides;
        host or device, of which host arrays follow the other one. axis None: of one axis and one
        length. Otherwise they are broadcast against each other, and the products added along axis.
    axis : int, optional
        Along which.
    out : array, optional
        Array of the result's shape and dtype, host or device: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    scalar or array of a's kind
        Of the broadcast shape without axis, and of the dtype that NumPy gives a * b.

    Raises
    ------
    ValueError
        Shapes, axis None and not one axis, arrays on two devices, variant.
    AxisError
    TypeError
        dtype.
    MemoryError, DeviceError

    See Also
    --------
    vdot, numpy.dot, numpy.vecdot

    Notes
    -----
    Of floats the exact sum of the exact products [1]_, rounded once, to nearest, ties to even; of
    complex numbers each part so. No product overflows or underflows on the way. An exact zero is
    0.0. Integers wrap in their dtype, as NumPy's; of bool, whether any product is true. NaN
    propagates, infinity times 0 is NaN. For matrix products see numpy.matmul. Host arrays go to a
    GPU whole.

    References
    ----------
    .. [1] T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product" (2005)

    Examples
    --------
    >>> float(warpkit.dot([1e8, 1.0, -1e8], [1e8, 1.0, 1e8]))
    1.0
    """
    return _dot("dot", a, b, axis, False, out, device, stream, variant, progress)


def vdot(
    a: Any,
    b: Any,
    /,
    axis: int | None = None,
    *,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """The sum of the products of conj(``a``) and ``b``, exact and rounded once.

    Parameters
    ----------
    a, b : array_like
        As dot's; axis None: of any shapes and one size, flattened in C order.
    axis : int, optional
        As dot's: numpy.vecdot.
    out, device, stream, variant, progress : optional
        As dot's; results, errors and notes too.

    See Also
    --------
    dot, numpy.vdot, numpy.vecdot

    Examples
    --------
    >>> complex(warpkit.vdot([1 + 2j, 1j], [1 + 2j, 1j]))
    (6+0j)
    """
    return _dot("vdot", a, b, axis, True, out, device, stream, variant, progress)


# ---- segments and groups -----------------------------------------------------------------------

SegmentOp = Literal[
    "sum", "mean", "var", "std", "sumsq", "norm", "min", "max", "ptp", "argmin", "argmax", "any",
    "all", "count_nonzero", "count",
]  # fmt: skip
SEGMENT_OPS = get_args(SegmentOp)
INT64 = np.dtype(np.int64)
MOST_GROUPS = 1 << 59  # 16 bytes each
_SMALL = 1 << 16  # bytes, which NumPy copies sooner than anything is planned here
_EXTREMES = ("min", "max", "argmin", "argmax", "any", "all")
_NEED_ONE = {"min": "minimum", "max": "maximum", "ptp": "maximum"}


def check_op(op: Any) -> None:
    """One of segments'; what is no str _core refuses."""
    if isinstance(op, str) and op not in SEGMENT_OPS:
        raise ValueError(unknown("op", op, SEGMENT_OPS))


def check_lengths(op: str, dtype: np.dtype[Any], empty: int, of: str) -> None:
    """Of the first empty segment or group; -1: there is none."""
    if empty < 0:
        return
    if op in ("argmin", "argmax"):
        raise ValueError(f"attempt to get {op} of an empty sequence: {of} {empty} is empty")
    if op in _NEED_ONE and dtype.kind in "biu":
        raise ValueError(
            f"zero-size array to reduction operation {_NEED_ONE[op]} which has no identity: {of} "
            f"{empty} is empty"
        )


def segment_reduce(
    a: Any,
    offsets: Any,
    /,
    op: SegmentOp = "sum",
    *,
    ddof: float = 0,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Fold each of the segments that ``offsets`` cut ``a`` into.

    Parameters
    ----------
    a : array_like
        Shape (n,), bool, integer, float16, bfloat16, float32, float64, complex64 or complex128;
        host or device.
    offsets : array_like of int
        Integers, shape (s + 1,), ascending, from 0 to n: segment i is a[offsets[i]:offsets[i + 1]],
        as the rows of a CSR matrix. Elements before the first and from the last on are in none.
        Host or device, of which a host array follows.
    op : str
        reduce's: sum, mean, var, std, sumsq, norm, min, max, ptp, argmin, argmax, any, all,
        count_nonzero; count: how many elements each has.
    ddof : float
        var and std divide by the number of elements - ddof.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Shape (s,), of the dtype that reduce gives; count, argmin and argmax int64: indices are a's.

    Raises
    ------
    ValueError
        op, offsets that do not ascend within a, the first of them named; an empty segment where op
        needs an element: argmin and argmax, and min, max and ptp of bool and integers; variant.
    TypeError
        dtype.
    MemoryError, DeviceError

    See Also
    --------
    group_reduce, numpy.ufunc.reduceat

    Notes
    -----
    Each result is what reduce gives of the segment, to the bit: sums of floats are exact and
    rounded once. Of an empty segment the sum is 0, the mean and the variance NaN, min and max of
    floats NaN. Offsets on a device are waited for, results are not.
    ``numpy.add.reduceat(a, i)`` of ascending i is ``segment_reduce(a, [*i, n])``, but for segments
    that are empty. CUB's is cub::DeviceSegmentedReduce.

    Examples
    --------
    >>> warpkit.segment_reduce([1.0, 2.0, 3.0, 4.0], [0, 1, 4])
    array([1., 9.])
    """
    check_op(op)
    place = None  # where nothing needs to be brought: most of a short call's time
    at = offsets
    if not (_are_whole(a, at) and named("segment_reduce", device, a.nbytes + at.nbytes) == "cpu"):
        given = (_array(a), _integers(offsets))
        (a, at), place = _bring("segment_reduce", given, device, stream, variant, None)
        at = _checked_offsets(a, at)
    arguments = (a, "any" if op == "count" else op, ddof, None, at, None, 0)
    if place is None:
        options = (None, "cpu", stream, variant, progress)
        result, wrong, empty = with_options(_core.segment_reduce, arguments, *options)
    else:
        result, wrong, empty = place.call(_core.segment_reduce, *arguments, progress=progress)
    if wrong >= 0:
        host = on_host(_integers(offsets))  # as given: of uint64 some are none of int64
        before = f" after {host[wrong - 1]}" if wrong else ""
        raise ValueError(
            f"offsets must ascend within 0 .. {a.size}: offsets[{wrong}] is {host[wrong]}{before}"
        )
    if op == "count":
        result = _differences(at)
    else:
        check_lengths(op, a.dtype, empty, "segment")
    return result if place is None else place.give(result)


def _are_whole(a: Any, offsets: Any) -> bool:
    """Are they arrays on the host of one axis each, as kernels want them?"""
    if not type(a) is type(offsets) is np.ndarray or offsets.dtype != INT64:
        return False
    whole = a.flags.c_contiguous and offsets.flags.c_contiguous
    return bool(whole and a.ndim == offsets.ndim == 1 and offsets.size)


def _checked_offsets(a: Any, at: Any) -> Any:
    if at.dtype.kind not in "iu" or at.ndim != 1 or at.size == 0:
        kind = TypeError if at.dtype.kind not in "iu" else ValueError
        raise kind(f"offsets must be integers of shape (s + 1,), not {at.dtype} of {at.shape}")
    if a.ndim != 1:
        raise ValueError(f"segment_reduce takes an array of one axis, not of {a.ndim}")
    return _contiguous(_core.operand(_as_dtype(at, INT64))[0])


def _contiguous(a: Any) -> Any:
    if not isinstance(a, DeviceArray):
        return np.ascontiguousarray(a)
    return a if a.strides == (a.itemsize,) else a.copy()


def _differences(offsets: Any) -> Any:
    counts = np.diff(on_host(offsets))
    return beside(counts, offsets) if isinstance(offsets, DeviceArray) else counts


def group_reduce(
    keys: Any,
    a: Any,
    /,
    op: SegmentOp = "sum",
    groups: int | None = None,
    *,
    ddof: float = 0,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Fold the elements of ``a`` that have the same key, in any order.

    Parameters
    ----------
    keys : array_like of int
        Bool or integers from 0 to groups - 1, of a's shape; host or device.
    a : array_like
        Bool, integer, float16, bfloat16, float32, float64, complex64 or complex128; host or device,
        of which host arrays follow the other one.
    op : str
        As segment_reduce's.
    groups : int, optional
        How many there are; None: the largest key and one.
    ddof : float
        var and std divide by the number of elements - ddof.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Shape (groups,), of the dtype that reduce gives; count, argmin and argmax int64: indices are
        those of ``a``, flattened.

    Raises
    ------
    ValueError
        a key that is none of the groups', the first of them named; shapes; op; an empty group where
        op needs an element, as segment_reduce; variant.
    TypeError
        dtype.
    MemoryError, DeviceError

    See Also
    --------
    segment_reduce, pandas.DataFrame.groupby, numpy.ufunc.at

    Notes
    -----
    Results do not depend on the order, and are what reduce gives of each group: sums of floats are
    exact and rounded once, but no sum is -0.0. Counts, sums, means, and min, max, argmin, argmax,
    any and all of real numbers take no sort, whatever the keys are; for other folds elements are
    sorted by their keys. Of an
    empty group the sum is 0, the mean and the variance NaN, min and max of floats NaN. An array on
    a device is waited for.

    Examples
    --------
    >>> warpkit.group_reduce([2, 0, 2], [1.0, 5.0, 3.0])
    array([5., 0., 4.])
    >>> warpkit.group_reduce([2, 0, 2], [1.0, 5.0, 3.0], "count")
    array([1, 0, 2])
    """
    check_op(op)
    given = (_integers(keys), _array(a))
    (keys, a), place = _bring("group", given, device, stream, variant, None)
    check_keys(keys, a)
    known = groups is None  # all of them are looked at
    groups = _number_of_groups(keys, groups, place)
    keys, a = keys.reshape(-1), a.reshape(-1)
    if needs_no_sort(op, a.dtype) and (keys.size or op in ("sum", "count")):
        found = _tally(keys, a, op, groups, place, progress, known)
        if op == "mean" and a.dtype.kind not in "biu":
            found = _with_signs(found, keys, a, place)
        if found is not None:
            return place.give(found)
    order, offsets, stray, mask = place.call(_core.group, keys, groups)
    if stray >= 0:
        raise_stray(keys, stray, groups)
    arguments = (a, op, ddof, None, offsets, order, mask)
    result, _, empty = place.aside(_core.segment_reduce, *arguments, progress=progress)
    check_lengths(op, a.dtype, empty, "group")
    return place.give(result)


def _fold(a: Any, op: str | tuple[str, ...], place: _Place) -> Any:
    arguments = (a, op, None, False, None, NO_VALUE, True, 0)
    return place.aside(_core.reduce, *arguments)


def check_keys(keys: Any, a: Any) -> None:
    """Do they go with the array?"""
    if keys.dtype.kind not in "biu":
        raise TypeError(f"keys must be integers, not {keys.dtype}")
    if keys.shape != a.shape:
        raise ValueError(f"keys of shape {keys.shape} do not go with an array of {a.shape}")


def check_groups(groups: int) -> int:
    groups = operator.index(groups)
    if groups < 0:
        raise ValueError(f"groups must not be negative, not {groups}")
    return groups


def needs_no_sort(op: str, dtype: np.dtype[Any]) -> bool:
    """Is there a table of the groups, in which elements of any order meet?"""
    return op in ("sum", "count", "mean") or (op in _EXTREMES and dtype.kind != "c")


def _number_of_groups(keys: Any, groups: int | None, place: _Place) -> int:
    if groups is not None:
        return check_groups(groups)
    if not keys.size:
        return 0
    least, most = map(int, _fold(keys, ("min", "max"), place))
    if most >= MOST_GROUPS:
        raise ValueError(f"key {most} asks for more groups than an array has elements")
    if least < 0:
        _raise_first(keys.reshape(-1), max(most + 1, 0))
    return most + 1


def raise_stray(keys: Any, at: int, groups: int) -> None:
    key = int(on_host(keys)[at])
    raise ValueError(f"key {key} at index {at} is none of 0 .. {groups - 1}")


def _tally(
    keys: Any,
    a: Any,
    op: str,
    groups: int,
    place: _Place,
    progress: Progress,
    known: bool = False,
) -> Any:
    """Counts of each key, or exact sums, means, extremes of the elements, or their places.

    known   all keys are of the groups
    """
    weights, sums, counts, how = None, None, None, None
    there = isinstance(keys, DeviceArray)
    if op != "count":
        weights, sums = a, _sums_of(a.dtype, op)
        how = sums if op == "sum" else (sums, op)
    if groups == 0:
        if keys.size:
            _raise_first(keys, groups)
        empty = np.zeros(0, np.int64 if sums is None else sums)
        return beside(empty, keys) if there else empty
    told = op == "count" or there or (op == "mean" and groups <= keys.size)  # by call or counts
    if not told and not known and keys.size:
        low, high = _fold(keys, ("min", "max"), place)
        if low < 0 or high >= groups:
            _raise_first(keys, groups)
    if op == "mean":
        counts = _count_by(keys, groups, place, None, None, None, False)
        if told and not there and int(_fold(counts, "sum", place)) != keys.size:
            _raise_first(keys, groups)
    found = _count_by(keys, groups, place, counts, weights, how, progress)
    if op != "count" and there:
        found, stray = found
        if stray:
            _raise_first(keys, groups)
    if op == "count" and int(_fold(found, "sum", place)) != keys.size:
        _raise_first(keys, groups)
    if op in ("argmin", "argmax"):
        least, empty = _fold(found, ("min", "argmin"), place)
        check_lengths(op, a.dtype, int(empty) if int(least) < 0 else -1, "group")
    if op in _NEED_ONE and a.dtype.kind in "biu":
        counts = _count_by(keys, groups, place, None, None, None, False)
        fewest, empty = _fold(counts, ("min", "argmin"), place)
        check_lengths(op, a.dtype, -1 if fewest else int(empty), "group")
    return found


def _with_signs(means: Any, keys: Any, a: Any, place: _Place) -> Any:
    """A mean of nothing but -0.0 is -0.0, which no sum tells; None: nor can it be told here."""
    real = np.zeros(0, a.dtype).real.dtype
    if not means.size or _fold(means.view(real), "all", place):
        return means
    if a.dtype.kind == "c":
        return None
    minus, bits = np.array([-0.0], real), f"u{real.itemsize}"
    ends = (_tally(keys, a, op, means.size, place, False) for op in ("min", "max"))
    only = np.all([on_host(end).view(bits) == minus.view(bits) for end in ends], 0)
    if not only.any():
        return means
    host = np.where(only, minus, on_host(means))
    return beside(host, means) if isinstance(means, DeviceArray) else host


def _sums_of(dtype: np.dtype[Any], op: str) -> np.dtype[Any]:
    if op in ("any", "all"):
        return np.dtype(bool)
    if op in ("argmin", "argmax"):
        return INT64
    if dtype.kind not in "biu" or op in _NEED_ONE:
        return dtype
    return np.dtype("f8" if op == "mean" else "u8" if dtype.kind == "u" else "i8")


def _count_by(
    keys: Any, groups: int, place: _Place, counts: Any, weights: Any, sums: Any, progress: Progress
) -> Any:
    pair = isinstance(keys, DeviceArray)
    arguments = (keys, "values", groups, counts, None, weights, sums, False, pair)
    return place.aside(_core.histogram, *arguments, progress=progress)


def _raise_first(keys: Any, groups: int) -> None:
    host = on_host(keys)
    raise_stray(host, int(np.argmax((host < 0) | (host >= groups))), groups)


# ---- prefixes ----------------------------------------------------------------------------------


def _lies_here(a: Any, out: Any, device: Device) -> bool:
    """Is it NumPy's, and whole or soon copied, and works the CPU?"""
    if type(a) is not np.ndarray or isinstance(out, DeviceArray):
        return False
    if not (a.flags.c_contiguous or a.nbytes < _SMALL):
        return False
    return bool(named("cumsum", device, a.nbytes) == "cpu")


def _cumsum(
    a: Any,
    axis: int | None,
    dtype: DTypeLike | None,
    out: Any,
    skip_nan: bool,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> Any:
    if dtype is None and _lies_here(a, out, device):  # what follows is most of a short call's time
        given = (np.ascontiguousarray(a) if a.ndim else a, axis, skip_nan, None)
        return with_options(_core.cumsum, given, out, "cpu", stream, variant, progress)
    (a,), place = _bring("cumsum", (_array(a),), device, stream, variant, out)
    wanted = None if dtype is None else np.dtype(dtype)
    if wanted is not None and not (wanted.kind in "iu" and a.dtype.kind in "biu"):
        a, wanted = _core.operand(_as_dtype(a, wanted))[0], None
    a = a.reshape(-1) if axis is None or a.ndim == 0 else a
    axis = normalize_axis_index(-1 if axis is None else axis, a.ndim)
    arguments = (a, axis, skip_nan, wanted)
    return place.give(place.call(_core.cumsum, *arguments, out=out, progress=progress))


def cumsum(
    a: Any,
    /,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    *,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """The sums of the first element, the first two, and so on; each exact and rounded once.

    Parameters
    ----------
    a : array_like
        Bool, integer, float16, bfloat16, float32, float64, complex64 or complex128, any shape and
        strides; host or device.
    axis : int, optional
        Along which; None: of all elements in C order.
    dtype : dtype, optional
        Elements are cast to it, and the sums are of it.
    out : array, optional
        Array of the result's shape and dtype, host or device: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Of a's shape, with axis None (a.size,); integers in int64 or uint64, others of a's dtype.

    Raises
    ------
    AxisError, TypeError (dtype), ValueError (out, variant), MemoryError, DeviceError

    See Also
    --------
    nancumsum, numpy.cumsum

    Notes
    -----
    Of floats, and of each part of complex numbers, each prefix is the correctly rounded sum of its
    elements: element i is ``reduce(a[:i + 1])``, to the bit. Integers wrap. From a NaN on all is
    NaN, as from infinities of both signs on. Floats whose exponents span more than some 120 binades
    take microseconds each. Host arrays go to a GPU whole. CUB's is cub::DeviceScan.

    Examples
    --------
    >>> warpkit.cumsum([1e16, 1.0, -1e16])
    array([1.e+16, 1.e+16, 1.e+00])
    """
    return _cumsum(a, axis, dtype, out, False, device, stream, variant, progress)


def nancumsum(
    a: Any,
    /,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    *,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """cumsum with 0 in place of each NaN; of complex numbers of each part that is NaN.

    Parameters, results, errors and notes are cumsum's.

    See Also
    --------
    cumsum, numpy.nancumsum

    Examples
    --------
    >>> warpkit.nancumsum([1.0, np.nan, 2.0])
    array([1., 1., 3.])
    """
    return _cumsum(a, axis, dtype, out, True, device, stream, variant, progress)
