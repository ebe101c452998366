"""The cells of bench/reduce.py: operations, dtypes, layouts, data, and what a peer calls for it."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import views
import warpkit
from common import Run

Array = Any  # CuPy's or PyTorch's
Axis = int | tuple[int, ...] | None
Op = str | tuple[str, ...]  # several are of one call

DTYPES = (
    *("bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128"),
)
SEVERAL = ("min", "max", "mean", "std")
OPS: tuple[Op, ...] = ("sum", "mean", "var", "max", "argmax", "any", "norm", SEVERAL)


# ---------------------------------------------------------------------------- layouts


@dataclass(frozen=True)
class Layout:
    view: Callable[[Array], Array]  # of one dimension; a slice or a reshape, no copy
    axis: Axis = None
    step: int = 1  # elements from one to the next


def rows_of(columns: int) -> Callable[[Array], Array]:
    return lambda a: a[: len(a) // columns * columns].reshape(-1, columns)


def columns_of(rows: int) -> Callable[[Array], Array]:
    return lambda a: a[: len(a) // rows * rows].reshape(rows, -1)


def cube(a: Array) -> Array:
    return a.reshape(512, 1024, -1)


LARGE = "16384 x n"
SHAPES = {
    LARGE: columns_of(16384),
    "n x 16": rows_of(16),
    "16 x n": columns_of(16),
    "3 x n": columns_of(3),
    "n x 2": rows_of(2),
    "n x 3": rows_of(3),
    "n x 33": rows_of(33),
    "33 x n": columns_of(33),
}
LAYOUTS = {
    "flat": Layout(lambda a: a),
    **{
        f"{shape}, axis {axis}": Layout(view, axis)
        for shape, view in SHAPES.items()
        for axis in (0, 1)
    },
    "512 x 1024 x n, axis 1": Layout(cube, 1),
    "512 x 1024 x n, axes (0, 2)": Layout(cube, (0, 2)),
    "x[::3]": Layout(lambda a: a[::3], None, 3),
    "x.T, axis 0": Layout(lambda a: SHAPES[LARGE](a).T, 0),
}


# ---------------------------------------------------------------------------- the matrix


@dataclass(frozen=True)
class Cell:
    op: Op
    dtype: str
    layout: str

    @property
    def name(self) -> str:
        return name_of(self.op)


def name_of(op: Op) -> str:
    return op if isinstance(op, str) else ", ".join(op)


def product() -> list[Cell]:
    """All there are: argmax takes one axis or none."""
    every = (Cell(*key) for key in itertools.product(OPS, DTYPES, LAYOUTS))
    return [c for c in every if c.op != "argmax" or not isinstance(LAYOUTS[c.layout].axis, tuple)]


def draw(n: int, seed: int) -> list[Cell]:
    """So many cells in a random order, of which any first ones have all operations about as often.

    And all dtypes, and all layouts: each is the one whose three have been drawn least so far; of
    several the one whose pairs have.
    """
    left = [(cell, parts(cell)) for cell in random.Random(seed).sample(product(), len(product()))]
    kinds = len(OPS), len(DTYPES), len(LAYOUTS)
    drawn = Counter[Any]()

    def often(at: int) -> tuple[int, int]:
        """How often, over how often each of its kind is to be expected."""
        one, two = left[at][1]
        return sum(drawn[x] * k for x, k in zip(one, kinds, strict=True)), sum(
            drawn[x] for x in two
        )

    chosen: list[Cell] = []
    while left and len(chosen) < n:
        cell, of_it = left.pop(min(range(len(left)), key=often))
        chosen.append(cell)
        drawn.update(itertools.chain(*of_it))
    return chosen


def parts(cell: Cell) -> tuple[tuple[Any, ...], list[Any]]:
    """Its three, and the pairs of them; no two kinds share a name."""
    three = cell.op, cell.dtype, cell.layout
    return three, list(itertools.combinations(three, 2))


# ---------------------------------------------------------------------------- views

VIEWED_OPS: tuple[Op, ...] = (*OPS, "all", "count_nonzero")


def viewed(n: int, seed: int, most: int) -> list[tuple[Cell, Layout]]:
    """So many cells of views by the seed, of 2^16 to `most` bytes, each size as likely."""
    draw = random.Random(seed)
    found: dict[Cell, Layout] = {}
    while len(found) < n:
        op, dtype = draw.choice(VIEWED_OPS), draw.choice(DTYPES)
        item = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
        elements = int(2 ** draw.uniform(16, math.log2(most)) / item)
        shape, name, view = views.viewed(draw, elements, draw.choice((1, 2, 2, 2, 3, 3, 4)))
        axis, words = views.folded(draw, len(shape), 1 if op in ("argmax", SEVERAL) else len(shape))
        if math.prod(shape) * item > most:  # its extents were rounded
            continue
        text = f"{name} of {' x '.join(map(str, shape))}, {words}"
        found[Cell(op, dtype, text)] = Layout(partial(of_shape, shape=shape, view=view), axis)
    return list(found.items())


def of_shape(a: Array, shape: tuple[int, ...], view: Callable[[Array], Array]) -> Array:
    return view(a[: math.prod(shape)].reshape(shape))


# ---------------------------------------------------------------------------- data

OUTLIERS = "1e30 once in 2^20"
LOGNORMAL = {"lognormal(3)": 3, "lognormal(5)": 5}  # sigma
Spread = str | int  # an integer: of either sign over so many binades, each as likely

DATA_OPS = ("sum", "norm", "var")
DATA_LAYOUTS = ("flat", "n x 16, axis 1", f"{LARGE}, axis 0", f"{LARGE}, axis 1")
COMMON: tuple[Spread, ...] = ("normal", "lognormal(5)", OUTLIERS, 200)
DATA = {"bfloat16": COMMON, "float32": COMMON, "float64": (*COMMON, 2000)}


def words_of(what: Spread) -> str:
    return f"{what} binades" if isinstance(what, int) else what


def floats(cupy: Any, dtype: str, nbytes: int, what: Spread) -> Array:
    """One-dimensional; bfloat16 is given as uint16."""
    if dtype == "bfloat16":
        bits = spread(cupy, "float32", nbytes // 2, what).view("uint32")
        bits >>= 16
        return bits.astype("uint16")
    return spread(cupy, dtype, nbytes // (4 if dtype == "float32" else 8), what)


def spread(cupy: Any, dtype: str, n: int, what: Spread) -> Array:
    if what == "uniform":
        return cupy.random.random(n, dtype=dtype)
    normal = cupy.random.standard_normal(n, dtype=dtype)
    if isinstance(what, int):
        exponent = cupy.floor((cupy.random.random(n, dtype=dtype) - 0.5) * what).astype("int32")
        mantissa = cupy.random.random(n, dtype=dtype)
        mantissa += 1
        return cupy.ldexp(cupy.copysign(mantissa, normal), exponent)
    if what == OUTLIERS:
        starts = cupy.arange(0, n - 2**20 + 1, 2**20)
        normal[starts + cupy.random.randint(0, 2**20, starts.size)] = 1e30
    elif what in LOGNORMAL:
        normal *= LOGNORMAL[what]
        cupy.exp(normal, out=normal)
    return normal


# ---------------------------------------------------------------------------- the sweep

SWEPT_DTYPES = ("int16", *DTYPES)
SWEPT_OPS: tuple[Op, ...] = (
    *("sum", "mean", "var", "std", "norm", "sumsq", "prod", "min", "max", "ptp"),
    *("argmin", "argmax", "any", "all", "count_nonzero"),
    *("nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmax"),
    *(("sum", "mean"), ("mean", "std"), ("mean", "var", "std"), ("sum", "norm")),
    *(("sum", "sumsq"), ("min", "max"), ("min", "argmin"), ("any", "all"), SEVERAL),
)
MASKED_OPS = ("sum", "mean", "var", "any")  # also of the half of all elements that a mask leaves
SWEPT_LAYOUTS = {
    "flat": LAYOUTS["flat"],
    **{f"{m} x n, axis 0": Layout(columns_of(m), 0) for m in (2, 3, 16, 100, 3000)},
    **{f"n x {m}, axis 1": Layout(rows_of(m), 1) for m in (2, 3, 16, 100, 4096, 100_000)},
    **{f"n x {m}, axis 0": Layout(rows_of(m), 0) for m in (3, 16)},
}
SWEPT_DATA = ("normal", "integers", "constant", "far")
FAR = {"float16": 100, "bfloat16": 30, "float32": 1e4, "float64": 1e9}  # from zero, with spread 1


def is_whole(dtype: str) -> bool:
    return dtype == "bool" or "int" in dtype


def swept_data(dtype: str) -> tuple[str, ...]:
    """Of integers one kind: those below 100; of bool below 2."""
    return ("integers",) if is_whole(dtype) else SWEPT_DATA


def swept(cupy: Any, dtype: str, nbytes: int, what: str) -> Array:
    """One-dimensional; bfloat16 is given as uint16. Of complex numbers both parts are alike."""
    if is_whole(dtype):
        whole = cupy.random.randint(0, 2 if dtype == "bool" else 100, nbytes, dtype="uint8")
        return whole[: nbytes // cupy.dtype(dtype).itemsize].astype(dtype)
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    wide = "float64" if part == "float64" else "float32"
    item = {"float64": 8, "float32": 4}.get(part, 2)
    x = cupy.random.standard_normal(nbytes // item, dtype=wide)
    if what == "integers":
        x = cupy.rint(3 * x)
    elif what == "constant":
        x[...] = 3.7
    elif what == "far":
        x += FAR[part]
    if dtype == "bfloat16":
        return (x.view("uint32") >> 16).astype("uint16")
    return x.view(dtype) if dtype != part else x.astype(part)


# ---------------------------------------------------------------------------- calls


def ours(a: Array, op: Any, axis: Axis, where: Array | None = None) -> Run:
    masked = {} if where is None else {"where": where}
    return partial(warpkit.reduce, a, op, axis, **masked)


def of_cupy(cupy: Any, a: Array, op: Op, axis: Axis) -> Run:
    if isinstance(op, tuple):
        runs = [of_cupy(cupy, a, one, axis) for one in op]
        return lambda: [run() for run in runs]
    return partial(cupy.linalg.norm if op == "norm" else getattr(cupy, op), a, axis=axis)


def of_torch(torch: Any, op: Op, axis: Axis, dtype: str) -> Callable[[Array], Any]:
    """A function of the tensor, as one writes it; torch.compile takes it too.

    Integers are converted where PyTorch's operation takes none: to float64, as NumPy's are; for
    the argmax of bool they are looked at as uint8.
    """
    if isinstance(op, tuple):
        folds = [of_torch(torch, one, axis, dtype) for one in op]
        return lambda a: [fold(a) for fold in folds]
    dim: dict[str, Any] = {} if axis is None else {"dim": axis}
    whole = is_whole(dtype)
    wide = torch.float64
    if op in ("var", "std"):
        moment = getattr(torch, op)
        return lambda a: moment(a.to(wide) if whole else a, **dim, correction=0)
    if op == "norm":
        return lambda a: torch.linalg.vector_norm(a.to(wide) if whole else a, **dim)
    if op == "mean" and whole:
        return lambda a: torch.mean(a, **dim, dtype=wide)
    if op == "argmax" and dtype == "bool":
        return lambda a: torch.argmax(a.view(torch.uint8), **dim)
    function = getattr(torch, {"min": "amin", "max": "amax"}.get(op, op))
    return lambda a: function(a, **dim)


def in_two_calls(torch: Any, axis: Axis, dtype: str) -> Callable[[Array], Any]:
    """SEVERAL by the functions that give two of them each; axis is one or none."""
    dim: dict[str, Any] = {} if axis is None else {"dim": axis}
    whole = is_whole(dtype)

    def both(a: Array) -> Any:
        std, mean = torch.std_mean(a.to(torch.float64) if whole else a, **dim, correction=0)
        return *torch.aminmax(a, **dim), mean, std

    return both
