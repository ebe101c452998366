"""Renew what README.md and the pages of docs/ say by themselves: the examples' output, the tables.

    python tools/readme.py [--check]

- A ```python block followed by a ```text block: the text becomes what the block prints. Each block
  runs in an interpreter of its own, as a reader's would, on WARPKIT_DEVICE or else the CPU.
- <!-- cells --> ... <!-- /cells -->: how many cells lead, and docs/speed.png, of all that
  bench/results has of one GPU.
- <!-- kernels --> ... <!-- /kernels -->: every kernel, from warpkit.variants().
- <!-- drawn --> ... <!-- /drawn -->, <!-- cpu --> ... <!-- /cpu -->: bench/results/cpu.json, its
  drawn cells counted, and a selection of the others.
- <!-- dask --> ... <!-- /dask -->: bench/results/scale_out.json.
- <!-- emu --> ... <!-- /emu -->: bench/results/emu.json.
- <!-- transfer --> ... <!-- /transfer -->: a table for each GPU in bench/results/transfer_*.json.
- <!-- auto --> ... <!-- /auto -->: likewise of auto_*.json.
- <!-- transpose ladder table -->, <!-- transpose sizes -->, <!-- transpose matrix -->,
  <!-- transpose random -->, each up to its <!-- /... -->: the sections of
  bench/results/transpose_*.json, a table for each GPU;
  <!-- transpose gpu -->: a selection of the last.
- <!-- stencil ladder table -->, <!-- stencil last -->, and so on by section, each up to its
  <!-- /... -->: the sections of bench/results/stencil_*.json, a table for each GPU;
  <!-- stencil gpu -->: a selection.
- <!-- histogram ladder table -->, <!-- histogram given -->, and so on, each up to its
  <!-- /... -->: the sections of bench/results/histogram_*.json, a table for each GPU;
  <!-- histogram gpu -->: a selection.
- <!-- banks -->, <!-- carveout -->, each up to its <!-- /... -->: sections of
  bench/results/smem_*.json, a table for each GPU.
- <!-- ladder table -->, <!-- exponents -->, <!-- sizes -->, <!-- data -->, <!-- matrix -->,
  <!-- views -->, <!-- sweep -->, each up to its <!-- /... -->: the sections of
  bench/results/reduce_*.json, a table for each GPU; <!-- reduce gpu -->: a selection of the matrix.

- <!-- wrong calls -->, <!-- hidden calls -->, each up to its <!-- /... -->: calls that are refused,
  and what they say.
- <!-- golden --> ... <!-- /golden -->: what tests/golden has of a profiler on a GPU;
  <!-- different --> ... <!-- /different -->: where a profiler on a GPU counts otherwise, of
  tools/ncu.py; <!-- transpose counts -->, <!-- reduce counts -->, <!-- stencil counts -->,
  <!-- histogram counts -->: ladders as warpkit.lab traces them.

--check changes nothing; it exits 1, with the difference, where a page is not current.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import chart
import cpu_tables
import histogram_tables
import keyed_tables
import ncu
import reduce_tables
import refusals
import smem_tables
import stencil_tables
import transpose_tables
import warpkit
from pages import (
    RESULTS,
    ROOT,
    complain,
    milliseconds,
    result_of,
    table,
)

TRANSFER_RESULTS = "transfer_*.json"  # beside them, one for each GPU

EXAMPLE = re.compile(
    r"^```python\n(?P<code>(?:(?!```).*\n)*)```\n\s*^```text\n(?P<output>(?:(?!```).*\n)*)```$",
    re.MULTILINE,
)


def printed_by(code: str, place: str) -> str:
    """Standard output of an example; its traceback ends the program."""
    environment = {"WARPKIT_DEVICE": "cpu", **os.environ}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode:
        sys.exit(f"readme.py: the example at {place} fails\n{done.stderr}")
    return done.stdout


def with_output(text: str, page: str) -> str:
    found = 0

    def renew(match: re.Match[str]) -> str:
        nonlocal found
        found += 1
        line = text.count("\n", 0, match.start()) + 1
        printed = printed_by(match["code"], f"{page}:{line}")
        if printed and not printed.endswith("\n"):
            printed += "\n"
        start, end = (at - match.start() for at in match.span("output"))
        return match[0][:start] + printed + match[0][end:]

    text = EXAMPLE.sub(renew, text)
    if not found and "```python" in text:
        complain(f"{page} has no ```python block followed by a ```text block")
    return text


def kernel_table() -> str:
    rows = [
        (
            f"`{row.op}`",
            row.device,
            f"`{row.name}`",
            "yes" if row.production else "",
            row.teaches.replace("|", r"\|"),
        )
        for row in warpkit.variants()
    ]
    return table(("operation", "device", "variant", "production", "what it teaches"), rows, "<<<<<")


def emu_table() -> str | None:
    if (result := result_of("emu")) is None:
        return None
    rows = [
        (
            f"`{row['op']}`",
            row["case"],
            f"{row['elements'] / row['ms'] / 1e3:.1f}",
            f"{row['elements'] / row['ms_all_cores'] / 1e3:.1f}",
            f"{row['cpu_ratio']:.0f}",
        )
        for row in result["rows"]
    ]
    m = result["machine"]
    head = ("operation", "of", "1 core", f"{m['cores']} cores", "slower than cpu")
    source = f"{m['cpu']}, {m['cores']} cores; {m['emu']}; {m['date'][:10]}."
    return f"{table(head, rows, '<<>>>')}\n{source}\n"


def transfer_cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit = "ms" if "ms" in row else "us"

    def time(x: float | None) -> str:
        return "" if x is None else f"{milliseconds(x)} {unit}"

    case, target = row["what"], time(row.get("target"))
    if "gb_s" in row:
        case += f": {row['gb_s']:.1f} GB/s"
    if not row.get("same_bits", True):
        case += " (results differ)"
    if "target_ratio" in row:
        target = f"{row['target_ratio']:.3g} x"
    best = row.get("best_peer")
    ratio = f"{row['ratio']:.1f}" if best else ""
    peer = (best, time(row["peers"][best])) if best else ("", "")
    times = time(row[unit]), time(row.get("limit")), target
    return (f"`{row['name']}`", case, *times, *peer, ratio)


def transfer_table(result: dict[str, Any]) -> str:
    m = result["machine"]
    peers = "".join(f"{name} {version}, " for name, version in m["peers"].items())
    head = ("operation", "case", "time", "limit", "target", "best peer", "its time", "ratio")
    source = (
        f"{m['device']}; {m['cpu']}, {m['cores']} cores, {m['threads']} threads; {m['build']}; "
        f"Python {m['python']}, NumPy {m['numpy']}, {peers}warpkit {m['warpkit']}; "
        f"{m['date'][:10]}."
    )
    return f"{table(head, [transfer_cells(r) for r in result['rows']], '<<>>><>>')}\n{source}\n"


def transfer_tables() -> str | None:
    found = sorted(RESULTS.glob(TRANSFER_RESULTS))
    results = [json.loads(path.read_text()) for path in found]
    # the emulated device only shows that the script runs
    gpus = [r for r in results if not r["machine"]["device"].startswith("emulated")]
    return "\n".join(map(transfer_table, gpus)) or None  # not every tree has been measured


def auto_tables() -> str | None:
    """The choice of device="auto", beside both."""
    tables = []
    for path in sorted(RESULTS.glob("auto_*.json")):
        result = json.loads(path.read_text())
        m, lines = result["machine"], []
        for row in result["rows"]:
            unit = "ms" if "ms" in row else "us"
            times = (row[unit], *(row["peers"][name] for name in ("cpu", "cuda")))
            size = row["what"].partition(",")[0]
            shown = (f"{milliseconds(t)} {unit}" for t in times)
            lines.append((f"`{row['name']}`", size, *shown, f"{row['ratio']:.2f}"))
        head = ("operation", "input", "auto", "cpu", "cuda", "the quicker's time over auto's")
        source = f"{m['device']}; {m['cpu']}, {m['cores']} cores; {m['date'][:10]}."
        tables.append(f"{table(head, lines, '<>>>>>')}\n{source}\n")
    return "\n".join(tables) or None


def dask_table() -> str | None:
    if (result := result_of("scale_out")) is None:
        return None
    rows = [
        (
            row["job"],
            *(milliseconds(row[key]) for key in ("ms", "dask_ms")),
            f"{row['ratio']:.1f}",
            *(str(row[key]) for key in ("tasks", "dask_tasks")),
        )
        for row in result["rows"]
    ]
    m = result["machine"]
    head = ("job", "warpkit ms", "dask ms", "ratio", "warpkit tasks", "dask tasks")
    source = (
        f"{result['MiB']} MiB of float32 in chunks of {result['chunk_MiB']}, {result['workers']} "
        f"worker processes; {m['cpu']}, {m['cores']} cores; Dask {m['dask']}, "
        f"NumPy {m['numpy']}; {m['date'][:10]}."
    )
    return f"{table(head, rows, '<>>>>>')}\n{source}\n"


def code_table() -> str | None:
    path = RESULTS / "sizes.json"
    if not path.exists():
        return None
    result = json.loads(path.read_text())
    names = ("files", "kernels", "kilobytes", "largest", "seconds")
    rows = [(r["folder"], *(f"{r[name]:,}" for name in names)) for r in result["rows"]]
    head = ("", "files with code", "kernels", "KB in all", "largest", "CPU seconds")
    arch = result["arch"]
    return (
        f"{table(head, rows, '<>>>>>')}\nFor compute capability {arch[:-1]}.{arch[-1]}; "
        f"nvcc {result['nvcc']}; {result['date'][:10]}.\n"
    )


def with_section(text: str, page: str, name: str, make: Callable[[], str | None]) -> str:
    """The text with what lies between <!-- name --> and <!-- /name --> made anew."""
    section = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    match = section.search(text)
    if match is None:
        complain(f"no <!-- {name} --> ... <!-- /{name} --> in {page}")
        return text
    made = make()
    if made is None:
        return text
    # the empty lines let Markdown see a table, not more of an HTML block
    return f"{text[: match.end(1)]}\n{made}\n{text[match.start(2) :]}"


def counts(op: str, shape: tuple[int, ...], dtype: str = "float32") -> Callable[[], str]:
    return functools.partial(ncu.ladder_table, op, shape, dtype)


TRANSPOSES = counts("transpose", (1024, 1024))
PAGES: dict[str, dict[str, Callable[[], str | None]]] = {
    "README.md": {},
    "docs/variants.md": {"kernels": kernel_table},
    "docs/benchmarks.md": {
        "cells": chart.summary,
        "drawn": cpu_tables.drawn,
        "cpu": cpu_tables.chosen,
        "ladder table": reduce_tables.ladder,
        "reduce gpu": reduce_tables.selection,
        "transpose gpu": transpose_tables.selection,
        "stencil gpu": stencil_tables.selection,
        "histogram gpu": histogram_tables.selection,
    },
    "docs/architecture.md": {"code": code_table},
    "docs/distributed.md": {"dask": dask_table},
    "docs/emulator.md": {"emu": emu_table},
    "docs/arrays.md": {"transfer": transfer_tables, "auto": auto_tables},
    "docs/ladder.md": {
        "ladder table": reduce_tables.ladder,
        "reduce counts": counts("reduce", (1 << 16,), "int32"),
        "exponents": reduce_tables.exponents,
        "sizes": reduce_tables.sizes,
        "data": reduce_tables.data,
        "matrix": reduce_tables.matrix,
        "views": reduce_tables.views,
        "sweep": reduce_tables.sweep,
    },
    "docs/histograms.md": {
        "histogram ladder table": histogram_tables.ladder,
        "histogram counts": counts("histogram", (1 << 16,)),
        "warp_histogram ladder table": histogram_tables.warp_ladder,
        "histogram given": histogram_tables.given,
        "histogram bincount": histogram_tables.bincount,
        "histogram equal": histogram_tables.equal,
        "histogram between": histogram_tables.between,
        "histogram weights": histogram_tables.weights,
        "histogram warps": histogram_tables.warps,
        "histogram runs": histogram_tables.runs,
        "histogram small": histogram_tables.small,
    },
    "docs/coming_from.md": {},
    "docs/errors.md": {"wrong calls": refusals.wrong, "hidden calls": refusals.hidden},
    "docs/getting_started.md": {},
    "docs/kernels.md": {},
    "docs/lab.md": {
        "golden": ncu.golden_table,
        "different": ncu.different_table,
        "transpose counts": TRANSPOSES,
    },
    "docs/keyed.md": {"keyed": keyed_tables.measured},
    "docs/reductions.md": {},
    "docs/runs.md": {},
    "docs/warps.md": {"banks": smem_tables.banks, "carveout": smem_tables.carveout},
    "docs/stencils.md": {
        "stencil ladder table": stencil_tables.ladder,
        "stencil counts": counts("stencil1d", (1 << 16,)),
        "stencil last": stencil_tables.last,
        "stencil first": stencil_tables.first,
        "stencil inner": stencil_tables.inner,
        "stencil rows": stencil_tables.rows,
        "stencil sums": stencil_tables.sums,
        "stencil small": stencil_tables.small,
        "stencil crossover": stencil_tables.crossover,
    },
    "docs/transposes.md": {
        "transpose ladder table": transpose_tables.ladder,
        "transpose counts": TRANSPOSES,
        "transpose sizes": transpose_tables.sizes,
        "transpose matrix": transpose_tables.matrix,
        "transpose random": transpose_tables.random,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is not current")
    check = parser.parse_args().check

    stale = False
    for page, sections in PAGES.items():
        if not (ROOT / page).exists():
            complain(f"no {page}; it is left out")
            continue
        old = (ROOT / page).read_text()
        new = with_output(old, page)
        for name, make in sections.items():
            new = with_section(new, page, name, make)
        stale |= new != old
        if check and new != old:
            lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
            sys.stdout.writelines(difflib.unified_diff(*lines, page, f"{page}, current"))
        elif new != old:
            (ROOT / page).write_text(new)
        print(f"{page} is {'current' if new == old else 'stale' if check else 'renewed'}")
    drawn = chart.is_current()
    if not drawn and not check:
        chart.draw()
    print(f"docs/{chart.PICTURE.name} is {'current' if drawn else 'stale' if check else 'renewed'}")
    sys.exit(check and (stale or not drawn))


if __name__ == "__main__":
    main()
