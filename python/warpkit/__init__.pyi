"""What type checkers know of the package: whose arrays come back, and of which type.

NumPy's arrays, lists and numbers give NumPy's arrays; a DeviceArray or a tensor gives its own kind.
What cannot be told is Any. The docstrings are in the modules, at the functions.
"""

from collections.abc import Sequence
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from warpkit import lab as lab
from warpkit import smem as smem
from warpkit import warp as warp
from warpkit._array import DeviceArray as DeviceArray
from warpkit._array import asarray as asarray
from warpkit._array import empty as empty
from warpkit._array import empty_like as empty_like
from warpkit._array import from_dlpack as from_dlpack
from warpkit._array import full as full
from warpkit._array import zeros as zeros
from warpkit._average import Weighted as Weighted
from warpkit._bench import Bench as Bench
from warpkit._bench import Timing as Timing
from warpkit._bench import bench as bench
from warpkit._compiler import CompileError as CompileError
from warpkit._core import DeviceError as DeviceError
from warpkit._devices import Variant as Variant
from warpkit._devices import device as device
from warpkit._devices import devices as devices
from warpkit._devices import get_default_device as get_default_device
from warpkit._devices import memory_info as memory_info
from warpkit._devices import release_memory as release_memory
from warpkit._devices import set_default_device as set_default_device
from warpkit._devices import show_config as show_config
from warpkit._devices import variants as variants
from warpkit._differences import finite_difference as finite_difference
from warpkit._explain import explain as explain
from warpkit._histogram import WarpHistogram as WarpHistogram
from warpkit._kernels import Kernel as Kernel
from warpkit._kernels import Module as Module
from warpkit._kernels import RaceError as RaceError
from warpkit._kernels import Variable as Variable
from warpkit._kernels import compile as compile
from warpkit._keyed import SegmentOp
from warpkit._ops import Axis, Device, Mode, Progress, ResultT
from warpkit._partial import Partial as Partial
from warpkit._partial import merge as merge
from warpkit._partial import partial as partial
from warpkit._programs import run as run
from warpkit._reduce import Description as Description
from warpkit._reduce import Op, Ops
from warpkit._runs import RunLength as RunLength
from warpkit._runs import UniqueCounts as UniqueCounts

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
def unload_ipython_extension(shell: Any) -> None: ...

# ---- arguments and results -----------------------------------------------------------------------

class Array(Protocol):
    """An array of any library: NumPy's, a DeviceArray, a tensor."""

    def __dlpack_device__(self) -> tuple[Any, Any]: ...

Host = np.ndarray | np.generic | complex | Sequence[Any]
Real = Sequence[float] | NDArray[np.floating[Any] | np.integer[Any]]
ArrayT = TypeVar("ArrayT", bound=Array)
OutT = TypeVar("OutT", bound=Array)
FloatT = TypeVar("FloatT", bound=np.floating[Any])
InexactT = TypeVar("InexactT", bound=np.inexact[Any])
Pair = tuple[ResultT, ResultT]
Edges = int | Sequence[float] | np.ndarray | str
Range = tuple[float, float] | None

# The rows of the kernel table, by the operation whose `variant` they are.
OfReduce = Literal[
    "exact", "gmem", "gmem_unroll", "neighbored", "interleaved", "smem", "smem_dyn", "smem_unroll4",
    "smem_unroll4_dyn", "shfl", "shfl_atomic", "redux", "vectorised", "single_pass",
]  # fmt: skip
OfTranspose = Literal[
    "blocked", "copy", "naive_row", "naive_col", "naive_unroll", "diagonal", "smem", "smem_pad",
    "smem_dyn", "smem_pad_dyn", "smem_unroll", "smem_unroll_pad", "smem_unroll_pad_dyn", "swizzle",
    "vectorised", "tiles",
]  # fmt: skip
OfStencil1d = Literal[
    "lines", "gmem", "readonly", "constant", "constant_divergent", "smem_readonly", "registers",
]  # fmt: skip
OfHistogram = Literal[
    "private", "global_atomic", "smem_atomic", "smem_private", "match_any", "split", "fields",
    "planes", "runs", "counters",
]  # fmt: skip
OfWarpHistogram = Literal[
    "bitonic", "sorted_smem", "sorted_linear", "sorted_select", "fns", "match_any"
]  # fmt: skip
OfRunLength = Literal["heads"]
OfUniqueCounts = Literal["radix"]
OfDot = Literal["blocks", "products"]
OfSegmentReduce = Literal["runs", "teams"]
OfCumsum = Literal["chunks", "runs"]
OfGroup = Literal["counting", "radix"]
OfT = TypeVar("OfT", bound=str)

