"""NumPy and SciPy as the oracle: of the oracles, and of the production kernels."""

import ctypes
import functools
import itertools
import math
import types
from fractions import Fraction

import helpers
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import warpkit
from helpers import (
    DTYPES,
    FLOATS,
    FOLDS,
    MODES,
    assert_near,
    assert_same,
    few_values,
    outcome,
    values,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warpkit import reference

# The same examples in every run: a red run must be red again.
examples = settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

OPERATIONS = ("reduce", "transpose", "stencil1d", "histogram", "bincount", "warp_histogram")


def on(device):
    calls = {name: functools.partial(getattr(warpkit, name), device=device) for name in OPERATIONS}
    return types.SimpleNamespace(**calls)


# The oracles themselves, and the production kernels of each device.
kernels = [pytest.param(on(device), id=device) for device in helpers.devices]
over_both = pytest.mark.parametrize("wk", [pytest.param(reference, id="reference"), *kernels])
over_devices = pytest.mark.parametrize("wk", kernels)


# ---- the arithmetic of the oracles -------------------------------------------------------------


def any_doubles(n, seed):
    """Any bits, whole numbers at both ends of the range, and numbers of a size."""
    rng = np.random.default_rng(seed)
    kinds = [
        helpers.raw_bits("float64", n, seed),
        rng.integers(-3, 4, n) * rng.choice([1.0, 2.0**-1074, 2.0**-500, 2.0**1000, 0.5], n),
        rng.normal(size=n) * 2.0 ** rng.integers(-60, 60, n),
        rng.normal(size=n),
    ]
    return np.choose(rng.integers(0, 4, n), kinds)


@np.errstate(all="ignore")
def test_fma_of_the_oracle_is_that_of_the_c_library():
    try:
        c_fma = ctypes.CDLL("libm.so.6").fma
    except OSError:
        pytest.skip("another C library")
    c_fma.restype, c_fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    a, b, c = (any_doubles(20_000, seed) for seed in range(3))
    near = -(a * b) * (1 + np.random.default_rng(3).integers(-2, 3, a.size) * 2.0**-52)
    for third in (c, near):  # near: all but the last bits cancel
        want = np.array([c_fma(*args) for args in zip(a, b, third, strict=True)])
        got = reference.fma(a, b, third)
        number = ~np.isnan(want)
        np.testing.assert_array_equal(got[number].view(np.int64), want[number].view(np.int64))
        assert np.isnan(got[~number]).all()


def product_in_words(x):
    while True:
        totals = []
        for first in range(0, max(len(x), 1), 1024):
            lanes = [1.0] * 32
            for i, value in enumerate(x[first : first + 1024]):
                lanes[i % 32] *= value
            for half in (16, 8, 4, 2, 1):
                lanes = [lanes[i] * lanes[i + half] for i in range(half)]
            totals += lanes
        x = totals
        if len(x) == 1:
            return x[0]


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 64, 1023, 1024, 1025, 5000, 2**20 + 1])
def test_the_product_of_the_oracle_is_the_product_in_words(n):
    x = helpers.factors("float64", n)
    assert float(reference.product(x)).hex() == float(product_in_words(x.tolist())).hex()


def test_the_product_of_the_oracle_leaves_out_what_does_not_count():
    x = helpers.factors("complex128", 3000)
    counts = helpers.values("bool", 3000)
    want = np.prod(np.where(counts, x, 1))
    np.testing.assert_allclose(reference.product(x, counts), want, rtol=1e-12)
    inf = np.array([complex(np.inf, 1), complex(np.nan, 0)])
    assert reference.product(inf, [True, False]) == inf[0]
    assert reference.product(inf, [False, False]) == 1


def nearest_in_words(exact, dtype):
    """The nearer of the two neighbours among all numbers of the type."""
    digits, least, most = reference.FORMATS[dtype]
    size = abs(exact)
    unit = least
    while size >= Fraction(2) ** (unit + digits):
        unit += 1
    low = size // Fraction(2) ** unit
    rest = size / Fraction(2) ** unit - low
    whole = low + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1))
    value = whole * Fraction(2) ** unit
    value = math.inf if value >= Fraction(2) ** (most + 1) else float(value)
    return -value if exact < 0 else value


