"""The tables of bench/stencil.py's results."""

from __future__ import annotations

from functools import partial

import warpkit
from pages import Row, complain, gpu_tables, matrix_cell, milliseconds, summary, table

FLOOR = "of_floor"

# (case, dtype, radius) that docs/benchmarks.md shows
SHOWN = (
    ("last axis", "float32", 1),
    ("last axis", "float32", 4),
    ("last axis", "float32", 16),
    ("last axis", "float32", 64),
    ("last axis", "float64", 4),
    ("last axis", "float32, sums float64", 4),
    ("axis 0 of 8192 x 16384", "float32", 4),
    ("axis 0 of 8192 x 16381", "float32", 4),
    ("3 elements within", "float32", 4),
    ("rows of 1000", "float32", 4),
)

SMALL = ("warpkit", "CuPy", "PyTorch")
COLUMNS = {"device_us": "device", "issue_us": "issue"}
CONVOLUTIONS = ("warpkit", "oaconvolve", "fftconvolve")


def rate(row: Row | None) -> str:
    if row is None or row["gb_s"] is None:
        return "" if row is None else "fails"
    return f"{row['gb_s']:.0f}" + (" !" if row.get("wrong") else "")


def numbers(row: Row | None) -> tuple[str, ...]:
    """Our rate, its share of a copy's and of the floor, the best peer, and the ratio."""
    if row is None or row["gb_s"] is None:
        return rate(row), "", "", "", ""
    best = row.get("best_peer")
    peer = (f"{best} {row['peers'][best]:.0f}", f"{row['ratio']:.1f}") if best else ("", "")
    return rate(row), f"{row['share']:.2f}", f"{row[FLOOR]:.2f}", *peer


HEAD = ("GB/s", "of a copy", "of the floor", "best peer", "ratio")


def dtype_of(row: Row) -> str:
    """The elements', and the sums' where that is another."""
    dtype = str(row["dtype"])
    return dtype if row["sums"] == dtype else f"{dtype}, sums {row['sums']}"


def in_all(rows: list[Row]) -> str:
    """What is true of a section as a whole, in two lines."""
    peaks = {row["sums"]: f"{row['sums']} {row['peak_t_s']:.1f}" for row in rows}
    units = f"Fused multiply-adds there, 10^12/s: {', '.join(peaks.values())}."
    return f"{summary(rows, FLOOR, 'the floor')}\n{units}\n"


def by_radius(rows: list[Row]) -> str:
    """A table for each case, with a line for each radius."""
    tables = []
    for case in dict.fromkeys(row["case"] for row in rows):
        of_case = [row for row in rows if row["case"] == case]
        cell = {(row["radius"], dtype_of(row)): row for row in of_case}
        dtypes = dict.fromkeys(map(dtype_of, of_case))
        radii = dict.fromkeys(row["radius"] for row in of_case)
        lines = [
            (str(r), *(text for d in dtypes for text in numbers(cell.get((r, d))))) for r in radii
        ]
        head = [f"{case}, radius"]
        for dtype in dtypes:
            head += [f"{dtype}, {HEAD[0]}", *HEAD[1:]]
        tables.append(table(head, lines, ">" + ">>><>" * len(dtypes)))
    return "\n".join((*tables, in_all(rows)))


def by_case(rows: list[Row]) -> str:
    """A table for each dtype, with a line for each case and a column for each radius."""
    tables = []
    for dtype in dict.fromkeys(map(dtype_of, rows)):
        of_dtype = [row for row in rows if dtype_of(row) == dtype]
        cell = {(row["case"], row["radius"]): row for row in of_dtype}
        radii = dict.fromkeys(row["radius"] for row in of_dtype)
        cases = dict.fromkeys(row["case"] for row in of_dtype)
        lines = [(c, *(matrix_cell(cell.get((c, r)), FLOOR) for r in radii)) for c in cases]
        head = (dtype, *(f"radius {r}" for r in radii))
        tables.append(table(head, lines, "<" + ">" * len(radii)))
    return "\n".join((*tables, in_all(rows)))


def added(rows: list[Row]) -> str:
    named = ("case", "dtype", "sums", "radius")
    lines = [(*(str(row[name]) for name in named), *numbers(row)) for row in rows]
    text = table((*named, *HEAD), lines, "<<<>>>><>")
    return f"{text}\n{in_all(rows)}"


last = partial(gpu_tables, "stencil", "last", by_radius)
first = partial(gpu_tables, "stencil", "first", by_radius)
inner = partial(gpu_tables, "stencil", "inner", by_case)
rows = partial(gpu_tables, "stencil", "rows", by_case)
sums = partial(gpu_tables, "stencil", "sums", added)


def ladder() -> str | None:
    rungs = {v.name: v for v in warpkit.variants("stencil1d") if v.device == "cuda"}

    def make(rows: list[Row]) -> str:
        cases = dict.fromkeys(row["case"] for row in rows)
        measured = {(row["name"], row["case"]): row for row in rows}
        peers = dict.fromkeys(row["name"] for row in rows if row["peer"])
        lines = []
        for name in (*rungs, *peers):
            rung, cells = rungs.get(name), []
            for case in cases:
                row = measured.get((name, case))
                cells += [rate(row), f"{row['share']:.2f}" if row else ""]
            mark = " (production)" if rung and rung.production else ""
            words = rung.teaches.replace("|", r"\|") if rung else ""
            lines.append((f"`{name}`{mark}" if rung else name, *cells, words))
        head = [f"{2 * rows[0]['radius'] + 1} taps, {rows[0]['dtype']}"]
        for case in cases:
            head += [f"{case}, GB/s", "of a copy"]
        return table([*head, "what the rung teaches"], lines, "<" + ">>" * len(cases) + "<")

    return gpu_tables("stencil", "ladder", make)


def small() -> str | None:
    def make(rows: list[Row]) -> str:
        lines = []
        for row in rows:
            times = [row[key].get(name) for key in COLUMNS for name in SMALL]
            lines.append((str(row["n"]), *("" if t is None else milliseconds(t) for t in times)))
        named = (f"{words}: {name}" for words in COLUMNS.values() for name in SMALL)
        head = (f"radius {rows[0]['radius']}, n, us", *named)
        return table(head, lines, ">" * len(head))

    return gpu_tables("stencil", "small", make)


def crossover() -> str | None:
    def make(rows: list[Row]) -> str:
        lines = []
        for row in rows:
            times = [row["device_us"].get(name) for name in CONVOLUTIONS]
            share = f"{row[FLOOR]:.2f}" if FLOOR in row else ""
            cells = ["" if t is None else milliseconds(1e-3 * t) for t in times]
            lines.append((str(row["taps"]), *cells, share))
        n = rows[0]["n"]
        head = (f"taps, {n} elements", *(f"{name}, ms" for name in CONVOLUTIONS), "of the floor")
        return table(head, lines, ">" * len(head))

    return gpu_tables("stencil", "crossover", make)


def selection() -> str | None:
    """Of docs/benchmarks.md: some cells, each beside its best peer."""

    def make(rows: list[Row]) -> str:
        measured = {(row["case"], dtype_of(row), row["radius"]): row for row in rows}
        lines = []
        for case, dtype, radius in SHOWN:
            row = measured.get((case, dtype, radius))
            if row is None:
                complain(f"no stencil of {case}, {dtype}, radius {radius}; its row is left out")
                continue
            lines.append((f"{case}, radius {radius}", dtype, *numbers(row)))
        return table(("stencil1d", "dtype", *HEAD), lines, "<<>>><>")

    return gpu_tables("stencil", "last", make, ("first", "inner", "rows", "sums"))
