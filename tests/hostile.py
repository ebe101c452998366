"""Arrays that break naive code: odd strides, odd bytes, odd shapes. In the spirit of bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from helpers import values


def _swapped(a: np.ndarray) -> np.ndarray:
    return a.astype(a.dtype.newbyteorder())


def _misaligned(a: np.ndarray) -> np.ndarray:
    block = np.frombuffer(b"\1" + a.tobytes(), np.uint8)
    return block[1:].view(a.dtype).reshape(a.shape)


def _field(a: np.ndarray) -> np.ndarray:
    """One field of a record whose size is no multiple of the field's."""
    records = np.zeros(a.shape, np.dtype([("before", "u1"), ("x", a.dtype), ("after", "u2")]))
    records["x"] = a
    return records["x"]


def _aligned_field(a: np.ndarray) -> np.ndarray:
    """Aligned, and a whole number of elements apart: read in place."""
    records = np.zeros(a.shape, np.dtype({"names": ["x", "y", "z"], "formats": [a.dtype] * 3}))
    records["y"] = a
    return records["y"]


def _read_only(a: np.ndarray) -> np.ndarray:
    a.flags.writeable = False
    return a


def _strided(a: np.ndarray, shape: tuple[int, ...], steps: tuple[int, ...], first: int = 0) -> Any:
    strides = [s * a.itemsize for s in steps]
    return np.lib.stride_tricks.as_strided(a.ravel()[first:], shape, strides, writeable=False)


class Subclass(np.ndarray):
    """A subclass that changes nothing; the library must not choke on it."""


# A maker takes v(shape): fresh values of the dtype under test.
MAKERS: dict[str, Callable[[Callable[..., np.ndarray]], Any]] = {
    "plain": lambda v: v((7, 11)),
    "byte-swapped": lambda v: _swapped(v((7, 11))),
    "byte-swapped, reversed": lambda v: _swapped(v((7, 11)))[::-1, ::-1],
    "byte-swapped, one axis": lambda v: _swapped(v(1300)),
    "byte-swapped, Fortran order": lambda v: _swapped(v((7, 11))).T,
    "no axis": lambda v: v(()),
    "no axis, byte-swapped": lambda v: _swapped(v(())),
    "no axis, a view": lambda v: v((3, 3))[1, 2, ...],
    "a NumPy scalar": lambda v: v(3)[1],
    "a Python scalar": lambda v: v(3)[1].item(),
    "a list": lambda v: v(40).tolist(),
    "a list of lists": lambda v: v((3, 5)).tolist(),
    "an empty list": lambda v: [],
    "empty": lambda v: v(0),
    "first axis empty": lambda v: v((0, 3)),
    "last axis empty": lambda v: v((3, 0)),
    "middle axis empty": lambda v: v((2, 0, 3)),
    "two axes empty": lambda v: v((0, 4, 0)),
    "empty, by a slice": lambda v: v((5, 6))[3:3, ::-2],
    "one element in six axes": lambda v: v((1, 1, 1, 1, 1, 1)),
    "reversed": lambda v: v(1100)[::-1],
    "both axes reversed": lambda v: v((33, 40))[::-1, ::-1],
    "one axis reversed": lambda v: v((33, 40))[:, ::-1],
    "every third, backwards": lambda v: v(3500)[::-3],
    "every other column": lambda v: v((40, 66))[:, ::2],
    "every other row": lambda v: v((66, 40))[::2],
    "inner block": lambda v: v((9, 10, 11))[2:7, 1:9, 3:5],
    "row repeated": lambda v: np.broadcast_to(v(40), (35, 40)),
    "column repeated": lambda v: np.broadcast_to(v((35, 1)), (35, 40)),
    "element repeated": lambda v: np.broadcast_to(v(()), (33, 40)),
    "repeated in the middle": lambda v: np.broadcast_to(v((3, 1, 40)), (3, 5, 40)),
    "Fortran order": lambda v: np.asfortranarray(v((33, 70))),
    "Fortran order, three axes": lambda v: np.asfortranarray(v((5, 33, 7))),
    "axes rolled": lambda v: v((5, 33, 7)).transpose(1, 2, 0),
    "axes swapped, reversed, skipped": lambda v: v((5, 33, 14)).transpose(2, 0, 1)[::-2, :, ::-1],
    "sliding windows": lambda v: np.lib.stride_tricks.sliding_window_view(v(130), 31),
    "overlapping, every other": lambda v: _strided(v(9), (3, 3), (2, 2)),
    "overlapping, backwards": lambda v: _strided(v(60), (7, 5), (-3, 2), first=30),
    "interleaved without gaps": lambda v: _strided(v(12), (3, 4), (1, 3)),
    "read-only": lambda v: _read_only(v((7, 11))),
    "misaligned": lambda v: _misaligned(v((7, 11))),
    "misaligned, reversed": lambda v: _misaligned(v((7, 11)))[::-1],
    "field of a record": lambda v: _field(v((7, 11))),
    "field of a record, skipped": lambda v: _field(v((14, 11)))[::-2, 1:],
    "aligned field of a record": lambda v: _aligned_field(v((7, 11))),
    "eight axes": lambda v: v((2, 1, 3, 2, 1, 2, 3, 2)),
    "eight axes, permuted": lambda v: v((2, 1, 3, 2, 1, 2, 3, 2)).transpose(5, 0, 7, 2, 4, 6, 1, 3),
    "eight axes, all reversed": lambda v: np.flip(v((2, 1, 3, 2, 1, 2, 3, 2))),
    "as many axes as NumPy has": lambda v: v((1,) * 30 + (2, 3) + (1,) * 30 + (4, 2))[..., ::-1],
    "matrix": lambda v: v((7, 11)).view(np.matrix),
    "subclass": lambda v: v((7, 11)).view(Subclass)[:, ::2],
}


def make(name: str, dtype: Any) -> Any:
    """A fresh object; lists and scalars take the dtype that NumPy gives them."""
    seeds = iter(range(100))
    return MAKERS[name](lambda shape: np.asarray(values(dtype, shape, seed=next(seeds))))
