"""Derivatives by stencils: their coefficients, and gradient1d, which applies them."""

from __future__ import annotations

import functools
import math
import numbers
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import DTypeLike

from warpkit import _core
from warpkit._array import DeviceArray
from warpkit._ops import Device, stencil1d

ACCURACY = 8  # of finite_difference: nine taps still run at the memory's speed


def finite_difference(
    derivative: int = 1,
    accuracy: int | None = None,
    h: float = 1.0,
    *,
    offsets: Iterable[float] | None = None,
) -> np.ndarray:
    """The coefficients with which stencil1d gives a derivative.

    Parameters
    ----------
    derivative : int
        Which one, at least 0 (0: the value itself, between places that are given).
    accuracy : int, optional
        The error's order in h, even, at least 2; None: 8. Not with offsets, which have an order of
        their own: at least len(offsets) - derivative.
    h : float
        Distance of neighbours, not 0; the unit of what the result is divided by, h**derivative.
    offsets : sequence of float, optional
        Distinct places of the elements in units of h, seen from where the derivative is wanted;
        None: central, -p .. p with p = (derivative + 1) // 2 - 1 + accuracy // 2.

    Returns
    -------
    ndarray of float64
        Shape (2 * p + 1,), or (len(offsets),) in the order of the offsets.

    Raises
    ------
    TypeError, ValueError (a value out of range; offsets too few, or one of them twice)

    See Also
    --------
    gradient1d, stencil1d

    Notes
    -----
    Found as fractions [1]_, each rounded once; central ones are (anti)symmetric to the bit. Of
    offsets first, first + 1, ... stencil1d's origin is ``-first - len(offsets) // 2``.

    References
    ----------
    .. [1] B. Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids",
       Math. Comp. 51 (1988) 699-706

    Examples
    --------
    >>> warpkit.finite_difference(2, accuracy=2)
    array([ 1., -2.,  1.])
    >>> warpkit.finite_difference(1, h=0.5, offsets=(0, 1))
    array([-2.,  2.])
    """
    derivative = _integer(derivative, "derivative")
    if derivative < 0:
        raise ValueError(f"derivative must be at least 0, not {derivative}")
    step = _fraction(h, "h")
    if step == 0:
        raise ValueError("h must not be 0")
    if offsets is None:
        p = (derivative + 1) // 2 - 1 + _even(ACCURACY if accuracy is None else accuracy) // 2
        places = tuple(map(Fraction, range(-p, p + 1)))
    elif accuracy is not None:
        raise ValueError(f"accuracy={accuracy!r} beside offsets, which have an order of their own")
    else:
        places = tuple(_fraction(offset, "an offset") for offset in offsets)
        _check(places, derivative)
    scale = step**derivative
    try:
        return np.array([float(c / scale) for c in _coefficients(derivative, places)])
    except OverflowError:
        raise ValueError(f"h = {h!r} is too small: coefficients exceed float64's range") from None


def gradient1d(
    a: Any,
    /,
    h: float = 1.0,
    axis: int = -1,
    *,
    derivative: int = 1,
    accuracy: int = 2,
    accumulate: DTypeLike | None = None,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
) -> Any:
    """The derivative of ``a`` along ``axis``, of evenly spaced elements.

    Parameters
    ----------
    a : array_like
        Any dtype of reduce's, at least one axis, any strides; host or device.
    h : float
        Distance of neighbours, not 0.
    axis : int
        Along which.
    derivative : int
        Which one, at least 1.
    accuracy : int
        The error's order in h, even, at least 2, up to both ends.
    accumulate : dtype, optional
        As in stencil1d.
    out : array, optional
        Array of a's shape, host or device: written and returned. Its dtype is the result's.
    device, stream : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Of a's shape; float and complex ``a``: of a's dtype, others: float64.

    Raises
    ------
    AxisError
    TypeError
        dtype, h.
    ValueError
        a value out of range; fewer elements than derivative + accuracy along axis.
    As stencil1d

    See Also
    --------
    finite_difference, numpy.gradient

    Notes
    -----
    Central differences; near the ends one-sided ones, over derivative + accuracy elements. By
    default numpy.gradient's, edge_order=2: three elements are enough, and a kink is smeared by one.
    For smooth data accuracy=8 has far smaller errors, and takes hardly longer: the memory's speed
    bounds both.

    Examples
    --------
    >>> warpkit.gradient1d([0.0, 1.0, 4.0, 9.0])
    array([0., 2., 4., 6.])
    """
    out = None if out is ... else out  # the result is an array
    array, library = _core.operand(a)
    central, axis, derivative, window = differences(array, h, axis, derivative, accuracy)
    n, side = array.shape[axis], len(central) // 2
    options = {"accumulate": accumulate, "device": device, "stream": stream}

    def part(of: Any, start: int, stop: int) -> Any:
        return of[(slice(None),) * axis + (slice(start, stop),)]

    first, last = part(array, 0, window), part(array, n - window, n)
    dtype = difference_dtype(array.dtype)
    new = out is None and library is not None and isinstance(array, DeviceArray)
    if new:  # in the library's own pool
        out = library.new(array.shape, dtype.name, array.device, array._stream)
    elif out is not None:  # it may be a
        first, last = first.copy(), last.copy()
    output = dtype if out is None else None
    # The ends are wrong in this, and made right below: so most of it is written in one piece.
    result = stencil1d(array, central, axis, mode="nearest", output=output, out=out, **options)
    target, _ = _core.operand(result)
    for i in range(side):
        ends = (first, i, range(-i, window - i)), (last, n - 1 - i, range(i - window + 1, i + 1))
        for these, at, offsets in ends:
            taps = _taps(derivative, None, h, tuple(offsets))
            place = part(target, at, at + 1)
            stencil1d(these, taps, axis, mode="valid", out=place, **options)
    return library.finish(result) if library is not None and (new or out is None) else result


