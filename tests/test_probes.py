"""Every intrinsic that kernels may use, against what CUDA's documentation says it gives.

One program, kernels/probes.cu, is built for each device under test: for the emulated one by every
host compiler there is (one for aarch64 too, if QEMU can run what it builds), for a GPU by nvcc.
"""

import os
import shutil
import subprocess
from fractions import Fraction

import helpers
import numpy as np
import pytest

pytestmark = pytest.mark.unsanitized  # it runs programs of its own

LANES = 64
T = np.arange(LANES)
LANE, FIRST = T % 32, T // 32 * 32
WIDTHS, MOVES = (1, 2, 4, 8, 16, 32), (0, 1, 2, 5, 16, 31, 32, 33)


ARM, QEMU = "aarch64-linux-gnu-g++", "qemu-aarch64"


def builds():
    compilers = [c for c in ("g++", "clang++", ARM) if shutil.which(c)] or ["c++"]
    found = compilers if "emu" in helpers.devices else []
    return found + ["cuda"] * any(d.startswith("cuda") for d in helpers.devices)


@pytest.fixture(scope="module", params=builds())
def probes(request, tmp_path_factory):
    """What the program wrote: by name a list of words of 64 bits."""
    folder = tmp_path_factory.mktemp("probes")
    source, program, results = helpers.KERNELS / "probes.cu", folder / "probes", folder / "results"
    command = [program, results]
    if request.param == "cuda":
        if not helpers.compile_cuda(source, program):
            pytest.skip("no nvcc here")
    elif request.param == ARM:
        if not shutil.which(QEMU):
            pytest.skip(f"{ARM} is here, but no {QEMU} to run what it builds")
        helpers.emulate(source, program, ARM)
        command = [QEMU, "-L", "/usr/aarch64-linux-gnu", *command]
    else:
        helpers.emulate(source, program, request.param)
    env = {**os.environ, "WARPKIT_EMU_SCHEDULE": "random"}
    subprocess.run(command, check=True, timeout=120, env=env)
    words = {}
    for line in results.read_text().splitlines():
        text = line.split(" ")
        first = next(i for i, word in enumerate(text) if i and is_hexadecimal(text[i:]))
        words[" ".join(text[:first])] = np.array([int(w, 16) for w in text[first:]], np.uint64)
    return words


def is_hexadecimal(words):
    return all(set(word) <= set("0123456789abcdef") for word in words)


def words_of(values):
    """Values as the program writes them: their bits."""
    values = np.ascontiguousarray(values)
    return values.view(f"u{values.itemsize}").astype(np.uint64)


def source_lane(kind, lane, move, width):
    """PTX ISA, shfl.sync: the lane that is read."""
    first, last = lane & ~(width - 1), lane | (width - 1)
    if kind == "shfl":
        return first | move & (width - 1)
    if kind == "shfl_up":
        return lane - move % 32 if lane - move % 32 >= first else lane
    other = lane + move % 32 if kind == "shfl_down" else lane ^ move % 32
    return other if other <= last else lane


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("kind", ["shfl", "shfl_up", "shfl_down", "shfl_xor"])
def test_shuffles(probes, kind, dtype):
    given = T.astype(np.uint64) * np.uint64(0x100000001) + np.uint64(7)
    own = words_of(given.astype("uint32" if dtype == "int32" else dtype))
    want = [
        own[f + source_lane(kind, lane, move, width)]
        for width in WIDTHS
        for move in MOVES
        for f, lane in zip(FIRST, LANE, strict=True)
    ]
    np.testing.assert_array_equal(probes[f"{kind} {dtype}"], np.array(want))


def test_shuffles_by_lane_and_in_groups(probes):
    by_lane = [*(FIRST + LANE * 7 % 32), *(FIRST + (-1 - LANE) % 32)]
    assert probes["shuffle by lane"].tolist() == by_lane
    groups = [
        f + (lane ^ 3 if lane < 8 else 9 if lane % 2 else 30)
        for f, lane in zip(FIRST, LANE, strict=True)
    ]
    assert probes["shuffle in groups"].tolist() == groups


def mask(lanes):
    return sum(1 << int(lane) for lane in lanes)


def test_votes(probes):
    some = LANE < 20
    want = [
        np.full(LANES, mask(range(0, 32, 3))),
        T >= 32,
        T < 32,
        np.where(some, mask(range(1, 20, 2)), 0),
        some,
    ]
    np.testing.assert_array_equal(probes["votes"].reshape(5, LANES), want)