@given(
    n=st.integers(-(2**70), 2**70), d=st.integers(1, 2**40), e=st.integers(-170, 90),
    dtype=st.sampled_from(list(reference.FORMATS)),
)  # fmt: skip
@examples
def test_the_oracle_rounds_to_the_nearer_neighbour(n, d, e, dtype):
    exact = Fraction(n, d) * Fraction(2) ** e
    assert reference.nearest(n, d, e, dtype) == nearest_in_words(exact, dtype)
    root = reference.nearest_root(abs(n), d, e, dtype)
    below, above = (Fraction(x) for x in neighbours(root, dtype))
    if math.isfinite(root):  # between the squares of the middles on both sides
        middles = ((below + Fraction(root)) / 2, (Fraction(root) + above) / 2)
        assert max(middles[0], 0) ** 2 <= abs(exact) <= middles[1] ** 2


def neighbours(x, dtype):
    digits, least, _ = reference.FORMATS[dtype]
    if not math.isfinite(x):
        return 0, 0
    unit = max(math.frexp(x)[1] - digits, least) if x else least
    down = unit - 1 if x and math.frexp(x)[0] == 0.5 and unit > least else unit
    return Fraction(x) - Fraction(2) ** down, Fraction(x) + Fraction(2) ** unit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_the_oracle_are_those_of_fractions(dtype):
    rng = np.random.default_rng(0)
    for seed in range(60):
        x = helpers.raw_bits(dtype, rng.integers(1, 40), seed)
        x = x[np.isfinite(x)]
        if x.size == 0:
            continue
        exact, n = [Fraction(v) for v in x.tolist()], x.size
        total, squares = sum(exact), sum(v * v for v in exact)
        variance = (n * squares - total**2) / (n * n)
        for op, want in (("sum", total), ("mean", total / n), ("sumsq", squares),
                         ("var", variance)):  # fmt: skip
            got = reference.reduce(x, op)
            assert float(got) == nearest_in_words(want, dtype), op
        if dtype == "float64" and np.isfinite(float(reference.reduce(np.abs(x)))):
            assert float(reference.reduce(x)) == math.fsum(x.tolist())


# ---- reduce ------------------------------------------------------------------------------------


def check_fold(wk, a, op, axis, keepdims=False):
    got = wk.reduce(a, op, axis, keepdims=keepdims)
    want = getattr(np, op)(a, axis=axis, keepdims=keepdims)
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if (a.dtype.kind != "f" and op != "mean") or op in ("min", "max"):
        np.testing.assert_array_equal(got, want)
        return
    # NumPy's own sum of float32 is coarser than ours: compare with a sum in more digits.
    fine = getattr(np, op)(a, axis=axis, keepdims=keepdims, dtype=np.longdouble)
    n = a.size / max(got.size, 1)
    absolute = np.abs(a.astype(np.float64))
    size = {"prod": np.abs(fine), "sum": absolute.sum(axis, keepdims=keepdims)}
    size["mean"] = size["sum"] / max(n, 1)
    tolerance = n * np.finfo(np.float64).eps * size[op] + np.finfo(got.dtype).eps * np.abs(fine)
    assert_near(got, np.asarray(fine).astype(got.dtype), tolerance.astype(np.float64))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("dtype", DTYPES)
@over_both
def test_folds_along_any_axes_are_numpys(wk, dtype, op, keepdims):
    a = (helpers.factors if op == "prod" else values)(dtype, (4, 37, 5))
    for axis in (None, 0, 1, 2, -1, -3, (), (0,), (0, 1), (2, 0), (-1, 1), (0, 1, 2), (-1, -2, -3)):
        check_fold(wk, a, op, axis, keepdims)
    for zero_d in (a[1, 2, 3], a[1, 2, 3, ...]):
        for axis in (
            (None, ()) if op == "mean" else (None, 0, -1, ())
        ):  # as numpy.mean, others 0 too
            check_fold(wk, zero_d, op, axis, keepdims)
    for axis in (np.int64(1), np.array(1)):
        check_fold(wk, a, op, axis, keepdims)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 4, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "float64"])
