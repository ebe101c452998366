"""Other libraries' arrays: DLPack, the CUDA array interface, streams, and results of their kind."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import helpers
import numpy as np
import pytest
import warpkit
from helpers import ALL_DTYPES, assert_same, few_values, python, values
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from warpkit import _core, _interop, _libraries

CPU, CUDA, PINNED, MANAGED = 1, 2, 3, 13
READ_ONLY, IS_COPIED = 1, 2
CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}
ERRORS = (TypeError, ValueError, BufferError, warpkit.DeviceError)


@pytest.fixture(params=[name for name in helpers.devices if name != "cpu"])
def gpu(request):
    """A device that has DeviceArrays."""
    return request.param


def on_device(a, device):
    return warpkit.asarray(np.asarray(a), device=device)


# ---- DLPack by hand ----------------------------------------------------------------------------


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # calls without the GIL, as other libraries do


class Managed(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


NAMES = {Managed: b"dltensor", Versioned: b"dltensor_versioned"}
USED = {Managed: b"used_dltensor", Versioned: b"used_dltensor_versioned"}
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


class Producer:
    """A tensor made field by field; counts the calls of its deleter."""

    made: ClassVar[list[Any]] = []  # what is behind a capsule lasts as long as any array over it

    def __init__(self, layout: type = Versioned, deleter: bool = True, **fields: Any) -> None:
        self.made.append(self)
        self.deleted = 0
        self.managed = layout()
        self.deleter = Deleter(self.delete) if deleter else Deleter()
        self.managed.deleter = self.deleter
        if layout is Versioned:
            self.managed.major, self.managed.minor = 1, 1
        for name, value in {"device_type": CPU, "lanes": 1, **fields}.items():
            self.set(name, value)
        self.capsule = api.PyCapsule_New(ctypes.addressof(self.managed), NAMES[layout], None)

    def set(self, name, value):
        if name in ("shape", "strides") and value is not None:
            value = (ctypes.c_int64 * 64)(*value)
        setattr(self.managed if hasattr(self.managed, name) else self.managed.tensor, name, value)

    def delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    @property
    def name(self):
        return api.PyCapsule_GetName(self.capsule)

    def take(self):
        return _core.from_dlpack(self.capsule, None)


def fields_of(a, address=None, **more):
    """The fields that describe a NumPy array, or another of its layout elsewhere."""
    return {
        "data": a.__array_interface__["data"][0] if address is None else address,
        "ndim": a.ndim,
        "code": CODES[a.dtype.kind],
        "bits": 8 * a.itemsize,
        "shape": a.shape,
        "strides": [s // a.itemsize for s in a.strides],
        **more,
    }


both = pytest.mark.parametrize("layout", [Managed, Versioned], ids=lambda x: x.__name__)


@both
@pytest.mark.parametrize("dtype", ALL_DTYPES)
@pytest.mark.parametrize("kind", [CPU, PINNED])
def test_a_host_tensor_becomes_a_numpy_array_over_its_memory(dtype, layout, kind):
    a = values(dtype, (6, 8))
    for view in (a, a[::-1, ::3], a.T, a[2, 3, ...], np.broadcast_to(a[:1], (5, 8)), a[:0]):
        producer = Producer(layout, **fields_of(view, device_type=kind))
        got = producer.take()
        assert producer.name == USED[layout]
        assert got.dtype == view.dtype
        assert got.shape == view.shape
        np.testing.assert_array_equal(got, view)
        assert np.shares_memory(got, a) == (view.size > 0)
        part = got[..., :1] if got.ndim else got[...]
        del got
        assert producer.deleted == (0 if part.base is not None else 1)
        del part
        assert producer.deleted == 1


@both
def test_without_strides_a_tensor_is_contiguous(layout):
    a = values("int16", (3, 4, 5))
    producer = Producer(layout, **fields_of(a, strides=None))
    assert_same(producer.take(), a)
    assert producer.deleted == 1


@both
def test_the_byte_offset_counts(layout):
    a = values("float64", 10)
    tail = fields_of(a[4:], a.__array_interface__["data"][0], byte_offset=32)
    np.testing.assert_array_equal(Producer(layout, **tail).take(), a[4:])


def test_a_read_only_tensor_is_read_only():
    a = values("float32", 9)
    assert Producer(Managed, **fields_of(a)).take().flags.writeable
    assert Producer(Versioned, **fields_of(a, flags=IS_COPIED)).take().flags.writeable
    assert not Producer(Versioned, **fields_of(a, flags=READ_ONLY)).take().flags.writeable


@both
def test_an_empty_tensor_may_be_nowhere(layout):
    for shape in ((0,), (3, 0), (0, 2**40)):
        producer = Producer(layout, data=None, ndim=len(shape), code=2, bits=32, shape=shape)
        got = producer.take()
        assert got.shape == shape
        del got
        assert producer.deleted == 1


@both
def test_a_tensor_without_a_deleter_is_taken(layout):
    a = values("int8", 5)
    np.testing.assert_array_equal(Producer(layout, deleter=False, **fields_of(a)).take(), a)


@both
@pytest.mark.parametrize("kind", [CUDA, MANAGED])
def test_a_device_tensor_becomes_a_device_array_over_its_memory(gpu, layout, kind):
    a = values("float32", (6, 8))
    there = on_device(a, gpu)
    for view in (a, a[::2, ::-1], a.T):
        first = view.__array_interface__["data"][0] - a.__array_interface__["data"][0]
        fields = fields_of(view, there._pointer + first, device_type=kind)
        fields["device_id"] = int((gpu + ":0").split(":")[1]) if kind == CUDA else 0
        producer = Producer(layout, **fields)
        got = producer.take()
        assert isinstance(got, warpkit.DeviceArray)
        assert got.device == there.device
        assert_same(got.numpy(), np.ascontiguousarray(view))
        got[0] = 7
        assert (there.numpy() == 7).any()
        there[:] = a
        part = got[1:]
        del got
        assert producer.deleted == 0
        del part
        assert producer.deleted == 1


def test_a_read_only_device_tensor_is_not_written_to(gpu):
    there = on_device(np.zeros(3), gpu)
    fields = fields_of(np.zeros(3), there._pointer, device_type=CUDA, flags=READ_ONLY)
    got = Producer(Versioned, **fields).take()
    with pytest.raises(ValueError, match="read-only"):
        warpkit.transpose(on_device(np.ones(3), gpu), out=got)


BLOCK = np.zeros(64)
GOOD = fields_of(BLOCK.reshape(4, 16)[:, ::2])
FAR = 2**63 - 1
MALFORMED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "axes, negative": ({"ndim": -1}, BufferError, "-1 axes"),
    "axes, too many": ({"ndim": 65}, BufferError, "65 axes"),
    "axes, far too many": ({"ndim": 2**31 - 1}, BufferError, "axes"),
    "shape NULL": ({"shape": None}, BufferError, "shape is NULL"),
    "extent negative": ({"shape": (4, -8)}, BufferError, "negative"),
    "extent most negative": ({"shape": (-(2**63), 8)}, BufferError, "negative"),
    "size overflows": ({"shape": (2**32, 2**32)}, BufferError, "size overflows"),
    "bytes overflow": ({"shape": (2**30, 2**30)}, BufferError, "size overflows"),
    "size of nothing overflows": (
        {"ndim": 3, "shape": (2**32, 0, 2**32), "strides": None},
        BufferError,
        "size overflows",
    ),
    "stride overflows": ({"strides": (2**61, 1)}, BufferError, "stride overflows"),
    "stride most negative": ({"strides": (-(2**63), 1)}, BufferError, "stride overflows"),
    "strides overflow": ({"strides": (2**59, 2**59)}, BufferError, "strides overflow"),
    "above the address space": (
        {"shape": (2, 8), "strides": (2**60 - 64, 1)},
        BufferError,
        "address space",
    ),
    "below the address space": ({"strides": (-(2**58), 1)}, BufferError, "address space"),
    "offset overflows": ({"byte_offset": 2**64 - 8}, BufferError, "byte_offset"),
    "offset misaligns": ({"byte_offset": 4}, BufferError, "aligned"),
    "misaligned": ({"data": GOOD["data"] + 1}, BufferError, "aligned"),
    "nowhere": ({"data": None}, BufferError, "NULL"),
    "nowhere, with an offset": ({"data": None, "byte_offset": 4096}, BufferError, "NULL"),
    "quarter": ({"bits": 8}, TypeError, "float8 is not taken"),
    "wide": ({"bits": 128}, TypeError, "float128 is not taken"),
    "bfloat": ({"code": 4, "bits": 32}, TypeError, "bfloat32 is not taken"),
    "complex": ({"code": 5, "bits": 32}, TypeError, "complex32 is not taken"),
    "handle": ({"code": 3, "bits": 64}, TypeError, "handle64"),
    "wide bool": ({"code": 6, "bits": 32}, TypeError, "bool32"),
    "int of 4 bits": ({"code": 0, "bits": 4}, TypeError, "int4"),
    "int of 0 bits": ({"code": 0, "bits": 0}, TypeError, "int0"),
    "int of 24 bits": ({"code": 0, "bits": 24}, TypeError, "int24"),
    "unknown dtype": ({"code": 17, "bits": 4}, TypeError, "code 17"),
    "no lanes": ({"lanes": 0}, BufferError, "0 lanes"),
    "lanes": ({"lanes": 4}, BufferError, "4 lanes"),
    "ROCm": ({"device_type": 10}, BufferError, "ROCm memory"),
    "OpenCL": ({"device_type": 4}, BufferError, "OpenCL memory"),
    "Metal": ({"device_type": 8}, BufferError, "Metal memory"),
    "Trainium": ({"device_type": 18}, BufferError, "Trainium memory"),
    "no device": ({"device_type": 0}, BufferError, "unknown memory"),
    "unknown device": ({"device_type": 5}, BufferError, "device type 5"),
    "far device": ({"device_type": 2**31 - 1}, BufferError, "device type 2147483647"),
    "negative device": ({"device_type": -1}, BufferError, "device type -1"),
    "host memory said to be a device's": ({"device_type": CUDA}, ValueError, "memory of no device"),
    "host memory said to be managed": ({"device_type": MANAGED}, ValueError, "memory of no device"),
}


def check_refused(producer, kind, words):
    before = producer.name
    for _ in range(2):
        with pytest.raises(kind) as caught:
            producer.take()
        assert words in str(caught.value)
        assert producer.name == before
        assert producer.deleted == 0


@both
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_tensor_is_refused_and_stays_its_owners(name, layout):
    fields, kind, words = MALFORMED[name]
    check_refused(Producer(layout, **{**GOOD, **fields}), kind, words)
    producer = Producer(layout, **GOOD)  # the one that all of them spoil
    producer.take()
    assert producer.deleted == 1


@pytest.mark.parametrize("major", [0, 2, 2**32 - 1])
def test_a_tensor_of_another_major_version_is_refused(major):
    check_refused(Producer(**GOOD, major=major), BufferError, f"version {major}.1")
    Producer(**GOOD, minor=9).take()


def test_a_tensor_on_another_gpu_than_it_says_is_refused(gpu):
    if not gpu.startswith("cuda"):
        pytest.skip("only GPUs have numbers")
    there = on_device(np.zeros(3), gpu)
    fields = fields_of(np.zeros(3), there._pointer, device_type=CUDA, device_id=77)
    check_refused(Producer(**fields), BufferError, "77")


@both
def test_a_used_capsule_is_refused(layout):
    producer = Producer(layout, **GOOD)
    array = producer.take()
    with pytest.raises(BufferError, match="used already"):
        producer.take()
    assert producer.deleted == 0
    del array
    assert producer.deleted == 1


def test_one_of_several_threads_gets_a_capsule():
    for _ in range(50):
        producer, start, got = Producer(Versioned, **GOOD), threading.Barrier(4), []

        def take(producer=producer, start=start, got=got):
            start.wait()
            with contextlib.suppress(BufferError):
                got.append(producer.take())

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 1
        assert producer.deleted == 0
        got.clear()
        assert producer.deleted == 1


def test_complex_numbers_are_aligned_as_their_parts_on_the_host_and_as_a_whole_on_a_device(device):
    a = values("complex128", (40, 30))
    room = np.zeros(2 * a.size + 3)
    first = room.ctypes.data % 16 // 8 ^ 1  # so that elements lie at 8 modulo 16
    b = Producer(Versioned, **fields_of(a, room[first:].ctypes.data)).take()
    b[:] = a
    assert b.ctypes.data % 16 == 8
    for call in (
        lambda a, **k: warpkit.reduce(a, "sum", **k),
        lambda a, **k: warpkit.reduce(a, ("mean", "max", "norm"), 0, **k)[1],
        lambda a, **k: warpkit.reduce(a, "prod", 1, **k),
        warpkit.transpose,
        lambda a, **k: warpkit.stencil1d(a, [1, 2j, 3], 0, **k),
        lambda a, **k: warpkit.histogram(a.real, 9, weights=a, **k)[0],
    ):
        assert_same(np.asarray(call(b, device=device)), np.asarray(call(a, device=device)))
    if device != "cpu":
        there = on_device(np.zeros(2 * a.size), device)
        whole = take(Described(there, shape=(8,), strides=None, typestr="<c16"))
        assert whole.dtype == np.complex128
        shifted = {"data": (there._pointer + 8, False), "shape": (8,), "strides": None}
        with pytest.raises(ValueError, match=r"aligned.*complex.*copy"):
            take(Described(there, typestr="<c16", **shifted))


def test_what_is_no_capsule_of_a_tensor_is_refused():
    for name in (b"dltensor2", b"", None, b"numpy._ARRAY_API"):
        capsule = api.PyCapsule_New(ctypes.addressof(Tensor()), name, None)
        with pytest.raises(BufferError, match="holds no tensor"):
            _core.from_dlpack(capsule, None)
    for thing in (None, 1, b"dltensor", np.zeros(3)):
        with pytest.raises(TypeError, match="expected a capsule"):
            _core.from_dlpack(thing, None)
    with pytest.raises(TypeError, match="2 arguments"):
        _core.from_dlpack(None)


int64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 9),
    st.sampled_from([FAR, -FAR - 1, 2**31, 2**32, 2**60, -(2**60)]),
)
extents = st.lists(int64 | st.integers(0, 4), max_size=6)  # zeros behind
addresses = st.sampled_from([0, 1, GOOD["data"], GOOD["data"] + 3]) | st.integers(0, 2**64 - 1)
random_tensors = st.fixed_dictionaries(
    {
        "data": addresses,
        "device_type": st.sampled_from([CPU, CUDA, PINNED, MANAGED]) | st.integers(-2, 20),
        "device_id": st.integers(-1, 3),
        "ndim": st.integers(0, 4) | st.integers(-(2**31), 2**31 - 1),
        "code": st.sampled_from([0, 1, 2, 6]) | st.integers(0, 255),
        "bits": st.sampled_from([8, 16, 32, 64]) | st.integers(0, 255),
        "lanes": st.just(1) | st.integers(0, 2**16 - 1),
        "shape": st.none() | extents,
        "strides": st.none() | extents,
        "byte_offset": st.just(0) | st.sampled_from([8, 2**63, 2**64 - 1]),
        "layout": st.sampled_from([Managed, Versioned]),
    }
)


def check_random_tensor(fields):
    """Refused and left alone, or taken and then deleted once; no element is ever read."""
    producer = Producer(**fields)
    try:
        array = producer.take()
    except ERRORS:
        assert producer.deleted == 0
        assert producer.name in NAMES.values()
    else:
        assert array.ndim == fields["ndim"]
        assert producer.name in USED.values()
        del array
        assert producer.deleted == 1


@settings(deadline=None, max_examples=300)
@given(random_tensors)
@example({**GOOD, "layout": Managed})
def test_any_tensor_is_taken_or_refused(fields):
    check_random_tensor(fields)


# ---- DLPack out --------------------------------------------------------------------------------


def tensor_of(capsule, layout):
    address = api.PyCapsule_GetPointer(capsule, NAMES[layout])
    return layout.from_address(address)


@both
@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_an_exported_tensor_says_what_the_array_is(gpu, layout, dtype):
    whole = on_device(values(dtype, (4, 6)), gpu)
    for a in (whole, whole[::-2, 1::2], whole.T, whole[1:2, :, None], whole[2, 3], whole[:0]):
        capsule = _core.to_dlpack(a, layout is Versioned, False)
        managed = tensor_of(capsule, layout)
        t = managed.tensor
        kind, _, ordinal = gpu.partition(":")
        assert (t.device_type, t.device_id) == (
            (CUDA, int(ordinal)) if kind == "cuda" else (CPU, 0)
        )
        assert (t.device_type, t.device_id) == a.__dlpack_device__()
        assert (t.code, t.bits, t.lanes) == (CODES[a.dtype.kind], 8 * a.itemsize, 1)
        assert t.shape[: t.ndim] == list(a.shape)
        steps = zip(t.strides[: t.ndim], a.strides, a.shape, strict=True)
        assert all(s * a.itemsize == b for s, b, extent in steps if extent > 1)
        assert (t.data or 0) + t.byte_offset == (a._pointer if a.size else 0)
        if layout is Versioned:
            assert (managed.major, managed.minor, managed.flags) == (1, 3, 0)


def test_axes_of_one_element_have_the_strides_of_a_contiguous_array(gpu):
    a = on_device(values("int32", (1, 5, 1)), gpu)[:, None]
    capsule = _core.to_dlpack(a, False, False)
    assert tensor_of(capsule, Managed).tensor.strides[:4] == [5, 5, 1, 1]


def test_a_copy_says_so(gpu):
    a = on_device(values("int32", 5), gpu)
    capsule = a.__dlpack__(max_version=(1, 1), copy=True)
    managed = tensor_of(capsule, Versioned)
    assert managed.flags == IS_COPIED
    assert managed.tensor.data != a._pointer


def test_what_is_read_only_stays_so(gpu):
    a = on_device(np.zeros(3), gpu)
    constant = take(Described(a, data=(a._pointer, True)))
    capsule = _core.to_dlpack(constant, True, False)
    assert tensor_of(capsule, Versioned).flags == READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        _core.to_dlpack(constant, False, False)


@both
def test_a_capsule_that_nobody_takes_lets_its_array_go(gpu, layout):
    a = on_device(values("int32", 5), gpu)
    before = sys.getrefcount(a)
    capsule = _core.to_dlpack(a, layout is Versioned, False)
    assert sys.getrefcount(a) == before + 1
    del capsule
    assert sys.getrefcount(a) == before


@both
def test_a_deleter_may_be_called_from_any_thread_without_the_gil(gpu, layout):
    a = on_device(values("int32", 5), gpu)
    before = sys.getrefcount(a)
    capsule = _core.to_dlpack(a, layout is Versioned, False)
    managed = tensor_of(capsule, layout)
    api.PyCapsule_SetName(capsule, USED[layout])
    del capsule  # taken: its end is not the tensor's
    assert sys.getrefcount(a) == before + 1
    thread = threading.Thread(target=managed.deleter, args=(ctypes.addressof(managed),))
    thread.start()
    thread.join()
    assert sys.getrefcount(a) == before


def test_an_array_outlives_the_name_it_had_through_its_tensor(gpu):
    a = on_device(values("int32", (3, 4)), gpu)
    want, capsule = a.numpy(), a.__dlpack__(max_version=(1, 0))
    del a
    other = on_device(np.full((3, 4), -1, np.int32), gpu)  # not in the same memory
    got = _core.from_dlpack(capsule, None)
    del capsule
    got = got if isinstance(got, np.ndarray) else got.numpy()
    np.testing.assert_array_equal(got, want)
    del other


def test_numpy_sees_the_memory_of_the_emulated_device(gpu):
    if gpu != "emu":
        pytest.skip("NumPy reads no GPU's memory")
    for view in (np.s_[:], np.s_[::-1, ::3], np.s_[1], np.s_[:0]):
        a = on_device(values("float32", (5, 7)), gpu)
        before = sys.getrefcount(a)
        seen = np.from_dlpack(a[view])
        assert seen.shape == a[view].shape
        np.testing.assert_array_equal(seen, a.numpy()[view])
        seen[...] = 3
        np.testing.assert_array_equal(a.numpy()[view], seen)
        assert np.shares_memory(seen, np.from_dlpack(a)) == (seen.size > 0)
        del seen
        assert sys.getrefcount(a) == before


def test_what_was_computed_is_seen_through_a_tensor(gpu):
    """A result whose value came to the host by itself must not be remembered beyond a write."""
    if gpu != "emu":
        pytest.skip("NumPy reads no GPU's memory")
    total = warpkit.reduce(on_device(values("int32", 1000), gpu))
    seen = np.from_dlpack(total)
    assert int(seen) == int(total)
    seen[...] = 5
    assert int(total) == 5


def test_only_device_arrays_are_exported():
    for thing in (None, 1, np.zeros(3), warpkit.DeviceArray):
        with pytest.raises(TypeError, match="expected a DeviceArray"):
            _core.to_dlpack(thing, True, False)


# ---- from_dlpack -------------------------------------------------------------------------------


class Newest:
    """A library's array that speaks DLPack; what it was asked is written down."""

    def __init__(self, array, asked=None):
        self.array, self.asked = array, [] if asked is None else asked

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append({"stream": stream, "max_version": max_version, "copy": copy})
        return self.array.__dlpack__(stream=stream, max_version=max_version, copy=copy)


