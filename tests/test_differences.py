"""finite_difference against the tables of the literature, gradient1d against numpy.gradient."""

from fractions import Fraction

import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, assert_near, assert_same, values
from warpkit import finite_difference, gradient1d

# (derivative, accuracy): the coefficients from -p up to 0. B. Fornberg (1988), table 1.
CENTRAL = {
    (1, 2): "-1/2 0",
    (1, 4): "1/12 -2/3 0",
    (1, 6): "-1/60 3/20 -3/4 0",
    (1, 8): "1/280 -4/105 1/5 -4/5 0",
    (2, 2): "1 -2",
    (2, 4): "-1/12 4/3 -5/2",
    (2, 6): "1/90 -3/20 3/2 -49/18",
    (2, 8): "-1/560 8/315 -1/5 8/5 -205/72",
    (3, 2): "-1/2 1 0",
    (3, 4): "1/8 -1 13/8 0",
    (3, 6): "-7/240 3/10 -169/120 61/30 0",
    (3, 8): "41/6048 -1261/15120 541/1120 -4369/2520 1669/720 0",
    (4, 2): "1 -4 6",
    (4, 4): "-1/6 2 -13/2 28/3",
    (4, 6): "7/240 -2/5 169/60 -122/15 91/8",
    (4, 8): "-41/7560 1261/15120 -541/840 4369/1260 -1669/180 1529/120",
}

# (derivative, offsets): the coefficients. The same paper, tables 2 and 3.
AT_OFFSETS = {
    (0, "-1/2 1/2"): "1/2 1/2",
    (0, "-3/2 -1/2 1/2 3/2"): "-1/16 9/16 9/16 -1/16",
    (1, "-1/2 1/2"): "-1 1",
    (1, "-3/2 -1/2 1/2 3/2"): "1/24 -9/8 9/8 -1/24",
    (0, "0 1 2"): "1 0 0",
    (1, "0 1"): "-1 1",
    (1, "0 1 2"): "-3/2 2 -1/2",
    (1, "0 1 2 3"): "-11/6 3 -3/2 1/3",
    (1, "0 1 2 3 4"): "-25/12 4 -3 4/3 -1/4",
    (1, "0 1 2 3 4 5"): "-137/60 5 -5 10/3 -5/4 1/5",
    (1, "0 1 2 3 4 5 6"): "-49/20 6 -15/2 20/3 -15/4 6/5 -1/6",
    (2, "0 1 2"): "1 -2 1",
    (2, "0 1 2 3"): "2 -5 4 -1",
    (2, "0 1 2 3 4"): "35/12 -26/3 19/2 -14/3 11/12",
    (2, "0 1 2 3 4 5"): "15/4 -77/6 107/6 -13 61/12 -5/6",
    (3, "0 1 2 3"): "-1 3 -3 1",
    (3, "0 1 2 3 4"): "-5/2 9 -12 7 -3/2",
    (4, "0 1 2 3 4"): "1 -4 6 -4 1",
    (4, "0 1 2 3 4 5"): "3 -14 26 -24 11 -2",
    (1, "-3 -2 -1 0"): "-1/3 3/2 -3 11/6",
    (1, "2 0 1"): "-1/2 -3/2 2",
}


def fractions(text):
    return [Fraction(word) for word in text.split()]


def nearest(numbers):
    return np.array([float(number) for number in numbers])


# ---- coefficients ------------------------------------------------------------------------------


