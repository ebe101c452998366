"""DeviceArray: an array that stays on a device; asarray and empty make them."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from warpkit import _core, _interop
from warpkit._methods import Methods


class DeviceArray(Methods):
    """An array in a device's memory; warpkit.asarray, empty and all operations make them.

    Indexing with integers, slices, ... and None gives views, as in NumPy. Nothing is computed here
    but copies; the operations take these arrays and give them back without waiting for the device.
    What needs the values (numpy(), float(), printing) waits.

    Attributes
    ----------
    shape, strides : tuple of int
        Extents; bytes between neighbours along each axis.
    dtype : numpy.dtype
        Of the elements.
    ndim, size, nbytes, itemsize : int
        As NumPy's.
    device : str
        Where the memory lies, such as "cuda:0".
    T : DeviceArray
        The view with the axes reversed.

    Notes
    -----
    Protocols: __cuda_array_interface__ 3, __dlpack__ (versioned), __array__; pickle, copy.

    Reductions: sum, prod, min, max, ptp, mean, var, std, any, all, argmin, argmax are those of
    reduce, with the arguments of NumPy's methods; numpy.sum(a) and its sisters call them.

    Work on an array goes in the order of its CUDA stream: the default one, which CuPy, PyTorch and
    Numba use too, unless a call named another.

    Examples
    --------
    >>> a = warpkit.asarray(np.arange(6.0).reshape(2, 3), device="emu")
    >>> a.device, a[:, 1:].shape, float(a.sum())
    ('emu', (2, 2), 15.0)
    """

    __slots__ = ("__weakref__",)

    # As of NumPy's arrays, whose elements may change.
    __hash__ = None  # type: ignore[assignment]

    def numpy(self) -> np.ndarray:
        """The elements as a new NumPy array; waits for the device.

        Returns
        -------
        ndarray

        Raises
        ------
        MemoryError, DeviceError
        """
        return self._numpy()

    def item(self) -> Any:
        """The one element of an array of size 1, as a Python scalar.

        Returns
        -------
        scalar

        Raises
        ------
        ValueError (another size), DeviceError
        """
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._numpy().item()

    def view(self, dtype: DTypeLike) -> DeviceArray:
        """The same memory as elements of another type; of another size by NumPy's rules.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError
            dtype.
        ValueError
            The last axis is not contiguous or its length in bytes no multiple; elements not
            aligned.

        Examples
        --------
        >>> warpkit.asarray(np.float32([1.0]), device="emu").view(np.uint32).numpy()
        array([1065353216], dtype=uint32)
        """
        dtype, size = np.dtype(dtype), self.itemsize
        shape, strides = self.shape, self.strides
        if dtype.itemsize not in (0, size):
            # A few elements of the host's that NumPy treats alike: by the last axis, whose elements
            # are side by side or not, and whose length counts modulo the new size.
            few, new = shape[-1:], dtype.itemsize
            if few and few[0]:
                few = (few[0] % new + 2 * new,)  # one alone is always side by side
            apart = self.size and few and shape[-1] > 1 and strides[-1] != size
            sample = np.zeros((*few, 2), self.dtype)[..., 0] if apart else np.zeros(few, self.dtype)
            sample.view(dtype)  # NumPy's errors
            shape, strides = (*shape[:-1], shape[-1] * size // new), (*strides[:-1], new)
        view: DeviceArray = self._view(self._pointer, shape, strides, dtype)
        return view

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> DeviceArray:
        """The elements in another dtype, cast as NumPy does it: on the host, and back.

        Parameters
        ----------
        dtype : dtype
            Any of empty's.
        copy : bool
            False: the array itself where it is of that dtype.

        Returns
        -------
        DeviceArray

        Raises
        ------
        TypeError (dtype), MemoryError, DeviceError

        Examples
        --------
        >>> warpkit.asarray([1.5, 2.5], device="emu").astype(np.int32).numpy()
        array([1, 2], dtype=int32)
        """
        if self.dtype == np.dtype(dtype):
            return self.copy() if copy else self
        return beside(self._numpy().astype(dtype), self)

    def __reduce__(self) -> Any:
        return _arrived, (self._numpy(), self.device)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a device cannot become a NumPy array without a copy")
        array = self._numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Any) -> DeviceArray:
        if type(key) is slice and self.ndim == 1:  # 1.0 us; what follows takes 3.5
            offset, stride = _along(key, self.shape[0], self.strides[0])
            n = len(range(*key.indices(self.shape[0])))
            return self._at(self._pointer + offset, (n,), (stride,))
        parts = [_index(part) for part in (key if isinstance(key, tuple) else (key,))]
        # NumPy says what the shape is, or what is wrong, of one element that is in every place; an
        # array over the device's memory would be read by whatever prints what it finds.
        one = np.ndarray(self.shape, np.bool_, b"\0", 0, (0,) * self.ndim)
        if all(part is not ... for part in parts):
            parts.append(...)  # or it would be a scalar
        shape = one[tuple(parts)].shape
        rest = self.ndim - sum(part is not None and part is not ... for part in parts)
        axes = iter(zip(self.shape, self.strides, strict=True))
        start, strides = self._pointer, []
        for part in parts:
            if part is ...:
                strides += [next(axes)[1] for _ in range(rest)]
            elif part is None:
                strides.append(0)
            else:
                offset, stride = _along(part, *next(axes))
                start += offset
                if isinstance(part, slice):
                    strides.append(stride)
        return self._at(start, shape, tuple(strides))

    def __setitem__(self, key: Any, value: Any) -> None:
        view = self[key]
        if not isinstance(value, DeviceArray):
            value = np.asarray(_core.unmasked(value), self.dtype)
            one = value.ndim == 0 and view.size > 1  # is told once, and repeated there
            whole = value.reshape(1) if one else np.broadcast_to(value, view.shape)
            value = asarray(whole, device=self.device)
            if one:
                value = value._at(value._pointer, view.shape, (0,) * view.ndim)
        view._copy_from(value)

    def __repr__(self) -> str:
        text = np.array2string(self._numpy(), separator=", ", prefix="DeviceArray(")
        return f"DeviceArray({text}, dtype={self.dtype}, device='{self.device}')"

    def __str__(self) -> str:
        return str(self._numpy())

    def __format__(self, spec: str) -> str:
        return format(self._numpy()[()], spec)

    def __complex__(self) -> complex:
        return complex(self._numpy())

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule; what is put on ``stream`` from now on waits for this array.

        Parameters
        ----------
        stream : int, optional
            A CUDA stream's handle, 1 (the default stream), 2, or None for 1; -1: do not wait. On
            "emu" nothing needs to wait.
        max_version : (int, int), optional
            The consumer's: (1, 0) and above give a versioned capsule.
        dl_device : (int, int), optional
            This array's own, or (1, 0), which copies it to the host.
        copy : bool, optional
            True: a copy; False: BufferError where one would be needed.

        Raises
        ------
        BufferError (dl_device), TypeError, ValueError (stream)
        """
        own = self.__dlpack_device__()
        versioned = max_version is not None and max_version[0] >= 1
        if dl_device is not None and tuple(dl_device) != own:
            if tuple(dl_device) != (1, 0) or copy is False:
                raise BufferError(f"cannot export an array of device {own} as {dl_device}")
            host = self._numpy()
            return host.__dlpack__(max_version=max_version) if versioned else host.__dlpack__()
        array = self.copy() if copy else self
        if own[0] == 1:
            array._wait()
        elif stream is None or stream != -1:
            array._lead(1 if stream is None else _interop.stream_handle(stream))
        return _core.to_dlpack(array, versioned, bool(copy))

    def __dlpack_device__(self) -> tuple[int, int]:
        cuda = self.device.startswith("cuda")
        return (2, _interop.ordinal(self.device)) if cuda else (1, 0)


