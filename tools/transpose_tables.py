"""The tables of bench/transpose.py's results."""

from __future__ import annotations

import statistics

import warpkit
from pages import Row, complain, gpu_tables, matrix_cell, milliseconds, shown, summary, table

DTYPES = ("uint8", "float16", "float32", "float64", "complex128")

# (case, dtype) of the matrix that docs/benchmarks.md shows
SHOWN = (
    ("16384 x 16384", "float32"),
    ("16383 x 16381", "float32"),
    ("16384 x 16384", "uint8"),
    ("16383 x 16381", "float64"),
    ("n x 3", "float32"),
    ("3 x n", "float32"),
    ("NCHW to NHWC, 64 x 256 x 128 x 128", "float32"),
    ("NHWC to NCHW, 64 x 1080 x 1920 x 3", "uint8"),
    ("512 x 512 x 512 to (2, 1, 0)", "float32"),
    ("21 x 33 x 19 x 27 x 25 x 15 to (5, 3, 1, 4, 0, 2)", "float32"),
    ("4096 x 4096 x 16 to (1, 0, 2)", "float32"),
    ("a[::-1, ::-1].T", "float32"),
)

SIZES = ("warpkit", "CuPy", "PyTorch")
COLUMNS = {"device_us": SIZES, "issue_us": SIZES, "host_us": (*SIZES, "NumPy")}
WORDS = {"device_us": "device", "issue_us": "issue", "host_us": "from NumPy"}


def ladder() -> str | None:
    rungs = {v.name: v for v in warpkit.variants("transpose") if v.device == "cuda"}

    def make(rows: list[Row]) -> str:
        measured = {row["name"]: row for row in rows}
        peers = [row["name"] for row in rows if row["peer"]]
        lines = []
        for name in (*rungs, *peers):
            row, rung = measured.get(name), rungs.get(name)
            mark = " (production)" if rung and rung.production else ""
            lines.append(
                (
                    f"`{name}`{mark}" if rung else name,
                    f"{row['gb_s']:.0f}" + (" !" if row.get("wrong") else "") if row else "",
                    f"{row['share']:.2f}" if row else "",
                    rung.teaches.replace("|", r"\|") if rung else "",
                )
            )
        shape = " x ".join(map(str, rows[0]["shape"]))
        head = (f"{shape} {rows[0]['dtype']}", "GB/s", "of a copy", "what the rung teaches")
        return table(head, lines, "<>><")

    return gpu_tables("transpose", "ladder", make)


def matrix() -> str | None:
    def make(rows: list[Row]) -> str:
        tables = []
        for group in dict.fromkeys(row["group"] for row in rows):
            of_group = [row for row in rows if row["group"] == group]
            dtypes = [d for d in DTYPES if any(row["dtype"] == d for row in of_group)]
            cell = {(row["case"], row["dtype"]): row for row in of_group}
            cases = dict.fromkeys(row["case"] for row in of_group)
            lines = [(shown(c), *(matrix_cell(cell.get((c, d))) for d in dtypes)) for c in cases]
            tables.append(table((group, *dtypes), lines, "<" + ">" * len(dtypes)))
        return "\n".join((*tables, summary(rows)))

    return gpu_tables("transpose", "matrix", make)


def random() -> str | None:
    """By dtype: how many lead, and the least."""

    def make(rows: list[Row]) -> str:
        lines = []
        for dtype in DTYPES:
            some = [row for row in rows if row["dtype"] == dtype]
            if not some:
                continue
            shares = sorted(row["share"] for row in some)
            ratios = sorted(row["ratio"] for row in some)
            worst = min(some, key=lambda row: float(row["ratio"]))
            lines.append(
                (
                    dtype,
                    str(len(some)),
                    *(f"{statistics.median(x):.2f}, {x[0]:.2f}" for x in (shares, ratios)),
                    *(str(sum(r >= least for r in ratios)) for least in (0.98, 0.9)),
                    worst["case"],
                    worst["best_peer"],
                )
            )
        head = (
            *("random permutations", "cells", "share of a copy: median, least"),
            *("ratio: median, least", "0.98 and more", "0.9 and more", "the least", "its peer"),
        )
        wrong = sum(row.get("wrong", False) for row in rows)
        told = f"\nIn {wrong} the result is another than the peer's.\n" if wrong else ""
        return table(head, lines, "<>>>>><<") + told

    return gpu_tables("transpose", "random", make)


def sizes() -> str | None:
    def make(rows: list[Row]) -> str:
        lines = []
        for row in rows:
            times = [row[key].get(name) for key, names in COLUMNS.items() for name in names]
            lines.append((str(row["n"]), *("" if t is None else milliseconds(t) for t in times)))
        named = (f"{WORDS[key]}: {name}" for key, names in COLUMNS.items() for name in names)
        head = ("n x n, us", *named)
        return table(head, lines, ">" * len(head))

    return gpu_tables("transpose", "sizes", make)


def selection() -> str | None:
    """Of docs/benchmarks.md: some cells of the matrix, each beside its best peer."""

    def make(rows: list[Row]) -> str:
        measured = {(row["case"], row["dtype"]): row for row in rows}
        lines = []
        for case, dtype in SHOWN:
            row = measured.get((case, dtype))
            if row is None or row["gb_s"] is None:
                complain(f"the matrix of transposes has no {case} {dtype}; its row is left out")
                continue
            best = row.get("best_peer")
            rate = f"{row['gb_s']:.0f}" + (" !" if row.get("wrong") else "")
            theirs = (
                (best, f"{row['peers'][best]:.0f}", f"{row['ratio']:.1f}") if best else [""] * 3
            )
            lines.append((shown(case), dtype, rate, f"{row['share']:.2f}", *theirs))
        head = ("transpose", "dtype", "GB/s", "of a copy", "best peer", "its GB/s", "ratio")
        return table(head, lines, "<<>><>>")

    return gpu_tables("transpose", "matrix", make)
