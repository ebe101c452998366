"""The production reduction's kernels by each of their grids, on little data.

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
COLUMNS = [(300, 3), (64, 70), (1500, 2), (900, 40), (2000, 65), (64, 9000), (40_000, 3)]
CASES = [(shape, 1) for shape in ROWS] + [(shape, 0) for shape in COLUMNS]
SMALL = sizes(*ROWS, *COLUMNS)


@pytest.fixture(params=["", "integers"])
def sums(request, device, setting):
    """How floats are added: by doubles where these do, or by integers alone."""
    if device == "cpu":
        pytest.skip("has no grid")
    setting("WARPKIT_SUMS", request.param)
    return request.param


def wide(dtype, shape, seed=0):
    """Exponents of a third of them too far apart for doubles: those outputs are folded again."""
    if np.dtype(dtype).kind != "f" or np.dtype(dtype).itemsize == 2:
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


def test_the_last_row_of_a_narrow_matrix_that_fills_no_load(device, sums):
    a = np.zeros((4411, 64), np.float32)  # arrays of the host go over in pieces
    a[0], a[-1] = 2, 1
    check(device, a, 0)
    a[5], a[7], a[9] = 2.0**-80, 2.0**80, -(2.0**80)
    check(device, a, 0)


@pytest.mark.parametrize(("dtype", "shape"), [("int8", (1500, 200)), ("float16", (2600, 200))])
def test_parts_that_are_joined_in_sets(device, sums, dtype, shape):
    if sums and dtype == "int8":
        pytest.skip("as the others")
    a = values(dtype, shape)
    check(device, a, 0)
    many = (warpkit.reduce(a, ("max", "std"), 0, device=d) for d in (device, "cpu"))
    for result, want in zip(*many, strict=True):
        assert_same(result, want)


@pytest.mark.parametrize("shape", sizes((3, 1600), (70, 64), (300, 9), (9, 3000)), ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex64"])
def test_sums_of_some(device, sums, dtype, shape):
    """By vectors and words, by bytes, by a thread each."""
    a = wide(dtype, shape)
    some = np.random.default_rng(1).random(shape) < 0.5
    parted = np.concatenate([a, a]).reshape(2, *shape), np.concatenate([some, some[::-1]])
    for axis in (None, 0, 1):
        check(device, a, axis, where=some)
        check(device, a, axis, where=some[:1])
        check(device, a[:, 1:], axis, where=some[:, 1:])
        check(device, a.T, axis, where=some.T)
    check(device, parted[0], (0, 2), where=parted[1].reshape(2, *shape))


@pytest.mark.parametrize("shape", sizes((3, 1600), (1500, 3), (70, 64), (9, 3000)), ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sums_of_arrays_that_cross_in_pieces(device, sums, dtype, shape, setting):
    setting("WARPKIT_PIECE", "4096")
    for a in (values(dtype, shape), wide(dtype, shape)):
        for axis in (None, 0, 1):
            check(device, a, axis)


def check_there(device, a, op, axis=None, where=True):
    """Of arrays on the device: others cross in pieces."""
    there = warpkit.asarray(a, device=device)
    mask = where if where is True else warpkit.asarray(where, device=device)
    want = warpkit.reduce(a, op, axis, device="cpu", where=where)
    got = warpkit.reduce(there, op, axis, where=mask)
    for one, other in zip(got, want, strict=True) if isinstance(op, tuple) else [(got, want)]:
        assert_same(one.numpy(), np.asarray(other))


def elements(dtype):
    """So many that several blocks fold an output, in tiles that are not all whole."""
    return max([20_003, *sizes(400_003)]) * 4 // np.dtype(dtype).itemsize


@pytest.fixture
def gpu(device):
    if device == "cpu":
        pytest.skip("has no grid")
    return device


@pytest.mark.parametrize(("dtype", "n"), [("int32", 16), ("float32", 33), ("float64", 25)])
def test_rows_that_come_while_others_are_folded(gpu, dtype, n):
    """So many that each warp has some after others, in the same memory."""
    a = values(dtype, (40_000 if gpu == "emu" else 1_200_000, n))
    check_there(gpu, a, "sum", 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_rows_that_wait_to_be_finished_together(gpu, dtype):
    """Of a warp, some by integers; the last of them are fewer."""
    n = 1200 // np.dtype(dtype).itemsize
    for rows in (3, 431, *([] if gpu == "emu" else [13_001])):
        a = wide(dtype, (rows, n))
        for op in (
            "sum",
            "norm",
            "var",
            *([] if a.dtype.kind == "c" else [("min", "mean", "std")]),
        ):
            check_there(gpu, a, op, 1)
            check_there(gpu, a[:, 1:], op, 1)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_rows_of_which_a_warp_has_as_many_as_others(gpu, dtype):
    """Each begins at another tile; of equal elements the first is found nevertheless."""
    n = 5 * 2048 // np.dtype(dtype).itemsize
    for rows in (23, 101, 179, *([] if gpu == "emu" else [4099, 9001])):
        a = wide(dtype, (rows, n + 3))
        ties = (np.arange(a.size).reshape(a.shape) % 64).astype(dtype)
        for some in (slice(n), slice(1, None)):
            check_there(gpu, a[:, some], "sum", 1)
            check_there(gpu, a[:, some], "max", 1)
            check_there(gpu, ties[:, some], "argmax", 1)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_rows_of_which_a_warp_has_four_side_by_side(gpu, dtype):
    """Short ones, some of them by integers; their ends fill no vectors of all lanes."""
    for n in (1200, 4080):
        a = wide(dtype, (1603 if gpu == "emu" else 13_001, n // np.dtype(dtype).itemsize))
        for op in ("sum", "norm", "max", "argmax"):
            check_there(gpu, a, op, 1)
            check_there(gpu, a[::-1], op, 1)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("n", [1, 3, 7, 8, 13, 16, 24, 31, 68, 127, 132, 255, 300, 1009])
def test_rows_of_any_length_that_begin_anywhere(gpu, dtype, n):
    """Of a thread, some threads, a quarter of a warp or a warp; few are whole vectors."""
    rows = 211 if gpu == "emu" else 7_001
    a = wide(dtype, (rows + 1, n)).ravel()
    there = warpkit.asarray(a, device=gpu)
    for first in sorted({0, 1, n // 2, n}):
        host, here = (x[first : first + rows * n].reshape(rows, n) for x in (a, there))
        for some in (slice(None), slice(1, None)):
            if n == 1 and some.start:
                continue
            for op in ("sum", "max", "argmax", "var"):
                if op in ("max", "argmax") and a.dtype.kind == "c":
                    continue
                got = warpkit.reduce(here[:, some], op, 1)
                assert_same(got.numpy(), warpkit.reduce(host[:, some], op, 1, device="cpu"))


# Views of arrays of that shape, and axes: none of their elements lie side by side for long.
APART = {
    "rows with gaps": ((3001, 30), lambda x: x[:, 1:], 1),
    "rows of planes": ((40, 61, 30), lambda x: x[:, 1:, 1:], 2),
    "every other element": ((3000, 60), lambda x: x[:, ::2], 1),
    "boxes": ((29, 41, 90), lambda x: x[1:, 1:, :-1], (0, 2)),
    "a box": ((29, 41, 90), lambda x: x[1:, 1:, :-1], None),
    "planes of columns": ((60, 3, 7, 90), lambda x: x, (0, 2)),
    "turned rows": ((130, 31, 29), lambda x: x.transpose(2, 0, 1), (0, 1)),
    "outputs turned": ((300, 12, 44), lambda x: x.transpose(0, 2, 1), 0),
    "outputs turned, of boxes": (
        (40, 12, 9, 44),
        lambda x: x[:, 1:, 1:].transpose(3, 1, 2, 0),
        (2, 3),
    ),
    "backwards": ((3000, 60), lambda x: x[::-1, ::-2], 1),
    "outputs between others": ((3000, 301), lambda x: x[:, ::3], 0),
    "outputs between others, backwards": ((1000, 602), lambda x: x[:, ::-2], 0),
    "outputs of planes, backwards": ((21, 100, 161), lambda x: x[:, :, ::-1], 1),
}


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("case", APART)
def test_elements_that_lie_apart_are_brought_together_first(gpu, dtype, case):
    shape, view, axis = APART[case]
    if gpu != "emu":
        shape = (shape[0] * 40, *shape[1:])
    a = values(dtype, shape)
    host, there = view(a), view(warpkit.asarray(a, device=gpu))
    complex_one = a.dtype.kind == "c"
    told = warpkit.explain("reduce", there, "sum", axis)
    assert complex_one or ("turned at last" if "outputs" in case else "copied first") in told
    if complex_one and "outputs" in case and "boxes" not in case:
        assert "turned at last" in warpkit.explain("reduce", there, "norm", axis)
    several = ("var", "mean") if complex_one else ("min", "max", "mean", "std")
    for op in ("sum", "norm", "nanmean", several, *([] if complex_one else ["argmax"])):
        if op == "argmax" and isinstance(axis, tuple):
            continue
        got = warpkit.reduce(there, op, axis)
        want = warpkit.reduce(host, op, axis, device="cpu")
        for one, other in zip(got, want, strict=True) if isinstance(op, tuple) else [(got, want)]:
            assert_same(one.numpy(), np.asarray(other))


@pytest.mark.parametrize("axis", [0, 1, (0, 2)])
def test_elements_side_by_side_are_folded_where_they_lie(gpu, axis):
    there = warpkit.asarray(values("float32", (40 if gpu == "emu" else 1600, 50, 1000)), device=gpu)
    for some in (slice(None), slice(10), slice(3)):
        told = warpkit.explain("reduce", there[some], "sum", axis)
        assert "turned" not in told
        assert "copied" not in told


def test_much_is_brought_together_by_parts(gpu):
    a = values("float32", (1500 if gpu == "emu" else 50_000, 130, 31))
    there = warpkit.asarray(a, device=gpu)
    for turn in ((0, 1, 2), (0, 2, 1)):
        host, here = a.transpose(turn)[:, 1:], there.transpose(turn)[:, 1:]
        got = warpkit.reduce(here[..., ::2], "max", 2)
        assert_same(got.numpy(), host[..., ::2].max(2))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_columns_so_many_that_threads_have_more_rows(gpu, dtype):
    a = wide(dtype, (100, 9_001 if gpu == "emu" else 90_001))
    for op in ("sum", "norm"):
        check_there(gpu, a, op, 0)
        check_there(gpu, a[:67, 1:], op, 0)


PLANES = [(7, 40, 33), (30, 100, 5), (3, 70, 200), (172, 300, 13), (2, 24, 700), (90, 18, 3)]


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64", "complex64"])
def test_threads_of_a_block_have_columns_of_several_planes(gpu, dtype):
    for outer, n, inner in PLANES:
        more = 1 if gpu == "emu" else max(1, 150_000 // (outer * inner))
        a = wide(dtype, (outer * more, n * inner)).reshape(-1, n, inner)
        for op in ("sum", "norm", "max", "argmax") if a.dtype.kind != "c" else ("sum", "var"):
            check_there(gpu, a, op, 1)
        check_there(gpu, a[:, :, 1:], "sum", 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [20, 70])
def test_columns_that_are_told_by_a_warp(gpu, dtype, n):
    """Few of a warp's are far from zero, or ties, or all of another's; others are neither."""
    outputs = 4_100 if gpu == "emu" else 420_000
    a = values(dtype, (n, outputs)) / 64
    far = 2.0 ** (4 if dtype == "float16" else np.finfo(dtype).nmant - 4)
    a[:, 3] += far
    a[:, 900:1200] += far
    a[:, 1500:1510] = 0
    a[0, 1502], a[1, 1505] = 33, 2.0 ** (np.finfo(dtype).nmant // 2 + 1) + 1  # its square is a tie
    a[:, 1508] = 7
    a[n - 1, -1] += far
    for op in ("var", "std", "norm", "sumsq"):
        check_there(gpu, a.astype(dtype), op, 0)
        check_there(gpu, a.astype(dtype)[:, 1:], op, 0)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64", "complex64"])
def test_parts_of_an_output(gpu, dtype):
    a = values(dtype, elements(dtype))
    for op in ("sum", "var") if a.dtype.kind == "c" else ("sum", "max", "argmax", "var"):
        check_there(gpu, a, op)
        check_there(gpu, a[3:-5], op)
        check_there(gpu, a[1::2], op)
    rows = a[: len(a) // 16 * 16].reshape(-1, 16)
    check_there(gpu, rows, "sum", 0)
    if a.dtype.kind != "c":
        check_there(gpu, rows[5:], "max", 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_parts_that_do_not_fit(gpu, dtype):
    n = elements(dtype) // 16 * 16
    a = values(dtype, n)
    real = np.finfo(dtype)
    for at in (0, n // 3, n - 1):
        for far in (real.max / 4, real.smallest_subnormal, np.inf):
            b = a.copy()
            b[at] = far
            check_there(gpu, b, "sum")
            check_there(gpu, b[1:], "sum")
            check_there(gpu, b.reshape(-1, 16), "sum", 0)
    if a.dtype.kind == "f":
        exponents = np.random.default_rng(1).integers(-60, 60, n)
        for op in ("sum", "var", ("min", "mean", "count_nonzero")):
            check_far(gpu, np.ldexp(a, exponents).astype(dtype), op)


def check_far(device, a, op):
    """All of it, from any start, and what a mask leaves."""
    for b in (a, a[1:], a[3::2]):
        there = warpkit.asarray(b, device=device)
        want = warpkit.reduce(b, op, device="cpu")
        have = warpkit.reduce(there, op)
        for x, y in zip(np.atleast_1d(want), np.atleast_1d(have), strict=True):
            assert_same(np.asarray(y.numpy() if hasattr(y, "numpy") else y), np.asarray(x))


@pytest.mark.parametrize("run", [16, 20, 64, 96, 128, 260])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_short_runs_share_a_tile(gpu, dtype, run):
    a = values(dtype, 37 * 5 * run).reshape(37, 5, run)
    for op in ("sum", "max", "var"):
        check_there(gpu, a, op, (0, 2))
    check_there(gpu, wide(dtype, (37, 5 * run)).reshape(37, 5, run), "sum", (0, 2))


def levels(dtype, blocks):
    """Blocks of one magnitude each, 60 binades apart: all cancel but the least. Each fits a batch,
    but no two or three doubles hold all of them, as a thread meets them."""
    far = 2.0 ** (60 * np.array([2, 1, 0, -1, 2, 1, 0]))
    signs = np.array([1, 1, 1, 1, -1, -1, -1])
    return (blocks * (far * signs)[:, None]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_batches_that_are_far_apart(gpu, dtype):
    rng = np.random.default_rng(3)
    for block in (8, 16, 256, 512, 1024, 4096):
        a = levels(dtype, np.broadcast_to(rng.integers(1, 9, block), (7, block))).ravel()
        for op in ("sum", "mean"):
            check_there(gpu, a, op)
            check_there(gpu, np.stack([a] * 40), op, 1)
            check_there(gpu, np.stack([a] * 3, 1), op, 0)
            check_there(gpu, np.stack([a] * 600, 1)[: 7 * 16], op, 0)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", sizes((6_003, 2), (6_001, 3), (9_007, 33), (2_001, 128)), ids=str)
def test_narrow_matrices(gpu, dtype, shape):
    """Several rows are read as one; the last of them fill no load."""
    a = values(dtype, shape)
    for op in ("sum", "var") if a.dtype.kind == "c" else ("sum", "argmax", "var"):
        check_there(gpu, a, op, 0)
        check_there(gpu, a[1:], op, 0)


FEW_ROWS = [(1, 700), (2, 804), (3, 1_028), (3, 2_051), (4, 999), (16, 1_101), (17, 333)]


@pytest.mark.parametrize(
    "dtype", ["int8", "float16", "bfloat16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("shape", sizes(*FEW_ROWS), ids=str)
def test_few_rows(device, sums, dtype, shape):
    """A thread has all of its columns, side by side where these are one load; those that doubles do
    not tell are marked."""
    a = values(dtype, shape)
    ops = ["sum", "mean", "var", "norm"]
    if a.dtype.kind != "c":
        ops += [("min", "max", "mean", "std"), "argmax", "argmin"]
    for op in ops:
        check_there(device, a, op, 0)
        check_there(device, a[:, 1:], op, 0)
    for op in (
        ("sum", "norm", ("sum", "std"), ("min", "sum", "mean"))
        if dtype in ("float32", "float64")
        else ()
    ):
        check_there(device, wide(dtype, shape), op, 0)


def far_apart(kind, shape, seed=0):
    """Float64 of which doubles do not take some, or not their squares."""
    rng = np.random.default_rng(seed)
    least, most = {"any": (-1020, 1020), "large": (950, 1022), "small": (-1070, -480)}.get(
        kind, (-1000, 1000)
    )
    if kind == "alike":  # those of a row or a column, nearly
        exponents = rng.integers(least, most, (*shape[:-1], 1)) + rng.integers(-20, 20, shape)
    else:
        exponents = rng.integers(least, most, shape)
    a = np.ldexp(rng.normal(size=shape), exponents)
    if kind == "odd":
        a.flat[rng.integers(0, a.size, 40)] = np.resize([np.inf, np.nan, -np.inf, -0.0], 40)
    return a


FAR = [((700, 16), 1), ((16, 700), 0), ((1500, 2), 1), ((40, 600), 1), ((2000, 65), 0)]
FAR += [((900, 33), 1), ((3, 40_000), 1), ((300, 700), 0), ((3000, 3), 0), ((9, 50, 40), (0, 2))]


@pytest.mark.parametrize(("shape", "axis"), FAR, ids=str)
@pytest.mark.parametrize("kind", ["any", "large", "small", "alike", "odd"])
def test_float64_that_is_folded_over_a_power_of_two(gpu, kind, shape, axis):
    a = far_apart(kind, shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for op in ("sum", "mean", "norm", "var", "std", ("max", "sum", "std", "any")):
            check_there(gpu, a, op, axis)
        for op in ("sum", "var"):
            check_there(gpu, a + 1j * far_apart(kind, shape, 1), op, axis)
    some = np.random.default_rng(1).random(shape) < 0.8
    check(gpu, a, axis, where=some)


@pytest.mark.parametrize("n", [4, 30, 600, 40_003])
def test_what_is_lost_over_a_power_of_two(gpu, n):
    """The large ones cancel, and what is left has digits that were below all that was kept."""
    for left, below in ((-250, -302), (100, 48), (400, 348)):
        a = np.zeros((3, n))
        a[:, :4] = np.ldexp([1.0, -1, 1, 1], [1000, 1000, left, below])
        for op in ("sum", "mean"):
            check_there(gpu, a, op, 1)
            check_there(gpu, np.ascontiguousarray(a.T), op, 0)
            check_there(gpu, a[0], op)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_ties_of_few_numbers_of_few_digits(gpu, dtype):
    """Pairs of small numbers, and some with others: what is halved or squared is a tie, often."""
    few = np.concatenate([np.arange(40), np.arange(120, 140), np.arange(1000, 1024)])
    pairs = np.stack(np.meshgrid(few, -few[::-1])).reshape(2, -1).astype(dtype)
    rng = np.random.default_rng(4)
    seven = rng.normal(size=(7, 9000)).astype("float32").astype(dtype)
    for a in (pairs, np.concatenate([pairs, pairs[:, ::-1]]), np.repeat(pairs, 8, 0), seven):
        for op in ("sum", "mean", "norm", "var", "std", ("min", "mean", "std")):
            check_there(gpu, a, op, 0)
            check_there(gpu, np.ascontiguousarray(a.T), op, 1)


SHORT_INTEGERS = ["int8", "uint8", "int16", "uint16"]
LONG_INTEGERS = ["int32", "uint32", "int64", "uint64"]


def some_integers(dtype, kind, n):
    """Integers whose sums and squares doubles hold, or do not; many of these are ties."""
    rng = np.random.default_rng(5)
    info = np.iinfo(dtype)
    if kind == "any":
        return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    if kind == "ends":
        near = [info.min, info.min + 1, 0, 1, info.max - 1, info.max]
        return rng.choice(np.array(near, dtype), n)
    if kind == "powers":
        return (np.uint64(1) << rng.integers(0, info.bits - 1, n).astype(np.uint64)).astype(dtype)
    least = max(-9, info.min) if kind == "small" else info.max // 2
    return (rng.integers(0, 2 if kind == "near" else 18, n) + least).astype(dtype)


@pytest.mark.parametrize("dtype", SHORT_INTEGERS + LONG_INTEGERS)
@pytest.mark.parametrize("kind", ["any", "ends", "powers", "small", "near"])
def test_few_integers(gpu, dtype, kind):
    """Up to four are finished in doubles, without an accumulator."""
    for n in (1, 2, 3, 4, 5):
        a = some_integers(dtype, kind, n * 517).reshape(n, 517)
        for op in ("mean", "var", "std", "norm"):
            check_there(gpu, a, op, 0)
            check_there(gpu, a[:, 1:], op, 0)
            check_there(gpu, np.ascontiguousarray(a.T), op, 1)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_the_first_of_elements_that_rank_as_fillers_do(gpu, dtype):
    info = np.iinfo(dtype)
    for n in (1, 33, 700, 9_001):
        for op, value in (("argmin", info.max), ("argmax", info.min)):
            a = np.full(n + 3, value, dtype)
            for part in (a, a[1:], a[::2]):
                check_there(gpu, part, op)
            check_there(gpu, np.stack([a] * 3)[:, 1:], op, 1)
            check_there(gpu, np.stack([a] * 3), op, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_results_of_few_that_are_ties(device, sums, dtype):
    """Neighbours, whose mean lies half-way between two numbers, and half of whose distance may."""
    dtype = values(dtype, 1).dtype
    base = np.arange(1, 257)
    for rows in ([base, base + 1], [base, base, base + 1, base + 1], [base, base + 2, base + 1]):
        a = (np.array(rows) / 256).astype(dtype) + np.array(1, dtype)
        for op in ("mean", "std", ("mean", "std"), ("min", "max", "mean", "std")):
            check_there(device, a, op, 0)
            check_there(device, np.ascontiguousarray(a.T), op, 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(40, 16), (16, 40), (3, 700), (300, 3)], ids=str)
def test_equal_elements_have_no_variance(gpu, dtype, shape):
    a = np.full(shape, 0.1, dtype)
    for axis in (None, 0, 1):
        for op in ("var", "std", "mean"):
            check_there(gpu, a, op, axis)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("spread", [10, 25, 30, 60, 100])
def test_what_a_batch_loses_changes_no_result(gpu, dtype, spread):
    """Of all widths of the exponents' range, and where the largest cancel."""
    rng = np.random.default_rng(spread)
    most = 5 if dtype == "float16" else min(spread, 120) // 2
    for n in (16, 33, 1_000, 9_000):
        x = np.ldexp(rng.normal(size=n), rng.integers(-most, most + 1, n))
        for a in (x, np.concatenate([x, -x, [1.5]])[rng.permutation(2 * n + 1)]):
            a = a.astype(values(dtype, 1).dtype)
            for op in ("sum", "mean", "norm", "var"):
                check_there(gpu, a, op)
                check_there(gpu, np.stack([a] * 40), op, 1)
                check_there(gpu, np.stack([a] * 33, 1), op, 0)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_squares_in_any_order_decide_a_tie(gpu, dtype):
    """1 and half a unit, in any order, and what lies far below or nothing; their negatives too.
    They are as far apart as a thread's elements may be."""
    rng = np.random.default_rng(7)
    for n in (64, 128, 1024):
        a = np.zeros((n, 64), dtype)
        for c, column in enumerate(a.T):
            some = [1, 2.0**-27, 2.0**-27, *2.0 ** -rng.integers(30, 300, rng.integers(2))]
            some = np.ldexp([*some, *np.negative(some)], rng.integers(-100, 100))
            if c % 3:
                rng.shuffle(some)
            else:
                some = sorted(some, key=abs)
            step = 2 ** (c % n.bit_length() // 2)
            column[(rng.integers(n) + step * np.arange(len(some))) % n] = some
        for op in ("sumsq", "var", ("sum", "sumsq"), ("min", "max", "mean", "var")):
            check_there(gpu, a, op, 0)
            check_there(gpu, np.ascontiguousarray(a.T), op, 1)
            check_there(gpu, a[:, 0].copy(), op)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex64", "complex128"])
def test_elements_along_several_axes(gpu, dtype):
    """They lie apart along each, so that no two are one; of some complex numbers a part is NaN."""
    a = values(dtype, (40, 5, 33, 8))
    some = np.random.default_rng(3).random(a.shape) < 0.6
    if np.dtype(dtype).kind == "c":
        a.imag[::2, 1::3] = np.nan
    there, where = (warpkit.asarray(x, device=gpu) for x in (a, some))
    cut = slice(None), slice(None, None, 2), slice(None, None, 3), slice(None, None, 2)
    for op in ("sum", "var", "nansum"):
        for axis in ((0, 1, 3), (1, 2, 3), (0, 2), None):
            want = warpkit.reduce(a[cut], op, axis, device="cpu")
            assert_same(warpkit.reduce(there[cut], op, axis).numpy(), np.asarray(want))
            want = warpkit.reduce(a[cut], op, axis, device="cpu", where=some[cut])
            have = warpkit.reduce(there[cut], op, axis, where=where[cut])
            assert_same(have.numpy(), np.asarray(want))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "float64", "complex64"])
