"""Pictures of traces that one would put into a paper: numbers as curves, labels as steps, one time axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vernal.errors import InputError
from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.model.sorts import Kind
from vernal.report.figures import (
    CURVE,
    INK,
    LABEL_ROW,
    LIMIT,
    MAX_PANELS,
    SOFT,
    WIDTH,
    AxisLimits,
    draw_figure,
    draw_limits,
    draw_svg,
    label_legend,
    label_rows,
    measure_time,
    name_panel,
    near_limits,
    note_left_out,
    panels_below,
    tone_of,
)
from vernal.report.limits import limits as limits_of
from vernal.report.planes import drawn_values, plane_of_trace
from vernal.report.quantities import Of, trace_series
from vernal.report.subject import Failure, failure_of, trace_formula
from vernal.report.values import Series, as_float, scalar

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVES = ("state", "action", "memory")  # drawn as large as each other
DRAW, BAND = 0.6, 0.34  # heights of the panels, in inches
AXIS_MARGIN = 0.02  # of the time axis, at either end
CURSOR = "cursor"  # how the line of a slider is called in an SVG
MIN_LABEL_SIZE = 6.0  # points: below that a label goes to the legend


def plot_trace(
    trace: Trace,
    file: str | Path | None = None,
    limits: AxisLimits | None = None,
    *,
    of: Of | None = None,
    plane: bool = False,
) -> Any:
    """Draw a trace; to a file by its suffix (pdf, svg, png) if one is named. A notebook shows the figure returned.

    `of` are the expressions to draw, all that the trace records if none is named; `plane` draws two numbers against
    each other. `limits` are values of quantities, drawn across their panels: `{"theta": [-0.05, 0.05]}`; without them,
    those of the formula that the trace is about.
    """
    return draw_figure(lambda: _figure(trace, limits, of, plane, trace_formula(trace)), file)


def trace_svg(trace: Trace, formula: Formula | None = None) -> str:
    """A trace as an SVG element to embed in a page, with the limits of a formula that do not flatten a curve."""
    return draw_svg(lambda: _figure(trace, None, None, False, formula, cursor=True))


def places_of(trace: Trace) -> list[float]:
    """Where the positions of a trace are on the axis: its times, or the steps, one more where a loop returns."""
    return [float(place) for place in trace.times or range(len(trace) + (trace.loop is not None))]


def _figure(
    trace: Trace, limits: AxisLimits | None, of: Of | None, plane: bool, formula: Formula | None, cursor: bool = False
) -> Figure:
    items = [_closed(item, trace.loop) for item in trace_series(trace, of, formula)]
    known = {} if formula is None else limits_of(formula)
    if plane:
        drawn = known if limits is None else limits
        return plane_of_trace(items, trace, drawn, strict=limits is not None)
    figure, curves = _draw(items, trace, cursor)
    if limits is None:
        _draw_near(curves, known)
    else:
        _draw_given(curves, limits)
    return figure


def _draw(items: Sequence[Series], trace: Trace, cursor: bool) -> tuple[Figure, dict[str, Axes]]:
    """The panels, and those of them that are curves, by name."""
    there = [item for item in items if any(value is not None for value in item.values)]
    if not there:
        raise InputError(f"there is nothing to draw: no value of {', '.join(item.title for item in items)} is defined")
    shown = sorted(there[:MAX_PANELS], key=lambda item: item.is_text)
    curves = [item for item in shown if not item.is_text]
    figure, panels = panels_below([_height(item) for item in shown])
    places, failure = places_of(trace), failure_of(trace)
    for panel, item in zip(panels, shown, strict=True):
        _panel(panel, item, places, trace.times is not None)
    if trace.loop is not None:
        _mark_loop(panels, curves, trace.loop, len(trace))
    if trace.times is not None:
        measure_time(panels[-1])
    if failure is not None:
        _mark_failure(panels, failure, places[-1])
    if cursor and len(trace) > 1:
        _draw_cursor(panels, places[0 if failure is None else failure.position])
    panels[-1].set_xlim(*axis_ends(places))
    figure.align_ylabels(panels)
    note_left_out(figure, len(there) - len(shown))
    return figure, {item.title: panel for panel, item in zip(panels, curves, strict=False)}


def _height(item: Series) -> float:
    if item.sort.kind is Kind.ENUM:
        return LABEL_ROW * max(2, len({value for value in item.values if value is not None}))
    if item.is_text:
        return BAND
    return CURVE if item.group in CURVES else DRAW


def _panel(panel: Axes, item: Series, places: Sequence[float], timed: bool) -> None:
    """A number as a curve over the places of the positions, an enum as steps, a truth value as a band."""
    if item.sort.kind is Kind.ENUM:
        _steps(panel, item, places)
    elif item.is_text:
        _band(panel, item, places)
    else:
        _curve(panel, item, places, timed)
    name_panel(panel, item.title)


def _closed(item: Series, loop: int | None) -> Series:
    """A quantity along a lasso with one position more: the one to which the loop returns."""
    return item if loop is None else replace(item, values=(*item.values, item.values[loop]))


def _mark_loop(panels: Sequence[Axes], curves: Sequence[Series], loop: int, last: int) -> None:
    """The loop shaded and named; where it returns, an open circle at its own beginning and end."""
    for panel in panels:
        panel.axvspan(loop, last, color="#eef2f5", zorder=0, linewidth=0)
    for panel, item in zip(panels, curves, strict=False):
        value = drawn_values(item)[loop]
        panel.plot([loop, last], [value] * 2, "o", color=INK, markerfacecolor="white", markersize=4.5)
    where = panels[0].get_xaxis_transform()
    said = f"from step {last} on as from step {loop}, for ever"
    panels[0].text(last, 1.02, said, transform=where, ha="right", va="bottom", size=7, color=SOFT)


def axis_ends(places: Sequence[float]) -> tuple[float, float]:
    """From where to where the axis goes: a little beyond the first and the last position."""
    span = places[-1] or 1.0
    return -AXIS_MARGIN * span, (1 + AXIS_MARGIN) * span


def _mark_failure(panels: Sequence[Axes], failure: Failure, last: float) -> None:
    """A line through all panels where the claim is broken, named above the first."""
    for panel in panels:
        panel.axvline(failure.place, color=LIMIT, linewidth=4, alpha=0.25, zorder=1)
    side: Any = {"ha": "right" if 2 * failure.place > last else "left", "va": "bottom", "size": 7, "color": LIMIT}
    across = panels[0].get_xaxis_transform()
    panels[0].text(failure.place, 1.02, f"fails at {failure.name}", transform=across, **side)


def _draw_cursor(panels: Sequence[Axes], place: float) -> None:
    """A line that the slider of a page moves (`report.slider`)."""
    for panel in panels:
        panel.axvline(place, color=SOFT, linewidth=0.8, zorder=6, gid=CURSOR)


def _draw_near(curves: Mapping[str, Axes], limits: Mapping[str, Iterable[float]]) -> None:
    """The limits of what is drawn as a curve, but for those that would flatten it."""
    for name, panel in curves.items():
        low, high = panel.dataLim.intervaly.tolist()
        draw_limits(panel.axhline, near_limits(limits.get(name, ()), low, high))


def _draw_given(curves: Mapping[str, Axes], limits: AxisLimits) -> None:
    for name, values in limits.items():
        if name not in curves:
            raise InputError(f"no curve is called {name!r} here; limits go with {', '.join(curves) or 'numbers only'}")
        draw_limits(curves[name].axhline, values)


def _curve(panel: Axes, item: Series, places: Sequence[float], timed: bool) -> None:
    """A quantity over steps or time, gaps stay gaps; draws, integers and held actions keep their value for a while."""
    values = drawn_values(item).tolist()
    held = item.group in ("choice", "disturbance") or item.sort.is_discrete or (timed and item.group == "action")
    panel.plot(*(_held(values, places) if held else (places, values)), color=INK, linewidth=1.2)
    panel.plot(places, values, "o", color=INK, markersize=2.6 if len(values) <= 60 else 0)
    panel.margins(y=0.15)
    panel.locator_params(axis="y", nbins=4 if item.group in CURVES else 2)
    panel.grid(axis="y", linewidth=0.4, color="#e3e7ea")
    panel.set_axisbelow(True)
    panel.ticklabel_format(axis="y", useOffset=False)


def _held(values: Sequence[float], places: Sequence[float]) -> tuple[list[float], list[float]]:
    """The corners of a line that keeps each value until the next place."""
    ends = [*places[1:], places[-1] or 1.0]
    xs = [x for stretch in zip(places, ends, strict=True) for x in stretch]
    return xs, [value for value in values for _ in range(2)]


def _steps(panel: Axes, item: Series, places: Sequence[float]) -> None:
    """Labels as steps: those that occur are on the axis, in the order of the enum."""
    present = sorted({as_float(value) for value in item.values if value is not None})
    labels = {as_float(value): scalar(value, item.sort) for value in item.values if value is not None}
    rows = [math.nan if value is None else float(present.index(as_float(value))) for value in item.values]
    panel.plot(*_held(rows, places), color=INK, linewidth=1.2)
    panel.plot(places, rows, "o", color=INK, markersize=2.6 if len(rows) <= 60 else 0)
    label_rows(panel, [labels[value] for value in present])
    panel.set_ylim(-0.5, max(1, len(present)) - 0.5)
    panel.grid(axis="y", linewidth=0.4, color="#e3e7ea")
    panel.set_axisbelow(True)


def _band(panel: Axes, item: Series, places: Sequence[float]) -> None:
    """Labels as coloured stretches of time, each until the next position; a legend for what finds no room inside."""
    end = places[-1] or 1.0
    labels = [None if value is None else scalar(value, item.sort) for value in item.values]
    tones = {scalar(value, item.sort): tone_of(int(as_float(value))) for value in item.values if value is not None}
    untold = {label: tones[label] for label in labels if label is not None}
    for label, group in groupby(range(len(labels)), key=lambda step: labels[step]):
        if label is None:
            continue
        left, right = _stretch(list(group), places)
        panel.axvspan(left, right, color=tones[label], linewidth=0)
        panel.axvline(left, color="white", linewidth=1)
        if _write_inside(panel, left, right, end, label):
            untold.pop(label, None)
    panel.set_yticks([])
    panel.spines["left"].set_visible(False)
    if untold:
        label_legend(panel, untold)


def _stretch(steps: Sequence[int], places: Sequence[float]) -> tuple[float, float]:
    """From the first of the positions to the one after the last; the very last gets a sliver, nothing follows it."""
    left, right = places[steps[0]], places[min(steps[-1] + 1, len(places) - 1)]
    return (left - 0.02 * (places[-1] or 1.0), right) if left == right else (left, right)


def _write_inside(panel: Axes, left: float, right: float, end: float, label: str) -> bool:
    """The label inside its stretch, if it can be read there."""
    room = (right - left) / end * (WIDTH - 1.6) * 72  # points
    size = min(8.0, room / (0.65 * len(label)))
    if size < MIN_LABEL_SIZE:
        return False
    middle, across = (left + right) / 2, panel.get_xaxis_transform()
    panel.text(middle, 0.47, label, transform=across, ha="center", va="center", size=size)
    return True
