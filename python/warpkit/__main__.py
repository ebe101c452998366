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
    run.add_argument("-I", dest="include", action="append", default=[], metavar="FOLDER")
    run.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    run.add_argument(
        "--races", dest="check", action="store_const", const="races", help="look for races"
    )
    run.add_argument("source", help="a .cu file with main")
    run.add_argument("args", nargs=argparse.REMAINDER, help="the program's own")
    given = parser.parse_args()

    from warpkit import CompileError, DeviceError, _programs

    try:
        options = [f"-D{name}" for name in given.define]
        program, environment = _programs.built(
            os.path.abspath(given.source), given.include, options, given.device, given.check
        )
    except (CompileError, DeviceError, OSError, ValueError) as error:
        sys.exit(str(error))
    os.execve(program, [given.source, *given.args], environment)


if __name__ == "__main__":
    main()
