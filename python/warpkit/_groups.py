"""Partials of groups: one result for the elements of each key."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from warpkit import _core
from warpkit._array import on_host
from warpkit._keyed import check_groups, check_keys, raise_stray

PADDED = 4096  # elements: groups of up to so many are filled up to a power of two
AT_ONCE = 1 << 21  # elements of the rows that groups become


def host_keys(keys: Any, a: Any, groups: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Keys that are checked, and elements, both flat and on the host."""
    if groups is None:
        raise TypeError("groups must say how many keys there may be: other parts may have more")
    groups = check_groups(groups)
    keys, a = (on_host(_core.operand(x)[0]) for x in (keys, a))  # CuPy's too
    check_keys(keys, a)
    keys, a = keys.reshape(-1), a.reshape(-1)
    stray = (keys < 0) | (keys >= groups)
    if stray.any():
        raise_stray(keys, int(stray.argmax()), groups)
    return keys.astype(np.int64, copy=False), a, groups


def words_of_groups(
    words_of: Callable[[np.ndarray, Any, np.ndarray], np.ndarray],
    keys: np.ndarray,
    a: np.ndarray,
    words: np.ndarray,
) -> None:
    """Set the words of each group that has an element.

    Groups of about the same length are the rows of a matrix; words_of gives the words of its rows,
    of the elements that a mask, or True, has, and where these lie in a. The last element of a group
    stands where the mask has none, so that it changes no extreme, nor its first place.
    """
    counts = np.bincount(keys, minlength=len(words))
    first = np.cumsum(counts) - counts
    order = np.argsort(keys, kind="stable")
    widths = np.where(counts > PADDED, counts, 1 << np.ceil(np.log2(counts.clip(1))).astype(int))
    widths[counts == 0] = 0
    for width in np.unique(widths[widths > 0]).tolist():
        those = np.flatnonzero(widths == width)
        for some in np.array_split(those, math.ceil(len(those) * width / AT_ONCE)):
            columns, lengths = np.arange(width), counts[some, None]
            there = columns < lengths
            index = order[first[some, None] + np.minimum(columns, lengths - 1)]
            words[some] = words_of(a[index], True if there.all() else there, index)
