"""What a layout in shared memory costs: tiles written one way and read another; lanes that read.

Shared memory has 32 banks of 4 bytes: word w lies in bank w % 32. In one turn, a wavefront, each
bank gives one word to all lanes that ask for it; lanes that want different words of one bank take
turns. ``tile`` and ``read`` are experiments: what comes out, what a GPU's clock says, and what the
rule predicts. ``wavefronts``, ``conflicts`` and ``bank_map`` are the rule alone: no device is
needed.

Source: NVIDIA, "CUDA C++ Programming Guide", shared memory; J. Cheng, M. Grossman, T. McKercher,
"Professional CUDA C Programming" (2014), chapter 5.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warpkit import _core
from warpkit._array import DeviceArray
from warpkit._devices import devices
from warpkit._ops import Device, with_options

__all__ = (
    "LAYOUTS",
    "Conflicts",
    "Read",
    "Tile",
    "bank_map",
    "conflicts",
    "read",
    "tile",
    "wavefronts",
)

WARP = BANKS = 32
WORD = 4  # bytes
MOST = 1024  # elements of a tile: threads of a block; and of the table that lanes read
CONSTANT = 8  # bytes that a turn of constant memory gives a warp, as measured on an H100
WAYS = {"row": "rows", "col": "columns"}
LAYOUTS = tuple(
    f"{write}_{read}{form}"
    for form in ("", "_dyn", "_pad", "_pad_dyn")
    for write, read in (("row", "row"), ("col", "col"), ("row", "col"), ("col", "row"))
)
MEMORIES = ("shared", "constant")
READERS = 32  # warps of read's block


class Conflicts(NamedTuple):
    """A block's accesses to a tile, an element a thread.

    Attributes
    ----------
    requests : int
        Of warps.
    wavefronts : int
        Turns that they take.
    least : int
        Turns that as many bytes need in any layout.
    """

    requests: int
    wavefronts: int
    least: int

    @property
    def ways(self) -> float:
        """Turns for each that is needed: 1.0 is free of conflicts, 32.0 the worst."""
        return self.wavefronts / self.least


class Clocks(NamedTuple):
    """Clocks that a warp's request took while the others' were on their way too."""

    store: float
    load: float


class Tile(NamedTuple):
    """What tile returns.

    Attributes
    ----------
    values : array
        What was read back.
    store, load : Conflicts
        The rule's prediction for writing the tile, and for reading it.
    clocks : Clocks or None
        Of a GPU.
    """

    values: Any
    store: Conflicts
    load: Conflicts
    clocks: Clocks | None


class Read(NamedTuple):
    """What read returns.

    Attributes
    ----------
    values : array of uint32
        What each lane read, shape (32,): the numbers of the elements.
    turns : int
        The prediction: wavefronts; in constant memory different elements, and twice as many of 16
        bytes.
    clocks : float or None
        Of a GPU, for each request. On an H100 a turn of shared memory takes one, of constant memory
        two.
    """

    values: NDArray[np.uint32]
    turns: int
    clocks: float | None


# ---- the rule ----------------------------------------------------------------------------------


def wavefronts(words: ArrayLike, itemsize: int = WORD) -> int:
    """Count the turns in which a warp's lanes reach elements of shared memory.

    Parameters
    ----------
    words : array_like of int
        Which element each lane wants, up to 32 integers; lanes that want none: fewer, or -1.
    itemsize : int
        1, 2, 4, 8 or 16 bytes, aligned to themselves.

    Returns
    -------
    int
        At least 1 if any lane wants one. Up to 4 bytes all lanes are served together; of 8 bytes
        half a warp is, of 16 a quarter; two such parts together where neighbours (of one or of two)
        want the same element.

    Raises
    ------
    ValueError (itemsize, number of lanes)

    References
    ----------
    Studied on an H100 with ncu's counters of wavefronts.

    Examples
    --------
    >>> warpkit.smem.wavefronts(range(32), 4), warpkit.smem.wavefronts(range(0, 64, 2), 4)
    (1, 2)
    """
    itemsize = operator.index(itemsize)
    if itemsize not in (1, 2, 4, 8, 16):
        raise ValueError(f"itemsize must be 1, 2, 4, 8 or 16, not {itemsize}")
    wanted = np.asarray(_core.unmasked(words))
    if wanted.ndim != 1 or wanted.size > WARP or (wanted.size and wanted.dtype.kind not in "iu"):
        raise ValueError("words are one integer for each of up to 32 lanes")
    lanes = [int(w) if w >= 0 else None for w in wanted] + [None] * (WARP - wanted.size)
    if itemsize <= WORD:
        return _turns(lanes, itemsize)
    if itemsize == 8:
        return _turns(lanes, 8) if _paired(lanes) else _turns(lanes[:16], 8) + _turns(lanes[16:], 8)
    total = 0
    for half in (lanes[:16], lanes[16:]):
        parts = (half,) if _paired(half) else (half[:8], half[8:])
        total += sum(_turns(part, 16) for part in parts)
    return total


def _turns(lanes: Sequence[int | None], itemsize: int) -> int:
    wanted: list[set[int]] = [set() for _ in range(BANKS)]
    for at in lanes:
        if at is None:
            continue
        for word in range(at * itemsize // WORD, -(-(at + 1) * itemsize // WORD)):
            wanted[word % BANKS].add(word)
    return max(map(len, wanted))


def _paired(lanes: Sequence[int | None]) -> bool:
    """Do all lanes that are there share their element with a neighbour, one or two lanes away?"""
    return any(
        all(
            own is None or other is None or own == other
            for own, other in ((at, lanes[i ^ step]) for i, at in enumerate(lanes))
        )
        for step in (1, 2)
    )


def conflicts(
    shape: tuple[int, int] = (32, 32), itemsize: int = WORD, access: str = "row", pad: int = 0
) -> Conflicts:
    """Predict what it costs that each thread of a block reaches its element of a tile.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of the tile, up to 1024 elements.
    itemsize : int
        1, 2, 4, 8 or 16 bytes.
    access : str
        "row": thread after thread goes along rows; "col": down the columns.
    pad : int
        Elements that nobody uses, behind each row; up to 1024.

    Returns
    -------
    Conflicts

    Raises
    ------
    ValueError

    Examples
    --------
    >>> warpkit.smem.conflicts((32, 32), 4, "col").ways
    32.0
    >>> warpkit.smem.conflicts((32, 32), 4, "col", pad=1).ways
    1.0
    """
    rows, cols, pad = _checked(shape, access, pad)
    found = [wavefronts(words, itemsize) for words in _requests(rows, cols, access, pad)]
    threads, itemsize = rows * cols, operator.index(itemsize)
    lines = [min(WARP, threads - first) * itemsize for first in range(0, threads, WARP)]
    least = sum(max(1, -(-line // (BANKS * WORD))) for line in lines)
    return Conflicts(len(lines), sum(found), least)


def _checked(shape: tuple[int, int], access: str, pad: int) -> tuple[int, int, int]:
    """Rows, columns, and pad."""
    rows, cols = map(operator.index, shape)
    if rows < 1 or cols < 1 or rows * cols > MOST:
        raise ValueError(f"shape must have 1 to {MOST} elements, not {rows} x {cols}")
    if access not in WAYS:
        raise ValueError(f"access must be 'row' or 'col', not {access!r}")
    if not 0 <= operator.index(pad) <= MOST:
        raise ValueError(f"pad must be 0 to {MOST}, not {pad}")
    return rows, cols, operator.index(pad)


def _requests(rows: int, cols: int, access: str, pad: int) -> Iterator[NDArray[np.int64]]:
    """Of each warp the elements that its lanes reach, counted from the tile's first."""
    i = np.arange(rows * cols)
    y, x = divmod(i, cols) if access == "row" else (i % rows, i // rows)
    words = y * (cols + pad) + x
    for first in range(0, rows * cols, WARP):
        yield words[first : first + WARP]


# ---- the experiments ---------------------------------------------------------------------------


def tile(
    a: Any,
    /,
    layout: str = "row_row",
    *,
    pad: int | None = None,
    repeats: int = 1024,
    device: Device = None,
    stream: Any = None,
) -> Tile:
    """Write an array to a tile in shared memory, and read it back: one block, a thread an element.

    Parameters
    ----------
    a : array_like
        Two axes, 1 to 1024 elements of int32, uint32, int64, uint64, float32 or float64.
    layout : str
        How the tile is written, how it is read, and where it lies: "row_row", "col_col", "row_col",
        "col_row", each also with "_dyn" (dynamic shared memory), "_pad" (padded rows) and
        "_pad_dyn"; see variants("smem_tile").
    pad : int
        Elements behind each row of a padded layout, 0 to 2; default 1.
    repeats : int
        Stores and loads that the clock sees, 1 to 2^20.
    device, stream : optional
        The module's (see help(warpkit)).

    Returns
    -------
    Tile
        a's elements in C order, of shape a.shape; where writing and reading differ, those of its
        transpose. A tile written by columns has the transposed shape.

    Raises
    ------
    ValueError (layout, shape, pad, repeats), TypeError (dtype), DeviceError

    Examples
    --------
    >>> warpkit.smem.tile(np.arange(6).reshape(2, 3), "row_col", device="emu").values
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, not {layout!r}")
    padded = "pad" in layout
    if pad is not None and not padded:
        raise ValueError(f"layout {layout!r} has no padding; {layout.split('_dyn')[0]}_pad has")
    pad = 0 if not padded else 1 if pad is None else pad
    write, read = layout.split("_")[:2]
    a, library = _core.operand(a)
    device = _place(a, device)
    variant = _variant(device, layout)
    arguments = (a, write != read, pad, repeats)
    values, clocks = with_options(_core.smem_tile, arguments, None, device, stream, variant, False)
    shape = tuple(a.shape) if write == "row" else tuple(a.shape)[::-1]
    store, load = (conflicts(shape, a.dtype.itemsize, way, pad) for way in (write, read))
    took = [int(c) / (repeats * store.requests) for c in np.asarray(clocks)]
    if library is not None:
        values = library.finish(values)
    return Tile(values, store, load, Clocks(*took) if took[0] else None)


def read(
    words: ArrayLike,
    /,
    itemsize: int = WORD,
    memory: str = "shared",
    *,
    repeats: int = 1024,
    device: Device = None,
    stream: Any = None,
) -> Read:
    """Let the 32 lanes of a warp read where they are told, again and again; 32 warps do so alike.

    Parameters
    ----------
    words : array_like of int
        Which element each lane reads, shape (32,), 0 to 1023.
    itemsize : int
        4, 8 or 16 bytes.
    memory : str
        "shared", or "constant": there a warp gets one element in a turn, up to 8 bytes; they lie 16
        bytes apart.
    repeats, device, stream : optional
        As tile's.

    Returns
    -------
    Read
        Elements hold their own numbers, so its values are words.

    Raises
    ------
    ValueError (words, itemsize, memory, repeats), DeviceError

    Examples
    --------
    >>> warpkit.smem.read(np.zeros(32, int), device="emu").turns
    1
    """
    if memory not in MEMORIES:
        raise ValueError(f"memory must be 'shared' or 'constant', not {memory!r}")
    if itemsize not in (4, 8, 16):
        raise ValueError(f"itemsize must be 4, 8 or 16, not {itemsize}")
    wanted = np.asarray(_core.unmasked(words))
    if wanted.dtype.kind not in "iu" or wanted.shape != (WARP,):
        raise ValueError(f"words are 32 integers, not {wanted.dtype} of shape {wanted.shape}")
    if wanted.min() < 0 or wanted.max() >= MOST:
        raise ValueError(f"words must be 0 to {MOST - 1}: {wanted.min()} to {wanted.max()}")
    device = _place(wanted, device)
    variant = _variant(device, memory)
    arguments = (wanted.astype(np.int32), itemsize, repeats)
    values, clocks = with_options(_core.lane_reads, arguments, None, device, stream, variant, False)
    if memory == "shared":
        turns = wavefronts(wanted, itemsize)
    else:
        turns = len(np.unique(wanted)) * -(-itemsize // CONSTANT)
    took = int(clocks[0]) / (repeats * READERS)
    return Read(values, turns, took if took else None)


def _place(a: Any, device: Device) -> Device:
    """Where an experiment runs: not where it would be fastest."""
    if isinstance(a, DeviceArray):
        return device
    if device is None:
        default = _core.default_device()
        device = default if isinstance(default, str) else "auto"
    if device != "auto":
        return device
    return next((found for found in devices() if found.startswith("cuda")), "cpu")


def _variant(device: Device, name: str) -> str | None:
    """The CPU has one row, whatever the layout."""
    return None if device in ("cpu", "cpu:0") else name


# ---- a picture ---------------------------------------------------------------------------------


def bank_map(
    shape: tuple[int, int] = (32, 32),
    itemsize: int = WORD,
    access: str = "row",
    pad: int = 0,
    *,
    warp: int = 0,
    ax: Any = None,
) -> Any:
    """Draw which lane of a warp touches which bank: a row for each turn, the lanes' numbers in it.

    Parameters
    ----------
    shape, itemsize, access, pad : optional
        As conflicts', itemsize up to 4.
    warp : int
        Which of the block's.
    ax : matplotlib Axes, optional
        matplotlib's axes to draw in; default: new ones.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError, ImportError (matplotlib)
    """
    from matplotlib import pyplot

    if itemsize not in (1, 2, 4):
        raise ValueError(
            f"itemsize must be 1, 2 or 4, not {itemsize}: wide elements take two banks"
        )
    rows, cols, pad = _checked(shape, access, pad)
    requests = list(_requests(rows, cols, access, pad))
    if not 0 <= operator.index(warp) < len(requests):
        raise ValueError(f"warp must be 0 to {len(requests) - 1}, not {warp}")
    words = requests[warp] * itemsize // WORD
    turns: list[list[int]] = [[] for _ in range(BANKS)]  # of each bank its words, first come first
    for word in words:
        if word not in turns[word % BANKS]:
            turns[word % BANKS].append(int(word))
    most = max(map(len, turns))
    asked = np.zeros((most, BANKS))
    lanes: dict[tuple[int, int], list[str]] = {}
    for lane, word in enumerate(words):
        turn = turns[word % BANKS].index(word)
        asked[turn, word % BANKS] = 1
        lanes.setdefault((turn, int(word % BANKS)), []).append(str(lane))
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9, 0.9 + 0.13 * (most + 1)), layout="constrained")
    ax.pcolormesh(
        np.arange(BANKS + 1) - 0.5, np.arange(most + 1) - 0.5, asked,
        cmap="Blues", vmin=0, vmax=2, edgecolors="white", linewidth=0.5,
    )  # fmt: skip
    ax.invert_yaxis()
    for (turn, bank), those in lanes.items():
        text = those[0] if len(those) == 1 else f"{those[0]}+{len(those) - 1}"
        ax.text(bank, turn, text, ha="center", va="center", fontsize=6)
    ax.set_xticks(range(0, BANKS, 4))
    ax.set_yticks(range(0, most, max(1, most // 8)), range(1, most + 1, max(1, most // 8)))
    padding = f", rows {pad} further apart" if pad else ""
    ax.set_title(
        f"{rows} x {cols} of {itemsize} bytes{padding}, along {WAYS[access]}: "
        f"{most} turn{'s' if most > 1 else ''}",
        fontsize=9,
    )
    ax.set_xlabel("bank")
    ax.set_ylabel("turn")
    return ax
