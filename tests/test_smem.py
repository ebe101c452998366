"""warpkit.smem: tiles by every row on every device, lanes' reads, and the rule of banks."""

import numpy as np
import pytest
import warpkit
from helpers import assert_same, python, values
from warpkit import reference, smem

SHAPES = [(32, 32), (16, 32), (32, 16), (8, 128), (1, 1), (3, 5), (33, 31), (1024, 1), (1, 1024)]


def clocked(device):
    return device.startswith("cuda")


# ---- tiles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", smem.LAYOUTS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_a_tile_is_read_back(device, layout, dtype):
    pads = (0, 1, 2) if "pad" in layout else (None,)
    for shape in SHAPES:
        a = values(dtype, shape)
        for pad in pads:
            got = smem.tile(a, layout, pad=pad, repeats=3, device=device)
            assert_same(got.values, reference.tile(a, layout))
            assert (got.clocks is None) != clocked(device)


def test_the_layouts_are_the_rows_of_the_table():
    for op, names in (("smem_tile", smem.LAYOUTS), ("lane_reads", smem.MEMORIES)):
        rows = [row.name for row in warpkit.variants(op) if row.device == "cuda"]
        assert sorted(rows) == sorted(names)


def test_views_and_device_arrays(device):
    a = values("float32", (40, 40))
    for view in (a[:20, ::-2], a.T[3:30, 1:20], np.broadcast_to(a[0], (4, 40))):
        assert_same(smem.tile(view, "row_col", device=device).values, np.ascontiguousarray(view.T))
        if device != "cpu":
            there = warpkit.asarray(np.ascontiguousarray(view), device=device)
            got = smem.tile(there, "row_col").values
            assert isinstance(got, warpkit.DeviceArray)
            assert_same(got.numpy(), np.ascontiguousarray(view.T))


SMALL_PIECES = """
import sys, numpy as np
from warpkit import smem, warp
a = np.arange(1024, dtype=np.int64).reshape(32, 32)
assert (smem.tile(a, "row_col_pad", device=sys.argv[1]).values == a.T).all()
assert (smem.read(a[0], device=sys.argv[1]).values == a[0]).all()
assert (warp.shfl_xor(a, 1, device=sys.argv[1]) == a[:, np.arange(32) ^ 1]).all()
assert (warp.shfl(a, 31 - a % 32, device=sys.argv[1]) == a[:, ::-1]).all()
"""


def test_pieces_cut_no_tile_and_no_warp(device):
    assert python(SMALL_PIECES, device, env={"WARPKIT_PIECE": "1024"}) == ""


@pytest.mark.parametrize("default", ["auto", "cpu:0", None])
def test_experiments_run_where_calls_do(default):
    """On the CPU under each of its names; "auto" measures nothing, it takes the first GPU."""
    words = np.arange(32)[::-1]
    warpkit.set_default_device(default)
    try:
        assert_same(smem.read(words, 4, "constant").values, words.astype(np.uint32))
        assert_same(smem.tile(A, "col_row_dyn").values, np.ascontiguousarray(A.T))
    finally:
        warpkit.set_default_device(None)


def test_predictions_are_the_rules(device):
    a = np.zeros((32, 32), np.float32)
    for layout, store, load in (
        ("row_row", 1, 1), ("col_col", 32, 32), ("row_col", 1, 32), ("col_row_dyn", 32, 1),
        ("row_col_pad", 1, 1), ("col_row_pad_dyn", 1, 1),
    ):  # fmt: skip
        got = smem.tile(a, layout, device=device)
        assert (got.store.ways, got.load.ways) == (store, load)
        assert got.store.requests == got.load.requests == 32


# ---- lanes that read ---------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["shared", "constant"])
@pytest.mark.parametrize("itemsize", [4, 8, 16])
def test_lanes_read_what_they_are_told(device, memory, itemsize):
    rng = np.random.default_rng(itemsize)
    for words in (np.arange(32), np.zeros(32, int), np.arange(32) * 32, rng.integers(0, 1024, 32)):
        got = smem.read(words, itemsize, memory, repeats=16, device=device)
        assert_same(got.values, words.astype(np.uint32))
        assert (got.clocks is None) != clocked(device)
        if memory == "constant":
            assert got.turns == len(set(words.tolist())) * (2 if itemsize == 16 else 1)
        else:
            assert got.turns == smem.wavefronts(words, itemsize)


# ---- the rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 32])
def test_strides_meet_in_a_bank(ways):
    assert smem.wavefronts(np.arange(32) * ways) == ways
    assert smem.wavefronts(np.arange(32) * (ways + 1)) == (1 if ways % 2 == 0 else 2)


@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_each_bank_gives_a_word_a_turn(itemsize):
    rng = np.random.default_rng(itemsize)
    for _ in range(300):
        words = rng.integers(-1, 200, rng.integers(1, 33))
        assert smem.wavefronts(words, itemsize) == reference.wavefronts(words, itemsize)


