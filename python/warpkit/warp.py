"""What the lanes of a warp do together: shuffles, votes, matches, folds; one call on an array each.

The last axis is taken 32 elements at a time: each 32 are a warp, an element is a lane's value, and
the result says what that lane gets. Where the axis is no multiple of 32, its last warp lacks lanes:
whoever would read an absent one keeps its own value; in all else absent lanes count for nothing.

Common arguments:

a : array_like
    Any dtype of at most 8 bytes, at least one axis, any strides; host or device.
width : int
    2, 4, 8, 16 or 32: lanes of a segment, which no lane reads beyond; in shfl_xor a lane may read
    earlier segments, as in CUDA.
out, device, stream, variant : optional
    As of every operation: see ``help(warpkit)``.

All return arrays of a's kind and shape, and raise TypeError (dtype), ValueError (no axis, width,
operand, variant), MemoryError, DeviceError.

Source: NVIDIA, "CUDA C++ Programming Guide", warp vote, match, reduce and shuffle functions.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from warpkit import _core
from warpkit._ops import Device, unknown, with_options

__all__ = (
    *("all", "any", "ballot", "broadcast", "fns", "match_all", "match_any", "popc", "reduce"),
    *("rotate", "scan", "shfl", "shfl_down", "shfl_up", "shfl_xor", "shfl_xor_array", "swap"),
)

WARP = 32
WIDTHS = (2, 4, 8, 16, 32)
ELEMENTS = (2, 4, 8, 16)  # of a lane: arrays in registers have lengths that the compiler knows
OPS = {"sum": "sum", "min": "min", "max": "max", "and": "bit_and", "or": "bit_or", "xor": "bit_xor"}


class Options(TypedDict, total=False):
    """Where a call runs, and where its result goes: the module's options."""

    out: Any
    device: Device
    stream: Any
    variant: str | None


class Given(NamedTuple):
    """An array that _core takes, and the library that results are of."""

    array: Any
    library: Any


# ---- shuffles ----------------------------------------------------------------------------------


def shfl(
    a: Any,
    /,
    src_lane: int | Sequence[int] | np.ndarray,
    *,
    width: int = WARP,
    **options: Unpack[Options],
) -> Any:
    """Give each lane what lane ``src_lane`` of its segment holds.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    src_lane : int or array_like of int
        Modulo the width; or an array of a's shape on the host, for each lane its own.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.shfl([10, 11, 12, 13], 2, width=4)
    array([12, 12, 12, 12])
    """
    if isinstance(src_lane, int | np.integer):
        return _shuffle("idx", a, int(src_lane) % WARP, width, options)
    sources = np.asarray(_core.unmasked(src_lane))
    if sources.dtype.kind not in "iu":
        raise TypeError(f"src_lane must be integers, not {sources.dtype}")
    given = Given(*_core.operand(a))
    if sources.shape != tuple(given.array.shape):
        raise ValueError(
            f"src_lane has shape {sources.shape}, a has shape {tuple(given.array.shape)}"
        )
    lanes = np.ascontiguousarray((sources % WARP).astype(np.int32))
    return _shuffle("idx", given, 0, width, options, lanes)


