"""The tables of bench/histogram.py's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import warpkit
from pages import Row, complain, gpu_tables, milliseconds, table

# (section, case, dtype) that docs/benchmarks.md shows, and words for it
SHOWN = (
    ("values", "256 bins", "uint8", "256 values"),
    ("values", "256 bins", "int32", "256 values"),
    ("values", "65536 bins", "int32", "65536 values"),
    ("values", "1048576 bins", "int32", "1048576 values"),
    ("equal", "100 bins", "float32", "100 equal bins"),
    ("equal", "100 bins", "float64", "100 equal bins"),
    ("between", "1000 edges", "float64", "1000 edges"),
    ("weights", "256 bins", "float32", "`bincount` with weights, 256 values"),
)
AT = (1, 2**10, 2**16, 2**20, 2**24)  # elements, of the small inputs
CALLS = {"device_us": "device", "issue_us": "call"}


def rate(row: Row | None) -> str:
    if row is None or row["gb_s"] is None:
        return "" if row is None else "fails"
    return f"{row['gb_s']:.0f}" + (" !" if row.get("wrong") else "")


def least(numbers: Iterable[float | None], form: str) -> str:
    found = [x for x in numbers if x is not None]
    return format(min(found), form) if found else ""


def best(row: Row | None) -> str:
    """The best peer, and its rate."""
    name = row.get("best_peer") if row else None
    return f"{name} {row['peers'][name]:.0f}" if row and name else ""


def cases(rows: list[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """By case and dtype, the row of each kind of data."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["case"], row["dtype"]), {})[row["data"]] = row
    return found


def by_data(rows: list[Row], what: str, peer: str | None = None) -> str:
    """A line for each case, a column for each kind of data.

    peer     of our calls, the one that peers are beside; None: the one whose rates are shown
    """
    every = dict.fromkeys(row["data"] for row in rows)
    targets = any(row.get("target") for row in rows)
    lines = []
    for (case, dtype), found in cases(rows).items():
        beside = {data: row[peer] if peer else row for data, row in found.items()}
        aims = dict.fromkeys(f"{x:.0f}" for row in found.values() if (x := row.get("target")))
        lines.append(
            (
                case,
                dtype,
                *(rate(found.get(data)) for data in every),
                *((" / ".join(aims),) if targets else ()),
                least((row.get("of_read") for row in found.values()), ".2f"),
                best(beside.get("uniform")),
                least((row.get("ratio") for row in beside.values()), ".1f"),
            )
        )
    head = (f"{what}, GB/s", "dtype", *every, *(("target",) if targets else ()))
    head = (*head, "least of reading", "best peer, uniform", "least ratio")
    return table(head, lines, "<<" + ">" * (len(every) + targets) + "><>")


def whole(row: Row, name: str) -> Row:
    """One of the calls that a row has by name, as a row of its own."""
    found: Row = row[name] | {"data": row["data"], "wrong": row.get("wrong")}
    if found["gb_s"] is not None:
        found["of_read"] = found["gb_s"] / row["read_gb_s"]
    return found


def bincounts(rows: list[Row]) -> str:
    lines = []
    for (case, dtype), found in cases(rows).items():
        own = {data: row["bincount"] for data, row in found.items()}
        uniform = own.get("uniform")
        lines.append(
            (
                case.replace("bins", "values"),
                dtype,
                rate(uniform),
                least((row["gb_s"] for row in own.values()), ".0f"),
                *(
                    least((row["peers"].get(peer) for row in some), ".0f")
                    for peer in ("CuPy", "PyTorch")
                    for some in ([uniform] if uniform else [], own.values())
                ),
                least((row.get("ratio") for row in own.values()), ".1f"),
                rate(found["uniform"]["histogram"]) if "uniform" in found else "",
                least((row["histogram"]["gb_s"] for row in found.values()), ".0f"),
            )
        )
    names = ("warpkit", "CuPy", "PyTorch")
    rates = (f"{name}, {what}" for name in names for what in ("uniform", "least"))
    head = ("bincount, GB/s", "dtype", *rates, "least ratio")
    head = (*head, "histogram, range=(0, bins), uniform", "least")
    return table(head, lines, "<<" + ">" * (len(head) - 2))


