"""%load_ext warpkit: CUDA in cells of IPython and Jupyter; docs/jupyter.md."""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import warpkit
from warpkit import _kernels, _programs, _syntax, testing

MODULE = "_cuda_module"
ARGUMENTS: dict[tuple[str, ...], dict[str, Any]] = {
    ("--name",): {"default": MODULE, "help": f"the module's name; default: {MODULE}"},
    ("--device",): {"help": '"emu", "cuda"; default: warpkit.compile\'s'},
    ("--races",): {"action": "store_true", "help": "find races (on the emulated device)"},
    ("--trace",): {
        "action": "store_true",
        "help": "show what accesses cost: of a program, or of each launch of these kernels",
    },
    ("--schedule",): {
        "metavar": "ORDER",
        "help": 'of threads on the emulated device: "linear", "reverse", "seed-1" (random), '
        '"weak" (memory). Of a program it is for this run; of kernels, and of %%cuda alone, for '
        "all launches until another is set",
    },
    ("--time",): {"action": "store_true", "help": "print seconds of compilation, and of a run"},
    ("--include", "-I"): {"action": "append", "default": [], "help": "a folder for headers"},
    ("--option",): {
        "action": "append",
        "default": [],
        "metavar": "=-DN=4",
        "help": "an option for the compiler, behind a =",
    },
}
SETTINGS = {name for order in testing.schedules(1).values() for name in order}
HIDDEN = (str(Path(__file__).parent), os.sep + "IPython" + os.sep)


def load(shell: Any) -> None:
    """The magic, and errors of the compiler and of kernels without a traceback through warpkit."""
    magic_arguments: Any = importlib.import_module("IPython.core.magic_arguments")

    def cuda(line: str, cell: str | None = None) -> None:
        """Compile a cell of CUDA: its kernels and variables become Python's, by their names.

        A cell with main is a whole program: it is run, and its output printed.
        """
        given = magic_arguments.parse_argstring(cuda, line)
        if cell is None:
            return _schedule(given)
        # With a line for %%cuda, so that messages have the lines of the cell.
        (_run if _is_program(cell) else _compile)(shell, given, "\n" + cell)

    for names, options in reversed(ARGUMENTS.items()):
        magic_arguments.argument(*names, **options)(cuda)
    magic_arguments.magic_arguments()(cuda)
    shell.register_magic_function(cuda, "line_cell", "cuda")

    def told(error: Exception) -> list[str]:
        return [*_users_lines(shell, error), f"{type(error).__name__}: {error}"]

    for kind in (warpkit.CompileError, warpkit.DeviceError):
        kind._render_traceback_ = told  # type: ignore[union-attr]


def unload(shell: Any) -> None:
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("cuda", None)
    for error in (warpkit.CompileError, warpkit.DeviceError):
        if hasattr(error, "_render_traceback_"):
            del error._render_traceback_
    testing._put(_before)
    _before.clear()
    _shown.clear()


def _users_lines(shell: Any, error: Exception) -> list[str]:
    """Where it was in cells, and in files that are neither warpkit's nor IPython's."""
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        if any(h in frame.filename for h in HIDDEN) or "run_cell_magic" in (frame.line or ""):
            continue
        place = shell.compile.format_code_name(frame.filename) or ("File", frame.filename)
        lines.append(f"{' '.join(place)}, line {frame.lineno}\n    {frame.line}")
    return lines


def _is_program(cell: str) -> bool:
    words = _syntax._Source(cell).words
    return any(words[i : i + 3] == ["int", "main", "("] for i in range(len(words)))


def _order(name: str) -> dict[str, str | None]:
    from IPython.core.error import UsageError

    seed = name.removeprefix("seed-")
    n = int(seed) if seed != name and seed.isdecimal() else 0
    orders = testing.schedules(n)
    if name not in orders:
        raise UsageError(f"--schedule is linear, reverse, seed-1 (any number) or weak, not {name}")
    return orders[name]


_before: dict[str, str | None] = {}  # settings, as they were before the first --schedule


def _schedule(given: Any) -> None:
    if given.schedule:
        order = _order(given.schedule)
        _before.update({name: os.environ.get(name) for name in SETTINGS if name not in _before})
        testing._put(_before | order)


def _options(given: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"include": given.include, "options": given.option}
    if given.device:
        options["device"] = given.device
    if given.races or given.trace:
        options["check"] = "races" if given.races else "trace"
    return options


def _compile(shell: Any, given: Any, cell: str) -> None:
    start = time.perf_counter()
    module = warpkit.compile(cell, **_options(given))
    if given.time:
        print(f"compiled in {time.perf_counter() - start:.2f} s")
    _schedule(given)
    if given.trace:
        _shown.add(module)
        _kernels.instead = _show_trace
    names = (name.rpartition("::")[2] for name in (*module.kernels, *module.variables))
    shell.push({name: module[name] for name in names if "<" not in name} | {given.name: module})


_shown: set[_kernels.Module] = set()  # whose launches show their traces


def _show_trace(kernel: _kernels.Kernel, shape: Any, arguments: Any) -> bool:
    if kernel._module not in _shown or shape is None:
        return False
    from IPython.display import display

    from warpkit import lab

    trace = lab.trace(_kernels._Launch(kernel, shape), *arguments)
    display(trace)
    if trace.error:
        raise trace.error
    return True


def _run(shell: Any, given: Any, cell: str) -> None:
    from IPython.core.error import UsageError

    if given.trace:
        return _run_traced(given, cell)
    order = _order(given.schedule) if given.schedule else {}
    options = _options(given)
    start = time.perf_counter()
    _programs.built(cell, **options)
    built = time.perf_counter()
    with testing.settings(**order):
        done = warpkit.run(cell, **options)
    if given.time:
        print(f"compiled in {built - start:.2f} s, ran in {time.perf_counter() - built:.2f} s")
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise UsageError(f"the program's exit status is {done.returncode}")


def _run_traced(given: Any, cell: str) -> None:
    from IPython.display import display

    from warpkit import lab

    order = _order(given.schedule) if given.schedule else {}
    with testing.settings(**order):
        trace = lab.trace(cell, include=given.include, options=given.option)
    sys.stdout.write(trace.result.stdout)
    sys.stderr.write(trace.result.stderr)
    display(trace)
