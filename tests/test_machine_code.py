"""Users' kernels as a GPU's machine code, which no GPU is needed to make and to read."""

import ctypes
import shutil
import subprocess

import helpers
import pytest
import warpkit
from warpkit import _compiler, _cubin, _kernels, _nvidia, _syntax

pytestmark = pytest.mark.unsanitized  # nvcc does not run with AddressSanitizer before it
COMPILERS = [tool.kind for tool in (_nvidia.find_nvrtc(), _nvidia.find_nvcc()) if tool]
CAPABILITY = 90
USERS = helpers.KERNELS / "users.cu"
HOST = "int main() { return 0; }\n"  # which NVRTC does not take


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPKIT_KERNELS", str(tmp_path))


@pytest.fixture(params=COMPILERS or [pytest.param("", marks=pytest.mark.skip("no compiler"))])
def compiler(request, monkeypatch):
    monkeypatch.setenv("WARPKIT_CUDA_COMPILER", request.param)
    return request.param


def compiled(given, options=(), more=""):
    source = _compiler.Source(given, (), emulated=False)
    path = _nvidia.build_cubin(source, options, CAPABILITY, more)
    return source, _cubin.Cubin(path.read_bytes())


def signature(kernel):
    types = (_kernels._Type * (len(kernel.types) // _cubin.FACTS)).from_buffer_copy(kernel.types)
    names = kernel.parameters.split(",")
    return [str(_kernels._Parameter(t, n)) for t, n in zip(types, names, strict=True)]


@pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested")
@pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)
def test_it_has_the_kernels_and_variables_that_the_emulated_device_finds(compiler):
    instance = _syntax.Entry("warpkit_i_0", "filled<float, 3>", "x,plus")
    line = f"{_syntax.TABLE} {instance.made} = warpkit::table_of(&{instance.name});"
    source, cubin = compiled(USERS, more=line)
    found = list(cubin.found([*source.entries, instance]))
    emulated = warpkit.compile(USERS, "emu", options=["-DTOLD"])  # a module of this test's own
    _ = emulated[instance.name]
    kernels = {one.name: one for one in found if isinstance(one, _cubin.Kernel)}
    assert set(kernels) == set(emulated.kernels)
    for name, kernel in kernels.items():
        assert cubin.named[kernel.symbol]
        assert name.rpartition("::")[2].partition("<")[0] in kernel.symbol
        assert signature(kernel) == [str(p) for p in emulated[name]._parameters], name
        assert len(kernel.defaults) == emulated[name]._default_count
    (factor,) = kernels["scaled"].defaults
    assert ctypes.c_float.from_buffer_copy(factor).value == 2.5
    variables = {one.name: one for one in found if isinstance(one, _cubin.Variable)}
    assert set(variables) == set(emulated.variables)
    for name, variable in variables.items():
        assert cubin.named[variable.symbol]
        entry = emulated._library.variables[name]
        assert variable.shape == tuple(entry.shape[: entry.ndim])
        assert variable.type == bytes(entry.type)


def test_default_arguments_of_every_type_are_found(compiler):
    source, cubin = compiled(
        "struct two { int a; double b; };\n"
        "__global__ void k(int n, char c = 'x', const float *p = nullptr, two t = {1, 2.5},\n"
        "                  unsigned long long w = 1ull << 40) {}\n"
    )
    (kernel,) = cubin.found(source.entries)
    assert kernel.defaults[0] == b"x"
    assert kernel.defaults[1] == bytes(8)
    assert kernel.defaults[2][:4] == b"\1\0\0\0"
    assert int.from_bytes(kernel.defaults[3], "little") == 1 << 40


def test_a_managed_variable_is_found_by_its_name(compiler):
    source, cubin = compiled(
        "__managed__ float flat[2][3];\nnamespace a { __managed__ int deep; }\n"
        "__global__ void k() { flat[1][0] = a::deep; }\n"
    )
    flat, deep, _ = cubin.found(source.entries)
    assert (flat.symbol, flat.shape) == ("flat", (2, 3))
    assert deep.symbol in cubin.named
    assert deep.symbol.endswith("4deepE")


def test_branches_that_are_not_taken_are_not_found(compiler):
    text = (
        "#ifdef WIDE\n__global__ void a(double *x) {}\n#else\n__global__ void b(int x) {}\n#endif\n"
    )
    for option, name in (((), "b"), (("-DWIDE",), "a")):
        source, cubin = compiled(text, option)
        assert [kernel.name for kernel in cubin.found(source.entries)] == [name]


def test_a_file_says_whether_its_kernels_print(compiler):
    for body, waits in (('printf("n")', True), ("assert(n)", True), ("n++", False)):
        _, cubin = compiled(f"#include <cassert>\n__global__ void k(int n) {{ {body}; }}\n")
        assert cubin.waits == waits


def test_messages_name_the_users_lines(compiler, tmp_path):
    with pytest.raises(warpkit.CompileError, match=r"source.cu\(3\): error: identifier \"absent\""):
        compiled("\n__global__ void k(int *x) {\n  x[0] = absent; }\n")
    (tmp_path / "lib.cuh").write_text("\n__device__ int f() { return gone; }\n")
    path = tmp_path / "own.cu"
    path.write_text('#include "lib.cuh"\n__global__ void k(int *x) { x[0] = f(); }\n')
    with pytest.raises(warpkit.CompileError, match=r"lib.cuh\(2\): error: identifier \"gone\""):
        compiled(path)


def test_headers_and_options_are_part_of_what_is_found_again(compiler, tmp_path):
    text = "#include <cstdint>\n__global__ void k(int32_t *x) { x[0] = N; }\n"
    for n in (1, 2, 1):
        compiled(text, [f"-DN={n}"])
    assert len(list(tmp_path.glob("*.cubin"))) == 2
    assert not list(tmp_path.glob("build-*"))


@pytest.mark.skipif(len(COMPILERS) < 2, reason="there are not both NVRTC and nvcc")
def test_nvcc_takes_what_nvrtc_does_not(monkeypatch):
    monkeypatch.setenv("WARPKIT_CUDA_COMPILER", "nvrtc")
    text = HOST + "__global__ void k() {}\n"
    with pytest.raises(warpkit.CompileError, match="host functions are not allowed"):
        compiled(text)
    monkeypatch.delenv("WARPKIT_CUDA_COMPILER")
    source, cubin = compiled(text)
    assert [kernel.symbol for kernel in cubin.found(source.entries)] == ["_Z1kv"]


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_nvidia, "_toolkits", lambda: iter(()))
    with pytest.raises(warpkit.CompileError, match=r"pip install 'warpkit\[kernels\]'"):
        compiled("__global__ void k() {}\n")
    monkeypatch.setenv("WARPKIT_CUDA_COMPILER", "clang")
    with pytest.raises(ValueError, match="takes nvcc or nvrtc, not 'clang'"):
        compiled("__global__ void k() {}\n")


