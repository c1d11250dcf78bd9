"""The cactus plot: how many instances each tool decides within how many CPU seconds each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.queries.race import Run
from vernal.report.figures import WIDTH, plot_style, save_figure

MARKERS = "osD^v<>"


def curve(runs: Sequence[Run]) -> list[float]:
    """CPU seconds of the decided instances, least first: the n-th is what deciding n of them takes at most for each."""
    return sorted(one.cpu for one in runs if one.decided)


def draw(runs: Sequence[Run], path: Path) -> None:
    """A line for each tool to a file by its suffix; further right is more, lower is faster."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with plot_style():
        figure = Figure(figsize=(WIDTH, 0.6 * WIDTH), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        names = list(dict.fromkeys(one.tool for one in runs))
        for marker, name in zip(MARKERS, names, strict=False):
            times = curve([one for one in runs if one.tool == name])
            label = f"{name}: {len(times)}"
            axes.plot(range(1, len(times) + 1), times, marker=marker, markersize=2.5, linewidth=0.9, label=label)
        axes.set_yscale("log")
        axes.set_xlabel("instances decided")
        axes.set_ylabel("CPU seconds for each")
        axes.legend(frameon=False)
        save_figure(figure, path)
