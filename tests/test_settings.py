"""Environment variables: one parser, read once, and an error that names the variable."""

import os

import numpy as np
import pytest
import warpkit
from helpers import python

NUMBERS = {
    "WARPKIT_NUM_THREADS": (1, 256),
    "WARPKIT_CARVEOUT": (0, 100),
    "WARPKIT_FEW": (0, None),
    "WARPKIT_POOL_KEEP": (0, None),
    "WARPKIT_POOL_LIMIT": (0, None),
    "WARPKIT_RESULTS_KEEP": (0, None),
    "WARPKIT_PIECE": (1024, 32 << 20),
    "WARPKIT_EMU_SEED": (0, None),
    "WARPKIT_EMU_STEPS": (1, None),
    "WARPKIT_EMU_SECONDS": (0, 10**9),
    "WARPKIT_EMU_THREADS": (1, None),
    "WARPKIT_EMU_DEVICES": (1, 32),
    "WARPKIT_EMU_LATE": (0, 10**9),
}
WORDS = {
    "WARPKIT_ISA": ("base", "avx2", "avx512"),
    "WARPKIT_SUMS": ("doubles", "integers"),
    "WARPKIT_EMU_SCHEDULE": ("linear", "reverse", "random"),
    "WARPKIT_EMU_MEMORY": ("strong", "weak"),
}
FLAGS = ("WARPKIT_SYNC", "WARPKIT_EMU_PINNED", "WARPKIT_EMU_RACES")
BYTES = ("WARPKIT_RESULTS_KEEP", "WARPKIT_POOL_KEEP", "WARPKIT_POOL_LIMIT", "WARPKIT_PIECE")
JUNK = ("junk", "-1", "nan", "inf", "1e400", "1.5.2", "0x", " ", "1 2", "é", "9" * 400)


def works():
    return warpkit.reduce([1, 2.5], device="cpu") == 3.5


def refused(setting, name, value):
    setting(name, value)
    with pytest.raises(ValueError, match=f"^{name} is '.*', and must be "):
        works()
    setting(name, "")
    assert works()


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, setting):
    least, most = NUMBERS[name]
    good = [least, most or 10**12]
    for text in [*map(str, good), f"{max(least, 1)}e0"]:
        setting(name, text)
        assert works()
    bad = [str(least - 1), *([str(most + 1)] if most else []), "1e30", *JUNK]
    if name != "WARPKIT_EMU_SECONDS":
        bad.append(f"{least + 1}.5")
    for text in bad:
        refused(setting, name, text)


@pytest.mark.parametrize("name", BYTES)
def test_sizes_have_units(name, setting):
    for text in ("2K", "2k", "2KiB", "1.5M", "1M", "4096B"):
        setting(name, text)
        assert works()
    for text in ("2KM", "K", "2X", "1.0001K", "2Kib"):
        refused(setting, name, text)


@pytest.mark.parametrize("name", WORDS)
def test_words(name, setting):
    for text in (*WORDS[name], *map(str.upper, WORDS[name])):
        setting(name, text)
        assert works()
    for text in (*JUNK, WORDS[name][0] + "x"):
        refused(setting, name, text)


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name, setting):
    for text in ("0", "1", "yes", "off", "TRUE"):
        setting(name, text)
        assert works()
    for text in (*JUNK, "2"):
        refused(setting, name, text)


def test_failures_name_a_call(setting):
    setting("WARPKIT_EMU_FAIL", "cudaMemcpyAsync:3")
    assert works()
    for text in ("cudaMemcpyAsync", ":3", "cudaMemcpyAsync:0", "cudaMemcpyAsync:3x", *JUNK):
        refused(setting, "WARPKIT_EMU_FAIL", text)


def test_every_variable_is_tested_and_listed(capsys, setting):
    names = [name for name, *_ in warpkit._core.settings()]
    texts = {"WARPKIT_DEVICE", "WARPKIT_EMU_FAIL", "WARPKIT_EMU_CALLS"}
    assert {*NUMBERS, *WORDS, *FLAGS, *texts} == set(names)
    setting("WARPKIT_PIECE", "64K")
    warpkit.show_config()
    text = capsys.readouterr().out
    assert all(name in text for name in names)
    assert "WARPKIT_PIECE=64K" in text


def test_a_size_is_what_it_says():
    script = "import warpkit; print(warpkit.memory_info('emu')['pool_limit'])"
    for text, want in (("1e9", 10**9), ("512M", 512 << 20), ("2GiB", 2 << 30)):
        assert int(python(script, env={"WARPKIT_POOL_LIMIT": text})) == want


def test_variables_are_read_once():
    """A library that changes the environment meanwhile is not met halfway."""
    script = """
import os, warpkit
assert warpkit.reduce([1, 2]) == 3
os.environ["WARPKIT_DEVICE"] = "nothing"
os.environ["WARPKIT_PIECE"] = "junk"
assert warpkit.reduce([1, 2], device="emu") == 3
assert warpkit.reduce([1, 2]) == 3
"""
    python(script)


def test_importing_and_looking_work_with_junk():
    script = "import warpkit; warpkit.show_config(); print(warpkit.devices()[0])"
    text = python(script, env={"WARPKIT_PIECE": "junk"})
    assert "WARPKIT_PIECE=junk" in text
    assert "must be a number of bytes" in text


def test_the_default_device_comes_from_the_environment(setting):
    setting("WARPKIT_DEVICE", "cpu")
    assert isinstance(warpkit.reduce(np.ones(3)), np.floating)
    setting("WARPKIT_DEVICE", "gpu")
    with pytest.raises(ValueError, match="unknown device 'gpu'"):
        warpkit.reduce(np.ones(3))
    assert "WARPKIT_DEVICE" in os.environ
