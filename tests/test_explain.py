"""explain: each operation on each device, with the arguments of the call."""

import inspect

import numpy as np
import pytest
import warpkit
from warpkit import _explain

A = np.ones((100, 250), np.float32)
I = np.arange(1000)  # noqa: E741
CALLS = {
    "reduce": ([A, ("min", "argmax"), 0], {}, "200 kB", "3 kB"),  # in two passes
    "describe": ([A, 1], {"ddof": 1}, "100 kB", "1.6 kB"),
    "transpose": ([A, (1, 0)], {}, "100 kB", "100 kB"),
    "stencil1d": ([A, [1, 2, 1]], {"mode": "valid"}, "100 kB", "99.2 kB"),
    "convolve1d": ([A, [1j, 2]], {"origin": 0}, "100 kB", "200 kB"),
    "histogram": ([A, 50, (0, 1)], {"density": True}, "100 kB", "400 bytes"),
    "bincount": ([I], {"minlength": 7}, "8 kB", "8 bytes for each value up to the largest"),
    "warp_histogram": ([I.astype("f4")], {}, "4 kB", "8.32 kB"),
    "run_length": ([I], {}, "8 kB", "at most 16 kB"),
    "unique_counts": ([I], {}, "8 kB", "at most 16 kB"),
    "dot": ([A, A, 1], {}, "200 kB", "400 bytes"),
    "vdot": ([I, I], {}, "16 kB", "8 bytes"),
    "average": ([A, 1, np.ones(250)], {}, "102 kB in each of a few passes", "800 bytes"),
    "cumsum": ([A.astype("i2"), 0, "i4"], {}, "50 kB", "100 kB"),
    "nancumsum": ([A], {}, "100 kB", "100 kB"),
    "segment_reduce": ([I, [0, 10, 1000], "mean"], {}, "8.02 kB", "16 bytes"),
    "moveaxis": ([A, 0, 1], {}, "100 kB", "100 kB"),
    "swapaxes": ([A, 0, -1], {}, "100 kB", "100 kB"),
    "ascontiguousarray": ([A[:, ::2]], {}, "50 kB", "50 kB"),
    "gradient1d": ([A, 0.5, 0], {"accuracy": 4}, "100 kB", "100 kB"),
    "group_reduce": ([I % 7, I, "var", 7], {}, "16 kB", "56 bytes"),
}


BY_ANOTHER = dict.fromkeys(_explain.BY_ANOTHER, "transpose") | {"gradient1d": "stencil1d"}


def test_all_operations_are_explained():
    functions = {n: v for n, v in vars(warpkit).items() if inspect.isfunction(v)}
    names = {name: [*inspect.signature(value).parameters] for name, value in functions.items()}
    takes_array_and_device = {
        name for name, has in names.items() if has[:1] in (["a"], ["keys"]) and "device" in has
    }
    arrays = {"asarray", "empty_like", "partial"}  # are made; or are what Dask and MPI merge
    assert set(CALLS) == {*_explain.OPERATIONS, *_explain.BY_ANOTHER}
    assert set(CALLS) == takes_array_and_device - arrays


