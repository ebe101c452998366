"""Dask: warpkit.dask beside dask.array, the same chunks, on a cluster of worker processes here.

    python bench/scale_out.py [--workers 4] [--mib 1024] [--out FILE]

Prints JSON: for each job the seconds of both, medians of three, and the tasks of their graphs. The
chunks lie in the workers' memory before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import warpkit.dask as lazy
from distributed import Client, LocalCluster, wait

CHUNK = 16 << 20  # bytes
TIMES = 3


def tasks(arrays: Any) -> int:
    return len(dict(dask.optimize(*arrays)[0].__dask_graph__()))


def seconds(run: Callable[[], Any]) -> float:
    took = []
    for _ in range(TIMES):
        start = time.perf_counter()
        dask.compute(run())
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def jobs(x: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    four: Any = ("min", "max", "mean", "std")
    return {
        "sum": (lambda: lazy.reduce(x, "sum"), lambda: x.sum()),
        "sum, axis 0": (lambda: lazy.reduce(x, "sum", 0), lambda: x.sum(0)),
        "std": (lambda: lazy.reduce(x, "std"), lambda: x.std()),
        "min, max, mean, std": (
            lambda: tuple(lazy.reduce(x, four)),
            lambda: (x.min(), x.max(), x.mean(), x.std()),
        ),
        "histogram, 100 bins": (
            lambda: lazy.histogram(x, 100, (-4, 4))[0],
            lambda: da.histogram(x, 100, (-4, 4))[0],
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--mib", type=int, default=1024, help="of float32 elements")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    side = CHUNK // 4 // 2048
    found: list[dict[str, Any]] = []
    with (
        LocalCluster(
            n_workers=args.workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = args.mib * (1 << 20) // CHUNK * side
        generator = da.random.default_rng(0)
        x = generator.normal(size=(rows, 2048), chunks=(side, 2048)).astype(np.float32)
        x = client.persist(x)
        wait(x)
        for name, (ours, theirs) in jobs(x).items():
            own, other = ours(), theirs()
            each = own if isinstance(own, tuple) else (own,)
            others = other if isinstance(other, tuple) else (other,)
            row: dict[str, Any] = {
                "job": name,
                "warpkit": seconds(ours),
                "dask": seconds(theirs),
                "warpkit_tasks": tasks(each),
                "dask_tasks": tasks(others),
            }
            row["speedup"] = row["dask"] / row["warpkit"]
            found.append(row)
    facts = {"workers": args.workers, "MiB": args.mib, "chunk_MiB": CHUNK >> 20, "rows": found}
    text = json.dumps(facts, indent=1)
    print(text)
    if args.out:
        args.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
