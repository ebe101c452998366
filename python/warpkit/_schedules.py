"""shrink: an order of threads under which a test fails, made as short as it still fails."""

from __future__ import annotations

import contextlib
import ctypes
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from warpkit._core import DeviceError

_SINGLES = 200  # that are tried alone
_HEAD = ("step", "kernel", "block", "warp", "lane", "thread", "goes on from", "until", "before")


class Switch(NamedTuple):
    """At one point of a run another thread goes on than in the linear order, or another block.

    Attributes
    ----------
    launch : int
        Number of the launch, from 0.
    block : int
        Of its grid, x first; -1: it is the order of blocks.
    thread : int
        Of the block, x first, that has come to a barrier, a collective, an atomic, a fence or its
        end; -1: none, the block begins, or all have come to a barrier.
    point : int
        Which of its points that is, from 0; of none: how many barriers have opened; of blocks: how
        many have run before.
    to : int
        The thread, or the block, that goes on.
    """

    launch: int
    block: int
    thread: int
    point: int
    to: int

    def __str__(self) -> str:
        if self.block < 0:
            return f"{self.launch}/{self.point}:{self.to}"
        if self.thread < 0:
            return f"{self.launch}.{self.block}.{self.point}:{self.to}"
        return f"{self.launch}.{self.block}.{self.thread}.{self.point}:{self.to}"


class Schedule(NamedTuple):
    """A failure, and the switches away from the linear order that lead to it.

    Attributes
    ----------
    error : BaseException
        What was raised under them.
    switches : tuple of Switch
        Of Switch: without any one of them nothing fails, or something else.
    rows : sequence of tuple
        Of each: kernel, block, warp, lane, thread, from where it goes on, where it stops next, and
        before whom it went on.
    """

    error: BaseException
    switches: tuple[Switch, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def setting(self) -> str:
        """A value of WARPKIT_EMU_SCHEDULE under which it happens again."""
        return ",".join(map(str, self.switches)) or "linear"

    def __str__(self) -> str:
        if not self.switches:
            return "It fails in the linear order of threads too."
        cells = [_HEAD, *((str(i), *row) for i, row in enumerate(self.rows, 1))]
        used = [k for k in range(len(_HEAD)) if any(row[k] for row in cells[1:])]
        if len({row[1] for row in cells[1:]}) == 1:
            used.remove(1)
        wide = [max(len(row[k]) for row in cells) for k in range(len(_HEAD))]
        lines = ["  ".join(row[k].ljust(wide[k]) for k in used).rstrip() for row in cells]
        many = f"{len(self.switches)} switch{'es' * (len(self.switches) > 1)}"
        return "\n".join(
            [f"It fails after {many} away from the linear order:", *lines]
            + [f"Again: WARPKIT_EMU_SCHEDULE={self.setting}"] * (len(self.setting) < 256)
        )


class _Switch(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int64) for name in Switch._fields)


class _Emulator:
    """What cuda/emu/schedule.cc has for this."""

    def __init__(self) -> None:
        from warpkit import _compiler

        loaded = ctypes.CDLL(str(_compiler.EMULATOR))
        if not hasattr(loaded, "warpkit_schedule"):
            raise DeviceError("the emulated device of a sanitized build keeps no schedules")
        self._schedule, self._switches = loaded.warpkit_schedule, loaded.warpkit_switches
        self._switches.restype = ctypes.c_int64
        self._told = loaded.warpkit_switches_told
        self._told.restype = ctypes.c_char_p

    def keep(self, switches: Sequence[Switch] | None) -> None:
        """None: from now on they are noted."""
        count = len(switches or ())
        array = (_Switch * max(count, 1))(*(_Switch(*s) for s in switches or ()))
        given = array if switches is not None else None
        if self._schedule(given, ctypes.c_int64(count)):
            raise MemoryError("no memory for the switches of a schedule")

    def forget(self) -> None:
        self._schedule(None, ctypes.c_int64(-1))

    def made(self) -> list[Switch]:
        count = self._switches(None, ctypes.c_int64(0))
        if count < 0:
            raise MemoryError("the run takes too many turns to be noted")
        array = (_Switch * max(count, 1))()
        self._switches(array, ctypes.c_int64(count))
        return [Switch(*(getattr(s, name) for name in Switch._fields)) for s in array[:count]]

    def rows(self) -> tuple[tuple[str, ...], ...]:
        text = re.sub(r"/\S*/(?=[^/\s]+:\d)", "", self._told().decode(errors="replace"))
        return tuple(tuple(line.split("\t")) for line in text.splitlines())


