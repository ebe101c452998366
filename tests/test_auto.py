"""device="auto": the model decides as it should; its rates are given here, never timed."""

import math
import os
import re
import threading

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import _auto
from warpkit._auto import Choice, Model

CPU = Model(fixed=3e-6, inwards=20e9)
GPU = Model(fixed=12e-6, inwards=50e9, outwards=40e9, kernel=1e12)
OPS = ("reduce", "transpose", "stencil1d", "histogram", "warp_histogram")
OPS += ("run_length", "unique_counts")


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Nothing measured before, and nothing kept."""
    monkeypatch.setattr(_auto, "_choices", {})
    monkeypatch.setattr(_auto, "_bus", None)


def given(monkeypatch, choice, devices=("cpu", "cuda:0", "emu")):
    """Let measuring give this; returns the operations it was asked for."""
    asked = []

    def measure_gpu(op, sample):
        asked.append(op)
        if isinstance(choice, Exception):
            raise choice
        return choice.gpu

    monkeypatch.setattr(warpkit, "devices", lambda: list(devices))

    def measure_large(op):
        asked.append(f"large {op}")
        return choice

    monkeypatch.setattr(_auto, "sample_array", lambda: np.zeros((4, 4), np.float32))
    monkeypatch.setattr(_auto, "measure_large", measure_large)
    monkeypatch.setattr(_auto, "measure_gpu", measure_gpu)
    monkeypatch.setattr(_auto, "measure_host", lambda op, sample: (choice.host, choice.growth))
    return asked


# ---- the model ---------------------------------------------------------------------------------


def test_a_model_adds_the_fixed_time_to_the_slowest_of_what_overlaps():
    model = Model(fixed=1.0, inwards=10.0, outwards=20.0, kernel=5.0)
    assert model.seconds(0, 0) == 1.0
    assert model.seconds(100, 0) == 1 + 100 / 5
    assert model.seconds(0, 100) == 1 + 100 / 20
    assert model.seconds(100, 1000) == 1 + 1000 / 20
    assert Model(1.0, 10.0, 20.0, kernel=50.0).seconds(100, 0) == 1 + 100 / 10


def test_a_model_of_a_host_knows_one_rate():
    assert Model(2.0, 10.0).seconds(100, 10**12) == 12.0


def test_a_model_cannot_be_changed():
    with pytest.raises(AttributeError):
        CPU.fixed = 0


@pytest.mark.parametrize(
    ("nbytes", "winner"), [(0, "cpu"), (1000, "cpu"), (2**20, "cuda:0"), (2**40, "cuda:0")]
)
def test_the_smaller_time_wins(nbytes, winner):
    assert Choice(CPU, GPU, 0.0).device(nbytes, 0) == winner


def test_a_large_result_keeps_a_call_from_a_slow_bus():
    slow = Model(fixed=12e-6, inwards=50e9, outwards=1e9, kernel=1e12)
    assert Choice(CPU, slow, 0.0).device(2**30, 0) == "cuda:0"
    assert Choice(CPU, slow, 1.0).device(2**30, 2**30) == "cpu"


def test_of_equals_the_cpu_is_chosen():
    assert Choice(CPU, CPU, 0.0).device(1000, 1000) == "cpu"


@pytest.mark.parametrize("growth", [0.0, 1.0, 1.5])
def test_the_verdict_is_where_the_choice_turns(growth):
    choice = Choice(CPU, GPU, growth)
    even = re.fullmatch(r"the GPU from (\d+) KiB on", choice.verdict())
    nbytes = int(even[1]) * 1024
    assert choice.device(0.99 * nbytes, 0.99 * nbytes * growth) == "cpu"
    assert choice.device(1.01 * nbytes, 1.01 * nbytes * growth) == "cuda:0"


def test_the_verdict_where_one_device_always_wins():
    worse = Model(fixed=12e-6, inwards=10e9)
    assert Choice(CPU, worse, 0.0).verdict() == "always the CPU"
    assert Choice(worse, CPU, 0.0).verdict() == "always the GPU"
    assert Choice(CPU, CPU, 0.0).verdict() == "always the CPU"
    quick = Model(fixed=1e-6, inwards=10e9)
    assert re.fullmatch(r"the GPU up to \d+ KiB", Choice(CPU, quick, 0.0).verdict())


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (7, "7 bytes"),
        (999, "999 bytes"),
        (1000, "0.98 KiB"),
        (1.3 * 2**20, "1.3 MiB"),
        (64 * 2**20, "64 MiB"),
        (2.5 * 2**30, "2.5 GiB"),
        (2**43, "8192 GiB"),
    ],
)
def test_sizes_are_said_in_two_digits(nbytes, text):
    assert _auto.size(nbytes) == text


# ---- choosing ----------------------------------------------------------------------------------


def test_without_a_gpu_it_is_the_cpu_and_nothing_is_timed(monkeypatch):
    monkeypatch.setattr(warpkit, "devices", lambda: ["cpu", "emu"])
    monkeypatch.setattr(_auto, "measure_host", lambda *_: pytest.fail("timed"))
    monkeypatch.setattr(_auto, "measure_gpu", lambda *_: pytest.fail("timed"))
    assert {_auto.choose(op, 2**40, 0) for op in OPS} == {"cpu"}
    assert _auto.describe() == ["auto    cpu: there is no GPU"]


def test_each_operation_is_measured_once(monkeypatch):
    asked = given(monkeypatch, Choice(CPU, GPU, 0.0))
    for _ in range(3):
        for op in OPS:
            assert _auto.choose(op, 2**22, 0) == "cuda:0"
            assert _auto.choose(op, 10, 0) == "cpu"
    assert asked == list(OPS)


def test_large_arrays_are_measured_apart(monkeypatch):
    asked = given(monkeypatch, Choice(CPU, GPU, 0.0))
    for _ in range(2):
        assert _auto.choose("reduce", _auto.LARGE, 0) == "cuda:0"
    assert asked == ["large reduce"]
    assert _auto.choose("reduce", _auto.LARGE - 1, 0) == "cuda:0"
    assert asked == ["large reduce", "reduce"]


def test_threads_that_ask_at_once_measure_once(monkeypatch):
    asked = given(monkeypatch, Choice(CPU, GPU, 0.0))
    start, chosen = threading.Barrier(8), []

    def ask():
        start.wait()
        chosen.append(_auto.choose("reduce", 2**22, 0))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert chosen == ["cuda:0"] * 8
    assert asked == ["reduce"]


@pytest.mark.parametrize("error", [warpkit.DeviceError("out of order"), MemoryError("full")])
def test_a_gpu_that_fails_is_not_chosen_and_not_asked_again(monkeypatch, error):
    asked = given(monkeypatch, error)
    assert _auto.choose("reduce", 2**22, 0) == "cpu"
    assert _auto.choose("reduce", 2**22, 0) == "cpu"
    assert asked == ["reduce"]
    assert _auto.describe() == [f"auto    cpu: cuda:0 cannot be used: {error}"]


def test_an_interrupted_measurement_is_made_again(monkeypatch):
    def measure(op, large):
        raise KeyboardInterrupt

    monkeypatch.setattr(_auto, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        _auto.choose("reduce", 1, 0)
    monkeypatch.setattr(_auto, "measure", lambda op, large: Choice(CPU, GPU, 0.0))
    assert _auto.choose("reduce", 2**30, 0) == "cuda:0"


def test_an_unknown_operation_is_an_error():
    with pytest.raises(ValueError, match=r"'median'.*reduce, transpose"):
        _auto.choose("median", 1, 1)


def test_every_operation_of_the_table_can_be_chosen_for():
    assert list(_auto.OPS) == list(dict.fromkeys(row.op for row in warpkit.variants()))


def test_what_is_timed_runs_on_every_device(device):
    sample = _auto.sample_array()[:4, :64]
    assert sample.min() >= 0
    assert sample.max() < 1
    for run in _auto.OPS.values():
        assert _auto.nbytes_of(run(sample, device)) > 0


def test_measuring_ends_in_rates_that_can_be_used(device, monkeypatch):
    """Whatever they are; another device stands in for the GPU."""
    if device == "cpu":
        pytest.skip("arrays do not stay there")
    monkeypatch.setattr(_auto, "GPU", device)
    monkeypatch.setattr(_auto, "ROWS", 64)
    monkeypatch.setattr(_auto, "COLUMNS", 64)
    for op in _auto.OPS:
        choice = _auto.measure(op, False)
        rates = [choice.host.inwards, choice.gpu.inwards, choice.gpu.outwards, choice.gpu.kernel]
        assert all(0 < rate < math.inf for rate in rates)
        assert choice.host.fixed > 0
        assert choice.gpu.fixed > 0
    for large in (False, True):
        assert _auto.measure("transpose", large).growth == 1
        assert _auto.measure("reduce", large).growth < 0.01
    assert "GB/s; always the " in str(_auto.measure("transpose", True))


# ---- forks -------------------------------------------------------------------------------------


def in_child(question):
    """What a fork answers: True or False."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if question() else 1
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.unsanitized
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_of_a_process_that_uses_the_gpu_uses_the_cpu(monkeypatch):
    asked = given(monkeypatch, Choice(CPU, GPU, 0.0))
    assert _auto.choose("reduce", 2**22, 0) == "cuda:0"
    assert in_child(lambda: {_auto.choose(op, 2**40, 0) for op in OPS} == {"cpu"})
    assert in_child(lambda: "fork" in " ".join(_auto.describe()))
    assert _auto.choose("reduce", 2**22, 0) == "cuda:0"
    assert asked == ["reduce"]


