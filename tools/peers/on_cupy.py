"""CuPy's tests of its reductions, statistics, histograms and 1D filters.

No wheel has them, its sources do: CUPY_SOURCE names a checkout, or the unpacked sdist. They compare
what `cupy` does with what NumPy does. What stands for `cupy` is NumPy here, in a kind of array of
its own, with warpkit's functions for those that it has; neither CuPy itself nor a GPU is needed.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy
import scipy.ndimage
import scipy.sparse

from peers import common

NEEDS = {"CUPY_SOURCE": "pip download --no-deps --no-binary cupy cupy, unpacked"}
INSIDE = r"^(?!.*(Cub|CuTensor|Over|Huge|huge|large|Fusion|fusion))"  # CuPy's own ways, many GB
TESTS = {
    "cupy_tests/core_tests/test_ndarray_reduction.py": INSIDE,
    "cupy_tests/math_tests/test_sumprod.py": INSIDE,
    "cupy_tests/statistics_tests/test_meanvar.py": INSIDE,
    "cupy_tests/statistics_tests/test_order.py": INSIDE,
    "cupy_tests/statistics_tests/test_histogram.py": INSIDE,
    "cupy_tests/sorting_tests/test_search.py": INSIDE,
    "cupy_tests/sorting_tests/test_count.py": INSIDE,
    "cupy_tests/logic_tests/test_truth.py": INSIDE,
    "cupyx_tests/scipy_tests/ndimage_tests/test_filters.py": "(correlate|convolve)1d|TestOutput",
}


# What tests import of CuPy's inside, to choose among its ways; there is nothing to choose.
STUBS = (
    *("_core", "_core.internal", "_core._accelerator", "_core._cub_reduction"),
    *("cuda", "cuda.runtime", "cuda.cutensor"),
)


class Array(numpy.ndarray):
    """cupy.ndarray, which an array of NumPy's is not."""


def given(x: Any) -> Any:
    """Arrays as arrays of Array's kind, scalars of NumPy's too: CuPy has none."""
    if isinstance(x, numpy.ndarray | numpy.generic):
        return numpy.asarray(x).view(Array)
    return type(x)(map(given, x)) if type(x) in (tuple, list) else x


def plain(x: Any) -> Any:
    if isinstance(x, Array):
        return x.view(numpy.ndarray)
    return type(x)(map(plain, x)) if type(x) in (tuple, list) else x


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        result = function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        return given(result) if out is None else out

    return call


class Module(types.ModuleType):
    """Functions of another module, on Arrays."""

    def __init__(self, name: str, of: Any, path: Path, **own: Any) -> None:
        super().__init__(name)
        self.of, self.__path__ = of, [str(path)]
        self.__dict__.update(own)
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(self.of, name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return MagicMock()
        takes = callable(found) and not isinstance(found, type)
        return wrapped(found) if takes else found


def stand_in(source: Path) -> None:
    functions = {name: wrapped(function) for name, function in common.ADAPTERS.items()}
    for name in common.METHODS:
        setattr(Array, name, functions[name])
    cupy: Any = Module("cupy", numpy, source / "cupy", ndarray=Array, **functions)
    cupy.asnumpy = lambda x, *args, **kwargs: numpy.asarray(plain(x))
    for name in STUBS:
        parent, _, last = f"cupy.{name}".rpartition(".")
        stub = sys.modules[f"cupy.{name}"] = MagicMock()
        setattr(sys.modules[parent], last, stub)
    cupy._core.internal.prod = math.prod
    cupy.random = Module("cupy.random", numpy.random, source)
    filters = {f: wrapped(common.stencil(f, getattr(scipy.ndimage, f))) for f in common.FILTERS}
    ndimage = Module("cupyx.scipy.ndimage", scipy.ndimage, source, **filters)
    sparse = Module("cupyx.scipy.sparse", scipy.sparse, source, issparse=lambda x: False)
    inner = Module("cupyx.scipy", scipy, source, ndimage=ndimage, sparse=sparse)
    Module("cupyx", None, source, scipy=inner)
    cupy.testing = importlib.import_module("cupy.testing")


def run(only: str) -> dict[str, str]:
    source = Path(os.environ["CUPY_SOURCE"]).resolve()
    stand_in(source)
    files = {source / "tests" / name: pattern for name, pattern in TESTS.items()}
    options = ["--noconftest", "-W", "ignore::pytest.PytestUnknownMarkWarning", "-m", "not slow"]
    return common.run_tests(files, source / "tests", only, options)


def version() -> str:
    text = (Path(os.environ["CUPY_SOURCE"]) / "cupy" / "_version.py").read_text()
    found = re.search(r"__version__ = ['\"](.*)['\"]", text)
    return f"CuPy {found[1] if found else ''}".strip()
