"""The production transpose by each of its ways on a GPU, and what is made of transpose.

NumPy's own transposes are the oracle, bit for bit; outputs are poisoned first.
"""

import functools

import helpers
import numpy as np
import pytest
import warpkit
from helpers import allowed, assert_same, raw_bits, values
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = {1: "uint8", 2: "uint16", 4: "float32", 8: "float64", 16: "complex128"}
WHOLE = slice(None)


def on(device, a):
    return a if device == "cpu" else warpkit.asarray(a, device=device)


def check(device, a, view, axes):
    """Into an array that holds other bits; a view is taken of the device's own array."""
    want = np.ascontiguousarray(view(a).transpose(axes))
    wrong = np.full(want.nbytes, 0xA5, np.uint8).view(a.dtype).reshape(want.shape)
    out = on(device, wrong)
    there = view(on(device, a))
    got = warpkit.transpose(there, axes, out=out, device=device)
    assert got is out
    assert_same(np.asarray(got if device == "cpu" else got.numpy()), want)


def same(a):
    return a


# ---- ways --------------------------------------------------------------------------------------

# A shape, the axes, bytes of an element, a view, and the way that a GPU goes.
WAYS = {
    "a flat array": ((4999,), (0,), 4, same, "copy"),
    "axes that fuse": ((5, 7, 9), (0, 1, 2), 2, same, "copy"),
    "a plane of a flat array": ((4999,), (0,), 4, lambda a: a[3:], "copy"),
    "every other element": ((4999,), (0,), 4, lambda a: a[::2], "rows"),
    "backwards": ((61, 70), (0, 1), 1, lambda a: a[::-1, ::-1], "rows"),
    "rows that stay rows": ((9, 11, 40), (1, 0, 2), 4, same, "rows"),
    "odd rows that stay rows": ((9, 11, 35), (1, 0, 2), 1, same, "boxes"),
    "long rows": ((2, 3, 20_000), (1, 0, 2), 2, same, "rows"),
    "rows of a wider array": ((30, 40), (0, 1), 8, lambda a: a[:, :3], "rows"),
    "rows of a wider array of bytes": ((30, 40), (0, 1), 1, lambda a: a[:, :33], "boxes"),
    "runs beside each other on both sides": ((40, 50, 21), (1, 0, 2), 4, same, "rows"),
    "runs of several pieces, in pairs": ((30, 2, 263), (1, 0, 2), 4, same, "rows"),
    "runs of whole axes": ((30, 4, 3, 12), (2, 1, 0, 3), 4, same, "rows"),
    "runs of parts of axes": ((20, 7, 5, 11), (2, 1, 0, 3), 8, same, "rows"),
    "runs backwards": ((20, 30, 12), (1, 0, 2), 4, lambda a: a[:, ::-1, ::-1], "rows"),
    "five axes, the last stays": ((2, 3, 4, 5, 133), (3, 1, 0, 2, 4), 2, same, "rows"),
    "five axes, the last stays and is short": ((2, 3, 4, 5, 33), (3, 1, 0, 2, 4), 1, same, "boxes"),
    "3 x 3 matrices": ((400, 3, 3), (0, 2, 1), 4, same, "boxes"),
    "matrices of a batch in another order": ((7, 9, 3, 5), (1, 0, 3, 2), 2, same, "boxes"),
    "8 x 16 bytes": ((40, 8, 16), (0, 2, 1), 1, same, "boxes"),
    "32 x 32 matrices": ((5, 32, 32), (0, 2, 1), 4, same, "boxes"),
    "three axes inside": ((50, 2, 3, 4), (0, 3, 2, 1), 8, same, "boxes"),
    "3 x 4 parts of 4 x 4 matrices": (
        (700, 4, 4),
        (0, 2, 1),
        4,
        lambda a: a[:, :, :3],
        "boxes",
    ),
    "3 x 3 matrices upside down": ((400, 3, 3), (0, 2, 1), 8, lambda a: a[:, ::-1, ::-1], "boxes"),
    "small parts of a batch in another order": (
        (7, 90, 3, 5),
        (1, 0, 3, 2),
        1,
        lambda a: a[:, ::-1, :, 1:],
        "boxes",
    ),
    "some of 3 x 3 matrices": ((400, 3, 3), (0, 2, 1), 4, lambda a: a[::2], "boxes"),
    "aligned bytes": ((512, 768), (1, 0), 1, same, "aligned"),
    "aligned halves": ((512, 512), (1, 0), 2, same, "aligned"),
    "aligned words": ((256, 320), (1, 0), 4, same, "aligned"),
    "aligned words, not whole tiles": ((252, 316), (1, 0), 4, same, "aligned"),
    "doubles": ((128, 162), (1, 0), 8, same, "words"),
    "complex": ((123, 125), (1, 0), 16, same, "words"),
    "aligned doubles": ((1400, 32), (1, 0), 8, same, "aligned"),
    "aligned complex": ((31, 1401), (1, 0), 16, same, "aligned"),
    "aligned, in a batch": ((3, 64, 5, 128), (0, 2, 3, 1), 4, same, "aligned"),
    "aligned, upside down": ((256, 320), (1, 0), 4, lambda a: a[::-1], "aligned"),
    "pairs as elements": ((126, 156, 2), (1, 0, 2), 4, same, "aligned"),
    "pixels to channels, aligned": ((2, 40, 52, 3), (0, 3, 1, 2), 4, same, "short"),
    "channels to pixels, aligned": ((2, 3, 40, 56), (0, 2, 3, 1), 2, same, "short"),
    "some pixels to channels": ((4, 16, 48, 3), (0, 3, 1, 2), 1, lambda a: a[::2, 1:], "short"),
    "points": ((1000, 3), (1, 0), 4, same, "short"),
    "coordinates": ((3, 1000), (1, 0), 4, same, "short"),
    "real and imaginary parts": ((2, 24), (1, 0), 4, same, "boxes"),
    "a tall matrix": ((3001, 5), (1, 0), 4, same, "units"),
    "a tall matrix of bytes": ((3001, 7), (1, 0), 1, same, "boxes"),
    "a wide matrix": ((3, 3001), (1, 0), 8, same, "units"),
    "a wide matrix of halves": ((31, 301), (1, 0), 2, same, "boxes"),
    "a tall part": ((301, 40), (1, 0), 4, lambda a: a[1:, 3:10], "boxes"),
    "pixels of 3 bytes": ((70, 90, 3), (1, 0, 2), 1, same, "boxes"),
    "pixels of 12 bytes": ((40, 50, 3), (1, 0, 2), 4, same, "boxes"),
    "pixels of 24 bytes": ((40, 50, 3), (1, 0, 2), 8, same, "units"),
    "pixels of 6 bytes, one of four left out": (
        (40, 50, 4),
        (1, 0, 2),
        2,
        lambda a: a[:, :, :3],
        "boxes",
    ),
    "channels to pixels": ((3, 41, 51), (1, 2, 0), 1, same, "boxes"),
    "pixels to channels": ((2, 41, 51, 3), (0, 3, 1, 2), 4, same, "units"),
}
for n in (1, 2, 4):
    for k in range(2, 9):
        WAYS[f"{k} columns, {n} bytes"] = ((16 * 331, k), (1, 0), n, same, "short")
        WAYS[f"{k} rows, {n} bytes"] = ((k, 16 * 331), (1, 0), n, same, "short")