@pytest.mark.unsanitized
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_does_not_wait_for_its_parents_measurement(monkeypatch):
    given(monkeypatch, Choice(CPU, GPU, 0.0), devices=("cpu",))
    with _auto._lock:
        assert in_child(lambda: _auto.choose("reduce", 1, 1) == "cpu")


# ---- the lines for show_config -----------------------------------------------------------------


def test_before_anything_is_measured_the_line_says_what_will_be(monkeypatch):
    monkeypatch.setattr(_auto, "measure", lambda *_: pytest.fail("measured"))
    (line,) = _auto.describe()
    assert line.startswith("auto    nothing measured yet")
    assert 'device="auto"' in line


def test_the_lines_name_rates_and_where_the_choice_turns(monkeypatch):
    given(monkeypatch, Choice(Model(3e-6, 21e9), Model(12e-6, 52e9, 50e9, 1e12), 0.0))
    _auto.choose("reduce", 1, 0)
    _auto.choose("histogram", 1, 0)
    first, second = _auto.describe()
    assert first == (
        "auto    reduce: cpu 21 GB/s + 3 us, cuda:0 bus 52/50 GB/s + 12 us; the GPU from 310 KiB on"
    )
    assert second.startswith("auto    histogram: ")


def test_a_kernel_that_is_slower_than_the_bus_is_named(monkeypatch):
    given(monkeypatch, Choice(Model(3e-6, 5e9), Model(12e-6, 52e9, 50e9, 21e9), 0.0))
    _auto.choose("histogram", 1, 0)
    assert "kernel 21 GB/s" in _auto.describe()[0]


