"""Trace: the counts of what has run, by source line, by warp, and as a whole."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from warpkit.lab import _read, _rules, _work

SECTOR = 32  # bytes
_ACCESSES = ("load", "store", "atomic")
_SHORT = {"load": "ld", "store": "st", "atomic": "atom"}


class Counts(NamedTuple):
    """What was counted, of a line or of more.

    Attributes
    ----------
    requests : int
        Of a warp: instructions that some of its lanes take part in; of basic blocks and
        collectives: times.
    lanes : int
        That took part, over all requests.
    bytes_useful : int
        That lanes asked for, each but once a request.
    sectors : int
        Of 32 bytes of global memory, that requests touch.
    ideal_sectors : int
        That would hold the same bytes.
    wavefronts : int
        Passes over shared memory's 32 banks; of constant memory, words.
    ideal_wavefronts : int
        Without bank conflicts.
    most : int
        Sectors, or wavefronts, of one request at most.
    replays : int
        Of atomics: lanes behind others at their address.
    divergent : int
        Times that lanes went on by different ways.
    """

    requests: int = 0
    lanes: int = 0
    bytes_useful: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    most: int = 0
    replays: int = 0
    divergent: int = 0

    @property
    def excess(self) -> int:
        """Sectors and wavefronts beyond the ideal."""
        return self.sectors - self.ideal_sectors + max(0, self.wavefronts - self.ideal_wavefronts)

    @property
    def bytes_moved(self) -> int:
        """Of global memory: sectors of 32 bytes."""
        return self.sectors * SECTOR

    @property
    def active_lanes(self) -> float:
        return self.lanes / self.requests if self.requests else 0.0

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def ways(self) -> float:
        """Of bank conflicts: wavefronts for each that would do."""
        return self.wavefronts / self.ideal_wavefronts if self.ideal_wavefronts else 1.0


def total(counts: Sequence[Counts]) -> Counts:
    if not counts:
        return Counts()
    columns = list(zip(*counts, strict=True))
    sums = [
        max(c) if name == "most" else sum(c)
        for name, c in zip(Counts._fields, columns, strict=True)
    ]
    return Counts(*sums)


def _counts(row: _read.Row) -> Counts:
    requests, lanes, _, distinct, sectors, ideal, waves, ideal_waves, most, replays, parted = (
        row.counts
    )
    return Counts(
        requests, lanes, distinct, sectors, ideal, waves, ideal_waves, most, replays, parted
    )


class Line(NamedTuple):
    """One kind of access of one source line of a kernel; Counts has what the counts mean.

    Attributes
    ----------
    op : str
        "load", "store", "atomic"; "block", a basic block that begins there; "barrier", "syncwarp",
        "shuffle", "vote", "match", "reduce".
    space : str
        "global", "shared", "constant", "local"; "" where there is none.
    size : int
        Bytes of a lane's access.
    array : str
        By its name in the source, where that is known.
    """

    kernel: str
    file: str
    line: int
    source: str
    op: str
    space: str
    size: int
    array: str
    requests: int
    lanes: int
    bytes_useful: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int
    most: int
    replays: int
    divergent: int

    @property
    def counts(self) -> Counts:
        return Counts(*self[8:])

    @property
    def excess(self) -> int:
        return self.counts.excess

    @property
    def metrics(self) -> dict[str, int]:
        """By Nsight Compute's names."""
        return _metrics([self])

    @property
    def rule(self) -> str:
        """What is wrong with it, and what would mend it, in a sentence each; "" for nothing."""
        return _rules.rule(self)


class Access(NamedTuple):
    """One request of a warp.

    Attributes
    ----------
    line, file, op, space, size, array
        As Line's.
    addresses : tuple of int or None
        Of the 32 lanes; None: it takes no part.
    sectors, wavefronts : int
        As Counts's.
    """

    line: int
    file: str
    op: str
    space: str
    size: int
    array: str
    addresses: tuple[int | None, ...]
    sectors: int
    wavefronts: int


def _metrics(lines: Sequence[Line]) -> dict[str, int]:
    found: dict[str, int] = {}

    def add(name: str, value: int) -> None:
        found[f"{name}.sum"] = found.get(f"{name}.sum", 0) + value

    for one in lines:
        if one.op not in _ACCESSES:
            continue
        op = _SHORT[one.op]
        if one.space == "global":
            add(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}", one.requests)
            add(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}", one.sectors)
        elif one.space == "shared":
            add(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}", one.wavefronts)
            add(
                f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}",
                one.wavefronts - one.ideal_wavefronts,
            )
    return found