def test_matches(probes):
    def alike(modulus):
        return [mask(np.flatnonzero(np.arange(32) % modulus == lane % modulus)) for lane in LANE]

    everyone, ones, none = np.full(LANES, 2**32 - 1), np.ones(LANES), np.zeros(LANES)
    want = [alike(5), alike(3), alike(2), everyone, ones, none, none]
    np.testing.assert_array_equal(probes["matches"].reshape(7, LANES), want)


def test_reductions(probes):
    v = (np.arange(32, dtype=np.uint64) * 2654435761).astype(np.uint32)
    signed = v.view(np.int32)
    total = int(v.sum(dtype=np.uint64)) % 2**32
    want = [
        *(total, (v + np.uint32(1)).min(), v.max()),
        *(total, int(signed.min()) % 2**32, int(signed.max()) % 2**32),
        np.bitwise_and.reduce(v | np.uint32(0x10)),
        np.bitwise_or.reduce(v & np.uint32(0xFF00FF)),
        np.bitwise_xor.reduce(v),
    ]
    got = probes["reductions"].reshape(10, LANES)
    np.testing.assert_array_equal(got[:9], np.repeat(want, LANES).reshape(9, LANES))
    some = int(v[4:].sum(dtype=np.uint64)) % 2**32
    np.testing.assert_array_equal(got[9], np.where(LANE >= 4, some, 0))


def test_barriers_that_vote(probes):
    got = probes["barriers"].reshape(5, LANES)
    np.testing.assert_array_equal(got, np.repeat([22, 1, 0, 1, 0], LANES).reshape(5, LANES))


def test_memories(probes):
    want = [T ^ 1, 3 * (LANES - 1 - T), 5 + T % 4]
    np.testing.assert_array_equal(probes["memories"].reshape(3, LANES), want)


def test_threads_know_their_places(probes):
    np.testing.assert_array_equal(probes["places"], np.arange(12 * 64) + 32000)


def test_bits(probes):
    i = np.arange(2 * LANES, dtype=np.uint64)
    words = (i * 2654435761).astype(np.uint32) >> (i % 32).astype(np.uint32)
    words[1] = 0xFFFFFFFF
    got = probes["bits"].reshape(19, LANES)
    for t in range(LANES):
        v, u = int(words[t]), int(words[t + LANES])
        both = u << 32 | v
        selector = t * 0x1357 & 0xFFFF
        low, high = (np.array(x, np.uint32).view(np.int32) for x in (v, u))
        want = [
            *(v.bit_count(), both.bit_count()),
            *((v & -v).bit_length(), (both & -both).bit_length()),
            *(32 - v.bit_length(), 64 - both.bit_length()),
            *(int(f"{v:032b}"[::-1], 2), int(f"{both:064b}"[::-1], 2) >> 32),
            permuted(both, selector),
            *((both << t % 32 >> 32) % 2**32, (both >> t % 32) % 2**32),
            *(nth_set(v, t % 32, n) for n in (3, -2, 0)),
            int(min(low, high)) % 2**32 ^ max(v, u),
            int(np.float32(t).view(np.uint32)),
            *(0x80000000, 0, 0x80000000),  # -0 is below +0, and NaN is passed over
        ]
        assert got[:, t].tolist() == want, t


def permuted(both, selector):
    bytes_of_both = both.to_bytes(8, "little")
    return int.from_bytes([bytes_of_both[selector >> 4 * i & 7] for i in range(4)], "little")


def nth_set(word, base, n):
    """PTX ISA, fns."""
    if n == 0:
        return base if word >> base & 1 else 2**32 - 1
    places = range(base, 32) if n > 0 else range(base, -1, -1)
    found = [p for p in places if word >> p & 1]
    return found[abs(n) - 1] if len(found) >= abs(n) else 2**32 - 1


