"""Remove each barrier and fence of the kernels in turn, and list those that no test misses.

A mutant is the emulated device's plug-in, built with one statement less. The row suite runs on it
with weak memory and under each schedule, quick runs first, until a test fails. That is what is
hoped for: a statement that can go without one is superfluous, or the tests are too weak. Exit
status 1: there are such. Fences for the host (__threadfence_system) are left alone: what they
order is what crosses the bus, and the emulated device has none.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
STATEMENT = re.compile(
    r"^\s*(__syncthreads|__syncwarp|__threadfence|__threadfence_block)\([^;]*\);", re.MULTILINE
)
SMALL = ["--small"]
RUNS: dict[str, tuple[dict[str, str], list[str]]] = {
    "linear, small sizes": ({"WARPKIT_EMU_SCHEDULE": "linear"}, SMALL),
    "weak memory, small sizes": ({"WARPKIT_EMU_MEMORY": "weak"}, SMALL),
    "linear": ({"WARPKIT_EMU_SCHEDULE": "linear"}, []),
    "reverse": ({"WARPKIT_EMU_SCHEDULE": "reverse"}, []),
    "random": ({"WARPKIT_EMU_SCHEDULE": "random"}, []),
}


class Site(NamedTuple):
    path: Path
    line: int
    statement: str
    mutant: str  # the whole text without it

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.statement}"


def sites() -> list[Site]:
    """Every barrier and fence of the kernels."""
    found = []
    for path in sorted((ROOT / "cuda").rglob("*.cu*")):
        text = path.read_text()
        for match in STATEMENT.finditer(text):
            start = text.index(match[1], match.start())
            line = text.count("\n", 0, start) + 1
            mutant = text[:start] + ";" + text[match.end() :]
            found.append(Site(path, line, text[start : match.end()], mutant))
    return found


def build(setup: SimpleNamespace, site: Site, plugin: Path) -> None:
    """The plug-in without the statement; files that do not see it come from the cache."""
    overlay = WORK / "overlay" / "cuda"
    shutil.rmtree(overlay, ignore_errors=True)
    changed = overlay / site.path.relative_to(ROOT / "cuda")
    changed.parent.mkdir(parents=True)
    changed.write_text(site.mutant)
    own = [ROOT / "csrc", ROOT / "cuda"]
    affected: list[Path] = []
    untouched: list[Path] = []
    for source in setup.emu_sources():
        seen: set[Path] = set()
        setup.included(source, own, seen)
        (affected if site.path in seen else untouched).append(source)
    affected = [changed if source == site.path else source for source in affected]
    jobs = setup.emu_jobs(untouched) + setup.emu_jobs(affected, overlay)
    setup.emu_link(jobs, plugin, "-shared")


def run_rows(package: Path, settings: dict[str, str], options: list[str]) -> int:
    """pytest's exit status over the row suite."""
    command = [sys.executable, "-m", "pytest", str(ROOT / "tests" / "test_rows.py"), "-x", "-q"]
    command += ["--device", "emu", "-p", "no:cacheprovider", *options]
    env = {**os.environ, **settings, "PYTHONPATH": str(package.parent)}
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    if result.returncode > 1:  # below 0: it crashed, which is noticed
        raise RuntimeError(f"the tests did not run:\n{result.stdout}\n{result.stderr}")
    return result.returncode


def caught_by(package: Path) -> str | None:
    """The first run whose tests fail."""
    return next((name for name, run in RUNS.items() if run_rows(package, *run) != 0), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="name the statements, remove none")
    parser.add_argument("only", nargs="?", default="", help="part of a site, such as a file's name")
    options = parser.parse_args()
    chosen = [site for site in sites() if options.only in str(site)]
    if options.list:
        print(*chosen, sep="\n")
        return 0

    import warpkit

    setup = SimpleNamespace(**runpy.run_path(str(ROOT / "setup.py")))
    package = WORK / "site" / "warpkit"
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(Path(warpkit.__file__).parent, package)
    original = Path(warpkit.__file__).parent / "_emu.so"
    survivors = []
    trusted: set[str] = set()  # runs that pass without a mutation
    for site in chosen:
        build(setup, site, package / "_emu.so")
        by = caught_by(package)
        if by and by not in trusted:
            shutil.copy(original, package / "_emu.so")
            if run_rows(package, *RUNS[by]) != 0:
                sys.exit(f"the tests fail without any mutation ({by}): nothing can be learnt")
            trusted.add(by)
        print(f"{site}: {f'noticed ({by})' if by else 'NOT NOTICED'}", flush=True)
        survivors += [] if by else [site]
    print(f"{len(chosen)} removed one at a time, {len(survivors)} not noticed")
    for site in survivors:
        print(f"  {site}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
