"""Users' own kernels: compiled by the host's compiler, run on the emulated device."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import _syntax

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.unsanitized,  # whose stacks are not those of other objects
]

SIZES = [1, 31, 32, 33, 255, 256, 257, 4099]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """An empty one, that all tests of this file share."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("kernels")
        patch.setenv("WARPKIT_KERNELS", str(folder))
        yield folder


BASIC = helpers.KERNELS / "users.cu"


@pytest.fixture(scope="module")
def basic(cache):
    return warpkit.compile(BASIC)


# ---- calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_a_kernel_gives_what_numpy_does(basic, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    out = np.full(n, np.nan, np.float32)
    basic.scaled.forall(n)(x, out, n)
    helpers.assert_same(out, x * np.float32(2.5))
    basic.scaled[(n + 63) // 64, 64](x, out, np.int64(n), np.float32(-3))
    helpers.assert_same(out, x * np.float32(-3))


def test_forall_of_nothing_runs_nothing(basic):
    basic.scaled.forall(0)(np.empty(0, np.float32), np.empty(0, np.float32), 0)


def test_arrays_of_the_device_are_used_in_place(basic):
    x = np.arange(300, dtype=np.float32)
    there = warpkit.asarray(x, device="emu")
    out = warpkit.empty((300,), np.float32, device="emu")
    basic.scaled.forall(300)(there, out, 300)
    basic.scaled.forall(300)(out, out, 300)
    helpers.assert_same(out.numpy(), x * np.float32(6.25))
    with pytest.raises(ValueError, match=r"argument 1 \(x\) takes a C-contiguous array"):
        basic.scaled.forall(150)(there[::2], out, 150)
    with pytest.raises(TypeError, match="takes a float32 array, not one of 300 float64"):
        basic.scaled.forall(300)(warpkit.asarray(x.astype("f8"), device="emu"), out, 300)


def test_one_array_given_twice_is_one_on_the_device(basic):
    x = np.arange(100, dtype=np.float32)
    basic.scaled.forall(100)(x, x, 100)
    helpers.assert_same(x, np.arange(100, dtype=np.float32) * np.float32(2.5))
    with pytest.raises(ValueError, match=r"argument 2 \(out\) overlaps argument 1"):
        basic.scaled.forall(10)(x[1:], x[:-1], 10)


def test_dynamic_shared_memory_and_names_of_c(basic):
    for n in (1, 33, 512):
        x = np.arange(n, dtype=np.float32)
        basic.turned[1, n, 4 * n](x)
        helpers.assert_same(x, np.arange(n, dtype=np.float32)[::-1].copy())
    x = np.zeros(1024, np.float32)
    basic.turned[1, 1024, 100 << 10](x)  # more than a launch has without asking
    with pytest.raises(ValueError, match=r"turned: invalid argument: .* 300000 bytes"):
        basic.turned[1, 1, 300000](x)
    past = r"past the end of its 16 bytes of dynamic shared .*; WARPKIT_EMU_RACES=1 tells which"
    with pytest.raises(warpkit.DeviceError, match=past):
        basic.turned[1, 8, 16](x)


def test_each_block_finds_junk_in_shared_memory(basic):
    x = np.zeros(5, np.float32)
    basic.leftovers[5, 32](x)
    assert np.isnan(x).all()


def test_grids_and_blocks_have_three_dimensions(basic):
    x = np.full(2 * 3 * 2 * 4 * 2 * 3, -1, np.int32)
    basic.places[(2, 3, 2), (4, 2, 3)](x)
    helpers.assert_same(x, np.arange(x.size, dtype=np.int32))


def test_every_kind_of_number_is_taken(basic):
    out = np.full(16, np.nan)
    record = np.array((1.5, -9), [("x", "f4"), ("y", "i4")])
    text = np.frombuffer(b"abc", np.uint8)
    numbers = (-128, 255, np.int8(-3), 2**32 - 1, -(2**63), 2**64 - 1, True, 0.5, np.float32(3))
    basic.mixed[1, 1](out, *numbers, (2, 4.5), record, text, text, None)
    want = [-128, 255, -3, 2**32 - 1, -(2**63), 2**64 - 1, 1, 0.5, 3, 2, 4.5, 1.5, -9, 1, 98, 1]
    helpers.assert_same(out, np.array(want, float))


def test_instances_of_templates_share_the_variables(basic):
    basic.scale[...] = [1, 10, 100, 1000]
    before = int(basic.counter[()])
    x, y = np.zeros(32, np.float32), np.zeros(32, np.int64)
    basic["filled<float, 3>"][1, 32](x, 0.5)
    basic["filled<long  long,4>"][1, 32](y, -1)
    assert (x == 30.5).all()
    assert (y == 39).all()
    assert basic.counter[()] == before + 2
    assert basic.templates == ("filled",)
    with pytest.raises(AttributeError, match="filled is a template"):
        _ = basic.filled
    with pytest.raises(warpkit.CompileError, match="nonsense"):
        basic["filled<nonsense, 3>"]
    with pytest.raises(KeyError, match="no template absent"):
        basic["absent<int>"]


def test_variables_are_read_and_set(basic):
    assert basic.table.shape == (2, 3)
    assert basic.table[1].tolist() == [4, 5, 6]
    basic.table[0, 1:] = 9
    assert np.asarray(basic.table).tolist() == [[1, 9, 9], [4, 5, 6]]
    basic.lanes[1] = [1, 2, 3, 4]
    assert basic.lanes[...].tolist() == [[0] * 4, [1, 2, 3, 4]]
    assert basic["outer::hidden"].dtype == np.int32
    assert "counter" in dir(basic)
    assert repr(basic.scale) == "<scale: float32, shape (4,)>"
    for name in ("scale", "hidden", "scaled", "filled"):
        with pytest.raises(AttributeError, match=f"{name} is the device's; a variable is set by"):
            setattr(basic, name, 5)


def test_structs_take_records_and_dim3_a_tuple(basic):
    record = np.array([(1.5, 2), (3, 7)], [("x", "f4"), ("y", "i4")])
    out = np.zeros(2, np.int32)
    one = record[1]
    for index, value in ((..., record), (1, one), (1, one.tobytes()), (1, record.view("u1")[8:])):
        basic.pairs[...] = bytes(8)
        basic.pairs[index] = value
        basic.shaped[1, 1]((1, 2, 3), out)
        assert out.tolist() == [321, 10]
    for value in ((3, 7), b"short", np.zeros(2)):
        with pytest.raises(TypeError, match="pairs takes structs of 8 bytes"):
            basic.pairs[1] = value


def test_names_within_namespaces(basic):
    x = np.zeros(1, np.int32)
    basic.inner[1, 1](x)
    basic["outer::inner"][1, 1](x)
    assert x[0] == 5


def test_groups_of_threads(basic):
    x = np.arange(128, dtype=np.int32)
    out = np.zeros(1, np.int32)
    basic.summed[1, 128](x, out)
    assert out[0] == x.sum()


def test_the_lanes_of_a_branch_are_active_together(basic):
    x = np.zeros(64, np.uint32)
    basic.lonely[1, 64](x)
    assert (x.reshape(-1, 4)[:, 1] == 0x22222222).all()


def test_what_a_kernel_prints_is_on_pythons_stdout(basic, capsys):
    basic.says[2, 32](3)
    assert capsys.readouterr().out == "n is 3!\ndone\n" * 2


# ---- what is refused before anything runs --------------------------------------------------------

X, OUT = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
FROZEN = np.zeros(8, np.float32)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((X,), TypeError, r"takes 3 to 4 arguments, not 1"),
        ((X, OUT, 8, 1, 1), TypeError, r"takes 3 to 4 arguments, not 5"),
        (
            (X.astype("f8"), OUT, 8),
            TypeError,
            r"argument 1 \(x\) takes a float32 array, not one of",
        ),
        (
            (X.astype(">f4"), OUT, 8),
            TypeError,
            r"argument 1 \(x\) takes a float32 array, not one of",
        ),
        (
            (X, FROZEN, 8),
            ValueError,
            r"argument 2 \(out\) is written to, and the array is read-only",
        ),
        ((X, OUT[::2], 4), ValueError, r"argument 2 \(out\) takes a C-contiguous array"),
        ((list(X), OUT, 8), TypeError, r"argument 1 \(x\) takes a float32 array of NumPy or a Dev"),
        ((X, 5, 8), TypeError, r"argument 2 \(out\) takes .*, not 5 of type int"),
        ((X, OUT, 8.0), TypeError, r"argument 3 \(n\) takes a number that is an int32, not 8.0"),
        ((X, OUT, 2**31), ValueError, r"argument 3 \(n\) takes -2147483648 to 2147483647, not 21"),
        ((X, OUT, 8, 1j), TypeError, r"argument 4 \(factor\) takes a number that is a float32"),
        ((X, OUT, 8, "2"), TypeError, r"argument 4 \(factor\) takes .*, not '2' of type str"),
        ((np.ma.array(X), OUT, 8), TypeError, r"argument 1 \(x\) masked arrays are not taken"),
    ],
)
def test_arguments_are_checked_against_the_kernel(basic, arguments, error, text):
    OUT[:] = 7
    with pytest.raises(error, match=text):
        basic.scaled[1, 8](*arguments)
    assert (OUT == 7).all()