def test_only_what_finds_the_kernels_is_added_to_a_source():
    text = (
        "namespace a {\n__global__ void k(const int *x, int n = 4) { x; }\n}\n"
        'extern "C" __global__ void c() { f<<<1, 2>>>(); extern __shared__ int s[]; }\n'
        "template <typename T> __global__ void t(T *x) {}\n__constant__ float v[2], w;\n"
    )
    new, templates, entries = _syntax.tabled(text, "m")
    assert [e[1:] for e in entries] == [
        ("a::k", "x,n", 1),
        ("c", "", 0),
        ("v", None, 0),
        ("w", None, 0),
    ]
    assert [t.name for t in templates] == ["t"]
    for line, own in zip(new.splitlines(), text.splitlines(), strict=True):
        assert line.startswith(own)


@pytest.mark.skipif("cuda:0" in warpkit.devices(), reason="there is a GPU")
def test_without_a_gpu_it_says_so():
    with pytest.raises(warpkit.DeviceError, match="no device 'cuda'"):
        warpkit.compile("__global__ void k() {}\n", "cuda")
    with pytest.raises(warpkit.DeviceError, match="no device 'cuda'"):
        warpkit.run(HOST, device="cuda")


@pytest.mark.skipif("nvcc" not in COMPILERS, reason="there is no nvcc")
def test_a_program_is_built_by_nvcc(tmp_path, monkeypatch):
    source = _compiler.Source(HOST.replace("0", "N"), (), emulated=False)
    program = _nvidia.build_program(source, ["-DN=5"], CAPABILITY)
    assert subprocess.run([program], check=False).returncode == 5
    assert _nvidia.build_program(source, ["-DN=5"], CAPABILITY) == program
    path = tmp_path / "own.cu"
    path.write_text('#include "lib.cuh"\nint main() { return absent; }\n')
    (tmp_path / "lib.cuh").write_text("")
    source = _compiler.Source(path, (), emulated=False)
    with pytest.raises(warpkit.CompileError, match=r"own.cu\(2\): error: identifier \"absent\""):
        _nvidia.build_program(source, (), CAPABILITY)
    monkeypatch.setattr(_nvidia, "_toolkits", lambda: iter(()))
    with pytest.raises(warpkit.CompileError, match="compiled by nvcc, which is not here"):
        _nvidia.build_program(source, (), CAPABILITY)
