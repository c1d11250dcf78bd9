"""Points at which a claim may fail: tried in floating point in batches, and replayed exactly where they look right."""

from __future__ import annotations

import numpy as np

from vernal.engines.candidates import refuting_path
from vernal.engines.core.clauses import Clauses
from vernal.engines.core.domains import DomainFrame
from vernal.engines.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.model.tick import Tick

TOLERANCE = 1e-9  # relative to the largest number met; a value this close to zero is decided by exact replay
REPLAYS_PER_BATCH = 3
MAX_REPLAYS_AT_ZERO = 24  # in all: of points so close to zero that floating point cannot tell


class Replays:
    """Turns points into counterexamples, or rejects them."""

    def __init__(self, question: Question, clauses: Clauses, frame: DomainFrame, tick: Tick) -> None:
        self.question, self.clauses, self.frame, self.tick = question, clauses, frame, tick
        self.count = 0
        self._at_zero = 0
        self._defaults = dict.fromkeys(question.system.step.names.values(), 0)

    def first(self, points: Floats) -> Trace | None:
        """The first of the points, (points, columns), that refutes the claim; the most promising are replayed first."""
        known = self.clauses.at(self.frame.inputs(points), len(points))
        value = self.clauses.values(known)[:, self.clauses.root]
        finite = np.where(np.isfinite(known.low), np.abs(known.low), 0.0)
        slack = TOLERANCE * (1.0 + finite.max(axis=1, initial=0.0))
        clear, near = np.flatnonzero(value < -slack), np.flatnonzero(np.abs(value) <= slack)
        if self._at_zero >= MAX_REPLAYS_AT_ZERO:
            near = near[:0]
        self._at_zero += min(len(near), REPLAYS_PER_BATCH)
        for rows in (clear, near):
            for row in rows[np.argsort(value[rows], kind="stable")][:REPLAYS_PER_BATCH]:
                trace = self._replayed(points[row])
                if trace is not None:
                    return trace
        return None

    def _replayed(self, point: Floats) -> Trace | None:
        self.tick()
        self.count += 1
        system, steps = self.question.system, self.question.claim.horizon or 0
        first = self.frame.valuation(system.initial, point)
        candidate = Candidate(*system.pack(first), [self._defaults] * (steps + 1), steps)
        return refuting_path(system, candidate, self.question.claim.path, self.tick)
