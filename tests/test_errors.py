"""Bad input: NumPy's type of exception, a message that helps, and a next call that works."""

import re

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import DeviceError

A = np.arange(6.0).reshape(2, 3)
NAN = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.nan]])
TAPS = [1.0, 2.0, 3.0]
PUBLIC = ("builtins", "numpy.exceptions")


def check_next_call(device):
    np.testing.assert_array_equal(warpkit.reduce(A, "sum", 0, device=device), A.sum(0))
    np.testing.assert_array_equal(warpkit.histogram(A, 2, device=device)[0], [3, 3])


def raised(call):
    with pytest.raises(Exception) as info:  # noqa: PT011 -- the caller looks at it
        call()
    return info.value


def check_error(device, call, theirs, words):
    """`call` raises what `theirs` raises, and says all the words."""
    error = raised(lambda: call(device))
    if isinstance(theirs, type):
        assert type(error) is theirs
    else:
        their_error = raised(theirs)
        # NumPy raises private subclasses too; a caller can name only what is public.
        public = [
            next(c for c in type(e).__mro__ if c.__module__ in PUBLIC) for e in (error, their_error)
        ]
        assert public[0] is public[1]
    for word in words:
        assert word in str(error)
    check_next_call(device)


def correlate(a, *args, **kwargs):
    ndimage = pytest.importorskip("scipy.ndimage")
    return ndimage.correlate1d(a, *args, **kwargs)


# ---- axes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (2, ["axis 2", "dimension 2"]),
        (-3, ["axis -3", "dimension 2"]),
        ((0, 5), ["axis 5", "dimension 2"]),
        ((0, 0), ["duplicate", "axis 0"]),
        ((1, -1), ["duplicate", "axis 1"]),
        (2**70, []),
        ("x", ["str"]),
        (0.5, ["float"]),
        ([0], ["list"]),
        ((0, None), ["NoneType"]),
        (True, ["integer"]),
        ((0, True), ["integer"]),
        (np.True_, []),
    ],
    ids=str,
)
@pytest.mark.parametrize("op", ["sum", "max"])
def test_a_bad_axis_of_a_fold_is_numpys_error(device, op, axis, words):
    check_error(
        device,
        lambda d: warpkit.reduce(A, op, axis, device=d),
        lambda: getattr(np, op)(A, axis=axis),
        words,
    )


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ((0, 2), ["axis 2", "dimension 2"]),
        ((-3, 0), ["axis -3"]),
        ((0, 0), ["repeated axis", "axis 0"]),
        ((1, -1), ["repeated axis", "axis 1"]),
        ((0,), ["axes don't match", "1 axes", "array of 2"]),
        ((0, 1, 2), ["axes don't match", "3 axes"]),
        ((), ["axes don't match"]),
        ("ab", ["str"]),
        ((0, 1.5), ["float"]),
        ((0, None), ["NoneType"]),
        ((True, False), ["integer"]),
    ],
    ids=str,
)
def test_bad_axes_of_a_transpose_are_numpys_error(device, axes, words):
    check_error(
        device, lambda d: warpkit.transpose(A, axes, device=d), lambda: np.transpose(A, axes), words
    )


@pytest.mark.parametrize(("axis", "words"), [(2, ["axis 2", "dimension 2"]), (-3, ["axis -3"])])
def test_a_bad_axis_of_a_stencil_is_scipys_error(device, axis, words):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, axis, device=d),
        lambda: correlate(A, TAPS, axis),
        words,
    )


def test_a_stencil_of_no_axis_is_scipys_error(device):
    check_error(
        device,
        lambda d: warpkit.stencil1d(3.0, TAPS, device=d),
        lambda: correlate(3.0, TAPS),
        ["dimension 0"],
    )


# ---- dtypes ------------------------------------------------------------------------------------

