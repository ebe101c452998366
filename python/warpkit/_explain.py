"""explain: how an operation would be run; the plans of reductions and transposes are in _core."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import warpkit
from warpkit import _core, _interop
from warpkit._array import DeviceArray
from warpkit._devices import variants
from warpkit._differences import difference_dtype, differences
from warpkit._keyed import needs_no_sort
from warpkit._ops import Device, named, unknown
from warpkit._transpose import explain_transpose, is_contiguous, moved_axes, swapped_axes

Given = Mapping[str, Any]  # a call's arguments, by name
COUNT = 8  # bytes
COPIED = 32 << 20  # bytes, in no cache


def explain(function: str, a: Any, /, *args: Any, **options: Any) -> str:
    """How a call would be run: where, by which kernel, and how long it takes at least.

    Parameters
    ----------
    function : str
        Such as "reduce": the name of an operation on arrays.
    a : array_like
        As the operation takes it; not an element of it is looked at.
    *args, **options
        As the operation takes them.

    Returns
    -------
    str
        What runs where; the bytes that it reads and writes, and how long a copy of as many takes
        there; of reductions and transposes how the work is shared, for each pass over the array.

    Raises
    ------
    TypeError, ValueError
        function; and as the operation.

    Notes
    -----
    The rate of a copy is measured, in a few hundredths of a second, when a device is first asked
    for. No emulated device tells how fast a GPU is. A host array crosses to a GPU in pieces, each
    of which is planned by itself.

    Examples
    --------
    >>> import numpy as np
    >>> import warpkit
    >>> a = np.zeros((301, 403), np.float32)
    >>> print(warpkit.explain("transpose", a, device="emu"))  # doctest: +ELLIPSIS
    transpose of float32 (301, 403) on emu, variant "tiles": by shape: turned in registers, ...
    reads 485 kB, writes 485 kB
    words: 35 tiles of 64 x 58, rows of 301 by columns of 403; 4 bytes an access; ...
    """
    if function not in (*OPERATIONS, *BY_ANOTHER):
        raise ValueError(unknown("operation", function, [*OPERATIONS, *BY_ANOTHER]))
    bound = inspect.signature(getattr(warpkit, function)).bind(a, *args, **options)
    bound.apply_defaults()
    given = bound.arguments
    if function in BY_ANOTHER:
        return BY_ANOTHER[function](a, given)
    row_op, find_moved = OPERATIONS[function]
    if function == "average" and given["weights"] is None:
        return explain("reduce", a, "mean", given["axis"], device=given["device"])
    arrays = [_operand(given[name]) for name in given if name in ("keys", "a", "b", "offsets")]
    main = arrays[1] if function == "group_reduce" else arrays[0]
    device = _device(row_op, arrays, given)
    if function == "group_reduce" and needs_no_sort(given["op"], main.dtype):
        row_op = "histogram"
    row = _row(row_op, device, given.get("variant"))
    plan: list[str] = []
    if row_op == "reduce":
        plan = _passes(given, _op(given))
    elif row_op == "transpose":
        plan = [explain_transpose(a, given["axes"], given["device"])]
    elif (kind := (arrays[0] if function == "group_reduce" else main).dtype).name not in row.dtypes:
        raise TypeError(
            f"dtype {kind} is not taken by variant {row.name!r} of {row.op} on {device!r}; "
            f"there are: {', '.join(row.dtypes)}"
        )
    moved = find_moved(main, given)
    read = moved.read * max(1, len(plan)) + sum(one.nbytes for one in arrays) - main.nbytes
    named = f"{', '.join(_op(given))} of" if row_op == "reduce" else f"{function} of"
    crossing = not device.startswith("cpu") and not isinstance(main, DeviceArray)
    lines = [
        f'{named} {main.dtype} {main.shape} on {device}, variant "{row.name}": {row.teaches}',
        f"reads {_size(read)}{moved.twice}, writes {moved.writes or _size(moved.written)}"
        + _floor(device, crossing, read + moved.written),
    ]
    return "\n".join(lines + plan)


def _operand(a: Any) -> Any:
    try:
        return _core.operand(a)[0]
    except TypeError:  # transposes take records too
        if isinstance(a, list | tuple):
            a = np.asarray(a)
        if not isinstance(a, np.ndarray) or a.dtype.hasobject or _core.unmasked(a) is not a:
            raise
        return a


# ---- where, and by which kernel ------------------------------------------------------------------


def _device(op: str, arrays: list[Any], given: Given) -> str:
    """The name of the device that would work, or of several GPUs."""
    device: Device = given.get("device")
    there = next((a for a in (*arrays, given.get("out")) if isinstance(a, DeviceArray)), None)
    if there is not None:
        if isinstance(device, str) and not _interop.same_device(there.device, device):
            raise ValueError(
                f"the array lies on '{there.device}', and the call asks for '{device}'"
            )
        return there.device
    _core.check_device(device)
    name = named(op, device, sum(a.nbytes for a in arrays))
    return name if isinstance(name, str) else ", ".join(name)


def _row(op: str, device: str, variant: str | None) -> warpkit.Variant:
    kind = "cpu" if device.startswith("cpu") else "cuda"
    rows = [row for row in variants(op) if row.device == kind]
    for row in rows:
        if row.production if variant is None else row.name == variant:
            return row
    raise ValueError(unknown(f"variant of {op}", variant, [row.name for row in rows]))


def _floor(device: str, crossing: bool, moved: int) -> str:
    if device.startswith("emu"):
        return ""
    rate = _rate(device.split(",")[0], crossing)
    over = "which cross the bus" if crossing else "of a copy"
    return f": {_seconds(moved / rate)} at the {rate / 1e9:.3g} GB/s {over}"


@functools.lru_cache(maxsize=64)
def _rate(device: str, crossing: bool) -> float:
    """Bytes a second that are read and written by a copy, or cross the bus."""
    from warpkit import _bench

    host = np.ones(COPIED, np.uint8)
    if device.startswith("cpu"):
        to = host.copy()
        return 2 * COPIED / _bench.best(lambda: np.copyto(to, host), 0.03)
    there = warpkit.asarray(host, device=device.replace("all", "0"))
    if crossing:
        return COPIED / _bench.best(lambda: _core.upload(host, there), 0.03)
    return 2 * COPIED / _bench.best(there.copy, 0.03)


def _size(nbytes: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"


def _seconds(took: float) -> str:
    if took >= 1:
        return f"{took:.3g} s"
    return f"{1e3 * took:.3g} ms" if took >= 1e-3 else f"{1e6 * took:.3g} us"


# ---- what is read and written -------------------------------------------------------------------


class Moved(NamedTuple):
    """Bytes of a pass, as far as they are known without the elements."""

    read: int
    written: int
    writes: str = ""  # what is written, where that is not known
    twice: str = ""  # why it is read twice


RANGE_FIRST = ", the array twice, as its range is looked for first"


def _op(given: Given) -> tuple[str, ...]:
    if "op" not in given:
        return "min", "max", "mean", "std"
    op = given["op"]
    return op if isinstance(op, tuple) else (op,)


def _passes(given: Given, ops: tuple[str, ...]) -> list[str]:
    initial = given.get("initial", np._NoValue)
    fold = (ops[0] if len(ops) == 1 else ops, given["axis"], False, None, initial)
    arguments = (given["a"], *fold, given.get("where", True), 0)
    return _core.explain_reduce(*arguments, None, given["device"], None, None, None)


def _folded(a: Any, given: Given) -> Moved:
    axes = given["axis"]
    gone = range(a.ndim) if axes is None else normalize_axis_tuple(axes, a.ndim)
    outputs = math.prod(n for i, n in enumerate(a.shape) if i not in gone)
    one: Any = np.ones(1, a.dtype)
    return Moved(a.nbytes, outputs * sum(_item(warpkit.reduce, one, op) for op in _op(given)))


def _item(fold: Any, *args: Any) -> int:
    """Bytes of a result's element, by a call on few elements."""
    return int(fold(*args, device="cpu").dtype.itemsize)


