"""warpkit.warp: every row on every device against a Python oracle, and what books print."""

import helpers
import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, COMPLEX, INTEGERS, REALS, assert_same, poison, raw_bits, values
from warpkit import reference, warp

WIDTHS = (2, 4, 8, 16, 32)
OPS = ("sum", "min", "max", "and", "or", "xor")
LANES = np.arange(16, dtype=np.int32)
NARROW = [dtype for dtype in ALL_DTYPES if dtype != "complex128"]
FOLDED = [dtype for dtype in NARROW if dtype != "complex64"]
SHAPES = [(1,), (31,), (32,), (33,), (100,), (3, 40), (2, 3, 5), (2, 0), (0, 7)]


def over(op):
    return pytest.mark.parametrize("row", helpers.rows(op), ids=str)


def run(row, function, *args, **kwargs):
    return getattr(warp, function)(*args, device=row.device, variant=row.name, **kwargs)


def placed(a, row):
    """Where the row runs, if that has memory of its own."""
    return a if row.device == "cpu" else warpkit.asarray(a, device=row.device)


def check(got, want):
    poison(want)
    got = got.numpy() if isinstance(got, warpkit.DeviceArray) else got
    assert_same(got, np.ascontiguousarray(want))


# ---- what books print --------------------------------------------------------------------------

PRINTED = [
    ("broadcast", (2,), [2] * 16),
    ("shfl_up", (2,), [0, 1, *range(14)]),
    ("shfl_down", (2,), [*range(2, 16), 14, 15]),
    ("rotate", (2,), [*range(2, 16), 0, 1]),
    ("rotate", (-2,), [14, 15, *range(14)]),
    ("shfl_xor", (1,), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]),
    ("shfl_xor_array", (1, 4), [4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11]),
    ("swap", (1, 0, 3), [7, 1, 2, 3, 4, 5, 6, 0, 15, 9, 10, 11, 12, 13, 14, 8]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "printed"), PRINTED)
def test_the_outputs_of_the_literature(device, function, args, printed):
    width = {} if "array" in function or function == "swap" else {"width": 16}
    got = getattr(warp, function)(LANES, *args, device=device, **width)
    assert_same(got, np.array(printed, np.int32))


# ---- shuffles ----------------------------------------------------------------------------------


@over("shfl")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64"])
def test_every_distance_and_mask(row, width, dtype):
    a = values(dtype, (2, 77))
    sources = np.random.default_rng(width).integers(-100, 100, a.shape)
    check(run(row, "shfl", a, sources, width=width), reference.shuffle(a, "idx", sources, width))
    for operand in range(-40, 70):
        want = reference.shuffle(a, "rotate", operand, width)
        check(run(row, "rotate", a, operand, width=width), want)
        want = reference.shuffle(a, "idx", operand, width)
        check(run(row, "shfl", a, operand, width=width), want)
        check(run(row, "broadcast", a, operand, width=width), want)
        for kind in ("up", "down"):
            if operand >= 0:
                want = reference.shuffle(a, kind, operand, width)
                check(run(row, f"shfl_{kind}", a, operand, width=width), want)
        if 0 <= operand < 32:
            want = reference.shuffle(a, "xor", operand, width)
            check(run(row, "shfl_xor", a, operand, width=width), want)


@over("shfl")
@pytest.mark.parametrize("dtype", NARROW)
def test_any_dtype_and_shape_is_shuffled(row, dtype):
    for shape in SHAPES:
        a = bits(dtype, shape)
        for kind, operand in (("up", 3), ("down", 17), ("xor", 5), ("idx", 9)):
            name = "shfl" if kind == "idx" else f"shfl_{kind}"
            check(run(row, name, a, operand), reference.shuffle(a, kind, operand))
        sources = np.random.default_rng(1).integers(-50, 50, shape)
        check(run(row, "shfl", a, sources, width=8), reference.shuffle(a, "idx", sources, 8))


@over("shfl")
def test_views_are_shuffled_in_their_own_order(row):
    a = values("float64", (6, 100, 5))
    for view in (a[::2, ::-3], a.T, a[:, :, 2], np.broadcast_to(a[0, 0], (40, 5))):
        check(run(row, "rotate", view, 1), reference.shuffle(np.array(view), "rotate", 1))