NOT_TAKEN = [
    np.array([1, None], object), np.array([1, 2], object), np.array(["a"]), np.array([b"a"]),
    np.zeros(2, np.longdouble), np.zeros(2, np.clongdouble), np.zeros(2, "M8[s]"),
    np.zeros(2, "m8[s]"), np.zeros(2, "V4"), np.zeros(2, "V2"), np.zeros(2, "i4,f4"),
]  # fmt: skip
CALLS = [
    lambda a, d: warpkit.reduce(a, device=d),
    lambda a, d: warpkit.reduce(a, "min", 0, device=d),
    lambda a, d: warpkit.stencil1d(a, TAPS, device=d),
    lambda a, d: warpkit.histogram(a, device=d),
    lambda a, d: warpkit.histogram(a, [0, 1], device=d),
    lambda a, d: warpkit.histogram(a, 4, (0, 1), device=d),
    lambda a, d: warpkit.warp_histogram(a, device=d),
]


@pytest.mark.parametrize("a", NOT_TAKEN, ids=lambda a: str(a.dtype))
def test_a_dtype_that_is_not_taken_is_named_beside_those_that_are(device, a):
    moved = [] if not a.dtype.hasobject else [lambda a, d: warpkit.transpose(a, device=d)]
    for call in CALLS + moved:  # all but objects are transposed as they are
        error = raised(lambda call=call: call(a, device))
        assert type(error) is TypeError
        assert str(a.dtype) in str(error)
        assert "float64" in str(error)
    check_next_call(device)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_what_folds_and_crosses_is_not_taken_by_every_operation(device, dtype):
    for call in CALLS[3:]:
        check_error(
            device, lambda d, c=call: c(np.zeros(4, dtype), d), TypeError, [dtype, "float64"]
        )


def masked(a):
    return np.ma.masked_array(a, np.arange(np.size(a)).reshape(np.shape(a)) % 2)


