"""Transposes on one GPU beside CuPy, PyTorch, cuTENSOR and cuBLAS: every shape, dtype, permutation.

    python bench/transpose.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]
                              [--drawn N] [--seed S]

    ladder   every row of the table: 16384 x 16384 float32; "copy" moves it in order, the bound
    sizes    1 x 1 to 2048 x 2048 float32: time on the device, to issue, and from NumPy to NumPy
    matrix   matrices, thin ones, images, more axes, views; elements of 1, 2, 4, 8 and 16 bytes
    random   permutations of 3 to 6 axes, --drawn of them by --seed, each of elements of 5 sizes

One process, random data on the device, larger than its caches. Medians of 7 runs, taking turns,
after 3 that warm up, by CUDA events; calls of more than 50 ms are timed 3 times, of more than 0.4 s
once. GB/s counts each element that is read and each that is written once, a broadcast one too; of
a[:, ::2] the memory sends the skipped elements as well, so two thirds of a copy's rate is the most
there. "share" is that rate over a device-to-device copy's of as many bytes that took turns with it.
"ratio" is the best peer's time over ours.

Each call makes a new array, in its library's pool: CuPy's is ascontiguousarray(a.transpose(axes)),
which runs the same kernel as copyto, PyTorch's a.permute(axes).contiguous(), or of a view with
negative steps a.flip(...) and that. cuTENSOR's plan is made before the clock starts; it takes no
views and no bytes. cuBLAS, by its geam, takes matrices of float32, float64 and complex128; both
write into CuPy's memory. A peer that fails is left out. Our result is compared with one
peer's on the device; "!" marks one that differs.

Where --mib is less than 1024, all shapes shrink alike. The file keeps the sections that are not
measured again, each with its own date and commit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sections
import transpose_cells as cells
import warpkit
from common import Run
from cutensor import CuTensor
from gpu import LOOPS, Gpu, as_torch, compile_ahead, data, wall, works
from sections import Row, rated
from transpose_cells import Cell

SIZES = (1, 8, 32, 64, 100, 128, 200, 256, 400, 512, 700, 1000, 1024, 2048)
ISSUED, CROSSED, CROSSED_LARGE = 100, 20, 3  # calls in a sample of the wall clock
LARGE = 512  # from where on fewer calls are timed from NumPy to NumPy
BOUND = "copy"  # the variant that does not transpose


class Bench(sections.Sections):
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float, drawn: int, seed: int) -> None:
        super().__init__(gpu, end)
        self.nbytes, self.drawn, self.seed = nbytes, drawn, seed
        self.geam: cells.Geam | None = self.peer("cuBLAS", cells.Geam)
        self.cutensor: CuTensor | None = self.peer("cuTENSOR", CuTensor)

    def peer(self, name: str, make: Callable[[Any], Any]) -> Any:
        """A library that has a version, or None."""
        try:
            made = make(self.gpu.cupy)
            self.gpu.versions[name] = made.version()
            return made
        except Exception as error:  # a peer that is missing is no reason to stop
            print(f"without {name}: {type(error).__name__}: {error}", file=sys.stderr)
            return None

    def measure(self, runs: dict[str, Run], nbytes: int) -> Row:
        """Rates over so many bytes; the copy, of as many, takes turns with the others."""
        return rated(self.gpu.measure_with_copy(runs, nbytes, nbytes // 2), nbytes)

    def peers(self, base: Any, view: Any, cell: Cell) -> dict[str, Run]:
        """CuPy's, PyTorch's, cuTENSOR's and cuBLAS's call, of those that have one."""
        gpu = self.gpu

        def cupy() -> Run:
            return cells.of_cupy(gpu.cupy, view, cell.axes)

        def torch() -> Run:
            tensor = as_torch(gpu.torch, base, cell.dtype)
            return cells.of_torch(gpu.torch, tensor, cell.view, cell.axes)

        made: dict[str, Callable[[], Run]] = {"CuPy": cupy}
        if gpu.torch:
            made["PyTorch"] = torch
        if self.cutensor and cell.for_cutensor:
            made["cuTENSOR"] = partial(self.cutensor.run, base, cell.axes)
        if self.geam and cell.for_geam:
            made["cuBLAS"] = partial(self.geam.run, base)
        return self.available(made)

    def result(self, peers: dict[str, Run]) -> Any:
        """What a peer makes of it, or None."""
        for name in ("PyTorch", "CuPy"):
            try:
                return peers[name]()
            except Exception:  # it is reported when it is to be timed
                continue
        return None

    def differs(self, run: Run, theirs: Any) -> bool:
        """Whether our call gives anything but what the peer gave."""
        if theirs is None:
            return False
        try:
            ours = run()
        except Exception:  # it is reported when it is to be timed
            return False
        try:
            if torch := self.gpu.torch:
                pair = [x if torch.is_tensor(x) else torch.from_dlpack(x) for x in (ours, theirs)]
                return not torch.equal(*pair)
            return not bool(self.gpu.cupy.array_equal(ours, theirs))
        except Exception as error:
            self.tell(f"not compared: {type(error).__name__}: {error}")
            return False

    # ---- the sections

    def ladder(self) -> Iterator[Row]:
        cell = cells.cells(self.nbytes)[0]  # the square of float32
        a = data(self.gpu.cupy, cell.dtype, cell.nbytes).reshape(cell.shape)
        variants = [v for v in warpkit.variants("transpose") if v.device == "cuda"]
        runs: dict[str, Run] = {
            v.name: partial(warpkit.transpose, a, variant=v.name)
            for v in variants
            if cell.dtype in v.dtypes
        }
        peers = self.peers(a, a, cell)
        theirs = self.result(peers)
        wrong = [name for name, run in runs.items() if name != BOUND and self.differs(run, theirs)]
        del theirs
        row = self.measure(runs | peers, 2 * a.nbytes)
        of_all = {"shape": list(cell.shape), "dtype": cell.dtype, "copy_gb_s": row["copy_gb_s"]}
        for rung in sections.rungs(row, list(peers)):
            yield of_all | rung | ({"wrong": True} if rung["name"] in wrong else {})

    def sizes(self) -> Iterator[Row]:
        for done, n in enumerate(SIZES):
            if self.late(len(SIZES) - done):
                return
            cell = Cell("sizes", f"{n} x {n}", "float32", (n, n), (1, 0))
            host = np.random.default_rng(n).random((n, n), np.float32)
            a = self.gpu.cupy.asarray(host)
            runs: dict[str, Run] = {
                "warpkit": partial(warpkit.transpose, a),
                "warpkit, own array": partial(warpkit.transpose, warpkit.asarray(a)),
            }
            runs |= self.peers(a, a, cell)
            device = self.gpu.measure(runs, LOOPS)
            crossing = {
                k: run for k, run in self.crossing(host).items() if works(k, run, self.gpu.wait)
            }
            calls = CROSSED if n <= LARGE else CROSSED_LARGE
            issue = wall([runs[name] for name in device], ISSUED, self.gpu.wait)
            crossed = wall(list(crossing.values()), calls, self.gpu.wait)
            yield {
                "n": n,
                "device_us": {name: 1e6 * t for name, t in device.items()},
                "issue_us": dict(zip(device, (1e6 * t for t in issue), strict=True)),
                "host_us": dict(zip(crossing, (1e6 * t for t in crossed), strict=True)),
            }

    def crossing(self, host: Any) -> dict[str, Run]:
        """From NumPy to NumPy, through the GPU; NumPy itself stays on the host."""
        cupy, torch = self.gpu.cupy, self.gpu.torch
        runs: dict[str, Run] = {
            "warpkit": partial(warpkit.transpose, host, device="cuda"),
            "CuPy": lambda: cupy.ascontiguousarray(cupy.asarray(host).T).get(),
            "NumPy": lambda: host.T.copy(order="C"),
        }
        if torch:
            runs["PyTorch"] = lambda: torch.from_numpy(host).cuda().t().contiguous().cpu().numpy()
        return runs

    def matrix(self) -> Iterator[Row]:
        yield from self.all_of(cells.cells(self.nbytes))

    def random(self) -> Iterator[Row]:
        self.about |= {"drawn": self.drawn, "seed": self.seed}
        yield from self.all_of(cells.drawn(self.nbytes, self.drawn, self.seed))

    def all_of(self, left: list[Cell]) -> Iterator[Row]:
        """By dtype, whose cells follow each other."""
        while left and not self.late(len(left)):
            chosen = [cell for cell in left if cell.dtype == left[0].dtype]
            left = left[len(chosen) :]
            yield from self.cells_of(chosen, len(left))
            self.gpu.free()

    def cells_of(self, chosen: list[Cell], more: int) -> Iterator[Row]:
        """Those of one dtype, in one block of random data."""
        dtype = chosen[0].dtype
        most = max(cell.nbytes for cell in chosen)
        random = data(self.gpu.cupy, dtype, -(-most // 64) * 64)

        def prepared(cell: Cell) -> tuple[Any, dict[str, Run]]:
            base = random[: cell.nbytes // random.itemsize].reshape(cell.shape)
            view = cell.view.of_cupy(self.gpu.cupy, base)
            return view, self.peers(base, view, cell)

        ready = [prepared(cell) for cell in chosen]
        # one of each kind: the others' kernels are the same, or nearly
        kinds: dict[tuple[Any, ...], Run] = {}
        for cell, (view, peers) in zip(chosen, ready, strict=True):
            if "CuPy" in peers:
                kind = view.ndim, cell.nbytes >= 2**31, cell.group
                kinds.setdefault(kind, peers["CuPy"])
        compile_ahead(list(kinds.values()))
        self.gpu.free()
        for done, (cell, (view, peers)) in enumerate(zip(chosen, ready, strict=True)):
            if self.late(len(chosen) - done + more):
                return
            try:
                yield self.measured(cell, view, peers)
            except Exception as error:  # one cell that fails must not cost the others
                self.tell(f"{cell.case}: {type(error).__name__}: {error}")
            self.gpu.free()

    def measured(self, cell: Cell, view: Any, peers: dict[str, Run]) -> Row:
        ours: Run = partial(warpkit.transpose, view, cell.axes)
        row: Row = {"group": cell.group, "case": cell.case, "dtype": cell.dtype}
        row |= {"shape": list(cell.shape), "axes": list(cell.axes)}
        if self.differs(ours, self.result(peers)):
            row["wrong"] = True
        return row | self.measure({"warpkit": ours} | peers, cells.moved(view))


def line(row: Row) -> str:
    if "n" in row:
        return sections.times_line(f"{row['n']} x {row['n']}", row)
    return sections.line(row, ("name", "case", "dtype"))


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    "sizes": Bench.sizes,
    "matrix": Bench.matrix,
    "random": Bench.random,
}
NUMBERS = {
    "drawn": (30, "permutations that are drawn"),
    "seed": (0, "of the draw"),
}

if __name__ == "__main__":
    sections.main(
        *("transpose", __doc__, Bench, SECTIONS, line), least=1, minutes=5, numbers=NUMBERS
    )
