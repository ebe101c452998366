"""DeviceArray, out=, streams: what users hold on a device behaves as NumPy's arrays do."""

import gc
import os
import sys
import threading

import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, assert_same, outcome, python, values


@pytest.fixture
def gpu(device):
    """A device that has memory of its own."""
    if device == "cpu":
        pytest.skip("the CPU's arrays are NumPy's")
    return device


def there(a, gpu):
    return warpkit.asarray(a, device=gpu)


# ---- the array ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (4, 5, 6)])
def test_arrays_come_back_as_they_went(gpu, dtype, shape):
    a = np.asarray(values(dtype, shape))
    d = there(a, gpu)
    assert (d.shape, d.strides, d.dtype, d.ndim, d.size, d.nbytes, d.itemsize) == (
        *(a.shape, a.strides if a.size else d.strides, a.dtype, a.ndim, a.size, a.nbytes),
        a.itemsize,
    )
    assert d.device.split(":")[0] == gpu.split(":")[0]
    assert_same(d.numpy(), a)
    assert_same(np.asarray(d), a)
    assert_same(d.copy().numpy(), a)


KEYS = [
    0,
    -1,
    np.int8(2),
    slice(1, None),
    slice(None, None, -2),
    ...,
    None,
    (slice(None), 1),
    (..., -1),
    (None, 0, ..., slice(2, 0, -1)),
    (1, 2, 3),
    (slice(5, 2), 1),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing_gives_numpys_view(gpu, key):
    a = values("float32", (4, 5, 6))
    d = there(a, gpu)
    view = d[key]
    assert_same(view.numpy(), np.array(a[key], order="C"))
    assert_same(view.T.numpy(), np.array(np.asarray(a[key]).T, order="C"))


@pytest.mark.parametrize("key", [4, (0, 0, 0, 0), (0, -6), (..., ...)], ids=repr)
def test_an_index_out_of_bounds_is_numpys_error(gpu, key):
    a = values("int16", (4, 5, 6))
    with pytest.raises(IndexError) as wanted:
        a[key]
    with pytest.raises(IndexError) as got:
        there(a, gpu)[key]
    assert str(got.value).split(" ")[:4] == str(wanted.value).split(" ")[:4]


@pytest.mark.parametrize("key", [[0, 1], np.array([True] * 4), True, 1.5, "x", (0, [1])], ids=repr)
def test_an_index_that_would_read_elements_is_refused(gpu, key):
    with pytest.raises(IndexError):
        there(values("int16", (4, 5)), gpu)[key]


@pytest.mark.parametrize("dtype", ["uint32", "float32", "int8", "complex64", "uint16", "bfloat16"])
def test_a_view_of_another_dtype_is_numpys(gpu, dtype):
    a = values("int32", (4, 6))
    for key in ((), slice(1, 3), (slice(None, None, -2), slice(2, 4))):
        view = there(a, gpu)[key].view(dtype)
        assert_same(view.numpy(), a[key].view(dtype).copy())
        again = view.view("int32")
        assert_same(again.numpy(), a[key].copy())


@pytest.mark.parametrize(
    "key", [(slice(None), slice(3)), (slice(None), slice(None, None, 2)), (0, 0)]
)
def test_a_view_that_numpy_refuses_is_its_error(gpu, key):
    a = values("int32", (4, 6))
    wanted = outcome(a[key].view, "int64")
    got = outcome(there(a, gpu)[key].view, "int64")
    assert (type(got), str(got)) == (ValueError, str(wanted))
    with pytest.raises(ValueError, match="not be aligned"):
        there(a, gpu)[:, 1:5].view("int64")
    with pytest.raises(TypeError, match="is not taken"):
        there(a, gpu).view("S4")


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (3, 0), (0, 3), (3, 1), (2, 6), (5,), (2, 3, 16)]
)
def test_views_of_any_shape_are_numpys(gpu, shape):
    a = np.zeros(shape, "int32")
    layouts = [lambda x: x, lambda x: x.T]
    if shape:
        layouts += [
            lambda x: x[..., ::2],
            lambda x: x[..., ::-1],
            lambda x: x[::2],
            lambda x: x[:1],
        ]
    for layout in layouts:
        for dtype in ("uint8", "int16", "float32", "int64", "complex128", "S0"):
            d = there(a, gpu)
            got, want = outcome(layout(d).view, dtype), outcome(layout(a).view, dtype)
            if isinstance(want, np.ndarray) and isinstance(got, warpkit.DeviceArray):
                assert got.shape == want.shape
                assert not got.size or got.strides == want.strides
            elif dtype != "S0" and "aligned" not in str(got):
                assert (type(got), str(got)) == (type(want), str(want))


