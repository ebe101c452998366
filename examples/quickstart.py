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
import warpkit
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import ndimage
from warpkit import reference

OUT = Path(__file__).parent / "out"
EIGHTH_ORDER = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
TILE = (4, 8)  # pixels: 32, one warp's worth
CHANNELS = {"red": "#c1272d", "green": "#2a8c3c", "blue": "#2b59c3"}

MARK = "#ff3b6b"
WARP = (36, 27)  # row and column of the tile that is drawn enlarged: forehead

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
    warps: warpkit.WarpHistogram[Array]


def load() -> tuple[Array, Terrain]:
    photo = plt.imread(str(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)))
    file: Any = cbook.get_sample_data("jacksboro_fault_dem.npz")
    with file as dem:
        degree = 111_200.0  # metres in a degree of latitude
        dx = degree * float(dem["dx"]) * np.cos(np.radians(float(dem["ymin"])))
        return photo, Terrain(dem["elevation"], float(dx), degree * float(dem["dy"]))


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
            # both add in float64 and round once: the last bit of the steepest slope there can be
            tolerance=float(np.spacing(np.float32(peak / min(terrain.dx, terrain.dy)))),
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
        partial(reference.warp_histogram, lanes),
    )
    counts = [found for found, _ in histograms]
    east, north = slopes
    edges = histograms[0][1]
    return Results(profiles, transposed, east, north, counts, edges, grey, warps)


def print_table(groups: Sequence[Sequence[Row]], device: str) -> None:
    """With an empty line between the groups."""
    head = ("operation", "device", "shape", "dtype", "ms", "peer", "peer ms", "largest difference")
    lines: list[tuple[str, ...]] = [head]
    for rows in groups:
        for row in rows:
            difference = f"{row.difference:.1e}" if row.difference else "0"
            times = f"{row.ms:.3f}", row.peer, f"{row.peer_ms:.3f}"
            lines.append((row.operation, device, row.shape, row.dtype, *times, difference))
        lines.append(("",) * len(head))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        for number in (4, 6, 7):
            cells[number] = line[number].rjust(widths[number])
        print("  ".join(cells).rstrip())


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
    return np.asarray(np.clip(colour * np.clip(light, 0, None)[..., None] ** 1.5, 0, 1))


def draw_profiles(figure: Parent, terrain: Terrain, results: Results) -> list[Axes]:
    """The map, and beside each axis what the reductions along the other one leave."""
    grid = figure.add_gridspec(2, 2, width_ratios=(3, 1), height_ratios=(1, 3))
    ax = figure.add_subplot(grid[1, 0])
    draw_map(ax, terrain, terrain.height, cmap="cividis", aspect="auto")
    top = figure.add_subplot(grid[0, 0], sharex=ax)
    side = figure.add_subplot(grid[1, 1], sharey=ax)
    rows, columns = terrain.height.shape
    east = (np.arange(columns) + 0.5) * terrain.dx / 1000
    north = (rows - np.arange(rows) - 0.5) * terrain.dy / 1000
    down, across = (
        [results.profiles[op, axis] for op in ("min", "mean", "max")] for axis in (0, 1)
    )
    top.fill_between(east, down[0], down[2], color="#c9d3df", lw=0)
    top.plot(east, down[1], color="#00224e", lw=1.6)
    side.fill_betweenx(north, across[0], across[2], color="#c9d3df", lw=0, label="min to max")
    side.plot(across[1], north, color="#00224e", lw=1.6, label="mean")
    top.set(ylabel="metres", ylim=(150, 1150), yticks=(300, 600, 900))
    side.set(xlabel="metres", xlim=(150, 1150), xticks=(300, 900))
    top.tick_params(labelbottom=False)
    side.tick_params(labelleft=False)
    corner = figure.add_subplot(grid[0, 1])
    corner.axis("off")
    corner.legend(*side.get_legend_handles_labels(), loc="center", frameon=False, handlelength=1)
    return [ax, top, side, corner]


def draw_photo(ax: Axes, image: Array, title: str, **style: Any) -> Any:
    rows, columns = image.shape[:2]
    ax.set(xlabel="x (pixels)", ylabel="y (pixels)", title=title)
    ax.set(xticks=range(0, columns + 1, 200), yticks=range(0, rows + 1, 200))
    return ax.imshow(image, **style)


