"""Clocks of a GPU's shared and constant memory beside what the rule of banks predicts.

    python bench/smem.py [--output PATH]

"reads": 32 warps read alike, each load at the place that the one before says, at steps that meet in
one bank 1 to 32 times, of 4, 8 and 16 bytes; and 1 to 32 different words of constant memory.
"tiles": the sixteen layouts, 32 x 32 and 16 x 32, of 4 and 8 bytes. Clocks are of a warp's request
while the other warps' are on their way, the median of 7 runs after one that warms up.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit
from warpkit import smem

STEPS = (1, 2, 4, 8, 16, 32)
RUNS = 7

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if "cuda:0" not in warpkit.devices():
        parser.error("no GPU: warpkit.show_config() says why")
    info = warpkit.memory_info("cuda")
    result: dict[str, Any] = {
        "machine": common.machine() | {"device": info["name"]},
        "reads": reads(),
        "tiles": tiles(),
    }
    for row in (*result["reads"], *result["tiles"]):
        print(*(f"{key} {value}" for key, value in row.items()), sep=", ")
    common.write(options.output or common.RESULTS / common.file_name("smem", info["name"]), result)


if __name__ == "__main__":
    main()
