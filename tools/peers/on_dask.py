"""Dask's own tests of its reductions, histogram, bincount and transpose.

Its functions and methods are warpkit.dask's in them; they are compared with NumPy by Dask's own
checks, of the graph and of what is said of a result before it is there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array import reductions, routines

from peers import common

PACKAGE = Path(dask.__file__).parent
FOLDS = (
    *("sum", "min", "max", "mean", "var", "std", "any", "all", "argmin", "argmax"),
    *("nansum", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd", "nanargmin", "nanargmax"),
)
OTHERS = ("histogram", "bincount", "ptp", "count_nonzero")
FILES = {
    "test_reductions": "",
    "test_routines": "histogram|bincount|ptp|count_nonzero|transpose",
}


def given(theirs: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any] | None:
    """What warpkit.dask is told; None: that this is Dask's alone."""
    bound = dict(inspect.signature(theirs).bind(*args, **kwargs).arguments)
    a: Any = bound.get("a", bound.get("x"))
    dtypes = (getattr(a, "dtype", None), bound.get("dtype"))
    known = isinstance(a, da.Array) and all(d is None or common.taken(d) for d in dtypes)
    unsized = known and np.isnan(sum(a.shape))
    if not known or unsized or bound.get("out") is not None or type(a._meta) is not np.ndarray:
        return None
    bound.pop("out", None)
    return bound


def fold(name: Any, theirs: Callable[..., Any]) -> Callable[..., Any]:
    import warpkit.dask

    def call(*args: Any, **kwargs: Any) -> Any:
        options = given(theirs, *args, **kwargs)
        if options is None:
            return theirs(*args, **kwargs)
        common.reach()
        a = options.pop("a", None)
        a = options.pop("x") if a is None else a
        return warpkit.dask.reduce(a, name, device=common.device, **options)

    call.__name__ = name
    return call


def other(name: Any, theirs: Callable[..., Any]) -> Callable[..., Any]:
    import warpkit.dask

    def call(*args: Any, **kwargs: Any) -> Any:
        options = given(theirs, *args, **kwargs)
        lazy = any(dask.is_dask_collection(kwargs.get(k)) for k in ("bins", "range"))
        if options is None or lazy or options.pop("normed", False):
            return theirs(*args, **kwargs)
        common.reach()
        a = options.pop("a", None)
        a = options.pop("x") if a is None else a
        ours: dict[str, Any] = {
            "histogram": warpkit.dask.histogram,
            "bincount": warpkit.dask.bincount,
        }
        if name in ours:
            return ours[name](a, device=common.device, **options)
        return warpkit.dask.reduce(a, name, device=common.device, **options)

    call.__name__ = name
    return call


def run(only: str) -> dict[str, str]:
    for name in FOLDS:
        ours = fold(name, getattr(reductions, name))
        setattr(reductions, name, ours)
        setattr(da, name, ours)
    for name in OTHERS:
        ours = other(name, getattr(routines, name))
        setattr(routines, name, ours)
        setattr(da, name, ours)
    files = {PACKAGE / "array" / "tests" / f"{name}.py": only for name, only in FILES.items()}
    return common.run_tests(files, PACKAGE.parent, only)


def version() -> str:
    return f"dask {dask.__version__}"
