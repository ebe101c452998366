"""What all adapters use: warpkit's functions as NumPy calls its own, and a run of pytest that tells
which tests reached them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warpkit

FOLDS = (
    *("sum", "prod", "min", "max", "amin", "amax", "mean", "var", "std", "any", "all", "ptp"),
    *("count_nonzero", "argmin", "argmax", "nansum", "nanprod", "nanmin", "nanmax", "nanmean"),
    *("nanvar", "nanstd", "nanargmin", "nanargmax"),
)
METHODS = (*FOLDS[:4], *FOLDS[6:12], "argmin", "argmax")  # of arrays
COUNTS = ("histogram", "bincount")
FILTERS = {"correlate1d": warpkit.stencil1d, "convolve1d": warpkit.convolve1d}

device = "cpu"  # on which warpkit's functions run
reached: set[str] = set()  # tests in which one of them was called
current = ""


def reach() -> None:
    reached.add(current)


# ---- what stands for a peer's functions --------------------------------------------------------


def taken(dtype: Any) -> bool:
    """Others, such as object, go to the peer itself: the rest of the test is seen then."""
    try:
        dtype = np.dtype(getattr(dtype, "dtype", dtype) or float)
    except TypeError:
        return True  # warpkit's error is the one to see
    return dtype.kind in "biufc" and dtype.char not in "gG"


def run(op: str, options: dict[str, Any]) -> Any:
    """warpkit.reduce, told what NumPy's function was told; NotImplemented: it has no such dtype."""
    reach()
    a = options.pop("a", None)
    axis = options.pop("axis", None)
    given = {k: v for k, v in options.items() if v is not np._NoValue}
    if given.get("correction") is not None:
        given["ddof"] = given["correction"]
    given.pop("correction", None)
    known: Any = op.replace("amin", "min").replace("amax", "max")
    if not (taken(np.asanyarray(a).dtype) and taken(given.get("dtype"))):
        return NotImplemented
    return warpkit.reduce(a, known, axis, device=device, **given)


def fold(name: str) -> Callable[..., Any]:
    function = getattr(np, name)
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs).arguments
        if "arr" in bound:
            bound["a"] = bound.pop("arr")
        if bound.get("ddof") and bound.get("correction") is not None:
            return function(*args, **kwargs)  # its error
        result = run(name, dict(bound))
        return function(*args, **kwargs) if result is NotImplemented else result

    call.__name__ = name
    return call


def other(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """ours for theirs, with the same arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        arrays = [x for x in given if isinstance(x, list | np.ndarray)]
        if not all(taken(np.asanyarray(x).dtype) for x in arrays):
            return theirs(*args, **kwargs)
        reach()
        return ours(*args, **kwargs, device=device)

    call.__name__ = theirs.__name__
    return call


def stencil(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """For scipy.ndimage's function of this name."""

    def call(
        input: Any,
        weights: Any,
        axis: int = -1,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:
        if not (taken(np.asarray(input).dtype) and taken(output)):
            return theirs(input, weights, axis, output, mode, cval, origin)
        reach()
        options = {"output": output, "mode": mode, "cval": cval, "origin": origin}
        return FILTERS[name](input, weights, axis, device=device, **options)

    call.__name__ = name
    return call


ADAPTERS = {name: fold(name) for name in FOLDS}
ADAPTERS |= {name: other(getattr(np, name), getattr(warpkit, name)) for name in COUNTS}


# ---- the run -----------------------------------------------------------------------------------


class Collector:
    def __init__(self, patterns: dict[Path, str], only: str) -> None:
        self.patterns, self.only = patterns, only
        self.outcome: dict[str, str] = {}  # "", or what went wrong

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [
            item
            for item in items
            for name in [short(item.nodeid)]
            if re.search(self.patterns[item.path], name) and re.search(self.only, name)
        ]

    def pytest_runtest_setup(self, item: Any) -> None:
        global current
        current = short(item.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            raise RuntimeError(f"{report.nodeid} does not load:\n{report.longrepr}")

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = short(report.nodeid)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            self.outcome[name] = text.strip().partition("\n")[0] or "failed"
        elif report.when == "call" and report.passed:
            self.outcome.setdefault(name, "")


def short(nodeid: str) -> str:
    """A test's name without its file's; of its parameters all that is printable."""
    name = nodeid.partition("::")[2]
    return re.sub(r"[^\x20-\x7e]|[|`]", "?", name)


def run_tests(
    files: dict[Path, str], root: Path, only: str, more: Iterable[str] = ()
) -> dict[str, str]:
    """Of each file the tests whose names its pattern is found in; those that reached warpkit."""
    quiet = ["-q", "-p", "no:cacheprovider", "--no-header", "--show-capture=no", "-r", "N"]
    quiet += ["--disable-warnings"]
    where = ["-c", os.devnull, "--rootdir", str(root), "-W", "ignore::DeprecationWarning"]
    traceback = f"--tb={'short' if only else 'no'}"
    collector = Collector(files, only)
    pytest.main([*quiet, traceback, *where, *more, *map(str, files)], plugins=[collector])
    return {name: text for name, text in collector.outcome.items() if name in reached}
