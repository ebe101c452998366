"""Arithmetic by class, as far as the host's machine code tells: each basic block begins with a call
that the trace counts, and between two such calls stands what its lanes did each time."""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from warpkit.lab import _read


class Operations(NamedTuple):
    """Operations of lanes, by class.

    Attributes
    ----------
    fp32, fp64 : int
        Additions, subtractions, multiplications; a fused multiply-add is two.
    special : int
        Divisions, square roots, and functions such as expf, of either width.
    conversion : int
        Between types, and roundings.
    integer : int
        With those of addresses and loops, as the host computes them.
    """

    fp32: int = 0
    fp64: int = 0
    special: int = 0
    conversion: int = 0
    integer: int = 0

    @property
    def floating(self) -> int:
        """fp32, fp64 and special together: what lab.roofline takes."""
        return self.fp32 + self.fp64 + self.special


class Arithmetic(NamedTuple):
    """A source line's operations; the classes are those of Operations."""

    kernel: str
    file: str
    line: int
    source: str
    fp32: int
    fp64: int
    special: int
    conversion: int
    integer: int


_SPECIAL = (
    "sqrt|cbrt|hypot|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sincos|asin|acos|"
    "atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|erf|erfc|tgamma|lgamma|fmod|remainder|j0|j1|y0|y1"
)
_ROUNDING = "floor|ceil|trunc|round|rint|nearbyint|lrint|lround|llrint|llround"
# Of x86-64, in AT&T's syntax: operation, class by its last letters, how many.
_CLASSES: list[tuple[str, str, int]] = [
    (r"v?(?:add|sub|mul)ss ", "fp32", 1),
    (r"v?(?:add|sub|mul)sd ", "fp64", 1),
    (r"vfn?m(?:add|sub)\d+ss ", "fp32", 2),
    (r"vfn?m(?:add|sub)\d+sd ", "fp64", 2),
    (r"v?(?:div|r?sqrt|rcp)s[sd] ", "special", 1),
    (r"v?(?:cvt|round)\w+ ", "conversion", 1),
    (r"call .*<fmaf[@>]", "fp32", 2),
    (r"call .*<fma[@>]", "fp64", 2),
    (rf"call .*<(?:{_SPECIAL})f?[@>]", "special", 1),
    (rf"call .*<(?:{_ROUNDING})f?[@>]", "conversion", 1),
    (
        r"(?:add|sub|adc|sbb|inc|dec|neg|not|and|or|xor|i?mul|i?div|sh[lr]d?|sa[lr]|ro[lr]|lea|"
        r"cmp|test|popcnt|bs[fr]|bswap|[tl]zcnt|cmov\w+)[bwlq]? ",
        "integer",
        1,
    ),
]
_PATTERN = re.compile("|".join(f"({pattern})" for pattern, _, _ in _CLASSES))
_NOTHING = re.compile(r"xor\w? +(%\w+),\1$|.*%[re]sp|lea .*\(%rip\)")  # zeros, the stack, names
_BEGINS = "<__sanitizer_cov_trace_pc"


class Found(NamedTuple):
    """An instruction: its address, its class's index in Operations, and how many it makes."""

    address: int
    kind: int
    times: int


@functools.cache
def _blocks(file: str, stamp: int) -> dict[int, list[Found]]:
    """Arithmetic of each basic block of an object file, by the address where it begins."""
    tool = shutil.which("objdump")
    if tool is None or platform.machine().lower() not in ("x86_64", "amd64"):
        raise RuntimeError("arithmetic is counted with objdump, of machine code for x86-64")
    command = [tool, "-d", "--no-show-raw-insn", "-j", ".text", file]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    blocks: dict[int, list[Found]] = {}
    block: list[Found] | None = None
    begins = False
    for text in told.splitlines():
        if text.endswith(">:"):
            block = None  # before a function's first call nothing is counted
            continue
        address, colon, code = text.partition(":\t")
        if not colon:
            continue
        if begins:
            block = blocks.setdefault(int(address, 16), [])
            begins = False
        if _BEGINS in code:
            begins, block = True, None
        elif block is not None and (known := _PATTERN.match(code + " ")):
            _, kind, times = _CLASSES[(known.lastindex or 1) - 1]
            if kind != "integer" or not _NOTHING.match(code):
                block.append(Found(int(address, 16), Operations._fields.index(kind), times))
    return blocks


def arithmetic(
    launches: Sequence[_read.Launch], text: Callable[[str], list[str]], short: Callable[[str], str]
) -> list[Arithmetic]:
    """By source line.

    Raises   RuntimeError (there is no objdump, or the machine is another)
    """
    counts: dict[tuple[str, str, int], list[int]] = {}
    for launch in launches:
        stamp = Path(launch.file).stat().st_mtime_ns
        blocks = _blocks(launch.file, stamp)
        ran = [
            (found, row.counts[1])
            for key, row in launch.places.items()
            if row.op == "block"
            for found in blocks.get(launch.code + (key >> 16 & 0xFFFFFFFF), [])
        ]
        addresses = tuple(sorted({found.address for found, _ in ran}))
        places = dict(zip(addresses, _read.frames(launch.file, stamp, addresses), strict=True))
        for found, lanes in ran:
            frames = places[found.address]
            own = _read.own(frames)
            kind = Operations._fields[found.kind]
            if not own.file or (kind == "integer" and _read.own(frames[:1]) != own):
                continue  # the emulator's own work
            key_ = (launch.kernel, own.file, own.line)
            counts.setdefault(key_, [0] * len(Operations._fields))[found.kind] += (
                lanes * found.times
            )
    found_lines = []
    for (kernel, file, line), numbers in sorted(counts.items()):
        source = text(file)
        shown = source[line - 1].strip() if 0 < line <= len(source) else ""
        found_lines.append(Arithmetic(kernel, short(file), line, shown, *numbers))
    return found_lines
