"""Explores many initial sets in one batch, for `engines.question_batches`.

All the sets are explored together, uncut; every set none of whose paths ends in a suspicion keeps the claim (OVER). A
map of a thousand cells costs little more than its border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from vernal.errors import Stopped, UnsupportedFormula
from vernal.evidence.knowledge import Known, Proof
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Mask
from vernal.logic.claim import position_claim
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.question import Question
from vernal.model.initial import Box
from vernal.run.budget import Budget
from vernal.sets.initial_boxes import initial_boxes
from vernal.sets.levels import MAX_UNROLLED_STEPS
from vernal.sets.pieces.batches import Indices, Pieces
from vernal.sets.pieces.exploration import OVERFLOWING, SCATTERED
from vernal.sets.pieces.margins import MarginMeter
from vernal.sets.pieces.outlook import Outlook
from vernal.sets.pieces.positions import NotExplorable, Position, StepGraph
from vernal.sets.pieces.space import AffineSpace, Cutting
from vernal.sets.search import Search, Stage

MAX_MEASURED = 20_000  # pieces of a step that are measured one by one: beyond, all sets have one margin


@dataclass
class Sieve:
    """Notes from which boxes something suspicious can be reached; nothing is replayed."""

    space: AffineSpace
    margins: MarginMeter
    pieces: Indices = field(init=False)  # of each box
    kept_until: Indices = field(init=False)  # of each box, the last position up to which nothing was suspicious

    done = False

    def __post_init__(self) -> None:
        self.pieces = np.zeros(len(self.space.boxes), np.intp)
        self.kept_until = np.full(len(self.space.boxes), -1, np.intp)

    def reached(self, stage: Stage, states: Position[Pieces]) -> None:
        boxes = self.space.trails.origin(states.batch.trail)
        self.pieces += np.bincount(boxes, minlength=len(self.pieces))
        self.margins.measure(stage, states)

    def kept(self, stage: Stage, states: Position[Pieces]) -> None:
        """Nothing to do: what is not suspicious is kept."""

    def failed(self, stage: Stage, states: Position[Pieces]) -> None:
        self.space.round.leave_open(states.batch.trail)

    def passed(self, t: int) -> None:
        self.kept_until[~self.open] = t

    @property
    def open(self) -> Mask:
        """The boxes that may break the claim, also those given up as too many pieces."""
        return self.space.round.open


@OVERFLOWING
def sift(
    question: Question,
    path: Formula,
    boxes: Sequence[Box],
    horizon: int,
    budget: Budget,
    *,
    foresee: bool = False,
    measured: bool = True,
) -> Sieve:
    """Explore all boxes together, uncut.

    `foresee`: pieces that cannot fail any more are closed, and boxes that come apart are given up: for thousands of
    boxes, few of which are near failing.
    """
    graph = StepGraph(question.system.step, atoms(path), budget.check)
    outlook = Outlook(graph, always=True) if foresee else None
    space = AffineSpace(question, graph, boxes, Cutting.UNCUT, SCATTERED, outlook=outlook, gives_up=foresee)
    sieve = Sieve(space, MarginMeter(position_claim(path) if measured else None, space, MAX_MEASURED))
    table = outlook.obligations if outlook is not None else None
    search = Search(path, space, sieve, total=question.is_total, tick=budget.check, obligations=table)
    search.levels(horizon)
    return sieve


def kept_together(questions: Sequence[Question], budget: Budget) -> dict[int, Known]:
    """Of questions that differ in their initial sets only, a proof for each of which no path ends in a suspicion."""
    first = questions[0]
    reach, path = first.claim.horizon, first.claim.linear
    owners, boxes = _all_boxes(questions)
    if reach is None or reach > MAX_UNROLLED_STEPS or path is None or not boxes:
        return {}
    try:
        sieve = sift(first, path, boxes, reach, budget)
    except (NotExplorable, UnsupportedFormula, Stopped):
        return {}
    of = np.array(owners)
    suspicious = set(of[sieve.open].tolist())
    margins, counted = sieve.space.round.margin_of_each(), sieve.margins.claim is not None
    kept: dict[int, Known] = {}
    for number in sorted(set(owners) - suspicious):
        own = np.flatnonzero(of == number)
        margin = float(margins[own].min()) if counted else -np.inf
        kept[number] = _kept(sieve.space.direction, margin, int(sieve.pieces[own].sum()))
    return kept


def _all_boxes(questions: Sequence[Question]) -> tuple[list[int], list[Box]]:
    """The boxes of all sets, with the number of the set each belongs to; none of a set that is more than its boxes."""
    owners: list[int] = []
    boxes: list[Box] = []
    for number, question in enumerate(questions):
        found = initial_boxes(question.system)
        if found.are_starts:
            owners += [number] * len(found.boxes)
            boxes += found.boxes
    return owners, boxes


def _kept(direction: Direction, margin: float, pieces: int) -> Proof:
    return Proof(
        engine="paths",
        direction=direction,
        assurance=Assurance.RIGOROUS,
        margin=margin if margin >= 0 else None,
        statistics={"pieces": pieces},
    )
