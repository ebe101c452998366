"""Partials: parts of an array, merged in any way, give the bits of all at once."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction

import helpers
import numpy as np
import pytest
import warpkit
from attack.partials import CASES, check_case, ends
from helpers import COMPLEX, INTEGERS, REALS, assert_same_bits

EXACT = ("sum", "mean", "var", "std", "norm", "sumsq")
OPS = (*EXACT, "min", "max", "ptp", "any", "all", "count_nonzero", "argmin", "argmax")
SEVERAL = ("sum", "std", "min", "max", "count_nonzero")


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 50
    if dtype in COMPLEX:
        x = x + 1j * rng.normal(size=shape)
    x = x.astype(dtype) if dtype != "bool" else x > 0
    if dtype in INTEGERS and dtype != "bool":
        info = np.iinfo(dtype)
        x.reshape(-1)[::7] = info.max if info.min == 0 else info.min
    return x


# ---- any parts, any order ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_random_partitions_of_hard_numbers_have_the_bits_of_all(seed):
    check_case(seed, helpers.devices)


def test_every_kind_of_case_is_among_the_quick_ones():
    assert {seed % len(CASES) for seed in range(24)} == set(range(len(CASES)))


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS, *COMPLEX])
def test_every_dtype_and_op(dtype, device):
    x = numbers(dtype, (9, 70))
    for op, axis in itertools.product((*OPS, "prod", SEVERAL), (None, 0, 1)):
        if (op == "prod" and dtype not in INTEGERS) or (op == "ptp" and dtype == "bool"):
            continue
        if axis == 0:
            parts, places = [x[:2], x[2:2], x[2:]], (0, 2, 2)
        elif axis == 1:
            parts, places = [x[:, :30], x[:, 30:31], x[:, 31:]], (0, 30, 31)
        else:
            flat = x.reshape(-1)
            parts, places = [flat[:500], flat[500:501], flat[501:]], (0, 500, 501)
        found = [
            warpkit.partial(part, op, axis, offset=place, device=device)
            for part, place in zip(parts, places, strict=True)
        ]
        result = warpkit.merge(reversed(found)).finish()
        wanted = warpkit.reduce(x, op, axis, device="cpu")
        assert_same_bits(result, wanted)


@pytest.mark.parametrize("dtype", [*REALS, "int64", "complex64"])
def test_words_are_the_same_on_every_device(dtype, device):
    x = numbers(dtype, (40, 50))
    for op, axis in itertools.product((*EXACT, "min", "argmax", SEVERAL), (None, 0, 1)):
        here = warpkit.partial(x, op, axis, device="cpu")
        there = warpkit.partial(x, op, axis, device=device)
        np.testing.assert_array_equal(here.words, there.words, f"{op} {axis}")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_squares_of_halves_that_lie_apart(dtype, device):
    """As far as a double holds the digits of all, and farther."""
    x = np.random.default_rng(5).uniform(1.9, 2, (24, 64))
    x[:, ::9] *= 2.0 ** -np.arange(24)[:, np.newaxis]
    for a in (x.astype(dtype), np.asfortranarray(x.astype(dtype))):
        for op in ("sumsq", "sum"):
            here = warpkit.partial(a, op, 1, device="cpu").words
            there = warpkit.partial(a, op, 1, device=device).words
            np.testing.assert_array_equal(here, there, op)


def test_where_and_skipped_nan(device):
    rng = np.random.default_rng(1)
    x = rng.normal(size=300).astype(np.float32)
    x[::11] = np.nan
    mask = rng.integers(0, 2, 300).astype(bool)
    for op in ("nansum", "nanmean", "nanstd", "nanmin", "nanmax", "sum", "min"):
        found = warpkit.merge(
            warpkit.partial(x[i : i + 50], op, where=mask[i : i + 50], device=device)
            for i in range(0, 300, 50)
        ).finish()
        assert_same_bits(found, warpkit.reduce(x[mask], op, device="cpu"))


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS, *COMPLEX])
def test_groups(dtype, device):
    """Of each key the bits of its elements, whatever parts they are in."""
    rng = np.random.default_rng(5)
    x, keys = numbers(dtype, 9000), rng.integers(0, 30, 9000)
    keys[1000:6000] = 17  # more than are filled up
    cuts = [slice(0, 2500), slice(2500, 2500), slice(2500, 2501), slice(2501, None)]
    for op in (*EXACT, "min", "max", "any", "all", "count_nonzero", SEVERAL):
        ops = {"keys": keys, "groups": 31, "op": op, "ddof": 1, "device": device}
        found = warpkit.merge(
            warpkit.partial(x[cut], **(ops | {"keys": keys[cut]})) for cut in cuts
        )
        assert_same_bits(found.words, warpkit.partial(x, **ops).words)
        for key in (0, 17, 29):
            own = warpkit.partial(x[keys == key], op, ddof=1)
            assert_same_bits(found.words[key], own.words)
        nothing = warpkit.partial(x[:0], op, ddof=1)
        assert_same_bits(found.words[30], nothing.words)


@pytest.mark.parametrize("dtype", [*INTEGERS, *REALS, *COMPLEX])
def test_places_and_ranges_of_groups(dtype, device):
    """Alone or with others, and places in the whole, whatever the parts and their order."""
    rng = np.random.default_rng(6)
    x, keys = numbers(dtype, (60, 90)), rng.integers(0, 7, (60, 90))
    x[:, ::2] = x[0, 0]  # equals
    keys[:20, 10:70] = 3
    several = ("argmax", "mean", "ptp", "min", "argmin", "nanargmax")
    several = tuple(op for op in several if op != "ptp" or x.dtype != bool)
    for op in (several, *several):
        how = {"op": op, "groups": 7, "device": device}
        parts = [
            warpkit.partial(x[box], keys=keys[box], offset=(corner, x.shape), **how)
            for box, corner in (
                (np.s_[:25], (0, 0)),
                (np.s_[25:, :1], (25, 0)),
                (np.s_[25:, 1:], (25, 1)),
            )
        ]
        found = warpkit.merge(reversed(parts))
        assert_same_bits(found.words, warpkit.partial(x, keys=keys, **how).words)
        if op in ("argmax", "argmin", "ptp"):
            assert_same_bits(found.finish(), warpkit.group_reduce(keys, x, op, 7, device="cpu"))
    cut, of = x.reshape(-1)[99:], keys.reshape(-1)[99:]
    found, moved = (
        warpkit.partial(cut, "argmin", keys=of, groups=7, offset=first) for first in (0, 99)
    )
    assert_same_bits(found.finish() + 99, moved.finish())


@pytest.mark.parametrize("op", ["argmin", "argmax", "ptp", "nanargmin"])
def test_an_empty_group_has_neither_place_nor_range(op):
    with pytest.raises(ValueError, match=r"empty sequence|zero-size array|All-NaN"):
        warpkit.partial([1.0, 2.0], op, keys=[0, 2], groups=3).finish()


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"keys": [0, 3]}, TypeError, "groups must say how many keys there may be"),
        ({"keys": [0, 3], "groups": 3}, ValueError, r"key 3 at index 1 is none of 0 \.\. 2"),
        ({"keys": [0, -1], "groups": 3}, ValueError, "key -1 at index 1"),
        ({"keys": [0, 0.5], "groups": 3}, TypeError, "keys must be integers, not float64"),
        ({"keys": [0], "groups": 3}, ValueError, r"shape \(1,\) do not go with an array of \(2,\)"),
        ({"keys": [0, 1], "groups": -1}, ValueError, "groups must not be negative, not -1"),
        (
            {"keys": [0, 1], "groups": 2, "axis": 0},
            TypeError,
            "keys go with neither axis nor where",
        ),
        (
            {"keys": [0, 1], "groups": 2, "op": "bincount"},
            TypeError,
            "nor with histogram and bincount",
        ),
    ],
)
def test_keys_that_do_not_go(how, error, words):
    with pytest.raises(error, match=words):
        warpkit.partial([1, 2], **how)


def test_parts_of_a_box_know_where_their_extremes_lie():
    x = np.random.default_rng(2).integers(0, 9, (12, 14, 5))
    for axis, op in itertools.product((None, 0, 1, 2), ("argmin", "argmax")):
        parts = {}
        for i, j in itertools.product(range(0, 12, 5), range(0, 14, 6)):
            box = (slice(i, i + 5), slice(j, j + 6))
            other = None if axis in (None, 2) else (j if axis == 0 else i)
            kept = (i, j) if axis == 2 else other
            p = warpkit.partial(x[box], op, axis, offset=((i, j, 0), x.shape))
            parts.setdefault(kept, []).append((box, p))
        wanted = getattr(x, op)(axis)
        for own in parts.values():
            index = own[0][0] if axis == 2 else (own[0][0][1 - axis],) if axis in (0, 1) else ()
            found = warpkit.merge(p for _, p in own).finish()
            np.testing.assert_array_equal(found, wanted[index])


def test_many_axes_and_strides(device):
    x = numbers("float32", (2,) * 11)[::-1]
    for axis in (None, (0, 3, 5), 10):
        found = warpkit.partial(x, SEVERAL, axis, device=device).finish()
        assert_same_bits(found, warpkit.reduce(x, SEVERAL, axis, device="cpu"))


# ---- histograms --------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "float32", "float64", "int64", "complex64"])
def test_histograms_and_their_weights(weights, device):
    rng = np.random.default_rng(3)
    x = rng.normal(size=3000).astype(np.float32)
    w = None
    if weights is not None:
        wide = rng.normal(size=3000) * 10.0 ** rng.integers(-18, 18, 3000)
        w = (wide if weights != "int64" else rng.integers(-9, 9, 3000)).astype(weights)
        if weights != "int64":
            w[5] = np.inf
    for bins, limits in ((12, (-2, 2)), (np.array([-1.0, 0, 0.5]), None)):
        parts = [
            warpkit.partial(
                x[i:j],
                "histogram",
                bins=bins,
                range=limits,
                weights=None if w is None else w[i:j],
                device=where,
            )
            for (i, j), where in zip(
                ((0, 0), (0, 700), (700, 3000)), ("cpu", device, device), strict=True
            )
        ]
        counts, edges = warpkit.merge(parts[::-1]).finish()
        wanted = warpkit.histogram(x, bins, limits, weights=w, device="cpu")
        assert_same_bits(counts, wanted[0])
        assert_same_bits(edges, wanted[1])


@pytest.mark.parametrize("weights", [None, "float32", "int64"])
def test_bincounts_of_any_length(weights, device):
    rng = np.random.default_rng(4)
    x = np.sort(rng.integers(0, 60, 900))
    w = None if weights is None else (rng.normal(size=900) * 9).astype(weights)
    parts = [
        warpkit.partial(
            x[i : i + 300], "bincount", weights=None if w is None else w[i : i + 300], device=device
        )
        for i in (0, 300, 600)
    ]
    assert len({p.shape for p in parts}) == 3
    assert_same_bits(warpkit.merge(parts).finish(), warpkit.bincount(x, w, device="cpu"))


# ---- words -------------------------------------------------------------------------------------


def test_words_that_others_have_summed_are_a_partial():
    x = np.random.default_rng(5).normal(size=4000)
    parts = [warpkit.partial(x[i : i + 100], ("sum", "var")) for i in range(0, 4000, 100)]
    assert set(parts[0].how) == {"sum"}
    total = np.sum([p.words for p in parts], axis=0)
    found = warpkit.Partial.from_words(total, parts[0], len(parts)).finish()
    assert found == warpkit.reduce(x, ("sum", "var"))
    np.testing.assert_array_equal(
        warpkit.Partial.from_words(total, parts[0], 40).words, warpkit.merge(parts).words
    )


def test_words_take_2_to_the_31_parts():
    """Of the largest sums that there are."""
    x = np.full(3, np.finfo(np.float64).max)
    p = warpkit.partial(x, ("sum", "mean", "norm"))
    many = warpkit.Partial.from_words(p.words * 2**31, p, 2**31)
    assert many.finish().mean == x[0]
    assert many.finish().sum == np.inf
    assert warpkit.partial(-x).words.max() < 2**32


def test_minima_and_maxima_merge_by_their_own_reductions():
    x = np.random.default_rng(6).normal(size=60)
    parts = [warpkit.partial(x[i : i + 20], ("min", "max", "mean")) for i in (0, 20, 40)]
    words, how = np.stack([p.words for p in parts]), parts[0].how
    merged = np.empty_like(words[0])
    for name, f in (("sum", np.sum), ("min", np.min), ("max", np.max)):
        merged[how == name] = f(words[:, how == name], axis=0)
    found = warpkit.Partial.from_words(merged, parts[0], 3).finish()
    assert found == warpkit.reduce(x, ("min", "max", "mean"))


def test_pickles_and_any_tree_of_merges():
    x = np.random.default_rng(7).normal(size=64) * 10.0 ** np.arange(-160, 160, 5)
    parts = [pickle.loads(pickle.dumps(warpkit.partial(x[i : i + 4]))) for i in range(0, 64, 4)]
    left = parts[0]
    for p in parts[1:]:
        left = left + p
    while len(parts) > 1:
        parts = [parts[i] + parts[i + 1] for i in range(0, len(parts), 2)]
    np.testing.assert_array_equal(left.words, parts[0].words)
    assert left.finish() == math.fsum(x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_are_those_of_fractions(dtype, device):
    rng = np.random.default_rng(8)
    x = ends(rng, dtype, 257)
    exact = sum(map(Fraction, x.astype(float).tolist()))
    found = warpkit.merge(
        warpkit.partial(x[i : i + 19], device=device) for i in range(0, 257, 19)
    ).finish()
    near = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        others = [np.nextafter(found, near(np.inf)), np.nextafter(found, near(-np.inf))]
    if np.isfinite([found, *others]).all():
        off = abs(Fraction(float(found)) - exact)
        assert all(off <= abs(Fraction(float(other)) - exact) for other in others)
    else:
        assert abs(exact) > Fraction(float(np.finfo(dtype).max))


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        ({"op": "sum"}, {"op": "mean"}, ValueError, "'sum'.*'mean'"),
        ({"op": "var"}, {"op": "var", "ddof": 1}, ValueError, "ddof.*0.0 and 1.0"),
        ({"op": "sum", "axis": 0}, {"op": "sum"}, ValueError, r"shape.*\(3,\) and \(\)"),
        ({"op": "sum"}, {"op": "sum", "of": "f4"}, TypeError, "float64 and float32"),
        ({"op": "sum"}, {"op": "histogram", "range": (0, 1)}, ValueError, "'sum'.*histogram"),
        ({"op": "sum"}, {"op": ("sum",)}, ValueError, r"'sum' and \('sum',\)"),
        (
            {"op": "histogram", "bins": [0, 9]},
            {"op": "histogram", "bins": [0.0, 9.0]},
            TypeError,
            "edges' dtype.*int64 and float64",
        ),
        (
            {"op": "histogram", "range": (0, 1)},
            {"op": "histogram", "range": (0, 2)},
            ValueError,
            "different edges",
        ),
    ],
)
def test_partials_of_different_things_do_not_merge(a, b, error, words):
    def of(how):
        how = dict(how)
        return warpkit.partial(np.ones((4, 3), how.pop("of", "f8")), how.pop("op"), **how)

    with pytest.raises(error, match=words):
        of(a) + of(b)
    with pytest.raises(TypeError):
        of(a) + 1
    counts = [warpkit.partial([1, 2], "bincount", weights=w) for w in (None, [0.5, 0.5])]
    with pytest.raises(TypeError, match=r"weights.*none and float64"):
        counts[0] + counts[1]
    with pytest.raises(TypeError, match="not with int"):
        warpkit.merge([of(a), 1])


def test_words_that_are_none_are_refused():
    p = warpkit.partial(np.ones(5))
    for words, parts, error in [
        (p.words[1:], 1, ValueError),
        (p.words.astype(float), 1, TypeError),
        (p.words, 0, ValueError),
        (p.words, 2**31 + 1, ValueError),
        (p.words * 3, 2, ValueError),  # of more parts than it is said
        (-p.words, 1, ValueError),
    ]:
        with pytest.raises(error):
            warpkit.Partial.from_words(words, p, parts)
    with pytest.raises(TypeError, match="like must be a Partial, not ndarray"):
        warpkit.Partial.from_words(p.words, p.words)
    with pytest.raises(ValueError, match="no partial"):
        warpkit.merge([])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex64"])
@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_extremes_that_were_added_are_refused(op, dtype):
    x = np.array([1, 1, 1]).astype(dtype)
    p = warpkit.partial(x, op)
    for own in (p, warpkit.partial(x[:0], op)):
        again = warpkit.Partial.from_words(own.words, p, 1)
        np.testing.assert_array_equal(again.words, own.words)
    nothing = warpkit.partial(x[:0], op).words
    with pytest.raises(ValueError, match=op):
        warpkit.Partial.from_words(nothing + nothing, p, 2)
    if dtype != "float64":
        with pytest.raises(ValueError, match=op):
            warpkit.Partial.from_words(p.words * 99991, p, 99991)


def test_a_count_beyond_int64_is_refused():
    p = warpkit.partial(np.ones(5), "count_nonzero")
    words = p.words
    words[:] = [2**32 - 1, 2**31 - 1]
    most = warpkit.Partial.from_words(words, p)
    assert most.finish() == 2**63 - 1
    with pytest.raises(OverflowError, match="more than an int64 holds"):
        most + p
    wraps = warpkit.partial(np.full(1, -1), "sum") + warpkit.partial(np.full(1, -(2**63)), "sum")
    assert wraps.finish() == 2**63 - 1  # as NumPy's


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"op": "prod"}, TypeError),
        ({"op": "nanprod"}, TypeError),
        ({"op": "median"}, ValueError),
        ({"op": ("sum", "sum")}, ValueError),
        ({"op": ("sum", "histogram")}, TypeError),
        ({"op": "histogram"}, ValueError),  # no range
        ({"op": "histogram", "bins": "auto"}, ValueError),
        ({"op": "argmin", "where": [True] * 4}, TypeError),
        ({"op": "sum", "axis": 1}, np.exceptions.AxisError),
        ({"op": "sum", "device": "emu:99"}, warpkit.DeviceError),
        ({"op": "sum", "device": ["cpu", "cpu"]}, ValueError),
        ({"op": "bincount"}, TypeError),
        ({"op": "sum", "weights": [1.0] * 4}, TypeError),
        ({"op": "argmin", "offset": -1}, ValueError),
        ({"op": "argmin", "offset": 2**63 - 4}, OverflowError),
        ({"op": "argmin", "offset": ((3,), (6,))}, ValueError),
        ({"op": "argmin", "offset": ((0, 0), (4, 4))}, ValueError),
        ({"op": "argmin", "offset": ((0,), (2**63,))}, OverflowError),
        ({"op": "argmin", "offset": 0.5}, TypeError),
        ({"op": "argmin", "offset": 2**63 - 4, "keys": [0] * 4, "groups": 1}, OverflowError),
        ({"op": "sum", "weights": [1.0] * 4, "keys": [0] * 4, "groups": 1}, TypeError),
    ],
)
def test_what_has_no_partial(how, error):
    with pytest.raises(error):
        warpkit.partial(np.ones(4), **how)


def test_a_place_is_the_last_that_int64_holds():
    far = warpkit.partial(np.ones(4)[::-1], "argmin", offset=2**63 - 5)
    assert far.finish() == 2**63 - 5


def test_nothing_has_a_partial_that_changes_nothing():
    x = np.arange(6.0).reshape(2, 3)
    for op in (*OPS, ("min", "mean")):
        whole = warpkit.partial(x, op, 0)
        both = warpkit.partial(x[:0], op, 0) + whole
        np.testing.assert_array_equal(both.words, whole.words)
    with pytest.raises(ValueError, match="minimum which has no identity"):
        warpkit.partial(x[:0], "min").finish()
    with pytest.raises(ValueError, match="argmax of an empty sequence"):
        warpkit.partial(x[:0], "argmax").finish()
    with pytest.raises(ValueError, match="All-NaN slice"):
        warpkit.partial([np.nan], "nanargmin").finish()
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(warpkit.partial(x[:0], "mean").finish())
    with pytest.warns(RuntimeWarning, match="All-NaN slice"):
        assert np.isnan(warpkit.partial([np.nan], "nanmax").finish())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warpkit.partial(x[:0], "sum").finish() == 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("op", ["nanmin", "nanmax", "nansum"])
def test_nan_that_are_skipped_are_not_counted(device, dtype, op):
    x = np.full((5, 3), np.nan, dtype)
    x[1:3, 1] = 2
    for axis in (None, 0, 1):
        counts = warpkit.partial(x, op, axis, device=device).words[..., 0]
        np.testing.assert_array_equal(counts, np.count_nonzero(x == x, axis))


def test_a_box_of_many_axes_knows_its_place(device):
    x = np.arange(2**10)[::-1].reshape((2,) * 10)
    box = warpkit.partial(x, "argmin", offset=((1,) * 10, (3,) * 10), device=device)
    assert box.finish() == np.ravel_multi_index((2,) * 10, (3,) * 10)
    along = warpkit.partial(x, "argmin", 3, offset=(tuple(range(10)), (20,) * 10), device=device)
    np.testing.assert_array_equal(along.finish(), x.argmin(3) + 3)
