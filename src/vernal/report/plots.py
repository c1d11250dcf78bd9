"""Pictures of traces and runs that one would put into a paper: numbers as curves, labels as bands, one time axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from io import BytesIO, StringIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.evidence.trace import Trace
from vernal.report.values import Series, as_float, scalar, series
from vernal.run.output import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from vernal.report.runs import Quantity

INK = "#1f4e79"
SOFT = "#5b6770"
LIMIT = "#b3372f"
# Soft tones that differ in lightness too, so that they survive a grey print.
TONES = ("#cfe0ee", "#f6d7b0", "#cfe5c5", "#efc9c9", "#ddd2ea", "#f3ecb5", "#c8e4e2", "#e6d3c3", "#d9d9d9")
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "axes.labelcolor": "black",
    "svg.fonttype": "none",
    "svg.hashsalt": "vernal",  # the same trace gives the same file
    "pdf.fonttype": 42,
}
AxisLimits = Mapping[str, float | Iterable[float]]
WIDTH = 5.2  # inches: the text width of a two-column paper's figure*
CURVES = ("state", "action", "memory")  # drawn as large as each other
CURVE, DRAW, BAND = 1.0, 0.6, 0.34  # heights of the panels, in inches
SHARES = 0.6
QUANTILES = (0, 0.05, 0.5, 0.95, 1)
SINGLE_RUNS = 8  # drawn one by one, to show how they move
MIN_LABEL_SIZE = 6.0  # points: below that a label goes to the legend
MAX_PANELS = 16
MAX_LIMIT_DISTANCE = 4  # times the extent of a curve: a limit further away would only flatten it


def plot_trace(trace: Trace, file: str | Path | None = None, limits: AxisLimits | None = None) -> Any:
    """Draw a trace; to a file by its suffix (pdf, svg, png) if one is named. A notebook shows the figure returned.

    `limits` are values of quantities that a property speaks of, drawn across their panels: `{"theta": [-0.05, 0.05]}`.
    """
    with plot_style():
        figure = _draw(trace)
        _rule(figure, limits or {})
        if file is not None:
            save_figure(figure, file)
    return figure


def trace_svg(trace: Trace, limits: Mapping[str, Sequence[float]] | None = None) -> str:
    """A trace as an SVG element to embed in a page; limits so far off that they would flatten a curve are left out."""
    with plot_style():
        figure = _draw(trace)
        _rule(figure, _near(figure, limits or {}))
        return svg_text(figure)


def svg_text(figure: Figure) -> str:
    """A figure as an SVG element to embed in a page."""
    text = StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def plot_style() -> AbstractContextManager[None]:
    """Within it, figures look as ours do."""
    import matplotlib

    return matplotlib.rc_context(STYLE)


def panels_below(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Panels below each other with one time axis. No pyplot: no window, no global state, no back end to choose."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, sum(heights) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=list(heights))[:, 0]
    for panel in panels[:-1]:
        panel.tick_params(bottom=False)
    panels[-1].set_xlabel("step")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    return figure, list(panels)


def save_figure(figure: Figure, file: str | Path) -> None:
    """Write a figure to a file by its suffix."""
    kind = Path(file).suffix.lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise InputError(f"cannot draw {file}: name a file ending in {', '.join('.' + name for name in sorted(known))}")
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    drawn = BytesIO()
    figure.savefig(drawn, format=kind, bbox_inches="tight", dpi=200, metadata=dated)
    write_bytes(file, drawn.getvalue())


def _draw(trace: Trace) -> Figure:
    items = [_closed(item, trace.loop) for item in series(trace)]
    shown = [item for item in items if any(value is not None for value in item.values)][:MAX_PANELS]
    curves = [item for item in shown if not item.is_text]
    bands = [item for item in shown if item.is_text]
    figure, panels = panels_below([CURVE if item.group in CURVES else DRAW for item in curves] + [BAND] * len(bands))
    for panel, item in zip(panels, [*curves, *bands], strict=True):
        (_band if item.is_text else _curve)(panel, item)
    last = len(trace) - 1 if trace.loop is None else len(trace)
    if trace.loop is not None:
        _mark_loop(panels, curves, trace.loop, last)
    span = max(1, last)
    panels[-1].set_xlim(-0.02 * span, (last or 1) + 0.02 * span)
    figure.align_ylabels(panels)
    return figure


def _closed(item: Series, loop: int | None) -> Series:
    """A quantity along a lasso with one position more: the one to which the loop returns."""
    return item if loop is None else replace(item, values=(*item.values, item.values[loop]))


def _mark_loop(panels: Sequence[Axes], curves: Sequence[Series], loop: int, last: int) -> None:
    """The loop shaded and named; where it returns, an open circle at its own beginning and end."""
    for panel in panels:
        panel.axvspan(loop, last, color="#eef2f5", zorder=0, linewidth=0)
    for panel, item in zip(panels, curves, strict=False):
        value = item.values[loop]
        if value is not None:
            panel.plot([loop, last], [as_float(value)] * 2, "o", color=INK, markerfacecolor="white", markersize=4.5)
    where = panels[0].get_xaxis_transform()
    said = f"from step {last} on as from step {loop}, for ever"
    panels[0].text(last, 1.02, said, transform=where, ha="right", va="bottom", size=7, color=SOFT)


def _curves(figure: Figure) -> dict[str, Axes]:
    return {panel.get_ylabel(): panel for panel in figure.axes if panel.lines and panel.get_yticks().size}


def _near(figure: Figure, limits: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """The limits of what is drawn as a curve, but for those that lie several times its extent away from it."""
    near: dict[str, list[float]] = {}
    for name, panel in _curves(figure).items():
        low, high = panel.dataLim.intervaly.tolist()
        room = MAX_LIMIT_DISTANCE * max(high - low, 0.1 * max(abs(low), abs(high)))
        near[name] = [value for value in limits.get(name, ()) if low - room <= value <= high + room]
    return near


def _rule(figure: Figure, limits: AxisLimits) -> None:
    """Dashed lines at the limits of what is drawn as a curve."""
    curves = _curves(figure)
    for name, values in limits.items():
        if name not in curves:
            raise InputError(f"no curve is called {name!r} here; limits go with {', '.join(curves) or 'numbers only'}")
        for value in values if isinstance(values, Iterable) else (values,):
            curves[name].axhline(float(value), color=LIMIT, linewidth=1, linestyle=(0, (5, 3)))


def name_panel(panel: Axes, title: str) -> None:
    """The name of a quantity, to the left of its panel."""
    panel.set_ylabel(title, rotation=0, ha="right", va="center", labelpad=6)


def _curve(panel: Axes, item: Series) -> None:
    """A quantity over the steps; draws and integers keep their value until the next one, gaps stay gaps."""
    values = [math.nan if value is None else as_float(value) for value in item.values]
    steps = range(len(values))
    held = item.group in ("choice", "disturbance") or item.sort.is_discrete
    panel.plot(*(_held(values) if held else (steps, values)), color=INK, linewidth=1.2)
    panel.plot(steps, values, "o", color=INK, markersize=2.6 if len(values) <= 60 else 0)
    panel.margins(y=0.15)
    panel.locator_params(axis="y", nbins=4 if item.group in CURVES else 2)
    panel.grid(axis="y", linewidth=0.4, color="#e3e7ea")
    panel.set_axisbelow(True)
    panel.ticklabel_format(axis="y", useOffset=False)
    name_panel(panel, item.title)


def _held(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The corners of a line that keeps each value for one step."""
    end = max(1, len(values) - 1)
    xs = [float(x) for step in range(len(values)) for x in (step, min(step + 1, end))]
    return xs, [value for value in values for _ in range(2)]


