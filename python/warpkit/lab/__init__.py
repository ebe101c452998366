"""A profiler's counters for any kernel, with no GPU: which line's loads waste sectors, whose lanes
meet in a bank; docs/lab.md.

The emulated device runs the kernel; the counts of requests, sectors and wavefronts are those of its
source, compared with Nsight Compute's on a GPU; docs/lab.md says for which kernels, and where they
differ. Time is not modelled.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from warpkit.lab import _rows, _run, _trace
from warpkit.lab._ladder import Ladder, Rung, ladder
from warpkit.lab._plan import Occupancy, Roofline, occupancy, registers, roofline
from warpkit.lab._run import Limits
from warpkit.lab._trace import Access, Counts, Line, Trace
from warpkit.lab._work import Arithmetic, Operations


def trace(
    function: Callable[..., Any] | str | os.PathLike[str],
    /,
    *args: Any,
    variant: str | None = None,
    kernel: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
    **given: Any,
) -> Trace:
    """Run a kernel on the emulated device and count its accesses to memory, line by line.

    Parameters
    ----------
    function : callable or str or path
        ``module.k[grid, block]`` of warpkit.compile; any function that launches such kernels; a
        function of warpkit, whose rung, or production kernel, is compiled for it; or the path, or
        the text, of a whole program, which is run in a process of its own.
    *args
        What it is called with; of a program its arguments.
    variant : str, optional
        A row of the table, as warpkit.variants lists them. If none is given, what is in production:
        its kernels compile for 5 to 30 seconds, once, those of reduce for each dtype.
    kernel : str, optional
        Only the launches of this kernel.
    limits : Limits
        How much is traced, and how long it may take.
    **given
        As args; of a program include, options, input, timeout as warpkit.run takes them.

    Returns
    -------
    Trace
        A kernel that fails gives its counts up to there, and Trace.error.

    Raises
    ------
    ValueError (no such variant; it would take too long), TypeError, CompileError, DeviceError

    Examples
    --------
    >>> a = np.zeros((64, 64), np.float32)
    >>> t = warpkit.lab.trace(warpkit.transpose, a, variant="smem")
    >>> t.totals.sectors, t.totals.ideal_sectors, t.totals.wavefronts, t.totals.ideal_wavefronts
    (1024, 1024, 4224, 256)
    """
    known: dict[str, str] = {}
    if isinstance(function, str | os.PathLike):
        if variant is not None:
            raise TypeError("a program has no variant")
        ran, _ = _run.run_program(function, args, given)
        if isinstance(function, str) and any(c in function for c in "\n;{"):
            known["source.cu"] = function
    else:
        if not callable(function):
            raise TypeError(f"trace takes a function, or a program's path, not {function!r}")
        ran = _run.run_function(function, args, given, variant, limits)
        known |= _run.sources_of(function)
    launches = [one for one in ran.launches if kernel is None or one.kernel == kernel]
    if kernel is not None and not launches:
        there = ", ".join(dict.fromkeys(one.kernel for one in ran.launches)) or "none"
        raise ValueError(f"no launch of {kernel!r} was traced; there are: {there}")
    return Trace(launches, ran.result, ran.error, _trace.texts(known))


def rungs() -> list[tuple[str, str]]:
    """Function and variant of all rungs that can be traced.

    Examples
    --------
    >>> ("transpose", "smem_pad") in warpkit.lab.rungs()
    True
    """
    return list(_rows.rungs())


__all__ = [
    "Access",
    "Arithmetic",
    "Counts",
    "Ladder",
    "Limits",
    "Line",
    "Occupancy",
    "Operations",
    "Roofline",
    "Rung",
    "Trace",
    "ladder",
    "occupancy",
    "registers",
    "roofline",
    "rungs",
    "trace",
]