def _arrived(host: np.ndarray, device: str) -> DeviceArray:
    """What was pickled, on a device of that name."""
    return asarray(host, device=device)


def _index(part: Any) -> Any:
    """One part of an index: what NumPy's basic indexing takes, and nothing else."""
    if part is None or part is ... or isinstance(part, slice):
        return part
    if not isinstance(part, bool | np.bool_):
        with contextlib.suppress(TypeError):
            return operator.index(part)
    raise IndexError(
        "a DeviceArray is indexed by integers, slices, ... and None, not by "
        f"{type(part).__name__}; for others use a.numpy()"
    )


def _along(part: Any, extent: int, stride: int) -> tuple[int, int]:
    """Where an integer or a slice that NumPy has taken begins on an axis, and the view's stride."""
    if not isinstance(part, slice):
        return (part + extent if part < 0 else part) * stride, 0
    start, stop, step = part.indices(extent)
    return (start * stride if range(start, stop, step) else 0), step * stride


def empty(
    shape: int | Sequence[int],
    dtype: DTypeLike = float,
    *,
    device: str | None = None,
    stream: Any = None,
) -> DeviceArray:
    """A new C-contiguous array on a device, its elements not set.

    Parameters
    ----------
    shape : int or sequence of int
    dtype : dtype
        Bool, integer, float16, bfloat16, float32, float64, complex64 or complex128.
    device : str, optional
        "cuda", "cuda:1" or "emu"; None: set_default_device's, else WARPKIT_DEVICE, else the first
        GPU.
    stream : optional
        In whose order it may be used: a handle, or an object with __cuda_stream__ (CuPy's and
        PyTorch's streams too), kept alive with the array; None: the default stream.

    Returns
    -------
    DeviceArray

    Raises
    ------
    TypeError (dtype, stream), ValueError (shape, device), MemoryError, DeviceError

    See Also
    --------
    zeros, full, empty_like, numpy.empty

    Examples
    --------
    >>> warpkit.empty((2, 3), np.float32, device="emu").nbytes
    24
    """
    pair = 1 if stream is None else _interop.stream_pair(stream)
    new: DeviceArray = _core.empty(shape, dtype, device, pair)
    return new