class Middle(Newest):
    def __dlpack__(self, *, stream=None):
        self.asked.append({"stream": stream})
        return self.array.__dlpack__(stream=stream)


class Oldest(Newest):
    def __dlpack__(self):
        self.asked.append({})
        return self.array.__dlpack__()


def placed(a, device):
    """A device array with the memory of a NumPy array, and where a's first element is in it."""
    whole = a
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    there = on_device(whole, device)
    first = a.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return there, there._pointer + first


class DeviceTensor(Newest):
    """An array in a device's memory that says so; the emulated device's own would say "host"."""

    def __init__(self, a, device):
        there, address = placed(a, device)
        super().__init__(there)
        self.shape, self.dtype = a.shape, a.dtype
        self.fields = fields_of(a, address, device_type=CUDA)
        self.fields["device_id"] = int((device + ":0").split(":")[1])
        self.like = a

    def __dlpack_device__(self):
        return CUDA, self.fields["device_id"]

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if asked.get("copy"):
            raise BufferError("this library does not copy")
        self.producer = Producer(**self.fields)
        return self.producer.capsule

    def numpy(self):
        whole = self.array.numpy()
        offset = self.fields["data"] - self.array._pointer
        return np.ndarray(self.shape, self.dtype, whole, offset, self.like.strides)


