"""python -m warpkit: what is done from a shell."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import numpy as np

import warpkit
from warpkit import DeviceError


def _config(given: argparse.Namespace) -> None:
    warpkit.show_config()


def _devices(given: argparse.Namespace) -> None:
    for name in warpkit.devices():
        info = warpkit.memory_info(name)
        print(f"{name:7} {info['name']}, {info['free'] / 2**30:.1f} GiB free")


def _variants(given: argparse.Namespace) -> None:
    for row in warpkit.variants(given.op):
        name = f"{row.name} (production)" if row.production else row.name
        print(f"{row.op:15} {row.device:5} {name:22} {row.teaches}")


def _arguments(given: argparse.Namespace) -> list[Any]:
    """An array of the shape and dtype that were asked for, and what else the operation takes."""
    shape = tuple(map(int, given.shape.split(",")))
    a = np.random.default_rng(0).integers(0, 100, shape).astype(given.dtype)
    if given.op in ("bincount", "warp_histogram", "run_length", "unique_counts"):
        return [a.ravel()]
    return [a, [0.25, 0.5, 0.25]] if given.op in ("stencil1d", "convolve1d") else [a]


def _explain(given: argparse.Namespace) -> None:
    print(warpkit.explain(given.op, *_arguments(given), device=given.device))


def _bench(given: argparse.Namespace) -> None:
    print(warpkit.bench(given.op, *_arguments(given), devices=given.device))


TOLD = {
    "config": _config,
    "devices": _devices,
    "variants": _variants,
    "explain": _explain,
    "bench": _bench,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m warpkit", description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar="command")
    run = commands.add_parser(
        "run", help="compile a CUDA program and run it on the emulated device: no GPU is needed"
    )
    run.add_argument("--device", metavar="NAME", help="emu, or cuda, for which nvcc compiles it")
    run.add_argument(
        "--races", dest="check", action="store_const", const="races", help="look for races"
    )
    trace = commands.add_parser(
        "trace", help="run a CUDA program likewise, and tell what its accesses to memory cost"
    )
    trace.add_argument("--json", action="store_true", help="all counts, as JSON")
    trace.add_argument("--html", metavar="FILE", help="write the view of warpkit.lab")
    trace.add_argument("--kernel", metavar="NAME", help="only this kernel's launches")
    commands.add_parser("config", help="versions, devices, why one is missing, settings")
    commands.add_parser("devices", help="those that are here")
    rows = commands.add_parser("variants", help="the kernels of an operation, or of all")
    rows.add_argument("op", nargs="?", help="such as reduce")
    timed = commands.add_parser("bench", help="time every variant of an operation on every device")
    timed.add_argument("op", help="such as transpose")
    told = commands.add_parser(
        "explain", help="tell how an operation would be run, and at what cost"
    )
    told.add_argument("op", help="such as transpose")
    told.add_argument("--device", metavar="NAME")
    for command in (told, timed):
        command.add_argument("--shape", default="4096,4096", metavar="N,N", help="4096,4096")
        command.add_argument("--dtype", default="float32", metavar="NAME", help="float32")
    timed.add_argument("--device", action="append", metavar="NAME", help="repeatable")
    for command in (run, trace):
        command.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER")
        command.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
        command.add_argument("source", help="a .cu file with main")
        command.add_argument("args", nargs=argparse.REMAINDER, help="the program's own")
        command.set_defaults(what=command)
    given = parser.parse_args()
    if given.command in TOLD:
        try:
            return TOLD[given.command](given)
        except (DeviceError, TypeError, ValueError) as error:
            sys.exit(str(error))

    from warpkit import CompileError, _programs

    try:
        options = [f"-D{name}" for name in given.define]
        if given.what is trace:
            sys.exit(_trace(given, options))
        program, environment = _programs.built(
            os.path.abspath(given.source), given.include, options, given.device, given.check
        )
    except (CompileError, DeviceError, OSError, ValueError) as error:
        sys.exit(str(error))
    os.execve(program, [given.source, *given.args], environment)


def _trace(given: argparse.Namespace, options: list[str]) -> int:
    """Gives the program's exit status; its output comes first."""
    from warpkit import lab

    trace = lab.trace(
        os.path.abspath(given.source),
        *given.args,
        kernel=given.kernel,
        include=given.include,
        options=options,
    )
    done = trace.result
    sys.stderr.write(done.stderr)
    if given.html:
        trace.to_html(given.html)
    if given.json:
        print(trace.to_json())
    else:
        sys.stdout.write(done.stdout)
        print(trace)
    return int(done.returncode)


if __name__ == "__main__":
    main()
