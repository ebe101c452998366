"""Random partitions of hard numbers, merged in any order: the bits of reduce, and of integers.

python partials.py COUNT [SEED] checks so many ops of arrays by seed, each cut into 1 to 64 parts,
most of which go over the CPU and some over the emulated device (or the devices named after).
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Sequence

import ml_dtypes  # noqa: F401, so that NumPy knows bfloat16
import numpy as np
import warpkit

DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int64", "uint8")
OPS = ("sum", "mean", "var", "std", "norm", "sumsq", "min", "max", "count_nonzero", "any", "all")
NAN_OPS = ("nansum", "nanmean", "nanvar", "nanmin", "nanmax")
PLACES = ("ptp", "argmin", "argmax", "nanargmin", "nanargmax")
SEVERAL = ("sum", "std", "min", "nanmax", "nanmean", "any")
CASES = ("bits", "finite", "minus zeros", "cancel", "one odd", "normal")


def ends(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Finite numbers over the whole range of exponents."""
    size = np.dtype(dtype).itemsize
    x = rng.integers(0, 2 ** (8 * size), n, dtype=f"u{size}").view(dtype)
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        x[~np.isfinite(x.astype(float))] = 1
    return x


def numbers(rng: np.random.Generator, dtype: np.dtype, case: str, n: int) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype, endpoint=True)
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
    k = n * (1 + (dtype.kind == "c"))
    if case == "bits":
        size = np.dtype(part).itemsize
        x = rng.integers(0, 2 ** (8 * size), k, dtype=f"u{size}").view(part)
    elif case == "minus zeros":
        x = np.full(k, -0.0).astype(part)
    elif case in ("finite", "cancel"):
        x = ends(rng, part, k)
        if case == "cancel":
            x[: k // 2] = -x[k // 2 : 2 * (k // 2)]
            rng.shuffle(x)
    else:
        x = rng.normal(size=k).astype(part)
        if case == "one odd":
            x[rng.integers(k)] = rng.choice([np.inf, -np.inf, np.nan, -0.0])
    return x.view(dtype)


def _same(a: object, b: object) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _outcome(f: object) -> object:
    try:
        return f()  # type: ignore[operator]
    except ValueError as error:
        return str(error)


def check_case(seed: int, devices: Sequence[str]) -> int:
    """How many ops were checked."""
    rng = np.random.default_rng(seed)
    case, dtype = CASES[seed % len(CASES)], np.dtype(str(rng.choice(DTYPES)))
    x = numbers(rng, dtype, case, int(rng.integers(1, 300)))
    masked = rng.random() < 0.25
    where = rng.integers(0, 2, len(x)).astype(bool) if masked else np.ones(len(x), bool)
    cuts = np.sort(rng.integers(0, len(x) + 1, rng.integers(0, 64)))
    bounds = list(itertools.pairwise([0, *map(int, cuts), len(x)]))
    ops = [*OPS, *NAN_OPS, *(() if masked else (*PLACES, SEVERAL))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in ops:
            parts = [
                warpkit.partial(
                    x[i:j],
                    op,
                    where=where[i:j] if masked else True,
                    offset=i,
                    device=devices[int(rng.integers(len(devices))) if rng.random() < 0.1 else 0],
                )
                for i, j in bounds
            ]
            rng.shuffle(parts)  # type: ignore[arg-type]
            found = _outcome(warpkit.merge(parts).finish)
            if masked and op.endswith(("min", "max")) and not where.any():
                continue
            wanted = _outcome(lambda op=op: warpkit.reduce(x[where], op, device="cpu"))
            each = isinstance(op, tuple) and not isinstance(wanted, str)
            pairs = zip(found, wanted, strict=True) if each else [(found, wanted)]
            for own, right in pairs:
                assert own == right if isinstance(right, str) else _same(own, right), (
                    f"seed {seed}: {op} of {len(x)} {dtype} ({case}): {own!r}, not {right!r}"
                )
            if op == "sum" and dtype == np.float64 and np.isfinite(x).all():
                _check_fsum(found, x[where], seed)
    return len(ops)


def _check_fsum(found: object, x: np.ndarray, seed: int) -> None:
    """An oracle that shares nothing with this project."""
    try:
        wanted = math.fsum(x)
    except OverflowError:  # on its way, or of the sum
        return
    assert found == wanted, f"seed {seed}: sum {found!r}, not {wanted!r}"


if __name__ == "__main__":
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    names = sys.argv[3:] or ["cpu", "emu"]
    done = 0
    while done < count:
        done += check_case(seed, names)
        seed += 1
    print(f"{done} ops of partitions, up to seed {seed - 1}: all have the same bits")
