"""Sums of products, prefixes, segments and groups on one GPU, and on the CPU, beside their peers.

    python bench/keyed.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]

    dot       sums of products of two arrays, beside CuPy and PyTorch (cuBLAS)
    groups    group_reduce of int32 keys, beside CuPy's scatter_add, PyTorch's index_add_ and
              scatter_reduce_, and atomics in shared memory: sums in any order, rounded each time
    segments  segment_reduce, beside CUB's segmented sum and PyTorch's segment_reduce
    cumsum    beside CuPy, PyTorch and CUB's DeviceScan
    cpu       all of them beside NumPy, and pandas where it is installed; without a GPU the others
              are left out

One process; data on the device, larger than its caches. Medians of 7 runs, taking turns, after 3
that warm up, by CUDA events. GB/s counts each byte of the input once, and of cumsum its results.
"share" is that rate over a device-to-device copy's, read and written bytes counted. "ratio" is the
best peer's time over ours. Our results are compared with those of the CPU, of a part of the data;
"!" marks one that differs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import common
import numpy as np
import sections
import warpkit
from common import Run
from gpu import Gpu, as_torch
from keyed_cub import Cub
from sections import Row, rated

CHECKED = 1 << 20  # elements of the part that is compared
OPS = ("sum", "mean", "min", "argmax", "var")
LENGTHS = (8, 100, 10_000, 1_000_000)
CPU_ELEMENTS = 1 << 24
BUDGET = 1.0  # seconds a row on the CPU

Array = Any


def constant(run: Run) -> Callable[[], Run]:
    return lambda: run


def draw(cupy: Any, dtype: str, n: int, seed: int = 1) -> Array:
    rng = cupy.random.default_rng(seed)
    return rng.standard_normal(n, dtype="float32" if dtype == "float32" else "float64").astype(
        dtype, copy=False
    )


class Bench(sections.Sections):
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float) -> None:
        super().__init__(gpu, end)
        self.nbytes = nbytes
        self.cub = Cub(gpu.cupy)
        if self.cub.version:
            gpu.versions["CUB"] = self.cub.version

    def row(self, about: Row, runs: dict[str, Run], moved: int, wrong: bool) -> Row:
        times = self.gpu.measure_with_copy(runs, moved)
        return about | rated(times, moved) | ({"wrong": True} if wrong else {})

    def torch(self, a: Array) -> Any:
        return as_torch(self.gpu.torch, a, a.dtype.name)

    def by_name(self, of_cupy: Callable[..., Any], *arrays: Array) -> dict[str, Callable[[], Run]]:
        return {"CuPy": constant(partial(of_cupy, *arrays))}

    def left(self, cells: list[Any]) -> Iterator[Any]:
        while cells and not self.late(len(cells)):
            yield cells.pop(0)
            self.gpu.free()

    def dot(self) -> Iterator[Row]:
        cupy = self.gpu.cupy
        sizes = [("float32", 1), ("float64", 1), ("complex64", 1), ("int32", 1), ("float32", 1024)]
        for dtype, part in self.left(sizes):
            n = self.nbytes // 2 // np.dtype(dtype).itemsize // part
            real = "float32" if dtype == "complex64" else dtype
            x, y = (draw(cupy, real, n, seed) for seed in (1, 2))
            if dtype == "int32":
                x, y = (x * 100).astype(dtype), (y * 100).astype(dtype)
            if dtype == "complex64":
                x, y = x + 1j * y, y - 1j * x
            ours, theirs = warpkit.asarray(x), warpkit.asarray(y)
            runs: dict[str, Run] = {"warpkit": partial(warpkit.dot, ours, theirs)}
            made = self.by_name(cupy.dot, x, y)
            if self.gpu.torch:
                more = partial(self.gpu.torch.dot, self.torch(x), self.torch(y))
                made["PyTorch"] = constant(more)
            some = slice(0, CHECKED)
            here = warpkit.dot(x[some].get(), y[some].get(), device="cpu")
            there = warpkit.dot(ours[some], theirs[some]).numpy()[()]
            about = {"name": "dot", "dtype": dtype, "data": f"{n} elements"}
            yield self.row(about, runs | self.available(made), 2 * x.nbytes, bool(here != there))
        for columns in self.left([32, 100, 256, 2000]):
            yield self.dots_of_lines(columns)

    def dots_of_lines(self, columns: int) -> Row:
        cupy, rows = self.gpu.cupy, self.nbytes // 8 // columns
        x, y = (draw(cupy, "float32", rows * columns, s).reshape(rows, columns) for s in (1, 2))
        ours, theirs = warpkit.asarray(x), warpkit.asarray(y)
        runs: dict[str, Run] = {"warpkit": partial(warpkit.dot, ours, theirs, axis=1)}
        made: dict[str, Callable[[], Run]] = {
            "CuPy": lambda: partial(cupy.einsum, "ij,ij->i", x, y)
        }
        if self.gpu.torch:
            a, b = self.torch(x), self.torch(y)
            made["PyTorch"] = lambda: partial(self.gpu.torch.linalg.vecdot, a, b)
        some = slice(0, CHECKED // columns)
        here = warpkit.dot(x[some].get(), y[some].get(), axis=1, device="cpu")
        there = warpkit.dot(ours, theirs, axis=1)[some].numpy()
        about = {"name": "dot, axis=1", "dtype": "float32", "data": f"{rows} x {columns}"}
        wrong = not np.array_equal(here, there)
        return self.row(about, runs | self.available(made), 2 * x.nbytes, wrong)

    def of_groups(self, keys: Array, a: Array, op: str, groups: int) -> dict[str, Run]:
        cupy, torch = self.gpu.cupy, self.gpu.torch
        made: dict[str, Callable[[], Run]] = {}
        if op == "sum":
            made["atomics"] = lambda: self.cub.atomics(keys, a, groups)
            out = cupy.zeros(groups, a.dtype)
            made["CuPy"] = lambda: partial(cupy.add.at, out, keys, a)
        if torch and op in ("sum", "mean", "min"):
            t, index = self.torch(a), self.torch(keys).long()
            to = torch.zeros(groups, dtype=t.dtype, device=t.device)
            how = {"sum": "sum", "mean": "mean", "min": "amin"}[op]
            made["PyTorch"] = lambda: partial(to.scatter_reduce_, 0, index, t, how)
            if op == "sum":
                made["PyTorch, index_add_"] = lambda: partial(to.index_add_, 0, index, t)
        return self.available(made)

    def groups(self) -> Iterator[Row]:
        cupy = self.gpu.cupy
        cells = [
            (op, groups, data, dtype)
            for dtype in ("float32", "float64")
            for op in OPS
            for groups in ((256, 4096, 1 << 20) if op == "sum" else (4096,))
            for data in (("uniform", "equal", "sorted") if groups == 4096 else ("uniform",))
            if dtype == "float32" or op == "sum"
        ]
        for op, groups, data, dtype in self.left(cells):
            n = self.nbytes // (4 + np.dtype(dtype).itemsize)
            a = draw(cupy, dtype, n)
            keys = cupy.random.default_rng(3).integers(0, groups, n, dtype="int32")
            if data == "equal":
                keys[:] = groups // 2
            if data == "sorted":
                keys.sort()
            some = slice(0, CHECKED)
            given = (warpkit.asarray(keys), warpkit.asarray(a))
            runs: dict[str, Run] = {
                "warpkit": partial(warpkit.group_reduce, *given, op, groups=groups)
            }
            if op == "argmax":  # of every group there is an element
                keys[:groups] = cupy.arange(groups, dtype="int32")
            here = warpkit.group_reduce(keys[some].get(), a[some].get(), op, groups, device="cpu")
            there = warpkit.group_reduce(given[0][some], given[1][some], op, groups).numpy()
            wrong = not np.array_equal(here, there, equal_nan=here.dtype.kind == "f")
            about = {"name": op, "case": f"{groups} groups", "dtype": dtype, "data": data}
            runs |= self.of_groups(keys, a, op, groups)
            yield self.row(about, runs, keys.nbytes + a.nbytes, wrong)

    def segments(self) -> Iterator[Row]:
        cupy, torch = self.gpu.cupy, self.gpu.torch
        cells = [("sum", length, "float32") for length in (*LENGTHS, 0)]
        cells += [(op, 1000, "float32") for op in OPS] + [("sum", 1000, "float64")]
        for op, length, dtype in self.left(cells):
            n = self.nbytes // np.dtype(dtype).itemsize
            a = draw(cupy, dtype, n)
            count = max(1, n // length) if length else 1
            ends = cupy.random.default_rng(4).integers(0, n, count - 1, dtype="int64")
            offsets = cupy.concatenate(
                [cupy.zeros(1, "int64"), cupy.sort(ends), cupy.full(1, n, "int64")]
            )
            if op == "argmax":
                offsets = cupy.unique(offsets)
            given = (warpkit.asarray(a), warpkit.asarray(offsets))
            runs: dict[str, Run] = {"warpkit": partial(warpkit.segment_reduce, *given, op)}
            made: dict[str, Callable[[], Run]] = {}
            if op == "sum":
                made["CUB"] = partial(self.cub.segments, a, offsets)
            if torch and op in ("sum", "mean", "min"):
                t, cuts = self.torch(a), self.torch(offsets)
                made["PyTorch"] = constant(
                    partial(torch.segment_reduce, t, op, offsets=cuts, initial=0)
                )
            first = offsets[offsets <= CHECKED]
            here = warpkit.segment_reduce(a[:CHECKED].get(), first.get(), op, device="cpu")
            there = warpkit.segment_reduce(given[0][:CHECKED], warpkit.asarray(first), op).numpy()
            wrong = not np.array_equal(here, there, equal_nan=here.dtype.kind == "f")
            about = {"name": op, "case": f"{offsets.size - 1} segments", "dtype": dtype}
            yield self.row(about, runs | self.available(made), a.nbytes + offsets.nbytes, wrong)

    def cumsum(self) -> Iterator[Row]:
        cupy, torch = self.gpu.cupy, self.gpu.torch
        for dtype in self.left(["float32", "float64", "int64"]):
            n = self.nbytes // 2 // np.dtype(dtype).itemsize
            a = draw(cupy, "float64" if dtype == "int64" else dtype, n)
            if dtype == "int64":
                a = (a * 1000).astype(dtype)
            ours = warpkit.asarray(a)
            runs: dict[str, Run] = {"warpkit": partial(warpkit.cumsum, ours)}
            made = self.by_name(cupy.cumsum, a)
            if dtype in self.cub.libraries:
                made["CUB"] = partial(self.cub.scan, a)
            if torch:
                made["PyTorch"] = constant(partial(torch.cumsum, self.torch(a), 0))
            here = warpkit.cumsum(a[:CHECKED].get(), device="cpu")
            wrong = not np.array_equal(here, warpkit.cumsum(ours[:CHECKED]).numpy())
            about = {"name": "cumsum", "dtype": dtype, "data": f"{n} elements"}
            yield self.row(about, runs | self.available(made), 2 * a.nbytes, wrong)

    def cpu(self) -> Iterator[Row]:
        yield from on_cpu(self.late)


# ---- the CPU -----------------------------------------------------------------------------------


def cpu_cells() -> Iterator[tuple[str, str, int, dict[str, Run]]]:
    """What, dtype, bytes that are moved, and the calls."""
    rng = np.random.default_rng(1)
    n = CPU_ELEMENTS
    try:
        import pandas
    except ImportError:
        pandas = None
    for dtype in ("float32", "float64"):
        x, y = (rng.standard_normal(n).astype(dtype) for _ in range(2))
        runs: dict[str, Run] = {"warpkit": partial(warpkit.dot, x, y, device="cpu")}
        yield "dot", dtype, 2 * x.nbytes, runs | {"NumPy": partial(np.dot, x, y)}
        if hasattr(warpkit, "cumsum"):
            runs = {"warpkit": partial(warpkit.cumsum, x, device="cpu")}
            yield "cumsum", dtype, 2 * x.nbytes, runs | {"NumPy": partial(np.cumsum, x)}
        offsets = np.r_[0, np.sort(rng.integers(0, n, n // 1000)), n]
        starts = np.minimum(offsets[:-1], n - 1)
        runs = {"warpkit": partial(warpkit.segment_reduce, x, offsets, device="cpu")}
        runs["NumPy"] = partial(np.add.reduceat, x, starts)
        yield f"segment_reduce sum, {offsets.size - 1}", dtype, x.nbytes, runs
        keys = rng.integers(0, 4096, n).astype(np.int32)
        for op in ("sum", "mean", "min", "var"):
            runs = {"warpkit": partial(warpkit.group_reduce, keys, x, op, 4096, device="cpu")}
            if op == "sum":
                runs["NumPy"] = partial(np.bincount, keys, x, 4096)
            if pandas is not None:
                runs["pandas"] = getattr(pandas.Series(x).groupby(keys), op)
            yield f"group_reduce {op}, 4096 groups", dtype, x.nbytes + keys.nbytes, runs


def on_cpu(late: Callable[[int], bool]) -> Iterator[Row]:
    for name, dtype, moved, runs in cpu_cells():
        if late(1):
            return
        rest = 0.2 if name == "dot" else 0.0
        taken = common.interleaved(list(runs.values()), BUDGET, rest)
        times = dict(zip(runs, taken, strict=True))
        rate = {who: 1e-9 * moved / took for who, took in times.items()}
        row: Row = {"name": name, "dtype": dtype, "gb_s": rate.pop("warpkit"), "peers": rate}
        if rate:
            best = max(rate, key=rate.__getitem__)
            row |= {"best_peer": best, "ratio": row["gb_s"] / rate[best]}
        yield row


def line(row: Row) -> str:
    return sections.line(row, ("name", "case", "dtype", "data"))


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "dot": Bench.dot,
    "groups": Bench.groups,
    "segments": Bench.segments,
    "cumsum": Bench.cumsum,
    "cpu": Bench.cpu,
}


def main() -> None:
    if "cuda:0" in warpkit.devices():
        sections.main("keyed", __doc__, Bench, SECTIONS, line, least=16, minutes=4)
        return
    print("without a GPU: just the section cpu", file=sys.stderr)
    end = time.perf_counter() + 240
    for row in on_cpu(lambda left: time.perf_counter() > end):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
