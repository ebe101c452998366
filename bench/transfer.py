"""From host memory through a GPU and back, and small calls, beside CuPy and PyTorch.

    python bench/transfer.py [--quick] [--only LETTERS] [--device NAME] [--gib N] [--output PATH]

    a  the limits: copies of 1 GiB, pinned and pageable, as PyTorch's or else CuPy's run them
    b  reduce of 1 GiB of float32: pageable, pinned, strided
    c  transpose of 16384 x 16384 float32, NumPy to NumPy
    d  histogram of 256 MiB of float32
    e  stencil1d of 1 GiB of float32 with 9 taps, NumPy to NumPy
    f  small calls, by the microsecond
    g  several GPUs: reduce of --gib GiB on "cuda:all" beside "cuda"; results compared
    h  device="auto" beside the devices that it chooses from, by size

One process, wall clock, random data. Medians of at least 7 runs, taking turns, after 2 that warm
up. "limit" is the time of a pinned copy of as many bytes in the same process, "share" that limit
over our time; nothing that starts on the host can come below it. Where the result is as large as
the input, the limit is a copy in and a copy out at the same time. "target" is what is aimed at,
nothing more: no timing fails. A peer that is not installed is left out; with no GPU the emulated
device stands in, which shows that the script runs and nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit
from common import Run
from numpy.typing import NDArray
from warpkit import _auto

Floats = NDArray[np.float32]

WARM, LEAST, MOST = 2, 7, 31  # runs
BUDGET = 3.0  # seconds for one group; LEAST runs are made in any case
GIB = 2**30
TAPS = np.random.default_rng(9).random(9).astype(np.float32)


@dataclass(frozen=True)
class Sizes:
    """Elements of float32, but where it says otherwise."""

    flat: int = GIB // 4
    side: int = 16384
    histogram: int = 2**26
    small: int = 1000
    batch: int = 200  # small calls between two looks at the clock
    batches: int = 50


QUICK = Sizes(flat=2**14, side=128, histogram=2**13, small=1000, batch=5, batches=LEAST)


@dataclass
class Ours:
    """A call of warpkit's: one row to be."""

    what: str
    run: Run
    limit: float | None = None  # seconds
    target: float | None = None  # seconds
    target_ratio: float | None = None


@dataclass
class Group:
    """Calls that take turns: ours, and the peers' that do the same."""

    part: str
    op: str
    ours: list[Ours]
    peers: dict[str, Run] = field(default_factory=dict)
    batch: int = 1  # calls in a run; more than one: microseconds
    runs: int = LEAST
    wait: Run | None = None  # after each run, not timed


def imported(name: str) -> Any:
    """A peer with a GPU to work on, or None."""
    try:
        module = importlib.import_module(name)
        if name == "torch":
            return module if module.cuda.is_available() else None
        module.cuda.runtime.getDeviceCount()
    except Exception as error:  # a peer that is broken is no reason to stop
        print(f"without {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None
    return module


def random(n: int) -> Floats:
    """In 0 .. 1, made by all cores: one alone would take a minute for 32 GiB."""
    a = np.empty(n, np.float32)
    parts = np.array_split(a, 4 * (os.cpu_count() or 1))
    rngs = np.random.default_rng(0).spawn(len(parts))

    def fill(rng: np.random.Generator, part: Floats) -> None:
        rng.random(out=part, dtype=np.float32)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(fill, rngs, parts))
    return a


