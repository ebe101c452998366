"""run_length and unique_counts: every row on every device, against the oracles and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import warpkit
from helpers import (
    ALL_DTYPES,
    COMPLEX,
    INTEGERS,
    REALS,
    allowed,
    assert_same,
    few_values,
    poison,
    raw_bits,
    rows_by_dtype,
    sizes,
    special_floats,
    values,
)
from warpkit import reference, testing

TAKEN = (*INTEGERS, *REALS)
OPS = ("run_length", "unique_counts")
# Around a warp, a word of flags, a row of 16 bytes a lane.
SIZES = (0, 1, 31, 32, 33, 64, 65, 255, 257, 1025)

over_rows = [
    pytest.param(op, p.values[0], p.values[1], id=f"{op}-{p.id}")
    for op in OPS
    for p in rows_by_dtype(op, TAKEN)
]


def check(op, a, device, variant=None):
    want = getattr(reference, op)(a)
    poison(*want)
    got = getattr(warpkit, op)(a, device=device, variant=variant)
    for mine, theirs in zip(got, want, strict=True):
        assert_same(mine, theirs)
        assert mine.base is None or mine.size * 2 > mine.base.size
    assert got.counts.sum() == np.size(a)
    return got


def ends(dtype):
    if dtype in REALS:
        return special_floats(dtype)
    if dtype == "bool":
        return np.array([False, True])
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)


def in_order(a):
    """Ascending, also where NumPy does not sort a type so that NaN is last."""
    return np.repeat(*reference.unique_counts(a))


def patterns(dtype, n):
    """Arrays whose runs are of every kind."""
    any_values = values(dtype, n)
    yield any_values
    yield few_values(dtype, n)
    yield np.full(n, 1, dtype)
    yield (np.arange(n) % 2).astype(dtype)
    yield in_order(any_values)
    yield in_order(few_values(dtype, n))[::-1]
    yield np.random.default_rng(n).choice(ends(dtype), n)
    yield raw_bits(dtype, n)
    rng = np.random.default_rng(n + 1)
    yield np.repeat(values(dtype, n), rng.geometric(1 / 20, n))[:n]  # runs of any length
    yield np.repeat(few_values(dtype, 3), n // 3 + 1)[:n]  # and long ones


@pytest.mark.parametrize("n", sizes(*SIZES))
@pytest.mark.parametrize(("op", "row", "dtype"), over_rows)
def test_every_row_finds_the_runs(op, row, dtype, n):
    for a in patterns(dtype, n):
        check(op, a, row.device, row.name)


def around_tiles(op, dtype):
    """A tile of the sort, a group of rows of a warp and of a block, less and more by one."""
    item = np.dtype(dtype).itemsize
    marks = [16384 // max(item, 4), 2048 // item, 16384 // item]
    return [n + d for n in marks for d in (-1, 0, 1)]


@pytest.mark.parametrize(("op", "row", "dtype"), over_rows)
def test_tiles_have_no_seams(op, row, dtype):
    for n in filter(allowed, around_tiles(op, dtype)):
        check(op, values(dtype, n), row.device, row.name)


@pytest.mark.large
@pytest.mark.parametrize(("op", "row", "dtype"), over_rows)
def test_many_blocks_find_the_runs(op, row, dtype):
    n = 2**18 + 7
    rng = np.random.default_rng(3)
    check(op, values(dtype, n), row.device, row.name)
    check(op, np.repeat(values(dtype, n), rng.geometric(1 / 500, n))[:n], row.device, row.name)
    check(op, np.full(n, 1, dtype), row.device, row.name)
    check(op, np.append(np.full(n, 1), [0, 1]).astype(dtype), row.device, row.name)
    if np.dtype(dtype).itemsize > 1:  # 2-byte counters of 16 bits are filled more than once
        a = np.where(rng.random(n) < 0.9, 7, rng.integers(0, 30000, n)).astype(dtype)
        check(op, a, row.device, row.name)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_keys_that_differ_in_some_digits_only_are_in_order(device, dtype):
    """Passes are left out, and digits begin anywhere."""
    rng = np.random.default_rng(5)
    bits = f"u{np.dtype(dtype).itemsize}"
    width = 8 * np.dtype(dtype).itemsize
    for low in range(0, width, 13):
        for size in (9, 30):
            part = rng.integers(0, 2 ** min(size, width - low), 700, np.uint64) << np.uint64(low)
            check("unique_counts", part.astype(bits).view(dtype), device)
    spread = np.uint64(2) ** rng.integers(0, width, 700, np.uint64)  # one bit each
    check("unique_counts", spread.astype(bits).view(dtype), device)


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("span", [1, 255, 256, 8190, 8191, 8192, 65534, 65535, 65536])
def test_short_ranges_are_counted_and_long_ones_sorted_alike(device, dtype, span):
    if dtype == "float32":  # neighbours, so that keys are as far apart
        a = np.uint32(0x3F800000 - span // 2) + np.random.default_rng(span).integers(
            0, span, 3000, np.uint32, endpoint=True
        )
        a[:2] = 0x3F800000 - span // 2, 0x3F800000 - span // 2 + span
        a = a.astype(np.uint32).view(np.float32)
    else:
        first = 0 if dtype[0] == "u" else -span // 2
        a = np.random.default_rng(span).integers(first, first + span, 3000, endpoint=True)
        a[:2] = first, first + span
        a = a.astype(dtype)
    check("unique_counts", a, device)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("top", [8192, 8193, 20_000, 70_000])
def test_integers_from_zero_to_few_are_counted(device, dtype, top):
    n = 2 * top + 100
    a = np.random.default_rng(top).integers(0, top // 3, n) * 3 % (top + 1)
    a[: n // 10], a[-2:] = 7, (0, top)
    check("unique_counts", a.astype(dtype), device)
    if dtype[0] == "i":
        a[1] = -1
        check("unique_counts", a.astype(dtype), device)


@pytest.mark.large
def test_any_byte_but_zero_is_true(device):
    bytes_ = np.resize(np.array([0, 2, 1, 0, 255, 3, 3, 0], np.uint8), 4_001)
    for op in (warpkit.run_length, warpkit.unique_counts):
        got, want = op(bytes_.view(bool), device=device), op(bytes_ != 0, device=device)
        assert got.values.tobytes() == want.values.tobytes()
        np.testing.assert_array_equal(got.counts, want.counts)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_many_short_integers_are_counted_by_pattern(device, dtype):
    check("unique_counts", raw_bits(dtype, 2**18 + 5), device)
    check("unique_counts", np.repeat(ends(dtype), 2**18 // len(ends(dtype)) + 1), device)


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["float32", "int64", "float64"])
def test_skewed_values_are_in_order(device, dtype):
    rng = np.random.default_rng(8)
    for a in (
        rng.zipf(1.3, 100_000) % 10**9,
        np.where(rng.random(100_000) < 0.99, 5, rng.integers(0, 10**9, 100_000)),
        np.floor(np.exp2(rng.uniform(0, 30, 100_000))),
        rng.normal(size=100_000) * 1e6,
    ):
        check("unique_counts", a.astype(dtype), device)


FAR = ("int32", "uint32", "int64", "uint64", "float32", "float64")  # sorted by the CPU


@pytest.mark.parametrize("dtype", FAR)
def test_as_many_as_registers_hold_are_in_order(device, dtype):
    rng = np.random.default_rng(11)
    for n in sizes(*range(2, 35), *range(61, 68), *range(125, 132), 190, 300):
        a = raw_bits(dtype, n)
        a[rng.integers(0, n, n // 4)] = a[0]
        a[rng.integers(0, n, n // 8)] = ends(dtype).max()  # as what fills the last register
        check("unique_counts", a, device)
        check("unique_counts", in_order(a)[::-1], device)


def few_below_each_pivot(n):
    """Where the sort of the CPU looks for pivots, a dozen of the smallest ranks left."""
    rank = np.full(n, -1)
    left, next_rank = np.arange(n), 0
    while left.size > 300:
        for at in left[:: left.size // 9][:9]:
            if rank[at] < 0:
                rank[at], next_rank = next_rank, next_rank + 1
        pivot = np.sort(rank[left[:: left.size // 9][:9]])[4]
        left = left[(rank[left] < 0) | (rank[left] >= pivot)]
    rank[rank < 0] = next_rank + np.random.default_rng(n).permutation((rank < 0).sum())
    return rank


@pytest.mark.parametrize("dtype", FAR)
def test_pivots_that_halve_nothing_are_given_up(device, dtype):
    a = few_below_each_pivot(5_000)
    check("unique_counts", (a * 99_991.0).astype(dtype), device)
    check("unique_counts", (2.0 ** (a % 31)).astype(dtype), device)


@pytest.mark.large
@pytest.mark.parametrize("dtype", FAR)
def test_values_that_many_elements_have_are_sorted_apart(device, dtype):
    rng = np.random.default_rng(12)
    n = 2**17 + 77
    a = raw_bits(dtype, n)
    for often in (*ends(dtype), a[0]):
        check("unique_counts", np.where(rng.random(n) < 0.5, often, a), device)
    check("unique_counts", rng.choice(a[:300], n), device)
    check("unique_counts", rng.choice(ends(dtype), n), device)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint32", "float16", "float64"])
@pytest.mark.parametrize("name", sorted(testing.ARRAYS))
def test_hostile_arrays_are_taken(op, name, dtype, device):
    check(op, testing.hostile_array(name, dtype), device)


@pytest.mark.parametrize("dtype", REALS)
def test_nan_is_one_value_and_so_is_zero(device, dtype):
    odd = special_floats(dtype)
    nans = odd[odd != odd]
    zeros = np.array([0.0, -0.0, 0.0, -0.0]).astype(dtype)
    a = np.concatenate([zeros[1:], nans, zeros, nans[:2], -np.ones(1).astype(dtype)])
    got = warpkit.run_length(a, device=device)
    assert got.counts.tolist() == [3, nans.size, 4, 2, 1]
    assert [x.tobytes() for x in got.values[[0, 2]]] == [zeros[:1].tobytes()] * 2
    got = warpkit.unique_counts(a, device=device)
    assert got.counts.tolist() == [1, 7, nans.size + 2]
    assert np.array(got.values[1]).tobytes() == zeros[:1].tobytes()
    assert np.isnan(got.values[2])


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_unique_counts_are_numpys(device, dtype):
    for a in (values(dtype, (40, 25)), few_values(dtype, 999), np.zeros(0, dtype)):
        got = warpkit.unique_counts(a, device=device)
        for mine, numpys in zip(got, np.unique(a, return_counts=True), strict=True):
            np.testing.assert_array_equal(mine, numpys)
            assert mine.dtype == numpys.dtype


@pytest.mark.parametrize("dtype", TAKEN)
def test_runs_repeated_are_the_array(device, dtype):
    a = few_values(dtype, (7, 300))
    got = warpkit.run_length(a, device=device)
    assert_same(np.repeat(got.values, got.counts), a.ravel())


@pytest.mark.parametrize("op", OPS)
def test_an_array_on_a_device_stays_there_with_results_as_long_as_they_are(op, device):
    if device == "cpu":
        pytest.skip("the CPU has no memory of its own")
    for host in (few_values("float32", (40, 50)), np.arange(3000.0), np.zeros((0, 3), "i2")):
        a = warpkit.asarray(host, device=device)
        for there, view in ((a, host), (a.T, host.T), (a[::-2], host[::-2])):
            got = getattr(warpkit, op)(there)
            for mine, theirs in zip(got, getattr(reference, op)(view), strict=True):
                assert isinstance(mine, warpkit.DeviceArray)
                assert mine.device == a.device
                assert_same(mine.numpy(), theirs)


@pytest.mark.parametrize("op", OPS)
def test_elements_that_begin_anywhere_are_found(op, device):
    """16 bytes are read at once: the first and the last of them may not be the array's."""
    if device == "cpu":
        pytest.skip("the CPU has no memory of its own")
    for dtype in ("uint8", "int16", "float32", "float64"):
        host = few_values(dtype, 700)
        a = warpkit.asarray(host, device=device)
        for first, last in ((1, 700), (3, 650), (7, 8), (5, 5), (2, 17), (13, 699), (15, 31)):
            got = getattr(warpkit, op)(a[first:last])
            want = getattr(reference, op)(host[first:last])
            for mine, theirs in zip(got, want, strict=True):
                assert_same(mine.numpy(), theirs)


