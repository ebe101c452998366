"""warpkit's CPU backend against NumPy and SciPy, side by side in one process.

    python bench/cpu.py [--quick] [--only REGEX] [--drawn N] [--seed S] [--output PATH]

Medians of interleaved runs after a warm-up, on random data. Every call makes a new result, on both
sides, as in everyday use. The peers run on one thread, which is all they have; warpkit uses
WARPKIT_NUM_THREADS, or all cores. GB/s counts each input byte once and each output byte once;
"copy" is its share of the rate at which np.copyto copies a large array in the same run, on one
thread or on as many as warpkit has, whichever is faster. "read" is a reduction's share of the rate
at which np.max reads that array on as many threads; what lies in a cache has neither limit. Results
are compared; a "!" marks a row whose results differ.

Beside the cases here, which are chosen, some hundred cells are drawn by a seed, small ones too:
cpu_cells.py. NumPy has no warp_histogram. Its peer is warpkit.reference.warp_histogram: a sort
along rows of 32, comparisons of neighbours, and boolean masks.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import common
import cpu_cells
import numpy as np
import warpkit
from common import Run
from numpy.typing import NDArray
from scipy import ndimage
from warpkit import reference

Array = NDArray[Any]
Shape = tuple[int, ...]

DTYPES: dict[str, Any] = {"f4": np.float32, "f8": np.float64, "i4": np.int32, "i8": np.int64}
DTYPES |= {"i1": np.int8, "u1": np.uint8, "i2": np.int16, "bool": np.bool_, "f2": np.float16}

LARGE = 2**28  # bytes: no last-level cache holds a useful part of it
CACHED = 2**16  # elements: in a second-level cache
TINY = 1000
SIZES = (1, 1000, 2**12, 2**16, 2**20, 2**24)


@dataclass
class Case:
    """One row to be."""

    op: str
    what: str
    dtype: str
    shape: Shape
    peer: str
    prepare: Callable[[Shape], tuple[Run, Run, Array]]  # warpkit's call, the peer's, their input
    tolerance: float = 0.0  # relative

    @property
    def name(self) -> str:
        return f"{self.op} {self.what} {self.dtype} {'x'.join(map(str, self.shape))}"


def normal(dtype: str, shape: Shape) -> Array:
    """Normal floats; of other types random elements, likewise."""
    if dtype not in ("f4", "f8"):
        return data(dtype, shape)
    return np.random.default_rng(len(shape)).standard_normal(shape, DTYPES[dtype])


def data(dtype: str, shape: Shape, most: int = 0) -> Array:
    """Random, in 0.5 .. 1.5, 1 .. 127 or False, True; or integers below most."""
    rng = np.random.default_rng(len(shape))
    if dtype in ("f2", "f4", "f8"):
        a: Array = rng.random(shape, np.float64 if dtype == "f8" else np.float32)
        a += 0.5
        return a.astype(DTYPES[dtype], copy=False)
    if dtype == "bool":
        return rng.integers(0, 2, shape, np.uint8).view(np.bool_)
    low, high = (0, most) if most else (1, 128)
    return rng.integers(low, high, shape, DTYPES[dtype])


def elements(dtype: str) -> int:
    return LARGE // int(np.dtype(DTYPES[dtype]).itemsize)


def close(dtype: str) -> float:
    """How far sums in another order may be apart: n eps at worst, far less on random data."""
    return {"f4": 1e-4, "f8": 1e-9}.get(dtype, 0.0)


# ---------------------------------------------------------------------------- the cases


def reduction(
    what: str,
    op: Any,
    dtype: str,
    shape: Shape,
    axis: int | None = None,
    view: Callable[[Array], Array] = lambda a: a,
) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = normal(dtype, shape)
        if op == "prod" and dtype in ("f4", "f8"):
            a = 1 + a * np.asarray(2**-10, a.dtype)  # neither overflows nor underflows
        a = view(a)
        ours = partial(warpkit.reduce, a, op, axis, device="cpu")
        return ours, partial(getattr(np, op), a, axis), a

    tolerance = 0.0 if op in ("min", "max") else close(dtype) * (100 if op == "prod" else 1)
    return Case("reduce", f"{op} {what}", dtype, shape, "NumPy", prepare, tolerance)


def reductions() -> Iterator[Case]:
    for op in ("sum", "min", "max", "prod", "mean"):
        for dtype in ("f4", "f8", "i4", "i1", "bool"):
            yield reduction("flat", op, dtype, (elements(dtype),))
    # NumPy stops at the first False or True; these two it must read to the end
    yield reduction("flat, all True", "min", "bool", (LARGE,), None, np.ones_like)
    yield reduction("flat, all False", "max", "bool", (LARGE,), None, np.zeros_like)
    for what, shape in (("square", (8192, 8192)), ("tall", (2**20, 16)), ("wide", (16, 2**20))):
        for axis in (0, 1):
            yield reduction(f"{what} axis {axis}", "sum", "f4", shape, axis)
    yield reduction("axis 1 of 3", "sum", "f4", (256, 512, 512), 1)
    yield reduction("a[::2]", "sum", "f4", (2**26,), None, lambda a: a[::2])
    yield reduction("a.T", "sum", "f4", (8192, 8192), None, lambda a: a.T)
    yield reduction("a.T axis 0", "sum", "f4", (8192, 8192), 0, lambda a: a.T)
    for dtype in ("f4", "f8", "i4"):
        yield reduction("in cache", "sum", dtype, (CACHED,))
        yield reduction("tiny", "sum", dtype, (TINY,))
    for op in ("sum", "min", "max", "mean", "var", "any", "argmax"):
        view = np.zeros_like if op == "any" else np.asarray  # else NumPy stops at the first True
        for n in SIZES:
            yield reduction(f"of {n}", op, "f4", (n,), None, view)
        if op in ("var", "any", "argmax"):  # the others are above
            for dtype in ("f4", "f8", "i4", "i1"):
                yield reduction("flat", op, dtype, (elements(dtype),), None, view)
        if op != "sum":
            for axis in (0, 1):
                yield reduction(f"square axis {axis}", op, "f4", (8192, 8192), axis, view)
    yield reduction("in cache", "max", "f4", (CACHED,))
    yield reduction("tiny", "max", "f4", (TINY,))


def transposition(what: str, dtype: str, shape: Shape, axes: Shape) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = data(dtype, shape)
        ours = partial(warpkit.transpose, a, axes, device="cpu")
        return ours, lambda: np.ascontiguousarray(a.transpose(axes)), a

    return Case("transpose", what, dtype, shape, "NumPy", prepare)


def transpositions() -> Iterator[Case]:
    for dtype in ("f4", "f8", "u1"):
        yield transposition("square", dtype, (8192, 8192), (1, 0))
        yield transposition("odd", dtype, (8191, 8209), (1, 0))
    yield transposition("(0, 2, 1)", "f4", (64, 1024, 1023), (0, 2, 1))
    yield transposition("(2, 1, 0)", "f4", (400, 401, 402), (2, 1, 0))
    yield transposition("NCHW to NHWC", "f4", (32, 64, 180, 180), (0, 2, 3, 1))
    yield transposition("NCHW to NHWC", "f4", (64, 3, 512, 512), (0, 2, 3, 1))
    yield transposition("NHWC to NCHW", "u1", (64, 512, 512, 3), (0, 3, 1, 2))
    yield transposition("image, (1, 0, 2)", "u1", (2160, 3840, 3), (1, 0, 2))
    yield transposition("tall", "f4", (2**23, 8), (1, 0))
    yield transposition("in L3", "f4", (1000, 1000), (1, 0))
    yield transposition("in cache", "f4", (256, 256), (1, 0))
    yield transposition("tiny", "f4", (32, 32), (1, 0))


def stencil(
    what: str, dtype: str, shape: Shape, radius: int, axis: int, order: Literal["C", "F"] = "C"
) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = np.asarray(data(dtype, shape), order=order)
        taps = np.random.default_rng(radius).random(2 * radius + 1)  # not symmetric: no short cut
        if dtype not in ("f4", "f8"):
            taps /= taps.sum()  # results fit the type
        ours = partial(warpkit.stencil1d, a, taps, axis, device="cpu")
        return ours, partial(ndimage.correlate1d, a, taps, axis), a

    what = f"radius {radius} {what}"
    return Case("stencil1d", what, dtype, shape, "SciPy", prepare, close(dtype))


def stencils() -> Iterator[Case]:
    for dtype in ("f4", "f8", "u1"):
        for radius in (1, 4, 16):
            for what, axis in (("last axis", -1), ("first axis", 0)):
                yield stencil(what, dtype, (4096, 8192), radius, axis)
    yield stencil("last axis", "i2", (4096, 8192), 4, -1)
    yield stencil("first axis", "i2", (4096, 8192), 4, 0)
    for what, axis in (("last axis, Fortran order", -1), ("first axis, Fortran order", 0)):
        yield stencil(what, "f4", (4096, 4096), 4, axis, "F")
    yield stencil("rows of 17", "f4", (2**20, 17), 4, -1)
    yield stencil("3 channels", "u1", (4096, 4096, 3), 4, 1)
    yield stencil("2001 coefficients", "f4", (256, 8192), 1000, -1)
    yield stencil("in cache", "f4", (CACHED,), 4, -1)
    for n in (9, 100, TINY):
        yield stencil("tiny", "f4", (n,), 4, -1)


Order = Literal["random", "equal", "sorted"]


def histogram(
    what: str,
    dtype: str,
    n: int,
    order: Order = "random",
    weights: str | None = None,
    most: int = 256,
    **options: Any,
) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = data(dtype, shape, most)
        if order == "equal":
            a[:] = a[0]
        if order == "sorted":
            a.sort()
        given = dict(options)
        if weights is not None:
            given["weights"] = data(weights, shape, most)
        ours = partial(warpkit.histogram, a, **given, device="cpu")
        return ours, partial(np.histogram, a, **given), a

    tolerance = 0.0 if weights is None else close(weights)
    return Case("histogram", what, dtype, (n,), "NumPy", prepare, tolerance)


def bincount(what: str, dtype: str, n: int, most: int, same: bool = False) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = np.full(shape, most - 1, DTYPES[dtype]) if same else data(dtype, shape, most)
        return partial(warpkit.bincount, a, device="cpu"), partial(np.bincount, a), a

    return Case("bincount", what, dtype, (n,), "NumPy", prepare)


def warp_histogram(what: str, dtype: str, n: int, most: int, ascending: bool = False) -> Case:
    def prepare(shape: Shape) -> tuple[Run, Run, Array]:
        a = data(dtype, shape, most)
        if ascending:
            a.reshape(-1, 32).sort(axis=1)
        ours = partial(warpkit.warp_histogram, a, assume_sorted=ascending, device="cpu")
        return ours, partial(reference.warp_histogram, a, ascending), a

    return Case("warp_histogram", what, dtype, (n,), "NumPy", prepare)


def histograms() -> Iterator[Case]:
    edges = 0.5 + np.sort(np.random.default_rng(1).random(101))
    for dtype, n, scale in (("f4", 2**25, 1), ("f8", 2**24, 1), ("u1", 2**26, 160)):
        inner = 0.6 * scale, 1.4 * scale
        yield histogram("100 bins", dtype, n, bins=100)
        yield histogram("100 bins, range", dtype, n, bins=100, range=inner)
        yield histogram("100 edges", dtype, n, bins=edges * scale)
    for dtype in ("f2", "f4", "f8", "i4", "i8"):
        ends = (0, 2**20) if dtype[0] == "i" else (0.5, 1.5)
        for bins in (10, 1000) if dtype == "f2" else (10, 1000, 2**16):
            what = f"{bins} bins, range"
            yield histogram(what, dtype, 2**24, most=2**20, bins=bins, range=ends)
        for order in get_args(Order)[1:]:
            what = f"100 bins, range, {order}"
            yield histogram(what, dtype, 2**24, order, most=2**20, bins=100, range=ends)
    for n in (1000, 2**16):
        for what, given in (
            ("edges, equal widths", np.linspace(0.5, 1.5, n + 1)),
            ("edges, equal ratios", np.geomspace(0.5, 1.5, n + 1)),
        ):
            yield histogram(f"{n} {what}", "f4", 2**24, bins=given)
    for dtype in ("f4", "f8", "i4"):
        for bins in (10, 1000, 2**16):
            what = f"{bins} bins, {dtype} weights"
            yield histogram(what, "f4", 2**23, weights=dtype, bins=bins, range=(0.5, 1.5))
    yield histogram("100 bins, in cache", "f4", CACHED, bins=100)
    yield histogram("100 bins, tiny", "f4", TINY, bins=100)
    for dtype, n, most in (("i8", 2**25, 1000), ("i4", 2**25, 1000), ("u1", 2**26, 256)):
        yield bincount(f"{most} values", dtype, n, most)
        yield bincount("all equal", dtype, n, most, same=True)
    yield bincount("2**20 values", "i8", 2**24, 2**20)
    yield bincount("in cache", "i8", CACHED, 1000)
    yield bincount("tiny", "i8", TINY, 1000)
    for dtype in ("u1", "i4", "f4", "f8"):
        yield warp_histogram("random", dtype, 2**24, 100)
        yield warp_histogram("sorted", dtype, 2**24, 100, ascending=True)
    yield warp_histogram("tiny", "i4", 1024, 100)


def drawn(seed: int, count: int) -> list[Case]:
    found = []
    for op, what, dtype, shape, peer, prepare in cpu_cells.drawn(seed, count):
        short = dtype in ("f2", "f4", "c8")  # of which NumPy's own sums are not always near
        tolerance = 0.0 if op in ("transpose", "unique_counts") else 1e-2 if short else 1e-6
        found.append(Case(op, what, dtype, shape, peer, prepare, tolerance))
    return found


def cases() -> list[Case]:
    return [*reductions(), *transpositions(), *stencils(), *histograms()]


# ---------------------------------------------------------------------------- running them


def shrunk(shape: Shape) -> Shape:
    """At most 2**14 elements: enough to see that a case runs."""
    extents = list(shape)
    while np.prod(extents) > 2**14:
        largest = extents.index(max(extents))
        extents[largest] //= 2
    return tuple(extents)


def arrays(result: Any) -> list[Array]:
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def agree(ours: list[Array], theirs: list[Array], tolerance: float, n: int) -> bool:
    """Relative to them, or to a sum of n normal elements."""
    return all(
        x.dtype == y.dtype
        and x.shape == y.shape
        and np.allclose(x, y, tolerance, tolerance * n**0.5, equal_nan=True)
        for x, y in zip(ours, theirs, strict=True)
    )


def measure(case: Case, budget: float, rest: float = 0.0) -> dict[str, Any]:
    row: dict[str, Any] = {
        "op": case.op,
        "case": case.what,
        "dtype": case.dtype,
        "shape": list(case.shape),
        "peer": case.peer,
    }
    ours, theirs, a = case.prepare(case.shape)
    results = arrays(ours())
    row["agree"] = agree(results, arrays(theirs()), case.tolerance, a.size)
    nbytes = a.nbytes + sum(x.nbytes for x in results)
    del results
    mine, peers = common.interleaved((ours, theirs), budget, rest)
    row |= {"ms": 1e3 * mine, "peer_ms": 1e3 * peers, "ratio": peers / mine}
    return row | {"bytes": nbytes, "gb_s": 1e-9 * nbytes / mine}


def show(rows: list[dict[str, Any]]) -> str:
    head = ("operation", "case", "dtype", "shape", "peer", "peer ms", "warpkit ms")
    cells = [
        (
            row["op"],
            row["case"],
            row["dtype"],
            " x ".join(map(str, row["shape"])),
            row["peer"],
            f"{row['peer_ms']:.3f}",
            f"{row['ms']:.3f}",
            f"{row['ratio']:.2f}",
            f"{row['gb_s']:.1f}",
            f"{row['copy_share']:.0%}",
            f"{row['read_share']:.0%}" if "read_share" in row else "",
            "" if row["agree"] else "!",
        )
        for row in rows
    ]
    return common.table((*head, "ratio", "GB/s", "copy", "read", ""), cells, "<<<<<>>>>>><")


def run(chosen: list[Case], budget: float, copy: common.CopyRate) -> list[dict[str, Any]]:
    rows = []
    for i, case in enumerate(chosen):
        if sys.stderr.isatty():
            print(f"\r{i + 1}/{len(chosen)} {case.name:70.70}", end="", file=sys.stderr, flush=True)
        blas = case.op == "dot" or case.what.startswith("norm")  # its threads are busy for a while
        try:
            rows.append(measure(case, budget, 0.01 if blas else 0.0))
        except Exception as error:  # one case that fails must not cost the others
            print(f"\n{case.name}: {type(error).__name__}: {error}", file=sys.stderr)
        if i % 8 == 0:
            copy.sample()
    if sys.stderr.isatty():
        print(f"\r{'':80}\r", end="", file=sys.stderr)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes: does every case run?")
    parser.add_argument("--only", metavar="REGEX", help="the cases whose name it finds")
    parser.add_argument("--drawn", type=int, default=600, metavar="N", help="cells that are drawn")
    parser.add_argument("--seed", type=int, default=1, help="by which; default: 1")
    parser.add_argument("--output", type=Path, help="default: bench/results/cpu.json, if all ran")
    options = parser.parse_args()

    every_case = [cases(), drawn(options.seed, options.drawn)]
    both = [[c for c in all_ if re.search(options.only or "", c.name)] for all_ in every_case]
    if not any(both):
        parser.error(f"no case is called {options.only}")
    if options.quick:
        both = [[replace(c, shape=shrunk(c.shape)) for c in some] for some in both]
    machine = common.machine()
    copy = common.CopyRate(2**24 if options.quick else LARGE, machine["threads"])
    print(", ".join(f"{k} {v}" for k, v in machine.items() if v is not None))

    rows = run(both[0], 0.02 if options.quick else 1.0, copy)
    cells = run(both[1], 0.02 if options.quick else 0.1, copy)

    (one, every), read = copy.rates(), copy.read_rate()
    for row in (*rows, *cells):
        row["copy_share"] = row["gb_s"] / max(one, every)
        if row["op"] == "reduce":
            row["read_share"] = row["gb_s"] / read
    imports = common.import_times(3 if options.quick else 15)
    print(show([*rows, *sorted(cells, key=lambda row: row["ratio"])]))
    print(f"copy: {one:.1f} GB/s with one thread, {every:.1f} with {machine['threads']}")
    print(f"read: {read:.1f} GB/s with {machine['threads']}")
    print(f"import: numpy {imports['numpy']:.0f} ms, warpkit {imports['warpkit']:.0f} ms")

    path = options.output
    if path is None and not (options.quick or options.only):
        path = common.RESULTS / "cpu.json"
    if path is not None:
        rates = {"one_thread": one, "all_threads": every}
        result = {"machine": machine, "copy_gb_s": rates, "read_gb_s": read, "import_ms": imports}
        result |= {"rows": rows, "seed": options.seed, "drawn": cells}
        common.write(path, result)
        print(f"written: {path}")


if __name__ == "__main__":
    main()