def test_a_view_beyond_the_array_is_refused(gpu):
    whole = there(np.arange(24.0).reshape(4, 6), gpu)
    d = whole[1:3]
    at = d._pointer
    assert_same(d._view(at, (2, 3), (48, 16), "f8").numpy(), d[:, ::2].numpy())
    for start, shape, strides in (
        (at - 8, (1,), (8,)),
        (at + 96, (1,), (8,)),
        (at, (13,), (8,)),
        (at, (2,), (-8,)),
        (at, (2**61 + 1,), (8,)),
        (at, (2**63 - 1, 2), (2**62, 8)),
        (at, (3, 3), (2**62, -(2**62))),
        (at, (3,), (-(2**63),)),
        (0, (1,), (8,)),
        (2**64 - 8, (2,), (8,)),
        (at, (-1,), (8,)),
        (at, (-(2**63), 2), (8, 8)),
    ):
        with pytest.raises(ValueError, match=r"beyond the array|negative"):
            d._view(start, shape, strides, "f8")
    for start in (-1, 2**64):
        with pytest.raises(OverflowError):
            d._view(start, (1,), (8,), "f8")
    with pytest.raises(ValueError, match="aligned"):
        d._view(at + 4, (1,), (8,), "f8")
    assert d._view(0, (0, 5), (2**62, 2**62), "f8").shape == (0, 5)


