"""Dask: warpkit.dask beside dask.array, the same chunks, on a cluster of worker processes here.

    python bench/scale_out.py [--workers 4] [--mib 1024]

Each job's milliseconds, medians of both taking turns, and the tasks of their graphs; the chunks lie
in the workers' memory before anything is timed, and each worker has one thread of ours. Writes
bench/results/scale_out.json.
"""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Callable
from typing import Any

import common
import dask
import dask.array as da
import numpy as np
import warpkit.dask as lazy
from distributed import Client, LocalCluster, wait

CHUNK = 16 << 20  # bytes
SECONDS = 20  # a job


def tasks(arrays: Any) -> int:
    return len(dict(dask.optimize(*arrays)[0].__dask_graph__()))


def computed(make: Callable[[], Any]) -> Any:
    return dask.compute(*make())


def jobs(x: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    four: Any = ("min", "max", "mean", "std")
    return {
        "sum": (lambda: (lazy.reduce(x, "sum"),), lambda: (x.sum(),)),
        "sum, axis 0": (lambda: (lazy.reduce(x, "sum", 0),), lambda: (x.sum(0),)),
        "std": (lambda: (lazy.reduce(x, "std"),), lambda: (x.std(),)),
        "min, max, mean, std": (
            lambda: tuple(lazy.reduce(x, four)),
            lambda: (x.min(), x.max(), x.mean(), x.std()),
        ),
        "histogram, 100 bins": (
            lambda: (lazy.histogram(x, 100, (-4, 4))[0],),
            lambda: (da.histogram(x, 100, (-4, 4))[0],),
        ),
    }


def measured(x: Any) -> list[dict[str, Any]]:
    rows = []
    for name, (ours, theirs) in jobs(x).items():
        runs = [functools.partial(computed, make) for make in (ours, theirs)]
        own, other = common.interleaved(runs, SECONDS)
        row = {
            "job": name,
            "ms": 1e3 * own,
            "dask_ms": 1e3 * other,
            "ratio": other / own,
            "tasks": tasks(ours()),
            "dask_tasks": tasks(theirs()),
        }
        rows.append(row)
        print(", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--mib", type=int, default=1024, help="of float32 elements")
    args = parser.parse_args()
    os.environ["WARPKIT_NUM_THREADS"] = "1"  # of a worker, as of NumPy
    side = CHUNK // 4 // 2048
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
        found = measured(x)
    of = {"workers": args.workers, "MiB": args.mib, "chunk_MiB": CHUNK >> 20}
    machine = common.machine() | {"dask": dask.__version__}
    common.write(common.RESULTS / "scale_out.json", {"machine": machine, **of, "rows": found})


if __name__ == "__main__":
    main()
