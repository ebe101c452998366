"""The tables of bench/reduce.py's results."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from functools import partial

import warpkit
from pages import Row, gpu_results, gpu_tables, matrix_cell, milliseconds, shown, table

DTYPES = ("int32", "float32", "float64")  # of the ladder
PEERS = ("CuPy", "PyTorch", "CUB")
LEVEL = 0.98  # of the best peer's rate: what is as fast but for what a clock can tell
FAR = 0.5
WORST, WORST_OF_ALL = 10, 30  # rows of the tables of the worst cells


def ladder() -> str | None:
    rungs = {v.name: v for v in warpkit.variants("reduce") if v.device == "cuda"}

    def make(rows: list[Row]) -> str:
        rate = {(row["name"], row["dtype"]): f"{row['gb_s']:.0f}" for row in rows}
        peers = dict.fromkeys(row["name"] for row in rows if row["peer"])
        lines = []
        for name in (*rungs, *peers):
            rates = [rate.get((name, dtype), "") for dtype in DTYPES]
            rung = rungs.get(name)
            words = rung.teaches.replace("|", r"\|") if rung else ""
            mark = " (production)" if rung and rung.production else ""
            lines.append((f"`{name}`{mark}" if rung else name, *rates, words))
        head = ("sum of 256 MiB, GB/s", *DTYPES, "what the rung teaches")
        return table(head, lines, "<>>><")

    return gpu_tables("reduce", "ladder", make)


def exponents() -> str | None:
    def make(rows: list[Row]) -> str:
        lines = [
            (
                row["spread"],
                row["dtype"],
                f"{row['gb_s']:.0f}",
                f"{row['share']:.2f}",
                *(f"{row['peers'][p]:.0f}" if p in row["peers"] else "" for p in PEERS),
            )
            for row in rows
            if row["gb_s"]
        ]
        return table(("elements", "dtype", "GB/s", "of a copy", *PEERS), lines, "<<>>>>>")

    return gpu_tables("reduce", "exponents", make)


# ---------------------------------------------------------------------------- sizes


def size(nbytes: int) -> str:
    for unit, words in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes // unit} {words}"
    return f"{nbytes} B"


def times(row: Row | None, key: str, names: Iterable[str]) -> list[str]:
    found = (row or {}).get(key, {})
    return [milliseconds(found[name]) if name in found else "" for name in names]


def sizes() -> str | None:
    """Ours and CUB's on the device; of float32 also until a call returns, and until it is there."""

    def make(result: Row) -> str:
        rows = result["sizes"]["rows"]
        found = {(row["op"], row["dtype"], row["nbytes"]): row for row in rows}
        kinds = list(dict.fromkeys((row["op"], row["dtype"]) for row in rows))
        every = list(dict.fromkeys(row["nbytes"] for row in rows))
        pair = ("warpkit", "CUB")
        lines = [
            (size(n), *(t for k in kinds for t in times(found.get((*k, n)), "device_us", pair)))
            for n in every
        ]
        head = ["device, us", *(f"{op} {dtype}: {x}" for op, dtype in kinds for x in pair)]
        device = table(head, lines, ">" * len(head))

        names = ("warpkit", "warpkit, own array", "CuPy", "PyTorch")
        what = {"device_us": "device", "issue_us": "issue", "fetch_us": "and fetch"}
        lines = []
        for row in rows:
            if (row["op"], row["dtype"]) == ("sum", "float32") and "issue_us" in row:
                cells = (t for key in what for t in times(row, key, names))
                lines.append((size(row["nbytes"]), *cells))
        head = ["sum float32, us", *(f"{words}: {x}" for words in what.values() for x in names)]
        return f"{device}\n{table(head, lines, '>' * len(head))}"

    return gpu_results("reduce", "sizes", make)


# ---------------------------------------------------------------------------- data


def data() -> str | None:
    """A table of each operation: shares of a copy's rate, and the best peer's time over ours."""

    def make(result: Row) -> str:
        rows = result["data"]["rows"]
        cell = {(row["op"], row["dtype"], row["data"], row["layout"]): row for row in rows}
        layouts = list(dict.fromkeys(row["layout"] for row in rows))
        kinds = sorted(dict.fromkeys((row["dtype"], row["data"]) for row in rows), key=by_dtype)
        tables = []
        for op in dict.fromkeys(row["op"] for row in rows):
            lines = [
                (what, dtype, *(matrix_cell(cell.get((op, dtype, what, x))) for x in layouts))
                for dtype, what in kinds
            ]
            tables.append(table((op, "dtype", *layouts), lines, "<<" + ">" * len(layouts)))
        return "\n".join(tables)

    return gpu_results("reduce", "data", make)


def by_dtype(kind: tuple[str, str]) -> int:
    return ("float32", "float64", "bfloat16").index(kind[0])


# ---------------------------------------------------------------------------- the matrix


def rivals(rows: Iterable[Row], least: float = 0) -> int:
    """How many reach so much of the best peer's rate, of those that a peer has too."""
    return sum(row["ratio"] >= least for row in rows if "ratio" in row)


def level(rows: list[Row]) -> str:
    """How many are level with the best peer."""
    return f"{rivals(rows, LEVEL)}/{rivals(rows)}" if rivals(rows) else ""


def share(rows: Iterable[Row]) -> str:
    shares = [row["share"] for row in rows if row["gb_s"]]
    return f"{statistics.median(shares):.2f}" if shares else ""


