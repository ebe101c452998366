"""Stencils on one GPU beside CuPy and PyTorch: every axis, radius, dtype, and against the FFT.

    python bench/stencil.py [SECTION ...] [--mib N] [--minutes M] [--output PATH]

    ladder     every row of the table: 9 taps along the last axis, and along axis 0
    last       2^27 elements along the last axis, radius 1 to 128
    first      8192 x 16384 along axis 0, radius 1 to 128; and 16381 columns
    inner      an axis that has 2 to 64 elements within each step; and short planes
    rows       many short rows, 4 to 4096 elements
    sums       added in float64; and elements of uint8, float16, complex64, along other axes too
    small      2^10 to 2^20 elements: time on the device, and to issue
    crossover  257 to 4097 taps, 2^26 elements, beside CuPy's convolutions by FFT

One process, random data on the device, larger than its caches. Medians of 7 runs, taking turns,
after 3 that warm up, by CUDA events; calls of more than 10 ms are timed 3 times, of more than 0.1 s
once. float32 is added in float32, float64 in float64, but in "sums". GB/s counts each element read
once and written once. "share" is that rate over a device-to-device copy's of as many bytes that
took turns with it. "of_floor" is the floor over our time: the longer one of that copy and of taps
times outputs at the peak rate of fused multiply-adds, which a kernel of registers alone reaches in
this run. "ratio" is the best peer's time over ours.

Each call makes a new array, in its library's pool. CuPy's is correlate1d. PyTorch's is conv1d, or
conv2d along other axes, without TF32, of an input that is padded already. CuPy adds uint8, float16
and float32 in float32 whatever we do. A peer that fails is left out. Our result is compared with
CuPy's on the device; "!" marks one that differs by more than rounding.

Where --mib is less than 1024, all shapes shrink alike. The file keeps the sections that are not
measured again, each with its own date and commit.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sections
import stencil_cells as cells
import warpkit
from common import Run
from gpu import LOOPS, Gpu, compile_ahead, data, wall
from sections import Row, rated
from stencil_cells import Cell

ISSUED = 100  # calls in a sample of the wall clock
SLOW, SLOWER = 0.01, 0.1  # seconds: peers take that long at large radii, in many cells
CHUNK = 2**24  # elements that are compared at a time
BLOCK, PER_SM, TURNS, FMAS = 256, 8, 400, 128  # threads, blocks, and what each thread does

# 16 independent sums hide the latency; the coefficient is a parameter, or in a register.
PEAK = r"""
extern "C" __global__ void peak(NUMBER *out, int turns, NUMBER given, const NUMBER *stored)
{
    const NUMBER w = WHERE;
    NUMBER sum[16], x[16];
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum[i] = NUMBER(threadIdx.x + i) * NUMBER(1e-3);
        x[i] = NUMBER(threadIdx.x * 16 + i) * NUMBER(1e-9);
    }
    for (int turn = 0; turn < turns; turn++)
        #pragma unroll
        for (int k = 0; k < 8; k++)
            #pragma unroll
            for (int i = 0; i < 16; i++) sum[i] = fma(x[(i + k) % 16], w, sum[i]);
    #pragma unroll
    for (int i = 1; i < 16; i++) sum[0] += sum[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum[0];
}
"""


def peak(gpu: Gpu, dtype: str) -> float:
    """Fused multiply-adds a second, of all multiprocessors."""
    cupy = gpu.cupy
    blocks = PER_SM * cupy.cuda.Device().attributes["MultiProcessorCount"]
    out, stored = cupy.empty(blocks * BLOCK, dtype), cupy.full(2, 1e-5, dtype)
    arguments = out, np.int32(TURNS), np.dtype(dtype).type(1e-5), stored
    text = PEAK.replace("NUMBER", {"float32": "float", "float64": "double"}[dtype])
    kernels = (
        cupy.RawKernel(text.replace("WHERE", where), "peak")
        for where in ("given", "stored[threadIdx.x & 1]")
    )
    runs: dict[str, Run] = {
        str(i): partial(kernel, (blocks,), (BLOCK,), arguments) for i, kernel in enumerate(kernels)
    }
    best = min(gpu.measure(runs).values())
    return float(blocks * BLOCK * TURNS * FMAS / best)


class Bench(sections.Sections):
    """The sections, one generator of rows each."""

    def __init__(self, gpu: Gpu, nbytes: int, end: float) -> None:
        super().__init__(gpu, end)
        self.elements = nbytes // 8  # of float64 so many bytes
        self.correlate1d = importlib.import_module("cupyx.scipy.ndimage").correlate1d
        gpu.slow, gpu.slower = SLOW, SLOWER
        if gpu.torch:
            gpu.torch.backends.cudnn.allow_tf32 = False
            gpu.torch.backends.cuda.matmul.allow_tf32 = False
        self.peaks = {dtype: peak(gpu, dtype) for dtype in cells.REALS}
        found = ", ".join(f"{dtype} {1e-12 * rate:.1f}" for dtype, rate in self.peaks.items())
        print(f"fused multiply-adds, T/s: {found}", flush=True)

    def peers(self, block: Any, view: Any, cell: Cell) -> dict[str, Run]:
        """Of those that have it; block is all the data, of which the view is a part."""
        gpu = self.gpu
        made: dict[str, Callable[[], Run]] = {
            "CuPy": lambda: cells.of_cupy(gpu.cupy, self.correlate1d, view, cell)
        }
        if gpu.torch:
            tensor = gpu.torch.from_dlpack(block)
            made["PyTorch"] = lambda: cells.of_torch(gpu.torch, tensor, cell)
        return self.available(made)

    def differs(self, run: Run, peers: dict[str, Run], cell: Cell) -> bool:
        """Whether our call gives anything but what CuPy gave, rounded otherwise."""
        try:
            theirs, ours = peers["CuPy"]().reshape(-1), run().reshape(-1)
        except Exception:  # it is reported when it is to be timed
            return False
        for at in range(0, ours.size, CHUNK):
            pair = (x[at : at + CHUNK] for x in (ours, theirs))
            a, b = (x.astype("float64") if x.dtype.kind != "c" else x for x in pair)
            if not float(abs(a - b).max()) <= cells.tolerance(cell):  # NaN differs
                return True
        return False

    def prepared(self, chosen: list[Cell]) -> Iterator[tuple[Cell, Any, dict[str, Run]]]:
        """Each with its array and its peers' calls; those of one dtype in one block of data."""
        left = list(chosen)
        while left:
            dtype = left[0].dtype
            these = [cell for cell in left if cell.dtype == dtype]
            left = [cell for cell in left if cell.dtype != dtype]
            room = max(cell.padded for cell in these) * np.dtype(dtype).itemsize
            block = data(self.gpu.cupy, dtype, -(-room // 64) * 64)
            views = [block[: cell.size].reshape(cell.shape) for cell in these]
            peers = [self.peers(block, view, cell) for cell, view in zip(these, views, strict=True)]
            compile_ahead([runs["CuPy"] for runs in peers if "CuPy" in runs])
            self.gpu.free()
            for done, (cell, view, runs) in enumerate(zip(these, views, peers, strict=True)):
                if self.late(len(these) - done + len(left)):
                    return
                yield cell, view, runs
                self.gpu.free()

    def of(self, view: Any, cell: Cell, **options: Any) -> Run:
        taps, accumulate = cells.coefficients(cell), cell.accumulate
        return partial(warpkit.stencil1d, view, taps, cell.axis, accumulate=accumulate, **options)

    def timed(self, runs: dict[str, Run], cell: Cell) -> Row:
        """Rates; the copy, of as many bytes, takes turns with the others."""
        row = rated(self.gpu.measure_with_copy(runs, cell.moved, cell.moved // 2), cell.moved)
        memory, units = (
            1e-3 * cell.moved / row["copy_gb_s"],
            1e6 * cell.fmas / self.peaks[cell.sums],
        )
        row |= {"floor_us": max(memory, units), "peak_t_s": 1e-12 * self.peaks[cell.sums]}
        if row["gb_s"] is not None:
            row["of_floor"] = row["floor_us"] / row["us"]
        return row

    # ---- the sections

    def ladder(self) -> Iterator[Row]:
        variants = [v for v in warpkit.variants("stencil1d") if v.device == "cuda"]
        for cell, view, peers in self.prepared(list(cells.ladder(self.elements))):
            runs: dict[str, Run] = {
                v.name: self.of(view, cell, variant=v.name)
                for v in variants
                if cell.dtype in v.dtypes
            }
            wrong = [name for name, run in runs.items() if self.differs(run, peers, cell)]
            row = self.timed(runs | peers, cell)
            about: Row = {"case": cell.case, "shape": list(cell.shape), "dtype": cell.dtype}
            about |= {"radius": cell.radius, "copy_gb_s": row["copy_gb_s"]}
            for rung in sections.rungs(row, list(peers)):
                yield about | rung | ({"wrong": True} if rung["name"] in wrong else {})

    def group(self, name: str) -> Iterator[Row]:
        for cell, view, peers in self.prepared(list(cells.GROUPS[name](self.elements))):
            row: Row = {"case": cell.case, "dtype": cell.dtype, "sums": cell.sums}
            row |= {"shape": list(cell.shape), "axis": cell.axis, "radius": cell.radius}
            ours = self.of(view, cell)
            try:
                if self.differs(ours, peers, cell):
                    row["wrong"] = True
                yield row | self.timed({"warpkit": ours} | peers, cell)
            except Exception as error:  # one cell that fails must not cost the others
                self.tell(f"{cell.case}: {type(error).__name__}: {error}")

    def small(self) -> Iterator[Row]:
        for cell, view, peers in self.prepared(list(cells.small())):
            runs = {
                "warpkit": self.of(view, cell),
                "warpkit, own array": self.of(warpkit.asarray(view), cell),
            }
            device = self.gpu.measure(runs | peers, LOOPS)
            calls = [(runs | peers)[name] for name in device]
            issue = wall(calls, ISSUED, self.gpu.wait)
            row: Row = {"case": cell.case, "n": cell.size, "radius": cell.radius}
            row["device_us"] = {name: 1e6 * t for name, t in device.items()}
            row["issue_us"] = dict(zip(device, (1e6 * t for t in issue), strict=True))
            yield row

    def crossover(self) -> Iterator[Row]:
        signal = importlib.import_module("cupyx.scipy.signal")
        chosen = list(cells.long(self.elements))
        for done, cell in enumerate(chosen):
            if self.late(len(chosen) - done):
                return
            a = data(self.gpu.cupy, cell.dtype, cell.size * 4)
            taps = self.gpu.cupy.asarray(cells.coefficients(cell)[::-1])
            runs: dict[str, Run] = {"warpkit": self.of(a, cell, mode="constant")}
            for name in ("oaconvolve", "fftconvolve"):
                runs[name] = partial(getattr(signal, name), a, taps, mode="same")
            times = self.gpu.measure(runs)
            row: Row = {"case": cell.case, "n": cell.size, "taps": cell.taps}
            row["device_us"] = {name: 1e6 * t for name, t in times.items()}
            if "warpkit" in times:  # so many taps are bound by arithmetic
                row["of_floor"] = cell.fmas / self.peaks[cell.sums] / times["warpkit"]
            yield row
            self.gpu.free()


def line(row: Row) -> str:
    if "device_us" in row:
        return sections.times_line(row["case"], row)
    named = row | {"case": f"{row['case']}, radius {row['radius']}"}
    text = sections.line(named, ("name", "case", "dtype", "sums"))
    return text + (f"  {row['of_floor']:.0%} of the floor" if "of_floor" in row else "")


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "ladder": Bench.ladder,
    **{name: partial(Bench.group, name=name) for name in cells.GROUPS},
    "small": Bench.small,
    "crossover": Bench.crossover,
}

if __name__ == "__main__":
    sections.main("stencil", __doc__, Bench, SECTIONS, line, least=1, minutes=2.5)
