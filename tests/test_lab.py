"""warpkit.lab: what a kernel's accesses cost, against a profiler on a GPU and against NumPy."""

import collections
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import lab, smem, testing
from warpkit.lab import _read, _rows, _work

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.skipif(shutil.which("addr2line") is None, reason="no lines without addr2line"),
    pytest.mark.unsanitized,  # whose stacks are not those of other objects
]

ncu = helpers.script(helpers.ROOT / "tools" / "ncu.py")
GOLDEN = {  # by the chip
    path.stem: json.loads(path.read_text())
    for path in sorted((helpers.ROOT / "tests" / "golden").glob("ncu_*.json"))
}
SOURCE = """
__constant__ float weights[32];
__device__ int calls;

__global__ void column(const float *x, float *out)
{
    __shared__ float s[32][32];
    const int i = threadIdx.y * 32 + threadIdx.x;
    s[threadIdx.y][threadIdx.x] = x[i] * weights[1];
    __syncthreads();
    out[i * 2] = s[threadIdx.x][threadIdx.y];
    if (i == 0) calls += 1;
}

__global__ void gathered(const float *x, const int *at, float *out)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[at[threadIdx.x]];
    __syncthreads();
    out[threadIdx.x] = s[at[threadIdx.x] % 256];
}

__global__ void doubles(const int *at, double *out)
{
    __shared__ double s[512];
    s[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = s[at[threadIdx.x]];
}

__global__ void fours(const int *at, float4 *out)
{
    __shared__ float4 s[512];
    s[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = s[at[threadIdx.x]];
}

__global__ void wrong(float *x, int n)
{
    x[threadIdx.x] = 1;
    if (n == 1) x[(1l << 40) + threadIdx.x] = 2;
    if (n == 2 && threadIdx.x < 5) __syncthreads();
    if (n == 3) while (x[threadIdx.x] > 0) {}
    __syncthreads();
}

__global__ void parted(const int *x, int *out)
{
    __shared__ int s[64];
    const int t = threadIdx.x;
    int v = x[t];
    s[t] = v;
    __syncthreads();
    for (int i = 0; i < v % 5; i++) {
        if (v & 1)
            s[t] += i;
        else
            out[t] += s[t];
    }
    const unsigned some = __ballot_sync(0xffffffffu, v > 3);
    if (v > 3) v += __shfl_sync(some, v, __ffs(some) - 1);
    atomicAdd(&out[v % 7], 1);
    out[64 + t] = s[63 - t] + v;
}

__global__ void kept(const int *x, int *out, int *count, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (x[i] > 0) {
            const unsigned some = __activemask();
            int at = 0;
            if (__ffs(some) - 1 == threadIdx.x % 32) at = atomicAdd(count, __popc(some));
            at = __shfl_sync(some, at, __ffs(some) - 1);
            out[at + __popc(some & ((1u << threadIdx.x % 32) - 1))] = i;
        }
}

__global__ void worked(const float *x, double *out, int n)
{
    const int i = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k] * x[i];
    if (i < 7)
        sum = fmaf(sum, sum, 1.0f) - expf(sum) / 3.1f;
    out[i] = (double)sum * sqrt((double)x[i]);
}

template <typename T>
__global__ void copied(const T *x, T *out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
"""
LINES = SOURCE.splitlines()


def line_of(text):
    return next(i for i, line in enumerate(LINES, 1) if text in line)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(scope="module")
def module(cache):
    return warpkit.compile(SOURCE)


@pytest.fixture(scope="module")
def column(module):
    """The trace of a kernel with a bank conflict and a strided store."""
    module.weights[...] = 3
    x, out = np.arange(1024, dtype=np.float32), np.zeros(2048, np.float32)
    trace = lab.trace(module.column[1, (32, 32)], x, out)
    helpers.assert_same(out[::2].copy(), x.reshape(32, 32).T.ravel() * np.float32(3))
    return trace


# ---- against a profiler --------------------------------------------------------------------------


def test_a_profiler_on_a_gpu_counts_the_same_of_kernels():
    trace = lab.trace(ncu.PROGRAMS["kernels"])
    assert trace.result.returncode == 0
    for chip, golden in GOLDEN.items():
        assert ncu.differences(golden, "kernels", [trace]) == (94, []), chip