def test_an_empty_array_may_have_any_strides(device):
    far = np.iinfo(np.intp).max - 7
    for shape in ((0, 3), (3, 0), (2, 0, 2**40)):
        for step in (far, -far):
            a = np.lib.stride_tricks.as_strided(np.zeros(0), shape, [step // 8 * 8] * len(shape))
            for put in where_results_may_lie(device):
                b = put(a)
                assert np.asarray(warpkit.reduce(b, device=device)) == 0
                assert warpkit.transpose(b, device=device).shape == shape[::-1]
                assert warpkit.stencil1d(b, [1.0], device=device).shape == shape
                assert np.asarray(warpkit.histogram(b, 3, device=device)[0]).tolist() == [0, 0, 0]
                assert warpkit.run_length(b, device=device).values.shape == (0,)
    if device != "cpu":
        for shape in ((0, 2**62, 2**62), (2**62, 2**62, 0)):
            with pytest.raises(ValueError, match="too big"):
                warpkit.empty(shape, device=device)


def test_no_frame_holds_an_array_over_the_devices_memory(gpu):
    """Whatever prints local variables would read it, and on a GPU that is a crash."""
    d = there(values("int32", (40, 30)), gpu)
    seen = []

    def look(frame, event, argument):
        for value in [*frame.f_locals.values(), argument]:
            if isinstance(value, np.ndarray) and value.size:
                at = value.__array_interface__["data"][0] - d._pointer
                seen.extend([frame.f_code.co_name] if 0 <= at < d.nbytes else [])
        return look

    sys.settrace(look)
    try:
        parts = d[1:3, ::-2], d[5], d[..., None, 3], d.T, d.view("int16"), d[:, :10].view("uint8")
        d[2:4] = 7
    finally:
        sys.settrace(None)
    assert all(part.size for part in parts)
    assert not seen


def test_views_share_memory_and_keep_it_alive(gpu):
    a = values("int32", (40, 30))
    d = there(a, gpu)
    row = d[3]
    row[:] = 7
    a[3] = 7
    assert_same(d.numpy(), a)
    d[::2, 1:3] = -a[::2, 1:3]
    a[::2, 1:3] = -a[::2, 1:3]
    assert_same(d.numpy(), a)
    column = d[:, 5]
    del d, row
    gc.collect()
    warpkit.empty((1000,), device=gpu)
    assert_same(column.numpy(), np.ascontiguousarray(a[:, 5]))


def test_the_printed_form_shows_values_and_place(gpu):
    d = there(np.arange(6, dtype=np.int16).reshape(2, 3), gpu)
    assert repr(d) == (
        f"DeviceArray([[0, 1, 2],\n             [3, 4, 5]], dtype=int16, device='{d.device}')"
    )
    assert str(d) == "[[0 1 2]\n [3 4 5]]"
    assert f"{warpkit.reduce(d):.2f}" == "15.00"


def test_numbers_come_out_as_of_numpys_arrays(gpu):
    d = there(np.array([[2.5]]), gpu)
    assert (float(d[0, 0]), int(d[0, 0]), bool(d), d.item()) == (2.5, 2, True, 2.5)
    assert complex(d[0, 0]) == 2.5
    assert [10, 20, 30][there(np.int8(1), gpu)] == 20
    many = there(np.arange(3), gpu)
    for convert in (float, int, bool, lambda x: x.item(), [1].__getitem__):
        with pytest.raises((TypeError, ValueError)):
            convert(many)
    assert len(many) == 3
    assert [int(x) for x in many] == [0, 1, 2]
    with pytest.raises(TypeError):
        len(d[0, 0])
    with pytest.raises(TypeError):
        hash(d)


COMPARISONS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_refused_with_the_way_out(gpu, name):
    compare = COMPARISONS[name]
    d = there(np.arange(6.0), gpu)
    total = warpkit.reduce(d)
    for left, right in ((d, d), (d, d.copy()), (total, 15.0), (15.0, total), (total, 15),
                        (d, None), (d, "x"), (d, [1, 2]), (d, object())):  # fmt: skip
        with pytest.raises(
            TypeError, match=r"float\(a\).*a.numpy.*cupy.asarray.*torch.from_dlpack"
        ):
            compare(left, right)
    # What knows an answer gives it, from either side.
    assert compare(total, np.float64(15)) == compare(15.0, 15.0)
    assert compare(np.float64(15), total) == compare(15.0, 15.0)
    a = np.full(6, 3.0)
    assert compare(d, a).tolist() == compare(np.arange(6.0), a).tolist()
    assert (total == pytest.approx(15)) is True


def test_nothing_is_looked_for_in_a_device_array(gpu):
    d = there(np.arange(6.0), gpu)
    for value in (2.0, d, d[0]):
        with pytest.raises(TypeError, match="compares nothing"):
            value in d  # noqa: B015
    assert d in [d, d]  # it is the same object


def test_what_cannot_be_is_said(gpu):
    d = there(np.arange(3.0), gpu)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(d, copy=False)
    assert np.asarray(d, dtype="float32").dtype == np.float32
    with pytest.raises(TypeError):
        warpkit.DeviceArray()
    with pytest.raises(TypeError):
        warpkit._core.DeviceArray()
    for dtype in ("longdouble", object, ">f4", "U3"):
        with pytest.raises(TypeError):
            warpkit.empty(3, dtype, device=gpu)
    with pytest.raises(ValueError, match="negative"):
        warpkit.empty((2, -1), device=gpu)
    with pytest.raises(ValueError, match=r"big|overflow|Maximum"):
        warpkit.empty((2**40, 2**40), device=gpu)
    with pytest.raises(MemoryError):
        warpkit.empty(2**45, device=gpu)
    with pytest.raises(ValueError, match="NumPy"):
        warpkit.empty(3, device="cpu")
    with pytest.raises(ValueError, match="copy"):
        warpkit.asarray([1, 2], device=gpu, copy=False)
    with pytest.raises(ValueError, match="broadcast"):
        d[:2] = [1, 2, 3]


def test_asarray_takes_what_numpy_takes_and_copies_only_if_it_must(gpu):
    assert_same(there([[1, 2], [3, 4]], gpu).numpy(), np.array([[1, 2], [3, 4]]))
    d = there(np.arange(4, dtype=np.int32), gpu)
    assert warpkit.asarray(d) is d
    assert warpkit.asarray(d, device=gpu) is d
    assert warpkit.asarray(d, copy=True) is not d
    assert_same(warpkit.asarray(d, "float64").numpy(), np.arange(4.0))
    assert_same(there(np.arange(4, dtype=">i4"), gpu).numpy(), np.arange(4, dtype=np.int32))
    assert_same(
        there(np.arange(12).reshape(3, 4)[:, ::-2], gpu).numpy(),
        np.ascontiguousarray(np.arange(12).reshape(3, 4)[:, ::-2]),
    )


@pytest.mark.parametrize("piece", [1032, 1048])
@pytest.mark.parametrize("dtype", ["complex128", "complex64", "float16"])
def test_elements_are_not_cut_between_pieces(gpu, dtype, piece, setting):
    """Pieces of an odd number of 8 bytes."""
    setting("WARPKIT_PIECE", str(piece))
    a = values(dtype, (23, 17, 6))
    for view in (a, a[::-1, 1:], a[:, :, ::2], a.T):
        d = there(view, gpu)
        assert_same(d.numpy(), np.ascontiguousarray(view))
        out = np.empty((*view.shape[:-1], 2 * view.shape[-1]), dtype)[..., ::2]
        warpkit.transpose(d, range(view.ndim), out=out)
        assert_same(np.ascontiguousarray(out), np.ascontiguousarray(view))


# ---- operations --------------------------------------------------------------------------------

COUNTABLE = np.abs(values("int16", 4000) % 50).astype(np.int32)
CALLS = {
    "reduce": lambda a, **k: warpkit.reduce(a, "sum", **k),
    "reduce an axis": lambda a, **k: warpkit.reduce(a, "max", 0, **k),
    "reduce, keepdims": lambda a, **k: warpkit.reduce(a, "mean", (0, 2), keepdims=True, **k),
    "transpose": lambda a, **k: warpkit.transpose(a, (2, 0, 1), **k),
    "stencil1d": lambda a, **k: warpkit.stencil1d(a, [1, -2, 1], 1, **k),
    "histogram": lambda a, **k: warpkit.histogram(a, 9, (-5, 5), **k)[0],
    "warp_histogram": lambda a, **k: warpkit.warp_histogram(a, **k),
}
VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, 1::3],
    "backwards": lambda a: a[::-1, :, ::-2],
    "one column": lambda a: a[:, :1],
}


def tuple_of(result):
    return tuple(result) if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", CALLS)
