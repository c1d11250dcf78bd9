"""Phase portraits of flows: the regions of an abstraction, the flow, the flowpipe, initial, bad and goal sets.

A flow of one variable is drawn over time; of two in their plane; of more in the planes of pairs of variables, where
sets cast their shadows and the flow is that of one slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.errors import InputError
from vernal.evidence.flowpipe import Flowpipe
from vernal.interpret.numbers.rounding import Floats
from vernal.model.build import conj
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.held_loop import loop_of
from vernal.model.hybrid import HybridAutomaton
from vernal.model.system import Model
from vernal.reduce.operators import disjuncts
from vernal.report.animation import appearing
from vernal.report.figures import (
    BACKWARD,
    FORWARD,
    GOAL,
    INK,
    LARGEST_DRAWN,
    LIMIT,
    PLANE,
    RUN,
    SOFT,
    WIDTH,
    draw_figure,
    draw_svg,
    new_figure,
    tone_of,
)
from vernal.report.phase_parts import (
    COARSE,
    EDGE,
    FINE,
    FINEST,
    MAX_TRAJECTORIES,
    MIN_VISIBLE,
    REGION_SHADE,
    SET_SHADE,
    STREAM,
    Portrait,
    draw_violating,
    drawn_range,
    legend,
)
from vernal.report.phase_sets import (
    PhasePlane,
    PlaneWindow,
    ShadowCells,
    grid_at,
    planes_of,
    region_of,
    region_polygons,
    segment_polygons,
    shadow_cells,
    values_at,
)
from vernal.report.phase_time import time_figure
from vernal.report.values import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_phase(portrait: Portrait, file: str | Path | None = None, *, of: Sequence[str] | None = None) -> Any:
    """Draw a phase portrait; to a file by its suffix (pdf, svg, png) if one is named. `of` names two variables."""
    return draw_figure(lambda: phase_figure(portrait, of), file)


def phase_svg(portrait: Portrait, of: Sequence[str] | None = None) -> str:
    """A phase portrait as an SVG element to embed in a page."""
    return draw_svg(lambda: phase_figure(portrait, of))


def phase_figure(portrait: Portrait, of: Sequence[str] | None = None) -> Figure:
    """The figure: over time for one variable, else a panel for each plane."""
    if len(portrait.flow.state) == 1:
        return time_figure(portrait)
    planes = planes_of(portrait.flow) if of is None else [_plane_of(portrait.flow, of)]
    figure, panels = _panels(len(planes))
    for axes, plane in zip(panels, planes, strict=True):
        _draw_plane(axes, portrait, plane)
    if portrait.pipe is not None:
        time_bar(figure, panels, portrait)
    legend(figure, portrait)
    return figure


def _plane_of(flow: Model, of: Sequence[str]) -> PhasePlane:
    names = [variable.name for variable in flow.state]
    unknown = [name for name in of if name not in names]
    if unknown or len(set(of)) != 2:
        raise InputError(f"a phase plane wants two of {', '.join(names)}, not {', '.join(of) or 'none'}")
    return PhasePlane(names.index(of[0]), names.index(of[1]))


def _panels(count: int) -> tuple[Figure, list[Axes]]:
    size = (WIDTH, PLANE + 0.3) if count == 1 else (0.62 * WIDTH * count + 0.5, 0.62 * PLANE + 0.4)
    figure = new_figure(size)
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _draw_plane(axes: Axes, portrait: Portrait, plane: PhasePlane) -> None:
    flow = portrait.flow
    axes.set_xlabel(flow.state[plane.across].name)
    axes.set_ylabel(flow.state[plane.up].name, rotation=0, ha="right", va="center")
    axes.locator_params(nbins=5)
    window = _window(portrait, plane)
    axes.set(xlim=window[0], ylim=window[1])
    if portrait.automaton is not None and len(flow.state) == 2:
        _draw_regions(axes, portrait.automaton)
    _draw_flow(axes, flow, plane, window)
    for conditions, tone, hatch in ((portrait.asked.goal, GOAL, BACKWARD), (portrait.asked.bad, LIMIT, FORWARD)):
        for condition in conditions:
            for part in disjuncts(condition):
                if {flow.vars[place] for place in plane.places} & set(order([part])):  # else the plane tells nothing
                    cells = shadow_cells(flow, part, plane, FINEST, window)
                    shade(axes, cells, tone, hatch)
    if portrait.pipe is not None:
        _draw_pipe(axes, portrait, portrait.pipe, plane)
    _draw_initial(axes, flow, plane)
    for one in portrait.trajectories[:MAX_TRAJECTORIES]:
        line: Any = {"color": RUN, "linewidth": 0.45, "alpha": 0.7, "zorder": 5}
        (drawn,) = axes.plot(one.states[:, plane.across], one.states[:, plane.up], **line)
        appearing(drawn, one.times)
    if portrait.violating is not None:
        draw_violating(axes, *portrait.violating.states[:, plane.places].T)


def _window(portrait: Portrait, plane: PhasePlane) -> PlaneWindow:
    """What is seen of a plane: all of the region, or of a loop that samples, where there is something to see."""
    if portrait.seen is not None:
        return portrait.seen
    lower, upper = region_of(portrait.flow)
    seen = drawn_range if loop_of(portrait.flow) is not None else lambda portrait, place: None
    across, up = (seen(portrait, place) or (float(lower[place]), float(upper[place])) for place in plane.places)
    return across, up


def _draw_regions(axes: Axes, automaton: HybridAutomaton) -> None:
    """The regions, pale, with thin borders."""
    from matplotlib.collections import PolyCollection

    polygons = region_polygons(automaton)
    tones = [tone_of(index) for index in range(len(polygons))]
    axes.add_collection(PolyCollection(polygons, facecolors=tones, alpha=REGION_SHADE, linewidths=0, zorder=0))
    axes.add_collection(PolyCollection(polygons, facecolors="none", edgecolors=EDGE, linewidths=0.5, zorder=0.5))


def _draw_flow(axes: Axes, flow: Model, plane: PhasePlane, window: PlaneWindow) -> None:
    """Stream lines, disturbances halfway; of more than two variables, in the slice through the initial states."""
    if not flow.vector_field or loop_of(flow) is not None:  # an automaton has many fields, and so has a loop
        return
    lower, upper = region_of(flow)
    lower[plane.places], upper[plane.places] = zip(*window, strict=True)
    middle = np.array([[sum(map(float, flow.init.starts[one.name].ends)) / 2 for one in flow.state]])
    others = [place for place in range(len(lower)) if place not in plane.places]
    grid = grid_at(lower, upper, plane, COARSE, middle[:, others])
    rates = [flow.vector_field[place] for place in plane.places]
    u, v = (grid.shaped(values)[0] for values in values_at(flow, rates, grid.points))
    largest = max(np.max(np.abs(one), where=np.isfinite(one), initial=0.0) for one in (u, v))
    if largest > 0 and (upper - lower).min() > 1 / LARGEST_DRAWN:
        u, v = u / largest, v / largest  # as long as the arrows are, they show directions
        look: Any = {"color": STREAM, "linewidth": 0.45, "arrowsize": 0.6, "density": 1.1, "zorder": 1}
        axes.streamplot(grid.across, grid.up, u, v, **look)
    for place in others:
        shown = f"arrows at {flow.state[place].name} = {number(middle[0, place])}"
        axes.set_title(", ".join(filter(None, [axes.get_title(), shown])), size=7, color=SOFT)


def shade(axes: Axes, cells: ShadowCells | None, tone: str, hatch: str) -> None:
    """A set in its colour, hatched, with an outline; above the flowpipe, which is what it is to be compared with."""
    from matplotlib import rc_context

    if cells is None:
        return
    across, up, where = _padded(cells.across), _padded(cells.up), np.pad(cells.where, 1)
    axes.contourf(across, up, where, levels=[0.5, 2], colors=[tone], alpha=SET_SHADE, zorder=3.4)
    with rc_context({"hatch.linewidth": 0.4}):
        hatched = axes.contourf(across, up, where, levels=[0.5, 2], colors="none", hatches=[hatch], zorder=3.4)
        hatched.set_edgecolor(tone)
        hatched.set_linewidth(0)
    axes.contour(across, up, where, levels=[0.5], colors=[tone], linewidths=1, zorder=3.5)


def _padded(middles: Floats) -> Floats:
    """One cell more at either end, so that the outline of a set closes at the edge of the region."""
    step = middles[1] - middles[0]
    return np.hstack([middles[0] - step, middles, middles[-1] + step])


def time_tones() -> Any:
    """The colours of time, from early to late."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("time", ["#d5e6f3", "#7fb2da", INK, "#12304c"])


