"""Random calls by seed, one line each: what was called, and a digest of what it gave.

python random_calls.py SEED COUNT DEVICE [packed | there] prints the lines of calls SEED .. SEED +
COUNT - 1. A call depends on its own seed alone. Lines must be equal whatever the device, the
instruction set, the number of threads or of GPUs, the schedule and the size of pieces;
test_random_calls.py compares. packed: of arrays in C order; there: of such that lie on the device.
These lines are others, since products are rounded in the order of the memory.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from typing import Any

import ml_dtypes  # noqa: F401, so that NumPy knows bfloat16
import numpy as np
import warpkit

INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
REALS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FOLDS = ("sum", "prod", "min", "max", "mean", "var", "std", "norm", "sumsq", "any", "all")
FOLDS += ("count_nonzero", "argmin", "argmax", "ptp")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
LANES = ("sum", "min", "max")


def numbers(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Of narrow or wide exponents, few values or many; some that are special."""
    if dtype in INTEGERS:
        few = rng.integers(0, 5, n)
        return (few if rng.random() < 0.3 else rng.integers(-(2**63), 2**63, n)).astype(dtype)
    if dtype in COMPLEX:
        part = "float32" if dtype == "complex64" else "float64"
        a = numbers(rng, part, n).astype(dtype)
        a.imag = numbers(rng, part, n)
        return a
    exponents = {"float16": 10, "float64": 900}.get(dtype, 110)
    wide = rng.choice([1, 20, exponents])
    a = rng.normal(size=n) * np.exp2(rng.integers(-wide, wide + 1, n))
    if rng.random() < 0.3:
        a = np.round(a)
    if n and rng.random() < 0.3:
        a[rng.integers(0, n, n // 9 + 1)] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0])
    return a.astype(dtype)


def array(rng: np.random.Generator, dtypes: tuple[str, ...], most: int = 4000) -> np.ndarray:
    """Up to seven axes, in any strides that NumPy has."""
    ndim = int(rng.integers(0, 8))
    shape = [int(n) for n in np.exp(rng.random(ndim) * np.log(most) / max(ndim, 1))]
    if ndim and rng.random() < 0.05:
        shape[0] = 0
    dtype = str(rng.choice(dtypes))
    if rng.random() < 0.4:
        return numbers(rng, dtype, int(np.prod(shape))).reshape(shape)
    block = [n * 2 + 1 for n in shape]
    if np.prod(block) > 40 * most:
        block = shape
    a = numbers(rng, dtype, int(np.prod(block))).reshape(block)
    steps = [
        rng.choice([1, 1, 2, -1, -2]) if b > n else 1 for b, n in zip(block, shape, strict=True)
    ]
    a = a[tuple(slice(None, None, s) for s in steps)][tuple(slice(0, n) for n in shape)]
    if ndim and rng.random() < 0.15:
        a = np.broadcast_to(a[:1], a.shape)
    return a.transpose(rng.permutation(ndim)) if rng.random() < 0.5 else a


def axes(rng: np.random.Generator, ndim: int, several: bool = True) -> Any:
    if ndim == 0 or rng.random() < 0.3:
        return None
    if not several or rng.random() < 0.5:
        return int(rng.integers(-ndim, ndim))
    return tuple(int(d) for d in rng.permutation(ndim)[: rng.integers(1, ndim + 1)])


def fold(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    a = array(rng, INTEGERS + REALS + COMPLEX)
    ops = tuple(str(op) for op in rng.choice(FOLDS, rng.integers(1, 5), replace=False))
    op: Any = ops if rng.random() < 0.3 else ops[0]
    if rng.random() < 0.2 and op in ("sum", "prod", "min", "max", "mean", "var"):
        op = "nan" + op
    arg = "argmin" in str(op) or "argmax" in str(op)
    options: dict[str, Any] = {"keepdims": bool(rng.random() < 0.3)}
    if rng.random() < 0.3 and not arg and "ptp" not in str(op):
        options["where"] = rng.random(a.shape) < 0.6
        if "min" in str(op) or "max" in str(op):
            options["initial"] = 1
    return warpkit.reduce, (a, op, axes(rng, a.ndim, not arg)), options


def transpose(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    a = array(rng, INTEGERS + REALS + COMPLEX, 20_000)
    return warpkit.transpose, (a, tuple(int(d) for d in rng.permutation(a.ndim))), {}


def stencil(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    a = array(rng, INTEGERS[1:] + REALS[:1] + REALS[2:] + COMPLEX)
    taps = int(rng.choice([1, 2, 3, 5, 8, 33]))
    c = numbers(rng, "float64", taps)
    if a.ndim == 0:
        a = a.reshape(1)
    origin = int(rng.integers(-(taps // 2), (taps - 1) // 2 + 1))
    options = {"mode": str(rng.choice(MODES)), "cval": 0.5, "origin": origin}
    return warpkit.stencil1d, (a, c, int(rng.integers(-a.ndim, a.ndim))), options


def histogram(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    a = array(rng, INTEGERS + REALS)
    options: dict[str, Any] = {"nan": "ignore"}
    bins: Any = int(rng.choice([1, 7, 100, 3000, 30_000]))
    if rng.random() < 0.3:
        bins = np.unique(rng.normal(size=bins) * 10)
    else:
        options["range"] = (-100.0, 155.5)
    if rng.random() < 0.4:
        dtype = str(rng.choice(INTEGERS + REALS + COMPLEX))
        options["weights"] = numbers(rng, dtype, a.size).reshape(a.shape)
    return warpkit.histogram, (a, bins), options


def count(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    n = int(rng.integers(0, 5000))
    a = rng.integers(0, rng.choice([2, 200, 30_000]), n).astype(rng.choice(["uint16", "int64"]))
    weights = numbers(rng, str(rng.choice(REALS)), n) if rng.random() < 0.5 else None
    return warpkit.bincount, (a, weights), {}


def runs(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    a = array(rng, INTEGERS + REALS)
    return (warpkit.unique_counts if rng.random() < 0.5 else warpkit.run_length), (a,), {}


def warps(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    if rng.random() < 0.5:
        return warpkit.warp_histogram, (array(rng, INTEGERS + REALS),), {}
    a = array(rng, INTEGERS + REALS)
    width = int(rng.choice([2, 8, 32]))
    if rng.random() < 0.5:
        return warpkit.warp.reduce, (a.reshape(-1), str(rng.choice(LANES))), {"width": width}
    return warpkit.warp.shfl_xor, (a.reshape(-1), width // 2), {"width": width}


def hard(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Whose sums are ties, nearly, or cancel, or are -0.0."""
    kind = rng.integers(6)
    if dtype in INTEGERS or kind == 0:
        return numbers(rng, dtype, n)
    if kind == 1:
        a = np.full(n, rng.choice([1, 0.1, 3, 2.0**24 - 1]))
    elif kind == 2:
        a = np.where(rng.random(n) < 0.5, -0.0, 0.0 if rng.random() < 0.5 else -0.0)
        a[rng.integers(0, n, n // 1000)] = rng.choice([0, 1, -1e-40, 5e-324])
    elif kind == 3:
        a = rng.normal(size=n)
        a[1::2] = -a[: 2 * (n // 2) : 2]
    elif kind == 4:
        a = 2.0**24 + rng.integers(0, 2, n) * rng.choice([1, 0.5, 2.0**-30])
    else:
        a = np.exp2(rng.integers(-140, -100, n))
    return a.astype(dtype)


def keyed(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Products, prefixes, segments and groups."""
    kind, n = rng.integers(4), int(rng.choice([0, 1, 17, 300, 4097, 33_000]))
    a = hard(rng, str(rng.choice(INTEGERS + REALS + COMPLEX)), n)
    if kind == 0:
        return (warpkit.dot if rng.random() < 0.7 else warpkit.vdot), (a, np.roll(a, 3)), {}
    if kind == 1:
        if rng.random() < 0.5:
            a = array(rng, INTEGERS + REALS + COMPLEX)
        axis = None if a.ndim == 0 else axes(rng, a.ndim, several=False)
        return (warpkit.cumsum if rng.random() < 0.7 else warpkit.nancumsum), (a, axis), {}
    if a.dtype.kind == "c":
        a = a.real.copy()
    op = str(rng.choice(("sum", "mean", "var", "min", "max", "argmin", "any", "count_nonzero")))
    if kind == 2:
        offsets = np.sort(rng.integers(0, n + 1, rng.integers(1, 300)))
        return warpkit.segment_reduce, (a, offsets, op), {}
    keys = rng.integers(0, rng.choice([1, 30, 5000]), n).astype(rng.choice(["uint16", "int64"]))
    return warpkit.group_reduce, (keys, a, op), {}


MAKERS = (fold, fold, fold, transpose, stencil, histogram, count, runs, warps, keyed, keyed)


def digest(result: Any) -> str:
    parts = result if isinstance(result, tuple) else (result,)
    h = hashlib.sha256()
    for part in parts:
        a = part.numpy() if isinstance(part, warpkit.DeviceArray) else np.asarray(part)
        h.update(f"{a.dtype} {a.shape}".encode() + np.ascontiguousarray(a).tobytes())
    return h.hexdigest()[:16]


def line(seed: int, device: Any, how: str) -> str:
    rng = np.random.default_rng(seed)
    call, args, options = MAKERS[seed % len(MAKERS)](rng)
    said = f"{seed} {call.__name__} {args[0].dtype} {args[0].shape} {args[1:2]!r:.60}"
    if how == "packed":
        args = (np.array(args[0], order="C"), *args[1:])
    if how == "there":
        args = (warpkit.asarray(args[0], device=device), *args[1:])
        device = None
    try:
        return f"{said} {digest(call(*args, **options, device=device))}"
    except (ValueError, TypeError) as error:
        return f"{said} {type(error).__name__} {error}"


def main() -> None:
    seed, count_, device, how = (*sys.argv[1:], "")[:4]
    warnings.simplefilter("ignore", RuntimeWarning)
    for i in range(int(seed), int(seed) + int(count_)):
        print(line(i, device, how).replace("\n", " "))


if __name__ == "__main__":
    main()
