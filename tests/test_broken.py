"""Planted faults, each a kernel in kernels/broken, and which runs of the emulator catch them.

Every program is run mended too, which all runs must pass: a detector that cries at right kernels
catches nothing.
"""

import os
import re
import subprocess

import helpers
import pytest

pytestmark = pytest.mark.unsanitized  # it runs programs of its own

FOLDER = helpers.KERNELS / "broken"
RIGHT, WRONG, ERROR = 0, 11, 12  # exit statuses of program.cuh

PLAIN = {
    "linear": {"WARPKIT_EMU_SCHEDULE": "linear"},
    "reverse": {"WARPKIT_EMU_SCHEDULE": "reverse"},
    "random": {"WARPKIT_EMU_SCHEDULE": "random", "WARPKIT_EMU_SEED": "7"},
    "weak": {"WARPKIT_EMU_MEMORY": "weak"},
}
JOBS = [*PLAIN, "sanitized"]
LIMITS = {
    "WARPKIT_EMU_SECONDS": "0.3",
    "WARPKIT_EMU_STEPS": "20000",
    "WARPKIT_EMU_THREADS": "4",
    "ASAN_OPTIONS": "exitcode=99:detect_stack_use_after_return=0",
}

# By program: the runs that must catch it, and what they print.
FAULTS = {
    "missing_barrier": (["linear", "reverse", "random"], r"wrong: element \d+"),
    "missing_second_barrier": (["linear", "reverse", "random"], r"wrong: element \d+"),
    "missing_fence": (["weak"], "wrong: element 0"),
    "missing_syncwarp": (["linear", "random"], "wrong: element 0"),
    "uninitialised_shared": (JOBS, "wrong: element 0"),
    "shared_off_by_one": (["sanitized"], r"index 64 out of bounds|global-buffer-overflow"),
    "dynamic_shared_off_by_one": (
        JOBS,
        r"kernel shift, block \(0, 0, 0\): writes past the end of its 256 bytes of dynamic shared"
        r" memory|use-after-poison",
    ),
    "global_off_by_one": (
        JOBS,
        r"kernel increment<false> writes past the end of a block of 400 bytes|use-after-poison",
    ),
    "global_read_off_by_one": (JOBS, "wrong: element 63|use-after-poison"),
    "divergent_barrier": (
        JOBS,
        r"kernel swap_halves<false>, block \(0, 0, 0\): warp \d, lane \d+: divergent barrier: it "
        r"comes to __syncthreads at \S+/divergent_barrier.cu:\d+ while warp \d, lane \d+ waits in "
        r"the one at \S+/divergent_barrier.cu:\d+",
    ),
    "unreached_barrier": (
        JOBS,
        r"kernel turn_round<false>, block \(0, 0, 0\): warp 1: deadlock: 33 of 64 threads wait in "
        r"__syncthreads at \S+/unreached_barrier.cu:\d+; lanes 0xfffffffe never arrive: they have "
        r"exited",
    ),
    "wrong_mask": (
        JOBS,
        r"kernel sum_of_half<false>, block \(0, 0, 0\): warp 0: deadlock: lanes 0x0000ffff wait in "
        r"__shfl_down_sync with mask 0xffffffff at \S+/wrong_mask.cu:\d+; lanes 0xffff0000 never "
        r"arrive: they have exited",
    ),
    "wrong_source": (
        JOBS,
        r"warp 0: lane 15 reads lane 16, which takes no part in its __shfl_down_sync with mask "
        r"0x0000ffff at \S+/wrong_source.cu:\d+",
    ),
    "not_in_own_mask": (
        JOBS,
        r"warp 0: lane 0 is not in the mask 0xfffffffe of its own __ballot_sync at "
        r"\S+/not_in_own_mask.cu:\d+",
    ),
    "wrong_width": (JOBS, r"warp 0: __shfl_sync with width 12 at \S+/wrong_width.cu:\d+"),
    "one_bad_block": (
        JOBS,
        r"kernel turn_round<false>, block \(37, 0, 0\): warp 6: deadlock: 255 of 256 threads wait "
        r"in __syncthreads at \S+/one_bad_block.cu:\d+; lanes 0x00000100 never arrive: they have "
        r"exited",
    ),
    "unwritten_result": (JOBS, "wrong: element 63"),
    "host_pointer": (JOBS, "kernel twice: its pointer number 1 is a host address"),
    "endless_loop": (
        JOBS,
        r"kernel sum<false>, block \(0, 0, 0\): a thread ran for more than 0.3 seconds without a "
        r"step",
    ),
    "waits_for_a_later_block": (
        ["weak", "sanitized"],  # the others may run the later block beside it
        r"kernel relay<false>, block \(0, 0, 0\): its threads took more than 20000 steps",
    ),
    "spins_for_a_later_block": (
        ["weak", "sanitized"],
        r"kernel relay<false>, block \(0, 0, 0\): its threads took more than 20000 steps",
    ),
    "bad_address": (
        JOBS,
        r"kernel set, block \(0, 0, 0\): bad address \S+; thread \(\d+, 0, 0\) was last at "
        r"its start|AddressSanitizer: SEGV on unknown address 0x0",
    ),
    "deep_recursion": (
        JOBS,
        r"kernel recurse, block \(0, 0, 0\): the stack is used up at \S+; thread \(0, 0, 0\) was "
        r"last|stack-overflow",
    ),
}


