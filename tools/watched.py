"""A copy of the package whose emulated device looks for races in the ladders' kernels, for make
schedules: one run of the row suite then proves both. Production kernels, which take minutes to
compile so, are watched by make races alone.
"""

import os
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import warpkit

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    package = Path(sys.argv[1]) / "warpkit"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for path in Path(warpkit.__file__).parent.iterdir():
        if path.name not in ("__pycache__", "_emu.so"):
            (package / path.name).symlink_to(path)
    setup = SimpleNamespace(**runpy.run_path(str(ROOT / "setup.py")))
    sources = sorted(setup.emu_sources())
    plain = setup.emu_jobs(sources)
    os.environ["WARPKIT_SANITIZE"] = "races"
    watched = setup.emu_jobs(sources)  # of the device itself only races.cc is another one
    jobs = [
        other if "ladder" in source.parts or source.name == "races.cc" else job
        for source, job, other in zip(sources, plain, watched, strict=True)
    ]
    setup.emu_link(jobs, package / "_emu.so", "-shared")


if __name__ == "__main__":
    main()
