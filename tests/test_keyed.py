"""dot, segments, groups and prefixes: every row against its oracle, and what they refuse."""

import time

import numpy as np
import pytest
import warpkit
from helpers import (
    ALL_DTYPES,
    COMPLEX,
    INTEGERS,
    REALS,
    assert_same,
    poison,
    rows,
    rows_by_dtype,
    settings,
    special_floats,
    values,
)
from warpkit import _core, _keyed, reference

OPS = ("sum", "mean", "var", "std", "sumsq", "norm", "min", "max", "ptp", "argmin", "argmax")
OPS += ("any", "all", "count_nonzero", "count")
FEW = ("float32", "float64", "int32")


def wide(dtype, n, binades, seed=0):
    """Floats whose exponents lie so far apart."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n) * np.exp2(rng.integers(-binades // 2, binades // 2 + 1, n))
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    x[~np.isfinite(x)] = 1
    return x


def check(row, function, *args, oracle=None, **kwargs):
    want = (oracle or getattr(reference, function))(*args, **kwargs)
    poison(want)
    assert_same(row.run(function, *args, **kwargs), want)


# ---- dot ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, 33, 257, 4097])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("dot", ALL_DTYPES))
def test_dot_is_the_exact_sum_of_products(row, dtype, n):
    check(row, "dot", values(dtype, n, seed=1), values(dtype, n, seed=2))


@pytest.mark.parametrize("binades", [60, 240, 1900])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("dot", (*REALS, *COMPLEX)))
def test_dot_of_any_exponents_is_exact(row, dtype, binades):
    """Products that overflow, underflow, and cancel."""
    real = np.zeros(0, dtype).real.dtype if dtype in COMPLEX else np.dtype(dtype)
    x, y = (wide(real, 600, binades, seed) for seed in (1, 2))
    x, y = np.concatenate([x, x]), np.concatenate([y, -y])
    x[5] = np.nextafter(x[5], real.type(2)) if real != "bfloat16" else x[6]
    if dtype in COMPLEX:
        x, y = (x + 1j * x[::-1]).astype(dtype), (y - 1j * x).astype(dtype)
    check(row, "dot", x, y)


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dot_of_what_doubles_do_not_hold(row):
    big, least = np.finfo("f8").max, 5e-324
    for x, y in (
        ([big, -big, 1.0], [big, big, 3.0]),
        ([big, big], [2.0, -2.0]),
        ([big, big], [2.0, 2.0]),
        ([least, 1.0], [least, 0.0]),
        ([-least], [0.25]),
        ([least] * 4, [0.125] * 4),
        ([1 + 2.0**-52, -1.0], [1 + 2.0**-52, 1 + 2.0**-51]),
        ([-0.0, -0.0], [1.0, 1.0]),
        ([np.inf, 1.0], [1.0, 1.0]),
        ([np.inf, 1.0], [0.0, 1.0]),
        ([np.inf, np.inf], [1.0, -1.0]),
        ([np.nan, np.inf], [1.0, 1.0]),
        ([big, np.inf], [big, -1.0]),
        ([0.0, 0.0], [np.inf, 1.0]),
        ([0.0, np.nan], [0.0, 1.0]),
    ):
        check(row, "dot", np.array(x), np.array(y))
    tiny = np.array([-(2.0**-24), 0], "f2")  # squared it is zero, of a sign
    for x in (tiny, -tiny):
        check(row, "dot", x, np.abs(tiny))
    x = special_floats("float32")
    for one in x:
        check(row, "dot", np.array([one, 1], "f4"), np.array([1, 0.5], "f4"))


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dots_of_many_lines_that_only_integers_tell(row):
    x, y = (wide("float64", 300 * 8, 1900, seed).reshape(300, 8) for seed in (3, 4))
    x[::3] = 1.0, 2.0, 1e300, 1e200, 3.0, 5e-324, -1e300, -1e200
    y[::3] = 1
    check(row, "dot", np.concatenate([x, x[:, :7]], 1), np.concatenate([y, -y[:, :7]], 1), 1)


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dots_of_blocks_that_differ(row):
    """Products are larger, smaller, zeros, all of a sudden; of some sums only integers tell."""
    rng = np.random.default_rng(7)
    n = 9 * 2048 + 5
    x, y = (rng.standard_normal(n) * np.exp2(np.repeat(rng.permuted(range(-90, 100, 19)), 2048)[:n])
            for _ in range(2))  # fmt: skip
    x[2048:4096] = y[5000:7000] = 0
    for dtype in ("float32", "float64"):
        a, b = x.astype(dtype), y.astype(dtype)
        check(row, "dot", a, b)
        check(row, "dot", np.concatenate([a, a, a[:1]]), np.concatenate([b, -b, b[:1]]))
        check(row, "dot", np.rint(a[:600]), np.rint(b[:600]))
    check(row, "vdot", x + 1j * y, y - 1j * x, oracle=lambda a, b: reference.dot(a, b, None, True))


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dots_that_are_nearly_ties(row):
    """To what side is less than what is rounded off on the way."""
    rng = np.random.default_rng(9)
    for k in (99, 103, 105, 107, 112, 140):
        x, y = (rng.standard_normal(300) for _ in range(2))
        x = np.concatenate([x, x, [1, 2.0**-53, rng.choice([-1, 1]) * 2.0**-k]])
        y = np.concatenate([y, -y, np.ones(3)])
        order = rng.permutation(603)
        for far in (1, 2.0**-500):  # then what is less is no double
            a, b = far * x[order], far * y[order]
            check(row, "dot", a, b)
            check(row, "dot", (1 + 1j) * a, b.astype("c16"))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", *COMPLEX])
@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dots_of_many_short_lines(row, dtype):
    for lines, n in ((1100, 3), (2100, 33)):
        x, y = (values(dtype, lines * n + 1, seed=seed) for seed in (1, 2))
        for first in (0, 1):
            a, b = (z[first : first + lines * n].reshape(lines, n) for z in (x, y))
            check(row, "dot", a, b, 1)
    check(row, "dot", a, y[:-1].reshape(lines, n), 1)  # which line up at no vector


@pytest.mark.large
@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dots_in_parts(row):
    rng = np.random.default_rng(8)
    x, y = (rng.standard_normal((3, 300_001)) for _ in range(2))
    x[1, 150_000:] = x[1, :150_001]
    y[1, 150_000:] = -y[1, :150_001]
    y[1, 299_999] = 2.0**-500
    check(row, "dot", x, y, 1)


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dot_of_an_array_with_itself_is_its_sum_of_squares(row):
    for dtype in ("float32", "float64"):
        x = values(dtype, 300_001, seed=3)
        assert_same(row(x, x), warpkit.reduce(x, "sumsq", device="cpu"))


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_dot_takes_axes_strides_and_shapes_as_numpy(row):
    a, b = values("float32", (6, 5, 40)), values("float32", (5, 1), seed=1)
    check(row, "dot", a, values("float32", (5, 40), seed=1), -1)
    check(row, "dot", a, b, -2)
    check(row, "dot", a[::2, ::-1], values("float64", (5, 40), seed=2)[:, ::-1], axis=-1)
    check(row, "dot", values("int8", 9), values("float32", 9))
    x, y = values("float32", 5001, seed=4), values("float32", 5001, seed=5)
    check(row, "dot", x[1:], y[:-1])  # which line up at no vector
    out = np.empty((6, 5), "f4")
    assert row(a, a, axis=2, out=out) is out
    assert_same(out, reference.dot(a, a, 2))
    x, y = values("complex64", (3, 4)), values("complex64", (4, 3), seed=1)
    assert_same(row.run("vdot", x, y), reference.dot(x.ravel(), y.ravel(), None, True))
    assert_same(row.run("vdot", x, x, axis=0), reference.dot(x, x, 0, True))
    assert row(np.ones(3), np.ones(3)) == 3.0


def test_auto_weighs_both_arrays_of_a_dot(monkeypatch):
    weighed = []

    def cpu(op, device, nbytes):
        weighed.append(nbytes)
        return "cpu"

    monkeypatch.setattr(_keyed, "named", cpu)
    x = np.ones(100)
    for more in ({}, {"out": np.empty(())}):  # at once, and as any arrays
        assert warpkit.dot(x, x, device="auto", **more) == 100
        assert set(weighed) == {1600}


def test_dot_refuses_what_numpy_refuses(device):
    with pytest.raises(ValueError, match=r"not aligned: 3 != 4"):
        warpkit.dot(np.ones(3), np.ones(4), device=device)
    with pytest.raises(ValueError, match=r"numpy\.matmul"):
        warpkit.dot(np.ones((2, 2)), np.ones((2, 2)), device=device)
    with pytest.raises(ValueError, match=r"numpy\.multiply"):
        warpkit.dot(2.0, np.ones(2), device=device)
    with pytest.raises(ValueError, match="broadcast"):
        warpkit.dot(np.ones((2, 4)), np.ones((3, 4)), -1, device=device)
    with pytest.raises(np.exceptions.AxisError):
        warpkit.dot(np.ones(3), np.ones(3), 1, device=device)


# ---- segments and groups -----------------------------------------------------------------------


def cuts_of(n, rng, segments):
    """Offsets with segments of no element, of one, and some long ones."""
    cuts = np.sort(rng.integers(0, n + 1, segments - 1))
    return np.concatenate([[0], cuts[: segments // 2], cuts[segments // 2 :], [n]])


def ops_of(dtype):
    return [op for op in OPS if not (op == "ptp" and dtype == "bool")]


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("segment_reduce", ALL_DTYPES))
def test_segments_are_reduced_one_by_one(row, dtype):
    rng = np.random.default_rng(1)
    a = values(dtype, 9001, seed=1)
    offsets = np.unique(cuts_of(9001, rng, 30))
    for op in ops_of(dtype):
        check(row, "segment_reduce", a, offsets, op)


@pytest.mark.parametrize("row", rows("dot"), ids=str)
def test_products_that_no_lane_holds_decide_a_tie(row):
    """1 and almost half a unit of float32; some that are rounded off, one by one, make it more."""
    x, y = np.zeros((2, 2048), "float32")
    x[0] = y[0] = y[32] = 1
    x[32] = 2**-24 * (1 - 2**-24)
    check(row, "dot", x, y)
    x[64::32], y[64::32] = 2**-27 * 1.25, 2**-27 * 1.5
    check(row, "dot", x, y)
    assert reference.dot(x, y) > 1
    x, y = np.ones((2, 9, 64))  # rows, of float64
    x[:, 1:3] = y[:, 1:3] = 2**-27 * (1 - 2**-50)
    x[:, 3:], y[:, 3:] = 2**-54, 2**-54 * (1.9 * np.arange(9)[:, None] / 8)
    check(row, "dot", x, y, axis=1)


@pytest.mark.parametrize(
    ("row", "dtype"),
    rows_by_dtype("dot", ("float16", "bfloat16", "float32", "float64", "complex64")),
)
def test_products_next_to_a_tie(row, dtype):
    """1, half a unit, and what no double has beside these: above, below, and not there."""
    half = {"float16": 11, "bfloat16": 8, "float64": 53}.get(dtype, 24)
    for least in (2.0**-20, -(2.0**-20), 0.0):
        x, y = np.zeros((2, 5000))
        x[0] = y[0] = 1
        x[1024], y[1024] = 2.0 ** -(half // 2), 2.0 ** (half // 2 - half)
        x[2048], y[2048] = (least, abs(least)) if dtype == "float16" else (least**3, 2.0**-50)
        check(row, "dot", x.astype(dtype), y.astype(dtype))
        check(row, "dot", np.stack([x, y]).astype(dtype), np.stack([y, y]).astype(dtype), axis=1)


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("segment_reduce", FEW))
def test_segments_of_any_lengths(row, dtype):
    """Many short ones, for which threads are enough; long ones, in parts; beginnings anywhere."""
    a = values(dtype, 70_001, seed=2)
    assert_same(row(a[:9000], np.arange(9001), "max"), a[:9000])
    check(row, "segment_reduce", a, [3, 70_001])
    check(row, "segment_reduce", a, [0, 0, 1, 40_007, 40_007, 70_001])
    check(row, "segment_reduce", a[:400], np.arange(5, 390, 3).astype("u2"), "var", ddof=1)
    check(row, "segment_reduce", a[:0], [0, 0, 0])
    check(row, "segment_reduce", a, [7])


def offsets_of_many(many, least):
    """Most are short; some are too long for a thread, one of them lies in several warps' shares."""
    lengths = np.random.default_rng(5).integers(least, 40, many)
    lengths[::500] = 1020 + np.arange(many // 500) % 10
    lengths[77] = 40_000
    return np.r_[1, 1 + np.cumsum(lengths)]


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("segment_reduce", FEW))
def test_many_segments_of_all_lengths(row, dtype):
    offsets = offsets_of_many(5000, 0)
    check(row, "segment_reduce", values(dtype, offsets[-1] + 2, seed=6), offsets)


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("segment_reduce", ALL_DTYPES))
def test_segments_of_equal_lengths_stand_apart(row, dtype):
    """Short ones of few lengths, which are folded together, and one of each other kind."""
    rng = np.random.default_rng(8)
    for lengths, least in (([1, 4, 9, 33, 300], 1), ([2, 0, 17], 0), ([5], 5)):
        at = rng.choice(lengths, 90, p=np.r_[np.full(len(lengths), 1 / len(lengths))])
        at[40:43] = max(least, 1), 5000, 70
        offsets = 3 + np.r_[0, np.cumsum(at)]
        a = values(dtype, offsets[-1] + 2, seed=9)
        needs_one = ("argm", "min", "max", "ptp") if a.dtype.kind in "biu" else ("argm",)
        for op in ops_of(dtype):
            if least or not op.startswith(needs_one):
                check(row, "segment_reduce", a, offsets, op)
        if least:
            check(row, "segment_reduce", a, offsets, "var", ddof=1)


