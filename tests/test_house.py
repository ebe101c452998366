"""The rules of the house that a grep can check: fences, the table, docstrings, stubs."""

import ast
import collections
import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import helpers
import pytest
import warpkit
from warpkit import _core, _keyed, _ops, _reduce, reference

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = ("reduce", "transpose", "stencil1d", "histogram", "bincount", "warp_histogram")
FOLDERS = ("csrc", "cuda", "python", "tests", "tools", "bench", "examples", ".ci")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def sources(*folders):
    """The C and CUDA sources, without their comments, by their place in the tree."""
    found = sorted(p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file())
    texts = (".c", ".cc", ".h", ".cu", ".cuh", ".def")
    return {
        p.relative_to(ROOT).as_posix(): without_comments(p.read_text())
        for p in found
        if p.suffix in texts
    }


def having(pattern, texts):
    return [name for name, text in texts.items() if re.search(pattern, text)]


ALL = sources("csrc", "cuda")
CUDA = {name: text for name, text in sources("cuda").items() if not name.startswith("cuda/emu/")}


# ---- fences ------------------------------------------------------------------------------------


def test_python_and_numpy_headers_stay_in_their_folder():
    users = having(r"#\s*include\s*[<\"](Python|structmember|numpy/\w+)\.h[>\"]", ALL)
    assert users
    assert [name for name in users if not name.startswith("csrc/python/")] == []
    beyond = {name: text for name, text in ALL.items() if not name.startswith("csrc/python/")}
    assert having(r"\bPy(Object|Err_|_|Array_)", beyond) == []


def test_one_header_includes_cuda_runtime():
    users = having(r"#\s*include\s*[<\"]cuda(_runtime|_runtime_api)?\.h[>\"]", ALL)
    assert len(users) == bool(CUDA)
    assert all(name.startswith("cuda/") for name in users)


def test_no_source_asks_whether_it_is_emulated():
    """But the header that takes CUDA's names, which may be given the emulator's macro."""
    assert having(r"#\s*(if|ifdef|ifndef|elif)\b", CUDA) == ["cuda/runtime/cuda.cuh"]


def test_kernels_are_launched_and_memory_is_allocated_in_one_place():
    assert having(r"<<<", CUDA) == []
    beyond = {name: text for name, text in CUDA.items() if not name.startswith("cuda/runtime/")}
    assert having(r"\bcuda(Malloc|Free|LaunchKernel)", beyond) == []


def test_kernels_need_no_implicit_warp_synchrony():
    assert having(r"__activemask", CUDA) == []
    assert having(r"\b__(shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)\s*\(", CUDA) == []
    named = r"\basm\s+volatile\b|\"(ld|st)\.volatile\."  # instructions, and ours to keep one
    plain = {name: re.sub(named, "", text) for name, text in CUDA.items()}
    assert having(r"\bvolatile\b", plain) == []
    beyond = {name: text for name, text in CUDA.items() if not name.startswith("cuda/prim/")}
    assert having(r"\b(asm|WK_PTX)\b", beyond) == ["cuda/runtime/cuda.cuh"]  # which names it


def test_faults_are_planted_where_their_texts_are():
    faults = runpy.run_path(str(ROOT / "tools" / "planted.py"))["PLANTED"]
    assert faults
    assert [(name, x) for name, x, _ in faults if (ROOT / name).read_text().count(x) != 1] == []


def test_what_fails_of_other_projects_tests_has_a_reason():
    page = (ROOT / "docs" / "peer_tests.md").read_text()
    tool = runpy.run_path(str(ROOT / "tools" / "peer_tests.py"))
    assert [
        heading for heading, _ in tool["SUITES"].values() if f"## {heading}\n" not in page
    ] == []
    assert len(tool["COUNTS"].findall(page)) == len(tool["SUITES"])
    assert [row["test"] for row in tool["ROW"].finditer(page) if len(row["why"]) < 20] == []
    assert tool["UNEXPLAINED"] not in page


