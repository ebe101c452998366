"""What makes the tables of README.md and docs/: Markdown, numbers, and the results of bench/."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

Row = dict[str, Any]


def complain(text: str) -> None:
    print(f"readme.py: {text}", file=sys.stderr)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: str) -> str:
    """Markdown, padded; right has one character a column, ">" for numbers and "<" for words."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    rules = ["-" * (w - 1) + (":" if s == ">" else "-") for w, s in zip(widths, right, strict=True)]
    return "".join(
        "| "
        + " | ".join(f"{text:{s}{w}}" for text, w, s in zip(line, widths, right, strict=True))
        + " |\n"
        for line in (head, rules, *rows)
    )


def shown(case: str) -> str:
    """A view as code, which Markdown leaves alone."""
    return f"`{case}`" if "[" in case else case


def milliseconds(x: float) -> str:
    """Three digits, and no exponent."""
    return f"{x:.{max(0, 2 - math.floor(math.log10(x)))}f}"


def result_of(name: str) -> dict[str, Any] | None:
    """bench/results/name.json, which bench/name.py writes."""
    path = RESULTS / f"{name}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    complain(f"no {path.relative_to(ROOT)}: run bench/{name}.py; its table stays")
    return None


def gpu_tables(
    script: str, section: str, make: Callable[[list[Row]], str], more: Sequence[str] = ()
) -> str | None:
    """What make says of the rows of a section, and of more, of a script's results on each GPU."""

    def of_result(result: Row) -> str:
        parts = (result.get(part, {}) for part in (section, *more))
        return make([row for part in parts for row in part.get("rows", [])])

    return gpu_results(script, section, of_result, more)


def gpu_results(
    script: str, section: str, make: Callable[[Row], str], more: Sequence[str] = ()
) -> str | None:
    """What make says of a script's results on each GPU that has the section, if one has; with the
    days when it, and more, were measured. Rows that name a commit are of an earlier one."""
    found = sorted(RESULTS.glob(f"{script}_*.json"))
    results = {path.name: json.loads(path.read_text()) for path in found}
    have = {name for name, result in results.items() if result.get(section, {}).get("rows")}
    tables = []
    for name, result in results.items():
        if have and name not in have:
            continue
        if not have:
            complain(f"{name} has no {section}: run bench/{script}.py {section}; it has no table")
            tables.append(f"{result['machine']['device']}: not measured.\n")
            continue
        m = result["machine"]
        parts = [result[part] for part in (section, *more) if part in result]
        days = ", ".join(sorted({part["date"][:10] for part in parts}))
        peers = "".join(f"{peer} {version}, " for peer, version in m["peers"].items())
        copy = result[section].get("copy_gb_s")
        rate = f" a copy there runs at {copy:.0f} GB/s;" if copy else ""
        rows = [row for part in parts for row in part["rows"]]
        earlier = Counter(row["commit"][:7] for row in rows if "commit" in row)
        source = f"{m['device']};{rate} {m['build']}; {peers}warpkit {m['warpkit']}; {days}"
        source += "".join(f"; {n} of {len(rows)} as of {c}" for c, n in earlier.items()) + "."
        tables.append(f"{make(result)}\n{source}\n")
    if not found:
        where = f"{RESULTS.relative_to(ROOT)}/{script}_*.json"
        complain(f"no {where}: run bench/{script}.py on a GPU; the {section} table stays")
    return "\n".join(tables) or None


def matrix_cell(row: Row | None, share: str = "share") -> str:
    """Share of a copy's rate, or of another bound, and the best peer's time over ours."""
    if row is None:
        return ""
    if row["gb_s"] is None:
        return "fails"
    wrong = " !" if row.get("wrong") else ""
    return f"{row[share]:.2f}" + (f" ({row['ratio']:.1f})" if "ratio" in row else "") + wrong


def summary(rows: list[Row], share: str = "share", of: str = "a copy's rate") -> str:
    """Of a matrix, in one line."""
    good = [row for row in rows if row["gb_s"]]
    fast = sum(row[share] >= 0.9 for row in good)
    rivals = [row["ratio"] for row in good if "ratio" in row]
    ahead = sum(ratio >= 1 for ratio in rivals)
    wrong = sum(row.get("wrong", False) for row in rows)
    return (
        f"{len(rows)} cells: {fast} at 0.9 of {of} or more; of the {len(rivals)} "
        f"that a peer has too, {ahead} at least as fast as the best peer."
        + (f" In {wrong}, marked !, the result is another than the peer's." if wrong else "")
        + "\n"
    )