def test_arithmetic_is_rounded_where_it_says(probes):
    t = T.astype(np.float64)
    x, y = 1 + t / 3, 1 - t / 3
    fx, fy = x.astype(np.float32), y.astype(np.float32)
    errors = [float(Fraction(a) * Fraction(b) - Fraction(a * b)) for a, b in zip(x, y, strict=True)]
    want = [
        errors,
        fx.astype(np.float64) * fy - (fx * fy).astype(np.float64),
        (x + 1e15) - y,
        ((fx + np.float32(1e7)) - fy).astype(np.float64),
        (x.view(np.int64) + 1).view(np.float64),
        (fx.view(np.int32) + 1).view(np.float32).astype(np.float64),
    ]
    assert np.count_nonzero(errors)
    np.testing.assert_array_equal(probes["arithmetic"].view(np.float64).reshape(6, LANES), want)


def test_vectors(probes):
    i = np.arange(LANES, dtype=np.float32)
    want = np.stack([i + 0.75, 4 * i, i + 0.25, i + 0.5], 1)
    np.testing.assert_array_equal(probes["vectors"], words_of(want.ravel()))


def test_atomics(probes):
    t = T.astype(np.int64)
    xor = int(np.bitwise_xor.reduce(t * t))

    def ints(blocks):
        all_cleared, all_set = -1 & ~0x7F, 0x1FF
        return [
            *(blocks * int((t - 40).sum()), -blocks * int(t.sum()), 10 - 63, 63 - 10),
            *(all_cleared, all_set, xor if blocks % 2 else 0),
        ]

    def words(values):
        return [v % 2**32 for v in values]

    assert probes["atomics int"].tolist() == words(ints(3))
    after = [42, 99, 0, 77, 0, 0]  # two that exchange, and one whose comparison fails
    assert probes["atomics of one block"].tolist() == words([*ints(1), *after])
    increments = decrements = 0
    for _ in range(3 * LANES):
        increments = 0 if increments >= 9 else increments + 1
        decrements = 9 if decrements == 0 or decrements > 9 else decrements - 1
    added = 3 * LANES * 0x80000001 % 2**32
    want = [added, increments, decrements, 0, 2**32 - 1]
    assert probes["atomics unsigned"].tolist() == want
    assert probes["atomics long"].tolist() == [3 * LANES << 40, 63 << 33]
    total = 3 * t.sum()
    assert probes["atomics float"].tolist() == words_of(np.float32([total])).tolist()
    assert probes["atomics double"].tolist() == words_of(np.float64([total / 4])).tolist()


ALL = np.arange(65536, dtype=np.uint16)


def test_half_types_widen_exactly(probes):
    half = probes["widen half"].astype(np.uint32).view(np.float32)
    bfloat = probes["widen bfloat16"].astype(np.uint32).view(np.float32)
    np.testing.assert_array_equal(half, ALL.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(bfloat, (ALL.astype(np.uint32) << 16).view(np.float32))
    for got in (half, bfloat):  # the sign of a zero too
        assert np.signbit(got[0x8000])


def to_bfloat16(x):
    """Round to nearest, ties to even; CUDA's one NaN."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FFF, rounded)


def test_half_types_round_to_nearest_ties_to_even(probes):
    given = probes["narrow in"].astype(np.uint32).view(np.float32)
    with np.errstate(over="ignore"):
        half = given.astype(np.float16).view(np.uint16)
    half = np.where(np.isnan(given), 0x7FFF, half)
    np.testing.assert_array_equal(probes["narrow half"], half)
    np.testing.assert_array_equal(probes["narrow bfloat16"], to_bfloat16(given))


def test_half_types_compute_as_if_exactly_and_round_once(probes):
    t = T.astype(np.float32)
    a, b = np.float32(0.7) * t - np.float32(9), np.float32(300) / (1 + t)
    got = probes["half arithmetic"].astype(np.uint32).view(np.float32).reshape(14, LANES)

    def narrow_bfloat(x):
        return (to_bfloat16(x).astype(np.uint32) << 16).view(np.float32)

    def narrow_half(x):
        return np.asarray(x).astype(np.float16).astype(np.float32)

    for rows, narrow in ((got[:6], narrow_half), (got[6:12], narrow_bfloat)):
        x, y = narrow(a).astype(np.float64), narrow(b).astype(np.float64)
        order = (x < y) + 2 * (x == y) + 4 * (x >= y)
        sums = [narrow(v.astype(np.float32)) for v in (x + y, x - y, x * y, x / y)]
        np.testing.assert_array_equal(rows, [*sums, -x, order])
    np.testing.assert_array_equal(got[12], narrow_half(b)[T ^ 1])
    np.testing.assert_array_equal(got[13], narrow_half(a)[T ^ 1])
