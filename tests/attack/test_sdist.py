"""The source distribution: all that the repository has, and a wheel from it, however it lies."""

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import helpers
import pytest

pytestmark = [
    pytest.mark.skipif("cpu" not in helpers.devices, reason="of no device: once, with the CPU's"),
    pytest.mark.unsanitized,
]
NOT_SOURCES = shutil.ignore_patterns(
    ".*cache", ".git", ".venv", ".hypothesis", "build", "dist", "out", "*.egg-info", "*.so"
)
SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
WHEEL = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
REDUCE = """
import numpy as np, warpkit
a = np.arange(10**5) * 0.1
assert warpkit.reduce(a) == warpkit.reduce(a, device="emu") == __import__("math").fsum(a)
print(warpkit.__file__)
"""
CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def run(python, *args, **options):
    env = {k: v for k, v in os.environ.items() if k[:8] != "WARPKIT_" and k[:6] != "PYTHON"}
    env["WARPKIT_CUDA"] = "0"
    env["WARPKIT_CACHE"] = os.environ.get("WARPKIT_CACHE") or str(helpers.ROOT / "build/objects")
    env |= options.pop("env", {})
    return subprocess.run(
        [python, *args], env=env, capture_output=True, text=True, timeout=900, **options
    )


def done(*args, **options):
    result = run(*args, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip().splitlines()[-1:]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A new environment, with what pyproject.toml says a build takes."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
    own = folder / "bin" / "python"
    fetched = run(own, "-m", "pip", "install", "-q", "setuptools>=77", "numpy>=2.0")
    if fetched.returncode != 0:
        pytest.skip(f"pip cannot have setuptools and numpy: {fetched.stderr[-300:]}")
    return own


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the repository, since setuptools writes beside the sources."""
    return shutil.copytree(helpers.ROOT, tmp_path_factory.mktemp("a") / "b", ignore=NOT_SOURCES)


@pytest.fixture(scope="module")
def archive(python, tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    (name,) = done(python, "-c", SDIST, folder, cwd=tree)
    return folder / name


def without_permissions():
    """Root may write anywhere, unless this is taken from it."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def read_only(folder, turn):
    """Takes everybody's permission to write into the folder, or gives it to its owner."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755 if not turn else 0o555)


def test_it_has_what_the_repository_has(archive, tree):
    listed = subprocess.run(["git", "ls-files"], cwd=helpers.ROOT, capture_output=True, text=True)
    wanted = set(listed.stdout.split("\n")) - {""}
    if listed.returncode != 0:
        wanted = {p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.is_file()}
    wanted = {n for n in wanted if (helpers.ROOT / n).exists() and "egg-info" not in n}
    with tarfile.open(archive) as packed:
        names = {m.name.partition("/")[2] for m in packed.getmembers() if m.isfile()}
    names = {n for n in names if "egg-info" not in n}
    assert wanted <= names
    assert names - wanted <= {"PKG-INFO", "setup.cfg", "python/setup.cfg"} | untracked(tree)


def untracked(tree):
    """What lies in the copy, whether git knows it yet or not."""
    return {p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.is_file()}


def test_a_wheel_of_it_reduces_wherever_it_lies(python, archive, tmp_path):
    """Unpacked at a path with a blank, where nothing can be written, in the C locale."""
    with tarfile.open(archive) as packed:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from 3.11.4 on
        packed.extractall(tmp_path / "a b", **safe)
    (source,) = (tmp_path / "a b").iterdir()
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    read_only(source, True)
    try:
        (name,) = done(
            *(python, "-c", WHEEL, wheels),
            cwd=source,
            env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            preexec_fn=without_permissions,
        )
        assert not (source / "build").exists()
    finally:
        read_only(source, False)
    with zipfile.ZipFile(wheels / name) as wheel:
        made = {n: wheel.getinfo(n).file_size for n in wheel.namelist() if n.endswith(".so")}
    assert len(made) == 2
    assert min(made.values()) > 10**6
    done(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheels / name)
    (where,) = done(python, "-c", REDUCE, cwd=tmp_path)
    assert str(python.parent.parent) in where


@pytest.mark.parametrize("missing", ["csrc", "cuda"])
def test_without_sources_there_is_an_error_and_no_module(python, tree, tmp_path, missing):
    partial = shutil.copytree(tree, tmp_path / "tree", ignore=shutil.ignore_patterns("*.egg-info"))
    shutil.rmtree(partial / missing)
    result = run(python, "setup.py", "-q", "build_ext", "--inplace", cwd=partial)
    assert result.returncode != 0
    assert f"{partial / missing} has no " in result.stderr
    assert "these are not all of warpkit's sources" in result.stderr
    assert "Traceback" not in result.stderr
    assert missing == "cuda" or not list((partial / "python").rglob("*.so"))


def test_what_a_macro_includes_is_an_input_of_an_object(python, tree):
    """A header changes what includes it, also where a macro has its name."""
    script = """
import runpy
setup = runpy.run_path("setup.py")
kernels, found = setup["ROOT"] / "csrc" / "cpu" / "kernels", set()
for source in setup["sources"]("csrc", ".c"):
    setup["included"](source, (setup["ROOT"] / "csrc",), found)
print(sorted(p.name for p in kernels.glob("*.h") if p not in found))
"""
    assert done(python, "-c", script, cwd=tree) == ["[]"]


def test_trees_may_share_a_cache(python, tree, tmp_path):
    """Nothing of the place is in the name of an object."""
    script = """
import runpy
setup = runpy.run_path("setup.py")
jobs = setup["emu_jobs"](setup["emu_sources"]())
headers, has = setup["python_headers"]()
jobs += [setup["Job"](["cc", "-I", setup["ROOT"] / "csrc"], s, has, headers)
         for s in setup["sources"]("csrc", ".c")]
print(sorted(job.object for job in jobs))
"""
    other = shutil.copytree(tree, tmp_path / "other")
    cache = {"WARPKIT_CACHE": str(tmp_path / "cache")}
    first, second = (done(python, "-c", script, cwd=at, env=cache) for at in (tree, other))
    assert first == second
    assert str(tmp_path / "cache") in first[0]
