"""CUDA source with one synchronisation less: what tests that look for races must notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from warpkit import _syntax

_STATEMENTS = (
    *("__syncthreads", "__syncwarp"),
    *("__threadfence", "__threadfence_block", "__threadfence_system"),
)
# What each atomic makes of the old value: for the reader, and as C++ of old, v and c.
_ATOMICS: dict[str, tuple[str, str]] = {
    "atomicAdd": ("+= {0}", "old + v"),
    "atomicSub": ("-= {0}", "old - v"),
    "atomicExch": ("= {0}", "v"),
    "atomicMin": ("= min({x}, {0})", "old < v ? old : v"),
    "atomicMax": ("= max({x}, {0})", "old > v ? old : v"),
    "atomicAnd": ("&= {0}", "old & v"),
    "atomicOr": ("|= {0}", "old | v"),
    "atomicXor": ("^= {0}", "old ^ v"),
    "atomicInc": ("= {x} >= {0} ? 0 : {x} + 1", "old >= v ? 0 : old + 1"),
    "atomicDec": ("= {x} == 0 || {x} > {0} ? {0} : {x} - 1", "old == 0 || old > v ? v : old - 1"),
    "atomicCAS": ("= {x} == {0} ? {1} : {x}", "old == v ? c : old"),
}
# As lanes of a warp do it on a GPU: all of them read, then all of them write.
_PLAIN = (
    "[](auto *p, {parameters}) {{ auto old = *p; __syncwarp(__activemask()); "
    "*p = {value}; return old; }}"
)


class Mutation(NamedTuple):
    """A source with one statement changed.

    Attributes
    ----------
    line : int
        The statement's, from 1.
    statement : str
        As it is written, on one line.
    change : str
        What is in its place: "" (nothing), or "x += v".
    text : str
        The whole source so changed; every line keeps its number.
    """

    line: int
    statement: str
    change: str
    text: str

    def __str__(self) -> str:
        return f"{self.line} {self.statement}{f' -> {self.change}' if self.change else ''}"


def mutations(source: str) -> list[Mutation]:
    """A CUDA source without each of its synchronisations in turn.

    A barrier (``__syncthreads()``, ``group.sync()``), ``__syncwarp()`` or fence is left out; an
    atomic becomes a plain ``x += v``, as lanes of a warp run it on a GPU: all read, then all write.
    What is in comments, strings and macros is left alone.

    Parameters
    ----------
    source : str
        The text.

    Returns
    -------
    list of Mutation
        Line, statement, change, text; empty where there is none.

    Examples
    --------
    >>> source = "__global__ void k(int *x) { atomicAdd(x, 1); __syncwarp(); }"
    >>> [str(m) for m in warpkit.testing.mutations(source)]
    ['1 atomicAdd(x, 1) -> *(x) += 1', '1 __syncwarp();']
    """
    return list(_Finder(source).found())


class _Finder(_syntax._Source):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.starts = [0]  # of each token in the text
        for _, token in self.tokens:
            self.starts.append(self.starts[-1] + len(token))
        self.whole = text

    def found(self) -> Iterator[Mutation]:
        for k, word in enumerate(self.words):
            end = self.closing(k + 1) if self.is_name(k) and self.at(k + 1) == "(" else -1
            if end < 0:
                continue
            plain = word.removesuffix("_block").removesuffix("_system")
            if plain in _ATOMICS and self.at(k - 1) not in (".", "->"):
                if found := self.atomic(k, end, plain):
                    yield found
            elif self.at(end + 1) == ";":
                if word in _STATEMENTS and not self.is_name(k - 1):
                    yield self.changed(k, end + 1, lambda old: ";")
                elif word == "sync":
                    yield self.changed(self.expression(k), end + 1, lambda old: ";")

    def atomic(self, k: int, end: int, name: str) -> Mutation | None:
        arguments = [self.span(a, b) for a, b in self.split(k + 2, end)]
        shown, value = _ATOMICS[name]
        parameters = "auto v, auto c" if name == "atomicCAS" else "auto v"
        if len(arguments) != 1 + parameters.count(",") + 1:
            return None
        target, *rest = (" ".join(a.split()) for a in arguments)
        target = target[1:].strip() if target.startswith("&") else f"*({target})"
        function = _PLAIN.format(parameters=parameters, value=value)
        changed = self.changed(k, end, lambda old: function + old[len(self.at(k)) :])
        return changed._replace(change=f"{target} {shown.format(*rest, x=target)}")

    def changed(self, first: int, last: int, of: Callable[[str], str]) -> Mutation:
        a, b = self.starts[self.code[first]], self.starts[self.code[last] + 1]
        old = self.whole[a:b]
        new = of(old)
        new += "\n" * (old.count("\n") - new.count("\n"))
        line = self.whole.count("\n", 0, a) + 1
        return Mutation(line, " ".join(old.split()), "", self.whole[:a] + new + self.whole[b:])

    def expression(self, k: int) -> int:
        """Where `block.sync`, `cg::sync` or `this_grid().sync` with its last name at k begins."""
        while self.at(k - 1) in (".", "->", "::"):
            k -= 2
            while k > 0 and self.at(k) in (")", "]"):
                k = self.opening(k) - 1
        return max(k, 0)
