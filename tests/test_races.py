"""Planted races, each with its mended twin: what is reported, in which words, and what is not."""

import os
import re
import shutil
import subprocess
import sys

import helpers
import numpy as np
import pytest
import warpkit

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.unsanitized,  # whose stacks are not those of other objects
]

RACES, STREAMS = helpers.KERNELS / "races.cu", helpers.KERNELS / "streams.cu"
LINES = RACES.read_text().splitlines()


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(scope="module")
def races(cache):
    return warpkit.compile(RACES, check="races")


X, OUT = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
KEYS, BINS = np.arange(64, dtype=np.int32) % 5, np.zeros(5, np.int32)
PARTS, ONE = np.zeros(512, np.int32), np.zeros(1, np.int32)

# By kernel: blocks, threads, bytes of dynamic shared memory; its arguments before `mended`; which
# array is reported, and what is said to order the two.
BARRIER = r"__syncthreads\(\) between them would"
PLANTED = {
    "barrier": ((1, 64), (X, OUT), r"s\[\d+\] \(shared\)", BARRIER),
    "second_barrier": (
        (1, 64, 256),
        (X, OUT),
        r"dynamic shared memory at its byte \d+",
        BARRIER,
    ),
    "warp_sum": ((1, 64), (X, OUT), r"s\[\d+\] \(shared\)", r"from turn to turn, __syncwarp\(\)"),
    "tile": ((1, 64), (X, OUT), r"s\[\d+\] \(shared\)", r"__syncwarp\(\) or"),
    "two_blocks": ((4, 32), (ONE,), r"out\[0\]", "blocks have no barrier: an atomic would"),
    "last_block": ((8, 64), (PARTS, ONE), r"parts\[\d+\]", r"__threadfence\(\) before an atomic"),
    "chain": ((8, 1), (BINS.repeat(2), PARTS), r"sums\[0\]", r"__threadfence\(\) before an atomic"),
    "counts": ((1, 64), (KEYS, BINS), r"bins\[\d\]", "an atomic would, or, from turn to"),
    "cleared": ((1, 64), (X, OUT), r"s\[\d+\] \(shared\)", BARRIER),
    "zeroed": ((1, 64), (ONE,), r"n\[0\] \(shared\)", BARRIER),
    "bytes": ((1, 64), (np.zeros(64, np.int8),), r"x\[\d+\]", "an atomic would"),
    "cell": ((1, 32), (), r"table\[\d\]\[5\] \(a variable\)", "an atomic would"),
}
SCHEDULES = [("linear", 1), ("reverse", 1), ("random", 1), ("linear", 4)]


def run(races, name, mended):
    launch, arguments, *_ = PLANTED[name]
    races.tickets[...] = 0
    races[name][launch](*(a.copy() for a in arguments), mended)


@pytest.mark.parametrize(("schedule", "threads"), SCHEDULES)
@pytest.mark.parametrize("name", PLANTED)
def test_a_race_is_told_and_its_mended_twin_is_silent(races, name, schedule, threads, setting):
    if name == "chain" and schedule != "linear":
        pytest.skip("a block waits for one that has yet to run")
    setting("WARPKIT_EMU_SCHEDULE", schedule)
    setting("WARPKIT_EMU_THREADS", str(threads))
    run(races, name, 1)
    _, _, array, remedy = PLANTED[name]
    at = rf" at {re.escape(str(RACES))}:\d+"
    who = r"  block \(\d, 0, 0\), thread \(\d+, 0, 0\), lane \d+ of warp \d"
    now, before = "(reads|writes|changes) it( atomically)?", "(read|wrote|changed) it( atomically)?"
    text = (
        rf"^kernel {name}: race on {array}\n{who} {now}{at}\n{who} {before}{at}\n"
        rf"Nothing orders the two; .*{remedy}"
    )
    with pytest.raises(warpkit.RaceError, match=text):
        run(races, name, 0)
    run(races, name, 1)


def test_both_lines_are_named(races):
    with pytest.raises(warpkit.RaceError) as caught:
        run(races, "barrier", 0)
    lines = RACES.read_text().splitlines()
    told = [lines[int(n) - 1].strip() for n in re.findall(r"races.cu:(\d+)", str(caught.value))]
    write, read = "s[threadIdx.x] = x[threadIdx.x];", "out[threadIdx.x] = s[63 - threadIdx.x];"
    assert told[:2] == [write, read]
    assert told[2:] == [write, write, read, read, write, write]  # what the two did


@pytest.mark.parametrize("threads", [1, 4])
def test_fences_order_what_stands_before_them(races, threads, setting):
    setting("WARPKIT_EMU_THREADS", str(threads))
    races.tickets[...] = 0
    for fence in (1, 2):
        out = np.zeros(1, np.int32)
        races.last_block[8, 64](PARTS.copy(), out, fence)
        assert out[0] == 512 * 511 // 2
    for fence in (0, 3):
        with pytest.raises(warpkit.RaceError, match=r"race on parts\["):
            races.last_block[8, 64](PARTS.copy(), np.zeros(1, np.int32), fence)
        races.tickets[...] = 0


def test_many_blocks_on_several_threads(races, setting):
    setting("WARPKIT_EMU_THREADS", "4")
    x = np.zeros(1 + 64 * 256, np.int32)
    races.everywhere[64, 256](x)
    assert x[0] == 4 * 64 * 256
    assert (x[1:] == 6).all()
    small = np.zeros(2, np.int32)
    for _ in range(3):
        with pytest.raises(warpkit.RaceError, match=r"^kernel two_blocks: race on out\[0\]"):
            races.two_blocks[512, 32](small, 0)
    assert (small == 0).all()  # an array of NumPy is as it was