@pytest.mark.parametrize(
    ("words", "itemsize", "turns"),
    [
        (np.arange(32), 8, 2),  # 256 bytes need two turns
        (np.arange(32) // 2, 8, 1),  # neighbours share: 128 bytes
        (np.arange(32) * 2, 8, 4),  # half a warp's elements lie in every second pair of banks
        (np.arange(32) * 16, 8, 32),
        (np.arange(32), 16, 4),  # 512 bytes
        (np.arange(32) // 2, 16, 2),
        (np.zeros(32, int), 16, 2),  # halves are never served together
        ([], 4, 0),
        ([-1, 5], 4, 1),
    ],
)
def test_wide_elements_are_served_in_parts(words, itemsize, turns):
    assert smem.wavefronts(np.array(words, int), itemsize) == turns


def test_conflicts_of_whole_tiles():
    assert smem.conflicts() == (32, 32, 32)
    assert smem.conflicts(access="col") == (32, 1024, 32)
    assert smem.conflicts(access="col", pad=1) == (32, 32, 32)
    assert smem.conflicts(access="col", pad=2).ways == 2
    assert smem.conflicts((16, 32), access="col").ways == 16  # two columns a warp
    assert smem.conflicts((16, 32), 8, "row") == (16, 32, 32)
    assert smem.conflicts((3, 5)) == (1, 1, 1)
    for shape in SHAPES:
        for pad in range(3):
            for access in ("row", "col"):
                found = smem.conflicts(shape, 4, access, pad)
                assert found.requests == -(-shape[0] * shape[1] // 32)
                assert found.wavefronts >= found.least


@pytest.mark.unsanitized  # matplotlib throws what a preloaded sanitizer cannot catch
def test_the_picture_has_a_row_for_each_turn():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    for access, pad, turns in (("row", 0, 1), ("col", 0, 32), ("col", 1, 1), ("col", 2, 2)):
        ax = smem.bank_map(access=access, pad=pad)
        assert ax.collections[0].get_array().shape == (turns, 32)
        assert len(ax.texts) == 32
        assert f"{turns} turn" in ax.get_title()
        pyplot.close(ax.figure)
    ax = smem.bank_map((4, 32), 1, warp=3)  # four lanes share a word
    assert len(ax.texts) == 8
    assert ax.texts[0].get_text() == "0+3"
    pyplot.close(ax.figure)


# ---- bad input ---------------------------------------------------------------------------------

A = np.zeros((4, 8), np.float32)
BAD = [
    (lambda d: smem.tile(A, "row_diagonal", device=d), ValueError, "layout must be"),
    (lambda d: smem.tile(A[0], device=d), ValueError, "two axes"),
    (lambda d: smem.tile(np.zeros((33, 32), "f4"), device=d), ValueError, "1024"),
    (lambda d: smem.tile(A[:0], device=d), ValueError, "1 to 1024"),
    (lambda d: smem.tile(A, "row_col", pad=1, device=d), ValueError, "row_col_pad has"),
    (lambda d: smem.tile(A, "row_col_pad", pad=3, device=d), ValueError, "pad must be 0 to 2"),
    (lambda d: smem.tile(A, repeats=0, device=d), ValueError, "repeats must be 1"),
    (lambda d: smem.tile(A.astype("f2"), device=d), TypeError, "float16"),
    (lambda d: smem.read(np.arange(31), device=d), ValueError, "32 integers"),
    (lambda d: smem.read(np.arange(32) * 0.5, device=d), ValueError, "32 integers"),
    (lambda d: smem.read(np.arange(32) * 64, device=d), ValueError, "0 to 1023"),
    (lambda d: smem.read(np.arange(32) - 1, device=d), ValueError, "0 to 1023"),
    (lambda d: smem.read(np.arange(32), 2, device=d), ValueError, "itemsize"),
    (lambda d: smem.read(np.arange(32), 4, "texture", device=d), ValueError, "memory must be"),
    (lambda d: smem.wavefronts(np.arange(33)), ValueError, "up to 32"),
    (lambda d: smem.wavefronts([1], 3), ValueError, "itemsize"),
    (lambda d: smem.conflicts((32, 33)), ValueError, "1024"),
    (lambda d: smem.conflicts(access="diagonal"), ValueError, "access"),
    (lambda d: smem.conflicts(pad=-1), ValueError, "pad"),
    (lambda d: smem.conflicts(pad=2**70), ValueError, "pad must be 0 to 1024"),
    (lambda d: smem.conflicts(itemsize=8.0), TypeError, "integer"),
    (lambda d: smem.tile(np.broadcast_to(1.0, (2**20, 2**18)), device=d), ValueError, "1024"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_an_error_that_says_what(device, call, error, words):
    with pytest.raises(error, match=words):
        call(device)
    assert_same(smem.tile(A, device=device).values, A)


def test_the_core_refuses_what_would_be_read_past_its_end(device):
    options = (None, device, None, None, None)
    for words in (np.full(32, 1024, "i4"), np.full(32, -1, "i4"), np.zeros(31, "i4")):
        with pytest.raises(ValueError, match="32 of int32"):
            warpkit._core.lane_reads(words, 4, 8, *options)
    with pytest.raises(ValueError, match="4, 8 or 16"):
        warpkit._core.lane_reads(np.zeros(32, "i4"), 5, 8, *options)


def test_numbers_of_any_width_are_counted_alike():
    small = smem.conflicts(np.array([32, 32], "u1"), np.uint8(4), "col", np.int8(2))
    assert small == smem.conflicts((32, 32), 4, "col", 2)
    assert smem.conflicts((1024, 1), 4, "row", np.int8(127)).wavefronts == 1024
