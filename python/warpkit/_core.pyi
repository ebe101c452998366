from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

Stream = int | tuple[int, object]

class DeviceError(RuntimeError): ...

class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def _pointer(self) -> int: ...
    @property
    def _stream(self) -> int: ...
    @property
    def _stream_owner(self) -> Any: ...
    @property
    def _owner(self) -> Any: ...
    def _view(
        self, start: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, /
    ) -> Any: ...
    def _numpy(self) -> np.ndarray: ...
    def _copy_from(self, other: DeviceArray, /) -> None: ...
    def _copy_to(self, array: np.ndarray, /) -> None: ...
    def _lend(self, writes: bool, /) -> tuple[int, int, int, int]: ...
    def _follow(self, stream: int, /) -> None: ...
    def _lead(self, stream: int, /) -> None: ...
    def _wait(self) -> None: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...

def reduce(
    a: ArrayLike,
    op: str | tuple[str, ...],
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: DTypeLike | None,
    initial: Any,
    where: Any,
    ddof: float,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def partial(
    a: ArrayLike,
    op: str | tuple[str, ...],
    axis: int | tuple[int, ...] | None,
    initial: Any,
    where: Any,
    out: None,
    device: str | None,
    stream: Stream | None,
    variant: str | None,
    progress: Any,
    /,
) -> tuple[Any, np.ndarray]: ...
def finish(
    words: np.ndarray,
    op: str | tuple[str, ...],
    dtype: DTypeLike,
    ddof: float,
    out: DTypeLike | None,
    /,
) -> tuple[np.ndarray, ...]: ...
def carry(words: np.ndarray, first: int, count: int, modulo: bool, /) -> bool: ...
def explain_transpose(
    a: ArrayLike,
    axes: Sequence[int] | None,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> str: ...
def explain_reduce(
    a: ArrayLike,
    op: str | tuple[str, ...],
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    dtype: DTypeLike | None,
    initial: Any,
    where: Any,
    ddof: float,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> list[str]: ...
def transpose(
    a: ArrayLike,
    axes: Any,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def stencil1d(
    a: ArrayLike,
    coefficients: ArrayLike,
    axis: int,
    mode: str,
    cval: complex,
    origin: int,
    output: DTypeLike | None,
    accumulate: DTypeLike | None,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def histogram(
    a: ArrayLike,
    kind: str,
    bins: int,
    edges: Any,
    uniform: tuple[Any, ...] | None,
    weights: ArrayLike | None,
    sums: DTypeLike | tuple[DTypeLike, str] | None,
    outside: bool,
    pair: bool,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def partial_weights(
    a: ArrayLike,
    kind: str,
    bins: int,
    edges: np.ndarray | None,
    uniform: tuple[Any, ...] | None,
    weights: ArrayLike | None,
    sums: DTypeLike | None,
    outside: bool,
    pair: bool,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> np.ndarray: ...
def warp_histogram(
    a: ArrayLike,
    assume_sorted: bool,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any, Any]: ...
def run_length(
    a: ArrayLike,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any, Any]: ...
def unique_counts(
    a: ArrayLike,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any, Any]: ...
def dot(
    a: ArrayLike,
    b: ArrayLike,
    conjugate: bool,
    whole: bool,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def segment_reduce(
    a: ArrayLike,
    op: str,
    ddof: float,
    dtype: DTypeLike | None,
    offsets: Any,
    order: Any,
    mask: int,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, int, int]: ...
def group(
    keys: ArrayLike,
    groups: int,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any, int, int]: ...
def cumsum(
    a: ArrayLike,
    skip_nan: bool,
    dtype: DTypeLike | None,
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
def operand(a: Any, /) -> tuple[Any, Any]: ...
def empty(shape: Any, dtype: DTypeLike, device: str | None, stream: Stream, /) -> Any: ...
def unmasked(a: Any, /) -> Any: ...
def upload(array: np.ndarray, to: DeviceArray, /) -> None: ...
def foreign(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    typestr: str,
    readonly: bool,
    stream: int | None,
    stream_owner: object,
    ordinal: int,
    owner: object,
    /,
) -> Any: ...
def to_dlpack(array: DeviceArray, versioned: bool, copied: bool, /) -> Any: ...
def from_dlpack(capsule: Any, stream: int | None, /) -> Any: ...
def register(
    array_type: type[DeviceArray],
    adopt: Callable[[Any], Any],
    choose: Callable[[str, int, int], str],
    /,
) -> None: ...
def call(function: int, argument: int, /) -> int: ...
def rows() -> list[tuple[str, str, str, list[str], bool, str]]: ...
def devices() -> list[str]: ...
def device_info(device: str | None, /) -> dict[str, Any]: ...
def trim(device: str | None, /) -> None: ...
def default_device() -> str | tuple[str, ...]: ...
def check_device(device: Any, /) -> None: ...

scope: ContextVar[Any]

def set_default_device(device: Any, /) -> None: ...
def config() -> dict[str, Any]: ...
def settings() -> list[tuple[str, str | None, str, str]]: ...
def read_settings() -> None: ...
def smem_tile(
    a: ArrayLike,
    turned: bool,
    pad: int,
    repeats: int,
    out: None,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any]: ...
def lane_reads(
    words: np.ndarray,
    item: int,
    repeats: int,
    out: None,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> tuple[Any, Any]: ...
def lanes(
    op: str,
    kind: str,
    a: ArrayLike,
    width: int,
    operand: int,
    sources: np.ndarray | None,
    other: tuple[int, int, int],
    out: Any,
    device: Any,
    stream: Stream | None,
    variant: str | None,
    counter: np.ndarray | None,
    /,
) -> Any: ...
