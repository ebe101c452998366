"""Makes calls of the CUDA runtime API fail, one after another, on the emulated device.

    runtime_calls.py CALLS DEVICES SECONDS

Each operation is run once to see which calls it makes and from where (WARPKIT_EMU_CALLS, into the
file CALLS). A call from each place fails, then others while there is time. The operation must raise
DeviceError or MemoryError, or give the right answer; then be right again; and no device memory may
be lost. Prints a line for each fault, the places in _emu.so that were reached, and a count.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS, DEVICES, SECONDS = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
sys.argv[1] = "emu"
os.environ["WARPKIT_EMU_DEVICES"] = str(DEVICES)

import numpy as np  # noqa: E402
import warpkit  # noqa: E402
from allocations import CUBE, FLAT, LINE, OPERATIONS, bits, in_child  # noqa: E402

DEVICE = "emu:all"
SINGLE = {"device": "emu"}
LONGER = np.concatenate([LINE] * 5)
on_device: list[Any] = []


def resident() -> Any:
    """An array on the device, made once."""
    if not on_device:
        on_device.append(warpkit.asarray(LONGER, device="emu"))
    return on_device[0]


class Foreign:
    """An array of another library's, on the device."""

    def __init__(self) -> None:
        capsule = resident().__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = ctypes.c_size_t.from_address(get(capsule, b"dltensor")).value
        self.__cuda_array_interface__ = {
            "version": 3,
            "typestr": "<f8",
            "shape": (LONGER.size,),
            "strides": None,
            "data": (address, True),
        }


MORE: dict[str, Callable[[], Any]] = {
    "constant taps": lambda: warpkit.stencil1d(FLAT, [1, 2, 3], variant="constant", **SINGLE),
    "divergent taps": lambda: warpkit.stencil1d(
        FLAT, [1, 2, 3], variant="constant_divergent", **SINGLE
    ),
    "constant memory": lambda: warpkit.smem.read(np.arange(32), memory="constant", **SINGLE).values,
    "segments": lambda: warpkit.segment_reduce(LINE, [0, 7, 7, LINE.size], **SINGLE),
    "groups": lambda: warpkit.group_reduce(np.arange(LINE.size) % 9, LINE, "var", **SINGLE),
    "places of groups": lambda: warpkit.group_reduce(
        np.arange(LINE.size) % 9, LINE, "argmax", **SINGLE
    ),
    "prefixes": lambda: warpkit.cumsum(LINE, **SINGLE),
    "dot": lambda: warpkit.dot(LINE, LINE, **SINGLE),
    "stats of several GPUs": lambda: tuple(warpkit.reduce(LONGER, ("sum", "var"), device=DEVICE)),
    "products of several GPUs": lambda: warpkit.reduce(LONGER, "prod", device=DEVICE),
    "counts of several GPUs": lambda: warpkit.histogram(LONGER, 99, device=DEVICE),
    "a scalar of a resident array": lambda: float(warpkit.reduce(resident())),
    "item": lambda: warpkit.reduce(resident(), "max").item(),
    "on another stream": lambda: np.asarray(
        warpkit.transpose(warpkit.asarray(FLAT, device="emu"), stream=2).numpy()
    ),
    "runs of a resident array": lambda: warpkit.run_length(resident()).counts.numpy(),
    "a copy on the device": lambda: resident()[::3].copy().numpy(),
    "device to device": lambda: warpkit.asarray(resident()[5:], copy=True).numpy(),
    "where on the device": lambda: warpkit.reduce(
        warpkit.asarray(CUBE, device="emu")[:, ::2, 1:], "sum", 1, keepdims=True
    ).numpy(),
    "another library's": lambda: np.asarray(warpkit.reduce(Foreign()).item()),
    "a result on the host": lambda: warpkit.reduce(
        warpkit.asarray(FLAT, device="emu"), "sum", 0, out=np.zeros(50, np.float32)
    ),
    "waiting": lambda: (resident()._wait(), np.zeros(1))[1],
    "info and trim": lambda: (warpkit.release_memory("emu"), np.zeros(1))[1],
}


def calls_of(operation: Callable[[], Any]) -> list[tuple[str, str]]:
    """Function and place of each call that it makes, in order."""
    CALLS.write_text("")
    change(WARPKIT_EMU_CALLS=str(CALLS))
    with contextlib.suppress(warpkit.DeviceError, MemoryError):
        operation()
    change(WARPKIT_EMU_CALLS="")
    return noted()


