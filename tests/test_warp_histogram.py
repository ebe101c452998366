"""Per-warp histograms: every row, of every dtype it takes, against its oracle."""

import numpy as np
import pytest
import warpkit
from helpers import (
    DTYPES,
    REALS,
    SORTED_ONLY,
    assert_same,
    check_warps,
    few_values,
    in_sorted_warps,
    poison,
    raw_bits,
    rows,
    rows_by_dtype,
    sizes,
    special_floats,
    values,
)
from warpkit import reference

ALL = (*DTYPES, "float16", "bfloat16")
ROWS = rows("warp_histogram")
# Around a group, a warp's eight groups, and a block's tile of 16 such warps.
SIZES = (0, 1, 5, 31, 32, 33, 255, 256, 257, 513, 4095, 4097)
SOME = ("bool", "int8", "int32", "int64", "float16", "float32", "float64")  # of the rungs


def each(rungs=ROWS):
    return pytest.mark.parametrize("row", rungs, ids=str)


def each_dtype(*names):
    chosen = [
        p
        for p in rows_by_dtype("warp_histogram", ALL)
        if p.values[1] in (names or (ALL if p.values[0].production else SOME))
    ]
    return pytest.mark.parametrize(("row", "dtype"), chosen)


def check(row, a):
    """As it is, if the row sorts, and in ascending groups."""
    if row.name not in SORTED_ONLY:
        check_warps(row, a)
    check_warps(row, in_sorted_warps(a), assume_sorted=True)


def ends(dtype):
    """What a type has at its ends, and next to zero."""
    if dtype in REALS:
        return special_floats(dtype)
    if dtype == "bool":
        return np.array([False, True])
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)


