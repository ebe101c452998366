"""NumPy's own tests of its reductions and histograms, run on warpkit's.

The test files that NumPy ships are read, and copied with one change: np.sum, a.sum(), np.add.reduce
and their sisters become calls of warpkit.reduce, np.histogram and np.bincount warpkit's. What then
fails must be in the list of docs/numpy_tests.md, with its reason; and what is listed must fail.

    python tools/numpy_tests.py           run, and compare with the list
    python tools/numpy_tests.py --write   renew the list; reasons that it has are kept
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as real_numpy
import pytest
import warpkit

LIST = Path(__file__).resolve().parent.parent / "docs" / "numpy_tests.md"
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

FOLDS = (
    *("sum", "prod", "min", "max", "amin", "amax", "mean", "var", "std", "any", "all", "ptp"),
    *("count_nonzero", "argmin", "argmax", "nansum", "nanprod", "nanmin", "nanmax", "nanmean"),
    *("nanvar", "nanstd", "nanargmin", "nanargmax"),
)
COUNTS = ("histogram", "bincount")
METHODS = (*FOLDS[:4], *FOLDS[6:12], "argmin", "argmax")  # of arrays
UFUNCS = {
    real_numpy.add: "sum", real_numpy.multiply: "prod", real_numpy.minimum: "min",
    real_numpy.maximum: "max", real_numpy.fmin: "nanmin", real_numpy.fmax: "nanmax",
    real_numpy.logical_and: "all", real_numpy.logical_or: "any",
}  # fmt: skip

reached: set[str] = set()  # tests in which warpkit was called
current = ""


# ---- what stands for NumPy ---------------------------------------------------------------------


def run(op: str, options: dict[str, Any]) -> Any:
    """warpkit.reduce, told what NumPy's function was told."""
    reached.add(current)
    a = options.pop("a", None)
    axis = options.pop("axis", None)
    given = {k: v for k, v in options.items() if v is not real_numpy._NoValue}
    if given.get("correction") is not None:
        given["ddof"] = given["correction"]
    given.pop("correction", None)
    op = op.replace("amin", "min").replace("amax", "max")
    if not (taken(real_numpy.asanyarray(a).dtype) and taken(given.get("dtype") or float)):
        return NotImplemented
    return warpkit.reduce(a, op, axis, device="cpu", **given)


def taken(dtype: Any) -> bool:
    """Others, such as object, go to NumPy itself: the rest of the test is seen then."""
    try:
        dtype = real_numpy.dtype(dtype)
    except TypeError:
        return True  # warpkit's error is the one to see
    return dtype.kind in "biufc" and dtype.char not in "gG"


def adapter(name: str) -> Callable[..., Any]:
    function = getattr(real_numpy, name)
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