FLOATS, WHOLE, RECORDS = np.ones(4), np.arange(4), np.zeros(4, "i4, f8")
MASKED = {
    "reduce": lambda d: warpkit.reduce(masked([1.0, 2.0, 100.0, 3.0]), "max", device=d),
    "reduce, no mask": lambda d: warpkit.reduce(np.ma.masked_array(FLOATS), device=d),
    "reduce, two dtypes": lambda d: warpkit.reduce(masked(FLOATS), dtype=bool, device=d),
    "describe": lambda d: warpkit.describe(masked(FLOATS), device=d),
    "where": lambda d: warpkit.reduce(FLOATS, where=masked(FLOATS > 0), device=d),
    "initial": lambda d: warpkit.reduce(FLOATS, initial=np.ma.masked, device=d),
    "out": lambda d: warpkit.reduce(A, "sum", 0, out=masked(np.ones(3)), device=d),
    "outs": lambda d: warpkit.reduce(
        A, ("min", "max"), 0, out=(np.ones(3), masked(np.ones(3))), device=d
    ),
    "transpose": lambda d: warpkit.transpose(masked(A), device=d),
    "transpose of records": lambda d: warpkit.transpose(masked(RECORDS), device=d),
    "out of records": lambda d: warpkit.transpose(RECORDS, out=masked(RECORDS), device=d),
    "moveaxis": lambda d: warpkit.moveaxis(masked(A), 0, 1, device=d),
    "ascontiguousarray": lambda d: warpkit.ascontiguousarray(masked(A), device=d),
    "stencil1d": lambda d: warpkit.stencil1d(masked(FLOATS), TAPS, device=d),
    "coefficients": lambda d: warpkit.stencil1d(FLOATS, masked(TAPS), device=d),
    "output": lambda d: warpkit.stencil1d(FLOATS, TAPS, output=masked(FLOATS), device=d),
    "convolve1d": lambda d: warpkit.convolve1d(FLOATS, masked(TAPS), device=d),
    "gradient1d": lambda d: warpkit.gradient1d(masked(FLOATS), device=d),
    "histogram": lambda d: warpkit.histogram(masked(FLOATS), device=d),
    "edges": lambda d: warpkit.histogram(FLOATS, masked([0.0, 1.0, 2.0]), device=d),
    "weights": lambda d: warpkit.histogram(FLOATS, weights=masked(FLOATS), device=d),
    "out of histogram": lambda d: warpkit.histogram(FLOATS, 4, out=masked(WHOLE), device=d),
    "bincount": lambda d: warpkit.bincount(masked(WHOLE), device=d),
    "bincount, weights": lambda d: warpkit.bincount(WHOLE, masked(FLOATS), device=d),
    "warp_histogram": lambda d: warpkit.warp_histogram(masked(FLOATS), device=d),
    "run_length": lambda d: warpkit.run_length(masked(FLOATS), device=d),
    "unique_counts": lambda d: warpkit.unique_counts(masked(FLOATS), device=d),
    "shfl": lambda d: warpkit.warp.shfl_xor(masked(FLOATS), 1, device=d),
    "sources": lambda d: warpkit.warp.shfl(FLOATS, masked(WHOLE), device=d),
    "tile": lambda d: warpkit.smem.tile(masked(A), device=d),
    "words": lambda d: warpkit.smem.read(masked(np.arange(32)), device=d),
    "wavefronts": lambda d: warpkit.smem.wavefronts(masked(np.arange(32))),
    "asarray": lambda d: warpkit.asarray(masked(FLOATS), device="emu" if d == "cpu" else d),
    "from_dlpack": lambda d: warpkit.from_dlpack(masked(FLOATS)),
    "explain": lambda d: warpkit.explain("reduce", masked(FLOATS), device=d),
    "explain a transpose": lambda d: warpkit.explain("transpose", masked(A), device=d),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_array_is_refused_with_the_way_out(device, name):
    check_error(device, MASKED[name], TypeError, ["filled", "a.data", "where=~a.mask"])


def test_a_device_array_is_not_assigned_a_masked_array(device):
    if device != "cpu":
        with pytest.raises(TypeError, match="filled"):
            warpkit.asarray(FLOATS, device=device)[:] = masked(FLOATS)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
def test_other_subclasses_of_ndarray_are_taken_as_arrays(device, tmp_path):
    mapped = np.memmap(tmp_path / "a", float, "w+", shape=A.shape)
    mapped[:] = A
    for a in (np.asmatrix(A), mapped, A.view(np.recarray)):
        assert warpkit.reduce(a, device=device) == 15
        assert np.asarray(warpkit.transpose(a, device=device)).tolist() == A.T.tolist()


def test_strings_are_numpys_error(device):
    for a in (np.array(["a", "b"]), np.array([b"a", b"b"])):
        check_error(
            device, lambda d, a=a: warpkit.reduce(a, device=d), lambda a=a: np.sum(a), ["dtype"]
        )


@pytest.mark.parametrize("dtype", ["float64", "complex128", "U1"])
def test_a_bincount_of_what_is_no_integer_is_numpys_error(device, dtype):
    a = np.array([1, 2]).astype(dtype)
    check_error(
        device,
        lambda d: warpkit.bincount(a, device=d),
        lambda: np.bincount(a),
        ["safe", str(a.dtype), "int64"],
    )


def test_a_bincount_of_objects_is_numpys_error(device):
    a = np.array([1, 2], object)
    check_error(
        device, lambda d: warpkit.bincount(a, device=d), lambda: np.bincount(a), ["safe", "int64"]
    )


def test_ragged_lists_are_numpys_error(device):
    ragged = [[1], [1, 2]]
    for call in CALLS:
        check_error(device, lambda d, c=call: c(ragged, d), lambda: np.asarray(ragged), ["shape"])


# ---- reduce ------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["min", "max"])
def test_an_extreme_of_nothing_is_numpys_error(device, op):
    for shape, axis in (
        ((0,), None), ((0, 3), 0), ((3, 0), 1), ((3, 0), -1), ((2, 0, 3), (0, 1)), ((0, 4, 0), 0),
    ):  # fmt: skip
        a = np.zeros(shape)
        check_error(
            device,
            lambda d, a=a, axis=axis: warpkit.reduce(a, op, axis, device=d),
            lambda a=a, axis=axis: getattr(np, op)(a, axis=axis),
            [f"{op}imum", "no identity"],
        )


def test_a_mean_of_nothing_warns_as_numpys_does(device):
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0, 3), (0, 1)), ((0, 4, 0), 0)):
        with pytest.warns(RuntimeWarning, match=r"^Mean of empty slice$"):
            got = warpkit.reduce(np.zeros(shape), "mean", axis, device=device)
        assert np.isnan(got).all()


