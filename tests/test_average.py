"""average: the quotient of two exact sums, rounded once, on every device."""

import time
import tracemalloc

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import _average, reference

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int16", "int64"]


def elements(dtype, shape, span, seed=0):
    """Of exponents within span binades."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return rng.integers(-100, 100, shape).astype(dtype)
    x = (rng.random(shape) - 0.5) * np.exp2(rng.integers(-span, span + 1, shape))
    return (x + 1j * x[..., ::-1] if dtype.kind == "c" else x).astype(dtype)


def weights_of(dtype, shape, span):
    w = np.abs(elements("float64", shape, span, 1)) + 2.0**-span
    return w.astype(dtype if np.dtype(dtype).kind in "fV" else np.float32)


@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 257, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_average_is_the_exact_one_rounded_once(device, dtype, n):
    dtype = np.dtype(dtype)
    a = elements(dtype, (3, n), 6 if dtype.itemsize == 2 else 30)
    w = weights_of(dtype, (3, n), 3 if dtype.itemsize == 2 else 20)
    for axis in (None, 1):
        got = warpkit.average(a, axis, w, device=device)
        want = reference.average(a, axis, w)
        helpers.assert_same(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_cancellation_and_ties_are_rounded_right(device, dtype):
    for seed in range(20):
        a = elements(dtype, 24, 40, seed)
        a = np.concatenate([a, -a[:12], [1, 2**-23 + 1]]).astype(dtype)
        w = np.ones(a.size, dtype if dtype != "complex128" else "f8")
        w[-1] = 3
        helpers.assert_same(
            np.asarray(warpkit.average(a, weights=w, device=device)),
            np.asarray(reference.average(a, weights=w)),
        )


@pytest.mark.parametrize("dtype", [*DTYPES[:4], "complex128"])
def test_of_many_lines_each_is_rounded_once(device, dtype):
    """Of two elements of equal weight every other average is a tie, as every other sum is."""
    lines = 40 if helpers.options["small"] else 300
    a = elements(dtype, (lines, 2), 2)
    like = np.dtype("f8" if np.dtype(dtype).kind == "c" else dtype)
    odd = np.abs(elements(like, (lines, 2), 2, 7)) + like.type(1)
    for w in (np.ones((lines, 2), like), odd):
        got = warpkit.average(a, 1, w, returned=True, device=device)
        helpers.assert_same(np.asarray(got.average), np.asarray(reference.average(a, 1, w)))
        sums = np.asarray(reference.reduce(w, "sum", 1)).astype(got.sum_of_weights.dtype)
        helpers.assert_same(np.asarray(got.sum_of_weights), sums)


@pytest.mark.parametrize(("dtype", "digits"), [("bfloat16", 8), ("float32", 24), ("float64", 53)])
def test_beside_a_tie_what_is_far_below_decides(device, dtype, digits):
    a = np.array([[1, 1 + 2.0 ** (1 - digits), 2], [1, 1 + 2.0 ** (1 - digits), 0]], dtype)
    w = np.array([1, 1, 2.0**-110], dtype)
    got = warpkit.average(a, 1, w, device=device)
    helpers.assert_same(np.asarray(got), np.array([a[0, 1], 1], dtype))


def test_weights_may_be_complex(device):
    rng = np.random.default_rng(3)
    a, w = (rng.standard_normal((50, 7)) + 1j * rng.standard_normal((50, 7)) for _ in "aw")
    got = warpkit.average(a, 1, w, returned=True, device=device)
    np.testing.assert_allclose(got.average, np.average(a, 1, w), rtol=1e-12)
    np.testing.assert_allclose(got.sum_of_weights, w.sum(1), rtol=1e-12)


@pytest.mark.parametrize(
    ("a", "w"),
    [
        ([5e-324, 1.5e-323, 1e-310], [5e-324, 1e-323, 2e-310]),  # products that no float holds
        ([1e308, 1.5e308, -1e308], [1e308, 1e308, 1e300]),
        ([1e300, 1.0, -1e300, 1e-300], [1e-300, 1e300, 1e-300, 1e-320]),
    ],
)
def test_what_no_float_holds_on_the_way_is_exact_too(device, a, w):
    assert warpkit.average(a, weights=w, device=device) == reference.average(a, weights=w)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_averages_of_many_zeros_take_no_time(device, dtype):
    a, w = np.zeros(20_000, dtype), np.ones(20_000, dtype)
    began = time.perf_counter()
    assert warpkit.average(a, weights=w, device=device) == 0
    assert time.perf_counter() - began < 1
    a[:2] = 2.0**-60, -(2.0**-60)
    assert warpkit.average(a, weights=w, device=device) == 0


def test_axes_weights_and_keepdims_are_numpys(device):
    a = elements("float64", (4, 5, 6), 3)
    w = np.abs(elements("float64", (4, 5, 6), 3, 1)) + 1
    for axis, weights in (
        (None, w), (1, w), ((0, 2), w), ((2, 0), w), (1, w[0, :, 0]), ((1, 2), w[0]),
        ((2, 1), w[0].T), (-1, w[0, 0]),
    ):  # fmt: skip
        for keepdims in (False, True):
            got, total = warpkit.average(a, axis, weights, True, keepdims=keepdims, device=device)
            want, sums = np.average(a, axis, weights, True, keepdims=keepdims)
            assert np.shape(got) == np.shape(want)
            assert np.shape(total) == np.shape(sums)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(total, sums, rtol=1e-12)


def test_complex_weights_are_divided_by(device):
    a, w = elements("complex128", (3, 50), 3), elements("complex128", (3, 50), 3, 1)
    got = warpkit.average(a, 1, w, device=device)
    np.testing.assert_allclose(got, np.average(a, 1, w), rtol=1e-12)


def test_without_weights_it_is_the_mean(device):
    a = elements("float32", (5, 7), 20)
    for axis in (None, 0, (0, 1)):
        got = warpkit.average(a, axis, device=device, returned=True)
        helpers.assert_same(np.asarray(got.average), np.asarray(warpkit.reduce(a, "mean", axis)))
        np.testing.assert_array_equal(got.sum_of_weights, np.average(a, axis, returned=True)[1])


def test_arrays_on_a_device_stay_there(device):
    if device == "cpu":
        pytest.skip("has no memory of its own")
    a, w = elements("float32", (6, 40), 20), weights_of("float32", (6, 40), 10)
    there = warpkit.asarray(a, device=device)
    for weights in (w, warpkit.asarray(w, device=device)):
        got = warpkit.average(there, 1, weights)
        assert isinstance(got, warpkit.DeviceArray)
        helpers.assert_same(got.numpy(), reference.average(a, 1, w))
    got = warpkit.average(there[:, ::-2].T, 0, warpkit.asarray(w, device=device)[:, ::-2].T)
    helpers.assert_same(got.numpy(), reference.average(a[:, ::-2], 1, w[:, ::-2]))


def test_nan_and_infinities_are_the_quotients(device):
    for a, w, want in (
        ([np.nan, 1], [1, 1], np.nan), ([np.inf, 1], [1, 2], np.inf),
        ([np.inf, -np.inf], [1, 1], np.nan), ([1, 2], [np.inf, 1], np.nan),
        ([1, 2], [np.nan, 1], np.nan),
    ):  # fmt: skip
        got = warpkit.average(np.array(a, float), weights=np.array(w, float), device=device)
        np.testing.assert_equal(got, want)


def test_what_numpy_refuses_is_refused(device):
    for call, error, words in (
        (lambda: warpkit.average([1, 2], None, [1, -1], device=device), ZeroDivisionError, "zero"),
        (lambda: warpkit.average([1, 2], None, [1, 2, 3], device=device), ValueError, r"\(3,\)"),
        (
            lambda: warpkit.average([[1, 2]], 2, [[1, 2]], device=device),
            np.exceptions.AxisError,
            "2",
        ),
        (lambda: warpkit.average([1, None], None, [1, 2], device=device), TypeError, "NoneType"),
        (lambda: warpkit.average(np.zeros((0, 3)), 0, np.zeros(0)), ZeroDivisionError, "zero"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_progress_is_told(device):
    told = []
    a = elements("float32", 10_000, 3)
    warpkit.average(a, None, a + 2, device=device, progress=lambda *at: told.append(at))
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)


def check(a, axis, w, device="cpu"):
    """The average, and the sum of the weights, which may be of the axis alone."""
    got = warpkit.average(a, axis, w, returned=True, device=device)
    whole = np.broadcast_to(w, a.shape)
    helpers.assert_same(np.asarray(got.average), np.asarray(reference.average(a, axis, whole)))
    sums = reference.reduce(whole.astype(got.sum_of_weights.dtype), "sum", axis)
    helpers.assert_same(np.asarray(got.sum_of_weights), np.asarray(sums))
    alone = np.asarray(warpkit.average(a, axis, w, device=device))
    helpers.assert_same(alone, np.asarray(got.average))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tile", [1, 7, 64])
def test_long_lines_are_added_by_tiles(monkeypatch, tile, dtype):
    """As if they were as long as tiles are: many to a tile, or a tile for each of many pieces."""
    monkeypatch.setattr(_average, "TILE", tile)
    kind = np.dtype(dtype)
    for n in (1, 6, 7, 8, 64, 65, 200):
        for span in (0, 4) if kind.itemsize == 2 else (0, 4, 30):
            a = elements(dtype, (3, n), span, n)
            if kind.kind not in "iu":
                a[1, n // 2 :] -= a[1, : n - n // 2]  # pieces cancel
            w = weights_of(dtype, (3, n), min(span, 3))
            for axis, weights in ((1, w), (1, w[0]), (None, w)):
                check(a, axis, weights)


@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("float32", 24), ("float64", 53)])
def test_ties_of_long_lines_are_rounded_right(monkeypatch, dtype, digits):
    """What decides is nothing, or lies so far below that no piece's terms may lose it."""
    monkeypatch.setattr(_average, "TILE", 16)
    half = 2.0**-digits
    for more in (0, 2 * half):
        for tiny in (0, *(s * 2.0**-e for s in (1, -1) for e in (digits + 4, 80, 100, 400, 1060))):
            if tiny and dtype != "float64" and abs(tiny) < 2.0**-20:
                continue
            a = np.zeros(64)
            a[[0, 20]] = 64 * (1 + more), 64 * half
            a[40:42], a[62] = (2.0**12, -(2.0**12)), tiny
            a, w = a.astype(dtype), np.ones(64, dtype)
            check(a, None, w)
            check(np.stack([a, a[::-1]]), 1, w)


