"""The examples in docstrings print what they say; pages list all that is public, and settings."""

import doctest
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import helpers
import numpy as np
import pytest
import warpkit

NAME = r"\b(warpkit(?:\.[a-z_]\w*)+)(?<!\.h)\b"
PROGRAMS = {"warpkit.__main__"}  # which importing would run


def examples():
    names = {module.name for module in pkgutil.walk_packages(warpkit.__path__, "warpkit.")}
    found = []
    for name in ["warpkit", *sorted(names - PROGRAMS)]:
        try:
            module = importlib.import_module(name)
        except ImportError:  # of Dask, which is not installed
            continue
        known = {"np": np, "warpkit": warpkit}
        tests = doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=known)
        found += [test for test in tests if test.examples]
    return found


@pytest.mark.skipif("cpu" not in helpers.devices, reason="run with the CPU's tests, once")
@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_examples_print_what_they_say(test):
    told = []
    with warpkit.device("cpu"):
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=told.append)
    assert "".join(told) == ""


def public(module):
    """Names of functions and classes, of a module with no __all__ its own."""
    there = vars(module)
    own = (n for n, v in there.items() if getattr(v, "__module__", "") == module.__name__)
    names = getattr(module, "__all__", None) or [n for n in own if n[0] != "_"]
    values = {name: getattr(module, name) for name in names}
    return {n for n, v in values.items() if inspect.isroutine(v) or inspect.isclass(v)}


# They draw, need several processes, or a compiler.
NO_EXAMPLE = {
    "allreduce",
    "bank_map",
    "canaries",
    "ladder",
    "registers",
    "roofline",
    "rungs",
    "shrink",
}


def listed_names():
    """What the pages of docs/api list, by module."""
    listed = {}
    for page in (helpers.ROOT / "docs" / "api").glob("*.md"):
        for block in re.findall(r"^```names\n(.*?)^```$", page.read_text(), re.M | re.S):
            module, *names = block.split()
            listed.setdefault(module, []).extend(names)
    return listed


def test_every_public_function_has_an_example():
    for name, names in listed_names().items():
        module = pytest.importorskip(name)
        functions = {n: getattr(module, n) for n in names if inspect.isroutine(getattr(module, n))}
        without = {n for n, function in functions.items() if ">>>" not in inspect.getdoc(function)}
        assert without <= NO_EXAMPLE, name


def test_the_reference_has_all_that_is_public_once():
    for name, names in listed_names().items():
        module = pytest.importorskip(name)
        assert sorted(names) == sorted(public(module)), name


def test_the_pages_have_every_setting():
    pages = ("settings.md", "emulator.md")
    text = "".join((helpers.ROOT / "docs" / page).read_text() for page in pages)
    assert [name for name, *_ in warpkit._core.settings() if f"`{name}`" not in text] == []


def test_type_checkers_know_every_variant():
    text = (Path(warpkit.__file__).parent / "__init__.pyi").read_text()
    listed = {
        name.lower(): re.findall(r'"(\w+)"', names)
        for name, names in re.findall(r"^Of([A-Z]\w+) = Literal\[(.*?)\]", text, re.M | re.S)
    }
    listed.pop("floats")  # operations, these
    for op, names in listed.items():
        rows = [row for row in warpkit.variants() if row.op.replace("_", "") == op]
        assert names == list(dict.fromkeys(row.name for row in rows)), op


def test_names_on_the_pages_are_there():
    pages = [helpers.ROOT / "README.md", *(helpers.ROOT / "docs").rglob("*.md")]
    for path in {p for page in pages for p in re.findall(NAME, page.read_text())}:
        module, _, name = path.rpartition(".")
        try:
            found = pkgutil.resolve_name(f"{module}:{name}")
        except AttributeError:  # a module that nobody has imported
            found = importlib.util.find_spec(path)
        except ModuleNotFoundError as error:
            if error.name.startswith("warpkit"):
                raise
            continue  # an extra's package is not here
        assert found is not None, path
