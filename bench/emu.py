"""The emulated device: CUDA threads a second, and how far it is from the CPU backend.

    python bench/emu.py [--output PATH]

Each case fills one grid exactly: 64 blocks, what wk::grid_for gives an emulated GPU of 4
multiprocessors, so that a thread's share is known. Medians of interleaved runs after a warm-up, on
random data: the emulated device on one thread of the operating system, on as many as there are
processors, and the CPU backend. Copies to the device and back are included; results are compared.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit

BLOCKS = 64
Call = Callable[[str], Any]


def emulated(call: Call, threads: int) -> Callable[[], Any]:
    def run() -> Any:
        os.environ["WARPKIT_EMU_THREADS"] = str(threads)
        warpkit._core.read_settings()
        return call("emu")

    return run


def cases() -> list[tuple[str, str, int, int, Call]]:
    """Operation, what, CUDA threads of all launches, elements, and the call."""
    rng = np.random.default_rng(0)
    chunks = rng.normal(size=BLOCKS * 8 * 1024).astype(np.float32)  # 8 warps, a chunk each
    tiles = rng.normal(size=(256, 256)).astype(np.float32)  # 64 tiles of 32 x 32
    line = rng.normal(size=BLOCKS * 256).astype(np.float32)
    bytes_ = rng.integers(0, 256, BLOCKS * 512 * 4).astype(np.uint8)
    block = BLOCKS * 256
    return [
        ("reduce", "32 elements and 5 shuffles a thread", block + 256, chunks.size,
         lambda device: warpkit.reduce(chunks, device=device)),
        ("transpose", "4 elements and 2 barriers a thread", block, tiles.size,
         lambda device: warpkit.transpose(tiles, device=device)),
        ("stencil1d", "an element of 9 taps a thread", block, line.size,
         lambda device: warpkit.stencil1d(line, np.ones(9), device=device)),
        ("histogram", "4 elements and atomics a thread", BLOCKS * 512, bytes_.size,
         lambda device: warpkit.bincount(bytes_, device=device)),
        ("warp_histogram", "an element and 17 collectives a thread", block, line.size,
         lambda device: warpkit.warp_histogram(line, device=device).totals),
    ]  # fmt: skip


def measure(budget: float) -> list[dict[str, Any]]:
    cores = len(os.sched_getaffinity(0))
    rows = []
    for op, what, threads, elements, call in cases():
        runs: list[common.Run] = [emulated(call, 1), emulated(call, cores), partial(call, "cpu")]
        one, several, cpu = common.interleaved(runs, budget)
        rows.append({
            "op": op, "case": what, "cuda_threads": threads, "elements": elements,
            "ms": one * 1e3, "threads_per_s": threads / one,
            "ms_all_cores": several * 1e3, "threads_per_s_all_cores": threads / several,
            "cpu_ms": cpu * 1e3, "cpu_ratio": several / cpu,
            "agree": bool(np.array_equal(runs[1](), runs[2]())),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=common.RESULTS / "emu.json")
    output = parser.parse_args().output
    machine = common.machine() | {"emu": warpkit._core.config()["emu"]["build"]}
    rows = measure(budget=3.0)
    head = ("operation", "a thread", "M threads/s", "on all cores", "ms", "CPU backend ms")
    print(
        common.table(
            head,
            [
                (
                    row["op"] + ("" if row["agree"] else " !"),
                    row["case"],
                    f"{row['threads_per_s'] / 1e6:.1f}",
                    f"{row['threads_per_s_all_cores'] / 1e6:.1f}",
                    f"{row['ms']:.2f}",
                    f"{row['cpu_ms']:.3f}",
                )
                for row in rows
            ],
            "<<>>>>",
        )
    )
    common.write(output, {"machine": machine, "rows": rows})
    print(f"{output}: written")


if __name__ == "__main__":
    main()