def test_a_profiler_on_a_gpu_counts_the_same_of_other_peoples_kernels():
    trace = lab.trace(ncu.PROGRAMS["samples"])
    assert trace.result.returncode == 0, trace.result.stdout
    assert len({ncu.short(one.kernel) for one in trace.launches}) == 47
    assert "samples" in GOLDEN["ncu_h200"]
    for chip, golden in GOLDEN.items():
        if "samples" in golden:
            assert ncu.differences(golden, "samples", [trace]) == (50, []), chip
    counted = trace.by_launch()
    again = lab.trace(ncu.PROGRAMS["samples"]).by_launch()
    assert [metrics for _, metrics in again] == [metrics for _, metrics in counted]


def test_a_profiler_on_a_gpu_counts_the_same_for_rungs():
    """tools/ncu.py --compare does it for all."""
    names = [("transpose", "naive_row"), ("transpose", "smem"), ("transpose", "smem_pad")]
    names.append(("reduce", "interleaved"))
    traced = ncu.traced_rungs(names)
    for chip, golden in GOLDEN.items():
        assert ncu.differences(golden, "rungs", traced) == (5, []), chip


def test_the_comparison_finds_a_difference():
    trace = lab.trace(warpkit.transpose, np.zeros((160, 96), np.float32), variant="smem")
    count, bad = ncu.differences(GOLDEN["ncu_h100"], "rungs", [trace])
    assert count == 0
    assert "another launch" in bad[0]


# Kernels with additions and multiplications that nvcc neither fuses nor adds to.
UNFUSED = {
    "kernels": "whole_structs of_arrays float3s rows_by_thread columns_by_thread parted "
    "nested_loops called tree neighbours scanned weighted_by_lane",
    "samples": "vectorAdd reduce1 reduce2 reduce3 reduce4 reduce5 reduce6 reduceMultiPass "
    "reduceSinglePass fwtBatch1Kernel fwtBatch2Kernel dwtHaar1D sobolGPU_kernel",
}


@pytest.mark.parametrize("which", UNFUSED)
def test_a_profiler_on_a_gpu_counts_as_many_operations(which):
    metric = "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"
    golden, expected, found = GOLDEN["ncu_h200"], collections.Counter(), collections.Counter()
    for kernel, _, _, values in golden[which]:
        expected[ncu.short(kernel)] += values[golden["metrics"].index(metric)]
    for one in lab.trace(ncu.PROGRAMS[which]).arithmetic:
        found[ncu.short(one.kernel)] += one.fp32
    for name in UNFUSED[which].split():
        assert found[name] == expected[name] > 0, name


