"""Run with fail_malloc.c preloaded: each request for memory of each operation fails in turn.

    allocations.py DEVICE SECONDS SHIM [NAME ...]

Then the call raises MemoryError, or a DeviceError that names memory, or gives the right answer
where it can do without; the same call again gives the right bits; and nothing more is held.
Each operation has a forked process of its own, so that one that crashes is told and the next tried.
Prints a line for each fault, and last how many requests were made to fail.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import hashlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401  NumPy then knows bfloat16
import numpy as np
import warpkit

QUICK = 30  # seconds: with less, not all operations are a process's first
MOST = 3000  # requests of a call: none makes so many
rng = np.random.default_rng(0)
DEVICE = sys.argv[1]
SMALL = DEVICE != "cpu"  # an emulated thread takes its time


def some(dtype: Any, *shape: int) -> np.ndarray:
    return (rng.integers(-100, 100, shape) * 0.37).astype(dtype)


LINE = some("float64", 3000 if SMALL else 300_000)
FLAT = some("float32", 60, 50) if SMALL else some("float32", 600, 500)
BYTES = abs(some("float64", LINE.size)).astype(np.uint8)
HALVES = some("bfloat16", LINE.size // 2)
COMPLEX = LINE[: LINE.size // 2] * (1 + 2j)
CUBE = some("int16", 8, 9, 10) if SMALL else some("int16", 40, 50, 60)
WORDS = rng.integers(-(2**40), 2**40, LINE.size)
AXES = some("float32", *([2] * 11))
MASK = LINE > 0
EDGES = np.sort(rng.normal(size=300))
FAR = LINE * 10.0 ** rng.integers(-200, 200, LINE.size)  # whose weights spread widely
LANES = BYTES[:2048].reshape(-1, 32)

d: dict[str, Any] = {"device": DEVICE}
OPERATIONS: dict[str, Callable[[], Any]] = {
    "sum": lambda: warpkit.reduce(LINE, **d),
    "sum of columns": lambda: warpkit.reduce(FLAT, "sum", 0, **d),
    "sum of rows": lambda: warpkit.reduce(FLAT, "sum", 1, **d),
    "sum of a middle axis": lambda: warpkit.reduce(CUBE, "sum", 1, **d),
    "sum of halves": lambda: warpkit.reduce(HALVES, **d),
    "sum of far apart": lambda: warpkit.reduce(FAR, **d),
    "sum of complex": lambda: warpkit.reduce(COMPLEX, **d),
    "sum where": lambda: warpkit.reduce(LINE, where=MASK, initial=1.0, **d),
    "sum of ints as floats": lambda: warpkit.reduce(WORDS, dtype="float64", **d),
    "sum of few columns": lambda: warpkit.reduce(FLAT.reshape(-1, 4), "sum", 0, **d),
    "prod": lambda: warpkit.reduce(FLAT, "prod", 1, **d),
    "prod of all": lambda: warpkit.reduce(FLAT, "prod", **d),
    "prod of columns": lambda: warpkit.reduce(FLAT, "prod", 0, **d),
    "min": lambda: warpkit.reduce(FLAT, "min", 0, **d),
    "argmax": lambda: warpkit.reduce(FLAT, "argmax", 0, **d),
    "var": lambda: warpkit.reduce(LINE, "var", **d),
    "var of columns": lambda: warpkit.reduce(FLAT, "var", 0, **d),
    "std of rows": lambda: warpkit.reduce(CUBE, "std", -1, **d),
    "several": lambda: tuple(warpkit.reduce(FLAT, ("min", "max", "mean", "std"), 1, **d)),
    "many axes": lambda: warpkit.reduce(AXES.T, "sum", (0, 2, 4), **d),
    "transpose": lambda: warpkit.transpose(FLAT, **d),
    "transpose, three axes": lambda: warpkit.transpose(CUBE, (2, 0, 1), **d),
    "transpose, many axes": lambda: warpkit.transpose(AXES, range(10, -1, -1), **d),
    "stencil1d": lambda: warpkit.stencil1d(LINE, [1, -2, 1], **d),
    "stencil1d of columns": lambda: warpkit.stencil1d(FLAT, np.ones(65), 0, mode="wrap", **d),
    "stencil1d of bytes": lambda: warpkit.stencil1d(BYTES, [0.5, 0.25], output="float32", **d),
    "stencil1d, many taps": lambda: warpkit.stencil1d(LINE, np.ones(1500), **d),
    "histogram": lambda: warpkit.histogram(LINE, 100, **d),
    "histogram, many bins": lambda: warpkit.histogram(LINE, 40_000, **d),
    "histogram, edges": lambda: warpkit.histogram(LINE, EDGES, **d),
    "histogram, auto": lambda: warpkit.histogram(LINE, "auto", **d),
    "histogram of bytes": lambda: warpkit.histogram(BYTES, 256, (0, 256), **d),
    "histogram, weights": lambda: warpkit.histogram(LINE, 100, weights=LINE, **d),
    "histogram, weights, edges": lambda: warpkit.histogram(LINE, EDGES, weights=WORDS, **d),
    "histogram, weights far apart": lambda: warpkit.histogram(LINE, 9, weights=FAR, **d),
    "histogram, density": lambda: warpkit.histogram(FLAT, 9, (-5, 5), density=True, **d),
    "bincount": lambda: warpkit.bincount(BYTES, **d),
    "bincount, weights": lambda: warpkit.bincount(BYTES, LINE, **d),
    "bincount, many": lambda: warpkit.bincount(WORDS % 70_000, **d),
    "warp_histogram": lambda: tuple(warpkit.warp_histogram(BYTES[:4096], **d)),
    "run_length": lambda: tuple(warpkit.run_length(np.sort(BYTES), **d)),
    "unique_counts of bytes": lambda: tuple(warpkit.unique_counts(BYTES, **d)),
    "unique_counts of floats": lambda: tuple(warpkit.unique_counts(LINE, **d)),
    "unique_counts of words": lambda: tuple(warpkit.unique_counts(WORDS, **d)),
    "warp.shfl_xor": lambda: warpkit.warp.shfl_xor(LANES, 5, **d),
    "warp.reduce": lambda: warpkit.warp.reduce(LANES, "sum", **d),
    "warp.scan": lambda: warpkit.warp.scan(LANES, "sum", **d),
    "warp.ballot": lambda: warpkit.warp.ballot(LANES > 9, **d),
    "smem.tile": lambda: warpkit.smem.tile(FLAT[:32, :32], **d)[0],
    "devices": lambda: warpkit.memory_info(DEVICE)["name"],
}
ARRAYS: dict[str, Callable[[], Any]] = {  # on a device
    "asarray": lambda: warpkit.asarray(FLAT, device=DEVICE).numpy(),
    "a view of a DeviceArray": lambda: warpkit.asarray(FLAT, device=DEVICE)[::2, 1:].T.numpy(),
    "a DeviceArray's sum": lambda: warpkit.reduce(
        warpkit.asarray(FLAT, device=DEVICE), "sum", 0
    ).numpy(),
    "a DeviceArray's transpose": lambda: warpkit.transpose(
        warpkit.asarray(CUBE, device=DEVICE)[:, ::2], (2, 1, 0)
    ).numpy(),
    "a DeviceArray's uniques": lambda: warpkit.unique_counts(
        warpkit.asarray(WORDS, device=DEVICE)
    ).counts.numpy(),
    "DLPack": lambda: warpkit.asarray(Capsule(), device=DEVICE).numpy(),
}
if DEVICE != "cpu":
    OPERATIONS |= ARRAYS


class Capsule:
    """A host array that shows nothing but its capsule, so that no other way in is taken."""

    def __dlpack__(self, **options: Any) -> Any:
        return FLAT.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return FLAT.__dlpack_device__()


def bits(result: Any) -> str:
    if isinstance(result, tuple):
        return " ".join(bits(part) for part in result)
    result = np.asarray(result)
    digest = hashlib.sha256(result.tobytes()).hexdigest()[:16]
    return f"{result.dtype.str}{result.shape}{digest}"


class Search:
    """Of one operation, whose right result is known, until a time."""

    def __init__(self, shim: ctypes.CDLL, name: str, want: str | None, until: float) -> None:
        self.shim, self.name, self.want, self.until = shim, name, want, until
        self.call = OPERATIONS[name]
        self.faults = self.fired = 0

    def fault(self, text: str) -> None:
        self.faults += 1
        print(f"{DEVICE}, {self.name}: {text}", flush=True)

    def fail(self, n: int, lasting: bool) -> bool:
        """Fails the n-th request, or all from there; False: there are not so many."""
        which = f"request {n}{' and all after it' if lasting else ''}"
        print(f"# {DEVICE}, {self.name}: {which}", flush=True)  # the last line before a crash
        self.shim.arm(ctypes.c_long(n), ctypes.c_int(lasting))
        wrong, got = None, self.want
        try:
            got = bits(self.call())
        except MemoryError:
            pass
        except warpkit.DeviceError as error:
            wrong = None if "memory" in str(error) else error
        except Exception as error:
            wrong = error
        fired = self.shim.disarm()
        if wrong is not None:
            self.fault(f"{which}: {type(wrong).__name__}: {wrong}")
        if got != self.want:
            self.fault(f"{which}: a wrong result")
        self.again(which)
        self.fired += fired > 0
        return bool(fired)

    def again(self, which: str) -> None:
        try:
            if bits(self.call()) != self.want:
                self.fault(f"after {which}: a wrong result")
        except Exception as error:
            self.fault(f"after {which}: {type(error).__name__}: {error}")

    def requests(self) -> int:
        self.shim.arm(ctypes.c_long(MOST), ctypes.c_int(0))
        self.call()
        self.shim.disarm()
        return int(self.shim.requests())

    def warm(self) -> None:
        """All is loaded and started, and every block that lasts is there."""
        self.call()
        before = None
        for i, (n, lasting) in enumerate(shuffled(self.requests())):
            self.fail(n, lasting)
            if i == 10:  # what a failed call may leave for the next is there
                gc.collect()
                before = self.shim.blocks_held()
            if time.monotonic() > self.until:
                break
        gc.collect()
        held = self.shim.blocks_held()
        if before is not None and held - before > 3 + (i - 10) // 8:
            self.fault(f"{held} blocks are held after {i} failures, {before} after 10")


def shuffled(count: int) -> list[tuple[int, bool]]:
    """Which request fails, and whether all do from there: as many of both kinds at any time."""
    both = [(n + 1, lasting) for n in range(count) for lasting in (False, True)]
    return [both[i] for i in np.random.default_rng(count).permutation(len(both))]


def in_child(what: str, work: Callable[[], str]) -> str | None:
    """What work gives, done in a forked process; None, and a line that says so, if that crashes."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        status = 1
        try:
            os.write(writing, work().encode())
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        return told
    ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "an exception"
    print(f"{DEVICE}, {what}: ended by {ended}", flush=True)
    return None


