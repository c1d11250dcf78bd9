"""A flow of one variable over time: its regions as bands, its slope, the flowpipe, initial, bad and goal sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.evidence.flowpipe import Flowpipe
from vernal.model.expr import Expr
from vernal.model.system import Model
from vernal.report.figures import GOAL, INK, LIMIT, RUN, TUBE, WIDTH, new_figure, tone_of
from vernal.report.phase_parts import (
    EDGE,
    MAX_TRAJECTORIES,
    REGION_SHADE,
    SET_SHADE,
    STREAM,
    Portrait,
    draw_violating,
    legend,
)
from vernal.report.phase_sets import region_of, region_spans, stretches, values_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 0.6 * WIDTH
COLUMNS, ARROW_ROWS = 16, 11  # of the arrows
TIME_CELLS = 2000  # in which a set is looked for


def time_figure(portrait: Portrait) -> Figure:
    """The variable over time."""
    figure = new_figure((WIDTH, HEIGHT))
    axes, (lower, upper) = figure.subplots(), region_of(portrait.flow)
    axes.set_xlabel("time")
    axes.set_ylabel(portrait.flow.state[0].name, rotation=0, ha="right", va="center")
    room = 0.03 * float(upper[0] - lower[0])  # a set at the very end of the region is seen, too
    axes.set_ylim(lower[0] - room, upper[0] + room)
    axes.set_xlim(0, portrait.until or 1)
    _draw(axes, portrait)
    legend(figure, portrait)
    return figure


def _draw(axes: Axes, portrait: Portrait) -> None:
    flow = portrait.flow
    if portrait.automaton is not None:
        for index, (low, high) in enumerate(region_spans(portrait.automaton)):
            axes.axhspan(low, high, facecolor=tone_of(index), alpha=REGION_SHADE, linewidth=0, zorder=0)
            axes.axhline(high, color=EDGE, linewidth=0.5, zorder=0.5)
    _draw_slopes(axes, flow, portrait.until)
    for conditions, tone in ((portrait.asked.goal, GOAL), (portrait.asked.bad, LIMIT)):
        for condition in conditions:
            _draw_spans(axes, flow, condition, tone)
    if portrait.pipe is not None:
        _draw_pipe(axes, portrait.pipe)
    low, high = map(float, flow.init.starts[flow.state[0].name].ends)
    axes.plot([0, 0], [low, high], color="black", linewidth=4, solid_capstyle="butt", zorder=6, clip_on=False)
    for one in portrait.trajectories[:MAX_TRAJECTORIES]:
        axes.plot(one.times, one.states[:, 0], color=RUN, linewidth=0.6, alpha=0.8, zorder=5)
    if portrait.violating is not None:
        draw_violating(axes, portrait.violating.times, portrait.violating.states[:, 0])


def _draw_slopes(axes: Axes, flow: Model, until: float) -> None:
    """Arrows with the slope of the flow."""
    if not flow.vector_field:  # an automaton has many
        return
    (low,), (high,) = region_of(flow)
    times, states = np.meshgrid(np.linspace(0, until, COLUMNS), np.linspace(low, high, ARROW_ROWS))
    (rates,) = values_at(flow, flow.vector_field, states.reshape(-1, 1))
    ahead, up = np.ones(rates.shape) / until, rates / (high - low)
    length = np.hypot(ahead, up)
    look: Any = {"color": STREAM, "width": 0.002, "scale": 30, "headwidth": 4, "pivot": "mid", "zorder": 1}
    axes.quiver(times.ravel(), states.ravel(), ahead / length, up / length, **look)


def _draw_spans(axes: Axes, flow: Model, condition: Expr, tone: str) -> None:
    """The values at which a condition is true, as bands."""
    for low, high in stretches(flow, condition, TIME_CELLS):
        axes.axhspan(low, high, facecolor=tone, alpha=SET_SHADE, linewidth=0, zorder=3.4)
        for end in (low, high):
            axes.axhline(end, color=tone, linewidth=1.1, zorder=3.5)


def _draw_pipe(axes: Axes, pipe: Flowpipe) -> None:
    """Every segment over its span of time."""
    from matplotlib.collections import PolyCollection

    spans = zip(pipe.times, pipe.lower[:, 0], pipe.upper[:, 0], strict=True)
    boxes = [[(t, low), (u, low), (u, high), (t, high)] for (t, u), low, high in spans]
    axes.add_collection(PolyCollection(boxes, facecolors=TUBE, edgecolors=INK, linewidths=0.35, alpha=0.8, zorder=3))
