"""Builds warpkit's shared objects: .c by the C compiler, .cu by nvcc where there is one.

_core  the Python extension: glue, registry, CPU backend; each file of csrc/cpu/kernels is
       compiled once per instruction set
_cuda  a plug-in without Python, which _core loads on the first use of a GPU
_emu   the same .cu files by the C++ compiler, over cuda/emu: the emulated GPU

WARPKIT_CUDA        0 (CPU only), 1 (required) or auto (the default: if nvcc is found)
WARPKIT_CUDA_ARCHS  such as "80 90"; default: this machine's GPU, else the set DEFAULT_ARCHS
WARPKIT_LINEINFO    1: kernels know their source lines, for profilers; it doubles their size
WARPKIT_EMU         0 (none), 1 (the default) or debug: unoptimised, for stepping through kernels
WARPKIT_NATIVE      1: kernels of the CPU for the instruction set of this one alone, not for all
WARPKIT_SANITIZE    1: _core and _emu report bad accesses and undefined behaviour (make sanitize);
                    thread: _core reports data races (make attack), without the emulated device,
                    whose fibers ThreadSanitizer does not follow; races: the emulated device looks
                    for races in its kernels (make races)
WARPKIT_JOBS        compilers at once; default: the processors
WARPKIT_CACHE       a folder that keeps the objects; default: build/objects here
CC, CFLAGS, CXX, CXXFLAGS, CUDA_HOME, NVCCFLAGS as usual

Objects are kept under a hash of everything that went into them, and of no place: trees may share a
cache. Where nothing can be written beside this file, everything is made in a temporary folder.
"""

import atexit
import concurrent.futures
import contextlib
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, PlatformError

ROOT = Path(__file__).resolve().parent
DEFAULT_ARCHS = ["80", "89", "90"]  # A100, RTX 40, H100; PTX of the last serves newer chips
# What the core and the plug-ins both hold.
SHARED = [
    ROOT / "csrc" / name
    for name in (
        "boxes.c",
        "contract.c",
        "cut.c",
        "pieces.c",
        "plan.c",
        "reduce.c",
        "settings.c",
        "reduce_grid.c",
        "tiles.c",
        "walk.c",
    )
]
# Folders that nvcc compiles as one file each: what all include takes longer than what they say. CPU
# seconds of those of TOGETHER, file by file and so: 108, 38.
LADDERS = ("ladder", "smem")
TOGETHER = ("pipeline", "runtime", "stencil/production", "unique", "warp/production")
X86 = platform.machine() in ("x86_64", "AMD64")
# gcc's doubts about what is set, where it optimises little; clang knows no such warning.
DOUBTS = ["-Wno-maybe-uninitialized", "-Wno-unknown-warning-option"]
UNNAMED = "--build-id=none"  # for the linker: what is stripped is the same wherever it was built
ISAS = {"base": []}
if X86:
    ISAS["avx2"] = ["-mavx2", "-mfma", "-mf16c"]
    ISAS["avx512"] = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c"]
# Where loops are loads and a comparison, 64 bytes from anywhere are two lines of a cache, and short
# runs less than a vector. us by these and by 32: maxima of 120,000 int32 5.8 4.5, of 160,000 uint8
# in rows 6.0 3.5, of 30,000 rows of 8 float16 326 55. Sums of integers take up to twice as long so.
NARROW = {"extreme.c": ["-mprefer-vector-width=256"]}


def words(command):
    """As the compiler is called, in ROOT: what lies there by its relative path, so that neither the
    hash nor what is compiled depends on the place."""
    return [
        str(c.relative_to(ROOT) if isinstance(c, Path) and c.is_relative_to(ROOT) else c)
        for c in command
    ]


def run(command, what):
    command = words(command)
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        raise CompileError(f"{what} failed:\n{shlex.join(command)}\n{result.stderr}")
    if result.stderr.strip():
        print(result.stderr.strip())
    return result.stdout


