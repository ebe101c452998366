"""What libraries have agreed on: __cuda_array_interface__, DLPack, streams, names of dtypes."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpkit import _core

if TYPE_CHECKING:
    from warpkit._array import DeviceArray

    Shape = tuple[int, ...]

foreign: Callable[..., DeviceArray] = _core.foreign

DEFAULT_STREAM = 1  # cudaStreamLegacy, which 0 means too wherever a stream's handle is an int
DLPACK_VERSION = (1, 3)
HOST = (1, 3)  # DLPack's device types: CPU, and memory that CUDA has pinned
DEVICE = (2, 13)  # CUDA, and memory that CUDA moves

BUILTIN = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
# What foreign takes: NumPy has no typestr for bfloat16.
TYPESTRS = {name: np.dtype(name).str for name in BUILTIN} | {"bfloat16": "bfloat16"}


def from_cuda_array_interface(obj: Any) -> DeviceArray:
    """The memory that ``obj.__cuda_array_interface__`` describes, without a copy.

    obj      has the attribute, of version 0, 1, 2 or 3; it is kept alive
    Returns  DeviceArray that goes in the order of the interface's stream (None: the default one)
    Raises   TypeError, ValueError (a malformed interface, a mask, a dtype that is not taken,
             memory of no device), DeviceError
    Source   Numba's documentation, "CUDA Array Interface (Version 3)"
    """
    return from_interface(obj.__cuda_array_interface__, obj)


def from_interface(interface: Any, owner: object) -> DeviceArray:
    if not isinstance(interface, dict):
        raise TypeError(f"__cuda_array_interface__ must be a dict, not {kind_of(interface)}")
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
        raise TypeError(f"typestr must be a str, not {kind_of(typestr)}")
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
        raise TypeError(f"{name} must be a tuple of ints, not {kind_of(values)}")
    return tuple(_integer(value, name, -(2**63), 2**63) for value in values)


def _integer(value: Any, name: str, low: int, end: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be of type int, not bool")
    try:
        integer = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be of type int, not {kind_of(value)}") from None
    if not low <= integer < end:
        raise ValueError(f"{name} {integer} is out of range")
    return integer


def kind_of(value: object) -> str:
    return type(value).__name__


def dlpack_device(obj: Any) -> int:
    kind, _ = obj.__dlpack_device__()
    return int(kind)


def take_dlpack(obj: Any, kind: int, copy: bool | None) -> tuple[DeviceArray | np.ndarray, bool]:
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
            f"another object with __cuda_stream__, not {kind_of(stream)}"
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


# ---- names -------------------------------------------------------------------------------------


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
