"""Run a folder of other people's CUDA programs on the emulated device, plainly and with a look for
races, and write what came of it into docs/foreign.md (make foreign FOLDER=...).

FOLDER is the Indigo suite, with its indigo_sources, indigo_include and input, or NVIDIA's
cuda-samples, with Samples and Common. An Indigo program says in its name which faults are planted
in it. Nothing of either is kept here.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import warpkit
from pages import ROOT, table
from warpkit import _programs

PAGE = ROOT / "docs" / "foreign.md"
GRAPH = "power_law_200n_1000e.egr"
LAUNCH = ("256", "1024")  # threads, blocks
SECONDS = 60  # of processor time that a program may take
LATE = 900.0  # and of any, on a machine that has other things to do
FAULTS = ("atomicBug", "guardBug", "raceBug", "syncBug")


class Program(NamedTuple):
    name: str
    sources: list[Path]
    include: list[Path]
    args: list[str]
    options: tuple[str, ...] = ()


class Run(NamedTuple):
    """How a program ended. A fault of the detector's is the first line of its report."""

    output: str
    code: int | None  # None: it took too long
    seconds: float  # of processor time
    fault: str


class Outcome(NamedTuple):
    program: Program
    refused: str  # by the compiler: its first error
    plain: Run | None = None
    watched: Run | None = None


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