@pytest.mark.parametrize("row", rows("segment_reduce"), ids=str)
def test_segments_of_which_some_are_no_plain_sums(row):
    """Of what is folded together some take an accumulator, for NaN, or exponents that lie apart."""
    a = np.random.default_rng(10).standard_normal(4000)
    a[1000:1100] *= 2.0 ** np.arange(-400, 500, 9)
    a[[2000, 2500]] = np.nan, np.inf
    a[3000:3200] = -0.0
    for n in (1, 4, 25):
        for op in ("sum", "mean", "std", "norm", "min", "ptp", "argmax"):
            check(row, "segment_reduce", a, np.arange(0, 4000, n), op)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("row", rows("segment_reduce"), ids=str)
def test_segments_for_all_threads_of_a_gpu(row, dtype):
    offsets = offsets_of_many(70_000, 1)
    a = np.random.default_rng(6).integers(-99, 99, offsets[-1] + 2).astype(dtype)
    want = np.add.reduceat(a, offsets[:-1])
    want[-1] = a[offsets[-2] : offsets[-1]].sum()
    assert_same(row(a, offsets), want)


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex128"])
@pytest.mark.parametrize("row", rows("segment_reduce"), ids=str)
def test_long_segments_among_many_short_ones(row, dtype):
    lengths = np.random.default_rng(2).integers(0, 6, 3000)
    lengths[[0, 1000, 1001, 2999]] = 20_000, 70_000, 1_500, 9_000
    offsets = np.concatenate([[0], np.cumsum(lengths)]) + 40_000  # what lies before is nobody's
    a = np.random.default_rng(3).integers(-99, 99, offsets[-1] + 60_000).astype(dtype)
    within, kind = a[: offsets[-1]], np.int64 if dtype == "int16" else a.dtype
    sums = np.add.reduceat(within, offsets[:-1], dtype=kind)
    sums[lengths == 0] = 0
    assert_same(row(a, offsets), sums)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8"])
