"""Every operation over hostile arrays, to the bit, on every device under test."""

import contextlib
import itertools

import numpy as np
import pytest
import warpkit
from helpers import FOLDS, MODES, assert_same, poison
from warpkit import reference, testing

# numpy.matrix is deprecated, and still found in old code.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
NATIVE = ["float32", "float64", "int16", "uint8"]
LINES = [
    n
    for n in testing.ARRAYS
    if n != "matrix" and len(np.shape(testing.hostile_array(n, "u1"))) == 1
]

over_arrays = pytest.mark.parametrize("name", testing.ARRAYS)
over_lines = pytest.mark.parametrize("name", LINES)
# long long is a type of its own beside int64, and equal to it.
over_dtypes = pytest.mark.parametrize("dtype", [*NATIVE, "bool", "uint64", np.longlong])


def sets_of_axes(ndim):
    """All for a few axes, else some."""
    if ndim > 8:
        return [None, (), (30,), (ndim - 1, 30), tuple(range(ndim))]
    sets = [c for k in range(ndim + 1) for c in itertools.combinations(range(ndim), k)]
    return [None, *(sets if ndim < 4 else sets[:: len(sets) // 12])]


@over_arrays
@over_dtypes
def test_folds_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    ndim = np.ndim(a)
    ops = FOLDS if np.asarray(a).dtype.kind != "f" else ("sum", "min", "max", "mean")
    for op, axes in itertools.product(ops, sets_of_axes(ndim)):
        nothing = 0 in [np.shape(a)[d] for d in (range(ndim) if axes is None else axes)]
        if nothing and op in ("min", "max"):
            with pytest.raises(ValueError, match="which has no identity"):
                warpkit.reduce(a, op, axes, device=device)
            continue
        empty_mean = pytest.warns(RuntimeWarning, match=r"^Mean of empty slice$")
        with empty_mean if nothing and op == "mean" else contextlib.nullcontext():
            got = warpkit.reduce(a, op, axes, keepdims=ndim % 2 == 1, device=device)
        assert_same(got, reference.reduce(a, op, axes, keepdims=ndim % 2 == 1))


@over_arrays
@over_dtypes
def test_transposes_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    ndim = np.ndim(a)
    orders = [None, range(ndim), *itertools.islice(itertools.permutations(range(ndim)), 0, 720, 17)]
    for axes in orders:
        axes = axes and list(axes)
        want = reference.transpose(a, axes)
        poison(want)
        assert_same(warpkit.transpose(a, axes, device=device), want)


@over_arrays
@over_dtypes
def test_stencils_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    taps = np.array([0.5, -1.25, 1 / 3, 2.0])[::-1]
    for axis, mode in zip(range(np.ndim(a)), itertools.cycle(MODES)):
        want = reference.stencil1d(a, taps, axis, mode, 1.5, -1)
        poison(want)
        got = warpkit.stencil1d(a, taps, axis, mode=mode, cval=1.5, origin=-1, device=device)
        assert_same(got, want)


@over_lines
@pytest.mark.parametrize("dtype", [*NATIVE, "uint64", np.longlong])
def test_hostile_coefficients_are_taken(name, dtype, device):
    taps = testing.hostile_array(name, dtype)
    if np.size(taps) == 0:
        with pytest.raises(RuntimeError, match="no filter weights"):
            warpkit.stencil1d([1.0, 2.0], taps, device=device)
        return
    a = np.array([0.5, -3.0, 7.0, 1.0])
    assert_same(
        warpkit.stencil1d(a, taps, mode="wrap", device=device),
        reference.stencil1d(a, taps, mode="wrap"),
    )


@over_arrays
@over_dtypes
def test_histograms_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    top = 100 if np.asarray(a).dtype.kind != "b" else 1
    for bins, interval in ((7, (0, top)), (3000, (0, top)), ([0, 1, 1.5, 50, 120], None)):
        want = reference.histogram(a, bins, interval)
        poison(want[0])
        got = warpkit.histogram(a, bins, interval, device=device)
        for mine, theirs in zip(got, want, strict=True):
            assert_same(mine, theirs)


@over_arrays
@pytest.mark.parametrize("dtype", NATIVE)
def test_ranges_are_found_in_hostile_data(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    counts, edges = warpkit.histogram(a, 7, device=device)
    want_counts, want_edges = reference.histogram(a, 7)
    assert_same(counts, want_counts)
    assert_same(edges, want_edges)
    assert counts.sum() == np.size(a)


@over_lines
@pytest.mark.parametrize("dtype", NATIVE)
def test_hostile_edges_are_taken(name, dtype, device):
    edges = testing.hostile_array(name, dtype)
    if np.size(edges) == 0:
        edges = [1, 2]
    edges[:] = sorted(edges)  # in place: the strides stay
    a = np.linspace(-50, 50, 1001)
    counts, same_edges = warpkit.histogram(a, edges, device=device)
    assert_same(counts, reference.histogram(a, edges)[0])
    np.testing.assert_array_equal(same_edges, edges)


@over_lines
@pytest.mark.parametrize("dtype", ["uint8", "bool", "int16", np.longlong])
def test_bincounts_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    if np.size(a) and np.asarray(a).dtype.kind == "i":
        a[:] = [x % 100 for x in a]  # in place: the strides stay
    assert_same(warpkit.bincount(a, device=device), reference.bincount(a))


@over_arrays
@over_dtypes
def test_warp_histograms_are_the_oracles(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    want = reference.warp_histogram(a)
    poison(*want)
    for mine, theirs in zip(warpkit.warp_histogram(a, device=device), want, strict=True):
        assert_same(mine, theirs)


@over_arrays
@over_dtypes
def test_input_is_left_as_it_was(name, dtype, device):
    a = testing.hostile_array(name, dtype)
    before = np.array(a, copy=True).tobytes()
    warpkit.transpose(a, device=device)
    warpkit.reduce(a, device=device)
    warpkit.warp_histogram(a, device=device)
    assert np.array(a, copy=True).tobytes() == before


def test_any_byte_but_0_is_true(device):
    """Bytes read from a file may be viewed as bool; only their transpose keeps the bits."""
    odd = np.array([0, 1, 2, 128, 255, 0, 64], np.uint8).view(bool)
    plain = odd.view(np.uint8) != 0
    for op in FOLDS:
        assert_same(warpkit.reduce(odd, op, device=device), reference.reduce(plain, op))
    assert_same(warpkit.bincount(odd, device=device), reference.bincount(plain))
    for bins in (2, [0, 1, 2, 3]):
        counts, _ = warpkit.histogram(odd, bins, device=device)
        assert_same(counts, reference.histogram(plain, bins)[0])
    got = warpkit.warp_histogram(odd, device=device)
    for mine, theirs in zip(got, reference.warp_histogram(plain), strict=True):
        assert_same(mine, theirs)
    taps = [0.5, 1.0, 0.5]
    assert_same(warpkit.stencil1d(odd, taps, device=device), reference.stencil1d(plain, taps))
    assert warpkit.transpose(odd, device=device).tobytes() == odd.tobytes()
