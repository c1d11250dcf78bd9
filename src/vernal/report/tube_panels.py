"""How reachable sets are drawn: bounds over steps or time in panels, polygons in a plane, simulated runs over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachedStep, ReachedValue, Vertex
from vernal.interpret.numbers.rounding import Floats
from vernal.model.sorts import Kind, Sort
from vernal.report.animation import appearing, running
from vernal.report.figures import (
    CURVE,
    GOAL,
    INK,
    LABEL_ROW,
    LIMIT,
    MAX_PANELS,
    RUN,
    SOFT,
    TUBE,
    AxisLimits,
    draw_limits,
    drawable,
    label_rows,
    measure_time,
    name_panel,
    note_left_out,
    panels_below,
    plane_axes,
)
from vernal.report.zones import Zone, draw_zones

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADE, FEW_POLYGONS = 0.25, 6  # how much of a polygon's colour fills it, as long as there are few


@dataclass(frozen=True, slots=True)
class SetPicture:
    """What is drawn of reachable sets: what expressions can be at steps or over spans of time, and on runs."""

    of: Sequence[str]
    sorts: Sequence[Sort]
    steps: Sequence[ReachedStep]
    runs: Sequence[Floats] = ()  # the values of each expression, a row for each run; none where nothing was run
    times: Floats | None = None  # of the columns of runs, in continuous time
    held: frozenset[str] = frozenset()  # the expressions that keep their value from instant to instant
    zones: Mapping[str, Sequence[Zone]] = field(default_factory=dict)  # where claims forbid, or want, quantities

    @property
    def edges(self) -> Floats | None:
        """Where spans of time begin, and where the last one ends; None of steps."""
        spans = [step.span for step in self.steps if step.span is not None]
        if not spans:
            return None if self.times is None else self.times[[0, -1]]  # simulated only
        return np.array([*(start for start, _ in spans), spans[-1][1]])

    def values(self, index: int) -> list[ReachedValue]:
        """What one of the expressions can be, step by step."""
        return [step.values[index] for step in self.steps]


# Over the steps, or over time -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TubePanel:
    """One expression over the steps or over time: its sets, and its values on runs."""

    title: str
    sort: Sort
    values: Sequence[ReachedValue]
    edges: Floats | None  # of the spans of time
    runs: Floats | None
    times: Floats | None  # of the values on runs
    held: bool = False  # from instant to instant

    @property
    def labels(self) -> tuple[str, ...]:
        return ("false", "true") if self.sort.kind is Kind.BOOL else self.sort.labels

    @property
    def shown(self) -> list[str]:
        """The labels that are possible at some step."""
        possible = {name for one in self.values if isinstance(one, LabelSet) for name in one.labels}
        return [name for name in self.labels if name in possible]

    @property
    def height(self) -> float:
        return CURVE * 1.2 if self.sort.is_number else max(2, len(self.shown)) * LABEL_ROW


def tube_figure(picture: SetPicture, limits: AxisLimits) -> Figure:
    """A panel for each expression, below each other."""
    runs: Sequence[Floats | None] = picture.runs or [None] * len(picture.of)
    parts = [
        TubePanel(name, sort, picture.values(index), picture.edges, made, picture.times, name in picture.held)
        for index, (name, sort, made) in enumerate(zip(picture.of, picture.sorts, runs, strict=True))
    ][:MAX_PANELS]
    figure, panels = panels_below([part.height for part in parts])
    for axes, part in zip(panels, parts, strict=True):
        draw = _rows if not part.sort.is_number else _band if part.edges is None else _timed_band
        draw(axes, part)
        draw_limits(axes.axhline, limits.get(part.title, ()))
        name_panel(axes, part.title)
    if picture.edges is not None:
        measure_time(panels[-1])
    last = float(max(1, len(picture.steps) - 1) if picture.edges is None else picture.edges[-1] or 1)
    panels[-1].set_xlim(-0.02 * last, 1.02 * last)
    for axes, part in zip(panels, parts, strict=True):
        draw_zones(axes, picture.zones.get(part.title, ()), last)
        running(axes, last)
    _key(panels[0], picture, {"linewidth": 1})
    figure.align_ylabels(panels)
    note_left_out(figure, len(picture.of) - len(parts))
    return figure


def _ends(values: Sequence[ReachedValue]) -> tuple[Floats, Floats]:
    """Both ends of every interval; not numbers where there is no bound, so that nothing is drawn."""
    ends = [(one.lower, one.upper) if isinstance(one, NumberBounds) else (math.nan, math.nan) for one in values]
    made = drawable(np.array(ends, dtype=np.float64))
    made[np.isnan(made).any(axis=1)] = math.nan
    return made[:, 0], made[:, 1]


def _band(axes: Axes, part: TubePanel) -> None:
    """The bounds as a band with a bar at every step; where there is no bound, nothing is drawn."""
    low, high = _ends(part.values)
    steps = np.arange(len(low))
    held: Any = {"step": "mid"} if part.sort.is_discrete else {}
    line: Any = {"drawstyle": "steps-mid"} if part.sort.is_discrete else {}
    axes.fill_between(steps, low, high, color=TUBE, linewidth=0, zorder=1, **held)
    axes.vlines(steps, low, high, color=INK, linewidth=0.9 if len(low) <= 60 else 0.3, alpha=0.45, zorder=2)
    for side in (low, high):
        axes.plot(steps, side, color=INK, linewidth=1.1, zorder=4, **line)
    if part.runs is not None:
        axes.plot(steps, drawable(part.runs.T), color=RUN, linewidth=0.45, alpha=0.6, zorder=3, **line)
    _measure(axes)


def _timed_band(axes: Axes, part: TubePanel) -> None:
    """The bounds over spans of time, each as wide as its span."""
    assert part.edges is not None
    if part.values:
        low, high = (np.append(end, end[-1:]) for end in _ends(part.values))
        axes.fill_between(part.edges, low, high, color=TUBE, linewidth=0, zorder=1, step="post")
        for side in (low, high):
            axes.plot(part.edges, side, color=INK, linewidth=0.9, zorder=4, drawstyle="steps-post")
    if part.runs is not None and part.times is not None:
        line: Any = {"drawstyle": "steps-post" if part.held else "default", "linewidth": 0.45}
        axes.plot(part.times, drawable(part.runs.T), color=RUN, alpha=0.6, zorder=3, **line)
    _measure(axes)


def _measure(axes: Axes) -> None:
    """Room, ticks and lines of a panel with numbers."""
    axes.margins(y=0.1)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.grid(axis="y", linewidth=0.4, color="#e3e7ea")
    axes.set_axisbelow(True)


def _rows(axes: Axes, part: TubePanel) -> None:
    """A row for each label: a block where it is possible, a dot where a run has it."""
    names = part.shown
    edges = np.arange(len(part.values) + 1) - 0.5 if part.edges is None else part.edges
    look: Any = {"facecolor": TUBE, "edgecolor": "white", "linewidth": 0.8 if part.edges is None else 0.0}
    for row, name in enumerate(names):
        for start, end, one in zip(edges[:-1], edges[1:], part.values, strict=True):
            if isinstance(one, LabelSet) and name in one.labels:
                axes.broken_barh([(start, end - start)], (row - 0.4, 0.8), **look)
        if part.runs is not None:
            met = (part.runs == part.labels.index(name)).any(axis=0)
            places = np.arange(part.runs.shape[1]) if part.times is None else part.times
            axes.plot(places[met], [row] * int(met.sum()), "o", color=RUN, markersize=2)
    label_rows(axes, names)
    axes.set_ylim(-0.6, max(1, len(names)) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _key(axes: Axes, picture: SetPicture, look_of_runs: Mapping[str, Any]) -> None:
    """What is certified, what is only simulated, and what a claim says."""
    from matplotlib.colors import to_rgb
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    certified = f"certified bounds of all {'paths' if picture.edges is None else 'trajectories'}"
    handles: list[Any] = [Patch(facecolor=TUBE, edgecolor=INK, linewidth=0.8, label=certified)] if picture.steps else []
    if picture.runs:
        handles.append(Line2D([], [], color=RUN, label=f"{len(picture.runs[0])} simulated runs", **look_of_runs))
    drawn = [zone for name in picture.of for zone in picture.zones.get(name, ())]
    for wanted, tone, said in ((False, LIMIT, "bad"), (True, GOAL, "goal")):
        if any(zone.wanted is wanted for zone in drawn):
            handles.append(Patch(facecolor=(*to_rgb(tone), 0.3), edgecolor=tone, linewidth=0.8, label=said))
    look: Any = {"frameon": False, "fontsize": 7, "ncols": len(handles), "borderaxespad": 0.2, "handlelength": 1.4}
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), **look)


# In a plane -----------------------------------------------------------------------------------------------------------


def plane_figure(picture: SetPicture, limits: AxisLimits) -> Figure:
    """A polygon for every step or span of time, from light to dark, and where runs are."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.ticker import MaxNLocator

    figure, axes = plane_axes(*picture.of)
    tones = LinearSegmentedColormap.from_list("steps", ["#9ec5e6", INK])
    edges = picture.edges
    last, name = (max(1, len(picture.steps) - 1), "step") if edges is None else (edges[-1], "time")
    scale = ScalarMappable(Normalize(0, last), tones)
    _polygons(axes, picture, scale)
    look: Any = {"linewidth": 0, "marker": ".", "markersize": 1.6} if edges is None else {"linewidth": 0.45}
    if picture.runs:
        xs, ys = (drawable(column.T) for column in picture.runs)
        for line in axes.plot(xs, ys, color=RUN, alpha=0.7, rasterized=edges is None, zorder=3, **look):
            appearing(line, np.arange(len(xs), dtype=np.float64) if picture.times is None else picture.times)
    for draw, title in zip((axes.axvline, axes.axhline), picture.of, strict=True):
        draw_limits(draw, limits.get(title, ()))
    axes.autoscale_view()
    bar = figure.colorbar(scale, ax=axes, pad=0.02, aspect=40, ticks=MaxNLocator(integer=edges is None))
    bar.set_label(name, size=8)
    bar.outline.set_visible(False)
    _key(axes, picture, {"linewidth": 0, "marker": ".", "markersize": 4} if edges is None else {"linewidth": 1})
    return figure


