"""The cells of bench/reduce.py's matrix: operation, dtype, layout, and what a peer calls for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import warpkit
from common import Run

Array = Any  # CuPy's or PyTorch's
Axis = int | tuple[int, ...] | None

DTYPES = (
    *("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16"),
    *("float32", "float64", "complex64", "complex128"),
)


# ---------------------------------------------------------------------------- data


def spread(cupy: Any, dtype: str, n: int, what: str | int) -> Array:
    """Floats of a distribution, or of either sign over so many binades, each as likely."""
    if what == "uniform":
        return cupy.random.random(n, dtype=dtype)
    normal = cupy.random.standard_normal(n, dtype=dtype)
    if what == "normal":
        return normal
    if what == "lognormal(3)":
        normal *= 3
        return cupy.exp(normal, out=normal)
    assert isinstance(what, int)
    exponent = cupy.floor((cupy.random.random(n, dtype=dtype) - 0.5) * what).astype("int32")
    mantissa = cupy.random.random(n, dtype=dtype)
    mantissa += 1
    return cupy.ldexp(cupy.copysign(mantissa, normal), exponent)


# ---------------------------------------------------------------------------- layouts


@dataclass(frozen=True)
class Layout:
    view: Callable[[Array], Array]  # of one dimension; a slice or a reshape, no copy
    axis: Axis = None


def matrix(columns: int, first: int = 0) -> Callable[[Array], Array]:
    """Rows of so many elements, from the element ``first`` on."""

    def view(a: Array) -> Array:
        rows = (len(a) - first) // columns
        return a[first : first + rows * columns].reshape(rows, columns)

    return view


def square(a: Array) -> Array:
    side = math.isqrt(len(a)) // 512 * 512
    return a[: side * side].reshape(side, side)


def wide(rows: int) -> Callable[[Array], Array]:
    return lambda a: a.reshape(rows, -1)


def cube(a: Array) -> Array:
    return a.reshape(512, 1024, -1)


LAYOUTS = {
    "flat": Layout(lambda a: a),
    "flat, a[1:]": Layout(lambda a: a[1:]),
    "flat, a[::2]": Layout(lambda a: a[::2]),
    "flat, a.T": Layout(lambda a: square(a).T),
    "16384 x n, axis 1": Layout(wide(16384), 1),
    "16 x n, axis 1": Layout(wide(16), 1),
    "n x 16, axis 1": Layout(matrix(16), 1),
    "n x 64, axis 1": Layout(matrix(64), 1),
    "n x 1000, axis 1": Layout(matrix(1000), 1),
    "n x 4099 from a[1:], axis 1": Layout(matrix(4099, 1), 1),
    "n x 4099 from a[1:], axis 0": Layout(matrix(4099, 1), 0),
    "n x 16, axis 0": Layout(matrix(16), 0),
    "square, axis 0": Layout(square, 0),
    "square, axis 1": Layout(square, 1),
    "square, a.T, axis 0": Layout(lambda a: square(a).T, 0),
    "512 x 1024 x n, axis 1": Layout(cube, 1),
    "512 x 1024 x n, axes (0, 2)": Layout(cube, (0, 2)),
}


# ---------------------------------------------------------------------------- cells


@dataclass(frozen=True)
class Cell:
    op: str | tuple[str, ...]
    dtype: str
    layout: str

    @property
    def name(self) -> str:
        return self.op if isinstance(self.op, str) else " + ".join(self.op)


SEVERAL = ("min", "max", "mean", "std")
FLAT = (
    *("sum", "prod", "min", "max", "mean", "var", "std", "norm", "sumsq", "ptp", "any", "all"),
    *("count_nonzero", "argmin", "argmax", "nansum", "nanmin", "nanmean", "nanstd"),
)
HARD = (
    *("n x 16, axis 1", "n x 64, axis 1", "16 x n, axis 1", "n x 16, axis 0", "square, axis 0"),
    *("square, axis 1", "512 x 1024 x n, axis 1"),
)


def cells() -> list[Cell]:
    """Every dtype flat, every operation and layout of float32, and the hard layouts of more."""
    found = dict.fromkeys(selection())
    return sorted(found, key=lambda cell: DTYPES.index(cell.dtype))


def selection() -> Iterator[Cell]:
    for dtype in DTYPES:
        for op in ("sum", "max", "mean", "argmax"):
            yield Cell(op, dtype, "flat")
    for op in FLAT:
        yield Cell(op, "float32", "flat")
    for dtype in ("int8", "int32", "float16", "float64"):
        for op in ("prod", "min", "std", "norm", "any", "count_nonzero", "ptp"):
            yield Cell(op, dtype, "flat")
    for op in ("any", "all", "count_nonzero"):
        yield Cell(op, "bool", "flat")
    for op in ("var", "norm", "prod"):
        yield Cell(op, "complex64", "flat")
    for layout in LAYOUTS:
        for op in ("sum", "max"):
            yield Cell(op, "float32", layout)
    for layout in HARD:
        for op in ("mean", "std", "argmax"):
            yield Cell(op, "float32", layout)
        for dtype in ("int8", "int32", "float16", "float64"):
            yield Cell("sum", dtype, layout)
    for layout in ("n x 16, axis 0", "square, axis 0", "n x 64, axis 1", "flat, a[1:]"):
        for dtype in ("int16", "bfloat16", "complex64"):
            yield Cell("sum", dtype, layout)
        yield Cell("any", "bool", layout)
    for dtype in ("int8", "int32", "float16", "float32", "float64"):
        for layout in ("flat", "square, axis 0", "square, axis 1"):
            yield Cell(SEVERAL, dtype, layout)


# ---------------------------------------------------------------------------- calls


def ours(a: Array, op: str | tuple[str, ...], axis: Axis) -> Run:
    return partial(warpkit.reduce, a, op, axis)


def of_cupy(cupy: Any, a: Array, op: str | tuple[str, ...], axis: Axis) -> Run:
    if isinstance(op, tuple):
        return together([of_cupy(cupy, a, one, axis) for one in op])
    if op == "norm":
        return partial(cupy.linalg.norm, a, axis=axis)
    if op == "sumsq":
        return lambda: cupy.square(a).sum(axis)
    return partial(getattr(cupy, op), a, axis=axis)


TORCH_NAMES = {"min": "amin", "max": "amax"}


def of_torch(torch: Any, a: Array, op: str | tuple[str, ...], axis: Axis) -> Run:
    if isinstance(op, tuple):
        return together([of_torch(torch, a, one, axis) for one in op])
    dim: dict[str, Any] = {} if axis is None else {"dim": axis}
    if op == "norm":
        return partial(torch.linalg.vector_norm, a, **dim)
    if op == "sumsq":
        return lambda: torch.linalg.vector_norm(a, **dim).square()
    if op == "ptp":

        def ptp() -> Array:
            least, most = torch.aminmax(a, **dim)
            return most - least

        return ptp
    if op in ("var", "std"):
        return partial(getattr(torch, op), a, **dim, correction=0)
    if op == "mean" and not a.dtype.is_floating_point and not a.dtype.is_complex:
        return partial(torch.mean, a, **dim, dtype=torch.float64)
    return partial(getattr(torch, TORCH_NAMES.get(op, op)), a, **dim)


def together(runs: list[Run]) -> Run:
    return lambda: [run() for run in runs]
