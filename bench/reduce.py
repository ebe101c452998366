"""Reductions on one GPU beside CuPy, PyTorch and CUB: every shape, dtype, size and kind of data.

    python bench/reduce.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]
                           [--cells N] [--seed S] [--compiled K]

    ladder     every row of the table that sums int32, float32, float64: 256 MiB, flat
    exponents  sums of floats by how far their exponents lie apart
    sizes      sum and max of 2^10 to 2^30 bytes: time on the device; of those up to 2^24 also the
               time to issue a call, and to issue it and fetch its result
    data       sums, norms and variances of floats that are harder or easier to sum exactly
    matrix     operations, dtypes and layouts: --cells of them all, drawn by --seed so that each
               operation, dtype and layout occurs about as often as any other
    views      --cells views by --seed, of 64 KiB to 256 MiB: inner parts, every other of an axis,
               axes in another order; folded along any axes, some of them short

One process, random data on the device, --mib of it, which is more than its caches hold. Each call
is as a user writes it, and makes the array of its result; CUB alone is given what it writes to.
Medians of 5 runs of about 1 ms or more, taking turns, after 3 that warm up, by CUDA events; calls
of more than 10 ms are timed 3 times, of more than 0.1 s once. GB/s counts each input byte once and
each output byte once; of x[::3] the sectors of 32 bytes that it lies in. "share" is that rate over
a device-to-device copy's that took turns with it, read and written bytes counted. "ratio" is the
best peer's time over ours.

Several operations are one call of ours, and of a peer one each; of PyTorch also aminmax and
std_mean. A peer without the operation is left out; so is CUB where there is no nvcc. For their var,
std and norm PyTorch's integers are converted to float64. torch.compile, in --compiled of the cells,
compiles what PyTorch's user writes. CUB gives the sum of an integer type in that type, or, as "CUB,
int64", in NumPy's. "any" of random data may end at its first elements. Results are not compared
here: the test suite does that.

--minutes ends data and matrix between two cells; how many are left is said. What has been measured
by then has all operations, dtypes and layouts about as often. The file keeps the sections that are
not measured again, each with its own date and commit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import reduce_cells as cells
import sections
import warpkit
from common import Run
from gpu import Gpu, as_cupy, as_torch, compile_ahead, data, wall
from reduce_cub import Cub
from sections import Row, rated

MIB = 256
LADDER = 2**28  # bytes
LADDER_DTYPES = ("int32", "float32", "float64")
SPREADS = ("normal", "uniform", "lognormal(3)", 20, 40, 60, 120, 240)
SPREADS_OF = {"float32": SPREADS, "float64": (*SPREADS, 600, 2000)}
SIZES = tuple(2**k for k in range(10, 31))  # bytes
SHORT = 2**24  # bytes up to which a call's own time is the matter
ISSUED, FETCHED = 100, 20  # calls in a sample of the wall clock
TIMED, SAMPLE = 5, 2e-3  # runs, seconds: a call by itself takes up to twice as long as among others
SLOW, SLOWER = 0.01, 0.1  # seconds: some peers take that long
AHEAD = 24  # cells of which CuPy's kernels are compiled together
SECTOR = 32  # bytes
SWEPT, LONG = 2**26, 3e-3  # bytes; seconds: a cliff, whatever the clock says
CLIFF = 0.25  # of a copy's rate


class Bench(sections.Sections):
    """The sections, one generator of rows each."""

    def __init__(
        self, gpu: Gpu, nbytes: int, end: float, cells: int, seed: int, compiled: int
    ) -> None:
        super().__init__(gpu, end)
        gpu.slow, gpu.slower, gpu.timed, gpu.sample = SLOW, SLOWER, TIMED, SAMPLE
        self.nbytes = nbytes
        self.cells, self.seed, self.compiled = cells, seed, compiled
        self.cub = Cub(gpu.cupy)
        if self.cub.version:
            gpu.versions["CUB"] = self.cub.version

    def measure(self, runs: dict[str, Run], nbytes: int) -> Row:
        """Rates over so many bytes; the copy takes turns with the others."""
        return rated(self.gpu.measure_with_copy(runs, nbytes), nbytes)

    def peers(self, base: Any, dtype: str, layout: cells.Layout, op: cells.Op) -> dict[str, Run]:
        """CuPy's, PyTorch's and CUB's call, of those that have one."""
        gpu, view, axis = self.gpu, layout.view, layout.axis

        def on_tensor(make: Callable[..., Callable[[Any], Any]], *given: Any) -> Run:
            return partial(make(*given, axis, dtype), view(as_torch(gpu.torch, base, dtype)))

        made: dict[str, Callable[[], Run]] = {
            "CuPy": lambda: cells.of_cupy(gpu.cupy, view(as_cupy(base, dtype)), op, axis)
        }
        if gpu.torch:
            made["PyTorch"] = lambda: on_tensor(cells.of_torch, gpu.torch, op)
            if op == cells.SEVERAL and not isinstance(axis, tuple):
                made["PyTorch, two calls"] = lambda: on_tensor(cells.in_two_calls, gpu.torch)
        runs = self.available(made)
        try:
            return runs | self.cub.runs(op, view(base), dtype, axis)
        except RuntimeError as error:
            self.tell(str(error))
            return runs

    def compiled_run(self, base: Any, cell: cells.Cell) -> dict[str, Run]:
        """PyTorch's function compiled, which its first call does."""
        torch, layout = self.gpu.torch, cells.LAYOUTS[cell.layout]

        def make() -> Run:
            torch._dynamo.reset()  # of functions that share their code, few would be compiled
            fold = cells.of_torch(torch, cell.op, layout.axis, cell.dtype)
            tensor = layout.view(as_torch(torch, base, cell.dtype))
            return partial(torch.compile(fold, dynamic=False, fullgraph=True), tensor)

        return self.available({"torch.compile": make})

    def operand(self, base: Any, dtype: str) -> Any:
        """The array that warpkit is given: CuPy's, or PyTorch's if that alone has the dtype."""
        if dtype == "bfloat16" and self.gpu.torch:
            return as_torch(self.gpu.torch, base, dtype)
        return as_cupy(base, dtype)

    def row(
        self, base: Any, cell: cells.Cell, peers: dict[str, Run], own: cells.Layout | None = None
    ) -> Row:
        layout = own or cells.LAYOUTS[cell.layout]
        view = layout.view(self.operand(base, cell.dtype))
        runs = {"warpkit": cells.ours(view, cell.op, layout.axis)} | peers
        nbytes = moved(view, base.itemsize, layout.step, runs["warpkit"])
        row: Row = {"op": cell.name, "dtype": cell.dtype, "layout": cell.layout}
        row |= {"shape": list(view.shape), "nbytes": nbytes}
        return row | self.measure(runs, nbytes)

    # ---- the sections

    def ladder(self) -> Iterator[Row]:
        flat = cells.LAYOUTS["flat"]
        variants = [v for v in warpkit.variants("reduce") if v.device == "cuda"]
        for dtype in LADDER_DTYPES:
            a = data(self.gpu.cupy, dtype, LADDER)
            runs: dict[str, Run] = {
                v.name: partial(warpkit.reduce, a, variant=v.name)
                for v in variants
                if dtype in v.dtypes
            }
            peers = self.peers(a, dtype, flat, "sum")
            row = self.measure(runs | peers, a.nbytes)
            for rung in sections.rungs(row, list(peers)):
                yield {"dtype": dtype, "copy_gb_s": row["copy_gb_s"]} | rung

    def exponents(self) -> Iterator[Row]:
        flat = cells.LAYOUTS["flat"]
        for dtype, spreads in SPREADS_OF.items():
            for spread in spreads:
                a = cells.floats(self.gpu.cupy, dtype, self.nbytes, spread)
                runs = {"warpkit": cells.ours(a, "sum", None)}
                runs |= self.peers(a, dtype, flat, "sum")
                row: Row = {"dtype": dtype, "spread": cells.words_of(spread)}
                row |= self.measure(runs, a.nbytes)
                yield row

    def sizes(self) -> Iterator[Row]:
        flat = cells.LAYOUTS["flat"]
        for dtype in ("float32", "float64"):
            every = data(self.gpu.cupy, dtype, SIZES[-1])
            for op in ("sum", "max"):
                for nbytes in SIZES:
                    a = every[: nbytes // every.itemsize]
                    runs: dict[str, Run] = {
                        "warpkit": partial(warpkit.reduce, a, op),
                        "warpkit, own array": partial(warpkit.reduce, warpkit.asarray(a), op),
                    }
                    runs |= self.peers(a, dtype, flat, op)
                    row: Row = {"op": op, "dtype": dtype, "n": a.size, "nbytes": nbytes}
                    yield row | self.times(runs, nbytes)

    def times(self, runs: dict[str, Run], nbytes: int) -> Row:
        """Microseconds of each; CUB is no call of Python's, and has those on the device alone."""
        device = self.gpu.measure(runs, max(5, min(100, 2**32 // nbytes)))  # 1 ms or more
        columns = {"device_us": device}
        if nbytes <= SHORT:
            called = [name for name in device if not name.startswith("CUB")]
            working = [runs[name] for name in called]
            fetching = [fetch(name, runs[name]) for name in called]
            issue = wall(working, ISSUED, self.gpu.wait)
            columns["issue_us"] = dict(zip(called, issue, strict=True))
            fetched = wall(fetching, FETCHED, self.gpu.wait)
            columns["fetch_us"] = dict(zip(called, fetched, strict=True))
        return {
            what: {name: 1e6 * t for name, t in seconds.items()}
            for what, seconds in columns.items()
        }

    def data(self) -> Iterator[Row]:
        self.about |= {"mib": self.nbytes >> 20}
        chosen = [(op, layout) for op in cells.DATA_OPS for layout in cells.DATA_LAYOUTS]
        left = len(chosen) * sum(map(len, cells.DATA.values()))
        for dtype, kinds in cells.DATA.items():
            own = [cells.Cell(op, dtype, layout) for op, layout in chosen]
            for what in kinds:
                base = cells.floats(self.gpu.cupy, dtype, self.nbytes, what)
                peers = self.peers_of(own, {dtype: base})
                for cell in own:
                    if self.late(left):
                        return
                    left -= 1
                    yield {"data": cells.words_of(what)} | self.row(base, cell, peers[cell])

    def peers_of(
        self, some: list[cells.Cell], bases: dict[str, Any]
    ) -> dict[cells.Cell, dict[str, Run]]:
        """Peers' calls of each; CuPy's have been made once."""
        return self.peers_of_views([(cell, cells.LAYOUTS[cell.layout]) for cell in some], bases)

    def peers_of_views(
        self, some: list[tuple[cells.Cell, cells.Layout]], bases: dict[str, Any]
    ) -> dict[cells.Cell, dict[str, Run]]:
        found = {c: self.peers(bases[c.dtype], c.dtype, layout, c.op) for c, layout in some}
        compile_ahead([runs["CuPy"] for runs in found.values() if "CuPy" in runs])
        self.gpu.free()
        return found

    def matrix(self) -> Iterator[Row]:
        chosen = cells.draw(self.cells, self.seed)
        k = min(self.compiled, len(chosen)) if self.gpu.torch else 0
        compiled = set(random.Random(self.seed).sample(chosen, k))
        self.about |= {"mib": self.nbytes >> 20, "cells": len(cells.product())}
        self.about |= {"drawn": len(chosen), "seed": self.seed}
        names = list(map(cells.name_of, cells.OPS))
        self.about |= {"op": names, "dtype": [*cells.DTYPES], "layout": [*cells.LAYOUTS]}
        bases: dict[str, Any] = {}
        for first in range(0, len(chosen), AHEAD):
            if self.late(len(chosen) - first):
                return
            some = chosen[first : first + AHEAD]
            for dtype in {cell.dtype for cell in some} - bases.keys():
                bases[dtype] = data(self.gpu.cupy, dtype, self.nbytes)
            peers = self.peers_of(some, bases)
            for at, cell in enumerate(some, first):
                if self.late(len(chosen) - at):
                    return
                base, runs = bases[cell.dtype], peers[cell]
                if cell in compiled:
                    runs |= self.compiled_run(base, cell)
                yield self.row(base, cell, runs)

    def views(self) -> Iterator[Row]:
        chosen = cells.viewed(self.cells, self.seed, self.nbytes)
        self.about |= {"mib": self.nbytes >> 20, "drawn": len(chosen), "seed": self.seed}
        bases: dict[str, Any] = {}
        for first in range(0, len(chosen), AHEAD):
            some = chosen[first : first + AHEAD]
            for dtype in {cell.dtype for cell, _ in some} - bases.keys():
                bases[dtype] = data(self.gpu.cupy, dtype, self.nbytes)
            peers = self.peers_of_views(some, bases)
            for at, (cell, layout) in enumerate(some, first):
                if self.late(len(chosen) - at):
                    return
                yield self.row(bases[cell.dtype], cell, peers[cell], layout)

    def sweep(self) -> Iterator[Row]:
        gpu = self.gpu
        self.about |= {"mib": SWEPT >> 20, "cliff": CLIFF}
        copy = 2e-9 * SWEPT / min(gpu.seconds(lambda: gpu.copy(SWEPT), 1, 2e-4) for _ in range(20))
        asked: dict[str, tuple[cells.Op, bool]] = {
            **{cells.name_of(op): (op, False) for op in cells.SWEPT_OPS},
            **{f"{op}, where": (op, True) for op in cells.MASKED_OPS},
        }
        found: dict[str, list[Row]] = {op_name: [] for op_name in asked}
        half = gpu.cupy.random.randint(0, 2, SWEPT, dtype="uint8").view("bool")
        kinds = [(d, w) for d in cells.SWEPT_DTYPES for w in cells.swept_data(d)]
        for at, (dtype, what) in enumerate(kinds):
            if self.late(len(kinds) - at):
                break
            gpu.free()
            base = self.operand(cells.swept(gpu.cupy, dtype, SWEPT, what), dtype)
            for name, layout in cells.SWEPT_LAYOUTS.items():
                view, where = layout.view(base), layout.view(half[: len(base)])
                for op_name, (op, is_masked) in asked.items():
                    run = cells.ours(view, op, layout.axis, where if is_masked else None)
                    try:
                        nbytes = moved(view, SWEPT // len(base), layout.step, run)
                        took = self.shortest(run)
                    except (TypeError, ValueError):  # no such operation of this dtype
                        continue
                    nbytes += where.size if is_masked else 0
                    row: Row = {"dtype": dtype, "data": what, "layout": name, "us": 1e6 * took}
                    row["share"] = 1e-9 * nbytes / took / copy
                    found[op_name].append(row)
        for op_name, rows in found.items():
            if not rows:  # the time was up before the first
                return
            rows.sort(key=lambda row: row["share"])
            yield {
                "op": op_name,
                "copy_gb_s": copy,
                "cells": len(rows),
                "share": rows[len(rows) // 2]["share"],
                "cliffs": sum(row["share"] < CLIFF for row in rows),
                "worst": rows[:3],
            }

    def shortest(self, run: Run) -> float:
        """Seconds."""
        took = self.gpu.seconds(run, 1, 2e-4)
        return took if took > LONG else min(self.gpu.seconds(run, 1, 2e-4) for _ in range(3))


def moved(view: Any, itemsize: int, step: int, run: Run) -> int:
    """Bytes of the operand, or of the sectors that it lies in, and of the result."""
    try:
        result = run()
    except Exception:  # it is reported when it is to be timed
        result = ()
    results = result if isinstance(result, tuple) else (result,)
    elements: int = math.prod(view.shape)
    return elements * min(step * itemsize, SECTOR) + sum(int(x.nbytes) for x in results)


def fetch(name: str, run: Run) -> Run:
    return (lambda: run().item()) if name == "PyTorch" else lambda: float(run())


def line(row: Row) -> str:
    if "device_us" in row:
        return sections.times_line(f"{row['op']} of {row['n']} {row['dtype']}", row)
    if "cliffs" in row:
        worst = ", ".join(map(str, row["worst"][0].values()))
        return f"{row['op']:24} {row['cells']} {row['share']:.2f} {row['cliffs']} worst: {worst}"
    return sections.line(row, ("op", "name", "dtype", "layout", "spread", "data"))


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    "exponents": Bench.exponents,
    "sizes": Bench.sizes,
    "data": Bench.data,
    "matrix": Bench.matrix,
    "views": Bench.views,
    "sweep": Bench.sweep,
}
NUMBERS = {
    "cells": (300, "cells of the matrix, and views, that are drawn"),
    "seed": (0, "of the draw"),
    "compiled": (20, "of them also by torch.compile, some seconds each"),
}

if __name__ == "__main__":
    sections.main(
        *("reduce", __doc__, Bench, SECTIONS, line),
        least=32,
        minutes=7,
        mib=MIB,
        numbers=NUMBERS,
    )
