"""Dask arrays and xarray objects: the bits of the whole array's result, whatever the chunks."""

import itertools
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
import warpkit
from helpers import assert_same_bits

da = pytest.importorskip("dask.array")
import dask  # noqa: E402
import warpkit.dask as lazy  # noqa: E402
from dask.sizeof import sizeof  # noqa: E402

OPS = ("sum", "mean", "std", "min", "ptp", "all", "count_nonzero", "norm", "argmax")
SEVERAL = ("min", "max", "mean", "argmin")
MODES = (
    "reflect", "nearest", "mirror", "wrap", "constant", "valid", "grid-mirror", "grid-constant",
    "grid-wrap",
)  # fmt: skip
DTYPES = ("bool", "u1", "i2", "i4", "u8", "f2", "f4", "f8", "c8")
CASTS = (
    *get_args(warpkit._reduce.Op), ("sum", "prod"), ("mean", "sum"), ("nansum", "sum"),
    ("sum", "max"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def numbers(dtype="float64", shape=(7, 9, 4)):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) * 100
    return (x + 1j * x[::-1] if dtype == "complex64" else x).astype(dtype)


def check(found, wanted):
    """Its bits, and what was said of them before they were there."""
    computed = found.compute()
    assert_same_bits(computed, wanted)
    assert found.dtype == computed.dtype
    assert found.shape == computed.shape or np.isnan(found.shape).any()
    assert type(found._meta) is np.ndarray
    assert (found._meta.ndim, found._meta.dtype) == (computed.ndim, computed.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "bool"])
def test_reductions(dtype):
    x = numbers(dtype)
    d = da.from_array(x, chunks=(4, 5, 4))
    for op, axis in itertools.product((*OPS, SEVERAL), (None, 0, -1, (0, 2))):
        places = op in ("argmax", SEVERAL)
        if (op == "ptp" and dtype == "bool") or (places and isinstance(axis, tuple)):
            continue
        keepdims = axis == 0
        found = lazy.reduce(d, op, axis, keepdims=keepdims)
        wanted = warpkit.reduce(x, op, axis, keepdims=keepdims)
        for own, right in zip(found, wanted, strict=True) if op == SEVERAL else [(found, wanted)]:
            check(own, np.asarray(right))


def test_where_dtype_and_nan():
    x = numbers("float32")
    x[3, 4, 1] = np.nan
    d, mask = da.from_array(x, chunks=4), np.indices(x.shape).sum(0) % 3 > 0
    mask[3, 4] = False
    for where in (da.from_array(mask, chunks=7), mask[0]):
        host = mask if where is not mask[0] and where.ndim == 3 else mask[0]
        check(lazy.reduce(d, "sum", 0, where=where), warpkit.reduce(x, "sum", 0, where=host))
    check(lazy.reduce(d, "nansum", 1, dtype="f8"), warpkit.reduce(x, "nansum", 1, dtype="f8"))
    check(lazy.reduce(d, "nanargmin"), np.asarray(warpkit.reduce(x, "nanargmin")))


def outcome(call):
    """A result's bits, or the error."""
    try:
        found = call()
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    several = found if isinstance(found, tuple) else (found,)
    computed = [getattr(one, "compute", lambda one=one: one)() for one in several]
    assert [one.dtype for one in computed] == [one.dtype for one in several]
    return [(one.dtype, one.tobytes()) for one in computed]


@pytest.mark.filterwarnings("ignore:(invalid|overflow)", "ignore:Casting")
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_cast_and_results_too_as_by_reduce(dtype):
    x = (numbers(dtype, (6, 5)).real * 7).astype(dtype)
    if x.dtype.kind in "fc":
        x[2, 3] = np.nan
    d = da.from_array(x, chunks=(4, 3))
    for op, to in itertools.product(CASTS, (None, *DTYPES)):
        found = outcome(lambda op=op, to=to: lazy.reduce(d, op, dtype=to))
        wanted = outcome(lambda op=op, to=to: warpkit.reduce(x, op, dtype=to))
        if found != wanted:
            assert "depends on the order" in found[1], (op, to, found, wanted)


