"""compile: users' own CUDA kernels as functions of Python, on the emulated device and on GPUs."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from warpkit import _compiler, _core, _cubin, _interop, _nvidia, _syntax
from warpkit._compiler import CompileError
from warpkit._core import DeviceError

__tracebackhide__ = True  # pytest shows the user's own frames

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
        ("cooperative", ctypes.c_int32),
        ("waits", ctypes.c_int32),
    )


class _Loaded(ctypes.Structure):
    _fields_ = (
        ("image", ctypes.c_char_p),
        ("kernels", ctypes.POINTER(ctypes.c_char_p)),
        ("variables", ctypes.POINTER(ctypes.c_char_p)),
        ("handles", ctypes.POINTER(ctypes.c_void_p)),
        ("places", ctypes.POINTER(ctypes.c_void_p)),
        ("kernel_count", ctypes.c_int32),
        ("variable_count", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("error", ctypes.c_char_p),
    )


class _Copy(ctypes.Structure):
    _fields_ = (
        ("to", ctypes.c_void_p),
        ("from_", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("device", ctypes.c_int32),
        ("error", ctypes.c_char_p),
    )


class RaceError(DeviceError):
    """Two threads of a kernel use one address, one of them writes, and nothing orders the two.

    Its text names both, with their lines, and what would order them.
    """


# cudaErrorInvalidValue, InvalidConfiguration, LaunchOutOfResources, CooperativeLaunchTooLarge
_INVALID = (1, 9, 701, 720)
_OUT_OF_MEMORY = 2
_BAD_HANDLE = 400
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

    @functools.cached_property
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

    @functools.cached_property
    def limits(self) -> tuple[int, int]:
        """Of an integer."""
        info = np.iinfo(self.dtype)
        return int(info.min), int(info.max)

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
                least, most = self.limits
                if not least <= number <= most:
                    raise ValueError(f"takes {least} to {most}, not {number}")
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
    """A compiled file that is loaded, of the emulated device."""

    waits = False  # it always does

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

    def copy(self, to: int, from_: int, bytes_: int) -> None:
        """Of a variable."""
        ctypes.memmove(to, from_, bytes_)

    def line_of(self, place: int) -> str:
        """The user's source line of an instruction; "" where nobody knows it."""
        tool = shutil.which("addr2line")
        if tool is None:
            return ""
        told = subprocess.run(
            [tool, "-i", "-e", str(self.path), hex(place)], capture_output=True, text=True
        ).stdout
        frames = [re.sub(r" \(discriminator \d+\)", "", line) for line in told.splitlines()]
        own = [line for line in frames if "/emu/" not in line and not line.startswith("/usr/")]
        line = re.sub(r"^(\./)+", "", (own or frames or ["?"])[0])
        return "" if "?" in line else line


class _GpuLibrary:
    """Machine code that is loaded, and what user_tables.h has noted in it."""

    def __init__(self, path: Path, entries: Sequence[_syntax.Entry], ordinal: int) -> None:
        image = path.read_bytes()
        cubin = _cubin.Cubin(image)
        self.waits = cubin.waits
        self._ordinal = ordinal
        found = list(cubin.found(entries))[::-1]
        kernels = [one for one in found if isinstance(one, _cubin.Kernel)]
        variables = [one for one in found if isinstance(one, _cubin.Variable)]
        functions = ctypes.CDLL(str(_compiler.PACKAGE / "_cuda.so"))
        self.call, self._copy, load = (
            ctypes.cast(function, ctypes.c_void_p).value or 0
            for function in (
                functions.warpkit_call,
                functions.warpkit_copy,
                functions.warpkit_load,
            )
        )
        handles = (ctypes.c_void_p * max(len(kernels), 1))()
        places = (ctypes.c_void_p * max(len(variables), 1))()
        loaded = _Loaded(
            image,
            _symbols(kernels),
            _symbols(variables),
            handles,
            places,
            len(kernels),
            len(variables),
            ordinal,
        )
        if _core.call(load, ctypes.addressof(loaded)):
            raise DeviceError(loaded.error.decode(errors="replace"))
        self.kernels: dict[str, list[Any]] = {}
        for kernel, handle in zip(kernels, handles, strict=False):
            self.kernels.setdefault(kernel.name, []).append(_kernel_entry(kernel, handle))
        self.variables = {
            v.name: _variable_entry(v, place) for v, place in zip(variables, places, strict=False)
        }

    def copy(self, to: int, from_: int, bytes_: int) -> None:
        """Of a variable, here or there.

        Raises   DeviceError
        """
        copy = _Copy(to, from_, bytes_, self._ordinal)
        if bytes_ and _core.call(self._copy, ctypes.addressof(copy)):
            raise DeviceError(copy.error.decode(errors="replace"))

    def line_of(self, place: int) -> str:
        return ""


