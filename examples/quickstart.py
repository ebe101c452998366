"""All five operations on real data: checked against NumPy and SciPy, timed, drawn.

    python examples/quickstart.py [--device cuda]

matplotlib ships the data: a photograph of Grace Hopper, and an elevation model of the Jacksboro
fault in Tennessee. Every result is checked; a wrong one raises. Each operation runs on the data as
they are and, so that the times say something, tiled to about 32 Mi elements. Times are medians
and include the copies to a GPU and back. The pictures go to examples/out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import ConnectionPatch, Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import ndimage

import warpkit

OUT = Path(__file__).parent / "out"
EIGHTH_ORDER = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
TILE = (4, 8)  # pixels: 32, one warp's worth
CHANNELS = {"red": "#c1272d", "green": "#2a8c3c", "blue": "#2b59c3"}

MARK = "#ff3b6b"
WARP = (60, 30)  # the tile that is drawn enlarged

Array = NDArray[Any]
Parent = Figure | SubFigure


class Row(NamedTuple):
    """One line of the table."""

    operation: str
    shape: str
    dtype: str
    ms: float
    peer: str
    peer_ms: float
    difference: float


class Terrain(NamedTuple):
    """Heights in metres on a grid whose row 0 is the north; cell sizes in metres."""

    height: Array
    dx: float
    dy: float


class Results(NamedTuple):
    """What warpkit made of the data as they are."""

    profiles: dict[tuple[str, int], Array]  # (op, axis)
    transposed: Array
    east: Array  # metres per metre
    north: Array
    counts: list[Array]  # one per channel
    edges: Array
    grey: Array
    warps: warpkit.WarpHistogram


def load() -> tuple[Array, Terrain]:
    with cbook.get_sample_data("grace_hopper.jpg") as file:
        photo = plt.imread(file, format="jpg")
    with cbook.get_sample_data("jacksboro_fault_dem.npz") as dem:
        degree = 111_200.0  # metres in a degree of latitude
        dx = degree * float(dem["dx"]) * np.cos(np.radians(float(dem["ymin"])))
        return photo, Terrain(dem["elevation"], float(dx), degree * float(dem["dy"]))


def numpy_warp_histogram(a: Array) -> tuple[Array, Array, Array]:
    """warpkit.warp_histogram without a loop, for sizes that are multiples of 32."""
    lanes = np.sort(a.reshape(-1, 32), axis=1)
    first = np.ones(lanes.shape, bool)  # of its run of equal values
    np.not_equal(lanes[:, 1:], lanes[:, :-1], out=first[:, 1:])
    totals = first.sum(axis=1, dtype=np.int32)
    slots = np.arange(32) < totals[:, None]
    values, counts = np.zeros_like(lanes), np.zeros(lanes.shape, np.int32)
    values[slots] = lanes[first]
    counts[slots] = np.diff(np.flatnonzero(first), append=first.size)
    return values, counts, totals


def tiles(grey: Array) -> Array:
    """A view (tile rows, tile columns, 4, 8) of the image, for a transpose to make contiguous."""
    rows, columns = grey.shape[0] // TILE[0], grey.shape[1] // TILE[1]
    return grey.reshape(rows, TILE[0], columns, TILE[1])


class Runner:
    """Runs, checks and times; the table grows by a row with each call."""

    def __init__(self, device: str, repeats: int) -> None:
        self.device = device
        self.repeats = repeats
        self.rows: list[Row] = []

    def __call__(
        self,
        operation: str,
        a: Array,
        ours: Callable[[], Any],
        theirs: Callable[[], Any],
        *,
        peer: str = "NumPy",
        tolerance: float = 0.0,
    ) -> Any:
        result = ours()
        difference = largest_difference(result, theirs())
        # not (x <= y), so that a NaN does not pass
        if not (difference <= tolerance):
            raise AssertionError(f"{operation}: differs from {peer} by {difference:g}")
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(self.repeats):
            for run, record in zip((ours, theirs), times, strict=True):
                start = time.perf_counter()
                run()
                record.append(1e3 * (time.perf_counter() - start))
        shape = " x ".join(map(str, a.shape))
        ms, peer_ms = map(median, times)
        self.rows.append(Row(operation, shape, str(a.dtype), ms, peer, peer_ms, difference))
        return result


def largest_difference(ours: Any, theirs: Any) -> float:
    """Over all arrays of a result; infinite where shape or dtype is not the same."""
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    largest = 0.0
    for x, y in pairs:
        if x.shape != y.shape or x.dtype != y.dtype:
            return np.inf
        if not np.array_equal(x, y):
            largest = max(largest, float(np.abs(np.subtract(x, y, dtype=np.float64)).max()))
    return largest


def run_all(run: Runner, photo: Array, terrain: Terrain) -> Results:
    on = run.device
    height, slope_input = terrain.height, terrain.height.astype(np.float32)
    grey = np.rint(photo @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
    peak = float(height.max())

    profiles = {
        (op, axis): run(
            f"reduce {op} axis={axis}",
            height,
            partial(warpkit.reduce, height, op, axis, device=on),
            partial(getattr(np, op), height, axis),
            # the mean of integers is rounded in float64: here and there a few last bits apart
            tolerance=32 * np.spacing(peak) if op == "mean" else 0.0,
        )
        for axis in (0, 1)
        for op in ("min", "mean", "max")
    }
    transposed = run(
        "transpose (1, 0, 2)",
        photo,
        partial(warpkit.transpose, photo, (1, 0, 2), device=on),
        lambda: np.ascontiguousarray(photo.transpose(1, 0, 2)),
    )
    slopes = [
        run(
            f"stencil1d 9 taps axis={axis}",
            slope_input,
            partial(warpkit.stencil1d, slope_input, taps, axis, mode="nearest", device=on),
            partial(ndimage.correlate1d, slope_input, taps, axis, mode="nearest"),
            peer="SciPy",
            # both add in float64 and round once to float32; no slope exceeds the peak's ulp
            tolerance=float(np.spacing(np.float32(peak))) / min(terrain.dx, terrain.dy),
        )
        for axis, taps in ((1, EIGHTH_ORDER / terrain.dx), (0, -EIGHTH_ORDER / terrain.dy))
    ]
    histograms = [
        run(
            f"histogram 64 bins, {name}",
            channel,
            partial(warpkit.histogram, channel, 64, (0, 256), device=on),
            partial(np.histogram, channel, 64, (0, 256)),
        )
        for name, channel in zip(CHANNELS, np.moveaxis(photo, -1, 0), strict=True)
    ]
    values = photo.ravel()
    run(
        "bincount",
        values,
        partial(warpkit.bincount, values, device=on),
        partial(np.bincount, values),
    )
    blocks = tiles(grey)
    lanes = run(
        "transpose (0, 2, 1, 3)",
        blocks,
        partial(warpkit.transpose, blocks, (0, 2, 1, 3), device=on),
        lambda: np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)),
    )
    warps = run(
        "warp_histogram",
        lanes,
        partial(warpkit.warp_histogram, lanes, device=on),
        partial(numpy_warp_histogram, lanes),
    )
    counts = [found for found, _ in histograms]
    east, north = slopes
    edges = histograms[0][1]
    return Results(profiles, transposed, east, north, counts, edges, grey, warps)


def print_table(rows: Sequence[Row], device: str) -> None:
    head = ("operation", "device", "shape", "dtype", "ms", "peer", "peer ms", "largest difference")
    lines = [head] + [
        (
            row.operation,
            device,
            row.shape,
            row.dtype,
            f"{row.ms:.3f}",
            row.peer,
            f"{row.peer_ms:.3f}",
            f"{row.difference:.1e}" if row.difference else "0",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = {4, 6, 7}
    for line in lines:
        cells = enumerate(zip(line, widths, strict=True))
        print("  ".join(s.rjust(w) if i in numbers else s.ljust(w) for i, (s, w) in cells))


# ---------------------------------------------------------------------------- pictures


def draw_map(ax: Axes, terrain: Terrain, image: Array, **style: Any) -> Any:
    """The first row is the north, at the top."""
    rows, columns = terrain.height.shape
    extent = (0, columns * terrain.dx / 1000, 0, rows * terrain.dy / 1000)
    ax.set(xlabel="east (km)", ylabel="north (km)")
    return ax.imshow(image, extent=extent, **style)


def shaded_relief(terrain: Terrain, results: Results) -> Array:
    """RGB: the elevation's colours, lit from the north-west at 45 degrees."""
    normal = np.stack([-results.east, -results.north, np.ones_like(results.east)])
    normal /= np.linalg.norm(normal, axis=0)
    light = np.tensordot([-0.5, 0.5, np.sqrt(0.5)], normal, 1) / np.sqrt(0.5)  # 1: level ground
    height = terrain.height.astype(float)
    colour = plt.get_cmap("cividis")((height - height.min()) / np.ptp(height))[..., :3]
    return np.asarray(np.clip(colour * light[..., None] ** 1.5, 0, 1))