def test_operations_on_device_arrays_give_device_arrays_of_the_cpus_bits(gpu, name, view):
    a = values("float32", (20, 31, 13))
    d = there(a, gpu)
    got = tuple_of(CALLS[name](VIEWS[view](d)))
    want = tuple_of(CALLS[name](VIEWS[view](a), device="cpu"))
    for g, w in zip(got, want, strict=True):
        assert isinstance(g, warpkit.DeviceArray)
        assert_same(g.numpy(), np.asarray(w))


def test_many_axes_are_packed_first(gpu):
    a = values("float32", (2,) * 12)[:, ::-1].transpose(range(11, -1, -1))
    d = there(values("float32", (2,) * 12), gpu)
    view = d[:, ::-1].T
    assert_same(
        warpkit.reduce(view, "sum", (0, 5, 7)).numpy(),
        warpkit.reduce(a, "sum", (0, 5, 7), device="cpu"),
    )
    axes = (3, 0, 5, 1, 2, 11, 4, 6, 10, 7, 9, 8)
    assert_same(warpkit.transpose(view, axes).numpy(), np.ascontiguousarray(a.transpose(axes)))


def test_histograms_of_device_arrays_are_numpys(gpu):
    a = values("float32", 5000)
    counts, edges = warpkit.histogram(there(a, gpu), 30)
    want = np.histogram(a, 30)
    assert isinstance(edges, warpkit.DeviceArray)
    assert_same(counts.numpy(), want[0])
    assert_same(edges.numpy(), want[1])
    got = warpkit.histogram(there(a, gpu), [-1, 0, 2], density=True)[0]
    assert_same(got.numpy(), np.histogram(a, [-1, 0, 2], density=True)[0])
    a[7] = np.nan
    with pytest.raises(ValueError, match="1 of 5000"):
        warpkit.histogram(there(a, gpu))
    got = warpkit.histogram(there(a, gpu), nan="ignore")[0]
    assert_same(got.numpy(), np.histogram(a[~np.isnan(a)])[0])
    got = warpkit.bincount(there(COUNTABLE, gpu), minlength=60)
    assert_same(got.numpy(), np.bincount(COUNTABLE, minlength=60))
    with pytest.raises(ValueError, match="negative"):
        warpkit.bincount(there(np.array([1, -1]), gpu))


@pytest.mark.parametrize("n", [0, 1, 5000, 70_001])
@pytest.mark.parametrize("bins", [1, 100, 383, 384, 1000, 60_000, [-2, 0, 0.5, 1], None])
@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64"])
def test_edges_lie_beside_the_counts_of_device_arrays(gpu, dtype, bins, n):
    if dtype == "float16" and bins == 60_000:
        pytest.skip("NumPy has not so many different edges")
    a = (np.arange(n) % 97 - 48).astype(dtype)
    if bins is None:
        bins = np.linspace(-40, 40, 300)
    span = (-50, 50) if isinstance(bins, int) else None
    for weights in (None, np.arange(n) % 5):
        wide = a if span else a.astype(float)  # NumPy 2.4 does not always sort float16
        want = np.histogram(wide, bins, span, weights=weights)
        w = None if weights is None else there(weights, gpu)
        got = warpkit.histogram(there(a, gpu), bins, span, weights=w)
        for mine, numpys in zip(got, want, strict=True):
            assert isinstance(mine, warpkit.DeviceArray)
            assert_same(mine.numpy(), numpys)
        out = np.zeros(len(want[0]), want[0].dtype)
        edges = warpkit.histogram(there(a, gpu), bins, span, weights=w, out=out)[1]
        assert_same(out, want[0])
        assert_same(np.asarray(edges), want[1])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("source", ["host", "device"])
@pytest.mark.parametrize(
    "target",
    ["host", "host, strided", "host, shared", "device", "device, strided", "device, shared"],
)
def test_out_is_written_and_returned(gpu, name, source, target):
    a = values("float32", (12, 12, 12))
    want = tuple_of(CALLS[name](a, device="cpu"))
    outs = []
    for w in map(np.asarray, want):
        wide = np.full((*w.shape, 2), 77, w.dtype)
        outs.append(wide[..., 0] if "strided" in target else np.full(w.shape, 77, w.dtype))
        if "device" in target:
            wide, flat = there(wide, gpu), there(outs[-1], gpu)
            outs[-1] = wide[..., 0] if "strided" in target else flat
    given = a if source == "host" else there(a, gpu)
    if "shared" in target:  # out lies in the input's own memory
        if want[0].dtype != a.dtype or len(want) > 1 or ("host" in target) != (source == "host"):
            pytest.skip("nothing to share")
        given = given.copy()
        flat = given.reshape(-1) if source == "host" else given
        if want[0].shape != a.shape:
            pytest.skip("another shape")
        outs = [flat.reshape(a.shape) if source == "host" else flat]
    out = tuple(outs) if len(outs) > 1 else outs[0]
    kwargs = {} if source == "device" else {"device": gpu}
    got = CALLS[name](given, out=out, **kwargs)
    for g, o, w in zip(tuple_of(got), outs, want, strict=True):
        assert g is o
        g = g.numpy() if isinstance(g, warpkit.DeviceArray) else np.ascontiguousarray(g)
        assert_same(g.reshape(np.shape(w)), np.asarray(w))