def test_a_read_only_array_is_taken_for_a_pointer_to_const(basic):
    basic.scaled[1, 8](FROZEN, OUT, 8)


@pytest.mark.parametrize(
    ("launch", "error"),
    [
        ((1,), TypeError),
        ((1, 1, 0, None, 5), TypeError),
        ((0, 1), ValueError),
        ((1, 1025), ValueError),
        ((1, (32, 32, 2)), ValueError),
        ((1, (1, 1, 65)), ValueError),
        (((1, 65536), 1), ValueError),
        ((1, ()), ValueError),
        ((1.0, 1), TypeError),
        ((1, 1, -1), ValueError),
    ],
)
def test_launches_are_checked(basic, launch, error):
    with pytest.raises(error):
        basic.says[launch]


def test_a_kernel_needs_its_launch(basic):
    with pytest.raises(ValueError, match=r"^says: invalid resource handle: 0x3039 is no stream"):
        basic.says[1, 1, 0, 12345](1)
    with pytest.raises(TypeError, match=r"takes its launch first: says\[grid, block\]"):
        basic.says(1)
    with pytest.raises(AttributeError, match="no kernel or variable nothing; there are: "):
        _ = basic.nothing


@pytest.mark.parametrize("name", ["cpu", "emulated", 3, "cudas"])
def test_a_device_that_takes_no_source_is_told(name):
    with pytest.raises(ValueError, match="kernels are compiled for device 'emu' or 'cuda'"):
        warpkit.compile("__global__ void k() {}", name)