def full(
    shape: int | Sequence[int],
    fill_value: Any,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
    stream: Any = None,
) -> DeviceArray:
    """A new C-contiguous array on a device, each element of one value.

    Parameters
    ----------
    shape : int or sequence of int
    fill_value : scalar or array_like
        That broadcasts to shape.
    dtype : dtype, optional
        Of empty's; None: that of fill_value.
    device, stream : optional
        As empty's; errors too.

    Returns
    -------
    DeviceArray

    See Also
    --------
    empty, zeros, numpy.full

    Examples
    --------
    >>> warpkit.full(3, 7, np.int32, device="emu")
    DeviceArray([7, 7, 7], dtype=int32, device='emu')
    """
    value = np.asarray(_core.unmasked(fill_value), dtype)
    new = empty(shape, value.dtype, device=device, stream=stream)
    new[...] = value
    return new


def zeros(
    shape: int | Sequence[int],
    dtype: DTypeLike = float,
    *,
    device: str | None = None,
    stream: Any = None,
) -> DeviceArray:
    """A new C-contiguous array of zeros on a device; arguments and errors are empty's.

    Returns
    -------
    DeviceArray

    See Also
    --------
    empty, full, numpy.zeros

    Examples
    --------
    >>> warpkit.zeros((2, 2), np.int8, device="emu").tolist()
    [[0, 0], [0, 0]]
    """
    return full(shape, 0, dtype, device=device, stream=stream)


def empty_like(
    prototype: Any, dtype: DTypeLike | None = None, *, device: str | None = None, stream: Any = None
) -> DeviceArray:
    """A new C-contiguous array of another's shape and dtype, its elements not set.

    Parameters
    ----------
    prototype : array_like
        Host or device.
    dtype : dtype, optional
        None: the prototype's.
    device : str, optional
        None: where the prototype lies, if it lies on a device; else as for empty.
    stream : optional
        As empty's; errors too.

    Returns
    -------
    DeviceArray

    See Also
    --------
    empty, numpy.empty_like

    Examples
    --------
    >>> warpkit.empty_like(np.ones((2, 3), np.float32), device="emu").shape
    (2, 3)
    """
    array, _ = _core.operand(prototype)
    lies = array.device if device is None and isinstance(array, DeviceArray) else device
    kind = array.dtype if dtype is None else dtype
    return empty(array.shape, kind, device=lies, stream=stream)


