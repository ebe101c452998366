"""The record of the GPU run: what it covers, and when it is stale."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import gpu_record

TESTS = Path(__file__).parent
tool = gpu_record()


@pytest.fixture
def tree(tmp_path):
    for name in (
        "setup.py",
        "csrc/a.c",
        "csrc/cpu/b.h",
        "cuda/reduce/c.cu",
        "cuda/d.o",
        "cuda/emu/runtime.h",
        "csrc/e.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\0binary" if name.endswith(".o") else name.encode())
    return tmp_path


def write_record(tree):
    device = {"name": "NVIDIA H100", "compute_capability": 90}
    counts = {"passed": 12, "failed": 0, "skipped": 3}
    record = tool.describe(device, "CUDA 13.0, sm_90", counts)
    record["files"] = tool.digests(tree)
    path = tree / "record.json"
    path.write_text(json.dumps(record))
    return path


def test_it_covers_every_text_that_decides_what_a_kernel_computes(tree):
    assert list(tool.digests(tree)) == ["csrc/a.c", "csrc/cpu/b.h", "cuda/reduce/c.cu", "setup.py"]
    own = tool.digests()
    assert {"setup.py", "csrc/kernels.def", "csrc/num/exact.h", "csrc/plan.c"} <= set(own)
    assert all(len(digest) == 64 for digest in own.values())


def test_it_holds_while_nothing_changes(tree):
    path = write_record(tree)
    fresh, line = tool.verdict(path, tree)
    assert fresh
    assert line.startswith("verified on NVIDIA H100 (")
    assert line.endswith(": 12 passed")
    record = json.loads(path.read_text())
    assert record["compute_capability"] == "9.0"
    assert record["date"].endswith("+00:00")


def test_it_is_stale_once_a_file_changes_comes_or_goes(tree):
    path = write_record(tree)
    date = json.loads(path.read_text())["date"]
    (tree / "csrc/a.c").write_text("changed")
    assert tool.verdict(path, tree) == (False, f"stale since {date}: csrc/a.c changed")
    (tree / "cuda/new.cu").write_text("new")
    (tree / "cuda/reduce/c.cu").unlink()
    assert tool.verdict(path, tree)[1] == f"stale since {date}: csrc/a.c changed (and 2 more)"


def test_a_missing_or_broken_record_is_said(tree):
    for text in (None, "", "[]", "{}", '{"device": 1}'):
        path = tree / "record.json"
        if text is not None:
            path.write_text(text)
        fresh, line = tool.verdict(path, tree)
        assert not fresh
        assert line.startswith("no GPU record: record.json")
        assert "\n" not in line


def run_suite(*arguments):
    command = [sys.executable, "-m", "pytest", TESTS / "test_house.py", "-p", "no:cacheprovider"]
    result = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=300)
    return result.returncode, result.stdout + result.stderr


def test_it_is_not_written_without_a_gpu_or_after_half_a_run(tmp_path):
    path = tmp_path / "record.json"
    code, text = run_suite("--device", "cpu", "--record", path)
    assert code == 0
    assert "record.json: not written, no cuda device was tested" in text
    assert not path.exists()


def test_an_absent_device_is_an_error_not_a_green_run():
    code, text = run_suite("--device", "cuda:63")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--device cuda:63: there are cpu" in text
