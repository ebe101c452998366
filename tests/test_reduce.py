"""The whole surface of reduce: every fold of every dtype to the last bit, on every device."""

import itertools
import math
import operator
import os
import warnings

import helpers
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import warpkit
from helpers import (
    ALL_DTYPES,
    COMPLEX,
    INTEGERS,
    REALS,
    assert_same,
    devices,
    factors,
    few_values,
    joined,
    poison,
    raw_bits,
    sizes,
    special_floats,
    values,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warpkit import reference

ADDING = ("sum", "mean", "sumsq", "norm", "var", "std")
LOGIC = ("any", "all", "count_nonzero")
ARGS = ("argmin", "argmax")
PLAIN = (*ADDING, "prod", "min", "max", "ptp", *LOGIC, *ARGS)
NAN = tuple(f"nan{op}" for op in ("sum", "prod", "min", "max", "mean", "var", "std", *ARGS))
OPS = (*PLAIN, *NAN)
WITH_WHERE = tuple(op for op in OPS if op != "ptp" and "arg" not in op)
WITH_INITIAL = tuple(p + op for p in ("", "nan") for op in ("sum", "prod", "min", "max"))

# Random cases of each property; 3000 and more find what is rare.
CASES = int(os.environ.get("WARPKIT_TEST_CASES", "0"))


def examples(n):
    return settings(
        max_examples=CASES or n, deadline=None, derandomize=not CASES, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _numpys_own_warnings():
    """RuntimeWarnings are looked at where they are the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def refused(op, dtype):
    return op == "ptp" and dtype == "bool"


def check(device, a, op, axis=None, **options):
    """The oracle's bits."""
    want = reference.reduce(a, op, axis, **options)
    if np.min(want, initial=0) == -1 and op in NAN[-2:]:
        with pytest.raises(ValueError, match=r"^All-NaN slice encountered$"):
            warpkit.reduce(a, op, axis, device=device, **options)
        return
    poison(want)
    got = warpkit.reduce(a, op, axis, device=device, **options)
    try:
        assert_same(got, want)
    except AssertionError as error:
        error.add_note(f"{op} of {a.dtype} {a.shape}, axis {axis}, {options}")
        raise


def data_for(op, dtype, shape, seed=0):
    return (factors if "prod" in op else values)(dtype, shape, seed)


# ---- every op of every dtype -------------------------------------------------------------------

SHAPE = (4, 37, 6)
LAYOUTS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.transpose(2, 0, 1),
    "reversed": lambda a: a[::-1, :, ::-1],
    "skipped": lambda a: a[:, ::-3, ::2],
    "repeated": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


def axes_of(op, ndim=3):
    if "arg" in op:
        return (None, *range(ndim), -1)
    return (None, *range(ndim), (), (0, ndim - 1), (-1, 1), tuple(range(ndim)))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_op_along_any_axes_of_any_layout(device, dtype):
    layouts = itertools.cycle(LAYOUTS.values())
    for i, op in enumerate(OPS):
        if refused(op, dtype):
            continue
        a = data_for(op, dtype, SHAPE, seed=i)
        for j, axis in enumerate(axes_of(op)):
            check(device, a, op, axis, keepdims=(i + j) % 2 == 1)
            check(device, next(layouts)(a), op, axis)


@pytest.mark.parametrize("n", sizes(1, 31, 32, 33, 255, 257, 1024, 1025, 4099, 2**15 + 1))
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_op_of_any_length(device, dtype, n):
    for i, op in enumerate(OPS):
        if refused(op, dtype) or (n > 2000 and i % 3 != n % 3 and device != "cpu"):
            continue
        check(device, data_for(op, dtype, n, seed=n), op)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((300, 3), 0), ((3, 300), 0), ((70, 65), 1), ((2, 1500), 1), ((1500, 2), 0), ((40, 5, 40), 1),
     ((9, 2, 3, 2), (0, 2)), ((2000, 1), 1), ((5, 2050), 0)],
    ids=str,
)  # fmt: skip
def test_every_op_of_matrices_of_any_shape(device, shape, axis):
    for i, op in enumerate(OPS):
        if "arg" in op and isinstance(axis, tuple):
            continue
        for dtype in ALL_DTYPES[i % 4 :: 4]:
            if not refused(op, dtype):
                check(device, data_for(op, dtype, shape, seed=i), op, axis)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 16, 17])
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_every_op_of_few_elements(device, dtype, k):
    """Rows so short are turned; of elements that are equal, opposite or zero no bit is lost."""
    rng = np.random.default_rng(k)
    for op in (*PLAIN, "nanmean", "nanmax"):
        if refused(op, dtype):
            continue
        a = data_for(op, dtype, (270, k), seed=k)
        a[1::3] = a[1::3, :1]
        a[2::5, ::2] = 0
        if np.dtype(dtype).kind in "fcV":
            a[3::7] = -a[3::7, ::-1]
            a[4::9, :1] = -a[4::9, -1:]
        for rows in (a, a[rng.permutation(len(a))[:20]]):
            check(device, rows, op, 1)
            check(device, np.ascontiguousarray(rows.T), op, 0)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_no_axis_at_all(device, dtype):
    a = values(dtype, 3)[1]
    for op in OPS:
        if refused(op, dtype):
            continue
        strict = op in ("mean", "var", "std")  # NumPy's take no axis here
        for axis in (None,) if strict else (None, 0, -1):
            check(device, a, op, axis)
            check(device, a, op, axis, keepdims=True)
        if "arg" not in op:
            check(device, a, op, ())
        if strict:
            with pytest.raises(np.exceptions.AxisError):
                warpkit.reduce(a, op, 0, device=device)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), (0, 4, 0)], ids=str)
def test_folds_of_nothing_are_the_oracles_or_numpys_errors(device, shape):
    for op, dtype in itertools.product(OPS, ("bool", "uint8", "float16", "float64", "complex64")):
        if refused(op, dtype):
            continue
        for axis in (None, *range(len(shape))):
            a = np.zeros(shape, dtype)
            words = refusal(op, a, axis)
            if words is None:
                check(device, a, op, axis)
                continue
            with pytest.raises(ValueError, match=f"^{words}$"):
                warpkit.reduce(a, op, axis, device=device)


def refusal(op, a, axis):
    """NumPy's words; None: it takes this, or has no such function."""
    try:
        getattr(np, op, lambda *_, **__: None)(a, axis=axis)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_and_truth_values_are_numpys(device, dtype):
    a = values(dtype, SHAPE)
    for op in ("sum", "prod", "min", "max", "ptp", *LOGIC, *ARGS, "nansum", "nanmin", "nanargmax"):
        for axis in () if refused(op, dtype) else (None, 0, 1, 2, -1):
            assert_same(warpkit.reduce(a, op, axis, device=device), getattr(np, op)(a, axis=axis))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_a_number_is_nan_if_one_part_is(device, dtype):
    """Of runs, of what lies apart, and of columns: the other part counts no more."""
    rng = np.random.default_rng(6)
    a = (rng.standard_normal((40, 600)) + 1j * rng.standard_normal((40, 600))).astype(dtype)
    for part, row in ((a.real, 3), (a.imag, 17)):
        part[row, ::97] = np.nan
    for op in ("nansum", "nanmean", "nanvar", "nanmax", "nanargmin", "nanprod"):
        same = np.broadcast_to(a[:, :1].copy(), (40, 50))
        for x in (a, a[:, ::2], a[:, ::-1], np.ascontiguousarray(a.T).T, same):
            for axis in (None, 0, 1):
                check(device, 1 + x * 2.0**-10 if op == "nanprod" else x, op, axis)


@pytest.mark.parametrize("dtype", [*COMPLEX, "float16", "bfloat16", "float32", "float64"])
def test_few_columns_and_rows_with_nan(device, dtype):
    """They are folded alone, the others together; in tiles, in parts, of which some have none."""
    rng = np.random.default_rng(7)
    shapes = (3, 3000), (700, 90), (3000, 3), (90, 60), *sizes((40_000, 24))
    for shape in shapes if device == "cpu" else shapes[:1] + shapes[2:4]:
        a = few_values(dtype, shape) if shape[0] > 3 else values(dtype, shape, seed=3)
        for i, j in zip(*(rng.integers(0, n, 4) for n in shape), strict=True):
            (a.imag if dtype in COMPLEX and i % 2 else a.real)[i, j] = np.nan
        for axis in (0, 1):
            x = a.copy()
            x[(slice(None), 1) if axis == 0 else 1] = np.nan  # all of one
            ops = ("nansum", "nanmean", "nanstd", "nanmax")
            for op in ops if x.size < 10**5 else ops[2:]:
                check(device, x, op, axis)
            check(device, a, "nanargmin", axis)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squares_of_a_run_that_no_lane_holds_decide_a_tie(device, dtype):
    """1 and almost half a unit; two hundred that are rounded off, one by one, make it more."""
    some = {"float32": [2**-12 * (1 - 2**-24)], "float64": [2**-27 * (1 - 2**-50)] * 2}[dtype]
    a = np.zeros(2048 + 32 * 200, dtype)
    a[0] = 1
    a[512 : 512 + 64 * len(some) : 64] = some
    a[2048::32] = 2.0 ** (-27 if dtype == "float32" else -54)
    check(device, a, "sumsq")
    a[2048::32] = 0
    check(device, a, "sumsq")


@pytest.mark.parametrize("dtype", [*COMPLEX, "float32", "float64", "float16"])
@pytest.mark.parametrize("odd", ["nothing", "NaN", "zeros"])
def test_extremes_among_many(device, dtype, odd):
    """Of columns and of runs, of which few have what comparisons do not tell."""
    rng = np.random.default_rng(5)
    for shape, axis in (((5, 300), 0), ((300, 300), 0), ((40, 700), 1), ((3, 5000), None)):
        a = rng.standard_normal((2, *shape)).astype(np.dtype(dtype).type(0).real.dtype)
        a = a[0] + 1j * a[1] if dtype in COMPLEX else a[0]
        places = tuple(rng.integers(0, n, 3) for n in shape)
        if odd == "NaN":
            a.real[places] = np.nan
            (a.imag if dtype in COMPLEX else a)[places[0][::-1], places[1]] = np.nan
        if odd == "zeros":  # among negative ones, as the greatest
            a = -np.abs(a.real) + (1j * a.imag if dtype in COMPLEX else 0)
            for sign in (0.0, -0.0):
                a.real[tuple(rng.integers(0, n, 8) for n in shape)] = sign
        a = a.astype(dtype)
        for op in ("min", "max", "ptp", *ARGS, "nanmin", "nanmax", *NAN[-2:]):
            check(device, a, op, axis)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint32"])
