"""Dask arrays: each chunk gives a partial, and these are merged: exact, whatever the chunks are.

Chunks are NumPy's or CuPy's arrays, of results too. Nothing is computed before the caller asks.
An xarray.DataArray may stand for an array, with dim= in place of axis=; results are such too, and
of one that has no chunks they are computed at once.
Needs dask[array]; for xarray objects xarray.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array.overlap import ensure_minimum_chunksize, map_overlap
from dask.array.utils import asarray_safe, meta_from_array
from dask.core import flatten
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import ArrayLike, DTypeLike

import warpkit
from warpkit._groups import host_keys
from warpkit._histogram import UINT8
from warpkit._keyed import check_groups, check_keys, check_lengths
from warpkit._ops import Axis, Device
from warpkit._partial import ARGS, MOST, Partial, _bits, _by_segment, merge, partial
from warpkit._reduce import Op, Ops, _cast, _fields

_range = range
MERGED = 64  # partials at once; of dask's arrays 4. A task costs its scheduler 2.5 ms, a merge 0.1
HELD = 64 << 20  # bytes of them, about
STATE = 144  # bytes of a sum of float32
GUESS = 4096  # results, where their number is not known
PLACES = (*ARGS, *("nan" + op for op in ARGS))

# ---- what is given -----------------------------------------------------------------------------


def _is_named(a: Any, dim: Any = None) -> bool:
    """Is it a DataArray? It is a Dask array otherwise."""
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(a, xarray.DataArray):
        return True
    if xarray is not None and isinstance(a, xarray.Dataset):
        raise TypeError(
            "a Dataset's variables are taken one by one: map over them, as in "
            "ds.map(warpkit.dask.reduce, op='mean')"
        )
    if not isinstance(a, da.Array):
        raise TypeError(f"a must be a Dask array or an xarray.DataArray, not {type(a).__name__}")
    if dim is not None:
        raise TypeError("a Dask array's axes have no names: dim is taken with a DataArray")
    return False


def _check_known(*arrays: Any, axes: Sequence[int] | None = None) -> None:
    for a in arrays:
        if any(np.isnan(a.shape[axis]) for axis in (_axes_of(a) if axes is None else axes)):
            raise ValueError(
                f"chunk sizes are unknown, shape {a.shape}: call compute_chunk_sizes() first"
            )


def _beside(other: Any, a: Any, message: str) -> Any:
    """Weights or keys of a's shape, in its chunks."""
    other = da.asarray(other)
    if other.shape != a.shape:
        _check_known(other, a)
        raise ValueError(message)
    return other.rechunk(a.chunks)


def _axes_of(a: Any) -> tuple[int, ...]:
    return tuple(_range(a.ndim))


# ---- what chunks become ------------------------------------------------------------------------


def _chunk(
    x: Any,
    where: Any = True,
    axis: Any = None,
    keepdims: bool = True,
    computing_meta: bool = False,
    **how: Any,
) -> Any:
    op = how["op"]
    if computing_meta:  # dask asks what this would be of nothing
        return np.zeros((0,) * x.ndim, object)
    if _has_places(op):
        axis = axis[0] if len(axis) < x.ndim or x.ndim == 1 else None
    return partial(x, axis=axis, where=where, **how)


def _has_places(op: Any) -> bool:
    return any(name in PLACES for name in (op if isinstance(op, tuple) else (op,)))


def _offset(block_info: Any) -> tuple[Any, Any]:
    """Where a chunk lies in the whole."""
    here = block_info[0]
    return [start for start, _ in here["array-location"]], here["shape"]


def _placed_chunk(x: Any, block_info: Any = None, **how: Any) -> Any:
    return _chunk(x, offset=_offset(block_info), **how)


def _same(x: Any, axis: Any = None, keepdims: bool = True, computing_meta: bool = False) -> Any:
    return np.zeros((0,) * x.ndim, object) if computing_meta else x


def _combined(parts: Any, axis: Any = None, keepdims: bool = True) -> Partial:
    found = list(flatten([parts])) if isinstance(parts, list) else [parts]
    return merge(found)


def _aggregate(
    parts: Any, axis: Any = None, keepdims: bool = False, computing_meta: bool = False, **how: Any
) -> Any:
    return _finished(_combined(parts), axis if keepdims else (), **how)


def _finished(p: Partial, axis: tuple[int, ...], op: str, dtype: Any, like: Any) -> Any:
    """A result in the chunks' kind of array, with these axes of extent 1."""
    result = np.asarray(p._finish_op(op)).astype(dtype, copy=False)
    found = asarray_safe(np.expand_dims(result, axis), like=like)
    return found[()]  # of NumPy's arrays a scalar, as dask's own