@pytest.mark.parametrize("op", ["median", "", "SUM", "sum\0", "nan\0", "\ud800", 3, None])
def test_an_unknown_op_lists_those_there_are(device, op):
    words = [repr(op), *map(repr, helpers.FOLDS)]
    check_error(device, lambda d: warpkit.reduce(A, op, device=d), ValueError, words)


# ---- stencil1d ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taps", "words"),
    [
        ([], ["1 axes", "0 elements"]),
        ([[1.0, 2.0]], ["2 axes", "2 elements"]),
        (1.0, ["0 axes"]),
        (np.zeros((0, 2)), ["2 axes", "0 elements"]),
    ],
    ids=str,
)
def test_coefficients_empty_or_not_of_one_axis_are_scipys_error(device, taps, words):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, taps, device=d),
        lambda: correlate(A, taps),
        ["no filter weights", *words],
    )


@pytest.mark.parametrize("taps", [[None], ["a"], np.zeros(2, "M8[s]")], ids=str)
def test_coefficients_must_be_numbers(device, taps):
    words = ["real or complex", str(np.asarray(taps).dtype)]
    check_error(device, lambda d: warpkit.stencil1d(A, taps, device=d), TypeError, words)


@pytest.mark.parametrize(
    ("taps", "origin"), [(TAPS, 2), (TAPS, -2), ([1.0, 2.0], 1), ([1.0], 1), ([1.0], -1)]
)
def test_an_origin_outside_the_window_is_scipys_error(device, taps, origin):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, taps, origin=origin, device=d),
        lambda: correlate(A, taps, origin=origin),
        ["origin", str(origin), f"{-(len(taps) // 2)} .. {(len(taps) - 1) // 2}"],
    )
    convolve = pytest.importorskip("scipy.ndimage").convolve1d
    check_error(
        device,
        lambda d: warpkit.convolve1d(A, taps, origin=origin, device=d),
        lambda: convolve(A, taps, origin=origin),
        ["origin", f" {origin};"],
    )


@pytest.mark.parametrize("taps", [[], 1.0, [[1.0, 2.0]]], ids=str)
def test_what_convolves_nothing_is_refused(device, taps):
    with pytest.raises(RuntimeError, match="no filter weights"):
        warpkit.convolve1d(A, taps, device=device)


@pytest.mark.parametrize("mode", ["circular", "", "wrap\0x", "\ud800", 3, None])
def test_an_unknown_mode_lists_those_there_are(device, mode):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, mode=mode, device=d),
        lambda: correlate(A, TAPS, mode=mode),
        [repr(mode), *map(repr, helpers.MODES)],
    )


@pytest.mark.parametrize("option", [{"cval": "x"}, {"cval": 1j}, {"origin": 0.5}, {"axis": 0.5}])
def test_options_of_another_type_are_scipys_error(device, option):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, **option, device=d),
        lambda: correlate(A, TAPS, **option),
        [type(next(iter(option.values()))).__name__],
    )