def test_what_lies_at_any_address_of_a_device(device, dtype):
    """Vectors of 16 bytes have elements that are others'; those of two arrays need not line up."""
    if device == "cpu":
        pytest.skip("arrays do not lie there")
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-9, 9, 200_000).astype(dtype) for _ in range(2))
    a, b = (warpkit.asarray(v, device=device) for v in (x, y))

    def rounded(exact, dtype):
        return exact.astype(dtype) if dtype[0] == "c" else exact.real.astype("i8").astype(dtype)

    for first, second, lines, n in ((1, 1, 2, 70_001), (3, 0, 2, 70_001), (1, 2, 300, 37)):
        p, q = x[first:][: lines * n].astype("c16"), y[second:][: lines * n]
        of = (v[at:][: lines * n].reshape(lines, n) for v, at in ((a, first), (b, second)))
        want = np.add.reduce((p * q).reshape(lines, n), 1)
        assert_same(np.asarray(warpkit.dot(*of, axis=1)), rounded(want, dtype))
    offsets = np.array([0, 5, 70_000, 70_001, 90_000])
    for first in (1, 2, 7):
        want = np.add.reduceat(x[first:][:90_000].astype("c16"), offsets[:-1])
        got = np.asarray(warpkit.segment_reduce(a[first:], offsets))
        assert_same(got, rounded(want, "i8" if dtype == "int8" else dtype))


