"""compile: users' own CUDA kernels as functions of Python, on the emulated device."""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from warpkit import _compiler, _core, _interop
from warpkit._compiler import CompileError
from warpkit._core import DeviceError

# ---- what cuda/emu/user_abi.h says --------------------------------------------------------------


class _Type(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_char),
        ("lanes", ctypes.c_int8),
        ("pointer", ctypes.c_bool),
        ("readonly", ctypes.c_bool),
        ("size", ctypes.c_int64),
    )


class _KernelEntry(ctypes.Structure):
    pass


_KernelEntry._fields_ = (
    ("next", ctypes.POINTER(_KernelEntry)),
    ("name", ctypes.c_char_p),
    ("parameters", ctypes.c_char_p),
    ("kernel", ctypes.c_void_p),
    ("call", ctypes.c_void_p),
    ("types", ctypes.POINTER(_Type)),
    ("defaults", ctypes.POINTER(ctypes.c_void_p)),
    ("count", ctypes.c_int),
    ("default_count", ctypes.c_int),
)


class _VariableEntry(ctypes.Structure):
    pass


_VariableEntry._fields_ = (
    ("next", ctypes.POINTER(_VariableEntry)),
    ("name", ctypes.c_char_p),
    ("address", ctypes.c_void_p),
    ("type", _Type),
    ("ndim", ctypes.c_int),
    ("shape", ctypes.c_int64 * 8),
)


class _FileEntry(ctypes.Structure):
    _fields_ = (
        ("kernels", ctypes.POINTER(_KernelEntry)),
        ("variables", ctypes.POINTER(_VariableEntry)),
    )


class _Argument(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("kind", ctypes.c_int32))


_VALUE, _COPY_IN, _COPY_BOTH, _SAME = range(4)


class _Call(ctypes.Structure):
    _fields_ = (
        ("kernel", ctypes.POINTER(_KernelEntry)),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_int64),
        ("stream", ctypes.c_uint64),
        ("arguments", ctypes.POINTER(_Argument)),
        ("count", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("error", ctypes.c_char_p),
        ("printed", ctypes.c_void_p),
        ("printed_size", ctypes.c_int64),
        ("place", ctypes.c_uint64),
        ("raced", ctypes.c_int32),
    )


class RaceError(DeviceError):
    """Two threads of a kernel use one address, one of them writes, and nothing orders the two.

    Its text names both, with their lines, and what would order them.
    """


_INVALID = (1, 9)  # cudaErrorInvalidValue, cudaErrorInvalidConfiguration
_OUT_OF_MEMORY = 2
_MOST_ARGUMENTS = 256
_MOST_THREADS = 1024
_MOST_GRID = (2**31 - 1, 65535, 65535)
_MOST_BLOCK = (1024, 1024, 64)

# ---- types --------------------------------------------------------------------------------------


