"""Boxes that only a margin of zero keeps open: exact arithmetic decides them, as many at a time as it manages.

It is that of polynomials, and where these do not tell, of affine pieces (`paths.exact_search`).

There may be very many, all along the edge of a region in which the margin is zero. So all of them are asked about at
once, by the smallest box around them, and where that takes too long, each half of them.

A bound of zero need not be a margin of zero: a sum of activations has it wherever each of them may be flat. So exact
arithmetic and cutting take turns, first for a moment and for a few boxes, until one of the two has an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from vernal.engines.initial_parts import known_of_box
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.interpret.symbolic.polynomial import PolynomialBox
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.initial import Box
from vernal.model.lazy import cached_property
from vernal.run.budget import Budget
from vernal.sets.core.box_search import BoxSearch
from vernal.sets.core.open_boxes import Domains, whole_boxes
from vernal.sets.exact import exact_search
from vernal.sets.refutation import refuting_condition

MAX_ATTEMPTS = 256  # at boxes around some, before the rest is left open
EXACT_SECONDS = (0.3, 0.05)  # for all of them, and for a part
SINGLE_BOX_SHARE = 0.5  # of the time that is left, for a box alone


class ZeroBoxes:
    """The boxes of one question that are left at margin zero."""

    def __init__(self, question: Question, search: BoxSearch, budget: Budget, engine: str) -> None:
        self.question, self.search, self.budget, self.engine = question, search, budget, engine
        self._attempts = 0

    def settle(self, left: Domains) -> Known | None:
        """What exact arithmetic finds in them; None if the claim holds in all of them."""
        left = whole_boxes(left)
        waiting = [left.rows(left.origin == origin) for origin in np.unique(left.origin)]
        while waiting:
            part = waiting.pop()
            open_boxes = len(part) + sum(map(len, waiting))
            self.budget.progress(f"split: exact arithmetic for {open_boxes:,} more boxes", None)
            if self._attempts >= MAX_ATTEMPTS:
                return self._open(
                    f"{open_boxes:,} small boxes stay open, in which the margin is zero or too small to tell"
                )
            known = self._asked(part)
            if isinstance(known, Open) and len(part) > 1:
                waiting += _halves(part)
            elif not isinstance(known, Proof | None):
                return known
        return None

    def are_excluded(self, boxes: Sequence[Box]) -> bool:
        """Whether exact polynomials show that no state of some boxes refutes the claim."""
        asked = set(order([self._refuting]))
        scalars = [var for var in boxes[0].ends if var in asked and var.sort.is_number and not var.shape]
        inside = ({var: box.ends[var][0] for var in scalars} for box in boxes)
        return all(PolynomialBox(ends, self.budget.check).truth(self._refuting) is False for ends in inside)

    @cached_property
    def _refuting(self) -> Expr:
        """What initial states satisfy that refute the claim."""
        system = self.question.system
        condition = refuting_condition(system, self.question.claim.path, self.budget.check)
        return build.conj(condition, *system.init.where)

    def _open(self, reason: str) -> Open:
        return Open(engine=self.engine, reason=reason, statistics=self.search.tally.statistics())

    def _asked(self, part: Domains) -> Known | None:
        """The answer for the smallest box around some boxes of one whole; None where it has no initial state."""
        around = part.rows(np.array([0])).between(part.lower.min(axis=0)[None], part.upper.max(axis=0)[None])
        box = self.search.frame.box(around, 0)
        if self.question.system.initial.cut(box) is None or self.are_excluded([box]):
            return None
        seconds = EXACT_SECONDS[min(self._attempts, 1)]
        self._attempts += 1
        budget = self.budget.part(SINGLE_BOX_SHARE, seconds) if len(part) > 1 else self.budget.part(SINGLE_BOX_SHARE)
        try:
            return known_of_box(self.question, box, budget, partial(exact_search.decide, engine=self.engine))
        except Stopped as stop:
            self.budget.check()
            return self._open(
                f"{len(part):,} small boxes stay open, in which the margin is zero or too small to tell: {stop.reason}"
            )


def _halves(part: Domains) -> list[Domains]:
    """Two halves of some boxes, apart along the column in which they spread most."""
    centre = part.lower + part.upper
    column = int((centre.max(axis=0) - centre.min(axis=0)).argmax())
    order = np.argsort(centre[:, column], kind="stable")
    return [part.rows(order[: len(order) // 2]), part.rows(order[len(order) // 2 :])]
