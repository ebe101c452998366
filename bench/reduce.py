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

import argparse
import datetime
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import common
import reduce_cells as cells
import reduce_gpu
import warpkit
from common import Run
from reduce_gpu import Gpu

Row = dict[str, Any]

LADDER = 2**28  # bytes
LADDER_DTYPES = ("int32", "float32", "float64")
SPREADS = ("normal", "uniform", "lognormal(3)", 20, 40, 60, 120, 240)
SPREADS_OF = {"float32": SPREADS, "float64": (*SPREADS, 600, 2000)}
SIZES = (1, 32, 1000, *(2**k for k in range(10, 25)))
ISSUED, FETCHED = 100, 20  # calls in a sample of the wall clock


def rated(times: dict[str, float], nbytes: int) -> Row:
    """What every row says: rates of ours, of the copy and of the peers, in GB/s."""
    rate = {name: 1e-9 * nbytes / seconds for name, seconds in times.items()}
    copy, mine = rate.pop("copy"), rate.pop("warpkit", None)
    row: Row = {"copy_gb_s": copy, "gb_s": mine, "peers": rate}
    if mine is not None:
        row |= {"us": 1e6 * times["warpkit"], "share": mine / copy}
        if rate:
            best = max(rate, key=rate.__getitem__)
            row |= {"best_peer": best, "ratio": mine / rate[best]}
    return row


class Bench:
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float) -> None:
        self.gpu, self.nbytes, self.end = gpu, nbytes, end

    def measure(self, runs: dict[str, Run], nbytes: int) -> Row:
        """Rates over so many bytes; the copy takes turns with the others."""
        times = self.gpu.measure(runs | {"copy": self.gpu.copy})
        times["copy"] *= nbytes / (2 * self.gpu.source.nbytes)
        return rated(times, nbytes)

    def peers(self, base: Any, dtype: str, layout: cells.Layout, op: Any) -> dict[str, Run]:
        """CuPy's, PyTorch's and CUB's call, of those that have one."""
        gpu, view, axis = self.gpu, layout.view, layout.axis

        def cupy() -> dict[str, Run]:
            own = view(reduce_gpu.as_cupy(base, dtype))
            return {"CuPy": cells.of_cupy(gpu.cupy, own, op, axis)}

        def torch() -> dict[str, Run]:
            tensor = view(reduce_gpu.as_torch(gpu.torch, base, dtype))
            return {"PyTorch": cells.of_torch(gpu.torch, tensor, op, axis)}

        def cub() -> dict[str, Run]:
            return gpu.cub.runs(op, view(base), dtype, axis)

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
            return reduce_gpu.as_torch(self.gpu.torch, base, dtype)
        return reduce_gpu.as_cupy(base, dtype)

    # ---- the sections

    def ladder(self) -> Iterator[Row]:
        flat = cells.LAYOUTS["flat"]
        variants = [v for v in warpkit.variants("reduce") if v.device == "cuda"]
        for dtype in LADDER_DTYPES:
            a = reduce_gpu.data(self.gpu.cupy, dtype, LADDER)
            runs: dict[str, Run] = {
                v.name: partial(warpkit.reduce, a, variant=v.name)
                for v in variants
                if dtype in v.dtypes
            }
            peers = self.peers(a, dtype, flat, "sum")
            row = self.measure(runs | peers, a.nbytes)
            copy, rate = row["copy_gb_s"], row["peers"]
            for name in (*runs, *peers):
                if name in rate:
                    more = {"gb_s": rate[name], "share": rate[name] / copy, "peer": name in peers}
                    yield {"dtype": dtype, "name": name, "copy_gb_s": copy} | more

    def exponents(self) -> Iterator[Row]:
        flat = cells.LAYOUTS["flat"]
        for dtype, spreads in SPREADS_OF.items():
            n = self.nbytes // (4 if dtype == "float32" else 8)
            for spread in spreads:
                a = reduce_gpu.spread(self.gpu.cupy, dtype, n, spread)
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
                device = self.gpu.measure(runs, reduce_gpu.LOOPS)
                working = [runs[name] for name in device]
                fetching = [fetch(name, runs[name]) for name in device]
                times = {
                    "device_us": device.values(),
                    "issue_us": reduce_gpu.wall(working, ISSUED, self.gpu.wait),
                    "fetch_us": reduce_gpu.wall(fetching, FETCHED, self.gpu.wait),
                }
                row: Row = {"op": op, "n": n}
                for what, seconds in times.items():
                    row[what] = dict(zip(device, (1e6 * t for t in seconds), strict=True))
                yield row

    def matrix(self) -> Iterator[Row]:
        left = cells.cells()
        while left:
            dtype = left[0].dtype
            base = reduce_gpu.data(self.gpu.cupy, dtype, self.nbytes)
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