@pytest.mark.parametrize("place", ["host", "device"])
def test_a_wrong_out_is_refused_and_left_alone(gpu, place):
    a = values("float32", (6, 7))

    def put(x):
        return x if place == "host" else there(x, gpu)

    for out, error in [
        (np.full(6, 9.0, "f4"), ValueError),
        (np.full((6, 7), 9.0, "f4"), ValueError),
        (np.full(7, 9.0, "f8"), TypeError),
        (np.full((1, 7), 9.0, "f4"), ValueError),
    ]:
        given = put(out)
        with pytest.raises(error, match="out has"):
            warpkit.reduce(a, "sum", 0, out=given, device=gpu)
        assert (np.asarray(given) == 9).all()
    for out in (3, [1, 2], "x", (np.zeros(7, "f4"),), object()):
        with pytest.raises(TypeError, match="out must be"):
            warpkit.reduce(a, "sum", 0, out=out, device=gpu)
    frozen = np.zeros(7, "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        warpkit.reduce(a, "sum", 0, out=frozen, device=gpu)
    with pytest.raises(ValueError, match="density"):
        warpkit.histogram(a, 3, density=True, out=np.zeros(3, np.int64), device=gpu)
    with pytest.raises(TypeError, match="tuple of 3"):
        warpkit.warp_histogram(a, out=np.zeros(3), device=gpu)


def test_three_dots_for_out_are_an_array_and_no_scalar(device):
    a = values("float32", (20, 31))
    calls = {
        "reduce": lambda a, **k: warpkit.reduce(a, "sum", **k),
        "an axis": lambda a, **k: warpkit.reduce(a, "max", 0, **k),
        "of bools": lambda a, **k: warpkit.reduce(a, dtype=bool, **k),
        "several": lambda a, **k: warpkit.reduce(a, ("min", "mean", "prod"), **k),
        "one of several": lambda a, **k: warpkit.reduce(a, ("nanmin",), **k),
        "transpose": warpkit.transpose,
        "records": lambda a, **k: warpkit.transpose(np.zeros((2, 3), "i4, i4"), **k),
        "stencil1d": lambda a, **k: warpkit.stencil1d(a, [1, 2], **k),
        "gradient1d": warpkit.gradient1d,
        "histogram": lambda a, **k: warpkit.histogram(a, 9, (-5, 5), **k),
        "bincount": lambda a, **k: warpkit.bincount(COUNTABLE, **k),
        "warp_histogram": warpkit.warp_histogram,
        "warp": lambda a, **k: warpkit.warp.shfl_up(a, 1, **k),
    }
    for put in where_results_may_lie(device):
        for name, call in calls.items():
            given = put(a)
            for got, want in zip(
                tuple_of(call(given, out=..., device=device)),
                tuple_of(call(given, device=device)),
                strict=True,
            ):
                assert type(got) is (np.ndarray if isinstance(want, np.generic) else type(want))
                assert_same(np.asarray(got), np.asarray(want))
                assert name in ("records", "bincount") or type(got) is type(given)
    with pytest.raises(TypeError, match="out must be"):
        warpkit.reduce(a, ("min", "max"), out=(..., ...), device=device)


def pairs_that_overlap(o):
    return [(o[:8], o[:8]), (o[:8], o[7:15]), (o[:8], o[7::-1]), (o[:16:2], o[2:18:2])]


def pairs_apart(o):
    return [
        (o[:8], o[8:16]),
        (o[0:16:2], o[1:16:2]),
        (o[14::-2], o[15::-2]),
        (o[1:25:3], o[2:25:3]),
    ]


def where_results_may_lie(device):
    yield lambda a: a
    if device != "cpu":
        yield lambda a: there(a, device)


def test_results_that_overlap_are_refused(device):
    a = values("float32", (8, 40))
    for put in where_results_may_lie(device):
        given = put(a)
        for i in range(4):
            o = put(np.full(40, 9.0, "f4"))
            with pytest.raises(ValueError, match=r"out\[0\] and out\[1\] overlap"):
                warpkit.reduce(
                    given, ("min", "max"), 1, out=pairs_that_overlap(o)[i], device=device
                )
            assert (np.asarray(o) == 9).all()
        values_, counts = put(np.zeros((10, 32), "f4")), put(np.zeros((10, 32), "i4"))
        totals = put(np.zeros(10, "i4"))
        for out in ((values_, values_.view("i4"), totals), (values_, counts, counts[3, :10])):
            with pytest.raises(ValueError, match="overlap"):
                warpkit.warp_histogram(given, out=out, device=device)
        one = put(np.zeros((), "f4"))
        with pytest.raises(ValueError, match="overlap"):
            warpkit.reduce(given, ("min", "max"), out=(one, one), device=device)


def test_results_woven_into_each_other_are_apart(device):
    a = values("float32", (8, 40))
    for put in where_results_may_lie(device):
        for i in range(4):
            o = put(np.full(40, 9.0, "f4"))
            least, most = pairs_apart(o)[i]
            warpkit.reduce(put(a), ("min", "max"), 1, out=(least, most), device=device)
            assert (np.asarray(least) == a.min(1)).all()
            assert (np.asarray(most) == a.max(1)).all()
            assert np.count_nonzero(np.asarray(o) == 9) == 24
        wide = put(np.zeros((5, 8, 4), "f4"))
        columns = wide[:, :, :2], wide[:, :, 2:]
        warpkit.reduce(put(a.reshape(5, 8, 4, 2)[:, :, ::2]), ("min", "max"), 3, out=columns)
        nothing = put(np.zeros((0, 3), "f4"))
        warpkit.reduce(put(np.zeros((0, 3, 2), "f4")), ("min", "max"), 2, out=(nothing, nothing))


def test_out_on_the_cpu_is_numpys(device):
    a = values("float64", (50, 40))
    out = np.full((40, 50), 1.0)
    assert warpkit.transpose(a, out=out, device=device) is out
    assert_same(out, np.ascontiguousarray(a.T))
    square = values("int32", (9, 9))
    want = square.T.copy()
    warpkit.transpose(square, out=square, device=device)  # as NumPy: as if it were apart
    assert_same(square, want)


def test_an_array_on_a_device_is_not_moved(gpu):
    d = there(np.arange(5.0), gpu)
    for other in ("cpu", f"{gpu.split(':')[0]}:7"):
        with pytest.raises(ValueError, match="lies on"):
            warpkit.reduce(d, device=other)
    with pytest.raises(ValueError, match="host"):
        warpkit.reduce(d, device=f"{gpu.split(':')[0]}:all")
    assert float(warpkit.reduce(d, device=gpu)) == 10


def test_results_are_the_next_calls_input(gpu):
    a = values("float32", (300, 200))
    d = there(a, gpu)
    for _ in range(50):
        d = warpkit.transpose(warpkit.stencil1d(d, [0.5, 0.25, 0.25], 1))
    want = a
    for _ in range(50):
        want = warpkit.transpose(
            warpkit.stencil1d(want, [0.5, 0.25, 0.25], 1, device="cpu"), device="cpu"
        )
    assert_same(d.numpy(), want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "uint64"])
