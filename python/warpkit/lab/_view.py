"""The view of a trace: source beside its counters, and a warp's lanes against banks and sectors.
One piece of HTML that needs nothing else."""

from __future__ import annotations

import functools
import html
import itertools
import json
import uuid
from pathlib import Path
from typing import Any

from warpkit.lab import _rules
from warpkit.lab._trace import Line, Trace, total

MOST_WARPS, MOST_ACCESSES = 12, 120  # that one can step through; of one warp
_COLUMNS = ("requests", "lanes", "sectors", "wavefronts", "excess")
_OPS = {"load": "ld", "store": "st", "atomic": "atom"}


@functools.cache
def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def page(trace: Trace) -> str:
    title = html.escape(", ".join(dict.fromkeys(one.kernel for one in trace.launches)))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"</head><body>{fragment(trace)}</body></html>\n"
    )


def fragment(trace: Trace) -> str:
    name = f"wk-{uuid.uuid4().hex[:12]}"  # several may stand on a page
    data = json.dumps(_data(trace), separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div id="{name}" class="warpkit-trace"><style>{_part("view.css")}</style>{_head(trace)}'
        f"{''.join(_source(trace, file) for file in _files(trace))}"
        f'<div class="wk-warp" hidden></div><script>{_part("view.js")}'
        f'("{name}", {data});</script></div>'
    )


def _head(trace: Trace) -> str:
    t, rows = trace.totals, []
    for one in trace.launches:
        blocks = one.grid[0] * one.grid[1] * one.grid[2]
        note = f"every {one.stride}th block traced" if one.stride > 1 else ""
        if one.totals["cut"]:
            note = "traced up to the limit of events"
        rows.append(
            f"<b>{html.escape(one.kernel)}</b> &lt;&lt;&lt;{_dim(one.grid)}, {_dim(one.block)}"
            "&gt;&gt;&gt; "
            f"<span class=wk-dim>{blocks:,} blocks{'; ' + note if note else ''}</span>"
        )
    if len(rows) > 6:
        rows[5:] = [f"<span class=wk-dim>and {len(rows) - 5} launches more</span>"]
    error = f"<p class=wk-error>{html.escape(str(trace.error))}</p>" if trace.error else ""
    asked = f"{t.bytes_useful:,}"
    numbers = (
        f"{t.requests:,} requests; global memory: {t.sectors:,} sectors, {t.ideal_sectors:,} would "
        f"do; shared: {t.wavefronts:,} wavefronts, {t.ideal_wavefronts:,} would do; {asked} bytes "
        "asked for"
    )
    worst = "".join(
        f'<li><a data-line="{html.escape(one.file)}:{one.line}">line {one.line}</a> '
        f"{html.escape(one.rule)}</li>"
        for one in trace.worst()
    )
    return f"<p>{'<br>'.join(rows)}<br>{numbers}</p>{error}<ul class=wk-rules>{worst}</ul>"


def _dim(numbers: tuple[int, int, int]) -> str:
    x, y, z = numbers
    return str(x) if y == z == 1 else f"({x}, {y})" if z == 1 else f"({x}, {y}, {z})"


def _files(trace: Trace) -> list[str]:
    return list(dict.fromkeys(one.file for one in trace.lines if one.file and one.op in _OPS))


def _shown(trace: Trace, file: str) -> list[tuple[int, str]]:
    """The lines of a file around those that do something; all of a short one. Else 0 for a gap."""
    text = trace._text(file)
    busy = {one.line for one in trace.lines if one.file == file and one.line <= len(text)}
    if not text or not busy:
        return [(n, "") for n in sorted(busy)]
    if len(text) <= 40:
        return list(enumerate(text, 1))
    near = {n for b in busy for n in range(b - 3, b + 4) if 1 <= n <= len(text)}
    rows: list[tuple[int, str]] = []
    for n in sorted(near):
        if rows and rows[-1][0] and n > rows[-1][0] + 1:
            rows.append((0, ""))
        rows.append((n, text[n - 1]))
    return rows