@pytest.mark.parametrize("kind", [Newest, Middle, Oldest])
@pytest.mark.parametrize("copy", [None, False, True])
def test_from_dlpack_speaks_to_libraries_of_any_age(kind, copy):
    a = values("float32", (3, 4))
    asked: list[dict[str, Any]] = []
    got = warpkit.from_dlpack(kind(a, asked), copy=copy)
    assert_same(np.array(got), a)
    assert np.shares_memory(got, a) != bool(copy)
    assert all(one.get("stream") is None for one in asked)
    if kind is Newest:
        assert asked == [{"stream": None, "max_version": (1, 3), "copy": copy}]


def test_from_dlpack_keeps_what_is_read_only_so():
    a = values("float32", 5)
    a.flags.writeable = False
    assert not warpkit.from_dlpack(a).flags.writeable
    assert warpkit.from_dlpack(a, copy=True).flags.writeable


def test_from_dlpack_takes_a_devices_memory_in_the_order_of_the_default_stream(gpu):
    a = values("float32", (3, 4))
    thing = DeviceTensor(a, gpu)
    got = warpkit.from_dlpack(thing)
    assert isinstance(got, warpkit.DeviceArray)
    assert (got.device, got._stream, got._pointer) == (thing.array.device, 1, thing.array._pointer)
    assert thing.asked[-1]["stream"] == 1
    assert_same(got.numpy(), a)
    same = warpkit.from_dlpack(thing, device=gpu)
    assert same._pointer == got._pointer
    host = warpkit.from_dlpack(thing, device="cpu")
    assert_same(host, a)
    with pytest.raises(ValueError, match="without a copy"):
        warpkit.from_dlpack(thing, device="cpu", copy=False)
    with pytest.raises(BufferError, match="does not copy"):
        warpkit.from_dlpack(thing, copy=True)


