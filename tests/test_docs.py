"""The examples in docstrings print what they say."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
import warpkit

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


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_examples_print_what_they_say(test):
    told = []
    with warpkit.device("cpu"):
        doctest.DocTestRunner().run(test, out=told.append)
    assert "".join(told) == ""