@pytest.mark.parametrize("op", OPS)
def test_short_results_hold_little_memory(op, device):
    a = np.repeat(np.arange(4.0), 1000)
    if device == "cpu":
        assert all(x.base is None and x.nbytes < 100 for x in getattr(warpkit, op)(a, device="cpu"))
        return
    there = warpkit.asarray(a, device=device)
    before = warpkit.memory_info(device)["pool_used"]
    kept = getattr(warpkit, op)(there)
    warpkit.release_memory(device)
    assert warpkit.memory_info(device)["pool_used"] - before < a.nbytes
    assert kept.values.size == 4


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_host_arrays_cross_as_a_whole(op, dtype, device, setting):
    """Larger than a slot: up in parts, and back as many as were found."""
    if device == "cpu":
        pytest.skip("no bus to cross")
    setting("WARPKIT_PIECE", "4096")
    for host in (values(dtype, 4900), few_values(dtype, (70, 70)).T, np.full(4900, 2, dtype)):
        check(op, host, device)


@pytest.mark.parametrize("op", OPS)
def test_input_is_left_as_it_was(op, device):
    a = values("float32", 999)
    before = a.copy()
    getattr(warpkit, op)(a, device=device)
    assert_same(a, before)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_what_has_no_order_is_refused(op, dtype, device):
    with pytest.raises(TypeError, match=f"{op}.*{dtype}"):
        getattr(warpkit, op)(np.ones(3, dtype), device=device)
    assert set(ALL_DTYPES) - set(TAKEN) == set(COMPLEX)


