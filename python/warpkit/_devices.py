"""What there is: kernels, devices, memory."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from warpkit import _core
from warpkit._ops import Device, unknown


class Variant(NamedTuple):
    """One row of the kernel table.

    Attributes
    ----------
    op, device, name : str
        ``name`` is what ``variant=`` takes; device is "cpu" or "cuda", which "emu" runs too.
    dtypes : tuple of str
        That it takes.
    production : bool
        It is the one that is used where none is named.
    teaches : str
        What is to be learnt from it.
    """

    op: str
    device: str
    name: Any  # to type checkers, which know of each operation what its variant= may be
    dtypes: tuple[str, ...]
    production: bool
    teaches: str


def variants(op: str | None = None) -> list[Variant]:
    """The kernels of one operation, or of all; ``name`` is what ``variant=`` takes.

    Parameters
    ----------
    op : str, optional
        "reduce", "transpose", "stencil1d", "histogram" (bincount's too), "warp_histogram",
        "run_length", "unique_counts".

    Returns
    -------
    list of Variant
        Named tuples (op, device, name, production, teaches, ...), in the table's order.

    Raises
    ------
    ValueError (op)

    Examples
    --------
    >>> [row.name for row in warpkit.variants("transpose") if row.production]
    ['blocked', 'tiles']
    """
    rows = [Variant(o, d, n, tuple(t), p, w) for o, d, n, t, p, w in _core.rows()]
    ops = list(dict.fromkeys(row.op for row in rows))
    if op is not None and op not in ops:
        raise ValueError(unknown("op", op, ops))
    return [row for row in rows if op in (None, row.op)]


def devices() -> list[str]:
    """The devices present, such as ["cpu", "cuda:0"]; show_config says why one is missing.

    Returns
    -------
    list of str

    Examples
    --------
    >>> warpkit.devices()[0]
    'cpu'
    """
    return _core.devices()


def set_default_device(device: Device) -> None:
    """The device of calls that name none.

    Parameters
    ----------
    device : str or sequence of str, optional
        None: return to the rule in the module's docstring.

    Raises
    ------
    ValueError (unknown name), DeviceError (no such device here)

    See Also
    --------
    device, get_default_device

    Examples
    --------
    >>> warpkit.set_default_device("cpu")
    >>> warpkit.set_default_device(None)
    """
    _core.set_default_device(device)


@contextlib.contextmanager
def device(name: Device) -> Iterator[None]:
    """``with warpkit.device("emu"):`` the device of calls in the block that name none.

    Parameters
    ----------
    name : str or sequence of str, optional
        As device= of every operation; None: what it is without any of these.

    Raises
    ------
    ValueError (unknown name), DeviceError (no such device here)

    See Also
    --------
    set_default_device

    Notes
    -----
    Of this thread, or task, alone; within another the inner one counts. Also a decorator of
    functions. It goes before set_default_device's and the environment's.

    Examples
    --------
    >>> with warpkit.device("cpu"):
    ...     warpkit.get_default_device()
    'cpu'
    """
    _core.check_device(name)
    token = _core.scope.set(name)
    try:
        yield
    finally:
        _core.scope.reset(token)


def get_default_device() -> str | tuple[str, ...]:
    """The device of calls that name none: such as "cpu", "auto", or a tuple of several GPUs.

    Returns
    -------
    str or tuple of str

    See Also
    --------
    device, set_default_device

    Examples
    --------
    >>> with warpkit.device("emu"):
    ...     warpkit.get_default_device()
    'emu'
    """
    return _core.default_device()


def memory_info(device: str | None = None) -> dict[str, Any]:
    """Bytes on a device.

    Parameters
    ----------
    device : str, optional
        None: the default one.

    Returns
    -------
    dict
        - device, name, compute_capability (90 for 9.0; 0 for a CPU), total and free memory
        - pool_used, handed out now; pool_reserved, held from the device; pool_keep, held between
          calls at most; pool_limit, handed out at most (0: no limit)
        - staging, pinned host memory that copies go through, of which there is at most 96 MiB
          (384 MiB for calls whose pieces cannot be 8 MiB), held until release_memory
        - results, the memory of freed NumPy results of 32 MiB and more that waits for the next,
          results_keep at most, which the system may take where memory is short

    Raises
    ------
    ValueError (unknown name), DeviceError

    Notes
    -----
    The pool's keep and limit are read from WARPKIT_POOL_KEEP (default: a sixteenth of the memory,
    at least 256 MiB) and WARPKIT_POOL_LIMIT, in bytes, at the first use of the device; results_keep
    is WARPKIT_RESULTS_KEEP (default: an eighth of the memory, at most 4 GiB).

    Examples
    --------
    >>> warpkit.memory_info("cpu")["device"]
    'cpu'
    """
    return _core.device_info(device)


def release_memory(device: str | None = None) -> None:
    """Give back what is kept for later calls.

    That is the pool's unused memory, pinned host memory, and the memory of freed NumPy results.

    Raises
    ------
    ValueError (unknown name), DeviceError

    See Also
    --------
    memory_info

    Examples
    --------
    >>> warpkit.release_memory("cpu")
    """
    _core.trim(device)


def show_config() -> None:
    """Print versions, devices, why a device is missing, what "auto" goes by, and settings.

    Settings are environment variables, read once, at the first call: their value, or what they
    take and are for.

    Examples
    --------
    >>> warpkit.show_config()
    warpkit 0...
    cpu ...
    """
    from warpkit import __version__, _auto

    config = _core.config()
    cpu = _core.device_info("cpu")
    print(f"warpkit {__version__}, Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"cpu     {cpu['name']}; {config['isa']} instructions, {config['threads']} threads")
    for kind in ("cuda", "emu"):
        state = config[kind]
        if not state["count"]:
            print(f"{kind:7} none: {state['why']}")
            continue
        print(f"{kind:7} {state['build']}")
        for i in range(state["count"]):
            info = _core.device_info(f"{kind}:{i}")
            capability = f"{info['compute_capability'] / 10:.1f}"
            print(
                f"{kind}:{i}  {info['name']}, compute capability {capability}, "
                f"{info['free'] / 2**30:.1f} of {info['total'] / 2**30:.1f} GiB free"
            )
    for line in _auto.describe():
        print(line)
    for name, value, takes, purpose in _core.settings():
        print(f"{name}={value}" if value else f"{name}: {purpose} ({takes})")
    if config["settings"]:
        print(config["settings"])