@over("shfl")
def test_device_arrays_are_shuffled_where_they_lie(row):
    if row.device == "cpu":
        pytest.skip("arrays of the host")
    a = values("float32", (6, 100))
    there, sources = warpkit.asarray(a, device=row.device), np.arange(600).reshape(6, 100)[::-1]
    for view in (np.s_[:], np.s_[::2, ::-3], np.s_[1:, 7]):
        for src in (9, sources[view]):
            got = warp.shfl(there[view], src, variant=row.name)
            assert isinstance(got, warpkit.DeviceArray)
            check(got, reference.shuffle(a[view], "idx", src))


# ---- votes and matches -------------------------------------------------------------------------


@over("vote")
@pytest.mark.parametrize("dtype", NARROW)
def test_votes_are_those_of_the_lanes_that_are_there(row, dtype):
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        for share in (0.0, 0.05, 0.5, 1.0):
            a = np.where(rng.random(shape) < share, 3, -0.0).astype(dtype)
            for kind in ("ballot", "any", "all"):
                check(run(row, kind, a), reference.vote(a, kind))


@over("match")
@pytest.mark.parametrize("dtype", NARROW)
def test_matches_compare_bits(row, dtype):
    for shape in SHAPES:
        for a in (values(dtype, shape), helpers.few_values(dtype, shape), np.ones(shape, dtype)):
            for kind in ("match_any", "match_all"):
                check(run(row, kind, a), reference.match(a, kind))
    a = np.array([0.0, -0.0, np.nan, np.nan, 1.0])
    check(run(row, "match_any", a), reference.match(a, "match_any"))


# ---- folds -------------------------------------------------------------------------------------


def folded_by(row, width, dtype, op):
    """Does the row fold such a thing?"""
    if dtype in REALS and op in ("and", "or", "xor"):
        return False
    return dtype in row.dtypes and (row.name != "redux" or width == 32)


def bits(dtype, shape):
    """Any that numbers of the dtype may have."""
    return raw_bits(dtype, shape) if dtype != "bool" else values(dtype, shape)


def numbers(dtype, shape):
    """Floats with both zeros and an odd NaN; any integers."""
    if dtype not in helpers.FLOATS:
        return bits(dtype, shape)
    a = values(dtype, shape)
    flat = a.reshape(-1)
    flat[::7], flat[3::11] = -0.0, 0.0
    words = flat.view(f"u{a.itemsize}")
    words[64:65] = words[90:91] = ODD_NAN[dtype]  # a first lane's too
    return a


# As bits, NaN that signals; no operation gives it.
ODD_NAN = {
    "float16": 0x7C55, "bfloat16": 0x7F85, "float32": 0x7F855555, "float64": 0x7FF0555555555555,
}  # fmt: skip


@over("warp_reduce")
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", FOLDED)
def test_folds_are_the_trees(row, dtype, op):
    for width in filter(lambda width: folded_by(row, width, dtype, op), WIDTHS):
        for shape in SHAPES:
            a = numbers(dtype, shape)
            want = reference.warp_reduce(a, op, width, down=row.name == "down")
            check(run(row, "reduce", a, op, width=width), want)
            check(run(row, "reduce", placed(a, row), op, width=width), want)
            if row.name == "down":
                first = np.arange(shape[-1]) % width == 0
                all_lanes = reference.warp_reduce(a, op, width)
                assert want[..., first].tobytes() == all_lanes[..., first].tobytes()


@over("warp_scan")
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", FOLDED)
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_fold_what_stands_before(row, dtype, op, exclusive):
    for width in filter(lambda width: folded_by(row, width, dtype, op), WIDTHS):
        for shape in SHAPES:
            a = numbers(dtype, shape)
            want = reference.warp_scan(a, op, exclusive, width)
            check(run(row, "scan", a, op, width=width, exclusive=exclusive), want)
            check(run(row, "scan", placed(a, row), op, width=width, exclusive=exclusive), want)