def counter(name: str) -> Callable[..., Any]:
    theirs, ours = getattr(real_numpy, name), getattr(warpkit, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        arrays = [x for x in given if isinstance(x, list | real_numpy.ndarray)]
        if not all(taken(real_numpy.asanyarray(x).dtype) for x in arrays):
            return theirs(*args, **kwargs)
        reached.add(current)
        return ours(*args, **kwargs, device="cpu")

    call.__name__ = name
    return call


ADAPTERS = {name: adapter(name) for name in FOLDS} | {name: counter(name) for name in COUNTS}


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
        result = run(UFUNCS[ufunc], dict(options))
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
    to.write_text("import numpy_tests as _wk\n" + ast.unparse(tree))
    return to


# ---- the run -----------------------------------------------------------------------------------


class Collector:
    def __init__(self, patterns: dict[str, str], only: str) -> None:
        self.patterns, self.only = patterns, only
        self.outcome: dict[str, str] = {}  # "", or what went wrong

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [
            item
            for item in items
            for name in [short(item.nodeid)]
            if re.search(self.patterns[item.path.name], name) and re.search(self.only, name)
        ]

    def pytest_runtest_setup(self, item: Any) -> None:
        global current
        current = short(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = short(report.nodeid)
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            self.outcome[name] = text.splitlines()[0] if text else "failed"
        elif report.when == "call" and report.passed:
            self.outcome.setdefault(name, "")


def short(nodeid: str) -> str:
    """A test's name without its file's; of its parameters all that is printable."""
    name = nodeid.partition("::")[2]
    return re.sub(r"[^\x20-\x7e]|\|", "?", name)


def run_tests(only: str, traceback: str) -> dict[str, str]:
    sys.modules["numpy_tests"] = sys.modules[__name__]
    with tempfile.TemporaryDirectory() as folder:
        files = {copy(name, Path(folder)): pattern for name, pattern in TESTS.items()}
        collector = Collector({path.name: pattern for path, pattern in files.items()}, only)
        warnings.simplefilter("default")
        pytest.main([*options(folder, traceback), *map(str, files)], plugins=[collector])
    return {name: text for name, text in collector.outcome.items() if name in reached}


def options(root: str | Path, traceback: str) -> list[str]:
    """Of pytest: nothing of this project's own, and no more to read than is asked for."""
    quiet = ["-q", "-p", "no:cacheprovider", "--no-header", "--show-capture=no", "-r", "N"]
    where = ["-c", os.devnull, "--rootdir", str(root)]
    return [*quiet, f"--tb={traceback}", *where, "-W", "ignore::DeprecationWarning"]


# ---- the list ----------------------------------------------------------------------------------

ROW = re.compile(r"^\| `(?P<test>[^`]*)` \| (?P<why>.*) \|$", re.MULTILINE)


def base(test: str) -> str:
    """Without parameters: the list has a row for all of them."""
    return test.partition("[")[0]


def arguments(doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0] if doc else None)
    parser.add_argument("--write", action="store_true", help="renew the list")
    parser.add_argument("--verbose", action="store_true", help="print what went wrong")
    parser.add_argument("--only", metavar="PATTERN", default="", help="of the tests these")
    return parser


def part_of(text: str, heading: str) -> tuple[str, str, str]:
    """What is before a heading of the list's file, what it heads, and what comes after."""
    start = text.index(f"# {heading}\n")
    end = text.find("\n# ", start)
    end = len(text) if end < 0 else end
    return text[:start], text[start:end], text[end:]


def conclude(outcome: dict[str, str], args: argparse.Namespace, heading: str) -> int:
    """What is said of a run, or written under the heading; the exit status."""
    failed: dict[str, list[str]] = {}
    for test, text in outcome.items():
        if text:
            failed.setdefault(base(test), []).append(text)
    before, part, after = part_of(LIST.read_text(), heading)
    known = {m["test"]: m["why"] for m in ROW.finditer(part)}
    passed = sum(not text for text in outcome.values())
    print(f"{heading}: {passed} of {len(outcome)} that reach warpkit pass")
    if args.verbose:
        for test, words in failed.items():
            print(f"{test}: {len(words)}\n    {words[0]}")
    if args.write:
        rows = [f"| `{t}` | {known.get(t, 'TODO: ' + w[0])} |" for t, w in sorted(failed.items())]
        head, _, _ = part.partition("| test |")
        table = "\n".join(["| test | why not |", "|---|---|", *rows]) + "\n"
        LIST.write_text(before + head + table + after)
        return 0
    for test in sorted(set(failed) - set(known)):
        print(f"fails, and is not in {LIST.name}: {test}: {failed[test][0]}")
    ran = {base(test) for test in outcome}
    for test in sorted(set(known) & ran - set(failed)):
        print(f"passes, and is in {LIST.name}: {test}")
    return int(bool(set(failed) ^ (set(known) & ran)))


def main() -> int:
    args = arguments(__doc__).parse_args()
    outcome = run_tests(args.only, "short" if args.verbose else "no")
    return conclude(outcome, args, "NumPy's own tests")


if __name__ == "__main__":
    sys.exit(main())