@pytest.mark.parametrize("taps", [TAPS, [1j, 2.0]], ids=str)
@pytest.mark.parametrize("cval", [1j, np.complex64(2 + 1j)], ids=repr)
def test_what_stands_beyond_real_ends_is_real(device, taps, cval):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, taps, cval=cval, device=d),
        lambda: correlate(A, taps, cval=1j),  # NumPy's scalars lose their imaginary part there
        ["complex-valued cval when the input is real", repr(cval)],
    )


@pytest.mark.parametrize(("a", "taps"), [(A + 1j, TAPS), (A, [1j, 2.0, 0.0])], ids=str)
def test_an_array_for_a_complex_result_is_complex(device, a, taps):
    for dtype in ("float64", "int32"):
        out = np.zeros(A.shape, dtype)
        words = ["output must have complex dtype", dtype]
        for name in ("output", "out"):
            check_error(
                device,
                lambda d, name=name, out=out: warpkit.stencil1d(a, taps, **{name: out}, device=d),
                lambda out=out: correlate(a, taps, output=out),
                words,
            )


def test_a_dtype_for_a_complex_result_is_made_complex_with_scipys_warning(device):
    ndimage = pytest.importorskip("scipy.ndimage")
    for dtype in (np.float32, np.float64, np.uint8):
        with pytest.warns(UserWarning, match="promoting specified output dtype to complex"):
            want = ndimage.correlate1d(A + 1j, TAPS, output=dtype)
        with pytest.warns(UserWarning, match="promoting specified output dtype to complex"):
            got = warpkit.stencil1d(A + 1j, TAPS, output=dtype, device=device)
        assert got.dtype == want.dtype


def test_a_real_result_is_not_stored_as_complex_numbers(device):
    for output in ("complex64", np.zeros(A.shape, "complex64")):
        check_error(
            device,
            lambda d, output=output: warpkit.stencil1d(A, TAPS, output=output, device=d),
            TypeError,
            ["complex64", "complex coefficients"],
        )


@pytest.mark.parametrize(("axis", "n"), [(0, 2), (1, 3), (-1, 3)])
def test_without_ends_there_are_as_many_elements_as_coefficients(device, axis, n):
    taps = np.ones(n + 1)
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, taps, axis, mode="valid", device=d),
        ValueError,
        ["'valid'", f"{n + 1} coefficients", f"{n} elements", f"axis {axis % 2}"],
    )


def test_without_ends_there_is_no_origin(device):
    call = lambda d: warpkit.stencil1d(A, TAPS, mode="valid", origin=1, device=d)  # noqa: E731
    check_error(device, call, ValueError, ["origin 1", "'valid'"])


@pytest.mark.parametrize("accumulate", ["float16", "int64", "complex128", np.bool_], ids=str)
def test_sums_are_of_float32_or_float64(device, accumulate):
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, accumulate=accumulate, device=d),
        TypeError,
        ["accumulate", "float32", "float64", np.dtype(accumulate).name],
    )


def test_an_output_is_given_once(device):
    out = np.zeros(A.shape)
    for output in (out, "float32"):
        with pytest.raises(TypeError, match=r"output"):
            warpkit.stencil1d(A, TAPS, output=output, out=out, device=device)
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, output="M8[s]", device=d),
        TypeError,
        ["datetime64", "float64"],
    )
    check_error(
        device,
        lambda d: warpkit.stencil1d(A, TAPS, output=np.zeros((2, 4)), device=d),
        ValueError,
        ["(2, 4)", "(2, 3)"],
    )


# ---- histogram and bincount --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        (0, ["positive"]),
        (-1, ["positive"]),
        (2.5, ["integer"]),
        ([3, 2, 1], ["increase monotonically", "edge 0 is 3", "edge 1 is 2"]),
        ([0.0, 1.0, 0.5, 2.0], ["increase monotonically", "edge 1 is 1.0", "edge 2 is 0.5"]),
        ([[1, 2]], ["1d", "2d"]),
        ("nonsense", ["nonsense", "estimator"]),
        (2**45, ["allocate"]),
    ],
    ids=str,
)
def test_bad_bins_are_numpys_error(device, bins, words):
    check_error(
        device,
        lambda d: warpkit.histogram(A, bins, device=d),
        lambda: np.histogram(A, bins),
        words,
    )


