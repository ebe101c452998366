"""The array API's tests of statistical, searching, utility and manipulation functions.

They are no package: ARRAY_API_TESTS names a checkout. The namespace that they test is NumPy's, with
warpkit's functions for those that it has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy
import warpkit

from peers import common

CLONE = "git clone --recurse-submodules https://github.com/data-apis/array-api-tests"
NEEDS = {"ARRAY_API_TESTS": CLONE}
TESTS = {
    "statistical": "",
    "searching": "test_arg(max|min)|test_count_nonzero",
    "utility": "test_(all|any)$",
    "manipulation": "test_(permute_dims|moveaxis)",
}
MOVES: dict[str, Any] = {"permute_dims": warpkit.transpose, "moveaxis": warpkit.moveaxis}


class Namespace(types.ModuleType):
    __version__ = warpkit.__version__
    __array_api_version__ = numpy.__array_api_version__

    def __getattr__(self, name: str) -> Any:
        if name in MOVES:
            return common.other(getattr(numpy, name), MOVES[name])
        return common.ADAPTERS.get(name) or getattr(numpy, name)


def run(only: str) -> dict[str, str]:
    root = Path(os.environ["ARRAY_API_TESTS"]).resolve()
    sys.modules["warpkit_as_numpy"] = Namespace("warpkit_as_numpy")
    os.environ["ARRAY_API_TESTS_MODULE"] = "warpkit_as_numpy"
    sys.path.insert(0, str(root))
    tests = root / "array_api_tests"
    files = {tests / f"test_{name}_functions.py": pattern for name, pattern in TESTS.items()}
    options = ["--max-examples=100", "--disable-deadline", "--derandomize"]
    return common.run_tests(files, root, only, options)


def version() -> str:
    root = os.environ["ARRAY_API_TESTS"]
    command = ["git", "-C", root, "log", "-1", "--format=%h of %cs"]
    found = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return f"array-api-tests {found}".strip()