def _corners(step: ReachedStep) -> tuple[Vertex, ...] | None:
    """The polygon of a step, where there is one that can be drawn."""
    found = step.polygon
    return found if found is not None and np.isfinite(drawable(np.array(found))).all() else None


def _polygons(axes: Axes, picture: SetPicture, scale: Any) -> None:
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke

    shade = min(SHADE, FEW_POLYGONS * SHADE / len(picture.steps))  # where many overlap, what is below has to be seen
    for t, step in enumerate(picture.steps):
        corners = _corners(step)
        if corners is None:
            continue
        tone = scale.to_rgba(t if step.span is None else step.span[0])
        area: Any = {"facecolor": tone, "alpha": shade, "linewidth": 0, "zorder": 1}
        for drawn in (area, {"fill": False, "edgecolor": tone, "linewidth": 0.9, "zorder": 2}):
            patch = axes.add_patch(Polygon(corners, closed=True, **drawn))
            appearing(patch, np.array([t if step.span is None else step.span[0]]))
    first = _corners(picture.steps[0])
    if first is not None and picture.edges is None:
        x, y = max(first, key=lambda corner: corner[1])
        look: Any = {"size": 7, "color": SOFT, "ha": "center", "va": "bottom", "zorder": 6}
        look["path_effects"] = [withStroke(linewidth=2, foreground="white")]
        axes.annotate("step 0", (x, y), textcoords="offset points", xytext=(0, 2), **look)