# ---- a whole call ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", helpers.sizes((0, 3), (40, 30), (3000, 2000)))
def test_auto_gives_the_bits_of_the_cpu(shape):
    a = helpers.values("float32", shape)
    for name, got in {
        "reduce": warpkit.reduce(a, device="auto"),
        "transpose": warpkit.transpose(a, device="auto"),
    }.items():
        helpers.assert_same(got, getattr(warpkit, name)(a, device="cpu"))


@pytest.fixture
def chooser():
    """Lets another function than _auto.choose choose."""
    register, first = warpkit._core.register, (warpkit.DeviceArray, warpkit._libraries.adopt)
    yield lambda choose: register(*first, choose)
    register(*first, _auto.choose)


def test_the_choice_is_asked_for_the_operation_and_its_bytes_and_followed(device, chooser):
    asked = []

    def choose(*args):
        asked.append(args)
        return device

    chooser(choose)
    a = helpers.values("float32", (40, 30))
    row = helpers.rows("transpose")[-1]
    helpers.assert_same(
        warpkit.transpose(a, device="auto", variant=row.name if row.device == device else None),
        np.ascontiguousarray(a.T),
    )
    warpkit.reduce(a, device="auto")
    assert asked == [("transpose", a.nbytes, a.nbytes), ("reduce", a.nbytes, 0)]
    if device != "cpu":
        warpkit.reduce(warpkit.asarray(a, device=device), device="auto")
        assert len(asked) == 2  # an array on a device is not moved, so there is no choice


@pytest.mark.parametrize("answer", ["nonsense", 3, None, "auto"])
def test_an_answer_that_is_no_device_is_an_error(chooser, answer):
    chooser(lambda *_: answer)
    with pytest.raises((ValueError, TypeError)):
        warpkit.reduce([1, 2], device="auto")
    assert warpkit.reduce([1, 2], device="cpu") == 3


def test_an_error_of_the_choice_passes_on(chooser):
    def choose(*_):
        raise ZeroDivisionError

    chooser(choose)
    with pytest.raises(ZeroDivisionError):
        warpkit.reduce([1, 2], device="auto")
