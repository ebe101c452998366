"""What benchmarks on one GPU work with: data there, its clock, and the peers.

CuPy, PyTorch and warpkit all go in the order of the default stream, and so do the events.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import common
from common import Run

Array = Any  # CuPy's or PyTorch's

WARM, TIMED = 3, 7  # runs
SLOW, SLOWER = 0.05, 0.4  # seconds a call: 3 timed runs are enough, or 1
SAMPLE = 1e-3  # seconds that one sample is to take: short calls are repeated
LOOPS = 20  # at most
COPY = "device-to-device copy"  # its name among the runs; no variant and no peer is called so

SPIN = r"""
extern "C" __global__ void spin(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""


class Gpu:
    """One GPU, the peers that are installed, and how all of them are timed."""

    # a script of many cells may lower them
    slow, slower, timed, sample = SLOW, SLOWER, TIMED, SAMPLE

    def __init__(self, nbytes: int) -> None:
        self.cupy = importlib.import_module("cupy")
        self.torch = torch_if_any()
        self.spin = self.cupy.RawKernel(SPIN, "spin")
        self.events = [self.cupy.cuda.Event() for _ in range(2)]
        self.wait: Run = self.cupy.cuda.runtime.deviceSynchronize
        self.versions: dict[str, str] = {"CuPy": self.cupy.__version__}
        if self.torch:
            self.versions["PyTorch"] = self.torch.__version__
        self.source = words(self.cupy, nbytes)
        self.target = self.cupy.empty_like(self.source)

    def copy(self, nbytes: int) -> None:
        stream = self.cupy.cuda.get_current_stream()
        self.target.data.copy_from_device_async(self.source.data, nbytes, stream)

    def seconds(self, run: Run, loops: int, lead: float) -> float:
        """Device time of a call, by events.

        lead     seconds that the device first spins, so that the calls are issued when it comes to
                 them, and it does not wait for Python
        """
        start, stop = self.events
        self.spin((1,), (1,), (int(1e9 * lead),))
        start.record()
        for _ in range(loops):
            run()
        stop.record()
        stop.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, stop)) * 1e-3 / loops

    def plan(self, run: Run, loops: int | None) -> tuple[int, float, int]:
        """Of a call that has run before: calls in a sample, seconds to issue them, samples."""
        self.wait()
        began = time.perf_counter()
        run()
        issued = time.perf_counter() - began
        self.wait()
        took = time.perf_counter() - began
        loops = loops or max(1, min(LOOPS, int(self.sample / took)))
        lead = min(5e-3, 2e-5 + 2 * loops * issued)
        return loops, lead, self.timed if took < self.slow else 3 if took < self.slower else 1

    def medians(self, runs: Sequence[Run], loops: int | None = None) -> list[float]:
        """Seconds of device time a call, taking turns; each has run once before."""
        plans = [self.plan(run, loops) for run in runs]
        samples: list[list[float]] = [[] for _ in runs]
        for done in range(WARM - 2 + self.timed):
            for run, (n, lead, rounds), record in zip(runs, plans, samples, strict=True):
                warming = done < WARM - 2 and rounds == self.timed
                if warming or WARM - 2 <= done < WARM - 2 + rounds:
                    record.append(self.seconds(run, n, lead))
        return [statistics.median(record[-self.timed :]) for record in samples]

    def measure(self, runs: dict[str, Run], loops: int | None = None) -> dict[str, float]:
        """Seconds of those that work; of the others a line says why not."""
        good = {name: run for name, run in runs.items() if works(name, run, self.wait)}
        return dict(zip(good, self.medians(list(good.values()), loops), strict=True))

    def measure_with_copy(
        self, runs: dict[str, Run], nbytes: int, copied: int | None = None
    ) -> dict[str, float]:
        """Those, and as COPY the time of a copy that reads and writes so many bytes together.

        copied   bytes that are copied; None: all that there are. The time is scaled to nbytes
        """
        copied = min(copied or self.source.nbytes, self.source.nbytes)
        copied = max(256, copied // 256 * 256)  # an odd number of bytes would slow the copy
        times = self.measure(runs | {COPY: lambda: self.copy(copied)})
        times[COPY] *= nbytes / (2 * copied)
        return times

    def free(self) -> None:
        """What the peers keep of memory, so that each leaves room for the other."""
        self.cupy.get_default_memory_pool().free_all_blocks()
        if self.torch:
            self.torch.cuda.empty_cache()


def torch_if_any() -> Any:
    try:
        torch = importlib.import_module("torch")
        return torch if torch.cuda.is_available() else None
    except Exception as error:  # a peer that is broken is no reason to stop
        print(f"without PyTorch: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def works(name: str, run: Run, wait: Run) -> bool:
    try:
        run()
        wait()
    except Exception as error:  # one call that fails must not cost the others
        print(f"  {name}: {type(error).__name__}: {error}".split("\n")[0][:200], flush=True)
        return False
    return True


def compile_ahead(runs: list[Run]) -> None:
    """CuPy compiles a kernel at its first call, which takes a second: several at a time."""

    def attempt(run: Run) -> None:
        try:
            run()
        except Exception:  # it is reported when it is to be timed
            return

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(attempt, runs))


def wall(runs: Sequence[Run], loops: int, wait: Run) -> list[float]:
    """Seconds of Python's time a call, taking turns; the device is waited for between samples."""
    samples: list[list[float]] = [[] for _ in runs]
    for _ in range(WARM + TIMED):
        for run, record in zip(runs, samples, strict=True):
            wait()
            record.append(common.seconds(run, loops))
    wait()
    return [statistics.median(record[WARM:]) for record in samples]


# ---------------------------------------------------------------------------- data


def words(cupy: Any, nbytes: int) -> Array:
    return cupy.random.randint(0, 2**32, nbytes // 4, dtype="uint32")


def data(cupy: Any, dtype: str, nbytes: int) -> Array:
    """One-dimensional: floats and parts of complex numbers normal, integers of random bits.

    bfloat16 is given as uint16.
    """
    if dtype == "bool":
        bits = words(cupy, nbytes)
        bits &= 0x01010101
        return bits.view("bool")
    if "int" in dtype:
        return words(cupy, nbytes).view(dtype)
    if dtype.startswith("complex"):
        part = "float32" if dtype == "complex64" else "float64"
        return data(cupy, part, nbytes).view(dtype)
    if dtype == "float16":
        return cupy.random.standard_normal(nbytes // 2, dtype="float32").astype(dtype)
    if dtype == "bfloat16":
        bits = cupy.random.standard_normal(nbytes // 2, dtype="float32").view("uint32")
        bits >>= 16
        return bits.astype("uint16")
    return cupy.random.standard_normal(nbytes // (4 if dtype == "float32" else 8), dtype=dtype)


def as_cupy(base: Array, dtype: str) -> Array:
    """What data made; bfloat16 is CuPy's from version 14 on."""
    if dtype != "bfloat16":
        return base
    return base.view(importlib.import_module("ml_dtypes").bfloat16)


def as_torch(torch: Any, base: Array, dtype: str) -> Array:
    """The same memory as a tensor."""
    bits = {"bool": "uint8", "bfloat16": "int16"}.get(dtype)
    if bits is None:
        return torch.from_dlpack(base)
    return torch.from_dlpack(base.view(bits)).view(getattr(torch, dtype))