def counts(found: Row, key: str) -> str:
    """A line for each of key, a column for each operation."""
    rows, ops = found["rows"], found["op"]

    def line(words: str, own: list[Row]) -> tuple[str, ...]:
        each = (level([row for row in own if row["op"] == op]) for op in ops)
        return words, *each, level(own), share(own)

    lines = [line(shown(x), [row for row in rows if row[key] == x]) for x in found[key]]
    lines.append(line("all", rows))
    shares = (share(row for row in rows if row["op"] == op) for op in ops)
    lines.append(("median of a copy", *shares, share(rows), ""))
    head = (f"{LEVEL} of the best peer", *ops, "all", "median of a copy")
    return table(head, lines, "<" + ">" * (len(ops) + 2))


def worst(rows: list[Row], most: int) -> str:
    """Those that are furthest behind the best peer."""
    behind = [row for row in rows if row.get("ratio", LEVEL) < LEVEL]
    lines = []
    for row in sorted(behind, key=lambda row: row["ratio"])[:most]:
        peer = row["best_peer"]
        rates = f"{row['gb_s']:.0f}", f"{row['share']:.2f}", peer, f"{row['peers'][peer]:.0f}"
        lines.append((row["op"], row["dtype"], shown(row["layout"]), *rates, f"{row['ratio']:.2f}"))
    head = ("the worst", "dtype", "layout", "GB/s", "of a copy", "best peer", "its GB/s", "ratio")
    return table(head, lines, "<<<>><>>")


def account(found: Row) -> str:
    """How many cells there are, and how they did."""
    rows = found["rows"]
    every, good = rivals(rows), rivals(rows, LEVEL)
    part = f" ({100 * good // every}%)" if every else ""
    compiled = sum("torch.compile" in row["peers"] for row in rows)
    text = (
        f"{len(rows)} of {found['cells']} cells, drawn by seed {found['seed']}, of {found['mib']} "
        f"MiB each. Of the {every} that a peer has too, {good}{part} reach {LEVEL} of the "
        f"best peer's rate, and {rivals(rows, 1)} are at least as fast. "
        f"The median share of a copy's rate is {share(rows)}. "
        f"torch.compile is a peer in {compiled} of them."
    )
    if left := found["drawn"] - len(rows):
        text += f" {left} more were drawn, but the time was up."
    if failed := sum(row["gb_s"] is None for row in rows):
        text += f" warpkit fails in {failed}."
    return f"{text}\n"


def matrix_of(result: Row, keys: Iterable[str], most: int) -> str:
    found = result["matrix"]
    tables = (counts(found, key) for key in keys)
    return "\n".join((account(found), *tables, worst(found["rows"], most)))


def matrix() -> str | None:
    make = partial(matrix_of, keys=("layout", "dtype"), most=WORST_OF_ALL)
    return gpu_results("reduce", "matrix", make)


def selection() -> str | None:
    """Of docs/benchmarks.md."""
    return gpu_results("reduce", "matrix", partial(matrix_of, keys=("layout",), most=WORST))


# ---------------------------------------------------------------------------- views

SIZES = (0, 1 << 17, 1 << 20, 1 << 23, 1 << 26)  # bytes that are read and written, from which on


def views() -> str | None:
    """A line for each size, and the worst."""

    def make(result: Row) -> str:
        found = result["views"]
        every = [row for row in found["rows"] if "ratio" in row]
        lines = []
        for least, most in zip(SIZES, (*SIZES[1:], None), strict=True):
            rows = [r for r in every if least <= r["nbytes"] and (not most or r["nbytes"] < most)]
            words = f"to {size(most)}" if most else "more"
            lines.append((words, *of_views(rows)))
        lines.append(("all", *of_views(every)))
        head = (
            "bytes read and written",
            "views",
            f"{LEVEL} of the best peer",
            f"below {FAR}",
            "median of the best peer",
            "median us",
        )
        text = f"{len(every)} views, drawn by seed {found['seed']}.\n"
        return "\n".join((text, table(head, lines, "<>>>>>"), worst(found["rows"], WORST)))

    return gpu_results("reduce", "views", make)


def of_views(rows: list[Row]) -> tuple[str, ...]:
    middle = [f"{statistics.median(row[key] for row in rows):.1f}" for key in ("ratio", "us")]
    far = len(rows) - rivals(rows, FAR)
    return str(len(rows)), str(rivals(rows, LEVEL)), str(far), *middle


# ---------------------------------------------------------------------------- the sweep


def sweep() -> str | None:
    """A line for each operation: what is usual, how many are far from a copy, and the worst."""

    def make(result: Row) -> str:
        found = result["sweep"]
        rows = sorted(found["rows"], key=lambda row: row["worst"][0]["share"])
        lines = []
        for row in rows:
            worst = row["worst"][0]
            case = ", ".join((worst["dtype"], worst["data"], shown(worst["layout"])))
            counted = str(row["cells"]), f"{row['share']:.2f}", str(row["cliffs"])
            lines.append((row["op"], *counted, case, f"{worst['us']:.0f}", f"{worst['share']:.3f}"))
        cells, cliffs = (sum(row[key] for row in rows) for key in ("cells", "cliffs"))
        text = f"{cells} cells of {found['mib']} MiB, of which {cliffs} have less than "
        head = ("", "cells", "median", f"below {found['cliff']}", "the worst", "us", "of a copy")
        return f"{text}{found['cliff']} of a copy's rate.\n\n{table(head, lines, '<>>><>>')}"

    return gpu_results("reduce", "sweep", make)
