"""Partials: what is kept of a part of an array, so that all parts together give one result."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import itertools
import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from warpkit import _core, _interop
from warpkit._array import DeviceArray, asarray, on_host
from warpkit._bins import is_float
from warpkit._groups import host_keys, words_of_groups
from warpkit._histogram import bincount, histogram, least_length, weigh, weigh_values
from warpkit._ops import NO_VALUE, Axis, Device, unknown
from warpkit._reduce import _fields
from warpkit._transpose import transpose

Ops = tuple[str, ...]  # of histograms too
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
MOST_PARTS = 1 << 31
DIGIT = 1 << 32  # of the numbers that words are digits of
BATCH, BATCH_BYTES = 4096, 1 << 24  # parts that are stacked at once
AXES = 8  # that a kernel takes; more are put together first

# ---- words -------------------------------------------------------------------------------------


class Field(NamedTuple):
    """Some of the words that each result has."""

    name: str
    kind: str  # a key of HOW
    words: int


# How words of a kind are merged.
HOW = {
    "limbs": "sum",  # digits of a number, the last with its sign
    "count": "sum",  # two digits of a number of at most 63 bits
    "modulo": "sum",  # two digits modulo 2^64
    "flag": "sum",  # is there one? How many parts say so
    "product": "prod",
    "least": "min",
    "most": "max",
    "first": "first",
}


def _width(fields: Sequence[Field]) -> int:
    return sum(field.words for field in fields)


def _placed(fields: Sequence[Field]) -> Iterator[tuple[Field, int]]:
    """Each field, and its first word."""
    at = 0
    for field in fields:
        yield field, at
        at += field.words


def _digits(x: np.ndarray) -> np.ndarray:
    """64 bits as two words."""
    bits = x.astype(np.uint64, copy=False)
    return np.stack([bits & np.uint64(DIGIT - 1), bits >> np.uint64(32)], -1).view(np.int64)


def _bits(words: np.ndarray) -> np.ndarray:
    both = words.view(np.uint64)
    return both[..., 0] + (both[..., 1] << np.uint64(32))


def _settle(words: np.ndarray, fields: Sequence[Field]) -> None:
    """Carries sums, in place, so that 2^31 more may be added."""
    for field, at in _placed(fields):
        if field.kind == "flag":
            own = words[..., at : at + field.words]
            np.minimum(own, 1, out=own)
        elif HOW[field.kind] == "sum":
            beyond = _core.carry(words, at, field.words, field.kind == "modulo")
            if field.kind != "modulo" and beyond:
                raise OverflowError(f"the parts' {field.name} is more than an int64 holds")


def _first_of(parts: np.ndarray) -> np.ndarray:
    """Of each row of words, along the first axis, the one that comes first."""
    best: np.ndarray = parts[0]
    for other in parts[1:]:
        less = np.zeros(best.shape[:-1], bool)
        equal = ~less
        for k in range(best.shape[-1]):
            less |= equal & (other[..., k] < best[..., k])
            equal &= other[..., k] == best[..., k]
        best = np.where(less[..., None], other, best)
    return best


MERGES: dict[str, Any] = {
    "sum": np.add.reduce,
    "prod": np.multiply.reduce,
    "min": np.minimum.reduce,
    "max": np.maximum.reduce,
    "first": _first_of,
}


def _merged(parts: np.ndarray, fields: Sequence[Field]) -> np.ndarray:
    """Words of at most 2^31 parts, along the first axis."""
    words = np.empty(parts.shape[1:], np.int64)
    grouped = itertools.groupby(_placed(fields), lambda item: _group_of(*item))
    for (how, *_), members in grouped:
        own = list(members)
        at, last = own[0][1], own[-1]
        end = last[1] + last[0].words
        words[..., at:end] = MERGES[how](parts[..., at:end])
    _settle(words, fields)
    return words


def _group_of(field: Field, at: int) -> tuple[Any, ...]:
    how = HOW[field.kind]
    return (how, at) if how == "first" else (how,)


# ---- keys --------------------------------------------------------------------------------------


def _keys(x: np.ndarray) -> np.ndarray:
    """Real numbers as int64 in their order, -0.0 below 0.0; of NaN no key is meant."""
    if is_float(x.dtype):
        bits = x.astype(np.float64).view(np.int64)
        return bits ^ ((bits >> 63) & MOST)
    if x.dtype == np.uint64:
        return (x ^ np.uint64(1 << 63)).view(np.int64)
    return x.astype(np.int64)


def _unkeys(keys: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    if is_float(dtype):
        bits = (keys ^ ((keys >> 63) & MOST)).view(np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(bits.astype(dtype))
    if dtype == np.uint64:
        return keys.view(np.uint64) ^ np.uint64(1 << 63)
    return keys.astype(dtype)


def _is_nan(x: np.ndarray) -> np.ndarray:
    return np.zeros(x.shape, bool) if x.dtype.kind in "biu" else np.isnan(x)


def _order(x: np.ndarray, signs: bool) -> list[np.ndarray]:
    """Keys by which elements are compared, one after the other; signs: those of zeros at last."""
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    if len(parts) == 1 and signs:
        return [_keys(x)]
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        zeros = [_keys(part if part.dtype.kind in "biu" else part + 0.0) for part in parts]
        return zeros + [_keys(part) for part in parts] if signs else zeros


def _ranks(x: np.ndarray, largest: bool, signs: bool) -> np.ndarray:
    """Words of which the least is the extreme; NaN is."""
    keys = np.stack(_order(x, signs), -1)
    keys = ~keys if largest else keys
    keys[_is_nan(x)] = LEAST
    return keys


# ---- what is kept of a reduction ---------------------------------------------------------------

EXACT = ("sum", "mean", "var", "std", "norm", "sumsq")
SQUARES = {"var", "std", "norm", "sumsq"}
LOGICAL = ("any", "all", "count_nonzero")
ENDS, ARGS = ("min", "max"), ("argmin", "argmax")
TAKEN = (*EXACT, "prod", *ENDS, "ptp", *LOGICAL, *ARGS)
NAN_FORMS = {"sum", "mean", "var", "std", *ENDS, *ARGS}
COUNT = Field("count", "count", 2)


class Segment(NamedTuple):
    """Fields that one fold gives, of elements that are not NaN or of all."""

    nan: bool
    fold: str
    fields: tuple[Field, ...]
    at: int  # the first word

    @property
    def name(self) -> str:
        return "nan" * self.nan + self.fold

    @property
    def words(self) -> slice:
        return slice(self.at, self.at + _width(self.fields))


def _block(dtype: np.dtype[Any], sums: int, squares: bool) -> tuple[Field, ...]:
    """As csrc/partial.h has it."""
    integer, wide = dtype.kind in "biu", dtype.name in ("float64", "complex128")
    sum_limbs, square_limbs = (7, 12) if integer else (72, 138) if wide else (12, 22)
    flags = [] if integer else [Field("flags", "flag", 4)]
    both = [Field("squares", "limbs", square_limbs)] if squares else []
    return (COUNT, *flags, *([Field("sum", "limbs", sum_limbs)] * sums), *both)


def _folds(ops: set[str], dtype: np.dtype[Any]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """The folds that _core is to give for these ops, and the fields of each."""
    integer, complex_ = dtype.kind in "biu", dtype.kind == "c"
    exact = ops & set(EXACT)
    if (integer and "sum" in ops) or (complex_ and ops & {"sum", "mean"}):
        modulo = (Field("sum modulo 2^64", "modulo", 2),)
        yield "sum", modulo if integer else 2 * _block(dtype, 1, False)
        exact -= {"sum"} if integer else {"sum", "mean"}
    if exact:
        squares, sums = bool(exact & SQUARES), bool(exact - {"norm", "sumsq"})
        fold = "var" if squares and sums else "sumsq" if squares else "mean"
        yield fold, _block(dtype, (1 + complex_) * sums, squares)
    for fold in ENDS:
        if ops & {fold, "ptp"}:
            kind = "least" if fold == "min" else "most"
            key = Field(fold, "first", 4) if complex_ else Field(fold, kind, 1)
            yield fold, (COUNT, key)
    for fold in LOGICAL:
        if fold in ops:
            count = fold == "count_nonzero"
            yield fold, (Field(fold, "count", 2) if count else Field(fold, "flag", 1),)
    if "prod" in ops:
        yield "prod", (Field("product", "product", 1),)
    for fold in ARGS:
        if fold in ops:
            yield fold, (Field(fold, "first", 2 + complex_),)


def _bare(op: str, dtype: np.dtype[Any]) -> tuple[bool, str]:
    """Without its nan; of integers, which are none, that changes nothing."""
    nan = op.startswith("nan")
    return nan and dtype.kind not in "biu", op.removeprefix("nan")


@functools.lru_cache(maxsize=256)
def _segments(ops: Ops, dtype: np.dtype[Any]) -> tuple[Segment, ...]:
    segments, at = [], 0
    for nan in (False, True):
        own = {op for skips, op in (_bare(op, dtype) for op in ops) if skips == nan}
        for fold, fields in _folds(own, dtype):
            segments.append(Segment(nan, fold, fields, at))
            at += _width(fields)
    return tuple(segments)


def _passes(segments: Sequence[Segment], dtype: np.dtype[Any], masked: bool) -> list[list[Segment]]:
    """Which are found in one reading: all but products and indices, and of complex numbers the
    ends together. With where the ends take an initial value, which nothing else does."""
    passes: dict[Any, list[Segment]] = {}
    for s in segments:
        alone = s.fold == "prod" or s.fold in ARGS or (masked and s.fold in ENDS)
        kind = s.fold in ENDS or (s.fold if s.fold in ("sum", "var", "mean", "sumsq") else False)
        together = (s.nan, kind if dtype.kind == "c" else None)
        passes.setdefault(s.name if alone else together, []).append(s)
    return list(passes.values())


def _identity(fields: Sequence[Field], shape: tuple[int, ...]) -> np.ndarray:
    """What any other words are merged with and stay."""
    of = {"product": 1, "least": MOST, "most": LEAST, "first": MOST}
    one = [of.get(field.kind, 0) for field in fields for _ in range(field.words)]
    return np.broadcast_to(np.array(one, np.int64), (*shape, len(one))).copy()


def _end(dtype: np.dtype[Any], largest: bool) -> Any:
    """Of all elements, the one that the others of a minimum or a maximum lie before."""
    if dtype.kind == "b":
        return not largest
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if largest else info.max
    end = -math.inf if largest else math.inf
    return complex(end, end) if dtype.kind == "c" else end


class _Folding(NamedTuple):
    """An array whose partial is wanted."""

    a: Any
    axis: Axis
    where: Any
    options: tuple[Any, ...]
    offset: Any
    place: tuple[Axis, tuple[int, ...]]  # the axis and the shape that offset is of

    def words(self, segments: Sequence[Segment]) -> list[np.ndarray]:
        """Of segments of one pass."""
        s = segments[0]
        initial = NO_VALUE
        if s.fold in ENDS and self.where is not True:
            initial = _end(self.a.dtype, s.fold == "max")
        names = tuple(one.name for one in segments)
        results, words = _core.partial(self.a, names, self.axis, initial, self.where, *self.options)
        every = (results,) if len(names) == 1 else results
        return [self._of(one, r, words) for one, r in zip(segments, every, strict=True)]

    def _of(self, s: Segment, result: Any, words: np.ndarray) -> np.ndarray:
        if s.fields[0] is COUNT and s.fold not in ENDS:
            return words.reshape(*words.shape[: np.ndim(result)], _width(s.fields))
        x = np.asarray(on_host(result))
        if s.fold in ENDS:
            return _end_words(s, x, words[..., :2])
        if s.fold in ARGS:
            return self._place_words(s, x)
        if s.fields[0].kind == "flag":
            return (x if s.fold == "any" else ~x).astype(np.int64)[..., None]
        if s.fields[0].kind == "product":
            return x.astype(np.int64, copy=False)[..., None]
        return _digits(x)

    def _place_words(self, s: Segment, index: np.ndarray) -> np.ndarray:
        largest, found = s.fold == "argmax", index >= 0
        if isinstance(self.a, DeviceArray):
            fold = "nan" * s.nan + ("max" if largest else "min")
            arguments = (fold, self.axis, NO_VALUE, True, *self.options)
            value = _core.partial(self.a, *arguments)[0].numpy()
        elif self.axis is None:
            value = self.a[np.unravel_index(np.maximum(index, 0), self.a.shape)]
        else:
            axis = operator.index(self.axis[0] if isinstance(self.axis, tuple) else self.axis)
            taken = np.expand_dims(np.maximum(index, 0), axis if self.a.ndim else ())
            value = self.a if self.a.ndim == 0 else np.take_along_axis(self.a, taken, axis)
            value = value.reshape(index.shape)
        places = self._in_whole(index)[..., None]
        words = np.concatenate([_ranks(np.asarray(value), largest, False), places], -1)
        words[~found] = MOST
        return words

    def _in_whole(self, index: np.ndarray) -> np.ndarray:
        if not isinstance(self.offset, tuple):
            return index + operator.index(self.offset)
        (origin, shape), (axis, own) = self.offset, self.place
        if axis is not None:
            axis = axis[0] if isinstance(axis, tuple) else axis
            return index + operator.index(origin[axis])
        here = np.unravel_index(np.maximum(index, 0), own)
        there = tuple(at + int(first) for at, first in zip(here, origin, strict=True))
        return np.asarray(np.ravel_multi_index(there, shape), np.int64).reshape(index.shape)


def _end_words(s: Segment, x: np.ndarray, count: np.ndarray) -> np.ndarray:
    largest, none = s.fold == "max", (count == 0).all(-1)
    if s.fields[1].kind == "first":
        keys = _ranks(x, largest, True)
        keys[none] = MOST
    else:
        keys = _keys(x)[..., None]
        keys[_is_nan(x)] = MOST if largest else LEAST
        keys[none] = LEAST if largest else MOST
    return np.concatenate([count, keys], -1)


# ---- results -----------------------------------------------------------------------------------


class _Results:
    """Results of a reduction, from its words."""

    def __init__(self, of: _Reduction, words: np.ndarray) -> None:
        self.of, self.all = of, words
        self.segments = {s.name: s for s in _segments(of.ops, of.dtype)}

    def words(self, name: str) -> np.ndarray:
        return self.all[..., self.segments[name].words]

    def give(self, op: str) -> np.ndarray:
        nan, fold = _bare(op, self.of.dtype)
        prefix = "nan" * nan
        if fold in EXACT and not (fold == "sum" and self.of.dtype.kind in "biu"):
            return self._exact(op, prefix, fold)
        if fold == "ptp":
            return self._range()
        words = self.words(prefix + fold)
        if fold in ENDS:
            return self._end(prefix + fold, op)
        if fold in ARGS:
            return self._place(words[..., -1], op)
        if fold == "prod":
            return words[..., 0].astype(self._integer())
        if fold == "any":
            return np.asarray(words[..., 0] != 0)
        if fold == "all":
            return np.asarray(words[..., 0] == 0)
        return _bits(words).astype(self._integer() if fold == "sum" else np.int64)

    def _integer(self) -> Any:
        return np.uint64 if self.of.dtype.kind == "u" else np.int64

    def _exact(self, op: str, prefix: str, fold: str) -> np.ndarray:
        dtype, names = self.of.dtype, [prefix + f for f in ("var", "sumsq", "mean", "sum")]
        parts = dtype.kind == "c" and fold in ("sum", "mean")
        name = names[3] if parts else next(n for n in names if n in self.segments)
        block, count = self.words(name), self.words(name)[..., :2]
        self._warn(fold, op, _bits(count).astype(np.int64))
        real = np.zeros(0, dtype).real.dtype if parts else dtype
        if parts:
            block = block.reshape(*block.shape[:-1], 2, block.shape[-1] // 2)
        rows = np.asarray(block, order="C")
        if name == prefix + "sum":
            name = prefix + "mean"
        found = _core.finish(rows, (name, prefix + fold), real, self.of.ddof, None)[1]
        result: np.ndarray = found.view(dtype) if parts else found
        return result.reshape(self.of.shape)

    def _warn(self, fold: str, op: str, count: np.ndarray) -> None:
        if fold == "mean" and (count == 0).any():
            _say("Mean of empty slice")
        if fold in ("var", "std") and (count <= self.of.ddof).any():
            _say("Degrees of freedom <= 0 for slice" + "." * op.startswith("nan"))

    def _end(self, name: str, op: str) -> np.ndarray:
        words, dtype = self.words(name), self.of.dtype
        largest, none = name.endswith("max"), (words[..., :2] == 0).all(-1)
        keys = words[..., 2:]
        if none.any():
            if not name.startswith("nan"):
                ufunc = "maximum" if largest or op == "ptp" else "minimum"
                raise ValueError(
                    f"zero-size array to reduction operation {ufunc} which has no identity"
                )
            _say("All-NaN slice encountered")
        if dtype.kind == "c":
            nan = none | (keys[..., 0] == LEAST)
            keys = ~keys if largest else keys
            z = np.empty(nan.shape, dtype)
            z.real, z.imag = (_unkeys(keys[..., k], z.real.dtype) for k in (2, 3))
            return _with_nan(z, nan)
        x = _unkeys(keys[..., 0], dtype)
        if not is_float(dtype):
            return x
        return _with_nan(x, none | (keys[..., 0] == (MOST if largest else LEAST)))

    def _range(self) -> np.ndarray:
        most, least = self._end("max", "ptp"), self._end("min", "ptp")
        with np.errstate(all="ignore"):
            result = np.asarray(most - least)
        if result.dtype.kind == "c":  # each part by itself
            for part in (result.real, result.imag):
                np.copyto(part, np.nan, where=np.isnan(part))
            return result
        return _with_nan(result, np.isnan(result)) if is_float(result.dtype) else result

    def _place(self, index: np.ndarray, op: str) -> np.ndarray:
        if (index == MOST).any():
            nan = op.startswith("nan")
            raise ValueError(
                "All-NaN slice encountered" if nan else f"attempt to get {op} of an empty sequence"
            )
        return index.copy()


def _with_nan(x: np.ndarray, nan: np.ndarray) -> np.ndarray:
    """NaN there, in both parts: the one quiet positive NaN without payload."""
    x = np.array(x)  # of a scalar too
    x[nan] = complex(math.nan, math.nan) if x.dtype.kind == "c" else math.nan
    return x


def _say(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=6)


# ---- what a partial is of ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Reduction:
    ops: Ops
    several: bool  # they were a tuple
    dtype: np.dtype[Any]  # of the elements
    shape: tuple[int, ...]
    ddof: float

    @functools.cached_property
    def fields(self) -> tuple[Field, ...]:
        segments = _segments(self.ops, self.dtype)
        return tuple(itertools.chain.from_iterable(s.fields for s in segments))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reduction, (self.ops, self.several, self.dtype, self.shape, self.ddof)

    @property
    def name(self) -> str:
        return ", ".join(self.ops)

    def facts(self) -> dict[str, Any]:
        op = repr(self.ops if self.several else self.ops[0])
        return {"op": op, "dtype": self.dtype, "shape": self.shape, "ddof": self.ddof}

    def finish(self, words: np.ndarray) -> Any:
        found = [self.finish_op(words, op) for op in self.ops]
        return _fields(self.ops)._make(found) if self.several else found[0]

    def finish_op(self, words: np.ndarray, op: str) -> Any:
        return _Results(self, words).give(op)[()]


@dataclasses.dataclass(frozen=True)
class _Histogram:
    name: str  # or bincount
    weighted: bool
    dtype: np.dtype[Any]  # of the weights, or of counts
    shape: tuple[int, ...]
    edges: bytes  # of a histogram
    edge_dtype: np.dtype[Any]

    @functools.cached_property
    def fields(self) -> tuple[Field, ...]:
        if not self.weighted:
            return (Field("count", "count", 2),)
        if self.dtype.kind in "biu":
            return (Field("sum modulo 2^64", "modulo", 2),)
        return (1 + (self.dtype.kind == "c")) * _block(self.dtype, 1, False)

    def facts(self) -> dict[str, Any]:
        weights = str(self.dtype) if self.weighted else "none"
        facts = {"op": repr(self.name), "weights": weights, "bins": self.shape[0]}
        edges = np.frombuffer(self.edges, self.edge_dtype)
        return facts | {"edges' dtype": self.edge_dtype, "edges": edges}

    def finish(self, words: np.ndarray) -> Any:
        counts = self._counts(words)
        if self.name == "bincount":
            return counts
        return counts, np.frombuffer(self.edges, self.edge_dtype).copy()

    def _counts(self, words: np.ndarray) -> np.ndarray:
        dtype = self.dtype
        if not self.weighted:
            return _bits(words).astype(np.int64)
        if dtype.kind in "biu":
            sums = _bits(words)
            return sums != 0 if dtype.kind == "b" else sums.astype(dtype)
        real = np.zeros(0, dtype).real.dtype
        out = np.dtype(np.float64) if self.name == "bincount" else None
        (found,) = _core.finish(words, "sum", real, 0, out)
        return np.asarray(found if out else found.view(dtype))


Of = _Reduction | _Histogram


def _check_alike(a: Of, b: Of) -> None:
    if a == b:
        return
    ours, theirs = a.facts(), b.facts()
    for fact in ours:
        one: Any = ours[fact]
        other: Any = theirs.get(fact)
        if not np.array_equal(one, other) if fact == "edges" else one != other:
            error = TypeError if fact in ("dtype", "weights", "edges' dtype") else ValueError
            raise error(f"partials of different {fact} do not merge: {one} and {other}")
    raise AssertionError(f"{a} and {b} differ in what facts does not tell")


def _longer(a: Of, b: Of) -> Of:
    """Of two bincounts the one that has more bins."""
    if isinstance(a, _Histogram) and isinstance(b, _Histogram) and a.name == b.name == "bincount":
        a, b = (a, b) if a.shape >= b.shape else (b, a)
        b = dataclasses.replace(b, shape=a.shape)
    _check_alike(a, b)
    return a


class Partial:
    """What is kept of a part of an array, for a result that is the same whatever the parts were.

    ``p + q`` is both parts' partial; pickle takes it to other processes.

    Attributes
    ----------
    words : ndarray of int64
        Shape (result's shape, w): may be added to those of up to 2^31 parts by any reduction of
        integers, where ``how`` says "sum"; a copy.
    how : ndarray of str
        Shape (w,): "sum", "prod" (modulo 2^64), "min" or "max", by which words are merged; "first"
        where neighbouring words are compared in order, as tuples are, and the least tuple stays:
        merge, or distributed.allreduce, does so.
    shape : tuple of int
        Of the result.

    See Also
    --------
    partial, merge

    Examples
    --------
    >>> p = warpkit.partial([1.0, 2.0], "mean") + warpkit.partial([6.0], "mean")
    >>> float(p.finish())
    3.0
    """

    __slots__ = ("_of", "_words")

    def __init__(self, of: Of, words: np.ndarray) -> None:
        self._of, self._words = of, words

    @property
    def words(self) -> np.ndarray:
        return self._words.copy()

    @property
    def how(self) -> np.ndarray:
        return np.array([HOW[f.kind] for f in self._of.fields for _ in range(f.words)])

    @property
    def shape(self) -> tuple[int, ...]:
        return self._of.shape

    @property
    def nbytes(self) -> int:
        return self._words.nbytes

    def __repr__(self) -> str:
        facts = self._of.facts().items()
        shown = ", ".join(f"{name}={value}" for name, value in facts if "edges" not in name)
        return f"Partial({shown}, {self.nbytes} bytes)"

    def __add__(self, other: Any) -> Partial:
        return merge((self, other)) if isinstance(other, Partial) else NotImplemented

    def _finish_op(self, op: str) -> Any:
        assert isinstance(self._of, _Reduction)
        return self._of.finish_op(self._words, op)

    def __reduce__(self) -> tuple[Any, ...]:
        return Partial, (self._of, self._words)

    def __sizeof__(self) -> int:  # by which Dask's workers know what they hold
        return object.__sizeof__(self) + self._words.nbytes

    def finish(self) -> Any:
        """The result, as reduce's, histogram's or bincount's of all parts at once: NumPy's.

        Returns
        -------
        ndarray or scalar
            Of several ops a named tuple of them; of a histogram (counts, edges).

        Raises
        ------
        ValueError (min, max, ptp, argmin or argmax of nothing)

        Warns
        -----
        RuntimeWarning
            As reduce.
        """
        return self._of.finish(self._words)

    @staticmethod
    def from_words(words: Any, like: Partial, parts: int = 1) -> Partial:
        """The partial whose words others have merged, of as many parts.

        Parameters
        ----------
        words : array_like of int64
            int64, shape of like's words.
        like : Partial
            A partial of the same, of any part.
        parts : int
            How many were merged: 1 to 2^31.

        Raises
        ------
        TypeError
            dtype.
        ValueError
            shape; parts; words that no such sum can be.
        OverflowError
            Counts that an int64 does not hold.

        Examples
        --------
        >>> parts = [warpkit.partial([1.0, 2.0]), warpkit.partial([6.0])]
        >>> words = parts[0].words + parts[1].words
        >>> float(warpkit.Partial.from_words(words, parts[0], 2).finish())
        9.0
        """
        if not isinstance(like, Partial):
            raise TypeError(f"like must be a Partial, not {type(like).__name__}")
        own = np.array(words, order="C")
        if own.dtype != np.int64:
            raise TypeError(f"words must be int64, not {own.dtype}")
        if own.shape != like._words.shape:
            raise ValueError(f"words have shape {own.shape}; those of {like!r} {like._words.shape}")
        parts = operator.index(parts)
        if not 1 <= parts <= MOST_PARTS:
            raise ValueError(f"words take 1 to 2^31 parts, not {parts}")
        _check_sums(own, like._of.fields, parts)
        if isinstance(like._of, _Reduction):
            _check_extremes(own, like._of)
        _settle(own, like._of.fields)
        return Partial(like._of, own)


def _check_sums(words: np.ndarray, fields: Sequence[Field], parts: int) -> None:
    for field, at in _placed(fields):
        if HOW[field.kind] != "sum" or words.size == 0:
            continue
        most = parts if field.kind == "flag" else parts * (DIGIT - 1)
        signed = field.kind == "limbs"
        own = words[..., at : at + field.words - signed]
        if own.min() < 0 or own.max() > most:
            raise ValueError(
                f"words of {field.name} lie in {own.min()} .. {own.max()}; of {parts} parts they "
                f"lie in 0 .. {most}"
            )


def _check_extremes(words: np.ndarray, of: _Reduction) -> None:
    """Words that were added, say, may have keys that no element has, or of nothing; or places below
    0."""
    real = np.zeros(0, of.dtype).real.dtype
    for s in _segments(of.ops, of.dtype):
        if s.fold not in (*ENDS, *ARGS):
            continue
        own, first = words[..., s.words], s.fields[-1].kind == "first"
        none = (own[..., :2] == 0).all(-1) if s.fold in ENDS else own[..., -1] == MOST
        keys = own[..., 2:] if s.fold in ENDS else own[..., :-1]
        marked = (keys == LEAST) | (keys == MOST)
        keys = ~keys if first and "max" in s.fold else keys
        wrong = ~marked & ((_keys(_unkeys(keys, real)) != keys) | none[..., None])
        if wrong.any() or (s.fold in ARGS and (own[..., -1] < 0).any()):
            raise ValueError(f"words of {s.name} are none of {of.dtype}: how says how they merge")


def merge(partials: Iterable[Partial]) -> Partial:
    """The partial of all parts, in whatever order they come.

    Parameters
    ----------
    partials : iterable of Partial
        One or more, of the same ops, dtype, shape, ddof and edges; of bincounts any lengths.

    Returns
    -------
    Partial

    Raises
    ------
    ValueError
        none; different ops, shapes or edges.
    TypeError
        Different dtypes; not a Partial.
    OverflowError
        A count that an int64 does not hold.

    See Also
    --------
    partial, distributed.allreduce

    Notes
    -----
    Sums are of integers: any order, and any tree of merges, gives the same words.

    Examples
    --------
    >>> parts = [warpkit.partial([1e16, 1.0]), warpkit.partial([-1e16])]
    >>> float(warpkit.merge(parts).finish())
    1.0
    """
    rest, total = iter(partials), None
    while batch := list(_batch(rest)):
        total = _merge_some(batch if total is None else [total, *batch])
    if total is None:
        raise ValueError("there is no partial to merge")
    return total


def _batch(partials: Iterator[Partial]) -> Iterator[Partial]:
    size = 0
    for count, p in enumerate(partials, 2):
        if not isinstance(p, Partial):
            raise TypeError(f"a Partial is merged with Partials, not with {type(p).__name__}")
        yield p
        size += p.nbytes
        if size >= BATCH_BYTES or count >= BATCH:
            return


def _merge_some(parts: list[Partial]) -> Partial:
    if len(parts) == 1:
        return parts[0]
    of = parts[0]._of
    for p in parts:
        if p._of is not of:
            of = _longer(of, p._of)
    shape = (*of.shape, _width(of.fields))
    stacked = np.concatenate([_lengthened(p, of)._words for p in parts])
    return Partial(of, _merged(stacked.reshape(len(parts), *shape), of.fields))


def _lengthened(p: Partial, of: Of) -> Partial:
    """A bincount with as many bins as another."""
    if p._of.shape == of.shape:
        return p
    words = np.zeros((*of.shape, p._words.shape[-1]), np.int64)
    words[: p.shape[0]] = p._words
    return Partial(of, words)


# ---- partial -----------------------------------------------------------------------------------


def partial(
    a: Any,
    /,
    op: str | Ops = "sum",
    axis: Axis = None,
    *,
    where: Any = True,
    ddof: float = 0,
    offset: int | tuple[Sequence[int], Sequence[int]] = 0,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    minlength: int = 0,
    keys: Any = None,
    groups: int | None = None,
    device: Device = None,
    stream: Any = None,
) -> Partial:
    """What ``reduce`` keeps of a part of an array, to be merged with other parts'.

    Parameters
    ----------
    a : array_like
        As reduce's; of "histogram" and "bincount" as theirs.
    op : str or tuple of str
        reduce's names, one or a tuple, but prod of floats and complex numbers, which depends on the
        order; or "histogram" or "bincount" alone.
    axis : int or tuple of int, optional
        As reduce's.
    where : array_like of bool
        As reduce's; min and max take it with no initial value too.
    ddof : float
        Of var and std.
    offset : int or (sequence of int, shape)
        Of argmin and argmax: index in the whole of this part's first element; or, of a box of an
        array, where the box begins on each axis and that array's shape.
    bins, range, weights : optional
        As histogram's; bins are edges, or a number of bins in a range that is given.
    weights, minlength : optional
        As bincount's.
    keys, groups : array_like of int, int; optional
        A result for each of so many groups, as group_reduce's: the keys, from 0 to groups - 1, of
        a's elements. Indices are of a, flattened, or with offset of the whole.
    device, stream : optional
        Of one device; "auto" is the CPU. As of every operation: see ``help(warpkit)``.

    Returns
    -------
    Partial
        On the host.

    Raises
    ------
    ValueError
        bins without a range; several devices; a key that is none of the groups'; an offset that is
        negative, or of a box that does not lie in its array.
    TypeError
        keys without groups, or beside axis or where; prod of floats; a tuple that has "histogram"
        or "bincount" in it; an argument that goes with other ops alone.
    OverflowError
        Places that an int64 does not hold.
    As reduce and histogram

    See Also
    --------
    merge, Partial

    Notes
    -----
    ``p.finish()`` has the bits of the function's result on all parts together: it does not depend
    on how these were cut, on the order in which they are merged, nor on devices. Exact sums [1]_
    take, for each result, 144 bytes (float16, bfloat16, float32) or 624 bytes (float64), and with
    squares 320 or 1,728; of integers 72 and 168. A host array is taken to a GPU as a whole. argmin
    and argmax read an array on a device twice. Elements are sorted by their keys, on the host; the
    results are reduce's, of nothing too. Nothing has a partial, which finish may refuse.

    References
    ----------
    .. [1] R. Neal (2015), "Fast exact summation using small and large superaccumulators"

    Examples
    --------
    >>> parts = [[1e16, 1.0], [-1e16]]
    >>> float(warpkit.merge(warpkit.partial(part) for part in parts).finish())
    1.0
    """
    several = isinstance(op, tuple)
    ops: Ops = op if isinstance(op, tuple) else (op,)
    a, _ = _core.operand(a)
    if op not in ("histogram", "bincount") and (
        range is not None or weights is not None or minlength != 0
    ):
        raise TypeError("range, weights and minlength go with histogram and bincount alone")
    if keys is not None:
        if axis is not None or where is not True or op in ("histogram", "bincount"):
            raise TypeError("keys go with neither axis nor where, nor with histogram and bincount")
        how = {"op": op, "axis": 1, "ddof": ddof, "device": device, "stream": stream}
        return _partial_of_groups(a, ops, keys, groups, offset, how)
    a = _there(a, device)
    options = {"device": None if isinstance(a, DeviceArray) else "cpu", "stream": stream}
    if op in ("histogram", "bincount"):
        if axis is not None or where is not True:
            raise TypeError(f"{op} takes neither axis nor where")
        if op == "histogram":
            return _partial_histogram(a, bins, range, weights, options)
        return _partial_bincount(a, weights, minlength, options)
    _check_ops(ops, a.dtype, several, where)
    axes = _axes(axis, a.ndim, ops)
    _check_offset(offset, a.shape, axes, ops)
    kept = tuple(n for d, n in enumerate(a.shape) if d not in axes)
    of = _reduction(ops, several, a.dtype, kept, float(ddof))
    fields = of.fields
    if math.prod(a.shape[d] for d in axes) == 0:
        return Partial(of, _identity(fields, kept))
    place = (axis, a.shape)
    if isinstance(a, DeviceArray) and a.ndim > AXES:
        a, axis, where = _with_few_axes(a, axes, where)
    pair = None if stream is None else _interop.stream_pair(stream)
    folding = _Folding(a, axis, where, (None, options["device"], pair, None, None), offset, place)
    segments = _segments(ops, a.dtype)
    words = np.empty((*kept, _width(fields)), np.int64)
    for some in _passes(segments, a.dtype, where is not True):
        for s, own in zip(some, folding.words(some), strict=True):
            words[..., s.words] = own.reshape(*kept, _width(s.fields))
    return Partial(of, words)


def _partial_of_groups(
    a: Any, ops: Ops, keys: Any, groups: Any, offset: Any, how: dict[str, Any]
) -> Partial:
    """Of rows, as partial has them with these arguments."""
    _check_ops(ops, a.dtype, isinstance(how["op"], tuple), True)
    if isinstance(a, DeviceArray):
        how = how | {"device": _there(a, how["device"]).device}
    _check_offset(offset, a.shape, tuple(range(a.ndim)), ops)
    in_whole = _Folding(a, None, True, (), offset, (None, a.shape))._in_whole
    keys, a, groups = host_keys(keys, a, groups)
    found = partial(np.zeros((groups, 0), a.dtype), **(how | {"device": "cpu", "stream": None}))
    places = tuple(op for op in ops if op.removeprefix("nan") in ARGS)
    masked = tuple(dict.fromkeys(itertools.chain.from_iterable(map(_with_ends, ops))))
    segments = _segments(ops, a.dtype)

    def words_of(rows: np.ndarray, there: Any, index: np.ndarray) -> np.ndarray:
        own: dict[str, np.ndarray] = {}
        if masked:
            own |= _by_segment(partial(rows, **(how | {"op": masked, "where": there})))
        if places:
            at = _by_segment(partial(rows, **(how | {"op": places})))
            for words in at.values():
                some = np.flatnonzero(words[:, -1] != MOST)
                words[some, -1] = in_whole(index[some, words[some, -1]])
            own |= at
        return np.concatenate([own[s.name] for s in segments], -1)

    words_of_groups(words_of, keys, a, found._words)
    return found


def _with_ends(op: str) -> Ops:
    """What takes a mask: of the range the ends, of places nothing."""
    return ENDS if op == "ptp" else () if op.removeprefix("nan") in ARGS else (op,)


def _by_segment(p: Partial) -> dict[str, np.ndarray]:
    assert isinstance(p._of, _Reduction)
    return {s.name: p._words[..., s.words] for s in _segments(p._of.ops, p._of.dtype)}


@functools.lru_cache(maxsize=256)
def _reduction(*of: Any) -> _Reduction:
    """The same object for the same, so that partials are quickly found to be alike."""
    return _Reduction(*of)


def _there(a: Any, device: Device) -> Any:
    """A host array where its partial is found."""
    if isinstance(a, DeviceArray):
        if device is not None and not (
            isinstance(device, str) and _interop.same_device(device, a.device)
        ):
            raise ValueError(f"the array lies on '{a.device}', and device is {device!r}")
        return a
    device = _core.default_device() if device is None else device
    if not isinstance(device, str) or device.endswith(":all"):
        raise ValueError(
            f"a partial is found on one device, not on {device!r}: merge those of each"
        )
    if device.startswith("cpu") or device == "auto":
        return a
    return asarray(a, device=device)


def _check_ops(ops: Ops, dtype: np.dtype[Any], several: bool, where: Any) -> None:
    if several:
        _fields(ops)
        if not ops:
            raise ValueError("op must be one name, or a tuple of them")
    for op in ops:
        if isinstance(op, list):
            raise ValueError(f"op is the list {op}; several ops are a tuple")
        fold = op.removeprefix("nan") if isinstance(op, str) else op
        if op in ("histogram", "bincount"):
            raise TypeError(f"{op} goes with no other op")
        known = fold in NAN_FORMS if fold != op else op in TAKEN
        if op == "nanprod" or (op == "prod" and dtype.kind not in "biu"):
            if dtype.kind in "biu":
                continue
            raise TypeError(
                f"{op} of {dtype} depends on the order of the elements: no parts of it merge"
            )
        if not known:
            raise ValueError(unknown("op", op, TAKEN))
        if fold == "ptp" and dtype.kind == "b":
            raise TypeError("ptp does not take bool, of which there is no difference")
        if fold in (*ARGS, "ptp") and where is not True:
            raise TypeError(f"op '{op}' takes no where")


def _axes(axis: Axis, ndim: int, ops: Ops) -> tuple[int, ...]:
    if axis is None:
        return tuple(builtins.range(ndim))
    if ndim == 0 and axis in (0, -1):
        return ()
    if isinstance(axis, tuple) and any(op.removeprefix("nan") in ARGS for op in ops):
        raise TypeError("argmin and argmax take one axis, or None")
    return normalize_axis_tuple(axis, ndim)


def _check_offset(offset: Any, own: tuple[int, ...], axes: tuple[int, ...], ops: Ops) -> None:
    """All places lie in an array, whose size along the axes an int64 holds."""
    if not any(op.removeprefix("nan") in ARGS for op in ops):
        return
    if isinstance(offset, tuple):
        if len(offset) != 2 or not len(offset[0]) == len(offset[1]) == len(own):
            raise ValueError(
                f"offset must be the place and the shape of {len(own)} axes each, not {offset}"
            )
        origin, whole = (tuple(operator.index(each[d]) for d in axes) for each in offset)
        own = tuple(own[d] for d in axes)
    else:
        origin = (operator.index(offset),)
        own = (math.prod(own[d] for d in axes),)
        whole = (origin[0] + own[0],)
    for first, here, all_ in zip(origin, own, whole, strict=True):
        if first < 0 or first + here > all_:
            raise ValueError(f"a part of shape {own} at {origin} does not lie in one of {whole}")
    if math.prod(whole) > MOST:
        raise OverflowError(f"places in an array of shape {whole} are more than an int64 holds")


def _with_few_axes(a: Any, axes: tuple[int, ...], where: Any) -> tuple[Any, Axis, Any]:
    """Kept axes as one, and reduced ones: (outputs, n)."""
    kept = tuple(d for d in builtins.range(a.ndim) if d not in axes)
    order = (*kept, *axes)
    n = math.prod(a.shape[d] for d in axes)
    shape = (a.size // n, n)
    if where is not True:
        host = np.asarray(on_host(where))
        where = np.broadcast_to(host, a.shape).transpose(order).reshape(shape)
    packed = transpose(a, order)
    return packed._at(packed._pointer, shape, (n * a.itemsize, a.itemsize)), 1, where


# ---- histograms --------------------------------------------------------------------------------


def _partial_histogram(
    a: Any, bins: Any, range: Any, weights: Any, options: dict[str, Any]
) -> Partial:
    if range is None and (isinstance(bins, str) or np.ndim(bins) == 0):
        raise ValueError(
            "a partial histogram's bins are edges, or a number of them in a range: the elements of "
            "one part do not tell where the others lie"
        )
    exact = weights is not None and _dtype_of(weights).kind not in "biu"
    call: Any = weigh if exact else histogram
    found, edges = call(a, bins, range, weights=weights, **options)
    kind = None if weights is None else _dtype_of(weights)
    return _of_bins("histogram", kind, found, np.asarray(on_host(edges), order="C"), exact)


def _partial_bincount(a: Any, weights: Any, minlength: int, options: dict[str, Any]) -> Partial:
    minlength = least_length(minlength)
    if weights is None:
        counts = bincount(a, None, minlength, **options)
        return _of_bins("bincount", None, counts, np.zeros(0), False)
    words = weigh_values(a, weights, minlength, **options)
    kind = _dtype_of(weights)
    kind = kind if is_float(kind) else np.dtype(np.float64)
    return _of_bins("bincount", kind, words, np.zeros(0), True)


def _dtype_of(a: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = _core.operand(a)[0].dtype
    return dtype


def _of_bins(
    name: str, dtype: np.dtype[Any] | None, found: Any, edges: np.ndarray, exact: bool
) -> Partial:
    """found: words of sums, or counts."""
    found = on_host(found)
    kind = np.dtype(np.int64) if dtype is None else dtype
    of = _Histogram(name, dtype is not None, kind, (len(found),), edges.tobytes(), edges.dtype)
    if exact:
        words = found.reshape(len(found), _width(of.fields))
    else:
        words = _digits(found.astype(np.int64, copy=False))
    return Partial(of, words)