def test_small_results_are_read_rightly_however_many_wait(gpu, dtype):
    arrays = [values(dtype, 100, seed) for seed in range(600)]  # more than there are mailboxes
    for op in ("sum", "min"):
        results = [warpkit.reduce(there(a, gpu), op) for a in arrays]
        wants = [warpkit.reduce(a, op, device="cpu") for a in arrays]
        del results[::3]  # some are never read
        del wants[::3]
        for r, w in zip(results, wants, strict=True):
            assert_same(r.numpy(), np.asarray(w))
            assert r.item() == w.item() or w != w
    out = there(np.zeros((), "uint64" if dtype in ("bool", "int8") else dtype), gpu)
    if dtype == "float32":
        for a, _ in zip(arrays, range(5), strict=False):
            warpkit.reduce(a, out=out)
            assert_same(out.numpy(), np.asarray(warpkit.reduce(a, device="cpu")))
            out[...] = 5  # not by a kernel of ours that writes to mailboxes
            assert float(out) == 5


def test_memory_is_given_back(gpu):
    gc.collect()
    warpkit.release_memory(gpu)
    before = warpkit.memory_info(gpu)["pool_used"]
    for _ in range(3):
        d = there(values("float32", (1000, 100)), gpu)
        parts = [d[i] for i in range(5)] + [d.T, warpkit.reduce(d, "sum", 0)]
        assert warpkit.memory_info(gpu)["pool_used"] >= before + d.nbytes
        del d, parts
    gc.collect()
    assert warpkit.memory_info(gpu)["pool_used"] == before
    assert warpkit.memory_info(gpu)["staging"] > 0
    warpkit.release_memory(gpu)
    assert warpkit.memory_info(gpu)["staging"] == 0


def test_a_child_of_a_fork_is_told(gpu):
    script = f"""
import os, sys, numpy as np, warpkit
d = warpkit.asarray(np.arange(1000.0), device={gpu!r})
r = warpkit.reduce(d)
if (pid := os.fork()) == 0:
    told = 0
    for call in (lambda: warpkit.reduce(d), d.numpy, d.copy, lambda: float(r),
                 lambda: warpkit.asarray([1.0], device={gpu!r})):
        try:
            call()
        except warpkit.DeviceError as error:
            told += "forked" in str(error)
    assert warpkit.reduce(np.arange(10), device="cpu") == 45
    del d, r
    os._exit(0 if told == 5 else 1)
assert os.waitpid(pid, 0)[1] == 0
assert float(r) == 499500
print(float(warpkit.reduce(d)))
"""
    assert python(script) == "499500.0\n"