def test_nan_and_infinities_of_one_piece_are_the_averages(monkeypatch):
    monkeypatch.setattr(_average, "TILE", 16)
    for dtype in ("float32", "float64"):
        for odd, want in (([np.nan], np.nan), ([np.inf], np.inf), ([np.inf, -np.inf], np.nan)):
            a, w = np.ones((2, 100), dtype), np.ones(100, dtype)
            a[1, 50 : 50 + len(odd)] = odd
            np.testing.assert_equal(warpkit.average(a, 1, w), np.array([1, want], dtype))


@pytest.mark.parametrize("lines", [1, 3])
def test_what_no_double_holds_decides_a_tie(device, lines):
    """2 + 2^-52 + 2^-1100, over 2."""
    a = np.array([[1 + 2.0**-52, 1, 2.0**-1000, 0]] * lines)
    w = np.array([1, 1, 2.0**-100, -(2.0**-100)])
    for sign in (1, -1):
        a[:, 2] = sign * 2.0**-1000
        check(a, 1, w, device)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_weights_may_be_subnormal_doubles(device, dtype):
    a = elements(dtype, (4, 9), 3)
    w = np.arange(1.0, 10.0) * 5e-324
    check(a, 1, w, device)


def test_long_arrays_are_not_copied_whole():
    """That took four times as long as all the rest."""
    a = np.ones(1 << 20, "f4")
    tracemalloc.start()
    warpkit.average(a, weights=a)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < a.nbytes