def test_from_dlpack_brings_a_host_array_to_the_device_that_is_named(gpu):
    a = values("float32", (3, 4))
    got = warpkit.from_dlpack(a, device=gpu)
    assert (type(got), got.device) == (warpkit.DeviceArray, gpu)
    assert_same(got.numpy(), a)
    with pytest.raises(ValueError, match="without a copy"):
        warpkit.from_dlpack(a, device=gpu, copy=False)


def test_an_emulated_devices_array_comes_back_as_host_memory(gpu):
    a = on_device(values("float32", (3, 4)), gpu)
    got = warpkit.from_dlpack(a)
    if gpu == "emu":
        assert np.shares_memory(got, np.from_dlpack(a))
    else:
        assert got._pointer == a._pointer


@pytest.mark.parametrize(
    ("thing", "options", "kind", "words"),
    [
        (np.zeros(3), {"device": 1}, TypeError, "device must be a str"),
        (np.zeros(3), {"device": "nonsense"}, ValueError, "nonsense"),
        (np.zeros(3, "g"), {}, BufferError, None),
        (np.zeros(3, ">f4"), {}, BufferError, None),
        ([1, 2], {}, AttributeError, "__dlpack_device__"),
    ],
    ids=str,
)
def test_from_dlpack_refuses(thing, options, kind, words):
    with pytest.raises(kind, match=words):
        warpkit.from_dlpack(thing, **options)


def test_from_dlpack_asks_nothing_of_a_device_that_it_does_not_take():
    class Elsewhere(Newest):
        def __dlpack_device__(self):
            return 8, 0

    thing = Elsewhere(np.zeros(3))
    with pytest.raises(BufferError, match="device type 8"):
        warpkit.from_dlpack(thing)
    assert thing.asked == []


@pytest.mark.parametrize("answer", [None, 1, (1,), (1, 0, 0), ("CPU", 0)], ids=str)
def test_an_answer_that_is_no_device_is_an_error(answer):
    class Wrong(Newest):
        def __dlpack_device__(self):
            return answer

    with pytest.raises((TypeError, ValueError)):
        warpkit.from_dlpack(Wrong(np.zeros(3)))


def test_what_a_library_raises_is_passed_on():
    class Fails(Newest):
        def __dlpack__(self, **asked):
            raise TypeError("no such luck")

    with pytest.raises(TypeError, match="no such luck"):
        warpkit.from_dlpack(Fails(np.zeros(3)))


# ---- __cuda_array_interface__ ------------------------------------------------------------------