def test_no_source_names_a_place_on_somebodys_machine():
    found = []
    files = [p for p in ROOT.iterdir() if p.is_file() and p.name != ".git"]  # of a worktree
    files += (p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.is_file())
    for path in files:
        if path.suffix in (".so", ".pyc", ".png", ".o") or "egg-info" in str(path):
            continue
        if re.search(r"(?<![\w.])/(work|root|home|Users)/", path.read_text(errors="ignore")):
            found.append(path.relative_to(ROOT).as_posix())
    assert found == []


def test_there_is_one_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.M)[1] == warpkit.__version__
    newest = re.search(
        r"\b\d+\.\d+\.\d+\b", (ROOT / "CHANGELOG.md").read_text().partition("\n## ")[2]
    )
    assert newest[0] == warpkit.__version__


def test_files_that_the_pages_name_are_there():
    names = [p.as_posix() for p in ROOT.rglob("*") if not {"build", ".venv"} & set(p.parts)]
    missing = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        pattern = r"`((?:[\w.-]+/)*[\w-]+\.(?:cuh?|cc|c|h|def))`"
        for name in re.findall(pattern, page.read_text()):
            if not any(known.endswith(f"/{name}") for known in names):
                missing.append((page.name, name))
    assert missing == []


# ---- the table ---------------------------------------------------------------------------------

ROWS = warpkit.variants()


def test_parts_of_a_suite_are_all_of_it():
    leave_out = runpy.run_path(str(ROOT / "tests" / "conftest.py"))["leave_out"]
    names = [f"many[{i}]" for i in range(100)] + [f"few[{i}]" for i in range(2)]
    parts = []
    for k in range(7, 11):
        items = [SimpleNamespace(nodeid=name) for name in names]
        left_out = []
        hook = SimpleNamespace(pytest_deselected=lambda items, to=left_out: to.extend(items))
        leave_out((k, 4), SimpleNamespace(hook=hook), items)
        assert len(items) + len(left_out) == len(names)
        parts.append([item.nodeid for item in items])
    assert all(set(names[100:]) <= set(part) for part in parts)
    assert sorted(n for part in parts for n in part if "many" in n) == sorted(names[:100])


def test_the_table_in_the_sources_is_the_table_in_use():
    text = without_comments((ROOT / "csrc" / "kernels.def").read_text())
    written = re.findall(r"ROW\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,", text)
    assert written == [(row.op, row.device, row.name) for row in ROWS]


def test_one_row_of_each_operation_and_backend_is_for_production():
    production = collections.Counter((r.op, r.device) for r in ROWS if r.production)
    assert production == dict.fromkeys({(r.op, r.device) for r in ROWS}, 1)


def test_a_new_row_compiles_few_files():
    """Those that read the table are compiled again whenever it changes."""
    users = having(r"#\s*include\s*\"kernels\.def\"", ALL)
    wanted = {"csrc/registry.c", "csrc/cpu/dispatch.c", *["cuda/runtime/plugin.cu"][: bool(CUDA)]}
    assert set(users) == wanted