class Total:
    """Runs searches in processes of their own, and adds up what they tell."""

    def __init__(self, shim: ctypes.CDLL) -> None:
        self.shim, self.faults, self.fired = shim, 0, 0

    def search(
        self, name: str, want: str | None, until: float, what: Callable[[Search], object]
    ) -> int:
        def work() -> str:
            one = Search(self.shim, name, want, until)
            what(one)
            return f"{one.faults} {one.fired}"

        faults, fired = map(int, (in_child(name, work) or "1 1").split())
        self.faults += faults
        self.fired += fired
        return fired


def main() -> int:
    seconds, shim = float(sys.argv[2]), ctypes.CDLL(sys.argv[3])
    for part in (b"/warpkit/_", b"libstdc++", b"/_multiarray_umath"):
        shim.watch(part)
    for function in (shim.disarm, shim.requests, shim.blocks_held):
        function.restype = ctypes.c_long
    names = sys.argv[4:] or list(OPERATIONS)
    total, start = Total(shim), time.monotonic()
    given = in_child("each once", lambda: "\n".join(bits(OPERATIONS[n]()) for n in names)) or ""
    right: dict[str, str | None] = dict(zip(names, given.split("\n"), strict=True))
    for i, name in enumerate(names):
        until = start + seconds / 2 * (i + 1) / len(names)
        total.search(name, right[name], until, Search.warm)
    # In a process that has used no device: it is found, set up and used for the first time.
    names = names if seconds >= QUICK else names[::4]
    for i, name in enumerate(names):
        until = start + seconds / 2 * (1 + (i + 1) / len(names))
        lasting = False
        for n in range(1, MOST):
            lasting = not lasting
            one = functools.partial(Search.fail, n=n, lasting=lasting)
            if not total.search(name, right[name], until, one):
                break
            if time.monotonic() > until:
                break
    print(f"{total.faults} faults, {total.fired} requests failed")
    return total.faults > 0


if __name__ == "__main__":
    sys.exit(main())