class Options(TypedDict, Generic[OfT], total=False):
    device: Device
    stream: Any
    variant: OfT | None
    progress: Progress

class New(Options[OfT], Generic[OfT], total=False):
    """Of a call that makes its result."""

    out: None

# ---- reductions ----------------------------------------------------------------------------------

Count = Literal["count_nonzero", "argmin", "argmax", "nanargmin", "nanargmax"]
OfFloats = Literal[
    "sum", "prod", "min", "max", "mean", "var", "std", "norm", "sumsq", "ptp", "nansum", "nanprod",
    "nanmin", "nanmax", "nanmean", "nanvar", "nanstd",
]  # fmt: skip

class Reduced(tuple[ResultT, ...]):
    """The named tuple of several ops: it has the fields that were asked for."""

    sum: ResultT
    prod: ResultT
    min: ResultT
    max: ResultT
    mean: ResultT
    var: ResultT
    std: ResultT
    norm: ResultT
    sumsq: ResultT
    any: ResultT
    all: ResultT
    count_nonzero: ResultT
    argmin: ResultT
    argmax: ResultT
    ptp: ResultT
    nansum: ResultT
    nanprod: ResultT
    nanmin: ResultT
    nanmax: ResultT
    nanmean: ResultT
    nanvar: ResultT
    nanstd: ResultT
    nanargmin: ResultT
    nanargmax: ResultT

class Folding(TypedDict, total=False):
    initial: Any
    where: Any
    ddof: float

class NewFold(New[OfReduce], Folding, total=False): ...

class NewCast(NewFold, total=False):
    dtype: DTypeLike | None

class AnyFold(Options[OfReduce], Folding, total=False):
    dtype: DTypeLike | None
    keepdims: bool

@overload
def reduce(
    a: object, /, op: Op = ..., axis: Axis = ..., *, out: OutT, **options: Unpack[AnyFold]
) -> OutT: ...
@overload
def reduce(
    a: NDArray[FloatT],
    /,
    op: OfFloats = ...,
    axis: None = ...,
    *,
    keepdims: Literal[False] = ...,
    **options: Unpack[NewFold],
) -> FloatT: ...
@overload
def reduce(  # type: ignore[overload-overlap]
    a: Host,
    /,
    op: Count,
    axis: None = ...,
    *,
    keepdims: Literal[False] = ...,
    **options: Unpack[NewFold],
) -> np.int64: ...
@overload
def reduce(
    a: Host,
    /,
    op: Op = ...,
    axis: None = ...,
    *,
    keepdims: Literal[False] = ...,
    **options: Unpack[NewCast],
) -> Any: ...
@overload
def reduce(
    a: Host, /, op: Op = ..., axis: Axis = ..., *, keepdims: bool = ..., **options: Unpack[NewCast]
) -> NDArray[Any]: ...
@overload
def reduce(
    a: Host, /, op: Ops, axis: Axis = ..., *, keepdims: bool = ..., **options: Unpack[NewCast]
) -> Reduced[Any]: ...
@overload
def reduce(
    a: ArrayT,
    /,
    op: Op = ...,
    axis: Axis = ...,
    *,
    keepdims: bool = ...,
    **options: Unpack[NewCast],
) -> ArrayT: ...
@overload
def reduce(
    a: ArrayT, /, op: Ops, axis: Axis = ..., *, keepdims: bool = ..., **options: Unpack[NewCast]
) -> Reduced[ArrayT]: ...
@overload
def reduce(
    a: object,
    /,
    op: Op | Ops = ...,
    axis: Axis = ...,
    *,
    out: Any = ...,
    **options: Unpack[AnyFold],
) -> Any: ...

