"""Traced builds of warpkit's own kernels: a rung's file, or the folder of what is in production."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import warpkit
from warpkit import _compiler, _core, _interop, smem, warp
from warpkit.lab import _read

# Functions by the kernels that they run if no variant is asked for; and the seconds that those take
# to compile.
FOLDERS = {
    "transpose/production": ("transpose moveaxis swapaxes ascontiguousarray", 15),
    "stencil/production": ("stencil1d convolve1d gradient1d finite_difference", 15),
    "reduce/production transpose/production": (  # the first copies by the second
        "reduce describe dot vdot average cumsum nancumsum segment_reduce group_reduce",
        40,
    ),
    "histogram/production": ("histogram bincount warp_histogram", 25),
    "unique histogram/production": ("run_length unique_counts group_reduce", 30),
    "warp/production": (" ".join(f"warp.{name}" for name in warp.__all__), 5),
    "smem": ("smem.tile smem.read", 5),
}
_LONG = 10  # seconds, which are announced


def _launchers(paths: Iterable[Path]) -> dict[tuple[str, str], Path]:
    pattern = re.compile(r"^WK_LAUNCHER\((\w+), cuda, (\w+)\)$", re.M)  # no declaration
    return {key: path for path in sorted(paths) for key in pattern.findall(path.read_text("utf-8"))}


@functools.cache
def files() -> dict[tuple[str, str], Path]:
    """By operation and variant: the file with the launcher."""
    return _launchers(_read.KERNELS.rglob("*.cu"))


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


def groups(function: Callable[..., Any], variant: str | None) -> list[tuple[Path, ...]]:
    """Files that are built together, for a call; none if the function is not warpkit's.

    Raises   ValueError (no such variant)
    """
    name = _name_of(function)
    if variant is None:
        return [_files_in(f) for f, (names, _) in FOLDERS.items() if name in names.split()]
    op = getattr(function, "__name__", "")
    if name in ("warp.reduce", "warp.scan"):
        op = f"warp_{op}"  # as the table has it
    if (op, variant) not in files():
        known = ", ".join(name for o, name in files() if o == op) or "none"
        raise ValueError(f"{op} has no variant {variant!r} that can be traced; there are: {known}")
    return [_built_together(files()[op, variant])]


# ---- elements ------------------------------------------------------------------------------------

_PARTS = {"complex64": "float32", "complex128": "float64"}


@functools.cache
def _dtypes() -> tuple[str, ...]:
    """All of them, in the order of their numbers: reduce takes each."""
    return next(r.dtypes for r in warpkit.variants("reduce") if r.production)


def _dtype_of(a: Any) -> str:
    with suppress(TypeError, ValueError):  # which the call will raise
        return str(_core.operand(a)[0].dtype.name)
    return ""


def guess(args: Sequence[Any]) -> set[str]:
    """Dtypes of the elements of a call: of floats alone, if there are some."""
    arrays = [a for a in args if hasattr(a, "dtype") or isinstance(a, list)]
    found = {_dtype_of(a) for a in arrays} & set(_dtypes())
    return {name for name in found if "int" not in name and name != "bool"} or found


def missing(error: BaseException) -> set[str]:
    """The dtype that a build had no kernels for; none if it failed of something else."""
    found = re.search(r"no kernels for dtype (\d+) in this build", str(error))
    return {_dtypes()[int(found[1])]} if found else set()


def _options(paths: Sequence[Path], dtypes: set[str]) -> tuple[str, ...]:
    if paths[0].parent != _read.KERNELS / "reduce/production":
        return ()
    built = (dtypes or {"float32"}) | {_PARTS[name] for name in dtypes if name in _PARTS}
    bits = sum(1 << _dtypes().index(name) for name in built)
    sizes = sum({np.dtype(_interop.dtype_of(name)).itemsize for name in built})
    return f"-DWK_ONLY={bits}u", f"-DWK_ONLY_SIZES={sizes}u"


# ---- builds --------------------------------------------------------------------------------------


@functools.cache
def _state() -> str:
    """A hash of what all kernels include."""
    state = hashlib.sha256()
    for path in sorted([*_read.KERNELS.rglob("*.cuh"), *_read.CSRC.rglob("*.h")]):
        state.update(path.read_bytes())
    return state.hexdigest()


def _text(path: Path) -> str:
    """Includes the file, and changes with it."""
    own = hashlib.sha256(path.read_bytes()).hexdigest()
    text = f'// {_state()} {own}\n#include "{path.relative_to(_read.KERNELS)}"\n'
    for op, variant in _launchers([path]):
        text += f"""
extern "C" __attribute__((visibility("default"))) wk_launch *
traced_{op}_{variant}()
{{
    return wk_{op}_cuda_{variant};
}}
"""
    return text


_TOLD = """
static const emu::kernel_entry *const warpkit_none = nullptr;
[[gnu::used]] static const bool warpkit_told =
    (emu::trace(reinterpret_cast<const void *>(+[] {}), &warpkit_none, false), true);
"""


@functools.cache
def _library(paths: tuple[Path, ...], options: tuple[str, ...]) -> ctypes.CDLL:
    """The traced library of these files, with their launchers under other names.

    Raises   CompileError
    """
    texts = {f"main-{i}.cc": _text(path) for i, path in enumerate(paths)}
    texts["main-0.cc"] += _TOLD
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
    built: Iterable[tuple[Path, ...]], dtypes: set[str], emulator: ctypes.CDLL
) -> Iterator[None]:
    """Meanwhile the emulated device runs traced kernels of these groups' rows.

    Raises   CompileError
    """
    _core.device_info("emu")  # loads the plug-in
    rows = [(row.op, row.name) for row in warpkit.variants() if row.device == "cuda"]
    replace = emulator.wk_plugin_replace
    replace.restype = ctypes.c_void_p
    replace.argtypes = [ctypes.c_int, ctypes.c_void_p]
    before = []
    try:
        for paths in built:
            library = _library(paths, _options(paths, dtypes))
            for op, name in _launchers(paths):
                give = getattr(library, f"traced_{op}_{name}")
                give.restype = ctypes.c_void_p
                index = rows.index((op, name))
                before.append((index, replace(index, give())))
        yield
    finally:
        for index, launcher in reversed(before):
            replace(index, launcher)