@pytest.mark.parametrize("row", rows("segment_reduce"), ids=str)
def test_segments_whose_sums_cancel_take_integers(row):
    a = np.array([1e300, 1e200, 1e100, 1, -1e300, -1e200, -1e100, 3.0, 1e308, 1e308, -1e308, 0.1])
    for op in ("sum", "mean", "var", "norm"):
        check(row, "segment_reduce", a, [0, 7, 8, 12], op)
        check(row, "segment_reduce", wide("float32", 3000, 200), [0, 10, 1500, 3000], op)
        many = a[:7] * 2.0 ** np.arange(-300, 0)[:, None]
        check(row, "segment_reduce", many.ravel(), np.arange(0, 2101, 7), op)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_groups_are_reduced_one_by_one(device, dtype):
    rng = np.random.default_rng(3)
    keys, a = rng.integers(0, 20, 5003), values(dtype, 5003, seed=3)
    for i, op in enumerate(ops_of(dtype)):
        of = keys.astype(INTEGERS[1 + i % 8])
        want = reference.group_reduce(of, a, op)
        assert_same(warpkit.group_reduce(of, a, op, device=device), want)


def test_groups_of_any_keys(device):
    a = values("float32", 30_001, seed=4)
    for keys, groups in (
        (np.full(30_001, 5), 9),
        (np.arange(30_001) % 3 == 0, None),
        (np.sort(np.arange(30_001) % 300), 300),
        (np.arange(30_001)[::-1], None),
    ):
        for op in ("sum", "max"):
            got = warpkit.group_reduce(keys, a, op, groups, device=device)
            n = len(got)
            assert n == (groups or keys.max() + 1)
            for g in (0, n // 2, n - 1):
                assert_same(got[g], reference.group_reduce(keys == g, a, op, 2)[1])
    keys, shaped = np.arange(12).reshape(3, 4) % 5, values("int32", (4, 3)).T
    want = reference.group_reduce(keys, shaped, "argmax")
    assert_same(warpkit.group_reduce(keys, shaped, "argmax", device=device), want)
    assert_same(warpkit.group_reduce([], [], device=device), np.zeros(0))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("groups", [3, 3000, 60_000])
def test_means_and_extremes_of_groups_take_no_sort(device, dtype, groups):
    """In tables on chip and in the L2, of elements of all exponents."""
    rng = np.random.default_rng(groups)
    n = 4000 if groups == 60_000 else 30_011
    keys = rng.integers(0, groups, n)
    a = values(dtype, n, seed=groups)
    if dtype in REALS:
        a[: n // 2] = wide(dtype, n // 2, 400, seed=groups)
        a[keys == keys[0]] = -0.0
    some = np.unique(np.r_[keys[:40], groups - 1])
    for op in ("mean", "min", "max"):
        if dtype in COMPLEX and op != "mean":
            continue
        there = keys
        if a.dtype.kind in "biu" and op != "mean":  # which need an element each
            there = np.where(np.arange(n) < min(groups, n), np.arange(n), keys)
            if groups > n:
                continue
        got = warpkit.group_reduce(there, a, op, groups, device=device)
        for g in some:
            own = there == g
            want = reference.group_reduce(np.zeros(own.sum(), int), a[own], op, 1)
            assert_same(got[g : g + 1], want)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d not in COMPLEX])
@pytest.mark.parametrize("groups", [3, 700, 9000])
def test_places_and_truths_of_groups_take_no_sort(device, dtype, groups):
    """Many equal elements, zeros of both signs, NaN in some groups."""
    rng = np.random.default_rng(groups)
    n = 20_011
    keys = rng.permutation(np.r_[np.arange(groups), rng.integers(0, groups, n - groups)])
    a = rng.integers(0, 3, n).astype(dtype)
    if dtype in REALS:
        a[a == 0] *= rng.choice([-1, 1], np.count_nonzero(a == 0)).astype(dtype)
        odd = keys % 5 == 1
        a[odd] = rng.choice(special_floats(dtype)[:5], np.count_nonzero(odd))
    for op in ("argmin", "argmax", "any", "all"):
        want = reference.group_reduce(keys, a, op, groups)
        assert_same(warpkit.group_reduce(keys, a, op, groups, device=device), want)
    for op, nothing in (("any", False), ("all", True)):
        got = warpkit.group_reduce(keys[:5], a[:5], op, groups + 3, device=device)
        assert np.asarray(got).dtype == bool
        assert np.all(np.asarray(got)[groups:] == nothing)
    with pytest.raises(ValueError, match=f"argmax of an empty sequence: group {groups} is empty"):
        warpkit.group_reduce(keys, a, "argmax", groups + 2, device=device)


@pytest.mark.parametrize("op", ["mean", "min", "max", "argmax", "all"])
def test_groups_of_keys_and_elements_of_any_address(device, op):
    rng = np.random.default_rng(5)
    for key in INTEGERS:
        groups = 2 if key == "bool" else 100
        for first, dtype in ((1, "float32"), (3, "float64"), (1, "float16"), (2, "int8")):
            keys = rng.integers(0, 100, 2111).astype(key)
            keys[:103] = np.arange(103) % groups
            a = values(dtype, 2111, seed=first)
            places = [x[first:] for x in (keys, a)]
            if device != "cpu":
                places = [warpkit.asarray(x, device=device)[first:] for x in (keys, a)]
            got = warpkit.group_reduce(*places, op, groups)
            want = reference.group_reduce(keys[first:], a[first:], op, groups)
            assert_same(np.asarray(got), want)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_means_of_groups_of_zeros_have_their_sign(device, dtype):
    """Of nothing but -0.0, of zeros of both signs, of what cancels, of parts, of tiny ones."""
    keys = np.arange(70) % 7
    a = np.zeros(70, dtype)
    a[keys < 3] = -0.0
    a[keys == 1] *= np.where(np.arange(10) == 4, -1, 1).astype(dtype)
    a[keys == 4] = np.where(np.arange(10) % 2, 1, -1).astype(dtype)
    a[keys == 5] = 3
    if dtype in COMPLEX:
        a.imag[keys == 5] = -0.0
        a.imag[keys == 6] = -0.0
    elif dtype != "bfloat16":
        a[62] = -np.finfo(dtype).smallest_subnormal  # of group 6, whose mean is rounded to -0.0
    want = reference.group_reduce(keys, a, "mean", 9)
    assert_same(warpkit.group_reduce(keys, a, "mean", 9, device=device), want)
    assert np.signbit(want.real[0])
    assert not np.signbit(want.real[3])


