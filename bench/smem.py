"""Clocks of a GPU's shared and constant memory beside what the rule of banks predicts.

    python bench/smem.py [--carveout PERCENT ...] [--output PATH]
    python bench/smem.py --draw     # docs/banks.png, of the committed results; needs no GPU

"reads": 32 warps read alike, each load at the place that the one before says: at steps that meet in
one bank 1 to 32 times, at places that neighbours share, at random, of 4, 8 and 16 bytes; and 1 to
32 different places in constant memory. "tiles": the sixteen layouts, 32 x 32 and 16 x 32, of 4 and
8 bytes. Clocks are of a warp's request while the other warps' are on their way, the median of 7
runs after one that warms up.

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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit
from common import Run
from gpu import Gpu
from sections import Row, rated, rungs, section
from warpkit import smem

WAYS = (1, 2, 4, 8, 16, 32)
RUNS = 7
SHARES = (0, 10, 25, 50, 75, 100)
SIDE = 8192  # of a matrix of float32: 256 MiB
KERNELS = {
    "transpose": ("naive_row", "naive_col", "smem_pad", "smem_unroll_pad", "tiles"),
    "stencil1d": ("gmem", "smem_readonly"),
    "histogram": ("smem_atomic", "smem_private"),
}
PICTURE = common.ROOT / "docs" / "banks.png"


def median(run: Callable[[], Any]) -> list[float]:
    """Of each of the clocks that a run gives."""
    samples = [run() for _ in range(1 + RUNS)]
    return [statistics.median(clocks) for clocks in zip(*samples[1:], strict=True)]


def patterns() -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Which element each lane reads."""
    lanes, random = np.arange(smem.WARP), np.random.default_rng(0)
    yield from ((f"step {ways}", lanes * ways) for ways in WAYS)
    yield from ((f"{n} lanes share", lanes // n) for n in (2, 4))
    yield from ((f"random {i}", random.integers(0, smem.MOST, smem.WARP)) for i in (1, 2, 3))
    yield "random, 2 lanes share", np.repeat(random.integers(0, smem.MOST, smem.WARP // 2), 2)


def places(n: int) -> str:
    return f"{n} place{'s' if n > 1 else ''}"


def reads() -> Iterator[Row]:
    cases = [("shared", size, *pattern) for size in (4, 8, 16) for pattern in patterns()]
    lanes = np.arange(smem.WARP)
    cases += [("constant", n, places(ways), lanes % ways) for n in (4, 8, 16) for ways in WAYS]
    for memory, itemsize, name, words in cases:

        def run(words: Any = words, itemsize: int = itemsize, memory: str = memory) -> Any:
            return (smem.read(words, itemsize, memory, device="cuda").clocks,)

        turns = smem.read(words, itemsize, memory, device="cpu").turns
        row = {"memory": memory, "itemsize": itemsize, "words": name, "turns": turns}
        yield row | {"clocks": median(run)[0]}


def tiles() -> Iterator[Row]:
    for dtype in ("float32", "float64"):
        for shape in ((32, 32), (16, 32)):
            a = np.arange(shape[0] * shape[1], dtype=dtype).reshape(shape)
            for layout in smem.LAYOUTS:

                def run(a: Any = a, layout: str = layout) -> Any:
                    return smem.tile(a, layout, device="cuda").clocks

                found = smem.tile(a, layout, device="cpu")
                turns = [c.wavefronts / c.requests for c in (found.store, found.load)]
                row = {"layout": layout, "dtype": dtype, "shape": shape, "turns": turns}
                yield row | {"clocks": median(run)}


def carveouts(shares: list[int]) -> Iterator[Row]:
    """A process for each: the environment says the share."""
    for share in (None, *shares):
        env = {key: value for key, value in os.environ.items() if key != "WARPKIT_CARVEOUT"}
        if share is not None:
            env["WARPKIT_CARVEOUT"] = str(share)
        command = [sys.executable, __file__, "--rates"]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        yield from ({"carveout": share, **row} for row in json.loads(done.stdout.splitlines()[-1]))


def rates() -> list[Row]:
    """Of KERNELS, in this process."""
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
        runs: dict[str, Run] = {
            variant: partial(calls[op], variant=variant) for variant in variants
        }
        row = rated(gpu.measure_with_copy(runs, bytes_of[op]), bytes_of[op])
        found += ({"op": op, **rung} for rung in rungs(row, []))
    return found


def draw() -> None:
    """Clocks beside the prediction, of the committed results."""
    import matplotlib.pyplot as plt

    (path,) = common.RESULTS.glob("smem_*.json")
    result = json.loads(path.read_text())
    rows = result["reads"]["rows"]
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for ax, memory in ((axes[0], "shared"), (axes[2], "constant")):
        for itemsize, marker in ((4, "o"), (8, "s"), (16, "^")):
            kind = [r for r in rows if (r["memory"], r["itemsize"]) == (memory, itemsize)]
            points = [r["turns"] for r in kind], [r["clocks"] for r in kind]
            ax.plot(*points, marker, alpha=0.6, label=f"{itemsize} bytes")
    axes[0].set_title("reads of shared memory")
    for access, (name, marker) in enumerate((("stores", "o"), ("loads", "x"))):
        kind = result["tiles"]["rows"]
        points = [r["turns"][access] for r in kind], [r["clocks"][access] for r in kind]
        axes[1].plot(*points, marker, alpha=0.6, label=name)
    axes[1].set_title("tiles, the sixteen layouts")
    axes[2].axline((1, 2), (32, 64), color="0.7", linestyle="--", label="two clocks a turn")
    axes[2].set_title("reads of constant memory")
    for ax in axes:
        ax.axline((1, 1), (32, 32), color="0.7", label="a clock a turn")
        for set_scale, set_ticks in (
            (ax.set_xscale, ax.set_xticks),
            (ax.set_yscale, ax.set_yticks),
        ):
            set_scale("log", base=2)
            set_ticks([*WAYS, 64, 128], [*WAYS, 64, 128])
        ax.set(xlim=(0.8, 80), ylim=(0.8, 160), xlabel="turns, predicted")
        ax.legend()
    axes[0].set_ylabel("clocks of a warp's request, measured")
    figure.suptitle(result["machine"]["device"])
    figure.savefig(PICTURE, dpi=100)


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
    build = warpkit._core.config().get("cuda", {}).get("build")
    device = {"device": info["name"], "build": build, "peers": {}}
    result: dict[str, Any] = {"machine": common.machine() | device}
    parts = {"reads": reads(), "tiles": tiles(), "carveout": carveouts(options.carveout)}
    for name, rows in parts.items():
        section(
            name,
            rows,
            lambda row: ", ".join(f"{k} {v}" for k, v in row.items()),
            partial(result.__setitem__, name),
        )
    common.write(options.output or common.RESULTS / common.file_name("smem", info["name"]), result)


if __name__ == "__main__":
    main()