def compile_ahead(runs: list[Run]) -> None:
    """CuPy compiles a kernel at its first call, which takes a second: several at a time."""

    def attempt(run: Run) -> None:
        try:
            run()
        except Exception:  # it is reported when it is to be timed
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, runs))


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


# ---------------------------------------------------------------------------- showing


def digits(x: float | None) -> str:
    """Three of them."""
    if x is None:
        return "-"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def line(row: Row) -> str:
    """One row, as it is measured."""
    if "n" in row:
        parts = [f"{row['op']} of {row['n']}, us: device, issue, issue and fetch"]
        for name in row["device_us"]:
            times = (row[what][name] for what in ("device_us", "issue_us", "fetch_us"))
            parts.append(f"{name} " + " ".join(map(digits, times)))
        return "; ".join(parts)
    words = [row[key] for key in ("op", "name", "dtype", "layout", "spread") if key in row]
    text = f"{', '.join(words):60} {digits(row['gb_s']):>5} GB/s"
    if "share" in row:
        text += f" {row['share']:5.0%} of a copy"
    if "ratio" in row:
        text += f"  {row['ratio']:7.2f} x"
    peers = row.get("peers", {}).items()
    return text + "".join(f"  {name} {digits(rate)}" for name, rate in peers)


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    "exponents": Bench.exponents,
    "sizes": Bench.sizes,
    "matrix": Bench.matrix,
}


def section(bench: Bench, name: str, save: Callable[[Row], None]) -> None:
    """Measures it, and saves after each row what there is."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    found: Row = {"date": date, "commit": common.commit(), "rows": []}
    began = time.perf_counter()
    try:
        for row in SECTIONS[name](bench):
            found["rows"].append(row)
            print(line(row), flush=True)
            copies = [r["copy_gb_s"] for r in found["rows"] if "copy_gb_s" in r]
            if copies:
                found["copy_gb_s"] = statistics.median(copies)
            save(found)
    except Exception as error:  # one section that fails must not cost the others
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    took = time.perf_counter() - began
    print(f"{name}: {len(found['rows'])} rows in {took:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--mib", type=int, default=1024, help="MiB of input; default: 1024")
    parser.add_argument(
        "--minutes", type=float, default=4.5, help="after which no cell is begun; default: 4.5"
    )
    parser.add_argument(
        "--output", type=Path, help="default: bench/results/reduce_<device>.json, for the full size"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are: {', '.join(SECTIONS)}")
    if options.mib < 32:
        parser.error("--mib: at least 32")
    if "cuda:0" not in warpkit.devices():
        parser.error("no GPU: warpkit.show_config() says why")

    end = time.perf_counter() + 60 * options.minutes
    info = warpkit.memory_info("cuda")
    gpu = Gpu(options.mib * 2**20)
    machine = common.machine() | {
        "device": info["name"],
        "compute_capability": info["compute_capability"],
        "build": warpkit._core.config().get("cuda", {}).get("build"),
        "mib": options.mib,
    }
    machine |= gpu.described()
    print(", ".join(f"{k} {v}" for k, v in machine.items() if v is not None), flush=True)

    path = options.output
    if path is None and options.mib == 1024:
        name = re.sub(r"[^a-z0-9]+", "_", machine["device"].lower().removeprefix("nvidia "))
        path = common.RESULTS / f"reduce_{name.strip('_')}.json"
    result: dict[str, Any] = {}
    if path is not None and path.exists():
        result = json.loads(path.read_text())
    result["machine"] = machine

    def save(name: str, found: Row) -> None:
        result[name] = found
        if path is not None:
            common.write(path, result)

    bench = Bench(gpu, options.mib * 2**20, end)
    for name in SECTIONS:
        if name in options.sections or not options.sections:
            section(bench, name, partial(save, name))
    if path is not None:
        print(f"written: {path}")


if __name__ == "__main__":
    main()