def test_extremes_of_groups_in_order_and_of_nan(device):
    """All keys equal, elements that rise and fall, infinities, zeros of both signs."""
    n = 40_000
    for dtype in ("float32", "int64", "uint16", "float64"):
        rising = np.arange(n).astype(dtype)
        for a in (rising, rising[::-1].copy()):
            for keys in (np.full(n, 2), np.arange(n) // 10_000, np.arange(n) % 3):
                groups = int(keys.max()) + 1
                keys[:groups] = np.arange(groups)
                for op in ("min", "max", "argmin", "argmax"):
                    want = reference.group_reduce(keys, a, op)
                    assert_same(warpkit.group_reduce(keys, a, op, device=device), want)
    for dtype in REALS:
        a = special_floats(dtype)
        keys = np.arange(a.size) % 4
        for op in ("min", "max", "mean", "any", "all"):
            want = reference.group_reduce(keys, a, op, 6)
            assert_same(warpkit.group_reduce(keys, a, op, 6, device=device), want)
            alone = reference.group_reduce(np.arange(a.size), a, op)
            assert_same(warpkit.group_reduce(np.arange(a.size), a, op, device=device), alone)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_groups_of_the_least_numbers(device, dtype):
    """Whose unit has an inverse that is no number of the dtype."""
    rng = np.random.default_rng(8)
    keys = rng.integers(0, 3000, 30_011)
    a = rng.integers(-(1 << 20), 1 << 20, 30_011).astype(dtype) * np.finfo(dtype).smallest_subnormal
    for op in ("sum", "mean"):
        got = warpkit.group_reduce(keys, a, op, 3000, device=device)
        for g in (0, 1500, 2999):
            own = keys == g
            want = reference.group_reduce(np.zeros(own.sum(), int), a[own], op, 1)
            assert_same(got[g : g + 1], want)


def test_groups_of_bools_of_any_byte(device):
    bytes_of = np.random.default_rng(1).integers(0, 3, 500).astype("u1") * 85
    keys = np.arange(500) % 150
    for op in ("min", "max", "mean", "sum", "argmin", "argmax", "any", "all"):
        want = reference.group_reduce(keys, bytes_of != 0, op)
        assert_same(warpkit.group_reduce(keys, bytes_of.view(bool), op, device=device), want)


@pytest.mark.parametrize("op", ["mean", "min", "max"])
def test_groups_without_elements_and_stray_keys(device, op):
    a = np.arange(5.0, dtype="float32")
    got = warpkit.group_reduce(np.zeros(0, int), a[:0], op, 3, device=device)
    assert_same(got, np.full(3, np.nan, "float32"))
    assert warpkit.group_reduce(np.zeros(0, int), a[:0], op, device=device).shape == (0,)
    for keys in ([0, 1, 2, 3, 1], [0, 1, -1, 2, 0]):
        for kind in (a, a.astype(int)):  # also where a group is empty
            for dtype in ("int8", "int32", "int64"):
                with pytest.raises(ValueError, match=r"key (3|-1) at index (3|2) is none"):
                    warpkit.group_reduce(np.array(keys, dtype), kind, op, 3, device=device)


def test_folds_of_weights_that_are_not_taken_are_refused(device):
    keys, a, counts = np.arange(4), np.arange(4.0), np.ones(3, int)
    if device != "cpu":
        keys, a, counts = (warpkit.asarray(x, device=device) for x in (keys, a, counts))
    for kind, how, given, message in (
        ("values", ("float64", "var"), None, "the var of these weights is not taken"),
        ("values", ("float64", "median"), None, "unknown op 'median'"),
        ("values", ("float32", "max"), None, "the max of these weights is not taken"),
        ("edges", ("float64", "mean"), counts, "the mean of these weights is not taken"),
        ("values", ("float64", "mean"), counts, "a count of each bin"),
        ("values", ("float64", "mean"), a, "counts must be int64"),
    ):
        with pytest.raises(ValueError, match=message):
            _core.histogram(
                keys, kind, 4, given, None, a, how, False, True, None, device, None, None, None
            )


def test_empty_segments_and_groups(device):
    a, nan = np.array([1.0, 2.0, 4.0]), np.nan
    found = {
        "sum": 0,
        "mean": nan,
        "var": nan,
        "min": nan,
        "max": nan,
        "any": 0,
        "all": 1,
        "count": 0,
    }
    for op, empty in found.items():
        got = warpkit.segment_reduce(a, [0, 0, 3, 3], op, device=device)
        np.testing.assert_array_equal(got[[0, 2]], np.array([empty] * 2, got.dtype))
        same = warpkit.group_reduce([1, 1, 1], a, op, 3, device=device)
        np.testing.assert_array_equal(same, got)
    for op, kind in (("argmin", a), ("min", a.astype(int)), ("ptp", a.astype(int))):
        with pytest.raises(ValueError, match="segment 1 is empty"):
            warpkit.segment_reduce(kind, [0, 3, 3], op, device=device)
        with pytest.raises(ValueError, match="group 0 is empty"):
            warpkit.group_reduce([1, 1, 1], kind, op, device=device)


def test_offsets_and_keys_are_looked_at(device):
    a = np.arange(4.0)
    for offsets, message in (
        ([0, 3, 2, 4], r"offsets\[2\] is 2 after 3"),
        ([0, 2, 5], r"offsets\[2\] is 5 after 2"),
        ([-1, 2], r"offsets\[0\] is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            warpkit.segment_reduce(a, offsets, device=device)
    back_and_forth = np.tile([0, 9000], 40)  # more elements of long segments than there are
    with pytest.raises(ValueError, match=r"offsets\[2\] is 0 after 9000"):
        warpkit.segment_reduce(np.arange(9000.0), back_and_forth, device=device)
    for op in ("sum", "max", "count"):
        with pytest.raises(ValueError, match=r"key 7 at index 1 is none of 0 \.\. 2"):
            warpkit.group_reduce([0, 7, -1, 0], a, op, 3, device=device)
        with pytest.raises(ValueError, match="key -1 at index 2"):
            warpkit.group_reduce([0, 7, -1, 0], a, op, device=device)
    far = np.array([0, 2**63 + 1], np.uint64)
    with pytest.raises(ValueError, match=r"offsets\[1\] is 9223372036854775809 after 0"):
        warpkit.segment_reduce(a, far, device=device)
    with pytest.raises(ValueError, match="key 9223372036854775809 asks for more groups"):
        warpkit.group_reduce(far, a[:2], device=device)
    with pytest.raises(TypeError, match="float64"):
        warpkit.group_reduce(a, a, device=device)
    with pytest.raises(TypeError, match="offsets must be integers"):
        warpkit.segment_reduce(a, a, device=device)
    with pytest.raises(ValueError, match="do not go with"):
        warpkit.group_reduce([1, 2], a, device=device)
    with pytest.raises(ValueError, match="one axis"):
        warpkit.segment_reduce(a.reshape(2, 2), [0, 4], device=device)
    with pytest.raises(ValueError, match=r"unknown op 'prod'; there are: sum, .*count$"):
        warpkit.segment_reduce(a, [0, 4], "prod", device=device)
    with pytest.raises(ValueError, match="unknown op"):
        warpkit.group_reduce([0] * 4, a, "median", device=device)


@pytest.mark.parametrize(
    "op", ["sum", "mean", "min", "max", "count", "argmin", "argmax", "any", "all"]
)
def test_groups_are_those_of_pandas_where_it_is_exact(op):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    keys = rng.permutation(np.r_[np.arange(40), rng.integers(0, 40, 5000)])
    for dtype in ("float64", "int64", "uint8", "bool"):
        if op in ("argmin", "argmax") and dtype == "bool":
            continue
        a = rng.integers(0, 200, 5040).astype(dtype)  # integers of few bits: no sum is rounded
        theirs = pandas.Series(a).groupby(keys)
        found = getattr(theirs, {"argmin": "idxmin", "argmax": "idxmax"}.get(op, op))()
        np.testing.assert_array_equal(warpkit.group_reduce(keys, a, op), found.to_numpy())


# ---- prefixes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 33, 513, 4097])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("cumsum", ALL_DTYPES))
def test_every_prefix_is_rounded_once(row, dtype, n):
    check(row, "cumsum", values(dtype, n, seed=n))


@pytest.mark.parametrize("binades", [30, 90, 400])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("cumsum", REALS))
def test_prefixes_of_any_exponents(row, dtype, binades):
    x = wide(dtype, 1100, binades, seed=5)
    x[1::2] = -x[::2]
    x[700] = 0
    check(row, "cumsum", x)


@pytest.mark.parametrize("row", rows("cumsum"), ids=str)
def test_what_is_far_below_decides_a_tie(row):
    for dtype, digits in (("bfloat16", 8), ("float32", 24), ("float64", 53)):
        for sign in (1, -1):
            for tiny in (0, *(s * 2.0**-e for s in (1, -1) for e in (100, 108, 130))):
                for more in (0, 2.0 ** (1 - digits)):  # an even and an odd number below the tie
                    x = sign * np.array([1, more, 2.0**-digits, tiny])
                    check(row, "cumsum", x.astype(dtype))
                    got = warpkit.dot(x.astype(dtype), np.ones(4, dtype), device=row.device)
                    assert_same(got, reference.dot(x.astype(dtype), np.ones(4, dtype)))
    x = np.full(25, 0.1)  # 2^-2 (1 + 2^-54)^2
    assert_same(warpkit.dot(x, x, device=row.device), reference.dot(x, x))


@pytest.mark.parametrize("row", rows("cumsum"), ids=str)
def test_prefixes_that_only_integers_tell(row):
    a = np.array([1e300, 1e200, 1e100, 1, -1e300, -1e200, -1e100, 5e-324, -1, 1.7e308, 1.7e308])
    check(row, "cumsum", a)
    check(row, "cumsum", np.concatenate([np.full(5000, -0.0), a, a]))
    for odd in ([1, np.inf, 2, -np.inf, 3], [1, np.nan, 2], [-0.0, -0.0, 0.0, -0.0]):
        check(row, "cumsum", np.array(odd))
    got = row.run("nancumsum", np.array([np.nan, 1, np.nan, 2]))
    assert_same(got, np.array([0.0, 1, 1, 3]))


@pytest.mark.parametrize("row", rows("cumsum"), ids=str)
def test_prefixes_of_long_lines_begin_where_others_ended(row):
    for dtype in ("float32", "float64", "complex64"):
        x = values(dtype, 100_003, seed=6)
        got = row(x)
        for i in (0, 4095, 4096, 32_767, 32_768, 65_536, 70_001, 100_002):
            assert_same(got[i], warpkit.reduce(x[: i + 1], device="cpu"))
    for dtype, digits in (("float32", 24), ("float64", 53)):  # a tie that a third double decides
        x = np.zeros(140_000, dtype)
        x[:3] = 1, 2.0**-digits, 2.0**-130
        want = np.full_like(x, 1 + np.finfo(dtype).eps)
        want[:2] = 1
        assert_same(row(x), want)
    x = np.full(70_000, -0.0)
    for k, first in ((3, -1.0), (3, -1e-320), (40_000, 0.0)):
        x[k] = first
        want = np.where(np.arange(x.size) < k, -0.0, first)
        assert_same(row(x), want)
        x[k] = -0.0


@pytest.mark.parametrize("n", [32_703, 32_704, 32_705, 32_767])
@pytest.mark.parametrize("row", rows("cumsum"), ids=str)
def test_prefixes_of_lines_that_nearly_fill_a_chunk(row, n):
    for dtype in ("uint8", "float32", "complex64"):
        x = np.random.default_rng(n).integers(0, 99, (2, n)).astype(dtype)
        for a in (x, x[0]):
            assert_same(row(a, -1), np.cumsum(a, -1, dtype="u8" if dtype == "uint8" else dtype))


@pytest.mark.parametrize("shape", [(40, 1), (5, 3), (33, 8), (17, 9), (70, 64), (9, 100), (300, 2)])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("cumsum", ALL_DTYPES))
def test_prefixes_along_every_axis(row, dtype, shape):
    a = values(dtype, (3, *shape), seed=shape[0])
    for axis in (0, 1, 2):
        check(row, "cumsum", a, axis)


@pytest.mark.parametrize("shape", [(600, 20), (600, 3), (20, 60), (3, 600)])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("cumsum", (*REALS, "complex64")))
def test_one_of_many_lines_takes_more(row, dtype, shape):
    """Others, and what stands beside it, are done as if it were not there."""
    axis = 0 if shape[0] == 600 else 1
    real = np.zeros(0, dtype).real.dtype
    a = wide(real, 600 * 20, 20, seed=1)[: shape[0] * shape[1]].reshape(shape).astype(dtype)
    lines = a.T if axis == 0 else a
    n = lines.shape[1]
    lines[0, :] = -0.0
    lines[0, n // 2] = 1
    lines[1] = wide(real, n, 40 if dtype == "float16" else 120, seed=2)
    lines[2, n // 3], lines[2, n // 3 + 1], lines[2, n // 2] = np.inf, 1, -np.inf
    if lines.shape[0] > 4:
        lines[4] = wide(real, n, 250, seed=3)
        lines[5, 7] = np.nan
    check(row, "cumsum", a, axis)
    want = reference.cumsum(np.where(a == a, a, 0).astype(dtype), axis)
    assert_same(row.run("nancumsum", a, axis), want)


@pytest.mark.parametrize("shape", [(3, 90), (30, 70), (2, 9, 60), (400, 7)], ids=str)
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("cumsum", REALS))
def test_short_lines_that_only_integers_tell(row, dtype, shape):
    a = wide(dtype, np.prod(shape), 300, seed=4)
    a[1::3] = -a[: a[1::3].size]
    for axis in (-1, -2):
        check(row, "cumsum", a.reshape(shape), axis)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
def test_prefixes_of_many_chunks(device, dtype):
    """Whole numbers and small parts, so that NumPy's sums are exact."""
    a = np.random.default_rng(1).integers(0, 200, 300_000).astype(dtype)
    if dtype != "uint8":
        a[100_000:] *= 2.0**-20
    for shape in ((300_000,), (2, 150_000), (150_000, 2), (100_000, 3), (10_000, 30)):
        x = a.reshape(shape)
        exact = np.cumsum(x, 0, dtype={"uint8": "u8", "float32": "f8"}.get(dtype, dtype))
        want = exact.astype("u8" if dtype == "uint8" else dtype)
        assert_same(warpkit.cumsum(x, 0, device=device), want)
        assert_same(warpkit.cumsum(np.ascontiguousarray(x.T), -1, device=device), want.T)


@pytest.mark.parametrize("row", rows("cumsum"), ids=str)
def test_cumsum_takes_axes_dtypes_and_out_as_numpy(row):
    a = values("float32", (5, 6, 7))
    for axis in (None, 0, 1, -1):
        check(row, "cumsum", a[:, ::-1], axis)
        check(row, "cumsum", values("int8", (5, 300)), axis if axis != 1 else 0, dtype="int16")
    check(row, "cumsum", values("float16", 300), dtype="float64")
    for axis in (0, 2):
        out = np.empty_like(a)
        assert row(a, axis, out=out) is out
        assert_same(out, reference.cumsum(a, axis))
    with pytest.raises(np.exceptions.AxisError):
        row(a, 3)
    with pytest.raises(ValueError, match=r"out has shape \(3,\)"):
        row(a, 0, out=np.empty(3, "f4"))


# ---- arrays on a device ------------------------------------------------------------------------


def test_arrays_on_a_device_stay_there(device):
    if device == "cpu":
        pytest.skip("arrays do not stay there")
    x, y = values("float32", (40, 50)), values("float32", (40, 50), seed=1)
    a, b = warpkit.asarray(x, device=device), warpkit.asarray(y, device=device)
    keys = np.arange(2000).reshape(40, 50) % 7
    found = {
        "dot": (warpkit.dot(a, b, 0), reference.dot(x, y, 0)),
        "dot of one": (warpkit.dot(a[0], y[0]), reference.dot(x[0], y[0])),
        "vdot": (warpkit.vdot(a.T, b), reference.dot(x.T.ravel(), y.ravel())),
        "cumsum": (warpkit.cumsum(a, 0), reference.cumsum(x, 0)),
        "flat": (warpkit.cumsum(a.T), reference.cumsum(x.T)),
        "segments": (
            warpkit.segment_reduce(a[0], [0, 9, 50]),
            reference.segment_reduce(x[0], [0, 9, 50]),
        ),
        "groups": (warpkit.group_reduce(keys, a, "max"), reference.group_reduce(keys, x, "max")),
        "sums": (warpkit.group_reduce(keys, a), reference.group_reduce(keys, x)),
        "count": (warpkit.group_reduce(keys, a, "count"), np.bincount(keys.ravel())),
    }
    for name, (got, want) in found.items():
        assert isinstance(got, warpkit.DeviceArray), name
        assert_same(got.numpy(), np.asarray(want))


@pytest.mark.parametrize("row", rows("segment_reduce"), ids=str)
def test_sums_by_integers_alone_are_the_same(row):
    if row.device == "cpu":
        pytest.skip("the CPU has no such setting")
    x, y = values("float64", 2000, seed=1), values("float64", 2000, seed=2)
    with settings(WARPKIT_SUMS="integers"):
        check(row, "segment_reduce", x, [0, 5, 2000], "var")
        assert_same(warpkit.dot(x, y, device=row.device), reference.dot(x, y))
        assert_same(warpkit.cumsum(x[:300], device=row.device), reference.cumsum(x[:300]))


# ---- prefixes of many doubles on the CPU -------------------------------------------------------


def check_prefixes(x, *axis):
    assert_same(warpkit.cumsum(x, *axis, device="cpu"), reference.cumsum(x, *axis))


@pytest.mark.parametrize("binades", [150, 220, 500, 1000, 1900])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_prefixes_that_take_many_doubles(dtype, binades):
    """So many that what stands before a block is many too; then ever less, and of whole powers."""
    kind = np.zeros(0, dtype).real.dtype
    if kind == np.float32:
        binades = min(binades, 250)
    x = wide(kind, 5000, binades, seed=binades)
    powers = np.exp2(np.random.default_rng(1).integers(-binades // 2, binades // 2, 5000))
    signs = np.where(x < 0, -1, 1)
    back = np.concatenate([x[:2500], -x[2499::-1]])  # nothing may be lost on the way
    for series in (x, back, np.sort(x), (powers * signs).astype(kind), np.sort(np.abs(x))[::-1]):
        if np.dtype(dtype).kind == "c":
            series = series + 1j * series[::-1]
        check_prefixes(series)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 9), (9, 70), (500, 64), (300, 8), (64, 30), (2500, 3)])