def _merged(
    x: Any,
    chunk: Any,
    axes: tuple[int, ...],
    where: Any,
    every: Any,
    keepdims: bool = False,
    **result: Any,
) -> Any:
    """A Dask array whose blocks are partials, or what aggregate makes of these."""
    empty = np.zeros((0,) * (x.ndim if keepdims else x.ndim - len(axes)), object)
    given: dict[str, Any] = {"aggregate": _combined, "dtype": object, "meta": empty, **result}
    return da.reduction(
        x,
        chunk,
        axis=axes,
        keepdims=keepdims,
        combine=_combined,
        concatenate=False,
        split_every=every,
        weights=where,
        **given,
    )


def _split(a: Any, axes: tuple[int, ...], every: Any, outputs: int = 1) -> Any:
    """How many partials are merged at once, along each axis: as many as are held easily."""
    if every is not None or (every := dask.config.get("split_every", None)) is not None:
        return every
    if np.isnan(a.size):
        return None
    for axis, chunks in enumerate(a.chunks):
        outputs *= 1 if axis in axes else max(chunks, default=1)
    most = min(MERGED, max(4, HELD // (STATE * max(outputs, 1))))
    split = {}
    for done, axis in enumerate(sorted(axes, key=lambda k: a.numblocks[k])):
        each = int(most ** (1 / (len(axes) - done)) + 1e-9)
        split[axis] = min(a.numblocks[axis], max(2, each))
        most //= split[axis]
    return split


# ---- reduce ------------------------------------------------------------------------------------


def reduce(
    a: Any,
    op: Op | Ops = "sum",
    axis: Axis = None,
    *,
    dim: Any = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    where: Any = True,
    ddof: float = 0,
    split_every: Any = None,
    device: Device = None,
) -> Any:
    """warpkit.reduce of a Dask array or an xarray.DataArray.

    Parameters
    ----------
    a : dask.array.Array or xarray.DataArray
        Of reduce's dtypes.
    op : str or tuple of str
        One of partial's names, or a tuple of them, which read each chunk once.
    axis : int or tuple of int, optional
        None: all.
    dim : str or sequence of str, optional
        Names of a DataArray's dimensions, in place of axis.
    dtype : dtype, optional
        Elements are cast to it first, and the result is of it, as reduce's.
    keepdims : bool
        Leave the folded axes in the result with extent 1.
    where : xarray.DataArray, dask.array.Array or array_like, optional
        Bool, of a shape that broadcasts to a's: which elements count.
    ddof : float
        Of var and std.
    split_every : int, optional
        As dask.array.reduction's.
    device : str, optional
        Where chunks that are NumPy's are folded, as reduce's; of a worker.

    Returns
    -------
    dask.array.Array or xarray.DataArray
        As a; for a tuple of ops a named tuple of them.

    Raises
    ------
    TypeError
        a that is neither; axis and dim; what reduce or partial do not take.
    ValueError
        dim; places where chunk sizes are unknown; as reduce and partial.
    AxisError

    See Also
    --------
    warpkit.reduce, dask.array.reduction

    Notes
    -----
    Bits of warpkit.reduce of the whole array: they depend neither on the chunks nor on which worker
    is done first.

    Examples
    --------
    >>> import dask.array as da
    >>> float(warpkit.dask.reduce(da.from_array(np.array([1e16, 1.0, -1e16]), chunks=2)).compute())
    1.0
    """
    named = _is_named(a, dim)
    if named:
        axis = _axis_named(a, axis, dim)
    axes = _axes_of(a) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if _has_places(op) and len(axes) != 1 and len(axes) != a.ndim:
        raise TypeError("argmin and argmax take one axis, or None")
    if named:
        own = {"dtype": dtype, "ddof": ddof, "device": device}
        return _reduce_named(a, op, axes, keepdims, where, split_every, own)
    ops: Ops = op if isinstance(op, tuple) else (op,)
    mask = None if where is True else where
    dtypes = _dtypes_of(op, a.dtype, dtype, mask)
    if dtype is not None:  # of nan ops, NaN is left out
        cast = functools.partial(_cast, dtype=np.dtype(dtype), ops=ops)
        a = a.map_blocks(cast, dtype=dtype, meta=_meta(a, a.ndim, dtype))
    how: dict[str, Any] = {"op": op, "ddof": ddof, "device": device}
    x = a
    chunk: Any = functools.partial(_chunk, **how)
    if _has_places(op):
        _check_known(a, axes=axes)
        empty = np.zeros((0,) * a.ndim, object)
        x = a.map_blocks(_placed_chunk, axis=axes, meta=empty, dtype=object, **how)
        chunk = _same
    every = _split(a, axes, split_every)
    like, ndim = meta_from_array(a._meta), a.ndim if keepdims else a.ndim - len(axes)
    results = [
        {"op": name, "dtype": result, "like": like}
        for name, result in zip(ops, dtypes, strict=True)
    ]
    metas = [_meta(a, ndim, result) for result in dtypes]
    if not isinstance(op, tuple):
        finish = functools.partial(_aggregate, **results[0])
        given = {"aggregate": finish, "dtype": dtypes[0], "meta": metas[0]}
        return _merged(x, chunk, axes, mask, every, keepdims, **given)
    parts = _merged(x, chunk, axes, mask, every, keepdims)
    extents = axes if keepdims else ()
    return _fields(ops)._make(
        parts.map_blocks(
            functools.partial(_finished, axis=extents, **result), dtype=result["dtype"], meta=meta
        )
        for result, meta in zip(results, metas, strict=True)
    )


def _dtypes_of(op: Any, given: np.dtype[Any], dtype: Any, mask: Any) -> list[np.dtype[Any]]:
    """Of reduce's results; what it or partial refuses is refused."""
    one = np.ones(1, given)
    ops = op if isinstance(op, tuple) else (op,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of casts, which say so when they are done
        found = [warpkit.reduce(one, name, dtype=dtype, device="cpu").dtype for name in ops]
        cast = one if dtype is None else one.astype(dtype)
    partial(cast, op, where=True if mask is None else np.ones(1, bool), device="cpu")
    return found


def _meta(a: Any, ndim: int, dtype: Any) -> Any:
    return asarray_safe(np.empty((0,) * ndim, dtype), like=meta_from_array(a._meta))


# ---- histogram, bincount -----------------------------------------------------------------------


def _histogram_chunk(
    x: Any, ends: Any, weights: Any = None, *, edges_of: Any, kept: int, device: Any, **bins: Any
) -> Partial:
    if kept == 0:
        bins = bins if ends is None else bins | {"range": ends}
        return partial(x, "histogram", weights=weights, device=device, **bins)
    edges = edges_of(ends)
    rows = math.prod(x.shape[:kept])
    number = _bin_numbers(np.asarray(x).reshape(rows, math.prod(x.shape[kept:])), edges)
    flat = None if weights is None else np.asarray(weights).reshape(-1)
    n = max(rows * len(edges), 1)
    return partial(number, "histogram", bins=n, range=(0, n), weights=flat, device=device)


def _bin_numbers(rows: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The numbers of the elements' bins, of which each row has its own, and one more for what lies
    in none."""
    bins = len(edges) - 1
    number = np.searchsorted(edges, rows, "right") - 1
    number[rows == edges[-1]] = bins - 1
    number[(number < 0) | (number >= bins) | (rows != rows)] = bins
    number += (bins + 1) * np.arange(len(rows))[:, None]
    return number.reshape(-1)


def _ends(p: Partial) -> tuple[Any, Any]:
    """The range of the data, as numpy.histogram takes it."""
    try:
        first, last = p.finish()
    except ValueError:  # there is none
        return 0.0, 1.0
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first.dtype == np.bool_:
        first, last = UINT8.type(first), UINT8.type(last)
    return first, last


def _edges(ends: Any, dtype: Any, bins: Any, range: Any, like: Any = None) -> Any:
    """Of bins in a range that is given, or that was found."""
    range = range if ends is None else ends
    edges = warpkit.histogram(np.empty(0, dtype), bins, range, device="cpu")[1]
    return edges if like is None else asarray_safe(edges, like=like)


def _counts(
    p: Partial,
    ends: Any,
    edges_of: Any,
    kept: int,
    density: bool,
    like: Any,
    block_info: Any = None,
) -> Any:
    counts, edges = p.finish()
    if kept:
        edges = edges_of(ends)
        shape = block_info[None]["chunk-shape"][:kept]
        counts = counts[: math.prod(shape) * len(edges)].reshape(*shape, len(edges))[..., :-1]
    if density:
        silent: Any = "ignore" if kept else None  # rows that are empty
        with np.errstate(divide=silent, invalid=silent):
            counts = counts / np.diff(edges).astype(float) / counts.sum(-1, keepdims=True)
    return asarray_safe(counts, like=like)


def histogram(
    a: Any,
    bins: int | Sequence[float] | np.ndarray = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Any = None,
    *,
    dim: Any = None,
    split_every: Any = None,
    device: Device = None,
) -> Any:
    """warpkit.histogram of a Dask array or an xarray.DataArray.

    Parameters
    ----------
    a : dask.array.Array or xarray.DataArray
        Flattened; of a DataArray along dim.
    bins : int or array_like
        Number of equal bins, or their edges, on the host.
    range : (float, float), optional
        (first, last) edge of equal bins; None: the smallest and largest element, which are found by
        the same graph: chunks are computed once, and kept until both are there.
    density : bool, optional
        True: the counts divided by their sum and the bins' widths.
    weights : dask.array.Array or array_like, optional
        Of a's shape: each element counts for as much as its weight. Of a DataArray what broadcasts
        to it, a DataArray by its dimensions.
    dim : str or sequence of str, optional
        Names of a DataArray's dimensions that are counted, None for all; the others stay, and the
        bins are the last one, as xhistogram has it.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    counts, edges
        dask.array.Array of shape (n,), and edges as numpy.ndarray, or, of a range that is not
        given, as dask.array.Array. Of a DataArray one of counts, with the bins' centres as
        coordinates; of chunks whose range is not given these are chunks too, and have no index:
        set_xindex() makes one once they are computed.

    Raises
    ------
    TypeError
        a that is neither; dim of a Dask array; an estimator's name of chunks; as histogram.
    ValueError
        dim; as histogram; of NaN in the range's place when it is computed.

    See Also
    --------
    warpkit.histogram, dask.array.histogram

    Notes
    -----
    Bits of warpkit.histogram of the whole array: NumPy's edges, exact sums of weights.

    Examples
    --------
    >>> import dask.array as da
    >>> counts, edges = warpkit.dask.histogram(da.arange(10, chunks=3), bins=2, range=(0, 10))
    >>> counts.compute()
    array([5, 5])
    """
    if _is_named(a, dim):
        how = {"density": density, "weights": weights, "split_every": split_every}
        return _histogram_named(a, bins, range, dim, how | {"device": device})
    if weights is not None:
        weights = _beside(weights, a, "weights should have the same shape as a.")
    return _histogram(a, bins, range, density, weights, a.ndim, split_every, device)


def _histogram(
    a: Any,
    bins: Any,
    range: Any,
    density: Any,
    weights: Any,
    counted: int,
    split_every: Any,
    device: Any,
) -> tuple[Any, Any]:
    """So many last axes are counted, and have become one of bins; and the edges."""
    if bins is None:
        raise ValueError("bins must be a number or edges, not None")
    if isinstance(bins, str):
        raise TypeError("bins of chunks are a number or edges, not an estimator's name")
    kept, ends, first = a.ndim - counted, None, None
    if np.ndim(bins) == 0 and range is None:
        bins = operator.index(bins)
        dtype = UINT8 if a.dtype == np.bool_ else a.dtype
        first = (dtype.type(0), dtype.type(1))  # ends of the same type
        fold = functools.partial(_chunk, op=("min", "max"), device=device)
        found = _merged(a, fold, _axes_of(a), None, _split(a, _axes_of(a), split_every))
        ends = found.map_blocks(_ends, meta=np.zeros((), object), dtype=object)
    edges_of = functools.partial(_edges, dtype=a.dtype, bins=bins, range=range)
    edges = edges_of(first)
    n = len(edges) - 1
    given = (a, ends) if weights is None else (a, ends, weights)
    own = {"edges_of": edges_of, "kept": kept, "device": device, "bins": bins, "range": range}
    last = tuple(_range(kept, a.ndim))
    p = _partial_of(_histogram_chunk, given, last, split_every, n, own)
    dtype = np.dtype(np.int64) if weights is None else weights.dtype
    dtype = np.result_type(dtype, float) if density else dtype
    like = meta_from_array(a._meta)
    counts = p.map_blocks(
        functools.partial(_counts, edges_of=edges_of, kept=kept, density=bool(density), like=like),
        ends,
        new_axis=kept,
        chunks=(*a.chunks[:kept], (n,)),
        dtype=dtype,
        meta=_meta(a, kept + 1, dtype),
    )
    return counts, edges if ends is None else _vector(ends, edges_of, n + 1, edges.dtype, a)


def _partial_of(
    chunk: Any, given: tuple[Any, ...], axes: Any, every: Any, outputs: int, how: dict[str, Any]
) -> Any:
    """The partials of chunks that are read together, the first of them an array's, are merged."""
    a = given[0]
    empty = np.zeros((0,) * a.ndim, object)
    parts = da.map_blocks(chunk, *given, meta=empty, dtype=object, **how)
    return _merged(parts, _same, axes, None, _split(a, axes, every, outputs))


def _vector(one: Any, result: Any, n: Any, dtype: Any, a: Any) -> Any:
    """What becomes a vector, of a's kind of array, of one object, which is a Dask array's."""
    return one.map_blocks(
        functools.partial(result, like=meta_from_array(a._meta)),
        new_axis=0,
        chunks=((n,),),
        dtype=dtype,
        meta=_meta(a, 1, dtype),
    )


def _bincount_chunk(x: Any, weights: Any = None, **how: Any) -> Partial:
    return partial(x, "bincount", weights=weights, **how)


def _bincount_result(p: Partial, like: Any) -> Any:
    return asarray_safe(p.finish(), like=like)


def bincount(
    a: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    split_every: Any = None,
    device: Device = None,
) -> Any:
    """warpkit.bincount of a Dask array or an xarray.DataArray.

    Parameters
    ----------
    a : dask.array.Array or xarray.DataArray
        Of bool or integers, shape (n,), none negative; a DataArray without chunks.
    weights : dask.array.Array or array_like, optional
        Shape (n,): each element counts for as much as its weight.
    minlength : int
        Of the result, at least.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    dask.array.Array or xarray.DataArray
        Of int64, with weights float64. A Dask array's length is not known before it is computed:
        compute_chunk_sizes() finds it. A DataArray has the integers as its coordinate.

    Raises
    ------
    TypeError
        a that is neither; as bincount.
    ValueError
        A DataArray of chunks, whose result's length would have to be known; as bincount.

    See Also
    --------
    warpkit.bincount, dask.array.bincount

    Examples
    --------
    >>> import dask.array as da
    >>> warpkit.dask.bincount(da.from_array(np.array([0, 1, 1, 3]), chunks=2)).compute()
    array([1, 2, 0, 1])
    """
    if _is_named(a):
        return _bincount_named(a, weights, minlength, device)
    if a.ndim != 1:
        raise ValueError(f"bincount takes 1-D, not {a.ndim}-D")
    given: tuple[Any, ...] = (a,)
    if weights is not None:
        given = (a, _beside(weights, a, "The weights and list don't have the same length."))
    how = {"minlength": minlength, "device": device}
    p = _partial_of(_bincount_chunk, given, (0,), split_every, GUESS, how)
    dtype = np.dtype(np.int64 if weights is None else np.float64)
    return _vector(p, _bincount_result, np.nan, dtype, a)


# ---- group_reduce ------------------------------------------------------------------------------


def _group_chunk(
    a: Any, keys: Any, number: Any, op: Any, groups: Any, block_info: Any = None, **how: Any
) -> Partial:
    groups = number if groups is None else groups
    if op == "count":
        counted, _, _ = host_keys(keys, keys, groups)
        return partial(counted, "bincount", minlength=groups)
    if isinstance(op, tuple):  # an extreme counts, too
        op = tuple(dict.fromkeys("min" if name == "count" else name for name in op))
    if block_info and a.ndim:
        how["offset"] = _offset(block_info)
    return partial(a, op, keys=keys, groups=groups, **how)


def _one_more(largest: Partial) -> int:
    """The number of groups."""
    try:
        return max(int(largest.finish()) + 1, 0)
    except ValueError:  # there is no key
        return 0


def _finished_groups(p: Partial, op: str, like: Any = None) -> Any:
    """As warpkit.group_reduce: no sum is -0.0, and the least or the largest of no float NaN."""
    if p._of.name == "bincount":
        return _bincount_result(p, like)
    words = _by_segment(p)
    if op == "count":
        return asarray_safe(_bits(words["min"][:, :2]).astype(np.int64), like=like)
    none = np.zeros(p.shape, bool)
    if op in ("min", "max", "ptp"):
        none = (words["max" if op == "max" else "min"][:, :2] == 0).all(-1)
    elif op in ARGS:
        none = words[op][:, -1] == MOST
    if none.any():
        check_lengths(op, p._of.dtype, int(none.argmax()), "group")
        some = dataclasses.replace(p._of, shape=(int((~none).sum()),))
        found = Partial(some, p._words[~none])._finish_op(op)
        nan = complex(np.nan, np.nan) if found.dtype.kind == "c" else np.nan
        result = np.full(len(none), nan, found.dtype)
        result[~none] = found
        return asarray_safe(result, like=like)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means and variances of nothing
        result = np.asarray(p._finish_op(op))
    if op == "sum" and result.dtype.kind not in "biu":
        result = result + np.zeros((), result.dtype)
    return asarray_safe(result, like=like)


def group_reduce(
    keys: Any,
    a: Any,
    op: str | tuple[str, ...] = "sum",
    groups: int | None = None,
    *,
    ddof: float = 0,
    split_every: Any = None,
    device: Device = None,
) -> Any:
    """warpkit.group_reduce of Dask arrays or DataArrays: the elements of a that have the same key.

    Parameters
    ----------
    keys : dask.array.Array, xarray.DataArray or array_like
        Of bool or integers from 0 to groups - 1, of a's shape; a DataArray of a's dimensions.
    a : dask.array.Array or xarray.DataArray
        Of a dtype that reduce takes.
    op : str or tuple of str
        As group_reduce's, or a tuple of them, which read each chunk once.
    groups : int, optional
        How many there are. None: the largest key and one, which is found by the same graph: chunks
        of keys are computed once, and kept until it is there. A DataArray of chunks needs it.
    ddof : float
        Of var and std.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    dask.array.Array or xarray.DataArray
        As a, shape (groups,); for a tuple of ops a named tuple of them. groups None: the length is
        not known before it is computed: compute_chunk_sizes() finds it. A DataArray's dimension
        has the keys' name, or is "group".

    Raises
    ------
    TypeError
        a that is neither; keys that are no integers; ptp of bool.
    ValueError
        op; shapes; unknown chunk sizes; groups None of a DataArray of chunks. When it is computed:
        a key that is none of the groups'; an empty group where op needs an element.

    See Also
    --------
    warpkit.group_reduce, dask.dataframe.DataFrame.groupby

    Examples
    --------
    >>> import dask.array as da
    >>> keys = da.from_array(np.array([2, 0, 2]), chunks=2)
    >>> a = da.from_array(np.array([1.0, 5.0, 3.0]), chunks=2)
    >>> warpkit.dask.group_reduce(keys, a, groups=3).compute()
    array([5., 0., 4.])
    """
    if _is_named(a):
        own = {"ddof": ddof, "device": device}
        return _group_reduce_named(keys, a, op, groups, split_every, own)
    ops = op if isinstance(op, tuple) else (op,)
    keys = da.asarray(keys)
    _check_known(keys, a)
    check_keys(keys, a)
    groups = None if groups is None else check_groups(groups)
    sample = _group_chunk(np.ones(1, a.dtype), np.zeros(1, np.int64), 1, op, None, device="cpu")
    dtypes = [_finished_groups(sample, name).dtype for name in ops]
    number = None
    if groups is None:
        fold = functools.partial(_chunk, op="max", device=device)
        every = _split(keys, _axes_of(keys), split_every)
        largest = _merged(keys, fold, _axes_of(keys), None, every)
        number = largest.map_blocks(_one_more, meta=np.zeros((), object), dtype=object)
    how = {"op": op, "groups": groups, "ddof": ddof, "device": device}
    given = (a, keys.rechunk(a.chunks), number)
    outputs = GUESS if groups is None else groups
    p = _partial_of(_group_chunk, given, _axes_of(a), split_every, outputs, how)
    n = np.nan if groups is None else groups
    found = [
        _vector(p, functools.partial(_finished_groups, op=name), n, dtype, a)
        for name, dtype in zip(ops, dtypes, strict=True)
    ]
    return _fields(ops)._make(found) if isinstance(op, tuple) else found[0]


# ---- stencil1d, transpose ----------------------------------------------------------------------


def _stencil_block(
    x: Any, axis: int, before: int, after: int, last: int, how: dict[str, Any], block_id: Any = None
) -> Any:
    """A chunk with its halo; at the array's ends there is none, and the mode tells."""
    if how["mode"] == "valid" and x.shape[axis] < len(how["coefficients"]):
        shape = [0 if d == axis else n for d, n in enumerate(x.shape)]
        return asarray_safe(np.empty(shape, how["output"]), like=x)
    y = warpkit.stencil1d(x, axis=axis, **how)
    if how["mode"] == "valid":
        return y
    start = before if block_id[axis] > 0 else 0
    stop = y.shape[axis] - (after if block_id[axis] < last else 0)
    return y[(slice(None),) * axis + (slice(start, stop),)]


def stencil1d(
    a: Any,
    coefficients: ArrayLike,
    axis: int = -1,
    *,
    mode: str = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    output: Any = None,
    accumulate: DTypeLike | None = None,
    device: Device = None,
    dim: Any = None,
) -> Any:
    """warpkit.stencil1d of a Dask array or an xarray.DataArray.

    Parameters
    ----------
    a : dask.array.Array or xarray.DataArray
        At least one axis; chunks shorter than the halo are joined.
    coefficients, axis, mode, cval, origin, output, accumulate, device : optional
        As stencil1d's; output is a dtype.
    dim : str, optional
        Name of a DataArray's dimension, in place of axis.

    Returns
    -------
    dask.array.Array or xarray.DataArray
        As a, of its shape ("valid": axis n - k + 1, with the coordinates of the windows' centres).

    Raises
    ------
    TypeError
        a that is neither; an array as output; axis and dim; as stencil1d.
    ValueError
        dim; unknown chunk sizes along axis, or, where it is cut, anywhere; as stencil1d.
    AxisError, RuntimeError, as stencil1d

    See Also
    --------
    warpkit.stencil1d, dask.array.map_overlap

    Notes
    -----
    Bits of warpkit.stencil1d of the whole array.

    Examples
    --------
    >>> import dask.array as da
    >>> warpkit.dask.stencil1d(da.arange(6.0, chunks=3), [-1, 0, 1], mode="nearest").compute()
    array([1., 2., 2., 2., 2., 1.])
    """
    how: dict[str, Any] = {
        "coefficients": np.asarray(coefficients),
        "mode": mode,
        "cval": cval,
        "origin": origin,
        "output": output,
        "accumulate": accumulate,
        "device": device,
    }
    if output is not None and not isinstance(output, (str, type, np.dtype)):
        raise TypeError(f"output of chunks is a dtype, not {type(output).__name__}")
    if _is_named(a, dim):
        return _stencil_named(a, axis, dim, how)
    (axis,) = normalize_axis_tuple(axis, a.ndim)
    _check_known(a, axes=(axis,))
    return _stencil(a, axis, how)


def _stencil(a: Any, axis: int, how: dict[str, Any]) -> Any:
    taps, mode, n = how["coefficients"], how["mode"], a.shape[axis]
    k = taps.shape[0] if taps.ndim == 1 else 1
    one = [max(k, 1) if d == axis else 1 for d in _range(a.ndim)]
    dtype = warpkit.stencil1d(np.zeros(one, a.dtype), axis=axis, **(how | {"device": "cpu"})).dtype
    how = how | {"output": dtype}
    if mode == "valid" and n < k:
        raise ValueError(f"mode 'valid' needs at least {k} elements along the axis, not {n}")
    before = 0 if mode == "valid" else k // 2 + how["origin"]
    after = k - 1 - before
    halo, periodic = max(before, after), mode in ("wrap", "grid-wrap")
    least = halo + (mode == "mirror")  # elements of a chunk: an end is seen from inside, too
    if n < max(least, 1) or (periodic and len(a.chunks[axis]) == 1):
        a = a.rechunk({axis: -1})
    elif halo:
        a = a.rechunk({axis: ensure_minimum_chunksize(least, a.chunks[axis])})
    blocks = list(a.chunks[axis])
    last = len(blocks) - 1
    if mode == "valid":
        blocks[-1] -= k - 1
    chunks = tuple(tuple(blocks) if d == axis else c for d, c in enumerate(a.chunks))
    result = {"chunks": chunks, "dtype": dtype, "meta": _meta(a, a.ndim, dtype)}
    run: Any = functools.partial(_stencil_block, axis=axis, before=0, after=0, last=0, how=how)
    if last == 0 or halo == 0:
        return a.map_blocks(run, **result)
    _check_known(a)
    depth: dict[int, Any] = dict.fromkeys(_axes_of(a), 0) | {axis: (before, after)}
    boundary: Any = "none"
    if periodic:  # elements of the other end: all chunks have both halos
        depth[axis], boundary = halo, {axis: "periodic"}
        run = functools.partial(_wrapped_block, axis=axis, halo=halo, how=how)
    else:
        run = functools.partial(run, before=before, after=after, last=last)
    return map_overlap(run, a, depth=depth, boundary=boundary, trim=False, **result)


def _wrapped_block(x: Any, axis: int, halo: int, how: dict[str, Any]) -> Any:
    y = warpkit.stencil1d(x, axis=axis, **how)
    return y[(slice(None),) * axis + (slice(halo, y.shape[axis] - halo),)]


def transpose(
    a: Any, axes: Sequence[int] | None = None, *, dim: Any = None, device: Device = None
) -> Any:
    """warpkit.transpose of a Dask array or an xarray.DataArray: chunks become C-contiguous.

    Parameters
    ----------
    a : dask.array.Array or xarray.DataArray
        Of warpkit's dtypes.
    axes : sequence of int, optional
        Permutation of a's axes; None: reversed.
    dim : sequence of str, optional
        Names of a DataArray's dimensions in their new order, in place of axes; an Ellipsis stands
        for those that are not named.
    device : str, optional
        As reduce's.

    Returns
    -------
    dask.array.Array or xarray.DataArray
        As a.

    Raises
    ------
    TypeError
        a that is neither; axes and dim.
    AxisError, ValueError (axes, dim)

    See Also
    --------
    warpkit.transpose, dask.array.transpose

    Examples
    --------
    >>> import dask.array as da
    >>> warpkit.dask.transpose(da.zeros((4, 6), chunks=2)).shape
    (6, 4)
    """
    if _is_named(a, dim):
        return _transpose_named(a, axes, dim, device)
    order = tuple(reversed(_axes_of(a))) if axes is None else normalize_axis_tuple(axes, a.ndim)
    if len(order) != a.ndim:
        raise ValueError("axes don't match array")
    run = functools.partial(warpkit.transpose, axes=order, device=device)
    return da.blockwise(run, order, a, _axes_of(a), dtype=a.dtype, meta=_meta(a, a.ndim, a.dtype))


# ---- xarray ------------------------------------------------------------------------------------


def _axis_named(a: Any, axis: Any, dim: Any) -> Any:
    """Of a DataArray; xarray names a dim that it does not have."""
    if dim is None:
        return axis
    if axis is not None:
        raise TypeError("axis and dim are not taken together")
    return None if dim is ... else a.get_axis_num(dim)


def _broadcast_named(other: Any, a: Any) -> Any:
    """A mask or weights, as a DataArray of a's dimensions in their order."""
    import xarray

    if not isinstance(other, xarray.DataArray):
        library = da if isinstance(other, da.Array) else np
        return a.copy(data=library.broadcast_to(other, a.shape))
    if stray := [dim for dim in other.dims if dim not in a.dims]:
        raise ValueError(f"dimensions {stray} are none of {a.dims}")
    xarray.align(a, other, join="exact")
    return other.broadcast_like(a).transpose(*a.dims)


def _are_chunks(*arrays: Any) -> bool:
    return any(isinstance(x, da.Array) for x in arrays)


def _reduce_named(
    a: Any, op: Any, axes: tuple[int, ...], keepdims: bool, where: Any, every: Any, how: Any
) -> Any:
    mask = True if where is True else _broadcast_named(where, a).data
    axis = (axes[0] if len(axes) == 1 else None) if _has_places(op) else axes
    if _are_chunks(a.data, mask):
        found = reduce(da.asarray(a.data), op, axis, where=mask, split_every=every, **how)
    else:
        found = warpkit.reduce(a.data, op, axis, where=mask, **how)

    def named(y: Any) -> Any:  # whose dimensions and coordinates are xarray's business
        return a.reduce(lambda x, **_: y, axis=axes, keepdims=keepdims, keep_attrs=True)

    return type(found)._make(map(named, found)) if isinstance(op, tuple) else named(found)


def _histogram_named(a: Any, bins: Any, range: Any, dim: Any, how: dict[str, Any]) -> Any:
    axis = _axis_named(a, None, dim)
    axes = _axes_of(a) if axis is None else normalize_axis_tuple(axis, a.ndim)
    dims = [a.dims[axis] for axis in axes]
    kept = [name for name in a.dims if name not in dims]
    arrays = [a]
    if how["weights"] is not None:
        arrays.append(_broadcast_named(how["weights"], a))
    x, *w = (one.transpose(*kept, *dims).data for one in arrays)
    lazy = _are_chunks(x, *w)
    if not lazy:  # one chunk
        sample = x.astype(UINT8) if x.dtype == bool else x
        bins, range = np.histogram_bin_edges(sample, bins, range), None
        x, *w = (da.from_array(one, chunks=-1, name=False) for one in (x, *w))
    x = da.asarray(x)
    how["weights"] = da.asarray(w[0]).rechunk(x.chunks) if w else None
    counts, edges = _histogram(x, bins, range, counted=len(dims), **how)
    if not lazy:
        counts = counts.compute(scheduler="synchronous")
    centres = (edges[:-1] + edges[1:]) / 2
    left = a.coords.to_dataset().drop_dims(dims, errors="ignore").coords
    return _bins_named(a, "histogram", counts, centres, kept, left)


def _bins_named(
    a: Any, operation: str, counts: Any, values: Any, kept: Sequence[Any] = (), left: Any = None
) -> Any:
    """Beside other dimensions bins, and of what each is; of chunks that is no index, which would be
    computed."""
    import xarray

    name = a.name if a.name is not None else "a"
    bins = f"{name}_bin"
    coords: Any = {bins: (bins, values)}
    if _are_chunks(values):
        coords = xarray.Coordinates(coords, indexes={})
    found = xarray.DataArray(counts, left, (*kept, bins), f"{operation}_{name}")
    return found.assign_coords(coords)


def _bincount_named(a: Any, weights: Any, minlength: int, device: Device) -> Any:
    w = None if weights is None else _broadcast_named(weights, a).data
    if _are_chunks(a.data, w):
        raise ValueError(
            "the length of a DataArray's bincount must be known: take that of a.data, or "
            "group_reduce(a, a, 'count', groups)"
        )
    counts = warpkit.bincount(a.data, w, minlength, device=device)
    return _bins_named(a, "bincount", counts, np.arange(len(counts)))


def _group_reduce_named(
    keys: Any, a: Any, op: Any, groups: int | None, every: Any, how: dict[str, Any]
) -> Any:
    import xarray

    dim = "group"
    if isinstance(keys, xarray.DataArray):
        dim = dim if keys.name is None else keys.name
        if set(keys.dims) != set(a.dims):
            raise ValueError(f"keys of {keys.dims} do not go with an array of {a.dims}")
        keys = _broadcast_named(keys, a).data
    if _are_chunks(keys, a.data):
        if groups is None:
            raise ValueError("groups of a DataArray of chunks must be known")
        how = how | {"split_every": every}
        found: Any = group_reduce(keys, da.asarray(a.data), op, groups, **how)
    elif isinstance(op, tuple):
        each = [warpkit.group_reduce(keys, a.data, name, groups, **how) for name in op]
        found = _fields(op)._make(each)
    else:
        found = warpkit.group_reduce(keys, a.data, op, groups, **how)

    def named(y: Any) -> Any:
        coords = {dim: np.arange(len(y))}
        return xarray.DataArray(y, coords, (dim,), a.name, a.attrs)

    return type(found)._make(map(named, found)) if isinstance(op, tuple) else named(found)


def _stencil_named(a: Any, axis: int, dim: Any, how: dict[str, Any]) -> Any:
    axis = _axis_named(a, None if dim is not None and axis == -1 else axis, dim)
    (axis,) = normalize_axis_tuple(axis, a.ndim)
    y = (stencil1d if _are_chunks(a.data) else warpkit.stencil1d)(a.data, axis=axis, **how)
    if how["mode"] == "valid":
        first = len(how["coefficients"]) // 2
        a = a.isel({a.dims[axis]: slice(first, first + y.shape[axis])})
    return a.copy(data=y)


def _transpose_named(a: Any, axes: Any, dim: Any, device: Device) -> Any:
    if dim is not None and axes is not None:
        raise TypeError("axes and dim are not taken together")
    if axes is not None:
        dim = [a.dims[axis] for axis in normalize_axis_tuple(axes, a.ndim)]
    turned = a.transpose(*([dim] if isinstance(dim, str) else dim or ()))
    order = [a.dims.index(name) for name in turned.dims]
    run = transpose if _are_chunks(a.data) else warpkit.transpose
    return turned.copy(data=run(a.data, order, device=device))
