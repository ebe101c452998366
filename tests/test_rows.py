"""Every row of the kernel table, on every device under test, against the oracles."""

import itertools

import numpy as np
import pytest
import warpkit
from helpers import (
    ALL_DTYPES,
    COMPLEX,
    DTYPES,
    FLOATS,
    FOLDS,
    INTEGERS,
    LARGE,
    MODES,
    MOST_TAPS,
    REALS,
    SORTED_ONLY,
    allowed,
    assert_near,
    assert_same,
    check_warps,
    devices,
    factors,
    few_values,
    in_sorted_warps,
    joined,
    poison,
    raw_bits,
    rows,
    rows_by_dtype,
    sizes,
    special_floats,
    transposed,
    values,
)
from warpkit import reference

# ---- reduce ------------------------------------------------------------------------------------


def folds(row):
    """Rows that teach only sum."""
    return FOLDS if row.production else ("sum",)


def row_folds(dtypes=None):
    """parametrize's values for "row, op", or of dtypes for "row, dtype, op"."""
    if dtypes is None:
        return [pytest.param(r, op, id=f"{r}-{op}") for r in rows("reduce") for op in folds(r)]
    return [
        pytest.param(row, dtype, op, id=f"{row}-{dtype}-{op}")
        for row, dtype in (param.values for param in rows_by_dtype("reduce", dtypes))
        for op in folds(row)
    ]


def check_fold(row, a, op, axis=None, keepdims=False):
    """Exact bits; sums of rows that teach may differ as far as n roundings explain."""
    if refuses(row, op):
        with pytest.raises(ValueError, match=op):
            row(a, op, axis, keepdims=keepdims)
        return
    want = reference.reduce(a, op, axis, keepdims)
    poison(want)
    got = row(a, op, axis, keepdims=keepdims)
    if row.production or want.dtype.kind != "f":
        assert_same(got, want)
        return
    n = a.size / max(want.size, 1)
    absolute = np.abs(a.astype(np.float64)).sum(axis, keepdims=keepdims)
    assert_near(got, want, (n + 1) * np.finfo(want.dtype).eps * absolute)


def refuses(row, op):
    """Rows that teach need only sum."""
    return row.device != "cpu" and not row.production and op != "sum"


@pytest.mark.parametrize("n", sizes())
@pytest.mark.parametrize(("row", "dtype", "op"), row_folds(DTYPES))
def test_every_row_folds_as_the_oracle_does(row, dtype, op, n):
    a = (factors if op == "prod" else values)(dtype, n, seed=n)
    if n == 0 and op in ("min", "max") and not refuses(row, op):
        with pytest.raises(ValueError, match="zero-size array"):
            row(a, op)
    elif n == 0 and op == "mean" and not refuses(row, op):
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert_same(row(a, op), reference.reduce(a, op))
    else:
        check_fold(row, a, op)


SHAPES = [(5, 7, 33), (33, 1025), (1025, 33), (2, 3, 4, 5, 6), (1, 1), (1, 300, 1), (70, 2050)]
SHAPES += [(3, 64), (64, 3), (4, 65, 64), (1, 33), (33, 1)]


@pytest.mark.parametrize("shape", sizes(*SHAPES), ids=str)
@pytest.mark.parametrize(("row", "op"), row_folds())
def test_every_row_folds_every_set_of_axes(row, shape, op):
    dims = range(len(shape))
    sets = [c for k in range(len(shape) + 1) for c in itertools.combinations(dims, k)]
    wanted = ("float32", "int16", "float64", "uint64", "bool", "int8", "int32")
    dtypes = [dtype for dtype in wanted if dtype in row.dtypes]
    for i, axes in enumerate([None, -1, *sets]):
        if axes == () and not row.production and np.prod(shape) > LARGE:
            continue  # a block for each element: slow on the emulated device, and like fewer
        dtype = dtypes[i % len(dtypes)]
        a = (factors if op == "prod" else values)(dtype, shape, seed=i)
        check_fold(row, a, op, axes, keepdims=i % 2 == 1)


@pytest.mark.large
@pytest.mark.parametrize(("row", "dtype", "op"), row_folds(("float32", "int32")))
def test_every_row_folds_outputs_of_many_chunks(row, dtype, op):
    a = (factors if op == "prod" else values)(dtype, (3, 40_001))
    check_fold(row, a, op, 1)
    check_fold(row, np.ascontiguousarray(a.T), op, 0)