def test_edges_of_nan_or_of_no_number_are_refused(device):
    """NumPy counts something between such edges, and it means nothing."""
    for edges, kind, words in (
        ([0, np.nan, 1], ValueError, ["edge 0 is 0.0", "edge 1 is nan"]),
        ([0, 1, np.nan], ValueError, ["edge 1 is 1.0", "edge 2 is nan"]),
        (np.array([0, 1j]), TypeError, ["complex128"]),
        (np.array([0, 1], object), TypeError, ["object"]),
        (np.array([0, 1], np.longdouble), TypeError, [str(np.dtype(np.longdouble))]),
        (["a", "b"], TypeError, ["<U1"]),
    ):
        check_error(device, lambda d, e=edges: warpkit.histogram(A, e, device=d), kind, words)


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((1, 0), ["max must be larger than min"]),
        ((0, np.inf), ["[0, inf]", "not finite"]),
        ((-np.inf, 0), ["not finite"]),
        ((np.nan, 1), ["[nan, 1]", "not finite"]),
        ((0,), ["expected 2"]),
        ((0, 1, 2), ["expected 2"]),
        ((0, "x"), ["str"]),
        ((0, 1j), ["complex"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_a_bad_range_is_numpys_error(device, dtype, interval, words):
    a = A.astype(dtype)
    check_error(
        device,
        lambda d: warpkit.histogram(a, 4, interval, device=d),
        lambda: np.histogram(a, 4, interval),
        words,
    )


@pytest.mark.parametrize("bins", [4, "fd"])
@pytest.mark.parametrize(
    ("a", "words"),
    [
        (NAN, ["2 of 6", "index (1, 0)"]),
        (NAN.ravel(), ["2 of 6", "index 2"]),
        (NAN.astype(np.float32).T, ["2 of 6", "index (0, 1)"]),
        (np.float64(np.nan), ["1 of 1", "index ()"]),
        (np.full(1000, np.nan), ["1000 of 1000", "index 0"]),
    ],
    ids=["2-D", "1-D", "float32, strided", "0-d", "nothing else"],
)
def test_nan_without_a_range_is_counted_and_located(device, a, words, bins):
    check_error(
        device,
        lambda d: warpkit.histogram(a, bins, device=d),
        lambda: np.histogram(a, bins),
        ["not finite", "NaN", *words],
    )


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_without_a_range_is_numpys_error(device, value):
    a = np.array([1.0, value, 3.0])
    check_error(
        device, lambda d: warpkit.histogram(a, device=d), lambda: np.histogram(a), ["not finite"]
    )


def test_how_to_treat_nan_is_one_of_two_words(device):
    check_error(
        device,
        lambda d: warpkit.histogram(A, nan="drop", device=d),
        ValueError,
        ["'raise'", "'ignore'", "'drop'"],
    )


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_negative_elements_of_a_bincount_are_located(device, dtype):
    a = np.array([3, 0, -1, 2, -5], dtype)
    check_error(
        device,
        lambda d: warpkit.bincount(a, device=d),
        lambda: np.bincount(a),
        ["negative", "-5", "-1 at index 2"],
    )


@pytest.mark.parametrize(
    ("a", "minlength", "words"),
    [
        (np.ones((2, 2), int), 0, ["too deep", "2-D"]),
        (np.int64(3), 0, ["too small depth", "0-D"]),
        ([1], -1, ["minlength", "-1"]),
        ([1], 1.5, ["float"]),
        ([1], "3", ["str"]),
        ([1], None, []),
        ([1], True, ["integer"]),
        ([1], 2**63, ["int too large"]),
    ],
)
def test_bad_arguments_of_a_bincount_are_numpys_error(device, a, minlength, words):
    check_error(
        device,
        lambda d: warpkit.bincount(a, minlength=minlength, device=d),
        lambda: np.bincount(a, minlength=minlength),
        words,
    )


def test_a_bincount_that_no_memory_holds_says_how_much_it_asked_for(device):
    """2^48 bytes are more than an address space of 47 bits; an index has 63."""
    for a, minlength in (([2**45], 0), ([1], 2**45)):
        check = raised(lambda a=a, m=minlength: warpkit.bincount(a, minlength=m, device=device))
        assert isinstance(check, MemoryError)
        assert "256. TiB" in str(check)
        check_next_call(device)
    for most in (2**63 - 1, 2**63, 2**64 - 1):
        a = np.array([1, most], np.uint64 if most >= 2**63 else np.int64)
        check_error(device, lambda d, a=a: warpkit.bincount(a, device=d), ValueError, [str(most)])


# ---- devices, variants, types of the other arguments -------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("gpu", "", "CPU", "cuda:", "cuda:x", "cuda:-1", " cpu", "cpu:0x0"),
        *("cpu\0", "cuda:0\0x", "\ud800"),
    ],
)
def test_an_unknown_device_is_named_beside_those_there_are(name):
    for call in (lambda: warpkit.reduce(A, device=name), lambda: warpkit.memory_info(name),
                 lambda: warpkit.set_default_device(name)):  # fmt: skip
        error = raised(call)
        assert type(error) is ValueError
        assert repr(name) in str(error)
        for known in ("'cpu'", "'cuda'", "'emu'"):
            assert known in str(error)
    check_next_call(None)


