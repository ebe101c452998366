"""Arrays of other libraries: taken without a copy, and results given back as the library's own.

_core hands every operand that it does not know to adopt. A library that is known has an adapter,
which reads shape, strides and address from attributes; any other object is asked for
__cuda_array_interface__ or __dlpack__.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from warpkit import _core

if TYPE_CHECKING:
    from warpkit._array import DeviceArray

    Shape = tuple[int, ...]

foreign: Callable[..., DeviceArray] = _core.foreign
empty: Callable[..., DeviceArray] = _core.empty

DEFAULT_STREAM = 1  # cudaStreamLegacy, which 0 means too wherever a stream's handle is an int
DLPACK_VERSION = (1, 1)
SIGNED = ("int32", "int64", "float32", "float64")  # what every PyTorch takes by DLPack
FEW = 4096  # elements of a result that need not come from the library's own pool
WIDE = tuple(map(np.dtype, ("int64", "uint64", "float64", "complex128")))  # to JAX
HOST = (1, 3)  # DLPack's device types: CPU, and memory that CUDA has pinned
DEVICE = (2, 13)  # CUDA, and memory that CUDA moves

BUILTIN = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
CONJUGATES = ("<c8", "<c16")
# What foreign takes: NumPy has no typestr for bfloat16.
TYPESTRS = {name: np.dtype(name).str for name in BUILTIN} | {"bfloat16": "bfloat16"}


# ---- the protocols -----------------------------------------------------------------------------


def from_cuda_array_interface(obj: Any) -> DeviceArray:
    """The memory that ``obj.__cuda_array_interface__`` describes, without a copy.

    obj      has the attribute, of version 0, 1, 2 or 3; it is kept alive
    Returns  DeviceArray that goes in the order of the interface's stream (None: the default one)
    Raises   TypeError, ValueError (a malformed interface, a mask, a dtype that is not taken,
             memory of no device), DeviceError
    Source   Numba's documentation, "CUDA Array Interface (Version 3)"
    """
    return _from_interface(obj.__cuda_array_interface__, obj)


def _from_interface(interface: Any, owner: object) -> DeviceArray:
    if not isinstance(interface, dict):
        raise TypeError(f"__cuda_array_interface__ must be a dict, not {_kind(interface)}")
    try:
        shape, typestr, data = interface["shape"], interface["typestr"], interface["data"]
        version = _integer(interface["version"], "version", 0, 2**31)
    except KeyError as missing:
        raise ValueError(f"__cuda_array_interface__ has no {missing}") from None
    if version > 3:
        raise ValueError(
            f"__cuda_array_interface__ of version {version}; versions 0 to 3 are known"
        )
    if interface.get("mask") is not None:
        raise ValueError("__cuda_array_interface__ with a mask; masked arrays are not taken")
    if not isinstance(typestr, str):
        raise TypeError(f"typestr must be a str, not {_kind(typestr)}")
    if typestr == "bfloat16":  # no typestr, and so nobody's promise
        raise TypeError("typestr 'bfloat16' is not one of the interface's; use DLPack")
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(f"data must be a pair (address, read-only), not {data!r}")
    strides = interface.get("strides")
    return foreign(
        _integer(data[0], "data", 0, 2**63),
        _integers(shape, "shape"),
        None if strides is None else _integers(strides, "strides"),
        typestr,
        bool(data[1]),
        _interface_stream(interface.get("stream") if version >= 3 else None),
        None,
        -1,
        owner,
    )


def _interface_stream(stream: Any) -> int:
    if stream is None:
        return DEFAULT_STREAM
    handle = _integer(stream, "stream", 0, 2**64)
    if handle == 0:
        raise ValueError("stream 0 is ambiguous: the interface wants 1 (legacy) or 2 (per thread)")
    return handle


def _integers(values: Any, name: str) -> Shape:
    if not isinstance(values, tuple):
        raise TypeError(f"{name} must be a tuple of ints, not {_kind(values)}")
    return tuple(_integer(value, name, -(2**63), 2**63) for value in values)


def _integer(value: Any, name: str, low: int, end: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be of type int, not bool")
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be of type int, not {_kind(value)}") from None
    if not low <= integer < end:
        raise ValueError(f"{name} {integer} is out of range")
    return integer


def _kind(value: object) -> str:
    return type(value).__name__


def from_dlpack(
    obj: Any, /, *, device: str | None = None, copy: bool | None = None
) -> DeviceArray | np.ndarray:
    """The array of any library that speaks DLPack, without a copy where that is possible.

    obj      has __dlpack__ and __dlpack_device__; bool, integer, float16, bfloat16, float32,
             float64, complex64 or complex128
    device   where the result is to be, such as "cpu" or "cuda:1"; None: where obj lies
    copy     True: always; False: ValueError where one is needed; None: if it is needed
    Returns  DeviceArray for a GPU's memory, NumPy array for the host's, read-only if obj says so
    Raises   TypeError (dtype, device), BufferError (another kind of memory, a malformed tensor),
             ValueError (copy), MemoryError, DeviceError
    Notes    what obj's library has under way on its stream is waited for by the default stream,
             which the result goes in the order of. An array on "emu" lies in host memory, and so
             becomes a NumPy array over the same bytes
    Source   the Python array API standard, from_dlpack
    """
    from warpkit._array import asarray

    if not isinstance(device, str | None):
        raise TypeError(f"device must be a str or None, not {_kind(device)}")
    array, copied = _take(_core.unmasked(obj), _dlpack_device(obj), copy)
    lies = "cpu" if isinstance(array, np.ndarray) else array.device
    if device is None or same_device(lies, device):
        return array.copy() if copy and not copied else array
    if copy is False:
        raise ValueError(f"from '{lies}' to '{device}' an array cannot come without a copy")
    host = array if isinstance(array, np.ndarray) else array.numpy()
    return host if device in ("cpu", "cpu:0") else asarray(host, device=device)


def _dlpack_device(obj: Any) -> int:
    kind, _ = obj.__dlpack_device__()
    return int(kind)


def _take(obj: Any, kind: int, copy: bool | None) -> tuple[DeviceArray | np.ndarray, bool]:
    """The array, and whether its library has been asked for a copy."""
    if kind not in HOST and kind not in DEVICE:
        raise BufferError(
            f"memory of DLPack's device type {kind} is not taken; the host's and CUDA's is"
        )
    capsule, asked = _capsule(obj, {"stream": DEFAULT_STREAM} if kind in DEVICE else {}, copy)
    array: DeviceArray | np.ndarray = _core.from_dlpack(capsule, DEFAULT_STREAM)
    return array, asked


def _capsule(obj: Any, order: dict[str, Any], copy: bool | None) -> tuple[Any, bool]:
    try:
        return obj.__dlpack__(**order, max_version=DLPACK_VERSION, copy=copy), True
    except TypeError:  # from before DLPack 1.0
        try:
            return obj.__dlpack__(**order), False
        except TypeError:  # from before streams
            if not order:
                raise
            return obj.__dlpack__(), False


def stream_handle(stream: Any) -> int:
    """The cudaStream_t of a stream of any library.

    stream   a handle (0 and 1: the legacy default stream, 2: the thread's), or a stream of
             CuPy, PyTorch, Numba or cuda.core, or another object with __cuda_stream__
    Raises   TypeError, ValueError (a handle out of range, another version of the protocol)
    Source   cuda.core's documentation, "CUDA stream protocol"
    """
    handle = _handle_of(stream)
    if isinstance(handle, bool) or not hasattr(handle, "__index__"):
        raise TypeError(
            "stream must be a handle (int), a stream of CuPy, PyTorch, Numba or cuda.core, or "
            f"another object with __cuda_stream__, not {_kind(stream)}"
        )
    return _integer(handle, "stream", 0, 2**64) or DEFAULT_STREAM


def stream_pair(stream: Any) -> int | tuple[int, object]:
    """What _core takes for a stream: its handle, with the object that keeps it alive."""
    handle = stream_handle(stream)
    return handle if isinstance(stream, int) else (handle, stream)


def _handle_of(stream: Any) -> Any:
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        pair = protocol() if callable(protocol) else protocol  # it was an attribute once
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"__cuda_stream__ must give a pair (version, handle), not {pair!r}")
        if pair[0] != 0:
            raise ValueError(f"__cuda_stream__ of version {pair[0]!r}; version 0 is known")
        return pair[1] if hasattr(pair[1], "__index__") else int(pair[1])
    # From before that protocol. Other objects have a ptr too, which is no stream.
    if any("Stream" in base.__name__ for base in type(stream).__mro__):
        for name in ("ptr", "cuda_stream", "handle"):  # CuPy's, PyTorch's, Numba's
            if hasattr(stream, name):
                handle = getattr(stream, name)
                handle = getattr(handle, "value", handle)  # a ctypes.c_void_p, whose 0 is None
                return 0 if handle is None else int(handle)
    return stream


# ---- adapters ----------------------------------------------------------------------------------


class Library:
    """What _core needs of an array library; this one serves any that is not known by name."""

    def adopt(self, obj: Any) -> DeviceArray | np.ndarray | None:
        """The object's memory; None: it is no array of a device, and numpy.asarray may try."""
        interface = getattr(obj, "__cuda_array_interface__", None)
        if interface is not None:
            return _from_interface(interface, obj)
        if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
            _check_present(obj)
            return None
        kind = _dlpack_device(obj)
        if kind in HOST and hasattr(obj, "__array__"):
            return None
        return _take(obj, kind, None)[0]

    def new(self, shape: Shape, dtype: str, device: str, stream: int) -> DeviceArray:
        """Memory for a result; ``stream`` is the operand's, in whose order it may be used.

        It goes in the order of the default stream, since nobody keeps an unknown library's alive.
        """
        return empty(shape, dtype, device, DEFAULT_STREAM)

    def finish(self, result: Any) -> Any:
        """What the caller gets for a result that new made, or for one on the host."""
        return result[()] if isinstance(result, np.ndarray) and not result.ndim else result

    def cast(self, obj: Any, dtype: np.dtype[Any]) -> Any:
        """The library's own copy of its array with another dtype; None: it has none."""
        return None


def _check_present(obj: Any) -> None:
    """Refuse pandas' integers and truth values of which some are missing: NumPy would make floats
    with NaN of them, or objects."""
    dtype = getattr(obj, "dtype", None)
    if getattr(dtype, "kind", None) not in ("i", "u", "b") or not hasattr(dtype, "na_value"):
        return
    if obj.isna().any():
        raise TypeError(
            f"{_kind(obj)} of {dtype} with missing values is not taken; call .dropna(), "
            ".fillna(...) or .to_numpy(dtype=..., na_value=...) first"
        )


class CuPy(Library):
    def __init__(self, cupy: ModuleType) -> None:
        self.cupy, self.array = cupy, cupy.ndarray
        self.current_stream = cupy.cuda.get_current_stream
        self.current_device = cupy.cuda.get_device_id
        self.typestrs = {np.dtype(name): TYPESTRS[name] for name in BUILTIN}

    @staticmethod
    def knows(cls: type) -> bool:
        return hasattr(cls, "__cuda_array_interface__")

    def adopt(self, obj: Any) -> DeviceArray:
        memory, dtype = obj.data, obj.dtype
        typestr = self.typestrs.get(dtype) or typestr_of(dtype)
        device = memory.device_id
        stream = self.current_stream(device)
        layout = memory.ptr, obj.shape, obj.strides, typestr, False
        return foreign(*layout, stream.ptr or DEFAULT_STREAM, stream, device, obj)

    def new(self, shape: Shape, dtype: str, device: str, stream: int) -> DeviceArray:
        number = ordinal(device)
        kind = dtype_of(dtype)
        if number == self.current_device():
            array = self.array(shape, kind)
        else:
            with self.cupy.cuda.Device(number):
                array = self.array(shape, kind)
        layout = array.data.ptr, shape, None, TYPESTRS[dtype], False
        return foreign(*layout, stream, None, number, array)

    def finish(self, result: Any) -> Any:
        owner = getattr(result, "_owner", None)
        if isinstance(owner, self.array) and owner.shape == result.shape:
            return owner
        if isinstance(result, np.ndarray | np.generic):
            return self.cupy.asarray(result)
        return self.cupy.from_dlpack(result)  # asarray would wait for the stream

    def cast(self, obj: Any, dtype: np.dtype[Any]) -> Any:
        return obj.astype(dtype)


class PyTorch(Library):
    def __init__(self, torch: ModuleType) -> None:
        self.torch, self.strided, self.empty = torch, torch.strided, torch.empty
        kinds = {name: getattr(torch, name, None) for name in TYPESTRS}  # unsigned ones are new
        self.kinds = {name: kind for name, kind in kinds.items() if kind is not None}
        self.typestrs = {kind: TYPESTRS[name] for name, kind in self.kinds.items()}
        self.places: dict[str, Any] = {}
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.current_stream = raw or (lambda i: torch.cuda.current_stream(i).cuda_stream)

    @staticmethod
    def knows(cls: type) -> bool:
        return hasattr(cls, "data_ptr")

    def adopt(self, obj: Any) -> DeviceArray | np.ndarray:
        typestr = self.typestrs.get(obj.dtype)
        lazy = obj.requires_grad or obj.is_neg() or (typestr in CONJUGATES and obj.is_conj())
        if typestr is None or obj.layout is not self.strided or lazy:
            raise self._refusal(obj)
        if obj.is_cuda:
            strides = None
            if not obj.is_contiguous():
                item = obj.element_size()
                strides = tuple([item * step for step in obj.stride()])
            device = obj.get_device()
            stream = self.current_stream(device) or DEFAULT_STREAM  # PyTorch's own last
            layout = obj.data_ptr(), obj.shape, strides, typestr, False
            return foreign(*layout, stream, None, device, obj)
        if obj.is_cpu and not obj.is_nested:
            array: np.ndarray
            if typestr == "bfloat16":  # PyTorch gives NumPy none
                array = obj.view(self.torch.int16).numpy().view(dtype_of(typestr))
            else:
                array = obj.numpy()
            return array
        raise self._refusal(obj)

    def _refusal(self, tensor: Any) -> Exception:
        if tensor.is_nested:
            return TypeError("a nested tensor is not taken; call .to_padded_tensor() first")
        if tensor.layout is not self.strided:
            return TypeError(
                f"a tensor of layout {tensor.layout} is not taken; call .to_dense() first"
            )
        if tensor.dtype not in self.typestrs:
            return TypeError(
                f"dtype {tensor.dtype} is not taken; there are: {', '.join(self.kinds)}"
            )
        if tensor.requires_grad:
            return RuntimeError(
                "a tensor that requires grad is not taken, since results have no gradient; "
                "call .detach() first"
            )
        if tensor.is_neg():
            return RuntimeError(
                "a tensor with the negative bit set is not taken; call .resolve_neg() first"
            )
        if self.typestrs[tensor.dtype] in CONJUGATES and tensor.is_conj():
            return RuntimeError(
                "a tensor with the conjugate bit set is not taken; call .resolve_conj() first"
            )
        return TypeError(f"a tensor on device '{tensor.device}' is not taken; call .cpu() first")

    def new(self, shape: Shape, dtype: str, device: str, stream: int) -> DeviceArray:
        if dtype in SIGNED and math.prod(shape) <= FEW and device.startswith("cuda"):
            return empty(shape, dtype, device, stream)  # its own empty takes twice as long
        kind = self.kinds.get(dtype)
        if kind is None:
            raise TypeError(f"the result's dtype is {dtype}, which this PyTorch does not have")
        place = self.places.get(device)  # parsing the name would take as long as the rest
        if place is None:
            place = self.places[device] = self.torch.device(device)
        tensor = self.empty(shape, dtype=kind, device=place)
        layout = tensor.data_ptr(), shape, None, TYPESTRS[dtype], False
        return foreign(*layout, stream, None, ordinal(device), tensor)

    def finish(self, result: Any) -> Any:
        if isinstance(result, np.ndarray | np.generic):
            array = np.asarray(result)
            if array.dtype.kind != "V":
                return self.torch.from_numpy(array)
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        owner = result._owner
        if isinstance(owner, self.torch.Tensor) and owner.shape == result.shape:
            return owner
        if result.device.startswith("cuda"):
            stream = self.current_stream(ordinal(result.device)) or DEFAULT_STREAM
            if result._stream == stream:  # then nothing has to wait
                return self.torch.utils.dlpack.from_dlpack(_core.to_dlpack(result, False, False))
        return self.torch.from_dlpack(result)

    def cast(self, obj: Any, dtype: np.dtype[Any]) -> Any:
        kind = self.kinds.get(dtype.name)
        return None if kind is None else obj.to(kind)


class JAX(Library):
    """JAX's arrays are constant and have no stream: results are made here, and handed over."""

    def __init__(self, jax: ModuleType) -> None:
        self.jax = jax
        self.config = jax.config
        self.x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

    @staticmethod
    def knows(cls: type) -> bool:
        return cls.__name__ == "ArrayImpl"  # tracers, keys: numpy.asarray says what is wrong

    def adopt(self, obj: Any) -> DeviceArray | np.ndarray:
        devices = obj.devices()
        if all(device.platform == "cpu" for device in devices):
            return np.asarray(obj)  # no copy, and read-only
        if len(devices) > 1:
            raise TypeError(
                f"a jax.Array on {len(devices)} devices is not taken; gather it on one of them "
                "with jax.device_put first"
            )
        array, _ = _take(obj, _dlpack_device(obj), None)
        if isinstance(array, np.ndarray):  # pinned
            array.flags.writeable = False
            return array
        layout = array._pointer, array.shape, array.strides, typestr_of(array.dtype)
        # read-only, which DLPack lost
        return foreign(*layout, True, array._stream, None, ordinal(array.device), array)

    def finish(self, result: Any) -> Any:
        if not hasattr(result, "__dlpack__"):
            result = np.asarray(result)
        # Otherwise JAX would make 32 bits of 64.
        wide = result.dtype in WIDE and not self.config.jax_enable_x64
        with self.x64(True) if wide else nullcontext():
            return self.jax.dlpack.from_dlpack(result)


class Numba(Library):
    """Numba's pool is the driver's: results are made here, in the order of its default stream."""

    def __init__(self, numba: ModuleType) -> None:
        self.cuda = importlib.import_module("numba.cuda")

    @staticmethod
    def knows(cls: type) -> bool:
        return hasattr(cls, "__cuda_array_interface__")

    def adopt(self, obj: Any) -> DeviceArray:
        return _from_interface(obj.__cuda_array_interface__, obj)

    def finish(self, result: Any) -> Any:
        if result._stream != DEFAULT_STREAM:
            result._lead(DEFAULT_STREAM)
        with self.cuda.gpus[ordinal(result.device)]:
            return self.cuda.as_cuda_array(result, sync=False)


def dtype_of(name: str) -> Any:
    """What NumPy takes for one of TYPESTRS' names."""
    return importlib.import_module("ml_dtypes").bfloat16 if name == "bfloat16" else name


def typestr_of(dtype: np.dtype[Any]) -> str:
    """What foreign takes for a dtype."""
    return "bfloat16" if dtype.name == "bfloat16" else dtype.str


def same_device(a: str, b: str) -> bool:
    """ "cuda" and "cuda:0" are one."""
    return a.removesuffix(":0") == b.removesuffix(":0")


def ordinal(device: str) -> int:
    return int(device.partition(":")[2] or 0)


UNKNOWN = Library()
KNOWN: dict[str, Any] = {"cupy": CuPy, "torch": PyTorch, "jax": JAX, "numba": Numba}
ROOTS = {"jaxlib": "jax"}  # a class's module to the library's
MOST_TYPES = 256  # remembered: a program that makes classes without end must not keep them all

_by_type: dict[type, Library] = {}
_by_name: dict[str, Library] = {}


def adopt(obj: Any) -> tuple[Any, Library] | None:
    """Another library's array, and what makes its results; None: numpy.asarray may try.

    Returns  (array, library): a DeviceArray over the object's memory, in the order of its library's
             current stream; or a NumPy array, where it lies on the host
    Raises   what the library does, TypeError, ValueError, BufferError, RuntimeError
    """
    library = _by_type.get(type(obj)) or _library_of(type(obj))
    array = library.adopt(obj)
    return None if array is None else (array, library)


def _library_of(cls: type) -> Library:
    found = UNKNOWN
    for base in cls.__mro__:
        name = str(base.__module__).partition(".")[0]
        name = ROOTS.get(name, name)
        if name in KNOWN and KNOWN[name].knows(cls):
            found = _library(name)
            break
    if len(_by_type) >= MOST_TYPES:
        _by_type.clear()
    _by_type[cls] = found
    return found


def _library(name: str) -> Library:
    if name not in _by_name:
        try:
            _by_name[name] = KNOWN[name](importlib.import_module(name))
        except ImportError:  # a class that only looks like it
            return UNKNOWN
    return _by_name[name]
