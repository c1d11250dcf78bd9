"""Which of many cells keep the claim: ways to prove it of all of them at once, each as long as it pays.

One exploration decides most cells of a loop with few draws, and none where every step doubles the paths; bounds are the
other way round. So bounds are tried where the exploration decides too little, and a way that does is tried again after
twice as many batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from vernal.engines.placement import device_for
from vernal.engines.question_batches import MAX_WAITING, known_together
from vernal.errors import Stopped
from vernal.evidence.belief import believed, confirmed
from vernal.evidence.knowledge import Proof
from vernal.interpret.numbers.device import using
from vernal.logic.question import Question
from vernal.queries.maps.cell_answers import CellAnswer
from vernal.queries.maps.cell_sifting import CellSifting
from vernal.queries.maps.cell_tree import CellBox, CellKind
from vernal.run.alarm import in_time
from vernal.run.budget import Budget

SECONDS_PER_CELL = 0.1  # of the processor, for common work, at most
FIRST_SECONDS = 2.0  # besides, for what is compiled once
TRIED = 64  # cells of which a way is asked before anybody knows whether it pays
PAYS = 0.1  # the share of what is asked that a way should decide
MAX_SKIPPED = 64  # batches, at most, between two trials

CellsProven = Callable[[Sequence[CellBox], Budget], list[CellAnswer]]


@dataclass
class ProofWay:
    """A way to prove many cells at once, and for how many batches it is left alone because it decided too little."""

    ask: CellsProven
    pays: bool = False
    skips: int = 0  # batches from now on
    patience: int = 1  # batches to skip after the next trial in vain

    def room(self, count: int) -> int:
        """Of how many cells it is asked now."""
        if self.pays:
            return count
        if self.skips:
            self.skips -= 1
            return 0
        return min(count, TRIED)

    def learn(self, asked: int, decided: int) -> None:
        """So many were asked, and so many decided."""
        self.pays = decided >= PAYS * asked
        if self.pays:
            self.patience = 1
        else:
            self.skips = self.patience
            self.patience = min(2 * self.patience, MAX_SKIPPED)


class CellProofs:
    """All ways to prove cells of one sheet, in order."""

    def __init__(self, of: Callable[[CellBox], Question], sifting: CellSifting, engine: str) -> None:
        self.of, self.sifting, self.engine = of, sifting, engine
        sifts = [ProofWay(self._sifted, pays=True)] if sifting.applies else []
        self.ways = [*sifts, ProofWay(self._bounded, pays=not sifts)]

    def proven(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """Of each cell what is proven; open where nothing is."""
        answers = [CellAnswer() for _ in boxes]
        for way in self.ways:
            rest = [place for place, answer in enumerate(answers) if answer.kind is CellKind.OPEN]
            if len(rest) < (1 - PAYS) * len(boxes):
                break  # most likely what is left is at the border, which no other way decides either
            asked = spread(rest, way.room(len(rest)))
            if not asked:
                continue
            found = [CellAnswer() for _ in asked]
            with suppress(Stopped, MemoryError), using(device_for(budget.device, self.sifting.question)):
                found = way.ask([boxes[place] for place in asked], budget)
            for place, answer in zip(asked, found, strict=True):
                answers[place] = answer
            way.learn(len(asked), sum(answer.kind is not CellKind.OPEN for answer in found))
        return answers

    def _sifted(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """By one exploration, which has an end of its own: no clock cuts it short, and with it all it has found."""
        kept, margins = self.sifting.kept(boxes, budget.apart())
        pairs = zip(kept.tolist(), margins.tolist(), strict=True)
        return [CellAnswer(CellKind.SAFE, max(margin, 0.0)) if safe else CellAnswer() for safe, margin in pairs]

    def _bounded(self, boxes: Sequence[CellBox], budget: Budget) -> list[CellAnswer]:
        """By what engines do for many questions at once; its seconds are those of the processor."""
        questions = [self.of(box) for box in boxes]
        seconds = FIRST_SECONDS + SECONDS_PER_CELL * len(boxes)
        limits = replace(budget, timeout=seconds, started=time.process_time(), clock=time.process_time).apart()
        wall = Budget(min(MAX_WAITING * seconds, budget.left))
        engine = "bounds" if self.ways[0].pays and self.sifting.applies and self.engine == "auto" else self.engine
        found = in_time(lambda: known_together(questions, limits, engine), wall)
        answers = [CellAnswer() for _ in boxes]
        for place, decided in found.items():
            answers[place] = _answer(questions[place], decided.known, budget)
        return answers


def spread(places: Sequence[int], count: int) -> list[int]:
    """So many of some places, evenly over all of them."""
    if count >= len(places):
        return list(places)
    return [places[number] for number in np.linspace(0, len(places) - 1, count).astype(int).tolist()] if count else []


def _answer(question: Question, known: object, budget: Budget) -> CellAnswer:
    checked = confirmed(question, believed(question.claim, known), budget.check)  # type: ignore[arg-type]
    if not isinstance(checked, Proof):
        return CellAnswer()
    if checked.empty:
        return CellAnswer(CellKind.NO_START)
    margin = checked.margin
    return CellAnswer(CellKind.SAFE, None if margin is None or margin == inf else max(margin, 0.0))
