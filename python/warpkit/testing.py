"""For tests of kernels: hostile inputs, comparisons to the bit, schedules, canaries, mutations.

What the pytest plugin is made of (docs/testing.md), and what tests of any CUDA code can use::

  hostile, values, specials, special_floats, raw_bits   shapes and values that break kernels
  ARRAYS, hostile_array                                 arrays with odd strides, orders and types
  assert_same_bits, assert_within_ulps, check_kernel    comparisons; NaN passes for nothing else
  settings, schedules, under_schedules                  the emulated device's orders of threads
  shrink                                                a failing order, as short as it still fails
  canaries                                              arrays at the edge of what may be touched
  mutations                                             a source with one barrier or atomic less
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from warpkit import _core
from warpkit._hostile import (
    ARRAYS,
    hostile,
    hostile_array,
    joined,
    raw_bits,
    special_floats,
    specials,
    values,
)
from warpkit._mutations import Mutation, mutations
from warpkit._schedules import Schedule, Switch, shrink

__all__ = [
    "ARRAYS",
    "CANARIES",
    "Mutation",
    "Schedule",
    "Switch",
    "assert_same_bits",
    "assert_within_ulps",
    "canaries",
    "check_kernel",
    "hostile",
    "hostile_array",
    "joined",
    "mutations",
    "raw_bits",
    "schedules",
    "settings",
    "shrink",
    "special_floats",
    "specials",
    "under_schedules",
    "values",
]

# ---- comparisons ---------------------------------------------------------------------------------


def assert_same_bits(*results: Any, **named: Any) -> None:
    """All results have the first one's dtype, shape and bits; NaN's bits among them.

    Parameters
    ----------
    *results, **named : array_like, or tuple of them
        At least two. The names are in the message.

    Raises
    ------
    AssertionError, TypeError (fewer than two)

    Examples
    --------
    >>> from warpkit.testing import assert_same_bits
    >>> x = np.float32([0.1, 0.2, 0.3])
    >>> assert_same_bits(x, x.copy())
    >>> assert_same_bits(**{f"block {n}": x * 2 for n in (32, 64, 256)})
    """
    every = {str(i): result for i, result in enumerate(results, 1)} | named
    if len(every) < 2:
        raise TypeError(f"compares two results or more, not {len(every)}")
    (first, wanted), *others = every.items()
    for name, result in others:
        _same_bits(result, wanted, f"{name} is not {first}: ")


def _same_bits(got: Any, want: Any, what: str) -> None:
    if isinstance(want, tuple):
        assert isinstance(got, tuple), f"{what}no tuple"
        assert len(got) == len(want), f"{what}{len(got)} results instead of {len(want)}"
        for i, (one, other) in enumerate(zip(got, want, strict=True)):
            _same_bits(one, other, f"{what}result {i}: ")
        return
    got, want = _comparable(got, want, what)
    if got.tobytes() == want.tobytes():
        return
    bits = np.dtype((np.void, want.itemsize))
    one, other = (np.ascontiguousarray(x).reshape(-1).view(bits) for x in (got, want))
    _complain(got, want, (one != other).reshape(want.shape), what, "same value, other bits")


def assert_within_ulps(actual: Any, desired: Any, n: float) -> None:
    """No element of actual is further than n units in the last place from desired.

    Parameters
    ----------
    actual, desired : array_like
        Of one dtype and shape; complex: each part by itself.
    n : int
        Neighbouring floats are 1 apart, -0.0 and 0.0 are 0. Of integers and bool all have to be
        equal.

    Raises
    ------
    AssertionError (other dtypes, shapes or values. NaN is near NaN alone, an infinity itself)

    Examples
    --------
    >>> from warpkit.testing import assert_within_ulps
    >>> assert_within_ulps(np.float32(0.1) * 3, np.float32(0.3), 1)
    """
    got, want = _comparable(actual, desired, "")
    if want.dtype.kind == "c":
        for of, one, other in (("real", got.real, want.real), ("imag", got.imag, want.imag)):
            _within(one, other, n, f"of the {of} parts: ")
    else:
        _within(got, want, n, "")


def _within(got: np.ndarray, want: np.ndarray, n: float, what: str) -> None:
    if want.dtype.kind in "biu":
        _complain(got, want, got != want, what, "")
        return
    if not (want.dtype.kind == "f" or want.dtype.name == "bfloat16"):
        raise TypeError(f"compares numbers, not {want.dtype}")
    as_float = (x.astype(np.float64) for x in (got, want))
    one, other = as_float
    settled = ~(np.isfinite(one) & np.isfinite(other))  # by equality, to which NaN is NaN
    equal = (one == other) | (np.isnan(one) & np.isnan(other))
    keys = [_ordered(x) for x in (got, want)]
    distance = np.maximum(*keys) - np.minimum(*keys)
    near = np.where(settled, equal, distance <= n)
    worst = f"{int(distance[~settled].max(initial=0))} ulps at most, {n} allowed"
    _complain(got, want, ~near, what, worst)


def _ordered(x: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the floats, without a gap."""
    bits = np.ascontiguousarray(x).view(f"u{x.itemsize}").reshape(x.shape).astype(np.uint64)
    sign = np.uint64(1 << (8 * x.itemsize - 1))
    size = bits & (sign - np.uint64(1))
    return np.where(bits & sign, sign - size, sign + size)