def test_few_of_which_some_are_masked(gpu, dtype, n):
    a = values(dtype, (n, 5, 131))
    some = np.random.default_rng(n).random(a.shape) < 0.6
    some[:, 0] = np.arange(131) % 2  # none, or all
    for op in ("sum", "mean", "var", "norm", "any", "nansum"):
        check_there(gpu, a, op, 0, some)
        check_there(gpu, a.T.copy(), op, 2, some.T.copy())
    if a.dtype.kind == "f":
        far = a.astype(np.float64) * 1e200 ** (np.arange(n) % 2)[:, None, None]  # takes integers
        check_there(gpu, far, "var", 0, some)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
def test_masks_of_more_outputs_than_threads(device, dtype):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 100, (40, 70_000 if device == "cuda" else 3000)).astype(dtype)
    mask = rng.random(a.shape) < 0.5
    for view, where, axis in ((a, mask, 0), (a.T.copy(), mask.T.copy(), 1)):
        got = warpkit.reduce(view, "sum", axis, where=where, device=device)
        assert_same(got, np.sum(view, axis, where=where))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 700), (100, 90), (900, 3), (2, 40_001), (4, 50)])
def test_either_part_of_a_complex_number_leaves_out_both(gpu, dtype, shape):
    rng = np.random.default_rng(3)
    a = rng.integers(0, 100, (2, *shape)).astype(np.dtype(dtype).type(0).real.dtype)
    a[rng.random(a.shape) < 0.2] = np.nan
    numbers = np.empty(shape, dtype)
    numbers.real, numbers.imag = a
    for axis in (0, 1, None):
        check_there(gpu, numbers, "nansum", axis)
        assert_same(warpkit.reduce(numbers, "nansum", axis, device=gpu), np.nansum(numbers, axis))


def test_a_mean_of_zeros_of_either_sign(device, sums):
    for zeros, want in (([-0.0, 0.0, 0.0], 0.0), ([-0.0, -0.0], -0.0)):
        a = np.tile(np.array(zeros)[:, None], (1, 50))
        for axis, one in ((0, a), (1, a.T.copy())):
            assert_same(warpkit.reduce(one, "mean", axis, device=device), np.full(50, want))