# ---- kernels that go wrong ---------------------------------------------------------------------

WRONG = helpers.KERNELS / "wrong.cu"
ZEROS = np.zeros(8, np.float32)


@pytest.mark.parametrize(
    ("name", "threads", "arguments", "text"),
    [
        (
            "past",
            9,
            (ZEROS,),
            r"^kernel past writes past the end of a block of 32 bytes .*; "
            r"thread \(8, 0, 0\) of block \(0, 0, 0\) does, at \S*wrong.cu:6$",
        ),
        (
            "copied",
            9,
            (ZEROS, ZEROS.copy()),
            r"^kernel copied writes past the end of a block of .* does, at \S*wrong.cu:11$",
        ),
        (
            "before",
            1,
            (ZEROS, ZEROS.copy()),
            r"^kernel before writes past the end of a block of .* does, at \S*wrong.cu:68$",
        ),
        (
            "wild",
            32,
            (ZEROS,),
            r"^kernel wild, block \(0, 0, 0\): bad .*thread \(5, 0, 0\).*wrong.cu:16$",
        ),
        ("endless", 32, (np.zeros(2, np.int32),), r"^kernel endless.* seconds .*wrong.cu:21$"),
        (
            "lock",
            32,
            (np.zeros(2, np.int32),),
            r"^kernel lock, .* took more than 100000 steps.*wrong.cu:26$",
        ),
        (
            "diverges",
            32,
            (),
            r"^kernel diverges.*7 of 32 threads wait in __syncthreads at \S*wrong.cu:32",
        ),
        (
            "asserts",
            32,
            (9,),
            r"thread \(9, 0, 0\): assertion `threadIdx.x < n' failed at .*wrong.cu:37$",
        ),
        (
            "traps",
            32,
            (),
            r"^kernel traps, block \(0, 0, 0\): it is aborted; thread \(2, 0, 0\).*wrong.cu:42$",
        ),
        ("chatters", 32, (), r"^kernel chatters, .* took more than 100000 steps"),
        ("nests", 32, (), r"^a kernel launches another, and that yet another, more than 24 deep"),
        ("waits", 32, (), r"cudaDeviceSynchronize within a kernel, which is not emulated"),
        ("divides", 32, (np.zeros(2, np.int32),), r"division by zero at .*wrong.cu:63$"),
        ("throws", 1, (None,), r"^kernel throws, .* it throws an exception; .*wrong.cu:73$"),
        ("ends", 1, (), r"^kernel ends, .* it calls exit\(3\), .*wrong.cu:78$"),
        ("frees", 1, (np.zeros(2, np.int32),), r"it frees 0x\w+, which no .*wrong.cu:85$"),
        ("frees", 1, (None,), r"it frees 0x\w+, which no .*wrong.cu:85$"),
    ],
)
def test_a_kernel_that_goes_wrong_is_an_error_and_the_next_call_works(
    name, threads, arguments, text, setting
):
    setting("WARPKIT_EMU_SECONDS", "0.2")
    setting("WARPKIT_EMU_STEPS", "100000")
    m = warpkit.compile(WRONG)
    free = []
    for _ in range(2):
        with pytest.raises(warpkit.DeviceError, match=text):
            m[name][2, threads](*arguments)
        assert (ZEROS == 0).all()
        free.append(warpkit.memory_info("emu")["free"])
    assert free[0] == free[1]
    x = np.ones(8, np.float32)
    m.past[1, 8](x)
    assert (x == 2).all()


