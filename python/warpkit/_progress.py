"""progress=: how far a call is, shown as a bar or told to a function."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

INTERVAL = 0.1  # seconds between looks; a call that takes less shows no bar

Counter = NDArray[np.int64]
T = TypeVar("T")


class Bar:
    """tqdm's, for a terminal or a notebook; there is none before the first report."""

    def __init__(self, name: str) -> None:
        try:
            self.make: Any = importlib.import_module("tqdm.auto").tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True needs tqdm: pip install 'warpkit[progress]'; "
                "or give a function, which is called as progress(done, total)"
            ) from error
        self.name = name
        self.bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self.bar is None:
            self.bar = self.make(
                total=total, desc=self.name, unit=" pieces", leave=False, dynamic_ncols=True
            )
        self.bar.total = total  # more, where a pass follows that nobody knew of
        self.bar.update(done - self.bar.n)

    def finish(self, done: int, total: int) -> None:
        if self.bar is not None:
            self(total, total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class Watcher:
    """A thread that reports what a counter says, until it is told to stop."""

    def __init__(self, counter: Counter, report: Callable[[int, int], object]) -> None:
        self.counter = counter
        self.report = report
        self.error: BaseException | None = None  # the first; nothing is reported after it
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, name="warpkit-progress", daemon=True)

    def watch(self) -> None:
        while not self.ended.wait(INTERVAL):
            done = int(self.counter[0])  # first: total is there before any piece is done
            total = int(self.counter[1])
            if total == 0:
                continue
            try:
                self.report(done, total)
            except BaseException as error:
                self.error = error
                return

    def __enter__(self) -> Watcher:
        self.thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended.set()
        self.thread.join()


def run(
    call: Callable[[Counter], T], progress: bool | Callable[[int, int], object], name: str
) -> T:
    """What call(counter) returns, its progress being shown meanwhile.

    call     increments counter[0] as pieces of the input cross; counter[1] is how many there are,
             and 0 until that is known
    progress True: a bar of tqdm; or a function, called as progress(done, total), from a thread of
             its own every 0.1 s, and, if the call succeeds, a last time from this one; total is
             never 0. False: nothing
    name     what the bar is called
    Raises   what call raises, else the first error of progress; ImportError (no tqdm) and
             TypeError (progress) before the call
    """
    counter = np.zeros(2, np.int64)
    if progress is False:
        return call(counter)
    if progress is not True:
        if not callable(progress):
            raise TypeError(
                f"progress must be True, False or a function, not {type(progress).__name__}"
            )
        return watched(call, counter, progress, progress)
    bar = Bar(name)
    try:
        return watched(call, counter, bar, bar.finish)
    finally:
        bar.close()


def watched(
    call: Callable[[Counter], T],
    counter: Counter,
    report: Callable[[int, int], object],
    finish: Callable[[int, int], object],
) -> T:
    with Watcher(counter, report) as watcher:
        result = call(counter)
    if watcher.error is not None:
        raise watcher.error
    total = int(counter[1])
    # what was not cut, or had nothing to send, was one piece
    finish(int(counter[0]) if total else 1, total or 1)
    return result