def ladder_of(op: str, floor: str, words: str) -> Callable[[], str | None]:
    def make(rows: list[Row]) -> str:
        rungs = {v.name: v for v in warpkit.variants(op) if v.device == "cuda"}
        own = [row for row in rows if row["op"] == op]
        measured = {(row["name"], row["case"]): row for row in own}
        columns = dict.fromkeys(row["case"] for row in own)
        lines = []
        for name, rung in rungs.items():
            cells = []
            for case in columns:
                row = measured.get((name, case))
                cells += [rate(row), f"{row[floor]:.2f}" if row else ""]
            mark = " (production)" if rung.production else ""
            lines.append((f"`{name}`{mark}", *cells, rung.teaches.replace("|", r"\|")))
        head = ["int32"]
        for case in columns:
            head += [f"{case}, GB/s", words]
        return table([*head, "what the rung teaches"], lines, "<" + ">>" * len(columns) + "<")

    return partial(gpu_tables, "histogram", "ladder", make)


def groups(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        share = f"{row['share']:.2f}" if "share" in row else ""
        target = f"{row['target_share']:.2f}" if row.get("target_share") else ""
        lines.append((row["case"], row["dtype"], rate(row), share, target))
    head = ("groups of 32", "dtype", "GB/s", "of a copy", "target")
    return table(head, lines, "<<>>>")


def encoded(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        ratio = f"{row['ratio']:.1f}" if "ratio" in row else ""
        lines.append((f"`{row['op']}`", row["case"], row["dtype"], rate(row), best(row), ratio))
    return table(("operation", "case", "dtype", "GB/s", "best peer", "ratio"), lines, "<<<><>")


def times(row: Row | None, key: str) -> str:
    """Ours, and the best peer's."""
    if row is None or "warpkit" not in row[key]:
        return ""
    peers = [x for name, x in row[key].items() if name != "warpkit"]
    ours = milliseconds(row[key]["warpkit"])
    return f"{ours} / {milliseconds(min(peers))}" if peers else ours


def ratios(rows: list[Row], key: str) -> Iterable[float]:
    for row in rows:
        ours = row[key].get("warpkit")
        peers = [x for name, x in row[key].items() if name != "warpkit"]
        if ours and peers:
            yield min(peers) / ours


def short(rows: list[Row]) -> str:
    tables = []
    for key, words in CALLS.items():
        lines = []
        for case in dict.fromkeys(row["case"] for row in rows):
            own = [row for row in rows if row["case"] == case]
            sizes = {row["n"]: row for row in own}
            cells = (times(sizes.get(n), key) for n in AT)
            lines.append((case, *cells, least(ratios(own, key), ".2f")))
        head = (f"{words}, us: warpkit / best peer", *map(str, AT), "least ratio, all sizes")
        tables.append(table(head, lines, "<" + ">" * (len(AT) + 1)))
    return "\n".join(tables)


given = partial(gpu_tables, "histogram", "values", partial(by_data, what="bins given"))
bincount = partial(gpu_tables, "histogram", "values", bincounts)
equal = partial(gpu_tables, "histogram", "equal", partial(by_data, what="equal bins"))
between = partial(gpu_tables, "histogram", "between", partial(by_data, what="edges given"))
weights = partial(
    gpu_tables, "histogram", "weights", partial(by_data, what="exact sums", peer="bincount")
)
warps = partial(gpu_tables, "histogram", "warps", groups)
runs = partial(gpu_tables, "histogram", "runs", encoded)
small = partial(gpu_tables, "histogram", "small", short)
ladder = ladder_of("histogram", "of_read", "of reading")
warp_ladder = ladder_of("warp_histogram", "share", "of a copy")


def selection() -> str | None:
    """Of docs/benchmarks.md: some cases, on the data that suits them worst too."""

    def make(rows: list[Row]) -> str:
        lines = []
        for part, case, dtype, words in SHOWN:
            named = {"section": part, "case": case, "dtype": dtype}
            own = [row for row in rows if {key: row[key] for key in named} == named]
            if not own:
                complain(f"no {part} of {case}, {dtype}; its row is left out")
                continue
            if part == "weights":  # as their peers are, with the search for the largest element
                own = [whole(row, "bincount") for row in own]
            uniform = next((row for row in own if row["data"] == "uniform"), None)
            lines.append(
                (
                    words,
                    dtype,
                    rate(uniform),
                    least((row["gb_s"] for row in own), ".0f"),
                    least((row.get("of_read") for row in own), ".2f"),
                    best(uniform),
                    least((row.get("ratio") for row in own), ".1f"),
                )
            )
        head = ("counted", "dtype", "GB/s, uniform", "least", "least of reading")
        return table((*head, "best peer, uniform", "least ratio"), lines, "<<>>><>")

    return gpu_tables("histogram", "values", make, ("equal", "between", "weights"))
