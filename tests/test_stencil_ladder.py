"""The rungs of the 1D stencil: what they take, tiles of every shape, the coefficients of each call.

Rungs add in the fixed order, so reference.stencil1d is their oracle to the bit; but "constant" adds
nine antisymmetric coefficients as the books do.
"""

import os
import threading

import numpy as np
import pytest
import warpkit
from helpers import (
    MODES,
    MOST_TAPS,
    assert_near,
    assert_same,
    poison,
    python,
    rows,
    sizes,
    values,
)
from warpkit import reference

RUNGS = [row for row in rows("stencil1d") if row.device != "cpu" and not row.production]
BOOKS = [row for row in RUNGS if row.name == "constant"]
EIGHTH = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])

pytestmark = pytest.mark.skipif(not RUNGS, reason="no device that has the rungs")


def each(rungs=RUNGS):
    return pytest.mark.parametrize("row", rungs, ids=str)


def check(row, a, taps, axis=-1, **how):
    want = reference.stencil1d(a, taps, axis, **how)
    poison(want)
    assert_same(row(a, taps, axis, **how), want)


@pytest.mark.parametrize("accumulate", [None, "float32"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each()
def test_every_rung_adds_in_what_was_asked_for(row, dtype, accumulate):
    a = values(dtype, (3, 300))
    taps = values("float64", 9, seed=1)
    if dtype == "float64" and accumulate:
        with pytest.raises(TypeError, match=f"'{row.name}'.*not in float32"):
            row(a, taps, accumulate=accumulate)
        return
    for mode in MODES:
        for axis in (0, 1):
            check(row, a, taps, axis, mode=mode, cval=1.1, accumulate=accumulate)


# Tiles: one column or several, less wide than a warp, and widths that 32 does not divide.
@pytest.mark.parametrize(
    "shape",
    sizes((1, 257, 1), (2, 300, 2), (3, 90, 7), (2, 40, 31), (2, 21, 32), (5, 9, 33), (1, 9, 100)),
    ids=str,
)
@each()
def test_every_rung_cuts_the_output_into_tiles(row, shape):
    for i, taps in enumerate((1, 2, 9, 40, 128)):
        a = values(("float32", "float64")[i % 2], shape, seed=i)
        check(row, a, values("float64", taps, seed=9), 1, mode=MODES[i], cval=-0.7)


@pytest.mark.large
@each()
def test_every_rung_goes_on_to_further_tiles(row):
    """Many more tiles than a grid has blocks, along lines and across them."""
    taps = values("float64", 5)
    for shape, axis in (((600_000,), 0), ((700, 3, 40), 1), ((3, 33, 5000), 1), ((4, 9000, 7), 1)):
        check(row, values("float32", shape), taps, axis, mode="wrap")


@each()
def test_every_rung_takes_as_many_coefficients_as_it_says(row):
    most = MOST_TAPS.get(row.name, 1500)
    for shape, axis in (((70,), 0), ((3, 300), 1), ((9, 100), 0)):
        a = values("float32", shape)
        check(row, a, values("float64", most, seed=1), axis, mode="mirror")
        check(row, a, values("float64", most, seed=2), axis, mode="constant", accumulate="float32")
    if row.name in MOST_TAPS:
        words = f"'{row.name}' of stencil1d takes up to {most} coefficients, not {most + 1}"
        with pytest.raises(ValueError, match=words):
            row(a, np.ones(most + 1))


@each()
def test_every_rung_gives_only_what_needs_no_window_beyond_the_ends(row):
    for n, taps in ((9, 9), (300, 9), (300, 1), (40, 40), (2000, 100)):
        check(row, values("float32", (2, n)), values("float64", taps), mode="valid")


CUTS = [np.s_[:, 3:], np.s_[1:, :, 2:], np.s_[::2, ::-1], np.s_[::-1, 1::3], np.s_[..., ::2]]


@pytest.mark.parametrize("cut", CUTS, ids=str)
@each()
def test_every_rung_takes_views(row, cut):
    a = values("float32", (6, 70, 35))
    there = warpkit.asarray(a, device=row.device)
    taps = values("float64", 4, seed=1)
    for view, same in ((a[cut], there[cut]), (a[cut].T, there[cut].T)):
        for axis in (0, 1, 2):
            want = reference.stencil1d(view, taps, axis)
            assert_same(row(view, taps, axis), want)
            assert_same(row(same, taps, axis).numpy(), want)


@each()
def test_every_rung_takes_complex_elements_as_their_parts(row):
    for dtype in ("complex64", "complex128"):
        a = values(dtype, (3, 50, 17))  # 34 parts: two tiles side by side, of 17 columns
        check(row, a, [0.5, -1.5, 3.0], 1, mode="constant", cval=2.5 - 1.25j)
        with pytest.raises(TypeError, match=f"'{row.name}'.*real coefficients"):
            row(a.real, [1j, 2.0], 1)


@each()
def test_every_rung_gives_its_inputs_dtype_only(row):
    for dtype, other in (("float32", "float64"), ("float64", "float32"), ("float32", "int32")):
        with pytest.raises(TypeError, match=f"'{row.name}'.*{dtype}, not {other}"):
            row(np.ones(5, dtype), [1.0, 2.0], output=other)


@pytest.mark.parametrize("accumulate", [None, "float32"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each(BOOKS)
def test_the_books_form_is_near_the_fixed_order(row, dtype, accumulate):
    if dtype == "float64" and accumulate:
        pytest.skip("refused")
    sums = accumulate or "float64"
    for shape, axis in (((1,), 0), ((5,), 0), ((1000,), 0), ((40, 33), 0), ((40, 33), 1)):
        a = values(dtype, shape)
        for mode in MODES:
            for origin in (-4, 0, 4):
                how = {"mode": mode, "cval": 1.1, "origin": origin, "accumulate": accumulate}
                want = reference.stencil1d(a, EIGHTH, axis, **how)
                size = reference.stencil1d(abs(a), abs(EIGHTH), axis, **how)
                eps = np.finfo(dtype).eps + 10 * np.finfo(sums).eps  # stored once, added often
                assert_near(row(a, EIGHTH, axis, **how), want, eps * size.astype(np.float64))


@each(BOOKS)
def test_only_what_is_antisymmetric_goes_by_the_books(row):
    a = values("float64", 500)
    for at in range(9):
        taps = EIGHTH.copy()
        taps[at] += 1e-3
        check(row, a, taps)
    check(row, a, EIGHTH[1:-1])
    check(row, a, np.append(EIGHTH, 0.0))
    check(row, a, abs(EIGHTH))


@each(BOOKS)
def test_the_books_form_does_not_look_at_the_middle(row):
    a = np.zeros(40)
    a[20] = np.nan
    got, want = row(a, EIGHTH), reference.stencil1d(a, EIGHTH)
    assert np.isnan(want[16:25]).all()
    assert got[20] == 0
    assert np.isnan(np.delete(got[16:25], 4)).all()


@each([row for row in rows("stencil1d") if row.device != "cpu"])
def test_streams_never_mix_their_coefficients(row):
    """Each thread has a stream of its own, and goes on before its kernels have ended."""
    own = 2  # the handle of the thread's
    a = np.ones(500 if row.device.startswith("emu") else 2**22, np.float32)
    wrong = []

    def work(k):
        there = warpkit.asarray(a, device=row.device, stream=own)
        for _ in range(8):
            sums = range(100 * k, 100 * k + 8)
            results = [row(there, [c, 1.0] * 4, mode="wrap") for c in sums]
            for c, result in zip(sums, results, strict=True):
                if (result.numpy() != 4 * c + 4).any():
                    wrong.append(c)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FAILING = """
import os, numpy as np, warpkit, sys
sys.path.insert(0, {tests!r})
from helpers import assert_same, values
a, taps = values("float32", 3000), values("float64", 5)
want = warpkit.stencil1d(a, taps, device="cpu")
failed = 0
for variant in {variants!r}:
    for function in ("cudaMemcpyToSymbolAsync", "cudaEventCreateWithFlags", "cudaStreamWaitEvent",
                     "cudaEventRecord", "cudaLaunchKernelEx"):
        os.environ["WARPKIT_EMU_FAIL"] = function + ":1"
        warpkit._core.read_settings()
        try:
            got = warpkit.stencil1d(a, taps, device="emu", variant=variant)
        except (warpkit.DeviceError, MemoryError):
            failed += 1
        else:
            assert_same(got, want)
        del os.environ["WARPKIT_EMU_FAIL"]
        warpkit._core.read_settings()
        assert_same(warpkit.stencil1d(a, taps, device="emu", variant=variant), want)
print(failed)
"""


@pytest.mark.unsanitized
def test_a_symbol_may_be_used_again_when_a_call_has_failed():
    rungs = [row for row in RUNGS if row.device == "emu" and row.name.startswith("constant")]
    if not rungs:
        pytest.skip("the emulated device can be told to fail")
    script = FAILING.format(tests=os.path.dirname(__file__), variants=[row.name for row in rungs])
    assert int(python(script)) >= 2 * 4  # an event is made once


def test_the_rungs_are_the_ladders():
    names = [row.name for row in RUNGS if row.device == RUNGS[0].device]
    ladder = "gmem readonly constant constant_divergent smem_readonly registers"
    assert names == ladder.split()
    assert all(row.dtypes == ("float32", "float64") for row in RUNGS)