@over_both
def test_folds_of_nothing_are_numpys(wk, dtype, shape):
    a = np.zeros(shape, dtype)
    for op, axis in itertools.product(("sum", "prod"), (None, (), *range(len(shape)))):
        assert_same(wk.reduce(a, op, axis), getattr(np, op)(a, axis=axis))


@given(data=st.data())
@examples
@over_both
def test_folds_of_any_array_are_numpys(wk, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=5, max_side=9))
    op = data.draw(st.sampled_from(FOLDS))
    seed = data.draw(st.integers(0, 99))
    a = (helpers.factors if op == "prod" else values)(dtype, shape, seed)
    a = np.asarray(a).transpose(data.draw(st.permutations(range(len(shape)))))
    some = st.sets(st.integers(0, len(shape) - 1)).map(tuple) if shape else st.just(())
    axes = data.draw(st.none() | some)
    check_fold(wk, a, op, axes, data.draw(st.booleans()))


@pytest.mark.parametrize("dtype", FLOATS)
@over_both
def test_sums_are_those_of_exact_arithmetic_where_it_rounds_nothing(wk, dtype):
    a = few_values(dtype, 100_001) * 0.25
    assert wk.reduce(a) == math.fsum(a.tolist())


# ---- transpose ---------------------------------------------------------------------------------


@given(data=st.data())
@examples
@over_both
def test_transposes_are_numpys(wk, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=7))
    a = helpers.raw_bits(dtype, shape)
    axes = data.draw(st.none() | st.permutations(range(-len(shape), 0)))
    got = wk.transpose(a, axes)
    assert_same(got, np.array(np.transpose(a, axes), order="C"))
    assert not np.shares_memory(got, a)


# ---- stencil1d ---------------------------------------------------------------------------------


def parts(x):
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def check_stencil(wk, a, taps, axis=-1, mode="reflect", cval=0.0, origin=0, **types):
    """types: output and accumulate. Floats may be as far from SciPy's as both sides' roundings of
    sums explain, and one of the result."""
    ndimage = pytest.importorskip("scipy.ndimage")
    want = ndimage.correlate1d(a, taps, axis, types.get("output"), mode, cval, origin)
    got = wk.stencil1d(a, taps, axis, mode=mode, cval=cval, origin=origin, **types)
    if want.dtype.kind in "bui":
        assert_same(got, np.ascontiguousarray(want))
        return
    sums = np.finfo(types.get("accumulate") or np.float64)
    absolute = (sum(np.abs(p).astype(np.float64) for p in parts(np.asarray(x))) for x in (a, taps))
    beyond = abs(np.real(cval)) + abs(np.imag(cval))
    size = ndimage.correlate1d(*absolute, axis, None, mode, beyond, origin)
    assert got.dtype == want.dtype
    four = a.dtype.kind == np.asarray(taps).dtype.kind == "c"  # sums of SciPy's, each rounded
    for mine, theirs in zip(parts(got), parts(want), strict=True):
        result = np.finfo(theirs.dtype)
        rounding = result.eps * (size if four else abs(theirs)) + result.tiny
        assert_near(mine, theirs, (len(taps) + 2) * (sums.eps * size + sums.tiny) + rounding)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS)
