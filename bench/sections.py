"""What the benchmarks of operations on one GPU share: rows, sections, command line, the file."""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import common
import warpkit
from common import Run
from gpu import COPY, Gpu

Row = dict[str, Any]
FULL = 1024  # MiB
Numbers = Mapping[str, tuple[int, str]]  # options of a script's own: default, help


def rated(times: dict[str, float], nbytes: int) -> Row:
    """What every row says: rates of ours, of the copy and of the peers, in GB/s."""
    rate = {name: 1e-9 * nbytes / seconds for name, seconds in times.items()}
    copy, mine = rate.pop(COPY), rate.pop("warpkit", None)
    row: Row = {"copy_gb_s": copy, "gb_s": mine, "peers": rate}
    if mine is not None:
        row |= {"us": 1e6 * times["warpkit"], "share": mine / copy}
        if rate:
            best = max(rate, key=rate.__getitem__)
            row |= {"best_peer": best, "ratio": mine / rate[best]}
    return row


def rungs(row: Row, peers: list[str]) -> Iterator[Row]:
    """A row of each variant and peer of a measurement that has no "warpkit"."""
    copy = row["copy_gb_s"]
    for name, rate in row["peers"].items():
        yield {"name": name, "gb_s": rate, "share": rate / copy, "peer": name in peers}


def digits(x: float | None) -> str:
    """Three of them."""
    if x is None:
        return "-"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}"


def line(row: Row, keys: tuple[str, ...]) -> str:
    """One row, as it is measured; keys are of the words that it begins with."""
    text = f"{', '.join(row[key] for key in keys if key in row):60} {digits(row['gb_s']):>5} GB/s"
    if "share" in row:
        text += f" {row['share']:5.0%} of a copy"
    if "ratio" in row:
        text += f"  {row['ratio']:7.2f} x"
    if row.get("wrong"):
        text += "  ! another result than the peer's"
    peers = row.get("peers", {}).items()
    return text + "".join(f"  {name} {digits(rate)}" for name, rate in peers)


def times_line(what: str, row: Row) -> str:
    """One row of times: row["device_us"] and others that end so, each by name."""
    columns = {key: row[key] for key in row if key.endswith("_us")}
    parts = [f"{what}, us: {', '.join(key.removesuffix('_us') for key in columns)}"]
    for name in dict.fromkeys(name for times in columns.values() for name in times):
        values = (times.get(name) for times in columns.values())
        parts.append(f"{name} " + " ".join(map(digits, values)))
    return "; ".join(parts)


class Sections:
    """Of a script: its GPU, the time.perf_counter() after which no cell is begun, what was told.

    about    what the section in progress says of itself, beside its rows
    """

    def __init__(self, gpu: Gpu, end: float) -> None:
        self.gpu, self.end = gpu, end
        self.told: set[str] = set()
        self.about: Row = {}

    def available(self, made: dict[str, Callable[[], Run]]) -> dict[str, Run]:
        """The peers' calls, of those that have one."""
        runs: dict[str, Run] = {}
        for name, make in made.items():
            try:
                runs[name] = make()
            except Exception as error:  # a peer without the operation or the dtype
                self.tell(f"{name}: {type(error).__name__}: {error}")
        return runs

    def tell(self, text: str) -> None:
        """Once."""
        if text not in self.told:
            self.told.add(text)
            print(f"  {text}"[:200], flush=True)

    def late(self, left: int) -> bool:
        if time.perf_counter() <= self.end:
            return False
        print(f"out of time: {left} cells are not measured", file=sys.stderr)
        return True


B = TypeVar("B", bound=Sections)


def section(
    name: str,
    rows: Iterator[Row],
    show: Callable[[Row], str],
    save: Callable[[Row], None],
    about: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Measures it, and saves after each row what there is."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    found: Row = {"date": date, "commit": common.commit(), "rows": []}
    began = time.perf_counter()
    try:
        for row in rows:
            found["rows"].append(row)
            print(show(row), flush=True)
            copies = [r["copy_gb_s"] for r in found["rows"] if "copy_gb_s" in r]
            if copies:
                found["copy_gb_s"] = statistics.median(copies)
            save({**about, **found})
    except Exception as error:  # one section that fails must not cost the others
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    took = time.perf_counter() - began
    print(f"{name}: {len(found['rows'])} rows in {took:.0f} s", flush=True)


def options_of(
    script: str,
    doc: str | None,
    names: list[str],
    least: int,
    minutes: float,
    mib: int,
    numbers: Numbers,
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(names)}")
    parser.add_argument("--mib", type=int, default=mib, help=f"MiB of input; default: {mib}")
    parser.add_argument(
        "--minutes",
        type=float,
        default=minutes,
        help=f"after which no cell is begun; default: {minutes}",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help=f"default: bench/results/{script}_<device>.json, for the full size",
    )
    for name, (default, words) in numbers.items():
        words = f"{words}; default: {default}"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=words)
    options = parser.parse_args()
    unknown = set(options.sections) - set(names)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    if options.mib < least:
        parser.error(f"--mib: at least {least}")
    if "cuda:0" not in warpkit.devices():
        parser.error("no GPU: warpkit.show_config() says why")
    return options


def main(
    script: str,
    doc: str | None,
    make: Callable[..., B],
    sections: dict[str, Callable[[B], Iterator[Row]]],
    show: Callable[[Row], str],
    *,
    least: int,
    minutes: float,
    mib: int = FULL,
    numbers: Numbers = MappingProxyType({}),
) -> None:
    """The command line of a script of sections.

    make     the script's Bench, of a GPU, bytes of input, and the time.perf_counter() after which
             no cell is begun; and by keyword what numbers names
    least    MiB
    mib      by default, and in the file that is written by default
    """
    options = options_of(script, doc, list(sections), least, minutes, mib, numbers)
    end = time.perf_counter() + 60 * options.minutes
    info = warpkit.memory_info("cuda")
    gpu = Gpu(options.mib * 2**20)
    own = {name: getattr(options, name) for name in numbers}
    bench = make(gpu, options.mib * 2**20, end, **own)
    machine = common.machine() | {
        "device": info["name"],
        "compute_capability": info["compute_capability"],
        "build": warpkit._core.config().get("cuda", {}).get("build"),
        "mib": options.mib,
        "peers": gpu.versions,
    }
    print(", ".join(f"{k} {v}" for k, v in machine.items() if v is not None), flush=True)

    path = options.output
    if path is None and options.mib == mib:
        path = common.RESULTS / common.file_name(script, machine["device"])
    result: dict[str, Any] = {}
    if path is not None and path.exists():
        result = json.loads(path.read_text())
    result["machine"] = machine

    def save(name: str, found: Row) -> None:
        result[name] = found
        if path is not None:
            common.write(path, result)

    for name, rows in sections.items():
        if name in options.sections or not options.sections:
            bench.about.clear()
            section(name, rows(bench), show, partial(save, name), bench.about)
    if path is not None:
        print(f"written: {path}")
