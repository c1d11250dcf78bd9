"""Pictures of reachable sets: bounds over the steps or polygons in a plane, with simulated runs over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets, ReachedValue
from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.model.sorts import Kind, Sort
from vernal.report.figures import (
    CURVE,
    INK,
    LABEL_ROW,
    MAX_PANELS,
    RUN,
    SOFT,
    AxisLimits,
    draw_limits,
    name_panel,
    near_limits,
    note_left_out,
    panels_below,
    plane_axes,
    plot_style,
    save_figure,
    svg_text,
)
from vernal.simulate.runs import simulate
from vernal.simulate.starts import NoInitialState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUNS = 30
SHADE, FEW_POLYGONS = 0.25, 6  # how much of a polygon's colour fills it, as long as there are few
TUBE = "#cfe0ee"


def plot_sets(
    sets: ReachableSets,
    file: str | Path | None = None,
    *,
    runs: int = RUNS,
    limits: AxisLimits | None = None,
    plane: bool = True,
) -> Any:
    """Draw reachable sets; to a file by its suffix (pdf, svg, png) if one is named."""
    unknown = [name for name in limits or {} if name not in sets.of]
    if unknown:
        raise InputError(f"no expression is called {unknown[0]!r} here; limits go with {', '.join(sets.of)}")
    with plot_style():
        figure = _draw(sets, runs, dict(limits or {}), plane)
        if file is not None:
            save_figure(figure, file)
    return figure


def sets_svg(sets: ReachableSets, limits: Mapping[str, Sequence[float]] | None = None, *, plane: bool = True) -> str:
    """Reachable sets as an SVG element to embed in a page; limits far from the sets are left out."""
    near = {name: _near(sets.bounds(name), values) for name, values in (limits or {}).items() if name in sets.of}
    with plot_style():
        return svg_text(_draw(sets, RUNS, near, plane))


def _near(values: Sequence[ReachedValue], limits: Sequence[float]) -> list[float]:
    """The limits that lie at most a few times the extent of the sets away from them."""
    ends = [end for one in values if isinstance(one, NumberBounds) and one.is_finite for end in (one.lower, one.upper)]
    if not ends:
        return []
    return near_limits(limits, min(ends), max(ends))


def _draw(sets: ReachableSets, runs: int, limits: AxisLimits, plane: bool) -> Figure:
    if not sets.steps:
        raise InputError("there is nothing to draw: no step is bounded")
    simulated = _simulated(sets, runs)
    if plane and any(polygon is not None for polygon in sets.polygons):
        return _plane(sets, simulated, limits)
    return _tube(sets, simulated, limits)


def _simulated(sets: ReachableSets, runs: int) -> list[Floats]:
    """The expressions on some runs; none where there is nobody to run."""
    if sets.system is None or runs < 1:
        return []
    try:
        with np.errstate(all="ignore"):
            made = simulate(sets.system, runs, len(sets.steps) - 1, np.random.default_rng(0), corners=True)
            return made.values(sets.expressions)
    except NoInitialState:
        return []


# Over the steps -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TubePanel:
    """One expression over the steps: its sets, and its values on runs."""

    title: str
    sort: Sort
    values: Sequence[ReachedValue]
    runs: Floats | None

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


def _tube(sets: ReachableSets, simulated: Sequence[Floats], limits: AxisLimits) -> Figure:
    runs: Sequence[Floats | None] = simulated or [None] * len(sets.of)
    parts = [
        TubePanel(name, sort, sets.bounds(name), made)
        for name, sort, made in zip(sets.of, sets.sorts, runs, strict=True)
    ][:MAX_PANELS]
    figure, panels = panels_below([part.height for part in parts])
    for axes, part in zip(panels, parts, strict=True):
        (_band if part.sort.is_number else _rows)(axes, part)
        draw_limits(axes.axhline, limits.get(part.title, ()))
        name_panel(axes, part.title)
    last = max(1, len(sets.steps) - 1)
    panels[-1].set_xlim(-0.02 * last, 1.02 * last)
    _key(panels[0], simulated, {"linewidth": 1})
    figure.align_ylabels(panels)
    note_left_out(figure, len(sets.of) - len(parts))
    return figure


def _band(axes: Axes, part: TubePanel) -> None:
    """The bounds as a band with a bar at every step; where there is no bound, nothing is drawn."""
    ends = [(one.lower, one.upper) if isinstance(one, NumberBounds) else (math.nan, math.nan) for one in part.values]
    low, high = np.array([end if all(map(math.isfinite, end)) else (math.nan, math.nan) for end in ends]).T
    steps = np.arange(len(ends))
    held: Any = {"step": "mid"} if part.sort.is_discrete else {}
    line: Any = {"drawstyle": "steps-mid"} if part.sort.is_discrete else {}
    axes.fill_between(steps, low, high, color=TUBE, linewidth=0, zorder=1, **held)
    axes.vlines(steps, low, high, color=INK, linewidth=0.9 if len(ends) <= 60 else 0.3, alpha=0.45, zorder=2)
    for side in (low, high):
        axes.plot(steps, side, color=INK, linewidth=1.1, zorder=4, **line)
    if part.runs is not None:
        axes.plot(steps, part.runs.T, color=RUN, linewidth=0.45, alpha=0.6, zorder=3, **line)
    axes.margins(y=0.1)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(axis="y", useOffset=False)
    axes.grid(axis="y", linewidth=0.4, color="#e3e7ea")
    axes.set_axisbelow(True)


def _rows(axes: Axes, part: TubePanel) -> None:
    """A row for each label: a block where it is possible, a dot where a run has it."""
    names = part.shown
    for row, name in enumerate(names):
        for t, one in enumerate(part.values):
            if isinstance(one, LabelSet) and name in one.labels:
                axes.broken_barh([(t - 0.5, 1.0)], (row - 0.4, 0.8), facecolor=TUBE, edgecolor="white", linewidth=0.8)
        if part.runs is not None:
            met = (part.runs == part.labels.index(name)).any(axis=0)
            axes.plot(np.flatnonzero(met), [row] * int(met.sum()), "o", color=RUN, markersize=2)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(-0.6, max(1, len(names)) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _key(axes: Axes, simulated: Sequence[Floats], look_of_runs: Mapping[str, Any]) -> None:
    """What is certified, and what is only simulated."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(facecolor=TUBE, edgecolor=INK, linewidth=0.8, label="certified bounds of all paths")]
    if simulated:
        handles.append(Line2D([], [], color=RUN, label=f"{len(simulated[0])} simulated runs", **look_of_runs))
    look: Any = {"frameon": False, "fontsize": 7, "ncols": 2, "borderaxespad": 0.2, "handlelength": 1.4}
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), **look)


