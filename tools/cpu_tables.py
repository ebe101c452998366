"""The CPU's tables: bench/results/cpu.json."""

from __future__ import annotations

import statistics
from typing import Any

from pages import complain, milliseconds, result_of, table

LEADS = 0.98
LITTLE = 3e-4  # ms, which a call with keywords takes more than one that has none
FAMILIES = {
    "reductions": ("reduce",),
    "transposes": ("transpose",),
    "stencils": ("stencil1d",),
    "histograms": ("histogram", "bincount"),
    "exact dot products, prefixes": ("dot", "cumsum"),
    "exact sums of segments": ("segment_reduce",),
    "unique values": ("unique_counts",),
}

# (operation, case, dtype, words for it) of bench/cpu.py, in the table's order
SHOWN = (
    ("reduce", "sum flat", "f4", "sum of 2^26"),
    ("reduce", "sum flat", "i4", "sum of 2^26"),
    ("reduce", "max flat", "f8", "max of 2^25"),
    ("reduce", "mean flat", "i1", "mean of 2^28"),
    ("reduce", "sum square axis 0", "f4", "sum along axis 0, 8192 x 8192"),
    ("reduce", "sum tall axis 0", "f4", "sum along axis 0, 2^20 x 16"),
    ("reduce", "sum tiny", "f4", "sum of 1000"),
    ("transpose", "square", "f4", "8192 x 8192"),
    ("transpose", "odd", "u1", "8191 x 8209"),
    ("transpose", "NCHW to NHWC", "f4", "NCHW to NHWC"),
    ("transpose", "tiny", "f4", "32 x 32"),
    ("stencil1d", "radius 4 last axis", "f4", "9 taps along axis 1, 4096 x 8192"),
    ("stencil1d", "radius 4 first axis", "f8", "9 taps along axis 0, 4096 x 8192"),
    ("histogram", "100 bins", "f4", "100 bins, 2^25"),
    ("histogram", "100 bins", "u1", "100 bins, 2^26"),
    ("bincount", "1000 values", "i8", "1000 values, 2^25"),
    ("bincount", "2**20 values", "i8", "2^20 values, 2^24"),
    ("bincount", "tiny", "i8", "1000 of 1000 values"),
    ("warp_histogram", "random", "i4", "2^24"),
)


def drawn() -> str | None:
    """How many of the drawn cells lead, and the worst."""
    if (result := result_of("cpu")) is None:
        return None
    lines = []
    for name, ops in FAMILIES.items():
        own = [row for row in result["drawn"] if row["op"] in ops]
        lead = sum(row["ratio"] >= LEADS for row in own)
        near = sum(row["ratio"] >= LEADS or row["ms"] - row["peer_ms"] <= LITTLE for row in own)
        worst = min(own, key=lambda row: (row["ms"] - row["peer_ms"] <= LITTLE, row["ratio"]))
        shape = " x ".join(map(str, worst["shape"]))
        what = f"{worst['op']}, {worst['case']}, {worst['dtype']}, {shape}"
        lines.append(
            (
                name,
                str(len(own)),
                f"{lead} ({100 * lead // len(own)}%)",
                f"{near} ({100 * near // len(own)}%)",
                f"{statistics.median(row['ratio'] for row in own):.1f}",
                f"{worst['ratio']:.2f}: {what}; {milliseconds(worst['ms'])} ms",
            )
        )
    head = ("", "cells", f"at least {LEADS} of the peer", "or within 0.3 us", "median", "the worst")
    return table(head, lines, "<>>>><")


def chosen() -> str | None:
    if (result := result_of("cpu")) is None:
        return None
    # where a case has several shapes, the first
    measured: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in result["rows"]:
        measured.setdefault((row["op"], row["case"], row["dtype"]), row)
    rows = []
    for op, case, dtype, words in SHOWN:
        row = measured.get((op, case, dtype))
        if row is None:
            complain(f"cpu.json has no {op} {case} {dtype}; its row is left out")
            continue
        times = milliseconds(row["peer_ms"]), milliseconds(row["ms"])
        rows.append((f"`{op}`", words, dtype, row["peer"], *times, f"{row['ratio']:.1f}"))
    m = result["machine"]
    head = ("operation", "case", "dtype", "peer", "peer ms", "warpkit ms", "ratio")
    source = (
        f"{m['cpu']}, {m['cores']} cores, {m['threads']} threads, {m['isa']}; "
        f"Python {m['python']}, NumPy {m['numpy']}, SciPy {m['scipy']}, warpkit {m['warpkit']}; "
        f"{m['date'][:10]}."
    )
    return f"{table(head, rows, '<<<<>>>')}\n{source}\n"