def _symbols(of: Sequence[_cubin.Kernel | _cubin.Variable]) -> Any:
    return (ctypes.c_char_p * max(len(of), 1))(*(one.symbol.encode() for one in of))


def _kernel_entry(kernel: _cubin.Kernel, handle: int) -> _KernelEntry:
    count, defaults = len(kernel.types) // _cubin.FACTS, kernel.defaults
    types = (_Type * max(count, 1)).from_buffer_copy(kernel.types or bytes(_cubin.FACTS))
    values = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in defaults]
    addresses = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
    entry = _KernelEntry(
        None,
        kernel.name.encode(),
        kernel.parameters.encode(),
        handle,
        None,
        types,
        addresses,
        count,
        len(values),
    )
    entry.kept = values
    return entry


def _variable_entry(variable: _cubin.Variable, place: int) -> _VariableEntry:
    type_ = _Type.from_buffer_copy(variable.type)
    shape = variable.shape
    return _VariableEntry(
        None, variable.name.encode(), place, type_, len(shape), (*shape, *(8 - len(shape)) * (0,))
    )


def _list(first: Any) -> Iterator[Any]:
    while first:
        yield first.contents
        first = first.contents.next


class _Shape(NamedTuple):
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    cooperative: bool


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

    It returns None, when the kernel has ended; what it printed is on sys.stdout then.

    Parameters
    ----------
    grid, block : int or tuple of int
        How many blocks, and threads in each: up to three numbers.
    shared : int
        Bytes of dynamic shared memory.
    stream : optional
        A stream's handle, or an object with __cuda_stream__; None: the default one.
    *arguments
        For a pointer: a NumPy array, C-contiguous and of the pointer's dtype, which is copied to
        the device and, unless the pointer is to const, back; a DeviceArray of that device, or
        CuPy's or PyTorch's array there, as it is; or None, a null pointer. For a number: an int or
        float of Python's or NumPy's; for a vector such as float4 a tuple; for a struct a record or
        bytes of its size. Those with defaults may be left out.

    Raises
    ------
    TypeError, ValueError
        An argument that the kernel does not take, before anything runs.
    DeviceError
        The kernel failed: its name, block, thread, and the line where it is known.
    MemoryError

    See Also
    --------
    compile

    Examples
    --------
    >>> m = warpkit.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(3, np.float32)
    >>> m.twice[1, (3, 1, 1)](x)
    >>> x
    array([2., 2., 2.], dtype=float32)
    """

    def __init__(self, module: Module, name: str, cooperative: bool = False) -> None:
        self._module = module
        self.name = name
        self._cooperative = cooperative
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
        return _Launch(self, _Shape(grid, block, shared, stream, self._cooperative))

    @property
    def cooperative(self) -> Kernel:
        """The same kernel, whose blocks run at the same time, so that ``grid.sync()`` joins them.

        ``m.k.cooperative[grid, block](...)`` is a ValueError for more blocks than the device holds.
        """
        return Kernel(self._module, self.name, True)

    def forall(self, n: int, block: int = 256) -> _Launch:
        """As many whole blocks as n threads take: the kernel has to look at n itself.

        Examples
        --------
        >>> m = warpkit.compile(
        ...     "__global__ void twice(int *x, int n) {"
        ...     "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }"
        ... )
        >>> x = np.arange(1000, dtype=np.int32)
        >>> m.twice.forall(x.size)(x, x.size)
        >>> int(x[999])
        1998
        """
        n = _interop._integer(n, "n", 0, 2**31 * block)
        if n == 0:
            return _Launch(self, None)
        return self[(n + block - 1) // block, block]

    def __call__(self, *arguments: Any) -> None:
        raise TypeError(f"{self.name} takes its launch first: {self.name}[grid, block](...)")


# True: it has made the launch itself; warpkit.lab traces kernels so.
instead: Callable[[Kernel, _Shape | None, Sequence[Any]], bool] = lambda *_: False  # noqa: E731


class _Launch:
    def __init__(self, kernel: Kernel, shape: _Shape | None) -> None:
        self._kernel, self._shape = kernel, shape

    def __call__(self, *arguments: Any) -> None:
        kernel = self._kernel
        if instead(kernel, self._shape, arguments):
            return
        module = kernel._module
        library = module._library
        entry = module._entry(kernel.name)
        count = len(kernel._parameters)
        least = count - kernel._default_count
        if not least <= len(arguments) <= count:
            takes = f"{least} to {count}" if least < count else f"{count}"
            raise TypeError(f"{kernel!r} takes {takes} arguments, not {len(arguments)}")
        given = _Arguments(module.device, count)
        for i, argument in enumerate(arguments):
            parameter = kernel._parameters[i]
            try:
                given.add(i, parameter, argument)
            except (TypeError, ValueError) as error:
                named = f"{i + 1} ({parameter.name})" if parameter.name else f"{i + 1}"
                raise type(error)(f"{kernel.name}: argument {named} {error}") from None
        for i in range(len(arguments), count):
            given.values[i] = _Argument(entry.defaults[i - least], 0, _VALUE)
        if self._shape is None:
            return
        if isinstance(library, _Library):
            try:
                _run(library, entry, self._shape, module._ordinal, given.values, count, False)
            except DeviceError as error:
                raise self._located(error, entry, given.values, count) from None
            return
        stream = self._shape.stream or _interop.DEFAULT_STREAM
        copies = given.bring(stream)
        for array in given.lent:
            array._lead(stream)
        waits = library.waits or bool(copies)
        _run(library, entry, self._shape, module._ordinal, given.values, count, waits)
        for array in given.lent:
            array._follow(stream)
        for host, there in copies:
            if host is not None:
                there._copy_to(host)

    def _located(self, error: DeviceError, entry: Any, values: Any, count: int) -> DeviceError:
        """What wrote past the end of an array is found when the kernel has ended: who it was is not
        known then."""
        if "writes past the end of a block" not in str(error):
            return error
        from warpkit import _canaries

        who = _canaries.who_wrote(self._kernel._module, entry, self._shape, values, count)
        return DeviceError(f"{error}; {who}") if who else error


class _Arguments:
    """A call's arguments as the plug-ins take them, and what has to live as long."""

    def __init__(self, device: str, count: int) -> None:
        self.values = (_Argument * max(count, 1))()
        self.lent: list[_core.DeviceArray] = []  # whose order is not the default stream's, perhaps
        self._device = device
        self._kept: list[Any] = []
        # Arrays of NumPy: begin, end, which argument, written to.
        self._arrays: list[tuple[int, int, int, bool]] = []

    def add(self, i: int, parameter: _Parameter, given: Any) -> None:
        if not parameter.pointer:
            value = parameter.value(given)
            self._kept.append(value)
            self.values[i] = _Argument(value.ctypes.data, 0, _VALUE)
            return
        if given is None:
            self._point(i, 0)
            return
        if not isinstance(given, np.ndarray):
            array = _device_array(given)
            if array is None:
                takes = f"takes {_article(f'{parameter} array')}"
                raise TypeError(f"{takes} of NumPy or a DeviceArray, not {_kind(given)}")
            self._kept.append(array)
            self._point(i, self._lend(parameter, array))
            return
        _core.unmasked(given)
        _check_array(parameter, given.dtype, given.size, given.flags.c_contiguous)
        if not given.flags.aligned:
            raise ValueError("takes an aligned array; pass a copy")
        if not parameter.readonly and not given.flags.writeable:
            raise ValueError(_READ_ONLY)
        kind = _COPY_IN if parameter.readonly else _COPY_BOTH
        self.values[i] = _Argument(given.ctypes.data, given.nbytes, kind)
        self._share(i)

    def _point(self, i: int, address: int) -> None:
        place = ctypes.c_uint64(address)
        self._kept.append(place)
        self.values[i] = _Argument(ctypes.addressof(place), 0, _VALUE)

    def _lend(self, parameter: _Parameter, array: _core.DeviceArray) -> int:
        if array.device != self._device:
            raise ValueError(
                f"is an array on {array.device}, and the kernel runs on {self._device}"
            )
        address, _, contiguous, readonly = array._lend(not parameter.readonly)
        _check_array(parameter, array.dtype, array.size, bool(contiguous))
        if readonly and not parameter.readonly:
            raise ValueError(_READ_ONLY)
        self.lent.append(array)
        return address

    def _share(self, i: int) -> None:
        """One array that is given twice is one on the device too."""
        own = self.values[i]
        begin, end = own.data or 0, (own.data or 0) + own.bytes
        written = own.kind == _COPY_BOTH
        for other_begin, other_end, which, other_written in self._arrays:
            if (begin, end) == (other_begin, other_end):
                if written:
                    self.values[which].kind = _COPY_BOTH
                self.values[i] = _Argument(own.data, which, _SAME)
                return
            if begin < other_end and other_begin < end and (written or other_written):
                raise ValueError(f"overlaps argument {which + 1}, without being the same array")
        self._arrays.append((begin, end, i, written))

    def bring(self, stream: int) -> list[tuple[np.ndarray | None, _core.DeviceArray]]:
        """Copies NumPy's arrays to a GPU: those to be copied back, with the copies."""
        copies: list[tuple[np.ndarray | None, _core.DeviceArray]] = []
        for i, value in enumerate(self.values):
            if value.kind in (_COPY_IN, _COPY_BOTH):
                memory = (ctypes.c_uint8 * value.bytes).from_address(value.data)
                host = np.frombuffer(memory, np.uint8) if value.bytes else np.empty(0, np.uint8)
                there = _core.empty(host.shape, np.uint8, self._device, stream)
                _core.upload(host, there)
                self.lent.append(there)
                copies.append((host if value.kind == _COPY_BOTH else None, there))
                self._point(i, there._pointer)
            elif value.kind == _SAME:
                self.values[i] = self.values[value.bytes]
        return copies


