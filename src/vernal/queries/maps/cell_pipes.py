"""Cells of a flow, or of a loop that samples one: many of them are followed in one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from vernal.engines.flow.followed_starts import ManyStarts
from vernal.evidence.belief import believed, confirmed
from vernal.evidence.knowledge import Proof
from vernal.logic.question import Question
from vernal.model.lazy import cached_property
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_answers import CellAnswer, sloping
from vernal.queries.maps.cell_previews import previewed
from vernal.queries.maps.cell_tree import CellBox, CellKind
from vernal.run.budget import Budget


@dataclass
class CellPipes:
    """The claim about the cells of one sheet, in seconds."""

    question: Question  # about all of them
    of: Callable[[CellBox], Question]
    axes: Sequence[MapAxis]

    @cached_property
    def applies(self) -> bool:
        """Whether cells can be followed together."""
        return ManyStarts.takes(self.question)

    @cached_property
    def _starts(self) -> ManyStarts:
        return ManyStarts(self.question)

    def together(self, boxes: Sequence[CellBox], rng: np.random.Generator, budget: Budget) -> list[CellAnswer]:
        """What runs suggest and pipes show: cells that the border runs through are not followed."""
        seen = previewed(self.question, self.axes, boxes, rng, budget.check)
        answers = [CellAnswer() for _ in boxes] if seen is None else sloping(seen.slopes)
        nothing = np.zeros(len(boxes), bool)
        mixed, fails = (nothing, nothing) if seen is None else (seen.mixed, seen.fails)
        for suspected in (False, True):
            rest = np.flatnonzero(~mixed & (fails == suspected)).tolist()
            questions = [self.of(boxes[place]) for place in rest]
            found = self._starts.followed([question.model for question in questions], budget.check, whole=suspected)
            for place, question, one in zip(rest, questions, found, strict=True):
                if one.fails:
                    answers[place] = CellAnswer(CellKind.WHOLLY_UNSAFE)
                elif one.proof is not None:
                    answers[place] = _safe(question, one.proof, budget)
        return answers


def _safe(question: Question, proof: Proof, budget: Budget) -> CellAnswer:
    known = confirmed(question, believed(question.claim, proof), budget.check)
    if not isinstance(known, Proof):
        return CellAnswer()
    return CellAnswer(CellKind.SAFE, known.margin if known.margin is not None and isfinite(known.margin) else None)