def change(**settings: str) -> None:
    os.environ |= settings
    warpkit._core.read_settings()


def noted() -> list[tuple[str, str]]:
    return [(f, at) for f, at in (line.split() for line in CALLS.read_text().splitlines())]


def plans(made: list[tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """What WARPKIT_EMU_FAIL is set to for each call from each place."""
    nth: collections.Counter[str] = collections.Counter()
    of_place: dict[tuple[str, str], list[str]] = {}
    for call in made:
        nth[call[0]] += 1
        of_place.setdefault(call, []).append(f"{call[0]}:{nth[call[0]]}")
    return of_place


def ends(made: list[tuple[str, str]]) -> list[str]:
    """Those of the first and the last call from each place."""
    return [plan for all_ in plans(made).values() for plan in dict.fromkeys((all_[0], all_[-1]))]


ready = False  # the devices are set up: asking for their memory would do that


def in_use() -> list[int]:
    return [warpkit.memory_info(f"emu:{i}")["pool_used"] for i in range(DEVICES) if ready]


class Search:
    def __init__(self) -> None:
        self.faults = self.failed = 0

    def fault(self, text: str) -> None:
        self.faults += 1
        print(text, flush=True)

    def attempt(self, name: str, operation: Callable[[], Any], want: str, plan: str) -> None:
        used = in_use()
        change(WARPKIT_EMU_FAIL=plan, WARPKIT_EMU_CALLS=str(CALLS))
        try:
            if bits(operation()) != want:
                self.fault(f"{name}, {plan}: a wrong result")
        except (warpkit.DeviceError, MemoryError):
            self.failed += 1
        except Exception as error:
            if "is in the memory of no device" not in str(error):  # whose it is could not be asked
                self.fault(f"{name}, {plan}: {type(error).__name__}: {error}")
        change(WARPKIT_EMU_FAIL="", WARPKIT_EMU_CALLS="")
        try:
            if bits(operation()) != want:
                self.fault(f"{name}, after {plan}: a wrong result")
        except Exception as error:
            self.fault(f"{name}, after {plan}: {type(error).__name__}: {error}")
        now = in_use()
        if (
            used
            and now > used
            and not plan.startswith(("cudaFree", "cudaSetDevice", "cudaGetDevice:"))
        ):
            self.fault(f"{name}, {plan}: {now} bytes are in use, {used} before")


def alone(*arguments: Any) -> str:
    search = Search()
    search.attempt(*arguments)
    return f"{search.faults} {search.failed}"


def first_calls(search: Search) -> None:
    """In processes that have used no device: what is made once for all is made, or fails."""
    for name in ("sum of columns", "asarray", "histogram of bytes")[: 1 if SECONDS < 10 else 3]:
        operation = OPERATIONS[name]
        want = in_child(name, lambda call=operation: bits(call()))
        told = in_child(name, lambda call=operation: " ".join(ends(calls_of(call))))
        for plan in (told or "").split():
            if plan.startswith("cudaGetDeviceCount"):
                continue  # asked once for all: there are no devices then

            one = functools.partial(alone, name, operation, want, plan)
            faults, failed = map(int, (in_child(f"{name}, {plan}", one) or "1 0").split())
            search.faults += faults
            search.failed += failed


def main() -> int:
    search = Search()
    first_calls(search)
    global ready
    ready = True
    operations = OPERATIONS | MORE
    places: set[tuple[str, str]] = set()
    tried: set[tuple[str, str]] = set()
    todo, later = [], []
    for name, operation in operations.items():
        places |= set(calls_of(operation))  # the first of all sets up the device too
        want = bits(operation())
        for call, all_ in plans(calls_of(operation)).items():
            places.add(call)
            known = call in tried  # from another operation
            tried.add(call)
            todo += [(name, operation, want, plan) for plan in all_[:1] if not known]
            later += [(name, operation, want, plan) for plan in all_[not known :]]
    random.Random(0).shuffle(later)
    CALLS.write_text("")
    start = time.monotonic()
    for one in todo:
        search.attempt(*one)
    for one in later:
        if time.monotonic() - start > SECONDS:
            break
        search.attempt(*one)
    for function, place in {*places, *noted()}:  # some are made only after a failure
        print("reached", function, place)
    print(f"{search.faults} faults, {search.failed} calls failed")
    return search.faults > 0


if __name__ == "__main__":
    sys.exit(main())