@pytest.mark.parametrize("weights", [None, "float32", "int64", "complex128"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_histograms(dtype, weights):
    x = numbers(dtype)
    d = da.from_array(x, chunks=(4, 5, 4))
    w = None if weights is None else numbers().astype(weights)
    own = None if w is None else da.from_array(w, chunks=6)
    for bins, limits in ((10, None), (10, (-50, 60)), ([0, 1, 5], None)):
        for density in (False, True):
            counts, edges = lazy.histogram(d, bins, limits, density, own)
            wanted = warpkit.histogram(x, bins, limits, density, w)
            check(counts, wanted[0])
            assert isinstance(edges, np.ndarray) == (limits is not None or bins != 10)
            assert_same_bits(np.asarray(edges), wanted[1])
            assert_same_bits(
                np.asarray(edges),
                np.histogram_bin_edges(x.astype("u1") if dtype == "bool" else x, bins, limits),
            )


def test_a_range_that_is_not_given_reads_each_chunk_once():
    reads = []

    def read(block_id=None):
        reads.append(block_id)
        return numbers(shape=(30,))

    d = da.map_blocks(read, chunks=((30,) * 4,), dtype=float, meta=np.empty(0))
    reads.clear()
    counts, edges = lazy.histogram(d, 7)
    assert reads == []
    counts, edges = dask.compute(counts, edges)
    assert sorted(reads) == [(0,), (1,), (2,), (3,)]
    assert counts.sum() == 120
    with pytest.raises(ValueError, match="not finite"):
        lazy.histogram(da.from_array(np.array([1, np.nan])), 3)[0].compute()


def test_bincount_and_transpose():
    x, w = np.random.default_rng(1).integers(0, 50, 300), numbers(shape=300)
    d = da.from_array(x, chunks=77)
    check(lazy.bincount(d), warpkit.bincount(x))
    check(lazy.bincount(d, da.from_array(w, chunks=100), 60), warpkit.bincount(x, w, 60))
    y = numbers()
    for axes in (None, (1, 2, 0)):
        check(lazy.transpose(da.from_array(y, chunks=3), axes), warpkit.transpose(y, axes))


FOLDS = get_args(warpkit._keyed.SegmentOp)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "complex64", "bool"])
def test_groups(dtype):
    rng = np.random.default_rng(2)
    x, keys = numbers(dtype, (60, 9)), rng.integers(0, 12, (60, 9))
    x[:9] = -np.zeros(())  # -0.0 of floats
    keys[:9], keys[9:] = 5, np.where(keys[9:] == 5, 6, keys[9:])
    d, of = da.from_array(x, chunks=(7, 9)), da.from_array(keys, chunks=(25, 4))
    folds = tuple(op for op in FOLDS if op != "ptp" or dtype != "bool")
    for op, found in lazy.group_reduce(of, d, folds, 12)._asdict().items():
        wanted = warpkit.group_reduce(keys, x, op, 12)
        for one in (found, lazy.group_reduce(of, d, op, 12), lazy.group_reduce(of, d, op)):
            check(one, wanted)
        found = lazy.group_reduce(of, d, op, 14)
        try:
            check(found, warpkit.group_reduce(keys, x, op, 14))
        except ValueError as error:  # the least of no integer, the place of nothing
            with pytest.raises(ValueError, match=str(error)):
                found.compute()
    with pytest.raises(ValueError, match=r"key 11 at index \d+ is none of 0 .. 10"):
        lazy.group_reduce(of, d, groups=11).compute()


def test_groups_are_as_many_as_the_keys_say():
    keys, x = np.array([3, 0, 3]), np.array([1.0, 2.0, 4.0])
    found = lazy.group_reduce(da.from_array(keys, chunks=2), da.from_array(x, chunks=1))
    assert np.isnan(found.shape).all()
    check(found, np.array([2.0, 0.0, 0.0, 5.0]))
    check(lazy.group_reduce(keys[:0], da.zeros(0), "max"), np.zeros(0))
    check(lazy.group_reduce(da.asarray(0), da.asarray(5.0), "argmax"), np.zeros(1, int))
    with pytest.raises(ValueError, match="key -5 at index 0"):
        lazy.group_reduce(da.full(3, -5), da.zeros(3)).compute()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "chunk"), [(23, 7), (23, 2), (4, 1), (16, 16)])