# Odd sizes, where tiles start anywhere: for each size of element, with and without windows.
for n in SIZES:
    odd = (600, 515) if n == 1 else (301, 403)
    WAYS[f"odd, {n} bytes"] = (odd, (1, 0), n, lambda a: a[1:, 1:], "words")
    WAYS[f"odd rows, {n} bytes"] = ((256, 301), (1, 0), n, lambda a: a[:, 1:], "words")
    WAYS[f"every other, {n} bytes"] = ((256, 301), (1, 0), n, lambda a: a[::-1, ::-2], "words")
    WAYS[f"two axes a side, {n} bytes"] = ((14, 16, 10, 12), (3, 2, 1, 0), n, same, "words")
    six = (5, 7, 3, 9, 5, 11), (5, 3, 1, 4, 0, 2), n
    WAYS[f"six axes, {n} bytes"] = (*six, same, "boxes")
    WAYS[f"six axes backwards, {n} bytes"] = (
        *six,
        lambda a: a[::-1, 1:, ::-1, :, ::2, 1:],
        "boxes",
    )
    WAYS[f"a small odd one, {n} bytes"] = ((97, 35), (1, 0), n, lambda a: a[:, ::-1], "words")


def plan(*args, **options):
    """What explain tells after where a transpose runs, and the bytes that it moves."""
    return warpkit.explain("transpose", *args, **options).split("\n", 2)[2]


@pytest.mark.parametrize("name", WAYS)
def test_every_way(device, name, setting):
    setting("WARPKIT_FEW", "0")
    shape, axes, size, view, way = WAYS[name]
    if not allowed(shape):
        pytest.skip("--small")
    a = raw_bits(SIZES[size], shape)
    check(device, a, view, axes)
    if device != "cpu":
        told = plan(view(on(device, a)), axes=axes, device=device)
        # Few rows or columns are units'; words have smaller tiles for many multiprocessors.
        others = {"words": ("units", "boxes") if "small" in name else (), "aligned": ("words",)}
        assert told.startswith((way, *others.get(way, ()))), told


