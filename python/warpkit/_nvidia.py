"""CUDA's own compilers, NVRTC and nvcc: from sources to a GPU's machine code."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from warpkit import _compiler
from warpkit._compiler import CompileError, Source

NVCC, NVRTC = "nvcc", "nvrtc"
# Headers whose contents NVRTC has built in, and those of C that kernels need nothing else of.
_BUILT_IN = (
    *("cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "cuda.h"),
    *("vector_types.h", "vector_functions.h", "device_functions.h", "sm_20_intrinsics.h"),
    *("assert.h", "cassert", "math.h", "cmath", "stdio.h", "cstdio", "stdlib.h", "cstdlib"),
    *("string.h", "cstring", "stddef.h", "cstddef"),
)
_INTEGERS = "".join(
    f"typedef signed {name} int{bits}_t; typedef unsigned {name} uint{bits}_t;\n"
    for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
) + ("typedef long intptr_t; typedef unsigned long uintptr_t;\n")
_HEADERS = dict.fromkeys(_BUILT_IN, "#pragma once\n") | {
    "stdint.h": "#pragma once\n" + _INTEGERS,
    "cstdint": "#pragma once\n#include <stdint.h>\nnamespace std\n{\n"
    + "".join(f"using ::{t};\n" for t in re.findall(r"\w+_t", _INTEGERS))
    + "}\n",
}
_ARCHITECTURE = re.compile(r"-arch\b|--gpu-architecture|-gencode|--generate-code")


class Tool(NamedTuple):
    kind: str
    path: Path
    state: str  # changes when the tool does


def _tool(kind: str, path: Path) -> Tool:
    stat = path.stat()
    return Tool(kind, path, f"{stat.st_mtime_ns} {stat.st_size}")


def _toolkits() -> Iterator[Path]:
    """Where CUDA may be installed, by its own installer or by pip."""
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if given := os.environ.get(name):
            yield Path(given)
    if found := shutil.which("nvcc"):
        yield Path(found).parent.parent
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(place).glob("*"), reverse=True)
    yield Path("/usr/local/cuda")


def find_nvcc() -> Tool | None:
    for home in _toolkits():
        if (home / "bin" / "nvcc").exists():
            return _tool(NVCC, home / "bin" / "nvcc")
    return None


def find_nvrtc() -> Tool | None:
    for home in _toolkits():
        for folder in ("lib64", "lib"):
            for path in sorted((home / folder).glob("libnvrtc.so*"), reverse=True):
                return _tool(NVRTC, path)
    return None


def find_compilers() -> list[Tool]:
    """NVRTC, which takes a fraction of the time, then nvcc, which takes every source.

    Raises   CompileError (there is none)
    """
    wanted = os.environ.get("WARPKIT_CUDA_COMPILER") or None
    if wanted not in (None, NVCC, NVRTC):
        raise ValueError(f"WARPKIT_CUDA_COMPILER takes nvcc or nvrtc, not {wanted!r}")
    tools = [find_nvrtc() if wanted != NVCC else None, find_nvcc() if wanted != NVRTC else None]
    found = [tool for tool in tools if tool]
    if not found:
        raise CompileError(
            "kernels for a GPU are compiled by NVRTC or nvcc, and "
            f"{f'{wanted}, which WARPKIT_CUDA_COMPILER names, is not' if wanted else 'neither is'}"
            " here. Install NVRTC (pip install 'warpkit[kernels]') or CUDA's toolkit, and name its "
            "folder in CUDA_HOME if it is not /usr/local/cuda"
        )
    return found


def build_cubin(source: Source, options: Sequence[str], capability: int, more: str = "") -> Path:
    """Machine code for GPUs of a compute capability; what was built before is found again.

    more     lines behind the source's
    Raises   CompileError
    """
    main = source.mains[0]
    texts = source.texts | {main: source.texts[main] + more}
    tools = find_compilers()
    targets = [_target(tool, source, texts, options, capability) for tool in tools]
    for target in targets:
        if target.exists():
            return target
    error = CompileError("")
    for tool, target in zip(tools, targets, strict=True):
        try:
            if tool.kind == NVCC:
                _run_nvcc(tool, source, texts, options, capability, target)
            else:
                _write(target, _run_nvrtc(tool, source, texts, options, capability))
            return target
        except CompileError as failed:
            error = failed
    raise error


def build_program(source: Source, options: Sequence[str], capability: int) -> Path:
    """A program for GPUs of a compute capability; what was built before is found again.

    Raises   CompileError (nvcc's messages, or there is none)
    """
    nvcc = find_nvcc()
    if nvcc is None:
        raise CompileError(
            "whole programs for a GPU are compiled by nvcc, which is not here. Install CUDA's "
            "toolkit, and name its folder in CUDA_HOME if it is not /usr/local/cuda"
        )
    texts = {source.shown[path]: text for path, text in source.files.items()}
    key = hashlib.sha256(repr((nvcc, capability, source.folders, list(options), texts)).encode())
    target = _compiler.cache_folder() / key.hexdigest()[:40]
    if not target.exists():
        command = [str(nvcc.path), *_arguments(source, options, capability)]
        if source.text is None:
            command += map(str, source.given)
            texts = {}
        else:
            command.append(_compiler.SOURCE)
        _compiler.compile([command], texts, target)
    return target


def _target(
    tool: Tool, source: Source, texts: dict[str, str], options: Sequence[str], capability: int
) -> Path:
    key = hashlib.sha256(repr((tool, capability, source.folders, list(options), texts)).encode())
    for name in ("user_facts.h", "user_tables.h"):
        key.update((_compiler.headers() / "emu" / name).read_bytes())
    return _compiler.cache_folder() / f"{key.hexdigest()[:40]}.cubin"


def _write(target: Path, made: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix="build-", delete=False) as part:
        part.write(made)
    os.replace(part.name, target)  # whole, whoever else makes the same


def _arguments(source: Source, options: Sequence[str], capability: int) -> list[str]:
    folders = [_compiler.headers(), *source.folders]
    own = ["-std=c++17", *(f"-I{folder}" for folder in folders)]
    if not any(map(_ARCHITECTURE.match, options)):
        own.append(f"-arch=sm_{capability}")
    return [*own, *options]


def _run_nvcc(
    tool: Tool,
    source: Source,
    texts: dict[str, str],
    options: Sequence[str],
    capability: int,
    target: Path,
) -> None:
    arguments = _arguments(source, options, capability)
    command = [str(tool.path), "-cubin", *arguments, source.mains[0]]
    _compiler.compile([command], texts, target)


# ---- NVRTC --------------------------------------------------------------------------------------


@functools.cache
def _library(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise CompileError(f"NVRTC cannot be loaded: {error}") from None
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _strings(values: Sequence[str]) -> Any:
    return (ctypes.c_char_p * max(len(values), 1))(*(value.encode() for value in values))


def _run_nvrtc(
    tool: Tool, source: Source, texts: dict[str, str], options: Sequence[str], capability: int
) -> bytes:
    nvrtc = _library(tool.path)
    main = source.mains[0]
    headers = _HEADERS | {name: text for name, text in texts.items() if name != main}
    arguments = _arguments(source, options, capability)
    for home in (tool.path.parent.parent, *_toolkits()):  # its own headers first
        arguments += [f"-I{home / 'include'}", f"-I{home / 'include' / 'cccl'}"]
    program = ctypes.c_void_p()

    def checked(code: int) -> None:
        if code:
            raise CompileError(f"NVRTC: {nvrtc.nvrtcGetErrorString(code).decode()}")

    def told(what: str) -> bytes:
        size = ctypes.c_size_t()
        checked(getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(max(size.value, 1))
        checked(getattr(nvrtc, f"nvrtcGet{what}")(program, text))
        return text.raw[: size.value]

    checked(
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program),
            texts[main].encode(),
            main.encode(),
            len(headers),
            _strings(list(headers.values())),
            _strings(list(headers)),
        )
    )
    try:
        code = nvrtc.nvrtcCompileProgram(program, len(arguments), _strings(arguments))
        if code:
            log = told("ProgramLog").rstrip(b"\0\n").decode(errors="replace")
            raise CompileError(log or f"NVRTC: {nvrtc.nvrtcGetErrorString(code).decode()}")
        return told("CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
