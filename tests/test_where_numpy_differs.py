"""docs/differences.md: each row of its table, run with NumPy and with warpkit."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import warpkit
from helpers import ROOT

ROWS = {}


def row(case):
    return lambda test: ROWS.setdefault(case, test)


def warned(call):
    """The result, and whether there was a RuntimeWarning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, any(w.category is RuntimeWarning for w in caught)


def refused(call):
    with pytest.raises(TypeError):
        call()


@row("a sum of floats")
def _(d):
    a = [1e16, 1.0, -1e16]
    assert (np.sum(a), warpkit.reduce(a, device=d)) == (0.0, 1.0)


@row("the result of an array in Fortran's order")
def _(d):
    a = np.asfortranarray(np.ones((2, 3, 4)))
    assert np.sum(a, 0).flags.f_contiguous
    assert not np.sum(a, 0).flags.c_contiguous
    assert warpkit.reduce(a, "sum", 0, device=d).flags.c_contiguous


@row("`transpose`")
def _(d):
    a = np.ones((2, 3))
    assert np.transpose(a).base is a
    result = warpkit.transpose(a, device=d)
    assert result.flags.c_contiguous
    assert not np.may_share_memory(a, result)


@row("a subclass of ndarray, such as a matrix or a recarray")
def _(d):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        a = np.asmatrix([[1.0, 2.0], [3.0, 4.0]])
        assert type(np.sum(a, 0)) is np.matrix
        assert type(warpkit.reduce(a, "sum", 0, device=d)) is np.ndarray


@row("a masked array")
def _(d):
    a = np.ma.masked_array([1.0, 2.0, 100.0], [False, False, True])
    assert np.max(a) == 2
    refused(lambda: warpkit.reduce(a, "max", device=d))
    assert warpkit.reduce(a.data, "max", where=~a.mask, initial=-np.inf, device=d) == 2
    assert warpkit.reduce(a.filled(0), "max", device=d) == 2


@row("a result that is NaN")
def _(d):
    odd = np.array([0xFFF8000000000007], np.uint64)
    a = odd.view(np.float64)
    assert np.max(a).view(np.uint64) == odd[0]
    assert warpkit.reduce(a, "max", device=d).view(np.uint64) == 0x7FF8 << 48


@row("infinities of both signs in a sum, a sum that overflows")
def _(d):
    for a in (np.array([np.inf, -np.inf]), np.array([3e38, 3e38], np.float32)):
        theirs, warns = warned(lambda a=a: np.sum(a))
        mine, silent = warned(lambda a=a: warpkit.reduce(a, device=d))
        np.testing.assert_array_equal(mine, theirs)
        assert (warns, silent) == (True, False)


@row("a histogram of bool")
def _(d):
    a = np.array([True, False, True])
    theirs, warns = warned(lambda: np.histogram(a, 2))
    mine, silent = warned(lambda: warpkit.histogram(a, 2, device=d))
    assert mine[0].tolist() == theirs[0].tolist() == [1, 2]
    assert (warns, silent) == (True, False)


@row("objects, long double, dates, strings, of a fold")
def _(d):
    dates = np.array(["2020", "2021"], "M8[Y]")
    for a in (np.array([1, 2], object), np.array([1, 2], np.longdouble), dates):
        assert np.max(a) == a[1]
        refused(lambda a=a: warpkit.reduce(a, "max", device=d))
    assert np.count_nonzero(np.array(["a", ""])) == 1
    refused(lambda: warpkit.reduce(np.array(["a", ""]), "count_nonzero", device=d))


@row("weights that are objects")
def _(d):
    weights = np.array([Fraction(1, 3), Fraction(2, 3)], object)
    assert np.histogram([0, 0], 1, weights=weights)[0].tolist() == [1]
    refused(lambda: warpkit.histogram([0, 0], 1, weights=weights, device=d))


@row("edges that are objects, such as fractions")
def _(d):
    edges = [Fraction(0), Fraction(1, 2), Fraction(1)]
    assert np.histogram([0.5, 1], edges)[0].tolist() == [0, 2]
    refused(lambda: warpkit.histogram([0.5, 1], edges, device=d))
    assert warpkit.histogram([0.5, 1], list(map(float, edges)), device=d)[0].tolist() == [0, 2]


@row("`out` of another dtype")
def _(d):
    out = np.zeros((), np.float32)
    assert np.sum(np.ones(3), out=out) == 3
    refused(lambda: warpkit.reduce(np.ones(3), out=out, device=d))
    with pytest.raises(ValueError, match="shape"):  # which NumPy too tells first
        warpkit.reduce(np.ones(3), out=np.zeros(2, np.float32), device=d)


@row("`dtype=bool` with `initial`")
def _(d):
    assert np.sum([False], dtype=bool, initial=True)
    refused(lambda: warpkit.reduce([False], dtype=bool, initial=True, device=d))


@row("`mean`, `var`, `std` with an integer `dtype`")
def _(d):
    a = [1.5, 2.5]
    assert np.mean(a, dtype=int) == 1
    for op in ("mean", "var", "std"):
        assert getattr(np, op)(a, dtype=int) % 1 in (0, 0.5)
        refused(lambda op=op: warpkit.reduce(a, op, dtype=int, device=d))


@row("`mean=` of `var` and `std`")
def _(d):
    assert np.var([1, 3], mean=2) == 1
    refused(lambda: warpkit.reduce([1, 3], "var", mean=2, device=d))


@row("weights of floats")
def _(d):
    weights = [1e16, 1.0, -1e16]
    for theirs, mine in (
        (np.bincount([0, 0, 0], weights), warpkit.bincount([0, 0, 0], weights, device=d)),
        (
            np.histogram([0, 0, 0], 1, weights=weights)[0],
            warpkit.histogram([0, 0, 0], 1, weights=weights, device=d)[0],
        ),
    ):
        assert (theirs[0], mine[0]) == (0.0, 1.0)


@row("`out=...`")
def _(d):
    a = np.ones((2, 3))
    assert type(np.add.reduce(a, None, out=...)) is np.ndarray
    refused(lambda: np.sum(a, out=...))
    assert type(warpkit.reduce(a, out=..., device=d)) is np.ndarray


def table():
    text = (ROOT / "docs" / "differences.md").read_text()
    return [cells[0] for cells in re.findall(r"^\| (.*?) \| (.*) \|$", text, re.MULTILINE)][1:]


def test_the_table_has_these_rows():
    assert table() == list(ROWS)


@pytest.mark.parametrize("case", ROWS)
def test_the_row_is_true(device, case):
    ROWS[case](device)