def asarray(
    a: Any,
    /,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    stream: Any = None,
) -> DeviceArray:
    """``a`` as an array on a device.

    Parameters
    ----------
    a : array_like
        Of empty's dtypes, any shape and strides; or an array of a device (CuPy, PyTorch, JAX,
        Numba, DeviceArray), which is taken without a copy.
    dtype : dtype, optional
        The result's; None: a's.
    device : str, optional
        As for empty; None: where a lies, if it lies on a device.
    copy : bool, optional
        True: always; False: ValueError where one is needed; None: if it is needed.
    stream : optional
        As for empty.

    Returns
    -------
    DeviceArray
        Of a's shape.

    Raises
    ------
    TypeError (dtype), ValueError (device, copy), MemoryError, DeviceError

    See Also
    --------
    from_dlpack, numpy.asarray, cupy.asarray

    Notes
    -----
    Returns when a may be changed. Memory that is not pinned is staged in pieces by several threads,
    strided arrays are gathered on the way.

    Examples
    --------
    >>> a = warpkit.asarray([1.0, 2.0], device="emu")
    >>> warpkit.reduce(a).numpy()
    array(3.)
    """
    array, _ = _core.operand(a)
    if isinstance(array, DeviceArray):
        if device is not None and not _interop.same_device(array.device, device):
            array = array.numpy()
        elif dtype is not None and array.dtype != np.dtype(dtype):
            array, device = array.numpy(), array.device
        else:
            return array.copy() if copy else array
    if copy is False:
        raise ValueError("an array on the host cannot be taken to a device without a copy")
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    new = empty(array.shape, array.dtype, device=device, stream=stream)
    _core.upload(array, new)
    return new


def beside(host: np.ndarray, there: DeviceArray, stream: Any = None) -> DeviceArray:
    """A host array's elements on another one's device; stream None: in its order."""
    if stream is None:
        owner = there._stream_owner
        stream = there._stream if owner is None else owner
    return asarray(host, device=there.device, stream=stream)


def on_host(a: Any) -> np.ndarray:
    """A DeviceArray's elements, or the host array that it is."""
    return a.numpy() if isinstance(a, DeviceArray) else a


def from_dlpack(
    obj: Any, /, *, device: str | None = None, copy: bool | None = None
) -> DeviceArray | np.ndarray:
    """The array of any library that speaks DLPack, without a copy where that is possible.

    Parameters
    ----------
    obj : object
        Has __dlpack__ and __dlpack_device__; bool, integer, float16, bfloat16, float32, float64,
        complex64 or complex128.
    device : str, optional
        Where the result is to be, such as "cpu" or "cuda:1"; None: where obj lies.
    copy : bool, optional
        True: always; False: ValueError where one is needed; None: if it is needed.

    Returns
    -------
    DeviceArray or ndarray
        DeviceArray for a GPU's memory, NumPy array for the host's, read-only if obj says so.

    Raises
    ------
    TypeError
        dtype, device.
    BufferError
        Another kind of memory, a malformed tensor.
    ValueError
        copy.
    MemoryError, DeviceError

    Notes
    -----
    What obj's library has under way on its stream is waited for by the default stream, which the
    result goes in the order of. An array on "emu" lies in host memory, and so becomes a NumPy array
    over the same bytes.

    References
    ----------
    The Python array API standard, from_dlpack.

    Examples
    --------
    >>> warpkit.from_dlpack(np.arange(3.0))
    array([0., 1., 2.])
    """
    if not isinstance(device, str | None):
        raise TypeError(f"device must be a str or None, not {_interop.kind_of(device)}")
    array, copied = _interop.take_dlpack(_core.unmasked(obj), _interop.dlpack_device(obj), copy)
    lies = "cpu" if isinstance(array, np.ndarray) else array.device
    if device is None or _interop.same_device(lies, device):
        return array.copy() if copy and not copied else array
    if copy is False:
        raise ValueError(f"from '{lies}' to '{device}' an array cannot come without a copy")
    host = array if isinstance(array, np.ndarray) else array.numpy()
    return host if device in ("cpu", "cpu:0") else asarray(host, device=device)
