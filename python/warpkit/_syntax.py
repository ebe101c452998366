"""CUDA's own syntax as C++ that a host compiler takes, line for line.

k<T><<<grid, block>>>(a)            emu::start(k<T>, "k<T>", grid, block)(a); cuda/emu/user.h has it
extern __shared__ float x[];        a pointer in a function, elsewhere an object that is one
extern "C" __global__ void k()      extern "C" void k(), since such a name takes no tag
__noinline__                        the attribute, by whose name libstdc++ means another
#include <cuda_runtime.h>           the emulator's header; so of what else CUDA has
__global__ void k(int n) { ... }    behind it an entry by which Python finds k; so of variables

For a GPU's own compilers only the last line holds: behind each kernel and variable stands a
constant that tells of it, cuda/emu/user_tables.h. Comments, strings and the numbers of lines stay
as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
    | (?P<skip>//(?:\\\n|[^\n])*|/\*.*?\*/|\n+|[^\S\n]+|\\\n)
    | (?P<string>(?:u8|[uUL])?R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
        |'(?:\\.|[^'\\\n])+')
    | (?P<name>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<mark><<<|>>>|::|->|.)
    """,
    re.X | re.S | re.M,
)
_SPACES = ("__device__", "__constant__", "__managed__")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = set(_PAIRS.values())
# Headers of CUDA's whose contents the emulator has in one.
_CUDA_HEADER = re.compile(
    r"cuda(_runtime(_api)?|_device_runtime_api|_profiler_api)?\.h"
    r"|device_(launch_parameters|functions|atomic_functions|types)\.h"
    r"|(vector_(types|functions)|driver_types|builtin_types|math_(functions|constants)|channel_descriptor"
    r"|host_(defines|config)|sm_\d\d_(atomic_functions|intrinsics))\.(h|hpp)"
    r"|crt/\w+\.h|cooperative_groups/\w+\.h|(texture|surface)_(types|indirect_functions|fetch_functions)\.h"
)
_OWN_HEADER = (
    (re.compile(r"cuda/(std/)?atomic"), "emu/user_atomic.h"),
    (re.compile(r"cuda/(barrier|pipeline)"), "emu/user_barrier.h"),
    (
        re.compile(
            r"thrust/((device|host)_vector|copy|count|equal|extrema|fill|find|for_each|functional"
            r"|generate|random|reduce|scan|sequence|sort|transform(_reduce)?|tuple|unique"
            r"|device_ptr|execution_policy|iterator/zip_iterator|detail/type_traits)\.h"
        ),
        "emu/user_thrust.h",
    ),
)
# And those that it has not: CUDA's own may be found, which no host compiler takes.
_NOT_EMULATED = re.compile(
    r"mma\.h|cuda_fp[468]\.h|nvrtc\w*\.h|(cub|cuda|cute|nv|thrust)/.+"
    r"|cu(blas|dnn|fft|rand|solver|sparse)\w*\.h"
)
HEADER = "emu/user.h"
TABLES = "emu/user_tables.h"
TABLE = 'extern "C" __device__ const auto'
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?P<name>[^">]+)[">]', re.M)


class Kernel(NamedTuple):
    """A kernel as it is written, for the instances of a template."""

    name: str  # with its namespaces
    parameters: str  # their names, with commas


class Entry(NamedTuple):
    """A kernel or variable of a source for a GPU, which the compiled file may have."""

    made: str  # the constant's name; that of the default arguments has a d behind it
    name: str
    parameters: str | None  # None: of a variable
    default_count: int = 0


