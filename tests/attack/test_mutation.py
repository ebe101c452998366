"""Calls while another thread writes to their arguments, as the GIL that they release allows.

What such a call gives, and whether it raises, is anybody's guess. It must end, and it must not read
or write memory that is not its own: make sanitize runs these tests under AddressSanitizer, and the
emulated device knows each access outside of its blocks. The call after the storm is right again.

A storm takes 0.05 s; --attack asks for more.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import warpkit
from helpers import devices, options, outcome, values
from warpkit import _core, warp

SECONDS = options["attack"] / 100 or 0.05  # of a storm: there are a few hundred


class Case(NamedTuple):
    """An operation of arrays, and what these hold by turns."""

    name: str
    call: Callable[..., Any]
    first: tuple[np.ndarray, ...]
    second: tuple[np.ndarray, ...]
    moved: bool = True  # the arrays may lie on a device; else the first alone

    def __str__(self) -> str:
        return self.name


def host(result: Any) -> list[np.ndarray]:
    """A result's arrays, or its numbers, on the host."""
    if isinstance(result, tuple):
        return [array for one in result for array in host(one)]
    return [result.numpy() if isinstance(result, warpkit.DeviceArray) else np.asarray(result)]


def write(array: Any, content: np.ndarray) -> None:
    if isinstance(array, warpkit.DeviceArray):
        _core.upload(content, array)
    else:
        np.copyto(array, content)


@contextlib.contextmanager
def storm(arrays: list[Any], *contents: tuple[np.ndarray, ...]) -> Iterator[None]:
    """A thread that gives all arrays one content after the other; the first one at the end."""
    stop = threading.Event()

    def blow() -> None:
        while not stop.is_set():
            for content in contents[::-1]:
                for array, one in zip(arrays, content, strict=True):
                    write(array, one)

    thread = threading.Thread(target=blow)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def survive(case: Case, arrays: list[Any], device: str) -> None:
    """The case's call, again and again, in a storm; and then once more."""
    before = host(case.call(*arrays, device=device))
    with storm(arrays, case.first, case.second):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            got = outcome(case.call, *arrays, device=device)
            if not isinstance(got, Exception):
                host(got)
    after = host(case.call(*arrays, device=device))
    for mine, wanted in zip(after, before, strict=True):
        np.testing.assert_array_equal(mine, wanted)


# ---- what is called ----------------------------------------------------------------------------

N = 5_000 if options["small"] else 100_000
RNG = np.random.default_rng(0)
FOLDS = (
    *("sum", "prod", "min", "max", "mean", "var", "std", "norm", "sumsq", "any", "all", "ptp"),
    *("count_nonzero", "argmin", "argmax", "nansum", "nanprod", "nanmin", "nanmax", "nanmean"),
    *("nanvar", "nanstd", "nanargmin", "nanargmax"),
)


def numbers(dtype: str, low: float, high: float, n: int = N) -> np.ndarray:
    if np.dtype(dtype).kind == "f":
        return RNG.uniform(low, high, n).astype(dtype)
    return RNG.integers(int(low), int(high), n, dtype, endpoint=True)


def hostile(dtype: str, n: int = N) -> np.ndarray:
    """Any bits; of floats also infinities and NaN."""
    bits = f"u{np.dtype(dtype).itemsize}"
    return RNG.integers(0, np.iinfo(bits).max, n, bits, endpoint=True).view(dtype)


def fold_along_all(op: str) -> Callable[..., Any]:
    def call(a: Any, where: Any, device: str) -> Any:
        results = [warpkit.reduce(a, op, axis, device=device) for axis in (None, 0, 1)]
        if "arg" in op or op == "ptp":  # they take no mask
            return tuple(results)
        initial = {"initial": 1.0} if op.removeprefix("nan") in ("min", "max") else {}
        return (
            *results,
            warpkit.reduce(a, op, where=where, device=device, **initial),
            warpkit.reduce(a, op, 0, where=where, device=device, **initial),
        )

    return call


