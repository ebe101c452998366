"""Nothing leaks, threads and forks do no harm, and how a call is run changes no bit."""

import concurrent.futures
import contextlib
import gc
import itertools
import os
import re
import sys
import warnings

import numpy as np
import pytest
import warpkit
from helpers import assert_same, python, values

# ---- references --------------------------------------------------------------------------------

CHUNK = 32 << 20  # bytes that a pool of CUDA's reserves together
TWO_EDGES = np.zeros(2)  # made once: NumPy 2.4's zeros itself keeps a reference to float64

GOOD = {
    "reduce": lambda a, d: warpkit.reduce(a, "sum", 0, device=d),
    "reduce to a scalar": lambda a, d: warpkit.reduce(a, "max", device=d),
    "transpose": lambda a, d: warpkit.transpose(a, (1, 0), device=d),
    "stencil1d": lambda a, d: warpkit.stencil1d(a, [1, 2, 3], 0, device=d),
    "histogram": lambda a, d: warpkit.histogram(a, 5, device=d)[0],
    "histogram of edges": lambda a, d: warpkit.histogram(a, [0, 1, 2], device=d)[0],
    "histogram of weights": lambda a, d: warpkit.histogram(a, 5, weights=a, device=d)[0],
    "bincount": lambda a, d: warpkit.bincount(abs(a.ravel() % 9).astype(int), device=d),
    "warp_histogram": lambda a, d: warpkit.warp_histogram(a, device=d).values,
    "run_length": lambda a, d: warpkit.run_length(a, device=d).values,
    "unique_counts": lambda a, d: warpkit.unique_counts(a, device=d).counts,
}
BAD = {
    "axis": lambda a, d: warpkit.reduce(a, "sum", 7, device=d),
    "axis twice": lambda a, d: warpkit.reduce(a, "sum", (0, 0), device=d),
    "op": lambda a, d: warpkit.reduce(a, "median", device=d),
    "variant": lambda a, d: warpkit.reduce(a, variant="nonsense", device=d),
    "device": lambda a, d: warpkit.reduce(a, device="nonsense"),
    "device absent": lambda a, d: warpkit.reduce(a, device="cpu:7"),
    "nothing": lambda a, d: warpkit.reduce(a[:0], "min", 0, device=d),
    "axes": lambda a, d: warpkit.transpose(a, (0, 0), device=d),
    "axes' length": lambda a, d: warpkit.transpose(a, (0,), device=d),
    "axes' type": lambda a, d: warpkit.transpose(a, (0, "x"), device=d),
    "transpose variant": lambda a, d: warpkit.transpose(a, variant="nonsense", device=d),
    "taps": lambda a, d: warpkit.stencil1d(a, [[1]], device=d),
    "taps' type": lambda a, d: warpkit.stencil1d(a, ["x"], device=d),
    "complex cval": lambda a, d: warpkit.stencil1d(a, [1j], cval=1j, device=d),
    "real output": lambda a, d: warpkit.stencil1d(a, [1j], out=a, device=d),
    "no ends": lambda a, d: warpkit.stencil1d(a, [1] * 9999, mode="valid", device=d),
    "sums": lambda a, d: warpkit.stencil1d(a, [1], accumulate="int8", device=d),
    "mode": lambda a, d: warpkit.stencil1d(a, [1], mode="nonsense", device=d),
    "origin": lambda a, d: warpkit.stencil1d(a, [1], origin=5, device=d),
    "stencil axis": lambda a, d: warpkit.stencil1d(a, [1], 9, device=d),
    "stencil variant": lambda a, d: warpkit.stencil1d(a, [1], variant="nonsense", device=d),
    "bins": lambda a, d: warpkit.histogram(a, 0, device=d),
    "edges": lambda a, d: warpkit.histogram(a, [2, 1], device=d),
    "histogram variant": lambda a, d: warpkit.histogram(a, 3, variant="nonsense", device=d),
    "edges that do not fit": lambda a, d: warpkit._core.histogram(
        a, "edges", 3, TWO_EDGES, None, None, None, False, False, None, d, None, None, None
    ),
    "kind of bins": lambda a, d: warpkit._core.histogram(
        a, "x", 3, None, None, None, None, False, False, None, d, None, None, None
    ),
    "weights": lambda a, d: warpkit.histogram(a, weights=a[:1], device=d),
    "weights' type": lambda a, d: warpkit.histogram(a, weights=a.astype(object), device=d),
    "weights that do not fit": lambda a, d: warpkit._core.histogram(
        a, "edges", 1, TWO_EDGES, None, a[:1], "float64", False, False, None, d, None, None, None
    ),
    "weights of a bincount": lambda a, d: warpkit.bincount([1], [1j], device=d),
    "negative": lambda a, d: warpkit.bincount(np.array([-1]), device=d),
    "huge": lambda a, d: warpkit.bincount(np.array([2**45]), device=d),
    "warp variant": lambda a, d: warpkit.warp_histogram(a, variant="nonsense", device=d),
    "runs of complex": lambda a, d: warpkit.run_length(a.astype(complex), device=d),
    "unique variant": lambda a, d: warpkit.unique_counts(a, variant="nonsense", device=d),
}
LAYOUTS = {
    "contiguous": lambda: values("float32", (40, 30)),
    "strided": lambda: values("float32", (80, 60))[::-2, ::2],
    "byte-swapped": lambda: values("float32", (40, 30)).astype(">f4"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_no_reference_is_lost_or_kept(name, layout, device):
    a = LAYOUTS[layout]()
    call = GOOD.get(name) or BAD[name]
    kinds = [np.dtype(t) for t in ("f4", "f8", "i4", "i8", "?")]

    def counts():
        return [sys.getrefcount(x) for x in (a, a.dtype, *kinds, None, True, call)]

    def run(times):
        for _ in range(times):
            if name in GOOD:
                call(a, device)
            else:
                with contextlib.suppress(ValueError, TypeError, RuntimeError, MemoryError):
                    call(a, device)

    run(3)  # what the first calls cache
    before = counts()
    run(50)
    # NumPy and the interpreter may keep a few; a leak keeps one per call.
    assert all(abs(now - then) < 25 for now, then in zip(counts(), before, strict=True))


@pytest.mark.parametrize("name", BAD)
def test_every_bad_call_above_is_an_error(name, device):
    with pytest.raises((ValueError, TypeError, RuntimeError, MemoryError)):
        BAD[name](LAYOUTS["contiguous"](), device)


@pytest.mark.parametrize("name", GOOD)
def test_a_result_belongs_to_the_caller_alone(name, device):
    result = GOOD[name](LAYOUTS["contiguous"](), device)
    if isinstance(result, np.ndarray):
        assert result.flags.owndata
        assert result.flags.writeable
        own = np.array([1, 2])
        assert sys.getrefcount(result) == sys.getrefcount(own)


LEAKS = """
import contextlib, resource, sys
import numpy as np, warpkit

device = sys.argv[1]
a = np.random.default_rng(0).normal(size=(500, 400)).astype("f4")
views = [a, a[::-2, ::3], a.astype(">f4"), a.astype("f8")]

def work():
    for x in views:
        warpkit.reduce(x, "sum", 0, device=device)
        warpkit.reduce(x, "mean", device=device)
        warpkit.transpose(x, device=device)
        warpkit.stencil1d(x, [1, 2, 3], 0, device=device)
        warpkit.histogram(x, 50, device=device)
        warpkit.histogram(x, [0, 1, 2], device=device)
        warpkit.warp_histogram(x, device=device)
        for bad in (
            lambda: warpkit.reduce(x, "sum", 5, device=device),
            lambda: warpkit.transpose(x, (0, 0), device=device),
            lambda: warpkit.stencil1d(x, [], device=device),
            lambda: warpkit.stencil1d(x, [1], variant="nonsense", device=device),
            lambda: warpkit.histogram(x, [2, 1], device=device),
            lambda: warpkit.reduce(x, variant="nonsense", device=device),
            lambda: warpkit.warp_histogram(x, variant="nonsense", device=device),
            lambda: warpkit.bincount([2**45], device=device),
        ):
            with contextlib.suppress(ValueError, RuntimeError, MemoryError):
                bad()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

for _ in range(15):
    work()
before = resident()
for _ in range(40):
    work()
print(resident() - before)
"""


@pytest.mark.unsanitized
@pytest.mark.large
def test_memory_does_not_grow_over_many_calls(device):
    """One result lost per round would be 30 MiB."""
    assert int(python(LEAKS, device)) < 8 * 2**20


def test_memory_of_the_device_is_given_back(device):
    a = values("float32", 2**12)
    warpkit.reduce(a, device=device)
    gc.collect()
    before = warpkit.memory_info(device)["pool_used"]  # what tests before this one have left
    for call in (*GOOD.values(), *BAD.values()):
        with contextlib.suppress(ValueError, TypeError, RuntimeError, MemoryError):
            call(a.reshape(64, 64), device)
    assert warpkit.memory_info(device)["pool_used"] == before
    warpkit.release_memory(device)
    chunks = -(-before // CHUNK)  # that the driver cannot give back
    assert warpkit.memory_info(device)["pool_reserved"] <= chunks * CHUNK
    assert_same(warpkit.reduce(a, "max", device=device), a.max())


LIMITED = """
import sys, numpy as np, warpkit
device, n = sys.argv[1], 3 << 20
a = warpkit.asarray(np.ones((1024, n // 4096), np.float32), device=device)
for _ in range(3):
    b = warpkit.transpose(a)
    del b  # waits for the next of its size
used = warpkit.memory_info(device)["pool_used"]
c = warpkit.asarray(np.ones(9 * n // 4, np.float32), device=device)
print(used == n, int(warpkit.reduce(c)) == 9 * n // 4)
"""


@pytest.mark.large
def test_blocks_that_wait_make_room_for_others(device):
    """3 MiB are an array's, 3 wait, and 27 are asked for of 32."""
    if device == "cpu":
        pytest.skip("has no pool")
    env = {"WARPKIT_POOL_LIMIT": str(32 << 20)}
    assert python(LIMITED, device, env=env).split() == ["True", "True"]


# ---- arguments whose code changes the call's arrays --------------------------------------------

MANY, FEW = 1 << 18, 6  # elements: memory that goes back to the system, so that a late read faults


class Hook:
    """A number, truth value or array that resizes other arrays while it is asked what it is."""

    def __init__(self, value, *arrays):
        self.value, self.arrays = value, arrays

    def act(self, *ignored, **options):
        for a in self.arrays:
            a.resize(FEW, refcheck=False)
        return self.value

    __index__ = __float__ = __int__ = __bool__ = __array__ = __complex__ = act
    dtype = property(act)


def kept(n=MANY):
    return np.arange(n) % 5 * 1.0


HOOKED = {
    "axis": lambda a, d: warpkit.reduce(a, "sum", Hook(0, a), device=d),
    "axis of argmax": lambda a, d: warpkit.reduce(a, "argmax", Hook(-1, a), device=d),
    "axes": lambda a, d: warpkit.reduce(a, "max", (Hook(0, a),), device=d),
    "initial": lambda a, d: warpkit.reduce(a, "sum", initial=Hook(2.0, a), device=d),
    "initials": lambda a, d: warpkit.reduce(a, ("sum", "max"), initial=Hook(2.0, a), device=d).max,
    "ddof": lambda a, d: warpkit.reduce(a, "var", ddof=Hook(1.0, a), device=d),
    "keepdims": lambda a, d: warpkit.reduce(a, keepdims=Hook(True, a), device=d),
    "dtype": lambda a, d: warpkit.reduce(a, dtype=Hook(np.dtype("f4"), a), device=d),
    "where": lambda a, d: warpkit.reduce(a, where=Hook(np.array([True]), a), device=d),
    "where and initial": lambda a, d: warpkit.reduce(
        a, "min", where=a > 0, initial=Hook(3.0, a), device=d
    ),
    "out": lambda a, d: warpkit.reduce(
        kept(FEW * 4).reshape(4, FEW), "sum", Hook(0, a), out=a, device=d
    ),
    "transpose": lambda a, d: warpkit.transpose(a, (Hook(0, a),), device=d),
    "transpose, list": lambda a, d: warpkit.transpose(a, [Hook(0, a)], device=d),
    "explain": lambda a, d: warpkit.explain("transpose", a, axes=[Hook(0, a)], device=d),
    "stencil's axis": lambda a, d: warpkit.stencil1d(a, [1, 2], Hook(0, a), device=d),
    "origin": lambda a, d: warpkit.stencil1d(a, [1, 2], origin=Hook(-1, a), device=d),
    "cval": lambda a, d: warpkit.stencil1d(a, [1, 2], mode="constant", cval=Hook(1.0, a), device=d),
    "cval, coefficients": lambda a, d: warpkit.stencil1d(
        kept(FEW), a, mode="constant", cval=Hook(1.0, a), device=d
    ),
    "coefficients": lambda a, d: warpkit.stencil1d(a, Hook(np.ones(3), a), device=d),
    "bins": lambda a, d: warpkit.histogram(a, Hook(3, a), (0, 5), device=d)[0],
    "edges": lambda a, d: warpkit.histogram(a, Hook(np.array([0.0, 2.0, 9.0]), a), device=d)[0],
    "range": lambda a, d: warpkit.histogram(a, 3, (0, Hook(5.0, a)), device=d)[0],
    "weights": lambda a, d: warpkit.histogram(a, 3, weights=Hook(np.ones(FEW), a), device=d)[0],
    "bincount's weights": lambda a, d: warpkit.bincount(
        np.ones(FEW, int), Hook(np.ones(FEW), a), device=d
    ),
    "assume_sorted": lambda a, d: (
        warpkit.warp_histogram(a, assume_sorted=Hook(True, a), device=d).values
    ),
    "lanes": lambda a, d: warpkit.warp.shfl_up(a, Hook(2, a), device=d),
    "width": lambda a, d: warpkit.warp.shfl(a, np.zeros(a.shape, int), width=Hook(32, a), device=d),
    "width of arrays": lambda a, d: warpkit.warp.shfl_xor_array(
        a, 1, 4, width=Hook(8, a), device=d
    ),
    "source lanes": lambda a, d: warpkit.warp.shfl(a, Hook(np.arange(FEW), a), device=d),
}


@pytest.mark.parametrize("name", HOOKED)
def test_an_argument_that_resizes_the_array_does_no_harm(device, name):
    try:
        got = HOOKED[name](kept(), device)
    except (RuntimeError, ValueError, TypeError):
        return
    want = HOOKED[name](kept(FEW), device)
    assert np.shape(got) == np.shape(want)
    if isinstance(got, np.ndarray | np.generic):
        assert_same(got, want)


def test_a_warning_that_resizes_the_array_is_an_error(device, monkeypatch):
    for call in (
        lambda a: warpkit.reduce(a, "var", ddof=2 * MANY, device=device),
        lambda a: warpkit.stencil1d(a, [1j], output="float32", device=device),
        lambda a: warpkit.reduce(kept(FEW), "var", 0, ddof=2 * MANY, out=a, device=device),
        lambda a: warpkit.reduce(kept(FEW), "mean", where=a[:FEW] < 0, out=a, device=device),
    ):
        a = kept()
        hook = Hook(None, a)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", hook.act)
            monkeypatch.setattr(warnings, "_showwarnmsg_impl", hook.act)
            with contextlib.suppress(RuntimeError, ValueError):
                call(a)
    assert_same(warpkit.reduce(kept(), device=device), kept().sum())


# ---- threads and forks -------------------------------------------------------------------------


@pytest.mark.large
def test_many_threads_calling_at_once_get_right_answers(device):
    dtypes = ("float32", "int16", "float64", "uint8")
    arrays = [values(dtype, (211, 307), seed) for seed, dtype in enumerate(dtypes)]
    jobs = list(itertools.product(GOOD, range(len(arrays))))
    want = [GOOD[name](arrays[i], device) for name, i in jobs]

    def run(turn):
        order = np.random.default_rng(turn).permutation(len(jobs))
        for k in order:
            name, i = jobs[k]
            assert_same(GOOD[name](arrays[i], device), want[k])
            with pytest.raises(ValueError, match="axis 7"):
                warpkit.reduce(arrays[i], "sum", 7, device=device)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(12)))


FORK = """
import os, sys, threading, warnings
import numpy as np, warpkit

warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is the point here
a = np.random.default_rng(0).integers(0, 1000, 2**20).astype("i4")

def work():
    return [
        warpkit.reduce(a, device="cpu"), warpkit.histogram(a, 100, device="cpu")[0],
        warpkit.transpose(a.reshape(1024, -1), device="cpu"),
        warpkit.stencil1d(a, [1, 2, 1], device="cpu"), *warpkit.warp_histogram(a, device="cpu"),
    ]

def same(x, y):
    return all(np.array_equal(p, q) for p, q in zip(x, y, strict=True))

want = work()  # the parent's threads are up
stop = threading.Event()
busy = threading.Thread(target=lambda: [work() for _ in iter(stop.is_set, True)])
busy.start()  # and at work while the children are made
children = []
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        ok = same(work(), want)
        if ok:  # a grandchild, of a child whose own threads are up
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if same(work(), want) else 1)
            ok = os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if ok else 1)
    children.append(pid)
codes = [os.waitpid(pid, 0)[1] for pid in children]
stop.set()
busy.join()
assert same(work(), want)
print(codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.unsanitized
@pytest.mark.large
def test_a_forked_child_works_after_the_parent_used_threads():
    assert python(FORK, env={"WARPKIT_NUM_THREADS": "4"}).strip() == str([0] * 6)


FORK_BESIDE_CALLS = """
import os, signal, threading, warnings
import numpy as np, warpkit

warnings.simplefilter("ignore", DeprecationWarning)
a, stop = np.ones(8, "f4"), threading.Event()

def spin():
    while not stop.is_set():
        warpkit.reduce(a, device="cpu")

threads = [threading.Thread(target=spin) for _ in range(6)]
for thread in threads:
    thread.start()
hung = 0
for _ in range(250):
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)  # ends a child that waits for a lock
        os._exit(0 if warpkit.reduce(a, device="cpu") == 8 else 1)
    hung += os.waitpid(pid, 0)[1] != 0
    if hung:
        break