_READ_ONLY = "is written to, and the array is read-only; make the pointer one to const"


def _device_array(given: Any) -> _core.DeviceArray | None:
    """An array of a device, of any library; None: it is none."""
    if isinstance(given, _core.DeviceArray):
        return given
    if hasattr(given, "__cuda_array_interface__") or hasattr(given, "__dlpack__"):
        array = _core.operand(given)[0]
        if isinstance(array, _core.DeviceArray):
            return array
    return None


def _check_array(parameter: _Parameter, dtype: np.dtype[Any], size: int, contiguous: bool) -> None:
    if not parameter.takes(dtype, size):
        raise TypeError(f"takes {_article(f'{parameter} array')}, not one of {size} {dtype}")
    if not contiguous:
        raise ValueError("takes a C-contiguous array; pass numpy.ascontiguousarray(...) of it")


def _run(
    library: _Library | _GpuLibrary,
    entry: Any,
    shape: _Shape,
    ordinal: int,
    arguments: Any,
    count: int,
    waits: bool,
) -> None:
    call = _Call(
        ctypes.pointer(entry),
        shape.grid,
        shape.block,
        shape.shared,
        shape.stream,
        arguments,
        count,
        ordinal,
        cooperative=shape.cooperative,
        waits=waits,
    )
    code = _core.call(library.call, ctypes.addressof(call))
    if call.printed_size:
        text = ctypes.string_at(call.printed, call.printed_size).decode(errors="replace")
        sys.stdout.write(text)
    if code == 0:
        return
    name, text = entry.name.decode(), (call.error or b"").decode(errors="replace")
    why = text.removeprefix(f"kernel {name}: ")
    if code == _OUT_OF_MEMORY:
        raise MemoryError(f"{name}: {why}")
    if code in _INVALID:
        raise ValueError(
            f"{name}: {why}: grid {shape.grid}, block {shape.block}, "
            f"{shape.shared} bytes of dynamic shared memory beside the static"
        )
    if code == _BAD_HANDLE:
        raise ValueError(f"{name}: {why}: {shape.stream:#x} is no stream of its device")
    if call.raced:
        raise RaceError(text)
    where = library.line_of(call.place) if call.place else ""
    raise DeviceError(text + (f"; it stands at {where}" if where else ""))


