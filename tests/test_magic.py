"""%load_ext warpkit: CUDA in the cells of a notebook."""

import os
import shutil
from importlib.util import find_spec

import helpers
import numpy as np
import pytest
import warpkit

pytestmark = [
    pytest.mark.skipif(find_spec("IPython") is None, reason="there is no IPython"),
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.unsanitized,
    # of IPython's own
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

KERNELS = """\
__device__ int n = 3;
namespace space { __global__ void set(int *x) { x[threadIdx.x] = n; } }
__global__ void order(int *x) { x[1 + atomicAdd(x, 1)] = threadIdx.x; }
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        config = Config({"HistoryManager": {"enabled": False}, "colors": "nocolor"})
        ip = InteractiveShell(config=config)
        ip.run_line_magic("load_ext", "warpkit")
        ip.push({"np": np})
        yield ip
        ip.run_line_magic("unload_ext", "warpkit")


@pytest.fixture
def cell(shell, capsys):
    """Runs a cell: what it prints, and its error."""

    def run(text, store=True):
        result = shell.run_cell(text, store_history=store)
        captured = capsys.readouterr()
        return captured.out + captured.err, result.error_in_exec or result.error_before_exec

    return run


def test_kernels_and_variables_get_their_names(cell, shell):
    told, error = cell(f"%%cuda --time --name mine\n{KERNELS}")
    assert error is None
    assert told.startswith("compiled in ")
    assert isinstance(shell.user_ns["mine"], warpkit.Module)
    assert "_cuda_module" not in shell.user_ns
    told, error = cell("x = np.zeros(2, np.int32); n[...] = 5; set[1, 2](x); print(x)")
    assert (told, error) == ("[5 5]\n", None)


def test_a_schedule_lasts_until_another_one(cell):
    cell(f"%%cuda --schedule reverse\n{KERNELS}")
    launch = "x = np.zeros(5, np.int32); order[1, 4](x); print(x[1:])"
    assert cell(launch)[0] == "[3 2 1 0]\n"
    cell("%cuda --schedule linear")
    assert cell(launch)[0] == "[0 1 2 3]\n"
    cell("%cuda --schedule weak")
    cell("%cuda --schedule linear")
    assert os.environ.get("WARPKIT_EMU_MEMORY", "strong") == "strong"
    told, _ = cell("%cuda --schedule sideways")
    assert told.strip().endswith("seed-1 (any number) or weak, not sideways")


def test_a_program_is_run(cell):
    program = """
        #include <cstdlib>
        __global__ void k() { printf("from a kernel of %d, N %d\\n", blockDim.x, N); }
        int main() { puts(getenv("WARPKIT_EMU_SEED")); k<<<1, 1>>>(); return RESULT; }"""
    told, error = cell(
        f"%%cuda --time --schedule seed-7 --option=-DN=4 --option=-DRESULT=0\n{program}"
    )
    assert error is None
    assert told.splitlines()[0].startswith("compiled in ")
    assert told.splitlines()[1:] == ["7", "from a kernel of 1, N 4"]
    assert "WARPKIT_EMU_SEED" not in os.environ or os.environ["WARPKIT_EMU_SEED"] != "7"
    told, error = cell(f"%%cuda --schedule seed-7 --option=-DN=4 --option=-DRESULT=3\n{program}")
    assert "the program's exit status is 3" in told
    assert type(error).__name__ == "UsageError"


def test_an_error_of_the_compiler_names_the_cells_line(cell):
    told, error = cell("%%cuda\n__global__ void k()\n{\n    nonsense;\n}")
    assert type(error).__name__ == "CompileError"
    assert told.startswith("CompileError: ")
    assert "source.cu:4:5: error: " in told
    assert len(told.splitlines()) < 8


def test_an_error_of_a_kernel_is_told_with_the_cells_lines_alone(cell):
    cell(f"%%cuda\n{KERNELS}")
    told, error = cell("def f():\n    set[1, 64](np.zeros(8, np.int32))\n\nf()")
    assert type(error) is warpkit.DeviceError
    lines = told.splitlines()
    assert lines[1::2][:2] == ["    f()", "    set[1, 64](np.zeros(8, np.int32))"]
    assert lines[4].startswith("DeviceError: kernel space::set writes past the end")
    assert len(lines) == 5
    assert "Traceback" in cell("1 / 0")[0]  # others are as ever


def test_it_can_be_unloaded(shell, cell):
    shell.run_line_magic("unload_ext", "warpkit")
    assert "not found" in cell(f"%%cuda\n{KERNELS}")[0]
    assert not hasattr(warpkit.DeviceError, "_render_traceback_")
    shell.run_line_magic("load_ext", "warpkit")
    assert cell(f"%%cuda\n{KERNELS}")[1] is None


def test_a_launch_of_traced_kernels_shows_what_it_cost(cell):
    told, error = cell(f"%%cuda --trace\n{KERNELS}")
    assert error is None
    told, error = cell("x = np.zeros(65, np.int32)\norder[1, 64](x)\nprint(x[0])")
    assert error is None
    assert "<trace of order: 4 requests, " in told
    assert "64" in told.splitlines()
    program = "__global__ void k(int *x) { x[threadIdx.x * 8] = 1; }\nint main()\n{\n    int *x;\n"
    program += "    cudaMalloc(&x, 1024);\n    k<<<1, 32>>>(x);\n    return 0;\n}\n"
    told, error = cell(f"%%cuda --trace\n{program}")
    assert error is None
    assert "line 2: Uncoalesced global access: 32 sectors a request where 4 would do" in told
