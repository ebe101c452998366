"""Host arrays that cross to the device in pieces: the same bits as in one, whatever the layout."""

import numpy as np
import pytest
import warpkit
from helpers import (
    DTYPES,
    FOLDS,
    MODES,
    ROOT,
    allowed,
    assert_same,
    few_values,
    outcome,
    python,
    values,
)
from warpkit import reference

PIECES = (1024, 100_000)  # bytes, by WARPKIT_PIECE; all smaller than most arrays here


def layouts(dtype, seed=0):
    """Arrays of two to five axes, strided in all the ways that NumPy has."""
    a = values(dtype, (23, 31, 44), seed)
    yield "contiguous", a
    yield "reversed axes", a.T
    yield "swapped axes", a.transpose(1, 0, 2)
    yield "inner axis outermost", a.transpose(2, 0, 1)
    yield "every other", a[:, ::2, 1::3]
    yield "backwards", a[::-1, :, ::-1]
    yield "broadcast", np.broadcast_to(a[:, :1], a.shape)
    yield "broadcast inside", np.broadcast_to(a[:, :, :1], a.shape)
    yield "narrow rows", values(dtype, (5000, 3), seed)
    yield "wide rows", values(dtype, (3, 5000), seed)[:, :-1]
    yield (
        "five axes",
        values(dtype, (3, 4, 5, 6, 40), seed)[:, ::-1, :, ::2].transpose(4, 2, 0, 1, 3),
    )
    yield "ten axes", values(dtype, (2,) * 10 + (3, 5), seed)[..., ::2, :-1, :].T
    yield "flat", values(dtype, 40_001, seed)
    yield "flat, strided", values(dtype, 40_001, seed)[::-3]


LAYOUTS = [name for name, _ in layouts("uint8")]


@pytest.fixture(params=PIECES)
def gpu_in_pieces(request, device, setting):
    """A device that is not the CPU, with pieces so small that every array is many of them."""
    if device == "cpu":
        pytest.skip("no bus to cross")
    if not allowed(40_000):
        pytest.skip("--small")
    setting("WARPKIT_PIECE", str(request.param))
    return device


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64"])
def test_folds(gpu_in_pieces, layout, dtype):
    a = dict(layouts(dtype))[layout]
    axes = [None, 0, -1, tuple({0, a.ndim - 1}), tuple(range(1, a.ndim))]
    for op in FOLDS if layout == "contiguous" else ("sum", "max"):
        for axis in axes:
            want = warpkit.reduce(a, op, axis, device="cpu")
            assert_same(warpkit.reduce(a, op, axis, device=gpu_in_pieces), want)


@pytest.mark.parametrize("shape", [(33, 4097), (101, 333), (5, 67, 9)])
def test_parts_of_a_complex_number_stay_together(gpu_in_pieces, shape):
    a = values("complex64", shape)
    a.imag[np.random.default_rng(1).random(shape) < 0.3] = np.nan
    for axis in (None, *range(len(shape))):
        want = warpkit.reduce(a, "nansum", axis, device="cpu")
        assert_same(warpkit.reduce(a, "nansum", axis, device=gpu_in_pieces), want)


@pytest.mark.parametrize("shape", [(2048, 700), (1024, 3, 40), (3, 4096, 33), (2, 3000, 2, 9)])
def test_folds_are_cut_along_a_long_axis_before_others(gpu_in_pieces, shape):
    a = values("float32", shape)
    for axis in range(len(shape)):
        want = warpkit.reduce(a, "sum", axis, device="cpu")
        assert_same(warpkit.reduce(a, "sum", axis, device=gpu_in_pieces), want)


