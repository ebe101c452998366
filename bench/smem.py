"""Clocks of a GPU's shared and constant memory beside what the rule of banks predicts.

    python bench/smem.py [--carveout PERCENT ...] [--output PATH]
    python bench/smem.py --draw            # docs/banks.png, of the committed results; needs no GPU

"reads": 32 warps read alike, each load at the place that the one before says, at steps that meet in
one bank 1 to 32 times, of 4, 8 and 16 bytes; and 1 to 32 different words of constant memory.
"tiles": the sixteen layouts, 32 x 32 and 16 x 32, of 4 and 8 bytes. Clocks are of a warp's request
while the other warps' are on their way, the median of 7 runs after one that warms up.
"carveout": kernels that live on L1 and such that live on shared memory, where each is given so many
per cent of the on-chip memory as shared memory (none: the driver's choice): GB/s, read and written
bytes counted, and the share of that process's own device-to-device copy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit
from warpkit import smem

STEPS = (1, 2, 4, 8, 16, 32)
RUNS = 7
SHARES = (0, 10, 25, 50, 75, 100)
SIDE = 8192  # of a matrix of float32: 256 MiB
KERNELS = {
    "transpose": ("naive_row", "naive_col", "smem_pad", "smem_unroll_pad", "tiles"),
    "stencil1d": ("gmem", "smem_readonly"),
    "histogram": ("smem_atomic", "smem_private"),
}
PICTURE = common.ROOT / "docs" / "banks.png"

Row = dict[str, Any]


def median(run: Callable[[], tuple[float, ...]]) -> list[float]:
    run()
    return [statistics.median(clocks) for clocks in zip(*(run() for _ in range(RUNS)), strict=True)]


def reads() -> list[Row]:
    lanes, rows = np.arange(smem.WARP), []
    cases = [("shared", size, step, lanes * step) for size in (4, 8, 16) for step in STEPS]
    cases += [("constant", 4, words, lanes % words) for words in STEPS]
    for memory, itemsize, step, words in cases:

        def run(words: Any = words, itemsize: int = itemsize, memory: str = memory) -> tuple[float]:
            clocks = smem.read(words, itemsize, memory, device="cuda").clocks
            assert clocks is not None
            return (clocks,)

        turns = smem.read(words, itemsize, memory, device="cpu").turns
        (clocks,) = median(run)
        row = {"memory": memory, "itemsize": itemsize, "step": step, "turns": turns}
        rows.append(row | {"clocks": clocks})
    return rows


def tiles() -> list[Row]:
    rows = []
    for dtype in ("float32", "float64"):
        for shape in ((32, 32), (16, 32)):
            a = np.arange(shape[0] * shape[1], dtype=dtype).reshape(shape)
            for layout in smem.LAYOUTS:

                def run(a: Any = a, layout: str = layout) -> tuple[float, ...]:
                    clocks = smem.tile(a, layout, device="cuda").clocks
                    assert clocks is not None
                    return tuple(clocks)

                found = smem.tile(a, layout, device="cpu")
                turns = [c.wavefronts / c.requests for c in (found.store, found.load)]
                row = {"layout": layout, "dtype": dtype, "shape": shape, "turns": turns}
                rows.append(row | {"clocks": median(run)})
    return rows


def carveouts(shares: list[int]) -> list[Row]:
    """A process for each, since a kernel keeps its share."""
    rows = []
    for share in (None, *shares):
        env = {key: value for key, value in os.environ.items() if key != "WARPKIT_CARVEOUT"}
        if share is not None:
            env["WARPKIT_CARVEOUT"] = str(share)
        command = [sys.executable, __file__, "--rates"]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        rows += [{"carveout": share, **row} for row in found]
    return rows


def rates() -> list[Row]:
    """Of KERNELS, in this process."""
    from gpu import COPY, Gpu  # CuPy, which none of the rest needs

    gpu = Gpu(4 * SIDE * SIDE)
    a = gpu.cupy.random.standard_normal((SIDE, SIDE), dtype="float32")
    bytes_of = {"transpose": 2 * a.nbytes, "stencil1d": 2 * a.nbytes, "histogram": a.nbytes}
    calls: dict[str, Callable[..., Any]] = {
        "transpose": partial(warpkit.transpose, a),
        "stencil1d": partial(warpkit.stencil1d, a, [0.1, 0.2, 0.4, 0.2, 0.1]),
        "histogram": partial(warpkit.histogram, a, 100, (-4, 4)),
    }
    found: list[Row] = []
    for op, variants in KERNELS.items():
        runs = {variant: partial(calls[op], variant=variant) for variant in variants}
        times = gpu.measure_with_copy(runs, bytes_of[op])
        copy = times.pop(COPY)
        for variant, seconds in times.items():
            row = {"op": op, "variant": variant, "gb_s": 1e-9 * bytes_of[op] / seconds}
            found.append(row | {"share": copy / seconds})
    return found


def draw() -> None:
    """Clocks beside the prediction, of the committed result."""
    import matplotlib.pyplot as plt

    (path,) = common.RESULTS.glob("smem_*.json")
    result = json.loads(path.read_text())
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for ax, memory, title in zip(
        axes,
        ("shared", "constant"),
        ("shared memory, by the lanes' step", "constant memory, by different words"),
        strict=False,
    ):
        for itemsize in (4, 8, 16) if memory == "shared" else (4,):
            rows = [
                r for r in result["reads"] if (r["memory"], r["itemsize"]) == (memory, itemsize)
            ]
            steps = [row["step"] for row in rows]
            (line,) = ax.plot(steps, [r["clocks"] for r in rows], "o", label=f"{itemsize} bytes")
            ax.plot(steps, [row["turns"] for row in rows], "-", color=line.get_color(), alpha=0.5)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_xticks(STEPS, STEPS)
        ax.set_yticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
        ax.set_title(title)
        ax.legend()
    axes[0].set_ylabel("clocks of a request")
    for access, marker in ((0, "o"), (1, "x")):
        rows = result["tiles"]
        axes[2].plot(
            [row["turns"][access] for row in rows],
            [row["clocks"][access] for row in rows],
            marker,
            alpha=0.6,
            label=("stores", "loads")[access],
        )
    axes[2].axline((1, 1), slope=1, color="0.7")
    axes[2].set_xscale("log", base=2)
    axes[2].set_yscale("log", base=2)
    axes[2].set_xlabel("turns, predicted")
    axes[2].set_title("tiles, the sixteen layouts")
    axes[2].legend()
    figure.suptitle(f"{result['machine']['device']}: points are measured, lines the rule of banks")
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--carveout", type=int, nargs="*", default=SHARES, metavar="PERCENT")
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--rates", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.draw:
        return draw()
    if "cuda:0" not in warpkit.devices():
        parser.error("no GPU: warpkit.show_config() says why")
    if options.rates:
        return print(json.dumps(rates()))
    info = warpkit.memory_info("cuda")
    result: dict[str, Any] = {
        "machine": common.machine() | {"device": info["name"]},
        "reads": reads(),
        "tiles": tiles(),
        "carveout": carveouts(options.carveout),
    }
    for row in (*result["reads"], *result["tiles"], *result["carveout"]):
        print(*(f"{key} {value}" for key, value in row.items()), sep=", ")
    common.write(options.output or common.RESULTS / common.file_name("smem", info["name"]), result)


if __name__ == "__main__":
    main()