def _comparable(got: Any, want: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}dtype {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{what}shape {got.shape} instead of {want.shape}"
    return got, want


def _complain(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, what: str, more: str) -> None:
    if not wrong.any():
        return
    places = np.argwhere(wrong)
    lines = [f"{what}{len(places)} of {wrong.size} elements differ{f' ({more})' * bool(more)}"]
    for place in places[:5]:
        at = tuple(int(i) for i in place)
        lines.append(f"  [{', '.join(map(str, at))}]: {got[at]!s} instead of {want[at]!s}")
    raise AssertionError("\n".join(lines))


# ---- a kernel against its oracle -----------------------------------------------------------------


def check_kernel(
    function: Callable[..., Any],
    oracle: Callable[..., Any],
    shapes: Iterable[Sequence[int]] | None = None,
    dtypes: Iterable[Any] = (np.float32,),
    *,
    arrays: int = 1,
    ulps: float = 0,
    special: bool = True,
    seed: int = 0,
) -> None:
    """A function that runs a kernel gives what an oracle gives, for hostile shapes and values.

    Parameters
    ----------
    function : callable
        Of C-contiguous arrays; it gives an array, or a tuple of arrays.
    oracle : callable
        Of equal arrays: the same, in NumPy.
    shapes : sequence of shapes, optional
        Of the arrays; None: hostile(), which are of one axis.
    dtypes : sequence of dtype
        Of the arrays.
    arrays : int
        How many, all of one shape.
    ulps : int
        How far floats may be apart, as in assert_within_ulps.
    special : bool
        Also arrays with infinities, NaN, subnormals, extremes.
    seed : int
        Of the values.

    Raises
    ------
    AssertionError (what differs, with the dtype, the shape and the seed that show it)

    Examples
    --------
    >>> from warpkit.testing import check_kernel
    >>> check_kernel(np.negative, lambda x: -x, dtypes=("int32", "float64"))
    """
    makers = {"values": values} | ({"specials": specials} if special else {})
    for dtype in dtypes:
        for shape in hostile() if shapes is None else shapes:
            for name, make in makers.items():
                seeds = [seed + 7 * i for i in range(arrays)]
                given = [np.ascontiguousarray(make(dtype, tuple(shape), s)) for s in seeds]
                with np.errstate(all="ignore"):
                    want = oracle(*(x.copy() for x in given))
                call = f"warpkit.testing.{name}({np.dtype(dtype).name!r}, {tuple(shape)}, seed)"
                try:
                    _near(function(*given), want, ulps)
                except Exception as error:
                    error.add_note(f"for {call}, seed {', '.join(map(str, seeds))}")
                    raise


def _near(got: Any, want: Any, ulps: float) -> None:
    if not isinstance(want, tuple):
        return assert_within_ulps(got, want, ulps)
    assert isinstance(got, tuple), f"{type(got).__name__} instead of a tuple"
    for one, other in zip(got, want, strict=True):
        assert_within_ulps(one, other, ulps)


# ---- the emulated device -------------------------------------------------------------------------


@contextlib.contextmanager
def settings(**variables: str | None) -> Iterator[None]:
    """Within it warpkit's environment variables, which are read once, have these values.

    Parameters
    ----------
    **variables : str or None
        Such as WARPKIT_EMU_SCHEDULE="reverse"; None: not set.

    Notes
    -----
    They are the whole process's. What they take is in docs/emulator.md.

    Examples
    --------
    >>> with warpkit.testing.settings(WARPKIT_EMU_SCHEDULE="reverse"):
    ...     pass
    """
    before = {name: os.environ.get(name) for name in variables}
    try:
        _put(variables)
        yield
    finally:
        _put(before)


def _put(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _core.read_settings()


def schedules(n: int = 3) -> dict[str, dict[str, str | None]]:
    """The orders of threads that a kernel has to bear, by name, as what settings takes.

    Parameters
    ----------
    n : int
        How many random ones, of seeds 1 to n.

    Returns
    -------
    dict of str to dict
        "linear", "reverse", "seed-1" and so on, "weak" (memory).

    Examples
    --------
    >>> list(warpkit.testing.schedules(2))
    ['linear', 'reverse', 'seed-1', 'seed-2', 'weak']
    """
    every: dict[str, dict[str, str | None]] = {
        "linear": {"WARPKIT_EMU_SCHEDULE": "linear"},
        "reverse": {"WARPKIT_EMU_SCHEDULE": "reverse"},
    }
    for seed in range(1, n + 1):
        every[f"seed-{seed}"] = {
            "WARPKIT_EMU_SCHEDULE": "random",
            "WARPKIT_EMU_SEED": str(seed),
            "WARPKIT_EMU_THREADS": "1",  # or the same seed is not the same schedule
        }
    every["weak"] = {"WARPKIT_EMU_SCHEDULE": "linear", "WARPKIT_EMU_MEMORY": "weak"}
    return every


def under_schedules(function: Callable[[], Any], n: int = 3) -> dict[str, Any]:
    """What a function gives under each of schedules(n), by name.

    Returns
    -------
    dict

    Examples
    --------
    >>> from warpkit.testing import assert_same_bits, under_schedules
    >>> assert_same_bits(**under_schedules(lambda: np.arange(3)))
    """
    results = {}
    for name, variables in schedules(n).items():
        with settings(**variables):
            results[name] = function()
    return results


CANARIES = ("nan", "finite", "page-begin", "page-end")


def canaries(kind: str) -> contextlib.AbstractContextManager[None]:
    """Within it NumPy arrays that kernels take lie, on the emulated device, in hostile places.

    A launch that writes beyond an array's ends is a DeviceError that names the argument. One that
    reads there gives a wrong result ("nan", "finite") or is a DeviceError ("page-begin",
    "page-end").

    Parameters
    ----------
    kind : str
        "nan": between bytes 0xFF, which are NaN in every type of floats, and -1; "finite": between
        bytes 0x7A, which are large numbers; "page-begin", "page-end": at the beginning, the end of
        memory that may be touched; what is beyond is a bad address to read and to write.

    Raises
    ------
    ValueError (kind)

    Notes
    -----
    Arrays of the device, and whole programs, are as they are. So are kernels on "cuda":
    compute-sanitizer is for them. Where a source has types such as float4, arrays at the end of a
    page begin at multiples of 16 bytes, and up to 15 bytes behind are canaries.
    """
    from warpkit import _canaries  # with what compiles, which takes longer to import than this

    return _canaries.canaries(kind)