def masks(a):
    """Of a's shape, in layouts of their own, and such that are broadcast."""
    some = np.random.default_rng(2).random(a.shape) < 0.6
    yield some
    yield np.asfortranarray(some)[::-1]
    yield some[..., :1]
    yield some[:1]
    yield np.array(True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
def test_folds_of_some(gpu_in_pieces, layout, dtype):
    a = dict(layouts(dtype))[layout]
    for mask in masks(a):
        for op in ("sum", "var", "prod", "count_nonzero"):
            for axis in (None, 0, (0, a.ndim - 1)) if a.ndim > 1 else (None,):
                want = outcome(warpkit.reduce, a, op, axis, where=mask, device="cpu")
                got = outcome(warpkit.reduce, a, op, axis, where=mask, device=gpu_in_pieces)
                assert_same(got, want)


@pytest.mark.parametrize("piece", ["", "1024"])
def test_masks_of_more_axes_than_a_kernel_takes(device, piece, setting):
    """Nine axes that do not fuse, neither the array's nor, with its own strides, the mask's."""
    setting("WARPKIT_PIECE", piece)
    big = values("float32", (4,) * 9 if allowed(4**9) else (3,) * 9)
    a = big[(slice(None, None, 2),) * 9]
    some = np.random.default_rng(3).random(a.shape) < 0.5
    for mask in (some, some.T, some[:, ::-1], some[:, :1]):
        for op in ("sum", "prod", "mean", "count_nonzero"):
            for axis in (None, 0, (1, 3), (0, 1, 2, 3)):
                want = outcome(reference.reduce, a, op, axis, where=mask)
                got = outcome(warpkit.reduce, a, op, axis, where=mask, device=device)
                assert_same(got, want)
        want = np.max(a, 0, where=mask, initial=-9)
        got = warpkit.reduce(a, "max", 0, where=mask, initial=-9, device=device)
        assert_same(got, want)


@pytest.mark.parametrize("bins", [7, 3000, 70_000])
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_histograms_of_weights(gpu_in_pieces, dtype, bins):
    a = values("float32", (91, 99))
    weights = values(dtype, a.shape, 5)
    if np.dtype(dtype).kind in "fc":
        scale = np.exp2(np.arange(-20, 20) if dtype != "float16" else np.arange(-9, 1))
        weights = (weights * scale[np.arange(99) % scale.size]).astype(dtype)
    for x, w in ((a, weights), (a.T, weights.T), (a[:, ::2], weights[:, ::2])):
        want = warpkit.histogram(x, bins, weights=w, device="cpu")
        got = warpkit.histogram(x, bins, weights=w, device=gpu_in_pieces)
        assert_same(got[0], want[0])
    counts = np.abs(few_values("int32", a.size))
    if np.dtype(dtype).kind != "c":
        want = warpkit.bincount(counts, weights.ravel(), device="cpu")
        assert_same(warpkit.bincount(counts, weights.ravel(), device=gpu_in_pieces), want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_transposes(gpu_in_pieces, layout, dtype):
    a = dict(layouts(dtype))[layout]
    orders = [None, tuple(range(a.ndim)), (*range(1, a.ndim), 0)]
    if a.ndim > 2:
        orders += [(1, 0, *range(2, a.ndim)), (0, *range(2, a.ndim), 1)]
    for axes in orders:
        got = warpkit.transpose(a, axes, device=gpu_in_pieces)
        assert_same(got, np.ascontiguousarray(a.transpose(axes)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("taps", [1, 2, 9, 101])
def test_stencils(gpu_in_pieces, mode, taps):
    c = np.random.default_rng(taps).normal(size=taps)
    for _, a in layouts("float32" if taps < 9 else "int16"):
        if a.ndim > 3 and taps > 9:
            continue
        for axis in (0, -1):
            kwargs = {"mode": mode, "cval": 0.75, "origin": -(taps // 3)}
            want = warpkit.stencil1d(a, c, axis, **kwargs, device="cpu")
            got = warpkit.stencil1d(a, c, axis, **kwargs, device=gpu_in_pieces)
            assert_same(got, want)


@pytest.mark.parametrize("mode", MODES)
def test_stencils_of_rows_wider_than_a_piece(gpu_in_pieces, mode):
    a = values("float64", (2, 40, 3000))
    c = [1.0, -2, 0.5]
    want = warpkit.stencil1d(a, c, 1, mode=mode, cval=3, device="cpu")
    assert_same(warpkit.stencil1d(a, c, 1, mode=mode, cval=3, device=gpu_in_pieces), want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_histograms(gpu_in_pieces, layout, dtype):
    a = dict(layouts(dtype))[layout]
    for bins in (7, np.linspace(-5.0, 300.0, 12)):
        want = warpkit.histogram(a, bins, device="cpu")
        got = warpkit.histogram(a, bins, device=gpu_in_pieces)
        assert_same(got[0], want[0])
        assert_same(got[1], want[1])
    small = np.abs(few_values("int32", a.size)).astype(np.int64)
    got = warpkit.bincount(small, minlength=9000, device=gpu_in_pieces)
    assert_same(got, np.bincount(small, minlength=9000))
    assert got.sum() == a.size


@pytest.mark.parametrize("layout", LAYOUTS)
def test_warp_histograms(gpu_in_pieces, layout):
    a = dict(layouts("float32"))[layout]
    for got, want in zip(
        warpkit.warp_histogram(a, device=gpu_in_pieces),
        warpkit.warp_histogram(a, device="cpu"),
        strict=True,
    ):
        assert_same(got, want)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["bool", "int16", "float64"])
def test_arrays_cross_and_come_back(gpu_in_pieces, layout, dtype):
    a = dict(layouts(dtype))[layout]
    there = warpkit.asarray(a, device=gpu_in_pieces)
    assert_same(there.numpy(), np.ascontiguousarray(a))
    assert_same(there.T.numpy(), np.ascontiguousarray(a.T))


RUNGS = [v.name for v in warpkit.variants("transpose") if v.device == "cuda" and not v.production]


@pytest.mark.parametrize("variant", RUNGS)
def test_teaching_variants_take_pieces_too(gpu_in_pieces, variant):
    a = values("float32", (301, 203))
    got = warpkit.transpose(a, device=gpu_in_pieces, variant=variant)
    oracle = reference.transposed_copy if variant == "copy" else reference.transpose
    assert_same(got, oracle(a))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_in_pieces_is_in_the_order_of_the_whole_arrays_memory(gpu_in_pieces, layout):
    a = dict(layouts("float32"))[layout]
    for axes in (None, (*range(1, a.ndim), 0)):
        got = warpkit.transpose(a, axes, device=gpu_in_pieces, variant="copy")
        assert_same(got, reference.transposed_copy(a, axes))


def pinned_copy(a):
    """The array in pinned memory, with the same strides."""
    cupy = pytest.importorskip("cupy")
    low, high = np.lib.array_utils.byte_bounds(a)
    memory = np.frombuffer(cupy.cuda.alloc_pinned_memory(high - low), np.uint8, high - low)
    start = a.__array_interface__["data"][0] - low
    view = np.ndarray(a.shape, a.dtype, memory, start, a.strides)
    if 0 not in a.strides:
        view[...] = a
        return view
    return None  # elements that share an address


@pytest.mark.parametrize("layout", [*LAYOUTS, "rows with gaps"])
def test_pinned_memory_is_used_in_place_whatever_its_layout(gpu_in_pieces, layout, setting):
    gpu = gpu_in_pieces
    a = {**dict(layouts("float32")), "rows with gaps": values("float32", (99, 507))[:, :-7]}[layout]
    host = np.empty
    if gpu.startswith("emu"):
        setting("WARPKIT_EMU_PINNED", "1")
    elif (a := pinned_copy(a)) is None:
        pytest.skip("elements share addresses")
    else:
        host = lambda shape, dtype: pinned_copy(np.empty(shape, dtype))  # noqa: E731
    for call in (
        lambda **k: warpkit.reduce(a, **k),
        lambda **k: warpkit.reduce(a, "max", 0, **k),
        lambda **k: warpkit.transpose(a, **k),
        lambda **k: warpkit.stencil1d(a, [1, 2, -1], **k),
        lambda **k: warpkit.histogram(a, 9, (-9, 9), **k)[0],
    ):
        want = call(device="cpu")
        assert_same(call(device=gpu), want)
        if isinstance(want, np.ndarray):
            out = host(want.shape, want.dtype)
            call(device=gpu, out=out)
            assert_same(out, want)
    there = warpkit.asarray(a, device=gpu)
    assert_same(there.numpy(), np.ascontiguousarray(a))


LITTLE_MEMORY = """
import sys, numpy as np, warpkit
sys.path.insert(0, {tests!r})
from helpers import assert_same, values
device = {device!r}
a = values("uint8", ({rows}, 4096))
try:
    warpkit.asarray(a, device=device)
except MemoryError:
    pass
else:
    raise AssertionError("it should not have fitted")
for call in (
    lambda d: warpkit.reduce(a, device=d),
    lambda d: warpkit.reduce(a, "max", 0, device=d),
    lambda d: warpkit.reduce(a[::-1, ::2], "mean", 1, device=d),
    lambda d: warpkit.transpose(a, device=d),
    lambda d: warpkit.stencil1d(a, [1, 0, 1], 0, device=d),
    lambda d: warpkit.histogram(a, 256, device=d)[0],
    lambda d: warpkit.bincount(a.ravel(), device=d),
    lambda d: warpkit.warp_histogram(a[: len(a) // 4], device=d)[1],
):
    assert_same(call(device), call("cpu"))
assert 0 < warpkit.memory_info(device)["pool_limit"] < a.nbytes
print("done")
"""


@pytest.mark.large
def test_arrays_larger_than_the_gpu_give_the_same_bits(device):
    if device == "cpu":
        pytest.skip("no bus to cross")
    limit, rows = (8 << 20, 3000) if device.startswith("emu") else (64 << 20, 50_000)
    script = LITTLE_MEMORY.format(tests=str(ROOT / "tests"), device=device, rows=rows)
    env = {"WARPKIT_POOL_LIMIT": str(limit), "WARPKIT_PIECE": str(limit >> 5)}
    assert python(script, env=env) == "done\n"


def test_the_last_piece_of_two_along_an_axis_is_not_the_largest(gpu_in_pieces):
    for shape in ((12, 3500), (3000, 12), (5, 700, 9)):
        a = values("float32", shape)
        for axis in range(len(shape)):
            want = warpkit.stencil1d(a, [1, 2, 3.0], axis, device="cpu")
            assert_same(warpkit.stencil1d(a, [1, 2, 3.0], axis, device=gpu_in_pieces), want)
