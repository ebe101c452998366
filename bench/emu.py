"""The emulated device: elements a second, and how far it is from the CPU backend.

    python bench/emu.py [--output PATH]

Medians of interleaved runs after a warm-up, on random data: the emulated device on one thread of
the operating system, on as many as there are processors, and the CPU backend. Copies to the device
and back are included; results are compared.
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

Call = Callable[[str], Any]


def emulated(call: Call, threads: int) -> Callable[[], Any]:
    def run() -> Any:
        os.environ["WARPKIT_EMU_THREADS"] = str(threads)
        warpkit._core.read_settings()
        return call("emu")

    return run


def cases() -> list[tuple[str, str, int, Call]]:
    """Operation, of what, elements, and the call."""
    rng = np.random.default_rng(0)
    long, line = (rng.normal(size=n).astype(np.float32) for n in (2**21, 2**17))
    square = rng.normal(size=(1024, 1024)).astype(np.float32)
    bytes_ = rng.integers(0, 256, 2**20).astype(np.uint8)
    return [
        ("reduce", "sum of 2^21 float32", long.size,
         lambda device: warpkit.reduce(long, device=device)),
        ("transpose", "1024 x 1024 float32", square.size,
         lambda device: warpkit.transpose(square, device=device)),
        ("stencil1d", "9 taps, 2^17 float32", line.size,
         lambda device: warpkit.stencil1d(line, np.ones(9), device=device)),
        ("bincount", "2^20 uint8", bytes_.size,
         lambda device: warpkit.bincount(bytes_, device=device)),
        ("warp_histogram", "2^17 float32", line.size,
         lambda device: warpkit.warp_histogram(line, device=device).totals),
    ]  # fmt: skip


def measure(budget: float) -> list[dict[str, Any]]:
    cores = len(os.sched_getaffinity(0))
    rows = []
    for op, what, elements, call in cases():
        runs: list[common.Run] = [emulated(call, 1), emulated(call, cores), partial(call, "cpu")]
        one, several, cpu = common.interleaved(runs, budget)
        rows.append({
            "op": op, "case": what, "elements": elements,
            "ms": one * 1e3, "ms_all_cores": several * 1e3,
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
    head = ("operation", "of", "M elements/s", "on all cores", "ms", "CPU backend ms")
    print(
        common.table(
            head,
            [
                (
                    row["op"] + ("" if row["agree"] else " !"),
                    row["case"],
                    f"{row['elements'] / row['ms'] / 1e3:.1f}",
                    f"{row['elements'] / row['ms_all_cores'] / 1e3:.1f}",
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
