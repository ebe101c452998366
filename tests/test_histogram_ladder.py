"""The rungs of the histogram: all kinds of bins, as many as there may be, and what they refuse."""

import numpy as np
import pytest
import warpkit
from helpers import (
    DTYPES,
    FLOATS,
    assert_same,
    few_values,
    poison,
    rows,
    rows_by_dtype,
    sizes,
    special_floats,
    values,
)
from warpkit import _core, reference
from warpkit._ops import with_options

LADDER = ("global_atomic", "smem_atomic", "smem_private", "match_any")
RUNGS = [row for row in rows("histogram") if row.device != "cpu" and row.name in LADDER]
ROOM = 48 * 1024 // 4  # counters in shared memory; smem_private has one for each of 8 warps
MOST = {"smem_atomic": ROOM, "smem_private": ROOM // 8, "match_any": ROOM}

pytestmark = pytest.mark.skipif(not RUNGS, reason="no device that has the rungs")


def each():
    return pytest.mark.parametrize("row", RUNGS, ids=str)


def each_dtype(dtypes=("bool", "uint8", "int16", "int32", "uint64", "float32", "float64")):
    chosen = [p for p in rows_by_dtype("histogram", dtypes) if p.values[0] in RUNGS]
    return pytest.mark.parametrize(("row", "dtype"), chosen)


def raw(row, a, kind, bins, edges, uniform=None, outside=False, weights=None, sums=None):
    """_core.histogram, which can be asked for more than histogram and bincount ask for."""
    arguments = (a, kind, bins, edges, uniform, weights, sums, outside, False)
    return with_options(_core.histogram, arguments, None, row.device, None, row.name, False)


def check(row, a, bins, range=None):
    counts, edges = reference.histogram(a, bins, range)
    poison(counts)
    got, got_edges = row(a, bins, range)
    assert_same(got, counts)
    assert_same(got_edges, edges)


def check_outside(row, a, kind, bins, edges=None, uniform=None):
    """One more counter holds the rest, whatever it is."""
    inside = raw(row, a, kind, bins, edges, uniform)
    poison(np.append(inside, 0))
    got = raw(row, a, kind, bins, edges, uniform, outside=True)
    assert_same(got, np.append(inside, a.size - inside.sum()))


def adversaries(n):
    """Integers in 0 .. 4095 that stand in each other's way: equal, in turns, in one bank."""
    draw = np.random.default_rng(n)
    yield np.full(n, 5)
    yield np.arange(n) % 2 * 4095
    yield draw.integers(0, 4096, n)
    yield draw.integers(0, 128, n) * 32
    yield np.sort(draw.integers(0, 4096, n))
    yield np.where(draw.random(n) < 0.5, 77, draw.integers(0, 4096, n))


@pytest.mark.parametrize("n", sizes(0, 1, 31, 32, 33, 255, 256, 257, 513, 1025, 2**18 + 1))
@each_dtype()
def test_every_rung_counts_equal_bins(row, dtype, n):
    for a in (few_values(dtype, n, seed=n), np.full(n, 1, dtype)):
        for bins in (1, 10, 1600):
            check(row, a, bins, (-2, 3))
    if dtype not in FLOATS:
        check(row, values(dtype, n, seed=n), 37, (-30, 50))


@pytest.mark.parametrize("n", sizes(0, 1, 33, 1025))
@each_dtype()
def test_every_rung_counts_between_given_edges(row, dtype, n):
    a = values(dtype, n, seed=n)
    check(row, a, [-3, 0, 1, 2, 3])
    check(row, a, [-100.0, -0.5, 0.0, 0.0, 1.5, 300.0])
    check(row, a, np.linspace(-3, 3, 3001))


@each()
def test_every_rung_counts_what_stands_in_the_way(row):
    for n in (33, 1000, 4999):
        for a in adversaries(n):
            for dtype in ("int16", "int64"):
                got = row.run("bincount", a.astype(dtype), minlength=4096)
                assert_same(got, np.bincount(a, minlength=4096))
            check(row, a.astype(np.float32), 1000, (0, 4096))


@each()
def test_every_rung_has_as_many_bins_as_are_wanted(row):
    """To the last that shared memory holds, and beyond."""
    most = MOST.get(row.name, 1000)
    for bins in (most - 1, most, most + 1, 3 * most, 100_003):
        a = np.array([0, bins - 1, bins // 2, bins - 1, 0, 0], np.int32)
        want = np.bincount(a, minlength=bins)
        poison(want)
        assert_same(row.run("bincount", a, minlength=bins), want)
        more = np.append(a, [-1, bins, bins + 1, 2**31 - 1, bins]).astype(np.int32)
        check_outside(row, more, "values", bins)


@each_dtype()
def test_every_rung_counts_what_is_in_no_bin(row, dtype):
    a = np.concatenate([values(dtype, 300), few_values(dtype, 333)])
    if dtype in FLOATS:
        a = np.concatenate([a, np.resize(special_floats(dtype), 70)])
    check_outside(row, a, "edges", 3, np.array([-1.0, 0.5, 1.0, 2.5]))
    if dtype not in FLOATS:
        check_outside(row, a, "values", 2)
        check_outside(row, a, "values", 1600)
    element = np.dtype(dtype if dtype in FLOATS else "float64")
    edges = np.linspace(-2, 2, 8, dtype=element)
    uniform = (-2.0, 2.0, 4.0, 2**64 - 2 if dtype[0] == "i" else 0, 2, element, element)
    check_outside(row, a, "uniform", 7, edges, uniform)


@each_dtype(FLOATS)
def test_nan_and_infinity_lie_in_no_bin(row, dtype):
    a = np.tile(special_floats(dtype), 30)
    for bins in (7, 2000, 20_000):
        check(row, a, bins, (-2.0, 2.0))


@each()
def test_every_rung_goes_on_counting_piece_by_piece(row, setting):
    setting("WARPKIT_PIECE", "1024")
    a = values("float32", 4001)
    for bins in (10, 20_000):
        check(row, a, bins, (-2.0, 2.0))
    few = abs(few_values("int16", 4999))
    for bins in (4, 20_000):
        assert_same(row.run("bincount", few, minlength=bins), np.bincount(few, minlength=bins))
    check_outside(row, a, "edges", 2, np.array([-1.0, 0.0, 1.0]))


@each()
def test_every_rung_takes_views(row):
    a = values("float32", (9, 70, 5), seed=3)
    there = warpkit.asarray(a, device=row.device)
    for cut in (np.s_[1:], np.s_[:, 3:], np.s_[::2, ::-1], np.s_[..., ::3], np.s_[2, 1:, 0]):
        for view, same in ((a[cut], there[cut]), (a[cut].T, there[cut].T)):
            want, _ = reference.histogram(view, 50, (-2.0, 2.0))
            assert_same(row(view, 50, (-2.0, 2.0))[0], want)
            assert_same(row(same, 50, (-2.0, 2.0))[0].numpy(), want)
    odd = np.empty(4 * 600 + 1, np.uint8)[1:].view(np.float32)
    odd[:] = values("float32", 600)
    check(row, odd, 50, (-2.0, 2.0))


@each()
def test_no_rung_takes_weights(row):
    words = f"'{row.name}' of histogram only counts; weights need the production kernel"
    a = np.array([0.5, 1.5, 0.7])
    edges, weights = np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 4.0])
    for bins in (edges, np.linspace(0.0, 2.0, 20_001)):
        with pytest.raises(ValueError, match=words):
            raw(row, a, "edges", len(bins) - 1, bins, weights=weights, sums=np.dtype("float64"))
    check(row, a, edges)  # the next call works


def test_the_rungs_are_the_ladders():
    names = [row.name for row in RUNGS if row.device == RUNGS[0].device]
    assert tuple(names) == LADDER
    assert all(row.dtypes == DTYPES for row in RUNGS)