class Described:
    """An object of a library that nobody knows, over a device array's memory."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array._pointer, False),
            "strides": array.strides,
            "version": 3,
            "stream": 1,
            **changes,
        }


def take(thing):
    return _interop.from_cuda_array_interface(thing)


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if d != "bfloat16"])
@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_an_interface_is_read_in_place(gpu, dtype, version):
    whole = on_device(values(dtype, (4, 6)), gpu)
    for a in (whole, whole[::-2, 1::2], whole.T, whole[2, 3], whole[:0]):
        thing = Described(a, version=version)
        before = sys.getrefcount(thing)
        got = take(thing)
        assert (got.shape, got.dtype, got.device) == (a.shape, a.dtype, a.device)
        if a.size:
            assert got._pointer == a._pointer
        assert_same(got.numpy(), a.numpy())
        assert got._owner is thing
        part = got[...]
        del got
        assert sys.getrefcount(thing) == before + 1
        del part
        assert sys.getrefcount(thing) == before


def test_an_owner_that_holds_views_of_itself_is_collected(gpu):
    before = warpkit.memory_info(gpu)["pool_used"]
    for views in (1, 2, 5):
        thing = Described(on_device(values("float64", 6), gpu))
        thing.views = [warpkit.asarray(thing)]
        thing.views += [thing.views[0][i:] for i in range(views - 1)]
        gone = weakref.ref(thing)
        assert all(gc.is_tracked(view) for view in thing.views)
        last = thing.views[-1]
        want = last.numpy()
        del thing
        gc.collect()
        assert gone() is not None  # a view is in use
        assert_same(last.numpy(), want)
        del last
        gc.collect()
        assert gone() is None
    assert warpkit.memory_info(gpu)["pool_used"] == before


class Stream:
    def __cuda_stream__(self):
        return 0, 1


def test_a_stream_that_holds_its_arrays_is_collected(gpu):
    stream = Stream()
    stream.array = warpkit.asarray([1.0, 2.0], device=gpu, stream=stream)
    stream.result = warpkit.reduce(stream.array, stream=stream)
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None


def test_arrays_that_hold_nothing_do_not_trouble_the_collector(gpu):
    a = on_device(values("float32", (4, 6)), gpu)
    for array in (a, a[1:], a.T, warpkit.reduce(a), warpkit.transpose(a)):
        assert not gc.is_tracked(array)
    count = len(gc.get_objects())
    arrays = [warpkit.reduce(a, "sum", 0) for _ in range(1000)]
    assert len(gc.get_objects()) < count + 100
    assert len(arrays) == 1000


def test_what_an_interface_may_leave_out(gpu):
    a = on_device(values("int32", (4, 6)), gpu)
    thing = Described(a)
    for name in ("strides", "stream"):
        del thing.__cuda_array_interface__[name]
    assert_same(take(thing).numpy(), a.numpy())
    more = {"strides": None, "stream": None, "mask": None, "descr": [("", "<i4")], "other": 1}
    assert_same(take(Described(a, **more)).numpy(), a.numpy())
    assert_same(take(Described(a, shape=(np.int64(4), np.int32(6)))).numpy(), a.numpy())


def test_the_stream_of_an_interface_is_the_arrays(gpu):
    a = on_device(values("int32", 3), gpu)
    for stream, handle in (
        (None, 1),
        (1, 1),
        (2, 2),
        (12345 << 8, 12345 << 8),
        (2**64 - 1, 2**64 - 1),
    ):
        assert take(Described(a, stream=stream))._stream == handle
    assert take(Described(a, stream=0, version=2))._stream == 1  # not a key of version 2


def test_an_interface_of_nothing_may_be_nowhere(gpu):
    a = on_device(np.zeros((3, 0)), gpu)
    got = take(Described(a, data=(0, False), strides=None))
    assert got.shape == (3, 0)


def test_an_interface_that_is_read_only_is_not_written_to(gpu):
    a = on_device(np.zeros(3), gpu)
    with pytest.raises(ValueError, match="read-only"):
        warpkit.transpose(on_device(np.ones(3), gpu), out=Described(a, data=(a._pointer, True)))


MISSING = object()
BAD_INTERFACES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no shape": ({"shape": MISSING}, ValueError, "shape"),
    "no typestr": ({"typestr": MISSING}, ValueError, "typestr"),
    "no data": ({"data": MISSING}, ValueError, "data"),
    "no version": ({"version": MISSING}, ValueError, "version"),
    "shape, a list": ({"shape": [4, 6]}, TypeError, "shape must be a tuple"),
    "shape, an int": ({"shape": 24}, TypeError, "shape must be a tuple"),
    "shape of floats": ({"shape": (4.0, 6)}, TypeError, "shape must be of type int"),
    "shape of bools": ({"shape": (True, 6)}, TypeError, "shape must be of type int"),
    "shape of None": ({"shape": (None, 6)}, TypeError, "shape must be of type int"),
    "extent negative": ({"shape": (-4, 6)}, ValueError, "negative"),
    "extent too large": ({"shape": (2**63, 6)}, ValueError, "out of range"),
    "size overflows": ({"shape": (2**40, 2**40)}, ValueError, "overflows"),
    "65 axes": ({"shape": (1,) * 65, "strides": None}, ValueError, "64"),
    "strides, a list": ({"strides": [24, 4]}, TypeError, "strides must be a tuple"),
    "strides too few": ({"strides": (4,)}, ValueError, ""),
    "strides too many": ({"strides": (24, 4, 4)}, ValueError, ""),
    "strides of floats": ({"strides": (24.0, 4)}, TypeError, "strides must be of type int"),
    "strides of half elements": ({"strides": (24, 2)}, ValueError, "multiples"),
    "strides overflow": ({"strides": (2**62, 2**62)}, ValueError, "overflows"),
    "strides most negative": ({"strides": (-(2**63), 4)}, ValueError, "overflows"),
    "strides beyond int64": ({"strides": (2**63, 4)}, ValueError, "out of range"),
    "typestr, a dtype": ({"typestr": np.dtype("i4")}, TypeError, "typestr must be a str"),
    "typestr, bytes": ({"typestr": b"<i4"}, TypeError, "typestr must be a str"),
    "big-endian": ({"typestr": ">i4"}, TypeError, ">i4"),
    "quarter": ({"typestr": "<f1"}, TypeError, "<f1"),
    "wide": ({"typestr": "<f16"}, TypeError, "<f16"),
    "wide complex": ({"typestr": "<c32"}, TypeError, "<c32"),
    "bfloat, a name": ({"typestr": "bfloat16"}, TypeError, "bfloat16"),
    "bfloat, half a name": ({"typestr": "=float16"}, TypeError, "float16"),
    "record": ({"typestr": "|V4"}, TypeError, "V4"),
    "object": ({"typestr": "|O"}, TypeError, "O"),
    "typestr, no order": ({"typestr": "i4"}, TypeError, "i4"),
    "typestr, empty": ({"typestr": ""}, TypeError, "typestr"),
    "typestr, more behind": ({"typestr": "<i4x"}, TypeError, "<i4x"),
    "typestr, a surrogate": ({"typestr": "<\ud800"}, (TypeError, ValueError), ""),
    "data, an int": ({"data": 4096}, TypeError, "data must be a pair"),
    "data, None": ({"data": None}, TypeError, "data must be a pair"),
    "data, a list": ({"data": [4096, False]}, TypeError, "data must be a pair"),
    "data of one": ({"data": (4096,)}, TypeError, "data must be a pair"),
    "data of three": ({"data": (4096, False, 0)}, TypeError, "data must be a pair"),
    "address, None": ({"data": (None, False)}, TypeError, "data must be of type int"),
    "address, a str": ({"data": ("4096", False)}, TypeError, "data must be of type int"),
    "address, a float": ({"data": (4096.0, False)}, TypeError, "data must be of type int"),
    "address negative": ({"data": (-4096, False)}, ValueError, "out of range"),
    "address too large": ({"data": (2**64, False)}, ValueError, "out of range"),
    "address null": ({"data": (0, False)}, ValueError, "null"),
    "address of the host": ({"data": (GOOD["data"], False)}, ValueError, "memory of no device"),
    "address unaligned": ({"data": (4098, False)}, ValueError, "aligned"),
    "version, a str": ({"version": "3"}, TypeError, "version must be of type int"),
    "version, None": ({"version": None}, TypeError, "version must be of type int"),
    "version, a bool": ({"version": True}, TypeError, "version must be of type int"),
    "version 4": ({"version": 4}, ValueError, "version 4"),
    "version negative": ({"version": -1}, ValueError, "out of range"),
    "mask": ({"mask": np.ones(3, bool)}, ValueError, "mask"),
    "stream 0": ({"stream": 0}, ValueError, "stream 0"),
    "stream, a bool": ({"stream": True}, TypeError, "stream must be of type int"),
    "stream, a str": ({"stream": "1"}, TypeError, "stream must be of type int"),
    "stream negative": ({"stream": -1}, ValueError, "out of range"),
    "stream too large": ({"stream": 2**64}, ValueError, "out of range"),
}


@pytest.mark.parametrize("name", BAD_INTERFACES)
def test_a_malformed_interface_is_refused(gpu, name):
    a = on_device(values("int32", (4, 6)), gpu)
    changes, kind, words = BAD_INTERFACES[name]
    thing = Described(a, **changes)
    for key in [key for key, value in changes.items() if value is MISSING]:
        del thing.__cuda_array_interface__[key]
    before = sys.getrefcount(thing)
    for call in (take, warpkit.reduce, warpkit.asarray):
        with pytest.raises(kind) as caught:
            call(thing)
        assert words in str(caught.value)
    del caught
    assert sys.getrefcount(thing) == before
    assert_same(take(Described(a)).numpy(), a.numpy())


@pytest.mark.parametrize("interface", [(), [], "x", 1, np.zeros(3)], ids=repr)
def test_an_interface_that_is_no_dict_is_refused(interface):
    class Thing:
        __cuda_array_interface__ = interface

    with pytest.raises(TypeError, match="must be a dict"):
        warpkit.reduce(Thing())


def test_an_array_that_reaches_beyond_its_device_is_refused(gpu):
    a = on_device(values("int32", 8), gpu)
    with pytest.raises(ValueError, match=r"memory|overflow"):
        take(Described(a, shape=(2**50,), strides=None))


def test_an_array_lies_in_one_allocation(gpu):
    low, high = sorted((on_device(np.ones(250, "f4"), gpu) for _ in range(2)), key=at)
    both = (at(high) + high.nbytes - at(low)) // 4
    backwards = {"data": (at(high), False), "shape": (2,), "strides": (at(low) - at(high),)}
    for changes in ({"shape": (both,)}, {"shape": (251,)}, backwards):
        with pytest.raises(ValueError, match=r"beyond the memory|several devices|no device"):
            take(Described(low, **{"strides": None, **changes}))
    for shape, strides in (((250,), None), ((2,), (249 * 4,)), ((125,), (8,))):
        assert float(warpkit.reduce(take(Described(low, shape=shape, strides=strides)))) == shape[0]


def at(array):
    return array._pointer


anything = st.one_of(
    st.none(), st.booleans(), int64, st.floats(), st.text(max_size=4), st.binary(max_size=3)
)
random_changes = st.dictionaries(
    st.sampled_from(["shape", "typestr", "data", "strides", "version", "stream", "mask", "x"]),
    st.one_of(
        anything,
        st.tuples(int64),
        st.tuples(int64, int64),
        st.tuples(st.integers(0, 2**64), st.booleans()),
        st.tuples(anything, anything),
        st.lists(int64, max_size=70).map(tuple),
        st.sampled_from(["<f4", "|b1", "=u8", "<i2", "|u1", "<f2"]),
    ),
    min_size=1,
)


def check_random_interface(array, changes):
    with contextlib.suppress(*ERRORS):
        got = take(Described(array, **changes))
        assert (got.ndim, got.device) == (len(got.shape), array.device)


@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(random_changes)
def test_any_interface_is_taken_or_refused(gpu, changes):
    check_random_interface(on_device(values("float32", (4, 6)), gpu), changes)


FUZZ = """
import sys
sys.path.insert(0, sys.argv[1])
import test_interop as t
from hypothesis import given, settings

