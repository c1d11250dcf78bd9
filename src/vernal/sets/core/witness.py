"""Points at which a claim may fail: tried in floating point in batches, and replayed exactly where they look right."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from vernal.evidence.candidates import refuting_path
from vernal.evidence.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.model.tick import Tick
from vernal.sets.core.clauses import Clauses, RowNumbers
from vernal.sets.core.open_boxes import DomainFrame
from vernal.sets.pieces.batches import Indices

TOLERANCE = 1e-9  # relative to the largest number met; a value this close to zero is decided by exact replay
REPLAYS_PER_BATCH = 3
MAX_REPLAYS_AT_ZERO = 24  # in all: of points so close to zero that floating point cannot tell


class Replays:
    """Turns points into counterexamples of some questions, or rejects them."""

    def __init__(self, questions: Sequence[Question], clauses: Clauses, frame: DomainFrame, tick: Tick) -> None:
        self.questions, self.clauses, self.frame, self.tick = questions, clauses, frame, tick
        self.count = 0
        self.seconds = np.zeros(len(questions))  # of replays, question by question
        self._at_zero = dict.fromkeys(range(len(questions)), 0)

    def found(self, points: Floats, owner: Indices, numbers: RowNumbers) -> dict[int, Trace]:
        """A path for each question that one of its points, (points, columns), refutes; the most promising go first."""
        known = self.clauses.at(self.frame.inputs(points), len(points), numbers.take(owner))
        value = self.clauses.values(known)[:, self.clauses.root]
        finite = np.where(np.isfinite(known.low), np.abs(known.low), 0.0)
        slack = TOLERANCE * (1.0 + finite.max(axis=1, initial=0.0))
        hopeful = np.flatnonzero(value <= slack)
        hopeful = hopeful[np.argsort(value[hopeful], kind="stable")]
        found = {}
        for question in dict.fromkeys(owner[hopeful].tolist()):
            own = hopeful[owner[hopeful] == question]
            clear = value[own] < -slack[own]
            began = time.monotonic()
            trace = self._first(question, points[own[clear]], points[own[~clear]])
            self.seconds[question] += time.monotonic() - began
            if trace is not None:
                found[question] = trace
        return found

    def _first(self, question: int, clear: Floats, near: Floats) -> Trace | None:
        """The first point that refutes a question; those near zero only now and then."""
        if self._at_zero[question] >= MAX_REPLAYS_AT_ZERO:
            near = near[:0]
        self._at_zero[question] += min(len(near), REPLAYS_PER_BATCH)
        for point in (*clear[:REPLAYS_PER_BATCH], *near[:REPLAYS_PER_BATCH]):
            trace = self._replayed(self.questions[question], point)
            if trace is not None:
                return trace
        return None

    def _replayed(self, question: Question, point: Floats) -> Trace | None:
        self.tick()
        self.count += 1
        system, steps = question.system, question.claim.horizon or 0
        first = self.frame.valuation(system.initial, point)
        defaults = dict.fromkeys(system.step.names.values(), 0)
        candidate = Candidate(*system.pack(first), [defaults] * (steps + 1), steps)
        return refuting_path(system, candidate, question.claim.path, self.tick)