def test_sums_of_integers_near_the_greatest_and_beyond_it(device, dtype):
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    for value in (greatest, greatest - 215, greatest // 2 - 215, least, least + 215, least // 2):
        a = np.zeros((600, 70), dtype)
        a[3], a[4] = value, 3
        for axis, initial in itertools.product((None, 0, 1), ({}, {"initial": 5})):
            check(device, a, "sum", axis, **initial)
            check(device, a[3:4], "sum", axis, **initial)
        for op in ("mean", "norm", "std"):
            check(device, a, op, 0)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_what_rounds_nothing_is_numpys(device, dtype):
    a = few_values(dtype, SHAPE)
    skips = dtype != "bfloat16"  # of which NumPy's nan functions see no NaN
    for op in ("min", "max", "ptp", *LOGIC, *ARGS, *(("nanmin", "nanargmax") if skips else ())):
        for axis in (None, 0, 1, 2, -1):
            got, want = warpkit.reduce(a, op, axis, device=device), getattr(np, op)(a, axis=axis)
            np.testing.assert_array_equal(got, want)
            assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("dtype", ["float32", "float64", *COMPLEX, "int16", "int64"])
def test_what_rounds_is_near_numpys(device, dtype):
    a = values(dtype, (7, 50))
    wide = np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble
    for op in ("sum", "mean", "var", "std", "nansum", "nanmean", "nanvar", "nanstd"):
        for axis in (None, 0, 1):
            got = warpkit.reduce(a, op, axis, device=device)
            want = getattr(np, op)(a.astype(wide), axis=axis)
            assert got.dtype == getattr(np, op)(a, axis=axis).dtype
            if got.dtype.kind in "fc":
                scale = np.abs(a).astype(np.float64).max() ** (2 if "var" in op else 1)
                eps = np.finfo(got.dtype).eps
                np.testing.assert_allclose(got, want, rtol=eps, atol=eps * scale)


def test_norms_are_numpys(device):
    for dtype in ("float32", "float64", *COMPLEX, "int32"):
        a = values(dtype, (6, 40))
        got = warpkit.reduce(a, "norm", 1, device=device)
        want = np.linalg.norm(a.astype(np.complex128 if dtype in COMPLEX else np.float64), axis=1)
        np.testing.assert_allclose(got, want, rtol=1e-6)


# ---- values that break sums --------------------------------------------------------------------


def specials(dtype):
    if dtype not in COMPLEX:
        return special_floats(dtype)
    part = special_floats("float32" if dtype == "complex64" else "float64")[[0, 1, 2, 3, 5, 7, 11]]
    return joined(*(x.ravel() for x in np.meshgrid(part, part)))


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_special_values_keep_their_rules(device, dtype):
    special = specials(dtype)
    pairs = np.array(np.meshgrid(special, special)).reshape(2, -1).T
    lines = np.repeat(special[:, np.newaxis], 40, axis=1)
    among = factors(dtype, (len(special), 40))
    among[:, 17] = special
    for op in OPS:
        if "argm" in op and op.startswith("nan"):
            continue
        for a in (pairs, np.ascontiguousarray(pairs.T).T, lines, among):
            check(device, a, op, 1)
    for a in (*special[:, np.newaxis], *lines[:4]):
        for op in PLAIN:
            check(device, a, op)


@pytest.mark.parametrize("dtype", REALS)
def test_the_sign_of_zero(device, dtype):
    zero = np.zeros(1, dtype)
    for n in (1, 2, 33, 1030):
        negative = np.repeat(-zero, n)
        mixed = np.concatenate([negative, zero])
        for op in ("sum", "mean", "nansum", "nanmean", "sumsq", "min", "max", "prod"):
            check(device, negative, op)
            check(device, mixed, op)
            check(device, np.tile(negative, (5, 1)), op, 1)
        both = np.array([negative, negative])
        assert np.signbit(warpkit.reduce(both, axis=1, device=device)).all()
        check(device, both, "sum", 1, where=[[True] * n, [False] * n])
        check(device, negative, "sum", initial=-0.0)
        check(device, negative, "sum", initial=0.0)
    few = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0]], dtype)
    for rows, axis in ((few, 1), (np.ascontiguousarray(few.T), 0)):
        for ops in (("min", "max", "mean", "std"), ("var", "norm")):
            for op, got in zip(ops, warpkit.reduce(rows, ops, axis, device=device), strict=True):
                assert_same(got, reference.reduce(rows, op, axis))
                check(device, rows, op, axis)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers_are_ordered_as_numpy_orders_them(device, dtype):
    """The sign of a zero decides only between numbers that are equal."""
    parts = np.array([-0.0, 0.0, -1.0, 0.5, np.inf, -np.inf], np.zeros(0, dtype).real.dtype)
    each = joined(*(x.ravel() for x in np.meshgrid(parts, parts)))
    at = np.random.default_rng(0).integers(0, each.size, (400, 33))
    for a in (np.stack(np.meshgrid(each, each), -1).reshape(-1, 2), each[at]):
        for op in ("min", "max", "nanmin", "nanmax"):
            got = warpkit.reduce(a, op, 1, device=device)
            np.testing.assert_array_equal(got, getattr(np, op)(a, axis=1))
            index = warpkit.reduce(a, "arg" + op[-3:], 1, device=device)
            np.testing.assert_array_equal(got, a[np.arange(len(a)), index])
            check(device, a, op, 1)
            check(device, np.ascontiguousarray(a.T), op, 0)
            check(device, a[:, ::-1], op, 1)
            for initial in (complex(-0.0, -0.0), complex(0.0, 0.5), np.nan):
                check(device, a[:40], op, 1, initial=initial)
        holes = a.copy()
        chosen = np.random.default_rng(1).integers(0, 6, a.shape)
        nans = complex(np.nan, 0), complex(-0.0, np.nan), complex(np.inf, np.nan)
        for k, nan in enumerate(nans):
            holes[chosen == k] = nan
        holes[:, 0] = a[:, 0]
        for op in ("nanmin", "nanmax"):
            for some in (holes, holes[:, ::-1]):
                check(device, some, op, 1)
                check(device, some, op)
                check(device, np.ascontiguousarray(some.T), op, 0)
        check(device, a, "ptp", 1)
        with np.errstate(invalid="ignore"):
            got = warpkit.reduce(a, "ptp", 1, device=device)
            np.testing.assert_array_equal(got.real, np.ptp(a, axis=1).real)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_of_equal_complex_numbers_an_order_decides_that_no_permutation_changes(device, dtype):
    zeros = np.array([complex(r, i) for r in (-0.0, 0.0) for i in (-0.0, 0.0)], dtype)
    for order in itertools.permutations(zeros):
        for n in (4, 1030):
            a = np.resize(np.array(order), n)
            assert_same(warpkit.reduce(a, "min", device=device), zeros[0])
            assert_same(warpkit.reduce(a, "max", device=device), zeros[3])
            check(device, a[:3], "min")
            check(device, a[:3], "max")


@pytest.mark.parametrize("op", ["sum", "norm", "var", "max", "argmin"])
def test_complex_numbers_are_aligned_as_their_parts(device, op):
    """Where the machine does not mind, only a sanitizer tells."""
    parts = np.random.default_rng(0).standard_normal(2402).astype("float32")
    at = 1 if parts.ctypes.data % 8 == 0 else 2
    parts = parts[at : at + 2400]
    for shape, axis in (((1200,), 0), ((400, 3), 1), ((3, 400), 0)):
        check(device, parts.view("complex64").reshape(shape), op, axis)
    if op == "norm":
        check(device, parts.reshape(400, 3, 2), op, (1, 2))


@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2, -4])
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_elements_that_many_apart(device, dtype, step):
    a = factors(dtype, 5 * 1111)
    for some in (a[::step], a[3 : 3 + 4 * abs(step) : abs(step)]):
        for op in ("sum", "max", "argmax", "count_nonzero"):
            check(device, some, op)


