"""Records what 20,000 random reductions give, bit by bit, so that a rewrite can be held to it.

    golden.py record [--count N]       makes the calls on the CPU and writes the record
    golden.py check [--device NAME]    makes them on that device and tells which results differ

tests/attack/golden_calls.py makes the calls from their seeds. The record has for each call two
digits of a digest of its inputs, and eight of a digest of its results (dtype, shape, bytes; all
NaN count as one) or the name of the exception. Another NumPy may draw other random numbers: then
calls have other inputs, and nothing can be said. Exit status 1: a result differs, or inputs do.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401, so that NumPy knows bfloat16
import numpy as np
import warpkit
from warpkit import reference

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "attack"))

import golden_calls  # noqa: E402
from golden_calls import Call  # noqa: E402

RECORD = ROOT / "tests" / "golden_reductions.txt"
COUNT = 20_000  # calls
IN_A_LINE = 10
TOLD, LISTED = 20, 80  # calls that differ: in words, and by number
ELEMENTS = 8  # of each
CHUNK = 100  # calls that a process makes at a time: as many large ones in each

# A call's seed; digits of its inputs; digits of its results, or the exception's name.
Entry = tuple[int, str, str]


# ---- one call ----------------------------------------------------------------------------------


def same_bits(part: Any) -> np.ndarray:
    """The result on the host, in C order, with one NaN for all."""
    found = part.numpy() if isinstance(part, warpkit.DeviceArray) else part
    a = np.array(found, order="C")
    if a.dtype.kind in "fcV":
        real = np.dtype(golden_calls.PARTS.get(a.dtype.name, a.dtype))
        numbers = a.reshape(-1).view(real)
        numbers[np.isnan(numbers)] = np.nan
    return a


def digits_of(parts: Iterable[np.ndarray], text: str, n: int) -> str:
    h = hashlib.blake2b(text.encode(), digest_size=n // 2)
    for a in parts:
        h.update(f"{a.dtype} {a.shape}".encode() + np.ascontiguousarray(a).tobytes())
    return h.hexdigest()


def input_digits(call: Call) -> str:
    """Two digits, which tell whether NumPy made the same call."""
    where = call.options.get("where", True)
    plain = {name: x for name, x in call.options.items() if name != "where"}
    return digits_of([call.a, np.asarray(where)], f"{call.op} {call.axis} {plain}", 2)


def made(call: Call, device: str, there: bool) -> tuple[np.ndarray, ...] | Exception:
    """The results on a device; there: the array lies on it already."""
    a, options = call.a, dict(call.options)
    try:
        if there:
            a = warpkit.asarray(a, device=device)
            if a.size % 2 and "where" in options:
                options["where"] = warpkit.asarray(options["where"], device=device)
        else:
            options["device"] = device
        result = warpkit.reduce(a, call.op, call.axis, **options)
        parts = (result,) if isinstance(call.op, str) else result
        found = tuple(same_bits(part) for part in parts)
    except Exception as error:
        return error
    for op, part in zip(call.ops, found, strict=True):
        if there and op.startswith("nanarg") and (part == -1).any():
            return ValueError("All-NaN slice encountered")  # as is said where the host waits
    return found


def result_digits(made: tuple[np.ndarray, ...] | Exception) -> str:
    return type(made).__name__ if isinstance(made, Exception) else digits_of(made, "", 8)


def is_comparable(call: Call, there: bool) -> bool:
    """Products are rounded in the order of the memory, and asarray brings that into C order."""
    return not (there and call.rounds_products and not call.a.flags.c_contiguous)


def seeds_of(every: Iterable[int], most: int | None) -> list[int]:
    """Those whose calls may have so many elements, and no more."""
    return [seed for seed in every if most is None or golden_calls.most(seed) <= most]


def entries(seeds: Iterable[int], device: str, there: bool) -> list[Entry]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            call = golden_calls.call(seed)
            if is_comparable(call, there):
                out = result_digits(made(call, device, there))
                found.append((seed, input_digits(call), out))
    return found


def entries_by_processes(
    seeds: list[int], device: str, there: bool, jobs: int
) -> Iterator[list[Entry]]:
    chunks = [seeds[i : i + CHUNK] for i in range(0, len(seeds), CHUNK)]
    work = functools.partial(entries, device=device, there=there)
    if jobs < 2:
        yield from map(work, chunks)
        return
    # A forked process could not use a device that its parent has opened.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(work, chunks)


# ---- the record --------------------------------------------------------------------------------


def write(path: Path, found: list[Entry]) -> None:
    tokens = [into + out for _, into, out in found]
    lines = [" ".join(tokens[i : i + IN_A_LINE]) for i in range(0, len(tokens), IN_A_LINE)]
    path.write_text("\n".join([f"# numpy {np.__version__}", *lines]) + "\n")


def read(path: Path = RECORD) -> list[tuple[str, str]]:
    """The digits of each call's inputs and results."""
    _, _, text = path.read_text().partition("\n")
    return [(token[:2], token[2:]) for token in text.split()]


def numpy_of(path: Path = RECORD) -> str:
    """The version that drew the random numbers."""
    return path.read_text().partition("\n")[0].removeprefix("# numpy ")


def compare(
    recorded: list[tuple[str, str]], found: Iterable[Entry]
) -> tuple[int, list[int], list[int]]:
    """How many results are as recorded; the calls whose results differ, and whose inputs do."""
    same, differ, others = 0, [], []
    for seed, into, out in found:
        if into != recorded[seed][0]:
            others.append(seed)
        elif out != recorded[seed][1]:
            differ.append(seed)
        else:
            same += 1
    return same, differ, others


