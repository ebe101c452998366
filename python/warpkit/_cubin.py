"""What is in a cubin, the ELF file of a GPU's machine code: symbols, and the tables of
cuda/emu/user_tables.h."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from warpkit._syntax import Entry

FACTS = 16  # bytes of a type_facts
_NOBITS, _SYMTAB, _INFO = 8, 2, 0x70000000
_RELOCATIONS = {4: 24, 9: 16}  # bytes of one: SHT_RELA; SHT_REL, before compute capability 9.0
_SIZED, _REGISTERS = 4, 0x2F  # of an entry of .nv.info: it has a size; a kernel's registers


class Kernel(NamedTuple):
    name: str
    parameters: str  # their names, with commas
    symbol: str
    types: bytes  # type_facts of each
    defaults: tuple[bytes, ...]  # of the last parameters


class Variable(NamedTuple):
    name: str
    symbol: str
    type: bytes
    shape: tuple[int, ...]


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int
    info: int


class Cubin:
    def __init__(self, image: bytes) -> None:
        if image[:5] != b"\x7fELF\x02":
            raise ValueError("not a cubin")
        self.image = image
        (start,) = struct.unpack_from("<Q", image, 0x28)
        size, count = struct.unpack_from("<HH", image, 0x3A)
        self.sections = [
            _Section(*struct.unpack_from("<4xI16xQQII", image, start + i * size))
            for i in range(count)
        ]
        table = next(s for s in self.sections if s.kind == _SYMTAB)
        strings = self.sections[table.link].offset
        self.symbols: list[tuple[str, int, int, int]] = []  # name, section, place in it, bytes
        for at in range(table.offset, table.offset + table.size, 24):
            name, section, value, bytes_ = struct.unpack_from("<I2xHQQ", image, at)
            end = image.index(b"\0", strings + name)
            text = image[strings + name : end].decode()
            self.symbols.append((text, section, value, bytes_))
        self.named = {symbol[0]: symbol for symbol in self.symbols}
        # In an unnamed namespace ours have names that end like this one.
        for symbol in self.symbols:
            if found := re.search(r"\d(warpkit_\w+)E$", symbol[0]):
                self.named[found[1]] = symbol
        self.waits = not {"vprintf", "__assertfail"}.isdisjoint(self.named)  # it prints, or asserts

    def data(self, name: str) -> bytes | None:
        """An object's bytes; None: there is none."""
        if name not in self.named:
            return None
        _, section, value, bytes_ = self.named[name]
        of = self.sections[section]
        if of.kind == _NOBITS:
            return bytes(bytes_)
        return self.image[of.offset + value : of.offset + value + bytes_]

    def registers(self, symbol: str) -> int:
        """Of a thread of a kernel.

        Raises   KeyError (the file does not tell)
        """
        for s in self.sections:
            if s.kind != _INFO or s.info:  # a kernel's own section does not have them
                continue
            at = s.offset
            while at < s.offset + s.size:
                form, what, size = struct.unpack_from("<BBH", self.image, at)
                if form == _SIZED and what == _REGISTERS:
                    which, count = struct.unpack_from("<II", self.image, at + 4)
                    if self.symbols[which][0] == symbol:
                        return int(count)
                at += 4 + (size if form == _SIZED else 0)
        raise KeyError(symbol)

    def pointed(self, name: str) -> str:
        """The symbol whose address an object has in its first bytes; "": none."""
        _, section, value, _ = self.named[name]
        for s in self.sections:
            if s.kind not in _RELOCATIONS or s.info != section:
                continue
            for at in range(s.offset, s.offset + s.size, _RELOCATIONS[s.kind]):
                place, info = struct.unpack_from("<QQ", self.image, at)
                if place == value:
                    name, *_ = self.symbols[info >> 32]
                    return name
        return ""

    def found(self, entries: Sequence[Entry]) -> Iterator[Kernel | Variable]:
        """What the file has of the source's kernels and variables."""
        for entry in entries:
            table = self.data(entry.made)
            if table is None:  # in a branch of the preprocessor that was not taken
                continue
            symbol = self.pointed(entry.made)
            if entry.parameters is None:
                (ndim,) = struct.unpack_from("<i", table, 8 + FACTS)
                shape = struct.unpack_from(f"<{ndim}q", table, 16 + FACTS)
                type_ = table[8 : 8 + FACTS]
                yield Variable(entry.name, symbol or self.managed(entry.name), type_, shape)
                continue
            (count,) = struct.unpack_from("<i", table, 8)
            types = table[16 : 16 + count * FACTS]
            values = []
            at = 0
            for i in range(count - entry.default_count, count):
                (size,) = struct.unpack_from("<q", types, i * FACTS + 8)
                pointer = types[i * FACTS + 2]
                size = 8 if pointer else size
                values.append((self.data(f"{entry.made}d") or b"")[at : at + size])
                at += (size + 31) // 32 * 32
            yield Kernel(entry.name, entry.parameters, symbol, types, tuple(values))

    def managed(self, name: str) -> str:
        """The symbol of a variable whose address no table has."""
        parts = name.split("::")
        whole = "".join(f"{len(part)}{part}" for part in parts)
        symbol = parts[0] if len(parts) == 1 else f"_ZN{whole}E"
        if symbol in self.named:
            return symbol
        ending = f"{len(parts[-1])}{parts[-1]}E"
        return next((s for s, *_ in self.symbols if s.endswith(ending)), symbol)
