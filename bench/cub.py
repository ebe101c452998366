"""CUB, compiled where there is an nvcc: the peer that is no Python package."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import common

K = TypeVar("K", bound=Hashable)
KEPT = common.ROOT / "build" / "cub"  # what has been compiled, by its contents
OPTIONS = ("-std=c++17", "-O3", "-shared", "-Xcompiler", "-fPIC")


def libraries(
    cupy: Any, source: str, defines: Mapping[K, list[str]]
) -> tuple[dict[K, ctypes.CDLL], str | None]:
    """A file of bench/, compiled once for each set of definitions, and CUB's version.

    Without nvcc there is none, and a line says so.
    """
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = shutil.which("nvcc") or shutil.which(f"{home}/bin/nvcc")
    if nvcc is None:
        print("without CUB: no nvcc in PATH or CUDA_HOME", file=sys.stderr)
        return {}, None
    path = common.ROOT / "bench" / source
    arch = f"-arch=sm_{cupy.cuda.Device().compute_capability}"
    try:
        release = subprocess.run([nvcc, "--version"], check=True, capture_output=True, text=True)
        commands = [[nvcc, *OPTIONS, arch, *given, str(path)] for given in defines.values()]
        about = path.read_text() + release.stdout
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            loaded = list(pool.map(lambda command: compiled(command, about), commands))
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        print(f"without CUB: {reason[:500]}", file=sys.stderr)
        return {}, None
    number = loaded[0].cub_version()
    version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
    return dict(zip(defines, loaded, strict=True)), version


def compiled(command: list[str], about: str) -> ctypes.CDLL:
    """The library that a command makes, which is kept for the next run."""
    key = hashlib.sha256("\n".join([*command[1:-1], about]).encode()).hexdigest()[:16]
    path = KEPT / f"{Path(command[-1]).stem}_{key}.so"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, "-o", str(half)], check=True, capture_output=True, text=True)
        half.rename(path)
    return ctypes.CDLL(str(path))


def checked(code: int) -> None:
    if code:
        raise RuntimeError(f"CUB: cudaError_t {code}")
