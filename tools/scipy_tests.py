"""SciPy's own tests of its 1D filters, run on warpkit's.

The test file that SciPy ships is run as it is; but scipy.ndimage's correlate1d and convolve1d, and
what its other filters call by these names, are warpkit's stencil1d and convolve1d. What then fails
must be in the list of docs/numpy_tests.md, with its reason; and what is in the list must fail.

    python tools/scipy_tests.py           run on the CPU and on the emulated GPU, and compare
    python tools/scipy_tests.py --write   renew the list; reasons that it has are kept
    python tools/scipy_tests.py --device cuda     on another device; repeatable
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy_tests as shared
import pytest
import scipy
import warpkit
from scipy import ndimage
from scipy._lib import _array_api
from scipy.ndimage import _filters

SCIPY = Path(scipy.__file__).parent
TESTS = SCIPY / "ndimage" / "tests" / "test_filters.py"
OURS = {"correlate1d": warpkit.stencil1d, "convolve1d": warpkit.convolve1d}

device = "cpu"


def taken(dtype: Any) -> bool:
    """Others go to SciPy itself: the rest of the test is seen then."""
    return shared.taken(getattr(dtype, "dtype", dtype) or float)


def adapter(name: str) -> Callable[..., Any]:
    theirs, ours = getattr(_filters, name), OURS[name]

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
        shared.reached.add(shared.current)
        options = {"output": output, "mode": mode, "cval": cval, "origin": origin}
        return ours(input, weights, axis, device=device, **options)

    call.__name__ = name
    return call


def stand_in() -> None:
    """For the tests, which ask a table of SciPy's functions for each that they test."""
    for name in OURS:
        call, public = adapter(name), getattr(ndimage, name)
        capabilities = getattr(_array_api, "xp_capabilities_table", {})
        if public in capabilities:
            capabilities[call] = capabilities[public]
        for module in (ndimage, _filters):
            setattr(module, name, call)


def run_tests(on: str, only: str, traceback: str) -> dict[str, str]:
    """In a process of its own: SciPy's configuration of pytest is for one run."""
    global device
    device = on
    stand_in()
    collector = shared.Collector({TESTS.name: ""}, only)
    pytest.main([*shared.options(SCIPY, traceback), str(TESTS)], plugins=[collector])
    return {name: text for name, text in collector.outcome.items() if name in shared.reached}


def main() -> int:
    parser = shared.arguments(__doc__)
    parser.add_argument("--device", action="append", metavar="NAME", help="default: cpu, emu")
    args = parser.parse_args()
    outcome: dict[str, str] = {}
    processes = multiprocessing.get_context("spawn")
    for name in args.device or ("cpu", "emu"):
        with ProcessPoolExecutor(1, processes) as pool:  # which tells of a crash
            traceback = "short" if args.verbose else "no"
            found = pool.submit(run_tests, name, args.only, traceback).result()
        failures = {test: f"{name}: {text}" for test, text in found.items() if text}
        outcome = dict.fromkeys(found, "") | outcome | failures
    return shared.conclude(outcome, args, "SciPy's own tests")


if __name__ == "__main__":
    sys.exit(main())
