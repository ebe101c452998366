"""Traced builds of warpkit's own kernels: a rung's file, or the folder of what is in production."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import warpkit
from warpkit import _compiler, _core, smem, warp
from warpkit.lab import _read

# Functions by the kernels that they run if no variant is asked for; and the seconds that those take
# to compile.
FOLDERS = {
    "transpose/production": ("transpose moveaxis swapaxes ascontiguousarray", 15),
    "stencil/production": ("stencil1d convolve1d gradient1d finite_difference", 15),
    "reduce/production": (
        "reduce describe dot vdot average cumsum nancumsum segment_reduce group_reduce",
        25,
    ),
    "histogram/production": ("histogram bincount warp_histogram", 25),
    "unique histogram/production": ("run_length unique_counts group_reduce", 30),
    "warp/production": (" ".join(f"warp.{name}" for name in warp.__all__), 5),
    "smem": ("smem.tile smem.read", 5),
}
_LONG = 10  # seconds, which are announced

# As csrc/warpkit.h has them.
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
_SIZES = (1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16)


def _launchers(paths: Iterable[Path]) -> dict[tuple[str, str], Path]:
    pattern = re.compile(r"^WK_LAUNCHER\((\w+), cuda, (\w+)\)", re.M)
    return {key: path for path in sorted(paths) for key in pattern.findall(path.read_text("utf-8"))}


@functools.cache
def files() -> dict[tuple[str, str], Path]:
    """By operation and variant: the file with the launcher."""
    return _launchers(p for p in _read.KERNELS.rglob("*.cu") if p.parent.name != "emu")


@functools.cache
def rungs() -> dict[tuple[str, str], Path]:
    """Those of the ladders."""
    return {key: path for key, path in files().items() if path.parent.name == "ladder"}


def _name_of(function: Callable[..., Any]) -> str:
    """As FOLDERS has it; "" if it is no function of warpkit's."""
    name = getattr(function, "__name__", "")
    for module, before in ((warpkit, ""), (warp, "warp."), (smem, "smem.")):
        if getattr(module, name, None) is function:
            return before + name
    return ""


def _files_in(folders: str) -> tuple[Path, ...]:
    return tuple(p for f in folders.split() for p in sorted((_read.KERNELS / f).glob("*.cu")))


def _built_together(path: Path) -> tuple[Path, ...]:
    every = map(_files_in, FOLDERS)
    return next((files for files in every if path in files), (path,))


def _groups(function: Callable[..., Any], variant: str | None) -> list[tuple[Path, ...]]:
    """Files that are built together, of a call.

    Raises   ValueError (no such variant)
    """
    name = _name_of(function)
    if variant is None:
        return [_files_in(f) for f, (names, _) in FOLDERS.items() if name in names.split()]
    op = name.replace(".", "_") if name in ("warp.reduce", "warp.scan") else name.split(".")[-1]
    if (op, variant) not in files():
        known = ", ".join(name for o, name in files() if o == op) or "none"
        raise ValueError(f"{op} has no variant {variant!r} that can be traced; there are: {known}")
    return [_built_together(files()[op, variant])]


# ---- elements ------------------------------------------------------------------------------------


def _dtype_of(a: Any) -> str:
    given = getattr(a, "dtype", None)
    name = getattr(given, "name", None) or str(given).rpartition(".")[2]
    return name if name in DTYPES or given is not None else np.asarray(a).dtype.name


def guess(args: Sequence[Any]) -> int:
    """Dtypes of the elements of a call, a bit each: of floats alone, if there are some."""
    arrays = [a for a in args if hasattr(a, "dtype") or isinstance(a, list)]
    found = [DTYPES.index(d) for d in map(_dtype_of, arrays) if d in DTYPES]
    floats = [d for d in found if d >= DTYPES.index("float16")]
    return sum(1 << d for d in set(floats or found)) or 1 << DTYPES.index("float32")


