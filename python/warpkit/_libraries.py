"""Arrays of other libraries: taken without a copy, and results given back as the library's own.

_core hands every operand that it does not know to adopt. A library that is known has an adapter,
which reads shape, strides and address from attributes; any other object is asked for
__cuda_array_interface__ or __dlpack__.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from warpkit import _core
from warpkit._array import DeviceArray
from warpkit._interop import (
    BUILTIN,
    DEFAULT_STREAM,
    HOST,
    TYPESTRS,
    dlpack_device,
    dtype_of,
    foreign,
    from_interface,
    kind_of,
    ordinal,
    take_dlpack,
    typestr_of,
)

Shape = tuple[int, ...]
empty: Callable[..., DeviceArray] = _core.empty

WIDE = tuple(map(np.dtype, ("int64", "uint64", "float64", "complex128")))  # to JAX
CONJUGATES = ("<c8", "<c16")


class Library:
    """What _core needs of an array library; this one serves any that is not known by name.

    Where an array's type has DLPack 1.3's table of C functions, _core takes arrays and makes
    results by that, and asks only the flags and methods named here: each must be false of an array
    that is no more than its memory.
    """

    flags: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def adopt(self, obj: Any) -> DeviceArray | np.ndarray | None:
        """The object's memory; None: it is no array of a device, and numpy.asarray may try."""
        interface = getattr(obj, "__cuda_array_interface__", None)
        if interface is not None:
            return from_interface(interface, obj)
        if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
            _check_present(obj)
            return None
        kind = dlpack_device(obj)
        if kind in HOST and hasattr(obj, "__array__"):
            return None
        return take_dlpack(obj, kind, None)[0]

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
            f"{kind_of(obj)} of {dtype} with missing values is not taken; call .dropna(), "
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
    flags = ("requires_grad",)
    methods = ("is_neg", "is_conj")

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
        array, _ = take_dlpack(obj, dlpack_device(obj), None)
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
        return from_interface(obj.__cuda_array_interface__, obj)

    def finish(self, result: Any) -> Any:
        if result._stream != DEFAULT_STREAM:
            result._lead(DEFAULT_STREAM)
        with self.cuda.gpus[ordinal(result.device)]:
            return self.cuda.as_cuda_array(result, sync=False)


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
