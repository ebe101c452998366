"""Whichever request for memory fails: MemoryError, or the right answer; and the next call works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import helpers
import pytest

pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here"),
]
HERE = Path(__file__).parent
QUICK = 5  # seconds


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    target = tmp_path_factory.mktemp("shim") / "fail_malloc.so"
    source = HERE / "fail_malloc.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    made = subprocess.run(["cc", *flags, source, "-o", target, "-ldl"], capture_output=True)
    if made.returncode != 0 and "GNU" not in os.confstr("CS_GNU_LIBC_VERSION").upper():
        pytest.skip("another C library than glibc")
    assert made.returncode == 0, made.stderr
    return target


def failures(shim, device, threads="4", **settings):
    """How many requests have failed; each line of the script that tells a fault fails the test."""
    seconds = helpers.options["attack"] or QUICK
    env = {k: v for k, v in os.environ.items() if k[:12] != "WARPKIT_EMU_"}
    env |= {"LD_PRELOAD": str(shim), "WARPKIT_NUM_THREADS": threads} | settings
    done = subprocess.run(
        [sys.executable, HERE / "allocations.py", device, str(seconds), shim],
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds * 4 + 300,
    )
    lines = done.stdout.splitlines()
    told = "\n".join(line for line in lines if not line.startswith("#"))
    assert done.returncode == 0, f"{told[:5000]}\n{lines[-3:]}\n{done.stderr[-1000:]}"
    return int(re.search(r"^0 faults, (\d+) requests failed$", told, re.MULTILINE)[1])


@pytest.mark.parametrize("pieces", ["1000000", "4096"])
def test_a_call_without_memory_raises_and_the_next_is_right(shim, device, pieces):
    if device.startswith("cuda"):
        pytest.skip("the driver's requests are its own")
    if device == "cpu" and pieces == "4096":
        pytest.skip("the CPU takes no pieces")
    assert failures(shim, device, WARPKIT_PIECE=pieces) > 40


OBJECTS = """
import sys
import _testcapi
sys.argv = ["allocations.py", "cpu"]
import warpkit
from allocations import OPERATIONS, bits

failed = 0
for name, call in OPERATIONS.items():
    if name.startswith(("histogram", "bincount", "smem")):
        continue  # NumPy's own operations on what they return crash (2.4: array_subscript)
    want = bits(call())
    for n in range(1, 100):
        got = want
        try:
            _testcapi.set_nomemory(n, n + 1)
            result = call()
            _testcapi.remove_mem_hooks()
            got = bits(result)
        except MemoryError:
            failed += 1
        finally:
            _testcapi.remove_mem_hooks()
        assert got == want == bits(call()), (name, n)
print(failed)
"""


def test_any_object_of_python_may_be_the_one_there_is_no_memory_for():
    pytest.importorskip("_testcapi")
    if "cpu" not in helpers.devices:
        pytest.skip("once, with the CPU's")
    path = os.pathsep.join([*sys.path, str(HERE)])
    assert int(helpers.python(OBJECTS, env={"PYTHONPATH": path})) > 200


LITTLE = """
import resource, sys
import numpy as np, warpkit
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 20), limits[1]))
for call in (lambda: warpkit.memory_info("emu"), lambda: warpkit.reduce(np.ones(3), device="emu")):
    try:
        call()
    except MemoryError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_AS, limits)
print(warpkit.reduce(np.ones(3), device="emu"))
"""


def test_a_plug_in_that_there_was_no_memory_for_is_loaded_later(device):
    if device != "emu":
        pytest.skip("of the emulated device's plug-in")
    told = helpers.python(LITTLE).splitlines()
    assert len(told) == 3
    assert told[2] == "3.0"
    assert all("cannot load the emu plug-in" in line for line in told[:2])
