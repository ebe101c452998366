"""DLPack 1.3's table of C functions: other libraries' arrays by theirs, DeviceArrays by ours."""

import ctypes
from typing import Any

import numpy as np
import pytest
import warpkit
from test_interop import Deleter, Tensor, Versioned, api, fields_of
from warpkit import _libraries

TensorPointer, VersionedPointer = ctypes.POINTER(Tensor), ctypes.POINTER(Versioned)
Place = ctypes.POINTER(ctypes.c_void_p)
Say = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
Allocate = ctypes.PYFUNCTYPE(
    ctypes.c_int, TensorPointer, ctypes.POINTER(VersionedPointer), ctypes.c_void_p, Say
)
FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(VersionedPointer))
ToObject = ctypes.PYFUNCTYPE(ctypes.c_int, VersionedPointer, Place)
Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, TensorPointer)
Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, Place)


class Table(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", Allocate),
        ("from_object", FromObject),
        ("to_object", ToObject),
        ("borrow", Borrow),
        ("stream", Stream),
    )


# ---- a library with a table --------------------------------------------------------------------


class Library:
    """Arrays over NumPy's, of a library that counts what is asked of it."""

    def __init__(self, **versions: int) -> None:
        self.borrowed = self.allocated = self.given = self.deleted = 0
        self.alive: dict[int, Any] = {}
        functions = {
            "allocate": Allocate(self.allocate),
            "from_object": FromObject(lambda *_: -1),
            "to_object": ToObject(self.to_object),
            "borrow": Borrow(self.borrow),
            "stream": Stream(lambda *_: -1),
        }
        self.table = Table(major=versions.get("major", 1), minor=3, **functions)
        address = ctypes.addressof(self.table)
        capsule = api.PyCapsule_New(address, b"dlpack_exchange_api", None)

        class Array:
            __dlpack_c_exchange_api__ = capsule

            def __init__(self, numpy: np.ndarray, more: bool = False) -> None:
                self.numpy, self.more = numpy, more

            def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
                return self.numpy

            def asked(self) -> bool:
                return self.more

        Array.__module__ = "a_library"
        self.Array = Array

    def describe(self, a, tensor):
        for name, value in fields_of(a).items():
            if name in ("shape", "strides"):
                value = (ctypes.c_int64 * 64)(*value)
                self.alive[id(value)] = value
            setattr(tensor, name, value)
        tensor.device_type, tensor.device_id, tensor.lanes, tensor.byte_offset = 1, 0, 1, 0

    def borrow(self, array, tensor):
        self.borrowed += 1
        self.describe(array.numpy, tensor.contents)
        return 0

    def allocate(self, like, out, context, say):
        self.allocated += 1
        tensor = like.contents
        kind = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}[tensor.code]
        if kind == "c":
            return -1
        numpy = np.full(tensor.shape[: tensor.ndim], 7, np.dtype(f"{kind}{tensor.bits // 8}"))
        managed = Versioned(major=1, minor=3)
        managed.deleter = Deleter(self.delete)
        self.describe(numpy, managed.tensor)
        self.alive[ctypes.addressof(managed)] = managed, numpy
        out[0] = ctypes.pointer(managed)
        return 0

    def delete(self, address):
        self.deleted += 1

    def to_object(self, managed, out):
        self.given += 1
        array = self.Array(self.alive[ctypes.addressof(managed.contents)][1])
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))
        out[0] = id(array)
        return 0


@pytest.fixture
def library(monkeypatch):
    made = Library()

    class Adapter(_libraries.Library):
        methods = ("asked",)

        def adopt(self, obj):
            if obj.more:
                raise RuntimeError("more than memory")
            return obj.numpy

        def finish(self, result):
            return made.Array(np.asarray(result))

    monkeypatch.setitem(_libraries._by_type, made.Array, Adapter())
    return made


def test_arrays_come_and_go_by_the_table(library):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = library.Array(a.T)
    first = warpkit.reduce(x, axis=0, device="cpu")  # the Python side's way, once
    assert library.borrowed == library.allocated == 0
    again = warpkit.reduce(x, axis=0, device="cpu")
    assert (library.borrowed, library.allocated, library.given) == (1, 1, 1)
    assert library.deleted == 0
    for result in (first, again):
        assert type(result) is library.Array
        np.testing.assert_array_equal(result.numpy, a.sum(axis=1))
    both = warpkit.reduce(x, ("min", "max"), device="cpu")
    assert [float(part.numpy) for part in both] == [0, 11]
    np.testing.assert_array_equal(warpkit.transpose(x, device="emu").numpy, a)