@pytest.mark.parametrize("dtype", REALS)
def test_nan_is_found_everywhere_and_skipped_everywhere(device, dtype):
    for n in (33, 1025):
        a = np.tile(factors(dtype, n), (n, 1))
        np.fill_diagonal(a, np.array(-np.nan).astype(dtype))
        for op in ("sum", "mean", "norm", "var", "min", "max", "argmin", "argmax", "count_nonzero"):
            check(device, a[:70], op, 1)
        for op in NAN:
            check(device, a[:70], op, 1)
            check(device, a[n // 2], op)


def exponents(dtype):
    """Of the smallest and of the largest numbers."""
    return {"float16": (-24, 16), "bfloat16": (-133, 128), "float32": (-149, 128)}.get(
        dtype, (-1074, 1024)
    )


def ranging(dtype, width, n, seed=0, low=None):
    """Numbers of both signs whose exponents span so many binades."""
    rng = np.random.default_rng(seed)
    least, most = exponents(dtype)
    low = least + (most - least - width) // 2 if low is None else low
    e = rng.integers(low, low + width + 1, n)
    x = np.ldexp(rng.uniform(0.5, 1, n) * rng.choice([-1.0, 1.0], n), np.minimum(e, most))
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", REALS)
def test_sums_are_exact_however_wide_the_exponents_range(device, dtype):
    least, most = exponents(dtype)
    widths = sorted({w for w in (*range(0, 90, 3), 128, 250, 500, 1000, 2000) if w <= most - least})
    rows = np.array([ranging(dtype, width, 300, seed=width) for width in widths])
    for op in ADDING:
        check(device, rows, op, 1)
        check(device, np.asfortranarray(rows), op, 1)
    for width in widths[::4]:
        a = ranging(dtype, width, 3001, seed=width)
        for op in ("sum", "mean", "sumsq", "var"):
            check(device, a, op)


@pytest.mark.parametrize("odd", [1, 40, 3000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_columns_with_a_few_elements_far_below_the_others(device, dtype, odd):
    """What plain sums of a tile do not hold goes beside them by pieces, or all of it."""
    rng = np.random.default_rng(odd)
    shape = (3000, 300) if device == "cpu" and odd == 40 else (700, 1100)  # of many such tiles
    x = rng.standard_normal(shape).astype(dtype)
    least = np.finfo(dtype).smallest_normal
    x.ravel()[rng.choice(x.size, odd, replace=False)] = 3 * least
    x[650] = x[3]
    x[650:, 7] = np.nan if odd == 40 else 1
    for op in ("sum", "mean", "norm", ("sum", "std", "max")):
        columns = warpkit.reduce(x, op, 0, device=device)
        rows = warpkit.reduce(np.ascontiguousarray(x.T), op, 1, device=device)
        for one, other in zip(
            *([y] if isinstance(op, str) else y for y in (columns, rows)), strict=True
        ):
            assert_same(one, other)
    some = rng.choice(x.shape[1], 8, replace=False)
    assert_same(
        warpkit.reduce(x, "sum", 0, device=device)[some], reference.reduce(x[:, some], "sum", 0)
    )


@pytest.mark.parametrize("n", [64, 2100])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_of_which_one_is_odd_at_any_place(device, dtype, n):
    """Those of even and of odd places become doubles in different ways."""
    x = np.random.default_rng(n).standard_normal((64, n)).astype(dtype)
    least, most = exponents(dtype)
    for odd in (np.inf, -np.inf, np.nan, 2.0**least, -(2.0 ** (least + 12)), 2.0 ** (most - 1)):
        x[np.arange(64), np.arange(64)] = odd
        for op in ("sum", "mean", "norm", "var"):
            check(device, x, op, 1)
            check(device, np.asfortranarray(x), op, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_exact_of_blocks_full_of_large_elements(device, dtype):
    """As much as bins are made for: all of one sign, with one element far below."""
    digits = np.finfo(dtype).nmant + 1
    for depth in range(24, 150 if dtype == "float32" else 420, 9):
        for cut in (0, digits - 42, digits - 2, 1):  # what is left of each for the second bin
            x = 2.0 - 2.0 ** (1 - digits) - (2.0**-cut if cut > 0 else 0)
            a = np.full(4096, x, dtype)
            a[1000::1024] = 2.0**-depth
            for op in ("sum", "sumsq") if depth < 120 else ("sum",):
                check(device, a, op)
                check(device, -a[:1500], op)


@pytest.mark.parametrize("dtype", REALS)
def test_sums_are_exact_where_all_but_the_last_bits_cancel(device, dtype):
    least, most = exponents(dtype)
    for width in (5, 20, 60, most - least):
        x = ranging(dtype, min(width, most - least), 400, seed=width)
        tail = ranging(dtype, 3, 3, seed=1, low=least + 2)
        a = np.concatenate([x, tail, -x])
        order = np.random.default_rng(width).permutation(a.size)
        for op in ADDING:
            check(device, a[order], op)
            check(device, np.tile(a[order], (3, 1)), op, 1)


@pytest.mark.parametrize("dtype", REALS)
def test_sums_overflow_only_where_the_result_does(device, dtype):
    most = special_floats(dtype)[7]
    a = np.array([most] * 20 + [-most] * 19)
    for op in ("sum", "mean", "var", "norm"):
        check(device, a, op)
        check(device, np.array([most] * 40), op)
    assert warpkit.reduce(a, device=device) == most
    assert warpkit.reduce(np.array([most] * 40), "mean", device=device) == most


@pytest.mark.parametrize("dtype", REALS)
def test_results_are_rounded_to_nearest_even(device, dtype):
    """Halves between two neighbours, and just above and below."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype]
    one = np.array(1).astype(dtype)
    rows = []
    for odd in (0, 1):
        unit = 2.0 ** (1 - digits)
        for sign, half in itertools.product((1, -1), (unit / 2, unit / 4)):
            for more in (0, half / 2**6, -half / 2**6):
                rows.append([sign * (1 + odd * unit), sign * half, sign * more, 0.0])
    rows = np.array(rows).astype(dtype)
    for op in ("sum", "mean", "nansum"):
        check(device, rows, op, 1)
    tiny = special_floats(dtype)[4]
    for n in (1, 2, 3, 5, 7):
        check(device, np.array([tiny] * 3 + [one * 0] * (n - 1)), "mean")
        check(device, np.array([tiny] * n), "norm")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n", [2, 3, 5, 8, 16])
def test_moments_of_a_few_halves(device, dtype, n):
    """Floats tell most of them, but not of numbers far from zero, tiny or large, and no ties."""
    rng = np.random.default_rng(n)
    normal = rng.standard_normal((6000, n))
    small, large = (-9, 7) if dtype == "float16" else (-70, 62)
    kinds = (normal, normal + 40, normal * 2.0**small, normal * 2.0**large, np.rint(2 * normal))
    for some in kinds:
        rows = some.astype(dtype)
        for op, axis in itertools.product(("var", "std", "norm"), (0, 1)):
            a = rows if axis else np.ascontiguousarray(rows.T)
            check(device, a[:40] if axis else np.ascontiguousarray(a[:, :40]), op, axis)
            ours = warpkit.reduce(a, op, axis, device=device)
            assert ours.tobytes() == warpkit.reduce(a, op, axis, device="cpu").tobytes()


def columns_of_kinds(rng, dtype, shape):
    """Rows whose columns plain doubles tell, or do not."""
    narrow = dtype == "float16"
    real = "float32" if dtype == "complex64" else dtype
    wide = rng.integers(-9, 9, shape) if narrow else rng.integers(-60, 60, shape)
    normal = rng.standard_normal(shape)
    odd = normal.copy()
    odd[rng.integers(0, shape[0], 50), rng.integers(0, shape[1], 50)] = np.inf
    odd[rng.integers(0, shape[0], 50), rng.integers(0, shape[1], 50)] = -np.inf
    odd[rng.integers(0, shape[0], 50), rng.integers(0, shape[1], 50)] = np.nan
    zeros = np.where(rng.random(shape) < 0.5, 0.0, -0.0)
    zeros[:, ::3] = -0.0
    yield from (normal, np.ldexp(normal, wide), normal * 1e-3 + 300, odd, zeros)
    yield np.rint(2 * normal)  # ties
    yield np.ldexp(normal, -20 if narrow else -140)
    yield np.abs(special_floats(real)[7].astype(np.float64)) * np.sign(normal)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("n", "widths"),
    [(3, (6144, 6151)), (5, (6144, 6145, 6148, 6151)), (16, (6146, 6151)), (18, (25600, 25603))],
)
def test_whole_columns_of_few_digits(device, dtype, n, widths):
    """Wherever rows begin, at 16 bytes or not; beyond their ends nobody may read.

    Of more than 16 rows there have to be columns for all threads, as the emulated device has
    here; a GPU has more.
    """
    rng = np.random.default_rng(n)
    for k, columns in enumerate(widths):
        for kind in columns_of_kinds(rng, dtype, (n, columns)):
            with np.errstate(over="ignore"):
                a = kind.astype("float32" if dtype == "complex64" else dtype)
            if dtype == "complex64":
                a = (a + 1j * a[:, ::-1]).astype(dtype)
            there = a if device == "cpu" else warpkit.asarray(a, device=device)
            for op in ("sum", "mean", "norm") + (("var", "std") if dtype != "complex64" else ()):
                check(device, a[:, :30], op, 0)
                theirs = warpkit.reduce(a, op, 0, device="cpu")
                ours = np.asarray(warpkit.reduce(there, op, 0, device=device))
                assert ours.tobytes() == theirs.tobytes()
                part = np.asarray(warpkit.reduce(there[1:, k + 1 : -2], op, 0, device=device))
                theirs = warpkit.reduce(a[1:, k + 1 : -2], op, 0, device="cpu")
                assert part.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_whole_columns_of_planes(device, dtype):
    """Columns of two axes; their planes begin at 16 bytes, or they do not."""
    rng = np.random.default_rng(7)
    for shape in ((5, 6, 2048), (5, 6, 2051)):
        a = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype("complex64")
        a = a if dtype == "complex64" else a.real.astype(dtype)
        there = a if device == "cpu" else warpkit.asarray(a, device=device)
        for view in (lambda x: x, lambda x: x[::2, 1:, 16:]):
            for op in ("sum", "mean", "norm", "var"):
                check(device, view(a)[:, :, :9], op, 1)
                ours = np.asarray(warpkit.reduce(view(there), op, 1, device=device))
                theirs = warpkit.reduce(view(a), op, 1, device="cpu")
                assert ours.tobytes() == theirs.tobytes()


def lanes_of_kinds(rng, dtype, shape):
    """Columns of small numbers, of few values, of the ends of the range, and NaN."""
    if dtype in ("float16", "bfloat16"):
        x = np.rint(3 * rng.standard_normal(shape))
        yield x
        odd = np.where(x == 0, -0.0, x)
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            odd[rng.integers(0, shape[0], 90), rng.integers(0, shape[1], 90)] = value
        yield odd
        yield np.zeros(shape)
    elif dtype == "bool":
        yield from (rng.random(shape) < p for p in (0.02, 0.5, 0.98))
        yield np.ones(shape)
    else:
        ends = np.iinfo(dtype)
        yield rng.integers(ends.min, ends.max, shape, endpoint=True)
        yield rng.integers(0, 3, shape)
        yield from (np.full(shape, end) for end in (ends.min, ends.max))


LANES = ["bool", "int8", "uint8", "int16", "uint16", "float16", "bfloat16"]


@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("n", [1, 3, 16])
def test_whole_columns_in_lanes(device, dtype, n):
    """Columns enough for the quick way; rows that begin anywhere, and that go backwards."""
    rng = np.random.default_rng(n)
    columns = 650_021 if device == "cuda" else 20_021
    ops = ["max", "min", "any", "all", "argmax", "argmin"]
    if dtype not in ("float16", "bfloat16"):
        ops += ["sum", "mean", "count_nonzero", "norm", "var"]
    for kind in lanes_of_kinds(rng, dtype, (n, columns)):
        with np.errstate(invalid="ignore"):
            a = kind.astype(dtype)
        there = a if device == "cpu" else warpkit.asarray(a, device=device)
        for op in ops:
            check(device, a[:, :30], op, 0)
            for rows in (slice(None), slice(None, None, -1)):
                part = there[rows, 1:]
                theirs = warpkit.reduce(a[rows, 1:], op, 0, device="cpu")
                ours = np.asarray(warpkit.reduce(part, op, 0, device=device))
                assert ours.dtype == theirs.dtype
                assert ours.tobytes() == theirs.tobytes()
            ours = np.asarray(warpkit.reduce(there, op, 0, device=device))
            assert ours.tobytes() == warpkit.reduce(a, op, 0, device="cpu").tobytes()


@pytest.mark.parametrize(("dtype", "n"), [("uint8", 256), ("int8", 256), ("uint8", 257)])
def test_whole_columns_of_as_many_rows_as_lanes_hold(device, dtype, n):
    columns = 1_700_000 if device == "cuda" else 50_005  # for all threads
    a = np.full((n, columns), np.iinfo(dtype).max, dtype)
    a[:-1, ::3] = 1
    a[:, ::5] = np.iinfo(dtype).min
    there = a if device == "cpu" else warpkit.asarray(a, device=device)
    for op in ("sum", "argmax"):
        ours = np.asarray(warpkit.reduce(there, op, 0, device=device))
        assert ours.tobytes() == warpkit.reduce(a, op, 0, device="cpu").tobytes()
        check(device, a[:, :30], op, 0)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("n", [4, 33, 4095])
def test_partial_sums_may_be_above_the_range(device, dtype, n):
    most = np.ldexp(np.ones(n), 127 if dtype != "float16" else 15).astype(dtype)
    check(device, most, "sum")
    check(device, most, "mean")
    most[::2] *= np.array(-1).astype(dtype)
    check(device, np.sort(most), "sum")


def near_ties():
    """Means, norms and variances next to the middle of two numbers, or on it: rows of elements.

    Two doubles tell what is meant only if their error is known. 3k, 4k: a norm of 5k, a tie of
    float32. (1 + 2^-1 + 2^-52)^2 has 106 bits, of which the last 53 are a tie and one unit more.
    """
    tiny = 2.0**-104
    yield (
        "mean",
        np.array([[3, 3 * 2.0**-53, tiny], [3, 3 * 2.0**-53, -tiny], [3, 3 * 2.0**-53, 0]]),
    )
    yield "mean", np.array([[7.0, 7 * 2.0**-53, -tiny, 0, 0, 0, 0], [1e300, 1e-300, 0, 0, 0, 0, 0]])
    last, least = 2.0**-52, 5e-324  # of which a quarter is nothing
    one = np.array([[1 + last, 1 + last, last]] * 3)
    yield "mean", np.hstack([one, np.array([[least], [-least], [0]])])
    near = 3 * np.array([2**24 + 1, 2**24 + 3, -(2**24) - 1], np.float64)[:, None]
    rests = np.array([[0, 0], [2.0**-90, 0], [-(2.0**-90), 0], [2.0**-120, 2.0**-120]])
    for rest in rests:
        yield "mean", np.hstack([near, np.tile(rest, (3, 1))]).astype(np.float32)
    for k in (3355445, 4194305, 5592403):
        for rest in (0, 2.0**-20, 2.0**-30, 2.0**-60, 2.0**-149):
            yield "norm", np.array([[3 * k, 4 * k, rest]], np.float32)
    half = 2.0**-27  # of two squares, beside 1: a tie
    ties = np.tile([1, half, half, 0], (7, 1))
    ties[:, 3] = [0, *(2.0**-k for k in (50, 53, 54, 55, 90, 400))]
    for op in ("sumsq", "var", "norm"):
        yield op, np.hstack([ties, -ties])
    v = ((1 << 53) + 1) << 9  # four of it are a tie, the square of which has 130 bits
    yield "norm", np.array([[v] * 16 + [0], [v] * 16 + [1], [v + 2**10] * 16 + [0]])
    v = ((1 << 27) - 1) << 36  # half of its square is a tie
    yield "var", np.array([[v, -v] * 8 + [e, -e] + [0] * 14 for e in (0, 1)])
    yield "sumsq", np.full((1, 25), 0.1)  # 2^-2 (1 + 2^-54)^2
    d = 1.5 + 2.0**-52
    for op in ("var", "std"):
        for scale in (1.0, 2.0**-200, 2.0**200, 2.0**-520, 2.0**505):
            yield op, np.array([[d, 0], [0, -d], [d, d], [d, -d]]) * scale
        yield op, np.array([[2.0**40 + 1, 2.0**40, 2.0**40], [2.0**53, 2.0**53 - 1, 1]])
        yield op, np.array([[1, -(2.0**-53)], [1 + last, -(2.0**-53)], [1.0, least], [1.0, 1.0]])
        yield op, np.array([[2**62 + 1, -(2**62)], [2**53 + 1, 0], [2**53 + 3, 0], [2**62, 1]])
        yield op, np.array([[-least + 1.5j, least + 1.5j], [1.5j, 1.5j]])
        yield op, np.array([[2**12 + 1, 2**12, 2**12, 2**12], [1, 1, 1, 1]], np.float32)
        yield op, np.array([[2**23 + 1, 2**23, 2**23, 2**23 + 1]], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_tie_is_decided_by_what_lies_far_below(device, dtype):
    """A GPU's blocks add up limbs, of which the uppermost become doubles, and the rest a bound."""
    info = np.finfo(dtype)
    last = info.minexp - info.nmant  # exponent of the least number
    for n in (4096, 65536):
        for e in (*range(-info.nmant - 8, last, -17), last):
            a = np.zeros(n, dtype)
            a[[n // 7, n // 2, n - 3]] = 1, 2.0 ** -(info.nmant + 1), 2.0**e
            for op in ("sum", "mean"):
                check(device, a, op)
            a[n - 3] *= -1
            check(device, a, "sum")


@pytest.mark.parametrize("op", ["mean", "sumsq", "norm", "var", "std"])
def test_results_beside_a_tie_are_rounded_to_their_side(device, op):
    for which, a in near_ties():
        if which != op:
            continue
        check(device, a, op, axis=1)
        if "nan" + op in NAN:
            check(device, a, "nan" + op, axis=1)
        if op in ("var", "std"):
            check(device, a, op, axis=1, ddof=1)
        check(device, np.tile(a, (20, 1)), op, axis=1)
        check(device, np.tile(a, (1, 9))[:, :-1], op, axis=1)
        check(device, np.ascontiguousarray(a.T), op, axis=0)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
@given(data=st.data())
@examples(8)
def test_the_order_of_the_elements_changes_no_bit(device, dtype, data):
    n = data.draw(st.integers(2, 400))
    a = raw_bits(dtype, n, seed=data.draw(st.integers(0, 2**20)))
    with np.errstate(all="ignore"):
        a = np.where(np.isfinite(a), a, np.array(1).astype(dtype))
    order = np.random.default_rng(n).permutation(n)
    for op in ADDING:
        assert_same(*(warpkit.reduce(x, op, device=device) for x in (a, a[order])))


# ---- where, initial, ddof ----------------------------------------------------------------------


def masks(shape, seed=0):
    rng = np.random.default_rng(seed)
    yield rng.random(shape) < 0.5
    yield rng.random(shape[-1:]) < 0.7
    yield rng.random((shape[0], *(1 for _ in shape[1:]))) < 0.5
    yield np.zeros(shape, bool)
    yield (rng.random([2 * n for n in shape]) < 0.9)[tuple(slice(None, None, -2) for _ in shape)]
    yield (rng.random(shape[::-1]) < 0.2).T
    yield rng.random(shape) < 0.02


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_where_says_which_elements_count(device, dtype):
    layouts = itertools.cycle(LAYOUTS.values())
    for i, op in enumerate(WITH_WHERE):
        a = next(layouts)(data_for(op, dtype, SHAPE, seed=i))
        extra = {"initial": few_values(dtype, 1)[0]} if op.endswith(("min", "max")) else {}
        for j, mask in enumerate(masks(a.shape, i)):
            for axis in (None, (i + j) % 3, (0, 2))[(i + j) % 2 :]:
                check(device, a, op, axis, where=mask, **extra)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_where_hides_nan_and_infinity(device, dtype):
    a = factors(dtype, (30, 70))
    a[::2, ::3] = np.array(np.nan).astype(dtype)
    a[1::2, ::5] = np.array(np.inf).astype(dtype)
    mask = np.isfinite(a)
    for op in WITH_WHERE:
        extra = {"initial": 1} if op.endswith(("min", "max")) else {}
        for axis in (None, 0, 1):
            check(device, a, op, axis, where=mask, **extra)
            check(device, a, op, axis, where=~np.isnan(a), **extra)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("shape", [(3, 90), (40, 37), (600, 50)])
def test_lines_of_which_some_or_none_count(device, dtype, shape):
    """Nothing counts in some lines, and minus zeros alone in others."""
    rng = np.random.default_rng(shape[0])
    mask = rng.random(shape) < 0.5
    mask[:, ::7] = mask[::5] = False
    for op in ("sum", "nansum", "prod", "any", "all", "count_nonzero", "norm", "min", "nanmax"):
        a = data_for(op, dtype, shape)
        if np.dtype(dtype).kind in "fcV":
            a[:, ::4] = a[::6] = -np.zeros(1, dtype)
            a[rng.random(shape) < 0.01] = np.nan
        extra = {"initial": few_values(dtype, 1)[0]} if op in ("min", "nanmax") else {}
        for where in (mask, mask[1], mask[:, 1:2], np.asfortranarray(mask)):
            for axis in (0, 1):
                check(device, a, op, axis, where=where, **extra)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_nan_alone_after_rows_that_have_none(device, dtype):
    a = np.random.default_rng(0).standard_normal((1100, 40)).astype(dtype)
    a[512:, ::3] = np.nan
    a[:512, 1], a[512:, 1] = -np.zeros(1, dtype), np.nan
    check(device, a, "nansum", 0)


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_parts_of_columns_of_which_some_count(dtype):
    """So many rows that a column is several threads'."""
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (20000, 64)).astype(dtype)
    mask = rng.random(a.shape) < 0.5
    mask[:, 5], mask[:, 6:8] = False, np.arange(20000)[:, None] > 15000
    a[:, 7] = -a[:, 7] * 0
    for op in ("sum", "any", "count_nonzero"):
        check("cpu", a, op, 0, where=mask)


def test_where_is_taken_as_numpy_takes_it(device):
    a = values("float32", (3, 4))
    for where in (True, False, np.True_, np.False_, [1, 0, 0, 1], [[True], [False], [True]], None):
        want = reference.reduce(a, where=bool(where) if np.ndim(where) == 0 else where)
        assert_same(warpkit.reduce(a, where=where, device=device), want)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_an_initial_value_is_one_more_element(device, dtype):
    kind = np.dtype(dtype).kind
    for i, op in enumerate(WITH_INITIAL):
        numbers = [0, 1, 3 if kind != "b" else 1]
        numbers += [-5] if kind not in "bu" else []
        numbers += [0.1, -0.0, 1e-3, np.inf, np.nan] if kind in "fcV" else []
        numbers += [1 - 0.5j] if kind == "c" else []
        for j, initial in enumerate(numbers):
            a = data_for(op, dtype, (3, 40), seed=j)
            check(device, a, op, (None, 0, 1)[(i + j) % 3], initial=initial)
            check(device, a[:, :0], op, 1, initial=initial)


def test_an_initial_value_is_cast_as_numpy_casts_it(device):
    a = np.array([1, 2], np.int8)
    assert warpkit.reduce(a, initial=1.5, device=device) == 4
    assert warpkit.reduce(a, initial=300, device=device) == 303
    for value, kind in (("x", ValueError), (1j, TypeError), ([1, 2], ValueError)):
        with pytest.raises(kind):
            warpkit.reduce(a.astype(float), initial=value, device=device)
    with pytest.raises(OverflowError):
        warpkit.reduce(a, "min", initial=300, device=device)
    for op in ("sum", "min"):
        assert warpkit.reduce(a, op, initial=None, device=device) == getattr(np, op)(a)
        with pytest.raises(ValueError, match=r"which has no identity$"):
            warpkit.reduce(a[:0], op, initial=None, device=device)


@pytest.mark.parametrize("dtype", ["int16", "int64", "float16", "float32", "float64"])
def test_variances_between_two_numbers_are_rounded_right(device, dtype):
    """(d^2 / 4) of (d, 0) has one bit too many; tiny elements more take it off the middle."""
    digits = {"float16": 11, "float32": 24}.get(dtype, 53)
    odd = 2 * np.random.default_rng(0).integers(2 ** (digits / 2 - 1), 2 ** (digits / 2 - 0.51), 40)
    pairs = np.zeros((40, 8), dtype)
    pairs[:, ::2] = (odd + 1)[:, np.newaxis].astype(np.float64).astype(dtype)
    cases = [pairs, np.repeat(pairs, 2, axis=1)[:, ::2], pairs[:, :7]]
    if np.dtype(dtype).kind == "f":
        eps = np.finfo(dtype).smallest_normal
        for tiny in (2.0**-digits, 2.0 ** (-3 * digits // 2), -(2.0 ** (-2 * digits)), float(eps)):
            nudged = pairs.copy()
            nudged[:, 3] = tiny
            cases.append(nudged)
        cases += [pairs * np.array(x).astype(dtype) for x in (1e-30, 1e-150, 1e30, 1e-3)]
        cases += [np.full((3, n), 0.1, dtype) for n in (7, 8)]
    for a in cases:
        for op in ("var", "std"):
            check(device, a, op, 1)
            check(device, a, op, 0)
            check(device, np.ascontiguousarray(a.T), op, 0)
            check(device, a, op, 1, ddof=1)


def far_from_zero(rng, dtype, shape):
    """Numbers about one that is large beside their spread, of which their squares tell nothing."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "complex64": 24}.get(dtype, 53)
    for mean, spread in itertools.product((2.0**5, 2.0 ** (digits // 2 + 3)), (1, 2.0**-4)):
        x = mean + spread * rng.standard_normal(shape)
        if dtype.startswith("complex"):
            x = x + 1j * rng.choice([1, 2.0**-30], shape) * rng.standard_normal(shape)
        yield x.astype(dtype)
        if dtype in ("float16", "float32", "float64"):
            yield np.rint(4 * x).astype(dtype)  # ties
            yield np.where(rng.random(shape) < 0.1, x, mean).astype(dtype)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64"]
)
@pytest.mark.parametrize("n", [2, 3, 5, 16, 100, 2500])
def test_variances_of_numbers_far_from_zero(device, dtype, n):
    rng = np.random.default_rng(n)
    for few in far_from_zero(rng, dtype, (n, 3)):
        for op in ("var", "nanstd"):
            check(device, few, op, 0)
        check(device, few, "var")
    for many in far_from_zero(rng, dtype, (n, 1030 if n <= 16 else 7000 // n)):
        for a, axis in ((many, 0), (np.ascontiguousarray(many.T), 1), (many[:, :3].copy(), 0)):
            for op in ("var", "std", ("mean", "std")):
                got = np.asarray(warpkit.reduce(a, op, axis, device=device))
                want = np.asarray(warpkit.reduce(a, op, axis, device="cpu"))
                assert got.tobytes() == want.tobytes()
                part = a[:, :2] if axis == 0 else a[:2]
                if op == "var":
                    assert got[:2].tobytes() == reference.reduce(part, op, axis).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [3, 40, 700])
def test_extremes_of_nan_and_infinities_alone(device, dtype, n):
    """Columns of NaN alone, with an infinity, with both, and with one number."""
    a = np.full((n, 70), np.nan, dtype)
    a[n // 2, 1::5] = np.inf
    a[n // 3, 2::5] = -np.inf
    a[0, 3::5], a[-1, 3::5] = np.inf, -np.inf
    a[n // 2, 4::5] = 1
    for op in ("nanmin", "nanmax"):
        for b, axis in ((a, 0), (np.ascontiguousarray(a.T), 1)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(device, b, op, axis)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("n", [2, 3, 5, 16, 33, 600])
def test_nan_are_left_out_where_there_are_none_or_some(device, dtype, n):
    """Without one a GPU takes the way of the op that leaves none out."""
    rng = np.random.default_rng(n)
    real = "float32" if dtype == "complex64" else dtype
    columns = 3100 if n <= 16 else 70
    for some in (0, 0.001, 0.3, 1):
        a = rng.standard_normal((n, columns)).astype(real)
        a[rng.random(a.shape) < some] = np.nan
        a[:, 7] = np.where(np.isnan(a[:, 7]), np.nan, np.inf)
        a[:, 9] = np.where(np.isnan(a[:, 9]), np.nan, -0.0)
        if dtype == "complex64":
            a = (a + 1j * a[::-1]).astype(dtype)
        for b, axis in ((a, 0), (np.ascontiguousarray(a.T), 1)):
            for op in ("nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax"):
                if some == 1 and op in ("nanmin", "nanmax"):
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ours = warpkit.reduce(b, op, axis, device=device)
                    theirs = warpkit.reduce(b, op, axis, device="cpu")
                    part = reference.reduce(b[:, 5:14] if axis == 0 else b[5:14], op, axis)
                assert ours.tobytes() == theirs.tobytes(), (op, axis, some)
                assert_same(ours[5:14], part)


def test_deviations_of_two_are_half_of_their_distance(device):
    """Which has one bit too many, often: a tie."""
    a = np.random.default_rng(3).standard_normal((2, 500))
    half = np.abs(a[0] - a[1]) / 2
    gap = np.insert(a, 1, np.nan, axis=0)
    for axis, turned in ((0, lambda x: x), (1, lambda x: np.ascontiguousarray(x.T))):
        for op in ("std", "nanstd"):
            np.testing.assert_array_equal(warpkit.reduce(turned(a), op, axis, device=device), half)
        np.testing.assert_array_equal(
            warpkit.reduce(turned(gap), "nanstd", axis, device=device), half
        )


SQUARED = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize(
    "dtype", [*SQUARED, "float16", "bfloat16", "float32", "float64", "complex64"]
)
def test_sums_of_squares_of_few_and_of_many(device, dtype):
    rng = np.random.default_rng(2)
    for shape in ((2, 700), (3, 300), (4, 90), (5, 90), (16, 300), (40, 130), (300, 3), (90, 100)):
        if dtype in SQUARED:
            high = 2 if dtype == "bool" else np.iinfo(dtype).max
            a = rng.integers(0, high, shape, dtype=dtype, endpoint=dtype != "bool")
            a = np.negative(a, where=rng.random(shape) < 0.5, out=a) if dtype != "bool" else a
        else:
            a = (3 * rng.standard_normal(shape)).astype(dtype)
            a[:, ::7] = np.rint(a[:, ::7].real)
            a[0, -1], a[-1, 1] = np.inf, np.nan
        for b, axis in ((a, 0), (np.ascontiguousarray(a.T), 1), (a, 1)):
            check(device, b, "sumsq", axis)
            both = warpkit.reduce(b, ("sum", "sumsq"), axis, device=device)
            assert_same(both.sum, reference.reduce(b, "sum", axis))
            assert_same(both.sumsq, reference.reduce(b, "sumsq", axis))
        check(device, a, "sumsq", 0, where=rng.random(shape) < 0.5)


def test_numbers_of_what_is_true_and_false_together(device):
    a = np.random.default_rng(4).standard_normal((9, 130)) < -1
    for dtype in ("bool", "int32", "float64", "complex128"):
        b = a.astype(dtype)
        b[2], b[3] = 0, 1
        for axis in (0, 1):
            ops = ("any", "count_nonzero", "all")
            got = warpkit.reduce(b, ops, axis, device=device)
            for op in ops:
                assert_same(getattr(got, op), reference.reduce(b, op, axis))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_products_of_short_rows(device, dtype):
    rng = np.random.default_rng(1)
    for n in (*range(1, 18), 31, 33):
        a = np.ldexp(rng.standard_normal((70, n)), rng.integers(-30 // n, 40 // n, (70, n)))
        a[::5, 0] = rng.choice([np.nan, np.inf, -0.0, 0.0, 1, 2.0**-24, -(2.0**-14)], 14)
        with np.errstate(over="ignore", invalid="ignore"):
            a = (a + 1j * a[::-1]).astype(dtype) if dtype == "complex64" else a.astype(dtype)
        for op in ("prod", "nanprod"):
            check(device, a, op, 1)
            check(device, a[:, ::-1], op, 1, initial=3)


def test_products_are_rounded_once(device):
    """As floats these would be ties of their 16 bits."""
    for dtype, numbers in (
        ("float16", [1.716796875, 1.4208984375, 1.353515625]),
        ("float16", [1.0322265625, 1.5087890625, 1.1396484375]),
        ("bfloat16", [1.265625, 1.484375, 1.9921875, 1.0625]),
        ("bfloat16", [1.40625, 1.2734375, 1.640625, 1.0078125]),
    ):
        a = np.array(numbers).astype(dtype)
        for x, axis in ((a, None), (np.tile(a[:, None], (1, 40)), 0), (np.tile(a, (40, 1)), 1)):
            check(device, x, "prod", axis)
            check(device, -x, "prod", axis, initial=1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(2, 700), (4, 90), (33, 70), (300, 20), (1100, 9), (2500, 3)])
def test_products_of_columns(device, dtype, shape):
    rng = np.random.default_rng(2)
    a = np.exp2(rng.standard_normal(shape) * 8 / shape[0]) * rng.choice([1, -1], shape)
    a[:, ::7] = rng.choice([np.nan, np.inf, -0.0, 1], a[:, ::7].shape, p=[0.1, 0.1, 0.1, 0.7])
    a = (a + 0.1j * a[::-1]).astype(dtype) if dtype[0] == "c" else a.astype(dtype)
    mask = rng.random(shape) < 0.9
    for op in ("prod", "nanprod"):
        check(device, a, op, 0)
        check(device, a[::-1, ::2], op, 0)
        check(device, a, op, 0, where=mask, initial=2)
        check(device, a.reshape(2, -1, shape[1]) if shape[0] % 2 == 0 else a, op, 1)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_variances_of_many_rows_whose_elements_cancel(device, dtype):
    rng = np.random.default_rng(5)
    a = values(dtype, (700, 5))
    if np.dtype(dtype).kind == "f":
        a = a[:, :1] * (1 + np.finfo(dtype).eps * rng.integers(-3, 4, a.shape)).astype(dtype)
        a[::7] = rng.choice([0, -0.0, 1, np.inf, np.nan, np.finfo(dtype).max], a[::7].shape)
    else:
        a[:] = a[:, :1] ^ rng.integers(0, 2, a.shape, dtype)
    for op in ("var", "std", "nanvar"):
        check(device, a, op, 1)
        check(device, np.ascontiguousarray(a.T), op, 0)
        check(device, a, op, 1, ddof=5)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_variances_divide_by_n_less_ddof(device, dtype):
    a = values(dtype, (5, 9))
    for op in ("var", "std", "nanvar", "nanstd"):
        for ddof in (0, 1, 2, -3, 8, 9, 10, 0.5, 1.25, -0.75, 8.5, 9.5):
            check(device, a, op, 1, ddof=ddof)
    check(device, np.full((2, 9), a[0, 0]), "var", 1, ddof=9)  # 0 / 0


DDOFS = (np.nan, np.inf, -np.inf, -1, -2.5, 2, 2.5, 3, 1e300, -1e300, 2.0**62, -(2.0**62))


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_any_ddof_gives_what_numpys_formula_gives(device, dtype):
    rows = [[1, 0], [1, 1]] + ([[np.nan, np.nan], [1, np.nan]] if dtype not in INTEGERS else [])
    a, long = np.array(rows).astype(dtype), np.tile(values(dtype, 300), (3, 1))
    for op, ddof in itertools.product(("var", "std", "nanvar", "nanstd"), DDOFS):
        for x, axis in ((a, 1), (np.ascontiguousarray(a.T), 0), (a[:, :0], 1), (a[:, :1], 1)):
            check(device, x, op, axis, ddof=ddof)
            if dtype == "bfloat16":
                continue  # NumPy's functions do not take it
            got = warpkit.reduce(x, op, axis, ddof=ddof, device=device)
            want = getattr(np, op)(x, axis=axis, ddof=ddof)
            np.testing.assert_allclose(got, want, 1e-2 if dtype == "float16" else 1e-6)
        check(device, long, op, ddof=ddof)
        check(device, long, op, 1, ddof=ddof)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0,)], ids=str)
def test_of_no_elements_none_is_read(device, dtype, shape):
    """Whatever ddof: n less a negative one is positive."""
    a, axis = values(dtype, shape), int(shape == (3, 0))
    for ddof in (0, 1, -1, -2.5):
        got = warpkit.reduce(a, ("mean", "var", "std"), axis, ddof=ddof, device=device)
        assert_same(got.mean, reference.reduce(a, "mean", axis))
        assert_same(got.var, reference.reduce(a, "var", axis, ddof=ddof))
        assert_same(got.std, reference.reduce(a, "std", axis, ddof=ddof))
    for op, one in warpkit.reduce(a, ("sum", "mean"), axis, device=device)._asdict().items():
        assert_same(one, reference.reduce(a, op, axis))


# ---- dtype -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_elements_are_cast_and_then_folded(device, dtype):
    for i, into in enumerate(ALL_DTYPES):
        a = few_values(dtype, (3, 50), seed=i) if into in INTEGERS else values(dtype, (3, 50), i)
        if dtype in ("uint64", "int64") and into in REALS:
            a = few_values(dtype, (3, 50), seed=i)
        ops = ["sum", "prod", "sumsq"] if into != "bool" else []
        ops += ["mean", "var", "std", "norm"] if into not in INTEGERS else []
        for op in ops:
            check(device, a, op, 1, dtype=into)
            check(device, a[:, ::-2], op, dtype=np.dtype(into))


@pytest.mark.parametrize("into", ["bool", "int8", "uint16", "int32", "uint64", "float32"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint8", "float64"])
def test_casts_are_numpys(device, dtype, into):
    a = few_values(dtype, (3, 40)) if dtype == "float64" else values(dtype, (3, 40))
    for op in ("sum", "prod"):
        want = getattr(np, op)(a, axis=1, dtype=into)
        if into != "float32":
            assert_same(warpkit.reduce(a, op, 1, dtype=into, device=device), want)
    assert warpkit.reduce(a, "sum", dtype=into, device=device).dtype == np.dtype(into)


def test_nan_is_skipped_before_it_is_cast(device):
    a = np.array([1.0, np.nan, 2.0])
    assert_same(warpkit.reduce(a, "nansum", dtype="int32", device=device), np.int32(3))
    assert_same(warpkit.reduce(a, "nanprod", dtype="int32", device=device), np.int32(2))
    check(device, a, "nansum", dtype="float16")


def test_several_ops_are_cast_alike(device):
    a = values("int16", (4, 9))
    got = warpkit.reduce(a, ("sum", "mean"), 1, dtype="float32", device=device)
    for op, one in got._asdict().items():
        assert_same(one, reference.reduce(a, op, 1, dtype="float32"))


# ---- several at once ---------------------------------------------------------------------------

TOGETHER = [
    ("min", "max", "mean", "std"),
    ("sum",),
    ("sum", "mean"),
    ("var", "std", "sum", "sumsq", "norm", "mean", "min", "max", "any", "all", "count_nonzero"),
    ("prod", "sum", "argmin", "argmax", "ptp"),
    ("nansum", "sum", "nanmean", "nanmax", "count_nonzero", "nanargmax"),
    ("all", "any"),
]


@pytest.mark.parametrize("ops", TOGETHER, ids="-".join)
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_several_ops_are_each_as_alone(device, dtype, ops):
    ops = tuple(op for op in ops if not refused(op, dtype))
    a = factors(dtype, (5, 60))
    for axis in (None, 0, 1):
        got = warpkit.reduce(a, ops, axis, keepdims=axis == 0, device=device)
        assert isinstance(got, tuple)
        assert got._fields == ops
        for op, one in zip(ops, got, strict=True):
            assert_same(one, reference.reduce(a, op, axis, axis == 0))
            assert_same(one, getattr(got, op))


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16", "float64"])
def test_several_ops_of_very_many_outputs_are_each_as_alone(device, dtype):
    """As many as a GPU computes one op after the other."""
    pairs, more = values(dtype, (1 << 18, 2)), values(dtype, (12, 1 << 18))
    sets = [("max", "mean", "std", "sum"), ("min", "max"), ("any", "all"), ("mean", "std")]
    for a, axis in ((pairs, 1), (more, 0)):
        for ops in (*sets, ("sum", "norm"), ("sum", "mean"), ("sum", "sumsq")):
            got = warpkit.reduce(a, ops, axis, device=device)
            some = a[:90] if axis else a[:, :90]
            for op in ops:
                assert_same(getattr(got, op), warpkit.reduce(a, op, axis, device="cpu"))
                assert_same(getattr(got, op)[:90], reference.reduce(some, op, axis))


def test_several_ops_take_as_many_arrays_to_write_to(device):
    a = values("float32", (5, 60))
    out = tuple(np.full(5, 7, d) for d in ("float32", "int64", "float32"))
    got = warpkit.reduce(a, ("mean", "argmax", "prod"), 1, out=out, device=device)
    for op, mine, theirs in zip(got._fields, got, out, strict=True):
        assert mine is theirs
        assert_same(mine, reference.reduce(a, op, 1))
    (only,) = warpkit.reduce(a, ("sum",), 1, out=out[:1], device=device)
    assert only is out[0]
    for wrong in (out[:2], list(out), out[0]):
        with pytest.raises(TypeError, match="tuple of 3"):
            warpkit.reduce(a, ("mean", "argmax", "prod"), 1, out=wrong, device=device)


def test_several_ops_take_where_and_initial(device):
    a = values("float64", (6, 30))
    where = values("bool", (6, 30))
    ops = ("sum", "prod", "min", "max")
    got = warpkit.reduce(a, ops, 1, where=where, initial=0.5, device=device)
    for op, one in zip(ops, got, strict=True):
        assert_same(one, reference.reduce(a, op, 1, where=where, initial=0.5))


def test_wrong_sets_of_ops_are_errors(device):
    a = np.ones(3)
    for ops, kind, words in (
        (("sum", "sum"), ValueError, "twice"),
        ((), ValueError, "1 to 12"),
        (("sum", "median"), ValueError, "'median'"),
        (("sum", 3), ValueError, "3"),
        (("sum", "argmin"), TypeError, "tuple"),
    ):
        axis = (0,) if "argmin" in ops else None
        with pytest.raises(kind, match=words):
            warpkit.reduce(a, ops, axis, device=device)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bool"])
def test_describe_counts_and_measures(device, dtype):
    a = values(dtype, (4, 30))
    for axis, count in ((None, 120), (0, 4), (-1, 30), ((0, 1), 120), ((), 1)):
        got = warpkit.describe(a, axis, ddof=1, keepdims=axis == 0, device=device)
        assert got.count == count
        assert got._fields == ("count", "min", "max", "mean", "std")
        for op in got._fields[1:]:
            want = reference.reduce(a, op, axis, axis == 0, ddof=1)
            assert_same(getattr(got, op), want)
    assert warpkit.describe([1.0, 2.0, 4.0], device=device).max == 4


# ---- indices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_indices_count_in_c_order_whatever_the_layout(device, dtype):
    a = few_values(dtype, (5, 34, 6))
    for make in LAYOUTS.values():
        x = make(a)
        for op, axis in itertools.product(ARGS, (None, 0, 1, 2)):
            want = getattr(np, op)(x, axis=axis, keepdims=axis == 1)
            got = warpkit.reduce(x, op, axis, keepdims=axis == 1, device=device)
            assert_same(got, want)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", *COMPLEX])
def test_the_first_of_equals_and_the_first_nan_win(device, dtype):
    for n in (2, 33, 1025, 3001):
        for at in {0, 1, n // 2, n - 2, n - 1}:
            a = np.zeros(n, dtype)
            if np.dtype(dtype).kind in "fc":
                a[1::2] = -a[1::2]
                check(device, a, "argmin")
                check(device, a, "argmax")
                a[at:] = np.nan
                check(device, a, "argmin")
                check(device, a, "argmax")
            a = np.zeros(n, dtype)
            a[at:] = 1
            check(device, a, "argmax")
            check(device, -a, "argmin")


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_the_best_is_found_wherever_it_lies(device, dtype):
    best = [2, -2] if np.dtype(dtype).kind != "u" else [2, 0]
    if np.dtype(dtype).kind == "f":
        best += [np.inf, -np.inf, np.nan, -np.nan]
    for n, _ in sizes(*((n, n) for n in (33, 64, 127, 130, 517, 1100))):
        for one in best:
            a = np.ones((n, n), dtype)
            np.fill_diagonal(a, np.array(one).astype(dtype))
            for op in ("min", "max", *ARGS):
                check(device, a, op, 1)
                check(device, a, op, 0)
        a = np.zeros((n, n), dtype)
        np.fill_diagonal(a, -a[0])
        for op in ("min", "max", *ARGS):
            check(device, a, op, 1)
            check(device, -a, op, 1)
            check(device, -a, op, 0)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bfloat16"])
def test_places_in_columns_are_numpys_across_tiles_and_parts(device, dtype):
    """Tiles are 256 rows; few columns of many rows are cut among threads."""
    rng = np.random.default_rng(0)
    for shape in sizes((257, 40), (1100, 9), (3000, 200)):
        for a in (rng.integers(0, 3, shape), rng.random(shape) < 0.002, np.zeros(shape)):
            a = a.astype(dtype)
            if np.dtype(dtype).kind in "fc":
                a[a == 2] = np.nan
            for op in ARGS:
                want = getattr(np, op)(a, axis=0)
                np.testing.assert_array_equal(warpkit.reduce(a, op, 0, device=device), want)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_the_first_of_equals_wins_over_blocks(device, dtype):
    a = np.zeros(40000, dtype)
    for at in (39999, 20480, 8192, 8191, 4096, 4095, 3):
        a[at:] = np.where(np.arange(40000 - at) % 3 == 0, 1, a[at:])
        check(device, a, "argmax")
        check(device, -a, "argmin")
        check(device, a[:at], "argmax")


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_first_nan_of_few_wins(device, dtype, n):
    """Wherever it is, and whatever comes behind it."""
    rng = np.random.default_rng(n)
    a = rng.integers(-2, 3, (701, n)).astype(dtype)
    a[rng.random(a.shape) < 0.4] = np.nan
    for op in (*ARGS, "min", "max"):
        check(device, a, op, 1)
        check(device, np.ascontiguousarray(a.T), op, 0)


@pytest.mark.parametrize("n", [1, 7, 16, 63, 64, 65, 100, 4096, 9000])
def test_the_first_that_is_true_or_false_is_found(device, n):
    rng = np.random.default_rng(n)
    for share in (0, 1 / n, 0.5, 1 - 1 / n, 1):
        a = rng.random((20, n)) < share
        odd = (a * rng.integers(1, 256, a.shape)).astype("u1").view(bool)
        for op in ("argmin", "argmax"):
            want = getattr(np, op)(a, axis=1)
            for b in (a, odd, np.asfortranarray(a)):
                np.testing.assert_array_equal(warpkit.reduce(b, op, 1, device=device), want)
            assert warpkit.reduce(odd, op, device=device) == getattr(np, op)(a)
            assert warpkit.reduce(odd[3], op, device=device) == want[3]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_places_in_a_few_columns(device, dtype, columns):
    a = values(dtype, (9000, columns))
    for b in (a, a[::2], a[1:, ::-1]):
        for op in ("argmin", "argmax"):
            check(device, b, op, 0)


def test_indices_take_one_axis(device):
    a = np.ones((2, 3))
    for op, axis in itertools.product((*ARGS, "nanargmin"), ((0, 1), (0,), (), 1.5, "x")):
        with pytest.raises(TypeError) as theirs:
            getattr(np, op)(a, axis=axis)
        with pytest.raises(TypeError) as ours:
            warpkit.reduce(a, op, axis, device=device)
        assert str(ours.value) == str(theirs.value)


# ---- errors and warnings -----------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3)
REFUSED = [
    (A, "min", {"where": A > 1}),
    (A, "nanmax", {"where": A > 1}),
    (A > 1, "ptp", {}),
    (A, "sum", {"where": np.array([1, 0, 1])}),
    (A, "sum", {"axis": (0, 0)}),
    (A, "mean", {"axis": 2}),
    (A, "argmin", {"axis": -3}),
    (np.zeros(0), "argmax", {}),
    (np.zeros(0), "nanargmin", {}),
    (np.zeros(0), "ptp", {}),
    (np.zeros(0), "nanmin", {}),
    (np.full(3, np.nan), "nanargmin", {}),
    (np.array([[1, np.nan], [2, np.nan]]), "nanargmax", {"axis": 0}),
]


@pytest.mark.parametrize(("a", "op", "options"), REFUSED)
def test_what_numpy_refuses_is_refused_in_its_words(device, a, op, options):
    with pytest.raises((TypeError, ValueError, np.exceptions.AxisError)) as theirs:
        getattr(np, op)(a, **options)
    with pytest.raises(theirs.type) as ours:
        warpkit.reduce(a, op, **options, device=device)
    assert str(ours.value).startswith(str(theirs.value))
    assert warpkit.reduce(A, device=device) == 15


@pytest.mark.parametrize(
    ("op", "options", "words"),
    [
        ("mean", {"initial": 1}, "'mean' takes no initial"),
        ("nanvar", {"initial": 1}, "'nanvar' takes no initial"),
        ("argmin", {"where": A > 1}, "'argmin' takes no where"),
        ("ptp", {"where": A > 1}, "'ptp' takes no where"),
        ("min", {"dtype": "float32"}, "'min' takes no dtype"),
        ("mean", {"dtype": "int32"}, "'mean' gives no integers"),
        ("sum", {"dtype": "U3"}, "not taken"),
        ("sum", {"dtype": "longdouble"}, "not taken"),
        ("sum", {"dtype": "no such"}, "no such"),
        ("var", {"ddof": "x"}, "real number, not str"),
        ("var", {"ddof": None}, "real number, not NoneType"),
        ("sum", {"where": "x"}, "bool"),
        ("sum", {"dtype": bool, "initial": 1}, "initial"),
        ("mean", {"dtype": bool}, "bool"),
    ],
)
def test_arguments_that_an_op_does_not_take_are_type_errors(device, op, options, words):
    with pytest.raises(TypeError, match=words):
        warpkit.reduce(A, op, **options, device=device)
    assert warpkit.reduce(A, device=device) == 15


@pytest.mark.parametrize("shape", [(2, 2, 3), (4, 3), (2,), (2, 3, 1), (0, 3)])
def test_a_mask_that_does_not_broadcast_is_a_value_error(device, shape):
    with pytest.raises(ValueError, match=r"where of shape .* could not be broadcast"):
        warpkit.reduce(A, where=np.ones(shape, bool), device=device)


def nan_column(n=3):
    a = np.ones((n, 2))
    a[:, 1] = np.nan
    return a


WARNED = [
    (np.zeros((0, 2)), "mean", {}, "Mean of empty slice"),
    (np.zeros((0, 2)), "nanmean", {}, "Mean of empty slice"),
    (np.ones((3, 2)), "mean", {"where": [True, False]}, "Mean of empty slice"),
    (nan_column(), "nanmean", {}, "Mean of empty slice"),
    (np.zeros((0, 2)), "var", {}, "Degrees of freedom <= 0 for slice"),
    (np.ones((2, 2)), "std", {"ddof": 2}, "Degrees of freedom <= 0 for slice"),
    (np.ones((2, 2)), "var", {"ddof": np.inf}, "Degrees of freedom <= 0 for slice"),
    (np.ones((2, 2)), "nanvar", {"ddof": np.inf}, "Degrees of freedom <= 0 for slice."),
    (np.ones((3, 2)), "std", {"ddof": 1, "where": [True, False]}, "Degrees of freedom"),
    (nan_column(), "nanvar", {}, "Degrees of freedom <= 0 for slice"),
    (nan_column(), "nanmin", {}, "All-NaN slice encountered"),
    (nan_column(), "nanmax", {}, "All-NaN slice encountered"),
]


@pytest.mark.parametrize(("a", "op", "options", "words"), WARNED)
def test_warnings_are_numpys(device, a, op, options, words):
    with pytest.warns(RuntimeWarning, match=words):
        getattr(np, op)(a, axis=0, **options)
    with pytest.warns(RuntimeWarning, match=f"^{words}") as caught:
        got = warpkit.reduce(a, op, 0, device=device, **options)
    assert len(caught) == 1
    assert_same(got, reference.reduce(a, op, 0, **options))


QUIET = [
    (np.array([[np.inf, -np.inf], [1, np.nan]]), "nanmean", {"axis": 1}),
    (np.array([[np.inf, -np.inf], [1, np.nan]]), "nanvar", {"axis": 1}),
    (np.array([np.nan, 1.0]), "mean", {"where": [True, True]}),
    (np.array([np.nan, 1.0]), "min", {}),
    (np.array([np.nan, 1.0]), "nanmin", {}),
    (np.array([np.nan]), "nansum", {}),
    (np.array([np.nan]), "nanmin", {"initial": 3}),
    (np.zeros((0, 0)), "sum", {"axis": 0}),
    *((np.ones((2, 2)), op, {"ddof": d}) for op in ("var", "nanstd") for d in (np.nan, -np.inf)),
    (np.array([np.nan, 1.0]), "nanvar", {"ddof": np.nan}),
]


@pytest.mark.parametrize(("a", "op", "options"), QUIET)
def test_nothing_else_warns(device, a, op, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warpkit.reduce(a, op, device=device, **options)


# ---- out, devices, other libraries' dtypes -----------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_results_are_written_where_out_says(device, dtype):
    a = factors(dtype, (6, 20))
    for op in OPS:
        if refused(op, dtype):
            continue
        want = reference.reduce(a, op, 1)
        whole = np.zeros((6, 3), want.dtype)
        for out in (np.zeros_like(want), whole[:, 1], whole[::-1, 2]):
            assert warpkit.reduce(a, op, 1, out=out, device=device) is out
            assert_same(np.ascontiguousarray(out), want)
        assert (whole[:, 0] == 0).all()


def test_results_may_be_written_over_what_is_read(device):
    a = values("float64", (6, 6))
    want = reference.reduce(a, "sum", 0)
    warpkit.reduce(a, "sum", 0, out=a[2], device=device)
    assert_same(a[2].copy(), want)
    mask = values("bool", (6, 6))
    want = reference.reduce(a, "any", 0, where=mask)
    warpkit.reduce(a, "any", 0, where=mask, out=mask[0], device=device)
    assert_same(mask[0].copy(), want)


def on(device):
    if device == "cpu":
        pytest.skip("has no device arrays")
    return lambda a: warpkit.asarray(a, device=device)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_arrays_on_a_device_stay_there(device, dtype):
    there = on(device)
    a = factors(dtype, (7, 40))
    assert_same(there(a).numpy(), a)
    assert_same(there(a)[::2, ::-3].numpy(), np.ascontiguousarray(a[::2, ::-3]))
    assert there(a).dtype == a.dtype
    for op in OPS:
        if refused(op, dtype):
            continue
        for axis in (None, 0, 1):
            got = warpkit.reduce(there(a), op, axis)
            assert isinstance(got, warpkit.DeviceArray)
            want = np.asarray(reference.reduce(a, op, axis))
            assert_same(got.numpy(), want)
    got = warpkit.reduce(there(a), ("sum", "count_nonzero"), 1)
    assert_same(got.sum.numpy(), reference.reduce(a, "sum", 1))
    into = "complex128" if dtype in COMPLEX else "float64"
    got = warpkit.reduce(there(a), "sum", 1, dtype=into).numpy()
    assert_same(got, reference.reduce(a, "sum", 1, dtype=into))
    got = warpkit.reduce(there(a), "prod", 1, dtype="float16").numpy()
    assert_same(got, reference.reduce(a, "prod", 1, dtype="float16"))


def test_a_mask_lies_on_the_host_or_beside_the_array(device):
    there = on(device)
    a, mask = values("float32", (7, 40)), values("bool", (7, 40))
    want = reference.reduce(a, "mean", 1, where=mask)
    for where in (mask, there(mask), there(np.asfortranarray(mask))):
        assert_same(warpkit.reduce(there(a), "mean", 1, where=where).numpy(), want)
    got = warpkit.reduce(there(a)[:, ::-1], "sum", 0, where=there(mask[0])[::-1]).numpy()
    assert_same(got, reference.reduce(a[:, ::-1], "sum", 0, where=mask[0, ::-1]))
    with pytest.raises(ValueError, match="where lies on a device"):
        warpkit.reduce(a, where=there(mask))
    with pytest.raises(TypeError, match="where must be bool, not int8"):
        warpkit.reduce(there(a), where=there(mask.astype(np.int8)))


def test_on_a_device_nothing_waits_for_a_verdict(device):
    there = on(device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(float(warpkit.reduce(there(np.full(3, np.nan)), "nanmean")))
        assert int(warpkit.reduce(there(np.full(3, np.nan)), "nanargmin")) == -1


def test_a_device_array_of_bfloat16_has_no_cuda_interface(device):
    there = on(device)
    assert not hasattr(there(values("bfloat16", 3)), "__cuda_array_interface__")


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_new_dtypes_cross_by_dlpack(device, dtype):
    there = on(device)
    a = there(values(dtype, (3, 4)))
    back = warpkit.from_dlpack(a)
    assert_same(back if isinstance(back, np.ndarray) else back.numpy(), a.numpy())


# ---- any of it ---------------------------------------------------------------------------------


@st.composite
def arrays(draw):
    """Of any dtype and layout; values that are plain, few, wide, special or any bits at all."""
    dtype = draw(st.sampled_from(ALL_DTYPES))
    shape = draw(
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
        | st.tuples(st.integers(0, 1300))
        | st.tuples(st.integers(0, 40), st.integers(0, 90))
    )
    whole = tuple(n * draw(st.integers(1, 2)) for n in shape)
    seed = draw(st.integers(0, 2**20))
    kinds = [values, few_values, raw_bits, factors]
    if dtype in REALS:
        width = draw(st.integers(0, exponents(dtype)[1] - exponents(dtype)[0]))
        kinds.append(lambda d, s, e: ranging(d, width, s, e))
        kinds.append(lambda d, s, e: np.random.default_rng(e).choice(special_floats(d), s))
    a = np.asarray(draw(st.sampled_from(kinds))(dtype, whole, seed))
    steps = [draw(st.sampled_from((1, 1, 1, -1))) * (w // n if n else 1)
             for n, w in zip(shape, whole, strict=True)]  # fmt: skip
    a = a[tuple(slice(None, None, step) for step in steps)]
    a = a.transpose(draw(st.permutations(range(a.ndim))))
    if a.ndim and draw(st.integers(0, 5)) == 0:
        d = draw(st.integers(0, a.ndim - 1))
        if a.shape[d]:
            a = np.broadcast_to(np.take(a, [0], d), a.shape)
    return a


@given(data=st.data())
@examples(250)
def test_any_reduction_of_any_array_is_the_oracles(device, data):
    a = data.draw(arrays())
    op = data.draw(st.sampled_from(OPS))
    axis = None
    if a.ndim and data.draw(st.booleans()):
        axis = data.draw(st.integers(-a.ndim, a.ndim - 1))
        if "arg" not in op and data.draw(st.booleans()):
            axis = tuple(data.draw(st.sets(st.integers(0, a.ndim - 1))))
    options = {"keepdims": data.draw(st.booleans())}
    if op in WITH_INITIAL and data.draw(st.booleans()):
        options["initial"] = few_values(a.dtype, 1, data.draw(st.integers(0, 9)))[0]
    masked = op in WITH_WHERE and (
        op not in WITH_INITIAL or "initial" in options or "m" not in op[-3:]
    )
    if masked and not op.endswith(("min", "max")) and data.draw(st.integers(0, 2)) == 0:
        rng = np.random.default_rng(data.draw(st.integers(0, 99)))
        cut = data.draw(st.integers(0, a.ndim))
        options["where"] = rng.random(a.shape[cut:]) < data.draw(st.sampled_from((0.1, 0.5, 0.99)))
    if op.endswith(("var", "std")):
        options["ddof"] = data.draw(st.sampled_from((0, 1, 2, 0.5)))
    if refused(op, a.dtype.name):
        return
    try:
        reference.reduce(a, op, axis, **options)
    except ValueError:  # of nothing
        with pytest.raises(ValueError, match=r"zero-size|empty sequence"):
            warpkit.reduce(a, op, axis, device=device, **options)
        return
    check(device, a, op, axis, **options)


@pytest.mark.parametrize("seed", range(2))
def test_large_arrays_of_many_blocks(device, seed):
    """More elements than one thread, one block or one chunk of the tree takes."""
    n = 300_001 if device == "cpu" else 70_001
    if not helpers.allowed(n):
        pytest.skip("--small")
    rng = np.random.default_rng(seed)
    for dtype in ("float32", "float64", "int32", "float16", "complex64")[seed::2]:
        a = values(dtype, n, seed)
        for op in ("sum", "var", "min", "argmax", "prod", "norm", "nanmean"):
            check(device, data_for(op, dtype, n) if op == "prod" else a, op)
        check(device, a[: n // 7 * 7].reshape(-1, 7), "sum", 0)
        check(device, a[: n // 7 * 7].reshape(7, -1), "std", 1)
        check(device, a, "sum", where=rng.random(n) < 0.5)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32", "float64"])
def test_columns_are_as_many_as_one_likes(device, dtype):
    for shape in sizes((11, 4099), (300, 1031), (3, 2, 8200)):
        a = values(dtype, shape)
        for op in ("sum", "mean", "min", "max", "var"):
            check(device, a, op, 0)
        if np.dtype(dtype).kind != "f":
            continue
        for at in (3, shape[-1] // 2, shape[-1] - 1):
            a[-1, ..., at] = np.finfo(dtype).smallest_subnormal
            a[1, ..., at] = np.finfo(dtype).max
        a[0, ..., -2] = np.nan
        for op in ("sum", "mean", "min", "max", "var", "nansum", "nanmin", "nanvar"):
            check(device, a, op, 0)


def test_reduce_matches_the_operator_of_python(device):
    a = [3.5, -1.25, 2.0]
    assert warpkit.reduce(a, device=device) == math.fsum(a)
    assert warpkit.reduce(a, "prod", device=device) == a[0] * a[1] * a[2]
    assert operator.index(warpkit.reduce(a, "argmin", device=device)) == 1


# ---- explain -----------------------------------------------------------------------------------


def test_explain_tells_the_passes_and_computes_nothing():
    a = np.ones((300, 70), np.float32)
    for device in devices:
        text = warpkit.explain("reduce", a, ("min", "std", "argmax"), 0, device=device)
        assert text.count("70 outputs of 300 elements each") == 2  # argmax needs a pass of its own
        assert ("have neighbouring columns" in text) == (device != "cpu")
        text = warpkit.explain("reduce", a.ravel(), "sum", device=device)
        assert ("a team of 256 threads" in text) == (device != "cpu")
    with pytest.raises(np.exceptions.AxisError):
        warpkit.explain("reduce", a, "sum", 2, device="cpu")


@pytest.mark.parametrize("n", [1, 700, 300_000])
@pytest.mark.parametrize("at", [0, 511, 1025, -1])
def test_the_largest_and_least_of_bools_are_whether_any_and_all_are_true(device, n, at):
    """Which may be told by the first elements."""
    some = np.zeros(n, bool)
    some[min(at, n - 1)] = True
    for a, op in ((some, "max"), (~some, "min")):
        for x in (a, ~a, a[::-1], a[::-1][: n // 2 + 1]):
            want = getattr(np, op)(x)
            assert warpkit.reduce(x, op, device=device) == want
            assert warpkit.reduce(x, op, axis=0, initial=True, device=device) == (
                True if op == "max" else want
            )
            logical = "any" if op == "max" else "all"
            assert warpkit.reduce(x, logical, device=device) == want
            low, high = warpkit.reduce(x, ("min", "max"), device=device)
            assert (low, high) == (x.min(), x.max())
            assert warpkit.partial(x, op, device=device).finish() == want
    with pytest.raises(ValueError, match="zero-size array"):
        warpkit.reduce(some[:0], "max", device=device)


# What lies neither as rows nor as columns: folded from copies of some of it. In the last ones
# outputs are found in the order of the memory, and turned.
APART = {
    "columns two apart": ((9, 1200), lambda x: x[:, ::2], 0),
    "columns backwards": ((3, 700), lambda x: x[:, ::-1], 0),
    "columns of few planes": ((5, 90, 6), lambda x: x[..., ::3], 0),
    "many of their rows": ((700, 90), lambda x: x[:, ::2], 0),
    "pairs of columns": ((301, 7, 2), lambda x: x, 1),
    "short rows two apart": ((400, 30), lambda x: x[:, ::2], 1),
    "short rows of two axes": ((300, 4, 30), lambda x: x[:, :3, ::5], (1, 2)),
    "single elements": ((40, 30, 2), lambda x: x[::2, ::-1, :1], 2),
    "turned": ((23, 31, 29, 2), lambda x: x.transpose(2, 0, 3, 1), 2),
    "turned, backwards": ((60, 31, 12), lambda x: x[:, :, ::-1].transpose(2, 1, 0), 2),
    "turned, in gaps": ((60, 31, 24), lambda x: x[:, :, ::2].transpose(1, 2, 0), 2),
}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "complex128"])
@pytest.mark.parametrize("case", APART)
@pytest.mark.parametrize("count", ["all", "where", "nan"])
def test_elements_that_lie_apart_on_the_cpu(case, dtype, count):
    shape, view, axis = APART[case]
    a = values(dtype, shape, seed=3)
    if count == "nan" and a.dtype.kind in "fc":
        a.reshape(-1)[::397] = np.nan  # few columns have some: these are folded again alone
    x = view(a)
    axes = axis if isinstance(axis, tuple) else (axis,)
    kept = [d for d in range(x.ndim) if d not in axes]
    as_rows = np.ascontiguousarray(x.transpose(*kept, *axes)).reshape(
        *(x.shape[d] for d in kept), -1
    )
    ops = ["sum", "count_nonzero", ("mean", "std"), "nanmax" if count == "nan" else "argmin"]
    ops += ["max", ("min", "mean")] if count != "where" else []
    ops += ["nanstd", ("nanmean", "nanmin")] if count == "nan" else []
    for op in ops:
        given, rows = {}, {}
        if op == "argmin" and (count == "where" or len(axes) > 1 or a.dtype.kind == "c"):
            continue
        if count == "where":
            given["where"] = mask = np.random.default_rng(5).random(x.shape[::-1]).T < 0.6
            rows["where"] = mask.transpose(*kept, *axes).reshape(as_rows.shape)
        if count == "nan" and op == "sum":
            op = "nansum"
        got = warpkit.reduce(x, op, axis, device="cpu", **given)
        want = warpkit.reduce(as_rows, op, -1, device="cpu", **rows)
        several = isinstance(op, tuple)
        for one, other in zip(got, want, strict=True) if several else [(got, want)]:
            assert_same(one, other)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("case", APART)
def test_products_of_elements_that_lie_apart_on_the_cpu(case, dtype):
    shape, view, axis = APART[case]
    a = 1 + values(dtype, shape, seed=4) / 64
    a = a.astype(dtype)
    a.reshape(-1)[::397] = np.nan
    x = view(a)
    mask = np.random.default_rng(6).random(x.shape[::-1]).T < 0.6
    for op, more in (("prod", {}), ("nanprod", {}), ("prod", {"where": mask})):
        got = warpkit.reduce(x, op, axis, device="cpu", **more)
        assert_same(got, reference.reduce(x, op, axis, **more))
    short = np.ascontiguousarray(x).reshape(-1)[: x.size // 5 * 5].reshape(-1, 5)
    assert_same(warpkit.reduce(short, "prod", 1, device="cpu"), reference.reduce(short, "prod", 1))
