"""SciPy's tests of its filters.

The test file that SciPy ships is run as it is; but scipy.ndimage's correlate1d and convolve1d, and
what its other filters call by these names, are warpkit's stencil1d and convolve1d.
"""

from __future__ import annotations

from pathlib import Path

import scipy
from scipy import ndimage
from scipy._lib import _array_api
from scipy.ndimage import _filters

from peers import common

SCIPY = Path(scipy.__file__).parent
TESTS = {SCIPY / "ndimage" / "tests" / "test_filters.py": ""}


def run(only: str) -> dict[str, str]:
    for name in common.FILTERS:
        call, public = common.stencil(name, getattr(_filters, name)), getattr(ndimage, name)
        # the tests ask a table of SciPy's functions for each that they test
        capabilities = getattr(_array_api, "xp_capabilities_table", {})
        if public in capabilities:
            capabilities[call] = capabilities[public]
        for module in (ndimage, _filters):
            setattr(module, name, call)
    return common.run_tests(TESTS, SCIPY, only)


def version() -> str:
    return f"SciPy {scipy.__version__}"