def run(binary: Path, program: Program) -> Run:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        folder = program.sources[0].parent
        process = subprocess.Popen(
            [program.sources[0].with_suffix(""), *program.args],
            executable=binary,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "WARPKIT_EMU_SECONDS": str(SECONDS)},
            preexec_fn=limit,
        )
        timer = threading.Timer(LATE, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        late = not timer.is_alive()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        late = late or process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        text, told = out.read(), err.read()
    fault = next((x[9:] for x in told.splitlines() if x.startswith("warpkit: ")), "")
    fault = re.sub(
        r"/\S+/", "", fault
    )  # files by their names: of whose folder the page knows nothing
    code = None if late else process.returncode
    return Run(text + told, code, usage.ru_utime + usage.ru_stime, fault)


def outcome(program: Program) -> Outcome:
    if not program.args and need(program):
        return Outcome(program, "")
    try:
        names = [str(path) for path in program.sources]
        include = list(map(str, program.include))
        plain, watched = (
            _programs.built(names, include, program.options, "emu", check)[0]
            for check in (None, "races")
        )
    except warpkit.CompileError as error:
        wrong = [x for x in str(error).splitlines() if "rror" in x or "undefined" in x]
        return Outcome(program, (wrong or [str(error)])[0])
    one = run(plain, program)
    late = one.code is None  # and with a look for races later still
    return Outcome(program, "", one, one if late else run(watched, program))


def outcomes(programs: Sequence[Program]) -> list[Outcome]:
    done = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(outcome, programs):
            done.append(one)
            if sys.stderr.isatty():
                print(f"\r{len(done)} of {len(programs)}", end="", file=sys.stderr)
    return done


def listed(head: Sequence[str], rows: Iterable[Sequence[object]], right: str) -> str:
    return table(head, [tuple(map(str, row)) for row in rows], right).rstrip()


# ---- Indigo -------------------------------------------------------------------------------------


def indigo(folder: Path) -> list[Program]:
    include = [folder / "indigo_include"]
    args = [str(folder / "input" / GRAPH), *LAUNCH]
    return [
        Program(path.stem, [path], include, args)
        for path in sorted((folder / "indigo_sources").rglob("*.cu"))
    ]


def planted(name: str) -> str:
    """Which fault its name tells of."""
    if "boundsBug" in name:
        return "bounds"
    found = [fault.removesuffix("Bug") for fault in FAULTS if fault in name]
    return "none" if not found else found[0] if len(found) == 1 else "several"


def indigo_lines(done: list[Outcome]) -> list[str]:
    rows = []
    for kind in ("none", "atomic", "guard", "race", "sync", "several", "bounds"):
        of = [o for o in done if planted(o.program.name) == kind]
        built = [o for o in of if o.plain and o.watched]
        raced = [o for o in built if o.watched and ": race on" in o.watched.fault]
        other = [o for o in built if o.watched and o.watched.fault and o not in raced]
        right = [o for o in built if o.plain and "result matches" in o.plain.output]
        unseen = [o for o in built if o.plain and o.plain.fault]
        rows.append((kind, len(of), len(built), len(right), len(unseen), len(raced), len(other)))
    head = ("planted", "programs", "built", "right result", "plain error", "race", "other fault")
    clean = [o for o in done if planted(o.program.name) == "none" and o.plain and o.watched]
    plain = sum(o.plain.seconds for o in clean if o.plain)
    watched = sum(o.watched.seconds for o in clean if o.watched)
    lines = [
        f"The Indigo suite's CUDA programs on its graph {GRAPH}, with {LAUNCH[1]} blocks of "
        f"{LAUNCH[0]} threads: how",
        "many give the serial code's result in a plain run, and what a run that looks for races "
        "reports.",
        "",
        listed(head, rows, "<" + ">" * (len(head) - 1)),
        "",
        f"The {len(clean)} without a planted fault take {watched / plain:.1f} times as long when "
        "races are looked for.",
    ]
    amiss = [o for o in done if reason(o)]
    if amiss:
        lines += [
            "",
            listed(
                ("otherwise than hoped", "why"), ((o.program.name, reason(o)) for o in amiss), "<<"
            ),
        ]
    return lines


def reason(o: Outcome) -> str:
    """What is not as hoped."""
    if o.refused or not o.plain or not o.watched:
        return f"not built: {o.refused}"
    kind, fault = planted(o.program.name), o.watched.fault
    if kind == "none":
        return fault or ("" if "result matches" in o.watched.output else "wrong result")
    if kind == "bounds":
        return "" if fault else "silent"
    return "" if ": race on" in fault else f"no race: {fault or 'silent'}"


# ---- cuda-samples -------------------------------------------------------------------------------

# What a sample needs that is not there, by what its sources have.
INCLUDES = r"(?m)^[ \t]*#[ \t]*include[ \t]*[<\"](?i:"
NEEDS = {
    "graphics": INCLUDES + r"GL/|GLFW|GLES|EGL|vulkan|d3d|directx|nvsci|helper_gl|rendercheck_gl"
    r"|linmath|cuda_gl)",
    "a library": INCLUDES + r"cublas|cufft|curand|cusparse|cusolver|nvrtc|npp|nvjpeg|mpi\.h)",
    "the driver API, or code compiled at run time": r"\bcu(Init|Module[A-Z]\w+|Link[A-Z]\w+"
    r"|Mem[A-Z]\w+)\s*\(|CUmem|nvrtc_helper",
    "several processes": r"\bcudaIpc|MemPoolExport",
}


def samples(folder: Path) -> list[Program]:
    found = []
    for place in sorted(p for p in (folder / "Samples").glob("[0-6]_*/*") if p.is_dir()):
        files = sorted(p for p in place.rglob("*") if p.suffix in (".cu", ".cpp"))
        if any(p.suffix == ".cu" for p in files):
            files.sort(key=lambda p: p.stem != place.name)
            headers = {p.parent for p in place.rglob("*.h")} | {place}
            text = "".join(path.read_text(errors="replace") for path in files)
            options = ("-fopenmp",) if "#include <omp.h>" in text else ()
            include = [folder / "Common", *sorted(headers)]
            found.append(Program(place.name, files, include, [], options))
    return found


def need(program: Program) -> str:
    """What it needs that is not there; "": nothing of that."""
    text = "".join(
        path.read_text(errors="replace")
        for folder in {path.parent for path in program.sources}
        for path in folder.iterdir()
        if path.suffix in (".cu", ".cuh", ".cpp", ".h", ".hpp")
    )
    return next((what for what, pattern in NEEDS.items() if re.search(pattern, text)), "")


def class_of(o: Outcome) -> str:
    if o.refused or not o.plain or not o.watched:
        return "not built"
    if o.plain.code is None:
        return "takes too long"
    if o.plain.code == 2:  # EXIT_WAIVED
        return "waives itself"
    if o.plain.code != 0 or re.search(r"FAILED|failed!|\bERROR\b", o.plain.output):
        return "wrong or an error"
    return "right"


def why(o: Outcome) -> str:
    if o.refused or not o.plain or not o.watched:
        text = re.sub(r"^.*?(error|undefined|no such instruction)", r"\1", o.refused)
    elif o.plain.code == 2:
        text = o.plain.output.strip().splitlines()[-1]
    elif o.plain.code is None:
        text = f"more than {SECONDS} s of processor time"
    else:
        text = o.plain.fault or o.watched.fault or f"exit status {o.plain.code}"
    return text[:110].replace("|", "\\|")


def watched_so(o: Outcome) -> str:
    if not o.watched or o.watched.code is None:
        return "takes too long"
    return o.watched.fault[:110].replace("|", "\\|")


def sample_lines(done: list[Outcome]) -> list[str]:
    lacking = {o.program.name: need(o.program) for o in done}
    tried = [o for o in done if not lacking[o.program.name] and class_of(o) != "waives itself"]
    right = [o for o in tried if class_of(o) == "right"]
    reported = [o for o in right if watched_so(o)]
    rest = [o for o in tried if o not in right]
    missing = [
        (what, ", ".join(name for name, lacks in lacking.items() if lacks == what))
        for what in NEEDS
    ]
    waived = ", ".join(o.program.name for o in done if o not in tried and not need(o.program))
    missing.append(("a second GPU, as they say themselves", waived))
    return [
        f"NVIDIA's cuda-samples: of {len(done)} with CUDA sources, not for Tegra or libNVVM, "
        f"{len(tried)} need nothing but CUDA's",
        "runtime and one GPU. Each is built from its .cu and .cpp files and run without "
        f"arguments. **{len(right)} of the {len(tried)}**",
        f"end well within {SECONDS} s of processor time.",
        "",
        f"Right: {', '.join(o.program.name for o in right)}.",
        "",
        listed(
            ("not right", "outcome", "why"),
            ((o.program.name, class_of(o), why(o)) for o in rest),
            "<<<",
        ),
        "",
        "What a run that looks for races says of those that are right:",
        "",
        listed(("sample", "report"), ((o.program.name, watched_so(o)) for o in reported), "<<"),
        "",
        listed(("needs", "samples"), missing, "<<"),
    ]


# ---- the page -----------------------------------------------------------------------------------


def renewed(page: str, name: str, title: str, lines: list[str]) -> str:
    text = f"<!-- {name} -->\n\n" + "\n".join(lines) + f"\n\n<!-- /{name} -->"
    if f"<!-- {name} -->" not in page:
        return f"{page}\n## {title}\n\n{text}\n"
    return re.sub(rf"<!-- {name} -->.*<!-- /{name} -->", lambda _: text, page, flags=re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="programs whose names have this; writes no page")
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    folder = given.folder.resolve()
    if (folder / "indigo_sources").is_dir():
        name, programs, lines_of = "indigo", indigo(folder), indigo_lines
    elif (folder / "Samples").is_dir():
        name, programs, lines_of = "samples", samples(folder), sample_lines
    else:
        parser.error(f"{folder} has neither indigo_sources nor Samples")
    lines = lines_of(outcomes([p for p in programs if given.only in p.name]))
    print(*lines, sep="\n")
    if not given.only:
        titles = {"indigo": "Indigo", "samples": "cuda-samples"}
        PAGE.write_text(renewed(PAGE.read_text(), name, titles[name], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
