"""occupancy and roofline: what a kernel may reach on a chip, by arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from warpkit import _cubin, _nvidia, _syntax
from warpkit._compiler import Source

if TYPE_CHECKING:
    from warpkit.lab._trace import Trace

WARP = 32
_PARTS = 4  # of a multiprocessor, each with a quarter of its registers
_REGISTERS = 65536  # of a multiprocessor, and at most of a block
_REGISTER_UNIT, _SHARED_UNIT, _RESERVED = 256, 128, 1024


class Chip(NamedTuple):
    """A multiprocessor. shared: bytes; of it 1 KiB is each block's own."""

    threads: int
    blocks: int
    shared: int


# CUDA's programming guide, "Technical Specifications per Compute Capability".
CHIPS = {
    80: Chip(2048, 32, 164 << 10),
    86: Chip(1536, 16, 100 << 10),
    89: Chip(1536, 24, 100 << 10),
    90: Chip(2048, 32, 228 << 10),
    100: Chip(2048, 32, 228 << 10),
    120: Chip(1536, 24, 100 << 10),
}


class Occupancy(NamedTuple):
    """How many blocks a multiprocessor has at a time.

    Attributes
    ----------
    blocks, warps : int
        Of a multiprocessor at a time.
    fraction : float
        Of the warps that it could have.
    limits : dict of str to int
        What each resource allows, in blocks.
    limited_by : tuple of str
        Those that allow fewest.
    """

    blocks: int
    warps: int
    fraction: float
    limits: dict[str, int]
    limited_by: tuple[str, ...]


def _up(n: int, unit: int) -> int:
    return (n + unit - 1) // unit * unit


def occupancy(
    threads: int, registers: int = 32, shared: int = 0, capability: int = 90
) -> Occupancy:
    """How many blocks a multiprocessor has at a time.

    Parameters
    ----------
    threads : int
        Of a block.
    registers : int
        Of a thread; lab.registers has them from CUDA's compiler.
    shared : int
        Bytes of a block, static and dynamic.
    capability : int
        80, 86, 89, 90, 100 or 120: of sm_90.

    Returns
    -------
    Occupancy

    Raises
    ------
    ValueError

    References
    ----------
    cuda_occupancy.h of CUDA's toolkit.

    Examples
    --------
    >>> warpkit.lab.occupancy(256, registers=40, shared=16 << 10)[:2]
    (6, 48)
    """
    if capability not in CHIPS:
        raise ValueError(
            f"capability must be one of {', '.join(map(str, CHIPS))}, not {capability!r}"
        )
    if not 1 <= threads <= 1024:
        raise ValueError(f"a block has 1 to 1024 threads, not {threads}")
    if not 0 <= registers <= 255:
        raise ValueError(f"a thread has up to 255 registers, not {registers}")
    if shared < 0:
        raise ValueError(f"shared must not be negative: {shared}")
    chip = CHIPS[capability]
    warps = (threads + WARP - 1) // WARP
    of_warp = _up(registers * WARP, _REGISTER_UNIT)
    limits = {"warps": chip.threads // WARP // warps, "blocks": chip.blocks}
    if of_warp:
        fits = of_warp * _up(warps, _PARTS) <= _REGISTERS
        all_warps = _REGISTERS // _PARTS // of_warp * _PARTS
        limits["registers"] = all_warps // warps if fits else 0
    bytes_ = _up(shared + _RESERVED, _SHARED_UNIT)
    limits["shared memory"] = chip.shared // bytes_
    blocks = min(limits.values())
    least = tuple(name for name, n in limits.items() if n == blocks)
    return Occupancy(blocks, blocks * warps, blocks * warps / (chip.threads // WARP), limits, least)


def registers(kernel: Any, capability: int = 90) -> int:
    """Registers of a thread of a kernel, as NVRTC or nvcc compiles it.

    Parameters
    ----------
    kernel : Kernel
        ``module.k`` of warpkit.compile.
    capability : int
        As occupancy's.

    Returns
    -------
    int

    Raises
    ------
    CompileError (there is neither, or the source is not theirs), KeyError

    Examples
    --------
    >>> m = warpkit.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> warpkit.lab.registers(m.twice)  # doctest: +SKIP
    8
    """
    module = kernel._module
    old = module._source
    given: Any = old.text if old.text is not None else old.given[0]
    source = Source(given, old.folders, False)
    name, lines, entries = kernel.name, "", list(source.entries)
    if "<" in name:
        entry = _syntax.Entry("warpkit_i_0", name, "")
        entries.append(entry)
        lines = f'\n#line 1 "<{name}>"\n{_syntax.TABLE} {entry.made} = warpkit::table_of(&{name});'
    path = _nvidia.build_cubin(source, module._options, capability, lines)
    cubin = _cubin.Cubin(path.read_bytes())
    for one in cubin.found(entries):
        if isinstance(one, _cubin.Kernel) and one.name == name:
            return cubin.registers(one.symbol)
    raise KeyError(name)


class Roofline(NamedTuple):
    """What bounds a kernel's time from below.

    Attributes
    ----------
    bytes_useful, bytes_moved : int
        Of global memory: asked for, and in sectors between L1 and the SM.
    dram_bytes : int
        By the caches' model.
    floor : float
        Seconds: no less at this rate.
    bound : str
        "memory" or "compute".
    intensity : float
        Operations for each byte of DRAM.
    fraction : float or None
        Floor over the measured time; None without one.
    """

    bytes_useful: int
    bytes_moved: int
    dram_bytes: int
    floor: float
    bound: str
    intensity: float
    fraction: float | None


def roofline(
    trace: Trace,
    rate: float,
    *,
    operations: float | None = None,
    peak: float = math.inf,
    seconds: float | None = None,
) -> Roofline:
    """The least time that a traced kernel can take on a chip, by its memory and its arithmetic.

    Parameters
    ----------
    trace : Trace
        Of lab.trace.
    rate : float
        Bytes a second that a copy moves, reading and writing counted; on an H100 2.9e12.
    operations : int, optional
        That the kernel makes; None: trace.operations.floating, or 0 where that is not known.
    peak : float, optional
        Operations a second that the chip makes.
    seconds : float, optional
        That it takes, measured.

    Returns
    -------
    Roofline

    Raises
    ------
    ValueError

    Examples
    --------
    >>> a = np.zeros((64, 64), np.float32)
    >>> t = warpkit.lab.trace(warpkit.transpose, a, variant="smem_pad")
    >>> found = warpkit.lab.roofline(t, 2.9e12, operations=0)
    >>> found.bytes_useful, found.bytes_moved, found.bound
    (32768, 32768, 'memory')
    """
    if operations is None:
        try:
            operations = trace.operations.floating
        except RuntimeError:
            operations = 0
    if rate <= 0 or peak <= 0 or operations < 0:
        raise ValueError("rate and peak must be positive, operations must not be negative")
    totals, model = trace.totals, trace.model
    dram = model["dram_read_bytes"] + model["dram_written_bytes"]
    memory, compute = dram / rate, operations / peak
    floor = max(memory, compute)
    useful = sum(one.bytes_useful for one in trace.lines if one.space == "global")
    return Roofline(
        useful,
        totals.bytes_moved,
        dram,
        floor,
        "compute" if compute > memory else "memory",
        operations / dram if dram else math.inf,
        floor / seconds if seconds else None,
    )