# ---- what is told ------------------------------------------------------------------------------


def in_words(call: Call) -> str:
    a = call.a
    strides = tuple(s // a.itemsize for s in a.strides)
    options = {
        name: f"{np.count_nonzero(x)} of {x.size}" if name == "where" else x
        for name, x in call.options.items()
    }
    return (
        f"{call.op} of {a.dtype} {a.shape}, axis {call.axis}, {call.layout}, "
        f"strides {strides}, {options or 'no options'}"
    )


def oracle(call: Call) -> tuple[np.ndarray, ...] | Exception:
    """The exact results by fractions; a large call would take hours."""
    if call.a.size > golden_calls.SMALL:
        return ValueError("too many elements for the oracle")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = (reference.reduce(call.a, op, call.axis, **taken(call, op)) for op in call.ops)
            return tuple(same_bits(part) for part in parts)
    except Exception as error:
        return error


def taken(call: Call, op: str) -> dict[str, Any]:
    moments = op.removeprefix("nan") in ("var", "std")
    return {name: x for name, x in call.options.items() if name != "ddof" or moments}


def difference(call: Call, device: str, there: bool) -> Iterator[str]:
    """What each op gives on the device, on the CPU and by the oracle; where they differ, if so."""
    every = {
        device: made(call, device, there),
        "cpu": made(call, "cpu", False),
        "the oracle": oracle(call),
    }
    for name, result in every.items():
        if isinstance(result, Exception):
            yield f"    {name}: {type(result).__name__}: {result}"
    results = {name: x for name, x in every.items() if not isinstance(x, Exception)}
    for k, op in enumerate(call.ops):
        parts = {name: x[k] for name, x in results.items()}
        first, *rest = parts.values()
        apart = np.zeros(first.size, bool)
        for x in rest:
            apart |= bits(x) != bits(first) if x.size == first.size else True
        at = np.flatnonzero(apart if apart.any() else ~apart)[:ELEMENTS]
        for name, x in parts.items():
            some = " ".join(str(v) for v in x.reshape(-1)[at[at < x.size]])
            yield f"    {op} by {name}: {x.dtype} {x.shape}, at {at.tolist()}: {some}"


def bits(a: np.ndarray) -> np.ndarray:
    """The elements as bytes: -0.0 is not 0.0, and NaN equals itself."""
    return a.reshape(-1).view(f"V{a.dtype.itemsize}")


def tell(say: Callable[[str], Any], seed: int, out: str, device: str, there: bool) -> None:
    call = golden_calls.call(seed)
    say(f"call {seed}: {in_words(call)}")
    say(f"    recorded: {out}; now: {result_digits(made(call, device, there))}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in difference(call, device, there):
            say(line)


def check(
    device: str,
    seeds: list[int],
    *,
    there: bool = False,
    jobs: int = 1,
    path: Path = RECORD,
    say: Callable[[str], Any] = print,
) -> tuple[int, int, int]:
    """How many results are as recorded, how many differ, and how many calls have other inputs."""
    recorded = read(path)
    same, others = 0, 0
    differ: list[int] = []
    for found in entries_by_processes(seeds, device, there, jobs):
        as_recorded, wrong, changed = compare(recorded, found)
        for seed in wrong[: max(TOLD - len(differ), 0)]:
            tell(say, seed, recorded[seed][1], device, there)
        same, differ, others = same + as_recorded, differ + wrong, others + len(changed)
    if len(differ) > TOLD:
        some = " ".join(map(str, differ[TOLD : TOLD + LISTED]))
        say(f"and {len(differ) - TOLD} others, of which the first are {some}")
    say(f"{device}: {same} as recorded, {len(differ)} differ, {others} have other inputs")
    if others:
        say(
            f"the calls are not those of the record, which NumPy {numpy_of(path)} drew: record anew"
        )
    return same, len(differ), others


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("task", choices=("record", "check"))
    parser.add_argument("--device", help="cpu, emu, cuda, emu:all; default: all that are present")
    parser.add_argument("--first", type=int, default=0, help="seed of the first call")
    parser.add_argument("--count", type=int, default=COUNT, help="calls")
    parser.add_argument("--most", type=int, help="leave out calls of a class with more elements")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--there", action="store_true", help="arrays lie on the device; no CPU")
    parser.add_argument("--path", type=Path, default=RECORD, help="the record")
    options = parser.parse_args(arguments)
    if options.task == "record":
        every = list(range(options.count))
        parts = entries_by_processes(every, "cpu", False, options.jobs)
        found = [entry for part in parts for entry in part]
        write(options.path, found)
        print(f"{options.path}: {len(found)} calls, {options.path.stat().st_size} bytes")
        return 0
    last = min(options.first + options.count, len(read(options.path)))
    seeds = seeds_of(range(options.first, last), options.most)
    devices = [options.device] if options.device else warpkit.devices()
    if options.there:
        devices = [device for device in devices if device != "cpu"]
    if not devices:
        parser.error("--there needs a device that has memory of its own")
    fine = True
    for device in devices:
        warpkit.reduce(np.zeros(1), device=device)  # raises where there is none
        _, differ, others = check(
            device, seeds, there=options.there, jobs=options.jobs, path=options.path
        )
        fine &= differ == others == 0
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
