"""Other projects' own tests, run on warpkit's functions by the adapters in tools/peers.

What fails must be in docs/peer_tests.md with a reason: a run renews that page, keeps its reasons,
and fails where one is missing, or where more of a test's parameters fail than before.

    python tools/peer_tests.py                        all that can be run here
    python tools/peer_tests.py --suite numpy          one of them
    python tools/peer_tests.py --only PATTERN         of their tests these, with tracebacks
    python tools/peer_tests.py --device cuda          on another device; both leave the page alone
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peer_tests.md"

# Of each suite its heading on the page, and the devices that it runs on.
SUITES = {
    "numpy": ("NumPy's own tests", ("cpu",)),
    "scipy": ("SciPy's own tests", ("cpu", "emu")),
    "cupy": ("CuPy's own tests", ("cpu", "emu")),
    "bottleneck": ("Bottleneck's own tests", ("cpu", "emu")),
    "dask": ("Dask's own tests", ("cpu",)),
    "array_api": ("The array API's tests", ("cpu", "emu")),
}
ROW = re.compile(
    r"^\| `(?P<test>[^`]*)` \| (?P<failed>\d+) of \d+ \| (?P<why>.*) \|$", re.MULTILINE
)
COUNTS = re.compile(r"^Last run: .*$", re.MULTILINE)
UNEXPLAINED = "UNEXPLAINED"


def suite_of(name: str) -> Any:
    return importlib.import_module(f"peers.on_{name}")


def run_suite(name: str, device: str, only: str) -> tuple[str, dict[str, str]]:
    """In a process of its own: a peer's functions are replaced, and its pytest is for one run."""
    from peers import common

    common.device = device
    suite = suite_of(name)
    return suite.version(), suite.run(only)


def missing(name: str) -> str:
    """What keeps a suite from being run here; "": nothing."""
    try:
        needs = getattr(suite_of(name), "NEEDS", {})
    except ImportError as error:
        return f"{error} (pip install --group peers)"
    for variable, how in needs.items():
        if not Path(os.environ.get(variable) or "/dev/null").is_dir():
            return f"{variable} names no folder ({how})"
    return ""


def outcome_of(name: str, devices: tuple[str, ...], only: str) -> tuple[str, dict[str, str]]:
    """The suite's version, and what went wrong with each test; "": nothing."""
    outcome: dict[str, str] = {}
    version = ""
    for device in devices:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as pool:  # which tells of a crash
            version, found = pool.submit(run_suite, name, device, only).result()
        failures = {test: f"{device}: {text}" for test, text in found.items() if text}
        outcome = dict.fromkeys(found, "") | outcome | failures
    return version, outcome


def part_of(text: str, heading: str) -> tuple[str, str, str]:
    """What is before a heading of the page, what it heads, and what comes after."""
    start = text.index(f"## {heading}\n")
    end = text.find("\n## ", start)
    end = len(text) if end < 0 else end
    return text[:start], text[start:end], text[end:]


def renewed(part: str, counts: str, groups: dict[str, list[str]]) -> tuple[str, list[str]]:
    """A section of the page with these counts and failures and the reasons that it had, and the
    tests of which more parameters fail than it says why."""
    known = {m["test"]: m for m in ROW.finditer(part)}
    head = COUNTS.sub("", part.partition("| test |")[0]).strip()
    rows, unexplained = [], []
    for test, texts in sorted(groups.items()):
        failed = [text for text in texts if text]
        if not failed:
            continue
        why, before = (known[test]["why"], int(known[test]["failed"])) if test in known else ("", 0)
        if len(failed) > before and not why.startswith(UNEXPLAINED):
            why = f"{UNEXPLAINED}: {failed[0].replace('|', '?')}; {why}".removesuffix("; ")
        if why.startswith(UNEXPLAINED):
            unexplained.append(test)
        rows.append(f"| `{test}` | {len(failed)} of {len(texts)} | {why} |")
    table = ["", "| test | fails | why |", "|---|---|---|", *rows] if rows else []
    return "\n".join([head, "", counts, *table]) + "\n", unexplained


def conclude(name: str, devices: tuple[str, ...], only: str, write: bool) -> int:
    """Run a suite, tell and write what came of it; the exit status."""
    heading, usual = SUITES[name]
    version, outcome = outcome_of(name, devices or usual, only)
    failures = sum(map(bool, outcome.values()))
    counts = (
        f"Last run: {version}; {len(outcome)} tests reach warpkit, {len(outcome) - failures} pass, "
        f"{failures} do not; on {' and '.join(devices or usual)}."
    )
    print(f"{heading}: {counts}")
    if not outcome:
        return 1  # it says above why it did not load
    groups: dict[str, list[str]] = {}  # a row for all of a test's parameters
    for test, text in outcome.items():
        groups.setdefault(test.partition("[")[0], []).append(text)
    before, part, after = part_of(PAGE.read_text(), heading)
    section, unexplained = renewed(part, counts, groups)
    for test in unexplained:
        print(f"fails, and {PAGE.name} does not say why: {test}: {max(groups[test])}")
    if write:
        PAGE.write_text(before + section + after)
    return int(bool(unexplained))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="repeatable")
    parser.add_argument("--only", metavar="PATTERN", default="", help="of the tests these")
    parser.add_argument("--device", action="append", metavar="NAME", default=[])
    args = parser.parse_args()
    status = 0
    for name in args.suite or SUITES:
        lacks = missing(name)
        if lacks:
            print(f"{SUITES[name][0]}: not run; {lacks}")
            status |= name in (args.suite or ())
            continue
        write = not (args.only or args.device)
        status |= conclude(name, tuple(args.device), args.only, write)
    return status


if __name__ == "__main__":
    sys.exit(main())