# What a run that looks for races tells of, with the lines that begin so: of races both.
RACES = {
    "missing_barrier": ("race on s", "s[threadIdx.x] = in", "out[threadIdx.x] = s"),
    "missing_second_barrier": ("race on s", "s[threadIdx.x] = in", "out[row * 64 +"),
    "missing_syncwarp": ("race on s", "s[threadIdx.x] = in", "const int other ="),
    "missing_fence": ("race on its pointer number 2", "sums[blockIdx.x] = sum", "for (int b = 0"),
    "dynamic_shared_off_by_one": ("outside of every array", "s[threadIdx.x + 1] ="),
    "global_off_by_one": ("outside of every array", "for (int i = threadIdx.x"),
    "global_read_off_by_one": ("outside of every array", "out[i] = kMended"),
}


def built(factory, kind, sanitize, names):
    """The folder of these programs, built for the emulated device."""
    if "emu" not in helpers.devices:
        pytest.skip("the emulated device is not under test")
    folder = factory.mktemp(kind)
    for name in names:
        helpers.emulate(FOLDER / f"{name}.cu", folder / name, sanitize=sanitize)
    return folder


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """By run, the folder of all of them."""
    plain, sanitized = (
        built(tmp_path_factory, kind, sanitize, FAULTS)
        for kind, sanitize in (("plain", "0"), ("sanitized", "1"))
    )
    return {**dict.fromkeys(PLAIN, plain), "sanitized": sanitized}


@pytest.fixture(scope="session")
def watched(tmp_path_factory):
    return built(tmp_path_factory, "watched", "races", RACES)


def run(program, job, *arguments):
    env = {**os.environ, **LIMITS, **PLAIN.get(job, {})}
    result = subprocess.run(
        [program, *arguments], env=env, capture_output=True, text=True, timeout=120
    )
    return result.returncode, result.stderr


CATCHES = [(name, job) for name, (jobs, _) in FAULTS.items() for job in jobs]


@pytest.mark.parametrize(("name", "job"), CATCHES)
def test_a_planted_fault_is_caught(programs, name, job):
    code, said = run(programs[job] / name, job)
    assert code != RIGHT
    assert re.search(FAULTS[name][1], said), said
    if job in PLAIN:
        assert code == (WRONG if said.startswith("wrong") else ERROR)


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("name", FAULTS)
def test_the_same_kernel_without_the_fault_passes_every_run(programs, name, job):
    assert run(programs[job] / name, job, "mended") == (RIGHT, "")


@pytest.mark.parametrize("name", RACES)
def test_the_detector_names_the_lines_of_a_planted_fault(watched, name):
    code, said = run(watched / name, "races")
    assert code == ERROR
    what, *starts = RACES[name]
    assert what in said
    lines = (FOLDER / f"{name}.cu").read_text().splitlines()
    told = [lines[int(n) - 1].strip() for n in re.findall(rf"/{name}.cu:(\d+)", said)]
    assert len(told) >= len(starts), said
    for start in starts:
        assert any(line.startswith(start) for line in told[:2]), said
    assert run(watched / name, "races", "mended") == (RIGHT, "")


def test_every_program_has_its_line_and_every_line_its_program():
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(FAULTS)
    assert all(jobs for jobs, _ in FAULTS.values())
