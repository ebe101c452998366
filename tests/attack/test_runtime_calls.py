"""Whichever call of the CUDA runtime API fails, wherever the sources make it: an exception, the
next call right, nothing lost. No place that makes one is left out, but for those told below."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import helpers
import pytest
from warpkit import _core

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.unsanitized,
    pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line here"),
]
HERE = Path(__file__).parent
QUICK = 1  # second for each of the settings, beside what each call and its place is tried in
SETTINGS = {
    "two devices, in pieces": ("2", {"WARPKIT_PIECE": "4096"}),
    "late events": ("1", {"WARPKIT_PIECE": "4096", "WARPKIT_EMU_LATE": "3"}),
    "pinned": ("1", {"WARPKIT_EMU_PINNED": "1", "WARPKIT_PIECE": "8192"}),
    "waiting": ("1", {"WARPKIT_SYNC": "1", "WARPKIT_CARVEOUT": "50"}),
    "nothing kept": ("1", {"WARPKIT_POOL_KEEP": "0"}),
}
# They cannot fail: nothing is planned for them.
TELL = ("cudaGetErrorString", "cudaGetErrorName", "cudaGetLastError", "cudaDriverGetVersion")
# Through templates of the emulator's, whose places are those of the kernels: told by function only.
THROUGH_TEMPLATES = ("cudaFuncSetAttribute", "cudaMemcpyToSymbolAsync", "cudaLaunchKernelEx")
UNREACHED = {
    # The emulated devices have memory pools.
    "cuda/runtime/memory.cu: cudaMalloc": 1,
    "cuda/runtime/memory.cu: cudaFree": 1,
    # And they have done all work when a call returns: a letter never keeps anybody waiting.
    "cuda/runtime/memory.cu: cudaStreamQuery": 1,
    # After a bad_alloc only.
    "cuda/stencil/ladder/ladder.cuh: cudaEventDestroy": 1,
}


def call_sites():
    """File, line and function of each call in the sources."""
    found = []
    for path in sorted((helpers.ROOT / "cuda").rglob("*.cu*")):
        name = path.relative_to(helpers.ROOT).as_posix()
        if name.startswith("cuda/emu/") or name == "cuda/runtime/user.cu":  # GPUs alone have it
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.partition("//")[0]
            for function in re.findall(r"(?<![\"\w])(cuda[A-Z]\w*)\(", code):
                if f'"{function}' not in code and function not in TELL:
                    found.append((name, number, function))
    return found


def searched(calls, devices, settings):
    """The places in _emu.so that were reached, with their functions."""
    seconds = helpers.options["attack"] / len(SETTINGS) or QUICK
    env = {k: v for k, v in os.environ.items() if k[:8] != "WARPKIT_"}
    env["PYTHONPATH"] = os.pathsep.join([*sys.path, str(HERE)])
    done = subprocess.run(
        [sys.executable, HERE / "runtime_calls.py", calls, devices, str(seconds)],
        env=env | settings,
        capture_output=True,
        text=True,
        timeout=seconds * 2 + 300,
    )
    lines = done.stdout.splitlines()
    told = "\n".join(line for line in lines if not line.startswith("reached"))
    assert done.returncode == 0, told[:5000] + done.stderr[-1000:]
    assert int(re.search(r"^0 faults, (\d+) calls failed$", told, re.MULTILINE)[1]) > 50
    return {tuple(line.split()[1:]) for line in lines if line.startswith("reached")}


def source_lines(places):
    """Function, file and line of places in _emu.so."""
    plugin = Path(_core.__file__).parent / "_emu.so"
    ordered = sorted(places)
    text = "\n".join(at for _, at in ordered)
    command = ["addr2line", "-e", plugin]
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    found = set()
    for (function, _), line in zip(ordered, out.splitlines(), strict=True):
        found.add((function, *file_and_number(line)))
    return found


def file_and_number(line):
    """Of a line of addr2line: a path, which may have blanks, a number, and perhaps a note."""
    path, number = re.fullmatch(r"(.*):(\d+|\?)(?: \(discriminator \d+\))?", line).groups()
    return "cuda/" + path.rpartition("/cuda/")[2], number


@pytest.mark.parametrize("note", ["", " (discriminator 2)"])
@pytest.mark.parametrize("tree", ["/tree", "/new comer", "/a (discriminator 1): b:7 /c"])
def test_a_place_is_read_wherever_the_tree_lies(tree, note):
    line = f"{tree}/cuda/runtime/memory.cu:25{note}"
    assert file_and_number(line) == ("cuda/runtime/memory.cu", "25")
    assert file_and_number("??:?")[1] == "?"


def test_each_call_fails_in_turn_and_no_place_is_left_out(tmp_path):
    places = set()
    for devices, settings in SETTINGS.values():
        places |= searched(tmp_path / "calls", devices, settings)
    reached = source_lines(places)
    assert {number for _, _, number in reached} != {"?"}, "_emu.so has no line numbers"
    missing = {}
    for name, line, function in call_sites():
        lines = {int(n) for f, file, n in reached if f == function and file == name and n != "?"}
        near = any(line - 1 <= n <= line + 3 for n in lines)  # of one statement
        there = near or (function in THROUGH_TEMPLATES and any(f == function for f, *_ in reached))
        if not there:
            missing.setdefault(f"{name}: {function}", []).append(line)
    assert {where: len(lines) for where, lines in missing.items()} == UNREACHED, "\n".join(
        f"{where} in line {lines}" for where, lines in missing.items()
    )