@pytest.mark.large
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("reduce", ("float32",)))
def test_every_row_folds_more_than_a_chunk_of_chunks(row, dtype):
    a = values("int8", 2**20 + 1025).astype(dtype) / 3
    check_fold(row, a, "sum")
    if "mean" in folds(row):
        check_fold(row, a, "mean")


@pytest.mark.parametrize("n", [*range(10), 255, 257, 1027])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("reduce", ("int32", *FLOATS)))
def test_every_row_sums_lines_that_start_anywhere(row, dtype, n):
    """Of an odd length, so that they start at every place in a vector of 16 bytes."""
    check_fold(row, values(dtype, (9, n)), "sum", 1)


@pytest.mark.parametrize("n", sizes(33, 1025, 40_001))
@pytest.mark.parametrize("row", [row for row in rows("reduce") if "int32" in row.dtypes], ids=str)
def test_every_row_sums_extreme_integers_in_64_bits(row, n):
    info = np.iinfo("int32")
    for x in (info.min, info.max, -1, 0xFFFF, -0x10000):
        check_fold(row, np.full(n, x, "int32"), "sum")


@pytest.mark.parametrize("op", FOLDS[1:])
@pytest.mark.parametrize("row", [row for row in rows("reduce") if not row.production], ids=str)
def test_rows_that_only_sum_refuse_the_rest(row, op):
    for n in (1, 3, 1025):
        with pytest.raises(ValueError, match=f"'{row.name}' of reduce only sums"):
            row(np.ones(n, row.dtypes[0]), op)


@pytest.mark.parametrize(("row", "dtype", "op"), row_folds(FLOATS))
def test_every_row_keeps_the_rules_of_special_floats(row, dtype, op):
    if refuses(row, op):
        pytest.skip("takes only sum")
    special = special_floats(dtype)
    lines = [*itertools.product(special, repeat=2), *([x] * 40 for x in special)]
    for line in [*lines, [0.0, -0.0] * 20, [-0.0] * 1030]:
        a = np.array(line, dtype)
        want = reference.reduce(a, op)
        got = row(a, op)
        if row.production or np.isnan(want):
            assert_same(got, want)


@pytest.mark.parametrize("n", [33, 1025, 3001])
@pytest.mark.parametrize(("row", "dtype", "op"), row_folds(FLOATS))
def test_nan_propagates_from_every_place(row, dtype, n, op):
    if refuses(row, op):
        pytest.skip("takes only sum")
    canonical = {"float32": 0x7FC00000, "float64": 0x7FF8000000000000}[dtype]
    for at in {0, 1, 31, 32, n // 2, n - 2, n - 1}:
        a = factors(dtype, n)
        a[at] = -np.nan  # the sign bit set
        got = row(a, op)
        assert int(got.view(f"u{got.itemsize}")) == canonical


# ---- transpose ---------------------------------------------------------------------------------


def check_transpose(row, a, axes=None):
    want = transposed(row, a, axes)
    poison(want)
    assert_same(row(a, axes), want)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 255, 257])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("transpose", ALL_DTYPES))
def test_every_row_transposes_matrices(row, dtype, n):
    for m in (0, 1, 7, 31, 32, 33, 64, 129):
        if allowed((n, m)):
            check_transpose(row, raw_bits(dtype, (n, m), seed=m))


def large_transposes():
    """Rungs move 4-byte words, whatever they are called: one dtype of those will do."""
    params = rows_by_dtype("transpose", ALL_DTYPES)
    return [p for p in params if p.values[0].production or p.values[1] == "float32"]


@pytest.mark.large
@pytest.mark.parametrize("shape", [(1025, 257), (3, 87_383), (87_383, 3), (2**18 + 1,)], ids=str)
@pytest.mark.parametrize(("row", "dtype"), large_transposes())
def test_every_row_transposes_large_and_lopsided_matrices(row, dtype, shape):
    check_transpose(row, raw_bits(dtype, shape))


