"""Views that a stranger would draw: of NumPy's, CuPy's and PyTorch's arrays alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Array = Any
Shape = tuple[int, ...]
View = Callable[[Array], Array]

KINDS = ("whole", "inner", "step", "turned", "turned")


def turned(a: Array, order: Shape) -> Array:
    return a.permute(order) if hasattr(a, "permute") else a.transpose(order)


def viewed(
    draw: random.Random, n: int, ndim: int, kinds: tuple[str, ...] = KINDS
) -> tuple[Shape, str, View]:
    """Extents of about n elements in all, some of them short, and a view of such an array.

    kinds    of views, one of which is drawn; "flip" too, which PyTorch has not
    """
    weights = [draw.uniform(0.15, 1) for _ in range(ndim)]
    if ndim > 1 and draw.random() < 0.4:
        weights[draw.randrange(ndim)] *= 0.2
    shape = tuple(max(1, round(n ** (w / sum(weights)))) for w in weights)
    kind, axis = draw.choice(kinds), draw.randrange(ndim)
    order = tuple(draw.sample(range(ndim), ndim))
    before = (slice(None),) * axis
    inner = tuple(slice(int(extent > 4), None) for extent in shape)
    views: dict[str, tuple[str, View]] = {
        "inner": ("a[1:, 1:, ...]", lambda a: a[inner]),
        "step": (f"a, every other of axis {axis}", lambda a: a[(*before, slice(None, None, 2))]),
        "flip": (f"a, axis {axis} backwards", lambda a: a[(*before, slice(None, None, -1))]),
        "turned": (f"a.transpose{order}", lambda a: turned(a, order)),
    }
    return shape, *views.get(kind, ("a", lambda a: a))


def folded(draw: random.Random, ndim: int, most: int) -> tuple[int | Shape, str]:
    """One axis or, of at most so many, several; and what they are called."""
    some = tuple(d for d in range(ndim) if draw.random() < 0.5)
    if most == 1 or len(some) < 2:
        axis = draw.randrange(ndim)
        return axis, f"axis {axis}"
    return some, f"axes {some}"
