"""warpkit.testing, and the pytest plugin that is made of it."""

import importlib.metadata
import inspect
import json
import re
import shutil

import helpers
import numpy as np
import pytest
import pytest_warpkit
import warpkit
import warpkit._canaries
from warpkit import reference, testing

pytest_plugins = ["pytester"]

compiles = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.unsanitized,
]

KERNELS = """
__device__ int calls;

__global__ void total(const int *x, int *out, int n)
{
    __shared__ int s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
    if (i == 0) calls++;
}
"""
USES = """
import numpy as np
import pytest

def total(k, n):
    x, out = np.arange(n, dtype=np.int32), np.zeros(1, np.int32)
    k.total[5, 64](x, out, n)
    assert out[0] == x.sum()

@pytest.mark.schedules(n=2)
@pytest.mark.canaries
def test_total(cu):
    k = cu("k.cu")
    assert k.calls[()] == 0
    total(k, 300)
    assert k.calls[()] == 1
"""
CONDITIONS = ["linear", "reverse", "seed-1", "seed-2", "weak", *testing.CANARIES]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """An empty one, that all tests of this file share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest on the test's files, in this process, with no other plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def runs(*options, **files):
        for name, text in files.items():
            stem, _, suffix = name.rpartition("_")
            pytester.makefile(f".{suffix}", **{stem: text})
        return pytester.runpytest_inprocess(
            *("-p", "no:cacheprovider", "-W", "error", "-v", *options),
            plugins=[pytest_warpkit],
        )

    return runs


# ---- the plugin ----------------------------------------------------------------------------------


def test_the_plugin_is_light():
    helpers.python("import sys, pytest_warpkit; assert not {'numpy', 'warpkit'} & set(sys.modules)")


def test_where_it_is_installed_pytest_finds_it():
    for entry in importlib.metadata.entry_points(group="pytest11", name="warpkit"):
        assert entry.value == "pytest_warpkit"


def test_pytest_does_not_warn_where_it_is_started_from_a_process_that_uses_warpkit():
    """It rewrites the asserts of plugins, and says so of those that are imported already."""
    for module in (warpkit, pytest_warpkit):
        assert "PYTEST_DONT_REWRITE" in module.__doc__


class TestRuns:
    pytestmark = compiles

    def test_each_condition_is_a_test_of_its_own(self, run):
        result = run(k_cu=KERNELS, test_k_py=USES)
        result.assert_outcomes(passed=len(CONDITIONS))
        result.stdout.fnmatch_lines([f"*::test_total?emu-{c}? PASSED*" for c in CONDITIONS])

    def test_a_missing_barrier_is_seen_under_some_schedule(self, run):
        without = testing.mutations(KERNELS)[1]
        assert without.statement == "__syncthreads();"
        result = run("-m", "schedules", k_cu=without.text, test_k_py=USES)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*::test_total?emu-linear? FAILED*"])

    def test_settings_end_with_the_test(self, run):
        source = """
            import pytest, warpkit
            def now():
                return {s[0]: s[1] for s in warpkit._core.settings()}["WARPKIT_EMU_SCHEDULE"]
            @pytest.mark.schedules
            def test_marked(request):
                assert now() == ("reverse" if "reverse" in request.node.name else now())
            def test_then():
                assert now() == "reverse"
        """
        with testing.settings(WARPKIT_EMU_SCHEDULE="reverse"):
            run("-k", "reverse or weak or then", test_k_py=source).assert_outcomes(
                passed=3, deselected=4
            )

    def test_variables_are_fresh_and_texts_are_taken(self, run):
        source = """
            import numpy as np, pytest
            @pytest.mark.parametrize("turn", [1, 2])
            def test_it(cu, cuda_device, turn):
                k = cu("__device__ int n[2] = {4, 5}; __global__ void up() { n[1]++; }")
                k.up[1, 1]()
                assert k.n[...].tolist() == [4, 6]
                assert (cuda_device, k.device) == ("emu", "emu")
        """
        run("--cuda-device", "emu", test_k_py=source).assert_outcomes(passed=2)

    def test_a_failure_shows_the_frames_of_the_test_alone(self, run):
        source = """
            def test_it(cu):
                k = cu("__device__ int n[2]; __global__ void k(int *x) { *x = 5; }")
                k.k[1, 1](8)
        """
        result = run(test_k_py=source)
        result.assert_outcomes(failed=1)
        assert "argument 1 (x) takes an int32 array" in result.stdout.str()
        assert "_kernels.py:" not in result.stdout.str()

    def test_a_marker_alone_does_for_tests_that_compile_themselves(self, run):
        source = """
            import os, pytest, warpkit
            pytestmark = pytest.mark.schedules(1)
            seen = []
            def test_it():
                seen.append(os.environ["WARPKIT_EMU_SCHEDULE"])
            def test_that():
                assert seen == ["linear", "reverse", "random", "linear"]
        """
        run("-k", "it or that and linear", test_k_py=source).assert_outcomes(passed=5, deselected=3)

    def test_a_project_has_its_own_devices_and_fixtures(self, run):
        conftest = """
            import pytest
            @pytest.fixture
            def cuda_device():
                return "emu:0"  # whose module says "emu"
            @pytest.fixture(params=[1, 2])
            def device(request):
                return request.param
        """
        source = """
            import pytest
            def test_own(cu, device):
                assert cu("__global__ void k() {}").device == "emu"
            @pytest.mark.canaries
            def test_marked(cu):
                assert cu("__global__ void k() {}").device == "emu"
            def test_nothing():
                pass
        """
        run(conftest_py=conftest, test_k_py=source).assert_outcomes(passed=7)

    @pytest.mark.parametrize(
        ("body", "found"),
        [
            ("if (i < n) y[i] = x[i];", ""),
            ("if (i <= n) y[i] = i;", "nan finite page-begin page-end"),
            ("if (i < n) y[i] = i; if (i == 0) y[-1] = 0;", "nan finite page-begin page-end"),
            ("if (i <= n && x[i] != 1e30f && i < n) y[i] = i;", "page-end"),
            ("float v = x[i - 1]; if (i < n) y[i] = x[i] + 0 * v;", "nan page-begin page-end"),
            ("float v = x[i + 1]; if (i < n) y[i] = v > 1e9f ? v : x[i];", "finite page-end"),
            ("float v = x[i - 1]; if (i < n) y[i] = v > 1e9f ? v : x[i];", "finite page-begin"),
        ],
        ids=["right", "write", "write before", "read", "read before", "compare", "compare before"],
    )
    def test_canaries(self, body, found):
        k = warpkit.compile(f"""
            __global__ void k(const float *x, float *y, int n)
            {{
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                {body}
            }}""").k
        seen = {}
        for kind in testing.CANARIES:
            x, y = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
            try:
                with testing.canaries(kind):
                    k.forall(50)(x, y, 50)
                if not np.array_equal(x, y):
                    seen[kind] = "wrong"
            except warpkit.DeviceError as error:
                seen[kind] = str(error)
        assert " ".join(seen) == found
        for error in seen.values():
            assert re.search(r"argument 2 \(y\): writes|: bad address 0x|wrong", error)

    def test_arrays_are_as_without_canaries(self):
        k = warpkit.compile("""
            struct pair { float x; int y; };
            __global__ void k(float4 *v, pair *p, const int *none, double *empty, float *again)
            {
                v[0].y = again[4] + (none == nullptr);
                p[1].y = 9;
            }
            __global__ void first(const float *x, float *out)
            {
                *(float4 *)out = *(const float4 *)x;
            }""")
        for kind in testing.CANARIES:
            v = np.arange(8, dtype=np.float32)
            p = np.zeros(2, [("x", "f4"), ("y", "i4")])
            with testing.canaries(kind):
                k.k[1, 1](v, p, None, np.zeros(0), v)
                x, out = np.arange(7, dtype=np.float32), np.zeros(5, np.float32)
                k.first[1, 1](x, out)  # which needs addresses that are multiples of 16
                assert out.tolist() == [0, 1, 2, 3, 0]
            assert v.tolist() == [0, 5, 2, 3, 4, 5, 6, 7]
            assert p["y"].tolist() == [0, 9]
        with pytest.raises(ValueError, match="kind is 'sharp', and must be one of nan, "):
            testing.canaries("sharp").__enter__()

    def test_undefined_behaviour_is_told_on_stderr(self, capfd):
        """The recipe of docs/ci.md."""
        if "clang" in warpkit._compiler.find_compiler().version:
            pytest.skip("clang++ links its checks into programs alone")
        text = """
            __global__ void k(int *out, int n)
            {
                __shared__ int s[4];
                s[n / 2] = n;
                out[0] = s[n];
            }"""
        k = warpkit.compile(text, options=["-fsanitize=undefined"]).k
        k[1, 1](np.zeros(1, np.int32), 0)
        assert "runtime error" not in capfd.readouterr().err
        k[1, 1](np.zeros(1, np.int32), 4)
        told = capfd.readouterr().err
        assert "runtime error: index 4 out of bounds for type 'int [4]'" in told

    def test_the_tests_in_the_pages_pass(self, run):
        files = {}
        for page in ("ci", "testing"):
            text = (helpers.ROOT / "docs" / f"{page}.md").read_text()
            files[f"test_{page}_py"] = text.partition("```python\n")[2].partition("```")[0]
        wide = KERNELS.replace("64", "256").replace("half = 32", "half = 128")
        result = run("-k", "linear or undefined", total_cu=wide, **files)
        result.assert_outcomes(passed=13, deselected=result.parseoutcomes()["deselected"])

    def test_mutations_that_no_test_notices_are_listed(self, run):
        weak = USES + "def test_one(cu): total(cu('k.cu'), 1)"
        result = run("--cuda-mutate", "-k", "test_one", k_cu=KERNELS, test_k_py=weak)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [
                "k.cu:8 __syncthreads();: noticed by test_k.py::test_one?emu?",
                "k.cu:11 __syncthreads();: NOT NOTICED",
                "k.cu:13 atomicAdd(out, s[[]0]) -> [*](out) += s[[]0]: NOT NOTICED",
                "3 one at a time, 2 not noticed",
            ]
        )

    def test_mutations_that_some_test_notices_are_fine(self, run):
        result = run("--cuda-mutate", k_cu=KERNELS, test_k_py=USES)
        assert result.ret == 0
        assert not hasattr(warpkit._compiler.instead, "__self__")  # it was put back
        result.stdout.fnmatch_lines(
            [
                "k.cu:8 *: noticed by test_k.py::test_total?emu-linear?",
                "k.cu:11 *: noticed by test_k.py::test_total?emu-*?",
                "k.cu:13 *: noticed by test_k.py::test_total?emu-weak?",
                "3 one at a time, 0 not noticed",
            ]
        )

    def test_what_fails_is_not_mutated(self, run):
        result = run("--cuda-mutate", k_cu=KERNELS, test_k_py="def test_it(cu): cu('k.cu'); 1 / 0")
        result.stdout.fnmatch_lines(["none: tests fail"])
        for option in ("--pdb", "--gpu-record=r.json"):
            result = run("--cuda-mutate", option)
            assert result.ret == pytest.ExitCode.USAGE_ERROR

    def test_a_record_is_of_a_run_on_a_gpu(self, run, pytester):
        record = pytester.path / "r.json"
        result = run(f"--gpu-record={record}", k_cu=KERNELS, test_k_py=USES)
        result.stdout.fnmatch_lines(["*: not written, no test ran on a cuda device"])
        assert not record.exists()
        pretended = """
            import pytest, warpkit
            @pytest.fixture(autouse=True)
            def gpu(monkeypatch, request):
                request.config.pluginmanager.get_plugin("warpkit-recorder").on_gpu = 1
                warpkit.memory_info = lambda d: {"name": "H100", "compute_capability": 90}
                warpkit._core.config = lambda: {"cuda": {"build": "CUDA 13.0"}}
        """
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(warpkit, "memory_info", warpkit.memory_info)
            patch.setattr(warpkit._core, "config", warpkit._core.config)
            run(f"--gpu-record={record}", conftest_py=pretended)
        found = json.loads(record.read_text())
        assert (found["device"], found["compute_capability"]) == ("H100", "9.0")
        assert found["counts"] == {"passed": len(CONDITIONS), "failed": 0, "skipped": 0}
        assert list(found["files"]) == ["k.cu"]

    @pytest.mark.skipif(
        "check" not in inspect.signature(warpkit.compile).parameters,
        reason="there is no race detector",
    )
    def test_races_are_found(self, run):
        raced = testing.mutations(KERNELS)[0].text
        source = USES.replace("@pytest.mark.canaries", "@pytest.mark.races")
        result = run("-k", "emu-races", k_cu=raced, test_k_py=source)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["*::test_total?emu-races? FAILED*", "*RaceError*"])
        run("-k", "emu-races", k_cu=KERNELS).assert_outcomes(passed=1, deselected=5)


# ---- warpkit.testing -----------------------------------------------------------------------------


def test_the_page_lists_what_is_public():
    page = (helpers.ROOT / "docs" / "testing.md").read_text()
    functions = [
        name
        for name, f in vars(reference).items()
        if inspect.isfunction(f) and f.__module__ == reference.__name__ and name[0] != "_"
    ]
    assert [name for name in testing.__all__ if f"`{name}" not in page] == []
    assert [name for name in functions if f"`{name}`" not in page] == []


F = np.float32


@pytest.mark.parametrize(
    ("actual", "desired", "ulps"),
    [
        (F(1), np.nextafter(F(1), F(2)), 1),
        (F(0), F(-0.0), 0),
        (np.nextafter(F(0), F(1)), np.nextafter(F(0), F(-1)), 2),
        (np.float64(-1), np.nextafter(-1, 0), 1),
        (np.float16(1), np.float16(1.001), 1),
        (np.complex64(1 + 2j), np.complex64(1 + np.nextafter(F(2), F(3)) * 1j), 1),
        (np.finfo(F).max, -np.finfo(F).max, 0x7F7FFFFF * 2),
    ],
)
def test_ulps_are_counted(actual, desired, ulps):
    testing.assert_within_ulps(actual, desired, ulps)
    testing.assert_within_ulps(desired, actual, ulps)
    if ulps:
        with pytest.raises(AssertionError, match=f"{ulps} ulps at most, {ulps - 1} allowed"):
            testing.assert_within_ulps(actual, desired, ulps - 1)


@pytest.mark.parametrize(
    ("actual", "desired"),
    [
        (F(np.nan), F(1)),
        (F(1), F(np.nan)),
        (F(np.inf), np.finfo(F).max),
        (F(np.inf), F(-np.inf)),
        (np.int32(1), np.int32(2)),
        (F(1), np.float64(1)),
        (np.zeros(2, F), np.zeros((2, 1), F)),
    ],
)
def test_what_no_number_of_ulps_brings_together(actual, desired):
    with pytest.raises(AssertionError):
        testing.assert_within_ulps(actual, desired, 2**62)
    if not np.isnan(desired).any():
        testing.assert_within_ulps(desired, desired, 0)


def test_bits_are_compared():
    quiet, other = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(F)
    testing.assert_same_bits([quiet], [quiet], np.array([quiet]))
    with pytest.raises(AssertionError, match=r"2 is not 1: 1 of 1 elements .*other bits"):
        testing.assert_same_bits(quiet, other)
    with pytest.raises(AssertionError, match=r"block 64 is not block 32: result 1: 1 of 2 "):
        testing.assert_same_bits(**{"block 32": (1, [0.0, 1]), "block 64": (1, [-0.0, 1])})
    with pytest.raises(TypeError, match="two results or more, not 1"):
        testing.assert_same_bits(quiet)


def test_a_kernel_that_is_wrong_for_one_input_is_found():
    def wrong(x):
        return np.where(np.arange(x.size) == 256, 0, 2 * x).astype(x.dtype)

    with pytest.raises(AssertionError, match="1 of 257 elements differ") as caught:
        testing.check_kernel(wrong, lambda x: 2 * x, dtypes=["int32"], seed=3)
    assert caught.value.__notes__ == ["for warpkit.testing.values('int32', (257,), seed), seed 3"]
    testing.check_kernel(lambda x, y: (x, y), lambda x, y: (x, y), testing.hostile(2), arrays=2)
    for n in (0, 4):
        with pytest.raises(ValueError, match=f"of 1 to 3 axes, not of {n}"):
            testing.hostile(n)
    assert {0, 1} <= {shape[0] for shape in testing.hostile(3)}


@pytest.mark.parametrize("dtype", [*helpers.ALL_DTYPES])
def test_special_values_come_in_every_type(dtype):
    x = testing.specials(dtype, (40, 50))
    assert (x.dtype, x.shape) == (np.dtype(dtype), (40, 50))
    if x.dtype.kind in "fc":
        assert np.isnan(x).any()
        assert np.isinf(x).any()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("__syncthreads();", ["1 __syncthreads();"]),
        ("if (x) __syncwarp(m);", ["1 __syncwarp(m);"]),
        ('// __syncthreads();\n/* __threadfence(); */ f("__syncwarp();");', []),
        ("int any = __syncthreads_or(x);", []),
        ("\ncg::sync(g);", ["2 cg::sync(g);"]),
        ("if (a) tiles[i].sync(); b->sync();", ["1 tiles[i].sync();", "1 b->sync();"]),
        ("cg::this_thread_block().sync();", ["1 cg::this_thread_block().sync();"]),
        (
            "x = atomicMax(&s[i],\n f(1, 2));",
            ["1 atomicMax(&s[i], f(1, 2)) -> s[i] = max(s[i], f(1, 2))"],
        ),
        ("atomicCAS(p, 0, 1);", ["1 atomicCAS(p, 0, 1) -> *(p) = *(p) == 0 ? 1 : *(p)"]),
        ("atomicAdd(&x.y, 1.5f);", ["1 atomicAdd(&x.y, 1.5f) -> x.y += 1.5f"]),
        ("set.atomicAdd(1, 2);", []),
        ("__device__ void __syncwarp(int);", []),
    ],
)
def test_what_is_mutated(text, found):
    mutants = testing.mutations(text)
    assert list(map(str, mutants)) == found
    assert [m.text.count("\n") for m in mutants] == [text.count("\n")] * len(mutants)
    assert all(m.text != text for m in mutants)


class TestAtomics:
    pytestmark = compiles

    def test_without_others_plain_ones_do_the_same(self):
        names = ["Add", "Sub", "Exch", "Min", "Max", "And", "Or", "Xor", "CAS", "Inc", "Dec"]
        lines = ""
        for i, name in enumerate(names):
            lines += f"old[{i}] = atomic{name}(&x[{i}], 6u{', 7u' if name == 'CAS' else ''});\n"
        text = f"__global__ void k(unsigned *x, unsigned *old)\n{{\n{lines}}}"
        plain = text
        for i in range(len(names)):
            plain = next(m.text for m in testing.mutations(plain) if m.change)
            assert plain.count("atomic") == len(names) - i - 1
        for start in (0, 5, 6, 7):
            results = []
            for source in (text, plain):
                x, old = np.full((2, len(names)), start, np.uint32)
                warpkit.compile(source).k[1, 1](x, old)
                results.append((x, old))
            testing.assert_same_bits(*results)


# ---- an order of threads, shrunk ---------------------------------------------------------------

# Each is right in the linear order. What it is to take: how many switches, and a line.
ORDERED = """
__global__ void behind(int *out) // a missing barrier, between warps
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = s[threadIdx.x & ~32];
}
__global__ void ahead(int *out) // likewise, at the third of three steps
{
    __shared__ int s[32];
    for (int step = 0; step < 3; step++) {
        if (threadIdx.x < 32) s[threadIdx.x] = step;
        if (step < 2) __syncthreads();
        out[threadIdx.x] = s[threadIdx.x & 31];
        if (step < 2) __syncthreads();
    }
}
__global__ void lost(int *out) // an increment of two atomics
{
    const int old = atomicAdd(out, 0);
    __threadfence();
    atomicExch(out, old + 1);
}
__global__ void passed(int *out) // a block waits for none, and needs those before it
{
    if (threadIdx.x == 0) atomicAdd(out, 1);
    if (blockIdx.x == 39 && threadIdx.x == 0) out[1] = out[0];
}
"""


@pytest.fixture
def ordered(request):
    m = warpkit.compile(ORDERED)

    def run(name):
        out = np.zeros(64, np.int32)
        m[name][(40 if name == "passed" else 1), 64](out)
        want = {
            "behind": out == np.arange(64) % 32,
            "ahead": out == 2,
            "lost": out[0] == 64,
            "passed": out[1] == 40,
        }
        return bool(np.all(want[name]))

    return run


def unsanitized_compiles(test):
    for mark in compiles:
        test = mark(test)
    return test


@unsanitized_compiles
@pytest.mark.parametrize(
    ("name", "most", "text"),
    [
        ("behind", 1, r"its start +its end +thread \(0, 0, 0\), its start"),
        ("ahead", 1, r"__syncthreads source.cu:15 +its end +thread \(0, 0, 0\), __syncthreads"),
        ("lost", 4, r"an atomic source.cu:20"),
        ("passed", 1, r"\(39, 0, 0\) +its start +block \(\d+, 0, 0\)"),
    ],
)
def test_a_failing_order_is_shrunk(ordered, name, most, text):
    found = testing.shrink(lambda: ordered(name))
    assert 1 <= len(found.switches) <= most, str(found)
    assert re.search(text, str(found)), str(found)
    with testing.settings(WARPKIT_EMU_SCHEDULE=found.setting):
        assert not ordered(name)
    assert ordered(name)
    for i in range(len(found.switches)):  # none of them can go
        rest = ",".join(map(str, found.switches[:i] + found.switches[i + 1 :])) or "linear"
        with testing.settings(WARPKIT_EMU_SCHEDULE=rest):
            assert ordered(name)


@unsanitized_compiles
@pytest.mark.parametrize("seed", [3, 5])
def test_switches_that_need_each_other_give_way_to_one(ordered, seed):
    orders = [testing.schedules(seed)[f"seed-{seed}"]]
    found = warpkit._schedules.shrunk(lambda: ordered("lost"), orders, 30)
    assert len(found.switches) == 1, str(found)


@unsanitized_compiles
def test_what_fails_in_any_order_or_in_none_needs_no_switch(ordered):
    assert testing.shrink(lambda: True) is None
    found = testing.shrink(lambda: ordered("behind") and False)
    assert found.switches == ()
    assert found.setting == "linear"
    assert str(found) == "It fails in the linear order of threads too."
    assert ordered("behind")


@pytest.mark.parametrize(
    "text", ["0.1.2", "0.1:3", "0/1.2:3", "0.1.0:2,", "0.1.0:2x", ":", "0/1:-2"]
)
def test_a_list_of_switches_is_read_whole(text):
    with testing.settings(WARPKIT_EMU_SCHEDULE=text), pytest.raises(ValueError, match="switches"):
        warpkit.reduce(np.ones(3))


@unsanitized_compiles
def test_the_plugin_shrinks_what_fails(run):
    uses = """
import numpy as np, pytest

@pytest.mark.schedules(n=1)
def test_lost(cu):
    out = np.zeros(64, np.int32)
    cu("k.cu").lost[1, 64](out)
    assert out[0] == 64
"""
    result = run(k_cu=ORDERED, test_k_py=uses)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*order of threads*", "It fails after * the linear order:"])
    result.stdout.fnmatch_lines(["1 *(*, 0, 0) *its start*", "Again: WARPKIT_EMU_SCHEDULE=0.*"])