def adversaries(dtype, n):
    """Few and many distinct values, in orders that a network or a run could get wrong."""
    alternating = np.resize(ends(dtype)[[0, -1]], n)
    every = values(dtype, n, seed=n)
    yield from (every, in_sorted_warps(every)[::-1], few_values(dtype, n), alternating)
    yield raw_bits(dtype, n)
    for one in ends(dtype):
        yield np.full(n, one)
    few = np.full(n, 1, dtype)
    few[n // 2 :: 33] = 0  # a single other value, at another lane of each group
    yield few


@pytest.mark.parametrize("n", sizes(*SIZES, 2**18 + 1))
@each_dtype()
def test_every_row_counts_per_warp(row, dtype, n):
    kinds = list(adversaries(dtype, n))
    for a in kinds if n < 1000 else kinds[:3]:
        check(row, a)


@each_dtype()
def test_every_number_of_elements_of_a_short_group(row, dtype):
    """The largest key is what fills it, and the smallest bits are what lies behind its end."""
    draw = np.random.default_rng(0)
    for n in range(1, 65):
        check(row, draw.choice(ends(dtype), n))
        check(row, np.zeros(n, dtype))


@each_dtype()
def test_every_place_where_runs_can_begin(row, dtype):
    """Two values, one boundary; then boundaries at random."""
    two = np.array([0, 1], dtype)
    check(row, two[(np.arange(32) >= np.arange(33)[:, None]).astype(int)])
    if dtype == "bool":
        return
    steps = np.random.default_rng(1).random((60, 32)) < np.linspace(0, 1, 60)[:, None]
    check(row, np.cumsum(steps, axis=1).astype(dtype))


@each_dtype()
def test_values_assumed_sorted_are_taken_as_they_come(row, dtype):
    for n in (40, 1000):
        check_warps(row, few_values(dtype, n), assume_sorted=True)
        check_warps(row, np.resize(np.array([1, 1, 0, 1, 0, 0, 0], dtype), n), assume_sorted=True)


@each_dtype(*REALS)
def test_floats_are_counted_by_value(row, dtype):
    """Both zeros are one value, 0.0; NaN of any bits and sign are one value, the quiet one."""
    zeros = np.array([0.0, -0.0, -0.0, 0.0], dtype)
    got = row(zeros, assume_sorted=True)
    assert got.totals[0] == 1
    assert got.counts[0, 0] == 4
    assert not got.values.view(f"u{zeros.itemsize}").any()
    nans = special_floats(dtype)
    nans = np.resize(nans[np.isnan(nans)], 50)
    assert len(np.unique(nans.view(f"u{nans.itemsize}"))) > 1
    got = row(nans, assume_sorted=True)
    assert got.totals.tolist() == [1, 1]
    assert got.counts[:, 0].tolist() == [32, 18]
    one = reference._one_nan(nans[:1])
    assert got.values[:, 0].tobytes() == np.resize(one, 2).tobytes()
    for seed in range(20):
        check(row, np.random.default_rng(seed).choice(special_floats(dtype), 70))


@each([row for row in ROWS if "bool" in row.dtypes])
def test_any_byte_but_zero_is_true(row):
    a = np.arange(64, dtype=np.uint8).view(bool)
    got = row(a, assume_sorted=True)
    assert got.totals.tolist() == [2, 1]
    assert got.counts[:, :2].tolist() == [[1, 31], [32, 0]]
    assert got.values.view(np.uint8)[:, :3].tolist() == [[0, 1, 0], [1, 0, 0]]


@each([row for row in ROWS if row.name in SORTED_ONLY])
def test_rungs_that_do_not_sort_say_what_they_need(row):
    words = f"'{row.name}' of warp_histogram does not sort; it needs assume_sorted=True"
    for a in (np.ones(3, np.int32), np.arange(100.0), warpkit.asarray([2, 1], device=row.device)):
        with pytest.raises(ValueError, match=words):
            row(a)
    check_warps(row, np.arange(100.0), assume_sorted=True)  # the next call works


@each()
def test_complex_numbers_have_no_order(row):
    with pytest.raises(TypeError, match=f"{row.name}.*complex64"):
        row(np.ones(3, np.complex64), assume_sorted=True)


@each_dtype("bool", "int16", "float32", "uint64")
def test_every_row_takes_views(row, dtype):
    a = few_values(dtype, (9, 70, 5), seed=3)
    there = warpkit.asarray(a, device=row.device) if row.device != "cpu" else a
    for cut in (np.s_[1:], np.s_[:, 3:], np.s_[::2, ::-1], np.s_[..., ::3], np.s_[2, 1:, 0]):
        for view, same in ((a[cut], there[cut]), (a[cut].T, there[cut].T)):
            ascending = row.name in SORTED_ONLY
            check_warps(row, view, ascending)  # as it comes
            order = "appearance" if row.name == "match_any" else "value"
            want = reference.warp_histogram(view, ascending, order)
            for mine, theirs in zip(row(same, assume_sorted=ascending), want, strict=True):
                assert_same(np.asarray(mine.numpy() if row.device != "cpu" else mine), theirs)


@each_dtype("int16", "uint32", "float64")
def test_every_row_takes_elements_at_odd_addresses(row, dtype):
    a = few_values(dtype, 600)
    for skipped in (1, 3):
        raw = np.empty(a.nbytes + skipped, np.uint8)
        odd = raw[skipped:].view(dtype)
        odd[:] = a
        assert odd.ctypes.data % odd.itemsize
        check(row, odd)
    if row.device != "cpu":  # of the device's addresses only those of elements are odd
        for first in (1, 2, 3, 5):
            view = warpkit.asarray(in_sorted_warps(a), device=row.device)[first:]
            order = "appearance" if row.name == "match_any" else "value"
            want = reference.warp_histogram(view.numpy(), True, order)
            for mine, theirs in zip(row(view, assume_sorted=True), want, strict=True):
                assert_same(mine.numpy(), theirs)


@each()
def test_every_row_writes_where_it_is_told(row):
    a = in_sorted_warps(few_values("int64", 333))
    order = "appearance" if row.name == "match_any" else "value"
    want = reference.warp_histogram(a, True, order)
    out = tuple(np.full_like(part, 77) for part in want)
    poison(*want)
    got = row(a, assume_sorted=True, out=out)
    for mine, given, theirs in zip(got, out, want, strict=True):
        assert mine is given
        assert_same(given, theirs)


@pytest.mark.parametrize("piece", [1024, 5000])
@each([row for row in ROWS if row.device != "cpu"])
def test_every_row_goes_on_piece_by_piece(row, piece, setting):
    setting("WARPKIT_PIECE", str(piece))
    for dtype, n in (("int32", 4000), ("uint8", 4999), ("float64", 1025)):
        check(row, few_values(dtype, n))


def test_the_rows_are_the_ladders():
    cuda = [v.name for v in warpkit.variants("warp_histogram") if v.device == "cuda"]
    assert cuda == [*SORTED_ONLY, "match_any", "bitonic"]
    assert {row.name for row in ROWS if row.device != "cpu"} <= set(cuda)
    for row in ROWS:
        if row.device != "cpu":
            assert set(row.dtypes) == set(ALL)
