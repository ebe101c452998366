"""What Nsight Compute counts of kernels, as the golden values of warpkit.lab: make ncu, on a GPU.

python3 tools/ncu.py --out FILE   profiles tests/kernels/traced.cu and samples.cu, compiled by nvcc,
                                  and each rung of four ladders, by warpkit; FILE is JSON, or a
                                  folder, where it is named after the GPU
python3 tools/ncu.py --rungs NAME runs the rungs on a device: what ncu watches
python3 tools/ncu.py --compare FILE
                                  compares FILE with what warpkit.lab counts: no GPU is needed

The file lists launches in their order: kernel, grid, block, and the metrics' sums over the chip in
the order of "metrics". Metrics that this chip or ncu lacks are left out; tests/golden has results.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import functools
import io
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {  # by the list that has their launches
    "kernels": ROOT / "tests" / "kernels" / "traced.cu",
    "samples": ROOT / "tests" / "kernels" / "samples.cu",  # of other people
}
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
    *(
        f"smsp__sass_thread_inst_executed_op_{k}_pred_on.sum"
        for k in ("fp16", "fp32", "fp64", "integer", "conversion")
    ),
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__inst_executed_pipe_adu.sum",
    "idc__requests.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__sectors_read.sum",
    "dram__sectors_write.sum",
]
LISTS = (*PROGRAMS, "rungs")
LADDERS = ("transpose", "reduce", "stencil1d", "histogram")


def rungs() -> list[tuple[str, str, dict[str, Any]]]:
    """Function, variant, and what it is called with: so small that any GPU has the same grids."""
    import numpy as np
    import warpkit

    found: list[tuple[str, str, dict[str, Any]]] = []
    for function in LADDERS:
        shape = (96, 160) if function == "transpose" else (5000,)
        a = (np.arange(math.prod(shape)) * 37 % 101).reshape(shape)
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


def call_with(function: Callable[..., Any], given: dict[str, Any], device: str) -> None:
    """On an array that is on the device already."""
    import warpkit

    more = dict(given)
    a = warpkit.asarray(more.pop("a"), device=device)
    positional = [more.pop("coefficients")] if "coefficients" in more else []
    function(a, *positional, **more)


# Where the two cannot be equal, by kernel and kind of access; "" is any metric of it.
DIFFERENT = {
    (
        "sparse_rows",
        "global_op_ld",
    ): "nvcc unrolls the loop by four: lanes with fewer turns part from the others",
    ("sum_shfl_atomic", "global_op_ld"): "likewise, where the array ends",
    ("sum_single_pass", "global_op_ld"): "likewise",
    ("multiplied", "shared_op_ld"): "nvcc reads four neighbours of a row of s at once (LDS.128)",
    ("stencil_constant", "shared_op_ld"): "nvcc reads the tile only for lanes that store a sum",
    (
        "stencil_registers",
        "shared_op_ld",
    ): "1,081 by the addresses; 19 bank conflicts more in one run, 21 in another: see below",
    (
        "histogram_match",
        "shared_op_atom",
    ): "314 by the addresses; 44 more in one run, 49 in another: see below",
    ("reduce5", "shared_op_ld"): "14 by the addresses, and 6 bank conflicts: see below",
    ("reduceSinglePass", "shared_op_ld"): "199 by the addresses, and 5 bank conflicts: see below",
    (
        "MatrixMulCUDA",
        "shared_op_ld",
    ): "nvcc reads four neighbours of a row of As at once (LDS.128)",
    (
        "convolutionRowsKernel",
        "shared_op_ld",
    ): "7 of a thread's 136 values are read before: nvcc keeps them in registers",
    ("convolutionColumnsKernel", "shared_op_ld"): "likewise 63 of 136",
    (
        "fwtBatch1Kernel",
        "shared_op_",
    ): "nvcc reads and writes both neighbours of the radix-2 stage at once (LDS.64, STS.64)",
    (
        "dwtHaar1D",
        "shared_op_ld",
    ): "nvcc reads the first pair at once (LDS.64), and each later value once, not twice",
    (
        "testKernel",
        "global_op_atom",
    ): "nvcc gathers a warp's lanes (REDUX) for one atomic of add, sub, max, min, and, or, xor",
    (
        "sobolGPU_kernel",
        "shared_op_ld",
    ): "nvcc unrolls the loop over v and reads four of it at once (LDS.128)",
    (
        "BlackScholesGPU",
        "global_op_ld",
    ): "nvcc reads both halves of a float2 at once (LDG.64)",
}


def different_table() -> str:
    from pages import table

    rows = [(f"`{kernel}`", f"`{what}`", why) for (kernel, what), why in DIFFERENT.items()]
    return table(("kernel", "metric", "why"), rows, "<<<")


def golden_table() -> str:
    """What was compared on which GPU. A kernel is equal if all of its launches are."""
    from pages import table

    titles = {
        "kernels": "`tests/kernels/traced.cu`",
        "samples": "NVIDIA's cuda-samples, `tests/kernels/samples.cu`",
        "rungs": "the rungs of four ladders",
    }
    texts = []
    for path in sorted((ROOT / "tests" / "golden").glob("ncu_*.json")):
        golden = json.loads(path.read_text())
        nvcc = golden["nvcc"].removeprefix("Build cuda_").partition("/")[0]
        ncu = golden["ncu"].removeprefix("Version ").partition(" ")[0]
        rows = []
        for which in (name for name in LISTS if name in golden):
            launched = [short(r[0]) for r in golden[which] if which != "rungs" or is_rung(r[0])]
            other = {kernel for kernel, _ in DIFFERENT}
            equal = [kernel for kernel in launched if kernel not in other]
            counts = [len(set(launched)), len(set(equal)), len(launched), len(equal)]
            rows.append((titles[which], *map(str, counts)))
        rows.append(("together", *(str(sum(int(row[i]) for row in rows)) for i in range(1, 5))))
        head = ("kernels of", "kernels", "equal", "launches", "of equal kernels")
        texts.append(
            f"{golden['gpu']}, driver {golden['driver']}, CUDA {nvcc}, Nsight Compute {ncu}, "
            f"{golden['date']}:\n\n" + table(head, rows, "<>>>>")
        )
    return "\n".join(texts)


def is_rung(kernel: str) -> bool:
    """Not of what a rung has others do: they are not traced."""
    return "histogram::" not in kernel


@functools.cache
def ladder_table(op: str, shape: tuple[int, ...], dtype: str) -> str:
    """What the lab counts of an operation's rungs; of atomics their replays too."""
    from pages import table
    from warpkit import lab

    found = lab.ladder(op, shape, dtype, rate=2.9e12)
    head = [f"{' x '.join(f'{n:,}' if n > 9999 else str(n) for n in shape)} {dtype}"]
    head += ["requests", "sectors", "in excess", "wavefronts", "in excess"]
    rows = [(f"`{rung}`", *counts) for rung, *counts in (row[:6] for row in found._rows())]
    if any(one.counts.replays for one in found):
        head.append("replays")
        rows = [(*row, f"{one.counts.replays:,}") for row, one in zip(rows, found, strict=True)]
    return table(tuple(head), rows, "<" + ">" * (len(head) - 1))


