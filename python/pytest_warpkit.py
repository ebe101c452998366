"""pytest's plugin of warpkit: users' own CUDA kernels under test. See docs/testing.md.

It is outside the package, and imports it when a test wants a fixture or a marker of it: every run
of pytest loads this, wherever warpkit is installed. PYTEST_DONT_REWRITE: no assert is a test's.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    import warpkit
    from warpkit.testing import Mutation

MARKERS = {
    "schedules": "schedules(n=3): run under the emulated device's linear and reverse orders of "
    "threads, n random ones, and with weak memory",
    "races": "races: run with the race detector of the emulated device",
    "canaries": "canaries: run with NumPy arrays of kernels between canaries, and at page ends",
}
RUN = "_warpkit_run"
SECONDS = 10.0  # for the shrinking of a failure's order of threads, about
OPENED = pytest.StashKey[ExitStack]()  # what is to be closed after a test


class Run(NamedTuple):
    """One way to run a test."""

    device: str
    settings: Mapping[str, str | None] = {}
    canaries: str = ""  # a kind of them


# ---- options -------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpkit", "CUDA kernels (warpkit)")
    group.addoption(
        "--cuda-device",
        action="append",
        metavar="NAME",
        help='what the fixtures "cu" and "cuda_device" run on: "emu", "cuda"; repeatable; '
        'default: "emu", and "cuda" where there is a GPU',
    )
    group.addoption(
        "--cuda-mutate",
        action="store_true",
        help="after the tests: remove each barrier, fence and atomic of the kernels in turn, and "
        "tell which removal no test notices",
    )
    group.addoption(
        "--gpu-record",
        metavar="FILE",
        type=Path,
        help="write what a green run on a GPU has verified: device, driver, CUDA, date, counts, "
        "and hashes of the kernels' sources",
    )


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS.values():
        config.addinivalue_line("markers", line)
    if config.getoption("--cuda-mutate"):
        if config.getoption("usepdb", False):
            raise pytest.UsageError("--cuda-mutate makes tests fail: not together with --pdb")
        if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
            raise pytest.UsageError("--cuda-mutate runs tests again: not together with -n")
        if config.getoption("--gpu-record"):
            raise pytest.UsageError("--cuda-mutate is not together with --gpu-record")
        config.pluginmanager.register(Mutator(config), "warpkit-mutator")
    if config.getoption("--gpu-record"):
        config.pluginmanager.register(Recorder(config), "warpkit-recorder")


# ---- what a test runs under ----------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marked = {name: metafunc.definition.get_closest_marker(name) for name in MARKERS}
    if RUN not in metafunc.fixturenames:
        if not any(marked.values()):
            return
        metafunc.fixturenames.append(RUN)
    runs: dict[str, Run] = {}
    devices = _devices(metafunc.config) if "cuda_device" in metafunc.fixturenames else ["emu"]
    for device in devices:
        conditions = _conditions(marked) if device.startswith("emu") else {}
        for name, run in (conditions or {"": Run("")}).items():
            runs["-".join(filter(None, (device, name)))] = run._replace(device=device)
    metafunc.parametrize(RUN, list(runs.values()), indirect=True, ids=list(runs))


def _devices(config: pytest.Config) -> list[str]:
    asked: list[str] | None = config.getoption("--cuda-device")
    if asked:
        return asked
    import warpkit

    return ["emu", "cuda"] if "cuda:0" in warpkit.devices() else ["emu"]


def _conditions(marked: Mapping[str, pytest.Mark | None]) -> dict[str, Run]:
    if not any(marked.values()):
        return {}
    from warpkit import testing

    found: dict[str, Run] = {}
    if mark := marked["schedules"]:
        found |= {
            name: Run("", s) for name, s in testing.schedules(*mark.args, **mark.kwargs).items()
        }
    if marked["races"]:
        found["races"] = Run("", {"WARPKIT_EMU_RACES": "1"})  # which check=None goes by
    if marked["canaries"]:
        found |= {kind: Run("", canaries=kind) for kind in testing.CANARIES}
    return found


def _run_of(item: pytest.Item) -> Run | None:
    callspec = getattr(item, "callspec", None)
    run: Run | None = callspec.params.get(RUN) if callspec else None
    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, Any, pytest.TestReport]:
    """Of a failure in some order of threads: the few switches that lead to it."""
    report: pytest.TestReport = yield
    run = _run_of(item)
    order = run.settings.get("WARPKIT_EMU_SCHEDULE") if run else None
    failed = report.when == "call" and report.failed
    if run and failed and order in ("reverse", "random") and not item.config.option.cuda_mutate:
        report.sections.append(("order of threads", _shrunk(item, run)))
    return report


def _shrunk(item: pytest.Item, run: Run) -> str:
    from warpkit._schedules import shrunk

    def again() -> None:
        try:
            item.runtest()
        except pytest.fail.Exception as error:  # no Exception
            raise AssertionError(str(error)) from None
        except pytest.skip.Exception:
            pass

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            found = shrunk(again, [run.settings], SECONDS)
        except Exception as error:
            return f"not shrunk: {error}"
    return str(found) if found else "not shrunk: run again, with the same arguments, it passes"


# Hooks and no fixture, which a test that has a marker alone would not ask for.
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    run = _run_of(item)
    if run and (run.settings or run.canaries):
        from warpkit import testing

        opened = item.stash[OPENED] = ExitStack()
        opened.enter_context(testing.settings(**run.settings))
        if run.canaries:
            opened.enter_context(testing.canaries(run.canaries))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    with item.stash.get(OPENED, ExitStack()):
        return (yield)


@pytest.fixture(name=RUN)
def _run(request: pytest.FixtureRequest) -> Run:
    run: Run = request.param
    return run


@pytest.fixture
def cuda_device(_warpkit_run: Run) -> str:
    """What kernels run on: "emu" and, where there is a GPU, "cuda"; each is a test of its own."""
    return _warpkit_run.device


@pytest.fixture
def cu(cuda_device: str, request: pytest.FixtureRequest) -> Callable[..., warpkit.Module]:
    """Compiles CUDA source for cuda_device: ``kernels = cu("k.cu")``.

    A path is looked for beside the test's file; anything with a line break, a ; or a { is a text.
    More arguments are warpkit.compile's, which gives the module. ``__device__`` and
    ``__constant__`` variables are in each test as they are when the module is new.
    """
    import warpkit

    def compiled(source: str | os.PathLike[str], **options: Any) -> warpkit.Module:
        __tracebackhide__ = True
        if not (isinstance(source, str) and any(c in source for c in "\n;{")):
            source = request.path.parent / source
        module = warpkit.compile(source, device=cuda_device, **options)
        fresh = _fresh.setdefault(module, {})
        for name in module.variables:
            if name in fresh:
                module[name][...] = fresh[name]
            else:
                fresh[name] = module[name][...]
        return module

    return compiled


_fresh: dict[Any, dict[str, Any]] = {}  # of each module the variables' first values


# ---- the record of a run on a GPU ----------------------------------------------------------------


class Tally:
    """Counts the outcomes of tests."""

    def __init__(self) -> None:
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1


def describe(
    device: Mapping[str, Any], build: str, counts: Mapping[str, int], files: Mapping[str, str]
) -> dict[str, Any]:
    """The record of a run on a GPU.

    device  as warpkit.memory_info gives it
    build   as the plug-in for GPUs says: the version of CUDA
    files   the SHA-256 of each source by its path
    """
    capability = device["compute_capability"]
    return {
        "device": device["name"],
        "compute_capability": f"{capability // 10}.{capability % 10}",
        "driver": driver_version(),
        "cuda": build,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "counts": dict(counts),
        "files": dict(files),
    }


def driver_version() -> str:
    """The driver's version as nvidia-smi has it, or "unknown"."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    return text.split("\n")[0].strip() or "unknown"