stop.set()
for thread in threads:
    thread.join()
print(hung)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.unsanitized
@pytest.mark.large
def test_a_fork_leaves_the_child_no_lock_that_another_thread_holds():
    """A matter of luck: one fork in a hundred meets a lock that is held around every call."""
    assert python(FORK_BESIDE_CALLS) == "0\n"


# ---- the same bits, however a call is run ------------------------------------------------------

DIGEST = """
import hashlib, itertools
import numpy as np, warpkit

digest = hashlib.sha256()
def add(*results):
    for r in results:
        digest.update(np.ascontiguousarray(r).tobytes())

rng = np.random.default_rng(0)
for dtype in ("f4", "f8", "i2", "u8"):
    big = (rng.normal(size=(401, 411)) * 1000).astype(dtype) if dtype[0] == "f" else rng.integers(
        0, 30000, (401, 411)).astype(dtype)
    if dtype[0] == "f":
        big[3, 5], big[400, 400] = np.inf, -0.0
    for a in (big, big[::-3, ::2], big[:5, :3]):
        for op, axis in itertools.product(("sum", "mean", "prod", "min", "max"), (None, 0, 1)):
            add(warpkit.reduce(a, op, axis, device="cpu"))
        add(warpkit.transpose(a, device="cpu"))
        for axis, mode in itertools.product((0, 1), ("reflect", "wrap")):
            add(warpkit.stencil1d(a, [0.1, -0.7, 1 / 3, 2.2], axis, mode=mode, device="cpu"))
        for bins in (10, 5000):
            add(warpkit.histogram(a, bins, (-900, 1000), device="cpu")[0])
        add(warpkit.histogram(a, [-3, 0, 7, 500], device="cpu")[0])
        add(*warpkit.warp_histogram(a, device="cpu"))
config = warpkit._core.config()
print(digest.hexdigest(), config["isa"], config["threads"])
"""


