"""Dask arrays: each chunk gives a partial, and these are merged: exact, whatever the chunks are.

Chunks are NumPy's or CuPy's arrays, of results too. Nothing is computed before the caller asks.
An xarray.DataArray may stand for an array, with dim= in place of axis=; results are such too.
Needs dask[array]; for xarray objects xarray.
"""

from __future__ import annotations

import dataclasses
import functools
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
from warpkit._keyed import check_keys, check_lengths
from warpkit._ops import Axis, Device
from warpkit._partial import ARGS, Partial, merge, partial
from warpkit._reduce import Op, Ops, _cast, _fields

_range = range
MERGED = 64  # partials at once; of dask's arrays 4. A task costs its scheduler 2.5 ms, a merge 0.1
HELD = 64 << 20  # bytes of them, about
STATE = 144  # bytes of a sum of float32

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
    if any(name.removeprefix("nan") in ARGS for name in ((op,) if isinstance(op, str) else op)):
        axis = axis[0] if len(axis) < x.ndim or x.ndim == 1 else None
    return partial(x, axis=axis, where=where, **how)


def _placed_chunk(x: Any, block_info: Any = None, **how: Any) -> Any:
    """Of indices: this chunk's place tells where they lie in the whole."""
    here = block_info[0]
    origin = [start for start, _ in here["array-location"]]
    return _chunk(x, offset=(origin, here["shape"]), **how)


def _same(x: Any, axis: Any = None, keepdims: bool = True, computing_meta: bool = False) -> Any:
    return np.zeros((0,) * x.ndim, object) if computing_meta else x


def _combined(parts: Any, axis: Any = None, keepdims: bool = True) -> Partial:
    found = list(flatten([parts])) if isinstance(parts, list) else [parts]
    return merge(found)


def _aggregate(parts: Any, axis: Any = None, keepdims: bool = False, like: Any = None) -> Any:
    return _finished(_combined(parts), axis if keepdims else (), None, like)


def _finished(p: Partial, axis: tuple[int, ...], op: str | None, like: Any) -> Any:
    """A result in the chunks' kind of array, with these axes of extent 1."""
    result = p.finish() if op is None else p._finish_op(op)
    found = asarray_safe(np.expand_dims(np.asarray(result), axis), like=like)
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
        dask.array.Array of reduce's dtypes; or xarray.DataArray, then with dim.
    op : str or tuple of str
        One of partial's names, or a tuple of them, which read each chunk once.
    axis : int or tuple of int, optional
        None: all.
    dim : str or sequence of str, optional
        Names of dimensions, in place of axis.
    dtype : dtype, optional
        Elements are cast to it first.
    keepdims : bool
        Leave the folded axes in the result with extent 1.
    where : dask.array.Array or array_like, optional
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
        For a tuple of ops a named tuple of them.

    Raises
    ------
    AxisError, TypeError, ValueError, as reduce and partial

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
    if _is_xarray(a):
        own = {"dtype": dtype, "keepdims": keepdims, "ddof": ddof, "device": device}
        return _xarray_reduce(a, op, dim, own | {"where": where, "split_every": split_every})
    ops: Ops = op if isinstance(op, tuple) else (op,)
    if dtype is not None:
        floats = {"mean", "var", "std", "norm"} & {name.removeprefix("nan") for name in ops}
        if floats and np.dtype(dtype).kind in "biu":
            raise TypeError(f"op '{min(floats)}' gives no integers: dtype must be float or complex")
        cast = functools.partial(
            _cast, dtype=np.dtype(dtype), ops=ops
        )  # of nan ops, NaN is left out
        a = a.map_blocks(cast, dtype=dtype, meta=_meta(a, a.ndim, dtype))
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    places = any(name.removeprefix("nan") in ARGS for name in ops)
    if places and len(axes) != 1 and len(axes) != a.ndim:
        raise TypeError("argmin and argmax take one axis, or None")
    how: dict[str, Any] = {"op": op, "ddof": ddof, "device": device}
    dtypes = [_dtype_of(name, a.dtype) for name in ops]
    if places:
        empty = np.zeros((0,) * a.ndim, object)
        x = a.map_blocks(_placed_chunk, axis=axes, meta=empty, dtype=object, **how)
        chunk: Any = _same
    else:
        x, chunk = a, functools.partial(_chunk, **how)
    mask = None if where is True else where
    split_every = _split(a, axes, split_every)
    like = meta_from_array(a._meta)
    if not isinstance(op, tuple):
        finish_all = functools.partial(_aggregate, like=like)
        meta = _meta(a, a.ndim if keepdims else a.ndim - len(axes), dtypes[0])
        given = {"aggregate": finish_all, "dtype": dtypes[0], "meta": meta}
        return _merged(x, chunk, axes, mask, split_every, keepdims, **given)
    parts = _merged(x, chunk, axes, mask, split_every, keepdims)
    found = []
    for name, result in zip(ops, dtypes, strict=True):
        extents = axes if keepdims else ()
        finish = functools.partial(_finished, axis=extents, op=name, like=like)
        meta = _meta(a, a.ndim if keepdims else a.ndim - len(axes), result)
        found.append(parts.map_blocks(finish, dtype=result, meta=meta))
    return _fields(ops)._make(found)