# ---- variables, modules -------------------------------------------------------------------------


class Variable:
    """A ``__device__`` or ``__constant__`` variable: ``module.v[...]``, ``module.v[2:4] = x``.

    What it gives are copies; a vector such as float4 has its lanes as a last axis.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    name : str
    """

    def __init__(self, module: Module, name: str) -> None:
        self._module, self.name = module, name

    def _new(self) -> np.ndarray:
        entry = self._module._library.variables[self.name]
        of = _Parameter(entry.type, self.name)
        shape = tuple(entry.shape[: entry.ndim])
        if of.pointer:  # its address
            return np.empty(shape, np.uint64)
        return np.empty((*shape, of.lanes) if of.lanes > 1 else shape, of.dtype)

    def _read(self) -> np.ndarray:
        library, array = self._module._library, self._new()
        library.copy(array.ctypes.data, library.variables[self.name].address, array.nbytes)
        return array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._new().shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._new().dtype

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        library, array = self._module._library, self._read()
        if array.dtype.kind == "V":
            value = self._bytes(value, array.dtype)
        array[index] = value
        library.copy(library.variables[self.name].address, array.ctypes.data, array.nbytes)

    def _bytes(self, value: Any, dtype: np.dtype[Any]) -> Any:
        """Structs as the array takes them: of bytes, records, or arrays of either."""
        size = dtype.itemsize
        if isinstance(value, bytes) and len(value) == size:
            return value
        if isinstance(value, np.ndarray | np.generic):
            array: np.ndarray = np.ascontiguousarray(value).reshape(value.shape)
            if array.dtype.kind == "V" and array.dtype.itemsize == size:
                return array.view(dtype)
            if array.dtype == np.uint8 and array.ndim and array.shape[-1] == size:
                return array.view(dtype)[..., 0]
        takes = f"takes structs of {size} bytes (bytes or records)"
        raise TypeError(f"{self.name} {takes}, not {_kind(value)}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a variable of a module is copied")
        array = self._read()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.dtype}, shape {self.shape}>"


