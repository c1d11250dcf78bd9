"""How far a neural abstraction is from its flow: a heat map of |f - N| for each variable, below the certified bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.numbers.rounding import Floats
from vernal.model.flow import Flow
from vernal.report.figures import INK, LIMIT, SOFT, WIDTH, plot_style, save_figure, svg_text
from vernal.report.phase_sets import (
    PhasePlane,
    disturbance_corners,
    full_grid,
    planes_of,
    region_polygons,
    region_spans,
    values_at,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS, FEWER_POINTS, CURVE_POINTS = 201, 61, 2001  # across: of a plane, of one with layers, of a curve
HEAT = ("#ffffff", "#fdf0d9", "#f6c98f", "#e08a4b", "#b3372f", "#5f1a1a")
SIDE = 0.62 * WIDTH  # inches


def plot_error(flow: Flow, abstraction: NeuralAbstraction, file: str | Path | None = None) -> Any:
    """Draw |f - N| of every variable over the region; to a file by its suffix (pdf, svg, png) if one is named."""
    with plot_style():
        figure = _figure(flow, abstraction)
        if file is not None:
            save_figure(figure, file)
    return figure


def error_svg(flow: Flow, abstraction: NeuralAbstraction) -> str:
    """The same as an SVG element to embed in a page."""
    with plot_style():
        return svg_text(_figure(flow, abstraction))


def errors_at(flow: Flow, abstraction: NeuralAbstraction, points: Floats) -> Floats:
    """|f - N| at states, (points, n), in floats: the largest over extreme disturbances."""
    learned = _network(abstraction, points)
    worst = np.zeros(learned.shape)
    for corner in disturbance_corners(flow):
        rates = np.stack(values_at(flow, flow.vector_field, points, corner), axis=1)
        worst = np.maximum(worst, np.abs(rates - learned))
    return worst


def _network(abstraction: NeuralAbstraction, points: Floats) -> Floats:
    *hidden, last = zip(abstraction.weights, abstraction.biases, strict=True)
    values = points
    for weight, bias in hidden:
        values = np.maximum(values @ weight.T + bias, 0)
    return values @ last[0].T + last[1]


def _figure(flow: Flow, abstraction: NeuralAbstraction) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    count = len(flow.state)
    size = (WIDTH, 0.5 * WIDTH) if count == 1 else (1.15 * SIDE * count, SIDE)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, count, squeeze=False)[0]
    if count == 1:
        _curve(panels[0], flow, abstraction)
    else:
        _heat_maps(figure, list(panels), flow, abstraction)
    for panel, variable, bound in zip(panels, flow.state, abstraction.error, strict=True):
        panel.set_title(f"|f - N| of {variable.name}' $\\leq$ {bound:.4g}, certified", size=8)
    return figure


def _curve(axes: Axes, flow: Flow, abstraction: NeuralAbstraction) -> None:
    """The error over the one variable, with the bound as a dashed line."""
    (low,), (high,) = abstraction.lower, abstraction.upper
    states = np.linspace(low, high, CURVE_POINTS)
    if abstraction.automaton is not None:
        for _, end in region_spans(abstraction.automaton):
            axes.axvline(end, color="#dde3e8", linewidth=0.6, zorder=0)
    axes.plot(states, errors_at(flow, abstraction, states[:, None])[:, 0], color=INK, linewidth=1.1)
    axes.axhline(abstraction.error[0], color=LIMIT, linewidth=1, linestyle=(0, (5, 3)))
    axes.set_xlabel(flow.state[0].name)
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.08 * float(abstraction.error[0]))


def _heat_maps(figure: Figure, panels: list[Axes], flow: Flow, abstraction: NeuralAbstraction) -> None:
    """A panel for each variable, over the first plane; with more variables, the largest error found above a point."""
    plane = planes_of(flow)[0]
    count = POINTS if len(flow.state) == 2 else FEWER_POINTS
    grid = full_grid(abstraction.lower, abstraction.upper, plane, count)
    errors = errors_at(flow, abstraction, grid.points)
    for place, axes in enumerate(panels):
        _heat_map(figure, axes, grid.shaped(errors[:, place]).max(axis=0), abstraction, plane, place)
        axes.set_xlabel(flow.state[plane.across].name)
        axes.set_ylabel(flow.state[plane.up].name, rotation=0, ha="right", va="center")
    others = [one.name for place, one in enumerate(flow.state) if place not in plane.places]
    if others:
        figure.supxlabel(f"the largest over {', '.join(others)} that was sampled", size=7, color=SOFT)


def _heat_map(
    figure: Figure, axes: Axes, errors: Floats, abstraction: NeuralAbstraction, plane: PhasePlane, place: int
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ends = [float(end[side]) for side in plane.places for end in (abstraction.lower, abstraction.upper)]
    look: Any = {"origin": "lower", "extent": ends, "aspect": "auto", "interpolation": "bilinear", "vmin": 0}
    tones = LinearSegmentedColormap.from_list("error", HEAT)
    shown = axes.imshow(errors, cmap=tones, vmax=float(abstraction.error[place]) or 1.0, **look)
    bar = figure.colorbar(shown, ax=axes, fraction=0.05, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2)
    if abstraction.automaton is not None and len(abstraction.lower) == 2:
        _borders(axes, abstraction)


def _borders(axes: Axes, abstraction: NeuralAbstraction) -> None:
    """The borders of the regions, thin."""
    from matplotlib.collections import PolyCollection

    assert abstraction.automaton is not None
    polygons = region_polygons(abstraction.automaton)
    axes.add_collection(PolyCollection(polygons, facecolors="none", edgecolors=SOFT, linewidths=0.3, alpha=0.7))
