"""The table of bench/keyed.py's results."""

from __future__ import annotations

from pages import Row, gpu_results, table

SECTIONS = {
    "dot": "dot",
    "groups": "group_reduce",
    "segments": "segment_reduce",
    "cumsum": "cumsum",
}


def measured() -> str | None:
    """Each cell beside its best peer."""

    def make(result: Row) -> str:
        lines = []
        for section, function in SECTIONS.items():
            for row in result.get(section, {}).get("rows", []):
                facts = [row["name"]] if section not in ("dot", "cumsum") else []
                facts += [row[key] for key in ("case", "data") if row.get(key)]
                best = row.get("best_peer")
                peer = (
                    (best, f"{row['peers'][best]:.0f}", f"{row['ratio']:.2f}") if best else [""] * 3
                )
                rate = f"{row['gb_s']:.0f}", f"{row['share']:.2f}"
                lines.append((f"`{function}`", ", ".join(facts), row["dtype"], *rate, *peer))
        head = ("operation", "case", "dtype", "GB/s", "of a copy", "best peer", "its GB/s", "ratio")
        return table(head, lines, "<<<>><>>")

    return gpu_results("keyed", "dot", make)
