"""All cells measured beside peers on a GPU: how many lead, which trails most, and the picture.

python tools/chart.py    draws docs/speed.png
"""

from __future__ import annotations

import hashlib
import json
import statistics
from typing import Any, NamedTuple

from pages import RESULTS, ROOT, complain, shown, table

PICTURE = ROOT / "docs" / "speed.png"
GPU = "h200"
SECTIONS = {  # of bench/results: by script
    "reductions": ("reduce", ("matrix",)),
    "reduced views": ("reduce", ("views",)),
    "transposes": ("transpose", ("matrix", "random")),
    "stencils": ("stencil", ("last", "first", "inner", "rows", "sums")),
    "histograms": ("histogram", ("values", "equal", "between", "weights", "runs")),
}
LEADS = 0.98


class Cell(NamedTuple):
    what: str
    gb_s: float
    copy: float
    peer: str  # the best
    theirs: float

    @property
    def ratio(self) -> float:
        return self.gb_s / self.theirs


def cell(operation: str, row: dict[str, Any]) -> Cell | None:
    """As users call it: of what has a public call of its own beside a kernel's, that."""
    one = {**row, **row.get("bincount", {})}
    best = one.get("best_peer")
    if not one["gb_s"] or not best:
        return None
    facts = [row.get("op", ""), row.get("dtype", ""), shown(row.get("case", row.get("layout", "")))]
    if operation == "stencils":
        facts.append(f"radius {row['radius']}")
    facts.append(str(row.get("data", "")))
    what = ", ".join(fact for fact in facts if fact)
    return Cell(what, one["gb_s"], row["copy_gb_s"], best, one["peers"][best])


def cells() -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for operation, (script, sections) in SECTIONS.items():
        path = RESULTS / f"{script}_{GPU}.json"
        if not path.exists():
            complain(f"no {path.name}: its cells are left out")
            continue
        result = json.loads(path.read_text())
        rows = [row for name in sections for row in result.get(name, {}).get("rows", [])]
        found[operation] = [c for row in rows if (c := cell(operation, row))]
    return found


def summary() -> str | None:
    lines = []
    for operation, own in cells().items():
        worst = min(own, key=lambda c: c.ratio)
        lead = sum(c.ratio >= LEADS for c in own)
        lines.append(
            (
                operation,
                str(len(own)),
                f"{lead} ({100 * lead // len(own)}%)",
                f"{statistics.median(c.ratio for c in own):.1f}",
                f"{statistics.median(c.gb_s / c.copy for c in own):.2f}",
                f"{worst.ratio:.2f}: {worst.what}; {worst.peer}",
            )
        )
    head = (
        "",
        "cells",
        f"at least {LEADS} of the best peer",
        "median of its",
        "of a copy",
        "the worst",
    )
    return table(head, lines, "<>>>><") if lines else None


def digest() -> str:
    """Of what the picture shows."""
    return hashlib.sha256(json.dumps(cells()).encode()).hexdigest()


def is_current() -> bool:
    return PICTURE.exists() and digest().encode() in PICTURE.read_bytes()


def draw() -> None:
    import matplotlib.pyplot as plt

    every = cells()
    figure, axes = plt.subplots(1, len(every), figsize=(11, 2.9), sharex=True, sharey=True)
    for ax, (operation, own) in zip(axes, every.items(), strict=True):
        ax.plot([0, 110], [0, 110], color="0.6", linewidth=1)
        ax.axhline(100, color="0.6", linewidth=1, linestyle=":")
        for leads, color in ((True, "tab:blue"), (False, "tab:red")):
            some = [c for c in own if (c.ratio >= LEADS) is leads]
            x = [100 * c.theirs / c.copy for c in some]
            y = [100 * c.gb_s / c.copy for c in some]
            ax.scatter(x, y, s=9, color=color, alpha=0.6, linewidth=0)
        ticks = ([0, 50, 100], ["0", "50 %", "100 %"])
        ax.set(xlim=(0, 112), ylim=(0, 112), aspect="equal", title=f"{len(own)} {operation}")
        ax.set_xticks(*ticks)
        ax.set_yticks(*ticks)
    axes[0].set_ylabel("warpkit's rate, of a copy's")
    figure.supxlabel("the best peer's rate, of a copy's", fontsize=10)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=100, metadata={"Comment": digest(), "Software": None})


if __name__ == "__main__":
    draw()
