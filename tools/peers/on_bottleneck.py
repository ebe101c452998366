"""Bottleneck's tests of its reductions.

Its functions are warpkit's in them; they are compared with its own slow versions, by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bottleneck

from peers import common

PACKAGE = Path(bottleneck.__file__).parent
FILES = ("reduce", "input_modification", "list_input", "memory", "scalar_input")
FOLDS = ("nansum", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "nanargmin", "nanargmax")


def adapter(name: str) -> Callable[..., Any]:
    theirs = getattr(bottleneck, name)

    def call(a: Any, axis: Any = None, **more: Any) -> Any:
        result = common.run("sumsq" if name == "ss" else name, {"a": a, "axis": axis, **more})
        return theirs(a, axis, **more) if result is NotImplemented else result

    def with_ddof(a: Any, axis: Any = None, ddof: int = 0) -> Any:
        return call(a, axis, ddof=ddof)

    def without(a: Any, axis: Any = None) -> Any:
        return call(a, axis)

    chosen = with_ddof if name in ("nanvar", "nanstd") else without
    chosen.__name__ = name
    return chosen


def run(only: str) -> dict[str, str]:
    for name in (*FOLDS, "ss"):
        setattr(bottleneck, name, adapter(name))
    files = {PACKAGE / "tests" / f"{name}_test.py": "" for name in FILES}
    return common.run_tests(files, PACKAGE.parent, only)


def version() -> str:
    return f"bottleneck {bottleneck.__version__}"
