"""What bench/histogram.py counts, and what is right: histogram_data.cu by CuPy."""

from __future__ import annotations

from typing import Any

import common
import numpy as np

Array = Any  # CuPy's

# in the order of histogram_data.cu's enum
DATA = (
    *("uniform", "equal", "sorted", "Zipf", "half one value", "two alternating"),
    "multiples of 32",
)
BLOCK, PER_SM = 256, 8  # threads, blocks: all that a multiprocessor holds
WORDS = 67  # of 32 bits, of an exact sum of float64
LOOKED_AT = 1024  # sums that are compared, of all the bins

C_NAMES = {"uint8": "unsigned char", "uint16": "unsigned short", "int32": "int"}
C_NAMES |= {"int64": "long long", "float32": "float", "float64": "double"}
HALVES = ("float16", "bfloat16")
TEMPLATES = {
    "draw": ("uint8", "uint16", "int32", "int64"),
    "draw_between": ("int64", "float32", "float64"),
    "pick": ("uint16", "int64", "float32", "float64"),
    "draw_groups": ("int32", "int64"),
    "draw_runs": ("int32", "int64"),
    "count": ("uint8", "uint16", "int32", "int64"),
    "count_between": ("int64", "float32", "float64"),
    "add_exactly": ("float32", "float64"),
    "wrong_groups": ("int32", "int64"),
    "wrong_runs": ("int32", "int64"),
}
PLAIN = ("weights_of_4", "weights_of_8", "read_all")


def instance(name: str, dtype: Any) -> str:
    return f"{name}<{C_NAMES[np.dtype(dtype).name]}>"


