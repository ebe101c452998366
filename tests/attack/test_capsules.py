"""DLPack capsules and __cuda_array_interface__ dicts with any field at all: refused by an exception
that says so, or taken; never a crash, and a tensor's deleter is called once if it was taken."""

import ctypes
import gc
import random
import time

import helpers
import numpy as np
import pytest
import warpkit
from test_interop import NAMES, Managed, Producer, Versioned, api
from warpkit import _core

pytestmark = pytest.mark.unsanitized
QUICK = 3  # seconds
REFUSED = (TypeError, ValueError, BufferError, OverflowError, MemoryError, warpkit.DeviceError)
BYTES = 1 << 16
NUMBERS = (
    *(0, 1, 2, 3, 4, 7, 8, 13, 31, 32, 33, 64, 65, 100, 127, 128, 255, 256, 4095, 65535, 65536),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30),
)
EXTENTS = (0, 1, 1, 2, 3, 5, 8, 100, -1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))


def searches(seed):
    """Generators of random choices, one after another, until the time is out."""
    end = time.monotonic() + (helpers.options["attack"] or QUICK)
    while time.monotonic() < end:
        yield random.Random(seed)
        seed += 1


def number(rng):
    return rng.choice((1, 1, -1)) * rng.choice(NUMBERS)


def extents(rng, count):
    return [rng.choice(EXTENTS) for _ in range(max(0, min(count, 64)))]


def lies_within(t, where):
    """Are all elements of the tensor within the memory that there is?"""
    item = t.bits * t.lanes // 8
    low = high = (t.data or 0) + t.byte_offset
    for d in range(t.ndim):
        if t.shape[d] == 0:
            return True
    step = item
    for d in reversed(range(t.ndim)):
        stride = t.strides[d] * item if t.strides else step
        step *= t.shape[d]
        reach = (t.shape[d] - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return where <= low and high + item <= where + BYTES


HOSTILE = {
    "data": lambda r: r.choice((None, 1, 8, 2**47, 2**63 - 8, 2**64 - 8)),
    "device_type": lambda r: r.choice((*range(-1, 20), 2**31 - 1)),
    "device_id": lambda r: r.choice((-1, 0, 1, 31, 32, 65535, 65536, 2**31 - 1)),
    "ndim": lambda r: r.choice((-(2**31), -1, 0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 2**31 - 1)),
    "code": lambda r: r.choice((*range(20), 255)),
    "bits": lambda r: r.choice((0, 1, 4, 6, 7, 8, 16, 24, 32, 64, 80, 128, 255)),
    "lanes": lambda r: r.choice((0, 1, 2, 4, 65535)),
    "shape": lambda r: r.choice((None, extents(r, 64))),
    "strides": lambda r: r.choice((None, extents(r, 64), extents(r, 64))),
    "byte_offset": lambda r: abs(number(r)) % 2**64,
    "major": lambda r: r.choice((0, 1, 2, 2**32 - 1)),
    "minor": lambda r: r.choice((0, 1, 99, 2**32 - 1)),
    "flags": lambda r: r.getrandbits(64),
}


def hostile(rng, where):
    """A right tensor but for a few fields; whether it has a deleter, and how it calls itself."""
    layout = rng.choice((Managed, Versioned))
    fields = {
        "data": where,
        "ndim": 2,
        "code": 2,
        "bits": 32,
        "shape": [3, 5] + [1] * 62,
        "strides": [5, 1] + [1] * 62,
    }
    names = [n for n in HOSTILE if layout is Versioned or n not in ("major", "minor", "flags")]
    for name in rng.sample(names, rng.choice((0, 1, 1, 2, 2, 3, 5))):
        fields[name] = HOSTILE[name](rng)
    tensor = Producer(layout, deleter=rng.random() < 0.8, **fields)
    if rng.random() < 0.05:
        other = rng.choice((b"", b"tensor", b"used_dltensor", b"\xff\xfe", b"x" * 500))
        tensor.other_name = other  # the capsule does not copy it
        api.PyCapsule_SetName(tensor.capsule, other)
    return tensor


def attempt(tensor, where):
    """Takes it, and uses what can be used; True: it was taken."""
    t = tensor.managed.tensor
    try:
        array = tensor.take()
    except REFUSED:
        return False
    assert list(array.shape) == list(t.shape[: t.ndim]) if t.ndim else array.shape == ()
    if isinstance(array, np.ndarray) and lies_within(t, where) and array.size < BYTES:
        got = helpers.outcome(warpkit.reduce, array, "max", device="cpu")
        helpers.outcome(warpkit.transpose, array, device="cpu")
        assert array.size == 0 or not isinstance(got, Exception)
    return True


def fields(tensor):
    """For the message."""
    t, named = tensor.managed.tensor, type(tensor.managed).__name__
    shown = {name: getattr(t, name) for name, _ in t._fields_ if name not in ("shape", "strides")}
    for name in ("shape", "strides"):
        shown[name] = (
            list(getattr(t, name)[: max(0, min(t.ndim, 64))]) if getattr(t, name) else None
        )
    return named, tensor.name, shown


@pytest.mark.skipif("cpu" not in helpers.devices, reason="once, with the CPU's")
def test_any_capsule_is_taken_or_refused():
    memory = np.zeros(BYTES // 8)
    where = memory.__array_interface__["data"][0]
    made = len(Producer.made)
    counts = [0, 0]
    for rng in searches(1):
        tensor = hostile(rng, where)
        taken = attempt(tensor, where)
        counts[taken] += 1
        wanted = int(taken and bool(tensor.managed.deleter))
        if tensor.deleted != wanted:
            gc.collect()  # an exception may have kept the array in its frames
        assert tensor.deleted == wanted, (wanted, fields(tensor))
        del Producer.made[made:]
    assert min(counts) > 100, counts
    assert not memory.any()


# ---- __cuda_array_interface__ ------------------------------------------------------------------


class Odd:
    """An index that does as it likes."""

    def __init__(self, rng):
        self.rng = rng

    def __index__(self):
        if self.rng.random() < 0.3:
            raise OverflowError("no index")
        return number(self.rng)


def anything(rng, depth=0):
    """A value of any kind."""
    kinds = [
        lambda: None,
        lambda: number(rng),
        lambda: -number(rng),
        lambda: rng.choice(("", "<f4", "|b1", "x", "\0", "\ud800", "é" * 300, "<f" * 99)),
        lambda: rng.choice((b"", b"<f4")),
        lambda: rng.choice((1.5, float("nan"), float("inf"), 1j, True, False, ...)),
        lambda: Odd(rng),
        lambda: np.int64(rng.choice(EXTENTS)),
        lambda: np.zeros(rng.choice((0, 1, 3))),
    ]
    if depth < 2:
        kinds += [
            lambda: tuple(anything(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3, 70)))),
            lambda: [anything(rng, depth + 1) for _ in range(rng.choice((0, 1, 2)))],
            lambda: {anything_hashable(rng): anything(rng, depth + 1)},
            lambda: tuple(rng.choice(EXTENTS) for _ in range(rng.choice((0, 1, 2, 3, 33, 65)))),
        ]
    return rng.choice(kinds)()


