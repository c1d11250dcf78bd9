"""One claim from many initial sets at once: a batch does not care whose pieces it holds.

All the sets are explored together, uncut; every set none of whose paths ends in a suspicion keeps the claim (OVER).
Only the others are asked one by one. A map of a thousand cells costs little more than its border.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vernal.engines.answers import answer
from vernal.engines.base import Engine
from vernal.engines.bounds.engine import FURTHEST
from vernal.engines.knowledge import Proof
from vernal.engines.paths.decide import Layout
from vernal.engines.paths.explore import Branch, Explorer, NotExplorable
from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.result import Assurance, Result
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.model.system import Init, System
from vernal.reduce.base import Direction
from vernal.reduce.initial import initial_boxes
from vernal.run.budget import Budget


class Sieve(Explorer):
    """An exploration that only asks from where something suspicious can be reached."""

    def sift(self, horizon: int) -> set[int]:
        """The numbers of the boxes that may break the claim."""
        self.suspicious: set[int] = set()
        self._begin(self.boxes, 0)
        self._levels(horizon)
        return self.suspicious | set(np.flatnonzero(self.round.open).tolist())  # also those given up as too many pieces

    def _suspect(self, layout: Layout, branch: Branch) -> None:
        for trail in branch.pieces.trail.tolist():
            self.suspicious.update(self.trails.boxes_behind(trail))


def check_together(
    system: System, starts: Sequence[Init], formula: Formula, engine: Engine, budget: Budget
) -> list[Result]:
    """A result for each initial set, as the engine would have it; `seconds` is its share of what was done together.

    The budget is that of each question that is asked by itself, and of the exploration of all.
    """
    began = time.monotonic()
    margin, open_sets = _sifted(system, starts, formula, budget)
    share = (time.monotonic() - began) / max(len(starts), 1)
    results = []
    for number, init in enumerate(starts):
        question, own = Question(system.starting(init), formula), time.monotonic()
        alone = replace(budget, started=own)
        known = engine.attempt(question, alone) if number in open_sets else _kept(margin)
        results.append(replace(answer(question, known, alone), seconds=share + time.monotonic() - own))
    return results


def _sifted(system: System, starts: Sequence[Init], formula: Formula, budget: Budget) -> tuple[float, set[int]]:
    """A margin that all the others keep, and the sets that have to be looked at by themselves."""
    everything = set(range(len(starts)))
    claim = Claim(formula)
    reach, path = claim.horizon, claim.linear
    owners, boxes = _all_boxes(system, starts)
    if reach is None or reach > FURTHEST or path is None or not boxes:
        return -np.inf, everything
    try:
        sieve = Sieve(Question(system, formula), path, boxes, budget)
        open_boxes = sieve.sift(reach)
    except (NotExplorable, UnsupportedFormula, Stopped):
        return -np.inf, everything
    sifted = set(owners)  # the others have no boxes of their own, or too many
    return sieve.outcome.margin, {owners[box] for box in open_boxes} | (everything - sifted)


def _all_boxes(system: System, starts: Sequence[Init]) -> tuple[list[int], list[Box]]:
    """The boxes of all sets, with the number of the set each belongs to; none of a set that is more than its boxes."""
    owners: list[int] = []
    boxes: list[Box] = []
    for number, init in enumerate(starts):
        found = initial_boxes(system.starting(init))
        if found.direction is Direction.EXACT:
            owners += [number] * len(found.boxes)
            boxes += found.boxes
    return owners, boxes


def _kept(margin: float) -> Proof:
    return Proof(engine="paths", direction=Direction.OVER, assurance=Assurance.RIGOROUS, margin=margin)