def _source(trace: Trace, file: str) -> str:
    by_line: dict[int, list[Line]] = {}
    for one in trace.lines:
        if one.file == file:
            by_line.setdefault(one.line, []).append(one)
    most = max((_heat(lines) for lines in by_line.values()), default=0)
    shown = _shown(trace, file)
    while shown and not shown[0][1].strip() and shown[0][0] not in by_line:
        shown.pop(0)
    body = "".join(_row(n, text, by_line.get(n, []), most, file) for n, text in shown)
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    return (
        f"<table><caption>{html.escape(file)}</caption><thead><tr><th></th>"
        f"<th class=wk-code>source</th><th class=wk-what>what</th>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _heat(lines: list[Line]) -> int:
    return sum(_rules.cost(one) for one in lines if one.rule)


def _row(number: int, text: str, lines: list[Line], most: int, file: str) -> str:
    if number == 0:
        return "<tr class=wk-gap><td></td><td>&#8942;</td></tr>"
    code = f"<td class=wk-no>{number}</td><td class=wk-code>{html.escape(text) or ' '}</td>"
    accesses = [one for one in lines if one.op in _OPS]
    others = {one.op for one in lines} - {*_OPS, "block"}
    heat = _heat(lines) / most if most else 0
    ruled = sorted((one for one in lines if one.rule), key=_rules.cost)
    of_a_kind = {one.rule.partition(":")[0].partition(",")[0]: one.rule for one in ruled}
    rules = "".join(
        f"<tr class=wk-rule><td></td><td colspan=7>{html.escape(rule)}</td></tr>"
        for rule in reversed(of_a_kind.values())
    )
    if not accesses:
        times = sum(one.requests for one in lines if one.op in others)
        cells = (
            f"<td class=wk-what>{', '.join(sorted(others))}</td><td>{times:,}</td>"
            if others
            else ""
        )
        return f"<tr>{code}{cells}</tr>{rules}"
    c = total([one.counts for one in accesses])
    what = ", ".join(
        dict.fromkeys(
            f"{one.space} {_OPS[one.op]}.{one.size * 8}{' ' + one.array if one.array else ''}"
            for one in accesses
        )
    )
    spaces = {one.space for one in accesses}
    numbers = [
        f"{c.requests:,}",
        f"{c.active_lanes:.3g}",
        f"{c.sectors:,}" if "global" in spaces else "",
        f"{c.wavefronts:,}" if spaces & {"shared", "constant"} else "",
        f"{c.excess:,}" if c.excess else "",
    ]
    style = f' style="--heat:{heat:.2f}"' if heat else ""
    cells = "".join(f"<td>{cell}</td>" for cell in numbers)
    key = html.escape(f"{file}:{number}")
    return (
        f'<tr class=wk-hot tabindex=0 data-line="{key}"{style}>{code}'
        f"<td class=wk-what>{html.escape(what)}</td>{cells}</tr>{rules}"
    )


def _data(trace: Trace) -> dict[str, Any]:
    """Warps that one can step through: the first ones, and such as come to other lines."""
    kinds: list[list[Any]] = []
    index: dict[tuple[Any, ...], int] = {}
    seen: set[str] = set()
    warps: list[dict[str, Any]] = []
    for launch, block, w in itertools.islice(trace._recorded(), 400):
        accesses = trace.warp(block, w, launch)
        lines = {f"{one.file}:{one.line}" for one in accesses[:MOST_ACCESSES]}
        if len(warps) >= MOST_WARPS or (len(warps) >= 8 and lines <= seen):
            continue
        seen |= lines
        listed = []
        for one in accesses[:MOST_ACCESSES]:
            kind = (f"{one.file}:{one.line}", one.op, one.space, one.size, one.array)
            if kind not in index:
                index[kind] = len(kinds)
                kinds.append(list(kind))
            there = [a for a in one.addresses if a is not None]
            base = min(there) // 128 * 128
            listed.append(
                [
                    index[kind],
                    base,
                    [-1 if a is None else a - base for a in one.addresses],
                    one.sectors,
                    one.wavefronts,
                ]
            )
        kernel = trace.launches[launch].kernel
        warps.append({"name": f"{kernel}, block {block}, warp {w}", "accesses": listed})
    return {"kinds": kinds, "warps": warps}
