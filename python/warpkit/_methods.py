"""What a DeviceArray does as NumPy's arrays do, and the arithmetic that it does not do."""

# mypy: disable-error-code="no-any-return"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.typing import DTypeLike

from warpkit import _core
from warpkit._ops import NO_VALUE, Axis

NO_ARITHMETIC = (
    "a DeviceArray compares nothing and adds nothing: take float(a) or a.numpy(), which wait for "
    "the device, or the array of a library that computes there: cupy.asarray(a), "
    "torch.from_dlpack(a)"
)

BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor divmod"
COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
UNARY = "neg pos abs invert"

# warpkit.reduce, as soon as it is there: it knows these arrays, and importing it would be a circle.
fold: Callable[..., Any] = _core.reduce


class Methods(_core.DeviceArray):
    """The base of DeviceArray."""

    __slots__ = ()

    # ---- shapes --------------------------------------------------------------------------------

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Self:
        """The elements in another shape: a view where NumPy gives one, else of a copy.

        Parameters
        ----------
        *shape : int or sequence of int
            Ints, or one tuple of them; one may be -1.
        order : str
            "C" alone.
        copy : bool, optional
            True: always; False: ValueError where one is needed; None: if it is needed.

        Returns
        -------
        DeviceArray

        Raises
        ------
        ValueError (shape, order, copy), MemoryError, DeviceError

        Examples
        --------
        >>> warpkit.zeros(6, device="emu").reshape(2, -1).shape
        (2, 3)
        """
        if order != "C":
            raise ValueError(f"a DeviceArray is reshaped in order 'C', not {order!r}")
        if len(shape) == 1 and not hasattr(shape[0], "__index__"):
            shape = tuple(shape[0])
        one = np.ndarray(self.shape, np.bool_, b"\0", 0, (0,) * self.ndim)
        new = one.reshape(shape).shape  # or NumPy's error
        strides = _strides_in(self.shape, self.strides, new, self.itemsize)
        if strides is not None and not copy:
            return self._at(self._pointer, new, strides)
        if copy is False:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        there = self.copy()
        return there._at(there._pointer, new, _row_major(new, self.itemsize))

    def ravel(self, order: str = "C") -> Self:
        """The elements on one axis: reshape(-1).

        Returns
        -------
        DeviceArray
        """
        return self.reshape(-1, order=order)

    def transpose(self, *axes: Any) -> Self:
        """The view with the axes in another order: none for reversed, ints, or one tuple of them.

        Returns
        -------
        DeviceArray

        Raises
        ------
        AxisError, ValueError

        Notes
        -----
        warpkit.transpose(a, axes) is a contiguous copy.
        """
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        turned = normalize_axis_tuple(given or range(self.ndim)[::-1], self.ndim)
        if len(turned) != self.ndim:
            raise ValueError("axes don't match array")
        shape, strides = self.shape, self.strides
        places = tuple(shape[d] for d in turned), tuple(strides[d] for d in turned)
        return self._at(self._pointer, *places)

    @property
    def T(self) -> Self:
        """The view with the axes reversed."""
        return self.transpose()

    def _at(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Self:
        view: Self = self._view(start, shape, strides, self.dtype)
        return view

    def tolist(self) -> Any:
        """The elements as Python scalars in nested lists; waits for the device.

        Returns
        -------
        list or scalar
        """
        return self._numpy().tolist()

    # ---- reductions: numpy.sum(a) calls them, and so computes where the array lies --------------

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "sum", ...)``."""
        return fold(
            self, "sum", axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where
        )

    def prod(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "prod", ...)``."""
        return fold(
            self,
            "prod",
            axis,
            dtype=dtype,
            out=out,
            keepdims=keepdims,
            initial=initial,
            where=where,
        )

    def min(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "min", ...)``."""
        return fold(self, "min", axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def max(
        self,
        axis: Axis = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "max", ...)``."""
        return fold(self, "max", axis, out=out, keepdims=keepdims, initial=initial, where=where)

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "mean", ...)``."""
        return fold(self, "mean", axis, dtype=dtype, out=out, keepdims=keepdims, where=where)

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "var", ...)``."""
        return fold(
            self, "var", axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where
        )

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
    ) -> Self:
        """``warpkit.reduce(a, "std", ...)``."""
        return fold(
            self, "std", axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where
        )

    def any(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Self:
        """``warpkit.reduce(a, "any", ...)``."""
        return fold(self, "any", axis, out=out, keepdims=keepdims, where=where)

    def all(
        self, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Self:
        """``warpkit.reduce(a, "all", ...)``."""
        return fold(self, "all", axis, out=out, keepdims=keepdims, where=where)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Self:
        """``warpkit.reduce(a, "argmin", ...)``."""
        return fold(self, "argmin", axis, out=out, keepdims=keepdims)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Self:
        """``warpkit.reduce(a, "argmax", ...)``."""
        return fold(self, "argmax", axis, out=out, keepdims=keepdims)

    def ptp(self, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Self:
        """``warpkit.reduce(a, "ptp", ...)``."""
        return fold(self, "ptp", axis, out=out, keepdims=keepdims)

    # ---- copies --------------------------------------------------------------------------------

    def copy(self) -> Self:
        """A C-contiguous copy on the same device.

        Returns
        -------
        DeviceArray

        Raises
        ------
        MemoryError, DeviceError
        """
        owner = self._stream_owner
        stream = self._stream if owner is None else (self._stream, owner)
        new: Self = _core.empty(self.shape, self.dtype, self.device, stream)
        new._copy_from(self)
        return new

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()


def _row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _strides_in(
    shape: Sequence[int], strides: Sequence[int], new: Sequence[int], itemsize: int
) -> tuple[int, ...] | None:
    """The strides of the same elements in a new shape of as many; None: there are none."""
    if 0 in shape:
        return _row_major(new, itemsize)
    old = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    found: list[int] = []
    at = 0
    while at < len(old):  # the fewest axes of both that have equally many elements
        ours, theirs, end = old[at][0], 1, at + 1
        first = len(found)
        while ours != theirs:
            if ours < theirs:
                ours *= old[end][0]
                end += 1
            else:
                theirs *= new[len(found)]
                found.append(0)
        fused = all(old[k][1] == old[k + 1][0] * old[k + 1][1] for k in range(at, end - 1))
        if not fused:
            return None
        step = old[end - 1][1]
        for axis in reversed(range(first, len(found))):
            found[axis] = step
            step *= new[axis]
        at = end
    last = found[-1] if found else itemsize
    return tuple(found + [last] * (len(new) - len(found)))  # of extent 1


def _answer(self: Any, other: Any, reflected: str) -> Any:
    """The other side's answer: NumPy's arrays and scalars have one. Without it Python would compare
    identities."""
    theirs = NotImplemented
    if not isinstance(other, Methods):  # getattr would find what the class itself answers
        kind = next((vars(c) for c in type(other).__mro__ if reflected in vars(c)), None)
        theirs = kind[reflected](other, self) if kind else NotImplemented
    if theirs is NotImplemented:
        raise TypeError(NO_ARITHMETIC)
    return theirs


def _binary(reflected: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: _answer(self, other, reflected)


def _refuse(self: Any, *_: object) -> NoReturn:
    raise TypeError(NO_ARITHMETIC)


for _name in BINARY.split():
    setattr(Methods, f"__{_name}__", _binary(f"__r{_name}__"))
    setattr(Methods, f"__r{_name}__", _refuse)
for _name, _reflected in COMPARISONS.items():
    setattr(Methods, f"__{_name}__", _binary(f"__{_reflected}__"))
for _name in ("contains", *UNARY.split()):
    setattr(Methods, f"__{_name}__", _refuse)
