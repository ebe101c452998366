"""What benchmarks share: interleaved timing, the machine, tables, JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import warpkit

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

Run = Callable[[], Any]


def seconds(run: Run, loops: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(loops):
        run()
    return (time.perf_counter() - start) / loops


def interleaved(runs: Sequence[Run], budget: float, rest: float = 0.0) -> list[float]:
    """Median seconds of each, taking turns, so that what slows the machine slows all of them.

    budget   seconds to spend in all; at least 3 rounds are run, at most 31
    rest     seconds before each, of which budget counts none: OpenBLAS' threads keep all processors
             busy for so long after a call that what comes next was seen to take 10 times as long
    """
    loops = []
    for run in runs:
        first = seconds(run)  # warms up
        loops.append(max(1, int(2e-4 / max(first, 1e-7))))  # the clock costs 0.1 us or so
    samples: list[list[float]] = [[] for _ in runs]
    end = time.perf_counter() + budget
    for done in range(31):
        if done >= 3 and time.perf_counter() > end:
            break
        for run, n, record in zip(runs, loops, samples, strict=True):
            time.sleep(rest)
            end += rest
            record.append(seconds(run, n))
    return [statistics.median(record) for record in samples]


class CopyRate:
    """GB/s of np.copyto between large arrays, read and written bytes counted, one sample a call.

    Beside it the rate of reading alone: np.max in as many threads as warpkit has.
    """

    def __init__(self, nbytes: int, threads: int) -> None:
        self.source = np.random.default_rng(0).random(nbytes // 8)
        self.target = np.ones_like(self.source)
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads)
        self.one: list[float] = []
        self.all: list[float] = []
        self.read: list[float] = []
        self.sample()
        self.one.clear()  # the first touched the pages
        self.all.clear()
        self.read.clear()

    def sample(self) -> None:
        self.one.append(seconds(lambda: np.copyto(self.target, self.source)))
        self.all.append(seconds(self.in_parallel))
        self.read.append(seconds(self.reading))

    def in_parallel(self) -> None:
        targets = np.array_split(self.target, self.threads)
        sources = np.array_split(self.source, self.threads)
        list(self.pool.map(np.copyto, targets, sources))

    def reading(self) -> None:
        list(self.pool.map(np.max, np.array_split(self.source, self.threads)))

    def read_rate(self) -> float:
        return 1e-9 * self.source.nbytes / statistics.median(self.read)

    def rates(self) -> tuple[float, float]:
        """With one thread, and with as many as warpkit has."""
        moved = 2e-9 * self.source.nbytes
        return moved / statistics.median(self.one), moved / statistics.median(self.all)


def import_times(repeats: int) -> dict[str, float]:
    """Median milliseconds of ``import x`` in a fresh interpreter, taking turns.

    Their bytecode is there, as pip leaves it.
    """
    samples: dict[str, list[float]] = {"numpy": [], "warpkit": []}
    with tempfile.TemporaryDirectory() as folder:
        own = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        own["PYTHONPYCACHEPREFIX"] = folder
        for at in range(1 + repeats):
            for name, record in samples.items():
                code = (
                    f"import time; t = time.perf_counter(); import {name}; "
                    "print(time.perf_counter() - t)"
                )
                command = [sys.executable, "-c", code]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
                if at > 0:
                    record.append(1e3 * float(done.stdout))
    return {name: statistics.median(record) for name, record in samples.items()}


def last_level_cache() -> int:
    """Bytes; 0 where the system does not say."""
    sizes = [0]
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text.rstrip("KMG")) * {"K": 2**10, "M": 2**20, "G": 2**30}[text[-1]])
    return max(sizes)


def commit() -> str | None:
    """Of the tree; "+changes" where it has some that are not committed."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def machine() -> dict[str, Any]:
    config = warpkit._core.config()
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "cpu": warpkit.memory_info("cpu")["name"],
        "cores": len(os.sched_getaffinity(0)),
        "threads": config["threads"],
        "isa": config["isa"],
        "last_level_cache": last_level_cache(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "warpkit": warpkit.__version__,
    }


def file_name(what: str, device: str) -> str:
    """Of the results of one device: reduce_h100_80gb_hbm3.json."""
    name = re.sub(r"[^a-z0-9]+", "_", device.lower().removeprefix("nvidia "))
    return f"{what}_{name.strip('_')}.json"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: str) -> str:
    """Padded columns; right has one character a column, ">" for numbers and "<" for words."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(w) if side == ">" else text.ljust(w)
            for text, w, side in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def write(path: Path, result: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