def test_nothing_is_folded_over_any_number_of_axes(gpu):
    a = np.zeros((3,) * 20 + (1,), "i1")[(slice(None, None, 2),) * 20 + (slice(0, 0),)]
    for op, want in (("sum", 0), ("prod", 1)):
        got = warpkit.reduce(a, op, -1, device=gpu)
        assert got.shape == (2,) * 20
        assert (got == want).all()
    d = warpkit.empty((3,) * 12 + (0,), "f4", device=gpu)[::2, ::2, ::2, ::2, ::2]
    assert (warpkit.reduce(d, "sum", -1).numpy() == 0).all()


def test_overlapping_assignments_are_numpys(gpu):
    a = values("int32", (6, 6))
    d = there(a, gpu)
    d[...] = d.T
    assert_same(d.numpy(), np.ascontiguousarray(a.T))
    d[1:] = d[:-1]
    assert_same(d.numpy(), np.concatenate([a.T[:1], a.T[:-1]]))


@pytest.mark.parametrize("count", [*range(10), 65_535, 65_536, 65_537, 200_001])
def test_a_host_array_goes_to_any_address_and_nowhere_else(gpu, count):
    a, want = values("uint8", count), np.zeros(count + 8, "uint8")
    d = there(want, gpu)
    for first in range(5):
        part = slice(first, first + count)
        want[part], d[part] = a, a
        assert_same(d.numpy(), want)
        want[part], d[part] = 0, np.zeros(count, "uint8")


def test_a_read_only_array_is_not_written_to(gpu):
    d = there(np.zeros(4, "f4"), gpu)
    frozen = warpkit._core.foreign(d._pointer, (4,), None, "<f4", True, None, None, -1, d)
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        warpkit.reduce(there(np.ones((2, 4), "f4"), gpu), "sum", 0, out=frozen)
    assert not d.numpy().any()


def test_outs_lie_all_on_one_side(gpu):
    a = values("float32", 64)
    outs = [np.zeros((2, 32), "f4"), np.zeros((2, 32), "i4"), np.zeros(2, "i4")]
    mixed = (outs[0], there(outs[1], gpu), outs[2])
    with pytest.raises(ValueError, match="whole"):
        warpkit.warp_histogram(a, out=mixed, device=gpu)


def test_out_may_share_memory_with_the_coefficients(device):
    buffer = values("float64", 50_000)
    a = values("float64", 50_000, 1)
    want = warpkit.stencil1d(a, buffer[:5].copy(), device="cpu")
    warpkit.stencil1d(a, buffer[:5], out=buffer, device=device)
    assert_same(buffer, want)


def test_a_result_may_be_read_and_handed_on_at_once(gpu):
    """A thread reads results from mailboxes while another exports them, which forgets those."""
    a = values("float32", 1000)
    d, want = there(a, gpu), warpkit.reduce(a, device="cpu")
    box, stop, wrong = [warpkit.reduce(d)], threading.Event(), []

    def export():
        while not stop.is_set():
            box[0].__dlpack__()

    thread = threading.Thread(target=export)
    thread.start()
    try:
        for _ in range(300):
            box[0] = result = warpkit.reduce(d)
            if float(result) != want:
                wrong.append(float(result))
    finally:
        stop.set()
        thread.join()
    assert not wrong


def test_small_pinned_memory_may_be_changed_when_asarray_returns(device):
    if not device.startswith("cuda"):
        pytest.skip("copies on the emulated device are done when they return")
    cupy = pytest.importorskip("cupy")
    busy = there(values("float32", 2**26), device)
    for seed in range(20):
        memory = cupy.cuda.alloc_pinned_memory(4000)
        a = np.frombuffer(memory, np.float32, 1000)
        a[:] = want = values("float32", 1000, seed)
        warpkit.reduce(busy)  # the copy has to wait for it
        d = there(a, device)
        a[:] = -1
        assert_same(d.numpy(), want)


# ---- several devices ---------------------------------------------------------------------------

