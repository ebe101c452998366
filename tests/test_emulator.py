"""The emulated device's schedules and limits, and a debugger in a kernel."""

import os
import shutil
import subprocess

import helpers
import numpy as np
import pytest
import warpkit
from helpers import assert_same, values

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.unsanitized,  # it runs programs of its own
]

SETTINGS = [
    {"WARPKIT_EMU_SCHEDULE": "linear", "WARPKIT_EMU_THREADS": "1"},
    {"WARPKIT_EMU_SCHEDULE": "reverse", "WARPKIT_EMU_THREADS": "3"},
    {"WARPKIT_EMU_SCHEDULE": "random", "WARPKIT_EMU_SEED": "1", "WARPKIT_EMU_THREADS": "2"},
    {"WARPKIT_EMU_SCHEDULE": "random", "WARPKIT_EMU_SEED": "123456789"},
    {"WARPKIT_EMU_SCHEDULE": "random", "WARPKIT_EMU_MEMORY": "weak"},
    {"WARPKIT_EMU_SECONDS": "0", "WARPKIT_EMU_THREADS": "7"},
]


def results(device):
    """Of every row that the device has, over data for many blocks."""
    a = values("float32", (150, 211))
    for row in helpers.rows("reduce"):
        if row.device != device:
            continue
        if row.production:
            yield row(a, "sum")
            yield row(a, "mean", 0)
            yield row(a, "max", 1)
        elif row.name in ("shfl_atomic", "redux"):  # the order of float atomics is nobody's
            yield row((a * 1000).astype("int32"), "sum")
        else:
            yield row(a, "sum")
    for row in helpers.rows("transpose"):
        if row.device == device:
            yield row(a)
    for row in helpers.rows("stencil1d"):
        if row.device == device:
            yield row(a, [0.5, -1.5, 0.3])
    for row in helpers.rows("histogram"):
        if row.device == device:
            yield row(a, 40)[0]
    for row in helpers.rows("warp_histogram"):
        if row.device == device:
            ascending = helpers.in_sorted_warps(a)
            yield from row(ascending, assume_sorted=True)
            if row.name not in helpers.SORTED_ONLY:
                yield from row(a)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_no_setting_changes_a_bit(settings, setting):
    want = list(results("emu"))
    for name, value in settings.items():
        setting(name, value)
    for mine, theirs in zip(results("emu"), want, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("SCHEDULE", "forward", "'linear', 'reverse' or 'random'"),
        ("MEMORY", "relaxed", "'strong' or 'weak'"),
        ("SEED", "-1", "a whole number, at least 0"),
        ("SEED", "seven", "a whole number, at least 0"),
        ("THREADS", "0", "a whole number, at least 1"),
        ("STEPS", "nan", "a whole number, at least 1"),
        ("SECONDS", "1s", "a number, at least 0"),
    ],
)
def test_a_setting_that_cannot_be_read_is_an_error(name, value, taken, setting):
    a = np.ones(3)
    setting(f"WARPKIT_EMU_{name}", value)
    with pytest.raises(ValueError, match=f"WARPKIT_EMU_{name} is '{value}'.*{taken}"):
        warpkit.reduce(a, device="emu")
    setting(f"WARPKIT_EMU_{name}", "")
    assert warpkit.reduce(a, device="emu") == 3


def test_a_kernel_beyond_its_limit_ends_and_the_next_call_works(setting):
    a = values("float32", (4, 2000))
    setting("WARPKIT_EMU_STEPS", "10")
    for _ in range(3):
        with pytest.raises(
            warpkit.DeviceError,
            match=r"kernel wk::fold_\w+<.*>, block \(\d+, 0, 0\): its threads took more than "
            r"10 steps .*last at cuda/[\w/]+\.cuh:\d+",
        ):
            warpkit.reduce(a, axis=1, device="emu")
    setting("WARPKIT_EMU_STEPS", "")
    assert_same(warpkit.reduce(a, axis=1, device="emu"), warpkit.reduce(a, axis=1, device="cpu"))


FORK = """
import os, warnings
import warpkit
warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is the point here
assert warpkit.reduce([1, 2], device="emu") == 3
pid = os.fork()
if pid == 0:
    try:
        warpkit.reduce([1, 2], device="emu")
    except warpkit.DeviceError as error:
        right = "forked from one that uses device 'emu'" in str(error)
        os._exit(0 if right and warpkit.reduce([1, 2], device="cpu") == 3 else 1)
    os._exit(2)
print(os.waitpid(pid, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_refused_as_by_cuda():
    assert helpers.python(FORK) == "0\n"


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    program = tmp_path_factory.mktemp("order") / "order"
    helpers.emulate(helpers.KERNELS / "order.cu", program)

    def run(schedule, seed="0"):
        env = {"WARPKIT_EMU_SCHEDULE": schedule, "WARPKIT_EMU_SEED": seed}
        env["WARPKIT_EMU_THREADS"] = "1"
        result = subprocess.run(
            [program], env={**os.environ, **env}, capture_output=True, text=True, check=True
        )
        return [int(n) for n in result.stdout.split()]

    return run


def test_linear_and_reverse_are_the_order_of_the_numbers(order):
    n = 6 * 96
    assert order("linear") == list(range(n))
    assert order("reverse") == list(range(n))[::-1]


def test_a_random_schedule_is_its_seeds(order):
    once, other = order("random", "1"), order("random", "2")
    assert sorted(once) == list(range(6 * 96))
    assert once not in (other, sorted(once), sorted(once)[::-1])
    assert once == order("random", "1")
    blocks = [min(once[b * 96 : b * 96 + 96]) for b in range(6)]
    assert blocks != sorted(blocks)  # nor do the blocks come in their order


STEP = """
set pagination off
set debuginfod enabled off
handle SIG39 nostop noprint pass
break turn_round<true> if threadIdx.x == 5
run mended
next
next
print threadIdx.x
print out[threadIdx.x]
next
print out[threadIdx.x]
print s[250]
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb here")
def test_a_debugger_steps_one_thread_over_a_barrier(tmp_path):
    """As docs/emulator.md tells: the thread stays the same, and shared memory can be looked at."""
    program, script = tmp_path / "program", tmp_path / "script"
    helpers.emulate(helpers.KERNELS / "broken" / "missing_barrier.cu", program, debug=True)
    script.write_text(STEP)
    command = ["gdb", "-q", "-nx", "-batch", "-x", script, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    text = done.stdout + done.stderr
    if "ptrace: " in text:
        pytest.skip("gdb may not trace a process here")
    lines = [line for line in text.splitlines() if line.startswith("$")]
    assert lines[0] == "$1 = 5", text
    assert lines[1] != "$2 = 251"
    assert lines[2:] == ["$3 = 251", "$4 = 251"]
