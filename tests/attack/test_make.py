"""The Makefile compiles CUDA code for the GPU that is here, and none where there is none."""

import os
import shutil
import stat
import subprocess

import helpers
import pytest

pytestmark = [
    pytest.mark.skipif("cpu" not in helpers.devices, reason="of no device: once, with the CPU's"),
    pytest.mark.skipif(shutil.which("make") is None, reason="no make here"),
]
LISTED = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)"
NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
NONE = "no GPU here, so no CUDA code is compiled; with it: WARPKIT_CUDA=1 make "


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def make(tmp_path):
    """Runs make with a Python that only notes what it was to run, and what WARPKIT_CUDA was."""
    notes = tmp_path / "notes"
    script(tmp_path / "venv" / "bin" / "python", f'echo "$WARPKIT_CUDA: $@" >> {notes}')

    def run(*goals, gpu="exit 9", cuda=None):
        script(tmp_path / "bin" / "nvidia-smi", gpu)
        env = {k: v for k, v in os.environ.items() if k not in ("WARPKIT_CUDA", "CI", "MAKEFLAGS")}
        env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
        if cuda is not None:
            env["WARPKIT_CUDA"] = cuda
        notes.write_text("")
        done = subprocess.run(
            ["make", f"VENV={tmp_path / 'venv'}", *goals],
            cwd=helpers.ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), notes.read_text().splitlines()

    return run


INSTALL = {
    goal: f"-m pip install -q .[{e}]" for goal, e in (("test", "test,demo"), ("demo", "demo"))
}


@pytest.mark.parametrize("goal", ["demo", "test"])
@pytest.mark.parametrize("smi", ["exit 127", f'echo "{NO_DRIVER}"; exit 9', "exit 0"])
def test_without_a_gpu_no_cuda_code_is_compiled_and_one_line_says_so(make, goal, smi):
    said, ran = make(goal, gpu=smi)
    assert [line for line in said if "CUDA" in line] == [NONE + goal]
    assert ran[0] == f"0: {INSTALL[goal]}"
    assert len(ran) == 2
    assert make(goal, gpu=smi)[1] == ran[1:]  # installed already


@pytest.mark.parametrize("goal", ["demo", "test"])
def test_with_a_gpu_setup_py_finds_out_which(make, goal):
    said, ran = make(goal, gpu=f"echo '{LISTED}'")
    assert ran[0] == f": {INSTALL[goal]}"
    assert not any("CUDA" in line for line in said)


@pytest.mark.parametrize("cuda", ["0", "1", "auto"])
def test_what_is_asked_for_is_built_whatever_is_installed(make, cuda):
    make("demo")
    said, ran = make("demo", cuda=cuda)
    assert ran[0] == f"{cuda}: {INSTALL['demo']}"
    assert not any("no GPU" in line for line in said)
    assert len(make("demo", cuda=cuda)[1]) == 1
    assert make("demo")[1][0] == f"0: {INSTALL['demo']}"
    assert make("demo", cuda=cuda)[1][0] == f"{cuda}: {INSTALL['demo']}"