options = settings(deadline=None, max_examples=1000, database=None, derandomize=True)
array = t.on_device(t.np.zeros((4, 6), "f4"), sys.argv[2])
options(given(t.random_tensors)(t.check_random_tensor))()
options(given(t.random_changes)(lambda changes: t.check_random_interface(array, changes)))()
print("done", array.numpy().sum())
"""


def test_no_description_crashes_a_process(gpu):
    assert python(FUZZ, str(Path(__file__).parent), gpu) == "done 0.0\n"


# ---- streams -----------------------------------------------------------------------------------


def stream_class(name="Stream", **attributes):
    return type(name, (), attributes)()


class Handle:
    """A CUstream of CUDA's Python bindings: an int, and no index."""

    def __int__(self):
        return 77


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (0, 1),
        (1, 1),
        (2, 2),
        (2**64 - 1, 2**64 - 1),
        (np.int64(5), 5),
        (stream_class("Any", __cuda_stream__=lambda self: (0, 77)), 77),
        (stream_class("Any", __cuda_stream__=lambda self: (0, 0)), 1),
        (stream_class("Any", __cuda_stream__=lambda self: (0, Handle())), 77),
        (stream_class("Any", __cuda_stream__=(0, 77)), 77),
        (stream_class("Any", __cuda_stream__=property(lambda self: (0, 77))), 77),
        (stream_class(ptr=77), 77),
        (stream_class("ExternalStream", ptr=0), 1),
        (stream_class(cuda_stream=77), 77),
        (stream_class(handle=ctypes.c_void_p(77)), 77),
        (stream_class(handle=ctypes.c_void_p(0)), 1),
        (stream_class(handle=Handle()), 77),
        (stream_class(__cuda_stream__=lambda self: (0, 77), ptr=3), 77),
    ],
)
def test_the_handle_of_a_stream(stream, handle):
    assert _interop.stream_handle(stream) == handle


@pytest.mark.parametrize(
    ("stream", "kind", "words"),
    [
        (True, TypeError, "not bool"),
        (np.True_, TypeError, "stream must be a handle"),
        (1.0, TypeError, "not float"),
        ("1", TypeError, "not str"),
        (b"1", TypeError, "not bytes"),
        (object(), TypeError, "not object"),
        ((0, 1), TypeError, "not tuple"),
        (-1, ValueError, "out of range"),
        (2**64, ValueError, "out of range"),
        (stream_class(), TypeError, "not Stream"),
        (stream_class("MemoryPointer", ptr=4096), TypeError, "not MemoryPointer"),
        (stream_class(ptr=-1), ValueError, "out of range"),
        (stream_class(__cuda_stream__=lambda self: 77), TypeError, "pair"),
        (stream_class(__cuda_stream__=lambda self: (0,)), TypeError, "pair"),
        (stream_class(__cuda_stream__=lambda self: (1, 77)), ValueError, "version 1"),
        (stream_class(__cuda_stream__=lambda self: (0, None)), TypeError, "NoneType"),
        (
            stream_class(__cuda_stream__=lambda self: (0, True)),
            TypeError,
            "stream must be a handle",
        ),
        (stream_class(__cuda_stream__=lambda self: (0, -1)), ValueError, "out of range"),
    ],
)
def test_what_is_no_stream_is_refused(stream, kind, words):
    with pytest.raises(kind, match=words):
        _interop.stream_handle(stream)
    with pytest.raises(kind, match=words):
        warpkit.reduce(np.ones(3), device="cpu", stream=stream)


# ---- every operation on every library's arrays -------------------------------------------------


class Operation(NamedTuple):
    make: Any  # its input
    call: Any


FLOATS = few_values("float32", (20, 33)) + np.float32(0.25)
OPERATIONS = {
    "reduce": Operation(FLOATS, lambda a, **k: warpkit.reduce(a, axis=0, **k)),
    "reduce to one": Operation(FLOATS, lambda a, **k: warpkit.reduce(a, **k)),
    "reduce to one in 64 bits": Operation(
        np.arange(99, dtype=np.int32) + 2**30, lambda a, **k: warpkit.reduce(a, **k)
    ),
    "reduce nothing": Operation(FLOATS[:0], lambda a, **k: warpkit.reduce(a, axis=0, **k)),
    "mean": Operation(
        values("int16", (8, 9)), lambda a, **k: warpkit.reduce(a, "mean", keepdims=True, **k)
    ),
    "transpose": Operation(FLOATS, lambda a, **k: warpkit.transpose(a, **k)),
    "transpose of strides": Operation(
        values("float64", (9, 40))[::-2, ::3].T, lambda a, **k: warpkit.transpose(a, **k)
    ),
    "stencil1d": Operation(FLOATS, lambda a, **k: warpkit.stencil1d(a, [1, -2, 1], 0, **k)),
    "gradient1d": Operation(FLOATS, lambda a, **k: warpkit.gradient1d(a, 0.5, 0, accuracy=4, **k)),
    "histogram": Operation(FLOATS, lambda a, **k: warpkit.histogram(a, 7, **k)),
    "histogram of edges": Operation(
        values("uint8", 1000), lambda a, **k: warpkit.histogram(a, [3, 50, 99, 200], **k)
    ),
    "density": Operation(FLOATS, lambda a, **k: warpkit.histogram(a, 7, density=True, **k)),
    "bincount": Operation(
        np.arange(300, dtype=np.int32) % 77, lambda a, **k: warpkit.bincount(a, **k)
    ),
    "warp_histogram": Operation(FLOATS, lambda a, **k: warpkit.warp_histogram(a, **k)),
    "run_length": Operation(
        np.arange(900, dtype=np.int16) // 7, lambda a, **k: warpkit.run_length(a, **k)
    ),
    "unique_counts": Operation(FLOATS, lambda a, **k: warpkit.unique_counts(a, **k)),
}


