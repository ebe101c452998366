"""Which devices there are, which one a call runs on, and what is said about them."""

import asyncio
import contextvars
import re
import shutil
import sys
import threading
from pathlib import Path

import helpers
import numpy as np
import pytest
import warpkit

KEYS = {
    *("device", "name", "compute_capability", "total", "free"),
    *("pool_used", "pool_reserved", "pool_keep", "pool_limit", "staging"),
    *("results", "results_keep"),
}


@pytest.fixture(autouse=True)
def default_device():
    yield
    warpkit.set_default_device(None)


def test_the_cpu_is_always_there():
    present = warpkit.devices()
    assert present[0] == "cpu"
    assert all(re.fullmatch(r"cpu|cuda:\d+|emu", name) for name in present)
    assert len(set(present)) == len(present)


def test_memory_is_described(device):
    info = warpkit.memory_info(device)
    assert set(info) == KEYS
    assert 0 < info["free"] <= info["total"]
    assert info["name"]
    if device.startswith("cuda"):
        assert info["compute_capability"] >= 50
        assert 0 <= info["pool_used"] <= info["pool_reserved"]


def test_a_device_may_be_named_with_its_number():
    assert warpkit.memory_info("cpu:0")["name"] == warpkit.memory_info("cpu")["name"]
    assert warpkit.reduce([1, 2], device="cpu:0") == 3


def test_the_configuration_is_printed(capsys):
    warpkit.show_config()
    text = capsys.readouterr().out
    assert warpkit.__version__ in text
    assert np.__version__ in text
    for kind in ("cpu", "cuda", "emu"):
        assert re.search(rf"^{kind} +\S", text, re.MULTILINE)
    for kind in ("cuda", "emu"):
        if not any(name.startswith(kind) for name in warpkit.devices()):
            assert re.search(rf"^{kind} +none: \w", text, re.MULTILINE)


def test_rows_are_listed_by_operation():
    everything = warpkit.variants()
    ops = ["reduce", "transpose", "stencil1d", "histogram", "warp_histogram"]
    ops += ["run_length", "unique_counts", "dot", "segment_reduce", "cumsum", "group"]
    ops += ["shfl", "vote", "match", "warp_reduce", "warp_scan"]
    ops += ["lane_bits", "lane_arrays", "smem_tile", "lane_reads"]
    assert [row for op in ops for row in warpkit.variants(op)] == everything
    assert {dtype for row in everything for dtype in row.dtypes} <= set(helpers.ALL_DTYPES)


def test_the_default_device_is_used(device):
    """Seen by the variants that it has: each backend has its own."""
    kind = "cpu" if device == "cpu" else "cuda"
    warpkit.set_default_device(device)
    for row in warpkit.variants("transpose"):
        if row.device == kind:
            a = np.array([[1, 2]], np.int32)
            assert warpkit.transpose(a, variant=row.name).tolist() == [[1], [2]]
        else:
            with pytest.raises(ValueError, match=f"on '{kind}'"):
                warpkit.transpose([[1, 2]], variant=row.name)
    assert warpkit.memory_info()["name"] == warpkit.memory_info(device)["name"]


def test_a_call_may_overrule_the_default(device):
    warpkit.set_default_device("cpu")
    row = helpers.rows("transpose")[-1]
    assert row([[1, 2]]).tolist() == [[1], [2]]


WHICH = """
import warpkit
{before}
try:
    warpkit.reduce([1], variant="nonsense")
except (ValueError, warpkit.DeviceError) as error:
    print(type(error).__name__, error)
"""


def test_the_environment_names_the_default_device():
    run = helpers.python
    script = WHICH.format(before="")
    first = "cuda" if any(d.startswith("cuda") for d in warpkit.devices()) else "cpu"
    assert f"on '{first}'" in run(script, env={"WARPKIT_DEVICE": ""})
    assert "on 'cpu'" in run(script, env={"WARPKIT_DEVICE": "cpu"})
    assert "ValueError unknown device 'gpu'" in run(script, env={"WARPKIT_DEVICE": "gpu"})
    if first == "cpu":
        assert "DeviceError no device 'cuda'" in run(script, env={"WARPKIT_DEVICE": "cuda"})
    script = WHICH.format(before="warpkit.set_default_device('cpu')")
    assert "on 'cpu'" in run(script, env={"WARPKIT_DEVICE": "cuda"})


SHARED = """
import sys, numpy as np, warpkit
a = np.arange(96 * 70, dtype=np.float32).reshape(96, 70)
for row in warpkit.variants("transpose"):
    if row.device == "cuda" and row.name != "copy" and "float32" in row.dtypes:
        assert (warpkit.transpose(a, device=sys.argv[1], variant=row.name) == a.T).all(), row
assert warpkit.histogram(a, 9, device=sys.argv[1])[0].sum() == a.size
"""


