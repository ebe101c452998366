"""Sums of weights a bin, exact and rounded once, against Python's integers."""

from fractions import Fraction

import helpers
import ml_dtypes
import numpy as np
import pytest
import warpkit
from helpers import assert_same, joined, poison, raw_bits, special_floats, values
from warpkit import _core

MANY = 2400  # bins, too many for more than one short number each in shared memory
BINS = (1, 2, 256, 700, MANY, 100_000)
SIZES = (0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 65, 127, 255, 256, 257, 300, 1023, 2049, 4999)
SUM_OF = dict.fromkeys(helpers.INTEGERS, "int64") | {t: t for t in ("uint64", *helpers.REALS)}


# ---- the oracle --------------------------------------------------------------------------------


def rounded(x, dtype):
    """The nearest number of a float type, ties to even, of a Fraction."""
    info = ml_dtypes.finfo(dtype)
    digits, least = info.nmant + 1, info.minexp - info.nmant
    if x == 0:
        return np.dtype(dtype).type(0)
    top = abs(x.numerator).bit_length() - x.denominator.bit_length()
    top -= abs(x) < Fraction(2) ** top
    unit = Fraction(2) ** max(top - digits + 1, least)
    near = round(x / unit) * unit
    if abs(near) >= Fraction(2) ** info.maxexp:
        near = np.inf if x > 0 else -np.inf
    return np.dtype(dtype).type(float(near))


def exact(weights):
    """The exact sum of reals; a float where it is no number."""
    if weights.dtype.kind in "biu":
        return Fraction(sum(map(int, weights)))
    wide = weights.astype(np.float64)
    odd = wide[~np.isfinite(wide)]
    if len(odd):
        return np.inf if (odd > 0).all() else -np.inf if (odd < 0).all() else np.nan
    return sum(map(Fraction, wide.tolist()), Fraction(0))


