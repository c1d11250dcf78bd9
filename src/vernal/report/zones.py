"""Where a claim in continuous time forbids a quantity to be, and where it wants it some time: bands over its times.

Only what one quantity alone decides is a band: each part of a conjunction that compares no other. The rest of a claim
has dashed lines (`report.limits`), or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from vernal.interpret.concrete import evaluate
from vernal.interpret.numbers.rounding import Array, Floats
from vernal.logic.formula import Atom, Bound, Formula
from vernal.model.expr import Expr, Var
from vernal.model.graph import order
from vernal.model.system import Model
from vernal.reduce.operators import conjuncts
from vernal.report.figures import BACKWARD, FORWARD, GOAL, LIMIT, MAX_LIMIT_DISTANCE
from vernal.report.limits import limits
from vernal.report.windows import windows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADE = 0.16


@dataclass(frozen=True, slots=True)
class Zone:
    """Values from low to high, either end perhaps infinite, at times from start to end."""

    low: float
    high: float
    start: float
    end: float
    wanted: bool = False  # at some time, or never to be taken


def zones_of(model: Model, formula: Formula) -> dict[str, list[Zone]]:
    """The zones of each quantity, by its name."""
    found: dict[str, list[Zone]] = {}
    for window in windows_of(formula):
        for part in conjuncts(model.resolve(window.condition)) if window.alone else ():
            for name, zone in _zones(part, window.bound, wanted=window.wanted):
                found.setdefault(name, []).append(zone)
    return found


def zones_of_all(model: Model, formulas: Iterable[Formula]) -> dict[str, list[Zone]]:
    """Those of several claims."""
    found: dict[str, list[Zone]] = {}
    for formula in formulas:
        for name, zones in zones_of(model, formula).items():
            found.setdefault(name, []).extend(zones)
    return found


def _zones(condition: Expr, bound: Bound, *, wanted: bool) -> Iterator[tuple[str, Zone]]:
    """Between which limits the one quantity of a condition makes it true, where that is wanted, or false."""
    taken = [node for node in order([condition]) if isinstance(node, Var)]
    if len(taken) != 1 or taken[0].shape or not taken[0].sort.is_number:
        return
    (var,) = taken
    ends = [-inf, *limits(Atom(condition)).get(var.name, ()), inf]
    if len(ends) < 3:
        return
    start, end = float(bound.lower), inf if bound.upper is None else float(bound.upper)
    for (low, high), truth in zip(pairwise(ends), _truths(condition, var, ends), strict=True):
        if truth is wanted:
            yield var.name, Zone(low, high, start, end, wanted)


def _truths(condition: Expr, var: Var, ends: list[float]) -> list[bool]:
    """Whether a condition is true between every two neighbouring limits."""
    room = max(1.0, abs(ends[1]), abs(ends[-2]))
    inner = np.array([ends[1] - room, *ends[1:-1], ends[-2] + room])
    middles: Floats = (inner[:-1] + inner[1:]) / 2
    given: dict[Expr, Array] = {var: middles}
    with np.errstate(all="ignore"):
        (found,) = evaluate([condition], given)
    return [bool(value) for value in np.broadcast_to(found, middles.shape)]


def draw_zones(axes: Axes, zones: Sequence[Zone], last: float) -> None:
    """Bands above whatever is drawn already, hatched, as far as they are near it."""
    if not zones:
        return
    low, high = axes.get_ylim()
    room = MAX_LIMIT_DISTANCE * (high - low)
    near = [zone for zone in zones if zone.low < high + room and zone.high > low - room and zone.start <= last]
    ends = [end for zone in near for end in (zone.low, zone.high) if low - room <= end <= high + room]
    margin = 0.12 * (max([high, *ends]) - min([low, *ends]))
    bottom, top = min([low, *(end - margin for end in ends)]), max([high, *(end + margin for end in ends)])
    for zone in near:
        _draw_zone(axes, zone, (bottom, top), last)
    axes.set_ylim(bottom, top)


def _draw_zone(axes: Axes, zone: Zone, view: tuple[float, float], last: float) -> None:
    from matplotlib import rc_context
    from matplotlib.patches import Rectangle

    tone, hatch = (GOAL, BACKWARD) if zone.wanted else (LIMIT, FORWARD)
    low, high, end = max(zone.low, view[0]), min(zone.high, view[1]), min(zone.end, last)
    corner, size = (zone.start, low), (end - zone.start, high - low)
    axes.add_patch(Rectangle(corner, *size, facecolor=tone, alpha=SHADE, linewidth=0, zorder=4.5))
    with rc_context({"hatch.linewidth": 0.4}):
        look: Any = {"fill": False, "edgecolor": tone, "linewidth": 0, "hatch": hatch, "zorder": 4.6}
        axes.add_patch(Rectangle(corner, *size, **look))
    sides = [side for side in (zone.low, zone.high) if view[0] < side < view[1]]
    axes.hlines(sides, zone.start, end, color=tone, linewidth=1, zorder=4.7)
    if end == zone.start:  # an instant
        axes.vlines([end], low, high, color=tone, linewidth=2.5, alpha=0.6, zorder=4.7)