def test_whole_numbers_are_numpys(device):
    a = values("int32", 320).reshape(10, 32) % 1000
    sums = np.repeat(a.sum(1, dtype=np.int32), 32).reshape(a.shape)
    assert_same(warp.reduce(a, device=device), sums)
    assert_same(warp.scan(a, device=device), np.cumsum(a, 1, dtype=np.int32))


# ---- bits --------------------------------------------------------------------------------------


@over("lane_bits")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_are_counted(row, dtype):
    for shape in SHAPES:
        a = bits(dtype, shape)
        check(run(row, "popc", a), reference.popc(a))


@over("lane_bits")
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_the_nth_bit_is_found(row, dtype):
    masks = np.append(raw_bits(dtype, 40), np.array([0, 1, 2**31, 2**32 - 1], "u4").view(dtype))
    for base in range(32):
        for offset in (*range(-5, 6), -32, 32, -33, 33, 10**9):
            check(run(row, "fns", masks, base, offset), reference.fns(masks, base, offset))


# ---- arrays of lanes ---------------------------------------------------------------------------


@over("lane_arrays")
@pytest.mark.parametrize("elements", [2, 4, 8, 16])
@pytest.mark.parametrize("width", WIDTHS)
def test_arrays_change_lanes(row, elements, width):
    for lanes in (1, 7, 32, 45):
        a = values("int32", (2, lanes * elements))
        for mask in range(32):
            want = reference.exchange_arrays(a, mask, elements, None, width)
            check(run(row, "shfl_xor_array", a, mask, elements, width=width), want)
            if mask >= width:
                continue
            ends = mask % elements, (mask * 3 + 1) % elements
            for pair in (ends, ends[::-1]):
                want = reference.exchange_arrays(a, mask, elements, pair, width)
                check(run(row, "swap", a, mask, *pair, elements, width=width), want)


@over("lane_arrays")
@pytest.mark.parametrize("dtype", NARROW)
def test_arrays_of_any_dtype_change_lanes(row, dtype):
    a = values(dtype, (3, 48))
    check(run(row, "shfl_xor_array", a, 3), reference.exchange_arrays(a, 3, 4))
    check(run(row, "swap", a, 3, 1, 2), reference.exchange_arrays(a, 3, 4, (1, 2)))


# ---- more warps than a grid has, and than one thread of the CPU takes ---------------------------

LANE = np.arange(32, dtype=np.uint32)
MANY = {  # of warps of 0 to 3: a function, its arguments, NumPy's way
    "shfl": ("rotate", (1,), lambda w: np.roll(w, -1, 1)),
    "vote": ("ballot", (), lambda w: ((w != 0) << LANE).sum(1, "u4", keepdims=True)),
    "match": ("match_any", (), lambda w: ((w[:, :, None] == w[:, None]) << LANE).sum(2, "u4")),
    "warp_reduce": ("reduce", (), lambda w: w.sum(1, "i4", keepdims=True)),
    "warp_scan": ("scan", (), lambda w: w.cumsum(1, "i4")),
    "lane_bits": ("popc", (), lambda w: np.array([0, 1, 1, 2], "i4")[w]),
    "lane_arrays": ("shfl_xor_array", (1, 2), lambda w: w.reshape(-1, 2, 2)[:, ::-1]),
}