class Module:
    """Compiled CUDA source: kernels and variables are its attributes, and items by name.

    ``module.k``, ``module["space::k"]``, ``module["k<float, 128>"]`` of a template, which is
    compiled then. Where two share a last name, the whole one is needed.

    Attributes
    ----------
    device : str
    kernels, variables, templates : list of str
        Their names.

    See Also
    --------
    compile, Kernel, Variable

    Examples
    --------
    >>> m = warpkit.compile("__constant__ float v[2]; __global__ void k(float *x) { *x = v[1]; }")
    >>> m.v[1] = 5
    >>> x = np.zeros(1, np.float32)
    >>> m.k[1, 1](x)
    >>> x, list(m.kernels)
    (array([5.], dtype=float32), ['k'])
    """

    def __init__(
        self, source: _compiler.Source, options: tuple[str, ...], device: str, check: str | None
    ) -> None:
        self._source, self._options, self._check = source, options, check
        self.device = device
        self._ordinal = int(device.partition(":")[2] or 0)
        self._instances: dict[str, str] = {}
        self._kernels: dict[str, Kernel] = {}
        self._lock = threading.Lock()
        self.templates = tuple(dict.fromkeys(t.name for t in source.templates))
        self._library = self._build()

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(reversed(self._library.kernels))

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(reversed(self._library.variables))

    def _build(self) -> _Library | _GpuLibrary:
        source, instances = self._source, self._instances.items()
        if source.emulated:
            lines = [
                f'\n#line 1 "<{name}>"\n'
                f'static emu::add_kernel<&{name}> emu_instance_{i}("{name}", "{p}");'
                for i, (name, p) in enumerate(instances)
            ]
            made = _compiler.build(source, self._options, "".join(lines), check=self._check)
            return _Library(made)
        entries = [
            _syntax.Entry(f"warpkit_i_{i}", name, p) for i, (name, p) in enumerate(instances)
        ]
        lines = [
            f'\n#line 1 "<{e.name}>"\n{_syntax.TABLE} {e.made} = warpkit::table_of(&{e.name});'
            for e in entries
        ]
        capability = _core.device_info(self.device)["compute_capability"]
        path = _nvidia.build_cubin(source, self._options, capability, "".join(lines))
        return _GpuLibrary(path, [*source.entries, *entries], self._ordinal)

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
            for v in old.variables:
                values = Variable(self, v)._read()
                new.copy(new.variables[v].address, values.ctypes.data, values.nbytes)
            self._library = new

    def _kernel(self, name: str) -> Kernel:
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]

    def __getitem__(self, name: str) -> Any:
        name = re.sub(r"\s*([<>,:*&])\s*", r"\1", " ".join(name.split())).replace(",", ", ")
        if "<" in name:
            if name not in self._library.kernels:
                self._instantiate(name)
            return self._kernel(name)
        for has, make in (
            (self._library.kernels, self._kernel),
            (self._library.variables, functools.partial(Variable, self)),
        ):
            found = [n for n in has if n == name] or [n for n in has if n.endswith(f"::{name}")]
            if len(found) > 1:
                raise KeyError(f"{name} is one of {', '.join(found)}")
            if found:
                return make(found[0])
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

    def __setattr__(self, name: str, value: Any) -> None:
        if "_library" in self.__dict__ and not name.startswith("_"):
            names = (*self.kernels, *self.variables, *self.templates)
            if any(n == name or n.endswith(f"::{name}") for n in names):
                way = f"a variable is set by .{name}[...] = value"
                raise AttributeError(f"{name} is the device's; {way}")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        own = (n.rpartition("::")[2] for n in (*self.kernels, *self.variables) if "<" not in n)
        return [*super().__dir__(), *own]

    def __repr__(self) -> str:
        return f"<module of {self._source.name} on {self.device}: {', '.join(self.kernels)}>"


