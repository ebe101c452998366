"""The ten kernels of examples/gallery: as NumPy, in any order of threads, within their arrays."""

import inspect
import re
import shutil

import helpers
import numpy as np
import pytest
import warpkit
from warpkit import testing

GALLERY = helpers.ROOT / "examples" / "gallery"
PAGE = helpers.ROOT / "docs" / "gallery.md"
pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
    ),
    pytest.mark.unsanitized,
]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """An empty one, that all tests of this file share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        yield


def blocks(n, size):
    return max(1, -(-n // size))


def whole(n, most=1000):
    return RNG.integers(-most, most, n).astype(np.int32)


# Each runs its kernels on one size, and gives what they gave and what NumPy does.


def reduce(k, n):
    x, out = whole(n), np.zeros(1, np.int32)
    k.reduce[3, 128](x, out, n)
    return out, x.sum(keepdims=True, dtype=np.int32)


def transpose(k, n):
    x = RNG.random((n, n // 2 + 1)).astype(np.float32)
    out = np.full(x.shape[::-1], np.nan, np.float32)
    k.transpose[(blocks(x.shape[1], 16), blocks(n, 16)), (16, 16)](x, out, *x.shape)
    return out, x.T.copy()


def scan(k, n):
    x, out = whole(n), np.zeros(n, np.int32)
    sums = np.zeros(blocks(n, 128), np.int32)
    k.scan_blocks[sums.size, 64](x, out, sums, n)
    k.scan_blocks[1, 64](sums, sums, None, sums.size)
    k.add_sums[sums.size, 64](out, sums, n)
    return out, np.cumsum(x, dtype=np.int32) - x


def bitonic(k, n):
    x = whole(max(256, 1 << (n - 1).bit_length()))
    want = np.sort(x)
    k.sort_blocks[x.size // 256, 128](x)
    for size in (512 << i for i in range((x.size // 256).bit_length() - 1)):
        for stride in (size >> i for i in range(1, size.bit_length())):
            k.merge[x.size // 256, 128](x, size, stride)
    return x, want


def matmul(k, n):
    a, b = (RNG.integers(-9, 10, s).astype(np.float32) for s in ((n, 19), (19, n + 3)))
    c = np.full((n, n + 3), np.nan, np.float32)
    k.matmul[(blocks(n + 3, 8), blocks(n, 8)), (8, 8)](a, b, c, n, n + 3, 19)
    return c, a @ b


def histogram(k, n):
    x, counts = RNG.integers(0, 20, n).astype(np.uint8), np.zeros(256, np.uint32)
    k.histogram[2, 96](x, counts, n)
    return counts, np.bincount(x, minlength=256).astype(np.uint32)


def stencil(k, n):
    x, out = whole(n).astype(np.float32), np.full(n, np.nan, np.float32)
    k.heat[blocks(n, 64), 64](x, out, n, 0.25)
    left, right = x[np.maximum(np.arange(n) - 1, 0)], x[np.minimum(np.arange(n) + 1, n - 1)]
    return out, x + np.float32(0.25) * (left - 2 * x + right)


def lookback(k, n):
    x, out = whole(n), np.zeros(n, np.int32)
    state, sums, prefixes = np.zeros((3, blocks(n, 64)), np.int32)
    k.scan[state.size, 64](x, out, n, np.zeros(1, np.int32), state, sums, prefixes)
    return out, np.cumsum(x, dtype=np.int32)


def nbody(k, n):
    bodies, pull = np.float32(RNG.random((n, 4))), np.full((n, 4), np.nan, np.float32)
    k.attract[blocks(n, 64), 64](bodies, pull, n, 0.01)
    far = np.float64(bodies[None, :, :3]) - bodies[:, None, :3]
    f = bodies[:, 3] * ((far**2).sum(2) + 0.01) ** -1.5
    want = np.zeros((n, 4), np.float32)
    want[:, :3] = (far * f[:, :, None]).sum(1)
    np.testing.assert_allclose(pull, want, rtol=1e-4, atol=1e-4)
    return want, want


def pi(k, n):
    hits = np.zeros(1, np.uint32)
    k.throw_darts[4, 96](hits, n)
    with np.errstate(over="ignore"):
        state = np.arange(n, dtype=np.uint32) * np.uint32(747796405) + np.uint32(2891336453)
        word = ((state >> ((state >> 28) + 4)) ^ state) * np.uint32(277803737)
    x, y = np.divmod((word >> 22) ^ word, 1 << 16)
    inside = np.uint64(x) ** 2 + np.uint64(y) ** 2 < 1 << 32
    assert n < 300 or abs(4 * inside.mean() - np.pi) < 0.3
    return hits, inside.sum(keepdims=True, dtype=np.uint32)


CASES = (reduce, transpose, scan, bitonic, matmul, histogram, stencil, lookback, nbody, pi)


@pytest.mark.schedules(n=1)
@pytest.mark.canaries
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_it_gives_what_numpy_does(cu, case):
    kernels = cu(GALLERY / f"{case.__name__}.cu")
    for n in (1, 33, 300):
        got, want = case(kernels, n)
        testing.assert_same_bits(got, want)


@pytest.mark.skipif(
    "check" not in inspect.signature(warpkit.compile).parameters,
    reason="there is no race detector",
)
@pytest.mark.races
def test_none_has_a_race(cu):
    """All in one, which takes a tenth of the time."""
    text = "".join(f'#include "{case.__name__}.cu"\n' for case in CASES)
    kernels = cu(text, include=[GALLERY])
    for case in CASES:
        testing.assert_same_bits(*case(kernels, 200))


def test_the_page_has_every_kernel_and_every_statement_that_orders_it():
    page = PAGE.read_text()
    assert sorted(p.stem for p in GALLERY.iterdir()) == sorted(case.__name__ for case in CASES)
    assert [case.__name__ for case in CASES if f"| `{case.__name__}.cu` |" not in page] == []
    statements = [
        f"{case.__name__}.cu:{mutation.line} `{str(mutation).partition(' ')[2]}`"
        for case in CASES
        for mutation in testing.mutations((GALLERY / f"{case.__name__}.cu").read_text())
    ]
    listed = re.findall(r"^\| (\w+\.cu:\d+) *\| (`.*?`) *\|", page, re.MULTILINE)
    assert [" ".join(row) for row in listed] == statements, "run tools/gallery.py"
