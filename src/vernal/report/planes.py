"""Phase planes: two numbers against each other, along a trace or along many runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from vernal.errors import InputError
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.report.figures import (
    INK,
    LIMIT,
    RUN,
    SOFT,
    AxisLimits,
    draw_limits,
    drawable,
    limit_values,
    near_limits,
    plane_axes,
)
from vernal.report.run_table import Quantity, present
from vernal.report.subject import failure_of
from vernal.report.values import Series, as_float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_RUNS = 200  # drawn in a plane
MARKED_POSITIONS = 60  # beyond, a line through them says enough


class Plottable(Protocol):
    """What a plane takes: a name, and whether it is a number."""

    @property
    def title(self) -> str: ...
    @property
    def is_text(self) -> bool: ...


def plane_of_trace(items: Sequence[Series], trace: Trace, limits: AxisLimits, *, strict: bool) -> Figure:
    """The trace as a line through its positions; first, last and failing ones are marked, and where a loop closes."""
    _refuse(items)
    figure, axes = plane_axes(items[0].title, items[1].title)
    xs, ys = (drawn_values(item) for item in items)
    axes.plot(xs, ys, color=INK, linewidth=1.2)
    axes.plot(xs, ys, "o", color=INK, markersize=2.6 if len(xs) <= MARKED_POSITIONS else 0)
    last, times, failure = len(xs) - 1, trace.times, failure_of(trace)
    _mark(axes, xs[0], ys[0], "step 0" if times is None else "t = 0", filled=False)
    if last:
        end = f"step {last}" if times is None else f"t = {float(times[-1]):.3g}"
        said = end if trace.loop is None else f"{end}, as step {trace.loop}"
        fails = failure is not None and failure.position == last
        _mark(axes, xs[last], ys[last], f"{said}: fails" if fails else said, filled=True, tone=LIMIT if fails else INK)
    if failure is not None and failure.position < last:
        at = failure.position
        _mark(axes, xs[at], ys[at], f"fails at {failure.name}", filled=True, tone=LIMIT)
    _draw_limits(axes, items, [xs, ys], limits, strict)
    return figure


def plane_of_runs(items: Sequence[Quantity], limits: AxisLimits, *, strict: bool, first: str = "step 0") -> Figure:
    """Every run as a thin line from a dot, which is its `first` position."""
    _refuse(items)
    figure, axes = plane_axes(items[0].title, items[1].title)
    xs, ys = (drawable(item.values[:MAX_RUNS]) for item in items)
    axes.plot(xs.T, ys.T, color=INK, linewidth=0.5, alpha=0.4)
    axes.plot(xs[:, 0], ys[:, 0], "o", color=RUN, markersize=2.4, zorder=4, label=first)
    every = len(items[0].values)
    shown = f"{len(xs)} of {every} runs" if len(xs) < every else f"{every} runs"
    axes.plot([], [], color=INK, linewidth=0.5, alpha=0.8, label=shown)
    look: Any = {"frameon": False, "fontsize": 7, "ncols": 2, "borderaxespad": 0.2}
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), **look)
    _draw_limits(axes, items, [xs, ys], limits, strict)
    return figure


def _refuse(items: Sequence[Plottable]) -> None:
    """A plane has two numbers."""
    if len(items) != 2 or any(item.is_text for item in items):
        shown = ", ".join(item.title for item in items) or "none"
        raise InputError(f"a plane wants two numbers, for example --of x --of v --plane, not {shown}")


def drawn_values(item: Series) -> Floats:
    """The numbers of a quantity along a trace, as far as they can be drawn."""
    return drawable([math.nan if value is None else as_float(value) for value in item.values])


def _mark(axes: Axes, x: float, y: float, label: str, *, filled: bool, tone: str = INK) -> None:
    if math.isnan(x) or math.isnan(y):
        return
    axes.plot([x], [y], "o", color=tone, markerfacecolor=tone if filled else "white", markersize=5, zorder=6)
    look: Any = {
        "size": 7,
        "color": SOFT if tone == INK else tone,
        "textcoords": "offset points",
        "xytext": (5, 5),
        "zorder": 6,
    }
    axes.annotate(label, (x, y), **look)


def _draw_limits(
    axes: Axes, items: Sequence[Plottable], values: Sequence[Floats], limits: AxisLimits, strict: bool
) -> None:
    """Limits as lines across; those that are given have to be of what is drawn, others are drawn where they fit."""
    titles = [item.title for item in items]
    unknown = [name for name in limits if name not in titles]
    if strict and unknown:
        raise InputError(f"no axis is called {unknown[0]!r} here; limits go with {', '.join(titles)}")
    for line, title, seen in zip((axes.axvline, axes.axhline), titles, map(present, values), strict=True):
        listed = limit_values(limits.get(title, ()))
        near = near_limits(listed, float(seen.min()), float(seen.max())) if seen.size else []
        draw_limits(line, listed if strict else near)
