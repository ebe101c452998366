"""What Nsight Compute counts of kernels, as the golden values of warpkit.lab: make ncu, on a GPU.

python3 tools/ncu.py --out FILE   profiles tests/kernels/traced.cu, compiled by nvcc, and each rung of
                                  four ladders, by warpkit; FILE is JSON
python3 tools/ncu.py --rungs NAME runs the rungs on a device: what ncu watches

The file lists launches in their order: kernel, grid, block, and by metric the sum over the chip. Metrics
that this chip or ncu lacks are left out.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "kernels" / "traced.cu"
KINDS = ("ld", "st", "atom", "red")
METRICS = [
    *(f"l1tex__t_requests_pipe_lsu_mem_global_op_{k}.sum" for k in KINDS),
    *(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{k}.sum" for k in KINDS),
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{k}.sum" for k in KINDS[:3]),
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{k}.sum" for k in KINDS[:3]),
    *(f"l1tex__t_requests_pipe_lsu_mem_local_op_{k}.sum" for k in KINDS[:2]),
    *(f"smsp__inst_executed_op_shared_{k}.sum" for k in KINDS[:3]),
    *(f"smsp__inst_executed_op_global_{k}.sum" for k in KINDS),
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__inst_executed_pipe_adu.sum",
    "idc__requests.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
]
LADDERS = ("transpose", "reduce", "stencil1d", "histogram")


def rungs() -> list[tuple[str, str, dict[str, Any]]]:
    """Function, variant, and what it is called with; as small as grids that are the same on any GPU."""
    import numpy as np
    import warpkit

    found: list[tuple[str, str, dict[str, Any]]] = []
    for function in LADDERS:
        shape = {"transpose": (96, 160), "reduce": 5000, "stencil1d": 5000, "histogram": 5000}
        a = (np.arange(np.prod(shape[function])) * 37 % 101).reshape(shape[function])
        for row in warpkit.variants(function):
            if row.device != "cuda" or row.production:
                continue
            dtype = "int32" if function == "histogram" or row.name == "redux" else "float32"
            more: dict[str, Any] = {"a": a.astype(dtype)}
            if function == "stencil1d":
                more["coefficients"] = np.linspace(-1, 1, 9).astype(dtype)
            if function == "histogram":
                more |= {"bins": 64, "range": (0, 128)}
            found.append((function, row.name, more))
    return found


def call(function: str, variant: str, given: dict[str, Any], device: str) -> None:
    """On an array that is on the device already."""
    import warpkit

    more = dict(given)
    a = warpkit.asarray(more.pop("a"), device=device)
    positional = [more.pop("coefficients")] if "coefficients" in more else []
    getattr(warpkit, function)(a, *positional, variant=variant, **more)


def told(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def profiled(ncu: str, metrics: list[str], command: list[str]) -> list[dict[str, Any]]:
    """The launches of a program."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.csv")
        options = ["--csv", "--log-file", str(log), "--metrics", ",".join(metrics)]
        options += ["--target-processes", "all", "--cache-control", "all"]
        told([ncu, *options, *command])
        lines = log.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    launches: dict[str, dict[str, Any]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        launch = launches.setdefault(
            row["ID"],
            {
                "kernel": row["Kernel Name"],
                "grid": [int(n) for n in re.findall(r"\d+", row["Grid Size"])],
                "block": [int(n) for n in re.findall(r"\d+", row["Block Size"])],
                "capability": row.get("CC", ""),
                "metrics": {},
            },
        )
        value = row["Metric Value"].replace(",", "")
        if re.fullmatch(r"[\d.]+", value):
            launch["metrics"][row["Metric Name"]] = int(float(value))
    return list(launches.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--rungs", metavar="DEVICE")
    parser.add_argument("--ncu", default=shutil.which("ncu") or "/usr/local/cuda/bin/ncu")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    given = parser.parse_args()
    if given.rungs:
        for function, variant, more in rungs():
            call(function, variant, more, given.rungs)
        return
    if not given.out:
        parser.error("--out FILE")
    known = set(told([given.ncu, "--query-metrics"]).split())
    metrics = [m for m in METRICS if m.partition(".")[0] in known] or METRICS
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    name, driver, capability = (x.strip() for x in told(query).splitlines()[0].split(","))
    result: dict[str, Any] = {
        "gpu": name,
        "capability": capability,
        "driver": driver,
        "ncu": told([given.ncu, "--version"]).strip().splitlines()[-1],
        "nvcc": told([given.nvcc, "--version"]).strip().splitlines()[-1],
        "date": datetime.date.today().isoformat(),
        "without": [m for m in METRICS if m not in metrics],
    }
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "traced"))
        arch = f"sm_{capability.replace('.', '')}"
        told([given.nvcc, "-std=c++17", f"-arch={arch}", "-lineinfo", "-o", program, str(SOURCE)])
        result["kernels"] = profiled(given.ncu, metrics, [program])
        Path(given.out).write_text(json.dumps(result, indent=1))
    try:
        rungs_of = [sys.executable, __file__, "--rungs", "cuda"]
        result["rungs"] = profiled(given.ncu, metrics, rungs_of)
    finally:
        Path(given.out).write_text(json.dumps(result, indent=1))
    print(f"{len(result['kernels'])} launches, {len(result['rungs'])} of the ladders: {given.out}")


if __name__ == "__main__":
    main()
