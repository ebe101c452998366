"""The tables of bench/smem.py's results."""

from __future__ import annotations

from pages import Row, gpu_tables, table


def banks() -> str | None:
    """Clocks of each pattern, beside the turns that are predicted."""

    def make(rows: list[Row]) -> str:
        kinds = [(memory, size) for memory in ("shared", "constant") for size in (4, 8, 16)]
        found = {(r["memory"], r["itemsize"], r["words"]): r for r in rows}
        lines = []
        for words in dict.fromkeys(r["words"] for r in rows):
            cells = (found.get((*kind, words)) for kind in kinds)
            lines.append((words, *(f"{r['turns']}: {r['clocks']:.2f}" if r else "" for r in cells)))
        head = ["turns: clocks", *(f"{memory}, {size} bytes" for memory, size in kinds)]
        return table(head, lines, "<>>>>>>")

    return gpu_tables("smem", "reads", make)


def carveout() -> str | None:
    def make(rows: list[Row]) -> str:
        shares = list(dict.fromkeys(r["carveout"] for r in rows))
        rate = {(r["op"], r["name"], r["carveout"]): f"{r['gb_s']:.0f}" for r in rows}
        kernels = dict.fromkeys((r["op"], r["name"]) for r in rows)
        lines = [(f"{op} `{v}`", *(rate.get((op, v, s), "") for s in shares)) for op, v in kernels]
        head = ["GB/s", *("the driver's" if s is None else f"{s} %" for s in shares)]
        return table(head, lines, "<" + ">" * len(shares))

    return gpu_tables("smem", "carveout", make)