class Trace:
    """What lab.trace returns.

    Attributes
    ----------
    lines : list of Line
        Named tuples, in the source's order: ``pandas.DataFrame(trace.lines)`` is a table of them.
    totals : Counts
        Of all accesses to memory.
    metrics : dict of str to int
        The same by Nsight Compute's names; ``line.metrics`` of one line.
    model : dict of str to int
        Bytes between L1, L2 and DRAM by a simple model of the caches, which knows no time: each
        block has an L1 of its own, and L2 begins empty.
    launches : list of Launch
        kernel, grid, block, shared; ``stride``: each so many-th block was traced, from the first.
    error : DeviceError or None
        What the kernel failed of; the counts go up to there.
    arithmetic : list of Arithmetic
        Operations by source line and class, from the host's machine code.
    operations : Operations
        Those of all lines.
    complete : bool
        False: some blocks alone were traced, or the limit of events was reached.
    result : object
        Of the function; of a program a subprocess.CompletedProcess.
    """

    def __init__(
        self,
        launches: list[_read.Launch],
        result: Any,
        error: Exception | None,
        text: Callable[[str], list[str]],
    ) -> None:
        self.launches, self.result, self.error = launches, result, error
        self._text = text  # a file's lines
        self.lines = _merged(launches, text)

    @property
    def totals(self) -> Counts:
        return total([one.counts for one in self.lines if one.op in _ACCESSES])

    @property
    def metrics(self) -> dict[str, int]:
        return _metrics(self.lines)

    @property
    def model(self) -> dict[str, int]:
        def bytes_of(name: str) -> int:
            return SECTOR * sum(launch.totals[name] for launch in self.launches)

        l1, hits = bytes_of("l1_sectors"), bytes_of("l1_hits")
        return {
            "l1_load_bytes": l1,
            "l1_hit_bytes": hits,
            "l2_bytes": bytes_of("l2_sectors"),
            "l2_hit_bytes": bytes_of("l2_hits"),
            "dram_read_bytes": bytes_of("dram_read"),
            "dram_written_bytes": bytes_of("dram_written"),
        }

    @functools.cached_property
    def arithmetic(self) -> list[_work.Arithmetic]:
        """Operations by source line and class, of the host's machine code.

        docs/lab.md says what that can tell. Raises RuntimeError where there is no objdump, or the
        machine is no x86-64.
        """
        return _work.arithmetic(self.launches, self._text, short)

    @property
    def operations(self) -> _work.Operations:
        """Of all lines together."""
        return _work.Operations(*map(sum, zip(*(one[4:] for one in self.arithmetic), strict=True)))

    @property
    def complete(self) -> bool:
        return all(one.stride == 1 and not one.totals["cut"] for one in self.launches)

    def by_launch(self) -> list[tuple[_read.Launch, dict[str, int]]]:
        """Each launch with its metrics."""
        return [(one, _metrics(_merged([one], self._text))) for one in self.launches]

    def line(self, number: int, file: str | None = None) -> Counts:
        """The accesses of a source line, together: ``assert trace.line(12).excess == 0``.

        Returns
        -------
        Counts

        Raises
        ------
        KeyError (no access was traced there; it lists the lines that have some)
        """
        here = [
            one.counts
            for one in self.lines
            if one.op in _ACCESSES
            and one.line == number
            and (file is None or Path(one.file).name == Path(file).name)
        ]
        if not here:
            known = sorted({one.line for one in self.lines if one.op in _ACCESSES})
            raise KeyError(f"no access at line {number}; there are: {str(known)[1:-1] or 'none'}")
        return total(here)

    def warp(self, block: int | Sequence[int], w: int, launch: int = 0) -> list[Access]:
        """The accesses to memory of one warp, in their order.

        Parameters
        ----------
        block : int or tuple of int
            Its number, or its index (x, y, z).
        w : int
            The warp's number in it.
        launch : int
            Which of launches.

        Returns
        -------
        list of Access

        Raises
        ------
        KeyError (it was not recorded: not traced, or there were Limits.records before)
        """
        one = self.launches[launch]
        number = block if isinstance(block, int) else _number(block, one.grid)
        records = one.records
        mine = records[(records["block"] == number) & (records["warp"] == w)]
        if len(mine) == 0:
            raise KeyError(f"no access of warp {w} of block {block} was recorded")
        return [_access(record, one.places) for record in mine]

    def to_dict(self) -> dict[str, Any]:
        """All but the requests' addresses."""
        return {
            "launches": [
                {
                    "kernel": one.kernel,
                    "grid": one.grid,
                    "block": one.block,
                    "shared": one.shared,
                    "stride": one.stride,
                    "blocks_traced": one.totals["blocks"],
                }
                for one in self.launches
            ],
            "complete": self.complete,
            "error": str(self.error) if self.error else None,
            "lines": [
                one._asdict() | {"excess": one.excess, "metrics": one.metrics, "rule": one.rule}
                for one in self.lines
            ],
            "arithmetic": self._known_arithmetic(),
            "totals": self.totals._asdict() | {"excess": self.totals.excess},
            "metrics": self.metrics,
            "model": self.model,
        }

    def _known_arithmetic(self) -> list[dict[str, Any]] | None:
        try:
            return [one._asdict() for one in self.arithmetic]
        except RuntimeError:
            return None

    def to_json(self) -> str:
        """That as a text of JSON."""
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self, file: str | os.PathLike[str]) -> None:
        """The view that Jupyter shows, as one file that needs nothing else."""
        from warpkit.lab import _view

        Path(file).write_text(_view.page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        from warpkit.lab import _view

        return _view.fragment(self)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(one.kernel for one in self.launches)) or "no kernel"
        t = self.totals
        head = f"<trace of {names}: {t.requests:,} requests, {t.sectors:,} sectors, "
        head += f"{t.wavefronts:,} wavefronts; excess {t.excess:,}>"
        notes = [f"line {one.line}: {one.rule}" for one in self.worst()]
        if self.error:
            notes.append(f"it failed: {self.error}")
        return "\n".join([head, *notes])

    def worst(self, most: int = 3) -> list[Line]:
        """Lines with a rule, those first that cost most; not what costs next to nothing."""
        least = self.totals.requests / 50
        ruled = [one for one in self.lines if one.rule and _rules.cost(one) >= least]
        return sorted(ruled, key=_rules.cost, reverse=True)[:most]

    def _recorded(self) -> Iterator[tuple[int, int, int]]:
        """(launch, block, warp) that have requests, in their order."""
        for i, one in enumerate(self.launches):
            pairs = np.stack([one.records["block"], one.records["warp"]], 1)
            _, first = np.unique(pairs, axis=0, return_index=True)
            for at in sorted(first):
                yield i, int(pairs[at, 0]), int(pairs[at, 1])


