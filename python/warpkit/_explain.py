"""explain: how an operation would be run; the plans are in _core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warpkit import _core
from warpkit._ops import NO_VALUE, Axis, Device
from warpkit._reduce import Ops
from warpkit._transpose import explain_transpose


def explain(
    function: str,
    a: Any,
    /,
    op: str | Ops = "sum",
    axis: Axis = None,
    *,
    axes: Sequence[int] | None = None,
    where: Any = True,
    device: Device = None,
) -> str:
    """How a call would be run: on a GPU, how threads would share the work.

    Parameters
    ----------
    function : str
        "reduce" or "transpose".
    a : array_like
        As reduce or transpose takes it; nothing is computed.
    op, axis, axes, where, device : optional
        Likewise.

    Returns
    -------
    str
        Of a reduction a paragraph for each pass over ``a``.

    Raises
    ------
    ValueError (function), and what the function raises

    Notes
    -----
    A host array crosses to a GPU in pieces, each of which is planned by itself; a product of floats
    goes by a fixed tree whatever the shape.

    Examples
    --------
    >>> print(warpkit.explain("reduce", np.ones((4, 4), np.float32), axis=0, device="cpu"))
    exact sum: 4 outputs of 4 elements each
    """
    if function == "transpose":
        return explain_transpose(a, axes, device)
    if function != "reduce":
        raise ValueError(f"explain knows 'reduce' and 'transpose', not {function!r}")
    ops = op if isinstance(op, tuple) else (op,)
    arguments = (a, ops[0] if len(ops) == 1 else ops, axis, False, None, NO_VALUE, where, 0)
    return "\n".join(_core.explain_reduce(*arguments, None, device, None, None, None))
