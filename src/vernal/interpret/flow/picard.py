"""A-priori enclosures of solutions, and first-order steps: valid for all solutions of every continuous vector field.

Let x' = f(x, d) start in a box X. If X + [0, h] f(B and region, D) lies in the interior of a box B, then every solution
that starts in X is in B for all times of [0, h] up to which it is in the region: a solution is continuous, and as long
as it is in B it is in X + [0, h] f(B and region, D), so that it cannot be at the boundary of B. Disturbances need only
be measurable, and f need not be Lipschitz: of several solutions all are enclosed. At time h a solution is in
X + h f(B and region, D), since the mean of f along it lies in the box of its values.

Where f may be undefined its bounds are infinite, so that no enclosure is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Array, Floats, Mask, all_along, float_above, float_below
from vernal.interpret.value_sets import Range, Value
from vernal.model.expr import Between, Const, Expr, Pi, Var
from vernal.model.graph import order
from vernal.model.system import Model
from vernal.model.tick import Tick, idle

BoxEnds = tuple[Floats, Floats]  # lower and upper ends of boxes, (batch, n) each
GRID = 2.0**-32  # time steps are multiples of it, so that sums of them are floats (below 2^20 units of time)
INFLATIONS = (*[0.1] * 6, 0.2, 0.4, 0.8, 1.6, 1.6)  # how much wider than its image a box is tried, before halving
RELATIVE, MIN_WIDENING = 2.0**-44, 2.0**-60  # by which an enclosure is widened where it has no width


class VectorField:
    """The rates of change of a flow, bounded over batches of boxes and over all its disturbances or given ones."""

    def __init__(
        self, flow: Model, disturbances: Mapping[Between, tuple[float, float]] | None = None, tick: Tick = idle
    ) -> None:
        self.tick = tick
        self.vars: Sequence[Var] = flow.vars
        self.rates: Sequence[Expr] = flow.vector_field
        constants = [node for node in order(self.rates) if isinstance(node, Const | Pi)]
        self.known: dict[Expr, Value] = dict(zip(constants, evaluate(constants, {}), strict=True))
        for node, (low, high) in (disturbances or {}).items():
            self.known[node] = Range(np.array([low]), np.array([high]))

    @property
    def dimension(self) -> int:
        return len(self.vars)

    def bounds(self, lower: Floats, upper: Floats) -> BoxEnds:
        """Of the rates over boxes (batch, n)."""
        self.tick()
        inputs: dict[Expr, Value] = {v: Range(lower[:, i], upper[:, i]) for i, v in enumerate(self.vars)}
        inputs |= self.known
        found = [value for value in evaluate(self.rates, inputs) if isinstance(value, Range)]
        shape = lower.shape[:1]
        ends = [(np.broadcast_to(r.lower, shape), np.broadcast_to(r.upper, shape)) for r in found]
        return np.stack([low for low, _ in ends], 1), np.stack([high for _, high in ends], 1)


@dataclass(frozen=True, slots=True, eq=False)
class SolutionBoxes:
    """Of each box: a time step, and boxes in which all solutions are during that time and at its end.

    A step of 0 says that none was found; then the boxes say nothing. Boxes are not cut by the region; a solution is in
    them as long as it is in the region, and a box that does not meet the region is one that no solution reaches inside.
    """

    steps: Floats  # (batch,)
    lower: Floats  # (batch, n), during the step
    upper: Floats
    end_lower: Floats  # (batch, n), after it
    end_upper: Floats

    @property
    def found(self) -> Mask:
        return self.steps > 0


def region_of(flow: Model) -> BoxEnds:
    """The region of a flow as one box (1, n), rounded outward."""
    lower = [float_below(low) for low, _ in flow.region]
    return np.array([lower]), np.array([[float_above(high) for _, high in flow.region]])


def everywhere(dimension: int) -> BoxEnds:
    """The region without ends."""
    return np.full((1, dimension), -np.inf), np.full((1, dimension), np.inf)


def enclose(
    field: VectorField, lower: Floats, upper: Floats, steps: Array, region: BoxEnds, least: Floats | float = GRID
) -> SolutionBoxes:
    """All solutions from boxes (batch, n) during time steps (batch,), which are halved where no enclosure is found.

    The steps that are found are multiples of `GRID`; none is tried below the least, unless it is given.
    """
    with np.errstate(all="ignore"):
        wanted = on_grid(np.array(steps, dtype=np.float64))
        return _enclose(field, lower, upper, wanted, region, np.broadcast_to(least, wanted.shape))


def on_grid(steps: Floats) -> Floats:
    """The largest multiples of the grid that are no larger."""
    return np.asarray(np.floor(steps / GRID) * GRID)


def _enclose(
    field: VectorField, lower: Floats, upper: Floats, steps: Floats, region: BoxEnds, least: Floats
) -> SolutionBoxes:
    made = SolutionBoxes(np.zeros_like(steps), lower.copy(), upper.copy(), lower.copy(), upper.copy())
    begins = field.bounds(*_meet(lower, upper, region))
    missing = np.flatnonzero((steps > 0) & np.isfinite(begins[0]).all(1) & np.isfinite(begins[1]).all(1))
    h = steps.copy()
    while len(missing):
        first = begins[0][missing], begins[1][missing]
        good, low, high, rates = _attempt(field, lower[missing], upper[missing], first, h[missing], region)
        _enter(made, missing[good], h, low[good], high[good], (rates[0][good], rates[1][good]))
        missing = missing[~good]
        h[missing] = on_grid(h[missing] / 2)
        missing = missing[h[missing] >= least[missing]]
    return made


def _attempt(
    field: VectorField, lower: Floats, upper: Floats, first: BoxEnds, h: Floats, region: BoxEnds
) -> tuple[Mask, Floats, Floats, BoxEnds]:
    """Boxes to try, widened a few times: which of them are enclosures, their images (X + [0, h] f), and rates.

    The first is made of the rates on the box itself.
    """
    low, high = _span(lower, upper, first, h)
    for growth in INFLATIONS:
        below, above = _inflated(low, high, growth)
        rates = field.bounds(*_meet(below, above, region))
        low, high = _span(lower, upper, rates, h)
        known = np.isfinite(low) & np.isfinite(high)
        good = all_along((low > below) & (high < above) & known)
        if (good | ~all_along(known)).all():
            break
    return good, low, high, rates


def _enter(made: SolutionBoxes, where: Array, h: Floats, low: Floats, high: Floats, rates: BoxEnds) -> None:
    made.steps[where] = h[where]
    made.lower[where], made.upper[where] = low, high
    ends = _moved(made.end_lower[where], made.end_upper[where], rates, h[where])
    made.end_lower[where], made.end_upper[where] = ends


def _inflated(low: Floats, high: Floats, growth: float) -> BoxEnds:
    margin = growth * (high - low) + RELATIVE * np.maximum(np.abs(low), np.abs(high)) + MIN_WIDENING
    return low - margin, high + margin


def _meet(lower: Floats, upper: Floats, region: BoxEnds) -> BoxEnds:
    """What of a box is in the region; a box outside it keeps the nearest point of the region's boundary.

    That is no loss: rates there are those of no solution in the region, and any bound of nothing is sound.
    """
    return np.clip(lower, *region), np.clip(upper, *region)


def _span(lower: Floats, upper: Floats, rates: BoxEnds, h: Floats) -> BoxEnds:
    """X + [0, h] rates"""
    low, high = _moved(lower, upper, rates, h)
    return np.fmin(low, lower), np.fmax(high, upper)


def _moved(lower: Floats, upper: Floats, rates: BoxEnds, h: Floats) -> BoxEnds:
    """X + h rates, rounded outward but where a rate is 0; infinite where a rate is."""
    step = h[:, None]
    low = np.nextafter(lower + np.nextafter(step * rates[0], -np.inf), -np.inf)
    high = np.nextafter(upper + np.nextafter(step * rates[1], np.inf), np.inf)
    low, high = np.where(rates[0] == 0, lower, low), np.where(rates[1] == 0, upper, high)
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