@pytest.mark.parametrize("threads", [1, 4])
def test_a_meeting_of_all_blocks_orders_what_they_did(races, threads, setting):
    setting("WARPKIT_EMU_THREADS", str(threads))
    x = np.zeros(2 * 8 * 64, np.int32)
    races.meetings.cooperative[8, 64](x, 5, 1)
    assert x.reshape(2, -1).min(1).tolist() == x.reshape(2, -1).max(1).tolist() == [4, 5]
    with pytest.raises(warpkit.RaceError, match=r"^kernel meetings: race on x\[\d+\]\n"):
        races.meetings.cooperative[8, 64](x, 5, 0)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "unwritten",
            (ONE.astype("f4"),),
            r"reads s\[1\] \(shared\) at \S+, which nobody has written$",
        ),
        ("misaligned", (X,), r"uses x\[1\] as float4 at \S+races.cu:\d+, whose address is no"),
    ],
)
def test_what_is_no_race_is_told_too(races, name, arguments, text):
    races[name][1, 1](*arguments, 1)
    with pytest.raises(warpkit.DeviceError, match=text) as caught:
        races[name][1, 1](*arguments, 0)
    assert not isinstance(caught.value, warpkit.RaceError)


def test_shared_arrays_of_halves_are_silent():
    text = """#include <cuda_fp16.h>
__global__ void k(float *out)
{
    __shared__ half2 s[32];
    __shared__ float4 f[32];
    s[threadIdx.x] = half2(1.0f, 2.0f);
    f[threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    out[threadIdx.x] = __high2float(s[31 - threadIdx.x]) + f[31 - threadIdx.x].z;
}
"""
    out = np.zeros(32, np.float32)
    warpkit.compile(text, check="races").k[1, 32](out)
    assert (out == 5).all()


def test_a_read_past_the_end_is_told(races):
    races.outside[1, 64](X, OUT, 64)
    with pytest.raises(
        warpkit.DeviceError,
        match=r"thread \(63, 0, 0\).* reads 4 bytes at .* of every array, at x\[64",
    ):
        races.outside[1, 64](X, OUT, 65)
    with pytest.raises(
        warpkit.DeviceError, match=r"\(31, 0, 0\).* of every array, at s\[32\] \(shared\)"
    ):
        races.outside_shared[1, 32](OUT)


def test_without_a_check_races_are_not_looked_for(setting):
    plain = warpkit.compile(RACES)
    run(plain, "two_blocks", 0)
    setting("WARPKIT_EMU_RACES", "1")
    with pytest.raises(warpkit.RaceError):
        run(warpkit.compile(RACES), "two_blocks", 0)
    with pytest.raises(ValueError, match="check must be None, 'races' or 'trace', not 'race'"):
        warpkit.compile(RACES, check="race")


# ---- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["k", "c", "kn", "cn"]
)  # a kernel or a copy; apart from the default
@pytest.mark.parametrize("how", ["nothing", "default", "same", "host", "device", "event", "waited"])
def test_streams_are_ordered_by_events_and_waits(how, what):
    done = warpkit.run(STREAMS, [how, what], check="races")
    raced = how == "nothing" or (how == "default" and "n" in what)
    assert done.returncode == raced, done.stderr
    if not raced:
        assert done.stderr == ""
    elif "c" in what:
        assert re.search(
            r"^warpkit: cudaMemcpyAsync in .*: race on device memory, 128 bytes before its block's "
            r"end\n  it reads what kernel add in stream 0x\w+ used at \S+streams.cu:8\n",
            done.stderr,
        )
    else:
        assert re.search(r"^warpkit: kernel add: race on x\[0\]\n", done.stderr)
        assert re.search(r"  kernel add in stream 0x\w+ wrote it at \S+streams.cu:8", done.stderr)
        assert "an event that the one stream records" in done.stderr


def test_a_program_with_a_race_fails_in_a_shell(tmp_path):
    path = tmp_path / "own.cu"
    path.write_text(
        "__global__ void k(int *x) { *x = 1; }\n"
        "int main() { int *x; cudaMalloc(&x, 4); k<<<2, 1>>>(x); return 0; }\n"
    )
    for option, code in (("", 0), ("--races", 1)):
        command = [sys.executable, "-m", "warpkit", "run", *filter(None, [option]), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        assert bool(re.search(r"^warpkit: kernel k: race on x\[0\]", done.stderr)) == bool(code)


def test_memory_that_nobody_has_written(tmp_path):
    text = (
        "__global__ void k(int *x, int *y) { *y = *x; }\n"
        "int main() { int *x; cudaMalloc(&x, 8); %s k<<<1, 1>>>(x, x + 1); }\n"
    )
    assert warpkit.run(text % "cudaMemset(x, 0, 4);", check="races").stderr == ""
    done = warpkit.run(text % "", check="races")
    assert re.search(r"reads x\[0\] at source.cu:1, which nobody has written", done.stderr)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no clang++")
def test_clang_tells_of_races_too():
    script = f"""import warpkit, numpy as np
m = warpkit.compile({str(RACES)!r}, check="races")
x = np.zeros(1, np.int32)
m.one_for_all[1, 64](x, np.zeros(64, np.int32))
assert x[0] == 2, x  # not every lane has gone there
x = np.arange(64, dtype=np.float32)
m.barrier[1, 64](x, np.zeros_like(x), 1)
try: m.barrier[1, 64](x, np.zeros_like(x), 0)
except warpkit.RaceError as error: assert "races.cu" in str(error), error
else: raise AssertionError
"""
    helpers.python(script, env={"CXX": "clang++", "PATH": os.environ["PATH"]})