def test_no_two_rows_share_a_name():
    assert len({row[:3] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.op}-{r.device}-{r.name}")
def test_a_row_has_its_launcher_in_one_file_and_says_what_it_teaches(row):
    assert len(row.teaches) > 20
    if row.device == "cuda" and not CUDA:
        pytest.skip("no CUDA sources")
    definition = {
        "cpu": rf"^WK_CPU_LAUNCHER\({row.op}, {row.name}\)\n\{{",
        "cuda": rf"^WK_LAUNCHER\({row.op}, cuda, {row.name}\)\n\{{",
    }[row.device]
    files = [n for n, text in ALL.items() if re.search(definition, text, re.MULTILINE)]
    assert len(files) == 1
    assert files[0].startswith({"cpu": "csrc/cpu/", "cuda": "cuda/"}[row.device])


# ---- Python ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", warpkit.__all__)
def test_whatever_is_public_has_a_docstring(name):
    assert inspect.getdoc(getattr(warpkit, name))


@pytest.mark.parametrize("module", [warpkit, reference], ids=lambda m: m.__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_docstring_of_an_operation_names_what_it_takes_and_gives(module, name):
    function = getattr(module, name)
    text = inspect.getdoc(function)
    wanted = ["Parameters", "Returns", "See Also"]
    wanted += ["Raises", "Examples"] * (module is warpkit)
    for word in wanted:
        assert f"\n{word}\n{'-' * len(word)}\n" in text, f"{name} has no section {word}"
    if module is warpkit:
        own = set(inspect.signature(function).parameters) - {"device", "variant"}
        assert [p for p in own if not re.search(rf"\b{p}\b", text)] == []


def test_what_can_fail_by_its_device_says_so():
    for name in ("set_default_device", "memory_info", "release_memory"):
        assert "DeviceError" in inspect.getdoc(getattr(warpkit, name))


def test_the_stub_lists_what_core_has():
    tree = ast.parse((Path(_core.__file__).parent / "_core.pyi").read_text())
    definitions = (ast.FunctionDef, ast.ClassDef)
    listed = {node.name for node in tree.body if isinstance(node, definitions)}
    listed |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert listed == {name for name in dir(_core) if not name.startswith("__")}


def stubs():
    """Of each function of __init__.pyi the names of its overloads' parameters, and what it
    defines or imports."""
    tree = ast.parse((Path(warpkit.__file__).parent / "__init__.pyi").read_text())
    keys, functions, names = {}, {}, set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
            bases = (ast.unparse(base).partition("[")[0] for base in node.bases)
            keys[node.name] = own.union(*(keys.get(base, ()) for base in bases))
        elif isinstance(node, ast.FunctionDef):
            a, own = node.args, functions.setdefault(node.name, set())
            own.update(x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs))
            if a.kwarg:
                own.update(keys[ast.unparse(a.kwarg.annotation.slice).partition("[")[0]])
        elif isinstance(node, ast.ImportFrom):
            names.update(name.asname for name in node.names)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            functions[node.targets[0].id] = functions.get(node.value.id)
    return functions, names


def test_types_are_those_of_the_public_functions():
    functions, names = stubs()
    assert set(warpkit.__all__) <= {*functions, *names}
    assert {"reduce", "vdot", "cumsum"} <= set(functions)
    for name in sorted(set(warpkit.__all__) & set(functions)):
        assert functions[name] == set(inspect.signature(getattr(warpkit, name)).parameters), name


def test_types_name_what_there_is():
    with pytest.raises(ValueError, match="there are: ") as caught:
        warpkit.reduce([1], "")
    known = re.findall(r"'(\w+)'", str(caught.value).split("there are: ")[1])
    assert list(get_args(_reduce.Op)) == known
    for op in get_args(_keyed.SegmentOp):
        warpkit.segment_reduce([1.0], [0, 1], op, device="cpu")
    for mode in get_args(_ops.Mode):
        warpkit.stencil1d([1.0], [1.0], mode=mode, device="cpu")
    assert set(helpers.MODES) <= set(get_args(_ops.Mode))


def test_signatures_begin_and_end_alike():
    """What is taken by position is NumPy's; what is ours comes last, by keyword."""
    for name in (*OPERATIONS, "dot", "vdot", "cumsum", "nancumsum"):
        parameters = list(inspect.signature(getattr(warpkit, name)).parameters.values())
        assert parameters[0].kind is inspect.Parameter.POSITIONAL_ONLY
        last = {p.name: p for p in parameters[-4:]}
        assert list(last) == ["device", "stream", "variant", "progress"]
        assert {p.kind for p in last.values()} == {inspect.Parameter.KEYWORD_ONLY}
        assert [p.default for p in last.values()] == [None, None, None, False]
        assert any(p.name == "out" and p.default is None for p in parameters)
