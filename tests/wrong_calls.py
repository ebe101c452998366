"""Calls that a type checker must refuse: mypy warns of comments in vain. Never run."""

import numpy as np
import warpkit

a = np.ones((3, 4), np.float32)

warpkit.reduce(a, "summ")  # type: ignore[arg-type]
warpkit.reduce(a, ("min", "maximum"))  # type: ignore[arg-type]
warpkit.reduce(a, ["min", "max"])  # type: ignore[arg-type]
warpkit.reduce(a, "sum", "0")  # type: ignore[arg-type]
warpkit.reduce(a, "sum", 0, np.float64)  # type: ignore[call-arg]
warpkit.reduce(a=a)  # type: ignore[call-arg]
warpkit.reduce(a, axes=0)  # type: ignore[call-arg]
warpkit.reduce(a, device=0)  # type: ignore[arg-type]
warpkit.reduce(a, variant=3)  # type: ignore[arg-type]
warpkit.describe(a, "mean")  # type: ignore[arg-type]
warpkit.transpose(a, "01")  # type: ignore[arg-type]
warpkit.transpose(a, 1, 0)  # type: ignore[call-arg, arg-type]
warpkit.stencil1d(a, [1, 2, 1], mode="reflct")  # type: ignore[arg-type]
warpkit.stencil1d(a)  # type: ignore[call-arg]
warpkit.stencil1d(a, [1, 2, 1], 0, "wrap")  # type: ignore[call-arg]
warpkit.convolve1d(a, [1, 2, 1], mode="same")  # type: ignore[arg-type]
warpkit.bincount([1, 2], minlength="3")  # type: ignore[arg-type]
warpkit.bincount([1, 2], min_length=3)  # type: ignore[call-arg]
warpkit.finite_difference("1")  # type: ignore[arg-type]
warpkit.asarray(a, device=1)  # type: ignore[arg-type]
warpkit.empty("3")  # type: ignore[arg-type]
warpkit.zeros(3, fill_value=0)  # type: ignore[call-arg]
with warpkit.device(3):  # type: ignore[arg-type]
    pass
warpkit.variants(3)  # type: ignore[arg-type]

d = warpkit.asarray(a, device="emu")
d + 1  # type: ignore[operator]
d.reshape(2, 6).mean(axis="0")  # type: ignore[arg-type]
d.sort()  # type: ignore[attr-defined]