# In a plane -----------------------------------------------------------------------------------------------------------


def _plane(sets: ReachableSets, simulated: Sequence[Floats], limits: AxisLimits) -> Figure:
    """A polygon for every step, from light to dark, and where runs are."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.ticker import MaxNLocator

    figure, axes = plane_axes(*sets.of)
    tones = LinearSegmentedColormap.from_list("steps", ["#9ec5e6", INK])
    scale = ScalarMappable(Normalize(0, max(1, len(sets.steps) - 1)), tones)
    _polygons(axes, sets, scale)
    if simulated:
        xs, ys = (column.ravel() for column in simulated)
        look: Any = {"color": RUN, "markersize": 1.6, "alpha": 0.7, "rasterized": True, "zorder": 3, "linewidth": 0}
        axes.plot(xs, ys, ".", **look)
    for draw, name in zip((axes.axvline, axes.axhline), sets.of, strict=True):
        draw_limits(draw, limits.get(name, ()))
    axes.autoscale_view()
    bar = figure.colorbar(scale, ax=axes, pad=0.02, aspect=40, ticks=MaxNLocator(integer=True))
    bar.set_label("step", size=8)
    bar.outline.set_visible(False)
    _key(axes, simulated, {"linewidth": 0, "marker": ".", "markersize": 4})
    return figure


def _polygons(axes: Axes, sets: ReachableSets, scale: Any) -> None:
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke

    shade = min(SHADE, FEW_POLYGONS * SHADE / len(sets.steps))  # where many overlap, what is below has to be seen
    for t, corners in enumerate(sets.polygons):
        if corners is None:
            continue
        tone = scale.to_rgba(t)
        axes.add_patch(Polygon(corners, closed=True, facecolor=tone, alpha=shade, linewidth=0, zorder=1))
        axes.add_patch(Polygon(corners, closed=True, fill=False, edgecolor=tone, linewidth=0.9, zorder=2))
    first = sets.polygons[0]
    if first is not None:
        x, y = max(first, key=lambda corner: corner[1])
        look: Any = {"size": 7, "color": SOFT, "ha": "center", "va": "bottom", "zorder": 6}
        look["path_effects"] = [withStroke(linewidth=2, foreground="white")]
        axes.annotate("step 0", (x, y), textcoords="offset points", xytext=(0, 2), **look)