SEVERAL = """
import numpy as np, warpkit, sys
sys.path.insert(0, {tests!r})
from helpers import assert_same, values
n = int({count})
assert warpkit.devices()[1:] == ["emu", *(f"emu:{{i}}" for i in range(1, n))], warpkit.devices()
a = values("float32", (60, 41, 37))
for device in ("emu:all", [f"emu:{{i}}" for i in range(n)], ["emu:1", "emu"], ("emu:1",)):
    for name, call in {{
        "sum": lambda **k: warpkit.reduce(a, **k),
        "max": lambda **k: warpkit.reduce(a, "max", 1, **k),
        "mean": lambda **k: warpkit.reduce(a[::-1, ::2], "mean", (0, 2), **k),
        "transpose": lambda **k: warpkit.transpose(a, (2, 0, 1), **k),
        "stencil": lambda **k: warpkit.stencil1d(a, [1, 2, 1], 0, mode="wrap", **k),
        "histogram": lambda **k: warpkit.histogram(a, 20, **k)[0],
        "bincount": lambda **k: warpkit.bincount(np.abs(a.ravel()).astype(int), **k),
        "warps": lambda **k: warpkit.warp_histogram(a, **k)[1],
        "some": lambda **k: warpkit.reduce(a, "var", where=a > 0, **k),
        "some of each": lambda **k: warpkit.reduce(a.T, "sum", 1, where=a.T < 9, **k),
        "weights": lambda **k: warpkit.histogram(a, 20, weights=a[::-1], **k)[0],
        "many weights": lambda **k: warpkit.histogram(a, 5000, weights=a * 1j, **k)[0],
    }}.items():
        assert_same(call(device=device), call(device="cpu"))
d = warpkit.asarray(a, device="emu:1")
assert d.device == "emu:1"
r = warpkit.reduce(d, "sum", 0)
assert r.device == "emu:1"
assert_same(r.numpy(), warpkit.reduce(a, "sum", 0, device="cpu"))
assert warpkit.asarray(d, device="emu").device == "emu"
for bad, error in ((["emu", "emu"], ValueError), ([], ValueError), (["emu:9"], warpkit.DeviceError),
                   (["cpu", "emu"], ValueError), ([3], TypeError)):
    try:
        warpkit.reduce(a, device=bad)
    except error:
        pass
    else:
        raise AssertionError(bad)
try:
    warpkit.reduce(d, out=warpkit.empty((), "f4", device="emu"))
except ValueError as e:
    assert "lies on" in str(e)
else:
    raise AssertionError
print("done")
"""


@pytest.mark.unsanitized
@pytest.mark.parametrize("count", [2, 5])
def test_several_gpus_give_the_bits_of_one(device, count):
    if device != "emu":
        pytest.skip("on the emulated device, of which there are as many as asked for")
    env = {"WARPKIT_EMU_DEVICES": str(count), "WARPKIT_PIECE": "4096", "WARPKIT_EMU_LATE": "2"}
    script = SEVERAL.format(tests=os.path.dirname(__file__), count=count)
    assert python(script, env=env) == "done\n"


def test_all_gpus_present_give_the_cpus_bits(gpu, setting):
    setting("WARPKIT_PIECE", "4096")
    everything = f"{gpu.split(':')[0]}:all"
    a = values("float64", (60, 411))
    for op in ("sum", "min"):
        for axis in (None, 0, 1):
            got = warpkit.reduce(a, op, axis, device=everything)
            assert_same(got, warpkit.reduce(a, op, axis, device="cpu"))
    assert_same(warpkit.transpose(a, device=everything), np.ascontiguousarray(a.T))


# ---- when something fails ----------------------------------------------------------------------

FAILING = """
import os, numpy as np, warpkit, sys
sys.path.insert(0, {tests!r})
from helpers import assert_same, values
a = values("float32", (300, 100))
calls = [
    lambda: warpkit.reduce(a, "sum", device="emu"),
    lambda: warpkit.reduce(a, "max", 1, device="emu"),
    lambda: warpkit.transpose(a, device="emu"),
    lambda: warpkit.histogram(a, 9, (0, 1), device="emu")[0],
    lambda: warpkit.stencil1d(a, [1, 2], device="emu"),
    lambda: warpkit.asarray(a, device="emu").numpy(),
    lambda: warpkit.reduce(warpkit.asarray(a[:9], device="emu"), "sum", 0).numpy(),
    lambda: warpkit.reduce(a[:2], "sum", device="emu"),
]
want = [call() for call in calls]
warpkit.release_memory("emu")
used = warpkit.memory_info("emu")["pool_used"]
failed = 0
def fail(which):
    os.environ["WARPKIT_EMU_FAIL"] = which
    warpkit._core.read_settings()
for function in ("cudaMallocFromPoolAsync", "cudaHostAlloc", "cudaMemcpyAsync", "cudaEventQuery",
                 "cudaEventRecord", "cudaLaunchKernelEx", "cudaStreamWaitEvent",
                 "cudaStreamSynchronize", "cudaMemsetAsync", "cudaFreeAsync"):
    for nth in (1, 2, 9):
        for call, right in zip(calls, want):
            fail("")
            warpkit.release_memory("emu")
            fail(f"{{function}}:{{nth}}")
            try:
                assert_same(np.asarray(call()), np.asarray(right))
            except (warpkit.DeviceError, MemoryError) as error:
                failed += 1
            fail("")
            assert_same(np.asarray(call()), np.asarray(right))  # the next call works
            warpkit.release_memory("emu")
            now = warpkit.memory_info("emu")["pool_used"]
            if function != "cudaFreeAsync":
                assert now == used, (function, nth, calls.index(call), now - used)
            used = now
print(failed > 30)
"""


@pytest.mark.unsanitized
@pytest.mark.parametrize("pieces", ["1000000", "4096"])
def test_a_failure_anywhere_is_an_exception_and_the_next_call_works(device, pieces):
    if device != "emu":
        pytest.skip("the emulated device can be told to fail")
    script = FAILING.format(tests=os.path.dirname(__file__))
    assert python(script, env={"WARPKIT_PIECE": pieces}) == "True\n"