def _band(panel: Axes, item: Series) -> None:
    """Labels as coloured stretches of time, each until the next position; a legend for what finds no room inside."""
    end = max(1, len(item.values) - 1)
    labels = [None if value is None else scalar(value, item.sort) for value in item.values]
    tones = {scalar(value, item.sort): _tone(int(as_float(value))) for value in item.values if value is not None}
    untold = {label: tones[label] for label in labels if label is not None}
    for label, group in groupby(range(len(labels)), key=lambda step: labels[step]):
        if label is None:
            continue
        left, right = _stretch(list(group), end)
        panel.axvspan(left, right, color=tones[label], linewidth=0)
        panel.axvline(left, color="white", linewidth=1)
        if _write_inside(panel, left, right, end, label):
            untold.pop(label, None)
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    name_panel(panel, item.title)
    if untold:
        _legend(panel, untold)


def _tone(index: int) -> str:
    """The colour of a label: the same in every panel of the same sort."""
    return TONES[index % len(TONES)]


def _stretch(steps: Sequence[int], end: int) -> tuple[float, float]:
    """From the first of the positions to the one after the last; the very last gets a sliver, nothing follows it."""
    left, right = float(steps[0]), float(min(steps[-1] + 1, end))
    return (left - 0.02 * end, right) if left == right else (left, right)