def test_what_is_more_than_memory_is_the_adapters(library):
    a = np.ones(3, np.float32)
    for _ in range(2):
        assert float(warpkit.reduce(library.Array(a), device="cpu").numpy) == 3
    asked = library.borrowed
    with pytest.raises(RuntimeError, match="more than memory"):
        warpkit.reduce(library.Array(a, more=True), device="cpu")
    assert library.borrowed == asked


def test_what_the_library_cannot_make_is_made_here(library):
    x = library.Array(np.ones(3, np.complex64))
    for _ in range(2):
        result = warpkit.reduce(x, device="cpu")
        assert type(result) is library.Array
        assert complex(result.numpy) == 3
    assert library.given == 0


def test_a_failed_call_gives_the_memory_back(library):
    x = library.Array(np.ones((3, 3), np.float32))
    warpkit.transpose(x, device="cpu")
    with pytest.raises(ValueError, match="variant"):
        warpkit.transpose(x, device="cpu", variant="none such")
    assert library.allocated == library.deleted == 1


def test_a_subclass_is_asked_in_its_own_way(library, monkeypatch):
    class Sub(library.Array):
        pass

    monkeypatch.setitem(_libraries._by_type, Sub, _libraries._by_type[library.Array])
    for _ in range(2):
        assert float(warpkit.reduce(Sub(np.ones(4)), device="cpu").numpy) == 4
    assert library.borrowed == 0


# ---- our own -----------------------------------------------------------------------------------


@pytest.fixture
def gpu(device):
    if device == "cpu":
        pytest.skip("a DeviceArray lies on a GPU")
    return device


@pytest.fixture(scope="module")
def table():
    capsule = warpkit.DeviceArray.__dlpack_c_exchange_api__
    address = api.PyCapsule_GetPointer(capsule, b"dlpack_exchange_api")
    return Table.from_address(address)


def test_a_device_array_is_lent(table, gpu):
    a = warpkit.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), device=gpu)
    tensor = Tensor()
    assert table.major == 1
    view = a[:, ::2]
    assert table.borrow(view, ctypes.byref(tensor)) == 0
    assert (tensor.ndim, tensor.shape[:2], tensor.strides[:2]) == (2, [2, 2], [3, 2])
    assert tensor.device_type == (2 if gpu.startswith("cuda") else 1)
    assert tensor.data == a._pointer
    stream = ctypes.c_void_p()
    assert table.stream(2, 0, ctypes.byref(stream)) == 0
    assert stream.value == 1


def test_a_device_array_crosses_over(table, gpu):
    a = warpkit.asarray(np.arange(6, dtype=np.int16), device=gpu)
    managed, out = VersionedPointer(), ctypes.c_void_p()
    assert table.from_object(a, ctypes.byref(managed)) == 0
    assert table.to_object(managed, ctypes.byref(out)) == 0
    b = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(b))
    assert isinstance(b, warpkit.DeviceArray if gpu.startswith("cuda") else np.ndarray)
    del a
    host = b.numpy() if isinstance(b, warpkit.DeviceArray) else b
    np.testing.assert_array_equal(host, np.arange(6))


def test_memory_is_given_to_others(table, gpu):
    said = []
    say = Say(lambda context, kind, text: said.append((kind, text)))
    shape = (ctypes.c_int64 * 2)(3, 5)
    cuda = gpu.startswith("cuda")
    like = Tensor(device_type=2 if cuda else 1, ndim=2, code=2, bits=64, lanes=1, shape=shape)
    managed = VersionedPointer()
    assert table.allocate(ctypes.byref(like), ctypes.byref(managed), None, say) == 0
    assert managed.contents.tensor.strides[:2] == [5, 1]
    managed.contents.deleter(ctypes.cast(managed, ctypes.c_void_p))
    like.bits = 7
    assert table.allocate(ctypes.byref(like), ctypes.byref(managed), None, say) == -1
    assert said == [(b"MemoryError", b"warpkit has no such array on this device")]


def test_other_objects_are_refused(table):
    tensor = Tensor()
    with pytest.raises(TypeError):
        table.borrow(3, ctypes.byref(tensor))
