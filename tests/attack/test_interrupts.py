"""Ctrl-C within a call: KeyboardInterrupt soon, memory given back, and the next call is right."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest
import warpkit
from helpers import assert_same, python, values

# Seconds until the exception comes. It is asked for every 50 ms, and between pieces; a machine that
# is busy with other tests may take its time, a call that is never asked takes minutes.
SOON = 5

ONE = np.float32(1)
MANY = np.broadcast_to(ONE, 2**40)
SQUARE = np.broadcast_to(ONE, (2**20, 2**20))


def long_calls():
    """Calls that take minutes."""
    noise = values("float64", 1 << 20)
    taps = np.ones(200_001)
    return {
        "sum": lambda **k: warpkit.reduce(MANY, **k),
        "product": lambda **k: warpkit.reduce(np.broadcast_to(ONE, 2**36), "prod", **k),
        "index": lambda **k: warpkit.reduce(MANY, "argmax", **k),
        "variance of columns": lambda **k: warpkit.reduce(SQUARE, "var", 0, **k),
        "sums of rows": lambda **k: warpkit.reduce(SQUARE, ("sum", "max"), 1, **k),
        "sum of some": lambda **k: warpkit.reduce(MANY, where=np.array(True), **k),
        "stencil": lambda **k: warpkit.stencil1d(noise, taps, **k),
        "stencil of columns": lambda **k: warpkit.stencil1d(
            noise.reshape(-1, 64), taps, 0, mode="wrap", **k
        ),
        "histogram": lambda **k: warpkit.histogram(MANY, 10, (0, 2), **k),
        "histogram of bytes": lambda **k: warpkit.bincount(
            np.broadcast_to(np.uint8(1), 2**36), **k
        ),
    }


CALLS = long_calls()


def interrupted(call, after=0.2):
    """Calls in the main thread, sends it SIGINT, and gives the seconds that it took to stop."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # What a shell starts in the background ignores SIGINT, and so does Python there.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def right(device):
    """What the device gives before must be what it gives after."""
    a = values("float32", (300, 70))
    calls = (
        lambda: warpkit.reduce(a, "var", 0, device=device),
        lambda: warpkit.histogram(a, 9, device=device)[0],
        lambda: warpkit.transpose(a, device=device),
    )
    want = [call() for call in calls]
    yield
    for call, result in zip(calls, want, strict=True):
        assert_same(call(), result)


@pytest.mark.unsanitized  # AddressSanitizer makes each piece take longer
@pytest.mark.parametrize("name", CALLS)
def test_every_long_call_stops_soon(name, device, right):
    if device.startswith("cuda") and name.startswith("stencil"):
        pytest.skip("one piece, which a GPU is done with before Ctrl-C comes")
    if device == "cpu" and name.startswith("histogram"):
        pytest.skip("gathered first, for which there is no memory")
    used = None
    for _ in range(2):
        assert interrupted(lambda: CALLS[name](device=device)) < SOON
        warpkit.release_memory(device)
        now = warpkit.memory_info(device)["pool_used"]
        assert used in (None, now)  # nothing is left of the first, so nothing more of the second
        used = now


@pytest.mark.unsanitized
@pytest.mark.parametrize("op", ["unique_counts", "run_length"])
def test_sorting_stops_soon(op, device, right):
    if device != "cpu":
        pytest.skip("device arrays are sorted by kernels, host arrays cross in pieces")
    a = np.random.default_rng(0).random(1 << 25)
    assert interrupted(lambda: getattr(warpkit, op)(np.tile(a, 4), device="cpu"), 1) < SOON


@pytest.mark.unsanitized
def test_a_kernel_stops_soon(device, right):
    if device != "emu":
        pytest.skip("only an emulated kernel can be stopped")
    there = warpkit.asarray(np.broadcast_to(ONE, (2048, 8192)), device=device)
    for variant in ("gmem", "neighbored", "shfl"):
        call = lambda v=variant: [warpkit.reduce(there, variant=v) for _ in range(10**6)]  # noqa: E731
        assert interrupted(call) < SOON


@pytest.mark.unsanitized
def test_a_handler_that_raises_nothing_changes_nothing(device):
    """The call goes on where it was, also where the handler calls warpkit."""
    a = np.broadcast_to(np.float32(0.1), 1 << (28 if device != "emu" else 20))  # longer than a poll
    want = warpkit.reduce(a, "norm", device="cpu")
    seen = []

    def handler(number, frame):
        seen.append(warpkit.reduce([1, 2.5], device="cpu"))
        with contextlib.suppress(warpkit.DeviceError):  # it is the interrupted call's
            seen.append(warpkit.reduce([1, 2.5], device=device))

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
    try:
        end = time.perf_counter() + 1
        while time.perf_counter() < end:
            assert warpkit.reduce(a, "norm", device=device) == want
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    assert set(seen) == {3.5}


@pytest.mark.unsanitized
def test_other_threads_go_on(device):
    """Ctrl-C is the main thread's; what others compute is right."""
    a = values("float32", 1 << (22 if device != "emu" else 18))
    want = warpkit.reduce(a, "var", device="cpu")
    results, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            results.append(warpkit.reduce(a, "var", device=device))

    other = threading.Thread(target=work)
    other.start()
    try:
        interrupted(lambda: time.sleep(60), 0.3)
        interrupted(lambda: CALLS["sum"](device="cpu"), 0.3)
    finally:
        stop.set()
        other.join()
    assert set(results) == {want}


DROPS = """
import threading, numpy as np, warpkit
a = warpkit.asarray(np.ones(1 << 21, "f4"), device="emu")
stop = threading.Event()
def work():
    while not stop.is_set():
        warpkit.empty(1 << 20, "f4", device="emu")  # the GIL is held, and the device asked
other = threading.Thread(target=work)
other.start()
for _ in range(3):
    assert float(warpkit.reduce(a, variant="gmem")) == a.size
stop.set()
other.join()
print("done")
"""


@pytest.mark.unsanitized
def test_a_kernel_that_asks_waits_for_no_thread_that_waits_for_the_device(device):
    """One has the device and wants the GIL to look for signals, the other has the GIL."""
    if device != "emu":
        pytest.skip("a launch on another device does not hold it")
    assert python(DROPS) == "done\n"