def compiler(variable, otherwise, language):
    command = shlex.split(os.environ.get(variable, "") or otherwise)
    if shutil.which(command[0]) is None:
        raise PlatformError(
            f"warpkit needs a {language} compiler, and '{command[0]}' was not found. Install one "
            f"(Debian, Ubuntu: apt install build-essential) or name it in {variable}."
            + (" WARPKIT_EMU=0 does without the emulated device." if variable == "CXX" else "")
        )
    return command


def setting(name, *values):
    """An environment variable that takes one of a few values, the first by default."""
    value = os.environ.get(name, "") or values[0]
    if value not in values:
        raise PlatformError(f"{name} must be one of {', '.join(values)}, not {value!r}")
    return value


# What of UBSan's a kernel is checked for: the others, of pointers above all, take as long to
# compile as all else, and AddressSanitizer sees what such a pointer reads.
KERNEL_CHECKS = "alignment,bounds,integer-divide-by-zero,shift,signed-integer-overflow"


def sanitizers(checks="undefined"):
    wanted = setting("WARPKIT_SANITIZE", "0", "1", "thread", "races")
    if wanted in ("0", "races"):
        return []
    if wanted == "thread":
        return ["-fsanitize=thread", "-O1"]
    # Each check is compiled with what is around it: at -O1 that takes three times as long. In the
    # largest functions they are calls, which take a third less to compile.
    calls = ["--param", "asan-instrumentation-with-call-threshold=300"]
    return [f"-fsanitize=address,{checks}", "-fno-sanitize-recover=all", "-Og", *calls]


@functools.cache
def build_folder():
    """What is made on the way: build, or a temporary folder where the tree cannot be written."""
    places = [ROOT, ROOT / "python", ROOT / "build"]
    if all(os.access(p, os.W_OK) for p in places if p.exists()):
        return ROOT / "build"
    folder = tempfile.mkdtemp(prefix="warpkit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def cache():
    return Path(os.environ.get("WARPKIT_CACHE") or build_folder() / "objects").resolve()


def sources(folder, *endings):
    """The files of a folder with these endings; an archive that lacks them must not build."""
    found = sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in endings)
    if not found:
        raise PlatformError(
            f"{ROOT / folder} has no {' or '.join(endings)} files: these are not all of warpkit's "
            "sources. The source distribution has them, and so has the repository."
        )
    return found


def python_headers():
    """Options for the files of csrc/python, and what they stand for: pip has NumPy's headers in
    another place each time."""
    import numpy

    folder = Path(sysconfig.get_path("include"))
    if not (folder / "Python.h").exists():
        raise PlatformError(
            f"warpkit needs Python's headers, and {folder} has no Python.h. "
            "Install them (Debian, Ubuntu: apt install python3-dev)."
        )
    headers = ["-I", folder, "-I", numpy.get_include()]
    return headers, f"Python {sys.version}, NumPy {numpy.__version__}"


def find_nvcc():
    """The path of nvcc, or None with the reason printed; WARPKIT_CUDA=1 makes that an error."""
    wanted = setting("WARPKIT_CUDA", "auto", "0", "1")
    if wanted == "0":
        print("warpkit: CPU only, as WARPKIT_CUDA=0 asks")
        return None
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    found = [Path(h) / "bin" / "nvcc" for h in homes if h]
    found += [Path(p) for p in [shutil.which("nvcc")] if p]
    found += [Path("/usr/local/cuda/bin/nvcc")]
    for nvcc in found:
        if nvcc.exists():
            return nvcc
    if wanted == "1":
        raise PlatformError(
            "WARPKIT_CUDA=1, and nvcc was not found in CUDA_HOME, PATH or /usr/local/cuda"
        )
    print("warpkit: CPU only; nvcc was not found in CUDA_HOME, PATH or /usr/local/cuda")
    return None