@pytest.mark.parametrize("name", ["cuda", "cuda:63", "emu", "emu:7", "cpu:1"])
def test_an_absent_device_says_why(name):
    present = warpkit.devices()
    if name in present or f"{name}:0" in present:
        pytest.skip(f"{name} is present")
    for call in (lambda: warpkit.reduce(A, device=name), lambda: warpkit.memory_info(name),
                 lambda: warpkit.set_default_device(name)):  # fmt: skip
        error = raised(call)
        assert type(error) is DeviceError
        kind, _, number = name.partition(":")
        assert f"'{kind}" in str(error)
        if any(other.split(":")[0] == kind for other in present):
            assert number in str(error)
        else:
            why = warpkit._core.config()[kind]["why"]
            assert why
            assert why in str(error)
    check_next_call(None)


def test_a_device_error_is_a_runtime_error():
    assert issubclass(DeviceError, RuntimeError)
    assert DeviceError.__module__ == "warpkit"


@pytest.mark.parametrize(
    "op",
    [
        *("reduce", "transpose", "stencil1d", "histogram", "warp_histogram"),
        *("run_length", "unique_counts"),
    ],
)
def test_an_unknown_variant_lists_those_there_are(device, op):
    arguments = (TAPS,) if op == "stencil1d" else ()
    known = [row.name for row in helpers.rows(op) if row.device == device]
    others = {v.name for v in warpkit.variants(op)} - set(known)
    for name in ["nonsense", "", f"{known[0]}\0x", "\ud800", *others]:
        check_error(
            device,
            lambda d, n=name: getattr(warpkit, op)(A, *arguments, device=d, variant=n),
            ValueError,
            [op, ascii(name), *known],
        )


def test_a_variant_far_too_long_is_an_error_too(device):
    error = raised(lambda: warpkit.reduce(A, variant="x" * 10_000, device=device))
    assert type(error) is ValueError
    check_next_call(device)


def test_an_unknown_operation_lists_those_there_are():
    with pytest.raises(ValueError, match=r"'sum'.*reduce, transpose, stencil1d, histogram"):
        warpkit.variants("sum")