class _Trial:
    """Runs what is to fail, under one list of switches after another, until the time is up."""

    def __init__(self, run: Callable[[], Any], emulator: _Emulator, seconds: float) -> None:
        self.run, self.emulator = run, emulator
        self.error: BaseException | None = None  # the failure that is looked for
        self.end = time.monotonic() + seconds

    def failure(self, order: Mapping[str, str | None]) -> BaseException | None:
        from warpkit import testing

        with testing.settings(**order):
            try:
                given = self.run()
                if isinstance(given, bool | np.bool_) and not given:
                    return AssertionError("it gave False")
            except Exception as error:
                return error
        return None

    def fails(self, switches: Sequence[Switch]) -> bool:
        """In the same way?"""
        self.emulator.keep(switches)
        error = self.failure({})
        if error is None or type(error) is not type(self.error):
            return False
        self.error = error
        return True

    def fewest(self, switches: list[Switch]) -> list[Switch]:
        """Delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing
        Input", 2002): no one of what is left can go."""
        parts = 2
        while switches and time.monotonic() < self.end:
            size = -(-len(switches) // parts)
            for start in range(0, len(switches), size):
                rest = switches[:start] + switches[start + size :]
                if time.monotonic() > self.end:
                    return switches
                if self.fails(rest):
                    switches, parts = rest, max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    break
                parts = min(2 * parts, len(switches))
        return switches

    def one(self, left: list[Switch], all_: list[Switch]) -> list[Switch]:
        """Of what is left none can go, and yet one alone may do: of all, as it is, or to the next
        thread (in the linear order those before have ended)."""
        for switch in (left[::-1] + all_)[:_SINGLES] if len(left) > 1 else ():
            for other in (switch, switch._replace(to=switch.thread + 1)):
                if time.monotonic() > self.end:
                    return left
                if self.fails([other]):
                    return [other]
        return left


@contextlib.contextmanager
def _emulator() -> Iterator[_Emulator]:
    emulator = _Emulator()
    try:
        yield emulator
    finally:
        emulator.forget()
        from warpkit import testing

        with testing.settings():  # as they are
            pass


def shrink(run: Callable[[], Any], n: int = 3, seconds: float = 30) -> Schedule | None:
    """The fewest switches away from the linear order of threads under which something fails.

    Parameters
    ----------
    run : callable
        Runs kernels on the emulated device, and fails by an exception or by giving False. It is
        called many times, and has to do the same each time.
    n : int
        As of schedules: run is tried in the linear order, the reverse one, and n random ones.
    seconds : float
        That may be taken, about; then what has been reached is given.

    Returns
    -------
    Schedule or None
        Error, switches, rows; its str is a table of which thread went on, from where to where, and
        before whom. None: run never fails.

    Raises
    ------
    MemoryError (a run of too many turns), DeviceError (a sanitized build)

    See Also
    --------
    schedules

    Notes
    -----
    WARPKIT_EMU_MEMORY holds as it is set. A failure is the same if its exception is of the same
    type. Blocks of a cooperative launch take turns as they happen to.
    """
    from warpkit import testing

    orders = testing.schedules(n)
    del orders["weak"]
    return shrunk(run, orders.values(), seconds)


def shrunk(
    run: Callable[[], Any], orders: Iterable[Mapping[str, str | None]], seconds: float
) -> Schedule | None:
    """Likewise, of the first of these orders, settings, under which it fails."""
    with _emulator() as emulator:
        trial = _Trial(run, emulator, seconds)
        for order in orders:
            emulator.keep(None)
            trial.error = trial.failure(order)
            if trial.error is None:
                continue
            switches = emulator.made()
            if trial.fails([]):
                return Schedule(trial.error, (), ())
            if not trial.fails(switches):
                continue  # what it does is not the same each time
            switches = trial.one(trial.fewest(switches), switches)
            if trial.fails(switches):
                return Schedule(trial.error, tuple(emulator.made()), emulator.rows())
    return None
