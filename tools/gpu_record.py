"""Which GPU has verified this tree, in one line; or since which file that is no longer true.

The record, tests/gpu_record.json, is written by `pytest tests --device cuda --record PATH` when
all tests pass. It holds the hashes of the sources that decide what a kernel computes. Exit status
0: the record is there and fresh.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "gpu_record.json"


def sources(root: Path = ROOT) -> list[Path]:
    """setup.py and the text files under csrc and cuda, in order; not the emulated device's own."""
    found = [root / "setup.py"]
    for folder in ("csrc", "cuda"):
        found += (p for p in (root / folder).rglob("*") if p.is_file() and _is_source(p, root))
    return sorted(found)


def _is_source(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    hidden = any(part.startswith((".", "__")) for part in parts)
    left_out = hidden or parts[:2] == ("cuda", "emu") or path.suffix == ".md"
    return not left_out and b"\0" not in path.read_bytes()


def digests(root: Path = ROOT) -> dict[str, str]:
    """The SHA-256 of every source, by its path in the tree."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sources(root)
    }


def describe(device: dict[str, Any], build: str, counts: dict[str, int]) -> dict[str, Any]:
    """The record of a run: device as warpkit.memory_info gives it, build as the plug-in says."""
    import pytest_warpkit  # of warpkit, without which the verdict can be asked for

    return pytest_warpkit.describe(device, build, counts, digests())


def verdict(record: Path = RECORD, root: Path = ROOT) -> tuple[bool, str]:
    """Whether the record holds for this tree, and the line that says so."""
    try:
        known = json.loads(record.read_text())
        device, driver, date = known["device"], known["driver"], known["date"]
        passed, files = known["counts"]["passed"], dict(known["files"])
    except FileNotFoundError:
        return False, f"no GPU record: {record.name} is missing; make gpu-test writes it"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return False, f"no GPU record: {record.name} cannot be read ({error!r})"
    now = digests(root)
    stale = sorted(path for path in files | now if files.get(path) != now.get(path))
    if not stale:
        return True, f"verified on {device} ({driver}) at {date}: {passed} passed"
    more = f" (and {len(stale) - 1} more)" if len(stale) > 1 else ""
    return False, f"stale since {date}: {stale[0]} changed{more}"


if __name__ == "__main__":
    fresh, line = verdict()
    print(line)
    sys.exit(0 if fresh else 1)
