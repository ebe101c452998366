"""Remove each barrier and fence of the kernels in turn, and list those that no test misses; or
(--planted) plant each fault of planted.py, and list those that no test sees.

A mutant is the emulated device's plug-in, built with one statement less; of the files that see the
statement only those are built anew that the tests need. The tests of the file's rows run on it with
weak memory and under each schedule, quick runs first, until one fails. That is what is hoped for: a
statement that can go without one is superfluous, or the tests are too weak. Exit status 1: there
are such. With --races the emulated device looks for races, and the two lines of the one that it
tells of are printed. Fences for the host (__threadfence_system) are left alone: what they order is
what crosses the bus, and the emulated device has none.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest_warpkit
from planted import PLANTED
from warpkit.testing import mutations

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
# The production reduction's headers are seen by a dozen files that take long. These two have sums
# of floats, which may have to be folded again, and of integers, which never do.
LINES = [ROOT / "cuda" / "reduce" / "production" / name for name in ("sums.cu", "words.cu")]
# And these: sums, sums of squares, variances, and several results of floats.
SUMS = ("sums.cu", "squares.cu", "moments.cu", "summaries.cu")
EXACT = [ROOT / "cuda" / "reduce" / "production" / name for name in SUMS]
# Kernels of these headers are in files of their own.
OWN = {"integers.cuh": "integers.cu", "arg.cuh": "indices.cu", "extreme.cuh": "extremes.cu"}
# Beside reduce: what of tests/test_keyed.py is theirs.
KEYED = {"dots": "dot", "prefixes": "prefix or cumsum", "segments": "segment"}
# What kernels of all these call once an output, or rarely.
ONCE = {
    ROOT / "cuda" / "reduce" / "production" / f"{name}.cu"
    for name in ("results", "scaled", "table")
}
QUICK = ["-Og", "-g0"]  # compilation takes longer than the tests
WITH_LINES = ["-Og", "-g1", "-gdwarf-4"]  # which the reports of races name
SMALL = ["--small"]
RUNS: dict[str, tuple[dict[str, str], list[str]]] = {
    "linear, small sizes": ({"WARPKIT_EMU_SCHEDULE": "linear"}, SMALL),
    "reverse, small sizes": ({"WARPKIT_EMU_SCHEDULE": "reverse"}, SMALL),
    "weak memory, small sizes": ({"WARPKIT_EMU_MEMORY": "weak"}, SMALL),
    "linear": ({"WARPKIT_EMU_SCHEDULE": "linear"}, []),
    "reverse": ({"WARPKIT_EMU_SCHEDULE": "reverse"}, []),
    "random": ({"WARPKIT_EMU_SCHEDULE": "random"}, []),
}

# With --races: one run, whose report is to name two lines.
LOOK: dict[str, tuple[dict[str, str], list[str]]] = {
    "race": ({"WARPKIT_EMU_SCHEDULE": "linear"}, SMALL),
}
RACE = re.compile(r"race on (.*)\n.* at (\S+:\d+)\n.* at (\S+:\d+)\n")

# The files of cuda/histogram/production that count.
COUNTING = (
    *("counters", "bytes", "shared", "split", "hot", "fields", "planes", "direct", "numbers"),
)


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
        for m in mutations(path.read_text()):
            if not m.change and "system" not in m.statement:
                found.append(Site(path, m.line, m.statement, m.text))
    return found


def planted() -> list[Site]:
    """Every fault that is to be planted."""
    found = []
    for name, text, instead in PLANTED:
        path = ROOT / name
        whole = path.read_text()
        if whole.count(text) != 1:
            sys.exit(f"{name} has this {whole.count(text)} times, not once: {text}")
        line = whole.count("\n", 0, whole.index(text)) + 1
        change = f"{text} -> {instead}".replace("\n", " ")
        found.append(Site(path, line, " ".join(change.split()), whole.replace(text, instead)))
    return found


class Mutant(NamedTuple):
    site: Site
    jobs: list[Any]  # what it is linked from
    tests: tuple[str, ...]  # pytest's arguments


def tests_of(sources: list[Path]) -> tuple[str, ...]:
    """Those of the rows that these files hold, one row a file: 05_smem.cu has reduce's "smem"."""
    of_one = len(sources) == 1 and sources[0].name in OWN.values()
    if sources == EXACT or of_one or ONCE.issuperset(sources):
        return ("tests/test_reduce.py", "tests/test_grids.py")
    if any(source in LINES for source in sources):
        return ("tests/test_grids.py",)
    keyed = [KEYED[source.stem] for source in sources if source.stem in KEYED]
    if keyed:
        return ("tests/test_keyed.py", "-k", " or ".join(keyed))
    operations = {source.relative_to(ROOT / "cuda").parts[0] for source in sources}
    for name in operations & {"warp", "smem"}:
        return (f"tests/test_{name}.py",)
    if any(source.stem.startswith("tiles") for source in sources):
        return ("tests/test_transpose.py",)
    if any(source.stem.startswith(("lines", "complex")) for source in sources):
        return ("tests/test_stencil_ways.py",)
    if "unique" in operations:
        return ("tests/test_runs.py", "-k", "not hostile")
    weighs, counts = (
        any(source.stem.startswith(stems) for source in sources) for stems in ("weights", COUNTING)
    )
    if weighs and not counts:
        return ("tests/test_histogram_weights.py", "tests/test_keyed.py", "-k", "weights or group")
    if counts:  # a header of counting is seen by both
        files = [f"tests/test_histogram{end}.py" for end in [""] * counts + ["_weights"] * weighs]
        return (*files, *([] if weighs else ["-k", "not weights"]))
    names = [re.sub(r"^(\d+|warp)_", "", source.stem) for source in sources]
    ids = [f"emu-{name}{end}" for name in names for end in ("-", "]")]
    files = ["tests/test_rows.py"]
    if "stencil" in operations:
        files = ["tests/test_stencil_ladder.py", *files]
    if "histogram" in operations:
        files = ["tests/test_histogram_ladder.py", "tests/test_warp_histogram.py", *files]
    return (*files, "-k", " or ".join(ids))


