"""The cells of bench/transpose.py's matrix: shape, axes, dtype, view, and what a peer calls."""

from __future__ import annotations

import importlib
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import cutensor
import numpy as np
from common import Run

Array = Any  # CuPy's or PyTorch's
Shape = tuple[int, ...]

DTYPES = ("float32", "uint8", "float16", "float64", "complex128")  # in the order of measuring
ITEM = {dtype: np.dtype(dtype).itemsize for dtype in DTYPES}
SMALL = ("float32", "uint8", "float16")
SIDE = 16384
DRAWN = "random permutations"
GEAM = {"float32": "sgeam", "float64": "dgeam", "complex128": "zgeam"}


# ---------------------------------------------------------------------------- views


@dataclass(frozen=True)
class View:
    """Of a contiguous array. PyTorch has no negative steps: it flips, which is a copy."""

    of_cupy: Callable[[Any, Array], Array]  # given the library and the array
    of_torch: Callable[[Array], Array]


def sliced(*index: slice) -> View:
    return View(lambda cupy, a: a[index], lambda a: a[index])


PLAIN = View(lambda cupy, a: a, lambda a: a)
EVERY_SECOND = sliced(slice(None), slice(None, None, 2))
MISALIGNED = sliced(slice(1, None), slice(3, None))
FLIPPED = View(lambda cupy, a: a[::-1], lambda a: a.flip((0,)))
FLIPPED_TWICE = View(lambda cupy, a: a[::-1, ::-1], lambda a: a.flip((0, 1)))
ONE_ROW = View(lambda cupy, a: cupy.broadcast_to(a[0], a.shape), lambda a: a[0].expand(a.shape))


# ---------------------------------------------------------------------------- cells


@dataclass(frozen=True)
class Cell:
    group: str
    case: str
    dtype: str
    shape: Shape  # before the view
    axes: Shape
    view: View = PLAIN

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * ITEM[self.dtype]

    @property
    def for_cutensor(self) -> bool:
        """It knows no views, and no elements of 1 byte."""
        return self.view is PLAIN and self.dtype in cutensor.TYPES

    @property
    def for_geam(self) -> bool:
        """A matrix, and of a dtype that it has."""
        return self.view is PLAIN and self.axes == (1, 0) and self.dtype in GEAM


def cells(nbytes: int) -> list[Cell]:
    """All, by dtype; where nbytes is not a GiB, shrunk alike."""
    found = (shrunk(cell, nbytes) for cell in selection())
    return sorted(found, key=lambda cell: DTYPES.index(cell.dtype))


def shrunk(cell: Cell, nbytes: int) -> Cell:
    """With the long extents divided, and as odd as they were."""
    if nbytes >= 2**30:
        return cell
    long = sum(n > 64 for n in cell.shape)
    factor = (2**30 / nbytes) ** (1 / max(long, 1))
    shape = tuple(2 * max(1, int(n / factor / 2)) + n % 2 if n > 64 else n for n in cell.shape)
    return Cell(cell.group, cell.case, cell.dtype, shape, cell.axes, cell.view)


def selection() -> Iterator[Cell]:
    yield from matrices()
    yield from thin()
    yield from images()
    yield from permuted()
    yield from views()


def drawn(nbytes: int, count: int, seed: int) -> list[Cell]:
    """So many permutations for each dtype: of 3 to 6 axes, some of 2 to 7 elements, each array of
    nbytes or a little less."""
    rng = random.Random(seed)
    found: list[Cell] = []
    while len(found) < count * len(DTYPES):
        n = rng.choice((3, 4, 4, 5, 5, 6))
        weights = [rng.uniform(0.15, 1) for _ in range(n)]
        elements = nbytes // 4
        shape = [max(2, int(elements ** (w / sum(weights)))) for w in weights]
        if rng.random() < 0.4:
            shape[rng.randrange(n)] = rng.choice((2, 3, 4, 5, 7))
        axes = rng.sample(range(n), n)
        long = max(range(n), key=shape.__getitem__)
        rest = math.prod(shape) // shape[long]
        if axes == sorted(axes) or nbytes // ITEM["complex128"] // rest < 2:
            continue
        for dtype in DTYPES:
            shape[long] = nbytes // ITEM[dtype] // rest
            case = f"{by(tuple(shape))} to {tuple(axes)}"
            found.append(Cell(DRAWN, case, dtype, tuple(shape), tuple(axes)))
    return sorted(found, key=lambda cell: DTYPES.index(cell.dtype))


def matrices() -> Iterator[Cell]:
    def of(rows: int, columns: int, dtypes: tuple[str, ...]) -> Iterator[Cell]:
        for dtype in dtypes:
            yield Cell("matrices", f"{rows} x {columns}", dtype, (rows, columns), (1, 0))

    yield from of(SIDE, SIDE, DTYPES)
    yield from of(SIDE - 1, SIDE - 3, DTYPES)
    yield from of(SIDE - 1, SIDE, SMALL)
    yield from of(SIDE, SIDE - 1, SMALL)


def thin() -> Iterator[Cell]:
    """A GiB in few columns, or few rows."""
    few: dict[str, Shape] = {"float32": (2, 3, 5, 7, 8, 12, 16, 24, 32)}
    few |= dict.fromkeys(("float64", "complex128"), (2, 3, 8, 16, 32))
    few |= dict.fromkeys(("uint8", "float16"), (2, 3, 7, 8, 16, 32))
    for tall in (True, False):
        for size in few["float32"]:
            for dtype in (dtype for dtype in DTYPES if size in few[dtype]):
                long = 2**30 // (ITEM[dtype] * size)
                case = f"n x {size}" if tall else f"{size} x n"
                shape = (long, size) if tall else (size, long)
                yield Cell("thin matrices", case, dtype, shape, (1, 0))


