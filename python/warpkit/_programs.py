"""run: whole CUDA programs, with a main function, on the emulated device or a GPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from warpkit import _compiler, _core, _interop, _kernels, _nvidia
from warpkit._compiler import Given

__tracebackhide__ = True  # pytest shows the user's own frames


def run(
    source: Given | Sequence[Given],
    args: Sequence[Given] = (),
    *,
    device: str | None = None,
    include: Given | Sequence[Given] = (),
    options: str | Sequence[str] = (),
    input: str | None = None,
    timeout: float | None = None,
    check: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Compile a CUDA program and run it in a process of its own. No GPU is needed.

    Parameters
    ----------
    source : str, path, or sequence of paths
        A text, or the path of a file, that has ``main``; or several paths, .cpp too.
    args : sequence of str
        The program's arguments.
    device : str, optional
        "emu"; "cuda", "cuda:1": nvcc compiles it, and that GPU is the program's first; None: as of
        compile.
    include : path or sequence of path
        More folders for headers.
    options : str or sequence of str
        More options for the compiler and the linker, such as "-DN=4 -O2" or ["-DN=4", "-O2"].
    input : str, optional
        What the program reads from its stdin; None: nothing.
    timeout : float, optional
        Seconds that it may take; None: any.
    check : str, optional
        "races": kernels are watched as compile does it, copies and streams too; None: likewise if
        WARPKIT_EMU_RACES is 1.

    Returns
    -------
    subprocess.CompletedProcess
        stdout, stderr, returncode. A kernel that goes wrong is told on stderr, and is an error of
        all CUDA calls from then on; after a race the returncode is not 0.

    Raises
    ------
    CompileError
    ValueError
        device, check; an empty source.
    DeviceError
        no such device.
    OSError
        no file.
    TimeoutExpired
        of subprocess.

    See Also
    --------
    compile

    Examples
    --------
    >>> warpkit.run('int main() { printf("hello"); return 3; }').returncode
    3
    """
    program, environment = built(source, include, options, device, check)
    first = source if isinstance(source, str | os.PathLike) else source[0]
    name = os.fspath(first) if os.path.exists(first) else _compiler.SOURCE  # argv[0], as of a shell
    return subprocess.run(
        [name, *(os.fspath(arg) for arg in args)],
        executable=program,
        input=input or "",
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        env=environment,
        check=False,
    )


def built(
    source: Given | Sequence[Given],
    include: Given | Sequence[Given],
    options: str | Sequence[str],
    device: str | None = None,
    check: str | None = None,
) -> tuple[Path, dict[str, str]]:
    """The program's file, and its environment.

    Raises   CompileError, ValueError, DeviceError, OSError
    """
    name = _kernels.device_of(device)
    environment = dict(os.environ)
    emulated = name.startswith("emu")
    folders = tuple(Path(folder).absolute() for folder in _compiler.several(include))
    options = _compiler.words_of(options)
    check = _compiler.check_of(check, emulated)
    read = _compiler.Source(source, folders, emulated)
    if emulated:
        return _compiler.build(read, options, program=True, check=check), environment
    capability = _core.device_info(name)["compute_capability"]
    program = _nvidia.build_program(read, options, capability)
    visible = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    which = _interop.ordinal(name)
    environment["CUDA_VISIBLE_DEVICES"] = visible[which] if visible[0] else str(which)
    return program, environment
