"""The production reduction's kernels by each of their ways, on little data.

What tools/mutate.py runs for each barrier of theirs. The CPU's bits are what is wanted; tests of
the results themselves are in test_reduce.py.
"""

import numpy as np
import pytest
import warpkit
from helpers import LARGE, assert_same, sizes, values

ROWS = [(1, 33), (7, 300), (300, 9), (40, 110), (1, 4999), (3, 1600)]
# Several warps a row, and more rows than all blocks take at once; several blocks a row.
ROWS += [(520, 4100), (3, 20_000), (1, 100_001)]
COLUMNS = [(300, 3), (64, 70), (1500, 2), (2000, 65), (64, 9000), (40_000, 3)]
CASES = [(shape, 1) for shape in ROWS] + [(shape, 0) for shape in COLUMNS]
SMALL = sizes(*ROWS, *COLUMNS)


@pytest.fixture(params=["", "integers"])
def sums(request, device, setting):
    """How floats are added: by doubles where these do, or by integers alone."""
    if device == "cpu":
        pytest.skip("has no teams")
    setting("WARPKIT_SUMS", request.param)
    return request.param


def wide(dtype, shape, seed=0):
    """Exponents of a third of them too far apart for doubles: those outputs are folded again."""
    if np.dtype(dtype).kind != "f":
        return values(dtype, shape, seed)
    rng = np.random.default_rng(seed)
    most = np.finfo(dtype).maxexp - 30
    far = rng.integers(-most, most, shape) * (rng.random((shape[0], 1)) < 0.3)
    return np.ldexp(rng.normal(size=shape), far).astype(dtype)


def check(device, a, axis, **options):
    want = warpkit.reduce(a, "sum", axis, device="cpu", **options)
    assert_same(warpkit.reduce(a, "sum", axis, device=device, **options), want)


@pytest.mark.parametrize(("shape", "axis"), [case for case in CASES if case[0] in SMALL], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sums(device, sums, dtype, shape, axis):
    many = np.prod(shape) > LARGE
    if (sums and (dtype == "int64" or many)) or (dtype == "float32" and many):
        pytest.skip("as the others")
    check(device, values(dtype, shape), axis)
    if np.prod(shape) < 100_000:
        check(device, wide(dtype, shape), axis)
        check(device, wide(dtype, shape[::-1]).T, axis)


@pytest.mark.parametrize("shape", sizes((3, 1600), (70, 64), (9, 3000)), ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_of_some(device, sums, dtype, shape):
    a = wide(dtype, shape)
    some = np.random.default_rng(1).random(shape) < 0.5
    for axis in (None, 0, 1):
        check(device, a, axis, where=some)
        check(device, a, axis, where=some[:1])


@pytest.mark.parametrize("shape", sizes((3, 1600), (1500, 3), (70, 64), (9, 3000)), ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sums_of_arrays_that_cross_in_pieces(device, sums, dtype, shape, setting):
    setting("WARPKIT_PIECE", "4096")
    for a in (values(dtype, shape), wide(dtype, shape)):
        for axis in (None, 0, 1):
            check(device, a, axis)


def draws(there, op="sum", axis=None):
    return "drawn in chunks" in warpkit.explain("reduce", there, op, axis)


def many(device, dtype):
    """So many elements that blocks draw chunks of them."""
    if device == "cpu":
        pytest.skip("has no teams")
    for n in sizes(*(3 << k for k in range(17, 27))):
        rows = warpkit.asarray(np.zeros((n // 16 - 5, 16), dtype), device=device)
        ops = ("sum",) if rows.dtype.kind == "c" else ("sum", "max")
        if all(draws(rows, op, 0) for op in ops):
            return n
    pytest.skip("--small")


def check_there(device, a, op, axis=None, drawn=True):
    """Of an array on the device: others cross in pieces. `drawn`: it must be."""
    there = warpkit.asarray(a, device=device)
    assert draws(there, op, axis) or not drawn
    want = np.asarray(warpkit.reduce(a, op, axis, device="cpu"))
    assert_same(warpkit.reduce(there, op, axis).numpy(), want)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64", "complex64"])
def test_drawn_chunks(device, dtype):
    n = many(device, dtype)
    a = values(dtype, n)
    for op in ("sum", "mean") if a.dtype.kind == "c" else ("sum", "max", "argmax", "var"):
        check_there(device, a, op)
        check_there(device, a[3:-5], op)
    check_there(device, a[1::2], "sum", drawn=False)  # too few of some dtypes
    rows = a.reshape(-1, 16)
    check_there(device, rows, "sum", 0)
    if a.dtype.kind != "c":
        check_there(device, rows[5:], "max", 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_drawn_chunks_that_are_folded_again(device, dtype):
    n = many(device, dtype)
    a = values(dtype, n)
    real = np.finfo(dtype)
    for at in (0, n // 3, n - 1):
        for far in (real.max / 4, real.smallest_subnormal, np.inf):
            b = a.copy()
            b[at] = far
            check_there(device, b, "sum")
            check_there(device, b.reshape(-1, 16), "sum", 0)
    if a.dtype.kind == "f":
        exponents = np.random.default_rng(1).integers(-100, 100, n)
        check_there(device, np.ldexp(a, exponents).astype(dtype), "sum")