def images() -> Iterator[Cell]:
    def of(what: str, shape: Shape, *dtypes: str) -> Iterator[Cell]:
        """Channels go last, or first."""
        last = what.endswith("C")
        axes = (*range(len(shape)),)[: len(shape) - 3]
        first, second, third = range(len(shape) - 3, len(shape))
        axes += (second, third, first) if last else (third, first, second)
        for dtype in dtypes:
            yield Cell("images", f"{what}, {by(shape)}", dtype, shape, axes)

    yield from of("NCHW to NHWC", (64, 256, 128, 128), "float32")
    yield from of("NHWC to NCHW", (64, 128, 128, 256), "float32")
    yield from of("NCHW to NHWC", (63, 255, 127, 129), "float32", "float16")
    yield from of("NHWC to NCHW", (63, 127, 129, 255), "float32", "float16")
    yield from of("NCHW to NHWC", (64, 3, 1000, 1001), "float32")
    yield from of("NHWC to NCHW", (64, 1000, 1001, 3), "float32")
    yield from of("NHWC to NCHW", (64, 1080, 1920, 3), "uint8")
    yield from of("CHW to HWC", (3, 8640, 15360), "uint8")


def permuted() -> Iterator[Cell]:
    def of(shape: Shape, axes: Shape, *dtypes: str) -> Iterator[Cell]:
        kept = axes[-1] == len(axes) - 1
        group = "last axis stays" if kept else "more axes"
        case = f"{by(shape)} to {axes}"
        for dtype in dtypes:
            yield Cell(group, case, dtype, shape, axes)

    yield from of((512, 512, 512), (2, 1, 0), "float32")
    yield from of((511, 513, 509), (2, 1, 0), "float32")
    yield from of((255, 513, 509), (2, 1, 0), "float64")
    yield from of((511, 1027, 1019), (2, 1, 0), "uint8")
    yield from of((511, 513, 1019), (2, 1, 0), "float16")
    yield from of((32, 48, 40, 36, 44), (4, 2, 0, 3, 1), "float32")
    mixed = (5, 3, 1, 4, 0, 2)
    yield from of((21, 33, 19, 27, 25, 15), mixed, "float32", "float64", "complex128")
    yield from of((21, 33, 19, 27, 25, 31), mixed, "float16")
    yield from of((42, 33, 19, 27, 25, 31), mixed, "uint8")
    yield from of((97, 101, 13, 7, 5, 31), (3, 5, 0, 4, 2, 1), "float32")
    yield from of((64, 37, 5, 64, 9, 11), (5, 4, 3, 2, 1, 0), "float32")
    yield from of((1023, 2049, 65), (1, 0, 2), "float32")
    yield from of((4096, 4096, 16), (1, 0, 2), "float32")
    yield from of((8192, 4096, 3), (1, 0, 2), "float32")
    yield from of((16384, 8192, 3), (1, 0, 2), "uint8")


def views() -> Iterator[Cell]:
    def of(case: str, view: View, axes: Shape = (1, 0)) -> Cell:
        return Cell("views of 16384 x 16384", case, "float32", (SIDE, SIDE), axes, view)

    yield of("a[:, ::2].T", EVERY_SECOND)
    yield of("a[::-1, ::-1].T", FLIPPED_TWICE)
    yield of("a[1:, 3:].T", MISALIGNED)
    yield of("one row broadcast, .T", ONE_ROW)
    yield of("a[:, ::2]", EVERY_SECOND, (0, 1))
    yield of("a[::-1]", FLIPPED, (0, 1))


def by(shape: Shape) -> str:
    return " x ".join(map(str, shape))


# ---------------------------------------------------------------------------- calls


def moved(view: Array) -> int:
    """Bytes read and written; what is broadcast is read once."""
    read = math.prod(n for n, step in zip(view.shape, view.strides, strict=True) if step)
    written = math.prod(view.shape)
    return int((read + written) * view.dtype.itemsize)


def of_cupy(cupy: Any, view: Array, axes: Shape) -> Run:
    turned = view.transpose(axes)
    if turned.flags.c_contiguous:  # such as 1 x 1, which would be returned as it is
        return partial(turned.copy, order="C")
    return partial(cupy.ascontiguousarray, turned)


def of_torch(torch: Any, tensor: Array, view: View, axes: Shape) -> Run:
    turned = tensor.permute(axes)
    if view is PLAIN and turned.is_contiguous():
        return partial(turned.clone, memory_format=torch.contiguous_format)

    def run() -> Array:
        return view.of_torch(tensor).permute(axes).contiguous()

    return run


class Geam:
    """cuBLAS, as CuPy loads it: C = 1 A^T + 0 B, which it does not read."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.cublas = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self.handle = importlib.import_module("cupy.cuda.device").get_cublas_handle()

    def version(self) -> str:
        number = int(self.cublas.getVersion(self.handle))
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def run(self, a: Array) -> Run:
        """Of a C-contiguous matrix, which cuBLAS takes for its transpose."""
        function = getattr(self.cublas, GEAM[a.dtype.name])
        one, zero = np.ones(1, a.dtype), np.zeros(1, a.dtype)
        rows, columns = a.shape
        transposed, plain = 1, 0  # cublasOperation_t

        def run() -> Array:
            out = self.cupy.empty((columns, rows), a.dtype)
            scaled = one.ctypes.data, a.data.ptr, columns
            nothing = zero.ctypes.data, out.data.ptr, rows
            shape = transposed, plain, rows, columns
            function(self.handle, *shape, *scaled, *nothing, out.data.ptr, rows)
            return out

        return run
