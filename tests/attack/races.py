"""Data races among calls of several threads, as ThreadSanitizer sees them.

python races.py FOLDER SECONDS runs the package of that folder, built with WARPKIT_SANITIZE=thread,
in an interpreter that ThreadSanitizer watches: calls of all kinds by several threads at once, on
shared inputs, while the workers are shared too. They run in the oldest instruction set: what
AVX-512 stores on a thread's own stack GCC 12's takes for races with other threads. First a library
with a race is tried: one that is not reported means that nothing would be. Exit status 0: no race.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RACE = """
#include <pthread.h>
static long shared;
static void *count(void *arg)
{
    for (int i = 0; i < 1000; i++) shared++;
    return arg;
}
void race(void)
{
    pthread_t other;
    pthread_create(&other, 0, count, 0);
    count(0);
    pthread_join(other, 0);
}
"""

CALLS = """
import sys, threading, time
import numpy as np, warpkit
rng = np.random.default_rng(0)
floats, ints = rng.normal(size=300_000), rng.integers(0, 5000, 300_000)
matrix, mask = floats.reshape(500, 600), floats.reshape(500, 600) > 0
calls = [
    lambda: warpkit.reduce(floats, ("sum", "var", "max")),
    lambda: warpkit.reduce(matrix, "mean", 0, where=mask),
    lambda: warpkit.reduce(matrix, "argmax", 1),
    lambda: warpkit.reduce(matrix, "prod", 0),
    lambda: warpkit.transpose(matrix),
    lambda: warpkit.stencil1d(matrix, [1.0, 2, 1], 0),
    lambda: warpkit.histogram(floats, 1000),
    lambda: warpkit.histogram(floats, 50, weights=floats),
    lambda: warpkit.bincount(ints),
    lambda: warpkit.unique_counts(floats),
    lambda: warpkit.run_length(ints),
    lambda: warpkit.warp_histogram(ints),
    lambda: warpkit.warp.scan(ints),
]
end = time.monotonic() + float(sys.argv[1])
def work(first):
    done = first
    while time.monotonic() < end or done < first + len(calls):
        calls[done % len(calls)]()
        done += 1
threads = [threading.Thread(target=work, args=(3 * i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
"""


def watched(script: str, *args: str, folder: str = "") -> int:
    """The exit status of a script under ThreadSanitizer; 66: it has seen a race."""
    library = subprocess.check_output(["cc", "-print-file-name=libtsan.so"], text=True).strip()
    env = {
        **os.environ,
        "LD_PRELOAD": library,
        "TSAN_OPTIONS": "exitcode=66 report_signal_unsafe=0",
        "WARPKIT_ISA": "base",
        "WARPKIT_NUM_THREADS": "4",
        "WARPKIT_DEVICE": "cpu",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": folder,
    }
    return subprocess.run([sys.executable, "-c", script, *args], env=env).returncode


def main() -> int:
    folder, seconds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        source, library = Path(name) / "race.c", Path(name) / "race.so"
        source.write_text(RACE)
        build = ["cc", "-shared", "-fPIC", "-fsanitize=thread", "-g", source, "-o", library]
        subprocess.run(build, check=True)
        if watched(f"import ctypes; ctypes.CDLL({str(library)!r}).race()") != 66:
            print("ThreadSanitizer does not report a race that is there")
            return 1
    code = watched(CALLS, seconds, folder=folder)
    print("no race" if code == 0 else f"exit status {code}")
    return code


if __name__ == "__main__":
    sys.exit(main())
