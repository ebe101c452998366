"""Users' kernels give what NumPy does, the same bits on the emulated device and on a GPU."""

import os

import helpers
import ml_dtypes
import numpy as np
import pytest
import warpkit
from warpkit import _nvidia

DEVICES = [name for name in helpers.devices if name != "cpu"]
GPUS = [name for name in DEVICES if name.startswith("cuda")]
COMPILERS = [tool.kind for tool in (_nvidia.find_nvrtc(), _nvidia.find_nvcc()) if tool]
RUNS = [(name, kind) for name in DEVICES for kind in (COMPILERS if name in GPUS else ["c++"])]
pytestmark = pytest.mark.unsanitized
PLAIN = helpers.KERNELS / "everywhere.cu"
GROUPS = helpers.KERNELS / "everywhere_groups.cu"
WARPS = 128  # threads of a block, where a kernel takes one


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPKIT_KERNELS", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(params=RUNS, ids="-".join)
def run(request, cache, monkeypatch):
    device, compiler = request.param
    if device in GPUS:
        monkeypatch.setenv("WARPKIT_CUDA_COMPILER", compiler)
    return device


@pytest.fixture
def m(run):
    return warpkit.compile(PLAIN, run)


@pytest.fixture
def groups(run):
    return warpkit.compile(GROUPS, run)


def integers(n, low=-99, high=100, dtype=np.int32, seed=7):
    return np.random.default_rng(seed).integers(low, high, n, dtype)


