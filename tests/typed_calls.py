"""What type checkers must infer of calls. Never run."""

from typing import Any, assert_type

import numpy as np
import warpkit
from numpy.typing import NDArray
from warpkit import Description, DeviceArray, RunLength, UniqueCounts, WarpHistogram


class Tensor:
    """An array of another library."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def of_numpy(f: NDArray[np.float32], i: NDArray[np.int32], c: NDArray[np.complex64]) -> None:
    assert_type(warpkit.reduce(f), np.float32)
    assert_type(warpkit.reduce(f, "nanstd", where=f > 0), np.float32)
    assert_type(warpkit.reduce(f, "argmax"), np.int64)
    assert_type(warpkit.reduce(i, "sum"), Any)
    assert_type(warpkit.reduce(f, variant="smem_unroll4"), np.float32)
    assert_type(warpkit.reduce(f, "sum", 0), NDArray[Any])
    assert_type(warpkit.reduce(f, "argmax", axis=0), NDArray[Any])
    assert_type(warpkit.reduce(f, keepdims=True), NDArray[Any])
    assert_type(warpkit.reduce(i, ("min", "max"), 0).max, Any)
    assert_type(warpkit.reduce([1, 2], "sum", 0), NDArray[Any])
    assert_type(warpkit.reduce(f, "sum", 0, out=i), NDArray[np.int32])
    assert_type(warpkit.describe(f, 0), Description[Any])
    assert_type(warpkit.transpose(f), NDArray[np.float32])
    assert_type(warpkit.swapaxes(c, 0, 1), NDArray[np.complex64])
    assert_type(warpkit.stencil1d(f, [1, 2, 1]), NDArray[np.float32])
    assert_type(warpkit.stencil1d(f, [1j]), NDArray[Any])
    assert_type(warpkit.convolve1d(f, [1.0], output="float64"), NDArray[Any])
    assert_type(warpkit.gradient1d(i), NDArray[np.float64])
    assert_type(warpkit.histogram(f), tuple[NDArray[np.int64], NDArray[Any]])
    assert_type(warpkit.histogram(f, weights=f), tuple[NDArray[Any], NDArray[Any]])
    assert_type(warpkit.bincount(i), NDArray[np.int64])
    assert_type(warpkit.warp_histogram(i).totals, NDArray[Any])
    assert_type(warpkit.run_length(i), RunLength[NDArray[Any]])
    assert_type(warpkit.dot(c, c), np.complex64)
    assert_type(warpkit.vdot(c, c, 0), Any)
    assert_type(warpkit.average(f, weights=f), np.float32)
    assert_type(warpkit.cumsum(f), NDArray[np.float32])
    assert_type(warpkit.cumsum(i), NDArray[Any])
    assert_type(warpkit.segment_reduce(f, [0, 2]), NDArray[Any])
    assert_type(warpkit.group_reduce(i, f, "mean"), NDArray[Any])
    assert_type(warpkit.asarray(f), DeviceArray)


def of_a_device(a: DeviceArray) -> None:
    assert_type(warpkit.reduce(a), DeviceArray)
    assert_type(warpkit.reduce(a, ("min", "max")).min, DeviceArray)
    assert_type(warpkit.describe(a).mean, DeviceArray)
    assert_type(warpkit.transpose(a, (1, 0)), DeviceArray)
    assert_type(warpkit.histogram(a), tuple[DeviceArray, DeviceArray])
    assert_type(warpkit.warp_histogram(a), WarpHistogram[DeviceArray])
    assert_type(warpkit.dot(a, a), DeviceArray)
    assert_type(warpkit.average(a, 0, a), DeviceArray)
    assert_type(warpkit.group_reduce(a, a, "max"), DeviceArray)
    assert_type(a.reshape(-1).sum(), DeviceArray)
    assert_type(a.T[0].numpy(), NDArray[Any])


def of_each_variant(f: NDArray[np.float32]) -> None:
    for row in warpkit.variants("transpose"):
        assert_type(warpkit.transpose(f, variant=row.name), NDArray[np.float32])


def of_another_library(t: Tensor) -> None:
    assert_type(warpkit.reduce(t, "max", 0), Tensor)
    _, high = warpkit.reduce(t, ("min", "max"))
    assert_type(high, Tensor)
    assert_type(warpkit.stencil1d(t, [0.5, 0.5]), Tensor)
    assert_type(warpkit.unique_counts(t), UniqueCounts[Tensor])
    assert_type(warpkit.cumsum(t), Tensor)


def of_what_is_not_known(a: Any) -> None:
    assert_type(float(warpkit.reduce(a, "max", 0)), float)
    assert_type(warpkit.transpose(a).sum(), Any)
