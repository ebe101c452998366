"""histogram and bincount: values at the edges, data that count badly, exact weights, one reading.

The oracle of counts is NumPy. That of weights adds whole numbers of Python and rounds once.
"""

import inspect
import itertools

import helpers
import hypothesis.extra.numpy as hnp
import ml_dtypes
import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, COMPLEX, INTEGERS, REALS, assert_same, outcome, poison, values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warpkit import _histogram, reference

examples = settings(
    max_examples=40, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

ROWS = helpers.rows("histogram")
PRODUCTION = [row for row in ROWS if row.production]
over_rows = pytest.mark.parametrize("row", ROWS, ids=str)
over_production = pytest.mark.parametrize("row", PRODUCTION, ids=str)
FEW, MANY = [0, 1, 2, 3, 5, 300], [0.0, 0.5, 2.0, 2.0, 40.0]  # edges, of integers and of floats


@pytest.fixture
def gpu(device):
    """A device that has memory of its own."""
    if device == "cpu":
        pytest.skip("the CPU's arrays are NumPy's")
    return device


def within(a, edges):
    """How many elements lie within the edges, as NumPy compares them."""
    return int(np.count_nonzero((a >= edges[0]) & (a <= edges[-1])))


def check(row, a, bins, range=None):
    """Counts and edges are NumPy's, and everything within the range is counted."""
    want = outcome(reference.histogram, a, bins, range)
    if isinstance(want, (IndexError, OverflowError)) or "negative elements" in str(want):
        return  # NumPy trips over rounding: no answer to compare with
    if isinstance(want, Exception):
        got = outcome(row, a, bins, range)
        assert (type(got), str(got)) == (type(want), str(want))
        return
    poison(want[0])
    got = outcome(row, a, bins, range)
    assert not isinstance(got, Exception), got
    counts, edges = got
    assert_same(counts, want[0])
    assert_same(edges, np.ascontiguousarray(want[1]))
    assert counts.sum() == want[0].sum()
    if range is None and np.ndim(bins) == 0:
        assert counts.sum() == np.size(a)


def check_values(row, a, minlength=0):
    want = reference.bincount(a, minlength=minlength)
    poison(want)
    got = row.run("bincount", a, minlength=minlength)
    assert_same(got, want)
    assert got.sum() == np.size(a)


def drawn(row, *names):
    """A strategy of the dtypes, of these, that a row takes."""
    return st.sampled_from([name for name in row.dtypes if name in names])


# ---- values at the edges -----------------------------------------------------------------------


def beside(edges, dtype):
    """Values on the edges, one step below, one above, and halfway."""
    dtype = np.dtype(dtype)
    edges = np.asarray(edges).astype(np.float64)
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            low, high = map(float, (np.iinfo(dtype).min, np.iinfo(dtype).max))
            near = np.concatenate([np.floor(edges) + d for d in (-1, 0, 1, 2)])
            near = near[(near > low) & (near < high)]
            return near.astype(dtype)
        x = edges.astype(dtype)
        half = (edges[:-1] / 2 + edges[1:] / 2).astype(dtype)
        a = np.concatenate([x, np.nextafter(x, -x.max()), np.nextafter(x, x.max()), half])
        a = np.concatenate([a, np.nextafter(x, dtype.type(-np.inf)), -x, x + x])
    return a[np.isfinite(a)]


RANGES = st.one_of(
    st.none(),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.integers(-300, 70_000), st.integers(-300, 70_000)),
    st.tuples(st.floats(-3, 3, width=32).map(np.float32), st.floats(-3, 3).map(np.float32)),
    st.tuples(st.floats(1, 2), st.floats(0, 1e-6)).map(lambda p: (p[0], p[0] + p[1])),
    st.tuples(st.floats(-1e38, 1e38), st.floats(-1e38, 1e38)),
    st.tuples(st.floats(0, 1e-38), st.floats(0, 1e-38)),
    st.tuples(st.integers(2**53, 2**53 + 99), st.integers(2**53, 2**53 + 99)),
    st.tuples(st.integers(-120, 120).map(np.int8), st.integers(-120, 120).map(np.int8)),
).map(lambda pair: pair and tuple(sorted(pair)))


@given(data=st.data())
@settings(examples, max_examples=120)
@over_rows
def test_values_at_equal_edges_are_counted_as_numpy_counts(row, data):
    dtype = np.dtype(data.draw(drawn(row, *ALL_DTYPES[1:])))
    bins = data.draw(st.sampled_from([1, 2, 3, 7, 10, 64, 100, 257, 1000]))
    interval = data.draw(RANGES)
    edges = outcome(np.histogram_bin_edges, np.zeros(0, dtype), bins, interval)
    a = np.ones(3, dtype) if isinstance(edges, Exception) else beside(edges[:300], dtype)
    check(row, a, bins, interval)
    check(row, a, bins)


@over_production
def test_edges_that_are_remembered_are_the_ones_that_were_asked_for(row):
    a = values("float32", 50)
    ends = [(0.0, 1.0), (-0.0, 1.0), (0, 1), (-1.0, 0.0), (-1.0, -0.0)]
    ends += [tuple(map(kind, (0.1, 0.7))) for kind in (np.float16, np.float32, np.float64, float)]
    for interval in [*ends, *reversed(ends)]:
        got = row(a, 10, interval)
        want = np.histogram(a, 10, interval)
        for mine, theirs in zip(got, want, strict=True):
            assert_same(mine, theirs)
        got[1][:] = 7  # the caller's own


@pytest.mark.parametrize("ends", [(0.1, 0.7), (-1, 1), (1 / 3, 3), (1.0, 1.001)])
@over_rows
def test_the_edges_of_a_range_of_smaller_floats_are_off_by_their_rounding(row, ends):
    for small, wide in (("float32", "float64"), ("float16", "float64"), ("float16", "float32")):
        interval = tuple(np.array(ends).astype(small))
        for bins in (3, 7, 100, 999, 5000):
            edges = outcome(np.histogram_bin_edges, np.zeros(0, wide), bins, interval)
            a = np.ones(3, wide) if isinstance(edges, Exception) else beside(edges[:500], wide)
            check(row, a, bins, interval)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@over_rows
