"""What a DeviceArray does as NumPy's arrays do: shapes, reductions, copies, pickles, new arrays."""

import copy
import itertools
import operator
import pickle
import weakref

import numpy as np
import pytest
import warpkit
from helpers import assert_same


@pytest.fixture
def gpu(device):
    """A device that has memory of its own."""
    if device == "cpu":
        pytest.skip("the CPU's arrays are NumPy's")
    return device


LAYOUTS = {
    "whole": lambda a: a,
    "turned": lambda a: a.transpose(2, 0, 1),
    "steps": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, :, ::-1],
    "first axis": lambda a: a[::2],
    "one of an axis": lambda a: a[:, 1:2],
    "new axes": lambda a: a[None, :, :, None],
    "empty": lambda a: a[:, :0],
    "one": lambda a: a[1, 2, 3, ...],
}


def numbers(shape=(4, 6, 5), dtype="float32"):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def new_shapes(size):
    yield (-1,)
    if size:
        for k in range(2, 13):
            if size % k == 0:
                yield from ((k, -1), (-1, k), (1, k, 1, -1, 1))
                if size // k % 2 == 0:
                    yield from ((2, k, -1), (k, -1, 2))
    else:
        yield from ((0,), (3, 0, 2))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reshape_gives_a_view_where_numpy_does(gpu, layout):
    a = numbers()
    d = warpkit.asarray(a, device=gpu)
    x, y = LAYOUTS[layout](a), LAYOUTS[layout](d)
    for shape in new_shapes(x.size):
        want, got = x.reshape(shape), y.reshape(shape)
        assert_same(got.numpy(), want)
        assert got.shape == want.shape
        if x.size:
            assert _same_memory(got, d) == np.shares_memory(want, a)
        if np.shares_memory(want, a):
            assert got.strides == want.strides
            assert_same(y.reshape(*shape, copy=False).numpy(), want)
        elif x.size:
            with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
                y.reshape(shape, copy=False)
        assert not x.size or not _same_memory(y.reshape(shape, copy=True), d)
    assert_same(y.ravel().numpy(), x.ravel())
    assert_same(np.reshape(y, -1).numpy(), x.reshape(-1))


def _same_memory(got, d):
    return d._pointer <= got._pointer < d._pointer + d.nbytes


def test_reshape_refuses_what_numpy_refuses(gpu):
    a = numbers()
    d = warpkit.asarray(a, device=gpu)
    for shape in ((7, -1), (4, 6), (-1, -1), (120, 2)):
        for x in (a, d):
            with pytest.raises(ValueError, match=r"reshape|unknown dimension"):
                x.reshape(shape)
    with pytest.raises(ValueError, match="order 'C', not 'F'"):
        d.reshape(-1, order="F")
    for bad in ("ab", 1.5):
        with pytest.raises(TypeError):
            d.reshape(bad)


def test_transpose_is_a_view(gpu):
    a = numbers()
    d = warpkit.asarray(a, device=gpu)
    for axes in ((), (None,), ((1, 2, 0),), (1, 2, 0), (0, -1, 1), ([2, 0, 1],)):
        got = d.transpose(*axes)
        assert_same(got.numpy(), a.transpose(*axes))
        assert _same_memory(got, d)
    assert_same(np.transpose(d, (2, 1, 0)).numpy(), a.T)
    for axes in ((0, 1), (0, 0, 1), (0, 1, 3)):
        for x in (a, d):
            with pytest.raises(ValueError, match=r"axes don't match|ax[ie]s"):
                x.transpose(axes)


REDUCTIONS = ("sum", "prod", "min", "max", "ptp", "mean", "var", "std", "any", "all")


@pytest.mark.parametrize("op", [*REDUCTIONS, "argmin", "argmax"])
def test_numpys_functions_reduce_where_the_array_lies(gpu, op):
    d = warpkit.asarray(numbers(), device=gpu)
    axes = (None, 0, -1) if op.startswith("arg") else (None, 0, -1, (0, 2))
    for axis, keepdims in itertools.product(axes, (False, True)):
        want = warpkit.reduce(d, op, axis, keepdims=keepdims)
        found = [getattr(d, op)(axis, keepdims=keepdims)]
        if op != "ptp":  # which NumPy computes of what numpy.asarray gives it
            found.append(getattr(np, op)(d, axis, keepdims=keepdims))
        for got in found:
            assert isinstance(got, warpkit.DeviceArray)
            assert got.device == d.device
            assert_same(got.numpy(), want.numpy())
    out = warpkit.empty_like(want)
    assert getattr(d, op)(axis, out=out, keepdims=True) is out
    assert_same(out.numpy(), want.numpy())