@pytest.mark.parametrize("shape", [(), (5,), (1, 1), (3, 5, 7), (33, 2, 31), (4, 3, 5, 2)], ids=str)
@pytest.mark.parametrize(
    ("row", "dtype"),
    rows_by_dtype("transpose", ("uint8", "bfloat16", "float32", "float64", "complex128")),
)
def test_every_row_permutes_axes_in_every_order(row, dtype, shape):
    a = raw_bits(dtype, shape)
    check_transpose(row, a)
    for axes in itertools.permutations(range(len(shape))):
        check_transpose(row, a, axes)
        check_transpose(row, a, [d - len(shape) for d in axes])


def views(a):
    """Of a matrix: rows that start, end and lie apart by whole vectors of 16 bytes, and not."""
    yield from (a, a[4:, 8:], a[:, 1:], a[1:, :-3], a[:, 3:-1])
    yield from (a[::-1], a[:, ::-1], a[::2], a[:, ::-3], a[:0])
    yield from (a[::5, None].repeat(4, 1), a[:, None, 4:], a.reshape(2, -1, a.shape[1])[:, 1:])
    yield from (np.broadcast_to(x, a.shape) for x in (a[0], a[:, :1], a[0, 0]))
    yield np.lib.stride_tricks.sliding_window_view(a[:4], 9, 1)


@pytest.mark.parametrize("width", [64, 67])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("transpose", ("float32",)))
def test_every_row_transposes_views(row, dtype, width):
    for a in views(raw_bits(dtype, (70, width))):
        check_transpose(row, a)
        check_transpose(row, a.T, tuple(np.roll(range(a.ndim), 1)))


@pytest.mark.parametrize("width", [64, 67])
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("transpose", ("float32",)))
def test_every_row_transposes_views_of_device_arrays(row, dtype, width):
    if row.device == "cpu":
        pytest.skip("a host array is where it is")
    a = raw_bits(dtype, (70, width))
    there = warpkit.asarray(a, device=row.device)
    for cut in (np.s_[:], np.s_[4:, 8:], np.s_[1:, 1:], np.s_[::-1, ::2], np.s_[:, ::-1]):
        assert_same(row(there[cut]).numpy(), transposed(row, a[cut]))
        assert_same(row(there[cut].T).numpy(), transposed(row, a[cut].T))


@pytest.mark.parametrize("row", rows("transpose"), ids=str)
def test_every_row_permutes_more_axes_than_a_kernel_takes(row):
    a = raw_bits("int32", (2,) * 10)[:, ::-1]
    axes = (3, 0, 5, 1, 2, 4, 6, 9, 7, 8)
    check_transpose(row, a, axes)
    if row.device != "cpu":
        there = warpkit.asarray(raw_bits("int32", (2,) * 10), device=row.device)[:, ::-1]
        assert_same(row(there, axes).numpy(), transposed(row, a, axes))


@pytest.mark.parametrize("row", rows("transpose"), ids=str)
def test_every_row_permutes_eight_axes(row):
    a = raw_bits("int32", (2, 3, 1, 4, 2, 5, 1, 3))
    rng = np.random.default_rng(0)
    for _ in range(20):
        check_transpose(row, a, tuple(rng.permutation(8)))


# ---- stencil1d ---------------------------------------------------------------------------------

TAPS = np.array([0.3, -1.7, 0.9, 2.25, 1 / 3, -0.1, 0.7, 1.1])


def refuses_taps(row, taps):
    return not row.production and len(taps) > MOST_TAPS.get(row.name, len(taps))


def check_stencil(row, a, taps, axis=-1, mode="reflect", cval=0.0, origin=0, **types):
    """types: output and accumulate, which production rows alone take."""
    if refuses_taps(row, taps):
        with pytest.raises(ValueError, match=f"'{row.name}'.* up to {MOST_TAPS[row.name]} coeff"):
            row(a, taps, axis, mode=mode, cval=cval, origin=origin)
        return
    want = reference.stencil1d(a, taps, axis, mode, cval, origin, **types)
    poison(want)
    got = row(a, taps, axis, mode=mode, cval=cval, origin=origin, **types)
    assert_same(got, want)  # rows that teach keep the order too


def small_numbers(dtype, shape, seed=0):
    """Results fit the type."""
    if np.dtype(dtype).kind == "f":
        return values(dtype, shape, seed)
    return (values("uint8", shape, seed) % 12).astype(dtype)


