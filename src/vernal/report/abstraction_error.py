"""How far a neural abstraction is from its flow: a heat map of |f - N| for each variable, below the certified bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model
from vernal.reduce.neural.difference import errors_at
from vernal.report.figures import INK, LIMIT, SOFT, WIDTH, draw_figure, draw_svg, new_figure
from vernal.report.phase_sets import PhasePlane, full_grid, region_polygons, region_spans

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_ACROSS, FEWER_POINTS, CURVE_POINTS = 201, 61, 2001  # across: of a plane, of one with layers, of a curve
HEAT = ("#ffffff", "#fdf0d9", "#f6c98f", "#e08a4b", "#b3372f", "#5f1a1a")
SIDE = 0.62 * WIDTH  # inches
ERROR_PROBES = 1000  # points at which it is found out which variables an error depends on
ROUNDING = 1e-8  # an error this small beside the largest is rounding


def plot_error(flow: Model, abstraction: NeuralAbstraction, file: str | Path | None = None) -> Any:
    """Draw |f - N| of every variable over the region; to a file by its suffix (pdf, svg, png) if one is named."""
    return draw_figure(lambda: _figure(flow, abstraction), file)


def error_svg(flow: Model, abstraction: NeuralAbstraction) -> str:
    """The same as an SVG element to embed in a page."""
    return draw_svg(lambda: _figure(flow, abstraction))


def _errors(flow: Model, abstraction: NeuralAbstraction, points: Floats, place: int) -> Floats:
    return errors_at(flow, abstraction.weights, abstraction.biases, points)[:, place]


def _figure(flow: Model, abstraction: NeuralAbstraction) -> Figure:
    shown = _inexact(abstraction)
    size = (WIDTH, 0.5 * WIDTH) if len(flow.state) == 1 else (1.15 * SIDE * len(shown), SIDE)
    figure = new_figure(size)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for panel, place in zip(panels, shown, strict=True):
        (_curve if len(flow.state) == 1 else _heat_map)(panel, flow, abstraction, place)
        bound = f"\N{LESS-THAN OR EQUAL TO} {abstraction.error[place]:.4g}, certified"
        panel.set_title(f"|f - N| of {flow.state[place].name}' {bound}", size=8)
    exact = [place for place in range(len(flow.state)) if place not in shown]
    said = [f"|f - N| of {flow.state[place].name}' is at most {abstraction.error[place]:.1g}" for place in exact]
    if said:
        figure.supxlabel("; ".join(said), size=7, color=SOFT)
    return figure


def _inexact(abstraction: NeuralAbstraction) -> list[int]:
    """The variables whose error is worth a picture: that of others is rounding."""
    largest = float(abstraction.error.max())
    return [place for place, error in enumerate(abstraction.error) if error >= ROUNDING * largest]


def _curve(axes: Axes, flow: Model, abstraction: NeuralAbstraction, place: int) -> None:
    """The error over the one variable, with the bound as a dashed line."""
    (low,), (high,) = abstraction.lower, abstraction.upper
    states = np.linspace(low, high, CURVE_POINTS)
    if abstraction.automaton is not None:
        for _, end in region_spans(abstraction.automaton):
            axes.axvline(end, color="#dde3e8", linewidth=0.6, zorder=0)
    axes.plot(states, _errors(flow, abstraction, states[:, None], place), color=INK, linewidth=1.1)
    axes.axhline(abstraction.error[0], color=LIMIT, linewidth=1, linestyle=(0, (5, 3)))
    axes.set_xlabel(flow.state[0].name)
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.08 * float(abstraction.error[0]))


def _heat_map(axes: Axes, flow: Model, abstraction: NeuralAbstraction, place: int) -> None:
    """The error of a variable over a plane; with more than two variables, the largest that is found above a point."""
    from matplotlib.colors import LinearSegmentedColormap

    plane = _telling_plane(flow, abstraction, place)
    grid = full_grid(
        abstraction.lower, abstraction.upper, plane, POINTS_ACROSS if len(flow.state) == 2 else FEWER_POINTS
    )
    errors = grid.shaped(_errors(flow, abstraction, grid.points, place)).max(axis=0)
    ends = [float(end[side]) for side in plane.places for end in (abstraction.lower, abstraction.upper)]
    look: Any = {"origin": "lower", "extent": ends, "aspect": "auto", "interpolation": "bilinear", "vmin": 0}
    tones = LinearSegmentedColormap.from_list("error", HEAT)
    shown = axes.imshow(errors, cmap=tones, vmax=float(abstraction.error[place]) or 1.0, **look)
    bar = axes.figure.colorbar(shown, ax=axes, fraction=0.05, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=7, length=2)
    others = [one.name for side, one in enumerate(flow.state) if side not in plane.places]
    beside = f"  (the largest over {', '.join(others)} that was sampled)" if others else ""
    axes.set_xlabel(flow.state[plane.across].name + beside)
    axes.set_ylabel(flow.state[plane.up].name, rotation=0, ha="right", va="center")
    if abstraction.automaton is not None and len(flow.state) == 2:
        _borders(axes, abstraction)


def _telling_plane(flow: Model, abstraction: NeuralAbstraction, place: int) -> PhasePlane:
    """The two variables on which the error of one depends most, by what it changes where one of them does."""
    rng, count = np.random.default_rng(0), len(flow.state)
    points = rng.uniform(abstraction.lower, abstraction.upper, (ERROR_PROBES, count))
    before = _errors(flow, abstraction, points, place)
    changes = []
    for side in range(count):
        moved = points.copy()
        moved[:, side] = rng.permutation(points[:, side])
        changes.append(float(np.nanmean(np.abs(_errors(flow, abstraction, moved, place) - before))))
    across, up = sorted(np.argsort(-np.array(changes), kind="stable")[:2].tolist())
    return PhasePlane(across, up)


def _borders(axes: Axes, abstraction: NeuralAbstraction) -> None:
    """The borders of the regions, thin."""
    from matplotlib.collections import PolyCollection

    assert abstraction.automaton is not None
    polygons = region_polygons(abstraction.automaton)
    axes.add_collection(PolyCollection(polygons, facecolors="none", edgecolors=SOFT, linewidths=0.3, alpha=0.7))