@pytest.mark.parametrize("name", CALLS)
def test_it_takes_what_the_call_takes_and_tells_what_runs(device, name):
    args, options, read, written = CALLS[name]
    getattr(warpkit, name)(*args, **options, device=device)
    told = warpkit.explain(name, *args, **options, device=device)
    head, moved = told.split("\n")[:2]
    kind = "cpu" if device == "cpu" else "cuda"
    row = BY_ANOTHER.get(name) or _explain.OPERATIONS[name][0]
    (production,) = (r for r in warpkit.variants(row) if r.device == kind and r.production)
    shape = args[1].shape if name == "group_reduce" else args[0].shape
    assert f"{shape} on {device}" in head
    assert f'variant "{production.name}": {production.teaches}' in head
    assert moved.startswith(f"reads {read}, writes {written}")
    assert ("GB/s" in moved) == (not device.startswith("emu"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: warpkit.explain("histogram", A, device=d), "reads 200 kB, the array twice"),
        (lambda d: warpkit.explain("group_reduce", I, I, device=d), "the keys twice"),
        (lambda d: warpkit.explain("histogram", A, "auto", device=d), "as 'auto' finds bins"),
        (lambda d: warpkit.explain("histogram", A, 4, (0, 1), weights=A, device=d), "200 kB"),
        (lambda d: warpkit.explain("group_reduce", I, I, "sum", 9, device=d), "private"),
        (lambda d: warpkit.explain("group_reduce", I, I / 2, "var", 9, device=d), "reads 16 kB"),
        (lambda d: warpkit.explain("group_reduce", I, I, "count", 9, device=d), "reads 8 kB, w"),
        (lambda d: warpkit.explain("group_reduce", I, I * 1j, "mean", 9, device=d), "reads 32 kB"),
        # places of complex numbers take a sort, and no second reading of these
        (lambda d: warpkit.explain("group_reduce", I, I * 1j, "argmin", device=d), "reads 32 kB"),
        (
            lambda d: warpkit.explain("group_reduce", I, I, "mean", 9, device=d),
            "reads 24 kB, the keys twice, as they are counted too, writes 72 bytes",
        ),
        (
            lambda d: warpkit.explain("group_reduce", I, I, "argmax", 9, device=d),
            "places are looked for once extremes are known, in the array too",
        ),
        (lambda d: warpkit.explain("dot", A, A, device=d, variant=None), "reads 200 kB"),
    ],
)
def test_what_is_read_twice_or_not_known_is_said(call, words, device):
    if words == "private" and device != "cpu":
        words = "counters"
    assert words in call(device)


def test_an_average_of_equal_weights_is_a_mean(device):
    told = warpkit.explain("average", A, 1, device=device)
    assert told == warpkit.explain("reduce", A, "mean", 1, device=device)


def test_what_is_contiguous_is_not_copied(device):
    told = warpkit.explain("ascontiguousarray", A, device=device)
    assert told.endswith(f"on {device}: itself\nreads 0 bytes, writes 0 bytes")


def test_of_a_derivative_the_ends_are_told_and_its_errors_are_the_calls(device):
    told = warpkit.explain("gradient1d", I, device=device)
    assert told.endswith("then 1 at each end of axis 0, each of 3 elements")
    with pytest.raises(ValueError, match="at least 3 elements"):
        warpkit.explain("gradient1d", I[:2], device=device)
    with pytest.raises(ValueError, match="same number"):
        warpkit.explain("moveaxis", A, (0, 1), 0, device=device)


def test_an_array_on_a_device_is_explained_there(device):
    if device == "cpu":
        pytest.skip("has no memory of its own")
    there = warpkit.asarray(A, device=device)
    for name, args in (("reduce", ()), ("stencil1d", ([1, 2, 3],)), ("cumsum", (1,))):
        assert f"on {there.device}" in warpkit.explain(name, there, *args)
        with pytest.raises(ValueError, match="cpu"):
            warpkit.explain(name, there, *args, device="cpu")


def test_the_default_device_and_auto_are_followed():
    with warpkit.device("emu"):
        assert "on emu" in warpkit.explain("cumsum", I)
    if "cuda:0" not in warpkit.devices():
        assert "on cpu" in warpkit.explain("cumsum", I, device="auto")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: warpkit.explain("trnspose", A), ValueError, "did you mean 'transpose'"),
        (lambda: warpkit.explain("reduce", A, "summ"), ValueError, "did you mean 'sum'"),
        (lambda: warpkit.explain("reduce", A, variant="exat"), ValueError, "mean 'exact'"),
        (lambda: warpkit.explain("stencil1d", A), TypeError, "coefficients"),
        (lambda: warpkit.explain("stencil1d", A, [1], mode="wrp"), RuntimeError, "mean 'wrap'"),
        (lambda: warpkit.explain("histogram", A + 1j), TypeError, "complex64 is not taken"),
        (lambda: warpkit.explain("dot", A, [None]), TypeError, "NoneType"),
        (lambda: warpkit.explain("cumsum", A, 2), np.exceptions.AxisError, "axis 2"),
        (lambda: warpkit.explain("cumsum", A, device="gpu"), ValueError, "mean 'cuda'"),
    ],
)
def test_a_wrong_call_is_its_error(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_nothing_is_computed():
    large = np.lib.stride_tricks.as_strided(A, (1 << 20, 1 << 20), (0, 0))  # 4 TiB of ones
    for name, args in (("histogram", (3, (0, 1))), ("cumsum", (0,)), ("stencil1d", ([1, 1],))):
        assert "reads 4.4 TB" in warpkit.explain(name, large, *args, device="cpu")
