"""Random calls give the same bits, or the same errors, however they are computed."""

import math
import os
import subprocess
import sys
from pathlib import Path

import helpers
import pytest

SCRIPT = Path(__file__).with_name("random_calls.py")
FIRST = 1_000_000
COUNT = 150 if helpers.options["attack"] else 60  # calls at a time; some of each kind

# What must change no bit.
ON_THE_CPU = [
    {"WARPKIT_ISA": "base"},
    {"WARPKIT_ISA": "avx2", "WARPKIT_NUM_THREADS": "1"},
    {"WARPKIT_NUM_THREADS": "7"},
]
ON_A_DEVICE = [
    {},
    {"WARPKIT_PIECE": "1024"},
    {"WARPKIT_SUMS": "integers", "WARPKIT_FEW": "0"},
]
EMULATED = [
    {"WARPKIT_EMU_SCHEDULE": "reverse", "WARPKIT_PIECE": "4096", "WARPKIT_EMU_DEVICES": "3"},
    {"WARPKIT_EMU_SCHEDULE": "random", "WARPKIT_EMU_MEMORY": "weak", "WARPKIT_EMU_LATE": "2"},
]


def lines(device: str, first: int, *options: str, **env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, SCRIPT, str(first), str(COUNT), device, *options],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def firsts() -> range:
    rounds = math.ceil(helpers.options["attack"] / 15) or 1  # of some 15 seconds
    return range(FIRST, FIRST + rounds * COUNT, COUNT)


@pytest.mark.unsanitized  # it runs interpreters of its own
def test_random_calls_give_the_same_bits(device):
    settings = ON_THE_CPU if device == "cpu" else ON_A_DEVICE
    if device == "emu":
        settings = [*settings, *EMULATED]
    for first in firsts():
        want = lines("cpu", first)
        assert len(want) == COUNT
        assert sum("Error" in line for line in want) < COUNT / 4
        for env in settings:
            assert lines(device, first, **env) == want, env
        if device != "cpu":
            assert lines(device, first, "there") == lines("cpu", first, "packed")
        if device == "emu":
            assert lines("emu:all", first, **EMULATED[0]) == want