def draw_transpose(figure: Parent, photo: Array, results: Results, titles: Sequence[str]) -> None:
    """Both at the same scale."""
    images = (photo, results.transposed)
    axes = figure.subplots(1, 2, width_ratios=[image.shape[1] for image in images])
    for ax, image, title in zip(axes, images, titles, strict=True):
        draw_photo(ax, image, title)
    axes[1].set_ylabel("")


def draw_channels(ax: Axes, results: Results) -> None:
    for (name, colour), counts in zip(CHANNELS.items(), results.counts, strict=True):
        ax.stairs(counts / 1000, results.edges, color=colour, fill=True, alpha=0.12)
        ax.stairs(counts / 1000, results.edges, color=colour, lw=1.5, label=name)
    ax.set(xlabel="channel value", ylabel="thousand pixels per bin")
    ax.set(xlim=(0, 256), ylim=(0, None), xticks=range(0, 257, 64))
    ax.legend(frameon=False)


def draw_distinct(figure: Parent, results: Results, title: str = "") -> None:
    rows, columns = results.grey.shape
    distinct = results.warps.totals.reshape(rows // TILE[0], columns // TILE[1])
    ax = figure.subplots()
    style = {"cmap": "viridis", "vmin": 1, "vmax": 32, "extent": (0, columns, rows, 0)}
    image = draw_photo(ax, distinct, title, **style)
    ax.set(xticks=range(0, columns + 1, 200), yticks=range(0, rows + 1, 200))
    figure.colorbar(image, ax=ax, label="distinct values of 32", ticks=(1, 8, 16, 24, 32))
    mark_warp(ax, *WARP)


def draw_one_warp(figure: Parent, results: Results) -> None:
    upper, lower = figure.subplots(2, 1)
    draw_pixels(upper, results, *WARP)
    draw_warp(lower, results, *WARP)


def draw_pixels(ax: Axes, results: Results, row: int, column: int) -> None:
    """One warp's pixels, each with its value."""
    y, x = row * TILE[0], column * TILE[1]
    pixels = results.grey[y : y + TILE[0], x : x + TILE[1]]
    extent = (x, x + TILE[1], y + TILE[0], y)
    low, high = int(pixels.min()), int(pixels.max())
    ax.imshow(pixels, extent=extent, cmap="gray", vmin=low - 5, vmax=high + 5)
    for (i, j), value in np.ndenumerate(pixels):
        colour = "black" if 2 * int(value) > low + high else "white"
        ax.text(x + j + 0.5, y + i + 0.5, str(value), ha="center", va="center", color=colour)
    ax.set(ylabel="y (pixels)", title="one warp: 32 pixels")
    ax.set(xticks=(x, x + TILE[1]), yticks=(y, y + TILE[0]))


def draw_warp(ax: Axes, results: Results, row: int, column: int) -> None:
    warp = row * (results.grey.shape[1] // TILE[1]) + column
    total = results.warps.totals[warp]
    values, counts = results.warps.values[warp, :total], results.warps.counts[warp, :total]
    ax.bar(values, counts, width=0.8, color="#2a788e")
    ax.set(xlabel="grey value", ylabel="count", title=f"its {total} distinct values")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def mark_warp(ax: Axes, row: int, column: int) -> None:
    y, x = (row + 0.5) * TILE[0], (column + 0.5) * TILE[1]
    box = Rectangle((x - 12, y - 12), 24, 24, fill=False, color=MARK, lw=2)  # more than the tile
    ax.add_patch(box)
    ax.annotate(
        "this warp",
        (x + 12, y - 12),
        (330, 40),
        color="white",
        weight="bold",
        ha="left",
        bbox={"boxstyle": "round", "facecolor": MARK, "lw": 0},
        arrowprops={"arrowstyle": "-", "color": MARK, "lw": 2},
    )


def save(figure: Figure, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / name, dpi=130)
    plt.close(figure)


def draw_all(photo: Array, terrain: Terrain, results: Results) -> None:
    plt.rcParams.update({"font.size": 12, "figure.constrained_layout.use": True})
    plt.rcParams["figure.constrained_layout.w_pad"] = 0.08
    plt.rcParams["figure.constrained_layout.h_pad"] = 0.08
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

    figure = plt.figure(figsize=(11, 9.5))
    panels: Any = figure.subfigures(2, 1, height_ratios=(1.6, 1))
    upper, lower = panels
    draw_transpose(upper, photo, results, ("photo", "transpose(photo, (1, 0, 2))"))
    ax = lower.subplots()
    draw_channels(ax, results)
    ax.set_title("histogram(photo[..., channel], 64, (0, 256))")
    save(figure, "photograph.png")

    figure = plt.figure(figsize=(9.5, 8))
    axes = draw_profiles(figure, terrain, results)
    figure.colorbar(axes[0].images[0], ax=axes, label="elevation (m)", aspect=30)
    figure.suptitle("reduce(elevation, op, axis) for min, mean and max along each axis")
    save(figure, "profiles.png")

    figure, grid = plt.subplots(2, 2, figsize=(12, 10.5), sharex=True, sharey=True)
    slope: dict[str, Any] = {"cmap": "gray", "vmin": -40, "vmax": 40}
    eastward = draw_map(grid[0, 1], terrain, 100 * results.east, **slope)
    northward = draw_map(grid[1, 0], terrain, 100 * results.north, **slope)
    draw_map(grid[1, 1], terrain, shaded_relief(terrain, results))
    height = draw_map(grid[0, 0], terrain, terrain.height, cmap="cividis")
    for ax, image, label, title in (
        (grid[0, 0], height, "elevation (m)", "elevation"),
        (grid[0, 1], eastward, "slope to the east (%)", "stencil1d(elevation, taps, axis=1)"),
        (grid[1, 0], northward, "slope to the north (%)", "stencil1d(elevation, taps, axis=0)"),
        (grid[1, 1], height, "elevation (m)", "both slopes as light from the north-west"),
    ):
        extend = "neither" if image is height else "both"
        figure.colorbar(image, ax=ax, label=label, extend=extend)
        ax.set_title(title)
        ax.label_outer()
    save(figure, "slope.png")

    figure = plt.figure(figsize=(15, 5.6))
    panels = figure.subfigures(1, 3, width_ratios=(1, 1.2, 1))
    left, middle, right = panels
    ax = left.subplots()
    draw_photo(ax, results.grey, "the photograph's grey values", cmap="gray", vmin=0, vmax=255)
    mark_warp(ax, *WARP)
    draw_distinct(middle, results, "distinct values in each 4 x 8 tile")
    draw_one_warp(right, results)
    save(figure, "warps.png")

    draw_overview(photo, terrain, results)


def draw_overview(photo: Array, terrain: Terrain, results: Results) -> None:
    """The five operations, a panel or two for each."""
    figure = plt.figure(figsize=(16, 9.5))
    columns: Any = figure.subfigures(1, 3, wspace=0.03, width_ratios=(1, 1.3, 1.02))
    stencil, reduction = columns[0].subfigures(2, 1, hspace=0.03)
    transposition, histogram = columns[1].subfigures(2, 1, hspace=0.03, height_ratios=(0.68, 1))
    distinct, warp = columns[2].subfigures(2, 1, hspace=0.03, height_ratios=(1.1, 1))
    for panel, call in (
        (stencil, "stencil1d(elevation, taps, axis)"),
        (reduction, "reduce(elevation, op, axis)"),
        (transposition, "transpose(photo, (1, 0, 2))"),
        (histogram, "histogram(channel, 64, (0, 256))"),
        (distinct, "warp_histogram(tiles)"),
    ):
        panel.suptitle(call, family="monospace", weight="bold")
    draw_map(stencil.subplots(), terrain, shaded_relief(terrain, results))
    draw_profiles(reduction, terrain, results)
    draw_transpose(transposition, photo, results, ("", ""))
    draw_channels(histogram.subplots(), results)
    draw_distinct(distinct, results)
    draw_one_warp(warp, results)
    save(figure, "overview.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", help="cpu, cuda, cuda:1 ...; default: the first GPU, else cpu")
    try:
        info = warpkit.memory_info(parser.parse_args().device)
    except (ValueError, warpkit.DeviceError) as error:
        parser.error(str(error))
    device = info["device"]
    print(f"device {device}: {info['name']}; present: {', '.join(warpkit.devices())}")

    print("times in ms, copies to and from the device included; the peers run on the CPU\n")

    photo, terrain = load()
    small = Runner(device, repeats=7)
    results = run_all(small, photo, terrain)
    groups = [small.rows]
    if not device.startswith("emu"):  # an emulated GPU would take minutes
        large = Runner(device, repeats=3)
        height = np.tile(terrain.height, (16, 15))
        run_all(large, np.tile(photo, (6, 6, 1)), terrain._replace(height=height))
        groups.append(large.rows)
    print_table(groups, device)
    draw_all(photo, terrain, results)
    print(f"every result is checked; pictures: {', '.join(sorted(p.name for p in OUT.iterdir()))}")
    print(f"in {OUT}")


if __name__ == "__main__":
    main()