def differences(
    array: Any, h: Any, axis: int, derivative: int, accuracy: int
) -> tuple[np.ndarray, int, int, int]:
    """What gradient1d takes of an array: coefficients, axis, derivative, and elements at an end."""
    derivative, accuracy = _integer(derivative, "derivative"), _even(accuracy)
    if derivative < 1:
        raise ValueError(f"derivative must be at least 1, not {derivative}")
    central = _taps(derivative, accuracy, h, None)
    axis = normalize_axis_index(axis, array.ndim)
    n, window = array.shape[axis], derivative + accuracy
    if n < window:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            f"{window} elements are required for accuracy {accuracy}, not {n}"
        )
    return central, axis, derivative, window


def _taps(
    derivative: int, accuracy: int | None, h: Any, offsets: tuple[int, ...] | None
) -> np.ndarray:
    """finite_difference's, which takes longer than small arrays' stencils: remembered."""
    if type(h) in (int, float):
        return _remembered(derivative, accuracy, h, offsets)
    return finite_difference(derivative, accuracy, h, offsets=offsets)


@functools.lru_cache(maxsize=256, typed=True)
def _remembered(
    derivative: int, accuracy: int | None, h: float, offsets: tuple[int, ...] | None
) -> np.ndarray:
    found = finite_difference(derivative, accuracy, h, offsets=offsets)
    found.flags.writeable = False
    return found


def difference_dtype(dtype: Any) -> Any:
    """A derivative's, of an array's."""
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


@functools.lru_cache(maxsize=256)
def _coefficients(derivative: int, offsets: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Derivatives at 0 of the polynomials that are 1 at one offset and 0 at all others."""
    n = len(offsets)
    product = [Fraction(1)]  # of all (x - offset), by powers of x
    for offset in offsets:
        product = [
            lower - offset * same
            for lower, same in zip([Fraction(0), *product], [*product, Fraction(0)], strict=True)
        ]
    found = []
    for offset in offsets:
        others = [Fraction(0)] * (n + 1)  # the product divided by (x - offset)
        for power in reversed(range(n)):
            others[power] = product[power + 1] + offset * others[power + 1]
        at_offset = Fraction(0)
        for factor in reversed(others):
            at_offset = at_offset * offset + factor
        found.append(math.factorial(derivative) * others[derivative] / at_offset)
    return tuple(found)


def _check(offsets: tuple[Fraction, ...], derivative: int) -> None:
    if len(set(offsets)) < len(offsets):
        shown = ", ".join(f"{float(offset):g}" for offset in offsets)
        raise ValueError(f"offsets must be distinct, not {shown}")
    if len(offsets) <= derivative:
        raise ValueError(
            f"derivative {derivative} takes at least {derivative + 1} offsets, not {len(offsets)}"
        )


def _integer(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def _even(accuracy: Any) -> int:
    accuracy = _integer(accuracy, "accuracy")
    if accuracy < 2 or accuracy % 2:
        raise ValueError(f"accuracy must be even and at least 2, not {accuracy}")
    return int(accuracy)


def _fraction(value: Any, name: str) -> Fraction:
    """A number of Python's or NumPy's, as it is."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, not {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value}")
    return Fraction(float(value))
