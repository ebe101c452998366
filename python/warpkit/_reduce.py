"""reduce and describe: signatures, docstrings, casts and warnings; the work is in _core."""

from __future__ import annotations

import functools
import math
import warnings
from collections import namedtuple
from typing import Any, Generic, Literal, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

from warpkit import _core, _methods
from warpkit._array import DeviceArray, beside, on_host
from warpkit._ops import NO_VALUE, Axis, Device, Progress, ResultT, with_options

Op = Literal[
    "sum", "prod", "min", "max", "mean", "var", "std", "norm", "sumsq", "any", "all",
    "count_nonzero", "argmin", "argmax", "ptp", "nansum", "nanprod", "nanmin", "nanmax", "nanmean",
    "nanvar", "nanstd", "nanargmin", "nanargmax",
]  # fmt: skip
Ops = tuple[Op, ...]

# A sum and a product of truth values are such themselves.
OF_BOOLS: dict[Op, Op] = {
    "sum": "any",
    "nansum": "any",
    "sumsq": "any",
    "prod": "all",
    "nanprod": "all",
}


def reduce(
    a: Any,
    /,
    op: Op | Ops = "sum",
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NO_VALUE,
    where: Any = True,
    ddof: float = 0,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Fold the elements of ``a`` along ``axis``.

    Parameters
    ----------
    a : array_like
        Bool, integer, float16, bfloat16 (ml_dtypes), float32, float64, complex64 or complex128, any
        shape and strides; host or device.
    op : str or tuple of str
        One name, or 1 to 12 different ones, which share as few passes over ``a`` as can be
        (describe's needs one):

        - sum, prod, min, max, mean, any, all, count_nonzero, argmin, argmax, ptp: NumPy's
        - var, std: by the divisor n - ddof
        - sumsq: sum of squared magnitudes; norm: its root
        - nansum, nanprod, nanmin, nanmax, nanmean, nanvar, nanstd, nanargmin, nanargmax: the same
          without the elements that are NaN
    axis : int or tuple of int, optional
        None: all; of argmin and argmax an int or None.
    dtype : dtype, optional
        Of sum, prod, mean, var, std, sumsq, norm: elements are cast to it, then folded, and the
        result is of it (var, std, norm: of its real part's type).
    out : array or tuple of arrays, optional
        Of the result's shape and dtype, host or device: written and returned; of several ops a
        tuple of them. ``...``: the result is an array where it would be a scalar.
    keepdims : bool
        Leave the folded axes in the result with extent 1.
    initial : scalar, optional
        Of sum, prod, min, max and their nan forms: one more element.
    where : array_like of bool, optional
        Which elements count; of a shape that broadcasts to a's; host, or a's device. min and max
        then need initial; argmin, argmax and ptp take none.
    ddof : float
        Of var and std.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind, or a named tuple of them for a tuple of ops
        The shape of ``a`` without axis (of NumPy's: a scalar for none left). dtype as in NumPy:
        sum, prod and sumsq of integers in int64 or uint64, modulo 2^64; mean, var, std and norm of
        integers in float64; any and all bool; counts and indices int64; of complex, var, std, sumsq
        and norm are real; otherwise a's.

    Raises
    ------
    TypeError
        dtype; arguments that op does not take; ptp of bool.
    ValueError
        op; axis twice; variant; min, max, ptp, argmin or argmax of nothing, nanargmin or nanargmax
        of NaN alone.
    AxisError, MemoryError, DeviceError

    Warns
    -----
    RuntimeWarning
        As NumPy: the mean of nothing, too few elements for ddof, nanmin and nanmax of NaN alone.
        What only the elements tell is not waited for on a device: there the result is NaN, of
        nanargmin and nanargmax -1.

    See Also
    --------
    describe, explain, partial, numpy.sum

    Notes
    -----
    Sums of floats are exact and rounded once, to nearest, ties to even: the value does not depend
    on the order of the elements, and is the same bits on every device [1]_ [2]_.

    - sum, mean, sumsq: the exact value, rounded once to the result's dtype; of complex numbers each
      part of sum and mean by itself
    - norm, var, std: likewise with an integer ddof; otherwise the quotient by n - ddof is of
      float64, and rounded again
    - of ints: mean, var, std and norm by the same rules; sums modulo 2^64
    - prod: floats and complex numbers in float64 by a tree that depends on n alone, elements in the
      order in which they lie in memory

    NaN propagates; of infinities of both signs the sum is NaN; a result that is NaN is the one
    quiet positive NaN. Of zeros min takes -0.0, max 0.0 (of complex numbers, only where both parts
    are equal so); argmin and argmax take the first of equals, and of NaN the first. The sum of -0.0
    alone is -0.0, of nothing 0.0.

    References
    ----------
    .. [1] Collange, Defour, Graillat, Iakymchuk (2015), hal-00949355
    .. [2] R. Neal (2015), "Fast exact summation using small and large superaccumulators"

    Examples
    --------
    >>> float(warpkit.reduce([1e16, 1.0, -1e16]))
    1.0
    >>> a = np.array([[3.0, 1.0], [2.0, 5.0]], np.float32)
    >>> warpkit.reduce(a, "max", axis=0)
    array([3., 5.], dtype=float32)
    >>> low, high = warpkit.reduce(a, ("min", "max"), axis=1)
    >>> high - low
    array([2., 3.], dtype=float32)
    """
    if type(op) is str and dtype is None and stream is None and not progress:
        result = _core.reduce(
            a, op, axis, keepdims, None, initial, where, ddof, out, device, None, variant, None
        )
        if op in _OF_NAN or (where is not True and op in _OF_NONE):
            _warn(a, (op,), axis, where, ddof, (result,))
        return result
    several = isinstance(op, tuple)
    ops = op if isinstance(op, tuple) else (op,)
    fields = _fields(ops) if several else None
    if several and len(ops) == 1 and out is not None and out is not ...:
        (out,) = out
    if dtype is not None and np.dtype(dtype) == bool:
        a, ops, dtype = _cast(a, bool, ops), _of_bools(ops, initial), None
    one = len(ops) == 1
    # No function in here: what it used would be a cell, which the shortest calls would make too.
    fold = (ops[0] if one else ops, axis, keepdims, dtype, initial, where, ddof)
    options = (out, device, stream, variant, progress)
    result = with_options(_core.reduce, (a, *fold), *options)
    if result is NotImplemented:
        result = with_options(_core.reduce, (_cast(a, dtype, ops), *fold), *options)
    _warn(a, ops, axis, where, ddof, (result,) if one else result)
    if fields is None:
        return result
    return fields._make((result,) if one else result)


@functools.lru_cache(maxsize=256)
def _fields(ops: tuple[str, ...]) -> Any:
    """The type of the results of several ops."""
    if len(set(ops)) < len(ops):
        raise ValueError(f"an op is given twice: {ops}")
    return namedtuple("Reduced", ops) if ops and all(map(_is_name, ops)) else None


def _is_name(op: object) -> bool:
    return isinstance(op, str) and op.isidentifier()


_methods.fold = reduce


# ---- casts -------------------------------------------------------------------------------------


def _of_bools(ops: Ops, initial: Any) -> Ops:
    if initial is not NO_VALUE:
        raise TypeError("initial is not taken with dtype bool")
    for op in ops:
        if op not in OF_BOOLS:
            raise TypeError(f"op {op!r} takes no dtype bool")
    return tuple(OF_BOOLS[op] for op in ops)


def _cast(a: Any, dtype: Any, ops: Ops) -> Any:
    """The elements in another dtype, where they lie, as an array of a's kind."""
    dtype = np.dtype(dtype)
    array, library = _core.operand(a)
    skip_nan = ops[0].startswith("nan") and dtype.kind in "biu"  # which have no NaN
    if library is not None and not skip_nan:
        cast = library.cast(a, dtype)
        if cast is not None:
            return cast
    host = on_host(array)
    if skip_nan:
        host = np.where(np.isnan(host), 1 if ops[0] == "nanprod" else 0, host)
    # The order in memory is kept: a product's rounding goes by it.
    backwards = tuple(slice(None, None, -1 if step < 0 else 1) for step in host.strides)
    cast = host[backwards].astype(dtype)[backwards]
    if isinstance(array, DeviceArray):
        cast = beside(cast, array)
    return cast if library is None else library.finish(cast)


# ---- warnings ----------------------------------------------------------------------------------

_OF_NAN = frozenset({"nanmin", "nanmax", "nanmean", "nanvar", "nanstd"})  # where all are NaN
_OF_NONE = frozenset({"mean", "var", "std"})  # where too few count
_ON_HOST = (np.ndarray, np.generic)


def _warn(a: Any, ops: Ops, axis: Axis, where: Any, ddof: float, results: tuple[Any, ...]) -> None:
    """What NumPy warns of, and only the elements tell: of results that are on the host."""
    for op, result in zip(ops, results, strict=True):
        if not isinstance(result, _ON_HOST) or result.dtype.kind not in "fcV":
            continue
        fold = op.removeprefix("nan")
        nan = fold != op
        if fold not in ("mean", "var", "std", "min", "max") or (where is True and not nan):
            continue
        if fold in ("min", "max"):
            if nan and _some(np.not_equal(result, result)):  # NaN is not equal to itself
                _say("All-NaN slice encountered")
        elif _some(np.logical_not(np.isfinite(result))):
            count, n = _counts(a, axis, where, nan)
            if fold == "mean" and n > 0 and (count == 0).any():
                _say("Mean of empty slice")
            if fold != "mean" and n > ddof and (count <= ddof).any():
                _say("Degrees of freedom <= 0 for slice" + "." * nan)


def _some(found: Any) -> bool:
    """any() takes a microsecond."""
    return bool(found if isinstance(found, np.bool) else np.count_nonzero(found))


def _say(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def _counts(a: Any, axis: Axis, where: Any, nan: bool) -> tuple[Any, float]:
    """How many elements of each fold count, and how many there are: _core warns of too few."""
    array, _ = _core.operand(a)
    counted = np.broadcast_to(np.asarray(where, bool), array.shape)
    if nan and array.dtype.kind not in "biu":
        counted = counted & ~np.isnan(array)
    count = counted.sum(axis if array.ndim else None)
    return count, counted.size / max(np.size(count), 1)


# ---- describe ----------------------------------------------------------------------------------


class Description(NamedTuple, Generic[ResultT]):
    """What describe gives: of each result's elements how many, and their statistics.

    Attributes
    ----------
    count : int
    min, max, mean, std : array or scalar
        Of each fold, as reduce's.
    """

    count: int  # type: ignore[assignment]
    min: ResultT
    max: ResultT
    mean: ResultT
    std: ResultT


def describe(
    a: Any,
    /,
    axis: Axis = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Description[Any]:
    """How many elements there are, the least, the greatest, their mean and standard deviation.

    Parameters
    ----------
    a : array_like
        As reduce's.
    axis : int or tuple of int, optional
        None: all.
    ddof : float
        The standard deviation's divisor is count - ddof.
    keepdims : bool
        As reduce's.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    Description
        A named tuple (count, min, max, mean, std): count an int, the number of elements of each
        fold; the others as reduce's.

    Raises
    ------
    As reduce

    See Also
    --------
    reduce, scipy.stats.describe, pandas.DataFrame.describe

    Notes
    -----
    Real elements are read once. The numbers are those of reduce, bit for bit.

    Examples
    --------
    >>> d = warpkit.describe([1.0, 2.0, 6.0])
    >>> d.count, float(d.mean), float(d.max)
    (3, 3.0, 6.0)
    """
    ops: Ops = ("min", "max", "mean", "std")
    options: dict[str, Any] = {
        "device": device,
        "stream": stream,
        "variant": variant,
        "progress": progress,
    }
    found = reduce(a, ops, axis, ddof=ddof, keepdims=keepdims, **options)
    shape = np.shape(a) if isinstance(a, list | tuple) else getattr(a, "shape", ())
    axes = range(len(shape)) if axis is None else normalize_axis_tuple(axis, max(len(shape), 1))
    return Description(math.prod(int(shape[d]) for d in axes if shape), *found)
