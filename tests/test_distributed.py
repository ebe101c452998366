"""Partials of many processes: MPI's and torch's collectives, where these are installed."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import warpkit
from helpers import assert_same_bits
from warpkit.distributed import allreduce

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Together:
    """A communicator of threads, with what allreduce asks of one of MPI's."""

    def __init__(self, size):
        self.size, self.slots = size, [None] * size
        self.barrier = threading.Barrier(size, timeout=30)
        self.own = threading.local()
        self.calls = []

    def Get_size(self):
        return self.size

    def allgather(self, thing):
        self.slots[self.own.rank] = thing
        self.barrier.wait()
        found = list(self.slots)
        self.barrier.wait()
        return found

    def Allreduce(self, words, out, how):
        if self.own.rank == 0:
            self.calls.append(how)
        out[...] = {"SUM": np.sum, "MIN": np.min, "MAX": np.max}[how](self.allgather(words), axis=0)

    def Allgather(self, words, out):
        out[...] = np.stack(self.allgather(words))

    def run(self, parts):
        """What each gets, or its error."""
        found = [None] * self.size

        def one(rank):
            self.own.rank = rank
            try:
                found[rank] = allreduce(parts[rank], self).finish()
            except Exception as error:
                found[rank] = error

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(self.size)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return found


@pytest.fixture(autouse=True)
def mpi(monkeypatch):
    """The names of MPI's operations, where there is no MPI."""
    names = type(sys)("mpi4py.MPI")
    names.SUM, names.MIN, names.MAX = "SUM", "MIN", "MAX"
    package = type(sys)("mpi4py")
    package.MPI = names
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", names)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_every_process_has_the_bits_of_all(dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(3, 40)) * 1e5).astype(dtype)
    for op in ("sum", "std", ("min", "mean", "max", "count_nonzero"), "argmin", "any", "prod"):
        if op == "prod" and dtype != "int64":
            continue
        group = Together(3)
        parts = [warpkit.partial(row, op, offset=40 * i) for i, row in enumerate(x)]
        for found in group.run(parts):
            assert_same_bits(found, warpkit.reduce(x, op))


def test_one_collective_for_all_sums():
    group = Together(2)
    x = np.arange(8.0).reshape(2, 4)
    group.run([warpkit.partial(row, ("sum", "std", "mean", "norm", "any")) for row in x])
    assert group.calls == ["SUM"]


def test_histograms_and_bincounts_of_any_length():
    x = np.array([[0, 1, 1], [5, 1, 0]])
    found = Together(2).run([warpkit.partial(row, "bincount") for row in x])
    for counts in found:
        assert_same_bits(counts, np.bincount(x.reshape(-1)))
    how = {"bins": 3, "range": (0, 5), "weights": [0.1, 0.2, 0.3]}
    for counts, _ in Together(2).run([warpkit.partial(row, "histogram", **how) for row in x]):
        wanted = warpkit.histogram(x.reshape(-1), 3, (0, 5), weights=2 * how["weights"])
        assert_same_bits(counts, wanted[0])


def test_every_process_learns_that_partials_are_not_of_the_same():
    parts = [warpkit.partial(np.ones(3), "sum"), warpkit.partial(np.ones(3), "mean")]
    assert [type(found) for found in Together(2).run(parts)] == [ValueError, ValueError]
    parts[1] = warpkit.partial(np.ones(3, "f4"), "sum")
    assert [type(found) for found in Together(2).run(parts)] == [TypeError, TypeError]
    parts = [warpkit.partial([1, 2], "bincount", weights=w) for w in (None, [0.5, 0.5])]
    for wrong in (parts, [parts[0], None]):
        assert [type(found) for found in Together(2).run(wrong)] == [TypeError, TypeError]
    with pytest.raises(TypeError, match="communicator of mpi4py"):
        allreduce(parts[0], 3)


def run(*command):
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"\d+ processes: sum", done.stdout)


@pytest.mark.unsanitized
@pytest.mark.skipif(
    not (shutil.which("mpirun") and importlib.util.find_spec("mpi4py")),
    reason="no mpirun, or mpi4py",
)
def test_the_example_of_mpi():
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    run("mpirun", *root, "--oversubscribe", "-n", "4", sys.executable, str(EXAMPLES / "mpi_sum.py"))


@pytest.mark.unsanitized
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no torch")
@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_the_example_of_torch(backend):
    if backend == "nccl" and "cuda:0" not in warpkit.devices():
        pytest.skip("no GPU")
    run(sys.executable, str(EXAMPLES / "torch_sum.py"), backend)