class _Watch:
    """Has a function called for every source that is compiled, whose result is compiled instead."""

    def __init__(self, config: pytest.Config, instead: Callable[[Path, str], str]) -> None:
        self.config = config
        self.instead = instead
        self.running: pytest.Item | None = None

    def pytest_sessionstart(self) -> None:
        from warpkit import _compiler

        self.before = _compiler.instead
        _compiler.instead = self.instead

    def pytest_unconfigure(self) -> None:
        from warpkit import _compiler

        _compiler.instead = self.before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.running = item
        try:
            return (yield)
        finally:
            self.running = None

    def name(self, path: Path) -> str:
        """Of a file from the root of the run; of a text "source.cu"."""
        root = self.config.rootpath
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


class Recorder(_Watch, Tally):
    """Writes --gpu-record's file when all is over."""

    def __init__(self, config: pytest.Config) -> None:
        _Watch.__init__(self, config, self.note)
        Tally.__init__(self)
        self.files: dict[str, str] = {}
        self.on_gpu = 0
        self.outcome = ""

    def note(self, path: Path, text: str) -> str:
        name = self.name(path)
        if not path.exists():  # a text, of which there may be several
            name = f"{self.running.nodeid if self.running else ''}:{name}"
        self.files[name] = hashlib.sha256(text.encode()).hexdigest()
        return text

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        result = yield
        run = _run_of(item)
        self.on_gpu += bool(run and run.device.startswith("cuda"))
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """One of pytest-xdist's workers has ended."""
        output = getattr(node, "workeroutput", {})
        self.files |= output.get("warpkit_files", {})
        self.on_gpu += output.get("warpkit_on_gpu", 0)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output |= {"warpkit_files": self.files, "warpkit_on_gpu": self.on_gpu}
            return
        path: Path = self.config.getoption("--gpu-record")
        if exitstatus != 0 or self.counts["failed"]:
            self.outcome = f"{path}: not written, not every test passed"
        elif not self.on_gpu:
            self.outcome = f"{path}: not written, no test ran on a cuda device"
        else:
            import warpkit

            build = warpkit._core.config()["cuda"]["build"]
            device = warpkit.memory_info("cuda:0")
            record = describe(device, build, self.counts, dict(sorted(self.files.items())))
            path.write_text(json.dumps(record, indent=1) + "\n")
            self.outcome = f"{path}: written"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(self.outcome)


