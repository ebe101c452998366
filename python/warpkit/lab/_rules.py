"""What a line's counts say of it, as Nsight Compute's rules do: and what would mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warpkit.lab._trace import Line

WARP = 32


def cost(line: Line) -> int:
    """In passes through the memory pipes, roughly: a sector is one, and so is a wavefront."""
    counts = line.counts
    return counts.excess + counts.replays + (WARP * counts.requests - counts.lanes) // WARP


def rule(line: Line) -> str:
    """The first that holds; "": none."""
    c = line.counts
    if c.requests == 0 or line.op not in ("load", "store", "atomic"):
        return _of_block(line)
    if line.op == "atomic" and c.replays >= c.lanes // 4 > 0:
        return (
            f"Contended atomics: {c.replays:,} of {c.lanes:,} lanes wait for others of their warp "
            "at the same address. Add up in the warp or in shared memory first."
        )
    if line.space == "global" and c.sectors > c.ideal_sectors:
        return _uncoalesced(line)
    if line.space == "shared" and c.wavefronts > c.ideal_wavefronts:
        return (
            f"Bank conflicts in shared memory, {c.ways:.3g}-way: {c.wavefronts:,} wavefronts where "
            f"{c.ideal_wavefronts:,} would do. Pad the array's rows by a word, or permute its "
            "columns."
        )
    if line.space == "constant" and c.wavefronts > c.requests:
        return (
            f"Constant memory gives a warp one word at a time: {c.wavefronts / c.requests:.3g} "
            "here. Let all lanes read the same word, or read from shared memory."
        )
    if c.active_lanes <= WARP * 3 / 4 and c.requests > 1:
        return (
            f"Too few lanes: {c.active_lanes:.3g} of 32 take part. Give neighbouring lanes the "
            "work, so that whole warps drop out."
        )
    return ""


def _uncoalesced(line: Line) -> str:
    c = line.counts
    wasted = 1 - c.bytes_useful / c.bytes_moved
    text = (
        f"Uncoalesced global access: {c.sectors_per_request:.3g} sectors a request where "
        f"{c.ideal_sectors / c.requests:.3g} would do; {max(wasted, 0):.0%} of the bytes moved are "
        "not asked for. "
    )
    if c.sectors - c.ideal_sectors <= c.requests:
        return text + "Let each row begin at a multiple of 32 bytes."
    return text + (
        "Let neighbouring lanes use neighbouring addresses: swap the indices, turn the tile in "
        "shared memory, or keep each member of a structure in an array of its own."
    )


def _of_block(line: Line) -> str:
    c = line.counts
    if c.divergent == 0 or c.active_lanes > WARP * 3 / 4:
        return ""
    return (
        f"Divergence: {c.divergent:,} times the lanes of a warp part here, and "
        f"{c.active_lanes:.3g} of 32 go on together. Let a condition be that of a whole warp."
    )