def cuda_archs():
    """Compute capabilities such as "90" to compile for."""
    given = re.split(r"[\s,;]+", os.environ.get("WARPKIT_CUDA_ARCHS", "").strip())
    if given != [""]:
        if not all(re.fullmatch(r"\d{2,3}[af]?", arch) for arch in given):
            raise PlatformError(f"WARPKIT_CUDA_ARCHS must read like '80 90', not {given}")
        return given
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    own = sorted({cap.replace(".", "") for cap in re.findall(r"^\d+\.\d$", text, re.MULTILINE)})
    return own or DEFAULT_ARCHS


@functools.cache
def includes(path, folders):
    """What the file itself includes, found beside it or in folders; a macro may be its name."""
    pattern = r'^\s*#\s*(?:include|define\s+\w+)\s+["<]([^">]+)[">]'
    found = []
    for name in re.findall(pattern, path.read_text("utf-8"), re.MULTILINE):
        places = (folder / name for folder in (path.parent, *folders))
        found += [next((p.resolve() for p in places if p.exists()), None)]
    return [p for p in found if p]


def included(path, folders, seen):
    """The file and all headers that it includes."""
    if path not in seen:
        seen.add(path)
        for header in includes(path, folders):
            included(header, folders, seen)


def files_of(source):
    """A file, or those of a folder."""
    return sorted(source.glob("*.cu")) if source.is_dir() else [source]


def unit(source):
    """What nvcc compiles at once: a file, or all of its folder."""
    folder = source.parent
    name = folder.relative_to(ROOT / "cuda").as_posix()
    return folder if folder.name in LADDERS or name in TOGETHER else source


def together(folder):
    """A folder as one file. The rungs of a ladder have the same names: each has a namespace."""
    files = files_of(folder)
    includes = [f'#include "{f.relative_to(ROOT / "cuda").as_posix()}"' for f in files]
    if folder.name not in LADDERS:
        return "\n".join([*includes, ""])
    pattern = re.compile(r"^#include .*", re.MULTILINE)
    lines = dict.fromkeys(line for f in files for line in pattern.findall(f.read_text("utf-8")))
    rungs = [
        f"namespace rung_{f.stem}\n{{\n{line}\n}}" for f, line in zip(files, includes, strict=True)
    ]
    return "\n".join([*lines, *rungs, ""])


class Job:
    """One compilation, of a file or a folder; its object lies under the hash of its inputs. The
    version tells what the compiler is, and what the headers are."""

    def __init__(self, command, source, version, headers=()):
        self.command, self.source = [*command, *headers], source
        files, behind = set(), (p for p in command if isinstance(p, Path))  # an -I
        folders = tuple(p for p in behind if ROOT in p.parents)
        for file in files_of(source):
            included(file, folders, files)
        text = [version, *words(command), *([together(source)] if source.is_dir() else [])]
        for path in sorted(files):
            text += [str(path.relative_to(ROOT)), path.read_text("utf-8")]
        self.weight = sum(map(len, text))  # roughly, how long it takes
        digest = hashlib.sha256("\0".join(text).encode()).hexdigest()[:32]
        self.object = cache() / f"{source.stem}-{digest}.o"

    def file(self):
        """What the compiler is given. Its name is in the object, so that it tells no process."""
        if not self.source.is_dir():
            return self.source
        path = self.object.with_suffix(".cu")
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(together(self.source), "utf-8")
        return part.rename(path)

    def compile(self):
        if self.object.exists():
            return False
        part = self.object.with_suffix(f".{os.getpid()}.part.o")
        run([*self.command, "-c", self.file(), "-o", part], f"compiling {self.source.name}")
        part.rename(self.object)
        return True


@contextlib.contextmanager
def watched_by():
    """A function that shows how far the compilers are to who waits: pip keeps what is printed."""
    with contextlib.ExitStack() as stack:
        try:
            path = os.environ.get("WARPKIT_PROGRESS") or os.devnull
            stream = stack.enter_context(open(path, "a"))
        except OSError:
            stream = stack.enter_context(open(os.devnull, "w"))

        def show(done, of, text):
            last, line = done == of, f"[{done}/{of}] {text}"
            if stream.isatty():
                stream.write(f"\r\033[K{line}" + "\n" * last)
            elif last or done % 20 == 1:
                stream.write(line + "\n")
            stream.flush()

        yield show


