"""ladder: all rungs of an operation side by side."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import warpkit
from warpkit import _bench, _tables
from warpkit._ops import unknown
from warpkit.lab import _rows, _run, _trace
from warpkit.lab._plan import roofline

TAPS, BINS = 9, 64
_TIMED = 0.02  # seconds that a rung is timed
_LIMITS = _run.Limits(threads=1 << 22, records=256)


class Rung(NamedTuple):
    """A rung of a ladder.

    Attributes
    ----------
    variant, teaches : str
        As in the table of kernels.
    counts : Counts
        Of all its launches.
    dram_bytes : int
        By the caches' model.
    floor : float or None
        Seconds, by the rate of a copy; None where that is not known.
    seconds : float or None
        Measured; None where there is no GPU.
    trace : Trace
    """

    variant: str
    counts: _trace.Counts
    dram_bytes: int
    floor: float | None
    seconds: float | None
    teaches: str
    trace: _trace.Trace


_HEADS = (
    "rung",
    "requests",
    "sectors",
    "excess",
    "wavefronts",
    "excess",
    "DRAM, MB",
    "floor, us",
    "time, us",
    "what it teaches",
)


class Ladder(list[Rung]):
    """The rungs in their order, as a list that shows itself as a table; plot() draws it."""

    title = ""

    def _rows(self) -> list[list[str]]:
        def micro(seconds: float | None) -> str:
            return "" if seconds is None else f"{seconds * 1e6:.1f}"

        return [
            [
                one.variant + ("" if one.trace.complete else " (some blocks)"),
                f"{one.counts.requests:,}",
                f"{one.counts.sectors:,}",
                f"{one.counts.sectors - one.counts.ideal_sectors:,}",
                f"{one.counts.wavefronts:,}",
                f"{one.counts.wavefronts - one.counts.ideal_wavefronts:,}",
                f"{one.dram_bytes / 1e6:.2f}",
                micro(one.floor),
                micro(one.seconds),
                one.teaches,
            ]
            for one in self
        ]

    def __repr__(self) -> str:
        return _tables.text(self.title, _HEADS, self._rows(), "<>>>>>>>><")

    def _repr_html_(self) -> str:
        return _tables.markup(self.title, _HEADS, self._rows())

    def plot(self, axes: Any = None) -> Any:
        """Sectors and wavefronts of each rung, ideal and in excess: Matplotlib's Axes."""
        import matplotlib.pyplot as plt

        if axes is None:
            axes = plt.subplots(figsize=(9, 0.4 * len(self) + 1.5), layout="constrained")[1]
        at = np.arange(len(self))
        for shift, name, colours in (
            (-0.2, "sectors", ("#2a6fc9", "#9cc0ee")),
            (0.2, "wavefronts", ("#c9692a", "#eec39c")),
        ):
            ideal = np.array([getattr(one.counts, f"ideal_{name}") for one in self])
            excess = np.array([getattr(one.counts, name) for one in self]) - ideal
            axes.barh(
                at + shift, ideal, 0.36, color=colours[0], label=f"{name}, as many as must be"
            )
            axes.barh(at + shift, excess, 0.36, ideal, color=colours[1], label=f"{name}, in excess")
        axes.set_yticks(at, [one.variant for one in self])
        axes.invert_yaxis()
        axes.set_title(self.title)
        axes.legend()
        return axes


def _arguments(op: str, shape: Sequence[int], dtype: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    numbers = np.random.default_rng(0).integers(0, 100, shape)
    a = numbers.astype(dtype)
    if op == "stencil1d":
        return a, [np.linspace(-1, 1, TAPS).astype(a.dtype)], {}
    if op == "histogram":
        return a, [], {"bins": BINS, "range": (0, 100)}
    if op == "warp_histogram":  # some rungs do not sort
        return np.sort(a.reshape(-1, 32), axis=1), [], {"assume_sorted": True}
    return a, [], {}


def ladder(
    op: str, shape: int | Sequence[int], dtype: Any = "float32", *, rate: float | None = None
) -> Ladder:
    """Trace every rung of an operation's ladder.

    Parameters
    ----------
    op : str
        "reduce", "transpose", "stencil1d" (9 taps), "histogram" (64 bins), "warp_histogram"
        (rows of 32, sorted).
    shape : tuple of int
        Of the array.
    dtype : dtype
        Of its elements; rungs that do not take it are left out.
    rate : float, optional
        Bytes a second that a copy moves, for the floor; None: measured by a rung that copies, where
        there is a GPU; else there is no floor.

    Returns
    -------
    Ladder
        A list of Rung.

    Raises
    ------
    ValueError (no such ladder, no rung takes the dtype)

    See Also
    --------
    trace

    Examples
    --------
    >>> found = warpkit.lab.ladder("transpose", (64, 64), rate=2.9e12)
    >>> [rung.variant for rung in found if rung.counts.excess > 3000]
    ['naive_row', 'naive_col', 'naive_unroll', 'diagonal', 'smem', 'smem_dyn', 'smem_unroll']
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    name = np.dtype(dtype).name
    files = _rows.rungs()
    rows = [
        row
        for row in warpkit.variants()
        if row.device == "cuda" and row.op == op and (op, row.name) in files
    ]
    if not rows:
        known = dict.fromkeys(o for o, _ in files if hasattr(warpkit, o))
        raise ValueError(unknown("ladder", op, known))
    rows = [row for row in rows if name in row.dtypes]
    if not rows:
        raise ValueError(f"no rung of {op} takes {name}")
    a, more, given = _arguments(op, shape, dtype)
    gpu = any(name.startswith("cuda") for name in warpkit.devices())
    function = getattr(warpkit, op)
    seconds = {
        row.name: _seconds(function, a, more, {**given, "variant": row.name}) if gpu else None
        for row in rows
    }
    if rate is None and gpu:
        copy = _seconds(warpkit.transpose, a.reshape(-1, a.shape[-1]), [], {"variant": "copy"})
        rate = 2 * a.nbytes / copy
    found = Ladder()
    found.title = f"{op}, {' x '.join(map(str, shape))} {name}"
    for row in rows:
        trace = _trace_of(function, warpkit.asarray(a, device="emu"), more, given, row.name)
        model = trace.model
        dram = model["dram_read_bytes"] + model["dram_written_bytes"]
        floor = roofline(trace, rate).floor if rate else None
        found.append(
            Rung(row.name, trace.totals, dram, floor, seconds[row.name], row.teaches, trace)
        )
    return found


def _trace_of(
    function: Any, a: Any, more: Sequence[Any], given: dict[str, Any], variant: str
) -> _trace.Trace:
    from warpkit import lab

    return lab.trace(function, a, *more, variant=variant, limits=_LIMITS, **given)


def _seconds(function: Any, a: Any, more: Sequence[Any], given: dict[str, Any]) -> float:
    """Of one call on a GPU's own array, launches included."""
    there = warpkit.asarray(a, device="cuda")
    return _bench.best(functools.partial(function, there, *more, **given), _TIMED)