def test_nothing_lies_before_the_first_array():
    script = f"""import warpkit, numpy as np
try: warpkit.compile({str(WRONG)!r}).before[1, 1](np.zeros(8, np.float32), None)
except warpkit.DeviceError as error: print(error)
"""
    assert re.search(r"^kernel before, .*: bad address .*wrong.cu:68$", helpers.python(script))


@pytest.mark.parametrize("name", ["lock", "endless"])  # with steps, and without one
def test_ctrl_c_stops_a_kernel(name, setting):
    setting("WARPKIT_EMU_SECONDS", "0" if name == "lock" else "4")
    m = warpkit.compile(WRONG)
    free = warpkit.memory_info("emu")["free"]
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        m[name][3, 32](np.zeros(1, np.int32))
    assert time.monotonic() - began < 3
    assert warpkit.memory_info("emu")["free"] == free
    m.asserts[1, 1](1)


# ---- compiling -----------------------------------------------------------------------------------


def test_messages_name_the_users_lines(tmp_path):
    source = "\n// a comment\n__global__ void k(int *x)\n{\n    x[0] = absent;\n}\n"
    with pytest.raises(warpkit.CompileError, match=r"source.cu:5:\d+: error: .absent. was not"):
        warpkit.compile(source)
    (tmp_path / "lib.cuh").write_text("#pragma once\n\n__device__ int f() { return gone; }\n")
    path = tmp_path / "own.cu"
    path.write_text('#include "lib.cuh"\n__global__ void k(int *x) { x[0] = f(); }\n')
    with pytest.raises(
        warpkit.CompileError, match=rf"{re.escape(str(tmp_path))}/lib.cuh:3:\d+: err"
    ):
        warpkit.compile(path)
    with pytest.raises(warpkit.CompileError, match="undefined reference to `missing"):
        warpkit.compile("__device__ int missing(); __global__ void k(int *x) { *x = missing(); }")


