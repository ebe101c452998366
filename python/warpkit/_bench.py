"""bench: every variant of an operation on every device, timed."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import warpkit
from warpkit import _core, _tables
from warpkit._array import DeviceArray, asarray, beside
from warpkit._devices import variants
from warpkit._ops import unknown

OPERATIONS = {  # and whose rows of the table they run
    "reduce": "reduce",
    "transpose": "transpose",
    "stencil1d": "stencil1d",
    "histogram": "histogram",
    "bincount": "histogram",
    "warp_histogram": "warp_histogram",
    "run_length": "run_length",
    "unique_counts": "unique_counts",
    "dot": "dot",
    "vdot": "dot",
    "cumsum": "cumsum",
    "nancumsum": "cumsum",
    "segment_reduce": "segment_reduce",
}
BATCH = 2e-3  # seconds of calls that are timed together
HEAD = ("device", "variant", "ms", "GB/s", "of a copy", "what it teaches")


class Timing(NamedTuple):
    """One variant of an operation on one device.

    Attributes
    ----------
    device, variant, teaches : str
        As in the table of kernels.
    production : bool
        It is the one that is used where none is named.
    seconds : float
        Of a call, of many one after another; the least of several.
    gb_s : float
        10^9 bytes of input and results a second.
    of_a_copy : float
        That over the rate at which the device copies the input.
    error : str
        Why it does not run; "": it does.
    """

    device: str
    variant: str
    production: bool
    seconds: float
    gb_s: float
    of_a_copy: float
    teaches: str
    error: str


class Bench:
    """What bench gives: a sequence of Timing, which prints as a table and draws itself."""

    def __init__(self, what: str, timings: list[Timing]) -> None:
        self.what, self.timings = what, timings

    def __len__(self) -> int:
        return len(self.timings)

    def __iter__(self) -> Iterator[Timing]:
        return iter(self.timings)

    def __getitem__(self, at: int) -> Timing:
        return self.timings[at]

    def _lines(self) -> list[tuple[str, ...]]:
        lines: list[tuple[str, ...]] = []
        for t in self.timings:
            name = f"{t.variant} (production)" if t.production else t.variant
            if t.error:
                lines.append((t.device, name, "", "", "", t.error))
                continue
            rate = f"{t.gb_s:.3g}", f"{100 * t.of_a_copy:.0f} %"
            lines.append((t.device, name, f"{1e3 * t.seconds:.3g}", *rate, t.teaches))
        return lines

    def __str__(self) -> str:
        return _tables.text(self.what, HEAD, self._lines(), "<<>>><")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _tables.markup(self.what, HEAD, self._lines())

    def plot(self, ax: Any = None) -> Any:
        """Bars of GB/s, in the order of the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            None: a new one.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ImportError (no matplotlib)
        """
        import matplotlib.pyplot as plt

        ran = [t for t in self.timings if not t.error][::-1]
        if ax is None:
            _, ax = plt.subplots(figsize=(8, 1 + 0.3 * len(ran)))
        names = [f"{t.variant}, {t.device}" for t in ran]
        colors = ["tab:blue" if t.production else "tab:gray" for t in ran]
        ax.barh(range(len(ran)), [t.gb_s for t in ran], color=colors)
        ax.set(yticks=range(len(ran)), yticklabels=names, xlabel="GB/s", title=self.what)
        return ax


def bench(
    op: str,
    a: Any,
    /,
    *args: Any,
    devices: str | Sequence[str] | None = None,
    seconds: float = 0.2,
    **options: Any,
) -> Bench:
    """Every variant of an operation on every device, timed side by side.

    Parameters
    ----------
    op : str
        "reduce", "transpose", "stencil1d", "histogram", "bincount", "warp_histogram",
        "run_length", "unique_counts", "dot", "vdot", "cumsum", "nancumsum" or "segment_reduce".
    a : array_like
        It is taken to each device before the clock starts.
    *args : optional
        The others that the operation takes, such as bins.
    devices : str or sequence of str, optional
        A name or several; None: the CPU and the GPUs. "emu" is to be named: its times say nothing
        of a GPU.
    seconds : float
        That each variant is given, beside the first call.
    **options : optional
        As args; not device, stream, out.

    Returns
    -------
    Bench
        A sequence of Timing (device, variant, production, seconds, gb_s, of_a_copy, teaches,
        error), which prints as a table, in a notebook too; plot() draws it.

    Raises
    ------
    ValueError (op, devices), TypeError (an option that is not taken)

    See Also
    --------
    variants

    Notes
    -----
    Each call allocates its result. A GPU's clock runs until all calls of a batch are done: so short
    a call's time is that of asking for it. A variant that does not take a's dtype has its error in
    the table.

    Examples
    --------
    >>> table = warpkit.bench("transpose", np.ones((64, 64)), devices="cpu", seconds=0.001)
    >>> {t.device for t in table}
    {'cpu'}
    """
    if op not in OPERATIONS:
        raise ValueError(unknown("op", op, OPERATIONS))
    for name in ("device", "stream", "out", "variant", "progress"):
        if name in options:
            raise TypeError(f"bench takes no {name}: it tries all variants on all devices")
    call: Callable[..., Any] = getattr(warpkit, op)
    given = a.numpy() if isinstance(a, DeviceArray) else np.asarray(a)
    if devices is None:
        devices = [d for d in _core.devices() if not d.startswith("emu")]
    timings = []
    for device in [devices] if isinstance(devices, str) else devices:
        there = given if device.startswith("cpu") else asarray(given, device=device)
        along = [np.shape(x) == given.shape for x in args]  # the other one of a product
        others = [_beside(there, x) if is_ else x for x, is_ in zip(args, along, strict=True)]
        read = there.nbytes + sum(x.nbytes for x, is_ in zip(others, along, strict=True) if is_)
        again = there.copy()  # memory that is there already
        copy = best(functools.partial(_copy, again, there), seconds)
        kind = "cpu" if device.startswith("cpu") else "cuda"
        for row in variants(OPERATIONS[op]):
            if row.device != kind:
                continue
            more = {**options, "variant": row.name}
            if kind == "cpu":
                more["device"] = device
            error, took, nbytes = "", math.nan, 0
            timed = functools.partial(call, there, *others, **more)
            try:
                nbytes = read + _bytes_of(timed())
                took = best(timed, seconds)
            except (ValueError, TypeError) as wrong:
                if row.production:
                    raise
                error = str(wrong)
            rate = nbytes / took
            share = rate / (2 * max(there.nbytes, 1) / copy)
            facts = (device, row.name, row.production, took, rate / 1e9, share)
            timings.append(Timing(*facts, row.teaches, error))
    what = f"{op} of {' x '.join(map(str, given.shape)) or 'one'} {given.dtype}"
    return Bench(what, timings)


def _copy(to: Any, source: Any) -> Any:
    to[...] = source
    return to


def _beside(there: Any, x: Any) -> Any:
    host = np.asarray(x)
    return beside(host, there) if isinstance(there, DeviceArray) else host


def _bytes_of(result: Any) -> int:
    if isinstance(result, tuple):
        return sum(map(_bytes_of, result))
    return int(result.nbytes)


def _wait(result: Any) -> None:
    while isinstance(result, tuple):
        result = result[-1]
    if isinstance(result, DeviceArray):
        result._wait()


def best(call: Callable[[], Any], seconds: float) -> float:
    """Seconds of a call: the least mean of batches, each of at least BATCH. The first call, which
    loads its kernel and takes its memory, is not counted."""
    _wait(call())
    count, least, end = 1, math.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(count):
            result = call()
        _wait(result)
        took = time.perf_counter() - start
        if took < BATCH and time.perf_counter() < end:
            count *= 2
            continue
        least = min(least, took / count)
        if time.perf_counter() >= end:
            return least