def _draw_pipe(axes: Axes, portrait: Portrait, pipe: Flowpipe, plane: PhasePlane) -> None:
    """Every segment in the colour of its time, the early ones on top."""
    from matplotlib.collections import PolyCollection

    late_first = np.argsort(-pipe.times[:, 0], kind="stable")
    polygons = segment_polygons(pipe, plane)
    shown = [(polygons[k], pipe.times[k].mean()) for k in late_first if len(polygons[k]) > 2]
    tones = time_tones()([time / (portrait.until or 1.0) for _, time in shown])
    look: Any = {"facecolors": tones, "edgecolors": INK, "linewidths": 0.15, "zorder": 3, "alpha": 0.9}
    drawn = axes.add_collection(PolyCollection([corners for corners, _ in shown], **look))
    appearing(drawn, np.array([time for _, time in shown]))


def _draw_initial(axes: Axes, flow: Model, plane: PhasePlane) -> None:
    """The box of the initial states, marked where it is small; filled where conditions leave states of it."""
    from matplotlib.patches import Rectangle

    ends = [flow.init.starts[flow.state[place].name].ends for place in plane.places]
    (left, right), (bottom, top) = ((float(low), float(high)) for low, high in ends)
    look: Any = {"fill": False, "edgecolor": "black", "linewidth": 1.1, "zorder": 4}
    axes.add_patch(Rectangle((left, bottom), right - left, top - bottom, **look))
    lower, upper = region_of(flow)
    if (([right - left, top - bottom] / (upper - lower)[plane.places]) < MIN_VISIBLE).all():
        axes.plot([(left + right) / 2], [(bottom + top) / 2], "o", color="black", markersize=3.5, zorder=4)
    if flow.init.where:
        cells = shadow_cells(flow, _initial(flow), plane, FINE)
        assert cells is not None, "an initial set is not empty"
        axes.contourf(cells.across, cells.up, cells.where, levels=[0.5, 2], colors=["black"], alpha=0.5, zorder=4)


def _initial(flow: Model) -> Expr:
    """The initial states as a condition."""
    ends = [(one.var, *flow.init.starts[one.name].ends) for one in flow.state]
    sides = [side for var, low, high in ends for side in (var >= low, var <= high)]
    return conj(*sides, *map(flow.resolve, flow.init.where))


def time_bar(figure: Figure, panels: Sequence[Axes], portrait: Portrait) -> None:
    """Which colour is which time."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    scale = ScalarMappable(Normalize(0, portrait.until), time_tones())
    bar = figure.colorbar(scale, ax=list(panels), label="time", fraction=0.04, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2)