# ---- against NumPy -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_sectors_and_wavefronts_are_those_of_the_addresses(module, seed):
    rng = np.random.default_rng(seed)
    span = [1, 2, 32, 33, 256, 4096, 4096, 4096][seed]
    at = rng.integers(0, span, 256).astype(np.int32) * (1 if seed % 2 else 4096 // span)
    x, out = np.zeros(1 << 16, np.float32), np.zeros(256, np.float32)
    trace = lab.trace(module.gathered[1, 256], x, at, out)
    warps = at.reshape(8, 32)
    sectors = sum(len(np.unique(w // 8)) for w in warps)
    waves = sum(np.bincount(np.unique(w % 256) % 32).max() for w in warps)
    (read,) = (one for one in trace.lines if one.array == "x")
    (shared,) = (one for one in trace.lines if one.space == "shared" and one.op == "load")
    assert (read.requests, read.sectors) == (8, sectors)
    assert (shared.requests, shared.wavefronts) == (8, waves)
    assert read.ideal_sectors == sum(-(-len(np.unique(w)) // 8) for w in warps)


@pytest.mark.parametrize("name", ["doubles", "fours"])
@pytest.mark.parametrize("seed", range(6))
def test_wide_accesses_take_the_wavefronts_of_the_model_of_banks(module, name, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 512, 32) if seed < 2 else np.arange(32) * seed
    at = at if seed % 2 else np.repeat(at[:16], 2)  # neighbours in pairs
    out = np.zeros((32, 4), np.float32) if name == "fours" else np.zeros(32)
    trace = lab.trace(module[name][1, 32], at.astype(np.int32), out)
    (read,) = (one for one in trace.lines if one.space == "shared" and one.op == "load")
    assert read.wavefronts == warpkit.smem.wavefronts(at, read.size)
    assert read.size == (16 if name == "fours" else 8)


# ---- what a trace tells --------------------------------------------------------------------------


def test_lines_have_the_counts_of_their_accesses(column):
    conflict, fill = line_of("out[i * 2]"), line_of("weights[1];")
    assert column.line(fill).excess == 0
    assert column.line(conflict).excess == 31 * 32 + 128
    by = {(one.line, one.op, one.space): one for one in column.lines}
    assert by[conflict, "load", "shared"].wavefronts == 1024
    assert by[conflict, "store", "global"].sectors == 256
    assert by[fill, "load", "constant"].wavefronts == 32
    assert by[fill, "load", "global"].array == "x"
    assert by[fill, "store", "shared"].array == "s"
    assert by[fill + 1, "barrier", ""].requests == 32
    assert by[conflict, "load", "shared"].source == LINES[conflict - 1].strip()
    assert column.totals.requests == 32 * 5 + 2
    assert column.complete
    with pytest.raises(KeyError, match=rf"no access at line 1; there are: {fill}, {conflict}"):
        column.line(1)


def test_metrics_have_a_profilers_names(column):
    assert column.metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 256 + 1
    assert column.metrics["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"] == 1024
    assert set(column.metrics) <= {*GOLDEN["ncu_h100"]["metrics"]}


def test_rules_name_the_worst_line_first(column):
    worst = column.worst()
    assert worst[0].rule.startswith("Bank conflicts in shared memory, 32-way: 1,024 wavefronts")
    assert worst[1].rule.startswith(
        "Uncoalesced global access: 8 sectors a request where 4 would do"
    )
    assert f"line {worst[0].line}: Bank conflicts" in repr(column)


def test_a_warps_accesses_come_in_their_order(column):
    accesses = column.warp(0, 3)
    assert [one.space for one in accesses] == ["global", "constant", "shared", "shared", "global"]
    assert accesses[3].wavefronts == 32
    step = np.diff([a for a in accesses[0].addresses if a is not None])
    assert (step == 4).all()
    assert accesses == column.warp((0, 0, 0), 3)
    with pytest.raises(KeyError, match="warp 32 of block 0"):
        column.warp(0, 32)


def test_a_tree_that_ends_with_few_lanes_says_so(module):
    x = np.zeros(64, np.float32)
    trace = lab.trace(module["copied<float>"][40, 33], x, x.copy(), 40)
    (line,) = {one.line for one in trace.lines if one.op == "load"}
    assert trace.line(line).active_lanes < 32
    assert any(one.op == "block" and one.divergent for one in trace.lines)


def test_variables_keep_what_a_traced_kernel_writes(module):
    before = int(module.calls[...])
    x, out = np.zeros(1024, np.float32), np.zeros(2048, np.float32)
    lab.trace(module.column[1, (32, 32)], x, out)
    assert int(module.calls[...]) == before + 1


def test_a_function_is_traced_with_all_its_launches(module):
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)

    def twice():
        module["copied<float>"].forall(100)(x, out, 100)
        module["copied<float>"][1, 32](out, x, 7)
        return "done"

    trace = lab.trace(twice)
    assert trace.result == "done"
    assert [one.grid[0] for one in trace.launches] == [1, 1]
    assert trace.totals.bytes_useful == 2 * 4 * 107
    assert (out == np.arange(100)).all()
    with pytest.raises(
        ValueError, match="no launch of 'other' was traced; there are: copied<float>"
    ):
        lab.trace(twice, kernel="other")


def test_counts_do_not_depend_on_the_order_of_threads(module):
    x = np.random.default_rng(0).integers(0, 9, 64).astype(np.int32)
    found = testing.under_schedules(
        lambda: lab.trace(module.parted[1, 64], x, np.zeros(128, np.int32)).lines
    )
    assert len(found) > 3
    first = found.pop("linear")
    assert all(lines == first for lines in found.values())
    by_op = {one.op: one for one in first}
    assert by_op["shuffle"].requests == 2
    assert by_op["shuffle"].lanes == (x > 3).sum()
    assert by_op["vote"].lanes == 64


def test_lanes_that_meet_in_a_branch_go_round_the_loop_with_the_others(module):
    x = np.arange(256) % 2
    arrays = [x.astype(np.int32), np.zeros(256, np.int32), np.zeros(1, np.int32)]
    trace = lab.trace(module.kept[1, 64], *arrays, 256)
    (read,) = (one for one in trace.lines if one.array == "x" and one.op == "load")
    assert (read.requests, read.lanes) == (8, 256)
    assert (arrays[2] == 128).all()


def test_json_has_all_of_it(column):
    told = json.loads(column.to_json())
    assert told["metrics"] == column.metrics
    assert [one["excess"] for one in told["lines"]] == [one.excess for one in column.lines]
    assert told["launches"][0]["block"] == [32, 32, 1]


# ---- arithmetic ----------------------------------------------------------------------------------


machine = platform.machine().lower()
counted = pytest.mark.skipif(
    shutil.which("objdump") is None or machine not in ("x86_64", "amd64"),
    reason="no objdump for x86-64",
)


@counted
def test_operations_are_those_of_the_source(module):
    x, out = np.ones(64, np.float32), np.zeros(64)
    trace = lab.trace(module.worked[1, 64], x, out, 10)
    by = {one.line: one for one in trace.arithmetic}
    assert by[line_of("sum += x[k]")].fp32 == 64 * 10 * 2
    fused = by[line_of("fmaf(sum")]
    assert (fused.fp32, fused.special) == (7 * 3, 7 * 2)
    wide = by[line_of("sqrt((double)")]
    assert (wide.fp64, wide.special, wide.conversion) == (64, 64, 2 * 64)
    told = trace.operations
    assert (told.fp32, told.fp64, told.special) == (64 * 20 + 21, 64, 64 + 14)
    assert told.floating == told.fp32 + told.fp64 + told.special
    assert json.loads(trace.to_json())["arithmetic"][0]["kernel"] == "worked"
    found = lab.roofline(trace, 1e12, peak=1e9)
    assert found.bound == "compute"
    assert found.floor == told.floating / 1e9


def test_without_objdump_the_rest_is_counted(column, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setattr(_work, "_blocks", _work._blocks.__wrapped__)
    again = lab.Trace(column.launches, None, None, column._text)
    with pytest.raises(RuntimeError, match="counted with objdump"):
        assert again.operations
    assert again.to_dict()["arithmetic"] is None
    assert lab.roofline(again, 1e9, peak=1).bound == "memory"


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "why"), [(1, "bad address"), (2, "divergent barrier"), (3, "steps|endless")]
)
def test_a_kernel_that_fails_gives_its_counts_up_to_there(module, n, why):
    x = np.zeros(64, np.float32)
    with helpers.settings(WARPKIT_EMU_STEPS="3000", WARPKIT_EMU_SECONDS="1"):
        trace = lab.trace(module.wrong[1, 64], x, n)
    assert isinstance(trace.error, warpkit.DeviceError)
    assert re.search(why, str(trace.error))
    assert trace.line(line_of("x[threadIdx.x] = 1")).requests in (1, 2)  # of the first warps
    assert lab.trace(module.wrong[1, 64], x, 0).error is None


def test_what_would_take_minutes_is_refused(module):
    x = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"1,024,000,000 threads would take some \d+ minutes"):
        lab.trace(module["copied<float>"][1_000_000, 1024], x, x, 4)


def test_of_many_blocks_some_are_traced_and_named(module):
    x, out = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    kernel = module["copied<float>"][64, 64]
    trace = lab.trace(kernel, x, out, 4096, limits=lab.Limits(threads=1024))
    assert (out == 1).all()
    assert not trace.complete
    assert trace.launches[0].stride == 4
    assert trace.launches[0].totals["blocks"] == 16
    assert trace.metrics["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 32
    cut = lab.trace(kernel, x, out, 4096, limits=lab.Limits(events=100))
    assert not cut.complete
    assert 100 < cut.launches[0].totals["events"] < 200
    assert (out == 1).all()


@pytest.mark.parametrize("events", [*range(50, 200_000, 19_997), 64 * 1024, 66_000])
def test_a_trace_ends_wherever_its_lanes_are(events):
    m = warpkit.compile(
        """
        __global__ void sums(float *x, int n)
        {
            float s = 0;
            for (int j = 0; j < n + (int)threadIdx.x % 7; j++) s += x[(threadIdx.x * n + j) % 4096];
            x[threadIdx.x] = s;
        }
        """,
        "emu",
    )
    x = warpkit.asarray(np.ones(4096, np.float32), device="emu")
    trace = lab.trace(m.sums[3, 256], x, 1500, limits=lab.Limits(events=events))
    assert trace.error is None
    assert not trace.complete
    assert np.asarray(x)[1] == 1501  # the rest has run


@pytest.mark.parametrize(
    ("function", "given", "error", "why"),
    [
        (3, {}, TypeError, "takes a function, or a program's path, not 3"),
        (
            warpkit.transpose,
            {"variant": "tile"},
            ValueError,
            "has no variant 'tile' that can be traced; there are: .*copy",
        ),
        ("no/such.cu", {}, OSError, "no/such.cu"),
        ("int main() { return 0; }", {"variant": "smem"}, TypeError, "has no variant"),
    ],
)
def test_what_cannot_be_traced_says_why(function, given, error, why):
    with pytest.raises(error, match=why):
        lab.trace(function, np.zeros((4, 4), np.float32), **given)


# ---- programs, compilers -------------------------------------------------------------------------


PROGRAM = """
#include <stdio.h>
__global__ void k(float *x)
{
    x[threadIdx.x * 2] = 1;
}
int main(int argc, char **argv)
{
    float *x;
    cudaMalloc(&x, 1024);
    k<<<1, 64>>>(x);
    k<<<2, 32>>>(x);
    printf("%d\\n", argc);
    return cudaDeviceSynchronize();
}
"""


def test_a_program_is_traced_from_a_shell(tmp_path):
    path, view = tmp_path / "program.cu", tmp_path / "view.html"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "warpkit", "trace", "--json", "--html", view, path, "a"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["grid"][0] for one in told["launches"]] == [1, 2]
    assert told["metrics"]["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 32
    assert "x[threadIdx.x * 2] = 1;" in view.read_text()
    trace = lab.trace(path, "a", "b")
    assert trace.result.stdout == "3\n"
    assert trace.line(5).excess == 16


@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no clang++")
def test_clang_counts_the_same(column, monkeypatch):
    monkeypatch.setenv("CXX", "clang++")
    x, out = np.zeros(1024, np.float32), np.zeros(2048, np.float32)
    trace = lab.trace(warpkit.compile(SOURCE).column[1, (32, 32)], x, out)
    assert trace.metrics == column.metrics


# ---- the view ------------------------------------------------------------------------------------


def test_the_view_needs_nothing_else(column, tmp_path):
    column.to_html(tmp_path / "view.html")
    page = (tmp_path / "view.html").read_text()
    assert not re.search(r"(src|href)=|@import|https?:", page)
    assert page.count("<script>") == 1
    assert column._repr_html_().startswith('<div id="wk-')
    assert len(page) < 200_000


BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)


@pytest.mark.skipif(BROWSER is None, reason="there is no browser")
def test_a_click_on_a_line_shows_its_lanes_and_banks(column, tmp_path):
    column.to_html(tmp_path / "view.html")
    text = (tmp_path / "view.html").read_text()
    script = """<script>addEventListener("load", () => {
        const row = [...document.querySelectorAll("tr.wk-hot")].at(-2);
        row.click();
        document.title = document.querySelector(".wk-warp b").textContent;
        document.querySelector('[data-step="1"]').click();
    });</script></body>"""
    (tmp_path / "view.html").write_text(text.replace("</body>", script))
    told = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'own'}",
            "--dump-dom",
            (tmp_path / "view.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "HOME": str(tmp_path)},
    ).stdout
    conflict = line_of("out[i * 2]")
    assert f"<title>line {conflict}, shared load, 32 bits a lane, s</title>" in told
    assert f"<b>line {conflict}, global store, 32 bits a lane, out</b>" in told
    assert "8 sectors of 32 bytes in 2 lines of 128 bytes" in told


# ---- ladders, chips ------------------------------------------------------------------------------


def test_every_rung_of_four_ladders_can_be_traced():
    for op in ("transpose", "reduce", "stencil1d", "histogram"):
        path = helpers.ROOT / "cuda" / op.removesuffix("1d") / "ladder"
        files = {p.name for p in path.glob("[01]*.cu")}
        assert {_rows.rungs()[o, v].name for o, v in lab.rungs() if o == op} == files


def test_every_row_of_the_table_can_be_traced():
    rows = {(row.op, row.name) for row in warpkit.variants() if row.device == "cuda"}
    assert set(_rows.files()) == rows
    built = {path for folders in _rows.FOLDERS for path in _rows._files_in(folders)}
    assert {path for key, path in _rows.files().items() if key not in _rows.rungs()} <= built
    names = {name for names, _ in _rows.FOLDERS.values() for name in names.split()}
    functions = [
        getattr(getattr(warpkit, part) if part else warpkit, name)
        for part, _, name in (name.rpartition(".") for name in names)
    ]
    assert {_rows._name_of(f) for f in functions} == names


def test_an_experiment_with_shared_memory_is_traced():
    a = np.arange(1024, dtype=np.int32).reshape(32, 32)
    want = smem.conflicts((32, 32), 4, "row"), smem.conflicts((32, 32), 4, "col")
    trace = lab.trace(smem.tile, a, "row_col", repeats=1)
    helpers.assert_same(trace.result.values, a.T)
    store, load = (
        [one for one in trace.lines if (one.space, one.op) == ("shared", op)]
        for op in ("store", "load")
    )
    ways = [[one.wavefronts / one.requests for one in some] for some in (store, load)]
    assert ways[0] == [want[0].wavefronts / want[0].requests] == [1]
    assert want[1].wavefronts / want[1].requests == max(ways[1]) == 32


def test_elements_are_guessed_floats_first():
    x, i = np.zeros(3, np.float32), np.zeros(3, np.int64)
    assert _rows.guess([x]) == _rows.guess([i, x, (0, 1)]) == {"float32"}
    assert _rows.guess([i, "sum"]) == _rows.guess([[1, 2]]) == {"int64"}
    assert _rows.guess([[[1], [2, 3]]]) == _rows.guess(["sum", 3]) == set()
    error = warpkit.DeviceError("no kernels for dtype 7 in this build")
    assert (_rows.missing(error), _rows.missing(ValueError("7"))) == ({"int64"}, set())
    paths = _rows._files_in("reduce/production")
    assert _rows._options(paths, {"complex64", "int8"}) == (
        f"-DWK_ONLY={1 << 13 | 1 << 11 | 1 << 1}u",
        f"-DWK_ONLY_SIZES={8 | 4 | 1}u",
    )


def test_what_is_built_for_a_trace_changes_with_its_source(tmp_path, monkeypatch):
    monkeypatch.setattr(_read, "KERNELS", tmp_path)
    path = tmp_path / "one.cu"
    path.write_text("WK_LAUNCHER(reduce, cuda, one)\n")
    text = _rows._text(path)
    assert "traced_reduce_one" in text
    path.write_text("WK_LAUNCHER(reduce, cuda, one) // another\n")
    assert _rows._text(path) != text


A = np.arange(96 * 160, dtype=np.float32).reshape(96, 160)


def test_what_production_kernels_call_is_built_with_them():
    """Some launch others' rows, which they declare."""
    for folders in _rows.FOLDERS:
        texts = [path.read_text("utf-8") for path in _rows._files_in(folders)]
        found = {end: set() for end in ";{"}
        for text in texts:
            for row, end in re.findall(r"^WK_LAUNCHER\(([\w, ]+)\)\s*([;{])", text, re.M):
                found[end].add(row)
        assert found[";"] <= found["{"], folders


@pytest.mark.large  # not in them: but they are compiled first, for half a minute
@pytest.mark.parametrize(
    ("call", "args", "kernel", "readings"),
    [
        (warpkit.transpose, (A,), "wk::transpose_tile", 2),
        (warpkit.stencil1d, (A, [1, 2, 1]), "wk::stencil", None),
        (warpkit.reduce, (A, ("mean", "std"), 0), "wk::fold_columns", 1),
        (warpkit.group_reduce, (A.ravel().astype(np.int64) % 7, A.ravel()), None, None),
        (warpkit.histogram, (A, 12), "wk::histogram", 1),
        (warpkit.unique_counts, (A.astype(np.int64),), None, None),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_production_kernel_can_be_traced(call, args, kernel, readings):
    trace = lab.trace(call, *args)
    want = call(*args, device="cpu")
    for got, right in zip(trace.result, want, strict=True):
        helpers.assert_same(np.asarray(got), np.asarray(right))
    if kernel:
        assert trace.launches[0].kernel.startswith(kernel)
    if readings:
        globals_ = [o for o in trace.lines if o.space == "global" and o.op in ("load", "store")]
        read = sum(one.bytes_useful for one in globals_)
        assert readings * A.nbytes <= read < (readings + 0.1) * A.nbytes


def test_a_ladder_has_its_rungs_in_order(monkeypatch):
    some = [("transpose", "smem"), ("transpose", "smem_pad")]  # that are compiled already
    files = {name: _rows.rungs()[name] for name in some}
    monkeypatch.setattr(_rows, "rungs", lambda: files)
    ladder = lab.ladder("transpose", (64, 96), "int32", rate=1e12)
    assert [one.variant for one in ladder] == ["smem", "smem_pad"]
    assert [one.counts.excess for one in ladder] == [31 * 192, 0]
    assert all(one.dram_bytes == 2 * 64 * 96 * 4 for one in ladder)
    assert all(one.floor == one.dram_bytes / 1e12 for one in ladder)
    assert "one column of padding" in repr(ladder)
    assert ladder._repr_html_().count("<tr>") == 3
    with pytest.raises(ValueError, match="unknown ladder 'bincount'; there are: "):
        lab.ladder("bincount", 10)


def test_arrays_that_are_on_the_emulated_device_are_traced_there():
    m = warpkit.compile("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }", "emu")
    x = warpkit.asarray(np.ones(32, np.float32), device="emu")
    trace = lab.trace(m.twice[1, 32], x)
    assert (trace.totals.requests, np.asarray(x).tolist()) == (2, [2] * 32)


def test_the_ladder_of_warps_is_traced_of_sorted_rows(monkeypatch):
    name = ("warp_histogram", "sorted_smem")  # which does not sort
    files = {name: _rows.rungs()[name]}
    monkeypatch.setattr(_rows, "rungs", lambda: files)
    (rung,) = lab.ladder("warp_histogram", (4, 32), "int32")
    assert rung.counts.requests > 0


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "capability", "blocks", "by"),
    [  # as cuda_occupancy.h has them
        (256, 32, 0, 90, 8, ("warps", "registers")),
        (256, 40, 16 << 10, 90, 6, ("registers",)),
        (1024, 64, 0, 80, 1, ("registers",)),
        (1024, 65, 0, 80, 0, ("registers",)),
        (32, 16, 0, 86, 16, ("blocks",)),
        (128, 128, 0, 89, 4, ("registers",)),
        (33, 255, 0, 100, 4, ("registers",)),
        (256, 32, 227 << 10, 90, 1, ("shared memory",)),
        (256, 32, (99 << 10) + 1, 120, 0, ("shared memory",)),
    ],
)
def test_occupancy_is_cudas(threads, registers, shared, capability, blocks, by):
    found = lab.occupancy(threads, registers, shared, capability)
    assert (found.blocks, found.limited_by) == (blocks, by)
    with pytest.raises(ValueError, match="capability must be one of 80, 86"):
        lab.occupancy(threads, registers, shared, 70)


def test_a_roofline_tells_what_bounds(column):
    found = lab.roofline(column, 1e9, operations=1000, peak=1e9, seconds=1e-4)
    assert found.bound == "memory"
    assert found.bytes_moved == column.totals.sectors * 32
    assert found.floor == found.dram_bytes / 1e9
    assert found.fraction == pytest.approx(found.floor / 1e-4)
    assert lab.roofline(column, 1e12, operations=1e9, peak=1e9).bound == "compute"
