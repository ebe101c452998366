"""stencil1d and convolve1d, and the options that all operations take; the work is in _core."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from warpkit import _core, _interop

Axis = int | tuple[int, ...] | None
DeviceName = Literal["cpu", "cuda", "cuda:all", "emu", "auto"] | str  # which editors offer
Device = DeviceName | Sequence[str] | None
Progress = bool | Callable[[int, int], object]
ResultT = TypeVar("ResultT")  # whose fields a named tuple has
Mode = Literal[
    "reflect", "constant", "nearest", "mirror", "wrap", "valid", "grid-mirror", "grid-constant",
    "grid-wrap",
]  # fmt: skip

NO_VALUE: Any = np._NoValue  # of an argument that was not given


def unknown(what: str, name: object, known: Iterable[str]) -> str:
    """The message of an error: which there are, and the one that may be meant."""
    from difflib import get_close_matches

    known = list(known)
    meant = get_close_matches(name, known, 1) if isinstance(name, str) else []
    hint = f" (did you mean {meant[0]!r}?)" if meant else ""
    return f"unknown {what} {name!r}{hint}; there are: {', '.join(known)}"


def named(op: str, device: Device, nbytes: int) -> Any:
    """A call's device: the default one where it names none, and what "auto" chooses."""
    if device is None:
        device = _core.default_device()
    if device != "auto":
        return device
    from warpkit import _auto  # which takes longer to import than all the rest

    return _auto.choose(op, nbytes, 0)


def with_options(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    out: Any,
    device: Device,
    stream: Any,
    variant: str | None,
    progress: Progress,
) -> Any:
    """One of _core's operations, with a stream of any library and with progress."""
    pair = None if stream is None else _interop.stream_pair(stream)
    if not progress:
        return function(*arguments, out, device, pair, variant, None)
    from warpkit import _progress  # threads, which most calls do without

    run = functools.partial(function, *arguments, out, device, pair, variant)
    return _progress.run(run, progress, function.__name__)


def stencil1d(
    a: Any,
    /,
    coefficients: ArrayLike,
    axis: int = -1,
    *,
    mode: Mode = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    output: Any = None,
    accumulate: DTypeLike | None = None,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Correlate ``a`` with ``coefficients`` along ``axis``.

    ``out[i] = sum over t of conj(coefficients[t]) * a[i + t - len(coefficients) // 2 - origin]``

    Parameters
    ----------
    a : array_like
        Any dtype of reduce's, at least one axis, any strides; host or device.
    coefficients : array_like
        Real or complex, shape (k,), k >= 1, on the host; any k, also longer than the axis.
    axis : int
        Along which.
    mode : str
        What stands beyond the ends of abcd:

        - "reflect" ``dcba|abcd|dcba``, "constant" ``kkkk|abcd|kkkk`` with k = cval,
          "nearest" ``aaaa|abcd|dddd``, "mirror" ``dcb|abcd|cba``, "wrap" ``abcd|abcd|abcd``
        - "valid" nothing: n - k + 1 results,
          ``out[i] = sum of conj(coefficients[t]) * a[i + t]``
    cval : number
        Complex where ``a`` is.
    origin : int
        Shifts the window, within ``-(k // 2) .. (k - 1) // 2``; 0 is centred.
    output : dtype or array, optional
        The result's dtype, or the array to write, as out; None: a's dtype, complex where the
        coefficients are.
    accumulate : dtype, optional
        What products are added in: None is float64 as in SciPy, "float32" is faster.
    out : array, optional
        Of the result's shape and any dtype as output; host or device: written and returned.
    device, stream, variant, progress : optional
        As of every operation: see ``help(warpkit)``.

    Returns
    -------
    array of a's kind
        Of a's shape ("valid": axis n - k + 1) and output's dtype.

    Raises
    ------
    TypeError
        dtype, output, accumulate; cval as in SciPy.
    ValueError
        origin; "valid" with k > n; variant; cval as in SciPy.
    RuntimeError
        As in SciPy: mode; coefficients empty or not 1-D; output not complex.
    AxisError, MemoryError, DeviceError

    See Also
    --------
    convolve1d, gradient1d, finite_difference, scipy.ndimage.correlate1d

    Notes
    -----
    Fused multiply-adds in the order of t, starting from 0, then converted: the same bits on every
    device. Coefficients are rounded to what is added in. Integers are truncated towards zero and
    wrap as in C; bool is the truncated value != 0. Complex numbers by their parts: c.real * x.real,
    then -c.imag * x.imag are added to the real one, c.real * x.imag, then c.imag * x.real to the
    imaginary one.

    Examples
    --------
    >>> warpkit.stencil1d([0.0, 0.0, 1.0, 0.0], [1, 2, 3])
    array([0., 3., 2., 1.])
    >>> warpkit.stencil1d([1.0, 4.0, 9.0], [-1, 1], mode="valid")
    array([3., 5.])
    """
    if output is not None:
        if not isinstance(output, (str, type, np.dtype)):
            if out is not None:
                raise TypeError("an array is given twice, as output and as out")
            out, output = output, None
        elif out is not None:
            raise TypeError(f"output {output!r} is out of place: out has a dtype of its own")
    arguments = (a, coefficients, axis, mode, cval, origin, output, accumulate)
    if stream is None and not progress:
        return _core.stencil1d(*arguments, out, device, None, variant, None)
    return with_options(_core.stencil1d, arguments, out, device, stream, variant, progress)


def convolve1d(
    a: Any,
    /,
    coefficients: ArrayLike,
    axis: int = -1,
    *,
    mode: Mode = "reflect",
    cval: complex = 0.0,
    origin: int = 0,
    output: Any = None,
    accumulate: DTypeLike | None = None,
    out: Any = None,
    device: Device = None,
    stream: Any = None,
    variant: str | None = None,
    progress: Progress = False,
) -> Any:
    """Convolve ``a`` with ``coefficients`` along ``axis``: stencil1d with them reversed.

    ``out[i] = sum over t of coefficients[t] * a[i - t + len(coefficients) // 2 + origin]``

    Parameters, results, errors and notes are stencil1d's.

    See Also
    --------
    stencil1d, scipy.ndimage.convolve1d

    Examples
    --------
    >>> warpkit.convolve1d([0.0, 0.0, 1.0, 0.0], [1, 2, 3])
    array([0., 1., 2., 3.])
    """
    taps = np.asarray(_core.unmasked(coefficients))
    if taps.ndim == 1:  # else stencil1d refuses them
        taps = taps[::-1]
    if mode != "valid" and -(taps.size // 2) <= origin <= (taps.size - 1) // 2:
        origin = -origin - (1 - taps.size % 2)  # another is refused as it was given
    return stencil1d(
        a,
        taps.conj() if taps.dtype.kind == "c" else taps,
        axis,
        mode=mode,
        cval=cval,
        origin=origin,
        output=output,
        accumulate=accumulate,
        out=out,
        device=device,
        stream=stream,
        variant=variant,
        progress=progress,
    )