@pytest.mark.parametrize("op", OPS)
def test_an_unknown_variant_is_named(op, device):
    with pytest.raises(ValueError, match=f"{op} has no variant 'nonsense'"):
        getattr(warpkit, op)([1], device=device, variant="nonsense")


@pytest.mark.parametrize("op", OPS)
def test_results_are_named(op):
    got = getattr(warpkit, op)([3, 3, 1], device="cpu")
    assert type(got).__name__ == {"run_length": "RunLength"}.get(op, "UniqueCounts")
    assert got._fields == ("values", "counts")


@pytest.mark.parametrize("op", OPS)
def test_a_tensor_gives_tensors(op):
    torch = pytest.importorskip("torch")
    got = getattr(warpkit, op)(torch.tensor([1, 1, 0, 2, 2, 2]), device="cpu")
    assert all(isinstance(x, torch.Tensor) for x in got)
    assert got.counts.tolist() == {"run_length": [2, 1, 3]}.get(op, [1, 2, 3])


@pytest.mark.parametrize("threads", ["1", "3"])
def test_any_number_of_threads_finds_the_same(threads):
    if not allowed(400_000):
        pytest.skip("--small")
    from helpers import python

    script = """
import numpy as np, warpkit
from warpkit import reference
rng = np.random.default_rng(0)
for a in (rng.normal(size=200_000), rng.integers(0, 9, 400_000), rng.integers(0, 1 << 40, 300_000),
          rng.integers(0, 60_000, 300_000, np.uint16), np.sort(rng.integers(0, 999, 300_000)),
          rng.random(300_000).astype('f4'), np.zeros(300_000, 'i4')):
    for op in ("run_length", "unique_counts"):
        got, want = getattr(warpkit, op)(a, device="cpu"), getattr(reference, op)(a)
        assert all(x.tobytes() == y.tobytes() for x, y in zip(got, want)), (op, a.dtype)
print("same")
"""
    assert python(script, env={"WARPKIT_NUM_THREADS": threads}).strip() == "same"