def test_local_headers_are_rewritten_and_looked_at_anew(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "lib.cuh").write_text(
        "#pragma once\n#include <value.h>\n__device__ int v = VALUE;\n"
    )
    (tmp_path / "own.cu").write_text('#include "lib.cuh"\n__global__ void k(int *x) { *x = v; }\n')
    x = np.zeros(1, np.int32)
    for value in (3, 4):
        (tmp_path / "inc" / "value.h").write_text(f"#define VALUE {value}\n")
        m = warpkit.compile(tmp_path / "own.cu", include=[tmp_path / "inc"])
        m.k[1, 1](x)
        assert x[0] == value
        assert m.v[()] == value


def test_one_folder_and_one_text_of_options(tmp_path):
    (tmp_path / "n.h").write_text("#define N 4\n")
    m = warpkit.compile(
        '#include "n.h"\n__global__ void k(int *x) { *x = N + M; }',
        include=str(tmp_path),
        options="-DM=3 -O2",
    )
    x = np.zeros(1, np.int32)
    m.k[1, 1](x)
    assert x[0] == 7
    done = warpkit.run("#include <n.h>\nint main() { return N; }", include=tmp_path, options="-O0")
    assert done.returncode == 4
    with pytest.raises(ValueError, match="the source is empty"):
        warpkit.compile("")


def test_what_is_not_emulated_is_named():
    for text, named in (
        ("#include <mma.h>", "source.cu:1:2: error: #error mma.h is not emulated"),
        ("#include <thrust/partition.h>", "thrust/partition.h is not emulated"),
        ('__global__ void k() { asm volatile("bar.sync 0;"); }', "PTX in an asm statement"),
    ):
        with pytest.raises(warpkit.CompileError, match=named):
            warpkit.compile(text + "\n")


def test_a_barrier_of_the_grid_that_not_all_blocks_reach():
    m = warpkit.compile("""#include <cooperative_groups.h>
__global__ void k(int stay)
{
    if (blockIdx.x < stay) cooperative_groups::this_grid().sync();
}
""")
    m.k.cooperative[4, 32](4)
    m.k.cooperative[4, 32](0)
    with pytest.raises(warpkit.DeviceError, match=r"^kernel k, block .*grid.sync\(\) .* 1 blocks"):
        m.k.cooperative[4, 32](3)
    with pytest.raises(warpkit.DeviceError, match=r"and the launch is not cooperative"):
        m.k[4, 32](4)
    m.k.cooperative[4, 32](4)