def _number(index: Sequence[int], grid: tuple[int, int, int]) -> int:
    x, y, z = (*index, 0, 0)[:3]
    return x + grid[0] * (y + grid[1] * z)


def _access(record: Any, places: dict[int, _read.Row]) -> Access:
    row = places[int(record["key"]) & int(_read.KEY)]
    lanes = int(record["lanes"])
    addresses = tuple(
        int(a) if lanes >> i & 1 else None for i, a in enumerate(record["address"].tolist())
    )
    sectors, wavefronts = int(record["sectors"]), int(record["wavefronts"])
    return Access(
        row.place.line,
        short(row.place.file),
        row.op,
        row.space,
        row.size,
        row.array,
        addresses,
        sectors,
        wavefronts,
    )


def _merged(launches: Sequence[_read.Launch], text: Callable[[str], list[str]]) -> list[Line]:
    by_place: dict[tuple[Any, ...], list[Counts]] = {}
    for launch in launches:
        for row in launch.rows:
            array = row.array
            if not row.place.file and row.op == "block":
                continue  # of the call itself
            key = (
                launch.kernel,
                row.place.file,
                row.place.line,
                row.op,
                row.space,
                row.size,
                array,
            )
            by_place.setdefault(key, []).append(_counts(row))
    lines = []
    for (kernel, file, line, op, space, size, array), counts in by_place.items():
        source = text(file)
        shown = source[line - 1].strip() if 0 < line <= len(source) else ""
        lines.append(Line(kernel, short(file), line, shown, op, space, size, array, *total(counts)))
    kernels = list(dict.fromkeys(launch.kernel for launch in launches))
    return sorted(lines, key=lambda one: (kernels.index(one.kernel), one.file, one.line))


def short(file: str) -> str:
    """Of the project's own files, where they stand in it."""
    return file.removeprefix(f"{_read.KERNELS}/")


def texts(given: dict[str, str]) -> Callable[[str], list[str]]:
    """A function that gives the lines of a file: of these, else of what lies there."""
    known = {name: text.splitlines() for name, text in given.items()}

    def lines(name: str) -> list[str]:
        if name not in known:
            try:
                path = Path(_read.KERNELS, name)  # or the name, if that is absolute
                known[name] = path.read_text(errors="replace").splitlines()
            except OSError:
                known[name] = []
        return known[name]

    return lines
