"""Cells that a stranger would draw for the CPU: operation, dtype, size and layout by a seed.

Sizes are 2^6 to 2^24 elements, each power as likely as any other; all else is uniform. Elements are
normal, 1 to 127, False or True; of the functions that pass over NaN one in a thousand is NaN.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import warpkit
from numpy.typing import NDArray
from scipy import ndimage
from views import KINDS, folded, viewed

Array = NDArray[Any]
Shape = tuple[int, ...]
Calls = tuple[Callable[[], Any], Callable[[], Any]]  # warpkit's, the peer's
Prepare = Callable[[Shape], tuple[Callable[[], Any], Callable[[], Any], Array]]
Drawn = tuple[str, str, str, Shape, str, Prepare]  # op, what, dtype, shape, peer, calls

DTYPES = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
FOLDS = (
    "sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all", "prod", "ptp",
    "count_nonzero", "norm",
)  # fmt: skip
SKIPPING = ("nansum", "nanmean", "nanstd", "nanmax", "nanmin", "nanargmax")
MASKED = ("sum", "mean", "std", "any", "prod")
LAYOUTS = (
    "flat", "flat", "a[::2]", "a[::-1]", "axis0", "axis1", "middle", "n,3", "n,16", "3,n", "16,n",
    "T0", "T1", *("view",) * 13,
)  # fmt: skip
VIEWS = (*KINDS, "flip")
OPS = ("reduce",) * 10 + (
    *("transpose", "transpose", "stencil1d", "histogram", "bincount"),
    *("dot", "cumsum", "segment_reduce", "unique_counts"),
)


def elements(dtype: str, shape: Shape, rng: np.random.Generator, most: int = 127) -> Array:
    if dtype == "bool":
        return rng.integers(0, 2, shape, np.uint8).view(np.bool_)
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return rng.integers(1, min(most, np.iinfo(kind).max), shape, kind, endpoint=True)
    if kind.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
    return rng.standard_normal(shape).astype(kind)


def drawn(seed: int, count: int) -> Iterator[Drawn]:
    draw = random.Random(seed)
    left = count
    while left:
        op, dtype, n = draw.choice(OPS), draw.choice(DTYPES), int(2 ** draw.uniform(6, 24))
        cell = DRAWS[op](draw, dtype, n)
        if cell is None:  # there is no such call
            continue
        what, shape, peer, calls = cell
        yield op, what, dtype, shape, peer, partial(prepared, calls, dtype, draw.random())
        left -= 1


def prepared(
    calls: Callable[[Array, np.random.Generator], Calls], dtype: str, seed: float, shape: Shape
) -> tuple[Callable[[], Any], Callable[[], Any], Array]:
    rng = np.random.default_rng(int(seed * 2**32))
    a = elements(dtype, shape, rng)
    return *calls(a, rng), a


Cell = tuple[str, Shape, str, Callable[[Array, np.random.Generator], Calls]] | None


# ---- reductions --------------------------------------------------------------------------------


def layout(name: str, n: int) -> tuple[Shape, int | None, Callable[[Array], Array]]:
    """The shape in memory, the axis, and the view of it that is folded."""
    side, edge = max(2, int(n**0.5)), max(2, round(n ** (1 / 3)))
    short = int(name.split(",")[1 if name[0] == "n" else 0]) if "," in name else 0
    long = max(1, n // max(short, 1))
    found: dict[str, tuple[Shape, int | None, Callable[[Array], Array]]] = {
        "flat": ((n,), None, np.asarray),
        "a[::2]": ((2 * n,), None, lambda a: a[::2]),
        "a[::-1]": ((n,), None, lambda a: a[::-1]),
        "axis0": ((side, side), 0, np.asarray),
        "axis1": ((side, side), 1, np.asarray),
        "T0": ((side, side), 0, np.transpose),
        "T1": ((side, side), 1, np.transpose),
        "middle": ((edge, edge, edge), 1, np.asarray),
    }
    if name[0] == "n":
        return (long, short), 1, np.asarray
    return found.get(name, ((short, long), 0, np.asarray))


def reduction(draw: random.Random, dtype: str, n: int) -> Cell:
    op, name, masked = draw.choice(FOLDS + SKIPPING), draw.choice(LAYOUTS), draw.random() < 0.1
    axis: int | Shape | None
    if name == "view":
        shape, name, view = viewed(draw, n, draw.choice((1, 2, 2, 3, 3, 4)), VIEWS)
        axis, words = folded(draw, len(shape), 1 if "arg" in op or op == "norm" else len(shape))
        name = f"{name}, {words}"
    else:
        shape, axis, view = layout(name, n)
    if op == "ptp" and dtype == "bool":
        return None
    if masked and op not in MASKED:
        return None

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        if op.startswith("nan") and a.dtype.kind in "fc":
            a[rng.random(a.shape) < 1e-3] = np.nan
        if op == "prod" and a.dtype.kind in "fc":
            a[...] = 1 + a * a.dtype.type(2**-10)  # neither overflows nor underflows
        x = view(a)
        given: dict[str, Any] = {"where": rng.random(x.shape) < 0.5} if masked else {}
        ours = partial(warpkit.reduce, x, op, axis, device="cpu", **given)
        if op == "norm":
            return ours, partial(np.linalg.norm, x, axis=axis)
        return ours, partial(getattr(np, op), x, axis=axis, **given)

    return f"{op}{' where' if masked else ''} of {name}", shape, "NumPy", calls


# ---- the others --------------------------------------------------------------------------------


def transposition(draw: random.Random, dtype: str, n: int) -> Cell:
    ndim = draw.choice((2, 2, 3, 4))
    axes = tuple(draw.sample(range(ndim), ndim))
    if axes == tuple(range(ndim)):
        return None
    shape, name, view = viewed(draw, n, ndim, VIEWS)

    def calls(a: Array, _: np.random.Generator) -> Calls:
        x = view(a)
        return partial(warpkit.transpose, x, axes, device="cpu"), x.transpose(axes).copy

    return f"{axes} of {name}", shape, "NumPy", calls


def stencil(draw: random.Random, dtype: str, n: int) -> Cell:
    if dtype not in ("u1", "i2", "i4", "f4", "f8"):
        return None
    radius, axis = draw.choice((1, 2, 4, 8)), draw.choice((0, 1))
    side = max(20, int(n**0.5))

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        taps = rng.random(2 * radius + 1)
        taps /= taps.sum()
        ours = partial(warpkit.stencil1d, a, taps, axis, device="cpu")
        return ours, partial(ndimage.correlate1d, a, taps, axis)

    return f"radius {radius}, axis {axis}", (side, side), "SciPy", calls


def histogram(draw: random.Random, dtype: str, n: int) -> Cell:
    if dtype in ("bool", "c8", "c16"):
        return None
    bins, how = draw.choice((10, 100, 1000)), draw.choice(("", "range", "edges"))

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        ends = (-3.0, 3.0) if a.dtype.kind == "f" else (0.0, 128.0)
        edges: Any = np.sort(rng.uniform(*ends, bins + 1)) if how == "edges" else bins
        given: dict[str, Any] = {"range": ends} if how == "range" else {}
        ours = partial(warpkit.histogram, a, edges, device="cpu", **given)
        return ours, partial(np.histogram, a, edges, **given)

    return f"{bins} bins{', ' if how else ''}{how}", (n,), "NumPy", calls


def bincount(draw: random.Random, dtype: str, n: int) -> Cell:
    if np.dtype(dtype).kind not in "iu" or dtype == "u8":  # of which NumPy counts none
        return None
    most, weighted = draw.choice((100, 5000, 100000)), draw.random() < 0.4

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        a[...] = elements(dtype, a.shape, rng, most)
        weights = rng.random(a.shape) if weighted else None
        return partial(warpkit.bincount, a, weights, device="cpu"), partial(np.bincount, a, weights)

    return f"up to {most}{', weights' if weighted else ''}", (n,), "NumPy", calls


def dot(draw: random.Random, dtype: str, n: int) -> Cell:
    if dtype not in ("f4", "f8", "c8", "c16"):
        return None

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        b = elements(dtype, a.shape, rng)
        return partial(warpkit.dot, a, b, device="cpu"), partial(np.dot, a, b)

    return "of two runs", (n,), "NumPy", calls


def cumsum(draw: random.Random, dtype: str, n: int) -> Cell:
    if dtype == "f2":  # NumPy's round at each step
        return None
    shape, name, view = viewed(draw, n, draw.choice((1, 2, 2, 3)), VIEWS)
    axis = draw.randrange(len(shape))

    def calls(a: Array, _: np.random.Generator) -> Calls:
        x = view(a)
        return partial(warpkit.cumsum, x, axis, device="cpu"), partial(np.cumsum, x, axis)

    return f"of {name}, axis {axis}", shape, "NumPy", calls


def segments(draw: random.Random, dtype: str, n: int) -> Cell:
    if dtype not in ("i4", "i8", "f4", "f8"):
        return None
    length, ragged = draw.choice((4, 30, 500)), draw.random() < 0.5

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        lengths = rng.integers(1, 2 * length, a.size // length + 1) if ragged else length
        inner = np.cumsum(np.broadcast_to(lengths, a.size // length + 1))
        offsets = np.concatenate(([0], inner[inner < a.size], [a.size]))
        ours = partial(warpkit.segment_reduce, a, offsets, device="cpu")
        return ours, partial(np.add.reduceat, a, offsets[:-1], dtype=np.sum(a[:1]).dtype)

    return f"sums of {'about ' if ragged else ''}{length}", (n,), "NumPy", calls


def unique(draw: random.Random, dtype: str, n: int) -> Cell:
    most = draw.choice((10, 1000, 10**6))
    if dtype in ("c8", "c16"):
        return None

    def calls(a: Array, rng: np.random.Generator) -> Calls:
        if a.dtype.kind in "iu":
            a[...] = elements(dtype, a.shape, rng, most)
        return partial(warpkit.unique_counts, a, device="cpu"), partial(np.unique_counts, a)

    integer = np.dtype(dtype).kind in "iu"
    return f"up to {most}" if integer else "random", (n,), "NumPy", calls


DRAWS: dict[str, Callable[[random.Random, str, int], Cell]] = {
    "reduce": reduction,
    "transpose": transposition,
    "stencil1d": stencil,
    "histogram": histogram,
    "bincount": bincount,
    "dot": dot,
    "cumsum": cumsum,
    "segment_reduce": segments,
    "unique_counts": unique,
}

warnings.filterwarnings("ignore", category=RuntimeWarning)  # NumPy's sums of small floats overflow