def _write_inside(panel: Axes, left: float, right: float, end: int, label: str) -> bool:
    """The label inside its stretch, if it can be read there."""
    room = (right - left) / end * (WIDTH - 1.6) * 72  # points
    size = min(8.0, room / (0.65 * len(label)))
    if size < MIN_LABEL_SIZE:
        return False
    middle, across = (left + right) / 2, panel.get_xaxis_transform()
    panel.text(middle, 0.47, label, transform=across, ha="center", va="center", size=size)
    return True


def _legend(panel: Axes, tones: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(color=tone, label=label) for label, tone in tones.items()]
    look = {"frameon": False, "fontsize": 7, "handlelength": 1.0, "handletextpad": 0.4, "borderaxespad": 0.2}
    columns = -(-len(patches) // 3)
    panel.legend(handles=patches, loc="center left", bbox_to_anchor=(1.0, 0.5), labelspacing=0.2, ncols=columns, **look)


# Runs -----------------------------------------------------------------------------------------------------------------


def plot_runs(shown: Sequence[Quantity], file: str | Path | None = None) -> Any:
    """Draw how quantities spread over many runs: all, nine in ten, the median and a few runs; labels as shares."""
    with plot_style():
        figure = _runs_figure(shown)
        if file is not None:
            save_figure(figure, file)
    return figure


def runs_svg(shown: Sequence[Quantity]) -> str:
    """The same as an SVG element to embed in a page."""
    with plot_style():
        return svg_text(_runs_figure(shown))


def _runs_figure(shown: Sequence[Quantity]) -> Figure:
    kept = list(shown)[:MAX_PANELS]
    figure, panels = panels_below([SHARES if item.is_text else CURVE for item in kept])
    for panel, item in zip(panels, kept, strict=True):
        (_shares if item.is_text else _spread)(panel, item)
        name_panel(panel, item.title)
    last = kept[0].values.shape[1] - 1 if kept else 1
    panels[-1].set_xlim(0, max(1, last))
    figure.align_ylabels(panels)
    return figure


def _spread(panel: Axes, item: Quantity) -> None:
    """The range of all runs, the middle nine tenths, the median, and a few runs to see how they move."""
    import numpy as np

    steps = [step for step in range(item.values.shape[1]) if np.isfinite(item.values[:, step]).any()]
    columns = [item.values[np.isfinite(item.values[:, step]), step] for step in steps]
    least, low, median, high, most = np.array([np.quantile(column, QUANTILES) for column in columns]).T
    panel.fill_between(steps, least, most, color=INK, alpha=0.12, linewidth=0)
    panel.fill_between(steps, low, high, color=INK, alpha=0.22, linewidth=0)
    panel.plot(range(item.values.shape[1]), item.values[:SINGLE_RUNS].T, color=INK, alpha=0.35, linewidth=0.5)
    panel.plot(steps, median, color=INK, linewidth=1.5)
    panel.margins(y=0.1)
    panel.locator_params(axis="y", nbins=4)
    panel.ticklabel_format(axis="y", useOffset=False)


def _shares(panel: Axes, item: Quantity) -> None:
    """How many of the runs are at which label, stacked."""
    import numpy as np

    found = np.unique(item.values[np.isfinite(item.values)])
    going = np.maximum(1, np.isfinite(item.values).sum(axis=0))
    shares = [(item.values == value).sum(axis=0) / going for value in found]
    tones = [_tone(int(value)) for value in found]
    panel.stackplot(range(item.values.shape[1]), shares, colors=tones, linewidth=0, step="post")
    panel.set_ylim(0, 1)
    panel.set_yticks([0, 1], ["0", "1"])
    _legend(panel, {item.label(float(value)): tone for value, tone in zip(found, tones, strict=True)})