class Describing(Options[OfReduce], total=False):
    ddof: float
    keepdims: bool

@overload
def describe(a: Host, /, axis: Axis = ..., **options: Unpack[Describing]) -> Description[Any]: ...
@overload
def describe(
    a: ArrayT, /, axis: Axis = ..., **options: Unpack[Describing]
) -> Description[ArrayT]: ...
@overload
def describe(a: object, /, axis: Axis = ..., **options: Unpack[Describing]) -> Description[Any]: ...

# ---- transposes ----------------------------------------------------------------------------------

class Where(TypedDict, total=False):
    device: Device
    stream: Any

Axes = Sequence[int] | None
Moved = int | Sequence[int]

@overload
def transpose(
    a: object, /, axes: Axes = ..., *, out: OutT, **options: Unpack[Options[OfTranspose]]
) -> OutT: ...
@overload
def transpose(a: ArrayT, /, axes: Axes = ..., **options: Unpack[New[OfTranspose]]) -> ArrayT: ...
@overload
def transpose(
    a: object, /, axes: Axes = ..., *, out: Any = ..., **options: Unpack[Options[OfTranspose]]
) -> Any: ...
@overload
def moveaxis(
    a: ArrayT, /, source: Moved, destination: Moved, *, out: None = ..., **options: Unpack[Where]
) -> ArrayT: ...
@overload
def moveaxis(
    a: object, /, source: Moved, destination: Moved, *, out: Any = ..., **options: Unpack[Where]
) -> Any: ...
@overload
def swapaxes(
    a: ArrayT, /, axis1: int, axis2: int, *, out: None = ..., **options: Unpack[Where]
) -> ArrayT: ...
@overload
def swapaxes(
    a: object, /, axis1: int, axis2: int, *, out: Any = ..., **options: Unpack[Where]
) -> Any: ...
@overload
def ascontiguousarray(a: ArrayT, /, **options: Unpack[Where]) -> ArrayT: ...
@overload
def ascontiguousarray(a: object, /, **options: Unpack[Where]) -> Any: ...

# ---- stencils ------------------------------------------------------------------------------------

class Beyond(Options[OfStencil1d], total=False):
    mode: Mode
    cval: complex
    origin: int
    accumulate: DTypeLike | None

@overload
def stencil1d(
    a: object, /, coefficients: ArrayLike, axis: int = ..., *, out: OutT, **options: Unpack[Beyond]
) -> OutT: ...
@overload
def stencil1d(
    a: ArrayT,
    /,
    coefficients: Real,
    axis: int = ...,
    *,
    output: None = ...,
    out: None = ...,
    **options: Unpack[Beyond],
) -> ArrayT: ...
@overload
def stencil1d(
    a: Host,
    /,
    coefficients: ArrayLike,
    axis: int = ...,
    *,
    output: DTypeLike | None = ...,
    out: None = ...,
    **options: Unpack[Beyond],
) -> NDArray[Any]: ...
@overload
def stencil1d(
    a: object,
    /,
    coefficients: ArrayLike,
    axis: int = ...,
    *,
    output: Any = ...,
    out: Any = ...,
    **options: Unpack[Beyond],
) -> Any: ...

convolve1d = stencil1d

class Difference(Where, total=False):
    derivative: int
    accuracy: int
    accumulate: DTypeLike | None

@overload
def gradient1d(
    a: object, /, h: float = ..., axis: int = ..., *, out: OutT, **options: Unpack[Difference]
) -> OutT: ...
@overload
def gradient1d(
    a: NDArray[InexactT], /, h: float = ..., axis: int = ..., **options: Unpack[Difference]
) -> NDArray[InexactT]: ...
@overload
def gradient1d(
    a: Host, /, h: float = ..., axis: int = ..., **options: Unpack[Difference]
) -> NDArray[np.float64]: ...
@overload
def gradient1d(
    a: ArrayT, /, h: float = ..., axis: int = ..., **options: Unpack[Difference]
) -> ArrayT: ...
@overload
def gradient1d(
    a: object, /, h: float = ..., axis: int = ..., *, out: Any = ..., **options: Unpack[Difference]
) -> Any: ...