@pytest.mark.parametrize("check", [None, "races"])
def test_tiles_of_several_warps(check):
    m = warpkit.compile(
        """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <int N>
__global__ void k(const int *x, int *out)
{
    __shared__ cg::block_tile_memory<512> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<N>(block);
    const int v = x[block.thread_rank()];
    int *own = out + 4 * block.thread_rank();
    own[0] = cg::reduce(tile, v, cg::plus<int>());
    own[1] = tile.shfl_up(v, 3);
    own[2] = tile.any(v == 70) + 10 * tile.all(v < 200);
    own[3] = 1000 * tile.meta_group_rank() + tile.meta_group_size();
    if (block.thread_rank() < N) tile.sync();
}
""",
        check=check,
    )
    for n, threads in ((32, 64), (64, 64), (64, 256), (128, 256)):
        x, out = np.arange(threads, dtype=np.int32), np.zeros((threads, 4), np.int32)
        m[f"k<{n}>"][1, threads](x, out)
        tiles = x.reshape(-1, n)
        up = tiles.copy()
        up[:, 3:] = tiles[:, :-3]
        votes = (tiles == 70).any(1) + 10 * (tiles < 200).all(1)
        assert (out[:, 0] == tiles.sum(1).repeat(n)).all()
        assert (out[:, 1] == up.ravel()).all()
        assert (out[:, 2] == votes.repeat(n)).all()
        assert (out[:, 3] == x // n * 1000 + threads // n).all()


def test_branches_of_the_preprocessor_and_options():
    source = """
    #ifdef WIDE
    __global__ void k(double *x) {
    #else
    __global__ void k(float *x) {
    #endif
        x[0] = N; }
    """
    for option, dtype in (([], "f4"), (["-DWIDE"], "f8")):
        x = np.zeros(1, dtype)
        warpkit.compile(source, options=["-DN=6", *option]).k[1, 1](x)
        assert x[0] == 6


def test_a_compiled_text_is_found_again(cache):
    script = """import sys, warpkit, numpy as np
m = warpkit.compile("__global__ void k(int *x) { *x = 12; }")
x = np.zeros(1, np.int32); m.k[1, 1](x); assert x[0] == 12
"""
    helpers.python(script)
    made = set(cache.iterdir())
    helpers.python(script, env={"PATH": os.environ["PATH"]})
    assert set(cache.iterdir()) == made
    assert not [p for p in made if p.name.startswith("build-")]
    assert warpkit.compile("__global__ void k() {}") is warpkit.compile("__global__ void k() {}")


def test_processes_may_compile_the_same_at_once():
    script = """import warpkit, numpy as np
m = warpkit.compile("__global__ void together(int *x) { *x = 3; }")
x = np.zeros(1, np.int32); m.together[1, 1](x); assert x[0] == 3
"""
    many = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [p.wait(timeout=60) for p in many] == [0] * 3


def test_without_a_compiler_it_says_what_to_install(tmp_path):
    helpers.python(
        """import warpkit
import os
for cxx, text in (("", "apt install g++"), ("nonesuch -O2", "CXX is nonesuch -O2, and there")):
    os.environ["CXX"] = cxx
    try: warpkit.compile("__global__ void k() {}")
    except warpkit.CompileError as error: assert text in str(error), error
    else: raise AssertionError
""",
        env={"PATH": str(tmp_path), "CXX": ""},
    )


@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no clang++")
def test_clang_compiles_it_too():
    helpers.python(
        f"""import warpkit, numpy as np
m = warpkit.compile({str(BASIC)!r})
x = np.arange(33, dtype=np.float32); m.scaled.forall(33)(x, x, 33)
assert (x == np.arange(33) * 2.5).all()
y = np.zeros(5, np.float32); m.leftovers[5, 32](y); assert np.isnan(y).all()
m["filled<float, 1>"][1, 32](np.zeros(32, np.float32), 1)
""",
        env={"CXX": "clang++"},
    )


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("k<<<n >> 2, 32>>>(x);", 'emu::start(k, "k", n >> 2, 32)(x);'),
        (
            "a::k<int, (1 > 0)><<<g, b, s, t>>>(x);",
            'emu::start((a::k<int, (1 > 0)>), "a::k<int, (1 > 0)>", g, b, s, t)(x);',
        ),
        (
            "if (n) p->f[2]<<<f(1, 2), dim3(1, 2)>>>();",
            'if (n) emu::start(p->f[2], "p->f[2]", f(1, 2), dim3(1, 2))();',
        ),
        ('"k<<<1, 2>>>(x)"; // k<<<1, 2>>>(x)', '"k<<<1, 2>>>(x)"; // k<<<1, 2>>>(x)'),
        ('a < b; c << 3 >> 1; R"(k<<<1>>>())"', 'a < b; c << 3 >> 1; R"(k<<<1>>>())"'),
        ("#define RUN(k) k<<<1, \\\n 2>>>(x)", '#define RUN(k) emu::start(k, "k", 1,   2)\\\n(x)'),
        (
            "void f() { extern __shared__ float s[][2]; }",
            "void f() { std::add_pointer_t<float[2]> s = emu::dynamic<float[2]>(); }",
        ),
        ("__shared__ alignas(16) int s[9];", "alignas(16) __shared__ int s[9];"),
        ('asm("mov.u32 %0, %%laneid;" : "=r"(l));', "l = emu::ptx::laneid();"),
        ('asm("mov.u32 %0,\n%%pm0;" : "=r"(l));', 'asm("mov.u32 %0,\n%%pm0;" : "=r"(l));'),
        ("extern __shared__ __align__(16) char s[];", "static emu::dynamic_array<char> s;"),
        ("__device__ __noinline__ int f();", "__device__ __attribute__((noinline)) int f();"),
        ("k<<<1, // one\n 2>>>(x);", 'emu::start(k, "k", 1,    2)\n(x);'),
    ],
)
def test_cudas_syntax_is_rewritten_line_for_line(source, want):
    assert _syntax.rewrite(source)[0] == want