# Rows of the input that share cache sets, some of them or none, in tiles that end anywhere.
@pytest.mark.large
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [16, 17, 33, 65, 129, 777])
@pytest.mark.parametrize("pitch", [16, 48, 256, 272, 512, 768, 1008, 1024, 4096, 4112])
def test_rows_any_number_of_bytes_apart(device, size, rows, pitch):
    a = raw_bits(SIZES[size], rows * pitch // size).reshape(rows, pitch // size)
    check(device, a, same, (1, 0))
    check(device, a, lambda a: a[:, 1:], (1, 0))


@pytest.mark.parametrize("size", SIZES)
def test_few_elements(device, size):
    for shape, axes in (((17, 31), (1, 0)), ((3, 5, 7), (2, 0, 1)), ((2,) * 8, range(7, -1, -1))):
        a = raw_bits(SIZES[size], shape)
        check(device, a, same, tuple(axes))
        check(device, a, lambda x: x[::-1, 1:], tuple(axes))
        if device != "cpu":
            told = plan(a, axes=axes, device=device)
            assert told == f"few: a thread for each of {a.size} elements"


@pytest.mark.large
@pytest.mark.parametrize(
    ("size", "shape"),
    [
        *[(1, (3072, 3120)), (2, (1536, 3120)), (4, (772, 784)), (8, (4798, 32)), (16, (31, 4801))],
        *[(1, (16, 139264)), (2, (16, 69632)), (4, (16, 9000)), (8, (8, 9000)), (16, (7, 10000))],
        *[(1, (69632, 32)), (2, (69640, 16)), (4, (4608, 24)), (8, (18000, 4)), (16, (9001, 8))],
    ],
)
def test_aligned_tiles_of_a_matrix_for_many_multiprocessors(device, size, shape):
    a = raw_bits(SIZES[size], shape)
    check(device, a, same, (1, 0))
    check(device, a, lambda x: x[::-1], (1, 0))
    if device != "cpu":
        assert plan(a, device=device).startswith("aligned")


def test_explain_tells_the_way_and_computes_nothing(device):
    a = np.zeros((301, 403), np.float32)
    told = plan(a, device=device)
    if device == "cpu":
        assert told.startswith("blocked")
    else:
        assert told.startswith("words: ")
        assert "rows of 301 by columns of 403; 4 bytes an access" in told
        assert plan(a[:0], device=device) == "nothing: no elements"
    with pytest.raises(ValueError, match="axes don't match"):
        plan(a, axes=(0,), device=device)


# ---- any view ----------------------------------------------------------------------------------


@st.composite
def views(draw):
    """A shape, slices of it, axes, and bytes of an element."""
    ndim = draw(st.integers(1, 6))
    most = 5000 if draw(st.booleans()) else 60_000
    shape = []
    for _ in range(ndim):
        left = max(1, most // int(np.prod(shape, dtype=int)))
        near = st.sampled_from([1, 2, 3, 4, 8, 16, 31, 32, 33, 64, 65, 127, 128, 129, 256, 300])
        shape.append(min(left, draw(near | st.integers(1, 12))))
    key = tuple(
        draw(
            st.sampled_from(
                [WHOLE, WHOLE, slice(1, None), slice(None, None, -1), slice(None, None, 2)]
            )
        )
        for _ in shape
    )
    shape = draw(st.permutations(shape))
    axes = draw(st.permutations(range(ndim)))
    return tuple(shape), key, tuple(axes), draw(st.sampled_from(sorted(SIZES)))


@settings(deadline=None)
@given(case=views(), seed=st.integers(0, 99))
def test_any_view(device, case, seed):
    shape, key, axes, size = case
    a = raw_bits(SIZES[size], shape, seed)
    for few in ("", "0") if device != "cpu" else ("",):
        with helpers.settings(WARPKIT_FEW=few):
            if 0 not in a[key].shape:
                check(device, a, lambda x: x[key], axes)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("few", ["", "0"])
def test_a_broadcast_axis_is_read_again(device, size, few, setting):
    setting("WARPKIT_FEW", few)
    row = raw_bits(SIZES[size], (70,))
    a = np.broadcast_to(row, (40, 70))
    assert_same(warpkit.transpose(a, device=device), np.ascontiguousarray(a.T))
    assert_same(warpkit.transpose(a, (0, 1), device=device), np.ascontiguousarray(a))
    cube = np.broadcast_to(row[:, None], (3, 70, 50))
    for axes in ((0, 2, 1), (2, 0, 1), (1, 2, 0)):
        assert_same(
            warpkit.transpose(cube, axes, device=device),
            np.ascontiguousarray(cube.transpose(axes)),
        )


# ---- elements that are no numbers --------------------------------------------------------------

RECORDS = {
    "3 bytes": "V3",
    "a pixel": [("r", "u1"), ("g", "u1"), ("b", "u1")],
    "6 bytes": [("x", "<u2"), ("y", "<i4")],
    "12 bytes": [("x", "<f4", 3)],
    "24 bytes": [("id", "<i8"), ("z", "<c16")],
    "40 bytes": [("x", "<f8", 5)],
    "big-endian": [("x", ">f4"), ("y", ">i8")],
    "text": "U5",
    "bytes": "S7",
    "dates": "M8[s]",
    "long double": "g",
}


@pytest.mark.parametrize("name", RECORDS)
def test_elements_of_any_size_are_moved_as_they_are(device, name):
    dtype = np.dtype(RECORDS[name])
    a = raw_bits("uint8", (7, 11, 13 * dtype.itemsize)).view(dtype)
    for view in (a, a[::-1, 1:, ::2], a[:0]):
        for axes in (None, (0, 2, 1), (1, 0, 2), (-1, 0, 1)):
            want = np.ascontiguousarray(np.transpose(view, axes))
            got = warpkit.transpose(view, axes, device=device)
            assert got.dtype == dtype
            assert got.flags.c_contiguous
            assert got.shape == want.shape
            assert got.tobytes() == want.tobytes()
    out = np.empty((13, 11, 14), dtype)[:, :, ::2]
    assert warpkit.transpose(a, out=out, device=device) is out
    assert out.tobytes() == np.ascontiguousarray(a.T).tobytes()


def test_records_of_many_axes_are_moved_and_explained(device):
    a = raw_bits("uint8", (7, 5 * 24)).view("V24").reshape((7, *(1,) * 62, 5))
    got = warpkit.transpose(a, device=device)
    assert got.shape == a.T.shape
    assert got.tobytes() == np.ascontiguousarray(a.T).tobytes()
    told = plan(a, device=device)
    assert told == plan(raw_bits("float64", (7, 5, 3)), axes=(1, 0, 2), device=device)
    assert warpkit.transpose([["a", "bc"]], device=device).tolist() == [["a"], ["bc"]]


def test_explain_tells_of_more_axes_than_kernels_take(device):
    if device != "cpu":
        told = plan(np.zeros((2, 3) * 6), device=device)
        assert told.startswith("packed: 12 axes")


def test_a_field_of_records_is_moved(device):
    a = raw_bits("uint8", (20, 30 * 13)).view([("tag", "u1"), ("x", "<f4", 3)])
    field = a["x"][:, :, 1]  # at odd addresses
    assert_same(warpkit.transpose(field, device=device), np.ascontiguousarray(field.T))


def test_what_cannot_be_moved_is_refused(device):
    with pytest.raises(TypeError, match="dtype object is not taken"):
        warpkit.transpose(np.array([[None]]), device=device)
    with pytest.raises(TypeError, match=r"'O'.* is not taken"):
        warpkit.transpose(np.empty((2, 2), [("x", object)]), device=device)
    records = np.zeros((2, 3), "V3")
    with pytest.raises(TypeError, match=r"out must be a NumPy array of \|V3, not int64"):
        warpkit.transpose(records, out=np.zeros((3, 2), int), device=device)
    fixed = np.zeros((3, 2), "V3")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        warpkit.transpose(records, out=fixed, device=device)
    with pytest.raises(ValueError, match=r"shape \(3, 2\), not \(2, 3\)"):
        warpkit.transpose(records, out=np.zeros((2, 3), "V3"), device=device)
    with pytest.raises(ValueError, match="axes don't match"):
        warpkit.transpose(records, (0,), device=device)
    with pytest.raises(ValueError, match="no variant 'nonsense'"):
        warpkit.transpose(records, variant="nonsense", device=device)


# ---- what is made of transpose -----------------------------------------------------------------

MADE = {
    "moveaxis": [
        (np.int64(0), np.int8(2)),
        (range(2), np.arange(1, 3)),
        (0, 2),
        (-1, 0),
        ((0, 1), (2, 0)),
        ([2, 0], [0, 1]),
        ((), ()),
    ],
    "swapaxes": [(0, 2), (1, 1), (-1, 0)],
}


@pytest.mark.parametrize(
    ("name", "arguments"), [(name, x) for name, all_ in MADE.items() for x in all_], ids=str
)
def test_axes_are_moved_as_in_numpy(device, name, arguments):
    a = raw_bits("float32", (3, 5, 7))
    want = np.ascontiguousarray(getattr(np, name)(a, *arguments))
    function = functools.partial(getattr(warpkit, name), device=device)
    assert_same(function(a, *arguments), want)
    assert_same(function(a.tolist(), *arguments).astype("f4"), want)
    if device != "cpu":
        got = function(on(device, a), *arguments)
        assert isinstance(got, warpkit.DeviceArray)
        assert_same(got.numpy(), want)
    out = np.empty_like(want)
    assert function(a, *arguments, out=out) is out
    assert_same(out, want)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("moveaxis", (3, 0)),
        ("moveaxis", (0, -4)),
        ("moveaxis", ((0, 0), (1, 2))),
        ("moveaxis", ((0, 1), (2,))),
        ("moveaxis", ("x", 0)),
        ("swapaxes", (0, 3)),
        ("swapaxes", (-4, 0)),
    ],
    ids=str,
)
def test_bad_axes_are_numpys_errors(device, name, arguments):
    a = np.zeros((2, 3, 4))
    with pytest.raises(Exception) as wanted:  # noqa: PT011
        getattr(np, name)(a, *arguments)
    with pytest.raises(wanted.type):
        getattr(warpkit, name)(a, *arguments, device=device)