def pairs(names: list[str]) -> list[tuple[str, list[str]]]:
    """What warpkit.lab calls a metric, and the metrics of a GPU that it is the sum of: the compiler
    chooses between an atomic and a reduction by whether its result is used."""
    found = []
    for name in names:
        if not re.match("l1tex__(t_requests|t_sectors|data_pipe_lsu_wavefronts)_", name):
            continue
        if "local" in name or name.endswith("op_red.sum"):
            continue
        red = name.replace("op_atom", "op_red")
        found.append((name, [name, red] if red != name and red in names else [name]))
    return found


def short(kernel: str) -> str:
    """A kernel's name without its namespaces and arguments."""
    kernel = kernel.replace("<unnamed>::", "").removeprefix("void ")
    return re.split(r"[<(]", kernel)[0].rpartition("::")[2]


def differences(golden: dict[str, Any], which: str, traced: list[Any]) -> tuple[int, list[str]]:
    """Launches with a known reason left out: how many were compared, and in words what differs.

    traced   warpkit.lab.Trace, of all launches of the list, or of some in their order
    """
    rows, bad, count = iter(golden[which]), [], 0
    for trace in traced:
        for launch, counted in trace.by_launch():
            name = short(launch.kernel)
            row = next((row for row in rows if short(row[0]) == name), None)
            if row is None or (tuple(row[1]), tuple(row[2])) != (launch.grid, launch.block):
                bad.append(f"{name}: another launch: {launch.grid}, {launch.block}, not {row}")
                continue
            gpu = dict(zip(golden["metrics"], row[3], strict=True))
            count += 1
            for metric, of in pairs(golden["metrics"]):
                expected, here = sum(gpu[m] for m in of), counted.get(metric, 0)
                known = any(k == name and kind in metric for k, kind in DIFFERENT)
                if expected != here and not known:
                    bad.append(f"{name}: {metric}: {expected} on the GPU, {here} here")
    return count, bad