def draw_profiles(figure: Parent, terrain: Terrain, results: Results) -> None:
    """The map, and beside each axis what the reductions along the other one leave."""
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 1), height_ratios=(1, 3))
    ax = figure.add_subplot(grid[1, 0])
    image = draw_map(ax, terrain, terrain.height, cmap="cividis", aspect="auto")
    top = figure.add_subplot(grid[0, 0], sharex=ax)
    side = figure.add_subplot(grid[1, 1], sharey=ax)
    rows, columns = terrain.height.shape
    east = (np.arange(columns) + 0.5) * terrain.dx / 1000
    north = (rows - np.arange(rows) - 0.5) * terrain.dy / 1000
    (low, mean, high), (west_low, west_mean, west_high) = (
        [results.profiles[op, axis] for op in ("min", "mean", "max")] for axis in (0, 1)
    )
    top.fill_between(east, low, high, color="#c9d3df", lw=0)
    top.plot(east, mean, color="#00224e", lw=1.4)
    side.fill_betweenx(north, west_low, west_high, color="#c9d3df", lw=0, label="min to max")
    side.plot(west_mean, north, color="#00224e", lw=1.4, label="mean")
    top.set(ylabel="metres", ylim=(150, 1150), yticks=(250, 650, 1050))
    side.set(xlabel="metres", xlim=(150, 1150), xticks=(250, 650, 1050))
    top.tick_params(labelbottom=False)
    side.tick_params(labelleft=False)
    corner = figure.add_subplot(grid[0, 1])
    corner.axis("off")
    corner.legend(*side.get_legend_handles_labels(), loc="center", frameon=False, handlelength=1)
    figure.colorbar(image, ax=[ax, top, side, corner], label="elevation (m)", aspect=30)


