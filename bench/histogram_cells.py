"""The cells of bench/histogram.py: dtypes, bins, what is to be reached, and what a peer calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import warpkit
from common import Run

Array = Any  # CuPy's, PyTorch's or warpkit's

FIRST, LAST = -3.0, 3.0  # the range of floats
EDGES = "on the edges"
SPREAD = ("uniform", "equal", "sorted", "Zipf", EDGES)  # data of floats
FEW_DATA = ("uniform", "equal", "Zipf")
WIDE = "uniform, weights of all exponents"


# CUB gives each block a table of all bins in memory: a run with 10^7 of them ended in a fault.
MOST_OF_CUB = 2**20


class Values(NamedTuple):
    """Integers that are their bins themselves."""

    dtype: str
    bins: int
    target: float | None = None  # GB/s, of uniform data
    worst: float | None = None  # of any other, where that is another

    def to_reach(self, data: str) -> float | None:
        return self.target if data == "uniform" or self.worst is None else self.worst


VALUES = (
    Values("uint8", 256, 3000),
    Values("int32", 256, 3000),
    Values("int64", 256),
    Values("int32", 4096, 3000),
    Values("uint16", 4096, 3000),
    Values("int32", 57_000, 2850),
    Values("int32", 2**16, 2700),
    Values("uint16", 2**16, 2000, 1400),
    Values("int32", 2**17, 2550),
    Values("int32", 2**18, 2250),
    Values("int32", 2**19, 2000, 1400),
    Values("int32", 2**20, 1350, 850),
    Values("int32", 10_000_000),
)


class Equal(NamedTuple):
    """Equal bins of a range."""

    dtype: str
    bins: int
    first: float
    last: float
    target: float | None = None


EQUAL = (
    Equal("float32", 100, FIRST, LAST, 3000),
    Equal("float64", 100, FIRST, LAST, 3000),
    Equal("float16", 100, FIRST, LAST),
    Equal("bfloat16", 100, FIRST, LAST),
    Equal("int64", 100, 0, 1000),
)

BETWEEN = (("float32", 100), ("float64", 1000))  # dtype, edges


class Weighted(NamedTuple):
    dtype: str  # of the weights; elements are int32
    bins: int
    data: tuple[str, ...] = FEW_DATA
    target: float | None = None


WEIGHTED = (
    Weighted("float32", 256, (*SPREAD[:4], "half one value", WIDE), 2800),
    Weighted("float64", 256),
    Weighted("float32", 4096),
    Weighted("float64", 4096),
    Weighted("float32", 2**20),
    Weighted("float64", 2**20),
)


class Groups(NamedTuple):
    """What warp_histogram counts: groups of 32."""

    dtype: str
    ordered: bool
    distinct: int  # values in a group, at most
    target: float | None = None  # share of a copy

    @property
    def case(self) -> str:
        return f"{'sorted' if self.ordered else 'unsorted'}, at most {self.distinct} values"


GROUPS = (
    *(Groups("int32", True, distinct, 0.95) for distinct in (1, 4, 32)),
    *(Groups("int32", False, distinct, 0.9) for distinct in (1, 4, 32)),
    *(Groups("int64", ordered, 32) for ordered in (True, False)),
)

RUNS = (1, 10, 1000)  # lengths
DISTINCT = (256, 2**16, 2**20)

SIZES = tuple(2**k for k in range(0, 25, 2))
SMALL = (256, 2**16, 2**20)  # bins


# ---------------------------------------------------------------------------- calls


def count(
    a: Array,
    bins: int,
    weights: Array | None = None,
    variant: str | None = None,
) -> Array:
    """The counting alone: of integers below bins, which are given. Nothing is waited for."""
    sums = None if weights is None else np.dtype(np.float64)
    options = None, None, None, variant, None
    return warpkit._core.histogram(
        a, "values", bins, None, None, weights, sums, False, False, *options
    )


def irregular(dtype: str, edges: int) -> np.ndarray:
    """So many edges from FIRST to LAST, the widest bin a hundred times as wide as the narrowest."""
    widths = np.random.default_rng(edges).uniform(1, 100, edges - 1)
    places = FIRST + (LAST - FIRST) * np.concatenate([[0], np.cumsum(widths) / widths.sum()])
    return places.astype(dtype)


def of_torch_between(torch: Any, tensor: Array, edges: np.ndarray) -> Run:
    """PyTorch's histogram of given edges is the CPU's; this is how one does without."""
    there = torch.asarray(edges).to(tensor.device, tensor.dtype)
    bins = len(edges) + 1

    def run() -> Array:
        return torch.bincount(torch.bucketize(tensor, there, right=True), minlength=bins)

    return run