def words(nbytes: int) -> str:
    for unit, length in (("GiB", GIB), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= length:
            return f"{nbytes / length:.4g} {unit}"
    return f"{nbytes} bytes"


# ---------------------------------------------------------------------------- the limits


def torch_copies(torch: Any, nbytes: int) -> dict[str, Run]:
    pinned = [torch.empty(nbytes, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    pageable = torch.ones(nbytes, dtype=torch.uint8)
    there = [torch.empty(nbytes, dtype=torch.uint8, device="cuda") for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def copy(target: Any, source: Any) -> None:
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    def both_ways() -> None:
        pairs = (there[0], pinned[0]), (pinned[1], there[1])
        for stream, (target, source) in zip(streams, pairs, strict=True):
            with torch.cuda.stream(stream):
                target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    return {
        "in, pinned": partial(copy, there[0], pinned[0]),
        "out, pinned": partial(copy, pinned[0], there[0]),
        "both ways, pinned": both_ways,
        "in, pageable": partial(copy, there[0], pageable),
        "out, pageable": partial(copy, pageable, there[0]),
    }


def cupy_pinned(cupy: Any, nbytes: int) -> NDArray[np.uint8]:
    return np.frombuffer(cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)


def cupy_copies(cupy: Any, nbytes: int) -> dict[str, Run]:
    pinned = [cupy_pinned(cupy, nbytes) for _ in range(2)]
    pageable = np.ones(nbytes, np.uint8)
    there = [cupy.empty(nbytes, cupy.uint8) for _ in range(2)]
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    wait = cupy.cuda.runtime.deviceSynchronize

    def go_in(host: NDArray[np.uint8]) -> None:
        there[0].set(host)
        wait()

    def go_out(host: NDArray[np.uint8]) -> None:
        there[0].get(out=host)
        wait()

    def both_ways() -> None:
        there[0].set(pinned[0], stream=streams[0])
        there[1].get(stream=streams[1], out=pinned[1], blocking=False)
        wait()

    return {
        "in, pinned": partial(go_in, pinned[0]),
        "out, pinned": partial(go_out, pinned[0]),
        "both ways, pinned": both_ways,
        "in, pageable": partial(go_in, pageable),
        "out, pageable": partial(go_out, pageable),
    }


# ---------------------------------------------------------------------------- timing


def failure(run: Run) -> Exception | None:
    try:
        run()
    except Exception as error:  # one call that fails must not cost the others
        return error
    return None


def medians(
    runs: Sequence[Run], batch: int = 1, least: int = LEAST, wait: Run | None = None
) -> list[float]:
    """Seconds a call of each, taking turns; all have run once before."""
    samples: list[list[float]] = [[] for _ in runs]
    end = time.perf_counter() + BUDGET
    for done in range(WARM - 1 + max(least, MOST)):
        if done >= WARM - 1 + least and time.perf_counter() > end:
            break
        for run, record in zip(runs, samples, strict=True):
            record.append(common.seconds(run, batch))
            if wait:
                wait()
    return [statistics.median(record[WARM - 1 :]) for record in samples]


def measure(group: Group) -> list[dict[str, Any]]:
    """A row for each of our calls that works."""
    named = {f"warpkit, {o.what}": o.run for o in group.ours} | group.peers
    failed = {name: error for name, run in named.items() if (error := failure(run))}
    for name, error in failed.items():
        print(f"{group.part} {group.op}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
    names = [name for name in named if name not in failed]
    times = medians([named[name] for name in names], group.batch, group.runs, group.wait)
    seconds = dict(zip(names, times, strict=True))
    unit, scale = ("ms", 1e3) if group.batch == 1 else ("us", 1e6)
    peers = {name: seconds[name] * scale for name in group.peers if name in seconds}
    rows = []
    for o in group.ours:
        mine = seconds.get(f"warpkit, {o.what}")
        if mine is None:
            continue
        row: dict[str, Any] = {"part": group.part, "name": group.op, "what": o.what}
        row |= {unit: mine * scale, "peers": peers}
        if peers:
            best = min(peers, key=peers.__getitem__)
            row |= {"best_peer": best, "ratio": peers[best] / (mine * scale)}
        if o.target is not None:
            row["target"] = o.target * scale
        if o.target_ratio is not None:
            row["target_ratio"] = o.target_ratio
        if o.limit is not None:
            row |= {"limit": o.limit * scale, "share": o.limit / mine}
        rows.append(row)
    return rows


class Bench:
    """The parts, one method each; what they share is made once."""

    def __init__(self, device: str, quick: bool, gib: float) -> None:
        self.device = device
        self.sizes = QUICK if quick else Sizes()
        self.aimed = device.startswith("cuda") and not quick  # targets are for the real sizes
        self.gib = gib
        on_gpu = device.startswith("cuda")
        self.cupy: Any = imported("cupy") if on_gpu else None
        self.torch: Any = imported("torch") if on_gpu else None
        self.limit = cache(self.pinned_times)
        self.flat = cache(lambda: random(self.sizes.flat))

    # ---- limits

    def copies(self, nbytes: int) -> dict[str, Run]:
        if self.torch:
            return torch_copies(self.torch, nbytes)
        return cupy_copies(self.cupy, nbytes) if self.cupy else {}

    def pinned_times(self, nbytes: int) -> dict[str, float]:
        runs = {k: run for k, run in self.copies(nbytes).items() if "pinned" in k}
        for run in runs.values():
            run()
        return dict(zip(runs, medians(list(runs.values())), strict=True))

    def limit_in(self, nbytes: int) -> float | None:
        return self.limit(nbytes).get("in, pinned")

    def limit_both(self, nbytes: int) -> float | None:
        return self.limit(nbytes).get("both ways, pinned")

    def within(self, limit: float | None, more: float) -> float | None:
        """A target: the limit and so much more."""
        return limit * (1 + more) if limit is not None and self.aimed else None

    def aim(self, seconds: float) -> float | None:
        return seconds if self.aimed else None

    # ---- the parts

    def a(self) -> list[dict[str, Any]]:
        nbytes = self.sizes.flat * 4
        runs = self.copies(nbytes)
        for run in runs.values():
            run()
        times = medians(list(runs.values()))
        return [
            {
                "part": "a",
                "name": "copy",
                "what": f"{what}, {words(nbytes)}",
                "ms": 1e3 * t,
                "gb_s": (2 if "both" in what else 1) * nbytes / t / 1e9,
            }
            for what, t in zip(runs, times, strict=True)
        ]

    def pinned(self, a: Floats) -> Floats | None:
        """The same in memory that a peer has pinned."""
        if self.torch:
            copy: Floats = self.torch.empty(a.size, pin_memory=True).numpy()
        elif self.cupy:
            copy = cupy_pinned(self.cupy, a.nbytes).view(np.float32)
        else:
            return None
        copy[:] = a
        return copy

    def sums(self, a: Floats) -> dict[str, Run]:
        runs: dict[str, Run] = {}
        if cupy := self.cupy:
            runs["CuPy"] = lambda: cupy.asarray(a).sum().get()
        if torch := self.torch:
            runs["PyTorch"] = lambda: torch.from_numpy(a).cuda().sum().item()
        return runs

    def b(self) -> Iterator[Group]:
        a = self.flat()
        named = {"pageable": a, "pinned": self.pinned(a)}
        named["strided, a[:, ::2]"] = a.reshape(self.sizes.side, -1)[:, ::2]
        for what, x in named.items():
            if x is None:
                continue
            limit = self.limit_in(x.nbytes)
            target = self.within(limit, 0.12) if what == "pageable" else None
            run = partial(warpkit.reduce, x, device=self.device)
            ours = Ours(f"sum of {words(x.nbytes)} f4, {what}", run, limit, target)
            yield Group("b", "reduce", [ours], self.sums(x))

    def c(self) -> Iterator[Group]:
        side = self.sizes.side
        a = random(side * side).reshape(side, side)
        touched = np.ones_like(a)
        limit = self.limit_both(a.nbytes)
        call = partial(warpkit.transpose, a, device=self.device)
        what = f"{side} x {side} f4"
        ours = [
            Ours(f"{what}, out=", partial(call, out=touched), limit, self.aim(25e-3)),
            Ours(f"{what}, fresh", call, limit, self.aim(38e-3)),
        ]
        peers: dict[str, Run] = {}
        if cupy := self.cupy:
            peers["CuPy"] = lambda: cupy.ascontiguousarray(cupy.asarray(a).T).get()
            peers["CuPy, out="] = lambda: cupy.ascontiguousarray(cupy.asarray(a).T).get(out=touched)
        if torch := self.torch:
            peers["PyTorch"] = lambda: torch.from_numpy(a).cuda().t().contiguous().cpu()
        yield Group("c", "transpose", ours, peers)

    def d(self) -> Iterator[Group]:
        a = random(self.sizes.histogram)
        limit = self.limit_in(a.nbytes)
        what = f"100 bins, {words(a.nbytes)} f4"
        for given in (True, False):
            span: dict[str, Any] = {"range": (0, 1)} if given else {}
            target = self.within(limit, 0.10) if given else None
            run = partial(warpkit.histogram, a, 100, device=self.device, **span)
            peers: dict[str, Run] = {}
            if self.cupy:
                peers["CuPy"] = partial(self.cupy_histogram, a, span)
            if self.torch:
                peers["PyTorch histc"] = partial(self.torch_histogram, a, given)
            ours = Ours(what + (", range" if given else ""), run, limit, target)
            yield Group("d", "histogram", [ours], peers)

    def cupy_histogram(self, a: Floats, span: dict[str, Any]) -> Any:
        return self.cupy.histogram(self.cupy.asarray(a), 100, **span)[0].get()

    def torch_histogram(self, a: Floats, given: bool) -> Any:
        """With 0, 0 it takes the range from the data."""
        return self.torch.histc(self.torch.from_numpy(a).cuda(), 100, 0, int(given)).cpu()

    def e(self) -> Iterator[Group]:
        a = self.flat().reshape(self.sizes.side, -1)
        touched = np.ones_like(a)
        limit = self.limit_both(a.nbytes)
        call = partial(warpkit.stencil1d, a, TAPS, device=self.device)
        what = f"9 taps, {words(a.nbytes)} f4"
        ours = [
            Ours(f"{what}, out=", partial(call, out=touched), limit),
            Ours(f"{what}, fresh", call, limit),
        ]
        peers: dict[str, Run] = {}
        if cupy := self.cupy:
            ndimage = importlib.import_module("cupyx.scipy.ndimage")
            taps = cupy.asarray(TAPS)
            peers["CuPy"] = lambda: ndimage.correlate1d(cupy.asarray(a), taps).get()
        if torch := self.torch:
            weights = torch.from_numpy(TAPS).cuda().reshape(1, 1, -1)
            conv1d = torch.nn.functional.conv1d  # zeros beyond the ends, not a reflection
            peers["PyTorch conv1d"] = lambda: conv1d(
                torch.from_numpy(a).cuda()[:, None], weights, padding=4
            ).cpu()
        yield Group("e", "stencil1d", ours, peers)

    def f(self) -> Iterator[Group]:
        n = self.sizes.small
        a = random(n)
        there = warpkit.asarray(a, device=self.device)
        small = partial(Group, "f", "reduce", batch=self.sizes.batch, runs=self.sizes.batches)
        arrays: dict[str, Any] = {"a DeviceArray": there}
        sums: dict[str, Run] = {}
        fetched: dict[str, Run] = {}
        if self.cupy:
            arrays["a CuPy array"] = c = self.cupy.asarray(a)
            sums["CuPy"] = c.sum
            fetched["CuPy"] = lambda: float(c.sum())
        if self.torch:
            arrays["a PyTorch tensor"] = t = self.torch.from_numpy(a).cuda()
            sums["PyTorch"] = t.sum
            fetched["PyTorch"] = lambda: t.sum().item()

        def wait() -> None:
            """All were issued to the default stream, so this sum comes after them."""
            float(warpkit.reduce(there))

        def fetch(x: Any) -> Run:
            return lambda: float(warpkit.reduce(x))

        target = self.aim(7.5e-6)
        ours = [
            Ours(f"sum of {n} f4 and fetch, {what}", fetch(x), target=target if i == 0 else None)
            for i, (what, x) in enumerate(arrays.items())
        ]
        yield small(ours, fetched)
        target = self.aim(3e-6)
        ours = [
            Ours(
                f"sum of {n} f4, issue alone, {what}",
                partial(warpkit.reduce, x),
                target=target if i == 0 else None,
            )
            for i, (what, x) in enumerate(arrays.items())
        ]
        yield small(ours, sums, wait=wait)
        run = partial(warpkit.reduce, a, device="cpu")
        ours = [Ours(f"sum of {n} f4 of NumPy's on the CPU", run, target_ratio=1.0)]
        yield small(ours, {"NumPy": partial(np.sum, a)})
        run = partial(warpkit.reduce, a, device=self.device)
        ours = [Ours(f"sum of {n} f4 of NumPy's on {self.device}", run)]
        yield small(ours, self.sums(a))

    def h(self) -> Iterator[Group]:
        """At worst a tenth slower than the quicker of the two, which is not known before."""
        most = random(self.sizes.flat)
        for op in ("reduce", "transpose", "stencil1d", "histogram"):
            call = _auto.OPS[op]
            for n in (2**10, 2**14, 2**18, 2**21, 2**23, 2**25, 2**28):
                if n > most.size:
                    break
                side = 2 ** (n.bit_length() // 2)
                a = most[:n].reshape(side, -1)
                ours = Ours(f"{words(a.nbytes)}, auto", partial(call, a, "auto"), target_ratio=0.9)
                both: dict[str, Run] = {
                    name: partial(call, a, name) for name in ("cpu", self.device)
                }
                yield Group("h", op, [ours], both, batch=50 if n < 2**20 else 1)

    def g(self) -> list[dict[str, Any]]:
        gpus = sum(name.startswith("cuda") for name in warpkit.devices())
        if gpus < 2 or not self.device.startswith("cuda"):
            return []
        a = random(int(self.gib * GIB) // 4 if self.sizes is not QUICK else 2**24)
        call = partial(warpkit.reduce, a)
        run, alone = partial(call, device="cuda:all"), partial(call, device="cuda")
        # 3.5 times as fast with 4
        ours = Ours(f"sum of {words(a.nbytes)} f4, {gpus} GPUs", run, target_ratio=0.875 * gpus)
        rows = measure(Group("g", "reduce", [ours], {"one GPU": alone}))
        same = np.asarray(run()).tobytes() == np.asarray(alone()).tobytes()
        return [row | {"gpus": gpus, "same_bits": same} for row in rows]

    def run(self, part: str) -> list[dict[str, Any]]:
        if part in "ag":
            rows: list[dict[str, Any]] = getattr(self, part)()
            return rows
        groups: Callable[[], Iterator[Group]] = getattr(self, part)
        return [row for group in groups() for row in measure(group)]


# ---------------------------------------------------------------------------- showing


def digits(x: float | None, after: str = "") -> str:
    """Three of them."""
    if x is None:
        return ""
    return f"{x:.0f}{after}" if x >= 100 else f"{x:.3g}{after}"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    unit = "ms" if "ms" in row else "us"
    best = row.get("best_peer")
    target = digits(row.get("target"))
    if "target_ratio" in row:
        target = digits(row["target_ratio"], " x")
    return (
        row["part"],
        row["name"],
        row["what"] + ("" if row.get("same_bits", True) else " !"),
        digits(row[unit]),
        unit,
        target,
        digits(row.get("limit")),
        f"{row['share']:.0%}" if "share" in row else "",
        best or "",
        digits(row["peers"][best]) if best else "",
        digits(row.get("ratio"), " x"),
    )


HEAD = ("", "operation", "case", "time", "", "target", "limit", "share", "best peer", "", "ratio")


def described(bench: Bench) -> dict[str, Any]:
    kind = bench.device.split(":")[0]
    info = warpkit.memory_info(bench.device)
    peers = {"cupy": bench.cupy, "torch": bench.torch}
    return common.machine() | {
        "device": info["name"],
        "compute_capability": info["compute_capability"],
        "devices": warpkit.devices(),
        "build": warpkit._core.config().get(kind, {}).get("build"),
        "peers": {name: module.__version__ for name, module in peers.items() if module},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes: does every part run?")
    parser.add_argument("--only", metavar="LETTERS", default="abcdefg", help="such as bd")
    parser.add_argument("--device", help="default: cuda, or emu where there is no GPU")
    parser.add_argument("--gib", type=float, default=32, help="of part g's array; default: 32")
    parser.add_argument(
        "--output", type=Path, help="default: bench/results/transfer_<device>.json, if all ran"
    )
    options = parser.parse_args()
    if not set(options.only) <= set("abcdefgh"):
        parser.error(f"--only takes letters from a to h, not {options.only!r}")

    kinds = {name.split(":")[0] for name in warpkit.devices()}
    device = options.device or next(kind for kind in ("cuda", "emu", "cpu") if kind in kinds)
    bench = Bench(device, options.quick, options.gib)
    machine = described(bench)
    print(", ".join(f"{k} {v}" for k, v in machine.items() if v is not None), flush=True)

    rows: list[dict[str, Any]] = []
    for part in sorted(set(options.only)):
        try:
            found = bench.run(part)
        except Exception as error:  # one part that fails must not cost the others
            print(f"{part}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        rows += found
        if sys.stderr.isatty():
            print(f"part {part}: {len(found)} rows", file=sys.stderr)
    print(common.table(HEAD, [cells(row) for row in rows], "<<<><>>><>>"))
    if any(not row.get("same_bits", True) for row in rows):
        print("! results differ")

    path = options.output
    kept = {"abcdefg": "transfer", "h": "auto"}.get(options.only)
    if path is None and not options.quick and kept:
        path = common.RESULTS / common.file_name(kept, machine["device"])
    if path is not None:
        common.write(path, {"machine": machine, "rows": rows})
        print(f"written: {path}")


if __name__ == "__main__":
    main()
