"""The suite's options: which devices, which sizes, and the record of a green run on a GPU."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import json
import signal
import zlib
from pathlib import Path

import helpers
import pytest
import pytest_warpkit
import warpkit

TESTS = Path(__file__).parent


def pytest_addoption(parser, pluginmanager):
    if not pluginmanager.has_plugin("warpkit"):  # it is not installed, but in PYTHONPATH
        pluginmanager.register(pytest_warpkit, "warpkit")
    group = parser.getgroup("warpkit")
    group.addoption(
        "--device",
        action="append",
        metavar="NAME",
        help='a device to test, such as "cpu" or "cuda:1"; repeatable; default: all present',
    )
    group.addoption(
        "--small", action="store_true", help=f"only sizes up to {helpers.LARGE} elements"
    )
    group.addoption(
        "--part",
        metavar="K/N",
        type=lambda text: tuple(map(int, text.split("/"))),
        help="of a test with more than N sets of parameters only every N-th, about; K says which",
    )
    group.addoption(
        "--attack",
        type=float,
        default=0,
        metavar="SECONDS",
        help="how long each search of tests/attack may take; default: a few seconds together",
    )
    group.addoption(
        "--record", metavar="PATH", type=Path, help="write what a green run on a GPU has verified"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "large: takes more elements than --small allows")
    config.addinivalue_line(
        "markers", "unsanitized: cannot be judged in a process that AddressSanitizer watches"
    )
    helpers.options["small"] = config.getoption("--small")
    helpers.options["attack"] = config.getoption("--attack")
    helpers.devices[:] = selected(config.getoption("--device"))
    config.pluginmanager.register(Tally(), "warpkit-tally")
    fill_fresh_memory()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as of a shell's background job
        signal.signal(signal.SIGINT, signal.default_int_handler)  # some tests press Ctrl-C


def selected(names):
    """The devices that were asked for; one that is absent is an error, or it would pass unseen."""
    present = warpkit.devices()
    chosen = []
    for name in names or present:
        full = {"cuda": "cuda:0", "cpu:0": "cpu", "emu:0": "emu"}.get(name, name)
        if full not in present:
            try:
                warpkit.memory_info(name)
                why = ""
            except (ValueError, warpkit.DeviceError) as error:
                why = f" ({error})"
            raise pytest.UsageError(f"--device {name}: there are {', '.join(present)}{why}")
        if full not in chosen:
            chosen.append(full)
    return chosen


def fill_fresh_memory():
    """Have glibc's malloc fill what it hands out, so that no result is right by being unwritten."""
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(-6, 0xA5)  # M_PERTURB


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", helpers.devices)


def leave_out(part, config, items):
    """All but one of n parts, which are of about one size; of a test one or two are in all."""
    k, n = part
    of_test = collections.Counter(item.nodeid.partition("[")[0] for item in items)
    chosen, others = [], []
    for item in items:
        few = of_test[item.nodeid.partition("[")[0]] <= 2
        there = few or (zlib.crc32(item.nodeid.encode()) + k) % n == 0
        (chosen if there else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


def pytest_collection_modifyitems(config, items):
    if part := config.getoption("--part"):
        leave_out(part, config, items)
    if helpers.options["small"]:
        skip = pytest.mark.skip(reason="--small")
        for item in items:
            if item.get_closest_marker("large"):
                item.add_marker(skip)


@pytest.fixture
def setting(monkeypatch):
    """Sets an environment variable of warpkit's, which reads them once, for the test."""

    def change(name, value):
        monkeypatch.setenv(name, value)
        warpkit._core.read_settings()

    yield change
    monkeypatch.undo()
    warpkit._core.read_settings()


class Tally(pytest_warpkit.Tally):
    """Counts outcomes, and notes whether the run was a whole one."""

    def __init__(self):
        super().__init__()
        self.deselected = 0
        self.files = set()

    def pytest_runtest_logreport(self, report):
        super().pytest_runtest_logreport(report)
        self.files.add(Path(report.nodeid.partition("::")[0]).name)

    def pytest_collectreport(self, report):
        if report.skipped:  # what it tests is not installed
            self.files.add(Path(report.nodeid).name)

    def pytest_deselected(self, items):
        self.deselected += len(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        """One of pytest-xdist's workers has ended."""
        self.deselected += getattr(node, "workeroutput", {}).get("deselected", 1)


def pytest_sessionfinish(session, exitstatus):
    path = session.config.getoption("--record")
    tally = session.config.pluginmanager.get_plugin("warpkit-tally")
    if hasattr(session.config, "workeroutput"):  # of pytest-xdist
        session.config.workeroutput["deselected"] = tally.deselected
        return
    if path is None or session.config.getoption("--collect-only"):
        return
    gpus = [name for name in helpers.devices if name.startswith("cuda")]
    if exitstatus != 0 or tally.counts["failed"]:
        why = "not every test passed"
    elif not gpus:
        why = "no cuda device was tested"
    elif helpers.options["small"] or tally.deselected:
        why = "tests were left out"
    elif missing := {path.name for path in TESTS.glob("test_*.py")} - tally.files:
        why = f"{', '.join(sorted(missing))} did not run"
    else:
        record = helpers.gpu_record().describe(
            warpkit.memory_info(gpus[0]), warpkit._core.config()["cuda"]["build"], tally.counts
        )
        path.write_text(json.dumps(record, indent=1) + "\n")
        why = ""
    session.config.stash[OUTCOME] = f"{path}: not written, {why}" if why else f"{path}: written"


OUTCOME = pytest.StashKey[str]()


def pytest_terminal_summary(terminalreporter, config):
    if OUTCOME in config.stash:
        terminalreporter.write_line(config.stash[OUTCOME])