@pytest.mark.large
def test_threads_and_instruction_sets_change_no_bit():
    best = python(DIGEST).split()
    isas = ["base", "avx2", "avx512"]
    isas = isas[: isas.index(best[1]) + 1]
    settings = [{"WARPKIT_ISA": isa} for isa in isas]
    settings += [{"WARPKIT_NUM_THREADS": threads} for threads in ("1", "3")]
    settings += [{"WARPKIT_NUM_THREADS": "7", "WARPKIT_ISA": "base"}]
    for env in settings:
        digest, isa, threads = python(DIGEST, env=env).split()
        assert digest == best[0], env
        assert isa == env.get("WARPKIT_ISA", best[1])
        assert threads == env.get("WARPKIT_NUM_THREADS", best[2])


# ---- what an import does -----------------------------------------------------------------------

IMPORT = """
import os, sys, threading
import warpkit
with open("/proc/self/maps") as file:
    print(*{line.split()[-1] for line in file if line.rstrip().endswith(".so") or ".so." in line})
print(threading.active_count(), len(os.listdir("/proc/self/task")))
print(*{"scipy", "cupy", "torch", "warpkit.reference"} & set(sys.modules))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no /proc here")
def test_import_loads_no_plug_in_and_starts_no_thread():
    libraries, threads, modules = python(IMPORT, env={"OPENBLAS_NUM_THREADS": "1"}).split("\n")[:3]
    assert "warpkit/_core" in libraries
    assert not re.search(r"_cuda\.|_emu\.|libcuda|libcudart|libnv", libraries)
    assert threads == "1 1"
    assert modules == ""