@functools.lru_cache(maxsize=256)
def _dtype_of(op: Any, dtype: np.dtype[Any]) -> np.dtype[Any]:
    found: np.dtype[Any] = partial(np.ones(1, dtype), op, device="cpu").finish().dtype
    return found


def _meta(a: Any, ndim: int, dtype: Any) -> Any:
    return asarray_safe(np.empty((0,) * ndim, dtype), like=meta_from_array(a._meta))


# ---- histogram, bincount -----------------------------------------------------------------------


def _histogram_chunk(x: Any, ends: Any, weights: Any = None, **how: Any) -> Partial:
    if ends is not None:
        how["range"] = ends
    return partial(x, "histogram", weights=weights, **how)


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


def _of_histogram(p: Partial, which: int, density: bool, like: Any) -> Any:
    counts, edges = p.finish()
    if which == 0 and density:
        counts = counts / np.diff(edges).astype(float) / counts.sum()
    return asarray_safe((counts, edges)[which], like=like)


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
        dask.array.Array, flattened; or xarray.DataArray, then along dim.
    bins : int or array_like
        Number of equal bins, or their edges, on the host.
    range : (float, float), optional
        (first, last) edge of equal bins; None: the smallest and largest element, which are found by
        the same graph: chunks are computed once, and kept until both are there.
    density : bool, optional
        True: the counts divided by their sum and the bins' widths.
    weights : dask.array.Array, optional
        Of a's shape: each element counts for as much as its weight.
    dim : str or sequence of str, optional
        Names of dimensions that are counted, None for all; the others stay, and the bins are the
        last one, as xhistogram has it.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    counts, edges
        dask.array.Array of shape (n,), and edges as numpy.ndarray, or, of a range that is not
        given, as dask.array.Array. Of a DataArray one of counts, with the bins' centres as
        coordinates.

    Raises
    ------
    TypeError, ValueError, as histogram; of NaN in the range's place when it is computed

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
    if _is_xarray(a):
        return _xarray_histogram(a, bins, range, density, weights, dim, device)
    if bins is None:
        raise ValueError("bins must be a number or edges, not None")
    if isinstance(bins, str):
        raise TypeError("bins of a Dask array are a number or edges, not an estimator's name")
    if weights is not None:
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        weights = da.asarray(weights).rechunk(a.chunks)
    lazy = np.ndim(bins) == 0 and range is None
    how = {"bins": bins, "device": device}
    ends: Any = None
    if lazy:
        bins = operator.index(bins)  # type: ignore[arg-type]
        parts = _merged(
            a,
            functools.partial(_chunk, op=("min", "max"), device=device),
            _axes_of(a),
            None,
            _split(a, _axes_of(a), split_every),
        )
        ends = parts.map_blocks(
            _ends,
            meta=np.zeros((), object),
            dtype=object,
        )
        edges: Any = np.histogram_bin_edges(np.zeros(2, _numeric(a.dtype)), bins)
    else:
        how["range"] = range
        edges = warpkit.histogram(np.empty(0, a.dtype), bins, range, device="cpu")[1]
    empty = np.zeros((0,) * a.ndim, object)
    given = (a, ends) if weights is None else (a, ends, weights)
    parts = da.map_blocks(_histogram_chunk, *given, meta=empty, dtype=object, **how)
    split_every = _split(a, _axes_of(a), split_every, len(edges) - 1)
    p = _merged(parts, _same, _axes_of(a), None, split_every)
    counted = np.dtype(np.int64) if weights is None else weights.dtype
    counted = np.result_type(counted, float) if density else counted
    counts = _as_vector(p, len(edges) - 1, counted, a, 0, bool(density))
    return counts, _as_vector(p, len(edges), edges.dtype, a, 1, False) if lazy else edges


