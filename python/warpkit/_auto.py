"""device="auto": the CPU or the first GPU, whichever a small measured model says is done first.

A call on a host array takes on the CPU a fixed time, and its input at a rate of the operation's.
On the GPU it takes a fixed time, and then the slowest of three that overlap: the input crossing
the bus, the kernel, the result crossing back. The rates are measured when an operation is first
called with "auto", in about 50 ms, on random float32. What is larger than the CPU's caches goes at
another rate there: it is measured on both devices from the host and back, when an operation first
meets so large an array. The rates are guesses for other dtypes, and decide nothing but the device:
results are the same bits on both.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import warpkit

GPU = "cuda:0"

OPS: dict[str, Callable[[Any, str], Any]] = {
    "reduce": lambda a, device: warpkit.reduce(a, device=device),
    "transpose": lambda a, device: warpkit.transpose(a, device=device),
    "stencil1d": lambda a, device: warpkit.stencil1d(a, np.full(9, 1 / 9), device=device),
    "histogram": lambda a, device: warpkit.histogram(a, 100, (0, 1), device=device),
    "warp_histogram": lambda a, device: warpkit.warp_histogram(a, device=device),
    "run_length": lambda a, device: warpkit.run_length(a, device=device),
    "unique_counts": lambda a, device: warpkit.unique_counts(a, device=device),
    "dot": lambda a, device: warpkit.dot(a, a, -1, device=device),
    "segment_reduce": lambda a, device: warpkit.segment_reduce(
        a[0], [0, a.shape[1]], device=device
    ),
    "cumsum": lambda a, device: warpkit.cumsum(a, -1, device=device),
    "group": lambda a, device: warpkit.group_reduce(
        a.view(np.uint8), a.view(np.uint8), "any", 256, device=device
    ),
    "shfl": lambda a, device: warpkit.warp.shfl_xor(a, 1, device=device),
    "vote": lambda a, device: warpkit.warp.ballot(a, device=device),
    "match": lambda a, device: warpkit.warp.match_any(a, device=device),
    "warp_reduce": lambda a, device: warpkit.warp.reduce(a, device=device),
    "warp_scan": lambda a, device: warpkit.warp.scan(a, device=device),
    "lane_bits": lambda a, device: warpkit.warp.popc(a.view(np.int32), device=device),
    "lane_arrays": lambda a, device: warpkit.warp.shfl_xor_array(a, 1, device=device),
    "smem_tile": lambda a, device: warpkit.smem.tile(a[:1, :32], device=device).values,
    "lane_reads": lambda a, device: warpkit.smem.read(np.arange(32), device=device).values,
}

# 32 MiB: enough for the bus to be at its rate, and in the caches of a CPU that has large ones.
ROWS, COLUMNS = 8192, 1024
SAMPLES, ENOUGH = 3, 10e-3  # calls; seconds after which one more is not worth its time
WAITED_FOR = 32  # elements: a warp, in one row
LARGE = 128 << 20  # bytes of input
IN_NO_CACHE = 16  # samples: half a GiB


@dataclass(frozen=True)
class Model:
    """How long one device takes: seconds, and bytes a second."""

    fixed: float
    inwards: float
    outwards: float = math.inf
    kernel: float = math.inf

    def seconds(self, in_bytes: float, out_bytes: float) -> float:
        return self.fixed + max(
            in_bytes / self.inwards, out_bytes / self.outwards, in_bytes / self.kernel
        )


@dataclass(frozen=True)
class Choice:
    """Between two models of one operation."""

    host: Model
    gpu: Model
    growth: float  # bytes of output for each byte of input, as measured

    def device(self, in_bytes: float, out_bytes: float) -> str:
        faster = self.gpu.seconds(in_bytes, out_bytes) < self.host.seconds(in_bytes, out_bytes)
        return GPU if faster else "cpu"

    def slope(self, model: Model) -> float:
        """Seconds that a byte of input adds."""
        return model.seconds(1, self.growth) - model.seconds(0, 0)

    def verdict(self) -> str:
        """In words, which sizes of input go where."""
        late = self.gpu.fixed - self.host.fixed
        gain = self.slope(self.host) - self.slope(self.gpu)
        if late < 0 <= gain:
            return "always the GPU"
        if gain <= 0 <= late:
            return "always the CPU"
        even = size(late / gain)
        return f"the GPU from {even} on" if gain > 0 else f"the GPU up to {even}"

    def __str__(self) -> str:
        host, gpu = self.host, self.gpu
        if gpu.outwards == math.inf:  # from the host and back
            rates = [short(model.inwards / 1e9) for model in (host, gpu)]
            return f"cpu {rates[0]} GB/s, {GPU} {rates[1]} GB/s; {self.verdict()}"
        bus = f"{short(gpu.inwards / 1e9)}/{short(gpu.outwards / 1e9)} GB/s"
        kernel = f", kernel {short(gpu.kernel / 1e9)} GB/s" if gpu.kernel < gpu.inwards else ""
        return (
            f"cpu {short(host.inwards / 1e9)} GB/s + {short(host.fixed * 1e6)} us, "
            f"{GPU} bus {bus}{kernel} + {short(gpu.fixed * 1e6)} us; {self.verdict()}"
        )


def short(x: float) -> str:
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def size(nbytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if nbytes < 1000:
            return f"{short(nbytes)} {unit}"
        nbytes /= 1024
    return f"{short(nbytes)} GiB"


# ---- measuring -----------------------------------------------------------------------------------


def elapsed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def median(run: Callable[[], Any]) -> float:
    """Of three, after one that warms up."""
    run()
    return sorted(elapsed(run) for _ in range(SAMPLES))[SAMPLES // 2]


def per_second(nbytes: int, seconds: float) -> float:
    return nbytes / max(seconds, 1e-9)  # what is too short to be seen is no obstacle


def sample_array(times: int = 1) -> NDArray[np.float32]:
    """Random in 0 .. 1; a short piece of it many times over, since this is to be quick."""
    piece = np.random.default_rng(0).random((64, COLUMNS), np.float32)
    return np.tile(piece, (times * ROWS // len(piece), 1))


def nbytes_of(results: Any) -> int:
    arrays = results if isinstance(results, tuple) else (results,)
    return sum(np.asarray(a).nbytes for a in arrays)


def measure_host(op: str, sample: NDArray[np.float32]) -> tuple[Model, float]:
    """The CPU's model, and bytes of output for each byte of input."""
    run = OPS[op]
    tiny = sample[:1, :WAITED_FOR]
    fixed = median(lambda: run(tiny, "cpu"))
    growth = nbytes_of(run(sample, "cpu")) / sample.nbytes  # warms up
    times: list[float] = []
    for _ in range(SAMPLES):
        if sum(times) < ENOUGH:
            times.append(elapsed(partial(run, sample, "cpu")))
    return Model(fixed, per_second(sample.nbytes, sorted(times)[len(times) // 2] - fixed)), growth


def measure_gpu(op: str, sample: NDArray[np.float32]) -> Model:
    """Kernels run in the order of their stream, so a sum that is fetched waits for those before."""
    global _bus
    run = OPS[op]
    tiny = sample[:1, :WAITED_FOR]
    there, tiny_there = warpkit.asarray(sample, device=GPU), warpkit.asarray(tiny, device=GPU)

    def wait() -> None:
        float(warpkit.reduce(tiny_there, device=GPU))

    def upload() -> None:
        warpkit.asarray(sample, device=GPU)
        wait()

    def compute() -> None:
        run(there, GPU)
        wait()

    waiting = median(wait)
    if _bus is None:
        inwards = per_second(sample.nbytes, median(upload) - waiting)
        _bus = inwards, per_second(sample.nbytes, median(there.numpy))
    kernel = per_second(sample.nbytes, median(compute) - waiting)
    return Model(median(lambda: run(tiny, GPU)), *_bus, kernel)


def measure_small(op: str) -> Choice:
    sample = sample_array()
    gpu = measure_gpu(op, sample)
    host, growth = measure_host(op, sample)
    return Choice(host, gpu, growth)


def measure_large(op: str) -> Choice:
    sample = sample_array(IN_NO_CACHE)
    rates = []
    for device in ("cpu", GPU):
        run = partial(OPS[op], sample, device)
        growth = nbytes_of(run()) / sample.nbytes  # warms up
        rates.append(per_second(sample.nbytes, min(elapsed(run), elapsed(run))))
    host, gpu = rates
    return Choice(Model(0, host), Model(0, gpu), growth)


def measure(op: str, large: bool) -> Choice | str:
    """Or why there is no choice."""
    if GPU not in warpkit.devices():
        return "there is no GPU"
    try:
        return measure_large(op) if large else measure_small(op)
    except (warpkit.DeviceError, MemoryError) as error:
        return f"{GPU} cannot be used: {error}"


# ---- what has been measured ----------------------------------------------------------------------

# By operation, and whether the array is large; a str says why it is always the CPU.
_choices: dict[tuple[str, bool], Choice | str] = {}
_bus: tuple[float, float] | None = None  # bytes a second to and from the GPU
_lock = threading.Lock()  # held while measuring: two measurements at once would mislead both


def _after_fork() -> None:
    """The lock may be another thread's, and the GPU is the parent's."""
    global _lock
    _lock = threading.Lock()
    if any(isinstance(choice, Choice) for choice in _choices.values()):
        keys = [(op, large) for op in OPS for large in (False, True)]
        _choices.update(dict.fromkeys(keys, "this process is a fork of one that uses the GPU"))


os.register_at_fork(after_in_child=_after_fork)


def measured(op: str, large: bool) -> Choice | str:
    if op not in OPS:
        raise ValueError(f"unknown op {op!r}; there are: {', '.join(OPS)}")
    with _lock:
        if (op, large) not in _choices:
            _choices[op, large] = measure(op, large)
        return _choices[op, large]


def choose(op: str, in_bytes: int, out_bytes: int) -> str:
    """The device for a call on a host array: "cpu" or "cuda:0", never "emu".

    op       "reduce", "transpose", "stencil1d", "histogram" (bincount's too), "warp_histogram",
             "run_length", "unique_counts", or one of the warp primitives' rows (see variants())
    Returns  "cpu" where there is no GPU, where it fails, and in a fork of a process that uses it
    Raises   ValueError (op)
    """
    large = in_bytes >= LARGE
    choice = _choices.get((op, large))
    if choice is None:
        choice = measured(op, large)
    return choice.device(in_bytes, out_bytes) if isinstance(choice, Choice) else "cpu"


def describe() -> list[str]:
    """Lines for show_config; nothing is measured for them."""
    if not _choices:
        return [
            'auto    nothing measured yet: the first call of an operation with device="auto" '
            "times it on the CPU, the bus and the GPU"
        ]
    reasons = {choice for choice in _choices.values() if isinstance(choice, str)}
    return [f"auto    cpu: {reason}" for reason in sorted(reasons)] + [
        f"auto    {op}{f' from {size(LARGE)} on' * large}: {choice}"
        for (op, large), choice in _choices.items()
        if isinstance(choice, Choice)
    ]