def folds() -> Iterator[Case]:
    shape = (N // 50, 50)
    for op, dtype in zip(
        FOLDS, itertools.cycle(("float64", "float32", "int16", "float16")), strict=False
    ):
        one = numbers(dtype, 1, 9).reshape(shape)
        other = hostile(dtype).reshape(shape)
        masks = RNG.random(shape) < 0.9, RNG.random(shape) < 0.1
        yield Case(f"reduce-{op}-{dtype}", fold_along_all(op), (one, masks[0]), (other, masks[1]))


def transposes() -> Iterator[Case]:
    for dtype in ("uint8", "float64"):
        one, other = (values(dtype, (N // 50, 50), seed) for seed in (0, 1))
        yield Case(f"transpose-{dtype}", warpkit.transpose, (one,), (other,))


def stencils() -> Iterator[Case]:
    for dtype in ("uint8", "float32", "float64"):
        one, other = numbers(dtype, 0, 9), hostile(dtype)
        taps, others = np.ones(9), hostile("float64", 9)
        name = f"stencil1d-{dtype}"
        yield Case(name, warpkit.stencil1d, (one, taps), (other, others), moved=False)


def runs() -> Iterator[Case]:
    for dtype in ("bool", "int16", "float16", "int32", "float64"):
        bits = f"u{np.dtype(dtype).itemsize}"
        still = np.zeros(N, bits).view(dtype)
        turns = (np.arange(N) % 2).astype(bits).view(dtype)
        yield Case(f"run_length-{dtype}", warpkit.run_length, (still,), (turns,))
        yield Case(f"run_length-{dtype}-back", warpkit.run_length, (turns,), (still,))


def distinct() -> Iterator[Case]:
    # few values are counted, many are sorted; each meets the other's elements
    for dtype in ("uint8", "int16", "float16", "int32", "uint32", "float32", "int64", "float64"):
        few, some = numbers(dtype, 0, 100), numbers(dtype, 0, 20_000 if dtype[-1] != "8" else 200)
        equal, most = few[:1].repeat(N), hostile(dtype)
        for name, one, other in (
            ("few", few, most),
            ("some", some, most),
            ("equal", equal, most),
            ("all", most, equal),
            ("others", most, hostile(dtype)),
        ):
            yield Case(f"unique_counts-{dtype}-{name}", warpkit.unique_counts, (one,), (other,))


def histogram(**how: Any) -> Callable[..., Any]:
    def call(a: Any, *, device: str) -> Any:
        return warpkit.histogram(a, **how, device=device)

    return call


def between(a: Any, edges: Any, *, device: str) -> Any:
    return warpkit.histogram(a, edges, device=device)


def weighted(bins: int) -> Callable[..., Any]:
    def call(a: Any, weights: Any, *, device: str) -> Any:
        return warpkit.histogram(a, bins, (0, 1000), weights=weights, device=device)

    return call


def counts() -> Iterator[Case]:
    for dtype in ("uint8", "int16", "float16", "int32", "float32", "float64"):
        pair = (numbers(dtype, 0, 100),), (hostile(dtype),)
        yield Case(f"histogram-{dtype}-range", histogram(bins=50, range=(0, 100)), *pair)
        many = 500 if dtype == "float16" else 70_000  # which has no more numbers there
        yield Case(f"histogram-{dtype}-many", histogram(bins=many, range=(0, 100)), *pair)
        finite = (numbers(dtype, 0, 10),), (numbers(dtype, 0, 120),)
        yield Case(f"histogram-{dtype}-found", histogram(bins=50), *finite)
        yield Case(f"histogram-{dtype}-auto", histogram(bins="auto"), *finite)
    for dtype in ("int64", "uint64", "float64"):
        a, other = numbers(dtype, 0, 10**6), hostile(dtype)
        for bins in (2, 100, 1000):
            edges = np.unique(numbers(dtype, 0, 10**6, bins + 1))
            jumps = edges.copy()  # not in order, and one far from all others
            jumps[1::2] = np.iinfo("int64").max // 2
            name = f"histogram-{dtype}-{bins} edges"
            yield Case(name, between, (a, edges), (other, jumps), moved=False)


def sums() -> Iterator[Case]:
    a, other = numbers("float64", 0, 1000), hostile("float64")
    wide = np.ldexp(1.0, RNG.integers(-1000, 1000, N))
    for dtype in ("float16", "float32", "float64"):
        alike, tiny, any_bits = numbers(dtype, 1, 2), np.full(N, 5e-8, dtype), hostile(dtype)
        for bins in (20, 40_000):
            call = weighted(bins)
            for name, one, two in (("alike", alike, any_bits), ("tiny", tiny, any_bits)):
                label = f"weights-{dtype}-{bins}-{name}"
                yield Case(label, call, (a, one), (other, two))
    ends = np.repeat([1e-300, 1e-250], N // 2), np.repeat([1e-100, 1e100], N // 2)
    for bins in (20, 40_000):
        call = weighted(bins)
        yield Case(f"weights-float64-{bins}-low", call, (a, np.full(N, 1e-305)), (other, wide))
        yield Case(f"weights-float64-{bins}-ends", call, (a, ends[0]), (a, ends[1]))
        pairs = (numbers("float64", 1, 2).astype(np.complex128), wide.astype(np.complex128))
        yield Case(f"weights-complex128-{bins}", call, (a, pairs[0]), (other, pairs[1]))
        whole = numbers("int64", 0, 9), hostile("int64")
        yield Case(f"weights-int64-{bins}", call, (a, whole[0]), (other, whole[1]))


def values_as_bins() -> Iterator[Case]:
    for dtype in ("uint8", "int16", "int32", "int64"):
        low, high = numbers(dtype, 0, 5), numbers(dtype, 0, min(np.iinfo(dtype).max, 70_000))
        yield Case(f"bincount-{dtype}", warpkit.bincount, (low,), (high,))
        weights = numbers("float64", 1, 2), np.ldexp(1.0, RNG.integers(-1000, 1000, N))
        pair = (low, weights[0]), (high, weights[1])
        yield Case(f"bincount-{dtype}-weights", warpkit.bincount, *pair)


def groups() -> Iterator[Case]:
    many = 700 if options["small"] else 70_000  # of which most are empty

    def varied(keys: Any, a: Any, *, device: str) -> Any:
        return warpkit.group_reduce(keys, a, "var", many, device=device)

    for dtype in ("int32", "int64"):
        low, high = numbers(dtype, 0, 5), np.full(N, many - 1, dtype)
        a = numbers("float64", 1, 2)
        yield Case(f"group_reduce-{dtype}", varied, (low, a), (high, a))


def segments() -> Iterator[Case]:
    def folded(a: Any, offsets: Any, *, device: str) -> Any:
        return tuple(
            warpkit.segment_reduce(a, offsets, op, device=device) for op in ("sum", "var", "argmax")
        )

    a, offsets = numbers("float64", 1, 2), np.arange(N // 7 + 1)
    wild = np.where(np.arange(offsets.size) % 5, offsets, hostile("int64", offsets.size))
    yield Case("segment_reduce", folded, (a, offsets), (a, wild), moved=False)
    far = np.where(np.arange(offsets.size) % 5, offsets, 5 * offsets)
    yield Case("segment_reduce-far", folded, (a, offsets), (a, far), moved=False)


def warps() -> Iterator[Case]:
    def assumed(a: Any, *, device: str) -> Any:
        return warpkit.warp_histogram(a, assume_sorted=True, device=device)

    def shuffled(a: Any, lanes: Any, *, device: str) -> Any:
        return warp.shfl(a, lanes, device=device)

    for dtype in ("uint8", "float16", "int32", "float64"):
        pair = (numbers(dtype, 0, 3),), (hostile(dtype),)
        yield Case(f"warp_histogram-{dtype}", warpkit.warp_histogram, *pair)
        yield Case(f"warp_histogram-{dtype}-sorted", assumed, *pair)
    a, other = numbers("int32", 0, 3), hostile("int32")
    lanes = numbers("int32", 0, 31), hostile("int32")
    yield Case("shfl", shuffled, (a, lanes[0]), (other, lanes[1]), moved=False)
    for name, more in (
        *(("ballot", ()), ("any", ()), ("all", ()), ("match_any", ()), ("match_all", ())),
        *(("reduce", ("sum",)), ("reduce", ("xor",)), ("scan", ("max",)), ("popc", ())),
        *(("shfl_up", (3,)), ("shfl_xor", (5,)), ("rotate", (7,)), ("broadcast", (2,))),
    ):

        def call(a: Any, *, device: str, name: str = name, more: tuple[Any, ...] = more) -> Any:
            return getattr(warp, name)(a, *more, device=device)

        yield Case("-".join(map(str, (name, *more))), call, (a,), (other,))
    bits = a.view("uint32"), other.view("uint32")
    yield Case("fns", lambda a, device: warp.fns(a, 0, 2, device=device), *((x,) for x in bits))


CASES = [
    *(*folds(), *transposes(), *stencils(), *runs(), *distinct()),
    *(*counts(), *sums(), *values_as_bins(), *groups(), *segments(), *warps()),
]

# ---- the storms --------------------------------------------------------------------------------


def started(case: Case, n: int) -> tuple[Case, list[np.ndarray]]:
    """The case over about n elements at most, and arrays that hold its first content."""
    first, second = (
        tuple(x[: n // math.prod(x.shape[1:])].copy() for x in content) for content in case[2:4]
    )
    return case._replace(first=first, second=second), [x.copy() for x in first]


def storms() -> Iterator[Any]:
    """Devices, cases, and whether the arrays lie there. The emulated device, whose calls take long,
    reads no host array once it has copied it; of what is read once every fourth case will do.
    """
    for device, (i, case) in itertools.product(devices, enumerate(CASES)):
        emulated = device.startswith("emu")
        if emulated and i % 4 and not case.name.startswith(TWICE):
            continue
        for there in {"cpu": [False]}.get(device, [True] if emulated else [False, True]):
            yield pytest.param(device, case, there, id=f"{device}-{case}" + "-there" * there)


# Rows of these read their input again, where an earlier reading has said.
TWICE = ("unique_counts-int32", "unique_counts-int64", "unique_counts-float64", "weights-float64")


@pytest.mark.parametrize(("where", "case", "there"), list(storms()))
def test_a_call_survives_a_thread_that_writes_to_its_arguments(where, case, there):
    case, arrays = started(case, 1_500 if where.startswith("emu") else N)
    moved = (len(arrays) if case.moved else 1) if there else 0
    on_device = [warpkit.asarray(x, device=where) for x in arrays[:moved]]
    survive(case, [*on_device, *arrays[moved:]], where)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
@pytest.mark.parametrize("n", [100, 4_000])
def test_edges_that_do_not_ascend_meet_no_foreign_memory(dtype, n, device):
    """As they would look if a thread wrote to them after they were checked."""
    a = np.arange(n).astype(dtype)
    steps = np.arange(0, 100, 10), 2 ** np.arange(10)  # cells of equal width, and of equal bits
    for ascending, jump, at in itertools.product(steps, (0, 1, n // 2, 2**40, 2**62), (1, 4, 8)):
        edges = ascending.astype(dtype)
        edges[at] = jump
        arguments = (a, "edges", len(edges) - 1, edges, None, None, None, True, False)
        counts = _core.histogram(*arguments, None, device, None, None, None)
        assert counts.sum() == n
