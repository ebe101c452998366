"""Machine code of the CUDA kernels: how many a file has, their bytes, the largest, and what it
costs to compile them.

    sizes.py             the files of cuda, for compute capability 9.0; writes
                         bench/results/sizes.json, and exits 1 where LIMITS are passed
    sizes.py FOLDER      those of one of its folders

Each file is compiled to a cubin as setup.py compiles it; those are kept in build/sizes, under a
hash of all that went into them. Functions that several kernels share are counted once.
"""

from __future__ import annotations

import datetime
import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
import common

ROOT = Path(__file__).resolve().parent.parent
ARCH = "90"
# What there is, to be lowered: 800 kernels, 16 MB and 64 KB are wanted.
LIMITS = {"kernels": 970, "kilobytes": 25_240, "largest": 135}


class Code(NamedTuple):
    name: str
    folder: str
    files: int
    kernels: list[int]  # bytes of each
    functions: int  # bytes of all that are called
    seconds: float  # of a processor, when it was compiled


def sections(cubin: Path) -> dict[str, int]:
    """Bytes of each section, by its name."""
    command = ["readelf", "--section-headers", "--wide", str(cubin)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ *\[ *\d+\] (\S+) +\w+ +\w+ \w+ (\w+) ", text, re.MULTILINE)
    return {name: int(size, 16) for name, size in found}


def entries(cubin: Path) -> set[str]:
    """The kernels: symbols that the driver may enter."""
    command = ["readelf", "--syms", "--wide", str(cubin)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" FUNC .*\[<other>: 10\] +\w+ (\S+)$", text, re.MULTILINE))


def measure(job: Any, folder: Path) -> Code:
    cubin = folder / f"{job.object.stem}.cubin"
    clock = cubin.with_suffix(".seconds")
    if not clock.exists():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(c) for c in job.command if not str(c).startswith("-gencode")]
        command += [f"-arch=sm_{ARCH}", "-cubin", str(job.file()), "-o", str(cubin)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock.write_text(str(after.ru_utime - before.ru_utime))
    code = {n[6:]: size for n, size in sections(cubin).items() if n.startswith(".text.")}
    entered = entries(cubin)
    kernels = [size for name, size in code.items() if name in entered]
    functions = sum(code.values()) - sum(kernels)
    name, whole = str(job.source.relative_to(ROOT)), job.source.is_dir()
    room = name if whole else name.rpartition("/")[0]
    files = len(list(job.source.glob("*.cu"))) if whole else 1
    return Code(name, room, files, kernels, functions, float(clock.read_text()))


def rooms(codes: list[Code]) -> list[dict[str, Any]]:
    """Sums over the files of each folder."""
    folders: dict[str, list[Code]] = {}
    for code in codes:
        folders.setdefault(code.folder, []).append(code)
    found = [{"folder": name, **total(files)} for name, files in sorted(folders.items())]
    return [*found, {"folder": "all", **total(codes)}]


def total(codes: list[Code]) -> dict[str, Any]:
    kernels = [size for code in codes for size in code.kernels]
    return {
        "files": sum(code.files for code in codes),
        "kernels": len(kernels),
        "kilobytes": (sum(kernels) + sum(code.functions for code in codes)) // 1024,
        "largest": max(kernels, default=0) // 1024,
        "seconds": round(sum(code.seconds for code in codes), 1),
    }


def line(name: str, row: dict[str, Any]) -> str:
    sizes = f"{row['kernels']:7} {row['kilobytes']:8} {row['largest']:8}"
    return f"{name:44} {sizes} {row['seconds']:7.1f}"


def main() -> int:
    os.environ.update({"WARPKIT_CUDA": "1", "WARPKIT_CUDA_ARCHS": ARCH})
    setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    folder = ROOT / "build" / "sizes"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ROOT / "cuda" / (sys.argv[1] if len(sys.argv) > 1 else "")
    jobs = [
        job
        for job in setup["cuda_jobs"]()
        if job.source.suffix != ".c" and job.source.is_relative_to(wanted)
    ]
    codes = [measure(job, folder) for job in jobs]  # one at a time: seconds are of all children
    print(f"{'file':44} {'kernels':>7} {'KB':>8} {'largest':>8} {'CPU s':>7}")
    for code in sorted(codes, key=lambda c: -sum(c.kernels)):
        if code.kernels or code.functions:
            print(line(code.name, total([code])))
    found = rooms(codes)
    print(line("all", found[-1]))
    if len(sys.argv) > 1:
        return 0
    asked = [setup["find_nvcc"](), "--version"]
    nvcc = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    result = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": common.commit(),
        "nvcc": nvcc.split("release ")[-1].split(",")[0],
        "arch": ARCH,
        "rows": found,
    }
    common.write(common.RESULTS / "sizes.json", result)
    sums = found[-1]
    over = [f"{name} {sums[name]} > {most}" for name, most in LIMITS.items() if sums[name] > most]
    if over:
        print("too much:", "; ".join(over))
    return len(over) > 0


if __name__ == "__main__":
    sys.exit(main())
