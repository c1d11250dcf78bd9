"""Thousands of cells in one exploration: which keep the claim, and which fail it as a whole.

All cells of a batch are explored together as affine pieces (`engines.paths.many_starts`); what cannot fail any more
is closed where it is, so that a cell costs little unless it is near the border. With every draw decided in one way the
system has fewer paths (UNDER): if all of these fail from all states of a cell, some path fails from each of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.engines.paths.many_starts import Sieve, sift
from vernal.errors import UnsupportedFormula
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.logic.formula import Formula, Not
from vernal.logic.normal import nnf
from vernal.logic.question import Question
from vernal.model.expr import Expr, Var
from vernal.model.initial import Box, Ends
from vernal.model.lazy import cached_property
from vernal.model.sorts import REAL
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_runs import MAX_WAYS
from vernal.queries.maps.cell_tree import CellBox
from vernal.reduce.restriction import may_restrict, restrictions
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS
from vernal.sets.pieces.positions import NotExplorable, nonlinear_step

CellStart = Mapping[str, float]  # where variables start that are not mapped


def _points(ends: Mapping[Expr, tuple[Ends, ...]], given: CellStart) -> dict[Expr, tuple[Ends, ...]]:
    """Values in their intervals, as intervals without a width."""
    made: dict[Expr, tuple[Ends, ...]] = {}
    for var, entry in ends.items():
        if isinstance(var, Var) and len(entry) == 1 and math.isfinite(given.get(var.name, math.nan)):
            value = min(max(Fraction(given[var.name]), entry[0][0]), entry[0][1])
            made[var] = ((value, value),)
    return made


@dataclass
class CellSifting:
    """The claim about the cells of one sheet, where they are boxes of initial states of a piecewise linear loop."""

    question: Question
    axes: Sequence[MapAxis]

    @cached_property
    def applies(self) -> bool:
        """Whether cells can be asked so."""
        claim, model = self.question.claim, self.question.system
        if claim.linear is None or claim.horizon is None or claim.horizon > MAX_UNROLLED_STEPS:
            return False
        if any(axis.whole for axis in self.axes) or model.step.once(nonlinear_step) is not None:
            return False
        found = initial_boxes(model)
        discrete = (pair for var, entry in found.boxes[0].ends.items() if var.sort != REAL for pair in entry)
        return found.are_starts and len(found.boxes) == 1 and all(low == high for low, high in discrete)

    @cached_property
    def _base(self) -> tuple[dict[Expr, tuple[Ends, ...]], list[Expr]]:
        ends = initial_boxes(self.question.system).boxes[0].ends
        return ends, [self.question.model.variable(axis.name).var for axis in self.axes]

    def _boxes(self, boxes: Sequence[CellBox], starts: Sequence[CellStart] = ()) -> list[Box]:
        """The cells as initial boxes; where starts are given, what is not mapped has their values."""
        ends, names = self._base
        fixed = starts or [{}] * len(boxes)
        pairs = zip(boxes, fixed, strict=True)
        return [
            Box({**ends, **_points(ends, given), **{var: (own,) for var, own in zip(names, box, strict=True)}})
            for box, given in pairs
        ]

    @cached_property
    def ways(self) -> list[Question]:
        """The question with all draws decided in one way; itself where there are none."""
        if not may_restrict(self.question):
            return []
        systems = [one.system for one in restrictions(self.question.system, MAX_WAYS)]
        return [replace(self.question, model=system) for system in systems] or [self.question]

    def kept(self, boxes: Sequence[CellBox], budget: Budget) -> tuple[Mask, Floats]:
        """The cells from which every path keeps the claim, and by how much at least."""
        assert self.question.claim.linear is not None
        found = self._sifted(self.question, self.question.claim.linear, self._boxes(boxes), budget, measured=True)
        if found is None:
            return np.zeros(len(boxes), bool), np.full(len(boxes), -np.inf)
        return ~found.open, found.space.round.margin_of_each()

    def steps(self, boxes: Sequence[CellBox], budget: Budget) -> list[int]:
        """The last position up to which no path from a cell can be suspected; -1 where even the first can."""
        claim = self.question.claim
        assert claim.linear is not None
        assert claim.horizon is not None
        found = self._sifted(self.question, claim.linear, self._boxes(boxes), budget, measured=False)
        if found is None:
            return [-1] * len(boxes)
        return [int(steps) for steps in np.where(found.open, found.kept_until, claim.horizon)]

    def failing(self, way: int, boxes: Sequence[CellBox], budget: Budget, starts: Sequence[CellStart] = ()) -> Mask:
        """The cells from all of whose points a path fails on which all draws are decided in one way.

        Variables that are not mapped start where `starts` says: of each point one start is enough.
        """
        question = self.ways[way]
        assert question.claim.linear is not None
        negated = nnf(Not(question.claim.linear), total=question.is_total)
        found = self._sifted(question, negated, self._boxes(boxes, starts), budget, measured=False)
        return np.zeros(len(boxes), bool) if found is None else ~found.open

    def _sifted(
        self, question: Question, path: Formula, boxes: Sequence[Box], budget: Budget, *, measured: bool
    ) -> Sieve | None:
        """The exploration of all boxes; None where there are none, or they cannot be explored."""
        reach = self.question.claim.horizon
        assert reach is not None
        if not boxes:
            return None
        try:
            return sift(question, path, boxes, reach, budget, foresee=True, measured=measured)
        except (NotExplorable, UnsupportedFormula):
            return None
