"""warpkit.bench: every variant is there, what does not run says why, and it is shown."""

import numpy as np
import pytest
import warpkit
from warpkit import _bench

CASES = {
    "reduce": ((), {"op": "sum"}),
    "transpose": ((), {}),
    "stencil1d": (([0.25, 0.5, 0.25],), {}),
    "histogram": ((), {"bins": 10, "range": (0, 1)}),
    "warp_histogram": ((), {}),
    "run_length": ((), {}),
    "dot": ((np.ones(384, "f4"),), {}),
    "cumsum": ((), {}),
    "segment_reduce": (([0, 5, 384], "max"), {}),
}


@pytest.mark.parametrize("op", CASES)
def test_every_variant_is_timed(device, op):
    args, options = CASES[op]
    a = np.random.default_rng(0).random((16, 24), dtype="float32")
    a = a if op in ("reduce", "transpose", "stencil1d") else a.ravel()
    found = warpkit.bench(op, a, *args, devices=[device], seconds=1e-4, **options)
    kind = "cpu" if device == "cpu" else "cuda"
    rows = [row for row in warpkit.variants(op) if row.device == kind]
    assert [t.variant for t in found] == [row.name for row in rows]
    assert {t.device for t in found} == {device}
    for t in found:
        if t.error:
            assert t.variant in t.error or "float32" in t.error
            assert not t.production
        else:
            assert t.seconds > 0
            assert t.gb_s > 0
            assert t.of_a_copy > 0
    assert sum(not t.error for t in found) >= len(rows) / 3


@pytest.mark.unsanitized  # matplotlib throws, and its C++ library was not there at the start
def test_it_prints_a_table_and_draws_itself():
    found = warpkit.bench("transpose", np.ones((8, 8), "int16"), devices=["cpu"], seconds=1e-4)
    lines = str(found).splitlines()
    assert lines[0] == "transpose of 8 x 8 int16"
    assert lines[1].split()[:4] == ["device", "variant", "ms", "GB/s"]
    assert lines[2].startswith("cpu     blocked (production)  ")
    assert found._repr_html_().count("<tr>") == 1 + len(found)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    assert len(found.plot().patches) == len(found)
    pyplot.close("all")


def test_a_gpus_variants_are_not_the_emulated_ones_unless_named():
    devices = {t.device for t in warpkit.bench("run_length", np.ones(9, "int8"), seconds=1e-4)}
    assert devices == {d for d in warpkit.devices() if d != "emu"}


def test_what_cannot_be_benched_is_refused():
    with pytest.raises(ValueError, match=r"unknown op 'sum' .*; there are: reduce"):
        warpkit.bench("sum", np.ones(3))
    with pytest.raises(TypeError, match="takes no device"):
        warpkit.bench("reduce", np.ones(3), device="cpu")
    with pytest.raises(TypeError, match="nonsense"):
        warpkit.bench("reduce", np.ones(3), devices=["cpu"], nonsense=3)
    with pytest.raises(ValueError, match="unknown op 'summ'"):
        warpkit.bench("reduce", np.ones(3), "summ", devices=["cpu"])


def test_the_shell_has_it_too(capsys, monkeypatch):
    from warpkit import __main__ as shell

    def said(*words):
        monkeypatch.setattr("sys.argv", ["warpkit", *words])
        shell.main()
        return capsys.readouterr().out

    table = said("bench", "transpose", "--shape", "8,16", "--dtype", "int8", "--device", "cpu")
    assert table.startswith("transpose of 8 x 16 int8\n")
    assert len(said("variants").splitlines()) == len(warpkit.variants())
    assert "smem_pad" in said("variants", "transpose")
    assert [line.split()[0] for line in said("devices").splitlines()] == warpkit.devices()
    told = said("explain", "stencil1d", "--shape", "8,16", "--device", "cpu")
    assert told.startswith("stencil1d of float32 (8, 16) on cpu")
    assert said("config").startswith(f"warpkit {warpkit.__version__}")
    with pytest.raises(SystemExit, match="unknown op 'transpos'"):
        said("variants", "transpos")


def test_the_first_call_is_not_timed():
    calls = []
    _bench.best(lambda: calls.append(1), 0)
    assert len(calls) == 2
