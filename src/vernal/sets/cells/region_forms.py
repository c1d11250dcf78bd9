"""A loop over a region, case by case: linear bounds of its next numbers where each of its decisions is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vernal.interpret.geometry.template_sets import TemplateSets
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Truth
from vernal.model.expr import Expr
from vernal.sets.cells.images import Images, LinearForm


@dataclass(frozen=True)
class RegionCase:
    """A part of the region in which decisions are made: a box, and the rows that these say."""

    low: Floats
    high: Floats
    rows: Floats
    ends: Floats

    def holds(self, point: Floats) -> bool:
        inside = (self.low <= point).all() and (point <= self.high).all()
        return bool(inside and (self.rows @ point <= self.ends).all())


class RegionForms:
    """The loop over a region, case by case, as linear bounds."""

    def __init__(self, images: Images, region: TemplateSets) -> None:
        view = images.dynamics
        self.images, self.region = images, region
        self.parts, self.linear = images.divided(region, list(view.roots))
        guard = self.linear.value(view.guard)
        assert isinstance(guard, Truth)
        self.possible = np.flatnonzero(np.broadcast_to(guard.may, (len(self.parts),)))
        self.cases = [self._case(part) for part in self.possible.tolist()]

    def _case(self, part: int) -> RegionCase:
        parts = self.parts
        said = np.isfinite(parts.ends[part]) & parts.rows[part].any(axis=1)
        return RegionCase(parts.low[part], parts.high[part], parts.rows[part][said], parts.ends[part][said])

    def after(self, rows: Floats) -> LinearForm:
        """Upper bounds of sums of the next numbers, in every case in which a step is possible."""
        above, _ = self.images.forms(self.parts, self.linear, self.images.dynamics.stacked(rows))
        return above[0][self.possible], above[1][self.possible]

    def now(self, node: Expr) -> LinearForm:
        """Lower bounds of an expression."""
        parts, linear = self.images.divided(self.region, [node])
        _, (slopes, rest) = self.images.forms(parts, linear, node)
        return -slopes, -rest