# What a statement of PTX reads that emu::ptx has a function for.
_READS = re.compile(
    r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(\s*\"mov\.[usb](?:32|64)\s+%0,\s*%%?"
    r"(?P<what>laneid|warpid|nsmid|smid|clock|clock64|globaltimer|lanemask_(?:eq|le|lt|ge|gt));?\""
    r"\s*:\s*\"=[rl]\"\s*\((?P<to>\w+)\)\s*(?::[^;()\"]*)*\)\s*;"
)


def special_registers(text: str) -> str:
    """The text with assignments in place of PTX that reads a special register."""
    return _READS.sub(
        lambda m: f"{m['to']} = emu::ptx::{m['what']}();" + "\n" * m[0].count("\n"), text
    )


def needs(text: str) -> bool:
    """Whether a header has anything that a host compiler does not take."""
    return (
        re.search(r"<<<|__(shared|global|device|constant|noinline)__|[<\"]cuda", text) is not None
    )


def rewrite(text: str, deduced: Collection[str] = ()) -> tuple[str, list[Kernel]]:
    """The text as C++, and the templates of kernels in it.

    deduced  names of kernels of other files that no pointer calls (deduced_kernels)
    """
    return _Source(special_registers(text)).rewritten({*deduced, *deduced_kernels(text)})


def tabled(text: str, mark: str) -> tuple[str, list[Kernel], list[Entry]]:
    """The text for a GPU's compiler, the templates of kernels in it, and what else Python finds.

    mark     in the entries' names, of which each file needs its own
    """
    source = _Source(text, mark)
    new, templates = source.rewritten(set())
    return new, templates, source.entries


def follow_includes(text: str, find: Callable[[str], str | None], emulated: bool = True) -> str:
    """The text with the names that find has in its #include lines, and ours for CUDA's."""

    def replaced(match: re.Match[str]) -> str:
        if emulated and _CUDA_HEADER.fullmatch(match["name"]):
            return f'#include "{HEADER}"'
        own = [header for names, header in _OWN_HEADER if names.fullmatch(match["name"])]
        if emulated and own:
            return f'#include "{own[0]}"'
        other = find(match["name"])
        if emulated and other is None and _NOT_EMULATED.fullmatch(match["name"]):
            return f"#error {match['name']} is not emulated"
        return f'#include "{other}"' if other else match.group()

    return _INCLUDE.sub(replaced, text)


def deduced_kernels(text: str) -> Iterator[str]:
    """Names of kernels that no pointer calls: templates, and those with default arguments."""
    if "__global__" in text:
        for found in _Source(text).kernels():
            if found.template or found.defaults:
                yield found.name


class _Kernel(NamedTuple):
    name: str
    opening: int  # parenthesis of its parameters
    closing: int
    template: bool
    parameters: list[tuple[int, int]]  # tokens of each
    defaults: list[tuple[str, str]]  # declarations, and their names


class _Open(NamedTuple):
    """A kernel whose body is open."""

    body: int  # its brace
    depth: int  # scopes around the kernel
    branches: int  # of the preprocessor
    name: str
    types: str
    before: str  # of what stands behind it, around the pointer
    after: str

    def text(self, branches: int) -> str:
        # By its types, as there may be others of the name; but not where branches of an #if have a
        # head each and one body.
        cast = f"static_cast<void (*)({self.types})>"
        pointer = f"{cast}({self.name})" if branches == self.branches else f"&{self.name}"
        return f"{self.before}{pointer}{self.after}"


class _Source:
    def __init__(self, text: str, mark: str | None = None) -> None:
        self.mark = mark  # None: for the emulated device
        self.entries: list[Entry] = []
        self.tokens = [(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text)]
        self.code = [i for i, t in enumerate(self.tokens) if t[0] not in ("skip", "directive")]
        self.words = [self.tokens[i][1] for i in self.code]
        self.edits: list[tuple[int, int, str]] = []  # first token, one past the last, what instead
        self.behind: dict[int, str] = {}  # what is put behind a token

    # ---- moving about ----

    def at(self, k: int) -> str:
        return self.words[k] if 0 <= k < len(self.words) else ""

    def is_name(self, k: int) -> bool:
        return 0 <= k < len(self.words) and self.tokens[self.code[k]][0] == "name"

    def span(self, a: int, b: int) -> str:
        """The text of code tokens a to b - 1, with what lies between them but comments."""
        if a >= b:
            return ""
        inside = self.tokens[self.code[a] : self.code[b - 1] + 1]
        return "".join(" " if kind == "skip" else text for kind, text in inside)

    def closing(self, k: int) -> int:
        """Where the bracket that opens at k is closed; -1: nowhere."""
        depth = 0
        for j in range(k, len(self.words)):
            depth += (self.words[j] in _PAIRS) - (self.words[j] in _CLOSING)
            if depth == 0:
                return j
        return -1

    def opening(self, k: int) -> int:
        """Where the bracket that closes at k was opened; -1: nowhere."""
        depth = 0
        for j in range(k, -1, -1):
            depth += (self.words[j] in _CLOSING) - (self.words[j] in _PAIRS)
            if depth == 0:
                return j
        return -1

    def split(self, a: int, b: int) -> list[tuple[int, int]]:
        """The parts of a to b - 1 between commas."""
        parts, depth, start = [], 0, a
        for j in range(a, b):
            word = self.words[j]
            depth += (word in _PAIRS or word == "<") - (word in _CLOSING or word == ">")
            if word == "," and depth == 0:
                parts.append((start, j))
                start = j + 1
        return [*parts, (start, b)] if a < b else []

    # ---- what there is ----

    def start_of_declaration(self, k: int) -> int:
        while k > 0 and self.at(k - 1) not in (";", "}", "{"):
            k -= 1
        return k

    def kernel_at(self, k: int) -> _Kernel | None:
        """Of the declaration whose __global__ is at k."""
        j = k + 1
        while self.at(j) not in ("(", ";", "{", ""):
            attribute = self.at(j) in ("__launch_bounds__", "__attribute__", "__cluster_dims__")
            j = self.closing(j + 1) + 1 if attribute and self.at(j + 1) == "(" else j + 1
            if j == 0:
                return None
        end = self.closing(j) if self.at(j) == "(" else -1
        if end < 0 or not self.is_name(j - 1):
            return None
        before = self.words[self.start_of_declaration(k) : k]
        parameters = self.split(j + 1, end)
        if [self.words[a:b] for a, b in parameters] == [["void"]]:
            parameters = []
        whole: list[tuple[int, int]] = []
        defaults: list[tuple[str, str]] = []
        for a, b in parameters:
            equals = next((i for i in range(a, b) if self.words[i] == "="), b)
            whole.append((a, equals))
            if equals < b and self.name_of_parameter(a, equals):
                defaults.append((self.span(a, b), self.name_of_parameter(a, equals)))
        return _Kernel(self.at(j - 1), j, end, "template" in before, whole, defaults)

    def kernels(self) -> Iterator[_Kernel]:
        for k, word in enumerate(self.words):
            if word == "__global__" and (found := self.kernel_at(k)):
                yield found

    def name_of_parameter(self, a: int, b: int) -> str:
        """Of a declaration: its last name before the brackets of an array; "" if it has none."""
        while b > a and self.at(b - 1) == "]":
            b = self.opening(b - 1)
        return self.at(b - 1) if b - a > 1 and self.is_name(b - 1) else ""

    # ---- rewriting ----

    def rewritten(self, deduced: set[str]) -> tuple[str, list[Kernel]]:
        templates: list[Kernel] = []
        scopes: list[str] = []  # of the braces around: a namespace's name, "", or what else
        branches: list[list[str]] = []
        entry: _Open | None = None  # of the kernel whose body is open, or begins next
        directives = iter(
            [(i, t[1]) for i, t in enumerate(self.tokens) if t[0] == "directive"] + [(1 << 60, "")]
        )
        place, directive = next(directives)
        for k, word in enumerate(self.words):
            while place < self.code[k]:  # each branch of an #if opens the same braces
                scopes = _follow(directive, scopes, branches)
                place, directive = next(directives)
            if word == "{":
                scopes.append(self.scope_at(k, scopes))
            elif word == "}" and scopes:
                scopes.pop()
                if entry and k > entry.body and len(scopes) == entry.depth:
                    self.behind[k] = entry.text(len(branches))
                    entry = None
            elif word == "__global__":
                entry = self.kernel(k, scopes, len(branches), templates)
            elif word in _SPACES:
                self.variable(k, scopes)
            elif self.mark is not None:
                continue
            elif word == "<<<":
                self.launch(k, deduced)
            elif word == "__noinline__" and self.at(k - 1) != "(":
                self.edits.append((k, k + 1, "__attribute__((noinline))"))
            elif word == "extern":
                self.shared(k, "()" in scopes)
            elif word == "__shared__" and self.at(k + 1) == "alignas":  # which has to come first
                end = self.closing(k + 2) + 1
                if end and self.at(k - 1) != "extern":
                    self.edits.append((k, end, f"{self.span(k + 1, end)} __shared__"))
        if self.mark is not None:
            return self.text(), templates
        for i, (kind, text) in enumerate(self.tokens):
            if kind == "directive":
                self.tokens[i] = (kind, _macro(text, deduced))
        return self.text(), templates

    def text(self) -> str:
        out: list[str] = []
        at = 0
        edits = [(self.code[a], self.code[b - 1] + 1, new) for a, b, new in self.edits]
        edits += [(self.code[k] + 1, self.code[k] + 1, new) for k, new in self.behind.items()]
        for a, b, new in sorted(edits):
            old = "".join(t[1] for t in self.tokens[a:b])
            out += [t[1] for t in self.tokens[at:a]]
            end = "\\\n" if "\\\n" in old else "\n"
            out += [new, end * (old.count("\n") - new.count("\n"))]
            at = b
        return "".join(out + [t[1] for t in self.tokens[at:]])

    def scope_at(self, k: int, scopes: list[str]) -> str:
        """What the brace at k opens: a namespace's name ("": none), "()" a function, or "{}"."""
        if "()" in scopes:
            return "()"
        start = self.start_of_declaration(k)
        before = self.words[start:k]
        if "namespace" in before:
            name = before[before.index("namespace") + 1 :]
            return "".join(name) if name and self.is_name(k - 1) else ""
        if before[-1:] == ['"C"'] or before[-1:] == ['"C++"']:
            return '"C"'
        if ")" in before and "=" not in before:
            return "()"
        return "{}"

    def launch(self, k: int, deduced: set[str]) -> None:
        first = self.callee(k)
        depth, end = 0, -1
        for j in range(k + 1, len(self.words)):
            if self.words[j] == ">>>" and depth == 0:
                end = j
                break
            depth += (self.words[j] in _PAIRS) - (self.words[j] in _CLOSING)
        if first >= k or end < 0:
            return
        name = self.span(first, k)
        label = " ".join(name.replace("\\\n", " ").split()).replace('"', "'")
        kernel = f"({name})" if "," in name else name
        plain = all(self.is_name(j) or self.words[j] == "::" for j in range(first, k))
        if plain and self.words[k - 1] in deduced:
            kernel = f"[&](auto... a_) {{ {name}(a_...); }}"
        config = self.span(k + 1, end)
        self.edits.append((first, end + 1, f'emu::start({kernel}, "{label}", {config})'))

    def callee(self, k: int) -> int:
        """The first token of the expression before the <<< at k."""
        j = k - 1
        if self.at(j) == ">":
            depth = 0
            while j >= 0:
                if self.words[j] in _CLOSING:  # (a > b) is not ours
                    j = self.opening(j)
                depth += (self.at(j) == ">") - (self.at(j) == "<")
                if depth == 0:
                    break
                j -= 1
            j -= 1
        while self.at(j) in (")", "]"):
            j = self.opening(j) - 1
        keywords = ("return", "else", "do")
        if self.is_name(j) and self.at(j) not in keywords:
            j -= 1
            while self.at(j) in ("::", ".", "->"):
                j -= 1
                if self.is_name(j) and self.at(j) not in keywords:
                    j -= 1
        return j + 1

    def shared(self, k: int, in_function: bool) -> None:
        """extern __shared__ T name[...];"""
        j = k + 1
        names = []
        while self.at(j) not in (";", "", "{", "=", ")"):
            names.append(j)
            j = self.closing(j) + 1 if self.at(j) in _PAIRS else j + 1
            if j == 0:
                return
        square = next((i for i in names if self.words[i] == "["), 0)
        if self.at(j) != ";" or not square or "__shared__" not in [self.words[n] for n in names]:
            return
        kind, skip = [], False
        for n in names:
            if n >= square - 1 or self.words[n] in ("__shared__", "volatile"):
                continue
            if self.words[n] in ("__align__", "alignas", "__attribute__"):
                skip = True
            elif skip and self.words[n] == "(":
                skip = False
            else:
                kind.append(self.span(n, n + 1))
        if "volatile" in self.words[k:square]:
            kind.insert(0, "volatile")
        name = self.words[square - 1]
        of = " ".join(kind) + self.span(self.closing(square) + 1, j)
        new = f"std::add_pointer_t<{of}> {name} = emu::dynamic<{of}>()"
        self.edits.append((k, j, new if in_function else f"static emu::dynamic_array<{of}> {name}"))

    def kernel(
        self, k: int, scopes: list[str], branches: int, templates: list[Kernel]
    ) -> _Open | None:
        """What is to be put behind the kernel whose __global__ is at k."""
        linkage = '"C"' in scopes or '"C"' in self.words[self.start_of_declaration(k) : k]
        if linkage and self.mark is None:
            self.edits.append((k, k + 1, ""))
        found = self.kernel_at(k)
        if found is None or "()" in scopes or "{}" in scopes or self.at(found.closing + 1) != "{":
            return None
        spaces = [s for s in scopes if s not in ("", '"C"')]
        name = "::".join([*spaces, found.name])
        names = ",".join(self.name_of_parameter(a, b) for a, b in found.parameters)
        if found.template:
            templates.append(Kernel(name, names))
            return None
        types = ", ".join(self.span(a, b) for a, b in found.parameters)
        if self.mark is None:
            values = "".join(
                f", []() -> const void * {{ static {declared}; return &{name}; }}()"
                for declared, name in found.defaults
            )
            made = f'emu_{found.name}_{k}("{name}", "{names}"{values})'
            before, after = " static emu::add_kernel<", f"> {made};"
        else:
            made = self.add(k, 0, name, names, len(found.defaults))
            types = types.replace("__grid_constant__", "")
            before, after = f" {TABLE} {made} = warpkit::table_of(", ");"
            if found.defaults:  # each at a multiple of 32 bytes
                members = " ".join(f"alignas(32) {declared};" for declared, _ in found.defaults)
                after += f" struct {made}s {{ {members} }};"
                after += f' extern "C" __device__ const {made}s {made}d = {{}};'
        return _Open(found.closing + 1, len(scopes), branches, found.name, types, before, after)

    def add(self, k: int, i: int, name: str, parameters: str | None, default_count: int = 0) -> str:
        made = f"warpkit_{self.mark}_{k}_{i}"
        self.entries.append(Entry(made, name, parameters, default_count))
        return made

    def variable(self, k: int, scopes: list[str]) -> None:
        """A __device__ or __constant__ variable of a namespace."""
        start = self.start_of_declaration(k)
        if any(s in ("()", "{}") for s in scopes) or any(w in _SPACES for w in self.words[start:k]):
            return
        j = k
        names: list[str] = []
        initialised = False
        stop = (";", "(", "template", "operator", "using", "typedef", "extern", "")
        if any(w in stop for w in self.words[start:k]):
            return
        while self.at(j) not in stop:
            word = self.at(j)
            if word in ("=", "[", ",", "{") and self.is_name(j - 1):
                names.append(self.at(j - 1))
            if word in ("struct", "class", "union", "enum", "__align__", "alignas"):
                return
            initialised = word != "," and (initialised or word == "=")
            if word == "=":  # up to the next declarator
                while self.at(j) not in (";", ",", ""):
                    j = self.closing(j) + 1 if self.at(j) in _PAIRS else j + 1
                    if j == 0:
                        return
                continue
            if word == "<":  # of a template
                while self.at(j) not in (">", ";", ""):
                    j += 1
            j = self.closing(j) + 1 if word in ("[", "{") else j + 1
            if j == 0:
                return
        if self.at(j) != ";":
            return
        if self.is_name(j - 1) and not initialised:
            names.append(self.at(j - 1))
        spaces = [s for s in scopes if s not in ("", '"C"')]
        managed = "__managed__" in self.words[start:j]  # has no address before the program runs
        for i, name in enumerate(dict.fromkeys(names)):
            whole = "::".join([*spaces, name])
            if self.mark is None:
                entry = f"static emu::add_variable<decltype({name})> emu_{name}_{k}_{i}"
                entry += f'("{whole}", {name});'
            else:
                of = f"managed<decltype(({name}))>::table()" if managed else f"variable_of(&{name})"
                entry = f"{TABLE} {self.add(k, i, whole, None)} = warpkit::{of};"
            self.behind[j] = f"{self.behind.get(j, '')} {entry}"


def _follow(directive: str, scopes: list[str], branches: list[list[str]]) -> list[str]:
    """The scopes behind an #if, #else or #endif."""
    word = re.match(r"\s*#\s*(\w*)", directive)
    which = word.group(1) if word else ""
    if which in ("if", "ifdef", "ifndef"):
        branches.append(list(scopes))
    elif which in ("else", "elif") and branches:
        return list(branches[-1])
    elif which == "endif" and branches:
        branches.pop()
    return scopes


def _macro(text: str, deduced: set[str]) -> str:
    """A directive, with the launches that a macro holds."""
    define = re.match(r"[ \t]*#[ \t]*define\b", text)
    if not define or not needs(text):
        return text
    inside = _Source(text[define.end() :])
    for k, word in enumerate(inside.words):
        if word == "<<<":
            inside.launch(k, deduced)
        elif word == "extern":
            inside.shared(k, True)
        elif word == "__noinline__":
            inside.edits.append((k, k + 1, "__attribute__((noinline))"))
    return define.group() + inside.text()