class Peer(NamedTuple):
    """A library: its array from NumPy's, NumPy's from its, and the kind that results are."""

    make: Any
    host: Any
    kind: type
    writes: bool = True  # its arrays may be written to
    device: str = ""


def described(a, device):
    """Of a's layout too."""
    there, address = placed(a, device)
    thing = Described(there, shape=a.shape, strides=a.strides, data=(address, False))
    thing.numpy = there.numpy  # of an array that is all of its memory
    return thing


def peer_interface(device):
    return Peer(described, lambda r: r.numpy(), warpkit.DeviceArray)


def peer_dlpack(device):
    return Peer(DeviceTensor, lambda r: r.numpy(), warpkit.DeviceArray)


def peer_opaque(device):
    """An array of the host that NumPy knows nothing of."""
    return Peer(lambda a, _: Newest(a), lambda r: getattr(r, "array", r), np.ndarray)


def imported(name):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    return pytest.importorskip(name, exc_type=ImportError)


def peer_cupy(device):
    cupy = imported("cupy")

    def make(a, device):
        there, address = placed(a, device)
        with cupy.cuda.Device(int(device[5:])):
            memory = cupy.cuda.UnownedMemory(there._pointer, there.nbytes, there)
            pointer = cupy.cuda.MemoryPointer(memory, address - there._pointer)
            view = cupy.ndarray(a.shape, a.dtype, pointer, a.strides)
            return view if a.size else cupy.empty(a.shape, a.dtype)

    return Peer(make, lambda r: r.get(), cupy.ndarray)


def peer_torch(device):
    torch = imported("torch")

    def make(a, device):
        a = a if all(s >= 0 for s in a.strides) else a.copy()  # PyTorch has no negative strides
        return torch.from_numpy(a).to(device if device.startswith("cuda") else "cpu")

    return Peer(make, lambda r: r.cpu().numpy(), torch.Tensor)


def peer_jax(device):
    jax = imported("jax")
    kind = "gpu" if device.startswith("cuda") else "cpu"
    try:
        place = next(d for d in jax.devices(kind) if kind == "cpu" or device == f"cuda:{d.id}")
    except (RuntimeError, StopIteration):
        pytest.skip(f"JAX has no {device}")

    def make(a, _):
        with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
            return jax.device_put(a, place)

    return Peer(make, np.asarray, jax.Array, writes=False)


def peer_numba(device):
    imported("numba")
    cuda = imported("numba.cuda")

    def make(a, device):
        with cuda.gpus[int(device[5:])]:
            return cuda.to_device(np.array(a, order="C"))  # it takes no others

    if not cuda.is_available():
        pytest.skip("Numba finds no GPU")
    kind = type(make(np.zeros(1), device))
    return Peer(make, lambda r: r.copy_to_host(), kind)


class Memory(NamedTuple):
    ptr: int
    device_id: int


class LikeCuPy:
    """CuPy's array, as far as it is read, on the emulated device."""

    __cuda_array_interface__ = property(lambda self: pytest.fail("the slow way was taken"))

    def __init__(self, shape, dtype, array=None):
        self.array = warpkit.empty(shape, dtype, device="emu") if array is None else array
        self.data = Memory(self.array._pointer, 0)
        self.shape, self.strides, self.dtype = shape, self.array.strides, self.array.dtype


class LikePyTorch:
    """PyTorch's tensor, likewise; its dtypes are NumPy's."""

    layout, requires_grad, is_cuda = "strided", False, True

    def __init__(self, shape, dtype, array=None, device=None):
        self.array = warpkit.empty(shape, dtype, device="emu") if array is None else array
        self.shape, self.dtype = shape, self.array.dtype

    def is_neg(self):
        return False

    def get_device(self):
        return 0

    def element_size(self):
        return self.array.itemsize

    def data_ptr(self):
        return self.array._pointer

    def is_contiguous(self):
        view = np.empty(self.shape, self.array.dtype)
        return view.size < 2 or self.array.strides == view.strides

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)


def peer_like_cupy(device):
    stream = types.SimpleNamespace(ptr=0)
    cuda = types.SimpleNamespace(
        get_current_stream=lambda ordinal: stream, get_device_id=lambda: 0, Device=None
    )
    convert = {"from_dlpack": lambda a: LikeCuPy(a.shape, a.dtype, a), "asarray": pytest.fail}
    library = _libraries.CuPy(types.SimpleNamespace(ndarray=LikeCuPy, cuda=cuda, **convert))
    return peer_like(LikeCuPy, library)


def peer_like_torch(device):
    dtypes = {name: np.dtype(name) for name in ALL_DTYPES}
    library = _libraries.PyTorch(
        types.SimpleNamespace(
            **dtypes,
            _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: 0),
            Tensor=LikePyTorch,
            strided="strided",
            device=str,
            empty=LikePyTorch,
            from_dlpack=lambda a: LikePyTorch(a.shape, a.dtype, a),
        )
    )
    return peer_like(LikePyTorch, library)


def peer_like(kind, library):
    _libraries._by_type[kind] = library

    def make(a, device):
        there, address = placed(a, device)
        return kind(a.shape, a.dtype, there._view(address, a.shape, a.strides, a.dtype))

    return Peer(make, lambda r: r.array.numpy(), kind)


ON_HOST = {"opaque": peer_opaque, "torch": peer_torch, "jax": peer_jax}
ON_DEVICE = {"interface": peer_interface, "dlpack": peer_dlpack}
ON_GPU = {"cupy": peer_cupy, "torch": peer_torch, "jax": peer_jax, "numba": peer_numba}
ON_EMU = {"like CuPy": peer_like_cupy, "like PyTorch": peer_like_torch}
PEERS = {"cpu": ON_HOST, "emu": ON_HOST | ON_DEVICE | ON_EMU, "cuda": ON_HOST | ON_DEVICE | ON_GPU}
EVERY = [(name, make) for name in helpers.devices for make in PEERS[name.partition(":")[0]].items()]


@pytest.fixture(params=[pytest.param((d, make), id=f"{n}-{d}") for d, (n, make) in EVERY])
def peer(request):
    """A library, and where its arrays lie."""
    device, make = request.param
    return make(device)._replace(device=device)


def parts(result):
    return result if isinstance(result, tuple) else (result,)


# What libraries warn of in their own doing is none of these tests' business.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_of_the_librarys_kind_with_the_cpus_bits(peer, name):
    op = OPERATIONS[name]
    want = parts(op.call(op.make, device="cpu"))
    got = parts(op.call(peer.make(op.make, peer.device), device=peer.device))
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert isinstance(g, peer.kind | np.generic if peer.kind is np.ndarray else peer.kind)
        assert g.shape == w.shape
        assert_same(np.asarray(peer.host(g)), np.asarray(w))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", OPERATIONS)
def test_out_of_the_librarys_kind_is_written_and_returned(peer, name):
    op = OPERATIONS[name]
    if name in ("density", "run_length", "unique_counts"):
        pytest.skip("it takes no out")
    want = op.call(op.make, device="cpu")
    wanted = parts(want)
    outs = [peer.make(np.full_like(np.asarray(w), 1), peer.device) for w in wanted]
    out = tuple(outs) if name == "warp_histogram" else outs[0]
    a = peer.make(op.make, peer.device)
    if not peer.writes:
        with pytest.raises(ValueError, match="read-only"):
            op.call(a, device=peer.device, out=out)
        return
    got = parts(op.call(a, device=peer.device, out=out))
    for g, o, w in zip(got, outs, wanted, strict=True):
        if name.startswith("histogram") and w is wanted[1]:
            continue  # the edges are new
        assert g is o
        assert_same(np.asarray(peer.host(o)), np.asarray(w))


