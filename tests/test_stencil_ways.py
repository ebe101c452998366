"""The production stencils by all their ways: rows, planes and columns, in one launch or several,
aligned or not. Layouts, coefficients, ends and types are drawn; results are the oracle's bits."""

from __future__ import annotations

import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, COMPLEX, MODES, allowed, options, values
from warpkit import reference

DRAWS = 12  # a test; of small sizes 3
SHAPES = {  # what is drawn below these, and the axis; each is some kernel's
    "one line": ((6000,), 0),
    "short lines": ((30, 300), 1),
    "lines of a few": ((200, 9), 1),
    "channels": ((4, 300, 6), 1),
    "narrow": ((3, 90, 130), 1),
    "wide": ((200, 260), 0),
    "many axes": ((6, 7, 8, 9), 2),
    "tiny lines": ((1200, 8), 1),
    "tiny planes": ((700, 4, 3), 1),
}


def drawn(rng, kind):
    """An array, a view or not, and the axis."""
    most, axis = SHAPES[kind]
    shape = [int(rng.integers(1, n + 1)) for n in most]
    if not allowed(shape):
        shape[0] = 1
    if rng.random() < 0.3:  # whole groups of 64 columns, rows that start on 16 bytes
        shape[-1] = -(-shape[-1] // 64) * 64
    dtype = rng.choice(ALL_DTYPES) if rng.random() < 0.5 else rng.choice(["float32", "float64"])
    seed = int(rng.integers(1000))
    if rng.random() < 0.6:
        return values(dtype, shape, seed), axis
    cut = tuple(slice(int(rng.integers(0, n)), None, int(rng.integers(1, 3))) for n in shape)
    return values(dtype, [2 * n for n in shape], seed)[cut], axis


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_every_way_gives_the_oracles_bits(device, seed, kind):
    rng = np.random.default_rng([seed, list(SHAPES).index(kind)])
    for _ in range(3 if options["small"] else DRAWS):
        a, axis = drawn(rng, kind)
        taps = int(rng.choice([1, 2, 3, 9, 17, 33, 50, 65, 129, int(rng.integers(1, 300))]))
        mode = rng.choice([*MODES, "valid"])
        origin = int(rng.integers(-(taps // 2), (taps - 1) // 2 + 1)) if rng.random() < 0.3 else 0
        if mode == "valid":
            taps, origin = min(taps, a.shape[axis]), 0
        c = values("float64", taps, seed)
        pairs = rng.random() < 0.1
        if pairs:
            c = c + 1j * values("float64", taps, seed + 1)
        complex_result = pairs or a.dtype.kind == "c"
        outputs = ALL_DTYPES[-2:] if complex_result else ALL_DTYPES[:-2]
        output = rng.choice(outputs) if rng.random() < 0.4 else None
        accumulate = "float32" if rng.random() < 0.4 else None
        cval = 1.5 - 2j if a.dtype.kind == "c" else 1.5
        what = (a.shape, a.strides, a.dtype, axis, taps, mode, origin, output, accumulate)
        want = reference.stencil1d(a, c, axis, mode, cval, origin, output, accumulate)
        given = {"mode": mode, "cval": cval, "origin": origin, "output": output}
        given |= {"accumulate": accumulate, "device": device}
        got = warpkit.stencil1d(a, c, axis, **given)
        assert got.dtype == want.dtype, what
        assert got.shape == want.shape, what
        assert got.tobytes() == want.tobytes(), what
        if device == "cpu":
            continue
        there = warpkit.stencil1d(warpkit.asarray(a, device=device), c, axis, **given)
        assert there.numpy().tobytes() == want.tobytes(), what


@pytest.mark.parametrize("shape", [(900,), (5, 33), (2, 30, 5), (20, 70)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_sums_wait_for_more_coefficients_than_one_launch_takes(device, dtype, shape):
    a = values(dtype, shape)
    c = values("float64", 1201, 1)
    axis = len(shape) // 2
    for accumulate, output in ((None, None), ("float32", None), (None, "float16")):
        want = reference.stencil1d(a, c, axis, "wrap", 0, 3, output, accumulate)
        given = {"mode": "wrap", "origin": 3, "output": output, "accumulate": accumulate}
        got = warpkit.stencil1d(a, c, axis, **given, device=device)
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("shape", [(40,), (9, 30), (40, 3), (40, 50)], ids=str)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_what_stands_beyond_complex_lines_has_two_parts(device, dtype, shape):
    a = values(dtype, shape)
    for axis in range(a.ndim):
        want = reference.stencil1d(a, [1.5, -2.0, 0.5], axis, "constant", 3 - 4j)
        given = {"mode": "constant", "cval": 3 - 4j, "device": device}
        got = warpkit.stencil1d(a, [1.5, -2.0, 0.5], axis, **given)
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("taps", [600, 760])  # the last launch has few: two columns a thread
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_wait_in_columns_side_by_side(device, dtype, taps):
    a, c = values(dtype, (12, 128)), values("float64", taps, 1)
    for accumulate in (None, "float32"):
        want = reference.stencil1d(a, c, 0, "wrap", accumulate=accumulate)
        got = warpkit.stencil1d(a, c, 0, mode="wrap", accumulate=accumulate, device=device)
        assert got.tobytes() == want.tobytes()