def compile_all(jobs, what):
    cache().mkdir(parents=True, exist_ok=True)
    workers = int(os.environ.get("WARPKIT_JOBS", "0")) or os.cpu_count() or 1
    longest_first = sorted(jobs, key=lambda job: -job.weight)
    missing = [job for job in longest_first if not job.object.exists()]
    compiled = 0
    with watched_by() as show, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        tasks = {pool.submit(job.compile): job for job in missing}
        for done, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            compiled += task.result()
            source = tasks[task].source.relative_to(ROOT)
            show(done, len(tasks), f"{what}: {source}")
    print(f"warpkit: {compiled} of {len(jobs)} objects compiled, the others were there already")
    return [job.object for job in jobs]


def contract():
    """What the core and its plug-ins must agree on, as one word, for the two files that compare:
    the header, and the table's operations, devices and variants in their order."""
    header, table = ((ROOT / "csrc" / name).read_text() for name in ("warpkit.h", "kernels.def"))
    rows = re.findall(r"^ROW\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,", table, re.MULTILINE)
    return f'-DWK_CONTRACT="{hashlib.sha256(repr((header, rows)).encode()).hexdigest()[:32]}"'


def with_contract(source):
    asks = any(f.name in ("registry.c", "plugin.cu") for f in files_of(source))
    return [contract()] * asks


def c_as_cpp(source):
    return ["-x", "c++"] if source.suffix == ".c" else []


def linked(source):
    """Reductions share functions that are called once an output: one copy for all kernels. Those
    take no more registers than the kernel with the fewest: 1024 threads a multiprocessor, or 512
    where the functions are of its kernels alone."""
    if "reduce" not in source.relative_to(ROOT).parts:
        return []
    most = dict.fromkeys(("gather", "results", "scaled", "table"), 64) | {"integers": 128}
    own = most.get(source.stem)
    return ["-rdc=true"] + ([f"-maxrregcount={own}"] if own else [])


def named(source):
    """Names that nvcc makes up are the same each time, and wherever the tree lies: they hold a hash
    of the file's whole path."""
    path = source.relative_to(ROOT)
    return [f"-frandom-seed={path}", "-Xcudafe", f"--orig_src_path_name={path}"]