def test_stencils_at_the_ends_and_where_chunks_are_shorter_than_the_halo(mode, n, chunk):
    x = numbers("float32", (n, 5))
    d = da.from_array(x, chunks=(chunk, 3))
    for k in (1, 2, 5, 8):
        taps = numbers(shape=k)
        for origin in {0, -(k // 2), (k - 1) // 2}:
            if mode == "valid" and (n < k or origin):
                continue
            how = {"mode": mode, "cval": 2.5, "origin": origin}
            check(lazy.stencil1d(d, taps, 0, **how), warpkit.stencil1d(x, taps, 0, **how))
    with pytest.raises(ValueError, match="at least 30"):
        lazy.stencil1d(d, np.ones(30), 0, mode="valid")


def tasks(*arrays):
    return len(dict(dask.optimize(*arrays)[0].__dask_graph__()))


def test_graphs_are_no_larger_than_dasks():
    d = da.from_array(np.zeros((64, 64)), chunks=8)
    assert tasks(lazy.reduce(d, "sum")) <= tasks(d.sum())
    assert tasks(lazy.reduce(d, "std", 0)) <= tasks(d.std(0))
    ours = tasks(lazy.histogram(d, 10, (0, 1))[0])
    assert ours <= tasks(da.histogram(d, 10, (0, 1))[0])


@pytest.mark.parametrize("blocks", [(70, 1), (3, 5), (9, 9), (1, 1), (5, 5, 5)])
def test_many_chunks_are_merged_at_once(blocks):
    x = numbers("float32", tuple(2 * k for k in blocks))
    d = da.from_array(x, chunks=2)
    for axis in (None, 0):
        check(lazy.reduce(d, "std", axis), np.asarray(warpkit.reduce(x, "std", axis)))
    counts, _ = lazy.histogram(d, 4, (-50, 50))
    check(counts, warpkit.histogram(x, 4, (-50, 50))[0])


def test_as_many_partials_are_merged_at_once_as_are_held_easily():
    """Beside the chunks' tasks: 64 scalars at once, or 4 of a million results each."""
    for shape, merges in (((64, 1), 1), ((8, 8), 1), ((70, 1), 2 + 1)):
        d = da.ones(shape, chunks=1)
        assert tasks(lazy.reduce(d)) == d.npartitions + merges
        with dask.config.set(split_every=4):
            assert tasks(lazy.reduce(d)) > d.npartitions + merges
    d = da.ones((16, 10**6), chunks=(1, 10**6))
    assert tasks(lazy.reduce(d, axis=0)) == 16 + 4 + 1


def test_what_a_partial_holds_is_its_size():
    p = warpkit.partial(np.ones((3, 500)), axis=0)
    assert sizeof(p) >= p.nbytes


CALLS = {
    "reduce": lambda a, **how: lazy.reduce(a, **how),
    "histogram": lambda a, **how: lazy.histogram(a, 3, (0, 1), **how),
    "bincount": lambda a, **how: lazy.bincount(a, **how),
    "group_reduce": lambda a, **how: lazy.group_reduce(a, a, **how),
    "stencil1d": lambda a, **how: lazy.stencil1d(a, [1, 2], **how),
    "transpose": lambda a, **how: lazy.transpose(a, **how),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_has_no_chunks_or_no_names_is_refused(call):
    for a in (np.zeros(3), [1, 2], 1.0, None):
        with pytest.raises(
            TypeError, match=f"Dask array or an xarray.DataArray, not {type(a).__name__}"
        ):
            call(a)
    if call not in (CALLS["bincount"], CALLS["group_reduce"]):
        with pytest.raises(TypeError, match="have no names"):
            call(da.zeros(3), dim="x")


def test_what_needs_chunk_sizes_says_how_they_are_found():
    x = numbers(shape=(8, 6))
    d = da.from_array(x, chunks=(3, 4))
    part, kept = d[d[:, 0] > 0], x[x[:, 0] > 0]
    for call in [
        lambda: lazy.reduce(part, "argmax"),
        lambda: lazy.reduce(part, ("sum", "nanargmin"), 0),
        lambda: lazy.stencil1d(part, [1, 2, 1], 0),
        lambda: lazy.stencil1d(part, [1, 2, 1], 1),
        lambda: lazy.group_reduce(part > 0, part, groups=2),
        lambda: lazy.histogram(part, 3, weights=d),
        lambda: lazy.bincount(part[:, 0] > 0, weights=d[:, 0]),
    ]:
        with pytest.raises(ValueError, match=r"sizes are unknown.* call compute_chunk_sizes"):
            call()
    check(lazy.reduce(part, "argmax", 1), kept.argmax(1))
    check(lazy.stencil1d(part.rechunk({1: -1}), [1, 2, 1]), warpkit.stencil1d(kept, [1, 2, 1]))


def test_what_is_refused():
    d = da.from_array(numbers(), chunks=4)
    for error, call in [
        (ValueError, lambda: lazy.reduce(d, "median")),
        (TypeError, lambda: lazy.reduce(d, "prod")),
        (np.exceptions.AxisError, lambda: lazy.reduce(d, "sum", 3)),
        (TypeError, lambda: lazy.reduce(d, "argmin", (0, 1))),
        (TypeError, lambda: lazy.histogram(d, "auto")),
        (ValueError, lambda: lazy.histogram(d, 3, (0, 1), weights=d[0])),
        (ValueError, lambda: lazy.bincount(d)),
        (TypeError, lambda: lazy.reduce(d, "argmin", where=d > 0)),
        (ValueError, lambda: lazy.reduce(d, ["sum"])),
        (ValueError, lambda: lazy.reduce(d, ())),
        (TypeError, lambda: lazy.group_reduce(d, d, groups=3)),
        (TypeError, lambda: lazy.group_reduce(d > 0, d > 0, "ptp", 2)),
        (ValueError, lambda: lazy.group_reduce(d > 0, d, "median", 2)),
        (ValueError, lambda: lazy.group_reduce(d > 0, d, ("sum", "sum"), 2)),
        (ValueError, lambda: lazy.group_reduce(d > 0, d, groups=-1)),
        (TypeError, lambda: lazy.stencil1d(d, [1, 2], output=np.zeros(d.shape))),
        (RuntimeError, lambda: lazy.stencil1d(d, [1, 2], mode="grid")),
        (ValueError, lambda: lazy.group_reduce(d[0] > 0, d, groups=2)),
    ]:
        with pytest.raises(error):
            call()


def named(shape=(4, 15, 20)):
    """An xarray.DataArray and its chunks."""
    xarray = pytest.importorskip("xarray")
    x = numbers(shape=shape)
    coords = {"t": np.arange(4) / 2, "kind": ("t", list("abcd")), "x": np.arange(20)}
    a = xarray.DataArray(x, coords, ("t", "y", "x"), "temp", {"units": "K"})
    return a, a.chunk({"t": 2, "y": 4, "x": 11})


@pytest.mark.parametrize("chunks", [False, True])
def test_reductions_of_xarray_objects(chunks):
    a = named()[chunks]
    x = a.values
    mean = lazy.reduce(a, "mean", dim=("y", "x"))
    assert (mean.dims, mean.attrs, set(mean.coords)) == (("t",), {"units": "K"}, {"t", "kind"})
    assert (mean.chunks is not None) == chunks
    assert_same_bits(mean.values, warpkit.reduce(x, "mean", (1, 2)))
    assert_same_bits(lazy.reduce(a, "sum", 0).values, warpkit.reduce(x, "sum", 0))
    assert_same_bits(lazy.reduce(a, "sum", dim=...).values, np.asarray(warpkit.reduce(x)))
    for op, dim in (("argmax", "x"), ("argmin", ["x"])):
        assert_same_bits(lazy.reduce(a, op, dim=dim).values, warpkit.reduce(x, op, 2))
    assert int(lazy.reduce(a, "argmax", dim=("x", "y", "t"))) == x.argmax()
    both = lazy.reduce(a, ("min", "std"))
    assert float(both.std) == warpkit.reduce(x, "std")
    wide = lazy.reduce(a, ("min", "max"), dim="y", keepdims=True).max
    assert wide.sizes == {"t": 4, "y": 1, "x": 20}
    assert_same_bits(wide.values, x.max(1, keepdims=True))
    for mask in (a[0] > 0, (a > 0).transpose("x", "t", "y"), x[0] > 0):
        found = lazy.reduce(a, "sum", dim="x", where=mask)
        own = x > 0 if mask.ndim == 3 else x[0] > 0
        assert_same_bits(found.values, warpkit.reduce(x, "sum", 2, where=own))


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("weights", [None, "float32", "int64", "complex64"])
def test_histograms_of_xarray_objects(chunks, weights):
    a = named()[chunks]
    x, edges = a.values, np.linspace(-300, 300, 7)
    w = None if weights is None else numbers(weights, x.shape)
    for given in (w, None if w is None else a.copy(data=w).transpose()):
        for bins, limits, density in itertools.product((edges, 5), (None, (-9, 70)), (False, True)):
            how = (bins, limits, density)
            counts = lazy.histogram(a, *how, weights=given, dim=("x", "y"))
            assert (counts.dims, counts.name) == (("t", "temp_bin"), "histogram_temp")
            assert (counts.chunks is not None) == chunks
            of = np.histogram_bin_edges(x, bins, limits)
            own = [None] * 4 if w is None else w
            wanted = [
                warpkit.histogram(y, of, density=density, weights=v)[0]
                for y, v in zip(x, own, strict=True)
            ]
            assert counts.dtype == wanted[0].dtype
            assert_same_bits(counts.values, np.stack(wanted))
            assert_same_bits(counts.temp_bin.values, (of[1:] + of[:-1]) / 2)
            assert set(counts.coords) == {"t", "kind", "temp_bin"}
            whole = lazy.histogram(a, *how, weights=given)
            assert_same_bits(whole.values, warpkit.histogram(x, *how, w)[0])
    assert lazy.histogram(a[:0], 5, dim="x").values.shape == (0, 15, 5)
    row = lazy.histogram(a, 5, weights=np.ones(20, "i2"))
    assert_same_bits(row.values, warpkit.histogram(x, 5)[0].astype("i2"))


def test_a_range_that_is_not_given_stays_chunks_of_a_dataarray():
    a = named()[1]
    counts = lazy.histogram(a, 5, dim="x")
    assert counts.temp_bin.chunks is not None
    assert "temp_bin" not in counts.indexes
    loaded = counts.compute().set_xindex("temp_bin")
    assert int(loaded.sel(temp_bin=0, method="nearest").sum()) > 0


@pytest.mark.parametrize("chunks", [False, True])
def test_groups_stencils_and_transposes_of_xarray_objects(chunks):
    a = named()[chunks]
    x, keys = a.values, (abs(a) // 90).astype(int).rename("level")
    for of in (keys, keys.transpose(), keys.values):
        found = lazy.group_reduce(of, a, ("sum", "argmax"), 5)
        assert found.sum.dims == (getattr(of, "name", "group"),)
        assert (found.sum.chunks is not None) == chunks
        assert found.sum.attrs == {"units": "K"}
        for op in ("sum", "argmax"):
            own = warpkit.group_reduce(keys.values, x, op, 5)
            assert_same_bits(getattr(found, op).values, own)
            assert_same_bits(lazy.group_reduce(of, a, op, 5).values, own)
    taps = [1, 2, 4, 1]
    for mode in ("grid-wrap", "reflect", "valid"):
        found = lazy.stencil1d(a, taps, dim="t", mode=mode)
        assert_same_bits(found.values, warpkit.stencil1d(x, taps, 0, mode=mode))
        assert_same_bits(found.values, lazy.stencil1d(a, taps, 0, mode=mode).values)
        assert (found.name, found.chunks is not None) == ("temp", chunks)
        assert found.t.values.tolist() == ([1.0] if mode == "valid" else [0.0, 0.5, 1.0, 1.5])
    for how in ({}, {"axes": (1, 2, 0)}, {"dim": ("y", "x", "t")}, {"dim": ("x", ...)}):
        found = lazy.transpose(a, **how)
        wanted = a.transpose(*how.get("dim", "yxt" if "axes" in how else ()))
        assert found.identical(wanted)
        assert found.values.flags.c_contiguous


def test_bincount_of_xarray_objects():
    a = abs(named()[0][:, 0, 0]).astype(int)
    found = lazy.bincount(a, weights=a, minlength=400)
    assert (found.name, found.dims) == ("bincount_temp", ("temp_bin",))
    assert_same_bits(found.values, warpkit.bincount(a.values, a.values, 400))
    assert_same_bits(found.temp_bin.values, np.arange(400))


@pytest.mark.parametrize("chunks", [False, True])
def test_what_of_xarray_objects_is_refused(chunks):
    a = named()[chunks]
    keys, moved = (a > 0).astype(int), a.assign_coords(x=np.arange(1, 21))
    for error, words, call in [
        (TypeError, "axis and dim", lambda: lazy.reduce(a, axis=0, dim="t")),
        (TypeError, "axis and dim", lambda: lazy.stencil1d(a, [1], 0, dim="t")),
        (TypeError, "axes and dim", lambda: lazy.transpose(a, (0, 1, 2), dim="xyt")),
        (ValueError, r"'z' not found .*\('t', 'y', 'x'\)", lambda: lazy.reduce(a, dim="z")),
        (ValueError, r"'z' not found .*'t'", lambda: lazy.histogram(a, [0, 1], dim=["z"])),
        (ValueError, r"'z' not found .*'t'", lambda: lazy.stencil1d(a, [1], dim="z")),
        (ValueError, "z.*'t', 'y', 'x'", lambda: lazy.transpose(a, dim=("z", ...))),
        (TypeError, "one axis, or None", lambda: lazy.reduce(a, "argmin", dim=("t", "y"))),
        (TypeError, "takes no where", lambda: lazy.reduce(a, "argmin", where=keys > 0)),
        (ValueError, "exact", lambda: lazy.reduce(a, where=moved > 0)),
        (ValueError, "none of", lambda: lazy.reduce(a[0], where=a > 0)),
        (ValueError, "do not go with", lambda: lazy.group_reduce(keys[0], a, groups=2)),
        (TypeError, "a dtype", lambda: lazy.stencil1d(a, [1], output=a.values)),
        *(
            (TypeError, r"ds\.map", lambda call=call: call(a.to_dataset()))
            for call in CALLS.values()
        ),
        *[
            (ValueError, "must be known", lambda: lazy.group_reduce(keys, a)),
            (ValueError, "must be known", lambda: lazy.bincount(keys[:, 0, 0])),
            (TypeError, "estimator", lambda: lazy.histogram(a, "auto")),
        ][: 3 * chunks],
    ]:
        with pytest.raises(error, match=words):
            call()


# A process of its own: a cluster leaves sockets and an event loop behind.
KILLED = """
import time
import dask
import dask.array as da
import distributed
import numpy as np
import warpkit
import warpkit.dask as lazy

x = np.random.default_rng(0).normal(size=(40, 1000)) * 10.0 ** (np.arange(1000) % 30)


def slow(block):
    time.sleep(0.04)
    return block


with (
    dask.config.set(scheduler=None),
    distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster,
    distributed.Client(cluster) as client,
):
    d = da.from_array(x, chunks=(1, 1000)).map_blocks(slow, dtype=x.dtype)
    future = client.compute(lazy.reduce(d, "std"), optimize_graph=True)
    time.sleep(0.4)
    next(iter(cluster.workers.values())).process.process.kill()
    print(float(future.result(timeout=60)) == warpkit.reduce(x, "std"))
"""


@pytest.mark.unsanitized
def test_a_worker_that_is_killed_changes_no_bit():
    pytest.importorskip("distributed")
    command = [sys.executable, "-c", KILLED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.stdout == "True\n", done.stderr[-2000:]


def test_dask_is_imported_by_who_asks_for_it():
    code = "import sys, warpkit; assert not {'dask', 'mpi4py', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
