"""Sides of the region that no trajectory leaves, since it moves in one direction only.

Where the rate of a variable is nowhere negative around the region, the variable never falls: it stays above where it
began, hence above the lower end of its range. That may show that another rate is nowhere negative either, and so on: of
x' = y, y' = sqrt(x) from y >= 0, first y never falls, then x. "Around" is a little beyond the region, so that it is no
matter what solutions, of which there may be many, do beyond a side: to be there, they would have to cross the strip.
Where a rate is undefined there is no solution; so a square root may be taken to be that of the positive part. And no
trajectory ends at such a side: rates are continuous and do not point outward there, so that some solution goes on in
the region (Nagumo's theorem).

Of a loop that samples that is so between instants: a variable that jumps may do so out of the region, and what agents
hold changes, but never leaves its range.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import Floats, Mask, float_above, float_below
from vernal.interpret.sampled.plant import Plant, set_of
from vernal.interpret.value_sets import Range, Value
from vernal.model import build
from vernal.model.expr import Expr, Function, Nonlinear
from vernal.model.graph import rewrite
from vernal.model.system import Model
from vernal.sets.flow_starts import start_boxes

REGION_WIDENING = 2.0**-10  # of the region's width, on both sides


def kept_sides(plant: Plant) -> Mask:
    """Which sides of the region are never left: of each variable the upper one, then of each the lower one."""
    flow = plant.flow
    held, free = (np.tile([var in some for var in flow.vars], 2) for some in (plant.holds, plant.jump))
    found: Mask = (_kept_by_rates(flow, held | free) | held) & ~free
    return found


def _kept_by_rates(flow: Model, reset: Mask) -> Mask:
    """The sides that rates do not leave, whatever the values of the variables that are reset."""
    lower, upper = (
        np.array([end(ends[k]) for ends in flow.region]) for k, end in enumerate((float_below, float_above))
    )
    rates, starts = rewrite(flow.vector_field, _total_root), start_boxes(flow)
    n, strip = len(lower), REGION_WIDENING * (upper - lower)
    kept = np.zeros(2 * n, dtype=bool)
    if not len(starts):
        return kept
    lower, upper = lower - strip, upper + strip
    for _ in range(2 * n):
        least, most = rate_bounds(flow, list(rates), lower, upper)
        found = np.concatenate([most <= 0, least >= 0])
        if not (found & ~kept).any():
            break
        kept |= found
        upper = np.where(kept[:n] & ~reset[:n], np.minimum(upper, starts.upper.max(0)), upper)
        lower = np.where(kept[n:] & ~reset[n:], np.maximum(lower, starts.lower.min(0)), lower)
    return kept


def _total_root(node: Expr) -> Expr | None:
    if isinstance(node, Nonlinear) and node.function is Function.SQRT:
        return build.apply(Function.SQRT, build.relu(node.args[0]))
    return None


def rate_bounds(flow: Model, rates: list[Expr], lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Of all rates over a box, infinite where there is none."""
    inputs: dict[Expr, Value] = {v: set_of(v.sort, lower[i : i + 1], upper[i : i + 1]) for i, v in enumerate(flow.vars)}
    found = [value for value in evaluate(rates, inputs) if isinstance(value, Range)]
    ends = np.array([[np.ravel(value.lower)[0], np.ravel(value.upper)[0]] for value in found])
    return np.nan_to_num(ends[:, 0], nan=-np.inf), np.nan_to_num(ends[:, 1], nan=np.inf)