@pytest.mark.parametrize("row", [row for op in MANY for row in helpers.rows(op)], ids=str)
def test_warps_of_large_arrays(row):
    n = 1 << (21 if row.device.startswith("cuda") else 18)  # nor is it small on its way there
    a = np.random.default_rng(2).integers(0, 4, n, dtype=np.int32)
    function, args, numpys = MANY[row.op]
    want = numpys(a.reshape(-1, 32))
    want = np.broadcast_to(want, (n // 32, 32)) if want.shape[1] == 1 else want.reshape(-1, 32)
    got = run(row, function, a, *args)
    if row.name == "down":
        got, want = got[::32].copy(), want[:, 0]  # the others hold what its steps leave
    assert_same(got, np.ascontiguousarray(want).reshape(-1))


# ---- what is refused ---------------------------------------------------------------------------

REFUSED = [
    (lambda d: warp.shfl(1.0, 0, device=d), ValueError, "no axis"),
    (lambda d: warp.shfl(LANES, 0, width=3, device=d), ValueError, "width must be"),
    (lambda d: warp.shfl(LANES, [0, 1], device=d), ValueError, "shape"),
    (lambda d: warp.shfl(LANES, LANES * 0.5, device=d), TypeError, "integers"),
    (lambda d: warp.shfl_up(LANES, -1, device=d), ValueError, "negative"),
    (lambda d: warp.shfl_xor(LANES, 32, device=d), ValueError, "0 to 31"),
    (lambda d: warp.shfl_xor(LANES, 1.5, device=d), TypeError, "integer"),
    (lambda d: warp.swap(LANES, 1, 4, 0, device=d), ValueError, "first must be"),
    (lambda d: warp.swap(LANES, 4, 0, 0, width=4, device=d), ValueError, "share a segment"),
    (lambda d: warp.shfl_xor_array(LANES[:6], 1, device=d), ValueError, "no multiple of 4"),
    (lambda d: warp.shfl_xor_array(LANES, 1, 3, device=d), ValueError, "elements must be"),
    (lambda d: warp.reduce(LANES, "mean", device=d), ValueError, "unknown op"),
    (lambda d: warp.reduce(LANES * 0.5, "xor", device=d), TypeError, "takes integers"),
    (lambda d: warp.reduce(LANES * 1j, device=d), TypeError, "complex128"),
    (lambda d: warp.fns(LANES.astype("i8"), device=d), TypeError, "int32 and uint32"),
    (lambda d: warp.fns(LANES, 32, device=d), ValueError, "base must be"),
    (lambda d: warp.popc(LANES * 0.5, device=d), TypeError, "float64"),
    (lambda d: warp.swap(LANES, 3, 0, 3, width=3, device=d), ValueError, "width must be"),
    (lambda d: warp.swap(LANES, 3, 0, 3, width="8", device=d), TypeError, "integer"),
    (lambda d: warp.ballot(LANES, width=8, device=d), TypeError, "no keyword width"),
    (lambda d: warp.ballot(LANES, variant="nonsense", device=d), ValueError, "nonsense"),
    *[(lambda d, t=t: warp.any(np.zeros(5, t), device=d), TypeError, t) for t in COMPLEX[1:]],
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_what_makes_no_sense_is_refused(device, call, error, words):
    with pytest.raises(error, match=words):
        call(device)
    assert_same(warp.broadcast(LANES, 3, device=device), np.full(16, 3, np.int32))


def test_operands_have_names(device):
    assert (warp.reduce(LANES, op="max", device=device) == 15).all()
    assert_same(warp.shfl(LANES, src_lane=3, width=4), warp.broadcast(LANES, lane=3, width=4))
    assert_same(warp.shfl_up(LANES, delta=3, device=device), warp.shfl_up(LANES, 3))
    assert_same(warp.shfl_xor(LANES, mask=3, device=device), warp.shfl_xor(LANES, 3))
    assert_same(warp.fns(LANES, base=1, offset=2, device=device), warp.fns(LANES, 1, 2))


def test_the_core_refuses_kinds_of_other_operations(device):
    options = (None, device, None, None, None)
    for op, kind in (("shfl", "ballot"), ("reduce", "sum"), ("smem_tile", "idx"), ("vote", "?")):
        with pytest.raises(ValueError, match="kind"):
            warpkit._core.lanes(op, kind, LANES, 32, 0, None, (0, 0, 0), *options)


def test_results_stay_where_the_array_is(device):
    if device == "cpu":
        pytest.skip("the CPU's arrays are NumPy's")
    there = warpkit.asarray(LANES, device=device)
    got = warp.rotate(there, 1)
    assert isinstance(got, warpkit.DeviceArray)
    assert_same(got.numpy(), reference.shuffle(LANES, "rotate", 1))
    out = np.zeros(16, np.int32)
    assert warp.rotate(LANES, 1, device=device, out=out) is out
    assert_same(out, reference.shuffle(LANES, "rotate", 1))