@pytest.mark.parametrize(
    ("dtype", "digits", "large", "rest", "step"),
    [
        ("float32", 24, 30, None, -25),  # what the one term of a piece is rounded by, in eighths
        ("float64", 53, 6, None, -66),  # ... the second one, less than all of the first taken away
        ("float64", 53, 26, -28, -83),  # ... the second one
    ],
)
def test_what_terms_of_pieces_lose_decides_ties(monkeypatch, dtype, digits, large, rest, step):
    monkeypatch.setattr(_average, "TILE", 16)
    few = np.random.default_rng(digits).integers(-8, 9, (40, 5))
    few[:4] = [[3, -5, 3, 0, 0], [3, 0, 3, 0, -4], [0, 5, -3, -3, 0], [-6, 0, 0, 0, 4]]
    a, w = np.zeros((len(few), 96)), np.ones(96)
    for piece, sign in enumerate((1, -1, 1, -1)):
        a[:, 16 * piece] = sign * 2.0**large
        a[:, 16 * piece + 1] = 0 if rest is None else sign * 2.0**rest
        a[:, 16 * piece + 5] = few[:, piece] * 2.0**step
    a[:, 64], a[:, 80] = 1, 2.0**-digits + few[:, 4] * 2.0**step
    w[65:80] = w[81:96] = w[6:8] = 0  # 64 are left
    a, w = a.astype(dtype), w.astype(dtype)
    one = np.zeros_like(a)
    one[:, 64] = 1
    for line in (*range(4), slice(None)):  # of several, one may have all go another way
        x, axis = a[line].copy(), -1
        check(x, axis, w)
        check(np.ones_like(x), axis, x)
        x[..., 80] -= np.asarray(2.0 ** (1 - digits), dtype)
        check(one[line], axis, x)  # 1 / (1 - 2^-digits ...)


def test_bfloat16_is_not_rounded_by_way_of_float32(device):
    """1 + 2^-8 + 2^-40 is no tie, but it is one as a float32."""
    a, w = (np.array(v, "bfloat16") for v in ([1, 2.0**-8, 2.0**-40, 0], [1, 1, 1, -2]))
    check(a, None, w, device)
    check(np.ones_like(a), None, a, device)