class BuildExt(build_ext):
    def run(self):
        # What an older build made, and this one does not, must not be installed or loaded.
        folder = ROOT / "python" if self.inplace else Path(self.build_lib)
        wanted = {Path(self.get_ext_fullpath(ext.name)).name for ext in self.extensions}
        for path in (folder / "warpkit").glob("*.so"):
            if path.name not in wanted:
                path.unlink()
        super().run()

    def build_extension(self, ext):
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another process may have the old file mapped: replace it, do not write into it.
        part = target.with_suffix(".part")
        getattr(self, "build" + ext.name.rpartition(".")[2])(part)
        part.rename(target)

    def get_ext_filename(self, name):
        if name.split(".")[-1] == "_core":
            return super().get_ext_filename(name)
        return os.path.join(*name.split(".")) + ".so"  # a plug-in belongs to no Python version

    def build_core(self, target):
        cc = compiler("CC", "cc", "C")
        version = run([*cc, "--version"], "asking the C compiler for its version")
        flags = ["-std=c11", "-g1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
        flags += ["-Werror=implicit-function-declaration"]  # else it is found when _core is loaded
        # Contraction is off because the same bits are promised: fma is written where it is meant.
        flags += ["-ffp-contract=off", "-fno-math-errno", "-I", ROOT / "csrc"]
        flags += ["-DWK_X86"] if X86 else []
        flags += sanitizers()
        flags += shlex.split(os.environ.get("CFLAGS", ""))
        isas = native_isa(cc) if setting("WARPKIT_NATIVE", "0", "1") == "1" else ISAS
        jobs = []
        headers, has = python_headers()
        for source in sources("csrc", ".c"):
            if source.parent.name == "kernels":
                for isa, options in isas.items():
                    # Half the time to compile, for what only processors before 2013 run.
                    quick = ["-O2", *DOUBTS] if isa == "base" and X86 else ["-O3"]
                    options = [*options, *(NARROW.get(source.name, []) if isa == "avx512" else [])]
                    command = [*cc, *quick, *flags, *options, f"-DWK_ISA={isa}"]
                    jobs.append(Job(command, source, version))
            elif source.parent.name == "python":
                jobs.append(Job([*cc, "-O3", *flags], source, version + has, headers))
            else:
                only = source.name == "dispatch.c" and isas is not ISAS
                own = [f"-DWK_ISA={isa}" for isa in isas if only] + with_contract(source)
                jobs.append(Job([*cc, "-O3", *flags, *own], source, version))
        libraries = ["-lm", "-lpthread", "-ldl"]
        extra = shlex.split(os.environ.get("LDFLAGS", ""))
        objects = compile_all(jobs, "the core, for the CPU")
        link = [*cc, "-shared", f"-Wl,{UNNAMED}", *sanitizers(), *objects, "-o", target]
        run([*link, *extra, *libraries], "linking _core")

    def build_cuda(self, target):
        nvcc = find_nvcc()
        link = [nvcc, "-shared", "-cudart=static", *generated_code(), *compressed(nvcc)]
        link += [*compile_all(cuda_jobs(), "the plug-in for GPUs"), "-o", target]
        link += ["-L", nvcc.parent.parent / "lib"]  # PyPI's CUDA has no lib64, where nvcc looks
        run([*link, f"-Xlinker=--exclude-libs,ALL,{UNNAMED}"], "linking _cuda")

    def build_emu(self, target):
        emu_link(emu_jobs(emu_sources()), target, "-shared")


def native_isa(cc):
    """Of ISAS the last that this processor has."""
    ask = [*cc, "-march=native", "-dM", "-E", "-x", "c", os.devnull]
    known = run(ask, "asking the C compiler for this processor") if X86 else ""
    has = {
        isa: options
        for isa, options in ISAS.items()
        if all(f"__{option[2:].upper()}__" in known for option in options)
    }
    return dict([has.popitem()])


def generated_code():
    """Options that say for which chips code is made."""
    archs = cuda_archs()
    options = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in archs]
    plain = [a for a in archs if a.isdigit()]
    return options + [f"-gencode=arch=compute_{a},code=compute_{a}" for a in plain[-1:]]


def compressed(nvcc):
    """Options that compress machine code, where nvcc has them: from 12.8 on."""
    if "--compress-mode" in os.environ.get("NVCCFLAGS", ""):
        return []
    known = "--compress-mode" in run([nvcc, "--help"], "asking nvcc for its options")
    return ["--compress-mode=size"] * known


def cuda_jobs():
    nvcc, archs = find_nvcc(), cuda_archs()
    version = run([nvcc, "--version"], "asking nvcc for its version")
    flags = ["-std=c++17", "-O3", "--threads=1", "-fmad=false", *compressed(nvcc)]
    flags += ["-lineinfo"] * (setting("WARPKIT_LINEINFO", "0", "1") == "1")
    flags += ["-I", ROOT / "csrc", "-I", ROOT / "cuda"]
    flags += ["-Xcompiler=-fPIC,-fvisibility=hidden", "-Wno-deprecated-gpu-targets"]
    flags += ["-Xcompiler=-Wall,-Wno-unknown-pragmas,-Wno-unused-function"]
    flags += generated_code()
    flags += [f'-DWK_CUDA_ARCHS="{" ".join("sm_" + a for a in archs)}"']
    flags += shlex.split(os.environ.get("NVCCFLAGS", ""))
    return [
        Job([nvcc, *flags, *with_contract(s), *linked(s), *c_as_cpp(s), *named(s)], s, version)
        for s in [*dict.fromkeys(map(unit, sources("cuda", ".cu"))), *SHARED]
    ]