def draw_photo(ax: Axes, image: Array, title: str = "") -> None:
    ax.imshow(image)
    ax.set(xlabel="x (pixels)", ylabel="y (pixels)", title=title)
    ax.set(xticks=range(0, image.shape[1] + 1, 200), yticks=range(0, image.shape[0] + 1, 200))


def draw_channels(ax: Axes, results: Results) -> None:
    for (name, colour), counts in zip(CHANNELS.items(), results.counts, strict=True):
        ax.stairs(counts / 1000, results.edges, color=colour, fill=True, alpha=0.12)
        ax.stairs(counts / 1000, results.edges, color=colour, lw=1.5, label=name)
    ax.set(xlabel="channel value", ylabel="thousand pixels per bin")
    ax.set(xlim=(0, 256), ylim=(0, None), xticks=range(0, 257, 64))
    ax.legend(frameon=False)


def draw_distinct(ax: Axes, results: Results) -> Any:
    rows, columns = results.grey.shape
    distinct = results.warps.totals.reshape(rows // TILE[0], columns // TILE[1])
    ax.set(xlabel="x (pixels)", ylabel="y (pixels)")
    ax.set(xticks=range(0, columns + 1, 200), yticks=range(0, rows + 1, 200))
    return ax.imshow(distinct, extent=(0, columns, rows, 0), cmap="viridis", vmin=1, vmax=32)


def draw_pixels(ax: Axes, results: Results, row: int, column: int) -> None:
    """One warp's pixels, each with its value."""
    y, x = row * TILE[0], column * TILE[1]
    pixels = results.grey[y : y + TILE[0], x : x + TILE[1]]
    extent = (x, x + TILE[1], y + TILE[0], y)
    ax.imshow(pixels, extent=extent, cmap="gray", vmin=0, vmax=255)
    for (i, j), value in np.ndenumerate(pixels):
        colour = "black" if value > 127 else "white"
        ax.text(x + j + 0.5, y + i + 0.5, str(value), ha="center", va="center", color=colour)
    ax.set(xlabel="x (pixels)", ylabel="y (pixels)")
    ax.set(xticks=(x, x + TILE[1]), yticks=(y, y + TILE[0]))


def draw_warp(ax: Axes, results: Results, row: int, column: int) -> None:
    warp = row * (results.grey.shape[1] // TILE[1]) + column
    total = results.warps.totals[warp]
    values, counts = results.warps.values[warp, :total], results.warps.counts[warp, :total]
    ax.vlines(values, 0, counts, color="#2a788e", lw=2.5)
    ax.plot(values, counts, "o", color="#2a788e", ms=6)
    ax.set(xlabel="grey value", ylabel="pixels of this warp", ylim=(0, counts.max() + 0.7))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def mark_warp(ax: Axes, row: int, column: int, target: Axes) -> None:
    """Frame a warp's pixels and lead the eye to the enlargement."""
    y, x = row * TILE[0], column * TILE[1]
    ax.add_patch(Rectangle((x, y), TILE[1], TILE[0], fill=False, color=MARK, lw=1.5))
    line = ConnectionPatch(
        (x + TILE[1], y), (0, 1), "data", "axes fraction", ax, target, color=MARK, lw=1
    )
    ax.figure.add_artist(line)


def save(figure: Figure, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / name, dpi=130)
    plt.close(figure)


def draw_all(photo: Array, terrain: Terrain, results: Results) -> None:
    plt.rcParams.update(
        {"font.size": 11, "axes.titlesize": 12, "figure.constrained_layout.use": True}
    )
    for spine in ("top", "right"):
        plt.rcParams[f"axes.spines.{spine}"] = False

    figure = plt.figure(figsize=(10, 9))
    axes = figure.subplot_mosaic(
        [["photo", "transposed"], ["counts", "counts"]], height_ratios=(1.6, 1)
    )
    draw_photo(axes["photo"], photo, "photograph")
    draw_photo(axes["transposed"], results.transposed, "transpose(photo, (1, 0, 2))")
    draw_channels(axes["counts"], results)
    axes["counts"].set_title("histogram(photo[..., channel], 64, (0, 256))")
    save(figure, "photograph.png")

    figure = plt.figure(figsize=(9, 8))
    draw_profiles(figure, terrain, results)
    figure.suptitle("reduce(elevation, op, axis): min, mean and max along each axis")
    save(figure, "profiles.png")

    figure, grid = plt.subplots(2, 2, figsize=(11, 10), sharex=True, sharey=True)
    image = draw_map(grid[0, 0], terrain, terrain.height, cmap="cividis")
    figure.colorbar(image, ax=grid[0, 0], label="elevation (m)")
    grid[0, 0].set_title("elevation, Jacksboro fault, Tennessee")
    for ax, slope, where, axis in (
        (grid[0, 1], results.east, "eastward", 1),
        (grid[1, 0], results.north, "northward", 0),
    ):
        image = draw_map(ax, terrain, 100 * slope, cmap="gray", vmin=-40, vmax=40)
        figure.colorbar(image, ax=ax, label=f"{where} slope (%)", extend="both")
        ax.set_title(f"stencil1d(elevation, taps, axis={axis})")
    draw_map(grid[1, 1], terrain, shaded_relief(terrain, results))
    grid[1, 1].set_title("both slopes as shaded relief, lit from the north-west")
    for ax in grid.flat:
        ax.label_outer()
    save(figure, "slope.png")

    figure = plt.figure(figsize=(14, 7))
    axes = figure.subplot_mosaic(
        [["grey", "distinct", "pixels"], ["grey", "distinct", "warp"]], width_ratios=(1, 1.1, 1.1)
    )
    axes["grey"].imshow(results.grey, cmap="gray", vmin=0, vmax=255)
    axes["grey"].set(xlabel="x (pixels)", ylabel="y (pixels)", title="grey values")
    image = draw_distinct(axes["distinct"], results)
    axes["distinct"].set_title("distinct values in each tile of 4 x 8 pixels")
    figure.colorbar(image, ax=axes["distinct"], label="distinct values of 32", shrink=0.7)
    draw_pixels(axes["pixels"], results, *WARP)
    axes["pixels"].set_title("one tile: one warp's 32 pixels")
    draw_warp(axes["warp"], results, *WARP)
    axes["warp"].set_title("its (value, count) pairs")
    mark_warp(axes["distinct"], *WARP, axes["pixels"])
    save(figure, "warps.png")

    draw_overview(photo, terrain, results)


def draw_overview(photo: Array, terrain: Terrain, results: Results) -> None:
    figure = plt.figure(figsize=(15, 9.5))
    panels = figure.subfigures(2, 3, hspace=0.04, wspace=0.03).flat
    code = {"family": "monospace", "size": 12.5, "weight": "bold"}

    panel = next(panels)
    panel.suptitle("reduce(elevation, 'mean', axis)", **code)
    draw_profiles(panel, terrain, results)

    panel = next(panels)
    panel.suptitle("stencil1d(elevation, taps, axis)", **code)
    draw_map(panel.subplots(), terrain, shaded_relief(terrain, results))

    panel = next(panels)
    panel.suptitle("transpose(photo, (1, 0, 2))", **code)
    left, right = panel.subplots(1, 2, width_ratios=(512, 600))
    draw_photo(left, photo)
    draw_photo(right, results.transposed)
    right.set(ylabel="")

    panel = next(panels)
    panel.suptitle("histogram(channel, 64, (0, 256))", **code)
    draw_channels(panel.subplots(), results)

    panel = next(panels)
    panel.suptitle("warp_histogram(tiles).totals", **code)
    ax = panel.subplots()
    panel.colorbar(draw_distinct(ax, results), ax=ax, label="distinct values of 32")

    panel = next(panels)
    panel.suptitle("warp_histogram(tiles), one warp", **code)
    upper, lower = panel.subplots(2, 1)
    draw_pixels(upper, results, *WARP)
    draw_warp(lower, results, *WARP)
    mark_warp(ax, *WARP, upper)
    save(figure, "overview.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", help="cpu, cuda, cuda:1 ...; default: the first GPU, else cpu")
    asked = parser.parse_args().device
    info = warpkit.memory_info(asked)
    device = info["device"]
    print(f"device {device}: {info['name']}; present: {', '.join(warpkit.devices())}")

    photo, terrain = load()
    run = Runner(device, repeats=7)
    results = run_all(run, photo, terrain)
    rows = run.rows
    if not device.startswith("emu"):  # which emulates: seconds per Mi elements
        run = Runner(device, repeats=3)
        run_all(
            run,
            np.tile(photo, (6, 6, 1)),
            terrain._replace(height=np.tile(terrain.height, (16, 15))),
        )
        rows += run.rows
    print_table(rows, device)
    draw_all(photo, terrain, results)
    print(f"pictures in {OUT}")


if __name__ == "__main__":
    main()