def same(got, want):
    helpers.assert_same(got, np.asarray(want, got.dtype))


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 255, 256, 257, 4099])
def test_a_fused_multiply_add(m, n):
    x, y = integers(n).astype("f4"), integers(n, seed=8).astype("f4")
    out = np.full(n, np.nan, "f4")
    m.scaled.forall(n)(x, y, out, n)
    same(out, 3 * x + y)
    m.scaled[(n + 31) // 32, 32](x, y, out, n, -2.5)
    same(out, -2.5 * x + y)


def test_arrays_of_the_device_stay_there(m):
    x = integers(1000).astype("f4")
    there = warpkit.asarray(x, device=m.device)
    for _ in range(3):
        m.scaled.forall(1000)(there, there, there, 1000, 1)
    helpers.assert_same(there.numpy(), 8 * x)
    total = warpkit.reduce(there)
    m.scaled[1, 1](total, total, total, 1)  # whose value may lie on the host by now
    assert float(total) == 4 * 8 * x.sum()


def test_static_shared_memory(m):
    x = integers(4 * 256)
    want = x.reshape(4, 256)[:, ::-1].ravel().copy()
    m.turned[4, 256](x)
    same(x, want)


@pytest.mark.parametrize("n", [1, 100, 6144, 12000])
def test_dynamic_shared_memory_of_any_size(m, n):
    x = integers(n).astype("f8")
    want = x[::-1].copy()
    m.turned_dynamic[1, 128, 8 * n](x, n)
    same(x, want)


@pytest.mark.parametrize(("name", "dtype", "tile"), [("float, 32", "f4", 32), ("char, 8", "i1", 8)])
def test_a_transpose_of_a_templates_type(m, name, dtype, tile):
    a = integers((70, 45), -128, 128, "i1").astype(dtype)
    out = np.zeros((45, 70), dtype)
    m[f"transposed<{name}>"][(-(-45 // tile), -(-70 // tile)), (tile, tile)](a, out, 70, 45)
    same(out, a.T)


def test_a_stencil_with_constant_coefficients(m):
    m.taps[...] = [1, -2, 3, 4, -5]
    x = integers(1000).astype("f4")
    out = np.zeros(1000, "f4")
    m.stencil.forall(1000)(x, out, 1000)
    same(out, np.correlate(np.pad(x, 2, "edge"), np.array([1, -2, 3, 4, -5], "f4"), "valid"))
    same(m.taps[1:3], [-2, 3])


def test_a_tiled_matrix_product(m):
    a, b = integers((48, 48)).astype("f4"), integers((48, 48), seed=9).astype("f4")
    c = np.zeros((48, 48), "f4")
    m.multiplied[(3, 3), (16, 16)](a, b, c, 48)
    same(c, a @ b)


def test_structs(m):
    kind = np.dtype([("x", "f4"), ("y", "f4"), ("mass", "i4")])
    all_ = np.zeros(100, kind)
    all_["x"], all_["y"], all_["mass"] = integers((3, 100))
    want = all_.copy()
    want["x"] += 1.5
    want["y"] -= 2
    want["mass"] *= -3
    m.moved.forall(100)(all_, 100, np.array((1.5, 2, -3), kind))
    assert (all_ == want).all()


def test_vectors_of_four(m):
    x = integers(400).astype("f4")
    out = np.zeros(400, "f4")
    m.in_fours.forall(100)(x, out, 100, (1, 2, 3, 4))
    same(out, x.reshape(-1, 4)[:, ::-1].ravel() + np.tile(np.arange(1, 5, dtype="f4"), 100))


def test_complex_numbers(m):
    a, b = integers((2, 300)).astype("f4"), integers((2, 300), seed=3).astype("f4")
    x, y = (a[0] + 1j * a[1]).astype("c8"), (b[0] + 1j * b[1]).astype("c8")
    out = np.zeros(300, "c8")
    m.product.forall(300)(x, y, out, 300)
    same(out, x * y)


def test_grids_and_blocks_of_three_dimensions(m):
    grid, block = (2, 3, 2), (4, 2, 3)
    x = np.zeros((12, 24, 3), np.int32)
    m.places[grid, block](x)
    i, j = np.indices((12, 24))
    same(x, np.stack([i, j, np.full_like(i, 32)], -1))


def test_a_stencil_of_two_dimensions(m):
    now = integers((40, 40), 0, 2, "u1")
    new = np.full_like(now, 9)
    m.life[(3, 5), (16, 8)](now, new, 40)
    around = sum(
        np.roll(now, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    same(new, (around == 3) | ((around == 2) & (now == 1)))


def test_variables_keep_their_values(m):
    m.calls[()] = 0
    m.grid_of[...] = [[1, 2, 3], [4, 5, 6]]
    m.grid_of[0, 1] = 20
    m.shared_by_both[()] = 7
    out = np.zeros(7, np.int32)
    for _ in range(2):
        m.reads[1, 32](out)
    assert m.calls[()] == 64
    same(out, [2, 21, 4, 5, 6, 7, 8])
    assert m.grid_of[1].tolist() == [6, 7, 8]
    assert m.shared_by_both[()] == 9


# ---- atomics, fences ---------------------------------------------------------------------------


def test_a_histogram_in_shared_memory(m):
    x = integers(5000, 0, 256, "u1")
    bins = np.zeros(256, np.int32)
    m.histogram[7, 96](x, x.size, bins)
    same(bins, np.bincount(x, minlength=256))


def test_atomics(m):
    n = 1000
    x = integers(n)
    out, bits, sums = np.zeros(6, np.int32), np.array([0, 127, 0, 0], np.uint32), np.zeros(2)
    m.atomics.forall(n, 128)(x, n, out, bits, sums)
    same(out, [x.sum(), -x.sum(), x.min(), x.max(), 1, 5])
    same(bits, [2**31 - 1, 0, np.bitwise_xor.reduce(x.view(np.uint32)), n % 10])
    same(sums, [x.sum()] * 2)


def test_the_last_block_adds_up(m):
    x = integers(3000)
    for blocks in (1, 5, 30):
        sums, total = np.zeros(blocks, np.int32), np.zeros(1, np.int32)
        m.last_block[blocks, 32](x, x.size, sums, total)
        same(total, [x.sum()])


def test_the_lanes_of_a_branch_share_an_atomic(m):
    x = integers(1000)
    out, count = np.zeros(1000, np.int32), np.zeros(1, np.int32)
    m.kept.forall(1000)(x, 1000, out, count)
    want = x[x % 3 == 0]
    same(count, [want.size])
    same(np.sort(out[: want.size]), np.sort(want))


# ---- warps -------------------------------------------------------------------------------------


def test_shuffles(m):
    x = integers(WARPS)
    out = np.zeros((WARPS, 8), np.int32)
    m.shuffled[1, WARPS](x, out)
    lane = np.arange(WARPS) % 32
    first = np.arange(WARPS) - lane

    def up(d, width):
        return np.where(lane % width >= d, lane - d, lane)

    def down(d, width):
        return np.where(lane % width + d < width, lane + d, lane)

    sources = [lane // 2, up(3, 32), down(5, 32), lane ^ 21, lane // 8 * 8 + 2]
    sources += [up(1, 4), down(2, 16), lane ^ 1]
    same(out, np.stack([x[first + source] for source in sources], -1))


def test_votes(m):
    x = integers(WARPS, 0, 8)
    out = np.zeros((WARPS, 6), np.uint32)
    m.voted[1, WARPS](x, out)
    weights = 2 ** np.arange(32, dtype=np.uint64)
    by_warp = x.reshape(-1, 32)
    want = np.zeros((WARPS, 6), np.uint64)
    want[:, 0] = np.repeat(((by_warp & 1) * weights).sum(1), 32)
    want[:, 1] = np.repeat((by_warp == 5).any(1), 32)
    want[:, 2] = np.repeat((by_warp < 7).all(1), 32)
    want[:, 3] = ((by_warp[:, :, None] == by_warp[:, None]) * weights).sum(2).ravel()
    want[:, 4] = (x & 1).sum()
    want[:, 5] = (x == 6).any() + 2 * (x < 8).all()
    same(out, want)


def test_reductions_of_warps(m):
    x = integers(WARPS)
    out = np.zeros((WARPS // 32, 4), np.int32)
    m.folded[1, WARPS](x, out)
    w = x.reshape(-1, 32)
    same(out, np.stack([w.sum(1), w.min(1), w.max(1), np.bitwise_xor.reduce(w, 1)], -1))


@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_a_scan_of_a_block(m, threads):
    x = integers(threads)
    out = np.zeros(threads, np.int32)
    m.scanned[1, threads](x, out)
    same(out, np.cumsum(x))


def test_a_bitonic_sort(m):
    x = integers(2 * 512, 0, 2**32, np.uint32)
    want = np.sort(x.reshape(2, 512)).ravel()
    m.sorted[2, 512](x)
    same(x, want)


# ---- arithmetic --------------------------------------------------------------------------------


def test_intrinsics_of_32_bits(m):
    n = 300
    x = integers(n, 0, 2**32, np.uint32)
    x[:3] = 0, 1, 2**32 - 1
    out = np.zeros((n, 12), np.uint32)
    m.bits.forall(n)(x, out, n)

    def one(v, w):
        both = v | w << 32
        picked = sum((both >> 8 * b & 255) << 8 * i for i, b in enumerate((1, 4, 5, 2)))
        signed = [u - 2**32 if u >= 2**31 else u for u in (v, w)]
        low = [u & 0xFFFFFF for u in (v, w)]
        return [
            v.bit_count(),
            32 - v.bit_length(),
            (v & -v).bit_length(),
            int(f"{v:032b}"[::-1], 2),
            picked,
            (both << 7 >> 32) % 2**32,
            v * w >> 32,
            (signed[0] * signed[1] >> 32) % 2**32,
            low[0] * low[1] % 2**32,
            (abs(v - w) + 3) % 2**32,
            v ^ v >> 1,
            max(min(v, w), 77),
        ]

    same(out, [one(int(v), int(w)) for v, w in zip(x, np.roll(x, -1), strict=True)])


def test_intrinsics_of_64_bits(m):
    n = 300
    x = integers(n, 0, 2**64, np.uint64)
    x[:3] = 0, 1, 2**64 - 1
    out = np.zeros((n, 7), np.uint64)
    m.long_bits.forall(n)(x, out, n)

    def one(v, w):
        signed = [u - 2**64 if u >= 2**63 else u for u in (v, w)]
        return [
            v.bit_count(),
            64 - v.bit_length(),
            (v & -v).bit_length(),
            int(f"{v:064b}"[::-1], 2),
            v * w >> 64,
            (signed[0] * signed[1] >> 64) % 2**64,
            (v * w + (v >> (w & 63))) % 2**64,
        ]

    want = [one(int(v), int(w)) for v, w in zip(x, np.roll(x, -1), strict=True)]
    same(out, np.array(want, np.uint64))


def test_integers_are_divided_towards_zero(m):
    a, b = integers(500), integers(500, 1, 20) * integers(500, 0, 2, seed=1).choose([-1, 1])
    out = np.zeros((500, 2), np.int32)
    m.divided.forall(500)(a, b.astype(np.int32), out, 500)
    quotient = np.trunc(a / b).astype(int)
    same(out, np.stack([quotient, a - quotient * b], -1))


def test_floats_are_rounded_as_ieee_says(m):
    n = 1000
    x = np.random.default_rng(1).standard_normal(n).astype("f4") * np.float32(50)
    out, whole = np.zeros((n, 4), "f4"), np.zeros((n, 3), np.int32)
    m.rounded.forall(n)(x, out, whole, n)
    columns = [1 / x, np.sqrt(np.abs(x)), np.rint(x) + np.floor(x), np.clip(x, -2, 3)]
    same(out, np.stack(columns, -1))
    same(whole, np.stack([np.rint(x), x.view("i4"), np.trunc(x)], -1).astype(np.int32))


def test_loops_of_different_lengths(m):
    x = integers(200, 1, 10000, np.uint32)

    def steps(v):
        count = 0
        while v > 1:
            v = 3 * v + 1 if v % 2 else v // 2
            count += 1
        return count

    out = np.zeros(200, np.int32)
    m.collatz.forall(200)(x, out, 200)
    same(out, [steps(int(v)) for v in x])


def test_arrays_of_a_thread(m):
    x = integers((64, 8))
    out = np.zeros_like(x)
    m.local_array[1, 64](x, out)
    same(out, np.sort(x))


def test_functions_and_lambdas(m):
    x = integers(100)
    out = np.zeros_like(x)
    m.functions[1, 100](x, out, 11)
    same(out, np.maximum((x * 3 + 11) * 3 + 11, 11))


@pytest.mark.parametrize("name", ["unsigned", "unsigned long long", "unsigned char"])
def test_instances_of_a_template(m, name):
    dtype = {"unsigned": "u4", "unsigned long long": "u8", "unsigned char": "u1"}[name]
    out = np.zeros(100, dtype)
    m[f"generated<{name}>"].forall(100)(out, 100, 5)
    want = np.arange(5, 105, dtype=dtype)
    for _ in range(10):
        want = want * np.array(1103515245).astype(dtype) + np.array(12345).astype(dtype)
    same(out, want)


def test_what_a_kernel_prints(m, capsys):
    m.says[3, 32](3)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [f"block {i} of 3: so 1.50 1099511627776" for i in range(3)]


def test_a_null_pointer(m):
    out = np.zeros(1, np.int32)
    m.none[1, 1](None, out)
    assert out[0] == 1


# ---- CUDA's other headers ----------------------------------------------------------------------


def test_half_precision(groups):
    n = 200
    x, y = integers(n, -50, 50).astype("f2"), integers(n, -50, 50, seed=2).astype("f2")
    out = np.zeros((n, 2), "f2")
    groups.halves.forall(n)(x, y, out, n, 0.5)
    same(out, np.stack([x + y + np.float16(0.5), x * 2 - y], -1))


def test_bfloat16(groups):
    x = np.random.default_rng(3).standard_normal(200).astype(ml_dtypes.bfloat16)
    out = np.zeros_like(x)
    groups.brains.forall(200)(x, out, 200)
    same(out.view("u2"), (x.astype("f4") * 3).astype(ml_dtypes.bfloat16).view("u2"))


def test_cooperative_groups(groups):
    x = integers(WARPS)
    out = np.zeros((WARPS, 5), np.int32)
    groups.tiles[1, WARPS](x, out)
    t = x.reshape(-1, 16)
    columns = [np.repeat(t.sum(1), 16), np.repeat(t.max(1), 16)]
    columns += [np.concatenate([t[:, 1:], t[:, -1:]], 1).ravel(), np.cumsum(t, 1).ravel()]
    columns.append(np.repeat(((t > 0) * 2 ** np.arange(16)).sum(1), 16))
    same(out, np.stack(columns, -1))
    count = np.zeros(1, np.int32)
    groups.counted[1, WARPS](x, count)
    same(count, [(x % 5 == 0).sum()])


def test_pairs_of_halves(groups):
    n = 200
    x, y = integers((n, 2), -50, 50).astype("f2"), integers((n, 2), -50, 50, seed=2).astype("f2")
    out = np.zeros((n, 3, 2), "f2")
    groups.pairs.forall(n)(x, y, out, n)
    fused = (x.astype("f8") * y + 0.5).astype("f2")
    same(out, np.stack([fused, x * y - x[:, ::-1], np.maximum(x, y)], 1))


def test_arithmetic_in_each_direction_of_rounding(groups):
    n = 500
    random = np.random.default_rng(4)
    x, y = (random.standard_normal((2, n)) * 100).astype("f4")
    out = np.zeros((n, 12), "f4")
    groups.directed.forall(n)(x, y, out, n)
    a, b = x.astype("f8"), y.astype("f8")
    away, zero = np.float32(np.inf), np.float32(0)  # integers have no -0

    def down(exact):
        near = exact.astype("f4")
        return np.where(near > exact, np.nextafter(near, -away), near)

    def up(exact):
        return -down(-exact)

    def to_zero(exact):
        return np.where(exact < 0, up(exact), down(exact))

    quotient = a / b  # of floats that is no tie, and rounds as the exact one
    columns = [down(a + b), up(a + b), to_zero(a + b), down(a * b), up(a * b)]
    columns += [down(quotient), up(quotient), up(np.sqrt((x * x).astype("f8")))]
    columns += [to_zero(a * b + a), np.ceil(x) + zero, np.floor(x) + zero, down(a * b)]
    same(out, np.stack(columns, -1))


def test_groups_by_label_and_by_answer(groups):
    x = integers(WARPS, 0, 5)
    out = np.zeros((WARPS, 3), np.int32)
    groups.parted[1, WARPS](x, out)
    want = []
    for warp in x.reshape(-1, 32):
        for lane, v in enumerate(warp):
            side = (warp > 2) == (v > 2)
            want.append([(warp == v).sum(), side[:lane].sum(), warp[side].sum()])
    same(out, want)


def test_atomics_of_the_cuda_library(groups):
    count, most = np.zeros(1, np.int32), np.zeros(1, np.int32)
    groups.counters[3, 64](count.view("V4"), most)
    assert (count[0], most[0]) == (2 * 192, 2 * 191)


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (7, 64), (64, 32)])
def test_a_grid_waits_for_all_its_blocks(groups, blocks, threads):
    n = blocks * threads
    a, b = integers(n), np.zeros(n, np.int32)
    want = a.copy()
    for _ in range(6):
        want = np.roll(want, threads) + np.roll(want, -threads)
    groups.rounds.cooperative[blocks, threads](a, b, 6)
    same(a, want)
    with pytest.raises(ValueError, match=r"rounds: too many blocks in cooperative launch.*: grid"):
        groups.rounds.cooperative[100000, 32](a, b, 1)


# ---- what is refused, on every device alike ----------------------------------------------------


def test_what_is_refused_is_told_alike(m):
    x = np.zeros(8, "f4")
    with pytest.raises(TypeError, match=r"scaled: argument 2 \(y\) takes a float32 array, not one"):
        m.scaled[1, 8](x, x.astype("f8"), x, 8)
    with pytest.raises(ValueError, match=r"argument 4 \(n\) takes -2147483648 to 2147483647"):
        m.scaled[1, 8](x, x, x, 2**31)
    with pytest.raises(ValueError, match=r"turned_dynamic: invalid argument.* 300000 bytes"):
        m.turned_dynamic[1, 1, 300000](np.zeros(1), 1)
    frozen = np.zeros(8, "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"argument 3 \(out\) is written to, and the array is re"):
        m.scaled[1, 8](x, x, frozen, 8)
    for other in set(DEVICES) - {m.device}:
        there = warpkit.asarray(x, device=other)
        with pytest.raises(ValueError, match=f"is an array on {other}, and the kernel runs on"):
            m.scaled[1, 8](there, x, x, 8)
    assert (x == 0).all()


def test_a_program_runs(run):
    if run in GPUS and os.environ["WARPKIT_CUDA_COMPILER"] != "nvcc":
        pytest.skip("nvcc compiles programs")
    text = """#include <cstdio>
__global__ void k(int *x) { x[threadIdx.x] *= 2; printf("%d ", x[threadIdx.x]); }
int main(int count, char **arguments) {
    int *x;
    cudaMallocManaged(&x, 4 * sizeof *x);
    for (int i = 0; i < 4; i++) x[i] = i + count;
    k<<<1, 4>>>(x);
    const int code = cudaDeviceSynchronize();
    printf("%s %d\\n", arguments[1], x[3]);
    return code; }
"""
    done = warpkit.run(text, ["so"], device=run)
    assert (done.stdout, done.returncode) == ("4 6 8 10 so 10\n", 0), done.stderr


def test_textures_and_surfaces(run):
    if run in GPUS and os.environ["WARPKIT_CUDA_COMPILER"] != "nvcc":
        pytest.skip("nvcc compiles programs")
    done = warpkit.run(helpers.KERNELS / "textures.cu", device=run)
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    plane = np.arange(32) ** 2 % 37
    plane = plane.reshape(4, 8).astype("f4")

    def at(mode, i, n):
        """Which element, and whether it counts."""
        within = (i >= 0) & (i < n)
        mirrored = i % (2 * n)
        mirrored = np.where(mirrored < n, mirrored, 2 * n - 1 - mirrored)
        choices = [i % n, np.clip(i, 0, n - 1), mirrored, np.where(within, i, 0)]
        return choices[mode], within | (mode != 3)

    def pick(a, mode, y, x):
        (j, in_y), (i, in_x) = at(mode, y, a.shape[0]), at(mode, x, a.shape[1])
        return np.where(in_x & in_y, a[j, i], 0)

    def sample(a, linear, mode, y, x):
        if not linear:
            return pick(a, mode, np.floor(y).astype(int), np.floor(x).astype(int))
        left, top = (np.floor(v - 0.5).astype(int) for v in (x, y))
        right, lower = x - 0.5 - left, y - 0.5 - top  # eighths and sixteenths: exact
        upper = pick(a, mode, top, left) * (1 - right) + pick(a, mode, top, left + 1) * right
        below = (
            pick(a, mode, top + 1, left) * (1 - right) + pick(a, mode, top + 1, left + 1) * right
        )
        return upper * (1 - lower) + below * lower

    x = np.arange(24) * 0.625 - 2.5
    assert len(lines) == 12
    for line in lines:
        linear, mode, _, *values = (float(v) for v in line.split())
        got = np.reshape(values, (24, 2))
        want_plane = sample(plane, linear, int(mode), x[::-1] / 2, x)
        want_line = sample(plane[:1], linear, int(mode), np.full(24, 0.5), x)
        most = 37 / 256 if run in GPUS and linear else 0  # its weights have eight bits
        np.testing.assert_allclose(got, np.stack([want_plane, want_line], -1), 0, most, line)
    pairs = [f"{i},{4 * i}" for i in (0, 0, 0, 1, 2, 3, 4, 5)]
    plane[:, 1:] = plane[:, :-1] + 1
    assert last.split() == [*pairs, *(f"{v:g}" for v in plane.ravel()), "cudaSuccess"]


# ---- on a GPU alone ----------------------------------------------------------------------------


@pytest.fixture(params=GPUS)
def gpu(request, cache):
    return warpkit.compile(PLAIN, request.param)


def test_a_stream_orders_kernels(gpu):
    torch = pytest.importorskip("torch")
    stream = torch.cuda.Stream(gpu.device)
    x = warpkit.asarray(np.ones(1 << 20, "f4"), device=gpu.device)
    for _ in range(5):
        gpu.scaled[4096, 256, 0, stream](x, x, x, 1 << 20, 1)
    assert float(warpkit.reduce(x)) == 32 * (1 << 20)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_other_libraries_are_taken(gpu, library):
    other = pytest.importorskip(library)
    if library == "cupy":
        x, out = other.arange(1000, dtype="f4"), other.zeros(1000, "f4")
    else:
        x = other.arange(1000, dtype=other.float32, device=gpu.device)
        out = other.zeros_like(x)
    gpu.scaled.forall(1000)(x, x, out, 1000, 1)
    helpers.assert_same(warpkit.asarray(out).numpy(), 2 * np.arange(1000, dtype="f4"))
    with pytest.raises(ValueError, match="takes a C-contiguous array"):
        gpu.scaled.forall(500)(x[::2], x, out, 500, 1)
    with pytest.raises(TypeError, match="takes a float32 array, not one of 1000 int32"):
        gpu.scaled.forall(500)(x.view(other.int32), x, out, 500, 1)


FATAL = """
__global__ void wild(float *x) { x[1ull << 40] = 1; }
__global__ void asserts(float *x) { ASSERT(x[0] == 1); }
__global__ void traps(float *x) { __trap(); }
__global__ void askew(float *x) { *(int *)((char *)x + 1) = 1; }
__global__ void fine(float *x) { x[0] = 2; }
"""


@pytest.mark.parametrize("where", GPUS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wild", "an illegal memory access was encountered (cudaErrorIllegalAddress)"),
        ("asserts", "device-side assert triggered (cudaErrorAssert)"),
        ("traps", "(cudaErrorLaunchFailure)"),
        ("askew", "misaligned address (cudaErrorMisalignedAddress)"),
    ],
)
def test_a_kernel_that_fails_is_named_and_ends_the_use_of_gpus(name, said, where):
    helpers.python(
        f"""import numpy as np, warpkit
m = warpkit.compile({FATAL!r}, {where!r}, options=["-DASSERT=assert"])
x = np.zeros(8, "f4")
m.fine[1, 1](x)
try: m.{name}[1, 32](x)
except warpkit.DeviceError as error: text = str(error)
assert text.startswith("kernel {name}: "), text
assert {said!r} in text and "start another" in text, text
assert x.tolist() == [2, 0, 0, 0, 0, 0, 0, 0]
try: m.fine[1, 1](None)
except warpkit.DeviceError as error: text = str(error)
assert text.startswith("kernel fine was not launched, as an earlier one failed: "), text
assert warpkit.reduce(np.arange(5), device="cpu") == 10
"""
    )


@pytest.mark.parametrize("where", GPUS)
def test_a_kernel_that_is_not_waited_for_fails_later(where):
    helpers.python(
        f"""import numpy as np, warpkit
m = warpkit.compile({FATAL!r}, {where!r}, options=["-DASSERT=void"])
x = warpkit.asarray(np.zeros(8, "f4"), device={where!r})
m.wild[1, 32](x)
try: x.numpy()
except warpkit.DeviceError as error: assert "illegal memory access" in str(error), error
else: raise AssertionError
"""
    )


@pytest.mark.parametrize("where", GPUS)
def test_ctrl_c_ends_the_wait_for_a_kernel(where):
    text = """
__global__ void slow(long long clocks, int *out)
{
    const long long begin = clock64();
    while (clock64() - begin < clocks) continue;
    *out = 1;
}
"""
    helpers.python(
        f"""import os, signal, threading, time, numpy as np, warpkit
m = warpkit.compile({text!r}, {where!r})
x = np.zeros(1, "i4")
m.slow[1, 1](10, x)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try: m.slow[1, 1](4 * 10**9, x)
except KeyboardInterrupt: took = time.perf_counter() - begin
else: raise AssertionError
assert took < 1, took
x[0] = 0
m.slow[1, 1](10, x)
assert x[0] == 1
"""
    )


@pytest.mark.parametrize("where", GPUS)
def test_more_threads_than_a_kernel_can_have_are_an_error_of_the_launch(where):
    m = warpkit.compile("__global__ void __launch_bounds__(64) k(int *x) { *x = 1; }", where)
    x = np.zeros(1, "i4")
    with pytest.raises(ValueError, match=r"^k: .*: grid \(1, 1, 1\), block \(1024, 1, 1\)"):
        m.k[1, 1024](x)
    m.k[1, 64](x)
    assert x[0] == 1