# ---- whole programs ------------------------------------------------------------------------------

WHOLE = helpers.KERNELS / "whole.cu"
PRINTED = """73 258 3 32 2 1 1
cudaErrorInvalidValue
cudaErrorInvalidValue
cudaErrorInvalidValue
cudaSuccess k<<<1, 2>>>(x)
cudaErrorInvalidConfiguration
"""


def test_a_program_prints_and_returns_what_it_does_on_a_gpu():
    done = warpkit.run(WHOLE)
    assert (done.stdout, done.returncode) == (PRINTED, 3)
    assert done.stderr == "warpkit: invalid configuration argument\n"


def test_a_failed_kernel_is_told_and_fails_every_later_call():
    done = warpkit.run(WHOLE, ["past"])
    assert done.stdout == PRINTED + "cudaDeviceSynchronize(): cudaErrorLaunchFailure\n"
    assert done.returncode == 2
    told = re.search(
        "^warpkit: kernel past, block .*: bad address.* at .*:([0-9]+)$", done.stderr, re.M
    )
    assert told, done.stderr
    assert "past" in "".join(WHOLE.read_text().splitlines()[int(told[1]) - 5 : int(told[1])])


GRAPHS = """made cudaSuccess
nodes 15 20 of 3
circle cudaErrorInvalidValue
wait cudaErrorStreamCaptureUnsupported, 1, nothing has run: 1
captured 256
unjoined 904, unmatched 903, legacy 900
loops 9
parents 15
cudaErrorLaunchFailure
"""
VOLUMES = """cudaSuccess cudaSuccess cudaSuccess cudaErrorInvalidValue
111 136 411.5 210 203 11 111 211 311 411 511 10 | 211.5 1 11 | cudaErrorInvalidValue
5 4 1431 1152 13013
287 55 41328
"""
MORE = """80020304 ff02ff04 7f028000 01fe0102 00ff00ff 00010000 00000102 fffe0002 ff018000 80007fff
0.7071068 0.7071068 0.4769363 4.572825 1.959964 0.05614099 0.05614099 -0.886227 1
3 1 3 1 2 0 67108864 0 8 1024 0
"""
PROGRAMS = {"graphs": GRAPHS, "volumes": VOLUMES, "more": MORE}


@pytest.mark.parametrize(("name", "printed"), PROGRAMS.items())
def test_a_program_may_use_more_of_cuda(name, printed):
    done = warpkit.run(helpers.KERNELS / f"{name}.cu")
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr


def test_a_text_is_a_program_too():
    text = "#include <stdio.h>\nint main(int n, char **a) { puts(a[1]); return getchar(); }"
    done = warpkit.run(text, ["it's"], input="A")
    assert (done.stdout, done.returncode) == ("it's\n", 65)
    assert warpkit.run(text.replace("a[1]", "a[0]")).stdout == "source.cu\n"
    with pytest.raises(warpkit.CompileError, match="undefined reference to `main'"):
        warpkit.run("int no_main() { return 1; }")
    with pytest.raises(FileNotFoundError):
        warpkit.run("absent.cu")


def test_a_program_may_have_several_files(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void k(int *x) { *x = 9; }\n")
    (tmp_path / "b.cpp").write_text("int eight() { return 8; }\n")
    (tmp_path / "own.cu").write_text(
        "__global__ void k(int *x);\nint eight();\nint main() { int *x, h; cudaMalloc(&x, 4); "
        "k<<<1, 1>>>(x); cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost); return h + eight(); }\n"
    )
    files = [tmp_path / name for name in ("own.cu", "a.cu", "b.cpp")]
    assert warpkit.run(files).returncode == 17


def test_programs_run_from_a_shell(tmp_path):
    path = tmp_path / "own.cu"
    path.write_text("#include <stdio.h>\nint main(int n, char **a) { puts(a[1]); return N; }\n")
    command = [sys.executable, "-m", "warpkit", "run", "-DN=5", path, "-x"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("-x\n", 5), done.stderr
    path.write_text("int main() { return absent; }\n")
    done = subprocess.run([*command[:4], path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"{path}:1:21: error" in done.stderr
