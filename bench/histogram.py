"""Histograms on one GPU beside CuPy, PyTorch and CUB: bins, dtypes, and data made to contend.

    python bench/histogram.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]

    ladder   every row of the table: int32 in 256 and 2^17 bins, and in groups of 32
    values   integers that are their bins: by bincount, with minlength and without
    equal    histogram: equal bins of a range
    between  histogram: bins between edges that are not equal
    weights  exact sums of weights: by bincount, with minlength and without
    warps    warp_histogram
    runs     run_length and unique_counts
    small    1 to 2^24 elements: time on the device, and until a call returns

One process; data on the device, never zeros, larger than its caches: --mib in "values", "equal" and
"weights", else a quarter of it. Medians of 7 runs, taking turns, after 3 that warm up, by CUDA
events; calls of more than 10 ms are timed 3 times, of more than 0.1 s once. GB/s counts each byte
of elements and weights once; in "warps" and "runs" those of the results too. "share" is that rate
over a device-to-device copy's of as many bytes that took turns with it, read and written bytes
counted; "of_read" is over that of reading them. "ratio" is the best peer's time over ours.

"given" is bincount with a minlength that suffices, which it tells the host; CUB's HistogramEven,
with counters of 32 bits, is its peer, and is told the number of bins. Without, bincount finds it
and says it to the host; so do the peers' bincount functions. CuPy and PyTorch add
weights by atomics, rounded at each addition. PyTorch has no histogram of given edges on a GPU:
bucketize and bincount stand for it. A peer that fails is left out.

Data: all values as likely; one value; the first, sorted; P(rank) ~ 1 / rank; one value half of the
time; two values by turns; multiples of 32; of floats also bins' edges, and what is one ulp beside
them. Each result is compared on the device with a plain count, a sum with an exact one; "!" marks
one that differs.

The file keeps the sections that are not measured again, each with its own date and commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import histogram_cells as cells
import numpy as np
import sections
import warpkit
from common import Run
from gpu import COPY, LOOPS, Gpu, as_cupy, as_torch, compile_ahead, wall
from histogram_cub import Cub
from histogram_data import DATA, HALVES, Data
from sections import Row, rated

LADDER = (256, 2**17)  # bins: few, and more than a multiprocessor's shared memory holds
QUARTER = 4  # of --mib, in sections that show nothing more with all of it
ISSUED = 20  # calls in a sample of the wall clock
SLOW, SLOWER = 0.01, 0.1  # seconds: peers take that long where many elements are equal
READ = "read only"  # its name among the runs
TINY = 1000  # elements, for peers to compile their kernels with

Made = dict[str, Callable[[], Run]]


class Bench(sections.Sections):
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float) -> None:
        super().__init__(gpu, end)
        self.nbytes = nbytes
        gpu.slow, gpu.slower = SLOW, SLOWER
        self.data = Data(gpu.cupy)
        self.cub = Cub(gpu.cupy)
        if self.cub.version:
            gpu.versions["CUB"] = self.cub.version

    # ---- how

    def elements(self, dtype: str, part: int = 1, beside: int = 0) -> int:
        """As many as fit that part of --mib, with so many bytes more beside each."""
        size = 2 if dtype in HALVES else np.dtype(dtype).itemsize
        return self.nbytes // part // (size + beside) // 32 * 32

    def timed(self, runs: dict[str, Run], moved: int) -> tuple[dict[str, float], Row]:
        """Seconds of each, and of COPY; rates of reading and of the copy."""
        source = self.gpu.source
        read = min(moved, source.nbytes)
        runs = runs | {READ: partial(self.data.read, source, read)}
        times = self.gpu.measure_with_copy(runs, moved, moved // 2)
        return times, {"read_gb_s": 1e-9 * read / times.pop(READ)}

    def rates(self, times: dict[str, float], name: str, peers: list[str], moved: int) -> Row:
        """Of one of the calls, beside some peers."""
        chosen = {peer: times[peer] for peer in peers if peer in times}
        ours = {"warpkit": times[name]} if name in times else {}
        return rated(ours | chosen | {COPY: times[COPY]}, moved)

    def row(
        self, about: Row, runs: dict[str, Run], beside: dict[str, list[str]], moved: int
    ) -> Row:
        """Of our calls, each beside its peers: the first is the row, others are in it by name."""
        times, row = self.timed(runs, moved)
        first, *others = beside
        row = about | row | self.rates(times, first, beside[first], moved)
        if row["gb_s"] is not None:
            row["of_read"] = row["gb_s"] / row["read_gb_s"]
        for name in others:
            rates = self.rates(times, name, beside[name], moved)
            row[name] = {key: x for key, x in rates.items() if key != "copy_gb_s"}
        return row

    def wrong(self, runs: dict[str, Run], right: Callable[[Any], bool]) -> Row:
        """Those of our calls whose results are not right; what fails is told when it is timed."""
        names = []
        for name, run in runs.items():
            try:
                if not right(run()):
                    names.append(name)
            except Exception as error:
                self.tell(f"{name}: {type(error).__name__}: {error}")
        return {"wrong": names} if names else {}

    def same(self, result: Any, counts: Any) -> bool:
        """A result that may be shorter than the counts by zeros."""
        ours = self.gpu.cupy.asarray(result[0] if isinstance(result, tuple) else result)
        n = ours.size
        if n > counts.size or int(ours.sum()) != int(counts.sum()):
            return False
        return bool((ours == counts[:n]).all())

    def with_torch(self, made: Made, make: Callable[[Any], Run], a: Any, dtype: str) -> None:
        if self.gpu.torch:
            made["PyTorch"] = lambda: make(as_torch(self.gpu.torch, a, dtype))

    def each(self, left: list[Any]) -> Iterator[Any]:
        """Until it is late."""
        while left and not self.late(len(left)):
            yield left.pop(0)
            self.gpu.free()

    def ahead(self, makes: list[Callable[[], dict[str, Run]]]) -> None:
        """Has CuPy compile what it will need; PyTorch loads its kernels."""
        compile_ahead([run for make in makes for run in make().values()])
        self.gpu.wait()

    def empty(self, dtype: str, n: int) -> Any:
        """CuPy's array of any dtype."""
        kept = self.gpu.cupy.zeros(n, "uint16" if dtype in HALVES else dtype)
        return as_cupy(kept, dtype) if dtype == "bfloat16" else kept.view(dtype)

    def operand(self, a: Any) -> Any:
        """The array that warpkit is given: on the device, by PyTorch if that alone can say so."""
        if a.dtype.name == "bfloat16" and self.gpu.torch:
            return warpkit.asarray(as_torch(self.gpu.torch, a, "bfloat16"))
        return warpkit.asarray(a)

    # ---- peers

    def of_values(self, a: Any, bins: int) -> dict[str, Run]:
        gpu = self.gpu
        made: Made = {"CuPy": lambda: partial(gpu.cupy.bincount, a)}
        self.with_torch(made, lambda t: partial(gpu.torch.bincount, t), a, a.dtype.name)
        if a.dtype.name in self.cub.libraries and bins <= cells.MOST_OF_CUB:
            made["CUB"] = lambda: self.cub.even(a, bins, 0, bins)
        return self.available(made)

    def of_equal(self, a: Any, cell: cells.Equal) -> dict[str, Run]:
        gpu, bins, ends = self.gpu, cell.bins, (cell.first, cell.last)
        made: Made = {"CuPy": lambda: partial(gpu.cupy.histogram, a, bins, ends)}
        self.with_torch(made, lambda t: partial(gpu.torch.histc, t, bins, *ends), a, cell.dtype)
        if cell.dtype in self.cub.libraries:
            made["CUB"] = lambda: self.cub.even(a, bins, *ends)
        return self.available(made)

    def of_between(self, a: Any, edges: np.ndarray) -> dict[str, Run]:
        gpu = self.gpu
        made: Made = {"CuPy": lambda: partial(gpu.cupy.histogram, a, gpu.cupy.asarray(edges))}
        self.with_torch(
            made, lambda t: cells.of_torch_between(gpu.torch, t, edges), a, a.dtype.name
        )
        if a.dtype.name in self.cub.libraries:
            made["CUB"] = lambda: self.cub.between(a, edges)
        return self.available(made)

    def of_weights(self, a: Any, weights: Any) -> dict[str, Run]:
        gpu = self.gpu
        made: Made = {"CuPy": lambda: partial(gpu.cupy.bincount, a, weights)}
        if gpu.torch:
            other = as_torch(gpu.torch, weights, weights.dtype.name)
            self.with_torch(made, lambda t: partial(gpu.torch.bincount, t, other), a, "int32")
        return self.available(made)

    # ---- the sections

    def ladder(self) -> Iterator[Row]:
        dtype = "int32"
        a = self.gpu.cupy.empty(self.elements(dtype, QUARTER), dtype)
        there = warpkit.asarray(a)
        for bins, data in product(LADDER, ("uniform", "equal")):
            self.data.draw(a, data, bins)
            right = partial(self.same, counts=self.data.count(a, bins))
            runs: dict[str, Run] = {
                name: partial(cells.count, there, bins, variant=name)
                for name in rungs("histogram", dtype)
            }
            yield from self.rungs("histogram", f"{bins} bins, {data}", runs, right, a.nbytes)
        for ordered, distinct in product((True, False), (32, 1)):
            self.data.draw_groups(a, distinct, ordered)
            count = partial(warpkit.warp_histogram, there, assume_sorted=ordered)
            runs = {name: partial(count, variant=name) for name in rungs("warp_histogram", dtype)}
            case = cells.Groups(dtype, ordered, distinct).case
            listed = partial(self.grouped, a=a, ascending=ordered)
            yield from self.rungs("warp_histogram", case, runs, listed, moved_by_groups(a))

    def rungs(
        self, op: str, case: str, runs: dict[str, Run], right: Callable[[Any], bool], moved: int
    ) -> Iterator[Row]:
        wrong = self.wrong(runs, right).get("wrong", ())
        times, about = self.timed(runs, moved)
        row = rated(times, moved)
        about |= {"op": op, "case": case, "copy_gb_s": row["copy_gb_s"]}
        for rung in sections.rungs(row, []):
            rung["of_read"] = rung["gb_s"] / about["read_gb_s"]
            yield about | rung | ({"wrong": True} if rung["name"] in wrong else {})

    def values(self) -> Iterator[Row]:
        cupy = self.gpu.cupy
        tiny = {case.dtype: cupy.ones(TINY, case.dtype) for case in cells.VALUES}
        self.ahead([partial(self.of_values, a, 2) for a in tiny.values()])
        for case in self.each(list(cells.VALUES)):
            dtype, bins = case.dtype, case.bins
            a = cupy.empty(self.elements(dtype), dtype)
            there, peers = warpkit.asarray(a), self.of_values(a, bins)
            ours: dict[str, Run] = {
                "given": partial(warpkit.bincount, there, None, bins),
                "bincount": partial(warpkit.bincount, there),
                "histogram": partial(warpkit.histogram, there, bins, (0, bins)),
            }
            beside = {"given": ["CUB"], "bincount": ["CuPy", "PyTorch"], "histogram": ["CUB"]}
            for data in self.each(list(DATA)):
                self.data.draw(a, data, bins)
                row: Row = {"section": "values", "case": f"{bins} bins", "dtype": dtype}
                row |= {"bins": bins, "n": a.size}
                row |= {"data": data, "target": case.to_reach(data)}
                row |= self.wrong(ours, partial(self.same, counts=self.data.count(a, bins)))
                yield self.row(row, ours | peers, beside, a.nbytes)

    def equal(self) -> Iterator[Row]:
        self.ahead([partial(self.of_equal, self.empty(c.dtype, TINY), c) for c in cells.EQUAL])
        for cell in self.each(list(cells.EQUAL)):
            bins, ends = cell.bins, (cell.first, cell.last)
            a = self.empty(cell.dtype, self.elements(cell.dtype))
            edges = np.histogram_bin_edges(np.empty(0, a.dtype), bins, ends)
            ours: dict[str, Run] = {
                "histogram": partial(warpkit.histogram, self.operand(a), bins, ends)
            }
            about: Row = {"section": "equal", "case": f"{bins} bins", "target": cell.target}
            yield from self.floats(about, a, edges, ours, self.of_equal(a, cell))

    def between(self) -> Iterator[Row]:
        every = [(self.empty(d, TINY), cells.irregular(d, n)) for d, n in cells.BETWEEN]
        self.ahead([partial(self.of_between, a, edges) for a, edges in every])
        for dtype, n in self.each(list(cells.BETWEEN)):
            a, edges = self.empty(dtype, self.elements(dtype, QUARTER)), cells.irregular(dtype, n)
            ours: dict[str, Run] = {"histogram": partial(warpkit.histogram, self.operand(a), edges)}
            about: Row = {"section": "between", "case": f"{n} edges"}
            yield from self.floats(about, a, edges, ours, self.of_between(a, edges))

    def floats(
        self,
        about: Row,
        a: Any,
        edges: np.ndarray,
        ours: dict[str, Run],
        peers: dict[str, Run],
    ) -> Iterator[Row]:
        for data in self.each(list(cells.SPREAD)):
            self.data.draw_between(a, data, edges)
            row = about | {"dtype": a.dtype.name, "n": a.size, "data": data}
            row |= self.wrong(ours, partial(self.same, counts=self.data.count_between(a, edges)))
            yield self.row(row, ours | peers, {"histogram": list(peers)}, a.nbytes)

    def weights(self) -> Iterator[Row]:
        cupy = self.gpu.cupy
        tiny = cupy.ones(TINY, "int32")
        dtypes = dict.fromkeys(cell.dtype for cell in cells.WEIGHTED)
        self.ahead([partial(self.of_weights, tiny, cupy.ones(TINY, d)) for d in dtypes])
        for cell in self.each(list(cells.WEIGHTED)):
            n = self.elements("int32", beside=np.dtype(cell.dtype).itemsize)
            a, weights = cupy.empty(n, "int32"), cupy.empty(n, cell.dtype)
            pair = warpkit.asarray(a), warpkit.asarray(weights)
            ours: dict[str, Run] = {
                "given": partial(warpkit.bincount, *pair, cell.bins),
                "bincount": partial(warpkit.bincount, *pair),
            }
            peers = self.of_weights(a, weights)
            for data in self.each(list(cell.data)):
                self.data.draw(a, "uniform" if data == cells.WIDE else data, cell.bins)
                self.data.weigh(weights, data == cells.WIDE)
                row: Row = {"section": "weights", "case": f"{cell.bins} bins"}
                row |= {"dtype": cell.dtype, "n": n, "data": data, "target": cell.target}
                some, sums = self.data.sums(a, weights, cell.bins)
                row |= self.wrong(ours, partial(self.added, some=some, sums=sums))
                beside = {"given": [], "bincount": list(peers)}
                yield self.row(row, ours | peers, beside, a.nbytes + weights.nbytes)

    def added(self, result: Any, some: slice, sums: np.ndarray) -> bool:
        ours = self.gpu.cupy.asnumpy(self.gpu.cupy.asarray(result)[some])
        return bool(np.array_equal(ours, sums[: len(ours)])) and not sums[len(ours) :].any()

    def warps(self) -> Iterator[Row]:
        for cell in self.each(list(cells.GROUPS)):
            a = self.gpu.cupy.empty(self.elements(cell.dtype, QUARTER), cell.dtype)
            self.data.draw_groups(a, cell.distinct, cell.ordered)
            runs: dict[str, Run] = {
                "warp_histogram": partial(
                    warpkit.warp_histogram, warpkit.asarray(a), assume_sorted=cell.ordered
                )
            }
            row: Row = {"case": cell.case, "dtype": cell.dtype, "n": a.size}
            row["target_share"] = cell.target
            row |= self.wrong(runs, partial(self.grouped, a=a, ascending=True))
            yield self.row(row, runs, {"warp_histogram": []}, moved_by_groups(a))

    def grouped(self, results: Any, a: Any, ascending: bool) -> bool:
        return not self.data.wrong_groups(a, results, ascending)

    def runs(self) -> Iterator[Row]:
        gpu, dtype = self.gpu, "int32"
        a = gpu.cupy.empty(self.elements(dtype, QUARTER), dtype)
        there = warpkit.asarray(a)
        for length in self.each(list(cells.RUNS)):
            self.data.draw_runs(a, length)
            peers: Made = {}
            self.with_torch(
                peers,
                lambda t: partial(gpu.torch.unique_consecutive, t, return_counts=True),
                a,
                dtype,
            )
            run: Run = partial(warpkit.run_length, there)
            row = self.wrong({"run_length": run}, self.encoded(a))
            case: Row = {"op": "run_length", "case": f"runs of {length}"}
            yield self.found(case | row, a, "run_length", run, peers)
        self.ahead([lambda: {"CuPy": partial(gpu.cupy.unique, a[:TINY], return_counts=True)}])
        for bins in self.each(list(cells.DISTINCT)):
            self.data.draw(a, "uniform", bins)
            peers = {"CuPy": lambda: partial(gpu.cupy.unique, a, return_counts=True)}
            self.with_torch(
                peers, lambda t: partial(gpu.torch.unique, t, return_counts=True), a, dtype
            )
            run = partial(warpkit.unique_counts, there)
            row = self.wrong({"unique_counts": run}, self.distinct(self.data.count(a, bins)))
            case = {"op": "unique_counts", "case": f"{bins} values"}
            yield self.found(case | row, a, "unique_counts", run, peers)

    def encoded(self, a: Any) -> Callable[[Any], bool]:
        return lambda found: not self.data.wrong_runs(a, *found)

    def distinct(self, counts: Any) -> Callable[[Any], bool]:
        def right(found: Any) -> bool:
            values, times = map(self.gpu.cupy.asarray, found)
            wanted = self.gpu.cupy.flatnonzero(counts)
            if len(values) != len(wanted) or not bool((values == wanted).all()):
                return False
            return bool((times == counts[wanted]).all())

        return right

    def found(self, about: Row, a: Any, name: str, run: Run, peers: Made) -> Row:
        """A row of what makes two arrays, of so many elements as there are."""
        calls = self.available(peers)
        try:
            made = sum(x.nbytes for x in map(self.gpu.cupy.asarray, run()))
        except Exception:  # it is reported when it is to be timed
            made = 0
        about |= {"dtype": a.dtype.name, "n": a.size}
        return self.row(about, {name: run} | calls, {name: list(calls)}, a.nbytes + made)

    def small(self) -> Iterator[Row]:
        most, cupy = max(cells.SIZES), self.gpu.cupy
        numbers, whole = cupy.empty(most, "float32"), cupy.empty(most, "int32")
        weights = cupy.empty(most, "float32")
        cell = cells.EQUAL[0]
        edges = np.histogram_bin_edges(np.empty(0, "float32"), cell.bins, (cell.first, cell.last))
        self.data.draw_between(numbers, "uniform", edges)
        self.data.weigh(weights, False)
        for n in self.each(list(cells.SIZES)):
            a = numbers[:n].copy()
            ours = partial(warpkit.histogram, a, cell.bins, (cell.first, cell.last))
            yield self.short("histogram, 100 bins", n, {"warpkit": ours} | self.of_equal(a, cell))
        for bins in cells.SMALL:
            self.data.draw(whole, "uniform", bins)
            for n in self.each(list(cells.SIZES)):
                a = whole[:n].copy()
                peers = self.of_values(a, bins)
                given: dict[str, Run] = {
                    "warpkit": partial(warpkit.bincount, warpkit.asarray(a), None, bins)
                }
                given |= {"CUB": peers.pop("CUB")} if "CUB" in peers else {}
                yield self.short(f"given {bins} bins", n, given)
                runs: dict[str, Run] = {"warpkit": partial(warpkit.bincount, a)}
                yield self.short(f"bincount, {bins} values", n, runs | peers)
                if bins == cells.SMALL[0]:
                    runs = {"warpkit": partial(warpkit.bincount, a, weights[:n])}
                    runs |= self.of_weights(a, weights[:n])
                    yield self.short(f"bincount of weights, {bins} values", n, runs)

    def short(self, case: str, n: int, runs: dict[str, Run]) -> Row:
        device = self.gpu.measure(runs, LOOPS)
        issue = wall([runs[name] for name in device], ISSUED, self.gpu.wait)
        row: Row = {"case": case, "n": n, "device_us": {k: 1e6 * t for k, t in device.items()}}
        return row | {"issue_us": dict(zip(device, (1e6 * t for t in issue), strict=True))}