def sum_of(weights, dtype, times):
    """Of the weights, so many times each."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        part = dtype.type().real.dtype
        return joined(sum_of(weights.real, part, times), sum_of(weights.imag, part, times))
    total = exact(weights) * times
    if dtype.kind == "b":
        return total != 0
    if dtype.kind in "iu":
        mask = 2 ** (8 * dtype.itemsize) - 1
        return np.array(int(total) & mask, f"u{dtype.itemsize}").view(dtype)[()]
    return rounded(total, dtype) if isinstance(total, Fraction) else dtype.type(total)


def oracle(index, weights, bins, dtype, outside, times=1):
    """index: the bin of each element, bins where it is in none."""
    out = np.zeros(bins + outside, dtype)
    order = np.argsort(index, kind="stable")
    index, weights = index[order], weights[order]
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    for start, end in zip(starts, np.append(starts, len(index))[1:], strict=True):
        if index[start] < bins + outside:
            out[index[start]] = sum_of(weights[start:end], dtype, times)
    return out


# ---- the call ----------------------------------------------------------------------------------


def call(device, a, weights, bins, dtype, outside=False, kind="values", edges=None):
    options = (None, device, None, None, None)
    sums = np.dtype(dtype)
    poison(np.empty(bins + outside, sums))
    return _core.histogram(a, kind, bins, edges, None, weights, sums, outside, False, *options)


def enough(device, n, bins):
    """How often n elements of MANY bins, or more, make it worth while to clear and add tables."""
    each = {"cpu": 0, "emu": 2}.get(device, 70)  # elements a bin
    return 1 + (bins >= MANY) * each * (bins + 1) // n


def check(device, a, weights, bins, dtype=None, outside=False, times=None):
    """times: of all elements, one after the other; None: as often as MANY bins take."""
    dtype = dtype or SUM_OF.get(weights.dtype.name, weights.dtype)
    if times is None:
        times = enough(device, len(a), bins) if bins == MANY else 1
    index = a.astype(np.int64)
    index = np.where((index >= 0) & (index < bins), index, bins)
    want = oracle(index, weights, bins, dtype, outside, times)
    got = call(device, np.tile(a, times), np.tile(weights, times), bins, dtype, outside)
    assert_same(got, want)


def indices(n, bins, seed=0, dtype=np.int32):
    """Some of them in no bin."""
    return np.random.default_rng(seed).integers(-1, bins + 1, n).astype(dtype)


def all_exponents(dtype, n, seed=0):
    """Finite floats of every exponent alike, subnormals too, and zeros of both signs."""
    weights = raw_bits(dtype, n, seed)
    with np.errstate(invalid="ignore"):  # signalling NaN
        weights[~np.isfinite(weights.astype(np.float64))] = -0.0
    return weights


# ---- tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("dtype", helpers.ALL_DTYPES)
def test_sums_are_exact_and_rounded_once(device, dtype, bins):
    n = 2000
    weights = values(dtype, n, seed=bins)
    check(device, indices(n, bins), weights, bins, outside=bins % 2 == 0)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_any_number_of_elements(device, dtype, n):
    check(device, indices(n, 256), values(dtype, n), 256, outside=True)


@pytest.mark.large
@pytest.mark.parametrize("bins", [5, 256, 1500, MANY])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16", "complex64"])
def test_many_tiles(device, dtype, bins):
    n = 70_001
    check(device, indices(n, bins), values(dtype, n), bins, outside=True)
    check(device, indices(n, bins, dtype=np.int64), values(dtype, n, 1), bins)


@pytest.mark.parametrize("bins", [1, 3, 256, 700, MANY])
@pytest.mark.parametrize("dtype", [*helpers.REALS, *helpers.COMPLEX])
def test_weights_of_every_exponent(device, dtype, bins):
    n = 3000
    if np.dtype(dtype).kind == "c":
        part = np.dtype(dtype).type().real.dtype
        weights = joined(all_exponents(part, n, 1), all_exponents(part, n, 2))
    else:
        weights = all_exponents(dtype, n)
    check(device, indices(n, bins), weights, bins)


def test_more_limbs_than_one_pass_has_room_for(device):
    weights = np.append(all_exponents("float64", 1000), [np.inf, np.nan])
    check(device, indices(1002, 40_000), weights, 40_000, outside=True)


@pytest.mark.parametrize("bins", [1, 256, MANY])
@pytest.mark.parametrize("dtype", [*helpers.INTEGERS, "float32", "float64", "float16"])
def test_every_dtype_of_elements(device, dtype, bins):
    n = 1000
    rows = [r for r in helpers.rows("histogram") if r.device == device and r.production]
    if dtype not in rows[0].dtypes:
        pytest.skip(f"{rows[0]} takes no {dtype}")
    weights = values("float64", n)
    rng = np.random.default_rng(4)
    a = values(dtype, n) if dtype == "bool" else rng.integers(0, 100, n).astype(dtype)
    edges = np.linspace(2.5, 90, bins + 1)
    index = np.searchsorted(edges, a.astype(np.float64), "right") - 1
    index[a == 90] = bins - 1
    index[(index < 0) | (index >= bins)] = bins
    times = enough(device, n, bins)
    want = oracle(index, weights, bins, "float64", True, times)
    all_of = np.tile(a, times), np.tile(weights, times)
    assert_same(call(device, *all_of, bins, "float64", True, "edges", edges), want)
    if np.dtype(dtype).kind != "f":
        check(device, a, weights, bins, outside=True)


@pytest.mark.parametrize("bins", [2, 300, MANY])
def test_equal_bins_of_floats(device, bins):
    times = enough(device, 3000, bins)
    n = 3000 * times
    a, weights = np.tile(values("float32", 3000), times), values("float32", n, 1)
    edges = np.histogram_bin_edges(a, bins, (-2, 2))
    counts = np.histogram(a, bins, (-2, 2))[0]
    uniform = (-2.0, 2.0, 4.0, 0, 0, edges.dtype, np.dtype(np.float64))
    options = (None, device, None, None, None)
    ones = np.ones(n, np.float32)
    dtype = np.dtype(np.float64)
    got = _core.histogram(a, "uniform", bins, edges, uniform, ones, dtype, False, False, *options)
    assert_same(got, counts.astype(np.float64))
    want = np.histogram(a.astype(np.float64), bins, (-2, 2), weights=weights.astype(np.float64))[0]
    got = _core.histogram(
        a, "uniform", bins, edges, uniform, weights, dtype, False, False, *options
    )
    helpers.assert_near(got, want, 1e-9)


@pytest.mark.parametrize("bins", [64, 700, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_ties_of_many_bins(device, dtype, bins):
    """Bins whose sums lie halfway between two numbers, or next to it, and those that are whole."""
    digits = ml_dtypes.finfo(np.dtype(dtype).type().real.dtype).nmant + 1
    half, more = 2.0 ** (20 - digits), 2.0 ** (-9 if digits == 53 else -34)
    rng = np.random.default_rng(bins)
    each = np.array([2.0**20, -(2.0**20), half, -half, half * more, 0.125 + half, 0.125])
    a = rng.integers(0, bins, 60, dtype=np.int32)[rng.integers(0, 60, 500)]
    for weights in (rng.choice(each, 500), rng.choice(each[2:], 500) * 2.0**-60):
        two = weights if dtype[0] == "f" else joined(weights, weights[::-1])
        check(device, a, two.astype(dtype), bins)


@pytest.mark.parametrize("bins", [64, 100_003])
def test_sums_of_more_bits_than_their_words_take_as_doubles(device, bins):
    rng = np.random.default_rng(bins)
    weights = np.r_[1 + 2.0**-52, (1 + rng.random(3999)) * 2.0**46]
    check(device, rng.integers(0, 64, 4000, dtype=np.int32), weights, bins)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("n", [0, 1, 300, 513, 3000])
def test_few_elements_in_many_bins(device, n, outside):
    """Bins that are met many times, or whose sum is zero, and all the others, which are not met."""
    bins = 100_003
    rng = np.random.default_rng(n)
    a = rng.integers(-1, 1 + bins // 500, n, dtype=np.int32) * 500 + bins % 500
    for weights in (
        values("float64", n, seed=n),
        rng.choice([1.0, -1.0, 0.0, -0.0], n),
        rng.choice([1.5, np.inf, -np.inf, np.nan], n, p=[0.97, 0.01, 0.01, 0.01]),
        all_exponents("float64", n, seed=n),
        rng.integers(-9, 9, n),
    ):
        check(device, a, weights, bins, "float64", outside)


@pytest.mark.parametrize("bins", [1, 256, MANY])
def test_what_cancels_leaves_the_rest(device, bins):
    one = np.array([1e300, 1.0, -1e300, 2.0**-1074, -(2.0**-1000)])
    weights = np.tile(one, 100)
    a = np.repeat(np.arange(100, dtype=np.int32) % bins, 5)
    check(device, a, weights, bins)
    small = np.array([3e38, 1.0, -3e38, 2.0**-149], np.float32)
    check(device, np.repeat(np.arange(100, dtype=np.int32) % bins, 4), np.tile(small, 100), bins)


@pytest.mark.parametrize("bins", [8, 700, MANY])
@pytest.mark.parametrize("dtype", helpers.REALS)
def test_infinities_and_nan(device, dtype, bins):
    inf, nan = np.inf, special_floats(dtype)[-1]
    sets = [[inf, 1], [-inf, -1], [inf, -inf], [nan, 1], [nan, inf], [inf, inf], [0, 1], [1, -1]]
    weights = np.array(sets).astype(dtype).reshape(-1)
    a = np.repeat(np.arange(8, dtype=np.int32), 2)
    check(device, a, weights, bins)
    check(device, a, joined(weights, weights[::-1]) if dtype in helpers.FLOATS else weights, bins)


@pytest.mark.parametrize("bins", [1, 700, MANY])
@pytest.mark.parametrize("dtype", helpers.REALS)
def test_only_the_sum_overflows(device, dtype, bins):
    most = ml_dtypes.finfo(dtype).max
    for signs in ([1, 1, -1], [1, 1], [-1, -1]):
        check(device, np.zeros(len(signs), np.int32), np.array(signs, dtype) * most, bins)


@pytest.mark.parametrize("bins", [1, MANY])
@pytest.mark.parametrize("dtype", helpers.REALS)
def test_no_sum_is_minus_zero(device, dtype, bins):
    check(device, np.zeros(40, np.int32), np.full(40, -0.0).astype(dtype), bins)
    small = -np.full(1, ml_dtypes.finfo(dtype).smallest_subnormal).astype(dtype)
    check(device, np.zeros(2, np.int32), np.array([small[0], -small[0]]), bins)


@pytest.mark.parametrize("bins", [1, 256, 700, MANY])
@pytest.mark.parametrize("dtype", helpers.DTYPES)
@pytest.mark.parametrize("sign", [1, -1])
def test_equal_indices_and_the_largest_weights(device, dtype, bins, sign):
    """Words overflow, and so do those that take what they pass on."""
    info = np.iinfo(dtype) if dtype in SUM_OF and dtype[0] in "iu" else None
    most = True if dtype == "bool" else info.max if info else 1.9999998 * 2.0**20
    n = 4500
    weights = np.full(n, most, dtype)
    if sign < 0:
        weights = (
            np.full(n, info.min, dtype)
            if info and info.min
            else -weights
            if info is None and dtype != "bool"
            else weights
        )
    a = np.full(n, min(bins - 1, 200), np.int32)
    for to in {SUM_OF[dtype], "float64"}:
        check(device, a, weights, bins, to)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bins", [1, 256, 700])
def test_a_carry_that_meets_a_full_word(device, bins, sign):
    """Words that hold 2^31 - 1, or -2^31, one above the other: one more, and all pass on."""
    for dtype, digits, lows in [("float32", 24, [-101, 19]), ("float64", 28, [-1002, 30])]:
        half, count = 2 ** (digits - 1), 2 ** (31 - digits) - 1
        full = [2 * half - 1] * count + [half, half + count - (sign > 0)]
        assert sum(full) == 2**31 - (sign > 0)
        for low in lows:  # where a piece's lowest bit is its word's
            high = [sign * m * 2.0 ** (low + up) for up in (64, 32) for m in full]
            weights = np.array(high + [sign * m * 2.0**low for m in [*full, half]], dtype)
            for order in (weights, weights[::-1].copy()):  # whichever of them comes first
                check(device, np.full(len(weights), bins // 2, np.int32), order, bins)
    whole = [sign * 0x7FFFFFFF << 32, sign * 0x7FFFFFFF, sign * 0x7FFFFFFF, sign * 7 << 32]
    weights = np.array(whole, np.int64)
    check(device, np.full(4, bins // 2, np.int32), weights, bins, "float64")


@pytest.mark.large
@pytest.mark.parametrize("bins", [256, MANY])
def test_many_equal_weights_carry_far(device, bins):
    n = 2**20
    for dtype, weight in [("float32", 3.4028235e38), ("float64", -1.7976931348623157e308 / 2**30)]:
        weights = np.full(n, weight, dtype)
        got = call(device, np.zeros(n, np.int32), weights, bins, "float64")
        assert got[0] == float(weights[0]) * n
        assert not got[1:].any()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "uint64", "float32", "float64"]
)
@pytest.mark.parametrize("weight", ["int64", "uint64", "uint32", "int8"])
def test_integers_give_any_result(device, dtype, weight):
    weights = values(weight, 500)
    weights[:4] = [1, 2, 3, 0]
    a = indices(500, 50)
    a[:4] = 60  # in no bin
    if weight == "int64":
        a[a == 7], weights[-2:] = 9, [2**62, -(2**62)]
        a[-2:] = 7  # a sum of zero, and it is false
    check(device, a, weights, 50, dtype, outside=True)


@pytest.mark.parametrize("lead", range(4))
@pytest.mark.parametrize(
    "types", [("int32", "float32"), ("int64", "float64"), ("int16", "float16")]
)
def test_arrays_that_start_anywhere(device, types, lead):
    n = 4500
    for late in range(4):
        a = indices(n + lead, 300, dtype=types[0])[lead:]
        weights = values(types[1], n + late)[late:]
        check(device, a, weights, 300)
        if device == "cpu":
            continue
        put = warpkit.asarray(indices(n + lead, 300, dtype=types[0]), device=device)[lead:]
        there = warpkit.asarray(values(types[1], n + late), device=device)[late:]
        got = call(device, put, there, 300, types[1]).numpy()
        assert_same(got, call(device, a, weights, 300, types[1]))


def test_some_of_the_weights_are_far_from_the_sample(device):
    """Most weights are of one size, so that a window over it is chosen; the others lie outside."""
    n = 5000
    for dtype, far in [("float32", [1e30, -1e-30]), ("float64", [1e290, -1e-290, 1e-310])]:
        weights = values(dtype, n)
        at = np.random.default_rng(7).integers(0, n, 300)
        weights[at] = np.resize(np.array(far, dtype), 300)
        for bins in (3, 700, 1500, 2200, MANY, 12_000):
            check(device, indices(n, bins), weights, bins)


# One short number a bin: of several copies; of one; of parts that two blocks share, and four.
SHARED = [MANY, 19_300, 30_000, 40_000]


@pytest.mark.parametrize("bins", SHARED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_numbers_of_many_bins(device, dtype, bins):
    n = 2000
    times = enough(device, n, bins)
    if not helpers.allowed(n * times):
        pytest.skip("--small")
    weights = values(dtype, n, seed=bins)
    at = np.random.default_rng(bins)
    data = [
        at.integers(-1, bins + 1, n),
        np.full(n, bins - 1),
        np.sort(at.integers(0, bins, n)),
        at.integers(0, bins // 32, n) * 32,
        np.arange(n),
    ]
    for k, a in enumerate(data):
        check(device, a.astype(np.int32), weights, bins, outside=k == 0, times=times)
    check(device, data[0].astype(np.int64), weights[::-1].copy(), bins, times=times)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_words_of_short_numbers_pass_on_what_they_overflow_by(device, dtype):
    """Ones and their opposites, in every order: each crosses zero, where all words change."""
    reach = 16 if dtype == "float32" else 10
    digits = 24 if dtype == "float32" else 53
    n = 2000
    for top in range(0, reach, 3):
        most = (2.0**digits - 1) * 2.0**top
        units = np.array([1.0, -1.0, most, -most, most, most, -most, -most], dtype)
        weights = np.resize(units, n)
        for a in (np.zeros(n), np.arange(n) // 8 % MANY, np.arange(n) % 7):
            for order in (weights, weights[::-1].copy(), -weights):
                check(device, a.astype(np.int32), order, MANY)
        check(device, np.zeros(n, np.int32), np.full(n, most, dtype), MANY)
        check(device, np.zeros(n, np.int32), np.full(n, -most, dtype), MANY)
