"""Calls that a type checker must refuse: mypy warns of comments in vain. Never run."""

import numpy as np
import warpkit

a = np.ones((3, 4), np.float32)

warpkit.reduce(a, "summ")  # type: ignore[call-overload]
warpkit.reduce(a, ("min", "maximum"))  # type: ignore[arg-type]
warpkit.reduce(a, ["min", "max"])  # type: ignore[call-overload]
warpkit.reduce(a, "sum", "0")  # type: ignore[call-overload]
warpkit.reduce(a, "sum", 0, np.float64)  # type: ignore[call-overload]
warpkit.reduce(a=a)  # type: ignore[call-overload]
warpkit.reduce(a, axes=0)  # type: ignore[call-overload]
warpkit.reduce(a, device=0)  # type: ignore[call-overload]
warpkit.reduce(a, variant=3)  # type: ignore[call-overload]
warpkit.describe(a, "mean")  # type: ignore[call-overload]
warpkit.transpose(a, "01")  # type: ignore[arg-type]
warpkit.transpose(a, 1, 0)  # type: ignore[call-overload]
warpkit.stencil1d(a, [1, 2, 1], mode="reflct")  # type: ignore[call-overload]
warpkit.stencil1d(a)  # type: ignore[call-overload]
warpkit.stencil1d(a, [1, 2, 1], 0, "wrap")  # type: ignore[call-overload]
warpkit.convolve1d(a, [1, 2, 1], mode="same")  # type: ignore[call-overload]
warpkit.bincount([1, 2], minlength="3")  # type: ignore[call-overload]
warpkit.bincount([1, 2], min_length=3)  # type: ignore[call-overload]
warpkit.finite_difference("1")  # type: ignore[arg-type]
warpkit.asarray(a, device=1)  # type: ignore[arg-type]
warpkit.empty("3")  # type: ignore[arg-type]
warpkit.zeros(3, fill_value=0)  # type: ignore[call-arg]
with warpkit.device(3):  # type: ignore[arg-type]
    pass
warpkit.variants(3)  # type: ignore[arg-type]
warpkit.swapaxes(a, 0)  # type: ignore[call-overload]
warpkit.gradient1d(a, "x")  # type: ignore[call-overload]
warpkit.histogram(a, nan="skip")  # type: ignore[call-overload]
warpkit.histogram(a, 10, 3.0)  # type: ignore[call-overload]
warpkit.warp_histogram(a, True)  # type: ignore[call-overload]
warpkit.dot(a)  # type: ignore[call-overload]
warpkit.average(a, weight=a)  # type: ignore[call-overload]
warpkit.cumsum(a, "0")  # type: ignore[call-overload]
warpkit.segment_reduce(a, [0, 3], "median")  # type: ignore[call-overload]
warpkit.group_reduce([0, 1], [1.0, 2.0], "sum", "2")  # type: ignore[call-overload]
warpkit.reduce(a, progress=3)  # type: ignore[call-overload]
warpkit.transpose(a).mean(axes=0)  # type: ignore[call-overload]
print(warpkit.run_length(a).totals)  # type: ignore[attr-defined]
print(warpkit.reduce(a, ("min", "max")).median)  # type: ignore[attr-defined]

d = warpkit.asarray(a, device="emu")
d + 1  # type: ignore[operator]
d.reshape(2, 6).mean(axis="0")  # type: ignore[arg-type]
d.sort()  # type: ignore[attr-defined]
