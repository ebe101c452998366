"""Runs what is to be traced: kernels of users, whole programs, rungs of the project's ladders."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import warpkit
from warpkit import _compiler, _kernels, _programs
from warpkit.lab import _read, _rows

_lock = threading.RLock()  # one trace at a time: the device has one


class Limits(NamedTuple):
    """How much of a launch is traced.

    Attributes
    ----------
    events : int
        Accesses and basic blocks, of all lanes together; then it goes on untraced.
    threads : int
        Of a launch with more, some blocks alone are traced, in equal steps.
    records : int
        Requests that are kept with their addresses, for Trace.warp.
    seconds : float
        That a launch may take by an estimate; more is a ValueError.
    """

    events: int = 300_000_000
    threads: int = 1 << 20
    records: int = 1 << 15
    seconds: float = 120.0


class _Request(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("events", "threads", "records", "l1", "l2")
    )


L1, L2 = 128 << 10, 50 << 20  # bytes, of the caches' model: of an H100 that has its L1 to itself
_RATE = 2e6  # threads a second that are not traced, at least


@functools.cache
def _emulator() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_compiler.EMULATOR))
    if not hasattr(library, "warpkit_trace_begin"):
        raise warpkit.DeviceError("the emulated device of a sanitized build traces nothing")
    library.warpkit_trace_end.restype = ctypes.c_void_p
    return library


def check_size(threads: int, limits: Limits, what: str) -> None:
    """Raises ValueError for what would take too long."""
    seconds = threads / _RATE
    if seconds > limits.seconds:
        raise ValueError(
            f"{what}: {threads:,} threads would take some {seconds / 60:.0f} minutes on the "
            "emulated device, traced or not; take fewer, or pass limits=Limits(seconds=...)"
        )


@contextmanager
def _collected(limits: Limits, into: list[_read.Launch]) -> Iterator[None]:
    emulator = _emulator()
    asked = _Request(limits.events, limits.threads, limits.records, L1, L2)
    with _lock:
        emulator.warpkit_trace_begin(ctypes.byref(asked))
        try:
            yield
        finally:
            size = ctypes.c_uint64()
            text = emulator.warpkit_trace_end(ctypes.byref(size))
            into += _read.launches(ctypes.string_at(text, size.value))


# ---- kernels of users ----------------------------------------------------------------------------


def _twin(module: _kernels.Module) -> _kernels.Module:
    """The same module, traced."""
    if module._check == "trace":
        return module
    old = module._source
    given: Any = old.text if old.text is not None else old.given[0]
    source = _compiler.Source(given, old.folders)
    device = module.device if module.device.startswith("emu") else _kernels.device_of("emu")
    key = ("twin", tuple(source.texts.items()), old.folders, module._options, device)
    if key not in _twins:
        _twins[key] = _kernels.Module(source, module._options, device, "trace")
    return _twins[key]


_twins: dict[Any, _kernels.Module] = {}


def _carry(source: _kernels.Module, to: _kernels.Module) -> None:
    """The values of a module's variables."""
    for name in source.variables:
        to[name][...] = source[name][...]


@contextmanager
def _traced_kernels(limits: Limits) -> Iterator[None]:
    """Launches of any module's kernels are those of its twin."""

    def launch(kernel: _kernels.Kernel, shape: Any, arguments: Sequence[Any]) -> bool:
        module = kernel._module
        if shape is None or module._check == "trace":
            return False
        grid, block = shape.grid, shape.block
        check_size(_product(grid) * _product(block), limits, kernel.name)
        twin = _twin(module)
        traced = _kernels.Kernel(twin, twin[kernel.name].name, kernel._cooperative)
        _carry(module, twin)
        try:
            _kernels._Launch(traced, shape)(*arguments)
        finally:
            _carry(twin, module)
        return True

    before = _kernels.instead
    _kernels.instead = launch
    try:
        yield
    finally:
        _kernels.instead = before


def _product(numbers: Sequence[int]) -> int:
    return functools.reduce(lambda a, b: a * b, numbers, 1)


# ---- all -----------------------------------------------------------------------------------------


class Ran(NamedTuple):
    """result: of the function; error: a DeviceError that it ended with, or None."""

    launches: list[_read.Launch]
    result: Any
    error: Exception | None


def run_function(
    function: Callable[..., Any],
    args: Sequence[Any],
    given: dict[str, Any],
    variant: str | None,
    limits: Limits,
) -> Ran:
    found: list[_read.Launch] = []
    error, result = None, None
    own = _rows.groups(function, variant)
    if own:
        given = {"device": "emu", **given} | ({} if variant is None else {"variant": variant})
    dtypes = _rows.guess(args) if own else set()
    with _lock:
        while True:
            rows: Any = _rows.traced(own, dtypes, _emulator()) if own else nullcontext()
            try:
                with rows, _traced_kernels(limits), _collected(limits, found):
                    result = function(*args, **given)
            except warpkit.DeviceError as e:
                if more := _rows.missing(e) - dtypes:
                    dtypes |= more
                    found.clear()
                    continue
                if not found:
                    raise
                error = e
            return Ran(found, result, error)


def run_program(
    source: str | os.PathLike[str], args: Sequence[Any], given: dict[str, Any]
) -> tuple[Ran, Path]:
    """A whole program, in a process of its own."""
    include, options = given.pop("include", ()), given.pop("options", ())
    input_, timeout = given.pop("input", None), given.pop("timeout", None)
    if given:
        raise TypeError(f"a program takes no {', '.join(given)}")
    program, environment = _programs.built(source, include, options, "emu", "trace")
    with tempfile.TemporaryDirectory(prefix="warpkit-") as folder:
        file = Path(folder, "trace")
        environment["WARPKIT_EMU_TRACE"] = str(file)
        done = subprocess.run(
            [str(program), *map(os.fspath, args)],
            input=input_ or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment,
            check=False,
        )
        told = file.read_bytes() if file.exists() else b""
    found = _read.launches(told, program)
    error = next((warpkit.DeviceError(one.error) for one in found if one.error), None)
    return Ran(found, done, error), program


def sources_of(function: Any) -> dict[str, str]:
    """Texts that lie in no file, by the names that lines have."""
    launches = [function, *(c.cell_contents for c in getattr(function, "__closure__", None) or ())]
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    launches += [getattr(function, "__globals__", {}).get(name) for name in names]
    found = {}
    for one in launches:
        kernel = one._kernel if isinstance(one, _kernels._Launch) else one
        module = kernel._module if isinstance(kernel, _kernels.Kernel) else kernel
        if isinstance(module, _kernels.Module) and module._source.text is not None:
            found[_compiler.SOURCE] = module._source.text
    return found
