"""What breaks naive code: odd sizes, odd values, odd strides. In the spirit of bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# ---- shapes --------------------------------------------------------------------------------------

_SIDES = (0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4099)
_PAIRS = ((0, 0), (0, 7), (7, 0), (1, 1), (1, 257), (257, 1), (2, 3), (31, 33), (32, 32), (33, 31))
_MORE_PAIRS = ((63, 65), (64, 64), (65, 63), (5, 300), (300, 5))


def hostile(ndim: int = 1) -> list[tuple[int, ...]]:
    """Shapes that break kernels: nothing, one, around a warp, a block and several, and odd ones.

    Returns
    -------
    list of tuple of int

    Raises
    ------
    ValueError (ndim is none of 1, 2, 3)

    Examples
    --------
    >>> warpkit.testing.hostile(1)[:4]
    [(0,), (1,), (2,), (31,)]
    """
    if ndim == 1:
        return [(n,) for n in _SIDES]
    if ndim == 2:
        return [*_PAIRS, *_MORE_PAIRS]
    if ndim == 3:
        return [(depth, *pair) for depth, pair in zip((1, 3, 0, 2, 5) * 2, _PAIRS, strict=True)]
    raise ValueError(f"there are hostile shapes of 1 to 3 axes, not of {ndim}")


# ---- values --------------------------------------------------------------------------------------


def values(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Every value of an integer type alike; floats of both signs over 20 binades.

    Returns
    -------
    ndarray
        Of this dtype and shape.

    Examples
    --------
    >>> from warpkit import testing
    >>> testing.values("int8", 5).dtype
    dtype('int8')
    """
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
    if dtype.kind == "c":
        part = dtype.type().real.dtype
        return joined(values(part, shape, seed), values(part, shape, seed + 1000))
    scale = 2.0 ** rng.integers(-10, 11, shape)
    return np.asarray(rng.normal(size=shape) * scale).astype(dtype)


def special_floats(dtype: Any) -> np.ndarray:
    """Infinities, zeros, subnormals, extremes, and NaN of several bits, none of them canonical.

    Returns
    -------
    ndarray
        Of this dtype, one axis.

    Examples
    --------
    >>> from warpkit import testing
    >>> bool(np.isinf(testing.special_floats("float16")).any())
    True
    """
    dtype = np.dtype(dtype)
    find: Any = np.finfo
    if dtype.name == "bfloat16":
        import ml_dtypes  # without which there are no arrays of it

        find = ml_dtypes.finfo
    info = find(dtype)
    odd = {
        "float16": [0xFE00, 0x7E01, 0xFFFF],
        "bfloat16": [0xFFC0, 0x7FC1, 0xFFFF],
        "float32": [0xFFC00000, 0x7FC00001, 0xFFFFFFFF],
        "float64": [0xFFF8 << 48, 0x7FF8 << 48 | 7],
    }
    nans = np.array(odd[dtype.name], f"u{dtype.itemsize}").view(dtype)
    tiny = info.smallest_subnormal
    numbers = [np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, info.tiny, info.max, info.min, 1, -1]
    return np.concatenate([np.array(numbers).astype(dtype), nans])


def specials(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Those of values, every fifth of them one of special_floats, or of an integer's extremes.

    Returns
    -------
    ndarray
        Of this dtype and shape.

    Examples
    --------
    >>> from warpkit import testing
    >>> bool(np.isnan(testing.specials("float32", 1000)).any())
    True
    """
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "c":
        part = dtype.type().real.dtype
        return joined(specials(part, shape, seed), specials(part, shape, seed + 1000))
    if dtype.kind == "b":
        return values(dtype, shape, seed)
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        of = np.array([least, least + 1, 0, 1, most - 1, most], dtype)
    else:
        of = special_floats(dtype)
    return np.where(rng.random(shape) < 0.2, rng.choice(of, shape), values(dtype, shape, seed))


def raw_bits(dtype: Any, shape: Any, seed: int = 0) -> np.ndarray:
    """Any bits at all: for floats also signalling NaN, for bool 0 and 1.

    Returns
    -------
    ndarray
        Of this dtype and shape.

    Examples
    --------
    >>> from warpkit import testing
    >>> testing.raw_bits("float64", (2, 3)).shape
    (2, 3)
    """
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return values(dtype, shape, seed)
    if dtype.kind == "c":
        part = dtype.type().real.dtype
        return joined(raw_bits(part, shape, seed), raw_bits(part, shape, seed + 1000))
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = rng.integers(0, np.iinfo(unsigned).max, shape, unsigned, endpoint=True)
    return np.asarray(bits).view(dtype)


def joined(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """Complex numbers of these parts, to the bit.

    Returns
    -------
    ndarray
        complex64 or complex128.

    Examples
    --------
    >>> from warpkit import testing
    >>> testing.joined(np.float32([1, -0.0]), np.float32([np.inf, 2])).imag
    array([inf,  2.], dtype=float32)
    """
    real, imag = np.asarray(real), np.asarray(imag)
    both = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    both.real, both.imag = real, imag
    return both


# ---- arrays --------------------------------------------------------------------------------------


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


def _strided(a: np.ndarray, shape: Sequence[int], steps: Sequence[int], first: int = 0) -> Any:
    strides = [s * a.itemsize for s in steps]
    return np.lib.stride_tricks.as_strided(a.ravel()[first:], shape, strides, writeable=False)


class Subclass(np.ndarray):
    """A subclass that changes nothing; code must not choke on it."""


# Each takes v(shape): fresh values of a dtype.
ARRAYS: dict[str, Callable[[Callable[..., np.ndarray]], Any]] = {
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


def hostile_array(name: str, dtype: Any) -> Any:
    """A fresh object by its name in ARRAYS; lists and scalars take the dtype NumPy gives them.

    Returns
    -------
    object

    Examples
    --------
    >>> from warpkit import testing
    >>> testing.hostile_array("reversed", "int32").strides
    (-4,)
    """
    seeds = iter(range(100))
    return ARRAYS[name](lambda shape: np.asarray(values(dtype, shape, seed=next(seeds))))