def broadcast(a: Any, /, lane: int = 0, *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane what one lane of its segment holds: shfl with one source.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    lane : int
        Modulo the width.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.broadcast([10, 11, 12, 13])
    array([10, 10, 10, 10])
    """
    return _shuffle("idx", a, operator.index(lane) % WARP, width, options)


def shfl_up(a: Any, /, delta: int, *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane what lane ``own - delta`` holds; the first delta of a segment keep their own.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    delta : int
        Not negative; the instruction takes it modulo 32.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.shfl_up([10, 11, 12, 13], 1)
    array([10, 10, 11, 12])
    """
    return _shuffle("up", a, _distance(delta), width, options)


def shfl_down(a: Any, /, delta: int, *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane what lane ``own + delta`` holds; the last delta of a segment keep their own.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    delta : int
        Not negative; the instruction takes it modulo 32.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.shfl_down([10, 11, 12, 13], 1)
    array([11, 12, 13, 13])
    """
    return _shuffle("down", a, _distance(delta), width, options)


def shfl_xor(a: Any, /, mask: int, *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane what lane ``own ^ mask`` holds; one in a later segment is not read.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    mask : int
        0 to 31.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.shfl_xor([10, 11, 12, 13], 1)
    array([11, 10, 13, 12])
    """
    return _shuffle("xor", a, _mask(mask), width, options)


def rotate(a: Any, /, delta: int, *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane what lane ``own + delta`` holds, counted around its segment.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    delta : int
        Lanes; may be negative.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.rotate([10, 11, 12, 13], 1, width=4)
    array([11, 12, 13, 10])
    """
    return _shuffle("rotate", a, operator.index(delta) % WARP, width, options)


def shfl_xor_array(
    a: Any, /, mask: int, elements: int = 4, *, width: int = WARP, **options: Unpack[Options]
) -> Any:
    """Exchange arrays: lanes hold ``elements`` consecutive ones, and get those of ``own ^ mask``.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    mask : int
        0 to 31.
    elements : int
        2, 4, 8 or 16; the last axis is a multiple of it.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.shfl_xor_array(np.arange(4), 1, elements=2)
    array([2, 3, 0, 1])
    """
    return _exchange("xor_array", a, mask, elements, 0, 0, width, options)


def swap(
    a: Any, /, mask: int, first: int, second: int, elements: int = 4, *,
    width: int = WARP, **options: Unpack[Options],
) -> Any:  # fmt: skip
    """Exchange one element of each lane with lane ``own ^ mask``.

    The lower one's ``first`` and the upper one's ``second`` change places.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    mask : int
        0 to 31.
    first, second : int
        Which of the elements.
    elements : int
        2, 4, 8 or 16 consecutive ones a lane; the last axis is a multiple of it.
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind

    Examples
    --------
    >>> warpkit.warp.swap(np.arange(4), 1, 0, 1, elements=2)
    array([3, 1, 2, 0])
    """
    elements, width = _elements(elements), _width(width)
    if not 0 <= operator.index(mask) < width:
        raise ValueError(f"mask must be 0 to {width - 1}, so that partners share a segment: {mask}")
    for name, index in (("first", first), ("second", second)):
        if not 0 <= operator.index(index) < elements:
            raise ValueError(f"{name} must be 0 to {elements - 1}, not {index}")
    return _exchange("swap", a, mask, elements, first, second, width, options)


# ---- votes and matches -------------------------------------------------------------------------


def ballot(a: Any, /, **options: Unpack[Options]) -> Any:
    """Tell each lane which of its warp hold another number than zero: bit k is lane k's; uint32.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of uint32

    Examples
    --------
    >>> warpkit.warp.ballot([0, 5, 5])
    array([6, 6, 6], dtype=uint32)
    """
    return _lanes("vote", "ballot", a, options)


def any(a: Any, /, **options: Unpack[Options]) -> Any:
    """Tell each lane whether any lane of its warp holds another number than zero; bool.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> warpkit.warp.any([0, 5, 5])
    array([ True,  True,  True])
    """
    return _lanes("vote", "any", a, options)


def all(a: Any, /, **options: Unpack[Options]) -> Any:
    """Tell each lane whether all lanes of its warp hold other numbers than zero; bool.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of bool

    Examples
    --------
    >>> warpkit.warp.all([0, 5, 5])
    array([False, False, False])
    """
    return _lanes("vote", "all", a, options)


def match_any(a: Any, /, **options: Unpack[Options]) -> Any:
    """Tell each lane which lanes of its warp hold the same bits as it does; uint32.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of uint32

    Examples
    --------
    >>> warpkit.warp.match_any([7, 5, 5])
    array([1, 6, 6], dtype=uint32)
    """
    return _lanes("match", "match_any", a, options)


def match_all(a: Any, /, **options: Unpack[Options]) -> Any:
    """Tell each lane which lanes are there, if all hold the same bits, else 0; uint32.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of uint32

    Examples
    --------
    >>> warpkit.warp.match_all([5, 5, 5])
    array([7, 7, 7], dtype=uint32)
    """
    return _lanes("match", "match_all", a, options)


# ---- folds -------------------------------------------------------------------------------------


def reduce(a: Any, /, op: str = "sum", *, width: int = WARP, **options: Unpack[Options]) -> Any:
    """Give each lane the fold of its segment: partners half of it apart combine, then a quarter...

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    op : str
        "sum", "min", "max", and of integers "and", "or", "xor".
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of a's kind
        Of a's shape; of 1 and 2 bytes widened to int32, uint32 or float32.

    Notes
    -----
    Float sums are rounded at each of the steps, in one order: the same bits on every device. NaN
    wins min and max; -0.0 is less than 0.0. Variants "down" leaves the fold in a segment's first
    lane alone; "redux" takes width 32.

    Examples
    --------
    >>> warpkit.warp.reduce([1, 2, 3, 4], "max", width=2)
    array([2, 2, 4, 4])
    """
    a = _foldable(a, op)
    return _lanes("warp_reduce", OPS[op], a, options, width)


def scan(
    a: Any,
    /,
    op: str = "sum",
    *,
    exclusive: bool = False,
    width: int = WARP,
    **options: Unpack[Options],
) -> Any:
    """Give each lane the fold of its segment up to itself, or (exclusive) up to the one before it.

    Parameters
    ----------
    a : array_like
        See ``help(warpkit.warp)``.
    op : str
        As reduce's; result and notes too.
    exclusive : bool
        A segment's first lane gets 0, or what changes nothing: the largest number for "min", the
        smallest for "max" (of floats infinities), all ones for "and".
    width, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Examples
    --------
    >>> warpkit.warp.scan([1, 2, 3, 4])
    array([ 1,  3,  6, 10])
    >>> warpkit.warp.scan([1, 2, 3, 4], exclusive=True)
    array([0, 1, 3, 6])
    """
    a = _foldable(a, op)
    return _lanes("warp_scan", OPS[op], a, options, width, other=(int(bool(exclusive)), 0, 0))


# ---- bits --------------------------------------------------------------------------------------


def popc(a: Any, /, **options: Unpack[Options]) -> Any:
    """Count the bits that are set in each integer, as its own size has them; int32.

    Parameters
    ----------
    a, **options : optional
        Common arguments: see ``help(warpkit.warp)``.

    Returns
    -------
    array of int32

    Examples
    --------
    >>> warpkit.warp.popc([7, 8])
    array([3, 1], dtype=int32)
    """
    return _lanes("lane_bits", "popc", a, options)


def fns(mask: Any, /, base: int = 0, offset: int = 1, **options: Unpack[Options]) -> Any:
    """Find the place of the offset-th set bit from bit ``base`` on; uint32, all ones: none.

    Parameters
    ----------
    mask : array_like of int
        Integers of 4 bytes.
    base : int
        0 to 31; that bit is included.
    offset : int
        Positive: upwards; negative: downwards; 0: base itself, if it is set.

    Returns
    -------
    array of uint32

    Examples
    --------
    >>> warpkit.warp.fns(np.uint32([0b1010]), 0, 2)
    array([3], dtype=uint32)
    """
    given = Given(*_core.operand(mask))
    dtype = given.array.dtype
    if dtype.kind not in "iu" or dtype.itemsize != 4:
        raise TypeError(f"fns takes int32 and uint32, not {dtype}")
    if not 0 <= operator.index(base) < WARP:
        raise ValueError(f"base must be 0 to 31, not {base}")
    far = max(-WARP - 1, min(operator.index(offset), WARP + 1))
    return _lanes("lane_bits", "fns", given, options, operand=base, other=(far, 0, 0))


# ---- what they share ---------------------------------------------------------------------------


def _distance(delta: int) -> int:
    if operator.index(delta) < 0:
        raise ValueError(f"delta must not be negative, not {delta}; rotate takes negative ones")
    return delta % WARP


def _mask(mask: int) -> int:
    if not 0 <= operator.index(mask) < WARP:
        raise ValueError(f"mask must be 0 to 31, not {mask}")
    return mask


def _width(width: int) -> int:
    if operator.index(width) not in WIDTHS:
        raise ValueError(f"width must be 2, 4, 8, 16 or 32, not {width}")
    return operator.index(width)


def _elements(elements: int) -> int:
    if operator.index(elements) not in ELEMENTS:
        raise ValueError(f"elements must be 2, 4, 8 or 16, not {elements}")
    return operator.index(elements)


def _shuffle(
    kind: str, a: Any, operand: int, width: int, options: Options, sources: Any = None
) -> Any:
    return _lanes("shfl", kind, a, options, width, operand, sources)


def _exchange(
    kind: str, a: Any, mask: int, elements: int, first: int, second: int, width: int,
    options: Options,
) -> Any:  # fmt: skip
    elements = _elements(elements)
    given = Given(*_core.operand(a))
    shape = given.array.shape
    if shape and shape[-1] % elements:
        raise ValueError(f"the last axis has {shape[-1]} elements, no multiple of {elements}")
    other = (elements, first, second)
    return _lanes("lane_arrays", kind, given, options, width, _mask(mask), other=other)


def _foldable(a: Any, op: str) -> Given:
    """a, of a dtype that op takes."""
    if op not in OPS:
        raise ValueError(unknown("op", op, OPS))
    a, library = _core.operand(a)
    if op in ("and", "or", "xor") and a.dtype.kind not in "biu":
        raise TypeError(f"{op!r} takes integers, not {a.dtype}")
    return Given(a, library)


def _lanes(
    op: str,
    kind: str,
    a: Any,
    options: Options,
    width: int = WARP,
    operand: int = 0,
    sources: np.ndarray | None = None,
    other: tuple[int, int, int] = (0, 0, 0),
) -> Any:
    a, library = a if isinstance(a, Given) else _core.operand(a)
    if a.ndim == 0:
        raise ValueError("a has no axis whose elements could be lanes")
    arguments = (op, kind, a, _width(width), operand, sources, other)
    if unknown := sorted(options.keys() - Options.__annotations__.keys()):
        raise TypeError(f"warpkit.warp's functions take no keyword {', '.join(unknown)}")
    out, device = options.get("out"), options.get("device")
    stream, variant = options.get("stream"), options.get("variant")
    result = with_options(_core.lanes, arguments, out, device, stream, variant, False)
    given = out is not None and out is not ...
    return result if library is None or given else library.finish(result)
