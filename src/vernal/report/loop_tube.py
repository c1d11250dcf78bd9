"""A loop that samples over time: where its states can be, and below, as steps, what its agents hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vernal.engines.reach.segments import SegmentValues
from vernal.engines.reach.sets import ReachedStep
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.model.expr import Expr
from vernal.model.system import Model
from vernal.report.figures import MAX_PANELS, draw_figure, draw_svg, drawable
from vernal.report.limits import limits, quantities_of
from vernal.report.phase_parts import Portrait
from vernal.report.phase_sets import moving, values_at
from vernal.report.tube_panels import SetPicture, tube_figure
from vernal.report.zones import zones_of

BANDS = 200  # spans of time, about
MAX_DRAWN_INSTANTS = 1000  # that get spans of their own
WITHIN = 1e-6  # of a span, at either end, where what is held jumps


def tube_svg(portrait: Portrait, formula: Formula) -> str:
    """The picture as an SVG element to embed in a page."""
    return draw_svg(lambda: _figure(portrait, formula))


def plot_tube(portrait: Portrait, formula: Formula, file: Any = None) -> Any:
    """The picture; to a file by its suffix (pdf, svg, png) if one is named."""
    return draw_figure(lambda: _figure(portrait, formula), file)


def _figure(portrait: Portrait, formula: Formula) -> Any:
    flow = portrait.flow
    shown = _shown(flow, formula)
    steps = _bands(portrait, list(shown.values()))
    sorts = [one.sort for one in shown.values()]
    values, times = _values(portrait, list(shown.values()))
    picture = SetPicture(
        tuple(shown), sorts, steps, values, times, held=held_among(flow, shown), zones=zones_of(flow, formula)
    )
    return tube_figure(picture, {name: ends for name, ends in limits(formula).items() if name not in picture.zones})


def _shown(flow: Model, formula: Formula) -> dict[str, Expr]:
    """What a claim compares, but for variables by themselves, then all variables."""
    asked = {name: flow.resolve(one) for name, one in quantities_of(formula).items() if one.sort.is_number}
    more = {name: one for name, one in asked.items() if one not in flow.vars}
    return dict(list({**more, **{one.name: one.var for one in flow.state}}.items())[:MAX_PANELS])


def _bands(portrait: Portrait, expressions: Sequence[Expr]) -> Sequence[ReachedStep]:
    """What expressions can be over spans of time; nothing where no flowpipe is known."""
    if portrait.pipe is None:
        return ()
    with np.errstate(all="ignore"):
        known = SegmentValues(portrait.flow, portrait.pipe)
        return known.bounds(expressions, span_edges(portrait.flow, portrait.pipe.until, BANDS), WITHIN)


def _values(portrait: Portrait, expressions: Sequence[Expr]) -> tuple[list[Floats], Floats | None]:
    """The expressions on simulated trajectories, a row for each; the longest of these says when."""
    if not portrait.trajectories:
        return [], None
    times = max((one.times for one in portrait.trajectories), key=len)
    found = [np.full((len(portrait.trajectories), len(times)), np.nan) for _ in expressions]
    for row, one in enumerate(portrait.trajectories):
        for target, values in zip(found, values_at(portrait.flow, expressions, one.states), strict=True):
            target[row, : len(one.times)] = drawable(values)
    return found, times


def span_edges(model: Model, until: float, spans: int) -> Floats:
    """Ends of about so many spans of time; of a loop that samples no instant is inside one."""
    grid = float(model.grid or 0)
    instants = round(until / grid) if grid else 0
    if not 0 < instants <= MAX_DRAWN_INSTANTS:
        return np.linspace(0.0, until, spans + 1)
    return np.linspace(0.0, instants * grid, instants * max(1, spans // instants) + 1)


def held_among(model: Model, expressions: Mapping[str, Expr]) -> frozenset[str]:
    """Those that a loop that samples keeps from instant to instant: what its agents hold, and what only jumps."""
    flowing = {model.vars[place] for place in moving(model)}
    return frozenset(name for name, one in expressions.items() if one in model.vars and one not in flowing)