def test_any_number_of_axes_is_moved(device):
    a = np.arange(6.0).reshape((2, *(1,) * 61, 3))
    for function, arguments in ((np.moveaxis, (0, -1)), (np.swapaxes, (62, 0))):
        want = np.ascontiguousarray(function(a, *arguments))
        got = getattr(warpkit, function.__name__)(a, *arguments, device=device)
        assert_same(got, want)


class OnlyDLPack:
    """An array of a library that nobody knows."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **options):
        return self.a.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


def test_arrays_of_any_library_have_their_axes_moved():
    a = raw_bits("float32", (3, 5))
    for function, arguments in (
        (warpkit.moveaxis, (0, 1)),
        (warpkit.swapaxes, (0, 1)),
        (warpkit.transpose, ()),
    ):
        assert_same(np.asarray(function(OnlyDLPack(a), *arguments, device="cpu")), a.T.copy())
    there = OnlyDLPack(a)
    assert warpkit.ascontiguousarray(there, device="cpu") is there
    assert_same(np.asarray(warpkit.ascontiguousarray(OnlyDLPack(a.T), device="cpu")), a.T.copy())
    assert warpkit.ascontiguousarray(memoryview(b"abc")).tolist() == [97, 98, 99]


def test_a_contiguous_array_is_itself(device):
    a = raw_bits("float32", (3, 5))
    assert warpkit.ascontiguousarray(a, device=device) is a
    for view in (a.T, a[:, ::2], a[::-1], np.broadcast_to(a[0], (4, 5)), a.astype("V4").T):
        got = warpkit.ascontiguousarray(view, device=device)
        assert got.flags.c_contiguous
        assert got.tobytes() == np.ascontiguousarray(view).tobytes()
        assert got.dtype == view.dtype
    assert warpkit.ascontiguousarray(np.float32(3), device=device).shape == (1,)
    assert warpkit.ascontiguousarray([[1, 2]], device=device).tolist() == [[1, 2]]
    if device != "cpu":
        there = on(device, a)
        assert warpkit.ascontiguousarray(there) is there
        assert_same(warpkit.ascontiguousarray(there.T).numpy(), np.ascontiguousarray(a.T))
        assert warpkit.ascontiguousarray(there[:0].T).shape == (5, 0)


SHORT = [
    (133, 57, 2),
    (51, 25, 3, 3),
    (11, 895, 3),
    (40, 30, 7),
    (9, 5, 1, 2),
    (300, 3, 5),
    (2, 67, 15),
]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("shape", SHORT, ids=str)
def test_short_runs_that_follow_each_other_on_the_cpu(dtype, shape):
    a = values(dtype, shape, seed=1)
    axes = tuple(range(len(shape)))
    for order in (axes[::-1], (axes[1], axes[-1], axes[0], *axes[2:-1]), (axes[-1], *axes[:-1])):
        for x in (a, a[::-1], a[..., ::-1], a[:, ::-1], a[1:, 2:]):
            assert_same(warpkit.transpose(x, order, device="cpu"), x.transpose(order).copy())
