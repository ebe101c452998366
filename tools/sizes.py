"""Machine code of the CUDA kernels: how many a file has, their bytes, the largest, and what it
costs to compile them.

    sizes.py [FOLDER]    the files of cuda, or of one of its folders, for compute capability 9.0

Each file is compiled to a cubin as setup.py compiles it; those are kept in build/sizes, under a
hash of all that went into them. Functions that several kernels share are counted once.
"""

from __future__ import annotations

import os
import re
import resource
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ARCH = "90"


class Code(NamedTuple):
    name: str
    kernels: list[int]  # bytes of each
    functions: int  # bytes of all that are called
    seconds: float  # of a processor, when it was compiled


def sections(cubin: Path) -> dict[str, int]:
    """Bytes of each section, by its name."""
    command = ["readelf", "--section-headers", "--wide", str(cubin)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ *\[ *\d+\] (\S+) +\w+ +\w+ \w+ (\w+) ", text, re.MULTILINE)
    return {name: int(size, 16) for name, size in found}


def measure(job: Any, folder: Path) -> Code:
    cubin = folder / f"{job.object.stem}.cubin"
    clock = cubin.with_suffix(".seconds")
    if not clock.exists():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [str(c) for c in job.command if not str(c).startswith("-gencode")]
        command += [f"-arch=sm_{ARCH}", "-cubin", str(job.source), "-o", str(cubin)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        clock.write_text(str(after.ru_utime - before.ru_utime))
    found = sections(cubin)
    kernels, functions = [], 0
    for name, size in found.items():
        if name.startswith(".text."):
            if f".nv.constant0.{name[6:]}" in found:  # the parameters of a kernel
                kernels.append(size)
            else:
                functions += size
    name = str(job.source.relative_to(ROOT))
    return Code(name, kernels, functions, float(clock.read_text()))


def main() -> None:
    os.environ.update({"WARPKIT_CUDA": "1", "WARPKIT_CUDA_ARCHS": ARCH})
    setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    folder = ROOT / "build" / "sizes"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ROOT / "cuda" / (sys.argv[1] if len(sys.argv) > 1 else "")
    jobs = [
        job
        for job in setup["cuda_jobs"]()
        if job.source.suffix == ".cu" and job.source.is_relative_to(wanted)
    ]
    codes = [measure(job, folder) for job in jobs]  # one at a time: seconds are of all children
    codes = [code for code in codes if code.kernels or code.functions]
    print(f"{'file':44} {'kernels':>7} {'KB':>8} {'largest':>8} {'CPU s':>7}")
    for code in sorted(codes, key=lambda c: -sum(c.kernels)):
        kb = (sum(code.kernels) + code.functions) / 1024
        most = max(code.kernels, default=0) / 1024
        print(f"{code.name:44} {len(code.kernels):7} {kb:8.0f} {most:8.0f} {code.seconds:7.1f}")
    kernels = [k for code in codes for k in code.kernels]
    total = sum(kernels) + sum(code.functions for code in codes)
    print(
        f"{'all':44} {len(kernels):7} {total / 1024:8.0f} {max(kernels) / 1024:8.0f} "
        f"{sum(code.seconds for code in codes):7.1f}"
    )


if __name__ == "__main__":
    main()