def test_reductions_take_the_arguments_of_numpys_methods(gpu):
    a = numbers()
    d = warpkit.asarray(a, device=gpu)
    where = a > 0
    for got, want in (
        (d.sum(0, "float64"), warpkit.reduce(a, axis=0, dtype="float64")),
        (np.sum(d, initial=2.0), warpkit.reduce(a, initial=2.0)),
        (np.max(d, where=where, initial=0), a.max(where=where, initial=0)),
        (np.std(d, ddof=1), warpkit.reduce(a, "std", ddof=1)),
        (np.mean(d, where=where), warpkit.reduce(a, "mean", where=where)),
        (np.mean(d, dtype=np.float64), warpkit.reduce(a, "mean", dtype="float64")),
        (d.any(where=where), a.any(where=where)),
    ):
        assert_same(got.numpy(), np.asarray(want))


def test_copies_pickles_and_weak_references(gpu):
    a = numbers()
    d = warpkit.asarray(a, device=gpu)[:, ::2]
    for other in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert isinstance(other, warpkit.DeviceArray)
        assert other.device == d.device
        assert_same(other.numpy(), a[:, ::2])
        other[...] = 0
    assert_same(d.numpy(), a[:, ::2])
    half = pickle.loads(pickle.dumps(warpkit.asarray(a.astype("float16"), device=gpu)))
    assert_same(half.numpy(), a.astype("float16"))
    gone = []
    weakref.finalize(d, gone.append, 1)
    del d
    assert gone == [1]


def test_casts_and_lists(gpu):
    a = numbers() * 10
    d = warpkit.asarray(a, device=gpu)
    for dtype in ("float64", "int32", "bool", "complex64", "float16"):
        got = d.astype(dtype)
        assert got.device == d.device
        assert_same(got.numpy(), a.astype(dtype))
    assert d.astype("float32", copy=False) is d
    assert d.astype("float32") is not d
    assert d.tolist() == a.tolist()
    assert d[1, 2, 3].tolist() == a[1, 2, 3].tolist()
    with pytest.raises(TypeError):
        d.astype("U3")


def test_new_arrays_of_one_value(gpu):
    assert_same(warpkit.zeros((3, 4), "int32", device=gpu).numpy(), np.zeros((3, 4), "int32"))
    assert_same(warpkit.zeros(5, device=gpu).numpy(), np.zeros(5))
    assert_same(warpkit.full((3, 4), 7, device=gpu).numpy(), np.full((3, 4), 7))
    assert_same(warpkit.full((), 2.5, "float32", device=gpu).numpy(), np.full((), 2.5, "float32"))
    rows = warpkit.full((3, 4), [1, 2, 3, 4], "float64", device=gpu)
    assert_same(rows.numpy(), np.full((3, 4), [1, 2, 3, 4], "float64"))
    rows[1:, ::2] = 9
    want = np.full((3, 4), [1, 2, 3, 4], "float64")
    want[1:, ::2] = 9
    assert_same(rows.numpy(), want)
    like = warpkit.empty_like(rows[:, :2])
    assert (like.shape, like.dtype, like.device) == ((3, 2), np.float64, rows.device)
    host = warpkit.empty_like(want, "int8", device=gpu)
    assert (host.shape, host.dtype, host.device) == ((3, 4), np.int8, rows.device)
    with pytest.raises(ValueError, match="broadcast"):
        warpkit.full((3, 4), [1, 2, 3], device=gpu)
    with pytest.raises(TypeError):
        warpkit.full(3, "x", device=gpu)


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv]
ARITHMETIC += [operator.mod, operator.pow, operator.matmul, operator.lshift, operator.rshift]
ARITHMETIC += [operator.and_, operator.or_, operator.xor]


@pytest.mark.parametrize("compute", ARITHMETIC)
def test_arithmetic_is_refused_with_the_way_out(gpu, compute):
    d = warpkit.asarray(np.arange(1, 5), device=gpu)
    for left, right in ((d, d), (d, 2), (2, d), (d, None), (object(), d)):
        with pytest.raises(TypeError, match=r"adds nothing.*cupy.asarray.*torch.from_dlpack"):
            compute(left, right)
    a = np.arange(2, 6)  # NumPy has an answer, on the host
    assert_same(compute(d, a), compute(np.arange(1, 5), a))
    assert_same(compute(a, d), compute(a, np.arange(1, 5)))


def test_signs_and_truth(gpu):
    d = warpkit.asarray(np.arange(3.0), device=gpu)
    for compute in (operator.neg, operator.pos, abs, operator.invert):
        with pytest.raises(TypeError, match="adds nothing"):
            compute(d)
    with pytest.raises(TypeError, match="adds nothing"):
        d += 1