def anything_hashable(rng):
    return rng.choice((None, 1, "shape", "data", 2.5))


TYPESTRS = (
    "<f4",
    "<f8",
    "<i8",
    "|u1",
    "|b1",
    "<f2",
    "<c8",
    ">f4",
    "|V4",
    "<M8",
    "<f16",
    "bfloat16",
)


class Foreign:
    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def interface(rng, address):
    right = {
        "version": rng.choice((0, 1, 2, 3)),
        "typestr": rng.choice(TYPESTRS),
        "shape": tuple(rng.choice((1, 2, 3, 50)) for _ in range(rng.choice((0, 1, 2, 3)))),
        "strides": None,
        "data": (address, rng.random() < 0.5),
        "stream": rng.choice((None, None, 1)),
    }
    for name in rng.sample(list(right), rng.choice((0, 1, 1, 2, 3))):
        right[name] = anything(rng)
    if rng.random() < 0.3:
        right["shape"] = tuple(rng.choice(EXTENTS) for _ in range(rng.choice((1, 2, 33, 65))))
    if rng.random() < 0.3:
        right["strides"] = (
            tuple(rng.choice((*EXTENTS, 4, 8, -8)) for _ in right["shape"] or ())
            if (isinstance(right["shape"], tuple))
            else anything(rng)
        )
    if rng.random() < 0.1:
        right["mask"] = anything(rng)
    if rng.random() < 0.1:
        del right[rng.choice(list(right))]
    return right if rng.random() < 0.97 else anything(rng)


@pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested")
def test_any_interface_is_taken_or_refused():
    """Over the memory of the emulated device, where a kernel that reads too far is told."""
    block = warpkit.asarray(np.zeros(BYTES // 8), device="emu")
    capsule = _core.to_dlpack(block, True, False)
    address = ctypes.cast(
        api.PyCapsule_GetPointer(capsule, NAMES[Versioned]), ctypes.POINTER(Versioned)
    ).contents.tensor.data
    counts = [0, 0]
    for rng in searches(2):
        try:
            array = warpkit._interop.from_cuda_array_interface(Foreign(interface(rng, address)))
        except REFUSED:
            counts[0] += 1
            continue
        counts[1] += 1
        if array.size < BYTES:
            helpers.outcome(lambda a=array: used(a))
    assert min(counts) > 50, counts
    assert not block.numpy().any()


def used(array):
    """Reads it: what lies beyond its memory is an error of the kernel, or of the copy."""
    try:
        warpkit.reduce(array, "max", device="emu")
        array.numpy()
    except (warpkit.DeviceError, MemoryError):
        pass
