"""progress=: a bar or a function learns how far a call is, and does it no harm."""

import sys
import threading
import time
from types import SimpleNamespace

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import _progress

PATIENCE = 30  # seconds; only a failure takes so long


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Look a hundred times as often as for a person."""
    monkeypatch.setattr(_progress, "INTERVAL", 0.001)


@pytest.fixture(autouse=True)
def no_thread_stays():
    yield
    assert not [t for t in threading.enumerate() if t.name == "warpkit-progress"]


class FakeBar:
    """What is used of tqdm, and a record of it."""

    made: list = []  # noqa: RUF012 -- emptied by the fixture

    def __init__(self, **options):
        self.options, self.total = options, options["total"]
        self.n, self.closed, self.seen = 0, 0, []
        self.made.append(self)

    def update(self, more):
        assert not self.closed
        self.n += more
        self.seen.append(self.n)

    def close(self):
        self.closed += 1


@pytest.fixture
def bars(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=FakeBar))
    FakeBar.made.clear()
    return FakeBar.made


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.0005)


class Listener:
    """A progress function that keeps what it was told, and by whom."""

    def __init__(self):
        self.told, self.threads = [], []

    def __call__(self, done, total):
        self.told.append((done, total))
        self.threads.append(threading.current_thread())


# ---- a function --------------------------------------------------------------------------------


def test_a_function_is_told_what_the_counter_says():
    listen = Listener()

    def call(counter):
        assert counter.dtype == np.int64
        assert counter.tolist() == [0, 0]
        counter[1] = 3
        for done in range(3):
            counter[0] = done
            wait_for(lambda done=done: (done, 3) in listen.told)
        counter[0] = 3
        return "result"

    assert _progress.run(call, listen, "reduce") == "result"
    assert listen.told == sorted(listen.told)
    assert set(listen.told) == {(0, 3), (1, 3), (2, 3), (3, 3)}
    assert all(type(x) is int for pair in listen.told for x in pair)


def test_the_last_word_comes_from_the_calling_thread():
    listen = Listener()

    def call(counter):
        counter[:] = 1, 2
        wait_for(lambda: listen.told)
        counter[0] = 2

    _progress.run(call, listen, "reduce")
    assert listen.told[-1] == (2, 2)
    assert listen.threads[-1] is threading.current_thread()
    assert listen.threads[0] is not threading.current_thread()


def test_nothing_is_told_before_the_total_is_known():
    listen = Listener()

    def call(counter):
        time.sleep(0.02)
        assert listen.told == []

    _progress.run(call, listen, "reduce")
    assert listen.told == [(1, 1)]  # what was never cut is one piece; a total is never 0


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_of_the_call_passes_on(kind):
    listen, error = Listener(), kind("words")

    def call(counter):
        counter[:] = 1, 2
        raise error

    with pytest.raises(kind) as info:
        _progress.run(call, listen, "reduce")
    assert info.value is error
    assert (2, 2) not in listen.told


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_first_error_of_the_function_is_raised_after_the_call(kind):
    told, ended = [], []

    def progress(done, total):
        told.append(done)
        raise kind(len(told))

    def call(counter):
        counter[:] = 1, 2
        wait_for(lambda: told)
        time.sleep(0.02)  # time for a second one
        ended.append(True)

    with pytest.raises(kind, match=r"^1$"):
        _progress.run(call, progress, "reduce")
    assert ended == [True]
    assert told == [1]


def test_an_error_of_the_last_word_is_raised_too():
    def progress(done, total):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _progress.run(lambda counter: None, progress, "reduce")


def test_the_calls_error_goes_before_the_functions():
    told = []

    def progress(done, total):
        told.append(done)
        raise ValueError

    def call(counter):
        counter[:] = 1, 2
        wait_for(lambda: told)
        raise IndexError

    with pytest.raises(IndexError):
        _progress.run(call, progress, "reduce")


@pytest.mark.parametrize("progress", [3, "yes", [1]])
def test_what_is_no_function_is_refused_before_the_call(progress):
    with pytest.raises(TypeError, match=f"progress.*{type(progress).__name__}"):
        _progress.run(lambda counter: pytest.fail("was called"), progress, "reduce")


def test_without_progress_there_is_no_thread():
    def call(counter):
        assert counter.tolist() == [0, 0]
        return threading.active_count()

    assert _progress.run(call, False, "reduce") == threading.active_count()


# ---- a bar -------------------------------------------------------------------------------------


def test_a_bar_shows_the_pieces_and_ends_full(bars):
    def call(counter):
        counter[1] = 4
        wait_for(lambda: bars)
        counter[0] = 2
        wait_for(lambda: bars[0].n == 2)
        return "result"

    assert _progress.run(call, True, "transpose") == "result"
    (bar,) = bars
    assert bar.total == 4
    assert "transpose" in bar.options["desc"]
    assert "piece" in bar.options["unit"]
    assert bar.options["leave"] is False
    assert bar.seen == sorted(bar.seen)
    assert bar.n == 4
    assert bar.closed == 1


def test_a_bar_is_closed_where_it_stands_when_the_call_raises(bars):
    def call(counter):
        counter[:] = 1, 4
        wait_for(lambda: bars and bars[0].n == 1)
        raise MemoryError

    with pytest.raises(MemoryError):
        _progress.run(call, True, "reduce")
    assert bars[0].n == 1
    assert bars[0].closed == 1


def test_a_quick_call_shows_no_bar(bars, monkeypatch):
    monkeypatch.setattr(_progress, "INTERVAL", PATIENCE)
    start = time.monotonic()
    _progress.run(lambda counter: counter.fill(1), True, "reduce")
    assert bars == []
    assert time.monotonic() - start < PATIENCE  # the end is not waited for


def test_without_tqdm_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"pip install 'warpkit\[progress\]'"):
        _progress.run(lambda counter: pytest.fail("was called"), True, "reduce")


def test_tqdm_takes_what_it_is_given(capsys):
    pytest.importorskip("tqdm")

    def call(counter):
        counter[1] = 5
        for done in range(1, 6):
            counter[0] = done
            time.sleep(0.005)
        return 1

    assert _progress.run(call, True, "histogram") == 1
    assert "histogram" in capsys.readouterr().err


# ---- operations --------------------------------------------------------------------------------

CALLS = {
    "reduce": lambda a, **options: warpkit.reduce(a, **options),
    "reduce an axis": lambda a, **options: warpkit.reduce(a, "max", 0, **options),
    "transpose": lambda a, **options: warpkit.transpose(a, **options),
    "stencil1d": lambda a, **options: warpkit.stencil1d(a, [1, 2, 1], **options),
    "histogram": lambda a, **options: warpkit.histogram(a, 10, (-1, 1), **options),
    "histogram, no range": lambda a, **options: warpkit.histogram(a, 10, **options),
    "warp_histogram": lambda a, **options: warpkit.warp_histogram(a, **options),
    "bincount": lambda a, **options: warpkit.bincount(np.abs(a).astype(int).ravel(), **options),
}


COUNTED = 1 << 20  # elements, of which no device makes one piece
KEYED = {
    "dot": lambda a, **options: warpkit.dot(a, a, **options),
    "cumsum": lambda a, **options: warpkit.cumsum(a, **options),
    "segment_reduce": lambda a, **options: warpkit.segment_reduce(
        a, [0, COUNTED // 2, COUNTED], "var", **options
    ),
    "group_reduce": lambda a, **options: warpkit.group_reduce(
        np.arange(COUNTED) % 100, a, "max", **options
    ),
    "group sums": lambda a, **options: warpkit.group_reduce(
        np.arange(COUNTED) % 100, a, "sum", 100, **options
    ),
    "unique_counts": lambda a, **options: warpkit.unique_counts(a.view(np.int32), **options),
    "run_length": lambda a, **options: warpkit.run_length(a, **options),
}


@pytest.mark.parametrize("name", [*CALLS, *KEYED])
def test_the_work_is_told_in_pieces(name, device):
    a = helpers.few_values("float32", (1 << 10, COUNTED >> 10))
    listen = Listener()
    call = CALLS.get(name) or KEYED[name]
    got = call(a.ravel() if name in KEYED else a, device=device, progress=listen)
    done, total = listen.told[-1]
    # On a GPU some cross whole, and none tells of blocks.
    whole = device.startswith("cuda") and name in (*KEYED, "histogram, no range", "bincount")
    assert done == total > (0 if whole else 1)
    assert listen.told == sorted(listen.told)
    want = call(a.ravel() if name in KEYED else a, device=device)
    for mine, theirs in zip(arrays(got), arrays(want), strict=True):
        helpers.assert_same(mine, theirs)


def test_blocks_of_an_emulated_kernel_are_told(device):
    if not device.startswith("emu"):
        pytest.skip("no GPU tells how far a kernel is")
    a = warpkit.asarray(helpers.few_values("float32", (512, 512)), device=device)
    for call in (
        lambda **options: warpkit.transpose(a, **options),
        lambda **options: warpkit.transpose(a, variant="naive_col", **options),
        lambda **options: warpkit.reduce(a, **options),
    ):
        listen = Listener()
        call(progress=listen)
        done, total = listen.told[-1]
        assert done == total > 1


def test_a_bar_that_grows_ends_full(bars):
    def call(counter):
        counter[:] = 1, 2
        wait_for(lambda: bars)
        counter[:] = 5, 5

    _progress.run(call, True, "unique_counts")
    assert (bars[0].n, bars[0].total) == (5, 5)


def arrays(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", helpers.sizes((0, 3), (1, 1), (40, 30), (1200, 1000)))
def test_an_operation_ends_with_all_done_and_the_same_result(name, shape, device):
    a = helpers.few_values("float32", shape)
    if a.size == 0 and name == "reduce an axis":
        pytest.skip("of nothing")
    listen = Listener()
    got = CALLS[name](a, device=device, progress=listen)
    done, total = listen.told[-1]
    assert done == total > 0
    assert all(0 <= done <= total for done, total in listen.told)
    for mine, want in zip(arrays(got), arrays(CALLS[name](a, device=device)), strict=True):
        helpers.assert_same(mine, want)


def test_an_array_on_the_device_ends_with_all_done(device):
    if device == "cpu":
        pytest.skip("has no memory of its own")
    listen = Listener()
    a = warpkit.asarray(helpers.values("float32", 100), device=device)
    warpkit.reduce(a, progress=listen)
    assert len({*listen.told[-1]}) == 1


def test_a_rung_on_the_emulated_device_tells_its_blocks(device):
    if not device.startswith("emu"):
        pytest.skip("blocks are counted there")
    listen = Listener()
    a = helpers.values("int32", 1 << 20)  # one piece, of 4,096 blocks and more
    warpkit.reduce(a, device=device, variant="smem", progress=listen)
    assert any(0 < done < total for done, total in listen.told)


def test_an_operations_error_leaves_the_next_call_whole(device):
    listen = Listener()
    with pytest.raises(ValueError, match="op"):
        warpkit.reduce([1, 2], "median", device=device, progress=listen)
    assert listen.told == []
    assert warpkit.reduce([1, 2], device=device, progress=listen) == 3
