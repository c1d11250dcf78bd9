"""A map of the encounter: from which altitudes and climb rates it stays safe, cell by cell."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Measured, measure_map, table
from benchmarks.vcas.methods import FOLDER
from vernal.formats.task.blueprint import open_task

ALTITUDES = range(-500, 451, 50)
RATES = range(-30, 26, 5)
COLOURS = {"holds": "#4c9a6a", "violated": "#c8553d", "unknown": "#d9d9d9"}

Atlas = dict[tuple[int, int], Measured]  # by h0 and v0


def run_map(cap: float) -> Atlas:
    """`AG[1,5] safe` from every cell [h0, h0 + 50] x [v0, v0 + 5], scaling 200, asked together."""
    cells = [(h0, v0) for v0 in RATES for h0 in ALTITUDES]
    file = open_task(FOLDER / "vcas_map.toml")
    tasks = [file.task({"h0": h0, "v0": v0}) for h0, v0 in cells]
    return dict(zip(cells, measure_map(tasks, cap), strict=True))


def map_text(atlas: Atlas) -> str:
    """The map in letters (# safe, . unsafe, ? unknown), the fastest descent first."""
    letters = {"holds": "#", "violated": ".", "unknown": "?"}
    lines = [f"{v0:>4} " + "".join(letters[atlas[h0, v0].verdict] for h0 in ALTITUDES) for v0 in RATES]
    return "\n".join(["  v0  h0 = -500 .. 450", *lines])


def map_summary(atlas: Atlas) -> str:
    """How many cells of each kind, and what they took."""
    rows = []
    for verdict in COLOURS:
        seconds = [one.seconds for one in atlas.values() if one.verdict == verdict]
        processor = sum(one.processor for one in atlas.values() if one.verdict == verdict)
        costs = (sum(seconds), processor, max(seconds, default=0.0))
        rows.append([verdict, str(len(seconds)), *(f"{cost:.1f}" for cost in costs)])
    return table(("verdict", "cells", "seconds", "CPU seconds", "slowest"), rows)


def plot_map(atlas: Atlas, file: Path) -> None:
    """The map as a picture."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for (h0, v0), done in atlas.items():
        axes.add_patch(Rectangle((h0, v0), 50, 5, facecolor=COLOURS[done.verdict], edgecolor="white"))
    axes.set(xlim=(-500, 500), ylim=(-30, 30), xlabel="h, ft", ylabel="v, ft/s", title="AG[1,5] (h > 100 | h < -100)")
    axes.legend(
        handles=[Patch(color=colour, label=name) for name, colour in COLOURS.items()],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
    )
    figure.savefig(file)
