"""Ctrl-C, or any signal whose handler raises: the call ends soon, and leaves nothing behind."""

import signal
import time

import numpy as np
import pytest
import warpkit

AFTER = 0.05  # seconds
SOON = 1  # a fifth is promised; a machine that tests runs other things too


class StoppedError(Exception):
    pass


@pytest.fixture
def alarm():
    """A signal in a while, whose handler raises; gives when it was to come."""

    def handler(number, frame):
        raise StoppedError

    before = signal.signal(signal.SIGALRM, handler)

    def ring():
        signal.setitimer(signal.ITIMER_REAL, AFTER)
        return time.perf_counter() + AFTER

    yield ring
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def arrays():
    """Elements that take long: on the emulated device a few, on the CPU many."""
    made = {}

    def make(device):
        if device not in made:
            n = 1 << (20 if device.startswith("emu") else 23)
            rng = np.random.default_rng(0)
            wide = rng.random(n) * np.exp2(rng.integers(-300, 300, n))
            keys = rng.integers(0, n // 8, n)
            made[device] = wide, keys, wide.reshape(1 << 10, -1)
        return made[device]

    return make


CALLS = {
    "reduce": lambda wide, keys, matrix: warpkit.reduce(wide, "var"),
    "partial": lambda wide, keys, matrix: warpkit.partial(wide, "std"),
    "transpose": lambda wide, keys, matrix: warpkit.transpose(matrix),
    "stencil1d": lambda wide, keys, matrix: warpkit.stencil1d(wide, np.ones(999)),
    "stencil1d, columns": lambda wide, keys, matrix: warpkit.stencil1d(matrix, np.ones(999), 0),
    "bincount": lambda wide, keys, matrix: warpkit.bincount(keys, wide),
    "unique_counts": lambda wide, keys, matrix: warpkit.unique_counts(wide),
    "dot": lambda wide, keys, matrix: warpkit.dot(wide, wide),
    "cumsum": lambda wide, keys, matrix: warpkit.cumsum(wide),
    "cumsum, columns": lambda wide, keys, matrix: warpkit.cumsum(matrix, 0),
    "segment_reduce": lambda wide, keys, matrix: warpkit.segment_reduce(
        wide, [0, 9, wide.size], "var"
    ),
    "group_reduce": lambda wide, keys, matrix: warpkit.group_reduce(keys, wide, "var"),
}


def for_ever(call, given):
    while True:
        call(*given)


@pytest.mark.large
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_stopped_and_the_next_one_is_right(name, device, alarm, arrays):
    if device.startswith("cuda"):
        pytest.skip("is too fast to be stopped")
    given = arrays(device)
    used = warpkit.memory_info(device).get("pool_used")
    with warpkit.device(device):
        due = alarm()
        with pytest.raises(StoppedError):
            for_ever(CALLS[name], given)
        assert time.perf_counter() - due < SOON
        assert warpkit.reduce(np.arange(1000.0)) == 499500
    assert warpkit.memory_info(device).get("pool_used") == used
