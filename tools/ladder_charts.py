"""The ladders of bench/results as pictures: a bar for each rung, beside a copy's rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import warpkit
from chart import GPU
from pages import RESULTS


class Ladder(NamedTuple):
    op: str
    what: str  # in words
    rows: dict[str, Any]  # of the ladder's section, those alone that have these values
    series: tuple[str, ...] = ()  # of several cases


LADDERS = {
    "reduce": Ladder("reduce", "sum of 256 MiB of float32", {"dtype": "float32"}),
    "transpose": Ladder("transpose", "transpose of 16384 x 16384 float32", {}),
    "stencil": Ladder("stencil1d", "9 taps along the last axis, float32", {"case": "last axis"}),
    "histogram": Ladder(
        "histogram",
        "256 bins of int32",
        {"op": "histogram"},
        ("256 bins, uniform", "256 bins, equal"),
    ),
}


def draw(script: str, target: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ladder = LADDERS[script]
    result = json.loads((RESULTS / f"{script}_{GPU}.json").read_text())
    section = result["ladder"]
    rows = [r for r in section["rows"] if all(r.get(k) == v for k, v in ladder.rows.items())]
    rows = [r for r in rows if r["gb_s"]]
    rungs = {v.name: v for v in warpkit.variants(ladder.op) if v.device == "cuda"}
    series = ladder.series or (None,)
    names = [n for n in rungs if any(r["name"] == n for r in rows)]
    names += list(dict.fromkeys(r["name"] for r in rows if r["peer"]))
    figure, ax = plt.subplots(figsize=(8, 0.6 + 0.3 * len(names) * len(series) ** 0.5))
    height = 0.8 / len(series)
    for k, case in enumerate(series):
        rates = {r["name"]: r["gb_s"] for r in rows if case is None or r["case"] == case}
        for i, name in enumerate(names):
            production = name in rungs and rungs[name].production
            color = "tab:blue" if production else "tab:gray" if name in rungs else "tab:orange"
            at = i + (k - (len(series) - 1) / 2) * height
            rate = rates.get(name, 0)
            ax.barh(at, rate, height * 0.95, color=color, alpha=1 if k == 0 else 0.5)
            inside = rate > 300
            ax.text(
                rate - 25 if inside else rate + 25,
                at,
                f"{rate:.0f}" if rate else "",
                color="white" if inside and k == 0 else "black",
                ha="right" if inside else "left",
                va="center",
                fontsize=8,
            )
    copy = section["copy_gb_s"]
    ax.axvline(copy, color="black", linewidth=1, linestyle="--")
    ax.text(copy, -0.7, "a copy", ha="center", va="bottom", fontsize=9)
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set_xlim(0, 1.04 * copy)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.spines[["top", "right"]].set_visible(False)
    cases = f"\nfull: {series[0]}; pale: {series[1]}" if len(series) > 1 else ""
    ax.set_xlabel(f"GB/s: {ladder.what}, {result['machine']['device']}{cases}")
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def draw_all(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for script in LADDERS:
        draw(script, folder / f"ladder_{script}.svg")