def folder_of(site: Site) -> str:
    change = hashlib.sha256(site.statement.encode()).hexdigest()[:8]
    return f"{site.path.name}-{site.line}-{change}"


def mutants(setup: SimpleNamespace, chosen: list[Site]) -> list[Mutant]:
    """What to compile for each; files that do not see the statement come from the cache."""
    faults = {(site.path, site.statement) for site in planted()}
    own = (ROOT / "csrc", ROOT / "cuda")
    sources = setup.emu_sources()
    plain = dict(zip(sorted(sources), setup.emu_jobs(sources), strict=True))
    setup.compile_all(list(plain.values()), "mutants")  # before several threads want them
    sees: dict[Path, set[Path]] = {source: set() for source in sources}
    for source, seen in sees.items():
        setup.included(source, own, seen)
    found = []
    for site in chosen:
        overlay = WORK / folder_of(site) / site.path.relative_to(ROOT).parts[0]
        changed = overlay / Path(*site.path.relative_to(ROOT).parts[1:])
        changed.parent.mkdir(parents=True)
        changed.write_text(site.mutant)
        affected = sorted(source for source in sources if site.path in sees[source])
        if (site.path, site.statement) in faults and not set(EXACT).isdisjoint(affected):
            own_file = OWN.get(site.path.name)
            affected = [site.path.parent / own_file] if own_file else EXACT
        elif set(LINES) <= set(affected):
            affected = LINES
        anew = [changed if source == site.path else source for source in affected]
        # First, so that the linker takes their copy of what other files hold too.
        watched = os.environ.get("WARPKIT_SANITIZE") == "races"
        jobs = setup.emu_jobs(anew, overlay, options=WITH_LINES if watched else QUICK)
        jobs += [job for source, job in plain.items() if source not in affected]
        found.append(Mutant(site, jobs, tests_of(affected)))
    return found