@np.errstate(invalid="ignore")
def test_more_bins_than_a_16_bit_float_has_values(row, dtype):
    """By NumPy's own steps, whose quotient is then off by several bins."""
    if dtype not in row.dtypes:
        pytest.skip("not taken")
    rng = np.random.default_rng(5)
    a = rng.random(2000).astype(dtype)
    for bins in (100, 256, 500, 1000, 1900, 2049, 5000):
        check(row, a, bins)
        for interval in ((0, 1), (0.0, 1.0), (0.25, 0.5)):
            check(row, a, bins, interval)
            check(row, a, bins, tuple(map(np.float32, interval)))
        check(row, np.geomspace(1e-6, 6e4, 999).astype(dtype), bins, (0.0, np.float64(6e4)))
    every = np.arange(2**16, dtype=np.uint16).view(dtype)[::13]
    check(row, every, 333, (-1000, 1000))
    check(row, every[np.isfinite(every)], 10)


@over_production
def test_integers_past_2_to_53_are_counted_as_numpy_counts(row):
    near = [2**53 + d for d in range(-4, 9)] + [2**62, 2**62 + 1, 2**63 - 1, 2**63 - 512]
    for dtype, more in (("int64", [-x - 1 for x in near]), ("uint64", [2**63, 2**64 - 1])):
        a = np.array([*near, *more, 0, 1], dtype)
        for bins in (1, 7, 1000, 30_000):
            check(row, a, bins)
            check(row, a[:13], bins)
            check(row, a, bins, (2**53 - 2, 2**53 + 6))
            check(row, a, bins, (float(2**53 - 2), float(2**63)))
        for edges in ([0, 2**53, 2**53 + 1, 2**53 + 3], [0.0, 2.0**53, 2.0**53 + 2, 2.0**63]):
            check(row, a, edges)
        check(row, a, np.array([1, 2**53 + 1, 2**63, 2**64 - 1], np.uint64))


@over_rows
def test_ranges_between_integers_and_at_the_ends_of_their_dtype(row):
    for dtype in INTEGERS[1:]:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        a = np.array([least, least + 1, 0, 1, 2, most // 2, most - 1, most] * 5, dtype)
        for ends in ((0.2, 0.8), (least + 0.25, least + 0.5), (least, most), (most - 1, most)):
            if ends[0] < ends[1]:
                check(row, a, 3, ends)
                check(row, a, 1000, ends)


@given(data=st.data())
@examples
@over_rows
def test_values_at_given_edges_are_counted_as_numpy_counts(row, data):
    dtype = data.draw(drawn(row, *ALL_DTYPES[1:]))
    of_edges = data.draw(st.sampled_from(["float32", "float64", "int8", "int64", "uint64"]))
    elements = hnp.from_dtype(np.dtype(of_edges), allow_nan=False, allow_infinity=False)
    count = data.draw(st.integers(2, 40))
    small = st.integers(0, 5).map(np.dtype(of_edges).type)
    edges = np.sort(data.draw(hnp.arrays(of_edges, count, elements=elements | small)))
    a = beside(edges, dtype)
    if dtype in ("float16", "bfloat16"):  # NumPy has no common type of bfloat16 and int64
        want = reference.histogram(a.astype(np.float64), edges)[0]
        assert_same(row(a, edges)[0], want)
        assert want.sum() == within(a.astype(np.float64), edges)
    else:
        check(row, a, edges)


# Where float64 has one integer in two, or in 2^11; where dtypes end, and beyond.
PLACES = [0, 2**15, 2**16, 2**31, 2**32, 2**53, 2**54, 2**62, 2**63, 2**64]


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "uint32", "int64", "uint64"])
@over_rows
def test_edges_beside_integers_and_beyond_them(row, dtype):
    if dtype not in row.dtypes:
        return
    info = np.iinfo(dtype)
    near = sorted({s * p + d for p in PLACES for s in (-1, 1) for d in (*range(-3, 4), 511, -513)})
    a = np.array([x for x in near if info.min <= x <= info.max], dtype)
    floats = np.unique(np.array([x + d for x in near for d in (-0.5, 0.0, 0.25)], np.float64))
    signed = np.array([x for x in near if -(2**63) <= x < 2**63], np.int64)
    infinite = np.concatenate([[-np.inf], floats, [np.inf]])
    some = floats[3:-3:4].copy()
    for edges in (floats, some, infinite, np.repeat(floats, 40), signed, signed[::3].copy()):
        check(row, a, edges)
    for end in np.array([info.min, info.min + 1, info.max], np.float64):
        check(row, a, np.array([-np.inf, end]))
        check(row, a, np.array([end, end]))
        check(row, a, np.array([np.nextafter(end, 0), np.inf]))
    for edges in ([1e30, 1e31], [-1e31, -1e30], [-1e31, -1e30, 0.5, 0.6], [0.2, 1e30, 1e31]):
        check(row, a, np.array(edges))
    if dtype[0] == "u":
        check(row, a, np.array([x for x in near if 0 <= x < 2**64], np.uint64))


@over_rows
def test_edges_between_two_floats_are_not_rounded(row):
    for dtype in ("float16", "bfloat16", "float32"):
        if dtype not in row.dtypes:
            continue
        a = np.array([-2, -1, -0.0, 0, 1, 2]).astype(dtype)
        for first, last in ((-1, 1), (-2, -1), (1, 2), (0, 1), (-1, 0)):
            for ends in itertools.product((-np.inf, first, np.inf), (-np.inf, last, np.inf)):
                edges = np.array([np.nextafter(first, ends[0]), np.nextafter(last, ends[1])])
                assert row(a, edges)[0].sum() == within(a.astype(np.float64), edges)