@over_both
def test_stencils_are_scipys_at_every_origin_length_and_mode(wk, dtype, mode):
    for n, taps in itertools.product((1, 2, 3, 5, 40), (1, 2, 3, 4, 9, 30)):
        for origin in sorted({-(taps // 2), -1 % taps - taps // 2, 0, (taps - 1) // 2}):
            a, c = values(dtype, n), values("float64", taps, seed=1)
            check_stencil(wk, a, c, mode=mode, cval=-1.25, origin=origin)


@pytest.mark.parametrize("mode", MODES)
@over_both
def test_stencils_are_scipys_along_every_axis(wk, mode):
    a = values("float32", (6, 50, 3))
    layouts = (a, a.T, a[::-1, ::2], np.asfortranarray(a))
    for axis, layout in itertools.product(range(-3, 3), layouts):
        check_stencil(wk, layout, [0.2, -1.0, 0.7, 3.0, 1.5], axis, mode, cval=2.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES[1:-2])
@over_both
def test_stencils_of_integers_are_truncated_as_scipys(wk, dtype, mode):
    a = (values("uint8", (30, 4)) % 12).astype(dtype)
    signed = np.dtype(dtype).kind == "i"
    for taps in ([1, 2, 1], [0.5, 0.25, 0.5, 0.25], [1, -1] if signed else [2]):
        for axis in (0, 1):
            check_stencil(wk, a, taps, axis, mode, cval=3.0)
    if not signed:  # -7 is 249, as in C
        check_stencil(wk, a[:, 0], [-1], mode=mode)


@over_both
def test_a_stencil_of_the_output_range_ends_where_scipys_does(wk):
    for dtype in ("int64", "uint64"):
        a = np.array([np.iinfo(dtype).max, 0, 2**53 + 1, 2**62, 1, 2**53 - 1], dtype)
        check_stencil(wk, a[1:], [1])


@over_devices
def test_stencils_name_their_modes_as_scipys_grid_modes_too(wk):
    a = values("float32", 20)
    for name in ("mirror", "constant", "wrap"):
        same = {"mirror": "reflect"}.get(name, name)
        check_stencil(wk, a, [1, 2, 3, 4], mode=f"grid-{name}")
        got = wk.stencil1d(a, [1, 2], mode=f"grid-{name}")
        assert_same(got, wk.stencil1d(a, [1, 2], mode=same))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("dtype", "c", "cval"),
    [
        ("complex64", [1.5, -2.0, 0.25], 1 - 2j),
        ("complex128", [0.5, 3.0, 1.0, -0.7], 0.5j),
        ("complex64", [1 + 2j, -0.5j, 0.25], 1 - 2j),
        ("complex128", [1 + 2j, 0.3, -0.5j, 0.25], 3.0),
        ("float32", [1 + 2j, -0.5j, 0.25], 2.0),
        ("float64", [1 + 2j, -0.5j], 2.0),
        ("int16", [1 + 2j, -0.5j, 2.0, 1.0], -1.0),
        ("int64", [1j], -1.0),
    ],
    ids=str,
)
@over_both
def test_complex_stencils_are_scipys(wk, dtype, c, cval, mode):
    make = few_values if np.dtype(dtype).kind == "i" else values
    for axis, shape in ((0, (2,)), (0, (30, 4)), (1, (5, 40)), (1, (3, 9, 2)), (0, (9, 70))):
        check_stencil(wk, make(dtype, shape), c, axis, mode, cval)


@pytest.mark.parametrize("accumulate", [None, "float32"])
@over_both
def test_stencils_store_the_dtypes_that_scipy_stores(wk, accumulate):
    for dtype in (*DTYPES[1:], "float16"):
        a = few_values(dtype, (20, 9))
        for output in (*DTYPES[1:], "complex128"):
            kind = np.dtype(output).kind
            taps = [1.0, 2.0, 1.0] if kind == "u" else [1.0, -2.0, 1.5]
            c = a.astype(np.abs(a).dtype if kind == "u" else dtype) + (1j if kind == "c" else 0)
            x = np.abs(c) if kind == "u" else c
            if x.dtype != "float16":  # which SciPy does not take
                check_stencil(wk, x, taps, 0, output=np.dtype(output), accumulate=accumulate)


@pytest.mark.parametrize("mode", MODES)
def test_convolutions_are_scipys_at_every_origin_and_length(device, mode):
    ndimage = pytest.importorskip("scipy.ndimage")
    a = few_values("float64", (7, 40))
    for taps in range(1, 8):
        for c in (few_values("float64", taps, seed=1), few_values("complex128", taps, seed=2)):
            for origin in range(-(taps // 2), (taps - 1) // 2 + 1):
                for axis in (0, 1):
                    want = ndimage.convolve1d(a, c, axis, None, mode, 2.0, origin)
                    options = {"mode": mode, "cval": 2.0, "origin": origin, "device": device}
                    got = warpkit.convolve1d(a, c, axis, **options)
                    np.testing.assert_array_equal(got, want)


def test_convolutions_without_the_ends_are_numpys(device):
    for n, taps in ((1, 1), (40, 2), (40, 5), (9, 9)):
        a, c = few_values("float64", n), few_values("float64", taps, seed=1)
        got = warpkit.convolve1d(a, c, mode="valid", device=device)
        np.testing.assert_array_equal(got, np.convolve(a, c, "valid"))


def draw_stencil(data, dtype):
    """An array of any layout, and the arguments of a stencil along one of its axes."""
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=12))
    a = few_values(dtype, shape, seed=data.draw(st.integers(0, 99)))
    a = a.transpose(data.draw(st.permutations(range(a.ndim))))
    a = a[tuple(data.draw(st.sampled_from([slice(None), np.s_[::-1], np.s_[::2]])) for _ in shape)]
    count = data.draw(st.integers(1, 30))
    taps = np.random.default_rng(count).integers(-4, 5, count).astype(np.float64)
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
    return a, taps, axis, data.draw(st.integers(-(count // 2), (count - 1) // 2))


@pytest.mark.parametrize("mode", MODES)
@over_both
@examples
@given(data=st.data())
def test_any_stencil_is_scipys(wk, mode, data):
    dtype = data.draw(st.sampled_from([*DTYPES[1:], "complex64", "complex128"]))
    a, taps, axis, origin = draw_stencil(data, dtype)
    if a.dtype.kind == "u":
        taps = abs(taps)  # what is below 0 SciPy leaves to the compiler
    taps *= data.draw(st.sampled_from([1.0, 0.1] if a.dtype.kind in "fc" else [1.0]))
    if data.draw(st.booleans()) and a.dtype.kind in "fc":
        taps = taps - 0.7j * taps[::-1]
    cval = data.draw(st.sampled_from([0, 1.5, -2.0] if a.dtype.kind in "fc" else [0, 3.0]))
    if a.dtype.kind in "iu" and abs(taps).sum() * 4 > 127:
        a = a.astype("int32")
    check_stencil(wk, a, taps, axis, mode, cval, origin)


@pytest.mark.parametrize("mode", [*MODES, "valid"])
@over_both
@examples
@given(data=st.data())
def test_sums_that_are_exact_are_exact(wk, mode, data):
    """Whole numbers, added one by one in Python's integers."""
    a, taps, axis, origin = draw_stencil(data, data.draw(st.sampled_from(["int32", *FLOATS])))
    accumulate = data.draw(st.sampled_from([None, "float32"]))
    lines, n = np.moveaxis(a, axis, -1), a.shape[axis]
    at, outputs = np.arange(n) - len(taps) // 2 - origin, n
    if mode == "valid":
        at, outputs, origin = np.arange(n - len(taps) + 1), n - len(taps) + 1, 0
        if outputs < 1:
            return
    pad = len(taps)
    numpys = {"reflect": "symmetric", "constant": "constant", "nearest": "edge"}
    numpys |= {"mirror": "reflect", "wrap": "wrap", "valid": "edge"}
    widths = [(0, 0)] * (a.ndim - 1) + [(pad, pad)]
    options = {"constant_values": 2} if mode == "constant" else {}
    padded = np.pad(lines, widths, numpys[mode], **options).astype(object)
    want = np.zeros((*lines.shape[:-1], outputs), object)
    for t, tap in enumerate(taps):
        want = want + int(tap) * padded[..., at + t + pad]
    got = wk.stencil1d(
        a, taps, axis, mode=mode, cval=2, origin=origin, accumulate=accumulate, output="int64"
    )
    want = np.moveaxis(np.vectorize(int, otypes=[np.int64])(want), -1, axis)
    assert_same(got, np.ascontiguousarray(want))


# ---- histogram ---------------------------------------------------------------------------------


def check_histogram(wk, a, bins=10, range=None, **kwargs):
    """Counts and edges to the bit, or the same error in the same words."""
    want = outcome(np.histogram, a, bins, range, **kwargs)
    got = outcome(wk.histogram, a, bins, range, **kwargs)
    if isinstance(want, (IndexError, OverflowError)):
        # NumPy trips over a range wider than the largest float, or than its ends' type.
        assert isinstance(got, OverflowError) or got[0].sum() <= np.size(a)
        return
    if isinstance(want, Exception):
        assert (type(got), str(got)) == (type(want), str(want))
        return
    assert not isinstance(got, Exception), got
    for mine, theirs in zip(got, want, strict=True):
        assert_same(mine, np.ascontiguousarray(theirs))


def around(edges, dtype):
    """Values on the edges, just below, just above, and between."""
    edges = np.asarray(edges)
    with np.errstate(all="ignore"):
        edges = edges[np.isfinite(edges)].astype(dtype)
        middles = edges[:-1] / 2 + edges[1:] / 2
    below, above = np.nextafter(edges, dtype(-np.inf)), np.nextafter(edges, dtype(np.inf))
    a = np.concatenate([edges, below, above, middles.astype(dtype)])
    return a[np.isfinite(a)]


RANGES = [
    (0.0, 1.0), (0, 1), (-1.0, 2.0), (0.1, 0.7), (1 / 3, 2 / 3), (-5, 3), (1.0, 1.0), (0, 0),
    (1.0, 1.0 + 1e-13), (1e-310, 3e-310), (0.0, 5e-324 * 1000), (1e300, 1.7e308), (-1e308, 1e308),
    (-1.7e308, 1.7e308), (1e15, 1e15 + 3), (2**53, 2**53 + 100), (-(2**62), 2**62), (0, 2**64),
    (np.float32(0.1), np.float32(0.7)), (np.float32(-1), np.float32(1)), (np.float64(0.1), 0.7),
    (np.float32(0.1), np.float64(0.7)), (np.int64(-3), np.int64(9)),
    (np.uint8(3), np.uint8(200)), (np.int8(-100), np.int8(100)), (np.int16(-5), 3.5),
    (np.uint64(2**63), np.uint64(2**64 - 1)), (False, True), (1e-30, 1e30), (3.0e38, 3.4e38),
]  # fmt: skip


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 64, 1000, 1025])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@over_devices
@np.errstate(all="ignore")
def test_floats_on_and_beside_the_edges_are_counted_as_numpy_counts(wk, dtype, bins):
    for interval in RANGES:
        edges = outcome(np.histogram_bin_edges, np.zeros(0, dtype), bins, interval)
        if isinstance(edges, Exception):
            check_histogram(wk, np.ones(3, dtype), bins, interval)
            continue
        check_histogram(wk, around(edges, dtype), bins, interval)
        check_histogram(wk, around(edges, dtype), bins)  # the range from the data


@pytest.mark.parametrize("bins", [1, 3, 10, 256, 2000])
@pytest.mark.parametrize("dtype", DTYPES[1:-2])
@over_devices
def test_integers_of_any_size_are_counted_as_numpy_counts(wk, dtype, bins):
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max // 2, info.max - 1, info.max, 0, 1, 2, 100]
    if info.max > 2**53:
        ends += [2**53 + d for d in range(-3, 8)]
    a = np.concatenate([np.array(ends, dtype), values(dtype, 500), few_values(dtype, 50)])
    for interval in [None, *RANGES]:
        check_histogram(wk, a, bins, interval)


@over_devices
def test_a_range_of_two_widths_ends_where_numpy_ends_it(wk):
    """NumPy rounds the last edge to float32, and counts up to what was given."""
    check_histogram(wk, np.array([0.7, 0.2]), 2, (np.float32(-1.1), 0.7))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@over_devices
def test_integers_are_compared_with_a_float32_range_as_numpy_compares_them(wk, dtype):
    """In float64, where 2^28 + 1 is above np.float32(2^28); in float32 the two are equal."""
    a = np.array([2**27 - 1, 2**27, 2**27 + 1, 2**28 - 1, 2**28, 2**28 + 1], dtype)
    check_histogram(wk, a, 3, (np.float32(2**27), np.float32(2**28)))


def numbers(dtype):
    """Values of a type, with a taste for few, equal and whole ones."""
    plain = hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
    return plain | st.integers(0, 5).map(np.dtype(dtype).type)


def some_range(dtype):
    ends = st.one_of(
        st.integers(-5, 120), st.floats(-5, 120), st.floats(-5, 120, width=32).map(np.float32),
        numbers(dtype),
    )  # fmt: skip

    def ordered(pair):
        if any(isinstance(end, np.float32) for end in pair):
            pair = tuple(map(np.float32, pair))  # two widths: see the test above
        return pair if pair[0] <= pair[1] else pair[::-1]

    return st.none() | st.tuples(ends, ends).map(ordered)


@given(data=st.data())
@settings(examples, max_examples=300)
@over_devices
@np.errstate(all="ignore")
def test_any_histogram_is_numpys(wk, data):
    dtype = data.draw(st.sampled_from(DTYPES[1:]))
    a = data.draw(hnp.arrays(dtype, st.integers(0, 70), elements=numbers(dtype)))
    check_histogram(wk, a, data.draw(st.integers(1, 40)), data.draw(some_range(dtype)))


@given(data=st.data())
@settings(examples, max_examples=200)
@over_devices
def test_any_histogram_of_given_edges_is_numpys(wk, data):
    dtype, of_edges = data.draw(st.sampled_from(DTYPES[1:])), data.draw(st.sampled_from(DTYPES[1:]))
    edges = np.sort(data.draw(hnp.arrays(of_edges, st.integers(1, 12), elements=numbers(of_edges))))
    a = data.draw(hnp.arrays(dtype, st.integers(0, 50), elements=numbers(dtype)))
    with np.errstate(all="ignore"):
        a = np.concatenate([a, edges.astype(dtype)])  # some that lie on the edges
    if a.dtype.kind == "f":
        a = a[~np.isnan(a)]
    check_histogram(wk, a, edges)


@pytest.mark.parametrize("dtype", DTYPES[1:])
@over_devices
def test_given_edges_may_repeat_and_be_infinite(wk, dtype):
    a = np.concatenate([values(dtype, 100), few_values(dtype, 100)])
    for edges in (
        [0, 1, 1, 1, 2], [1, 1], [2, 2, 2, 2], [0.0, 0.0, 0.5, 0.5, 3.0], [-np.inf, 0, np.inf],
        [0, 3], [5], np.array([0, 1, 3], np.uint8), np.array([-2, 1, 3], np.int8),
        np.array([0.1, 0.5, 3.2], np.float32), np.linspace(-3, 3, 2049), [False, True],
        np.array([-1, 2**53, 2**53 + 1, 2**62]), np.array([0, 2**63, 2**64 - 1], np.uint64),
    ):  # fmt: skip
        check_histogram(wk, a, edges)


@over_devices
def test_float32_between_float64_edges_is_compared_in_float64(wk):
    third = np.float32(1 / 3)
    a = np.array([third, np.nextafter(third, 0), np.nextafter(third, 1)], np.float32)
    check_histogram(wk, a, [0.0, float(third), 1.0])
    check_histogram(wk, a, [0.0, np.nextafter(float(third), 1), 1.0])
    check_histogram(wk, a, [0.0, 1 / 3, 1.0])


ESTIMATORS = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]


@pytest.mark.parametrize("name", ESTIMATORS)
@over_devices
def test_estimated_bins_are_numpys(wk, name):
    for a in (values("float64", 500), few_values("int16", 300), values("float32", 40), np.zeros(0)):
        check_histogram(wk, a, name)
        check_histogram(wk, a, name, (-1, 2))


@over_devices
def test_density_is_numpys(wk):
    a = values("float64", 500)
    for bins in (10, [-1, 0, 0.5, 2], "fd"):
        check_histogram(wk, a, bins, density=True)
    check_histogram(wk, a, density=False)


def check_as(wk, a, theirs, bins, range=None, **kwargs):
    """The histogram of a is NumPy's of `theirs`."""
    got = wk.histogram(a, bins, range, **kwargs)
    for mine, want in zip(got, np.histogram(theirs, bins, range), strict=True):
        assert_same(mine, np.asarray(want))


@over_devices
def test_bool_is_counted_as_0_and_1(wk):
    a = np.array([True, False, True])
    for bins, interval in ((2, None), (5, None), ([0, 1], None), (3, (0, 2)), ([0.5, 1], None)):
        check_as(wk, a, a.view(np.uint8), bins, interval)


@over_devices
@pytest.mark.parametrize("bins", ["auto", "sturges", "doane", 3, [0, 1, 2, 3]])
def test_a_bool_of_any_byte_but_0_is_counted_as_1(wk, bins):
    a = np.array([0, 1, 2, 3, 200, 0, 255], np.uint8).view(bool)
    check_as(wk, a, a.astype(np.uint8), bins, None)


@over_devices
def test_ignored_nan_is_as_if_it_were_not_there(wk):
    a = np.array([[1.0, np.nan, 3.0], [2.5, -1.0, np.nan]])
    for bins in (4, "sqrt"):
        check_as(wk, a, a[~np.isnan(a)], bins, nan="ignore")
    only = np.full(3, np.nan, np.float32)
    check_as(wk, only, only[:0], 4, nan="ignore")


# ---- bincount and warp_histogram ---------------------------------------------------------------


@given(data=st.data())
@examples
@over_both
def test_any_bincount_is_numpys(wk, data):
    dtype = data.draw(st.sampled_from(DTYPES[:-2]))
    top = 1 if dtype == "bool" else min(np.iinfo(dtype).max, 70_000)
    a = data.draw(hnp.arrays(dtype, st.integers(0, 60), elements=st.integers(0, top)))
    minlength = data.draw(st.integers(0, 100))
    theirs = a.astype(np.intp)  # before 2.3 NumPy refused uint64
    assert_same(wk.bincount(a, minlength=minlength), np.bincount(theirs, minlength=minlength))
    w = data.draw(hnp.arrays(np.int16, a.size)) / 8  # what NumPy adds exactly too
    got = wk.bincount(a, w, minlength)
    assert_same(got, np.bincount(theirs, w, minlength))


@given(data=st.data())
@examples
@over_both
def test_any_histogram_of_whole_weights_is_numpys(wk, data):
    """NumPy adds in float64, and here without rounding."""
    dtype = data.draw(st.sampled_from(["int8", "uint16", "int64", *FLOATS, "complex64"]))
    a = data.draw(hnp.arrays("float64", st.integers(0, 50), elements=st.floats(-9, 9)))
    w = data.draw(hnp.arrays(dtype, a.size, elements=st.integers(0, 99).map(np.dtype(dtype).type)))
    edges = np.sort(data.draw(hnp.arrays("float64", st.integers(2, 9), elements=st.floats(-9, 9))))
    for bins, interval in ((data.draw(st.integers(1, 40)), (-9, 8.5)), (edges, None)):
        got, want = wk.histogram(a, bins, interval, weights=w), np.histogram(a, bins, interval)
        assert_same(got[0], np.histogram(a, bins, interval, weights=w)[0])
        assert_same(got[1], want[1])
        assert wk.histogram(a, bins, interval)[0].sum() == want[0].sum()


def test_the_oracle_of_weights_adds_as_fsum_does():
    rng = np.random.default_rng(3)
    for scale in (1, 60, 900):
        w = rng.normal(size=400) * 2.0 ** rng.integers(-scale, scale, 400)
        a = rng.integers(0, 5, 400)
        want = np.array([math.fsum(w[a == i].tolist()) for i in range(5)])
        assert_same(reference.bincount(a, w), want)
        assert_same(reference.histogram(a, np.arange(6), None, w)[0], want)


@over_devices
def test_bincount_takes_lists(wk):
    for a in ([], [3, 1, 3], (0,), range(5), [True, False]):
        assert_same(wk.bincount(a), np.bincount(a))


@given(data=st.data())
@examples
@over_both
def test_any_warp_histogram_is_numpys_unique(wk, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    elements = numbers(dtype) if dtype != "bool" else st.booleans()
    if dtype in FLOATS:
        elements |= st.sampled_from([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf])
    a = data.draw(hnp.arrays(dtype, st.integers(0, 130), elements=elements))
    got = wk.warp_histogram(a)
    assert [len(part) for part in got] == [-(-a.size // 32)] * 3
    for i, (row, counts, total) in enumerate(zip(*got, strict=True)):
        unique, times = np.unique(a[32 * i : 32 * i + 32], return_counts=True)
        assert total == len(unique)
        np.testing.assert_array_equal(row[:total], unique)
        np.testing.assert_array_equal(counts[:total], times)
        assert not row[total:].view(f"u{row.itemsize}").any()
        assert not counts[total:].any()
