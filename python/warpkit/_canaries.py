"""Arrays of kernels between canaries, or at the edge of memory that nobody may touch."""

from __future__ import annotations

import contextlib
import ctypes
import io
import mmap
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from warpkit import _array, _core, _kernels
from warpkit.testing import CANARIES

__tracebackhide__ = True  # pytest shows the user's own frames
_FILL = {"finite": 0x7A}  # large in every type; else 0xFF: NaN, or -1
_LEAST, _MOST = 4096, 1 << 20  # bytes of a canary: as many as the array has, within these
_PAGE = mmap.PAGESIZE
# Types that are loaded as one: their arrays begin at multiples of 16 bytes, as they do on a GPU.
_VECTORS = re.compile(r"\bu?(char|short|int|long|longlong|float|double)[234]\b|reinterpret_cast")


class _Place(NamedTuple):
    at: int  # the array's address on the device
    argument: Any
    around: tuple[np.ndarray, np.ndarray]  # views of the canaries before and behind


@contextlib.contextmanager
def canaries(kind: str) -> Iterator[None]:
    """See warpkit.testing.canaries."""
    if kind not in CANARIES:
        raise ValueError(f"kind is {kind!r}, and must be one of {', '.join(CANARIES)}")
    plain: Any = _kernels._run

    def run(library: Any, entry: Any, shape: Any, ordinal: int, arguments: Any, *more: Any) -> None:
        # Only the module has the text.
        module = next(m for m in _kernels._modules.values() if m._library is library)
        if not module.device.startswith("emu"):
            plain(library, entry, shape, ordinal, arguments, *more)
            return
        with contextlib.ExitStack() as opened:
            changed, placed = _placed(module, entry, arguments, kind, opened)
            plain(library, entry, shape, ordinal, changed, *more)
            names = entry.parameters.decode().split(",")
            for i, of in placed.items():
                which = f"{i + 1} ({names[i]})" if i < len(names) and names[i] else f"{i + 1}"
                _check(of, kind, f"kernel {entry.name.decode()}, argument {which}")
            for of in placed.values():
                if of.argument.kind == _kernels._COPY_BOTH:
                    ctypes.memmove(of.argument.data, of.at, of.argument.bytes)

    _kernels._run = run  # type: ignore[assignment]
    try:
        yield
    finally:
        _kernels._run = plain


def who_wrote(module: _kernels.Module, entry: Any, shape: Any, arguments: Any, count: int) -> str:
    """Of a launch that wrote past the end of an array of NumPy's: the thread and the line; "" where
    it is not found. It runs again, with each array before pages that nobody may touch; then behind
    them, as what lies past the end of one array may be what is before another."""
    for kind in ("page-end", "page-begin"):
        with contextlib.ExitStack() as opened:
            changed, _ = _placed(module, entry, arguments, kind, opened)
            opened.enter_context(contextlib.redirect_stdout(io.StringIO()))
            try:
                _kernels._run(module._library, entry, shape, module._ordinal, changed, count, False)
            except _core.DeviceError as error:
                place = r"(block \(.*?\)): .*(thread \(.*?\)).* stands (at .*)"
                if found := re.search(place, str(error)):
                    return f"{found[2]} of {found[1]} does, {found[3]}"
    return ""


def _placed(
    module: _kernels.Module, entry: Any, arguments: Any, kind: str, opened: contextlib.ExitStack
) -> tuple[Any, dict[int, _Place]]:
    """The arguments with the addresses of what was placed; and that, by the argument's number."""
    texts = module._source.texts.values()
    least = 16 if any(_VECTORS.search(text) for text in texts) else 1
    changed = type(arguments)(*arguments)
    placed: dict[int, _Place] = {}
    for i in range(entry.count):
        given = arguments[i]
        if given.kind in (_kernels._COPY_IN, _kernels._COPY_BOTH):
            align = max(least, entry.types[i].size & -entry.types[i].size)
            of = placed[i] = _place(given, kind, min(align, 16), module.device, opened)
        elif given.kind == _kernels._SAME:
            of = placed[given.bytes]
        else:
            continue
        pointer = ctypes.c_void_p(of.at)
        changed[i] = _kernels._Argument(ctypes.addressof(pointer), 0, _kernels._VALUE)
        opened.callback(id, pointer)  # which keeps it until then
    return changed, placed


def _place(given: Any, kind: str, align: int, device: str, opened: contextlib.ExitStack) -> _Place:
    size = given.bytes
    room = min(max(size, _LEAST), _MOST) // _PAGE * _PAGE + _PAGE
    body = -(-size // _PAGE) * _PAGE
    block = _array.empty((room + body + room + 2 * _PAGE,), np.uint8, device=device)
    opened.callback(id, block)  # which keeps it until then
    base = -(-block._pointer // _PAGE) * _PAGE
    first, last = base, base + room + body + room  # what may be touched
    at = base + room + (body - size if kind != "nan" else 0) // align * align
    if kind == "page-begin":
        at = first = base + room
        _forbid(base, room, opened)
    elif kind == "page-end":
        last = base + room + body
        _forbid(last, room, opened)
    ctypes.memset(first, _FILL.get(kind, 0xFF), last - first)
    ctypes.memmove(at, given.data, size)
    return _Place(at, given, (_view(first, at - first), _view(at + size, last - at - size)))


def _view(begin: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(begin))


def _forbid(begin: int, size: int, opened: contextlib.ExitStack) -> None:
    """Until opened is closed nobody may touch these pages."""
    library = ctypes.CDLL(None, use_errno=True)

    def protect(how: int) -> None:
        if library.mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(size), how) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    protect(0)
    opened.callback(protect, mmap.PROT_READ | mmap.PROT_WRITE)


def _check(of: _Place, kind: str, who: str) -> None:
    before, behind = (np.flatnonzero(x != _FILL.get(kind, 0xFF)) for x in of.around)
    size = of.argument.bytes
    for where, at in (
        ("before the beginning", int(before[0]) - of.around[0].size if before.size else None),
        ("past the end", size + int(behind[0]) if behind.size else None),
    ):
        if at is not None:
            raise _core.DeviceError(f"{who}: writes {where} of its {size} bytes, at byte {at}")