def floats(row):
    """What this row takes of the dtypes that rows which teach have tolerances for."""
    return [dtype for dtype in FLOATS if dtype in row.dtypes]


production_stencils = [r for r in rows("stencil1d") if r.production]
over_production = pytest.mark.parametrize("row", production_stencils, ids=str)
over_production_dtypes = pytest.mark.parametrize(
    ("row", "dtype"), [p for p in rows_by_dtype("stencil1d", ALL_DTYPES) if p.values[0].production]
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", sizes(0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025))
@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("stencil1d", ALL_DTYPES))
def test_every_row_correlates_lines(row, dtype, n, mode):
    make = values if row.production else small_numbers
    for taps in (1, 2, 5, 8):
        check_stencil(row, make(dtype, n, seed=taps), TAPS[:taps], mode=mode, cval=1.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", sizes(2047, 2049, 4097, 2**18 + 1))
@pytest.mark.parametrize("row", rows("stencil1d"), ids=str)
def test_every_row_correlates_long_lines(row, n, mode):
    dtype = floats(row)[(MODES.index(mode) + n) % len(floats(row))]
    check_stencil(row, values(dtype, n), TAPS[:5], mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape",
    sizes((7, 33, 5), (33, 257), (3, 1500), (1500, 3), (2, 1, 9), (200, 17), (40, 2, 60)),
    ids=str,
)
@pytest.mark.parametrize("row", rows("stencil1d"), ids=str)
def test_every_row_correlates_along_every_axis(row, shape, mode):
    dtypes = [dtype for dtype in ("float32", "int16", "float64") if dtype in row.dtypes]
    for axis in range(-1, len(shape)):
        for i, dtype in enumerate(dtypes):
            a = small_numbers(dtype, shape, seed=axis + 1)
            check_stencil(row, a, TAPS[: 3 + i], axis, mode, cval=-2.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", rows("stencil1d"), ids=str)
def test_every_row_shifts_by_every_origin(row, mode):
    for taps in range(1, 9):
        for origin in range(-(taps // 2), (taps - 1) // 2 + 1):
            for n in (1, 2, 3, 40):
                check_stencil(row, values("float32", n), TAPS[:taps], -1, mode, 0.5, origin)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2, 5, 200, 3000])
@over_production
def test_production_rows_take_more_taps_than_elements(row, n, mode):
    check_stencil(row, values("float64", n), values("float64", 301, seed=1), mode=mode, cval=3.0)
    both = values("float32", (n, 3)), values("float64", 301, seed=1)
    check_stencil(row, *both, 0, mode, cval=3.0)


@over_production
def test_production_rows_take_thousands_of_taps(row):
    a = few_values("float32", (40, 3))
    check_stencil(row, a, few_values("float64", 5001, seed=1), 0, "wrap")
    check_stencil(row, a.T, few_values("float64", 5001, seed=1), 1, "mirror")


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("stencil1d", REALS))
def test_every_row_correlates_special_floats(row, dtype):
    a = np.random.default_rng(0).permutation(np.tile(special_floats(dtype), 3))
    for taps in ([1.0], [-1.0, 0.0], [0.5, 1e300, -2.0], [np.inf, 1.0], [np.nan]):
        check_stencil(row, a, taps)


@pytest.mark.parametrize(
    ("row", "dtype"), [p for p in rows_by_dtype("stencil1d", INTEGERS) if p.values[0].production]
)
def test_what_no_integer_holds_is_stored_as_documented(row, dtype):
    a = np.ones(5, dtype)
    for value in (300.7, -1.5, -0.9, 2.0**31, -(2.0**40) - 1, 2.0**63, 2.0**64, -(2.0**70), np.nan):
        assert_same(row(a, [value]), reference.stencil1d(a, [value]))
    halves = np.resize([2.0**62, -(2.0**62), 2.0**51, 1.5, -0.5, 2.0**63, np.inf, np.nan], 77)
    for taps in ([1.0], [0.75, 1.0], [1.0, 2.0, 1.0]):
        check_stencil(row, halves, taps, output=dtype)


@over_production_dtypes
def test_production_rows_store_any_dtype(row, dtype):
    """Of the sums, not of what they are in some other type first."""
    pairs = dtype in COMPLEX
    for output in COMPLEX if pairs else (*INTEGERS, *REALS):
        for accumulate in (None, "float32"):
            for axis, shape in ((-1, 99), (0, (9, 70)), (0, (30, 3))):
                a = raw_bits(dtype, shape) if axis else values(dtype, shape)
                types = {"output": output, "accumulate": accumulate}
                check_stencil(row, a, TAPS[:3], axis, "wrap", **types)


@pytest.mark.parametrize("output", ["float16", "bfloat16"])
@over_production
@np.errstate(invalid="ignore")
def test_production_rows_round_to_sixteen_bits_once(row, output):
    """Beside what lies halfway between two of them, by less than a float32 has bits for."""
    bits = np.arange(0, 2**16 - 1, 97, dtype=np.uint16)
    bits = bits[np.isfinite((bits + 1).view(np.dtype(output)))]
    below, above = (x.view(np.dtype(output)).astype(np.float64) for x in (bits, bits + 1))
    halfway = (below + above) / 2
    beside = np.stack([halfway, np.nextafter(halfway, 1e99), np.nextafter(halfway, -1e99)])
    for a in (beside, beside.T, np.array([[65520.0, np.nextafter(65520.0, 0), 3.4e38, 1e300]])):
        check_stencil(row, a, [1.0], 0, output=output)


@pytest.mark.parametrize("mode", MODES)
@over_production_dtypes
def test_production_rows_take_complex_coefficients(row, dtype, mode):
    taps = TAPS - 1j * TAPS[::-1]
    cval = 0.5 - 2.0j if dtype in COMPLEX else 0.5
    for n, count, axis in ((1, 1, 0), (40, 8, 0), ((6, 33, 5), 3, 1), ((9, 70), 5, 0)):
        a = values(dtype, n) if dtype in (*REALS, *COMPLEX) else small_numbers(dtype, n)
        check_stencil(row, a, taps[:count], axis, mode, cval)
        check_stencil(row, a, taps[:count], axis, mode, cval, accumulate="float32")
        check_stencil(row, a, taps[:count], axis, mode, cval, output="complex128")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", COMPLEX)
@over_production
def test_production_rows_take_complex_arrays(row, dtype, mode):
    for shape in ((1,), (300,), (4, 33, 5), (12, 40)):
        a = values(dtype, shape)
        for axis in range(len(shape)):
            check_stencil(row, a, TAPS[:5], axis, mode, 2.5 + 1.5j)
            check_stencil(row, a.T, TAPS[:2], axis, mode, 2.5 + 1.5j, -1)
    special = special_floats({"complex64": "float32", "complex128": "float64"}[dtype])
    a = joined(special, special[::-1])
    for taps in ([1.0, 0.5], [1.0 + 1e300j], [np.inf, 1j], [complex(0, np.nan)]):
        check_stencil(row, a, taps, mode=mode)


@pytest.mark.parametrize("taps", [1, 2, 9, 40])
@over_production
def test_production_rows_do_without_the_ends(row, taps):
    c = values("float64", taps)
    for dtype in ("float32", "uint8", "complex64"):
        for shape in ((40,), (41, 3), (45, 70), (3, 1500)):
            a = values(dtype, shape) if dtype != "uint8" else small_numbers(dtype, shape)
            for axis in range(len(shape)):
                if shape[axis] >= taps:
                    check_stencil(row, a, c, axis, "valid", np.nan)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64", "float64"])
@over_production
def test_production_rows_correlate_views(row, dtype, axis):
    a = small_numbers(dtype, (10, 12, 40)) if dtype == "int16" else values(dtype, (10, 12, 40))
    views = (
        a.T, a[::-1, ::-1, ::-1], a[:, ::2], a[..., ::3], a[1:, 2:, 5:-3], a.transpose(1, 0, 2),
        a.transpose(0, 2, 1), np.asfortranarray(a), np.broadcast_to(a[:1], a.shape),
        np.broadcast_to(a[:, :, :1], a.shape), a[::-2, :, 7::8],
    )  # fmt: skip
    for view in views:
        for c in (TAPS[:5], TAPS[:5] * (1 + 1j)):
            check_stencil(row, view, c, axis, "mirror", origin=-1)


@pytest.mark.large
@over_production
def test_production_rows_correlate_views_that_are_large(row):
    a = values("float32", (1000, 700))
    for view in (a.T, np.asfortranarray(a), a[::2, ::-1], a.reshape(1000, 350, 2)[:, ::2]):
        for axis in range(view.ndim):
            check_stencil(row, view, TAPS[:5], axis)


# ---- histogram and bincount --------------------------------------------------------------------

BINS = (1, 2, 31, 256, 1024, 1025, 20_000)  # shared memory holds the first few, not the last


def check_histogram(row, a, bins, range=None, everything=True):
    counts, edges = reference.histogram(a, bins, range)
    poison(counts)
    got, got_edges = row(a, bins, range)
    assert_same(got, counts)
    assert_same(got_edges, edges)
    if everything:
        assert got.sum() == a.size


# Rungs of the histogram decode an element by one function: a few dtypes and sizes do.
HISTOGRAMS = [
    pytest.param(*param.values, n, id=f"{param.id}-{n}")
    for param in rows_by_dtype("histogram")
    for n in sizes()
    if param.values[0].production
    or (
        param.values[1] in ("uint8", "int32", "float32", "float64")
        and n in (0, 1, 33, 1025, 2**18 + 1)
    )
]


@pytest.mark.parametrize(("row", "dtype", "n"), HISTOGRAMS)
def test_every_row_counts_equal_bins(row, dtype, n):
    a = (values if n > 1 else few_values)(dtype, n, seed=n)  # one huge value leaves no range
    for bins in BINS:
        check_histogram(row, a, bins)
    if a.dtype.kind == "f":
        check_histogram(row, a, 100, (-1.0, 1.0), everything=False)
        check_histogram(row, a, 2000, (-1.0, 1.0), everything=False)
    elif dtype != "bool":
        info = np.iinfo(dtype)
        check_histogram(row, a, 100, (int(info.min) // 2, int(info.max) // 3), everything=False)


@pytest.mark.parametrize(("row", "dtype", "n"), HISTOGRAMS)
def test_every_row_counts_between_given_edges(row, dtype, n):
    a = few_values(dtype, n, seed=n)
    for edges in ([-3, 0, 1, 2, 3], [-3.0, -0.5, 0.0, 0.0, 1.5, 3.0]):
        check_histogram(row, a, edges)
    check_histogram(row, a, [0.5, 1.0], everything=False)
    check_histogram(row, a, np.linspace(-3, 3, 3001))


@pytest.mark.parametrize("n", sizes())
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("row", rows("histogram"), ids=str)
def test_every_row_counts_each_integer(row, dtype, n):
    few = abs(few_values("int8", n)).astype(dtype)
    many = np.abs(values("int16", n) % (100 if few.itemsize == 1 else 3000)).astype(dtype)
    for a in (few, many):
        for minlength in (0, 3, 5000):
            want = reference.bincount(a, minlength=minlength)
            poison(want)
            got = row.run("bincount", a, minlength=minlength)
            assert_same(got, want)
            assert got.sum() == a.size


@pytest.mark.large
@pytest.mark.parametrize("row", rows("histogram"), ids=str)
def test_every_row_counts_into_more_bins_than_fit_any_cache(row):
    a = np.array([0, 2**20, 3, 2**20, 77, 2**19], np.int32)
    assert_same(row.run("bincount", a), reference.bincount(a))
    check_histogram(row, a, 2**19 + 1)


@pytest.mark.parametrize("n", sizes(33, 1025, 2**18 + 1))
@pytest.mark.parametrize("row", rows("histogram"), ids=str)
def test_every_row_counts_equal_values(row, n):
    """All threads want one counter: the worst case of an atomic."""
    for dtype in ("uint8", "int32", "float32", "float64"):
        check_histogram(row, np.full(n, 3, dtype), 10)
        check_histogram(row, np.full(n, 3, dtype), 3000)


@pytest.mark.parametrize(("row", "dtype"), rows_by_dtype("histogram", FLOATS))
def test_nan_and_infinity_lie_in_no_bin(row, dtype):
    a = np.tile(special_floats(dtype), 30)
    check_histogram(row, a, 7, (-2.0, 2.0), everything=False)
    check_histogram(row, a, 3000, (-2.0, 2.0), everything=False)
    edges = [-np.inf, -1.0, 0.0, 1.0, np.inf]
    a = a[~np.isnan(a)]
    check_histogram(row, a, edges)
    counts, _ = row(np.append(a, [np.nan, -np.nan]).astype(dtype), edges)
    assert_same(counts, reference.histogram(a, edges)[0])  # NumPy's own needs a sort of NaN


# ---- the comparisons themselves ----------------------------------------------------------------


@pytest.mark.parametrize("row", [r for r in rows("reduce") if r.production][:1], ids=str)
def test_the_tolerance_for_rows_that_teach_admits_what_is_right(row):
    row = row._replace(production=False)
    for dtype in ("float32", "float64", "int16"):
        a = factors(dtype, (33, 40))
        for axis in (None, 0, 1):
            check_fold(row, a, "sum", axis)


@pytest.mark.parametrize("wrong", [np.nan, 1.5, np.inf, -1.0])
def test_a_tolerance_rejects_what_is_far_and_what_is_nan(wrong):
    assert_near(np.array([1.0, 2.0]), np.array([1.0, 2.1]), 0.2)
    with pytest.raises(AssertionError):
        assert_near(np.array([wrong, 2.0]), np.array([1.0, 2.0]), 0.2)
    with pytest.raises(AssertionError):
        assert_near(np.array([1.0, 2.0]), np.array([np.nan, 2.0]), 0.2)


def test_equal_bits_are_more_than_equal_values():
    one = np.array([0.0, np.nan])
    assert_same(one, one.copy())
    for other in (np.array([-0.0, np.nan]), np.array([0.0, -np.nan]), one.astype("f4"), one[:1]):
        with pytest.raises(AssertionError):
            assert_same(other, one)
    with pytest.raises(AssertionError):
        assert_same(np.array(1.0), np.float64(1.0))


# ---- all ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["reduce", "transpose", "stencil1d", "histogram", "warp_histogram"])
def test_a_row_refuses_the_dtypes_it_does_not_take(op):
    arguments = ([1.0],) if op == "stencil1d" else ()
    for row in rows(op):
        for dtype in set(DTYPES) - set(row.dtypes):
            with pytest.raises(TypeError, match=f"{row.name}.*{dtype}"):
                row(np.ones(3, dtype), *arguments)


@pytest.mark.large
def test_work_for_hundreds_of_tasks_is_done_whole():
    """Far more than a thread or a block takes at once, so that a share of it cannot be lost."""
    a = values("uint8", (2049, 4097))
    for row in rows("reduce"):
        for axis in (None, 0, 1) if a.dtype.name in row.dtypes else ():
            check_fold(row, a, "sum", axis)
    for row in rows("transpose"):
        check_transpose(row, a if a.dtype.name in row.dtypes else a.astype(np.int32))
    for row in rows("stencil1d"):
        dtype = "uint8" if "uint8" in row.dtypes else "float32"
        check_stencil(row, small_numbers(dtype, a.shape), [1.0, 2.0, 1.0])
    for row in rows("histogram"):
        check_histogram(row, a, 200)
        check_histogram(row, a.astype(np.int32), 2000)
    for row in rows("warp_histogram"):
        if row.name in SORTED_ONLY:
            check_warps(row, in_sorted_warps(a[:70]), assume_sorted=True)
        else:
            check_warps(row, a.ravel())


def some_results(device):
    """Results of every production row over data large enough for many blocks or threads."""
    for dtype in ("float32", "float64", "int32", "uint8"):
        a = values(dtype, (300, 257))
        for op, axis in itertools.product(FOLDS, (None, 0, 1)):
            yield warpkit.reduce(
                factors(dtype, a.shape) if op == "prod" else a, op, axis, device=device
            )
        yield warpkit.transpose(a, device=device)
        for axis in (0, 1):
            yield warpkit.stencil1d(a, TAPS, axis, device=device)
        yield warpkit.histogram(a, 50, device=device)[0]
        yield from warpkit.warp_histogram(a, device=device)


@pytest.mark.large
def test_every_device_gives_the_bits_of_the_cpu():
    """For "cpu" itself: a second run, whose threads share the work otherwise."""
    wanted = list(some_results("cpu"))
    for device in devices:
        for got, want in zip(some_results(device), wanted, strict=True):
            assert_same(got, want)
