from typing import Any

import numpy as np
from numpy.typing import ArrayLike

class DeviceError(RuntimeError): ...

def asarray(a: ArrayLike, /) -> np.ndarray: ...
def reduce(
    a: ArrayLike,
    op: str,
    axis: int | tuple[int, ...] | None,
    keepdims: bool,
    device: str | None,
    variant: str | None,
    /,
) -> Any: ...
def transpose(
    a: ArrayLike, axes: Any, device: str | None, variant: str | None, /
) -> np.ndarray: ...
def stencil1d(
    a: ArrayLike,
    coefficients: ArrayLike,
    axis: int,
    mode: str,
    cval: float,
    origin: int,
    device: str | None,
    variant: str | None,
    /,
) -> np.ndarray: ...
def histogram(
    a: ArrayLike,
    kind: str,
    bins: int,
    edges: np.ndarray | None,
    interval: tuple[float, float, float],
    limits: tuple[int, int],
    device: str | None,
    variant: str | None,
    /,
) -> np.ndarray: ...
def warp_histogram(
    a: ArrayLike, assume_sorted: bool, device: str | None, variant: str | None, /
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...
def rows() -> list[tuple[str, str, str, list[str], bool, str]]: ...
def devices() -> list[str]: ...
def device_info(device: str | None, /) -> dict[str, Any]: ...
def trim(device: str | None, /) -> None: ...
def set_default_device(device: str | None, /) -> None: ...
def config() -> dict[str, Any]: ...