# ---- mutations -----------------------------------------------------------------------------------


class Mutator(_Watch):
    """Runs the tests that compile a source again with each of its mutations, until one fails."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config, self.mutated)
        self.users: dict[tuple[Path, str], dict[pytest.Item, None]] = {}
        self.mutant: tuple[str, str] | None = None  # a text, and what is compiled for it
        self.uncompiled = False
        self.lines: list[str] = []
        self.unnoticed = 0

    def mutated(self, path: Path, text: str) -> str:
        if self.mutant is None:
            users = self.users.setdefault((path, text), {})
            run = _run_of(self.running) if self.running else None
            if self.running and not (run and run.device.startswith("cuda")):
                users[self.running] = None
        elif self.mutant[0] == text:
            return self.mutant[1]
        return text

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
        from warpkit import CompileError

        self.uncompiled |= call.excinfo is not None and call.excinfo.errisinstance(CompileError)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        result = yield
        if not session.testsfailed and not self.config.getoption("--collect-only"):
            from warpkit import testing

            limits = {"WARPKIT_EMU_SECONDS": "5", "WARPKIT_EMU_STEPS": "30000000"}
            limits |= {name: os.environ[name] for name in limits if name in os.environ}
            with testing.settings(**limits):  # a mutant may wait for ever
                for (path, text), users in self.users.items():
                    for mutation in testing.mutations(text):
                        told = self.told(mutation, text, list(users))
                        self.lines.append(f"{self.name(path)}:{mutation}: {told}")
        return result

    def told(self, mutation: Mutation, text: str, items: Sequence[pytest.Item]) -> str:
        """What the tests make of it."""
        if not items:
            return "is compiled by no test, but at import"
        self.mutant, self.uncompiled = (text, mutation.text), False
        by = next((item for item in items if self.fails(item)), None)
        self.mutant = None
        if self.uncompiled:
            return "does not compile"
        self.unnoticed += by is None
        return "NOT NOTICED" if by is None else f"noticed by {by.nodeid}"

    def fails(self, item: pytest.Item) -> bool:
        from _pytest.runner import runtestprotocol  # as plugins do that run a test again

        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unnoticed and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        terminalreporter.section("mutations of CUDA kernels")
        for line in self.lines:
            terminalreporter.write_line(line)
        if not self.lines:
            why = "tests fail" if exitstatus else "no test compiles a barrier, fence or atomic"
            terminalreporter.write_line(f"none: {why}")
        else:
            count = f"{len(self.lines)} one at a time, {self.unnoticed} not noticed"
            terminalreporter.write_line(count)
