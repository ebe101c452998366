"""NumPy's tests of its reductions and histograms.

The test files that NumPy ships are read, and copied with one change: np.sum, a.sum(), np.add.reduce
and their sisters become calls of warpkit.reduce, np.histogram and np.bincount warpkit's.
"""

from __future__ import annotations

import ast
import tempfile
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as real_numpy

from peers import common
from peers.common import ADAPTERS, COUNTS, METHODS

NUMPY = Path(real_numpy.__file__).parent

# Of each file the tests that are of these, as patterns of their names.
TESTS = {
    "_core/tests/test_multiarray.py": (
        r"TestArg|TestMinMax|TestStats|TestMethods::test_(all_where|any_where|any_and_all|sum|prod)"
        r"|test_count_nonzero|TestArgmax|test_argm|TestMaximumReduce|test_(sum|prod)"
    ),
    "_core/tests/test_numeric.py": (
        r"TestNonarrayArgs::test_(count_nonzero|max|mean|min|prod|ptp|std|sum|var)"
        r"|TestStdVar|count_nonzero|TestBoolArray|TestBoolCmp"
    ),
    "_core/tests/test_ufunc.py": (
        r"TestUfunc::test_(sum|initial|where|reduce|zero_size|identityless|keepdims|axis|any|all"
        r"|scalar_red|logical)"
    ),
    "_core/tests/test_umath.py": r"Test(Maximum|Minimum|Fmax|Fmin)::test_reduce|test_reduce",
    "_core/tests/test_regression.py": r"test_(argmax|sum|mean|std|var|min|max|reduce|any|all|prod)",
    "lib/tests/test_function_base.py": (
        r"Test(All|Any|Amax|Amin|Max|Min|Ptp|Prod|Average|Bincount)\b"
    ),
    "lib/tests/test_histograms.py": r"TestHistogram(OptimBinNums)?::",
    "lib/tests/test_nanfunctions.py": r"(?!.*(cum|median|percentile|quantile))",
}

UFUNCS = {
    real_numpy.add: "sum", real_numpy.multiply: "prod", real_numpy.minimum: "min",
    real_numpy.maximum: "max", real_numpy.fmin: "nanmin", real_numpy.fmax: "nanmax",
    real_numpy.logical_and: "all", real_numpy.logical_or: "any",
}  # fmt: skip


def reduction(ufunc: Any) -> Callable[..., Any]:
    def reduce(
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        **more: Any,
    ) -> Any:
        out = out[0] if isinstance(out, tuple) else out
        options = {"a": a, "axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, **more}
        if dtype is None:
            del options["dtype"]
        result = common.run(UFUNCS[ufunc], dict(options))
        a = options.pop("a")
        return ufunc.reduce(a, **options) if result is NotImplemented else result

    return reduce


def method(thing: Any, name: str) -> Any:
    """thing.name, or what stands for it."""
    if name == "reduce" and isinstance(thing, real_numpy.ufunc) and thing in UFUNCS:
        return reduction(thing)
    if isinstance(thing, Numpy):
        return getattr(thing, name)
    if name in METHODS and isinstance(thing, real_numpy.ndarray | real_numpy.generic):
        return lambda *args, **kwargs: ADAPTERS[name](thing, *args, **kwargs)
    return getattr(thing, name)


def get(thing: Any, name: str, *default: Any) -> Any:
    return method(thing, name) if hasattr(thing, name) else getattr(thing, name, *default)


class Numpy(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        return ADAPTERS.get(name) or getattr(real_numpy, name)


np = Numpy("numpy")


class Change(ast.NodeTransformer):
    """The one change."""

    def __init__(self, package: str) -> None:
        self.package = package

    def visit_Import(self, node: ast.Import) -> Any:
        names = [a for a in node.names if not (a.name == "numpy" and a.asname == "np")]
        rest: list[Any] = [ast.Import(names)] if names else []
        if len(names) < len(node.names):
            rest += ast.parse("np = _wk.np").body
        return rest

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level:  # a copy lies elsewhere
            base = self.package.rsplit(".", node.level - 1)[0] if node.level > 1 else self.package
            node.module, node.level = ".".join(filter(None, [base, node.module])), 0
        if node.module == "numpy._core._methods":
            lines = [f"{a.name} = _wk.ADAPTERS['{a.name.strip('_')}']" for a in node.names]
            return ast.parse("\n".join(lines)).body
        if node.module == "numpy":
            ours = [a.name for a in node.names if a.name in COUNTS and a.asname is None]
            node.names = [a for a in node.names if a.name not in ours]
            return [node, *(ast.parse(f"{name} = _wk.np.{name}").body[0] for name in ours)]
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr in (*METHODS, "reduce"):
            name = ast.Attribute(ast.Name("_wk", ast.Load()), "method", ast.Load())
            node.func = ast.Call(name, [f.value, ast.Constant(f.attr)], [])
        elif isinstance(f, ast.Name) and f.id == "getattr":
            node.func = ast.Attribute(ast.Name("_wk", ast.Load()), "get", ast.Load())
        return node


def copy(name: str, folder: Path) -> Path:
    tree = ast.parse((NUMPY / name).read_text())
    package = "numpy." + name.rpartition("/")[0].replace("/", ".")
    tree = ast.fix_missing_locations(Change(package).visit(tree))
    to = folder / name.replace("/", "_").replace("_core_tests_", "core_").replace(
        "lib_tests_", "lib_"
    )
    to = to.with_name("test_" + to.name.replace("test_", ""))
    to.write_text("from peers import on_numpy as _wk\n" + ast.unparse(tree))
    return to


def run(only: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        files = {copy(name, Path(folder)): pattern for name, pattern in TESTS.items()}
        warnings.simplefilter("default")
        return common.run_tests(files, Path(folder), only)


def version() -> str:
    return f"NumPy {real_numpy.__version__}"