# ---- histograms and runs -------------------------------------------------------------------------

class Counting(Options[OfHistogram], total=False):
    nan: Literal["raise", "ignore"]
    out: Any

@overload
def histogram(
    a: Host,
    /,
    bins: Edges = ...,
    range: Range = ...,
    density: Literal[False] | None = ...,
    weights: None = ...,
    **options: Unpack[Counting],
) -> tuple[NDArray[np.int64], NDArray[Any]]: ...
@overload
def histogram(
    a: Host,
    /,
    bins: Edges = ...,
    range: Range = ...,
    density: bool | None = ...,
    weights: Any = ...,
    **options: Unpack[Counting],
) -> Pair[NDArray[Any]]: ...
@overload
def histogram(
    a: ArrayT,
    /,
    bins: Edges = ...,
    range: Range = ...,
    density: bool | None = ...,
    weights: Any = ...,
    **options: Unpack[Counting],
) -> Pair[ArrayT]: ...
@overload
def histogram(
    a: object,
    /,
    bins: Edges = ...,
    range: Range = ...,
    density: bool | None = ...,
    weights: Any = ...,
    **options: Unpack[Counting],
) -> Pair[Any]: ...
@overload
def bincount(
    a: object,
    /,
    weights: Any = ...,
    minlength: int = ...,
    *,
    out: OutT,
    **options: Unpack[Options[OfHistogram]],
) -> OutT: ...
@overload
def bincount(
    a: Host, /, weights: None = ..., minlength: int = ..., **options: Unpack[New[OfHistogram]]
) -> NDArray[np.int64]: ...
@overload
def bincount(
    a: Host, /, weights: Any = ..., minlength: int = ..., **options: Unpack[New[OfHistogram]]
) -> NDArray[Any]: ...
@overload
def bincount(
    a: ArrayT, /, weights: Any = ..., minlength: int = ..., **options: Unpack[New[OfHistogram]]
) -> ArrayT: ...
@overload
def bincount(
    a: object,
    /,
    weights: Any = ...,
    minlength: int = ...,
    *,
    out: Any = ...,
    **options: Unpack[Options[OfHistogram]],
) -> Any: ...

class Sorted(Options[OfWarpHistogram], total=False):
    assume_sorted: bool
    out: tuple[Any, Any, Any] | None

@overload
def warp_histogram(a: Host, /, **options: Unpack[Sorted]) -> WarpHistogram[NDArray[Any]]: ...
@overload
def warp_histogram(a: ArrayT, /, **options: Unpack[Sorted]) -> WarpHistogram[ArrayT]: ...
@overload
def warp_histogram(a: object, /, **options: Unpack[Sorted]) -> WarpHistogram[Any]: ...
@overload
def run_length(a: Host, /, **options: Unpack[Options[OfRunLength]]) -> RunLength[NDArray[Any]]: ...
@overload
def run_length(a: ArrayT, /, **options: Unpack[Options[OfRunLength]]) -> RunLength[ArrayT]: ...
@overload
def run_length(a: object, /, **options: Unpack[Options[OfRunLength]]) -> RunLength[Any]: ...
@overload
def unique_counts(
    a: Host, /, **options: Unpack[Options[OfUniqueCounts]]
) -> UniqueCounts[NDArray[Any]]: ...
@overload
def unique_counts(
    a: ArrayT, /, **options: Unpack[Options[OfUniqueCounts]]
) -> UniqueCounts[ArrayT]: ...
@overload
def unique_counts(
    a: object, /, **options: Unpack[Options[OfUniqueCounts]]
) -> UniqueCounts[Any]: ...

# ---- products, prefixes, keys --------------------------------------------------------------------