def _turned(a: Any, given: Given) -> Moved:
    return Moved(a.nbytes, a.nbytes)


def _stencilled(a: Any, given: Given) -> Moved:
    how = {name: given[name] for name in ("mode", "cval", "origin", "accumulate")}
    how["output"] = given["output"] if isinstance(given["output"], str | type | np.dtype) else None
    n = a.shape[normalize_axis_index(given["axis"], a.ndim)]
    valid = how["mode"] == "valid"
    line = np.ones(n if valid else 1, a.dtype)
    result = warpkit.stencil1d(line, given["coefficients"], **how, device="cpu")
    length = result.size if valid else n
    return Moved(a.nbytes, a.size // max(1, n) * length * result.itemsize)


def _read_with_weights(a: Any, given: Given) -> int:
    weights = given["weights"]
    return int(a.nbytes + (0 if weights is None else _operand(weights).nbytes))


def _counted(a: Any, given: Given) -> Moved:
    read, bins = _read_with_weights(a, given), given["bins"]
    if isinstance(bins, str):
        writes = f"as many counts as {bins!r} finds bins"
        return Moved(read + a.nbytes, 0, writes, RANGE_FIRST)
    single = np.ndim(bins) == 0
    n = int(bins) if single else len(bins) - 1
    item = COUNT if given["weights"] is None else _operand(given["weights"]).itemsize
    if single and given["range"] is None:
        return Moved(read + a.nbytes, n * item, "", RANGE_FIRST)
    return Moved(read, n * item)


def _counted_values(a: Any, given: Given) -> Moved:
    return Moved(_read_with_weights(a, given), 0, "8 bytes for each value up to the largest")


def _sorted(a: Any, given: Given) -> Moved:
    return Moved(a.nbytes, -(-a.size // 32) * (32 * (a.itemsize + 4) + 4))


def _found(a: Any, given: Given) -> Moved:
    most = a.nbytes + COUNT * a.size
    return Moved(a.nbytes, most, f"at most {_size(most)}")


def _multiplied(a: Any, given: Given) -> Moved:
    axis = given["axis"]
    each = a.size if axis is None else a.shape[normalize_axis_index(axis, a.ndim)]
    return Moved(a.nbytes, a.size // max(1, each) * a.itemsize)


def _averaged(a: Any, given: Given) -> Moved:
    axes = given["axis"]
    gone = range(a.ndim) if axes is None else normalize_axis_tuple(axes, a.ndim)
    outputs = math.prod(n for i, n in enumerate(a.shape) if i not in gone)
    weights = _operand(given["weights"])
    item = _item(warpkit.average, np.ones(1, a.dtype), None, np.ones(1, weights.dtype))
    return Moved(a.nbytes + weights.nbytes, outputs * item, "", " in each of a few passes")


def _summed(a: Any, given: Given) -> Moved:
    dtype, axis = given["dtype"], given["axis"]
    if axis is not None:
        normalize_axis_index(axis, max(a.ndim, 1))
    return Moved(a.nbytes, a.size * _item(warpkit.cumsum, np.ones(1, a.dtype), None, dtype))


def _by_segment(a: Any, given: Given) -> Moved:
    item = _item(warpkit.segment_reduce, np.ones(1, a.dtype), [0, 1], given["op"])
    return Moved(a.nbytes, item * (_operand(given["offsets"]).size - 1))


def _by_key(a: Any, given: Given) -> Moved:
    op, groups, keys = given["op"], given["groups"], _operand(given["keys"])
    item = _item(warpkit.group_reduce, [0], np.ones(1, a.dtype), op)
    again = [] if groups is not None else ["the largest is looked for first"]
    read = 0 if op == "count" else a.nbytes
    if needs_no_sort(op, a.dtype):
        on_cpu = _device("group", [keys, a], given).startswith("cpu")
        if on_cpu and op not in ("count", "mean") and groups is not None:
            again.append("their range is looked at")
        if op == "mean" or (op in ("min", "max") and a.dtype.kind in "biu"):
            again.append("they are counted too")
        if op in ("argmin", "argmax"):
            read *= 2
            again.append("places are looked for once extremes are known, in the array too")
    times = ("", "twice", "three times")[len(again)]
    twice = f", the keys {times}, as {' and '.join(again)}" if again else ""
    read += keys.nbytes * len(again)
    if groups is not None:
        return Moved(read, item * int(groups), "", twice)
    return Moved(read, 0, f"{item} bytes for each key up to the largest", twice)


# By operation: whose rows of the table it runs.
OPERATIONS: dict[str, tuple[str, Callable[[Any, Given], Moved]]] = {
    "reduce": ("reduce", _folded),
    "describe": ("reduce", _folded),
    "transpose": ("transpose", _turned),
    "stencil1d": ("stencil1d", _stencilled),
    "convolve1d": ("stencil1d", _stencilled),
    "histogram": ("histogram", _counted),
    "bincount": ("histogram", _counted_values),
    "warp_histogram": ("warp_histogram", _sorted),
    "run_length": ("run_length", _found),
    "unique_counts": ("unique_counts", _found),
    "dot": ("dot", _multiplied),
    "vdot": ("dot", _multiplied),
    "average": ("dot", _averaged),
    "cumsum": ("cumsum", _summed),
    "nancumsum": ("cumsum", _summed),
    "segment_reduce": ("segment_reduce", _by_segment),
    "group_reduce": ("group", _by_key),
}


# ---- operations that call another --------------------------------------------------------------


def _as_transpose(a: Any, given: Given, axes: list[int]) -> str:
    return explain("transpose", a, axes, out=given.get("out"), device=given["device"])


def _by_moveaxis(a: Any, given: Given) -> str:
    axes = moved_axes(_operand(a).ndim, given["source"], given["destination"])
    return _as_transpose(a, given, axes)


def _by_swapaxes(a: Any, given: Given) -> str:
    return _as_transpose(a, given, swapped_axes(_operand(a).ndim, given["axis1"], given["axis2"]))


def _by_ascontiguousarray(a: Any, given: Given) -> str:
    array = _operand(a)
    if not is_contiguous(array):
        return _as_transpose(a, given, list(range(array.ndim)))
    device = _device("transpose", [array], given)
    return (
        f"ascontiguousarray of {array.dtype} {array.shape} on {device}: itself\n"
        "reads 0 bytes, writes 0 bytes"
    )


def _by_gradient1d(a: Any, given: Given) -> str:
    array = _operand(a)
    shape = (given[name] for name in ("h", "axis", "derivative", "accuracy"))
    central, axis, _, window = differences(array, *shape)
    how: Given = {name: given[name] for name in ("accumulate", "device")}
    out, dtype = given["out"], difference_dtype(array.dtype)
    where = {"output": dtype} if out is None or out is ... else {"out": out}
    told = explain("stencil1d", a, central, axis, mode="nearest", **where, **how)
    side = len(central) // 2
    return f"{told}\nthen {side} at each end of axis {axis}, each of {window} elements"


BY_ANOTHER: dict[str, Callable[[Any, Given], str]] = {
    "moveaxis": _by_moveaxis,
    "swapaxes": _by_swapaxes,
    "ascontiguousarray": _by_ascontiguousarray,
    "gradient1d": _by_gradient1d,
}
