"""The host's C++ compiler over CUDA sources, and what it has made before."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from warpkit import _core, _syntax

__tracebackhide__ = True  # pytest shows the user's own frames
PACKAGE = Path(_core.__file__).resolve().parent
EMULATOR = PACKAGE / "_emu.so"
# Of the C library, what kernels may call: the emulator has it for them.
WRAPPED = ["printf", "vprintf", "puts", "putchar", "malloc", "free", "clock"]
WRAPPED += ["__assert_fail", "abort", "exit"]
COPYING = ["memcpy", "memmove", "memset"]  # likewise, where races are looked for
SOURCE = "source.cu"  # that messages name where a text was given


Given = str | os.PathLike[str]
# What is compiled for a file's text: the pytest plugin notes which it was, and mutates it.
instead: Callable[[Path, str], str] = lambda path, text: text  # noqa: E731


class CompileError(RuntimeError):
    """CUDA source that the compiler does not take, with its messages; or there is no compiler."""


class Source:
    """CUDA sources with the local headers that they include, rewritten.

    given    a text, which has a line break, a ; or a {; or the path of a file, or of several, C++
             among them
    folders  where headers are looked for, after the including file's folder
    emulated False: for a GPU's own compiler, which takes them as they are
    """

    def __init__(
        self, given: Given | Sequence[Given], folders: Sequence[Path], emulated: bool = True
    ) -> None:
        self.folders = folders
        self.emulated = emulated
        self.files: dict[Path, str] = {}  # all of them, as they are
        self.text = given if isinstance(given, str) and any(c in given for c in "\n;{") else None
        if self.text is not None:
            mains = [Path.cwd() / SOURCE]
            self.read(mains[0], self.text)
        else:
            if given == "":
                raise ValueError("the source is empty: neither a text nor a path")
            mains = [Path(path).resolve() for path in several(given)]
            for path in mains:
                self.read(path, path.read_text(errors="replace"))
        self.given = mains
        self.shown = {path: str(path) for path in self.files}  # in messages
        if self.text is not None:
            self.shown[mains[0]] = SOURCE
        self.name = ", ".join(self.shown[path] for path in mains)
        self.names = {path: f"{i}-{path.name}" for i, path in enumerate(self.files)}
        ending = ".cc" if emulated else ".cu"
        self.names |= {path: f"main-{i}{ending}" for i, path in enumerate(mains)}
        self.mains = [self.names[path] for path in mains]
        self.templates: list[_syntax.Kernel] = []
        self.entries: list[_syntax.Entry] = []  # not emulated
        deduced = {k for text in self.files.values() for k in _syntax.deduced_kernels(text)}
        self.texts = {self.names[path]: self.rewritten(path, deduced) for path in self.files}

    def rewritten(self, path: Path, deduced: set[str]) -> str:
        text = self.files[path]
        if _syntax.needs(text):
            if self.emulated:
                text, templates = _syntax.rewrite(text, deduced)
            else:
                mark = str(list(self.files).index(path))
                text, templates, entries = _syntax.tabled(text, mark)
                self.entries += entries
            self.templates += templates

        def name_of(header: str) -> str | None:
            found = self.find(header, path)
            return self.names[found] if found else None

        text = _syntax.follow_includes(text, name_of, self.emulated)
        shown = self.shown[path].replace("\\", "\\\\").replace('"', '\\"')
        # CUDA source has CUDA's names without an #include.
        is_cuda = self.names[path] in self.mains and path.suffix not in (
            ".c",
            ".cc",
            ".cpp",
            ".cxx",
        )
        header = _syntax.HEADER if self.emulated else _syntax.TABLES
        first = f'#include "{header}"\n' if is_cuda else ""
        return f'{first}#line 1 "{shown}"\n{text}\n'

    def read(self, path: Path, text: str) -> None:
        text = self.files[path] = instead(path, text)

        def note(header: str) -> None:
            found = self.find(header, path)
            if found and found not in self.files:
                self.read(found, found.read_text(errors="replace"))

        _syntax.follow_includes(text, note)

    def find(self, header: str, within: Path) -> Path | None:
        for folder in (within.parent, *self.folders):
            if (folder / header).is_file():
                return (folder / header).resolve()
        return None


def several(given: Given | Sequence[Given]) -> list[Given]:
    """Of a path or several."""
    return [given] if isinstance(given, str | os.PathLike) else list(given)


def words_of(options: str | Sequence[str]) -> tuple[str, ...]:
    """Options as a list, or as one writes them in a shell."""
    return tuple(shlex.split(options) if isinstance(options, str) else options)


class Compiler(NamedTuple):
    command: tuple[str, ...]
    version: str
    own: tuple[str, ...] = ()  # options that only this one has


def headers() -> Path:
    """The folder that has emu/user.h: beside this file when installed, else in the repository."""
    repository = PACKAGE.parent.parent / "cuda"
    return PACKAGE if (PACKAGE / "emu").is_dir() else repository


def find_compiler() -> Compiler:
    """Of $CXX, c++, g++, clang++ the first that there is.

    Raises   CompileError
    """
    return _find_compiler(os.environ.get("CXX", ""))


@functools.cache
def _find_compiler(given: str) -> Compiler:
    asked = shlex.split(given)
    if asked and shutil.which(asked[0]) is None:
        raise CompileError(f"CXX is {given}, and there is no such program")
    for command in (asked, ["c++"], ["g++"], ["clang++"]):
        if not command or shutil.which(command[0]) is None:
            continue
        told = subprocess.run([*command, "--version"], capture_output=True, text=True)
        if told.returncode == 0:
            own = _defined(command) if "clang" in told.stdout else ()
            return Compiler(tuple(command), told.stdout, own)
    raise CompileError(
        "kernels are compiled by a C++ compiler, and neither $CXX nor c++, g++ or clang++ is one. "
        "Install one (Debian, Ubuntu: apt install g++; conda: gxx), or name one in CXX."
    )


def _defined(clang: Sequence[str]) -> tuple[str, ...]:
    """To clang an argument without a value is never passed, and `if (lane == 0) v = f(); v = g(v);`
    calls f in every lane. The option that forbids it is named by the version."""
    for name in ("-no-enable-noundef-analysis", "-disable-noundef-analysis"):
        own = ("-Xclang", name)
        command = [*clang, *own, "-fsyntax-only", "-x", "c++", os.devnull]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return own
    return ()


@functools.cache
def _emulator() -> bytes:
    """What changes when the emulator does."""
    state = hashlib.sha256(str(EMULATOR).encode())
    if EMULATOR.exists():
        stat = EMULATOR.stat()
        state.update(f"{stat.st_mtime_ns} {stat.st_size}".encode())
    for path in sorted((headers() / "emu").rglob("*.h")):
        state.update(path.read_bytes())
    return state.digest()


def cache_folder() -> Path:
    """WARPKIT_KERNELS, else one in the user's cache; if it cannot be written, a new one."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    folder = os.environ.get("WARPKIT_KERNELS") or os.path.join(home, "warpkit", "kernels")
    path = Path(folder).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _own_folder()
    return path if os.access(path, os.W_OK) else _own_folder()


@functools.cache
def _own_folder() -> Path:
    folder = tempfile.mkdtemp(prefix="warpkit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def check_of(given: str | None, emulated: bool = True) -> str | None:
    """What is looked for: "races", "trace" or nothing. None: on the emulated device races, if
    WARPKIT_EMU_RACES says so.

    Raises   ValueError, TypeError
    """
    if given is None:
        if not emulated:
            return None
        value = next(v for name, v, *_ in _core.settings() if name == "WARPKIT_EMU_RACES")
        return "races" if (value or "0").lower() in ("1", "yes", "on", "true") else None
    if given not in ("races", "trace"):
        raise ValueError(f"check must be None, 'races' or 'trace', not {given!r}")
    if not emulated:
        what = "races are found" if given == "races" else "accesses are traced"
        raise ValueError(f"{what} on the emulated device: device='emu'")
    return given


def _watched(compiler: Compiler, program: bool, check: str) -> list[str]:
    """Options that have a call made before each access to memory (cuda/emu/race_hooks.cc); and one
    where an address is no multiple of what its type needs, or at the start of each basic block."""
    own = ["tsan-instrument-func-entry-exit=0"]
    clang = "clang" in compiler.version
    before = ("-mllvm", "-") if clang else ("--param", "")
    if check == "races":
        own += ["tsan-distinguish-volatile=1"]
        more = ["-fsanitize=alignment", f"-DEMU_RACES={1 + program}"]
        if not clang:  # which has a function called even where it knows the size
            more += [f"-fno-builtin-{name}" for name in COPYING]
            more += ["-fno-tree-loop-distribute-patterns"]  # it makes some of loops
    else:  # blocks stay in the source's order: by it lanes meet again
        more = ["-fsanitize-coverage=trace-pc", f"-DEMU_TRACE={1 + program}"]
        if clang:
            more[0] += ",bb,no-prune"
            own += ["tsan-instrument-read-before-write=1", "disable-block-placement"]
            more += ["-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"]
        else:
            more += ["-fno-reorder-blocks", "-fno-crossjumping"]
    return [
        "-fsanitize=thread",
        "-Wno-attributes",  # an atomic is inlined without being declared inline
        *(word for option in own for word in (before[0], before[1] + option)),
        *more,
    ]


def build(
    source: Source,
    options: Sequence[str],
    more: str = "",
    program: bool = False,
    check: str | None = None,
) -> Path:
    """A library, or a program, that the emulator runs; what was built before is not built again.

    more     lines behind the source's
    check    "races", "trace": it tells the emulator of its accesses
    Raises   CompileError
    """
    compiler = find_compiler()
    command = [*compiler.command, *compiler.own, "-std=c++17", "-O1", "-fPIC"]
    command += ["-fvisibility=hidden"]
    command += _watched(compiler, program, check) if check else []
    command += ["-g1", "-gdwarf-4"]  # lines, for reports of errors; addr2line misreads DWARF 5's
    # Variables of templates are each library's own: g++ has one of them for the whole process.
    command += ["-fno-gnu-unique"] * ("clang" not in compiler.version)
    command += ["-ffp-contract=off", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE", "-DEMU_USER"]
    if any(re.search(r"\bcuda(Graph|StreamBeginCapture)", text) for text in source.texts.values()):
        command.append("-DEMU_GRAPHS")  # whose header takes a while
    wrapped = WRAPPED + (COPYING if check else [])
    link = [*(f"-Wl,--wrap={name}" for name in wrapped), "-Wl,-z,defs", "-pthread"]
    link += [] if program else ["-shared"]
    texts = source.texts | {source.mains[0]: source.texts[source.mains[0]] + more}
    folders = [f"-I{folder}" for folder in (headers(), headers() / "emu" / "include")]
    folders += [f"-I{folder}" for folder in source.folders]
    key = hashlib.sha256(_emulator())
    key.update(repr((command, link, compiler.version, folders, list(options), texts)).encode())
    folder = cache_folder()
    target = folder / f"{key.hexdigest()[:40]}{'' if program else '.so'}"
    if not target.exists():
        if not hasattr(ctypes.CDLL(str(EMULATOR)), "warpkit_call"):
            raise CompileError("the emulated device of a sanitized build runs no kernels of others")
        command += [*folders, *options]
        shown = {SOURCE: source.text} if source.text is not None else {}  # beside messages
        if check:  # linked apart, lest the sanitizer's own library come in
            objects = [f"{main}.o" for main in source.mains]
            steps = [[*command, "-c", main, "-o", f"{main}.o"] for main in source.mains]
            steps.append([*compiler.command, *link, *objects, str(EMULATOR), *options])
        else:
            steps = [[*command, *link, *source.mains, str(EMULATOR)]]
        for step in steps:
            step.append("-fdebug-prefix-map={place}=.")
        compile(steps, texts | shown, target)
    return target


def compile(steps: list[list[str]], texts: dict[str, str], target: Path) -> None:
    """Runs compilers, the last of which, when the others have ended, makes the target; in a folder,
    {place}, with files of these texts.

    Raises   CompileError
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as place:
        for name, text in texts.items():
            Path(place, name).write_text(text)
        made = Path(place, "made")
        steps[-1] += ["-o", str(made)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(functools.partial(_run, place), steps[:-1]))  # raises what they raise
        _run(place, steps[-1])
        os.replace(made, target)  # whole, whoever else makes the same


def _run(place: str, step: Sequence[str]) -> None:
    done = subprocess.run(
        [word.replace("{place}", place) for word in step],
        cwd=place,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    if done.returncode != 0:
        text = (done.stdout + done.stderr).replace(place + "/", "").strip()
        if "no such instruction" in text:  # of the assembler's
            text += "\nPTX in an asm statement is not emulated"
        raise CompileError(text)