def emu_compiler(source, *folders, options=()):
    """The command that compiles a file for the emulated device; folders are searched first."""
    command = [*compiler("CXX", "c++", "C++"), "-std=c++17", "-fPIC", "-fvisibility=hidden"]
    # The kernels' own pragmas, and helpers that a file does not use, are no mistakes.
    command += ["-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function", "-ffp-contract=off"]
    if setting("WARPKIT_EMU", "1", "0", "debug") == "debug":
        command += ["-O0", "-g"]
    elif source.suffix == ".cu":
        # Half of what -O2 takes to compile. The row suite takes as long, a large array a quarter
        # longer. Lines are for reports of errors.
        command += ["-Og", "-g1", *DOUBTS]
    else:
        command += ["-O2", "-g1"]
    command += sanitizers(KERNEL_CHECKS if source.suffix == ".cu" else "undefined")
    own = [ROOT / "cuda" / "emu" / "include", ROOT / "csrc", ROOT / "cuda"]
    for folder in (*folders, *own):
        command += ["-I", folder]
    return [*command, *shlex.split(os.environ.get("CXXFLAGS", "")), *options, "-x", "c++"]


def watched(source):
    """Kernels tell of their accesses to memory, as users' do (python/warpkit/_compiler.py); the
    emulator is told that they do."""
    if os.environ.get("WARPKIT_SANITIZE") != "races":
        return []
    if source.suffix != ".cu":
        return ["-DEMU_RACES_WITHIN"]
    own = ["tsan-instrument-func-entry-exit=0", "tsan-distinguish-volatile=1"]
    options = ["-fsanitize=thread", "-Wno-attributes", "-DEMU_RACES"]
    return options + [word for option in own for word in ("--param", option)]


def exported(source):
    """What a rung of a ladder calls: one that python/warpkit/lab compiles anew finds it here."""
    outer = {"csrc", "runtime", "copy", "pipeline", "ladder"} & {*source.relative_to(ROOT).parts}
    return ["-fvisibility=protected"] if outer and not sanitizers() else []


def emu_jobs(sources, *folders, options=()):
    version = run([*compiler("CXX", "c++", "C++"), "--version"], "asking the C++ compiler")
    jobs = []
    for s in sorted(sources):
        command = emu_compiler(s, *folders, options=options)
        jobs.append(Job([*command, *watched(s), *exported(s), *with_contract(s)], s, version))
    return jobs


def emu_link(jobs, target, *options):
    command = [*compiler("CXX", "c++", "C++"), *options, f"-Wl,{UNNAMED}", *sanitizers()]
    command += compile_all(jobs, "the emulated GPU")
    command += shlex.split(os.environ.get("CXXFLAGS", "") + " " + os.environ.get("LDFLAGS", ""))
    run([*command, "-o", target, "-lpthread", "-ldl", "-lrt"], f"linking {target.name}")


def emu_sources():
    # What only CUDA's driver has is left out.
    real = [ROOT / "cuda" / "runtime" / name for name in ("driver.cu", "user.cu")]
    return [s for s in sources("cuda", ".cu", ".cc") if s not in real] + SHARED


def extensions():
    names = ["_core"]
    if setting("WARPKIT_EMU", "1", "0", "debug") != "0":
        names.append("_emu")
    if find_nvcc() is not None:
        names.append("_cuda")
    return [Extension(f"warpkit.{name}", sources=[]) for name in names]


def options():
    """For setuptools, which writes beside the sources unless it is told where."""
    folder = str(build_folder())
    if folder == str(ROOT / "build"):
        return {}
    return {"egg_info": {"egg_base": folder}, "build": {"build_base": folder}}


if __name__ == "__main__":
    try:
        setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExt}, options=options())
    except PlatformError as error:
        sys.exit(f"error: {error}")  # a message, not a traceback