def test_lines_and_columns_that_take_many_doubles(dtype, shape):
    for binades in (60, 200, 400 if dtype == "float64" else 240):
        for part in (1, 3, 20) if shape[0] * shape[1] < 5000 else (3,):  # of all of them
            x = wide(dtype, shape[0] * shape[1], 4).reshape(shape)
            far = wide(dtype, x.size, binades, seed=part).reshape(shape)
            for axis in (0, 1):
                y = x.copy()
                some = (
                    (slice(None), slice(None, None, part)) if axis == 0 else slice(None, None, part)
                )
                y[some] = far[some]
                check_prefixes(y, axis)
                check_prefixes(np.concatenate([y, -np.flip(y, axis)], axis), axis)
                y[5, 5 % shape[1]] = np.nan
                check_prefixes(y, axis)


def test_what_comes_and_goes_leaves_prefixes_as_they_were():
    x = wide("float64", 9000, 4)
    for large in (1e30, 1e200, 1.7e308):
        y = x.copy()
        y[[10, 3000, 3001]] = large, -large, large
        y[[5000, 6000, 6001]] = -large, 5e-324, 1e-200
        check_prefixes(y)
        y[[3000, 3001]] = large, -large  # the largest: infinite between
        check_prefixes(y)
    y = np.where(np.arange(9000) % 2, -x, np.roll(x, -1))  # zero after every other
    check_prefixes(y * np.exp2(np.arange(9000) // 2 % 900))


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 24), ("float64", 53)])
def test_ties_of_prefixes_are_decided_far_below(dtype, digits):
    """By what of many doubles is the last, or by nothing; beside powers of two as well."""
    far = (60, 100) if dtype == "float32" else (60, 110, 170, 400, 1000)
    for first in (1.0, 1 + 2.0 ** (1 - digits), 1 - 2.0**-digits):
        for half in (2.0**-digits, 2.0 ** (-digits - 1)):
            for sign in (1, -1):
                for tie in (half, -half):
                    tiny = [s * 2.0**-e for e in far for s in (1, -2, 1)]
                    x = sign * np.array([2.0**90, -(2.0**-120), first, tie, *tiny])
                    x = np.concatenate([x, [-x[0], -x[1]], tiny, np.negative(tiny)]).astype(dtype)
                    for n in (x.size, x.size - 1):
                        check_prefixes(x[:n])
                        check_prefixes(np.concatenate([np.zeros(2040, dtype), x[:n], -x[:n]]))


def test_prefixes_of_many_chunks_and_doubles():
    x = wide("float64", 120_000, 220, seed=3)
    got = warpkit.cumsum(x, device="cpu")
    for i in (0, 32_767, 32_768, 32_769, 65_535, 65_536, 98_304, 119_999):
        assert_same(got[i], warpkit.reduce(x[: i + 1], device="cpu"))
    assert_same(warpkit.cumsum(x[:30_000], device="cpu"), got[:30_000])


def test_wide_prefixes_take_some_times_as_long_as_narrow_ones():
    """Once a hundred times."""

    def seconds(x):
        best = 1.0
        for _ in range(5):
            began = time.perf_counter()
            warpkit.cumsum(x, device="cpu")
            best = min(best, time.perf_counter() - began)
        return best

    narrow, far = (wide("float64", 60_000, binades) for binades in (4, 200))
    assert seconds(far) < 30 * seconds(narrow)