@overload
def dot(
    a: object, b: object, /, axis: int | None = ..., *, out: OutT, **options: Unpack[Options[OfDot]]
) -> OutT: ...
@overload
def dot(
    a: NDArray[InexactT], b: NDArray[InexactT], /, axis: None = ..., **options: Unpack[New[OfDot]]
) -> InexactT: ...
@overload
def dot(a: Host, b: Host, /, axis: int | None = ..., **options: Unpack[New[OfDot]]) -> Any: ...
@overload
def dot(
    a: ArrayT, b: ArrayT, /, axis: int | None = ..., **options: Unpack[New[OfDot]]
) -> ArrayT: ...
@overload
def dot(
    a: object,
    b: object,
    /,
    axis: int | None = ...,
    *,
    out: Any = ...,
    **options: Unpack[Options[OfDot]],
) -> Any: ...

vdot = dot

class Averaging(Options[OfDot], total=False):
    keepdims: bool

@overload
def average(
    a: NDArray[InexactT],
    /,
    axis: None = ...,
    weights: NDArray[InexactT] | None = ...,
    returned: Literal[False] = ...,
    *,
    keepdims: Literal[False] = ...,
    **options: Unpack[Options[OfDot]],
) -> InexactT: ...
@overload
def average(
    a: Host,
    /,
    axis: Axis = ...,
    weights: Host | None = ...,
    returned: Literal[False] = ...,
    **options: Unpack[Averaging],
) -> Any: ...
@overload
def average(
    a: ArrayT,
    /,
    axis: Axis = ...,
    weights: object = ...,
    returned: Literal[False] = ...,
    **options: Unpack[Averaging],
) -> ArrayT: ...
@overload
def average(
    a: object,
    /,
    axis: Axis = ...,
    weights: object = ...,
    returned: bool = ...,
    **options: Unpack[Averaging],
) -> Any: ...
@overload
def cumsum(
    a: object,
    /,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    *,
    out: OutT,
    **options: Unpack[Options[OfCumsum]],
) -> OutT: ...
@overload
def cumsum(
    a: NDArray[InexactT],
    /,
    axis: int | None = ...,
    dtype: None = ...,
    out: None = ...,
    **options: Unpack[Options[OfCumsum]],
) -> NDArray[InexactT]: ...
@overload
def cumsum(
    a: Host,
    /,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    **options: Unpack[Options[OfCumsum]],
) -> NDArray[Any]: ...
@overload
def cumsum(
    a: ArrayT,
    /,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    **options: Unpack[Options[OfCumsum]],
) -> ArrayT: ...
@overload
def cumsum(
    a: object,
    /,
    axis: int | None = ...,
    dtype: DTypeLike | None = ...,
    out: Any = ...,
    **options: Unpack[Options[OfCumsum]],
) -> Any: ...

nancumsum = cumsum

class Spread(Options[OfT], Generic[OfT], total=False):
    ddof: float

@overload
def segment_reduce(
    a: Host, offsets: Any, /, op: SegmentOp = ..., **options: Unpack[Spread[OfSegmentReduce]]
) -> NDArray[Any]: ...
@overload
def segment_reduce(
    a: ArrayT, offsets: Any, /, op: SegmentOp = ..., **options: Unpack[Spread[OfSegmentReduce]]
) -> ArrayT: ...
@overload
def segment_reduce(
    a: object, offsets: Any, /, op: SegmentOp = ..., **options: Unpack[Spread[OfSegmentReduce]]
) -> Any: ...
@overload
def group_reduce(
    keys: Host,
    a: Host,
    /,
    op: SegmentOp = ...,
    groups: int | None = ...,
    **options: Unpack[Spread[OfGroup]],
) -> NDArray[Any]: ...
@overload
def group_reduce(
    keys: object,
    a: ArrayT,
    /,
    op: SegmentOp = ...,
    groups: int | None = ...,
    **options: Unpack[Spread[OfGroup]],
) -> ArrayT: ...
@overload
def group_reduce(
    keys: object,
    a: object,
    /,
    op: SegmentOp = ...,
    groups: int | None = ...,
    **options: Unpack[Spread[OfGroup]],
) -> Any: ...