class _Parameter:
    """One parameter of a kernel, or the element of a variable: what it takes from Python."""

    def __init__(self, type_: _Type, name: str) -> None:
        self.code = type_.code.decode()
        self.lanes, self.size = type_.lanes, type_.size
        self.pointer, self.readonly = type_.pointer, type_.readonly
        self.name = name

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of an element; with lanes, of one lane."""
        if self.code in "vV":
            return np.dtype((np.void, max(self.size, 1)))
        if self.code == "y":
            import ml_dtypes

            bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
            return bfloat16
        kind = {"b": "?", "h": "f2", "c": "i1"}.get(self.code)
        return np.dtype(kind or f"{self.code}{self.size // self.lanes}")

    def __str__(self) -> str:
        if self.code == "v":
            return "void"
        if self.code == "V":
            return f"struct of {self.size} bytes"
        return f"{self.dtype.name}{f'x{self.lanes}' if self.lanes > 1 else ''}"

    def takes(self, dtype: np.dtype[Any], count: int) -> bool:
        """Arrays of so many elements of this dtype?"""
        if self.code == "v" or (self.code == "c" and dtype == np.uint8):
            return True
        if self.code == "V" or self.lanes > 1:
            whole = count * dtype.itemsize % self.size == 0
            if dtype.itemsize == self.size and (dtype.kind == "V" or self.is_complex(dtype)):
                return True
            return whole and dtype == (np.uint8 if self.code == "V" else self.dtype)
        return bool(dtype == self.dtype)

    def is_complex(self, dtype: np.dtype[Any]) -> bool:
        return self.code == "f" and self.lanes == 2 and dtype.kind == "c"

    def value(self, given: Any) -> np.ndarray:
        """A scalar as the kernel takes it.

        Raises   TypeError, ValueError (out of range)
        """
        if self.code == "V" or self.lanes > 1:
            return self.block(given)
        kind, dtype = self.dtype.kind, self.dtype
        if isinstance(given, np.ndarray) and given.ndim == 0:
            given = given[()]
        if isinstance(given, bool | np.bool_) or (
            kind in "iu" and isinstance(given, int | np.integer)
        ):
            number = int(given)
            if kind in "iu":
                limits = np.iinfo(dtype)
                if not limits.min <= number <= limits.max:
                    raise ValueError(f"takes {limits.min} to {limits.max}, not {number}")
            return np.array(number, dtype)
        name = getattr(getattr(given, "dtype", None), "name", "")
        number_like = isinstance(given, int | float | np.integer | np.floating)
        if kind != "b" and kind not in "iu" and (number_like or name == "bfloat16"):
            with np.errstate(over="ignore"):
                return np.array(given).astype(dtype)
        raise TypeError(f"takes a number that is {_article(str(self))}, not {_kind(given)}")

    def block(self, given: Any) -> np.ndarray:
        """A struct, or a vector such as float4."""
        if isinstance(given, tuple | list) and self.code != "V":
            given = np.array(given, self.dtype)
        if isinstance(given, complex) and self.code == "f" and self.lanes == 2:
            given = np.array([given.real, given.imag], self.dtype)
        if isinstance(given, bytes):
            given = np.frombuffer(given, np.uint8)
        if isinstance(given, np.ndarray | np.generic):
            array = np.ascontiguousarray(given)
            if array.nbytes == self.size and self.takes(array.dtype, array.size):
                return array
        form = "its bytes or a record" if self.code == "V" else f"{self.lanes} numbers"
        raise TypeError(f"takes {_article(str(self))} ({form}), not {_kind(given)}")


def _article(text: str) -> str:
    return f"{'an' if text[0] in 'aeiou' and not text.startswith('uint') else 'a'} {text}"


def _kind(given: Any) -> str:
    if isinstance(given, np.ndarray | _core.DeviceArray):
        where = "" if isinstance(given, np.ndarray) else f" on {given.device}"
        return f"an array of {given.dtype}{where} of shape {given.shape}"
    return f"{given!r:.60} of type {type(given).__name__}"


# ---- kernels ------------------------------------------------------------------------------------


class _Library:
    """A compiled file that is loaded."""

    def __init__(self, path: Path) -> None:
        self.loaded = ctypes.CDLL(str(path))
        entry = self.loaded.warpkit_file
        entry.restype = _FileEntry
        file = entry()
        self.kernels: dict[str, list[Any]] = {}
        for kernel in _list(file.kernels):
            self.kernels.setdefault(kernel.name.decode(), []).append(kernel)
        self.variables = {v.name.decode(): v for v in _list(file.variables)}
        self.path = path
        emulator = ctypes.CDLL(str(_compiler.EMULATOR))
        self.call = ctypes.cast(emulator.warpkit_call, ctypes.c_void_p).value or 0

    def line_of(self, place: int) -> str:
        """The source line of an instruction; "" where nobody knows it."""
        tool = shutil.which("addr2line")
        if tool is None:
            return ""
        told = subprocess.run(
            [tool, "-e", str(self.path), hex(place)], capture_output=True, text=True
        ).stdout
        line = re.sub(r" \(discriminator \d+\)", "", told.strip())
        line = re.sub(r"^(\./)+", "", line)
        return "" if "?" in line else line


def _list(first: Any) -> Iterator[Any]:
    while first:
        yield first.contents
        first = first.contents.next


class _Shape(NamedTuple):
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int


def _dimensions(given: Any, what: str, most: tuple[int, ...]) -> tuple[int, int, int]:
    values = given if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(values) <= 3:
        raise ValueError(f"the {what} has one to three dimensions, not {len(values)}")
    whole = [
        _interop._integer(v, f"{what} dimension", 1, m + 1)
        for v, m in zip(values, most, strict=False)
    ]
    x, y, z = [*whole, 1, 1][:3]
    return x, y, z


class Kernel:
    """A ``__global__`` function: ``kernel[grid, block, shared, stream](*arguments)``.

    grid, block  how many blocks, and threads in each: ints, or tuples of up to three
    shared       bytes of dynamic shared memory; default: 0
    stream       a stream's handle, or an object with __cuda_stream__; None: the default one
    arguments    for a pointer: a NumPy array, C-contiguous and of the pointer's dtype, which is
                 copied to the device and, unless the pointer is to const, back; a DeviceArray of
                 that device, as it is; or None, a null pointer. For a number: an int or float of
                 Python's or NumPy's; for a vector such as float4 a tuple; for a struct a record or
                 bytes of its size. Those with defaults may be left out

    Returns      None, when the kernel has ended; what it printed is on sys.stdout then
    Raises       TypeError, ValueError (an argument that the kernel does not take, before anything
                 runs), DeviceError (the kernel failed: its name, block, thread, and the line where
                 it is known), MemoryError
    """

    def __init__(self, module: Module, name: str) -> None:
        self._module = module
        self.name = name
        entry = module._entry(name)
        names = entry.parameters.decode().split(",")
        names += [""] * (entry.count - len(names))
        self._parameters = [_Parameter(entry.types[i], names[i]) for i in range(entry.count)]
        self._default_count: int = entry.default_count

    def __repr__(self) -> str:
        def one(p: _Parameter) -> str:
            before = "const " if p.pointer and p.readonly else ""
            return f"{before}{p}{' *' if p.pointer else ' '}{p.name}".strip()

        return f"{self.name}({', '.join(map(one, self._parameters))})"

    def __getitem__(self, launch: Any) -> _Launch:
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            raise TypeError(
                f"{self.name}[grid, block, shared, stream]: two to four values, not {launch!r}"
            )
        grid = _dimensions(launch[0], "grid", _MOST_GRID)
        block = _dimensions(launch[1], "block", _MOST_BLOCK)
        if block[0] * block[1] * block[2] > _MOST_THREADS:
            raise ValueError(f"a block has at most {_MOST_THREADS} threads, not {block}")
        shared = _interop._integer(launch[2], "shared", 0, 2**31) if len(launch) > 2 else 0
        stream = _interop.stream_handle(launch[3]) if launch[3:] and launch[3] is not None else 0
        return _Launch(self, _Shape(grid, block, shared, stream))

    def forall(self, n: int, block: int = 256) -> _Launch:
        """As many whole blocks as n threads take: the kernel has to look at n itself."""
        n = _interop._integer(n, "n", 0, 2**31 * block)
        if n == 0:
            return _Launch(self, None)
        return self[(n + block - 1) // block, block]

    def __call__(self, *arguments: Any) -> None:
        raise TypeError(f"{self.name} takes its launch first: {self.name}[grid, block](...)")


class _Launch:
    def __init__(self, kernel: Kernel, shape: _Shape | None) -> None:
        self._kernel, self._shape = kernel, shape

    def __call__(self, *arguments: Any) -> None:
        kernel = self._kernel
        module = kernel._module
        entry = module._entry(kernel.name)
        count = len(kernel._parameters)
        least = count - kernel._default_count
        if not least <= len(arguments) <= count:
            takes = f"{least} to {count}" if least < count else f"{count}"
            raise TypeError(f"{kernel!r} takes {takes} arguments, not {len(arguments)}")
        kept: list[Any] = []  # what the arguments' addresses are of
        converted = (_Argument * max(count, 1))()
        arrays: list[tuple[int, int, int, bool]] = []  # begin, end, which argument, written to
        for i, given in enumerate(arguments):
            parameter = kernel._parameters[i]
            try:
                converted[i] = _convert(parameter, given, module.device, kept)
                if converted[i].kind != _VALUE:
                    _share(converted, i, arrays)
            except (TypeError, ValueError) as error:
                named = f"{i + 1} ({parameter.name})" if parameter.name else f"{i + 1}"
                raise type(error)(f"{kernel.name}: argument {named} {error}") from None
        for i in range(len(arguments), count):
            converted[i] = _Argument(entry.defaults[i - least], 0, _VALUE)
        if self._shape is not None:
            _run(module, entry, self._shape, converted, count)
        del kept


def _convert(parameter: _Parameter, given: Any, device: str, kept: list[Any]) -> _Argument:
    if not parameter.pointer:
        value = parameter.value(given)
        kept.append(value)
        return _Argument(value.ctypes.data, 0, _VALUE)
    takes = f"takes {_article(f'{parameter} array')}"
    if given is None or isinstance(given, _core.DeviceArray):
        address = ctypes.c_uint64(0 if given is None else _check_device(parameter, given, device))
        kept.append(address)
        return _Argument(ctypes.addressof(address), 0, _VALUE)
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{takes} of NumPy or a DeviceArray, not {_kind(given)}")
    _core.unmasked(given)
    _check_array(parameter, given.dtype, given.size, given.flags.c_contiguous)
    if not given.flags.aligned:
        raise ValueError("takes an aligned array; pass a copy")
    if not parameter.readonly and not given.flags.writeable:
        raise ValueError("is written to, and the array is read-only; make the pointer one to const")
    return _Argument(
        given.ctypes.data, given.nbytes, _COPY_IN if parameter.readonly else _COPY_BOTH
    )


def _check_array(parameter: _Parameter, dtype: np.dtype[Any], size: int, contiguous: bool) -> None:
    if not parameter.takes(dtype, size):
        raise TypeError(f"takes {_article(f'{parameter} array')}, not one of {size} {dtype}")
    if not contiguous:
        raise ValueError("takes a C-contiguous array; pass numpy.ascontiguousarray(...) of it")


def _check_device(parameter: _Parameter, given: _core.DeviceArray, device: str) -> int:
    if given.device != device:
        raise ValueError(f"is an array on {given.device}, and the kernel runs on {device}")
    inner = [math.prod(given.shape[i + 1 :]) * given.itemsize for i in range(given.ndim)]
    longer = [(s, t) for s, t, n in zip(given.strides, inner, given.shape, strict=True) if n > 1]
    _check_array(parameter, given.dtype, given.size, all(s == t for s, t in longer))
    return given._pointer


def _share(converted: Any, i: int, arrays: list[tuple[int, int, int, bool]]) -> None:
    """One array that is given twice is one on the device too."""
    own = converted[i]
    begin, end = own.data or 0, (own.data or 0) + own.bytes
    written = own.kind == _COPY_BOTH
    for other_begin, other_end, which, other_written in arrays:
        if (begin, end) == (other_begin, other_end):
            if written:
                converted[which].kind = _COPY_BOTH
            converted[i] = _Argument(own.data, which, _SAME)
            return
        if begin < other_end and other_begin < end and (written or other_written):
            raise ValueError(f"overlaps argument {which + 1}, without being the same array")
    arrays.append((begin, end, i, written))


def _run(module: Module, entry: Any, shape: _Shape, arguments: Any, count: int) -> None:
    call = _Call(
        ctypes.pointer(entry),
        shape.grid,
        shape.block,
        shape.shared,
        shape.stream,
        arguments,
        count,
        module._ordinal,
    )
    code = _core.call(module._library.call, ctypes.addressof(call))
    if call.printed_size:
        text = ctypes.string_at(call.printed, call.printed_size).decode(errors="replace")
        sys.stdout.write(text)
    if code == 0:
        return
    text = (call.error or b"").decode(errors="replace")
    if code == _OUT_OF_MEMORY:
        raise MemoryError(f"{entry.name.decode()}: {text}")
    if code in _INVALID:
        raise ValueError(
            f"{entry.name.decode()}: {text}: grid {shape.grid}, block {shape.block}, "
            f"{shape.shared} bytes of dynamic shared memory beside the static"
        )
    if call.raced:
        raise RaceError(text)
    where = module._library.line_of(call.place) if call.place else ""
    raise DeviceError(text + (f"; it stands at {where}" if where else ""))


# ---- variables, modules -------------------------------------------------------------------------


class Variable:
    """A ``__device__`` or ``__constant__`` variable: ``module.v[...]``, ``module.v[2:4] = x``.

    Attributes   shape, dtype, name
    Notes        what it gives are copies; a vector such as float4 has its lanes as a last axis
    """

    def __init__(self, module: Module, name: str) -> None:
        self._module, self.name = module, name

    def _view(self) -> np.ndarray:
        entry = self._module._library.variables[self.name]
        of = _Parameter(entry.type, self.name)
        if of.pointer:  # its address
            dtype, lanes, size = np.dtype(np.uint64), 1, 8
        else:
            dtype, lanes, size = of.dtype, of.lanes, of.size
        shape = tuple(entry.shape[: entry.ndim])
        bytes_ = size * int(np.prod(shape, dtype=np.int64))
        memory = memoryview((ctypes.c_char * bytes_).from_address(entry.address))
        lane_axis = (size // dtype.itemsize,) if lanes > 1 else ()
        whole = np.ndarray((*shape, *lane_axis), dtype, memory)
        return whole[..., :lanes] if lanes > 1 else whole

    @property
    def shape(self) -> tuple[int, ...]:
        return self._view().shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._view().dtype

    def __getitem__(self, index: Any) -> Any:
        return self._view()[index].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._view()[index] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a variable of a module is copied")
        return self._view().astype(dtype or self.dtype)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}, shape {self.shape}>"


class Module:
    """Compiled CUDA source: kernels and variables are its attributes, and items by name.

    ``module.k``, ``module["space::k"]``, ``module["k<float, 128>"]`` of a template, which is
    compiled then. Where two share a last name, the whole one is needed.

    Attributes   device, kernels and variables (their names), templates (likewise)
    """

    def __init__(
        self, source: _compiler.Source, options: tuple[str, ...], device: str, races: bool
    ) -> None:
        self._source, self._options, self._races = source, options, races
        self.device = device
        self._ordinal = int(device.partition(":")[2] or 0)
        self._instances: dict[str, str] = {}
        self._lock = threading.Lock()
        self._library = self._build()
        self.templates = tuple(dict.fromkeys(t.name for t in source.templates))

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(reversed(self._library.kernels))

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(reversed(self._library.variables))

    def _build(self) -> _Library:
        lines = [
            f'\n#line 1 "<{name}>"\n'
            f'static emu::add_kernel<&{name}> emu_instance_{i}("{name}", "{p}");'
            for i, (name, p) in enumerate(self._instances.items())
        ]
        made = _compiler.build(self._source, self._options, "".join(lines), races=self._races)
        return _Library(made)

    def _entry(self, name: str) -> Any:
        entries = self._library.kernels[name]
        if len(entries) > 1:
            raise TypeError(f"there are {len(entries)} kernels {name}; give each a name of its own")
        return entries[0]

    def _instantiate(self, name: str) -> None:
        """All is compiled anew with one more instance; variables keep their values."""
        plain = name.partition("<")[0]
        named = {t.name: t.parameters for t in self._source.templates}
        if plain not in named:
            raise KeyError(f"no template {plain}; there are: {', '.join(self.templates) or 'none'}")
        if not re.fullmatch(r"[\w:]+<[\w:<>,*&()+\-. ]*>", name):
            raise KeyError(f"{name} is no instance of a template, such as {plain}<float>")
        with self._lock:
            if name in self._library.kernels:
                return
            self._instances[name] = named[plain]
            old = self._library
            try:
                new = self._build()
            except BaseException:
                del self._instances[name]
                raise
            for v, entry in old.variables.items():
                size = entry.type.size if not entry.type.pointer else 8
                bytes_ = size * int(np.prod(entry.shape[: entry.ndim], dtype=np.int64))
                ctypes.memmove(new.variables[v].address, entry.address, bytes_)
            self._library = new

    def __getitem__(self, name: str) -> Any:
        name = re.sub(r"\s*([<>,:*&])\s*", r"\1", " ".join(name.split())).replace(",", ", ")
        if "<" in name:
            if name not in self._library.kernels:
                self._instantiate(name)
            return Kernel(self, name)
        for has, make in ((self._library.kernels, Kernel), (self._library.variables, Variable)):
            found = [n for n in has if n == name] or [n for n in has if n.endswith(f"::{name}")]
            if len(found) > 1:
                raise KeyError(f"{name} is one of {', '.join(found)}")
            if found:
                return make(self, found[0])
        if any(t == name or t.endswith(f"::{name}") for t in self.templates):
            raise KeyError(f"{name} is a template: name its arguments, as in {name}<float>")
        there = ", ".join((*self.kernels, *self.variables, *(f"{t}<>" for t in self.templates)))
        raise KeyError(f"no kernel or variable {name}; there are: {there or 'none'}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self) -> list[str]:
        own = (n.rpartition("::")[2] for n in (*self.kernels, *self.variables) if "<" not in n)
        return [*super().__dir__(), *own]

    def __repr__(self) -> str:
        return f"<module of {self._source.name} on {self.device}: {', '.join(self.kernels)}>"


__all__ = ["CompileError", "Kernel", "Module", "RaceError", "Variable", "compile"]

_modules: dict[Any, Module] = {}


def compile(
    source: str | os.PathLike[str],
    device: str | None = None,
    *,
    include: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    check: str | None = None,
) -> Module:
    """Compile CUDA source, and give its kernels as functions of Python. No GPU is needed.

    A C++ compiler of the host compiles it for the emulated device: $CXX, c++, g++ or clang++.
    What was compiled before is found again by its text, in WARPKIT_KERNELS, by default a folder of
    the user's cache; within a process it is the same Module, with its variables as they are.

    source   a text, or the path of a file; headers beside it are found
    device   "emu", "emu:1"; None: the default device if it is an emulated one, else "emu"
    include  more folders for headers
    options  more options for the compiler, such as "-DN=4" or "-O2"
    check    "races": kernels are watched, and end with a RaceError where two threads use one
             address, one of them writes and nothing orders the two, and with a DeviceError where
             they read shared memory that nobody has written, use what lies outside of every array,
             or a vector at an odd address; None: likewise if WARPKIT_EMU_RACES is 1

    Returns  Module: ``m.k[grid, block](*arguments)``, ``m.k.forall(n)(*arguments)``,
             ``m["k<float, 128>"]``, ``m.variable[...]``; see Kernel
    Raises   CompileError (the compiler's messages, by the source's own lines; or there is no
             compiler), DeviceError (no emulated device), ValueError (device), OSError (no file)

    >>> m = compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(3, np.float32)
    >>> m.twice[1, 3](x)
    >>> x
    array([2., 2., 2.], dtype=float32)
    """
    folders = tuple(Path(folder).absolute() for folder in include)
    name = _emulated(device)
    read = _compiler.Source(source, folders)
    races = _compiler.check_of(check)
    compiler = _compiler.find_compiler()
    key = (tuple(read.texts.items()), folders, tuple(options), name, races, compiler)
    if key not in _modules:
        _modules[key] = Module(read, tuple(options), name, races)
    return _modules[key]


def _emulated(device: str | None) -> str:
    if device is None:
        default = _core.default_device() or ""
        device = default if default.startswith("emu") else "emu"
    if not isinstance(device, str) or device.partition(":")[0] != "emu":
        raise ValueError(f"kernels are compiled for device 'emu' or 'emu:N', not for {device!r}")
    return str(_core.device_info(device)["device"])