@over_rows
def test_edges_may_be_of_any_type_of_numbers_and_number(row):
    for dtype in row.dtypes:
        a = helpers.few_values(dtype, 300).astype(dtype)
        wide = a.astype(np.float64)
        for kind in (*INTEGERS[1:], *REALS):
            edges = np.array([0, 1, 1, 2, 5]).astype(kind)
            got = row(a, edges)
            assert_same(got[0], np.histogram(wide, edges.astype(np.float64))[0])
            assert_same(got[1], edges)
        edges = np.linspace(-3, 4, 20_001)
        counts = row(a, edges)[0]
        assert_same(counts, np.histogram(wide, edges)[0])
        assert counts.sum() == a.size
        assert_same(row(a, [2])[0], np.zeros(0, np.int64))
        assert_same(row(a, [])[0], np.zeros(0, np.int64))


@over_rows
def test_a_narrow_integer_in_a_range_of_small_floats_is_counted_in_their_type(row):
    for dtype, kind in (("int8", "float16"), ("uint8", "float32"), ("int16", "float32")):
        if kind not in row.dtypes:
            continue
        a = values(dtype, 900)
        for ends in ((-100, 100), (0.3, 77.7), (5, 5)):
            check(row, a, 13, tuple(np.array(ends).astype(kind)))
            check(row, a[0], 13, tuple(np.array(ends).astype(kind)))


# ---- data that count badly ---------------------------------------------------------------------