@pytest.mark.filterwarnings("default")
def test_a_librarys_array_is_taken_without_a_copy(peer):
    a = values("float32", (5, 6))
    thing = peer.make(a, peer.device)
    if isinstance(_core.operand(thing)[0], np.ndarray):
        pytest.skip("it lies on the host")
    first, second = warpkit.asarray(thing), warpkit.asarray(thing)
    assert first._pointer == second._pointer
    assert first.device == peer.device
    assert_same(first.numpy(), a)


def test_nothing_of_an_operand_stays_behind(gpu):
    for make in (described, DeviceTensor):
        thing = make(values("float32", (5, 6)), gpu)
        for _ in range(3):
            warpkit.reduce(thing)
        before = sys.getrefcount(thing), sys.getrefcount(thing.array)
        for _ in range(20):
            warpkit.reduce(thing)
            warpkit.histogram(thing, 3)
        assert (sys.getrefcount(thing), sys.getrefcount(thing.array)) == before
        if hasattr(thing, "producer"):
            assert thing.producer.deleted == 1


def test_classes_without_end_are_not_remembered():
    for _ in range(3 * _libraries.MOST_TYPES):
        thing = type("Listlike", (list,), {})([1.0, 2.0])
        assert warpkit.reduce(thing, device="cpu") == 3.0
    assert len(_libraries._by_type) <= _libraries.MOST_TYPES


class Missing:
    """What pandas has: integers of which one may be missing."""

    def __init__(self, values, missing):
        self.values, self.missing = np.asarray(values), np.asarray(missing)
        self.dtype = types.SimpleNamespace(kind=self.values.dtype.kind, na_value=None)

    def isna(self):
        return self.missing

    def __array__(self, dtype=None, copy=None):
        return np.where(self.missing, np.nan, self.values)


def test_integers_of_which_one_is_missing_are_refused_with_the_way_out(device):
    arrays = [(Missing([1, 2], [0, 1]), 0), (Missing([True, True], [0, 1]), 0)]
    arrays.append((Missing([1, 2], [0, 0]), 3))
    with contextlib.suppress(ImportError):
        import pandas as pd

        arrays += [(pd.array([1, None], "Int64"), 0), (pd.Series([True, None], dtype="boolean"), 0)]
        arrays += [(pd.array([1, 2], "Int64"), 3), (pd.Series([1, 2]), 3)]
    for a, total in arrays:
        if total:
            assert warpkit.reduce(a, device=device) == total
            continue
        for call in (warpkit.reduce, warpkit.bincount, warpkit.histogram, warpkit.transpose):
            with pytest.raises(TypeError, match=r"missing values.*fillna.*to_numpy"):
                call(a, device=device)


def test_a_class_that_only_looks_like_a_librarys_is_asked_by_protocol(gpu, monkeypatch):
    monkeypatch.setattr(_libraries, "_by_name", {})
    monkeypatch.setitem(sys.modules, "cupy", None)
    fake = type("ndarray", (Described,), {"__module__": "cupy.fake", "__cuda_array_interface__": 0})
    thing = fake(on_device(np.ones(3), gpu))
    assert float(warpkit.reduce(thing)) == 3.0


# ---- PyTorch's and JAX's own ways --------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:torch.quantize:UserWarning")
def test_a_tensor_that_is_no_plain_memory_is_refused_with_the_way_out():
    torch = imported("torch")
    a = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    complexes = torch.view_as_complex(a.reshape(4, 3, 2))
    for tensor, kind, words in (
        (a.clone().requires_grad_(), RuntimeError, "detach"),
        (torch.nn.Parameter(a), RuntimeError, "detach"),
        (complexes.conj().imag, RuntimeError, "resolve_neg"),
        (a.to_sparse(), TypeError, "to_dense"),
        (a.to("meta"), TypeError, "cpu"),
        (complexes.conj(), RuntimeError, "resolve_conj"),
        (torch.quantize_per_tensor(a, 1.0, 0, torch.qint8), TypeError, "qint8"),
    ):
        with pytest.raises(kind, match=words):
            warpkit.reduce(tensor, device="cpu")
        with pytest.raises(kind, match=words):
            warpkit.reduce(a, device="cpu", out=tensor)


def test_a_subclass_of_a_tensor_is_a_tensor():
    torch = imported("torch")

    class Mine(torch.Tensor):
        pass

    a = torch.arange(6, dtype=torch.float32).as_subclass(Mine)
    assert float(warpkit.reduce(a, device="cpu")) == 15.0
    assert isinstance(warpkit.reduce(a, device="cpu"), torch.Tensor)


def test_jax_keeps_64_bits_and_its_tracers_are_refused():
    jax = imported("jax")
    a = jax.device_put(np.arange(5, dtype=np.int32) + 2**30, jax.devices("cpu")[0])
    total = warpkit.reduce(a, device="cpu")
    assert (total.dtype, int(total)) == (np.int64, 5 * 2**30 + 10)
    with pytest.raises(TypeError, match="trace"):
        jax.jit(lambda x: warpkit.reduce(x, device="cpu"))(a)


# ---- streams of libraries, on a GPU ------------------------------------------------------------

on_gpus = pytest.mark.parametrize("cuda", [d for d in helpers.devices if d.startswith("cuda")])


def busy_cupy(cuda, n):
    """A stream's handle, its context, and a way to make n ones there, after much else."""
    cupy = imported("cupy")
    cupy.cuda.Device(int(cuda[5:])).use()
    stream = cupy.cuda.Stream(non_blocking=True)
    return stream, stream.ptr, stream, lambda: sum([cupy.ones(n, "f4")] * 20) - 19


def busy_torch(cuda, n):
    torch = imported("torch")
    stream = torch.cuda.Stream(cuda)
    context = torch.cuda.stream(stream)
    return stream, stream.cuda_stream, context, lambda: sum([torch.ones(n, device=cuda)] * 20) - 19


@on_gpus
@pytest.mark.large
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("busy", [busy_cupy, busy_torch])
def test_work_follows_the_librarys_current_stream(cuda, busy):
    """Nothing waits in between: without order, the sum would be read or made too early."""
    n = 2**24
    for _ in range(5):
        _, handle, context, make = busy(cuda, n)
        with context:
            a = make()
            assert warpkit.asarray(a)._stream == handle
            total = warpkit.reduce(a)
            assert float(total + total) == 2.0 * n


@on_gpus
@pytest.mark.large
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("busy", [busy_cupy, busy_torch])
def test_a_stream_that_is_named_waits_for_the_librarys_and_is_waited_for(cuda, busy):
    n = 2**24
    for _ in range(5):
        other, *_ = busy(cuda, 1)
        _, _, context, make = busy(cuda, n)
        with context:
            total = warpkit.reduce(make(), stream=other)
            assert float(total + total) == 2.0 * n


@on_gpus
def test_a_result_comes_from_the_librarys_own_pool(cuda):
    torch = imported("torch")
    a = torch.ones((512, 1024), device=cuda)
    warpkit.transpose(a)
    before = torch.cuda.memory_allocated(cuda), warpkit.memory_info(cuda)["pool_used"]
    b = warpkit.transpose(a)
    after = torch.cuda.memory_allocated(cuda), warpkit.memory_info(cuda)["pool_used"]
    assert (after[0] - before[0], after[1] - before[1]) == (b.numel() * 4, 0)