__all__ = ["CompileError", "Kernel", "Module", "RaceError", "Variable", "compile"]

_modules: dict[Any, Module] = {}
_KINDS = ("emu", "cuda")


def compile(
    source: str | os.PathLike[str],
    device: str | None = None,
    *,
    include: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    options: str | Sequence[str] = (),
    check: str | None = None,
) -> Module:
    """Compile CUDA source, and give its kernels as functions of Python. No GPU is needed.

    A C++ compiler of the host compiles it for the emulated device: $CXX, c++, g++ or clang++. For a
    GPU NVRTC does, and what it does not take, such as a source with host functions, nvcc. What was
    compiled before is found again by its text, in WARPKIT_KERNELS, by default a folder of the
    user's cache; within a process it is the same Module, with its variables as they are.

    Parameters
    ----------
    source : str or path
        A text, or the path of a file; headers beside it are found.
    device : str, optional
        "emu", "emu:1", "cuda", "cuda:1"; None: what set_default_device or WARPKIT_DEVICE says if it
        is one of these, else "emu".
    include : path or sequence of path
        More folders for headers.
    options : str or sequence of str
        More options for the compiler, such as "-DN=4 -O2" or ["-DN=4", "-O2"].
    check : str, optional
        "races": kernels are watched, and end with a RaceError where two threads use one address,
        one of them writes and nothing orders the two, and with a DeviceError where they read shared
        memory that nobody has written, use what lies outside of every array, or a vector at an odd
        address; "trace": warpkit.lab counts its accesses; None: "races" if WARPKIT_EMU_RACES is 1.

    Returns
    -------
    Module
        ``m.k[grid, block](*arguments)``, ``m.k.forall(n)(*arguments)``, ``m["k<float, 128>"]``,
        ``m.variable[...]``; see Kernel.

    Raises
    ------
    CompileError
        The compiler's messages, by the source's own lines; or there is no compiler.
    DeviceError
        no such device.
    ValueError
        device; an empty source.
    OSError
        no file.

    See Also
    --------
    Kernel, Module, run

    Examples
    --------
    >>> m = warpkit.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(3, np.float32)
    >>> m.twice[1, 3](x)
    >>> x
    array([2., 2., 2.], dtype=float32)
    """
    folders = tuple(Path(folder).absolute() for folder in _compiler.several(include))
    words = _compiler.words_of(options)
    name = device_of(device)
    emulated = name.startswith("emu")
    read = _compiler.Source(source, folders, emulated)
    check = _compiler.check_of(check, emulated)
    tools = _compiler.find_compiler() if emulated else tuple(_nvidia.find_compilers())
    key = (tuple(read.texts.items()), folders, words, name, check, tools)
    if key not in _modules:
        _modules[key] = Module(read, words, name, check)
    return _modules[key]


def device_of(device: str | None) -> str:
    """The whole name of a device that kernels are compiled for.

    Raises   ValueError, DeviceError
    """
    if device is None:
        default = _core.default_device()
        device = default if isinstance(default, str) and default.startswith(_KINDS) else "emu"
    if not isinstance(device, str) or device.partition(":")[0] not in _KINDS:
        raise ValueError(
            f"kernels are compiled for device 'emu' or 'cuda', as 'cuda:1', not for {device!r}"
        )
    return str(_core.device_info(device)["device"])