def traced_rungs(names: list[tuple[str, str]] | None = None) -> list[Any]:
    """Of the rungs that can be traced, all or some."""
    import warpkit
    from warpkit import lab

    files = lab.rungs()
    found = []
    for function, variant, more in rungs():
        if (function, variant) in files and (names is None or (function, variant) in names):

            def traced(
                *args: Any, function: str = function, variant: str = variant, **given: Any
            ) -> None:
                found.append(lab.trace(getattr(warpkit, function), *args, variant=variant, **given))

            call_with(traced, more, "emu")
    return found


def compare(path: str) -> None:
    from warpkit import lab

    golden = json.loads(Path(path).read_text())
    failed = False
    for which in LISTS:
        if which not in golden:
            print(f"{which}: {path} has none; make ncu on a GPU renews it")
            continue
        traced = [lab.trace(PROGRAMS[which])] if which in PROGRAMS else traced_rungs()
        count, bad = differences(golden, which, traced)
        print(f"{which}: {count} launches, {len(bad)} differences without a known reason")
        print("\n".join(bad))
        failed = failed or bool(bad)
    sys.exit(failed)


def compact(launches: list[dict[str, Any]], metrics: list[str]) -> list[list[Any]]:
    return [
        [one["kernel"], one["grid"], one["block"], [one["metrics"].get(m) for m in metrics]]
        for one in launches
    ]


def write(result: dict[str, Any], path: str) -> None:
    """A launch a line."""
    heads = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in result.items() if k not in LISTS]
    for name in (name for name in LISTS if name in result):
        rows = ",\n  ".join(json.dumps(one) for one in result[name])
        heads.append(f' "{name}": [\n  {rows}\n ]')
    Path(path).write_text("{\n" + ",\n".join(heads) + "\n}\n")


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
                "metrics": {},
            },
        )
        value = row["Metric Value"].replace(",", "")
        if re.fullmatch(r"[\d.]+", value):
            launch["metrics"][row["Metric Name"]] = int(float(value))
    return list(launches.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", metavar="FILE")
    parser.add_argument("--rungs", metavar="DEVICE")
    parser.add_argument("--compare", metavar="FILE")
    parser.add_argument("--ncu", default=shutil.which("ncu") or "/usr/local/cuda/bin/ncu")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    given = parser.parse_args()
    if given.rungs:
        import warpkit

        for function, variant, more in rungs():
            call_with(getattr(warpkit, function), {**more, "variant": variant}, given.rungs)
        return
    if given.compare:
        compare(given.compare)
    if not given.out:
        parser.error("--out FILE")
    known = set(told([given.ncu, "--query-metrics"]).split())
    metrics = [m for m in METRICS if m.partition(".")[0] in known] or METRICS
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    name, driver, capability = (x.strip() for x in told(query).splitlines()[0].split(","))
    if Path(given.out).is_dir():
        chip = re.sub(r"\W+", "_", name.removeprefix("NVIDIA ").split(" ")[0].lower())
        given.out = str(Path(given.out, f"ncu_{chip}.json"))
    result: dict[str, Any] = {
        "gpu": name,
        "capability": capability,
        "driver": driver,
        "ncu": told([given.ncu, "--version"]).strip().splitlines()[-1],
        "nvcc": told([given.nvcc, "--version"]).strip().splitlines()[-1],
        "date": datetime.date.today().isoformat(),
        "metrics": metrics,
    }
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "traced"))
        compiler = [given.nvcc, "-std=c++17", f"-arch=sm_{capability.replace('.', '')}"]
        for which, source in PROGRAMS.items():
            told([*compiler, "-lineinfo", "-o", program, str(source)])
            result[which] = compact(profiled(given.ncu, metrics, [program]), metrics)
            write(result, given.out)
    try:
        rungs_of = [sys.executable, __file__, "--rungs", "cuda"]
        result["rungs"] = compact(profiled(given.ncu, metrics, rungs_of), metrics)
    finally:
        write(result, given.out)
    counts = ", ".join(f"{len(result.get(name, []))} of {name}" for name in LISTS)
    print(f"{given.out}: launches: {counts}")


if __name__ == "__main__":
    main()
