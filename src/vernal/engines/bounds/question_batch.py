"""Bounds of many initial sets in one batch, for `engines.question_batches`: one look at each, uncut."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from vernal.engines.bounds.engine import BoxTally, refuted_by
from vernal.errors import Stopped
from vernal.evidence.knowledge import Known
from vernal.interpret.linear.bounds import Linear
from vernal.logic.question import Question
from vernal.model.tick import Tick
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS, Levels


def known_by_bounds(questions: Sequence[Question], budget: Budget, method: type[Linear] = Linear) -> dict[int, Known]:
    """Of questions that differ in the boxes of their initial sets only, what follows where no box of one is open.

    `method` is `Linear`, or `Plain` for intervals.
    """
    first, found = questions[0], [initial_boxes(question.system).boxes for question in questions]
    reach, ends = first.claim.horizon, np.cumsum([0, *map(len, found)]).tolist()
    if reach is None or reach > MAX_UNROLLED_STEPS or not ends[-1]:
        return {}
    levels = Levels(first.system, [box for boxes in found for box in boxes], budget, reach, method)
    made: dict[int, Known] = {}
    with suppress(Stopped):  # what is known by then stays known
        for number, question in enumerate(questions):
            known = _known(question, levels, range(ends[number], ends[number + 1]), budget.check)
            if known is not None:
                made[number] = known
    return made


def _known(question: Question, levels: Levels, indices: range, tick: Tick) -> Known | None:
    """What the boxes of a question show: that each keeps the claim or has no initial state, or that one fails."""
    tally = BoxTally()
    levels.exact = True  # as far as this question goes
    for index in indices:
        settled = tally.note(levels, question.formula, index)
        if not settled:
            return None if settled is None else refuted_by(question, levels.boxes[index], tick)
    tally.exact = levels.exact
    return tally.proof() if indices else None