def missing(error: BaseException) -> int:
    """The dtype, as a bit, that a build had no kernels for; 0: it failed of something else."""
    found = re.search(r"no kernels for dtype (\d+) in this build", str(error))
    return 1 << int(found[1]) if found else 0


def _options(paths: Sequence[Path], dtypes: int) -> list[str]:
    if paths[0].parent != _read.KERNELS / "reduce/production":
        return []
    for number, part in ((13, 11), (14, 12)):  # a complex number's parts
        dtypes |= (dtypes >> number & 1) << part
    sizes = functools.reduce(
        lambda a, b: a | b, (size for d, size in enumerate(_SIZES) if dtypes >> d & 1)
    )
    return [f"-DWK_ONLY={dtypes}u", f"-DWK_ONLY_SIZES={sizes}u"]


# ---- builds --------------------------------------------------------------------------------------


@functools.cache
def _state() -> str:
    """A hash of what all kernels include."""
    state = hashlib.sha256()
    for path in sorted([*_read.KERNELS.rglob("*.cuh"), *_read.CSRC.rglob("*.h")]):
        state.update(path.read_bytes())
    return state.hexdigest()


@functools.cache
def _library(paths: tuple[Path, ...], options: tuple[str, ...]) -> ctypes.CDLL:
    """The traced library of these files, with their launchers under other names.

    Raises   CompileError
    """
    texts = {}
    for i, path in enumerate(paths):
        text = f'// {_state()}\n#include "{path.relative_to(_read.KERNELS)}"\n'
        if i == 0:
            text += """
static const emu::kernel_entry *const warpkit_none = nullptr;
[[gnu::used]] static const bool warpkit_told =
    (emu::trace(reinterpret_cast<const void *>(+[] {}), &warpkit_none, false), true);
"""
        for op, variant in _launchers([path]):
            text += f"""
extern "C" __attribute__((visibility("default"))) wk_launch *
traced_{op}_{variant}()
{{
    return wk_{op}_cuda_{variant};
}}
"""
        texts[f"main-{i}.cc"] = text
    seconds = next((s for f, (_, s) in FOLDERS.items() if paths == _files_in(f)), 0)
    if seconds > _LONG:
        logging.getLogger("warpkit").warning(
            "lab.trace: the kernels in %s are compiled, once: some %d seconds",
            paths[0].parent.relative_to(_read.KERNELS.parent),
            seconds,
        )
    # As much of a _compiler.Source as is compiled: nothing is rewritten.
    source: Any = SimpleNamespace(
        texts=texts, mains=list(texts), folders=(_read.KERNELS, _read.CSRC), text=None
    )
    return ctypes.CDLL(
        str(_compiler.build(source, ["-Wno-unknown-pragmas", *options], check="trace"))
    )


@contextmanager
def traced(
    function: Callable[..., Any], variant: str | None, dtypes: int, emulator: ctypes.CDLL
) -> Iterator[None]:
    """Meanwhile the emulated device runs traced kernels in a function of warpkit's.

    Raises   ValueError (no such variant), CompileError
    """
    _core.device_info("emu")  # loads the plug-in
    rows = [(row.op, row.name) for row in warpkit.variants() if row.device == "cuda"]
    replace = emulator.wk_plugin_replace
    replace.restype = ctypes.c_void_p
    replace.argtypes = [ctypes.c_int, ctypes.c_void_p]
    before = []
    try:
        for paths in _groups(function, variant):
            library = _library(paths, tuple(_options(paths, dtypes)))
            for op, name in _launchers(paths):
                give = getattr(library, f"traced_{op}_{name}")
                give.restype = ctypes.c_void_p
                index = rows.index((op, name))
                before.append((index, replace(index, give())))
        yield
    finally:
        for index, launcher in reversed(before):
            replace(index, launcher)


def is_own(function: Callable[..., Any], variant: str | None) -> bool:
    """Does tracing it need builds of warpkit's kernels?"""
    return variant is not None or bool(_groups(function, None))