def test_a_list_of_devices_holds_names_and_no_lists():
    nested = ["emu"]
    for _ in range(100_000):
        nested = [nested]
    endless = []
    endless.append(endless)
    for devices in ([["emu"]], (["emu"], "emu"), [None], [3], nested, endless):
        for call in (lambda d=devices: warpkit.reduce(A, device=d),
                     lambda d=devices: warpkit.set_default_device(d)):  # fmt: skip
            error = raised(call)
            assert type(error) is TypeError
            assert "str" in str(error)
    check_next_call(None)


@pytest.mark.parametrize("option", [{"device": 3}, {"variant": 3}, {"device": b"cpu"}])
def test_names_must_be_strings(option):
    for call in (warpkit.reduce, warpkit.transpose, warpkit.histogram, warpkit.warp_histogram):
        error = raised(lambda call=call: call(A, **option))
        assert type(error) is TypeError
        assert "str" in str(error)
    check_next_call(None)


def test_what_is_no_keyword_is_pythons_error():
    for call in (
        lambda: warpkit.reduce(A, shape=3),
        lambda: warpkit.reduce(a=A),
        lambda: warpkit.reduce(),
        lambda: warpkit.transpose(A, None, "cpu"),
        lambda: warpkit.stencil1d(A),
        lambda: warpkit.bincount([1], None, 3, None),
    ):
        with pytest.raises(TypeError):
            call()
    check_next_call(None)


# ---- what was meant -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a: warpkit.reduce(a, "summ"), ValueError, "'summ' (did you mean 'sum'?)"),
        (lambda a: warpkit.reduce(a, "nanmaen"), ValueError, "(did you mean 'nanmean'?)"),
        (lambda a: warpkit.reduce(a, ["sum", "max"]), ValueError, "several ops are a tuple"),
        (lambda a: warpkit.reduce(a, device="gpu"), ValueError, "(did you mean 'cuda'?)"),
        (lambda a: warpkit.reduce(a, device="cuda0"), ValueError, "(did you mean 'cuda:0'?)"),
        (lambda a: warpkit.reduce(a, device="CPU"), ValueError, "unknown device 'CPU'; a device"),
        (
            lambda a: warpkit.transpose(a, device="emu", variant="smem_padd"),
            ValueError,
            "(did you mean 'smem_pad'?)",
        ),
        (lambda a: warpkit.stencil1d(a, [1], mode="wrp"), RuntimeError, "(did you mean 'wrap'?)"),
        (lambda a: warpkit.stencil1d([1], a), RuntimeError, "they come after the array"),
        (lambda a: warpkit.variants("reduc"), ValueError, "(did you mean 'reduce'?)"),
    ],
)
def test_a_slip_of_the_pen_is_told(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(np.ones((2, 3)))


@pytest.mark.parametrize("op", ["", "median", "x" * 100, "s", "sum\0", "\ud800", 3])
def test_what_is_like_no_name_is_not_guessed(op):
    with pytest.raises(ValueError, match="unknown op") as caught:
        warpkit.reduce([1], op)
    assert "did you mean" not in str(caught.value)


class Table:  # as pandas' of columns of several dtypes
    def __array__(self, dtype=None, copy=None):
        return np.array([[1, "a"]], object)

    def to_numpy(self):
        return self.__array__()


class Sparse:  # as SciPy's
    nnz = 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "this is of type NoneType; pass an array of numbers"),
        ({"a": 1}, "this is of type dict; "),
        ([1, None], "this is of type list, and an element of type NoneType; pass an array"),
        (
            np.array(["a", 1], object),
            "an element of type str; if they are numbers, pass a.astype(...), of dtype bool",
        ),
        (np.empty(0, object), "this is of type numpy.ndarray; if they are numbers, pass"),
        (Table(), "pass its columns of numbers, by .to_numpy(...)"),
        (Sparse(), "Sparse; pass its .toarray()"),
    ],
)
def test_objects_are_refused_with_the_way_out(given, words):
    for call in (warpkit.reduce, warpkit.transpose):
        with pytest.raises(TypeError, match="dtype object is not taken.*" + re.escape(words)):
            call(given)