def run_tests(package: Path, run: str, tests: tuple[str, ...]) -> str | None:
    """What fails, in a word or by a race's lines; None: they pass."""
    settings, options = {**RUNS, **LOOK}[run]
    command = [sys.executable, "-m", "pytest", "-x", "-q", *tests]
    command += ["--device", "emu", "-p", "no:cacheprovider", *options]
    env = {**os.environ, "WARPKIT_EMU_THREADS": "2", "WARPKIT_EMU_SECONDS": "5", **settings}
    plugin = Path(pytest_warpkit.__file__).parent  # installed, or where the sources are
    env["PYTHONPATH"] = os.pathsep.join(map(str, (package.parent, plugin)))
    result = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    if result.returncode > 1:  # below 0: it crashed, which is noticed
        raise RuntimeError(f"the tests did not run:\n{result.stdout}\n{result.stderr}")
    if result.returncode == 0:
        return None
    race = RACE.search(re.sub(r"^E +", "  ", result.stdout, flags=re.MULTILINE))
    if run in LOOK and not race:
        return "no race, but another failure"
    return "{}: {}, {}".format(*(race[i] for i in (1, 2, 3))) if run in LOOK and race else run


def copy_of(installed: Path, name: str) -> Path:
    """The package in a folder of its own, with links for what is large."""
    package = WORK / name / "site" / "warpkit"
    package.mkdir(parents=True)
    for path in installed.iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    return package


def caught_by(
    setup: SimpleNamespace, installed: Path, mutant: Mutant, runs: Iterable[str]
) -> tuple[str, str] | None:
    """The first run whose tests fail, and how."""
    package = copy_of(installed, folder_of(mutant.site))
    (package / "_emu.so").unlink()
    setup.emu_link(mutant.jobs, package / "_emu.so", "-shared")
    tried = ((run, run_tests(package, run, mutant.tests)) for run in runs)
    by = next(((run, how) for run, how in tried if how), None)
    (package / "_emu.so").unlink()
    return by


def sample(chosen: list[Site], n: int) -> list[Site]:
    """n of them by their files' text: a change draws others."""
    drawn = sorted(chosen, key=lambda site: hashlib.sha256(site.mutant.encode()).digest())[:n]
    return sorted(drawn)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--list", action="store_true", help="name the statements, remove none")
    parser.add_argument("--planted", action="store_true", help="plant faults in the exact sums")
    parser.add_argument("--races", action="store_true", help="let the device look for races")
    parser.add_argument("--sample", type=int, metavar="N", help="remove only N, drawn by the text")
    parser.add_argument("only", nargs="?", default="", help="part of a site, such as a file's name")
    options = parser.parse_args()
    every = planted() if options.planted else sites()
    chosen = [site for site in every if options.only in str(site)]
    chosen = sample(chosen, options.sample) if options.sample else chosen
    if options.list:
        print(*chosen, sep="\n")
        return 0

    import warpkit

    if options.races:
        os.environ["WARPKIT_SANITIZE"] = "races"
    runs = LOOK if options.races else RUNS
    setup = SimpleNamespace(**runpy.run_path(str(ROOT / "setup.py")))
    installed = Path(warpkit.__file__).parent
    shutil.rmtree(WORK, ignore_errors=True)
    all_mutants = mutants(setup, chosen)
    os.environ["WARPKIT_JOBS"] = "1"
    survivors = []
    trusted: set[tuple[str, tuple[str, ...]]] = set()  # what failed, and must pass unmutated
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = pool.map(lambda m: caught_by(setup, installed, m, runs), all_mutants)
        for mutant, by in zip(all_mutants, outcomes, strict=True):
            print(f"{mutant.site}: {f'noticed ({by[1]})' if by else 'NOT NOTICED'}", flush=True)
            if by:
                trusted.add((by[0], mutant.tests))
            else:
                survivors.append(mutant.site)
        package = copy_of(installed, "unmutated")
        if options.races:
            (package / "_emu.so").unlink()
            setup.emu_link(setup.emu_jobs(setup.emu_sources()), package / "_emu.so", "-shared")
        fails = pool.map(lambda what: run_tests(package, *what), sorted(trusted))
        for (run, tests), failed in zip(sorted(trusted), fails, strict=True):
            if failed:
                sys.exit(f"{tests} fail without any mutation ({run}): nothing can be learnt")
    print(f"{len(chosen)} one at a time, {len(survivors)} not noticed")
    for site in survivors:
        print(f"  {site}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
