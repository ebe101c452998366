"""What the emulated device has counted, as cuda/emu/trace_report.cc tells it; code as lines."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from warpkit import _compiler

RECORD = np.dtype(
    [
        ("address", "<u8", 32),
        ("key", "<u8"),
        ("block", "<u4"),
        ("lanes", "<u4"),
        ("warp", "<u2"),
        ("sectors", "<u2"),
        ("wavefronts", "<u2"),
        ("zero", "<u2"),
    ]
)
KINDS = ("load", "store", "atomic", "block")
SPACES = ("global", "shared", "constant", "local", "")
# enum collective of cuda/emu/warp.h, by what a profiler calls them
COLLECTIVES = ("syncwarp", *["vote"] * 3, *["shuffle"] * 4, *["match"] * 2, *["reduce"] * 8)
BARRIER = 100
TOTALS = (
    *("events", "blocks", "warps", "l1_sectors", "l1_hits", "l2_sectors", "l2_hits"),
    *("dram_read", "dram_written", "cut"),
)


class Place(NamedTuple):
    file: str
    line: int


class Row(NamedTuple):
    """One place of a kernel's source, and what it does there; the counts are trace_row's."""

    place: Place
    op: str
    space: str
    size: int  # bytes of a lane's access
    array: str
    counts: tuple[int, ...]


class Launch(NamedTuple):
    """One launch as it was traced.

    kernel, grid, block   as it was launched
    shared                bytes, static and dynamic
    stride                each so many-th block was traced, the first among them
    totals                sums over the traced blocks
    error                 what it failed of; ""
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: tuple[int, int]
    stride: int
    totals: dict[str, int]
    error: str
    rows: list[Row]
    records: np.ndarray  # of RECORD
    places: dict[int, Row]  # by the records' keys
    file: str  # with the code, which begins at that address in it
    code: int


@functools.cache
def frames(file: str, stamp: int, addresses: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """Of addresses in a file, in their order: the lines of inlined calls, the innermost first."""
    tool = shutil.which("addr2line")
    if tool is None or not addresses:
        return ((),) * len(addresses)
    told = subprocess.run(
        [tool, "-a", "-i", "-e", file],
        input="\n".join(hex(a) for a in addresses),
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = [tuple(filter(None, one.splitlines()[1:])) for one in told.split("0x")[1:]]
    return (*found, *[()] * len(addresses))[: len(addresses)]


def own(inlined: Sequence[str]) -> Place:
    """Of inlined calls, the innermost first: the line that is neither CUDA's nor the library's."""
    for frame in inlined:
        name, _, line = frame.partition(" (discriminator")[0].rpartition(":")
        while name.startswith("./"):
            name = name[2:]
        if "/emu/" not in name and not name.startswith("/usr/") and line.isdigit():
            return Place(name, int(line))
    return Place("", 0)


def launches(told: bytes, program: Path | None = None) -> list[Launch]:
    """All of a run, in their order; program: the file that has run."""
    found: list[tuple[dict[str, Any], np.ndarray]] = []
    at = 0
    while at < len(told):
        end = told.index(b"\n", at)
        header = json.loads(told[at:end])
        size = header["records"] * RECORD.itemsize
        found.append((header, np.frombuffer(told[end + 1 : end + 1 + size], RECORD)))
        at = end + 1 + size
    places = _places(found, program)
    return [_launch(header, records, places, program) for header, records in found]


def _file(header: dict[str, Any], program: Path | None) -> str:
    return header["file"] or str(program)


def _places(
    found: Iterable[tuple[dict[str, Any], np.ndarray]], program: Path | None
) -> dict[tuple[str, int], Place]:
    wanted: dict[str, set[int]] = {}
    for header, _ in found:
        of = wanted.setdefault(_file(header, program), set())
        of.update(header["code"] + (row[0][0] >> 16 & 0xFFFFFFFF) - 1 for row in header["rows"])
    places = {}
    for file, addresses in wanted.items():
        in_order = tuple(sorted(addresses))
        stamp = Path(file).stat().st_mtime_ns
        lines = map(own, frames(file, stamp, in_order))
        places.update({(file, a): line for a, line in zip(in_order, lines, strict=True)})
    return places


def _launch(
    header: dict[str, Any],
    records: np.ndarray,
    places: dict[tuple[str, int], Place],
    program: Path | None,
) -> Launch:
    file = _file(header, program)
    rows, by_key = [], {}
    for counts, array in header["rows"]:
        key = counts[0]
        place = places[file, header["code"] + (key >> 16 & 0xFFFFFFFF) - 1]
        op, space = KINDS[key >> 12 & 15], SPACES[key >> 8 & 15]
        row = Row(place, op, space, key & 255, array, tuple(counts[1:]))
        rows.append(row)
        by_key[key] = row
    for (line, what, times, lanes), name in header["sites"]:
        op = "barrier" if what == BARRIER else COLLECTIVES[what]
        rows.append(Row(Place(name, line), op, "", 0, "", (times, lanes) + (0,) * 9))
    grid, block = tuple(header["grid"]), tuple(header["block"])
    totals = dict(zip(TOTALS, header["totals"], strict=True))
    return Launch(
        header["kernel"],
        (grid[0], grid[1], grid[2]),
        (block[0], block[1], block[2]),
        (header["shared"][0], header["shared"][1]),
        header["stride"],
        totals,
        header["error"],
        rows,
        records[np.isin(records["key"] & KEY, list(by_key))],
        by_key,
        file,
        header["code"],
    )


KEY = np.uint64((1 << 48) - 1)  # of a record: without the depth of its call
# The folders of the kernels and of the headers of C: in the package when installed, else in the
# repository.
INSTALLED = _compiler.headers() == _compiler.PACKAGE
KERNELS = _compiler.PACKAGE / "cuda" if INSTALLED else _compiler.headers()
CSRC = _compiler.PACKAGE / "csrc" if INSTALLED else KERNELS.parent / "csrc"
