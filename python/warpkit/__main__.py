"""python -m warpkit: what is done from a shell."""

from __future__ import annotations

import argparse
import os
import sys


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m warpkit", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
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
    for command in (run, trace):
        command.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER")
        command.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
        command.add_argument("source", help="a .cu file with main")
        command.add_argument("args", nargs=argparse.REMAINDER, help="the program's own")
        command.set_defaults(what=command)
    given = parser.parse_args()

    from warpkit import CompileError, DeviceError, _programs

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
