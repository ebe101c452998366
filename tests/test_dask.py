"""Dask arrays and xarray objects: the bits of the whole array's result, whatever the chunks."""

import itertools
import subprocess
import sys

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


FOLDS = ("sum", "mean", "var", "norm", "min", "max", "any", "all", "count_nonzero", "count")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "complex64", "bool"])
def test_groups(dtype):
    rng = np.random.default_rng(2)
    x, keys = numbers(dtype, (60, 9)), rng.integers(0, 12, (60, 9))
    x[:9] = -np.zeros(())  # -0.0 of floats
    keys[:9], keys[9:] = 5, np.where(keys[9:] == 5, 6, keys[9:])
    d, of = da.from_array(x, chunks=(7, 9)), da.from_array(keys, chunks=(25, 4))
    for op in FOLDS:
        check(lazy.group_reduce(of, d, op, 12), warpkit.group_reduce(keys, x, op, 12))
        found = lazy.group_reduce(of, d, op, 14)
        try:
            check(found, warpkit.group_reduce(keys, x, op, 14))
        except ValueError as error:  # the least of no integer
            with pytest.raises(ValueError, match=str(error)):
                found.compute()
    with pytest.raises(ValueError, match=r"key 11 at index \d+ is none of 0 .. 10"):
        lazy.group_reduce(of, d, groups=11).compute()


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
        (TypeError, lambda: lazy.group_reduce(d > 0, d)),
        (TypeError, lambda: lazy.group_reduce(d, d, groups=3)),
        (TypeError, lambda: lazy.group_reduce(d > 0, d, "argmin", 2)),
        (ValueError, lambda: lazy.group_reduce(d > 0, d, "median", 2)),
        (ValueError, lambda: lazy.group_reduce(d[0] > 0, d, groups=2)),
    ]:
        with pytest.raises(error):
            call()


def test_xarray_objects():
    xarray = pytest.importorskip("xarray")
    x = numbers(shape=(4, 15, 20))
    whole = xarray.DataArray(x, dims=("t", "y", "x"), name="temp", attrs={"units": "K"})
    edges = np.linspace(-300, 300, 7)
    for a in (whole, whole.chunk({"t": 2, "y": 4, "x": 11})):
        mean = lazy.reduce(a, "mean", dim=("y", "x"))
        assert (mean.dims, mean.attrs) == (("t",), {"units": "K"})
        assert (mean.chunks is None) == (a.chunks is None)
        assert_same_bits(mean.values, warpkit.reduce(x, "mean", (1, 2)))
        assert_same_bits(lazy.reduce(a, "argmax", dim="x").values, x.argmax(-1))
        both = lazy.reduce(a, ("min", "std"))
        assert float(both.std) == warpkit.reduce(x, "std")
        counts = lazy.histogram(a, edges, dim=("y", "x"))
        assert (counts.dims, counts.name) == (("t", "temp_bin"), "histogram_temp")
        assert_same_bits(counts.values, np.stack([np.histogram(y, edges)[0] for y in x]))
        assert_same_bits(counts.temp_bin.values, (edges[1:] + edges[:-1]) / 2)
        sums = lazy.histogram(a, edges, weights=a, dim="x").values
        assert_same_bits(sums[1, 2], warpkit.histogram(x[1, 2], edges, weights=x[1, 2])[0])
        assert_same_bits(lazy.histogram(a, edges).values, np.histogram(x, edges)[0])


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