def _axes_of(a: Any) -> tuple[int, ...]:
    return tuple(_range(a.ndim))


def _numeric(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return UINT8 if dtype == np.bool_ else dtype


def _as_vector(p: Any, n: int, dtype: Any, a: Any, which: int, density: bool) -> Any:
    """The result of a partial, whose array has extent 1 along all axes."""
    like = meta_from_array(a._meta)
    return p.map_blocks(
        functools.partial(_of_histogram, which=which, density=density, like=like),
        new_axis=0,
        chunks=(n,),
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
    """warpkit.bincount of a Dask array.

    Parameters
    ----------
    a : dask.array.Array
        dask.array.Array of bool or integers, shape (n,), none negative.
    weights : dask.array.Array, optional
        Shape (n,): each element counts for as much as its weight.
    minlength : int
        Of the result, at least.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    dask.array.Array
        Of int64, with weights float64; its length is not known before it is computed:
        compute_chunk_sizes() finds it.

    Raises
    ------
    TypeError, ValueError, as bincount

    See Also
    --------
    warpkit.bincount, dask.array.bincount

    Examples
    --------
    >>> import dask.array as da
    >>> warpkit.dask.bincount(da.from_array(np.array([0, 1, 1, 3]), chunks=2)).compute()
    array([1, 2, 0, 1])
    """
    if a.ndim != 1:
        raise ValueError(f"bincount takes 1-D, not {a.ndim}-D")
    given: tuple[Any, ...] = (a,)
    if weights is not None:
        if weights.shape != a.shape:
            raise ValueError("The weights and list don't have the same length.")
        given = (a, da.asarray(weights).rechunk(a.chunks))
    how = {"minlength": minlength, "device": device}
    dtype = np.dtype(np.int64 if weights is None else np.float64)
    return _of_chunks(
        _bincount_chunk, given, how, _bincount_result, (a, np.nan, dtype), split_every
    )


def _of_chunks(
    chunk: Any, given: tuple[Any, ...], how: dict[str, Any], result: Any, of: Any, every: Any
) -> Any:
    """A vector, of the kind of array, length and dtype in `of`, from the partials of 1-D chunks."""
    a, length, dtype = of
    empty = np.zeros((0,), object)
    parts = da.map_blocks(chunk, *given, meta=empty, dtype=object, **how)
    outputs = 4096 if np.isnan(length) else length  # a guess
    p = _merged(parts, _same, (0,), None, _split(parts, (0,), every, outputs))
    run = functools.partial(result, like=meta_from_array(a._meta))
    return p.map_blocks(run, chunks=((length,),), dtype=dtype, meta=_meta(a, 1, dtype))


# ---- group_reduce ------------------------------------------------------------------------------


def _group_chunk(keys: Any, a: Any, op: str, groups: int, **how: Any) -> Partial:
    if op != "count":
        return partial(a, op, keys=keys, groups=groups, **how)
    counted, _, _ = host_keys(keys, keys, groups)
    return partial(counted, "bincount", minlength=groups)


def _finished_groups(p: Partial, op: str) -> np.ndarray:
    """As warpkit.group_reduce: no sum is -0.0, and the least or the largest of no float NaN."""
    # A minimum's and a maximum's first words tell of how many.
    none = (p._words[:, :2] == 0).all(-1) & (op in ("min", "max"))
    if none.any():
        assert p._of.dtype is not None
        check_lengths(op, p._of.dtype, int(none.argmax()), "group")
        some = dataclasses.replace(p._of, shape=(int((~none).sum()),))
        found = Partial(some, p._words[~none]).finish()
        nan = complex(np.nan, np.nan) if found.dtype.kind == "c" else np.nan
        result = np.full(len(none), nan, found.dtype)
        result[~none] = found
        return result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means and variances of nothing
        result = np.asarray(p.finish())
    floats = result.dtype.kind not in "biu"
    return result + np.zeros((), result.dtype) if op == "sum" and floats else result


def _group_result(p: Partial, op: str, like: Any) -> Any:
    return asarray_safe(_finished_groups(p, op), like=like)


def group_reduce(
    keys: Any,
    a: Any,
    op: str = "sum",
    groups: int | None = None,
    *,
    ddof: float = 0,
    split_every: Any = None,
    device: Device = None,
) -> Any:
    """warpkit.group_reduce of Dask arrays: the elements of a that have the same key.

    Parameters
    ----------
    keys : dask.array.Array
        Of bool or integers from 0 to groups - 1, of a's shape.
    a : dask.array.Array
        Of a dtype that reduce takes.
    op : str
        As group_reduce's, but argmin, argmax and ptp.
    groups : int
        How many there are: the result's shape is known before anything is computed.
    ddof : float
        Of var and std.
    split_every, device : optional
        As reduce's.

    Returns
    -------
    dask.array.Array
        Shape (groups,).

    Raises
    ------
    TypeError
        op; keys that are no integers; groups that is None.
    ValueError
        Shapes; computed: a key that is none of the groups', min or max of no integer.

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
    check_keys(keys, a)
    none = np.zeros(0, keys.dtype)
    _, _, groups = host_keys(none, none, groups)
    _group_chunk(none, np.zeros(0, a.dtype), op, 0)  # is op one?
    how = {"op": op, "groups": groups, "ddof": ddof, "device": device}
    dtype = np.dtype(np.int64) if op == "count" else _dtype_of(op, a.dtype)
    a, keys = a.reshape(-1), da.asarray(keys).reshape(-1)
    given = (keys.rechunk(a.chunks), a)
    result = functools.partial(_group_result, op=op)
    return _of_chunks(_group_chunk, given, how, result, (a, groups, dtype), split_every)


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
) -> Any:
    """warpkit.stencil1d of a Dask array.

    Parameters
    ----------
    a : dask.array.Array
        At least one axis; chunks shorter than the halo are joined.
    coefficients, axis, mode, cval, origin, output, accumulate, device : optional
        As stencil1d's; output is a dtype.

    Returns
    -------
    dask.array.Array
        Of a's shape ("valid": axis n - k + 1).

    Raises
    ------
    As stencil1d

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
    (axis,) = normalize_axis_tuple(axis, a.ndim)
    taps = np.asarray(coefficients)
    k, n = taps.shape[0] if taps.ndim == 1 else 1, a.shape[axis]
    how: dict[str, Any] = {
        "coefficients": taps,
        "mode": mode,
        "cval": cval,
        "origin": origin,
        "accumulate": accumulate,
        "device": device,
    }
    one = [max(k, 1) if d == axis else 1 for d in _range(a.ndim)]
    sample = how | {"output": output, "device": "cpu"}
    dtype = warpkit.stencil1d(np.zeros(one, a.dtype), axis=axis, **sample).dtype
    how["output"] = dtype
    if mode == "valid" and n < k:
        raise ValueError(f"mode 'valid' needs at least {k} elements along the axis, not {n}")
    before = 0 if mode == "valid" else k // 2 + origin
    after = k - 1 - before
    halo = max(before, after)
    least = halo + (mode == "mirror")  # elements of a chunk: an end is seen from inside, too
    if n < max(least, 1) or (mode in ("wrap", "grid-wrap") and len(a.chunks[axis]) == 1):
        a = a.rechunk({axis: -1})
    elif halo:
        a = a.rechunk({axis: ensure_minimum_chunksize(least, a.chunks[axis])})
    blocks = list(a.chunks[axis])
    if mode == "valid":
        blocks[-1] -= k - 1
    chunks = tuple(tuple(blocks) if d == axis else c for d, c in enumerate(a.chunks))
    meta = _meta(a, a.ndim, dtype)
    last = len(blocks) - 1
    if last == 0 or halo == 0:
        run = functools.partial(_stencil_block, axis=axis, before=0, after=0, last=0, how=how)
        return a.map_blocks(run, chunks=chunks, dtype=dtype, meta=meta)
    depth: dict[int, Any] = dict.fromkeys(_range(a.ndim), 0)
    if mode in ("wrap", "grid-wrap"):  # elements of the other end: all chunks have both halos
        depth[axis] = halo
        boundary: Any = {axis: "periodic"}
        run = functools.partial(_wrapped_block, axis=axis, halo=halo, how=how)
        return map_overlap(
            run,
            a,
            depth=depth,
            boundary=boundary,
            trim=False,
            chunks=chunks,
            dtype=dtype,
            meta=meta,
        )
    depth[axis] = (before, after)
    run = functools.partial(
        _stencil_block, axis=axis, before=before, after=after, last=last, how=how
    )
    return map_overlap(
        run, a, depth=depth, boundary="none", trim=False, chunks=chunks, dtype=dtype, meta=meta
    )


def _wrapped_block(x: Any, axis: int, halo: int, how: dict[str, Any]) -> Any:
    y = warpkit.stencil1d(x, axis=axis, **how)
    return y[(slice(None),) * axis + (slice(halo, y.shape[axis] - halo),)]


def transpose(a: Any, axes: Sequence[int] | None = None, *, device: Device = None) -> Any:
    """warpkit.transpose of a Dask array: the chunks of the result are C-contiguous.

    Parameters
    ----------
    a : dask.array.Array
        dask.array.Array of warpkit's dtypes.
    axes : sequence of int, optional
        Permutation of a's axes; None: reversed.
    device : str, optional
        As reduce's.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    AxisError, ValueError (axes)

    See Also
    --------
    warpkit.transpose, dask.array.transpose

    Examples
    --------
    >>> import dask.array as da
    >>> warpkit.dask.transpose(da.zeros((4, 6), chunks=2)).shape
    (6, 4)
    """
    order = tuple(reversed(_axes_of(a))) if axes is None else normalize_axis_tuple(axes, a.ndim)
    if len(order) != a.ndim:
        raise ValueError("axes don't match array")
    run = functools.partial(warpkit.transpose, axes=order, device=device)
    return da.blockwise(run, order, a, _axes_of(a), dtype=a.dtype, meta=_meta(a, a.ndim, a.dtype))


# ---- xarray ------------------------------------------------------------------------------------


def _is_xarray(a: Any) -> bool:
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(a, xarray.DataArray)


def _dims_of(a: Any, dim: Any) -> list[Any]:
    if dim is None or dim is ...:
        return list(a.dims)
    return [dim] if isinstance(dim, str) else list(dim)


def _reduce_any(x: Any, *where: Any, **how: Any) -> Any:
    """Of a Dask array or of another."""
    mask = {"where": where[0]} if where else {}
    if isinstance(x, da.Array):
        found = reduce(x, **how, **mask)
    else:
        how.pop("split_every")
        found = warpkit.reduce(x, **how, **mask)
    return tuple(found) if isinstance(how["op"], tuple) else found


def _xarray_reduce(a: Any, op: Op | Ops, dim: Any, how: dict[str, Any]) -> Any:
    import xarray

    dims, where = _dims_of(a, dim), how.pop("where")
    if how.pop("keepdims"):
        raise TypeError("a DataArray's dimensions that are folded are gone: keepdims is not taken")
    axes = tuple(_range(-len(dims), 0))
    ops: Ops = op if isinstance(op, tuple) else (op,)
    places = any(name.removeprefix("nan") in ARGS for name in ops)
    how |= {"op": op, "axis": (axes[0] if len(axes) == 1 else None) if places else axes}
    given = (a,) if where is True else (a, where)
    found = xarray.apply_ufunc(
        _reduce_any,
        *given,
        input_core_dims=[dims] * len(given),
        output_core_dims=[[] for _ in ops],
        kwargs=how,
        dask="allowed",
        keep_attrs=True,
    )
    return _fields(ops)._make(found) if isinstance(op, tuple) else found


def _bin_numbers(x: np.ndarray, edges: np.ndarray, axes: int) -> np.ndarray:
    """Of elements [kept ..., axes ...]: the numbers of their bins, of which each result has its
    own, and one more for what lies in none."""
    bins = len(edges) - 1
    kept = x.shape[: x.ndim - axes]
    flat = x.reshape(int(np.prod(kept, dtype=np.int64)), -1)
    number = np.searchsorted(edges, flat, "right") - 1
    number[flat == edges[-1]] = bins - 1
    number[(number < 0) | (number >= bins) | (flat != flat)] = bins
    number += (bins + 1) * np.arange(len(flat))[:, None]
    return number.reshape(-1)


def _rows_chunk(
    x: Any,
    weights: Any = None,
    axis: Any = None,
    keepdims: bool = True,
    computing_meta: bool = False,
    **how: Any,
) -> Any:
    if computing_meta:
        return np.zeros((0,) * x.ndim, object)
    edges, device = how["edges"], how["device"]
    number = _bin_numbers(np.asarray(x), edges, len(axis))
    least = int(np.prod(x.shape[: x.ndim - len(axis)], dtype=np.int64)) * len(edges)
    flat = None if weights is None else np.asarray(weights).reshape(-1)
    return partial(number, "bincount", weights=flat, minlength=least, device=device)


def _rows_result(p: Partial, edges: np.ndarray, density: bool, shape: Any = None) -> Any:
    rows = p.finish().reshape(-1, len(edges))[:, :-1]
    if density:
        with np.errstate(all="ignore"):
            rows = rows / np.diff(edges).astype(float) / rows.sum(-1, keepdims=True)
    return rows if shape is None else rows.reshape(*shape, len(edges) - 1)


def _rows_block(p: Partial, edges: np.ndarray, density: bool, block_info: Any = None) -> Any:
    return _rows_result(p, edges, density, block_info[None]["chunk-shape"][:-1])


def _count_along(
    x: Any, *weights: Any, edges: np.ndarray, axes: int, density: bool, device: Any
) -> Any:
    """Of the last axes: counts in bins, which are the last axis then."""
    kept = x.ndim - axes
    if kept == 0:
        count: Any = histogram if isinstance(x, da.Array) else warpkit.histogram
        w = weights[0].astype(np.float64) if weights else None
        return count(x, edges, density=density, weights=w, device=device)[0]
    dtype = np.dtype(np.float64 if density or weights else np.int64)
    chunk = functools.partial(_rows_chunk, edges=edges, device=device)
    last = tuple(_range(kept, x.ndim))
    if not isinstance(x, da.Array):
        w = np.asarray(weights[0]) if weights else None
        return _rows_result(chunk(x, w, axis=last), edges, density, x.shape[:kept])
    w = weights[0] if weights else None
    p = _merged(x, chunk, last, w, None)
    return p.map_blocks(
        functools.partial(_rows_block, edges=edges, density=density),
        new_axis=kept,
        chunks=(*x.chunks[:kept], (len(edges) - 1,)),
        dtype=dtype,
        meta=_meta(x, kept + 1, dtype),
    )


def _xarray_histogram(
    a: Any, bins: Any, range: Any, density: Any, weights: Any, dim: Any, device: Any
) -> Any:
    import xarray

    dims = _dims_of(a, dim)
    if np.ndim(bins) == 0 and range is None and a.chunks is not None:
        raise ValueError("bins of a DataArray of chunks are edges, or a number of them in a range")
    sample = a.data if range is None and a.chunks is None else np.empty(0, _numeric(a.dtype))
    edges = np.histogram_bin_edges(sample, bins, range)
    name = a.name if a.name is not None else "a"
    of_bins = f"{name}_bin"
    given = (a,) if weights is None else (a, weights.broadcast_like(a))
    found = xarray.apply_ufunc(
        _count_along,
        *given,
        input_core_dims=[dims] * len(given),
        output_core_dims=[[of_bins]],
        kwargs={"edges": edges, "axes": len(dims), "density": bool(density), "device": device},
        dask="allowed",
    )
    found = found.assign_coords({of_bins: (edges[:-1] + edges[1:]) / 2})
    return found.rename(f"histogram_{name}")
