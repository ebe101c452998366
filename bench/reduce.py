"""Reductions on one GPU beside CuPy, PyTorch and CUB: every shape, dtype and size.

    python bench/reduce.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]

    ladder     every row of the table that sums int32, float32, float64: 256 MiB, flat
    exponents  sums of floats by how far their exponents lie apart
    sizes      sum and max of 1 to 2^24 float32: time on the device, to issue, to issue and fetch
    matrix     operations, dtypes and layouts, --mib each

One process, random data on the device, larger than its caches. Medians of 7 runs, taking turns,
after 3 that warm up, by CUDA events; calls of more than 50 ms are timed 3 times, of more than 0.4 s
once. GB/s counts each input byte once and each output byte once. "share" is that rate over a
device-to-device copy's that took turns with it, read and written bytes counted. "ratio" is the best
peer's time over ours. A peer without the operation is left out; so is CUB where there is no nvcc.
CUB gives the sum of an integer type in that type, or, as "CUB, int64", in NumPy's. "any" of random
data may end at its first elements, and so may "all" of bool. Results are not compared here: the
test suite does that.

The file keeps the sections that are not measured again, each with its own date and commit.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import reduce_cells as cells
import sections
import warpkit
from common import Run
from gpu import LOOPS, Gpu, as_cupy, as_torch, compile_ahead, data, wall
from reduce_cub import Cub
from sections import Row, rated

LADDER = 2**28  # bytes
LADDER_DTYPES = ("int32", "float32", "float64")
SPREADS = ("normal", "uniform", "lognormal(3)", 20, 40, 60, 120, 240)
SPREADS_OF = {"float32": SPREADS, "float64": (*SPREADS, 600, 2000)}
SIZES = (1, 32, 1000, *(2**k for k in range(10, 25)))
ISSUED, FETCHED = 100, 20  # calls in a sample of the wall clock


class Bench:
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float) -> None:
        self.gpu, self.nbytes, self.end = gpu, nbytes, end
        self.cub = Cub(gpu.cupy)
        if self.cub.version:
            gpu.versions["CUB"] = self.cub.version

    def measure(self, runs: dict[str, Run], nbytes: int) -> Row:
        """Rates over so many bytes; the copy takes turns with the others."""
        return rated(self.gpu.measure_with_copy(runs, nbytes), nbytes)

    def peers(self, base: Any, dtype: str, layout: cells.Layout, op: Any) -> dict[str, Run]:
        """CuPy's, PyTorch's and CUB's call, of those that have one."""
        gpu, view, axis = self.gpu, layout.view, layout.axis

        def cupy() -> dict[str, Run]:
            own = view(as_cupy(base, dtype))
            return {"CuPy": cells.of_cupy(gpu.cupy, own, op, axis)}

        def torch() -> dict[str, Run]:
            tensor = view(as_torch(gpu.torch, base, dtype))
            return {"PyTorch": cells.of_torch(gpu.torch, tensor, op, axis)}

        def cub() -> dict[str, Run]:
            return self.cub.runs(op, view(base), dtype, axis)

        runs: dict[str, Run] = {}
        for make in (cupy, torch, cub) if gpu.torch else (cupy, cub):
            try:
                runs |= make()
            except Exception as error:  # a peer without the operation or the dtype
                print(f"  {op}, {dtype}: {type(error).__name__}: {error}"[:200])
        return runs

    def operand(self, base: Any, dtype: str) -> Any:
        """The array that warpkit is given: CuPy's, or PyTorch's if that alone has the dtype."""
        if dtype == "bfloat16" and self.gpu.torch:
            return as_torch(self.gpu.torch, base, dtype)
        return as_cupy(base, dtype)

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
            n = self.nbytes // (4 if dtype == "float32" else 8)
            for spread in spreads:
                a = cells.spread(self.gpu.cupy, dtype, n, spread)
                runs = {"warpkit": cells.ours(a, "sum", None)}
                runs |= self.peers(a, dtype, flat, "sum")
                what = f"{spread} binades" if isinstance(spread, int) else spread
                row: Row = {"dtype": dtype, "spread": what}
                row |= self.measure(runs, a.nbytes)
                if row["gb_s"] and "CUB" in row["peers"]:
                    row["cub_share"] = row["gb_s"] / row["peers"]["CUB"]
                yield row

    def sizes(self) -> Iterator[Row]:
        every = self.gpu.cupy.random.random(SIZES[-1], dtype="float32")
        for op in ("sum", "max"):
            for n in SIZES:
                a = every[:n].copy()
                there = warpkit.asarray(a)
                runs: dict[str, Run] = {
                    "warpkit": partial(warpkit.reduce, a, op),
                    "warpkit, own array": partial(warpkit.reduce, there, op),
                    "CuPy": getattr(a, op),
                }
                if torch := self.gpu.torch:
                    runs["PyTorch"] = getattr(torch.from_dlpack(a), op)
                device = self.gpu.measure(runs, LOOPS)
                working = [runs[name] for name in device]
                fetching = [fetch(name, runs[name]) for name in device]
                times = {
                    "device_us": device.values(),
                    "issue_us": wall(working, ISSUED, self.gpu.wait),
                    "fetch_us": wall(fetching, FETCHED, self.gpu.wait),
                }
                row: Row = {"op": op, "n": n}
                for what, seconds in times.items():
                    row[what] = dict(zip(device, (1e6 * t for t in seconds), strict=True))
                yield row

    def matrix(self) -> Iterator[Row]:
        left = cells.cells()
        while left:
            dtype = left[0].dtype
            base = data(self.gpu.cupy, dtype, self.nbytes)
            chosen = [cell for cell in left if cell.dtype == dtype]
            peers = {c: self.peers(base, dtype, cells.LAYOUTS[c.layout], c.op) for c in chosen}
            compile_ahead([runs["CuPy"] for runs in peers.values() if "CuPy" in runs])
            self.gpu.free()
            for cell in chosen:
                if time.perf_counter() > self.end:
                    print(f"out of time: {len(left)} cells are not measured", file=sys.stderr)
                    return
                left.remove(cell)
                layout = cells.LAYOUTS[cell.layout]
                view = layout.view(self.operand(base, dtype))
                runs = {"warpkit": cells.ours(view, cell.op, layout.axis)} | peers[cell]
                row: Row = {"op": cell.name, "dtype": dtype, "layout": cell.layout}
                row["shape"] = list(view.shape)
                yield row | self.measure(runs, moved(view, base.itemsize, runs["warpkit"]))


def moved(view: Any, itemsize: int, run: Run) -> int:
    """Bytes of the operand and of the result."""
    try:
        result = run()
    except Exception:  # it is reported when it is to be timed
        result = ()
    results = result if isinstance(result, tuple) else (result,)
    elements: int = math.prod(view.shape)
    return elements * itemsize + sum(int(x.nbytes) for x in results)


def fetch(name: str, run: Run) -> Run:
    return (lambda: run().item()) if name == "PyTorch" else lambda: float(run())


def line(row: Row) -> str:
    if "n" in row:
        return sections.times_line(f"{row['op']} of {row['n']}", row)
    return sections.line(row, ("op", "name", "dtype", "layout", "spread"))


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    "exponents": Bench.exponents,
    "sizes": Bench.sizes,
    "matrix": Bench.matrix,
}

if __name__ == "__main__":
    sections.main("reduce", __doc__, Bench, SECTIONS, line, least=32, minutes=4.5)