def test_any_share_of_shared_memory_gives_the_same(device):
    if device == "cpu":
        pytest.skip("it has none")
    for percent in ("0", "100"):
        assert helpers.python(SHARED, device, env={"WARPKIT_CARVEOUT": percent}) == ""


REFUSED = """
import pytest, warpkit
with pytest.raises(warpkit.DeviceError, match="is of another version of warpkit"):
    warpkit.reduce([1.0, 2.0], device="emu")
assert warpkit.reduce([1.0, 2.0], device="cpu") == 3
print(warpkit.__file__)
"""


def test_a_plug_in_of_another_build_is_refused(tmp_path):
    if "emu" not in warpkit.devices():
        pytest.skip("no plug-in to change")
    package = Path(warpkit.__file__).parent
    copy = tmp_path / "warpkit"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("_cuda*", "__pycache__"))
    words = re.compile(rb"(?<=\0)[0-9a-f]{32}(?=\0)")
    plugin = (copy / "_emu.so").read_bytes()
    core = next(copy.glob("_core*.so")).read_bytes()
    (contract,) = set(words.findall(plugin)) & set(words.findall(core))
    other = contract[:-1] + (b"0" if contract[-1:] != b"0" else b"1")
    (copy / "_emu.so").write_bytes(plugin.replace(contract, other))
    assert str(copy) in helpers.python(REFUSED, env={"PYTHONPATH": str(tmp_path)})


NO_CUDA = """
import warpkit
try:
    warpkit.reduce([1], device="cuda")
except warpkit.DeviceError as error:
    print(error)
"""


def test_the_plug_in_for_gpus_may_be_a_package_of_its_own(tmp_path):
    """As the wheel pywarpkit-cuda13 installs it; here the file is none that can be loaded."""
    package = Path(warpkit.__file__).parent
    ignored = shutil.ignore_patterns("_cuda*", "_emu*", "__pycache__")
    shutil.copytree(package, tmp_path / "warpkit", ignore=ignored)
    alone = helpers.python(NO_CUDA, env={"PYTHONPATH": str(tmp_path)})
    assert "has no cuda plug-in; pip install pywarpkit[cuda13] adds it" in alone
    (tmp_path / "warpkit_cuda13").mkdir()
    (tmp_path / "warpkit_cuda13" / "_cuda.so").write_bytes(b"")
    beside = helpers.python(NO_CUDA, env={"PYTHONPATH": str(tmp_path)})
    assert re.search(r"cannot load the cuda plug-in: \S*/warpkit_cuda13/_cuda.so: file", beside)


# ---- with warpkit.device(...) --------------------------------------------------------------------


def test_a_block_names_the_device_of_its_calls(device):
    outside = warpkit.get_default_device()
    with warpkit.device(device):
        assert warpkit.get_default_device() == device
        with warpkit.device("cpu"):
            assert warpkit.get_default_device() == "cpu"
            with warpkit.device(None):
                assert warpkit.get_default_device() == outside
        assert warpkit.get_default_device() == device
        assert warpkit.memory_info()["device"] == device
    assert warpkit.get_default_device() == outside
    with pytest.raises(KeyError), warpkit.device("cpu"):
        raise KeyError
    assert warpkit.get_default_device() == outside


def test_a_block_goes_before_set_default_device():
    warpkit.set_default_device("auto")
    assert warpkit.get_default_device() == "auto"
    with warpkit.device("cpu"):
        assert warpkit.get_default_device() == "cpu"
        warpkit.set_default_device("cpu")
    assert warpkit.get_default_device() == "cpu"


def test_a_block_refuses_what_there_is_not():
    outside = warpkit.get_default_device()
    for name, error in (("gpu", ValueError), ("cuda:31", warpkit.DeviceError), (3, TypeError)):
        with pytest.raises(error), warpkit.device(name):
            raise AssertionError
    assert warpkit.get_default_device() == outside


def test_threads_and_tasks_have_blocks_of_their_own(default_device):
    warpkit.set_default_device("cpu")
    seen = {}

    async def task(name, here, there):
        with warpkit.device(name):
            here.set()
            await there.wait()
            seen[name] = warpkit.get_default_device()

    async def both():
        first, second = asyncio.Event(), asyncio.Event()
        await asyncio.gather(task("emu", first, second), task("auto", second, first))

    with warpkit.device("emu"):
        thread = threading.Thread(
            target=lambda: seen.update(thread=warpkit.get_default_device()),
            **({"context": contextvars.Context()} if sys.version_info >= (3, 14) else {}),
        )
        thread.start()
        thread.join()
    asyncio.run(both())
    assert seen == {"thread": "cpu", "emu": "emu", "auto": "auto"}


def test_a_function_has_a_device():
    @warpkit.device("cpu")
    def where():
        return warpkit.get_default_device()

    assert where() == where() == "cpu"