def rungs(op: str, dtype: str) -> list[str]:
    found = (v for v in warpkit.variants(op) if v.device == "cuda" and dtype in v.dtypes)
    return [v.name for v in found]


def moved_by_groups(a: Any) -> int:
    """Bytes that warp_histogram of a reads and writes: values, counts and totals of int32."""
    return int(2 * a.nbytes + 4 * a.size + 4 * (a.size // 32))


def line(row: Row) -> str:
    if "device_us" in row:
        return sections.times_line(f"{row['case']}, {row['n']}", row)
    told = {key: x for key, x in row.items() if key != "wrong"}
    text = sections.line(told, ("op", "name", "case", "dtype", "data"))
    if wrong := row.get("wrong"):
        text += f"  ! not right: {', '.join(wrong) if isinstance(wrong, list) else row['name']}"
    if row.get("of_read") is not None:
        text += f"  {row['of_read']:.0%} of reading"
    below = row["gb_s"] is not None and (
        row["gb_s"] < (row.get("target") or 0)
        or row.get("share", 0) < (row.get("target_share") or 0)
    )
    for name in ("bincount", "histogram"):
        if name in row:
            text += f"  {name} {sections.digits(row[name]['gb_s'])}"
            text += "".join(f" {k} {sections.digits(x)}" for k, x in row[name]["peers"].items())
    return text + ("  < target" if below else "")


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    "values": Bench.values,
    "equal": Bench.equal,
    "between": Bench.between,
    "weights": Bench.weights,
    "warps": Bench.warps,
    "runs": Bench.runs,
    "small": Bench.small,
}

if __name__ == "__main__":
    sections.main("histogram", __doc__, Bench, SECTIONS, line, least=1, minutes=2.5)
