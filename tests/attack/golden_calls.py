"""Calls of warpkit.reduce by seed, for tools/golden.py: many layouts, data that is hard to round.

A call depends on its seed alone. Of 100 seeds in a row 90 make small arrays, nine larger ones, and
one an array so large that several blocks share an output. tests/golden_reductions.txt has the
results of these calls: after a change of what a seed makes, here or in random_calls.py, record
anew.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import random_calls
from numpy.lib.array_utils import normalize_axis_tuple
from random_calls import COMPLEX, FOLDS, INTEGERS, REALS
from warpkit.reference import FORMATS

SMALL, MIDDLE, LARGE = 5000, 100_000, 3_000_000  # elements at most
# Around words, warps and blocks.
EXTENTS = (1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 255, 256, 257)
EXTENTS += (1000, 1024, 4099)
SKIP_NAN = ("sum", "prod", "min", "max", "mean", "var", "std", "argmin", "argmax")
OPS = (*FOLDS, *(f"nan{op}" for op in SKIP_NAN))
TAKE_INITIAL = {"sum", "prod", "min", "max"}
TAKE_DTYPE = {"sum", "prod", "mean", "var", "std", "sumsq", "norm"}
KEEP_INTEGERS = {"sum", "prod", "sumsq"}
PARTS = {"complex64": "float32", "complex128": "float64"}


class Call(NamedTuple):
    """The arguments of warpkit.reduce; layout names how the elements lie in memory."""

    a: np.ndarray
    op: str | tuple[str, ...]
    axis: Any
    options: dict[str, Any]
    layout: str

    @property
    def ops(self) -> tuple[str, ...]:
        return (self.op,) if isinstance(self.op, str) else self.op

    @property
    def rounds_products(self) -> bool:
        """Whether there is a product of floats, whose bits depend on the order in memory."""
        kind = np.dtype(self.options.get("dtype", self.a.dtype)).kind
        return kind not in "biu" and any(op.endswith("prod") for op in self.ops)


def most(seed: int) -> int:
    """The most elements that the call may have."""
    return SMALL if seed % 100 < 90 else MIDDLE if seed % 100 < 99 else LARGE


def call(seed: int) -> Call:
    rng = np.random.default_rng((seed, 0x601D))
    dtype = str(rng.choice(INTEGERS + REALS + COMPLEX))
    ops = tuple(str(op) for op in rng.choice(OPS, rng.integers(2, 7), replace=False))
    if rng.random() < 0.7:
        ops = ops[:1]
    if dtype == "bool" and rng.random() < 0.9:  # the others raise
        ops = tuple(op for op in ops if op != "ptp") or ("sum",)
    one_axis = any("arg" in op for op in ops)
    make = free if rng.random() < (0.3 if most(seed) == SMALL else 0.1) else shaped
    with np.errstate(over="ignore"):  # to infinity
        a, axis, layout = make(rng, dtype, most(seed), one_axis)
    return Call(a, ops[0] if len(ops) == 1 else ops, axis, options(rng, a, ops), layout)


def options(rng: np.random.Generator, a: np.ndarray, ops: tuple[str, ...]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    folds = {op.removeprefix("nan") for op in ops}
    if rng.random() < 0.3:
        chosen["keepdims"] = True
    if folds & {"var", "std"} and rng.random() < 0.6:
        chosen["ddof"] = float(rng.choice([0.5, 1, 1, 1, 2, 5]))
    if folds <= TAKE_INITIAL and rng.random() < 0.3:
        chosen["initial"] = initial(rng, a.dtype)
    if folds.isdisjoint({"argmin", "argmax", "ptp"}) and rng.random() < 0.25:
        if folds & {"min", "max"} and folds <= TAKE_INITIAL:
            chosen["initial"] = initial(rng, a.dtype)
        if folds.isdisjoint({"min", "max"}) or "initial" in chosen:
            shape = a.shape if rng.random() < 0.7 else a.shape[-1:]
            chosen["where"] = rng.random(shape) < rng.choice([0, 0.05, 0.6, 0.97])
    if folds <= TAKE_DTYPE and rng.random() < 0.2:
        chosen["dtype"] = str(rng.choice(targets(a.dtype, folds <= KEEP_INTEGERS)))
    return chosen


def initial(rng: np.random.Generator, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "biu":
        return int(rng.integers(0, 2 if dtype.kind == "b" else 100))
    return float(rng.choice([0.0, -0.0, 1.0, 0.1, -3e4, np.inf, np.nan]))


def targets(dtype: np.dtype[Any], integers: bool) -> tuple[str, ...]:
    """The dtypes whose casts are defined for every element: no float becomes an integer."""
    if dtype.kind == "c":
        return COMPLEX
    if dtype.kind in "biu" and integers:
        return INTEGERS[1:] + REALS + COMPLEX
    return REALS + COMPLEX


# ---- layouts -----------------------------------------------------------------------------------


def free(rng: np.random.Generator, dtype: str, most: int, one_axis: bool) -> tuple[Any, Any, str]:
    """Up to seven axes in any strides."""
    a = random_calls.array(rng, (dtype,), most)
    axis = random_calls.axes(rng, a.ndim, not one_axis)
    if a.flags.writeable and rng.random() < 0.7:
        a[...] = filled(rng, dtype, a.shape, axis)
    return a, axis, "free"


def shaped(rng: np.random.Generator, dtype: str, most: int, one_axis: bool) -> tuple[Any, Any, str]:
    """Lines, rows, columns and planes, of extents around those of warps and blocks."""
    axis = [None, 0, 1, 0, 1, (0, 1), (0, 2), (1,), (2, 1), 1][rng.integers(0, 10)]
    if isinstance(axis, tuple) and one_axis:
        axis = axis[0]
    last = max(axis) if isinstance(axis, tuple) else axis or 0
    ndim = int(rng.integers(last + 1, 4))
    shape = extents(rng, ndim, most)
    name = str(rng.choice(LAYOUTS))
    a = laid(shape, dtype, name)
    a[...] = filled(rng, dtype, shape, axis)
    return a, axis, name


def extents(rng: np.random.Generator, ndim: int, most: int) -> tuple[int, ...]:
    """All but one are EXTENTS; that one fills the room of a large array."""
    shape: list[int] = []
    for _ in range(ndim - 1):
        shape.append(int(rng.choice([n for n in EXTENTS if n * math.prod(shape) <= most])))
    room = most // math.prod(shape)
    last = int(rng.choice([n for n in EXTENTS if n <= room]))
    if most > SMALL or rng.random() < 0.2:
        last = int(room * np.ldexp(1 - rng.random() / 2, -int(rng.integers(0, 4)))) or 1
    shape.insert(int(rng.integers(0, ndim)), last)
    return tuple(shape)


LAYOUTS = ("plain", "plain", "plain", "one on", "every third", "transposed", "reversed", "pitched")


def laid(shape: tuple[int, ...], dtype: str, name: str) -> np.ndarray:
    """An array to fill; the elements between its own are 1, which no result may contain."""
    *outer, n = shape
    if name == "one on":
        return np.ones(math.prod(shape) + 1, dtype)[1:].reshape(shape)
    if name == "every third":
        return np.ones((*outer, 3 * n), dtype)[..., ::3]
    if name == "transposed":
        return np.ones(shape[::-1], dtype).T
    if name == "reversed":
        return np.ones(shape, dtype)[..., ::-1]
    if name == "pitched":
        return np.ones((*outer, n + 3), dtype)[..., 2 : n + 2]
    return np.ones(shape, dtype)


def filled(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """An array made fold by fold, so that what must cancel lies in one fold."""
    every = range(len(shape))
    folded = every if axis is None else normalize_axis_tuple(axis, len(shape))
    order = [*(d for d in every if d not in folded), *folded]
    n = math.prod(shape[d] for d in folded)
    rows = math.prod(shape) // n if n else 0
    found = elements(rng, dtype, rows, n).reshape([shape[d] for d in order])
    return found.transpose(np.argsort(order)) if order else found


# ---- elements ----------------------------------------------------------------------------------


def elements(rng: np.random.Generator, dtype: str, rows: int, n: int) -> np.ndarray:
    if rows * n == 0:
        return np.zeros((rows, n), dtype)
    if dtype in INTEGERS:
        return integers(rng, dtype, rows, n)
    if dtype in COMPLEX:
        a = elements(rng, PARTS[dtype], rows, n).astype(dtype)
        a.imag = elements(rng, PARTS[dtype], rows, n)
        return a
    kind = KINDS[rng.integers(0, len(KINDS))]
    return np.asarray(kind(rng, rows, n, *FORMATS[dtype])).astype(dtype)


def integers(rng: np.random.Generator, dtype: str, rows: int, n: int) -> np.ndarray:
    info = np.iinfo("uint8" if dtype == "bool" else dtype)
    low, high = int(info.min), int(info.max)
    kind = rng.integers(0, 6)
    if kind == 0:
        a = rng.integers(0, 5, (rows, n))
    elif kind == 1:
        a = np.zeros((rows, n))
    elif kind == 2:
        a = rng.choice(np.array([low, low + 1, high - 1, high], info.dtype), (rows, n))
    elif kind == 3:
        a = np.repeat(rng.integers(low, high, (rows, 1), info.dtype, endpoint=True), n, 1)
    elif kind == 4:  # halfway in float64, or off that by the least, if the dtype is wide enough
        a = rng.integers(0, 2, (rows, n), np.int64) * rng.integers(0, 2, (rows, 1))
        a[:, rng.integers(0, n)] = rng.integers(2**52, 2**53, rows) * 2 + 1
    else:
        a = rng.integers(low, high, (rows, n), info.dtype, endpoint=True)
    return a.astype(dtype)


# Each makes float64 by rows, n, and the dtype's FORMATS. They scale by ldexp, which is exact: exp
# and exp2 give other bits in other builds of NumPy.


def normal(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    return rng.standard_normal((rows, n))


def few(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    """Integers, and so exact ties."""
    return np.rint(rng.standard_normal((rows, n)) * 4)


def lognormal(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    """As wide as a lognormal distribution of sigma 5."""
    exponents = np.rint(rng.standard_normal((rows, n)) * 7.2).astype(int)
    return np.ldexp(1 + rng.random((rows, n)), exponents)


def outlier(rng: np.random.Generator, rows: int, n: int, p: int, low: int, high: int) -> np.ndarray:
    a = rng.standard_normal((rows, n))
    a[np.arange(rows), rng.integers(0, n, rows)] = np.ldexp(1.5, min(rng.integers(10, 90), high))
    return a


def binades(rng: np.random.Generator, rows: int, n: int, p: int, low: int, high: int) -> np.ndarray:
    wide = min(int(rng.choice([10, 30, 100, 1000])), high - 3)
    return np.ldexp(rng.standard_normal((rows, n)), rng.integers(-wide, wide + 1, (rows, n)))


def subnormal(rng: np.random.Generator, rows: int, n: int, p: int, low: int, _: int) -> np.ndarray:
    return np.ldexp(rng.integers(-(2 ** (p - 1)), 2 ** (p - 1), (rows, n)).astype(float), low)


def cancelling(rng: np.random.Generator, rows: int, n: int, *format: int) -> np.ndarray:
    """Each element with its negative; if n is odd, a small one is left."""
    half = (binades if rng.random() < 0.5 else normal)(rng, rows, n // 2, *format)
    rest = np.ldexp(rng.standard_normal((rows, n % 2)), -8)
    return rng.permuted(np.concatenate([half, -half, rest], 1), axis=1)


def halfway(rng: np.random.Generator, rows: int, n: int, p: int, low: int, high: int) -> np.ndarray:
    """A sum halfway between two neighbours, or the least step beside; the rest cancels."""
    a = np.zeros((rows, max(n, 3)))
    at = int(rng.integers(low + 1, high - p - 1))
    a[:, 0] = np.ldexp(rng.integers(2 ** (p - 1), 2**p, rows).astype(float), at)
    a[:, 1] = np.ldexp(rng.choice([-1.0, 1.0], rows), at - 1)
    a[:, 2] = np.ldexp(rng.choice([-1.0, 0.0, 0.0, 1.0], rows), low)
    half = (a.shape[1] - 3) // 2
    pairs = (binades if rng.random() < 0.5 else normal)(rng, rows, half, p, low, high)
    a[:, 3 : 3 + 2 * half] = np.concatenate([pairs, -pairs], 1)
    return rng.permuted(a[:, :n], axis=1)


def triples(rng: np.random.Generator, rows: int, n: int, p: int, low: int, _: int) -> np.ndarray:
    """3k, 4k, and a norm 5k that lies halfway, or the least step above."""
    a = np.zeros((rows, max(n, 3)))
    k = rng.integers(2**p // 5 + 1, 2**p // 4, rows) | 1
    a[:, 0], a[:, 1] = 3 * k, -4 * k
    a[:, 2] = rng.choice([0.0, np.ldexp(1.0, max(low // 2, -200))], rows)
    return rng.permuted(a, axis=1)[:, :n]


def special(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    some = rng.permutation([np.nan, np.nan, np.inf, -np.inf, -0.0, 0.0])[: rng.integers(1, 4)]
    a = rng.standard_normal((rows, n))
    chosen = rng.random((rows, n)) < rng.choice([0.02, 0.3, 1.0])
    a[chosen] = rng.choice(some, int(chosen.sum()))
    return a


def zero(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    return np.full((rows, n), rng.choice([-0.0, 0.0]))


def constant(rng: np.random.Generator, rows: int, n: int, *_: int) -> np.ndarray:
    return np.repeat(rng.standard_normal((rows, 1)), n, 1)


def close(rng: np.random.Generator, rows: int, n: int, p: int, low: int, high: int) -> np.ndarray:
    """Neighbouring numbers, whose variance nearly cancels."""
    return np.ldexp(2.0 ** (p - 1) + rng.integers(0, 4, (rows, n)), int(rng.integers(-p, 5 - p)))


def greatest(rng: np.random.Generator, rows: int, n: int, p: int, _: int, high: int) -> np.ndarray:
    """Sums around the greatest number, and halfway between it and infinity."""
    top = np.ldexp(2 - 2.0 ** (1 - p), high)
    some = [top, -top, top / 2, np.ldexp(1.0, high - p), np.ldexp(1.0, high - p - 1)]
    return rng.choice(some, (rows, n))


KINDS = (normal, few, lognormal, outlier, binades, subnormal, cancelling, halfway, special, zero)
KINDS += (triples, constant, close, greatest)