@pytest.mark.parametrize(("derivative", "accuracy"), CENTRAL)
def test_central_coefficients_are_the_tables_rounded_once(derivative, accuracy):
    half = fractions(CENTRAL[derivative, accuracy])
    sign = (-1) ** derivative
    want = nearest([*half, *(sign * c for c in reversed(half[:-1]))])
    got = finite_difference(derivative, accuracy)
    assert len(got) == 2 * ((derivative + 1) // 2) - 1 + accuracy
    np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize(("derivative", "offsets"), AT_OFFSETS)
def test_coefficients_at_offsets_are_the_tables_rounded_once(derivative, offsets):
    got = finite_difference(derivative, offsets=fractions(offsets))
    want = nearest(fractions(AT_OFFSETS[derivative, offsets]))
    np.testing.assert_array_equal(got, want, strict=True)
    floats = finite_difference(derivative, offsets=nearest(fractions(offsets)))
    np.testing.assert_array_equal(floats, want)


def test_the_default_is_the_first_derivative_to_order_8():
    want = [1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]
    np.testing.assert_array_equal(finite_difference(), np.array(want), strict=True)


@pytest.mark.parametrize("h", [3, 0.1, -0.5, np.float32(0.1), np.int64(7), np.array(0.3), 1e-30])
@pytest.mark.parametrize("derivative", [0, 1, 2, 5])
def test_the_division_by_h_is_exact_before_the_one_rounding(derivative, h):
    step = Fraction(float(h)) ** derivative
    offsets = [-2, -1, 0, 1, 2, 5]
    exact = warpkit._differences._coefficients(derivative, tuple(map(Fraction, offsets)))
    got = finite_difference(derivative, h=h, offsets=offsets)
    np.testing.assert_array_equal(got, nearest(c / step for c in exact))


@pytest.mark.parametrize("h", [1.0, 0.1, -3])
@pytest.mark.parametrize("derivative", range(7))
@pytest.mark.parametrize("accuracy", [2, 8, 14])
def test_central_coefficients_are_symmetric_or_antisymmetric_to_the_bit(derivative, accuracy, h):
    c = finite_difference(derivative, accuracy, h)
    np.testing.assert_array_equal(c, (-1) ** derivative * c[::-1])


@pytest.mark.parametrize("offsets", [(0, 1, 3, 7), (-2.5, 0.125, 1, 4, -9), (5, 6, 7, 8)])
@pytest.mark.parametrize("derivative", [0, 1, 2, 3])
def test_polynomials_of_a_lower_degree_than_there_are_offsets_have_exact_derivatives(
    derivative, offsets
):
    places = tuple(map(Fraction, offsets))
    c = warpkit._differences._coefficients(derivative, places)
    for power in range(len(places)):
        at_zero = np.prod(range(1, derivative + 1), dtype=int) if power == derivative else 0
        assert sum(w * x**power for w, x in zip(c, places, strict=True)) == at_zero


def test_a_result_may_be_changed():
    finite_difference()[:] = 0
    assert finite_difference().any()


REFUSED = {
    "a derivative that is no integer": ({"derivative": 1.0}, TypeError, "derivative must be an"),
    "a derivative below 0": ({"derivative": -1}, ValueError, "at least 0, not -1"),
    "an accuracy that is no integer": ({"accuracy": 2.0}, TypeError, "accuracy must be an integer"),
    "an odd accuracy": ({"accuracy": 3}, ValueError, "even and at least 2, not 3"),
    "an accuracy of 0": ({"accuracy": 0}, ValueError, "even and at least 2, not 0"),
    "h of 0": ({"h": 0.0}, ValueError, "h must not be 0"),
    "h of infinity": ({"h": np.inf}, ValueError, "h must be finite, not inf"),
    "h of NaN": ({"h": np.nan}, ValueError, "h must be finite, not nan"),
    "h of text": ({"h": "1"}, TypeError, "h must be a real number, not str"),
    "h of many": ({"h": np.ones(3)}, TypeError, "h must be a real number, not ndarray"),
    "complex h": ({"h": 1j}, TypeError, "h must be a real number, not complex"),
    "h too small": ({"h": 1e-300, "derivative": 2}, ValueError, "h = 1e-300 is too small"),
    "few offsets": ({"derivative": 2, "offsets": [0, 1]}, ValueError, "at least 3 offsets, not 2"),
    "no offsets": ({"offsets": []}, ValueError, "at least 2 offsets, not 0"),
    "an offset twice": ({"offsets": [0, 1, 1.0]}, ValueError, "distinct, not 0, 1, 1"),
    "an offset of NaN": ({"offsets": [0, np.nan]}, ValueError, "an offset must be finite"),
    "offsets of text": ({"offsets": "01"}, TypeError, "an offset must be a real number, not str"),
    "offsets and accuracy": ({"accuracy": 2, "offsets": [0, 1]}, ValueError, "beside offsets"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_coefficients_refuse(case):
    arguments, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        finite_difference(**arguments)


# ---- gradient1d --------------------------------------------------------------------------------


def on(device, a):
    return a if device == "cpu" else warpkit.asarray(a, device=device)


def host(a):
    return a if isinstance(a, np.ndarray) else a.numpy()


def numpys(a, h, axis):
    """numpy.gradient's in float64, and how far a rounding of each term may be from it."""
    with np.errstate(over="ignore"):
        wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        want = np.gradient(wide, h, axis=axis, edge_order=2)
    dtype = np.dtype(np.float64) if a.dtype.kind in "biu" else a.dtype
    eps = 2.0**-8 if dtype.name == "bfloat16" else np.finfo(dtype).eps
    return want.astype(dtype), 4 * eps * np.abs(want) + 8 * 2.0**-52 * np.abs(wide).max() / abs(h)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bool"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3,), 0), ((1000,), -1), ((4, 33), 1), ((33, 4), 0), ((2, 5, 3), -2)]
)
def test_by_default_it_is_numpys_gradient(device, dtype, shape, axis):
    a = values(dtype, shape)
    want, tolerance = numpys(a, 0.25, axis)
    got = gradient1d(on(device, a), 0.25, axis, device=device)
    assert isinstance(got, np.ndarray if device == "cpu" else warpkit.DeviceArray)
    got = host(got)
    assert got.dtype == want.dtype
    for part in (np.real, np.imag) if a.dtype.kind == "c" else (np.asarray,):
        assert_near(part(got), part(want), tolerance)


def test_a_host_array_gives_a_host_array(device):
    a = values("float32", (6, 40))
    want, tolerance = numpys(a, 1.0, -1)
    got = gradient1d(a, device=device)
    assert type(got) is np.ndarray
    assert_near(got, want, tolerance)
    assert_same(got, host(gradient1d(on(device, a))))
    assert_same(gradient1d(a.tolist(), device=device), gradient1d(a.astype(float), device="cpu"))


def test_bools_are_numbers(device):
    got = gradient1d(np.array([False, True, True, False]), device=device)
    np.testing.assert_array_equal(got, [1.5, 0.5, -0.5, -1.5], strict=True)


@pytest.mark.parametrize("derivative", [1, 2, 3, 4])
@pytest.mark.parametrize("accuracy", [2, 4, 6, 8])
def test_polynomials_up_to_the_order_have_their_derivatives_up_to_the_ends(
    device, derivative, accuracy
):
    rng, n = np.random.default_rng(derivative), derivative + accuracy
    x = np.arange(-1, 1, 2 / 40)[None]
    p = np.polynomial.Polynomial(rng.normal(size=n))  # of degree n - 1
    for size in (n, 40):
        got = gradient1d(
            on(device, p(x[:, :size])), 2 / 40, derivative=derivative, accuracy=accuracy
        )
        want = p.deriv(derivative)(x[:, :size])
        weights = np.abs(finite_difference(derivative, h=2 / 40, offsets=range(n))).sum()
        assert_near(host(got), want, 1e-14 * weights * np.abs(p.coef).sum())


@pytest.mark.parametrize(
    ("derivative", "exact"), [(1, lambda x: 3 * np.cos(3 * x)), (2, lambda x: -9 * np.sin(3 * x))]
)
@pytest.mark.parametrize("accuracy", [2, 4, 6, 8])
def test_the_error_falls_with_the_order_also_at_the_ends(derivative, exact, accuracy):
    def error(n):
        x = np.linspace(0, 3, n)
        got = gradient1d(
            np.sin(3 * x), x[1], derivative=derivative, accuracy=accuracy, device="cpu"
        )
        return np.abs(got - exact(x))

    coarse, fine = error(41), error(81)
    assert np.log2(coarse.max() / fine.max()) > accuracy - 0.6
    assert np.log2(coarse[8:-8].max() / fine[16:-16].max()) > accuracy - 0.2


@pytest.mark.parametrize("device_of_out", ["host", "device"])
@pytest.mark.parametrize("axis", [0, 1])
def test_out_is_written_and_returned(device, device_of_out, axis):
    a = values("float32", (20, 30))
    want = gradient1d(a, 2.0, axis, accuracy=4, device="cpu")
    out = np.full_like(a, np.nan)
    if device_of_out == "device":
        out = on(device, out)
    assert gradient1d(on(device, a), 2.0, axis, accuracy=4, out=out) is out
    assert_same(host(out), want)


def test_out_may_be_what_is_read_or_lie_apart(device):
    a = values("float64", (20, 30))
    want = gradient1d(a, accuracy=4, derivative=2, device="cpu")
    both = on(device, a.copy())
    assert gradient1d(both, accuracy=4, derivative=2, out=both) is both
    assert_same(host(both), want)
    wide = on(device, np.zeros((20, 60)))
    gradient1d(on(device, a), accuracy=4, derivative=2, out=wide[:, ::2])
    assert_same(np.ascontiguousarray(host(wide)[:, ::2]), want)
    assert not host(wide)[:, 1::2].any()


def test_views_are_read_in_place(device):
    whole = values("float32", (12, 50))
    there = on(device, whole)
    for index in ((slice(None, None, -1),), (slice(1, None), slice(None, None, -3)), (3,)):
        want = gradient1d(whole[index].copy(), 0.5, device="cpu")
        assert_same(host(gradient1d(there[index], 0.5)), want)


def test_sums_may_be_of_float32(device):
    a = values("float32", (5, 60))
    want = gradient1d(a, accuracy=8, device="cpu")
    got = host(gradient1d(on(device, a), accuracy=8, accumulate="float32"))
    scale = np.abs(finite_difference(offsets=range(9))).sum() * np.abs(a).max()
    assert_near(got, want, 10 * np.finfo(np.float32).eps * scale)


def test_nothing_along_the_other_axes_is_nothing(device):
    got = gradient1d(on(device, np.zeros((0, 7), np.float32)), accuracy=4)
    assert (got.shape, got.dtype) == ((0, 7), np.float32)


GRADIENT_REFUSED = {
    "too few elements": ((np.ones(2),), {}, ValueError, "too small .* at least 3 elements"),
    "too few for the order": ((np.ones(8),), {"accuracy": 8}, ValueError, "9 elements .* not 8"),
    "too few along the axis": ((np.ones((2, 9)), 1.0, 0), {}, ValueError, "not 2"),
    "no axis": ((np.float64(1),), {}, np.exceptions.AxisError, "out of bounds"),
    "an axis that is not there": ((np.ones(5), 1, 1), {}, np.exceptions.AxisError, "axis 1 is"),
    "derivative 0": ((np.ones(5),), {"derivative": 0}, ValueError, "at least 1, not 0"),
    "an odd accuracy": ((np.ones(5),), {"accuracy": 1}, ValueError, "even and at least 2"),
    "h of 0": ((np.ones(5), 0), {}, ValueError, "h must not be 0"),
    "places": ((np.ones(5), np.arange(5)), {}, TypeError, "h must be a real number"),
    "text": ((np.array(["a", "b", "c"]),), {}, TypeError, "dtype"),
    "out of another shape": ((np.ones(5),), {"out": np.ones(4)}, ValueError, "shape"),
    "out of no array": ((np.ones(5),), {"out": [0] * 5}, TypeError, "out must be an array"),
}


@pytest.mark.parametrize("case", GRADIENT_REFUSED)
def test_gradient1d_refuses(case):
    arguments, options, kind, words = GRADIENT_REFUSED[case]
    with pytest.raises(kind, match=words):
        gradient1d(*arguments, **options)
