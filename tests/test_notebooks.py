"""The exercises of the notebooks: what is there to begin with is not right, an answer is."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

# In the order of each notebook's exercises.
ANSWERS = {
    "transpose": [
        "def word(row, column):\n    return 32 * row + (column ^ row)",
        '''source = r"""
__global__ void turn(const float *in, float *out, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * n + x + threadIdx.x];
    __syncthreads();
    out[(x + threadIdx.y) * n + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""''',
    ],
    "stencil": [
        "coefficients = [-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12]",
        '''source = r"""
__global__ void five(const float *in, float *out, int n)
{
    __shared__ float tile[260];
    int first = blockIdx.x * 256 - 2;
    for (int t = threadIdx.x; t < 260; t += 256)
        tile[t] = first + t >= 0 && first + t < n ? in[first + t] : 0;
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < 5; t++) sum += tile[threadIdx.x + t];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""''',
    ],
    "histogram": [
        """def bin_of(x, bins, first, last):
    if not first <= x <= last:
        return -1
    return min(int((x - first) / (last - first) * bins), bins - 1)""",
        '''source = r"""
__global__ void count(const unsigned char *in, unsigned *counts, int n)
{
    __shared__ unsigned own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[in[blockIdx.x * 256 + threadIdx.x]], 1u);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
"""''',
    ],
    "reduction": [
        'def largest(y):\n    return warp.reduce(y, "max", width=8)',
        """def index(y):
    return warp.fns(warp.ballot(y == warp.reduce(y, "max")))[0]""",
        "f = np.array([1e8] + [1] * 30 + [-1e8], dtype=np.float32)",
    ],
    "warp": [
        "mask = 31",
        """def by_xor(a):
    return warp.shfl_xor(a, 1)


def by_rotate(a):
    return warp.rotate(a, 1, width=2)""",
        """def rank(yes):
    before = (1 << lanes.astype(np.uint64)) - 1
    return warp.popc(warp.ballot(yes) & before.astype(np.uint32))""",
    ],
    "shared_memory": ["turns = 16", "turns = 64", "padding = 1"],
    "arrays": [
        "def view_of(a):\n    return a[:, 2::-2]",
        """def ranges(a):
    turned = warpkit.transpose(warpkit.stencil1d(a, [1 / 3, 1 / 3, 1 / 3]))
    return warpkit.reduce(turned, "ptp", 1)""",
        """def mean_of(chunks):
    return warpkit.merge(warpkit.partial(chunk, "mean") for chunk in chunks).finish()""",
    ],
    "lab": [
        '''source = r"""
__global__ void mine(const float *x, float *out)
{
    __shared__ float tile[32][33];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""''',
    ],
}


def cells(name):
    """The first cell, which imports, and each exercise with its check."""
    text = json.loads((EXAMPLES / f"{name}.ipynb").read_text())
    code = [cell for cell in text["cells"] if cell["cell_type"] == "code"]
    first = "".join(line for line in code[0]["source"] if not line.startswith("%"))
    kinds = {kind: [] for kind in ("exercise", "check")}
    for cell in code:
        for kind in kinds.keys() & set(cell["metadata"].get("tags", ())):
            kinds[kind].append("".join(cell["source"]))
    return first, list(zip(*kinds.values(), strict=True))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_check_takes_an_answer_and_not_what_was_there(name, capsys):
    pytest.importorskip("matplotlib").use("agg")
    first, exercises = cells(name)
    for answer, (given, check) in zip(ANSWERS[name], exercises, strict=True):
        space = {}
        exec(first, space)
        capsys.readouterr()
        for mine, wanted in ((given, "not yet: "), (answer, "right\n")):
            exec(mine, space)
            exec(check, space)
            told = capsys.readouterr().out
            assert told.startswith(wanted), told
        assert answer.strip() not in check  # nor shown there
