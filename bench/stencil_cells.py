"""The cells of bench/stencil.py: shape, axis, radius, dtypes, and what a peer calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from common import Run

Array = Any  # CuPy's or PyTorch's
Shape = tuple[int, ...]

REALS = ("float32", "float64")
LAST = (1, 2, 4, 8, 12, 16, 24, 32, 64, 128)  # radii along the last axis
FIRST = (1, 4, 8, 16, 32, 64, 128)  # along axis 0
ODD = (4, 8)  # where no row begins on 16 bytes
EXTENTS, INNER = (2, 3, 4, 8, 16, 32, 64), (1, 4, 8, 64)
LENGTHS, ROWS = (4, 16, 50, 257, 1000, 1023, 4096), (1, 4, 8, 45, 64)
PLANES = ((4, 3), (16, 3), (200, 3), (4, 64), (16, 300), (4, 4096))  # short ones
WIDE = (1, 4, 16, 64)  # for sums of float64
OTHERS = ("uint8", "float16", "complex64")
FEW = (2**10, 2**16, 2**20)  # elements
LONG = (257, 1025, 4097)  # coefficients, beside the FFT
EPS = {"float16": 2.0**-10, "float32": 2.0**-23, "complex64": 2.0**-23, "float64": 2.0**-52}


@dataclass(frozen=True)
class Cell:
    case: str
    dtype: str
    shape: Shape
    axis: int
    radius: int
    sums: str  # what products are added in

    @property
    def taps(self) -> int:
        return 2 * self.radius + 1

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def moved(self) -> int:
        """Bytes read and written, each element once."""
        return 2 * self.size * np.dtype(self.dtype).itemsize

    @property
    def fmas(self) -> int:
        """Multiply-adds of real numbers; the coefficients are real."""
        return self.size * self.taps * (2 if self.dtype.startswith("complex") else 1)

    @property
    def padded(self) -> int:
        """Elements of an input that has the neighbours of the ends too."""
        n = self.shape[self.axis]
        return self.size // n * (n + 2 * self.radius)

    @property
    def accumulate(self) -> str | None:
        """As stencil1d takes it."""
        return "float32" if self.sums == "float32" else None


# ---------------------------------------------------------------------------- cells


def last(elements: int) -> Iterator[Cell]:
    for dtype in REALS:
        for radius in LAST:
            yield Cell("last axis", dtype, (elements,), 0, radius, dtype)


def first(elements: int) -> Iterator[Cell]:
    rows = math.isqrt(elements // 2)
    for columns, radii in ((elements // rows, FIRST), (elements // rows - 3, ODD)):
        for dtype in REALS:
            for radius in radii:
                case = f"axis 0 of {rows} x {columns}"
                yield Cell(case, dtype, (rows, columns), 0, radius, dtype)


def inner(elements: int) -> Iterator[Cell]:
    outer = max(1, elements // 2**15)
    for dtype in REALS:
        for m in EXTENTS:
            shape = outer, elements // outer // m, m
            for radius in INNER:
                yield Cell(f"{m} elements within", dtype, shape, 1, radius, dtype)
        for plane in PLANES:
            shape = elements // math.prod(plane), *plane
            for radius in INNER[:2]:
                yield Cell("planes of {} x {}".format(*plane), dtype, shape, 1, radius, dtype)


def rows(elements: int) -> Iterator[Cell]:
    for dtype in REALS:
        for length in LENGTHS:
            shape = elements // length, length
            for radius in ROWS:
                yield Cell(f"rows of {length}", dtype, shape, 1, radius, dtype)


def sums(elements: int) -> Iterator[Cell]:
    """What is added in another dtype than the elements'."""
    for radius in WIDE:
        yield Cell("last axis", "float32", (elements,), 0, radius, "float64")
    for dtype in OTHERS:
        for wide in REALS:
            yield Cell("last axis", dtype, (elements,), 0, 4, wide)
    every = (*first(elements), *inner(elements), *rows(elements))
    short = ("3 elements within", "rows of 1000")
    others = [c for c in every if (c.dtype, c.radius) == ("float32", 4)]
    others = [c for c in others if c.axis == 0 or c.case in short]
    for dtype in OTHERS[:2]:
        for wide in REALS:
            yield from (replace(cell, dtype=dtype, sums=wide) for cell in others)


GROUPS: dict[str, Callable[[int], Iterator[Cell]]] = {
    "last": last,
    "first": first,
    "inner": inner,
    "rows": rows,
    "sums": sums,
}


def ladder(elements: int) -> Iterator[Cell]:
    """Where all rungs are measured."""
    for cells in (last(elements), first(elements)):
        yield next(cell for cell in cells if cell.radius == 4 and cell.dtype == "float32")


def small() -> Iterator[Cell]:
    for n in FEW:
        yield Cell(f"{n} elements", "float32", (n,), 0, 4, "float32")


def long(elements: int) -> Iterator[Cell]:
    for taps in LONG:
        yield replace(next(last(elements // 2)), case=f"{taps} taps", radius=taps // 2)


# ---------------------------------------------------------------------------- calls


def coefficients(cell: Cell) -> np.ndarray:
    """Positive ones, not symmetric, whose sum is 1."""
    taps: np.ndarray = np.random.default_rng(cell.radius).random(cell.taps)
    taps /= taps.sum()
    return taps.astype(cell.sums)


def tolerance(cell: Cell) -> float:
    """How far two libraries' results may lie apart, of normal elements or of bytes.

    Peers add what is narrower than float64 in float32; each rounding is one of a number below 8.
    """
    if cell.dtype == "uint8":
        return 1.0  # both truncate
    added = EPS["float64" if cell.dtype == "float64" else "float32"]
    return 8 * (2 * EPS[cell.dtype] + 2 * cell.taps * added)


def of_cupy(cupy: Any, correlate1d: Any, view: Array, cell: Cell) -> Run:
    """Coefficients of the dtype that it would convert them to."""
    narrow = "complex64" if cell.dtype.startswith("complex") else "float32"
    dtype = np.promote_types(view.real.dtype, narrow)
    return partial(correlate1d, view, cupy.asarray(coefficients(cell), dtype), cell.axis)


def of_torch(torch: Any, block: Array, cell: Cell) -> Run:
    """A convolution of an input that is padded already: any elements, in a's layout."""
    n = cell.shape[cell.axis]
    outer = math.prod(cell.shape[: cell.axis])
    within = cell.shape[cell.axis + 1 :]
    padded = block[: cell.padded].view(outer, 1, n + 2 * cell.radius, *within)
    weights = torch.asarray(coefficients(cell)).to(padded.device, padded.dtype)
    convolve = torch.nn.functional.conv2d if within else torch.nn.functional.conv1d
    return partial(convolve, padded, weights.view(1, 1, -1, *(1 for _ in within)))