class Data:
    """The kernels of histogram_data.cu."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        names = [instance(name, dtype) for name, dtypes in TEMPLATES.items() for dtype in dtypes]
        text = (common.ROOT / "bench" / "histogram_data.cu").read_text()
        module = cupy.RawModule(
            code=text, options=("-std=c++17",), name_expressions=[*names, *PLAIN]
        )
        self.kernels = {name: module.get_function(name) for name in (*names, *PLAIN)}
        self.blocks = PER_SM * cupy.cuda.Device().attributes["MultiProcessorCount"]
        self.never = cupy.zeros(1, "uint32")

    def launch(self, name: str, *arguments: Any) -> None:
        self.kernels[name]((self.blocks,), (BLOCK,), arguments)

    # ---- what is counted

    def draw(self, a: Array, data: str, bins: int) -> None:
        """Integers below bins."""
        name = instance("draw", a.dtype)
        self.launch(name, a, np.int64(a.size), np.int32(DATA.index(data)), np.uint32(bins))

    def draw_between(self, a: Array, data: str, edges: np.ndarray) -> None:
        """Numbers from the first edge to the last; "on the edges": those and what is beside."""
        n, out = np.int64(a.size), bits(a)
        if data != "on the edges" and out is a:
            wide, bins = self.cupy.asarray(edges.astype(float)), np.uint32(len(edges) - 1)
            which = np.int32(DATA.index(data))
            return self.launch(instance("draw_between", a.dtype), a, n, which, bins, wide)
        table, which = within(edges, a.dtype), np.int32(DATA.index("uniform"))
        if data == "on the edges":
            table = near(edges, a.dtype)
        else:
            which = np.int32(DATA.index(data))
        values, name = self.cupy.asarray(bits(table)), instance("pick", out.dtype)
        return self.launch(name, out, n, which, np.uint32(len(table)), values)

    def weigh(self, weights: Array, wide: bool) -> None:
        """Floats in [-1, 1); or of all exponents."""
        name = f"weights_of_{weights.itemsize}"
        self.launch(name, weights, np.int64(weights.size), np.int32(wide))

    def draw_groups(self, a: Array, distinct: int, ordered: bool) -> None:
        name = instance("draw_groups", a.dtype)
        self.launch(name, a, np.int64(a.size), np.uint32(distinct), np.int32(ordered))

    def draw_runs(self, a: Array, length: int) -> None:
        self.launch(instance("draw_runs", a.dtype), a, np.int64(a.size), np.uint32(length))

    # ---- what is right

    def count(self, a: Array, bins: int) -> Array:
        counts = self.cupy.zeros(bins, "uint32")
        self.launch(instance("count", a.dtype), a, np.int64(a.size), counts)
        return counts

    def count_between(self, a: Array, edges: np.ndarray) -> Array:
        """As numpy.histogram counts; of floats of 16 bits, into equal bins."""
        bins = len(edges) - 1
        if bits(a) is not a:  # each value that there is by NumPy itself
            times = self.cupy.asnumpy(self.count(bits(a), 2**16)).astype("int64")
            values, met = np.arange(2**16, dtype="uint16").view(a.dtype), times > 0
            ends = float(edges[0]), float(edges[-1])
            return self.cupy.asarray(np.histogram(values[met], bins, ends, None, times[met])[0])
        wide, counts = self.cupy.asarray(edges.astype(float)), self.cupy.zeros(bins, "uint32")
        name = instance("count_between", a.dtype)
        self.launch(name, a, np.int64(a.size), np.uint32(bins), wide, counts)
        return counts

    def sums(self, a: Array, weights: Array, bins: int) -> tuple[slice, np.ndarray]:
        """Of some bins, the exact sums, rounded once to float64."""
        words = self.cupy.zeros((bins, WORDS), "int64")
        name = instance("add_exactly", weights.dtype)
        self.launch(name, a, weights, np.int64(a.size), np.int32(WORDS), words)
        some = slice(None, None, -(-bins // LOOKED_AT))
        found = self.cupy.asnumpy(words[some])
        exact = (sum(int(x) << 32 * k for k, x in enumerate(row) if x) for row in found)
        return some, np.array([x / (1 << 1074) for x in exact])

    def wrong_groups(self, a: Array, results: tuple[Array, Array, Array], ordered: bool) -> int:
        """How many groups of 32 warp_histogram did not count rightly."""
        wrong = self.cupy.zeros(1, "uint32")
        values, counts, totals = map(self.cupy.asarray, results)
        name, groups = instance("wrong_groups", a.dtype), np.int64(a.size // 32)
        self.launch(name, a, groups, values, counts, totals, np.int32(ordered), wrong)
        return int(wrong[0])

    def wrong_runs(self, a: Array, values: Array, counts: Array) -> int:
        """How many elements are not what run_length says."""
        wrong = self.cupy.zeros(1, "uint32")
        values, counts = self.cupy.asarray(values), self.cupy.asarray(counts)
        ends = self.cupy.cumsum(counts)
        if int(ends[-1]) != a.size:
            return int(a.size)
        name, starts = instance("wrong_runs", a.dtype), ends - counts
        self.launch(name, a, np.int64(a.size), values, starts, np.int64(starts.size), wrong)
        return int(wrong[0])

    # ---- what the memory gives

    def read(self, source: Array, nbytes: int) -> None:
        self.launch("read_all", source, np.int64(nbytes // 16), self.never)


def bits(a: Any) -> Any:
    """Floats of 16 bits as integers; what is neither CuPy's nor NumPy's to compute with."""
    return a.view("uint16") if a.dtype.itemsize == 2 and a.dtype.kind not in "iu" else a


def near(edges: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Edges and the numbers right beside them."""
    own = edges.astype(dtype)
    if dtype.kind == "i":
        return np.concatenate([own - 1, own, own + 1])
    one = dtype.type(1)
    lower, upper = np.nextafter(own, own - one), np.nextafter(own, own + one)
    if dtype.itemsize > 2:  # CuPy compiles kernels that take subnormal float32 for zero
        tiny = np.finfo(dtype).tiny
        lower[(lower < 0) & (lower > -tiny)], upper[(upper > 0) & (upper < tiny)] = -tiny, tiny
    return np.concatenate([own, lower, upper])


def within(edges: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers from the first edge to the last, ascending."""
    first, last = float(edges[0]), float(edges[-1])
    return np.sort(np.random.default_rng(0).uniform(first, last, 2**14)).astype(dtype)