def distributions(dtype, n):
    """All equal, two values, in order, backwards, few and many (Zipf), multiples of 32, all."""
    rng = np.random.default_rng(n)
    top = min(3000, np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else 2000
    zipf = np.minimum(rng.zipf(1.3, n), top)
    spread = rng.integers(0, top + 1, n)
    found = [np.full(n, 3), np.arange(n) % 2 * 77, np.sort(spread), np.sort(spread)[::-1], zipf]
    return [x.astype(dtype) for x in (*found, spread // 32 * 32, spread)]


@pytest.mark.parametrize("n", helpers.sizes())
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@over_rows
def test_16_bit_floats_are_counted(row, dtype, n):
    if dtype not in row.dtypes:
        pytest.skip("not taken")
    a = helpers.few_values(dtype, n, seed=n)
    for bins in (1, 2, 31, 256, [-3.0, -0.5, 0.0, 0.0, 1.5, 3.0]):
        check(row, a, bins)
    a = values(dtype, n, seed=n)
    for bins in (10, 1025, 3000, np.linspace(-3, 3, 3001)):
        check(row, a, bins, None if np.ndim(bins) else (-2.0, 2.0))


@pytest.mark.parametrize("n", helpers.sizes(33, 2500, 2**20 + 3))
@over_rows
def test_any_distribution_is_counted(row, n):
    some = ("uint8", "int32", "float64")
    for dtype in row.dtypes if row.production or n < helpers.LARGE else some:
        if dtype == "bool":
            continue
        for a in distributions(dtype, n):
            check(row, a, 100)
            check(row, a, [0, 1, 3, 4, 64, 3000] if a.dtype.itemsize > 1 else FEW[:5])
            if dtype in INTEGERS:
                check_values(row, a)


@pytest.mark.parametrize("bins", [4096, 57_000, 57_001, 65_536, 2**17, 2**18, 2**20])
@over_rows
def test_many_bins_are_counted(row, bins):
    n = 3000 if helpers.options["small"] else 1_050_003
    rng = np.random.default_rng(bins)
    spread = np.append(rng.integers(0, bins, n), [0, bins - 1, bins - 1])
    a = np.append(spread, np.full(n // 2, 5))
    for dtype in ("int32", "uint16", "int64"):
        if bins - 1 <= np.iinfo(dtype).max:
            check_values(row, a.astype(dtype), minlength=bins if dtype == "int64" else 0)
    check(row, a.astype(np.float32), bins, (0, bins))
    if bins <= 65_536:
        check(row, a.astype(np.float64), np.arange(bins + 1.0))


@pytest.mark.parametrize("frequent", [0, 1000, 2**19])
@over_rows
def test_all_values_of_two_bytes_are_counted(row, frequent):
    if not row.production:
        pytest.skip("other rows have no way of their own for them")
    a = np.random.default_rng(frequent).integers(0, 2**16, 2**20 + 77, dtype=np.uint16)
    a[:frequent] = 5
    check_values(row, a)
    check_values(row, a[1:], minlength=70_000)


@over_rows
def test_a_frequent_value_that_no_sample_has_overflows_16_bits(row):
    if not row.production or helpers.options["small"]:
        pytest.skip("needs 2^16 and more of a value in each block")
    n, samples = 2**25, 8192
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2**16, n, dtype=np.uint16)
    k = np.arange(samples)
    sampled = k * (n // samples) + ((k * 0x9E3779B1 & 0xFFFFFFFF) >> 8) % (n // samples)
    kept = a[sampled]
    a[::2] = 7
    a[sampled] = kept
    check_values(row, a)


VIEWS = {
    "backwards": lambda a: a[::-1],
    "both axes backwards": lambda a: a.reshape(40, -1)[::-1, ::-1],
    "Fortran order": lambda a: np.asfortranarray(a.reshape(40, -1)),
    "transposed": lambda a: a.reshape(40, -1).T,
    "every third": lambda a: a[::3],
    "off by one element": lambda a: a[1:],
    "off by one element, and short": lambda a: a[1:-2],
    "one row again and again": lambda a: np.broadcast_to(a[:35], (20, 35)),
    "one element again and again": lambda a: np.broadcast_to(a[7], (30, 35)),
    "columns": lambda a: a.reshape(40, -1)[:, 3:9],
}


@pytest.mark.parametrize("view", VIEWS)
@over_rows
def test_any_layout_is_counted(row, view):
    for dtype in row.dtypes:
        a = VIEWS[view](helpers.few_values(dtype, 1200, seed=4))
        check(row, a, 9)
        check(row, a, [0.0, 0.5, 2.5])
        if dtype in INTEGERS and a.ndim == 1:
            check_values(row, abs(a) if dtype != "bool" else a)


# ---- weights -----------------------------------------------------------------------------------


def check_weighted(row, a, bins, weights, range=None):
    want = reference.histogram(a, bins, range, weights)
    poison(want[0])
    counts, edges = row(a, bins, range, weights=weights)
    assert_same(counts, want[0])
    assert_same(edges, np.ascontiguousarray(want[1]))
    plain = row(a, bins, range)[0]
    assert plain.sum() == reference.histogram(a, bins, range)[0].sum()


def check_weighted_values(row, a, weights, minlength=0):
    want = reference.bincount(a, weights, minlength)
    poison(want)
    got = row.run("bincount", a, weights, minlength)
    assert_same(got, want)
    assert row.run("bincount", a).sum() == a.size


@pytest.mark.parametrize("n", helpers.sizes(0, 1, 31, 32, 33, 255, 256, 257, 1025, 2**18 + 1))
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@over_production
def test_weights_of_every_type_are_added_exactly(row, dtype, n):
    w = values(dtype, n, seed=n)
    a = np.random.default_rng(n).integers(0, 50, n)
    check_weighted(row, a.astype(np.float32), 7, w)
    check_weighted(row, a.astype(np.int16), FEW, w)
    if w.dtype.kind != "c":
        check_weighted_values(row, a.astype(np.uint8), w)


@over_production
def test_elements_of_every_type_may_have_weights(row):
    w32, w64 = values("float32", 700), values("int64", 700)
    for dtype in row.dtypes:
        a = helpers.few_values(dtype, 700, seed=2)
        for w in (w32, w64):
            check_weighted(row, a, 10, w)
            check_weighted(row, a, 3000, w, (-3.0, 3.0))
            if dtype not in ("bfloat16",):
                check_weighted(row, a, FEW, w)
                check_weighted(row, a, MANY, w)
        if dtype in INTEGERS:
            check_weighted_values(row, abs(a) if dtype != "bool" else a, w32, 9)


@over_production
def test_whole_weights_are_added_as_numpy_adds_them(row):
    """Where NumPy's sums are exact, they are the oracle."""
    rng = np.random.default_rng(1)
    a, w = rng.normal(size=900), rng.integers(-9, 10, 900)
    for dtype in ALL_DTYPES:
        weights = (abs(w) if dtype[0] == "u" else w).astype(dtype)
        for bins in (11, *([] if dtype in ("bool", "bfloat16") else [[-1.0, 0.0, 0.1, 2.0]])):
            got, want = row(a, bins, weights=weights)[0], np.histogram(a, bins, weights=weights)[0]
            assert_same(got, want)
        if dtype not in COMPLEX:
            at = rng.integers(0, 30, 900)
            assert_same(row.run("bincount", at, weights), np.bincount(at, weights))


def hard_floats(dtype, n, seed):
    """Weights whose naive sums are wrong, by kinds."""
    rng, info = np.random.default_rng(seed), ml_dtypes.finfo(np.dtype(dtype))
    sign = rng.choice([-1.0, 1.0], n)
    least = int(np.log2(float(info.smallest_subnormal)))
    any_size = np.ldexp(rng.random(n) + 0.5, rng.integers(least, info.maxexp, n)) * sign
    half = any_size[: n // 2]
    cancels = np.concatenate([half, -half, np.full(n - 2 * (n // 2), float(info.tiny))])
    largest = float(info.max) * sign
    one = 1.0 + 0 * sign
    ties = np.choose(rng.integers(0, 3, n), [one, float(info.eps) / 2 * sign, any_size * 2.0**-9])
    tiny = float(info.smallest_subnormal) * rng.integers(-5, 6, n)
    kinds = {
        "any exponent": any_size, "cancels": rng.permutation(cancels), "ties": ties,
        "overflows on the way": largest, "subnormal": tiny, "minus zero": np.full(n, -0.0),
        "above the largest": np.abs(largest), "equal": one * 0.1,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        return {name: w.astype(dtype) for name, w in kinds.items()}


@pytest.mark.parametrize("kind", hard_floats("float32", 4, 0))
@pytest.mark.parametrize("dtype", REALS)
@over_production
def test_hard_sums_are_rounded_once(row, dtype, kind):
    for n, groups in ((40, 1), (800, 1), (801, 9), (2000, 700)):
        w = hard_floats(dtype, n, seed=n)[kind]
        a = np.random.default_rng(n).integers(0, groups, n).astype(np.int32)
        check_weighted(row, a, max(groups - 1, 1), w)
        check_weighted(row, a.astype(np.float64), np.arange(groups + 1), w)
        check_weighted_values(row, a, w)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@over_production
def test_the_parts_of_complex_weights_are_added_apart(row, dtype):
    part = "float32" if dtype == "complex64" else "float64"
    kinds = list(hard_floats(part, 900, 3).values())
    for re, im in zip(kinds, kinds[1:] + kinds[:1], strict=True):
        a = np.random.default_rng(7).integers(0, 12, 900)
        check_weighted(row, a, 12, helpers.joined(re, im))
        check_weighted(row, a, np.arange(14), helpers.joined(re, im))


@pytest.mark.parametrize("dtype", [*REALS, "complex64"])
@over_production
def test_infinite_weights_and_nan_stay_in_their_bins(row, dtype):
    part = "float32" if dtype == "complex64" else dtype
    special = helpers.special_floats(part)
    w = np.concatenate([special, np.array([1, np.inf, 2, -np.inf, np.inf, np.inf]).astype(part)])
    w = np.concatenate([w, np.full(9, ml_dtypes.finfo(np.dtype(part)).max), [-np.inf]]).astype(part)
    a = np.arange(w.size) // 2
    a[-10:] = a[-1]  # a sum above the largest number, and minus infinity: minus infinity
    w = helpers.joined(w[::-1], w) if dtype == "complex64" else w
    check_weighted(row, a, int(a[-1]) + 1, w)
    check_weighted(row, a, np.arange(a[-1] + 2), w)
    if dtype != "complex64":
        check_weighted_values(row, a, w)


@pytest.mark.parametrize("dtype", INTEGERS)
@over_production
def test_sums_of_integers_wrap_and_of_bool_are_any(row, dtype):
    top = 1 if dtype == "bool" else np.iinfo(dtype).max
    a = np.concatenate([np.zeros(256), np.ones(255), np.full(3, 2), [4]]).astype(np.int8)
    w = np.full(a.size, top).astype(dtype)
    w[-4:] = np.array([0, 0, 0, 1]).astype(dtype)
    check_weighted(row, a, 5, w)
    check_weighted(row, a, [0, 1, 2, 3, 4], w)
    check_weighted_values(row, a, w)  # in float64, where nothing wraps


@over_production
def test_weights_in_any_order_have_the_same_sums(row):
    rng = np.random.default_rng(2)
    a, w = rng.integers(0, 20, 3000).astype(np.int16), hard_floats("float64", 3000, 1)
    for weights in w.values():
        want = row(a, 20, weights=weights)[0]
        order = rng.permutation(a.size)
        assert_same(row(a[order], 20, weights=weights[order])[0], want)


@pytest.mark.parametrize("bins", [1000, 57_000, 2**17])
@over_production
def test_weights_in_many_bins(row, bins):
    rng = np.random.default_rng(bins)
    a = np.append(rng.integers(0, bins, 1500), [0, bins - 1]).astype(np.int32)
    for dtype in ("float32", "float64", "int32", "complex64"):
        w = values(dtype, a.size)
        check_weighted(row, a, bins, w, (0, bins))
        if dtype != "complex64":
            check_weighted_values(row, a, w)


@pytest.mark.parametrize("view", VIEWS)
@over_production
def test_weights_of_any_layout_go_with_their_elements(row, view):
    a, w = helpers.few_values("float32", 1200), values("float64", 1200, seed=9)
    x, y = VIEWS[view](a), VIEWS[view](w)
    for one, other in ((x, y), (x.copy(), y), (x, y.copy()), (x, np.asfortranarray(y))):
        check_weighted(row, one, 6, other)


@over_production
def test_weights_of_what_is_in_no_bin_are_left_out(row):
    a = np.array([0.5, np.nan, 7.0, -1.0, np.inf, 0.6, 1.0, -np.inf])
    w = np.array([1.0, np.nan, np.inf, -np.inf, 5.0, 2.0, 4.0, np.nan])
    check_weighted(row, a, 2, w, (0, 1))
    check_weighted(row, a, [0.0, 0.55, 1.0], w)


@over_rows
def test_every_row_adds_weights_or_says_that_it_does_not(row):
    a, w = np.array([1, 2, 1], np.int32), np.array([0.5, 2.0, 0.25])
    got = outcome(row, a, 2, weights=w)
    if isinstance(got, Exception):
        assert "weights" in str(got)
    else:
        assert_same(got[0], np.array([0.75, 2.0]))
    check(row, a, 2)


@over_production
def test_density_of_weights_is_numpys(row):
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    for dtype in ("int64", "uint8", "float32", "float64", "complex128"):
        w = rng.integers(1, 9, 400).astype(dtype)
        for bins in (9, [-1, 0, 0.5, 2]):
            got = row(a, bins, None, True, w)[0]
            assert_same(got, np.histogram(a, bins, None, True, w)[0])


EDGES = {
    "even": np.linspace(-1, 1, 501),
    "logarithmic": np.logspace(-20, 3, 1001),
    "from zero": np.concatenate([[0], np.logspace(-9, 2, 300)]),  # which -0.0 is not below
    "both signs": np.sort(np.concatenate([-np.logspace(-9, 2, 300), np.logspace(-9, 2, 301)])),
    "equal and zeros": np.array([-np.inf, -1, -0.0, 0.0, 5e-324, 1, 1, 1, 2, np.inf]),
    "integers": np.array([-(2**62), -7, 0, 1, 2, 2, 900, 2**62]),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("even", "float32"),
        ("logarithmic", "float64"),
        ("from zero", "float32"),
        ("from zero", "float64"),
        ("both signs", "float32"),
        ("equal and zeros", "float64"),
        ("integers", "int64"),
        ("integers", "uint64"),
        ("logarithmic", "uint32"),
        ("both signs", "int32"),
        ("equal and zeros", "int64"),
    ],
)
def test_a_table_tells_where_to_search_in_long_arrays(gpu, name, dtype):
    edges, n = EDGES[name], 1 << 20
    rng = np.random.default_rng(3)
    near = np.concatenate([edges, np.nextafter(edges, 9), np.nextafter(edges, -9)])
    a = np.concatenate([near, [np.nan, -0.0], rng.normal(size=n - near.size - 2)])
    if dtype[-2:] in ("32", "64") and "int" in dtype:
        most = 2 ** (int(dtype[-2:]) - 2)
        a = np.nan_to_num(a, nan=3).clip(-most / 50, most / 50) * 50
        a = abs(a) if dtype[0] == "u" else a
    with np.errstate(over="ignore"):
        a = a.astype(dtype)
    counts = warpkit.histogram(warpkit.asarray(a, device=gpu), edges)[0]
    assert_same(counts.numpy(), np.histogram(a[~np.isnan(a)], edges)[0])


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("shift", [0.0, 0.25])
def test_integers_on_the_edges_of_equal_bins(gpu, dtype, shift):
    info = np.iinfo(dtype)
    for first, last, bins in ((3, 259, 256), (0, 255, 51), (100, 32_100, 4000), (0, 7, 9)):
        a = np.arange(first - 3, last + 4).clip(info.min, info.max).astype(dtype)
        for x in (a, a[::-3], (info.max - 300 + a[:300]).astype(dtype)):
            span = (first + shift, last + shift)
            got = warpkit.histogram(warpkit.asarray(x, device=gpu), bins, span)[0]
            assert_same(got.numpy(), np.histogram(x, bins, span)[0])


# ---- bincount in one reading -------------------------------------------------------------------


def large(dtype, top, n=None):
    n = n or _histogram.ONE_READING
    a = np.random.default_rng(top).integers(0, top + 1, n).astype(dtype)
    a[n // 3] = top
    return a


@pytest.fixture
def readings(monkeypatch):
    """What a call does with the whole array, in order."""
    seen = []
    for name in ("fold", "tally"):
        method = getattr(_histogram.Call, name)

        def note(self, a, *args, method=method, **kwargs):
            if args[0] not in ("argmax", "any"):  # of the counts
                seen.append((method.__name__, *args[:2]))
            return method(self, a, *args, **kwargs)

        monkeypatch.setattr(_histogram.Call, name, note)
    return seen


@pytest.mark.parametrize(
    ("dtype", "tops"), [("bool", [0, 1]), ("int8", [0, 126, 127]), ("uint8", [3, 255])]
)
@over_production
def test_bytes_are_read_once(row, dtype, tops, readings):
    for top in tops:
        for minlength in (0, top + 1, 70_000):
            readings.clear()
            check_values(row, large(dtype, top), minlength)
            assert [what for what, *_ in readings] == ["tally"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@over_rows
def test_a_negative_element_is_found_in_whatever_reading(row, dtype, monkeypatch):
    if dtype not in row.dtypes:
        pytest.skip("not taken")
    monkeypatch.setattr(_histogram, "SHORT_READING", -(1 << 30))
    a = large(dtype, 100)
    for at in (0, 4321, -1):
        bad = a.copy()
        bad[at] = -7
        if row.device != "cpu":
            bad = warpkit.asarray(bad, device=row.device)
        with pytest.raises(ValueError, match=f"the first is -7 at index {at % a.size}$"):
            row.run("bincount", bad)
    check_values(row, a)


ONCE, TWICE = ["fold", "tally"], ["fold", "tally", "fold", "tally"]
MOST = _histogram.MOST_GUESSED_THERE


@pytest.mark.parametrize(
    ("dtype", "tops"),
    [
        ("int16", {5: ONCE, 2**15 - 1: ONCE}),
        ("uint16", {300: ONCE, 2**16 - 1: ONCE}),
        ("int32", {0: ONCE, 99: ONCE, 70_000: ONCE, MOST: ["fold", "fold", "tally"]}),
        ("uint32", {70_000: ONCE}),
        ("int64", {99: ONCE, 70_000: ONCE}),
    ],
)
def test_a_device_reads_wider_integers_once_if_a_sample_tells_how_large_they_are(
    gpu, dtype, tops, readings, monkeypatch
):
    monkeypatch.setattr(_histogram, "SHORT_READING", -(1 << 30))
    for top, reads in tops.items():
        a = warpkit.asarray(large(dtype, top), device=gpu)
        want = reference.bincount(a.numpy())
        for minlength in (0, top + 9):
            readings.clear()
            got = warpkit.bincount(a, None, minlength)
            given = ["tally"] if minlength >= _histogram.TRUSTED else ONCE
            assert [what for what, *_ in readings] == (given if minlength else reads)
            assert isinstance(got, warpkit.DeviceArray)
            assert_same(got.numpy()[: top + 1], want)
            assert got.shape == (max(top + 1, minlength),)
            assert got.numpy().sum() == a.size


def test_a_device_counts_again_what_no_sample_told(gpu, readings, monkeypatch):
    monkeypatch.setattr(_histogram, "SHORT_READING", -(1 << 30))
    monkeypatch.setattr(_histogram, "SAMPLE_THERE", 100)
    a = large("int32", 9)
    a[1] = 60_000
    for minlength in (0, 30):
        readings.clear()
        got = warpkit.bincount(warpkit.asarray(a, device=gpu), None, minlength)
        assert [what for what, *_ in readings] == TWICE
        assert_same(got.numpy(), np.bincount(a))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16"])
def test_nothing_comes_to_the_host_where_no_element_can_be_larger(gpu, dtype, monkeypatch):
    a = np.array([3, 1, 255, 1, 0]).astype(dtype)
    there = warpkit.asarray(a, device=gpu)
    with monkeypatch.context() as patched:
        patched.setattr(_histogram, "on_host", None)
        got = warpkit.bincount(there, None, 2**16)
    assert_same(got.numpy(), np.bincount(a, None, 2**16))


def test_a_device_believes_minlength(gpu, readings):
    """Few elements: counted once if they are below it."""
    a = np.array([3, 1, 4, 1, 5], np.int32)
    for minlength, reads in ((6, ["tally"]), (9, ["tally"]), (5, ["tally", "fold", "tally"])):
        readings.clear()
        got = warpkit.bincount(warpkit.asarray(a, device=gpu), None, minlength)
        assert [what for what, *_ in readings] == reads
        assert_same(got.numpy(), np.bincount(a, None, minlength))
    many = np.array([3, 99, 300], np.int32)
    for minlength, reads in ((301, ["tally"]), (300, ["tally", "fold", "tally"])):
        readings.clear()
        got = warpkit.bincount(warpkit.asarray(many, device=gpu), None, minlength)
        assert [what for what, *_ in readings] == reads
        assert_same(got.numpy(), np.bincount(many))
    many[1] = -1
    with pytest.raises(ValueError, match="the smallest is -1, the first is -1 at index 1"):
        warpkit.bincount(warpkit.asarray(many, device=gpu), None, 301)
    none = warpkit.bincount(warpkit.asarray(a[:0], device=gpu), None, 4)
    assert_same(none.numpy(), np.zeros(4, np.int64))


@pytest.mark.skipif("cpu" not in helpers.devices, reason="the CPU is not tested")
@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64", "uint64"])
def test_the_cpu_reads_wider_integers_once_if_a_sample_tells_how_large_they_are(dtype, readings):
    n = _histogram.SAMPLED
    unseen = n // 3  # not a multiple of n // SAMPLE
    most = 1 if dtype == "int16" else 2  # it has no more values than are guessed
    for top, times in {0: 1, 900: 1, 20_000: 1, 30_000: most}.items():
        a = large(dtype, top, n)
        for x in (a, a[::-1], np.sort(a), a.astype(a.dtype.newbyteorder())):
            readings.clear()
            assert_same(warpkit.bincount(x, device="cpu"), np.bincount(a.astype(np.int64)))
            assert len(readings) == times
    a = large(dtype, 900, n)
    a[unseen] = 32_000
    readings.clear()
    assert_same(warpkit.bincount(a, None, 5, device="cpu"), np.bincount(a.astype(np.int64)))
    assert [what for what, *_ in readings] == ["tally", "fold", "tally"]
    if dtype[0] == "i":
        a[unseen] = -3
        with pytest.raises(ValueError, match=f"the first is -3 at index {unseen}$"):
            warpkit.bincount(a, device="cpu")


@over_production
def test_few_elements_go_the_shortest_way_and_with_out_have_readings(row, readings):
    a = large("uint8", 200)
    check_values(row, a[:-1])
    assert not readings
    out = np.zeros(201, np.int64)
    assert row.run("bincount", a, out=out) is out
    assert_same(out, reference.bincount(a))


# ---- device arrays, out ------------------------------------------------------------------------


def test_results_of_device_arrays_stay_there(gpu):
    a, w = helpers.few_values("float32", 500), values("float64", 500)
    d, e = (warpkit.asarray(x, device=gpu) for x in (a, w))
    want = reference.histogram(a, 6, None, w)
    for weights in (e, w, w.tolist()):
        for got, theirs in zip(warpkit.histogram(d, 6, weights=weights), want, strict=True):
            assert isinstance(got, warpkit.DeviceArray)
            assert got.device == d.device
            assert_same(got.numpy(), theirs)
    for got, theirs in zip(warpkit.histogram(a, 6, weights=e, device=gpu), want, strict=True):
        assert_same(got, theirs)  # the elements' kind of array, not the weights'
    i = np.abs(a).astype(np.int32)
    j = warpkit.asarray(i, device=gpu)
    for dtype in ("float32", "float64", "int64", "uint8", "bool"):
        weights = values(dtype, 500)
        for one in (weights, warpkit.asarray(weights, device=gpu)):
            got = warpkit.bincount(j, one)
            assert isinstance(got, warpkit.DeviceArray)
            assert_same(got.numpy(), reference.bincount(i, weights))
            assert_same(warpkit.bincount(i, one, device=gpu), got.numpy())
            assert_same(warpkit.bincount(i, one, device="cpu"), got.numpy())


def test_given_bins_of_a_device_array_are_not_waited_for(gpu, monkeypatch):
    a = warpkit.asarray(helpers.few_values("int8", 300), device=gpu)
    w = warpkit.asarray(values("float32", 300), device=gpu)

    def waits(*args):
        raise AssertionError("brought to the host")

    with monkeypatch.context() as patch:
        patch.setattr(_histogram, "on_host", waits)
        patch.setattr(_histogram.Call, "fold", waits)
        patch.setattr(warpkit.DeviceArray, "numpy", waits)
        got = [
            warpkit.histogram(a, 5, (-3, 3)),
            warpkit.histogram(a, 5, (np.float32(-3), np.float32(3))),
            warpkit.histogram(a, [-3, 0, 1, 3]),
            warpkit.histogram(a, 5, (-3, 3), weights=w),
        ]
    for counts, edges in got:
        assert counts.shape[0] == edges.shape[0] - 1
    assert all(counts.numpy().sum() == 300 for counts, _ in got[:3])
    assert_same(got[3][0].numpy(), reference.histogram(a.numpy(), 5, (-3, 3), w.numpy())[0])


def test_device_views_are_counted_in_c_order(gpu):
    a, w = helpers.few_values("int32", (30, 40)), values("float32", (30, 40))
    d, e = (warpkit.asarray(x, device=gpu) for x in (a, w))
    for x, y, u, v in ((a.T, w.T, d.T, e.T), (a[::-2, 3:], w[::-2, 3:], d[::-2, 3:], e[::-2, 3:])):
        want = reference.histogram(x, 5, None, y)[0]
        assert_same(warpkit.histogram(u, 5, weights=v)[0].numpy(), want)
        assert_same(warpkit.histogram(u, 5, weights=y)[0].numpy(), want)
        assert_same(warpkit.histogram(x, 5, weights=v, device=gpu)[0], want)
        assert warpkit.histogram(u, 5)[0].numpy().sum() == x.size


def test_nan_is_ignored_where_the_array_lies(gpu, monkeypatch):
    a = np.array([[1.0, np.nan, 3.0], [2.5, -1.0, np.nan]], np.float32)
    d, only = (warpkit.asarray(x, device=gpu) for x in (a, np.full(3, np.nan)))

    def of_one(self, numpy=warpkit.DeviceArray.numpy):
        assert self.size == 1
        return numpy(self)

    monkeypatch.setattr(warpkit.DeviceArray, "numpy", of_one)
    got, none = warpkit.histogram(d, 4, nan="ignore"), warpkit.histogram(only, 4, nan="ignore")
    monkeypatch.undo()
    for mine, want in zip(got, np.histogram(a[~np.isnan(a)], 4), strict=True):
        assert_same(mine.numpy(), want)
    for mine, want in zip(none, np.histogram([], 4), strict=True):
        assert_same(mine.numpy(), want)


@over_production
def test_out_has_the_sums_dtype(row):
    a, at = np.linspace(0, 1, 50), np.arange(50) % 7
    for dtype in (None, *ALL_DTYPES):
        w = None if dtype is None else values(dtype, 50)
        out = np.zeros(4, np.int64 if w is None else w.dtype)
        assert row(a, 4, weights=w, out=out)[0] is out
        assert_same(out, reference.histogram(a, 4, None, w)[0])
        strided = np.zeros(8, out.dtype)[::2]
        assert row(a, [0, 0.5, 0.6, 0.9, 1], weights=w, out=strided)[0] is strided
        want = reference.histogram(a, [0, 0.5, 0.6, 0.9, 1], None, w)[0]
        np.testing.assert_array_equal(strided, want)
        if dtype not in COMPLEX:
            out = np.zeros(7, np.int64 if w is None else np.float64)
            assert row.run("bincount", at, w, out=out) is out
            assert_same(out, reference.bincount(at, w))
    empty = np.zeros(0, np.int64)
    assert row(a, [1.0], out=empty)[0] is empty


# ---- errors, signatures ------------------------------------------------------------------------

A = np.arange(6.0)
W = np.ones(6)
BAD = {
    "another shape": {"weights": np.ones((2, 3))},
    "a scalar": {"weights": 1.0},
    "an estimator": {"bins": "fd", "weights": W},
    "no estimator": {"bins": "x", "weights": W},
    "no bins": {"bins": 0, "weights": W},
}


def check_next_call(device):
    assert warpkit.histogram(A, 2, device=device)[0].tolist() == [3, 3]
    assert warpkit.histogram(A, 2, weights=W, device=device)[0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", BAD)
def test_bad_weights_are_numpys_error(device, name):
    want = outcome(np.histogram, A, **BAD[name])
    for a in (A, *([] if device == "cpu" else [warpkit.asarray(A, device=device)])):
        got = outcome(warpkit.histogram, a, **BAD[name], device=device)
        assert (type(got), str(got)) == (type(want), str(want))
        check_next_call(device)


@pytest.mark.parametrize("dtype", ["O", "S1", "m8[s]", "V4", "g", "G"])
def test_weights_of_a_dtype_that_is_not_taken_are_refused(device, dtype):
    w = np.ones(6, np.int32).astype(dtype) if dtype != "V4" else np.zeros(6, "V4")
    for call in (
        lambda: warpkit.histogram(A, 3, weights=w, device=device),
        lambda: warpkit.bincount(A.astype(int), w, device=device),
    ):
        got = outcome(call)
        assert type(got) is TypeError
        assert any(str(t) in str(got) for t in (w.dtype, repr(w.dtype)))
        assert "float64" in str(got)
    check_next_call(device)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_a_histogram_of_complex_numbers_is_refused(device, dtype):
    for bins in (3, [0, 1], "auto"):
        with pytest.raises(TypeError, match=f"{dtype}; there are: bool, .*float64"):
            warpkit.histogram(np.ones(3, dtype), bins, device=device)
    check_next_call(device)


@pytest.mark.parametrize(
    ("a", "weights"),
    [
        ([1, 2], [1.0]),
        ([1, 2], [1.0, 2.0, 3.0]),
        ([1, 2], np.ones(2, complex)),
        ([1, 2], np.ones(2, np.complex64)),
        ([1, 2], np.ones(2, object)),
        ([1, 2], np.ones((2, 1))),
        ([1, 2], 1.0),
        ([1, -2], [1.0, 2.0]),
    ],
    ids=str,
)
def test_bad_weights_of_a_bincount_are_numpys_error(device, a, weights):
    got = outcome(warpkit.bincount, a, weights, device=device)
    want = outcome(np.bincount, a, weights)
    assert type(got) is type(want)
    assert str(got).startswith(str(want).partition(" array")[0])
    if device != "cpu":
        there = warpkit.asarray(np.array(a), device=device)
        assert type(outcome(warpkit.bincount, there, weights)) is type(want)
    check_next_call(device)


def test_a_bincount_of_nothing_has_no_weights(device):
    for weights in (None, [], [1.0, 2.0], [1j]):
        for minlength in (0, 3):
            got = warpkit.bincount([], weights, minlength, device=device)
            assert_same(got, np.bincount([], weights, minlength))


def test_out_of_another_dtype_or_length_is_refused(device):
    for out, kind in ((np.zeros(3), TypeError), (np.zeros(3, np.float32), TypeError),
                      (np.zeros(4, np.int64), ValueError)):  # fmt: skip
        with pytest.raises(kind, match="out has"):
            warpkit.histogram(A, 3, out=out, device=device)
    with pytest.raises(TypeError, match="out has dtype int64"):
        warpkit.histogram(A, 3, weights=W, out=np.zeros(3, np.int64), device=device)
    with pytest.raises(ValueError, match="density"):
        warpkit.histogram(A, 3, density=True, weights=W, out=np.zeros(3), device=device)
    with pytest.raises(ValueError, match="shape"):
        warpkit.histogram(A, [1], out=np.zeros(3, np.int64), device=device)
    check_next_call(device)


def test_the_core_refuses_what_would_be_read_past_its_end(device):
    """The Python side sends nothing of this kind."""
    options = (None, device, None, None, None)
    for edges, bins in (([0.0], 0), ([0.0, 1.0], 2), ([0.0, 1.0], -1)):
        with pytest.raises(ValueError, match="do not go with"):
            warpkit._core.histogram(
                A, "edges", bins, np.array(edges), None, None, None, False, False, *options
            )
    for weights in (W[:1], W[:, np.newaxis], W[:5]):
        with pytest.raises(ValueError, match="same shape"):
            warpkit._core.histogram(
                A.astype(int), "values", 6, None, None, weights, "float64", False, False, *options
            )
    check_next_call(device)


@pytest.mark.parametrize("name", ["histogram", "bincount"])
def test_arguments_stand_in_numpys_order(name):
    mine = inspect.signature(getattr(warpkit, name)).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    given = {p.name: p.default for p in mine if p.kind is not keyword and p.name != "a"}
    if name == "bincount":  # whose signature NumPy does not tell
        assert given == {"weights": None, "minlength": 0}
        assert list(given) == ["weights", "minlength"]
        return
    theirs = inspect.signature(np.histogram).parameters.values()
    assert list(given.items()) == [(p.name, p.default) for p in theirs if p.name != "a"]


def test_any_array_like_is_taken(device):
    w = [1, 2, 4]
    for a in ([1, 2, 2], (1.0, 2.0, 2.0), range(3)):
        for weights in (None, w, np.array(w)):
            for mine, want in zip(
                warpkit.histogram(a, 3, weights=weights, device=device),
                np.histogram(np.asarray(a), 3, weights=weights),
                strict=True,
            ):
                assert_same(mine, want)
    assert_same(warpkit.histogram(2.0, 3, weights=5, device=device)[0], np.array([0, 5, 0]))
    assert_same(warpkit.histogram(np.int8(2), device=device)[0], np.histogram(np.int8(2))[0])


@pytest.mark.parametrize("dtype", ["int16", "float16", "float32", "float64"])
def test_ends_that_are_the_same_again_give_the_same_edges(device, dtype):
    for last in (0.0, -0.0, 0.0, -0.0):
        a = np.array([-3, last, -1, -1], dtype)
        want = np.histogram_bin_edges(a, 5)
        edges = warpkit.histogram(a, 5, device=device)[1]
        assert_same(edges, want)
        edges[:] = 7  # the caller's own
